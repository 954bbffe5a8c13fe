"""Which sweeps are drawn: one's own, those chosen among the recorded, or the newest that fits."""

from __future__ import annotations

from benchmarks.recorded_sweeps import sweep_name
from benchmarks.sweep_choice import LIMITS, text_of
from benchmarks.sweep_results import SweepCase, SweepRun
from kernels.errors import InputError, shorten
from viz.tabs.measure.measured import Recordings
from viz.tabs.measure.speed_words import size_words

MOST_SWEEPS = 4


def sweeps(kept: Recordings) -> list[SweepRun]:
    """Return the recorded sweeps, landscapes left out, the newest first."""
    return [run for run in kept.runs if isinstance(run.case, SweepCase)]


def key_of(run: SweepRun) -> str:
    """Return what tells a recorded sweep from others, those too that have its ends alone."""
    values = text_of(run.case.values)
    return f"{run.device.name}, {run.date}, {sweep_name(run.case)}, {values}"


def recorded_of(kept: Recordings, operation: str, axis: str, dtype: str) -> list[SweepRun]:
    """Return the recorded sweeps of an operation over a size in a dtype, whatever the others.

    The newest first, and of one day what shows most: cold caches, rows for each size, no mask, many
    values.
    """
    found = [
        run
        for run in sweeps(kept)
        if (run.case.operation, run.case.axis, run.case.sizes.dtype) == (operation, axis, dtype)
    ]

    def rank(run: SweepRun) -> tuple:
        case = run.case
        return case.is_hot, case.fixed_rows, case.sizes.mask != "none", -len(case.values)

    return sorted(sorted(found, key=rank), key=lambda run: run.date, reverse=True)


def run_choices(runs: list[SweepRun], language: str) -> list[tuple[str, str]]:
    """Return recorded sweeps as (text, key): by GPU and day, and by sizes where days recur."""
    days = [(run.device.name, run.date) for run in runs]
    choices = []
    for run, day in zip(runs, days):
        words = ", ".join(day)
        if days.count(day) > 1:
            words += " · " + ", ".join(size_words(run.case, language)[1:])
        choices.append((words, key_of(run)))
    return choices


def read_picked(given: object, kept: Recordings) -> tuple[SweepRun, ...]:
    """Return the recorded sweeps of a visitor's choice, in its order. Raise InputError."""
    given = [] if given in (None, "") else given
    if not isinstance(given, list | tuple):
        given = [given]
    if len(given) > MOST_SWEEPS:
        raise InputError(
            "too_many_runs",
            "At most {most} recorded runs are drawn at once, got {n}.",
            most=MOST_SWEEPS,
            n=len(given),
        )
    known = {key_of(run): run for run in sweeps(kept)}
    for key in given:
        if not isinstance(key, str) or key not in known:
            raise InputError("no_run", "No recorded run is called {got}.", got=shorten(key))
    return tuple(known[key] for key in dict.fromkeys(given))


def matches(run: SweepRun, case: SweepCase) -> bool:
    """Whether a run is of such a sweep, whatever its values and providers."""
    about = run.case

    def kind(one: SweepCase) -> tuple:
        return one.operation, one.axis, one.sizes, one.fixed_rows, one.is_hot

    return kind(about) == kind(case) and any(value in case.values for value in about.values)


def own_sweeps(measured: object) -> list[SweepRun]:
    """Return a visitor's sweeps, whatever a client sent in their place."""
    given = measured if isinstance(measured, list | tuple) else []
    return [run for run in given if isinstance(run, SweepRun)][-MOST_SWEEPS:]


def runs_for(
    case: SweepCase, picked: tuple[SweepRun, ...], measured: object, kept: Recordings
) -> list[SweepRun]:
    """Return what is drawn, at most four, the run in question last.

    That is the newest of one's own sweeps that is of this case, over the others over the same size
    and the recorded ones that were chosen; else the last that was chosen; else the newest recorded.
    """
    own = own_sweeps(measured)
    mine = next((run for run in reversed(own) if matches(run, case)), None)
    chosen = [run for run in picked if run.case.axis == case.axis]
    if mine is not None:
        return [*under([run for run in own if run is not mine], picked, case), mine]
    if chosen:
        return chosen
    return next(([run] for run in sweeps(kept) if matches(run, case)), [])


def under(own: list[SweepRun], picked: tuple[SweepRun, ...], case: SweepCase) -> list[SweepRun]:
    """Return what lies under the newest of one's own sweeps: as many over the same size as fit."""
    beside = [run for run in (*picked, *own) if run.case.axis == case.axis]
    return beside[-MOST_SWEEPS + 1 :]


def values_text(runs: tuple[SweepRun, ...] | list[SweepRun]) -> str:
    """Return the values of all runs as a visitor would write them; too many are the last run's."""
    values = sorted({value for run in runs for value in run.case.values})
    if len(values) > LIMITS.n_values:
        values = runs[-1].case.values
    return text_of(values).replace(",", ", ").replace("x", " x").replace("+", " +")
