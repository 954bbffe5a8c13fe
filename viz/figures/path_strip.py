"""The strip under a sweep's axis: which path our kernel took, in the columns of its points."""

from __future__ import annotations

import math
from typing import NamedTuple

import plotly.graph_objects as go

from viz.figures import base

STRIP_PX = 30  # what it adds to a figure, of which the bars are most
BAR_PX = 28
FOOT_PX = 4  # below it, to the figure's end
GROUNDS = ("rgba(127,127,138,0.16)", "rgba(127,127,138,0.3)")  # in turn: neighbours differ
DIVIDER_PX = 2  # of the page's ground
PHONE_PX, LETTER_PX = 186, 6.2  # the axis's length on a phone, and a letter of a name
GAP = 0.004  # of the axis's length, between two stretches


class Stretch(NamedTuple):
    """Neighbouring values that took one path: from, to, and where the next one's values begin.

    ``before`` and ``after`` are the nearest values outside, or None at an end of the axis.
    """

    path: str
    first: int
    last: int
    before: int | None
    after: int | None
    told: str


def strip_trace(stretches: tuple[Stretch, ...], across: tuple[float, float]) -> go.Bar:
    """Return a bar a stretch, with its name, which may be longer than a narrow bar."""
    edges = [_edges(one, across) for one in stretches]
    return go.Bar(
        orientation="h",
        yaxis="y2",
        y=[0.5] * len(edges),
        width=1,
        base=[left for left, _ in edges],
        x=[right - left for left, right in edges],
        marker={
            "color": [GROUNDS[k % len(GROUNDS)] for k in range(len(edges))],
            "line": {"color": base.PAGE, "width": DIVIDER_PX},
        },
        text=_names(stretches, edges, across),
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        textfont={"family": base.SANS, "size": 12},
        customdata=[one.told for one in stretches],
        hovertemplate="%{customdata}<extra></extra>",
        cliponaxis=False,
    )


def _names(stretches: tuple[Stretch, ...], edges: list, across: tuple) -> list[str]:
    """Return the names; one that would touch a longer stretch's on a phone is read by pointer."""
    per_px = (across[1] - across[0]) / PHONE_PX
    ends = [(math.log10(left) / per_px, math.log10(right) / per_px) for left, right in edges]
    kept: dict[int, tuple[float, float]] = {}
    for k in sorted(range(len(ends)), key=lambda k: ends[k][0] - ends[k][1]):
        middle, half = sum(ends[k]) / 2, LETTER_PX * len(stretches[k].path) / 2
        if all(abs(middle - other) > half + more for other, more in kept.values()):
            kept[k] = middle, half
    return [one.path if k in kept else "" for k, one in enumerate(stretches)]


def _edges(one: Stretch, across: tuple[float, float]) -> tuple[float, float]:
    """Return a bar's ends: halfway to its neighbours, or a little beyond the first or last point.

    Within the axis, since plotly hides the name of a bar that ends outside.
    """
    room, gap = 0.35 * 0.02 * (across[1] - across[0]), GAP / 2 * (across[1] - across[0])
    left, right = math.log10(one.first), math.log10(one.last)
    if one.first == one.last and one.before is None and one.after is None:
        room = 0.4 * (across[1] - across[0])
    low = left - room if one.before is None else (left + math.log10(one.before)) / 2 + gap
    high = right + room if one.after is None else (right + math.log10(one.after)) / 2 - gap
    return 10**low, 10**high


def strip_layout(plot_px: int, numbers_px: int, name: str) -> tuple[list[float], dict]:
    """Return the chart's part of the height, and the strip's axis, its name and its settings."""
    whole = plot_px + numbers_px + STRIP_PX - FOOT_PX
    font = {"family": base.SANS, "size": 13}
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "middle"}
    middle = BAR_PX / 2 / whole
    return [1 - plot_px / whole, 1.0], {
        "yaxis2": base.axis(domain=[0.0, BAR_PX / whole], range=[0, 1], showticklabels=False),
        "bargap": 0,
        "annotations": [base.label(name, 1, middle, xshift=8, font=font, **place)],
    }
