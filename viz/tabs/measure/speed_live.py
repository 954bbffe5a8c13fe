"""A sweep on this machine's GPU: points stream in, Stop keeps them, Measure goes on from there.

Up to four of a visitor's own sweeps lie over one another.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from benchmarks.jobs import SweepJob
from benchmarks.results import Progress
from benchmarks.sweep_choice import SIZES
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from benchmarks.worker import JobFailed
from kernels.errors import InputError
from viz.figures.prose import error_sentence
from viz.locales import text
from viz.tabs.measure import speed_lines as lines
from viz.tabs.measure.measured import Recordings, Update, said
from viz.tabs.measure.speed import HIDDEN, choose, draw
from viz.tabs.measure.speed_runs import MOST_SWEEPS, own_sweeps, under
from viz.tabs.page import why_ended

REDRAW_S = 1.0  # a new plot is a new drawing: once a second is enough
ROOM_S = 90.0  # a sweep ends by itself; this much later, nothing is believed to come


def missing_values(run: SweepRun) -> tuple[int, ...]:
    """Return the values of a sweep at which not every provider and the copy have a point."""
    points = lines.table_of(run)

    def is_whole(value: int) -> bool:
        here = [points.get((name, value)) for name in run.case.providers]
        # The copy is timed with the others, and last; where nobody is timed there is none.
        is_timed = any(lines.has_time(point) for point in here)
        return None not in here and (not is_timed or (lines.CEILING, value) in points)

    return tuple(value for value in run.case.values if not is_whole(value))


def started(case: SweepCase, measured: object) -> SweepRun | None:
    """Return the newest of one's own sweeps if it is this one, begun and not ended."""
    own = own_sweeps(measured)
    if own and own[-1].case == case and missing_values(own[-1]):
        return own[-1]
    return None


def measure(
    worker, values: list, measured: object, guess: object, kept: Recordings, language: str
) -> Iterator[Update]:
    """Measure what the controls say, point by point; a fault is a sentence, and points stay."""
    own, run, drawn_at = own_sweeps(measured), None, -REDRAW_S
    note = progress(Progress("starting"), {}, language)
    skipped = {"guess": {}} if guess is None else {}  # who measures without a guess skips it
    guess = guess if guess is not None else {}
    over: list = []
    try:
        case, shown, picked = choose(values, kept)
        begun = started(case, measured)
        todo = missing_values(begun) if begun else case.values
        if begun:
            own, kept_points = own[:-1], [p for p in begun.points if p.value not in todo]
            run = replace(begun, points=tuple(kept_points)) if kept_points else None
            details = {"n": len(case.values) - len(todo), "of": len(case.values)}
            note = said(text(language, "measure.resume", **details), True)
        yield Update({"note": note, "ask": HIDDEN, **skipped}, True)
        clock = Clock(case.budget_s)
        job = SweepJob(replace(case, values=todo))
        for item in worker.run(job, case.budget_s + ROOM_S):
            if isinstance(item, SweepPoint):
                points = (*(run.points if run else ()), item)
                run = SweepRun(case, worker.device(0.0), _in_order(points, case))
                now = time.monotonic()
                with_plots = now - drawn_at >= REDRAW_S
                drawn_at = now if with_plots else drawn_at
                runs = [*under(own, picked, case), run]
                news = draw(case, shown, runs, kept, language, guess, with_plots)
                yield Update({"note": note, **news}, True, [*own, run][-MOST_SWEEPS:])
            else:
                note = progress(item, clock.left(item), language)
                over = [["p", {}, *note[0][2:]]] if item.stage == "sweep_over" else []
                yield Update({"note": note}, True)
        note = over if run or over else said(text(language, "measured.nothing"))
    except (InputError, JobFailed) as error:
        note = why_ended(error, language)
    if run is None:
        yield Update({"note": note, **skipped}, False)
        return
    whole = draw(case, shown, [*under(own, picked, case), run], kept, language, guess)
    yield Update({**whole, "note": note}, False, [*own, run][-MOST_SWEEPS:])


def _in_order(points: Iterable[SweepPoint], case: SweepCase) -> tuple[SweepPoint, ...]:
    """Return points by value, as a sweep that was never stopped has them."""
    place = {value: k for k, value in enumerate(case.values)}
    return tuple(sorted(points, key=lambda point: place.get(point.value, 0)))


class Clock:
    """How long a measurement takes to its end, told from the sizes or settings that are done."""

    def __init__(self, budget_s: float) -> None:
        self.budget_s, self.began, self.first_n = budget_s, None, 0
        self.n, self.at = 0, 0.0  # the size that is measured, and since when

    def left(self, item: Progress) -> dict:
        """Return the seconds left, as long as each that is left takes as long as one that is done.

        They run down while one is measured, and wait where it takes longer than that.
        """
        if item.stage not in ("sweep", "landscape"):
            return {}
        n, now = item.details["n"], time.monotonic()
        if self.began is None:
            self.began, self.first_n = now, n
        if n != self.n:
            self.n, self.at = n, now
        done, after = n - self.first_n, item.details["of"] - n
        if not done:
            return {"most": round(self.budget_s)}
        each = (self.at - self.began) / done
        most = max(0.0, self.budget_s - (now - self.began))
        return {"about": round(min(most, after * each + max(0.0, each - (now - self.at))))}


def progress(item: Progress, left: dict, language: str) -> list:
    """Return the sentence of a stage."""
    details = dict(item.details)
    if item.stage == "sweep":
        from_axis = SIZES.get(details["axis"])
        details["axis"] = from_axis[0] if from_axis else details["axis"]
        if "about" in left:
            details["left"] = text(language, "measure.left", seconds=left["about"])
        else:
            details["left"] = text(language, "measure.left.most", seconds=left.get("most", "–"))
    return said(error_sentence(language, f"progress.{item.stage}", details, item.stage), True)
