"""Counts, totals and averages, both ways."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.ruling import Finding, added, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import Signal


@rule()
def aggregates(a: Alignment) -> Iterator[Finding]:
    """What the query counts, adds up or averages must be said."""
    for fact in a.reading.of("aggregate"):
        if fact.aggregate == "avg":
            yield _finding(fact, "average", a.first("average"), False)
        elif fact.aggregate == "sum":
            implied = a.form or fact.role == "having" or fact.optional or a.first("superlative") is not None
            yield _finding(fact, "sum", a.first("sum", "count"), implied)
        elif fact.aggregate == "count" and fact.role == "select":
            yield _finding(fact, "count", _count_word(a), _counted_elsewhere(a))


def _finding(fact: Fact, rule: str, signal: Signal | None, implied: bool) -> Finding:
    if signal is not None:
        return said(fact, rule, signal.words)
    return unsaid(fact, rule) if implied else missing(fact, f"{rule}_missing")


def _counted_elsewhere(a: Alignment) -> bool:
    """A count that only shows what the query sorts or filters by."""
    facts = a.reading.facts
    return any(f.role == "select" for f in a.reading.of("column")) and any(
        f.aggregate == "count" and f.kind in ("order", "comparison") for f in facts
    )


def _count_word(a: Alignment) -> Signal | None:
    """A word that asks for a count, not the `number` of a phone number or of a lowest number of days."""
    lows = a.sentence.lows
    if lows[1:2] == ["many"] and len(lows[0]) == 3:
        return Signal("count", 0, 2)  # hom many
    ordered = any(f.aggregate == "count" for f in a.reading.of("order"))
    for signal in (*a.of("count"), *a.of("sum")):
        if a.free(signal) and (ordered or a.sentence.low(signal.first - 1) not in a.vocabulary.superlatives):
            return signal
    return None


@rule()
def average_added(a: Alignment) -> Iterator[Finding]:
    """An average that the query does not take."""
    average = a.first_free("average")
    if average is not None and "avg" not in a.reading.aggregates:
        yield added(a.sentence, "aggregate", "average_added", average.words)


@rule("form")
def total_added(a: Alignment) -> Iterator[Finding]:
    """A total where the form takes the average."""
    total, asked = a.first_free("sum"), a.reading.aggregates
    if total is not None and "avg" in asked and "sum" not in asked and a.first_free("average") is None:
        yield added(a.sentence, "aggregate", "sum_added", total.words)


@rule("query")
def amount_added(a: Alignment) -> Iterator[Finding]:
    """A total or a count that the query does not take."""
    if not a.reading.aggregates.isdisjoint(("count", "sum")):
        return
    total = a.first_free("sum")
    if total is not None and a.sentence.lows[total.first] in a.guards["total_words"]:
        yield added(a.sentence, "aggregate", "sum_added", total.words)
        return
    for signal in a.of("count"):
        name = _count_added_as(a, signal) if a.free(signal) and not _of_column(a, signal) else ""
        if name:
            yield added(a.sentence, "aggregate", name, signal.words)
            return


def _count_added_as(a: Alignment, signal: Signal) -> str:
    phrase = " ".join(a.sentence.lows[signal.first : signal.last])
    if phrase in a.guards["counting_phrases"]:
        return "" if phrase == "how many" and _gives_number(a) else "count_added"
    number_of = phrase == "number" and a.sentence.low(signal.last) == "of" and not _gives_number(a)
    return "number_of_added" if number_of else ""


def _of_column(a: Alignment, signal: Signal) -> bool:
    """Whether a word for a count belongs to a column of the query: the number of days held, the page count."""
    ahead = frozenset(range(signal.last, min(signal.last + 4, a.sentence.n)))
    columns = a.reading.of("column")
    if any(
        f.name.words and not ahead.isdisjoint(a.mention(f.name).positions) for f in (*columns, *a.reading.of("order"))
    ):
        return True
    return a.sentence.lows[signal.first] == "count" and any(
        f.role == "select" and signal.first - 1 in a.mention(f.name).positions for f in columns
    )


def _gives_number(a: Alignment) -> bool:
    """Whether the query gives a column that holds a number of things."""
    return any(
        not a.guards["quantities"].isdisjoint(f.name.words)
        or (f.role == "select" and f.name.words[0] not in a.guards["naming_columns"])
        for f in a.reading.facts
        if f.kind in ("column", "order", "comparison", "aggregate") and f.name.words
    )
