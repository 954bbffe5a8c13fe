"""The sizes that a run has, by kind of problem: which there are, and where a larger case starts."""

from __future__ import annotations

from collections.abc import Mapping

from kernels import tile_inputs
from kernels.algorithm import Algorithm

# By kind, a case that the interpreter does in a few seconds and whose last blocks are masked in
# part. Watch can draw any row of the first; keys are split where there are few queries.
LARGER: Mapping[str, Mapping[str, object]] = {
    "row": {"preset": "normal", "n_rows": 40, "n_cols": 500, "block": 64, "head_dim": 16},
    "attention": {
        "preset": "normal",
        "batch": 1,
        "heads": 4,
        "kv_heads": 2,
        "seq_q": 250,
        "seq_k": 250,
        "head_dim": 64,
        "mask": "causal",
        "block_m": 64,
        "block": 64,
    },
    "splits": {
        "preset": "normal",
        "batch": 1,
        "heads": 4,
        "kv_heads": 2,
        "seq_q": 4,
        "seq_k": 1000,
        "head_dim": 64,
        "mask": "none",
        "block_m": 16,
        "block": 64,
        "n_splits": 4,
    },
    "matmul": {
        "preset": "normal",
        "size_m": 200,
        "size_n": 250,
        "size_k": 300,
        "block_m": 64,
        "block": 64,
        "block_k": 64,
        "group_m": 2,
    },
}
ROW_BLOCKS = [2**k for k in range(14)]
WARPS = [1, 2, 4, 8, 16, 32]
TILE_WARPS = WARPS[:-1]
STAGES = [1, 2, 3, 4, 5, 6]
HEADS = ("batch", "heads", "kv_heads")  # of which Watch shows one
TILE_BLOCKS = ("block_m", "block", "block_k")
ROW_SIZES = ("n_rows", "n_cols", "head_dim", "block")
# What only some problems have, in the order the controls stand in.
SIZES = (
    *("n_rows", "n_cols", *HEADS, "seq_q", "seq_k", "size_m", "size_n", "size_k"),
    *("head_dim", "mask", *TILE_BLOCKS, "group_m", "n_splits"),
)
# In the order a handler is given them: what rows read first.
FIELDS = (
    *("algorithm", "preset", "dtype", *ROW_SIZES, "warps", "seed"),
    *(name for name in SIZES if name not in ROW_SIZES),
    "stages",
)


def kind_of(entry: Algorithm) -> str:
    """Return which of `LARGER` an algorithm starts from."""
    return "splits" if "n_splits" in entry.fields else entry.problem


def sizes_of(entry: Algorithm) -> tuple[str, ...]:
    """Return the sizes whose controls an algorithm has."""
    if entry.problem == "row":
        return ROW_SIZES
    return (*(HEADS if entry.problem == "attention" else ()), *entry.fields)


def powers(name: str) -> list[int]:
    """Return the powers of two that a tile's block can be."""
    low, high = tile_inputs.FIELDS[name].run
    return [2**k for k in range(low.bit_length() - 1, high.bit_length())]


def runnable(name: str, value: object) -> object:
    """Return a watched value as a kernel takes it: a block too small for tl.dot is the smallest."""
    smallest = tile_inputs.FIELDS[name].run[0]
    is_small = isinstance(value, int) and not isinstance(value, bool) and 0 < value < smallest
    return smallest if name in TILE_BLOCKS and is_small else value
