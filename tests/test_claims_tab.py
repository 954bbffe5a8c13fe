"""Claims on the page: what is listed, said and drawn of each, and measured here one by one."""

from __future__ import annotations

import json
import shlex

import pytest

from benchmarks import __main__ as main
from benchmarks import sweep_command
from benchmarks.claims import CLAIMS
from benchmarks.messages import JobFailed
from benchmarks.results import Progress
from benchmarks.sweep_choice import Limits
from kernels.errors import InputError
from tests.claim_runs import ABOUT, Answering, any_run, landscape_run, sweep_run
from tests.fake_check import CPU, GPU
from tests.test_figures import words
from tests.workers import FakeWorker
from viz.locales import LANGUAGES, text
from viz.tabs.measure import claims as tab
from viz.tabs.measure import claims_charts as charts
from viz.tabs.measure import claims_words
from viz.tabs.measure.measured import Recordings

NOTHING = Recordings((), ())
CASES = CLAIMS["C8"].cases  # attention over its length, in two batches; C7 and C11 read them too


def lengths(math: float) -> list:
    """Return recorded runs of `CASES`: ours takes 1 ms, three stages 2, torch's steps ``math``."""
    took = {"ours": 1.0, "three": 2.0, "sdpa_math": math}
    return [sweep_run(case, lambda who, _: 1e3 * took.get(who, 1.5)) for case in CASES]


def own(run):
    """Return a run as it is when a visitor measures it."""
    return type(run)(run.case, run.device, getattr(run, "points", getattr(run, "runs", ())))


def listed(shown: dict) -> dict[str, str]:
    """Return the verdict of each row of the list, as it reads."""
    table = next(node for node in shown["list"] if node[0] == "table")
    rows = [row for row in table[3][2:] if row[1]["id"].startswith(claims_words.ROW)]
    return {words(row[2]): words(row[4]) for row in rows}


def chosen_row(shown: dict) -> list[str]:
    table = next(node for node in shown["list"] if node[0] == "table")
    return [words(row[2]) for row in table[3][2:] if row[1].get("aria-current")]


def plotted(update: dict) -> dict:
    return json.loads(update["value"].plot)


# What is shown.


def test_the_list_has_each_claim_with_a_word_and_a_mark_and_counts_them():
    shown = tab.redraw(["C8"], [], Recordings(tuple(lengths(4)), ()), "en")
    verdicts = listed(shown)
    assert list(verdicts) == list(CLAIMS) and chosen_row(shown) == ["C8"]
    # 4 times as fast everywhere: 3 to 5 (C8); twice the speed is more than 15 to 20 % (C11); no
    # longer length gains more (C7).
    assert verdicts["C8"] == "✓ holds" and verdicts["C11"] == "↑ more than claimed"
    assert verdicts["C7"] == "◐ holds in part"
    rest = set(CLAIMS) - {"C7", "C8", "C11"}
    assert {verdicts[key] for key in rest} == {"– not measured yet"}
    counts = "✓ holds 1↑ more than claimed 1◐ holds in part 1✕ does not hold 0– not measured yet "
    counts += f"{len(rest)}"
    assert counts in words(shown["list"])


def test_what_the_text_says_stands_apart_from_what_was_measured():
    kept = Recordings(tuple(lengths(2)), ())
    shown = tab.redraw(["C8"], [], kept, "en")
    head = words(shown["head"])
    said, measured = head.split("What we measured")
    assert said.startswith("What the text says C8 · an article on FlashAttention-2 in Triton")
    assert said.endswith(text("en", "claim.C8.says"))
    assert measured.startswith("Recorded on NVIDIA H200, 2026-01-02 · torch 2.13.0")
    assert "✕ does not hold. " in measured and "2.00×" in measured
    table = words(shown["table"])
    # 4 batches up to 8192 and 1 at 16384; 2 ms of torch's steps against 1 ms.
    assert "Batch" in table and "8192" in table and "163841" in table and "2.001.00" in table
    assert "python -m benchmarks claims C8 --run --record" in table
    assert table.count("--operation attention --values") == 2 and "--batch 1 --record" in table


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("key", CLAIMS)
def test_every_claim_can_be_shown_measured_or_not(key, language):
    bare = tab.redraw([key], [], NOTHING, language)
    assert f"claims {key} --run --record" in words(bare["head"])
    assert bare["plot"]["visible"] is False and bare["map"] == []
    kept = Recordings(tuple(any_run(case) for case in CLAIMS[key].cases), ())
    shown = tab.redraw([key], [], kept, language)
    assert text(language, "memory.from.recorded", name=GPU.name, date=ABOUT[0]) in words(
        shown["head"]
    )
    assert listed(shown)[key][0] in "✓◐✕"
    assert shown["plot"].get("value") or shown["map"]
    for part in ("list", "head", "map", "table"):
        assert "claim." not in words(shown[part]) and "claims." not in words(shown[part])


def test_a_command_gives_its_case():
    for claim in CLAIMS.values():
        shown = words(tab.redraw([claim.key], [], NOTHING, "en")["table"])
        for case in claim.cases:
            line = claims_words.command_of(case)
            assert line in shown and "--record" in line
            options = main._parser().parse_args(shlex.split(line)[3:])
            if options.command == "sweep":
                assert sweep_command.case_of(options) == case


@pytest.mark.parametrize("given", [None, "C8 ", ["C8"], "<b>", 8])
def test_what_is_no_claim_gets_one_sentence_and_the_picture_stays(given):
    shown = tab.redraw([given], "odd", NOTHING, "en")
    assert set(shown) == {"note"} and "claim must be one of C1" in words(shown["note"])
    worker = FakeWorker(device=GPU)
    (update,) = tab.measure_claim(worker, [given], None, NOTHING, "en")
    assert "claim must be one of" in words(update.shown["note"])
    assert not worker.jobs and update.run is None and not update.running


def test_files_that_are_refused_are_said():
    refused = InputError("recorded_unreadable", "…", file="a.json")
    assert "a.json" in words(tab.redraw(["C1"], [], Recordings((), (refused,)), "en")["list"])


# Charts.


def test_sweeps_of_the_same_sizes_are_one_and_others_lie_under_the_first():
    shorter, longer = (any_run(case) for case in CLAIMS["C20"].cases)
    (joined,) = charts.overlaid([shorter, longer])
    assert joined.case.values == (*shorter.case.values, *longer.case.values)
    assert joined.case.providers == ("ours", "single", "online", "torch", "compile")
    assert len(joined.points) == len(shorter.points) + len(longer.points)
    cold, hot = (any_run(case) for case in CLAIMS["C22"].cases)
    assert charts.overlaid([cold, hot]) == [hot, cold]
    shown = tab.redraw(["C22"], [], Recordings((cold, hot), ()), "en")
    lines = plotted(shown["plot"])
    names = " ".join(note["text"] for note in lines["layout"]["annotations"])
    assert "Blockwise · 2" in names
    assert "2: Recorded on NVIDIA H200, 2026-01-02 · softmax, bfloat16" in words(shown["table"])
    # Each is said to be what it is, and nothing is said of both that is true of one.
    assert text("en", "measure.hot.said") in words(shown["table"]).split("2: Recorded")[0]
    assert text("en", "measure.how.cold") not in words(shown["table"])
    alone = tab.redraw(["C20"], [], Recordings((shorter, longer), ()), "en")
    assert text("en", "measure.how.cold") in words(alone["table"])


def test_landscapes_are_maps_that_say_of_what_and_have_no_buttons():
    both = CLAIMS["C13"].cases
    # 2 ms where a block is of 128 columns, 4 ms elsewhere.
    runs = [
        landscape_run(case, lambda settings: 2.0 if settings["block"] == 128 else 4.0)
        for case in both
    ]
    shown = charts.drawn("C13", runs, "en")
    said = words(shown["map"])
    assert "head_dim 64" in said and "head_dim 128" in said and shown["plot"]["visible"] is False
    assert "role" not in json.dumps(shown["map"]) and "bw-heat-best" in json.dumps(shown["map"])
    fast = runs[0].points[1].flops / 2e-3 / 1e12
    assert f"{fast:.0f}" in said
    assert "block_m" in said
    about_warps = words(charts.drawn("C14", runs[:1], "en")["map"])
    assert about_warps.index("num_warps") < about_warps.index("num_stages")
    assert "A cell is the fastest over block_m, block." in about_warps


# Measuring.


def stage(n: int) -> Progress:
    return Progress("sweep", {"n": n, "of": 5, "axis": "seq", "value": 512})


class Staged(Answering):
    """Says a stage before what it answers."""

    def run(self, job, time_limit_s=None):
        yield stage(1)
        yield from super().run(job, time_limit_s)


def by_case(runs) -> dict:
    return {run.case: run for run in runs}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_claim_is_measured_run_by_run_and_judged(language):
    runs = lengths(4)
    worker = Staged(by_case(runs))
    updates = list(tab.measure_claim(worker, ["C8"], [], NOTHING, language))
    assert [job.case for job in worker.jobs] == list(CASES)
    assert [len(update.run) for update in updates if update.run is not None] == [1, 2, 2]
    notes = [words(update.shown["note"]) for update in updates]
    assert any(text(language, "claims.progress", n=2, of=2) in note for note in notes)
    assert any("512" in note for note in notes) and notes[-1] == ""
    assert [update.running for update in updates] == [True] * (len(updates) - 1) + [False]
    last = updates[-1]
    assert text(language, "memory.from.here", name=GPU.name) in words(last.shown["head"])
    for key in ("C7", "C8", "C11"):  # what they share is measured once
        assert text(language, "claims.here") in listed(last.shown)[key]
    begun = next(update for update in updates if update.run and len(update.run) == 1)
    assert text(language, "claims.begun", n=1, of=2) in words(begun.shown["head"])


def test_ones_own_runs_come_first_and_the_recorded_verdict_beside_them():
    kept, mine = Recordings(tuple(lengths(2)), ()), [own(run) for run in lengths(4)]
    head = words(tab.redraw(["C8"], mine, kept, "en")["head"])
    assert "Measured here on NVIDIA H200" in head and "✓ holds. " in head
    assert head.endswith("Recorded on NVIDIA H200, 2026-01-02: ✕ does not hold")
    newer = [*mine, *(own(run) for run in lengths(2))]
    assert "✕ does not hold. " in words(tab.redraw(["C8"], newer, NOTHING, "en")["head"])


def test_stop_keeps_what_is_whole_and_measure_goes_on_with_the_rest():
    first, second = lengths(4)
    worker = Staged(by_case([first, second]))
    going = tab.measure_claim(worker, ["C8"], [], NOTHING, "en")
    kept = next(update.run for update in going if update.run is not None)
    next(going)
    going.close()
    assert [run.case for run in kept] == [first.case] and not kept[0].date
    assert kept[0].points == first.points
    again = Answering(by_case([first, second]))
    *_, last = tab.measure_claim(again, ["C8"], kept, NOTHING, "en")
    assert [job.case for job in again.jobs] == [second.case]
    assert len(last.run) == 2 and last.run[0] is kept[0]
    # What is whole is measured anew, if it is asked for again.
    anew = Answering(by_case(lengths(2)))
    *_, last = tab.measure_claim(anew, ["C8"], last.run, NOTHING, "en")
    assert len(anew.jobs) == 2 and len(last.run) == 2
    assert "✕ does not hold" in listed(last.shown)["C8"]


def test_a_visitors_limits_hold_and_what_they_cut_short_gives_no_verdict(monkeypatch):
    monkeypatch.setattr(tab, "LIMITS", Limits(64, 20))
    (point, *_) = lengths(4)[0].points
    worker = FakeWorker(point, Progress("sweep_over", {"n": 1, "of": 5}), device=GPU)
    updates = list(tab.measure_claim(worker, ["C8"], [], NOTHING, "en"))
    assert [job.case.budget_s for job in worker.jobs] == [20] and updates[-1].run == []
    assert "The time is up: 1 of 5" in words(updates[-1].shown["note"])
    assert listed(updates[-1].shown)["C8"] == "– not measured yet"
    whole = Answering(dict(zip(map(tab.within_limits, CASES), lengths(4), strict=True)))
    *_, last = tab.measure_claim(whole, ["C8"], [], NOTHING, "en")
    assert [run.case for run in last.run] == list(CASES)  # in time, so runs of the claim's cases
    assert tab.within_limits(CLAIMS["C1"].cases[0]) == CLAIMS["C1"].cases[0]


def test_a_failure_is_said_and_what_was_measured_before_stays():
    first, second = CASES
    worker = Answering({first: lengths(4)[0], second: JobFailed("crashed", signal="SIGKILL")})
    *_, last = tab.measure_claim(worker, ["C8"], [], NOTHING, "en")
    assert "SIGKILL" in words(last.shown["note"]) and not last.running
    assert [run.case for run in last.run] == [first]
    refused = FakeWorker(InputError("needs_gpu", "…"), device=CPU)
    *_, last = tab.measure_claim(refused, ["C1"], [], NOTHING, "en")
    assert text("en", "error.needs_gpu") in words(last.shown["note"])


def test_runs_without_the_time_that_a_claim_is_about_are_said_to_lack_it():
    mine = [own(sweep_run(case, lambda who, _: "no_memory")) for case in CASES]
    head = words(tab.redraw(["C8"], mine, NOTHING, "en")["head"])
    assert "something that it is about has no time" in head and "no verdict" in head


def test_points_are_drawn_once_a_second_while_they_come(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(tab.time, "monotonic", lambda: now[0])
    points = lengths(4)[0].points[:3]
    drawn = []
    for update in tab.measure_claim(FakeWorker(*points, device=GPU), ["C8"], [], NOTHING, "en"):
        drawn.append("plot" in update.shown)
        if drawn == [False, True]:  # by its first point, and it says whose it is
            assert "Measured here on NVIDIA H200, drawn as it comes" in words(update.shown["table"])
        now[0] += 0.6
    assert drawn[:4] == [False, True, False, True]
