"""Which columns of a table hold the two sides: the query that is judged, and the sentence that it is held against.

A file may hold more than two: a question, a gold query, and what a system predicted. What was predicted is judged, be
it a query for a question or a sentence for a query; what else might have been meant is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from sensecheck.faithful.facts import Reading
from sensecheck.faithful.languages import LANGUAGES, Context
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.field_names import spelled
from sensecheck.inputs.guarding import guarded
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch
from sensecheck.language.extracting import statement_in

# Names that people (and the original's data files) give to the columns, in the order in which we look for them.
PREDICTED_QUERIES = (
    "predicted_query", "generated_query", "pred_query", "predicted_sql", "pred_sql", "generated_sql",
    "predicted_sparql", "pred_sparql", "generated_sparql",
)  # fmt: skip
PREDICTED_SENTENCES = ("predicted_sentence", "generated_sentence", "predicted_question", "generated_question")
PREDICTED = (
    "prediction", "predicted", "pred", "generated", "generation", "output", "response", "completion", "model_output",
)  # fmt: skip
"""What a system wrote, of either kind: what it holds says which."""
QUERY_NAMES = (
    "query", "sql", "logic_str", "logic", "sparql", "sparql_query", "logical_form", "form", "gold", "gold_query",
    "gold_sql", "gold_sparql", "golden",
)  # fmt: skip
SENTENCE_NAMES = (
    "sentence", "question", "sent", "utterance", "spidersynquestion", "corrected_question", "nl", "nlq", "text",
    "question_toks",
)  # fmt: skip
DB_NAMES = ("db_id", "db", "database", "database_id", "db_name", "gold_db_id")
REFERENCE_NAMES = ("reference", "truth", "gold_sentence", "target")
EVIDENCE_NAMES = ("evidence", "hint", "external_knowledge")
FIELDS = ("id", "query", "sentence", "db_id", "reference", "evidence")

_BEGINNINGS = {
    "sql": re.compile(r"\W*(?:select|with|values|from)\b", re.I),
    "sparql": re.compile(r"\W*(?:select|ask|construct|describe|prefix|base)\b", re.I),
    "logic2text": re.compile(r"\s*\w+\s*\{"),
}
_LOOKED_AT = 50
"""Texts of a column that are looked at to know whether it holds queries."""
_MARKED = 4
"""One in so many says that it does: no sentence can be read as a query, and many a model refuses to write one."""


@dataclass(frozen=True)
class Sides:
    """The columns of one input."""

    query: str
    sentence: str
    predicted: frozenset[str] = frozenset()
    """Those that a system wrote: it may have written nothing."""
    left_aside: tuple[str, ...] = ()
    """Columns that might have been meant as well."""

    def choice(self) -> dict[str, str]:
        """What a signature says of it, where there was a choice."""
        return {"judged": f"{self.query}/{self.sentence}"} if self.left_aside else {}

    def notes(self) -> list[str]:
        if not self.left_aside:
            return []
        others = " and ".join(shown(name, 40) for name in self.left_aside)
        return [
            f"judged: the queries in {shown(self.query, 40)} against the sentences in {shown(self.sentence, 40)}; left "
            f"aside: {others} (--columns query=COLUMN, --columns sentence=COLUMN choose)"
        ]


def sides_of(first: TableBatch, renamed: Mapping[str, str], language: str) -> Sides:
    """Decided by the names of the columns, and by the first rows where a name leaves open what was predicted."""
    frame = first.frame
    named_query, named_sentence = (ours if ours in renamed else None for ours in ("query", "sentence"))
    given_query, given_sentence = (
        named_query or _first(frame, QUERY_NAMES),
        named_sentence or _first(frame, SENTENCE_NAMES),
    )
    wrote_query, wrote_sentence, wrote = (
        _first(frame, names) for names in (PREDICTED_QUERIES, PREDICTED_SENTENCES, PREDICTED)
    )
    if wrote is not None:
        for_sentence = given_query is None and (given_sentence or wrote_sentence) is not None
        if for_sentence or _holds_queries(frame[wrote], language):
            wrote_query = wrote_query or wrote
        else:
            wrote_sentence = wrote_sentence or wrote
    query = named_query or wrote_query or given_query
    # A sentence that was written for a given query is judged; a query that was written, by the question it is for.
    question_first = query == wrote_query
    either = (given_sentence, wrote_sentence) if question_first else (wrote_sentence, given_sentence)
    sentence = named_sentence or either[0] or either[1]
    if query is None or sentence is None or query == sentence:
        raise _not_there(first, "query" if query is None else "sentence", query)
    written = {wrote_query, wrote_sentence}
    candidates = {
        *(() if named_query else (given_query, wrote_query)),
        *(() if named_sentence else (given_sentence, wrote_sentence)),
    }
    return Sides(
        query,
        sentence,
        frozenset(name for name in (query, sentence) if name in written),
        tuple(name for name in frame.columns if name in candidates and name not in (query, sentence)),
    )


def fields_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The same for whoever only looks at the first records: nothing where they hold no two sides."""
    names = dict.fromkeys(name for row in rows for name, value in row.items() if isinstance(value, str))
    held = {name: [text if isinstance(text := row.get(name), str) else None for row in rows] for name in names}
    frame = pl.DataFrame({"_record": range(1, len(rows) + 1), **held})
    texts = [text for column in held.values() for text in column if text is not None]
    language = "sparql" if any("{" in text and _BEGINNINGS["sparql"].match(text) for text in texts) else "sql"
    try:
        sides = sides_of(TableBatch(frame, ""), {}, language)
    except InputError:
        return {}
    return {"query": sides.query, "sentence": sides.sentence}


def _first(frame: pl.DataFrame, names: Sequence[str]) -> str | None:
    """The first of these names that a column of texts has."""
    there = spelled(frame.columns)
    for usual in names:
        name = there.get(usual)
        if name is None:
            continue
        column = frame[name]
        if column.dtype == pl.String or usual == "question_toks" or column.null_count() == len(column):
            return name
    return None


def _holds_queries(column: pl.Series, language: str) -> bool:
    texts = [text for text in column.drop_nulls().head(_LOOKED_AT).to_list() if str(text).strip()]
    context = Context(None, None, {})
    queries = sum(_is_query(text, language, context) for text in texts)
    return _MARKED * queries >= len(texts) > 0


def _is_query(text: str, language: str, context: Context) -> bool:
    statement = text if language == "logic2text" else statement_in(text, language)
    if not _BEGINNINGS[language].match(statement):
        return False
    return isinstance(guarded("reading the query", LANGUAGES[language], statement, context), Reading)


def _not_there(batch: TableBatch, ours: str, query: str | None) -> InputError:
    names = QUERY_NAMES if ours == "query" else SENTENCE_NAMES
    others = [name for name in batch.frame.columns[1:] if name != query]
    return InputError(
        path=batch.path or None, field=ours, expected=f"a column of this name (or {', '.join(names[1:5])}, …)",
        got=f"the columns {', '.join(shown(name, 40) for name in others[:8])}" if others else "no other column",
        hint=f"Name yours with --columns {ours}=COLUMN (columns=).", reason=Reason.NO_COLUMN,
    )  # fmt: skip
