"""The Watch state in the address: read with distrust, written so that a link is an exact step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import OWN_NUMBERS, Choice, choose, one_of, whole_number
from viz.locales import LANGUAGES

# Query parameter -> argument of `kernels.inputs.choose`.
FIELDS = {
    "preset": "preset",
    "n": "n_cols",
    "block": "block",
    "d": "head_dim",
    "dtype": "dtype",
    "seed": "seed",
    "x": "numbers",
}
MAX_STEP = 100_000  # no trace is longer; the player clamps to the trace it has
MAX_FIELD = 20_000  # characters of one query parameter that are looked at


@dataclass(frozen=True)
class WatchState:
    """Everything that decides what Watch shows."""

    algorithm: str = next(iter(ALGORITHMS))
    choice: Choice = Choice(seed=1415)  # a row whose maximum rises twice, in blocks 2 and 5
    compare: str | None = None
    language: str = "en"
    step: int = 0


def write_link(state: WatchState) -> dict[str, str]:
    """Return the query parameters of ``state``; the player adds the step it is at."""
    choice = state.choice
    link = {"algo": state.algorithm, "preset": choice.preset}
    if choice.preset == OWN_NUMBERS:
        link["x"] = ",".join(spell(x) for x in choice.numbers)
    else:
        link["n"] = str(choice.n_cols)
    link |= {
        "block": str(choice.block),
        "d": str(choice.head_dim),
        "dtype": choice.dtype,
        "seed": str(choice.seed),
    }
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

    A field that is missing or wrong keeps the default's value; the others still count.
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
    if "with" in asked:
        attempt(lambda s: replace(s, compare=one_of("with", asked["with"], tuple(ALGORITHMS))))
    if "step" in asked:
        attempt(lambda s: replace(s, step=whole_number("step", asked["step"], 0, MAX_STEP)))
    accepted = asdict(default.choice)
    for name, argument in FIELDS.items():
        if name not in asked or (name == "x" and accepted["preset"] != OWN_NUMBERS):
            continue
        try:
            choose(**_alone(argument, asked))
            accepted[argument] = asked[name]
        except InputError as error:
            errors.append(error)
            if argument == "numbers":
                accepted["preset"] = default.choice.preset
    if accepted["preset"] == OWN_NUMBERS and not accepted["numbers"]:
        errors.append(
            InputError("numbers_empty", "There is no number to read: paste at least one.")
        )
        accepted["preset"] = default.choice.preset
    return replace(state, choice=choose(**accepted)), errors


def _alone(argument: str, asked: Mapping[str, str]) -> dict[str, object]:
    """Return arguments for `choose` in which only ``argument`` can be at fault."""
    if argument == "preset" and asked["preset"] == OWN_NUMBERS:
        return {"preset": OWN_NUMBERS, "numbers": "0"}
    if argument == "numbers":
        return {"preset": OWN_NUMBERS, "numbers": asked["x"]}
    name = next(name for name, known in FIELDS.items() if known == argument)
    return {argument: asked[name]}
