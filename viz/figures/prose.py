"""Sentences from the locales as nodes: ``**bold**`` and `` `code` `` are the only markup."""

from __future__ import annotations

import re
from collections.abc import Mapping

from viz.locales import has, text

_MARKED = re.compile(r"\*\*(.+?)\*\*|`(.+?)`")


def rich(sentence: str) -> list:
    """Return ``sentence`` as a list of nodes."""
    nodes: list = []
    end = 0
    for found in _MARKED.finditer(sentence):
        nodes.append(sentence[end : found.start()])
        nodes.append(["b", {}, found[1]] if found[1] else ["code", {}, found[2]])
        end = found.end()
    return [node for node in (*nodes, sentence[end:]) if node]


def say(language: str, key: str, **details: object) -> list:
    """Return the string ``key`` as nodes. Details are words, never markup."""
    marked = {name: _plain(value) for name, value in details.items()}
    return rich(text(language, key, **marked))


def _plain(value: object) -> object:
    """Return a detail without the characters that mark bold and code."""
    return value.replace("*", "∗").replace("`", "'") if isinstance(value, str) else value


def listed(language: str, words: list[str]) -> str:
    """Return "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    first = text(language, "run.state.comma").join(words[:-1])
    return text(language, "run.state.and", first=first, last=words[-1])


def name_of(language: str, key: str, otherwise: str) -> str:
    """Return the name that ``key`` gives, or ``otherwise`` where there is none."""
    return text(language, key) if has(key) else otherwise


def error_sentence(language: str, key: str, details: Mapping[str, object], fallback: str) -> str:
    """Return the sentence of an error's key, or ``fallback`` if it has none here."""
    if not has(key):
        return fallback
    try:
        return text(language, key, **details)
    except (KeyError, IndexError):
        return fallback


def fault(sentence: str) -> list:
    """Return the one sentence that says what went wrong, as a note's value."""
    return [["p", {"class": "bw-fault", "role": "alert"}, ["b", {}, "✕ "], sentence]]
