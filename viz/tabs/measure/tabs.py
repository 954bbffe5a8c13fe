"""Put Measure together: the tabs inside it, and their style sheets."""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from benchmarks.launches_results import LaunchRun
from benchmarks.memory_results import MemoryRun
from benchmarks.sweep_results import SweepRun
from viz.figures.landscape import ramp_css
from viz.tabs.measure import claims, landscape_tab, launches, memory, speed_tab
from viz.tabs.measure.measured import Recordings

SHEETS = ("memory", "speed", "landscape", "claims")


def build(page, outer: gr.Tab) -> None:
    """Build everything that measures a GPU; called inside ``with outer``."""
    kept = Recordings.load()
    with gr.Tabs(elem_id="measure-tabs"):
        with page.label(gr.Tab("Speed", id="speed"), label="tab.speed"):
            speed_tab.build(page, kept.only(SweepRun), outer)
        with page.label(gr.Tab("Landscape", id="landscape"), label="tab.landscape"):
            landscape_tab.build(page, kept.only(SweepRun))
        with page.label(gr.Tab("Memory", id="memory"), label="tab.memory"):
            memory.build(page, kept.only(MemoryRun))
        with page.label(gr.Tab("Launches", id="launches"), label="tab.launches"):
            launches.build(page, kept.only(LaunchRun))
        with page.label(gr.Tab("Claims", id="claims"), label="tab.claims"):
            claims.build(page, kept)


def css() -> str:
    """Return the style sheets of all of them."""
    here = Path(__file__).parent
    sheets = [(here / f"{name}.css").read_text("utf-8") for name in SHEETS]
    return "".join([*sheets, ramp_css()])
