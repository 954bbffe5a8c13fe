"""One child process, seen from the page: start it, hear it, end it with all that it started.

The child is started afresh (`python -m benchmarks.child`), never forked: a fork of a process with
threads, or with a GPU in use, does not work. It gets a session of its own, so that a Ctrl-C in the
terminal does not reach it and it can be ended together with the compilers it started. It ends by
itself when its standard input closes, which happens however the parent dies.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from benchmarks.messages import Message, Order, receive, send
from benchmarks.results import Device

LOG = logging.getLogger(__name__)
ROOT = Path(__file__).parents[1]
LOG_LINES = 200  # of the child's stderr, kept for the operator
EXIT_WAIT_S = 5.0


class Process:
    """A running child. ``inbox`` gets its messages in order, and None once it has ended.

    device      what it said it runs on, or None before that
    self_test   how the copy kernel failed on the GPU, if it did
    answered    set once the child has said either, or ended
    """

    def __init__(self, arguments: list[str], environment: Mapping[str, str]) -> None:
        self.inbox: queue.Queue[Message | None] = queue.Queue()
        self.answered = threading.Event()
        self.device: Device | None = None
        self.self_test = ""
        self.ended = False
        self._lock = threading.Lock()  # no signal may be sent once the process id is free again
        self._writing = threading.Lock()
        self._reaped = False
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.child", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=_environment(environment),
        )
        for target in (self._read_messages, self._read_log):
            threading.Thread(target=target, name="worker-reader", daemon=True).start()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._popen.pid

    def send(self, order: Order) -> None:
        """Give the child a job. Raise OSError if it has ended."""
        with self._writing:
            send(self._popen.stdin, order)

    def kill(self) -> None:
        """End the child and all it started, at once; once is enough, twice is no mistake."""
        with self._lock:
            if self._reaped:
                return
            try:
                if hasattr(os, "killpg"):
                    os.killpg(self._popen.pid, signal.SIGKILL)
                else:
                    self._popen.kill()
            except ProcessLookupError:
                pass

    def end(self) -> str:
        """Return how the ended child ended: a signal's name, or "exit N"."""
        code = self._popen.returncode
        if code is None:
            return "unknown"
        if code >= 0:
            return f"exit {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def log_tail(self) -> str:
        """Return the last lines the child wrote to stderr: for the operator, not for the page."""
        return "\n".join(self._log)

    def _read_messages(self) -> None:
        """Sort messages until the child ends; then collect it and say so."""
        try:
            while True:
                self._take(receive(self._popen.stdout))
        except EOFError:
            pass
        except Exception:
            LOG.exception("the worker sent what cannot be read")
        _wait_unreaped(self._popen.pid)
        self.kill()  # whatever it started ends with it
        with self._lock:
            self._reaped = True
        try:
            self._popen.wait(EXIT_WAIT_S)
        except subprocess.TimeoutExpired:
            LOG.error("worker %d does not end", self._popen.pid)
        self._popen.stdout.close()
        self.ended = True
        self.answered.set()
        self.inbox.put(None)

    def _take(self, message: Message) -> None:
        """Note what is about the process; pass on what is about a job."""
        if message.kind == "hello":
            self.device = message.payload
            self.answered.set()
        elif message.kind == "self_test":
            self.self_test = message.payload
            LOG.warning("the worker's self-test failed: %s", message.payload)
        else:
            self.inbox.put(message)

    def _read_log(self) -> None:
        """Keep the tail of the child's stderr."""
        with self._popen.stderr as stream:
            for line in stream:
                text = line.decode("utf-8", "replace").rstrip()
                self._log.append(text)
                LOG.debug("worker %d: %s", self._popen.pid, text)


def _wait_unreaped(pid: int) -> None:
    """Give a child that closed its pipe the time to end by itself, so that its own end is known.

    It is not collected: until then its process id, and that of its group, are not given to others.
    """
    if not hasattr(os, "waitid"):
        return
    deadline = time.monotonic() + EXIT_WAIT_S
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, pid, options) is None and time.monotonic() < deadline:
        time.sleep(0.005)


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the child's environment: ours, with this program importable from any directory."""
    environment = {**os.environ, **extra}
    paths = [str(ROOT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment
