"""What stands beside the figures, as trees of nodes for `Note`: heads, tables, the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.results import (
    REL_FLOOR,
    CheckResult,
    Device,
    ErrorStats,
    OutputCheck,
    RowDetail,
)
from viz.figures.error_map import EDGES
from viz.figures.numerals import exact, short, ulps
from viz.figures.prose import error_sentence, listed, name_of, say
from viz.figures.state import (
    MAX_DRAWN,
    MAX_PRINTED,
    apart,
    fields_of,
    groups,
    symbols,
)
from viz.locales import text

FIRST_OUTPUTS = 16
ERROR_COLUMNS = {"kernel": "run.numbers.error", "torch": "run.numbers.error_torch"}
MAX_TEXT_BLOCKS = 64  # rows of the states' table; a file of all is one click away


def head(title: str, *after: object) -> list:
    """Return a panel's head: its name in bold, and what explains it."""
    return ["h3", {"class": "bw-head"}, title, " ", ["span", {"class": "bw-how"}, *after]]


def map_head(
    found: CheckResult | OutputCheck, which: str, language: str, rival: str = "torch"
) -> list:
    """Return a map's name with its largest and median error, and how many have no number."""
    stats = getattr(found, which)
    numbers = {"max": ulps(stats.max_ulp), "median": ulps(stats.median_ulp)}
    told = ["span", {"class": "bw-mono"}, text(language, "run.map.numbers", **numbers)]
    if stats.n_mismatched:
        told += [" ", ["b", {"class": "bw-error"}, f"✕ {stats.n_mismatched}"]]
    name = text(language, f"run.map.{which}", rival=rival)
    return [["div", {"class": "bw-map-head"}, ["b", {}, name], told]]


def map_key(
    found: CheckResult | OutputCheck, n_cols: int, language: str, unit: str = "run.map.scale"
) -> list:
    """Return the maps' scale: six tints with the edges between them, and what the axes are."""
    tints = [["span", {"class": f"bw-tint bw-tint-{k}"}] for k in range(len(EDGES) + 1)]
    edges = [["span", {"class": "bw-edge"}, f"{edge:g}"] for edge in EDGES]
    rows, cols = found.map_step
    key = "run.map.axes" if rows == cols == 1 else "run.map.axes.pooled"
    if n_cols == 1:
        key = "run.map.axes.column" if rows == 1 else "run.map.axes.column.pooled"
    axes = text(language, key, cols=n_cols if rows == cols == 1 else cols, rows=rows)
    return [
        [
            "div", {"class": "bw-map-key"},
            ["span", {}, text(language, unit)],
            [
                "span", {"class": "bw-scale", "aria-hidden": "true"},
                ["span", {"class": "bw-tints"}, *tints],
                ["span", {"class": "bw-edges"}, *edges],
            ],
            ["span", {}, axes],
        ]
    ]  # fmt: skip


def state_head(title: str, language: str, with_marks: bool = True) -> list:
    """Return the head of the state figure, with the two marks that it uses."""
    legend = [
        "span", {"class": "bw-legend"},
        ["span", {"class": "bw-key-mirror", "aria-hidden": "true"}],
        text(language, "run.state.mirror"),
        ["span", {"class": "bw-key-kernel", "aria-hidden": "true"}],
        text(language, "run.state.kernel"),
    ]  # fmt: skip
    return [head(title, text(language, "run.state.how")), *([legend] if with_marks else [])]


def state_words(
    state_ulps: Mapping[str, float], detail: RowDetail, where: str, language: str, acc: str = "o"
) -> list:
    """Return what the states say over all that were compared, and one row's numbers as text.

    ``where`` says which were compared: "in all 320 states".
    """
    fields, names = [f for f in fields_of(detail) if f in state_ulps], symbols(acc)
    if not fields:
        return [["p", {"class": "bw-words"}, text(language, "run.state.none")]]
    worst = {field: float(state_ulps[field]) for field in fields}
    said = []
    for key, chosen in (
        ("same", [f for f in fields if worst[f] == 0]),
        ("apart_by", [f for f in fields if worst[f] and np.isfinite(worst[f])]),
        ("apart_far", [f for f in fields if not np.isfinite(worst[f])]),
    ):
        if chosen:
            told = {"fields": listed(language, [names[f] for f in chosen]), "where": where}
            told["ulps"] = listed(language, [ulps(worst[f]) for f in chosen])
            said += [" ", *say(language, f"run.state.{key}", **told)]
    if "delta" in fields:
        said += [" ", *say(language, "run.state.delta")]
    n_blocks = len(detail.state_ulps[fields[0]])
    for most, key in ((MAX_PRINTED, "run.state.grouped"), (MAX_DRAWN, "run.state.thinned")):
        if n_blocks > most:
            said += [" ", text(language, key, size=-(-n_blocks // most))]
    return [["p", {"class": "bw-words"}, *said], _states_as_text(detail, names, language)]


def _states_as_text(detail: RowDetail, symbol: Mapping[str, str], language: str) -> list:
    """Return a table of the captured states and their distances, closed until asked for."""
    fields = [field for field in fields_of(detail) if field != "acc"]
    n_blocks = len(detail.state_ulps[fields_of(detail)[0]])
    spans = groups(n_blocks, n_blocks)[:MAX_TEXT_BLOCKS]
    names = [text(language, "run.state.block"), *(symbol[f] for f in fields)]
    names += [f"{symbol[f]}, ULP" for f in fields_of(detail)]
    lines = []
    for span in spans:
        values = [exact(float(detail.kernel_state[f][span[0]]), 7) for f in fields]
        lines.append([str(span[0]), *values, *(apart(detail, f, span) for f in fields_of(detail))])
    summary = ["summary", {}, text(language, "run.state.as_text")]
    return ["details", {"class": "bw-details"}, summary, table(names, lines)]


def sides(kernel: ErrorStats, torch: ErrorStats | None, language: str) -> list[tuple]:
    """Return the lines that hold the kernel's errors and torch's side by side."""
    lines = [("max_abs", short), ("rms", short), ("max_rel", short), ("max_ulp", ulps)]
    lines.append(("n_mismatched", str))
    told = []
    for name, write in lines:
        columns = [write(getattr(kernel, name))]
        columns += [write(getattr(torch, name)) if torch else "–"]
        told.append((text(language, f"run.checked.{name}"), *columns))
    return told


def checked(result: CheckResult, language: str) -> list:
    """Return what was checked: kernel and torch side by side, then the counts."""
    case = result.case
    named = sides(result.kernel, result.torch, language)
    counts = [
        ("tolerance", short(result.tolerance)),
        ("same_bits", count(result.n_same_bits, result.n_compared, language)),
        ("unwritten", str(result.n_unwritten)),
        ("programs", str(result.n_programs)),
    ]
    if result.n_outside:
        counts.append(("outside", str(result.n_outside)))
    if result.n_masked_rows:
        counts.append(("masked", str(result.n_masked_rows)))
    for name, stats in result.extra.items():
        label = text(language, "run.checked.extra", name=name)
        named.append((label, short(stats.max_abs), "–"))
    against = ("against_float64", "kernel", "torch")
    columns = [text(language, f"run.checked.{key}") for key in against]
    what = text(
        language,
        "run.checked.of",
        algorithm=name_of(language, f"algorithm.{result.algorithm}.title", result.algorithm),
        preset=name_of(language, f"preset.{case.preset}", case.preset),
        seed=case.seed,
        warps=case.num_warps,
    )
    floor = short(REL_FLOOR).replace("1.0e", "1e")
    details = {"expression": result.torch_expression, "floor": floor}
    return [
        head(text(language, "run.checked")),
        ["p", {"class": "bw-how"}, what],
        table(columns, named, "bw-checked"),
        table([], [(text(language, f"run.checked.{key}"), n) for key, n in counts], "bw-checked"),
        ["p", {"class": "bw-how"}, *say(language, "run.checked.against", **details)],
        *_softmax_path(result, language),
    ]


def _softmax_path(result: CheckResult, language: str) -> list:
    """Return the path that softmax(x) itself would take for these sizes, of a softmax."""
    if not result.softmax_path:
        return []
    told = {"path": result.softmax_path, "reason": result.softmax_reason}
    return [["p", {"class": "bw-how"}, *say(language, "run.checked.softmax", **told)]]


def count(n: int, total: int, language: str) -> str:
    """Return "109 of 1280"."""
    return text(language, "run.checked.count", n=n, total=total)


def numbers(
    detail: RowDetail,
    errors: Mapping[str, np.ndarray],
    title: str,
    language: str,
    columns: Mapping[str, str] = ERROR_COLUMNS,
    write: Callable[[float], str] = ulps,
) -> list:
    """Return the row's first outputs side by side, its inputs before them where they line up.

    The worst output is always among them.

    ``errors`` are the kernel's and torch's [out_cols], NaN where they do not compare; ``columns``
    names them and ``write`` spells one.
    """
    total = len(detail.outputs["float64"])
    listed_columns = list(range(min(FIRST_OUTPUTS, total)))
    worst = int(np.nan_to_num(errors["kernel"], nan=np.inf).argmax())
    if worst not in listed_columns:
        listed_columns.append(worst)
    names = [text(language, "run.numbers.column"), *detail.inputs]
    names += [text(language, f"run.numbers.{key}") for key in detail.outputs]
    names += [text(language, columns[who]) for who in errors]
    lines = []
    for column in listed_columns:
        shown = (*detail.inputs.values(), *detail.outputs.values())
        outputs = [exact(float(array[column])) for array in shown]
        away = [write(float(errors[who][column])) for who in errors]
        label = f"{column} ✕" if np.isnan(errors["kernel"][column]) else str(column)
        lines.append([label, *outputs, *away])
    key = "run.numbers.all" if len(listed_columns) == total else "run.numbers.shown"
    how = text(language, key, n=len(listed_columns), total=total)
    return [head(title, how), ["div", {"class": "bw-scroll"}, table(names, lines, "bw-numbers")]]


def errors_head(found: CheckResult | OutputCheck, language: str) -> list:
    """Return the head of the histogram."""
    n = int(np.sum(found.histogram["kernel"]))
    return [head(text(language, "run.errors"), text(language, "run.errors.how", n=n))]


def device_box(device: Device | None, language: str) -> list:
    """Return what runs the kernels here, and in words what is real and what is not."""
    if device is None:
        return [["p", {"class": "bw-how"}, text(language, "run.device.waiting")]]
    kind = device.kind
    sm = "".join(map(str, device.capability or ()))
    box = [
        "div", {"class": f"bw-device bw-device-{kind}"},
        [
            "h3", {},
            ["span", {"class": "bw-disc", "aria-hidden": "true"}],
            text(language, f"device.{kind}", name=device.name, sm=sm),
        ],
        ["p", {}, text(language, f"device.note.{kind}")],
    ]  # fmt: skip
    if device.reason:
        key = f"device.reason.{device.reason}"
        box.append(["p", {}, error_sentence(language, key, device.details, device.reason)])
    return [[*box, ["p", {"class": "bw-mono"}, _versions(device)]]]


def _versions(device: Device) -> str:
    """Return "triton 3.7.1 · torch 2.13.0 · …", those that are known, in this order."""
    order = ("triton", "torch", "cuda", "driver", "numpy")
    known = (name for name in order if name in device.versions)
    return " · ".join(f"{name} {device.versions[name]}" for name in known)


def table(names: list, lines: list, kind: str = "") -> list:
    """Return a table: the first cell of a line names it, the others are numbers."""
    body = [
        ["tr", {}, ["th", {"scope": "row"}, str(line[0])], *(["td", {}, cell] for cell in line[1:])]
        for line in lines
    ]
    parts = [["tbody", {}, *body]]
    if names:
        cells = [["th", {"scope": "col"}, name] for name in names]
        parts.insert(0, ["thead", {}, ["tr", {}, *cells]])
    return ["table", {"class": f"bw-table {kind}".strip()}, *parts]
