"""What a chart of Measure says in words: what a pointer reads, names of lines and of paths."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.test_measure import ALL, KEPT, OTHER_KEY, RUN_KEY, plotted, values
from viz.figures import base
from viz.figures.measure import Dot, Line, speed_figure
from viz.figures.path_strip import Stretch, strip_trace
from viz.figures.remark import Remark
from viz.tabs.measure import speed as tab

VIZ = Path(__file__).parent.parent / "viz"


def flat(*sizes: int, height: float = 10.0) -> list[Dot]:
    return [Dot(x, height, height, height, "told") for x in sizes]


def named(made) -> dict[str, object]:
    return {note.text: note for note in made.layout.annotations}


def test_what_a_pointer_reads_is_ink_on_the_pages_ground_for_every_trace():
    made = speed_figure([Line("ours", "Blockwise", flat(256, 1024))], "N", "GB/s")
    told = made.layout.hoverlabel
    assert (told.bgcolor, told.font.color, told.align) == (base.PAGE, base.INK, "left")
    # Both have a value of their own in dark, which only colours among the stand-ins have.
    assert {told.bgcolor, told.bordercolor, told.font.color} <= set(base.STAND_INS)
    assert all(trace.hoverlabel.bgcolor is None for trace in made.data)
    assert ".hovertext path{" in base.stand_in_css()


def test_a_name_stands_at_its_own_lines_end():
    lines = [
        Line("torch", "short", flat(256, 2048)),
        Line("compile", "long", flat(256, 524288)),
        Line("ours", "whole", flat(256, 1048576)),
    ]
    notes = named(speed_figure(lines, "N", "GB/s"))
    whole = next(note for words, note in notes.items() if "whole" in words)
    assert notes["short"].x == pytest.approx(math.log10(2048))
    assert notes["short"].xanchor == "left" and whole.x > math.log10(1048576)
    # Right of the last but one size there is no room: the name stands over its own line.
    assert notes["long"].xanchor == "right" and notes["long"].yshift > 0
    # Lines that go on behind a name leave its letters free.
    assert notes["short"].bgcolor == notes["long"].bgcolor == base.HALO
    assert "fill-opacity: 0.01" in base.stand_in_css() and base.HALO.endswith(",0.01)")
    assert whole.bgcolor is None


def test_earlier_sweeps_are_told_apart_by_dash_and_our_own_by_mark_too():
    dots = flat(256, 1024)
    lines = [
        Line(provider, "", dots, k < 4, k) for k in (1, 2, 3, 4) for provider in ("ours", "torch")
    ]
    made = [trace for trace in speed_figure(lines, "N", "GB/s").data if trace.fill is None]
    ours = [trace for trace in made if trace.line.color == base.FOCUS]
    assert len({trace.line.dash for trace in ours}) == 4
    assert len({trace.marker.symbol for trace in ours}) == 4
    torch = [trace for trace in made if trace.line.color == base.NEUTRAL]
    assert len({trace.line.dash for trace in torch}) == 4
    assert {trace.marker.symbol for trace in torch} == {"square"}


def test_every_line_of_several_sweeps_has_its_sweeps_number_at_its_end():
    shown = tab.redraw(values(runs=[RUN_KEY, OTHER_KEY]), [], {}, ALL, "en")
    made = plotted(shown["plot"])
    lines = [one for one in made["data"] if one.get("type") != "bar" and not one.get("fill")]
    names = [note["text"] for note in made["layout"]["annotations"]]
    assert sum(name == "1" or "· 1" in name or "· 2" in name for name in names) == len(lines)
    alone = plotted(tab.redraw(values(), [], {}, KEPT, "en")["plot"])
    assert "1" not in [note["text"] for note in alone["layout"]["annotations"]]


def test_a_narrow_path_has_its_name_and_a_divider():
    # Softmax on an H200: of 1048576 down to 256, 50257 and 65536 take a path of their own.
    stretches = (
        Stretch("single", 256, 16384, None, 50257, ""),
        Stretch("online", 50257, 65536, 16384, 262144, ""),
        Stretch("split", 262144, 1048576, 65536, None, ""),
    )
    across = math.log10(230), math.log10(1200000)
    bars = strip_trace(stretches, across)
    assert list(bars.text) == ["single", "online", "split"] and bars.constraintext == "none"
    assert len(set(bars.marker.color[:2])) == 2
    assert bars.marker.line.color == base.PAGE and bars.marker.line.width > 1
    # Two names that would lie on one another are none to read: the longer stretch keeps its own.
    close = (
        Stretch("single", 256, 300, None, 310, ""),
        Stretch("online", 310, 320, 300, 340, ""),
        Stretch("split", 340, 1048576, 320, None, ""),
    )
    assert list(strip_trace(close, across).text) == ["single", "", "split"]


def test_no_line_crosses_the_words_of_a_remark():
    lines = [Line("ours", "B", flat(256, 1024)), Line("copy", "copy", flat(256, 1024, height=20))]
    made = speed_figure(lines, "N", "GB/s", remark=Remark(1024, 10.0, "why"))
    assert named(made)["why"].bgcolor == base.PAGE


@pytest.mark.parametrize("sheet", ["tabs/run.css", "figures/document.css"])
def test_what_scrolls_sideways_shows_that_there_is_more(sheet):
    css = (VIZ / sheet).read_text("utf-8")
    rule = css.split("A shade at an edge", 1)[1].split("}", 1)[0]
    # The covers scroll along, the shades stay; both follow the theme.
    assert rule.count("local") == rule.count("var(--bw-page)") == 2
    assert rule.count("no-repeat scroll") == rule.count("var(--bw-next)") == 2
