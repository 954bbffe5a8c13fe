"""The table under a sweep's chart: a column a value, as in the chart, and why some are empty."""

from __future__ import annotations

import math

from benchmarks.operations import NAMES, OPERATIONS, is_ours
from benchmarks.sweep import point_case
from benchmarks.sweep_choice import text_of
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from viz.figures.measure import CEILING, STUDIED
from viz.figures.numerals import short
from viz.figures.prose import listed, say
from viz.figures.sizes import size
from viz.locales import text
from viz.tabs.measure.speed_lines import (
    Shown,
    has_time,
    providers_of,
    seen,
    share,
    table_of,
    values_of,
)
from viz.tabs.measure.speed_paths import has_paths
from viz.tabs.measure.speed_told import axis_name, configuration, digits, microseconds, milliseconds
from viz.tabs.measure.speed_words import fastest


def table(run: SweepRun | None, case: SweepCase, shown: Shown, language: str) -> list:
    """Return every point of the view, the fastest of each value marked, and why some have none."""
    if run is None:
        return plan(case, language)
    values, names = values_of(run, shown), providers_of(run, shown)
    lead = STUDIED if STUDIED in names else next(iter(names), STUDIED)
    rows = [_speeds(run, lead, values, shown, language)] if lead in names else []
    rows += _shares(run, lead, values, language)
    rows += [_speeds(run, name, values, shown, language) for name in names if name != lead]
    if any(not math.isnan(seen(run, CEILING, value, shown)) for value in values):
        rows.append(_speeds(run, CEILING, values, shown, language))
    rows += _ratios(run, lead, names, values, language)
    rows += _short_calls(run, lead, values, language)
    rows += _facts(run, lead, values, language)
    title = text(language, "measure.table", unit=shown.unit)
    if run.case.is_hot:
        title += f" · {text(language, 'measure.hot.said')}"
    heads = [axis_name(run.case), *(str(value) for value in values)]
    return [_table(title, heads, rows), *missing(run, shown, language)]


def _row(head: str, cells: list[str], kind: str = "", best: tuple[int, ...] = ()) -> list:
    """Return a row; the cells at ``best`` are the fastest of their columns."""
    marked = [["td", {"class": "bw-best"} if k in best else {}, c] for k, c in enumerate(cells)]
    return ["tr", {"class": kind} if kind else {}, ["th", {"scope": "row"}, head], *marked]


def _speeds(run: SweepRun, name: str, values: list[int], shown: Shown, language: str) -> list:
    """Return a provider's row, in the unit of the view."""
    points, others = table_of(run), providers_of(run, shown)
    best = []
    for k, value in enumerate(values):
        first = fastest(points[n, value] for n in others if (n, value) in points)
        best += [k] if first is not None and first.provider == name else []
    cells = [_cell(seen(run, name, value, shown), shown) for value in values]
    said = text(language, "measure.ceiling") if name == CEILING else NAMES[name]
    unit = "×" if shown.view == "ratio" else shown.view
    kind = "bw-studied" if name == STUDIED else ""
    return _row(f"{said}, {unit}", cells, kind, tuple(best))


def _cell(number: float, shown: Shown) -> str:
    """Return a point's number in the view."""
    if math.isnan(number):
        return "–"
    return milliseconds(number) if shown.view == "ms" else digits(number)


def _shares(run: SweepRun, lead: str, values: list[int], language: str) -> list:
    """Return the row of how near to the copy the lead comes; none where nothing is near bytes."""
    if OPERATIONS[run.case.operation].by_flops:
        return []
    points = table_of(run)
    found = [share(points.get((lead, value)), points) for value in values]
    if all(math.isnan(one) for one in found):
        return []
    cells = ["–" if math.isnan(one) else f"{100 * one:.0f}%" for one in found]
    return [_row(text(language, "measure.row.share"), cells)]


def _ratios(run: SweepRun, lead: str, names: list[str], values: list[int], language: str) -> list:
    """Return rows of how many times as fast as each rival the lead is."""
    points, rows = table_of(run), []
    for rival in (name for name in names if name != lead and not is_ours(name)):
        cells = []
        for value in values:
            mine, other = points.get((lead, value)), points.get((rival, value))
            both = has_time(mine) and has_time(other)
            cells.append(f"{other.median_ms / mine.median_ms:.2f}×" if both else "–")
        head = text(language, "measure.row.over", name=NAMES[lead], rival=NAMES[rival])
        rows.append(_row(head, cells))
    return rows


def _short_calls(run: SweepRun, lead: str, values: list[int], language: str) -> list:
    """Return what the GPU works and what a caller waits, where calls are short enough to matter."""
    points = [table_of(run).get((lead, value)) for value in values]
    rows = []
    for name in ("graph", "wall"):
        found = [getattr(point, f"{name}_us") if point else None for point in points]
        if any(us is not None for us in found):
            cells = ["–" if us is None else microseconds(us) for us in found]
            rows.append(_row(text(language, f"measure.row.{name}", name=NAMES[lead]), cells))
    return rows


def _facts(run: SweepRun, lead: str, values: list[int], language: str) -> list:
    """Return the rows of the lead's configuration and path, and of n_rows."""
    points = table_of(run)
    own = [points.get((lead, value)) for value in values]
    rows = []

    def add(head: str, cells: list[str], is_told: bool) -> None:
        if is_told:
            rows.append(_row(head, [cell or "–" for cell in cells], "bw-fact"))

    configured = [configuration(point.settings) if point else "" for point in own]
    add(text(language, "measure.row.configuration"), configured, any(configured))
    counts = [_n_rows(run, value) for value in values]
    add("n_rows", counts, any(counts) and run.case.axis != "n_rows")
    paths = [point.path if point else "" for point in own]
    add(text(language, "measure.path"), paths, lead == STUDIED and has_paths(run) and any(paths))
    return rows


def _n_rows(run: SweepRun, value: int) -> str:
    """Return how many rows a value's points have."""
    first: SweepPoint | None = next((p for p in run.points if p.value == value), None)
    return str(first.n_rows) if first and first.n_rows else ""


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
            values=f"{axis_name(run.case)} = {_short(at)}",
        )
        sentence += [f" ({message})"] if message else []
        said.append(["p", {"class": "bw-how"}, *sentence])
    return said


def _short(at: list[str]) -> str:
    """Return a few values as they are, and many as ranges."""
    return ", ".join(at) if len(at) <= 4 else text_of([int(value) for value in at])


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
    reads = OPERATIONS[case.operation].reads
    told = say(language, "measure.plan.who", names=names, reads=reads)
    who = ["p", {"class": "bw-how"}, *told]
    return [_table(text(language, "measure.plan"), heads, body), who]
