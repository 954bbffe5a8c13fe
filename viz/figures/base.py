"""What all figures share: neutral ink, transparent grounds, an explicit height, no interaction.

One figure serves both themes. Colours that are right on either ground are used as they are; the
others are stand-ins, the light theme's value, which the page's style sheet maps to the theme's own
(`STAND_INS`). A figure is never a place for NaN or infinity: JSON has neither.
"""

from __future__ import annotations

import json
import math

import plotly.graph_objects as go

Figure = go.Figure

FOCUS = "#EC5E0F"
FOCUS_FILL = "rgba(236,94,15,0.16)"
NEUTRAL = "#7F7F8A"
HAIR = "rgba(127,127,138,0.22)"
FRAME = "rgba(127,127,138,0.45)"
CLEAR = "rgba(0,0,0,0)"

INK = "#18181B"
PAGE = "#FFFFFF"
M = "#7D0F86"
L_TEXT = "#1D5FD6"
L_REST = "#8FB4F7"
O = "#076645"
ERROR = "#D92D20"

# The ground of words that stand among lines: the style sheet makes it an edge around the letters.
HALO = "rgba(255,255,255,0.01)"

# Drawn colour -> the style sheet's variable that replaces it in the reader's theme.
STAND_INS = {
    INK: "ink",
    PAGE: "page",
    M: "m",
    L_TEXT: "l-text",
    L_REST: "l-rest",
    O: "o",
    ERROR: "error",
}
TEXT_STAND_INS = {**STAND_INS, FOCUS: "focus-text"}

SANS = "IBM Plex Sans, Noto Sans CJK SC, PingFang SC, Microsoft YaHei, sans-serif"
MONO = "IBM Plex Mono, IBM Plex Sans, Noto Sans CJK SC, monospace"
AXIS_SIZE = 12.5

# What a pointer reads stands on the page's ground, not on the trace's colour.
HOVER = {
    "bgcolor": PAGE,
    "bordercolor": PAGE,
    "align": "left",
    "showarrow": False,
    "font": {"family": MONO, "size": AXIS_SIZE, "color": INK},
}
# Plotly leaves 3 px around the words: a wide edge in the ground's colour is more, and its shadow,
# one to each side, is the border.
HOVER_EDGES = ("1px 0", "-1px 0", "0 1px", "0 -1px")

# Pinching and dragging would take the page's scroll away on a phone.
CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "responsive": True}


def figure(traces: list, height: int, margin: tuple[int, int, int, int], **layout: object):
    """Return a figure of ``traces``; ``margin`` is left, right, top, bottom in pixels."""
    left, right, top, bottom = margin
    return go.Figure(
        traces,
        {
            "template": go.layout.Template(),
            "height": height,
            "autosize": True,
            "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
            "paper_bgcolor": CLEAR,
            "plot_bgcolor": CLEAR,
            "showlegend": False,
            "dragmode": False,
            "hovermode": "closest",
            "font": {"family": MONO, "size": AXIS_SIZE, "color": NEUTRAL},
            "hoverlabel": HOVER,
            **layout,
        },
    )


def axis(**settings: object) -> dict:
    """Return an axis without frame, grid, ticks, zero line or zoom, but for ``settings``."""
    bare = dict.fromkeys(("showgrid", "zeroline", "showline"), False)
    return {**bare, "ticks": "", "ticklabelstandoff": 4, "fixedrange": True, **settings}


def label(text: str, x: float, y: float, **settings: object) -> dict:
    """Return an annotation without an arrow."""
    return {"text": text, "x": x, "y": y, "showarrow": False, **settings}


def finite_range(values: list[float], pad: float = 0.12) -> tuple[float, float]:
    """Return an axis range that holds every finite value with room around it."""
    kept = [float(v) for v in values if math.isfinite(v)]
    if not kept:
        return -1.0, 1.0
    low, high = min(kept), max(kept)
    room = (high - low) * pad or max(abs(high), 1.0) * pad
    return low - room, high + room


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Return at most about ``most`` round numbers between ``low`` and ``high``."""
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return []
    size = 10.0 ** math.floor(math.log10(span / most))
    step = next(size * k for k in (1, 2, 5, 10, 20) if span / (size * k) <= most)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [k * step for k in range(first, last + 1)]


def payload(made: go.Figure) -> str:
    """Return the figure as strict JSON with its settings, as the page's plot component takes it."""
    content = json.loads(made.to_json())
    content["config"] = CONFIG
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def stand_in_css() -> str:
    """Return the CSS that gives marks and words of the figures the reader's theme's colours."""
    rules = []
    for colour, token in STAND_INS.items():
        rgb = ", ".join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))
        for attribute in ("stroke", "fill"):
            rules.append(
                f'.js-plotly-plot [style*="{attribute}: rgb({rgb})"]'
                f"{{{attribute}:var(--bw-{token})!important}}"
            )
    for colour, token in TEXT_STAND_INS.items():
        rules.append(
            f'.js-plotly-plot tspan[style*="fill:{colour}"]{{fill:var(--bw-{token})!important}}'
        )
    rules.append(
        '.js-plotly-plot rect.bg[style*="fill-opacity: 0.01"]~text{paint-order:stroke;'
        "stroke:var(--bw-page);stroke-width:4px;stroke-linejoin:round}"
    )
    border = " ".join(f"drop-shadow({edge} var(--bw-ink-3))" for edge in HOVER_EDGES)
    rules.append(
        f".js-plotly-plot .hovertext path{{stroke-width:12px!important;stroke-linejoin:round;"
        f"filter:{border}}}"
    )
    return "\n".join(rules) + "\n"
