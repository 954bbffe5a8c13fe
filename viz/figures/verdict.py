"""What a check found, in one line and one sentence: the eyebrow and the caption over the maps."""

from __future__ import annotations

import numpy as np

from benchmarks.results import CheckResult
from viz.figures.numerals import MINUS, short
from viz.figures.prose import rich, say
from viz.locales import text

MARKS = {"passed": "✓", "failed": "✕", "overflowed": "✕"}


def headline(result: CheckResult, language: str) -> list:
    """Return the eyebrow and the caption as nodes."""
    verdict = result.verdict
    name = text(language, f"run.verdict.{verdict}")
    where = text(language, "run.eyebrow.comma").join(_where(result, language))
    said = ["b", {}, f"{MARKS[verdict]} {name}"]
    eyebrow = ["p", {"class": "bw-eyebrow"}, said, " · ", *rich(where)]
    caption = ["p", {"class": f"bw-caption bw-{verdict}"}, *caption_nodes(result, language)]
    return [eyebrow, caption]


def _where(result: CheckResult, language: str) -> list[str]:
    """Return the pieces of the eyebrow: the sizes, the dtype, the path, the blocks."""
    case = result.case
    rows = "run.eyebrow.row" if case.n_rows == 1 else "run.eyebrow.rows"
    tail = case.n_cols - (result.n_blocks - 1) * result.block
    if result.n_blocks > 1:
        blocks = "run.eyebrow.blocks" if tail == result.block else "run.eyebrow.tail"
    else:
        blocks = "run.eyebrow.block" if tail == result.block else "run.eyebrow.tail_only"
    return [
        text(language, rows, rows=case.n_rows, cols=case.n_cols),
        case.dtype,
        text(language, "run.eyebrow.path", path=result.path),
        text(language, blocks, n=result.n_blocks, block=result.block, tail=tail),
    ]


def caption_key(result: CheckResult) -> str:
    """Return which sentence the numbers call for."""
    if result.n_unwritten:
        return "unwritten"
    if result.n_outside:
        return "outside"
    if result.verdict == "overflowed":
        return "overflowed" if result.kernel.n_mismatched else "overflowed_sum"
    if result.verdict == "failed":
        if result.kernel.n_mismatched:
            return "mismatched"
        return "beyond" if result.kernel.max_abs > result.tolerance else "failed"
    if result.n_masked_rows == result.case.n_rows:
        return "all_masked"
    if not any(np.isfinite(detail.outputs["float64"]).any() for detail in result.rows):
        return "all_nan"
    if result.n_same_bits == result.n_compared:
        if result.n_outputs == 1:
            return "one_output"
        return "same_bits" if result.kernel.max_abs else "same_bits_exact"
    if result.kernel.max_abs == result.torch.max_abs:
        return "equal"
    return "smaller" if result.kernel.max_abs < result.torch.max_abs else "larger"


def caption_nodes(result: CheckResult, language: str) -> list:
    """Return the caption: who is closer to float64 and by how much, or what went wrong."""
    kernel, torch = told_apart(result.kernel.max_abs, result.torch.max_abs)
    n = result.n_unwritten or result.n_outside or result.kernel.n_mismatched
    return say(
        language,
        f"run.caption.{caption_key(result)}",
        kernel=kernel,
        torch=torch,
        between=short(result.between.max_abs),
        tolerance=told_apart(result.tolerance, result.kernel.max_abs)[0],
        n=n,
        total=result.n_outputs,
    )


def told_apart(first: float, second: float) -> tuple[str, str]:
    """Return both numbers with as many digits as it takes to see that they differ."""
    plain = short(first), short(second)
    if first == second or plain[0] != plain[1]:
        return plain
    for digits in range(2, 17):
        words = [f"{value:.{digits}e}".split("e") for value in (first, second)]
        if words[0] != words[1]:
            break
    return tuple(f"{m}e{int(e)}".replace("-", MINUS) for m, e in words)
