"""A sweep or a landscape as files: CSV with a line a point, JSON of everything, NaN as null."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict

import gradio as gr
from gradio.processing_utils import save_bytes_to_cache

from benchmarks.sweep_results import LandscapeCase, SweepPoint, SweepRun
from viz.tabs.measure.measured import QUIET

FIELDS = (*SweepPoint.__dataclass_fields__, "gb_per_s", "tflop_per_s")
COLUMNS = (*FIELDS, "caches")


def to_csv(run: SweepRun) -> str:
    """Return every point, a line each; what is not known is empty. Hot caches are said in each."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    caches = "hot (a mistake, to show it)" if getattr(run.case, "is_hot", False) else "cold"
    for point in run.points:
        writer.writerow([*(_cell(getattr(point, name)) for name in FIELDS), caches])
    return out.getvalue()


def _cell(value: object) -> object:
    """Return a value as it stands in a cell."""
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, dict):
        return " ".join(f"{key}={number}" for key, number in value.items())
    return value


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
