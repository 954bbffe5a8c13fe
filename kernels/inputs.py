"""Turn a user's choice into arrays: presets, seeds, pasted numbers, and every limit on them.

Nothing is allocated before it is checked. Widgets and links are not trusted: each value is checked
for type, finiteness, range and, where it matters, being a power of two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernels import presets
from kernels.errors import InputError, shorten
from kernels.pasted import MAX_NUMBERS, read_numbers

MAX_COLS = MAX_NUMBERS
MAX_BLOCK = 512
MAX_HEAD_DIM = 16
MAX_SEED = 2**31 - 1

MAX_RUN_ROWS = 4096
MAX_RUN_COLS = 65_536
MAX_RUN_ELEMENTS = 2**22  # of x: what a page can check, colour and offer for download at once
MAX_RUN_STATES = 2**18  # rows x blocks whose state is captured
MAX_RUN_BLOCK = 8192
MAX_RUN_HEAD_DIM = 256
MAX_TILE = 65_536  # BLOCK_N x head_dim of v held in registers by one program
MAX_SPLITS = 1024  # programs that share a row
MAX_INTERPRETED_BLOCKS = 8192  # at 2 to 3 ms a block, about 20 s

DTYPES = ("float32", "float16", "bfloat16")
PRESETS = (
    "normal",
    "rising",
    "falling",
    "outlier_last",
    "ties",
    "all_equal",
    "huge",
    "masked_tail",
    "all_masked",
)
OWN_NUMBERS = "own"  # the preset's place when the numbers were pasted


@dataclass(frozen=True)
class Choice:
    """What is to be watched: checked, hashable, and enough to build the arrays again.

    An algorithm reads preset, dtype, seed and its ``fields``; ``kernels.tile_inputs`` checks those
    that rows do not have. ``block`` is BLOCK_N everywhere.
    """

    preset: str = "normal"
    n_cols: int = 32
    block: int = 4
    head_dim: int = 4
    dtype: str = "float32"
    seed: int = 7
    numbers: tuple[float, ...] = ()
    seq_q: int = 64
    seq_k: int = 64
    size_m: int = 32
    size_n: int = 32
    size_k: int = 32
    block_m: int = 8
    block_k: int = 8
    group_m: int = 1
    n_splits: int = 4
    mask: str = "none"


@dataclass(frozen=True)
class Case:
    """What is to be run: a Choice's row when ``n_rows`` is 1, or a matrix of such rows.

    Row r has the scores that Watch draws for seed + r; all rows share the v of ``seed``.
    ``layout`` is how rows lie in memory, of `benchmarks.layouts`.
    """

    preset: str = "normal"
    n_rows: int = 1
    n_cols: int = 32
    block: int = 4
    head_dim: int = 4
    dtype: str = "float32"
    num_warps: int = 4
    seed: int = 7
    numbers: tuple[float, ...] = ()
    batch: int = 1
    heads: int = 1
    kv_heads: int = 1
    seq_q: int = 64
    seq_k: int = 64
    size_m: int = 32
    size_n: int = 32
    size_k: int = 32
    block_m: int = 16
    block_k: int = 16
    group_m: int = 1
    n_splits: int = 4
    mask: str = "none"
    num_stages: int = 2
    layout: str = "contiguous"


def whole_number(name: str, value: object, low: int, high: int) -> int:
    """Return ``value`` as an int in [low, high]; 4.0 and "4" are 4. Raise InputError if not."""
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,18}\s*", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(
            "whole_number",
            "{name} must be a whole number from {low} to {high}, got {got}.",
            name=name,
            low=low,
            high=high,
            got=shorten(value),
        )
    if not low <= value <= high:
        raise InputError(
            "out_of_range",
            "{name} must be from {low} to {high}, got {got}.",
            name=name,
            low=low,
            high=high,
            got=shorten(value),
        )
    return int(value)


def power_of_two(name: str, value: object, high: int, low: int = 1) -> int:
    """Return ``value`` as a power of two in [low, high]. Raise InputError if it is not one."""
    number = whole_number(name, value, low, high)
    if number & (number - 1):
        raise InputError(
            "power_of_two",
            "{name} must be a power of two from {low} to {high}, got {got}.",
            name=name,
            low=low,
            high=high,
            got=number,
        )
    return number


def one_of(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``. Raise InputError if not."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(
            "one_of",
            "{name} must be one of {choices}, got {got}.",
            name=name,
            choices=", ".join(choices),
            got=shorten(value),
        )
    return value


def choose(
    preset: object = "normal",
    n_cols: object = 32,
    block: object = 4,
    head_dim: object = 4,
    dtype: object = "float32",
    seed: object = 7,
    numbers: object = "",
) -> Choice:
    """Check every field and return the Choice. Raise InputError, one sentence, at the first fault.

    With preset "own", ``numbers`` is text to read and ``n_cols`` is how many there are.
    """
    preset = one_of("preset", preset, (*PRESETS, OWN_NUMBERS))
    dtype = one_of("dtype", dtype, DTYPES)
    block = power_of_two("BLOCK_N", block, MAX_BLOCK)
    head_dim = whole_number("head_dim", head_dim, 1, MAX_HEAD_DIM)
    seed = whole_number("seed", seed, 0, MAX_SEED)
    if preset != OWN_NUMBERS:
        n_cols = whole_number("N", n_cols, 1, MAX_COLS)
        return Choice(preset, n_cols, block, head_dim, dtype, seed)
    values = read_numbers(numbers)
    return Choice(preset, len(values), block, head_dim, dtype, seed, values)


def choose_case(
    preset: object = "normal",
    n_rows: object = 1,
    n_cols: object = 32,
    block: object = 4,
    head_dim: object = 4,
    dtype: object = "float32",
    num_warps: object = 4,
    seed: object = 7,
    numbers: object = "",
    *,
    with_values: bool,
    interpreted: bool,
    shares_rows: bool = False,
) -> Case:
    """Check every field, and the products that decide memory and time, and return the Case.

    ``with_values`` and ``shares_rows`` are the entry's.
    """
    preset = one_of("preset", preset, (*PRESETS, OWN_NUMBERS))
    dtype = one_of("dtype", dtype, DTYPES)
    block = power_of_two("BLOCK_N", block, MAX_RUN_BLOCK)
    head_dim = whole_number("head_dim", head_dim, 1, MAX_RUN_HEAD_DIM)
    num_warps = power_of_two("num_warps", num_warps, 32)
    seed = whole_number("seed", seed, 0, MAX_SEED - MAX_RUN_ROWS)
    values: tuple[float, ...] = ()
    if preset == OWN_NUMBERS:
        values = read_numbers(numbers)
        n_rows, n_cols = 1, len(values)
    n_rows = whole_number("n_rows", n_rows, 1, MAX_RUN_ROWS)
    n_cols = whole_number("n_cols", n_cols, 1, MAX_RUN_COLS)
    n_states = n_rows * -(-n_cols // block)
    at_most("rows × columns", n_rows * n_cols, MAX_RUN_ELEMENTS)
    at_most("rows × blocks", n_states, MAX_RUN_STATES)
    if with_values:
        at_most("rows × blocks × head_dim", n_states * head_dim, MAX_RUN_ELEMENTS)
        at_most("BLOCK_N × head_dim", block * head_dim, MAX_TILE)
    if shares_rows:
        at_most("programs that share a row", -(-n_cols // block), MAX_SPLITS)
    if interpreted and shares_rows:  # one after another, each finds the others' parts missing
        n_read = n_states * -(-n_cols // block)
        at_most("rows × blocks² on the CPU interpreter", n_read, MAX_INTERPRETED_BLOCKS)
    elif interpreted:
        at_most("rows × blocks on the CPU interpreter", n_states, MAX_INTERPRETED_BLOCKS)
    return Case(preset, n_rows, n_cols, block, head_dim, dtype, num_warps, seed, values)


def at_most(what: str, got: int, limit: int) -> None:
    """Raise InputError if a product of sizes is over its limit."""
    if got > limit:
        raise InputError(
            "too_large",
            "{what} may be at most {limit} here, got {got}.",
            what=what,
            limit=limit,
            got=got,
        )


def make_arrays(choice: Choice, draws: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return the inputs of one row, by name: float32, rounded to dtype.

    ``draws`` says what each holds, as `kernels.algorithm.Algorithm.draws`. ``values`` is
    [n_cols, head_dim], all others are [n_cols].
    """
    return {name: _drawn(what, choice, choice.seed) for name, what in draws.items()}


def make_matrix(case: Case, draws: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return the inputs of all rows: [n_rows, n_cols], and ``values``, as `make_arrays`."""
    arrays = {}
    for name, what in draws.items():
        n_seeds = 1 if what == "values" else case.n_rows
        drawn = [_drawn(what, case, case.seed + r) for r in range(n_seeds)]
        arrays[name] = drawn[0] if what == "values" else np.stack(drawn)
    return arrays


def _drawn(what: str, choice: Choice | Case, seed: int) -> np.ndarray:
    """Return what an input holds: each kind is drawn from a stream of its own.

    So v, say, stays when the preset changes.
    """
    n_cols = choice.n_cols
    if what == "values":
        drawn = presets.normal_numbers((n_cols, choice.head_dim), [seed, 1])
    elif what == "normal":
        drawn = presets.normal_numbers(n_cols, [seed, 2])
    elif choice.preset == OWN_NUMBERS:
        drawn = np.array(choice.numbers)
    else:
        drawn = presets.preset_row(choice.preset, n_cols, choice.dtype, seed)
    if what == "softmax":
        drawn = presets.softmax_of(round_to(drawn, choice.dtype))
    return round_to(drawn, choice.dtype)


def round_to(array: np.ndarray, dtype: str) -> np.ndarray:
    """Round to ``dtype``, nearest even, and return it as float32; overflow gives ±inf."""
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "float16":
            return np.asarray(array).astype(np.float16).astype(np.float32)
        single = np.asarray(array).astype(np.float32)
    if dtype == "float32":
        return single
    # bfloat16 is the upper half of a float32. Adding 0x7FFF and the kept part's last bit rounds
    # to nearest even; a NaN must not carry into the sign.
    bits = single.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(single), single, rounded.view(np.float32)).astype(np.float32)


ITEMSIZE: Mapping[str, int] = {"float32": 4, "float16": 2, "bfloat16": 2}


def overflowing(choice: Choice) -> int:
    """Return how many pasted finite numbers become infinite in ``choice.dtype``."""
    given = np.array(choice.numbers)
    return int((np.isfinite(given) & np.isinf(round_to(given, choice.dtype))).sum())
