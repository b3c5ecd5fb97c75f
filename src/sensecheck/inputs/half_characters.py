"""Lone surrogates: halves of a character, which JSON can spell (`"\\ud800"`) and models do write.

No file, engine or page can hold one, so each is replaced by U+FFFD where it comes in, and the run says how many were.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


class Tally:
    """How many texts of a run had to be mended."""

    def __init__(self) -> None:
        self.texts = 0

    def notes(self) -> list[str]:
        if not self.texts:
            return []
        texts = "1 text" if self.texts == 1 else f"{self.texts:,} texts"
        return [f"{texts} held half a character (a lone surrogate): it was replaced by U+FFFD"]


_TALLY: ContextVar[Tally | None] = ContextVar("half_characters", default=None)


def count_in(tally: Tally) -> None:
    """From now on, what this thread mends is counted there: reading begins before a run does."""
    _TALLY.set(tally)


def whole(text: str) -> str:
    r"""The text with every lone surrogate replaced.

    >>> whole("a\ud800b") == "a\ufffdb"
    True
    """
    if text.isascii() or not _HALF.search(text):
        return text
    tally = _TALLY.get()
    if tally is not None:
        tally.texts += 1
    return _HALF.sub(REPLACEMENT, text)


def whole_value(value: Any) -> Any:
    """The same for all texts in a value of JSON, names of fields included."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [item if type(item) is float else whole_value(item) for item in value]
    if isinstance(value, dict):
        return {whole(key) if isinstance(key, str) else key: whole_value(item) for key, item in value.items()}
    return value
