"""Files of predicted queries with gold queries or gold answers.

The seed's JSON (question_type, description, question, answer, actions, results, sparql_delex, turnID) is read as it
is; JSONL, CSV, Parquet and tables in memory by the same names, by common other ones, or by those that `columns`
gives. Records come in batches that are always cut the same way, so that a stopped run can go on.
"""

from __future__ import annotations

import gc
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from sensecheck.inputs.errors import SKIP_HINT, InputError, did_you_mean, shown
from sensecheck.inputs.json_arrays import NotAnArrayError, array_pieces, loads
from sensecheck.inputs.opening import Source, is_path, sources
from sensecheck.inputs.tables import TableReader, check_columns, check_names, detect_table_format

BATCH_RECORDS = 4096  # after so many, what was answered is safe on disk
UNASKED_RECORDS = 16384  # where nothing is asked, a batch costs time only
LINES_BYTES = 1 << 20  # of JSONL at a time: few enough to stay near the processor

# Our name → the names it is known by in files, the first that is there wins.
NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "qname", "question_id", "turnID"),
    "prediction": ("prediction", "predicted", "actions", "pred", "predicted_query", "generated_query", "output"),
    "gold": ("gold", "sparql_delex", "gold_query", "gold_sparql", "gold_sql", "query", "sql", "sparql"),
    "question_type": ("question_type", "type"),
    "subtype": ("description", "subtype", "sub_type"),
    "question": ("question", "utterance", "nl"),
    "answer": ("answer",),
    "results": ("results", "gold_answers", "answers"),
    "turn": ("turnID", "turn_id", "turn"),
    "distance": ("distance", "context_distance"),
    "database": ("database", "db_id", "db"),
    "conversation": ("conversation", "conversation_id", "dialogue"),
}


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
    extra: dict[str, str] = field(default_factory=dict)
    fault: str = ""


@dataclass(slots=True)
class Records:
    """A batch of records, held as columns in the order of Record's fields: a million of them is a few long lists."""

    id: list[str]
    prediction: list[str | None]
    gold: list[str | None]
    question_type: list[str]
    subtype: list[str]
    question: list[str]
    answer: list[Any]
    results: list[list[Any] | None]
    turn: list[str]
    distance: list[str]
    database: list[str]
    conversation: list[str]
    extra: list[dict[str, str]]
    fault: list[str]

    @classmethod
    def of(cls, records: Sequence[Record]) -> Records:
        return cls(*([getattr(record, name) for record in records] for name in _FIELDS))

    def __len__(self) -> int:
        return len(self.id)

    def __iter__(self) -> Iterator[Record]:
        return map(Record, *(getattr(self, name) for name in _FIELDS))

    def extend(self, other: Records) -> None:
        for name in _FIELDS:
            getattr(self, name).extend(getattr(other, name))


_FIELDS = tuple(Record.__slots__)


@dataclass(slots=True)
class Reader:
    """Reads records batch by batch, from files, patterns, tables or lists of dictionaries."""

    data: Any
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    limit: int | None = None
    skip_bad: bool = False
    distances: Mapping[str, str] | None = None
    batch_records: int | None = None
    bad: dict[str, int] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    _names: dict[tuple[str, ...], tuple[str | None, ...]] = field(default_factory=dict)

    def batches(self, done: int = 0) -> Iterator[Records]:
        """Batches from number `done` on."""
        self._check_columns()
        self.files.clear()
        made = self._cut()
        for number in count():
            with _no_collection():
                batch = next(made, None)
            if batch is None:
                return
            if number >= done:
                yield batch

    def _cut(self) -> Iterator[Records]:
        size = self.batch_records or BATCH_RECORDS
        taken = 0
        several = False
        left: Records | None = None
        for rows, path, first, more in self._rows():
            if self.columns and not taken:
                there = dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row)
                check_columns(self.columns, there, path)
            several = several or more
            prefix = f"{Path(path).name}:" if several and path else ""
            start = 0
            while True:
                room = size - (len(left) if left is not None else 0)
                if self.limit is not None:
                    room = min(room, self.limit - taken)
                made = self._records(rows[start : start + room], path, first + start, prefix)
                start += len(made)
                taken += len(made)
                if left is None:
                    left = made
                else:
                    left.extend(made)
                if len(left) == size:
                    yield left
                    left = None
                elif len(made) < room or not room:
                    break
            if self.limit is not None and taken >= self.limit:
                break
        if left:
            yield left
        if not taken:
            raise InputError("there are no records", path=_named(self.data), reason="no_records")

    # ---- where rows come from

    def _rows(self) -> Iterator[tuple[Sequence[Any], str, int, bool]]:
        """Rows with the name of their file, the number of the first, and whether there are several files."""
        if _names_files(self.data):
            found = sources(self.data)
            for source in found:
                yield from ((rows, source.name, first, len(found) > 1) for rows, first in self._file(source))
                self.files.append({"path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes})
        elif isinstance(self.data, Sequence) and all(isinstance(row, Mapping) for row in self.data):
            yield self.data, "", 1, False
        else:
            for batch in TableReader(self.data):
                yield batch.frame.drop(batch.place).to_dicts(), "", int(batch.frame[batch.place][0]), False

    def _stream(self, source: Source) -> Iterator[tuple[Sequence[Any], int]]:
        """Standard input or an open stream: its kind shows only once it is read."""
        text = source.read()
        kind = detect_table_format(text[:4096], source.name).name
        if kind == "json":
            yield self._whole(text, source), 1
        elif kind == "jsonl":
            lines = text.rstrip().splitlines()
            rows = self._lines(lines, source.name, 1)
            yield self._unwrapped(rows[0]) if len(rows) == 1 and isinstance(rows[0], dict) else rows, 1
        else:
            for batch in TableReader(io.BytesIO(text), skip_bad=self.skip_bad):
                yield batch.frame.drop(batch.place).to_dicts(), int(batch.frame[batch.place][0])

    def _file(self, source: Source) -> Iterator[tuple[Sequence[Any], int]]:
        if source.path is None:
            yield from self._stream(source)
            return
        head = source.head(4096)
        name = source.name.lower()
        if head.startswith((b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")) or not head:
            packed = not head.startswith(b"PAR1")
            plain = name.removesuffix(".gz").removesuffix(".zst").removesuffix(".zstd")
            if not packed or not plain.endswith((".json", ".jsonl")):
                for batch in TableReader(source.path, skip_bad=self.skip_bad):
                    yield batch.frame.drop(batch.place).to_dicts(), int(batch.frame[batch.place][0])
                return
            kind = "json" if plain.endswith(".json") else "jsonl"
        else:
            kind = detect_table_format(head, name).name
            if kind not in ("json", "jsonl") and name.endswith(".json"):
                kind = "json"
        if kind == "json":
            yield from self._document(source)
        elif kind == "jsonl":
            yield from self._by_line(source)
        else:
            for batch in TableReader(source.path, skip_bad=self.skip_bad):
                first = int(batch.frame[batch.place][0])
                yield batch.frame.drop(batch.place).to_dicts(), first

    def _document(self, source: Source) -> Iterator[tuple[list[Any], int]]:
        number = 1
        try:
            for rows in array_pieces(source.pieces()):
                yield rows, number
                number += len(rows)
        except NotAnArrayError as error:
            yield self._whole(error.text, source), 1
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self._no_json(error, source) from None

    def _whole(self, text: bytes, source: Source) -> list[Any]:
        """The records of a document that is no plain array of objects."""
        if not text.strip():
            return []
        try:
            rows = loads(text)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self._no_json(error, source) from None
        if isinstance(rows, dict):
            rows = self._unwrapped(rows)
        if not isinstance(rows, list):
            raise InputError(
                path=source.name, expected="a JSON list of records", got=shown(rows, 60), reason="not_a_list"
            )
        return rows

    @staticmethod
    def _no_json(error: ValueError, source: Source) -> InputError:
        return InputError(f"is no JSON: {error}", path=source.name, hint="Was the file cut short?", reason="bad_json")

    def _by_line(self, source: Source) -> Iterator[tuple[list[Any], int]]:
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
            yield rows, number
            number += full

    def _unwrapped(self, document: dict[str, Any]) -> list[Any]:
        """The records in a mapping of ids to records, or in the one list that it holds; else itself, as a record."""
        if self._names_of(document)[1] is None:
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
        except ValueError as error:
            what = f"is no JSON object: {error}" if line.strip() else "is blank; one record was expected"
            fault = InputError(what, path=path, line=number, hint=SKIP_HINT, reason="bad JSON")
            if not self.skip_bad:
                raise fault from None
            return fault

    # ---- one record

    def _check_columns(self) -> None:
        check_names(self.columns, [*NAMES, *self.keep])

    def _records(self, rows: Sequence[Any], path: str, first: int, prefix: str) -> Records:
        made = self._alike(rows, first, prefix)
        if made is None:
            made = Records.of([self._record(row, path, number, prefix) for number, row in enumerate(rows, first)])
        return made

    def _alike(self, rows: Sequence[Any], first: int, prefix: str) -> Records | None:
        """Rows that have the same fields and nothing odd in them, column by column.

        Anything else is left to `_checked`, which gives the same records one by one and knows what to say.
        """
        if not rows or set(map(type, rows)) != {dict} or len(set(map(tuple, rows))) != 1:
            return None
        key, told, gold_name, kind_name, sub, asked, answer_name, results_name, turn_name, distance_name, base, talk = (
            self._names_of(rows[0])
        )
        if told is None or gold_name is None:
            return None

        def column(name: str | None) -> list[Any]:
            return [None] * len(rows) if name is None else list(map(itemgetter(name), rows))

        texts = []
        for name in (told, gold_name, kind_name, sub, asked, turn_name, base):
            values = column(name)
            kinds = set(map(type, values)) if name is not None else _NONE
            if not kinds <= _TEXT or (name == gold_name and None in values):
                return None
            if name not in (told, gold_name) and kinds != {str}:
                values = [value or "" for value in values]
            texts.append(values)
        predictions, golds, types, subtypes, questions, turns, databases = texts
        answers, results = column(answer_name), column(results_name)
        if not set(map(type, results)) <= _LIST or (None in results and list in set(map(type, answers))):
            return None
        distances = ["none"] * len(rows)
        if self.distances is not None:
            distances = [self.distances.get(turn, "none") for turn in turns]
        elif distance_name is not None:
            distances = ["none" if distance is None else str(distance) for distance in column(distance_name)]
        for name in (key, distance_name, talk):
            if name is not None and not _SEVERAL.isdisjoint(map(type, column(name))):
                return None
        labels = column(key)
        if key is None or set(map(type, labels)) != {str}:
            labels = [f"{prefix}{i}" if label is None else str(label) for i, label in enumerate(labels, first)]
        return Records(
            labels,
            predictions,
            golds,
            types,
            subtypes,
            questions,
            answers,
            results,
            turns,
            distances,
            databases,
            [turn.rpartition("#")[0] for turn in turns]
            if talk is None
            else ["" if value is None else str(value) for value in column(talk)],
            [{name: _text_of(row, self.columns.get(name, name)) for name in self.keep} for row in rows]
            if self.keep
            else [_NOTHING] * len(rows),
            [""] * len(rows),
        )

    def _names_of(self, row: dict[str, Any]) -> tuple[str | None, ...]:
        """Records of one file have the same fields in the same order: their names are looked up once."""
        fields = tuple(row)
        names = self._names.get(fields)
        if names is None:
            names = self._names[fields] = tuple([self._name(ours, row) for ours in NAMES])
        return names

    def _record(self, row: Any, path: str, number: int, prefix: str) -> Record:
        try:
            return self._checked(row, path, number, prefix)
        except InputError as error:
            return self._refuse(error, f"{prefix}{number}")

    def _refuse(self, error: InputError, name: str) -> Record:
        if not self.skip_bad or error.reason == "unknown column":
            raise error
        self.bad[error.reason] = self.bad.get(error.reason, 0) + 1
        return Record(name, None, fault=f"bad record: {error.reason}", extra=dict.fromkeys(self.keep, ""))

    def _checked(self, row: Any, path: str, number: int, prefix: str) -> Record:
        if isinstance(row, InputError):
            raise row
        if not isinstance(row, dict):
            if not isinstance(row, Mapping):
                raise self._wrong(path, number, None, "an object", row)
            row = dict(row)
        key, told, gold_name, kind_name, sub, asked, answer_name, results_name, turn_name, distance_name, base, talk = (
            self._names_of(row)
        )
        if told is None:
            raise self._no_prediction(row, path, number)
        prediction = row[told]
        gold = row[gold_name] if gold_name else None
        kind = row[kind_name] if kind_name else ""
        subtype = row[sub] if sub else ""
        question = row[asked] if asked else ""
        answer = row[answer_name] if answer_name else None
        results = row[results_name] if results_name else None
        turn = row[turn_name] if turn_name else ""
        distance = row[distance_name] if distance_name else None
        database = row[base] if base else ""
        if type(answer) is list and results is None:
            results, answer = answer, None
        if type(kind) is list:
            kind = kind[0] if kind else ""
        if not (
            type(prediction) is type(gold) is type(kind) is type(subtype) is type(question) is type(database) is str
        ):
            for name, value in ((told, prediction), (gold_name, gold), (kind_name, kind), (sub, subtype),
                                (asked, question), (base, database)):  # fmt: skip
                if value is not None and type(value) is not str:
                    raise self._wrong(path, number, name, "text", value)
        label = row[key] if key else None
        talked = row[talk] if talk else None
        for name, value in ((key, label), (turn_name, turn), (distance_name, distance), (talk, talked)):
            if type(value) in _SEVERAL:
                raise self._wrong(path, number, name, "text or a number", value)
        if results is not None and type(results) is not list:
            if type(results) is not str:
                raise self._wrong(path, number, results_name, "a list of answers", results)
            results = [results]
        if gold is None and results is None and answer is None:
            raise InputError(
                path=path or None, record=number, expected="a gold query or a gold answer", got="neither",
                hint=f"Looked for {', '.join(NAMES['gold'][:4])}, …; name it with --columns gold=COLUMN (columns=).",
                reason="no gold",
            )  # fmt: skip
        turn = turn if type(turn) is str else "" if turn is None else str(turn)
        if self.distances is not None:
            distance = self.distances.get(turn)
        if talk:
            conversation = "" if talked is None else str(talked)
        else:
            # `test#QA_81#QA_16#2` is turn 2 of a conversation; its turns are resampled together.
            conversation = turn[: turn.rindex("#")] if "#" in turn else ""
        return Record(
            f"{prefix}{number}" if label is None else str(label),
            prediction,
            gold,
            kind or "",
            subtype or "",
            question or "",
            answer,
            results,
            turn,
            "none" if distance is None else str(distance),
            database or "",
            conversation,
            {column: _text_of(row, self.columns.get(column, column)) for column in self.keep}
            if self.keep
            else _NOTHING,
        )

    def _name(self, ours: str, row: Mapping[str, Any]) -> str | None:
        """The field of a row that holds what we call `ours`."""
        given = self.columns.get(ours)
        if given is not None:
            return given if given in row else None
        return next((name for name in NAMES[ours] if name in row), None)

    def _no_prediction(self, row: Mapping[str, Any], path: str, number: int) -> InputError:
        wanted = self.columns.get("prediction") or NAMES["prediction"][0]
        return InputError(
            path=path or None, record=number, field=wanted, expected="a field for the prediction",
            got=f"the fields {', '.join(shown(name, 30) for name in list(row)[:12])}" if row else "no field at all",
            hint=did_you_mean(wanted, list(row)) or "Name it with --columns prediction=COLUMN (columns=).",
            reason="no prediction field",
        )  # fmt: skip

    @staticmethod
    def _wrong(path: str, number: int, name: str | None, expected: str, got: object) -> InputError:
        return InputError(
            path=path or None, record=number, field=name, expected=expected, got=shown(got, 60),
            hint="Fix the record or pass --skip-bad (skip_bad=True) to count it as unscored.",
            reason=f"{name or 'record'} of another kind",
        )  # fmt: skip


_NOTHING: dict[str, str] = {}
_NONE = {type(None)}
_TEXT = {str, type(None)}
_LIST = {list, type(None)}
_SEVERAL = {list, dict}


@contextmanager
def _no_collection() -> Iterator[None]:
    """Thousands of new records make no cycles; looking for some after every few hundred costs as much as reading."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _text_of(row: Mapping[str, Any], column: str) -> str:
    if column in row:
        return "" if row[column] is None else str(row[column])
    raise InputError(
        field=column, expected="a column of that name to slice by",
        got=f"the columns {', '.join(shown(name, 30) for name in list(row)[:12])}",
        hint=did_you_mean(column, list(row)), reason="unknown column",
    )  # fmt: skip


def _names_files(data: Any) -> bool:
    if is_path(data) or hasattr(data, "read"):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(is_path(d) or hasattr(d, "read") for d in data)


def _named(data: Any) -> str | None:
    return str(data) if is_path(data) else None


def read_distances(path: str | Path) -> dict[str, str]:
    """turnID → distance. Every line holds both, parted by a TAB; blank lines are passed over."""
    found: dict[str, str] = {}
    with Path(path).open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            columns = line.rstrip("\n").split("\t")
            if len(columns) < 2:
                raise InputError(
                    path=str(path), line=number, expected="turnID, TAB, distance", got=shown(line.strip(), 60),
                    hint="Are the columns parted by spaces? They need a TAB.", reason="no TAB",
                )  # fmt: skip
            found[columns[0].strip()] = columns[1].strip()
    return found
