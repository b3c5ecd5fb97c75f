"""SQL databases on a server, asked through workers like files are."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

import orjson

from sensecheck.inputs import fingerprints
from sensecheck.network.scrubbing import Secrets
from sensecheck.stores.limits import Limits
from sensecheck.stores.outcomes import Answer, EndpointDeadError, Failure, Outcome, Reason, Request, decode_outcome
from sensecheck.stores.pool import GRACE_SECONDS, StoreError, WorkerPool
from sensecheck.stores.schemas import Schema
from sensecheck.stores.sql_store import SqlStore

from .address import ServerAddress
from .looking import Looking, looking

_DIALECTS = {"postgresql": "postgres", "mysql": "mysql"}
_OWN_SECONDS = 60.0
"""For a statement of ours, which counts the rows of a table."""
_PROBE_SECONDS = 10.0
"""For a server to say that it is there."""
_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between the attempts to reach a server that was lost."""
_MOST_LOSSES = 3
"""Times that one query may lose its connection before it is taken for what breaks it."""
_DRIVER_SETTINGS = re.compile(r"PG[A-Z]+|MYSQL_PWD|HOME|USER|LOGNAME|SSL_CERT_(?:FILE|DIR)|KRB5\w+")
"""What drivers read of the environment; workers get nothing else of it."""


class ServerDatabases(SqlStore):
    """Databases of a PostgreSQL, MySQL or MariaDB server.

    With `{db_id}` in the address, or no database, each name of records has its own database (or schema); its variants
    NAMEv1, NAMEv2, … beside it are a suite. What is lost is tried again; where the server stays away, EndpointDeadError
    is raised, so that a run stops instead of scoring zeros.
    """

    def __init__(self, url: str, *, limits: Limits | None = None, workers: int | None = None) -> None:
        self.address = ServerAddress.read(url)
        self._begin(
            {"kind": self.address.engine, "address": asdict(self.address), "environment": _environment()},
            _DIALECTS[self.address.engine], looking(self.address.engine), limits or Limits(), workers,
        )  # fmt: skip

    def _begin(self, config: dict[str, Any], dialect: str, look: Looking, limits: Limits, workers: int | None) -> None:
        self.dialect = dialect
        self.limits = limits
        self.pauses = _PAUSES
        self._look = look
        self._secrets = Secrets(
            filter(None, [self.address.password, *map(os.environ.get, ("PGPASSWORD", "MYSQL_PWD"))])
        )
        self._config = config
        self._replaying: WorkerPool | None = None
        self.pool = WorkerPool(config, limits, workers)
        # Counting rows may take longer than a query may.
        self._own = WorkerPool(config, replace(limits, seconds=max(_OWN_SECONDS, limits.seconds)), 1)
        self._probe = str(config.get("probe", "SELECT 1"))
        self._last_words = ""
        self._facts: dict[str, Any] | None = None
        self._prints: dict[str, str] = {}
        self._writable: dict[str, int] = {}
        self._tables: dict[str, dict[str, str]] = {}

    # ---- what the server is

    @property
    def facts(self) -> dict[str, Any]:
        """What the server says of itself. StoreError where it refuses us, EndpointDeadError where it is not there."""
        if self._facts is None:
            try:
                self._facts = self.pool.open()
            except StoreError as error:
                raise StoreError(f"database {self.place}: {self._told(str(error))}") from None
            except EndpointDeadError as error:
                raise EndpointDeadError(
                    f"{self.place} does not answer; is the address right? ({self._told(str(error))})"
                ) from None
        return self._facts

    @property
    def place(self) -> str:
        return self.address.content()

    @property
    def single(self) -> str | None:
        return None if self.address.several else self.address.database

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        return f"{self.place} {self.facts['version']}"

    @property
    def engine(self) -> str:
        """What runs the queries, with its version."""
        return str(self.facts["version"]).replace(" ", "-")

    def warnings(self) -> list[str]:
        """What a run must say of the role that it asks as."""
        rights = list(self.facts["rights"])
        tables, databases = sum(self._writable.values()), len(self._writable)
        if tables and not rights:
            where = f" of {databases:,} databases" if databases > 1 else ""
            rights.append(f"may write to {tables:,} {'table' if tables == 1 else 'tables'}{where}")
        if not rights:
            return []
        return [
            f"the role {self.facts['user']} {' and '.join(rights)}: queries run in read-only transactions all the "
            "same, but give a role that may only read (docs/databases.md says how)"
        ]

    def files(self, name: str) -> Sequence[str]:
        """The databases or schemas of a name, the one that bears it first."""
        if not self.address.several:
            return [self.address.database]
        if not name or "\0" in name:
            raise StoreError(f"database name {name!r}: expected a plain name")
        wanted = self.address.named(name)
        there = self.facts["names"]
        found = wanted if wanted in there else next((one for one in there if one.lower() == wanted.lower()), None)
        if found is None:
            kind = "schema" if self.address.by_schema else "database"
            raise StoreError(f"database {name!r}: there is no {kind} {wanted!r} that this role may see at {self.place}")
        own = self.address.name_of(found) or name
        variant = re.compile(re.escape(own) + r"v\d+")
        beside = [one for one in there if (known := self.address.name_of(one)) and variant.fullmatch(known)]
        return [found, *beside]

    def names(self) -> list[str]:
        if not self.address.several:
            return [self.address.database]
        return [name for place in self.facts["names"] if (name := self.address.name_of(place))]

    # ---- what a database holds

    def _asked(self, text: str, database: str) -> list[tuple[Any, ...]] | None:
        for _, outcome in self._run_in(self._own, [Request(text, database)], None):
            return list(outcome.rows) if isinstance(outcome, Answer) else None
        return None

    def tables(self, file: str) -> set[str] | None:
        rows = self._asked(self._look.tables, file)
        return None if rows is None else {str(row[0]).lower() for row in rows}

    def schema(self, file: str) -> Schema | None:
        columns = self._asked(self._look.columns, file)
        if columns is None:
            return None
        tables: dict[str, tuple[str, ...]] = {}
        for table, column, *_ in columns:
            name = str(table).lower()
            tables[name] = (*tables.get(name, ()), str(column).lower())
        keys = [tuple([str(cell).lower() for cell in row]) for row in self._asked(self._look.keys, file) or ()]
        return Schema(tables, tuple([((row[0], row[1]), (row[2], row[3])) for row in keys]))

    def columns(self, file: str) -> dict[str, dict[str, str]]:
        """The columns of each table with their types, all as the server spells them."""
        found: dict[str, dict[str, str]] = {}
        for table, column, kind, *_ in self._asked(self._look.columns, file) or ():
            found.setdefault(str(table), {})[str(column)] = str(kind)
        return found

    def declared(self, file: str) -> list[tuple[Any, ...]]:
        """Of every column of tables and views: table, its comment, column, type, whether it may be empty, comment."""
        return self._asked(self._look.declared, file) or []

    def primary_keys(self, file: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for table, column in self._asked(self._look.primary, file) or ():
            found.setdefault(str(table), []).append(str(column))
        return found

    def some_rows(self, table: str, columns: Sequence[str], most: int, file: str) -> list[tuple[Any, ...]]:
        return self._asked(self._look.some_rows(table, columns, most), file) or []

    def replayed(
        self, texts: Sequence[str], rows: Mapping[str, Sequence[Mapping[str, Any]]], file: str
    ) -> list[Outcome]:
        """What queries answer in a session whose tables are temporary ones of the same names, with these rows."""
        tables = [
            {"name": table, "columns": columns, "rows": _ordered(rows.get(table.lower(), ()), columns)}
            for table, columns in self.columns(file).items()
        ]
        if self._replaying is None:
            self._replaying = WorkerPool({**self._config, "replays": True}, self.limits, 1)
        asked = orjson.dumps({"tables": tables, "texts": list(texts)}).decode()
        outcome = self._replaying.execute(Request(asked, file))
        if isinstance(outcome, Failure):
            return [self._without_secrets(outcome)]
        return [decode_outcome(orjson.loads(str(row[0]))) for row in outcome.rows]

    def refuse_locked(self, file: str) -> None:
        """No program keeps a database of a server for itself."""

    def file_print(self, file: str) -> str:
        """Of the server's version and settings, the columns of all tables, and each table's rows: how many, and a sum
        of what they hold. A table that cannot be counted within a minute is known by its columns alone."""
        known = self._prints.get(file)
        if known is None:
            columns = [[str(cell) for cell in row] for row in self._asked(self._look.contents, file) or ()]
            if self.address.by_schema:  # the others have fingerprints of their own
                columns = [row for row in columns if row[0] == file]
            by_table: dict[tuple[str, str], list[str]] = {}
            for schema, table, column, _ in columns:
                by_table.setdefault((schema, table), []).append(column)
            rows = {name: self._asked(self._look.rows(*name, own), file) for name, own in sorted(by_table.items())}
            held = [
                [*name, None if counted is None else [str(cell) for cell in counted[0]]]
                for name, counted in rows.items()
            ]
            known = fingerprints.of_value([self.facts["version"], self.facts["mode"], columns, held])
            self._prints[file] = known
            if self._look.writable and (count := self._asked(self._look.writable, file)):
                self._writable[self.address.database if self.address.by_schema else file] = int(count[0][0])
        return known

    def content(self) -> str:
        return self.place

    def prints(self) -> dict[str, str]:
        """The fingerprints of the databases that were asked so far, by their names."""
        return dict(sorted(self._prints.items()))

    def state(self) -> str:
        """Without what the databases hold, which is looked at when records ask for them."""
        return f"{self.place} {self.facts['version']}"

    # ---- queries

    def execute(self, request: Request) -> Outcome:
        for _, outcome in self.run([request]):
            return outcome
        raise AssertionError("a request without an outcome")

    def run(self, requests: Iterable[Request], seconds: float | None = None) -> Iterator[tuple[int, Outcome]]:
        """Outcomes as they come, each with the number of its request. What a lost server left open is asked again."""
        return self._run_in(self.pool, requests, seconds)

    def _run_in(
        self, pool: WorkerPool, requests: Iterable[Request], seconds: float | None
    ) -> Iterator[tuple[int, Outcome]]:
        _ = self.facts
        waiting = dict(enumerate(requests))
        if pool is self._own and waiting:
            self._open_own(waiting[0].database)
        losses = dict.fromkeys(waiting, 0)
        most = pool.limits.seconds if seconds is None else min(seconds, pool.limits.seconds)
        while waiting:
            numbers = list(waiting)
            lost: Failure | None = None
            with closing(pool.run([waiting[number] for number in numbers], seconds)) as outcomes:
                for place, outcome in outcomes:
                    number = numbers[place]
                    lost = self._loss_in(outcome, most, waiting[number].database)
                    if lost is None:
                        del waiting[number]
                        yield number, self._without_secrets(outcome)
                        continue
                    losses[number] += 1
                    break
            if lost is None:
                return
            self._wait_for_server(lost.message, waiting[number].database)
            if losses[number] >= _MOST_LOSSES:
                # The server is there again each time: it is this query that breaks the connection.
                del waiting[number]
                yield (
                    number,
                    Failure(Reason.ENGINE_ERROR, f"the connection was lost {_MOST_LOSSES} times: {lost.message}"),
                )

    def _open_own(self, database: str) -> None:
        try:
            self._own.open()
        except EndpointDeadError as error:
            self._wait_for_server(str(error), database)

    def _loss_in(self, outcome: Outcome, most: float, database: str) -> Failure | None:
        """The outcome, where it says nothing of the query but that the server is gone."""
        if not isinstance(outcome, Failure):
            return None
        if outcome.reason == Reason.ENDPOINT_DEAD:
            return outcome
        # A worker that had to be killed heard nothing from a server that should have ended the query itself.
        silent = outcome.reason == Reason.TIMEOUT and outcome.seconds > most + GRACE_SECONDS
        return outcome if silent and not self._answers(database) else None

    def _answers(self, database: str) -> bool:
        """Whether the least question is answered, in a time that does not depend on how long queries may take."""
        try:
            self._own.open()
        except EndpointDeadError as error:
            self._last_words = str(error)
            return False
        for _, outcome in self._own.run([Request(self._probe, database)], _PROBE_SECONDS):
            self._last_words = outcome.message if isinstance(outcome, Failure) else ""
            return isinstance(outcome, Answer)
        return False

    def _wait_for_server(self, words: str, database: str) -> None:
        for pause in self.pauses:
            time.sleep(pause)
            if self._answers(database):
                return
        raise EndpointDeadError(f"{self.place} does not answer any more ({self._told(self._last_words or words)})")

    def _without_secrets(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Failure):
            outcome.message = self._told(outcome.message)
        return outcome

    def _told(self, message: str) -> str:
        return self._secrets.out_of(message)

    def limits_not_set(self) -> list[str]:
        """Bounds that the system did not let the workers have."""
        return list(self.pool.not_set)

    def close(self) -> None:
        self.pool.close()
        self._own.close()
        if self._replaying is not None:
            self._replaying.close()

    def __enter__(self) -> ServerDatabases:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ordered(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> list[list[str | None]]:
    """Cells in the order of the columns, as texts: a server makes of them what its column holds."""
    by_name = [{name.lower(): cell for name, cell in row.items()} for row in rows]
    cells = [[row.get(column.lower()) for column in columns] for row in by_name]
    return [[None if cell is None else _as_text(cell) for cell in row] for row in cells]


def _as_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(int(cell))
    return "\\x" + cell.hex() if isinstance(cell, bytes) else str(cell)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if _DRIVER_SETTINGS.fullmatch(name)}
