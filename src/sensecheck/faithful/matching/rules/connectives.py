"""And, or, both: conditions and set operations."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import comparators
from sensecheck.faithful.matching.leftover import spoken
from sensecheck.faithful.matching.ruling import Finding, added, contradicted, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import Signal

_NEAR_OR = 4
"""How far from an `or` stands what it joins."""


def _alternatives(a: Alignment) -> list[Fact]:
    return [f for f in a.reading.of("connective") if f.op == "or"]


@rule()
def alternatives(a: Alignment) -> Iterator[Finding]:
    """Conditions of which one is enough must be told as such."""
    signal = a.first("or")
    for fact in _alternatives(a):
        if signal is not None:
            yield said(fact, "or", signal.words)
        elif fact.optional or _listed_values(a):
            yield unsaid(fact, "or")
        else:
            yield contradicted(fact, "or_unsaid") if a.first("both") else missing(fact, "or_unsaid")


def _listed_values(a: Alignment) -> bool:
    """`cashiers and gardeners`: two values of one column, which no row has at once; `both` asks for that."""
    facts = [f for f in a.reading.of("comparison") if f.role == "where"]
    return (
        len(facts) > 1
        and len({f.name for f in facts}) == 1
        and all(f.op == "=" and a.worded(f) for f in facts)
        and "and" in a.sentence.by_low
        and a.first("both") is None
    )


@rule("query")
def or_added(a: Alignment) -> Iterator[Finding]:
    """An `or` that the query does not have."""
    signal = a.first("or")
    if signal is None or _alternatives(a) or any(f.op == "union" for f in a.reading.of("setop")):
        return
    if not _harmless(a, signal):
        name = "or_in_passing" if not a.weighed and not _joins_conditions(a, signal) and spoken(a) else "or_added"
        yield added(a.sentence, "connective", name, signal.words)


def _joins_conditions(a: Alignment, signal: Signal) -> bool:
    """Whether a value, a number or a comparison stands beside an `or`: not grass or that plastic stuff."""
    beside = range(max(0, signal.first - _NEAR_OR), min(signal.last + _NEAR_OR, a.sentence.n))
    if any(a.owner[i] in ("value", "quote") or a.sentence.tokens[i].kind == "number" for i in beside):
        return True
    starts = {number.first for number in a.sentence.numbers} | {s.first for s in comparators(a)}
    return not starts.isdisjoint(beside)


def _harmless(a: Alignment, signal: Signal) -> bool:
    """Whether an `or` joins no conditions: he or she, 5 or more, the two words of a name."""
    sentence = a.sentence
    nearby = {token.stem for token in sentence.tokens[max(0, signal.first - 2) : signal.last + 2]}
    return (
        any(len(nearby.intersection(name.stems)) >= 2 for name in a.reading.names)
        or not a.guards["harmless_or"].isdisjoint(sentence.lows[max(0, signal.first - 1) : signal.last + 1])
        or sentence.lows[signal.first] == "any"
        or sentence.low(signal.last) in a.guards["or_vague"]
        or bool(a.reading.of("negation"))
        or any(f.op in (">=", "<=") for f in a.reading.facts)
    )


@rule()
def unions(a: Alignment) -> Iterator[Finding]:
    """A union told as what holds of the same rows."""
    setops = a.reading.of("setop")
    union = next((f for f in setops if f.op == "union"), None)
    if union is None or a.first("or") is not None:
        return
    both, lows = a.first("both"), a.sentence.lows
    if both is not None:
        if " ".join(lows[both.first : both.last]) in a.guards["of_the_same"]:
            yield contradicted(setops[0], "union_both", both.words)
        return
    clause = next((i for i, low in enumerate(lows) if low in a.guards["relative_pronouns"]), len(lows))
    if "and" in lows[clause:]:
        yield contradicted(union, "union_and")
