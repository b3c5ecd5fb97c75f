"""What this room reads: hypotheses and references of each query, and what a bad record gets.

Hypotheses: LSDSCC's text file (one set a line, hypotheses separated by eos), or a table (JSONL, Parquet, CSV, a
frame, a list of dicts) with `hypotheses` and, if you like, `id`, `query` and `references`, or nested lists.
References: LSDSCC's JSON ({query: {group: [reference]}}), {query: [reference]}, a text file like that of the
hypotheses, a table, or nested lists, see `references`.

The rules, each counted and shown:
  an eos at the end of a line separates nothing: the empty piece after it is dropped;
  an empty piece elsewhere is an empty hypothesis: it scores 0 and reaches no group;
  a blank line is a query without hypotheses: it reaches no group;
  blank lines after the last query are dropped;
  an empty reference is dropped; a group that has no other is an error.

Where someone has said which responses of a query mean the same, `classes` (or `partition`) lists the class of each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import polars as pl

from sensecheck.diverse.groups import EOS
from sensecheck.diverse.references import References, grouped, is_flat, read_references, references_in
from sensecheck.diverse.rows import (
    CLASSES_NAMES,
    HYPOTHESES_NAMES,
    Place,
    ReadingLog,
    Row,
    are_files,
    called,
    document,
    kind_of,
    lines,
    opened,
    renamed,
    rows_in_memory,
    rows_of_file,
)
from sensecheck.inputs.errors import SKIP_HINT, InputError, did_you_mean, shown
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.half_characters import whole_value
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import PLACE, check_columns, check_names, kind_and_value
from sensecheck.report.asking import Asked

TAB = "\t"
SEPARATORS = ("</s>", "<EOS>", "<eos>", "</S>", "<|endoftext|>", "[SEP]", "<sep>", "|||", TAB)
"""Separators seen in the wild: looked for when the one given splits no line at all."""

POOL = 1024
"""The first so many queries lend their hypotheses as the chance baseline of all."""

DONORS = 5

N_GROUPS = "n_groups"
"""A slice that is always there: how many groups of references a query has."""

FIELDS = ("id", "query", "hypotheses", "references", "classes")

NOWHERE = Place(0)
_TRAILING = "trailing blank line"
_BLANK = "queries without hypotheses (blank lines)"
_DROPPED = "files with blank lines after the last query (dropped)"
_EMPTY = "empty hypotheses (score 0)"
_TABBED = " Lines of a query and its responses under no header: --input-format tabbed (input_format=)."


@dataclass(slots=True)
class SetRecord:
    """One query. It is filled on its way: references and the sets of other queries come last."""

    id: str
    hypotheses: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = ()
    group_names: tuple[str, ...] = ()
    classes: tuple[str, ...] | None = None  # of each hypothesis, where someone said which of them mean the same
    query: str = ""
    reason: str = ""  # why it cannot be scored, if it cannot
    given_up: str = ""  # why its hypotheses are not looked at, and so reach nothing
    columns: Mapping[str, Any] = field(default_factory=dict)  # slices, weight, cluster
    named: bool = False  # whether the id came with the record rather than from its place
    chance: tuple[tuple[str, ...], ...] = ()  # hypothesis sets of other queries
    place: Place = NOWHERE


class SetReader:
    """Iterate over it for `SetRecord`s; then look at `log` (which rule met how many, the files) and `flat`."""

    def __init__(
        self,
        data: Any,
        asked: Asked,
        references: Any = None,
        *,
        eos: str | None = None,
        queries: Any = None,
        donors: int = DONORS,
    ) -> None:
        if eos == "":
            raise InputError(field="eos", expected="a separator", got="an empty text", reason=Reason.EMPTY_EOS)
        self.data, self.references, self.queries = (
            given if are_files(given) else whole_value(given) for given in (data, references, queries)
        )
        self.eos = eos
        self.asked, self.donors = asked, donors
        self._wanted = [column for column in asked.carried if column != N_GROUPS]
        self._wanted += filter(None, [asked.weight, asked.cluster])
        check_names(asked.columns, [*FIELDS, *self._wanted])
        self.log = ReadingLog()
        self.flat = False  # whether any references came as a flat list
        self._known: dict[str, None] = {}  # columns that records bring, in the order met
        self._separator = EOS if eos is None else eos
        self._split_anywhere = False
        self._other_separators: Counter[str] = Counter()

    # -- the stream --------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[SetRecord]:
        self.log = ReadingLog()
        self._split_anywhere, self._other_separators = False, Counter()
        records = self._paired(self._hypotheses())
        if self.asked.limit is not None:
            records = islice(records, self.asked.limit)
        if not self.donors:
            yield from records
            return
        pool = list(islice(records, POOL))
        lenders = [record for record in pool if not record.reason]
        for record in chain(pool, records):
            self._draw_chance(record, lenders)
            yield record

    def _draw_chance(self, record: SetRecord, lenders: Sequence[SetRecord]) -> None:
        """Draw the sets of other queries by a hash of the seed and the id: no order of reading changes them."""
        if not record.groups or record.reason or len(lenders) < 2:
            return
        key = f"{self.asked.intervals.seed}\0{record.id}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(key, digest_size=16).digest()
        at = int.from_bytes(digest[:8], "big") % len(lenders)
        step = 1 + int.from_bytes(digest[8:], "big") % (len(lenders) - 1)
        drawn: dict[int, SetRecord] = {}
        for _ in range(4 * self.donors):
            at = (at + step) % len(lenders)
            other = lenders[at]
            if at in drawn:  # the step has come full circle: go on beside it
                at += 1
                continue
            if other.id != record.id and not (record.query and other.query == record.query):
                drawn[at] = other
                if len(drawn) == self.donors:
                    break
        record.chance = tuple(other.hypotheses for other in drawn.values())

    def check_columns(self, first: Sequence[SetRecord]) -> None:
        """Refuse a column of the user's that none of the first records has: it is a slip of the pen."""
        if self._known:
            check_columns(self.asked.columns, self._known, self._name)
        for name in self._wanted:
            if not any(name in record.columns for record in first):
                known = [*self._known, N_GROUPS]
                raise InputError(
                    field="columns", expected=f"a column {shown(name, 60)}",
                    got=f"the columns {', '.join(shown(one, 40) for one in known[:12])}",
                    hint=did_you_mean(name, known) or None, reason=Reason.UNKNOWN_COLUMN,
                )  # fmt: skip

    @property
    def _name(self) -> str:
        return called(self.data, "the hypotheses")

    # -- hypotheses and references -----------------------------------------------------------------------------

    def _paired(self, hypotheses: Iterator[SetRecord]) -> Iterator[SetRecord]:
        """Hypotheses with their references: by --queries, by a shared query or id, or by position."""
        if self.references is None:
            return self._without_references(hypotheses)
        references = read_references(self.references, self._separator, self.log)
        if self.queries is not None:
            return self._by_queries(hypotheses, references)
        first = next(hypotheses, None)
        if first is None:
            return iter(())
        records = chain([first], hypotheses)
        if first.query or first.named:
            every = list(references)
            by_query = {one.query: one for one in every if one.query}
            by_id = {one.id: one for one in every if one.id}
            if by_query or by_id:
                return self._by_query_or_id(records, by_query, by_id)
            references = iter(every)
        return self._by_position(records, references)

    def _without_references(self, hypotheses: Iterator[SetRecord]) -> Iterator[SetRecord]:
        for record in hypotheses:
            if record.reason == _TRAILING:
                self.log.note(_DROPPED)
            else:
                yield record

    def _by_queries(self, hypotheses: Iterator[SetRecord], references: Iterator[References]) -> Iterator[SetRecord]:
        by_text = {one.query: one for one in references}
        name = called(self.queries, "the queries")
        for record, (line, query) in self._together(hypotheses, self._query_lines(), name):
            its = by_text.get(query) or by_text.get(query.strip())
            if its is None:
                raise InputError(
                    path=name, line=line, expected="a query that the references have", got=shown(query, 80),
                    hint=did_you_mean(query, by_text) or "Are these the queries of these references?",
                    reason=Reason.UNKNOWN_QUERY,
                )  # fmt: skip
            yield _joined(record, its)

    def _by_query_or_id(
        self, records: Iterator[SetRecord], by_query: Mapping[str, References], by_id: Mapping[str, References]
    ) -> Iterator[SetRecord]:
        for record in records:
            if record.reason:
                yield record  # it could not be read, and is unscored whatever its references are
                continue
            its = by_query.get(record.query) if record.query else None
            its = its or by_id.get(record.id)
            if its is None:
                error = InputError(
                    f"record {shown(record.id, 40)} with query {shown(record.query, 80)} has no references",
                    path=called(self.references, "the references"),
                    hint=did_you_mean(record.query, by_query) or "Queries are matched by their text, or by id.",
                    reason=Reason.UNKNOWN_QUERY,
                )  # fmt: skip
                if not self.asked.skip_bad:
                    raise error
                yield replace(record, hypotheses=(), reason=str(Reason.UNKNOWN_QUERY))
                continue
            yield _joined(record, its)

    def _by_position(self, records: Iterator[SetRecord], references: Iterator[References]) -> Iterator[SetRecord]:
        name = called(self.references, "the references")
        for record, its in self._together(records, references, name):
            yield _joined(record, its)

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
                    raise _unequal(self._name, pairs + more, other_name, pairs)
                self.log.note(_DROPPED)
                return
            pairs += 1
            if record.reason == _TRAILING:
                self.log.note(_BLANK)
                record.reason = ""
            yield record, other
        rest = sum(1 for _ in waiting)
        if rest:
            raise _unequal(self._name, pairs, other_name, pairs + rest)

    def _query_lines(self) -> Iterator[tuple[int, str]]:
        if not are_files(self.queries):
            yield from enumerate(self.queries, start=1)
            return
        for source in opened(self.queries):
            last: list[tuple[int, str]] = []
            for number, line in lines(source):
                last.append((number, line))
                if line.strip():
                    yield from last
                    last = []
            self.log.file(source, "text")

    # -- hypotheses --------------------------------------------------------------------------------------------

    def _hypotheses(self) -> Iterator[SetRecord]:
        if isinstance(self.data, Gathered):
            yield from self._gathered(self.data)
            return
        if not are_files(self.data):
            yield from self._held(self.data)
            return
        number = 0
        for source in opened(self.data):
            for record in self._file(source):
                number += 1
                # Places count lines, and from 1 in every file: records are numbered over all of them.
                if not record.named:
                    record.id = str(number)
                yield record
        self._check_eos()

    def _gathered(self, data: Gathered) -> Iterator[SetRecord]:
        self.log.files += data.inputs
        rows = (
            (Place(data.place_of(row), data.path, data.place), renamed(fields, self.asked.columns))
            for row, fields in enumerate(data.dictionaries())
        )
        for number, record in enumerate(self._table(rows), 1):
            if not record.named:
                record.id = str(number)
            yield record
        for one in data.bad:
            yield SetRecord(one.id or f"{called(one.path, 'line')}:{one.line} (bad)", (), reason=one.reason)

    def _file(self, source: Source) -> Iterator[SetRecord]:
        kind = kind_of(source)
        if kind == "text":
            return self._text(source)
        if kind == "json":
            content, _ = document(source, self.log, "a JSON document")
            if not isinstance(content, dict | list):  # a text would be taken for the path of another file
                raise InputError(
                    path=source.name, expected="{query: [hypothesis]}, lists of hypotheses, or records",
                    got=shown(content, 60), reason=Reason.BAD_HYPOTHESES,
                )  # fmt: skip
            return self._held(content, source.name)
        return self._table(rows_of_file(source, kind, self.asked.columns, self.log))

    def _held(self, data: Any, path: str = "") -> Iterator[SetRecord]:
        """Data in memory or in a JSON document: {query: [hypothesis]}, lists of hypotheses, or records."""
        if isinstance(data, Mapping) and not any(name in data for name in HYPOTHESES_NAMES):
            for number, (query, hypotheses) in enumerate(data.items(), start=1):
                yield self._record(Place(number, path), {"hypotheses": hypotheses, "query": str(query)})
        elif isinstance(data, list | tuple) and (not data or not isinstance(data[0], Mapping | pl.DataFrame)):
            for number, hypotheses in enumerate(data, start=1):
                place = Place(number, path)
                yield SetRecord(str(number), _texts(hypotheses, place), place=place)
        else:
            yield from self._table(rows_in_memory(data, self.asked.columns, self.log, path))

    def _text(self, source: Source) -> Iterator[SetRecord]:
        blank: list[int] = []
        for number, line in lines(source):
            if not line.strip():
                blank.append(number)
                continue
            for empty in blank:
                self.log.note(_BLANK)
                yield SetRecord(str(empty), (), place=Place(empty, source.name, PLACE))
            blank = []
            yield SetRecord(str(number), self._pieces(line), place=Place(number, source.name, PLACE))
        for empty in blank:
            yield SetRecord(str(empty), (), reason=_TRAILING)
        self.log.file(source, "text")

    def _pieces(self, line: str) -> tuple[str, ...]:
        pieces = line.split(self._separator)
        if len(pieces) > 1:
            self._split_anywhere = True
            if not pieces[-1].strip():
                pieces.pop()
                self.log.note("lines with a separator at the end (the empty text after it is not a hypothesis)")
        elif not self._split_anywhere and sum(self._other_separators.values()) < 100:
            self._other_separators.update(s for s in SEPARATORS if s != self._separator and s in line)
        hypotheses = tuple(piece.strip() for piece in pieces)
        self._count_empty(hypotheses)
        return hypotheses

    def _count_empty(self, hypotheses: Sequence[str]) -> None:
        empty = hypotheses.count("")
        if empty:
            self.log.note(_EMPTY, empty)

    def _check_eos(self) -> None:
        """A separator that splits no line while another would is almost surely the wrong one."""
        if self._split_anywhere or not self._other_separators:
            return
        likely, times = self._other_separators.most_common(1)[0]
        more = "at least " if sum(self._other_separators.values()) >= 100 else ""
        raise InputError(
            f"the separator {shown(self._separator)} occurs in no line, but {shown(likely)} does in {more}{times}",
            path=self._name,
            hint=f"Pass --eos {shown(likely)} (eos=), or a text that is in no line if each line is one hypothesis."
            f"{_TABBED if likely == TAB else ''}",
            reason=Reason.WRONG_EOS,
        )

    def _table(self, rows: Iterable[Row]) -> Iterator[SetRecord]:
        for place, row in rows:
            try:
                if isinstance(row, InputError):
                    raise row
                yield self._record(place, row)
            except InputError as error:
                if not self.asked.skip_bad:
                    raise
                known = {} if isinstance(row, InputError) else row
                yield SetRecord(
                    _id(place, known), (), reason=error.reason, columns=self._kept(known),
                    named=known.get("id") is not None, place=place,
                )  # fmt: skip

    def _record(self, place: Place, row: Mapping[str, Any]) -> SetRecord:
        hypotheses = self._hypotheses_in(place, row)
        references = References((), ())
        given = references_in(row)
        if given is not None:
            references = grouped(
                given,
                lambda expected, got, reason: place.error(
                    field="references", expected=expected, got=shown(got, 80), hint=SKIP_HINT, reason=reason
                ),
                self.log,
            )
            self.flat = self.flat or is_flat(given)
        query = row.get("query")
        return SetRecord(
            id=_id(place, row),
            hypotheses=hypotheses,
            groups=references.groups,
            group_names=references.names,
            classes=self._classes_in(place, row, len(hypotheses)),
            query=query if isinstance(query, str) else "",
            columns=self._kept(row),
            named=row.get("id") is not None,
            place=place,
        )

    def _hypotheses_in(self, place: Place, row: Mapping[str, Any]) -> tuple[str, ...]:
        name = next((name for name in HYPOTHESES_NAMES if name in row), None)
        if name is None:
            wanted = self.asked.columns.get("hypotheses", "hypotheses")
            raise place.error(
                expected=f"a field {shown(wanted, 60)}",
                got=f"the fields {', '.join(shown(there, 30) for there in list(row)[:10])}",
                hint=did_you_mean(wanted, row)
                or f"Name it with --columns hypotheses=YOURS (columns=).{_TABBED if _has_tabs(place) else ''}",
                reason=Reason.NO_HYPOTHESES_FIELD,
            )
        value = row[name]
        texts = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            raise place.error(
                field="hypotheses", expected="a list of texts", got=shown(value, 80), hint=SKIP_HINT,
                reason=Reason.BAD_HYPOTHESES,
            )  # fmt: skip
        hypotheses = tuple(text.strip() for text in texts)
        if not hypotheses:
            self.log.note("queries without hypotheses")
        self._count_empty(hypotheses)
        return hypotheses

    def _classes_in(self, place: Place, row: Mapping[str, Any], hypotheses: int) -> tuple[str, ...] | None:
        """The class of each hypothesis; a field of that name that holds no list is about something else."""
        name = next((name for name in CLASSES_NAMES if isinstance(row.get(name), list | tuple)), None)
        if name is None and "classes" in self.asked.columns and row.get("classes") is not None:
            name = "classes"
        if name is None:
            return None
        given = row[name]
        expected = f"the class of each of the {hypotheses} responses, a list of numbers or names"
        if not isinstance(given, list | tuple) or not all(map(_is_class, given)):
            wrong = given if not isinstance(given, list | tuple) else next(one for one in given if not _is_class(one))
            got = kind_and_value(wrong)
        elif len(given) != hypotheses:
            got = f"{len(given)} classes"
        else:
            return tuple(str(int(one)) if isinstance(one, float) else str(one) for one in given)
        raise place.error(field=name, expected=expected, got=got, hint=SKIP_HINT, reason=Reason.VALUE_COUNT)

    def _kept(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if len(self._known) < 1000:
            self._known.update(dict.fromkeys(row))
        return {name: row[name] for name in self._wanted if name in row}


def _has_tabs(place: Place) -> bool:
    """Whether the record is from a table whose cells are parted by tabs, by its name."""
    return place.path.lower().removesuffix(".gz").removesuffix(".zst").endswith((".tsv", ".tab"))


def _is_class(value: Any) -> bool:
    """A name or a whole number, which true and false are not."""
    if isinstance(value, bool):
        return False
    return isinstance(value, str | int) or (isinstance(value, float) and value.is_integer())


def _id(place: Place, row: Mapping[str, Any]) -> str:
    """A row's own name, or its place."""
    name = row.get("id")
    return str(place.number) if name is None else str(name)


def _joined(record: SetRecord, references: References) -> SetRecord:
    record.groups, record.group_names = references.groups, references.names
    record.query = record.query or references.query
    return record


def _texts(hypotheses: Any, place: Place) -> tuple[str, ...]:
    if isinstance(hypotheses, str):
        return (hypotheses.strip(),)
    if not isinstance(hypotheses, list | tuple):
        raise place.error(
            field="hypotheses", expected="a list of texts", got=shown(hypotheses, 60), reason=Reason.BAD_HYPOTHESES
        )
    texts = []
    for given in hypotheses:
        words = given if isinstance(given, list | tuple) else [given]
        if not all(isinstance(word, str) for word in words):
            raise place.error(field="hypotheses", expected="texts", got=shown(given, 60), reason=Reason.BAD_HYPOTHESES)
        texts.append(" ".join(words).strip())
    return tuple(texts)


def _unequal(one: str, its: int, other: str, others: int) -> InputError:
    return InputError(
        f"{one} has {its:,} queries, {other} has {others:,}",
        hint="They are matched line by line: is a line missing or repeated? --queries FILE (queries=) matches by text.",
        reason=Reason.UNEQUAL_CORPORA,
    )
