"""What stands around the charts of a sweep, as trees of nodes for `Note`."""

from __future__ import annotations

import math
from collections.abc import Iterable

from benchmarks.operations import NAMES, OPERATIONS
from benchmarks.sweep import point_case
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from viz.figures.measure import CEILING, STUDIED
from viz.figures.memory_words import case_words as attention_words
from viz.figures.memory_words import run_words, versions
from viz.figures.numerals import short
from viz.figures.prose import listed, rich, say
from viz.figures.sizes import size
from viz.locales import text
from viz.tabs.measure_lines import (
    Shown,
    axis_name,
    digits,
    has_time,
    milliseconds,
    providers_of,
    seen,
    speeds,
    table_of,
    values_of,
)

SAME = 0.02  # times this close together are called the same


def operation_name(name: str, language: str) -> str:
    """Return what an operation is called on the page."""
    return text(language, f"measure.operation.{name}")


def case_words(case: SweepCase, language: str) -> str:
    """Return "softmax, bfloat16, rows chosen" or attention's sizes."""
    name = operation_name(case.operation, language)
    if "seq" in case.axis:
        return f"{name}: {attention_words(case.sizes, language)}"
    words = [name, case.sizes.dtype]
    if case.fixed_rows:
        words.append(f"n_rows {case.sizes.n_rows}")
    elif case.axis == "n_cols":
        words.append(text(language, "measure.rows.chosen"))
    return text(language, "run.state.comma").join(words)


def _short_words(case: SweepCase, language: str) -> str:
    """Return "softmax, bfloat16"."""
    name = operation_name(case.operation, language)
    return text(language, "run.state.comma").join((name, case.sizes.dtype))


def is_ours(provider: str) -> bool:
    """Whether a provider is a kernel of this program."""
    return NAMES[provider].startswith(NAMES[STUDIED])


def fastest(points: Iterable[SweepPoint]) -> SweepPoint | None:
    """Return the point with the least time, the copy's not among them."""
    timed = [point for point in points if has_time(point) and point.provider != CEILING]
    return min(timed, key=lambda point: point.median_ms, default=None)


def last_round(run: SweepRun, shown: Shown) -> list[SweepPoint]:
    """Return the points shown at the largest value at which anyone has a time."""
    points, names = table_of(run), providers_of(run, shown)
    for value in reversed(values_of(run, shown)):
        found = [points[name, value] for name in names if (name, value) in points]
        if fastest(found):
            return found
    return []


def share(point: SweepPoint, points: dict) -> float:
    """Return how much of the copy's speed a point has, NaN where either has no time."""
    copy = points.get((CEILING, point.value))
    if not has_time(copy) or not has_time(point):
        return math.nan
    return copy.median_ms / point.median_ms


def headline(run: SweepRun | None, case: SweepCase, shown: Shown, language: str) -> list:
    """Return where the numbers come from, and what the measurement says in one sentence."""
    if run is None:
        where, kind, about = text(language, "measure.from.nothing"), "bw-formula", ""
        said = say(language, "measure.caption.none", what=_short_words(case, language))
    else:
        where, kind, about = run_words(run, language), "bw-run", versions(run)
        said = rich(_caption(run, shown, language))
    rest = " · ".join(word for word in (case_words(case, language), about) if word)
    eyebrow = ["p", {"class": f"bw-eyebrow {kind}"}, ["b", {}, where], f" · {rest}"]
    return [eyebrow, ["p", {"class": "bw-caption"}, *said]]


def _caption(run: SweepRun, shown: Shown, language: str) -> str:
    """Return the sentence over the chart: how near to the ceiling, how far from the next best."""
    points, there = table_of(run), last_round(run, shown)
    if not there:
        return text(language, "measure.caption.untimed")
    best = fastest(there)
    mine = next((p for p in there if p.provider == STUDIED and has_time(p)), best)
    name = NAMES[mine.provider]
    own = [points.get((mine.provider, value)) for value in values_of(run, shown)]
    own = [point for point in own if has_time(point)]
    if OPERATIONS[run.case.operation].by_flops:
        most = digits(max(point.tflop_per_s for point in own))
        first = text(language, "measure.caption.flops", name=name, most=most)
    else:
        shares = [100 * one for one in (share(p, points) for p in own) if not math.isnan(one)]
        first = text(language, "measure.caption.speed", name=name, speed=speeds(mine))
        if shares:
            pair = sorted({f"{min(shares):.0f}", f"{max(shares):.0f}"}, key=int)
            first = text(language, "measure.caption.bytes", name=name, share="–".join(pair))
    rival = fastest(p for p in there if p.provider != mine.provider and not is_ours(p.provider))
    if rival is None:
        return text(language, "measure.caption.alone", first=first)
    ratio = rival.median_ms / mine.median_ms
    key = "same" if abs(ratio - 1) <= SAME else "ahead" if ratio > 1 else "behind"
    return text(
        language,
        f"measure.caption.{key}",
        first=first,
        axis=axis_name(run.case),
        value=mine.value,
        ratio=f"{max(ratio, 1 / ratio):.2f}",
        rival=NAMES[rival.provider],
        name=name,
    )


def key(run: SweepRun | None, shown: Shown, language: str) -> list:
    """Return what the chart draws and how it was timed."""
    if run is None:
        return []
    names = {"GB/s": "gb", "TFLOP/s": "tflop"}
    how = text(language, f"measure.how.{names.get(shown.view, shown.view)}")
    caches = text(language, "measure.how.hot" if run.case.is_hot else "measure.how.cold")
    return [["p", {"class": "bw-how"}, f"{how} {caches}"]]


def card(run: SweepRun | None, shown: Shown, language: str) -> list:
    """Return who is the fastest at the largest size and why, and where torch is ahead."""
    if run is None:
        return []
    points, there = table_of(run), last_round(run, shown)
    best = fastest(there)
    if best is None:
        return []
    axis = axis_name(run.case)
    title = text(language, "measure.card", axis=axis, value=best.value)
    said = [say(language, "measure.card.best", name=NAMES[best.provider], speed=speeds(best))]
    part = share(best, points)
    if not math.isnan(part) and not OPERATIONS[run.case.operation].by_flops:
        said[0] += say(language, "measure.card.share", share=f"{100 * part:.0f}")
    why = _why(best, language)
    if why:
        said.append([why])
    said += _ahead(run, shown, language)
    return [["h3", {}, title], *(["p", {}, *sentence] for sentence in said)]


def _why(point: SweepPoint, language: str) -> str:
    """Return a point's path, settings and registers, as far as they are known."""
    settings = ", ".join(f"{name} {value}" for name, value in point.settings.items())
    parts = []
    if point.path:
        parts.append(text(language, "measure.card.path", path=point.path))
    if settings:
        parts.append(settings)
    if point.registers is not None:
        parts.append(text(language, "measure.card.registers", n=point.registers))
    if point.spills is not None:
        spilled = "measure.card.spills" if point.spills else "measure.card.no_spills"
        parts.append(text(language, spilled, n=point.spills))
    return " · ".join(parts)


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


def table(run: SweepRun | None, case: SweepCase, shown: Shown, language: str) -> list:
    """Return every point of the view, the fastest of each row bold, and why some have none."""
    if run is None:
        return plan(case, language)
    points, names = table_of(run), providers_of(run, shown)
    values = values_of(run, shown)
    has_rows = any(point.n_rows for point in run.points)
    heads = [axis_name(run.case), *(["n_rows"] if has_rows else [])]
    columns = [*names, *([CEILING] if _is_drawn(run, CEILING, values, shown) else [])]
    heads += [text(language, "measure.ceiling") if n == CEILING else NAMES[n] for n in columns]
    has_paths = any(points[STUDIED, v].path for v in values if (STUDIED, v) in points)
    heads += [text(language, "measure.path")] if has_paths else []
    body = []
    for value in values:
        here = [points[name, value] for name in names if (name, value) in points]
        best = fastest(here)
        cells = [["td", {}, str(here[0].n_rows) if here else "–"]] if has_rows else []
        for name in columns:
            is_best = best is not None and name == best.provider
            kind = {"class": "bw-best"} if is_best else {}
            cells.append(["td", kind, _cell(run, name, value, shown)])
        mine = points.get((STUDIED, value))
        cells += [["td", {}, mine.path if mine and mine.path else "–"]] if has_paths else []
        body.append(["tr", {}, ["th", {"scope": "row"}, str(value)], *cells])
    title = text(language, "measure.table", unit=shown.unit)
    return [_table(title, heads, body), *missing(run, shown, language)]


def _is_drawn(run: SweepRun, provider: str, values: list[int], shown: Shown) -> bool:
    """Whether the view has a number of a provider anywhere."""
    return any(not math.isnan(seen(run, provider, value, shown)) for value in values)


def _cell(run: SweepRun, provider: str, value: int, shown: Shown) -> str:
    """Return a point's number in the view."""
    number = seen(run, provider, value, shown)
    if math.isnan(number):
        return "–"
    return milliseconds(number) if shown.view == "ms" else digits(number)


def _table(title: str, heads: list[str], body: list) -> list:
    """Return a table that scrolls by itself where it is too wide."""
    top = ["tr", {}, *(["th", {"scope": "col"}, head] for head in heads)]
    parts = [["caption", {}, title], ["thead", {}, top], ["tbody", {}, *body]]
    return ["div", {"class": "bw-scroll"}, ["table", {"class": "bw-table bw-points"}, *parts]]


def missing(run: SweepRun, shown: Shown, language: str) -> list:
    """Return why points have no time, a sentence for each provider and reason."""
    values, names = values_of(run, shown), providers_of(run, shown)
    why: dict[tuple[str, str, str], list[str]] = {}
    for point in run.points:
        if point.reason and point.value in values and point.provider in names:
            about = point.provider, point.reason, point.message
            why.setdefault(about, []).append(str(point.value))
    said = []
    for (provider, reason, message), at in why.items():
        sentence = say(
            language,
            f"measure.why.{reason}",
            name=NAMES[provider],
            values=f"{axis_name(run.case)} = {', '.join(at)}",
        )
        sentence += [f" ({message})"] if message else []
        said.append(["p", {"class": "bw-how"}, *sentence])
    return said


def plan(case: SweepCase, language: str) -> list:
    """Return what a sweep would measure: rows, bytes and operations of each value, by formula."""
    body, has_rows = [], case.axis == "n_cols"
    for value in case.values:
        sizes = point_case(case, value)
        n_bytes, flops = OPERATIONS[case.operation].costs(sizes)
        cells = [str(sizes.n_rows)] if has_rows else []
        cells += [size(n_bytes), short(flops), digits(flops / n_bytes)]
        row = [["td", {}, cell] for cell in cells]
        body.append(["tr", {}, ["th", {"scope": "row"}, str(value)], *row])
    heads = [axis_name(case), *(["n_rows"] if has_rows else [])]
    heads += [text(language, f"measure.plan.{name}") for name in ("bytes", "flops", "intensity")]
    names = listed(language, [NAMES[name] for name in case.providers])
    who = ["p", {"class": "bw-how"}, *say(language, "measure.plan.who", names=names)]
    return [_table(text(language, "measure.plan"), heads, body), who]


def roofline_head(language: str) -> list:
    """Return the title of the roofline and what its ceilings are."""
    how = ["p", {"class": "bw-how"}, text(language, "measure.roofline.how")]
    return [["h3", {}, text(language, "measure.roofline")], how]


def overlays(runs: list[SweepRun], language: str) -> list:
    """Return which number belongs to which sweep, where several are drawn."""
    if len(runs) < 2:
        return []
    items = [
        ["li", {}, f"{number}: {case_words(run.case, language)}"]
        for number, run in enumerate(runs, start=1)
    ]
    return [["ul", {"class": "bw-how bw-overlays"}, *items]]
