"""Every string of the page, by language: ``en.json`` and ``zh.json`` hold the same flat keys."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "zh")


@cache
def table(language: str) -> dict[str, str]:
    """Return every string of ``language`` by key."""
    return json.loads((Path(__file__).parent / f"{language}.json").read_text("utf-8"))


def text(language: str, key: str, **details: object) -> str:
    """Return the string ``key`` in ``language`` with ``details`` filled in.

    Raise KeyError for a key that is missing: a test finds those before a user does.
    """
    return table(language)[key].format(**details)


def has(key: str) -> bool:
    """Return whether ``key`` exists; en and zh hold the same keys, and a test says so."""
    return key in table("en")


def from_browser(accept_language: str | None) -> str:
    """Return the language that a browser's Accept-Language header asks for first, or English."""
    for part in (accept_language or "").lower().split(","):
        code = part.split(";")[0].strip()[:2]
        if code in LANGUAGES:
            return code
    return "en"
