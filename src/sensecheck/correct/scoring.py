"""Where the queries of a run are asked: one store, a cache, and the scores that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl

from sensecheck.correct.measure import (
    T2S,
    Choices,
    Cut,
    NormalForms,
    Scored,
    add_official,
    cut_of,
    gold_plans,
    measure,
    score_sparql,
    score_sql,
    sparql_requests,
    sql_requests,
    texts,
    uses_gold_query,
)
from sensecheck.correct.records import Reader, Record, Records
from sensecheck.correct.sql_compare import GoldPlan
from sensecheck.inputs.errors import InputError, shown
from sensecheck.runs.collecting import Batch
from sensecheck.runs.stopping import Stopped
from sensecheck.stores import (
    Databases,
    EndpointDeadError,
    Outcome,
    Request,
    ResultCache,
    Store,
    StoreError,
    answers,
)

CACHE_NAME = "answers.db"


class Asker:
    """Turns batches of records into batches of measurements."""

    def __init__(
        self,
        reader: Reader,
        choices: Choices,
        store: Store | None,
        cache_path: Path | None,
        *,
        cluster: str | None = None,
        weight: str | None = None,
    ) -> None:
        self.reader = reader
        self.cluster = cluster
        self.weight = weight
        self.choices = choices
        self.store = store
        self.cache_path = cache_path
        self._cache: ResultCache | None = None
        self._forms = NormalForms(choices) if choices.normalise else None
        self._plans: dict[str, GoldPlan] = {}
        self._cuts: dict[str, Cut | None] = {}
        self.missing: dict[str, str] = {}  # databases that records name and the store does not have

    def batches(self, done: int, progress: Callable[[int], None] | None = None) -> Iterator[Batch]:
        if self.cache_path is not None and self.store is not None:
            self._cache = ResultCache(self.cache_path)
        try:
            for records in self.reader.batches(done):
                scores = self._scores(records) if self.store is not None else None
                frame = measure(records, scores, self.choices, self._forms)
                yield Batch(self._marked(frame), texts(records, scores))
        finally:
            if self._cache is not None:
                self._cache.close()
                self._cache = None

    def _marked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """With the columns that the caller named as cluster and weight."""
        if self.cluster is not None:
            frame = frame.with_columns(cluster=pl.col(self.cluster))
        if self.weight is not None:
            weights = frame[self.weight].cast(pl.Float64, strict=False)
            wrong = weights.is_null() | ~weights.is_finite().fill_null(False) | (weights < 0).fill_null(False)
            if wrong.any():
                row = int(wrong.arg_max() or 0)
                raise InputError(
                    field=self.weight, record=row + 1, expected="a number of at least 0",
                    got=shown(frame[self.weight][row]), reason="bad weight",
                )  # fmt: skip
            frame = frame.with_columns(weights.alias("weight"))
        return frame

    def _scores(self, batch: Records) -> list[Scored]:
        records = list(batch)
        if self.choices.language == "sql":
            return self._sql(records)
        official = T2S in self.choices.conventions
        if official:
            asked = {text for record in records for text in (record.prediction, record.gold) if text is not None}
            self._cuts = {
                text: self._cuts[text] if text in self._cuts else cut_of(text, self.choices) for text in asked
            }
        found = self._ask(sparql_requests(records, self.choices, self._cuts))
        scores = []
        for record in records:
            if record.fault:
                scores.append(Scored("", outcome="bad record", unscored=record.fault))
                continue
            predicted = None if record.prediction is None else found[Request(record.prediction)]
            gold = None
            if uses_gold_query(record, self.choices) and record.gold is not None:
                gold = found[Request(record.gold)]
            scored = score_sparql(record, predicted, gold, self.choices)
            if official:
                add_official(scored, record, found, self._cuts, self.choices)
            scores.append(scored)
        return scores

    def _sql(self, records: Sequence[Record]) -> list[Scored]:
        assert isinstance(self.store, Databases)
        plans = gold_plans(records, self.store.dialect, self._plans)
        files: dict[str, list[str]] = {}
        missing: dict[str, str] = {}
        for name in dict.fromkeys(record.database for record in records if not record.fault):
            try:
                files[name] = [str(file) for file in self.store.files(name)]
            except StoreError as error:
                missing[name] = str(error)
                self.missing.setdefault(name, str(error))
        found = self._ask(sql_requests(records, files, plans, self.choices))
        scores = []
        for record in records:
            if record.fault:
                scores.append(Scored("table", outcome="bad record", unscored=record.fault))
            elif record.gold is None:
                scores.append(Scored("table", outcome="not run", unscored="no gold query"))
            elif record.database in missing:
                why = missing[record.database]
                scores.append(Scored("table", outcome="not run", unscored="no such database", message=why))
            else:
                plan = plans[record.gold]
                scores.append(score_sql(record, files[record.database], found, plan, self.choices))
        return scores

    def _ask(self, requests: list[Request]) -> dict[Request, Outcome]:
        assert self.store is not None
        try:
            return dict(answers(self.store, requests, self._cache))
        except EndpointDeadError as error:
            again = "Put it right and run the same command again; with --out, what was answered is kept."
            if self.cache_path is not None:
                again = (
                    f"The answers so far are kept in {self.cache_path}. "
                    "Put it right and run the same command with --resume."
                )
            raise Stopped(f"{error}. {again}") from None
