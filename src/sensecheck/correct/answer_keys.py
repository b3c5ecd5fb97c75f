"""A short text for what a query answered, the same for equal answers: by it samples and systems are grouped.

Comparing answers is no equivalence (1 may be near 2 and 2 near 3 while 1 is not near 3), a key is one: two answers have
the same key or not. Rows and columns count in any order, numbers by value to nine digits; the rows of a SPARQL answer
once each. Columns are put in order by what they hold; those that hold the same values are told apart by the rows
they stand in, step by step (colour refinement), so answers that differ get one key only where they are as alike as
regular graphs are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from sensecheck.correct.answer_sets import count_of, value_key, verdict_of
from sensecheck.correct.sql_compare import as_numbers
from sensecheck.report.repeats import ANSWER_KEY as ANSWER_KEY
from sensecheck.stores import Answer, Term

DIGITS = 9
"""Significant digits by which numbers of SQL answers are told apart, as they are compared."""
_BYTES = 8


def sql_key(answers: Sequence[Answer], *, coerce: bool = False) -> str:
    """The key of what a SQL query answers, on one database or on several."""
    tables = map(as_numbers, answers) if coerce else answers
    return _digest(_table_key([[_cell(cell) for cell in row] for row in table.rows]) for table in tables)


def sparql_key(answer: Answer, kind: str) -> str:
    """The key of what a SPARQL query answers where a yes or no, a count or a set is asked for."""
    if kind == "boolean" or answer.boolean is not None:
        return _digest(["boolean", str(verdict_of(answer))])
    if kind == "count":
        return _digest(["count", repr(count_of(answer).value)])
    rows = {tuple([_spelled(value_key(cell, detail=answer.detail)) for cell in row]) for row in answer.rows}
    nothing = _spelled(None)
    return _table_key([list(row) for row in sorted(rows) if any(cell != nothing for cell in row)])


def _spelled(value: object) -> str:
    # Escaped and quoted, so that no text holds what parts two of them.
    return repr(value)


def _cell(value: Any) -> str:
    if isinstance(value, Term):
        value = value.value
    if isinstance(value, bool):
        value = int(value)
    return _spelled(_number(value) if isinstance(value, float) else value)


def _number(value: float) -> float | int:
    if value != value or value - value != 0:
        return value
    if value.is_integer():
        return int(value)
    near = float(f"{value:.{DIGITS}g}") if abs(value) > 1e-12 else 0.0
    return int(near) if near.is_integer() else near


def _table_key(rows: list[list[str]]) -> str:
    """The key of a bag of rows under any permutation of columns."""
    width = len(rows[0]) if rows else 0
    colours = [_digest(sorted(column)) for column in zip(*rows, strict=True)]
    known = len(set(colours))
    while known < width:
        # Rows by their cells and the colours of these, then columns by their cells and the colours of the rows.
        of_rows = [_digest(sorted(map("=".join, zip(colours, row, strict=True)))) for row in rows]
        columns = zip(colours, zip(*rows, strict=True), strict=True)
        finer = [_digest([own, *sorted(map("=".join, zip(of_rows, column, strict=True)))]) for own, column in columns]
        if len(set(finer)) == known:
            break
        colours, known = finer, len(set(finer))
    if known == width:
        order = sorted(range(width), key=colours.__getitem__)
        lines = sorted("\x1f".join([row[place] for place in order]) for row in rows)
    else:
        lines = sorted("\x1f".join(sorted(map("=".join, zip(colours, row, strict=True)))) for row in rows)
    return _digest([str(width), *lines])


def _digest(parts: Iterable[str]) -> str:
    return hashlib.blake2b("\x1e".join(parts).encode("utf-8", "backslashreplace"), digest_size=_BYTES).hexdigest()
