"""What the worker does for an algorithm on tiles: inputs, kernel, rivals, reference, verdict.

`check` keeps everything that a page can show. `quick` keeps one line a case and never leaves the
device, so that hundreds of cases take minutes; both judge by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from benchmarks import attention_reference, rivals, tile_check, tile_run, tile_states
from benchmarks.gpu_state import limits_here
from benchmarks.results import Device, Progress, QuickOutput, QuickResult, TileCheckResult
from kernels.algorithm import Algorithm
from kernels.inputs import ITEMSIZE, Case
from kernels.problems import arrays_for
from kernels.schedules import attention_schedule
from kernels.tile_inputs import tiles_of
from kernels.tiles import Tiles

MAX_CAPTURED = 2**22  # numbers: so few are captured of all heads as the outputs are computed


def check(entry: Algorithm, case: Case, device: Device) -> Iterator[Progress | TileCheckResult]:
    """Yield Progress "inputs", "kernel", "compare", then one TileCheckResult."""
    yield Progress("inputs")
    arrays = arrays_for(entry, case)
    tiles, options = tiles_of(entry, case), _options(case)
    tensors = tile_run.on_device(entry, arrays, case.dtype, device)
    yield Progress("kernel")
    tensors = tile_run.with_forward(entry, tensors, tiles, options, device)
    total = tile_states.n_captured(entry, vars(case), tiles) * case.batch * case.heads
    small = bool(entry.captured) and total <= MAX_CAPTURED
    ran = tile_run.run_kernel(entry, tensors, tiles, options, device, capture=small)
    rival, by_rival = rivals.run(entry, tensors, tiles)
    yield Progress("compare")
    reference, magnitudes = _reference(entry, tensors, tiles)
    errors = {
        name: found if isinstance(found, str) else _errors(found, reference)
        for name, found in by_rival.items()
    }

    def capture(heads: list[int], first_row: int) -> np.ndarray:
        """Return the state of these heads: what was captured, or from one more launch."""
        if ran.state is not None:
            state = ran.state if entry.problem == "matmul" else ran.state.flatten(0, 1)
            kept = state[None] if entry.problem == "matmul" else state[heads]
            return kept[:, first_row:].cpu().numpy()
        again = _of_heads(entry, tensors, heads, first_row)
        state = tile_run.run_kernel(entry, again, tiles, options, device, capture=True).state
        return (state[None] if entry.problem == "matmul" else state[:, 0]).cpu().numpy()

    evidence = tile_check.Evidence(
        device=device,
        tiles=tiles,
        ran=tile_run.in_numpy(ran),
        rival=rival,
        by_torch=tile_run.as_arrays(by_rival[rival]),
        rivals=errors,
        reference=tile_run.as_arrays(reference),
        magnitudes=magnitudes,
    )
    yield tile_check.judge(entry, case, arrays, evidence, capture)


def quick(entry: Algorithm, case: Case, device: Device, own_schedule: bool) -> QuickResult:
    """Run ``case`` once against the rival that sets its tolerance.

    ``own_schedule`` takes the tiles and warps that the kernel takes unless told, not the case's.
    """
    tiles, options = tiles_of(entry, case), _options(case)
    if own_schedule:
        tiles, options = _own_schedule(entry, case, tiles, device)
    on_gpu = device.kind == "gpu" and case.preset == "normal"
    arrays = _drawn(entry, case) if on_gpu else arrays_for(entry, case)
    tensors = tile_run.on_device(entry, arrays, case.dtype, device)
    tensors = tile_run.with_forward(entry, tensors, tiles, options, device)
    ran = tile_run.run_kernel(entry, tensors, tiles, options, device, capture=False)
    rival, by_rival = rivals.run(entry, tensors, tiles, every=False)
    reference, magnitudes = _reference(entry, tensors, tiles)
    outputs = tuple(
        _quick_output(name, case, tiles, ran, by_rival[rival].get(name), reference, magnitudes)
        for name in ran.outputs
    )
    verdict = "passed" if all(output.passed for output in outputs) else "failed"
    return QuickResult(case, entry.name, tiles, verdict, rival, outputs)


def _own_schedule(
    entry: Algorithm, case: Case, tiles: Tiles, device: Device
) -> tuple[Tiles, dict[str, int]]:
    """Return ``tiles`` with the kernel's own blocks for the case, and its launch options."""
    if entry.problem != "attention":
        return tiles, _options(case)
    which = "backward" if "do" in entry.inputs else "forward"
    limit = limits_here().shared_bytes if device.kind == "gpu" else None
    own, options = attention_schedule(
        which, case.seq_q, case.seq_k, case.head_dim, ITEMSIZE[case.dtype], limit
    )
    return replace(tiles, block_m=own.block_m, block_n=own.block_n), options


def largest_error(actual, expected) -> tuple[float, int]:
    """Return the largest absolute error of finite pairs, and how many elements are mismatched.

    As `compare.compare` counts them: NaN and infinities agree with the same, and nothing else.
    """
    actual, expected = actual.double(), expected.double()
    both = actual.isfinite() & expected.isfinite()
    agree = (actual == expected) | (actual.isnan() & expected.isnan())
    n_mismatched = int((~both & ~agree).sum())
    error = (actual - expected).abs().masked_fill_(~both, 0.0)
    return (error.max().item() if error.numel() else 0.0), n_mismatched


def _quick_output(
    name: str, case: Case, tiles: Tiles, ran, by_torch, reference: Mapping, magnitudes: Mapping
) -> QuickOutput:
    """Hold one output against float64 and the rival, by the rules of `tile_check`."""
    actual, expected = ran.outputs[name], reference[name]
    hidden = max(0, case.seq_q - case.seq_k) if case.mask == "causal" else 0
    hidden = hidden if name in ("o", "lse", "dq") else 0
    error, n_mismatched = largest_error(actual, expected)
    rivals_error = rivals_mismatched = None
    if by_torch is not None:
        shown = (side[:, :, hidden:] if hidden else side for side in (by_torch, expected))
        rivals_error, rivals_mismatched = largest_error(*shown)
    largest = attention_reference.largest_of(expected)
    allowed = tile_check.tolerance_of(name, case, tiles, largest, magnitudes, rivals_error)
    n_wrong = n_mismatched + ran.n_unwritten[name] + ran.n_outside[name]
    is_zero = name == "lse" or not hidden or not actual[:, :, :hidden].any()
    return QuickOutput(
        name=name,
        error=error,
        rivals_error=rivals_error,
        tolerance=allowed,
        passed=bool(not n_wrong and is_zero and error <= allowed),
        n_mismatched=n_mismatched,
        rivals_mismatched=rivals_mismatched or 0,
        n_unwritten=ran.n_unwritten[name],
        n_outside=ran.n_outside[name],
    )


def _errors(outputs: Mapping, reference: Mapping) -> dict[str, float]:
    """Return a rival's largest error of each output; inf where one is not finite as it should."""
    found = {name: largest_error(tensor, reference[name]) for name, tensor in outputs.items()}
    return {name: np.inf if missing else error for name, (error, missing) in found.items()}


def _reference(entry: Algorithm, tensors: Mapping, tiles: Tiles) -> tuple[dict, dict[str, float]]:
    """Return float64 outputs of ``entry`` and the magnitudes that errors grow with."""
    if entry.problem == "matmul":
        return attention_reference.product(tensors["a"], tensors["b"])
    inputs = {name: tensors[name] for name in ("q", "k", "v", "do") if name in entry.inputs}
    scale = tiles.scale_for(tensors["q"].shape[3])
    return attention_reference.attention(inputs, tiles.is_causal, scale)


def _options(case: Case) -> dict[str, int]:
    """Return the launch options of a case."""
    return {"num_warps": case.num_warps, "num_stages": case.num_stages}


def _of_heads(entry: Algorithm, tensors: Mapping, heads: list[int], first_row: int) -> dict:
    """Return the inputs of some heads, each a batch of its own, from a row on."""
    if entry.problem == "matmul":
        return {**tensors, "a": tensors["a"][first_row:]}
    owners = attention_reference.owners(tensors["q"], tensors["k"])[heads]
    picked = {"q": tensors["q"].flatten(0, 1)[heads][:, None, first_row:]}
    for name in ("k", "v"):
        picked[name] = tensors[name].flatten(0, 1)[owners][:, None]
    return picked


def _drawn(entry: Algorithm, case: Case) -> dict:
    """Return normal inputs drawn on the GPU: what takes NumPy seconds for a long sequence."""
    import torch

    generator = torch.Generator("cuda").manual_seed(case.seed)

    def draw(*shape: int):
        """Return normal numbers in the case's dtype."""
        drawn = torch.randn(shape, generator=generator, device="cuda")
        return drawn.to(getattr(torch, case.dtype))

    if entry.problem == "matmul":
        return {"a": draw(case.size_m, case.size_k), "b": draw(case.size_k, case.size_n)}
    of_q = (case.batch, case.heads, case.seq_q, case.head_dim)
    of_k = (case.batch, case.kv_heads, case.seq_k, case.head_dim)
    shapes = {"q": of_q, "k": of_k, "v": of_k, "do": of_q}
    return {name: draw(*shape) for name, shape in shapes.items() if name in entry.inputs}
