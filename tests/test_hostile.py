"""What a hostile client, a forgotten session or a slow start must not do to anyone else."""

from __future__ import annotations

import json
import math
import time
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from benchmarks.worker import Worker
from kernels import ALGORITHMS
from kernels.errors import shorten
from kernels.pasted import read_numbers
from tests.workers import served, with_patched_device
from viz.tabs.run_screen import ROW_PARTS, draw_row

WATCH = {
    **{"algorithm": "attention_row", "preset": "normal", "n_cols": 32, "block": 4, "head_dim": 4},
    **{"dtype": "float32", "seed": 7, "numbers": "", "compare": ""},
    **{"seq_q": 64, "seq_k": 64, "size_m": 32, "size_n": 32, "size_k": 32, "block_m": 8},
    **{"block_k": 8, "group_m": 1, "mask": "none", "n_splits": 4},
}
NEVER_READY = "import time\ndevice.read_facts = lambda self_test='': time.sleep(60)\n"
N_VISITORS = 60  # more than Gradio runs events at once


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> Iterator[str]:
    """An app whose worker never says what it runs on: torch's import from a cold disk, for ever."""
    environment = with_patched_device(tmp_path_factory.mktemp("patched"), NEVER_READY)
    worker = Worker(environment=environment)
    worker.start()
    with served(worker) as address:
        yield address
    worker.close()


def join(url: str, fn_index: int, data: list, **extra: object) -> str:
    """Send an event as a visitor of its own; return the visitor."""
    visitor = uuid.uuid4().hex
    body = {"data": data, "fn_index": fn_index, "session_hash": visitor, **extra}
    request = urllib.request.Request(
        f"{url}/gradio_api/queue/join",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=20).read()
    return visitor


def answer(url: str, visitor: str, timeout_s: float) -> dict:
    """Return the message that completes a visitor's event."""
    stream = f"{url}/gradio_api/queue/data?session_hash={visitor}"
    end = time.monotonic() + timeout_s
    with urllib.request.urlopen(stream, timeout=timeout_s) as lines:
        for line in lines:
            if b'"process_completed"' in line:
                return json.loads(line[5:])
            assert time.monotonic() < end, "no answer"
    pytest.fail("the stream ended without an answer")


@cache
def index_of(url: str, name: str) -> int:
    """Return the number of the handler called ``name``."""
    config = json.load(urllib.request.urlopen(f"{url}/config", timeout=20))
    return next(d["id"] for d in config["dependencies"] if d["api_name"] == name)


@pytest.mark.parametrize("name", ["say_device", "say_hardware"])
def test_visitors_who_wait_for_the_worker_do_not_hold_up_watch(url, name):
    waiting, watch = index_of(url, name), index_of(url, "watch")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: join(url, waiting, [None]), range(N_VISITORS)))
    assert answer(url, join(url, watch, [None, *WATCH.values()]), 8.0)["success"]


def test_the_language_can_be_switched_before_the_worker_is_ready(url):
    asked = {"language": "zh"}
    visitor = join(url, index_of(url, "switch"), [*WATCH.values()], event_data=asked)
    assert answer(url, visitor, 8.0)["output"]["data"][1]["language"] == "zh"


@pytest.mark.parametrize("event_data", [None, 1, "language", ["language"], {"language": ["zh"]}])
def test_a_switch_to_no_language_is_english(url, event_data):
    visitor = join(url, index_of(url, "switch"), [*WATCH.values()], event_data=event_data)
    assert answer(url, visitor, 8.0)["success"]


def test_the_language_cannot_be_set_as_an_input(url):
    shown = answer(url, join(url, index_of(url, "watch"), ["xx", *WATCH.values()]), 8.0)
    assert shown["output"]["data"][0]["lang"] == "en"


def test_a_lone_surrogate_is_answered(url):
    visitor = join(url, index_of(url, "watch"), [None, "\ud800", *[*WATCH.values()][1:]])
    assert "algorithm must be one of" in json.dumps(answer(url, visitor, 8.0))


def watch(url: str, visitor: str, **changes: object) -> tuple[dict, list]:
    """Set the controls as a client that does not care for their limits; return player and note."""
    sent = [None, *(WATCH | changes).values()]
    join(url, index_of(url, "watch"), sent, session_hash=visitor)
    shown = answer(url, visitor, 8.0)
    assert shown["success"]
    return tuple(shown["output"]["data"][:2])


NO_VALUE = [
    None,
    True,
    math.nan,
    math.inf,
    -1,
    4.5,
    10**30,
    "",
    "1e3",
    [8],
    {"a": 8},
    "8" * 5_000_000,
]
BESIDE_FIELDS = ("compare", "preset", "dtype")


@pytest.mark.parametrize("algorithm", ["split_kv", "matmul"])
def test_a_hostile_value_of_any_control_gets_one_sentence_and_loses_nothing(url, algorithm):
    visitor = uuid.uuid4().hex
    for i, name in enumerate((*ALGORITHMS[algorithm].fields, *BESIDE_FIELDS)):
        for value in NO_VALUE[i % 6 :: 6]:  # two in each field, every one in some
            if name == "compare" and value in (None, ""):
                continue  # that is how nothing is written
            player, note = watch(url, visitor, **{"algorithm": algorithm, name: value})
            assert len(note) == 1 and note[0][1]["class"] == "bw-alert", (name, value)
            assert len(note[0][2]) < 320 and note[0][2].endswith(".")
            assert "figures" not in player
    player, note = watch(
        url, visitor, algorithm=algorithm, n_cols="8" * 5_000_000
    )  # not read: no matter
    assert player["figures"] and note == []


def test_sizes_that_are_too_large_together_are_refused(url):
    sizes = {"seq_q": 128, "seq_k": 128, "block_m": 4, "block": 4}
    player, note = watch(url, uuid.uuid4().hex, algorithm="flash_backward", **sizes)
    assert note[0][2] == "tiles may be at most 256 here, got 2048." and "figures" not in player


@pytest.mark.parametrize(
    "value", [None, [8], {"a": 8}, "8" * 5_000_000, -1], ids=lambda value: str(value)[:9]
)
def test_hostile_controls_do_not_hold_up_another_algorithm(url, value):
    """A change of algorithm replaces what it cannot use, and ignores what it does not read."""
    sent = WATCH | {"algorithm": "matmul", "size_k": value, "n_cols": value, "numbers": value}
    visitor = join(url, index_of(url, "switch_algorithm"), [None, None, *sent.values()])
    shown = answer(url, visitor, 8.0)
    assert shown["success"]
    player, note = shown["output"]["data"][:2]
    assert len(note) == 1 and note[0][2].startswith("K must be ")
    assert '"size_k":32' in player["figures"]
    assert len(json.dumps(shown)) < 1_000_000, "what was sent came back"


def test_a_row_of_a_result_that_the_server_forgot_changes_nothing():
    assert len(draw_row(None, 3, "en")) == len(ROW_PARTS) + 1


@pytest.mark.parametrize("invisible", ["\ufeff", "\u200b", "\u2060"])
def test_invisible_characters_between_numbers_are_no_part_of_them(invisible):
    assert read_numbers(f"{invisible}1 2{invisible}") == (1.0, 2.0)


def test_what_is_repeated_in_a_sentence_can_be_sent():
    shorten("\ud800x").encode()
