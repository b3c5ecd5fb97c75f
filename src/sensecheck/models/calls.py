"""The call cache: every answer a model gave, kept on disk, so that nothing is ever asked twice.

One SQLite file in write-ahead mode. An answer is on disk before it is used: a killed run repeats at most the calls that
were in flight, and a second model on the same statements costs only its own calls.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from sensecheck.inputs.half_characters import whole_value

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, revision TEXT NOT NULL, prompt TEXT NOT NULL,
    UNIQUE (model, revision, prompt)
);
CREATE TABLE IF NOT EXISTS calls (
    model_id INTEGER NOT NULL REFERENCES models(id), text TEXT NOT NULL, answer TEXT NOT NULL,
    PRIMARY KEY (model_id, text)
) WITHOUT ROWID;
"""
_LOOKUP_SIZE = 500  # below SQLite's oldest limit on bound values


@dataclass(frozen=True)
class Identity:
    """What an answer depends on besides the text: the model, its revision, and the prompt with its settings."""

    model: str
    revision: str = ""
    prompt: str = ""


class CallCache:
    """Answers by (model, revision, prompt, text). `path` None keeps them in memory for this process."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(":memory:" if self.path is None else str(self.path), timeout=60)
        self._db.execute("PRAGMA journal_mode=WAL")
        # A killed process loses nothing that was committed; only a power cut could lose the last commits.
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_SCHEMA)
        self._ids: dict[Identity, int] = {}

    def _id(self, identity: Identity) -> int:
        if identity not in self._ids:
            key = (identity.model, identity.revision, identity.prompt)
            with self._db:
                self._db.execute("INSERT OR IGNORE INTO models (model, revision, prompt) VALUES (?, ?, ?)", key)
            row = self._db.execute("SELECT id FROM models WHERE model=? AND revision=? AND prompt=?", key).fetchone()
            self._ids[identity] = int(row[0])
        return self._ids[identity]

    def get(self, identity: Identity, texts: Iterable[str]) -> dict[str, Any]:
        """The answers that are known, by text."""
        answers: dict[str, Any] = {}
        model_id, all_texts = self._id(identity), list(texts)
        for start in range(0, len(all_texts), _LOOKUP_SIZE):
            part: Sequence[str] = all_texts[start : start + _LOOKUP_SIZE]
            placeholders = ",".join("?" * len(part))
            query = f"SELECT text, answer FROM calls WHERE model_id=? AND text IN ({placeholders})"
            for text, answer in self._db.execute(query, (model_id, *part)):
                answers[text] = json.loads(answer)
        return answers

    def put(self, identity: Identity, answers: Mapping[str, Any]) -> None:
        """Record answers; when this returns they survive a kill."""
        model_id = self._id(identity)
        rows = [
            (model_id, text, json.dumps(whole_value(answer), ensure_ascii=False)) for text, answer in answers.items()
        ]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO calls VALUES (?, ?, ?)", rows)

    def count(self, identity: Identity | None = None) -> int:
        if identity is None:
            return int(self._db.execute("SELECT count(*) FROM calls").fetchone()[0])
        query = "SELECT count(*) FROM calls WHERE model_id=?"
        return int(self._db.execute(query, (self._id(identity),)).fetchone()[0])

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> CallCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
