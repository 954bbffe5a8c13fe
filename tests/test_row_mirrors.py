"""The rest of the row kernels' mirrors: shared and short rows, gradients, sums and a fused chain.

Wanted values come from float64, by hand, or by finite differences. What all softmaxes have in
common, these two included, is in test_mirrors.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.inputs import DTYPES, choose, make_arrays, round_to
from kernels.split_softmax.mirror import merge
from kernels.trace import Trace

ROWS_SOFTMAX, SPLIT, SINGLE_BACKWARD, BLOCK_BACKWARD, ADD, CHAIN = (
    ALGORITHMS[name]
    for name in (
        "rows_softmax",
        "split_softmax",
        "single_backward",
        "block_backward",
        "vector_add",
        "fused_chain",
    )
)
SINGLE = ALGORITHMS["single_softmax"]
BACKWARD = [SINGLE_BACKWARD, BLOCK_BACKWARD]
ALL = [ROWS_SOFTMAX, SPLIT, *BACKWARD, ADD, CHAIN]
INF, NAN = np.inf, np.nan
ROUNDING = 2.0**-24  # half an ULP of float32 at 1

each = pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.name)
each_backward = pytest.mark.parametrize("entry", BACKWARD, ids=lambda entry: entry.name)
few = settings(max_examples=40)
LENGTH, BLOCK = st.integers(1, 512), st.sampled_from([2**i for i in range(10)])
SEED = st.integers(0, 2**16)


def watch(entry, *rows, block: int = 2, dtype: str = "float32") -> Trace:
    arrays = (round_to(np.array(row, np.float64), dtype) for row in rows)
    return entry.trace(dict(zip(entry.inputs, arrays, strict=True)), block, dtype)


def output(entry, *rows, **schedule) -> np.ndarray:
    return watch(entry, *rows, **schedule).outputs[entry.output]


def of_phase(trace: Trace, phase: str) -> list:
    return [step for step in trace.steps if step.phase == phase]


def softmax64(x) -> np.ndarray:
    x = np.asarray(x, np.float64)
    p = np.exp(x - x.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


# Against float64, whatever the row.


@st.composite
def rows_of(draw, entry):
    """Return rows for ``entry``: normal numbers, the scores among them with specials put in."""
    n, rng = draw(LENGTH), np.random.default_rng(draw(SEED))
    specials = draw(st.lists(st.sampled_from([-INF, -INF, -INF, INF, NAN, 0.0]), max_size=4))
    rows = []
    for what in entry.draws.values():
        row = rng.normal(size=n) * draw(st.sampled_from([0.1, 1, 10]))
        if what == "scores":
            for special in specials:
                row[rng.integers(n)] = special
        rows.append(softmax64(row) if what == "softmax" else row)
    if draw(st.integers(0, 9)) == 0 and "scores" in entry.draws.values():
        rows[0][:] = -INF
    return rows


@each
@few
@given(data=st.data(), block=BLOCK, dtype=st.sampled_from(DTYPES))
def test_outputs_agree_with_float64(entry, data, block, dtype):
    trace = watch(entry, *data.draw(rows_of(entry)), block=block, dtype=dtype)
    got = trace.outputs[entry.output].astype(np.float64)
    arrays = {name: array[None] for name, array in trace.arrays.items()}
    with np.errstate(all="ignore"):
        wanted = entry.reference(arrays)[entry.output][0]
        wanted = np.where(np.isfinite(round_to(wanted, dtype)), wanted, round_to(wanted, dtype))
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(got[~finite], wanted[~finite])
    # One rounding of the output, and float32's of terms that can be larger than their sum.
    half_ulp = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    roundings = (16 - (-len(got) // trace.sizes["block"])) * ROUNDING
    bound = half_ulp * np.abs(wanted[finite]) + roundings * largest_term(entry, trace)
    assert (np.abs(got[finite] - wanted[finite]) <= bound + 2.0**-25).all()


def largest_term(entry, trace: Trace) -> float:
    """Return the largest finite number that outputs are sums of."""
    first, *second = (np.abs(trace.arrays[name]) for name in entry.inputs)
    terms = {"rows_softmax": 1, "split_softmax": 1, "vector_add": first}.get(entry.name)
    if terms is None:
        terms = second[0] if entry in BACKWARD else 1 + first * second[0]
    return np.max(np.where(np.isfinite(terms), terms, 0))


TORCH = {
    "rows_softmax": lambda torch, x: torch.softmax(x, -1),
    "split_softmax": lambda torch, x: torch.softmax(x, -1),
    "single_backward": lambda torch, y, dy: torch.ops.aten._softmax_backward_data(
        dy, y, -1, dy.dtype
    ),
    "vector_add": lambda torch, x, y: x + y,
    "fused_chain": lambda torch, x, y: torch.softmax(x, -1) + x * y,
}
TORCH["block_backward"] = TORCH["single_backward"]


@each
def test_references_are_torchs_for_whole_inputs(entry):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=(9, 7)) for name in entry.inputs}
    first = arrays[entry.inputs[0]]
    first[1], first[2, 3], first[3, 0], first[4, 5:] = -INF, NAN, INF, -INF
    first[5], first[6, 1:3] = NAN, [INF, -INF]
    if len(entry.inputs) > 1:
        arrays[entry.inputs[1]][7, 2], arrays[entry.inputs[1]][8, 6] = NAN, INF
    for inputs in (
        arrays,
        {n: a[:0] for n, a in arrays.items()},
        {n: a[:, :0] for n, a in arrays.items()},
    ):
        got = entry.reference(inputs)[entry.output]
        tensors = (torch.from_numpy(inputs[name].copy()) for name in entry.inputs)
        wanted = TORCH[entry.name](torch, *tensors).numpy()
        assert got.shape == wanted.shape and got.dtype == np.float64
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-15)


# The gradient of softmax.


@each_backward
@pytest.mark.parametrize("block", [1, 2, 4])
def test_a_gradient_worked_by_hand(entry, block):
    # softmax(1, 2, 3) = (0.0900306, 0.2447285, 0.6652410); delta = 0.0900306, its own first weight.
    dx = output(entry, softmax64([1, 2, 3]), [1, 0, 0], block=block)
    np.testing.assert_allclose(dx, [0.0819251, -0.0220330, -0.0598920], atol=5e-8)


@each_backward
@settings(max_examples=15)
@given(n=st.integers(1, 64), seed=SEED, block=BLOCK)
def test_the_gradient_is_the_slope_of_the_loss(entry, n, seed, block):
    rng = np.random.default_rng(seed)
    x, dy = rng.normal(size=n) * 2, rng.normal(size=n)
    step = 1e-5 * np.eye(n)
    slope = (softmax64(x + step) @ dy - softmax64(x - step) @ dy) / 2e-5
    # A central difference of float64 is good to about 1e-10 here; y and dy are rounded to float32.
    np.testing.assert_allclose(output(entry, softmax64(x), dy, block=block), slope, atol=2e-6)


@each_backward
@few
@given(n=LENGTH, seed=SEED, block=BLOCK, shift=st.integers(-8, 8))
def test_rows_of_the_gradient_sum_to_zero_and_a_shift_of_dy_changes_nothing(
    entry, n, seed, block, shift
):
    rng = np.random.default_rng(seed)
    y, dy = softmax64(rng.normal(size=n) * 2), np.round(rng.normal(size=n) * 64) / 64
    dx = output(entry, y, dy, block=block)
    bound = (n + 8) * ROUNDING * (np.abs(dy).max() + abs(shift) + 1)
    assert abs(dx.astype(np.float64).sum()) <= 4 * bound
    assert np.abs(output(entry, y, dy + shift, block=block) - dx).max() <= 4 * bound


@each_backward
def test_a_score_without_weight_or_without_rivals_has_no_gradient(entry):
    for block in (1, 2, 8):
        np.testing.assert_array_equal(output(entry, [0, 1, 0, 0], [3, 2, 1, -5], block=block), 0)
        np.testing.assert_array_equal(output(entry, [1], [1e30], block=block), 0)
        masked = output(entry, [0.5, 0, 0.5, 0], [1, 2, 3, 4], block=block)
        np.testing.assert_array_equal(masked, [-0.5, 0, 0.5, 0])


@each_backward
def test_a_nan_spoils_the_whole_row_of_a_gradient(entry):
    for y, dy in (([0.5, NAN, 0.5], [1, 2, 3]), ([0.5, 0.5, 0], [1, NAN, 3])):
        trace = watch(entry, y, dy, block=2)
        assert np.isnan(trace.outputs["dx"]).all()
        assert of_phase(trace, "dot")[-1].case == of_phase(trace, "gradient")[-1].case == "nan"


def test_delta_grows_block_by_block():
    trace = watch(BLOCK_BACKWARD, [0.5, 0.25, 0.125, 0.125, 0], [2, 4, 8, -8, 1], block=2)
    dots = of_phase(trace, "dot")
    assert [float(step.values["t_sum"]) for step in dots] == [2, 0, 0]
    assert [float(step.values["delta"]) for step in dots] == [2, 2, 2]
    assert [step.case for step in of_phase(trace, "load")] == [
        "normal", "normal", "tail", "again", "again", "tail_again",
    ]  # fmt: skip
    np.testing.assert_array_equal(trace.outputs["dx"], [0, 0.5, 0.75, -1.25, 0])


# Several programs a row, and several rows a program.


def test_parts_worked_by_hand():
    # ln 1, ln 2 | ln 3, ln 4: the parts sum to 1/2 + 1 and 3/4 + 1, the row to 10/4.
    trace = watch(SPLIT, np.log([1, 2, 3, 4]), block=2)
    found = [step.values for step in of_phase(trace, "accumulate")]
    np.testing.assert_allclose([v["l_part"] for v in found], [1.5, 1.75], rtol=1e-6)
    merged = [step.values for step in of_phase(trace, "merge")]
    np.testing.assert_allclose([v["m"] for v in merged], [np.log(4)] * 2, rtol=1e-7)
    np.testing.assert_allclose([v["l"] for v in merged], [2.5, 2.5], rtol=1e-6)
    np.testing.assert_allclose(trace.outputs["y"], [0.1, 0.2, 0.3, 0.4], atol=1e-7)


@few
@given(n=LENGTH, seed=SEED, block=BLOCK)
def test_a_shared_row_is_the_single_programs_up_to_rounding(n, seed, block):
    x = np.random.default_rng(seed).normal(size=n) * 4
    shared, single = watch(SPLIT, x, block=block), watch(SINGLE, x)
    np.testing.assert_allclose(
        shared.outputs["y"], single.outputs["y"], rtol=(n + 16) * 2 * ROUNDING
    )
    done, whole = shared.state_at(len(shared.steps)), single.state_at(len(single.steps))
    assert done["m"] == whole["m"]
    assert done["l"] == pytest.approx(whole["l"], rel=(n + 16) * 2 * ROUNDING)


def test_lanes_past_the_end_count_as_minus_infinity_in_a_maximum():
    """A GPU's maximum skips NaN where it has another number, and the padding is one."""
    found = [step.values for step in of_phase(watch(SPLIT, [NAN, NAN, NAN], block=2), "block_max")]
    np.testing.assert_array_equal([v["m_part"] for v in found], [NAN, -INF])
    for entry, rows in ((SINGLE, 1), (ROWS_SOFTMAX, 1), (CHAIN, 2)):
        for n, wanted in ((2, NAN), (3, -INF)):
            trace = watch(entry, *[[NAN] * n] * rows)
            np.testing.assert_array_equal(of_phase(trace, "block_max")[0].values["m"], wanted)


def test_parts_merge_in_any_order_and_in_two_stages():
    x = np.random.default_rng(1).normal(size=12).astype(np.float32) * 3
    trace = watch(SPLIT, x, block=3)
    m, l = (
        np.array([s.values[name] for s in of_phase(trace, phase)], np.float32)
        for name, phase in (("m_part", "block_max"), ("l_part", "accumulate"))
    )
    wanted = np.exp(x.astype(np.float64) - x.max()).sum()
    for order in itertools.permutations(range(4)):
        first, second = list(order[:2]), list(order[2:])
        halves = np.array([merge(m[first], l[first]), merge(m[second], l[second])], np.float32)
        for merged in (merge(m[list(order)], l[list(order)]), merge(*halves.T)):
            assert merged[0] == x.max()
            assert merged[1] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("n, block", [(1, 1), (1, 8), (37, 8), (64, 64), (20, 1)])
def test_every_program_reads_its_part_once_and_publishes_before_any_merges(n, block):
    trace = watch(SPLIT, np.arange(n) / 8, block=block)
    programs = list(range(-(-n // block)))
    assert [step.program for step in of_phase(trace, "load")] == programs
    assert {step.pass_index for step in trace.steps if "x" in step.reads} == {0}
    assert [step.writes for step in of_phase(trace, "publish")] == [{"partials": 8}] * len(programs)
    merges = of_phase(trace, "merge")
    assert [step.reads for step in merges] == [{"partials": 8 * len(programs)}] * len(programs)
    first_merge = trace.steps.index(merges[0])
    assert all(step.phase != "publish" for step in trace.steps[first_merge:])
    assert len({(float(s.values["m"]), float(s.values["l"])) for s in merges}) == 1


def test_cases_tell_what_happened_to_a_part():
    def said(x, phase):
        return [step.case for step in of_phase(watch(SPLIT, x, block=2), phase)]

    row = [0, 1, -INF, -INF, 5, 2, 3]
    assert said(row, "load") == ["normal", "normal", "normal", "tail"]
    assert said(row, "block_max") == ["first", "masked", "first", "first"]
    assert said(row, "publish") == ["normal", "masked", "normal", "normal"]
    assert said(row, "merge") == ["normal", "normal", "own", "normal"]
    assert said([-INF] * 3, "merge") == ["masked"] * 2
    assert said([1, 2, INF], "merge") == ["inf"] * 2
    assert said([NAN, NAN, 1], "merge") == said([1, NAN, 1], "merge") == ["nan"] * 2
    assert said([NAN, -INF, -INF], "merge") == ["nan"] * 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_of_a_tile_is_the_row_alone_to_the_last_bit(dtype):
    for preset, n in itertools.product(("normal", "huge", "masked_tail"), (1, 7, 64, 512)):
        arrays = make_arrays(choose(preset, n, dtype=dtype), ROWS_SOFTMAX.draws)
        ours, alone = (e.trace(arrays, 4, dtype) for e in (ROWS_SOFTMAX, SINGLE))
        assert ours.as_json() | {"algorithm": ""} == alone.as_json() | {"algorithm": ""}


# Sums, and a chain of three operations.


@few
@given(n=LENGTH, seed=SEED, block=BLOCK, dtype=st.sampled_from(DTYPES))
def test_sums_are_rounded_once_and_every_program_has_its_own_lanes(n, seed, block, dtype):
    rng = np.random.default_rng(seed)
    trace = watch(ADD, rng.normal(size=n), rng.normal(size=n), block=block, dtype=dtype)
    x, y = (trace.arrays[name].astype(np.float64) for name in ("x", "y"))
    np.testing.assert_array_equal(trace.outputs["z"], round_to(np.float32(x + y), dtype))
    lanes = [(step.program, step.start, step.stop) for step in of_phase(trace, "add")]
    n_programs = -(-n // block)
    assert lanes == [(b, b * block, min(n, (b + 1) * block)) for b in range(n_programs)]
    tails = [step.program for step in of_phase(trace, "load") if step.case == "tail"]
    assert tails == [n_programs - 1] * (n % block != 0)


def test_special_values_stay_in_their_own_lane():
    trace = watch(ADD, [INF, 1, NAN, 3, INF, 5], [-INF, 1, 1, 1, 1, NAN], block=2)
    np.testing.assert_array_equal(trace.outputs["z"], [NAN, 2, NAN, 4, INF, NAN])
    assert [step.case for step in of_phase(trace, "add")] == ["nan", "nan", "nan"]


def test_a_chain_worked_by_hand():
    z = output(CHAIN, np.log([1, 2, 3, 4]), np.zeros(4))
    np.testing.assert_allclose(z, [0.1, 0.2, 0.3, 0.4], atol=1e-7)
    np.testing.assert_allclose(output(CHAIN, [0, 0, 0, 0], [9, 8, 7, 6]), [0.25] * 4)
    np.testing.assert_allclose(output(CHAIN, [2, 2], [3, -1]), [6.5, -1.5])


def test_a_fused_chain_rounds_less_often_than_three_kernels():
    rng = np.random.default_rng(5)
    x, y = (round_to(rng.normal(size=512) * 2, "float16") for _ in range(2))
    exact = softmax64(x) + x.astype(np.float64) * y
    fused = output(CHAIN, x, y, dtype="float16")
    in_three = round_to(round_to(softmax64(x), "float16") + round_to(x * y, "float16"), "float16")
    errors = [np.abs(z - exact) for z in (fused, in_three)]
    assert errors[0].max() <= errors[1].max() and errors[0].mean() < 0.8 * errors[1].mean()


def test_a_masked_score_has_no_weight_in_a_chain_but_its_product_stays():
    z = output(CHAIN, [-INF, 1, -INF, -INF], [2, 0, -3, 0])
    np.testing.assert_array_equal(z, [-INF, 1, INF, NAN])
    for row in ([-INF, -INF], [1, NAN], [1, INF]):
        assert np.isnan(output(CHAIN, row, [1, 1])).all()
