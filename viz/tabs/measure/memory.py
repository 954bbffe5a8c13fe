"""The Memory tab: peak memory over length, measured or by formula, and traffic, counted.

The formula and the counts need no GPU and follow the controls at once. Measured points come from a
recorded run, or from this machine's GPU: they stream in, and Stop keeps what there is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import gradio as gr

from benchmarks import traffic
from benchmarks.jobs import MemoryJob
from benchmarks.memory import choose_memory, lines
from benchmarks.memory_results import MemoryCase, MemoryPoint, MemoryRun
from benchmarks.results import Progress
from benchmarks.worker import JobFailed
from kernels.errors import InputError
from kernels.inputs import DTYPES
from kernels.tile_inputs import MASKS
from viz.figures import memory as charts
from viz.figures import memory_words as words
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

HEAD_DIMS = [16, 32, 64, 96, 128, 192, 256]
REDRAW_S = 1.0  # a new plot is a new drawing: once a second is enough, the table follows each point


def build(page, kept: Recordings) -> MeasuredTab:
    """Build the tab; called inside ``with gr.Tab(...)``."""
    controls = build_controls(
        page,
        "memory",
        {
            "heads": lambda: gr.Number(16, label="heads"),
            "head_dim": lambda: dropdown(HEAD_DIMS, 128, label="head_dim"),
            "dtype": lambda: dropdown(list(DTYPES), "bfloat16", label="dtype"),
            "mask": lambda: page.label(dropdown(masks("en"), "none"), masks, label="memory.mask"),
        },
    )
    note = Note(live=True, elem_id="memory-note")
    parts = build_parts("memory", ("peak", "traffic"), "claims")
    tab = MeasuredTab("memory", *controls, note, parts, gr.State(None))
    wire(
        page,
        tab,
        lambda values, measured, language: redraw(values, measured, kept, language),
        lambda values, _, language: measure(page.worker, values, kept, language),
        "measure",
    )
    return tab


def masks(language: str) -> list[tuple[str, str]]:
    """Return both masks with their names."""
    return [(text(language, f"memory.mask.{mask}"), mask) for mask in MASKS]


def draw(case: MemoryCase, measured: MemoryRun | None, kept: Recordings, language: str) -> dict:
    """Return every part of the picture by name: this page's own points before recorded ones."""
    run = measured if measured is not None and measured.case == case else kept.of(case)
    told, counted = lines(case, run), traffic.count(case)
    refused = [explain(error, language) for error in kept.refused]
    return {
        "peak_headline": words.memory_headline(told, case, run, language),
        "peak_key": words.memory_key(run, language),
        "peak_plot": plot(charts.memory_figure(told, case.lengths, language)),
        "peak_table": [
            *words.memory_table(told, case, language),
            *words.memory_facts(told, language),
            *words.recordings(kept.runs, run, refused, language),
        ],
        "traffic_headline": words.traffic_headline(counted, language),
        "traffic_key": words.traffic_key(language),
        "traffic_plot": plot(charts.traffic_figure(counted, language)),
        "traffic_table": words.traffic_table(counted, language),
        "claims": words.claims(told, counted, language),
    }


def redraw(values: list, measured: object, kept: Recordings, language: str) -> dict:
    """Return what the controls call for; for a mistake one sentence, and the picture stays."""
    try:
        case = choose_memory(*values)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    run = measured if isinstance(measured, MemoryRun) else None
    return {"note": [], **draw(case, run, kept, language)}


def measure(worker, values: list, kept: Recordings, language: str) -> Iterator[Update]:
    """Measure what the controls say, point by point; a fault is a sentence, and points stay."""
    run, drawn_at = None, -REDRAW_S
    note = progress(Progress("starting"), language)
    try:
        case = choose_memory(*values)
        yield Update({"note": note}, True)
        for item in worker.run(MemoryJob(case)):
            if isinstance(item, MemoryPoint):
                points = (*(run.points if run else ()), item)
                run = MemoryRun(case, worker.device(0.0), points)
                now = time.monotonic()
                with_plot = now - drawn_at >= REDRAW_S
                drawn_at = now if with_plot else drawn_at
                yield Update({"note": note, **_news(run, kept, language, with_plot)}, True, run)
            else:
                note = progress(item, language)
                yield Update({"note": note}, True)
        note = [] if run else said(text(language, "measured.nothing"))
    except (InputError, JobFailed) as error:
        note = why_ended(error, language)
    shown = draw(run.case, run, kept, language) if run else {}
    yield Update({**shown, "note": note}, False, run)


def _news(run: MemoryRun, kept: Recordings, language: str, with_plot: bool) -> dict:
    """Return the parts that a new point changes: what is counted stays as it is."""
    changed = ("peak_headline", "peak_key", "peak_table", "claims")
    shown = draw(run.case, run, kept, language)
    return {name: shown[name] for name in (*changed, *(("peak_plot",) if with_plot else ()))}


def progress(item: Progress, language: str) -> list:
    """Return the sentence of a stage."""
    details = dict(item.details)
    if "provider" in details:
        named = details.pop("provider"), details.pop("exact")
        details["name"] = words.provider_name(*named, language)
    return said(error_sentence(language, f"progress.{item.stage}", details, item.stage), True)
