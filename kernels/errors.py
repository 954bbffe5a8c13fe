"""The one exception for a user's mistake: a sentence, and the key that translates it."""

from __future__ import annotations


class InputError(ValueError):
    """A value the user gave cannot be used.

    ``str(error)`` is the English sentence. ``key`` and ``details`` let the page say the same in
    another language: ``locales/<language>.json`` holds ``error.<key>`` with ``details`` filled in.
    A test holds the two English wordings together.
    """

    def __init__(self, key: str, sentence: str, **details: object) -> None:
        super().__init__(sentence.format(**details))
        self.key = key
        self.details = details


def shorten(value: object, limit: int = 40) -> str:
    """Return ``value`` as a short one-line text, fit for a sentence."""
    if isinstance(value, list | tuple | dict | set):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, int) and abs(value) >= 10**limit:
        return f"an integer of {value.bit_length()} bits"  # str() refuses very long integers
    text = (
        "nothing"
        if value is None
        else " ".join(str(value)[: 4 * limit].encode("utf-8", "replace").decode().split())
    )
    return text if len(text) <= limit else text[: limit - 1] + "…"
