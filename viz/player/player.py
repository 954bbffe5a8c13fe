"""The player: a Trace as an animated figure that runs in the browser.

The whole trace goes to the page once, as one JSON value; every moment of it is then drawn there as
a pure function of (value, index), with no round trip per step. `Player` is the Gradio component:
its markup, style and script are the files beside this one. `player_value` builds what it shows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

import gradio as gr
import numpy as np

from kernels.algorithm import Algorithm, Grid
from kernels.inputs import ITEMSIZE
from kernels.problems import reference_for
from kernels.trace import Trace, encode
from viz.locales import LANGUAGES, table
from viz.player.packed import packed_trace

HERE = Path(__file__).parent

# One scope, in this order: later files use what earlier ones define.
SCRIPTS = (
    "packed",
    "format",
    "words",
    "ranges",
    "state",
    "timeline",
    "caption",
    "svg",
    "layout",
    "draw-ruler",
    "draw-scores",
    "draw-weights",
    "draw-values",
    "draw-outputs",
    "draw-strips",
    "draw-chip",
    "draw-history",
    "draw-ticks",
    "figure",
    "formula",
    "source",
    "traffic",
    "table",
    "link",
    "transport",
    "keys",
    "app",
    "tile-model",
    "tile-reads",
    "tile-ink",
    "tile-view",
    "tile-caption",
    "tile-formula",
    "tile-layout",
    "ink-canvas",
    "draw-grid",
    "paint-grid",
    "draw-operands",
    "draw-reads",
    "draw-rows",
    "draw-row-cells",
    "draw-row-outputs",
    "draw-row-card",
    "tile-equations",
    "draw-matrices",
    "draw-merge",
    "tile-ticks",
    "tile-tick-places",
    "tile-figure",
    "fit",
    "tile-fit",
    "texts",
    "main",
)

STYLES = ("player.css", "tiles.css")

SHOWN_KEYS = ("player.", "caption.", "phase.", "algorithm.")


def script() -> str:
    """Return the player's JavaScript: every file of ``js/`` inside one function."""
    parts = [(HERE / "js" / f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    return "(function () {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"


def player_strings() -> dict[str, dict[str, str]]:
    """Return the strings that the player prints, by language and key."""
    return {
        language: {k: v for k, v in table(language).items() if k.startswith(SHOWN_KEYS)}
        for language in LANGUAGES
    }


class Player(gr.HTML):
    """Draw what `player_value` returned. Never an event input: that would upload the trace."""

    def __init__(self, value: dict | None = None, **settings: object) -> None:
        """Show ``value``; ``settings`` go to `gr.HTML` (``elem_id``, ``visible`` and such)."""
        super().__init__(
            value,
            html_template=(HERE / "player.html").read_text("utf-8"),
            css_template="".join((HERE / name).read_text("utf-8") for name in STYLES),
            js_on_load=script(),
            apply_default_css=False,
            strings=player_strings(),
            **settings,
        )

    def __getattr__(self, name: str) -> NoReturn:
        """Have no events of its own: Gradio would search the script for one at every look."""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def postprocess(self, value: dict | None) -> dict | None:
        """Send the figures as one JSON string: Gradio would copy a long trace piece by piece."""
        if not value or isinstance(value.get("figures"), str):
            return value
        packed = json.dumps(value["figures"], separators=(",", ":"), allow_nan=False)
        return {**value, "figures": packed}

    def get_block_name(self) -> str:
        """Name the front end's component, which is the plain HTML one."""
        return "html"


def player_value(
    entries_and_traces: Sequence[tuple[Algorithm, Trace]],
    *,
    language: str,
    link: Mapping[str, object],
    step: int = 0,
    run_id: str,
    keep_step: bool = False,
) -> dict:
    """Return the one JSON value that the player draws: one figure, or two to compare.

    link        query parameters of this state, without ``step``; one that is None is taken out
    step        where to start; out of range is clamped in the page
    run_id      different for every value, or the page does not notice the change
    keep_step   stay where the viewer is, if the new value has the same structure
    """
    return {
        "run": run_id,
        "lang": language,
        "link": dict(link),
        "step": step,
        "keep_step": keep_step,
        "figures": [_figure(entry, trace) for entry, trace in entries_and_traces],
    }


def _figure(entry: Algorithm, trace: Trace) -> dict:
    """Return one algorithm's run: what it is, what it did, what it moved, how right it was."""
    itemsize = ITEMSIZE[trace.dtype]
    shape = entry.shape(trace.sizes, itemsize)
    return {
        "algorithm": _algorithm_json(entry),
        "trace": packed_trace(trace) if entry.grid else trace.as_json(),
        "traffic": {"this": entry.hbm_bytes(shape), "naive": entry.naive_bytes(shape)},
        "itemsize": itemsize,
        "reference_error": reference_error(entry, trace),
    }


def _algorithm_json(entry: Algorithm) -> dict:
    """Return the parts of an entry that the page prints."""
    return {
        "name": entry.name,
        "panels": list(entry.panels),
        "on_chip": list(entry.on_chip),
        "inputs": list(entry.inputs),
        "draws": dict(entry.draws),
        "output": entry.output,
        "n_passes": entry.n_passes,
        "whole_row": entry.whole_row,
        "problem": entry.problem,
        "grid": _grid_json(entry.grid) if entry.grid else None,
        "axes": dict(entry.axes),
        "matrices": list(entry.matrices),
        "stanzas": [
            {
                "phase": stanza.phase,
                "pass": stanza.pass_index,
                "lines": [
                    {"target": line.target, "expression": line.expression, "later": line.later}
                    for line in stanza.lines
                ],
            }
            for stanza in entry.stanzas
        ],
        "source": {"file": f"{entry.name}/kernel.py", "lines": source_lines(entry)},
    }


def _grid_json(grid: Grid) -> dict:
    """Return the tile grid as JSON has it: lists, no tuples."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(grid).items()
    }


def source_lines(entry: Algorithm) -> list[list]:
    """Return the kernel's lines as [number, code, phase, pass]; none where there is no kernel."""
    if not (entry.folder / "kernel.py").exists():
        return []
    return [list(line) for line in entry.source]


def reference_error(entry: Algorithm, trace: Trace) -> object:
    """Return the largest |output − float64 reference| where both are finite, or None if nowhere."""
    wanted = np.asarray(reference_for(entry, trace)[entry.output], np.float64).ravel()
    got = np.asarray(trace.outputs[entry.output], np.float64).ravel()
    finite = np.isfinite(wanted) & np.isfinite(got)
    if not finite.any():
        return None
    worst = float(np.abs(wanted[finite] - got[finite]).max())
    return encode(worst) if math.isfinite(worst) else None
