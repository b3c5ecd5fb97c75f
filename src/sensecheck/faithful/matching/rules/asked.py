"""What a question asks for, in how many parts, against what the query gives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.languages.sql_outline import ColumnUse
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.ruling import Finding, against, demanded, rule

_AGAIN = r"(?:please |also |kindly )*(?:list|name|give|state|what|which|indicate|provide|mention|find|tell)\b"
_COUNT_AND_LIST = re.compile(
    rf"how many\b.*[.?]\s*{_AGAIN}|(?:list|name|give|state|what|which)\b.*(?:[.?,]| and)\s*how many\b"
)
_IDENTITY = re.compile(r"\bids?\b|\bidentif|\bnumbers?\b|\bcodes?\b")
_ONE_OF_MANY = re.compile(r"\blist\b|\ball the\b")
_TOP = re.compile(r"\btop (?!1\b)\w+")


@rule("weighed")
def second_question(a: Alignment) -> Iterator[Finding]:
    """A count and a list asked for, one thing given."""
    if len(a.outline.query.items) == 1 and _COUNT_AND_LIST.search(a.sentence.text.lower()):
        yield against("question", "second_question", "two things are asked, one is given")


@rule("weighed")
def identity(a: Alignment) -> Iterator[Finding]:
    """Keys given where things are asked for, and things where their keys are."""
    low = a.sentence.text.lower()
    outline = a.outline
    hinted = {column for hint in a.hints for column in hint.columns}
    keys = [
        use
        for use in outline.selected
        if not use.aggregate and _is_key(a, use) and use.column.name.lower() not in hinted and _has_name(use)
    ]
    if keys and not _IDENTITY.search(low):
        yield against("column", "key_unasked", keys[0].column.name, keys[0].span)
    if re.search(r"\bids?\b", low) and not any("id" in name for name in outline.used):
        yield demanded("key_not_given", "id", a.sentence.by_low.get("id", ()))


def _is_key(a: Alignment, use: ColumnUse) -> bool:
    name = use.column.name.lower()
    if not name.endswith(("id", "code")) and name_of(name).words[-1:] != ("id",):
        return False
    return name in use.table.primary_key or any(use.key in pair for pair in a.outline.schema.foreign_keys)


def _has_name(use: ColumnUse) -> bool:
    """Whether the things of a table have a name of their own."""
    return any(not {"name", "title", "label"}.isdisjoint(name_of(column).words) for column in use.table.columns)


@rule("weighed")
def one_of_many(a: Alignment) -> Iterator[Finding]:
    """One row where a list is asked for."""
    limit = a.outline.query.limit
    low = a.sentence.text.lower()
    many = _TOP.search(low) or (_ONE_OF_MANY.search(low) and not a.of("superlative"))
    if limit is not None and limit.text == "1" and many:
        yield against("limit", "one_of_many", "LIMIT 1", limit.span)


@rule("weighed")
def distinct_asked(a: Alignment) -> Iterator[Finding]:
    """Different things asked for, and all given; things counted once that nobody called different."""
    outline = a.outline
    counted = any(part.kind == "call" and part.distinct for part, _ in outline.parts)
    distinct = counted or any(query.distinct for query in outline.queries())
    asked = [i for word in ("different", "distinct", "unique") for i in a.sentence.by_low.get(word, ())]
    if asked and not distinct:
        yield demanded("distinct_missing", a.sentence.lows[asked[0]], asked)
    elif counted and not asked:
        yield against("distinct", "distinct_count_unasked", "COUNT(DISTINCT …)")
