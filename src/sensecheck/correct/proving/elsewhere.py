"""Pairs of queries on a server are told apart elsewhere: in SQLite or DuckDB, by queries that sqlglot rewrites.

The tables are the server's, with some of their rows. What is found there shows that the rewritten queries differ; that
the server thinks so too is shown by replaying it there, in temporary tables, where the user allows it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from sensecheck.correct.sql_compare import compare, plan_gold
from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.language.sql_parsing import parse_sql
from sensecheck.stores import Answer, ServerDatabases
from sensecheck.stores.sql_gate import quoted

from .telling import Counterexample, Pair

_T = exp.DataType.Type
_KNOWN = (
    {*exp.DataType.TEXT_TYPES, *exp.DataType.NUMERIC_TYPES, *exp.DataType.TEMPORAL_TYPES, _T.YEAR, _T.BIT, _T.UUID}
    | {_T.BOOLEAN, _T.BINARY, _T.VARBINARY, _T.BLOB, _T.LONGBLOB, _T.MEDIUMBLOB, _T.TINYBLOB}
    | {_T.JSON, _T.JSONB, _T.ARRAY, _T.INTERVAL}
) - {_T.NAME, _T.MONEY, _T.SMALLMONEY, _T.TIMETZ}  # fmt: skip
"""Types that both engines have. A column of any other is one of texts there: it must not cost the other tables."""
ROWS = 100
"""Rows of each table that a search draws from."""
REPLAYED = "replayed on the server, where the two differ as well"
NOT_REPLAYED = "found in {dialect} by rewritten queries; not replayed on the server"


class Elsewhere:
    """Where pairs of one server's queries are searched, and what they are there."""

    def __init__(self, store: ServerDatabases, *, replays: bool) -> None:
        self.store = store
        self.replays = replays
        has_duckdb = importlib.util.find_spec("duckdb") is not None
        # MySQL groups and compares loosely, as SQLite does; PostgreSQL is strict and has types, as DuckDB.
        self.dialect = "duckdb" if store.dialect == "postgres" and has_duckdb else "sqlite"
        self._scripts: dict[str, str] = {}
        self._originals: dict[Pair, tuple[str, str, str]] = {}

    def pair(self, gold: str, prediction: str, file: str) -> Pair | str:
        """The pair to search for there, or why there is none."""
        texts = [guarded("rewriting a query", self._rewritten, text) for text in (gold, prediction)]
        if any(isinstance(text, Fault) or not text for text in texts):
            return f"with a query that cannot be rewritten for {self.dialect}"
        pair = Pair(str(texts[0]), str(texts[1]), schema=self._script(file), agreed=True)
        self._originals[pair] = gold, prediction, file
        return pair

    def _rewritten(self, text: str) -> str:
        try:
            statements = parse_sql(text, self.store.dialect)
            if len(statements) != 1 or statements[0] is None:
                return ""
            return str(statements[0].sql(dialect=self.dialect, unsupported_level=ErrorLevel.RAISE))
        except SqlglotError:
            return ""

    def _script(self, file: str) -> str:
        """Statements that make the tables there, with some rows of each."""
        if file not in self._scripts:
            keys = self.store.primary_keys(file)
            schema = self.store.schema(file)
            links = () if schema is None else schema.foreign_keys
            made = []
            for table, columns in self.store.columns(file).items():
                rows = [row for row in self.store.some_rows(table, list(columns), ROWS, file) if not _is_odd(row)]
                parts = [
                    f"{quoted(name)} {self._type(kind, [row[place] for row in rows])}"
                    for place, (name, kind) in enumerate(columns.items())
                ]
                if key := keys.get(table):
                    parts.append(f"PRIMARY KEY ({', '.join(map(quoted, key))})")
                if self.dialect == "sqlite":  # DuckDB wants parents made first, and their keys declared
                    parts += [
                        f"FOREIGN KEY ({quoted(column)}) REFERENCES {quoted(other)} ({quoted(target)})"
                        for (own, column), (other, target) in links
                        if own == table.lower()
                    ]
                made.append(f"CREATE TABLE {quoted(table)} ({', '.join(parts)});")
                for row in rows:
                    made.append(f"INSERT INTO {quoted(table)} VALUES ({', '.join(map(_literal, row))});")
            self._scripts[file] = "\n".join(made)
        return self._scripts[file]

    def _type(self, declared: str, values: Sequence[Any]) -> str:
        try:
            kind = exp.DataType.build(declared, dialect=self.store.dialect)
            told = kind.sql(dialect=self.dialect)
        except SqlglotError:
            return "TEXT"
        # PostgreSQL does not say how many dimensions an array has.
        if kind.this not in _KNOWN or (kind.this is _T.ARRAY and any(str(value)[:2] == "[[" for value in values)):
            return "TEXT"
        if kind.this is _T.DECIMAL and not kind.expressions and self.dialect == "duckdb":
            return "DOUBLE"  # of any number of digits on the server, of three behind the point there
        is_text = kind.is_type(*exp.DataType.TEXT_TYPES)
        # MySQL's usual collations do not see the case of letters.
        return f"{told} COLLATE NOCASE" if is_text and self.store.dialect == "mysql" else str(told)

    def confirmed(self, pair: Pair, found: Counterexample) -> bool:
        """Whether a find stands: on the server, where it may be replayed; its marks say which."""
        if not self.replays:
            found.marks.append(NOT_REPLAYED.format(dialect=self.dialect))
            return True
        gold, prediction, file = self._originals[pair]
        plan = plan_gold(gold, self.store.dialect)
        texts = [gold, prediction, *([plan.keyed] if plan.keyed else [])]
        if any(map(self._names_a_schema, texts[:2])):
            return False  # it would read the real tables
        rows = {name.lower(): [dict(zip(table.columns, row, strict=True)) for row in table.rows]
                for name, table in found.tables.items()}  # fmt: skip
        outcomes = self.store.replayed(texts, rows, file)
        answers = [one for one in outcomes if isinstance(one, Answer)]
        if len(answers) < len(texts):
            return False
        if compare(answers[0], answers[1], plan, answers[2] if plan.keyed else None).equal:
            return False
        found.gold, found.prediction = answers[0], answers[1]
        found.marks.append(REPLAYED)
        return True

    def _names_a_schema(self, text: str) -> bool:
        return any(
            table.db for tree in parse_sql(text, self.store.dialect) if tree for table in tree.find_all(exp.Table)
        )


def _is_odd(row: Sequence[Any]) -> bool:
    """Whether a row has what only its server keeps: numbers that are none, years before the first."""
    return any(
        (isinstance(value, float) and value - value != 0) or (isinstance(value, str) and value.endswith(" BC"))
        for value in row
    )


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, bool | int | float) and value - value == 0:
        return repr(value)
    return "'" + str(value).replace("'", "''").replace("\0", "") + "'"
