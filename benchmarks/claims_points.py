"""What the judges of claims share: the points that have times, and numbers as they are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.ceiling import COPY
from benchmarks.sweep_results import SweepPoint, SweepRun

NOTHING = "–"


class NotEnough(LookupError):
    """The runs hold no time of something that must be judged."""


def timed(run: SweepRun) -> dict[tuple[str, int], SweepPoint]:
    """Return the points of a sweep that have a time, by (provider, value)."""
    return {(point.provider, point.value): point for point in run.points if not point.reason}


def settings_timed(run: SweepRun) -> list[SweepPoint]:
    """Return the points of a landscape that have a time, the fastest first, the copy left out."""
    kept = [point for point in run.points if not point.reason and point.provider != COPY]
    return sorted(needed(kept), key=lambda point: point.median_ms)


def needed(kept: list) -> list:
    """Return a list that must not be empty. Raise NotEnough if it is."""
    if not kept:
        raise NotEnough
    return kept


def is_faster(one: SweepPoint, other: SweepPoint) -> bool:
    """Whether one took less time by more than their spread, between a fifth and four fifths."""
    return one.p80_ms < other.p20_ms


def verdict(holds: Iterable[bool]) -> str:
    """Return "true" if everything holds, "false" if nothing does, else "partly"."""
    told = list(holds)
    return "true" if all(told) else "partly" if any(told) else "false"


def digits(number: float) -> str:
    """Return a number with three digits, and all that are before the point."""
    return f"{number:.0f}" if number >= 100 else f"{number:#.3g}".rstrip(".")


def percent(share: float) -> str:
    """Return a share in percent, without the sign."""
    return f"{100 * share:.0f}"


def cell(point: object | None, said: Callable[..., str]) -> str:
    """Return what a table says of something that may not be there."""
    return NOTHING if point is None else said(point)
