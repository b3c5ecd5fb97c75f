"""Counts, totals and averages, both ways."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.leftover import leftover, spoken
from sensecheck.faithful.matching.ruling import Finding, added, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import Signal

_PER = frozenset(("each", "per", "apiece"))


@rule()
def aggregates(a: Alignment) -> Iterator[Finding]:
    """What the query counts, adds up or averages must be said."""
    for fact in a.reading.of("aggregate"):
        if fact.aggregate == "avg":
            yield _finding(
                fact,
                "average",
                a.first("average", "average_soft"),
                a.form and a.first("sum", "count") is None and _each(a),
            )
        elif fact.aggregate == "ratio":
            yield _ratio(a, fact)
        elif fact.aggregate == "sum":
            implied = (
                "ratio" in a.reading.aggregates
                or a.form
                or fact.role == "having"
                or fact.optional
                or a.first("superlative") is not None
            )
            word = a.first("sum", "count", "sum_soft")
            if word is None and not implied and _loosely_told(a):
                yield missing(fact, "sum_loosely_told")
            else:
                yield _finding(fact, "sum", word, implied)
        elif fact.aggregate == "count" and fact.role == "select":
            word = _count_word(a)
            if word is None and _counted_to_rank(a):
                yield missing(fact, "count_unasked")
            else:
                implied = "ratio" in a.reading.aggregates or _counted_elsewhere(a)
                yield _finding(fact, "count", word, implied)


def _finding(fact: Fact, rule: str, signal: Signal | None, implied: bool) -> Finding:
    if signal is not None:
        return said(fact, rule, signal.words)
    return unsaid(fact, rule) if implied else missing(fact, f"{rule}_missing")


def _loosely_told(a: Alignment) -> bool:
    """Whether a total may be told in words that no list has: what did each of them clock up."""
    other = a.first("average", "average_soft", "superlative", "maximum", "minimum")
    return not a.weighed and other is None and spoken(a) and len(leftover(a)) > 0


def _each(a: Alignment) -> bool:
    """Four a game, 30 for each of them."""
    lows = a.sentence.lows
    return any(
        "a" in lows[number.last : number.last + 2] or not _PER.isdisjoint(lows[number.last : number.last + 3])
        for i, number in enumerate(a.sentence.numbers)
        if i in a.used_numbers
    )


def _ratio(a: Alignment, fact: Fact) -> Finding:
    """One by another: a percentage, a rate, an average."""
    words = [i for word in a.guards["ratio_words"] for i in a.sentence.by_low.get(word, ())]
    if words or any("divide" in hint.operations for hint in a.hints):
        return said(fact, "ratio", words)
    return missing(fact, "ratio_missing")


@rule("weighed")
def ratio_added(a: Alignment) -> Iterator[Finding]:
    """A percentage or a ratio where nothing is divided and no column holds one."""
    if not a.reading.aggregates.isdisjoint(("ratio", "avg")):
        return
    words = a.guards["percentages"]
    for word in sorted(words & a.sentence.by_low.keys()):
        i = a.sentence.by_low[word][0]
        if not a.owner[i] and not any(words.intersection(name.words) for name in a.reading.names):
            yield added(a.sentence, "aggregate", "ratio_added", range(i, i + 1))
            return


def _counted_elsewhere(a: Alignment) -> bool:
    """A count that only shows what the query sorts or filters by."""
    facts = a.reading.facts
    return any(f.role == "select" for f in a.reading.of("column")) and any(
        f.aggregate == "count" and f.kind in ("order", "comparison") for f in facts
    )


def _counted_to_rank(a: Alignment) -> bool:
    """A count that is given and only ranks: `the country with the most films` asks for a country."""
    limited = any(f.aggregate == "count" and f.limited for f in a.reading.of("order"))
    return limited and any(f.role == "select" for f in a.reading.of("column"))


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
    if average is not None and a.reading.aggregates.isdisjoint(("avg", "ratio")):
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
    if total is not None and a.sentence.lows[total.first] in a.guards["total_words"] and not _of_name(a, total):
        yield added(a.sentence, "aggregate", "sum_added", total.words)
        return
    for signal in a.of("count"):
        name = _count_added_as(a, signal) if a.free(signal) and not _of_column(a, signal) else ""
        if name:
            yield added(a.sentence, "aggregate", name, signal.words)
            return


def _of_name(a: Alignment, signal: Signal) -> bool:
    """Whether a word is one of a column that is given: the number and the total of an invoice."""
    low = a.sentence.lows[signal.first]
    return any(f.role == "select" and low in f.name.words for f in a.reading.of("column"))


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
