"""The values that a CHECK lists for a column, so that invented rows keep to it."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.language.sql_parsing import parse_sql

from .schema import Table, Value


def listed_values(table: Table, dialect: str = "sqlite") -> dict[int, list[Value]]:
    """Columns → the values of `CHECK (column IN (…))`."""
    if "check" not in table.ddl.lower():
        return {}
    found = guarded("reading the schema", _listed, table, dialect)
    return {} if isinstance(found, Fault) else found


def _listed(table: Table, dialect: str) -> dict[int, list[Value]]:
    values: dict[int, list[Value]] = {}
    for tree in parse_sql(table.ddl, dialect):
        for check in tree.find_all(exp.CheckColumnConstraint, exp.Check) if tree is not None else ():
            for test in check.find_all(exp.In):
                place = table.place(test.this.name) if isinstance(test.this, exp.Column) else None
                items = [_literal(item) for item in test.expressions]
                if place is not None and items and None not in items:
                    values[place] = items
    return values


def _literal(item: Any) -> Value:
    if not isinstance(item, exp.Literal):
        return None
    if item.is_string:
        return str(item.this)
    number = float(item.this)
    return int(number) if number.is_integer() else number
