"""The worker's promises: nothing mixes, all can be stopped, and the next job always works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benchmarks import turns
from benchmarks import worker as worker_module
from benchmarks.messages import Message
from benchmarks.process import Process
from benchmarks.results import Progress
from benchmarks.turns import Turns
from benchmarks.worker import JobFailed, Worker
from kernels.errors import InputError
from tests.worker_jobs import Count, Print, Raise, Segfault, Sleep, SleepInAnother, Unpicklable
from tests.workers import WITHOUT_TORCH, failure, results, started, with_patched_device

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    """Give a worker for jobs that need no kernel."""
    environment = with_patched_device(tmp_path_factory.mktemp("patched"), WITHOUT_TORCH)
    running = Worker(time_limit_s=60, environment=environment)
    running.start()
    yield running
    running.close()


def is_running(pid):
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, timeout_s=5.0):
    """Return whether ``condition`` comes true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


# --- many at once ---


def test_results_of_clients_at_the_same_time_never_mix(worker):
    got, queued = {}, []

    def client(tag):
        for round_ in range(3):
            key = f"{tag}{round_}"
            items = list(worker.run(Count(key, 5, 0.01)))
            got[key] = [item for item in items if isinstance(item, tuple)]
            queued.extend(i for i in items if isinstance(i, Progress) and i.stage == "queued")

    clients = [threading.Thread(target=client, args=(tag,)) for tag in "abcd"]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join(30)
    assert got == {f"{t}{r}": [(f"{t}{r}", i) for i in range(5)] for t in "abcd" for r in range(3)}
    assert {item.details["position"] for item in queued} <= {1, 2, 3} and queued


def test_an_answer_to_another_order_is_dropped(worker):
    worker.device()
    worker._process.inbox.put(Message("item", 10**9, ("stale", 0)))
    worker._process.inbox.put(Message("done", 10**9))
    assert results(worker, Count("own", 2))[:2] == [("own", 0), ("own", 1)]


def test_a_job_that_waits_can_leave_without_harm(worker):
    running = worker.run(Sleep(1.0))
    started(running)
    waiting = worker.run(Count())
    assert next(waiting) == Progress("queued", {"position": 1})
    waiting.close()
    assert list(running)[-1] == "slept"


def test_turns_come_in_the_order_of_arrival():
    queue = Turns()
    first, second, third = (queue.join() for _ in range(3))
    assert [turn.wait(0) for turn in (third, first, second)] == [2, 0, 1]
    first.leave()
    first.leave()
    assert [turn.wait(0) for turn in (third, second)] == [1, 0]
    assert second.is_current() and not first.is_current()


def test_who_stops_asking_loses_the_turn(monkeypatch):
    monkeypatch.setattr(turns, "ABANDONED_S", 0.05)
    queue = Turns()
    first, second, third = (queue.join() for _ in range(3))
    assert (first.wait(0), second.wait(0), third.wait(0)) == (0, 1, 2)
    first.expires = time.monotonic() - 1  # at work, and long past its limit
    assert second.wait(0) == 0
    time.sleep(0.1)
    assert third.wait(0) == 0
    assert first.wait(0) == 1  # back, behind everyone


def test_a_page_that_went_away_in_mid_job_does_not_hold_the_worker(worker, monkeypatch):
    monkeypatch.setattr(turns, "ABANDONED_S", 0.2)
    monkeypatch.setattr(worker_module, "ABANDONED_S", 0.2)
    abandoned = worker.run(Sleep(), time_limit_s=0.5)
    pid = started(abandoned)
    assert results(worker, Count("next", 1))[0] == ("next", 0)
    assert not is_running(pid)
    with pytest.raises(JobFailed, match="timeout"):
        list(abandoned)
    assert results(worker, Count("after", 1))[0] == ("after", 0)


# --- stops, limits, deaths ---


def test_stop_in_mid_run_returns_at_once_and_the_next_job_works(worker):
    running = worker.run(Sleep())
    pid = started(running)
    began = time.monotonic()
    next(running)  # a sign of life, at which a generator can be closed
    running.close()
    assert time.monotonic() - began < 0.5
    assert wait_until(lambda: not is_running(pid), 1)
    assert results(worker, Count("next"))[-1] != pid


def test_what_a_job_started_ends_with_it(worker):
    running = worker.run(SleepInAnother())
    pid = started(running)
    assert is_running(pid)
    running.close()
    assert wait_until(lambda: not is_running(pid), 1)


def test_a_job_over_its_limit_is_ended(worker):
    worker.device()
    began = time.monotonic()
    error = failure(worker, Sleep(), time_limit_s=0.4)
    assert (error.kind, error.details) == ("timeout", {"limit": "0.4"})
    assert time.monotonic() - began < 2


def test_a_worker_that_was_killed_while_idle_is_replaced(worker):
    pid = results(worker, Count())[-1]
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: worker._process is None or worker._process.ended)
    assert results(worker, Count())[-1] != pid


def test_a_job_given_to_a_child_that_is_already_dead_goes_to_the_next_one(worker, monkeypatch):
    # A process that was killed a moment ago can still look alive: sending is where it shows.
    send = Process.send

    def kill_first(process, order):
        monkeypatch.setattr(Process, "send", send)
        os.kill(process.pid, signal.SIGKILL)
        process.end()
        send(process, order)

    monkeypatch.setattr(Process, "send", kill_first)
    assert results(worker, Count())[-1]


def test_a_segfault_is_told_and_the_next_job_works(worker):
    error = failure(worker, Segfault())
    assert (error.kind, error.details) == ("crashed", {"signal": "SIGSEGV"})
    assert results(worker, Count("next", 1))[0] == ("next", 0)


def test_an_exception_is_told_without_paths_and_the_process_stays(worker):
    pid = results(worker, Count())[-1]
    error = failure(worker, Raise("path"))
    assert (error.kind, error.details["type"]) == ("exception", "ValueError")
    assert error.details["message"] == "no such file: …"
    assert failure(worker, Raise("exit")).details["type"] == "SystemExit"
    assert failure(worker, Raise("memory")).kind == "out_of_memory"
    assert failure(worker, Unpicklable()).kind == "exception"
    assert results(worker, Count())[-1] == pid


def test_an_input_error_crosses_as_itself(worker):
    with pytest.raises(InputError) as caught:
        list(worker.run(Raise("input")))
    assert str(caught.value) == "{x} may be at most 3."
    assert (caught.value.key, caught.value.details) == ("too_large", {"what": "{x}", "limit": 3})


def test_what_a_job_prints_does_not_disturb_its_results(worker):
    assert results(worker, Print()) == ["kept"]
    assert results(worker, Count("next", 1))[0] == ("next", 0)


def test_nothing_comes_after_a_result(worker):
    """Whoever keeps the last thing that came keeps the result, however long the end takes."""
    items = list(worker.run(Count("slow", 1, pause_s=0.6)))
    assert [type(item) for item in items[-2:]] == [tuple, int]


def test_only_frozen_jobs_with_sensible_limits_are_taken(worker):
    with pytest.raises(TypeError, match="a job is a frozen dataclass"):
        worker.run("rm -rf")
    for limit in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="time limit"):
            worker.run(Count(), time_limit_s=limit)


def test_the_time_limit_comes_from_the_environment(monkeypatch):
    for text, limit in (("7.5", 7.5), ("", 60), ("soon", 60), ("-1", 60), ("inf", 60)):
        monkeypatch.setenv("BLOCKWISE_TIME_LIMIT_S", text)
        assert worker_module.default_time_limit() == limit


def test_the_worker_ends_with_a_parent_that_is_killed(tmp_path):
    script = (
        "from benchmarks.worker import Worker\n"
        "from tests.worker_jobs import Sleep\n"
        "for item in Worker().run(Sleep()):\n"
        "    print(item.details.get('pid', ''), flush=True)\n"
    )
    environment = {**os.environ, **with_patched_device(tmp_path, WITHOUT_TORCH)}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        pid = next(int(line) for line in parent.stdout if line.strip())
        assert is_running(pid)
        parent.kill()
    assert wait_until(lambda: not is_running(pid), 3)


def test_a_closed_worker_fails_what_runs_and_takes_nothing_new():
    closing = Worker()
    caught = []

    def client():
        try:
            list(closing.run(Sleep()))
        except JobFailed as error:
            caught.append(error.kind)

    thread = threading.Thread(target=client)
    thread.start()
    time.sleep(0.3)
    closing.close()
    thread.join(5)
    assert caught == ["closed"]
    assert failure(closing, Count()).kind == "closed"


def test_not_ready_is_told_in_time():
    worker = Worker()
    try:
        with pytest.raises(JobFailed, match="not_ready"):
            worker.device(timeout_s=0.05)
    finally:
        worker.close()


def test_the_page_never_imports_torch_or_triton():
    modules = [path.stem for path in (ROOT / "benchmarks").glob("*.py")]
    imports = "".join(f"import benchmarks.{module}; " for module in modules)
    code = f"import sys; {imports} assert not {{'torch', 'triton'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
