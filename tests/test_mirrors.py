"""The mirrors against values worked out another way: by hand, in closed form, or in float64."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.inputs import round_to
from kernels.trace import Trace
from tests.rows import ROWS

INF, NAN = math.inf, math.nan
# Those whose output is weights of scores: of these, those that subtract a maximum.
WEIGHTS = [entry for entry in ROWS.values() if entry.rows == ("x",)]
SAFE = [entry for entry in WEIGHTS if "m" in entry.on_chip]
SOFTMAX = [entry for entry in SAFE if not entry.has_values]
# Those that keep (m, l) while they pass over the row, so that what they hold can be followed.
RUNNING = [entry for entry in SAFE if any(stanza.phase == "rescale" for stanza in entry.stanzas)]
each_safe = pytest.mark.parametrize("entry", SAFE, ids=lambda e: e.name)
each_softmax = pytest.mark.parametrize("entry", SOFTMAX, ids=lambda e: e.name)
each_running = pytest.mark.parametrize("entry", RUNNING, ids=lambda e: e.name)
each_block = pytest.mark.parametrize("block", [1, 2, 4, 8])

ROUNDING = 2.0**-24  # half an ULP of float32 at 1


def watch(entry, x, block: int = 2, v=None, dtype: str = "float32") -> Trace:
    """Return the trace of a row; v is the identity unless given, so that o is the weights."""
    x = np.asarray(x, np.float32)
    arrays = {"x": x}
    if entry.has_values:
        arrays["v"] = np.asarray(np.eye(len(x)) if v is None else v, np.float32)
    return entry.trace(arrays, block, dtype)


def weights(entry, x, block: int = 2, dtype: str = "float32") -> np.ndarray:
    """Return softmax(x) as this algorithm computes it."""
    return watch(entry, x, block, dtype=dtype).outputs[entry.output]


def history(trace: Trace, name: str) -> list[float]:
    """Return what ``name`` was set to at the end of each block that set it, in order."""
    last = {}
    for step in trace.steps:
        if name in step.values and step.block is not None:
            last[step.pass_index, step.block] = float(step.values[name])
    return list(last.values())


# By hand.


@each_softmax
@each_block
def test_a_row_worked_by_hand(entry, block):
    # exp(ln k) = k, so the weights of ln 1, ln 2, ln 3, ln 4 are 0.1, 0.2, 0.3, 0.4.
    x = np.log([1, 2, 3, 4])
    np.testing.assert_allclose(weights(entry, x, block), [0.1, 0.2, 0.3, 0.4], atol=1e-7)


def test_online_softmax_worked_by_hand():
    # Block 0: m = 1, l = 1 + e^-1. Block 1: m = 3, alpha = e^-2, l = (1 + e^-1) e^-2 + 1 + e^-1.
    for entry in RUNNING:
        trace = watch(entry, [0, 1, 3, 2], 2)
        assert history(trace, "m") == [1, 3]
        np.testing.assert_allclose(history(trace, "alpha"), [0, 0.1353353], atol=5e-8)
        np.testing.assert_allclose(history(trace, "l"), [1.3678794, 1.5530018], atol=2e-7)


@each_running
def test_a_later_block_with_a_smaller_maximum_leaves_m_alone(entry):
    """A rescale by the block's own maximum would multiply by exp(200), which is infinite."""
    trace = watch(entry, [200, 0, 0, -200], 2)
    assert history(trace, "m") == [200, 200]
    assert history(trace, "alpha") == [0, 1]
    assert history(trace, "l") == [1, 1]
    np.testing.assert_array_equal(trace.outputs[entry.output], [1, 0, 0, 0])
    if "lse" in trace.outputs:
        assert trace.outputs["lse"] == 200


@each_running
def test_alpha_is_one_where_the_maximum_did_not_change(entry):
    trace = watch(entry, [3, 1, 2, 3, 0, 3], 2)
    assert history(trace, "alpha") == [0, 1, 1]
    cases = [step.case for step in trace.steps if step.phase == "rescale"]
    assert cases == ["first", "same", "same"]


# In closed form.


@each_safe
@each_block
@pytest.mark.parametrize("n", [1, 2, 7, 64, 512])
def test_equal_scores_get_equal_weights(entry, block, n):
    for value in (0, 1.25, -1e4, 88.5, 3e38):
        y = weights(entry, np.full(n, value), block)
        np.testing.assert_array_equal(y, np.float32(1) / np.float32(n))


def attention(x, v, block=2, dtype="float32"):
    (entry,) = (e for e in SAFE if e.has_values)
    trace = watch(entry, x, block, v, dtype)
    return trace.outputs["o"], trace.outputs["lse"][0]


@each_block
@pytest.mark.parametrize("n", [1, 8, 37, 512])
def test_attention_of_equal_scores_is_the_mean_and_lse_is_ln_n(block, n):
    v = np.random.default_rng(0).normal(size=(n, 5))
    o, lse = attention(np.zeros(n), v, block)
    np.testing.assert_allclose(o, v.mean(axis=0), atol=1e-6)
    assert lse == pytest.approx(math.log(n), abs=1e-6)  # natural: log2(8) would be 3


@each_block
def test_attention_over_the_identity_shows_the_weights(block):
    x = np.random.default_rng(1).normal(size=16) * 3
    o, _ = attention(x, np.eye(16), block)
    np.testing.assert_allclose(o, np.exp(x) / np.exp(x).sum(), atol=1e-6)


@each_block
def test_attention_over_ones_is_one(block):
    x = np.random.default_rng(2).normal(size=100) * 5
    for dtype in ("float32", "float16", "bfloat16"):
        o, _ = attention(round_to(x, dtype), np.ones((100, 3)), block, dtype)
        np.testing.assert_allclose(o, 1, atol=1e-6)


def test_lse_merges_two_halves_into_the_whole():
    rng = np.random.default_rng(3)
    x, v = rng.normal(size=20).astype(np.float32), rng.normal(size=(20, 4)).astype(np.float32)
    whole, lse = attention(x, v, 4)
    (a, lse_a), (b, lse_b) = attention(x[:12], v[:12], 4), attention(x[12:], v[12:], 4)
    w_a, w_b = np.exp(lse_a - lse), np.exp(lse_b - lse)
    assert w_a + w_b == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(w_a * a + w_b * b, whole, atol=1e-6)


def test_lse_of_two_and_of_eight_equal_scores_weigh_a_fifth_and_four_fifths():
    (_, two), (_, eight) = (
        attention(np.zeros(2), np.ones((2, 1))),
        attention(np.zeros(8), np.ones((8, 1))),
    )
    whole = math.log(math.exp(two) + math.exp(eight))
    assert math.exp(two - whole) == pytest.approx(0.2, abs=1e-6)
    assert math.exp(eight - whole) == pytest.approx(0.8, abs=1e-6)


# Masked rows, infinities and NaN.


@each_softmax
@each_block
@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_row_that_is_masked_everywhere_is_nan_in_a_softmax(entry, block, n):
    assert np.isnan(weights(entry, np.full(n, -INF), block)).all()


@each_block
@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_row_that_is_masked_everywhere_is_zero_in_attention(block, n):
    o, lse = attention(np.full(n, -INF), np.ones((n, 3)), block)
    np.testing.assert_array_equal(o, 0)
    assert lse == -INF


@each_safe
@each_block
def test_masked_scores_get_no_weight_wherever_they_stand(entry, block):
    for masked in itertools.product([False, True], repeat=4):
        if all(masked):
            continue
        x = np.where(masked, -INF, 1.5)
        y = weights(entry, x, block)
        np.testing.assert_allclose(y, np.where(masked, 0, 1 / (4 - sum(masked))), atol=1e-7)


SPECIAL_ROWS = [
    [INF, 1, 2],
    [INF, INF, 0],
    [1, INF, 1, 2],
    [1, 2, 3, INF],
    [NAN, 1, 2],
    [1, 2, 3, NAN],
    [NAN, NAN, NAN],
    [-INF, -INF, NAN, 1],
    [-INF, -INF, 1, NAN],
    [NAN, -INF, -INF, -INF],
    [NAN, INF, -INF, 1],
    [INF],
    [NAN],
    [-INF, INF, -INF, -INF],
]


@each_safe
@each_block
@pytest.mark.parametrize("row", SPECIAL_ROWS, ids=str)
def test_one_infinity_or_nan_makes_the_whole_row_nan(entry, block, row):
    assert np.isnan(watch(entry, row, block, np.ones((len(row), 2))).outputs[entry.output]).all()


@pytest.mark.parametrize("row", SPECIAL_ROWS, ids=str)
def test_special_rows_give_what_torch_gives(row):
    torch = pytest.importorskip("torch")
    wanted = torch.softmax(torch.tensor(row), -1).numpy()
    for entry, block in itertools.product(SOFTMAX, (1, 2, 4)):
        np.testing.assert_array_equal(weights(entry, row, block), wanted)
    lse = torch.logsumexp(torch.tensor(row), -1).item()
    for block in (1, 2, 4):
        np.testing.assert_array_equal(attention(row, np.ones((len(row), 2)), block)[1], lse)


# Overflow, underflow and subnormals.


@each_safe
@each_block
def test_tiny_weights_are_subnormal_or_zero_and_nothing_else(entry, block):
    y = weights(entry, [0, -88, -100, -104], block)
    assert y[0] == 1 and y[3] in (0, np.float32(1.4e-45))
    assert y[1] == 0 or y[1] == pytest.approx(6.05e-39, rel=1e-2)
    assert y[2] == 0 or y[2] == pytest.approx(3.8e-44, rel=0.05)


@each_safe
def test_large_scores_do_not_overflow(entry):
    for x in ([1e4, 1e4, -1e4, 0], [3e38, -3e38, 0, 1], [89, 89, 89, 89]):
        assert weights(entry, x).sum() == pytest.approx(1, abs=1e-6)


def naive(x, dtype):
    (entry,) = (e for e in WEIGHTS if e not in SAFE)
    return weights(entry, x, 2, dtype)


@pytest.mark.parametrize(
    "dtype, last_finite, first_infinite",
    [("float32", 88.72, 88.73), ("bfloat16", 88.5, 89.0), ("float16", 11.0859375, 11.09375)],
)
def test_naive_softmax_overflows_where_its_dtype_ends(dtype, last_finite, first_infinite):
    for x in (last_finite, first_infinite):
        assert round_to(np.float32(x), "float32" if dtype == "float32" else dtype) == np.float32(x)
    np.testing.assert_array_equal(naive([last_finite], dtype), [1])
    y = naive([first_infinite, 0, 1, 2], dtype)
    assert np.isnan(y[0]) and (y[1:] == 0).all()


def test_naive_softmax_loses_a_row_that_is_low_everywhere():
    assert np.isnan(naive([-200, -201], "float32")).all()


def test_naive_softmax_is_right_where_it_does_not_overflow():
    np.testing.assert_allclose(naive(np.log([1, 2, 3, 4]), "float32"), [0.1, 0.2, 0.3, 0.4], 1e-6)


# Whatever the numbers are.

ROW = st.lists(st.integers(-600, 600), min_size=1, max_size=40).map(
    lambda ints: np.array(ints, np.float32) / 16
)
ROW_WITH_MASK = st.lists(st.integers(-600, 600) | st.just(None), min_size=1, max_size=40).map(
    lambda ints: np.array([-np.inf if i is None else i / 16 for i in ints], np.float32)
)
BLOCK = st.sampled_from([1, 2, 4, 8, 16, 64])


@each_safe
@given(row=ROW, block=BLOCK, shift=st.integers(-512, 512))
def test_a_shift_of_all_scores_changes_no_bit(entry, row, block, shift):
    # Multiples of 1/16 below 2^10: the shift is exact, so every x - m is the same number.
    np.testing.assert_array_equal(weights(entry, row, block), weights(entry, row + shift, block))


@each_safe
@given(row=ROW_WITH_MASK, block=BLOCK)
def test_the_block_size_changes_only_the_last_bits(entry, row, block):
    if not np.isfinite(row).any():
        return
    bound = 4 * len(row) * ROUNDING
    difference = weights(entry, row, block) - weights(entry, row, 1)
    assert np.abs(difference).max() <= bound


@each_safe
@given(row=ROW, block=BLOCK, data=st.data())
def test_the_order_of_blocks_changes_only_the_last_bits(entry, row, block, data):
    n_whole = len(row) // block
    if n_whole < 2:
        return
    blocks = np.arange(n_whole * block).reshape(n_whole, block)
    order = blocks[data.draw(st.permutations(range(n_whole)))].ravel()
    there = weights(entry, row[: n_whole * block], block)
    moved = weights(entry, row[order], block)
    assert np.abs(moved - there[order]).max() <= 4 * len(row) * ROUNDING


@each_safe
@given(row=ROW_WITH_MASK, block=BLOCK)
def test_weights_sum_to_one_and_agree_with_float64(entry, row, block):
    if not np.isfinite(row).any():
        return
    y = weights(entry, row, block).astype(np.float64)
    p = np.exp(row.astype(np.float64) - row.max())
    assert (y >= 0).all() and (y <= 1).all()
    assert abs(y.sum() - 1) <= 4 * len(row) * ROUNDING
    np.testing.assert_allclose(y, p / p.sum(), atol=4 * len(row) * ROUNDING)


@each_running
@given(row=ROW_WITH_MASK, block=BLOCK)
def test_the_running_state_keeps_its_promises(entry, row, block):
    trace = watch(entry, row, block)
    m, l, alpha = (history(trace, name) for name in ("m", "l", "alpha"))
    n_blocks = -(-len(row) // block)
    assert len(l) == len(alpha) == n_blocks
    assert all(later >= earlier for earlier, later in itertools.pairwise(m))
    for b in range(n_blocks):
        seen = row[: (b + 1) * block].astype(np.float64)
        assert m[b] == seen.max()
        assert 0 <= alpha[b] <= 1
        if np.isfinite(m[b]):
            assert l[b] >= 1  # the largest score's own term is exp(0)
            assert l[b] == pytest.approx(np.exp(seen - seen.max()).sum(), rel=1e-5)
        else:
            assert l[b] == 0
    if "lse" in trace.outputs and np.isfinite(row).any():
        wanted = row.max() + math.log(np.exp(row.astype(np.float64) - row.max()).sum())
        assert trace.outputs["lse"][0] == pytest.approx(wanted, abs=1e-5)


@each_running
@given(row=ROW_WITH_MASK, block=BLOCK)
def test_the_state_divided_is_the_softmax_of_what_was_seen(entry, row, block):
    if not entry.has_values:
        return
    trace = watch(entry, row, block)
    for index, step in enumerate(trace.steps):
        if step.phase != "accumulate" or not np.isfinite(row[: step.stop]).any():
            continue
        state = trace.state_at(index)
        seen = row[: step.stop].astype(np.float64)
        p = np.exp(seen - seen.max())
        o = np.zeros(len(row))
        o[: step.stop] = p / p.sum()
        np.testing.assert_allclose(state["acc"] / state["l"], o, atol=4 * len(row) * ROUNDING)


# What a caption is told happened.


def cases(trace: Trace, phase: str) -> list[str]:
    return [step.case for step in trace.steps if step.phase == phase and step.pass_index == 0]


@each_running
def test_cases_name_what_happened(entry):
    trace = watch(entry, [1, 0, 5, 2, 5, 1, 3], 2)
    assert cases(trace, "new_max") == ["first", "rise", "equal", "same"]
    assert cases(trace, "rescale") == ["first", "shrink", "same", "same"]
    assert cases(trace, "load") == ["normal", "normal", "normal", "tail"]
    assert cases(watch(entry, [-INF, -INF, 1, 2], 2), "new_max") == ["masked", "first"]
    assert cases(watch(entry, [0, 0, 200, 0], 2), "rescale") == ["first", "vanish"]
    assert cases(watch(entry, [0, NAN, 1, 2], 2), "accumulate") == ["nan", "nan_kept"]
    assert cases(watch(entry, [0, 1, INF, 2], 2), "new_max") == ["first", "inf"]
