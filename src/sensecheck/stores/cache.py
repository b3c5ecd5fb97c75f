"""Outcomes kept on disk by query text and store fingerprint, so that a stopped run picks up where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import orjson
import zstandard

from sensecheck.runs.databases import MAX_ANSWER_BYTES, faults_of, open_kept

from .limits import Limits
from .outcomes import (
    LIMIT_REASONS,
    PASSING_REASONS,
    Failure,
    Outcome,
    Request,
    Term,
    decode_outcome,
    encode_outcome,
)

_COMPRESS_ABOVE = 1024
_SCHEMA = "CREATE TABLE IF NOT EXISTS outcomes (key BLOB PRIMARY KEY, limits TEXT, body BLOB) WITHOUT ROWID"
_TABLES = {"outcomes": ("key", "limits", "body")}
# Whatever somebody put there, no more than so many bytes are read.
_LOOK_UP = (
    "SELECT CAST(limits AS BLOB), CASE WHEN length(body) <= ? THEN CAST(body AS BLOB) END FROM outcomes WHERE key = ?"
)
_TERMS = frozenset(("iri", "literal", "blank"))


def request_key(fingerprint: str, request: Request) -> bytes:
    if request.timed:
        raise ValueError("a timing is no answer, and is not kept")
    digest = hashlib.blake2b(digest_size=20)
    for part in (fingerprint, request.database, request.text):
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.digest()


def _restored(body: bytes) -> Outcome:
    """The outcome in a row, or an error: anybody may have written the file."""
    kind, body = body[:1], body[1:]
    if kind == b"z":
        # Ours say how long they are, so that no more room is made than they may take.
        size = zstandard.frame_content_size(body)
        if not 0 <= size <= MAX_ANSWER_BYTES:
            raise ValueError("too long")
        body = zstandard.decompress(body, max_output_size=MAX_ANSWER_BYTES)
    elif kind != b"j":
        raise ValueError("neither packed nor plain")
    outcome = decode_outcome(orjson.loads(body))
    if not isinstance(outcome, Failure):
        width = len(outcome.columns)
        if not all(isinstance(name, str) for name in outcome.columns) or any(len(row) != width for row in outcome.rows):
            raise ValueError("rows that do not fit their columns")
        for row in outcome.rows:
            for cell in row:
                if type(cell) is Term and not (cell.kind in _TERMS and all(isinstance(part, str) for part in cell)):
                    raise ValueError("a term that is none")
    return outcome


class ResultCache:
    """A SQLite file in write-ahead mode: several processes may read and write it at once.

    What an endpoint failed to answer is not kept: another day it may. A query that ran over a limit is
    remembered together with that limit, and runs again under another.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._connection = open_kept(
            self.path, _SCHEMA, _TABLES, timeout=30.0, isolation_level=None, check_same_thread=False
        )
        self.hits = 0
        self.unreadable = 0
        """Kept outcomes that could not be read: they count as not kept, and are asked again."""

    def get(self, key: bytes, limits: Limits) -> Outcome | None:
        with faults_of(self.path):
            row = self._connection.execute(_LOOK_UP, (MAX_ANSWER_BYTES, key)).fetchone()
        if row is None or (row[0] is not None and row[0] != limits.key().encode()):
            return None
        try:
            outcome = _restored(row[1])
        except (ValueError, TypeError, KeyError, AttributeError, zstandard.ZstdError, MemoryError):
            self.unreadable += 1
            return None
        self.hits += 1
        return outcome

    def put(self, key: bytes, outcome: Outcome, limits: Limits) -> None:
        self.put_many([(key, outcome)], limits)

    def put_many(self, keyed_outcomes: Iterable[tuple[bytes, Outcome]], limits: Limits) -> None:
        rows: list[tuple[bytes, str | None, bytes]] = []
        for key, outcome in keyed_outcomes:
            limits_key = None
            if isinstance(outcome, Failure):
                if outcome.reason in PASSING_REASONS:
                    continue
                if outcome.reason in LIMIT_REASONS:
                    limits_key = limits.key()
            body = orjson.dumps(encode_outcome(outcome))
            body = b"z" + zstandard.compress(body, 3) if len(body) > _COMPRESS_ABOVE else b"j" + body
            rows.append((key, limits_key, body))
        with faults_of(self.path):
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", rows)
            self._connection.execute("COMMIT")

    def take(self, other: ResultCache) -> None:
        """Keep what another file keeps too; answers that are here already stay."""
        with faults_of(other.path):
            outcomes = other._connection.execute("SELECT key, limits, body FROM outcomes")
            while rows := outcomes.fetchmany(500):
                with faults_of(self.path):
                    self._connection.execute("BEGIN")
                    self._connection.executemany("INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?)", rows)
                    self._connection.execute("COMMIT")

    def __len__(self) -> int:
        with faults_of(self.path):
            return int(self._connection.execute("SELECT count(*) FROM outcomes").fetchone()[0])

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> ResultCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
