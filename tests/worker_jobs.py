"""Jobs that misbehave, for the worker's tests; no page can reach them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.results import Progress
from kernels.errors import InputError


@dataclass(frozen=True)
class Count:
    """Yield (tag, 0), (tag, 1) … and last the process id."""

    tag: str = ""
    n: int = 3
    pause_s: float = 0.0

    def run(self) -> Iterator[object]:
        for i in range(self.n):
            yield (self.tag, i)
            time.sleep(self.pause_s)
        yield os.getpid()


@dataclass(frozen=True)
class Sleep:
    """Say Progress "kernel" with the process id, then sleep."""

    seconds: float = 60.0

    def run(self) -> Iterator[object]:
        yield Progress("kernel", {"pid": os.getpid()})
        time.sleep(self.seconds)
        yield "slept"


@dataclass(frozen=True)
class SleepInAnother:
    """Start a program that sleeps, say its process id, and wait for it."""

    def run(self) -> Iterator[object]:
        with subprocess.Popen(["sleep", "60"]) as sleeper:
            yield Progress("kernel", {"pid": sleeper.pid})


@dataclass(frozen=True)
class Raise:
    """Raise what ``name`` says."""

    name: str

    def run(self) -> Iterator[object]:
        yield Progress("kernel")
        if self.name == "input":
            raise InputError("too_large", "{what} may be at most {limit}.", what="{x}", limit=3)
        if self.name == "path":
            raise ValueError(f"no such file: {__file__}\nat 0x7f0123456789")
        if self.name == "memory":
            raise MemoryError
        if self.name == "exit":
            sys.exit(3)
        raise RuntimeError(self.name)


@dataclass(frozen=True)
class Print:
    """Write to standard output in every way there is, then yield "kept"."""

    def run(self) -> Iterator[object]:
        print("garbage " * 1000, flush=True)
        os.write(1, b"\x00\x01garbage")
        subprocess.run([sys.executable, "-c", "print('more')"], check=True)
        ctypes.CDLL(None).puts(b"and from C")
        sys.stdin.read()  # empty: it does not eat the next order
        yield "kept"


@dataclass(frozen=True)
class Segfault:
    """Read address 0."""

    def run(self) -> Iterator[object]:
        yield Progress("kernel")
        ctypes.string_at(0)


@dataclass(frozen=True)
class Unpicklable:
    """Yield what cannot be sent."""

    def run(self) -> Iterator[object]:
        yield lambda: None
