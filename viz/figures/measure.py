"""A sweep as lines over one size: the kernel under study in focus, others told apart by mark.

A dot is a median; its bar is p20 to p80. Lines are named at their ends; where a provider has no
time its line breaks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import plotly.graph_objects as go

from viz.figures import base
from viz.figures.memory import LABEL_PX, apart

HEIGHT = 400
MARGIN = (56, 116, 26, 30)  # left, right, top, bottom
PLOT_PX = HEIGHT - MARGIN[2] - MARGIN[3]
STUDIED_WIDTH = 3.5
TICK_ROOM = 0.19  # of the width: values closer than this to the one before have no number
EARLIER = 0.5  # opacity of a sweep that is laid under the newest

# By provider: dash and mark. Colour says only which kernel is under study.
STYLES = {
    "torch": ("solid", "square"),
    "compile": ("dash", "diamond-open"),
    "liger": ("dot", "star-triangle-up-open"),
    "quack": ("dashdot", "hexagon-open"),
    "rows": ("dot", "triangle-up"),
    "single": ("dash", "triangle-down"),
    "online": ("dashdot", "triangle-left"),
    "split": ("longdash", "triangle-right"),
    "safe": ("dot", "x-thin-open"),
    "blocks": ("dashdot", "triangle-left"),
    "three": ("dash", "triangle-up"),
    "flash": ("dot", "triangle-down"),
    "sdpa_flash": ("solid", "square"),
    "sdpa_cudnn": ("dash", "diamond-open"),
    "sdpa_efficient": ("dashdot", "triangle-up-open"),
    "sdpa_math": ("dot", "cross-open"),
}
STUDIED, CEILING = "ours", "copy"


class Dot(NamedTuple):
    """One point: its place, how far it spreads, and what a pointer reads."""

    x: int
    y: float
    low: float
    high: float
    told: str


class Line(NamedTuple):
    """One provider's dots, of a sweep that is the newest or lies under it."""

    provider: str
    name: str
    dots: list[Dot]
    is_earlier: bool = False


class Guess(NamedTuple):
    """What was guessed before the measurement was seen."""

    x: int
    y: float
    told: str


def speed_figure(lines: list[Line], axis: str, unit: str, guess: Guess | None = None):
    """Draw the lines over ``axis``, a size on a log scale; times are on a log scale too."""
    drawn = sorted((line for line in lines if line.dots), key=_importance)
    is_log = unit == "ms"
    values = sorted({dot.x for line in drawn for dot in line.dots})
    heights = [dot.y for line in drawn for dot in line.dots]
    if guess:
        heights.append(guess.y)
    low, high = _range(heights, is_log)
    left, right = _width(values)
    traces = [_trace(line) for line in drawn]
    if guess:
        traces.append(_guess(guess))
    return base.figure(
        traces,
        HEIGHT,
        MARGIN,
        annotations=[*_ends(drawn, (low, high), right, is_log), _unit(unit), _axis_name(axis)],
        xaxis=base.axis(
            type="log",
            range=[left, right],
            tickvals=numbered(values, right - left),
            ticktext=[str(value) for value in numbered(values, right - left)],
            tickangle=0,
            showline=True,
            linecolor=base.FRAME,
        ),
        yaxis=base.axis(
            **_heights(low, high, is_log),
            showgrid=True,
            gridcolor=base.HAIR,
        ),
    )


def _importance(line: Line) -> tuple[bool, bool]:
    """Return what puts the kernel under study last, so on top."""
    return not line.is_earlier, line.provider == STUDIED


def _range(heights: list[float], is_log: bool) -> tuple[float, float]:
    """Return the range of the axis: from 0, or in powers of ten."""
    if is_log:
        return math.log10(min(heights, default=1)) - 0.1, math.log10(max(heights, default=1)) + 0.1
    return 0.0, 1.06 * max(heights, default=1.0)


def _heights(low: float, high: float, is_log: bool) -> dict:
    """Return the settings of the upright axis."""
    if not is_log:
        at = base.ticks(low, high, 5)
        return {"range": [low, high], "tickvals": at, "ticktext": [f"{tick:g}" for tick in at]}
    powers = range(math.floor(low), math.ceil(high) + 1)
    at = [k * 10.0**p for p in powers for k in (1, 2, 5) if low <= math.log10(k) + p <= high]
    ticks = {"tickvals": at, "ticktext": [f"{tick:g}" for tick in at]}
    return {"type": "log", "range": [low, high], **ticks}


def _width(values: list[int]) -> tuple[float, float]:
    """Return the range of the lying axis, as powers of ten; one value alone has room around it."""
    if not values:
        return 0.0, 1.0
    left, right = math.log10(values[0]), math.log10(values[-1])
    room = 0.02 * (right - left) or 0.3
    return left - room, right + room


def numbered(values: list[int], width: float) -> list[int]:
    """Return the values that have a number under them: the last, and from there what has room."""
    kept: list[int] = []
    for value in reversed(values):
        if not kept or math.log10(kept[-1] / value) >= TICK_ROOM * width:
            kept.append(value)
    return kept[::-1]


def _trace(line: Line) -> go.Scatter:
    """Return a line with its marks and the spread of each."""
    studied, ceiling = line.provider == STUDIED, line.provider == CEILING
    colour = base.FOCUS if studied else base.INK if ceiling else base.NEUTRAL
    dash, symbol = STYLES.get(line.provider, ("solid", "circle"))
    width = STUDIED_WIDTH if studied and not line.is_earlier else 1 if ceiling else 1.8
    lengths = {"array": [dot.high - dot.y for dot in line.dots]}
    return go.Scatter(
        x=[dot.x for dot in line.dots],
        y=[None if math.isnan(dot.y) else dot.y for dot in line.dots],
        mode="lines" if ceiling and len(line.dots) > 1 else "lines+markers",
        connectgaps=False,
        opacity=EARLIER if line.is_earlier else 1,
        line={"color": colour, "width": width, "dash": "dot" if ceiling else dash},
        marker={
            "color": colour,
            "symbol": symbol,
            "size": 9 if studied else 8,
            "line": {"color": colour, "width": 1.6 if symbol.endswith("open") else 0},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": lengths["array"],
            "arrayminus": [dot.y - dot.low for dot in line.dots],
            "color": colour,
            "thickness": 1.2,
            "width": 3,
            "visible": not ceiling,
        },
        text=[dot.told for dot in line.dots],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _guess(guess: Guess) -> go.Scatter:
    """Return the guess: a ring with a cross, as nothing that was measured looks."""
    return go.Scatter(
        x=[guess.x],
        y=[guess.y],
        mode="markers",
        marker={
            "symbol": "circle-cross-open",
            "size": 18,
            "color": base.INK,
            "line": {"color": base.INK, "width": 2},
        },
        text=[guess.told],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _ends(lines: list[Line], heights: tuple, right: float, is_log: bool) -> list[dict]:
    """Return the lines' names, beside their ends; moved apart where two would touch."""
    ends = []
    for line in lines:
        dots = [dot for dot in line.dots if not math.isnan(dot.y)]
        if dots:
            ends.append((line, dots[-1]))
    low, high = heights
    per_px = (high - low) / PLOT_PX
    at = [math.log10(dot.y) if is_log else dot.y for _, dot in ends]
    wanted = [(height - low) / per_px for height in at]
    placed = apart(wanted, LABEL_PX, PLOT_PX)
    notes = []
    for (line, _), height, before, to in zip(ends, at, wanted, placed):
        words = line.name
        if line.provider == STUDIED:
            words = f'<b><span style="color:{base.FOCUS}">{words}</span></b>'
        font = {"family": base.SANS, "size": 13.5}
        place = {"xanchor": "left", "yanchor": "middle", "xshift": 8}
        place["yshift"] = round(to - before, 1)
        notes.append(base.label(words, right, height, font=font, **place))
    return notes


def _unit(unit: str) -> dict:
    """Return what the upright axis counts, over it."""
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
    return base.label(unit, 0, 1, xshift=-MARGIN[0] + 2, yshift=6, **place)


def _axis_name(axis: str) -> dict:
    """Return the name of the lying axis, left of its numbers."""
    place = {"xref": "paper", "yref": "paper", "yanchor": "top", "xanchor": "right"}
    return base.label(axis, 0, 0, xshift=-14, yshift=-5, **place)
