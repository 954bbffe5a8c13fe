"""Measure an operation over a size, provider beside provider, and yield each point as it is found.

At each value all providers get the same tensors. Each has to give what float64 gives before it is
timed; then they take turns in cold caches (`benchmarks.timing`), and with them kernels that move
as many bytes and compute nothing: the fastest is the ceiling, on this GPU, at this moment. What
runs out of memory, or refuses, or is wrong, is a point without a time and with a reason; the sweep
goes on. It ends when its values or its seconds do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from benchmarks import references, timing
from benchmarks.ahead import compile_ahead, cores
from benchmarks.ceiling import copies, fastest_copy
from benchmarks.device import probe
from benchmarks.failures import classify, clean
from benchmarks.gpu_state import gpu_state, limits_here
from benchmarks.operations import OPERATIONS, at
from benchmarks.own_providers import Call, Unavailable, own_settings
from benchmarks.providers import make
from benchmarks.results import Progress
from benchmarks.row_run import quiet
from benchmarks.sweep_results import SHORT_US, LandscapeCase, SweepCase, SweepPoint
from kernels.algorithm import Algorithm
from kernels.errors import InputError
from kernels.inputs import ITEMSIZE, Case
from kernels.problems import shape_of
from kernels.tuning import sift

ENOUGH_BYTES = 2**29  # of traffic, where rows are not told: several times an L2 cache
MOST_ROWS = 2**22
SECONDS_A_POINT = 1.0  # of all providers at a value together
SECONDS_A_SETTING = 0.25  # of a landscape, which has a hundred


def rows_for(operation: str, case: Case) -> int:
    """Return how many rows make the traffic of an operation large: at least 16, a multiple of 16.

    16 rows and more start at addresses that the compiler treats alike.
    """
    n_bytes, _ = OPERATIONS[operation].costs(replace(case, n_rows=16))
    wanted = 16 * math.ceil(ENOUGH_BYTES / n_bytes)
    return max(16, min(MOST_ROWS, wanted))


def _has_rows(operation: str) -> bool:
    """Whether an operation works on rows, whose number can be chosen."""
    return OPERATIONS[operation].algorithm.problem == "row"


def point_case(sweep: SweepCase, value: int) -> Case:
    """Return all sizes at one value of the axis."""
    case = at(sweep.sizes, sweep.axis, value)
    if not _has_rows(sweep.operation) or sweep.fixed_rows:
        return case
    return replace(case, n_rows=rows_for(sweep.operation, case))


def needed_bytes(operation: str, case: Case, providers: tuple[str, ...]) -> int:
    """Return about how much memory a point takes: tensors, float64 checks, outputs, the flush."""
    n_bytes, _ = OPERATIONS[operation].costs(case)
    wide = n_bytes * (8 // ITEMSIZE[case.dtype])  # the reference, while it is held against
    if operation == "attention" and {"three", "sdpa_math"} & set(providers):
        n_bytes += 4 * case.batch * case.heads * case.seq_q * case.seq_k * ITEMSIZE[case.dtype]
    return 3 * n_bytes + 2 * wide


def sweep(case: SweepCase) -> Iterator[Progress | SweepPoint]:
    """Yield Progress "sweep" before every value, then a point for each provider and the copy."""
    began = _start()
    for at_value, value in enumerate(case.values):
        left = case.budget_s - (time.monotonic() - began)
        if left <= 0:
            yield Progress("sweep_over", {"n": at_value, "of": len(case.values)})
            return
        about = {"n": at_value + 1, "of": len(case.values), "axis": case.axis, "value": value}
        yield Progress("sweep", about)
        yield from _points(case, value)


def _start() -> float:
    """Return the moment of beginning. Raise InputError without a GPU."""
    if probe().kind != "gpu":
        raise InputError("needs_gpu", "This is measured on a GPU, and there is none here.")
    return time.monotonic()


def _points(sweep: SweepCase, value: int) -> Iterator[SweepPoint]:
    """Yield the points of one value; whatever fails is the reason of its point."""
    import torch

    case = point_case(sweep, value)
    n_bytes, flops = OPERATIONS[sweep.operation].costs(case)
    n_rows = case.n_rows if _has_rows(sweep.operation) else 0
    blank = SweepPoint("", value, n_rows, n_bytes=n_bytes, flops=flops)
    free = torch.cuda.mem_get_info()[0]
    needed = needed_bytes(sweep.operation, case, sweep.providers)
    if needed > free:
        message = f"{needed / 1e9:.1f} GB of {free / 1e9:.1f} GB"
        for provider in sweep.providers:
            yield replace(blank, provider=provider, reason="no_memory", message=message)
        return
    waiting = list(sweep.providers)  # those without a point yet
    try:
        entry = OPERATIONS[sweep.operation].algorithm
        tensors = references.tensors_for(entry, case)
        exact = references.exact(entry, case, tensors)
        ready: list[tuple[SweepPoint, Call]] = []
        for provider in sweep.providers:
            point = replace(blank, provider=provider)
            making = partial(make, sweep.operation, provider, case, tensors)
            found = _ready(entry, case, point, making, exact)
            if isinstance(found, SweepPoint):
                waiting.remove(provider)
                yield found
            else:
                ready.append(found)
        exact = None
        for point in timed([*ready, *copies(sweep.operation, blank)], sweep.is_hot):
            if point.provider in waiting:
                waiting.remove(point.provider)
            yield point
    except torch.OutOfMemoryError:  # the estimate was too low: this value ends, not the sweep
        for provider in waiting:
            yield replace(blank, provider=provider, reason="no_memory")
    finally:
        tensors = exact = ready = None
        torch.cuda.empty_cache()


def _ready(
    entry: Algorithm,
    case: Case,
    point: SweepPoint,
    making: Callable[[], Call],
    exact: references.Exact,
) -> tuple[SweepPoint, Call] | SweepPoint:
    """Return the point and its call, checked against float64, or the point with its reason."""
    import torch

    try:
        began = time.monotonic()
        with quiet():
            call = making()
            outputs = call.run()
            torch.cuda.synchronize()
        first_s = time.monotonic() - began
        error, allowed = references.check(entry, case, exact, outputs)
        point = replace(
            point,
            first_s=first_s,
            error=error,
            allowed=allowed,
            path=call.path,
            settings=dict(call.settings),
            **resources(call.compiled),
        )
        if not error <= allowed:
            return replace(point, reason="wrong", message=f"{error:.2g} > {allowed:.2g}")
        return point, call
    except Unavailable as refusal:
        return replace(point, reason=refusal.key, message=refusal.message)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return replace(point, reason="no_memory")
    except Exception as error:
        if classify(error, on_gpu=True).kind == "gpu_error":
            raise  # the GPU's context is gone, and with it all that would follow
        return replace(point, reason="failed", message=clean(str(error))[:200])


def timed(
    ready: list[tuple[SweepPoint, Call]], is_hot: bool = False, seconds: float = SECONDS_A_POINT
) -> Iterator[SweepPoint]:
    """Yield the points with their times, all calls in turns; of copies the fastest."""
    with quiet():
        times = timing.in_turns([call.run for _, call in ready], seconds=seconds, is_hot=is_hot)
        state = gpu_state()
        for (point, call), found in fastest_copy(zip(ready, times, strict=True)):
            if not found.p20_ms > 0:  # no rate can be told of a time of 0
                yield replace(point, reason="too_fast")
                continue
            is_short = found.median_ms * 1e3 < SHORT_US and not is_hot
            yield replace(
                point,
                median_ms=found.median_ms,
                p20_ms=found.p20_ms,
                p80_ms=found.p80_ms,
                n=found.n,
                n_outliers=found.n_outliers,
                **(_short(call) if is_short else {}),
                **state._asdict(),
            )


def _short(call: Call) -> dict[str, float | None]:
    """Return how long a short call takes without the host, and for who waits for it."""
    import torch

    try:
        graph_us = timing.from_graph(call.run)
    except RuntimeError:  # a call that cannot be captured has only the other times
        torch.cuda.synchronize()
        graph_us = None
    return {"graph_us": graph_us, "wall_us": timing.wall(call.run)}


def resources(compiled: object | None) -> dict[str, int | None]:
    """Return a compiled kernel's registers, spills, shared memory and warps; None: not known."""
    if compiled is None:
        return {}
    about = getattr(compiled, "metadata", None)
    return {
        "registers": getattr(compiled, "n_regs", None),
        "spills": getattr(compiled, "n_spills", None),
        "shared_bytes": getattr(about, "shared", None),
        "warps": getattr(about, "num_warps", None),
    }


# Landscapes: one size, every setting of our own kernel.


def landscape(case: LandscapeCase) -> Iterator[Progress | SweepPoint]:
    """Yield a point for every setting, with Progress "compiling" of a group and "landscape" of one.

    A setting that does not fit is a point with the reason "unfit": nothing is compiled for it.
    """
    import torch

    began = _start()
    entry = OPERATIONS[case.operation].algorithm
    n_bytes, flops = OPERATIONS[case.operation].costs(case.sizes)
    n_rows = case.sizes.n_rows if _has_rows(case.operation) else 0
    blank = SweepPoint("ours", 0, n_rows, n_bytes=n_bytes, flops=flops)
    kept, refused = sift(entry.configs(shape_of(entry, case.sizes)), limits_here())
    for each in refused:
        yield replace(blank, settings=dict(each.settings), reason="unfit", message=each.reason)
    tensors = references.tensors_for(entry, case.sizes)
    exact = references.exact(entry, case.sizes, tensors)
    try:
        yield from timed(copies(case.operation, blank))
    except torch.OutOfMemoryError:  # there is no ceiling then; settings can be compared without
        torch.cuda.empty_cache()
    makings = [partial(own_settings, entry, case.sizes, tensors, each.settings) for each in kept]
    at_once = 2 * cores()  # few enough to stop between them, and to see the first ones soon
    for number, config in enumerate(kept):
        if time.monotonic() - began > case.budget_s:
            yield Progress("sweep_over", {"n": number, "of": len(kept)})
            return
        if number % at_once == 0:
            end = min(number + at_once, len(kept))
            yield Progress("compiling", {"n": number + 1, "end": end, "of": len(kept)})
            with quiet():
                compile_ahead(makings[number:end])
        yield Progress("landscape", {"n": number + 1, "of": len(kept)})
        point = replace(blank, value=number)
        found = _ready(entry, case.sizes, point, makings[number], exact)
        settings = dict(config.settings)  # those that were asked for, by the names of the space
        if isinstance(found, SweepPoint):
            yield replace(found, settings=settings)
        else:
            point, call = found
            # Compiled before, with its whole group: its first call says nothing of that.
            point = replace(point, settings=settings, first_s=0.0)
            try:
                yield from timed([(point, call)], seconds=SECONDS_A_SETTING)
            except torch.OutOfMemoryError:  # ends this setting, not the landscape
                torch.cuda.empty_cache()
                yield replace(point, reason="no_memory")
    torch.cuda.empty_cache()
