"""The Speed tab's components and what is drawn in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import gradio as gr

from benchmarks.operations import OPERATIONS
from benchmarks.sweep_results import SweepRun
from viz.locales import text
from viz.tabs.measure import speed_fields as controls
from viz.tabs.measure.files import build_actions
from viz.tabs.measure.speed_guess import FIELDS as GUESSED
from viz.tabs.note import Note
from viz.tabs.page import dropdown


@dataclass(frozen=True)
class Screen:
    """The tab's components by name; ``notes`` and ``plots`` are what is drawn."""

    fields: Mapping[str, gr.components.Component]
    measure: gr.Button
    stop: gr.Button
    more: gr.Button
    note: Note
    parts: Mapping[str, gr.components.Component]
    ask: Mapping[str, gr.components.Component]
    buttons: Mapping[str, gr.components.Component]
    measured: gr.State = field(repr=False)
    guess: gr.State = field(repr=False)

    @property
    def values(self) -> list[gr.components.Component]:
        """The controls in the order of `speed_fields.FIELDS`."""
        return [self.fields[name] for name in controls.FIELDS]

    def named(self, shown: dict) -> dict:
        """Return updates by component, given by name."""
        known = {"note": self.note, "measured": self.measured, "guess": self.guess}
        known |= {**self.parts, **self.ask, **self.buttons, **self.fields}
        return {known[name]: update for name, update in shown.items()}


def build_screen(page, runs: list[SweepRun]) -> Screen:
    """Build every component, without a figure: the first is drawn when the tab is opened.

    ``runs`` are the recorded sweeps of the first operation: the controls begin as the newest is.
    """
    first = next(iter(OPERATIONS))
    usual = controls.VALUES[OPERATIONS[first].axes[0]]
    values = controls.values_text(runs[:1]) if runs else usual
    fields: dict[str, gr.components.Component] = {}
    with gr.Row(elem_id="measure-controls"):
        fields |= controls.build_first_row(page, first, values)
        go = gr.Button(
            text("en", "memory.measure"),
            variant="primary",
            interactive=False,
            elem_id="measure-start",
        )
        stop = page.label(gr.Button("", visible=False, elem_id="measure-stop"), value="run.stop")
    # On a phone one closed line stands for what is rarely set.
    more = page.label(gr.Button("", elem_id="measure-more-button"), value="measure.more")
    with gr.Row(elem_id="measure-more"):
        fields |= controls.build_second_row(page, first, runs)
    for name, update in controls.of_case(runs[0].case).items() if runs else ():
        fields[name].value = update["value"]
    for name, component in fields.items():
        component.elem_id = f"measure-{name}"
    note = Note(live=True, elem_id="measure-note")
    ask = _build_ask(page, first)
    parts, buttons = _build_parts(page)
    return Screen(fields, go, stop, more, note, parts, ask, buttons, gr.State([]), gr.State(None))


def _build_ask(page, first: str) -> dict:
    """Build the form that asks for a guess."""
    with gr.Column(visible=False, elem_id="measure-ask") as ask:
        question = Note(elem_id="measure-question")
        with gr.Row(elem_id="measure-ask-row"):
            provider = page.label(
                dropdown(
                    controls.provider_choices(first), "ours", elem_id="measure-guess-provider"
                ),
                label="measure.ask.provider",
            )
            speeds = {
                name: gr.Textbox("", max_lines=1, elem_id=f"measure-{name.replace('_', '-')}")
                for name in GUESSED
            }
            show = page.label(
                gr.Button("", variant="primary", elem_id="measure-guess-show"),
                value="measure.ask.show",
            )
            skip = page.label(gr.Button("", elem_id="measure-guess-skip"), value="measure.ask.skip")
    return {
        "ask": ask,
        "question": question,
        "guess_provider": provider,
        **speeds,
        "guess_show": show,
        "guess_skip": skip,
    }


def _build_parts(page) -> tuple[dict, dict]:
    """Build the two columns and what can be done with a sweep."""
    parts: dict[str, gr.components.Component] = {}
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
    words = {"csv": "run.csv", "json": "run.json", "clear": "measure.clear"}
    words["again"] = "measure.ask.again"
    parts["actions"], buttons = build_actions(page, "measure", words)
    return parts, buttons
