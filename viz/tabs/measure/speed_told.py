"""Numbers of a sweep as they are written, and everything that a pointer reads of a point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from benchmarks.occupancy import Occupancy
from benchmarks.operations import NAMES
from benchmarks.sweep_choice import SIZES
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from viz.figures.measure import CEILING
from viz.figures.prose import listed
from viz.figures.sizes import duration
from viz.locales import text


def axis_name(case: SweepCase) -> str:
    """Return how the size that varies is called on the page."""
    return SIZES[case.axis][0]


def speeds(point: SweepPoint) -> str:
    """Return "3966 GB/s, 12.3 TFLOP/s"; a copy computes nothing."""
    said = f"{digits(point.gb_per_s)} GB/s"
    return f"{said}, {digits(point.tflop_per_s)} TFLOP/s" if point.flops else said


def milliseconds(ms: float) -> str:
    """Return a time with four significant digits."""
    return f"{ms:.4g}" if 1e-4 <= ms < 1e4 else f"{ms:.3e}"


def microseconds(us: float) -> str:
    """Return a short time: 3.12, 42.5, 180."""
    return digits(us)


def digits(value: float) -> str:
    """Return three significant digits or more, never a power of ten: 0.81, 12.3, 3966."""
    if math.isnan(value):
        return "–"
    places = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{places}f}"


def settings_words(settings: Mapping[str, int]) -> str:
    """Return settings by their names, "block 8192, num_warps 4"."""
    return ", ".join(f"{name} {number}" for name, number in settings.items())


def configuration(settings: Mapping[str, int]) -> str:
    """Return settings as short as a table's column: "128×64 w8 s3", "rows 8 w4"."""
    blocks = [str(settings[name]) for name in ("block_m", "block", "block_k") if name in settings]
    parts = ["×".join(blocks)] if blocks else []
    parts += [f"rows {settings['rows']}"] if "rows" in settings else []
    parts += [f"splits {settings['n_splits']}"] if "n_splits" in settings else []
    parts += [
        f"{letter}{settings[name]}"
        for name, letter in (("group_m", "g"), ("num_warps", "w"), ("num_stages", "s"))
        if name in settings
    ]
    return " ".join(parts)


def told(run: SweepRun, point: SweepPoint, language: str) -> str:
    """Return everything that is known about a point, a line each, as plotly's markup."""
    head = f"<b>{escape(NAMES[point.provider])}</b>, {axis_name(run.case)} {point.value}"
    if run.case.is_hot:
        head += f", {escape(text(language, 'measure.hot.said'))}"
    return "<br>".join([head, *map(escape, facts(point, language))])


def facts(point: SweepPoint, language: str) -> list[str]:
    """Return what is known about a point that has a time, a line each."""
    lines = [speeds(point)]
    spread = f"{milliseconds(point.p20_ms)}–{milliseconds(point.p80_ms)}"
    lines.append(f"{milliseconds(point.median_ms)} ms, p20–p80 {spread} ms")
    lines.append(f"n {point.n}, {text(language, 'measure.told.outliers')} {point.n_outliers}")
    short = [
        f"{text(language, f'measure.told.{name}')} {microseconds(us)} µs"
        for name, us in (("graph", point.graph_us), ("wall", point.wall_us))
        if us is not None
    ]
    lines += [", ".join(short)] if short else []
    if point.n_rows:
        lines.append(f"n_rows {point.n_rows}")
    ran_as = [one for one in (point.path, settings_words(point.settings)) if one]
    lines += [", ".join(ran_as)] if ran_as else []
    held = {"registers": point.registers, "spills": spilled(point)}
    held |= {"shared": point.shared_bytes, "warps": point.warps}
    known = [
        f"{text(language, f'measure.told.{key}')} {n}" for key, n in held.items() if n is not None
    ]
    lines += [", ".join(known)] if known else []
    if point.first_s:  # a landscape's setting has none
        lines.append(f"{text(language, 'measure.told.first')} {duration(point.first_s)}")
    if point.provider != CEILING:
        error = f"{point.error:.2g} ≤ {point.allowed:.2g}"
        lines.append(f"{text(language, 'measure.told.error')} {error}")
    return lines + _state(point, language)


def limits(held: Occupancy, language: str) -> str:
    """Return what keeps a multiprocessor from holding more: "registers and shared memory"."""
    return listed(language, [text(language, f"measure.limit.{name}") for name in held.limits])


def spilled(point: SweepPoint) -> str | None:
    """Return how much a thread keeps in local memory: "48 B"; None where that is not known.

    Triton counts words of four bytes.
    """
    return None if point.spills is None else f"{4 * point.spills} B"


def _state(point: SweepPoint, language: str) -> list[str]:
    """Return how warm and how fast the GPU was, and what held its clock down."""
    known = [f"{point.clock_mhz} MHz"] if point.clock_mhz is not None else []
    known += [f"{point.temperature_c} °C"] if point.temperature_c is not None else []
    if point.slowed:
        why = text(language, f"measure.slowed.{point.slowed}")
        known.append(text(language, "measure.told.slowed", why=why))
    return [", ".join(known)] if known else []
