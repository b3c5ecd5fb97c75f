"""Numbers: what the query states must be said, what the sentence states must be asked for."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import one_ahead
from sensecheck.faithful.matching.leftover import spoken
from sensecheck.faithful.matching.numerals import span_at
from sensecheck.faithful.matching.ruling import Finding, added, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import DIRECTION
from sensecheck.faithful.matching.values import month_of
from sensecheck.language.numbers import Number

_DIGITS = {"single": (10, -1), "double": (10, 1), "triple": (100, 1)}
"""In so many digits → where such numbers end or begin."""

_MISSING = {"limit": "limit_missing", "ordinal": "ordinal_missing", "comparison": "number_missing"}


@rule()
def numbers(a: Alignment) -> Iterator[Finding]:
    """Numbers must be said."""
    for fact in a.reading.numerals:
        words = a.said.get(fact)
        if words is not None and words.number is not None:
            yield said(fact, "number", words.positions)
        elif _unsaid_number(a, fact) or fact in a.elaborations:
            yield unsaid(fact, "number")
        elif words is not None:
            yield said(fact, "value", words.positions)
        else:
            yield missing(fact, "number_left_out" if a.form and _left_out(a, fact) else _MISSING[fact.kind])


def _left_out(a: Alignment, fact: Fact) -> bool:
    """Whether a result is not given, and no other number stands in its place; years stand in place of years only."""
    if fact.role not in ("result", "approximate") or fact.aggregate in ("count", "avg", "sum"):
        return False
    year = _year(fact.number or 0)
    return not any(
        n.value not in a.reading.numbers
        and (year or not _year(n.value))
        and not a.owner[n.first]
        and n.form in ("digits", "word", "ordinal")
        for n in a.sentence.numbers
    )


def _year(number: float) -> bool:
    return 1700 <= number <= 2100


def _unsaid_number(a: Alignment, fact: Fact) -> bool:
    """Numbers that people leave out or say otherwise."""
    number = fact.number
    assert number is not None
    if fact.kind == "limit":
        return number == 1
    if fact.kind == "ordinal":
        return number == 1 or (number == 2 and (a.says("second_place") or one_ahead(a)))
    return (
        _some(a, fact, number)
        or (number == 0 and _no_more_or_less(a, fact))
        or _in_words(a, fact, number)
        or _one_of(a, fact, number)
        or (number == 2 and a.says("pair"))
        or (number in (0, 1) and not a.form and fact.op in ("=", "!=") and not a.sentence.numbers)
    )


def _some(a: Alignment, fact: Fact, number: float) -> bool:
    """That there are any, or several."""
    op = fact.op
    if (number == 0 and op in ("!=", ">")) or (number <= 1 and op == ">="):
        return True
    several = (op == ">=" and number == 2) or (op == ">" and number == 1)
    return several and (a.first("multiple") is not None or a.says("several"))


def _no_more_or_less(a: Alignment, fact: Fact) -> bool:
    """None, or a change that goes up or down: zero is the measure's own."""
    if a.first("negation") is not None or a.says("naught"):
        return True
    if not fact.direction:
        return False
    if a.says("rising" if fact.direction > 0 else "falling"):
        return True  # the population decreased
    positions = a.mention(fact.name).positions  # below par, above sea level: the measure counts from there
    return any(s.last in positions for kind in (*DIRECTION, "comparative") for s in a.of(kind))


def _in_words(a: Alignment, fact: Fact, number: float) -> bool:
    """An hour, in August, in double digits."""
    by_low = a.sentence.by_low
    if any(number in span_at(a.sentence, i + 1) for word in a.guards["one"] for i in by_low.get(word, ())):
        return True
    if (
        number == 1
        and fact.direction
        and any(_unit(a, i + 1) for word in a.guards["one"] for i in by_low.get(word, ()))
    ):
        return True  # less than a pound
    if any(number == share * k for i in by_low.get("half", ()) for share, k in _halves(a, i)):
        return True
    quarters = (i for word in ("quarter", "quarters") for i in by_low.get(word, ()))
    if any(number == share * k for i in quarters for share, k in _quarters(a, i)):
        return True
    if month_of(a.sentence, fact):
        return True
    return ("digit" in by_low or "digits" in by_low) and any(
        word in by_low and number in (limit, limit - 1) and fact.direction == way
        for word, (limit, way) in _DIGITS.items()
    )


def _unit(a: Alignment, i: int) -> bool:
    return a.sentence.low(i) in a.guards["measures"]


def _halves(a: Alignment, i: int) -> Iterator[tuple[float, int]]:
    """Half an hour, an hour and a half: how much of a span of time, and what the span counts for."""
    low = a.sentence.low
    if low(i + 1) in a.guards["one"]:
        yield from ((0.5, k) for k in span_at(a.sentence, i + 2))
    if low(i - 1) in a.guards["one"] and low(i - 2) == "and" and i >= 3:
        yield from ((1.5, k) for k in span_at(a.sentence, i - 3))


def _quarters(a: Alignment, i: int) -> Iterator[tuple[float, int]]:
    """A quarter of an hour, three quarters of a year."""
    low = a.sentence.low
    if low(i + 1) == "of" and low(i + 2) in a.guards["one"]:
        yield from ((0.75 if low(i - 1) == "three" else 0.25, k) for k in span_at(a.sentence, i + 3))


def _one_of(a: Alignment, fact: Fact, number: float) -> bool:
    """A single one, or one more than another; a yes that the column's name says."""
    if fact.aggregate == "diff" and abs(number) == 1 and a.says("one"):
        return True
    if number != 1 or (fact.op != "=" and not a.form):
        return False
    if fact.aggregate == "count" and a.says("singly"):
        return True
    if not a.weighed and not a.vocabulary.kinds_of(fact.name).isdisjoint(("rank", "sequence")):
        leads = any(s.word in ("first", "top") for s in a.of("superlative"))
        if leads or a.says("winning"):
            return True  # what we opened with, who won
    cardinals = any(n.form != "ordinal" for n in a.sentence.numbers)
    return not a.form and not cardinals and a.mention(fact.name).score >= 0.8


@rule()
def numbers_added(a: Alignment) -> Iterator[Finding]:
    """Numbers that the query does not ask for."""
    for i, number in enumerate(a.sentence.numbers):
        if i in a.used_numbers or number.form in ("ordinal", "times", "fraction") or _says_some(a, number):
            continue
        if any(a.owner[k] for k in range(number.first, number.last)):
            continue
        words = range(number.first, number.last)
        if not a.form and not (a.reading.opaque and number.form == "digits"):
            counted = number.first in a.governing or a.sentence.low(number.last) == "of"
            in_passing = number.form == "word" and not counted and _all_told(a) and spoken(a)  # what must I pay for two
            yield added(a.sentence, "number", "number_in_passing" if in_passing else "number_added", words)
        elif a.reading.numerals and not _year(number.value) and number.form in ("digits", "word"):
            yield added(a.sentence, "number", "number_added_logic", words)


def _all_told(a: Alignment) -> bool:
    """Whether every number of the query is said, so that one too many stands in the place of none."""
    return not a.weighed and all(fact in a.said or _unsaid_number(a, fact) for fact in a.reading.numerals)


def _values_said(a: Alignment) -> int:
    """How many different values the sentence gives, which it may count: those that did the two."""
    return len({fact.value for fact in a.reading.of("comparison") if fact in a.said})


def _says_some(a: Alignment, number: Number) -> bool:
    """At least one, more than 0, one: that there is some. Two totals, those two years: what is given already."""
    if number.value > 1:
        near = (a.sentence.low(number.first - 1), a.sentence.low(number.last))
        given = near[0] in a.guards["both_of"] or near[1] in a.guards["results"]
        given = given or (near[1] == "of" and a.sentence.low(number.last + 1) == "us")
        given = given or (near[1] == "times" and bool(a.reading.of("distinct")))  # not the same one two times
        counted = near[0] in a.guards["counting_back"] and number.value == _values_said(a)
        return number.form == "word" and (given or counted)
    if number.value == 1 and not a.form and a.sentence.low(number.last) in a.guards["one_of_talk"]:
        return True
    governing = a.governing.get(number.first)
    if number.value == 1 and number.form == "word" and governing is not None and governing.last < number.first:
        governing = None  # until they finish one round
    if governing is not None and (number.value == 0 or governing.kind == "at_least"):
        return True
    exactly = not a.form and a.sentence.low(number.first - 1) in a.guards["exactly"]
    if number.form != "word" or exactly:
        return False
    return governing is None or a.form or bool(a.reading.directed)
