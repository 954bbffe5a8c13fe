"""A sweep as lines over one size: the kernel under study in focus, others told apart by mark.

A dot is a median, the band around a line is p20 to p80. Lines are named at their ends; where a
provider has no time its line breaks. Under the numbers of the axis a strip names the path that our
kernel took, so that a path lies under its points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import plotly.graph_objects as go

from viz.figures import base
from viz.figures.path_strip import FOOT_PX, STRIP_PX, Stretch, strip_layout, strip_trace
from viz.figures.remark import End, Remark, end_names, remark_parts

MARGIN = (56, 116, 26, 30)  # left, right, top, bottom
PLOT_PX = 344
LONG_NAME = 4  # letters: more of an axis's name have no room left of its numbers
STUDIED_WIDTH = 3.5
TICK_ROOM = 0.19  # of the width: values closer than this to the one before have no number
EARLIER = 0.5  # opacity of a sweep that is laid under the newest
BAND = 0.24  # opacity of what lies between p20 and p80

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
    "load_ca": ("dash", "triangle-up"),
    "load_cg": ("dot", "triangle-down"),
    "store_wb": ("dashdot", "square"),
    "store_cs": ("longdash", "diamond-open"),
    "ca_wb": ("dot", "cross-open"),
    "ca_cs": ("dash", "triangle-left"),
    "guess": ("dash", "circle-cross-open"),
}
STUDIED, CEILING, GUESS = "ours", "copy", "guess"

# By earlier sweep, the first first: what tells its lines from other sweeps', and our own's marks.
EARLIER_DASHES = ("dash", "dot", "dashdot")
EARLIER_MARKS = ("circle-open", "square-open", "diamond-open")


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
    sweep: int = 1


def speed_figure(
    lines: list[Line],
    axis: str,
    unit: str,
    stretches: tuple[Stretch, ...] = (),
    strip_name: str = "",
    remark: Remark | None = None,
):
    """Draw the lines over ``axis``, a size on a log scale; times are on a log scale too.

    ``unit`` stands over the upright axis, ``stretches`` in the strip under the lying one.
    """
    drawn = sorted((line for line in lines if line.dots), key=_importance)
    is_log = unit.startswith("ms")
    values = sorted({dot.x for line in drawn for dot in line.dots})
    low, high = _range([y for line in drawn for y in _heights_of(line)], is_log)
    left, right = _width(values)
    traces = [band for line in drawn for band in _bands(line)]
    if remark:
        dots = [dot for line in drawn for dot in line.dots]
        drop, said = remark_parts(remark, dots, (left, right), (low, high), is_log)
        traces.append(drop)
    traces += [_trace(line) for line in drawn]
    notes = [*end_names(_ends(drawn), (left, right), (low, high), is_log, PLOT_PX), _unit(unit)]
    notes += [said] if remark else []
    domain, height, strip = [0.0, 1.0], PLOT_PX + MARGIN[2] + MARGIN[3], {}
    if stretches:
        traces.append(strip_trace(stretches, (left, right)))
        domain, strip = strip_layout(PLOT_PX, MARGIN[3], strip_name)
        height += STRIP_PX
        notes += strip.pop("annotations")
    notes.append(_axis_name(axis, domain[0]))
    return base.figure(
        traces,
        height,
        (*MARGIN[:3], FOOT_PX) if stretches else MARGIN,
        annotations=notes,
        xaxis=base.axis(
            type="log",
            range=[left, right],
            tickvals=numbered(values, right - left),
            ticktext=[str(value) for value in numbered(values, right - left)],
            tickangle=0,
            showline=True,
            linecolor=base.FRAME,
            anchor="y",
        ),
        yaxis=base.axis(
            **_heights(low, high, is_log), showgrid=True, gridcolor=base.HAIR, domain=domain
        ),
        **strip,
    )


def _importance(line: Line) -> tuple[bool, bool, bool]:
    """Return what puts the kernel under study last, so on top; a guess lies over all."""
    return line.provider == GUESS, not line.is_earlier, line.provider == STUDIED


def _heights_of(line: Line) -> list[float]:
    """Return every height that a line needs room for."""
    dots = [dot for dot in line.dots if not math.isnan(dot.y)]
    if line.provider == CEILING:
        return [dot.y for dot in dots]
    return [y for dot in dots for y in (dot.y, dot.low, dot.high)]


def _range(heights: list[float], is_log: bool) -> tuple[float, float]:
    """Return the range of the axis: from 0, or in powers of ten."""
    if is_log:
        return math.log10(min(heights, default=1)) - 0.1, math.log10(max(heights, default=1)) + 0.1
    return 0.0, 1.06 * max(heights, default=1.0)


def _heights(low: float, high: float, is_log: bool) -> dict:
    """Return the settings of the upright axis."""
    if not is_log:
        at = base.ticks(low, high, 5)
        return {"range": [low, high], "tickvals": at, "ticktext": [_whole(tick) for tick in at]}
    powers = range(math.floor(low), math.ceil(high) + 1)
    at = [k * 10.0**p for p in powers for k in (1, 2, 5) if low <= math.log10(k) + p <= high]
    ticks = {"tickvals": at, "ticktext": [_whole(tick) for tick in at]}
    return {"type": "log", "range": [low, high], **ticks}


def _whole(tick: float) -> str:
    """Return a tick's number in full, never as a power of ten."""
    return f"{tick:.0f}" if tick >= 1000 else f"{tick:g}"


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


def _colour(line: Line) -> str:
    """Return a line's colour: it says only which kernel is under study."""
    if line.provider == STUDIED:
        return base.FOCUS
    return base.INK if line.provider in (CEILING, GUESS) else base.NEUTRAL


def _style(line: Line) -> tuple[str, str]:
    """Return a line's dash and mark. An earlier sweep's dash is its own, the same for its lines."""
    dash, symbol = STYLES.get(line.provider, ("solid", "circle"))
    if not line.is_earlier:
        return dash, symbol
    k = (line.sweep - 1) % len(EARLIER_DASHES)
    return EARLIER_DASHES[k], EARLIER_MARKS[k] if line.provider == STUDIED else symbol


def _trace(line: Line) -> go.Scatter:
    """Return a line with its marks; the spread of a dot without neighbours is a bar."""
    studied, ceiling = line.provider == STUDIED, line.provider == CEILING
    colour = _colour(line)
    dash, symbol = _style(line)
    width = STUDIED_WIDTH if studied and not line.is_earlier else 1 if ceiling else 1.8
    alone = _alone(line)
    reach = [(dot.high - dot.y, dot.y - dot.low) if dot.x in alone else (0, 0) for dot in line.dots]
    return go.Scatter(
        x=[dot.x for dot in line.dots],
        y=[None if math.isnan(dot.y) else dot.y for dot in line.dots],
        mode="lines" if ceiling and len(line.dots) > 1 else "lines+markers",
        connectgaps=False,
        opacity=EARLIER if line.is_earlier else 1,
        line={"color": colour, "width": width, "dash": dash},
        marker={
            "color": colour,
            "symbol": symbol,
            "size": 16 if line.provider == GUESS else 9 if studied else 8,
            "line": {"color": colour, "width": 1.6 if symbol.endswith("open") else 0},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [up for up, _ in reach],
            "arrayminus": [down for _, down in reach],
            "color": colour,
            "thickness": 1.2,
            "width": 3,
            "visible": bool(alone),
        },
        text=[dot.told for dot in line.dots],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _stretches(line: Line) -> list[list[Dot]]:
    """Return the dots that are joined, stretch by stretch; a copy and a guess have no spread."""
    found: list[list[Dot]] = [[]]
    for dot in line.dots if line.provider not in (CEILING, GUESS) else ():
        if math.isnan(dot.y):
            found.append([])
        else:
            found[-1].append(dot)
    return [dots for dots in found if dots]


def _alone(line: Line) -> set[int]:
    """Return where dots have no neighbour, so that no band can be drawn."""
    return {dots[0].x for dots in _stretches(line) if len(dots) == 1}


def _bands(line: Line) -> list[go.Scatter]:
    """Return p20 to p80 as an area without an edge, for every stretch of a line."""
    red, green, blue = (int(_colour(line)[k : k + 2], 16) for k in (1, 3, 5))
    opacity = BAND * (EARLIER if line.is_earlier else 1)
    return [
        go.Scatter(
            x=[*(dot.x for dot in dots), *(dot.x for dot in reversed(dots))],
            y=[*(dot.high for dot in dots), *(dot.low for dot in reversed(dots))],
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillcolor=f"rgba({red},{green},{blue},{opacity:.2f})",
            hoverinfo="skip",
            cliponaxis=False,
        )
        for dots in _stretches(line)
        if len(dots) > 1
    ]


def _ends(lines: list[Line]) -> list[End]:
    """Return where the lines end, and their names."""
    found = []
    for line in lines:
        dots = [dot for dot in line.dots if not math.isnan(dot.y)]
        if dots and line.name:
            bold = f'<b><span style="color:{base.FOCUS}">{line.name}</span></b>'
            words = bold if line.provider == STUDIED else line.name
            found.append(End(dots[-1].x, dots[-1].y, words))
    return found


def _unit(unit: str) -> dict:
    """Return what the upright axis counts, over it."""
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
    return base.label(unit, 0, 1, xshift=-MARGIN[0] + 2, yshift=6, **place)


def _axis_name(axis: str, foot: float) -> dict:
    """Return the name of the lying axis, left of its numbers, or right of them if it is long."""
    place = {"xref": "paper", "yref": "paper", "yanchor": "top", "yshift": -5}
    if len(axis) > LONG_NAME:
        return base.label(axis, 1, foot, xanchor="left", xshift=26, **place)
    return base.label(axis, 0, foot, xanchor="right", xshift=-14, **place)
