"""Outcomes kept on disk by query text and store fingerprint, so that a stopped run picks up where it was."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import orjson
import zstandard

from .limits import Limits
from .outcomes import (
    LIMIT_REASONS,
    PASSING_REASONS,
    Failure,
    Outcome,
    Request,
    decode_outcome,
    encode_outcome,
)

_COMPRESS_ABOVE = 1024


def request_key(fingerprint: str, request: Request) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    for part in (fingerprint, request.database, request.text):
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.digest()


class ResultCache:
    """A SQLite file in write-ahead mode: several processes may read and write it at once.

    What an endpoint failed to answer is not kept: another day it may. A query that ran over a limit is
    remembered together with that limit, and runs again under another.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=30.0, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS outcomes (key BLOB PRIMARY KEY, limits TEXT, body BLOB) WITHOUT ROWID"
        )
        self.hits = 0
        self.misses = 0

    def get(self, key: bytes, limits: Limits) -> Outcome | None:
        row = self._connection.execute("SELECT limits, body FROM outcomes WHERE key = ?", (key,)).fetchone()
        if row is None or (row[0] is not None and row[0] != limits.key()):
            self.misses += 1
            return None
        self.hits += 1
        body: bytes = row[1]
        if body[:1] == b"z":
            body = zstandard.decompress(body[1:])
        else:
            body = body[1:]
        return decode_outcome(orjson.loads(body))

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
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", rows)
        self._connection.execute("COMMIT")

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM outcomes").fetchone()[0])

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> ResultCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
