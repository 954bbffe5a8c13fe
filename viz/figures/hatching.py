"""Mark the cells of a map that have no number: one SVG path of crosses and hatching."""

from __future__ import annotations

import math

import numpy as np

SPACING = 6.0  # pixels between the strokes of a hatched region


def rectangles(cells: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Return (top, bottom, left, right) of the True regions of ``cells`` [rows, cols].

    Runs of a row, merged with equal runs of the row above; bottom and right are exclusive.
    """
    found: list[tuple[int, int, int, int]] = []
    open_runs: dict[tuple[int, int], int] = {}
    for row in range(len(cells) + 1):
        runs = set(_runs(cells[row])) if row < len(cells) else set()
        for run in [run for run in open_runs if run not in runs]:
            found.append((open_runs.pop(run), row, *run))
        for run in runs:
            open_runs.setdefault(run, row)
    return sorted(found)


def _runs(line: np.ndarray) -> list[tuple[int, int]]:
    """Return (start, stop) of every run of True in ``line``."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def marks(cells: np.ndarray, cell_width: float, cell_height: float) -> str:
    """Return the path, in data coordinates, that marks every True cell; "" if there is none.

    A single cell is crossed out if it is large enough, a region hatched; the hatching of all
    regions lies on one grid of strokes. The cell sizes are in pixels.
    """
    strokes: list[str] = []
    can_cross = min(cell_width, cell_height) >= SPACING
    for top, bottom, left, right in rectangles(cells):
        if can_cross and (bottom - top) * (right - left) == 1:
            strokes += _cross(top, left)
        else:
            strokes += _hatch(top, bottom, left, right, cell_width, cell_height)
    return " ".join(strokes)


def _cross(row: int, col: int) -> list[str]:
    """Return the two strokes of a cross inside one cell."""
    x0, x1, y0, y1 = col - 0.34, col + 0.34, row - 0.34, row + 0.34
    return [_stroke(x0, y0, x1, y1), _stroke(x0, y1, x1, y0)]


def _hatch(top: int, bottom: int, left: int, right: int, wide: float, high: float) -> list[str]:
    """Return rising strokes that fill a rectangle of cells, at most `SPACING` pixels apart."""
    x_low, x_high, y_low, y_high = left * wide, right * wide, top * high, bottom * high
    # A region smaller than the grid must not fall between two of its strokes.
    spacing = SPACING
    while spacing > (x_high - x_low + y_high - y_low) / 2 and spacing > 0.5:
        spacing /= 2
    strokes = []
    first, last = (x_low + y_low) / spacing, (x_high + y_high) / spacing
    for k in range(math.ceil(first), math.floor(last) + 1):
        # The stroke x + y = shift, cut off where it leaves the rectangle.
        shift = k * spacing
        x0, x1 = max(x_low, shift - y_high), min(x_high, shift - y_low)
        if x1 > x0:
            ends = (x0, shift - x0), (x1, shift - x1)
            (a, b), (c, d) = (((x / wide) - 0.5, (y / high) - 0.5) for x, y in ends)
            strokes.append(_stroke(a, b, c, d))
    return strokes


def _stroke(x0: float, y0: float, x1: float, y1: float) -> str:
    return f"M{x0:.5g},{y0:.5g}L{x1:.5g},{y1:.5g}"
