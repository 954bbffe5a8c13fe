"""What is said of one point of a chart: a dotted line from it, and words at the line's end."""

from __future__ import annotations

import math
from typing import NamedTuple

import plotly.graph_objects as go

from viz.figures import base

ROOM = (0.4, 0.22)  # of the chart's width and height: what the words take


class Remark(NamedTuple):
    """A point where a line surprises, and what is said of it."""

    x: int
    y: float
    words: str


def remark_parts(
    remark: Remark, dots: list, across: tuple, heights: tuple, is_log: bool
) -> tuple[go.Scatter, dict]:
    """Return the dotted line and the words; ``dots`` have x and y, axes are as they are drawn.

    The words stand at the foot, on the side that has more room, or at the top where lines run low.
    """
    (left, right), (low, high) = across, heights
    at = math.log10(remark.x)
    is_left = at < (left + right) / 2
    begin, end = sorted((at, at + ROOM[0] * (right - left) * (1 if is_left else -1)))
    beside = [dot for dot in dots if begin <= math.log10(dot.x) <= end and not math.isnan(dot.y)]
    free = low + ROOM[1] * (high - low)
    is_above = any((math.log10(dot.y) if is_log else dot.y) < free for dot in beside)
    to = high if is_above else low
    line = go.Scatter(
        x=[remark.x, remark.x],
        y=[remark.y, 10**to if is_log else to],
        mode="lines",
        line={"color": base.NEUTRAL, "width": 1.2, "dash": "dot"},
        hoverinfo="skip",
    )
    side = "left" if is_left else "right"
    words = base.label(
        remark.words,
        at,
        high if is_above else low + 0.02 * (high - low),
        xanchor=side,
        align=side,
        xshift=6 if is_left else -6,
        yanchor="top" if is_above else "bottom",
        font={"family": base.SANS, "size": 13.5},
    )
    return line, words
