"""Measurement columns of Spider's exact-set match and of its partial matching, clause by clause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sensecheck.correct.records import Records
from sensecheck.correct.spider_exact import PARTS, exact, levelled, partners, parts
from sensecheck.correct.spider_query import NOTHING, SpiderQuery, UnreadableError, read_query
from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.statistics.measurements import Measurements
from sensecheck.stores.schemas import Schema

SPIDER_EXACT = "spider-exact"
COLUMN = SPIDER_EXACT.replace("-", "_")
NOT_READ = "spider_not_read"
"""The column that says why a query cannot be read as Spider's evaluator does."""
NO_SCHEMA = "no tables of its database are known"
MOST_CHARACTERS = 100_000
"""Characters of a query that is read."""


def part_columns(part: str) -> tuple[str, str, str]:
    """The columns of a clause: whether the prediction has it, whether the gold does, and whether both have the same."""
    return f"part_{part}_predicted", f"part_{part}_gold", f"part_{part}_same"


COLUMNS = tuple(name for part in PARTS for name in part_columns(part))


class _Read(NamedTuple):
    query: SpiderQuery
    why: str = ""
    """Why it is not read."""
    over_budget: bool = True
    """Where that is so: whether it is the query's fault."""


class _Row(NamedTuple):
    exact: bool | None
    parts: tuple[bool, ...] | tuple[None, ...]
    why: str = ""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Of several golds, the one that suits the prediction best."""
        return self.exact is not None, self.exact is True, sum(map(bool, self.parts[2::3]))


_NOTHING = (None,) * len(COLUMNS)


class SpiderParts:
    """Reads each distinct query once (the last 50,000 are kept), over the schema of its database."""

    def __init__(self, schema_of: Callable[[str], Schema | None], *, by_part: bool) -> None:
        self.by_part = by_part
        self._schema_of = lru_cache(maxsize=None)(schema_of)
        self._partners_of = lru_cache(maxsize=None)(self._partners)
        self._read = lru_cache(maxsize=50_000)(self._reading)
        self._rows = lru_cache(maxsize=50_000)(self._row)

    def columns(self, records: Records, *, exact: bool) -> dict[str, list[Any]]:
        """The columns of some records. A prediction that is not read is an empty query; a gold leaves its row out."""
        rows = [
            self._of_any(records.golds.get(row) or [gold], told, database)
            if gold is not None and not (told is None and given is not None and given.predicted is not None)
            else _Row(None, _NOTHING)
            for row, (gold, told, database, given) in enumerate(
                zip(records.gold, records.prediction, records.database, records.given, strict=True)
            )
        ]
        found: dict[str, list[Any]] = {COLUMN: [row.exact for row in rows]} if exact else {}
        if self.by_part:
            found |= {name: [row.parts[place] for row in rows] for place, name in enumerate(COLUMNS)}
        return found | {NOT_READ: [row.why or None for row in rows]}

    def _of_any(self, golds: Sequence[str], told: str | None, database: str) -> _Row:
        rows = [self._rows(gold, told, database) for gold in golds]
        return rows[0] if len(rows) == 1 else max(rows, key=lambda row: row.rank)

    def _row(self, gold: str, told: str | None, database: str) -> _Row:
        if self._schema_of(database) is None:
            return _Row(None, _NOTHING, NO_SCHEMA)
        wanted = self._read(gold, database)
        if wanted.why:
            return _Row(None, _NOTHING, f"gold: {wanted.why}")
        shown = _Read(NOTHING, "no prediction") if told is None else self._read(told, database)
        why = f"prediction: {shown.why}" if shown.why and told is not None else ""
        if shown.why and not shown.over_budget:
            return _Row(None, _NOTHING, why)
        row = guarded("matching clauses", self._matched, shown.query, wanted.query)
        if isinstance(row, Fault):
            return _Row(False if row.over_budget else None, _NOTHING, f"matching clauses: {row.reason}")
        return row._replace(why=why)

    def _matched(self, shown: SpiderQuery, wanted: SpiderQuery) -> _Row:
        flags: list[bool] = []
        for part in parts(shown, wanted).values() if self.by_part else ():
            flags += [part.predicted > 0, part.gold > 0, part.same and part.gold > 0]
        return _Row(exact(shown, wanted), tuple(flags))

    def _reading(self, text: str, database: str) -> _Read:
        query = guarded("reading clauses", self._levelled, text, database)
        if isinstance(query, Fault):
            return _Read(NOTHING, str(query.reason), query.over_budget)
        return _Read(NOTHING, query) if isinstance(query, str) else _Read(query)

    def _levelled(self, text: str, database: str) -> SpiderQuery | str:
        schema = self._schema_of(database)
        assert schema is not None
        if len(text) > MOST_CHARACTERS:
            raise OverBudgetError(f"a query of {len(text):,} characters, where {MOST_CHARACTERS:,} are allowed")
        try:
            return levelled(read_query(text, schema.tables), self._partners_of(database))
        except UnreadableError as error:
            return str(error)

    def _partners(self, database: str) -> dict[str, str]:
        schema = self._schema_of(database)
        return {} if schema is None else partners(schema)


def unread_notes(rows: Measurements) -> list[str]:
    """How many predictions count as empty queries, and how many golds leave their rows out."""
    if NOT_READ not in rows.schema:
        return []
    counts: Counter[str] = Counter()
    for batch in rows.batches([NOT_READ]):
        whose = batch[NOT_READ].drop_nulls().str.split(":").list.first()
        counts.update(dict(whose.value_counts().iter_rows()))
    notes = []
    if counts["prediction"]:
        notes.append(
            f"{counts['prediction']:,} predictions are not read by Spider's evaluator and match nothing (column "
            f"{NOT_READ})"
        )
    if counts["gold"]:
        notes.append(f"{counts['gold']:,} golds are not read by Spider's evaluator: unscored there (column {NOT_READ})")
    return notes
