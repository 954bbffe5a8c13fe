"""Find the settings that run a kernel fastest on this GPU, for one kind of call.

The configurations are the entry's (`kernels.spaces`). Those that do not fit this GPU are left out
before they are compiled, with the reason; the others have to give torch's result before they are
timed; and the outcome is kept for every call of the same kind in this process. What was spent on
compiling and trying is reported beside the kernel's time, never in it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from benchmarks.results import Device, Progress
from benchmarks.row_run import TORCH, quiet
from benchmarks.timing import cold
from kernels.algorithm import Algorithm, Shape
from kernels.attention import AttentionShape
from kernels.errors import InputError
from kernels.inputs import ITEMSIZE, Case
from kernels.product import MatmulShape
from kernels.tiles import Tiles, next_power_of_two
from kernels.tuning import Limits, Tuner, Tuning

TUNER = Tuner()
FLAGS = ("mask", "head_dim", "kv_heads")
# How far a right result may be from torch's in the same dtype, of the largest element.
AGREES = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}


@dataclass(frozen=True)
class TuneResult:
    """What was found for one case.

    n_bytes, flops  of the case: each input read once and each output written once
    is_known        whether an earlier call had found it
    """

    algorithm: str
    case: Case
    device: Device
    tuning: Tuning
    n_bytes: int
    flops: int
    is_known: bool


def shape_of(entry: Algorithm, case: Case):
    """Return the case's sizes as the entry's costs and configurations take them."""
    item = ITEMSIZE[case.dtype]
    if entry.problem == "row":
        return Shape(case.n_rows, case.n_cols, case.head_dim, item, case.block)
    tiles = Tiles(case.block_m, case.block, case.block_k, is_causal=case.mask == "causal")
    if entry.problem == "matmul":
        return MatmulShape(case.size_m, case.size_n, case.size_k, item, tiles)
    lengths = case.seq_q, case.seq_k, case.head_dim
    return AttentionShape(case.batch, case.heads, case.kv_heads, *lengths, item, tiles)


def key_of(entry: Algorithm, case: Case, device: Device) -> tuple:
    """Return what one tuning holds for: classes of sizes, dtype, flags and GPU.

    Rows that start at multiples of 16 bytes are another kind than rows that do not.
    """
    names = ("n_rows", "n_cols") if entry.problem == "row" else ("batch", "heads", *entry.fields)
    sizes = tuple(
        next_power_of_two(getattr(case, name))
        for name in names
        if name not in FLAGS and isinstance(getattr(case, name), int) and "block" not in name
    )
    flags = tuple(getattr(case, name) for name in FLAGS)
    aligned = case.n_cols * ITEMSIZE[case.dtype] % 16 == 0
    return entry.name, sizes, case.dtype, flags, aligned, device.name


def tune(entry: Algorithm, case: Case, device: Device) -> Iterator[Progress | TuneResult]:
    """Yield Progress "tuning", then the result. Raise InputError where it cannot be done."""
    if device.kind != "gpu":
        raise InputError("needs_gpu", "This is measured on a GPU, and there is none here.")
    if entry.configs is None:
        raise InputError("no_configs", "{name} has no settings to tune.", name=entry.name)
    import torch

    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError("a graph is being captured, and tuning would be part of it.")
    shape, key = shape_of(entry, case), key_of(entry, case, device)
    configs = entry.configs(shape)
    yield Progress("tuning", {"n": len(configs)})
    is_known = TUNER.known(key) is not None
    measure = None if is_known else _measure(entry, case)
    tuning = TUNER.tune(key, configs, limits_here(), measure)
    yield TuneResult(
        entry.name, case, device, tuning, entry.min_bytes(shape), entry.flops(shape), is_known
    )


def limits_here() -> Limits:
    """Return what a program may use on the current GPU."""
    import torch

    about = torch.cuda.get_device_properties(torch.cuda.current_device())
    return Limits(shared_bytes=about.shared_memory_per_block_optin)


def _measure(entry: Algorithm, case: Case):
    """Return a function from settings to ms: right results only."""
    import torch

    with quiet(), torch.no_grad():
        tensors = _inputs(entry, case)
        wanted = _by_torch(entry, case, tensors)

    def measure(settings: Mapping[str, int]) -> float:
        with quiet(), torch.no_grad():
            got = _launch(entry, case, tensors, settings)
            apart = (got.float() - wanted.float()).abs().max() / wanted.float().abs().max()
            if not apart <= AGREES[case.dtype]:  # also where it is NaN
                raise ValueError(f"its result is wrong: {float(apart):.1g} from torch's.")
            return cold(lambda: _launch(entry, case, tensors, settings)).median_ms

    return measure


def _inputs(entry: Algorithm, case: Case) -> dict:
    """Return standard normal tensors for ``entry``, by name."""
    import torch

    generator = torch.Generator("cuda").manual_seed(1)
    settings = {"device": "cuda", "dtype": getattr(torch, case.dtype), "generator": generator}
    if entry.problem == "matmul":
        shapes = {"a": (case.size_m, case.size_k), "b": (case.size_k, case.size_n)}
    elif entry.problem == "row":
        values = (case.n_cols, case.head_dim)
        rows = (case.n_rows, case.n_cols)
        shapes = {name: rows if name in entry.rows else values for name in entry.inputs}
    else:
        over_q = (case.batch, case.heads, case.seq_q, case.head_dim)
        over_k = (case.batch, case.kv_heads, case.seq_k, case.head_dim)
        shapes = {name: over_k if name in "kv" else over_q for name in entry.inputs}
    return {name: torch.randn(shape, **settings) for name, shape in shapes.items()}


def _by_torch(entry: Algorithm, case: Case, tensors: Mapping):
    """Return torch's result."""
    import torch

    torch.set_float32_matmul_precision("highest")
    if entry.problem == "row":
        return TORCH[entry.torch_expression](torch, *tensors.values())
    if entry.problem == "matmul":
        return tensors["a"] @ tensors["b"]
    q, k, v = (tensors[name] for name in "qkv")
    mask = None
    if case.mask == "causal":
        mask = torch.ones(case.seq_q, case.seq_k, dtype=torch.bool, device=q.device)
        mask = mask.tril(case.seq_k - case.seq_q)
    repeated = [t.repeat_interleave(case.heads // case.kv_heads, 1) for t in (k, v)]
    return torch.nn.functional.scaled_dot_product_attention(q, *repeated, attn_mask=mask)


def _launch(entry: Algorithm, case: Case, tensors: Mapping, settings: Mapping[str, int]):
    """Run the kernel with these settings and return its output."""
    launch = importlib.import_module(entry.kernel_module).launch
    if entry.problem == "row":
        options = {"block": None, **settings}
        return launch(*tensors.values(), **options).outputs[entry.output]
    options = dict(settings)
    tiles = Tiles(is_causal=case.mask == "causal", n_splits=case.n_splits)
    for name, field in (("block_m", "block_m"), ("block", "block_n"), ("block_k", "block_k")):
        if name in options:
            tiles = replace(tiles, **{field: options.pop(name)})
    tiles = replace(tiles, group_m=options.pop("group_m", tiles.group_m))
    return launch(dict(tensors), tiles, **options).outputs[entry.output]
