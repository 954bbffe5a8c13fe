"""A Trace is small and honest JSON, and its state at a step is the fold of what steps assigned."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels import ALGORITHMS, tile_inputs
from kernels.inputs import DTYPES, MAX_COLS, MAX_HEAD_DIM, PRESETS
from kernels.problems import choose_for, trace_for
from kernels.trace import SIGNIFICANT_DIGITS, Step, Trace, blocks, decode, encode
from tests.rows import ROWS

BY_NAME = pytest.mark.parametrize("entry", ALGORITHMS.values(), ids=lambda entry: entry.name)
EACH_ROW = pytest.mark.parametrize("entry", ROWS.values(), ids=lambda entry: entry.name)
GRIDS = [entry for entry in ALGORITHMS.values() if entry.problem != "row"]
EACH_GRID = pytest.mark.parametrize("entry", GRIDS, ids=lambda entry: entry.name)
# Lengths that are no multiple of the block, and queries that see no key.
GRID_SIZES = {"seq_q": 13, "seq_k": 10, "head_dim": 3, "size_m": 9, "size_n": 13, "size_k": 10}


def trace_of(entry, **given) -> Trace:
    return trace_for(entry, choose_for(entry, given))


def compact(trace: Trace) -> str:
    return json.dumps(trace.as_json(), allow_nan=False, separators=(",", ":"))


@BY_NAME
def test_json_has_no_nan_or_infinity(entry):
    presets = PRESETS if entry.problem == "row" else tile_inputs.PRESETS
    sizes = {"n_cols": 37, "block": 4, "mask": "causal", **GRID_SIZES}
    for preset in presets:
        for dtype in DTYPES:
            text = compact(trace_of(entry, preset=preset, dtype=dtype, **sizes))
            assert "NaN" not in text and "Infinity" not in text


@EACH_ROW
def test_json_of_special_numbers(entry):
    text = compact(trace_of(entry, preset="own", numbers="inf nan -inf 1 2 3 1e38 -1e-42"))
    drawn = json.loads(text)["arrays"][entry.rows[0]][:3]
    assert drawn == (["nan"] * 3 if "softmax" in entry.draws.values() else ["inf", "nan", "-inf"])


@EACH_ROW
@pytest.mark.parametrize("n_cols, block", [(1, 1), (37, 8), (64, 64), (100, 512)])
def test_json_holds_the_whole_trace(entry, n_cols, block):
    assert_json_holds(entry, trace_of(entry, n_cols=n_cols, block=block))


@EACH_GRID
def test_json_holds_the_whole_trace_of_a_grid(entry):
    assert_json_holds(entry, trace_of(entry, block=4, mask="causal", **GRID_SIZES))


def assert_json_holds(entry, trace: Trace) -> None:
    back = json.loads(compact(trace))
    assert back["algorithm"] == entry.name and back["sizes"] == dict(trace.sizes)
    assert len(back["steps"]) == len(trace.steps)
    for step, drawn in zip(trace.steps, back["steps"], strict=True):
        assert (step.phase, step.pass_index, step.block) == (
            drawn["phase"],
            drawn["pass"],
            drawn["block"],
        )
        assert drawn.get("program") == step.program
        assert tuple(drawn.get("tile", ())) == (step.tile or ())
        assert set(drawn.get("values", {})) == set(step.values)
        for name, value in step.values.items():
            close = np.testing.assert_allclose
            close(decode(drawn["values"][name]), np.asarray(value, np.float64), rtol=5e-7, atol=0)
    for name, array in trace.arrays.items():
        assert np.shape(back["arrays"][name]) == array.shape


@given(st.floats(width=32))
def test_encode_and_decode_keep_seven_digits(number):
    back = decode(json.loads(json.dumps(encode(number), allow_nan=False)))
    if math.isnan(number):
        assert math.isnan(back)
    elif math.isinf(number):
        assert back == number
    else:
        assert abs(back - number) <= 5 * 10.0**-SIGNIFICANT_DIGITS * abs(number)


def test_encode_gives_plain_json_types():
    for value in (np.float32(0.1), np.float64(3), np.int64(4), 5, True):
        assert type(encode(value)) in (int, float)
    assert encode(np.array([[1, np.inf], [np.nan, 0.25]])) == [[1, "inf"], ["nan", 0.25]]
    assert encode(np.float32(0.1)) == 0.1  # not 0.10000000149011612


def sizes_up_to_512_steps() -> list[tuple[str, int, int, int]]:
    """Return (algorithm, n_cols, block, head_dim): the longest runs of at most 512 sub-steps."""
    found = []
    for entry in ROWS.values():
        for block in (1, 2, 4, 8, 16):
            four, eight = (
                len(trace_of(entry, n_cols=n * block, block=block).steps) for n in (4, 8)
            )
            per_block = max((eight - four) // 4, 1)
            once = four - 4 * per_block if eight > four else four
            n_blocks = min((512 - once) // per_block, MAX_COLS // block)
            found.append((entry.name, n_blocks * block, block, MAX_HEAD_DIM))
    return found


@pytest.mark.parametrize("name, n_cols, block, head_dim", sizes_up_to_512_steps())
@pytest.mark.parametrize("preset", ["normal", "rising", "huge"])
def test_512_steps_fit_in_150_kb(name, n_cols, block, head_dim, preset):
    sizes = {"n_cols": n_cols, "block": block, "head_dim": head_dim}
    trace = trace_of(ROWS[name], preset=preset, **sizes)
    assert len(trace.steps) <= 512
    assert len(compact(trace).encode()) <= 150_000


@EACH_GRID
def test_what_a_grid_starts_with_fits_in_400_kb(entry):
    """A few hundred tiles of the largest sizes come to 3 MB; the start must not take a second."""
    assert len(compact(trace_of(entry)).encode()) <= 400_000


def test_state_is_the_fold_of_what_steps_assigned():
    steps = (
        Step("a", 0, 0, 0, 1, values={"m": 1.0}, reads={"x": 4}),
        Step("b", 0, 0, 0, 1, values={"m": 2.0, "l": 3.0}),
        Step("c", 0, 0, 0, 1, reads={"x": 4}, writes={"y": 8}),
    )
    trace = Trace("t", "float32", {}, {}, steps, {})
    assert trace.state_at(-1) == {}
    assert trace.state_at(0) == {"m": 1.0}
    assert trace.state_at(1) == trace.state_at(2) == {"m": 2.0, "l": 3.0}
    assert trace.traffic() == {"x": 8, "y": 8}


@given(st.integers(0, 600), st.integers(1, 600))
def test_blocks_cover_every_column_once(n_cols, block):
    columns = [c for _, start, stop in blocks(n_cols, block) for c in range(start, stop)]
    assert columns == list(range(n_cols))
    assert all(b == start // block for b, start, _ in blocks(n_cols, block))


def test_records_are_frozen():
    step = Step("load", 0, 0, 0, 1)
    with pytest.raises(AttributeError):
        step.phase = "store"
