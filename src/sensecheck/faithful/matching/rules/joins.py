"""Joins against the keys of the schema: tables tied by columns that belong to other things, or tied for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.languages.sql_outline import ColumnUse, Outline
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.names import literal_positions
from sensecheck.faithful.matching.ruling import Finding, against, rule


@rule("keys")
def join_without_key(a: Alignment) -> Iterator[Finding]:
    """Two tables joined by columns that no key connects."""
    schema = a.outline.schema
    for left, right, span in a.outline.joins:
        if left.alias != right.alias and left.key != right.key and schema.joinable(left.key, right.key) is False:
            yield against("join", "join_without_key", f"{_dotted(left)} = {_dotted(right)}", span)


@rule("keys")
def tables_unjoined(a: Alignment) -> Iterator[Finding]:
    """Tables side by side with no condition between them: every row with every other."""
    outline = a.outline
    joined = {(use.alias, use.table.name) for pair in outline.joins for use in pair[:2]}
    beside: dict[int, list[str]] = {}
    for use in outline.tables:
        beside.setdefault(use.clause, []).append(use.alias)
    for use in outline.tables:
        if len(beside[use.clause]) > 1 and not outline.nested and (use.alias, use.table.name) not in joined:
            yield against("join", "tables_unjoined", use.table.name)
            return


@rule("weighed")
def table_unused(a: Alignment) -> Iterator[Finding]:
    """A table at the end of a chain of joins that gives nothing and filters by nothing. All rows (`COUNT(*)`) are its
    rows too."""
    outline = a.outline
    if len(outline.tables) < 2 or outline.nested or any(part.kind == "star" for part, _ in outline.parts):
        return
    for use in outline.tables:
        roles = {c.role for c in outline.columns if (c.alias, c.table) == (use.alias, use.table)}
        ties = sum((side.alias, side.table) == (use.alias, use.table) for pair in outline.joins for side in pair[:2])
        if roles <= {"join"} and ties <= 1:
            spoken = any(literal_positions(a.sentence, word) for word in use.table.natural.words)
            yield against("join", "table_unused_spoken" if spoken else "table_unused", use.table.name)


@rule("weighed")
def siblings_joined(a: Alignment) -> Iterator[Finding]:
    """Two tables joined by what they both refer to, past the table that ties their rows to one another: clients and
    accounts of a district, where dispositions say whose account it is."""
    outline = a.outline
    for left, right, span in outline.joins:
        if left.table is right.table or not _referred(outline, left) & _referred(outline, right):
            continue
        if _tied(outline, left) & _tied(outline, right) - outline.table_names:
            yield against("join", "siblings_joined", f"{_dotted(left)} = {_dotted(right)}", span)


def _tied(outline: Outline, use: ColumnUse) -> set[str]:
    """The tables that refer to the table of a column."""
    return {source[0] for source, target in outline.schema.foreign_keys if target[0] == use.key[0] != source[0]}


def _referred(outline: Outline, use: ColumnUse) -> set[tuple[str, str]]:
    """What a column refers to."""
    return {target for source, target in outline.schema.foreign_keys if source == use.key}


def _dotted(use: ColumnUse) -> str:
    return f"{use.table.name}.{use.column.name}"
