"""A landscape on the page: what is drawn and said of it, and what the tab's handlers answer."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from benchmarks import recorded
from benchmarks.messages import JobFailed
from benchmarks.occupancy import occupancy
from benchmarks.operations import OPERATIONS
from benchmarks.results import Progress
from benchmarks.sweep_choice import choose_landscape
from benchmarks.sweep_results import SweepPoint, SweepRun
from kernels.errors import InputError
from tests.fake_check import GPU
from tests.landscapes import ATTENTION, SOFTMAX
from tests.test_figures import words
from tests.workers import FakeWorker
from viz.figures.landscape import CELL, Axis, Tile, heat_map, inks
from viz.locales import LANGUAGES, text
from viz.tabs.measure import files
from viz.tabs.measure import landscape as tab
from viz.tabs.measure import landscape_cells as cells
from viz.tabs.measure import landscape_live as live
from viz.tabs.measure.landscape_cells import Landscape, Look, axes_for, varying
from viz.tabs.measure.landscape_guess import SKIPPED, Guess
from viz.tabs.measure.measured import Recordings

# A product of 2 GB and 5 TFLOP over two settings that vary, and one that does not.
CASE = choose_landscape("matmul", 1024)
COPY = SweepPoint("copy", 0, median_ms=1, p20_ms=1, p80_ms=1, n=9, n_bytes=2 * 10**9)
KEPT, NOTHING = Recordings((ATTENTION, SOFTMAX), ()), Recordings((), ())
SKIP = tab.Seen(guess=SKIPPED)
VALUES = {
    "operation": "softmax", "size": "32768", "dtype": "bfloat16", "view": "GB/s", "up": "",
    "flat": "", "rows": "4096", "batch": 1, "heads": 16, "head_dim": 64, "mask": "none",
    "chosen": "",
}  # fmt: skip


def point(block: int, warps: int, ms: float, **about: object) -> SweepPoint:
    settings = {"block": block, "group_m": 8, "num_warps": warps}
    held = {"registers": 64, "spills": 0, "shared_bytes": 8192, "warps": warps, **about}
    times = {} if "reason" in about else {"median_ms": ms, "p20_ms": 0.9 * ms, "p80_ms": 1.5 * ms}
    sizes = {"n": 9, "n_bytes": 2 * 10**9, "flops": 5 * 10**12, "settings": settings}
    return SweepPoint("ours", 0, **sizes, **times, **{k: held[k] for k in held})


POINTS = (
    COPY,
    point(64, 4, 2.0),
    point(64, 8, 1.25),
    point(128, 4, 1.5, spills=3),
    point(128, 8, 1.0, registers=60),
    point(128, 16, 1.1, registers=128),
    point(256, 8, 0, reason="unfit", message="too much shared memory"),
)
RUN = SweepRun(CASE, GPU, POINTS, "2026-01-02", "0123456", "x")
LAND = Landscape.of(RUN)


def given(**changes: object) -> list:
    return list({**VALUES, **changes}.values())


ATTENTION_GIVEN = given(
    operation="attention", size=4096, view="TFLOP/s", batch=4, head_dim=128, rows=""
)


def texts(nodes, kind: str) -> list[str]:
    """Return the text of every node that has a class."""
    found = []
    for node in nodes if isinstance(nodes, list) else []:
        if isinstance(node, dict):
            continue
        if isinstance(node, list):
            about = node[1] if len(node) > 1 and isinstance(node[1], dict) else {}
            if kind in about.get("class", "").split():
                found.append(words(node))
            found += texts(node, kind)
    return found


def printed(nodes) -> dict[str, str]:
    """Return what is printed in every cell, by the place in its id."""
    found = {}
    for node in nodes:
        if isinstance(node, list) and len(node) > 1 and isinstance(node[1], dict):
            if str(node[1].get("id", "")).startswith(CELL):
                found[node[1]["id"][len(CELL) :]] = words(node[2])
            found |= printed(node[2:])
    return found


# The figure.


def test_the_ramp_goes_from_the_least_number_to_the_largest():
    nan = float("nan")
    assert inks({(0, 0): 10.0, (0, 1): 20.0, (1, 0): 12.5, (1, 1): nan}) == {
        (0, 0): 5, (0, 1): 51, (1, 0): 16,  # 5 + 46 / 4 = 16.5, to even
    }  # fmt: skip
    assert inks({(0, 0): 3.0}) == {(0, 0): 5} and inks({}) == {}


def test_a_map_has_its_largest_row_on_top_and_every_cell_is_a_button_with_its_number():
    tiles = {
        (64, 4): Tile("10", 10.0, name="a", told=("slow",)),
        (128, 4): Tile("20", 20.0, marks=("best", "guess"), name="b"),
        (64, 8): Tile("30", 30.0, "48 B", ("spilled",), "c"),
    }
    (table,) = heat_map(tiles, Axis("block", (64, 128)), Axis("num_warps", (4, 8)), "title")
    rows = table[2][2:]
    assert [words(row[2]) for row in rows] == ["128", "64", "block", ""]
    assert printed([table]) == {"1-0": "20", "0-0": "10", "0-1": "30"}
    assert words(rows[0][4:]) == ""  # nothing was tried there
    (ring,) = [node for node in rows[0][3][2] if isinstance(node, list) and "ring" in str(node[1])]
    assert ring[0] == "span"
    text = json.dumps(table)
    assert "bw-ink-51" in text and "bw-ink-5 " not in text and text.count("bw-ink") == 2
    assert text.count('"tabindex": "0"') == 1  # one stop: the fastest
    assert texts([table], "bw-heat-note") == ["48 B"]
    assert '"aria-label": "a. slow"' in text


# Cells.


def test_the_settings_that_vary_are_the_axes_and_the_others_are_told_apart():
    assert varying([{"a": 1, "b": 2}, {"a": 3, "b": 2}]) == ("a",)
    assert varying([{"num_warps": 4}]) == ("num_warps",)
    assert Landscape.of(SOFTMAX).names == ("block", "num_warps")
    names = ("block_m", "block", "num_warps", "num_stages")
    nobody = ("", "")
    assert axes_for(names, "", "", nobody) == ("block_m", "block")
    assert axes_for(("block", "num_warps"), None, None, nobody) == ("block", "num_warps")
    assert axes_for(names, "num_stages", "rows", nobody) == ("num_stages", "block_m")
    assert axes_for(("num_warps",), "block", "num_warps", nobody) == ("", "num_warps")
    # Who asks for one setting twice swaps the two.
    assert axes_for(names, "block", "block", ("block_m", "block")) == ("block", "block_m")
    assert axes_for(names, "block_m", "block_m", ("block_m", "block")) == ("block", "block_m")
    for odd in ("colour", 7, ["block"]):
        with pytest.raises(InputError, match="across must be one of"):
            axes_for(names, "block", odd, nobody)


def test_a_cell_is_the_fastest_of_its_points_and_a_step_changes_one_setting():
    look = Look("ms", "", "num_warps")
    by_place = LAND.cells(look)
    assert [p.median_ms for p in by_place[0, 8]][:2] == [1.0, 1.25] and len(by_place[0, 8]) == 3
    assert LAND.values("block") == (64, 128, 256) and LAND.values("rows") == (0,)
    beside = LAND.neighbours(LAND.best, "num_warps")
    assert [(value, other.median_ms) for value, other in beside] == [(4, 1.5), (16, 1.1)]
    assert [value for value, _ in LAND.neighbours(LAND.best, "block")] == [64, 256]
    assert (
        cells.slower(POINTS[1], LAND.best) == "100" and cells.slower(POINTS[5], LAND.best) == "10"
    )
    assert LAND.words(LAND.best.settings) == "block 128, num_warps 8"
    assert LAND.named("block 128, num_warps 8") is LAND.best and LAND.named(None) is None


@pytest.mark.parametrize(
    ("view", "number"),
    [("GB/s", 2000), ("TFLOP/s", 5000), ("ms", 1), ("registers", 60), ("shared", 8192)],
)
def test_a_view_is_of_the_point(view, number):
    assert LAND.number(LAND.best, view) == pytest.approx(number)


def test_occupancy_is_of_the_point_on_the_gpu_it_ran_on():
    held = occupancy((9, 0), 8, 60, 8192)
    assert LAND.number(LAND.best, "occupancy") == 100 * held.share
    elsewhere = Landscape.of(replace(RUN, device=replace(GPU, capability=None)))
    assert elsewhere.occupancy(elsewhere.best) is None


def test_operations_follow_the_table():
    assert set(cells.operations()) == {
        name for name, about in OPERATIONS.items() if about.algorithm.configs
    }


# What is shown.


def test_a_recorded_landscape_is_drawn_with_its_words():
    shown = tab.redraw(given(), SKIP, KEPT, "en")
    said = words(shown["headline"])
    assert "Recorded on NVIDIA H200, 2026-01-02" in said and "N 32768, n_rows 4096" in said
    # 2 x 2 bytes x 4096 x 32768 in 1 ms; 29 pairs of at least one and at most 64 values a thread.
    assert "block 4096, num_warps 8 is the fastest of 29 settings: 537 GB/s" in said
    assert "takes 2.14×" in said  # 1.1 to the eighth
    numbers = printed(shown["map"])
    assert len(numbers) == 29 and numbers["4-2"] == "537" and numbers["5-2"] == "488"
    assert texts(shown["map"], "bw-heat-spilled") and set(texts(shown["map"], "bw-heat-note")) == {
        "48 B"
    }
    (best,) = texts(shown["map"], "bw-heat-best")
    assert best.startswith("537")
    assert "An empty place was not tried." in words(shown["key"])
    card = words(shown["card"])
    assert "90% of a copy of the same bytes" in card and "nothing spilled" in card
    assert "block: with 2048, 10% slower; with 8192, 10% slower (occupancy 50%, not 62%)." in card
    table = words(shown["table"])
    assert "The 10 fastest settings" in table and "0.98–1.03" in table
    # Settings are compiled together: none has a first call of its own.
    for part in ("map", "card", "table"):
        assert text("en", "measure.told.first") not in words(shown[part])
    assert "attention: T 4096, batch 4" in words(shown["recorded"])


def test_what_one_step_costs_names_only_what_the_numbers_show():
    parts = tab.draw(LAND, Look("TFLOP/s", "block", "num_warps"), SKIP, NOTHING, "en")
    card = words(parts["card"])
    assert "block: with 64, 25% slower; with 256, no time: needs more shared memory or" in card
    # 16 warps of 128 registers are all of a multiprocessor's: 16 of 64 warps. Of 60, it holds 32.
    cost = (
        "with 4, 50% slower (12 B a thread spilled); with 16, 10% slower (occupancy 25%, not 50%)."
    )
    assert cost in card and "copy" not in card  # measured in operations
    assert (
        "1 of 6 settings have no time: 1 × needs more shared memory or registers than there are"
        in words(parts["table"])
    )
    assert printed(parts["map"]) == {
        "2-1": "–", "1-0": "3333", "1-1": "5000", "1-2": "4545", "0-0": "2500", "0-1": "4000",
    }  # fmt: skip
    assert "too much shared memory" in words(parts["map"])
    key = words(parts["key"])
    assert "left out: needs more shared memory" in key and "spilled, bytes a thread" in key
    assert "over num_warps" not in key


def test_a_cell_of_several_settings_says_so_and_attention_says_what_does_not_fit():
    shown = tab.redraw(ATTENTION_GIVEN, SKIP, KEPT, "en")
    key, told = words(shown["key"]), words(shown["map"])
    assert "A cell is the fastest over num_warps, num_stages." in key
    assert "the fastest of 6 settings in this cell" in told
    # 256 x (128 + 256) values of 4 x 32 threads.
    assert "768 values a thread, and 192 fit its registers." in told
    assert len(printed(shown["map"])) == 12 and "An empty" not in key
    assert "1 × its output is wrong" in words(shown["table"])
    other = list(ATTENTION_GIVEN)
    other[4:6] = ["num_stages", "num_warps"]
    again = tab.redraw(other, SKIP, KEPT, "en")
    assert len(printed(again["map"])) == 6 and again["up"]["value"] == "num_stages"
    assert words(again["headline"]) == words(shown["headline"])


@pytest.mark.parametrize("view", cells.VIEWS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_view_fits_its_cells_in_both_languages(view, language):
    for values in (given(view=view), [*ATTENTION_GIVEN[:3], view, *ATTENTION_GIVEN[4:]]):
        shown = tab.redraw(values, SKIP, KEPT, language)
        assert max(map(len, printed(shown["map"]).values())) <= 5
        json.dumps(shown["map"], allow_nan=False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_recording_it_is_said_what_every_setting_needs(language):
    shown = tab.redraw(given(size="999", rows="7", dtype="float32"), tab.Seen(), KEPT, language)
    assert shown["map"] == [] and shown["card"] == [] and shown["actions"]["visible"] is False
    # 1024 values over 4 x 32 threads are 8 a thread.
    rows = [words(cell) for cell in shown["table"][0][2][2][4][2:]]
    assert len(rows) == 12 and any(row.endswith("1024408") for row in rows)
    assert "32768" in words(shown["recorded"])
    nothing = tab.redraw(given(size="999"), tab.Seen(), NOTHING, language)
    assert words(nothing["recorded"])


def test_controls_follow_the_operation_and_begin_with_what_was_recorded():
    assert tab.suggested("attention", KEPT)["head_dim"] == 128
    assert tab.suggested("matmul", KEPT) == {"size": "4096", "rows": ""}
    told = tab.switched("attention", SKIP, KEPT, "en")
    assert told["batch"]["value"] == 4 and told["view"]["value"] == "TFLOP/s"
    assert told["up"]["value"] == "" and told["measured"] == SKIP
    shown = tab.redraw(given(operation="chain", size=4096), SKIP, KEPT, "en")
    assert shown["up"]["visible"] is False and shown["rows"]["visible"] is True
    assert shown["heads"]["visible"] is False and shown["size"]["label"] == "N"
    shown = tab.redraw(ATTENTION_GIVEN, SKIP, KEPT, "en")
    assert shown["rows"]["visible"] is False and shown["mask"]["visible"] is True
    assert shown["size"]["label"] == "T" and "4096" in shown["size"]["choices"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"size": "many"}, "N must be a whole number from 1 to 1048576, got many"),
        ({"size": None}, "N must be a whole number"),
        ({"operation": "sort"}, "operation must be one of"),
        ({"operation": ["softmax"]}, "operation must be one of"),
        ({"view": "ratio"}, "view must be one of"),
        ({"rows": "0"}, "n_rows must be from 1"),
        ({"dtype": "float64"}, "dtype must be one of"),
        ({"up": "colour"}, "upright must be one of"),
    ],
)
def test_a_mistake_is_one_sentence_and_the_picture_stays(changes, said):
    shown = tab.redraw(given(**changes), SKIP, KEPT, "en")
    assert set(shown) == {"note"} and said in words(shown["note"])
    worker = FakeWorker(device=GPU)
    (update,) = live.measure(worker, given(**changes), SKIP, KEPT, "en")
    assert said in words(update.shown["note"]) and not worker.jobs
    assert update.run is None and update.running is False


def test_a_client_that_sends_anything_as_its_state_has_nothing():
    for odd in (None, [], {"runs": 1}, "x"):
        assert tab.seen_of(odd) == tab.Seen()
        assert words(tab.redraw(given(), odd, KEPT, "en")["question"])


# Predict first, and a cell that is chosen.


def test_the_map_waits_for_a_guess_that_is_held_against_it():
    asked = tab.redraw(given(), None, KEPT, "en")
    assert asked["ask"]["visible"] is True and asked["table"] == [] and asked["card"] == []
    assert set(printed(asked["map"]).values()) == {"?"} and "537" not in words(asked["map"])
    assert asked["guess_up"]["label"] == "block" and "16384" in asked["guess_up"]["choices"]
    shown = tab.guessed(given(), asked["measured"], "1024", "8", KEPT, "en")
    # Two steps of 1.1 from the best.
    assert (
        words(shown["guessed"])
        == "You picked block 1024, num_warps 8: 21% slower than the best, block 4096, num_warps 8."
    )
    assert texts(shown["map"], "bw-heat-guess")[0].startswith("444")
    assert "your guess" in words(shown["key"]) and shown["ask"]["visible"] is False
    best = tab.guessed(given(), None, 4096, 8, KEPT, "en")
    assert "the fastest is there" in words(best["guessed"])
    untried = tab.guessed(given(), None, 256, 32, KEPT, "en")
    assert "which was not tried" in words(untried["guessed"])
    unfit = tab.guessed(ATTENTION_GIVEN, None, "256", "256", KEPT, "en")
    assert "which has no time: needs more shared memory or registers than there are" in words(
        unfit["guessed"]
    )
    # Of another case, or over other axes, there is no mark.
    seen = shown["measured"]
    assert words(tab.redraw(ATTENTION_GIVEN, seen, KEPT, "en")["guessed"]) == ""
    other = tab.guessed(ATTENTION_GIVEN, None, "64", "64", KEPT, "en")["measured"]
    turned = [*ATTENTION_GIVEN[:4], "num_stages", "num_warps", *ATTENTION_GIVEN[6:]]
    there = tab.redraw(turned, other, KEPT, "en")
    assert "20% slower" in words(there["guessed"]) and not texts(there["map"], "bw-heat-guess")
    again = tab.ask_again(given(), seen, None, KEPT, "en")
    assert again["ask"]["visible"] is True
    skipped = tab.ask_again(given(), None, SKIPPED, KEPT, "en")
    assert skipped["ask"]["visible"] is False and skipped["guessed"] == []


@pytest.mark.parametrize(("up", "flat"), [(None, "8"), ("1000", "8"), ("1024", [8]), ("x", "")])
def test_a_guess_that_is_no_cell_is_refused(up, flat):
    shown = tab.guessed(given(), None, up, flat, KEPT, "en")
    assert set(shown) == {"note"} and "must be" in words(shown["note"])


def test_a_click_guesses_while_a_guess_is_asked_and_chooses_afterwards():
    guess = tab.picked(given(), None, f"{CELL}4-2", KEPT, "en")
    assert isinstance(guess["measured"].guess, Guess) and words(guess["guessed"])
    seen = guess["measured"]
    chosen = tab.picked(given(), seen, f"{CELL}3-1", KEPT, "en")
    assert chosen["chosen"]["value"] == "block 2048, num_warps 4"
    about = words(chosen["about"])
    assert "33% slower than the fastest" in about and "error 0.001 ≤ 0.01" in about
    assert "limited by" in about and "1980 MHz" in about
    assert texts(chosen["map"], "bw-heat-chosen")[0].startswith("403")
    let_go = tab.picked(given(chosen="block 2048, num_warps 4"), seen, f"{CELL}3-1", KEPT, "en")
    assert let_go["chosen"]["value"] == "" and let_go["about"] == []
    for odd in (None, 7, "landscape-cell-", f"{CELL}99-0", f"{CELL}0-4", "<b>"):
        assert tab.picked(given(), seen, odd, KEPT, "en") == {}
    by_name = tab.redraw(given(chosen="block 512, num_warps 2"), seen, KEPT, "en")
    assert "block 512, num_warps 2" in words(by_name["about"])
    gone = tab.redraw(given(chosen="block 7"), seen, KEPT, "en")
    assert gone["about"] == [] and gone["chosen"]["value"] == ""


# Measuring.


def stage(n: int) -> Progress:
    return Progress("landscape", {"n": n, "of": 29})


@pytest.mark.parametrize("language", LANGUAGES)
def test_settings_stream_into_a_map_of_all_and_stay_when_the_job_fails(language):
    crash = JobFailed("crashed", signal="SIGKILL")
    worker = FakeWorker(stage(1), *SOFTMAX.points[:4], crash, device=GPU)
    updates = list(live.measure(worker, given(), None, NOTHING, language))
    drawn = [update.shown["map"] for update in updates if "map" in update.shown]
    # The copy, three settings and the end; the map has all its cells from the first on.
    assert len(drawn) == 5 and {len(printed(one)) for one in drawn} == {29}
    assert list(printed(drawn[-1]).values()).count("·") == 26
    assert "300" in words(updates[1].shown["note"]) and "29" in words(updates[1].shown["note"])
    assert "SIGKILL" in words(updates[-1].shown["note"]) and updates[-1].running is False
    assert [len(u.run.runs[-1].points) for u in updates if u.run] == [1, 2, 3, 4, 4]
    assert worker.jobs[0].case == choose_landscape("softmax", 32_768, n_rows=4096)
    assert updates[-1].run.guess == SKIPPED


def test_stop_keeps_what_is_there_and_ones_own_run_comes_before_a_recorded_one():
    worker = FakeWorker(*SOFTMAX.points, device=GPU)
    going = live.measure(worker, given(), SKIP, KEPT, "en")
    kept = [next(going).run for _ in range(6)][-1]
    going.close()
    assert worker.closed and len(kept.runs[-1].points) == 5
    shown = tab.redraw(given(), kept, KEPT, "en")
    assert "Measured here on NVIDIA H200" in words(shown["headline"])
    assert "not measured yet" in words(shown["key"])
    again = FakeWorker(*SOFTMAX.points, device=GPU)
    *_, last = live.measure(again, given(), kept, KEPT, "en")
    assert len(last.run.runs) == 1 and len(last.run.runs[0].points) == len(SOFTMAX.points)


def test_settings_that_do_not_fit_come_at_once_and_are_drawn_with_the_next():
    n_unfit = sum(point.reason == "unfit" for point in ATTENTION.points)
    worker = FakeWorker(*ATTENTION.points[: n_unfit + 1], device=GPU)
    updates = list(live.measure(worker, ATTENTION_GIVEN, SKIP, NOTHING, "en"))
    assert n_unfit == 30 and len(updates) == 3
    only = FakeWorker(*ATTENTION.points[:2], device=GPU)
    *_, last = live.measure(only, ATTENTION_GIVEN, SKIP, NOTHING, "en")
    assert "No setting has a time" in words(last.shown["headline"])


def test_four_of_ones_own_are_kept_and_the_time_that_is_up_is_told():
    seen = SKIP
    for size in (256, 512, 1024, 2048, 4096):
        over = Progress("sweep_over", {"n": 1, "of": 9})
        worker = FakeWorker(SOFTMAX.points[0], over, device=GPU)
        *_, last = live.measure(worker, given(size=size), seen, KEPT, "en")
        seen = last.run
        assert "The time is up: 1 of 9 settings" in words(last.shown["note"])
    assert [run.case.sizes.n_cols for run in seen.runs] == [512, 1024, 2048, 4096]


# Files.


@pytest.mark.parametrize("run", [SOFTMAX, ATTENTION], ids=["softmax", "attention"])
def test_a_landscape_is_recorded_and_taken_away_whole(tmp_path, run):
    assert recorded.text_of(recorded.read(recorded.write(run, tmp_path))) == recorded.text_of(run)
    rows = list(csv.DictReader(io.StringIO(files.to_csv(run))))
    assert len(rows) == len(run.points) and {row["provider"] for row in rows} == {"ours", "copy"}
    read = json.loads(files.to_json(run), parse_constant=pytest.fail)
    assert read["case"]["operation"] == run.case.operation
    assert files.file_name(run).startswith(f"landscape-{run.case.operation}-bfloat16-nvidia-h200")
