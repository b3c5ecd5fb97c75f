"""What every store of SQL databases answers, whether they are files or live on a server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .limits import Limits
from .outcomes import Outcome, Request
from .schemas import Schema


class SqlStore(ABC):
    """SQL databases that records name. A database is a file or, on a server, what the server calls it."""

    language = "sql"
    dialect: str
    """Of the queries, as sqlglot calls it."""
    limits: Limits
    fingerprint: str

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the databases are, as messages may tell it."""

    @property
    @abstractmethod
    def single(self) -> str | None:
        """The name of the only database, whatever records say; None where each name has its own."""

    @abstractmethod
    def files(self, name: str) -> Sequence[Path | str]:
        """The databases of a name, the one that bears it first. StoreError where there is none."""

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all databases."""

    @abstractmethod
    def tables(self, file: str) -> set[str] | None:
        """The names of all tables and views of a database in small letters; None where it does not say."""

    @abstractmethod
    def schema(self, file: str) -> Schema | None:
        """The tables of a database with their columns, and its foreign keys; None where it does not say."""

    @abstractmethod
    def refuse_locked(self, file: str) -> None:
        """Raise StoreError where another program keeps a database for itself: every query on it would fail alike."""

    @abstractmethod
    def file_print(self, file: str) -> str:
        """The fingerprint of what one database holds."""

    @abstractmethod
    def content(self) -> str:
        """What a signature says of the databases."""

    @abstractmethod
    def state(self) -> str:
        """What must be the same for a stopped run to go on."""

    def warnings(self) -> list[str]:
        """What a run must say of where its queries run."""
        return []

    @abstractmethod
    def run(self, requests: Iterable[Request], seconds: float | None = None) -> Iterator[tuple[int, Outcome]]: ...

    @abstractmethod
    def execute(self, request: Request) -> Outcome: ...

    @abstractmethod
    def close(self) -> None: ...
