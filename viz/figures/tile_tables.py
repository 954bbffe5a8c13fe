"""What stands beside the figures of an algorithm on tiles: outputs, rivals, what was checked."""

from __future__ import annotations

import numpy as np

from benchmarks.results import REL_FLOOR, OutputCheck, RowDetail, TileCheckResult
from viz.figures.numerals import short, ulps
from viz.figures.prose import name_of, say
from viz.figures.state import symbols
from viz.figures.tables import count, head, numbers, sides, table
from viz.figures.tile_verdict import fault_of, is_product, ratio
from viz.locales import text

ERROR_COLUMNS = {"kernel": "run.numbers.off", "torch": "run.numbers.off_torch"}
KEY_OUTPUTS = ("dk", "dv")  # their rows are keys, and their heads kv_heads


def n_rows(result: TileCheckResult, output: OutputCheck) -> int:
    """Return how many rows one head of an output has."""
    if is_product(result):
        return result.case.size_m
    return result.case.seq_k if output.name in KEY_OUTPUTS else result.case.seq_q


def n_heads(output: OutputCheck) -> int:
    """Return how many heads an output has, all batches together."""
    return max(1, len(output.by_head["kernel"]))


def outputs(result: TileCheckResult, language: str) -> list:
    """Return a line for each output: errors of both, their ratio, ULPs, same bits, the verdict."""
    keys = ("output", "kernel", "rival", "ratio", "ulps", "same_bits", "verdict")
    names = [text(language, f"run.tiles.col.{key}", rival=result.rival) for key in keys]
    lines = []
    for output in result.outputs:
        compared = ["–"] * 3
        if output.torch:
            same = count(output.n_same_bits, output.n_compared, language)
            compared = [short(output.torch.max_abs), short(ratio(output)), same]
        theirs, times, same = compared
        ours = [["b", {}, short(output.kernel.max_abs)]]
        line = [output.name, *ours, theirs, times, ulps(output.kernel.max_ulp), same]
        lines.append([*line, _passed(output, language)])
    how = text(language, "run.tiles.outputs.how", rival=result.rival)
    return [
        head(text(language, "run.tiles.outputs"), how),
        ["div", {"class": "bw-scroll"}, table(names, lines, "bw-outputs")],
    ]


def _passed(output: OutputCheck, language: str) -> object:
    """Return an output's verdict with the number that decided it."""
    key = fault_of(output)
    counts = {"unwritten": output.n_unwritten, "outside": output.n_outside}
    told = {"n": counts.get(key, output.kernel.n_mismatched), "tolerance": short(output.tolerance)}
    said = text(language, f"run.tiles.verdict.{key or 'within'}", **told)
    return ["b", {"class": "bw-error"}, said] if key else said


def output_head(result: TileCheckResult, output: OutputCheck, language: str) -> list:
    """Return the head of one output's maps: which head is drawn, and why."""
    n = n_heads(output)
    told = {"name": output.name, "head": output.worst_head, "n": n}
    title = text(language, "run.tiles.map" if n > 1 else "run.tiles.map.one", **told)
    said = [text(language, "run.tiles.map.how", **told)] if n > 1 else []
    if output.torch is None:
        said.append(text(language, "run.tiles.map.alone", rival=result.rival, **told))
    return [head(title, text(language, "run.tiles.semicolon").join(said))]


def map_unit(output: OutputCheck) -> str:
    """Return the key of what one ULP of an output is."""
    if output.name == "lse":
        return "run.map.scale.lse"
    return "run.map.scale.head" if output.name.startswith("d") else "run.map.scale"


def bars_head(output: OutputCheck, which: str, language: str) -> list:
    """Return the head of the bars for each ``head`` or each ``block`` of rows."""
    rows = "keys" if output.name in KEY_OUTPUTS else "rows" if output.name == "c" else "queries"
    what = text(language, f"run.tiles.rows.{rows}")
    title = text(language, f"run.tiles.bars.{which}", rows=output.block_rows, what=what)
    kind = "heads" if which == "head" else "all" if n_heads(output) > 1 else "one"
    return [head(title, text(language, f"run.tiles.bars.how.{kind}", name=output.name))]


def rivals(result: TileCheckResult, language: str) -> list:
    """Return every rival by name, with its largest errors or the sentence why it refused."""
    given = [found for found in result.rivals.values() if not isinstance(found, str)]
    names = [o.name for o in result.outputs if any(o.name in found for found in given)]
    kernel = [["b", {}, short(result.output(name).kernel.max_abs)] for name in names]
    rows: list = [_rival(["b", {}, text(language, "run.rivals.kernel")], kernel)]
    for rival, found in result.rivals.items():
        label: object = rival
        if rival == result.rival:
            marked = text(language, "run.rivals.chosen")
            label = ["span", {}, rival, " ", ["span", {"class": "bw-how"}, marked]]
        if isinstance(found, str):
            rows.append(_refused(label, found, len(names)))
        else:
            rows.append(_rival(label, [short(found[n]) if n in found else "–" for n in names]))
    columns = [["th", {"scope": "col"}, name] for name in ("", *names)]
    made = [
        "table", {"class": "bw-table bw-rivals"},
        ["thead", {}, ["tr", {}, *columns]],
        ["tbody", {}, *(row for group in rows for row in group)],
    ]  # fmt: skip
    return [head(text(language, "run.rivals"), text(language, "run.rivals.how")), made]


def _rival(label: object, cells: list) -> list:
    """Return the line of one that answered."""
    return [["tr", {}, ["th", {"scope": "row"}, label], *(["td", {}, cell] for cell in cells)]]


def _refused(label: object, sentence: str, n_columns: int) -> list:
    """Return the line of one that refused, and under it why."""
    dashes = (["td", {}, "–"] for _ in range(n_columns))
    told = ["td", {"colspan": str(n_columns + 1), "class": "bw-refused"}, sentence]
    return [
        ["tr", {"class": "bw-refusing"}, ["th", {"scope": "row"}, label], *dashes],
        ["tr", {}, told],
    ]


def checked(result: TileCheckResult, output: OutputCheck, language: str) -> list:
    """Return what was checked of one output, then the counts of the whole run."""
    case = result.case
    columns = [text(language, "run.tiles.checked.output", name=output.name)]
    columns += [text(language, "run.checked.kernel"), "torch"]
    said: dict[str, str] = {"run.checked.tolerance": short(output.tolerance)}
    if output.torch:
        same = count(output.n_same_bits, output.n_compared, language)
        said["run.checked.same_bits"] = same
    unwritten, outside = (
        sum(getattr(found, name) for found in result.outputs)
        for name in ("n_unwritten", "n_outside")
    )
    said["run.tiles.checked.unwritten"] = str(unwritten)
    said["run.tiles.checked.outside"] = str(outside)
    said["run.checked.programs"] = str(result.n_programs)
    if result.n_masked_rows:
        said["run.tiles.checked.masked"] = str(result.n_masked_rows)
    counts = [(text(language, key), n) for key, n in said.items()]
    what = text(
        language,
        "run.tiles.checked.of",
        algorithm=name_of(language, f"algorithm.{result.algorithm}.title", result.algorithm),
        preset=name_of(language, f"preset.{case.preset}", case.preset),
        seed=case.seed,
        warps=case.num_warps,
        stages=case.num_stages,
    )
    floor = short(REL_FLOOR).replace("1.0e", "1e")
    return [
        head(text(language, "run.checked")),
        ["p", {"class": "bw-how"}, what],
        table(columns, sides(output.kernel, output.torch, language), "bw-checked"),
        table([], counts, "bw-checked"),
        [
            "p", {"class": "bw-how"},
            *say(language, "run.tiles.checked.against", rival=result.rival, floor=floor),
        ],
    ]  # fmt: skip


def state_title(result: TileCheckResult, row: int, language: str) -> str:
    """Return the title over one row's state, or over its outputs where none was captured."""
    kind = "state" if result.state_maps else "row"
    if is_product(result):
        return text(language, f"run.tiles.{kind}.product", row=row)
    return text(language, f"run.tiles.{kind}.attention", row=row, head=result.state_head)


def state_maps_head(result: TileCheckResult, language: str) -> list:
    """Return the head of the maps of the state."""
    kind = "product" if is_product(result) else "attention"
    how = text(language, f"run.tiles.states.how.{kind}", head=result.state_head)
    return [head(text(language, "run.tiles.states"), how)]


def state_map_head(result: TileCheckResult, field: str, language: str) -> list:
    """Return one map's symbol and the largest distance over all that was compared."""
    worst = ulps(float(result.state_ulps[field]))
    name = symbols(result.outputs[0].name)[field]
    told = text(language, "run.tiles.states.worst", ulps=worst)
    return [
        [
            "div", {"class": "bw-map-head bw-state-map-head"},
            ["b", {"class": f"bw-symbol bw-symbol-{field}"}, name],
            ["span", {"class": "bw-mono"}, told],
        ]
    ]  # fmt: skip


def states_where(result: TileCheckResult, language: str) -> str:
    """Return which states were compared, as a piece of a sentence."""
    if is_product(result):
        return text(language, "run.tiles.states.where.product")
    key = "one" if result.n_state_heads == 1 else "many"
    return text(language, f"run.tiles.states.where.{key}", n=result.n_state_heads)


def row_numbers(result: TileCheckResult, detail: RowDetail, language: str) -> list:
    """Return the row's first outputs side by side, with how far they are from float64."""
    title = text(language, "run.tiles.numbers", name=result.outputs[0].name, row=detail.row)
    return numbers(detail, errors_of(detail), title, language, ERROR_COLUMNS, short)


def errors_of(detail: RowDetail) -> dict[str, np.ndarray]:
    """Return "kernel" and "torch" -> [out_cols] |errors|: NaN where one side only is finite."""
    exact = np.asarray(detail.outputs["float64"], dtype=np.float64)
    found = {}
    for who in ("kernel", "torch"):
        if who not in detail.outputs:
            continue
        got = np.asarray(detail.outputs[who], dtype=np.float64)
        same = (got == exact) | (np.isnan(got) & np.isnan(exact))
        finite = np.isfinite(got) & np.isfinite(exact)
        with np.errstate(invalid="ignore"):
            off = np.where(finite, np.abs(got - exact), np.nan)
        found[who] = np.where(same, 0.0, off)
    return found
