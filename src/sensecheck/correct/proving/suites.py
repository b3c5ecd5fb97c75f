"""Test suites of finds: as few databases as tell all pairs apart that some find tells apart."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sensecheck.correct.sql_compare import compare, plan_gold
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.stores import Answer, Databases, Request
from sensecheck.stores.sql_gate import quoted

from .schema import read_sqlite_schema
from .telling import Counterexample, Pair


class Suite(NamedTuple):
    """What was written."""

    databases: int
    """New ones, beside the given ones."""
    pairs: int
    """Pairs that these tell apart."""


def check_place(folder: Path) -> None:
    """Refuse a place where a suite would be mixed with something else."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            field="make_suite", expected="a folder that is empty or not there yet", got=str(folder),
            reason=Reason.BAD_OPTION,
        )  # fmt: skip


def write_suite(folder: Path, found: Mapping[str, Mapping[Pair, Counterexample]]) -> Suite:
    """Write the given databases, and beside each the finds that are needed: NAME/NAME.sqlite, NAMEv1.sqlite, …

    `found`: names → the pairs that are told apart, and by what.
    """
    check_place(folder)
    folder = folder.resolve()  # workers have no working directory of ours
    databases = pairs = 0
    for name, finds in found.items():
        if not finds:
            continue
        home = folder / name
        home.mkdir(parents=True)
        given = Path(next(iter(finds)).database)
        candidates = []
        for number, find in enumerate(finds.values()):
            path = home / f"candidate{number}.sqlite"
            _build(path, given, find)
            candidates.append(path)
        covered = told_apart(list(finds), candidates)
        chosen = _cover(covered)
        for number, place in enumerate(chosen, 1):
            candidates[place].rename(home / f"{name}v{number}.sqlite")
        for path in candidates:
            path.unlink(missing_ok=True)
        shutil.copyfile(given, home / f"{name}.sqlite")
        databases += len(chosen)
        pairs += len(set().union(*covered))
    return Suite(databases, pairs)


def _build(path: Path, given: Path, find: Counterexample) -> None:
    """A file with all tables of the given database, and the rows of a find."""
    source = sqlite3.connect(f"{given.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        schema = read_sqlite_schema(source)
    finally:
        source.close()
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
