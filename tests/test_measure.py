"""A recorded sweep on the page: what is drawn and said of it, what the controls make of it."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace

import pytest

from benchmarks.operations import OPERATIONS
from benchmarks.sweep_choice import choose_sweep
from benchmarks.sweep_results import SweepPoint, SweepRun
from kernels.errors import InputError
from tests.fake_check import GPU
from tests.sweeps import timed
from tests.test_figures import words
from viz.figures.base import payload
from viz.figures.measure import Dot, Line, numbered, speed_figure
from viz.figures.path_strip import Stretch
from viz.figures.roofline import Ceilings, Spot, roofline_figure
from viz.locales import LANGUAGES
from viz.tabs.measure import files
from viz.tabs.measure import speed as tab
from viz.tabs.measure import speed_guess as guesses
from viz.tabs.measure import speed_runs as runs
from viz.tabs.measure.measured import Recordings
from viz.tabs.measure.speed_fields import FIELDS

CASE = choose_sweep("softmax", "256, 1024", "bfloat16", ["ours", "torch", "liger"])
OURS = {"path": "single", "settings": {"num_warps": 8}, "registers": 64, "spills": 0}
OURS |= {"shared_bytes": 0, "warps": 8}


def point(provider: str, value: int, ms: float = math.nan, **about: object) -> SweepPoint:
    """Return a point of 6 GB and 3 TFLOP: 6000 GB/s and 3000 TFLOP/s in 1 ms."""
    flops = 0 if provider == "copy" else 3 * 10**12
    sizes = {"n_rows": 4096, "n_bytes": 6 * 10**9, "flops": flops, "n": 0 if ms != ms else 61}
    return SweepPoint(
        provider, value, median_ms=ms, p20_ms=0.9 * ms, p80_ms=1.5 * ms, **sizes, **about
    )


MISSING = {"reason": "not_installed", "message": "liger"}
POINTS = (
    point("ours", 256, 2, **OURS),
    point("torch", 256, 1.6),
    point("liger", 256, **MISSING),
    point("copy", 256, 1.5),
    point("ours", 1024, 2, **OURS),
    point("torch", 1024, 3),
    point("liger", 1024, **MISSING),
    point("copy", 1024, 1.5),
)
RUN = SweepRun(CASE, GPU, POINTS, "2026-01-02", "0123456", "x")
KEPT, NOTHING = Recordings((RUN,), ()), Recordings((), ())
VALUES = {
    **{"operation": "softmax", "axis": "n_cols", "values": "256, 1024", "dtype": "bfloat16"},
    **{"providers": ["ours", "torch", "liger"], "runs": [], "view": "GB/s", "reference": "torch"},
    **{"rows": "", "cols": 4096, "seq": 4096, "batch": 1, "heads": 16, "head_dim": 64},
    **{"n_splits": 16, "mask": "none", "hot": False},
}


ATTENTION = {"operation": "attention", "axis": "seq", "providers": []}


def values(**changes: object) -> list:
    assert tuple(VALUES) == FIELDS
    return list({**VALUES, **changes}.values())


def plotted(update: dict) -> dict:
    return json.loads(update["value"].plot)


# Figures.


def test_a_line_breaks_where_there_is_no_time_and_is_named_at_its_end():
    gap = Dot(512, math.nan, math.nan, math.nan, "")
    dots = [Dot(256, 10.0, 9.0, 12.0, "told"), gap, Dot(1024, 20.0, 20.0, 20.0, "")]
    made = speed_figure(
        [Line("ours", "Blockwise", dots), Line("copy", "copy", dots[:1])], "N", "GB/s"
    )
    json.loads(payload(made), parse_constant=pytest.fail)
    ours = made.data[-1]  # on top
    assert list(ours.y) == [10, None, 20] and ours.text[0] == "told"
    # Alone on its side of the gap, a dot has a bar: a band needs two.
    assert (ours.error_y.array[0], ours.error_y.arrayminus[0]) == (2, 1)
    assert made.layout.xaxis.type == "log" and made.layout.yaxis.range[0] == 0
    assert "Blockwise" in " ".join(note.text for note in made.layout.annotations)
    guess = Line("guess", "mine", [Dot(1024, 5.0, 5.0, 5.0, "")])
    times = speed_figure([Line("ours", "Blockwise", dots), guess], "N", "ms")
    assert times.layout.yaxis.type == "log" and list(times.data[-1].y) == [5]
    assert times.data[-1].line.dash == "dash"


def test_a_band_goes_up_along_p80_and_back_along_p20_and_the_copy_has_none():
    dots = [Dot(256, 10.0, 9.0, 12.0, ""), Dot(1024, 20.0, 18.0, 21.0, "")]
    lines = [Line("torch", "torch", dots), Line("copy", "copy", dots)]
    made = speed_figure(lines, "N", "GB/s")
    bands = [trace for trace in made.data if trace.fill == "toself"]
    assert len(bands) == 1 and list(bands[0].y) == [12, 21, 18, 9]
    assert list(bands[0].x) == [256, 1024, 1024, 256] and bands[0].line.width == 0
    assert 0.2 <= float(bands[0].fillcolor.split(",")[-1].rstrip(")")) <= 0.28
    assert made.layout.yaxis.range[1] == pytest.approx(1.06 * 21)
    assert not made.data[-1].error_y.visible


def test_a_path_begins_and_ends_halfway_between_its_points_and_its_neighbours():
    stretches = (
        Stretch("rows", 100, 1000, None, 10_000, ""),
        Stretch("single", 10_000, 10_000, 1000, None, "told"),
    )
    dots = [Dot(x, 1.0, 1.0, 1.0, "") for x in (100, 1000, 10_000)]
    made = speed_figure([Line("ours", "B", dots)], "N", "GB/s", stretches, "path taken")
    bars = made.data[-1]
    ends = [base + length for base, length in zip(bars.base, bars.x)]
    assert list(bars.text) == ["rows", "single"] and bars.customdata[1] == "told"
    # 10^3.5 is halfway from 1000 to 10000; two in a thousand of the width are left free.
    assert ends[0] == pytest.approx(10**3.5, rel=0.03) and bars.base[1] > ends[0]
    assert bars.base[0] < 100 and ends[1] > 10_000
    # Plotly hides the name of a bar that ends outside of the axis.
    left, right = made.layout.xaxis.range
    assert 10**left < bars.base[0] and ends[1] < 10**right
    whole = (Stretch("rows", 100, 10_000, None, None, ""),)
    (whole_bar,) = speed_figure([Line("ours", "B", dots)], "N", "GB/s", whole).data[-1:]
    assert whole_bar.base[0] + whole_bar.x[0] < 10**right
    # The strip lies under the chart, in the same figure and over the same axis.
    assert made.layout.yaxis2.domain[1] < made.layout.yaxis.domain[0]
    assert bars.yaxis == "y2" and bars.xaxis is None and made.layout.xaxis.anchor == "y"


def test_numbers_under_the_axis_keep_apart_and_the_last_is_among_them():
    assert numbered([256, 512, 1024, 65536], math.log10(256)) == [256, 1024, 65536]


def test_the_roof_bends_where_bytes_and_operations_take_as_long():
    ceilings = Ceilings(4000, 800)
    assert ceilings.bound(100) == 400 and ceilings.bound(1000) == 800
    # 4 GB take 1 ms, 8e12 operations 10 ms.
    assert ceilings.floor_ms(4 * 10**9, 8 * 10**12) == 10
    assert Ceilings(4000).floor_ms(4 * 10**9, 8 * 10**12) == 1
    made = roofline_figure([Spot("ours", 50, 100, "told")], ceilings, ("axis", "copy", "product"))
    json.loads(payload(made), parse_constant=pytest.fail)
    assert made.data[0].x[1] == 200 and made.data[0].y[1] == 800
    assert (
        len(roofline_figure([Spot("ours", 5, 1, "")], Ceilings(4000), ("", "", "")).data[0].x) == 2
    )


# What is shown.


@pytest.mark.parametrize(
    ("view", "ours", "low"),
    [("GB/s", 3000, 1000), ("TFLOP/s", 1500, 500), ("ms", 2, 0.2), ("ratio", 1.5, 0.5)],
)
def test_a_view_is_of_the_median_and_its_bars_of_the_spread(view, ours, low):
    shown = tab.redraw(values(view=view), [], {}, KEPT, "en")
    data = plotted(shown["plot"])["data"]
    line, band = data[-1], next(one for one in data if "236,94,15" in one.get("fillcolor", ""))
    if view == "GB/s":  # the strip lies under it
        assert line["yaxis"] == "y2"
    line = next(one for one in data if "num_warps 8" in "".join(one.get("text", "")))
    assert line["y"][1] == pytest.approx(ours)
    assert ours - min(band["y"][1:3]) == pytest.approx(low)  # of N = 1024
    assert "registers 64" in line["text"][0]


def test_the_words_say_where_from_how_near_the_ceiling_and_who_is_ahead():
    shown = tab.redraw(values(), [], {}, KEPT, "en")
    said = words(shown["headline"])
    assert "Recorded on NVIDIA H200, 2026-01-02" in said and "torch 2.13.0" in said
    assert "Blockwise runs at 75% of a plain copy" in said  # 1.5 ms of 2 ms
    assert "at N = 1024 it is 1.50× as fast as torch eager" in said
    card = words(shown["card"])
    assert "Blockwise is the fastest: 3000 GB/s" in card
    assert "torch eager is ahead of every Blockwise kernel shown at N = 256, up to 1.25×" in card
    table = words(shown["table"])
    assert "3750" in table and "Liger has no time at N = 256, 1024: it is not installed" in table
    roof = plotted(shown["roof_plot"])
    assert roof["data"][0]["y"][0] == pytest.approx(roof["data"][0]["x"][0] * 4.0)  # 4000 GB/s


def test_providers_and_values_are_filtered():
    shown = tab.redraw(values(providers=["torch"], values="256"), [], {}, KEPT, "en")
    lines = plotted(shown["plot"])["data"]
    assert [line["x"] for line in lines] == [[256], [256]]  # the copy and torch, no band
    assert "torch eager runs at 94%" in words(shown["headline"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_recording_it_says_so_and_what_would_be_measured(language):
    shown = tab.redraw(values(dtype="float32"), [], None, KEPT, language)
    assert "plot" in shown and shown["plot"] == {"visible": False, "__type__": "update"}
    # 2**29 bytes read and written at 8 bytes a column of 256: 262144 rows.
    assert "262144" in words(shown["table"]) and "float32" in words(shown["headline"])
    assert "bfloat16" in words(shown["recorded"])
    for reason in ("no_memory", "refused", "too_long", "unknown", "failed", "wrong", "unfit"):
        odd = SweepRun(CASE, GPU, (point("liger", 256, reason=reason, message="7"), *POINTS[:2]))
        assert "(7)" in words(tab.redraw(values(), [odd], {}, NOTHING, language)["table"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"operation": "<b>"}, "operation must be one of"),
        ({"values": "256,,x"}, "N must be numbers"),
        ({"values": None}, "N must be numbers"),
        ({"values": "0"}, "N must be from 1"),
        ({"dtype": ["a"]}, "dtype must be one of"),
        ({"providers": ["ours", {"a": 1}]}, "provider must be one of"),
        ({"view": "GB"}, "view must be one of"),
        ({"view": "ratio", "reference": None}, "provider must be one of"),
        ({"rows": "many"}, "n_rows must be a whole number"),
        ({"axis": "seq"}, "axis must be one of n_cols, n_rows"),
        ({"axis": "n_rows", "cols": None}, "N must be a whole number"),
        ({"hot": "yes"}, "hot must be one of"),
        ({"runs": ["<b>"]}, "No recorded run is called <b>"),
        ({"runs": [1, 2, 3, 4, 5]}, "At most 4 recorded runs are drawn at once, got 5"),
        (ATTENTION | {"head_dim": 1e300}, "head_dim must be"),
    ],
)
def test_a_mistake_gets_one_sentence_and_the_picture_stays(changes, said):
    given = values(**changes)
    shown = tab.redraw(given, "odd", {"speed": []}, KEPT, "en")
    assert set(shown) == {"note"} and said in words(shown["note"])


# The table and the card.


def cells(note: list, kind: str = "bw-points") -> dict[str, list[str]]:
    """Return a table's rows, by what stands at their heads."""
    scrolled = next(node for node in note if node[0] == "div")
    table = scrolled[2]
    assert kind in table[1]["class"]
    rows = [row for part in table[2:] if part[0] in ("thead", "tbody") for row in part[2:]]
    return {"".join(row[2][2:]): ["".join(cell[2:]) for cell in row[3:]] for row in rows}


def test_the_table_has_a_column_a_value_and_the_protagonist_first():
    shown = tab.redraw(values(), [], {}, KEPT, "en")
    rows = cells(shown["table"])
    assert list(rows)[:2] == ["N", "Blockwise, GB/s"] and rows["N"] == ["256", "1024"]
    # 6 GB in 2 ms, in 1.6 and 3 ms; the copy takes 1.5 ms.
    assert rows["Blockwise, GB/s"] == ["3000", "3000"] and rows["share of copy"] == ["75%", "75%"]
    assert rows["torch eager, GB/s"] == ["3750", "2000"] and rows["Liger, GB/s"] == ["–", "–"]
    assert rows["Blockwise over torch eager"] == ["0.80×", "1.50×"]
    assert rows["configuration"] == ["w8", "w8"] and rows["our path"] == ["single", "single"]
    assert rows["n_rows"] == ["4096", "4096"]
    studied = [row for row in shown["table"][0][2][4][2:] if row[1].get("class") == "bw-studied"]
    assert len(studied) == 1 and studied[0][2][2] == "Blockwise, GB/s"


def test_the_card_says_what_the_winner_has_and_the_second_best_has_not():
    rows = cells(tab.redraw(values(), [], {}, KEPT, "en")["card"], "bw-why")
    assert rows[""] == ["Blockwise", "torch eager"]
    assert rows["time"] == ["2 ms", "3 ms"] and rows["share of copy"] == ["75%", "50%"]
    # 4096 rows of 1024 columns of 2 bytes, read once and written once.
    assert rows["bytes by formula, × the least"] == ["16.8 MB", "–"]
    # 8 warps of 32 x 64 registers: 4 programs of 65536 registers, 32 of 64 warps.
    assert rows["occupancy, limited by"] == ["50%, registers", "–"]


def test_our_kernel_is_beside_those_that_beat_it():
    names = ["ours", "torch", "compile"]
    case = choose_sweep("softmax", "256", "bfloat16", names)
    points = (point("ours", 256, 9, **OURS), point("torch", 256, 3), point("compile", 256, 2))
    run = SweepRun(case, GPU, points, "2026-01-02", "0123456", "x")
    given = values(values="256", providers=names)
    rows = cells(tab.redraw(given, [], {}, Recordings((run,), ()), "en")["card"], "bw-why")
    assert rows[""] == ["torch.compile", "torch eager", "Blockwise"]
    assert rows["path"] == ["–", "–", "single"]


def test_a_path_that_was_told_is_no_rival_of_itself():
    about = {"path": "single", "settings": {"num_warps": 8}}
    case = choose_sweep("softmax", "256", "bfloat16", ["ours", "single", "torch"])
    points = (
        point("ours", 256, 2, **about),
        point("single", 256, 2.01, **about),
        point("torch", 256, 3),
    )
    run = SweepRun(case, GPU, points, "2026-01-02", "0123456", "x")
    given = values(values="256", providers=["ours", "single", "torch"])
    rows = cells(tab.redraw(given, [], {}, Recordings((run,), ()), "en")["card"], "bw-why")
    assert rows[""] == ["Blockwise", "torch eager"]


def test_short_calls_are_told_both_ways_and_doubts_once():
    case = choose_sweep("add", "256", "bfloat16", ["ours", "torch"], n_rows=64)
    points = (
        timed(case, "ours", 256, 4.0, graph_us=3.125, wall_us=42.0, temperature_c=83,
              slowed="heat", n_outliers=3),
        timed(case, "torch", 256, 5.0, clock_mhz=1800),
        timed(case, "copy", 256, 3.0),
    )  # fmt: skip
    kept = Recordings((SweepRun(case, GPU, points, "2026-01-02", "0123456", "x"),), ())
    given = values(operation="add", values="256", providers=["ours", "torch"], rows="64")
    shown = tab.redraw(given, [], {}, kept, "en")
    rows = cells(shown["table"])
    assert rows["Blockwise: the GPU works, µs"] == ["3.12"]
    assert rows["Blockwise: a caller waits, µs"] == ["42.0"]
    assert "the GPU works 3.12 µs; a caller waits 42.0 µs" in words(shown["card"])
    said = words(shown["key"])
    assert "fell by 9% within this run, from 1980 to 1800 MHz at N = 256" in said
    assert "held down by heat at N = 256" in said and "3 of 60 calls of Blockwise" in said
    told = plotted(shown["plot"])["data"][-1]["text"][0]
    assert "the GPU works 3.12 µs, a caller waits 42.0 µs" in told and "first call 1.50 s" in told
    assert "1980 MHz, 83 °C, held down by heat" in told
    calm = words(tab.redraw(values(), [], {}, KEPT, "en")["key"])
    assert "MHz" not in calm and "calls" not in calm


@pytest.mark.parametrize(
    ("of_256", "said"),
    [
        (30.0, "Blockwise at N = 1024 is 25.0% faster than the fastest copy, by more than both "
               "spread"),
        (15.0, "At 2 points a call is faster than the fastest copy by more than both spread, most "
               "torch eager at N = 256, by 33.3%"),
    ],
)  # fmt: skip
def test_what_is_above_the_ceiling_is_told_and_not_hidden(of_256, said):
    case = choose_sweep("add", "256,1024", "bfloat16", ["ours", "torch"], n_rows=64)
    points = (
        timed(case, "ours", 256, 30.0), timed(case, "torch", 256, of_256),
        timed(case, "copy", 256, 20.0), timed(case, "ours", 1024, 80.0),
        timed(case, "torch", 1024, 99.0), timed(case, "copy", 1024, 100.0),
    )  # fmt: skip
    kept = Recordings((SweepRun(case, GPU, points, "2026-01-02", "0123456", "x"),), ())
    given = values(operation="add", values="256,1024", providers=["ours", "torch"], rows="64")
    assert said in words(tab.redraw(given, [], {}, kept, "en")["key"])


# Paths, and where a line surprises.


def curve(shares: dict[int, float], paths: dict[int, str]) -> SweepRun:
    """Return a sweep whose copy takes 1 ms, and our kernel as much of it as is told."""
    case = choose_sweep("softmax", list(shares), "bfloat16", ["ours", "torch"])
    points = []
    for value, part in shares.items():
        own = point("ours", value, 1 / part, path=paths[value]) if part else None
        points += [own or point("ours", value, reason="failed"), point("copy", value, 1)]
    return SweepRun(case, GPU, tuple(points), "2026-01-02", "0123456", "x")


def drawn(run: SweepRun):
    given = values(values=", ".join(map(str, run.case.values)), providers=["ours", "torch"])
    return plotted(tab.redraw(given, [], {}, Recordings((run,), ()), "en")["plot"])


def test_neighbours_of_one_path_are_one_stretch_and_gaps_stay_empty():
    paths = {256: "rows", 512: "rows", 1024: "", 4096: "single"}
    made = drawn(curve({256: 0.9, 512: 0.9, 1024: 0, 4096: 0.9}, paths))
    strip = made["data"][-1]
    assert strip["type"] == "bar" and strip["text"] == ["rows", "single"]
    assert strip["customdata"] == ["path rows at N = 256–512", "path single at N = 4096"]
    # Halfway between 512 and 1024 and between 1024 and 4096; the gap is left and right of 1024.
    assert strip["base"][0] + strip["x"][0] == pytest.approx(724, rel=0.02)
    assert strip["base"][1] == pytest.approx(2048, rel=0.02)
    only = drawn(curve({256: 0.9}, {256: "blocks"}))  # a path that nobody can ask for
    assert all(trace.get("type") != "bar" for trace in only["data"])


@pytest.mark.parametrize(
    ("shares", "paths", "said"),
    [
        ({256: 0.95, 781: 0.75, 1024: 0.95}, "rrr", "N = 781, odd: rows lose their"),
        (
            {256: 0.95, 780: 0.75, 1024: 0.95},
            "rrr",
            "N = 780, no multiple of 16: rows",
        ),  # 1560 bytes, no 16 times
        ({256: 0.95, 781: 0.85, 1024: 0.95}, "rrr", ""),  # by 10 points only
        ({256: 0.70, 781: 0.60, 1024: 0.95}, "rrr", ""),  # not against both
        ({256: 0.95, 768: 0.75, 1024: 0.95}, "rrr", ""),  # aligned: nobody knows why
        ({256: 0.95, 783: 0.75, 785: 0.95}, "rrr", ""),  # a neighbour is odd too
        ({256: 0.95, 1024: 0.75, 2048: 0.95}, "rss", "from N = 1024 on, the path is single"),
        ({256: 0.95, 1024: 0.75, 2048: 0.55}, "rro", "from N = 2048 on, the path is online"),
    ],
)
def test_a_remark_has_a_cause_that_the_points_show(shares, paths, said):
    names = {"r": "rows", "s": "single", "o": "online"}
    made = drawn(curve(shares, {v: names[p] for v, p in zip(shares, paths)}))
    found = [one["text"] for one in made["layout"]["annotations"] if "<br>" in one["text"]]
    assert len(found) == bool(said) and said in "".join(found).replace("<br>", " ")
    drops = [one for one in made["data"] if one.get("line", {}).get("dash") == "dot"]
    assert len(drops) == bool(said)
    if said:
        value = list(shares)[1] if "2048" not in said else 2048
        assert drops[0]["x"] == [value] * 2
        assert drops[0]["y"] == [pytest.approx(6000 * shares[value]), 0]  # 6 GB in 1 ms


def test_a_fall_where_registers_spill_is_told_so():
    run = curve({256: 0.95, 1024: 0.9, 4096: 0.3}, dict.fromkeys((256, 1024, 4096), "single"))

    def told(*spills: int) -> str:
        at = dict(zip((256, 1024, 4096), spills))
        own = [replace(p, spills=at[p.value]) if p.provider == "ours" else p for p in run.points]
        notes = drawn(replace(run, points=tuple(own)))["layout"]["annotations"]
        return " ".join(note["text"].replace("<br>", " ") for note in notes)

    # Triton counts words of four bytes.
    assert "from N = 4096 on, registers spill: 888 B a thread" in told(0, 0, 222)
    assert "spill" not in told(0, 0, 0)
    assert "spill" not in told(0, 222, 0)  # not from there on
    assert "spill" not in told(222, 222, 222)


# Recorded runs, hot caches, and controls that set others.

L4 = replace(GPU, name="NVIDIA L4", capability=(8, 9))


def test_the_run_that_shows_most_is_offered_first_and_a_newer_one_before_it():
    def of(values, date="2026-01-02", **sizes):
        case = choose_sweep("attention", values, "bfloat16", ["ours"], **sizes)
        return SweepRun(case, GPU, (), date, "0123456", "x")

    one, many = of("4096"), of("512..8192x2")
    causal, hot = of("512..16384x2", mask="causal"), of("512..16384x2", is_hot=True)
    newer = of("1024", "2026-01-03")
    kept = Recordings((newer, one, causal, many, hot), ())
    assert tab.suggested("attention", "seq", "bfloat16", kept) == [newer, many, one, causal, hot]


OTHER = replace(RUN, device=L4, date="2026-01-01")
HOT = replace(RUN, case=replace(CASE, is_hot=True), date="2026-01-03")
ALL = Recordings((HOT, RUN, OTHER), ())
RUN_KEY, OTHER_KEY, HOT_KEY = (runs.key_of(run) for run in (RUN, OTHER, HOT))


def test_two_gpus_lie_over_one_another_the_last_chosen_in_question():
    shown = tab.redraw(values(runs=[RUN_KEY, OTHER_KEY]), [], {}, ALL, "en")
    assert "Recorded on NVIDIA L4, 2026-01-01" in words(shown["headline"])
    key = words(shown["key"])
    assert "1: Recorded on NVIDIA H200" in key and "2: Recorded on NVIDIA L4" in key
    made = plotted(shown["plot"])
    names = " ".join(note["text"] for note in made["layout"]["annotations"])
    # Of the run that lies under, only our kernel is named.
    assert "Blockwise · 1" in names and "torch eager · 2" in names
    assert "torch eager · 1" not in names
    faint = [one for one in made["data"] if one.get("opacity") == 0.5]
    assert len(faint) == 3  # ours, torch and the copy
    # One's own sweep lies over those that were chosen.
    own = replace(RUN, date="")
    over = tab.redraw(values(runs=[OTHER_KEY]), [own], {}, ALL, "en")
    assert "Measured here" in words(over["headline"]) and "1: Recorded on" in words(over["key"])


def test_hot_caches_are_called_a_mistake_wherever_their_numbers_stand():
    shown = tab.redraw(values(hot=True), [], {}, ALL, "en")
    mistake = "hot caches: a mistake"
    assert mistake in words(shown["headline"]) and mistake in words(shown["table"])
    notes = [note["text"] for note in plotted(shown["plot"])["layout"]["annotations"]]
    assert f"GB/s · {mistake}, shown on purpose" in notes
    assert mistake in plotted(shown["plot"])["data"][-2]["text"][0]
    rows = list(csv.DictReader(io.StringIO(files.to_csv(HOT))))
    assert rows[0]["caches"] == "hot (a mistake, to show it)"
    assert "-hot-" in files.file_name(HOT)
    cold = tab.redraw(values(), [], {}, ALL, "en")
    assert mistake not in words([cold["headline"], cold["table"], cold["key"]])


def test_a_recorded_run_sets_the_sizes_and_another_dtype_finds_its_own():
    picked = tab.pick(values(runs=[RUN_KEY, HOT_KEY]), ALL)
    assert picked["hot"]["value"] is True and picked["rows"]["value"] == ""
    assert picked["values"]["value"] == "256, 1024"
    assert tab.pick(values(), ALL) == {}
    fixed = replace(RUN, case=replace(CASE, fixed_rows=True, sizes=replace(CASE.sizes, n_rows=7)))
    kept = Recordings((fixed, OTHER), ())
    # Sizes that nobody recorded have no run; a dtype goes to what there is.
    assert tab.anew(values(rows="3"), [], {}, kept, "en")["runs"]["value"] == []
    found = tab.anew(values(rows="3"), [], {}, kept, "en", True)
    assert found["rows"]["value"] == "7" and found["runs"]["value"] == [runs.key_of(fixed)]
    assert "n_rows 7" in words(found["headline"])
    assert tab.anew(values(), [], {}, kept, "en")["runs"]["value"] == [OTHER_KEY]
    labels = [name for name, _ in tab.anew(values(), [], {}, ALL, "en")["runs"]["choices"]]
    assert labels[2] == "NVIDIA L4, 2026-01-01"
    twice = Recordings((replace(HOT, date=RUN.date), RUN), ())
    labels = [name for name, _ in tab.anew(values(), [], {}, twice, "en")["runs"]["choices"]]
    assert "hot" not in labels[0] and "hot caches" in labels[1]


def test_each_axis_shows_the_sizes_that_do_not_vary():
    rows = tab.switch_to("softmax", "n_rows", "bfloat16", KEPT, "en")
    assert rows["cols"]["visible"] and not rows["rows"]["visible"]
    assert rows["values"]["label"].startswith("n_rows") and rows["runs"]["value"] == []
    decode = tab.switch_to("decode", "batch", "bfloat16", KEPT, "en")
    seen = {name for name, update in decode.items() if update.get("visible")}
    assert seen == {"seq", "heads", "head_dim", "n_splits"}
    whole = tab.switch_to("attention", None, "bfloat16", KEPT, "en")
    seen = {name for name, update in whole.items() if update.get("visible")}
    assert seen == {"batch", "heads", "head_dim", "mask"} and whole["axis"]["value"] == "seq"
    assert [axis for _, axis in whole["axis"]["choices"]] == ["seq", "head_dim", "heads", "batch"]
    back = tab.switch_to("softmax", None, "bfloat16", KEPT, "en")
    assert back["values"]["value"] == "256, 1024" and back["runs"]["value"] == [RUN_KEY]
    for operation, about in OPERATIONS.items():
        for axis in about.axes:
            told = tab.switch_to(operation, axis, "bfloat16", NOTHING, "en")["values"]["value"]
            given = values(operation=operation, axis=axis, values=told, providers=[], view="ms")
            assert len(tab.choose(given, NOTHING).case.values) >= 5
    with pytest.raises(InputError, match="axis must be one of"):
        tab.switch_to("add", "seq", "bfloat16", KEPT, "en")


# Predict first.


def test_the_recorded_curve_waits_for_a_guess_that_is_held_against_it():
    asked = tab.redraw(values(), [], None, KEPT, "en")
    assert asked["plot"]["visible"] is False and asked["table"] == []
    assert "N = 1024" in words(asked["question"]) and "3000" not in words(asked["headline"])
    fields = [asked[name] for name in guesses.FIELDS]
    # Two sizes are all there are: the third is not asked for.
    assert [field["visible"] for field in fields] == [True, True, False]
    assert fields[0]["label"] == "GB/s at N = 256"
    guess = guesses.choose_guess(CASE, "torch", ["3000", " 1500 "], (256, 1024))
    shown = tab.redraw(values(), [], guess, KEPT, "en")
    told = words(shown["guessed"])
    assert "torch eager at 1500 GB/s; it is Blockwise at 3000 GB/s" in told
    # torch's 3750 is the fastest at 256: 3000 is a fifth less.
    assert "50% too low" in told and "20% too low at N = 256" in told
    line = next(one for one in plotted(shown["plot"])["data"] if one.get("y") == [3000, 1500])
    assert line["line"]["dash"] == "dash" and line["x"] == [256, 1024]
    assert plotted(tab.redraw(values(view="ms"), [], guess, KEPT, "en")["plot"])["data"][-1][
        "type"
    ] in ("bar", "scatter")
    last = guesses.choose_guess(CASE, "torch", ["", "6000"], (256, 1024))
    only = words(tab.redraw(values(), [], last, KEPT, "en")["guessed"])
    assert "100% too high" in only and "Elsewhere" not in only
    for odd in ({**guess, "dtype": "x"}, {**guess, "axis": "seq"}, {**guess, "curve": [(1, "x")]}):
        assert words(tab.redraw(values(), [], odd, KEPT, "en")["guessed"]) == ""


@pytest.mark.parametrize("speed", [None, "", "nan", "-1", "inf", "1e9", True, [], "9" * 50])
def test_a_guess_that_is_no_speed_is_refused(speed):
    with pytest.raises(InputError, match="Your guess must be a number above 0"):
        guesses.choose_guess(CASE, "ours", [speed], (1024,))


def test_files_hold_every_point():
    rows = list(csv.DictReader(io.StringIO(files.to_csv(RUN))))
    assert len(rows) == 8 and float(rows[0]["gb_per_s"]) == 3000
    assert rows[0]["settings"] == "num_warps=8" and rows[2]["median_ms"] == ""
    assert rows[0]["caches"] == "cold"
    read = json.loads(files.to_json(RUN), parse_constant=pytest.fail)
    assert read["points"][2]["median_ms"] is None and read["case"]["values"] == [256, 1024]
    assert files.file_name(RUN) == "sweep-softmax-bfloat16-nvidia-h200-2026-01-02"
