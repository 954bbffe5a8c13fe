"""Units, maps and states of a comparison, held against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import compare, states, ulp
from kernels.inputs import Case, make_matrix
from kernels.problems import row_of
from kernels.trace import Step, Trace
from tests.rows import ROWS

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("magnitude", "dtype", "expected"),
    [
        (1.0, "float32", 2.0**-23),
        (1.0, "float16", 2.0**-10),
        (1.0, "bfloat16", 2.0**-7),
        (0.999, "float32", 2.0**-24),  # 0.5 <= 0.999 < 1: one binade lower
        (0.3, "float16", 2.0**-12),
        (-5.0, "bfloat16", 2.0**-5),
        (0.0, "float16", 2.0**-24),
        (1e-7, "float16", 2.0**-24),  # subnormal: the gap stays
        (NAN, "float32", 2.0**-149),
    ],
)
def test_spacing_by_hand(magnitude, dtype, expected):
    assert ulp.spacing(np.array([magnitude]), dtype)[0] == expected


def test_errors_are_in_ulps_of_the_rows_largest_reference():
    reference = np.array([[0.75, 0.25], [4.0, 0.0]])
    actual = reference + np.array([[0.0, 2.0**-23], [2.0**-20, 0.0]])
    unit = compare.row_ulp(reference, "float32")
    assert unit.tolist() == [2.0**-24, 2.0**-21]
    found = compare.compare(actual, reference, unit)
    assert found.ulps.tolist() == [[0.0, 2.0], [2.0, 0.0]]
    assert found.stats.max_abs == 2.0**-20
    assert found.stats.rms == pytest.approx(np.sqrt((2.0**-46 + 2.0**-40) / 4))
    assert found.stats.max_rel == pytest.approx(2.0**-23 / 0.25)
    assert (found.stats.max_ulp, found.stats.median_ulp) == (2.0, 1.0)


def test_a_relative_error_at_zero_is_finite():
    found = compare.compare(np.array([[1e-7]]), np.array([[0.0]]), np.array([1.0]))
    assert found.stats.max_rel == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("actual", "expected", "mismatched"),
    [
        (NAN, 0.5, True),
        (0.5, NAN, True),
        (INF, 0.5, True),
        (0.5, -INF, True),
        (INF, NAN, True),
        (INF, -INF, True),
        (NAN, NAN, False),
        (INF, INF, False),
        (-INF, -INF, False),
    ],
)
def test_nan_and_infinities_agree_only_with_their_like(actual, expected, mismatched):
    found = compare.compare(np.array([[actual, 0.5]]), np.array([[expected, 0.5]]), np.array([1.0]))
    assert found.stats.n_mismatched == mismatched
    assert np.isnan(found.ulps[0, 0]) == mismatched
    assert found.stats.max_abs == 0.0


def f32(*values):
    return np.array(values, np.float32)


def test_distance_by_hand():
    one = np.float32(1)
    assert ulp.distance(one, np.nextafter(one, np.float32(2))) == 1
    assert ulp.distance(f32(1.0), f32(2.0)) == 2**23
    assert ulp.distance(f32(0.0), f32(-0.0)) == 0
    smallest = np.float32(2.0**-126)
    assert ulp.distance(smallest, -smallest) == 2  # with 0 between them
    assert ulp.distance(f32(3e-39), f32(0.0)) == 0  # flushed on a GPU
    assert ulp.distance(f32(NAN, INF, -INF, NAN, INF), f32(NAN, INF, INF, 1, 1)).tolist() == [
        0,
        0,
        INF,
        INF,
        INF,
    ]


floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(floats, floats)
def test_distance_is_symmetric_and_zero_only_for_what_counts_as_equal(a, b):
    a, b = np.float32(a), np.float32(b)
    assert ulp.distance(a, b) == ulp.distance(b, a)
    flushed = [np.float32(0) if abs(x) < 2.0**-126 else x for x in (a, b)]
    assert (ulp.distance(a, b) == 0) == (flushed[0] == flushed[1])


def test_a_map_cell_is_the_largest_of_its_block_and_nan_wins():
    errors = np.zeros((300, 200), np.float32)
    errors[299, 199], errors[0, 0] = 7.0, NAN
    step = compare.map_step(*errors.shape)
    assert step == (3, 2)
    cells = compare.downsample(errors, step)
    assert cells.shape == (100, 100)
    assert np.isnan(cells[0, 0]) and cells[99, 99] == 7.0 and np.nansum(cells) == 7.0
    assert compare.downsample(np.ones((1, 129), np.float32), compare.map_step(1, 129)).shape == (
        1,
        65,
    )


def test_a_histogram_counts_every_element_that_can_be_compared():
    ours, theirs = np.array([[0.0, 0.4, 3.0, NAN]]), np.array([[0.1, 0.2, 0.3]])
    bins = compare.histogram(ours, theirs)
    assert len(bins["edges"]) == 25 and bins["edges"][[0, -1]].tolist() == [0.0, 5.0]
    assert bins["kernel"].sum() == 3 and bins["torch"].sum() == 3
    assert bins["kernel"][14] == 1  # 3.0 / 5.0 * 24 = 14.4


@pytest.mark.parametrize("name", ROWS)
def test_mirror_state_is_what_the_formulas_say_after_each_block(name):
    entry, block = ROWS[name], 4
    case = Case("outlier_last", 1, 11, block, 3, seed=3)
    row = row_of(entry, make_matrix(case, entry.draws), 0)
    x, *others = (row[name].astype(np.float64) for name in entry.inputs)
    state = states.mirror_state(entry, entry.trace(row, block, "float32"))
    assert tuple(state) == entry.captured
    ends = [11] if entry.whole_row else [4, 8, 11]
    online = "alpha" in entry.captured
    m = np.array([x[:end].max() for end in ends])
    shift = m if online else np.full(len(ends), x.max() if "m" in entry.on_chip else 0.0)
    weights = [np.exp(x[:end] - at) for end, at in zip(ends, shift)]
    expected = {"m": m, "l": np.array([p.sum() for p in weights])}
    expected["alpha"] = np.exp(np.concatenate([[-INF], m[:-1]]) - m)
    parts = [x[start : start + 4] for start in (0, 4, 8)]
    expected["m_part"] = np.array([part.max() for part in parts])
    expected["l_part"] = np.array([np.exp(part - part.max()).sum() for part in parts])
    if entry.has_values:
        expected["acc"] = np.stack([p @ others[0][: len(p)] for p in weights])
    elif others:
        expected["delta"] = np.array([x[:end] @ others[0][:end] for end in ends])
    for field in entry.captured:
        np.testing.assert_allclose(state[field], expected[field], rtol=1e-6, err_msg=field)


def test_mirror_state_reads_m_from_m_new_where_that_is_all_there_is():
    steps = [Step("new_max", 0, b, b, b + 1, values={"m_new": float(b)}) for b in range(2)]
    steps.append(Step("normalize", 0, None, 0, 2, values={"m": 9.0}))  # no block's own
    trace = Trace("safe_softmax", "float32", {}, {}, tuple(steps), {})
    assert states.mirror_state(ROWS["safe_softmax"], trace)["m"].tolist() == [0, 1]


def test_acc_is_measured_at_the_rows_largest():
    ours = {"acc": np.array([[1.0, 1e-9], [NAN, 1.0]], np.float32)}
    theirs = {"acc": np.array([[1.0, 0.0], [2.0, 1.0]], np.float32)}
    found = states.state_ulps(ours, theirs)["acc"]
    assert found[0] == pytest.approx(1e-9 / 2.0**-23) and found[1] == INF


def test_the_compared_rows_hold_the_worst_and_are_few():
    assert states.rows_to_compare(1000, 17, 4) == [17, 333, 666, 999]
    assert states.rows_to_compare(3, 1, 64) == [0, 1, 2]
    assert states.rows_to_compare(1000, 17, 1) == [17]
    assert states.affordable_rows(n_cols=65_536, n_blocks=65_536, head_dim=1) == 1
    assert states.affordable_rows(n_cols=100, n_blocks=7, head_dim=1) == states.MAX_STATE_ROWS
