"""The Launches tab: softmax(x) + x * y, launch by launch as measured, and its bytes by formula.

The formula needs no GPU and follows the controls at once. Launches and times come from a recorded
run, or from this machine's GPU: they appear provider by provider, and Stop keeps what there is.
"""

from __future__ import annotations

from collections.abc import Iterator

import gradio as gr

from benchmarks.jobs import LaunchJob
from benchmarks.launches import DIRECTIONS, SIZES, choose_launches, lines
from benchmarks.launches_results import LaunchCase, LaunchRun, ProviderRun
from benchmarks.results import Progress
from benchmarks.worker import JobFailed
from kernels.errors import InputError
from kernels.inputs import DTYPES, one_of
from viz.figures import launches as charts
from viz.figures import launches_words as words
from viz.figures.memory_words import recordings
from viz.figures.prose import error_sentence, fault
from viz.locales import text
from viz.tabs.measure.measured import (
    MeasuredTab,
    Recordings,
    Update,
    build_controls,
    build_parts,
    plot,
    said,
    wire,
)
from viz.tabs.note import Note
from viz.tabs.page import dropdown, explain, why_ended


def build(page, kept: Recordings) -> MeasuredTab:
    """Build the tab; called inside ``with gr.Tab(...)``."""
    known, labels = sizes(kept), {"label": "launches.direction"}
    controls = build_controls(
        page,
        "launches",
        {
            "size": lambda: dropdown(known, known[0], label="n_rows × n_cols"),
            "dtype": lambda: dropdown(list(DTYPES), "bfloat16", label="dtype"),
            "direction": lambda: page.label(
                dropdown(directions("en"), DIRECTIONS[0]), directions, **labels
            ),
        },
    )
    note = Note(live=True, elem_id="launches-note")
    parts = build_parts("launches", ("timeline", "bytes"), "claim")
    tab = MeasuredTab("launches", *controls, note, parts, gr.State(None))
    wire(
        page,
        tab,
        lambda values, measured, language: redraw(values, measured, kept, language),
        lambda values, _, language: measure(page.worker, values, kept, language),
        "measure_launches",
    )
    return tab


def sizes(kept: Recordings) -> list[str]:
    """Return the sizes to choose from: the usual ones, and others that were recorded."""
    recorded_sizes = [(run.case.n_rows, run.case.n_cols) for run in kept.runs]
    return [f"{rows} × {cols}" for rows, cols in dict.fromkeys([*SIZES, *recorded_sizes])]


def directions(language: str) -> list[tuple[str, str]]:
    """Return both directions with their names."""
    return [(text(language, f"launches.{direction}"), direction) for direction in DIRECTIONS]


def choose(values: list) -> tuple[LaunchCase, str]:
    """Return the case and the direction that the controls say. Raise InputError for a fault."""
    size, dtype, direction = values
    n_rows, _, n_cols = size.partition("×") if isinstance(size, str) else (size, "", None)
    case = choose_launches(n_rows, n_cols, dtype)
    return case, one_of("direction", direction, DIRECTIONS)


def draw(
    case: LaunchCase, direction: str, measured: LaunchRun | None, kept: Recordings, language: str
) -> dict:
    """Return every part of the picture by name: this page's own run before recorded ones."""
    run = measured if measured is not None and measured.case == case else kept.of(case)
    told = lines(case, direction, run)
    refused = [explain(error, language) for error in kept.refused]
    return {
        "timeline_headline": words.timeline_headline(told, case, direction, run, language),
        "timeline_key": words.timeline_key(language),
        "timeline_plot": plot(charts.timeline_figure(told, language)),
        "timeline_table": [
            *words.timeline_table(told, direction, language),
            *recordings(
                kept.runs, run, refused, language, words.case_words, "launches.recorded.none"
            ),
        ],
        "bytes_headline": words.bytes_headline(told, direction, language),
        "bytes_key": words.bytes_key(language),
        "bytes_plot": plot(charts.bytes_figure(told, language)),
        "bytes_table": words.bytes_table(told, direction, language),
        "claim": words.claim(told, run, language),
    }


def redraw(values: list, measured: object, kept: Recordings, language: str) -> dict:
    """Return what the controls call for; for a mistake one sentence, and the picture stays."""
    try:
        case, direction = choose(values)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    run = measured if isinstance(measured, LaunchRun) else None
    return {"note": [], **draw(case, direction, run, kept, language)}


def measure(worker, values: list, kept: Recordings, language: str) -> Iterator[Update]:
    """Measure both directions; a fault is a sentence, and what was measured stays."""
    run = None
    note = progress(Progress("starting"), language)
    shown: dict = {}
    try:
        case, direction = choose(values)
        yield Update({"note": note}, True)
        for item in worker.run(LaunchJob(case)):
            if isinstance(item, ProviderRun):
                runs = (*(run.runs if run else ()), item)
                run = LaunchRun(case, worker.device(0.0), runs)
                if item.direction == direction:
                    shown = draw(case, direction, run, kept, language)
            else:
                note = progress(item, language)
            yield Update({"note": note, **shown}, True, run)
            shown = {}
        note = [] if run else said(text(language, "measured.nothing"))
    except (InputError, JobFailed) as error:
        note = why_ended(error, language)
    if run is not None:
        shown = draw(case, direction, run, kept, language)
    yield Update({**shown, "note": note}, False, run)


def progress(item: Progress, language: str) -> list:
    """Return the sentence of a stage."""
    details = dict(item.details)
    if "direction" in details:
        details["direction"] = text(language, f"launches.{details['direction']}")
    return said(error_sentence(language, f"progress.{item.stage}", details, item.stage), True)
