"""The cases that a full check of row algorithms goes through.

On a GPU: lengths x dtypes x strides, blocks of two sizes on long rows, every preset on short ones,
and more rows than a grid's second dimension allows. On the interpreter the same kinds of cases, few
and small.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from benchmarks.jobs import CheckJob
from benchmarks.layouts import LAYOUTS
from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.inputs import DTYPES, PRESETS, Case
from kernels.tiles import next_power_of_two

COLS = (
    *(1, 2, 7, 37, 127, 781, 1000, 1024, 4097, 12_672, 50_257),
    *(65_536, 65_537, 100_003, 151_936, 262_144, 1_048_576),
)
FEW_COLS = (1, 2, 37, 100)  # what the interpreter does in seconds
PRESET_COLS = (1, 2, 7, 37, 127)
FEW_PRESET_COLS = (2, 37)
LONG = 4096  # from here on, with blocks of more than one size
N_ROWS, MANY_ROWS = 3, 70_000  # more than a grid's second and third dimension allow
HEAD_DIM = 16
# A row that is one block is compiled for its length: seconds for rows longer than the first of
# these, which are only checked as torch makes them, and a minute beyond the second, only float32.
MAX_STRIDED, MAX_COMPILED = 131_072, 262_144
MAX_COLS = {"rows_softmax": 8192}  # where a tile holds one row, it is the single-block softmax


def jobs(on_gpu: bool) -> Iterator[CheckJob]:
    """Yield every check: a few minutes' worth, on the interpreter with fewer rows and columns."""
    for name, entry in ALGORITHMS.items():
        if entry.problem == "row":
            cases = itertools.chain(_sizes(entry, on_gpu), _presets(entry, on_gpu))
            for case in dict.fromkeys(cases):
                yield CheckJob(name, case, keep=False)


def _sizes(entry: Algorithm, on_gpu: bool) -> Iterator[Case]:
    """Yield lengths x dtypes x strides of normal numbers."""
    lengths = COLS if on_gpu else FEW_COLS
    n_rows = N_ROWS if on_gpu else 2
    for dtype, n_cols, layout in itertools.product(DTYPES, lengths, layouts_of(entry)):
        if not on_gpu and layout != "contiguous" and (n_cols != 37 or dtype == "bfloat16"):
            continue
        if entry.whole_row and n_cols > longest(entry.name, dtype, layout):
            continue
        for block in _blocks(entry, n_cols, layout):
            warps = warps_for(entry, n_cols, block)
            yield _case("normal", n_rows, n_cols, block, dtype, warps, layout, on_gpu)
    if on_gpu:
        yield _case("normal", MANY_ROWS, 37, 16, "float32", 4, "contiguous", on_gpu, head_dim=1)


def _presets(entry: Algorithm, on_gpu: bool) -> Iterator[Case]:
    """Yield every preset, special values among them, on short rows."""
    lengths = PRESET_COLS if on_gpu else FEW_PRESET_COLS
    for dtype, n_cols, preset in itertools.product(DTYPES, lengths, PRESETS):
        n_rows = N_ROWS if on_gpu else 2
        yield _case(preset, n_rows, n_cols, 16, dtype, 4, "contiguous", on_gpu)


def _case(
    preset: str,
    n_rows: int,
    n_cols: int,
    block: int,
    dtype: str,
    num_warps: int,
    layout: str,
    on_gpu: bool,
    head_dim: int | None = None,
) -> Case:
    """Return a case; on the interpreter with a width that is no power of two, where it is cheap."""
    width = head_dim or (HEAD_DIM if on_gpu else 3)
    return Case(preset, n_rows, n_cols, block, width, dtype, num_warps, layout=layout)


def layouts_of(entry: Algorithm) -> tuple[str, ...]:
    """Return the layouts that differ for an entry: one number for all is of a second input."""
    return LAYOUTS if len(entry.rows) > 1 else LAYOUTS[:-1]


def longest(name: str, dtype: str, layout: str) -> int:
    """Return how many columns a row that is one block has at the most."""
    if layout != "contiguous":
        compiled = MAX_STRIDED
    else:
        compiled = COLS[-1] if dtype == "float32" else MAX_COMPILED
    return min(compiled, MAX_COLS.get(name, compiled))


def _blocks(entry: Algorithm, n_cols: int, layout: str) -> tuple[int, ...]:
    """Return the block sizes for a length: one where it is not a choice."""
    if entry.whole_row or n_cols < LONG:
        return (16 if n_cols <= 127 else 256,)
    larger = 2048 if entry.has_values else 8192  # BLOCK_N x head_dim of v are in registers too
    return (1024, larger) if layout == "contiguous" else (1024,)


def warps_for(entry: Algorithm, n_cols: int, block: int) -> int:
    """Return how many warps share a block: a long one needs many, or it spills."""
    lanes = next_power_of_two(n_cols) if entry.whole_row else block
    lanes *= HEAD_DIM if entry.has_values else 1
    return max(4, min(32, lanes // 1024))
