"""A counterexample as SQL: statements that one command loads, with both queries and both answers as comments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sensecheck.language.answers import Answer
from sensecheck.stores.sql_gate import quoted

_SHOWN_ROWS = 20
_SHOWN_CELL = 80


def literal(value: Any) -> str:
    """A value as SQLite and DuckDB write it.

    >>> literal("O'Hara"), literal(None), literal(2.5), literal(b"\\x01")
    ("'O''Hara'", 'NULL', '2.5', "X'01'")
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isinf(value):
            return "9e999" if value > 0 else "-9e999"
        return repr(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    text = str(value)
    if "\0" in text:  # no literal can hold it
        return f"CAST(X'{text.encode().hex()}' AS TEXT)"
    return "'" + text.replace("'", "''") + "'"


def comment(text: str, head: str = "", sign: str = "--") -> list[str]:
    """Text of any kind as lines of comment: no line of it is ever read as a statement, or moves a terminal's cursor."""
    lines = []
    for line in text.splitlines() or [""]:
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line.expandtabs(4))
        lines.append(f"{sign} {head}{shown}".rstrip())
    return lines


def script(
    *,
    ddl: Sequence[str],
    further: Sequence[str],
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[Any]]]],
    queries: Sequence[tuple[str, str, Answer]] = (),
    heading: Sequence[str] = (),
    circular: bool = False,
) -> str:
    """The whole file. `queries`: what a query is called, its text, its answer."""
    lines: list[str] = []
    for text in heading:
        lines += comment(text)
    for name, text, answer in queries:
        lines += ["--", *comment(f"{name}:"), *comment(text.strip(), "    ")]
        lines += comment(f"answers ({len(answer.rows):,} row{'' if len(answer.rows) == 1 else 's'}):")
        lines += comment(_line(answer.columns), "    ")
        for shown in answer.rows[:_SHOWN_ROWS]:
            lines += comment(_line([literal(cell) for cell in shown]), "    ")
        if len(answer.rows) > _SHOWN_ROWS:
            lines += comment(f"… {len(answer.rows) - _SHOWN_ROWS:,} more", "    ")
    lines.append("")
    lines += [f"{statement.strip().rstrip(';')};" for statement in ddl]
    lines.append("")
    if circular:
        lines += ["BEGIN;", "PRAGMA defer_foreign_keys = ON;"]
    for name, (columns, rows) in tables.items():
        names = ", ".join(quoted(column) for column in columns)
        for row in rows:
            values = ", ".join(literal(cell) for cell in row)
            lines.append(
                f"INSERT INTO {quoted(name)} ({names}) VALUES ({values});"
                if columns
                else f"INSERT INTO {quoted(name)} DEFAULT VALUES;"
            )
    if circular:
        lines.append("COMMIT;")
    lines += [f"{statement.strip().rstrip(';')};" for statement in further]
    return "\n".join(lines) + "\n"


def turtle(triples: Sequence[str], queries: Sequence[tuple[str, str, Answer]], heading: Sequence[str]) -> str:
    """A small graph as Turtle, with both queries and both answers as comments."""
    lines: list[str] = []
    for text in heading:
        lines += comment(text, sign="#")
    for name, text, answer in queries:
        lines += ["#", *comment(f"{name}:", sign="#"), *comment(text.strip(), "    ", sign="#")]
        if answer.boolean is not None:
            lines += comment(f"answers: {str(answer.boolean).lower()}", sign="#")
            continue
        lines += comment(f"answers ({len(answer.rows):,} row{'' if len(answer.rows) == 1 else 's'}):", sign="#")
        lines += comment(_line(answer.columns), "    ", sign="#")
        for row in answer.rows[:_SHOWN_ROWS]:
            lines += comment(_line([term_text(cell) for cell in row]), "    ", sign="#")
        if len(answer.rows) > _SHOWN_ROWS:
            lines += comment(f"… {len(answer.rows) - _SHOWN_ROWS:,} more", "    ", sign="#")
    return "\n".join([*lines, "", *triples]) + "\n"


def term_text(cell: Any) -> str:
    """A value of a graph's answer, for readers."""
    return "" if cell is None else str(getattr(cell, "value", cell))


def _line(cells: Sequence[Any]) -> str:
    shown = [str(cell).replace("\n", "\\n").replace("\r", "\\r") for cell in cells]
    return " | ".join(cell if len(cell) <= _SHOWN_CELL else cell[:_SHOWN_CELL] + "…" for cell in shown)
