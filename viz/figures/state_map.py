"""How far the kernel's captured state is from its mirror's, over all rows and blocks of one head.

One map a field, in the tints of the error maps. A tile that the kernel skips has no state: it is
hatched in the neutral ink. A state that is finite on one side only is crossed out in the error's.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from benchmarks.results import TileCheckResult
from viz.figures import base
from viz.figures.error_map import (
    LEFT,
    RIGHT,
    TOP,
    frame,
    marked,
    plot_height,
    ring,
    row_ticks,
    tinted,
)

FOOT = 20  # block numbers
NOMINAL_WIDTH = 160  # pixels, for the hatching's slope


def state_map(result: TileCheckResult, field: str, row: int) -> go.Figure:
    """Draw one field's distances in ULPs, rows down and blocks across, with ``row`` ringed."""
    apart = np.asarray(result.state_maps[field], dtype=np.float64)
    n_lines, n_cols = apart.shape
    height = plot_height(n_lines)
    cell = (NOMINAL_WIDTH / n_cols, height / n_lines)
    step, first = result.state_step[0], result.state_row
    chosen = min(max(row, first), first + n_lines * step - 1)
    values, texts = row_ticks(chosen, n_lines * step, step, cell[1], first)
    blocks = [tick for tick in base.ticks(0, n_cols - 1, most=4) or [0] if tick == int(tick)]
    return base.figure(
        [tinted(np.where(np.isinf(apart), np.nan, apart))],
        height + TOP + FOOT,
        (LEFT, RIGHT, TOP, FOOT),
        shapes=[
            frame(),
            *marked(np.isnan(apart), *cell, base.NEUTRAL),
            *marked(np.isinf(apart), *cell, base.ERROR),
            ring((chosen - first) // step, n_lines, height),
        ],
        xaxis=base.axis(
            range=[-0.5, n_cols - 0.5],
            tickvals=blocks,
            ticktext=[str(int(tick) * result.state_step[1]) for tick in blocks],
        ),
        yaxis=base.axis(range=[n_lines - 0.5, -0.5], tickvals=values, ticktext=texts),
    )
