"""The engines that run inside a worker process. Only `worker` calls them: nothing here is safe elsewhere."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sqlite3
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import quote
from zoneinfo import ZoneInfo

from sensecheck.language.sparql.tree import XSD

from .limits import Limits
from .outcomes import HALF_CHARACTER, Failure, Reason, encode_cell, encode_outcome, too_many_bytes
from .sparql_gate import Admitted, admit
from .sql_gate import (
    READING_STATEMENTS,
    Authorizer,
    declare_virtual_tables,
    is_reading,
    leading_keyword,
    machinery,
)

_ROWS_AT_ONCE = 512
_BYTES_AT_ONCE = 1 << 20
_USUAL_DATATYPE = 64


class Engine(Protocol):
    def load(self) -> dict[str, Any]:
        """Before workers are forked: read what all of them share."""
        ...

    def start(self) -> None:
        """In the worker: open what must not cross a fork."""
        ...

    def answer(self, text: str, database: str) -> dict[str, Any]: ...

    def timed(self, text: str, database: str) -> dict[str, Any]:
        """An answer without rows that says how long the query itself `took`: no opening, and no writing of rows."""
        ...

    def places(self, database: str) -> list[str]:
        """The folders of the store, which no message may name."""
        ...


# Their drivers are imported with them.
SERVERS = {
    "postgresql": ("sensecheck.stores.servers.postgresql", "PostgresEngine"),
    "mysql": ("sensecheck.stores.servers.mysql", "MysqlEngine"),
    "connection": ("sensecheck.stores.servers.connection", "ConnectionEngine"),
}


def make(config: dict[str, Any]) -> Engine:
    limits = Limits(**config["limits"])
    kind = config["kind"]
    if kind == "oxigraph":
        return OxigraphEngine(config, limits)
    if kind == "sqlite":
        return SqliteEngine(limits)
    if kind == "duckdb":
        return DuckdbEngine(limits)
    if kind == "job":
        # Work of another room, named by its module: the arrows between rooms point here, not back.
        engine: Engine = importlib.import_module(config["module"]).make(config, limits)
        return engine
    if kind in SERVERS:
        module, name = SERVERS[kind]
        server: Engine = getattr(importlib.import_module(module), name)(config, limits)
        return server
    raise ValueError(f"unknown engine {kind!r}")


def _failure(reason: Reason, message: str) -> dict[str, Any]:
    return encode_outcome(Failure(reason, message))


def _too_long(text: str, limits: Limits) -> dict[str, Any]:
    most = limits.query_bytes
    return _failure(Reason.REFUSED, f"the query is too long: {len(text):,} characters; at most {most:,} are allowed")


def _too_many_rows(limits: Limits) -> dict[str, Any]:
    return _failure(Reason.TOO_LARGE, f"more than {limits.rows:,} rows")


def _too_many_bytes(limits: Limits) -> dict[str, Any]:
    return encode_outcome(too_many_bytes(limits))


def _folders(path: str) -> list[str]:
    return [str(Path(path).parent), str(Path(path).resolve().parent)]


def _timed(cursor: Any, started: float, limits: Limits) -> dict[str, Any]:
    """How long a query has taken once its last row is fetched."""
    rows = 0
    while batch := cursor.fetchmany(_ROWS_AT_ONCE):
        rows += len(batch)
        if rows > limits.rows:
            return _too_many_rows(limits)
    return {"columns": [], "rows": [], "took": time.perf_counter() - started}


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


class OxigraphEngine:
    """Oxigraph in memory (a graph file, read once and shared by fork) or on disk (opened read-only)."""

    def __init__(self, config: dict[str, Any], limits: Limits) -> None:
        self.limits = limits
        self.paths: list[str] = config["paths"]
        self.on_disk: bool = config["on_disk"]
        self.prefixes: dict[str, str] = config["prefixes"]
        self.tolerant: bool = config["tolerant"]
        self.store: Any = None
        self.casts: dict[Any, Any] = {}

    def load(self) -> dict[str, Any]:
        import pyoxigraph

        self.casts = _integer_casts()
        if self.on_disk:
            return {"triples": None}
        self.store = pyoxigraph.Store()
        for path in self.paths:
            uncompressed = path
            for ending in (".gz", ".zst"):
                uncompressed = uncompressed.removesuffix(ending)
            rdf_format = pyoxigraph.RdfFormat.from_extension(uncompressed.rsplit(".", 1)[-1])
            if rdf_format is None:
                raise ValueError(
                    f"{path}: unknown format; the name should end in .nt, .ttl, .nq, .trig, .rdf or .jsonld"
                )
            if uncompressed == path:
                self.store.bulk_load(path=path, format=rdf_format)
            else:
                with _decompressed(path) as stream:
                    self.store.bulk_load(stream, format=rdf_format)
        return {"triples": len(self.store)}

    def start(self) -> None:
        if self.on_disk:
            import pyoxigraph

            self.store = pyoxigraph.Store.read_only(self.paths[0])

    def answer(self, text: str, database: str) -> dict[str, Any]:
        admitted = admit(text, self.prefixes, self.limits, tolerant=self.tolerant, own_labels=True)
        if isinstance(admitted, Failure):
            return encode_outcome(admitted)
        return self.run(admitted)

    def run(self, admitted: Admitted) -> dict[str, Any]:
        """What a query answers that the gate has let in."""
        try:
            results = self.store.query(admitted.text, custom_functions=self.casts)
            if admitted.query.form == "ASK":
                return {"boolean": bool(results)}
            return self._rows(results, admitted.hidden)
        except SyntaxError as error:
            return _failure(Reason.SYNTAX, str(error))
        except (RuntimeError, ValueError, OSError) as error:
            return _failure(Reason.ENGINE_ERROR, str(error))

    def timed(self, text: str, database: str) -> dict[str, Any]:
        return _failure(Reason.REFUSED, "queries of a graph are not timed")

    def places(self, database: str) -> list[str]:
        return [folder for path in self.paths for folder in _folders(path)]

    def _rows(self, solutions: Any, hidden: frozenset[str]) -> dict[str, Any]:
        from pyoxigraph import BlankNode, Literal, NamedNode

        columns = [variable.value for variable in solutions.variables]
        if not hidden.isdisjoint(columns):
            shown = [place for place, name in enumerate(columns) if name not in hidden]
            columns = [columns[place] for place in shown]
            solutions = ([solution[place] for place in shown] for solution in solutions)
        rows: list[list[Any]] = []
        size = sum(map(_bytes, columns))
        limit_rows, limit_bytes = self.limits.rows, self.limits.bytes
        for solution in solutions:
            if len(rows) >= limit_rows:
                return _too_many_rows(self.limits)
            row: list[Any] = []
            for term in solution:
                if term is None:
                    row.append(None)
                    continue
                if isinstance(term, NamedNode):
                    row.append(["iri", term.value])
                elif isinstance(term, BlankNode):
                    row.append(["blank", term.value])
                elif isinstance(term, Literal):
                    datatype, language = term.datatype.value, term.language or ""
                    row.append(["literal", term.value, datatype, language])
                    if len(datatype) + len(language) > _USUAL_DATATYPE:  # STRDT and STRLANG make them of any text
                        size += _bytes(datatype) + _bytes(language)
                else:
                    return _failure(Reason.ENGINE_ERROR, "a triple as a value is not compared")
                size += _bytes(term.value) + 16
            if size > limit_bytes:
                return _too_many_bytes(self.limits)
            rows.append(row)
        return {"columns": columns, "rows": rows}


# xsd:int and its kin: casts that queries use and Oxigraph leaves out.
_INTEGERS = (
    "int long short byte nonNegativeInteger positiveInteger negativeInteger nonPositiveInteger "
    "unsignedLong unsignedInt unsignedShort unsignedByte"
)


def _integer_casts() -> dict[Any, Any]:
    from pyoxigraph import Literal, NamedNode

    integer_type = NamedNode(XSD + "integer")

    def cast(term: Any) -> Any:
        try:
            text = term.value.strip()
            number = {"true": 1, "false": 0}.get(text)
            return Literal(str(int(float(text)) if number is None else number), datatype=integer_type)
        except (AttributeError, ValueError, OverflowError):
            return None  # an error in SPARQL: the expression has no value

    return {NamedNode(XSD + name): cast for name in _INTEGERS.split()}


def _decompressed(path: str) -> Any:
    if path.endswith(".gz"):
        import gzip

        return gzip.open(path, "rb")
    import zstandard

    return zstandard.open(path, "rb")


def _rows(cursor: Any, columns: list[str], limits: Limits) -> dict[str, Any]:
    """All rows of a cursor, fetched a few at a time while they are long; or that they are too much."""
    rows: list[list[Any]] = []
    size = sum(map(_bytes, columns))
    at_once = 1
    while size <= limits.bytes and (batch := cursor.fetchmany(at_once)):
        size_before = size
        for row in batch:
            cells = [encode_cell(cell) for cell in row]
            rows.append(cells)
            size += 8 * len(cells)
            for cell in cells:
                if isinstance(cell, str):
                    size += _bytes(cell)
                elif isinstance(cell, dict):  # a blob, a list, a number that JSON does not have
                    size += len(cell["b"]) // 2 if "b" in cell else sum(map(_bytes, cell.values()))
        if len(rows) > limits.rows:
            return _too_many_rows(limits)
        at_once = max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE * len(batch) // (size - size_before + 1)))
    return {"columns": columns, "rows": rows} if size <= limits.bytes else _too_many_bytes(limits)


class SqliteEngine:
    """SQLite files, read-only. Every query has a new connection: no setting of one reaches the next."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def load(self) -> dict[str, Any]:
        return {}

    def start(self) -> None:
        pass

    def _connect(self, database: str) -> sqlite3.Connection:
        # `immutable` keeps SQLite from making lock or shared-memory files; but where a write-ahead log is
        # waiting beside the file, it would be overlooked.
        log = Path(database + "-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
        connection = sqlite3.connect(f"file:{quote(database)}?{mode}", uri=True, isolation_level=None)
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self.limits.bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, self.limits.query_bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 500)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        declare_virtual_tables(connection)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection

    def answer(self, text: str, database: str) -> dict[str, Any]:
        return self._run(text, database, timed=False)

    def timed(self, text: str, database: str) -> dict[str, Any]:
        return self._run(text, database, timed=True)

    def _run(self, text: str, database: str, *, timed: bool) -> dict[str, Any]:
        if len(text) > self.limits.query_bytes:
            return _too_long(text, self.limits)
        keyword = leading_keyword(text)
        if keyword not in READING_STATEMENTS:
            if not keyword:
                return _failure(Reason.SYNTAX, "no statement")
            reason = Reason.REFUSED if keyword in _STATEMENTS else Reason.SYNTAX
            return _failure(reason, f"only SELECT, WITH and VALUES statements are run, not {keyword}")
        authorizer = Authorizer()
        connection = self._connect(database)
        try:
            connection.set_authorizer(authorizer)
            started = time.perf_counter()
            cursor = connection.execute(text)
            if cursor.description is None:
                return _failure(Reason.REFUSED, "the statement returns no rows")
            if timed:
                return _timed(cursor, started, self.limits)
            return _rows(cursor, [column[0] for column in cursor.description], self.limits)
        except UnicodeEncodeError:
            return _failure(Reason.SYNTAX, HALF_CHARACTER)
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            return self._failure_of(error, authorizer)
        finally:
            connection.close()

    def places(self, database: str) -> list[str]:
        return _folders(database)

    def _failure_of(self, error: Exception, authorizer: Authorizer) -> dict[str, Any]:
        message = str(error)
        if authorizer.denied:
            return _failure(Reason.REFUSED, f"not allowed: {authorizer.denied}")
        lowered = message.lower()
        if "one statement" in lowered:
            return _failure(Reason.REFUSED, "more than one statement")
        if "out of memory" in lowered or isinstance(error, MemoryError):
            return _failure(Reason.MEMORY, message)
        if "too big" in lowered or "too large" in lowered:
            return _failure(Reason.TOO_LARGE, message)
        if any(sign in lowered for sign in ("syntax error", "unrecognized token", "incomplete input", "null char")):
            return _failure(Reason.SYNTAX, message)
        if "too deep" in lowered or "too many" in lowered or "maximum depth" in lowered or "parser stack" in lowered:
            return _failure(Reason.REFUSED, message)
        return _failure(Reason.ENGINE_ERROR, message)


_STATEMENTS = frozenset(
    word
    for line in (
        "ALTER ANALYZE ATTACH BEGIN COMMIT CREATE DELETE DETACH DROP END EXPLAIN INSERT PRAGMA REINDEX",
        "RELEASE REPLACE ROLLBACK SAVEPOINT UPDATE VACUUM COPY EXPORT IMPORT INSTALL LOAD CALL SET RESET USE",
        "CHECKPOINT GRANT REVOKE TRUNCATE MERGE EXECUTE PREPARE DEALLOCATE",
    )
    for word in line.split()
)


class _Zone(ZoneInfo):
    def localize(self, moment: Any, is_dst: bool = False) -> Any:
        return moment.replace(tzinfo=self)


def _time_zones() -> ModuleType:
    """What DuckDB asks the package pytz for when it hands out a time with its zone; without it the query fails."""
    module = ModuleType("pytz")
    module.timezone = _Zone  # type: ignore[attr-defined]
    module.utc = _Zone("UTC")  # type: ignore[attr-defined]
    return module


_OPEN_DATABASES = 2  # each holds some 70 MB of address space


class DuckdbEngine:
    """DuckDB files, opened read-only with every door to the outside shut and locked."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.databases: dict[str, Any] = {}

    def load(self) -> dict[str, Any]:
        import duckdb  # noqa: F401  (the import is what all workers share; a database must not cross a fork)

        if importlib.util.find_spec("pytz") is None:
            sys.modules["pytz"] = _time_zones()
        return {}

    def start(self) -> None:
        # DuckDB's own machinery is not counted against the first query.
        import duckdb

        connection = duckdb.connect(":memory:", config={"threads": 1})
        connection.execute("SELECT 1").fetchall()
        connection.close()

    def _connect(self, database: str) -> Any:
        connection = self.databases.get(database)
        if connection is None:
            import duckdb

            connection = duckdb.connect(
                database,
                read_only=True,
                config={
                    "threads": 1,
                    "memory_limit": f"{max(64, self.limits.memory >> 21)}MB",  # the other half is ours
                    "temp_directory": "",
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                    "allow_community_extensions": False,
                    "python_enable_replacements": False,
                },
            )
            # After the settings above, which it would forbid.
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            while len(self.databases) >= _OPEN_DATABASES:
                self.databases.pop(next(iter(self.databases))).close()
            self.databases[database] = connection
        return connection

    def answer(self, text: str, database: str) -> dict[str, Any]:
        return self._run(text, database, timed=False)

    def timed(self, text: str, database: str) -> dict[str, Any]:
        return self._run(text, database, timed=True)

    def _run(self, text: str, database: str, *, timed: bool) -> dict[str, Any]:
        import duckdb

        if len(text) > self.limits.query_bytes:
            return _too_long(text, self.limits)
        try:
            text.encode()
        except UnicodeEncodeError:
            return _failure(Reason.SYNTAX, HALF_CHARACTER)
        if "\0" in text:
            return _failure(Reason.SYNTAX, "the query contains a null character")
        cursor: Any = None
        try:
            cursor = self._connect(database).cursor()
            statements = cursor.extract_statements(text)
            if len(statements) != 1:
                complaint = "more than one statement" if statements else "no statement"
                return _failure(Reason.REFUSED if statements else Reason.SYNTAX, complaint)
            if not is_reading(cursor, text, statements[0]):
                return _failure(Reason.REFUSED, f"only SELECT statements are run, not {statements[0].type.name}")
            if objection := machinery(text):
                return _failure(Reason.REFUSED, f"not allowed: {objection}")
            started = time.perf_counter()
            cursor.execute(statements[0])
            if timed:
                return _timed(cursor, started, self.limits)
            return _rows(cursor, [column[0] for column in cursor.description or ()], self.limits)
        except duckdb.ParserException as error:
            too_deep = "depth" in str(error).lower()
            return _failure(Reason.REFUSED if too_deep else Reason.SYNTAX, str(error))
        except duckdb.PermissionException as error:
            return _failure(Reason.REFUSED, str(error))
        except duckdb.OutOfMemoryException as error:
            return _failure(Reason.MEMORY, str(error))
        except duckdb.Error as error:
            message = str(error)
            if any(sign in message for sign in ("bad_alloc", "bad allocation", "Cannot allocate memory")):
                return _failure(Reason.MEMORY, message)
            if cursor is not None and any(sign in message for sign in ("disabled", "read-only", "not allowed")):
                return _failure(Reason.REFUSED, message)
            # After an error that DuckDB did not foresee it answers nothing more: the next query gets a new worker.
            broken = isinstance(error, duckdb.FatalException | duckdb.InternalException)
            return {**_failure(Reason.ENGINE_ERROR, message), "retire": broken}
        finally:
            if cursor is not None:
                cursor.close()

    def places(self, database: str) -> list[str]:
        return _folders(database)


def address_space() -> int:
    """Bytes of address space this process holds now."""
    return _pages(0) * os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes of memory this process holds now."""
    return _pages(1) * os.sysconf("SC_PAGE_SIZE")


def _pages(column: int) -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[column])
    except OSError:  # no /proc: the cap is then counted from nothing
        return 0
