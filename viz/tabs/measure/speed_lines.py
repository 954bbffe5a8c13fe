"""From sweeps to what is drawn of them: their lines, and their spots under the roofline."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from benchmarks.operations import NAMES, OPERATIONS
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from viz.figures.measure import CEILING, STUDIED, Dot, Line
from viz.figures.roofline import Ceilings, Spot
from viz.locales import text
from viz.tabs.measure.speed_told import axis_name, digits, milliseconds, speeds, told

VIEWS = ("GB/s", "TFLOP/s", "ms", "ratio")
NOT_A_NUMBER = math.nan


class Shown(NamedTuple):
    """How sweeps are looked at: a view, whom ratios are to, which providers, which values."""

    view: str
    reference: str
    providers: tuple[str, ...]
    values: tuple[int, ...] = ()  # none: all

    @property
    def unit(self) -> str:
        """What the upright axis counts."""
        return f"× {NAMES[self.reference]}" if self.view == "ratio" else self.view


def has_time(point: SweepPoint | None) -> bool:
    """Whether a point was timed."""
    return point is not None and not point.reason and math.isfinite(point.median_ms)


def table_of(run: SweepRun) -> dict[tuple[str, int], SweepPoint]:
    """Return the points by provider and value; of two, the later."""
    return {(point.provider, point.value): point for point in run.points}


def values_of(run: SweepRun, shown: Shown) -> list[int]:
    """Return the values that have points and are to be shown, in order."""
    found = sorted({point.value for point in run.points})
    return [value for value in found if not shown.values or value in shown.values]


def providers_of(run: SweepRun, shown: Shown) -> list[str]:
    """Return the run's providers that are to be shown, in the operation's order."""
    return [name for name in run.case.providers if name in shown.providers]


def measure_of(point: SweepPoint, ms: float, shown: Shown, reference: SweepPoint | None) -> float:
    """Return what a view draws of a call that takes ``ms``; NaN where it has nothing."""
    if shown.view == "ms":
        return ms
    if shown.view == "ratio":
        return reference.median_ms / ms if has_time(reference) else NOT_A_NUMBER
    if shown.view == "TFLOP/s":
        return point.flops / ms / 1e9 if point.flops else NOT_A_NUMBER
    return point.n_bytes / ms / 1e6


def seen(run: SweepRun, provider: str, value: int, shown: Shown) -> float:
    """Return what the view draws of a point's median; NaN where there is none."""
    points = table_of(run)
    point = points.get((provider, value))
    if not has_time(point):
        return NOT_A_NUMBER
    return measure_of(point, point.median_ms, shown, points.get((shown.reference, value)))


def share(point: SweepPoint | None, points: dict) -> float:
    """Return how much of the copy's speed a point has, NaN where either has no time."""
    copy = points.get((CEILING, point.value)) if point else None
    if not has_time(copy) or not has_time(point):
        return NOT_A_NUMBER
    return copy.median_ms / point.median_ms


def unit_words(run: SweepRun, shown: Shown, language: str) -> str:
    """Return what stands over the upright axis; hot caches are a mistake, and called one."""
    if not run.case.is_hot:
        return shown.unit
    return f"{shown.unit} · {text(language, 'measure.hot.said')}"


def lines_of(runs: Iterable[SweepRun], shown: Shown, language: str) -> list[Line]:
    """Return the lines of every run, the last one in question; numbered where there are several.

    Of the others only our kernel's line has its name at the end: all of them would not fit. The
    rest have their sweep's number, and their mark tells the provider.
    """
    runs = list(runs)
    lines = []
    for number, run in enumerate(runs, start=1):
        points, values = table_of(run), values_of(run, shown)
        names = providers_of(run, shown)
        named = STUDIED if STUDIED in names else (*names, CEILING)[0]
        for provider in (*names, CEILING):
            dots = []
            for value in values:
                point = points.get((provider, value))
                reference = points.get((shown.reference, value))
                dots.append(_dot(run, point, value, shown, reference, language))
            if any(not math.isnan(dot.y) for dot in dots):
                name, is_under = short_name(provider, language), number < len(runs)
                name = f"{name} · {number}" if len(runs) > 1 else name
                name = f"{number}" if is_under and provider != named else name
                lines.append(Line(provider, name, dots, is_under, number))
    return lines


def short_name(provider: str, language: str) -> str:
    """Return what stands at a line's end: our paths without our name, the copy as the ceiling."""
    if provider == CEILING:
        return text(language, "measure.ceiling")
    name = NAMES[provider]
    return name.removeprefix("Blockwise ")


def _dot(run, point: SweepPoint | None, value: int, shown: Shown, reference, language: str) -> Dot:
    """Return a point's dot; one without a height where there is no time."""
    if not has_time(point):
        return Dot(value, NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER, "")
    ends = [measure_of(point, ms, shown, reference) for ms in (point.p20_ms, point.p80_ms)]
    y = measure_of(point, point.median_ms, shown, reference)
    return Dot(value, y, min(ends), max(ends), told(run, point, language))


# The roofline.


def ceilings_of(run: SweepRun, kept: Iterable[SweepRun]) -> Ceilings | None:
    """Return the run's best copy, and the best product of a recorded run of the same GPU."""
    copies = [p.gb_per_s for p in run.points if p.provider == CEILING and has_time(p)]
    if not copies:
        return None
    products = [
        point.tflop_per_s
        for other in (*kept, run)
        if isinstance(other.case, SweepCase)
        and other.case.operation == "matmul"
        and other.device.name == run.device.name
        and other.case.sizes.dtype == run.case.sizes.dtype
        for point in other.points
        if point.flops and has_time(point)
    ]
    return Ceilings(max(copies), max(products, default=NOT_A_NUMBER))


def spots_of(run: SweepRun, shown: Shown, ceilings: Ceilings, language: str) -> list[Spot]:
    """Return every timed point that computes something, at its operations a byte."""
    points, spots = table_of(run), []
    for provider in providers_of(run, shown):
        for value in values_of(run, shown):
            point = points.get((provider, value))
            if not has_time(point) or not point.flops or not point.n_bytes:
                continue
            floor = ceilings.floor_ms(point.n_bytes, point.flops)
            said = text(
                language,
                "measure.roofline.told",
                floor=milliseconds(floor),
                took=milliseconds(point.median_ms),
                share=f"{100 * floor / point.median_ms:.0f}",
            )
            name = f"<b>{NAMES[provider]}</b>, {axis_name(run.case)} {value}"
            about = f"{digits(point.flops / point.n_bytes)} FLOP/B, {speeds(point)}"
            spot = Spot(
                provider,
                point.flops / point.n_bytes,
                point.tflop_per_s,
                "<br>".join((name, about, said)),
            )
            spots.append(spot)
    return spots


def default_view(operation: str) -> str:
    """Return the view that an operation is drawn in."""
    return "TFLOP/s" if OPERATIONS[operation].by_flops else "GB/s"
