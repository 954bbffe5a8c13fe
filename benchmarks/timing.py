"""Time calls on a GPU the way they are met in a model: their data not in the cache.

Between two calls a buffer twice as large as the L2 cache is written, so that nothing of the last
call is left in it; events lie around the call alone. Calls that are compared take turns, in another
order each round, so that a clock that falls falls for all. The first calls, which compile, are run
before and not counted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

N_WARM = 2
# How long the GPU waits before a timed call, in its clock's cycles: about half a millisecond, in
# which the host has queued the events and the call, so that no launch is part of the time.
HEAD_START = 1_000_000
LEAST_FLUSH = 2**26
FEWEST, MOST = 9, 60  # rounds: as many as fit the seconds a group of calls is given
OUTLIER = 2.0  # times the median


class Timing(NamedTuple):
    """Milliseconds of ``n`` calls: the median, and what a fifth of them stay below and above.

    n_outliers  how many of them took more than twice the median; they count like the others
    """

    median_ms: float
    p20_ms: float
    p80_ms: float
    n: int
    n_outliers: int = 0


def summary(times_ms: Sequence[float]) -> Timing:
    """Return the `Timing` of single times. Raise ValueError if there are none."""
    if not times_ms:
        raise ValueError("no call was timed.")
    times, n = sorted(times_ms), len(times_ms)
    median = statistics.median(times)
    slow = sum(each > OUTLIER * median for each in times)
    return Timing(median, times[n // 5], times[n - 1 - n // 5], n, slow)


def cold(call: Callable[[], object], n: int = 20) -> Timing:
    """Return the time of one call, the L2 cache full of something else."""
    (timing,) = in_turns([call], n_rounds=n)
    return timing


def in_turns(
    calls: Sequence[Callable[[], object]],
    *,
    n_rounds: int | None = None,
    seconds: float = 1.0,
    is_hot: bool = False,
) -> list[Timing]:
    """Return the time of each call: rounds of all of them, the order turned by one each round.

    As many rounds as ``seconds`` hold, unless told. The events resolve about half a microsecond.
    The GPU is kept busy until the call is queued, so the time is the GPU's; where this torch
    cannot do that, it counts the launch, some tens of microseconds. ``is_hot`` leaves the cache as
    the call before left it, and is a mistake to show.
    """
    import torch

    flush = torch.empty(flush_bytes(torch), dtype=torch.uint8, device="cuda")
    wait = getattr(torch.cuda, "_sleep", lambda cycles: None)

    def clear() -> None:
        """Fill the cache with something else, or not."""
        if not is_hot:
            flush.zero_()

    for call in calls:
        for _ in range(N_WARM):
            clear()
            call()
    if n_rounds is None:
        n_rounds = _rounds_in(seconds, calls, clear)
    pairs: list[list] = [[] for _ in calls]
    for turn in range(n_rounds):
        for at in range(len(calls)):
            which = (at + turn) % len(calls)
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            clear()
            if is_hot:
                calls[which]()  # its own data, not the data of whose turn was before
            wait(HEAD_START)
            start.record()
            calls[which]()
            stop.record()
            pairs[which].append((start, stop))
    torch.cuda.synchronize()
    return [summary([start.elapsed_time(stop) for start, stop in each]) for each in pairs]


def _rounds_in(seconds: float, calls: Sequence[Callable[[], object]], clear: Callable) -> int:
    """Return how many rounds of all calls fit, from the time of one."""
    import torch

    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    for call in calls:
        clear()
        call()
    stop.record()
    torch.cuda.synchronize()
    return min(MOST, max(FEWEST, int(seconds * 1e3 / max(start.elapsed_time(stop), 1e-3))))


def from_graph(call: Callable[[], object], n: int = 20) -> float:
    """Return the median microseconds of a call replayed from a captured graph, the cache cold.

    The graph holds the flush, an event, the call and an event: so the host launches nothing between
    the events. Raises RuntimeError where the call cannot be captured.
    """
    import torch

    flush = torch.empty(flush_bytes(torch), dtype=torch.uint8, device="cuda")
    events = [torch.cuda.Event(enable_timing=True, external=True) for _ in range(2)]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()  # whatever it allocates or compiles, it has done before the capture
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        flush.zero_()
        events[0].record()
        call()
        events[1].record()
    times = []
    for _ in range(n):
        graph.replay()
        torch.cuda.synchronize()
        times.append(events[0].elapsed_time(events[1]) * 1e3)
    return statistics.median(times)


def wall(call: Callable[[], object], n: int = 20) -> float:
    """Return the median microseconds that a caller waits for a call, the cache cold.

    From before the launch until the GPU is done: what the host does is part of it.
    """
    import torch

    flush = torch.empty(flush_bytes(torch), dtype=torch.uint8, device="cuda")
    times = []
    for _ in range(n):
        flush.zero_()
        torch.cuda.synchronize()
        began = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1e6)
    return statistics.median(times)


def flush_bytes(torch) -> int:
    """Return the size of the buffer that empties the L2 cache: twice the cache."""
    l2 = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    return max(2 * l2, LEAST_FLUSH)
