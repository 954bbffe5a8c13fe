"""What a check of an algorithm on tiles found: the eyebrow and the caption over its outputs."""

from __future__ import annotations

from benchmarks.results import OutputCheck, TileCheckResult
from viz.figures.prose import rich, say
from viz.figures.verdict import MARKS, told_apart
from viz.locales import text


def is_product(result: TileCheckResult) -> bool:
    """Whether the outputs are a matrix product's, not an attention's."""
    return result.outputs[0].name == "c"


def headline(result: TileCheckResult, language: str) -> list:
    """Return the eyebrow and the caption as nodes."""
    name = text(language, f"run.verdict.{result.verdict}")
    where = text(language, "run.eyebrow.comma").join(_where(result, language))
    said = ["b", {}, f"{MARKS[result.verdict]} {name}"]
    caption = ["p", {"class": f"bw-caption bw-{result.verdict}"}, *caption_nodes(result, language)]
    return [["p", {"class": "bw-eyebrow"}, said, " · ", *rich(where)], caption]


def _where(result: TileCheckResult, language: str) -> list[str]:
    """Return the pieces of the eyebrow: the sizes, the dtype, the path, the tiles."""
    case, tiles = result.case, result.tiles
    end = [case.dtype, text(language, "run.eyebrow.path", path=result.path)]
    if is_product(result):
        sizes = {"m": case.size_m, "n": case.size_n, "k": case.size_k}
        blocks = f"{tiles.block_m} × {tiles.block_n} × {tiles.block_k}"
        start = [text(language, "run.eyebrow.product", **sizes)]
    else:
        heads = "run.eyebrow.head" if case.batch * case.heads == 1 else "run.eyebrow.heads"
        counts = {"batch": case.batch, "heads": case.heads, "kv_heads": case.kv_heads}
        lengths = {"seq_q": case.seq_q, "seq_k": case.seq_k, "head_dim": case.head_dim}
        mask = "causal" if tiles.is_causal else "none"
        blocks = f"{tiles.block_m} × {tiles.block_n}"
        start = [
            text(language, heads, **counts),
            text(language, "run.eyebrow.lengths", **lengths),
            text(language, f"run.eyebrow.{mask}"),
        ]
    return [*start, *end, text(language, "run.eyebrow.tiles", blocks=blocks)]


def ratio(output: OutputCheck) -> float:
    """Return the kernel's largest error over the rival's; inf where only the rival has none."""
    ours, theirs = output.kernel.max_abs, output.torch.max_abs if output.torch else 0.0
    return ours / theirs if theirs else float("inf") if ours else 1.0


def fault_of(output: OutputCheck) -> str:
    """Return why an output does not pass, the worst first, or "" if it does."""
    if output.passed:
        return ""
    faults = {
        "unwritten": output.n_unwritten,
        "outside": output.n_outside,
        "mismatched": output.kernel.n_mismatched,
        "over": output.kernel.max_abs > output.tolerance,
    }
    return next((name for name, found in faults.items() if found), "not_zero")


def told_of(result: TileCheckResult) -> OutputCheck:
    """Return the output that the caption is about: what failed first, or what is furthest behind.

    "Behind" is against the rival, so outputs that it does not give count last.
    """
    failed = [output for output in result.outputs if not output.passed]
    if failed:
        return failed[0]
    compared = [output for output in result.outputs if output.torch]
    return max(compared or result.outputs, key=ratio)


def caption_key(result: TileCheckResult) -> str:
    """Return which sentence the numbers call for."""
    output = told_of(result)
    fault = fault_of(output)
    if fault:
        return "over_alone" if fault == "over" and output.torch is None else fault
    if result.n_masked_rows and output.torch and not output.n_compared:
        return "all_masked"
    if output.torch is None:
        return "alone"
    if output.n_same_bits == output.n_compared:
        return "same_bits"
    if output.kernel.max_abs == output.torch.max_abs:
        return "equal"
    return "smaller" if output.kernel.max_abs < output.torch.max_abs else "larger"


def caption_nodes(result: TileCheckResult, language: str) -> list:
    """Return the caption: who is closer to float64 and by how much, or what went wrong."""
    output, key = told_of(result), caption_key(result)
    theirs = output.torch.max_abs if output.torch else 0.0
    kernel, torch = told_apart(output.kernel.max_abs, theirs)
    counts = {"unwritten": output.n_unwritten, "outside": output.n_outside}
    said = say(
        language,
        f"run.tiles.caption.{key}",
        name=output.name,
        rival=result.rival,
        kernel=kernel,
        torch=torch,
        tolerance=told_apart(output.tolerance, output.kernel.max_abs)[0],
        n=counts.get(key, output.kernel.n_mismatched),
        total=output.n_outputs,
    )
    others = [other.name for other in result.outputs if other is not output]
    if result.verdict == "passed" and others and key != "all_masked":
        more = "run.tiles.caption.other" if len(others) == 1 else "run.tiles.caption.others"
        said += say(language, more, names=", ".join(others), n=len(result.outputs))
    return said
