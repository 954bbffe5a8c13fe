"""Words in a chart of lines: the lines' names at their ends, and what is said of one point."""

from __future__ import annotations

import math
from typing import NamedTuple

import plotly.graph_objects as go

from viz.figures import base
from viz.figures.memory import LABEL_PX, apart

FONT = {"family": base.SANS, "size": 13.5}
ROOM = (0.4, 0.22)  # of the chart's width and height: what the words take


class Remark(NamedTuple):
    """A point where a line surprises, and what is said of it."""

    x: int
    y: float
    words: str


class End(NamedTuple):
    """A line's last point, and its name."""

    x: int
    y: float
    words: str


def end_names(
    ends: list[End], across: tuple, heights: tuple, is_log: bool, plot_px: int
) -> list[dict]:
    """Return the names, each beside its line's end; those at one size are moved apart."""
    low, high = heights
    per_px, notes = (high - low) / plot_px, []
    last = max((end.x for end in ends), default=0)
    for x in dict.fromkeys(end.x for end in ends):
        here = [end for end in ends if end.x == x]
        at = [math.log10(end.y) if is_log else end.y for end in here]
        wanted = [(height - low) / per_px for height in at]
        placed = apart(wanted, min(LABEL_PX, plot_px / len(here)), plot_px)
        place, up = _beside(x, x == last, across)
        for end, height, before, to in zip(here, at, wanted, placed):
            shift = round(to - before + up, 1)
            notes.append(base.label(end.words, y=height, yshift=shift, font=FONT, **place))
    return notes


def _beside(x: int, is_last: bool, across: tuple) -> tuple[dict, int]:
    """Return where names of lines that end at ``x`` stand, and by how much over their ends.

    The last stand in the margin. Elsewhere other lines go on, behind the names; one without room
    to the right stands over its line.
    """
    left, right = across
    if is_last:
        return {"x": right, "xanchor": "left", "yanchor": "middle", "xshift": 8}, 0
    place = {"x": math.log10(x), "yanchor": "middle", "bgcolor": base.HALO}
    if math.log10(x) > (left + right) / 2:
        return {**place, "xanchor": "right", "xshift": 4}, LABEL_PX - 2
    return {**place, "xanchor": "left", "xshift": 8}, 0


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
        font=FONT,
        # Lines and the grid go on behind the words.
        bgcolor=base.PAGE,
    )
    return line, words
