"""Predict first: a guess of who is fastest and of the curve, made before the curve is seen.

A guess is None while it is asked for, empty once skipped, or {"operation", "dtype", "axis",
"provider", "curve"}, the curve pairs of a value and a speed: plain data of one visitor, which a
client may send as it likes. The curve is of whoever is fastest at each size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.operations import NAMES, OPERATIONS
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from kernels.errors import InputError, shorten
from kernels.inputs import one_of
from viz.figures.measure import GUESS, Dot, Line
from viz.figures.prose import listed, say
from viz.locales import text
from viz.tabs.measure.speed_lines import Shown, default_view, providers_of, table_of, values_of
from viz.tabs.measure.speed_told import axis_name, digits
from viz.tabs.measure.speed_words import fastest

MOST = 1e6  # GB/s or TFLOP/s that anyone may guess
# The form's fields of speeds, in the order of the sizes.
FIELDS = ("guess_first", "guess_second", "guess_third")
N_ASKED = len(FIELDS)


def asked(run: SweepRun, shown: Shown) -> tuple[int, ...]:
    """Return the sizes that are asked about: the smallest, the middle, the largest with a time."""
    timed = [value for value in values_of(run, shown) if _best(run, shown, value)]
    return tuple(sorted({timed[k] for k in (0, len(timed) // 2, -1)})) if timed else ()


def _best(run: SweepRun, shown: Shown, value: int) -> SweepPoint | None:
    """Return the fastest shown at a value."""
    points, names = table_of(run), providers_of(run, shown)
    return fastest(points[name, value] for name in names if (name, value) in points)


def _speed(point: SweepPoint, unit: str) -> float:
    """Return a point's speed in the unit that was asked for."""
    return point.gb_per_s if unit == "GB/s" else point.tflop_per_s


def choose_guess(
    case: SweepCase, provider: object, speeds: Sequence[object], at: Sequence[int]
) -> dict:
    """Check a guess and return it: a speed at each of the sizes ``at``, some of them empty.

    Raise InputError for what cannot be a speed, and where there is none.
    """
    one_of("provider", provider, OPERATIONS[case.operation].providers)
    given = list(zip(at, speeds))
    told = [(value, one) for value, one in given if not _is_empty(one)] or given[-1:]
    about = {"operation": case.operation, "dtype": case.sizes.dtype, "axis": case.axis}
    curve = [(value, _number(speed)) for value, speed in told]
    return {**about, "provider": provider, "curve": curve}


def _is_empty(given: object) -> bool:
    return given is None or isinstance(given, str) and not given.strip()


def _number(speed: object) -> float:
    """Return one guessed speed. Raise InputError if it cannot be one."""
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
    return number


def question(case: SweepCase, value: int, language: str) -> list:
    """Return the question over the form."""
    unit = default_view(case.operation)
    about = say(language, "measure.ask", axis=axis_name(case), value=value, unit=unit)
    return [["p", {"class": "bw-caption"}, *about]]


def field_label(case: SweepCase, value: int, language: str) -> str:
    """Return the label of one size's field: "GB/s at N = 256"."""
    unit, axis = default_view(case.operation), axis_name(case)
    return text(language, "measure.ask.at", unit=unit, axis=axis, value=value)


def is_about(guess: object, case: SweepCase) -> bool:
    """Whether a guess was made about such a sweep."""
    if not isinstance(guess, dict) or not guess:
        return False
    about = guess.get("operation"), guess.get("dtype"), guess.get("axis")
    if about != (case.operation, case.sizes.dtype, case.axis) or guess.get("provider") not in NAMES:
        return False
    curve = guess.get("curve")
    return (
        isinstance(curve, list | tuple)
        and bool(curve)
        and all(
            isinstance(pair, list | tuple)
            and [type(one) for one in pair] == [int, float]
            and 0 < pair[1] <= MOST
            for pair in curve[:N_ASKED]
        )
    )


def line(guess: object, run: SweepRun | None, shown: Shown, language: str) -> list[Line]:
    """Return how a guess is drawn, dashed, in the view that it was asked in; else nothing."""
    if run is None or not is_about(guess, run.case):
        return []
    unit, known = default_view(run.case.operation), values_of(run, shown)
    if shown.view != unit:
        return []
    dots = []
    for value, speed in guess["curve"][:N_ASKED]:
        if value in known:
            told = text(language, "measure.guess.mark", guess=digits(speed), unit=unit)
            dots.append(Dot(value, speed, speed, speed, told))
    return [Line(GUESS, text(language, "measure.guess.name"), dots)] if dots else []


def verdict(guess: object, run: SweepRun | None, shown: Shown, language: str) -> list:
    """Return the sentences that say how far off a guess was, or nothing."""
    if run is None or not is_about(guess, run.case):
        return []
    unit, axis = default_view(run.case.operation), axis_name(run.case)
    held = [(v, speed, _best(run, shown, v)) for v, speed in guess["curve"][:N_ASKED]]
    held = [(value, speed, best) for value, speed, best in held if best is not None]
    if not held:
        return []
    value, speed, best = held[-1]
    off = 100 * (speed / _speed(best, unit) - 1)
    said = say(
        language,
        f"measure.guess.{_kind(off)}",
        axis=axis,
        value=value,
        name=NAMES[guess["provider"]],
        guess=digits(speed),
        unit=unit,
        winner=NAMES[best.provider],
        speed=digits(_speed(best, unit)),
        off=f"{abs(off):.0f}",
    )
    others = []
    for value, speed, best in held[:-1]:
        off = 100 * (speed / _speed(best, unit) - 1)
        key = f"measure.guess.also.{_kind(off)}"
        others.append(text(language, key, axis=axis, value=value, off=f"{abs(off):.0f}"))
    if others:
        said += [" ", *say(language, "measure.guess.also", parts=listed(language, others))]
    return [["p", {"class": "bw-guess"}, *said]]


def _kind(off: float) -> str:
    """Return whether a guess that is ``off`` percent away was right, too high or too low."""
    return "same" if abs(off) < 0.5 else "high" if off > 0 else "low"
