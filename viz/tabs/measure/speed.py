"""The Speed tab: an operation over a size, provider beside provider, live or from recordings.

Controls in, parts of the picture out. What a GPU measures while one looks is in `speed_live`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import gradio as gr

from benchmarks.operations import NAMES, OPERATIONS
from benchmarks.sweep_choice import choose_sweep
from benchmarks.sweep_results import SweepCase, SweepRun
from kernels.errors import InputError
from kernels.inputs import DTYPES, one_of
from viz.figures.measure import speed_figure
from viz.figures.memory_words import run_words
from viz.figures.prose import fault
from viz.figures.roofline import roofline_figure
from viz.locales import text
from viz.tabs.measure import speed_fields as controls
from viz.tabs.measure import speed_guess as guesses
from viz.tabs.measure import speed_lines as lines
from viz.tabs.measure import speed_words as words
from viz.tabs.measure.measured import Recordings, plot_update
from viz.tabs.measure.speed_card import card
from viz.tabs.measure.speed_lines import Shown
from viz.tabs.measure.speed_paths import stretches_of, surprise
from viz.tabs.measure.speed_runs import (
    key_of,
    matches,
    read_picked,
    recorded_of,
    run_choices,
    runs_for,
)
from viz.tabs.measure.speed_runs import sweeps as sweeps_of
from viz.tabs.measure.speed_table import table
from viz.tabs.measure.speed_told import axis_name, digits
from viz.tabs.page import explain

HIDDEN = {"visible": False, "__type__": "update"}


class Asked(NamedTuple):
    """What the controls say: a sweep, how it is looked at, and the recorded runs chosen."""

    case: SweepCase
    shown: Shown
    picked: tuple[SweepRun, ...] = ()


def choose(values: list, kept: Recordings) -> Asked:
    """Return what the controls say. Raise InputError, one sentence, at the first mistake."""
    given = controls.named(values)
    operation = one_of("operation", given["operation"], tuple(OPERATIONS))
    axis = one_of("axis", given["axis"], OPERATIONS[operation].axes)
    rows, hot = given["rows"], one_of("hot", f"{given['hot']}", ("False", "True"))
    # Sizes of other operations are in the form too, and are not read. An emptied one is a mistake.
    sizes = {name: "" if given[name] is None else given[name] for name in controls.NUMBERS}
    case = choose_sweep(
        operation,
        given["values"],
        given["dtype"],
        given["providers"] or None,
        axis=axis,
        n_rows=None if rows is None or isinstance(rows, str) and not rows.strip() else rows,
        n_cols=sizes.pop("cols"),
        **sizes,
        mask=given["mask"],
        is_hot=hot == "True",
    )
    view, reference = given["view"], given["reference"]
    one_of("view", view, lines.VIEWS)
    # Whom ratios are to is read where there are ratios.
    if view == "ratio":
        one_of("provider", reference, OPERATIONS[operation].providers)
    shown = Shown(view, reference, case.providers, case.values)
    return Asked(case, shown, read_picked(given["runs"], kept))


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
        "key": [
            *words.overlays(runs, language),
            *words.key(run, shown, language),
            *words.doubts(run, language),
        ],
        "table": table(run, case, shown, language),
        "card": card(run, shown, language),
        "recorded": _recorded(runs, kept, language),
        "actions": {"visible": run is not None, "__type__": "update"},
        "clear": {"visible": run is not None and not run.date, "__type__": "update"},
        "reference": {"visible": shown.view == "ratio", "__type__": "update"},
    }
    if not with_plots:
        return parts
    roof = roofline(run, shown, kept.runs, language)
    parts["roof_head"] = words.roofline_head(language) if roof else []
    figure = figure_of(runs, shown, language, guess)
    return {**parts, "plot": plot_update(figure), "roof_plot": plot_update(roof)}


def figure_of(runs: list[SweepRun], shown: Shown, language: str, guess: object = None):
    """Return the chart of the runs, or None where nothing of them has a time in this view."""
    drawn = lines.lines_of(runs, shown, language)
    if not drawn:
        return None
    run = runs[-1]
    return speed_figure(
        [*drawn, *guesses.line(guess, run, shown, language)],
        axis_name(run.case),
        lines.unit_words(run, shown, language),
        stretches_of(run, shown, language),
        text(language, "measure.path.strip"),
        # Of several runs, the one that a remark is of could not be told.
        surprise(run, shown, language) if len(runs) == 1 else None,
    )


def roofline(run: SweepRun | None, shown: Shown, kept: Iterable[SweepRun], language: str):
    """Return the roofline, or None where there is no ceiling or nothing under it.

    ``kept`` are recorded runs, of which a matrix product may be the other ceiling.
    """
    ceilings = lines.ceilings_of(run, kept) if run else None
    spots = lines.spots_of(run, shown, ceilings, language) if ceilings else []
    if not spots:
        return None
    said_of = (
        text(language, "measure.roofline.axis"),
        text(language, "measure.roofline.copy", speed=digits(ceilings.gb_per_s)),
        text(language, "measure.roofline.product", speed=digits(ceilings.tflop_per_s)),
    )
    return roofline_figure(spots, ceilings, said_of)


def _recorded(runs: list[SweepRun], kept: Recordings, language: str) -> list:
    """Return which other sweeps are recorded, and which files were refused."""
    refused = [
        ["p", {"class": "bw-how bw-refused"}, f"✕ {explain(error, language)}"]
        for error in kept.refused
    ]
    others = [other for other in sweeps_of(kept) if not any(other is run for run in runs)]
    if not others:
        return refused
    items = [
        ["li", {}, f"{run_words(other, language)}: {words.case_words(other.case, language)}"]
        for other in others
    ]
    head = ["summary", {}, text(language, "measure.recorded.others", n=len(others))]
    return [*refused, ["details", {"class": "bw-how"}, head, ["ul", {}, *items]]]


def redraw(values: list, measured: object, guess: object, kept: Recordings, language: str) -> dict:
    """Return what the controls call for; for a mistake one sentence, and the picture stays."""
    try:
        case, shown, picked = choose(values, kept)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    runs = runs_for(case, picked, measured, kept)
    if guess is None and runs and words.last_round(runs[-1], shown):
        return {"note": [], **ask(case, shown, runs[-1], language)}
    parts = draw(case, shown, runs, kept, language, guess)
    return {"note": [], "ask": HIDDEN, **parts}


def ask(case: SweepCase, shown: Shown, run: SweepRun, language: str) -> dict:
    """Return the form that asks for a guess, and the picture hidden."""
    at = guesses.asked(run, shown)
    (eyebrow, _) = words.headline(run, case, shown, language)
    empty = dict.fromkeys(("guessed", "key", "table", "card", "recorded", "roof_head"), [])
    choices = [(NAMES[name], name) for name in lines.providers_of(run, shown)]
    fields = {}
    for k, name in enumerate(guesses.FIELDS):
        label = guesses.field_label(run.case, at[k], language) if k < len(at) else ""
        fields[name] = {"visible": k < len(at), "label": label, "__type__": "update"}
    return {
        "headline": [eyebrow],
        **empty,
        "plot": HIDDEN,
        "roof_plot": HIDDEN,
        "actions": HIDDEN,
        "ask": {"visible": True, "__type__": "update"},
        "question": guesses.question(run.case, at[-1], language),
        "guess_provider": {"choices": choices, "value": choices[0][1], "__type__": "update"},
        **fields,
    }


# Controls that set others.


def suggested(operation: str, axis: str, dtype: object, kept: Recordings) -> list[SweepRun]:
    """Return the recorded sweeps of an operation, axis and dtype, the newest first."""
    return recorded_of(kept, operation, axis, dtype) if dtype in DTYPES else []


def switch_to(
    operation: object, axis: object, dtype: object, kept: Recordings, language: str
) -> dict:
    """Return the controls for another operation, or, where ``axis`` is told, for another axis.

    Sizes are as the newest recorded run has them, and the dtype where none is of the one that is
    told. Raise InputError for what there is not.
    """
    one_of("operation", operation, tuple(OPERATIONS))
    about = OPERATIONS[operation]
    fields = {} if axis is not None else controls.for_operation(operation, language)
    axis = about.axes[0] if axis is None else one_of("axis", axis, about.axes)
    runs = suggested(operation, axis, dtype, kept)
    for other in () if runs else DTYPES:
        if runs := suggested(operation, axis, other, kept):
            fields = {**fields, "dtype": gr.update(value=other)}
            break
    return {**fields, **controls.for_axis(operation, axis, runs, language)}


def pick(values: list, kept: Recordings) -> dict:
    """Return the controls as the last chosen recorded run has them, its sizes and values."""
    given = controls.named(values)
    picked = read_picked(given["runs"], kept)
    if not picked:
        return {}
    sizes = controls.of_case(picked[-1].case)
    told = {name: {**size, "__type__": "update"} for name, size in sizes.items()}
    return {
        **told,
        "values": {"value": controls.values_text(picked), "__type__": "update"},
    }


def anew(
    values: list,
    measured: object,
    guess: object,
    kept: Recordings,
    language: str,
    follows: bool = False,
) -> dict:
    """Return the picture for other sizes or another dtype: a recorded run is chosen anew.

    Where none fits and the controls shall follow, they become those of the newest there is.
    """
    given = {**controls.named(values), "runs": []}
    fields: dict[str, dict] = {}
    try:
        case = choose(list(given.values()), kept).case
        runs = suggested(case.operation, case.axis, case.sizes.dtype, kept)
        fits = [run for run in runs if matches(run, case)][:1]
        if follows and runs and not fits:
            fits = runs[:1]
            given["runs"] = [key_of(fits[0])]
            fields = pick(list(given.values()), kept)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    given |= {name: update["value"] for name, update in fields.items()}
    given["runs"] = [key_of(run) for run in fits]
    listed = {"choices": run_choices(runs, language), "value": given["runs"]}
    drawn = redraw(list(given.values()), measured, guess, kept, language)
    return {**drawn, **fields, "runs": {**listed, "__type__": "update"}}
