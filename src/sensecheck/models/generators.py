"""Statement generators behind one face: a hypothesis and a polarity in, statements out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Protocol, runtime_checkable

from sensecheck.inputs import fingerprints
from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.inputs.half_characters import whole_value
from sensecheck.models import revisions
from sensecheck.models.calls import CallCache, Identity
from sensecheck.models.classifiers import name_of
from sensecheck.models.spending import Spent
from sensecheck.runs.databases import temporary_database


@dataclass(frozen=True)
class Request:
    """n statements about a text: that follow from it (positive) or contradict it."""

    text: str
    positive: bool
    n: int = 14
    mode: str = "beam"
    """beam, diverse or sample; only decoders tell them apart"""
    seed: int | None = None

    def key(self) -> str:
        return json.dumps([self.text, self.positive, self.n, self.mode, self.seed], ensure_ascii=False)

    @classmethod
    def of(cls, key: str) -> Request:
        return cls(*json.loads(key))


StatementBatch = list[tuple[int, list[str] | None]]
"""(index of the request, its statements); None where the call failed"""


@runtime_checkable
class Generator(Protocol):
    """G. `stream` yields statements with the index of their request, in any order, as soon as they are there."""

    identity: Identity

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]: ...


class Asked:
    """A generator behind the cache."""

    def __init__(self, model: Generator, cache: CallCache | None = None) -> None:
        self.model = model
        self.cache = cache if cache is not None else CallCache()
        # What is at hand is not held a second time; a file of calls has all that were made.
        self._keeps = self.cache.path is not None or not getattr(model, "at_hand", False)
        self.spending = Spent(model, self.cache)
        self.asked = 0
        self.kept = 0
        self.failed = 0

    @property
    def identity(self) -> Identity:
        return self.model.identity

    def statements(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[list[str] | None]:
        keys = [request.key() for request in requests]
        request_by_key = dict(zip(keys, requests, strict=True))
        statements_by_key: dict[str, list[str] | None] = {}
        for key, kept in (self.cache.get(self.identity, request_by_key) if self._keeps else {}).items():
            # Anybody may have written the file.
            if isinstance(kept, list) and all(isinstance(text, str) for text in kept):
                statements_by_key[key] = kept
            else:
                self.cache.unreadable += 1
        self.kept += len(statements_by_key)
        if progress is not None:
            progress(sum(key in statements_by_key for key in keys))
        unanswered = [key for key in request_by_key if key not in statements_by_key]
        for batch in self.model.stream([request_by_key[key] for key in unanswered]) if unanswered else ():
            new_statements = {unanswered[i]: whole_value(texts) for i, texts in batch}
            storable = {key: texts for key, texts in new_statements.items() if texts is not None}
            if storable and self._keeps:
                self.cache.put(self.identity, storable, self.spending.to_keep())
            self.asked += len(new_statements)
            self.failed += len(new_statements) - len(storable)
            statements_by_key.update(new_statements)
            if progress is not None:
                progress(len(new_statements))
        return [statements_by_key.get(key) for key in keys]


def _content(folder: Path) -> str:
    return fingerprints.of_files((file.name, file) for file in folder.iterdir() if file.is_file())


class RuleGenerator:
    """The sentence rules as G: no model, no download. `wordnet` widens the lexicon by the machine's WordNet."""

    def __init__(self, wordnet: bool = False) -> None:
        from sensecheck.language.rewriting.lexicon import english

        self._lexicon = english(wordnet)
        wordnet_data = self._lexicon.wordnet
        self.identity = Identity(
            "rules", "4", f"wordnet {_content(wordnet_data.folder)}" if wordnet_data is not None else "built-in lexicon"
        )

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
        for start in range(0, len(requests), 256):
            batch: StatementBatch = []
            for i, request in enumerate(requests[start : start + 256], start):
                made = self._made(request)
                batch.append((i, None if made is None else list(made)))
            yield batch

    @lru_cache(maxsize=8192)  # noqa: B019 - as long-lived as the generator is
    def _made(self, request: Request) -> dict[str, str] | None:
        """statement → the name of its rule."""
        from sensecheck.language.rewriting.engine import rewrite

        made = guarded("rewriting", rewrite, request.text, request.positive, request.n, self._lexicon)
        return None if isinstance(made, Fault) else {r.text: r.rule for r in made}

    def why_none(self, text: str) -> str | None:
        """Why the rules have no statements for a text, where it is of the text."""
        from sensecheck.language.rewriting.engine import why_none

        return why_none(text)

    def rules(self, request: Request) -> Mapping[str, str]:
        """statement → the name of the rule that makes it."""
        return self._made(request) or {}


HELD_CHARACTERS = 20_000_000
"""Stored statements that are held, with their hypotheses; more are kept in a temporary file."""
_AT_ONCE = 4096
_STATEMENTS = """
CREATE TABLE asked (
    id INTEGER PRIMARY KEY, hypothesis BLOB NOT NULL, positive INTEGER NOT NULL, UNIQUE (hypothesis, positive)
);
CREATE TABLE statements (
    number INTEGER PRIMARY KEY, asked_id INTEGER NOT NULL, statement BLOB NOT NULL, rule BLOB NOT NULL
);
"""


StoredRow = tuple[str, bool, str] | tuple[str, bool, str, str]
"""A hypothesis, whether the statement follows from it, the statement, and the rule that made it where that is known."""


class StoredStatements:
    """A file's statements as G: whatever was written for a hypothesis, in its order."""

    at_hand = True

    def __init__(self, rows: Iterable[StoredRow], name: str = "file", revision: str = "") -> None:
        self._table: dict[tuple[str, bool], list[tuple[str, str]]] = {}
        self._db: sqlite3.Connection | None = None
        """What takes the place of the table where statements are many."""
        source = iter(rows)
        size = 0
        while some := list(islice(source, _AT_ONCE)):
            if self._db is not None:
                _insert(self._db, some)
                continue
            for row in some:
                self._table.setdefault((row[0], row[1]), []).append((row[2], row[3] if len(row) > 3 else ""))
            size += sum(len(row[0]) + len(row[2]) for row in some)
            if size > HELD_CHARACTERS:
                self._db = temporary_database(_STATEMENTS)
                _insert(self._db, [(*key, *made) for key, several in self._table.items() for made in several])
                self._table = {}
        if self._db is not None:
            self._db.execute("CREATE INDEX by_hypothesis ON statements (asked_id)")
            self._db.commit()
        self.identity = Identity(name, revision or revisions.of_rows(self._all()), "stored")

    def _all(self) -> Iterator[tuple[tuple[str, bool], list[str]]]:
        """What was written for each hypothesis, the first that came first."""
        for key, held in self._table.items():
            yield key, [text for text, _ in held]
        if self._db is None:
            return
        rows = self._db.execute(
            "SELECT asked.id, hypothesis, positive, statement FROM asked JOIN statements ON asked_id = asked.id "
            "ORDER BY asked.id, number"
        )
        for (_, hypothesis, positive), several in groupby(rows, key=lambda row: row[:3]):
            yield (_text(hypothesis), bool(positive)), [_text(row[3]) for row in several]

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
        yield [(i, [text for text, _ in self._written(r)]) for i, r in enumerate(requests)]

    def rules(self, request: Request) -> Mapping[str, str]:
        """statement → the rule that the file names for it."""
        return {text.strip(): rule for text, rule in self._written(request) if rule}

    def _written(self, request: Request) -> list[tuple[str, str]]:
        if self._db is None:
            return self._table.get((request.text, request.positive), [])[: request.n]
        rows = self._db.execute(
            "SELECT statement, rule FROM statements WHERE asked_id = "
            "(SELECT id FROM asked WHERE hypothesis = ? AND positive = ?) ORDER BY number LIMIT ?",
            (_bytes(request.text), request.positive, request.n),
        )
        return [(_text(statement), _text(rule)) for statement, rule in rows]


def _insert(db: sqlite3.Connection, rows: Sequence[StoredRow]) -> None:
    keys = [(_bytes(row[0]), row[1]) for row in rows]
    db.executemany("INSERT OR IGNORE INTO asked (hypothesis, positive) VALUES (?, ?)", keys)
    db.executemany(
        "INSERT INTO statements (asked_id, statement, rule) "
        "SELECT id, ?, ? FROM asked WHERE hypothesis = ? AND positive = ?",
        [(_bytes(row[2]), _bytes(row[3] if len(row) > 3 else ""), *key) for row, key in zip(rows, keys, strict=True)],
    )


def _bytes(text: str) -> bytes:
    """As SQLite keeps any text, half characters too."""
    return text.encode("utf-8", "surrogatepass")


def _text(kept: bytes) -> str:
    return kept.decode("utf-8", "surrogatepass")


class CallableGenerator:
    """A Python function (text, positive, n) → statements as G."""

    def __init__(
        self, function: Callable[[str, bool, int], Iterable[str]], name: str | None = None, revision: str = ""
    ) -> None:
        self._function = function
        self.identity = Identity(name or name_of(function), revision or revisions.of_function(function), "callable")

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
        for i, request in enumerate(requests):
            yield [(i, list(self._function(request.text, request.positive, request.n)))]
