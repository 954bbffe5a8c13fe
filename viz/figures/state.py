"""The state after each block of one row: the mirror's as line and bars, the kernel's as rings.

Everything stands on one ruler, the blocks of the row: the running maximum m, the sum l, and how
far the kernel and its mirror are apart, in ULPs. Programs that share a row have an m_part and an
l_part each; a gradient's delta is a sum of either sign. A row of very many blocks is drawn at the
last block of each of up to `MAX_DRAWN` equal groups; distances are the largest of their group.
"""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from benchmarks.results import RowDetail
from viz.figures import base
from viz.figures.numerals import special, ulps
from viz.locales import text

FIELDS = ("m", "m_part", "alpha", "l", "l_part", "delta", "acc")  # top to bottom
COLOURS = {
    **{"m": base.M, "m_part": base.M, "alpha": base.INK, "acc": base.O},
    **dict.fromkeys(("l", "l_part", "delta"), base.L_TEXT),
}
STAIRS = ("m", "m_part", "delta")  # drawn as a line; sums that only grow are bars

MAX_DRAWN = 512
MAX_PRINTED = 10  # columns of numbers that fit a phone
HEIGHTS = {"m": 84, "m_part": 84, "l": 72, "l_part": 72, "delta": 84}
LINE, GAP, TOP, FOOT = 21, 18, 26, 4
GUTTER = 96  # names, then tick labels, left of the ruler
LETTER = 8.5  # more of it for each further letter of a symbol


def symbols(acc: str = "o") -> dict[str, str]:
    """Return the page's symbol of each field; acc is called as the output that it becomes."""
    return {field: field for field in FIELDS} | {"alpha": "α", "acc": acc}


def groups(n: int, most: int) -> list[tuple[int, int]]:
    """Return (start, stop) of at most ``most`` equal groups of ``n`` blocks, in order."""
    size = max(1, math.ceil(n / most))
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def fields_of(detail: RowDetail) -> list[str]:
    """Return the captured fields of a row, in the order they are shown; none if no block was."""
    return [name for name in FIELDS if len(detail.state_ulps.get(name, ()))]


def apart(detail: RowDetail, field: str, span: tuple[int, int]) -> str:
    """Return the largest distance of a group of blocks as text; α of the first block has none."""
    distances = np.asarray(detail.state_ulps[field], dtype=np.float64)[slice(*span)]
    if field == "alpha" and span[0] == 0:
        distances = distances[1:]
    if len(distances) == 0:
        return "–"
    worst = distances.max() if not np.isnan(distances).any() else math.nan
    return ulps(float(worst))


def state_figure(detail: RowDetail, language: str, acc: str = "o") -> go.Figure:
    """Draw the chosen row's states; a panel whose variable the algorithm has not is left out.

    ``acc`` is what the output that acc becomes is called.
    """
    fields = fields_of(detail)
    if not fields:
        hidden = {"visible": False}
        return base.figure([], LINE, (0, 0, 0, 0), xaxis=hidden, yaxis=hidden)
    n_blocks = len(detail.state_ulps[fields[0]])
    drawn = np.array([stop - 1 for _, stop in groups(n_blocks, MAX_DRAWN)])
    panels = [(field, HEIGHTS[field]) for field in fields if field in HEIGHTS]
    gutter = GUTTER + round(LETTER * (max(len(symbols(acc)[field]) for field in fields) - 1))
    heights = [size for _, size in panels] + [LINE * len(fields)]
    total = sum(heights) + GAP * len(panels)
    traces, layout, notes = [], {}, _block_names(n_blocks, gutter, language)
    top = float(total)
    for index, (name, size) in enumerate(panels, start=1):
        domain = [(top - size) / total, top / total]
        draw = _stairs if name in STAIRS else _bars
        made, settings = draw(detail, name, drawn, f"y{index}")
        traces += made
        layout[f"yaxis{index}"] = {**settings, "domain": domain}
        notes += _panel_name(name, domain[1], gutter, language)
        top -= size + GAP
    table = f"y{len(panels) + 1}"
    spans = groups(n_blocks, MAX_PRINTED)
    made, named = _table(detail, fields, spans, table, (acc, gutter), language)
    layout[f"yaxis{len(panels) + 1}"] = base.axis(
        domain=[0, max(top, 1) / total], range=[len(fields) - 0.5, -0.5], showticklabels=False
    )
    layout["xaxis"] = base.axis(range=[-0.5, n_blocks - 0.5], showticklabels=False)
    return base.figure(
        traces + made,
        total + TOP + FOOT,
        (gutter, 8, TOP, FOOT),
        annotations=notes + named,
        bargap=0.5,
        **layout,
    )


def _stairs(detail: RowDetail, field: str, drawn: np.ndarray, axis: str) -> tuple[list, dict]:
    """Return a field's staircase with the kernel's rings, and its axis."""
    mirror = np.asarray(detail.mirror_state[field], dtype=np.float64)[drawn]
    kernel = np.asarray(detail.kernel_state[field], dtype=np.float64)[drawn]
    low, high = base.finite_range([*mirror, *kernel])
    xs = np.stack([drawn + 0.5 - _widths(drawn), drawn + 0.5], axis=1).ravel().tolist()
    line = go.Scatter(
        x=xs,
        y=_finite(np.repeat(mirror, 2)),
        yaxis=axis,
        mode="lines",
        line={"color": COLOURS[field], "width": 2.5},
        hoverinfo="skip",
    )
    made = [line, _rings(drawn, kernel, field, axis), *_specials(drawn, mirror, low, high, axis)]
    places = base.ticks(low, high, most=4)
    settings = base.axis(
        range=[low, high], tickvals=places, ticktext=[_tick(place) for place in places]
    )
    return made, settings


def _bars(detail: RowDetail, field: str, drawn: np.ndarray, axis: str) -> tuple[list, dict]:
    """Return a sum's bars with the kernel's rings, and their axis, which starts at 0."""
    mirror = np.asarray(detail.mirror_state[field], dtype=np.float64)[drawn]
    kernel = np.asarray(detail.kernel_state[field], dtype=np.float64)[drawn]
    high = max([float(v) for v in (*mirror, *kernel) if math.isfinite(v) and v > 0], default=1.0)
    high *= 1.18
    bars = go.Bar(
        x=drawn.tolist(),
        y=_finite(mirror),
        width=(0.52 * _widths(drawn)).tolist(),
        yaxis=axis,
        marker={"color": base.L_REST, "line": {"width": 0}},
        hoverinfo="skip",
    )
    made = [bars, _rings(drawn, kernel, field, axis), *_specials(drawn, mirror, 0.0, high, axis)]
    places = base.ticks(0.0, high, most=2)
    settings = base.axis(
        range=[0.0, high],
        tickvals=places,
        ticktext=[_tick(place) for place in places],
        zeroline=True,
        zerolinecolor=base.FRAME,
        zerolinewidth=1,
    )
    return made, settings


def _widths(drawn: np.ndarray) -> np.ndarray:
    """Return how many blocks each drawn one stands for: itself and those left out before it."""
    return np.diff(drawn, prepend=-1)


def _rings(drawn: np.ndarray, values: np.ndarray, symbol: str, axis: str) -> go.Scatter:
    """Return the kernel's captured values as rings; those that are not finite have none."""
    kept = np.isfinite(values)
    size = 11 if len(drawn) <= 40 else 7 if len(drawn) <= 120 else 4
    return go.Scatter(
        x=drawn[kept].tolist(),
        y=values[kept].tolist(),
        yaxis=axis,
        mode="markers",
        cliponaxis=False,
        marker={"size": size, "color": base.PAGE, "line": {"color": base.INK, "width": 2}},
        hovertemplate=f"{symbol} = %{{y:.7g}}<extra></extra>",
    )


def _specials(drawn, values, low: float, high: float, axis: str) -> list[go.Scatter]:
    """Return the words for values that have no place on the axis, one for each run of them."""
    names = [None if math.isfinite(v) else special(float(v)) for v in values]
    xs, texts, start = [], [], 0
    for stop in range(1, len(names) + 1):
        if stop < len(names) and names[stop] == names[start]:
            continue
        if names[start]:
            xs.append(float(drawn[start] + drawn[stop - 1]) / 2)
            texts.append(("✕ " if names[start] == "NaN" else "") + names[start])
        start = stop
    if not xs:
        return []
    return [
        go.Scatter(
            x=xs,
            y=[low + 0.14 * (high - low)] * len(xs),
            yaxis=axis,
            mode="text",
            text=texts,
            textfont={"family": base.MONO, "size": 14},
            hoverinfo="skip",
        )
    ]


def _finite(values: np.ndarray) -> list:
    """Return ``values`` with None, a gap, for what is not finite."""
    return [float(v) if math.isfinite(v) else None for v in values]


def _tick(value: float) -> str:
    """Return an axis number with a true minus."""
    return f"{value:.6g}".replace("-", "−")


def _block_names(n_blocks: int, gutter: int, language: str) -> list[dict]:
    """Return "block" and the block numbers above the ruler: each, or the first of each group."""
    spans = groups(n_blocks, MAX_PRINTED)
    numbers = [
        base.label(
            str(start),
            (start + stop - 1) / 2 if stop - start == 1 else start - 0.5,
            1,
            yref="paper",
            xanchor="center" if stop - start == 1 else "left",
            yanchor="bottom",
            yshift=4,
            font={"size": 14},
        )
        for start, stop in spans
    ]
    return [_name(text(language, "run.state.block"), 1, 4, "bottom", -gutter), *numbers]


def _panel_name(field: str, top: float, gutter: int, language: str) -> list[dict]:
    """Return a panel's word and, under it, its symbol in the symbol's colour."""
    word = text(language, "run.state.max" if field in ("m", "m_part") else "run.state.sum")
    return [
        _name(f"<b>{word}</b>", top, 2, "top", -gutter, size=14),
        _name(symbol(field), top, -16, "top", -gutter, size=14, family=base.MONO),
    ]


def _table(
    detail: RowDetail,
    fields: list[str],
    spans: list,
    axis: str,
    named_at: tuple[str, int],
    language: str,
) -> tuple[list, list]:
    """Return the distances as traces of text, one a field, and the names at their left.

    ``named_at`` is what acc is called, and how wide the names' gutter is.
    """
    acc, gutter = named_at
    xs = [(start + stop - 1) / 2 for start, stop in spans]
    made, named = [], []
    yref = {"yref": axis}
    for place, field in enumerate(fields):
        words = [apart(detail, field, span) for span in spans]
        made.append(
            go.Scatter(
                x=xs,
                y=[place] * len(xs),
                yaxis=axis,
                mode="text",
                text=[word if word in ("0", "–") else f"<b>{word}</b>" for word in words],
                textfont={"family": base.MONO, "size": 13.5},
                hoverinfo="skip",
                cliponaxis=False,
            )
        )
        shift = -18 - round(LETTER * (len(symbols(acc)[field]) - 1))
        named.append(
            _name(symbol(field, acc), place, 0, "middle", shift, size=14, family=base.MONO, **yref)
        )
    apart_by = text(language, "run.state.apart")
    named.append(_name(f"<b>{apart_by}</b>", 0, 0, "middle", -gutter, size=14, **yref))
    unit = "ULP" if len(fields) > 1 else ""
    named.append(_name(unit, min(1, len(fields) - 1), 0, "middle", -gutter, **yref))
    return made, named


def symbol(field: str, acc: str = "o") -> str:
    """Return a field's symbol in its colour."""
    return f'<b><span style="color:{COLOURS[field]}">{symbols(acc)[field]}</span></b>'


def _name(words, y, yshift, yanchor, shift, size=12.5, family=base.SANS, yref="paper"):
    """Return a text in the gutter at the left of the ruler."""
    return base.label(
        words,
        0,
        y,
        xref="paper",
        yref=yref,
        xanchor="left",
        yanchor=yanchor,
        xshift=shift,
        yshift=yshift,
        align="left",
        font={"family": family, "size": size},
    )
