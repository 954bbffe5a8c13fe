"""A tile kernel's testimony: each row's m, l, alpha and acc after every key block, over the mirror.

For a matrix product, acc of each row of C after every k block. A state is [rows, blocks], and acc
[rows, blocks, width]; NaN where a program did not visit a tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.states import State, state_ulps
from kernels.algorithm import Algorithm
from kernels.tiles import Tiles, visible
from kernels.trace import Trace

MAX_HEADS = 4
# A mirror takes about 0.1 ms a tile and holds every step's values.
MAX_TILES = 8192
MAX_VALUES = 2**23  # captured numbers of all heads that are compared
MAX_PRODUCTS = 2**31


@dataclass(frozen=True)
class HeadState:
    """One head's state, from row ``first_row`` of the head on.

    visited     [rows, blocks]: whether the mirror visited the tile, for that row's program
    ulps        field -> [rows, blocks] float32 ULPs between the two; inf where one is finite and
                the other not, NaN where there is nothing to compare
    """

    first_row: int
    kernel: State
    mirror: State
    visited: np.ndarray
    ulps: State


def affordable(entry: Algorithm, sizes: Mapping[str, int], tiles: Tiles) -> tuple[int, int]:
    """Return how many heads can be compared, and from which row on; (0, 0) if not even one block.

    ``sizes`` are those of one head. Of a head that is too large only the last rows are compared:
    a causal mask, which aligns with the last query, shows them what it did.
    """
    per_row, n_rows, n_columns, n_blocks, depth = _cost(entry, sizes, tiles)
    n_row_blocks = -(-n_rows // tiles.block_m)
    per_row_block = (
        n_columns * n_blocks / MAX_TILES,
        per_row * tiles.block_m / MAX_VALUES,
        depth * tiles.block_m / MAX_PRODUCTS,
    )
    n_kept = int(1 / max(per_row_block))
    if not n_kept:
        return 0, 0
    first_row = max(0, n_row_blocks - n_kept) * tiles.block_m
    return max(1, min(MAX_HEADS, n_kept // n_row_blocks)), first_row


def n_captured(entry: Algorithm, sizes: Mapping[str, int], tiles: Tiles) -> int:
    """Return how many numbers one head's captured state has."""
    per_row, n_rows, *_ = _cost(entry, sizes, tiles)
    return per_row * n_rows


def _cost(entry: Algorithm, sizes: Mapping[str, int], tiles: Tiles) -> tuple[int, ...]:
    """Return numbers captured a row, rows, tile columns, blocks a tile, and products a row."""
    if entry.problem == "matmul":
        n, k = sizes["size_n"], sizes["size_k"]
        n_blocks = -(-k // tiles.block_k)
        return n * n_blocks, sizes["size_m"], -(-n // tiles.block_n), n_blocks, n * k
    n_blocks = -(-sizes["seq_k"] // tiles.block_n)
    width = sizes["head_dim"]
    products = 2 * sizes["seq_k"] * width
    return n_blocks * (3 + width), sizes["seq_q"], n_blocks, 1, products


def kernel_state(entry: Algorithm, captured: np.ndarray) -> State:
    """Return one head's captured state, as `kernels.algorithm.Launch` describes it, by field."""
    if entry.problem == "matmul":
        flat = captured.reshape(captured.shape[:3])
        return {"acc": np.moveaxis(flat, 2, 1)}
    scalars = len(entry.captured) - 1
    state = {field: captured[..., at] for at, field in enumerate(entry.captured[:scalars])}
    return state | {entry.captured[scalars]: captured[..., scalars:]}


def mirror_state(entry: Algorithm, trace: Trace, tiles: Tiles) -> tuple[State, np.ndarray]:
    """Return the mirror's state of a head by field, and [rows, blocks] which tiles it visited.

    The value is the last that a visit assigned; ``m`` is also read from ``m_new``.
    """
    sizes = trace.sizes
    if entry.problem == "matmul":
        n_rows, width = sizes["size_m"], sizes["size_n"]
        n_blocks = -(-sizes["size_k"] // tiles.block_k)
    else:
        n_rows, width = sizes["seq_q"], sizes["head_dim"]
        n_blocks = -(-sizes["seq_k"] // tiles.block_n)
    state: State = {}
    for field in entry.captured:
        shape = (n_rows, n_blocks, width) if field == "acc" else (n_rows, n_blocks)
        state[field] = np.full(shape, np.nan, np.float32)
    visited = np.zeros((n_rows, n_blocks), bool)
    for step in trace.steps:
        if step.tile is None or step.block is None:
            continue
        rows = slice(step.tile[0] * tiles.block_m, (step.tile[0] + 1) * tiles.block_m)
        visited[rows, step.block] = True
        left = step.tile[1] * tiles.block_n
        columns = slice(left, left + tiles.block_n) if entry.problem == "matmul" else slice(None)
        for name, value in step.values.items():
            field = "m" if name == "m_new" else name
            if field in state:
                where = (rows, step.block, columns) if field == "acc" else (rows, step.block)
                state[field][where] = value
    return state, visited


def compare(
    entry: Algorithm,
    arrays: Mapping[str, np.ndarray],
    captured: np.ndarray,
    tiles: Tiles,
    dtype: str,
    first_row: int,
) -> HeadState:
    """Run the mirror on one head's ``arrays``, from ``first_row`` on, and compare.

    A program may visit a tile that a row of it sees nothing of, depending on which rows it shares
    the block with: there is nothing to compare unless both visited it.
    """
    trace = entry.trace(arrays, tiles, dtype)
    mirror, visited = mirror_state(entry, trace, tiles)
    kernel = kernel_state(entry, captured)
    n_rows, n_blocks = visited.shape
    flat = {
        side: {f: a.reshape(n_rows * n_blocks, *a.shape[2:]) for f, a in state.items()}
        for side, state in (("kernel", kernel), ("mirror", mirror))
    }
    found = state_ulps(flat["kernel"], flat["mirror"])
    ulps = {}
    untouched = np.logical_and.reduce([_is_nan(values) for values in kernel.values()])
    due = visited & (_sees(trace.sizes, tiles, visited.shape) | ~untouched)
    for field, values in found.items():
        by_row = values.reshape(n_rows, n_blocks).astype(np.float32)
        ulps[field] = np.where(due, by_row, np.float32(np.nan))
    return HeadState(first_row, kernel, mirror, visited, ulps)


def _is_nan(values: np.ndarray) -> np.ndarray:
    """Return [rows, blocks]: whether a field is NaN there, acc in every column."""
    missing = np.isnan(values)
    return missing.all(axis=2) if missing.ndim == 3 else missing


def _sees(sizes: Mapping[str, int], tiles: Tiles, shape: tuple[int, int]) -> np.ndarray:
    """Return [rows, blocks]: whether the row itself sees any key of the block."""
    if "seq_q" not in sizes or not tiles.is_causal:
        return np.ones(shape, bool)
    lengths = sizes["seq_q"], sizes["seq_k"], True
    n_seen = np.array([visible(row, *lengths) for row in range(shape[0])])
    return np.arange(shape[1]) * tiles.block_n < n_seen[:, None]
