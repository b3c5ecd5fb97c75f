"""The search as the job of a worker process: one request is one pair of queries, the reply what came of it.

A worker of `stores` runs it: capped in memory, without network, unable to write a file, killed when it takes too long.
Whatever a query does there ends with the worker.
"""

from __future__ import annotations

import sqlite3
import time
from collections import OrderedDict
from functools import partial
from typing import Any, TypeAlias

import orjson

from sensecheck.language.answers import Answer
from sensecheck.stores.engines import DuckdbEngine, SqliteEngine
from sensecheck.stores.limits import Limits
from sensecheck.stores.outcomes import Failure, Outcome, decode_outcome, encode_outcome

from .checks import listed_values
from .inventing import invent
from .judging import Engine, compared
from .knowledge import Knowledge, Lore, Row, learn, read_rows
from .sandbox import Sandbox
from .schema import Schema, parents_before, read_sqlite_schema
from .searching import Report, Search

Given: TypeAlias = "dict[str, list[Row]]"

KEPT = 4
"""Databases whose rows a worker keeps in mind."""
_SCHEMA_STEPS = 50_000


def make(config: dict[str, Any], limits: Limits) -> SearchEngine:
    return SearchEngine(limits, config["dialect"])


class SearchEngine:
    """What a worker process calls (`stores.engines.Engine`)."""

    def __init__(self, limits: Limits, dialect: str) -> None:
        self.dialect = dialect
        self.files: SqliteEngine | DuckdbEngine = DuckdbEngine(limits) if dialect == "duckdb" else SqliteEngine(limits)
        self.known: OrderedDict[tuple[str, str], tuple[Knowledge, Engine]] = OrderedDict()

    def load(self) -> dict[str, Any]:
        return self.files.load()

    def start(self) -> None:
        self.files.start()

    def places(self, database: str) -> list[str]:
        return self.files.places(database) if database else []

    def answer(self, text: str, database: str) -> dict[str, Any]:
        request = orjson.loads(text)
        started = time.process_time()
        reply = {"left_out": request["broken"]} if request["broken"] else self._reply(request, database)
        reply["seconds"] = time.process_time() - started
        return {"columns": ["report"], "rows": [[orjson.dumps(reply).decode()]]}

    def _reply(self, request: dict[str, Any], database: str) -> dict[str, Any]:
        gold, prediction = request["gold"], request["prediction"]
        if database and not request["agreed"]:
            given = self._on_the_database(gold, prediction, database)
            if given:
                return given
        errors = _errors(self.dialect)
        try:
            knowledge, sandbox = self._knowledge(request, database)
        except errors as error:
            return {"left_out": f"the schema cannot be built in memory: {error}"}
        report = Search(knowledge, sandbox, gold, prediction, request["seed"], self.dialect).run(request["budget"])
        return _encoded(report, knowledge, self.dialect)

    def _on_the_database(self, gold: str, prediction: str, database: str) -> dict[str, Any]:
        """What there is to say before any search: a query fails on the database, or the two differ there."""
        outcomes = {}
        for owner, text in (("gold", gold), ("prediction", prediction)):
            outcome = self._ask(database, text)
            if isinstance(outcome, Failure):
                return {"left_out": f"{owner}: it does not run on the database: {outcome.message}"}
            outcomes[owner] = outcome
        ask = partial(self._ask, database)
        same = compared(outcomes["gold"], outcomes["prediction"], gold, ask, self.dialect)
        return {} if same else {"differ": True}

    def _ask(self, database: str, text: str) -> Outcome:
        return decode_outcome(self.files.answer(text, database))

    def _knowledge(self, request: dict[str, Any], database: str) -> tuple[Knowledge, Engine]:
        key = (database, request["content"])
        if key in self.known:
            self.known.move_to_end(key)
            return self.known[key]
        schema, sandbox, given = (self._of_duckdb if self.dialect == "duckdb" else self._of_sqlite)(request, database)
        lore: dict[str, Lore] = {}
        for name, table in schema.tables.items():
            listed = {} if given[name] else listed_values(table, self.dialect)
            lore[name] = learn(table, given[name]) if given[name] else invent(table, lore, listed)
        made = (Knowledge(schema, lore, any(given.values())), sandbox)
        self.known[key] = made
        while len(self.known) > KEPT:
            self.known.popitem(last=False)[1][1].close()
        return made

    def _of_sqlite(self, request: dict[str, Any], database: str) -> tuple[Schema, Engine, Given]:
        connection = self.files._connect(database) if database else _built(request["schema"])
        try:
            schema = read_sqlite_schema(connection)
            sandbox = Sandbox(schema)
            return schema, sandbox, {name: read_rows(connection, table) for name, table in schema.tables.items()}
        finally:
            connection.close()

    def _of_duckdb(self, request: dict[str, Any], database: str) -> tuple[Schema, Engine, Given]:
        from .duckdb_sandbox import DuckdbSandbox, connect, read_duckdb_schema, select_list

        connection = self.files._connect(database).cursor() if database else connect()
        try:
            if not database:
                connection.execute(request["schema"])
            schema = read_duckdb_schema(connection)
            sandbox = DuckdbSandbox(schema)
            given = {name: read_rows(connection, table, select_list(table)) for name, table in schema.tables.items()}
            return schema, sandbox, given
        finally:
            connection.close()


def _errors(dialect: str) -> tuple[type[Exception], ...]:
    if dialect != "duckdb":
        return (sqlite3.Error, sqlite3.Warning, ValueError)
    import duckdb

    return (duckdb.Error, ValueError)


def _built(script: str) -> sqlite3.Connection:
    """A database in memory from the statements that make it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return steps > _SCHEMA_STEPS

    connection.set_progress_handler(count, 1_000)
    connection.executescript(script)
    return connection


def _encoded(report: Report, knowledge: Knowledge, dialect: str) -> dict[str, Any]:
    reply: dict[str, Any] = {"tried": report.tried, "left_out": report.left_out}
    reply["notes"] = [*knowledge.schema.notes, *report.notes]
    found = report.found
    if found is not None:
        tables = {}
        schema = knowledge.schema
        for name, lines in found.rows.items():
            columns = [column.name for column in knowledge.lore[name].table.columns]
            tables[name] = encode_outcome(Answer(columns, parents_before(schema.tables[name], lines)))
        reply["found"] = {
            "ddl": schema.first_of(found.rows) + [schema.tables[name].ddl for name in found.rows],
            "further": schema.further_of(found.rows),
            "tables": tables,
            "gold": encode_outcome(found.trial.gold),
            "predicted": encode_outcome(found.trial.predicted),
            "difference": found.trial.difference,
            # DuckDB has no such circles: a table names those that are there, or itself.
            "circular": dialect == "sqlite" and schema.is_circular(list(found.rows)),
            "marks": found.marks,
        }
    return reply
