"""What every rule builds on: the query's facts, the sentence's words, and a place for findings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from sensecheck.faithful.facts import Fact, Name, Reading, Span
from sensecheck.faithful.matching.names import Mention, literal_positions, mention
from sensecheck.faithful.matching.sentence import Sentence, Signal
from sensecheck.language.lexicon import read_package_lexicon
from sensecheck.language.numbers import Number

CONFIDENCE: dict[str, float] = read_package_lexicon("sensecheck.faithful", "lexicon", "confidence.json")["rules"]


class Finding(NamedTuple):
    """One piece of evidence. status: said, unsaid (allowed), missing, contradicted, added."""

    status: str
    kind: str
    rule: str
    confidence: float
    text: str
    query_span: Span | None
    positions: Sequence[int]  # tokens of the sentence that bear on it


class Evidence:
    """One query against one sentence: what is known of both, and what was found."""

    def __init__(self, reading: Reading, sentence: Sentence) -> None:
        self.reading = reading
        self.sentence = sentence
        self.vocabulary = sentence.vocabulary
        self.guards = sentence.vocabulary.guards
        self.findings: list[Finding] = []
        self.used_numbers: set[int] = set()
        self.comparators_at: dict[int, list[Signal]] | None = None
        self.number_starts: set[int] = set()
        self.number_of: dict[int, Number] = {}  # id of fact → the sentence's number for it
        self.mentions: dict[Name, Mention] = {}
        self.literally: set[int] = set()  # facts whose value the sentence says
        self.sql = reading.language != "logic2text"
        self.kinds: dict[str, list[Signal]] = {}  # the sentence's signals by kind
        self.elaborations: list[Fact] = []  # results that a form spells out and a sentence may leave out

    def note(self, status: str, fact: Fact, rule: str, positions: Sequence[int] = ()) -> None:
        confidence = CONFIDENCE.get(rule, 0.0) if status in ("missing", "contradicted") else 1.0
        self.findings.append(Finding(status, fact.kind, rule, confidence, fact.text, fact.span, positions))

    def added(self, kind: str, rule: str, first: int, last: int) -> None:
        span = self.sentence.span(first, last)
        text = self.sentence.text[span[0] : span[1]]
        self.findings.append(Finding("added", kind, rule, CONFIDENCE.get(rule, 0.0), text, None, range(first, last)))

    def mention(self, name: Name) -> Mention:
        cached = self.mentions.get(name)
        if cached is None:
            cached = self.mentions[name] = mention(self.sentence, name)
        return cached

    def free(self, signal: Signal) -> bool:
        """Whether a signal stands on its own, not inside the name of a column or table."""
        owner = self.sentence.owner
        return not all(owner[i] == "name" for i in range(signal.first, signal.last))

    def has(self, *kinds: str) -> Signal | None:
        for kind in kinds:
            for signal in self.kinds.get(kind, ()):
                return signal
        return None

    def has_free(self, *kinds: str) -> Signal | None:
        for kind in kinds:
            for signal in self.kinds.get(kind, ()):
                if self.free(signal):
                    return signal
        return None

    def claim_names(self) -> None:
        """Words that are there because a name holds them: `number of deaths`, `total credits`, `first name`."""
        sentence = self.sentence
        lows = sentence.lows
        for name in self.reading.names:
            words = name.words
            if len(words) == 1:
                for i in literal_positions(sentence, words[0]):
                    sentence.claim(i, i + 1, "name")
                continue
            positions: list[int] = []
            words_said = 0
            for word in words:
                word_positions = literal_positions(sentence, word)
                if word_positions:
                    positions.extend(word_positions)
                    words_said += 1
            if words_said < 2:
                continue
            positions = sorted(set(positions))
            for a, b in pairwise(positions):
                if b - a == 1 or (b - a == 2 and lows[a + 1] in self.guards["links"]):
                    sentence.claim(a, b + 1, "name")

    def claim_quotes(self) -> None:
        for first, last in self.sentence.quotes:
            self.sentence.claim(first, last, "quote")


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


def range_of(number: Number) -> list[int]:
    return list(range(number.first, number.last))
