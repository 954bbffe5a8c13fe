"""Put the Landscape tab together: its components, and which handler answers which of them."""

from __future__ import annotations

import gradio as gr

from kernels.errors import InputError
from viz.tabs.measure import landscape as handlers
from viz.tabs.measure.files import wire_files
from viz.tabs.measure.landscape_cells import operations
from viz.tabs.measure.landscape_guess import SKIPPED
from viz.tabs.measure.landscape_live import measure
from viz.tabs.measure.landscape_screen import build_screen
from viz.tabs.measure.measured import MeasuredTab, Recordings, wire
from viz.tabs.page import QUIET


def build(page, kept: Recordings) -> MeasuredTab:
    """Build the tab; called inside ``with gr.Tab(...)``."""
    tab = build_screen(page, handlers.suggested(operations()[0], kept))
    wire(
        page,
        tab,
        lambda values, measured, language: handlers.redraw(values, measured, kept, language),
        lambda values, measured, language: measure(page.worker, values, measured, kept, language),
        "measure_landscape",
    )
    given = [*tab.fields.values(), tab.measured, page.language]
    _wire_operation(page, tab, given, kept)
    _wire_guess(tab, given, kept)
    _wire_cells(tab, given, kept)

    def run_of(*values):
        *fields, measured, _ = values
        try:
            land = handlers.scene_of(fields, measured, kept).land
        except InputError:
            return None  # the note says already what is wrong
        return land.run if land else None

    wire_files(tab.parts, given, run_of)
    return tab


def _wire_operation(page, tab: MeasuredTab, given: list, kept: Recordings) -> None:
    """Connect the operation: it sets the other controls, and what they then say is drawn."""
    drawn = [tab.note, *tab.parts.values()]

    def switch_landscape(operation, measured, language):
        return tab.named(handlers.switched(operation, measured, kept, language))

    def show_landscape(*values):
        *fields, measured, language = values
        return tab.named(handlers.redraw(fields, measured, kept, language))

    field = tab.fields["operation"]
    switch = field.input(switch_landscape, [field, tab.measured, page.language], drawn, **QUIET)
    switch.success(show_landscape, given, drawn, **QUIET)


def _wire_guess(tab: MeasuredTab, given: list, kept: Recordings) -> None:
    """Connect the form that asks for a guess."""
    drawn, parts = [tab.note, *tab.parts.values()], tab.parts

    def show_guess(*values):
        *fields, measured, language, up, flat = values
        shown = handlers.guessed(fields, measured, up, flat, kept, language)
        return tab.named(shown) or gr.skip()

    def with_guess(guess):
        def handler(*values):
            *fields, measured, language = values
            return tab.named(handlers.ask_again(fields, measured, guess, kept, language))

        return handler

    asked = [*given, parts["guess_up"], parts["guess_flat"]]
    parts["guess_show"].click(show_guess, asked, drawn, **QUIET)
    parts["guess_skip"].click(with_guess(SKIPPED), given, drawn, **QUIET)
    parts["again"].click(with_guess(None), given, drawn, **QUIET)


def _wire_cells(tab: MeasuredTab, given: list, kept: Recordings) -> None:
    """Connect the cells of the map."""

    def pick_cell(event: gr.EventData, *values):
        *fields, measured, language = values
        try:
            at = event.cell
        except (AttributeError, TypeError):  # a client can send anything as an event
            at = None
        return tab.named(handlers.picked(fields, measured, at, kept, language)) or gr.skip()

    drawn = [tab.note, *tab.parts.values()]
    tab.parts["map"].select(pick_cell, given, drawn, **QUIET)
