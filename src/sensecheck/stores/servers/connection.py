"""Any other engine, through a DB-API connection that a function of the user's opens.

What is bounded here is bounded by us: one statement that only reads, the time and memory of the worker, rows and bytes
of the answer. What a query may do on the server, and how long it runs there once we have given up, is the server's to
say.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sensecheck.stores.limits import Limits
from sensecheck.stores.outcomes import Failure, Reason

from .cells import plain
from .engine import DeniedError, Gathering, LostError, ServerEngine
from .gates import DOING, DOING_IN_TSQL, closed_function

_DRIVERS = {
    "sqlite3": "sqlite", "duckdb": "duckdb", "snowflake": "snowflake", "google": "bigquery", "trino": "trino",
    "prestodb": "presto", "pyodbc": "tsql", "pymssql": "tsql", "mssql_python": "tsql", "oracledb": "oracle",
    "cx_Oracle": "oracle", "psycopg": "postgres", "psycopg2": "postgres", "pymysql": "mysql", "MySQLdb": "mysql",
    "mysql": "mysql", "databricks": "databricks", "clickhouse_connect": "clickhouse", "clickhouse_driver": "clickhouse",
    "redshift_connector": "redshift", "pyathena": "athena", "pyhive": "hive", "teradatasql": "teradata",
}  # fmt: skip
"""Packages of drivers, each with the dialect that its server speaks."""
_NONE = "no statement"
_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def split_name(name: str) -> tuple[str, str]:
    """The module and the function. ValueError where it is no such name."""
    if not _NAME.fullmatch(name):
        raise ValueError("expected module:function")
    module, _, function = name.partition(":")
    return module, function


class ConnectionEngine(ServerEngine):
    writes_files = True

    def __init__(self, config: dict[str, Any], limits: Limits) -> None:
        super().__init__(config, limits)
        self.dialect: str = config["dialect"]
        self._open: Callable[..., Any] | None = None
        self._takes_name = False

    def facts(self) -> dict[str, Any]:
        module, name = split_name(self.config["connect"])
        os.chdir(self.config["folder"])  # where the function expects to be
        sys.path.insert(0, self.config["folder"])
        try:
            self._open = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise  # it says what is missing itself
            raise DeniedError(f"there is no module {module} in {self.config['folder']} or among the packages") from None
        except AttributeError:
            raise DeniedError(f"the module {module} has no function {name}") from None
        if not callable(self._open):
            raise DeniedError(f"{module}:{name} is no function but {type(self._open).__name__}")
        # Here, where all workers share it: no query pays for the reading of sqlglot.
        reading_only("SELECT 1", self.dialect)
        with suppress(ValueError):
            self._takes_name = bool(inspect.signature(self._open).parameters)
        return {
            "version": f"connection {module}:{name}", "names": [], "user": "", "rights": [], "mode": "",
            "by_name": self._takes_name, "dialect": self.dialect or self._dialect_of_driver(),
        }  # fmt: skip

    def _dialect_of_driver(self) -> str:
        """By the package of the connection's class, where the function opens one without a name."""
        if self._takes_name or self._open is None:
            return ""
        try:
            connection = self._open()
        except Exception as error:
            raise _unopened(error) from None
        package = type(connection).__module__.partition(".")[0].lstrip("_")
        with suppress(Exception):
            connection.close()
        return _DRIVERS.get(package, "")

    def connect(self, database: str) -> Any:
        assert self._open is not None
        try:
            connection = self._open(database) if self._takes_name else self._open()
        except Exception as error:
            raise _unopened(error) from None
        if not hasattr(connection, "cursor"):
            raise DeniedError(f"the function gave no connection but {type(connection).__name__}")
        return connection

    def objection(self, session: Any, text: str) -> Failure | None:
        return reading_only(text, self.dialect)

    def number_of(self, session: Any) -> int:
        return 0  # DB-API has no way to end what another connection asked

    def query(self, session: Any, text: str, deadline: float, *, timed: bool) -> dict[str, Any]:
        cursor = session.cursor()
        started = time.perf_counter()
        try:
            cursor.execute(text)
            if cursor.description is None:
                return {"reason": str(Reason.REFUSED), "message": "the statement returns no rows"}
            rows = Gathering([str(column[0]) for column in cursor.description], self.limits)
            while batch := cursor.fetchmany(rows.at_once):
                too_much = rows.take([tuple([plain(cell) for cell in row]) for row in batch])
                if too_much is None and time.monotonic() > deadline:
                    too_much = Failure(Reason.TIMEOUT, f"no answer within {self.limits.seconds:g} s")
                if too_much is not None:
                    return {"reason": str(too_much.reason), "message": too_much.message}
            if timed:
                return {"columns": [], "rows": [], "took": time.perf_counter() - started}
            return rows.answer()
        finally:
            with suppress(Exception):
                cursor.close()
            with suppress(Exception):
                session.rollback()

    def failure_of(self, error: Exception, session: Any) -> Failure | None:
        if isinstance(error, MemoryError):
            return None
        words = " ".join(str(error).split()) or type(error).__name__
        if not self._still_answers(session):
            raise LostError(words)
        lowered = words.lower()
        if "syntax" in lowered or "parse" in lowered:
            return Failure(Reason.SYNTAX, words)
        if "timeout" in lowered or "timed out" in lowered:
            return Failure(Reason.TIMEOUT, words)
        return Failure(Reason.ENGINE_ERROR, words)

    def _still_answers(self, session: Any) -> bool:
        try:
            cursor = session.cursor()
            cursor.execute(self.config["probe"])
            cursor.fetchall()
            cursor.close()
        except Exception:
            return False
        return True

    def end(self, session: Any) -> None:
        with suppress(Exception):
            session.close()

    def cancel(self, number: int) -> None:
        """Nothing can be ended that way."""


def _unopened(error: Exception) -> LostError | DeniedError:
    words = f"the function that connects failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    gone = isinstance(error, OSError) or type(error).__name__ in ("OperationalError", "InterfaceError")
    return LostError(words) if gone else DeniedError(words)


def reading_only(text: str, dialect: str) -> Failure | None:
    """Why a text may not run, as sqlglot reads this dialect, or None."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    from sensecheck.inputs.guarding import OverBudgetError
    from sensecheck.language.sql_parsing import parse_sql

    if "/*!" in text or "/*M!" in text or "/*+" in text:
        return Failure(Reason.REFUSED, "not allowed: a comment that a server may obey")
    try:
        statements = [statement for statement in parse_sql(text, dialect) if statement is not None]
    except OverBudgetError as error:
        return Failure(Reason.REFUSED, str(error))
    except RecursionError:
        return Failure(Reason.REFUSED, "nested too deep")
    except SqlglotError as error:
        return Failure(Reason.SYNTAX, str(error).splitlines()[0][:300])
    if len(statements) != 1:
        return Failure(Reason.REFUSED, "more than one statement") if statements else Failure(Reason.SYNTAX, _NONE)
    if word := _doing_word(text, dialect):
        return Failure(Reason.REFUSED, f"not allowed: {word}")
    (tree,) = statements
    if not isinstance(tree, exp.Query | exp.Values):
        return Failure(Reason.REFUSED, f"only SELECT statements are run, not {tree.key.upper()}")
    doing = (
        exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.Set, exp.Use, exp.Copy, exp.Pragma, exp.Drop, exp.Alter,
        exp.Transaction, exp.Commit, exp.Rollback, exp.Kill, exp.Attach, exp.Detach, exp.LoadData, exp.Merge,
        exp.SessionParameter, exp.Parameter, exp.PropertyEQ,
    )  # fmt: skip
    for node in tree.walk():
        # A SELECT is DDL and DML to sqlglot too, as far as it may stand in such.
        if isinstance(node, doing) and not isinstance(node, exp.Query | exp.Values):
            return Failure(Reason.REFUSED, f"not allowed: {node.key.upper()}")
        if isinstance(node, exp.Identifier | exp.Func | exp.Dot):
            name = node.name if isinstance(node, exp.Identifier | exp.Anonymous) else node.key
            if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous):
                name = node.sql_name()
            is_call = isinstance(node, exp.Func)
            if closed := closed_function(str(name), is_call=is_call):
                return Failure(Reason.REFUSED, f"not allowed: {closed}")
    return None


def _doing_word(text: str, dialect: str) -> str:
    """The first word that no query has, unless as a function or behind a dot."""
    from sqlglot.dialects.dialect import Dialect

    closed = DOING_IN_TSQL if dialect in ("tsql", "fabric") else DOING
    before = ""
    tokens = Dialect.get_or_raise(dialect).tokenize(text)
    for token, following in zip(tokens, [*(one.text for one in tokens[1:]), ""], strict=True):
        written = text[token.start : token.end + 1].lower()
        if written in closed and before != "." and (following != "(" or closed is DOING_IN_TSQL):
            return written.upper()
        before = token.text
    return ""


def environment() -> dict[str, str]:
    """All of it: what a driver needs to log in, nobody but its author knows."""
    return dict(os.environ)
