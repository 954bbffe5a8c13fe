"""Predict first: the cell that a visitor expects to be the fastest, before the map is seen.

A guess is None while it is asked for, `SKIPPED`, or a `Guess`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.sweep_results import LandscapeCase
from kernels.inputs import one_of, whole_number
from viz.figures.prose import name_of, say
from viz.tabs.measure.landscape_cells import Landscape, Look, slower

SKIPPED = "skipped"
MOST = 2**20  # of a setting


class Guess(NamedTuple):
    """What was guessed of a case, its budget aside: settings by name."""

    operation: str
    sizes: object
    settings: Mapping[str, int]


def choose_guess(land: Landscape, look: Look, up: object, flat: object) -> Guess:
    """Return the guess of one cell. Raise InputError for what is none on this map."""
    settings = {}
    for name, given in ((look.up, up), (look.flat, flat)):
        if name:
            value = whole_number(name, given, 1, MOST)
            known = tuple(str(one) for one in land.values(name))
            settings[name] = int(one_of(name, str(value), known))
    return Guess(land.run.case.operation, land.run.case.sizes, settings)


def settings_of(guess: object, case: LandscapeCase) -> Mapping[str, int] | None:
    """Return the settings that were guessed if it was about such a case."""
    if not isinstance(guess, Guess) or (guess.operation, guess.sizes) != (
        case.operation,
        case.sizes,
    ):
        return None
    return guess.settings


def question(language: str) -> list:
    """Return the question over the form."""
    return [["p", {"class": "bw-caption"}, *say(language, "landscape.ask")]]


def verdict(guess: object, land: Landscape, language: str) -> list:
    """Return how far from the fastest the guess was, or nothing where there was none."""
    settings = settings_of(guess, land.run.case)
    if settings is None or land.best is None:
        return []
    there = [p for p in land.points if all(p.settings.get(n) == v for n, v in settings.items())]
    timed = [point for point in land.timed if point in there]
    said = {"pick": land.words(settings), "best": land.words(land.best.settings)}
    if timed and timed[0] is land.best:
        key = "best"
    elif timed:
        key, said["off"] = "slower", slower(timed[0], land.best)
    elif there:
        reason = there[0].reason
        key, said["why"] = "untimed", name_of(language, f"landscape.why.{reason}", reason)
    else:
        key = "untried"
    return [["p", {"class": "bw-guess"}, *say(language, f"landscape.guess.{key}", **said)]]
