"""Read the numbers that a user pasted, or say which one cannot be read."""

from __future__ import annotations

import math
import re

from kernels.errors import InputError, shorten

MAX_NUMBERS = 512  # of a row that is watched: beyond it a bar is thinner than a pixel
MAX_TEXT = 16_384  # characters: 512 numbers with room to spare

_INFINITY = re.compile(r"([+-]?)(inf|infinity|∞)")
# No two parts can match the same digits: a long token is refused in linear time.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?")


def read_numbers(text: object) -> tuple[float, ...]:
    """Read numbers parted by commas, semicolons, spaces or newlines; also inf, -inf and nan.

    Raise InputError that names the first token that is no number, or says how many is too many.
    """
    if not isinstance(text, str):
        raise InputError(
            "numbers_text", "The numbers must be text, got {got}.", got=type(text).__name__
        )
    if len(text) > MAX_TEXT:
        raise InputError(
            "numbers_long",
            "The pasted text has {got} characters; at most {limit} are read.",
            got=len(text),
            limit=MAX_TEXT,
        )
    if ";" in text and re.search(r"\d,\d", text):
        raise InputError(
            "numbers_comma",
            "With semicolons between numbers, 1,5 could be one number or two: write 1.5.",
        )
    # A minus sign is often pasted as U+2212, and brackets come along with a printed array.
    parts = re.split(r"[\s,;\[\]()\u200b\u2060\ufeff]+", text.replace("\u2212", "-"))
    tokens = [part for part in parts if part]
    if not tokens:
        raise InputError("numbers_empty", "There is no number to read: paste at least one.")
    if len(tokens) > MAX_NUMBERS:
        raise InputError(
            "numbers_many",
            "{got} numbers were pasted; at most {limit} can be watched.",
            got=len(tokens),
            limit=MAX_NUMBERS,
        )
    return tuple(_read_number(position, token) for position, token in enumerate(tokens, 1))


def _read_number(position: int, token: str) -> float:
    """Return the number that ``token`` spells."""
    if infinity := _INFINITY.fullmatch(token.lower()):
        return -math.inf if infinity[1] == "-" else math.inf
    if token.lower().lstrip("+-") == "nan":  # C and C++ print -nan
        return math.nan
    if not _NUMBER.fullmatch(token):
        raise InputError(
            "number_unreadable",
            "Number {position}, “{got}”, cannot be read as a number.",
            position=position,
            got=shorten(token),
        )
    value = float(token)
    if math.isinf(value):
        raise InputError(
            "number_huge",
            "Number {position}, “{got}”, is too large even for float64: write inf for infinity.",
            position=position,
            got=shorten(token),
        )
    return value
