"""What `faithful` reads: tables of pairs (query, sentence), and schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.faithful.schema import Schema
from sensecheck.faithful.schema import load_schemas as load_schemas
from sensecheck.inputs import fingerprints
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.field_names import spelled
from sensecheck.inputs.opening import sources
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch
from sensecheck.report.asking import Asked

# Names that people (and the original's data files) give to the columns, in the order in which we look for them.
QUERY_NAMES = ("query", "sql", "logic_str", "logic", "sparql", "sparql_query", "logical_form", "form", "gold")
SENTENCE_NAMES = (
    "sentence", "question", "pred", "prediction", "predicted", "sent", "generated", "utterance", "text", "output",
    "question_toks",
)  # fmt: skip
DB_NAMES = ("db_id", "db", "database", "database_id")
REFERENCE_NAMES = ("reference", "truth", "gold_sentence", "target")
EVIDENCE_NAMES = ("evidence", "hint", "external_knowledge")
FIELDS = ("id", "query", "sentence", "db_id", "reference", "evidence")


@dataclass
class Pairs:
    """Some pairs of one input, as columns."""

    queries: Sequence[str | None]
    sentences: Sequence[str | None]
    db_ids: Sequence[str | None] | None = None
    references: Sequence[str | None] | None = None
    evidence: Sequence[str | None] | None = None


def pairs_of(batch: TableBatch, asked: Asked) -> Pairs:
    """The pairs in some rows of a table."""
    frame = batch.frame
    query = _column(batch, "query", QUERY_NAMES, asked.columns)
    sentence = _column(batch, "sentence", SENTENCE_NAMES, asked.columns, taken=query)
    db = next((name for name in DB_NAMES if name in frame.columns), None)
    reference, evidence = (
        next((name for name in names if name in frame.columns and frame[name].dtype == pl.String), None)
        for names in (REFERENCE_NAMES, EVIDENCE_NAMES)
    )
    return Pairs(
        _texts(batch, query, asked.skip_bad),
        _texts(batch, sentence, asked.skip_bad),
        batch.spelled(db).to_list() if db is not None else None,
        frame[reference].to_list() if reference is not None else None,
        frame[evidence].to_list() if evidence is not None else None,
    )


def _column(
    batch: TableBatch, ours: str, names: Sequence[str], renamed: Mapping[str, str], taken: str | None = None
) -> str:
    """The column that holds the queries (or sentences): the one so named, or the first usual name of a text."""
    frame = batch.frame
    if ours in renamed:
        return ours
    there = spelled(frame.columns)
    for usual in names:
        name = there.get(usual)
        if (
            name is not None
            and name != taken
            and (frame[name].dtype == pl.String or usual == "question_toks" or frame[name].null_count() == len(frame))
        ):
            return name
    others = [c for c in frame.columns[1:] if c != taken]
    raise InputError(
        path=batch.path or None, field=ours, expected=f"a column of this name (or {', '.join(names[1:5])}, …)",
        got=f"the columns {', '.join(shown(c, 40) for c in others[:8])}" if others else "no other column",
        hint=f"Name yours with --columns {ours}=COLUMN (columns=).", reason=Reason.NO_COLUMN,
    )  # fmt: skip


def _texts(batch: TableBatch, name: str, skip_bad: bool) -> list[str | None]:
    column = batch.frame[name]
    if isinstance(column.dtype, pl.List):  # the original's tokenised questions
        return column.cast(pl.List(pl.String)).list.join(" ").to_list()
    return batch.texts(name, skip_bad=skip_bad).to_list()


# ------------------------------------------------------------------------------------------------- schemas


def schema_print(schemas: Mapping[str, Schema] | Schema | None) -> str | None:
    """What a signature says of schemas, in whatever form they were given: another table, column or key is seen."""
    if schemas is None:
        return None
    if isinstance(schemas, Schema):
        schemas = {schemas.db_id: schemas}
    plain = {name: _plain(schema) for name, schema in schemas.items()}
    # One schema is that of all queries, whatever it is called.
    return fingerprints.of_value(plain if len(plain) != 1 else [*plain.values()])


def _plain(schema: Schema) -> list[Any]:
    """A schema as lists; one without keys and descriptions as it has always been written."""
    tables: list[Any] = [
        [table.name, table.natural.text, [[c.name, c.natural.text, c.type] for c in table.columns.values()]]
        for table in schema.tables.values()
    ]
    further: list[Any] = [
        [table.name, table.primary_key, [name.text for name in table.described]]
        for table in schema.tables.values()
        if table.primary_key or table.described
    ]
    further += [
        [table.name, c.name, c.nullable, [name.text for name in c.described], sorted(c.value_words.items())]
        for table in schema.tables.values()
        for c in table.columns.values()
        if not c.nullable or c.described or c.value_words
    ]
    keys = sorted(schema.foreign_keys)
    return [*tables, {"further": further, "keys": keys}] if further or keys else tables


def identity_of(given: Any) -> str | None:
    """What a signature says of a file such as a lexicon: its digest, so that another one is seen."""
    if given is None:
        return None
    if isinstance(given, (str, os.PathLike)) and Path(given).is_file():
        digests = []
        for source in sources(given):
            source.digest_file()
            digests.append((source.sha256 or "")[:12])
        return ",".join(digests)
    return "given"
