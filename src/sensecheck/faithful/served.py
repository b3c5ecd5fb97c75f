"""What the columns of a server's databases hold: the same looks with the same bounds, asked through its store."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from sensecheck.faithful.facts import UnreadableQueryError
from sensecheck.faithful.schema import Schema
from sensecheck.faithful.schema.server import from_server
from sensecheck.faithful.stored import LIMITS, Literal, StoredFile, StoredValues
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.runs.stopping import Stopped
from sensecheck.stores import EndpointDeadError, Outcome, ServerDatabases
from sensecheck.stores.sql_gate import quoted
from sensecheck.stores.sql_store import SqlStore

MOST_DATABASES = 200
"""Databases of a server whose tables are read; of more, a schema says what is there."""
_Told = TypeVar("_Told")


class ServedValues(StoredValues):
    """The databases of a run on a PostgreSQL, MySQL or MariaDB server. Close it when all is asked."""

    _store: ServerDatabases

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._spelled: dict[str, dict[tuple[str, str], tuple[str, str]]] = {}
        _reached(lambda: self._store.facts)

    def _opened_store(self, place: str | os.PathLike[str]) -> SqlStore:
        return ServerDatabases(os.fspath(place), limits=LIMITS, workers=1)

    @property
    def place(self) -> str:
        return self._store.place

    @property
    def dialect(self) -> str | None:
        return self._store.dialect

    def state(self) -> str:
        """Of a single database with what it holds: a stopped run goes on only where nothing changed."""
        held = "" if self.only is None else _reached(lambda: self._store.file_print(str(self.only)))
        return f"{self._store.state()} {held}".rstrip()

    def schemas(self) -> dict[str, Schema] | Schema:
        if self.only is not None:
            return _reached(lambda: from_server(self._store, str(self.only), str(self.only)))
        names = _reached(self._store.names)
        if len(names) > MOST_DATABASES:
            raise InputError(
                field="database", expected=f"at most {MOST_DATABASES:,} databases to read the tables of",
                got=f"{len(names):,}", hint="Give the tables with --schema, or an address of fewer (…/bench_{db_id}).",
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        return _reached(lambda: {name: from_server(self._store, self._store.files(name)[0], name) for name in names})

    def prints(self) -> dict[str, str]:
        return self._store.prints()

    def _opened(self, name: str) -> StoredFile | UnreadableQueryError:
        return _reached(lambda: self._found(name))

    def _found(self, name: str) -> StoredFile | UnreadableQueryError:
        file = super()._opened(name)
        if not isinstance(file, UnreadableQueryError):
            path = file.path
            self._store.file_print(path)
            told = self._store.declared(path)
            self._spelled[path] = {
                (str(row[0]).lower(), str(row[2]).lower()): (str(row[0]), str(row[2])) for row in told
            }
            self._spelled[path] |= {(str(row[0]).lower(), ""): (str(row[0]), "") for row in told}
        return file

    def _ask(self, file: StoredFile, statement: str) -> Outcome:
        return _reached(lambda: super(ServedValues, self)._ask(file, statement))

    def _written_names(self, path: str, table: str, column: str) -> tuple[str, str]:
        """As the server spells them, which sees capitals in quotes."""
        key = (table.lower(), column.lower())
        home, place = map(self._in_marks, self._spelled[path].get(key, (table, column)))
        return home, f"{home}.{place}"

    def _in_marks(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`" if self._store.dialect == "mysql" else quoted(name)

    def _written(self, literal: Literal) -> str:
        told = super()._written(literal)
        backslashes = self._store.dialect == "mysql" and "NO_BACKSLASH_ESCAPES" not in self._store.facts["mode"]
        return told.replace("\\", "\\\\") if backslashes else told


def _reached(told: Callable[[], _Told]) -> _Told:
    """What a server says; where it is gone, the run stops, since nothing would be looked up any more."""
    try:
        return told()
    except EndpointDeadError as error:
        raise Stopped(f"{error}. Run the same command again once it answers; with --out, add --resume.") from None
