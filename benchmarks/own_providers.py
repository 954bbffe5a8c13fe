"""Our own kernels as providers: by the path that the table chooses, by a path, or as set.

What is timed is a launch with everything decided: choosing, compiling and the first run come when
the call is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from benchmarks.gpu_state import limits_here
from benchmarks.operations import CACHES
from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.inputs import Case
from kernels.schedules import decode_schedule, matmul_schedule
from kernels.softmax.paths import BACKWARD_PATHS, PATHS, Plan, plan, plan_backward
from kernels.tile_inputs import tiles_of
from kernels.tiles import Tiles

Tensors = Mapping[str, object]
SCHEDULE = ("block_m", "block", "block_k", "group_m", "n_splits")  # of a Case, in this order


class Unavailable(Exception):
    """A provider that cannot compute this: a key of ``measure.why.``, and details."""

    def __init__(self, key: str, message: str = "") -> None:
        super().__init__(message or key)
        self.key, self.message = key, message


@dataclass
class Call:
    """A call ready to be timed.

    run         computes and returns the outputs, a tensor or a tuple of them
    path        the path it takes, where there are several
    settings    blocks, warps and stages, where they are a choice
    compiled    the Triton kernel that ran last, for its registers; None of others
    """

    run: Callable[[], object]
    path: str = ""
    settings: Mapping[str, int] = field(default_factory=dict)
    compiled: object | None = None


def own_settings(
    entry: Algorithm, case: Case, tensors: Tensors, settings: Mapping[str, int]
) -> Call:
    """Return a call of our kernel with settings of the user's: a cell of a landscape."""
    if entry.problem == "row":
        return _launch_rows(entry.name, [tensors[n] for n in entry.inputs], settings, entry.output)
    options = {name: n for name, n in settings.items() if name.startswith("num_")}
    blocks = {name: n for name, n in settings.items() if name not in options}
    tiles = tiles_of(entry, replace(case, **blocks))
    return _launch_tiles(entry.name, tensors, tiles, options)


def _launch_rows(
    name: str, inputs: list, settings: Mapping[str, int], output: str, **modifiers: str
) -> Call:
    """Return a launch of a kernel on rows with these settings, and cache modifiers if any."""
    launch = importlib.import_module(f"kernels.{name}.kernel").launch
    options = {"block": None, **settings, **modifiers}
    try:
        first = launch(*inputs, **options)
    except ValueError as error:
        raise Unavailable("refused", str(error)) from None
    return Call(
        lambda: launch(*inputs, **options).outputs[output],
        first.path,
        settings,
        first.compiled,
    )


def _planned(chosen: Plan, names: Mapping[str, str], inputs: list, output: str) -> Call:
    """Return a launch along a plan."""
    return _launch_rows(names[chosen.path], inputs, chosen.settings, output)


def _softmax(provider: str, case: Case, tensors: Tensors) -> Call:
    """Return our softmax: the path the table chooses, or the one that is named."""
    x = tensors["x"]
    if provider == "safe":
        return _launch_rows("safe_softmax", [x], {"block": 4096, "num_warps": 8}, "y")
    path = None if provider == "ours" else provider
    _check_row(path, x.shape[1])
    return _planned(plan(*x.shape, x.element_size(), _capability(x), path), PATHS, [x], "y")


# The longest row that one program is asked to hold; longer ones spill, and take minutes to compile:
# for a path of several rows sooner.
LONGEST = {"rows": 16_384, "single": 131_072}


def _check_row(path: str | None, n_cols: int) -> None:
    """Raise Unavailable for a row that is too long to be held by one program, as a path does."""
    if n_cols > LONGEST.get(path, n_cols):
        raise Unavailable("too_long", f"{LONGEST[path]}")


def _caches(provider: str, case: Case, tensors: Tensors) -> Call:
    """Return our single-block softmax with a provider's cache modifiers."""
    x = tensors["x"]
    _check_row("single", x.shape[1])
    load_cache, store_cache = CACHES.get(provider, ("", ""))
    settings = plan(*x.shape, x.element_size(), _capability(x), "single").settings
    return _launch_rows(
        PATHS["single"], [x], settings, "y", load_cache=load_cache, store_cache=store_cache
    )


def _softmax_backward(provider: str, case: Case, tensors: Tensors) -> Call:
    """Return our gradient of softmax, as `_softmax`."""
    y, dy = tensors["y"], tensors["dy"]
    path = None if provider == "ours" else provider
    _check_row(path, y.shape[1])
    chosen = plan_backward(*y.shape, y.element_size(), _capability(y), path)
    return _planned(chosen, BACKWARD_PATHS, [y, dy], "dx")


def _add(provider: str, case: Case, tensors: Tensors) -> Call:
    """Return our addition: of one row, as rows that lie one after another are one to it."""
    shape = tensors["x"].shape
    inputs = [tensors[name].view(1, -1) for name in "xy"]
    call = _launch_rows("vector_add", inputs, {"block": 1024, "num_warps": 4}, "z")
    return replace(call, run=lambda: call.run().view(shape))


def _chain(provider: str, case: Case, tensors: Tensors) -> Call:
    warps = importlib.import_module("kernels.fused_chain.autograd").warps_for(case.n_cols)
    _check_row("single", case.n_cols)
    inputs = [tensors["x"], tensors["y"]]
    return _launch_rows("fused_chain", inputs, {"num_warps": warps}, "z")


def _matmul(provider: str, case: Case, tensors: Tensors) -> Call:
    import torch

    a = tensors["a"]
    n_processors = 1
    if a.is_cuda:
        n_processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    chosen = matmul_schedule(case.size_m, case.size_n, a.element_size(), n_processors)
    return _launch_tiles("matmul", tensors, *chosen)


def _attention(provider: str, case: Case, tensors: Tensors) -> Call:
    """Return our attention, fused or in three stages."""
    if provider == "three":
        scores = case.batch * case.heads * case.seq_q * case.seq_k
        if scores > MAX_SCORES:
            raise Unavailable("too_many_scores", f"{scores:,}")
        tiles, options = _three_stages(case, tensors)
        return _launch_tiles("three_stage", tensors, tiles, options)
    return _launch_tiles("flash_attention", tensors, *schedule("forward", case, tensors))


LARGE_SHARED = 140_000  # bytes that a program needs for two stages of large tiles, head_dim 128


def _three_stages(case: Case, tensors: Tensors) -> tuple[Tiles, dict[str, int]]:
    """Return tiles of both products: large ones where they fit, or fused would win too easily."""
    tiles = replace(tiles_of(ALGORITHMS["three_stage"], case), group_m=8)
    q = tensors["q"]
    is_large = q.element_size() == 2 and q.is_cuda and limits_here().shared_bytes >= LARGE_SHARED
    if not is_large:
        return replace(tiles, block_m=64, block_n=64), {}
    return replace(tiles, block_m=128, block_n=128), {"num_warps": 8, "num_stages": 2}


MAX_SCORES = 2**33  # S and P of three stages, 2 or 4 bytes each


def _decode(provider: str, case: Case, tensors: Tensors) -> Call:
    if provider == "flash":
        return _attention(provider, case, tensors)
    q = tensors["q"]
    limit = limits_here().shared_bytes if q.is_cuda else None
    block_n, options = decode_schedule(case.head_dim, q.element_size(), limit)
    tiles = replace(tiles_of(ALGORITHMS["split_kv"], case), block_n=block_n)
    return _launch_tiles("split_kv", tensors, tiles, options)


def _attention_backward(provider: str, case: Case, tensors: Tensors) -> Call:
    return _launch_tiles("flash_backward", tensors, *schedule("backward", case, tensors))


def schedule(which: str, case: Case, tensors: Tensors) -> tuple[Tiles, dict[str, int]]:
    """Return the tiles and options that our attention takes unless told."""
    own = importlib.import_module("kernels.flash_backward.autograd").schedule
    return own(which, tensors["q"], tensors["k"], case.mask == "causal", None)


def _launch_tiles(name: str, tensors: Tensors, tiles: Tiles, options: Mapping[str, int]) -> Call:
    """Return a launch of a kernel on tiles."""
    launch = importlib.import_module(f"kernels.{name}.kernel").launch
    entry = ALGORITHMS[name]
    given = {key: tensors[key] for key in entry.inputs}
    # lse is not compared: no other provider gives it.
    outputs = (entry.output, *(key for key in entry.extra_outputs if key != "lse"))
    try:
        first = launch(given, tiles, **options)
    except ValueError as error:
        raise Unavailable("refused", str(error)) from None

    def run():
        found = launch(given, tiles, **options).outputs
        return tuple(found[key] for key in outputs) if len(outputs) > 1 else found[entry.output]

    fields = [name for name in entry.fields if name in SCHEDULE]
    blocks = tiles.sizes(*("block_n" if name == "block" else name for name in fields))
    return Call(run, first.path, {**blocks, **options}, first.compiled)


OURS: Mapping[str, Callable[[str, Case, Tensors], Call]] = {
    "softmax": _softmax,
    "softmax_backward": _softmax_backward,
    "caches": _caches,
    "add": _add,
    "chain": _chain,
    "matmul": _matmul,
    "attention": _attention,
    "attention_backward": _attention_backward,
    "decode": _decode,
}


def _capability(tensor) -> tuple[int, int]:
    """Return the compute capability of a tensor's GPU."""
    import torch

    return torch.cuda.get_device_capability(tensor.device)
