"""MySQL and MariaDB, asked through PyMySQL: rows as they come, in read-only transactions."""

from __future__ import annotations

import os
import re
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sensecheck.stores.limits import Limits
from sensecheck.stores.outcomes import Failure, Reason

from .address import ServerAddress
from .cells import json_value, moment, plain
from .engine import CONNECT_SECONDS, DeniedError, Gathering, LostError, ServerEngine
from .gates import MysqlGate

_OWN = ("information_schema", "mysql", "performance_schema", "sys")
# Numbers of errors: https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
_DENIED = frozenset((1044, 1045, 1049, 1130, 1131, 1698, 1227, 2059, 3118, 3159))
_LOST = frozenset((1040, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1203, 1226, 2002, 2003, 2006, 2013, 2014, 2055))
_TIMEOUTS = frozenset((1969, 3024, 1028, 1317))
_SYNTAX = frozenset((1064, 1149))
_REFUSED = frozenset((1142, 1143, 1227, 1290, 1370, 1792, 1295, 1314))
_TOO_LARGE = frozenset((1153, 1301, 1260, 3170))
_MEMORY = frozenset((1037, 1038, 1041, 1114, 1021))
_BIT, _JSON = 16, 245
_FUNCTIONS = """
SELECT routine_name FROM information_schema.routines
WHERE routine_schema = DATABASE() AND routine_type <> 'PROCEDURE'
"""
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_PROBES = ("SELECT", "SHOW VIEW", "USAGE", "SHOW DATABASES", "PROCESS")
"""Rights that let nobody write."""


class MysqlSession:
    def __init__(self, connection: Any, gate: MysqlGate, *, is_mariadb: bool) -> None:
        self.connection = connection
        self.gate = gate
        self.is_mariadb = is_mariadb
        self.number = int(connection.thread_id())


class MysqlEngine(ServerEngine):
    def __init__(self, config: dict[str, Any], limits: Limits) -> None:
        super().__init__(config, limits)
        self.address = ServerAddress(**config["address"])

    # ---- connections

    def _open(self, database: str) -> Any:
        import pymysql

        address = self.address
        options = dict(address.options)
        for name in ("defaults_file", "ssl_ca", "ssl_cert", "ssl_key"):
            if name in options and not Path(options[name]).is_file():
                raise DeniedError(f"{name}: there is no file {options[name]}")
        defaults = options.pop("defaults_file", "") or str(Path("~/.my.cnf").expanduser())
        given: dict[str, Any] = {
            "host": address.host, "port": address.port, "user": address.user,
            "password": address.password or os.environ.get("MYSQL_PWD", ""), "database": database, **options,
        }  # fmt: skip
        given = {name: value for name, value in given.items() if value}
        if Path(defaults).is_file():
            given["read_default_file"] = defaults
        for name in ("ssl_verify_cert", "ssl_verify_identity"):
            if name in given:
                given[name] = given[name].lower() in ("1", "true", "yes", "on")
        try:
            return pymysql.connect(
                **given, charset="utf8mb4", autocommit=True, connect_timeout=CONNECT_SECONDS, local_infile=False,
                # Nobody waits longer than the clock of the worker's caller; this is for servers that say nothing.
                read_timeout=max(1, int(self.limits.seconds) + 1), write_timeout=max(1, int(self.limits.seconds) + 1),
                conv=_converters(), program_name="sensecheck",
            )  # fmt: skip
        except pymysql.MySQLError as error:
            number, words = _told(error)
            raise (DeniedError if number in _DENIED else LostError)(words) from None
        except (RuntimeError, OSError) as error:  # what a login needs that is not there
            raise DeniedError(str(error)) from None
        except (struct.error, IndexError, KeyError, ValueError, TypeError, AssertionError) as error:
            words = f"what answers there does not speak as MySQL does: {type(error).__name__}"
            raise LostError(words) from None

    def connect(self, database: str) -> MysqlSession:
        import pymysql

        connection = self._open(database)
        try:
            return self._prepared(connection)
        except (pymysql.MySQLError, OSError) as error:
            connection._force_close()
            raise LostError(_told(error)[1]) from None

    def _prepared(self, connection: Any) -> MysqlSession:
        with connection.cursor() as cursor:
            cursor.execute("SELECT VERSION(), @@SESSION.sql_mode")
            version, mode = cursor.fetchone()
            is_mariadb = "mariadb" in str(version).lower()
            # A text cut off in the middle would be another text: what is too long is an error where it can be one.
            cursor.execute("SET SESSION time_zone = '+00:00', group_concat_max_len = 1048576")
            if is_mariadb:
                cursor.execute(f"SET SESSION max_statement_time = {self.limits.seconds:.3f}")
            else:
                cursor.execute(f"SET SESSION max_execution_time = {max(1, int(self.limits.seconds * 1000))}")
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            cursor.execute(_FUNCTIONS)
            own = [str(row[0]) for row in cursor.fetchall()]
        return MysqlSession(connection, MysqlGate(str(mode), own), is_mariadb=is_mariadb)

    def facts(self) -> dict[str, Any]:
        with self._open("" if self.address.several else self.address.database) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT VERSION(), @@SESSION.sql_mode, CURRENT_USER()")
            version, mode, user = (str(cell) for cell in cursor.fetchone())
            cursor.execute("SELECT schema_name FROM information_schema.schemata ORDER BY 1")
            names = [str(row[0]) for row in cursor.fetchall() if str(row[0]).lower() not in _OWN]
            cursor.execute("SHOW GRANTS")
            grants = [str(row[0]) for row in cursor.fetchall()]
        kind = "mariadb" if "mariadb" in version.lower() else "mysql"
        number = version.split("-")[0]
        return {
            "version": f"{kind} {number}", "names": names, "user": user.partition("@")[0],
            "rights": _rights_in(grants), "mode": mode,
        }  # fmt: skip

    # ---- queries

    def objection(self, session: MysqlSession, text: str) -> Failure | None:
        return session.gate.objection(text)

    def number_of(self, session: MysqlSession) -> int:
        return session.number

    def query(self, session: MysqlSession, text: str, deadline: float, *, timed: bool) -> dict[str, Any]:
        from pymysql.cursors import SSCursor

        connection = session.connection
        with connection.cursor() as settings:
            settings.execute("START TRANSACTION READ ONLY")
        cursor = connection.cursor(SSCursor)
        started = time.perf_counter()
        cursor.execute(text)
        if cursor.description is None:
            self._after(session)
            return {"reason": str(Reason.REFUSED), "message": "the statement returns no rows"}
        rows = Gathering([str(column[0]) for column in cursor.description], self.limits)
        types = [column[1] for column in cursor.description]
        while batch := cursor.fetchmany(rows.at_once):
            too_much = rows.take([_row(row, types) for row in batch])
            if too_much is None and time.monotonic() > deadline:
                too_much = self._out_of_time()
            if too_much is not None:
                # What is still to come would be read to its end by a cursor that closes: the session goes instead.
                connection._force_close()
                with suppress(LostError, DeniedError):
                    self.cancel(session.number)
                return {"reason": str(too_much.reason), "message": too_much.message, "ended": True}
        took = time.perf_counter() - started
        cursor.close()
        self._after(session)
        return {"columns": [], "rows": [], "took": took} if timed else rows.answer()

    def _asked(self, text: str, database: str, deadline: float, *, timed: bool) -> dict[str, Any]:
        reply = super()._asked(text, database, deadline, timed=timed)
        if reply.pop("ended", False):
            self._drop(database)
        return reply

    def _after(self, session: MysqlSession) -> None:
        with session.connection.cursor() as settings:
            settings.execute("ROLLBACK")

    def _out_of_time(self) -> Failure:
        return Failure(Reason.TIMEOUT, f"no answer within {self.limits.seconds:g} s: the server ended the query")

    def make(self, session: MysqlSession, tables: list[dict[str, Any]]) -> None:
        with session.connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION READ WRITE")
            for table in tables:
                name = _marked(table["name"])
                declared = ", ".join(f"{_marked(column)} {kind}" for column, kind in table["columns"].items())
                cursor.execute(f"CREATE TEMPORARY TABLE {name} ({declared})")
                for row in table["rows"]:
                    cells = ", ".join("NULL" if cell is None else session.connection.escape(cell) for cell in row)
                    cursor.execute(f"INSERT INTO {name} VALUES ({cells})")
            cursor.execute("SET SESSION TRANSACTION READ ONLY")

    def failure_of(self, error: Exception, session: MysqlSession) -> Failure | None:
        import pymysql

        if isinstance(error, UnicodeDecodeError):
            return Failure(Reason.ENGINE_ERROR, "a text that is not in UTF-8")
        if isinstance(error, TimeoutError | OSError) and not isinstance(error, pymysql.MySQLError):
            raise LostError(str(error) or type(error).__name__)
        if not isinstance(error, pymysql.MySQLError):
            return None
        number, words = _told(error)
        if number in _LOST or isinstance(error, pymysql.InterfaceError) or not session.connection.open:
            raise LostError(words)
        with suppress(pymysql.MySQLError, OSError):
            self._after(session)
        if number in _TIMEOUTS:
            return self._out_of_time()
        for numbers, reason in (
            (_SYNTAX, Reason.SYNTAX), (_REFUSED, Reason.REFUSED), (_TOO_LARGE, Reason.TOO_LARGE),
            (_MEMORY, Reason.MEMORY),
        ):  # fmt: skip
            if number in numbers:
                return Failure(reason, words)
        return Failure(Reason.ENGINE_ERROR, words)

    def end(self, session: MysqlSession) -> None:
        with suppress(Exception):
            session.connection._force_close()

    def cancel(self, number: int) -> None:
        import pymysql

        with suppress(pymysql.MySQLError), self._open("") as connection, connection.cursor() as cursor:
            cursor.execute(f"KILL {number}")


def _marked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _converters() -> dict[Any, Any]:
    """PyMySQL's own, but for dates and times: texts as the server writes them, `0000-00-00` too."""
    from pymysql.constants import FIELD_TYPE
    from pymysql.converters import conversions

    moments = {FIELD_TYPE.DATE, FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP, FIELD_TYPE.TIME}
    return {**conversions, **dict.fromkeys(moments, moment)}


def _row(row: tuple[Any, ...], types: list[int]) -> tuple[Any, ...]:
    return tuple([_cell(cell, kind) for cell, kind in zip(row, types, strict=True)])


def _cell(cell: Any, kind: int) -> Any:
    if kind == _BIT and isinstance(cell, bytes):
        return int.from_bytes(cell, "big")
    if kind == _JSON and isinstance(cell, str):
        return json_value(cell)
    return plain(cell)


def _told(error: Exception) -> tuple[int, str]:
    """The number and the words of an error."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    words = str(error.args[1]) if number and len(error.args) > 1 else str(error)
    return number, " ".join(words.split()) or type(error).__name__


def _rights_in(grants: list[str]) -> list[str]:
    """What a role may do beside reading, as `SHOW GRANTS` says it."""
    found: dict[str, None] = {}
    for grant in grants:
        named, on, _ = grant.upper().removeprefix("GRANT ").partition(" ON ")
        if not on or named.startswith("PROXY"):
            continue
        for right in _IN_BRACKETS.sub("", named).split(","):  # the columns that a right is for
            name = right.strip()
            if name and name not in _PROBES:
                found[name] = None
    if not found:
        return []
    listed = list(found)
    return [f"has the rights {', '.join(listed[:6])}" + (f" and {len(listed) - 6:,} others" if len(listed) > 6 else "")]
