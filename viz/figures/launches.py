"""The launches of a formula, a lane a provider: over time as measured, over bytes by formula.

A bar is one kernel. Over time, what lies between two bars is time in which the GPU did nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import plotly.graph_objects as go

from benchmarks.launches_results import Kernel, KernelSpan, LaunchLine, count_words
from viz.figures import base
from viz.figures.sizes import size
from viz.locales import text

# In pixels. The name stands over its lane, and numbers between it and the bars.
LANE, NAME_AT, NUMBER_AT, BAR_AT, BAR = 92, 11, 33, 62, 40
MARGIN = (6, 30, 0, 30)  # left, right, top, bottom
MAX_NAME = 28  # characters of a kernel's name: as many as stand beside a short bar on a phone
MAX_NUMBERED = 12  # more bars than this have no room for a number each
LINE_WIDTH = 1.5
BLANK = "\u00a0"  # a line with nothing on it
ROOM_FROM = 0.4  # of the width: a lane that ends before has room for words after its last bar

_FUNCTOR = re.compile(r"(?<!Unary)(?<!Binary)\b(?!Binary|AUnary|BUnary)\w*Functor\w*")


class Bar(NamedTuple):
    """One bar: where it starts, how long it is, what stands in it and what a pointer reads.

    ``name`` stands over ``words`` if there is room for it too.
    """

    start: float
    length: float
    words: str
    told: str
    name: str = ""


class Lane(NamedTuple):
    """One provider's bars under its name."""

    name: str
    about: str
    bars: list[Bar]
    studied: bool


def timeline_figure(lines: tuple[LaunchLine, ...], language: str) -> go.Figure:
    """Draw every launch of each provider's median call, from the start of its first."""
    lanes = []
    for line in compared(lines):
        ran = line.measured
        if ran is None:
            key = "launches.not_run" if line.run else "launches.not_measured"
            about, spans = text(language, key), ()
        else:
            about = launches_words(count_words(ran.launches), language)
            spans = ran.spans
        bars = [_timed(span) for span in spans]
        lanes.append(Lane(line.exact, about, bars, line.role == "fused"))
    return _chart(lanes, "µs")


def _timed(span: KernelSpan) -> Bar:
    """Return a launch's bar."""
    name, duration = short_name(span.name), f"{span.duration_us:.2f} µs"
    told = f"{name}<br>{span.start_us:.2f} + {duration}"
    return Bar(span.start_us, span.duration_us, duration, told, shortened(name, MAX_NAME))


def bytes_figure(lines: tuple[LaunchLine, ...], language: str) -> go.Figure:
    """Draw what each kernel reads and writes, one after the other, by formula."""
    lanes = []
    for line in compared(lines):
        per_pass = line.n_bytes / 1e6 / sum(len((*k.reads, *k.writes)) for k in line.kernels)
        bars: list[Bar] = []
        for kernel in line.kernels:
            start = bars[-1].start + bars[-1].length if bars else 0.0
            length = per_pass * len((*kernel.reads, *kernel.writes))
            told = f"{kernel.name}: {flow(kernel)}, {size(length * 1e6)}"
            bars.append(Bar(start, length, flow(kernel), told))
        key = "launches.at_least" if line.least else "launches.in_all"
        about = text(language, key, size=size(line.n_bytes))
        lanes.append(Lane(line.exact, about, bars, line.role == "fused"))
    return _chart(lanes, "MB")


def compared(lines: tuple[LaunchLine, ...]) -> list[LaunchLine]:
    """Return the lines of those who compute the formula: a copy does not."""
    return [line for line in lines if line.role != "ceiling"]


def flow(kernel: Kernel) -> str:
    """Return "x, y → t"."""
    return f"{', '.join(kernel.reads)} → {', '.join(kernel.writes)}"


def launches_words(count: str, language: str) -> str:
    """Return "1 launch" or "3 launches"."""
    key = "launches.count.one" if count == "1" else "launches.count.many"
    return text(language, key, count=count)


def short_name(name: str) -> str:
    """Return what a kernel is called, without its types: an elementwise one with its functor."""
    bare = re.sub(r"^void ", "", name)
    if bare.startswith(("Memcpy", "Memset")):
        return bare
    bare = bare.replace("(anonymous namespace)::", "")
    called = re.split(r"[<(]", bare, maxsplit=1)[0].split("::")[-1].strip() or bare[:40]
    functor = _FUNCTOR.search(name)
    return f"elementwise {functor[0]}" if functor and "elementwise" in called else called


def shortened(name: str, most: int) -> str:
    """Return a name of at most ``most`` characters: of a longer one, both its ends."""
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}…{name[-end:]}"


def _chart(lanes: list[Lane], unit: str) -> go.Figure:
    """Return the lanes one under the other, on one scale; its last number says the unit."""
    height = LANE * len(lanes)
    right = max((bar.start + bar.length for lane in lanes for bar in lane.bars), default=1.0)
    is_empty = not any(lane.bars for lane in lanes)
    ticks = [] if is_empty else [0.0, *(t for t in base.ticks(0.0, right, 5) if t > 0)]
    traces, inside, notes = [], [], []
    for k, lane in enumerate(lanes):
        traces.append(_bars(lane, k * LANE + BAR_AT, right))
        if any(bar.name for bar in lane.bars):
            inside.append(_names_inside(lane, k * LANE + BAR_AT, right))
        notes += _heads(lane, k * LANE)
    return base.figure(
        [*traces, *inside],
        height + MARGIN[2] + MARGIN[3],
        MARGIN,
        barmode="overlay",
        annotations=notes,
        uniformtext={"mode": "hide", "minsize": 12},
        xaxis=base.axis(
            range=[0, right],
            tickvals=ticks,
            ticktext=[f"{at:g} {unit}" if at == ticks[-1] else f"{at:g}" for at in ticks],
            showgrid=True,
            gridcolor=base.HAIR,
            showline=not is_empty,
            linecolor=base.FRAME,
        ),
        yaxis=base.axis(range=[height, 0], showticklabels=False),
    )


def _bars(lane: Lane, middle: float, right: float) -> go.Bar:
    """Return a lane's bars. Words that do not fit are left out, but the last has room beside it."""
    beside = _beside(lane, right)
    return go.Bar(
        **_laid(lane, middle),
        text=[
            f"{bar.name if k == beside else BLANK}<br>{bar.words}" if bar.name else bar.words
            for k, bar in enumerate(lane.bars)
        ],
        textposition=["outside" if k == beside else "inside" for k in range(len(lane.bars))],
        marker={
            "color": base.FOCUS_FILL if lane.studied else base.HAIR,
            "line": {"color": base.FOCUS if lane.studied else base.NEUTRAL, "width": LINE_WIDTH},
        },
        customdata=[bar.told for bar in lane.bars],
        hovertemplate="%{customdata}<extra></extra>",
        cliponaxis=False,
    )


def _names_inside(lane: Lane, middle: float, right: float) -> go.Bar:
    """Return the names over the words, in bars unseen: one without room goes, its words stay."""
    beside = _beside(lane, right)
    return go.Bar(
        **_laid(lane, middle),
        text=["" if k == beside else f"{bar.name}<br>{BLANK}" for k, bar in enumerate(lane.bars)],
        textposition="inside",
        marker={"color": base.CLEAR},
        hoverinfo="skip",
    )


def _beside(lane: Lane, right: float) -> int | None:
    """Return which bar has its words beside it: the last, if it leaves room."""
    if lane.bars and lane.bars[-1].start + lane.bars[-1].length <= ROOM_FROM * right:
        return len(lane.bars) - 1
    return None


def _laid(lane: Lane, middle: float) -> dict:
    """Return where a lane's bars lie, and how words stand in them."""
    return {
        "base": [bar.start for bar in lane.bars],
        "x": [bar.length for bar in lane.bars],
        "y": [middle] * len(lane.bars),
        "width": BAR,
        "orientation": "h",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"family": base.SANS, "size": 12.5, "color": base.INK},
    }


def _heads(lane: Lane, top: float) -> list[dict]:
    """Return a lane's name, and a number over each bar."""
    name = f"<b>{lane.name}</b>"
    if lane.studied:
        name = f'<b><span style="color:{base.FOCUS}">{lane.name}</span></b>'
    font = {"family": base.SANS, "size": 14}
    words = f"{name}  {lane.about}"
    notes = [base.label(words, 0, top + NAME_AT, font=font, xanchor="left", yanchor="middle")]
    if len(lane.bars) <= MAX_NUMBERED:
        notes += [
            base.label(str(k), bar.start + bar.length / 2, top + NUMBER_AT, yanchor="middle")
            for k, bar in enumerate(lane.bars, start=1)
        ]
    return notes
