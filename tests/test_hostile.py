"""What a hostile client, a forgotten session or a slow start must not do to anyone else."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import app
from benchmarks.worker import Worker
from kernels.errors import shorten
from kernels.pasted import read_numbers
from tests.workers import with_patched_device
from viz.tabs.run_screen import ROW_PARTS, draw_row

WATCH = ["attention_row", "normal", 32, 4, 4, "float32", 7, "", ""]
NEVER_READY = "import time\ndevice.read_facts = lambda self_test='': time.sleep(60)\n"
N_VISITORS = 60  # more than Gradio runs events at once


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> Iterator[str]:
    """An app whose worker never says what it runs on: torch's import from a cold disk, for ever."""
    environment = with_patched_device(tmp_path_factory.mktemp("patched"), NEVER_READY)
    worker = Worker(environment=environment)
    worker.start()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    page = app.serve(worker, "127.0.0.1", port)
    yield f"http://127.0.0.1:{port}"
    page.close()
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


def index_of(url: str, name: str) -> int:
    """Return the number of the handler called ``name``."""
    config = json.load(urllib.request.urlopen(f"{url}/config", timeout=20))
    return next(d["id"] for d in config["dependencies"] if d["api_name"] == name)


@pytest.mark.parametrize("name", ["say_device", "say_hardware"])
def test_visitors_who_wait_for_the_worker_do_not_hold_up_watch(url, name):
    waiting, watch = index_of(url, name), index_of(url, "watch")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: join(url, waiting, [None]), range(N_VISITORS)))
    assert answer(url, join(url, watch, [None, *WATCH]), 8.0)["success"]


def test_the_language_can_be_switched_before_the_worker_is_ready(url):
    asked = {"language": "zh"}
    visitor = join(url, index_of(url, "switch"), WATCH, event_data=asked)
    assert answer(url, visitor, 8.0)["output"]["data"][1]["language"] == "zh"


@pytest.mark.parametrize("event_data", [None, 1, "language", ["language"], {"language": ["zh"]}])
def test_a_switch_to_no_language_is_english(url, event_data):
    visitor = join(url, index_of(url, "switch"), WATCH, event_data=event_data)
    assert answer(url, visitor, 8.0)["success"]


def test_the_language_cannot_be_set_as_an_input(url):
    shown = answer(url, join(url, index_of(url, "watch"), ["xx", *WATCH]), 8.0)
    assert shown["output"]["data"][0]["lang"] == "en"


def test_a_lone_surrogate_is_answered(url):
    visitor = join(url, index_of(url, "watch"), [None, "\ud800", *WATCH[1:]])
    assert "algorithm must be one of" in json.dumps(answer(url, visitor, 8.0))


def test_a_row_of_a_result_that_the_server_forgot_changes_nothing():
    assert len(draw_row(None, 3, "en")) == len(ROW_PARTS) + 1


@pytest.mark.parametrize("invisible", ["\ufeff", "\u200b", "\u2060"])
def test_invisible_characters_between_numbers_are_no_part_of_them(invisible):
    assert read_numbers(f"{invisible}1 2{invisible}") == (1.0, 2.0)


def test_what_is_repeated_in_a_sentence_can_be_sent():
    shorten("\ud800x").encode()
