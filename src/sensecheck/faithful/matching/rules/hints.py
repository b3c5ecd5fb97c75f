"""What the evidence ties to words of the question, and the query lacks or has otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sensecheck.faithful.evidence import Condition, Hint
from sensecheck.faithful.languages.sql_outline import LiteralUse
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.ruling import Finding, demanded, rule
from sensecheck.language.numbers import as_number

_YEAR = re.compile(r"\d{4}")


@rule("evidence")
def hinted_columns(a: Alignment) -> Iterator[Finding]:
    """A column that the evidence names for words of the question, and the query does not use."""
    used = a.outline.used
    told: set[str] = set()
    for hint in a.hints:
        for column in sorted(hint.columns - used - told - {"id"}):
            told.add(column)
            yield demanded("hint_column_unused", column, _words(a, hint))


@rule("evidence")
def hinted_conditions(a: Alignment) -> Iterator[Finding]:
    """A condition of the evidence that the query has with another value or operator, or not at all."""
    nulls = {part.args[0].text.lower() for part, _ in a.outline.parts if part.kind == "isnull" and part.args}
    for hint in a.hints:
        for condition in hint.conditions:
            name = _lacking(a, condition, nulls)
            if name:
                spelled = f"{condition.column} {condition.op} {condition.value}".strip()
                yield demanded(name, spelled, _words(a, hint))


def _lacking(a: Alignment, condition: Condition, nulls: set[str]) -> str:
    if condition.op in ("null", "not null"):
        return "" if condition.column in nulls else "hint_null_unasked"
    uses = [u for u in a.outline.literals if u.column is not None and u.column.column.name.lower() == condition.column]
    if not uses:
        return "" if condition.column in a.outline.used else "hint_condition_missing"
    same = [use for use in uses if _same_value(use, condition)]
    if not same:
        return "" if any(_about_value(use, condition) for use in uses) else "hint_value_other"
    return "" if any(_same_operator(use, condition) for use in same) else "hint_operator_other"


def _plain(value: str) -> str:
    return " ".join(value.strip("% ").lower().split())


def _same_value(use: LiteralUse, condition: Condition) -> bool:
    if _plain(use.text) == _plain(condition.value):
        return True
    return use.number is not None and use.number == as_number(condition.value.strip("% "))


def _about_value(use: LiteralUse, condition: Condition) -> bool:
    """Said in another way: the neighbour of a whole number, a day for its year."""
    number = as_number(condition.value.strip("% "))
    if number is not None and use.number is not None and abs(number - use.number) <= 1:
        return True
    year = _YEAR.match(condition.value.strip("% "))
    return year is not None and year.group() in use.text


def _same_operator(use: LiteralUse, condition: Condition) -> bool:
    ours, theirs = use.op.lower(), condition.op
    if ours == theirs or "between" in (ours, theirs):
        return True
    return {ours, theirs} <= {"=", "like"} and ("%" in use.text) == ("%" in condition.value)


@rule("evidence")
def hinted_values(a: Alignment) -> Iterator[Finding]:
    """A literal that the evidence spells out for words of the question, and the query does not have."""
    texts = [_plain(literal.text) for literal in a.outline.literals]
    for hint in a.hints:
        for value in hint.values:
            plain = _plain(value)
            if len(plain) > 1 and not any(plain in text or text in plain for text in texts if text):
                yield demanded("hint_literal_missing", value, _words(a, hint))
                return


@rule("evidence")
def hinted_operations(a: Alignment) -> Iterator[Finding]:
    """An average, a sum, a count, a ratio, a difference or an extreme that the evidence asks for."""
    outline = a.outline
    calls = set(outline.calls)
    ordered = bool(outline.orders) and outline.limited
    has = {
        "max": "MAX" in calls or ordered,
        "min": "MIN" in calls or ordered,
        "avg": "AVG" in calls or outline.divides(),
        "divide": "AVG" in calls or outline.divides(),
        "sum": not calls.isdisjoint(("SUM", "TOTAL", "COUNT", "AVG")),
        "count": not calls.isdisjoint(("SUM", "COUNT", "AVG")) or ordered,
        "subtract": outline.subtracts(),
        "multiply": True,
    }
    for hint in a.hints:
        for operation in sorted(hint.operations):
            if not has[operation]:
                yield demanded("hint_operation_missing", operation, _words(a, hint))
                return


def _words(a: Alignment, hint: Hint) -> list[int]:
    """Where the sentence says what a hint explains."""
    return [i for word in hint.words for i in a.sentence.by_stem.get(word, ())]
