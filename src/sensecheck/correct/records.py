"""Files of predicted queries with gold queries or gold answers.

The seed's JSON (question_type, description, question, answer, actions, results, sparql_delex, turnID) is read as it
is; JSONL, CSV, Parquet and tables in memory by the same names, by common other ones, or by those that `columns`
gives. Records come in batches that are always cut the same way, so that a stopped run can go on.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal

import orjson
import polars as pl

from sensecheck.correct.fields import NAMES, PLACES, Column, FieldNames, Fields, Names, Piece, Rows, fields_of
from sensecheck.correct.given import Given
from sensecheck.inputs.errors import SKIP_HINT, InputError, did_you_mean, shown
from sensecheck.inputs.field_names import found
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.guarding import guarded
from sensecheck.inputs.half_characters import whole_value
from sensecheck.inputs.hugging_face import is_arrow
from sensecheck.inputs.json_arrays import (
    NotAnArrayError,
    array_pieces,
    is_nested,
    loads,
    many_objects,
    no_document,
    not_utf8,
    read_document,
)
from sensecheck.inputs.opening import Source, file_sources, is_path, names_files
from sensecheck.inputs.reasons import Reason, is_fault
from sensecheck.inputs.tables import (
    TableReader,
    bad_json_line,
    check_columns,
    check_names,
    detect_table_format,
    too_deep,
)
from sensecheck.language.sparql import parse
from sensecheck.language.sparql.label_service import uses_label_service
from sensecheck.report.asking import Asked
from sensecheck.report.repeats import SAMPLE_COLUMNS, without_ids
from sensecheck.stages import READING, handed, staged, within
from sensecheck.stores import STANDARD_PREFIXES

BATCH_RECORDS = 4096  # after so many, what was answered is safe on disk
UNASKED_RECORDS = 16384  # where nothing is asked, a batch costs time only
LINES_BYTES = 1 << 20  # of JSONL at a time: few enough to stay near the processor
FIRST_ROWS = 50  # that tell what kind of records they are

_CUT_SHORT = "Was the file cut short?"

Language = Literal["sparql", "sql"]

MEASURED = frozenset(
    {
        "question_type", "subtype", "distance", "context", "ellipsis", "multi_entity", "triples", "kind", "outcome",
        "vacuous_kind", "why", "several",
    }
)  # fmt: skip
"""Columns that measuring makes: slices by these names are not looked for in the input."""
SYSTEM_COLUMNS = ("system", "model", "model_name", "run", *SAMPLE_COLUMNS)
"""Columns that tell systems apart where nobody names one; samples of one system are the next best."""
MADE_OF_GOLD = ("hardness", "joins", "nesting", "aggregates")
"""Columns that measuring makes of gold SQL; an input that has one of its own keeps it."""
SPICE_FIELDS = frozenset({"question_type", "turnID"})
"""What records of the SPICE evaluation have, and together no others."""


@dataclass(slots=True)
class Record:
    """One question with what was predicted for it. `fault` says why it cannot be scored at all."""

    id: str
    prediction: str | None
    gold: str | None = None
    question_type: str = ""
    subtype: str = ""
    question: str = ""
    answer: Any = None
    results: list[Any] | None = None
    turn: str = ""
    distance: str = ""
    database: str = ""
    conversation: str = ""
    fault: str = ""
    given: Given | None = None
    """Answers that it brings in the place of queries."""


_FIELDS = tuple(Record.__slots__)


@dataclass(slots=True)
class Records:
    """A batch of records, held as columns in the order of Record's fields: a million of them is a few long lists."""

    id: list[str] = field(default_factory=list)
    prediction: list[str | None] = field(default_factory=list)
    gold: list[str | None] = field(default_factory=list)
    question_type: list[str] = field(default_factory=list)
    subtype: list[str] = field(default_factory=list)
    question: list[str] = field(default_factory=list)
    answer: list[Any] = field(default_factory=list)
    results: list[list[Any] | None] = field(default_factory=list)
    turn: list[str] = field(default_factory=list)
    distance: list[str] = field(default_factory=list)
    database: list[str] = field(default_factory=list)
    conversation: list[str] = field(default_factory=list)
    fault: list[str] = field(default_factory=list)
    given: list[Given | None] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)
    """Columns of the input that slices, clusters and weights need."""
    origins: list[tuple[str, int, int]] = field(default_factory=list)
    """Where they come from, one after the other: file, number of the first record there, how many."""
    written: list[str | None] | None = None
    """The predictions as they were written, where a statement was taken out of any of them."""
    golds: dict[int, list[str]] = field(default_factory=dict)
    """Row → its gold queries, where there are several and any is right; `gold` holds the first."""

    def __len__(self) -> int:
        return len(self.id)

    def __iter__(self) -> Iterator[Record]:
        return map(Record, *(getattr(self, name) for name in _FIELDS))

    def extend(self, other: Records) -> None:
        for name in _FIELDS:
            getattr(self, name).extend(getattr(other, name))
        for name, column in other.extra.items():
            self.extra.setdefault(name, []).extend(column)
        self.origins += other.origins

    def taking(self, rows: Sequence[int]) -> Records:
        """Only these rows, before anything was done to them."""
        taken = Records(extra={name: [column[row] for row in rows] for name, column in self.extra.items()})
        for name in _FIELDS:
            column = getattr(self, name)
            setattr(taken, name, [column[row] for row in rows])
        places = [(path, first + at) for path, first, count in self.origins for at in range(count)]
        taken.origins = [(*places[row], 1) for row in rows]
        return taken

    def replace(self, row: int, record: Record) -> None:
        for name in _FIELDS:
            getattr(self, name)[row] = getattr(record, name)


class _BlankLineError(InputError):
    """A blank line where a record was expected."""


class Reader:
    """Reads records batch by batch, from files, patterns, tables or lists of dictionaries."""

    def __init__(
        self,
        data: Any,
        asked: Asked | None = None,
        *,
        distances: Mapping[str, str] | None = None,
        batch_records: int | None = None,
        needs_gold: bool = True,
    ) -> None:
        self.data = data
        self.asked = asked or Asked()
        self.distances = distances
        self.batch_records = batch_records
        self.needs_gold = needs_gold
        self.bad: dict[str, int] = {}
        """Why records were bad → how many."""
        self.label_services = 0
        """Records that ask Wikidata's label service; like all counts here, of skipped batches too."""
        self.answered = 0
        """Predictions that are answers."""
        self.untold = 0
        """Records whose answers tell neither type nor language of their values."""
        self.files: list[dict[str, Any]] = []
        """The files that were read to their end, with their digests."""
        self._kept = [name for name in self.asked.wanted if name not in MEASURED]
        self._sampled: str | None = None
        self.systems: str | None = None
        """The column that tells systems apart, where somebody asks for it."""
        self._names: dict[tuple[str, ...], FieldNames] = {}
        self._begun: Iterator[Piece] | None = None
        self._numbered = 0  # records so far, over all inputs
        self._in_memory: list[Any] | None = None

    def batches(self, done: int = 0) -> Iterator[Records]:
        """Batches from number `done` on."""
        check_names(self.asked.columns, [*NAMES, *self._kept])
        pieces, self._begun = self._begun or self._pieces(), None
        batches = staged(READING, self._cut(pieces), count=len)
        for number in count():
            with many_objects():
                batch = next(batches, None)
            if batch is None:
                return
            if number >= done:
                yield batch

    def _cut(self, pieces: Iterator[Piece]) -> Iterator[Records]:
        size = self.batch_records or BATCH_RECORDS
        limit = self.asked.limit
        taken = 0
        batch = Records()
        for piece in pieces:
            if self.asked.columns and not taken:
                check_columns(self.asked.columns, fields_of(piece.rows), piece.path)
            start = 0
            while start < len(piece.rows) and taken != limit:
                room = size - len(batch)
                stop = start + (room if limit is None else min(room, limit - taken))
                part = self._records(piece.part(start, stop))
                batch.extend(part)
                start += len(part)
                taken += len(part)
                within(start - len(batch), len(piece.rows))
                if limit is not None:
                    handed(taken - len(batch), limit)
                if len(batch) == size:
                    yield batch
                    batch = Records()
            if taken == limit:
                break
        if batch:
            yield batch
        if not taken:
            named = str(self.data) if is_path(self.data) else None
            raise InputError("there are no records", path=named, reason=Reason.EMPTY)

    # ---- what kind of records they are

    def first_rows(self) -> list[Mapping[str, Any]]:
        """The first rows as they stand in the input. Nothing is read twice: `batches` begins with them."""
        pieces = self._pieces()
        filled = next((piece for piece in pieces if len(piece.rows)), None)
        if filled is None:
            self._begun = iter(())
            return []
        self._begun = chain([filled], pieces)
        rows = filled.rows[:FIRST_ROWS]
        listed = rows.to_dicts() if isinstance(rows, pl.DataFrame) else rows
        return [row for row in listed if isinstance(row, Mapping)]

    def check_fields(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Refuse what the user names and the first rows do not have, before anything is asked."""
        check_names(self.asked.columns, [*NAMES, *self._kept])
        fields = tuple(dict.fromkeys(name for row in rows for name in row))
        if not fields:
            return
        path = next((source.name for source in file_sources(self.data)), "")
        check_columns(self.asked.columns, fields, path)
        absent = [name for name in MADE_OF_GOLD if self.asked.columns.get(name, name) not in fields]
        self._kept = [name for name in self._kept if name not in absent]
        for name in self._kept:
            theirs = self.asked.columns.get(name, name)
            if theirs not in fields and name != self.asked.repeat:
                there = ", ".join(shown(field, 30) for field in fields[:12])
                raise InputError(
                    path=path or None, field=theirs, expected="a column of that name to slice by",
                    got=f"the columns {there}", hint=did_you_mean(theirs, fields), reason=Reason.UNKNOWN_COLUMN,
                )  # fmt: skip

    def says(self, rows: Sequence[Mapping[str, Any]], *ours: str) -> bool:
        """Whether the first rows have any of these fields."""
        return any(self._names_of(tuple(row))[PLACES[name]] is not None for row in rows for name in ours)

    def find_samples(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Refuse rows without the column that tells samples of one example apart; without one named, look for it."""
        fields = tuple(dict.fromkeys(name for row in rows for name in row))
        if not fields:
            return
        named = self._names_of(fields)[PLACES["id"]] is not None
        repeat = self.asked.repeat
        if repeat is None:
            self._sampled = next((name for name in SAMPLE_COLUMNS if named and name in fields), None)
        elif repeat not in MEASURED:
            theirs = self.asked.columns.get(repeat, repeat)
            if theirs not in fields:
                raise InputError(
                    field="repeat", expected=f"a column {shown(theirs, 60)}",
                    got=f"the columns {', '.join(shown(name, 30) for name in fields[:12])}",
                    hint=did_you_mean(theirs, fields), reason=Reason.UNKNOWN_COLUMN,
                )  # fmt: skip
        if repeat is not None and not named:
            raise without_ids()

    def find_systems(self, rows: Sequence[Mapping[str, Any]], named: str | None) -> None:
        """Find the column that tells systems apart: the one that is named, or by its usual names."""
        fields = tuple(dict.fromkeys(name for row in rows for name in row))
        self.systems = next((name for name in [named, *SYSTEM_COLUMNS] if name in fields), None)
        if named is not None and self.systems != named:
            raise InputError(
                field="systems", expected=f"a column {shown(named, 60)}",
                got=f"the columns {', '.join(shown(name, 30) for name in fields[:12])}",
                hint=did_you_mean(named, fields), reason=Reason.UNKNOWN_COLUMN,
            )  # fmt: skip

    @property
    def has_samples(self) -> bool:
        """Whether rows may be samples of one example."""
        return self.asked.repeat is not None or self._sampled is not None

    def language_of(self, rows: Sequence[Mapping[str, Any]]) -> Language:
        """SPARQL or SQL, by the first gold query or prediction that can tell."""
        for row in rows:
            names = self._names_of(tuple(row))
            gold, prediction = names[PLACES["gold"]], names[PLACES["prediction"]]
            if prediction is None and names[PLACES["predicted_answers"]] is None:
                continue  # a bad record
            told = None if prediction is None else row[prediction]
            if not isinstance(told, str | list | dict | None):
                continue  # a bad record
            text = (gold is not None and row[gold]) or told
            if isinstance(text, str) and text:
                return "sparql" if "{" in text else "sql"
        return "sql" if any(map(_brings_table, rows)) else "sparql"

    def brings_answers(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether predictions may be answers already: then some figures need no store."""
        for row in rows:
            names = self._names_of(tuple(row))
            prediction = names[PLACES["prediction"]]
            if names[PLACES["predicted_answers"]] is not None:
                return True
            if prediction is not None and isinstance(row[prediction], list | dict):
                return True
        return False

    # ---- where rows come from

    def _pieces(self) -> Iterator[Piece]:
        self.files.clear()
        self._numbered = 0
        if isinstance(self.data, Gathered):
            yield from self._gathered(self.data)
        elif names_files(self.data):
            for source in file_sources(self.data):
                for rows, first, names in self._file(source):
                    yield Piece(self._shallow(rows, source.name, first), source.name, first, names)
                self.files.append({"path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes})
        elif isinstance(self.data, Sequence) and all(isinstance(row, Mapping) for row in self.data):
            if self._in_memory is None:
                self._in_memory = [whole_value(row) for row in self._shallow(self.data, "", 1)]
            yield Piece(self._in_memory, "", 1, self._names_for(self._in_memory))
        else:
            for rows, first, names in self._tables(TableReader(self.data)):
                yield Piece(rows, "", first, names)

    def _gathered(self, data: Gathered) -> Iterator[Piece]:
        self.files += data.inputs
        rows = data.dictionaries()
        yield Piece(rows, data.path, 1, self._names_for(rows))
        if data.bad:
            faults = [InputError(reason=one.reason) for one in data.bad]
            names = [one.id or f"{Path(one.path).name}:{one.line} (bad)" for one in data.bad]
            yield Piece(faults, data.path, len(data) + 1, names)

    def _shallow(self, rows: Rows, path: str, first: int) -> Rows:
        """The rows, with an error in the place of one that is nested too deeply to be told."""
        if isinstance(rows, pl.DataFrame) or not any(map(is_nested, rows)):
            return rows
        shallow: list[Any] = []
        for place, row in enumerate(rows, first):
            if is_nested(row):
                row = too_deep(path=path or None, record=place, hint=SKIP_HINT)
                if not self.asked.skip_bad:
                    raise row
            shallow.append(row)
        return shallow

    def _names_for(self, rows: Sequence[Any]) -> Names:
        """The numbers of some records, which go on over all inputs; a blank line is no record and has none."""
        first = self._numbered + 1
        if not self.asked.skip_bad or not any(isinstance(row, _BlankLineError) for row in rows):
            self._numbered += len(rows)
            return range(first, first + len(rows))
        names: list[int | str] = []
        for row in rows:
            if isinstance(row, _BlankLineError):
                names.append(f"{Path(row.path or '').name}:{row.line} (bad)")
            else:
                self._numbered += 1
                names.append(self._numbered)
        return names

    def _tables(self, reader: TableReader) -> Iterator[tuple[Rows, int, Names]]:
        before = self._numbered
        following = 1
        for batch in reader:
            assert batch.record_numbers is not None
            first = int(batch.frame[batch.place][0])
            following = first + len(batch.frame)
            yield batch.frame.drop(batch.place), first, (batch.record_numbers + before).to_list()
        self._numbered += sum(file.records for file in reader.files)
        lost = reader.lost_lines()
        if lost is not None:
            # Lines that are no rows of the table are records that are bad.
            yield [InputError(reason=Reason(reason)) for reason in lost["reason"]], following, lost["id"].to_list()

    def _file(self, source: Source) -> Iterator[tuple[Rows, int, Names]]:
        if source.path is None:
            yield from self._stream(source)
            return
        kind = _kind_of(source)
        if kind == "json":
            yield from self._document(source)
        elif kind == "jsonl":
            yield from self._by_line(source)
        else:
            table = TableReader(source.path, skip_bad=self.asked.skip_bad)
            yield from self._tables(table)
            for file in table.files:
                source.sha256, source.raw_bytes = file.sha256, file.raw_bytes

    def _stream(self, source: Source) -> Iterator[tuple[Rows, int, Names]]:
        """Standard input or an open stream: its kind shows only once it is read."""
        text = source.read()
        kind = detect_table_format(text[:4096], source.name).name
        if kind == "json":
            rows = self._whole(text, source)
            yield rows, 1, self._names_for(rows)
        elif kind == "jsonl":
            lines = text.rstrip().splitlines()
            rows = self._lines(lines, source.name, 1)
            rows = self._unwrapped(rows[0]) if len(rows) == 1 and isinstance(rows[0], dict) else rows
            yield rows, 1, self._names_for(rows)
        else:
            yield from self._tables(TableReader(io.BytesIO(text), skip_bad=self.asked.skip_bad))

    def _document(self, source: Source) -> Iterator[tuple[Rows, int, Names]]:
        number = 1
        try:
            for rows in array_pieces(source.pieces()):
                yield rows, number, self._names_for(rows)
                number += len(rows)
        except NotAnArrayError as error:
            rows = self._whole(error.text, source)
            yield rows, 1, self._names_for(rows)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise no_document(error, source.name, "a JSON list of records", hint=_CUT_SHORT) from None

    def _whole(self, text: bytes, source: Source) -> list[Any]:
        """The records of a document that is no plain array of objects."""
        if not text.strip():
            return []
        rows = read_document(text, source.name, "a JSON list of records", hint=_CUT_SHORT)
        if isinstance(rows, dict):
            rows = self._unwrapped(rows)
        if not isinstance(rows, list):
            raise InputError(
                path=source.name, expected="a JSON list of records", got=shown(rows, 60), reason=Reason.NOT_A_LIST
            )
        return rows

    def _by_line(self, source: Source) -> Iterator[tuple[Rows, int, Names]]:
        number = 1
        blank = 0  # lines at the end of the last block that may turn out to be the end of the file
        for block in source.blocks(LINES_BYTES):
            lines = [b""] * blank + block.data.splitlines()
            number -= blank
            full = len(lines)
            while lines and not lines[-1].strip():
                lines.pop()
            blank = full - len(lines)
            rows = self._lines(lines, source.name, number)
            if number == len(rows) == 1 and isinstance(rows[0], dict):
                rows = self._unwrapped(rows[0])
            yield rows, number, self._names_for(rows)
            number += full

    def _unwrapped(self, document: dict[str, Any]) -> list[Any]:
        """The records in a mapping of ids to records, or in the one list that it holds; else itself, as a record."""
        names = self._names_of(tuple(document))
        if names[PLACES["prediction"]] is None and names[PLACES["predicted_answers"]] is None:
            lists = [value for value in document.values() if isinstance(value, list)]
            if len(lists) == 1:
                return lists[0]
            if document and all(isinstance(value, dict) for value in document.values()):
                return [{"id": key, **value} for key, value in document.items()]
        return [document]

    def _lines(self, lines: list[bytes], path: str, first: int) -> list[Any]:
        try:
            return [orjson.loads(line) for line in lines]
        except orjson.JSONDecodeError:
            return [self._line(line, path, first + i) for i, line in enumerate(lines)]

    def _line(self, line: bytes, path: str, number: int) -> Any:
        try:
            return loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            fault = bad_json_line(path, number, error, Reason.BAD_JSON)
            if not line.strip():
                blank = "is blank; one record was expected"
                fault = _BlankLineError(blank, path=path, line=number, hint=SKIP_HINT, reason=Reason.BAD_JSON)
            if not self.asked.skip_bad:
                raise fault from None
            return fault

    # ---- from rows to records

    def _records(self, piece: Piece) -> Records:
        """The records of some rows; a bad one is an error, or is counted and has a fault in place of its content."""
        columns = self.asked.columns
        fields = Fields(piece, self._names_of)
        # Of several things that are wrong with a record, the first one here is told.
        predictions = fields.predictions(columns.get("prediction"))
        golds = fields.golds()
        types, subtypes, questions, databases = map(fields.texts, ("question_type", "subtype", "question", "database"))
        ids = fields.ids()
        turns, distances, conversations = map(fields.labels, ("turn", "distance", "conversation"))
        answers, results = fields.answers()
        if self.needs_gold:
            fields.require_gold(golds, answers, results)
        given = fields.given(results)
        turn_names = turns.spelled()
        if self.distances is not None:
            distances = Column.of(list(map(self.distances.get, turn_names)))
        records = Records(
            ids, predictions.values, golds.values, types.spelled(), subtypes.spelled(), questions.spelled(), answers,
            results, turn_names, distances.spelled("none"), databases.spelled(),
            fields.conversations(conversations, turn_names), [""] * len(fields), given,
            {name: fields.others(columns.get(name, name)) for name in self._kept} | self._samples(fields),
            [(piece.path, piece.first, len(fields))],
        )  # fmt: skip
        for row in sorted(fields.faults):
            self._put_fault(records, row, fields.record_name(row), fields.faults[row])
        self._count(records)
        return records

    def _count(self, records: Records) -> None:
        for pair in zip(records.prediction, records.gold, strict=True):
            # Both spellings of the keyword in one look each, since almost no query has it.
            asking = [text for text in pair if text is not None and ("ERVICE" in text or "ervice" in text)]
            self.label_services += any(map(_asks_for_labels, asking))
        for given in records.given:
            if given is not None:
                answers = [answer for answer in (given.predicted, *given.golds) if answer is not None]
                self.answered += given.predicted is not None
                self.untold += any(answer.detail == "plain" and answer.rows for answer in answers)

    def _samples(self, fields: Fields) -> dict[str, list[str]]:
        """What may tell samples of one example, or systems, apart, though nobody named it for the measurements."""
        names = [name for name in (self._sampled, self.systems) if name is not None and name not in self._kept]
        return {name: fields.others(name, required=False) for name in dict.fromkeys(names)}

    def _put_fault(self, records: Records, row: int, name: str, error: InputError) -> None:
        if not is_fault(error.reason):
            records.replace(row, Record(name, None, fault=error.reason))
            for column, texts in records.extra.items():
                texts[row] = "1" if column == self.asked.weight else ""
            return
        if not self.asked.skip_bad or error.reason == Reason.UNKNOWN_COLUMN:
            raise error
        why = error.reason if error.reason != Reason.OTHER_KIND else f"{error.field or 'record'} {error.reason}"
        self.bad[why] = self.bad.get(why, 0) + 1
        records.replace(row, Record(name, None, fault=f"bad record: {why}"))
        for column, texts in records.extra.items():
            texts[row] = "1" if column == self.asked.weight else ""

    def _names_of(self, fields: tuple[str, ...]) -> FieldNames:
        """Records of one file have the same fields in the same order: their names are looked up once."""
        names = self._names.get(fields)
        if names is None:
            names = self._names[fields] = tuple([self._name(ours, fields) for ours in NAMES])
        return names

    def _name(self, ours: str, fields: tuple[str, ...]) -> str | None:
        """The field that holds what we call `ours`."""
        given = self.asked.columns.get(ours)
        if given is not None:
            return given if given in fields else None
        others = {theirs for other, theirs in self.asked.columns.items() if other != ours}
        fields = tuple(name for name in fields if name not in others)  # what the user named is that, and nothing else
        return found(NAMES[ours], fields)


def _asks_for_labels(text: str) -> bool:
    asks = guarded("reading SERVICE", lambda: uses_label_service(parse(text, STANDARD_PREFIXES).query))
    return asks is True


def _brings_table(row: Mapping[str, Any]) -> bool:
    """Whether some field is a table with columns, or several of them."""
    values = [value[0] if isinstance(value, list) and value else value for value in row.values()]
    return any(isinstance(value, Mapping) and "columns" in value for value in values)


def is_spice(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are records of the SPICE evaluation."""
    return any(row.keys() >= SPICE_FIELDS for row in rows)


def _kind_of(source: Source) -> str:
    """json, jsonl, or anything else that is read as a table."""
    head = source.head(4096)
    name = source.name.lower()
    if head.startswith(b"PAR1"):
        return "parquet"
    if is_arrow(head):
        return "arrow"
    if not head or head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        # Packed, so that only the name can tell.
        plain = name.removesuffix(".gz").removesuffix(".zst").removesuffix(".zstd")
        return "json" if plain.endswith(".json") else "jsonl" if plain.endswith(".jsonl") else "table"
    kind = detect_table_format(head, name).name
    return "json" if kind != "jsonl" and name.endswith(".json") else kind


def read_distances(path: str | Path) -> dict[str, str]:
    """turnID → distance. Every line holds both, parted by a TAB; blank lines are passed over."""
    distances: dict[str, str] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise not_utf8(error, str(path)) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 2:
            raise InputError(
                path=str(path), line=number, expected="turnID, TAB, distance", got=shown(line.strip(), 60),
                hint="Are the columns separated by spaces? They need a TAB.", reason=Reason.NO_TAB,
            )  # fmt: skip
        distances[columns[0].strip()] = columns[1].strip()
    return distances
