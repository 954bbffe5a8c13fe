"""Verdicts on tiles: what passes and what must not, and how a kernel's run is looked after."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import (
    compare,
    report,
    tile_check,
    tile_job,
    tile_matrix,
    tile_report,
    tile_run,
    tile_states,
)
from kernels import ALGORITHMS
from kernels.algorithm import Launch
from kernels.inputs import DTYPES, Case
from kernels.tile_inputs import tiles_of
from tests.mirrored import CPU, judged_tiles, mirrored_heads
from tests.mirrored import ragged_attention as attention

torch = pytest.importorskip("torch")

ON_TILES = {name: entry for name, entry in ALGORITHMS.items() if entry.problem != "row"}
FLASH = ALGORITHMS["flash_attention"]
NAN, INF = np.nan, np.inf


PRODUCT = Case(size_m=20, size_n=12, size_k=30, block_m=8, block=8, block_k=8, group_m=2)


def case_of(name, dtype="float32", **others):
    if ALGORITHMS[name].problem == "matmul":
        return dataclasses.replace(PRODUCT, dtype=dtype)
    return attention(dtype=dtype, kv_heads=4, **others)


# Verdicts.


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ON_TILES)
def test_a_kernel_that_does_what_the_mirror_does_passes(name, dtype):
    result = judged_tiles(name, case_of(name, dtype))
    assert result.verdict == "passed" and report.is_right(result)
    entry = ALGORITHMS[name]
    assert [o.name for o in result.outputs] == [entry.output, *entry.extra_outputs]
    assert result.state_ulps == dict.fromkeys(entry.captured, 0.0)
    assert result.n_state_heads == (0 if not entry.captured else 1 if name == "matmul" else 4)
    for output in result.outputs:
        assert (output.torch is None) == (output.name == "lse")
        assert len(output.by_head["kernel"]) == (1 if name == "matmul" else 8)
        assert len(output.by_block) == 3 and output.block_rows == 8
        assert output.by_block.max() == output.by_head["kernel"].max() == output.kernel.max_ulp
        assert output.histogram["kernel"].sum() == output.n_outputs
    assert result.n_masked_rows == 0


def changed(name, where, value):
    """Return a change of one output at a position."""

    def change(ran):
        array = ran.outputs[name].copy()
        array[where] = value
        return dataclasses.replace(ran, outputs={**ran.outputs, name: array})

    return change


@pytest.mark.parametrize("name", [n for n, e in ON_TILES.items() if e.problem == "attention"])
def test_a_wrong_output_fails_and_is_found(name):
    for output in (ALGORITHMS[name].output, *ALGORITHMS[name].extra_outputs):
        where = (1, 2, 17) if output == "lse" else (1, 2, 17, 3)
        result = judged_tiles(name, case_of(name), changed(output, where, 9.0))
        found = result.output(output)
        assert (result.verdict, found.passed) == ("failed", False)
        assert (found.worst_head, found.worst_row) == (6, 17)
        assert found.by_head["kernel"].argmax() == 6 and found.by_block.argmax() == 2
        column = 0 if output == "lse" else 3
        assert np.unravel_index(found.maps["kernel"].argmax(), found.maps["kernel"].shape) == (
            17,
            column,
        )
        assert [o.passed for o in result.outputs if o is not found] == [True] * (
            len(result.outputs) - 1
        )


def test_a_nan_where_the_reference_is_finite_fails_and_stays_a_nan():
    result = judged_tiles("flash_attention", attention(), changed("o", (0, 3, 9, 0), NAN))
    found = result.outputs[0]
    assert result.verdict == "failed" and found.kernel.n_mismatched == 1
    assert (found.worst_head, found.worst_row) == (3, 9)
    assert np.isnan(found.by_head["kernel"]).tolist() == [h == 3 for h in range(8)]
    assert np.isnan(found.by_block).tolist() == [False, True, False]
    assert np.isnan(found.maps["kernel"][9, 0]) and np.isnan(found.maps["kernel"]).sum() == 1


@pytest.mark.parametrize("count", ["n_unwritten", "n_outside"])
def test_what_was_not_written_or_written_outside_fails(count):
    def change(ran):
        return dataclasses.replace(ran, **{count: {"o": 0, "lse": 1}})

    result = judged_tiles("split_kv", attention(), change)
    assert [output.passed for output in result.outputs] == [True, False]
    assert getattr(result.output("lse"), count) == 1


def test_an_lse_in_base_two_fails():
    def change(ran):
        return dataclasses.replace(
            ran, outputs={**ran.outputs, "lse": ran.outputs["lse"] / np.log(2)}
        )

    assert judged_tiles("flash_attention", attention(), change).verdict == "failed"


@pytest.mark.parametrize(("name", "output"), [("flash_attention", "o"), ("flash_backward", "dq")])
def test_a_query_that_sees_no_key_must_give_zero_and_is_not_held_against_torch(name, output):
    case = attention(20, 12, kv_heads=4)
    result = judged_tiles(name, case)
    found = result.output(output)
    assert result.verdict == "passed" and result.n_masked_rows == 8 * 8
    assert found.n_compared == 8 * 12 * 5 < found.n_outputs
    assert not found.maps["torch"][:8].any()
    assert found.histogram["kernel"].sum() == found.histogram["torch"].sum() == found.n_compared
    tiny = judged_tiles(name, case, changed(output, (1, 0, 7, 0), 1e-12))
    assert tiny.verdict == "failed"


def test_a_gradient_of_zero_is_not_measured_by_its_own_rounding():
    """Query 0 sees one key: dq is 0 but for rounding, and must not read as a million ULPs."""
    result = judged_tiles("flash_backward", attention(kv_heads=4))
    assert result.output("dq").kernel.max_ulp < 32


# The state.


def test_a_state_that_is_off_is_found_and_unvisited_tiles_are_nan():
    def off(state):
        state[0, 10, 1, 1] = np.nextafter(state[0, 10, 1, 1], np.float32(INF))
        return state

    result = judged_tiles("flash_attention", attention(), change_state=off)
    assert result.state_ulps == {"m": 0, "l": 1, "alpha": 0, "acc": 0}
    maps = result.state_maps["l"]
    assert maps.shape == (20, 3)
    # Rows 0 to 7 visit block 0, 8 to 15 also block 1.
    assert np.isnan(maps).tolist() == [[False, row < 8, row < 16] for row in range(20)]


def test_a_tile_that_the_kernel_skipped_is_infinitely_wrong():
    def skip(state):
        state[:, 16:, 2] = NAN
        return state

    result = judged_tiles("split_kv", attention(), change_state=skip)
    assert set(result.state_ulps.values()) == {INF}
    # Rows of one program may see less of the last tile than it visits, but these see some of it.
    assert np.isinf(result.state_maps["m"][16:, 2]).all()


def test_a_tile_that_a_row_sees_nothing_of_may_be_skipped():
    """Which tiles a row's program visits depends on the rows it shares a block with."""

    def skip(state):
        state[:, 3, 1] = NAN
        return state

    result = judged_tiles("flash_attention", attention(block_m=16), change_state=skip)
    assert set(result.state_ulps.values()) == {0}
    assert np.isnan(result.state_maps["l"][3]).tolist() == [False, True, True]
    assert np.isnan(result.state_maps["l"][4]).tolist() == [False, False, True]


def test_a_map_cell_of_a_state_is_nan_only_where_nothing_was_visited():
    ulps = np.full((4, 4), NAN, np.float32)
    ulps[0, 0], ulps[1, 1] = 3.0, 5.0
    cells = tile_check._state_map(ulps, (2, 2))
    assert cells[0, 0] == 5 and np.isnan(cells).sum() == 3


def test_the_rows_kept_in_full_hold_the_worst_and_the_blocks_they_visited():
    result = judged_tiles("flash_attention", attention(), changed("o", (0, 1, 9, 0), 5.0))
    assert result.state_head == 1
    row = next(row for row in result.rows if row.row == 9)
    assert row.outputs["kernel"][0] == 5.0 and row.outputs["float64"][0] != 5.0
    assert row.kernel_state["m"].shape == (2,) and row.kernel_state["acc"].shape == (2, 5)
    assert row.state_ulps["alpha"].tolist() == [0, 0]


def test_of_a_head_that_is_too_large_the_last_rows_are_compared(monkeypatch):
    monkeypatch.setattr(tile_states, "MAX_VALUES", 8 * 3 * (3 + 5))  # one block of rows
    for name in ("flash_attention", "split_kv"):
        entry, case = ALGORITHMS[name], attention()
        assert tile_states.affordable(entry, vars(case), tiles_of(entry, case)) == (1, 16)
        result = judged_tiles(name, case)
        assert result.state_ulps == dict.fromkeys(entry.captured, 0.0)
        assert (result.n_state_heads, result.state_row) == (1, 16)
        assert result.state_maps["m"].shape == (4, 3)
        assert [bool(row.kernel_state) for row in result.rows] == [r.row >= 16 for r in result.rows]
    monkeypatch.setattr(tile_states, "MAX_VALUES", 1)
    result = judged_tiles("flash_attention", attention())
    assert (result.n_state_heads, result.state_maps, result.verdict) == (0, {}, "passed")


def test_a_products_state_is_acc_after_every_k_block():
    result = judged_tiles("matmul", PRODUCT)
    assert result.state_maps["acc"].shape == (20, 4)
    assert result.rows[0].kernel_state["acc"].shape == (4, 12)

    def off(state):
        state[0, 3, 5, 2, 0] *= 1.5
        return state

    found = judged_tiles("matmul", PRODUCT, change_state=off).state_maps["acc"]
    assert np.argwhere(found > 0).tolist() == [[3, 2]]


# Running a kernel, a stand-in here.


def fake_kernel(monkeypatch, entry, spoil):
    """Have ``entry``'s kernel write what the mirror gives, and then do ``spoil`` to ``out``."""

    def launch(tensors, tiles, *, num_warps, num_stages, capture, out):
        case = SimpleNamespace(batch=2, heads=4, kv_heads=2, dtype="float32")
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        outputs, state = mirrored_heads(entry, case, arrays, tiles)
        for name, tensor in out.items():
            tensor.copy_(torch.from_numpy(outputs[name]))
        spoil(tensors, out)
        state = torch.from_numpy(state.reshape(2, 4, *state.shape[1:])) if capture else None
        return Launch(dict(out), state, "fake", 3)

    monkeypatch.setitem(sys.modules, entry.kernel_module, SimpleNamespace(launch=launch))


def after(tensor, at):
    """Return the element so many places from the end, or before the start, of a tensor."""
    start = tensor.storage_offset() + (tensor.numel() + at if at >= 0 else at)
    return tensor.as_strided((1,), (1,), start)


def unspoilt(tensors, out):
    """Do nothing."""


def skips_one(tensors, out):
    """Leave one element as it was before the launch."""
    out["o"][1, 3, 7, 2] = after(out["o"], 0)[0]


def writes_past(tensors, out):
    """Write one element after the output, and one before it."""
    after(out["lse"], 0)[:] = 1.0
    after(out["lse"], -1)[:] = 1.0


def fills_a_masked_row(tensors, out):
    """Write a speck where a query sees no key."""
    out["o"][1, 0, 3, 4] = 1e-12


@pytest.mark.parametrize(
    ("spoil", "n_unwritten", "n_outside"),
    [(unspoilt, 0, 0), (skips_one, 1, 0), (writes_past, 0, 2), (fills_a_masked_row, 0, 0)],
)
def test_the_job_counts_what_a_kernel_leaves_out_and_writes_too_far(
    monkeypatch, spoil, n_unwritten, n_outside
):
    fake_kernel(monkeypatch, FLASH, spoil)
    case = attention(20, 15)
    *stages, result = tile_job.check(FLASH, case, CPU)
    assert [stage.stage for stage in stages] == ["inputs", "kernel", "compare"]
    assert result.verdict == ("passed" if spoil is unspoilt else "failed")
    assert sum(output.n_unwritten for output in result.outputs) == n_unwritten
    assert sum(output.n_outside for output in result.outputs) == n_outside
    assert result.rival == "SDPA flash" and result.rivals["SDPA flash"]["o"] < 1e-6
    assert isinstance(result.rivals["SDPA cuDNN"], str)
    quick = tile_job.quick(FLASH, case, CPU, own_schedule=False)
    assert quick.verdict == result.verdict and quick.rival == result.rival
    for short, full in zip(quick.outputs, result.outputs, strict=True):
        assert (short.name, short.passed) == (full.name, full.passed)
        assert short.error == pytest.approx(full.kernel.max_abs, rel=1e-12)
        assert short.tolerance == pytest.approx(full.tolerance, rel=1e-12)
        assert (short.n_unwritten, short.n_outside) == (full.n_unwritten, full.n_outside)


def test_what_is_captured_with_all_heads_and_of_some_heads_is_judged_alike(monkeypatch):
    fake_kernel(monkeypatch, FLASH, unspoilt)
    at_once = list(tile_job.check(FLASH, attention(), CPU))[-1]
    monkeypatch.setattr(tile_job, "MAX_CAPTURED", 0)

    def launch(tensors, tiles, *, capture, **_):
        """Give the state of the heads that are asked for."""
        heads = len(tensors["q"])
        assert capture and tensors["q"].shape[1] == tensors["k"].shape[1] == 1
        case = SimpleNamespace(batch=heads, heads=1, kv_heads=1, dtype="float32")
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        outputs, state = mirrored_heads(FLASH, case, arrays, tiles)
        outputs = {name: torch.from_numpy(array) for name, array in outputs.items()}
        return Launch(outputs, torch.from_numpy(state)[:, None], "fake", 1)

    whole = sys.modules[FLASH.kernel_module].launch
    module = SimpleNamespace(
        launch=lambda *args, capture, **options: (launch if capture else whole)(
            *args, capture=capture, **options
        )
    )
    monkeypatch.setitem(sys.modules, FLASH.kernel_module, module)
    by_head = list(tile_job.check(FLASH, attention(), CPU))[-1]
    assert by_head.state_ulps == at_once.state_ulps == dict.fromkeys(FLASH.captured, 0.0)
    for row, other in zip(by_head.rows, at_once.rows, strict=True):
        np.testing.assert_array_equal(row.kernel_state["acc"], other.kernel_state["acc"])


def test_inputs_lie_between_nans():
    placed = tile_run.between_nans(torch.ones(2, 3))
    assert placed.is_contiguous() and placed.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert after(placed, 0).isnan().all() and after(placed, -1).isnan().all()


@pytest.mark.parametrize("actual", [0.5, NAN, INF, -INF])
@pytest.mark.parametrize("expected", [0.5, 0.25, NAN, INF, -INF])
def test_errors_on_the_device_are_counted_as_in_numpy(actual, expected):
    sides = np.array([[actual, 1.0]]), np.array([[expected, 0.5]])
    stats = compare.compare(*sides, np.ones(1)).stats
    found = tile_job.largest_error(*map(torch.from_numpy, sides))
    assert found == (stats.max_abs, stats.n_mismatched)


# The matrix and its table.


def test_the_matrix_holds_what_it_says():
    on_gpu = list(tile_matrix.jobs(on_gpu=True))
    assert len(on_gpu) == len(set(on_gpu))
    for name in ("flash_attention", "flash_backward"):
        cases = [job.case for job in on_gpu if job.algorithm == name and job.own_schedule]
        square = {
            (c.dtype, c.head_dim, c.seq_q, c.mask, c.heads == c.kv_heads)
            for c in cases
            if c.seq_q == c.seq_k
        }
        assert len(square) == 3 * 7 * 8 * 2 * 2
        assert {(c.seq_q, c.seq_k) for c in cases if c.seq_q != c.seq_k} == set(tile_matrix.UNEQUAL)
    splits = [job.case for job in on_gpu if job.algorithm == "split_kv"]
    assert {1, 2, 3, 7} < {case.n_splits for case in splits}
    assert any(case.n_splits > -(-case.seq_k // 16) for case in splits)
    products = [job.case for job in on_gpu if job.algorithm == "matmul"]
    assert {(c.size_m, c.size_n, c.size_k) for c in products} == set(tile_matrix.PRODUCTS)
    assert {c.group_m for c in products} == {1, 4, 8}
    small = list(tile_matrix.jobs(on_gpu=False))
    assert 60 <= len(small) <= 110
    assert {(job.algorithm, job.case.dtype) for job in small} == {
        (name, dtype) for name in ON_TILES for dtype in DTYPES
    }


def test_the_table_says_what_failed_and_by_how_much(monkeypatch):
    def halves(tensors, out):
        out["o"][0, 0, 3] *= 0.5

    case = attention()
    fake_kernel(monkeypatch, FLASH, unspoilt)
    right = tile_job.quick(FLASH, case, CPU, own_schedule=False)
    fake_kernel(monkeypatch, FLASH, halves)
    wrong = tile_job.quick(FLASH, case, CPU, own_schedule=False)
    outcomes = [(FLASH.name, case, outcome) for outcome in (right, wrong)]
    lines = tile_report.summary(outcomes)
    assert lines[1].split()[:4] == ["flash_attention", "float32", "5", "1/2"]
    assert "FAILED" in lines[1] and lines[1].endswith("SDPA flash")
    assert lines[3] == "2 checks, 1 failed."
    assert "2x4/2 20x20 d5 causal, blocks 8x8: o " in lines[4] and "lse" not in lines[4]
    assert tile_report.summary(outcomes[:1])[-1] == "1 checks, 0 failed."
