"""PostgreSQL, asked through psycopg 3: cursors of the server in read-only transactions."""

from __future__ import annotations

import time
from typing import Any

from sensecheck.stores.limits import Limits
from sensecheck.stores.outcomes import Failure, Reason

from .address import ServerAddress
from .cells import json_value, moment, plain, span
from .engine import CONNECT_SECONDS, DeniedError, Gathering, LostError, ServerEngine
from .gates import PG_NAMES, PgName, PostgresGate

_SETTINGS = {
    "default_transaction_read_only": "on",
    "standard_conforming_strings": "on",  # the gate reads quotes so
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "cursor_tuple_fraction": "1",  # the whole answer is wanted
    "lock_timeout": "0",
    "client_connection_check_interval": "1000",  # a query ends whose worker is gone
    "max_parallel_workers_per_gather": "0",
}
_LATER_SETTINGS = frozenset(("client_connection_check_interval",))
"""Those that PostgreSQL before 14 does not have."""
# Codes of errors: https://www.postgresql.org/docs/current/errcodes-appendix.html
_LOST = ("08", "57P", "53300", "55P04")
_DENIED = ("28", "3D", "42501")
_SIGNS_OF_DENIAL = (
    "password authentication failed", "no password supplied", "does not exist", "no pg_hba.conf entry",
    "permission denied", "authentication failed", "could not translate host name", "certificate",
    "does not support SSL", "definition of service", ' value: "',
)  # fmt: skip
_MAINTENANCE = ("postgres", "template1")
"""Databases that most servers have, to ask which others there are."""

_RIGHTS = """
SELECT current_setting('server_version'), rolsuper, rolcreaterole, rolcreatedb, pg_is_in_recovery(),
  ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.rolname IN (
    'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_write_all_data',
    'pg_signal_backend', 'pg_database_owner') AND r.rolname <> 'pg_database_owner'
    AND pg_has_role(current_user, r.oid, 'USAGE'))
FROM pg_roles WHERE rolname = current_user
"""
_DATABASES = """
SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate AND has_database_privilege(datname, 'CONNECT')
ORDER BY datname
"""
_SCHEMAS = """
SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
AND has_schema_privilege(oid, 'USAGE') ORDER BY nspname
"""


class PostgresSession:
    def __init__(self, connection: Any, gate: PostgresGate) -> None:
        self.connection = connection
        self.gate = gate
        self.number = int(connection.info.backend_pid)


class PostgresEngine(ServerEngine):
    def __init__(self, config: dict[str, Any], limits: Limits) -> None:
        super().__init__(config, limits)
        self.address = ServerAddress(**config["address"])

    # ---- connections

    def _open(self, database: str) -> Any:
        import psycopg

        address = self.address
        given = {"host": address.host, "port": address.port, "user": address.user, "password": address.password}
        named: dict[str, Any] = {
            name: value for name, value in {**given, **address.options, "dbname": database}.items() if value
        }
        try:
            connection = psycopg.connect(
                **named, connect_timeout=CONNECT_SECONDS, application_name="sensecheck", client_encoding="UTF8",
                autocommit=True,
            )  # fmt: skip
        except psycopg.OperationalError as error:
            raise _unopened(error) from None
        except psycopg.ProgrammingError as error:
            raise DeniedError(_first_line(error)) from None
        try:
            _prepare(connection, self.limits.seconds)
        except psycopg.OperationalError as error:
            connection.close()
            raise LostError(_first_line(error)) from None
        return connection

    def connect(self, database: str) -> PostgresSession:
        place = self.address.database if self.address.by_schema else database
        connection = self._open(place)
        schema = database if self.address.by_schema else self.address.schema
        if schema:
            connection.execute("SELECT set_config('search_path', quote_ident(%s), false)", (schema,))
        gate = PostgresGate([PgName(*row) for row in connection.execute(PG_NAMES)])
        connection.autocommit = False
        connection.read_only = True
        return PostgresSession(connection, gate)

    def facts(self) -> dict[str, Any]:
        connection = self._any_database()
        with connection:
            version, superuser, makes_roles, makes_databases, _, groups = connection.execute(_RIGHTS).fetchone()
            names = [str(row[0]) for row in connection.execute(_SCHEMAS if self.address.by_schema else _DATABASES)]
            user = connection.info.user
        rights = []
        if superuser:
            rights.append("is a superuser")
        elif makes_roles or makes_databases:
            rights.append("may create roles or databases")
        if groups and not superuser:
            rights.append(f"is a member of {', '.join(groups)}")
        return {
            "version": f"postgresql {version.split()[0]}",
            "names": names,
            "user": user,
            "rights": rights,
            "mode": "",
        }

    def _any_database(self) -> Any:
        if self.address.database and (self.address.by_schema or not self.address.several):
            return self._open(self.address.database)
        first: DeniedError | None = None
        for name in _MAINTENANCE:
            try:
                return self._open(name)
            except DeniedError as error:
                first = first or error
        assert first is not None
        raise first

    # ---- queries

    def objection(self, session: PostgresSession, text: str) -> Failure | None:
        return session.gate.objection(text)

    def number_of(self, session: PostgresSession) -> int:
        return session.number

    def query(self, session: PostgresSession, text: str, deadline: float, *, timed: bool) -> dict[str, Any]:
        started = time.perf_counter()
        try:
            # The server compiles it as the query of a cursor: one statement, which reads, or an error.
            with session.connection.cursor(name="answer", scrollable=False) as cursor:
                cursor.execute(text)
                rows = Gathering([column.name for column in cursor.description or ()], self.limits)
                padded = [place for place, column in enumerate(cursor.description or ()) if column.type_code == _BPCHAR]
                while batch := cursor.fetchmany(rows.at_once):
                    too_much = rows.take([_row(row, padded) for row in batch])
                    if too_much is not None:
                        return {"reason": str(too_much.reason), "message": too_much.message}
                    seconds_left = deadline - time.monotonic()
                    session.connection.execute(_timeout_set(seconds_left))
            if timed:
                return {"columns": [], "rows": [], "took": time.perf_counter() - started}
            return rows.answer()
        finally:
            if not session.connection.closed:
                session.connection.rollback()

    def make(self, session: PostgresSession, tables: list[dict[str, Any]]) -> None:
        connection = session.connection
        connection.read_only = None
        connection.execute("SET TRANSACTION READ WRITE")
        for table in tables:
            name = _marked(table["name"])
            declared = ", ".join(f"{_marked(column)} {kind}" for column, kind in table["columns"].items())
            connection.execute(f"CREATE TEMPORARY TABLE {name} ({declared})")
            for row in table["rows"]:
                # Quoted texts have no type yet: the column gives them its own.
                cells = ", ".join("NULL" if cell is None else "'" + cell.replace("'", "''") + "'" for cell in row)
                connection.execute(f"INSERT INTO {name} VALUES ({cells})")
        connection.commit()
        connection.read_only = True

    def failure_of(self, error: Exception, session: PostgresSession) -> Failure | None:
        import psycopg

        if isinstance(error, RecursionError):
            return Failure(Reason.REFUSED, "a value that is nested too deep")
        if not isinstance(error, psycopg.Error):
            return None
        state, words = error.sqlstate or "", _first_line(error)
        if "out of memory" in words and "server" not in words and not state:
            return Failure(Reason.MEMORY, words)
        if session.connection.closed or session.connection.broken or state.startswith(_LOST):
            raise LostError(words)
        if state == "57014":
            return Failure(Reason.TIMEOUT, f"no answer within {self.limits.seconds:g} s: the server ended the query")
        if state in ("25006", "25001") or "must not contain data-modifying" in words:
            return Failure(Reason.REFUSED, words)
        if state == "42601":
            many = "multiple commands" in words
            return Failure(Reason.REFUSED if many else Reason.SYNTAX, "more than one statement" if many else words)
        if state in ("54001", "54000", "54011", "54023"):
            return Failure(Reason.REFUSED, words)
        if state in ("53200", "53100", "53400"):
            return Failure(Reason.MEMORY, words)
        if (state == "22008" and "invalid memory alloc" in words) or "invalid memory alloc" in words:
            return Failure(Reason.TOO_LARGE, words)
        return Failure(Reason.ENGINE_ERROR, words)

    def end(self, session: PostgresSession) -> None:
        session.connection.close()

    def cancel(self, number: int) -> None:
        with self._any_database() as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", (number,))


def _marked(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _prepare(connection: Any, seconds: float) -> None:
    """Settings that answers depend on, and bounds; and how values are read that Python has no type for."""
    import psycopg

    milliseconds = str(max(1, int(seconds * 1000)))
    settings = {**_SETTINGS, "statement_timeout": milliseconds, "idle_in_transaction_session_timeout": "0"}
    for name, value in settings.items():
        try:
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        except psycopg.errors.UndefinedObject:
            if name not in _LATER_SETTINGS:
                raise
        except psycopg.errors.FeatureNotSupported:  # a system that cannot tell that a client is gone
            pass
        except psycopg.errors.InvalidParameterValue:
            if name not in _LATER_SETTINGS:
                raise
    adapters = connection.adapters
    moments, texts, documents, spans = _loaders()
    for name in ("date", "time", "timetz", "timestamp", "timestamptz"):
        adapters.register_loader(name, moments)
    for name in ("uuid", "inet", "cidr"):
        adapters.register_loader(name, texts)
    for name in ("json", "jsonb"):
        adapters.register_loader(name, documents)
    adapters.register_loader("interval", spans)


def _loaders() -> tuple[Any, Any, Any, Any]:
    """Loaders of psycopg for what its own turn into types with narrower bounds than the server's (`infinity`, BC,
    intervals of many years)."""
    from psycopg.adapt import Loader

    class Moments(Loader):  # type: ignore[misc, unused-ignore]
        def load(self, data: Any) -> str:
            return moment(bytes(data).decode())

    class Texts(Loader):  # type: ignore[misc, unused-ignore]
        def load(self, data: Any) -> str:
            return bytes(data).decode()

    class Documents(Loader):  # type: ignore[misc, unused-ignore]
        def load(self, data: Any) -> Any:
            return json_value(bytes(data).decode())

    class Spans(Loader):  # type: ignore[misc, unused-ignore]
        def load(self, data: Any) -> str:
            return span(bytes(data).decode())

    return Moments, Texts, Documents, Spans


_BPCHAR = 1042  # the type of CHAR(n), which the server fills up with blanks that no comparison of its own sees


def _row(row: tuple[Any, ...], padded: list[int]) -> tuple[Any, ...]:
    cells = [plain(cell) for cell in row]
    for place in padded:
        if isinstance(cells[place], str):
            cells[place] = cells[place].rstrip(" ")
    return tuple(cells)


def _timeout_set(seconds: float) -> str:
    """What is left of the time is for all rows that are still to come, not for each part of them."""
    return f"SET LOCAL statement_timeout = {max(1, int(seconds * 1000))}"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _unopened(error: Exception) -> LostError | DeniedError:
    words = " ".join(str(error).split())
    if (getattr(error, "sqlstate", None) or "").startswith(_DENIED) or any(sign in words for sign in _SIGNS_OF_DENIAL):
        return DeniedError(words)
    return LostError(words)
