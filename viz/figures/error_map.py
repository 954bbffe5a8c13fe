"""Where the errors are: maps of an output's distance from a reference, all on one scale.

The scale is six tints of the error colour. Tints are steps, not a ramp, so that a reader can name
the band a cell is in; a cell that has no number is crossed out instead of coloured.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from benchmarks.results import CheckResult, OutputCheck
from viz.figures import base
from viz.figures.hatching import marks
from viz.figures.numerals import ulps

MAPS = ("kernel", "torch", "between")
EDGES = (0.5, 1.0, 2.0, 4.0, 8.0)  # ULPs of the row's largest output
ALPHAS = (0.0, 0.11, 0.27, 0.48, 0.74, 1.0)
TINTS = tuple(f"rgba(217,45,32,{alpha:g})" for alpha in ALPHAS)

MAP_HEIGHT = 202
MIN_ROW_HEIGHT, MAX_ROW_HEIGHT = 2.0, 30.0
NOMINAL_WIDTH = 262  # pixels, for the hatching's slope; a map is as wide as its column
LEFT, TOP, BOTTOM, RIGHT = 34, 5, 5, 5


def bands(errors: np.ndarray) -> np.ndarray:
    """Return the tint of every error: 0 below 0.5 ULP … 5 from 8 ULPs on; -1 for NaN."""
    found = np.digitize(errors, EDGES)
    return np.where(np.isnan(errors), -1, found)


def plot_height(n_rows: int) -> int:
    """Return the height of the cells in pixels: a single row is a strip, not a wall."""
    return int(min(MAP_HEIGHT, max(n_rows * MAX_ROW_HEIGHT, 20)))


def error_map(found: CheckResult | OutputCheck, which: str, row: int, n_rows: int) -> go.Figure:
    """Draw one of `MAPS`, of ``n_rows`` rows, with ``row`` outlined.

    Every cell is the largest error of its ``map_step`` rows and columns; its number is in
    ``text``, as a reader sees it on hovering.
    """
    errors = np.asarray(found.maps[which], dtype=np.float64)
    n_lines, n_cols = errors.shape
    height = plot_height(n_lines)
    cell = (NOMINAL_WIDTH / n_cols, height / n_lines)
    step = found.map_step[0]
    crossed = marked(np.isnan(errors), *cell, base.ERROR)
    values, texts = row_ticks(row, n_rows, step, cell[1])
    return base.figure(
        [tinted(errors)],
        height + TOP + BOTTOM,
        (LEFT, RIGHT, TOP, BOTTOM),
        shapes=[frame(), *crossed, ring(row // step, n_lines, height)],
        xaxis=base.axis(range=[-0.5, n_cols - 0.5], showticklabels=False),
        yaxis=base.axis(range=[n_lines - 0.5, -0.5], tickvals=values, ticktext=texts),
    )


def tinted(errors: np.ndarray) -> go.Heatmap:
    """Return the cells of ``errors``, each in its tint; NaN has none."""
    return go.Heatmap(
        z=[[None if band < 0 else int(band) for band in line] for line in bands(errors)],
        text=[[ulps(value) for value in line] for line in errors],
        zmin=-0.5,
        zmax=5.5,
        colorscale=_steps(),
        showscale=False,
        hoverongaps=False,
        hovertemplate="%{text} ULP<extra></extra>",
    )


def _steps() -> list[list]:
    """Return the colour scale: each tint from one edge to the next, without a ramp between."""
    stops = []
    for k, tint in enumerate(TINTS):
        stops += [[k / len(TINTS), tint], [(k + 1) / len(TINTS), tint]]
    return stops


def frame() -> dict:
    """Return the map's outline: cells without an error have no colour of their own."""
    return {
        "type": "rect", "xref": "paper", "yref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 1,
        "line": {"color": base.FRAME, "width": 1},
    }  # fmt: skip


def ring(line: int, n_lines: int, height: int) -> dict:
    """Return the ring round a chosen line of cells, never so thin that it hides what it rings."""
    middle = 1 - (line + 0.5) / n_lines
    half = max(height / n_lines / 2 + 2, 5) / height
    return {
        "type": "rect", "xref": "paper", "x0": -0.012, "x1": 1.012,
        "yref": "paper", "y0": middle - half, "y1": middle + half,
        "line": {"color": base.FOCUS, "width": 2},
    }  # fmt: skip


def marked(cells: np.ndarray, cell_width: float, cell_height: float, colour: str) -> list[dict]:
    """Return the shape that marks cells without a number, if there are any."""
    path = marks(cells, cell_width, cell_height)
    if not path:
        return []
    return [{"type": "path", "path": path, "line": {"color": colour, "width": 1.2}}]


def row_ticks(
    row: int, n_rows: int, step: int, cell_height: float, first: int = 0
) -> tuple[list, list]:
    """Return where to write row numbers, and the numbers; the chosen one bold and in orange.

    The map's ``n_rows`` rows are numbered from ``first``.
    """
    chosen = (row - first) // step
    values, texts = [chosen], [f'<b><span style="color:{base.FOCUS}">{row}</span></b>']
    for tick in base.ticks(first, first + n_rows - 1, most=5) or [first]:
        place = (int(tick) - first) // step
        if tick == int(tick) and abs(place - chosen) * cell_height >= 15:
            values.append(place)
            texts.append(str(int(tick)))
    return values, texts
