"""A sweep on the page: what is drawn and said of it, and what the tab's handlers answer."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from benchmarks.messages import JobFailed
from benchmarks.results import Progress
from benchmarks.sweep_choice import choose_sweep
from benchmarks.sweep_results import SweepPoint, SweepRun
from kernels.errors import InputError
from tests.fake_check import GPU
from tests.test_figures import words
from tests.workers import FakeWorker
from viz.figures.base import payload
from viz.figures.measure import Dot, Guess, Line, numbered, speed_figure
from viz.figures.roofline import Ceilings, Spot, roofline_figure
from viz.locales import LANGUAGES
from viz.tabs import measure as tab
from viz.tabs import measure_files as files
from viz.tabs import measure_guess as guesses
from viz.tabs.measured import Recordings

CASE = choose_sweep("softmax", "256, 1024", "bfloat16", ["ours", "torch", "liger"])
OURS = {"path": "single", "settings": {"num_warps": 8}, "registers": 64, "spills": 0}


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
VALUES = [
    "softmax",
    "256, 1024",
    "bfloat16",
    ["ours", "torch", "liger"],
    "GB/s",
    "torch",
    "",
    16,
    64,
]
VALUES = [*VALUES, "none"]


def values(**changes: object) -> list:
    names = "operation values dtype providers view reference rows heads head_dim mask".split()
    return [changes.get(name, value) for name, value in zip(names, VALUES, strict=True)]


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
    assert (ours.error_y.array[0], ours.error_y.arrayminus[0]) == (2, 1)
    assert made.layout.xaxis.type == "log" and made.layout.yaxis.range[0] == 0
    assert "Blockwise" in " ".join(note.text for note in made.layout.annotations)
    times = speed_figure([Line("ours", "Blockwise", dots)], "N", "ms", Guess(1024, 5.0, "mine"))
    assert times.layout.yaxis.type == "log" and list(times.data[-1].y) == [5]


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
    line = plotted(shown["plot"])["data"][-1]
    assert line["y"][1] == pytest.approx(ours)
    assert line["error_y"]["arrayminus"][1] == pytest.approx(low)
    assert "64" in line["text"][0] and "num_warps 8" in line["text"][0]


def test_the_words_say_where_from_how_near_the_ceiling_and_who_is_ahead():
    shown = tab.redraw(VALUES, [], {}, KEPT, "en")
    said = words(shown["headline"])
    assert "Recorded on NVIDIA H200, 2026-01-02" in said and "torch 2.13.0" in said
    assert "Blockwise runs at 75% of a plain copy" in said  # 1.5 ms of 2 ms
    assert "at N = 1024 it is 1.50× as fast as torch eager" in said
    card = words(shown["card"])
    assert "Blockwise is the fastest: 3000 GB/s" in card and "path single" in card
    assert "torch eager is ahead of every Blockwise kernel shown at N = 256, up to 1.25×" in card
    table = words(shown["table"])
    assert "3750" in table and "Liger has no time at N = 256, 1024: it is not installed" in table
    roof = plotted(shown["roof_plot"])
    assert roof["data"][0]["y"][0] == pytest.approx(roof["data"][0]["x"][0] * 4.0)  # 4000 GB/s


def test_providers_and_values_are_filtered():
    shown = tab.redraw(values(providers=["torch"], values="256"), [], {}, KEPT, "en")
    lines = plotted(shown["plot"])["data"]
    assert [line["x"] for line in lines] == [[256], [256]]  # the copy and torch
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
        assert "(7)" in words(tab.redraw(VALUES, [odd], {}, NOTHING, language)["table"])


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
        ({"operation": "attention", "providers": [], "head_dim": 1e300}, "head_dim must be"),
    ],
)
def test_a_mistake_gets_one_sentence_and_the_picture_stays(changes, said):
    given = values(**changes)
    shown = tab.redraw(given, "odd", {"speed": []}, KEPT, "en")
    assert set(shown) == {"note"} and said in words(shown["note"])
    worker = FakeWorker(device=GPU)
    (update,) = tab.measure(worker, given, [RUN], None, KEPT, "en")
    assert said in words(update.shown["note"]) and not worker.jobs and update.run is None


# Predict first.


def test_the_recorded_curve_waits_for_a_guess_that_is_held_against_it():
    asked = tab.redraw(VALUES, [], None, KEPT, "en")
    assert asked["plot"]["visible"] is False and asked["table"] == []
    assert "N = 1024" in words(asked["question"]) and "3000" not in words(list(asked.values())[1:2])
    guess = guesses.choose_guess(CASE, "torch", " 1500 ")
    shown = tab.redraw(VALUES, [], guess, KEPT, "en")
    told = words(shown["guessed"])
    assert (
        "torch eager at 1500 GB/s; it is Blockwise at 3000 GB/s" in told and "50% too low" in told
    )
    assert plotted(shown["plot"])["data"][-1]["y"] == [1500]
    assert "100% too high" in words(
        tab.redraw(VALUES, [], {**guess, "speed": 6000.0}, KEPT, "en")["guessed"]
    )
    assert words(tab.redraw(VALUES, [], {**guess, "dtype": "x"}, KEPT, "en")["guessed"]) == ""


@pytest.mark.parametrize("speed", [None, "", "nan", "-1", "inf", "1e9", True, [], "9" * 50])
def test_a_guess_that_is_no_speed_is_refused(speed):
    with pytest.raises(InputError, match="Your guess must be a number above 0"):
        guesses.choose_guess(CASE, "ours", speed)


# Measuring.


def stage(n: int) -> Progress:
    return Progress("sweep", {"n": n, "of": 2, "axis": "n_cols", "value": 256})


@pytest.mark.parametrize("language", LANGUAGES)
def test_points_stream_and_stay_when_the_job_fails(language):
    worker = FakeWorker(stage(1), *POINTS[:4], JobFailed("crashed", signal="SIGKILL"), device=GPU)
    updates = list(tab.measure(worker, VALUES, [], None, NOTHING, language))
    assert [len(u.run[-1].points) for u in updates if u.run] == [1, 2, 3, 4, 4]
    plots = ["plot" in u.shown for u in updates]
    assert plots == [False, False, True, False, False, False, True]  # one a second at most
    assert "300" in words(updates[1].shown["note"]) and "256" in words(updates[1].shown["note"])
    assert "SIGKILL" in words(updates[-1].shown["note"]) and updates[-1].running is False
    assert worker.jobs[0].case == CASE


def test_stop_closes_the_job_and_measure_goes_on_with_what_is_missing():
    worker = FakeWorker(stage(1), *POINTS, device=GPU)
    going = tab.measure(worker, VALUES, [], {}, NOTHING, "en")
    kept = [next(going).run for _ in range(7)][-1]  # the first size whole, one point of the next
    going.close()
    assert worker.closed and len(kept[-1].points) == 5
    again = FakeWorker(stage(1), *POINTS[4:], device=GPU)
    updates = list(tab.measure(again, VALUES, kept, {}, NOTHING, "en"))
    assert again.jobs[0].case.values == (1024,)
    assert "1 of 2 sizes were measured before" in words(updates[0].shown["note"])
    assert updates[-1].run[-1].points == POINTS and len(updates[-1].run) == 1
    assert tab.started(CASE, updates[-1].run) is None


def test_four_sweeps_lie_over_one_another_and_the_newest_is_in_question():
    measured: list = []
    for dtype in ("float32", "float16", "bfloat16", "float32", "bfloat16"):
        worker = FakeWorker(*POINTS, device=GPU)
        *_, last = tab.measure(worker, values(dtype=dtype), measured, {}, NOTHING, "en")
        measured = last.run
    assert len(measured) == 4 and measured[-1].case == CASE
    shown = tab.redraw(VALUES, measured, {}, KEPT, "en")
    assert "Measured here on NVIDIA H200" in words(shown["headline"])
    notes = " ".join(note["text"] for note in plotted(shown["plot"])["layout"]["annotations"])
    assert "Blockwise · 1" in notes and "Blockwise · 4" in notes
    assert shown["clear"]["visible"] is True
    assert "Recorded on" in words(tab.redraw(VALUES, [], {}, KEPT, "en")["headline"])


def test_the_time_that_is_left_is_told_and_when_it_is_over(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(tab.time, "monotonic", lambda: now[0])
    clock = tab._Clock(300)
    assert clock.left(stage(1)) == {"most": 300}
    now[0] += 20
    assert clock.left(stage(2)) == {"about": 20}
    over = Progress("sweep_over", {"n": 1, "of": 2})
    *_, last = tab.measure(FakeWorker(*POINTS[:4], over, device=GPU), VALUES, [], {}, KEPT, "en")
    assert "The time is up: 1 of 2" in words(last.shown["note"]) and not last.running


def test_files_hold_every_point():
    rows = list(csv.DictReader(io.StringIO(files.to_csv(RUN))))
    assert len(rows) == 8 and float(rows[0]["gb_per_s"]) == 3000
    assert rows[0]["settings"] == "num_warps=8" and rows[2]["median_ms"] == ""
    read = json.loads(files.to_json(RUN), parse_constant=pytest.fail)
    assert read["points"][2]["median_ms"] is None and read["case"]["values"] == [256, 1024]
    assert files.file_name(RUN) == "sweep-softmax-bfloat16-nvidia-h200-2026-01-02"


def test_controls_begin_with_what_was_recorded():
    assert tab.suggested("softmax", "bfloat16", KEPT) == "256, 1024"
    assert tab.suggested("attention", "bfloat16", KEPT) == "512..16384 x2"
