"""The roofline: every point at its arithmetic intensity, under ceilings that were measured."""

from __future__ import annotations

import math
from typing import NamedTuple

import plotly.graph_objects as go

from viz.figures import base
from viz.figures.measure import STUDIED, STYLES

HEIGHT = 320
MARGIN = (52, 12, 26, 44)  # left, right, top, bottom


class Spot(NamedTuple):
    """One measured point: operations a byte, TFLOP/s, and what a pointer reads."""

    provider: str
    intensity: float
    tflop_per_s: float
    told: str


class Ceilings(NamedTuple):
    """What this GPU was measured to do: bytes by a copy, products by a matrix product, or NaN."""

    gb_per_s: float
    tflop_per_s: float = math.nan

    def bound(self, intensity: float) -> float:
        """Return the most TFLOP/s at an intensity."""
        by_bytes = intensity * self.gb_per_s / 1e3
        return by_bytes if math.isnan(self.tflop_per_s) else min(by_bytes, self.tflop_per_s)

    def floor_ms(self, n_bytes: int, flops: int) -> float:
        """Return the least time that moving and computing so much takes under these ceilings."""
        moving = n_bytes / self.gb_per_s / 1e6
        if math.isnan(self.tflop_per_s):
            return moving
        return max(moving, flops / self.tflop_per_s / 1e9)


def roofline_figure(
    spots: list[Spot], ceilings: Ceilings, words: tuple[str, str, str]
) -> go.Figure:
    """Draw the ceilings as a thin line and each point; ``words``: axis, copy, matrix product."""
    at = [spot.intensity for spot in spots]
    ridge = ceilings.tflop_per_s * 1e3 / ceilings.gb_per_s
    reach = [*at, *([] if math.isnan(ridge) else [ridge])]
    left, right = math.log10(min(reach)) - 0.5, math.log10(max(reach)) + 0.5
    corners = [10**left, *([] if math.isnan(ridge) else [ridge]), 10**right]
    roof = [ceilings.bound(x) for x in corners]
    heights = [*roof, *(spot.tflop_per_s for spot in spots)]
    low, high = math.log10(min(heights)) - 0.15, math.log10(max(heights)) + 0.15
    traces = [
        go.Scatter(
            x=corners,
            y=roof,
            mode="lines",
            line={"color": base.INK, "width": 1.2},
            hoverinfo="skip",
        ),
        *_marks(spots),
    ]
    return base.figure(
        traces,
        HEIGHT,
        MARGIN,
        annotations=_names(words, ceilings, (left, right), ridge),
        xaxis=base.axis(type="log", range=[left, right], **_powers(left, right), **_FRAMED),
        yaxis=base.axis(
            type="log", range=[low, high], showgrid=True, gridcolor=base.HAIR, **_powers(low, high)
        ),
    )


_FRAMED = {"showline": True, "linecolor": base.FRAME}


def _powers(low: float, high: float) -> dict:
    """Return ticks at 1, 2 and 5, or at powers of ten where the range is wide."""
    steps = (1,) if high - low > 2.2 else (1, 2, 5)
    powers = range(math.floor(low), math.ceil(high) + 1)
    at = [k * 10.0**p for p in powers for k in steps if low <= math.log10(k) + p <= high]
    return {"tickvals": at, "ticktext": [f"{tick:g}" for tick in at]}


def _marks(spots: list[Spot]) -> list[go.Scatter]:
    """Return a trace a provider, the kernel under study on top."""
    made = []
    providers = dict.fromkeys(spot.provider for spot in spots)
    for provider in sorted(providers, key=lambda name: name == STUDIED):
        own = [spot for spot in spots if spot.provider == provider]
        colour = base.FOCUS if provider == STUDIED else base.NEUTRAL
        symbol = STYLES.get(provider, ("solid", "circle"))[1]
        made.append(
            go.Scatter(
                x=[spot.intensity for spot in own],
                y=[spot.tflop_per_s for spot in own],
                mode="markers",
                marker={
                    "color": colour,
                    "symbol": symbol,
                    "size": 9,
                    "line": {"color": colour, "width": 1.6 if symbol.endswith("open") else 0},
                },
                text=[spot.told for spot in own],
                hovertemplate="%{text}<extra></extra>",
                cliponaxis=False,
            )
        )
    return made


def _names(words: tuple, ceilings: Ceilings, across: tuple, ridge: float) -> list[dict]:
    """Return the names of axes and ceilings."""
    axis, copy, product = words
    font = {"family": base.SANS, "size": 13}
    paper = {"xref": "paper", "yref": "paper"}
    left, right = across
    stop = right if math.isnan(ridge) else min(right, math.log10(ridge))
    # Nothing lies above the roof, so a name there hides no point: beside the slope where there is
    # room, or else over the ridge.
    if stop - left > 0.5 * (right - left):
        at, side = left + 0.62 * (stop - left), {"xanchor": "right", "xshift": -10, "yshift": 2}
        height = ceilings.bound(10**at)
    else:
        at, side = left, {"xanchor": "left", "xshift": 2, "yshift": 1}
        height = ceilings.tflop_per_s
    corner = {"xanchor": "left", "yanchor": "bottom", "xshift": -40, "yshift": 6}
    places = [
        base.label("TFLOP/s", 0, 1, **corner, **paper),
        base.label(axis, 0.5, 0, yanchor="top", yshift=-22, font=font, **paper),
        base.label(
            copy,
            at,
            math.log10(height),
            yanchor="bottom",
            font=font,
            **side,
        ),
    ]
    if not math.isnan(ridge):
        height = math.log10(ceilings.tflop_per_s)
        place = {"xanchor": "right", "yanchor": "bottom", "font": font}
        places.append(base.label(product, right, height, **place))
    return places
