"""Attention and matrix products take what a user can send, or refuse it in one sentence."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import DTYPES, Case, Choice, round_to
from kernels.presets import preset_row
from kernels.problems import arrays_for, check_for, choose_for, read_by, trace_for
from kernels.tile_inputs import (
    COUNTED,
    FIELDS,
    MAX_RUN_VALUES,
    MAX_TILES,
    PRESETS,
    attention_arrays,
    choose_tile_case,
    matmul_arrays,
)
from tests.test_inputs import ANYTHING

ATTENTION, SPLIT, PRODUCT = (ALGORITHMS[n] for n in ("flash_attention", "split_kv", "matmul"))
TILED = [entry for entry in ALGORITHMS.values() if entry.problem != "row"]
each = pytest.mark.parametrize("entry", TILED, ids=lambda entry: entry.name)

HOSTILE = [None, True, math.nan, math.inf, -1, 0, 4.5, 10**5000, "", "many", [4], {}, "1" * 10**6]


def short_id(value) -> str | None:
    return value.name if hasattr(value, "name") else None


# What is refused, and in which words.

REFUSED = [
    (ATTENTION, {"seq_q": 129}, "seq_q must be from 1 to 128, got 129."),
    (ATTENTION, {"seq_k": 0}, "seq_k must be from 1 to 128, got 0."),
    (ATTENTION, {"seq_k": None}, "seq_k must be a whole number from 1 to 128, got nothing."),
    (ATTENTION, {"head_dim": 17}, "head_dim must be from 1 to 16, got 17."),
    (ATTENTION, {"block_m": 2}, "BLOCK_M must be from 4 to 128, got 2."),
    (ATTENTION, {"block": 24}, "BLOCK_N must be a power of two from 4 to 128, got 24."),
    (ATTENTION, {"mask": "window"}, "mask must be one of none, causal, got window."),
    (ATTENTION, {"mask": True}, "mask must be one of none, causal, got True."),
    (ATTENTION, {"preset": "own"}, "preset must be one of " + ", ".join(PRESETS) + ", got own."),
    (
        ATTENTION,
        {"dtype": "float64"},
        "dtype must be one of float32, float16, bfloat16, got float64.",
    ),
    (ATTENTION, {"seed": 2**31}, "seed must be from 0 to 2147483647, got 2147483648."),
    (
        ATTENTION,
        {"seq_q": 128, "seq_k": 128, "block_m": 4, "block": 4},
        "tiles may be at most 256 here, got 1024.",
    ),
    (SPLIT, {"n_splits": 17}, "splits must be from 1 to 16, got 17."),
    (PRODUCT, {"size_m": 65}, "M must be from 1 to 64, got 65."),
    (PRODUCT, {"size_n": "64.5"}, "N must be a whole number from 1 to 64, got 64.5."),
    (PRODUCT, {"size_k": -1}, "K must be from 1 to 64, got -1."),
    (PRODUCT, {"block_k": 128}, "BLOCK_K must be from 4 to 64, got 128."),
    (PRODUCT, {"group_m": 0}, "GROUP_M must be from 1 to 16, got 0."),
    (
        PRODUCT,
        {"size_m": 64, "size_n": 64, "size_k": 64, "block_m": 4, "block": 4, "block_k": 4},
        "tiles may be at most 256 here, got 4096.",
    ),
]


@pytest.mark.parametrize("entry, fields, sentence", REFUSED, ids=short_id)
def test_what_cannot_be_watched_is_refused_in_one_sentence(entry, fields, sentence):
    with pytest.raises(InputError) as caught:
        choose_for(entry, fields)
    assert str(caught.value) == sentence


LARGE = {"batch": 64, "heads": 256, "kv_heads": 256}
REFUSED_CASES = [
    (ATTENTION, {"head_dim": 257}, "head_dim must be from 1 to 256, got 257."),
    (ATTENTION, {"batch": 0}, "batch must be from 1 to 64, got 0."),
    (ATTENTION, {"heads": 4, "kv_heads": 3}, "heads must be a multiple of kv_heads, got 4 and 3."),
    (ATTENTION, {"heads": 2, "kv_heads": 4}, "heads must be a multiple of kv_heads, got 2 and 4."),
    (ATTENTION, {"block": 8}, "BLOCK_N must be from 16 to 256, got 8."),
    (ATTENTION, {"seq_q": 16_385}, "seq_q must be from 1 to 16384, got 16385."),
    (ATTENTION, {"num_warps": 32}, "num_warps must be from 1 to 16, got 32."),
    (ATTENTION, {"num_warps": 3}, "num_warps must be a power of two from 1 to 16, got 3."),
    (ATTENTION, {"num_stages": 7}, "num_stages must be from 1 to 6, got 7."),
    (
        ATTENTION,
        {**LARGE, "seq_q": 16_384, "seq_k": 65_536},
        "batch × heads × seq_q × seq_k may be at most 268435456 here, got 17592186044416.",
    ),
    (
        ATTENTION,
        {"heads": 64, "seq_q": 16, "seq_k": 16_384, "head_dim": 64},
        "batch × heads × length × head_dim may be at most 16777216 here, got 67108864.",
    ),
    (SPLIT, {"n_splits": 129}, "splits must be from 1 to 128, got 129."),
    (PRODUCT, {"size_k": 8193}, "K must be from 1 to 8192, got 8193."),
    (
        PRODUCT,
        {"size_m": 8192, "size_n": 16, "size_k": 8192},
        "elements of a matrix may be at most 16777216 here, got 67108864.",
    ),
    (
        PRODUCT,
        {"size_m": 1024, "size_n": 1024, "size_k": 1024, "block": 16},
        "tiles on the CPU interpreter may be at most 4096 here, got 262144.",
    ),
]


@pytest.mark.parametrize("entry, fields, sentence", REFUSED_CASES, ids=short_id)
def test_what_cannot_be_run_is_refused_in_one_sentence_before_anything_is_made(
    entry, fields, sentence
):
    tracemalloc.start()
    with pytest.raises(InputError) as caught:
        choose_tile_case(entry, fields, interpreted=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(caught.value) == sentence
    assert peak < 100_000


def test_the_interpreters_limit_is_the_interpreters_alone():
    fields = {"size_m": 1024, "size_n": 1024, "size_k": 1024, "block": 16}
    assert choose_tile_case(PRODUCT, fields, interpreted=False).size_k == 1024


@each
def test_every_single_hostile_value_is_refused_in_every_field(entry):
    for name, value in itertools.product(read_by(entry), HOSTILE):
        if name == "seed" and value == 0:
            continue
        for refuse in (
            lambda n, v: check_for(entry, n, v),
            lambda n, v: choose_for(entry, {n: v}),
            lambda n, v: choose_tile_case(entry, {n: v}, interpreted=True),
        ):
            with pytest.raises(InputError) as caught:
                refuse(name, value)
            assert len(str(caught.value)) < 200 and str(caught.value).endswith(".")


# What is accepted.


@each
def test_an_algorithm_starts_with_what_can_be_watched_and_run(entry):
    choice = choose_for(entry, {})
    for name in entry.fields:
        assert getattr(choice, name) == entry.defaults.get(name, getattr(Choice(), name))
    case = choose_tile_case(entry, {}, interpreted=True)
    assert min(getattr(case, name) for name in entry.fields if "block" in name) >= 16
    assert all(getattr(case, name) == getattr(choice, name) for name in ("dtype", "seed"))


@each
def test_the_ends_of_every_range_are_accepted(entry):
    largest = {name: FIELDS[name].watch[1] for name in entry.fields if "block" in name}
    for name in entry.fields:
        for value in () if name == "mask" else FIELDS[name].watch:
            assert getattr(choose_for(entry, {**largest, name: str(value)}), name) == value
            assert check_for(entry, name, float(value)) == value


@each
@settings(max_examples=30)
@given(
    st.dictionaries(st.sampled_from([*Case.__dataclass_fields__]), ANYTHING | st.integers(1, 64))
)
def test_anything_is_used_or_refused(entry, fields):
    for choose in (choose_for, lambda e, f: choose_tile_case(e, f, interpreted=True)):
        try:
            choice = choose(entry, fields)
        except InputError as error:
            assert len(str(error)) < 300 and "\n" not in str(error)
        else:
            assert hash(choice) is not None
            assert all(a.size <= MAX_RUN_VALUES for a in arrays_for(entry, choice).values())


def n_tiles(entry, **fields) -> int:
    """Return how many tiles are counted for these fields and defaults."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernels.tile_inputs.MAX_TILES", 0)
        with pytest.raises(InputError, match="tiles may be at most 0 here") as caught:
            choose_for(entry, fields)
    return caught.value.details["got"]


@each
def test_the_tiles_that_are_counted_are_those_that_the_mirror_visits(entry):
    steps = trace_for(entry, choose_for(entry, {"mask": "none"})).steps
    visits = {(s.pass_index, s.program, s.block) for s in steps if s.tile and s.block is not None}
    assert n_tiles(entry, mask="none") == len(visits) <= MAX_TILES
    sizes = {name: 64 for name in COUNTED if "block" not in name}
    for name in entry.fields:
        ends = ("none", "causal") if name == "mask" else FIELDS[name].watch
        counts = {n_tiles(entry, **sizes | {name: value}) for value in ends}
        assert (len(counts) == 2) == (name in COUNTED), name


# What the arrays promise.


def scores_of(choice) -> np.ndarray:
    arrays = {name: a.astype(np.float64) for name, a in attention_arrays(choice).items()}
    return arrays["q"] @ arrays["k"].T / np.sqrt(choice.head_dim)


SIZES = [(128, 128, 16, 4), (64, 64, 16, 8), (5, 37, 1, 4), (1, 100, 3, 16)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seq_q, seq_k, head_dim, block", SIZES)
def test_ramps_rise_in_every_block_of_every_query_or_in_none(seq_q, seq_k, head_dim, block, dtype):
    sizes = {"seq_q": seq_q, "seq_k": seq_k, "head_dim": head_dim, "dtype": dtype}
    rising = scores_of(Choice(preset="rising", **sizes))
    maxima = [rising[:, i : i + block].max(axis=1) for i in range(0, seq_k, block)]
    assert all((a < b).all() for a, b in itertools.pairwise(maxima))
    falling = scores_of(Choice(preset="falling", **sizes))
    assert (falling[:, :block].max(axis=1) == falling.max(axis=1)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_other_presets_keep_their_names_for_every_query(dtype):
    def scores(preset):
        return scores_of(Choice(preset=preset, head_dim=16, dtype=dtype))

    assert (scores("all_equal") == 0).all()
    assert (scores("outlier_last").argmax(axis=1) == 63).all()
    ties = scores("ties")
    assert ((ties == ties.max(axis=1, keepdims=True)).sum(axis=1) >= 2).all()
    assert np.abs(scores("huge")).max() > 5000 and np.isfinite(scores("huge")).all()
    assert scores("normal").std() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("preset", PRESETS)
def test_arrays_have_their_shapes_are_rounded_and_come_back_with_their_seed(preset, dtype):
    one = Choice(preset=preset, dtype=dtype, seq_q=3, seq_k=5, head_dim=2, size_m=3, size_k=4)
    case = Case(preset, dtype=dtype, batch=2, heads=4, kv_heads=2, seq_q=3, seq_k=5, head_dim=2)
    for make, choice, shapes in (
        (attention_arrays, one, {"q": (3, 2), "k": (5, 2), "v": (5, 2), "do": (3, 2)}),
        (attention_arrays, case, {"q": (2, 4, 3, 2), "k": (2, 2, 5, 2), "do": (2, 4, 3, 2)}),
        (matmul_arrays, one, {"a": (3, 4), "b": (4, 32)}),
    ):
        arrays = make(choice)
        assert {name: arrays[name].shape for name in shapes} == shapes
        for name, again in make(choice).items():
            np.testing.assert_array_equal(arrays[name], again)
            np.testing.assert_array_equal(arrays[name], round_to(again, dtype))
            assert again.dtype == np.float32
    if preset == "rising":
        wanted = round_to(preset_row("rising", 4, dtype, 7), dtype)
        np.testing.assert_array_equal(matmul_arrays(one)["a"], np.tile(wanted, (3, 1)))
