"""What a database is made of: tables with their columns and keys, read from the database itself."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sensecheck.stores.sql_gate import quoted

Value: TypeAlias = "str | int | float | bytes | None"
Affinity: TypeAlias = Literal["integer", "real", "numeric", "text", "blob"]

_NUMBER = re.compile(r"[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})")


@dataclass(slots=True)
class Column:
    """A column that rows are given values for; those that the engine computes are not among them."""

    name: str
    affinity: Affinity
    declared: str = ""
    not_null: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """Each value of the child's columns is one of the parent's: a foreign key, or what the data keep as if it were."""

    child: str
    columns: tuple[int, ...]
    parent: str
    targets: tuple[int, ...]
    declared: bool = True


@dataclass(slots=True)
class Table:
    name: str
    columns: list[Column]
    ddl: str
    keys: list[tuple[int, ...]] = field(default_factory=list)
    """What no two rows share: the primary key first, where there is one."""
    links: list[Link] = field(default_factory=list)

    def place(self, name: str) -> int | None:
        """Where a column stands, whatever the case of its name."""
        lowered = name.lower()
        return next((i for i, column in enumerate(self.columns) if column.name.lower() == lowered), None)


@dataclass(slots=True)
class Schema:
    tables: dict[str, Table]
    """By name, parents before their children as far as that goes."""
    first: list[tuple[str, str]] = field(default_factory=list)
    """Statements without which a table cannot be made, with the names that they make: sequences that number rows."""
    further: list[tuple[str, str]] = field(default_factory=list)
    """Statements that make what is no table: indexes without which a row could be there twice, with the table that
    they are of, and views."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Names in small letters that cannot be built elsewhere → why."""
    notes: list[str] = field(default_factory=list)
    enforceable: bool = True
    """Whether the engine can watch over all foreign keys: each of them names a key of its parent."""
    views: dict[str, str] = field(default_factory=dict)
    """The statements of views by their names in small letters."""

    def table(self, name: str) -> Table | None:
        lowered = name.lower()
        return next((table for key, table in self.tables.items() if key.lower() == lowered), None)

    def is_circular(self, names: Sequence[str]) -> bool:
        """Whether some row may have to go in before its parent."""
        places = {name: place for place, name in enumerate(names)}
        links = [link for name in names for link in self.tables[name].links]
        return any(places[link.child] <= places.get(link.parent, -1) for link in links)

    def first_of(self, names: Iterable[str]) -> list[str]:
        """What has to be made before these tables."""
        ddl = [self.tables[name].ddl for name in names]
        return [text for made, text in self.first if any(made in statement for statement in ddl)]

    def further_of(self, names: Iterable[str]) -> list[str]:
        """The views, and the indexes of these tables."""
        wanted = {name.lower() for name in names}
        return [text for owner, text in self.further if not owner or owner.lower() in wanted]

    def with_parents(self, names: Iterable[str]) -> list[str]:
        """The tables and all that their foreign keys name, in the order in which rows go into them."""
        wanted: set[str] = set()
        todo = list(names)
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                todo += [link.parent for link in self.tables[name].links]
        return [name for name in self.tables if name in wanted]


def affinity_of(declared: str) -> Affinity:
    """How SQLite takes the values of a column that was declared so."""
    upper = declared.upper()
    if "INT" in upper:
        return "integer"
    if any(part in upper for part in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if not upper or "BLOB" in upper:
        return "blob"
    return "real" if any(part in upper for part in ("REAL", "FLOA", "DOUB")) else "numeric"


def converted(value: Value, affinity: Affinity) -> Value:
    """The value as a column of this affinity stores it.

    >>> converted("7", "integer"), converted(7, "text"), converted("seven", "integer")
    (7, '7', 'seven')
    """
    if isinstance(value, str) and affinity in ("integer", "real", "numeric"):
        if not _NUMBER.fullmatch(value.strip()):
            return value
        number = float(value)
        whole = number.is_integer() and affinity != "real"
        return int(number) if whole else number
    if isinstance(value, int | float) and affinity == "text":
        return str(value)
    if isinstance(value, int) and affinity == "real":
        return float(value)
    if isinstance(value, float) and affinity in ("integer", "numeric") and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def read_sqlite_schema(connection: sqlite3.Connection) -> Schema:
    """The schema of an open SQLite database."""
    listed = connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid"
    ).fetchall()
    schema = Schema({})
    found: dict[str, Table] = {}
    shadows = _shadow_tables([(name, sql or "") for kind, name, _, sql in listed if kind == "table"])
    for kind, name, _, sql in listed:
        if kind != "table":
            continue
        if re.match(r"\s*CREATE\s+VIRTUAL\b", sql or "", re.I):
            schema.left_out[name.lower()] = f"table {name} is a virtual one"
        elif name not in shadows:
            found[name] = _read_table(connection, name, sql or "")
    names = {name.lower(): name for name in found}
    for table in found.values():
        _read_links(connection, table, found, names, schema)
    schema.tables = {name: found[name] for name in parents_first(found)}
    triggers = []
    for kind, name, owner, sql in listed:
        if kind == "view":
            schema.further.append(("", sql))
            schema.views[name.lower()] = sql
        elif kind == "index" and sql and re.match(r"\s*CREATE\s+UNIQUE\b", sql, re.I):
            schema.further.append((owner, sql))
        elif kind == "trigger":
            triggers.append(name)
    if triggers:
        schema.notes.append(f"triggers are not run: {', '.join(triggers[:5])}{', …' if len(triggers) > 5 else ''}")
    if not schema.enforceable:
        schema.notes.append("some foreign keys name no key of their parent: they are kept to, but not by the engine")
    return schema


def _shadow_tables(tables: Sequence[tuple[str, str]]) -> set[str]:
    """Tables in which virtual ones keep their content."""
    virtual = [name for name, sql in tables if re.match(r"\s*CREATE\s+VIRTUAL\b", sql, re.I)]
    return {name for name, _ in tables if any(name.startswith(f"{owner}_") for owner in virtual)}


def _read_table(connection: sqlite3.Connection, name: str, ddl: str) -> Table:
    columns: list[Column] = []
    primary: list[tuple[int, int]] = []
    for _, column, declared, not_null, _, key, hidden in connection.execute(f"PRAGMA table_xinfo({quoted(name)})"):
        if hidden:
            continue
        if key:
            primary.append((key, len(columns)))
        # SQLite lets NULLs into primary keys; people do not mean that.
        columns.append(Column(column, affinity_of(declared or ""), declared or "", bool(not_null) or bool(key)))
    table = Table(name, columns, ddl)
    if primary:
        table.keys.append(tuple(place for _, place in sorted(primary)))
    for _, index, unique, _, partial in connection.execute(f"PRAGMA index_list({quoted(name)})").fetchall():
        if unique and not partial:
            parts = [row[2] for row in connection.execute(f"PRAGMA index_info({quoted(index)})")]
            places = [table.place(part) if part is not None else None for part in parts]
            if None not in places and tuple(places) not in table.keys:
                table.keys.append(tuple(place for place in places if place is not None))
    return table


def _read_links(
    connection: sqlite3.Connection, table: Table, found: dict[str, Table], names: dict[str, str], schema: Schema
) -> None:
    parts: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, _, parent, column, target, *_ in connection.execute(f"PRAGMA foreign_key_list({quoted(table.name)})"):
        parts.setdefault(number, []).append((parent, column, target))
    for pieces in parts.values():
        parent = found.get(names.get(pieces[0][0].lower(), ""))
        if parent is None:
            schema.enforceable = False
            continue
        own_key = parent.keys[0] if parent.keys else ()
        columns = [table.place(column) for _, column, _ in pieces]
        targets = [
            parent.place(target) if target is not None else (own_key[i] if i < len(own_key) else None)
            for i, (_, _, target) in enumerate(pieces)
        ]
        if None in columns or None in targets:
            schema.enforceable = False
            continue
        link = Link(
            table.name,
            tuple(place for place in columns if place is not None),
            parent.name,
            tuple(place for place in targets if place is not None),
        )
        if not any(set(key) == set(link.targets) for key in parent.keys):
            schema.enforceable = False
        if link not in table.links:
            table.links.append(link)


def parents_first(tables: dict[str, Table]) -> list[str]:
    order: dict[str, None] = {}
    for start in tables:
        path: list[tuple[str, list[str]]] = [(start, [link.parent for link in tables[start].links])]
        open_names = {start}
        while path:
            name, parents = path[-1]
            parent = parents.pop() if parents else None
            if parent is None:
                order[name] = None
                path.pop()
            elif parent not in order and parent not in open_names:
                open_names.add(parent)
                path.append((parent, [link.parent for link in tables[parent].links]))
    return list(order)


def parents_before(table: Table, lines: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """The rows of a table, each after those of the same table that it names, where there is such an order."""
    own = [link for link in table.links if link.parent == table.name]
    todo, done = [tuple(line) for line in lines], list[tuple[Any, ...]]()
    while todo and own:
        free = [row for row in todo if not any(_names(row, other, link) for link in own for other in todo)]
        if not free:
            break
        done += free
        todo = [row for row in todo if row not in free]
    return done + todo


def _names(row: Sequence[Any], other: Sequence[Any], link: Link) -> bool:
    named = [other[target] for target in link.targets]
    return row is not other and [row[place] for place in link.columns] == named


def insertion(table: Table) -> str:
    """The statement that puts a row into a table."""
    columns = ", ".join(quoted(column.name) for column in table.columns)
    if not columns:
        return f"INSERT INTO {quoted(table.name)} DEFAULT VALUES"
    return f"INSERT INTO {quoted(table.name)} ({columns}) VALUES ({', '.join('?' * len(table.columns))})"


Rows: TypeAlias = "list[list[Any]]"
