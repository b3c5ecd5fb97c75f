"""What `faithful` reads: tables of pairs (query, sentence), and schemas."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.faithful.measure import Checker, measure
from sensecheck.faithful.schema import Schema, from_create_table, from_spider, from_sqlite
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.opening import sources
from sensecheck.inputs.tables import TableBatch, TableReader
from sensecheck.runs.collecting import Batch

# Names that people (and the original's data files) give to the columns, in the order in which we look for them.
QUERY_NAMES = ("query", "sql", "logic_str", "logic", "sparql", "sparql_query", "logical_form", "form", "gold")
SENTENCE_NAMES = (
    "sentence", "question", "pred", "prediction", "predicted", "sent", "generated", "utterance", "text", "output",
    "question_toks",
)  # fmt: skip
DB_NAMES = ("db_id", "db", "database", "database_id")
ASKED = ("id", "query", "sentence", "db_id", "reference")
REFERENCE_NAMES = ("reference", "truth", "gold_sentence", "target")

_BLOCK_BYTES = 1 << 21
_BATCH_ROWS = 8192


@dataclass
class Options:
    """Everything that changes which pairs are read."""

    columns: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    """Columns wanted for slices."""
    weight: str | None = None
    cluster: str | None = None
    limit: int | None = None
    skip_bad: bool = False


@dataclass
class Pairs:
    """Some pairs of one input, as columns."""

    ids: list[str]
    queries: list[str | None]
    sentences: list[str | None]
    db_ids: list[str | None] | None
    references: list[str | None] | None
    batch: TableBatch


class Records:
    """An input opened: iterate its batches, then ask what was found."""

    def __init__(self, data: Any, options: Options) -> None:
        self.data = data
        self.options = options
        self.notes: list[str] = []
        self._table: TableReader | None = None

    def pairs(self) -> Iterator[Pairs]:
        o = self.options
        self._table = TableReader(
            self.data,
            columns=o.columns,
            asked=[*ASKED, *o.keep, *filter(None, [o.weight, o.cluster])],
            limit=o.limit,
            skip_bad=o.skip_bad,
            block_bytes=_BLOCK_BYTES,
            batch_rows=_BATCH_ROWS,
        )
        several = isinstance(self.data, (list, tuple)) and len(self.data) > 1
        count = 0
        for batch in self._table:
            count += len(batch.frame)
            prefix = f"{Path(batch.path).name}:" if several and batch.path else ""
            yield self._pairs(batch, prefix)
        if not count:
            raise InputError(
                expected="at least one pair of a query and a sentence", got="none",
                hint="The input holds nothing to measure.", reason="empty",
            )  # fmt: skip

    def _pairs(self, batch: TableBatch, prefix: str) -> Pairs:
        frame = batch.frame
        query = _column(batch, "query", QUERY_NAMES, self.options.columns)
        sentence = _column(batch, "sentence", SENTENCE_NAMES, self.options.columns, taken=query)
        place = frame[batch.place].cast(pl.String)
        ids = frame["id"].cast(pl.String).fill_null(place) if "id" in frame.columns else place
        db = next((n for n in DB_NAMES if n in frame.columns), None)
        reference = next((n for n in REFERENCE_NAMES if n in frame.columns and frame[n].dtype == pl.String), None)
        return Pairs(
            [prefix + i for i in ids.to_list()] if prefix else ids.to_list(),
            _texts(batch, query, self.options.skip_bad),
            _texts(batch, sentence, self.options.skip_bad),
            frame[db].cast(pl.String).to_list() if db is not None else None,
            frame[reference].to_list() if reference is not None else None,
            batch,
        )

    def batches(self, checker: Checker, done: int = 0) -> Iterator[Batch]:
        """Measured batches, from number `done` on."""
        for index, pairs in enumerate(self.pairs()):
            if index < done:
                continue
            frame, texts = measure(checker, pairs.ids, pairs.queries, pairs.sentences, pairs.db_ids)
            yield Batch(self.with_fields(frame, pairs.batch), texts)

    def with_fields(self, frame: pl.DataFrame, batch: TableBatch) -> pl.DataFrame:
        """Add slices, cluster and weight to measurements of the batch's rows."""
        o = self.options
        for name in o.keep:
            if name not in frame.columns:
                batch.require([name])
                frame = frame.with_columns(batch.frame[name].cast(pl.String))
        if o.cluster:
            batch.require([o.cluster])
            frame = frame.with_columns(batch.frame[o.cluster].cast(pl.String).alias("cluster"))
        if o.weight:
            frame = frame.with_columns(batch.numbers(o.weight).alias("weight"))
        return frame

    def inputs(self) -> list[dict[str, Any]]:
        files = self._table.files if self._table is not None else []
        return [
            {"path": f.path, "sha256": f.sha256, "bytes": f.raw_bytes, "rows": f.rows, "bad": f.bad}
            for f in files
            if f.path
        ]


def _column(
    batch: TableBatch, ours: str, names: Sequence[str], renamed: Mapping[str, str], taken: str | None = None
) -> str:
    """The column that holds the queries (or sentences): the one so named, or the first usual name of a text."""
    frame = batch.frame
    if ours in renamed:
        return ours
    for name in names:
        if (
            name in frame.columns
            and name != taken
            and (frame[name].dtype == pl.String or name == "question_toks" or frame[name].null_count() == len(frame))
        ):
            return name
    there = [c for c in frame.columns[1:] if c != taken]
    raise InputError(
        path=batch.path or None, field=ours, expected=f"a column of this name (or {', '.join(names[1:5])}, …)",
        got=f"the columns {', '.join(shown(c, 40) for c in there[:8])}" if there else "no other column",
        hint=f"Name yours with --columns {ours}=COLUMN (columns=).", reason="no_column",
    )  # fmt: skip


def _texts(batch: TableBatch, name: str, skip_bad: bool) -> list[str | None]:
    column = batch.frame[name]
    if isinstance(column.dtype, pl.List):  # the original's tokenised questions
        return column.cast(pl.List(pl.String)).list.join(" ").to_list()
    texts = column.cast(pl.String).to_list() if column.dtype != pl.String else column.to_list()
    if not skip_bad:
        for row, text in enumerate(texts):
            if text is None:
                raise batch.error(
                    row, field=name, expected="a text", got="none",
                    hint="Fill it in, or pass --skip-bad (skip_bad=True) to count the pair as unscored.",
                    reason="missing_text",
                )  # fmt: skip
    return texts


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
        found = {f.stem: _sqlite(f) for f in sorted(path.rglob("*")) if f.suffix in _SQLITE_ENDINGS}
        if not found:
            raise InputError(path=str(path), expected="SQLite files in this folder", got="none", reason="no_schema")
        return found
    try:
        start = path.open("rb").read(16)
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", path=str(path), field="schema",
            hint="Give tables.json, a SQLite file, a folder of them, or a .sql file with CREATE TABLE.",
            reason="no_schema",
        ) from None  # fmt: skip
    if start == _SQLITE_MAGIC:
        return _sqlite(path)
    if path.suffix == ".json":
        try:
            document = json.loads(path.read_text("utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                path=str(path), expected="Spider's tables.json (a list of schemas)", got=str(error), reason="bad_schema"
            ) from None
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
            reason="bad_schema",
        )  # fmt: skip
    return schema


def _spider(entries: Sequence[Any], path: str) -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for record, entry in enumerate(entries, 1):
        try:
            schema = from_spider(entry)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(
                path=path, record=record, expected="a schema as in Spider's tables.json (db_id, table_names_original, "
                "column_names_original, …)", got=f"{type(error).__name__}: {error}", reason="bad_schema",
            ) from None  # fmt: skip
        found[schema.db_id] = schema
    return found


def _sqlite(path: Path) -> Schema:
    try:
        return from_sqlite(path)
    except sqlite3.Error as error:
        raise InputError(path=str(path), expected="a SQLite database", got=str(error), reason="bad_schema") from None


def identity_of(given: Any) -> str:
    """What a signature says of a schema or lexicon: its digest, so that another one is seen."""
    if given is None:
        return "none"
    if isinstance(given, (str, os.PathLike)) and Path(given).is_file():
        digests = []
        for source in sources(given):
            source.digest_file()
            digests.append((source.sha256 or "")[:12])
        return ",".join(digests)
    return "given"
