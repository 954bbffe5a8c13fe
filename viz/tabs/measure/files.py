"""A sweep or a landscape as files: CSV with a line a point, JSON of everything, NaN as null."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict

import gradio as gr
from gradio.processing_utils import save_bytes_to_cache

from benchmarks.sweep_results import LandscapeCase, SweepRun
from benchmarks.sweep_tables import csv_text
from viz.tabs.page import QUIET


def to_csv(run: SweepRun) -> str:
    """Return every point, a line each; what is not known is empty. Hot caches are said in each."""
    is_hot = getattr(run.case, "is_hot", False)
    return csv_text(run.points, caches="hot (a mistake, to show it)" if is_hot else "cold")


def to_json(run: SweepRun) -> str:
    """Return the case, the device, every point, and where the run comes from."""
    return json.dumps(_plain(asdict(run)), ensure_ascii=False, allow_nan=False, indent=1)


def _plain(value: object) -> object:
    """Return ``value`` without NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def file_name(run: SweepRun) -> str:
    """Return what a downloaded run is called, without its suffix."""
    gpu = "-".join(run.device.name.lower().split())
    kept = "".join(letter for letter in gpu if letter.isalnum() or letter == "-")
    kind = "landscape" if isinstance(run.case, LandscapeCase) else "sweep"
    caches = "hot" if getattr(run.case, "is_hot", False) else ""
    parts = (kind, run.case.operation, run.case.sizes.dtype, caches, kept, run.date)
    return "-".join(part for part in parts if part)


# The link is drawn a moment after its value arrives.
_FETCH = """() => setTimeout(() => {
  const file = document.querySelector('#%s');
  (file.querySelector('a, button') || file).click();
}, 150)"""


def build_actions(page, name: str, words: Mapping[str, str]) -> tuple[gr.Row, dict]:
    """Build the row of what can be done with a run: a button for each of ``words``, and "file".

    words   button -> the locale key of what it says
    """
    buttons: dict[str, gr.components.Component] = {}
    with gr.Row(visible=False, elem_id=f"{name}-actions") as row:
        for action, key in words.items():
            button = gr.Button("", size="sm", elem_id=f"{name}-{action}")
            buttons[action] = page.label(button, value=key)
        buttons["file"] = gr.DownloadButton("", visible="hidden", elem_id=f"{name}-file")
    return row, buttons


def wire_files(buttons: Mapping, given: list, run_of: Callable) -> None:
    """Connect the buttons "csv" and "json" to the link "file", which is hidden.

    ``run_of`` gets the values of the components ``given`` and returns a run, or None for nothing.
    """
    file = buttons["file"]

    def writer(write: Callable, suffix: str) -> Callable:
        def handler(*values):
            run = run_of(*values)
            if run is None:
                return gr.skip()
            name = f"{file_name(run)}.{suffix}"
            return save_bytes_to_cache(write(run).encode(), name, file.GRADIO_CACHE)

        return handler

    for name, write in (("csv", to_csv), ("json", to_json)):
        clicked = buttons[name].click(writer(write, name), given, file, **QUIET)
        clicked.then(None, js=_FETCH % file.elem_id)
