"""The store behind `--connect`: databases that a function of the user's opens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import did_you_mean
from sensecheck.stores.limits import Limits
from sensecheck.stores.pool import StoreError

from .address import ServerAddress
from .connection import environment, split_name
from .databases import ServerDatabases
from .looking import looking

THE_SERVERS = "the server's"
"""Whose limits they are, as a signature says it."""


class ConnectedDatabases(ServerDatabases):
    """Databases behind a DB-API connection. `connect` is `module:function`; the function is given the name of the
    database that a record asks, where it takes one argument, and is called in the workers, which hold all of the
    environment and may write files, as drivers need to."""

    def __init__(
        self, connect: str, *, dialect: str | None = None, limits: Limits | None = None, workers: int | None = None
    ) -> None:
        try:
            split_name(connect)
        except ValueError:
            raise StoreError(f"--connect {connect!r}: expected module:function, as in warehouse:connect") from None
        _check_dialect(dialect)
        self.connect = connect
        self.address = ServerAddress("connection", connect, "", None, "", "", "", "", {})
        config: dict[str, Any] = {
            "kind": "connection", "connect": connect, "dialect": dialect or "", "folder": str(Path.cwd()),
            "environment": environment(), "probe": _probe(dialect or ""),
        }  # fmt: skip
        self._begin(config, dialect or "", looking("connection"), limits or Limits(), workers)
        if not dialect:
            self._ask_for_dialect(config, workers)

    def _ask_for_dialect(self, config: dict[str, Any], workers: int | None) -> None:
        """What the driver's package says, told to the workers that then run queries."""
        try:
            found = str(self.facts["dialect"])
        finally:
            self.close()
        if not found:
            raise StoreError(
                f"--connect {self.connect}: name the dialect of its SQL with --dialect (dialect=), as in "
                "--dialect snowflake"
            )
        config = {**config, "dialect": found, "probe": _probe(found)}
        self._begin(config, found, self._look, self.limits, workers)

    @property
    def place(self) -> str:
        return f"connection {self.connect}"

    @property
    def single(self) -> str | None:
        return None

    @property
    def engine(self) -> str:
        return f"{self.dialect} through {self.connect}"

    def warnings(self) -> list[str]:
        return [
            f"queries ran on {self.connect}: beyond one reading statement, time, rows and bytes of an answer, limits "
            f"are {THE_SERVERS}; a query that was given up may run on there (docs/databases.md)"
        ]

    def files(self, name: str) -> Sequence[str]:
        return [name if self.facts["by_name"] else ""]

    def names(self) -> list[str]:
        return []

    def file_print(self, file: str) -> str:
        """Of the columns that the engine tells of, where it has the usual views; what rows hold is not looked at."""
        known = self._prints.get(file)
        if known is None:
            from sensecheck.inputs import fingerprints

            known = fingerprints.of_value([self.place, file, [list(map(str, row)) for row in self._columns(file)]])
            self._prints[file] = known
        return known

    def _columns(self, file: str) -> list[tuple[object, ...]]:
        return list(self._asked(self._look.columns, file) or ())

    def tables(self, file: str) -> set[str] | None:
        names = {str(row[0]).lower() for row in self._columns(file)}
        return names or None  # an engine without the usual views says nothing


def _probe(dialect: str) -> str:
    """The least that an engine can be asked."""
    return "SELECT 1 FROM dual" if dialect == "oracle" else "SELECT 1"


def _check_dialect(dialect: str | None) -> None:
    from sqlglot.dialects.dialect import Dialect

    if dialect is not None and dialect not in Dialect.classes:
        known = sorted(name for name in Dialect.classes if name)
        hint = did_you_mean(dialect, known) or f"Known are {', '.join(known)}."
        raise StoreError(f"--dialect {dialect!r}: not known. {hint}")
