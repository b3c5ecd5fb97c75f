"""What the engines of all servers do alike, inside a worker process: one query on a connection that only reads."""

from __future__ import annotations

import mmap
import os
import struct
import time
from abc import ABC, abstractmethod
from typing import Any

import orjson

from sensecheck.stores.limits import Limits
from sensecheck.stores.outcomes import HALF_CHARACTER, Failure, Reason, encode_cell, encode_outcome, too_many_bytes

ROWS_AT_ONCE = 512
_BYTES_AT_ONCE = 1 << 20
_NUMBER = struct.Struct("<Q")
CONNECT_SECONDS = 5
_OPEN_SESSIONS = 2
"""Connections that a worker keeps: records mostly name one database after the other."""


class LostError(Exception):
    """The server is gone, or does not let us in: no fault of the query."""


class DeniedError(ValueError):
    """The server is there, and refuses who asks: going on or waiting would not help."""


class ServerEngine(ABC):
    """A worker's side of a server. Every session is read-only, and belongs to one database."""

    writes_files = False
    """Whether the driver may have to."""

    def __init__(self, config: dict[str, Any], limits: Limits) -> None:
        self.config = config
        self.limits = limits
        self.sessions: dict[str, Any] = {}
        self.at_work: mmap.mmap | None = None
        """Shared with the process that may kill this one: what the server calls the session that is at work, or 0."""

    # ---- what each engine says

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Before workers are forked: what the server is, what databases it has, what the role may do."""

    @abstractmethod
    def connect(self, database: str) -> Any:
        """A new session. LostError or DeniedError where there is none."""

    @abstractmethod
    def objection(self, session: Any, text: str) -> Failure | None:
        """Why a text may not run."""

    @abstractmethod
    def number_of(self, session: Any) -> int:
        """What the server calls a session."""

    @abstractmethod
    def query(self, session: Any, text: str, deadline: float, *, timed: bool) -> dict[str, Any]:
        """The answer; whatever the server says instead is raised."""

    @abstractmethod
    def failure_of(self, error: Exception, session: Any) -> Failure | None:
        """What an error means; None where it is a fault of ours. LostError is raised where the session is gone."""

    @abstractmethod
    def end(self, session: Any) -> None:
        """Close a session without waiting for anything."""

    @abstractmethod
    def cancel(self, number: int) -> None:
        """End a session at the server whose worker is gone."""

    def make(self, session: Any, tables: list[dict[str, Any]]) -> None:
        """Temporary tables of a session, which then only reads again."""
        raise DeniedError("nothing is replayed here")

    def replay(self, asked: dict[str, Any], database: str) -> dict[str, Any]:
        """What queries answer on temporary tables; the session ends with it, and they with the session."""
        session = self.connect(database)
        try:
            self.make(session, asked["tables"])
            rows = []
            for text in asked["texts"]:
                outcome = self.objection(session, text)
                deadline = time.monotonic() + self.limits.seconds
                reply = encode_outcome(outcome) if outcome else self.query(session, text, deadline, timed=False)
                rows.append([orjson.dumps(reply).decode()])
            return {"columns": ["outcome"], "rows": rows}
        except Exception as error:
            failure = self.failure_of(error, session)
            if failure is None:
                raise
            return encode_outcome(failure)
        finally:
            self.end(session)

    # ---- what the worker asks

    def load(self) -> dict[str, Any]:
        os.environ.update(self.config["environment"])
        return self.facts()

    def start(self) -> None:
        """Nothing yet: sessions are opened by the queries that need them."""
        self.sessions.clear()

    def answer(self, text: str, database: str) -> dict[str, Any]:
        return self._run(text, database, timed=False)

    def timed(self, text: str, database: str) -> dict[str, Any]:
        return self._run(text, database, timed=True)

    def places(self, database: str) -> list[str]:
        return []

    def _run(self, text: str, database: str, *, timed: bool) -> dict[str, Any]:
        deadline = time.monotonic() + self.limits.seconds
        if len(text) > self.limits.query_bytes:
            most = self.limits.query_bytes
            words = f"the query is too long: {len(text):,} characters; at most {most:,} are allowed"
            return encode_outcome(Failure(Reason.REFUSED, words))
        if "\0" in text:
            return encode_outcome(Failure(Reason.SYNTAX, "the query contains a null character"))
        try:
            text.encode()
        except UnicodeEncodeError:
            return encode_outcome(Failure(Reason.SYNTAX, HALF_CHARACTER))
        try:
            if self.config.get("replays"):
                return self.replay(orjson.loads(text), database)
            return self._asked(text, database, deadline, timed=timed)
        except LostError as error:
            return encode_outcome(Failure(Reason.ENDPOINT_DEAD, str(error)))
        except DeniedError as error:
            return {**encode_outcome(Failure(Reason.ENDPOINT_DEAD, str(error))), "denied": True}

    def _asked(self, text: str, database: str, deadline: float, *, timed: bool) -> dict[str, Any]:
        kept = database in self.sessions
        session = self._session(database)
        objection = self.objection(session, text)
        if objection is not None:
            return encode_outcome(objection)
        self._note(self.number_of(session))
        try:
            return self.query(session, text, deadline, timed=timed)
        except Exception as error:
            try:
                failure = self.failure_of(error, session)
            except LostError:
                self._drop(database)
                if kept and time.monotonic() < deadline - self.limits.seconds / 2:
                    # It was lost while it waited: the server has been started again since.
                    return self._asked(text, database, deadline, timed=timed)
                raise
            if failure is None:
                self._drop(database)
                raise
            return encode_outcome(failure)
        finally:
            self._note(0)

    def _session(self, database: str) -> Any:
        session = self.sessions.pop(database, None)
        if session is None:
            while len(self.sessions) >= _OPEN_SESSIONS:
                self.end(self.sessions.pop(next(iter(self.sessions))))
            session = self.connect(database)
        self.sessions[database] = session  # last in line to be closed
        return session

    def _drop(self, database: str) -> None:
        session = self.sessions.pop(database, None)
        if session is not None:
            self.end(session)

    def _note(self, number: int) -> None:
        if self.at_work is not None:
            self.at_work[: _NUMBER.size] = _NUMBER.pack(number)


def number_noted(slot: mmap.mmap) -> int:
    """The session at work that a worker noted before it was killed."""
    return int(_NUMBER.unpack(slot[: _NUMBER.size])[0])


class Gathering:
    """The rows of an answer, counted while they come."""

    def __init__(self, columns: list[str], limits: Limits) -> None:
        self.columns = columns
        self.limits = limits
        self.rows: list[list[Any]] = []
        self.size = sum(len(name.encode("utf-8", "replace")) for name in columns)
        self.at_once = 1
        """Rows to ask for next: few while they are long."""

    def take(self, batch: list[tuple[Any, ...]]) -> Failure | None:
        """Add rows; what there is too much of, or None."""
        before = self.size
        for row in batch:
            cells = [encode_cell(cell) for cell in row]
            self.rows.append(cells)
            self.size += 8 * len(cells) + sum(_bytes(cell) for cell in cells)
            if self.size > self.limits.bytes:
                return too_many_bytes(self.limits)
        if len(self.rows) > self.limits.rows:
            return Failure(Reason.TOO_LARGE, f"more than {self.limits.rows:,} rows")
        grown = self.size - before + 1
        self.at_once = max(1, min(ROWS_AT_ONCE, _BYTES_AT_ONCE * len(batch) // grown))
        return None

    def answer(self) -> dict[str, Any]:
        return {"columns": self.columns, "rows": self.rows}


def _bytes(cell: Any) -> int:
    if isinstance(cell, str):
        return len(cell) if cell.isascii() else len(cell.encode("utf-8", "replace"))
    if isinstance(cell, dict):  # a blob, or a number that JSON does not have
        return len(cell["b"]) // 2 if "b" in cell else sum(map(_bytes, cell.values()))
    return 0
