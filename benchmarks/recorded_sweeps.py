"""What a recorded sweep or landscape must be: its case, and its points.

A point is kept as the fields that differ from a `SweepPoint` that says nothing. JSON has no NaN and
no infinity: a time that there is not is left out, and an error that is infinite is null.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache

from benchmarks import sweep_choice
from benchmarks.ceiling import COPY
from benchmarks.gpu_state import SLOWED
from benchmarks.operations import OPERATIONS, fields_of
from benchmarks.recorded_fields import Damaged, matching, names, number, one_of, rows, whole, word
from benchmarks.sweep import point_case
from benchmarks.sweep_results import LandscapeCase, SweepCase, SweepPoint
from kernels.errors import InputError
from kernels.inputs import Case
from kernels.problems import shape_of

REASONS = (
    "no_memory", "refused", "not_installed", "too_long", "too_many_scores", "unknown", "failed",
    "wrong", "unfit", "too_fast",
)  # fmt: skip
SETTINGS = (
    "block", "block_m", "block_k", "group_m", "rows", "n_splits", "num_warps", "num_stages",
)  # fmt: skip
MAX_MESSAGE = 300
MAX_POINTS = 10_000
MAX_VALUES = 32  # of one setting: a map has a column for each
MAX_MS = 1e6
MAX_S = 1e5
# No GPU moves or computes so much: a file that says so was edited.
MAX_GB_PER_S = 20_000
MAX_TFLOP_PER_S = 20_000
PATH = re.compile(r"[a-z][a-z_ ]{0,39}")
RESOURCES = {"registers": 1024, "spills": 2**20, "shared_bytes": 2**20, "warps": 64}
# Of the GPU after the last call, the least and the most.
STATE = {"clock_mhz": (1, 10_000), "temperature_c": (0, 200)}
TIMES = ("median_ms", "p20_ms", "p80_ms")

BLANK = {one.name: getattr(SweepPoint("", 0), one.name) for one in fields(SweepPoint)}


def packed(point: SweepPoint) -> dict[str, object]:
    """Return a point as a file has it; a message is kept as far as it can be printed."""
    kept: dict[str, object] = {"provider": point.provider, "value": point.value}
    for name, nothing in BLANK.items():
        value = getattr(point, name)
        if name == "message":
            value = "".join(c if c.isprintable() else " " for c in value)[:MAX_MESSAGE]
        if name == "settings":
            value = dict(value)
        if isinstance(value, float) and not math.isfinite(value):
            if name == "error":
                kept[name] = None
        elif value != nothing:
            kept[name] = value
    return kept


# Cases.


def sweep_case(given: object) -> SweepCase:
    """Return a sweep's case; its limits are those of a shell."""
    names("case", given, {one.name for one in fields(SweepCase)})
    sizes = _sizes_of(given)
    for name in ("fixed_rows", "is_hot"):
        if type(given[name]) is not bool:
            raise Damaged(f"case.{name}", given[name])
    told = {**sizes, "axis": given["axis"]}
    told["n_rows"] = sizes["n_rows"] if given["fixed_rows"] else None
    return _same(
        given,
        sweep_choice.choose_sweep,
        (given["operation"], given["values"], sizes["dtype"], given["providers"]),
        told,
        is_hot=given["is_hot"],
    )


def landscape_case(given: object) -> LandscapeCase:
    """Return a landscape's case."""
    names("case", given, {one.name for one in fields(LandscapeCase)})
    sizes = _sizes_of(given)
    about = OPERATIONS[one_of("case.operation", given["operation"], tuple(OPERATIONS))]
    asked = about.name, sizes[fields_of(about.axes[0])[0]], sizes["dtype"]
    return _same(given, sweep_choice.choose_landscape, asked, sizes)


def _sizes_of(given: Mapping) -> dict[str, object]:
    """Return a case's sizes, unread."""
    names("case.sizes", given["sizes"], {one.name for one in fields(Case)})
    return given["sizes"]


def _same(given: Mapping, choose, asked: tuple, told: Mapping, **more):
    """Return the case that a user would get who asks for this; it must be the case given."""
    read = ("n_rows", "n_cols", "head_dim", "heads", "batch", "mask", "axis", "n_splits")
    options = {name: told[name] for name in read if name in choose.__kwdefaults__}
    if "seq" in choose.__kwdefaults__:
        is_decode = given["operation"] == "decode"
        options["seq"] = given["sizes"]["seq_k" if is_decode else "seq_q"]
    options |= {"budget_s": given["budget_s"], "limits": sweep_choice.WIDE}
    try:
        chosen = choose(*asked, **options, **more)
    except InputError as error:
        where = error.details.get("name", error.details.get("what", "operation"))
        raise Damaged(f"case.{where}", error.details.get("got", asked[0])) from None
    wanted = asdict(chosen)
    for where, got, right in (
        *((f"case.{name}", given[name], wanted[name]) for name in wanted if name != "sizes"),
        *((f"case.sizes.{name}", given["sizes"][name], wanted["sizes"][name])
          for name in wanted["sizes"]),
    ):  # fmt: skip
        if json.dumps(got) != json.dumps(right):
            raise Damaged(where, got)
    return chosen


def sweep_name(case: SweepCase) -> str:
    """Return what tells a file of this case from others."""
    about = OPERATIONS[case.operation]
    said = [case.operation, case.axis, f"{case.values[0]}-{case.values[-1]}", case.sizes.dtype]
    if len(case.values) > 1:
        said.insert(3, f"{len(case.values)}")
    if case.fixed_rows and case.axis != "n_rows":
        said.append(f"rows {case.sizes.n_rows}")
    if case.axis == "n_rows":
        said.append(f"cols {case.sizes.n_cols}")
    if "seq" not in case.axis and about.algorithm.problem == "attention":
        said.append(f"t {case.sizes.seq_k}")
    if case.operation == "decode" and case.axis != "n_splits":
        said.append(f"splits {case.sizes.n_splits}")
    if case.providers != about.providers:
        said += case.providers
    return " ".join([*said, *_attention_words(case.operation, case.sizes), *["hot"] * case.is_hot])


def landscape_name(case: LandscapeCase) -> str:
    """Return what tells a file of this case from others."""
    sizes = case.sizes
    by_problem = {
        "row": f"{sizes.n_rows}x{sizes.n_cols}",
        "matmul": f"{sizes.size_m}",
        "attention": f"{sizes.seq_k}",
    }
    said = [case.operation, by_problem[OPERATIONS[case.operation].algorithm.problem]]
    return " ".join([*said, sizes.dtype, *_attention_words(case.operation, sizes)])


def _attention_words(operation: str, sizes: Case) -> list[str]:
    """Return the sizes that only attention has."""
    if OPERATIONS[operation].algorithm.problem != "attention":
        return []
    return [f"b{sizes.batch} h{sizes.heads} d{sizes.head_dim}", sizes.mask]


# Points.


def sweep_points(given: object, case: SweepCase) -> tuple[SweepPoint, ...]:
    """Return the points: each provider once at each value, with a time or with a reason."""
    known, seen, found, n_rows = (*case.providers, COPY), set(), [], {}
    costs = cache(lambda value, n_rows: _costs(case, value, n_rows))
    for k, one in enumerate(rows("points", given, MAX_POINTS)):
        where = f"points[{k}]"
        point = _point(where, one, known)
        if point.value not in case.values or (point.provider, point.value) in seen:
            raise Damaged(f"{where}.value", point.value)
        seen.add((point.provider, point.value))
        if point.reason == "unfit":
            raise Damaged(f"{where}.reason", point.reason)
        _check_sizes(where, point, case.operation, costs(point.value, point.n_rows))
        wanted = point_case(case, point.value).n_rows if case.fixed_rows else point.n_rows
        if point.n_rows != n_rows.setdefault(point.value, wanted):  # all have the same tensors
            raise Damaged(f"{where}.n_rows", point.n_rows)
        found.append(point)
    return tuple(found)


def landscape_points(given: object, case: LandscapeCase) -> tuple[SweepPoint, ...]:
    """Return the points: each setting once, and one copy."""
    seen, found = set(), []
    costs = OPERATIONS[case.operation].costs(case.sizes)
    entry = OPERATIONS[case.operation].algorithm
    ours = {frozenset(c.settings) for c in entry.configs(shape_of(entry, case.sizes))}
    tried = {"ours": ours, COPY: {frozenset()}}
    values: dict[str, set[int]] = {}
    for k, one in enumerate(rows("points", given, MAX_POINTS)):
        where = f"points[{k}]"
        point = _point(where, one, ("ours", COPY))
        key = (point.provider, *sorted(point.settings.items()))
        if key in seen or frozenset(point.settings) not in tried[point.provider]:
            raise Damaged(f"{where}.settings", dict(point.settings))
        seen.add(key)
        for name, value in point.settings.items():
            values.setdefault(name, set()).add(value)
            if len(values[name]) > MAX_VALUES:
                raise Damaged(f"{where}.settings.{name}", value)
        _check_sizes(where, point, case.operation, costs)
        if point.n_rows not in (0, case.sizes.n_rows):
            raise Damaged(f"{where}.n_rows", point.n_rows)
        found.append(point)
    return tuple(found)


def _costs(case: SweepCase, value: int, n_rows: int) -> tuple[int, int]:
    """Return the bytes and operations of one value; rows that the sweep chose are as it says."""
    sizes = point_case(case, value)
    if n_rows:
        sizes = Case(**{**vars(sizes), "n_rows": n_rows})
    return OPERATIONS[case.operation].costs(sizes)


def _check_sizes(where: str, point: SweepPoint, operation: str, costs: tuple[int, int]) -> None:
    """Raise Damaged unless a point is of the bytes and operations that its sizes have."""
    has_rows = "n_rows" in OPERATIONS[operation].axes
    if bool(point.n_rows) != has_rows:
        raise Damaged(f"{where}.n_rows", point.n_rows)
    wanted = costs[0], costs[1] if point.provider != COPY else 0
    for name, right in zip(("n_bytes", "flops"), wanted, strict=True):
        if getattr(point, name) != right:
            raise Damaged(f"{where}.{name}", getattr(point, name))


def _point(where: str, given: object, known: tuple[str, ...]) -> SweepPoint:
    """Return one point, each field of the right type and in its range."""
    if not isinstance(given, dict):
        raise Damaged(where, given)
    odd = sorted(set(given) - set(BLANK))
    if odd:
        raise Damaged(f"{where}.{odd[0]}", given[odd[0]])
    one = {**BLANK, "provider": None, "value": None, **given}
    spot = where + ".{}"
    kept = {
        "provider": one_of(spot.format("provider"), one["provider"], known),
        "reason": one_of(spot.format("reason"), one["reason"], ("", *REASONS)),
        "settings": _settings(spot.format("settings"), one["settings"]),
    }
    kept["slowed"] = one_of(spot.format("slowed"), one["slowed"], ("", *dict(SLOWED)))
    for name in ("message", "path"):
        if one[name] != "":
            kept[name] = word(spot.format(name), one[name], MAX_MESSAGE)
    if "path" in kept:
        matching(spot.format("path"), kept["path"], PATH)
    for name, most in {
        "value": 2**31, "n_rows": sweep_choice.SIZES["n_rows"][1], "n": 10**6,
        "n_outliers": 10**6, "n_bytes": 2**50, "flops": 10**17,
    }.items():  # fmt: skip
        kept[name] = whole(spot.format(name), one[name], 0, most)
    for name, (least, most) in (*((name, (0, n)) for name, n in RESOURCES.items()), *STATE.items()):
        got = one[name]
        kept[name] = got if got is None else whole(spot.format(name), got, least, most)
    for name, most in (("first_s", MAX_S), ("allowed", 1e6)):
        kept[name] = number(spot.format(name), one[name], 0, most)
    if one["error"] is None and one["reason"] == "wrong":
        kept["error"] = math.inf
    else:
        kept["error"] = number(spot.format("error"), one["error"], 0, 1e300)
    if one["reason"] == "":
        kept |= _times(where, one)
    point = SweepPoint(**{**BLANK, **kept})
    _check_meaning(where, point, given)
    return point


def _settings(where: str, given: object) -> dict[str, int]:
    """Return settings: known names, and whole numbers of them."""
    if not isinstance(given, dict):
        raise Damaged(where, given)
    return {
        one_of(where, name, SETTINGS): whole(f"{where}.{name}", value, 1, 2**20)
        for name, value in given.items()
    }


def _times(where: str, one: Mapping) -> dict[str, object]:
    """Return the times of a point that has no reason to be without."""
    kept: dict[str, object] = {
        name: number(f"{where}.{name}", one[name], 1e-5, MAX_MS) for name in TIMES
    }
    if not kept["p20_ms"] <= kept["median_ms"] <= kept["p80_ms"]:
        raise Damaged(f"{where}.median_ms", kept["median_ms"])
    whole(f"{where}.n", one["n"], 1, 10**6)
    for name in ("graph_us", "wall_us"):
        if one[name] is not None:
            kept[name] = number(f"{where}.{name}", one[name], 1e-2, MAX_MS * 1e3)
    return kept


def _check_meaning(where: str, point: SweepPoint, given: Mapping) -> None:
    """Raise Damaged if the fields contradict each other, or say what no GPU does."""
    wrong = ""
    if point.reason:
        without = (*TIMES, "n", "n_outliers", "graph_us", "wall_us", "slowed", *STATE)
        wrong = next((name for name in without if name in given), "")
    elif point.message:
        wrong = "message"
    elif point.n_outliers > point.n // 2:  # the others are within twice the median
        wrong = "n_outliers"
    elif point.gb_per_s > MAX_GB_PER_S or point.tflop_per_s > MAX_TFLOP_PER_S:
        wrong = "median_ms"
    elif not point.error <= point.allowed or bool(point.allowed) != (point.provider != COPY):
        wrong = "error"
    if point.provider == COPY and not wrong:
        unknown = (*RESOURCES, "path", "settings", "reason", "error", "allowed", "flops")
        wrong = next((name for name in unknown if name in given), "")
    if not wrong and packed(point) != given:  # a field that says nothing is left out
        same = packed(point)
        wrong = next(name for name in given if name not in same or same[name] != given[name])
    if wrong:
        raise Damaged(f"{where}.{wrong}", given.get(wrong))
