"""Check results as text: one line a check, one line an algorithm and dtype, or JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchmarks import softmax_matrix, tile_report
from benchmarks.messages import JobFailed
from benchmarks.results import CheckResult, Device, QuickResult, TileCheckResult
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import Case
from kernels.trace import encode

Result = CheckResult | TileCheckResult | QuickResult | softmax_matrix.SoftmaxResult
Outcome = Result | JobFailed | InputError

ROW = "{:15} {:8} {:>12} {:>6} {:7} {:>9} {:>9} {:>8} {:>8}  {:18} {}"
GROUP = "{:15} {:8} {:>9} {:>10} {:>9} {:>9} {:>6} {:>5} {:>8} {:>8}  {:15} {}"
MAX_EXAMPLES = 12  # of failed checks that a summary lists
NOT_IN_JSON = ("device", "maps", "map_step", "histogram", "rows", "state_maps", "state_step")


def device_line(device: Device) -> str:
    """Return what runs the kernels and the versions that results depend on."""
    versions = ", ".join(f"{name} {version}" for name, version in device.versions.items())
    if device.kind == "gpu":
        return f"{device.name}, sm_{''.join(map(str, device.capability))} ({versions})"
    what = "Triton interpreter on CPU" if device.kind == "interpreter" else "no kernels here"
    details = "".join(f", {value}" for value in device.details.values())
    return f"{what}: {device.reason}{details} ({versions})"


def overflow_is_due(result: CheckResult) -> bool:
    """Whether the mirror overflows, or underflows, in the worst row too: then the kernel must."""
    worst = next(row for row in result.rows if row.row == result.worst_row)
    sums = worst.mirror_state.get("l")
    return sums is not None and bool(not np.isfinite(sums[-1]) or sums[-1] == 0)


def is_right(outcome: Outcome) -> bool:
    """Whether a check gave what it should: passed, or overflowed where that is the lesson."""
    if not isinstance(outcome, CheckResult):
        return tile_report.is_right(outcome) or softmax_matrix.is_right(outcome)
    return outcome.verdict == "passed" or (
        outcome.verdict == "overflowed" and overflow_is_due(outcome)
    )


def tables(outcomes: Sequence[tuple[str, Case, Outcome]], is_matrix: bool) -> list[str]:
    """Return a table of each kind of check: on rows, of softmax(x), on tiles.

    Each is summed up for a matrix.
    """
    writers = {
        "row": summary if is_matrix else rows,
        softmax_matrix.NAME: softmax_matrix.summary,
        "tiles": tile_report.summary if is_matrix else tile_report.rows,
    }
    kinds: dict[str, list] = {kind: [] for kind in writers}
    for outcome in outcomes:
        kinds[_kind(outcome[0])].append(outcome)
    tables_of = [writers[kind](found) for kind, found in kinds.items() if found]
    return [line for table in tables_of for line in ("", *table)][1:]


def _kind(name: str) -> str:
    """Return which table the checks of an algorithm stand in."""
    if name not in ALGORITHMS:
        return softmax_matrix.NAME
    return "row" if ALGORITHMS[name].problem == "row" else "tiles"


def rows(outcomes: Iterable[tuple[str, Case, Outcome]]) -> list[str]:
    """Return a table with a line for each check."""
    lines = [
        ROW.format(
            "algorithm", "dtype", "rows x cols", "block", "path", "max error", "torch's",
            "ULPs", "torch's", "state ULPs", "verdict",
        )
    ]  # fmt: skip
    return lines + [_row(*outcome) for outcome in outcomes]


def _row(name: str, case: Case, outcome: Outcome) -> str:
    """Return the line of one check."""
    size = f"{case.n_rows} x {case.n_cols}"
    if not isinstance(outcome, CheckResult):
        failed = f"error: {outcome}"
        return ROW.format(name, case.dtype, size, case.block, *"-----", "-", failed)
    return ROW.format(
        name,
        case.dtype,
        size,
        outcome.block,
        outcome.path,
        f"{outcome.kernel.max_abs:.1e}",
        f"{outcome.torch.max_abs:.1e}",
        _short(outcome.kernel.max_ulp),
        _short(outcome.torch.max_ulp),
        _ulps(outcome.state_ulps),
        _verdict(outcome),
    )


def _verdict(result: CheckResult) -> str:
    """Return the verdict and what speaks against it."""
    faults = []
    if result.kernel.n_mismatched:
        faults.append(f"{result.kernel.n_mismatched} mismatched")
    if result.n_unwritten:
        faults.append(f"{result.n_unwritten} unwritten")
    if result.n_outside:
        faults.append(f"{result.n_outside} outside")
    if result.verdict == "failed":
        faults.append(f"tolerance {result.tolerance:.1e}")
    return f"{result.verdict} ({', '.join(faults)})" if faults else result.verdict


def _short(ulps: float) -> str:
    """Return ULPs in a column's width: of outputs that are nearly 0 there may be very many."""
    return f"{ulps:.2f}" if ulps < 1e4 else f"{ulps:.1e}"


def _ulps(state_ulps: dict[str, float]) -> str:
    """Return "m 0 l 1 o 2": the state's distances, acc by its name on the page."""
    return " ".join(
        f"{'o' if field == 'acc' else field} {ulps:.3g}" for field, ulps in state_ulps.items()
    )


def summary(outcomes: Sequence[tuple[str, Case, Outcome]]) -> list[str]:
    """Return a line for each algorithm and dtype with the worst of its checks, then the failures.

    The ratio is of the kernel's error to torch's in the same case, the worst over cases. "floor"
    counts the cases with a ratio over 2 that pass by the stated floor: there torch is exact or
    nearly so. What overflowed is left out of errors, ratios and ULPs.
    """
    lines = [
        GROUP.format(
            "algorithm", "dtype", "right", "overflowed", "error", "torch's", "ratio", "floor",
            "ULPs", "torch's", "path", "state ULPs",
        )
    ]  # fmt: skip
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for name, case, outcome in outcomes:
        groups.setdefault((name, case.dtype), []).append(outcome)
    for (name, dtype), group in groups.items():
        lines.append(_group(name, dtype, group))
    wrong = [outcome for outcome in outcomes if not is_right(outcome[2])]
    lines += ["", f"{len(outcomes)} checks, {len(wrong)} failed."]
    for name, case, outcome in wrong[:MAX_EXAMPLES]:
        lines.append(f"[{case.preset}, {case.layout}] {_row(name, case, outcome)}")
    return lines


def ratio(error: float, torch_error: float) -> float:
    """Return how many times torch's error a kernel's is; 0 of none, inf where torch has none."""
    if not error:
        return 0.0
    return error / torch_error if torch_error else math.inf


def _group(name: str, dtype: str, group: Sequence[Outcome]) -> str:
    """Return the line of one algorithm and dtype."""
    results = [outcome for outcome in group if isinstance(outcome, CheckResult)]
    finite = [result for result in results if result.verdict != "overflowed"]
    state: dict[str, float] = {}
    for result in results:
        for field, ulps in result.state_ulps.items():
            state[field] = max(state.get(field, 0.0), ulps)
    passed = [result for result in finite if result.verdict == "passed"]
    ratios = [ratio(result.kernel.max_abs, result.torch.max_abs) for result in passed]
    return GROUP.format(
        name,
        dtype,
        f"{sum(map(is_right, group))}/{len(group)}",
        len(results) - len(finite),
        f"{max((r.kernel.max_abs for r in finite), default=0.0):.1e}",
        f"{max((r.torch.max_abs for r in finite), default=0.0):.1e}",
        f"{max((each for each in ratios if each < math.inf), default=0.0):.2f}",
        sum(each > 2 for each in ratios),
        _short(max((r.kernel.max_ulp for r in finite), default=0.0)),
        _short(max((r.torch.max_ulp for r in finite), default=0.0)),
        ", ".join(sorted({result.path for result in results})),
        _ulps(state),
    )


def as_json(name: str, case: Case, outcome: Outcome) -> dict:
    """Return one check's numbers, without maps and rows; NaN and infinities are strings."""
    record: dict = {"algorithm": name, "case": dataclasses.asdict(case)}
    if isinstance(outcome, Exception):
        return {**record, "verdict": "error", "error": str(outcome)}
    record |= {k: v for k, v in _fields(outcome).items() if k not in record}
    if isinstance(outcome, CheckResult):
        record["overflow_is_due"] = overflow_is_due(outcome)
    return record


def device_json(device: Device) -> dict:
    """Return what ran the checks."""
    return dataclasses.asdict(device)


def _fields(record: object) -> dict:
    """Return a record's fields as JSON can hold them, without what only pictures need."""
    names = [field.name for field in dataclasses.fields(record) if field.name not in NOT_IN_JSON]
    return {name: _plain(getattr(record, name)) for name in names}


def _plain(value: object) -> object:
    """Return ``value`` as JSON can hold it."""
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | bool | int) else encode(value)
