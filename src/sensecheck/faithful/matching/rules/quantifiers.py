"""All, most and only of logic forms."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.ruling import Finding, contradicted, missing, rule, said
from sensecheck.faithful.matching.signals import Signal


@rule("form")
def quantifiers(a: Alignment) -> Iterator[Finding]:
    """All, most and only must be said, and not for one another."""
    for fact in a.reading.of("quantifier"):
        if fact.op == "only":
            yield _only(a, fact)
        elif fact.op == "most":
            most = a.first("most_quantifier")
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
    low = a.sentence.low
    for i in a.sentence.by_low.get("one", ()):
        if low(i + 1) != "of" and (i == 0 or low(i - 1) == "," or low(i - 2) == "there"):
            return i
    return None


def _most_word(a: Alignment) -> Signal | None:
    for signal in a.of("most_quantifier"):
        if a.sentence.lows[signal.first] in a.guards["majority"] and a.free(signal):
            return signal
    return None
