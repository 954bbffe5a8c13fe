"""Fields of a recorded file, read with distrust: each is what it must be, or `Damaged` says where.

What every kind of run has is here; `recorded_memory` and `recorded_launches` read their own.
"""

from __future__ import annotations

import datetime
import math
import re

from benchmarks.results import Device

MAX_WORD = 300
COMMIT = re.compile(r"[0-9a-f]{7,40}(-changed)?")


class Damaged(Exception):
    """A field that cannot be what it says: where, and what stands there."""

    def __init__(self, where: str, got: object) -> None:
        super().__init__(where)
        self.where, self.got = where, got


def names(where: str, given: object, wanted: set[str]) -> None:
    """Raise Damaged unless ``given`` is an object with exactly the fields ``wanted``.

    ``where`` "" is the file itself.
    """
    if not isinstance(given, dict):
        raise Damaged(where, given)
    if set(given) != wanted:
        odd = sorted(set(given) ^ wanted)[0]
        raise Damaged(f"{where}.{odd}" if where else odd, given.get(odd))


def word(where: str, given: object, most: int = MAX_WORD) -> str:
    """Return a short printable text."""
    if not isinstance(given, str) or not 0 < len(given) <= most or not given.isprintable():
        raise Damaged(where, given)
    return given


def matching(where: str, given: object, pattern: re.Pattern) -> str:
    """Return a text that is of a pattern."""
    if not pattern.fullmatch(word(where, given)):
        raise Damaged(where, given)
    return given


def one_of(where: str, given: object, choices: tuple[str, ...]) -> str:
    """Return one of ``choices``."""
    if not isinstance(given, str) or given not in choices:
        raise Damaged(where, given)
    return given


def whole(where: str, given: object, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``; True is none."""
    if type(given) is not int or not low <= given <= high:
        raise Damaged(where, given)
    return given


def number(where: str, given: object, low: float, high: float) -> float:
    """Return a finite number from ``low`` to ``high``."""
    if type(given) not in (int, float) or not math.isfinite(given) or not low <= given <= high:
        raise Damaged(where, given)
    return float(given)


def rows(where: str, given: object, most: int) -> list:
    """Return a list of at least one and at most ``most`` things."""
    if not isinstance(given, list) or not 0 < len(given) <= most:
        raise Damaged(where, given)
    return given


def date(given: object) -> str:
    """Return a day, "2026-11-29"."""
    try:
        day = datetime.date.fromisoformat(word("date", given))
    except ValueError:
        raise Damaged("date", given) from None
    if day.isoformat() != given:
        raise Damaged("date", given)
    return given


def device(given: object) -> Device:
    """Return the GPU: a recorded run has one."""
    where = "device"
    names(where, given, {"name", "capability", "versions"})
    capability, versions = given["capability"], given["versions"]
    is_whole = isinstance(capability, list) and all(type(part) is int for part in capability)
    if not is_whole or len(capability) != 2 or not 8 <= capability[0] < 100:
        raise Damaged(f"{where}.capability", capability)
    if not isinstance(versions, dict) or not {"torch", "triton"} <= set(versions):
        raise Damaged(f"{where}.versions", versions)
    kept = {word("versions", name): word(f"versions.{name}", versions[name]) for name in versions}
    return Device("gpu", word(f"{where}.name", given["name"]), tuple(capability), versions=kept)
