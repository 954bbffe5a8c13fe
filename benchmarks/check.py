"""Hold what a kernel gave on rows against torch and float64, and its state against its mirror.

torch runs in the same dtype on the same device; it is not the truth either, and its own error is
what a kernel's error is measured by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from benchmarks import compare as cmp
from benchmarks import row_tolerances, states
from benchmarks.results import CheckResult, Device, ErrorStats, RowDetail
from benchmarks.row_run import Arrays, Ran
from kernels.algorithm import Algorithm
from kernels.inputs import ITEMSIZE, Case
from kernels.softmax import paths
from kernels.tiles import next_power_of_two

MAX_DETAIL_ROWS = 16
MAX_DETAIL_VALUES = 2**18  # outputs, and captured numbers, of the rows kept in full


def judge(
    entry: Algorithm, case: Case, arrays: Arrays, ran: Ran, by_torch: np.ndarray, device: Device
) -> CheckResult:
    """Compare everything and return the verdict with its evidence."""
    reference = entry.reference(arrays)
    expected, actual = reference[entry.output], ran.outputs[entry.output]
    masked = masked_rows(entry, arrays)
    kept = ~masked
    ulp = cmp.row_ulp(expected, case.dtype)
    kernel = cmp.compare(actual, expected, ulp)
    torch = cmp.compare(by_torch[kept], expected[kept], ulp[kept])
    between = cmp.compare(actual[kept], by_torch[kept], ulp[kept])
    extra = {name: _extra_stats(ran, reference, name) for name in entry.extra_outputs}

    block = next_power_of_two(case.n_cols) if entry.whole_row else case.block
    rows_a_program = -(-case.n_rows // max(1, ran.n_programs))
    n_additions = row_tolerances.n_additions(case.n_cols, block, case.num_warps, rows_a_program)
    least = row_tolerances.floor(entry, case.dtype, arrays, expected, n_additions)
    tolerance = max(2 * torch.stats.max_abs, least)
    worst_row = kernel.worst_row()
    compared = _compare_states(entry, case, arrays, ran, worst_row, block)
    passed = (
        not kernel.stats.n_mismatched
        and not ran.n_unwritten
        and not ran.n_outside
        and kernel.stats.max_abs <= tolerance
        and not actual[masked].any()
        and all(_extra_passes(extra[name], reference[name], n_additions) for name in extra)
    )
    return CheckResult(
        case=case,
        algorithm=entry.name,
        device=device,
        path=ran.path,
        n_programs=ran.n_programs,
        block=block,
        n_blocks=-(-case.n_cols // block),
        verdict="passed" if passed else _failure(entry, ran, expected),
        tolerance=float(tolerance),
        kernel=kernel.stats,
        torch=torch.stats,
        between=between.stats,
        torch_expression=entry.torch_expression,
        rows=_details(entry, arrays, compared, (actual, by_torch, expected), worst_row),
        worst_row=worst_row,
        n_outputs=actual.size,
        n_compared=by_torch[kept].size,
        n_same_bits=cmp.n_same_bits(actual[kept], by_torch[kept]),
        n_unwritten=ran.n_unwritten,
        n_masked_rows=int(masked.sum()),
        n_state_rows=len(compared),
        state_ulps=_worst_ulps(entry, compared),
        extra=extra,
        output=entry.output,
        n_outside=ran.n_outside,
        **_softmax_path(entry, case, device),
        **_pictures(kernel, torch, between, masked),
    )


def _pictures(
    kernel: cmp.Comparison, torch: cmp.Comparison, between: cmp.Comparison, masked: np.ndarray
) -> dict[str, object]:
    """Return what is drawn of all errors together: maps, map_step and histogram."""
    step = cmp.map_step(*kernel.ulps.shape)
    errors = {
        "kernel": kernel.ulps,
        "torch": cmp.without_rows(torch, masked, len(masked)),
        "between": cmp.without_rows(between, masked, len(masked)),
    }
    return {
        "maps": {name: cmp.downsample(ulps, step) for name, ulps in errors.items()},
        "map_step": step,
        "histogram": cmp.histogram(kernel.ulps[~masked], torch.ulps),
    }


def without_evidence(result: CheckResult) -> CheckResult:
    """Return what a line of a table needs: a matrix of checks keeps thousands of results."""
    kept = tuple(replace(row, outputs={}, inputs={}) for row in result.rows)
    worst = tuple(row for row in kept if row.row == result.worst_row)
    return replace(result, rows=worst, maps={}, histogram={})


def _softmax_path(entry: Algorithm, case: Case, device: Device) -> dict[str, str]:
    """Return the path that softmax(x) would take for these sizes here, and why, of a softmax."""
    if entry.rows != entry.inputs or entry.output != "y" or len(entry.inputs) != 1:
        return {}
    size = ITEMSIZE[case.dtype]
    plan = paths.plan(case.n_rows, case.n_cols, size, device.capability)
    return {"softmax_path": plan.path, "softmax_reason": plan.reason}


def masked_rows(entry: Algorithm, arrays: Arrays) -> np.ndarray:
    """Return [n_rows] bools: rows that are -inf everywhere, where attention gives 0."""
    x = arrays[entry.rows[0]]
    if "lse" not in entry.extra_outputs:
        return np.zeros(len(x), bool)
    return (x == -np.inf).all(axis=1)


def _failure(entry: Algorithm, ran: Ran, expected: np.ndarray) -> str:
    """Say whether a failure is the overflow that a kernel without a maximum is bound to have."""
    if not row_tolerances.has_no_maximum(entry) or ran.n_unwritten or ran.n_outside:
        return "failed"
    finite = np.isfinite(expected).all(axis=1)
    actual = ran.outputs[entry.output]
    if not np.isfinite(actual[finite]).all():
        return "overflowed"
    # An infinite sum can also make outputs 0: all of a row's, or all but those of a +inf.
    sums = None if ran.state is None else ran.state[:, :, list(entry.captured).index("l")]
    return "overflowed" if sums is not None and np.isinf(sums).any() else "failed"


def _extra_stats(ran: Ran, reference: Arrays, name: str) -> ErrorStats:
    """Return how far an output beside the main one, such as lse [n_rows], is from float64."""
    actual, expected = (np.reshape(a[name], (-1, 1)) for a in (ran.outputs, reference))
    return cmp.compare(actual, expected, cmp.row_ulp(expected, "float32")).stats


def _extra_passes(stats: ErrorStats, expected: np.ndarray, n_additions: int) -> bool:
    """Whether an extra output is right: no mismatch, and within its share of max(1, |expected|)."""
    allowed = row_tolerances.extra_floor(expected, n_additions)
    return not stats.n_mismatched and stats.max_abs <= allowed


def _compare_states(
    entry: Algorithm, case: Case, arrays: Arrays, ran: Ran, worst_row: int, block: int
) -> dict[int, states.RowState]:
    """Return the states of as many rows as can be compared; none if none were captured."""
    if ran.state is None or not ran.state.size:
        return {}
    head_dim = case.head_dim if entry.has_values else 1
    n_wanted = states.affordable_rows(case.n_cols, ran.state.shape[1], head_dim)
    rows = states.rows_to_compare(case.n_rows, worst_row, n_wanted)
    return states.compare_rows(entry, arrays, rows, ran.state, block, case.dtype)


def _worst_ulps(entry: Algorithm, compared: Mapping[int, states.RowState]) -> dict[str, float]:
    """Return the largest distance of each field over all rows."""
    if not compared:
        return {}
    return {
        field: float(max(state.ulps[field].max() for state in compared.values()))
        for field in entry.captured
    }


def _details(
    entry: Algorithm,
    arrays: Arrays,
    compared: Mapping[int, states.RowState],
    results: tuple[np.ndarray, np.ndarray, np.ndarray],
    worst_row: int,
) -> tuple[RowDetail, ...]:
    """Return rows in full: the worst, and others spread over those whose state was compared.

    ``results`` are the kernel's, torch's and float64's.
    """
    rows = sorted(compared) or [worst_row]
    any_state = next(iter(compared.values()), None)
    n_captured = sum(a.size for a in any_state.kernel.values()) if any_state else 0
    n_outputs = results[0].shape[1]
    affordable = MAX_DETAIL_VALUES // max(n_outputs, n_captured, 1)
    n_wanted = min(MAX_DETAIL_ROWS, max(1, affordable))
    chosen = states.rows_to_compare(len(rows), rows.index(worst_row), n_wanted)
    # Beside an output of another width, the inputs would not stand in its columns.
    shown = () if entry.has_values else entry.rows
    details = []
    for row in (rows[index] for index in chosen):
        outputs = dict(zip(("kernel", "torch", "float64"), (a[row] for a in results), strict=True))
        state = compared.get(row, states.RowState({}, {}, {}))
        inputs = {name: arrays[name][row] for name in shown}
        details.append(RowDetail(row, outputs, state.kernel, state.mirror, state.ulps, inputs))
    return tuple(details)
