"""The signals that the words of a sentence give: not, more than, at least, the highest, in descending order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.faithful.matching.vocabulary import Phrase
from sensecheck.language.numbers import NUMBER_WORDS

INCLUSIVE = frozenset(("at_least", "at_most"))
DIRECTION = {"greater": 1, "less": -1, "at_least": 1, "at_most": -1, "after": 1, "before": -1, "multiple": 1}
"""Which way a signal compares."""

_EXTREMES = frozenset(("maximum", "minimum", "most_quantifier"))
_DEGREES = {
    "more": ("comparative", 1),
    "less": ("comparative", -1),
    "most": ("superlative", 1),
    "least": ("superlative", -1),
}


_LIMITS = {
    "max": "at_most",
    "maximum": "at_most",
    "tops": "at_most",
    "min": "at_least",
    "minimum": "at_least",
    "plus": "at_least",
}
"""What limits the number before it: ten minutes max."""
_AHEAD = frozenset(("max", "maximum", "min", "minimum"))
"""What may limit the number behind it too."""
_BY_NEIGHBOURS = frozenset((*_LIMITS, "past", "other", "another"))


class Signal(NamedTuple):
    """A phrase that says something about the query: tokens[first:last]."""

    kind: str
    first: int
    last: int
    word: str = ""  # the gradable word behind a comparative or superlative
    sign: int = 1  # -1 for less X, least X
    turned: bool = False  # by a denial: not more than

    @property
    def inclusive(self) -> bool:
        """Whether the limit itself is meant too: at least, not more than."""
        return (self.kind in INCLUSIVE) != self.turned

    @property
    def words(self) -> range:
        return range(self.first, self.last)


def read_signals(sentence: Sentence, owner: Sequence[str]) -> list[Signal]:
    """The signals among the tokens that no value or quotation has claimed, in the order of the sentence."""
    signals: list[Signal] = []
    end = 0  # of the signals so far
    for i in sentence.telling:
        if i < end or owner[i] in ("value", "quote") or sentence.tokens[i].kind == "number":
            continue
        info = sentence.words[i]
        if sentence.lows[i] in _BY_NEIGHBOURS:
            odd = _by_neighbours(sentence, i)
            if odd is not None:
                signals += odd
                end = i + 1
                continue
        phrase = _phrase_at(sentence, i) if info.phrases else info.alone
        end = i + 1 if phrase is None else i + len(phrase[0])
        if phrase is not None:
            extremes = sentence.vocabulary.extremes
            signals += [
                Signal("superlative", i, end, extremes[kind]) if kind in extremes else Signal(kind, i, end)
                for kind in phrase[1]
            ]
        if info.negative:
            signals.append(Signal("negation", i, i + 1))
        if info.degree and (end == i + 1 or _holds_degree(sentence.lows[i], phrase)):
            degree = _degree_at(sentence, i)
            if degree is not None:
                signals.append(degree)
                end = max(end, degree.last)
    return signals


def _by_neighbours(sentence: Sentence, i: int) -> list[Signal] | None:
    """What a word signals that means something else beside a number or before `than`; None for what it says anyway."""
    low = sentence.lows[i]
    if low == "past":
        return [] if sentence.low(i - 1) in ("the", "this") else None  # in the past 5 years
    if low in ("other", "another"):
        return [Signal("negation", i, i + 1)] if "than" in sentence.lows[i + 2 : i + 4] else None  # another thing than
    ahead = low in _AHEAD and _numeric(sentence, i + 1)  # minimum 4 stars
    return [Signal(_LIMITS[low], i, i + 1)] if ahead or _behind_number(sentence, i, 0 if low == "plus" else 1) else None


def _behind_number(sentence: Sentence, i: int, gap: int = 1) -> bool:
    return any(k >= 0 and _numeric(sentence, k) for k in range(i - 1 - gap, i))


def _phrase_at(sentence: Sentence, i: int) -> Phrase | None:
    """The longest phrase that begins at a token, as it is meant there."""
    lows, tokens, info = sentence.lows, sentence.tokens, sentence.words[i]
    if i + 1 == sentence.n or (lows[i + 1] not in info.seconds and tokens[i + 1].stem not in info.second_stems):
        return info.alone
    for phrase in info.phrases:
        keys = phrase[0]
        if i + len(keys) > sentence.n:
            continue
        for k, key in enumerate(keys[1:], i + 1):  # the first has been looked up
            if key != lows[k] and (key[0] != "~" or key[1:] != tokens[k].stem):
                break
        else:
            if keys[-1] == "a" and phrase[1][0] == "multiple" and _numeric(sentence, i + len(keys)):
                continue  # more than a hundred
            if phrase[1][0] not in INCLUSIVE:
                return phrase
            meant, others = _as_meant(sentence, i, phrase), phrase[1][1:]
            if meant is phrase:
                return keys, phrase[1][:1]  # 5 at the most
            return (keys, others) if meant is None and others else meant  # at the most: how much
    return info.alone


def _as_meant(sentence: Sentence, i: int, phrase: Phrase) -> Phrase | None:
    """`at least` and its like compare only beside a number."""
    low, after = sentence.lows[i], i + len(phrase[0])
    if low in ("and", "or"):
        numeric = _numeric(sentence, after) or (sentence.low(after) == "a" and _numeric(sentence, after + 1))
        if after == i + 2 and (numeric or sentence.low(after) == "than"):
            return (low,), (low,)  # below 100 and above 500
    elif low in ("not", "no"):
        amounts = sentence.vocabulary.guards["amounts"]
        if not any(_numeric(sentence, k) or sentence.low(k) in amounts for k in range(after, after + 4)):
            return (low,), ("negation",)  # not under the label of
    elif low == "at":
        starts = sentence.vocabulary.guards["amount_starts"]
        if _behind_number(sentence, i, 3):
            return phrase  # 10 loads at the very least
        if not any(_numeric(sentence, k) or sentence.low(k) in starts for k in (i + 2, i + 3)):
            return None  # at most games, at least partly
    return phrase


def _numeric(sentence: Sentence, i: int) -> bool:
    return i < sentence.n and (sentence.tokens[i].kind == "number" or sentence.lows[i] in NUMBER_WORDS)


def _holds_degree(low: str, phrase: Phrase | None) -> bool:
    """Whether a phrase of several words may begin with a superlative; more than half is none."""
    return phrase is not None and phrase[1][0] in _EXTREMES and low not in ("more", "less")


def _degree_at(sentence: Sentence, i: int) -> Signal | None:
    """The comparative or superlative at a token."""
    vocabulary, low, follower = sentence.vocabulary, sentence.lows[i], sentence.low(i + 1)
    if low in _DEGREES and follower in vocabulary.classes and follower not in vocabulary.guards["bare_degrees"]:
        kind, sign = _DEGREES[low]
        return Signal(kind, i, i + 2, follower, sign)
    if low in vocabulary.superlatives:
        return Signal("superlative", i, i + 1, vocabulary.superlatives[low])
    if low in vocabulary.comparatives:
        return Signal("comparative", i, i + 1, vocabulary.comparatives[low])
    if low.endswith("est"):
        lower_case = sentence.tokens[i].text[0].islower()  # not Budapest
        return Signal("superlative", i, i + 1, low[:-3]) if lower_case else None
    return Signal("comparative", i, i + 1, low[:-2]) if follower == "than" else None
