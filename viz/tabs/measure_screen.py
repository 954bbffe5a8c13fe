"""The Measure tab's components and what is drawn in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import gradio as gr

from benchmarks.operations import NAMES, OPERATIONS
from benchmarks.sweep_choice import SIZES
from kernels.inputs import DTYPES
from kernels.tile_inputs import MASKS
from viz.locales import text
from viz.tabs.measure_lines import VIEWS, default_view
from viz.tabs.measured import plot
from viz.tabs.note import Note
from viz.tabs.page import dropdown

FIELDS = (
    *("operation", "values", "dtype", "providers", "view"),
    *("reference", "rows", "heads", "head_dim", "mask"),
)
USUAL = ("ours", "torch", "compile", "sdpa_flash", "sdpa_cudnn", "flash")
VALUES = {
    "n_cols": "256..65536 x2",
    "seq": "512..16384 x2",
    "seq_k": "1024..131072 x2",
    "size": "256..8192 x2",
}


@dataclass(frozen=True)
class Screen:
    """The tab's components by name; ``notes`` and ``plots`` are what is drawn."""

    fields: Mapping[str, gr.components.Component]
    measure: gr.Button
    stop: gr.Button
    note: Note
    parts: Mapping[str, gr.components.Component]
    ask: Mapping[str, gr.components.Component]
    buttons: Mapping[str, gr.components.Component]
    measured: gr.State = field(repr=False)
    guess: gr.State = field(repr=False)

    @property
    def values(self) -> list[gr.components.Component]:
        """The controls in the order of `FIELDS`."""
        return [self.fields[name] for name in FIELDS]

    def named(self, shown: dict) -> dict:
        """Return updates by component, given by name."""
        known = {"note": self.note, "measured": self.measured, "guess": self.guess}
        known |= {**self.parts, **self.ask, **self.buttons, **self.fields}
        return {known[name]: update for name, update in shown.items()}


def operations(language: str) -> list[tuple[str, str]]:
    """Return every operation with its name."""
    return [(text(language, f"measure.operation.{name}"), name) for name in OPERATIONS]


def provider_choices(operation: str) -> list[tuple[str, str]]:
    """Return an operation's providers with their exact names."""
    return [(NAMES[name], name) for name in OPERATIONS[operation].providers]


def usual(operation: str) -> list[str]:
    """Return the providers that are shown unless others are chosen."""
    return [name for name in OPERATIONS[operation].providers if name in USUAL]


def views(language: str) -> list[tuple[str, str]]:
    """Return the views with their names."""
    ratio = text(language, "measure.view.ratio")
    return [(ratio if view == "ratio" else view, view) for view in VIEWS]


def masks(language: str) -> list[tuple[str, str]]:
    """Return both masks with their names."""
    return [(text(language, f"memory.mask.{mask}"), mask) for mask in MASKS]


def values_label(operation: str, language: str) -> str:
    """Return the label of the values: which size it is."""
    name = SIZES[OPERATIONS[operation].axes[0]][0]
    return text(language, "measure.values", name=name)


def for_operation(operation: str, values: str, language: str) -> dict:
    """Return the controls as another operation has them."""
    about = OPERATIONS[operation]
    choices = provider_choices(operation)
    is_attention = "seq" in about.axes[0]
    has_mask = about.axes[0] == "seq"
    others = [name for name in usual(operation) if name not in ("ours", "flash")]
    return {
        "values": gr.update(value=values, label=values_label(operation, language)),
        "providers": gr.update(choices=choices, value=usual(operation)),
        "reference": gr.update(choices=choices, value=(others or ["ours"])[0]),
        "view": gr.update(value=default_view(operation)),
        "rows": gr.update(visible="n_rows" in about.axes),
        "heads": gr.update(visible=is_attention),
        "head_dim": gr.update(visible=is_attention),
        "mask": gr.update(visible=has_mask),
    }


def build_screen(page, values: str) -> Screen:
    """Build every component, without a figure: the first is drawn when the tab is opened."""
    first = next(iter(OPERATIONS))
    fields: dict[str, gr.components.Component] = {}
    with gr.Row(elem_id="measure-controls"):
        fields |= _first_row(page, first, values)
        go = gr.Button(
            text("en", "memory.measure"),
            variant="primary",
            interactive=False,
            elem_id="measure-start",
        )
        stop = page.label(gr.Button("", visible=False, elem_id="measure-stop"), value="run.stop")
    with gr.Row(elem_id="measure-more"):
        fields |= _second_row(page, first)
    for name, component in fields.items():
        component.elem_id = f"measure-{name}"
    note = Note(live=True, elem_id="measure-note")
    ask = _build_ask(page, first)
    parts, buttons = _build_parts(page)
    return Screen(fields, go, stop, note, parts, ask, buttons, gr.State([]), gr.State(None))


def _first_row(page, first: str, values: str) -> dict:
    """Build what everyone sets."""
    many = {"multiselect": True, "max_choices": 30}
    return {
        "operation": page.label(
            dropdown(operations("en"), first), operations, label="measure.operation"
        ),
        "values": gr.Textbox(
            values, label=values_label(first, "en"), placeholder="256..65536x2", max_lines=1
        ),
        "dtype": dropdown(list(DTYPES), "bfloat16", label="dtype"),
        "providers": page.label(
            dropdown(provider_choices(first), usual(first), **many), label="measure.providers"
        ),
    }


def _second_row(page, first: str) -> dict:
    """Build what matters for a view or an operation."""
    return {
        "view": page.label(dropdown(views("en"), default_view(first)), views, label="measure.view"),
        "reference": page.label(
            dropdown(provider_choices(first), "torch"), label="measure.reference"
        ),
        "rows": page.label(gr.Textbox("", max_lines=1), label="measure.rows"),
        "heads": gr.Number(16, label="heads", visible=False),
        "head_dim": gr.Number(64, label="head_dim", visible=False),
        "mask": page.label(
            dropdown(masks("en"), "none", visible=False), masks, label="memory.mask"
        ),
    }


def _build_ask(page, first: str) -> dict:
    """Build the form that asks for a guess."""
    with gr.Column(visible=False, elem_id="measure-ask") as ask:
        question = Note(elem_id="measure-question")
        with gr.Row(elem_id="measure-ask-row"):
            provider = page.label(
                dropdown(provider_choices(first), "ours", elem_id="measure-guess-provider"),
                label="measure.ask.provider",
            )
            speed = page.label(
                gr.Textbox("", max_lines=1, elem_id="measure-guess-speed"),
                label="measure.ask.speed",
            )
            show = page.label(
                gr.Button("", variant="primary", elem_id="measure-guess-show"),
                value="measure.ask.show",
            )
            skip = page.label(gr.Button("", elem_id="measure-guess-skip"), value="measure.ask.skip")
    return {
        "ask": ask,
        "question": question,
        "guess_provider": provider,
        "guess_speed": speed,
        "guess_show": show,
        "guess_skip": skip,
    }


def _build_parts(page) -> tuple[dict, dict]:
    """Build the two columns and what can be done with a sweep."""
    parts: dict[str, gr.components.Component] = {}
    buttons: dict[str, gr.components.Component] = {}
    with gr.Row(elem_id="measure-page"):
        with gr.Column(min_width=0, elem_id="measure-left"):
            parts["headline"] = Note(elem_id="measure-headline")
            parts["guessed"] = Note(elem_id="measure-guessed")
            parts["plot"] = gr.Plot(show_label=False, visible=False, elem_id="measure-plot")
            parts["key"] = Note(elem_id="measure-key")
            parts["table"] = Note(elem_id="measure-table")
        with gr.Column(min_width=0, elem_id="measure-right"):
            parts["card"] = Note(elem_id="measure-card")
            parts["roof_head"] = Note(elem_id="measure-roof-head")
            parts["roof_plot"] = gr.Plot(show_label=False, visible=False, elem_id="measure-roof")
            parts["recorded"] = Note(elem_id="measure-recorded")
    with gr.Row(visible=False, elem_id="measure-actions") as actions:
        parts["actions"] = actions
        for name, key in (
            ("csv", "run.csv"),
            ("json", "run.json"),
            ("clear", "measure.clear"),
            ("again", "measure.ask.again"),
        ):
            button = gr.Button("", size="sm", elem_id=f"measure-{name}")
            buttons[name] = page.label(button, value=key)
        buttons["file"] = gr.DownloadButton("", visible="hidden", elem_id="measure-file")
    return parts, buttons


def plot_update(made) -> dict:
    """Return a chart's update; without a figure its place closes."""
    return gr.update(visible=False) if made is None else gr.update(value=plot(made), visible=True)
