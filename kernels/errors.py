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
