"""The steps of a grid: each tile that is needed once, in order, with values of the tile's shape."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.attention import AttentionShape, mask_of
from kernels.problems import choose_for, trace_for
from kernels.product import MatmulShape, grouped
from kernels.tiles import Tiles
from kernels.trace import Trace, blocks
from tests.rows import ROWS

GRIDS = [entry for name, entry in ALGORITHMS.items() if name not in ROWS]
ATTENTION = [entry for entry in GRIDS if entry.problem == "attention"]
SIZES = [
    {"seq_q": 13, "seq_k": 17, "size_m": 9, "size_n": 13, "size_k": 10},
    {"seq_q": 17, "seq_k": 13, "size_m": 8, "size_n": 16, "size_k": 4},
    {"seq_q": 1, "seq_k": 1, "size_m": 1, "size_n": 1, "size_k": 1},
]
# How often a tile is visited, over all passes; None: every tile, seen by a query or not.
VISITS = {"flash_attention": 1, "split_kv": 1, "flash_backward": 2, "three_stage": None}

each_grid = pytest.mark.parametrize("entry", GRIDS, ids=lambda entry: entry.name)
each_attention = pytest.mark.parametrize("entry", ATTENTION, ids=lambda entry: entry.name)
each_size = pytest.mark.parametrize("sizes", SIZES, ids=["wide", "tall", "one"])
each_mask = pytest.mark.parametrize("mask", ["none", "causal"])


def traced(entry, sizes, mask="causal") -> Trace:
    given = {"mask": mask, "head_dim": 3, "block_m": 8, "block": 4, "block_k": 4, "n_splits": 3}
    return trace_for(entry, choose_for(entry, {**given, **sizes}))


def programs(trace: Trace) -> dict[tuple[int, int], list]:
    """Return the steps of each (pass, program), which stand together."""
    return {
        key: list(steps)
        for key, steps in itertools.groupby(trace.steps, lambda s: (s.pass_index, s.program))
    }


@each_grid
@each_size
@each_mask
def test_programs_are_numbered_in_order_and_loop_once(entry, sizes, mask):
    trace = traced(entry, sizes, mask)
    runs = itertools.groupby(trace.steps, lambda s: (s.pass_index, s.program))
    keys = [key for key, _ in runs]
    assert keys == sorted(set(keys))
    for number in range(entry.n_passes):
        mine = [program for pass_index, program in keys if pass_index == number]
        assert mine == list(range(len(mine))) and mine
    for steps in programs(trace).values():
        places = [step.block for step in steps]
        loop = [block for block in places if block is not None]
        assert loop == sorted(loop)
        if loop:  # what is done once comes before the loop or after it
            first, last = places.index(loop[0]), len(places) - places[::-1].index(loop[-1])
            assert None not in places[first:last]
        assert all(step.tile is not None for step in steps if step.block is not None)
        assert steps[0].reads and steps[-1].writes  # a program loads first and stores last


@each_attention
@each_size
@each_mask
def test_exactly_the_tiles_that_some_query_sees_are_visited(entry, sizes, mask):
    trace = traced(entry, sizes, mask)
    seen = mask_of(sizes["seq_q"], sizes["seq_k"], mask == "causal")
    grid = list(itertools.product(blocks(sizes["seq_q"], 8), blocks(sizes["seq_k"], 4)))
    wanted = {
        (i, j) for (i, top, end), (j, left, stop) in grid
        if VISITS[entry.name] is None or seen[top:end, left:stop].any()
    }  # fmt: skip
    by_pass: dict[int, list] = {}
    for step in trace.steps:
        if step.tile is not None and step.phase == "load":
            by_pass.setdefault(step.pass_index, []).append(step.tile)
    assert len(by_pass) == (VISITS[entry.name] or 2)
    for tiles in by_pass.values():
        assert sorted(tiles) == sorted(wanted)


@each_grid
@each_size
def test_values_have_the_shape_that_their_axes_name(entry, sizes):
    trace = traced(entry, sizes)
    grid, kept = entry.grid, trace.sizes
    (rows, columns) = (
        blocks(kept[length], kept[block])
        for length, block in ((grid.rows, grid.row_block), (grid.cols, grid.col_block))
    )
    for step in trace.steps:
        lengths = {"d": kept.get("head_dim"), "s": kept.get("n_splits")}
        if step.tile is not None:
            (_, top, bottom), (_, left, right) = rows[step.tile[0]], columns[step.tile[1]]
            lengths |= {"m": bottom - top, "n": right - left, "k": step.stop - step.start}
        for name, value in step.values.items():
            assert np.ndim(value) == len(entry.axes[name]), name
            for axis, length in zip(entry.axes[name], np.shape(value), strict=True):
                assert lengths.setdefault(axis, length) == length, (step.phase, name)
            assert np.asarray(value).dtype == np.float32


@each_grid
def test_the_grid_and_the_matrices_are_of_the_trace(entry):
    trace = traced(entry, SIZES[0])
    grid = entry.grid
    assert {grid.rows, grid.cols, grid.row_block, grid.col_block} <= set(trace.sizes)
    assert entry.axes[grid.ink] == "mn"
    assert set(grid.row_reads) | set(grid.col_reads) <= set(entry.inputs)
    variables = set().union(*(step.values for step in trace.steps))
    assert variables <= set(entry.axes)
    assert set(entry.axes) <= variables | set(entry.inputs)
    assert set(entry.matrices) <= variables | set(entry.inputs)
    assert all(len(entry.axes[name]) == 2 for name in entry.matrices)
    assert set(entry.defaults) <= set(entry.fields)
    # Tiles are inked as they are visited: the variable is assigned where there is a tile.
    assert any(grid.ink in step.values and step.tile for step in trace.steps)


@each_grid
@each_size
def test_captured_state_is_known_after_every_tile(entry, sizes):
    if not entry.captured:
        return
    trace = traced(entry, sizes)
    after: dict[tuple, set] = {}
    for step in trace.steps:
        if step.block is not None:
            after.setdefault((step.program, step.block), set()).update(step.values)
    assert after and all(set(entry.captured) <= names for names in after.values())


@each_grid
def test_outputs_are_put_together_from_the_steps(entry):
    trace = traced(entry, SIZES[0])
    for name, output in trace.outputs.items():
        parts = [
            step.values[name]
            for step in trace.steps
            if name in step.values and (step.block is None) and step.pass_index < entry.n_passes
        ]
        assert sum(part.size for part in parts) == output.size
        assert sorted(np.concatenate([p.ravel() for p in parts])) == sorted(output.ravel())


# The grouped order.


@pytest.mark.parametrize("group_m", [1, 4, 8])
def test_every_tile_of_c_is_computed_once(group_m):
    arrays = {"a": np.ones((12, 8), np.float32), "b": np.ones((8, 12), np.float32)}
    trace = ALGORITHMS["matmul"].trace(arrays, Tiles(4, 4, 4, group_m), "float32")
    stored = [step.tile for step in trace.steps if step.phase == "store"]
    assert sorted(stored) == list(itertools.product(range(3), range(3)))


def test_the_grouped_order_goes_down_a_group_and_then_right():
    order = [grouped(pid, 3, 3, 2) for pid in range(9)]
    down_two = [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert order == [*down_two, (2, 0), (2, 1), (2, 2)]


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 16))
def test_any_grouping_is_a_permutation(n_blocks_m, n_blocks_n, group_m):
    order = [
        grouped(pid, n_blocks_m, n_blocks_n, group_m) for pid in range(n_blocks_m * n_blocks_n)
    ]
    assert sorted(order) == list(itertools.product(range(n_blocks_m), range(n_blocks_n)))
    # A wave of programs as large as a group touches no more of a and b than it must.
    first = order[: min(group_m, n_blocks_m) * 2]
    assert {tile[1] for tile in first} <= {0, 1}


# Heads that share keys.


def moved(entry, heads: int, kv_heads: int, seq_q: int, **tiles) -> dict[str, int]:
    shape = AttentionShape(1, heads, kv_heads, seq_q, 64, 8, 2, Tiles(16, 16, **tiles))
    return entry.hbm_bytes(shape)


def test_one_query_of_each_of_eight_heads_reads_shared_keys_once_when_split():
    k_bytes = 64 * 8 * 2
    split = ALGORITHMS["split_kv"]
    assert moved(split, 8, 1, 1, n_splits=4)["k"] == k_bytes
    assert moved(split, 8, 8, 1, n_splits=4)["k"] == 8 * k_bytes
    assert moved(ALGORITHMS["flash_attention"], 8, 1, 1)["k"] == 8 * k_bytes
    # 2 heads x 33 queries are 66 rows in tiles of 16. Row 47 is query 14, which sees 46 keys, but
    # its tile holds query 32 of the head before as well, which sees all 64.
    keys = [48, 64, 64, 64, 64]
    assert moved(split, 2, 1, 33, is_causal=True)["k"] == sum(keys) * 8 * 2


def test_a_backward_key_block_is_read_once_for_all_heads_that_share_it():
    backward = ALGORITHMS["flash_backward"]
    shared, own = moved(backward, 8, 2, 32), moved(backward, 8, 8, 32)
    k_bytes = 64 * 8 * 2
    assert own["k"] - shared["k"] == 6 * k_bytes
    assert {n: shared[n] for n in ("q", "do", "lse", "delta", "dq")} == {
        n: own[n] for n in ("q", "do", "lse", "delta", "dq")
    }
    assert shared["dk"] == 2 * k_bytes and own["dv"] == 8 * k_bytes


def test_the_backward_earns_two_and_a_half_forwards():
    for entry, times in (("flash_attention", 4), ("flash_backward", 10)):
        shape = AttentionShape(2, 3, 3, 5, 7, 8, 2, Tiles(4, 4, is_causal=True))
        seen = mask_of(5, 7, True).sum()
        assert ALGORITHMS[entry].flops(shape) == times * 6 * seen * 8


def test_taller_tiles_of_c_read_b_less_often_and_wider_ones_a():
    shape = MatmulShape(64, 96, 32, 2, Tiles(16, 32))
    bytes_of = ALGORITHMS["matmul"].hbm_bytes(shape)
    assert bytes_of == {"a": 3 * 64 * 32 * 2, "b": 4 * 32 * 96 * 2, "c": 64 * 96 * 2}
