"""Stores that need no server: a graph file or Oxigraph folder, SQLite files, DuckDB files."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sensecheck.inputs import fingerprints

from .limits import Limits
from .outcomes import Answer, Failure, Outcome, Request
from .pool import StoreError, WorkerPool
from .schemas import Schema, duckdb_schema, sqlite_schema
from .sparql_gate import STANDARD_PREFIXES, prefixes_print
from .sql_store import SqlStore


def file_fingerprint(path: Path) -> str:
    """Of the file's content, so that an edited store never answers from the cache of the old one."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class _Embedded:
    language = "sparql"

    def __init__(self, pool: WorkerPool, fingerprint: str) -> None:
        self.pool = pool
        self.limits = pool.limits
        self.fingerprint = fingerprint

    def execute(self, request: Request) -> Outcome:
        return self.pool.execute(request)

    def run(self, requests: Iterable[Request], seconds: float | None = None) -> Iterator[tuple[int, Outcome]]:
        return self.pool.run(requests, seconds)

    def execute_many(self, requests: Iterable[Request]) -> list[Outcome]:
        return self.pool.execute_many(requests)

    def limits_not_set(self) -> list[str]:
        """Bounds that the system did not let the workers have, each with what still holds; known once queries ran."""
        return list(self.pool.not_set)

    def close(self) -> None:
        self.pool.close()

    def __enter__(self) -> _Embedded:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Graph(_Embedded):
    """RDF files read into memory, or the folder of an Oxigraph store, opened read-only."""

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        limits: Limits | None = None,
        prefixes: Mapping[str, str] | None = None,
        workers: int | None = None,
        tolerant: bool = True,
    ) -> None:
        path_list = [paths] if isinstance(paths, str | Path) else list(paths)
        files = [Path(path).resolve() for path in path_list]
        for path in files:
            if not path.exists():
                raise StoreError(f"graph {path}: no such file or folder")
        on_disk = files[0].is_dir()
        if on_disk and len(files) > 1:
            raise StoreError("an Oxigraph folder cannot be combined with other graphs")
        if on_disk and not (files[0] / "CURRENT").is_file():
            raise StoreError(f"graph {files[0]}: a folder that holds no Oxigraph store; name the RDF files in it")
        config: dict[str, Any] = {
            "kind": "oxigraph",
            "paths": [str(path) for path in files],
            "on_disk": on_disk,
            "prefixes": dict(STANDARD_PREFIXES if prefixes is None else prefixes),
            "tolerant": tolerant,
        }
        self.config = config
        """What a worker needs to open it."""
        self._files = [("", path) for path in files]
        if on_disk:
            # What was written last lies in the log until the store tidies up.
            store_files = [p for p in files[0].iterdir() if p.suffix in (".sst", ".log")]
            names_and_sizes = sorted((p.name, p.stat().st_size) for p in store_files)
            fingerprint = f"oxigraph {files[0]} {names_and_sizes}"
            self._files = [(path.name, path) for path in store_files]
        else:
            fingerprint = "graph " + " ".join(file_fingerprint(path) for path in files)
        fingerprint += prefixes_print(config["prefixes"])
        if not tolerant:
            fingerprint += " strict"
        super().__init__(WorkerPool(config, limits or Limits(), workers), fingerprint)

    def content(self) -> str:
        """A short name of what the graph holds, the same for a copy elsewhere."""
        return fingerprints.of_files(self._files)

    def triples(self) -> int | None:
        """How many triples were loaded (None for a store on disk)."""
        count: int | None = self.pool.open().get("triples")
        return count


def _sqlite_is_locked(file: str) -> bool:
    """By asking for a lock to read, which goes back at once. Workers read without one, and would read half a change.

    Nothing is written beside the file: a database with a write-ahead log, which readers of the usual kind join by
    writing to a file of shared memory, is asked only where that log is there already.
    """
    with Path(file).open("rb") as stream:
        writes_ahead = stream.read(20)[18:20] == b"\2\2"
    log = Path(f"{file}-wal")
    if writes_ahead and not (log.is_file() and log.stat().st_size):
        return False
    connection = sqlite3.connect(f"file:{quote(file)}?mode=ro", uri=True, timeout=0, isolation_level=None)
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    finally:
        connection.close()
    return False


class Databases(_Embedded, SqlStore):
    """SQL databases in files: a file, or a folder with `<name>/<name>.sqlite` or `<name>.sqlite` in it.

    For test-suite style comparison a folder `<name>/` may hold several databases of one schema.
    """

    language = "sql"
    _ENDINGS = (".sqlite", ".sqlite3", ".db", ".duckdb")

    def __init__(self, path: str | Path, *, limits: Limits | None = None, workers: int | None = None) -> None:
        self.path = Path(path).resolve()
        if not self.path.exists():
            raise StoreError(f"database {self.path}: no such file or folder")
        self._files_by_name: dict[str, list[Path]] = {}
        self._print_by_file: dict[str, str] = {}
        kind = "duckdb" if self._is_duckdb() else "sqlite"
        self.dialect = kind
        super().__init__(WorkerPool({"kind": kind}, limits or Limits(), workers), f"{kind} {self.path.name}")

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def single(self) -> str | None:
        return self.path.stem if self.path.is_file() else None

    def _is_duckdb(self) -> bool:
        first = self.path
        if self.path.is_dir():
            found = (p for p in sorted(self.path.rglob("*")) if self._is_database(p) and p.is_file())
            first = next(found, self.path)
        if not first.is_file():
            raise StoreError(f"database {self.path}: no file in it ends in {', '.join(self._ENDINGS)}")
        with first.open("rb") as stream:
            head = stream.read(16)
        if head and head != b"SQLite format 3\0" and head[8:12] != b"DUCK":
            raise StoreError(f"database {first}: neither an SQLite nor a DuckDB file")
        return head[8:12] == b"DUCK"

    @classmethod
    def _is_database(cls, path: Path) -> bool:
        """By its name; archives made on a Mac bring a file `._NAME` beside each."""
        return path.suffix in cls._ENDINGS and not path.name.startswith(".")

    def files(self, name: str) -> list[Path]:
        """The database files of a schema, the one that bears its name first."""
        files = self._files_by_name.get(name)
        if files is None:
            files = self._files_by_name[name] = self._look_up(name)
        return files

    def _look_up(self, name: str) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        if not name and len(names := self.names()) == 1:
            name = names[0]  # there is nothing to choose
        if not name or "/" in name or "\\" in name or name.startswith("."):
            raise StoreError(f"database name {name!r}: expected a plain name")
        folder = self.path / name
        if folder.is_dir():
            files = [p for p in sorted(folder.iterdir()) if self._is_database(p)]
            if files:
                return sorted(files, key=lambda p: (p.stem != name, p.name))
        for ending in self._ENDINGS:
            candidate = self.path / (name + ending)
            if candidate.is_file():
                # Spider's test suites call the variants of a database NAMEv1, NAMEv2, …; without folders too.
                variant = re.compile(re.escape(name) + r"v\d+")
                beside = [p for p in sorted(self.path.iterdir()) if p.suffix == ending and variant.fullmatch(p.stem)]
                return [candidate, *beside]
        raise StoreError(f"database {name!r}: there is neither {name}/ nor {name}.sqlite in {self.path}")

    def names(self) -> list[str]:
        """The databases in a folder, by their names."""
        if self.path.is_file():
            return [self.path.stem]
        names = {p.stem for p in self.path.iterdir() if self._is_database(p) and p.is_file()}
        for folder in self.path.iterdir():
            if folder.is_dir() and any(self._is_database(p) and p.is_file() for p in folder.iterdir()):
                names.add(folder.name)
        return sorted(name for name in names if not name.startswith("."))

    def request(self, text: str, file: Path) -> Request:
        return Request(text, str(file))

    def tables(self, file: str) -> set[str] | None:
        """The names of all tables and views of a database in small letters; None where it does not say."""
        query = "SELECT table_name FROM information_schema.tables"
        if self.dialect == "sqlite":
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        outcome = self.execute(Request(query, file))
        return {str(row[0]).lower() for row in outcome.rows} if isinstance(outcome, Answer) else None

    def schema(self, file: str) -> Schema | None:
        """The tables of a database with their columns, and its foreign keys; None where it does not say."""
        return sqlite_schema(file) if self.dialect == "sqlite" else duckdb_schema(self.execute, file)

    def is_locked(self, file: str) -> bool:
        """Whether another program keeps a database for itself just now."""
        outcome = self.execute(Request("SELECT 1", file)) if self.dialect != "sqlite" else None
        if outcome is not None:
            return isinstance(outcome, Failure) and "lock" in outcome.message and "Could not" in outcome.message
        with suppress(OSError, sqlite3.Error):
            return _sqlite_is_locked(file)
        return False

    def refuse_locked(self, file: str) -> None:
        """Raise StoreError where another program keeps a database for itself: every query on it would fail alike."""
        if self.is_locked(file):
            raise StoreError(
                f"database {file}: it is locked, another program is writing to it. Wait until that is done, or "
                "give a copy"
            )

    def file_print(self, file: str) -> str:
        """The fingerprint of one database file's content, and of what waits beside it in a write-ahead log."""
        fingerprint = self._print_by_file.get(file)
        if fingerprint is None:
            fingerprint = file_fingerprint(Path(file))
            for log in (Path(f"{file}-wal"), Path(f"{file}.wal")):
                if log.is_file() and log.stat().st_size:
                    fingerprint += " " + file_fingerprint(log)
            self._print_by_file[file] = fingerprint
        return fingerprint

    def content(self) -> str:
        """A short name of what the databases hold, the same for a copy elsewhere; of a folder, of all in it."""
        if self.path.is_file():
            named = [("", self.path)]
        else:
            inner = [file for folder in self.path.iterdir() if folder.is_dir() for file in folder.iterdir()]
            named = [(file.relative_to(self.path).as_posix(), file) for file in [*self.path.iterdir(), *inner]]
            named = [(name, file) for name, file in named if self._is_database(file) and file.is_file()]
        logs = [(name + end, Path(f"{file}{end}")) for name, file in named for end in ("-wal", ".wal")]
        waiting = [(name, log) for name, log in logs if log.is_file() and log.stat().st_size]
        return fingerprints.of_files([*named, *waiting])

    def state(self) -> str:
        """Of all the files together by size and time of change: a stopped run goes on only where nothing changed."""
        digest = hashlib.blake2b(digest_size=16)
        paths = [self.path] if self.path.is_file() else sorted(self.path.rglob("*"))
        for file in paths:
            if file.is_file() and (file == self.path or file.suffix in (*self._ENDINGS, ".wal") or "-wal" in file.name):
                file_status = file.stat()
                digest.update(
                    f"{file} {file_status.st_size} {file_status.st_mtime_ns}\n".encode("utf-8", "surrogateescape")
                )
        return f"{self.dialect} {digest.hexdigest()}"
