"""The search: one database after the other, the first on which the queries differ made as small as it goes."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from sensecheck.language.answers import Answer
from sensecheck.stores.outcomes import Failure

from .drawing import Draft, Drawer
from .hints import read_hints
from .judging import Engine, GivenUpError, Judge, Trial, is_vacuous
from .knowledge import Knowledge

_CLOCKS = frozenset(("date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"))
_SESSION = frozenset(
    ("random", "randomblob", "changes", "total_changes", "last_insert_rowid", "sqlite_version", "sqlite_source_id")
) | {"current_date", "current_time", "current_timestamp"}
_NOW = re.compile(r"""['"](?:now|localtime|utc)['"]""", re.I)
_CALL = re.compile(r"\b(date|time|datetime|julianday|unixepoch|strftime)\s*\(", re.I)
_APART = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?(?:\*/|$)""", re.S)
"""Strings and comments of SQL, whose brackets and commas say nothing."""
_ROWIDS = frozenset(("rowid", "oid", "_rowid_"))
_POOL = 12
_SIZES = (1, 3, 6, 2, 10, 4, 8)
_FIRST = 25
"""Databases of given rows that are tried though the gold has nothing to say of them."""
_PATIENCE = 60
"""Databases tried after a find of a lesser kind, for one of the first."""


@dataclass(slots=True)
class Found:
    """A database on which two queries differ."""

    rows: dict[str, list[list[Any]]]
    trial: Trial
    marks: list[str]


class _Candidate(NamedTuple):
    """A draft on which the queries differ."""

    draft: Draft
    trial: Trial
    marks: int

    @property
    def rank(self) -> int:
        """0 for a difference that stands for itself, more for those that a reader may shrug at."""
        return 2 * (self.trial.difference == "repeated rows") + bool(self.marks)


@dataclass(slots=True)
class Report:
    """What came of a search."""

    found: Found | None = None
    tried: int = 0
    left_out: str = ""
    notes: list[str] = field(default_factory=list)


class Search:
    """Searches for one pair of queries."""

    def __init__(
        self, knowledge: Knowledge, sandbox: Engine, gold: str, prediction: str, seed: str, dialect: str = "sqlite"
    ) -> None:
        self.knowledge, self.sandbox = knowledge, sandbox
        self.gold, self.prediction = gold, prediction
        self.dialect = dialect
        digest = blake2b("\0".join((seed, gold, prediction)).encode("utf-8", "surrogatepass"), digest_size=16)
        self.chance = random.Random(int.from_bytes(digest.digest(), "big"))
        self.read: set[tuple[str, str]] = set()
        self.telling = False
        """Whether the gold had something to say of some database."""

    def run(self, budget: int) -> Report:
        report = Report()
        for owner, text in (("gold", self.gold), ("prediction", self.prediction)):
            report.left_out = self._objection(text)
            if report.left_out:
                report.left_out = f"{owner}: {report.left_out}"
                return report
        lore = self.knowledge.lore
        queried = [name for name in lore if name in {table for table, _ in self.read}]
        if not queried:
            report.left_out = "neither query reads a table"
            return report
        if self.gold.strip() == self.prediction.strip():
            return report  # nothing can tell them apart, and nothing has to be tried
        hints = [read_hints(text, self.knowledge.schema, self.dialect) for text in (self.gold, self.prediction)]
        self.judge = Judge(self.sandbox, self.gold, self.prediction, hints, self.dialect)
        self.drawer = Drawer(self.knowledge, queried, self.read, hints[0], hints[1], self.chance)
        report.notes = [f"table {name} has no rows: its rows are invented" for name in queried if lore[name].invented]
        try:
            self._search(budget, report)
        except GivenUpError as reason:
            if report.found is None:
                report.left_out = str(reason)
        if report.found is None and not self.judge.built and not report.left_out:
            # What was not looked at is not among the pairs that no database tells apart.
            why = self.judge.refusal or "no rows keep to all that those of the data keep to"
            report.left_out = f"no database could be made: {why}"
        return report

    def _objection(self, text: str) -> str:
        """Why a query is not searched for: it does not run, or what it answers does not follow from the database."""
        outcome, read, called = self.sandbox.look(text)
        if isinstance(outcome, Failure):
            for name, why in self.knowledge.schema.left_out.items():
                if name in outcome.message.lower():
                    return why
            return f"it does not run: {outcome.message}"
        own = set(self.knowledge.schema.tables)
        tables = {table for table, _ in read}
        for name in sorted(tables - own):
            if name.lower() in self.knowledge.schema.left_out:
                return self.knowledge.schema.left_out[name.lower()]
            if name.lower().startswith("sqlite_"):
                return f"it reads {name}, which is no table of the data"
        for name, column in sorted(read):
            table = self.knowledge.schema.tables.get(name)
            if table is not None and column.lower() in _ROWIDS and table.place(column) is None:
                return f"it reads {name}.{column}, the place of a row rather than its content"
        session = sorted(name for name, _ in called if self.dialect != "sqlite" or name in _SESSION)
        if session:
            return f"it calls {session[0]}, which does not follow from the database"
        # What a view calls stands in the view and not in the query.
        views = self.knowledge.schema.views
        if any(_asks_the_clock(views.get(view, text)) for name, view in called if name in _CLOCKS):
            return "it asks for the current time"
        self.read |= {(name, column) for name, column in read if name in own}
        return ""

    # ---- the loop

    def _search(self, budget: int, report: Report) -> None:
        best: _Candidate | None = None
        patience = budget
        pool: dict[Any, Draft] = {}
        for number in range(budget):
            report.tried = number + 1
            draft = self._draft(number, budget, list(pool.values()))
            if draft is None:
                continue
            trial = self.judge.differ(draft.rows)
            if trial is None:
                self._keep(pool, draft)
            else:
                candidate = self._candidate(draft, trial, 4 if best is None else best.rank)
                if candidate is not None:
                    best = candidate
                    if best.rank < 2:
                        patience = min(patience, number + _PATIENCE)
            if best is not None and (best.rank == 0 or number >= patience):
                break
        if best is not None:
            report.found = self._found(best)

    def _draft(self, number: int, budget: int, pool: Sequence[Draft]) -> Draft | None:
        drawer, chance = self.drawer, self.chance
        given_rows = 0.25 * budget if self.telling or number < _FIRST else 0.0
        largest = _SIZES[number % len(_SIZES)]
        kind = chance.random()
        if number < given_rows or kind < 0.1:
            return drawer.subset(largest)
        if kind < 0.4 or not pool:
            start = drawer.subset(largest)
            witness = None if start is None else drawer.witness(start)
            if witness is None or chance.random() < 0.4:
                return witness
            return drawer.varied(witness, chance.randint(1, 3))
        base = chance.choice(pool)
        return drawer.varied(base, chance.randint(1, 4))

    def _keep(self, pool: dict[Any, Draft], draft: Draft) -> None:
        """Keep a database to build on, if the answers on it are none of those before: the fuller ones stay."""
        reply = self.judge.reply
        if reply is None:
            return
        self.telling = self.telling or not is_vacuous(reply[0])
        key = (min(len(reply[0].rows), 6), _shape(reply[0]))
        if len(pool) >= _POOL and key not in pool:
            smallest = min(pool)
            if smallest[0] >= key[0]:
                return
            del pool[smallest]
        pool[key] = draft

    # ---- from a difference to a find

    def _candidate(self, draft: Draft, trial: Trial, below: int) -> _Candidate | None:
        """The draft, if it is fair, can be built anew, and ranks below what was found so far."""
        candidate = _Candidate(draft, trial, len(self._marks(draft.rows)))
        if candidate.marks:
            # What the data do not have may be beside the point.
            plain = self.drawer.without_childless(draft)
            again = self._stands(plain, trial, candidate.marks - 1)
            if again is not None:
                candidate = _Candidate(plain, again, len(self._marks(plain.rows)))
        if candidate.rank >= below or not self.drawer.is_sound(candidate.draft):
            return None
        if not self.judge.is_fair(candidate.draft.rows, candidate.trial):
            return None
        return candidate if self._replayed(candidate.draft.rows, candidate.trial) is not None else None

    def _found(self, candidate: _Candidate) -> Found:
        """A candidate made as small as it goes: first whatever differs, then, if that is not fair, only what is."""
        smaller = self._shrunk(candidate, fair=False)
        replayed = None
        if self.judge.is_fair(smaller.draft.rows, smaller.trial):
            replayed = self._replayed(smaller.draft.rows, smaller.trial)
        if replayed is None:
            smaller = self._shrunk(candidate, fair=True)
            replayed = self._replayed(smaller.draft.rows, smaller.trial)
        if replayed is None:
            smaller, replayed = candidate, self._replayed(candidate.draft.rows, candidate.trial)
        assert replayed is not None
        rows = smaller.draft.rows
        return Found(rows, replayed, self._marks(rows))

    def _shrunk(self, candidate: _Candidate, *, fair: bool) -> _Candidate:
        going = True
        while going:
            going = False
            for name in reversed(self.drawer.tables):
                place = len(candidate.draft.rows[name]) - 1
                while place >= 0:
                    smaller = self._smaller(candidate, name, place, fair=fair)
                    if smaller is not None:
                        candidate, going = smaller, True
                    place = min(place, len(candidate.draft.rows[name])) - 1
        return candidate

    def _smaller(self, candidate: _Candidate, name: str, place: int, *, fair: bool) -> _Candidate | None:
        """The candidate without a row, if that does."""
        for draft in self.drawer.without(candidate.draft, name, place):
            again = self._stands(draft, candidate.trial, candidate.marks)
            if again is not None and (not fair or self.judge.is_fair(draft.rows, again)):
                return _Candidate(draft, again, candidate.marks)
        return None

    def _stands(self, draft: Draft, trial: Trial, marks: int) -> Trial | None:
        """What a smaller draft shows, if that is the same difference without further marks."""
        if not self.drawer.is_sound(draft):
            return None
        again = self.judge.differ(draft.rows)
        if again is None or again.difference != trial.difference or len(self._marks(draft.rows)) > marks:
            return None
        return again

    def _replayed(self, rows: Mapping[str, Sequence[Sequence[Any]]], trial: Trial) -> Trial | None:
        """The same on a database made anew, whose foreign keys the engine watches over."""
        fresh = self.sandbox.fresh()
        try:
            if fresh.fill(rows) or fresh.seal():
                return None
            again = self.judge.replayed(fresh)
        finally:
            fresh.close()
        return again if again is not None and again.difference == trial.difference else None

    def _marks(self, rows: Mapping[str, Sequence[Sequence[Any]]]) -> list[str]:
        """What a reader should know of a database: it holds something that the data do not."""
        marks = []
        for name, place, value in self.drawer.lacking if self.knowledge.data_given else ():
            if not self.drawer.is_usual(name, place, value) and any(line[place] == value for line in rows[name]):
                column = self.knowledge.lore[name].table.columns[place].name
                marks.append(f"constant absent from the data: {name}.{column}")
        for name, place in self.drawer.shared if self.knowledge.data_given else ():
            values = [line[place] for line in rows[name] if line[place] is not None]
            if len(set(values)) < len(values):
                column = self.knowledge.lore[name].table.columns[place].name
                marks.append(f"two rows with one {name}.{column}, which the data do not have")
        for link in self.drawer.always_parents:
            lines = rows[link.child]
            keys = {self.drawer.key_of(link, line) for line in lines}
            if any(tuple(line[target] for target in link.targets) not in keys for line in rows[link.parent]):
                marks.append(f"a row of {link.parent} without one of {link.child}, which the data do not have")
        return list(dict.fromkeys(marks))


def _asks_the_clock(text: str) -> bool:
    """Whether a query that calls SQLite's functions of time means the current one: by its name, or by leaving it out.

    >>> _asks_the_clock("SELECT strftime('%Y')"), _asks_the_clock("SELECT strftime('%Y', born)")
    (True, False)
    >>> _asks_the_clock("SELECT date()"), _asks_the_clock("SELECT date(born, '+1 day') -- now")
    (True, False)
    """
    text = _APART.sub(lambda match: " " if match[0][:2] in ("--", "/*") else match[0], text)
    if _NOW.search(text):
        return True
    plain = _APART.sub("''", text)
    return any(_arguments(plain[call.end() :]) < 1 + (call[1].lower() == "strftime") for call in _CALL.finditer(plain))


def _arguments(text: str) -> int:
    """How many arguments stand before the bracket that closes the call."""
    depth, commas = 0, 0
    for place, letter in enumerate(text):
        if letter == ")" and not depth:
            return commas + 1 if text[:place].strip() else 0
        depth += (letter == "(") - (letter == ")")
        commas += letter == "," and not depth
    return commas + 1


def _shape(answer: Answer) -> str:
    return repr(answer.rows[:1])[:40]
