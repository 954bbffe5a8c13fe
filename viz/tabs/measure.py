"""The Measure tab: an operation over a size, provider beside provider, live or from a recording.

On a GPU points stream in as they are found; Stop keeps them, and Measure goes on where it stopped.
Up to four of a visitor's own sweeps lie over one another. Elsewhere a recorded run is shown.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from benchmarks.jobs import SweepJob
from benchmarks.operations import OPERATIONS
from benchmarks.results import Progress
from benchmarks.sweep_choice import choose_sweep
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from benchmarks.worker import JobFailed
from kernels.errors import InputError
from kernels.inputs import one_of
from viz.figures.measure import speed_figure
from viz.figures.memory_words import run_words
from viz.figures.prose import error_sentence, fault
from viz.figures.roofline import roofline_figure
from viz.locales import text
from viz.tabs import measure_guess as guesses
from viz.tabs import measure_lines as lines
from viz.tabs import measure_words as words
from viz.tabs.measure_lines import Shown
from viz.tabs.measure_screen import VALUES, plot_update
from viz.tabs.measured import Recordings, Update, said
from viz.tabs.page import explain

REDRAW_S = 1.0  # a new plot is a new drawing: once a second is enough
MOST_SWEEPS = 4
ROOM_S = 90.0  # a sweep ends by itself; this much later, nothing is believed to come


def suggested(operation: str, dtype: str, kept: Recordings) -> str:
    """Return the values that an operation begins with: those that were recorded, or usual ones."""
    for run in _sweeps(kept):
        if (run.case.operation, run.case.sizes.dtype) == (operation, dtype):
            return ", ".join(str(value) for value in run.case.values)
    return VALUES[OPERATIONS[operation].axes[0]]


def _sweeps(kept: Recordings) -> list[SweepRun]:
    """Return the recorded sweeps, landscapes left out."""
    return [run for run in kept.runs if isinstance(run.case, SweepCase)]


def choose(values: list) -> tuple[SweepCase, Shown]:
    """Return the sweep that the controls say, and how it is looked at. Raise InputError."""
    operation, text_of, dtype, providers, view, reference, rows, heads, head_dim, mask = values
    case = choose_sweep(
        operation,
        text_of,
        dtype,
        providers or None,
        n_rows=None if isinstance(rows, str) and not rows.strip() else rows,
        head_dim=head_dim,
        heads=heads,
        mask=mask,
    )
    one_of("view", view, lines.VIEWS)
    # Whom ratios are to is read where there are ratios.
    if view == "ratio":
        one_of("provider", reference, OPERATIONS[case.operation].providers)
    return case, Shown(view, reference, case.providers, case.values)


def matches(run: SweepRun, case: SweepCase) -> bool:
    """Whether a run is of such a sweep, whatever its values and providers."""
    about = run.case

    def kind(one: SweepCase) -> tuple:
        return one.operation, one.axis, one.sizes, one.fixed_rows, one.is_hot

    return kind(about) == kind(case) and any(value in case.values for value in about.values)


def runs_for(case: SweepCase, measured: object, kept: Recordings) -> list[SweepRun]:
    """Return what is drawn, the run in question last: one's own sweeps, or else a recorded one."""
    own = own_sweeps(measured)
    mine = next((run for run in reversed(own) if matches(run, case)), None)
    if mine is not None:
        under = [run for run in own if run is not mine and run.case.axis == case.axis]
        return [*under, mine]
    return next(([run] for run in _sweeps(kept) if matches(run, case)), [])


def own_sweeps(measured: object) -> list[SweepRun]:
    """Return a visitor's sweeps, whatever a client sent in their place."""
    given = measured if isinstance(measured, list | tuple) else []
    return [run for run in given if isinstance(run, SweepRun)][-MOST_SWEEPS:]


def draw(
    case: SweepCase,
    shown: Shown,
    runs: list[SweepRun],
    kept: Recordings,
    language: str,
    guess: object = None,
    with_plots: bool = True,
) -> dict:
    """Return every part of the picture by name; the last of ``runs`` is the one in question."""
    run = runs[-1] if runs else None
    parts = {
        "headline": words.headline(run, case, shown, language),
        "guessed": guesses.verdict(guess, run, shown, language),
        "key": [*words.overlays(runs, language), *words.key(run, shown, language)],
        "table": words.table(run, case, shown, language),
        "card": words.card(run, shown, language),
        "recorded": _recorded(run, kept, language),
        "actions": {"visible": run is not None, "__type__": "update"},
        "clear": {"visible": run is not None and not run.date, "__type__": "update"},
    }
    if not with_plots:
        return parts
    figure = None
    if run is not None:
        drawn = lines.lines_of(runs, shown, language)
        mark = guesses.mark(guess, run, shown, language)
        if drawn:
            figure = speed_figure(drawn, lines.axis_name(case), shown.unit, mark)
    roof = _roofline(run, shown, kept, language)
    parts["roof_head"] = words.roofline_head(language) if roof else []
    return {**parts, "plot": plot_update(figure), "roof_plot": plot_update(roof)}


def _roofline(run: SweepRun | None, shown: Shown, kept: Recordings, language: str):
    """Return the roofline, or None where there is no ceiling or nothing under it."""
    ceilings = lines.ceilings_of(run, kept.runs) if run else None
    spots = lines.spots_of(run, shown, ceilings, language) if ceilings else []
    if not spots:
        return None
    said_of = (
        text(language, "measure.roofline.axis"),
        text(language, "measure.roofline.copy", speed=lines.digits(ceilings.gb_per_s)),
        text(language, "measure.roofline.product", speed=lines.digits(ceilings.tflop_per_s)),
    )
    return roofline_figure(spots, ceilings, said_of)


def _recorded(run: SweepRun | None, kept: Recordings, language: str) -> list:
    """Return which other sweeps are recorded, and which files were refused."""
    refused = [
        ["p", {"class": "bw-how bw-refused"}, f"✕ {explain(error, language)}"]
        for error in kept.refused
    ]
    others = [other for other in _sweeps(kept) if other is not run]
    if not others:
        return refused
    items = [
        ["li", {}, f"{run_words(other, language)}: {words.case_words(other.case, language)}"]
        for other in others
    ]
    head = ["p", {"class": "bw-how"}, text(language, "measure.recorded.others")]
    return [*refused, head, ["ul", {"class": "bw-how"}, *items]]


def redraw(values: list, measured: object, guess: object, kept: Recordings, language: str) -> dict:
    """Return what the controls call for; for a mistake one sentence, and the picture stays."""
    try:
        case, shown = choose(values)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    runs = runs_for(case, measured, kept)
    if guess is None and runs and words.last_round(runs[-1], shown):
        return {"note": [], **ask(case, shown, runs[-1], language)}
    parts = draw(case, shown, runs, kept, language, guess)
    return {"note": [], "ask": {"visible": False, "__type__": "update"}, **parts}


def ask(case: SweepCase, shown: Shown, run: SweepRun, language: str) -> dict:
    """Return the form that asks for a guess, and the picture hidden."""
    value = words.last_round(run, shown)[0].value
    (eyebrow, _) = words.headline(run, case, shown, language)
    hidden = {"visible": False, "__type__": "update"}
    empty = dict.fromkeys(("guessed", "key", "table", "card", "recorded", "roof_head"), [])
    choices = [(words.NAMES[name], name) for name in words.providers_of(run, shown)]
    chosen = {"choices": choices, "value": choices[0][1], "__type__": "update"}
    return {
        "headline": [eyebrow],
        **empty,
        "plot": hidden,
        "roof_plot": hidden,
        "actions": hidden,
        "ask": {"visible": True, "__type__": "update"},
        "question": guesses.question(run.case, value, language),
        "guess_provider": chosen,
    }


# Measuring.


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
    note = _progress(Progress("starting"), {}, language)
    guess = guess if guess is not None else {}
    over: list = []
    try:
        case, shown = choose(values)
        begun = started(case, measured)
        todo = missing_values(begun) if begun else case.values
        if begun:
            own, kept_points = own[:-1], [p for p in begun.points if p.value not in todo]
            run = replace(begun, points=tuple(kept_points)) if kept_points else None
            details = {"n": len(case.values) - len(todo), "of": len(case.values)}
            note = said(text(language, "measure.resume", **details), True)
        yield Update({"note": note, "ask": {"visible": False, "__type__": "update"}}, True)
        clock = _Clock(case.budget_s)
        job = SweepJob(replace(case, values=todo))
        for item in worker.run(job, case.budget_s + ROOM_S):
            if isinstance(item, SweepPoint):
                points = (*(run.points if run else ()), item)
                run = SweepRun(case, worker.device(0.0), _in_order(points, case))
                now = time.monotonic()
                with_plots = now - drawn_at >= REDRAW_S
                drawn_at = now if with_plots else drawn_at
                runs = [*_under(own, case), run]
                news = draw(case, shown, runs, kept, language, guess, with_plots)
                yield Update({"note": note, **news}, True, [*own, run][-MOST_SWEEPS:])
            else:
                note = _progress(item, clock.left(item), language)
                over = [["p", {}, *note[0][2:]]] if item.stage == "sweep_over" else []
                yield Update({"note": note}, True)
        note = over
    except InputError as error:
        note = fault(error_sentence(language, f"error.{error.key}", error.details, str(error)))
    except JobFailed as error:
        note = fault(error_sentence(language, f"failed.{error.kind}", error.details, str(error)))
    if run is None:
        yield Update({"note": note}, False)
        return
    whole = draw(case, shown, [*_under(own, case), run], kept, language, guess)
    yield Update({**whole, "note": note}, False, [*own, run][-MOST_SWEEPS:])


def _under(own: list[SweepRun], case: SweepCase) -> list[SweepRun]:
    """Return one's earlier sweeps over the same size, as many as are drawn under the newest."""
    return [run for run in own if run.case.axis == case.axis][-MOST_SWEEPS + 1 :]


def _in_order(points: Iterable[SweepPoint], case: SweepCase) -> tuple[SweepPoint, ...]:
    """Return points by value, as a sweep that was never stopped has them."""
    place = {value: k for k, value in enumerate(case.values)}
    return tuple(sorted(points, key=lambda point: place.get(point.value, 0)))


class _Clock:
    """How long a sweep takes to its end, told from the sizes that are done."""

    def __init__(self, budget_s: float) -> None:
        self.budget_s, self.began, self.first_n = budget_s, None, 0

    def left(self, item: Progress) -> dict:
        """Return the seconds left, as long as all its sizes take as long as those before."""
        if item.stage != "sweep":
            return {}
        n, now = item.details["n"], time.monotonic()
        if self.began is None:
            self.began, self.first_n = now, n
        done, rest = n - self.first_n, item.details["of"] - n + 1
        if not done:
            return {"most": round(self.budget_s)}
        most = max(0.0, self.budget_s - (now - self.began))
        return {"about": round(min(most, rest * (now - self.began) / done))}


def _progress(item: Progress, left: dict, language: str) -> list:
    """Return the sentence of a stage."""
    details = dict(item.details)
    if item.stage == "sweep":
        from_axis = lines.SIZES.get(details["axis"])
        details["axis"] = from_axis[0] if from_axis else details["axis"]
        if "about" in left:
            details["left"] = text(language, "measure.left", seconds=left["about"])
        else:
            details["left"] = text(language, "measure.left.most", seconds=left.get("most", "–"))
    return said(error_sentence(language, f"progress.{item.stage}", details, item.stage), True)
