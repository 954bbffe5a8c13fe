"""What stands around the charts of a sweep, as trees of nodes for `Note`."""

from __future__ import annotations

import math
from collections.abc import Iterable

from benchmarks.doubts import doubts_of
from benchmarks.operations import NAMES, OPERATIONS, is_ours
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from viz.figures.measure import CEILING, STUDIED
from viz.figures.memory_words import run_words, versions
from viz.figures.prose import listed, rich, say
from viz.locales import text
from viz.tabs.measure.speed_lines import (
    Shown,
    has_time,
    providers_of,
    share,
    table_of,
    values_of,
)
from viz.tabs.measure.speed_told import axis_name, digits, speeds

SAME = 0.02  # times this close together are called the same


def operation_name(name: str, language: str) -> str:
    """Return what an operation is called on the page."""
    return text(language, f"measure.operation.{name}")


def case_words(case: SweepCase, language: str) -> str:
    """Return "softmax, bfloat16, rows chosen" or attention's sizes; hot caches are said."""
    name = operation_name(case.operation, language)
    return text(language, "run.state.comma").join([name, *size_words(case, language)])


def size_words(case: SweepCase, language: str) -> list[str]:
    """Return what is the same at every point, but for what is computed."""
    sizes, axes = case.sizes, OPERATIONS[case.operation].axes
    words = [sizes.dtype]
    if "n_rows" in axes:
        words += [f"N {sizes.n_cols}"] if case.axis == "n_rows" else []
        if case.axis == "n_cols":
            chosen = text(language, "measure.rows.chosen")
            words.append(f"n_rows {sizes.n_rows}" if case.fixed_rows else chosen)
    elif axes != ("size",):
        length = "seq_k" if "seq_k" in axes else "seq"
        told = {length: sizes.seq_k, "batch": sizes.batch, "heads": sizes.heads}
        told |= {"head_dim": sizes.head_dim}
        told |= {"n_splits": sizes.n_splits} if "n_splits" in axes else {}
        words += [f"{name} {number}" for name, number in told.items() if name != case.axis]
        words += [] if "n_splits" in axes else [text(language, f"memory.mask.{sizes.mask}")]
    return [*words, *([text(language, "measure.hot.said")] if case.is_hot else [])]


def _short_words(case: SweepCase, language: str) -> str:
    """Return "softmax, bfloat16"."""
    name = operation_name(case.operation, language)
    return text(language, "run.state.comma").join((name, case.sizes.dtype))


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


def headline(run: SweepRun | None, case: SweepCase, shown: Shown, language: str) -> list:
    """Return where the numbers come from, and what the measurement says in one sentence."""
    if run is None:
        where, kind, about = text(language, "measure.from.nothing"), "bw-formula", ""
        said = say(language, "measure.caption.none", what=_short_words(case, language))
    else:
        where, kind, about = run_words(run, language), "bw-run", versions(run)
        said = rich(_caption(run, shown, language))
    asked = case if run is None else run.case
    rest = " · ".join(word for word in (case_words(asked, language), about) if word)
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
            key = "bytes" if OPERATIONS[run.case.operation].reads == 1 else "moved"
            first = text(language, f"measure.caption.{key}", name=name, share="–".join(pair))
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
    reads = OPERATIONS[run.case.operation].reads
    moved = text(language, "measure.how.reads", reads=reads) if reads > 1 else ""
    return [["p", {"class": "bw-how"}, f"{how} {caches} {moved}".rstrip()]]


def roofline_head(language: str) -> list:
    """Return the title of the roofline and what its ceilings are."""
    how = ["p", {"class": "bw-how"}, text(language, "measure.roofline.how")]
    return [["h3", {}, text(language, "measure.roofline")], how]


def overlays(runs: list[SweepRun], language: str) -> list:
    """Return which number belongs to which sweep, where several are drawn."""
    if len(runs) < 2:
        return []
    items = [
        ["li", {}, f"{number}: {run_words(run, language)} · {case_words(run.case, language)}"]
        for number, run in enumerate(runs, start=1)
    ]
    return [["ul", {"class": "bw-how bw-overlays"}, *items]]


def doubts(run: SweepRun | None, language: str) -> list:
    """Return what to know before the numbers are believed, a sentence for each doubt."""
    if run is None:
        return []
    found, axis = doubts_of(run.points), axis_name(run.case)
    said = []
    if found.drop:
        told = {"share": f"{100 * found.drop.share:.0f}", "most": found.drop.most}
        told |= {"least": found.drop.least, "axis": axis, "value": found.drop.at.value}
        said.append(say(language, "measure.doubt.clock", **told))
    for word, points in found.held.items():
        why, at = text(language, f"measure.slowed.{word}"), _at(points, axis, language)
        said.append(say(language, "measure.doubt.slowed", why=why, at=at))
    if found.over:
        (most, share), *_ = found.over
        about = {"name": NAMES[most.provider], "share": f"{100 * share:.1f}"}
        about |= {"axis": axis, "value": most.value, "points": len(found.over)}
        key = "measure.doubt.over" if len(found.over) > 1 else "measure.doubt.over_one"
        said.append(say(language, key, **about))
    if found.slow:
        worst = max(found.slow, key=lambda point: point.n_outliers / point.n)
        about = {"n": worst.n_outliers, "of": worst.n, "name": NAMES[worst.provider]}
        about |= {"axis": axis, "value": worst.value, "points": len(found.slow)}
        key = "measure.doubt.slow" if len(found.slow) > 1 else "measure.doubt.slow_one"
        said.append(say(language, key, **about))
    return [["p", {"class": "bw-how bw-doubt"}, *sentence] for sentence in said]


def _at(points: Iterable[SweepPoint], axis: str, language: str) -> str:
    """Return "N = 256, 512" of the values of points, each once."""
    values = dict.fromkeys(str(point.value) for point in points)
    return f"{axis} = {listed(language, list(values))}"
