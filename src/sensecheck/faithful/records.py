"""What `faithful` reads: tables of pairs (query, sentence), and schemas."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.faithful.schema import Schema, from_create_table, from_spider, from_sqlite, spider_entry
from sensecheck.inputs import fingerprints
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.field_names import spelled
from sensecheck.inputs.json_arrays import read_document
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
FIELDS = ("id", "query", "sentence", "db_id", "reference")


@dataclass
class Pairs:
    """Some pairs of one input, as columns."""

    queries: Sequence[str | None]
    sentences: Sequence[str | None]
    db_ids: Sequence[str | None] | None = None
    references: Sequence[str | None] | None = None


def pairs_of(batch: TableBatch, asked: Asked) -> Pairs:
    """The pairs in some rows of a table."""
    frame = batch.frame
    query = _column(batch, "query", QUERY_NAMES, asked.columns)
    sentence = _column(batch, "sentence", SENTENCE_NAMES, asked.columns, taken=query)
    db = next((name for name in DB_NAMES if name in frame.columns), None)
    texts = (name for name in REFERENCE_NAMES if name in frame.columns and frame[name].dtype == pl.String)
    reference = next(texts, None)
    return Pairs(
        _texts(batch, query, asked.skip_bad),
        _texts(batch, sentence, asked.skip_bad),
        batch.spelled(db).to_list() if db is not None else None,
        frame[reference].to_list() if reference is not None else None,
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

_SQLITE_MAGIC = b"SQLite format 3\x00"
_SQLITE_ENDINGS = (".sqlite", ".sqlite3", ".db")


def load_schemas(given: Any, dialect: str | None = None) -> dict[str, Schema] | Schema | None:
    """Schemas from Spider's tables.json, a SQLite file, a folder of them, or CREATE TABLE text (a .sql file)."""
    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, Mapping):
        if "table_names_original" in given:
            return _spider([given], "schema")
        return dict(given)
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], Mapping):
        return _spider(given, "schema")
    if isinstance(given, (list, tuple)):
        merged: dict[str, Schema] = {}
        for item in given:
            part = load_schemas(item, dialect)
            merged.update({part.db_id: part} if isinstance(part, Schema) else part or {})
        return merged
    path = Path(given)
    if path.is_dir():
        schemas = {f.stem: _sqlite(f) for f in sorted(path.rglob("*")) if f.suffix in _SQLITE_ENDINGS}
        if not schemas:
            raise InputError(
                path=str(path), expected="SQLite files in this folder", got="none", reason=Reason.NO_SCHEMA
            )
        return schemas
    try:
        start = path.open("rb").read(16)
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", path=str(path), field="schema",
            hint="Give tables.json, a SQLite file, a folder of them, or a .sql file with CREATE TABLE.",
            reason=Reason.NO_SCHEMA,
        ) from None  # fmt: skip
    if start == _SQLITE_MAGIC:
        return _sqlite(path)
    if path.suffix == ".json":
        document = read_document(path.read_bytes(), str(path), "Spider's tables.json (a list of schemas)")
        return _spider(document if isinstance(document, list) else [document], str(path))
    from sqlglot.errors import SqlglotError

    try:
        schema = from_create_table(path.read_text("utf-8", "replace"), path.stem, dialect)
    except (SqlglotError, RecursionError):
        schema = None
    if schema is None or not schema.tables:
        raise InputError(
            path=str(path), field="schema", expected="CREATE TABLE statements", got="text that holds none",
            hint="Give tables.json, a SQLite file, a folder of them, or a .sql file with CREATE TABLE.",
            reason=Reason.BAD_SCHEMA,
        )  # fmt: skip
    return schema


def _spider(entries: Sequence[Any], path: str) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    for record, entry in enumerate(entries, 1):
        schema = from_spider(spider_entry(entry, path, record))
        schemas[schema.db_id] = schema
    return schemas


def _sqlite(path: Path) -> Schema:
    try:
        return from_sqlite(path)
    except (sqlite3.Error, UnicodeDecodeError):
        raise InputError(
            path=str(path), expected="a SQLite database", got="a damaged one, or another kind of file",
            hint="Test it with: sqlite3 FILE 'PRAGMA integrity_check'.", reason=Reason.BAD_SCHEMA,
        ) from None  # fmt: skip


def schema_print(schemas: Mapping[str, Schema] | Schema | None) -> str | None:
    """What a signature says of schemas, in whatever form they were given: another table or column is seen."""
    if schemas is None:
        return None
    if isinstance(schemas, Schema):
        schemas = {schemas.db_id: schemas}
    plain = {
        name: [
            [table.name, table.natural.text, [[c.name, c.natural.text, c.type] for c in table.columns.values()]]
            for table in schema.tables.values()
        ]
        for name, schema in schemas.items()
    }
    # One schema is that of all queries, whatever it is called.
    return fingerprints.of_value(plain if len(plain) != 1 else [*plain.values()])


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
