"""What this room reads: hypotheses and references of each query, and what a bad record gets.

Hypotheses: LSDSCC's text file (one set a line, hypotheses separated by eos), or a table (JSONL, Parquet, CSV, a
frame, a list of dicts) with `hypotheses` and, if you like, `id`, `query` and `references`, or nested lists.
References: LSDSCC's JSON ({query: {group: [reference]}}), {query: [reference]}, a text file like that of the
hypotheses, a table, or nested lists. A flat list of references makes each reference a group of its own: nobody
said which of them mean the same.

The rules, each counted and shown:
  an eos at the end of a line separates nothing: the empty piece after it is dropped;
  an empty piece elsewhere is an empty hypothesis: it scores 0 and reaches no group;
  a blank line is a query without hypotheses: it reaches no group;
  blank lines after the last query are dropped;
  an empty reference is dropped; a group that has no other is an error.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson
import polars as pl

from sensecheck.diverse.groups import EOS, ordered_keys
from sensecheck.inputs.errors import SKIP_HINT, InputError, did_you_mean, shown
from sensecheck.inputs.opening import Source, identity, is_path, sources
from sensecheck.inputs.tables import TableReader, check_columns, check_names

SEPARATORS = ("</s>", "<EOS>", "<eos>", "</S>", "<|endoftext|>", "[SEP]", "<sep>", "|||", "\t")
"""Separators seen in the wild: looked for when the one given splits no line at all."""

POOL = 1024
"""The first so many queries lend their hypotheses as the chance baseline of all."""

DONORS = 5

ASKED = ("id", "query", "hypotheses", "references")
_NAMES = {
    "hypotheses": ("hypotheses", "hypothesis", "responses", "predictions", "generations", "outputs"),
    "references": ("references", "reference", "groups"),
}


@dataclass(frozen=True)
class SetRecord:
    """One query."""

    id: str
    hypotheses: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = ()
    group_names: tuple[str, ...] = ()
    query: str = ""
    reason: str = ""  # why it cannot be scored, if it cannot
    columns: Mapping[str, Any] = field(default_factory=dict)  # slices, weight, cluster
    named: bool = False  # whether the id came with the record rather than from its place
    chance: tuple[tuple[str, ...], ...] = ()  # hypothesis sets of other queries


@dataclass(frozen=True)
class References:
    """The references of one query."""

    groups: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    query: str = ""
    id: str = ""


class SetReader:
    """Iterate over it for `SetRecord`s; then look at `counts` (which rule met how many) and `files`."""

    def __init__(
        self,
        data: Any,
        references: Any = None,
        *,
        eos: str | None = None,
        queries: Any = None,
        columns: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
        limit: int | None = None,
        skip_bad: bool = False,
        donors: int = DONORS,
        seed: int = 12345,
    ) -> None:
        if eos == "":
            raise InputError(field="eos", expected="a separator", got="an empty text", reason="empty_eos")
        self._data, self._references, self._queries = data, references, queries
        self._eos = EOS if eos is None else eos
        self._eos_given = eos is not None
        self._columns, self._keep = dict(columns or {}), tuple(keep)
        check_names(self._columns, [*ASKED, *self._keep])
        self._limit, self._skip_bad = limit, skip_bad
        self._donors, self._seed = donors, seed
        self.counts: Counter[str] = Counter()
        self.files: list[dict[str, Any]] = []
        self.known: dict[str, None] = {}  # columns that records bring, in the order met
        self.flat = False  # whether any references came as a flat list
        self._split_anywhere = False
        self._other_separators: Counter[str] = Counter()

    # -- the stream --------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[SetRecord]:
        self.counts, self.files = Counter(), []
        self._split_anywhere, self._other_separators = False, Counter()
        records = self._paired(self._hypotheses())
        if self._limit is not None:
            records = islice(records, self._limit)
        if not self._donors:
            yield from records
            return
        pool = list(islice(records, POOL))
        lenders = [record for record in pool if not record.reason]
        for record in pool:
            yield self._with_chance(record, lenders)
        for record in records:
            yield self._with_chance(record, lenders)

    def _with_chance(self, record: SetRecord, lenders: Sequence[SetRecord]) -> SetRecord:
        """Draw the sets of other queries by a hash of the seed and the id: no order of reading changes them."""
        if not record.groups or record.reason or len(lenders) < 2:
            return record
        digest = hashlib.blake2b(f"{self._seed}\0{record.id}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        at = int.from_bytes(digest[:8], "big") % len(lenders)
        step = 1 + int.from_bytes(digest[8:], "big") % (len(lenders) - 1)
        drawn: dict[int, SetRecord] = {}
        for _ in range(4 * self._donors):
            at = (at + step) % len(lenders)
            other = lenders[at]
            if at in drawn:  # the step has come full circle: go on beside it
                at += 1
                continue
            if other.id != record.id and not (record.query and other.query == record.query):
                drawn[at] = other
                if len(drawn) == self._donors:
                    break
        chance = tuple(other.hypotheses for other in drawn.values())
        return replace(record, chance=chance)

    def _paired(self, hypotheses: Iterator[SetRecord]) -> Iterator[SetRecord]:
        """Hypotheses with their references: by --queries, by a shared query or id, or by position."""
        if self._references is None:
            for record in hypotheses:
                if record.reason == _TRAILING:
                    self._note(_DROPPED)
                else:
                    yield record
            return
        references = _read_references(self._references, self._note, self.files, self._eos)
        if self._queries is not None:
            known = {r.query: r for r in references}
            for record, (line, query) in self._together(hypotheses, self._query_lines(), self._names()[2]):
                found = known.get(query) or known.get(query.strip())
                if found is None:
                    raise InputError(
                        path=self._names()[2], line=line, expected="a query that the references have",
                        got=shown(query, 80),
                        hint=did_you_mean(query, known) or "Are these the queries of these references?",
                        reason="unknown_query",
                    )  # fmt: skip
                yield self._joined(record, found)
            return
        first = next(hypotheses, None)
        if first is None:
            return
        records: Iterator[SetRecord] = chain([first], hypotheses)
        if first.query or first.named:
            listed = list(references)
            by_query = {r.query: r for r in listed if r.query}
            by_id = {r.id: r for r in listed if r.id}
            if by_query or by_id:
                for record in records:
                    found = by_query.get(record.query) if record.query else None
                    found = found or by_id.get(record.id)
                    if found is None:
                        raise InputError(
                            f"record {shown(record.id, 40)} with query {shown(record.query, 80)} has no references",
                            path=self._names()[1], hint="Queries are matched by their text, or by id.",
                            reason="unknown_query",
                        )  # fmt: skip
                    yield self._joined(record, found)
                return
            references = iter(listed)
        for record, found in self._together(records, references, self._names()[1]):
            yield self._joined(record, found)

    def _joined(self, record: SetRecord, found: References) -> SetRecord:
        return replace(record, groups=found.groups, group_names=found.names, query=record.query or found.query)

    def _together(
        self, records: Iterator[SetRecord], others: Iterable[Any], other_name: str
    ) -> Iterator[tuple[SetRecord, Any]]:
        """Pairs by position; a side with more is an error that names both numbers. Blank lines may end the file."""
        waiting = iter(others)
        pairs = 0
        for record in records:
            other = next(waiting, None)
            if other is None:
                more = sum(extra.reason != _TRAILING for extra in (record, *records))
                if more:
                    raise _unequal(self._names()[0], pairs + more, other_name, pairs)
                self._note(_DROPPED)
                return
            pairs += 1
            if record.reason == _TRAILING:
                self._note(_BLANK)
                record = replace(record, reason="")
            yield record, other
        rest = sum(1 for _ in waiting)
        if rest:
            raise _unequal(self._names()[0], pairs, other_name, pairs + rest)

    def _names(self) -> tuple[str, str, str]:
        def name(data: Any, otherwise: str) -> str:
            return os.fspath(data) if is_path(data) else otherwise

        return (
            name(self._data, "the hypotheses"),
            name(self._references, "the references"),
            name(self._queries, "the queries"),
        )

    def _note(self, rule: str, how_many: int = 1) -> None:
        self.counts[rule] += how_many

    # -- hypotheses --------------------------------------------------------------------------------------------

    def _hypotheses(self) -> Iterator[SetRecord]:
        data = self._data
        if names_files(data):
            several = _opened(data)
            for source in several:
                kind = _kind(source)
                read = self._text if kind == "text" else self._document if kind == "json" else self._table
                for record in read(source):
                    # Places count from 1 in every file: with several, the file makes them one's own.
                    yield (
                        record
                        if record.named or len(several) == 1
                        else replace(record, id=f"{source.name}:{record.id}")
                    )
            self._check_eos()
        elif isinstance(data, Mapping) and not _is_table_of_columns(data):
            yield from self._by_query(data, "")
        elif _is_nested(data):
            for number, one in enumerate(data, start=1):
                yield SetRecord(str(number), _texts(one, number))
        else:
            yield from self._table(data)

    def _text(self, source: Source) -> Iterator[SetRecord]:
        blank: list[int] = []
        for number, line in _lines(source):
            if not line.strip():
                blank.append(number)
                continue
            for empty in blank:
                self._note(_BLANK)
                yield SetRecord(str(empty), ())
            blank = []
            yield SetRecord(str(number), self._pieces(line))
        for empty in blank:
            yield SetRecord(str(empty), (), reason=_TRAILING)
        self._record_file(source, "text")

    def _pieces(self, line: str) -> tuple[str, ...]:
        pieces = line.split(self._eos)
        if len(pieces) > 1:
            self._split_anywhere = True
            if not pieces[-1].strip():
                pieces.pop()
                self._note("lines with a separator at the end (nothing after it is no hypothesis)")
        elif not self._split_anywhere and sum(self._other_separators.values()) < 100:
            self._other_separators.update(s for s in SEPARATORS if s != self._eos and s in line)
        empty = sum(not piece.strip() for piece in pieces)
        if empty:
            self._note("empty hypotheses (score 0)", empty)
        return tuple(piece.strip() for piece in pieces)

    def _check_eos(self) -> None:
        """A separator that splits no line while another would is almost surely the wrong one."""
        if self._split_anywhere or not self._other_separators:
            return
        likely, lines = self._other_separators.most_common(1)[0]
        more = "at least " if sum(self._other_separators.values()) >= 100 else ""
        raise InputError(
            f"the separator {shown(self._eos)} occurs in no line, but {shown(likely)} does in {more}{lines}",
            path=self._names()[0],
            hint=f"Pass --eos {shown(likely)} (eos=), or a text that is in no line if each line is one hypothesis.",
            reason="wrong_eos",
        )

    def _document(self, source: Source) -> Iterator[SetRecord]:
        """A JSON document: records, or {query: [hypothesis]}."""
        try:
            document = orjson.loads(source.read())
        except orjson.JSONDecodeError as error:
            raise InputError(
                path=source.name, line=error.lineno, expected="a JSON document",
                got=f"something else at column {error.colno} ({error.msg})", hint="Is the file whole?",
                reason="bad_json",
            ) from None  # fmt: skip
        self._record_file(source, "json")
        if isinstance(document, dict) and not _is_table_of_columns(document):
            yield from self._by_query(document, source.name)
        elif _is_nested(document):
            yield from (SetRecord(str(i), _texts(one, i)) for i, one in enumerate(document, start=1))
        else:
            yield from self._table(document)

    def _by_query(self, data: Mapping[str, Any], path: str) -> Iterator[SetRecord]:
        for number, (query, value) in enumerate(data.items(), start=1):
            yield replace(self._row(number, {"hypotheses": value, "query": str(query)}, path), id=str(number))

    def _table(self, data: Any) -> Iterator[SetRecord]:
        for place, row, path in _rows(data, self._columns, self.files):
            try:
                if isinstance(row, InputError):
                    raise row
                yield self._row(place, row, path)
            except InputError as error:
                if not self._skip_bad:
                    raise
                known = {} if isinstance(row, InputError) else row
                name = known.get("id")
                yield SetRecord(
                    str(place) if name is None else str(name), (), reason=error.reason, columns=self._kept(known)
                )

    def _row(self, place: int, row: Mapping[str, Any], path: str) -> SetRecord:
        def wrong(name: str, expected: str, value: Any) -> InputError:
            return InputError(
                path=path or None, line=place, field=name, expected=expected, got=shown(value, 80), hint=SKIP_HINT,
                reason=f"bad_{name}",
            )  # fmt: skip

        name = next((n for n in _NAMES["hypotheses"] if n in row), None)
        if name is None:
            wanted = self._columns.get("hypotheses", "hypotheses")
            raise InputError(
                path=path or None, line=place, expected=f"a field {shown(wanted, 60)}",
                got=f"the fields {', '.join(shown(n, 30) for n in list(row)[:10])}",
                hint=did_you_mean(wanted, row) or "Name it with --columns hypotheses=YOURS (columns=).",
                reason="no_hypotheses_field",
            )  # fmt: skip
        value = row[name]
        texts = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
            raise wrong("hypotheses", "a list of texts", value)
        hypotheses = tuple(text.strip() for text in texts)
        if not hypotheses:
            self._note("queries without hypotheses")
        empty = sum(not text for text in hypotheses)
        if empty:
            self._note("empty hypotheses (score 0)", empty)
        groups: tuple[tuple[str, ...], ...] = ()
        names: tuple[str, ...] = ()
        given = next((row[n] for n in _NAMES["references"] if row.get(n) is not None), None)
        if given is not None:
            found = grouped(given, lambda problem, got, reason: InputError(
                path=path or None, line=place, field="references", expected=problem, got=shown(got, 80),
                hint=SKIP_HINT, reason=reason), self._note)  # fmt: skip
            groups, names = found.groups, found.names
            self.flat = self.flat or _is_flat(given)
        query, own_id = row.get("query"), row.get("id")
        return SetRecord(
            str(place) if own_id is None else str(own_id), hypotheses, groups, names,
            query if isinstance(query, str) else "", "", self._kept(row), own_id is not None,
        )  # fmt: skip

    def check_columns(self) -> None:
        """Refuse a renaming of what no record read so far has."""
        if self.known:
            check_columns(self._columns, self.known, self._names()[0])

    def _kept(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if len(self.known) < 1000:
            self.known.update(dict.fromkeys(row))
        return {name: row[name] for name in self._keep if name in row}

    def _query_lines(self) -> Iterator[tuple[int, str]]:
        if names_files(self._queries):
            for source in _opened(self._queries):
                last: list[tuple[int, str]] = []
                for number, line in _lines(source):
                    last.append((number, line))
                    if line.strip():
                        yield from last
                        last = []
                self._record_file(source, "text")
        else:
            yield from enumerate(self._queries, start=1)

    def _record_file(self, source: Source, kind: str) -> None:
        self.files.append({"path": source.name, "format": kind, "sha256": source.sha256, "bytes": source.raw_bytes})


_TRAILING = "trailing blank line"
_BLANK = "queries without hypotheses (blank lines)"
_DROPPED = "files with blank lines after the last query (dropped)"


def _unequal(one: str, its: int, other: str, others: int) -> InputError:
    return InputError(
        f"{one} has {its:,} queries, {other} has {others:,}",
        hint="They are matched line by line: is a line missing or twice? --queries FILE (queries=) matches by text.",
        reason="unequal_corpora",
    )


# -- references ----------------------------------------------------------------------------------------------------

Refusal = Callable[[str, Any, str], InputError]


def grouped(given: Any, refuse: Refusal, note: Callable[..., None]) -> References:
    """References in any of their forms as groups: a text, a flat list, lists of lists, or {group: list}."""
    pairs: list[tuple[str, Any]]
    if isinstance(given, str):
        pairs = [("0", [given])]
    elif isinstance(given, Mapping):
        # A table gives every row every group's column; the ones it does not have are null.
        there = {str(key): value for key, value in given.items() if value is not None}
        pairs = [(key, [there[key]] if isinstance(there[key], str) else there[key]) for key in ordered_keys(there)]
    elif _is_flat(given):
        pairs = [(str(i), [text]) for i, text in enumerate(given) if text.strip()]
        if len(pairs) < len(given):
            note("empty references (dropped)", len(given) - len(pairs))
        if not pairs:
            raise refuse("at least one reference", given, "no_references")
    elif isinstance(given, (list, tuple)):
        pairs = [(str(i), group) for i, group in enumerate(given)]
    else:
        raise refuse("a text, a list of texts, lists of texts or {group: list of texts}", given, "bad_references")
    groups, names = [], []
    for name, members in pairs:
        if not isinstance(members, (list, tuple)) or not all(isinstance(text, str) for text in members):
            raise refuse(f"group {name!r} to be a list of texts", members, "bad_references")
        kept = tuple(text.strip() for text in members if text.strip())
        if len(kept) < len(members):
            note("empty references (dropped)", len(members) - len(kept))
        if not kept:
            raise refuse(f"group {name!r} to have at least one reference", members, "empty_group")
        groups.append(kept)
        names.append(name)
    return References(tuple(groups), tuple(names))


def _is_flat(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and bool(given) and all(isinstance(text, str) for text in given)


def _read_references(
    data: Any, note: Callable[..., None], files: list[dict[str, Any]], eos: str
) -> Iterator[References]:
    if names_files(data):
        for source in _opened(data):
            kind = _kind(source)
            if kind == "json":
                yield from _reference_document(source, note, files)
            elif kind == "text":
                yield from _reference_lines(source, note, files, eos)
            else:
                yield from _reference_rows(source, note, files)
    elif isinstance(data, Mapping):
        yield from _reference_pairs(list(data.items()), "", note)
    elif isinstance(data, (list, tuple)) and not (data and isinstance(data[0], Mapping) and "references" in data[0]):
        for number, one in enumerate(data, start=1):
            yield grouped(one, lambda problem, got, reason, at=number: InputError(  # type: ignore[misc]
                record=at, field="references", expected=problem, got=shown(got, 80), reason=reason), note)  # fmt: skip
    else:
        yield from _reference_rows(data, note, files)


def _reference_document(source: Source, note: Callable[..., None], files: list[dict[str, Any]]) -> Iterator[References]:
    """LSDSCC's JSON. A query given twice is refused: a reader that keeps the last would shift all that follow."""
    text = source.read()
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(
            path=source.name, line=error.lineno, expected="a JSON object {query: {group: [reference]}}",
            got=f"something else at column {error.colno} ({error.msg})", hint="Is the file whole?", reason="bad_json",
        ) from None  # fmt: skip
    files.append({"path": source.name, "format": "json", "sha256": source.sha256, "bytes": source.raw_bytes})
    if isinstance(document, list):
        if document and all(isinstance(one, Mapping) for one in document):
            for number, row in enumerate(document, start=1):
                yield _reference_row(number, row, source.name, note)
            return
        yield from _reference_pairs([("", one) for one in document], source.name, note)
        return
    if not isinstance(document, dict):
        raise InputError(
            path=source.name, expected="a JSON object {query: {group: [reference]}}", got=shown(document, 60),
            reason="bad_json",
        )  # fmt: skip
    repeated = _repeated_keys(text, len(document))
    if repeated:
        raise InputError(
            f"query {shown(repeated[0], 80)} is given more than once",
            path=source.name, hint="A JSON object keeps one of them, and all later queries would shift.",
            reason="repeated_query",
        )  # fmt: skip
    yield from _reference_pairs(list(document.items()), source.name, note)


def _repeated_keys(text: bytes, kept: int) -> list[str]:
    """Keys of the outermost object that occur more than once."""
    import json

    seen: list[Counter[str]] = []

    def remember(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen.append(Counter(key for key, _ in pairs))  # the outermost object is closed last
        return {}

    json.loads(text, object_pairs_hook=remember)
    return [key for key, times in seen[-1].items() if times > 1] if seen[-1].total() > kept else []


def _reference_pairs(pairs: Sequence[tuple[str, Any]], path: str, note: Callable[..., None]) -> Iterator[References]:
    for number, (query, given) in enumerate(pairs, start=1):

        def refuse(problem: str, got: Any, reason: str, at: int = number, asked: str = query) -> InputError:
            where = f"query {shown(asked, 60)}" if asked else "references"
            return InputError(
                path=path or None, record=at, field=where, expected=problem, got=shown(got, 60),
                hint="Remove the group or give it a reference." if reason == "empty_group" else None, reason=reason,
            )  # fmt: skip

        if isinstance(given, Mapping) and not given:
            raise refuse("at least one group", given, "no_references")
        found = grouped(given, refuse, note)
        yield References(found.groups, found.names, query)


def _reference_lines(
    source: Source, note: Callable[..., None], files: list[dict[str, Any]], eos: str
) -> Iterator[References]:
    blank = 0
    for number, line in _lines(source):
        pieces = [piece.strip() for piece in line.split(eos)]
        if not any(pieces):
            blank = blank or number
            continue
        if blank:
            raise InputError(
                path=source.name, line=blank, expected="at least one reference", got="a blank line",
                hint="Every query needs a reference.", reason="no_references",
            )  # fmt: skip
        kept = [piece for piece in pieces if piece]
        yield References(tuple((piece,) for piece in kept), tuple(map(str, range(len(kept)))))
    files.append({"path": source.name, "format": "text", "sha256": source.sha256, "bytes": source.raw_bytes})


def _reference_rows(data: Any, note: Callable[..., None], files: list[dict[str, Any]]) -> Iterator[References]:
    for place, row, path in _rows(data, {}, files):
        if isinstance(row, InputError):
            raise row
        yield _reference_row(place, row, path, note)


def _reference_row(place: int, row: Mapping[str, Any], path: str, note: Callable[..., None]) -> References:
    given = next((row[n] for n in _NAMES["references"] if row.get(n) is not None), None)

    def refuse(problem: str, got: Any, reason: str) -> InputError:
        return InputError(
            path=path or None, line=place, field="references", expected=problem, got=shown(got, 80), reason=reason
        )

    if given is None:
        raise refuse("a field 'references'", list(row)[:10], "no_references_field")
    found = grouped(given, refuse, note)
    query, name = row.get("query"), row.get("id")
    return References(
        found.groups, found.names, query if isinstance(query, str) else "", "" if name is None else str(name)
    )


# -- files ---------------------------------------------------------------------------------------------------------


def names_files(data: Any) -> bool:
    """A path, a glob, a stream, or a list of paths. A list of plain texts is not: those are responses."""
    if is_path(data) or hasattr(data, "read"):
        return True
    several = isinstance(data, (list, tuple)) and bool(data)
    return several and all(isinstance(one, os.PathLike) or hasattr(one, "read") for one in data)


def path_of(data: Any) -> str | None:
    return os.fspath(data) if isinstance(data, (str, os.PathLike)) else None


def name_of(data: Any) -> str:
    """What to call a system whose responses these are."""
    if isinstance(data, (list, tuple)) and names_files(data):
        return name_of(data[0]) if len(data) == 1 else f"{name_of(data[0])} and {len(data) - 1} more"
    path = path_of(data)
    if path is None:
        return "system"
    return "stdin" if path == "-" else Path(path).name.split(".")[0] or path


def files_behind(data: Any) -> list[dict[str, Any]]:
    """What must not change between an interrupted run and its resumption."""
    return identity(data) if names_files(data) else []


class _Peeked(Source):
    """A stream whose first bytes have been looked at without being used up."""

    def __init__(self, name: str, stream: Any) -> None:
        held = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream, 1 << 16)
        super().__init__(name, stream=cast("BinaryIO", held))
        self.stream = held
        self._first = held.peek(4096)

    def head(self, size: int = 16) -> bytes:
        return self._first[:size]


def _opened(data: Any) -> list[Source]:
    found: list[Source] = []
    for item in data if isinstance(data, (list, tuple)) else [data]:
        stream: Any = sys.stdin.buffer if is_path(item) and os.fspath(item) == "-" else getattr(item, "buffer", item)
        if hasattr(stream, "read"):
            name = "<stdin>" if stream is sys.stdin.buffer else str(getattr(item, "name", "<stream>"))
            found.append(_Peeked(name, stream))
        else:
            found += sources(item)
    return found


def _kind(source: Source) -> str:
    """text, json (one document) or table, by the name and the first bytes."""
    head = source.head(4096)
    if head.startswith(b"PAR1"):
        return "table"
    name = source.name.lower().removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")):
        return "table"
    if name.endswith(".json"):
        return "json"
    start = head.lstrip()
    if start.startswith(b"{"):
        line = start.split(b"\n", 1)[0].rstrip()
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            return "json"
        held = isinstance(row, dict) and any(n in row for names in _NAMES.values() for n in names)
        return "table" if held else "json"
    return "json" if start.startswith(b"[") else "text"


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Lines as Python's universal newlines cut them, from 1."""
    number = 0
    for block in source.blocks():
        try:
            text = block.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                path=source.name, line=block.first_line + block.data.count(b"\n", 0, error.start),
                expected="text in UTF-8", got=f"the byte 0x{block.data[error.start]:02x}",
                hint="Convert it with iconv, e.g. iconv -f LATIN1 -t UTF-8.", reason="encoding",
            ) from None  # fmt: skip
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        parts = text.split("\n")
        if parts[-1] == "":
            parts.pop()
        for part in parts:
            number += 1
            yield number, part


def _rows(
    data: Any, columns: Mapping[str, str], files: list[dict[str, Any]]
) -> Iterator[tuple[int, dict[str, Any] | InputError, str]]:
    """Records with their line or number. JSONL is read line by line: its nested values need no common type."""
    if isinstance(data, Source) and _is_jsonl(data):
        yield from _json_lines(data, columns, files)
        return
    if isinstance(data, (list, tuple)) and data and all(isinstance(row, Mapping) for row in data):
        for number, row in enumerate(data, start=1):
            yield number, _renamed(row, columns), ""
        return
    given = data.stream if isinstance(data, _Peeked) else data.path if isinstance(data, Source) else data
    reader = TableReader(given, columns=columns, batch_rows=4096)
    for batch in reader:
        rows = batch.frame.drop(batch.place).iter_rows(named=True)
        for place, row in zip(batch.frame[batch.place], rows, strict=True):
            yield place, {key: _delimited(key, value) for key, value in row.items()}, batch.path
    for report in reader.files:
        if report.path:
            files.append(
                {"path": report.path, "format": report.format, "sha256": report.sha256, "bytes": report.raw_bytes}
            )


def _delimited(name: str, value: Any) -> Any:
    """A cell of CSV that holds a list does so as JSON."""
    listed = any(name in names for names in _NAMES.values())
    if listed and isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _is_jsonl(source: Source) -> bool:
    name = source.name.lower().removesuffix(".gz").removesuffix(".zst")
    return name.endswith((".jsonl", ".ndjson")) or (
        not name.endswith((".json", ".parquet", ".csv", ".tsv")) and source.head(4096).lstrip().startswith(b"{")
    )


def _json_lines(
    source: Source, columns: Mapping[str, str], files: list[dict[str, Any]]
) -> Iterator[tuple[int, dict[str, Any] | InputError, str]]:
    number = 0
    for block in source.blocks():
        lines = block.data.split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        for line in lines:
            number += 1
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
                why = "" if isinstance(row, dict) else "not an object"
            except orjson.JSONDecodeError as error:
                why = str(error.msg)
            if why:
                yield number, InputError(
                    path=source.name, line=number, expected="a JSON object", got=f"{shown(line, 60)} ({why})",
                    hint=SKIP_HINT, reason="bad_json",
                ), source.name  # fmt: skip
            else:
                yield number, _renamed(row, columns), source.name
    files.append({"path": source.name, "format": "jsonl", "sha256": source.sha256, "bytes": source.raw_bytes})


def _renamed(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    found = dict(row)
    for ours, theirs in columns.items():
        if theirs in row:
            found[ours] = row[theirs]
    return found


def _is_table_of_columns(data: Mapping[str, Any]) -> bool:
    return any(name in data for name in _NAMES["hypotheses"])


def _is_nested(data: Any) -> bool:
    """[[text, ...], ...]: one list of hypotheses a query."""
    return isinstance(data, (list, tuple)) and (not data or not isinstance(data[0], (Mapping, pl.DataFrame)))


def _texts(one: Any, number: int) -> tuple[str, ...]:
    if isinstance(one, str):
        return (one.strip(),)
    texts = [" ".join(text) if isinstance(text, (list, tuple)) else text for text in one]
    for text in texts:
        if not isinstance(text, str):
            raise InputError(
                record=number, field="hypotheses", expected="texts", got=shown(text, 60), reason="bad_hypotheses"
            )
    return tuple(text.strip() for text in texts)
