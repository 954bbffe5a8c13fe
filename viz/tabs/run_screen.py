"""What the Run tab shows of a result: every part of the picture, and how to fill it.

The parts are laid out once, and `view_of` says who fills them: `run_rows` for kernels that take
rows, `run_tiles` for those that work on tiles. A part that a result has nothing for is hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import gradio as gr
from gradio.components.plot import PlotData

from benchmarks.results import CheckResult, TileCheckResult
from viz import export
from viz.figures import tables
from viz.figures.base import Figure, payload
from viz.figures.error_map import MAPS
from viz.figures.prose import say
from viz.locales import text
from viz.tabs import run_rows, run_tiles
from viz.tabs.note import Note

Result = CheckResult | TileCheckResult

STATE_FIELDS = ("m", "alpha", "l", "acc")
BARS = ("head", "block")
PARTS = (
    *("headline", "outputs", "output_head"),
    *(part for which in MAPS for part in (f"head_{which}", f"map_{which}")),
    "key",
    *(part for which in BARS for part in (f"bars_{which}_head", f"bars_{which}")),
    "states_head",
    *(part for field in STATE_FIELDS for part in (f"state_head_{field}", f"state_map_{field}")),
    *("state_head", "state", "state_words", "numbers"),
    *("rivals", "errors_head", "errors", "checked", "python"),
)
# What changes with the chosen row.
ROW_PARTS = (
    *(f"map_{which}" for which in MAPS),
    *(f"state_map_{field}" for field in STATE_FIELDS),
    *("state_head", "state", "state_words", "numbers"),
)


def view_of(result: Result) -> ModuleType:
    """Return the module that fills the parts with a result of this type."""
    return run_tiles if isinstance(result, TileCheckResult) else run_rows


@dataclass(frozen=True)
class Screen:
    """The components that a result fills, and those around them."""

    idle: Note
    main: gr.Column
    side: gr.Column
    device: Note
    parts: dict[str, gr.components.Component]
    output: gr.Radio
    row: gr.Dropdown
    csv: gr.Button
    json: gr.Button
    file: gr.DownloadButton
    copy: gr.Button
    watch: gr.Button

    @property
    def outputs(self) -> list:
        """What `draw` returns updates for, in its order."""
        parts = (self.parts[name] for name in PARTS)
        return [self.idle, self.main, self.side, *parts, self.output, self.row, self.watch]

    @property
    def row_outputs(self) -> list:
        """What `draw_row` returns updates for, in its order."""
        return [*(self.parts[name] for name in ROW_PARTS), self.watch]


def build_screen(page) -> Screen:
    """Build the picture, empty: the maps and the row on the left, the device and facts right."""
    parts: dict[str, gr.components.Component] = {}
    with gr.Row(elem_id="run-page"):
        with gr.Column(elem_id="run-main", min_width=0):
            idle = Note(_idle("en"), elem_id="run-idle")
            with gr.Column(visible=False, elem_id="run-results") as main:
                parts["headline"] = Note(live=True, elem_id="run-headline")
                output = _build_outputs(page, parts)
                _build_maps(parts)
                _build_bars(parts)
                _build_states(parts)
                with gr.Row(elem_id="run-state-row"):
                    parts["state_head"] = Note(elem_id="run-state-head")
                    row = page.label(
                        gr.Dropdown([], elem_id="run-row", filterable=False), label="run.row"
                    )
                parts["state"] = gr.Plot(show_label=False, elem_id="run-state")
                parts["state_words"] = Note(elem_id="run-state-words")
                parts["numbers"] = Note(elem_id="run-numbers")
        with gr.Column(elem_id="run-side", min_width=0):
            device = Note(tables.device_box(None, "en"), elem_id="run-device")
            with gr.Column(visible=False, elem_id="run-facts") as side:
                parts["rivals"] = Note(elem_id="run-rivals")
                parts["errors_head"] = Note(elem_id="run-errors-head")
                parts["errors"] = gr.Plot(show_label=False, elem_id="run-errors")
                parts["checked"] = Note(elem_id="run-checked")
                buttons = _build_buttons(page)
                parts["python"] = Note(elem_id="run-python")
    return Screen(idle, main, side, device, parts, output, row, **buttons)


def _build_outputs(page, parts: dict) -> gr.Radio:
    """Build the table of outputs, and the choice of the one whose errors are drawn."""
    parts["outputs"] = Note(elem_id="run-outputs")
    with gr.Row(elem_id="run-output-row"):
        parts["output_head"] = Note(elem_id="run-output-head")
        return page.label(
            gr.Radio([], elem_id="run-output", visible=False), label="run.tiles.output"
        )


def _build_maps(parts: dict) -> None:
    """Build the three maps, each under its own head, and the scale that they share."""
    with gr.Row(elem_id="run-maps"):
        for which in MAPS:
            with gr.Column(min_width=0, elem_classes="bw-map"):
                parts[f"head_{which}"] = Note()
                parts[f"map_{which}"] = gr.Plot(show_label=False, elem_id=f"run-map-{which}")
    parts["key"] = Note(elem_id="run-map-key")


def _build_bars(parts: dict) -> None:
    """Build the charts of errors by head and by block of rows."""
    with gr.Row(elem_id="run-bars"):
        for which in BARS:
            with gr.Column(min_width=0, elem_classes="bw-bars"):
                parts[f"bars_{which}_head"] = Note()
                parts[f"bars_{which}"] = gr.Plot(show_label=False, elem_id=f"run-bars-{which}")


def _build_states(parts: dict) -> None:
    """Build the maps of the captured state, one a field."""
    parts["states_head"] = Note(elem_id="run-states-head")
    with gr.Row(elem_id="run-states"):
        for field in STATE_FIELDS:
            with gr.Column(min_width=0, elem_classes="bw-map"):
                parts[f"state_head_{field}"] = Note()
                parts[f"state_map_{field}"] = gr.Plot(
                    show_label=False, elem_id=f"run-state-map-{field}"
                )


def _build_buttons(page) -> dict[str, gr.components.Component]:
    """Build what can be done with a result."""
    with gr.Row(elem_id="run-actions"):
        made = {
            "watch": gr.Button("", size="sm", elem_id="watch-row"),
            "csv": page.label(gr.Button("", size="sm", elem_id="run-csv"), value="run.csv"),
            "json": page.label(gr.Button("", size="sm", elem_id="run-json"), value="run.json"),
            "copy": page.label(gr.Button("", size="sm", elem_id="run-copy"), value="run.copy"),
        }
        made["file"] = gr.DownloadButton("", visible="hidden", elem_id="run-file")
    return made


def _idle(language: str) -> list:
    """Return what stands where the first result will be."""
    return [["p", {"class": "bw-caption"}, *say(language, "run.idle")]]


def draw(result: Result | None, row: object, language: str, output: object = None) -> list:
    """Return updates for `Screen.outputs`."""
    if result is None:
        return [_idle(language), *[gr.skip()] * (2 + len(PARTS) + 3)]
    view = view_of(result)
    filled = {
        **view.fill(result, row, output, language),
        "python": _python(result, language),
    }
    names, chosen = view.output_choices(result, output)
    chooser = gr.update(choices=names, value=chosen or None, visible=len(names) > 1)
    open_row = gr.update(
        choices=view.row_choices(result, language), value=view.detail_of(result, row).row
    )
    shown = [gr.update(visible=False), gr.update(visible=True), gr.update(visible=True)]
    parts = [_part(name, filled) for name in PARTS]
    return [*shown, *parts, chooser, open_row, view.watch(result, row, language)]


def draw_row(result: Result | None, row: object, language: str, output: object = None) -> list:
    """Return updates for `Screen.row_outputs`: nothing is run again."""
    if result is None:  # the server has forgotten this visitor; what is drawn stays
        return [gr.skip()] * (len(ROW_PARTS) + 1)
    view = view_of(result)
    filled = view.fill_row(result, row, output, language)
    return [*(_part(name, filled) for name in ROW_PARTS), view.watch(result, row, language)]


def _part(name: str, filled: dict[str, object]) -> object:
    """Return a part's update: nodes as they are, a figure as the page takes it, or nothing."""
    shown = filled.get(name)
    if isinstance(shown, Figure):
        # gr.Plot would leave a figure's settings out.
        drawn = PlotData(type="plotly", plot=payload(shown))
        return gr.update(value=drawn, visible=True)
    if name in filled:
        return shown
    is_figure = "map_" in name or name in ("state", "errors", *(f"bars_{which}" for which in BARS))
    return gr.update(visible=False) if is_figure else []


def watched_row(result: Result, row: object) -> dict[str, object]:
    """Return the numbers of a result, or of its row, as Watch holds them."""
    return view_of(result).watched(result, row)


def _python(result: Result, language: str) -> list:
    """Return the script that repeats the run, closed until asked for."""
    summary = ["summary", {}, text(language, "run.as_python")]
    code = ["pre", {"class": "bw-code"}, export.to_python(result)]
    return [["details", {"class": "bw-details"}, summary, code]]
