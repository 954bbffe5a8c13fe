"""Check softmax(x), which chooses its own path: lengths x dtypes x strides x paths, both ways.

Each case runs on the path that is planned for it, and on every other one. The path that ran must be
the one that was planned or asked for, no stride may make it copy x, and y and dx must each be as
close to float64 as twice torch's own error, or within the floor of `row_tolerances`.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import compare, layouts, row_tolerances, tile_report
from benchmarks.device import probe
from benchmarks.matrix import COLS, MAX_COMPILED, MAX_STRIDED, N_ROWS
from benchmarks.results import Device, Progress, QuickOutput
from benchmarks.row_run import quiet, wait
from benchmarks.ulp import spacing
from kernels import softmax, softmax_backward
from kernels.algorithm import largest_magnitude
from kernels.inputs import DTYPES, ITEMSIZE, Case, make_matrix
from kernels.softmax import paths
from kernels.tiles import next_power_of_two

NAME = "softmax"
DRAWS = {"x": "scores", "dy": "normal"}
FEW_COLS = (1, 37, 200)  # what the interpreter does in seconds
ENOUGH_ROWS = 130  # for the half of the table that is about many rows
MAX_MANY = 65_537  # columns of so many rows
# Beyond, a tile of one row is the single-block kernel with fewer warps, which spills.
MAX_TILE = 4097
MAX_EXAMPLES = 12
GROUP = "{:12} {:8} {:8} {:>9} {:>9} {:>9} {:>6} {:>5}"


@dataclass(frozen=True)
class SoftmaxResult:
    """One case of softmax(x), forward and backward.

    asked       the path that was asked for; None where it was left to the plan
    planned     the path that the plan names, and ``path`` the one that ran
    is_copied   whether x was copied first, which no matrix needs
    outputs     y and dx; dx also by every path, where none was asked for: "dx, blocks" …
    """

    case: Case
    asked: str | None
    planned: str
    path: str
    is_copied: bool
    outputs: tuple[QuickOutput, ...]
    verdict: str


@dataclass(frozen=True)
class SoftmaxJob:
    """Run softmax(x) and its gradient on a case, on one path."""

    case: Case
    path: str | None = None
    algorithm: str = NAME

    def run(self) -> Iterator[Progress | SoftmaxResult]:
        """Yield Progress "kernel", then one SoftmaxResult."""
        yield Progress("kernel")
        yield measure(self.case, self.path, probe())


def jobs(on_gpu: bool) -> Iterator[SoftmaxJob]:
    """Yield every check: on the interpreter with fewer columns."""
    lengths = COLS if on_gpu else FEW_COLS
    for dtype, n_cols, layout in itertools.product(DTYPES, lengths, layouts.LAYOUTS):
        if not on_gpu and layout != "contiguous" and (n_cols != 37 or dtype != "float32"):
            continue
        case = Case("normal", N_ROWS if on_gpu else 2, n_cols, dtype=dtype, layout=layout)
        for path in (None, *_within(paths.PATHS, case)):
            yield SoftmaxJob(case, path)
        if on_gpu and layout == "contiguous" and n_cols <= MAX_MANY:
            yield SoftmaxJob(Case("normal", ENOUGH_ROWS, n_cols, dtype=dtype, layout=layout))


def _within(names: Mapping[str, str], case: Case) -> list[str]:
    """Return the paths that are tried with a case: a row in one block compiles for its length."""
    longest = {"rows": MAX_TILE, "single": MAX_COMPILED}
    if case.layout != "contiguous":
        longest["single"] = MAX_STRIDED
    return [name for name in names if case.n_cols <= longest.get(name, case.n_cols)]


def measure(case: Case, path: str | None, device: Device) -> SoftmaxResult:
    """Run softmax(x) and its gradient once, and torch's, and hold both against float64."""
    import torch

    module = importlib.import_module("kernels.softmax.autograd")
    rows = tuple(DRAWS)
    arrays = layouts.as_laid_out(rows, make_matrix(case, DRAWS), case.layout)
    where = "cuda" if device.kind == "gpu" else "cpu"
    x, dy = (
        layouts.placed(
            torch.from_numpy(arrays[name]).to(where, getattr(torch, case.dtype)),
            layouts.of_input(rows, name, case.layout),
        )
        for name in rows
    )
    x.requires_grad_()
    with quiet():
        taken = module.softmax_with_path(x, -1, path)
        ours = {"y": taken.y, "dx": torch.autograd.grad(taken.y, x, dy)[0]}
        backward = {}
        for name in _within(paths.BACKWARD_PATHS, case) if path is None else ():
            gradient, backward[name] = module.gradient_with_path(taken.y.detach(), dy, name)
            ours[f"dx, {name}"] = gradient
        wait(device)
        their_y = torch.softmax(x, -1)
        theirs = {"y": their_y, "dx": torch.autograd.grad(their_y, x, dy)[0]}
    exact = _reference(arrays)
    outputs = tuple(
        _output(name, case, path, device, exact, _numpy(ours[name]), _numpy(theirs[name[:2]]))
        for name in ours
    )
    planned = paths.plan(*_sizes(case, device), path).path
    as_told = taken.path == planned and all(name == ran for name, ran in backward.items())
    passed = as_told and not taken.is_copied and all(o.passed for o in outputs)
    verdict = "passed" if passed else "failed"
    return SoftmaxResult(case, path, planned, taken.path, taken.is_copied, outputs, verdict)


def _sizes(case: Case, device: Device) -> tuple:
    """Return what a plan is made from."""
    return case.n_rows, case.n_cols, ITEMSIZE[case.dtype], device.capability


def _numpy(tensor) -> np.ndarray:
    """Return a tensor's values in float32."""
    return tensor.detach().float().cpu().numpy()


def _reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return y and dx in float64, dx from the exact y, and what cancels in dx."""
    both = {"y": softmax.reference(arrays)["y"], "dy": arrays["dy"]}
    cancels = np.array(softmax_backward.magnitude(both))
    return {"y": both["y"], **softmax_backward.reference(both), "cancels": cancels}


def _output(
    name: str,
    case: Case,
    path: str | None,
    device: Device,
    exact: Mapping[str, np.ndarray],
    ours: np.ndarray,
    theirs: np.ndarray,
) -> QuickOutput:
    """Judge one output.

    dx is computed from the y that was stored: its rounding to the dtype is one more error, relative
    to what cancels in dx.
    """
    is_y = name == "y"
    expected = exact[name[:2]]
    ulp = compare.row_ulp(expected, case.dtype)
    kernel, torch = (compare.compare(each, expected, ulp).stats for each in (ours, theirs))
    backward = name.partition(", ")[2] or None
    if is_y:
        settings = paths.plan(*_sizes(case, device), path).settings
    else:
        settings = paths.plan_backward(*_sizes(case, device), backward).settings
    block = settings.get("block", next_power_of_two(case.n_cols))
    rows_a_program, num_warps = settings.get("rows", 1), settings["num_warps"]
    n_additions = row_tolerances.n_additions(case.n_cols, block, num_warps, rows_a_program)
    relative = row_tolerances.FLOAT32_FLOOR + row_tolerances.ROUNDING * n_additions
    largest = last = largest_magnitude(expected)
    if case.dtype == "float32":
        last = 0.0
    else:
        last = float(spacing(np.array(largest), case.dtype))
        relative += 0.0 if is_y else float(spacing(np.array(1.0), case.dtype))
    scale = largest if is_y else float(exact["cancels"])
    tolerance = max(2 * torch.max_abs, relative * scale + last)
    passed = not kernel.n_mismatched and kernel.max_abs <= tolerance
    mismatched = kernel.n_mismatched, torch.n_mismatched
    return QuickOutput(name, kernel.max_abs, torch.max_abs, tolerance, passed, *mismatched, 0, 0)


def is_right(outcome: object) -> bool:
    """Whether a check of softmax(x) passed."""
    return isinstance(outcome, SoftmaxResult) and outcome.verdict == "passed"


def summary(outcomes: Sequence[tuple[str, Case, object]]) -> list[str]:
    """Return a line for each output, path that ran and dtype, then the failures.

    The ratio is of our error to torch's in the same case, the worst over cases. "floor" counts the
    cases with a ratio over 2 that pass by the stated floor.
    """
    lines = [
        GROUP.format("softmax(x)", "dtype", "path", "passed", "error", "torch's", "ratio", "floor")
    ]
    groups: dict[tuple[str, str, str], list[QuickOutput]] = {}
    for _, case, outcome in outcomes:
        if isinstance(outcome, SoftmaxResult):
            for output in outcome.outputs:
                groups.setdefault((output.name, case.dtype, outcome.path), []).append(output)
    for (name, dtype, path), group in sorted(groups.items(), reverse=True):
        lines.append(_group(name, dtype, path, group))
    wrong = [outcome for outcome in outcomes if not is_right(outcome[2])]
    lines += ["", f"{len(outcomes)} checks, {len(wrong)} failed."]
    return lines + [_example(case, outcome) for _, case, outcome in wrong[:MAX_EXAMPLES]]


def _group(name: str, dtype: str, path: str, group: Sequence[QuickOutput]) -> str:
    """Return the line of one output, dtype and path."""
    ratios = [tile_report.ratio(output) for output in group]
    return GROUP.format(
        name,
        dtype,
        path,
        f"{sum(output.passed for output in group)}/{len(group)}",
        f"{max(output.error for output in group):.1e}",
        f"{max(output.rivals_error for output in group):.1e}",
        f"{max((ratio for ratio in ratios if ratio < math.inf), default=0.0):.2f}",
        sum(ratio > 2 and output.passed for ratio, output in zip(ratios, group, strict=True)),
    )


def _example(case: Case, outcome: object) -> str:
    """Return the line of one failed check."""
    what = f"softmax {case.dtype} {case.n_rows}x{case.n_cols} {case.layout}"
    if not isinstance(outcome, SoftmaxResult):
        return f"{what}: {outcome}"
    faults = "; ".join(
        f"{o.name} {o.error:.2e}, torch {o.rivals_error:.2e}, allowed {o.tolerance:.2e}, "
        f"{o.n_mismatched} mismatched"
        for o in outcome.outputs
        if not o.passed
    )
    told = f"asked {outcome.asked or 'for none'}, planned {outcome.planned}, ran {outcome.path}"
    wrong = "x was copied" if outcome.is_copied else "the wrong path"
    return f"{what} ({told}): {faults or wrong}"
