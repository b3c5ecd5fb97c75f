"""6 more points in 1976 than in 1975: the sign of a difference."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import comparators, told_the_other_way, way
from sensecheck.faithful.matching.ruling import Finding, contradicted, rule


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
