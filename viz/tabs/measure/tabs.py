"""Put Measure together: the tabs inside it, and their style sheets."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from viz.figures.landscape import ramp_css
from viz.tabs.measure import claims, landscape_tab, launches, memory, speed_tab

SHEETS = ("memory", "speed", "landscape", "claims")


def build(page, outer: gr.Tab) -> None:
    """Build everything that measures a GPU; called inside ``with outer``."""
    with gr.Tabs(elem_id="measure-tabs"):
        with page.label(gr.Tab("Speed", id="speed"), label="tab.speed"):
            speed_tab.build(page, outer)
        with page.label(gr.Tab("Landscape", id="landscape"), label="tab.landscape"):
            landscape_tab.build(page)
        with page.label(gr.Tab("Memory", id="memory"), label="tab.memory"):
            memory.build(page)
        with page.label(gr.Tab("Launches", id="launches"), label="tab.launches"):
            launches.build(page)
        with page.label(gr.Tab("Claims", id="claims"), label="tab.claims"):
            claims.build(page)


def css() -> str:
    """Return the style sheets of all of them."""
    here = Path(__file__).parent
    sheets = [(here / f"{name}.css").read_text("utf-8") for name in SHEETS]
    return "".join([*sheets, ramp_css()])
