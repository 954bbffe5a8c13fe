"""Predict first: a guess of who is fastest and how fast, made before the curve is seen.

A guess is None while it is asked for, empty once skipped, or {"operation", "dtype", "provider",
"speed"}: plain data of one visitor, which a client may send as it likes.
"""

from __future__ import annotations

import math

from benchmarks.operations import NAMES, OPERATIONS
from benchmarks.sweep_results import SweepCase, SweepRun
from kernels.errors import InputError, shorten
from kernels.inputs import one_of
from viz.figures.measure import Guess
from viz.figures.prose import say
from viz.locales import text
from viz.tabs.measure_lines import Shown, axis_name, default_view, digits
from viz.tabs.measure_words import fastest, last_round

MOST = 1e6  # GB/s or TFLOP/s that anyone may guess


def choose_guess(case: SweepCase, provider: object, speed: object) -> dict:
    """Check a guess and return it. Raise InputError for what cannot be one."""
    one_of("provider", provider, OPERATIONS[case.operation].providers)
    try:
        number = float(speed) if isinstance(speed, str) and len(speed) < 40 else math.nan
    except ValueError:
        number = math.nan
    if not 0 < number <= MOST:
        raise InputError(
            "guess",
            "Your guess must be a number above 0 and at most {most}, got {got}.",
            most=f"{MOST:.0f}",
            got=shorten(speed),
        )
    about = {"operation": case.operation, "dtype": case.sizes.dtype}
    return {**about, "provider": provider, "speed": number}


def question(case: SweepCase, value: int, language: str) -> list:
    """Return the question over the form."""
    unit = default_view(case.operation)
    asked = say(language, "measure.ask", axis=axis_name(case), value=value, unit=unit)
    return [["p", {"class": "bw-caption"}, *asked]]


def is_about(guess: object, case: SweepCase) -> bool:
    """Whether a guess was made about such a sweep."""
    if not isinstance(guess, dict) or not guess:
        return False
    about = guess.get("operation"), guess.get("dtype")
    well_formed = guess.get("provider") in NAMES and isinstance(guess.get("speed"), float)
    return well_formed and about == (case.operation, case.sizes.dtype)


def mark(guess: object, run: SweepRun | None, shown: Shown, language: str) -> Guess | None:
    """Return where a guess is drawn: at the largest size, in the view that it was asked in."""
    if run is None or not is_about(guess, run.case):
        return None
    unit, there = default_view(run.case.operation), last_round(run, shown)
    if shown.view != unit or not there:
        return None
    name, number = NAMES[guess["provider"]], digits(guess["speed"])
    said = text(language, "measure.guess.mark", name=name, guess=number, unit=unit)
    return Guess(there[0].value, guess["speed"], said)


def verdict(guess: object, run: SweepRun | None, shown: Shown, language: str) -> list:
    """Return the sentence that says how far off a guess was, or nothing."""
    if run is None or not is_about(guess, run.case):
        return []
    best = fastest(last_round(run, shown))
    if best is None:
        return []
    unit = default_view(run.case.operation)
    speed = best.gb_per_s if unit == "GB/s" else best.tflop_per_s
    off = 100 * (guess["speed"] / speed - 1)
    key = "same" if abs(off) < 0.5 else "high" if off > 0 else "low"
    said = say(
        language,
        f"measure.guess.{key}",
        name=NAMES[guess["provider"]],
        guess=digits(guess["speed"]),
        unit=unit,
        winner=NAMES[best.provider],
        speed=digits(speed),
        off=f"{abs(off):.0f}",
    )
    return [["p", {"class": "bw-guess"}, *said]]
