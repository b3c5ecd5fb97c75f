"""What `faithful` reads: tables of pairs (query, sentence), and schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.faithful.columns import DB_NAMES, EVIDENCE_NAMES, REFERENCE_NAMES, Sides
from sensecheck.faithful.schema import Schema
from sensecheck.faithful.schema import load_schemas as load_schemas
from sensecheck.inputs import fingerprints
from sensecheck.inputs.field_names import found
from sensecheck.inputs.opening import sources
from sensecheck.inputs.tables import TableBatch
from sensecheck.report.asking import Asked


@dataclass
class Pairs:
    """Some pairs of one input, as columns."""

    queries: Sequence[str | None]
    sentences: Sequence[str | None]
    db_ids: Sequence[str | None] | None = None
    references: Sequence[str | None] | None = None
    evidence: Sequence[str | None] | None = None


def pairs_of(batch: TableBatch, sides: Sides, asked: Asked, *, may_lack: bool = False) -> Pairs:
    """The pairs in some rows of a table. What a system wrote may be nothing at all; `may_lack`: so may all others."""
    frame = batch.frame
    names = frame.columns
    db = found(DB_NAMES, names)
    reference, evidence = found(REFERENCE_NAMES, names), found(EVIDENCE_NAMES, names)
    queries, sentences = (
        _texts(batch, name, asked.skip_bad or may_lack or name in sides.predicted)
        for name in (sides.query, sides.sentence)
    )
    return Pairs(
        queries,
        sentences,
        batch.spelled(db).to_list() if db is not None else None,
        frame[reference].to_list() if reference is not None and frame[reference].dtype == pl.String else None,
        _evidence(frame[evidence]) if evidence is not None else None,
    )


def is_evidence(kind: pl.DataType) -> bool:
    """Whether a column of this kind holds hints: a text each, or a list of texts."""
    return kind in (pl.String, pl.List(pl.String))


def _evidence(column: pl.Series) -> list[str | None] | None:
    if not is_evidence(column.dtype):
        return None
    return (column if column.dtype == pl.String else column.list.join("; ")).to_list()


def _texts(batch: TableBatch, name: str, may_lack: bool) -> list[str | None]:
    batch.require([name])
    column = batch.frame[name]
    if isinstance(column.dtype, pl.List):  # the original's tokenised questions
        return column.cast(pl.List(pl.String)).list.join(" ").to_list()
    return batch.texts(name, skip_bad=may_lack).to_list()


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
