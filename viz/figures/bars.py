"""Errors by place: one bar for each head, or for each block of rows, in ULPs from 0 up.

Labels stand at the bars' end, so there is no legend. Many heads are drawn as groups, each at its
largest; a place where something is finite on one side only has a cross instead of a bar.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from benchmarks.results import OutputCheck
from viz.figures import base
from viz.figures.numerals import ulps
from viz.figures.state import groups
from viz.locales import text

HEIGHT = 132
LEFT, RIGHT, TOP, FOOT = 40, 58, 20, 22
PLOT = HEIGHT - TOP - FOOT
MAX_BARS = 48
LABEL_GAP = 17  # pixels that two labels at the end are at least apart


def by_head(output: OutputCheck, language: str) -> go.Figure:
    """Draw the kernel's and the rival's largest error of each head."""
    return _bars(dict(output.by_head), language)


def by_block(output: OutputCheck, language: str) -> go.Figure:
    """Draw the kernel's largest error of each block of rows, over all heads."""
    return _bars({"kernel": output.by_block}, language)


def _bars(errors: dict[str, np.ndarray], language: str) -> go.Figure:
    """Draw one or two series of bars, the kernel's first."""
    spans = groups(len(errors["kernel"]), MAX_BARS)
    tops = {who: _tops(np.asarray(values), spans) for who, values in errors.items()}
    high = max([float(v) for values in tops.values() for v in values if np.isfinite(v)] + [1e-3])
    n = len(spans)
    traces = [_series(who, values, spans) for who, values in tops.items()]
    marks = [base.ticks(0, n - 1, most=8), base.ticks(0, high, most=3)]
    places = [int(tick) for tick in marks[0] or [0] if tick == int(tick)]
    return base.figure(
        traces,
        HEIGHT,
        (LEFT, RIGHT, TOP, FOOT),
        annotations=[*_names(tops, high, language), _worst(tops["kernel"], high, len(tops))],
        barmode="group",
        bargap=0.35 if n > 1 else 0.7,
        bargroupgap=0.0,
        xaxis=base.axis(
            range=[-0.5, n - 0.5],
            tickvals=places,
            ticktext=[str(spans[place][0]) for place in places],
            showline=True,
            linecolor=base.FRAME,
        ),
        yaxis=base.axis(
            range=[0, high * 1.08],
            tickvals=marks[1],
            ticktext=[f"{tick:g}" for tick in marks[1]],
            showgrid=True,
            gridcolor=base.HAIR,
        ),
    )


def _tops(values: np.ndarray, spans: list[tuple[int, int]]) -> np.ndarray:
    """Return the largest of each group, NaN where the group holds one."""
    return np.array([values[slice(*span)].max() for span in spans], dtype=np.float64)


def _series(who: str, values: np.ndarray, spans: list[tuple[int, int]]) -> go.Bar:
    """Return one series; a bar that has no number is left out, and said on hovering."""
    names = [str(a) if b - a == 1 else f"{a}–{b - 1}" for a, b in spans]
    told = [f"{name}: {ulps(float(v))} ULP" for name, v in zip(names, values, strict=True)]
    return go.Bar(
        x=list(range(len(values))),
        y=[float(v) if np.isfinite(v) else None for v in values],
        marker={"color": base.FOCUS if who == "kernel" else base.NEUTRAL, "line": {"width": 0}},
        text=told,
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
    )


def _names(tops: dict[str, np.ndarray], high: float, language: str) -> list[dict]:
    """Return the names right of the last bars, at their heights but never one on another."""
    words = {
        "kernel": f'<b><span style="color:{base.FOCUS}">'
        f"{text(language, 'run.checked.kernel')}</span></b>",
        "torch": "<b>torch</b>",
    }
    last = {who: np.nan_to_num(values[-1]) / high * PLOT / 1.08 for who, values in tops.items()}
    placed = sorted(last, key=lambda who: (last[who], who == "kernel"))
    heights = {placed[0]: max(last[placed[0]], LABEL_GAP / 2)}
    for below, above in zip(placed, placed[1:], strict=False):
        heights[above] = max(last[above], heights[below] + LABEL_GAP)
    spill = max(0.0, max(heights.values()) - PLOT)
    return [
        base.label(
            words[who],
            1,
            0,
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="middle",
            xshift=5,
            yshift=round(height - spill, 1),
            font={"family": base.SANS, "size": 14},
        )
        for who, height in heights.items()
    ]


def _worst(kernel: np.ndarray, high: float, n_series: int) -> dict:
    """Return the number over the kernel's longest bar, or the cross of a bar that has none."""
    broken = np.flatnonzero(~np.isfinite(kernel))
    at = int(broken[0]) if broken.size else int(kernel.argmax())
    words = f"<b>{ulps(float(kernel[at]))}</b>"
    if broken.size:
        words = f'<b><span style="color:{base.ERROR}">✕ {len(broken)}</span></b>'
    anchor = "right" if n_series > 1 else "center"  # the kernel's is the left one of two bars
    height = 0.0 if broken.size else float(kernel[at])
    place = {"xanchor": anchor, "yanchor": "bottom"}
    return base.label(words, at, height, font={"size": base.AXIS_SIZE}, **place)
