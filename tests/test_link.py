"""A link is an exact step, and is never trusted."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.inputs import DTYPES, PRESETS, Choice
from viz.tabs.link import WatchState, read_link, write_link

numbers = st.lists(st.floats(width=32), min_size=1, max_size=40).map(tuple)
presets = st.builds(
    Choice,
    preset=st.sampled_from(PRESETS),
    n_cols=st.integers(1, 512),
    block=st.sampled_from([1, 2, 64, 512]),
    head_dim=st.integers(1, 16),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 2**31 - 1),
)
own = numbers.map(lambda xs: Choice(preset="own", n_cols=len(xs), numbers=xs))
states = st.builds(
    WatchState,
    algorithm=st.sampled_from(list(ALGORITHMS)),
    choice=presets | own,
    compare=st.none() | st.sampled_from(list(ALGORITHMS)),
    language=st.sampled_from(["en", "zh"]),
    step=st.integers(0, 3000),
)


@given(states)
def test_a_link_brings_back_the_state_and_the_step(state):
    link = {**write_link(state), "step": str(state.step)}
    back, errors = read_link(link, WatchState())
    assert errors == []
    assert repr(back) == repr(state)  # by repr, since NaN is not equal to itself


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=60), max_size=9))
def test_any_query_gives_a_valid_state(params):
    state, _ = read_link(params, WatchState())
    assert state.algorithm in ALGORITHMS


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
