"""Check a user's sweep or landscape: every field, and the products that decide memory and time.

The values of a sweep are a list, ranges, or both: "256, 1024, 50257", "256..65536 x2" (each twice
the one before), "1000..4000 +500" (each 500 more).

Two environment variables, read once when this is imported, bound what a page's visitor may ask for:

    BLOCKWISE_SWEEP_BUDGET_S    seconds that a sweep may take, 300 unless set
    BLOCKWISE_SWEEP_VALUES      values that a sweep may have, 64 unless set

A shell is its owner's, and a recorded file is of another machine: both have `WIDE` limits instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.operations import OPERATIONS, Operation, at
from benchmarks.sweep import point_case, rows_for
from benchmarks.sweep_results import LandscapeCase, SweepCase
from kernels import ALGORITHMS
from kernels.errors import InputError, shorten
from kernels.inputs import DTYPES, Case, at_most, one_of, whole_number
from kernels.problems import shape_of
from kernels.tile_inputs import MASKS


class Limits(NamedTuple):
    """How many values a sweep may have, and how many seconds it may take."""

    n_values: int
    budget_s: int


WIDE = Limits(512, 86_400)


def limits_from(environment: Mapping[str, str]) -> Limits:
    """Return the limits that an environment sets. What is no whole number there counts as unset."""

    def read(name: str, unset: int, most: int) -> int:
        text = environment.get(name, "").strip()
        wanted = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else unset
        return min(max(1, wanted), most)

    return Limits(
        read("BLOCKWISE_SWEEP_VALUES", 64, WIDE.n_values),
        read("BLOCKWISE_SWEEP_BUDGET_S", 300, WIDE.budget_s),
    )


LIMITS = limits_from(os.environ)

# How a size is called in a sentence, and the most it may be.
SIZES: Mapping[str, tuple[str, int]] = {
    "n_cols": ("N", 2**20),
    "n_rows": ("n_rows", 2**22),
    "seq": ("T", 32_768),
    "seq_k": ("seq_k", 2**20),
    "head_dim": ("head_dim", 256),
    "heads": ("heads", 256),
    "batch": ("batch", 1024),
    "n_splits": ("splits", 128),
    "size": ("N", 16_384),
}
MOST_ELEMENTS = 2**32  # of one tensor; what does not fit a GPU is told by the sweep itself
MOST_FLOPS = 10**14  # of one call: an H200 takes a fifth of a second and more
MAX_TEXT = 2000
RANGE = re.compile(r"([0-9]{1,18})\s*\.\.\s*([0-9]{1,18})\s*([x×*+])\s*([0-9]{1,18})")


def choose_sweep(
    operation: object,
    values: object,
    dtype: object = "bfloat16",
    providers: object = None,
    *,
    axis: object = None,
    n_rows: object = None,
    n_cols: object = 4096,
    seq: object = 4096,
    head_dim: object = 64,
    heads: object = 16,
    batch: object = 1,
    n_splits: object = 16,
    mask: object = "none",
    is_hot: bool = False,
    budget_s: object = None,
    limits: Limits = LIMITS,
) -> SweepCase:
    """Check every field that the operation reads and return the case.

    values      text, or whole numbers; the case has each once, the smallest first
    providers   keys, or text of them with commas; None and nothing stand for all
    axis        one of the operation's; None for its first
    n_rows      None leaves it to each point to have enough of them
    seq         the length of attention, and of decoding's keys

    Raise InputError, one sentence, at the first fault.
    """
    about = _operation(operation)
    axis = about.axes[0] if axis is None else one_of("axis", axis, about.axes)
    sizes = _sizes(about, dtype, locals(), given_by_axis=axis)
    case = SweepCase(
        about.name,
        axis,
        _values(values, axis, limits.n_values),
        sizes,
        _providers(about, providers),
        # Rows that are the axis are not chosen either.
        fixed_rows="n_rows" in about.axes and (axis == "n_rows" or n_rows is not None),
        is_hot=bool(is_hot),
        budget_s=_budget(budget_s, limits),
    )
    for value in case.values:
        _check_product(about, point_case(case, value))
    return case


def choose_landscape(
    operation: object,
    n: object,
    dtype: object = "bfloat16",
    *,
    n_rows: object = None,
    head_dim: object = 64,
    heads: object = 16,
    batch: object = 1,
    mask: object = "none",
    budget_s: object = None,
    limits: Limits = LIMITS,
) -> LandscapeCase:
    """Check every field and return the case: ``n`` is the size that `choose_sweep` varies."""
    about = _operation(operation)
    axis = about.axes[0]
    sizes = _sizes(about, dtype, {**locals(), **DEFAULTS}, given_by_axis=axis)
    sizes = at(sizes, axis, _size(axis, n))
    if "n_rows" in about.axes and n_rows is None:
        sizes = Case(**{**vars(sizes), "n_rows": rows_for(about.name, sizes)})
    _check_product(about, sizes)
    entry = ALGORITHMS[about.entry]
    if entry.configs is None or not entry.configs(shape_of(entry, sizes)):
        raise InputError("no_configs", "{name} has no settings to tune.", name=about.entry)
    return LandscapeCase(about.name, sizes, _budget(budget_s, limits))


DEFAULTS: Mapping[str, int] = {"n_cols": 4096, "seq": 4096, "n_splits": 16}


def _operation(name: object) -> Operation:
    """Return the operation of a name."""
    return OPERATIONS[one_of("operation", name, tuple(OPERATIONS))]


def _size(name: str, value: object) -> int:
    """Return one size, within its limits."""
    label, most = SIZES[name]
    return whole_number(label, value, 1, most)


def _budget(value: object, limits: Limits) -> float:
    """Return the seconds that a sweep may take: all there are unless told."""
    most = limits.budget_s
    return float(whole_number("budget_s", min(300, most) if value is None else value, 1, most))


def _sizes(
    about: Operation, dtype: object, given: Mapping[str, object], *, given_by_axis: str
) -> Case:
    """Return the case of every point; what the axis sets is left as a Case has it.

    Blocks that a kernel does not choose by its own table are 64 keys, and 16 queries of decoding.
    """
    fields: dict[str, object] = {"dtype": one_of("dtype", dtype, DTYPES)}
    problem = ALGORITHMS[about.entry].problem
    names = {"row": ("n_rows", "n_cols"), "matmul": ()}.get(problem)
    if names is None:
        names = ("batch", "heads", "head_dim", "seq_k" if about.name == "decode" else "seq")
        fields |= {"block": 64, "mask": "none"}
        if about.name == "decode":
            fields["seq_q"], names = 1, (*names, "n_splits")
        else:
            fields["mask"] = one_of("mask", given["mask"], MASKS)
    case = Case(**fields)
    for name in names:
        value = given["seq" if name == "seq_k" else name]
        if name != given_by_axis and value is not None:
            case = at(case, name, _size(name, value))
    return case


def _providers(about: Operation, given: object) -> tuple[str, ...]:
    """Return the providers in the operation's order."""
    if given is None:
        return about.providers
    if isinstance(given, str):
        given = [name.strip() for name in given[:MAX_TEXT].split(",")]
    if not isinstance(given, list | tuple) or len(given) > 100:
        given = [given]
    wanted = {one_of("provider", name, about.providers) for name in given}
    if not wanted:
        one_of("provider", None, about.providers)
    return tuple(name for name in about.providers if name in wanted)


def _values(given: object, axis: str, most: int) -> tuple[int, ...]:
    """Return the values of an axis, each once, the smallest first."""
    label, _ = SIZES[axis]
    if isinstance(given, str) and len(given) <= MAX_TEXT:
        found = [one for part in re.split("[,;，；\n]", given) for one in _part(label, part, most)]
    elif isinstance(given, list | tuple) and given:
        at_most("values of a sweep", len(given), most)
        found = list(given)
    else:
        raise _unreadable(label, given)
    kept = {_size(axis, value) for value in found}
    at_most("values of a sweep", len(kept), most)
    return tuple(sorted(kept))


def _part(label: str, text: str, most: int) -> Sequence[object]:
    """Return the numbers of one part of a list: one, or a range's."""
    text = text.strip()
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return [int(text)]
    found = RANGE.fullmatch(text)
    if not found:
        raise _unreadable(label, text)
    start, stop, by = int(found[1]), int(found[2]), int(found[4])
    if stop < start or by < (1 if found[3] == "+" else 2) or not start:
        raise _unreadable(label, text)
    if found[3] == "+":
        at_most("values of a sweep", (stop - start) // by + 1, most)
        return range(start, stop + 1, by)
    numbers = [start]
    while numbers[-1] * by <= stop:
        numbers.append(numbers[-1] * by)
    return numbers


def text_of(values: Sequence[int]) -> str:
    """Return values, the smallest first, as short text without spaces that reads back as them."""
    parts, rest = [], list(values)
    while rest:
        n, text = max(_run_of(rest, "x"), _run_of(rest, "+"), key=lambda found: found[0])
        if n < 3:  # a range says no less than a list
            n, text = 1, f"{rest[0]}"
        parts.append(text)
        rest = rest[n:]
    return ",".join(parts)


def _run_of(values: Sequence[int], sign: str) -> tuple[int, str]:
    """Return how many of the first values are one range by ``sign``, and its text."""
    first = values[0]
    if len(values) < 2 or sign == "x" and values[1] % first:
        return 1, f"{first}"
    by = values[1] // first if sign == "x" else values[1] - first
    n = 1
    while n < len(values) and values[n] == (values[n - 1] * by if sign == "x" else first + n * by):
        n += 1
    return n, f"{first}..{values[n - 1]}{sign}{by}"


def _unreadable(label: str, given: object) -> InputError:
    """Return what is said of text that is no list and no range."""
    return InputError(
        "sweep_values",
        "{name} must be numbers, as 256, 1024, 50257, or ranges, as 256..65536 x2 or "
        "1000..4000 +500, got {got}.",
        name=label,
        got=shorten(given or None),
    )


def _check_product(about: Operation, case: Case) -> None:
    """Raise InputError if a call is of more than any GPU's memory, or takes minutes."""
    problem = ALGORITHMS[about.entry].problem
    if problem == "row":
        at_most("rows × columns", case.n_rows * case.n_cols, MOST_ELEMENTS)
    elif problem == "attention":
        longest = max(case.seq_q, case.seq_k)
        n_values = case.batch * case.heads * longest * case.head_dim
        at_most("batch × heads × length × head_dim", n_values, MOST_ELEMENTS)
    at_most("floating-point operations", about.costs(case)[1], MOST_FLOPS)
