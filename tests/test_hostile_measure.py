"""What a hostile client or a dying worker must not do to what is in Measure."""

from __future__ import annotations

import json
import math
import urllib.request
from collections.abc import Iterator

import pytest

from benchmarks.claims import CLAIMS
from benchmarks.sweep_choice import Limits
from tests.claim_runs import any_run
from tests.fake_check import GPU
from tests.test_figures import words
from tests.test_hostile import answer, join
from tests.test_measure import values
from tests.workers import FakeWorker, served
from viz.tabs.measure import claims, landscape_live, landscape_screen, launches, memory
from viz.tabs.measure import speed_live as live
from viz.tabs.measure.measured import Recordings

NOTHING = Recordings((), ())
LANDSCAPE = {
    **{"operation": "softmax", "size": "4096", "dtype": "bfloat16", "view": "GB/s"},
    **{"up": "", "flat": "", "rows": "", "batch": 1, "heads": 16, "head_dim": 64},
    **{"mask": "none", "chosen": ""},
}
NO_VALUE = [None, True, math.nan, 10**30, [8], {"a": 8}, "8" * 100_000]


# A client of the page.


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The page, whose worker has a GPU and finds nothing."""
    with served(FakeWorker(device=GPU)) as address:
        yield address


@pytest.fixture(scope="module")
def handlers(url) -> dict[str, list[tuple[int, list, list]]]:
    """By a handler's name: the number, what its inputs begin with, and their ids, of each such."""
    config = json.load(urllib.request.urlopen(f"{url}/config", timeout=20))
    props = {one["id"]: one["props"] for one in config["components"]}
    found: dict[str, list] = {}
    for one in config["dependencies"]:
        begin = [props[i].get("value") for i in one["inputs"]]
        ids = [props[i].get("elem_id") for i in one["inputs"]]
        name = f"{one['api_name']}".rstrip("_0123456789")
        found.setdefault(name, []).append((one["id"], begin, ids))
    return found


def sent(url: str, handler: tuple, changes: dict, **extra: object) -> dict:
    """Return what comes of an event whose inputs begin as on the page, but for changes by id."""
    number, begin, ids = handler
    data = [changes.get(name, value) for name, value in zip(ids, begin, strict=True)]
    return answer(url, join(url, number, data, **extra), 20.0)


@pytest.mark.parametrize("name", ["retell_speed", "retell"])
def test_another_language_is_no_fault_where_a_tab_was_never_opened(url, handlers, name):
    assert handlers[name]
    for handler in handlers[name]:
        assert sent(url, handler, {})["success"]


def test_letting_go_of_the_recorded_runs_is_no_fault(url, handlers):
    (take_run,) = handlers["take_run"]
    assert sent(url, take_run, {"measure-runs": []})["success"]
    told = sent(url, take_run, {"measure-runs": ["another"]})
    assert told["success"] and "No recorded run is called another." in json.dumps(told)


@pytest.mark.parametrize("value", NO_VALUE, ids=lambda value: str(value)[:9])
def test_labels_follow_the_language_whatever_the_operation_is(url, handlers, value):
    for handler in handlers["relabel"]:
        ids = {name for name in handler[2] if name and name.startswith("measure-")}
        for changed in (set(), *({name} for name in ids), ids):
            assert sent(url, handler, dict.fromkeys(changed, value))["success"]


EVENTS = [
    None,
    1,
    "cell",
    ["cell"],
    {"cell": None},
    {"cell": ["x"]},
    {"cell": "landscape-cell-9-9"},
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_a_click_on_no_cell_changes_nothing(url, handlers, event):
    (pick_cell,) = handlers["pick_cell"]
    assert sent(url, pick_cell, {}, event_data=event)["success"]


@pytest.mark.parametrize("event", [None, 1, "claim", {"claim": ["C7"]}, {"claim": "C99"}], ids=str)
def test_a_click_on_no_claim_gets_one_sentence(url, handlers, event):
    (pick_claim,) = handlers["pick_claim"]
    told = sent(url, pick_claim, {}, event_data=event)
    assert told["success"] and "claim must be one of C1, " in json.dumps(told)


def test_a_guess_where_there_is_no_map_changes_nothing(url, handlers):
    shown = [one for one in handlers["show_guess"] if "landscape-size" in one[2]]
    assert shown and all(sent(url, one, {})["success"] for one in shown)


@pytest.mark.parametrize("value", NO_VALUE, ids=lambda value: str(value)[:9])
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("sweeps", "measure-values"),
        ("landscape", "landscape-size"),
        ("launches", "launches-size"),
        ("claims", "claims-claim"),
        ("measure_landscape", "landscape-view"),
        ("measure_claim", "claims-claim"),
    ],
)
def test_a_hostile_value_gets_one_short_sentence(url, handlers, name, field, value):
    told = sent(url, handlers[name][0], {field: value})
    text = json.dumps(told)
    assert told["success"] and ("bw-alert" in text or "bw-fault" in text) and len(text) < 100_000


# A worker that does not do what it should.


def test_a_run_without_a_result_is_said():
    landscape = [LANDSCAPE[name] for name in landscape_screen.FIELDS]
    for updates in (
        live.measure(FakeWorker(device=GPU), values(), [], {}, NOTHING, "en"),
        landscape_live.measure(FakeWorker(device=GPU), landscape, None, NOTHING, "en"),
        memory.measure(FakeWorker(device=GPU), [16, 128, "bfloat16", "none"], NOTHING, "en"),
        launches.measure(
            FakeWorker(device=GPU), ["64 × 256", "bfloat16", "forward"], NOTHING, "en"
        ),
        claims.measure_claim(FakeWorker(device=GPU), ["C7"], [], NOTHING, "en"),
    ):
        *_, last = updates
        assert not last.running and words(last.shown["note"]).startswith("Nothing was measured:")


@pytest.mark.parametrize("key", CLAIMS)
def test_half_a_run_gives_no_verdict(key):
    """It ends without a word, as no worker of ours does: not even then is a part taken for all."""
    case = CLAIMS[key].cases[0]
    whole = any_run(case)
    found = getattr(whole, "points", getattr(whole, "runs", ()))
    half = FakeWorker(*found[: len(found) // 2], device=GPU)
    *_, last = claims.measure_claim(half, [key], [], NOTHING, "en")
    assert last.run == [] and "gives no verdict" in words(last.shown["note"])
    copies = FakeWorker(*(one for one in found if one.provider == "copy"), device=GPU)
    *_, last = claims.measure_claim(copies, [key], [], NOTHING, "zh")
    assert last.run == [] and words(last.shown["note"])


def test_a_visitors_values_are_limited_in_a_claim_too(monkeypatch):
    monkeypatch.setattr(claims, "LIMITS", Limits(4, 300))
    worker = FakeWorker(device=GPU)
    *_, last = claims.measure_claim(worker, ["C8"], [], NOTHING, "en")
    said = "values of a sweep may be at most 4 here, got 5."
    assert not worker.jobs and said in words(last.shown["note"])
