"""The card beside a sweep's chart: why the fastest won at the largest size, and who else leads."""

from __future__ import annotations

import math

from benchmarks.moved_bytes import moved_bytes
from benchmarks.occupancy import occupancy
from benchmarks.operations import NAMES, OPERATIONS, is_ours
from benchmarks.sweep_results import SHORT_US, SweepPoint, SweepRun
from viz.figures.measure import STUDIED
from viz.figures.prose import listed, say
from viz.figures.sizes import duration, size, times
from viz.locales import text
from viz.tabs.measure.speed_lines import (
    Shown,
    has_time,
    providers_of,
    share,
    table_of,
    values_of,
)
from viz.tabs.measure.speed_told import (
    axis_name,
    configuration,
    limits,
    microseconds,
    milliseconds,
    speeds,
    spilled,
)
from viz.tabs.measure.speed_words import SAME, fastest, last_round


def card(run: SweepRun | None, shown: Shown, language: str) -> list:
    """Return who is the fastest at the largest size and why, and where another is ahead."""
    if run is None:
        return []
    points, there = table_of(run), last_round(run, shown)
    best = fastest(there)
    if best is None:
        return []
    key = "measure.card" if is_ours(best.provider) else "measure.card.who"
    title = text(language, key, axis=axis_name(run.case), value=best.value)
    said = [say(language, "measure.card.best", name=NAMES[best.provider], speed=speeds(best))]
    part = share(best, points)
    if not math.isnan(part) and not OPERATIONS[run.case.operation].by_flops:
        said[0] += say(language, "measure.card.share", share=f"{100 * part:.0f}")
    second = fastest(point for point in there if _differs(point, best))
    ours = fastest(point for point in there if is_ours(point.provider))
    compared = [best, *([second] if second else [])]
    compared += [ours] if ours and not any(is_ours(point.provider) for point in compared) else []
    after = [*_short(run, shown, language), *_ahead(run, shown, language)]
    first = listed(language, [f"{NAMES[one.provider]} {duration(one.first_s)}" for one in compared])
    after.append(say(language, "measure.card.first", calls=first))
    return [
        ["h3", {}, title],
        *(["p", {}, *sentence] for sentence in said),
        _facts(run, compared, points, language),
        *(["p", {}, *sentence] for sentence in after),
    ]


def _differs(point: SweepPoint, best: SweepPoint) -> bool:
    """Whether a point is of another kernel than the best's; a path that was told may be its own."""
    if point is best:
        return False
    same = is_ours(point.provider) and is_ours(best.provider) and point.path == best.path
    return not (same and dict(point.settings) == dict(best.settings))


def _facts(run: SweepRun, compared: list[SweepPoint], points: dict, language: str) -> list:
    """Return the best beside the second best, a row for each thing that is known of either."""
    rows = {
        "time": [f"{milliseconds(point.median_ms)} ms" for point in compared],
        "bytes": [_bytes(run, point) for point in compared],
        "copy": [_percent(share(point, points)) for point in compared],
        "path": [point.path for point in compared],
        "settings": [configuration(point.settings) for point in compared],
        "registers": [_count(point.registers) for point in compared],
        "spills": [spilled(point) or "" for point in compared],
        "shared": [
            "" if point.shared_bytes is None else size(point.shared_bytes) for point in compared
        ],
        "occupancy": [_occupancy(run, point, language) for point in compared],
    }
    if OPERATIONS[run.case.operation].by_flops:
        del rows["copy"]
    body = [
        [
            "tr",
            {},
            ["th", {"scope": "row"}, text(language, f"measure.card.{name}")],
            *(["td", {}, cell or "–"] for cell in cells),
        ]
        for name, cells in rows.items()
        if any(cells)
    ]
    heads = [
        ["th", {"scope": "col", **({"class": "bw-focus"} if p.provider == STUDIED else {})}, name]
        for p, name in ((p, NAMES[p.provider]) for p in compared)
    ]
    top = ["thead", {}, ["tr", {}, ["td", {}, ""], *heads]]
    return [
        "div",
        {"class": "bw-scroll"},
        ["table", {"class": "bw-table bw-why"}, top, ["tbody", {}, *body]],
    ]


def _count(number: int | None) -> str:
    return "" if number is None else str(number)


def _percent(part: float) -> str:
    return "" if math.isnan(part) else f"{100 * part:.0f}%"


def _bytes(run: SweepRun, point: SweepPoint) -> str:
    """Return what a kernel of ours moves by its formula, and how often the least there is."""
    moved = moved_bytes(run.case, point)
    if moved is None:
        return ""
    ratio = moved / point.n_bytes
    return size(moved) if ratio < 1.05 else f"{size(moved)}, {times(ratio)}×"


def _occupancy(run: SweepRun, point: SweepPoint, language: str) -> str:
    """Return how full a multiprocessor is, and what keeps it from holding more."""
    about = point.warps, point.registers, point.shared_bytes
    found = occupancy(run.device.capability, *about)
    if found is None:
        return ""
    share, why = f"{100 * found.share:.0f}", limits(found, language)
    return text(language, "measure.card.limited", share=share, why=why)


def _short(run: SweepRun, shown: Shown, language: str) -> list:
    """Return what the GPU works and what a caller waits, of our shortest call that tells both."""
    own = [
        point
        for point in run.points
        if point.provider == STUDIED
        and point.provider in shown.providers
        and point.value in values_of(run, shown)
        and has_time(point)
        and None not in (point.graph_us, point.wall_us)
    ]
    if not own:
        return []
    point = min(own, key=lambda one: one.graph_us)
    return [
        say(
            language,
            "measure.card.short",
            axis=axis_name(run.case),
            value=point.value,
            works=microseconds(point.graph_us),
            waits=microseconds(point.wall_us),
            limit=f"{SHORT_US:.0f}",
        )
    ]


def _ahead(run: SweepRun, shown: Shown, language: str) -> list:
    """Return at which sizes another is ahead of our best kernel, or that none is, anywhere."""
    points, names = table_of(run), providers_of(run, shown)
    ahead: dict[str, list[tuple[int, float]]] = {}
    n_compared = 0
    for value in values_of(run, shown):
        here = [points[name, value] for name in names if (name, value) in points]
        mine = fastest(point for point in here if is_ours(point.provider))
        others = [p for p in here if has_time(p) and not is_ours(p.provider)]
        n_compared += bool(mine and others)
        for other in others if mine else ():
            ratio = mine.median_ms / other.median_ms
            if ratio > 1 + SAME:
                ahead.setdefault(other.provider, []).append((value, ratio))
    if not n_compared:
        return []
    if not ahead:
        return [say(language, "measure.card.none_ahead", n=n_compared)]
    axis = axis_name(run.case)
    return [
        say(
            language,
            "measure.card.ahead",
            name=NAMES[provider],
            axis=axis,
            values=listed(language, [str(value) for value, _ in found]),
            ratio=f"{max(ratio for _, ratio in found):.2f}",
        )
        for provider, found in ahead.items()
    ]
