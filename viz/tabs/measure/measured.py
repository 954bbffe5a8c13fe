"""What the tabs share whose numbers are a formula's, a recording's or this machine's GPU's.

Such a tab has controls that are followed at once, a Measure button that acts on a GPU only, Stop,
and a picture in two columns that is drawn part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import gradio as gr
from gradio.components.plot import PlotData
from gradio.context import Context

from benchmarks import recorded
from benchmarks.launches_results import LaunchCase, LaunchRun
from benchmarks.memory_results import MemoryCase, MemoryRun
from benchmarks.results import Device
from kernels.errors import InputError
from viz.figures.base import payload
from viz.figures.prose import rich
from viz.locales import text
from viz.tabs.note import Note
from viz.tabs.page import NO_PROGRESS, QUIET, WAITING, known_device, merge
from viz.tabs.run import WAITING_ROOM, device_now


@dataclass(frozen=True)
class Recordings:
    """The recorded runs, the newest first, and why files were refused."""

    runs: tuple[recorded.Run, ...]
    refused: tuple[InputError, ...]

    @classmethod
    def load(cls) -> Recordings:
        """Read every recorded file."""
        return cls(*map(tuple, recorded.read_all()))

    def only(self, record: type) -> Recordings:
        """Return those whose runs are a ``record``."""
        return replace(self, runs=tuple(run for run in self.runs if isinstance(run, record)))

    def of(self, case: MemoryCase | LaunchCase) -> MemoryRun | LaunchRun | None:
        """Return the newest run of ``case``."""
        return next((run for run in self.runs if run.case == case), None)


@dataclass(frozen=True)
class Update:
    """What changes on the page at one moment of a measurement: parts by name, and "note".

    Each says the note and whether it is running: where one update follows another at once, Gradio's
    page may show the second one alone.
    """

    shown: dict
    running: bool
    run: MemoryRun | LaunchRun | None = None


@dataclass(frozen=True)
class MeasuredTab:
    """A tab's components; ``name`` begins their ids, ``parts`` are what is drawn.

    ``leads`` are fields that set others: the tab follows them itself.
    """

    name: str
    fields: Mapping[str, gr.components.Component]
    measure: gr.Button
    stop: gr.Button
    note: Note
    parts: Mapping[str, gr.components.Component]
    measured: gr.State
    leads: tuple[str, ...] = ()

    def named(self, shown: dict) -> dict:
        """Return updates by component, given by name."""
        return {
            (self.note if name == "note" else self.parts[name]): it for name, it in shown.items()
        }


def build_controls(page, name: str, fields: Mapping[str, Callable]) -> tuple:
    """Build the row of controls; ``fields`` make them. Return them, Measure and Stop."""
    with gr.Row(elem_id=f"{name}-controls"):
        built = {field: make() for field, make in fields.items()}
        for field, component in built.items():
            component.elem_id = f"{name}-{field}"
        measure_button = gr.Button(
            text("en", "memory.measure"),
            variant="primary",
            interactive=False,
            elem_id=f"{name}-measure",
        )
        stop = page.label(gr.Button("", visible=False, elem_id=f"{name}-stop"), value="run.stop")
    return built, measure_button, stop


def build_parts(name: str, sides: tuple[str, str], last: str) -> dict:
    """Build both columns, and the ``last`` part under them, all empty.

    They are drawn when the tab is opened: a visitor who never does is not sent them.
    """
    parts: dict[str, gr.components.Component] = {}
    with gr.Row(elem_id=f"{name}-page"):
        for side in sides:
            with gr.Column(min_width=0, elem_id=f"{name}-{side}"):
                for part in ("headline", "key", "plot", "table"):
                    elem_id = f"{name}-{side}-{part}"
                    parts[f"{side}_{part}"] = (
                        gr.Plot(show_label=False, elem_id=elem_id)
                        if part == "plot"
                        else Note(elem_id=elem_id)
                    )
    parts[last] = Note(elem_id=f"{name}-{last}")
    return parts


def plot(made) -> PlotData:
    """Return a figure as the page takes it, with its settings, which gr.Plot would leave out."""
    return PlotData(type="plotly", plot=payload(made))


def plot_update(made) -> dict:
    """Return a chart's update; without a figure its place closes."""
    return gr.update(visible=False) if made is None else gr.update(value=plot(made), visible=True)


def button(device: Device | None, language: str) -> dict:
    """Return the Measure button: it acts on a GPU, and says why not elsewhere."""
    can = device is not None and device.kind == "gpu"
    key = "memory.measure" if can or device is None else "memory.measure.no_gpu"
    return gr.update(value=text(language, key), interactive=can)


def said(sentence: str, goes_on: bool = False) -> list:
    """Return a note's value: a sentence, of something that goes on or not."""
    return [["p", {"class": "bw-progress" if goes_on else ""}, *rich(sentence)]]


def wire(page, tab: MeasuredTab, redraw: Callable, measure: Callable, api_name: str) -> None:
    """Connect the tab's opening, the controls, the language, the device, Measure and Stop.

    Called inside ``with gr.Tab(...)``.

    redraw    (values, measured run, language) -> parts by name
    measure   (values, measured run, language) -> an `Update` at a time
    api_name  of Measure; the controls' is the tab's own name
    """
    inputs = [*tab.fields.values(), tab.measured, page.language]
    drawn, is_drawn = [tab.note, *tab.parts.values()], gr.State(False)

    def show(*given):
        *values, measured, language = given
        return {**tab.named(redraw(values, measured, language)), is_drawn: True}

    def retell(*given):
        *given, once_drawn = given
        return show(*given) if once_drawn else gr.skip()  # unopened: there are no words yet

    followed = [field.input for name, field in tab.fields.items() if name not in tab.leads]
    gr.on(
        [*followed, Context.block.select],
        show,
        inputs,
        [*drawn, is_drawn],
        **NO_PROGRESS,
        api_name=tab.name,
    )
    page.language.change(retell, [*inputs, is_drawn], [*drawn, is_drawn], **QUIET)

    async def say_device(language):
        return button(await known_device(page.worker), language)

    Context.root_block.load(say_device, page.language, tab.measure, **WAITING, **QUIET)
    page.language.change(
        lambda language: button(device_now(page.worker), language),
        page.language,
        tab.measure,
        **QUIET,
    )

    def measure_here(*given):
        *values, measured, language = given
        return measure(values, measured, language)

    wire_measure(page, tab, measure_here, inputs, drawn, api_name)


def wire_measure(page, tab, measure: Callable, given: list, drawn: list, api_name: str) -> None:
    """Connect Measure and Stop of a `MeasuredTab`, or of what has its controls, note and names.

    measure   the values of ``given`` -> an `Update` at a time
    drawn     what an update may change, beside the controls, which are locked meanwhile
    """
    switched = [tab.measure, tab.stop, *tab.fields.values()]

    def running(is_running: bool) -> dict:
        locked = {field: gr.update(interactive=not is_running) for field in tab.fields.values()}
        return {
            tab.measure: gr.update(visible=not is_running),
            tab.stop: gr.update(visible=is_running),
            **locked,
        }

    def on_measure(*values):
        for update in measure(*values):
            told = merge(tab.named(update.shown), running(update.running))
            if update.run is not None:
                told[tab.measured] = update.run
            yield told

    # A part may be a control as well, which a redraw gives other choices.
    outputs = dict.fromkeys([*drawn, tab.measured, *switched])
    started = tab.measure.click(
        on_measure,
        given,
        list(outputs),
        concurrency_id="kernels",
        concurrency_limit=WAITING_ROOM,
        **NO_PROGRESS,
        api_name=api_name,
    )

    def stopped(language: str) -> dict:
        return {tab.note: said(text(language, "measured.stopped")), **running(False)}

    halt = {"inputs": page.language, "outputs": [tab.note, *switched], "queue": False, **QUIET}
    # Said twice: on a busy page, what the run had already sent is shown after the first answer.
    tab.stop.click(stopped, cancels=[started], **halt).then(stopped, **halt)
