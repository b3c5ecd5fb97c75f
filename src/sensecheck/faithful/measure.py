"""Pairs of a query and a sentence → verdicts with evidence. Pure: no file is read here.

A query that comes with many sentences is read once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import polars as pl

from sensecheck.faithful.facts import Reading, UnreadableQueryError
from sensecheck.faithful.languages import LANGUAGES, Context
from sensecheck.faithful.matching.rules import check
from sensecheck.faithful.matching.ruling import Finding, rules_for, spans_of
from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.faithful.matching.vocabulary import Vocabulary, load_vocabulary
from sensecheck.faithful.records import Pairs
from sensecheck.faithful.schema import Schema
from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.inputs.reasons import Reason
from sensecheck.runs.collecting import Batch

THRESHOLD = 0.5
"""A finding this sure makes a pair inconsistent."""

STRICT_THRESHOLD = 0.25
"""With `strict`, findings that are often false alarms count too."""

UNSAID = 0.3
"""How sure it is that what people usually leave out should have been said: it counts with `strict` only."""

MAX_SENTENCE = 50_000
"""Characters of a sentence. A longer text is no sentence, and says nothing of the query."""

MAX_QUERY = 200_000

MAX_STEPS = 3_000_000
"""Facts of the query times words of the sentence: about a second."""

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

    def faults(self, threshold: float = THRESHOLD) -> list[Finding]:
        """The findings that count against the pair."""
        return [f for f in self.findings if f.status in _FAULTS and f.confidence >= threshold]

    def evidence(self) -> list[dict[str, Any]]:
        """Every fact and addition with the characters of both sides that bear on it."""
        sentence = self.sentence
        return [
            {
                "status": f.status,
                "kind": f.kind,
                "rule": f.rule,
                "confidence": f.confidence if f.status in _FAULTS else None,
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
        dialect: str | None = None,
        labels: Mapping[str, str] | None = None,
        lexicon: Sequence[str] = (),
        threshold: float = THRESHOLD,
        without: Iterable[str] = (),
        kept_queries: int = 4096,
    ) -> None:
        """`without`: rules that are switched off, by their names or those of their findings."""
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
        self._one = schemas if isinstance(schemas, Schema) else None
        self._schemas: Mapping[str, Schema] = {} if isinstance(schemas, Schema) or schemas is None else schemas
        if self._one is None and len(self._schemas) == 1:
            self._one = next(iter(self._schemas.values()))
        self._contexts: dict[str | None, Context] = {}
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

    def reading(self, query: str, db_id: str | None = None) -> Reading | UnreadableQueryError:
        """The facts of a query, or why there are none."""
        key = (query, db_id)
        reading = self._readings.get(key)
        if reading is not None:
            self._readings.move_to_end(key)
            return reading
        made = guarded("reading the query", self._reading, query, db_id)
        reading = UnreadableQueryError(made.reason, made.message) if isinstance(made, Fault) else made
        self._readings[key] = reading
        if len(self._readings) > self._kept:
            self._readings.popitem(last=False)
        return reading

    def _reading(self, query: str, db_id: str | None) -> Reading | UnreadableQueryError:
        try:
            if len(query) > MAX_QUERY:
                raise UnreadableQueryError(Reason.QUERY_TOO_LONG, f"{len(query):,} characters")
            return self._read(query, self.context(db_id))
        except UnreadableQueryError as error:
            return error
        except RecursionError:
            return UnreadableQueryError(Reason.TOO_DEEP, "nested too deeply to be read")

    def check(self, query: str, sentence: str, db_id: str | None = None) -> Verdict:
        """Whether the sentence says what the query says, and nothing else."""
        reading = self.reading(query, db_id)
        if isinstance(reading, UnreadableQueryError):
            return Verdict(None, reading.reason, str(reading))
        if not sentence.strip():
            return Verdict(None, "empty_sentence", "the sentence is empty")
        verdict = guarded("matching words", self._matched, reading, sentence)
        if not isinstance(verdict, Fault):
            return verdict
        if verdict.over_budget:
            return _says_nothing(reading, verdict)
        return Verdict(None, verdict.reason, verdict.message)

    def _matched(self, reading: Reading, sentence: str) -> Verdict:
        if len(sentence) > MAX_SENTENCE:
            raise OverBudgetError(f"a sentence of {len(sentence):,} characters, where {MAX_SENTENCE:,} are allowed")
        read = Sentence(sentence, self.vocabulary)
        if len(reading.facts) * len(read.tokens) > MAX_STEPS:
            raise OverBudgetError(f"{len(reading.facts):,} facts against {len(read.tokens):,} words")
        findings = check(reading, read, self.without)
        threshold = self.threshold
        if threshold <= UNSAID:
            # A limit goes unsaid only where a superlative implies it ("the youngest"): nothing is left out.
            findings = [
                f._replace(status="missing", confidence=UNSAID) if f.status == "unsaid" and f.kind != "limit" else f
                for f in findings
            ]
        sound = not any(f.status in _FAULTS and f.confidence >= threshold for f in findings)
        return Verdict(sound, None, "", findings, read)


def _says_nothing(reading: Reading, fault: Fault) -> Verdict:
    """A text that takes too much to read keeps no fact of the query: it must not be better off than a wrong one."""
    rule = str(fault.reason)
    unsaid = [Finding("missing", fact.kind, rule, 1.0, fact.text, fact.span, (), fact) for fact in reading.facts]
    return Verdict(
        False, fault.reason, fault.message, [*unsaid, Finding("added", "sentence", rule, 1.0, fault.message, None, ())]
    )


def measure(checker: Checker, pairs: Pairs, *, evidence: bool = True) -> Batch:
    """One row of measurements for every pair, and the texts with their evidence."""
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    adders = [column.append for column in columns.values()]
    shown: list[str | None] = []
    # A verdict is counted and let go: thousands of them at once would wake the garbage collector again and again.
    for row in range(len(pairs.queries)):
        verdict = _verdict(checker, pairs, row)
        scored = verdict.consistent is not None
        counts = _tally(verdict, checker.threshold).counts() if scored else _NO_COUNTS
        for add, value in zip(adders, (scored, verdict.reason, verdict.consistent, *counts), strict=True):
            add(value)
        shown.append(orjson.dumps(verdict.evidence()).decode() if evidence and scored else None)
    texts = {"query": pairs.queries, "sentence": pairs.sentences, "evidence": shown}
    return Batch(
        pl.DataFrame(columns, schema=_COLUMNS),
        pl.DataFrame({name: pl.Series(list(t), dtype=pl.String) for name, t in texts.items()}),
    )


def _verdict(checker: Checker, pairs: Pairs, row: int) -> Verdict:
    query, sentence = pairs.queries[row], pairs.sentences[row]
    if query is None or sentence is None:
        return Verdict(None, Reason.MISSING_QUERY if query is None else Reason.MISSING_SENTENCE)
    return checker.check(query, sentence, pairs.db_ids[row] if pairs.db_ids is not None else None)


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
    for finding in verdict.findings:
        status = finding.status
        counted = status in _FAULTS and finding.confidence >= threshold
        if counted:
            tally.faults[status] += 1
        if status in _FAULTS and finding.confidence > tally.surest:
            tally.surest = finding.confidence
        group = GROUPS.get(finding.kind)
        if group is not None and status != "added":
            tally.facts[group] += 1
            tally.kept[group] += not counted
    return tally
