"""More and less, over and under, before and after: comparisons, both ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import comparators, one_ahead, pointing, told_the_other_way, way
from sensecheck.faithful.matching.leftover import spoken
from sensecheck.faithful.matching.ruling import Finding, added, contradicted, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import Signal
from sensecheck.language.numbers import Number


@rule()
def comparisons(a: Alignment) -> Iterator[Finding]:
    """What the query compares must be compared, the same way."""
    facts = a.reading.directed
    if not facts:
        return
    signals, between = comparators(a), a.first("between")
    for fact in facts:
        if fact in a.said and a.said[fact].source == "evidence":
            yield said(fact, "comparison")  # whether it is the same comparison is asked of the hints
            continue
        finding = _by_number(a, fact, facts)
        if finding is None and between is not None:
            finding = said(fact, "comparison", between.words)
        finding = finding or _by_words(a, fact, facts, signals)
        if finding is not None:
            yield finding


def _by_number(a: Alignment, fact: Fact, facts: Sequence[Fact]) -> Finding | None:
    """What the word that governs the number of a comparison makes of it."""
    words = a.said.get(fact)
    number = words.number if words is not None else None
    governing = a.governing.get(number.first) if number is not None else None
    if number is None or governing is None:
        return None
    direction = way(a, governing, fact.name)
    if direction == fact.direction:
        exact = not a.form and number.value == fact.number and governing.kind not in ("multiple", "after", "before")
        if exact and governing.inclusive != (fact.op in (">=", "<=")):
            return contradicted(fact, "comparison_inclusive", governing.words)
        return said(fact, "comparison", governing.words)
    meant = any(f.number == fact.number and f.direction == direction for f in facts if f is not fact)
    if direction == -fact.direction and not meant and not _negated(a, governing):
        return contradicted(fact, "comparison_opposite", governing.words)
    return None


def _by_words(a: Alignment, fact: Fact, facts: Sequence[Fact], signals: Sequence[Signal]) -> Finding | None:
    """What any word that compares makes of a comparison; nothing where a denial turns it round."""
    direction = -fact.direction if told_the_other_way(a, fact) else fact.direction
    agreeing = pointing(a, signals, fact.name, direction, 0)
    if agreeing:
        return said(fact, "comparison", agreeing[0].words)
    opposing = pointing(a, signals, fact.name, -direction)
    if opposing and not any(f.direction == -direction for f in facts if f is not fact):
        return None if _negated(a, opposing[0]) else contradicted(fact, "comparison_opposite", opposing[0].words)
    if _unsaid_comparison(a, fact):
        return unsaid(fact, "comparison")
    if a.form:
        return missing(fact, "comparison_missing_logic")
    return missing(fact, "comparison_loosely_told" if _loosely_told(a, fact, signals) else "comparison_missing")


def _loosely_told(a: Alignment, fact: Fact, signals: Sequence[Signal]) -> bool:
    """Whether a comparison may be told in words that no list has: nothing else compares, and nothing limits it."""
    if a.weighed or signals or a.first("only") is not None or "from" in a.sentence.by_low:
        return False
    return spoken(a)


def _negated(a: Alignment, signal: Signal) -> bool:
    """`not more than` for at most, or a denial elsewhere that turns the comparison round."""
    if any(not f.optional for f in a.reading.of("negation")) or 0 in a.reading.numbers:
        return False
    return any(0 <= signal.first - cue.last <= 4 for cue in a.of("negation"))


def _unsaid_comparison(a: Alignment, fact: Fact) -> bool:
    """Comparisons that people say in other words."""
    number, by_low = fact.number, a.sentence.by_low
    if a.form and "top" in by_low:
        return True
    if fact.role == "values" and not a.elaborations and any(f.role == "result" for f in a.reading.facts):
        return True  # both results are given instead
    if number is not None:
        if number <= 1:
            return fact.direction > 0 or a.first("negation") is not None
        if number == 2 and fact.op == ">=":
            return a.first("multiple") is not None or a.says("many")
    words = a.said.get(fact)
    if fact.op == ">=" and words is not None and words.positions:
        first = min(words.positions)
        if "from" in a.sentence.lows[max(0, first - 3) : first]:
            return True  # from New Year's Day on
    # A superlative or a from … to says it too.
    if a.first("superlative") and fact.role in ("subquery", "values", "columns"):
        return True
    return ("from" in by_low and "to" in by_low and fact.role != "values") or a.says("said_by_comparing")


@rule()
def comparisons_added(a: Alignment) -> Iterator[Finding]:
    """Comparison words that govern a number or an average while the query compares nothing."""
    signals = () if a.reading.directed else comparators(a)
    if not signals or any(f.op == "between" or f.aggregate == "diff" for f in a.reading.facts):
        return
    for signal in signals:
        name = "" if _idle(a, signal) else _added_as(a, signal)
        if name:
            yield added(a.sentence, "comparison", name, signal.words)
            return


def _idle(a: Alignment, signal: Signal) -> bool:
    """Comparison words that compare with nothing."""
    lows, after = a.sentence.lows, a.sentence.low(signal.last)
    if (
        after == "-"
        or a.sentence.low(signal.first - 1) == "just"
        or "than not" in " ".join(lows[signal.last : signal.last + 5])
    ):
        return True  # under-21, more of them than not
    of_all = not a.guards["than_all"].isdisjoint(lows[signal.last : signal.last + 9])
    if of_all and "than" in lows[signal.last : signal.last + 6] and (a.form or a.reading.of("order")):
        return True  # more than any other: a superlative
    if a.form and _rank_by_those_ahead(a, signal):
        return True  # only two are older, so the third oldest
    if signal.kind == "at_least":
        return after in a.guards["at_least_one"]
    return signal.kind == "comparative" and lows[signal.last : signal.last + 2] == ["than", "0"]


def _rank_by_those_ahead(a: Alignment, signal: Signal) -> bool:
    ordinals = {fact.number for fact in a.reading.of("ordinal")}
    ahead = {n.value + 1 for n in a.sentence.numbers if signal.word and 0 <= signal.first - n.last <= 6}
    return not ordinals.isdisjoint(ahead) or (2 in ordinals and one_ahead(a))


def _added_as(a: Alignment, signal: Signal) -> str:
    """The name of the finding that a comparison word makes; none for one that may be said of anything."""
    kind = signal.kind
    if kind == "multiple":
        more_than_one = signal.last - signal.first == 3 and not a.form and not a.reading.of("negation")
        return "comparison_added" if more_than_one else ""
    ahead = a.sentence.lows[signal.last : signal.last + 3]
    if kind == "comparative":
        return "comparison_added" if "than" in ahead else ""
    governs = any(_limits(signal, n) for n in a.sentence.numbers)
    if kind in ("after", "before"):
        return "comparison_added_time" if governs else ""
    return "comparison_added" if governs or "average" in ahead else ""


def _limits(signal: Signal, number: Number) -> bool:
    """Whether a comparison word may bear on a number: `one` only right behind it, since it says `a` as well."""
    reach = 0 if number.value == 1 and number.form == "word" else 2
    return 0 <= number.first - signal.last <= reach and number.form != "ordinal"
