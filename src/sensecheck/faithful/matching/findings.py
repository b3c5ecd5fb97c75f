"""What the rules find: a fact that is said or not, or something that the sentence adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sensecheck.faithful.facts import Fact, Span
from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.language.lexicon import read_package_lexicon

CONFIDENCE: dict[str, float] = read_package_lexicon("sensecheck.faithful", "lexicon", "confidence.json")["rules"]
"""How sure a finding against the sentence is on its own, by the name it goes by."""


class Finding(NamedTuple):
    """One piece of evidence. status: said, unsaid (allowed), missing, contradicted, added."""

    status: str
    kind: str
    rule: str
    confidence: float
    text: str
    query_span: Span | None
    positions: Sequence[int]  # tokens of the sentence that bear on it
    fact: Fact | None = None  # None for what the sentence adds


def said(fact: Fact, rule: str, positions: Sequence[int] = ()) -> Finding:
    return Finding("said", fact.kind, rule, 1.0, fact.text, fact.span, positions, fact)


def unsaid(fact: Fact, rule: str, positions: Sequence[int] = ()) -> Finding:
    """Not said, as people would not say it."""
    return Finding("unsaid", fact.kind, rule, 1.0, fact.text, fact.span, positions, fact)


def missing(fact: Fact, rule: str, positions: Sequence[int] = ()) -> Finding:
    return Finding("missing", fact.kind, rule, CONFIDENCE.get(rule, 0.0), fact.text, fact.span, positions, fact)


def contradicted(fact: Fact, rule: str, positions: Sequence[int] = ()) -> Finding:
    return Finding("contradicted", fact.kind, rule, CONFIDENCE.get(rule, 0.0), fact.text, fact.span, positions, fact)


def added(sentence: Sentence, kind: str, rule: str, words: range) -> Finding:
    start, end = sentence.span(words.start, words.stop)
    return Finding("added", kind, rule, CONFIDENCE.get(rule, 0.0), sentence.text[start:end], None, words)


def spans_of(sentence: Sentence, positions: Sequence[int]) -> list[Span]:
    """Characters of token positions, neighbours joined."""
    spans: list[Span] = []
    previous = -2
    for i in sorted(set(positions)):
        token = sentence.tokens[i]
        if i == previous + 1 and spans:
            spans[-1] = (spans[-1][0], token.end)
        else:
            spans.append((token.start, token.end))
        previous = i
    return spans
