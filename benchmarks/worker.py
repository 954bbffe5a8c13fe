"""Run jobs in a child process: stream what they find, cancel, time out, survive any crash.

A kernel can run for ever, exhaust memory, or fault and take its process along. It runs in a child,
and this module keeps the child: one job at a time, first come first served, a fresh child whenever
one was stopped, hung or died. Nothing here imports torch or Triton.

Environment variables:
BLOCKWISE_TIME_LIMIT_S  the longest a job may run, in seconds (default 60)
BLOCKWISE_DEVICE        see `device`
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import itertools
import logging
import math
import os
import queue
import threading
import time
import weakref
from collections.abc import Iterator, Mapping

from benchmarks.messages import JobFailed, Message, Order, unpack_input_error
from benchmarks.process import Process
from benchmarks.results import Device, Progress
from benchmarks.turns import ABANDONED_S, Turn, Turns

__all__ = ["JobFailed", "Worker"]

LOG = logging.getLogger(__name__)

DEFAULT_TIME_LIMIT_S = 60.0
START_LIMIT_S = 120.0  # torch's first import from a cold disk is slow
# How often a waiting `run` yields its last Progress again. A generator can only be closed while it
# is suspended at a yield, so this is also how late a Stop can come through.
BEAT_S = 0.2
MAX_STARTS = 3


class _NeverBegan(JobFailed):
    """The child died before it began the job, so giving the job to another repeats nothing."""


class Worker:
    """A child process that runs jobs, and its queue. Safe to use from many threads.

    ``environment`` adds to the child's environment variables.
    """

    def __init__(
        self,
        time_limit_s: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.time_limit_s = default_time_limit() if time_limit_s is None else time_limit_s
        self._environment = dict(environment or {})
        self._lock = threading.Lock()  # guards what follows
        self._process: Process | None = None
        self._busy = False
        self._self_test = ""
        self._n_failed_starts = 0
        self._closed = False
        self._turns = Turns()
        self._ids = itertools.count(1)
        _close_at_exit(self)

    def start(self) -> None:
        """Start the child in the background, so that the first job need not wait for it."""
        with self._lock:
            self._current()

    def device(self, timeout_s: float = START_LIMIT_S) -> Device:
        """Return what runs the kernels, waiting for the child to say so.

        Raise JobFailed "not_ready" after ``timeout_s``, "crashed" if no child comes up.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            process = self._ready(min(BEAT_S, max(0.0, deadline - time.monotonic())))
            if process is not None:
                return process.device
            if time.monotonic() >= deadline:
                raise JobFailed("not_ready")

    def run(self, job: object, time_limit_s: float | None = None) -> Iterator[object]:
        """Return a generator of what ``job.run()`` yields in the child: Progress and results.

        Waiting, it yields Progress "queued" (``position``: how many are before) or "starting", and
        repeats its last Progress every 0.2 s until there is a result, so that the caller can close
        it at any time: that ends the child at once. Nothing is repeated after a result, so a job
        with several says Progress before each. Raises JobFailed or InputError; the next job works
        all the same.
        """
        frozen = dataclasses.is_dataclass(job) and type(job).__dataclass_params__.frozen
        if not frozen or not callable(getattr(job, "run", None)):
            raise TypeError(f"a job is a frozen dataclass with run(), got {type(job).__name__}")
        limit_s = self.time_limit_s if time_limit_s is None else time_limit_s
        if not 0 < limit_s < math.inf:
            raise ValueError(f"a time limit must be a positive number of seconds, got {limit_s}")
        return self._queued(job, limit_s)

    def close(self) -> None:
        """End the child. Jobs that are running or waiting fail; no new one is taken."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    def _queued(self, job: object, limit_s: float) -> Iterator[object]:
        """Wait for our turn, then run."""
        turn = self._turns.join()
        try:
            timeout_s = 0.0
            while position := turn.wait(timeout_s):
                yield Progress("queued", {"position": position})
                timeout_s = BEAT_S
            yield from self._run(job, limit_s, turn)
        finally:
            turn.leave()

    def _run(self, job: object, limit_s: float, turn: Turn) -> Iterator[object]:
        """Wait for a child, give it the job, and see it through."""
        try:
            yield from self._attempt(job, limit_s, turn)
        except _NeverBegan:
            # The child had died while it was idle, and this job was the first to notice.
            yield from self._attempt(job, limit_s, turn)

    def _attempt(self, job: object, limit_s: float, turn: Turn) -> Iterator[object]:
        """Give the job to a child that is ready. Raise _NeverBegan if that child was dead."""
        turn.expires = time.monotonic() + START_LIMIT_S + ABANDONED_S
        process = yield from self._started(turn)
        if process.device.kind == "none":
            reason = process.device.reason
            raise JobFailed(reason if reason in ("no_triton", "no_torch") else "no_device")
        order = Order(next(self._ids), job, limit_s)
        turn.expires = time.monotonic() + limit_s + ABANDONED_S
        error, usable = None, False
        try:
            error, usable = yield from self._answers(process, order, turn)
        finally:
            # Also when the generator is closed, the job ran too long, or the child died.
            self._release(process, usable)
        if error is not None:
            raise error

    def _started(self, turn: Turn) -> Iterator[Progress]:
        """Wait for a child that is ready and idle, mark it busy, and return it."""
        deadline = time.monotonic() + START_LIMIT_S
        timeout_s = 0.0
        while True:
            process = self._ready(timeout_s)
            with self._lock:
                late = time.monotonic() >= deadline
                if late or not turn.is_current():
                    if late:
                        self._renew(self._process)
                    raise JobFailed("timeout", limit=f"{START_LIMIT_S:g}")
                if process is not None and process is self._process:
                    if not self._busy:
                        self._busy = True
                        return process
                    # It still works on a job whose page went away without a word.
                    self._renew(process)
            yield Progress("starting")
            timeout_s = BEAT_S

    def _answers(self, process: Process, order: Order, turn: Turn) -> Iterator[object]:
        """Yield what the child sends for ``order``; return how it ended, as `_ending` does."""
        deadline = time.monotonic() + order.limit_s
        latest: Progress | None = Progress("starting")
        begun = False
        # A child that has ended cannot be written to; its inbox says how it ended.
        with contextlib.suppress(OSError):
            process.send(order)
        while True:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not turn.is_current():
                raise JobFailed("timeout", limit=f"{order.limit_s:g}")
            try:
                message = process.inbox.get(timeout=min(BEAT_S, left_s))
            except queue.Empty:
                if latest is not None:
                    yield latest
                continue
            if message is None:
                raise self._crash(process, begun)
            if message.job_id != order.job_id:
                continue
            if message.kind == "begun":
                begun = True
                continue
            if message.kind != "item":
                return _ending(message)
            # After a result nothing is repeated: a caller may keep the last thing it got.
            latest = message.payload if isinstance(message.payload, Progress) else None
            yield message.payload

    def _ready(self, timeout_s: float) -> Process | None:
        """Return the child if it says, within ``timeout_s``, that it is ready; else None.

        A child that dies before that is started again, without the GPU if its self-test failed.
        Raise JobFailed "crashed" if that happens too often.
        """
        with self._lock:
            process = self._current()
        process.answered.wait(timeout_s)
        if process.ended and process.device is None:
            with self._lock:
                self._note_failed_start(process)
            return None
        return process if process.device is not None and not process.ended else None

    def _current(self) -> Process:
        """Return the child, started if there is none alive. Call with the lock held."""
        if self._closed:
            raise JobFailed("closed")
        if self._process is None or (self._process.ended and self._process.device is not None):
            arguments = [self._self_test] if self._self_test else []
            self._process = Process(arguments, self._environment)
            self._busy = False
        return self._process

    def _note_failed_start(self, process: Process) -> None:
        """Prepare the next start after one that failed. Call with the lock held."""
        if process is not self._process:
            return  # another thread has
        self._process = None
        self._n_failed_starts += 1
        LOG.warning("the worker did not start (%s)\n%s", process.end(), process.log_tail())
        # SIGKILL comes from outside (memory, an operator) and says nothing about the GPU.
        if not self._self_test and process.end() != "SIGKILL":
            self._self_test = process.self_test or process.end()
        if self._n_failed_starts >= MAX_STARTS:
            self._n_failed_starts = 0
            raise JobFailed("crashed", signal=process.end())

    def _release(self, process: Process, usable: bool) -> None:
        """Give the child back after a job, or end it and start the next one in the background."""
        with self._lock:
            if process is not self._process:
                return
            self._n_failed_starts = 0
            self._busy = False
            if not usable:
                self._renew(process)

    def _renew(self, process: Process | None) -> None:
        """End ``process`` and start another. Call with the lock held."""
        if process is not None:
            process.kill()
        if not self._closed:
            self._process = None
            self._current()

    def _crash(self, process: Process, begun: bool) -> JobFailed:
        """Return the failure that a dead child is, to a job that it had ``begun`` or had not."""
        if self._closed:
            return JobFailed("closed")
        LOG.warning("the worker died (%s)\n%s", process.end(), process.log_tail())
        return (JobFailed if begun else _NeverBegan)("crashed", signal=process.end())


def _ending(message: Message) -> tuple[Exception | None, bool]:
    """Return the error that a job's last message reports, if any, and whether to keep the child."""
    if message.kind == "input_error":
        return unpack_input_error(*message.payload), True
    if message.kind == "failed":
        failure = message.payload
        return JobFailed(failure.kind, **failure.details), not failure.replace
    return None, True


def _close_at_exit(worker: Worker) -> None:
    """Close ``worker`` when this process ends, without keeping it alive until then."""
    reference = weakref.ref(worker)

    def close() -> None:
        alive = reference()
        if alive is not None:
            alive.close()

    atexit.register(close)


def default_time_limit() -> float:
    """Return BLOCKWISE_TIME_LIMIT_S, or 60 where it is not a positive number."""
    text = os.environ.get("BLOCKWISE_TIME_LIMIT_S", "")
    try:
        limit_s = float(text or DEFAULT_TIME_LIMIT_S)
    except ValueError:
        limit_s = math.nan
    if 0 < limit_s < math.inf:
        return limit_s
    LOG.warning("BLOCKWISE_TIME_LIMIT_S is %r: %g is used", text, DEFAULT_TIME_LIMIT_S)
    return DEFAULT_TIME_LIMIT_S
