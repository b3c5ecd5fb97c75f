"""Which words of a sentence say which facts of a query: made in one pass, and then only read.

Names claim their words first, literal values take theirs from them, quotations what is left. The words that are still
free give signals, and numbers are told apart with the comparison words that govern them. Rules look; none changes
what another one sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from sensecheck.faithful.facts import Fact, Name, Reading
from sensecheck.faithful.matching.names import literal_positions, mention, share_told
from sensecheck.faithful.matching.numerals import says_number
from sensecheck.faithful.matching.sentence import Mention, Sentence
from sensecheck.faithful.matching.signals import DIRECTION, INCLUSIVE, Signal, read_signals
from sensecheck.faithful.matching.values import find_value
from sensecheck.faithful.matching.vocabulary import Vocabulary
from sensecheck.language.numbers import Number


class Words(NamedTuple):
    """The words that say the literal of a fact."""

    positions: Sequence[int]
    number: Number | None = None  # where they are a number
    source: str = "question"  # the text they were read in


@dataclass(frozen=True, slots=True)
class Alignment:
    """One query beside one sentence."""

    reading: Reading
    sentence: Sentence
    form: bool  # a logic form with a description, not a query with a question
    owner: Sequence[str]  # what has claimed each word: "" nothing, "value", "name", "quote"
    signals: Mapping[str, Sequence[Signal]]  # by kind
    governing: Mapping[int, Signal]  # first word of a number → the comparison that governs it
    said: Mapping[Fact, Words]  # literals that the sentence says
    used_numbers: frozenset[int]  # numbers of the sentence, by their place among them, that say a literal
    elaborations: frozenset[Fact]  # results that a form spells out and the sentence leaves out

    @property
    def vocabulary(self) -> Vocabulary:
        return self.sentence.vocabulary

    @property
    def guards(self) -> Mapping[str, frozenset[str]]:
        return self.sentence.vocabulary.guards

    def says(self, words: str) -> bool:
        """Whether the sentence has a word of a list of the lexicon."""
        return self.sentence.says(words)

    def worded(self, fact: Fact) -> bool:
        """Whether the sentence says the literal of a fact, and it is words."""
        return fact in self.said and not fact.in_digits

    def mention(self, name: Name) -> Mention:
        return mention(self.sentence, name)

    def mention_of(self, fact: Fact) -> Mention:
        """How the sentence mentions the thing of a fact, by the first of its names that is said."""
        found = mention(self.sentence, fact.name)
        for name in fact.also:
            if found.score >= 0.5:
                break
            found = mention(self.sentence, name)
        return found

    def told(self, fact: Fact) -> float:
        """How much of what sets the column of a fact apart is said, by any of its names."""
        return max(share_told(self.sentence, name, self.reading.entities) for name in fact.names)

    def of(self, kind: str) -> Sequence[Signal]:
        """The signals of a kind."""
        return self.signals.get(kind, ())

    def free(self, signal: Signal) -> bool:
        """Whether a signal stands on its own, not inside the name of a column or table."""
        return not all(self.owner[i] == "name" for i in range(signal.first, signal.last))

    def first(self, *kinds: str) -> Signal | None:
        """The first signal of the first kind that there is."""
        for kind in kinds:
            if kind in self.signals:
                return self.signals[kind][0]
        return None

    def first_free(self, kind: str) -> Signal | None:
        return next((signal for signal in self.signals.get(kind, ()) if self.free(signal)), None)


def align(reading: Reading, sentence: Sentence) -> Alignment:
    form = "form" in reading.offers
    owner = [""] * sentence.n
    for words in _name_words(reading, sentence):
        _claim(owner, words, "name")
    said: dict[Fact, Words] = {}
    for fact in reading.texts:
        match = find_value(sentence, (fact.value or "").strip())
        if match.score >= _least_score(sentence, fact, match.positions, form):
            said[fact] = Words(match.positions)
            for i in match.positions:
                owner[i] = "value"
    for first, last in sentence.quotes:
        _claim(owner, range(first, last), "quote")
    signals = read_signals(sentence, owner)
    by_kind: dict[str, list[Signal]] = {}
    for signal in signals:
        by_kind.setdefault(signal.kind, []).append(signal)
    governing = _governing(sentence, signals)
    used: set[int] = set()
    for fact in reading.numerals:
        number_words = _number_words(sentence, fact, governing, form, used)
        if number_words is not None:
            said[fact] = number_words
            if number_words.number is None:
                for i in number_words.positions:
                    owner[i] = "value"
    elaborations = frozenset(_elaborations(reading, sentence)) if form else frozenset()
    return Alignment(reading, sentence, form, tuple(owner), by_kind, governing, said, frozenset(used), elaborations)


def _claim(owner: list[str], words: range, claimant: str) -> None:
    for i in words:
        if not owner[i]:
            owner[i] = claimant


def _name_words(reading: Reading, sentence: Sentence) -> Iterator[range]:
    """Words that are there because a name holds them: `number of deaths`, `total credits`, `first name`."""
    links = sentence.vocabulary.guards["links"]
    for name in reading.names:
        if len(name.words) == 1:
            for i in literal_positions(sentence, name.words[0]):
                yield range(i, i + 1)
            continue
        found = [positions for word in name.words if (positions := literal_positions(sentence, word))]
        if len(found) < 2:
            continue
        for a, b in pairwise(sorted({i for positions in found for i in positions})):
            if b - a == 1 or (b - a == 2 and sentence.lows[a + 1] in links):
                yield range(a, b + 1)


def _least_score(sentence: Sentence, fact: Fact, positions: Sequence[int], form: bool) -> float:
    """How well a value must be said to count as said."""
    if not form:
        return 0.5
    tokens = sentence.tokens
    if any(tokens[i].kind == "number" and len(tokens[i].text) > 2 for i in positions):
        return 0.28  # a date by its year, a place with its attendance
    return 0.25 if fact.direction else 0.45


def _governing(sentence: Sentence, signals: Sequence[Signal]) -> dict[int, Signal]:
    """The comparison word that governs each number."""
    comparators: dict[int, list[Signal]] = {}
    for signal in signals:
        if signal.kind in DIRECTION or signal.kind == "comparative":
            comparators.setdefault(signal.first, []).append(signal)
    governing: dict[int, Signal] = {}
    if not comparators:
        return governing
    starts = {number.first for number in sentence.numbers}
    for number in sentence.numbers:
        for i in range(number.first - 12, number.last + 4):  # no phrase is longer than eight words
            for signal in comparators.get(i, ()):
                if not _governs(sentence, signal, number, starts):
                    continue
                best, gap = governing.get(number.first), number.first - signal.last
                if best is None or signal.kind in INCLUSIVE or 0 <= gap < number.first - best.last:
                    governing[number.first] = signal
    return governing


def _governs(sentence: Sentence, signal: Signal, number: Number, starts: set[int]) -> bool:
    """Whether a comparison stands before its number, or behind it: 5 or more, 5 at least; not 5 and at least 2."""
    gap = number.first - signal.last
    if 0 <= gap <= 4:
        return not any(i in starts for i in range(signal.last, number.first))
    if signal.kind not in INCLUSIVE or not 0 <= signal.first - number.last <= 3:
        return False
    if any(i in starts for i in range(number.last, signal.first)):
        return False
    return sentence.lows[signal.first] in ("or", "and") or signal.last not in starts


def _number_words(
    sentence: Sentence, fact: Fact, governing: Mapping[int, Signal], form: bool, used: set[int]
) -> Words | None:
    """The number that says the number of a fact best, or the text that it is written as; notes all that would do."""
    best: Number | None = None
    exact = False
    for i, number in enumerate(sentence.numbers):
        if not says_number(sentence, fact, number, governing.get(number.first), form):
            continue
        used.add(i)
        equal = number.value == fact.number
        cardinal = best is not None and best.form == "ordinal" and number.form != "ordinal"
        if best is None or (equal and not exact) or (cardinal and equal >= exact):
            best, exact = number, equal
    if best is not None:
        return Words(range(best.first, best.last), best)
    if fact.kind == "comparison" and fact.value is not None and fact.value.strip():
        match = find_value(sentence, fact.value)
        if match.score >= 0.5:
            return Words(match.positions)
    return None


def _elaborations(reading: Reading, sentence: Sentence) -> list[Fact]:
    """Results that a form spells out after a comparison of two rows; a sentence gives all of them or none."""
    if not any(f.role == "values" or f.aggregate == "diff" for f in reading.facts):
        return []
    results = [f for f in reading.of("comparison") if f.role in ("result", "approximate") and f.aggregate != "diff"]
    for fact in results:
        if fact.in_digits:
            if any(number.value == fact.number for number in sentence.numbers):
                return []
        elif find_value(sentence, fact.value or "").score >= 0.45:
            return []
    return [] if _other_result(reading, sentence, results) else results


def _other_result(reading: Reading, sentence: Sentence, results: Sequence[Fact]) -> bool:
    """Whether a number stands where the results were left out: they tied with 72 points."""
    if len({f.number for f in results if f.in_digits}) != 1:
        return False
    accounted_for = {abs(n) for n in reading.numbers} | {0, 1, 2}
    literals = " ".join(f.value for f in reading.facts if f.value is not None)
    return any(
        n.value not in accounted_for
        and not 1700 <= n.value <= 2100
        and n.form in ("digits", "word")
        and sentence.lows[n.first] not in literals
        for n in sentence.numbers
    )
