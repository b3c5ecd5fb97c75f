"""Columns of logic forms, which come without a schema: what the sort of a value and the words beside it tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import told_by_adjective
from sensecheck.faithful.matching.leftover import loosely_told
from sensecheck.faithful.matching.names import share_told, told_by_kind
from sensecheck.faithful.matching.ruling import Finding, contradicted, missing, rule, said, unsaid
from sensecheck.faithful.matching.values import find_value
from sensecheck.language.morphology import lemma
from sensecheck.language.numbers import as_number

_MONTHS = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter)")
_NUMBERED = ("time", "sequence", "rank")
"""Kinds of column whose numbers people say without its name."""


@rule("form")
def form_conflicts(a: Alignment) -> Iterator[Finding]:
    """A form that repeats a filter must repeat it alike."""
    for fact in a.reading.of("misfit"):
        yield contradicted(fact, "form_conflict")
    ops: dict[tuple[str, str], str] = {}
    for fact in a.reading.of("comparison"):
        if fact.role != "filter" or fact.value is None:
            continue
        if ops.setdefault((fact.name.text, fact.value), fact.op) != fact.op:
            yield contradicted(fact, "form_conflict")
            return


@rule("form")
def form_columns(a: Alignment) -> Iterator[Finding]:
    """Columns should be spoken of, and hold values of their sort."""
    for fact in a.reading.facts:
        if not fact.name.words:
            continue
        if fact.kind == "column":
            mention = a.mention(fact.name)
            yield (said if mention.score >= 0.5 else unsaid)(fact, "column", mention.positions)
        elif fact.kind == "aggregate" and fact.aggregate in ("avg", "sum"):
            if fact.name.stems[-1] in a.vocabulary.named and fact.name.words[-1] == lemma(fact.name.words[-1]):
                yield contradicted(fact, "aggregate_wrong_sort")
            elif _untold(a, fact.name):
                yield _untold_finding(a, fact)
        elif fact.kind == "order":
            if not _numbered(a, fact.name) and _untold(a, fact.name) and not told_by_adjective(a, fact):
                yield _untold_finding(a, fact)
        elif fact.kind == "comparison" and fact.value is not None and fact.aggregate in ("", "max", "min"):
            yield from _value_sort(a, fact)


def _untold_finding(a: Alignment, fact: Fact) -> Finding:
    return missing(fact, "column_loosely_told" if loosely_told(a, fact) else "column_untold_logic")


def _untold(a: Alignment, name: Name) -> bool:
    if a.mention(name).literal == 1 or share_told(a.sentence, name, frozenset()) >= 0.4:
        return False
    named = name.stems[-1] in a.vocabulary.named and name.words[-1] == lemma(name.words[-1])
    return named or not told_by_kind(a.sentence, name)


def _numbered(a: Alignment, name: Name) -> bool:
    return not a.vocabulary.kinds_of(name).isdisjoint(_NUMBERED)


def _sort_of(a: Alignment, name: Name) -> str:
    """What sort of values a column holds, as far as its last telling word says."""
    vocabulary = a.vocabulary
    if name.stems[-1] in vocabulary.measured and not a.guards["sites"].isdisjoint(name.words):
        return ""  # location attendance: two columns in one
    for word, key in zip(reversed(name.words), reversed(name.stems), strict=True):
        if key in vocabulary.measured:
            return "measured"
        if key in vocabulary.named:
            return "named" if word == lemma(word) else ""  # titles: how many
        if key in vocabulary.dated:
            return "dated"
    return ""


def _value_sort(a: Alignment, fact: Fact) -> Iterator[Finding]:
    """A value of the wrong sort for its column, or standing beside the name of another one."""
    low, vocabulary = fact.plain_value, a.vocabulary
    if not low or low in vocabulary.no or low in vocabulary.yes or not _untold(a, fact.name):
        return
    value = (fact.value or "").strip()
    numeric = as_number(value) is not None
    if _wrong_sort(value, _sort_of(a, fact.name), numeric):
        yield contradicted(fact, "value_wrong_sort")
    elif numeric and not 1500 <= (fact.number or 0) <= 2100 and not fact.direction and not fact.aggregate:
        if not _numbered(a, fact.name) and not _by_number(a, fact):
            yield _untold_finding(a, fact)
    elif not fact.direction:
        noun = _noun_beside(a, value)
        if noun is not None:
            yield contradicted(fact, "value_of_other_column", [noun])


def _by_number(a: Alignment, fact: Fact) -> bool:
    """`with number 2`, `is the number 2`: a row is called by its number."""
    words = a.said.get(fact)
    if words is None or not words.positions:
        return False
    i = min(words.positions) - 1
    return a.sentence.low(i) in ("number", "no", "nr") and (fact.role == "filter" or a.sentence.low(i - 1) == "the")


def _wrong_sort(value: str, sort: str, numeric: bool) -> bool:
    if sort == "named":
        return numeric
    if any(c.isdigit() for c in value) or sum(c.isalpha() for c in value) <= 3:
        return False
    return (sort == "measured" and len(value.split()) > 1) or (sort == "dated" and not _MONTHS.search(value.lower()))


def _noun_beside(a: Alignment, value: str) -> int | None:
    """A noun for another attribute right beside a value: mcg venue, decision was theodore."""
    sentence, match = a.sentence, find_value(a.sentence, value)
    if match.score < 0.45 or not match.positions:
        return None
    first, last = min(match.positions), max(match.positions) + 1
    if last - first > len(set(match.positions)) + 3:
        return None
    before = first - 1
    while sentence.low(before) in a.guards["value_links"]:
        before -= 1
    named = {s for name in a.reading.names for s in name.stems}
    for i in (last, before):
        if 0 <= i < sentence.n and not a.owner[i]:
            key, low = sentence.tokens[i].stem, sentence.lows[i]
            # A singular: kanto ranks first is no rank.
            if key in a.vocabulary.nouns and key not in named and low == lemma(low) and not low.endswith(("ed", "ing")):
                return i
    return None
