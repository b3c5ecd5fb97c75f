"""Which words of a sentence say which facts of a query: made in one pass, and then only read.

Names claim their words first, literal values take theirs from them, quotations what is left. The words that are still
free give signals, and numbers are told apart with the comparison words that govern them. Rules look; none changes
what another one sees.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from sensecheck.faithful.evidence import Evidence, Hint
from sensecheck.faithful.facts import Fact, Name, Reading, name_of
from sensecheck.faithful.matching.dates import decade_begun, period_words, read_dates, says_date, written_dates
from sensecheck.faithful.matching.denials import turned, without_idle
from sensecheck.faithful.matching.names import literal_positions, mention, share_told, told_by_kind
from sensecheck.faithful.matching.numerals import says_number
from sensecheck.faithful.matching.sentence import Mention, Sentence
from sensecheck.faithful.matching.signals import DIRECTION, INCLUSIVE, Signal, read_signals
from sensecheck.faithful.matching.values import find_value
from sensecheck.faithful.matching.vocabulary import Vocabulary
from sensecheck.language.numbers import Number

_MOMENT = name_of("date")
"""What any column of times is a kind of."""
_DIGITS = re.compile(r"\d+")


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
    hints: tuple[Hint, ...] = ()  # what the evidence ties to words of the sentence
    hinted: frozenset[str] = frozenset()  # columns that the hints name, in lower case
    evidence: Evidence | None = None
    weighed: bool = False  # findings are many and weak, and weighed together
    vocabulary: Vocabulary = field(init=False)
    guards: Mapping[str, frozenset[str]] = field(init=False)  # the lists of the lexicon, by their names

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", self.sentence.vocabulary)
        object.__setattr__(self, "guards", self.sentence.vocabulary.guards)

    @property
    def outline(self) -> Any:
        """Which column stands where, for rules that need the schema."""
        return self.reading.outline

    def says(self, words: str) -> bool:
        """Whether the sentence has a word of a list of the lexicon."""
        return self.sentence.says(words)

    def worded(self, fact: Fact) -> bool:
        """Whether the sentence says the literal of a fact, and it is words."""
        return fact in self.said and not fact.in_digits

    def mention(self, name: Name) -> Mention:
        return self.sentence.mentions.get(name.text) or mention(self.sentence, name)

    def mention_of(self, fact: Fact) -> Mention:
        """How the sentence mentions the thing of a fact, by the first of its names that is said."""
        found = self.mention(fact.name)
        for name in fact.also:
            if found.score >= 0.5:
                return found
            if name.words != fact.name.words:
                found = self.mention(name)
        if found.score < 0.5 and self.is_hinted(fact):
            return Mention(1.0, 1.0, self.hint_words(fact))
        return found

    def is_hinted(self, fact: Fact) -> bool:
        """Whether the evidence ties words of the sentence to the column of a fact."""
        return bool(self.hinted) and any(name.text.lower() in self.hinted for name in fact.names)

    def hint_words(self, fact: Fact) -> list[int]:
        """The words that stand for the column of a fact by the evidence."""
        names = {name.text.lower() for name in fact.names}
        words = (word for hint in self.hints if hint.columns & names for word in hint.words)
        return sorted({i for word in words for i in self.sentence.by_stem.get(word, ())})

    def told(self, fact: Fact) -> bool:
        """Whether enough is said of what sets the column of a fact apart, by any of its names or by the evidence."""
        sentence, entities, words = self.sentence, self.reading.entities, fact.name.words
        if share_told(sentence, fact.name, entities) >= 0.4:
            return True
        if any(name.words != words and share_told(sentence, name, entities) >= 0.4 for name in fact.also):
            return True
        if self.weighed:
            return self.is_hinted(fact)
        if fact.name in self.reading.timed and told_by_kind(sentence, _MOMENT):
            return True
        return told_by_kind(sentence, fact.name)

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


def align(reading: Reading, sentence: Sentence, evidence: Evidence | None = None) -> Alignment:
    form = "form" in reading.offers
    owner = [""] * sentence.n
    for i in _name_words(reading, sentence):
        owner[i] = "name"
    said: dict[Fact, Words] = {}
    for fact in reading.texts:
        match = find_value(sentence, (fact.value or "").strip())
        if match.score >= _least_score(sentence, fact, match.positions, form):
            said[fact] = Words(match.positions)
            for i in match.positions:
                owner[i] = "value"
    for first, last in sentence.quotes:
        owner[first:last] = [claimant or "quote" for claimant in owner[first:last]]
    signals = read_signals(sentence, owner)
    by_kind: dict[str, list[Signal]] = {}
    for signal in signals:
        by_kind.setdefault(signal.kind, []).append(signal)
    if "hardly_any" in by_kind and any(fact.op == "most" for fact in reading.of("quantifier")):
        signals = _with_few_denied(signals)  # hardly any are under 16: most are not
        by_kind["negation"] = [s for s in signals if s.kind == "negation"]
    if "negation" in by_kind or "only" in by_kind:
        meant = turned(sentence, without_idle(sentence, signals, owner, reading), reading)
        if meant != signals:
            signals = meant
            by_kind = {kind: [s for s in signals if s.kind == kind] for kind in dict.fromkeys(s.kind for s in signals)}
    governing = _governing(sentence, signals)
    used: set[int] = set()
    for fact in reading.numerals:
        number_words = _number_words(sentence, fact, governing, form, used)
        if number_words is not None:
            said[fact] = number_words
            if number_words.number is None:
                for i in number_words.positions:
                    owner[i] = "value"
    if reading.texts and not form and sentence.numbers:
        _say_periods(reading, sentence, said, owner, used)
    elaborations = frozenset(_elaborations(reading, sentence)) if form else frozenset()
    hints: tuple[Hint, ...] = ()
    hinted: frozenset[str] = frozenset()
    weighed = "keys" in reading.offers and (evidence is not None or "described" in reading.offers)
    if evidence is not None:
        hints = tuple(evidence.bearing_on(sentence.by_stem))
        hinted = frozenset(column for hint in hints for column in hint.columns)
        _say_by_evidence(reading, sentence, evidence, said)
        _claim_by_hints(sentence, hints, owner, used)
    if weighed:
        _say_dates(reading, sentence, evidence, said)
        _say_by_value_words(reading, sentence, said)
        _use_digits(reading, sentence, used)
    return Alignment(
        reading,
        sentence,
        form,
        tuple(owner),
        by_kind,
        governing,
        said,
        frozenset(used),
        elaborations,
        hints,
        hinted,
        evidence,
        weighed,
    )


def _with_few_denied(signals: Sequence[Signal]) -> list[Signal]:
    """The signals, with a denial for each that says hardly any."""
    denied = {s.first for s in signals if s.kind == "negation"}
    few = [Signal("negation", s.first, s.last) for s in signals if s.kind == "hardly_any" and s.first not in denied]
    return sorted((*signals, *few), key=lambda s: s.first)


def _say_by_evidence(reading: Reading, sentence: Sentence, evidence: Evidence, said: dict[Fact, Words]) -> None:
    """Literals that the evidence gives, though the sentence does not."""
    for fact in (*reading.texts, *reading.numerals):
        if fact not in said and fact.kind == "comparison" and evidence.gives(fact.value or "", fact.number):
            said[fact] = Words((), None, "evidence")


def _claim_by_hints(sentence: Sentence, hints: Sequence[Hint], owner: list[str], used: set[int]) -> None:
    """Words and numbers that a hint explains are no additions: what they stand for is held against the query."""
    explained = {word for hint in hints if hint.columns or hint.conditions or hint.operations for word in hint.words}
    for i, token in enumerate(sentence.tokens):
        if not owner[i] and token.stem in explained:
            owner[i] = "hint"
    for i, number in enumerate(sentence.numbers):
        if owner[number.first] == "hint":
            used.add(i)


def _say_by_value_words(reading: Reading, sentence: Sentence, said: dict[Fact, Words]) -> None:
    """Stored values that the schema explains: POPLATEK TYDNE is said by weekly issuance."""
    unsaid = [fact for fact in (*reading.texts, *reading.numerals) if fact not in said and fact.kind == "comparison"]
    for fact in unsaid:
        value = fact.value or ""
        for use in reading.outline.literals:
            words = use.column.column.value_words.get(value.lower()) if use.column and use.text == value else None
            found = mention(sentence, name_of(words)) if words else None
            if found is not None and found.score >= 0.5:
                said[fact] = Words(found.positions, None, "description")
                break


def _use_digits(reading: Reading, sentence: Sentence, used: set[int]) -> None:
    """Numbers that stand in a literal or in a name that the query uses: 2013/7/12, grades 5 to 17, crimes of 1996."""
    texts = [fact.value for fact in reading.facts if fact.value] + [name.text for name in reading.names]
    digits = {run.lstrip("0") for text in texts for run in _DIGITS.findall(text)}
    in_dates = [span for span, year in written_dates(sentence.text) if str(year) in digits]
    for i, number in enumerate(sentence.numbers):
        start, end = sentence.span(number.first, number.last)
        runs = _DIGITS.findall(sentence.text[start:end])
        glued = start > 0 and (sentence.text[start - 1].isalpha() or sentence.text[start - 1] == "_")  # f1
        said = bool(runs) and (glued or all(run.lstrip("0") in digits for run in runs))
        if said or any(first <= start < last for first, last in in_dates):
            used.add(i)


def _say_periods(
    reading: Reading, sentence: Sentence, said: dict[Fact, Words], owner: list[str], used: set[int]
) -> None:
    """Stored dates that a sentence gives by the year, the month or the feast that they begin, end or are."""
    unsaid = [fact for fact in reading.texts if (fact.value or "")[4:5] == "-" and fact not in said]
    if not unsaid:
        return
    years = [(int(n.value), n.first) for n in sentence.numbers if 1000 <= n.value <= 2999 and n.form == "digits"]
    decades = [(i, number) for i, number in enumerate(sentence.numbers) if number.form == "decade"]
    for fact in unsaid if decades else ():
        for i, number in decades:
            if decade_begun(fact.value or "", number.value):
                said[fact] = Words(range(number.first, number.last), number)
                used.add(i)
    for fact in unsaid if years else ():
        words = period_words(fact.value or "", sentence.lows, years)
        if words is not None:
            said[fact] = Words(words)
            owner[words.start : words.stop] = ["value"] * len(words)
            used.update(i for i, number in enumerate(sentence.numbers) if number.first in words)


def _say_dates(reading: Reading, sentence: Sentence, evidence: Evidence | None, said: dict[Fact, Words]) -> None:
    """Dates that are stored in one form and said in another."""
    unsaid = [fact for fact in (*reading.texts, *reading.numerals) if fact not in said and fact.kind == "comparison"]
    if not unsaid:
        return
    dates = read_dates(sentence.text) | (read_dates(evidence.text) if evidence is not None else frozenset())
    years = {int(number.value) for number in sentence.numbers if 1000 <= number.value <= 2999}
    for fact in unsaid:
        if says_date(fact.value or "", dates, years):
            said[fact] = Words((), None, "question")


def _name_words(reading: Reading, sentence: Sentence) -> set[int]:
    """Words that are there because a name holds them: `number of deaths`, `total credits`, `first name`."""
    claimed: set[int] = set()
    for name in reading.names:
        found = [positions for word in name.words if (positions := literal_positions(sentence, word))]
        if len(name.words) == 1:
            claimed.update(*found)
        elif len(found) > 1:
            for a, b in pairwise(sorted({i for positions in found for i in positions})):
                if b - a == 1 or (b - a == 2 and sentence.lows[a + 1] in sentence.vocabulary.guards["links"]):
                    claimed.update(range(a, b + 1))
    return claimed


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
