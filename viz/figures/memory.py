"""Attention's memory and traffic over its length T: two charts, log on both axes.

On such axes O(T) is a line of slope 1 and O(T^2) one of slope 2. What a formula predicts is dashed,
what a GPU measured is a mark, and what is counted is a solid line: none can be taken for another.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import plotly.graph_objects as go

from benchmarks.memory_results import MemoryLine, Traffic
from viz.figures import base
from viz.figures.sizes import size
from viz.locales import text

HEIGHT = 330
MARGIN = (62, 112, 12, 30)  # left, right, top, bottom
PLOT_PX = HEIGHT - MARGIN[2] - MARGIN[3]
LABEL_PX = 17  # the least distance between the middles of two labels
STUDIED_WIDTH = 3.5
TORCH_SYMBOLS = ("diamond-open", "triangle-up-open")


class End(NamedTuple):
    """A line's label: where the line ends, if it is the one under study, if it ends too early."""

    x: float
    y: float
    words: str
    studied: bool = False
    early: bool = False


def memory_figure(lines: tuple[MemoryLine, ...], lengths: tuple[int, ...], language: str):
    """Draw peak memory: dashed by formula, marks where measured, the fused kernel in focus."""
    traces, ends, n_torch = [], [], 0
    for line in sorted(lines, key=lambda line: line.role == "fused"):
        studied = line.role == "fused"
        colour = base.FOCUS if studied else base.NEUTRAL
        points = {p.length: p.peak_bytes for p in line.measured if p and p.peak_bytes is not None}
        if line.predicted:
            traces.append(_predicted(line, lengths, colour, studied, language))
        if points:
            symbol = {"fused": "circle", "stages": "square"}.get(line.role, "")
            symbol = symbol or TORCH_SYMBOLS[n_torch % len(TORCH_SYMBOLS)]
            # A line that skips a length breaks there.
            ys = [points.get(length) for length in lengths]
            traces.append(_measured(line, lengths, ys, colour, symbol, language))
        n_torch += line.role == "torch"
        if line.predicted or points:
            last = lengths[-1] if line.predicted else max(points)
            at = points[last] if last in points else line.predicted[-1]
            words = text(language, f"memory.line.{line.provider}")
            ends.append(End(last, at, words, studied, last < lengths[-1]))
    return _chart(traces, ends, lengths)


def _predicted(line: MemoryLine, lengths: tuple, colour: str, studied: bool, language: str):
    """Return what the formula says, dashed."""
    said = text(language, "memory.predicted")
    return go.Scatter(
        x=list(lengths),
        y=list(line.predicted),
        mode="lines",
        line={"color": colour, "width": STUDIED_WIDTH if studied else 2, "dash": "dash"},
        text=[f"T {n}: {size(b)}, {said}" for n, b in zip(lengths, line.predicted)],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _measured(line: MemoryLine, lengths: tuple, ys: list, colour: str, symbol: str, language: str):
    """Return the measured points: marks, joined by a thin line where there is no formula."""
    said = text(language, "memory.measured")
    return go.Scatter(
        x=list(lengths),
        y=ys,
        mode="markers" if line.predicted else "lines+markers",
        connectgaps=False,
        line={"color": colour, "width": 1.5},
        marker={
            "color": colour,
            "size": 14 if symbol.endswith("open") else 9,  # seen around the marks that cover it
            "symbol": symbol,
            "line": {"color": colour, "width": 2 if symbol.endswith("open") else 0},
        },
        text=["" if b is None else f"T {n}: {size(b)}, {said}" for n, b in zip(lengths, ys)],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def traffic_figure(traffic: Traffic, language: str) -> go.Figure:
    """Draw what is read of K and V for every BLOCK_M, beside S and P, and K and V read once."""
    lengths = traffic.case.lengths
    last = lengths[-1]
    once = text(language, "memory.line.once")
    traces = [_counted(lengths, traffic.once_bytes, once, base.INK, 1)]
    ends = [End(last, traffic.once_bytes[-1], once)]
    stages = text(language, "memory.line.sp")
    traces.append(_counted(lengths, traffic.sp_bytes, stages, base.NEUTRAL, 2, "square"))
    for line in sorted(traffic.lines, key=lambda line: line.block_m == traffic.studied):
        studied = line.block_m == traffic.studied
        named = f"BLOCK_M {line.block_m}"
        traces.append(
            _counted(
                lengths,
                line.kv_bytes,
                named,
                base.FOCUS if studied else base.NEUTRAL,
                STUDIED_WIDTH if studied else 1.5,
                "circle" if studied else None,
            )
        )
    # Lines that lie on one another share a label.
    for line in traffic.lines:
        named = f"BLOCK_M {line.block_m}"
        studied = line.block_m == traffic.studied
        if line.kv_bytes[-1] == traffic.sp_bytes[-1]:
            named, stages = f"{line.block_m} = {stages}", ""
        ends.append(End(last, line.kv_bytes[-1], named, studied))
    if stages:
        ends.append(End(last, traffic.sp_bytes[-1], stages))
    return _chart(traces, ends, lengths)


def _counted(lengths, values, named: str, colour: str, width: float, symbol: str | None = None):
    """Return a solid line of counted bytes."""
    return go.Scatter(
        x=list(lengths),
        y=list(values),
        mode="lines+markers" if symbol else "lines",
        line={"color": colour, "width": width},
        marker={"color": colour, "size": 8, "symbol": symbol or "circle"},
        text=[f"{named}, T {n}: {size(b)}" for n, b in zip(lengths, values)],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _chart(traces: list, ends: list[End], lengths: tuple) -> go.Figure:
    """Return the chart: full numbers under it, round sizes beside it, labels at the lines' ends."""
    values = [y for trace in traces for y in trace.y if y is not None]
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1
    ticks = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1)]
    first, last = math.log10(lengths[0]), math.log10(lengths[-1])
    shown = [length for k, length in enumerate(lengths) if (len(lengths) - 1 - k) % 2 == 0]
    return base.figure(
        traces,
        HEIGHT,
        MARGIN,
        annotations=[*_labels(ends, low, high), _axis_name()],
        xaxis=base.axis(
            type="log",
            range=[first - 0.02, last + 0.02],
            tickvals=shown,
            ticktext=[str(length) for length in shown],
            showline=True,
            linecolor=base.FRAME,
        ),
        yaxis=base.axis(
            type="log",
            range=[low, high],
            tickvals=ticks,
            ticktext=[size(tick).replace(".00", "").replace(".0", "") for tick in ticks],
            showgrid=True,
            gridcolor=base.HAIR,
        ),
    )


def _axis_name() -> dict:
    """Return the name of the axis, left of its numbers."""
    return base.label("T", 0, 0, xref="paper", yref="paper", xshift=-26, yshift=-5, yanchor="top")


def _labels(ends: list[End], low: float, high: float) -> list[dict]:
    """Return the lines' labels, moved apart where two would touch.

    A line that ends early has other lines to its right: its label stands above its end.
    """
    per_px = (high - low) / PLOT_PX
    early = [end for end in ends if end.early]
    ends = [end for end in ends if not end.early]
    wanted = [(math.log10(end.y) - low) / per_px for end in ends]
    placed = apart(wanted, LABEL_PX, PLOT_PX)
    beside = {"xanchor": "left", "yanchor": "middle", "xshift": 9}
    return [
        *(
            _label(end, yshift=round(to - at, 1), **beside)
            for end, at, to in zip(ends, wanted, placed)
        ),
        *(_label(end, xanchor="right", yanchor="bottom", xshift=-4, yshift=6) for end in early),
    ]


def _label(end: End, **where: object) -> dict:
    """Return one line's label."""
    words = end.words
    if end.studied:
        words = f'<b><span style="color:{base.FOCUS}">{words}</span></b>'
    font = {"family": base.SANS, "size": 13.5}
    return base.label(words, math.log10(end.x), math.log10(end.y), font=font, **where)


def apart(wanted: list[float], least: float, room: float) -> list[float]:
    """Return positions at least ``least`` apart, in the order of ``wanted`` and near them."""
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    placed = list(wanted)
    for before, k in zip(order, order[1:]):
        placed[k] = max(placed[k], placed[before] + least)
    over = placed[order[-1]] - room if order else 0
    if over > 0:
        placed[order[-1]] -= over
        for after, k in zip(order[::-1], order[-2::-1]):
            placed[k] = min(placed[k], placed[after] - least)
    return placed
