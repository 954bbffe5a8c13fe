"""What the Run tab shows of a result: every part of the picture, and how to fill it."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr
import numpy as np
from gradio.components.plot import PlotData

from benchmarks.results import CheckResult, RowDetail
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import MAX_BLOCK, OWN_NUMBERS, Choice, choose, make_arrays
from viz import export
from viz.figures import tables
from viz.figures.base import payload
from viz.figures.error_map import MAPS, error_map
from viz.figures.histogram import histogram
from viz.figures.prose import say
from viz.figures.state import state_figure
from viz.figures.verdict import headline
from viz.locales import text
from viz.tabs.note import Note
from viz.tabs.run_form import as_text

PARTS = (
    "headline",
    *(part for which in MAPS for part in (f"head_{which}", f"map_{which}")),
    "key",
    "state_head",
    "state",
    "state_words",
    "numbers",
    "errors_head",
    "errors",
    "checked",
    "python",
)
# What changes with the chosen row.
ROW_PARTS = (*(f"map_{which}" for which in MAPS), "state_head", "state", "state_words", "numbers")


@dataclass(frozen=True)
class Screen:
    """The components that a result fills, and those around them."""

    idle: Note
    main: gr.Column
    side: gr.Column
    device: Note
    parts: dict[str, gr.components.Component]
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
        return [self.idle, self.main, self.side, *parts, self.row, self.watch]

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
                _build_maps(parts)
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
                parts["errors_head"] = Note(elem_id="run-errors-head")
                parts["errors"] = gr.Plot(show_label=False, elem_id="run-errors")
                parts["checked"] = Note(elem_id="run-checked")
                buttons = _build_buttons(page)
                parts["python"] = Note(elem_id="run-python")
    return Screen(idle, main, side, device, parts, row, **buttons)


def _build_maps(parts: dict) -> None:
    """Build the three maps, each under its own head, and the scale that they share."""
    with gr.Row(elem_id="run-maps"):
        for which in MAPS:
            with gr.Column(min_width=0, elem_classes="bw-map"):
                parts[f"head_{which}"] = Note()
                parts[f"map_{which}"] = gr.Plot(show_label=False, elem_id=f"run-map-{which}")
    parts["key"] = Note(elem_id="run-map-key")


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


def detail_of(result: CheckResult, row: object) -> RowDetail:
    """Return the kept row ``row``, or the worst one where that is none of them."""
    by_row = {detail.row: detail for detail in result.rows}
    wanted = row if isinstance(row, int) and not isinstance(row, bool) else None
    return by_row.get(wanted) or by_row.get(result.worst_row) or result.rows[0]


def row_choices(result: CheckResult, language: str) -> list[tuple[str, int]]:
    """Return the rows that can be opened, the worst one first and called so."""
    others = [detail.row for detail in result.rows if detail.row != result.worst_row]
    first = (text(language, "run.row.worst", row=result.worst_row), result.worst_row)
    return [first, *((text(language, "run.row.other", row=row), row) for row in others)]


def draw(result: CheckResult | None, row: object, language: str) -> list:
    """Return updates for `Screen.outputs`."""
    if result is None:
        return [_idle(language), *[gr.skip()] * (2 + len(PARTS) + 2)]
    detail = detail_of(result, row)
    rows = dict(zip(ROW_PARTS, draw_row(result, detail.row, language), strict=False))
    filled = {
        "headline": headline(result, language),
        "key": tables.map_key(result, language),
        "errors_head": tables.errors_head(result, language),
        "errors": _plot(histogram(result, language)),
        "checked": tables.checked(result, language),
        "python": _python(result, language),
        **{f"head_{which}": tables.map_head(result, which, language) for which in MAPS},
        **rows,
    }
    chooser = gr.update(choices=row_choices(result, language), value=detail.row)
    shown = [gr.update(visible=False), gr.update(visible=True), gr.update(visible=True)]
    return [*shown, *(filled[name] for name in PARTS), chooser, _watch(result, detail, language)]


def draw_row(result: CheckResult | None, row: object, language: str) -> list:
    """Return updates for `Screen.row_outputs`: nothing is run again."""
    if result is None:  # the server has forgotten this visitor; what is drawn stays
        return [gr.skip()] * (len(ROW_PARTS) + 1)
    detail = detail_of(result, row)
    return [
        *(_plot(error_map(result, which, detail.row)) for which in MAPS),
        tables.state_head(detail.row, language),
        _plot(state_figure(detail, language)),
        tables.state_words(result, detail, language),
        tables.numbers(result, detail, language),
        _watch(result, detail, language),
    ]


def _plot(made) -> PlotData:
    """Return a figure as the page takes it, with its settings, which gr.Plot would leave out."""
    return PlotData(type="plotly", plot=payload(made))


def _watch(result: CheckResult, detail: RowDetail, language: str) -> dict:
    """Return the button that watches the row: dashed, with the reason, where Watch cannot."""
    wanted = watched_row(result, detail.row)
    del wanted["algorithm"]
    try:
        choose(**wanted)
    except InputError as error:
        told = error.details
        details = {"row": detail.row, "name": told.get("name", ""), "limit": told.get("high", "")}
        return gr.update(value=text(language, "run.watch_row.long", **details), interactive=False)
    return gr.update(value=text(language, "run.watch_row", row=detail.row), interactive=True)


def watched_row(result: CheckResult, row: object) -> dict:
    """Return the numbers of a result's row as Watch holds them.

    Row r is seeded seed + r, but all rows share the v of the first seed: where there is a v, the
    row's scores are given as numbers, and the seed stays.
    """
    detail, case = detail_of(result, row), result.case
    entry = ALGORITHMS[result.algorithm]
    preset, seed, numbers = case.preset, case.seed + detail.row, as_text(case.numbers)
    if entry.has_values and detail.row:
        choice = Choice(preset, case.n_cols, 1, case.head_dim, case.dtype, seed)
        x = make_arrays(choice, with_values=False)["x"]
        shortest = (np.format_float_positional(value, trim="-") for value in x)
        preset, seed, numbers = OWN_NUMBERS, case.seed, " ".join(shortest)
    return {
        "algorithm": result.algorithm,
        "preset": preset,
        "n_cols": case.n_cols,
        "block": min(result.block, MAX_BLOCK) if entry.whole_row else case.block,
        "head_dim": case.head_dim,
        "dtype": case.dtype,
        "seed": seed,
        "numbers": numbers,
    }


def _python(result: CheckResult, language: str) -> list:
    """Return the script that repeats the run, closed until asked for."""
    summary = ["summary", {}, text(language, "run.as_python")]
    code = ["pre", {"class": "bw-code"}, export.to_python(result)]
    return [["details", {"class": "bw-details"}, summary, code]]
