"""What the rows of a database teach: what may occur in it, so that invented rows are such as could well be there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, TypeAlias

from sensecheck.stores.sql_gate import quoted

from .schema import Column, Link, Schema, Table, Value, converted

Row: TypeAlias = "tuple[Any, ...]"
Kind: TypeAlias = Literal["number", "digits", "date", "text", "blob"]
"""`digits` are numbers in a column of text; dates are written from the year down."""

MOST_ROWS = 3_000
"""Rows of a table that are looked at; of longer tables as many, evenly spread,"""
MOST_READ = 300_000
"""among the first so many."""
_DATE = re.compile(r"[12]\d{3}-[01]\d-[0-3]\d(?:[ T][0-2]\d:[0-5]\d(?::[0-5]\d)?)?")
_DIGITS = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?")
_ID = re.compile(r"(?:^|_)(?:id|ids|no|nr|number|code|key|uid|isbn|iata)$|(?<=[a-z])(?:ID|Id|No|Code)$", re.I)
_MOST_COMPARED = 10_000_000
"""Rows times pairs of columns that are looked at, of a table: of wide and long ones fewer rows, evenly spread."""
_FEW = 4
"""Rows from which on a rule is taken for one."""


@dataclass(slots=True)
class Domain:
    """What is known of the values of one column."""

    kind: Kind
    values: list[Value]
    """Each once, NULL left out, in the order of the rows."""
    nulls: bool
    whole: bool
    """Numbers without a part behind the point."""
    low: float = 0.0
    high: float = 0.0
    unique: bool = False
    """No value twice, and it looks as if that were meant."""
    closed: bool = False
    """Few values, each of them often: others would be out of place."""
    tied: set[int] = field(default_factory=set)
    """The columns that follow from this one or from which it follows, as a country from a city: none of them is
    changed alone."""
    known: set[Value] = field(default_factory=set)


@dataclass(slots=True)
class Lore:
    """A table's rows and what they keep to."""

    table: Table
    rows: list[Row]
    domains: list[Domain]
    invented: bool = False
    """There are no rows: these are ours."""
    distinct: bool = True
    ordered: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of number columns of which the first is never above the second."""
    apart: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of columns that never hold the same."""
    unique: list[tuple[int, ...]] = field(default_factory=list)
    """Keys, and single columns that hold no value twice."""
    by_key: dict[tuple[int, ...], dict[Row, int]] = field(default_factory=dict)
    by_value: dict[tuple[int, ...], dict[Row, list[int]]] = field(default_factory=dict)

    def find(self, columns: tuple[int, ...], key: Row) -> Row | None:
        """The row with these values in its columns, which are a key."""
        index = self.by_key.get(columns)
        if index is None:
            index = self.by_key[columns] = {}
            for number, row in enumerate(self.rows):
                index.setdefault(tuple([row[place] for place in columns]), number)
        number = index.get(key, -1)
        return self.rows[number] if number >= 0 else None

    def holding(self, columns: tuple[int, ...], key: Row) -> list[int]:
        """The numbers of all rows with these values in their columns."""
        index = self.by_value.get(columns)
        if index is None:
            index = self.by_value[columns] = {}
            for number, row in enumerate(self.rows):
                index.setdefault(tuple([row[place] for place in columns]), []).append(number)
        return index.get(key, [])


@dataclass(slots=True)
class Knowledge:
    schema: Schema
    lore: dict[str, Lore]
    data_given: bool
    """Whether there were any rows at all; without them nothing but the schema speaks."""


def read_rows(connection: Any, table: Table, columns: str = "") -> list[Row]:
    """The rows of a table, evenly spread where there are too many."""
    if not table.columns:
        return []
    rows: list[Row] = []
    step = 1
    shown = columns or ", ".join(quoted(column.name) for column in table.columns)
    cursor = connection.execute(f"SELECT {shown} FROM {quoted(table.name)}")
    for number, row in enumerate(_one_by_one(cursor)):
        if number >= MOST_READ:
            break
        if number % step == 0:
            rows.append(row)
            if len(rows) > 2 * MOST_ROWS:
                rows, step = rows[::2], step * 2
    return rows[:: -(-len(rows) // MOST_ROWS)] if len(rows) > MOST_ROWS else rows


def _one_by_one(cursor: Any) -> Iterator[Row]:
    while rows := cursor.fetchmany(1_000):
        yield from rows


def learn(table: Table, rows: Sequence[Row]) -> Lore:
    """What the rows of a table keep to."""
    linked = {place for link in table.links for place in link.columns}
    keyed = {place for key in table.keys for place in key}
    domains = [
        _domain(table, place, column, rows, place in linked, place in keyed)
        for place, column in enumerate(table.columns)
    ]
    lore = Lore(table, list(rows), domains)
    lore.distinct = bool(table.keys) or len(set(rows)) == len(rows)
    lore.unique = list(table.keys)
    lore.unique += [(place,) for place, domain in enumerate(domains) if domain.unique and (place,) not in table.keys]
    _tie(lore, keyed, linked)
    lore.apart = _apart(table, rows)
    if len(rows) >= _FEW:
        numbers = [place for place, domain in enumerate(domains) if _is_measure(domain, place, linked | keyed)]
        rows = _some(rows, numbers)
        for left, right in combinations(numbers, 2):
            pairs = [(row[left], row[right]) for row in rows if row[left] is not None and row[right] is not None]
            pairs = [(float(a), float(b)) for a, b in pairs if _is_number(a) and _is_number(b)]
            if len(pairs) >= _FEW and all(a <= b for a, b in pairs):
                lore.ordered.append((left, right))
            elif len(pairs) >= _FEW and all(b <= a for a, b in pairs):
                lore.ordered.append((right, left))
    return lore


def _some(rows: Sequence[Row], places: Sequence[int]) -> Sequence[Row]:
    """As many rows as the pairs of so many columns leave time for."""
    return rows[:: 1 + len(rows) * len(places) ** 2 // (2 * _MOST_COMPARED)]


def _is_measure(domain: Domain, place: int, keys: set[int]) -> bool:
    return place not in keys and domain.kind in ("number", "digits") and bool(domain.values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and _DIGITS.fullmatch(value) is not None)


def _domain(table: Table, place: int, column: Column, rows: Sequence[Row], linked: bool, keyed: bool) -> Domain:
    values: dict[Value, None] = {}
    nulls, counted = False, 0
    for row in rows:
        value = row[place]
        if value is None:
            nulls = True
        else:
            counted += 1
            values[value] = None
    domain = Domain(_kind(column, values), list(values), nulls and not column.not_null, True, known=set(values))
    if domain.kind in ("number", "digits") and values:
        numbers = [float(value) for value in values if _is_number(value)]  # type: ignore[arg-type]
        if numbers:
            domain.low, domain.high = min(numbers), max(numbers)
            domain.whole = all(number.is_integer() for number in numbers)
    all_different = counted >= 2 and len(values) == counted
    # By chance, numbers are all different soon; texts and ids because they are meant to be.
    named_id = _ID.search(column.name) is not None and counted >= _FEW
    domain.unique = all_different and not linked and (domain.kind in ("text", "blob") or named_id)
    domain.closed = len(values) <= 2 if counted < 10 else len(values) <= max(2, min(8, counted // 4))
    if domain.kind == "number" and domain.whole and set(values) <= {0, 1}:
        domain.closed = True
    return domain


def _kind(column: Column, values: Iterable[Value]) -> Kind:
    sample = list(values)
    if not sample:
        declared = column.declared.upper()
        if "DATE" in declared or "TIME" in declared:
            return "date"
        return "number" if column.affinity in ("integer", "real", "numeric") else "text"
    if all(isinstance(value, int | float) for value in sample):
        return "number"
    if all(isinstance(value, str) for value in sample):
        if all(_DATE.fullmatch(value) for value in sample):  # type: ignore[arg-type]
            return "date"
        if all(_DIGITS.fullmatch(value) for value in sample):  # type: ignore[arg-type]
            return "digits"
        return "text"
    return "blob" if all(isinstance(value, bytes) for value in sample) else "text"


def _tie(lore: Lore, keyed: set[int], linked: set[int]) -> None:
    """Find columns that depend on each other, such as a city and its country."""
    domains = lore.domains
    places = [
        place
        for place, domain in enumerate(domains)
        if place not in keyed and not domain.unique and (domain.kind in ("text", "date") or place in linked)
    ]
    rows = _some(lore.rows, places)
    for left, right in combinations(places, 2):
        pairs = {(row[left], row[right]) for row in rows if row[left] is not None and row[right] is not None}
        a, b = len(domains[left].values), len(domains[right].values)
        # Where nothing repeats, everything follows from everything; and data have slips.
        if a > 1 and b > 1 and len(pairs) <= 1.03 * max(a, b) and len(pairs) < min(a * b, len(rows)):
            domains[left].tied.add(right)
            domains[right].tied.add(left)


def _apart(table: Table, rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Columns that name rows of one table, and never the same one: nobody is a friend of himself."""
    if len(rows) < _FEW:
        return []
    pairs = [
        (one.columns[0], other.columns[0])
        for one, other in combinations(table.links, 2)
        if one.parent == other.parent and len(one.columns) == len(other.columns) == 1
    ]
    return [(a, b) for a, b in pairs if not any(row[a] is not None and row[a] == row[b] for row in rows)]


def kept_links(pairs: Iterable[tuple[str, int, str, int]], lore: Mapping[str, Lore]) -> list[Link]:
    """Of columns that queries join, those that the data keep as a foreign key would: every value is one of a key's."""
    links = []
    for child, column, parent, target in pairs:
        own, other = lore[child], lore[parent]
        if (child, column) == (parent, target) or own.invented or other.invented or (target,) not in other.unique:
            continue
        values = other.domains[target].known
        affinity = other.table.columns[target].affinity
        own_values = own.domains[column].values
        if own_values and all(converted(value, affinity) in values for value in own_values):
            links.append(Link(child, (column,), parent, (target,), declared=False))
    return links
