"""Results made without torch or Triton: the mirror stands in for the kernel, NumPy for torch.

Only for tests of what draws and exports results; nothing here says anything about a real kernel.
"""

from __future__ import annotations

import numpy as np

from benchmarks import compare, states, tile_check, tile_states
from benchmarks.results import CheckResult, Device, RowDetail, TileCheckResult
from benchmarks.row_tolerances import has_no_maximum
from benchmarks.tile_run import TileRan
from kernels import ALGORITHMS
from kernels.inputs import Case, make_matrix, round_to
from kernels.problems import arrays_for, row_of, schedule_for

VERSIONS = {"triton": "3.7.1", "torch": "2.13.0", "numpy": "2.4.6", "python": "3.12.3"}
CPU = Device("interpreter", "CPU", reason="no_driver", versions=VERSIONS)
GPU = Device("gpu", "NVIDIA H200", (9, 0), versions={**VERSIONS, "cuda": "13.0"})
SMALL = Case(n_rows=6, n_cols=50, block=16, head_dim=5)
TILES = Case(
    heads=4, kv_heads=2, seq_q=40, seq_k=52, head_dim=8, block_m=16, block=16, n_splits=2,
    mask="causal", size_m=40, size_n=36, size_k=50, block_k=16,
)  # fmt: skip
RIVALS = {"attention": "SDPA math", "matmul": "torch.matmul, ieee"}
REFUSAL = "Flash attention requires q, k, v to have a head dimension of at most 256."
PICTURE = Case(n_rows=40, n_cols=1000, block=128, head_dim=32)


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    """Return softmax(x) in float32, the whole row at once."""
    p = np.exp(x - x.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


# What stands in for torch, by the expression an entry names.
NUMPY = {
    "torch.softmax(x, -1)": numpy_softmax,
    "torch.softmax(x, -1) @ v": lambda x, v: numpy_softmax(x) @ v,
    "torch.softmax(x, -1) + x * y": lambda x, y: numpy_softmax(x) + x * y,
    "aten._softmax_backward_data(dy, y, -1)": lambda y, dy: (
        y * (dy - (y * dy).sum(axis=1, keepdims=True))
    ),
    "x + y": lambda x, y: x + y,
}


def numpy_torch(entry, arrays: dict, dtype: str) -> np.ndarray:
    """Return what stands in for torch: float32, rounded to ``dtype``."""
    with np.errstate(all="ignore"):
        inputs = (arrays[name] for name in entry.inputs)
        return round_to(NUMPY[entry.torch_expression](*inputs), dtype)


def check(name: str, case: Case = SMALL, device: Device = CPU, spoil=None) -> CheckResult:
    """Return a CheckResult of ``case``; ``spoil`` may change the stand-in kernel's outputs."""
    entry = ALGORITHMS[name]
    arrays = make_matrix(case, entry.draws)
    exact = np.asarray(entry.reference(arrays)[entry.output])
    inputs = [row_of(entry, arrays, row) for row in range(case.n_rows)]
    traces = [entry.trace(one, case.block, case.dtype) for one in inputs]
    kernel = np.stack([trace.outputs[entry.output] for trace in traces])
    if spoil is not None:
        spoil(kernel)
    torch = numpy_torch(entry, arrays, case.dtype)
    ulp = compare.row_ulp(exact, case.dtype)
    sides = {
        "kernel": compare.compare(kernel, exact, ulp),
        "torch": compare.compare(torch, exact, ulp),
        "between": compare.compare(kernel, torch, ulp),
    }
    step = compare.map_step(*exact.shape)
    worst = sides["kernel"].worst_row()
    kept = states.rows_to_compare(len(exact), worst, 5)
    kept = {row: _state(entry, traces[row]) for row in kept}
    shown = () if entry.has_values else entry.rows
    tolerance = max(2 * sides["torch"].stats.max_abs, 1e-6)
    block = traces[0].sizes["block"]
    return CheckResult(
        case=case,
        algorithm=name,
        device=device,
        path="online",
        n_programs=case.n_rows,
        block=block,
        n_blocks=-(-case.n_cols // block),
        verdict=_verdict(sides["kernel"].stats, tolerance, has_no_maximum(entry)),
        tolerance=tolerance,
        kernel=sides["kernel"].stats,
        torch=sides["torch"].stats,
        between=sides["between"].stats,
        torch_expression=entry.torch_expression,
        maps={side: compare.downsample(found.ulps, step) for side, found in sides.items()},
        map_step=step,
        histogram=compare.histogram(sides["kernel"].ulps, sides["torch"].ulps),
        rows=tuple(
            RowDetail(
                row,
                {"kernel": kernel[row], "torch": torch[row], "float64": exact[row]},
                state.kernel,
                state.mirror,
                state.ulps,
                {name: arrays[name][row] for name in shown},
            )
            for row, state in kept.items()
        ),
        worst_row=worst,
        n_outputs=exact.size,
        n_compared=exact.size,
        n_same_bits=int((sides["between"].ulps == 0).sum()),
        n_unwritten=0,
        n_masked_rows=0,
        n_state_rows=len(kept) if entry.captured else 0,
        state_ulps={f: _largest(kept.values(), f) for f in entry.captured},
        extra={},
        output=entry.output,
    )


def _state(entry, trace) -> states.RowState:
    """Return a row's state; a real kernel adds acc up in another order, so it is nudged here."""
    mirror = states.mirror_state(entry, trace)
    kernel = {field: values.copy() for field, values in mirror.items()}
    if "acc" in kernel:
        kernel["acc"] = kernel["acc"] * np.float32(1 + 2**-22)
    return states.RowState(kernel, mirror, states.state_ulps(kernel, mirror))


def _largest(kept, field: str) -> float:
    """Return the largest distance of a field over all rows."""
    return max(float(state.ulps[field].max()) for state in kept)


def _verdict(kernel, tolerance: float, may_overflow: bool) -> str:
    """Return the verdict that the numbers give."""
    if kernel.n_mismatched:
        return "overflowed" if may_overflow else "failed"
    return "passed" if kernel.max_abs <= tolerance else "failed"


def tile_result(name: str, case: Case = TILES, device: Device = CPU, spoil=None) -> TileCheckResult:
    """Return a TileCheckResult of ``case``; ``spoil`` may change the stand-in kernel's outputs.

    The numbers are judged as real ones are. The rival is float64 rounded to the dtype, a little
    off, and gives no lse.
    """
    entry = ALGORITHMS[name]
    arrays, tiles = arrays_for(entry, case), schedule_for(entry, case)
    n_heads = 1 if entry.problem == "matmul" else case.batch * case.heads
    heads = [tile_check.head_arrays(entry, arrays, head) for head in range(n_heads)]
    traces = [entry.trace(one, tiles, case.dtype) for one in heads]
    names = (entry.output, *entry.extra_outputs)
    exact = _together(entry, case, [entry.reference(one, tiles) for one in heads], names)
    kernel = _together(entry, case, [trace.outputs for trace in traces], names)
    by_torch = {
        output: round_to(values * (1 + 2.0**-22), case.dtype)
        for output, values in exact.items()
        if output != "lse"
    }
    n_unwritten = dict.fromkeys(names, 0)
    if spoil is not None:
        spoil(kernel, n_unwritten)

    def capture(wanted: list[int], first_row: int) -> np.ndarray:
        return np.stack([_captured(entry, traces[head], tiles)[first_row:] for head in wanted])

    errors = {
        output: float(np.nanmax(abs(by_torch[output] - exact[output]))) for output in by_torch
    }
    rival = RIVALS[entry.problem]
    evidence = tile_check.Evidence(
        device=device,
        tiles=tiles,
        ran=TileRan(kernel, None, "fake", 12, n_unwritten, dict.fromkeys(names, 0)),
        rival=rival,
        by_torch=by_torch,
        rivals={rival: errors} | ({} if n_heads == 1 else {"SDPA flash": REFUSAL}),
        reference=exact,
        magnitudes=dict.fromkeys(("q", "k", "v", "do", "score", "dp", "column", *"abc"), 4.0),
    )
    return tile_check.judge(entry, case, arrays, evidence, capture)


def _together(entry, case: Case, by_head: list, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return outputs of all heads as a kernel gives them; dk and dv are sums over their queries."""
    if entry.problem == "matmul":
        return {name: by_head[0][name] for name in names}
    together = {}
    for name in names:
        values = np.stack([head[name] for head in by_head])
        values = values.reshape(case.batch, case.heads, *values.shape[1:])
        if name in ("dk", "dv"):
            of_one = (case.batch, case.kv_heads, case.heads // case.kv_heads)
            values = values.reshape(*of_one, *values.shape[2:]).sum(axis=2)
        together[name] = values
    return together


def _captured(entry, trace, tiles) -> np.ndarray:
    """Return what a kernel would have captured of one head: the mirror's, with acc nudged."""
    state, _ = tile_states.mirror_state(entry, trace, tiles)
    nudged = state["acc"] * np.float32(1 + 2**-22)
    if entry.problem == "matmul":
        return np.moveaxis(nudged, 1, 2)
    scalars = [state[field][..., None] for field in entry.captured if field != "acc"]
    return np.concatenate([*scalars, nudged], axis=-1)
