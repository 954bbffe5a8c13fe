"""Choices and arrays of the algorithms that work on tiles: attention and matrix products.

As in ``inputs.py``, nothing is allocated before it is checked, and no widget or link is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kernels import inputs, presets
from kernels.algorithm import Algorithm
from kernels.errors import InputError
from kernels.inputs import (
    Case,
    Choice,
    at_most,
    one_of,
    power_of_two,
    round_to,
    whole_number,
)
from kernels.tiles import Tiles
from kernels.trace import Trace

MASKS = ("none", "causal")
_ALWAYS = ("preset", "dtype", "seed")  # read by every algorithm, beside its own fields
# -inf in q or k would make NaN of every product: masked presets are for rows, the mask is for tiles
PRESETS = ("normal", "rising", "falling", "outlier_last", "ties", "all_equal", "huge")
MAX_TILES = 256  # visited: a trace of more would take seconds to draw and megabytes to send
MAX_RUN_SCORES = 2**28  # of all heads: what float64 checks in a few seconds
MAX_RUN_VALUES = 2**24  # of one tensor
MAX_INTERPRETED_TILES = 4096  # at 3 to 5 ms a tile, about 20 s


@dataclass(frozen=True)
class Field:
    """One number or word that a user chooses: its name in sentences, and its limits.

    ``watch`` and ``run`` are (low, high) for the two tabs. ``kind`` is ``whole``, ``power`` of two,
    or ``mask``.
    """

    label: str
    kind: str
    watch: tuple[int, int]
    run: tuple[int, int]


FIELDS: Mapping[str, Field] = {
    "batch": Field("batch", "whole", (1, 1), (1, 64)),
    "heads": Field("heads", "whole", (1, 1), (1, 256)),
    "kv_heads": Field("kv_heads", "whole", (1, 1), (1, 256)),
    "seq_q": Field("seq_q", "whole", (1, 128), (1, 16_384)),
    "seq_k": Field("seq_k", "whole", (1, 128), (1, 65_536)),
    "head_dim": Field("head_dim", "whole", (1, 16), (1, 256)),
    "size_m": Field("M", "whole", (1, 64), (1, 8192)),
    "size_n": Field("N", "whole", (1, 64), (1, 8192)),
    "size_k": Field("K", "whole", (1, 64), (1, 8192)),
    "block_m": Field("BLOCK_M", "power", (4, 128), (16, 256)),
    "block": Field("BLOCK_N", "power", (4, 128), (16, 256)),
    "block_k": Field("BLOCK_K", "power", (4, 64), (16, 256)),
    "group_m": Field("GROUP_M", "whole", (1, 16), (1, 64)),
    "n_splits": Field("splits", "whole", (1, 16), (1, 128)),
    "mask": Field("mask", "mask", (0, 1), (0, 1)),
}


# What decides how many tiles there are.
COUNTED = ("seq_q", "seq_k", "size_m", "size_n", "size_k", "block_m", "block", "block_k")


def check_watched(name: str, value: object) -> object:
    """Return one field of what is to be watched, or raise InputError."""
    if name == "preset":
        return one_of("preset", value, PRESETS)
    if name == "dtype":
        return one_of("dtype", value, inputs.DTYPES)
    if name == "seed":
        return whole_number("seed", value, 0, inputs.MAX_SEED)
    return _within(FIELDS[name], value, FIELDS[name].watch)


def _within(field: Field, value: object, limits: tuple[int, int]) -> object:
    """Return a field's value if it is what the field takes, or raise InputError."""
    low, high = limits
    if field.kind == "mask":
        return one_of(field.label, value, MASKS)
    if field.kind == "power":
        return power_of_two(field.label, value, high, low)
    return whole_number(field.label, value, low, high)


def choose_tiles(entry: Algorithm, given: Mapping[str, object]) -> Choice:
    """Check ``given`` for what ``entry`` reads and return the Choice to watch.

    Raise InputError, one sentence, at the first fault.
    """
    kept = {}
    for name in (*_ALWAYS, *entry.fields):
        default = entry.defaults.get(name, Choice.__dataclass_fields__[name].default)
        kept[name] = check_watched(name, given.get(name, default))
    choice = Choice(**kept)
    at_most("tiles", _n_tiles(entry, choice), MAX_TILES)
    return choice


def choose_tile_case(entry: Algorithm, given: Mapping[str, object], *, interpreted: bool) -> Case:
    """Check ``given`` for what ``entry`` reads and return the Case to run.

    Raise InputError, one sentence, at the first fault.
    """
    kept = {name: check_watched(name, given[name]) for name in _ALWAYS if name in given}
    kept["num_warps"] = power_of_two("num_warps", given.get("num_warps", 4), 16)
    kept["num_stages"] = whole_number("num_stages", given.get("num_stages", 2), 1, 6)
    batched = ("batch", "heads", "kv_heads") if entry.problem == "attention" else ()
    for name in (*batched, *entry.fields):
        value = given[name] if name in given else _run_default(entry, name)
        kept[name] = _within(FIELDS[name], value, FIELDS[name].run)
    case = Case(**kept)
    if case.heads % case.kv_heads:
        raise InputError(
            "kv_heads",
            "heads must be a multiple of kv_heads, got {heads} and {kv_heads}.",
            heads=case.heads,
            kv_heads=case.kv_heads,
        )
    _check_run_size(entry, case, interpreted)
    return case


def _run_default(entry: Algorithm, name: str) -> object:
    """Return where a case starts: as a watched choice, but in no smaller blocks than can run."""
    default = entry.defaults.get(name, Case.__dataclass_fields__[name].default)
    return max(default, FIELDS[name].run[0]) if isinstance(default, int) else default


def _check_run_size(entry: Algorithm, case: Case, interpreted: bool) -> None:
    """Raise InputError if a case would take too much memory or time to check."""
    if entry.problem == "attention":
        heads = case.batch * case.heads
        at_most("batch × heads × seq_q × seq_k", heads * case.seq_q * case.seq_k, MAX_RUN_SCORES)
        longest = max(case.seq_q, case.seq_k)
        values = heads * longest * case.head_dim
        at_most("batch × heads × length × head_dim", values, MAX_RUN_VALUES)
        n_tiles = heads * _n_tiles(entry, case)
    else:
        largest = max(case.size_m * case.size_n, case.size_m * case.size_k)
        at_most("elements of a matrix", max(largest, case.size_k * case.size_n), MAX_RUN_VALUES)
        n_tiles = _n_tiles(entry, case)
    if interpreted:
        at_most("tiles on the CPU interpreter", n_tiles, MAX_INTERPRETED_TILES)


def _n_tiles(entry: Algorithm, choice: Choice | Case) -> int:
    """Return how many tiles one head visits if nothing is skipped, over all passes."""
    passes = _passes_over_tiles(entry.trace, entry.problem)
    if entry.problem == "attention":
        tiles = -(-choice.seq_q // choice.block_m) * -(-choice.seq_k // choice.block)
        return passes * tiles
    tiles = -(-choice.size_m // choice.block_m) * -(-choice.size_n // choice.block)
    return passes * tiles * -(-choice.size_k // choice.block_k)


@lru_cache
def _passes_over_tiles(trace: Callable[..., Trace], problem: str) -> int:
    """Return how many passes of an algorithm visit tiles, as its mirror does on a single tile."""
    one = Choice(seq_q=1, seq_k=1, head_dim=1, size_m=1, size_n=1, size_k=1)
    arrays = attention_arrays(one) if problem == "attention" else matmul_arrays(one)
    steps = trace(arrays, Tiles(), one.dtype).steps
    return len({step.pass_index for step in steps if step.tile is not None})


def tiles_of(entry: Algorithm, choice: Choice | Case) -> Tiles:
    """Return the schedule of a choice."""
    names = [name for name in entry.fields if name in ("block_m", "block_k", "group_m", "n_splits")]
    return Tiles(
        **{name: getattr(choice, name) for name in names},
        block_n=choice.block,
        is_causal="mask" in entry.fields and choice.mask == "causal",
    )


def attention_arrays(choice: Choice | Case) -> dict[str, np.ndarray]:
    """Return q, k, v and do of one head, or of [batch, heads]: float32, rounded to dtype.

    q and do are [seq_q, head_dim], k and v [seq_k, head_dim]; a Case's have batch and heads before
    that. The preset shapes the scores: scale * q k^T is about one row of the preset for every
    query.
    """
    if isinstance(choice, Case):
        over_q, over_k = (choice.batch, choice.heads), (choice.batch, choice.kv_heads)
    else:
        over_q = over_k = ()
    d = choice.head_dim
    draw = _drawer(choice)
    q = draw(*over_q, choice.seq_q, d)
    k = draw(*over_k, choice.seq_k, d)
    v = draw(*over_k, choice.seq_k, d)
    do = draw(*over_q, choice.seq_q, d)
    if choice.preset == "all_equal":
        q = np.zeros_like(q)
    elif choice.preset != "normal":
        row = presets.preset_row(choice.preset, choice.seq_k, choice.dtype, choice.seed)
        # Small beside a ramp's steps, so that a preset keeps its promise for every query. A tie
        # would survive nothing.
        spread = 0.0 if choice.preset == "ties" else 0.1
        q, k = q * spread, k * spread
        q[..., 0] = np.round(np.sqrt(d), 2)
        k[..., 0] = row
    arrays = {"q": q, "k": k, "v": v, "do": do}
    return {name: round_to(array, choice.dtype) for name, array in arrays.items()}


def matmul_arrays(choice: Choice | Case) -> dict[str, np.ndarray]:
    """Return a [M, K] and b [K, N]: float32, rounded to dtype."""
    draw = _drawer(choice)
    a, b = draw(choice.size_m, choice.size_k), draw(choice.size_k, choice.size_n)
    if choice.preset == "all_equal":
        a, b = np.full_like(a, 1.25), np.full_like(b, 1.25)
    elif choice.preset != "normal":
        a[:] = presets.preset_row(choice.preset, choice.size_k, choice.dtype, choice.seed)
    return {"a": round_to(a, choice.dtype), "b": round_to(b, choice.dtype)}


def _drawer(choice: Choice | Case) -> Callable[..., np.ndarray]:
    """Return a function that draws normal numbers of two decimals in any shape."""
    rng = np.random.default_rng([choice.seed, 2])
    return lambda *shape: np.round(rng.normal(size=shape), 2)
