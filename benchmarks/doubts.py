"""What to distrust in a sweep, as facts: slow calls, calls faster than the ceiling, the clock.

The shell and the page say them, each in words of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.ceiling import COPY
from benchmarks.sweep_results import SweepPoint

# A clock so far below its highest says that a GPU got hot, or its power ran out, on the way.
CLOCK_DROP = 0.05


class Drop(NamedTuple):
    """A clock that fell within a run: its most and least MHz, and the first point at the least."""

    most: int
    least: int
    at: SweepPoint

    @property
    def share(self) -> float:
        """How much of the highest is gone, 0 to 1."""
        return 1 - self.least / self.most


class Over(NamedTuple):
    """A point that is faster than its copy by more than both spread, and by what share of it."""

    point: SweepPoint
    share: float


class Doubts(NamedTuple):
    """What to know before the numbers are believed.

    slow    the points of which some calls took over twice the median
    over    the points above the ceiling, the highest first
    held    what held a clock down -> where it did
    drop    how far the clock fell, None if by no more than 5%
    """

    slow: tuple[SweepPoint, ...]
    over: tuple[Over, ...]
    held: dict[str, tuple[SweepPoint, ...]]
    drop: Drop | None


def doubts_of(points: Iterable[SweepPoint]) -> Doubts:
    """Return what to distrust in points; those without a time say nothing."""
    timed = [point for point in points if not point.reason]
    slow = tuple(point for point in timed if point.n_outliers)
    words = dict.fromkeys(point.slowed for point in timed if point.slowed)
    held = {word: tuple(point for point in timed if point.slowed == word) for word in words}
    clocked = [point for point in timed if point.clock_mhz]
    drop = None
    if clocked:
        most = max(point.clock_mhz for point in clocked)
        slowest = min(clocked, key=lambda point: point.clock_mhz)
        if slowest.clock_mhz < (1 - CLOCK_DROP) * most:
            drop = Drop(most, slowest.clock_mhz, slowest)
    return Doubts(slow, _over(timed), held, drop)


def _over(timed: list[SweepPoint]) -> tuple[Over, ...]:
    """Return the points above the ceiling. A landscape has one copy, and no value of an axis."""
    copies = {point.value: point for point in timed if point.provider == COPY}
    found = []
    for point in timed:
        copy = copies.get(point.value, copies.get(0))
        if copy is None or point.provider == COPY:
            continue
        spread = (copy.p80_ms - copy.p20_ms) + (point.p80_ms - point.p20_ms)
        if point.median_ms < copy.median_ms - spread:
            found.append(Over(point, copy.median_ms / point.median_ms - 1))
    return tuple(sorted(found, key=lambda over: -over.share))
