"""How the errors are spread: two stepped outlines, the kernel's and torch's, on one axis."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from benchmarks.results import CheckResult, OutputCheck
from viz.figures import base
from viz.figures.numerals import ulps
from viz.locales import text

HEIGHT = 168
LABEL_BINS = 5  # how many of the 24 bins a name covers


def histogram(found: CheckResult | OutputCheck, language: str) -> go.Figure:
    """Draw the counts of ``found.histogram``; labels stand at the lines, so there is no legend."""
    edges = np.asarray(found.histogram["edges"], dtype=np.float64)
    whose = [who for who in ("torch", "kernel") if getattr(found, who) is not None]
    counts = {who: np.asarray(found.histogram[who]) for who in whose}
    top = max(1, int(max(count.max(initial=0) for count in counts.values())))
    styles = {"torch": (base.NEUTRAL, 2, None), "kernel": (base.FOCUS, 2.5, base.FOCUS_FILL)}
    traces = [_outline(edges, counts[who], *styles[who]) for who in whose]
    y_ticks = [tick for tick in base.ticks(0, top, most=3) if tick == int(tick)]
    x_ticks = base.ticks(float(edges[0]), float(edges[-1]), most=7)
    return base.figure(
        traces,
        HEIGHT,
        (44, 12, 12, 24),
        annotations=_labels(edges, counts, top, language),
        xaxis=base.axis(
            range=[float(edges[0]), float(edges[-1])],
            tickvals=x_ticks,
            ticktext=[f"{tick:g}" for tick in x_ticks],
            showline=True,
            linecolor=base.FRAME,
        ),
        yaxis=base.axis(
            range=[0, top * 1.12],
            tickvals=y_ticks,
            ticktext=[f"{int(tick)}" for tick in y_ticks],
            showgrid=True,
            gridcolor=base.HAIR,
        ),
    )


def _outline(edges: np.ndarray, counts: np.ndarray, colour: str, width: float, fill: str | None):
    """Return one histogram's outline, from the axis up and down to it again."""
    xs = np.repeat(edges, 2)
    ys = np.concatenate([[0], np.repeat(counts, 2), [0]])
    spans = [
        f"{ulps(low)}–{ulps(high)} ULP: {count}"
        for low, high, count in zip(edges, edges[1:], counts)
    ]
    told = ["", *np.repeat(spans, 2).tolist(), ""]
    return go.Scatter(
        x=xs.tolist(),
        y=ys.tolist(),
        mode="lines",
        line={"color": colour, "width": width, "shape": "linear"},
        fill="tozeroy" if fill else None,
        fillcolor=fill,
        text=told,
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _labels(edges: np.ndarray, counts: dict, top: int, language: str) -> list[dict]:
    """Return the two names, each over the first stretch of bins that leaves it room."""
    envelope = np.max(list(counts.values()), axis=0)
    common = {"font": {"family": base.SANS, "size": 14}, "xanchor": "left", "yanchor": "bottom"}
    kernel = text(language, "run.checked.kernel")
    names = {
        "kernel": f'<b><span style="color:{base.FOCUS}">{kernel}</span></b>',
        "torch": "<b>torch</b>",
    }
    found, start = [], 1
    for who, name in names.items():
        if who not in counts:
            continue
        last = len(envelope) - LABEL_BINS * (2 if who == "kernel" else 1)
        start = _room(envelope, start, max(0, last), ceiling=0.7 * top)
        level = int(envelope[start : start + LABEL_BINS].max(initial=0))
        if who == "kernel" and start == 1:
            level = max(level, int(0.75 * min(counts["kernel"][0], top)))
        found.append(base.label(name, float(edges[start]), level, xshift=6, yshift=1, **common))
        start += LABEL_BINS
    return found


def _room(envelope: np.ndarray, start: int, last: int, ceiling: float) -> int:
    """Return the first bin from ``start`` with `LABEL_BINS` low ones, ``last`` if there is none."""
    for at in range(min(start, last), last + 1):
        if envelope[at : at + LABEL_BINS].max(initial=0) <= ceiling:
            return at
    return last
