"""Test suites of finds: as few databases as tell all pairs apart that some find tells apart."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from sensecheck.correct.sql_compare import compare, plan_gold
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.stores import Answer, Databases, Request
from sensecheck.stores.sql_gate import quoted

from .schema import Schema, read_sqlite_schema
from .telling import Counterexample, Pair


class Suite(NamedTuple):
    """What was written."""

    databases: int
    """New ones, beside the given ones."""
    pairs: int
    """Pairs that these tell apart."""


def check_place(folder: Path) -> None:
    """Refuse a place where a suite would be mixed with something else, or where none can be written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            field="make_suite", expected="a folder that is empty or not there yet", got=str(folder),
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    try:
        _in_the_making(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            field="make_suite", expected="a folder that can be made", got=f"{folder} ({error.strerror or error})",
            reason=Reason.BAD_OPTION,
        ) from None  # fmt: skip


def _in_the_making(folder: Path) -> Path:
    """Where a suite lies until it is whole, so that half of one is never taken for it."""
    folder = folder.resolve()  # workers have no working directory of ours
    return folder.with_name(f".{folder.name}.partial")


def write_suite(
    folder: Path, given: Mapping[str, Sequence[Path]], found: Mapping[str, Mapping[Pair, Counterexample]]
) -> Suite:
    """Write the given databases, and beside each the finds that are needed: NAME/NAME.sqlite, NAMEv1.sqlite, …

    `given`: names → the files of each, of those without a find too: a suite has to judge all questions.
    `found`: names → the pairs that are told apart, and by what.
    """
    check_place(folder)
    partial = _in_the_making(folder)
    shutil.rmtree(partial)  # what a run that was stopped has left
    partial.mkdir()
    databases = pairs = 0
    for name, files in given.items():
        made = _write_one(partial / name, files, found.get(name, {}))
        databases += made.databases
        pairs += made.pairs
    folder.mkdir(exist_ok=True)
    for home in partial.iterdir():
        home.rename(folder / home.name)
    partial.rmdir()
    return Suite(databases, pairs)


def _write_one(home: Path, files: Sequence[Path], finds: Mapping[Pair, Counterexample]) -> Suite:
    """The databases of one name."""
    home.mkdir()
    _copy(files, home)
    candidates: list[Path] = []
    schema = _schema(files[0]) if finds else None
    # Without a virtual table, golds that ask for it would fail on the new databases.
    if schema is not None and not schema.left_out:
        for number, find in enumerate(finds.values()):
            candidates.append(home / f".candidate{number}.sqlite")
            _build(candidates[-1], schema, find)
    covered = told_apart(list(finds), candidates) if candidates else []
    chosen = _cover(covered)
    names = (home / f"{home.name}v{number}.sqlite" for number in count(1))
    free = (path for path in names if not path.exists())
    for place in chosen:
        candidates[place].rename(next(free))
    for path in candidates:
        path.unlink(missing_ok=True)
    return Suite(len(chosen), len(set().union(*covered)))


def _copy(files: Sequence[Path], home: Path) -> None:
    """Copy the given files to their new home. The first bears the name of all, so that it stays the first."""
    for number, file in enumerate(files):
        copy = home / (file.name if number else f"{home.name}.sqlite")
        while copy.exists():
            copy = copy.with_name(f"{copy.stem}-given{copy.suffix}")
        shutil.copyfile(file, copy)
        if _waits(file):
            shutil.copyfile(f"{file}-wal", f"{copy}-wal")


def _waits(file: Path) -> bool:
    """Whether a part of a database waits in a write-ahead log beside it."""
    log = Path(f"{file}-wal")
    return log.is_file() and log.stat().st_size > 0


def _schema(given: Path) -> Schema:
    mode = "mode=ro" if _waits(given) else "mode=ro&immutable=1"
    source = sqlite3.connect(f"{given.as_uri()}?{mode}", uri=True)
    try:
        return read_sqlite_schema(source)
    finally:
        source.close()


def _build(path: Path, schema: Schema, find: Counterexample) -> None:
    """A file with all tables of the given database, and the rows of a find."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN")
        for table in schema.tables.values():
            connection.execute(table.ddl)
        for _, statement in schema.further:
            connection.execute(statement)
        for name, (columns, rows) in find.tables.items():
            places = ", ".join("?" * len(columns))
            names = ", ".join(quoted(column) for column in columns)
            connection.executemany(f"INSERT INTO {quoted(name)} ({names}) VALUES ({places})", rows)
        connection.execute("COMMIT")
    finally:
        connection.close()


def told_apart(pairs: Sequence[Pair], files: Sequence[Path]) -> list[set[int]]:
    """For each file the numbers of the pairs that differ on it."""
    plans = [plan_gold(pair.gold) for pair in pairs]
    asked: dict[Request, None] = {}
    for pair, plan in zip(pairs, plans, strict=True):
        for file in files:
            asked |= dict.fromkeys(
                Request(text, str(file)) for text in (pair.gold, pair.prediction, plan.keyed) if text
            )
    with Databases(files[0]) as store:
        outcomes = dict(zip(asked, store.execute_many(asked), strict=True))
    covered: list[set[int]] = []
    for file in files:
        told: set[int] = set()
        for number, (pair, plan) in enumerate(zip(pairs, plans, strict=True)):
            gold, predicted = (outcomes[Request(text, str(file))] for text in (pair.gold, pair.prediction))
            keyed = outcomes.get(Request(plan.keyed, str(file)))
            if isinstance(gold, Answer) and isinstance(predicted, Answer):
                keyed_answer = keyed if isinstance(keyed, Answer) else None
                if not compare(gold, predicted, plan, keyed_answer).equal:
                    told.add(number)
        covered.append(told)
    return covered


def _cover(covered: Sequence[set[int]]) -> list[int]:
    """The places of a few sets that hold all that any holds: time and again the one that adds most.

    >>> _cover([{1}, {1, 2}, {3}, {2, 3}])
    [1, 2]
    """
    left = set().union(*covered)
    chosen: list[int] = []
    while left:
        best = max(range(len(covered)), key=lambda place: len(covered[place] & left))
        chosen.append(best)
        left -= covered[best]
    return chosen
