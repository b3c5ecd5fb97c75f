"""Values that are said, but not as they are stored: another spelling, a part of a name, more than was quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sensecheck.faithful.languages.sql_outline import LiteralUse
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.ruling import Finding, against, rule
from sensecheck.faithful.matching.values import find_value

_NO_WORD = re.compile(r"\W+")


@rule("weighed")
def spelled_values(a: Alignment) -> Iterator[Finding]:
    """A text that is compared as a whole must be written as the question or the evidence writes it."""
    said = _plain(a.sentence.text)
    hinted = a.evidence.plain if a.evidence is not None else ""
    squeezed = _NO_WORD.sub("", said) + " " + _NO_WORD.sub("", hinted)
    quoted = [_plain(" ".join(a.sentence.lows[first:last])) for first, last in a.sentence.quotes]
    for literal in a.outline.literals:
        if not _whole_text(literal):
            continue
        value = _plain(literal.text)
        if value in said or value in hinted:
            if _part_of_name(a, literal):
                yield against("value", "value_part", literal.text, literal.span)
        elif _NO_WORD.sub("", value) in squeezed:
            yield against("value", "value_respelled", literal.text, literal.span)
        elif any(len(text) > 3 and text in value for text in quoted):
            yield against("value", "value_longer", literal.text, literal.span)
        elif find_value(a.sentence, literal.text).score >= 0.5:
            yield against("value", "value_inflected", literal.text, literal.span)


def _whole_text(literal: LiteralUse) -> bool:
    if literal.column is None or literal.op not in ("=", "!=") or literal.number is not None:
        return False
    return len(literal.text) > 2 and not literal.text[:4].isdecimal()


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _part_of_name(a: Alignment, literal: LiteralUse) -> bool:
    """`Gabriel` where the question has Gabriel Tamas."""
    words = literal.text.lower().split()
    tokens, lows = a.sentence.tokens, a.sentence.lows
    if not literal.text[:1].isupper():
        return False
    for i in a.sentence.by_low.get(words[0], ()):
        behind = i + len(words)
        if lows[i:behind] != words or behind >= a.sentence.n:
            continue
        token = tokens[behind]
        if (
            token.kind == "word"
            and token.text[0].isupper()
            and not a.owner[behind]
            and token.stem not in a.reading.vocabulary
        ):
            return True
    return False
