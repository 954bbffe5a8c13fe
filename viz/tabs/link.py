"""The Watch state in the address: read with distrust, written so that a link is an exact step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import OWN_NUMBERS, one_of, whole_number
from viz.locales import LANGUAGES
from viz.tabs.watch_state import WatchState, entries_of, rivals, settle

# Query parameter -> field of a Choice. Links out in the world use these names: they stay.
PARAMETERS = {
    "preset": "preset",
    "n": "n_cols",
    "sq": "seq_q",
    "sk": "seq_k",
    "rows": "size_m",
    "cols": "size_n",
    "inner": "size_k",
    "bm": "block_m",
    "block": "block",
    "bk": "block_k",
    "group": "group_m",
    "d": "head_dim",
    "mask": "mask",
    "splits": "n_splits",
    "dtype": "dtype",
    "seed": "seed",
    "x": "numbers",
}
EVERY = ("algo", *PARAMETERS, "with", "lang")  # what an address may hold of ours, beside the step
MAX_STEP = 100_000  # no trace is longer; the player clamps to the trace it has
MAX_FIELD = 20_000  # characters of one query parameter that are looked at


def write_link(state: WatchState) -> dict[str, str]:
    """Return the query parameters of ``state``; the player adds the step it is at."""
    choice = state.choice
    unread = "n_cols" if choice.preset == OWN_NUMBERS else "numbers"
    read = {name for name in state.reads if name != unread}
    link = {"algo": state.algorithm}
    for parameter, name in PARAMETERS.items():
        if name in read:
            value = getattr(choice, name)
            link[parameter] = ",".join(map(spell, value)) if name == "numbers" else str(value)
    if state.compare:
        link["with"] = state.compare
    link["lang"] = state.language
    return link


def spell(x: float) -> str:
    """Return the shortest text that reads back as ``x``: 1.5, -3, inf, nan."""
    return repr(x).removesuffix(".0")


def read_link(
    params: Mapping[str, str], default: WatchState
) -> tuple[WatchState, list[InputError]]:
    """Return the state a link asks for, and one error for each field that had to be dropped.

    A field that is missing or wrong starts where the algorithm does; the others still count.
    """
    errors: list[InputError] = []
    state = default

    def attempt(change) -> None:
        nonlocal state
        try:
            state = change(state)
        except InputError as error:
            errors.append(error)

    asked = {name: value[:MAX_FIELD] for name, value in params.items()}
    if "lang" in asked:
        attempt(lambda s: replace(s, language=one_of("lang", asked["lang"], LANGUAGES)))
    if "algo" in asked:
        attempt(lambda s: replace(s, algorithm=one_of("algo", asked["algo"], tuple(ALGORITHMS))))
    if "with" in asked and asked["with"] != state.algorithm:
        same = (state.algorithm, *rivals(ALGORITHMS[state.algorithm]))
        attempt(lambda s: replace(s, compare=one_of("with", asked["with"], same)))
    if "step" in asked:
        attempt(lambda s: replace(s, step=whole_number("step", asked["step"], 0, MAX_STEP)))
    given = {PARAMETERS[name]: asked[name] for name in PARAMETERS.keys() & asked.keys()}
    choice, faults = settle(entries_of(state.algorithm, state.compare), given)
    return replace(state, choice=choice), [*errors, *faults]
