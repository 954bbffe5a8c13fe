"""Sweeps in words and tables, for a shell: the rates, what has none and why, what to distrust."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields

from benchmarks.ceiling import COPY
from benchmarks.doubts import doubts_of
from benchmarks.operations import NAMES, OPERATIONS
from benchmarks.sweep_results import SHORT_US, LandscapeCase, SweepCase, SweepPoint, SweepRun

REASONS = {
    "no_memory": "the GPU's memory does not suffice",
    "refused": "it refuses these sizes",
    "not_installed": "it is not installed here",
    "too_fast": "it takes less time than the clock can tell",
    "too_long": "its rows may not be longer",
    "too_many_scores": "the scores would fill the memory",
    "unknown": "it does not compute this",
    "failed": "it failed",
    "wrong": "its result is wrong, so it is not timed",
    "unfit": "it does not fit this GPU",
}
AXES = {"n_cols": "N", "n_rows": "rows", "seq": "T", "size": "M = N = K", "seq_k": "keys"}
LANDSCAPE_ROW = "{:<58} {:>10} {:>9} {:>9} {:>7} {:>12}"


def unit(case: SweepCase | LandscapeCase) -> str:
    """Return what a case's rates are in."""
    return "TFLOP/s" if OPERATIONS[case.operation].by_flops else "GB/s"


def rate(point: SweepPoint, case: SweepCase | LandscapeCase) -> float:
    """Return a point's rate in the case's unit; a copy computes nothing and is always in GB/s."""
    by_flops = OPERATIONS[case.operation].by_flops and point.provider != COPY
    return point.tflop_per_s if by_flops else point.gb_per_s


def said(point: SweepPoint, case: SweepCase | LandscapeCase) -> str:
    """Return one point in a line."""
    is_sweep = isinstance(case, SweepCase)
    where = f"{AXES.get(case.axis, case.axis)} {point.value}: " if is_sweep else ""
    who = NAMES[point.provider]
    if not is_sweep and point.settings:
        who = settings_text(point.settings)
    if point.reason:
        return f"{where}{who}: {because(point)}"
    in_unit = "GB/s" if point.provider == COPY else unit(case)
    first = f", first call {point.first_s:.1f} s" if point.first_s else ""
    time = f"{point.median_ms * 1e3:.1f} us"
    return f"{where}{who} {_number(rate(point, case))} {in_unit}, {time}{first}"


def because(point: SweepPoint) -> str:
    """Return why a point has no time."""
    reason = REASONS[point.reason]
    return f"{reason} ({point.message})" if point.message else reason


def settings_text(settings: Mapping[str, int]) -> str:
    """Return settings in words."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def sizes_text(case: SweepCase | LandscapeCase) -> str:
    """Return what is the same at every point."""
    sizes, axis = case.sizes, getattr(case, "axis", "")
    told = [sizes.dtype]
    if "n_rows" in OPERATIONS[case.operation].axes:
        if axis != "n_cols":
            told.append(f"N {sizes.n_cols}")
        if axis != "n_rows" and getattr(case, "fixed_rows", True):
            told.append(f"{sizes.n_rows} rows")
    elif "size" in OPERATIONS[case.operation].axes:
        told += [] if axis else [f"M = N = K = {sizes.size_m}"]
    else:
        told += [] if axis in ("seq", "seq_k") else [f"T {sizes.seq_k}"]
        for name in ("batch", "heads", "head_dim"):
            told += [] if axis == name else [f"{name} {getattr(sizes, name)}"]
        if case.operation == "decode":
            told += ["1 query"] + ([] if axis == "n_splits" else [f"{sizes.n_splits} splits"])
        told.append(f"mask {sizes.mask}")
    return ", ".join([*told, *["caches hot"] * getattr(case, "is_hot", False)])


def table(run: SweepRun) -> Iterable[str]:
    """Yield the run's lines: the rates, then why some have none, then what to distrust."""
    yield f"{run.case.operation}, {unit(run.case)}: {sizes_text(run.case)}"
    if isinstance(run.case, SweepCase):
        yield from _sweep_rows(run)
    else:
        yield from _landscape_rows(run)
    yield from reasons(run)
    yield from doubts(run)


def _sweep_rows(run: SweepRun) -> Iterable[str]:
    """Yield a line a value: the copy first, then the providers as the operation has them."""
    case = run.case
    at = {(point.provider, point.value): point for point in run.points}
    columns = (COPY, *case.providers)
    heads = [NAMES[name] for name in columns]
    if OPERATIONS[case.operation].by_flops:
        heads[0] += ", GB/s"
    values = [value for value in case.values if any(p.value == value for p in run.points)]
    cells = [[_cell(at.get((provider, value)), case) for provider in columns] for value in values]
    yield from grid(AXES.get(case.axis, case.axis), heads, values, cells)
    if "n_rows" in OPERATIONS[case.operation].axes and not case.fixed_rows:
        yield "rows: " + ", ".join(
            f"{next(p.n_rows for p in run.points if p.value == value)} at {value}"
            for value in values
        )


def grid(
    corner: str, heads: Sequence[str], values: Sequence[object], cells: Sequence[Sequence[str]]
) -> Iterable[str]:
    """Yield the lines of a table, every column as wide as what is in it."""
    rows = [[corner, *heads], *([str(v), *line] for v, line in zip(values, cells, strict=True))]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def _landscape_rows(run: SweepRun) -> Iterable[str]:
    """Yield the copy, then a line a setting, the fastest first."""
    yield LANDSCAPE_ROW.format("settings", "us", unit(run.case), "registers", "spills", "shared")
    timed = sorted((p for p in run.points if not p.reason), key=lambda p: p.median_ms)
    for point in sorted(timed, key=lambda p: p.provider != COPY):
        name = settings_text(point.settings) if point.settings else f"{NAMES[COPY]}, GB/s"
        known = (point.registers, point.spills, point.shared_bytes)
        yield LANDSCAPE_ROW.format(
            name,
            f"{point.median_ms * 1e3:.1f}",
            _number(rate(point, run.case)),
            *("-" if number is None else number for number in known),
        )


def _cell(point: SweepPoint | None, case: SweepCase) -> str:
    return "-" if point is None or point.reason else _number(rate(point, case))


def _number(value: float) -> str:
    """Return a rate with three digits, and all that are before the point."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def reasons(run: SweepRun) -> Iterable[str]:
    """Yield each reason once, with where it holds."""
    found: dict[tuple[str, str], list[str]] = {}
    is_sweep = isinstance(run.case, SweepCase)
    for point in run.points:
        if point.reason:
            key = NAMES[point.provider], because(point)
            where = str(point.value) if is_sweep else f"[{settings_text(point.settings)}]"
            found.setdefault(key, []).append(where)
    for (who, why), where in found.items():
        yield f"- {who}: {why}: at {', '.join(where)}"


def doubts(run: SweepRun) -> Iterable[str]:
    """Yield what to know before the numbers are believed: odd calls, the launch, the clock."""
    is_sweep = isinstance(run.case, SweepCase)
    timed = [point for point in run.points if not point.reason]

    def name(point: SweepPoint) -> str:
        which = point.value if is_sweep else settings_text(point.settings)
        return f"{NAMES[point.provider]} at {which}" if which != "" else NAMES[point.provider]

    found = doubts_of(run.points)
    for point in found.slow:
        yield f"{name(point)}: {point.n_outliers} of {point.n} calls took over twice the median"
    for point, share in found.over:
        yield f"{name(point)} is {share:.1%} faster than the copy, by more than both spread"
    short = [f"{name(p)} {p.graph_us:.1f} us" for p in timed if p.graph_us is not None]
    if short:
        yield f"under {SHORT_US:.0f} us, the same from a captured graph: {', '.join(short)}"
    waits = [f"{name(p)} {p.wall_us:.1f} us" for p in timed if p.wall_us is not None]
    if waits:
        yield f"what a caller waits for these, the launch included: {', '.join(waits)}"
    for word, where in found.held.items():
        yield f"the clock was held down by {word}: {', '.join(map(name, where))}"
    if found.drop:
        drop = found.drop
        where = f" at {drop.at.value}" if is_sweep else ""
        yield f"the clock fell by {drop.share:.0%}, from {drop.most} to {drop.least} MHz{where}"


def csv_text(points: Iterable[SweepPoint], **more: str) -> str:
    """Return a line a point: every field, GB/s and TFLOP/s, and ``more`` columns, alike in each.

    What is not known is empty.
    """
    names = [*(one.name for one in fields(SweepPoint)), "gb_per_s", "tflop_per_s"]
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([*names, *more])
    for point in points:
        rows.writerow([*(_csv_cell(getattr(point, name)) for name in names), *more.values()])
    return out.getvalue()


def _csv_cell(value: object) -> object:
    """Return a value as a file of commas has it."""
    if value is None or value != value:
        return ""
    if isinstance(value, str | int | float):
        return value
    return " ".join(f"{name}={setting}" for name, setting in value.items())
