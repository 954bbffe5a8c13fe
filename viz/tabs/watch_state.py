"""What Watch shows, as one checked value, whoever asked for it: a control, a link or the Run tab.

Nobody is trusted. `check` refuses at the first fault, for controls, where the picture stays as it
was; `settle` takes what can be used and a default for the rest, for links and for a change of
algorithm, where something has to be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.errors import InputError
from kernels.inputs import OWN_NUMBERS, PRESETS, Choice, one_of
from kernels.problems import check_for, choose_for, presets_for, read_by
from kernels.tile_inputs import COUNTED

START = Choice(seed=1415)  # a row whose maximum rises twice, in blocks 2 and 5
NOTHING = ""  # the choice of no second algorithm


@dataclass(frozen=True)
class WatchState:
    """Everything that decides what Watch shows."""

    algorithm: str = next(iter(ALGORITHMS))
    choice: Choice = START
    compare: str | None = None
    language: str = "en"
    step: int = 0

    @property
    def entries(self) -> tuple[Algorithm, ...]:
        """The algorithm that is shown, and the one beside it."""
        return entries_of(self.algorithm, self.compare)

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields that are read by what is shown, each once."""
        return read_names(self.entries)


def entries_of(algorithm: str, compare: str | None) -> tuple[Algorithm, ...]:
    """Return the entries that are shown, from top to bottom."""
    return tuple(ALGORITHMS[name] for name in (algorithm, compare) if name)


def rivals(entry: Algorithm) -> tuple[str, ...]:
    """Return the names of the others that work on the same problem: what can stand beside it.

    Of rows, the same numbers must be in them, or one ruler would not do for both.
    """
    return tuple(
        name
        for name, other in ALGORITHMS.items()
        if name != entry.name
        and other.problem == entry.problem
        and _rows_of(other) == _rows_of(entry)
    )


def _rows_of(entry: Algorithm) -> dict[str, str]:
    """Return what each input that is a row holds."""
    return {name: entry.draws[name] for name in entry.rows}


def read_names(entries: tuple[Algorithm, ...]) -> tuple[str, ...]:
    """Return the fields that any of ``entries`` reads, each once."""
    return tuple(dict.fromkeys(name for entry in entries for name in read_by(entry)))


def start_of(entry: Algorithm, name: str) -> object:
    """Return where a field starts for ``entry``."""
    return entry.defaults.get(name, getattr(START, name))


def check(language: object, given: Mapping[str, object]) -> WatchState:
    """Return the checked state of a field each, "algorithm" and "compare".

    A field that is missing is a default. Raise InputError at the first fault.
    """
    algorithm = one_of("algorithm", given.get("algorithm"), tuple(ALGORITHMS))
    entry = ALGORITHMS[algorithm]
    compare = given.get("compare")
    if compare in (None, NOTHING, algorithm):
        compare = None
    elif one_of("compare", compare, tuple(ALGORITHMS)) not in rivals(entry):
        compare = None  # left over from a problem that was watched before
    choice = _choose(entries_of(algorithm, compare), given)
    return WatchState(algorithm, choice, compare, str(language))


def settle(
    entries: tuple[Algorithm, ...], given: Mapping[str, object]
) -> tuple[Choice, list[InputError]]:
    """Return the Choice nearest to ``given``, and an error for each field that fell back.

    Sizes that are too large together all fall back, for one error.
    """
    errors: list[InputError] = []
    kept: dict[str, object] = {}
    for name in read_names(entries):
        reader = _reader(entries, name)
        kept[name] = start_of(reader, name)
        if name == "numbers" and kept["preset"] != OWN_NUMBERS:
            continue
        if name in given or name == "numbers":
            try:
                check_for(reader, name, given.get(name, ""))
                kept[name] = given[name]
            except InputError as error:
                errors.append(error)
                if name == "numbers":
                    kept["preset"] = start_of(reader, "preset")
    try:
        return _choose(entries, kept), errors
    except InputError as error:
        sizes = {name: start_of(_reader(entries, name), name) for name in COUNTED if name in kept}
        return _choose(entries, kept | sizes), [*errors, error]


def moved(
    watched: Mapping[str, object], entry: Algorithm, given: Mapping[str, object]
) -> dict[str, object]:
    """Return the fields of ``given`` as they should be once ``entry`` is chosen.

    What is still at a default of the algorithm that was ``watched`` goes to that of ``entry``; what
    was chosen stays. That holds for fields that neither reads, too, so that a detour over another
    problem changes nothing.
    """
    before = ALGORITHMS.get(str(watched.get("algorithm")))
    asked = dict(given)
    for name in asked.keys() & START.__dataclass_fields__:
        old = start_of(before, name) if before else getattr(START, name)
        if _is_still(asked[name], old):
            asked[name] = start_of(entry, name)
    preset, usable = asked.get("preset"), presets_for(entry)
    if preset not in usable and preset in (*PRESETS, OWN_NUMBERS):  # of another problem, no fault
        asked["preset"] = start_of(entry, "preset")
    return asked


def _is_still(value: object, default: object) -> bool:
    """Return whether a control's value, which may be typed text, is the default."""
    return value == default or (isinstance(value, str) and value.strip() == str(default))


def _reader(entries: tuple[Algorithm, ...], name: str) -> Algorithm:
    """Return the first of ``entries`` that reads a field: its limits and default count."""
    return next(entry for entry in entries if name in read_by(entry))


def _choose(entries: tuple[Algorithm, ...], given: Mapping[str, object]) -> Choice:
    """Return one Choice that every entry can take. Raise InputError at the first fault."""
    starts = {name: start_of(_reader(entries, name), name) for name in read_names(entries)}
    choices = [choose_for(entry, {**starts, "numbers": "", **given}) for entry in entries]
    for entry, other in zip(entries[1:], choices[1:], strict=True):
        more = {n: getattr(other, n) for n in entry.fields if n not in entries[0].fields}
        choices[0] = replace(choices[0], **more)
    return choices[0]
