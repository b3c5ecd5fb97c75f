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


class Signal(NamedTuple):
    """A phrase that says something about the query: tokens[first:last]."""

    kind: str
    first: int
    last: int
    word: str = ""  # the gradable word behind a comparative or superlative
    sign: int = 1  # -1 for less X, least X

    @property
    def words(self) -> range:
        return range(self.first, self.last)


def read_signals(sentence: Sentence, owner: Sequence[str]) -> list[Signal]:
    """The signals among the tokens that no value or quotation has claimed, in the order of the sentence."""
    signals: list[Signal] = []
    i = 0
    while i < sentence.n:
        info = sentence.words[i]
        step = 1
        if owner[i] in ("value", "quote") or sentence.tokens[i].kind == "number":
            i += 1
            continue
        phrase = _phrase_at(sentence, i) if info.phrases else None
        if phrase is not None:
            step = len(phrase[0])
            for kind in phrase[1]:
                signals.append(Signal(kind, i, i + step))
        if info.negative:
            signals.append(Signal("negation", i, i + 1))
        if info.degree and (step == 1 or _holds_degree(sentence.lows[i], phrase)):
            degree = _degree_at(sentence, i)
            if degree is not None:
                signals.append(degree)
                step = max(step, degree.last - i)
        i += step
    return signals


def _phrase_at(sentence: Sentence, i: int) -> Phrase | None:
    """The longest phrase that begins at a token, as it is meant there."""
    lows, tokens = sentence.lows, sentence.tokens
    for phrase in sentence.words[i].phrases:
        keys = phrase[0]
        if len(keys) == 1:
            return phrase
        if i + len(keys) > sentence.n:
            continue
        for k, key in enumerate(keys):
            if key != lows[i + k] and (key[0] != "~" or key[1:] != tokens[i + k].stem):
                break
        else:
            return _as_meant(sentence, i, phrase) if phrase[1][0] in INCLUSIVE else phrase
    return None


def _as_meant(sentence: Sentence, i: int, phrase: Phrase) -> Phrase | None:
    """`at least` and its like compare only beside a number."""
    low, after = sentence.lows[i], i + len(phrase[0])
    if low in ("and", "or"):
        if after == i + 2 and (_numeric(sentence, after) or sentence.low(after) == "than"):
            return (low,), (low,)  # below 100 and above 500
    elif low in ("not", "no"):
        if not any(_numeric(sentence, k) or sentence.low(k) == "average" for k in range(after, after + 4)):
            return (low,), ("negation",)  # not under the label of
    elif low == "at":
        starts = sentence.vocabulary.guards["amount_starts"]
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
        return (
            Signal("superlative", i, i + 1, low[:-3]) if sentence.tokens[i].text[0].islower() else None
        )  # not Budapest
    return Signal("comparative", i, i + 1, low[:-2]) if follower == "than" else None
