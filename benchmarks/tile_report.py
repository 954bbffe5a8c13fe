"""Checks on tiles as text: a line an output of one check, or a line a group of a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmarks.results import QuickOutput, QuickResult, TileCheckResult
from kernels import ALGORITHMS
from kernels.inputs import Case

ROW = "{:16} {:9} {:>32} {:>11} {:6} {:>9} {:>9} {:>9} {:>8}  {:24} {}"
GROUP = "{:16} {:9} {:>8} {:>9} {:>10} {:>10} {:>7} {:>8} {:>5}  {:8} {}"
MAX_EXAMPLES = 12  # of failed checks that a summary lists

Outcome = object  # a TileCheckResult or a QuickResult, or the exception that came instead


def size_of(name: str, case: Case) -> str:
    """Return a case's sizes: "2x4/2 127x128 d64 causal", or M x N x K."""
    if ALGORITHMS[name].problem == "matmul":
        return f"{case.size_m}x{case.size_n}x{case.size_k}"
    heads = f"{case.batch}x{case.heads}/{case.kv_heads}"
    mask = " causal" if case.mask == "causal" else ""
    splits = f" s{case.n_splits}" if "n_splits" in ALGORITHMS[name].fields else ""
    return f"{heads} {case.seq_q}x{case.seq_k} d{case.head_dim}{splits}{mask}"


def rows(outcomes: Iterable[tuple[str, Case, Outcome]]) -> list[str]:
    """Return a table with a line for each output of each check."""
    lines = [
        ROW.format(
            "algorithm", "dtype", "batch x heads, lengths", "blocks", "output", "error", "torch's",
            "allowed", "ULPs", "against", "verdict",
        )
    ]  # fmt: skip
    for name, case, outcome in outcomes:
        lines += _lines(name, case, outcome)
    return lines


def _lines(name: str, case: Case, outcome: Outcome) -> list[str]:
    """Return the lines of one check."""
    size = size_of(name, case)
    if not isinstance(outcome, TileCheckResult):
        return [ROW.format(name, case.dtype, size, *"------", "-", f"error: {outcome}")]
    tiles = outcome.tiles
    lines = []
    for at, output in enumerate(outcome.outputs):
        faults = _faults(output.kernel.n_mismatched, output.n_unwritten, output.n_outside)
        verdict = "passed" if output.passed else "failed" + faults
        if at == 0 and outcome.state_ulps:
            distances = (f"{field} {ulps:.3g}" for field, ulps in outcome.state_ulps.items())
            verdict += f"; state ULPs {' '.join(distances)}"
        lines.append(
            ROW.format(
                "" if at else name,
                "" if at else case.dtype,
                "" if at else size,
                "" if at else f"{tiles.block_m}x{tiles.block_n}",
                output.name,
                f"{output.kernel.max_abs:.1e}",
                f"{output.torch.max_abs:.1e}" if output.torch else "-",
                f"{output.tolerance:.1e}",
                f"{output.kernel.max_ulp:.2f}",
                outcome.rival if output.torch else "float64 alone",
                verdict,
            )
        )
    return lines


def _faults(n_mismatched: int, n_unwritten: int, n_outside: int) -> str:
    """Return " (3 mismatched, 2 unwritten)", or nothing."""
    counts = ((n_mismatched, "mismatched"), (n_unwritten, "unwritten"), (n_outside, "outside"))
    faults = ", ".join(f"{n} {what}" for n, what in counts if n)
    return f" ({faults})" if faults else ""


def summary(outcomes: Sequence[tuple[str, Case, Outcome]]) -> list[str]:
    """Return a line for each algorithm, dtype and head_dim, then the failures.

    The ratio is of the kernel's error to torch's in the same case, the worst over cases and
    outputs. "floor" counts the cases with a ratio over 2 that pass by the stated floor: there torch
    is exact or nearly so.
    """
    lines = [
        GROUP.format(
            "algorithm", "dtype", "head_dim", "passed", "error", "torch's", "ratio", "lse", "floor",
            "verdict", "against",
        )
    ]  # fmt: skip
    groups: dict[tuple[str, str, int], list[Outcome]] = {}
    for name, case, outcome in outcomes:
        head_dim = 0 if ALGORITHMS[name].problem == "matmul" else case.head_dim
        groups.setdefault((name, case.dtype, head_dim), []).append(outcome)
    order = list(ALGORITHMS)
    for key in sorted(groups, key=lambda key: (order.index(key[0]), *key[1:])):
        name, dtype, head_dim = key
        lines.append(_group((name, dtype, str(head_dim or "-")), groups[key]))
    wrong = [outcome for outcome in outcomes if not is_right(outcome[2])]
    lines += ["", f"{len(outcomes)} checks, {len(wrong)} failed."]
    lines += [_example(*outcome) for outcome in wrong[:MAX_EXAMPLES]]
    return lines


def is_right(outcome: Outcome) -> bool:
    """Whether a check on tiles passed."""
    return isinstance(outcome, TileCheckResult | QuickResult) and outcome.verdict == "passed"


def ratio(output: QuickOutput) -> float:
    """Return how many times torch's error a kernel's is; 0 without an error of its own."""
    if output.rivals_error is None or not output.error:
        return 0.0
    return output.error / output.rivals_error if output.rivals_error else math.inf


def _group(key: tuple[str, str, str], group: Sequence[Outcome]) -> str:
    """Return the line of one algorithm, dtype and head_dim."""
    results = [outcome for outcome in group if isinstance(outcome, QuickResult)]
    outputs = [output for result in results for output in result.outputs]
    judged = [output for output in outputs if output.rivals_error is not None]
    alone = [output.error for output in outputs if output.rivals_error is None]
    ratios = [each for each in map(ratio, judged) if each < math.inf]
    by_floor = [r for r in results if r.verdict == "passed" and max(map(ratio, r.outputs)) > 2]
    n_right = sum(map(is_right, group))
    return GROUP.format(
        *key,
        f"{n_right}/{len(group)}",
        f"{max((output.error for output in judged), default=0.0):.1e}",
        f"{max((output.rivals_error for output in judged), default=0.0):.1e}",
        f"{max(ratios, default=0.0):.2f}",
        f"{max(alone):.1e}" if alone else "-",
        len(by_floor),
        "passed" if n_right == len(group) else "FAILED",
        ", ".join(sorted({result.rival for result in results})),
    )


def _example(name: str, case: Case, outcome: Outcome) -> str:
    """Return the line of one failed check."""
    what = f"{name} {case.dtype} {size_of(name, case)}"
    if not isinstance(outcome, QuickResult):
        return f"{what}: {outcome}"
    tiles = outcome.tiles
    wrong = "; ".join(
        f"{o.name} {o.error:.2e}, {outcome.rival} "
        f"{'-' if o.rivals_error is None else f'{o.rivals_error:.2e}'}, allowed {o.tolerance:.2e}"
        f"{_faults(o.n_mismatched, o.n_unwritten, o.n_outside)}"
        for o in outcome.outputs
        if not o.passed
    )
    return f"{what}, blocks {tiles.block_m}x{tiles.block_n}: {wrong}"
