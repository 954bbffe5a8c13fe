"""What stands around a landscape's map, as trees of nodes for `Note`: all of it from its points."""

from __future__ import annotations

from collections import Counter

from benchmarks.operations import OPERATIONS
from benchmarks.sweep_results import LandscapeCase, SweepPoint
from viz.figures.memory_words import case_words as attention_words
from viz.figures.memory_words import run_words, table_of, versions
from viz.figures.prose import name_of, say
from viz.figures.sizes import size
from viz.locales import text
from viz.tabs.measure.landscape_cells import (
    Landscape,
    configs_of,
    size_of,
    slower,
    tried,
    values_a_thread,
)
from viz.tabs.measure.landscape_map import known, occupancy_words, why_not
from viz.tabs.measure.speed_lines import default_view, has_time
from viz.tabs.measure.speed_told import digits, milliseconds, spilled
from viz.tabs.measure.speed_words import operation_name

MOST_ROWS = 10  # of the table of the fastest


def case_words(case: LandscapeCase, language: str) -> str:
    """Return "softmax, bfloat16, N 4096, n_rows 65536", or attention's sizes."""
    name, (axis, n) = operation_name(case.operation, language), size_of(case)
    about = OPERATIONS[case.operation]
    if about.algorithm.problem == "attention":
        return f"{name}: {axis} {n}, {attention_words(case.sizes, language)}"
    words = [name, case.sizes.dtype, f"{axis} {n}"]
    words += [f"n_rows {case.sizes.n_rows}"] if "n_rows" in about.axes else []
    return text(language, "run.state.comma").join(words)


def eyebrow(land: Landscape | None, case: LandscapeCase, language: str) -> list:
    """Return where the numbers come from, and of which sizes they are."""
    if land is None:
        where, kind, about = text(language, "measure.from.nothing"), "bw-formula", ""
    else:
        where, kind, about = run_words(land.run, language), "bw-run", versions(land.run)
    rest = " · ".join(word for word in (case_words(case, language), about) if word)
    return ["p", {"class": f"bw-eyebrow {kind}"}, ["b", {}, where], f" · {rest}"]


def headline(land: Landscape | None, case: LandscapeCase, language: str) -> list:
    """Return the eyebrow, and which setting is the fastest."""
    if land is None:
        said = say(language, "landscape.caption.none", n=len(configs_of(case)))
    elif land.best is None:
        said = say(language, "landscape.caption.untimed")
    else:
        said = say(
            language,
            f"landscape.caption.{'best' if len(land.timed) > 1 else 'one'}",
            settings=land.words(land.best.settings),
            speed=speed(land.best, case.operation),
            n=len(land.timed),
            ratio=f"{land.timed[-1].median_ms / land.best.median_ms:.2f}",
        )
    return [eyebrow(land, case, language), ["p", {"class": "bw-caption"}, *said]]


def speed(point: SweepPoint, operation: str) -> str:
    """Return a point's speed in the unit that its operation is drawn in."""
    if default_view(operation) == "TFLOP/s":
        return f"{digits(point.tflop_per_s)} TFLOP/s"
    return f"{digits(point.gb_per_s)} GB/s"


# Why the fastest won.


def card(land: Landscape, language: str) -> list:
    """Return the fastest setting, what it holds, and what one step of each setting costs."""
    best = land.best
    if best is None:
        return []
    rate, ms = speed(best, land.run.case.operation), milliseconds(best.median_ms)
    first = say(
        language, "landscape.card.best", settings=land.words(best.settings), speed=rate, ms=ms
    )
    if land.copy is not None and default_view(land.run.case.operation) == "GB/s":
        share = f"{100 * land.copy.median_ms / best.median_ms:.0f}"
        first += say(language, "landscape.card.share", share=share)
    said = [first, [" · ".join(held(land, best, language))]]
    said += [steps(land, best, name, language) for name in land.names]
    title = text(language, "landscape.card")
    return [["h3", {}, title], *(["p", {}, *sentence] for sentence in said if any(sentence))]


def held(land: Landscape, point: SweepPoint, language: str) -> list[str]:
    """Return the registers, spills, shared memory and occupancy of a point, as far as known."""
    found = []
    if point.registers is not None:
        found.append(text(language, "landscape.held.registers", n=point.registers))
    if point.spills is not None:
        key = "landscape.held.spilled" if point.spills else "landscape.held.not_spilled"
        found.append(text(language, key, n=spilled(point)))
    if point.shared_bytes is not None:
        found.append(text(language, "landscape.held.shared", n=size(point.shared_bytes)))
    return found + occupancy_words(land, point, language)


def steps(land: Landscape, point: SweepPoint, name: str, language: str) -> list:
    """Return what the next values of one setting cost, all others the same; nothing if untried."""
    costs = [
        _cost(land, point, value, other, language)
        for value, other in land.neighbours(point, name)
        if has_time(other) or other.reason
    ]
    if not costs:
        return []
    joined = text(language, "landscape.semicolon").join(costs)
    return say(language, "landscape.steps", name=name, costs=joined)


def _cost(land: Landscape, point: SweepPoint, value: int, other: SweepPoint, language: str) -> str:
    """Return what another value of a setting costs, with what its numbers show beside the time."""
    if not has_time(other):
        why = name_of(language, f"landscape.why.{other.reason}", other.reason)
        return text(language, "landscape.step.untimed", value=value, why=why)
    shown = []
    if (other.spills or 0) > (point.spills or 0):
        shown.append(text(language, "landscape.held.spilled", n=spilled(other)))
    pair = land.occupancy(other), land.occupancy(point)
    if None not in pair and pair[0].share < pair[1].share:
        there, here = (f"{100 * one.share:.0f}" for one in pair)
        shown.append(text(language, "landscape.step.occupancy", there=there, here=here))
    off = slower(other, point)
    said = text(language, "landscape.step", value=value, off=off)
    if not shown:
        return said
    joined = text(language, "run.state.comma").join(shown)
    return text(language, "landscape.step.shown", step=said, shown=joined)


# The chosen setting, and all of them.


def chosen(land: Landscape, words: str, language: str) -> list:
    """Return everything that is known of the setting that was chosen."""
    point = land.named(words)
    if point is None:
        return []
    lines = why_not(point, language)
    if has_time(point):
        lines = tuple(known(land, point, language))
        if point is not land.best:
            lines = (text(language, "landscape.slower", off=slower(point, land.best)), *lines)
    items = [["li", {}, line] for line in lines]
    return [["h3", {}, land.words(point.settings)], ["ul", {"class": "bw-how"}, *items]]


def table(land: Landscape, language: str) -> list:
    """Return the fastest settings in full, and how many have no time and why."""
    unit = default_view(land.run.case.operation)
    heads = [*land.names, unit, "ms", "p20–p80"]
    words = ("registers", "spills", "shared", "occupancy", "error")
    heads += [text(language, f"landscape.column.{word}") for word in words]
    rows = [
        (f"{number}", _row(land, point), number == 1)
        for number, point in enumerate(land.timed[:MOST_ROWS], start=1)
    ]
    title = text(language, "landscape.table", n=len(rows))
    shown = [table_of(title, heads, rows, "#")] if rows else []
    return [*shown, *untimed(land, language)]


def _row(land: Landscape, point: SweepPoint) -> list[str]:
    """Return the cells of a point's row."""
    occupied = land.occupancy(point)
    rate = land.number(point, default_view(land.run.case.operation))
    others = [
        None if point.registers is None else f"{point.registers}",
        spilled(point),
        None if point.shared_bytes is None else f"{point.shared_bytes} B",
        None if occupied is None else f"{100 * occupied.share:.0f}%",
        f"{point.error:.2g} ≤ {point.allowed:.2g}",
    ]
    spread = f"{milliseconds(point.p20_ms)}–{milliseconds(point.p80_ms)}"
    times = [digits(rate), milliseconds(point.median_ms), spread]
    set_to = [str(point.settings.get(name, "–")) for name in land.names]
    return [*set_to, *times, *("–" if one is None else one for one in others)]


def untimed(land: Landscape, language: str) -> list:
    """Return how many settings have no time, by reason."""
    counts = Counter(point.reason for point in land.points if point.reason)
    if not counts:
        return []
    reasons = [
        text(
            language,
            "landscape.untimed.reason",
            n=n,
            why=name_of(language, f"landscape.why.{reason}", reason),
        )
        for reason, n in counts.most_common()
    ]
    joined = text(language, "run.state.comma").join(reasons)
    about = {"n": sum(counts.values()), "of": len(land.points), "reasons": joined}
    return [["p", {"class": "bw-how"}, *say(language, "landscape.untimed", **about)]]


def plan(case: LandscapeCase, language: str) -> list:
    """Return what every setting needs, by formula: of no GPU in particular."""
    configs, names = configs_of(case), tried(case)
    heads = [
        *names,
        text(language, "landscape.plan.shared"),
        text(language, "landscape.plan.values"),
    ]
    rows = [
        (
            f"{number}",
            [
                *(str(config.settings.get(name, "–")) for name in names),
                f"{config.shared_bytes}",
                f"{values_a_thread(config)}",
            ],
            False,
        )
        for number, config in enumerate(configs, start=1)
    ]
    how = ["p", {"class": "bw-how"}, text(language, "landscape.plan.how")]
    shown = table_of(text(language, "landscape.plan"), heads, rows, "#")
    return [["div", {"class": "bw-long"}, shown], how]
