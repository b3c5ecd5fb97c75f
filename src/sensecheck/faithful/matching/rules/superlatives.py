"""Superlatives against MAX, MIN and orders that a limit cuts."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import best_known, comparators, one_ahead, pointing, way
from sensecheck.faithful.matching.leftover import leftover, spoken
from sensecheck.faithful.matching.ruling import Finding, added, contradicted, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import Signal
from sensecheck.faithful.matching.spelling import near


def _assigned(a: Alignment, signals: list[Signal]) -> list[tuple[Fact, bool, list[Signal]]]:
    """Each extreme of the query with the superlatives that speak of it, and whether they point the right way."""
    facts = [f for f in a.reading.facts if f.limited or (f.kind == "aggregate" and f.aggregate in ("max", "min"))]
    assigned = []
    for fact in facts:
        agreeing = pointing(a, signals, fact.name, fact.direction) or pointing(a, signals, fact.name, 0)
        if not agreeing and fact.direction < 0 and fact.name in a.reading.timed and a.says("lasting"):
            agreeing = [s for s in signals if s.word == "long"]  # what has been here longest came first
        opposing = [] if agreeing else pointing(a, signals, fact.name, -fact.direction)
        if any(f.direction == -fact.direction for f in facts if f is not fact):
            opposing = []  # they speak of the other end, which is asked for too
        assigned.append((fact, bool(agreeing), agreeing or opposing))
    return assigned


@rule()
def superlatives(a: Alignment) -> Iterator[Finding]:
    """The largest and the smallest must be asked for, and not for one another."""
    signals = best_known(a, a.of("superlative"))
    for fact, agrees, words in _assigned(a, signals):
        if words and agrees:
            yield said(fact, "extreme", words[0].words)
        elif words:
            yield contradicted(fact, "extreme_opposite", words[0].words)
        elif (not signals or _misspelt(a, fact)) and _unsaid_extreme(a, fact):
            yield unsaid(fact, "extreme")
        else:
            yield missing(fact, "extreme_loosely_told" if _loosely_told(a, signals) else "extreme_missing")


def _unsaid_extreme(a: Alignment, fact: Fact) -> bool:
    """Extremes that are said in other ways: more than any, ranked first, before all others."""
    if fact.kind == "aggregate":
        if (fact.role == "having" and comparators(a)) or (fact.role == "inner" and a.says("inner_extreme")):
            return True
    elif fact.role == "nth" and not _run_of(a, fact):
        ordinal = any(n.form == "ordinal" for n in a.sentence.numbers)
        ahead = one_ahead(a) and bool(pointing(a, comparators(a), fact.name, fact.direction, 0))
        if fact.number == 2 and (ahead or a.says("second_place")):
            return True
        return ordinal or (fact.number == 1 and a.says("numbered"))
    elif _run_of(a, fact) or (fact.optional and a.first("sorting")):
        return True
    if _misspelt(a, fact) or pointing(a, best_known(a, a.of("comparative")), fact.name, fact.direction, 0):
        return True
    if a.says("whole") and pointing(a, comparators(a), fact.name, fact.direction, 0):
        return True  # before all other units
    most = fact.direction > 0 and a.first("most_quantifier") and "most" in a.sentence.by_low
    return bool(most) or "limit" in a.sentence.by_low


def _loosely_told(a: Alignment, signals: list[Signal]) -> bool:
    """Whether an extreme may be told in words that no list has: how hot did anybody run."""
    if a.form or a.weighed or signals or comparators(a) or a.first("average", "average_soft", "sum") is not None:
        return False
    return spoken(a) and len(leftover(a)) > 0


def _run_of(a: Alignment, fact: Fact) -> bool:
    """Whether the sentence says in words which way an order runs."""
    return a.first("descending" if fact.direction > 0 else "ascending") is not None


def _misspelt(a: Alignment, fact: Fact) -> bool:
    vocabulary = a.vocabulary
    return any(
        -3 < len(low) - len(word) < 3 and near(low, word) and vocabulary.points(base, fact.name) == fact.direction
        for low in a.sentence.lows
        if len(low) >= 6 and low not in vocabulary.superlatives
        for word, base in vocabulary.long_superlatives.get(low[0], ())
    )


@rule()
def superlatives_added(a: Alignment) -> Iterator[Finding]:
    """Superlatives that the query does not have."""
    signals = best_known(a, a.of("superlative"))
    if not signals or a.reading.of("quantifier"):
        return
    assigned = _assigned(a, signals)
    facts = [fact for fact, _, _ in assigned]
    if not facts and a.reading.of("order"):
        return
    used = {signal for _, _, words in assigned for signal in words}
    for signal in signals:
        if signal in used or _says_no_extreme(a, signal):
            continue
        if not facts:
            name = "extreme_added_logic" if a.form else "extreme_added"
        elif any(way(a, signal, f.name) == -f.direction for f in facts):
            name = "extreme_added_opposite"
        else:
            continue
        yield added(a.sentence, "superlative", name, signal.words)
        return


def _says_no_extreme(a: Alignment, signal: Signal) -> bool:
    """Superlatives that say where and not how much, that belong to a name, or that no list knows."""
    low = a.sentence.lows[signal.first]
    return (
        not a.free(signal)
        or (signal.word != "" and signal.word not in a.vocabulary.classes)
        or signal.word in a.guards["places"]
        or a.sentence.low(signal.first - 1) == "at"
        or any(low in name.words or low.removesuffix("ly") in name.words for name in a.reading.names)  # mainly
    )
