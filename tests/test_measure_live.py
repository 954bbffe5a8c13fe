"""A sweep on this machine's GPU, on the page: points stream in, Stop keeps them, it goes on."""

from __future__ import annotations

import pytest

from benchmarks.messages import JobFailed
from benchmarks.results import Progress
from tests.fake_check import GPU
from tests.test_figures import words
from tests.test_measure import CASE, KEPT, NOTHING, POINTS, RUN, plotted, values
from tests.workers import FakeWorker
from viz.locales import LANGUAGES
from viz.tabs.measure import speed as tab
from viz.tabs.measure import speed_live as live
from viz.tabs.measure.speed_runs import key_of


@pytest.mark.parametrize("changes", [{"values": "0"}, {"axis": "seq"}, {"runs": ["odd"]}])
def test_a_mistake_is_told_and_nothing_is_measured(changes):
    worker = FakeWorker(device=GPU)
    (update,) = live.measure(worker, values(**changes), [RUN], None, KEPT, "en")
    assert "✕" in words(update.shown["note"]) and not worker.jobs and update.run is None


def stage(n: int) -> Progress:
    return Progress("sweep", {"n": n, "of": 2, "axis": "n_cols", "value": 256})


@pytest.mark.parametrize("language", LANGUAGES)
def test_points_stream_and_stay_when_the_job_fails(language):
    worker = FakeWorker(stage(1), *POINTS[:4], JobFailed("crashed", signal="SIGKILL"), device=GPU)
    updates = list(live.measure(worker, values(), [], None, NOTHING, language))
    assert [len(u.run[-1].points) for u in updates if u.run] == [1, 2, 3, 4, 4]
    plots = ["plot" in u.shown for u in updates]
    assert plots == [False, False, True, False, False, False, True]  # one a second at most
    assert "300" in words(updates[1].shown["note"]) and "256" in words(updates[1].shown["note"])
    assert "SIGKILL" in words(updates[-1].shown["note"]) and updates[-1].running is False
    assert worker.jobs[0].case == CASE


@pytest.mark.parametrize("changes", [{}, {"values": "0"}])
def test_who_measures_without_a_guess_has_skipped_it_and_a_guess_stays(changes):
    for guess, wanted in ((None, {}), ({"provider": "ours"}, None)):
        worker = FakeWorker(*POINTS[:4], device=GPU)
        update = next(live.measure(worker, values(**changes), [], guess, NOTHING, "en"))
        assert update.shown.get("guess") == wanted


def test_stop_closes_the_job_and_measure_goes_on_with_what_is_missing():
    worker = FakeWorker(stage(1), *POINTS, device=GPU)
    going = live.measure(worker, values(), [], {}, NOTHING, "en")
    kept = [next(going).run for _ in range(7)][-1]  # the first size whole, one point of the next
    going.close()
    assert worker.closed and len(kept[-1].points) == 5
    again = FakeWorker(stage(1), *POINTS[4:], device=GPU)
    updates = list(live.measure(again, values(), kept, {}, NOTHING, "en"))
    assert again.jobs[0].case.values == (1024,)
    assert "1 of 2 sizes were measured before" in words(updates[0].shown["note"])
    assert updates[-1].run[-1].points == POINTS and len(updates[-1].run) == 1
    assert live.started(CASE, updates[-1].run) is None


def test_four_sweeps_lie_over_one_another_and_the_newest_is_in_question():
    measured: list = []
    for dtype in ("float32", "float16", "bfloat16", "float32", "bfloat16"):
        worker = FakeWorker(*POINTS, device=GPU)
        *_, last = live.measure(worker, values(dtype=dtype), measured, {}, NOTHING, "en")
        measured = last.run
    assert len(measured) == 4 and measured[-1].case == CASE
    shown = tab.redraw(values(), measured, {}, KEPT, "en")
    assert "Measured here on NVIDIA H200" in words(shown["headline"])
    notes = " ".join(note["text"] for note in plotted(shown["plot"])["layout"]["annotations"])
    assert "Blockwise · 1" in notes and "Blockwise · 4" in notes
    assert shown["clear"]["visible"] is True
    assert "Recorded on" in words(tab.redraw(values(), [], {}, KEPT, "en")["headline"])


def test_the_time_that_is_left_is_told_and_when_it_is_over(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    clock = live.Clock(300)
    assert clock.left(stage(1)) == {"most": 300}
    now[0] += 20
    assert clock.left(stage(2)) == {"about": 20}
    # It runs down while a size is measured, and waits at those that follow.
    four = Progress("sweep", {"n": 2, "of": 4, "axis": "n_cols", "value": 256})
    for passed, left in ((0, 60), (5, 55), (10, 45), (40, 40)):
        now[0] += passed
        assert clock.left(four) == {"about": left}
    over = Progress("sweep_over", {"n": 1, "of": 2})
    *_, last = live.measure(FakeWorker(*POINTS[:4], over, device=GPU), values(), [], {}, KEPT, "en")
    assert "The time is up: 1 of 2" in words(last.shown["note"]) and not last.running


def test_a_recorded_run_that_was_chosen_lies_under_the_new_one():
    worker = FakeWorker(*POINTS, device=GPU)
    given = values(runs=[key_of(RUN)], hot=False)
    *_, last = live.measure(worker, given, [], {}, KEPT, "en")
    assert "Measured here" in words(last.shown["headline"])
    assert "1: Recorded on NVIDIA H200" in words(last.shown["key"])


def test_hot_caches_are_measured_hot():
    worker = FakeWorker(*POINTS, device=GPU)
    *_, last = live.measure(worker, values(hot=True), [], {}, KEPT, "en")
    assert worker.jobs[0].case.is_hot and last.run[-1].case.is_hot
    assert "a mistake" in words(last.shown["headline"])
