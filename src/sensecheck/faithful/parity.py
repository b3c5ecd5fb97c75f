"""`--as blec`: the original's verdicts as a result, taken from `original` and from nowhere else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.faithful import original
from sensecheck.faithful.columns import FIELDS, Sides, sides_of
from sensecheck.faithful.question import QUESTION
from sensecheck.faithful.records import Pairs, identity_of, pairs_of
from sensecheck.faithful.schema import spider_entry
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.json_arrays import read_document
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch
from sensecheck.report.asking import Asked
from sensecheck.report.instrument import TableInstrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure
from sensecheck.statistics.measurements import concatenated
from sensecheck.statistics.table import Slice

NO_INTERVAL = "parity with the original: it gives no interval"


class Blec(TableInstrument):
    """BLEC's verdict for every pair; a pair on which the original raises is unscored with that reason."""

    question = QUESTION
    original = "blec"
    fields = FIELDS

    def __init__(self, data: Any, asked: Asked, language: str, slots: Slots) -> None:
        super().__init__(data, asked)
        self.language = language
        self.slots = slots
        self.sides = Sides("query", "sentence")

    def look_at(self, first: TableBatch) -> None:
        self.sides = sides_of(first, self.asked.columns, self.language)
        self.notes += self.sides.notes()

    def learnt(self) -> Method:
        return self.sides.choice()

    def method(self) -> Method:
        slots = self.slots
        template = {} if slots.template_file is None else {"template": identity_of(slots.template_file)}
        return {"language": self.language, "mode": "translated" if slots.translate else "original", **template}

    def plan(self) -> Mapping[str, Any]:
        return {"schema": self.slots.schema_identity}

    def measure(self, batch: TableBatch) -> Batch:
        pairs = pairs_of(batch, self.sides, self.asked)
        rows = list(_verdicts(pairs, self.slots if self.language == "sql" else None))
        measurements = pl.DataFrame(
            {
                "scored": [reason is None for _, reason in rows],
                "reason": pl.Series([reason for _, reason in rows], dtype=pl.String),
                "consistent": pl.Series([None if e is None else not e for e, _ in rows], dtype=pl.Boolean),
                "errors": pl.Series([None if e is None else len(e) for e, _ in rows], dtype=pl.Int32),
            }
        )
        texts = {
            "query": pairs.queries,
            "sentence": pairs.sentences,
            "error_tokens": [None if errors is None else json.dumps(errors) for errors, _ in rows],
        }
        return Batch(measurements, pl.DataFrame({name: pl.Series(t, dtype=pl.String) for name, t in texts.items()}))

    def estimates(self, result: Result) -> Estimates:
        everything = concatenated(result.rows)
        slices = {
            key: [_figures(part, _named(key, part)) for part in _parts(everything, key)] for key in self.asked.slices
        }
        return Estimates(_figures(everything, {}), slices)

    def finish(self, result: Result) -> None:
        result.notes += self.slots.notes()


class Slots:
    """The slot dictionary of a query: looked up in a template, or made from the schema."""

    def __init__(
        self, language: str, schema: Any, template: str | os.PathLike[str] | None = None, translate: bool = False
    ) -> None:
        if language not in ("sql", "logic2text"):
            raise InputError(
                f"BLEC knows SQL (Spider) and Logic2text, not {language}", field="language", hint="Leave out --as.",
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        if language == "sql" and template is None and schema is None:
            raise InputError(
                "BLEC needs the slots of every query: a schema or a template file", field="schema",
                hint="Give --schema tables.json, or --template template_to_names.json.", reason=Reason.BAD_OPTION,
            )  # fmt: skip
        self.template_file, self.translate = template, translate
        self.schema_identity = identity_of(schema)
        self.template: Mapping[str, Mapping[str, str]] | None = None
        self.schemas: dict[str, Mapping[str, Any]] = {}
        self.of_queries: dict[tuple[str, str | None], Mapping[str, str]] = {}
        self.not_found = 0
        if language == "sql" and template is not None:
            self.template = _template(template)[1 if translate else 0]
        elif language == "sql":
            self.schemas = {str(e.get("db_id", "")): e for e in _entries(schema)}

    def of(self, sql: str, db_id: str | None) -> Mapping[str, str] | None:
        if self.template is not None:
            slots = self.template.get(sql)
            self.not_found += slots is None
            return slots
        key = (sql, db_id)
        if key not in self.of_queries:
            if len(self.of_queries) > 100_000:
                self.of_queries.clear()
            entry = self.schemas.get(db_id or "") or (
                next(iter(self.schemas.values())) if len(self.schemas) == 1 else None
            )
            if entry is None:
                raise InputError(
                    field="db_id",
                    expected="a database of the schema file",
                    got=repr(db_id),
                    reason=Reason.UNKNOWN_DB_ID,
                )
            self.of_queries[key] = original.name_dict(sql, entry)
        return self.of_queries[key]

    def notes(self) -> list[str]:
        if not self.not_found:
            return []
        return [f"{self.not_found:,} queries are not in the template: the original calls them consistent"]


def _template(path: str | os.PathLike[str]) -> Sequence[Mapping[str, Mapping[str, str]]]:
    """What `original.read_template` reads, checked: the slots of every original query, and of every translated one."""
    expected = "a list of two objects, each from query to its slots (a template file of the original)"
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=str(path), field="template") from None
    parts = read_document(content, str(path), expected)
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, dict) for part in parts):
        raise InputError(path=str(path), field="template", expected=expected, got=shown(parts, 60))
    for query, slots in (item for part in parts for item in part.items()):
        if not isinstance(slots, dict) or not all(isinstance(name, str) for name in slots.values()):
            raise InputError(
                path=str(path), field=shown(query, 60), expected="an object from slot to name", got=shown(slots, 60)
            )
    return parts


def _entries(schema: Any) -> list[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        given = [schema] if "table_names_original" in schema else list(schema.values())
        return [spider_entry(entry, "schema", record) for record, entry in enumerate(given, 1)]
    if isinstance(schema, (list, tuple)) and schema and isinstance(schema[0], Mapping):
        return [spider_entry(entry, "schema", record) for record, entry in enumerate(schema, 1)]
    if isinstance(schema, (list, tuple)):
        return [entry for one in schema for entry in _entries(one)]
    path = Path(schema)
    if path.suffix != ".json":
        raise InputError(
            path=str(path),
            expected="Spider's tables.json for --as blec",
            got=path.suffix or "another file",
            reason=Reason.BAD_SCHEMA,
        )
    document = read_document(path.read_bytes(), str(path), "Spider's tables.json (a list of schemas)")
    entries = document if isinstance(document, list) else [document]
    checked = [spider_entry(entry, str(path), record) for record, entry in enumerate(entries, 1)]
    return [{"table_names": entry["table_names_original"], **entry} for entry in checked]


def _verdicts(pairs: Pairs, slots: Slots | None) -> Iterator[tuple[list[str] | None, str | None]]:
    for i, (query, sentence) in enumerate(zip(pairs.queries, pairs.sentences, strict=True)):
        if query is None or sentence is None:
            yield None, Reason.MISSING_QUERY if query is None else Reason.MISSING_SENTENCE
            continue
        try:
            if slots is None:
                reference = pairs.references[i] if pairs.references is not None else None
                yield original.logic2text_errors(query, sentence, reference), None
                continue
            names = slots.of(query, pairs.db_ids[i] if pairs.db_ids is not None else None)
            yield ([] if names is None else original.spider_errors(query, names, sentence)), None
        except (ValueError, UnboundLocalError, re.error, OverflowError) as failure:
            if isinstance(failure, InputError):
                raise
            yield None, f"the original raises {type(failure).__name__}"


def _figures(frame: pl.DataFrame, within: Mapping[str, str]) -> list[Figure]:
    scored = frame.filter(pl.col("scored"))
    reasons = frame.filter(~pl.col("scored")).group_by("reason").len().rows()
    unscored = {str(reason): int(n) for reason, n in sorted(reasons)}
    n = len(scored)
    nan = float("nan")
    rate = float(scored["consistent"].mean() or 0.0) if n else nan  # type: ignore[arg-type]
    errors = float(scored["errors"].mean() or 0.0) if n else nan  # type: ignore[arg-type]
    return [
        Figure(
            "consistent", "consistent (BLEC)", rate, n, unscored=unscored, absent=NO_INTERVAL, direction="higher",
            slice=within,
        ),
        Figure(
            "errors", "errors a pair (BLEC)", errors, n, unscored=unscored, absent=NO_INTERVAL, direction="lower",
            range=(0.0, float("inf")), slice=within,
        ),
    ]  # fmt: skip


def _parts(frame: pl.DataFrame, key: Slice) -> list[pl.DataFrame]:
    return frame.sort(list(key), maintain_order=True).partition_by(list(key), maintain_order=True)


def _named(key: Slice, part: pl.DataFrame) -> dict[str, str]:
    return {column: str(part[column][0]) for column in key}
