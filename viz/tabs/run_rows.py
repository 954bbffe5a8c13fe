"""What the Run tab shows of a kernel that takes rows, part by part."""

from __future__ import annotations

import gradio as gr
import numpy as np

from benchmarks.results import CheckResult, RowDetail
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import MAX_BLOCK, OWN_NUMBERS, Choice, choose, make_arrays
from viz.figures import tables
from viz.figures.distance import row_distances
from viz.figures.error_map import MAPS, error_map
from viz.figures.histogram import histogram
from viz.figures.state import state_figure
from viz.figures.verdict import headline
from viz.locales import text
from viz.tabs.run_form import as_text


def fill(result: CheckResult, row: object, output: object, language: str) -> dict[str, object]:
    """Return what each part shows, nodes or a figure; ``row`` is the one that is open."""
    n_cols = result.n_outputs // result.case.n_rows
    return {
        "headline": headline(result, language),
        "key": tables.map_key(result, n_cols, language),
        "errors_head": tables.errors_head(result, language),
        "errors": histogram(result, language),
        "checked": tables.checked(result, language),
        **{f"head_{which}": tables.map_head(result, which, language) for which in MAPS},
        **fill_row(result, row, output, language),
    }


def fill_row(result: CheckResult, row: object, output: object, language: str) -> dict[str, object]:
    """Return what each part that depends on the chosen row shows."""
    detail, n_rows = detail_of(result, row), result.case.n_rows
    errors = row_distances(detail, result.case.dtype)
    named = text(language, "run.numbers", name=result.output, row=detail.row)
    return {
        **{f"map_{which}": error_map(result, which, detail.row, n_rows) for which in MAPS},
        **_fill_state(result, detail, language),
        "numbers": tables.numbers(detail, errors, named, language),
    }


def _fill_state(result: CheckResult, detail: RowDetail, language: str) -> dict[str, object]:
    """Return the parts that show a row's captured state; of a kernel that keeps none, its head."""
    if not ALGORITHMS[result.algorithm].captured:
        title = text(language, "run.row.alone", row=detail.row)
        return {"state_head": [tables.head(title, text(language, "run.tiles.row.how"))]}
    states = result.n_state_rows * result.n_blocks
    where = text(language, "run.state.where", states=states)
    return {
        "state_head": tables.state_head(text(language, "run.state", row=detail.row), language),
        "state": state_figure(detail, language),
        "state_words": tables.state_words(result.state_ulps, detail, where, language),
    }


def detail_of(result: CheckResult, row: object) -> RowDetail:
    """Return the kept row ``row``, or the worst one where that is none of them."""
    by_row = {detail.row: detail for detail in result.rows}
    wanted = row if isinstance(row, int) and not isinstance(row, bool) else None
    return by_row.get(wanted) or by_row.get(result.worst_row) or result.rows[0]


def row_choices(result: CheckResult, language: str) -> list[tuple[str, int]]:
    """Return the rows that can be opened, the worst one first and called so."""
    others = [detail.row for detail in result.rows if detail.row != result.worst_row]
    first = (text(language, "run.row.worst", row=result.worst_row), result.worst_row)
    return [first, *((text(language, "run.row.other", row=row), row) for row in others)]


def output_choices(result: CheckResult, output: object) -> tuple[list[str], str]:
    """Return the outputs to choose from, and the chosen one: a row has one."""
    return [], ""


def watch(result: CheckResult, row: object, language: str) -> dict:
    """Return the button that watches the row: dashed, with the reason, where Watch cannot."""
    detail = detail_of(result, row)
    wanted = watched(result, detail.row)
    del wanted["algorithm"]
    try:
        choose(**wanted)
    except InputError as error:
        told = error.details
        details = {"row": detail.row, "name": told.get("name", ""), "limit": told.get("high", "")}
        return gr.update(value=text(language, "run.watch_row.long", **details), interactive=False)
    return gr.update(value=text(language, "run.watch_row", row=detail.row), interactive=True)


def watched(result: CheckResult, row: object) -> dict[str, object]:
    """Return the numbers of a result's row as Watch holds them.

    Row r is seeded seed + r, but all rows share the v of the first seed: where there is a v, the
    row's scores are given as numbers, and the seed stays.
    """
    detail, case = detail_of(result, row), result.case
    entry = ALGORITHMS[result.algorithm]
    preset, seed, numbers = case.preset, case.seed + detail.row, as_text(case.numbers)
    if entry.has_values and detail.row:
        choice = Choice(preset, case.n_cols, 1, case.head_dim, case.dtype, seed)
        x = make_arrays(choice, {"x": "scores"})["x"]
        shortest = (np.format_float_positional(value, trim="-") for value in x)
        preset, seed, numbers = OWN_NUMBERS, case.seed, " ".join(shortest)
    return {
        "algorithm": result.algorithm,
        "preset": preset,
        "n_cols": case.n_cols,
        "block": min(result.block, MAX_BLOCK) if entry.whole_row else case.block,
        "head_dim": case.head_dim,
        "dtype": case.dtype,
        "seed": seed,
        "numbers": numbers,
    }


def file_name(result: CheckResult) -> str:
    """Return what a downloaded result is called, without its suffix."""
    return f"blockwise-{result.algorithm}-{result.case.n_rows}x{result.case.n_cols}"
