"""Rows for tables that have none: plain ones, as the types and keys of the schema allow."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .knowledge import Lore, Row, learn
from .schema import Column, Table, Value

ROWS = 8
_NAME = re.compile(r"name|title|label|email|phone|url|address", re.I)
_TRUTH = re.compile(r"BOOL", re.I)
_DAY = re.compile(r"DATE|TIME", re.I)
_PLAIN: Mapping[str, Callable[[int], Value]] = {
    "BLOB": lambda number: bytes([number]),
    "UUID": lambda number: f"00000000-0000-0000-0000-{number + 1:012}",
    "TIME": lambda number: f"{8 + number:02}:00:00",
    "INTERVAL": lambda number: f"{number + 1} days",
}
_FIRST_DAY = datetime.date(2020, 1, 1)


def invent(table: Table, lore: Mapping[str, Lore], listed: Mapping[int, Sequence[Value]], count: int = ROWS) -> Lore:
    """Rows of our own for a table, as if they were given. `listed`: columns → the values that a CHECK lets in."""
    keyed = {place for key in table.keys for place in key}
    # Rows share a part of a key that takes several columns, or there would be no need for them.
    parts = {key[0] for key in table.keys if len(key) > 1} - {key[0] for key in table.keys if len(key) == 1}
    rows: dict[Row, None] = {}
    for number in range(count):
        row: list[Any] = [
            _value(column, number // (1 + (place in parts)), place in keyed, listed.get(place))
            for place, column in enumerate(table.columns)
        ]
        for link in table.links:
            parent = lore.get(link.parent)
            # Keys of two links need pairs, so the second goes round more slowly.
            turn = number if table.links[0] is link else number // 2
            for place, target in zip(link.columns, link.targets, strict=True):
                if link.parent == table.name:  # a tree: every row hangs below an earlier one
                    row[place] = row[target] if not number else list(rows)[(number - 1) // 2][target]
                elif parent is not None and parent.rows:
                    row[place] = parent.rows[turn % len(parent.rows)][target]
        rows[tuple(row)] = None
    made = learn(table, list(rows))
    made.invented = True
    made.ordered = []
    made.unique = list(table.keys)
    for place, (column, domain) in enumerate(zip(table.columns, made.domains, strict=True)):
        domain.closed = place in listed or _TRUTH.search(column.declared) is not None
        domain.unique = domain.kind == "text" and _NAME.search(column.name) is not None and place not in keyed
        domain.tied = set()
        if domain.unique and (place,) not in made.unique and place not in listed:
            made.unique.append((place,))
        if domain.kind == "number" and not domain.closed:
            domain.low, domain.high = min(0.0, domain.low), max(1_000.0, domain.high)
    return made


def _value(column: Column, number: int, keyed: bool, listed: Sequence[Value] | None) -> Value:
    if listed:
        return listed[number % len(listed)]
    declared = column.declared.upper()
    if declared.startswith("ENUM("):
        words: list[str] = [word.replace("''", "'") for word in re.findall(r"'((?:[^']|'')*)'", column.declared)]
        return words[number % len(words)]
    if declared in _PLAIN:
        return _PLAIN[declared](number)
    if _TRUTH.search(declared):
        return number % 2
    if _DAY.search(column.declared):
        day = (_FIRST_DAY + datetime.timedelta(days=31 * number)).isoformat()
        return day if "TIME" not in column.declared.upper() else f"{day} 12:00:00"
    if column.affinity in ("integer", "numeric"):
        return number + 1 if keyed else 10 * (number // 2 + 1)
    if column.affinity == "real":
        return float(number + 1) if keyed else 10.5 * (number // 2 + 1)
    if keyed or _NAME.search(column.name):
        return f"{column.name} {number + 1}"
    return f"{column.name} {'ABC'[number % 3]}"
