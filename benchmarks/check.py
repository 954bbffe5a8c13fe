"""Run one kernel and torch on the same inputs, and hold both against float64.

The output is filled with a NaN of a known bit pattern before the launch, so that what a kernel did
not write shows. torch runs in the same dtype on the same device; it is not the truth either, and
its own error is what a kernel's error is measured by.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks import compare as cmp
from benchmarks import states
from benchmarks.results import CheckResult, Device, ErrorStats, RowDetail
from benchmarks.ulp import spacing
from kernels.algorithm import Algorithm
from kernels.inputs import Case

Arrays = Mapping[str, np.ndarray]

# NaNs that no arithmetic gives, as integers of the output's width.
POISON = {"float32": 0x7FC0BEEF, "float16": 0x7E5A, "bfloat16": 0x7FDA}
_AS_INTEGER = {"float32": "int32", "float16": "int16", "bfloat16": "int16"}

# A float32 result may be off by this much of its scale, and by two roundings an addition: the
# sum's, and the rescale's.
FLOAT32_FLOOR = 1e-6
ROUNDING = 2.0**-23
# ln l and l's own error, as a share of the larger of 1 and |lse|.
EXTRA_FLOOR = 1e-5

MAX_DETAIL_ROWS = 16
MAX_DETAIL_VALUES = 2**18  # outputs, and captured numbers, of the rows kept in full

# The expressions an entry may name, each written out: nothing is evaluated from text.
TORCH: Mapping[str, Callable] = {
    "torch.softmax(x, -1)": lambda torch, x: torch.softmax(x, -1),
    "torch.softmax(x, -1) @ v": lambda torch, x, v: torch.softmax(x, -1) @ v,
}


@dataclass(frozen=True)
class Ran:
    """What a kernel gave, as NumPy arrays; outputs in float32, which holds every dtype exactly."""

    outputs: Arrays
    state: np.ndarray | None
    path: str
    n_programs: int
    n_unwritten: int


def run_kernel(entry: Algorithm, case: Case, arrays: Arrays, device: Device) -> Ran:
    """Launch the kernel once, capturing, into a poisoned output, and wait for it."""
    import torch

    launch = importlib.import_module(entry.kernel_module).launch
    tensors = _tensors(entry, case, arrays, device)
    width = case.head_dim if entry.has_values else case.n_cols
    integer = getattr(torch, _AS_INTEGER[case.dtype])
    out = tensors[0].new_empty((case.n_rows, width))
    out.view(integer).fill_(POISON[case.dtype])
    with quiet():
        launched = launch(
            *tensors, block=case.block, num_warps=case.num_warps, capture=True, out=out
        )
        # A fault is reported by whichever call comes next: let it be this one.
        wait(device)
    n_unwritten = int((out.view(integer) == POISON[case.dtype]).sum())
    outputs = {name: _numpy(tensor) for name, tensor in launched.outputs.items()}
    state = None if launched.state is None else _numpy(launched.state)
    return Ran(outputs, state, launched.path, launched.n_programs, n_unwritten)


def run_torch(entry: Algorithm, case: Case, arrays: Arrays, device: Device) -> np.ndarray:
    """Return what torch gives for ``entry.torch_expression``, in float32."""
    import torch

    torch.set_float32_matmul_precision("highest")  # no TF32: a float32 product is one
    tensors = _tensors(entry, case, arrays, device)
    with torch.no_grad(), quiet():
        result = TORCH[entry.torch_expression](torch, *tensors)
        wait(device)
    return _numpy(result)


def _tensors(entry: Algorithm, case: Case, arrays: Arrays, device: Device) -> list:
    """Return the inputs in the kernel's order; the values are already rounded to the dtype."""
    import torch

    where = "cuda" if device.kind == "gpu" else "cpu"
    dtype = getattr(torch, case.dtype)
    return [torch.from_numpy(arrays[name]).to(where, dtype) for name in entry.inputs]


def _numpy(tensor) -> np.ndarray:
    """Return a tensor's values in float32."""
    return tensor.detach().float().cpu().numpy()


def wait(device: Device) -> None:
    """Wait for the GPU, where there is one."""
    if device.kind == "gpu":
        import torch

        torch.cuda.synchronize()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence NumPy, which is the interpreter's arithmetic: NaN and infinities are wanted here."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def judge(
    entry: Algorithm, case: Case, arrays: Arrays, ran: Ran, by_torch: np.ndarray, device: Device
) -> CheckResult:
    """Compare everything and return the verdict with its evidence."""
    reference = entry.reference(arrays)
    expected, actual = reference[entry.output], ran.outputs[entry.output]
    masked = masked_rows(entry, arrays["x"])
    kept = ~masked
    ulp = cmp.row_ulp(expected, case.dtype)
    kernel = cmp.compare(actual, expected, ulp)
    torch = cmp.compare(by_torch[kept], expected[kept], ulp[kept])
    between = cmp.compare(actual[kept], by_torch[kept], ulp[kept])
    extra = {name: _extra_stats(ran, reference, name) for name in entry.extra_outputs}

    block = _next_power_of_two(case.n_cols) if entry.whole_row else case.block
    n_blocks = -(-case.n_cols // block)
    # One thread adds up its share of a block, then the blocks: so many roundings of one sum.
    n_additions = n_blocks + -(-block // (32 * case.num_warps))
    least = floor(entry, case.dtype, arrays, expected, n_additions)
    tolerance = max(2 * torch.stats.max_abs, least)
    worst_row = kernel.worst_row()
    compared = _compare_states(entry, case, arrays, ran, worst_row, block)
    passed = (
        not kernel.stats.n_mismatched
        and not ran.n_unwritten
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
        n_blocks=n_blocks,
        verdict="passed" if passed else _failure(entry, ran, expected),
        tolerance=float(tolerance),
        kernel=kernel.stats,
        torch=torch.stats,
        between=between.stats,
        torch_expression=entry.torch_expression,
        rows=_details(compared, actual, by_torch, expected, worst_row),
        worst_row=worst_row,
        n_outputs=actual.size,
        n_compared=by_torch[kept].size,
        n_same_bits=cmp.n_same_bits(actual[kept], by_torch[kept]),
        n_unwritten=ran.n_unwritten,
        n_masked_rows=int(masked.sum()),
        n_state_rows=len(compared),
        state_ulps=_worst_ulps(entry, compared),
        extra=extra,
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


def floor(
    entry: Algorithm, dtype: str, arrays: Arrays, expected: np.ndarray, n_additions: int
) -> float:
    """Return the absolute error that passes even where torch has none.

    For float32 arithmetic, 1e-6 and 2^-23 an addition, of the scale: the largest output or, with
    values, the largest |v|, which outputs are averages of and can cancel in. Half types round once
    more at the end: one ULP at the largest output is added. Where no maximum is subtracted, exp
    takes x as large as it is, with the rounding of an argument of that size, and float16
    exponentials are rounded as well.
    """
    largest, subtracts = _largest(expected), "m" in entry.on_chip
    relative = FLOAT32_FLOOR + n_additions * ROUNDING
    if not subtracts:
        relative += _largest(arrays["x"]) * ROUNDING
    arithmetic = relative * (_largest(arrays["v"]) if entry.has_values else largest)
    if dtype == "float32":
        return arithmetic
    n_roundings = 1 if subtracts or dtype == "bfloat16" else 2
    return arithmetic + n_roundings * float(spacing(np.array(largest), dtype))


def _largest(array: np.ndarray) -> float:
    """Return the largest finite magnitude, 0 if there is none."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def masked_rows(entry: Algorithm, x: np.ndarray) -> np.ndarray:
    """Return [n_rows] bools: rows that are -inf everywhere, where attention gives 0."""
    if "lse" not in entry.extra_outputs:
        return np.zeros(len(x), bool)
    return (x == -np.inf).all(axis=1)


def _failure(entry: Algorithm, ran: Ran, expected: np.ndarray) -> str:
    """Say whether a failure is the overflow that a kernel without a maximum is bound to have."""
    if "m" in entry.on_chip or ran.n_unwritten:
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
    allowed = max(1.0, _largest(expected)) * (EXTRA_FLOOR + n_additions * ROUNDING)
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
    compared: Mapping[int, states.RowState],
    actual: np.ndarray,
    by_torch: np.ndarray,
    expected: np.ndarray,
    worst_row: int,
) -> tuple[RowDetail, ...]:
    """Return rows in full: the worst, and others spread over those whose state was compared."""
    rows = sorted(compared) or [worst_row]
    any_state = next(iter(compared.values()), None)
    n_captured = sum(a.size for a in any_state.kernel.values()) if any_state else 0
    affordable = MAX_DETAIL_VALUES // max(actual.shape[1], n_captured, 1)
    n_wanted = min(MAX_DETAIL_ROWS, max(1, affordable))
    chosen = states.rows_to_compare(len(rows), rows.index(worst_row), n_wanted)
    details = []
    for row in (rows[index] for index in chosen):
        outputs = {"kernel": actual[row], "torch": by_torch[row], "float64": expected[row]}
        state = compared.get(row, states.RowState({}, {}, {}))
        details.append(RowDetail(row, outputs, state.kernel, state.mirror, state.ulps))
    return tuple(details)


def _next_power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least ``n``."""
    return 1 << max(n - 1, 0).bit_length()
