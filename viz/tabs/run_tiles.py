"""What the Run tab shows of a kernel that works on tiles, part by part: the twin of `run_rows`."""

from __future__ import annotations

import gradio as gr

from benchmarks.results import OutputCheck, RowDetail, TileCheckResult
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.problems import choose_for
from viz.figures import bars, tables, tile_tables
from viz.figures.error_map import MAPS, error_map
from viz.figures.histogram import histogram
from viz.figures.state import fields_of, state_figure
from viz.figures.state_map import state_map
from viz.figures.tile_verdict import headline, is_product
from viz.locales import text


def fill(result: TileCheckResult, row: object, output: object, language: str) -> dict[str, object]:
    """Return what each part shows, nodes or a figure, with ``output`` and ``row`` open.

    A part that this result has nothing for is left out.
    """
    return {
        "headline": headline(result, language),
        "outputs": tile_tables.outputs(result, language),
        "rivals": tile_tables.rivals(result, language),
        **_fill_output(result, output_of(result, output), language),
        **fill_row(result, row, output, language),
    }


def _fill_output(result: TileCheckResult, shown: OutputCheck, language: str) -> dict[str, object]:
    """Return what the parts about one output show."""
    n_heads = tile_tables.n_heads(shown)
    width = shown.n_outputs // (n_heads * tile_tables.n_rows(result, shown))
    unit = tile_tables.map_unit(shown)
    parts = {
        "output_head": tile_tables.output_head(result, shown, language),
        "key": tables.map_key(shown, width, language, unit),
        "errors_head": tables.errors_head(shown, language),
        "errors": histogram(shown, language),
        "checked": tile_tables.checked(result, shown, language),
        "bars_block_head": tile_tables.bars_head(shown, "block", language),
        "bars_block": bars.by_block(shown, language),
    }
    for which in (which for which in MAPS if which in shown.maps):
        parts[f"head_{which}"] = tables.map_head(shown, which, language, result.rival)
    if n_heads > 1:
        parts["bars_head_head"] = tile_tables.bars_head(shown, "head", language)
        parts["bars_head"] = bars.by_head(shown, language)
    return parts


def fill_row(
    result: TileCheckResult, row: object, output: object, language: str
) -> dict[str, object]:
    """Return what each part that depends on the chosen row shows."""
    detail, shown = detail_of(result, row), output_of(result, output)
    first = result.outputs[0]
    ringed = detail.row if shown is first else shown.worst_row
    n_rows = tile_tables.n_rows(result, shown)
    title = tile_tables.state_title(result, detail.row, language)
    has_state = bool(result.state_maps)
    parts = {
        **{f"map_{which}": error_map(shown, which, ringed, n_rows) for which in shown.maps},
        "state_head": tables.state_head(title, language, not is_product(result))
        if has_state
        else [tables.head(title, text(language, "run.tiles.row.how"))],
        "numbers": tile_tables.row_numbers(result, detail, language),
    }
    if not has_state:
        return parts
    where = tile_tables.states_where(result, language)
    parts["states_head"] = tile_tables.state_maps_head(result, language)
    for field in result.state_maps:
        parts[f"state_head_{field}"] = tile_tables.state_map_head(result, field, language)
        parts[f"state_map_{field}"] = state_map(result, field, detail.row)
    if fields_of(detail):
        parts["state"] = state_figure(detail, language, first.name)
    parts["state_words"] = tables.state_words(
        result.state_ulps, detail, where, language, first.name
    )
    return parts


def output_of(result: TileCheckResult, output: object) -> OutputCheck:
    """Return the output of that name, or the first one where there is none such."""
    by_name = {found.name: found for found in result.outputs}
    return by_name.get(output, result.outputs[0]) if isinstance(output, str) else result.outputs[0]


def detail_of(result: TileCheckResult, row: object) -> RowDetail:
    """Return the kept row ``row``, or the worst one where that is none of them."""
    by_row = {detail.row: detail for detail in result.rows}
    wanted = row if isinstance(row, int) and not isinstance(row, bool) else None
    return by_row.get(wanted) or by_row.get(result.outputs[0].worst_row) or result.rows[0]


def row_choices(result: TileCheckResult, language: str) -> list[tuple[str, int]]:
    """Return the rows that can be opened, the worst one first and called so."""
    worst = result.outputs[0].worst_row
    kept = [detail.row for detail in result.rows]
    others = [(text(language, "run.row.other", row=row), row) for row in kept if row != worst]
    first = [(text(language, "run.row.worst", row=worst), worst)] if worst in kept else []
    return [*first, *others]


def output_choices(result: TileCheckResult, output: object) -> tuple[list[str], str]:
    """Return the outputs to choose from, and the chosen one."""
    return [found.name for found in result.outputs], output_of(result, output).name


def watch(result: TileCheckResult, row: object, language: str) -> dict:
    """Return the button that watches these sizes: dashed, with the reason, where Watch cannot."""
    wanted = watched(result, row)
    try:
        choose_for(ALGORITHMS[wanted["algorithm"]], wanted)
    except InputError as error:
        told = error.details
        name = told.get("name") or told.get("what") or ""
        details = {"name": name, "limit": told.get("high") or told.get("limit") or ""}
        return gr.update(value=text(language, "run.tiles.watch.long", **details), interactive=False)
    case = result.case
    same = is_product(result) or case.batch * case.heads * case.kv_heads == 1
    key = "run.tiles.watch" if same else "run.tiles.watch.one_head"
    return gr.update(value=text(language, key), interactive=True)


def watched(result: TileCheckResult, row: object) -> dict[str, object]:
    """Return the case as Watch holds it: one head of its sizes, with the numbers of its seed."""
    case = result.case
    names = ("preset", "dtype", "seed", *ALGORITHMS[result.algorithm].fields)
    return {"algorithm": result.algorithm, **{name: getattr(case, name) for name in names}}


def file_name(result: TileCheckResult) -> str:
    """Return what a downloaded result is called, without its suffix."""
    case = result.case
    if is_product(result):
        return f"blockwise-{result.algorithm}-{case.size_m}x{case.size_n}x{case.size_k}"
    heads = f"{case.batch}x{case.heads}"
    return f"blockwise-{result.algorithm}-{heads}x{case.seq_q}x{case.seq_k}x{case.head_dim}"
