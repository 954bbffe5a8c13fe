"""The Memory tab: peak memory over length, measured or by formula, and traffic, counted.

The formula and the counts need no GPU and follow the controls at once. Measured points come from a
recorded run, or from this machine's GPU: they stream in, and Stop keeps what there is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gradio as gr
from gradio.components.plot import PlotData
from gradio.context import Context

from benchmarks import recorded, traffic
from benchmarks.jobs import MemoryJob
from benchmarks.memory import choose_memory, lines
from benchmarks.memory_results import MemoryCase, MemoryPoint, MemoryRun
from benchmarks.results import Device, Progress
from benchmarks.worker import JobFailed
from kernels.errors import InputError
from kernels.inputs import DTYPES
from kernels.tile_inputs import MASKS
from viz.figures import memory as charts
from viz.figures import memory_words as words
from viz.figures.base import payload
from viz.figures.prose import error_sentence, fault, rich
from viz.locales import text
from viz.tabs.note import Note
from viz.tabs.page import WAITING, dropdown, explain, known_device
from viz.tabs.run import WAITING_ROOM, device_now

MEMORY_CSS = Path(__file__).with_name("memory.css").read_text("utf-8")

HEAD_DIMS = [16, 32, 64, 96, 128, 192, 256]
REDRAW_S = 1.0  # a new plot is a new drawing: once a second is enough, the table follows each point
FIELDS = ("heads", "head_dim", "dtype", "mask")
QUIET = {"show_progress": "hidden", "api_visibility": "private"}


@dataclass(frozen=True)
class Recordings:
    """The recorded runs, the newest first, and why files were refused."""

    runs: tuple[MemoryRun, ...]
    refused: tuple[InputError, ...]

    @classmethod
    def load(cls) -> Recordings:
        """Read every recorded file."""
        runs, refused = recorded.read_all()
        return cls(tuple(runs), tuple(refused))

    def of(self, case: MemoryCase) -> MemoryRun | None:
        """Return the newest run of ``case``."""
        return next((run for run in self.runs if run.case == case), None)


@dataclass(frozen=True)
class MemoryTab:
    """The tab's components. ``parts`` are what `draw` fills."""

    fields: dict[str, gr.components.Component]
    measure: gr.Button
    stop: gr.Button
    note: Note
    parts: dict[str, gr.components.Component]
    measured: gr.State


def build(page) -> MemoryTab:
    """Build the tab; called inside ``with gr.Tab(...)``."""
    kept = Recordings.load()
    first = draw(choose_memory(), None, kept, "en")
    fields, measure_button, stop = _build_controls(page)
    note = Note(live=True, elem_id="memory-note")
    parts: dict[str, gr.components.Component] = {}
    with gr.Row(elem_id="memory-page"):
        for side in ("peak", "traffic"):
            with gr.Column(min_width=0, elem_id=f"memory-{side}"):
                for part in ("headline", "key", "plot", "table"):
                    name = f"{side}_{part}"
                    parts[name] = (
                        gr.Plot(first[name], show_label=False, elem_id=f"memory-{side}-plot")
                        if part == "plot"
                        else Note(first[name], elem_id=f"memory-{side}-{part}")
                    )
    parts["claims"] = Note(first["claims"], elem_id="memory-claims")
    tab = MemoryTab(fields, measure_button, stop, note, parts, gr.State(None))
    _wire(page, tab, kept)
    return tab


def _build_controls(page) -> tuple:
    """Build the row of controls."""
    with gr.Row(elem_id="memory-controls"):
        fields = {
            "heads": gr.Number(16, label="heads"),
            "head_dim": dropdown(HEAD_DIMS, 128, label="head_dim"),
            "dtype": dropdown(list(DTYPES), "bfloat16", label="dtype"),
            "mask": page.label(dropdown(masks("en"), "none"), masks, label="memory.mask"),
        }
        for name, component in fields.items():
            component.elem_id = f"memory-{name}"
        measure_button = gr.Button(
            text("en", "memory.measure"),
            variant="primary",
            interactive=False,
            elem_id="memory-measure",
        )
        stop = page.label(gr.Button("", visible=False, elem_id="memory-stop"), value="run.stop")
    return fields, measure_button, stop


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
        "peak_plot": _plot(charts.memory_figure(told, case.lengths, language)),
        "peak_table": [
            *words.memory_table(told, case, language),
            *words.memory_facts(told, language),
            *words.recordings(kept.runs, run, refused, language),
        ],
        "traffic_headline": words.traffic_headline(counted, language),
        "traffic_key": words.traffic_key(language),
        "traffic_plot": _plot(charts.traffic_figure(counted, language)),
        "traffic_table": words.traffic_table(counted, language),
        "claims": words.claims(told, counted, language),
    }


def _plot(made) -> PlotData:
    """Return a figure as the page takes it, with its settings, which gr.Plot would leave out."""
    return PlotData(type="plotly", plot=payload(made))


def button(device: Device | None, language: str) -> dict:
    """Return the Measure button: it acts on a GPU, and says why not elsewhere."""
    can = device is not None and device.kind == "gpu"
    key = "memory.measure" if can or device is None else "memory.measure.no_gpu"
    return gr.update(value=text(language, key), interactive=can)


def _wire(page, tab: MemoryTab, kept: Recordings) -> None:
    """Connect the controls, the language and the device."""
    inputs = [*tab.fields.values(), tab.measured, page.language]
    outputs = [tab.note, *tab.parts.values()]

    def show(*given):
        *values, measured, language = given
        return _named(tab, redraw(values, measured, kept, language))

    gr.on(
        [*(field.input for field in tab.fields.values()), page.language.change],
        show,
        inputs,
        outputs,
        show_progress="hidden",
        api_name="memory",
    )

    async def say_device(language):
        return button(await known_device(page.worker), language)

    Context.root_block.load(say_device, page.language, tab.measure, **WAITING, **QUIET)
    page.language.change(
        lambda language: button(device_now(page.worker), language),
        page.language,
        tab.measure,
        **QUIET,
    )
    _wire_measure(page, tab, kept)


def _wire_measure(page, tab: MemoryTab, kept: Recordings) -> None:
    """Connect Measure and Stop."""
    switched = [tab.measure, tab.stop, *tab.fields.values()]

    def running(is_running: bool) -> dict:
        locked = {field: gr.update(interactive=not is_running) for field in tab.fields.values()}
        return {
            tab.measure: gr.update(visible=not is_running),
            tab.stop: gr.update(visible=is_running),
            **locked,
        }

    def on_measure(*given):
        *values, language = given
        for update in measure(page.worker, list(values), kept, language):
            told = {**_named(tab, update.shown), **running(update.running)}
            if update.run is not None:
                told[tab.measured] = update.run
            yield told

    started = tab.measure.click(
        on_measure,
        [*tab.fields.values(), page.language],
        [tab.note, tab.measured, *switched, *tab.parts.values()],
        concurrency_id="kernels",
        concurrency_limit=WAITING_ROOM,
        show_progress="hidden",
        api_name="measure",
    )

    def stopped(language: str) -> dict:
        return {tab.note: _said(text(language, "memory.stopped")), **running(False)}

    halt = {"inputs": page.language, "outputs": [tab.note, *switched], "queue": False, **QUIET}
    # Said twice: on a busy page, what the run had already sent is shown after the first answer.
    tab.stop.click(stopped, cancels=[started], **halt).then(stopped, **halt)


def _named(tab: MemoryTab, shown: dict) -> dict:
    """Return updates by component, given by name."""
    return {(tab.note if name == "note" else tab.parts[name]): it for name, it in shown.items()}


def redraw(values: list, measured: object, kept: Recordings, language: str) -> dict:
    """Return what the controls call for; for a mistake one sentence, and the picture stays."""
    try:
        case = choose_memory(*values)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    run = measured if isinstance(measured, MemoryRun) else None
    return {"note": [], **draw(case, run, kept, language)}


@dataclass(frozen=True)
class Update:
    """What changes on the page at one moment of a measurement: parts by name, and "note".

    Each says the note and whether it is running: where one update follows another at once, Gradio's
    page may show the second one alone.
    """

    shown: dict
    running: bool
    run: MemoryRun | None = None


def measure(worker, values: list, kept: Recordings, language: str) -> Iterator[Update]:
    """Measure what the controls say, point by point; a fault is a sentence, and points stay."""
    run, drawn_at = None, -REDRAW_S
    note = _progress(Progress("starting"), language)
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
                note = _progress(item, language)
                yield Update({"note": note}, True)
        note = []
    except InputError as error:
        note = fault(error_sentence(language, f"error.{error.key}", error.details, str(error)))
    except JobFailed as error:
        note = fault(error_sentence(language, f"failed.{error.kind}", error.details, str(error)))
    shown = draw(run.case, run, kept, language) if run else {}
    yield Update({**shown, "note": note}, False, run)


def _news(run: MemoryRun, kept: Recordings, language: str, with_plot: bool) -> dict:
    """Return the parts that a new point changes: what is counted stays as it is."""
    changed = ("peak_headline", "peak_key", "peak_table", "claims")
    shown = draw(run.case, run, kept, language)
    return {name: shown[name] for name in (*changed, *(("peak_plot",) if with_plot else ()))}


def _progress(item: Progress, language: str) -> list:
    """Return the sentence of a stage."""
    details = dict(item.details)
    if "provider" in details:
        named = details.pop("provider"), details.pop("exact")
        details["name"] = words.provider_name(*named, language)
    return _said(error_sentence(language, f"progress.{item.stage}", details, item.stage), True)


def _said(sentence: str, goes_on: bool = False) -> list:
    return [["p", {"class": "bw-progress" if goes_on else ""}, *rich(sentence)]]
