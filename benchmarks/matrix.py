"""The cases that a full check of row algorithms goes through: sizes, dtypes, presets and blocks."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.jobs import CheckJob
from kernels import ALGORITHMS
from kernels.inputs import DTYPES, PRESETS, Case

COLS = (1, 2, 37, 64, 100, 512)
LONG_COLS = (4096, 65_536)
MANY_ROWS = 70_000  # more than a grid's second and third dimension allow
HEAD_DIM = 16


def jobs(on_gpu: bool) -> Iterator[CheckJob]:
    """Yield every check: a few minutes' worth, on the interpreter with fewer rows and columns."""
    for name, entry in ALGORITHMS.items():
        if entry.problem != "row":
            continue
        for dtype in DTYPES:
            for n_rows, n_cols, block in _sizes(on_gpu, entry.whole_row):
                for preset in PRESETS:
                    yield CheckJob(
                        name, Case(preset, n_rows, n_cols, block, _head_dim(on_gpu), dtype)
                    )
        for n_cols in COLS:
            yield CheckJob(name, Case("normal", 1, n_cols, 64, 1, "float32"))
        if on_gpu:
            yield CheckJob(name, Case("normal", MANY_ROWS, 37, 16, 1, "float32"))


def _head_dim(on_gpu: bool) -> int:
    """A width that is no power of two where that is cheap."""
    return HEAD_DIM if on_gpu else 3


def _sizes(on_gpu: bool, whole_row: bool) -> Iterator[tuple[int, int, int]]:
    """Yield (n_rows, n_cols, block); one block for each length where the row is the block."""
    for n_cols in COLS + (LONG_COLS if on_gpu else ()):
        for block in _blocks(on_gpu, n_cols)[: 1 if whole_row else None]:
            yield (3 if on_gpu else 2), n_cols, block


def _blocks(on_gpu: bool, n_cols: int) -> tuple[int, ...]:
    """Return the block sizes for a length: not so small that a check takes seconds."""
    if on_gpu:
        return (128, 1024) if n_cols > 512 else (16, 128, 1024)
    return (128,) if n_cols > 128 else (16, 64) if n_cols > 16 else (16,)
