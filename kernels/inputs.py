"""Turn a user's choice into arrays: presets, seeds, pasted numbers, and every limit on them.

Nothing is allocated before it is checked. Widgets and links are not trusted: each value is checked
for type, finiteness, range and, where it matters, being a power of two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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
) -> Case:
    """Check every field, and the products that decide memory and time, and return the Case."""
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
    if interpreted:
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


def make_arrays(choice: Choice, with_values: bool) -> dict[str, np.ndarray]:
    """Return ``x`` [n_cols] and, if asked, ``v`` [n_cols, head_dim]: float32, rounded to dtype."""
    arrays = {"x": _row(choice, choice.seed)}
    if with_values:
        arrays["v"] = _values(choice)
    return arrays


def make_matrix(case: Case, with_values: bool) -> dict[str, np.ndarray]:
    """Return ``x`` [n_rows, n_cols] and, if asked, ``v`` [n_cols, head_dim], as `make_arrays`."""
    arrays = {"x": np.stack([_row(case, case.seed + r) for r in range(case.n_rows)])}
    if with_values:
        arrays["v"] = _values(case)
    return arrays


def _values(choice: Choice | Case) -> np.ndarray:
    """Return v [n_cols, head_dim], from a stream of its own: it stays when the preset changes."""
    rng = np.random.default_rng([choice.seed, 1])
    v = np.round(rng.normal(size=(choice.n_cols, choice.head_dim)), 2)
    return round_to(v, choice.dtype)


def _row(choice: Choice | Case, seed: int) -> np.ndarray:
    """Return one row of scores: the pasted numbers, or the preset drawn from ``seed``."""
    if choice.preset == OWN_NUMBERS:
        return round_to(np.array(choice.numbers), choice.dtype)
    return round_to(preset_row(choice.preset, choice.n_cols, choice.dtype, seed), choice.dtype)


def preset_row(preset: str, n: int, dtype: str, seed: int) -> np.ndarray:
    """Return the preset's ``n`` scores, two decimals each, so that they can be checked by hand."""
    rng = np.random.default_rng(seed)
    normal = np.round(rng.normal(size=n) * 1.5, 2)
    if preset in ("rising", "falling"):
        # Strictly monotone after rounding: bfloat16 holds 1/32 steps up to 8, but not hundredths.
        # Rows too long for that keep one step, and rise or fall over a longer range.
        step = max(round(8 / n, 2), 0.02) if dtype != "bfloat16" else 1 / 32
        ramp = np.round((np.arange(n) - n // 2) * step, 5)
        return ramp if preset == "rising" else ramp[::-1]
    if preset == "outlier_last":
        normal[-1] = np.round(np.abs(normal).max() + 6, 2)
    elif preset == "ties":
        normal = rng.integers(-2, 3, size=n).astype(float)
        normal[rng.permutation(n)[: max(2, n // 6)]] = 2.0
    elif preset == "all_equal":
        normal = np.full(n, 1.25)
    elif preset == "huge":
        normal = np.round(rng.uniform(-1e4, 1e4, size=n), 0)
    elif preset == "masked_tail":
        normal[n - n // 3 :] = -np.inf
    elif preset == "all_masked":
        normal = np.full(n, -np.inf)
    return normal


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
