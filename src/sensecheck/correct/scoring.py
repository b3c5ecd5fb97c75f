"""From records to scores: the one place where queries are asked. One store, a cache, and the comparison of answers."""

from __future__ import annotations

import time
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import ParamSpec

from sensecheck.correct.answer_keys import sparql_key, sql_key
from sensecheck.correct.database_check import check_locks, check_names, check_tables
from sensecheck.correct.measure import (
    GIVEN,
    T2S,
    VES,
    Choices,
    Cut,
    Scored,
    add_official,
    as_table,
    cut_of,
    gold_plans,
    has_answers,
    in_file,
    is_answered,
    predicted_outcome,
    score_sparql,
    score_sql,
    score_tables,
    sparql_requests,
    sql_requests,
    uses_gold_query,
)
from sensecheck.correct.reasons.explaining import Explainer
from sensecheck.correct.reasons.scores import explain_sparql, explain_sql
from sensecheck.correct.records import Record, Records
from sensecheck.correct.sql_compare import GoldPlan, without_distinct
from sensecheck.correct.timing import Timer
from sensecheck.correct.vacuity import RightPair, Vacuity
from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.runs.stopping import Stopped
from sensecheck.stages import QUERYING, stage
from sensecheck.stores import (
    Answer,
    EndpointDeadError,
    Failure,
    Outcome,
    Request,
    ResultCache,
    ServerDatabases,
    SqlStore,
    Store,
    StoreError,
    answers,
)
from sensecheck.stores.cache import request_key
from sensecheck.stores.outcomes import PASSING_REASONS


class Scorer:
    """Asks a store what the queries of records answer, and scores it. A context: the cache is open inside it.

    Without a store, records are scored that bring both answers.
    """

    def __init__(
        self, store: Store | None, choices: Choices, cache_path: Path | None = None, *, resumes: bool = False
    ) -> None:
        self.store = store
        # Where nothing runs, golds are what the file says they are.
        self.choices = replace(choices, gold="answers") if store is None and choices.gold == "auto" else choices
        self.cache_path = cache_path
        self.resumes = resumes
        """Whether the run goes on where another stopped."""
        self.missing: dict[str, str] = {}
        """Databases that records name and the store does not have → what it says."""
        self.unreadable = 0
        """Kept answers that could not be read and were asked again."""
        self._cache: ResultCache | None = None
        self._checked: set[str] = set()
        """Database files that are known not to be locked."""
        self._plans: dict[str, GoldPlan] = {}
        self._recent = RecentOutcomes()
        """What was answered last, where no file keeps it."""
        self._cuts: dict[str, Cut | None] = {}
        self._vacuity = Vacuity(choices.dialect, self.ask)
        self._timer = Timer(store, choices.ves_runs) if isinstance(store, SqlStore) else None
        self.untried = 0
        """Changes to wrong predictions that were not tried: the time for that was up."""
        self._trials_end = 0.0
        self._explainer: Explainer | None = None
        if isinstance(store, SqlStore):
            strict = choices.ties == "strict"
            self._explainer = Explainer(choices.dialect, self._try, coerce=choices.coerce, strict_ties=strict)

    def __enter__(self) -> Scorer:
        if self.cache_path is not None and self.store is not None:
            self._cache = ResultCache(self.cache_path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._cache is not None:
            self.unreadable += self._cache.unreadable
            self._cache.close()
            self._cache = None

    def scores(self, batch: Records) -> list[Scored]:
        """The score of every record."""
        records = list(batch)
        with self._resumable():
            return self._of_sql(records) if self.choices.language == "sql" else self._of_sparql(records)

    def pass_over(self, batch: Records) -> None:
        """A batch that an earlier run scored: what a signature says of its databases is looked up all the same."""
        if isinstance(self.store, ServerDatabases):
            with self._resumable():
                self._note_contents(self._files(list(batch)))

    def _of_sparql(self, records: Sequence[Record]) -> list[Scored]:
        if T2S in self.choices.conventions:
            queries = {text for record in records for text in (record.prediction, record.gold) if text is not None}
            self._cuts = {
                text: self._cuts[text] if text in self._cuts else cut_of(text, self.choices) for text in queries
            }
        outcomes = self.ask(sparql_requests(records, self.choices, self._cuts))
        scores = []
        for record in records:
            if record.fault:
                scores.append(Scored("", outcome="bad record", unscored=record.fault))
                continue
            if self.store is None and not _needs_no_store(record, self.choices):
                scores.append(Scored("set", outcome="not run", unscored=NO_STORE))
                continue
            scores.append(_guarded_score("set", record, [""], outcomes, partial(self._sparql_score, record)))
            told = predicted_outcome(record, outcomes) if self.choices.answer_keys else None
            if isinstance(told, Answer):
                scores[-1].answer_key = _key(sparql_key, told, scores[-1].kind)
        return scores

    def _sparql_score(self, record: Record, outcomes: Mapping[Request, Outcome]) -> Scored:
        predicted = predicted_outcome(record, outcomes)
        gold = None
        if uses_gold_query(record, self.choices) and record.gold is not None:
            gold = outcomes[Request(record.gold)]
        scored = score_sparql(record, predicted, gold, self.choices)
        if self.choices.reasons:
            explain_sparql(record, scored, predicted, gold)
        if T2S in self.choices.conventions:
            add_official(scored, record, outcomes, self._cuts, self.choices)
        return scored

    def _of_sql(self, records: Sequence[Record]) -> list[Scored]:
        assert self.store is None or isinstance(self.store, SqlStore)
        plans = gold_plans(records, self.choices.dialect, self._plans)
        if len(plans) > KEPT_PLANS:
            self._plans = {record.gold: plans[record.gold] for record in records if record.gold is not None}
        run = [record for record in records if not record.fault and not _needs_no_store(record, self.choices)]
        files = self._files(run)
        self._check(run, files)
        outcomes = self.ask(sql_requests(records, files, plans, self.choices))
        scores = []
        for record in records:
            if record.fault:
                scores.append(Scored("table", outcome="bad record", unscored=record.fault))
            elif _needs_no_store(record, self.choices):
                plan = plans.get(record.gold or "", GoldPlan())
                score = partial(score_tables, record, "", plan=plan, choices=self.choices)
                scores.append(_guarded_score("table", record, [""], outcomes, score))
            elif self.store is None:
                scores.append(Scored("table", outcome="not run", unscored=NO_STORE))
            elif record.gold is None and not in_file(record, self.choices):
                scores.append(Scored("table", outcome="not run", unscored="no gold query"))
            elif record.database not in files:
                why = self.missing[record.database]
                scores.append(Scored("table", outcome="not run", unscored="no such database", message=why))
            elif in_file(record, self.choices):
                plan, own_files = plans.get(record.gold or "", GoldPlan()), files[record.database]
                score = partial(score_tables, record, own_files[0], plan=plan, choices=self.choices)
                scores.append(_guarded_score("table", record, own_files[:1], outcomes, score))
            else:
                assert record.gold is not None
                plan, own_files = plans[record.gold], files[record.database]
                score = partial(score_sql, record, own_files, plan=plan, choices=self.choices)
                scores.append(_guarded_score("table", record, own_files, outcomes, score))
        self._mark_vacuous(records, scores, files, outcomes, plans)
        if self.choices.answer_keys:
            self._add_keys(records, scores, files, outcomes)
        if VES in self.choices.conventions and self._timer is not None:
            self._time(records, scores, files, self._timer)
        if self.choices.reasons:
            self._trials_end = time.monotonic() + TRIALS_SECONDS
            explain_sql(records, scores, files, outcomes, plans, self.choices, self._explainer)
        return scores

    def _add_keys(
        self,
        records: Sequence[Record],
        scores: Sequence[Scored],
        files: Mapping[str, Sequence[str]],
        outcomes: Mapping[Request, Outcome],
    ) -> None:
        """Give answers the keys by which equal ones are known; those that fail on any database have none."""
        for record, score in zip(records, scores, strict=True):
            own_files = [""] if is_answered(record) else files.get(record.database, ())
            told = [predicted_outcome(record, outcomes, file) for file in own_files]
            answered = [as_table(one) for one in told if isinstance(one, Answer)]
            if answered and len(answered) == len(told) and not record.fault:
                score.answer_key = _key(sql_key, answered, coerce=self.choices.coerce)

    def _mark_vacuous(
        self,
        records: Sequence[Record],
        scores: Sequence[Scored],
        files: Mapping[str, Sequence[str]],
        outcomes: Mapping[Request, Outcome],
        plans: Mapping[str, GoldPlan],
    ) -> None:
        """Say of right answers to gold queries that were run in which way they show little."""
        pairs: dict[int, RightPair] = {}
        for number, (record, score) in enumerate(zip(records, scores, strict=True)):
            if score.correct and not score.unscored and record.gold is not None and record.database in files:
                own_files = files[record.database]
                if not in_file(record, self.choices):
                    pairs[number] = RightPair(record.gold, tuple(own_files))
                elif uses_gold_query(record, self.choices):
                    pairs[number] = RightPair(record.gold, tuple(own_files[:1]))
        kinds = self._vacuity.kinds(pairs.values(), outcomes, plans)
        for number, pair in pairs.items():
            scores[number].vacuous_kind = kinds.get(pair, "")
            scores[number].vacuous = pair in kinds

    def _time(
        self, records: Sequence[Record], scores: Sequence[Scored], files: Mapping[str, Sequence[str]], timer: Timer
    ) -> None:
        """How fast right predictions are; of several databases, on the first. Answers in the file took no time."""
        timed = [
            (record, score)
            for record, score in zip(records, scores, strict=True)
            if not record.fault and record.database in files and not in_file(record, self.choices)
        ]
        with stage(QUERYING, len(timed), "timed pairs", pulled=True) as advance:
            for record, score in timed:
                if record.gold is not None and record.prediction is not None and score.correct:
                    file = files[record.database][0]
                    score.named[VES] = timer.efficiency(record.gold, record.prediction, file)
                elif not score.undecided:
                    score.named[VES] = 0.0
                advance(1)

    def _try(self, requests: Sequence[Request], take: Callable[[Request, Outcome], None]) -> None:
        """Ask for what may repair predictions, each in a short time and all of a batch in a bounded one."""
        assert self.store is not None
        left = len(requests)
        outcomes = answers(self.store, requests, self._cache, TRIAL_SECONDS)
        with closing(outcomes), stage(QUERYING, left, "queries", pulled=True) as advance:
            for request, outcome in outcomes:
                take(request, outcome)
                left -= 1
                advance(1)
                if time.monotonic() > self._trials_end:
                    break
        self.untried += left

    def _check(self, records: Sequence[Record], files: Mapping[str, Sequence[str]]) -> None:
        """Tell of wrong or locked databases before the first query fails on them."""
        if not isinstance(self.store, SqlStore):
            return
        new = {file for own_files in files.values() for file in own_files} - self._checked
        check_locks(self.store, sorted(new))
        if not self._checked:
            check_names(self.store, records, self.missing)
            check_tables(self.store, records, files)
        self._note_contents(files)
        self._checked |= new

    def _files(self, records: Sequence[Record]) -> dict[str, list[str]]:
        """The databases of the names in records; of names that the store does not have, what it says."""
        files: dict[str, list[str]] = {}
        for name in dict.fromkeys(record.database for record in records):
            if not isinstance(self.store, SqlStore):
                break
            try:
                files[name] = [str(file) for file in self.store.files(name)]
            except StoreError as error:
                self.missing[name] = str(error)
        return files

    def _note_contents(self, files: Mapping[str, Sequence[str]]) -> None:
        """Look at what databases of a server hold, once each; where a run goes on, it must be what it was."""
        if not isinstance(self.store, ServerDatabases):
            return
        for file in dict.fromkeys(file for own_files in files.values() for file in own_files):
            if file in self._checked:
                continue
            held = Answer(["fingerprint"], [(self.store.file_print(file),)])
            if self._cache is None:
                continue
            key = request_key(self.store.state(), Request("what the database holds", file))
            known = self._cache.get(key, self.store.limits) if self.resumes else None
            if isinstance(known, Answer) and known.rows != held.rows:
                raise StoreError(
                    f"database {file} at {self.store.place}: it has changed since the run began, so that its figures "
                    "would mix two states. Start the run anew with --overwrite"
                )
            self._cache.put(key, held, self.store.limits)

    def ask(self, requests: list[Request]) -> dict[Request, Outcome]:
        """What the store answers; what was answered before is not asked again."""
        if self.store is None:
            return {}
        outcomes: dict[Request, Outcome] = {}
        known = {} if self._cache is not None else self._recent.get(requests)
        asked = [request for request in requests if request not in known]
        with self._resumable(), stage(QUERYING, len(set(requests)), "queries", pulled=True) as advance:
            advance(len(known))
            for request, outcome in answers(self.store, asked, self._cache):
                outcomes[request] = outcome
                advance(1)
        if self._cache is None:
            self._recent.put(outcomes)
        return known | outcomes

    @contextmanager
    def _resumable(self) -> Iterator[None]:
        """A server that is gone stops the run, which can go on."""
        try:
            yield
        except EndpointDeadError as error:
            again = "Fix this and run the same command again; with --out, answers are kept."
            if self.cache_path is not None:
                again = (
                    f"The answers so far are kept in {self.cache_path}. "
                    "Fix this and run the same command with --resume."
                )
            raise Stopped(f"{error}. {again}") from None


P = ParamSpec("P")
NO_STORE = "no store to run its queries on"
TRIAL_SECONDS = 3.0
"""For a changed prediction: a busy machine must not change what is found;"""
TRIALS_SECONDS = 120.0
"""and for all of them in a batch."""
KEPT_PLANS = 50_000
"""Gold queries whose plans are kept from batch to batch."""
KEPT_CELLS = 500_000
"""Cells of answers that are kept from batch to batch."""


class RecentOutcomes:
    """What was answered last, as far as it fits: samples of one question come with the same gold again and again."""

    def __init__(self, cells: int = KEPT_CELLS) -> None:
        self._room = cells
        self._kept: OrderedDict[Request, Outcome] = OrderedDict()

    def get(self, requests: Iterable[Request]) -> dict[Request, Outcome]:
        known = {}
        for request in requests:
            if request in self._kept:
                self._kept.move_to_end(request)
                known[request] = self._kept[request]
        return known

    def put(self, outcomes: Mapping[Request, Outcome]) -> None:
        for request, outcome in outcomes.items():
            if not (isinstance(outcome, Failure) and outcome.reason in PASSING_REASONS):
                self._kept[request] = outcome
                self._room -= _cells(outcome)
        while self._room < 0:
            self._room += _cells(self._kept.popitem(last=False)[1])


def _key(make: Callable[P, str], *arguments: P.args, **named: P.kwargs) -> str:
    """The key of an answer; none where it takes too much to make."""
    key = guarded("making the key of an answer", make, *arguments, **named)
    return key if isinstance(key, str) else ""


def _cells(outcome: Outcome) -> int:
    """How much room an outcome takes: its cells, and something for the text of its query."""
    return 8 if isinstance(outcome, Failure) else 8 + len(outcome.rows) * max(1, len(outcome.columns))


def _needs_no_store(record: Record, choices: Choices) -> bool:
    """Whether nothing need be run: both answers stand in the file, or there is no prediction."""
    answered = is_answered(record) or record.prediction is None
    return answered and has_answers(record) and not uses_gold_query(record, choices)


def _guarded_score(
    kind: str,
    record: Record,
    databases: Sequence[str],
    outcomes: dict[Request, Outcome],
    score: Callable[[Mapping[Request, Outcome]], Scored],
) -> Scored:
    """The score of one record. An answer that takes too much to compare is wrong, as a query that fails is."""
    scored = guarded("comparing answers", score, outcomes)
    if not isinstance(scored, Fault):
        return scored
    stage = "comparing answers"
    if scored.over_budget and (record.prediction is not None or is_answered(record)):
        failure = Failure(scored.reason, scored.message)
        told = record.prediction or ""
        texts = (told, without_distinct(told))
        failed: dict[Request, Outcome] = {Request(text, name): failure for text in texts for name in databases}
        failed[GIVEN] = failure
        again = guarded("gold answer", score, ChainMap(failed, outcomes))
        if not isinstance(again, Fault):
            return again
        stage, scored = "gold answer", again
    return Scored(kind, unscored=f"{stage}: {scored.reason}", message=scored.message)
