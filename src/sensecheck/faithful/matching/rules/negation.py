"""Negation, both ways: not, never, without, except against !=, NOT IN, EXCEPT."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.ruling import Finding, added, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import Signal
from sensecheck.faithful.matching.values import denied_opposite
from sensecheck.language.morphology import lemma


@rule()
def negations(a: Alignment) -> Iterator[Finding]:
    """What the query denies, the sentence must deny."""
    facts = _required(a)
    cues = (_cues(a) or a.of("negation_soft")) if facts else ()
    for fact in facts:
        if cues:
            yield said(fact, "negation", cues[0].words)
        elif _sounds_negative(a, "negative_openings", longer_than=5):
            yield unsaid(fact, "negation")
        else:
            yield missing(fact, "negation_missing")


def _cues(a: Alignment) -> list[Signal]:
    return [s for s in a.of("negation") if a.owner[s.first] not in ("value", "quote")]


def _required(a: Alignment) -> list[Fact]:
    """Denials that must be said: not of a value that is asked for too, nor of one that means no and goes unsaid."""
    facts = a.reading.of("negation")
    if not facts:
        return facts
    asserted = {f.value for f in a.reading.of("comparison") if f.op == "="}
    worded = set() if a.form else {f.value for f in a.reading.facts if a.worded(f)}
    stored_no = {f.value for f in facts if f.plain_value in a.vocabulary.no} - worded
    return [f for f in facts if not f.optional and (f.value is None or f.value not in asserted | stored_no)]


def _sounds_negative(a: Alignment, openings: str, longer_than: int = 0) -> bool:
    """Whether a word begins like a denial: unpaved, nonfiction; not like under or include."""
    prefixes, innocent = tuple(a.guards[openings]), a.guards["not_negative"]
    return any(len(low) > longer_than and low.startswith(prefixes) and low not in innocent for low in a.sentence.lows)


@rule("query")
def negation_counts(a: Alignment) -> Iterator[Finding]:
    """Two denials are not one."""
    facts = _required(a)
    cues = _cues(a) if facts else []
    if not cues:
        return
    lows = a.sentence.lows
    said_count = sum(1 for cue in cues if lows[cue.first] != "nor" and not _idle(a, cue))
    asked_count = len({(f.op, f.value) if f.op != "!=" else ("!=", "") for f in facts})
    value_count = len({f.value for f in facts if f.op == "!="})
    if asked_count >= 2 and said_count == 1 and "nor" not in lows:
        yield missing(facts[-1], "negation_count", cues[0].words)
    elif (
        asked_count == 1 and said_count > max(1, value_count) and any(y.first - x.last <= 1 for x, y in pairwise(cues))
    ):
        yield added(a.sentence, "negation", "negation_doubled", cues[-1].words)


@rule("form")
def denial_missing(a: Alignment) -> Iterator[Finding]:
    """A stored value that means no wants a denial, unless it is said itself."""
    if a.first("negation_soft") or a.reading.of("negation") or _cues(a) or _sounds_negative(a, "negative_prefixes"):
        return
    for fact in a.reading.of("comparison"):
        if fact.op == "=" and fact.plain_value in a.guards["denials"] and not a.worded(fact):
            yield missing(fact, "denial_missing")
            return


@rule()
def negation_added(a: Alignment) -> Iterator[Finding]:
    """A denial that the query does not have."""
    cues = _cues(a)
    if a.reading.of("negation") or not cues or any(_denies(a, f) for f in a.reading.of("comparison")):
        return
    for cue in cues:
        if not _idle(a, cue) and not _failure(a, cue):
            yield added(a.sentence, "negation", "negation_added", cue.words)
            return


def _denies(a: Alignment, fact: Fact) -> bool:
    """Whether a value denies by itself."""
    if fact.value is None:
        return False
    low = fact.plain_value
    return (
        not low
        or (low in a.vocabulary.no and (a.form or not a.worded(fact)))
        or denied_opposite(a.sentence, low)
        or fact.number == 0
        or (fact.op == "<" and fact.number == 1)
        or any(low.startswith(start) for start in a.guards["negative_starts"])
        or any(part in low for part in a.guards["negative_parts"])
    )


def _failure(a: Alignment, cue: Signal) -> bool:
    """`did not make`, `never won` for a stored missed cut, loss or retired."""
    if not any(lemma(low) in a.guards["successes"] for low in a.sentence.lows[cue.last : cue.last + 3]):
        return False
    return any(
        not a.guards["failures"].isdisjoint((*fact.value.lower().split(), *fact.name.words))
        for fact in a.reading.of("comparison")
        if fact.op == "=" and fact.value is not None
    )


def _idle(a: Alignment, cue: Signal) -> bool:
    """Words of negation that deny nothing."""
    guards, lows = a.guards, a.sentence.lows
    low, before, after = lows[cue.first], a.sentence.low(cue.first - 1), a.sentence.low(cue.last)
    if low in guards["idle_anywhere"] or before in guards["idle_before"] or a.owner[cue.first] == "name":
        return True
    if low == "not" and (before == "or" or after in guards["idle_after_not"]):
        return True  # whether or not, not only
    if low == "not" and after in guards["everything"] and any(f.op == "most" for f in a.reading.of("quantifier")):
        return True
    if (low == "no" and after in guards["idle_after_no"]) or (low == "outside" and "top" in lows[cue.last :][:3]):
        return True
    return a.form and (low in guards["idle_in_forms"] or _turns_comparison(a, cue))


def _turns_comparison(a: Alignment, cue: Signal) -> bool:
    """Not in the top 15, neither scored more than 3: the denial turns the comparison round."""
    return bool(a.reading.directed) and not a.guards["turned_degrees"].isdisjoint(
        a.sentence.lows[cue.last : cue.last + 6]
    )
