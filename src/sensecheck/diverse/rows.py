"""Files, streams and tables as lines, rows and documents, each row with its place."""

from __future__ import annotations

import io
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import orjson

from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.hugging_face import is_arrow
from sensecheck.inputs.json_arrays import is_nested, loads, not_utf8, read_document
from sensecheck.inputs.opening import Source, is_path, names_files, sources
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import PLACE, RECORD, TableReader, bad_json_line, too_deep
from sensecheck.stages import within

BATCH_SETS = 512
"""Sets that are measured at a time: so many of those that were read last are still at work."""
# Names that people give to the two columns, in the order in which we look for them.
HYPOTHESES_NAMES = ("hypotheses", "hypothesis", "responses", "predictions", "generations", "outputs")
REFERENCES_NAMES = ("references", "reference", "groups")
CLASSES_NAMES = ("classes", "partition")
_LISTS = frozenset({*HYPOTHESES_NAMES, *REFERENCES_NAMES})


class Place(NamedTuple):
    """Where a row comes from."""

    number: int
    path: str = ""
    counts: str = RECORD
    """What `number` counts: lines or records, as a table's column of places is called."""

    def error(self, problem: str | None = None, **parts: Any) -> InputError:
        line, record = (self.number, None) if self.counts == PLACE else (None, self.number)
        return InputError(problem, path=self.path or None, line=line, record=record, **parts)


Row = tuple[Place, dict[str, Any] | InputError]
"""A row, or what is wrong with a line that is none."""


@dataclass
class ReadingLog:
    """What was met while reading: how often each rule applied, and the files with their digests."""

    counts: Counter[str] = field(default_factory=Counter)
    files: list[dict[str, Any]] = field(default_factory=list)

    def note(self, rule: str, how_many: int = 1) -> None:
        self.counts[rule] += how_many

    def file(self, source: Source, kind: str) -> None:
        """Keep the digest of a file that has been read to its end."""
        self.files.append({"path": source.name, "format": kind, "sha256": source.sha256, "bytes": source.raw_bytes})


def are_files(data: Any) -> bool:
    """A path, a glob, a stream, or a list of paths. A list of plain texts is not: those are responses."""
    texts = isinstance(data, list | tuple) and any(isinstance(one, str) for one in data)
    return names_files(data) and not texts


def called(data: Any, otherwise: str) -> str:
    """What a message calls the data: by their path, where they have one."""
    return os.fspath(data) if is_path(data) else otherwise


def stems(data: Any) -> Any:
    """Paths without folders and endings: a system is called `replies` after runs/replies.txt.gz."""
    if isinstance(data, list | tuple):
        return [stems(one) for one in data]
    return Path(data).name.split(".")[0] or data if is_path(data) else data


# -- opening -------------------------------------------------------------------------------------------------------


class _Peeked(Source):
    """A stream whose first bytes have been looked at without being used up."""

    def __init__(self, name: str, stream: Any) -> None:
        held = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream, 1 << 16)
        super().__init__(name, stream=cast("BinaryIO", held))
        self._first = held.peek(4096)

    def head(self, size: int = 16) -> bytes:
        return self._first[:size]


def opened(data: Any) -> list[Source]:
    """The files and streams one by one; a stream, too, tells its first bytes."""
    inputs: list[Source] = []
    for item in data if isinstance(data, list | tuple) else [data]:
        stream: Any = sys.stdin.buffer if is_path(item) and os.fspath(item) == "-" else getattr(item, "buffer", item)
        if hasattr(stream, "read"):
            name = "<stdin>" if stream is sys.stdin.buffer else str(getattr(item, "name", "<stream>"))
            inputs.append(_Peeked(name, stream))
        else:
            inputs += sources(item)
    return inputs


def kind_of(source: Source) -> str:
    """text, json (one document), jsonl or table, by the name and the first bytes."""
    head = source.head(4096)
    name = source.name.lower().removesuffix(".gz").removesuffix(".zst")
    if head.startswith(b"PAR1") or is_arrow(head) or name.endswith((".csv", ".tsv", ".parquet")):
        return "table"
    if name.endswith((".jsonl", ".ndjson")):
        return "jsonl"
    if name.endswith(".json"):
        return "json"
    start = head.lstrip()
    if start.startswith(b"{"):
        line = start.split(b"\n", 1)[0].rstrip()
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            return "json"
        return "jsonl" if isinstance(row, dict) and not _LISTS.isdisjoint(row) else "json"
    return "json" if start.startswith(b"[") else "text"


# -- reading -------------------------------------------------------------------------------------------------------


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """Lines as Python's universal newlines cut them, from 1."""
    number = 0
    for block in source.blocks():
        try:
            text = block.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(error, source.name, block.first_line) from None
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        parts = text.split("\n")
        if parts[-1] == "":
            parts.pop()
        for at, part in enumerate(parts):
            if at % 64 == 0:
                within(at - BATCH_SETS, len(parts))
            number += 1
            yield number, part


def document(source: Source, log: ReadingLog, expected: str) -> tuple[Any, bytes]:
    """One JSON document, and its text."""
    text = source.read()
    value = read_document(text, source.name, expected, hint="Is the file complete?")
    log.file(source, "json")
    return value, text


def rows_of_file(source: Source, kind: str, columns: Mapping[str, str], log: ReadingLog) -> Iterator[Row]:
    """The rows of a file of kind jsonl or table."""
    if kind == "jsonl":
        yield from _json_lines(source, columns, log)
    else:
        yield from _table(source.stream if isinstance(source, _Peeked) else source.path, columns, log)


def rows_in_memory(data: Any, columns: Mapping[str, str], log: ReadingLog, path: str = "") -> Iterator[Row]:
    """The rows of a table in memory, or of a JSON document at `path`."""
    if isinstance(data, list | tuple) and data and all(isinstance(row, Mapping) for row in data):
        for number, row in enumerate(data, start=1):
            deep = is_nested(row)
            place = Place(number, path)
            yield place, too_deep(path=path or None, record=number) if deep else renamed(row, columns)
    else:
        yield from _table(data, columns, log, path)


def _table(data: Any, columns: Mapping[str, str], log: ReadingLog, path: str = "") -> Iterator[Row]:
    reader = TableReader(data, columns=columns, batch_rows=4096)
    try:
        for batch in reader:
            cells = batch.frame.drop(batch.place).iter_rows(named=True)
            for number, row in zip(batch.frame[batch.place], cells, strict=True):
                place = Place(number, batch.path or path, batch.place)
                fields = {name: _listed(name, value) for name, value in row.items()}
                # A column that goes by our name is known by its own as well.
                yield place, {**fields, **{theirs: fields[ours] for ours, theirs in columns.items()}}
    except InputError as error:  # of a document that is a table, it does not know the file
        raise InputError(**{**error.parts(), "path": error.parts().get("path") or path or None}) from None
    for report in reader.files:
        if report.path:
            log.files.append(
                {"path": report.path, "format": report.format, "sha256": report.sha256, "bytes": report.raw_bytes}
            )


def _listed(name: str, value: Any) -> Any:
    """A cell of CSV that holds a list does so as JSON."""
    if (name in _LISTS or name in CLASSES_NAMES) and isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return loads(value.encode("utf-8", "replace"))
        except ValueError:
            return value
    return value


def _json_lines(source: Source, columns: Mapping[str, str], log: ReadingLog) -> Iterator[Row]:
    """JSONL is read line by line: its nested values need no common type."""
    number = 0
    for block in source.blocks():
        pieces = block.data.split(b"\n")
        if pieces[-1] == b"":
            pieces.pop()
        for at, line in enumerate(pieces):
            if at % 64 == 0:
                within(at - BATCH_SETS, len(pieces))
            number += 1
            if not line.strip():
                continue
            place = Place(number, source.name, PLACE)
            try:
                row = loads(line)
            except (json.JSONDecodeError, UnicodeDecodeError) as error:
                yield place, bad_json_line(source.name, number, error, Reason.BAD_JSON)
                continue
            if isinstance(row, dict):
                deep = is_nested(row)
                yield place, too_deep(path=source.name, line=number, hint=SKIP_HINT) if deep else renamed(row, columns)
                continue
            got = f"{shown(line, 60)} (not an object)"
            yield place, place.error(expected="a JSON object", got=got, hint=SKIP_HINT, reason=Reason.BAD_JSON)
    log.file(source, "jsonl")


def renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    return {**row, **{ours: row[theirs] for ours, theirs in columns.items() if theirs in row}}
