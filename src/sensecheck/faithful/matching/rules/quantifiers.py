"""What logic forms alone say: 6 more points in 1976 than in 1975; all, most and only."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import comparators, told_the_other_way, way
from sensecheck.faithful.matching.ruling import Finding, contradicted, missing, rule, said
from sensecheck.faithful.matching.signals import Signal

_HALF_AND_MORE = 6
"""How many words may stand between half and what goes beyond it."""


@rule("form")
def differences(a: Alignment) -> Iterator[Finding]:
    """A difference must be told the way it goes."""
    number = next((f for f in a.reading.of("comparison") if f.aggregate == "diff" and f.number), None)
    if number is None or not number.number or "-" in (number.value or "")[1:]:
        return
    for fact in a.reading.facts:
        if fact.aggregate != "diff" or fact.pair is None:
            continue
        direction = (1 if number.number > 0 else -1) * (-1 if told_the_other_way(a, fact) else 1)
        signals = comparators(a)
        if {way(a, s, fact.name) for s in signals} == {-direction}:
            yield contradicted(fact, "difference_opposite", signals[0].words)


@rule("form")
def quantifiers(a: Alignment) -> Iterator[Finding]:
    """All, most and only must be said, and not for one another."""
    for fact in a.reading.of("quantifier"):
        if fact.op == "only":
            yield _only(a, fact)
        elif fact.op == "most":
            most = a.first("most_quantifier", "hardly_any") or _over_half(a)
            yield said(fact, "most", most.words) if most is not None else missing(fact, "most_missing")
        elif fact.op == "all":
            opposite = a.first_free("few_quantifier") or _most_word(a)
            yield contradicted(fact, "all_opposite", opposite.words) if opposite is not None else said(fact, "all")


def _only(a: Alignment, fact: Fact) -> Finding:
    signal = a.first("only")
    if signal is not None:
        if "not" in a.sentence.lows[max(0, signal.first - 2) : signal.first]:
            return contradicted(fact, "only_denied", signal.words)
        return said(fact, "only", signal.words)
    one = _lone_one(a)
    return said(fact, "only", [one]) if one is not None else missing(fact, "only_missing")


def _lone_one(a: Alignment) -> int | None:
    """`there was one race that`, `one player was`: one thing, counted."""
    low, ones = a.sentence.low, a.sentence.by_low.get("one", ())
    begins = (i for i in ones if i == 0 or low(i - 1) == "," or low(i - 2) == "there")
    return next((i for i in begins if low(i + 1) != "of"), None)


def _most_word(a: Alignment) -> Signal | None:
    words, lows = a.guards["majority"], a.sentence.lows
    majority = (s for s in a.of("most_quantifier") if not words.isdisjoint(lows[s.first : s.last]))
    return next((signal for signal in majority if a.free(signal)), None) or _over_half(a)


def _over_half(a: Alignment) -> Signal | None:
    """Half the fields and then some."""
    for number in a.sentence.numbers:
        if number.form == "fraction":
            behind = range(number.last, number.last + _HALF_AND_MORE)
            return next((s for kind in ("greater", "at_least") for s in a.of(kind) if s.first in behind), None)
    return None
