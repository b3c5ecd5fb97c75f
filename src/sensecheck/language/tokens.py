"""Words with their places: a tokenizer that keeps character offsets into the text as it was given.

Zero-width and bidirectional control characters are dropped, accents are folded and typographic quotes straightened for
comparison, but every offset points into the original string.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from sensecheck.language.morphology import stem

_TOKEN = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|\.\d+|[^\W\d_]+(?:'[^\W\d_]+)*|[^\w\s]|_")
_INVISIBLE = re.compile(r"[\u0000\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
_STRAIGHT = str.maketrans("’‘ʼ′“”„«»–—−‐‑", '\'\'\'\'"""""-----')


class Token(NamedTuple):
    """One word, number or sign: as written, folded for comparison, its stem, and its place in the text."""

    text: str
    low: str
    stem: str
    start: int
    end: int
    kind: str  # "word", "number" or "sign"


_new = tuple.__new__


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """Lower case without accents."""
    low = word.lower()
    if low.isascii():
        return low
    decomposed = unicodedata.normalize("NFKD", low)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@lru_cache(maxsize=65_536)
def _forms(text: str) -> tuple[str, str, str]:
    first = text[0]
    if first.isdecimal() or (first == "." and len(text) > 1):
        return text, text, "number"
    if first.isalpha():
        low = fold(text)
        if low.endswith("'"):
            low = low[:-1]
        if low.endswith("'s"):
            low = low[:-2] or low
        return low, stem(low), "word"
    return text, text, "sign"


def tokenize(text: str) -> list[Token]:
    """Tokens of a text in order. Linear in its length."""
    ascii_only = text.isascii()
    source = text if ascii_only else text.translate(_STRAIGHT)
    if (ascii_only and "\0" not in text) or not _INVISIBLE.search(text):
        return _tokens(source)
    offsets = [i for i, c in enumerate(text) if not _INVISIBLE.match(c)]
    tokens = _tokens("".join([source[i] for i in offsets]))
    return [token._replace(start=offsets[token.start], end=offsets[token.end - 1] + 1) for token in tokens]


def _tokens(text: str) -> list[Token]:
    tokens = []
    end = 0
    for piece in _TOKEN.findall(text):
        low, key, kind = _forms(piece)
        start = text.index(piece, end)  # nothing but blanks lies between
        end = start + len(piece)
        # What Token(…) does, without its own call: this is the innermost loop of all.
        tokens.append(_new(Token, (piece, low, key, start, end, kind)))
    return tokens


_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_NOT_WORD = re.compile(r"[\W_]+")


_ENDS_IN_ID = frozenset(
    ("paid", "unpaid", "bid", "grid", "valid", "invalid", "void", "avoid", "rapid", "solid", "hybrid", "fluid", "acid",
     "david", "madrid", "said", "aid", "raid", "kid", "covid", "android")
)  # fmt: skip


def split_identifier(name: str) -> list[str]:
    """`birth_place`, `birthPlace`, `BIRTH-PLACE` → ["birth", "place"]; `stuid` → ["stu", "id"]."""
    words: list[str] = []
    for part in _NOT_WORD.split(name):
        for piece in _CAMEL.split(part) if part else ():
            word = fold(piece)
            if word.endswith("id") and len(word) > 3 and word not in _ENDS_IN_ID:
                words.append(word[:-2])
                word = "id"
            if word:
                words.append(word)
    return words
