"""Compile many launches on all cores before any of them is made.

A landscape has up to a hundred settings and each takes a second of one core to compile, most of it
in LLVM and in ptxas, where Python's lock is free. Timing begins when all of them are done: a busy
machine starts kernels late.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

MOST_CORES = 16  # each compiler at work takes a few hundred megabytes


def cores() -> int:
    """Return how many compile at once."""
    return min(MOST_CORES, os.cpu_count() or 1)


def compile_ahead(launches: Iterable[Callable[[], object]]) -> None:
    """Compile the kernels that ``launches`` would start, and start none.

    Each is called once, and finds its kernels compiled when it is called again. One that fails
    fails again then, and says why. Nothing else may start a kernel meanwhile.
    """
    from triton import AsyncCompileMode

    with (
        ThreadPoolExecutor(cores()) as pool,
        AsyncCompileMode(pool, ignore_errors=True),
        _nothing_starts(),
    ):
        for launch in launches:
            try:
                launch()
            except Exception:
                continue  # its own call says it


@contextmanager
def _nothing_starts() -> Iterator[None]:
    """Have Triton prepare every launch that is asked of it, and leave it at that."""
    from triton.runtime import JITFunction

    launching = JITFunction.run

    def prepare(self, *args, grid, warmup, **kwargs):
        return launching(self, *args, grid=grid, warmup=True, **kwargs)

    JITFunction.run = prepare
    try:
        yield
    finally:
        JITFunction.run = launching
