"""`sensecheck.faithful.evaluate`: from pairs of a query and a sentence to a result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

import polars as pl

from sensecheck.faithful.columns import (
    DB_NAMES,
    EVIDENCE_NAMES,
    FIELDS,
    PREDICTED_QUERIES,
    QUERY_NAMES,
    Sides,
    sides_of,
)
from sensecheck.faithful.judging.cases import ASKS, DOUBT, QUERY, SENTENCE, cases
from sensecheck.faithful.languages import LANGUAGES, read_labels
from sensecheck.faithful.matching.ruling import CONFIDENCE, RULES
from sensecheck.faithful.measure import HINT, STRICT_THRESHOLD, THRESHOLD, Checker, measure, opened
from sensecheck.faithful.question import QUESTION
from sensecheck.faithful.records import identity_of, is_evidence, load_schemas, pairs_of, schema_print
from sensecheck.inputs import fingerprints
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.field_names import found
from sensecheck.inputs.gathered import GOLD_FILE, Gathered
from sensecheck.inputs.needs import Needs
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch
from sensecheck.judges.judge import Judge, judge_of
from sensecheck.judges.options import NEVER_AS_ORIGINAL, JudgedRows
from sensecheck.network.address import public_address
from sensecheck.options import Option
from sensecheck.report.asking import FILES, Asked, as_original, asked, evaluator
from sensecheck.report.instrument import TableInstrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method
from sensecheck.statistics.measurements import Measurements

if TYPE_CHECKING:
    from sensecheck.faithful.stored import StoredValues  # with the stores, which few need

_reading = partial(Option, group="reading")
_judging = partial(Option, group="judging")
_judge = partial(Option, group="a language model as judge")
_as_blec = partial(Option, group="with --as blec")


_NEEDS = Needs("faithful", predicted={"query": (*PREDICTED_QUERIES, *QUERY_NAMES)}, decided=[DB_NAMES, EVIDENCE_NAMES])


@evaluator(needs=_NEEDS, never_as_original=(*NEVER_AS_ORIGINAL, "judge_asks", "judge_doubt"))
def evaluate(
    data: Annotated[Any, FILES] = None,
    *,
    queries: Sequence[str] | None = None,
    sentences: Sequence[str] | None = None,
    language: Annotated[str, _reading("the language of the queries", choices=tuple(LANGUAGES))] = "sql",
    schema: Annotated[
        Any,
        _reading(
            "SQL: tables.json of Spider or BIRD, a SQLite or DuckDB file or folder of them, BIRD's "
            "database_description, CREATE TABLE in a .sql file (repeatable: what each knows is put together)",
            metavar="FILE", repeat=True,
        ),
    ] = None,
    database: Annotated[
        str | os.PathLike[str] | None,
        _reading(
            "SQL: an SQLite or DuckDB file, a folder of them by database name, or a server (postgresql://, mysql://), "
            "where the literals of queries are looked up; it also serves as the schema where --schema is not given",
            metavar="PATH|URL",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        _reading("SQL: a dialect that sqlglot knows (default: the server's, or found by trying)", metavar="NAME"),
    ] = None,
    extract: Annotated[
        bool,
        _reading("take queries as they stand: none that cannot be read is searched for one (in fences, prose or JSON)"),
    ] = True,
    labels: Annotated[
        Any, _reading("SPARQL: a graph with rdfs:label, or a JSON map of IRIs to labels", metavar="FILE")
    ] = None,
    lexicon: Annotated[
        Sequence[str | os.PathLike[str]],
        _judging("your own word lists, as JSON: they extend or override the shipped ones (repeatable)", metavar="FILE"),
    ] = (),
    threshold: Annotated[
        float | None, _judging("how sure a finding must be to count, from 0 to 1 (default: 0.5)", metavar="P")
    ] = None,
    strict: Annotated[
        bool, _judging("also count doubtful findings, and things that people usually leave unsaid (threshold 0.25)")
    ] = False,
    without: Annotated[
        Sequence[str],
        _judging("switch a rule off, by its name or by that of its findings, as reports show them (repeatable)",
                 metavar="RULE"),
    ] = (),
    judge_asks: Annotated[
        Literal["query", "sentence"] | None,
        _judge(
            "what a judge is asked: whether the query is right for the question, or the sentence says what the query "
            "says (default: query where queries were predicted or evidence is there)"
        ),
    ] = None,
    judge_doubt: Annotated[
        Sequence[float],
        _judge("with --judge-when doubtful: the doubt of the pairs that it is asked about", metavar="LOW,HIGH",
               separator=","),
    ] = DOUBT,
    parity: Annotated[Literal["blec"] | None, as_original("blec")] = None,
    template: Annotated[
        str | os.PathLike[str] | None,
        _as_blec("the original's template file (slots of every query)", metavar="FILE"),
    ] = None,
    translate: Annotated[bool, _as_blec("use the template's translated queries")] = False,
    **shared: Unpack[JudgedRows],
) -> Result:  # fmt: skip
    """Verdicts for pairs of a formal query and a sentence.

    `data` is a table with the columns `query` and `sentence`, and for SQL over several databases `db_id` (path, glob,
    list of paths, or a table in memory); or give the two as lists: `evaluate(queries=…, sentences=…)`.
    """
    if (queries is None) != (sentences is None) or (data is None) == (queries is None):
        raise InputError(
            "give either data, or both queries=… and sentences=…", hint="See help(sensecheck.faithful.evaluate)."
        )
    if data is None:
        data = {"query": list(queries or ()), "sentence": list(sentences or ())}
    if language not in LANGUAGES:
        raise InputError(
            field="language", expected=f"one of {', '.join(LANGUAGES)}", got=shown(language), reason=Reason.BAD_OPTION
        )
    if parity is not None:
        if parity != "blec":
            raise InputError(field="parity", expected="blec", got=shown(parity), reason=Reason.BAD_OPTION)
        if database is not None:
            raise InputError(
                field="database", expected="none: BLEC looks nothing up", got=_told(database),
                hint="Leave --database (database=) or --as (parity=) out.", reason=Reason.BAD_OPTION,
            )  # fmt: skip
        from sensecheck.faithful.parity import Blec, Slots

        return Blec(data, asked(shared), language, Slots(language, schema, template, translate)).run()
    surest = threshold if threshold is not None else STRICT_THRESHOLD if strict else THRESHOLD
    without = [without] if isinstance(without, str) else list(without)
    _check_choices(dialect, surest, without)
    asked_for = asked(shared)
    judge = judge_of(shared, ASKS, judge_asks, asked_for.out)
    _check_doubt(judge_doubt, judge)
    with ExitStack() as closing:
        stored = None if database is None else closing.enter_context(_stored(database, language))
        schemas, names = load_schemas(schema, dialect), _labels(labels)
        if schemas is None and stored is not None:
            schemas = stored.schemas()
        dialect = dialect or (None if stored is None else stored.dialect)
        checker = Checker(
            language, schemas=schemas, database=stored, dialect=dialect, labels=names,
            lexicon=[os.fspath(path) for path in lexicon], threshold=surest, without=without,
        )  # fmt: skip
        return Faithful(data, asked_for, checker, {
            "language": language,
            "threshold": surest,
            "extract": extract,
            "schema": schema_print(schemas),
            "database": None if stored is None else stored.content(),
            "labels": None if labels is None else fingerprints.of_value(dict(names)),
            "lexicon": [identity_of(path) for path in lexicon] or None,
            "dialect": dialect,
            "without": sorted(set(without)) or None,
        }, stored, judge, tuple(judge_doubt)).run()  # fmt: skip


class Faithful(TableInstrument):
    """Pairs of a query and a sentence, each with a verdict."""

    question = QUESTION
    fields = FIELDS
    block_bytes = 1 << 21
    batch_rows = 8192

    def __init__(
        self, data: Any, asked: Asked, checker: Checker, choices: Method, stored: StoredValues | None = None,
        judge: Judge | None = None, doubt: tuple[float, ...] = DOUBT,
    ) -> None:  # fmt: skip
        if judge is not None:
            self.asks = True
            self.batch_rows, self.block_bytes = judge.rows_at_once, 1 << 18
        super().__init__(data, asked)
        self.checker = checker
        self.choices = choices
        self.stored = stored
        self.judge = judge
        self.doubt = None if judge is None or judge.always else (doubt[0], doubt[1])
        self.sides = Sides("query", "sentence")

    def look_at(self, first: TableBatch) -> None:
        self.sides = sides_of(first, self.asked.columns, self.checker.language)
        self.notes += self.sides.notes()
        self._look_at_evidence(first)
        if self.judge is not None:
            evidence = found(EVIDENCE_NAMES, first.frame.columns)
            of_query = self.sides.query in self.sides.predicted or evidence is not None
            self.judge.ask_for_one_of(QUERY if of_query else SENTENCE)

    def _look_at_evidence(self, first: TableBatch) -> None:
        """Evidence that is no text is not read, and a run must not seem to have had it."""
        name = found(EVIDENCE_NAMES, first.frame.columns)
        kind = pl.Null() if name is None else first.frame[name].dtype
        if name is None or is_evidence(kind) or kind in (pl.Null, pl.List(pl.Null)):
            return
        called = shown(self.asked.columns.get("evidence", name), 40)
        if "evidence" in self.asked.columns:
            raise InputError(
                path=first.path or None, field="evidence", expected="texts, or lists of texts",
                got=f"neither in the column {called}",
                hint="Name another column with --columns evidence=COLUMN (columns=).", reason=Reason.NOT_A_TEXT,
            )  # fmt: skip
        self.notes.append(f"no evidence was read: {called} holds neither texts nor lists of texts")

    def learnt(self) -> Method:
        prints = {} if self.stored is None else self.stored.prints()
        told = {"databases": fingerprints.of_value(prints)} if prints else {}
        return {**self.sides.choice(), **told, **({} if self.judge is None else self.judge.learnt())}

    def method(self) -> Method:
        judged = {} if self.judge is None else self.judge.method()
        if self.doubt is not None:
            judged = {**judged, "judge-doubt": f"{self.doubt[0]:g}-{self.doubt[1]:g}"}
        return {**self.choices, "cluster": self.asked.cluster, "weight": self.asked.weight, **judged}

    def defaults(self) -> Method:
        """The language is always said."""
        names = ("schema", "database", "labels", "lexicon", "dialect", "without", "cluster", "weight")
        return {"threshold": THRESHOLD, "extract": True, **dict.fromkeys(names), **Judge.defaults()}

    def cost(self) -> Mapping[str, Any]:
        return {} if self.judge is None else self.judge.cost

    def batches(self, done: int) -> Iterator[Batch]:
        with self.judge or nullcontext():
            yield from super().batches(done)

    def plan(self) -> Method:
        return {} if self.stored is None else {"database": self.stored.state()}

    def finish(self, result: Result) -> None:
        pairs, hinted = _hinted(result)
        if hinted:
            # Evidence changes verdicts: a run that had none is not compared with one that had.
            method = {**result.signature.method, "evidence": "read"}
            result.signature = replace(result.signature, method=method)
            if hinted < pairs and self.checker.weighs_by_evidence:
                result.notes.append(
                    f"{pairs - hinted:,} of {pairs:,} pairs came without evidence: over a schema with keys and no "
                    "descriptions their doubt is that of the surest finding, and not of all together as with evidence"
                )
        result.notes += [*_taken(result.rows), *([] if self.stored is None else self.stored.notes())]
        if self.judge is not None:
            self.judge.finish(result, "consistent", self.of_parts)

    def measure(self, batch: TableBatch) -> Batch:
        joined = isinstance(self.data, Gathered) and GOLD_FILE in self.data.method
        pairs = pairs_of(batch, self.sides, self.asked, may_lack=joined)
        measured = measure(self.checker, pairs, extract=bool(self.choices["extract"]))
        if self.judge is None or measured.examples is None:
            return measured
        rows = measured.measurements
        asked = cases(
            self.checker, pairs, measured.examples["query"].to_list(), rows["scored"].to_list(),
            rows["doubt"].to_list(), self.judge.asks.name, self.doubt,
        )  # fmt: skip
        return self.judge.added(measured, rows["consistent"].to_list(), asked)


def _hinted(result: Result) -> tuple[int, int]:
    """How many pairs there are, and how many came with evidence: a column of blanks says nothing."""
    told = (pl.col(HINT).str.strip_chars().fill_null("") != "").sum()
    # Of two inputs, one may have the column: without names, each batch has its own.
    batches = result.texts.batches() if result.texts is not None else ()
    counts = [(len(batch), int(batch.select(told).item()) if HINT in batch.columns else 0) for batch in batches]
    return sum(pairs for pairs, _ in counts), sum(hinted for _, hinted in counts)


def _taken(rows: Measurements) -> list[str]:
    """How many queries were more than a statement."""
    if "extracted" not in rows.schema:
        return []
    count = sum(int(batch["extracted"].sum()) for batch in rows.batches(["extracted"]))
    were = "1 query was" if count == 1 else f"{count:,} queries were"
    return [f"{were} taken out of fences, prose or JSON (column extracted; --no-extract)"] if count else []


def _check_choices(dialect: str | None, threshold: float, without: Sequence[str]) -> None:
    for name in without:
        if name not in RULES and name not in CONFIDENCE:
            raise InputError(
                field="without", expected="a rule, or a finding of one", got=shown(name),
                hint=did_you_mean(name, [*RULES, *CONFIDENCE]) or f"Rules: {', '.join(sorted(RULES))}.",
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
    if dialect is not None:
        _check_dialect(dialect)
    if not 0 < threshold <= 1:
        raise InputError(
            field="threshold", expected="a number over 0 and up to 1", got=str(threshold), reason=Reason.BAD_OPTION
        )


def _check_doubt(doubt: Sequence[float], judge: Judge | None) -> None:
    if len(doubt) != 2 or not 0 <= doubt[0] <= doubt[1] <= 1:
        raise InputError(
            field="judge-doubt", expected="two numbers from 0 to 1, the lower one first",
            got=shown(",".join(f"{one:g}" for one in doubt)), reason=Reason.BAD_OPTION,
        )  # fmt: skip
    if tuple(doubt) != DOUBT and (judge is None or judge.always):
        raise InputError(
            "--judge-doubt says which pairs a judge is asked about, and "
            + ("none is named" if judge is None else "it is asked about all"),
            hint="Name one: --judge URL#name." if judge is None else "Add --judge-when doubtful, or leave it out.",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip


def _check_dialect(name: str) -> None:
    from sqlglot.dialects.dialect import Dialect, Dialects

    if Dialect.get(name.split(",")[0].strip().lower()) is None:
        known = sorted(d.value for d in Dialects if d.value)
        raise InputError(
            field="dialect", expected=f"a dialect of SQL: {', '.join(known)}", got=repr(name),
            hint=did_you_mean(name, known), reason=Reason.BAD_OPTION,
        )  # fmt: skip


def _stored(database: str | os.PathLike[str], language: str) -> StoredValues:
    if not os.fspath(database):
        raise InputError(field="database", expected="a file or folder", got="''", reason=Reason.BAD_OPTION)
    if language != "sql":
        raise InputError(
            field="database", expected="none: only the literals of SQL are looked up", got=_told(database),
            hint="Leave --database (database=) out, or say --language sql.", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    found = opened(database)
    assert found is not None
    return found


def _told(database: str | os.PathLike[str]) -> str:
    return shown(public_address(os.fspath(database)))


def _labels(given: Any) -> Mapping[str, str]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    return read_labels(given)
