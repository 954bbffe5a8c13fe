"""What stands beside the figures, as trees of nodes for `Note`: heads, tables, the device."""

from __future__ import annotations

import numpy as np

from benchmarks.results import REL_FLOOR, CheckResult, Device, RowDetail
from viz.figures.distance import row_distances
from viz.figures.error_map import EDGES
from viz.figures.numerals import exact, short, special, ulps
from viz.figures.prose import error_sentence, listed, name_of, say
from viz.figures.state import (
    MAX_DRAWN,
    MAX_PRINTED,
    SYMBOLS,
    apart,
    fields_of,
    groups,
)
from viz.locales import text

FIRST_OUTPUTS = 16
MAX_TEXT_BLOCKS = 64  # rows of the states' table; a file of all is one click away


def head(title: str, *after: object) -> list:
    """Return a panel's head: its name in bold, and what explains it."""
    return ["h3", {"class": "bw-head"}, title, " ", ["span", {"class": "bw-how"}, *after]]


def map_head(result: CheckResult, which: str, language: str) -> list:
    """Return a map's name with its largest and median error, and how many have no number."""
    stats = getattr(result, which)
    numbers = {"max": ulps(stats.max_ulp), "median": ulps(stats.median_ulp)}
    told = ["span", {"class": "bw-mono"}, text(language, "run.map.numbers", **numbers)]
    if stats.n_mismatched:
        told += [" ", ["b", {"class": "bw-error"}, f"✕ {stats.n_mismatched}"]]
    return [["div", {"class": "bw-map-head"}, ["b", {}, text(language, f"run.map.{which}")], told]]


def map_key(result: CheckResult, language: str) -> list:
    """Return the maps' scale: six tints with the edges between them, and what the axes are."""
    tints = [["span", {"class": f"bw-tint bw-tint-{k}"}] for k in range(len(EDGES) + 1)]
    edges = [["span", {"class": "bw-edge"}, f"{edge:g}"] for edge in EDGES]
    rows, cols = result.map_step
    key = "run.map.axes" if rows == cols == 1 else "run.map.axes.pooled"
    n_cols = result.n_outputs // result.case.n_rows
    axes = text(language, key, cols=n_cols if rows == cols == 1 else cols, rows=rows)
    return [
        [
            "div", {"class": "bw-map-key"},
            ["span", {}, text(language, "run.map.scale")],
            [
                "span", {"class": "bw-scale", "aria-hidden": "true"},
                ["span", {"class": "bw-tints"}, *tints],
                ["span", {"class": "bw-edges"}, *edges],
            ],
            ["span", {}, axes],
        ]
    ]  # fmt: skip


def state_head(row: int, language: str) -> list:
    """Return the head of the state figure, with the two marks that it uses."""
    legend = [
        "span", {"class": "bw-legend"},
        ["span", {"class": "bw-key-mirror", "aria-hidden": "true"}],
        text(language, "run.state.mirror"),
        ["span", {"class": "bw-key-kernel", "aria-hidden": "true"}],
        text(language, "run.state.kernel"),
    ]  # fmt: skip
    title = text(language, "run.state", row=row)
    return [head(title, text(language, "run.state.how")), legend]


def state_words(result: CheckResult, detail: RowDetail, language: str) -> list:
    """Return what the states say over all rows that were compared, and all numbers as text."""
    fields = [field for field in fields_of(detail) if field in result.state_ulps]
    same = [SYMBOLS[f] for f in fields if result.state_ulps[f] == 0]
    other = [f for f in fields if result.state_ulps[f] != 0]
    said = []
    if same:
        states = result.n_state_rows * result.n_blocks
        said += say(language, "run.state.same", fields=listed(language, same), states=states)
    for field in other:
        worst = ulps(float(result.state_ulps[field]))
        key = "run.state.apart_by" if worst != special(np.inf) else "run.state.apart_far"
        said += [" ", *say(language, key, fields=SYMBOLS[field], ulps=worst)]
    if not fields:
        return [["p", {"class": "bw-words"}, text(language, "run.state.none")]]
    n_blocks = result.n_blocks
    for most, key in ((MAX_PRINTED, "run.state.grouped"), (MAX_DRAWN, "run.state.thinned")):
        if n_blocks > most:
            said += [" ", text(language, key, size=-(-n_blocks // most))]
    return [["p", {"class": "bw-words"}, *said], _states_as_text(detail, n_blocks, language)]


def _states_as_text(detail: RowDetail, n_blocks: int, language: str) -> list:
    """Return a table of the captured states and their distances, closed until asked for."""
    fields = [field for field in fields_of(detail) if field != "acc"]
    spans = groups(n_blocks, n_blocks)[:MAX_TEXT_BLOCKS]
    names = [text(language, "run.state.block"), *(SYMBOLS[f] for f in fields)]
    names += [f"{SYMBOLS[f]}, ULP" for f in fields_of(detail)]
    lines = []
    for span in spans:
        values = [exact(float(detail.kernel_state[f][span[0]]), 7) for f in fields]
        lines.append([str(span[0]), *values, *(apart(detail, f, span) for f in fields_of(detail))])
    summary = ["summary", {}, text(language, "run.state.as_text")]
    return ["details", {"class": "bw-details"}, summary, _table(names, lines)]


def checked(result: CheckResult, language: str) -> list:
    """Return what was checked: kernel and torch side by side, then the counts."""
    case = result.case
    kernel, torch = result.kernel, result.torch
    sides = [
        ("max_abs", short(kernel.max_abs), short(torch.max_abs)),
        ("rms", short(kernel.rms), short(torch.rms)),
        ("max_rel", short(kernel.max_rel), short(torch.max_rel)),
        ("max_ulp", ulps(kernel.max_ulp), ulps(torch.max_ulp)),
        ("n_mismatched", str(kernel.n_mismatched), str(torch.n_mismatched)),
    ]
    counts = [
        ("tolerance", short(result.tolerance)),
        ("same_bits", _count(result.n_same_bits, result.n_compared, language)),
        ("unwritten", str(result.n_unwritten)),
        ("programs", str(result.n_programs)),
    ]
    if result.n_masked_rows:
        counts.append(("masked", str(result.n_masked_rows)))
    named = [(text(language, f"run.checked.{key}"), *rest) for key, *rest in sides]
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
        _table(columns, named, "bw-checked"),
        _table([], [(text(language, f"run.checked.{key}"), n) for key, n in counts], "bw-checked"),
        ["p", {"class": "bw-how"}, *say(language, "run.checked.against", **details)],
    ]


def _count(n: int, total: int, language: str) -> str:
    """Return "109 of 1280"."""
    return text(language, "run.checked.count", n=n, total=total)


def numbers(result: CheckResult, detail: RowDetail, language: str) -> list:
    """Return the row's first outputs side by side; the worst one is always among them."""
    distances = row_distances(detail, result.case.dtype)
    total = len(detail.outputs["float64"])
    columns = list(range(min(FIRST_OUTPUTS, total)))
    worst = int(np.nan_to_num(distances["kernel"], nan=np.inf).argmax())
    if worst not in columns:
        columns.append(worst)
    names = [text(language, f"run.numbers.{key}") for key in ("column", *detail.outputs)]
    names += [text(language, f"run.numbers.{key}") for key in ("error", "error_torch")]
    lines = []
    for column in columns:
        outputs = [exact(float(detail.outputs[who][column])) for who in detail.outputs]
        away = [ulps(float(distances[who][column])) for who in ("kernel", "torch")]
        label = f"{column} ✕" if np.isnan(distances["kernel"][column]) else str(column)
        lines.append([label, *outputs, *away])
    key = "run.numbers.all" if len(columns) == total else "run.numbers.shown"
    how = text(language, key, n=len(columns), total=total)
    title = text(language, "run.numbers", row=detail.row)
    return [head(title, how), ["div", {"class": "bw-scroll"}, _table(names, lines, "bw-numbers")]]


def errors_head(result: CheckResult, language: str) -> list:
    """Return the head of the histogram."""
    n = int(np.sum(result.histogram["kernel"]))
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


def _table(names: list, lines: list, kind: str = "") -> list:
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
