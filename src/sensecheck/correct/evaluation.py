"""`sensecheck.correct.evaluate`: from predicted queries to a result."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

import numpy as np
import polars as pl

from sensecheck.correct import vacuity
from sensecheck.correct.audit.asking import Auditing
from sensecheck.correct.fields import DECIDED, PREDICTED
from sensecheck.correct.figures import NOT_NORMALISED
from sensecheck.correct.judging.cases import ASKS, Cases
from sensecheck.correct.measure import (
    CONVENTIONS,
    OF_QUERIES,
    SPIDER2,
    T2S,
    VES,
    Choices,
    NormalForms,
    measure,
    texts,
)
from sensecheck.correct.preparing import best_scores, take_statements, tell_golds_apart, with_other_golds
from sensecheck.correct.proving.agreements import FOLDER, Agreements, clear
from sensecheck.correct.proving.telling import BUDGET
from sensecheck.correct.question import QUESTION
from sensecheck.correct.reasons.counts import EXTRA as REASONS
from sensecheck.correct.reasons.counts import counted
from sensecheck.correct.records import UNASKED_RECORDS, Language, Reader, Records, is_spice, read_distances
from sensecheck.correct.scoring import Scorer
from sensecheck.correct.spider_parts import SPIDER_EXACT, SpiderParts, unread_notes
from sensecheck.correct.ties import TIES, Ties
from sensecheck.correct.timing import RUNS
from sensecheck.inputs import fingerprints
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.needs import Needs
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import RECORD, TableBatch
from sensecheck.judges.judge import Judge, judge_of
from sensecheck.judges.options import NEVER_AS_ORIGINAL, JudgedRows
from sensecheck.language.sparql.label_service import LABEL_SERVICE
from sensecheck.options import Option
from sensecheck.report.asking import FILES, Asked, as_original, asked, evaluator
from sensecheck.report.instrument import Instrument
from sensecheck.report.question import slicings
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.shards import NONE_OWN
from sensecheck.runs.signature import Method
from sensecheck.runs.stopping import Stopped
from sensecheck.statistics.measurements import Measurements, concatenated
from sensecheck.stores import (
    STANDARD_PREFIXES,
    THE_SERVERS,
    ConnectedDatabases,
    Databases,
    Endpoint,
    EndpointDeadError,
    Graph,
    Limits,
    ServerDatabases,
    SqlStore,
    Store,
    StoreError,
    is_server,
    limit_notes,
)
from sensecheck.stores.schemas import Schema

CACHE_NAME = "answers.db"
SPICE_SLICES = ("question_type", "subtype", "context", "ellipsis", "multi_entity")
"""What records of the SPICE evaluation are sliced by where nobody says how."""
ENDPOINT_WORKERS = 4
"""Queries that an endpoint, which others may use too, is sent at a time."""

_where = partial(Option, group="where queries run")
_comparing = partial(Option, group="comparing")
_auditing = partial(Option, group="audit of golds")


@evaluator(
    never_as_original=("ties", "audit", "audit_out", "systems", "faithful", *NEVER_AS_ORIGINAL),
    needs=Needs("correct", nested=True, predicted=PREDICTED, decided=DECIDED),
    once_called={"gold": ("gold_from", ("auto", "query", "answers"))},
)
def evaluate(
    data: Annotated[Any, FILES],
    *,
    graph: Annotated[
        str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
        _where(
            "RDF files to load (.nt, .ttl, …; repeatable), or the folder of an Oxigraph store", metavar="FILE",
            repeat=True,
        ),
    ] = None,
    endpoint: Annotated[str | None, _where("a SPARQL 1.1 endpoint", metavar="URL")] = None,
    database: Annotated[
        str | os.PathLike[str] | None,
        _where(
            "an SQLite or DuckDB file, or a folder of them by database name (several per name: a test suite); or a "
            "server: postgresql://USER@HOST/DATABASE or mysql://USER@HOST/{db_id}, where {db_id} makes a database of "
            "its own for each name",
            metavar="PATH",
        ),
    ] = None,
    connect: Annotated[
        str | None,
        _where(
            "any other SQL engine: a function that gives a DB-API connection (of the database whose name it is given, "
            "where it takes one); limits are then the server's",
            metavar="MODULE:FUNCTION",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        _where("with --connect: the dialect of SQL, as sqlglot calls it (default: by the driver)", metavar="NAME"),
    ] = None,
    store: Store | None = None,
    cache: Annotated[
        str | os.PathLike[str] | None, _where("keep answers here (default: in --out)", metavar="FILE", written=True)
    ] = None,
    prefixes: Annotated[
        Mapping[str, str] | None,
        _where(
            "a prefix that queries may use without declaring it (repeatable; the usual ones are known)",
            flag="--prefix", metavar="NAME=IRI",
        ),
    ] = None,
    allow_services: Annotated[
        Sequence[str],
        _where(
            "on an endpoint, let queries use this SERVICE, which the server then asks: wikibase:label for Wikidata's "
            "labels, or an address in full, and exactly that one (repeatable; all others are refused). On a graph, "
            "wikibase:label is answered from rdfs:label without being asked for",
            flag="--allow-service", metavar="NAME",
        ),
    ] = (),
    workers: Annotated[
        int | None,
        _where("queries that run at once (default: one per core; 4 against an endpoint)", metavar="N", at_least=1),
    ] = None,
    limits: Annotated[Limits | None, Option("bounds on each query", group="limits on each query")] = None,
    language: Language | None = None,
    conventions: Annotated[
        Sequence[str],
        _comparing("also judge as this evaluator does (repeatable)", flag="--convention", choices=CONVENTIONS),
    ] = (),
    parts: Annotated[
        bool,
        _comparing(
            "SQL: precision and recall of each clause, as Spider's partial matching has them (20 figures; needs "
            "--database)"
        ),
    ] = False,
    ves_runs: Annotated[
        int, _comparing("with --convention ves: how often each query is timed", metavar="N", at_least=1)
    ] = RUNS,
    gold_from: Annotated[
        Literal["auto", "query", "answers"],
        _comparing(
            "the gold answer: run the gold query, or take the answers in the file (default: answers where given)"
        ),
    ] = "auto",
    normalise: Annotated[bool, _comparing("leave normalised exact match out")] = True,
    ignore_distinct: Annotated[bool, _comparing("an outermost DISTINCT makes no difference to exact match")] = False,
    coerce: Annotated[bool, _comparing("SQL: text that is a number equals that number")] = False,
    ties: Annotated[
        Ties,
        _comparing(
            "SQL: another choice among rows that tie where the gold's LIMIT cuts is right; undecided: unless every row "
            "ties, which leaves the pair unscored; strict: it is wrong"
        ),
    ] = TIES,
    extract: Annotated[
        bool,
        _comparing(
            "take predictions as they stand: none that is no statement is searched for one (in fences, prose or JSON)"
        ),
    ] = True,
    ignore_labels: Annotated[
        bool,
        _comparing(
            "SPARQL: label columns that a prediction has beyond the gold's make no difference (?xLabel beside ?x; or "
            "columns of text, where the answers are equal without them)"
        ),
    ] = False,
    audit: Annotated[
        bool,
        _auditing(
            "SQL: look for golds that may be wrong, and rank them: those that fail, find nothing or tie, sort numbers "
            "as text, ask for values that are not there, or that systems contradict in the same way"
        ),
    ] = False,
    audit_out: Annotated[
        str | os.PathLike[str] | None,
        _auditing(
            "write all of them to this sheet, with a column for labels (.csv or .jsonl)", metavar="FILE", written=True
        ),
    ] = None,
    systems: Annotated[
        str | None,
        _auditing(
            "the column that tells the systems apart that were asked the same (default: system, model, run or sample)",
            metavar="COLUMN",
        ),
    ] = None,
    faithful: Annotated[
        Any,
        _auditing("a saved run of faithful over the same ids: golds that it doubts", metavar="RUN"),
    ] = None,
    reasons: Annotated[
        bool,
        _comparing(
            "do not say why wrong answers are wrong (column why): no changed SQL predictions are tried on the databases"
        ),
    ] = True,
    prove: Annotated[
        Literal["all", "vacuous"] | None,
        _comparing(
            "search a small database (SPARQL: a small graph) on which prediction and gold differ, for all agreements "
            "or for those on nothing (no row, 0, NULL); finds are written to counterexamples/ in --out"
        ),
    ] = None,
    prove_databases: Annotated[
        int, _comparing("databases tried for each agreement under --prove", metavar="N", at_least=1)
    ] = BUDGET,
    prove_on_server: Annotated[
        bool,
        _comparing(
            "with --prove on a server: replay there what SQLite or DuckDB found, in temporary tables of a session of "
            "its own, and count only what holds there too"
        ),
    ] = False,
    make_suite: Annotated[
        str | os.PathLike[str] | None,
        _comparing(
            "with --prove, write a test suite here: the given databases and as few new ones as tell all pairs apart "
            "that were proven different (for --database)",
            metavar="DIR", written=True,
        ),
    ] = None,
    distances: Annotated[
        str | os.PathLike[str] | Mapping[str, str] | None,
        _comparing("context distances: turnID, TAB, distance (for the slices context, distance)", metavar="FILE"),
    ] = None,
    parity: Annotated[Literal["spice"] | None, as_original("spice")] = None,
    **shared: Unpack[JudgedRows],
) -> Result:  # fmt: skip
    """Figures of predicted queries against gold queries or gold answers.

    `data` is files (paths, patterns), a table in memory or a list of dictionaries. Queries run on `graph` (RDF files
    or an Oxigraph folder), on `endpoint` (a SPARQL address) or on `database` (SQLite or DuckDB files, or the address of
    a PostgreSQL or MySQL server; other engines through `connect`); with none of them, exact match alone is measured.
    `store` is one that is open already; it stays open. Records of the SPICE evaluation are sliced as that does where
    `slices` is not given. A prediction that is an answer already (`predicted_answers`) needs no store where the gold is
    one too.
    """
    asked_for = asked(shared)
    if parity is not None:
        from sensecheck.correct.parity import Spice

        if parity != "spice":
            raise InputError(field="parity", expected="spice", got=shown(parity), reason=Reason.BAD_OPTION)
        return Spice(data, asked_for, endpoint or graph, distances, workers).run()
    conventions = [conventions] if isinstance(conventions, str) else conventions
    _check_conventions(conventions)
    known_prefixes = {**STANDARD_PREFIXES, **(prefixes or {})}
    judge = judge_of(shared, ASKS, None, asked_for.out)
    with ExitStack() as closing:
        if store is None:
            services = _services(allow_services, known_prefixes, endpoint)
            places = {"graph": graph, "endpoint": endpoint, "database": database, "connect": connect}
            store = _open(places, limits or Limits(), known_prefixes, workers, services, dialect)
            if store is not None:
                closing.callback(store.close)
        records_at_once = UNASKED_RECORDS if store is None else None
        reader = Reader(
            data, asked_for, distances=_distances(distances), needs_gold=judge is None,
            batch_records=records_at_once if judge is None else judge.rows_at_once,
        )  # fmt: skip
        first_rows = reader.first_rows()
        reader.check_fields(first_rows)
        reader.find_samples(first_rows)
        auditing = Auditing.asked_for(audit, audit_out, systems, faithful, store)
        if auditing is not None:
            reader.find_systems(first_rows, systems)
            auditing.golds.systems = reader.systems
        if shared.get("slices") is None and is_spice(first_rows):
            asked_for = replace(asked_for, slices=tuple(slicings(SPICE_SLICES)))
        choices = Choices(
            language=language or _language(store) or reader.language_of(first_rows),
            normalise=normalise,
            gold=gold_from,
            conventions=tuple(dict.fromkeys(conventions)),
            ignore_distinct=ignore_distinct,
            coerce=coerce,
            extract=extract,
            ignore_labels=ignore_labels,
            ties=ties,
            answer_keys=auditing is not None or reader.has_samples,
            prefixes=known_prefixes,
            dialect=getattr(store, "dialect", "sqlite"),
            ves_runs=ves_runs,
            parts=parts,
            subtypes=reader.says(first_rows, "question_type", "subtype"),
            distances=distances is not None or reader.says(first_rows, "distance"),
            reasons=reasons,
        )
        answered = reader.brings_answers(first_rows)
        _check_fitting(choices, store, answered=answered)
        proving = _proving(
            prove, prove_databases, make_suite, store, asked_for, workers, ignore_labels, on_server=prove_on_server
        )
        settings = {
            "limits": _limits(store, limits),
            "prefixes": _prefixes(prefixes),
            "allow-service": sorted(getattr(store, "services", ())),
            "distances": None if distances is None else fingerprints.of_value(_distances(distances)),
            "prove": None if proving is None else f"{prove} {prove_databases}{proving.place()}",
        }
        scorer = _scorer(store, choices, cache, asked_for) if store is not None or answered else None
        return Correct(reader, asked_for, choices, scorer, settings, auditing, proving, judge).run()


class Correct(Instrument):
    """Predicted queries, each held against a gold query, a gold answer or both."""

    question = QUESTION

    def __init__(
        self,
        reader: Reader,
        asked: Asked,
        choices: Choices,
        scorer: Scorer | None,
        settings: Method,
        auditing: Auditing | None = None,
        proving: Agreements | None = None,
        judge: Judge | None = None,
    ) -> None:
        super().__init__(reader.data, asked)
        self.auditing, self.proving, self.judge = auditing, proving, judge
        # All golds must be seen; answers are kept, so that nothing is asked again.
        self.anew = auditing is not None
        self.reader = reader
        self.choices = choices
        self.scorer = scorer
        self.asks = judge is not None or (scorer is not None and scorer.store is not None)
        self.settings = settings
        self.forms = NormalForms(choices) if choices.normalise else None
        self.parts = _parts(choices, None if scorer is None else scorer.store)
        self.several_golds = 0
        """Records with several gold queries, any of which is right."""
        self.unpredicted = 0
        """Records without a prediction, which count as wrong."""
        if scorer is None:
            self.notes.append("no store was given: only exact match, no query was run")
        elif scorer.store is None:
            self.notes.append("no store was given: the answers in the file are compared, no query was run")

    def method(self) -> Method:
        choices = self.choices
        return {
            "language": choices.language,
            "execute": None if self.scorer is None else _engine(self.scorer.store),
            "store": None if self.scorer is None or self.scorer.store is None else _content(self.scorer.store),
            "normalise": choices.normalise,
            "gold": choices.gold,
            "conventions": list(choices.conventions),
            "ves-runs": choices.ves_runs if VES in choices.conventions else None,
            "parts": choices.parts,
            "subtypes": choices.subtypes,
            "ignore-distinct": choices.ignore_distinct,
            "coerce": choices.coerce,
            "extract": choices.extract,
            "ignore-labels": choices.ignore_labels,
            "ties": choices.ties,
            "vacuous": vacuity.METHOD,
            **self.settings,
            "cluster": self.asked.cluster or "conversation",
            "weight": self.asked.weight,
            **({} if self.judge is None else self.judge.method()),
        }

    def defaults(self) -> Method:
        """Language and execution are always said; whether records have sub-types is theirs to say."""
        return {
            "store": None, "ves-runs": None, "parts": False, "subtypes": self.choices.subtypes,
            "normalise": True, "gold": "auto", "conventions": [], "ignore-distinct": False, "coerce": False,
            "extract": True,
            "ignore-labels": False, "ties": TIES, "vacuous": vacuity.METHOD, "allow-service": [],
            "limits": Limits().key(), "prefixes": "standard", "distances": None, "prove": None,
            "cluster": "conversation", "weight": None, **Judge.defaults(),
        }  # fmt: skip

    def learnt(self) -> Method:
        """Several golds for a question; whether labels were asked of a service that a graph does not have; what the
        databases of a server hold that were asked."""
        looked_up = self.reader.label_services and self.scorer is not None and isinstance(self.scorer.store, Graph)
        store = None if self.scorer is None else self.scorer.store
        prints = store.prints() if isinstance(store, ServerDatabases) else {}
        return {
            **({"databases": fingerprints.of_value(prints)} if prints else {}),
            **({"several-golds": "any"} if self.several_golds else {}),
            **({"wikibase:label": "rdfs:label"} if looked_up else {}),
            **({} if self.judge is None else self.judge.learnt()),
        }

    def plan(self) -> Mapping[str, Any]:
        store = None if self.scorer is None else self.scorer.store
        state = store.state() if isinstance(store, SqlStore) else getattr(store, "fingerprint", "none")
        # What changes no figure is no part of the signature; but the rows of one run have the same columns.
        plain = {} if self.choices.reasons else {"reasons": False}
        return {"store": state, "audit": self.auditing is not None, **plain}

    def inputs(self) -> list[dict[str, Any]]:
        return self.reader.files

    def cost(self) -> Mapping[str, Any]:
        return {} if self.judge is None else self.judge.cost

    def batches(self, done: int) -> Iterator[Batch]:
        cases = None if self.judge is None else Cases(self.judge, self.scorer)
        with self.scorer or nullcontext(), self.proving or nullcontext(), self.judge or nullcontext():
            if self.asked.out is not None and not done:
                clear(self.asked.out / FOLDER)  # of an earlier run in this place, even where nothing is proven now
            for number, records in enumerate(self.reader.batches()):
                own = None if number < done else self.own(records.id)
                if own is not None:
                    records = records.taking(own)
                tell_golds_apart(records, self.choices)
                self.several_golds += len(records.golds)
                self.unpredicted += sum(map(_predicts_nothing, records.prediction, records.given, records.fault))
                if number < done:
                    if self.scorer is not None:
                        self.scorer.pass_over(records)
                    continue
                if own == []:
                    yield NONE_OWN
                    continue
                if self.choices.extract:
                    take_statements(records, self.choices)
                scores = None
                if self.scorer is not None:
                    scores = best_scores(records, self.scorer.scores(with_other_golds(records)))
                if self.auditing is not None and scores is not None:
                    self.auditing.golds.add(records, scores)
                if cases is not None:
                    cases.run_without_gold(records, scores)
                rows, shown_texts = (
                    measure(records, scores, self.choices, self.forms, self.parts),
                    texts(records, scores),
                )
                if self.proving is not None and scores is not None:
                    rows, shown_texts = self.proving.added(records, scores, rows, shown_texts)
                batch = Batch(self._grouped(rows, records), shown_texts, own)
                yield batch if cases is None else cases.judged(batch, records, scores)
            if self.auditing is not None and self.asked.shard is None and self.scorer is not None:
                self.auditing.look(self.scorer)

    def _grouped(self, rows: pl.DataFrame, records: Records) -> pl.DataFrame:
        """With the clusters and weights that the caller named."""
        if self.asked.cluster is not None:
            rows = rows.with_columns(cluster=pl.col(self.asked.cluster))
        if self.asked.weight is not None:
            rows = rows.with_columns(_weights(rows[self.asked.weight], records))
        return rows

    def finish(self, result: Result) -> None:
        result.notes += _extracted(result.rows)
        if self.several_golds:
            has = "question has" if self.several_golds == 1 else "questions have"
            result.notes.append(f"{self.several_golds:,} {has} several gold queries: any of them is right")
        if self.scorer is not None and self.scorer.store is not None:
            result.notes += limit_notes(self.scorer.store)
        result.notes += _given(self.reader, self.learnt())
        if VES in self.choices.conventions:
            result.notes.append(
                f"valid efficiency score: timed on this machine, medians of {self.choices.ves_runs:,} runs; it differs "
                "from run to run"
            )
        if self.proving is not None:
            result.notes += self.proving.notes(result.rows)
        if self.scorer is not None and self.scorer.missing:
            first, *others = self.scorer.missing.values()
            result.notes.append(first + (f"; {len(others):,} others are missing too" if others else ""))
        if self.scorer is not None and self.scorer.unreadable:
            unread = f"{self.scorer.unreadable:,} kept answers in {self.scorer.cache_path}"
            result.notes.append(f"{unread} could not be read and were asked again")
        for why, count in sorted(self.reader.bad.items()):
            result.notes.append(f"{count:,} bad {'record' if count == 1 else 'records'}: {why}")
        if self.unpredicted and self.scorer is None:
            result.notes.append(f"{self.unpredicted:,} without a prediction: counted as wrong")
        for notes_of in (_unanswered, _vacuous, _not_normalised, unread_notes):
            result.notes += notes_of(result.rows)
        if self.judge is not None:
            self.judge.finish(result, "correct", self.of_parts)
        if self.auditing is not None:
            self.auditing.finish(result)
        if reasons := counted(result.rows):
            result.extra[REASONS] = reasons
        if self.scorer is not None and self.scorer.untried:
            result.notes.append(
                f"{self.scorer.untried:,} changes to wrong predictions were not tried, as time was up: their reasons "
                "are told from what differs"
            )
        if f"{T2S}_low" in result.rows.schema:
            result.extra[T2S], notes = _ties(result.rows)
            result.notes += notes


# ---- the parts of a run


def _predicts_nothing(prediction: str | None, given: object, fault: str) -> bool:
    return not prediction and given is None and not fault


def _open(
    places: Mapping[str, Any],
    limits: Limits,
    prefixes: Mapping[str, str],
    workers: int | None,
    services: Sequence[str],
    dialect: str | None,
) -> Store | None:
    for name, place in places.items():
        if place == "":
            raise InputError(field=name, expected="a file, folder or address", got="''", reason=Reason.BAD_OPTION)
    given = [name for name, place in places.items() if place]
    if len(given) > 1:
        raise InputError(
            f"{' and '.join(given)} are given; queries run in one place only", hint="Leave one of them out."
        )
    if dialect is not None and not places["connect"]:
        raise InputError("--dialect (dialect=) is for --connect: other stores say it", reason=Reason.BAD_OPTION)
    if graph := places["graph"]:
        return Graph(graph, limits=limits, prefixes=prefixes, workers=workers)
    if endpoint := places["endpoint"]:
        at_once = workers or ENDPOINT_WORKERS
        return Endpoint(endpoint, limits=limits, prefixes=prefixes, concurrency=at_once, services=services)
    if connect := places["connect"]:
        return _reached(lambda: ConnectedDatabases(connect, dialect=dialect, limits=limits, workers=workers))
    database = places["database"]
    if is_server(database):
        return _reached(lambda: ServerDatabases(str(database), limits=limits, workers=workers))
    if database:
        return Databases(database, limits=limits, workers=workers)
    return None


def _reached(opened: Callable[[], ServerDatabases]) -> ServerDatabases:
    """The store, once its server has answered: what is wrong with the address is told before anything is read."""
    try:
        store = opened()
        _ = store.facts
    except EndpointDeadError as error:
        raise Stopped(f"{error}. Run the same command again once it answers.") from None
    return store


def _services(names: Sequence[str], prefixes: Mapping[str, str], endpoint: str | None) -> list[str]:
    """The addresses of services that queries may use: as they are given, or as a known prefix spells them."""
    if isinstance(names, str):
        names = [names]
    addresses = []
    for name in names:
        prefix, colon, local = name.partition(":")
        if local.startswith("//") or (colon and prefix not in prefixes):
            address = name.removeprefix("<").removesuffix(">")
        elif colon and local:
            address = prefixes[prefix] + local
        else:
            raise InputError(
                field="allow_services", expected="wikibase:label, or the address of a service", got=shown(name),
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        if endpoint is None and address != LABEL_SERVICE:
            raise InputError(
                field="allow_services", expected="an endpoint, which asks other services", got="none",
                hint="Name it with --endpoint (endpoint=), or leave --allow-service out.", reason=Reason.BAD_OPTION,
            )  # fmt: skip
        addresses.append(address)
    return addresses


def _given(reader: Reader, learnt: Method) -> list[str]:
    """What must be known of answers that no query of this run gave."""
    notes = []
    if "wikibase:label" in learnt:
        queries = f"{reader.label_services:,} {'record' if reader.label_services == 1 else 'records'}"
        notes.append(f"{queries} with SERVICE wikibase:label: labels were looked up in the graph (rdfs:label)")
    if reader.answered:
        predictions = "prediction is an answer" if reader.answered == 1 else "predictions are answers"
        notes.append(f"{reader.answered:,} {predictions} in the file: no query was run for them")
    if reader.untold:
        records = "record brings an answer" if reader.untold == 1 else "records bring answers"
        notes.append(
            f"{reader.untold:,} {records} without types and languages (CSV has none): values are then compared by "
            "their text and as numbers"
        )
    return notes


def _parts(choices: Choices, store: Store | None) -> SpiderParts | None:
    if not isinstance(store, SqlStore) or not (choices.parts or SPIDER_EXACT in choices.conventions):
        return None
    databases = store

    def schema_of(name: str) -> Schema | None:
        """A database that is not there has been told of."""
        try:
            return databases.schema(str(databases.files(name)[0]))
        except StoreError:
            return None

    return SpiderParts(schema_of, by_part=choices.parts)


def _language(store: Store | None) -> Language | None:
    if store is None:
        return None
    return "sql" if store.language == "sql" else "sparql"


def _engine(store: Store | None) -> str:
    """What runs the queries."""
    if store is None:
        return "nothing"
    if isinstance(store, ServerDatabases):
        return store.engine
    kind = type(store).__name__.lower()
    return str(getattr(store, "dialect", {"graph": "oxigraph"}.get(kind, kind)))


def _content(store: Store) -> str:
    """What a signature says of the data that queries ran on."""
    content = getattr(store, "content", None)
    return str(content()) if callable(content) else fingerprints.of_value(store.fingerprint)


def _limits(store: Store | None, given: Limits | None) -> str:
    key = (Limits() if store is None else given or store.limits).key()
    return f"{key}, else {THE_SERVERS}" if isinstance(store, ConnectedDatabases) else key


def _prefixes(given: Mapping[str, str] | None) -> str:
    return f"standard+{'+'.join(sorted(given))} {fingerprints.of_value(dict(given))}" if given else "standard"


def _scorer(store: Store | None, choices: Choices, cache: str | os.PathLike[str] | None, asked_for: Asked) -> Scorer:
    if cache is None and asked_for.out is not None:
        cache = asked_for.out / CACHE_NAME
    return Scorer(store, choices, None if cache is None else Path(cache), resumes=asked_for.resume)


def _proving(
    scope: Literal["all", "vacuous"] | None,
    databases: int,
    suite: str | os.PathLike[str] | None,
    store: Store | None,
    asked_for: Asked,
    workers: int | None,
    ignore_labels: bool,
    *,
    on_server: bool,
) -> Agreements | None:
    """The search for databases that prove agreements different, where it was asked for and can be made."""
    if scope is not None and asked_for.shard is not None:
        raise InputError(
            "--prove (prove=) makes one suite of what it finds in all records: leave --shard (shard=) and --engine "
            "(engine=) out",
            reason=Reason.BAD_OPTION,
        )
    if suite is not None and (scope is None or asked_for.resume):
        raise InputError(
            "--make-suite (make_suite=) is made of what --prove finds in one run: it needs --prove, without --resume",
            reason=Reason.BAD_OPTION,
        )
    is_server = isinstance(store, ServerDatabases) and not isinstance(store, ConnectedDatabases)
    if on_server and not (scope and is_server):
        raise InputError(
            "--prove-on-server (prove_on_server=) replays what --prove finds for a database on a server: it needs both",
            reason=Reason.BAD_OPTION,
        )
    if scope is None:
        return None
    if isinstance(store, Endpoint):
        raise InputError(
            "--prove (prove=) draws small graphs from a local graph: an endpoint address will not do, give --graph",
            reason=Reason.BAD_OPTION,
        )
    if not isinstance(store, SqlStore | Graph) or isinstance(store, ConnectedDatabases):
        raise InputError(
            "--prove (prove=) builds small databases or graphs: it needs --database or --graph",
            reason=Reason.BAD_OPTION,
        )
    if suite is not None and (is_server or isinstance(store, Graph) or store.dialect != "sqlite"):
        raise InputError("--make-suite (make_suite=) writes SQLite files: it needs such", reason=Reason.BAD_OPTION)
    place = None if suite is None else Path(suite)
    return Agreements(store, scope, databases, asked_for.out, workers, place, ignore_labels, on_server=on_server)


def _check_conventions(names: Sequence[str]) -> None:
    for name in names:
        if name not in CONVENTIONS:
            hint = did_you_mean(name, CONVENTIONS) or f"Choose from: {', '.join(CONVENTIONS)}."
            raise InputError(field="conventions", expected="a known convention", got=shown(name), hint=hint)


def _check_fitting(choices: Choices, store: Store | None, *, answered: bool) -> None:
    """Refuse conventions of the other language, and those for which there is nothing to compare: neither a store that
    queries run on nor predictions that are answers already."""
    if choices.parts and not isinstance(store, SqlStore):
        raise InputError(
            "parts of queries (--parts) are read over the tables of a database: they need --database",
            reason=Reason.BAD_OPTION,
        )
    if choices.language == "sparql" and choices.ties != TIES:
        raise InputError(
            field="ties", expected="SQL: ties of SPARQL are told by --convention text2sparql", got=shown(choices.ties),
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    for name in choices.conventions:
        if (name == T2S) != (choices.language == "sparql"):
            raise InputError(
                field="conventions", expected=f"conventions for {choices.language.upper()}", got=shown(name),
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        if store is None and name in OF_QUERIES:
            raise InputError(
                f"the convention {name} reads or runs queries on a database: it needs --database",
                reason=Reason.BAD_OPTION,
            )
        if store is None and not answered and name != SPIDER2:
            place = "--graph or --endpoint" if name == T2S else "--database"
            raise InputError(
                f"the convention {name} compares the answers of queries: it needs {place}", reason=Reason.BAD_OPTION
            )


def _distances(given: str | os.PathLike[str] | Mapping[str, str] | None) -> Mapping[str, str] | None:
    return given if given is None or isinstance(given, Mapping) else read_distances(os.fspath(given))


def _weights(column: pl.Series, records: Records) -> pl.Series:
    """The column as weights; what is none is told with its file and record."""
    weights, start = [], 0
    for path, first, count in records.origins:
        numbers = pl.Series(RECORD, range(first, first + count), dtype=pl.Int64)
        rows = TableBatch(pl.DataFrame([numbers, column.slice(start, count)]), path)
        weights.append(rows.weights(column.name))
        start += count
    return pl.concat(weights)


def _not_normalised(rows: Measurements) -> list[str]:
    """Predictions that count as another query because theirs takes too much to bring into its normal form."""
    if NOT_NORMALISED not in rows.schema:
        return []
    counts: Counter[str] = Counter()
    for batch in rows.batches(["em_normalised", NOT_NORMALISED]):
        wrong = batch.filter(pl.col(NOT_NORMALISED).is_not_null() & pl.col("em_normalised").is_not_null())
        counts.update(dict(wrong[NOT_NORMALISED].value_counts(sort=True).iter_rows()))
    return [f"normalised exact match counts {count:,} as another query ({why})" for why, count in counts.most_common()]


def _extracted(rows: Measurements) -> list[str]:
    """How many predictions were more than a statement."""
    if "extracted" not in rows.schema:
        return []
    taken = sum(int(batch["extracted"].sum()) for batch in rows.batches(["extracted"]))
    were = "1 prediction was" if taken == 1 else f"{taken:,} predictions were"
    return [f"{were} taken out of fences, prose or JSON (column extracted; --no-extract)"] if taken else []


def _unanswered(rows: Measurements) -> list[str]:
    """Why predictions gave no answer, and how many for each reason."""
    if "outcome" not in rows.schema:
        return []
    lost: Counter[str] = Counter()
    for batch in rows.batches(["outcome", "scored"]):
        unanswered = batch.filter(pl.col("scored") & (pl.col("outcome") != "answered"))["outcome"]
        lost.update(dict(unanswered.value_counts(sort=True).iter_rows()))
    told = ", ".join(f"{count:,} {why}" for why, count in lost.most_common())
    return [f"without an answer: {told}"] if told else []


def _vacuous(rows: Measurements) -> list[str]:
    """In which ways right answers show little, and how many in each."""
    if "vacuous_kind" not in rows.schema:
        return []
    counts: Counter[str] = Counter()
    for batch in rows.batches(["vacuous_kind"]):
        counts.update(dict(batch["vacuous_kind"].drop_nulls().value_counts().iter_rows()))
    told = ", ".join(f"{counts[kind]:,} {kind}" for kind in vacuity.KINDS if counts[kind])
    return [f"right, but showing little: {told} (column vacuous_kind)"] if told else []


def _ties(rows: Measurements) -> tuple[dict[str, Any], list[str]]:
    """How far the choice among rows that tie at a LIMIT moves TEXT2SPARQL's set-F, and the notes about it."""
    scores = concatenated(rows, [T2S, f"{T2S}_low", f"{T2S}_high"])
    low, high = scores[f"{T2S}_low"], scores[f"{T2S}_high"]
    tied = int((high - low > 1e-9).sum())
    unknown = int((scores[T2S].is_not_null() & low.is_null()).sum())
    value, least, most = (
        float(np.mean(column.drop_nulls().to_numpy())) if column.null_count() < len(column) else 0.0
        for column in (scores[T2S], low.fill_null(scores[T2S]), high.fill_null(scores[T2S]))
    )
    notes = []
    if tied:
        notes.append(
            f"{tied:,} of {len(scores):,} examples have no single set-F: LIMIT cuts between rows that tie under "
            f"ORDER BY; {value:.4f} takes tied rows in the order of their values, other choices give {least:.4f} to "
            f"{most:.4f}"
        )
    if unknown:
        notes.append(
            f"{unknown:,} examples sort by something they do not return, or return too much without their LIMIT: "
            "whether ties change their set-F is not known"
        )
    return {"tied": tied, "unknown": unknown, "low": least, "high": most}, notes
