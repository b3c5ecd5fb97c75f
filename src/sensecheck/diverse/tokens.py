"""From text to words: by white space as LSDSCC does, or like sacrebleu's `13a`, `char` and `intl`.

Written from mteval's rules; on the same text they give the words that sacrebleu's tokenisers give (for `intl`, as far
as this Python's Unicode tables know the characters).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Literal, get_args

TokenizerName = Literal["whitespace", "13a", "char", "intl"]
TOKENIZERS: tuple[str, ...] = get_args(TokenizerName)

# ASCII punctuation and symbols that always stand alone, except . , - ' which depend on their neighbours.
_ALONE = str.maketrans({c: f" {c} " for c in map(chr, range(32, 127)) if not c.isalnum() and c not in ".,-'"})
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_MARK_AFTER_NO_DIGIT = re.compile(r"([^0-9])([.,])")
_MARK_BEFORE_NO_DIGIT = re.compile(r"([.,])([^0-9])")
_DASH_AFTER_DIGIT = re.compile(r"([0-9])(-)")


def whitespace(text: str) -> list[str]:
    """What lies between runs of Unicode white space."""
    return text.split()


def mteval_13a(text: str) -> list[str]:
    """mteval-v13a: punctuation apart, but not inside numbers; four entities decoded."""
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    text = f" {text} ".translate(_ALONE)
    text = _MARK_AFTER_NO_DIGIT.sub(r"\1 \2 ", text)
    text = _MARK_BEFORE_NO_DIGIT.sub(r" \1 \2", text)
    return _DASH_AFTER_DIGIT.sub(r"\1 \2 ", text).split()


def characters(text: str) -> list[str]:
    """Every character that is not white space."""
    return list("".join(text.split()))


class _Classes(dict[int, str]):
    """N for numbers, P for punctuation, S for symbols, x for the rest; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        major = unicodedata.category(chr(code))[0]
        self[code] = letter = major if major in "NPS" else "x"
        return letter


_CLASSES = _Classes()
_PUNCTUATION_AFTER_NO_NUMBER = re.compile("[^N]P")
_PUNCTUATION_BEFORE_NO_NUMBER = re.compile("P[^N]")
_SYMBOL = re.compile("S")


def _spaced(pattern: re.Pattern[str], text: str, shape: Callable[[str], str]) -> str:
    """Rewrite what the pattern finds in the text's classes, which lie one to one under its characters."""
    classes = text.translate(_CLASSES)
    pieces = []
    copied_to = 0
    for match in pattern.finditer(classes):
        pieces.append(text[copied_to : match.start()])
        pieces.append(shape(text[match.start() : match.end()]))
        copied_to = match.end()
    pieces.append(text[copied_to:])
    return "".join(pieces)


def mteval_14_international(text: str) -> list[str]:
    """mteval-v14 --international-tokenization: Unicode punctuation apart unless between numbers, symbols apart."""
    text = _spaced(_PUNCTUATION_AFTER_NO_NUMBER, text, lambda two: f"{two[0]} {two[1]} ")
    text = _spaced(_PUNCTUATION_BEFORE_NO_NUMBER, text, lambda two: f" {two[0]} {two[1]}")
    return _spaced(_SYMBOL, text, lambda one: f" {one} ").split()


_BY_NAME: dict[str, Callable[[str], list[str]]] = {
    "whitespace": whitespace,
    "13a": mteval_13a,
    "char": characters,
    "intl": mteval_14_international,
}


def tokenizer(name: str = "whitespace", *, lowercase: bool = False) -> Callable[[str], list[str]]:
    """The function of that name; with `lowercase`, on lower-cased text."""
    try:
        split = _BY_NAME[name]
    except KeyError:
        raise ValueError(f"tokenizer {name!r} is not one of {', '.join(TOKENIZERS)}") from None
    return (lambda text: split(text.lower())) if lowercase else split
