"""What the columns of a database hold, asked of the bounded read-only workers of `stores`.

Only statements of ours run there, never a query that a model wrote. The values of a column are read once and kept, so
that thousands of literals cost a look into a set each. What is too large to be read tells nothing; that is decided by
counts of rows, values and bytes, which are the same on every machine, and a clock is the net below.
"""

from __future__ import annotations

import os
import re
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sensecheck.faithful.facts import UnreadableQueryError
from sensecheck.faithful.schema import Schema, from_database
from sensecheck.inputs.errors import escaped
from sensecheck.inputs.reasons import Reason
from sensecheck.language.numbers import as_number
from sensecheck.stores import Answer, Databases, Failure, Limits, Request, SqlStore, StoreError, limit_notes
from sensecheck.stores.sql_gate import quoted

MAX_ROWS = 1_000_000
"""Rows of a table. Of a larger one nothing is told."""
MAX_VALUES = 50_000
"""Different values of a column."""
MAX_BYTES = 8 << 20
"""Bytes that the values of a column have together."""
MAX_LETTERS = 300
"""Letters of a literal, and of the values that it is held against: longer ones are no slips of the pen."""
MAX_COMPARED = 20_000
"""Values of a column that a literal is held against letter by letter."""
SECONDS = 3.0
"""Seconds that one look into a database may take."""
MAX_FAILURES = 8
"""Looks into one database that end by the clock or by a crash; then it is left alone."""
KEPT_BYTES = 192 << 20
"""About how much memory the values that are kept may take; those that were asked for longest ago are let go."""
MAX_READS = 3
"""How often a column is read in all: one that is let go again and again is left alone."""
KEPT_LOOKS = 200_000
"""Conditions of which is remembered whether a row meets them."""

LIMITS = Limits(seconds=SECONDS, rows=MAX_VALUES + 1, bytes=MAX_BYTES)
_OPERATORS = frozenset(("=", "LIKE"))
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)")
_SIGNS = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
_COSTLY = (Reason.TIMEOUT, Reason.MEMORY)
_NAMED = 3  # columns that a note names


class Literal(NamedTuple):
    """A literal of a query."""

    text: str
    numeric: bool  # written as a number, without quotes


class Values:
    """The different values of a column."""

    def __init__(self, values: Sequence[Any]) -> None:
        texts = [_text(value) for value in values if value is not None]
        # Blanks around a value are a fault of the data, which no question can show.
        self.texts = frozenset((*texts, *(text.strip() for text in texts)))
        self.numbers = frozenset(n for n in (as_number(text) for text in self.texts) if n is not None)
        self.size = 250 * len(self.texts) + 2 * sum(map(len, self.texts))
        """About how many bytes of memory it takes."""

    def holds(self, text: str, number: float | None = None) -> bool:
        return text in self.texts or (number is not None and number in self.numbers)

    def holds_ignoring_case(self, text: str) -> bool:
        return text.casefold() in self._folded

    def is_like(self, pattern: str) -> bool:
        """Whether a value is surely LIKE a pattern, without regard to case; only what is plain is tried."""
        core = pattern.casefold().strip("%")
        if not core or "%" in core or "_" in core or "\\" in core:
            return False
        folded = self._folded
        if pattern.endswith("%"):
            return any(core in value if pattern.startswith("%") else value.startswith(core) for value in folded)
        return any(value.endswith(core) for value in folded) if pattern.startswith("%") else core in folded

    @cached_property
    def _folded(self) -> frozenset[str]:
        return frozenset(value.casefold() for value in self.texts)

    @cached_property
    def in_other_case(self) -> str | None:
        """A value with its capitals turned round, which is no value itself; None where there is none."""
        turned = ((value, value.swapcase()) for value in sorted(self.texts) if len(value) <= MAX_LETTERS)
        return next((other for value, other in turned if value.isascii() and other not in self.texts), None)

    def respelled(self, text: str) -> str | None:
        """A value that differs from a text by capitals, blanks and signs alone, or else by one letter."""
        plain = squeezed(text)
        if not plain or plain in self._squeezed or len(plain) < 5:
            return self._squeezed.get(plain)
        digits = _DIGITS.findall(plain)
        for length in (len(plain), len(plain) - 1, len(plain) + 1):
            for value in self._by_length.get(length, ()):
                if is_one_edit(plain, value) and _DIGITS.findall(value) == digits:
                    return self._squeezed[value]
        return None

    @cached_property
    def _squeezed(self) -> dict[str, str]:
        """The values by what is left of them without capitals, blanks and signs."""
        values: dict[str, str] = {}
        for value in sorted(self.texts):
            if len(value) <= MAX_LETTERS:
                values.setdefault(squeezed(value), value)
        return values

    @cached_property
    def _by_length(self) -> dict[int, list[str]]:
        """What is left of the values, by its length; nothing where they are too many to be gone through."""
        lengths: dict[int, list[str]] = {}
        for plain in self._squeezed if len(self._squeezed) <= MAX_COMPARED else ():
            lengths.setdefault(len(plain), []).append(plain)
        return lengths


def squeezed(text: str) -> str:
    """A text without capitals, blanks and signs."""
    return _SIGNS.sub("", text.casefold())


def is_one_edit(a: str, b: str) -> bool:
    """Whether one letter more, less or other makes one text of the other, or two neighbours that change places.

    >>> is_one_edit("pisek", "pisec"), is_one_edit("pisek", "piesk"), is_one_edit("pisek", "prisek")
    (True, True, True)
    >>> is_one_edit("pisek", "pisek"), is_one_edit("pisek", "pise"), is_one_edit("pisek", "pasec")
    (False, True, False)
    """
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1 or a == b:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    swapped = a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
    return swapped or a[start + 1 :] == b[start + 1 :]


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value[: MAX_LETTERS + 1].decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


@dataclass(slots=True)
class StoredFile:
    path: str
    failures: int = 0


class StoredValues:
    """The databases of a run: a file, or a folder of them by name. Close it when all is asked."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._store: SqlStore = self._opened_store(path)
        self._files: dict[str, StoredFile | UnreadableQueryError] = {}
        self._kept: OrderedDict[tuple[str, ...], Values | None] = OrderedDict()
        self._kept_bytes = 0
        self._looks: OrderedDict[tuple[Any, ...], bool | None] = OrderedDict()
        self._small: dict[tuple[str, str], bool | None] = {}
        self._unread: dict[str, None] = {}
        self._reads: Counter[tuple[str, ...]] = Counter()

    def _opened_store(self, place: str | os.PathLike[str]) -> SqlStore:
        return Databases(Path(place), limits=LIMITS, workers=1)

    @property
    def only(self) -> str | None:
        """The name of the database, where there is one alone."""
        return self._store.single

    @property
    def place(self) -> str:
        """Where the databases are, as messages may tell it."""
        return Path(self._store.place).name

    @property
    def dialect(self) -> str | None:
        """Of the queries, where it is known; files hold those of any."""
        return None

    def content(self) -> str:
        """A short name of what the databases hold, for signatures."""
        return self._store.content()

    def state(self) -> str:
        """Sizes and times of the files: a stopped run goes on only where nothing changed."""
        return self._store.state()

    def schemas(self) -> dict[str, Schema] | Schema:
        """What the databases themselves say of their tables."""
        if self.only is not None:
            return from_database(Path(self._store.place))
        return {name: from_database(Path(self._store.files(name)[0])) for name in self._store.names()}

    def prints(self) -> dict[str, str]:
        """What the databases of a server held that were asked, by their names."""
        return {}

    def notes(self) -> list[str]:
        """What a reader must know: bounds that the workers did not get, and columns that were not looked at."""
        notes = limit_notes(self._store)
        if self._unread:
            columns = sorted(self._unread)
            named = escaped(", ".join(columns[:_NAMED]))
            beyond = len(columns) - _NAMED
            more = f" and {beyond:,} {'other' if beyond == 1 else 'others'}" if beyond > 0 else ""
            notes.append(
                f"the values of {named}{more} were not looked at: over {MAX_ROWS:,} rows, {MAX_VALUES:,} values or "
                f"{MAX_BYTES >> 20} MB, or no answer within {SECONDS:g} s"
            )
        return notes

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> StoredValues:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------- looking

    def check(self, name: str) -> None:
        """Raise UnreadableQueryError where there is no such database, StoreError where another program locks it."""
        self._file(name)

    def values(self, name: str, table: str, column: str) -> Values | None:
        """The values of a column; None where it cannot be read, or holds more than is read."""
        key = (name, table.lower(), column.lower())
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        file = self._file(name)
        read: Values | None = None
        self._reads[key] += 1
        small = self._reads[key] <= MAX_READS and self._is_small(file, table)
        if small:
            home, place = self._written_names(file.path, table, column)
            statement = f"SELECT DISTINCT {place} FROM {home} LIMIT {MAX_VALUES + 1}"
            outcome = self._ask(file, statement)
            if isinstance(outcome, Answer) and len(outcome.rows) <= MAX_VALUES:
                read = Values([row[0] for row in outcome.rows])
            elif not _is_unknown(outcome):
                small = False
        if small is False:
            self._unread[f"{table}.{column}"] = None
        self._kept[key] = read
        self._kept_bytes += read.size if read is not None else 0
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            dropped = self._kept.popitem(last=False)[1]
            self._kept_bytes -= dropped.size if dropped is not None else 0
        return read

    def holds(self, name: str, table: str, column: str, literal: Literal, number: float | None) -> bool | None:
        """Whether a row of a column equals a literal; None where that cannot be told."""
        values = self.values(name, table, column)
        if values is None or values.holds(literal.text, number):
            return None if values is None else True
        if self._store.dialect != "sqlite":  # whose types and collations are its own
            return self.any_row(name, table, column, "=", literal)
        # What SQLite takes for equal are equal texts and numbers, and other capitals where the column says so.
        if not values.holds_ignoring_case(literal.text):
            return False
        if values.in_other_case is None:
            return self.any_row(name, table, column, "=", literal)
        return self.any_row(name, table, column, "=", Literal(values.in_other_case, False))

    def is_like(self, name: str, table: str, column: str, literal: Literal) -> bool | None:
        """Whether a row of a column is LIKE a literal; None where that cannot be told."""
        values = self.values(name, table, column)
        if values is None:
            return None
        if self._store.dialect == "sqlite" and values.is_like(literal.text):  # others see capitals
            return True
        return self.any_row(name, table, column, "LIKE", literal)

    def any_row(self, name: str, table: str, column: str, op: str, literal: Literal) -> bool | None:
        """Whether a row meets `column = literal` or `column LIKE literal`; None where that cannot be told."""
        assert op in _OPERATORS
        key = (name, table.lower(), column.lower(), op, literal)
        if key in self._looks:
            self._looks.move_to_end(key)
            return self._looks[key]
        file = self._file(name)
        found: bool | None = None
        if self._is_small(file, table) and _is_writable(literal):
            home, place = self._written_names(file.path, table, column)
            test = f"{place} {op} {self._written(literal)}"
            outcome = self._ask(file, f"SELECT EXISTS (SELECT 1 FROM {home} WHERE {test})")
            found = bool(outcome.rows[0][0]) if isinstance(outcome, Answer) else None
        self._looks[key] = found
        if len(self._looks) > KEPT_LOOKS:
            self._looks.popitem(last=False)
        return found

    def _file(self, name: str) -> StoredFile:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = self._opened(name)
        if isinstance(file, UnreadableQueryError):
            raise file
        return file

    def _opened(self, name: str) -> StoredFile | UnreadableQueryError:
        names = [] if name or self.only is not None else self._store.names()
        try:
            path = str(self._store.files(names[0] if len(names) == 1 else name)[0])
        except StoreError as error:
            return UnreadableQueryError(Reason.UNKNOWN_DB_ID, str(error))
        self._store.refuse_locked(path)
        if self._store.tables(path) is None:
            message = f"{Path(path).name} is no {self._store.dialect} database, or is damaged"
            return UnreadableQueryError(Reason.BAD_DATABASE, message)
        return StoredFile(path)

    def _is_small(self, file: StoredFile, table: str) -> bool | None:
        """Whether a table has few enough rows to be read; None where there is no such table."""
        key = (file.path, table.lower())
        if key not in self._small:
            home, _ = self._written_names(file.path, table, "")
            counted = f"SELECT COUNT(*) FROM (SELECT 1 FROM {home} LIMIT {MAX_ROWS + 1}) AS counted"
            outcome = self._ask(file, counted)
            unknown = _is_unknown(outcome)
            self._small[key] = None if unknown else isinstance(outcome, Answer) and _count(outcome) <= MAX_ROWS
        return self._small[key]

    def _written_names(self, path: str, table: str, column: str) -> tuple[str, str]:
        """A table, and a column with it: a bare name that is no column would be taken for a text."""
        return quoted(table), f"{quoted(table)}.{quoted(column)}"

    def _written(self, literal: Literal) -> str:
        return literal.text if literal.numeric else "'" + literal.text.replace("'", "''") + "'"

    def _ask(self, file: StoredFile, statement: str) -> Answer | Failure:
        if file.failures >= MAX_FAILURES:
            return Failure(Reason.TIMEOUT, "this database is left alone")
        outcome = self._store.execute(Request(statement, file.path))
        if isinstance(outcome, Failure) and (outcome.reason in _COSTLY or "crashed" in outcome.message):
            file.failures += 1
        return outcome


def _count(answer: Answer) -> int:
    return int(str(answer.rows[0][0]))


def _is_unknown(outcome: Answer | Failure) -> bool:
    """Whether the engine could not run a statement of ours, since the database has no such table or column."""
    return isinstance(outcome, Failure) and outcome.reason == Reason.ENGINE_ERROR and "crashed" not in outcome.message


def _is_writable(literal: Literal) -> bool:
    return "\0" not in literal.text and (not literal.numeric or _NUMBER.fullmatch(literal.text) is not None)
