"""The tables of a database as its own CREATE TABLE text declares them: columns with types, and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from sensecheck.inputs.guarding import guarded
from sensecheck.language.sql_parsing import parse_sql
from sensecheck.stores import Answer, Outcome
from sensecheck.stores.servers.looking import looking

Place: TypeAlias = tuple[str, str]
"""A column of a table, both in small letters."""

TABLES_QUERY = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL ORDER BY rowid",
    "duckdb": "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY ordinal_position",
    "postgres": looking("postgresql").columns,
    "mysql": looking("mysql").columns,
}
_TEXT = frozenset(("CHAR", "CLOB", "TEXT", "STRING"))


@dataclass(slots=True)
class Table:
    name: str
    columns: dict[str, str] = field(default_factory=dict)
    """By name in small letters: as it is spelled."""
    texts: set[str] = field(default_factory=set)
    """Columns that are declared to hold text."""


@dataclass(slots=True)
class Schema:
    tables: dict[str, Table] = field(default_factory=dict)
    refers: dict[Place, set[Place]] = field(default_factory=dict)
    """A column → the columns that a foreign key of its refers to."""
    ddl: dict[str, str] = field(default_factory=dict)
    """The text that declares each table."""

    def connected(self, one: Place, other: Place) -> bool:
        """Whether a declared key connects two columns; of a schema without keys nothing is said."""
        return not self.refers or one == other or not self._reached(one).isdisjoint(self._reached(other))

    def _reached(self, start: Place) -> set[Place]:
        reached, waiting = {start}, [start]
        while waiting:
            for place in self.refers.get(waiting.pop(), set()) - reached:
                reached.add(place)
                waiting.append(place)
        return reached


def schema_of(outcome: Outcome | None, dialect: str) -> Schema:
    """The schema from what `TABLES_QUERY` answers; what cannot be read is left out."""
    schema = Schema()
    if not isinstance(outcome, Answer):
        return schema
    if dialect != "sqlite":
        for name, column, kind in outcome.rows:
            table = schema.tables.setdefault(str(name).lower(), Table(str(name)))
            _add_column(table, str(column), str(kind))
        return schema
    for name, sql in outcome.rows:
        schema.ddl[str(name).lower()] = str(sql)
        guarded("reading CREATE TABLE", _read_table, schema, str(name), str(sql), dialect)
    return schema


def _add_column(table: Table, name: str, kind: str) -> None:
    table.columns[name.lower()] = name
    if any(word in kind.upper() for word in _TEXT):
        table.texts.add(name.lower())


def _read_table(schema: Schema, name: str, sql: str, dialect: str) -> None:
    created = next(iter(parse_sql(sql, dialect)), None)
    if not isinstance(created, exp.Create):
        return
    table = schema.tables[name.lower()] = Table(name)
    for column in created.find_all(exp.ColumnDef):
        _add_column(table, column.name, column.args["kind"].sql() if column.args.get("kind") else "")
        for reference in column.find_all(exp.Reference):
            _refer(schema, name, [column.name], reference)
    for key in created.find_all(exp.ForeignKey):
        reference = key.args.get("reference")
        if isinstance(reference, exp.Reference):
            _refer(schema, name, [column.name for column in key.expressions], reference)


def _refer(schema: Schema, table: str, columns: Iterable[str], reference: exp.Reference) -> None:
    target = reference.this
    others = [column.name for column in target.expressions] if isinstance(target, exp.Schema) else []
    named = target.this if isinstance(target, exp.Schema) else target
    for column, other in zip(columns, others, strict=False):
        place = (table.lower(), column.lower())
        schema.refers.setdefault(place, set()).add((named.name.lower(), other.lower()))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def declared(schema: Schema, tables: Iterable[str]) -> Mapping[str, str]:
    """The CREATE TABLE text of some tables, where the database has it."""
    return {name: schema.ddl[name] for name in tables if name in schema.ddl}
