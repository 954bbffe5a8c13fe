"""Verdicts: a kernel that does what its mirror does passes, and a spoilt one does not."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import check, compare, layouts, report, row_run, states
from kernels.algorithm import Launch
from kernels.inputs import DTYPES, PRESETS, Case, make_matrix
from tests.mirrored import CPU, judged
from tests.rows import ROWS

SOFTMAXES = [name for name, entry in ROWS.items() if not entry.has_values]
NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROWS)
def test_a_kernel_that_does_what_the_mirror_does_passes(name, dtype, preset):
    result = judged(name, Case(preset, 3, 37, 8, 5, dtype))
    wanted = "overflowed" if name == "naive_softmax" and preset == "huge" else "passed"
    assert result.verdict == wanted
    assert result.state_ulps == dict.fromkeys(ROWS[name].captured, 0.0)
    assert report.is_right(result)


def output_changed(where, value):
    """Return a change of one output, by position."""

    def change(ran):
        name = next(iter(ran.outputs))
        changed = ran.outputs[name].copy()
        changed[where] = value
        return dataclasses.replace(ran, outputs={**ran.outputs, name: changed})

    return change


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wrong_output_fails(name, dtype):
    result = judged(name, Case("normal", 4, 20, 4, 4, dtype), output_changed((2, 1), 0.9))
    assert (result.verdict, result.worst_row) == ("failed", 2)
    assert not report.is_right(result)


@pytest.mark.parametrize("name", [n for n in SOFTMAXES if n != "naive_softmax"])
def test_a_nan_where_the_reference_is_finite_fails(name):
    result = judged(name, Case("normal", 4, 20, 4), output_changed((3, 1), NAN))
    assert (result.verdict, result.worst_row, result.kernel.n_mismatched) == ("failed", 3, 1)
    assert np.isnan(result.maps["kernel"][3, 1])


def test_a_number_where_the_reference_is_nan_fails():
    case = Case("own", 1, 3, 4, numbers=(NAN, 1.0, 2.0))
    assert judged("online_softmax", case).verdict == "passed"
    result = judged("online_softmax", case, output_changed((0, 1), 0.5))
    assert (result.verdict, result.kernel.n_mismatched) == ("failed", 1)


def test_a_small_error_of_a_long_flat_row_fails():
    """Its outputs are near 1e-3, so an absolute 1e-6 would let 0.05 % through."""
    case = Case("all_equal", 1, 2048, 512)
    change = output_changed((0, 5), np.float32(1 / 2048 * 1.0005))
    assert judged("online_softmax", case, change).verdict == "failed"


def test_unwritten_outputs_fail():
    result = judged("safe_softmax", Case(), lambda ran: dataclasses.replace(ran, n_unwritten=1))
    assert (result.verdict, result.n_unwritten) == ("failed", 1)


def test_a_sum_that_overflows_to_zeros_is_called_an_overflow():
    """exp(88.5) is finite and twice that is not: every output is then 0, and none is NaN."""
    case = Case("own", 1, 2, 2, numbers=(88.5, 88.5))
    result = judged("naive_softmax", case)
    assert result.kernel.n_mismatched == 0 and result.rows[0].outputs["kernel"].tolist() == [0, 0]
    assert result.verdict == "overflowed" and report.overflow_is_due(result)


def test_an_overflow_that_the_mirror_does_not_have_is_not_right():
    result = judged("naive_softmax", Case("normal", 2, 8, 4), output_changed((0, 0), NAN))
    assert result.verdict == "overflowed" and not report.is_right(result)


def masked_case():
    """Return a case and its arrays, row 1 of 2 -inf everywhere."""
    case = Case("normal", 2, 6, 4, 3)
    arrays = make_matrix(case, {"x": "scores", "v": "values"})
    arrays["x"][1] = -INF
    return case, arrays


def test_a_masked_row_of_attention_is_left_out_and_must_be_zero():
    case, arrays = masked_case()
    result = judged("attention_row", case, arrays=arrays)
    assert (result.verdict, result.n_masked_rows) == ("passed", 1)
    assert (result.n_outputs, result.n_compared) == (6, 3)
    assert result.torch.n_mismatched == result.between.n_mismatched == 0
    assert np.isfinite(result.maps["torch"]).all()
    tiny = judged("attention_row", case, output_changed((1, 0), 1e-9), arrays)
    assert tiny.verdict == "failed"
    nan = judged("attention_row", case, output_changed((1, 0), NAN), arrays)
    assert nan.verdict == "failed"


def test_an_lse_in_base_two_fails():
    def base_two(ran):
        lse = ran.outputs["lse"] / np.log(2)
        return dataclasses.replace(ran, outputs={**ran.outputs, "lse": lse})

    assert judged("attention_row", Case(n_rows=2)).extra["lse"].n_mismatched == 0
    assert judged("attention_row", Case(n_rows=2), base_two).verdict == "failed"


def test_same_bits_are_counted():
    a, b = (np.array([1, zero, NAN, last]) for zero, last in ((0.0, 2), (-0.0, 2.5)))
    assert compare.n_same_bits(a, b) == 2


def test_the_record_of_a_large_case_stays_small():
    case = Case("normal", 2048, 256, 256)
    result = judged("single_softmax", case, output_changed((1234, 3), 0.9))
    assert result.worst_row == 1234
    assert result.maps["kernel"].shape == (128, 128) and result.map_step == (16, 2)
    assert len(result.rows) == check.MAX_DETAIL_ROWS and result.n_state_rows == 64
    assert 1234 in [row.row for row in result.rows]
    assert result.histogram["kernel"].sum() == case.n_rows * case.n_cols


def test_a_state_that_is_off_is_told_in_ulps():
    def off(ran):
        state = ran.state.copy()
        state[0, 1, 1] = np.nextafter(state[0, 1, 1], np.float32(INF))  # l after block 1
        return dataclasses.replace(ran, state=state)

    result = judged("online_softmax", Case("normal", 1, 16, 4), off)
    assert result.state_ulps == {"m": 0.0, "l": 1.0, "alpha": 0.0}
    assert result.rows[0].state_ulps["l"].tolist() == [0, 1, 0, 0]


def faked(monkeypatch, name, launch):
    """Let ``launch`` stand in for the kernel of an algorithm."""
    module = SimpleNamespace(launch=launch)
    monkeypatch.setitem(sys.modules, ROWS[name].kernel_module, module)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_kernel_does_not_write_is_counted(monkeypatch, dtype):
    pytest.importorskip("torch")

    def launch(x, v=None, *, block, num_warps, capture, out):
        out[:, 1:] = x.softmax(-1)[:, 1:]
        return Launch({"y": out}, None, "online", len(x))

    faked(monkeypatch, "online_softmax", launch)
    entry, case = ROWS["online_softmax"], Case("normal", 5, 8, 4, dtype=dtype)
    arrays = make_matrix(case, {"x": "scores"})
    ran = row_run.run_kernel(entry, case, arrays, CPU)
    assert ran.n_unwritten == 5
    assert np.isnan(ran.outputs["y"][:, 0]).all()
    theirs = row_run.run_torch(entry, case, arrays, CPU)
    result = check.judge(entry, case, arrays, ran, theirs, CPU)
    assert (result.verdict, result.n_unwritten, result.n_state_rows) == ("failed", 5, 0)
    assert result.torch.max_ulp < 2 and result.torch.n_mismatched == 0


@pytest.mark.parametrize("layout", ["contiguous", "sliced", "transposed"])
def test_what_a_kernel_writes_beside_its_output_is_counted(monkeypatch, layout):
    torch = pytest.importorskip("torch")

    def launch(x, y, *, block, num_warps, capture, out):
        assert block == 4 and capture is False, "there is nothing to capture"
        out.copy_(x + y)
        # One row further than there is: past the end of the last row, or of the last column.
        beyond = torch.as_strided(out, (1,), (1,), out.storage_offset() + out.stride(0) * 5)
        beyond.fill_(1.0)
        return Launch({"z": out}, None, "blocks", 10)

    faked(monkeypatch, "vector_add", launch)
    entry, case = ROWS["vector_add"], Case("normal", 5, 8, 4, layout=layout)
    arrays = make_matrix(case, entry.draws)
    ran = row_run.run_kernel(entry, case, arrays, CPU)
    inside = layout == "transposed"  # there the next row is the next column's first element
    assert (ran.n_unwritten, ran.n_outside) == (0, 0 if inside else 1)
    theirs = row_run.run_torch(entry, case, arrays, CPU)
    result = check.judge(entry, case, arrays, ran, theirs, CPU)
    assert (result.verdict, result.n_outside) == ("failed", 0 if inside else 1)


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_a_kernel_is_given_the_strides_of_the_layout(monkeypatch, layout):
    torch = pytest.importorskip("torch")
    given = {}

    def launch(y, dy, *, block, num_warps, capture, out):
        assert block is None, "the row is the block"
        given.update(y=y, dy=dy)
        out.copy_(torch.ops.aten._softmax_backward_data(dy, y, -1, y.dtype))
        return Launch({"dx": out}, None, "single", 3)

    faked(monkeypatch, "single_backward", launch)
    entry, case = ROWS["single_backward"], Case("normal", 3, 8, 4, layout=layout)
    arrays = layouts.as_laid_out(entry.rows, make_matrix(case, entry.draws), layout)
    ran = row_run.run_kernel(entry, case, arrays, CPU)
    wanted = {
        "contiguous": ((8, 1), (8, 1)),
        "sliced": ((11, 1), (11, 1)),
        "transposed": ((1, 3), (1, 3)),
        "expanded": ((0, 1), (0, 1)),
        "scalar": ((8, 1), (0, 0)),
    }
    assert (given["y"].stride(), given["dy"].stride()) == wanted[layout]
    for name, tensor in given.items():
        np.testing.assert_array_equal(tensor.numpy(), arrays[name])
    if layout == "sliced":
        beyond = torch.as_strided(given["dy"], (3, 3), (11, 1), 8)
        assert beyond.isnan().all(), "a lane past the end would show"
    theirs = row_run.run_torch(entry, case, arrays, CPU)
    assert check.judge(entry, case, arrays, ran, theirs, CPU).verdict == "passed"


def test_a_sum_of_two_numbers_may_be_off_by_half_an_ulp():
    """An addition is rounded once: what is allowed is a step of the largest output, at the most."""
    case = Case("normal", 2, 40, 8)
    entry = ROWS["vector_add"]
    arrays = make_matrix(case, entry.draws)
    exact = arrays["x"].astype(np.float64) + arrays["y"]
    row, col = np.unravel_index(np.abs(exact).argmax(), exact.shape)
    step = float(np.spacing(np.abs(exact).max().astype(np.float32)))
    assert judged("vector_add", case).tolerance <= step
    off = output_changed((row, col), np.float32(exact[row, col] + 2 * step))
    assert judged("vector_add", case, off).verdict == "failed"


def test_the_floor_of_a_gradient_is_relative_to_what_cancels_in_it():
    """Where dy is one number, dx is 0 but for y's rounding, and float32's is that of y and dy."""
    case, entry = Case("normal", 2, 40, 8, layout="scalar"), ROWS["block_backward"]
    arrays = layouts.as_laid_out(entry.rows, make_matrix(case, entry.draws), case.layout)
    arrays["dy"] = np.full_like(arrays["dy"], 3.0)
    largest_y = float(arrays["y"].max())
    result = judged("block_backward", case, arrays=arrays)
    assert result.verdict == "passed"
    assert 1e-6 * 3 * largest_y <= result.tolerance <= 1e-5 * 3 * largest_y
    off = output_changed((0, 0), np.float32(1e-4 * largest_y))
    assert judged("block_backward", case, off, arrays).verdict == "failed"


def test_a_difference_in_delta_is_counted_at_its_largest_term():
    """delta can cancel to nearly 0, where the numbers lie so close that any error is thousands."""
    state = {"delta": np.array([0.0], np.float32)}
    other = {"delta": np.array([2.0**-23], np.float32)}
    assert states.state_ulps(other, state)["delta"] > 1e6
    assert states.state_ulps(other, state, {"delta": 1.5})["delta"] == [1.0]
    trace = ROWS["single_backward"].trace(
        {"y": np.array([0.5, 0.5], np.float32), "dy": np.array([3.0, -3.0], np.float32)},
        2,
        "float32",
    )
    assert states.mirror_scales(trace) == {"delta": 1.5}


def test_a_matrix_keeps_no_maps_and_only_the_worst_rows_state():
    result = judged("naive_softmax", Case("huge", 5, 20, 4))
    slim = check.without_evidence(result)
    assert slim.rows[0].outputs == {} and not slim.maps and len(slim.rows) == 1
    assert report.is_right(slim) and report.is_right(result)
    assert report.as_json("naive_softmax", slim.case, slim) == report.as_json(
        "naive_softmax", result.case, result
    )


def test_the_inputs_stand_beside_an_output_of_their_width():
    row = judged("fused_chain", Case("normal", 3, 20, 4)).rows[0]
    assert {name: array.shape for name, array in row.inputs.items()} == {"x": (20,), "y": (20,)}
    assert judged("attention_row", Case("normal", 3, 20, 4)).rows[0].inputs == {}


def test_every_torch_expression_is_one_that_can_be_run():
    assert {entry.torch_expression for entry in ROWS.values()} <= set(row_run.TORCH)
