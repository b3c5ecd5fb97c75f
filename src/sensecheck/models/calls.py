"""The call cache: every answer a model gave, kept on disk, so that nothing is ever asked twice.

One SQLite file in write-ahead mode. An answer is on disk before it is used: a killed run repeats at most the calls that
were in flight, and a second model on the same statements costs only its own calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from sensecheck.inputs.half_characters import whole_value
from sensecheck.models import revisions
from sensecheck.runs.databases import CACHE, MAX_ANSWER_BYTES, CacheError, faults_of, open_kept, temporary_database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, revision TEXT NOT NULL, prompt TEXT NOT NULL,
    UNIQUE (model, revision, prompt)
);
CREATE TABLE IF NOT EXISTS calls (
    model_id INTEGER NOT NULL REFERENCES models(id), text TEXT NOT NULL, answer TEXT NOT NULL,
    PRIMARY KEY (model_id, text)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (model_id INTEGER PRIMARY KEY REFERENCES models(id), counts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS waiting (custom_id TEXT PRIMARY KEY, model_id INTEGER NOT NULL, text TEXT NOT NULL);
"""
_TABLES = {
    "models": ("id", "model", "revision", "prompt"), "calls": ("model_id", "text", "answer"),
    "spent": ("model_id", "counts"), "waiting": ("custom_id", "model_id", "text"),
}  # fmt: skip
_LONGEST_SETTINGS = 100
"""characters of a model's settings that a signature says in full"""
_LOOKUP_SIZE = 500  # below SQLite's oldest limit on bound values


@dataclass(frozen=True)
class Identity:
    """What an answer depends on besides the text: the model, its revision, and the prompt with its settings."""

    model: str
    revision: str = ""
    prompt: str = ""


def settings_line(who: Identity) -> str:
    """Settings in one line, for signatures: in full where they are short, else their beginning and a digest of all."""
    line = " ".join(who.prompt.split())
    return line if len(line) <= _LONGEST_SETTINGS else f"{line[:60]}… #{revisions.of_text(who.prompt)}"


class CallCache:
    """Answers by (model, revision, prompt, text). `path` None keeps them for this process: few in memory, many in a
    temporary file. `option`: what names the file, where the user may name another.
    """

    def __init__(self, path: str | Path | None = None, option: str = CACHE) -> None:
        self.path = None if path is None else Path(path)
        self._option = option
        if self.path is None:
            self._db = temporary_database(_SCHEMA)
        else:
            self._db = open_kept(self.path, _SCHEMA, _TABLES, option, timeout=60)
        self._ids: dict[Identity, int] = {}
        self.unreadable = 0
        """Kept answers that could not be read: they count as not kept, and are asked again."""

    def _id(self, identity: Identity) -> int:
        if identity not in self._ids:
            key = (identity.model, identity.revision, identity.prompt)
            with faults_of(self.path, self._option), self._db:
                self._db.execute("INSERT OR IGNORE INTO models (model, revision, prompt) VALUES (?, ?, ?)", key)
                row = self._db.execute(
                    "SELECT id FROM models WHERE model=? AND revision=? AND prompt=?", key
                ).fetchone()
            if row is None or not isinstance(row[0], int):
                raise CacheError(
                    f"{self.path} is damaged: a model in it has no number; remove it or name another {self._option}"
                )
            self._ids[identity] = row[0]
        return self._ids[identity]

    def get(self, identity: Identity, texts: Iterable[str]) -> dict[str, Any]:
        """The answers that are known, by text."""
        answers: dict[str, Any] = {}
        model_id, all_texts = self._id(identity), list(texts)
        for start in range(0, len(all_texts), _LOOKUP_SIZE):
            part: Sequence[str] = all_texts[start : start + _LOOKUP_SIZE]
            placeholders = ",".join("?" * len(part))
            # Whatever somebody put there, no more than so many bytes are read.
            query = (
                f"SELECT text, CASE WHEN length(answer) <= {MAX_ANSWER_BYTES} THEN CAST(answer AS BLOB) END "
                f"FROM calls WHERE model_id=? AND text IN ({placeholders})"
            )
            with faults_of(self.path, self._option):
                rows = self._db.execute(query, (model_id, *part)).fetchall()
            for text, answer in rows:
                try:
                    answers[text] = json.loads(answer)
                except (ValueError, TypeError, RecursionError):
                    self.unreadable += 1
        return answers

    def put(self, identity: Identity, answers: Mapping[str, Any], spent: Mapping[str, int] | None = None) -> None:
        """Record answers, and what was spent on this model since the last ones: from then on a kill loses none."""
        model_id = self._id(identity)
        rows = [
            (model_id, text, json.dumps(whole_value(answer), ensure_ascii=False)) for text, answer in answers.items()
        ]
        with faults_of(self.path, self._option), self._db:
            # The file is ours from here on: what another process adds to the sum comes before or after.
            self._db.executemany("INSERT OR REPLACE INTO calls VALUES (?, ?, ?)", rows)
            if spent is not None:
                before = self._spent(model_id)
                self._set_spent(
                    model_id, {name: before.get(name, 0) + spent.get(name, 0) for name in {**before, **spent}}
                )

    def spent(self, identity: Identity) -> dict[str, int]:
        """What was spent on a model's answers, by all runs that kept them here."""
        with faults_of(self.path, self._option):
            return self._spent(self._id(identity))

    def spent_on_all(self) -> dict[Identity, dict[str, int]]:
        """The same of every model that has answers here."""
        with faults_of(self.path, self._option):
            models = self._db.execute("SELECT id, model, revision, prompt FROM models").fetchall()
            found = {Identity(*map(str, who)): self._spent(number) for number, *who in models}
        return {identity: counts for identity, counts in found.items() if counts}

    def set_spent(self, identity: Identity, counts: Mapping[str, int]) -> None:
        model_id = self._id(identity)
        with faults_of(self.path, self._option), self._db:
            self._set_spent(model_id, counts)

    def _set_spent(self, model_id: int, counts: Mapping[str, int]) -> None:
        self._db.execute("INSERT OR REPLACE INTO spent VALUES (?, ?)", (model_id, json.dumps(dict(counts))))

    def _spent(self, model_id: int) -> dict[str, int]:
        row = self._db.execute("SELECT counts FROM spent WHERE model_id=?", (model_id,)).fetchone()
        try:
            counts = json.loads(row[0]) if row is not None else {}
        except (ValueError, TypeError, RecursionError):
            counts = {}
        counts = counts if isinstance(counts, dict) else {}
        return {str(name): count for name, count in counts.items() if type(count) is int and count >= 0}

    def wait_for(self, custom_id: str, identity: Identity, text: str) -> None:
        """A call that was written into a batch file, so that its result is known by its id."""
        model_id = self._id(identity)
        with faults_of(self.path, self._option):
            # Committed with the next answers, or by `commit`: calls are many.
            self._db.execute("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?)", (custom_id, model_id, text))

    def commit(self) -> None:
        with faults_of(self.path, self._option):
            self._db.commit()

    def waiting(self, custom_id: str) -> tuple[Identity, str] | None:
        """The call that was written by that id."""
        query = (
            "SELECT model, revision, prompt, text FROM waiting JOIN models ON models.id = model_id WHERE custom_id=?"
        )
        if not custom_id.isascii():  # half a character, say, of which SQLite knows nothing
            return None
        with faults_of(self.path, self._option):
            row = self._db.execute(query, (custom_id,)).fetchone()
        if row is None or not all(isinstance(part, str) for part in row):
            return None
        return Identity(*row[:3]), row[3]

    def take(self, other: CallCache) -> None:
        """Keep what another file keeps too; answers that are here already stay."""
        with faults_of(other.path, other._option):
            models = other._db.execute("SELECT id, model, revision, prompt FROM models").fetchall()
        for number, *who in models:
            identity = Identity(*map(str, who))
            model_id = self._id(identity)
            with faults_of(other.path, other._option):
                answers = other._db.execute("SELECT text, answer FROM calls WHERE model_id=?", (number,))
                while rows := answers.fetchmany(_LOOKUP_SIZE):
                    with faults_of(self.path, self._option), self._db:
                        kept = [(model_id, *row) for row in rows]
                        self._db.executemany("INSERT OR IGNORE INTO calls VALUES (?, ?, ?)", kept)

    def count(self, identity: Identity | None = None) -> int:
        with faults_of(self.path, self._option):
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
