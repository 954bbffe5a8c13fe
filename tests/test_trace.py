"""A Trace is small and honest JSON, and its state at a step is the fold of what steps assigned."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.inputs import DTYPES, MAX_COLS, MAX_HEAD_DIM, PRESETS, choose, make_arrays
from kernels.trace import SIGNIFICANT_DIGITS, Step, Trace, blocks, decode, encode

ENTRIES = list(ALGORITHMS.values())
BY_NAME = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def trace_of(entry, *args, **kwargs) -> Trace:
    choice = choose(*args, **kwargs)
    return entry.trace(make_arrays(choice, entry.has_values), choice.block, choice.dtype)


def compact(trace: Trace) -> str:
    return json.dumps(trace.as_json(), allow_nan=False, separators=(",", ":"))


@BY_NAME
@pytest.mark.parametrize("preset", PRESETS)
def test_json_has_no_nan_or_infinity(entry, preset):
    for dtype in DTYPES:
        text = compact(trace_of(entry, preset, 37, 4, 3, dtype))
        assert "NaN" not in text and "Infinity" not in text


@BY_NAME
def test_json_of_special_numbers(entry):
    text = compact(trace_of(entry, "own", numbers="inf nan -inf 1 2 3 1e38 -1e-42"))
    back = json.loads(text)
    assert back["arrays"]["x"][:3] == ["inf", "nan", "-inf"]


@BY_NAME
@pytest.mark.parametrize("n_cols, block", [(1, 1), (37, 8), (64, 64), (100, 512)])
def test_json_holds_the_whole_trace(entry, n_cols, block):
    trace = trace_of(entry, n_cols=n_cols, block=block)
    back = json.loads(compact(trace))
    assert back["algorithm"] == entry.name and back["sizes"] == dict(trace.sizes)
    assert len(back["steps"]) == len(trace.steps)
    for step, drawn in zip(trace.steps, back["steps"], strict=True):
        assert (step.phase, step.pass_index, step.block) == (
            drawn["phase"],
            drawn["pass"],
            drawn["block"],
        )
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
    for entry in ENTRIES:
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
    trace = trace_of(ALGORITHMS[name], preset, n_cols, block, head_dim)
    assert len(trace.steps) <= 512
    assert len(compact(trace).encode()) <= 150_000


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
