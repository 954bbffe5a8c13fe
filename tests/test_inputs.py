"""Every value a user can send is either used or refused in one sentence, at once."""

from __future__ import annotations

import itertools
import json
import math
import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels import inputs
from kernels.errors import InputError
from kernels.inputs import (
    DTYPES,
    MAX_BLOCK,
    MAX_COLS,
    MAX_HEAD_DIM,
    MAX_RUN_COLS,
    MAX_RUN_ROWS,
    MAX_SEED,
    PRESETS,
    Choice,
    choose,
    choose_case,
    make_arrays,
    make_matrix,
    overflowing,
    read_numbers,
    round_to,
    shorten,
)
from kernels.pasted import MAX_TEXT
from kernels.problems import check_for, choose_for
from tests.rows import ROWS

SIZES = (1, 2, 3, 5, 7, 12, 37, 64, 100, 255, 511, 512)
BLOCKS = (1, 2, 4, 8, 16, 64, 512)
SCORES = {"x": "scores"}
BOTH = {"x": "scores", "v": "values"}


def run_case(**fields):
    return choose_case(**{"with_values": True, "interpreted": True, **fields})


def row(preset: str, n: int, dtype: str = "float32", seed: int = 7) -> np.ndarray:
    return make_arrays(choose(preset, n, 4, 4, dtype, seed), SCORES)["x"]


def short_id(value) -> str:
    return value[-40:] if isinstance(value, str) else "+".join(value)


# What is refused, and in which words.

REFUSED = [
    (
        {"preset": "wild"},
        "preset must be one of " + ", ".join((*PRESETS, "own")) + ", got wild.",
    ),
    ({"preset": None}, "got nothing."),
    ({"preset": ["normal"]}, "got a list of 1."),
    ({"dtype": "float64"}, "dtype must be one of float32, float16, bfloat16, got float64."),
    ({"dtype": 16}, "got 16."),
    ({"n_cols": 0}, "N must be from 1 to 512, got 0."),
    ({"n_cols": 513}, "N must be from 1 to 512, got 513."),
    ({"n_cols": -3}, "N must be from 1 to 512, got -3."),
    ({"n_cols": 4.5}, "N must be a whole number from 1 to 512, got 4.5."),
    ({"n_cols": math.nan}, "N must be a whole number from 1 to 512, got nan."),
    ({"n_cols": math.inf}, "N must be a whole number from 1 to 512, got inf."),
    ({"n_cols": True}, "N must be a whole number from 1 to 512, got True."),
    ({"n_cols": None}, "N must be a whole number from 1 to 512, got nothing."),
    ({"n_cols": "many"}, "N must be a whole number from 1 to 512, got many."),
    ({"n_cols": {}}, "N must be a whole number from 1 to 512, got a dict of 0."),
    ({"n_cols": 10**5000}, "N must be from 1 to 512, got an integer of 16610 bits."),
    ({"block": 3}, "BLOCK_N must be a power of two from 1 to 512, got 3."),
    ({"block": 0}, "BLOCK_N must be from 1 to 512, got 0."),
    ({"block": -128}, "BLOCK_N must be from 1 to 512, got -128."),
    ({"block": 1000}, "BLOCK_N must be from 1 to 512, got 1000."),
    ({"head_dim": 17}, "head_dim must be from 1 to 16, got 17."),
    ({"seed": -1}, f"seed must be from 0 to {MAX_SEED}, got -1."),
    ({"preset": "own", "numbers": ""}, "There is no number to read: paste at least one."),
    ({"preset": "own", "numbers": " ,;\n[] "}, "There is no number to read"),
    ({"preset": "own", "numbers": None}, "The numbers must be text, got NoneType."),
    ({"preset": "own", "numbers": [1, 2]}, "The numbers must be text, got list."),
    ({"preset": "own", "numbers": "1 2 tree 4"}, "Number 3, “tree”, cannot be read as a number."),
    ({"preset": "own", "numbers": "1 0x10"}, "Number 2, “0x10”, cannot be read as a number."),
    ({"preset": "own", "numbers": "1_000"}, "Number 1, “1_000”, cannot be read as a number."),
    ({"preset": "own", "numbers": "1e99999"}, "Number 1, “1e99999”, cannot be read"),
    ({"preset": "own", "numbers": "1 " * 513}, "513 numbers were pasted; at most 512 can be"),
    (
        {"preset": "own", "numbers": "1 " * 8193},
        f"The pasted text has 16386 characters; at most {MAX_TEXT} are read.",
    ),
]


@pytest.mark.parametrize("fields, sentence", REFUSED, ids=short_id)
def test_choose_refuses_in_one_sentence(fields, sentence):
    with pytest.raises(InputError) as caught:
        choose(**fields)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 250 and str(caught.value).endswith(".")


REFUSED_CASES = [
    ({"n_rows": 0}, f"n_rows must be from 1 to {MAX_RUN_ROWS}, got 0."),
    ({"n_cols": 65_537}, f"n_cols must be from 1 to {MAX_RUN_COLS}, got 65537."),
    ({"block": 16_384}, "BLOCK_N must be from 1 to 8192, got 16384."),
    ({"num_warps": 3}, "num_warps must be a power of two from 1 to 32, got 3."),
    ({"num_warps": 64}, "num_warps must be from 1 to 32, got 64."),
    ({"head_dim": 257}, "head_dim must be from 1 to 256, got 257."),
    (
        {"n_rows": 4096, "n_cols": 65_536, "block": 8192},
        "rows × columns may be at most 4194304 here, got 268435456.",
    ),
    (
        {"n_rows": 1024, "n_cols": 4096, "block": 1},
        "rows × blocks may be at most 262144 here, got 4194304.",
    ),
    (
        {"n_rows": 1024, "n_cols": 1024, "block": 4, "head_dim": 256},
        "rows × blocks × head_dim may be at most 4194304 here, got 67108864.",
    ),
    ({"block": 8192, "head_dim": 16}, "BLOCK_N × head_dim may be at most 65536 here, got 131072."),
    (
        {"n_rows": 1024, "n_cols": 512, "block": 32},
        "rows × blocks on the CPU interpreter may be at most 8192 here, got 16384.",
    ),
]


@pytest.mark.parametrize("fields, sentence", REFUSED_CASES, ids=short_id)
def test_choose_case_refuses_in_one_sentence(fields, sentence):
    with pytest.raises(InputError) as caught:
        run_case(**fields)
    assert str(caught.value) == sentence


def test_limits_of_values_and_interpreter_apply_only_where_they_are():
    assert run_case(block=8192, head_dim=16, with_values=False).block == 8192
    assert run_case(n_rows=1024, n_cols=512, block=32, interpreted=False).n_rows == 1024


# What is accepted.


@pytest.mark.parametrize("four", [4, 4.0, "4", " 4 ", "+4", np.int64(4), np.float64(4)])
def test_four_in_any_form_is_four(four):
    choice = choose(n_cols=four, block=four, head_dim=four, seed=four)
    assert choice == Choice("normal", 4, 4, 4, "float32", 4)
    assert all(type(n) is int for n in (choice.n_cols, choice.block, choice.head_dim, choice.seed))


def test_the_ends_of_every_range_are_accepted():
    for n_cols, block, head_dim, seed in itertools.product(
        (1, MAX_COLS), (1, MAX_BLOCK), (1, MAX_HEAD_DIM), (0, MAX_SEED)
    ):
        arrays = make_arrays(choose("normal", n_cols, block, head_dim, "float32", seed), BOTH)
        assert arrays["x"].shape == (n_cols,) and arrays["v"].shape == (n_cols, head_dim)


def test_a_choice_can_be_a_key():
    assert len({choose(), choose(), choose(seed=8), choose("own", numbers="1 2")}) == 3


@pytest.mark.parametrize(
    "text, numbers",
    [
        ("1, 2;3 4\n5\t6", [1, 2, 3, 4, 5, 6]),
        ("[1.5, -2, +.5, 3.]", [1.5, -2, 0.5, 3]),
        ("1e3 -2.5E-2 1e+2", [1000, -0.025, 100]),
        ("inf -inf +Infinity -∞ ∞", [math.inf, -math.inf, math.inf, -math.inf, math.inf]),
        ("\u22121 \u2212inf", [-1, -math.inf]),  # U+2212 is what a typeset minus pastes as
        ("array([[1, 2]])"[6:], [1, 2]),
    ],
)
def test_numbers_are_read_as_people_write_them(text, numbers):
    assert list(read_numbers(text)) == numbers


def test_nan_is_read():
    (one, two) = read_numbers("nan NaN")
    assert math.isnan(one) and math.isnan(two)


@pytest.mark.parametrize("entry", ROWS.values(), ids=lambda entry: entry.name)
def test_a_row_reads_its_own_fields_and_no_other(entry):
    choice = choose_for(entry, {"n_cols": 5, "block": 1, "seq_q": "many", "mask": None})
    assert choice == Choice(n_cols=5, block=1)
    assert {name: check_for(entry, name, getattr(choice, name)) for name in entry.fields} == {
        "n_cols": 5,
        "block": 1,
        "head_dim": 4,
    }
    with pytest.raises(InputError, match="BLOCK_N must be a power of two from 1 to 512, got 3."):
        check_for(entry, "block", 3)
    with pytest.raises(InputError, match="There is no number to read"):
        check_for(entry, "numbers", "")


# Anything at all.

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(max_size=30),
    st.sampled_from([*PRESETS, *DTYPES, "own", "4", "16", "1e9", "0", "-0.0", "1" * 400]),
    st.integers(0, 600),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
NUMBER_TEXT = st.text(alphabet="0123456789.,;+-eEinfa∞−[]() \n\t\x00²٣", max_size=60)


@given(st.tuples(*[ANYTHING] * 6, ANYTHING | NUMBER_TEXT))
def test_choose_uses_or_refuses_anything(fields):
    try:
        choice = choose(*fields)
    except InputError as error:
        assert str(error) and "\n" not in str(error) and len(str(error)) < 300
        json.dumps(str(error))
    else:
        x = make_arrays(choice, BOTH)["x"]
        assert x.dtype == np.float32 and x.shape == (choice.n_cols,)


@given(st.tuples(*[ANYTHING] * 8, ANYTHING | NUMBER_TEXT), st.booleans(), st.booleans())
def test_choose_case_uses_or_refuses_anything(fields, with_values, interpreted):
    try:
        choose_case(*fields, with_values=with_values, interpreted=interpreted)
    except InputError as error:
        assert str(error) and "\n" not in str(error) and len(str(error)) < 300


@given(ANYTHING | NUMBER_TEXT)
def test_read_numbers_uses_or_refuses_anything(text):
    try:
        numbers = read_numbers(text)
    except InputError as error:
        assert len(str(error)) < 300
    else:
        assert 1 <= len(numbers) <= MAX_COLS and all(type(n) is float for n in numbers)


@pytest.mark.parametrize(
    "text",
    [
        "1" * 5_000_000,
        "a" * 5_000_000,
        " " * MAX_TEXT,
        "1" * (MAX_TEXT - 1) + "x",
        "1." + "1" * (MAX_TEXT - 3) + "x",
        "9" * MAX_TEXT,
        "," * (MAX_TEXT - 1) + "x",
        "e" * MAX_TEXT,
        "1 " * 500 + "\U0001f600",
    ],
    ids=lambda text: f"{text[:3]}…{text[-3:]}",
)
def test_hostile_text_is_answered_at_once(text):
    start = time.perf_counter()
    for field in ("numbers", "n_cols", "preset", "seed"):
        try:
            choose(**{"preset": "own" if field == "numbers" else "normal", field: text})
        except InputError as error:
            assert len(str(error)) < 300
    assert time.perf_counter() - start < 0.5


def test_hostile_values_are_named_shortly():
    for value in (10**100_000, [0] * 10**6, {i: i for i in range(10**5)}, "x\n" * 10**6, b"a" * 99):
        assert len(shorten(value)) <= 40 and "\n" not in shorten(value)


# What the presets promise.


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_rising_raises_the_max_in_every_block_of_every_size(n, dtype):
    x = row("rising", n, dtype)
    for block in BLOCKS:
        maxima = [x[i : i + block].max() for i in range(0, n, block)]
        assert all(a < b for a, b in itertools.pairwise(maxima))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_falling_never_raises_the_max(n, dtype):
    x = row("falling", n, dtype)
    assert x.argmax() == 0 and (np.diff(x) < 0).all()


@pytest.mark.parametrize("preset, sign", [("rising", 1), ("falling", -1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ramps_longer_than_can_be_watched_never_turn(preset, sign, dtype):
    x = make_matrix(choose_case(preset, 1, 65_536, 512, 4, dtype, **NO_LIMIT), SCORES)["x"][0]
    assert (sign * np.diff(x) >= 0).all() and np.isfinite(x).all()


NO_LIMIT = {"with_values": False, "interpreted": False}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(5))
def test_the_other_presets_keep_their_names(dtype, seed):
    for n in SIZES:
        last = row("outlier_last", n, dtype, seed)
        assert (last[:-1] < last[-1] - 5).all()
        assert len(set(row("all_equal", n, dtype, seed))) == 1
        assert np.isneginf(row("all_masked", n, dtype, seed)).all()
        tail = np.isneginf(row("masked_tail", n, dtype, seed))
        assert list(tail) == sorted(tail) and not tail[0] and tail.any() == (n > 2)
        for preset in ("normal", "ties", "huge", "outlier_last", "rising", "falling"):
            assert np.isfinite(row(preset, n, dtype, seed)).all()


def test_ties_tie_for_the_maximum():
    for seed, n in itertools.product(range(20), SIZES[1:]):
        x = row("ties", n, seed=seed)
        assert (x == x.max()).sum() >= 2, f"no two of {n} scores share the maximum: {x}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_huge_is_huge_and_within_the_dtype(dtype):
    x = row("huge", 512, dtype)
    assert 9000 < np.abs(x).max() <= 1e4 and np.isfinite(np.float16(x)).all()


@pytest.mark.parametrize("preset", [*PRESETS])
def test_float32_presets_can_be_checked_by_hand(preset):
    x = row(preset, 64)
    x = x[np.isfinite(x)]
    np.testing.assert_array_equal(x, np.round(x.astype(np.float64), 2).astype(np.float32))


# The same choice, the same numbers.


@pytest.mark.parametrize("preset", PRESETS)
def test_a_seed_gives_the_same_numbers_again_and_another_gives_others(preset):
    first, again, other = (make_arrays(choose(preset, 100, seed=s), BOTH) for s in (3, 3, 4))
    for name in first:
        np.testing.assert_array_equal(first[name], again[name])
    assert not np.array_equal(first["v"], other["v"])
    if preset in ("normal", "outlier_last", "ties", "huge", "masked_tail"):
        assert not np.array_equal(first["x"], other["x"])


def test_numbers_are_the_ones_that_links_were_made_with():
    """A link holds a seed, so what a seed gives must stay: these were computed once and kept."""
    x = make_arrays(choose("normal", 4, seed=7), SCORES)["x"]
    np.testing.assert_array_equal(x, np.float32([0.0, 0.45, -0.41, -1.34]))


def test_values_and_second_rows_are_the_ones_that_links_were_made_with():
    choice = choose("huge", 3, 4, 2, seed=7)
    drawn = make_arrays(choice, {"v": "values", "y": "normal"})
    np.testing.assert_array_equal(
        drawn["v"], np.float32([[0.35, -2.34], [-0.34, -0.68], [0.66, 0.05]])
    )
    np.testing.assert_array_equal(drawn["y"], np.float32([0.18, -0.51, -1.23]))


def test_values_stay_when_preset_block_or_dtype_change():
    base = make_arrays(choose("normal", 20, 4, 3, "float32", 5), BOTH)["v"]
    np.testing.assert_array_equal(base, make_arrays(choose("huge", 20, 8, 3, seed=5), BOTH)["v"])


@pytest.mark.parametrize("preset", PRESETS)
def test_row_r_of_a_matrix_is_what_watch_draws_for_seed_plus_r(preset):
    case = choose_case(preset, 5, 37, 8, 3, "float16", seed=11, **NO_LIMIT)
    draws = {**BOTH, "y": "normal", "w": "softmax"}
    arrays = make_matrix(case, draws)
    assert list(arrays) == list(draws)
    for r in range(5):
        watched = make_arrays(choose(preset, 37, 8, 3, "float16", 11 + r), draws)
        for name in ("x", "y", "w"):
            np.testing.assert_array_equal(arrays[name][r], watched[name])
    assert len({tuple(row) for row in arrays["y"]}) == 5
    watched = make_arrays(choose(preset, 37, 8, 3, "float16", 11), draws)
    np.testing.assert_array_equal(arrays["v"], watched["v"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_softmax_is_of_the_scores_and_a_second_row_of_nothing_else(preset, dtype):
    draws = {"x": "scores", "y": "softmax", "dy": "normal"}
    arrays = make_arrays(choose(preset, 37, dtype=dtype), draws)
    with np.errstate(invalid="ignore"):  # -inf - -inf
        p = np.exp(arrays["x"].astype(np.float64) - arrays["x"].max())
        np.testing.assert_array_equal(arrays["y"], round_to(p / p.sum(), dtype))
    assert np.isnan(arrays["y"]).all() == (preset == "all_masked")
    other = make_arrays(choose("ties", 37, dtype=dtype), draws)
    np.testing.assert_array_equal(arrays["dy"], other["dy"])
    assert np.isfinite(arrays["dy"]).all() and np.abs(arrays["dy"]).max() > 1


def test_a_second_row_goes_with_pasted_numbers_too():
    arrays = make_arrays(choose("own", numbers="1 2 3"), {"y": "softmax", "dy": "normal"})
    np.testing.assert_allclose(arrays["y"], [0.0900306, 0.2447285, 0.6652410], atol=5e-8)
    assert arrays["dy"].shape == (3,)


def test_pasted_numbers_run_as_one_row():
    case = choose_case("own", 9, 9, 2, 2, numbers="1 2 inf", **NO_LIMIT)
    assert (case.n_rows, case.n_cols) == (1, 3)
    np.testing.assert_array_equal(make_matrix(case, SCORES)["x"], [[1, 2, np.inf]])


# Rounding.


def ties_and_edges() -> np.ndarray:
    """Return float32 values around every kind of rounding, as well as random bits."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32)
    upper = rng.integers(0, 2**16, 5000, dtype=np.uint64).astype(np.uint32) << 16
    near_ties = np.concatenate([upper + low for low in (0x7FFF, 0x8000, 0x8001, 0, 0xFFFF)])
    special = np.float32(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.99, 65520, 3.4e38, 1e-45, -1e-45, 6e-8]
    )
    small = rng.uniform(-1e-4, 1e-4, 5000).astype(np.float32)
    return np.concatenate([bits.view(np.float32), near_ties.view(np.float32), special, small])


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_to_rounds_as_torch_does(dtype):
    torch = pytest.importorskip("torch")
    values = ties_and_edges()
    wanted = torch.from_numpy(values).to(getattr(torch, dtype)).to(torch.float32).numpy()
    got = round_to(values, dtype)
    assert got.dtype == np.float32 and got.shape == values.shape
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    kept = ~np.isnan(wanted)
    np.testing.assert_array_equal(got[kept].view(np.uint32), wanted[kept].view(np.uint32))


def test_round_to_takes_scalars_and_float64():
    assert round_to(np.float64(1 / 3), "bfloat16") == np.float32(0.333984375)
    assert round_to(1e300, "float32") == np.inf and round_to(-7e4, "float16") == -np.inf


@pytest.mark.parametrize("dtype", DTYPES)
def test_overflowing_counts_what_becomes_infinite(dtype):
    texts = "65504 65510 65519.9 65520 -65530 1e5 1e39 -1e39 3.4028235e38 3.39e38 3.4e38 inf nan 0"
    choice = choose("own", dtype=dtype, numbers=texts)
    x = make_arrays(choice, SCORES)["x"]
    became = np.isinf(x) & np.isfinite(np.array(choice.numbers))
    assert overflowing(choice) == became.sum()


@pytest.mark.parametrize("text", ["1e400", "-1e400", "9" * 400])
def test_a_number_beyond_float64_does_not_silently_become_infinite(text):
    try:
        choice = choose("own", numbers=text)
    except InputError:
        return
    assert overflowing(choice) == 1


# The exception itself.


def test_an_input_error_is_a_value_error_with_its_key_and_details():
    with pytest.raises(ValueError) as caught:
        choose(block=3)
    error = caught.value
    assert error.key == "power_of_two" and error.details["got"] == 3
    assert re.fullmatch(r"[a-z_]+", error.key)


def test_braces_in_a_value_are_shown_as_they_are():
    with pytest.raises(InputError, match=re.escape("got {got} {0} {.")):
        choose(n_cols="{got} {0} {")


def test_every_limit_is_a_plain_number():
    limits = {n: v for n, v in vars(inputs).items() if n.startswith("MAX_")}
    assert len(limits) >= 10 and all(type(v) is int and v > 0 for v in limits.values())


def test_invisible_characters_part_numbers_and_a_decimal_comma_is_asked_about():
    assert read_numbers("\ufeff1\u200b2\u20603") == (1.0, 2.0, 3.0)
    assert math.isnan(read_numbers("-nan")[0])
    with pytest.raises(InputError, match="could be one number or two"):
        read_numbers("1,5;2,5")
