"""Pairs of a query and a sentence → verdicts with evidence. No file is read here; a database, where one is given, is
asked by `stored`.

A query that comes with many sentences is read once.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from sensecheck.faithful.doubt import doubt_of, weighed
from sensecheck.faithful.evidence import Evidence, EvidenceReader
from sensecheck.faithful.facts import Reading, UnreadableQueryError
from sensecheck.faithful.languages import LANGUAGES, Context
from sensecheck.faithful.matching.rules import check, offered
from sensecheck.faithful.matching.ruling import Finding, rules_for, spans_of
from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.faithful.matching.vocabulary import Vocabulary, load_vocabulary
from sensecheck.faithful.records import Pairs
from sensecheck.faithful.schema import Schema
from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.inputs.reasons import Reason
from sensecheck.language.extracting import statement_in
from sensecheck.runs.collecting import Batch

if TYPE_CHECKING:
    from sensecheck.faithful.stored import StoredValues  # with the stores, which few need

THRESHOLD = 0.5
"""A finding this sure makes a pair inconsistent."""

STRICT_THRESHOLD = 0.25
"""With `strict`, findings that are often false alarms count too."""

UNSAID = 0.3
"""How sure it is that what people usually leave out should have been said: it counts with `strict` only."""

MAX_SENTENCE = 50_000
"""Characters of a sentence. A longer text is no sentence, and says nothing of the query."""

MAX_QUERY = 200_000

HINT = "hint"
"""The column of texts that keeps the evidence that came with each pair."""

EXTRACTED = "extracted"
"""The column of measurements that says whether a query was taken out of what a model wrote around it."""

WRITTEN = "written"
"""The column of texts that keeps what it was taken from."""

MAX_STEPS = 3_000_000
"""Facts of the query times words of the sentence: about a second."""

_UNREAD = (Reason.UNREADABLE_QUERY, Reason.UNSUPPORTED_QUERY)
_FAULTS = ("missing", "contradicted", "added")
# Kind of fact → the group it is reported in.
GROUPS = {
    "entity": "values", "comparison": "values", "number": "values", "limit": "values", "ordinal": "values",
    "negation": "negation", "aggregate": "aggregates", "order": "order", "superlative": "order",
    "setop": "connectives", "connective": "connectives", "column": "columns", "table": "columns", "group": "columns",
    "misfit": "columns", "quantifier": "quantifiers", "question": "columns",
}  # fmt: skip
GROUP_NAMES = tuple(dict.fromkeys(GROUPS.values()))

_COUNTS = (*_FAULTS, *(f"{group}_facts" for group in GROUP_NAMES), *(f"{group}_kept" for group in GROUP_NAMES))
_COLUMNS: dict[str, Any] = {
    "scored": pl.Boolean, "reason": pl.String, "consistent": pl.Boolean, "doubt": pl.Float64,
    **dict.fromkeys(_COUNTS, pl.Int32),
}  # fmt: skip
_NO_COUNTS = (None,) * (1 + len(_COUNTS))


@dataclass(slots=True)
class Verdict:
    """What was found for one pair. `consistent` is None where the pair could not be scored, with a `reason`; a sentence
    that was given up has a reason too, and is inconsistent."""

    consistent: bool | None
    reason: str | None = None
    detail: str = ""
    findings: list[Finding] = field(default_factory=list)
    sentence: Sentence | None = None
    doubt: float | None = None  # how likely it is wrong, where all findings are weighed together

    def faults(self, threshold: float = THRESHOLD) -> list[Finding]:
        """The findings that count against the pair: the sure ones, or all where they were weighed together."""
        if self.doubt is not None:
            return [f for f in self.findings if f.status in _FAULTS] if self.doubt >= threshold else []
        return [f for f in self.findings if f.status in _FAULTS and f.confidence >= threshold]

    def evidence(self) -> list[dict[str, Any]]:
        """Every fact and addition with the characters of both sides that bear on it."""
        sentence = self.sentence
        return [
            {
                "status": f.status,
                "kind": f.kind,
                "rule": f.rule,
                "confidence": f.confidence if f.status in _FAULTS or f.status == "risk" else None,
                "text": f.text,
                "query": list(f.query_span) if f.query_span else None,
                "sentence": [] if sentence is None else [list(s) for s in spans_of(sentence, f.positions)],
            }
            for f in self.findings
        ]


class Checker:
    """Holds sentences against queries of one language. Keeps the last queries it read."""

    def __init__(
        self,
        language: str = "sql",
        *,
        schemas: Mapping[str, Schema] | Schema | None = None,
        database: str | os.PathLike[str] | StoredValues | None = None,
        dialect: str | None = None,
        labels: Mapping[str, str] | None = None,
        lexicon: Sequence[str] = (),
        threshold: float = THRESHOLD,
        without: Iterable[str] = (),
        kept_queries: int = 4096,
    ) -> None:
        """`database`: where literals are looked up, and what tells of tables where no `schemas` do. `without`: rules
        that are switched off, by their names or those of their findings."""
        if language not in LANGUAGES:
            raise ValueError(f"unknown language {language!r}: {', '.join(LANGUAGES)}")
        if not 0 < threshold <= 1:
            raise ValueError(f"the threshold must lie in (0, 1], not {threshold}")
        self.language = language
        self.threshold = threshold
        self.without = frozenset([without] if isinstance(without, str) else without)
        rules_for(frozenset(), self.without)  # refuses names that no rule has
        self.vocabulary: Vocabulary = load_vocabulary(*lexicon)
        self._read = LANGUAGES[language]
        if database is not None and language != "sql":
            raise ValueError(f"only SQL is looked up in a database, not {language}")
        self._stored = opened(database)
        if schemas is None and self._stored is not None:
            schemas = self._stored.schemas()
        if dialect is None and self._stored is not None:
            dialect = self._stored.dialect
        self._one = schemas if isinstance(schemas, Schema) else None
        self._schemas: Mapping[str, Schema] = {} if isinstance(schemas, Schema) or schemas is None else schemas
        if self._one is None and len(self._schemas) == 1:
            self._one = next(iter(self._schemas.values()))
        self._contexts: dict[str | None, Context] = {}
        self._readers: dict[str | None, EvidenceReader] = {}
        self._dialect, self._labels = dialect, dict(labels or {})
        self._readings: OrderedDict[tuple[str, str | None], Reading | UnreadableQueryError] = OrderedDict()
        self._kept = kept_queries

    def context(self, db_id: str | None) -> Context:
        context = self._contexts.get(db_id)
        if context is None:
            schema = self._schemas.get(db_id) if db_id is not None else None
            if schema is None and self._schemas and db_id is not None and db_id not in self._schemas:
                raise UnreadableQueryError(Reason.UNKNOWN_DB_ID, f"no schema for the database {db_id!r}")
            context = self._contexts[db_id] = Context(schema or self._one, self._dialect, self._labels)
        return context

    @property
    def weighs_by_evidence(self) -> bool:
        """Whether findings over some schema add up where a question has evidence, and only there."""
        schemas = [*self._schemas.values(), *([self._one] if self._one is not None else [])]
        return any(schema.has_keys and not schema.has_descriptions for schema in schemas)

    def reading(self, query: str, db_id: str | None = None) -> Reading | UnreadableQueryError:
        """The facts of a query, or why there are none."""
        key = (query, db_id)
        reading = self._readings.get(key)
        if reading is not None:
            self._readings.move_to_end(key)
            return reading
        made = guarded("reading the query", self._reading, query, db_id)
        reading = UnreadableQueryError(made.reason, made.message) if isinstance(made, Fault) else made
        if self._stored is not None and isinstance(reading, Reading):
            reading = self._looked_up(reading, self._stored, db_id)
        self._readings[key] = reading
        if len(self._readings) > self._kept:
            self._readings.popitem(last=False)
        return reading

    def statement(self, query: str, db_id: str | None = None) -> str:
        """The statement in what a model wrote around one (fences, prose, JSON), where only that can be read."""
        failed = self.reading(query, db_id)
        if self.language == "logic2text" or not _is_unread(failed):
            return query
        taken = statement_in(query, self.language, "duckdb" if self._dialect == "duckdb" else "sqlite")
        return query if taken == query or _is_unread(self.reading(taken, db_id)) else taken

    def _reading(self, query: str, db_id: str | None) -> Reading | UnreadableQueryError:
        try:
            if len(query) > MAX_QUERY:
                raise UnreadableQueryError(Reason.QUERY_TOO_LONG, f"{len(query):,} characters")
            return self._read(query, self.context(db_id))
        except UnreadableQueryError as error:
            return error
        except RecursionError:
            return UnreadableQueryError(Reason.TOO_DEEP, "nested too deeply to be read")

    def _looked_up(self, reading: Reading, stored: StoredValues, db_id: str | None) -> Reading | UnreadableQueryError:
        """A reading with what its literals find. What looks has bounds of its own, and is not called off half-way."""
        from sensecheck.faithful.lacking import lacks_of

        if reading.make_outline is None:
            return UnreadableQueryError(Reason.UNKNOWN_DB_ID, "of several databases, none is named")
        name = db_id or ""
        only = stored.only
        if only is not None and len(self._schemas) > 1 and not only.lower().startswith(name.lower()):
            message = f"the database given is {stored.place}, and not {name!r}"
            return UnreadableQueryError(Reason.UNKNOWN_DB_ID, message)
        outline = guarded("reading the query", reading.make_outline)
        if isinstance(outline, Fault):
            return UnreadableQueryError(outline.reason, outline.message)
        try:
            reading.looked_up(lacks_of(outline, stored, name))
        except UnreadableQueryError as error:
            return error
        return reading

    def check(self, query: str, sentence: str, db_id: str | None = None, evidence: str | None = None) -> Verdict:
        """Whether the sentence says what the query says, and nothing else. `evidence`: hints that come with it."""
        reading = self.reading(query, db_id)
        if isinstance(reading, UnreadableQueryError):
            return Verdict(None, reading.reason, str(reading))
        if not sentence.strip():
            return Verdict(None, "empty_sentence", "the sentence is empty")
        verdict = guarded("matching words", self._matched, reading, sentence, db_id, evidence)
        if not isinstance(verdict, Fault):
            return verdict
        if verdict.over_budget:
            return _says_nothing(reading, verdict)
        return Verdict(None, verdict.reason, verdict.message)

    def _hints(self, evidence: str | None, db_id: str | None) -> Evidence | None:
        if evidence is None or not evidence.strip():
            return None
        reader = self._readers.get(db_id)
        if reader is None:
            reader = self._readers[db_id] = EvidenceReader(self.context(db_id).schema)
        return reader.read(evidence)

    def findings(
        self, query: str, sentence: str, db_id: str | None = None, evidence: str | None = None
    ) -> list[Finding]:
        """All that the rules find, before it is weighed; nothing where the query cannot be read."""
        reading = self.reading(query, db_id)
        if isinstance(reading, UnreadableQueryError):
            return []
        return check(reading, Sentence(sentence, self.vocabulary), self.without, self._hints(evidence, db_id))

    def _matched(self, reading: Reading, sentence: str, db_id: str | None, hint: str | None) -> Verdict:
        if len(sentence) > MAX_SENTENCE:
            raise OverBudgetError(f"a sentence of {len(sentence):,} characters, where {MAX_SENTENCE:,} are allowed")
        read, evidence = Sentence(sentence, self.vocabulary), self._hints(hint, db_id)
        words = len(read.tokens) + (len(evidence.text) // 4 if evidence is not None else 0)
        if len(reading.facts) * words > MAX_STEPS:
            raise OverBudgetError(f"{len(reading.facts):,} facts against {words:,} words")
        findings = check(reading, read, self.without, evidence)
        threshold = self.threshold
        if "weighed" in offered(reading, evidence):
            doubt = doubt_of(findings)
            return Verdict(doubt < threshold, None, "", [weighed(f) for f in findings], read, doubt)
        if threshold <= UNSAID:
            # A limit goes unsaid only where a superlative implies it ("the youngest"): nothing is left out.
            findings = [
                f._replace(status="missing", confidence=UNSAID) if f.status == "unsaid" and f.kind != "limit" else f
                for f in findings
            ]
        sound = not any(f.status in _FAULTS and f.confidence >= threshold for f in findings)
        return Verdict(sound, None, "", findings, read)


def _is_unread(reading: Reading | UnreadableQueryError) -> bool:
    return isinstance(reading, UnreadableQueryError) and reading.reason in _UNREAD


def opened(database: str | os.PathLike[str] | StoredValues | None) -> StoredValues | None:
    if not isinstance(database, str | os.PathLike):
        return database
    from sensecheck.faithful.stored import StoredValues
    from sensecheck.stores import is_server

    if is_server(database):
        from sensecheck.faithful.served import ServedValues

        return ServedValues(str(database))
    return StoredValues(database)


def _says_nothing(reading: Reading, fault: Fault) -> Verdict:
    """A text that takes too much to read keeps no fact of the query: it must not be better off than a wrong one."""
    rule = str(fault.reason)
    unsaid = [Finding("missing", fact.kind, rule, 1.0, fact.text, fact.span, (), fact) for fact in reading.facts]
    return Verdict(
        False, fault.reason, fault.message, [*unsaid, Finding("added", "sentence", rule, 1.0, fault.message, None, ())]
    )


def measure(checker: Checker, pairs: Pairs, *, evidence: bool = True, extract: bool = False) -> Batch:
    """One row of measurements for every pair, and the texts with their evidence.

    extract: queries that cannot be read are searched for one.
    """
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    adders = [column.append for column in columns.values()]
    shown: list[str | None] = []
    # A verdict is counted and let go: thousands of them at once would wake the garbage collector again and again.
    queries = list(pairs.queries)
    for row, written in enumerate(pairs.queries):
        db_id = pairs.db_ids[row] if pairs.db_ids is not None else None
        if extract and written is not None:
            queries[row] = checker.statement(written, db_id)
        verdict = _verdict(checker, pairs, row, queries[row], db_id)
        scored = verdict.consistent is not None
        counts = _tally(verdict, checker.threshold).counts() if scored else _NO_COUNTS
        for add, value in zip(adders, (scored, verdict.reason, verdict.consistent, *counts), strict=True):
            add(value)
        shown.append(orjson.dumps(verdict.evidence()).decode() if evidence and scored else None)
    texts = {"query": queries, "sentence": pairs.sentences, "evidence": shown}
    if pairs.evidence is not None:
        texts[HINT] = pairs.evidence
    measurements = pl.DataFrame(columns, schema=_COLUMNS)
    if extract:
        extracted = [told != taken for told, taken in zip(pairs.queries, queries, strict=True)]
        measurements = measurements.with_columns(pl.Series(EXTRACTED, extracted, dtype=pl.Boolean))
        texts[WRITTEN] = [text if taken else None for text, taken in zip(pairs.queries, extracted, strict=True)]
    return Batch(
        measurements,
        pl.DataFrame({name: pl.Series(list(t), dtype=pl.String) for name, t in texts.items()}),
    )


def _verdict(checker: Checker, pairs: Pairs, row: int, query: str | None, db_id: str | None) -> Verdict:
    sentence = pairs.sentences[row]
    if query is None or sentence is None:
        return Verdict(None, Reason.MISSING_QUERY if query is None else Reason.MISSING_SENTENCE)
    return checker.check(query, sentence, db_id, pairs.evidence[row] if pairs.evidence is not None else None)


@dataclass(slots=True)
class Tally:
    """What the findings of one pair come to."""

    faults: dict[str, int]
    """Findings that count against the pair, by their status."""
    facts: dict[str, int]
    """Facts of the query, by the group that they are reported in."""
    kept: dict[str, int]
    """Those of them that the sentence keeps."""
    surest: float = 0.0
    """How sure the surest fault is, be it over the threshold or not."""

    def counts(self) -> tuple[float, ...]:
        """All of it, in the order of the columns of measurements."""
        return (self.surest, *self.faults.values(), *self.facts.values(), *self.kept.values())


def _tally(verdict: Verdict, threshold: float) -> Tally:
    tally = Tally(dict.fromkeys(_FAULTS, 0), dict.fromkeys(GROUP_NAMES, 0), dict.fromkeys(GROUP_NAMES, 0))
    together = verdict.doubt is not None
    flagged = together and verdict.doubt is not None and verdict.doubt >= threshold
    if verdict.doubt is not None:
        tally.surest = verdict.doubt
    for finding in verdict.findings:
        status = finding.status
        counted = status in _FAULTS and (flagged if together else finding.confidence >= threshold)
        if counted:
            tally.faults[status] += 1
        if not together and status in _FAULTS and finding.confidence > tally.surest:
            tally.surest = finding.confidence
        group = GROUPS.get(finding.kind)
        if group is not None and status != "added":
            tally.facts[group] += 1
            tally.kept[group] += not counted
    return tally
