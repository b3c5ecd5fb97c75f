"""Agreements of a run, proven or not: which of the right answers a small database shows to be right by chance."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from sensecheck.correct.measure import Scored
from sensecheck.correct.records import Records
from sensecheck.correct.vacuity import EMPTY, NOTHING_COUNTED
from sensecheck.runs.writing import RunError, remove, replace_file
from sensecheck.stages import QUERYING, stage
from sensecheck.statistics.measurements import Measurements
from sensecheck.stores import Databases, Graph, ServerDatabases, SqlStore, StoreError

from .elsewhere import Elsewhere
from .figures import CLASSES, MARKS
from .suites import check_place, write_suite
from .telling import Counterexample, GraphCounterexample, Pair, Prover, Telling
from .writing import term_text

Scope: TypeAlias = Literal["all", "vacuous"]
FOLDER = "counterexamples"
SEARCHED = ("told apart", "not told apart")
KEPT = 100_000
"""Pairs whose outcome is kept: many predictions are the same."""
_SHOWN_ROWS = 12
_SHELLS = {"sqlite": "sqlite3", "duckdb": "duckdb"}


class Agreements:
    """Searches for each agreement of a run a database that tells its queries apart. A context: workers run inside."""

    def __init__(
        self,
        store: SqlStore | Graph,
        scope: Scope,
        databases: int,
        out: Path | None,
        workers: int | None,
        suite: Path | None = None,
        ignore_labels: bool = False,
        *,
        on_server: bool = False,
    ) -> None:
        if suite is not None:
            check_place(suite)
        self.store, self.scope, self.suite, self.ignore_labels = store, scope, suite, ignore_labels
        self.elsewhere: Elsewhere | None = None
        """Where pairs of a server's queries are searched."""
        self.dialect = ""
        self.folder = None if out is None else out / FOLDER
        if isinstance(store, Graph):
            self.prover = Prover(budget=databases, workers=workers, graph=store)
        else:
            if isinstance(store, ServerDatabases):
                self.elsewhere = Elsewhere(store, replays=on_server)
            self.dialect = store.dialect if self.elsewhere is None else self.elsewhere.dialect
            self.prover = Prover(dialect=self.dialect, budget=databases, workers=workers)
        self.known: dict[Pair, Telling] = {}
        self.given: dict[str, list[Path]] = {}
        """The databases that records ask, by their names, for a suite,"""
        self.finds: dict[str, dict[Pair, Counterexample]] = {}
        """and what was found for each."""

    def __enter__(self) -> Agreements:
        return self

    def __exit__(self, *_: object) -> None:
        self.prover.close()

    def place(self) -> str:
        """Where pairs of a server's queries were searched, for a signature."""
        if self.elsewhere is None:
            return ""
        return f" in {self.dialect}{', replayed' if self.elsewhere.replays else ''}"

    def added(
        self, records: Records, scores: Sequence[Scored], rows: pl.DataFrame, shown: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Measurements and texts of a batch with what the search says of them."""
        self._remember(records.database)
        pairs = [self._pair(records, row, scored) for row, scored in enumerate(scores)]
        tellings = self._tellings([pair for pair in pairs if isinstance(pair, Pair)])
        columns: dict[str, list[bool | str | None]] = {name: [] for name in COLUMNS}
        texts: list[str | None] = []
        for row, (pair, scored) in enumerate(zip(pairs, scores, strict=True)):
            telling = tellings[pair] if isinstance(pair, Pair) else None
            found = None if telling is None else telling.counterexample
            searched = telling is not None and telling.status in SEARCHED
            right = None if scored.unscored else scored.correct
            columns["correct_proven"].append(None if right is None else bool(right and found is None))
            columns["proven_different"].append(found is not None if searched else None)
            columns["proven_hard"].append(found is not None and found.hard if searched else None)
            for difference, (name, _) in CLASSES.items():
                differs = found is not None and found.difference == difference
                columns[name].append(differs if searched else None)
            for name, (beginnings, _) in MARKS.items():
                marked = found is not None and any(mark.startswith(beginnings) for mark in found.marks)
                columns[name].append(marked if searched else None)
            if telling is None:
                columns["not_searched"].append(pair if isinstance(pair, str) else None)
            else:
                why = telling.reason or str(telling)
                columns["not_searched"].append(None if searched else f"left out ({why})")
            texts.append(None if found is None else in_words(found))
            if found is not None and isinstance(pair, Pair):
                self._write(records.id[row], pair, found)
                if name := self._suite_name(records.database[row]):
                    assert isinstance(found, Counterexample)
                    self.finds.setdefault(name, {})[pair] = found
        dtypes = {name: pl.String if name == "not_searched" else pl.Boolean for name in columns}
        rows = rows.with_columns(pl.Series(name, values, dtype=dtypes[name]) for name, values in columns.items())
        return rows, shown.with_columns(pl.Series("counterexample", texts, dtype=pl.String))

    def _remember(self, names: Sequence[str]) -> None:
        """Keep in mind which databases a suite has to hold."""
        for name in dict.fromkeys(names):
            home = self._suite_name(name)
            if home and home not in self.given:
                assert isinstance(self.store, Databases)
                with suppress(StoreError):
                    self.given[home] = self.store.files(name)

    def _suite_name(self, name: str) -> str:
        """Under which name a suite has the database that records call so; "" where no suite is made."""
        if self.suite is None or not isinstance(self.store, Databases):
            return ""
        single = self.store.single
        if single is None:
            return name or next(iter(self.store.names()))
        # `shop-2.sqlite` may be what records call `shop`; beside a single file anything may stand.
        return name if name and single.lower().startswith(name.lower()) else single

    def _pair(self, records: Records, row: int, scored: Scored) -> Pair | str:
        """The pair to search for, or why there is none."""
        gold, prediction = records.gold[row], records.prediction[row]
        if scored.unscored or not scored.correct:
            return "that do not agree"
        if gold is None or prediction is None:
            return "without two queries"
        if row in records.golds:
            return "with several gold queries"
        if self.scope == "vacuous" and scored.vacuous_kind not in (EMPTY, NOTHING_COUNTED):
            return "that agree on something"
        if isinstance(self.store, Graph):
            # Golds that stand in the file need not be what the gold query answers.
            agreed = records.results[row] is None and row not in records.golds
            return Pair(gold, prediction, agreed=agreed, comparison=(scored.kind, self.ignore_labels))
        try:
            file = self.store.files(records.database[row])[0]
        except StoreError:
            return "without a database"
        if self.elsewhere is not None:
            return self.elsewhere.pair(gold, prediction, str(file))
        return Pair(gold, prediction, str(file), agreed=True)

    def _tellings(self, pairs: Sequence[Pair]) -> dict[Pair, Telling]:
        if len(self.known) > KEPT:
            self.known.clear()
        # Neighbours are of one database, whose rows a worker then has in mind.
        todo = sorted({pair for pair in pairs if pair not in self.known}, key=lambda pair: pair[2])
        with stage(QUERYING, len(todo), "pairs", pulled=True) as advance:
            for number, telling in self.prover.run(todo):
                self.known[todo[number]] = self._confirmed(todo[number], telling)
                advance(1)
        return {pair: self.known[pair] for pair in pairs}

    def _confirmed(self, pair: Pair, telling: Telling) -> Telling:
        """What was found elsewhere counts as far as it stands."""
        found = telling.counterexample
        if self.elsewhere is None or not isinstance(found, Counterexample):
            return telling
        if not self.elsewhere.confirmed(pair, found):
            return Telling("not told apart", telling.databases, notes=telling.notes, seconds=telling.seconds)
        return telling

    def _write(self, name: str, pair: Pair, found: Counterexample | GraphCounterexample) -> None:
        if self.folder is None:
            return
        _make(self.folder)
        graph = isinstance(self.store, Graph)
        load = "Turtle: any RDF store loads it."
        if not graph:
            load = f"Load it: {_SHELLS[self.dialect]} :memory: -init FILE"
        heading = [
            f"A {self.unit} on which the gold and the prediction of {name} differ ({found.difference}).",
            *found.marks,
            load,
        ]
        text = found.script(pair.gold, pair.prediction, heading).encode("utf-8", "replace")
        place = self.folder / file_name(name, ".ttl" if graph else ".sql")
        if place.is_file() and place.read_bytes() != text:
            # Another sample of the same question; or an id that differs in case alone, where files do not.
            place = self.folder / file_name(name, ".ttl" if graph else ".sql", pair)
        replace_file(place, text)

    @property
    def unit(self) -> str:
        return "graph" if isinstance(self.store, Graph) else "database"

    def notes(self, rows: Measurements) -> list[str]:
        """What is to be said of all rows at the end; a suite, where one was asked for, is written now."""
        told = self._searched(rows)
        if self.suite is not None:
            made = write_suite(self.suite, self.given, self.finds)
            one, pairs = made.databases == 1, "1 pair" if made.pairs == 1 else f"{made.pairs:,} pairs"
            new = f"{made.databases:,} new database{' tells' if one else 's tell'} {pairs} apart"
            told.append(f"{self.suite}: {new}; give it as --database to judge others by them")
        return told

    def _searched(self, rows: Measurements) -> list[str]:
        # Of all rows, those too that were measured before the run was stopped and taken up again.
        searched = found = 0
        for batch in rows.batches(["proven_different"]):
            different = batch["proven_different"].drop_nulls()
            searched += len(different)
            found += int(different.sum())
        if not searched:
            return [f"no agreement was searched for a {self.unit} that tells its queries apart"]
        told = f"{found:,} of {searched:,} {'agreement' if searched == 1 else 'agreements'} "
        told += f"proven different by a small {self.unit}"
        if self.elsewhere is not None:
            told += f" of {self.dialect}, by rewritten queries"
            told += ", each replayed on the server" if self.elsewhere.replays else " and not on the server"
        if self.folder is not None and found:
            told += f" ({FOLDER}/ holds each)"
        return [f"{told}; the others are not proven equal" if found < searched else told]


COLUMNS = (
    "correct_proven",
    "proven_different",
    "proven_hard",
    *(name for name, _ in CLASSES.values()),
    *MARKS,
    "not_searched",
)


def file_name(record: str, ending: str = ".sql", pair: Pair | None = None) -> str:
    """A file name for a record of any name: no folder, no hidden file, and no other record's.

    With a pair given, that of no other pair of this record either.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", record).lstrip(".")[:80]
    if plain and plain == record and pair is None:
        return f"{plain}{ending}"
    told = record if pair is None else "\0".join((record, pair.gold, pair.prediction, pair.database))
    digest = hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{plain or 'record'}-{digest}{ending}"


def clear(folder: Path) -> None:
    """Remove the finds of an earlier run."""
    if os.path.lexists(folder):
        _make(folder)
        for path in sorted([*folder.glob("*.sql"), *folder.glob("*.ttl")]):
            remove(path)


def _make(folder: Path) -> None:
    """Make a folder for finds in a run's own; what stands there instead may lead to files of others."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RunError(f"{folder} is no folder of its own, and finds are written there; remove it")
    folder.mkdir(exist_ok=True)


def in_words(found: Counterexample | GraphCounterexample) -> str:
    """A find as a few lines of text: its tables or triples, and both answers."""
    lines = [found.difference, *found.marks]
    if isinstance(found, GraphCounterexample):
        lines += [*found.triples[:_SHOWN_ROWS]]
        for owner, answer in (("gold", found.gold), ("prediction", found.prediction)):
            verdict = "" if answer.boolean is None else f" {'yes' if answer.boolean else 'no'}"
            lines.append(f"{owner} answers:{verdict or ('' if answer.rows else ' nothing')}")
            lines += [f"    {' | '.join(map(term_text, row))}" for row in answer.rows[:_SHOWN_ROWS]]
        return "\n".join(lines)
    for name, table in found.tables.items():
        if table.rows:
            lines.append(f"{name} ({', '.join(table.columns)})")
            lines += [f"    {_line(row)}" for row in table.rows[:_SHOWN_ROWS]]
            if len(table.rows) > _SHOWN_ROWS:
                lines.append(f"    … {len(table.rows) - _SHOWN_ROWS} more")
    for owner, answer in (("gold", found.gold), ("prediction", found.prediction)):
        lines.append(f"{owner} answers:{'' if answer.rows else ' nothing'}")
        lines += [f"    {_line(row)}" for row in answer.rows[:_SHOWN_ROWS]]
        if len(answer.rows) > _SHOWN_ROWS:
            lines.append(f"    … {len(answer.rows) - _SHOWN_ROWS} more")
    return "\n".join(lines)


def _line(row: Sequence[object]) -> str:
    cells = ["NULL" if cell is None else " ".join(str(cell).split())[:60] for cell in row]
    return " | ".join(cells)
