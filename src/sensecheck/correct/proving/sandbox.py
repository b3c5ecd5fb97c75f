"""Tiny databases in memory, one after the other, in which gold and prediction run.

Made for a worker process: queries pass the same gate as everywhere (`stores.sql_gate`), and what one of them may take
is counted in steps of the engine, which are the same on every machine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from sensecheck.language.answers import Answer
from sensecheck.stores.outcomes import Failure, Outcome, Reason
from sensecheck.stores.sql_gate import READING_STATEMENTS, Authorizer, leading_keyword

from .schema import Schema, insertion

STEPS = 400_000
"""Steps of SQLite's machine that a query may take on a tiny database; usual ones take a few thousand."""
_STEPS_AT_ONCE = 2_000
QUERY_CHARACTERS = 1 << 18
"""Characters that a query may have,"""
ROWS = 2_000
"""rows that its answer may have there,"""
CELL_BYTES = 200_000
"""bytes that a value may have,"""
ANSWER_BYTES = 2_000_000
"""and all of its values."""
_ROWS_AT_ONCE = 40


class _Watch(Authorizer):
    """The gate, which is open while rows are ours to insert, and which notes what a query reads and calls."""

    def __init__(self) -> None:
        super().__init__()
        self.ours = True
        self.read: set[tuple[str, str]] = set()
        self.called: set[tuple[str, str]] = set()
        """Functions, each with the view that calls it, in small letters."""

    def __call__(self, action: int, first: str | None, second: str | None, *rest: object) -> int:
        if self.ours:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and first is not None:
            self.read.add((first, second or ""))
        elif action == sqlite3.SQLITE_FUNCTION and second is not None:
            self.called.add((second.lower(), str(rest[-1] or "").lower() if rest else ""))
        return super().__call__(action, first, second, *rest)


class Sandbox:
    """One schema in memory. `fill` puts rows in, `ask` runs queries on them, `clear` takes them out again."""

    def __init__(self, schema: Schema, *, foreign_keys: bool = False) -> None:
        self.schema = schema
        self._foreign_keys = foreign_keys
        self._watch = _Watch()
        self._steps = 0
        self._looks = 0
        self.connection = connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=256)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").fetchall()
        for table in schema.tables.values():
            connection.execute(table.ddl)
        for _, statement in schema.further:
            connection.execute(statement)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 500)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.set_authorizer(self._watch)
        connection.set_progress_handler(self._count, _STEPS_AT_ONCE)
        self._insertions = {name: insertion(table) for name, table in schema.tables.items()}

    def close(self) -> None:
        self.connection.close()

    def fresh(self) -> Sandbox:
        """The same without rows, made anew, with foreign keys that the engine watches over."""
        return Sandbox(self.schema, foreign_keys=self.schema.enforceable)

    def _count(self) -> int:
        self._steps += _STEPS_AT_ONCE
        return self._steps > STEPS

    def fill(self, rows: Mapping[str, Sequence[Sequence[Any]]]) -> str:
        """Put rows in; why the engine does not take them, or "". Either way `clear` has to follow."""
        self._watch.ours = True
        self._steps = 0
        try:
            self.connection.execute("BEGIN")
            if self._foreign_keys:  # tables may name each other in a circle
                self.connection.execute("PRAGMA defer_foreign_keys=ON")
            for name, table_rows in rows.items():
                if table_rows:
                    self.connection.executemany(self._insertions[name], table_rows)
        except (sqlite3.Error, OverflowError) as error:
            return str(error) or type(error).__name__
        finally:
            self._watch.ours = False
        return ""

    def seal(self) -> str:
        """Keep the rows that are in, if every foreign key finds its parent; else what the engine says."""
        self._watch.ours = True
        try:
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            return str(error)
        finally:
            self._watch.ours = False
        return ""

    def clear(self) -> None:
        self._watch.ours = True
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self._watch.ours = False

    def reverse(self, backwards: bool) -> None:
        """Have the engine go through tables backwards, where a query does not say how."""
        self._watch.ours = True
        self.connection.execute(f"PRAGMA reverse_unordered_selects={'ON' if backwards else 'OFF'}")
        self._watch.ours = False

    def ask(self, text: str) -> Outcome:
        if len(text) > QUERY_CHARACTERS:
            return Failure(Reason.REFUSED, f"the query is too long: {len(text):,} characters")
        keyword = leading_keyword(text)
        if keyword not in READING_STATEMENTS:
            return Failure(Reason.REFUSED, f"only SELECT, WITH and VALUES statements are run, not {keyword or 'this'}")
        watch = self._watch
        watch.ours, watch.denied, self._steps = False, "", 0
        try:
            cursor = self.connection.execute(text)
            if cursor.description is None:
                return Failure(Reason.REFUSED, "the statement returns no rows")
            rows = cursor.fetchmany(_ROWS_AT_ONCE)
            if len(rows) == _ROWS_AT_ONCE:
                size, more = answer_size(rows), rows
                while len(rows) <= ROWS and size <= ANSWER_BYTES and (more := cursor.fetchmany(_ROWS_AT_ONCE)):
                    rows += more
                    size += answer_size(more)
                if more:
                    cursor.close()
                    what = f"{ROWS:,} rows" if len(rows) > ROWS else f"{ANSWER_BYTES:,} bytes"
                    return Failure(Reason.TOO_LARGE, f"an answer of more than {what} to a database with a few rows")
            return Answer([column[0] for column in cursor.description], rows)
        except UnicodeEncodeError:
            return Failure(Reason.SYNTAX, "the query contains half a character (a lone surrogate)")
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            return self._failure(error)

    def _failure(self, error: Exception) -> Failure:
        if self._watch.denied:
            return Failure(Reason.REFUSED, f"not allowed: {self._watch.denied}")
        if self._steps > STEPS:
            return Failure(Reason.OVER_BUDGET, f"takes more than {STEPS:,} steps on a database with a few rows")
        message = str(error)
        if "too big" in message or "too large" in message:
            return Failure(Reason.TOO_LARGE, message)
        return Failure(Reason.ENGINE_ERROR, message)

    def look(self, text: str) -> tuple[Outcome, set[tuple[str, str]], set[tuple[str, str]]]:
        """What a query answers on no rows at all, which columns it reads, and which functions it or a view calls."""
        self._watch.read, self._watch.called = set(), set()
        self._looks += 1
        self.fill({})
        # The gate is asked when a text is compiled, and compiled texts are kept: this one is new every time.
        outcome = self.ask(f"{text}\n-- {self._looks}")
        self.clear()
        read, called = self._watch.read, self._watch.called
        self._watch.read, self._watch.called = set(), set()
        return outcome, read, called


def answer_size(rows: Sequence[tuple[Any, ...]]) -> int:
    return sum(len(cell) for row in rows for cell in row if isinstance(cell, str | bytes))
