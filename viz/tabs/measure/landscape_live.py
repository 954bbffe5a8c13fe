"""Measure a landscape while one looks: points stream in, and Stop keeps what there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.jobs import SweepJob
from benchmarks.results import Progress
from benchmarks.sweep_results import SweepRun
from benchmarks.worker import JobFailed
from kernels.errors import InputError
from viz.locales import text
from viz.tabs.measure.landscape import MOST_RUNS, Seen, choose, draw, is_of, look_at, named, seen_of
from viz.tabs.measure.landscape_cells import Landscape, tried
from viz.tabs.measure.landscape_guess import SKIPPED
from viz.tabs.measure.landscape_screen import HIDE
from viz.tabs.measure.measured import Recordings, Update, said
from viz.tabs.measure.speed_live import ROOM_S, Clock, progress
from viz.tabs.page import why_ended


def measure(
    worker, given: list, measured: object, kept: Recordings, language: str
) -> Iterator[Update]:
    """Measure what the controls say, setting by setting; a fault is a sentence, points stay."""
    seen, values, shown = seen_of(measured), named(given), {}
    if seen.guess is None:
        seen = replace(seen, guess=SKIPPED)  # who measures without a guess has skipped it
    note, points, own = progress(Progress("starting"), {}, language), (), None
    over: list = []
    try:
        case = choose(values)
        look_at(values, tried(case), seen)  # a mistake is told before anything runs
        yield Update({"note": note, "ask": HIDE}, True)
        clock = Clock(case.budget_s)
        for item in worker.run(SweepJob(case), case.budget_s + ROOM_S):
            if isinstance(item, Progress):
                note = _stage(item, clock.left(item), language)
                over = [["p", {}, *note[0][2:]]] if item.stage == "sweep_over" else []
                yield Update({"note": note}, True)
                continue
            points = (*points, item)
            own = kept_with(seen, SweepRun(case, worker.device(0.0), points))
            if item.reason != "unfit":  # many at once: they are drawn with what comes next
                shown = _drawn(own, values, kept, language)
                yield Update({"note": note, **shown}, True, own)
        note = over if points or over else said(text(language, "measured.nothing"))
    except (InputError, JobFailed) as error:
        note = why_ended(error, language)
    if own is not None:
        shown = _drawn(own, values, kept, language)
    yield Update({**shown, "note": note}, False, own)


def _drawn(own: Seen, values: dict, kept: Recordings, language: str) -> dict:
    """Return the picture of the newest run."""
    land = Landscape.of(own.runs[-1])
    return draw(land, look_at(values, land.names, own), own, kept, language)


def kept_with(seen: Seen, run: SweepRun) -> Seen:
    """Return what a visitor has with a run of theirs, in the place of one of the same case."""
    others = [one for one in seen.runs if not is_of(one, run.case)]
    return replace(seen, runs=(*others, run)[-MOST_RUNS:])


def _stage(item: Progress, left: dict, language: str) -> list:
    """Return the sentence of a stage, and how long what is left takes."""
    if item.stage == "sweep_over":
        return said(text(language, "landscape.over", **item.details), True)
    (stage,) = progress(item, left, language)
    if not left:
        return [stage]
    key = "measure.left" if "about" in left else "measure.left.most"
    seconds = left.get("about", left.get("most"))
    return [[*stage, text(language, "run.state.comma"), text(language, key, seconds=seconds)]]
