"""A link is an exact step, and is never trusted."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import DTYPES
from kernels.problems import presets_for
from kernels.tile_inputs import FIELDS, MASKS
from viz.tabs.link import EVERY, PARAMETERS, read_link, write_link
from viz.tabs.watch_state import START, WatchState, check, entries_of, rivals, start_of

ROW_LIMITS = {"n_cols": (1, 512), "block": (1, 512), "head_dim": (1, 16)}
numbers = st.lists(st.floats(width=32), min_size=1, max_size=40)


def field(entry, name: str) -> st.SearchStrategy:
    """Return what a field of ``entry`` can be when watched."""
    if name == "mask":
        return st.sampled_from(MASKS)
    low, high = ROW_LIMITS[name] if entry.problem == "row" else FIELDS[name].watch
    if "block" in name:
        return st.sampled_from([2**k for k in range(10) if low <= 2**k <= high])
    return st.integers(low, high)


@st.composite
def states(draw, algorithm: str) -> WatchState:
    """Draw a state that the controls can be in; too many tiles become fewer, larger ones."""
    entry = ALGORITHMS[algorithm]
    compare = draw(st.none() | st.sampled_from(rivals(entry) or (None,)))
    asked = {"algorithm": algorithm, "compare": compare}
    asked["preset"] = draw(st.sampled_from(presets_for(entry)))
    asked["dtype"] = draw(st.sampled_from(DTYPES))
    asked["seed"] = draw(st.integers(0, 2**31 - 1))
    asked["numbers"] = " ".join(map(repr, draw(numbers)))
    for shown in entries_of(algorithm, compare):
        asked |= {name: draw(field(shown, name)) for name in shown.fields if name not in asked}
    state = WatchState()
    try:
        state = check("en", asked)
    except InputError:
        largest = {n: FIELDS[n].watch[1] for n in asked if "block" in n}
        state = check("en", asked | largest)
    language = draw(st.sampled_from(["en", "zh"]))
    return replace(state, language=language, step=draw(st.integers(0, 3000)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=30)
@given(data=st.data())
def test_a_link_brings_back_the_state_and_the_step(algorithm, data):
    state = data.draw(states(algorithm))
    link = {**write_link(state), "step": str(state.step)}
    back, errors = read_link(link, WatchState())
    assert errors == []
    assert repr(back) == repr(state)  # by repr, since NaN is not equal to itself


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_link_holds_the_fields_that_are_read_and_no_other(algorithm):
    entry = ALGORITHMS[algorithm]
    state, errors = read_link({"algo": algorithm}, WatchState())
    assert not errors and all(
        getattr(state.choice, name) == start_of(entry, name) for name in entry.fields
    )
    named = {PARAMETERS[name] for name in write_link(state) if name in PARAMETERS}
    assert named == {"preset", "dtype", "seed", *entry.fields}
    assert set(write_link(state)) <= set(EVERY) and set(PARAMETERS.values()) == {
        name for name in START.__dataclass_fields__
    }


def test_links_that_were_made_before_there_were_tiles_still_open_the_same():
    old = (
        "algo=safe_softmax preset=rising n=48 block=8 d=2 dtype=float16 seed=3 with=online_softmax"
    )
    link = dict(pair.split("=") for pair in old.split()) | {"lang": "zh", "step": "17"}
    state, errors = read_link(link, WatchState())
    choice = replace(
        START, preset="rising", n_cols=48, block=8, head_dim=2, dtype="float16", seed=3
    )
    assert not errors
    assert state == WatchState("safe_softmax", choice, "online_softmax", "zh", 17)
    assert read_link({}, WatchState()) == (WatchState(), []) and START.seed == 1415


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=60), max_size=9))
def test_any_query_gives_a_valid_state(params):
    state, _ = read_link(params, WatchState())
    assert state.algorithm in ALGORITHMS


ODD = st.sampled_from(["", "nan", "-1", "1e9", "9" * 400, "128", "4", "1", "own", "causal", "“"])


@given(
    st.sampled_from([*ALGORITHMS, "flash", ""]),
    st.dictionaries(st.sampled_from([*EVERY, "step"]), ODD | st.text(max_size=9)),
)
def test_any_value_of_our_own_parameters_gives_a_state_that_controls_can_hold(algorithm, params):
    state, errors = read_link({**params, "algo": algorithm}, WatchState())
    assert all(str(error) for error in errors)
    again, faults = read_link(write_link(state), WatchState())
    assert not faults and repr(again.choice) == repr(state.choice)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("algo", "flash"),
        ("preset", "<script>"),
        ("n", "0"),
        ("n", "513"),
        ("n", "nan"),
        ("n", "1e9"),
        ("block", "3"),
        ("d", "-1"),
        ("dtype", "float64"),
        ("seed", "9" * 400),
        ("step", "-1"),
        ("with", "nothing"),
        ("with", "matmul"),
        ("lang", "de"),
    ],
)
def test_a_wrong_field_is_named_and_dropped_and_the_others_count(name, value):
    good = {"algo": "safe_softmax", "n": "48", "seed": "3", "step": "5"}
    state, errors = read_link({**good, name: value}, WatchState())
    assert len(errors) == 1
    kept = {"algo": state.algorithm, "n": str(state.choice.n_cols), "seed": str(state.choice.seed)}
    kept["step"] = str(state.step)
    assert {k: v for k, v in kept.items() if k != name} == {
        k: v for k, v in good.items() if k != name
    }


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"sq": "129"}, "seq_q must be from 1 to 128, got 129."),
        ({"sk": "0"}, "seq_k must be from 1 to 128, got 0."),
        ({"bm": "2"}, "BLOCK_M must be from 4 to 128, got 2."),
        ({"bm": "12"}, "BLOCK_M must be a power of two from 4 to 128, got 12."),
        ({"block": "1"}, "BLOCK_N must be from 4 to 128, got 1."),
        ({"splits": "17"}, "splits must be from 1 to 16, got 17."),
        ({"mask": "window"}, "mask must be one of none, causal, got window."),
        ({"d": "17"}, "head_dim must be from 1 to 16, got 17."),
        ({"preset": "own", "x": "1,2"}, "preset must be one of normal, rising, falling"),
        ({"preset": "masked_tail"}, "preset must be one of normal, rising, falling"),
        ({"with": "online_softmax"}, "with must be one of split_kv, flash_attention"),
        # All are possible alone; together they are too many tiles.
        ({"sq": "64", "sk": "128", "bm": "4", "block": "4"}, "tiles may be at most 256 here, got"),
    ],
)
def test_a_wrong_field_of_an_attention_falls_back_in_one_sentence(params, said):
    good = {"algo": "split_kv", "mask": "causal", "d": "5", "seed": "3"}
    state, errors = read_link({**good, **params}, WatchState())
    assert len(errors) == 1 and said in str(errors[0])
    entry, right = ALGORITHMS["split_kv"], read_link(good, WatchState())[0].choice
    changed = {
        PARAMETERS[name]: start_of(entry, PARAMETERS[name]) for name in params if name in PARAMETERS
    }
    assert state == WatchState("split_kv", replace(right, **changed | {"numbers": ()}))


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"rows": "65"}, "M must be from 1 to 64, got 65."),
        ({"cols": "1e3"}, "N must be a whole number from 1 to 64, got 1e3."),
        ({"inner": "-4"}, "K must be from 1 to 64, got -4."),
        ({"bk": "128"}, "BLOCK_K must be from 4 to 64, got 128."),
        ({"group": "0"}, "GROUP_M must be from 1 to 16, got 0."),
        ({"with": "flash_attention"}, "with must be one of matmul, got flash_attention."),
        ({"rows": "64", "cols": "64", "bm": "4", "block": "4"}, "tiles may be at most 256 here"),
    ],
)
def test_a_wrong_field_of_a_product_falls_back_in_one_sentence(params, said):
    state, errors = read_link({"algo": "matmul", "seed": "3", **params}, WatchState())
    assert len(errors) == 1 and said in str(errors[0])
    entry = ALGORITHMS["matmul"]
    starts = {name: start_of(entry, name) for name in entry.fields}
    assert state == WatchState("matmul", replace(START, seed=3, **starts))


def test_parameters_of_another_problem_are_no_concern():
    state, errors = read_link({"algo": "matmul", "n": "9999", "x": "two", "sq": "0"}, WatchState())
    assert (state, errors) == read_link({"algo": "matmul"}, WatchState())


def test_own_numbers_travel_and_unreadable_ones_are_named():
    state, errors = read_link({"preset": "own", "x": "1.5, -inf nan"}, WatchState())
    assert not errors and state.choice.n_cols == 3
    assert state.choice.numbers[:2] == (1.5, -math.inf) and math.isnan(state.choice.numbers[2])
    state, errors = read_link({"preset": "own", "x": "1.5, two", "block": "8"}, WatchState())
    assert "“two”" in str(errors[0]) and len(errors) == 1
    assert state.choice == replace(WatchState().choice, block=8)
    state, errors = read_link({"preset": "own"}, WatchState())
    assert len(errors) == 1 and state.choice == WatchState().choice


def test_a_huge_query_is_cut_before_it_is_read():
    state, errors = read_link({"preset": "own", "x": "1 " * 5_000_000}, WatchState())
    assert len(errors) == 1 and state.choice == WatchState().choice
