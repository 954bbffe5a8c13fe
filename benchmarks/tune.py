"""Find the settings that run a kernel fastest on this GPU, for one kind of call.

The configurations are the entry's (`kernels.spaces`). Those that do not fit this GPU are left out
before they are compiled, with the reason; the others have to give torch's result before they are
timed; and the outcome is kept for every call of the same kind in this process. What was spent on
compiling and trying is reported beside the kernel's time, never in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from benchmarks import references
from benchmarks.ahead import compile_ahead
from benchmarks.gpu_state import limits_here
from benchmarks.own_providers import own_settings
from benchmarks.results import Device, Progress
from benchmarks.row_run import quiet
from benchmarks.timing import cold
from kernels.algorithm import Algorithm
from kernels.errors import InputError
from kernels.inputs import ITEMSIZE, Case
from kernels.problems import shape_of
from kernels.tiles import next_power_of_two
from kernels.tuning import Tuner, Tuning

TUNER = Tuner()
FLAGS = ("mask", "head_dim", "kv_heads")


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
    measure, prepare = (None, None) if is_known else _steps(entry, case)
    tuning = TUNER.tune(key, configs, limits_here(), measure, prepare)
    yield TuneResult(
        entry.name, case, device, tuning, entry.min_bytes(shape), entry.flops(shape), is_known
    )


def _steps(entry: Algorithm, case: Case) -> tuple[Callable, Callable]:
    """Return functions of settings: to ms, of right results only, and of all to compile them."""
    import torch

    with quiet(), torch.no_grad():
        tensors = references.tensors_for(entry, case)
        exact = references.exact(entry, case, tensors)
    making = partial(own_settings, entry, case, tensors)

    def measure(settings: Mapping[str, int]) -> float:
        with quiet(), torch.no_grad():
            call = making(settings)
            error, allowed = references.check(entry, case, exact, call.run())
            if not error <= allowed:  # also where it is NaN
                raise ValueError(f"its result is off by {error:.1g}, and {allowed:.1g} is allowed.")
            return cold(call.run).median_ms

    def prepare(kept: list[Mapping[str, int]]) -> None:
        with quiet(), torch.no_grad():
            compile_ahead(partial(making, settings) for settings in kept)

    return measure, prepare
