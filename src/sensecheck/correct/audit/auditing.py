"""The audit of all golds of a run: what is to be known of them is asked in two rounds, some golds at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sensecheck.correct.audit.checks import Case, Doubt, Finding, findings_of, first_queries, second_queries
from sensecheck.correct.audit.faithful_run import check_same_query
from sensecheck.correct.audit.golds import Gold
from sensecheck.correct.audit.outline import outline_of
from sensecheck.correct.audit.schema import TABLES_QUERY, Schema, schema_of
from sensecheck.correct.audit.weights import score_of
from sensecheck.correct.measure import shown_answer
from sensecheck.correct.sql_compare import plan_gold
from sensecheck.stores import Outcome, Request, SqlStore, StoreError

AT_ONCE = 500
"""Golds whose answers are held together."""


@dataclass(frozen=True, slots=True)
class Audited:
    """A gold with what was found."""

    gold: Gold
    findings: list[Finding]
    answer: str

    @property
    def score(self) -> float:
        by_kind: dict[str, float] = {}
        for finding in self.findings:
            by_kind[finding.kind] = max(finding.weight, by_kind.get(finding.kind, 0.0))
        return score_of(by_kind.values())


class Auditor:
    """Looks at golds. `ask` runs queries in the bounded workers."""

    def __init__(
        self,
        store: SqlStore,
        ask: Callable[[list[Request]], Mapping[Request, Outcome]],
        doubts: Mapping[str, Doubt] | None = None,
    ) -> None:
        self.store = store
        self.ask = ask
        self.doubts = doubts or {}
        self._schemas: dict[str, Schema] = {}

    def audited(self, golds: Iterable[Gold]) -> Iterator[Audited]:
        """Every gold that has findings; those of databases that are not there have none."""
        waiting = iter(golds)
        while some := list(islice(waiting, AT_ONCE)):
            cases = [case for gold in some if (case := self._case(gold)) is not None]
            self._read_schemas(cases)
            for case in cases:
                case.schema = self._schemas[case.file]
                case.outline = outline_of(case.gold.key.text, case.schema, case.dialect)
            found: dict[Request, Outcome] = {}
            for queries in (first_queries, second_queries):
                requests = {Request(text, case.file): None for case in cases for text in queries(case)}
                found |= self.ask([request for request in requests if request not in found])
                for case in cases:
                    case.outcomes = found
            for case in cases:
                if findings := findings_of(case):
                    yield Audited(case.gold, findings, "" if case.answer is None else shown_answer(case.answer))

    def _case(self, gold: Gold) -> Case | None:
        try:
            file = str(self.store.files(gold.key.database)[0])
        except StoreError:
            return None
        doubted = {name: self.doubts[name] for name in gold.ids if name in self.doubts}
        for name, doubt in doubted.items():
            check_same_query(name, doubt, gold.key.text)
        dialect = self.store.dialect
        return Case(gold, file, dialect, plan_gold(gold.key.text, dialect), Schema(), doubts=list(doubted.values()))

    def _read_schemas(self, cases: Sequence[Case]) -> None:
        query = TABLES_QUERY.get(self.store.dialect, TABLES_QUERY["duckdb"])
        new = list(dict.fromkeys(case.file for case in cases if case.file not in self._schemas))
        outcomes = self.ask([Request(query, file) for file in new]) if new else {}
        for file in new:
            self._schemas[file] = schema_of(outcomes.get(Request(query, file)), self.store.dialect)
