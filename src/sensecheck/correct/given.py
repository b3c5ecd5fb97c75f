"""Answers that stand in the file: predicted or gold, in whichever form people keep them.

A table is `{"columns": […], "rows": [[…]]}`; results of a SPARQL query are the object of their JSON, alone or in a list
as QALD has them; anything else is a list of values or rows, or one value. Of several tables or results in a list,
each is allowed: a prediction that meets any of them is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from sensecheck.inputs.json_arrays import is_nested
from sensecheck.language.answers import Answer, Cell
from sensecheck.language.sparql.results import TRIPLE, is_json_results, is_json_term, of_json

MOST_CELLS = 8_000_000
"""Cells of one table."""


@dataclass(slots=True, frozen=True)
class Given:
    """What a record brings instead of queries."""

    predicted: Answer | None = None
    golds: tuple[Answer, ...] = ()
    """Each is allowed."""
    columns: tuple[tuple[int, ...], ...] = ()
    """For each gold the columns that are asked for; none: all of them."""
    ignore_order: bool | None = None
    """Whether the order of rows makes no difference, where the record says so."""

    def wanted(self, number: int) -> Answer:
        """A gold with the columns that are asked for alone."""
        gold = self.golds[number]
        columns = self.columns[number] if self.columns else ()
        return with_columns(gold, columns) if columns else gold


def with_columns(answer: Answer, places: Sequence[int]) -> Answer:
    """The answer with these columns, in this order."""
    rows = [tuple([row[place] for place in places]) for row in answer.rows]
    return replace(answer, columns=[answer.columns[place] for place in places], rows=rows)


# ---- reading


def parsed_text(value: Any) -> Any:
    """What a text holds that is JSON of several parts (a cell of CSV has no other way); else the value itself."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    return value if is_nested(parsed) else parsed


def several_answers(value: Any) -> tuple[Answer, ...] | None:
    """The answers in a value that is results or tables, alone or in a list; None where it is neither.

    Raises ValueError in plain words where it is meant as one of them and is not.
    """
    if isinstance(value, Answer):
        return (value,)
    if isinstance(value, Mapping):
        answer = _whole_answer(value)
        return None if answer is None else (answer,)
    if not isinstance(value, list | tuple) or not value:
        return None
    if not any(map(_is_whole, value)):
        _check_rows(value)
        return None
    if not all(map(_is_whole, value)):
        raise ValueError("tables or results among other values")
    return tuple([answer for answer in map(_whole_answer, value) if answer is not None])


def predicted_answer(value: Any) -> Answer | None:
    """The one answer that was predicted, in any form; None where there is none."""
    value = parsed_text(value)
    if value is None:
        return None
    answers = several_answers(value)
    if answers is None:
        values = value if isinstance(value, list | tuple) else [value]
        _check_rows(values)
        return listed_answer(values)
    if len(answers) > 1:
        raise ValueError(f"{len(answers)} answers where one is expected")
    return answers[0]


def listed_answer(values: Sequence[Any]) -> Answer:
    """A list of values or rows as an answer: one true or false is a verdict. Of rows that are objects, names decide
    which value is in which column; the first one gives the order."""
    if len(values) == 1 and isinstance(values[0], bool):
        return Answer(boolean=values[0])
    names: list[Any] | None = None
    rows: list[tuple[Any, ...]] = []
    for value in values:
        if isinstance(value, Mapping) and not is_json_term(value):
            names = list(value) if names is None else names
            rows.append(tuple([_plain(value.get(name)) for name in names]))
        elif isinstance(value, list | tuple):
            rows.append(tuple(map(_plain, value)))
        else:
            rows.append((_plain(value),))
    columns = [str(name) for name in names or ()]
    width = len(rows[0]) if rows else 1
    if any(len(row) != width for row in rows):
        columns = []  # rows of several lengths have no columns in common
    elif len(columns) != width:
        columns = [f"column {place}" for place in range(1, width + 1)]
    return Answer(columns, rows, detail="bare")


def _check_rows(values: Sequence[Any]) -> None:
    """Raises ValueError in plain words where rows by name do not have the same names, or a value cannot be compared."""
    first: Mapping[str, Any] | None = None
    for number, value in enumerate(values, 1):
        if not isinstance(value, Mapping) or is_json_term(value):
            continue
        if value.get("type") == "triple" and "value" in value:
            raise ValueError(TRIPLE)
        first = value if first is None else first
        if value.keys() != first.keys():
            raise ValueError(f"rows by name of which row {number} has other names than the first")


def _plain(value: Any) -> Any:
    """A cell: a value of JSON, or the value of a term in SPARQL's own."""
    if is_json_term(value):
        value = value["value"]
    return str(value) if isinstance(value, list | dict) else value


def _is_whole(value: Any) -> bool:
    return isinstance(value, Answer) or is_json_results(value) or _is_table(value)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) and "columns" in value and ("rows" in value or "data" in value)


def _whole_answer(value: Any) -> Answer | None:
    if isinstance(value, Answer):
        return value
    if is_json_results(value):
        return of_json(value)
    return _table(value) if _is_table(value) else None


def _table(value: Mapping[str, Any]) -> Answer:
    columns, listed = value["columns"], value["rows"] if "rows" in value else value["data"]
    if not isinstance(columns, list | tuple) or not isinstance(listed, list | tuple):
        raise ValueError("a table whose columns or rows are no list")
    if len(columns) * len(listed) > MOST_CELLS:
        raise ValueError(f"a table of more than {MOST_CELLS:,} cells")
    names = [str(name) for name in columns]
    names_of_columns = set(names)
    rows: list[tuple[Cell, ...]] = []
    for number, row in enumerate(listed, 1):
        if isinstance(row, Mapping):
            if not names_of_columns.issuperset(map(str, row)):
                raise ValueError(f"a table whose row {number} has other names than its columns")
            by_name = {str(name): cell for name, cell in row.items()}
            row = [by_name.get(name) for name in names]
        if not isinstance(row, list | tuple):
            raise ValueError(f"a table whose row {number} is no list")
        if len(row) != len(names):
            raise ValueError(f"a table of {len(names)} columns whose row {number} has {len(row)} values")
        rows.append(tuple(map(_plain, row)))
    return Answer(names, rows, detail="bare")


def wanted_columns(value: Any, golds: Sequence[Answer]) -> tuple[tuple[int, ...], ...]:
    """The columns that are asked for of each gold: numbers from 0 for all golds alike, or a list of them for each.

    Raises ValueError in plain words.
    """
    value = parsed_text(value)
    if value is None or value == []:
        return ()
    if not isinstance(value, list | tuple):
        raise ValueError("no list of column numbers")
    parts = [() if part is None else part for part in value]
    if all(type(part) is int for part in parts):
        parts = [parts] * len(golds)
    elif not all(isinstance(part, list | tuple) and all(type(one) is int for one in part) for part in parts):
        raise ValueError("neither column numbers nor a list of them for each gold")
    if len(parts) == 1:
        parts = parts * len(golds)
    if len(parts) != len(golds):
        raise ValueError(f"{len(parts)} lists of columns for {len(golds)} golds")
    for places, gold in zip(parts, golds, strict=True):
        for place in places:
            if not 0 <= place < len(gold.columns):
                raise ValueError(f"column {place} of a gold that has {len(gold.columns)} (from 0)")
    return tuple([tuple(places) for places in parts])


def is_query_text(value: Any) -> bool:
    """Whether a text is a query rather than a value: a list of these is no answer."""
    if not isinstance(value, str):
        return False
    first = value.lstrip()[:12].upper()
    return first.startswith(("SELECT", "ASK ", "ASK{", "WITH ", "PREFIX ", "BASE <"))
