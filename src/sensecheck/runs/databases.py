"""SQLite files in which answers are kept: opened with care, and told in one message where they cannot be used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sensecheck.runs.writing import refuse_linked_database

MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""A kept answer that takes more, unpacked, is none of ours: it is asked again."""

TEMPORARY_KIB = 64 * 1024
"""What a temporary database holds in memory."""


class CacheError(ValueError):
    """A file of kept answers that cannot be used; the message says what to do."""


CACHE = "--cache"
"""The option that names a file of answers, where a question does not call it otherwise."""


def open_kept(
    path: Path, schema: str, tables: Mapping[str, Sequence[str]], option: str = CACHE, **how: Any
) -> sqlite3.Connection:
    """Open, or make, a file of answers: `tables` are its tables with their columns."""
    refuse_linked_database(path)
    if path.exists() and not path.is_file():
        raise CacheError(f"{path} is no file; answers are kept in a file ({option})")
    connection: sqlite3.Connection | None = None
    try:
        with faults_of(path, option):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, **how)
            _refuse_foreign(path, connection, tables, option)
            connection.execute("PRAGMA journal_mode=WAL")
            # A killed process loses nothing that was committed; only a power cut could lose the last commits.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(schema)
            _refuse_foreign(path, connection, tables, option)
    except BaseException:
        if connection is not None:
            connection.close()
        raise
    assert connection is not None
    return connection


def temporary_database(schema: str) -> sqlite3.Connection:
    """A database for this process alone: what does not fit into `TEMPORARY_KIB` lies in a file without a name."""
    connection = sqlite3.connect("", check_same_thread=False)
    connection.execute(f"PRAGMA cache_size=-{TEMPORARY_KIB}")
    # There is nothing to recover after a crash.
    connection.execute("PRAGMA journal_mode=MEMORY")
    connection.execute("PRAGMA synchronous=OFF")
    connection.executescript(schema)
    return connection


@contextmanager
def faults_of(path: Path | None, option: str = CACHE) -> Iterator[None]:
    """What SQLite says of a file becomes one message that names it."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise CacheError(f"{path} is in use by another process; wait for it, or name another {option}") from None
        if isinstance(error, sqlite3.OperationalError) and _has_no_room(error):
            raise CacheError(
                f"{path} could not be written: the disk is full; make room and run the same command with --resume "
                "(resume=True)"
            ) from None
        raise CacheError(
            f"{path} cannot be used to keep answers: it is no SQLite file, or is damaged; remove it (what "
            f"was kept is then asked again) or name another with {_both(option)}"
        ) from None


def _has_no_room(error: sqlite3.OperationalError) -> bool:
    # Beside a full disk, what SQLite keeps in memory that files stand for (its -shm) fails as an error of input and
    # output when it grows.
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL or "disk I/O" in str(error)


def _both(option: str) -> str:
    """As it is called on the command line and in Python."""
    return f"{option} ({option.removeprefix('--').replace('-', '_')}=)"


def _refuse_foreign(
    path: Path, connection: sqlite3.Connection, tables: Mapping[str, Sequence[str]], option: str
) -> None:
    """A file with other tables is somebody's database, and nothing is written to it."""
    names = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")]
    for name in names:
        columns = [str(row[1]) for row in connection.execute("SELECT * FROM pragma_table_info(?)", (name,))]
        if columns != list(tables.get(name, ())):
            what = "with other columns" if name in tables else "that is none of ours"
            raise CacheError(
                f"{path} is a SQLite file with a table {name!r} {what}: no answers are kept in it; name another file "
                f"with {_both(option)}, or remove this one"
            )
