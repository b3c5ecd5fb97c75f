"""References of each query, in groups of the same meaning: LSDSCC's JSON, text files, tables, nested lists.

A flat list makes each reference a group of its own: nobody said which of them mean the same. An empty reference is
dropped and counted; a group that has no other is an error.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sensecheck.diverse.groups import ordered_keys
from sensecheck.diverse.rows import (
    REFERENCES_NAMES,
    Place,
    ReadingLog,
    Row,
    are_files,
    document,
    kind_of,
    lines,
    opened,
    rows_in_memory,
    rows_of_file,
)
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.json_arrays import DEEP
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason

_OBJECT = "a JSON object {query: {group: [reference]}}"
_EMPTY = "empty references (dropped)"


@dataclass(frozen=True, slots=True)
class References:
    """The references of one query."""

    groups: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    query: str = ""
    id: str = ""


Refusal = Callable[[str, Any, Reason], InputError]
"""(what was expected, what came, reason) → the error with its place."""


def grouped(given: Any, refuse: Refusal, log: ReadingLog) -> References:
    """References in any of their forms as groups: a text, a flat list, lists of lists, or {group: list}."""
    groups, names = [], []
    for name, members in _named_groups(given, refuse, log):
        if not isinstance(members, list | tuple) or not all(isinstance(text, str) for text in members):
            raise refuse(f"group {shown(name, 40)} to be a list of texts", members, Reason.BAD_REFERENCES)
        texts = tuple(text.strip() for text in members if text.strip())
        if len(texts) < len(members):
            log.note(_EMPTY, len(members) - len(texts))
        if not texts:
            raise refuse(f"group {shown(name, 40)} to have at least one reference", members, Reason.EMPTY_GROUP)
        groups.append(texts)
        names.append(name)
    return References(tuple(groups), tuple(names))


def _named_groups(given: Any, refuse: Refusal, log: ReadingLog) -> list[tuple[str, Any]]:
    if isinstance(given, str):
        return [("0", [given])]
    if isinstance(given, Mapping):
        # A table gives every row every group's column; the ones it does not have are null.
        there = {str(key): value for key, value in given.items() if value is not None}
        return [(key, [there[key]] if isinstance(there[key], str) else there[key]) for key in ordered_keys(there)]
    if is_flat(given):
        named = [(str(i), [text]) for i, text in enumerate(given) if text.strip()]
        if len(named) < len(given):
            log.note(_EMPTY, len(given) - len(named))
        if not named:
            raise refuse("at least one reference", given, Reason.NO_REFERENCES)
        return named
    if isinstance(given, list | tuple):
        return [(str(i), group) for i, group in enumerate(given)]
    raise refuse("a text, a list of texts, lists of texts or {group: list of texts}", given, Reason.BAD_REFERENCES)


def is_flat(given: Any) -> bool:
    return isinstance(given, list | tuple) and bool(given) and all(isinstance(text, str) for text in given)


def references_in(row: Mapping[str, Any]) -> Any:
    """What a row holds as references, under any of their names."""
    return next((row[name] for name in REFERENCES_NAMES if row.get(name) is not None), None)


def read_references(data: Any, eos: str, log: ReadingLog) -> Iterator[References]:
    """The references of all queries, in their order."""
    if are_files(data):
        for source in opened(data):
            kind = kind_of(source)
            if kind == "json":
                yield from _document(source, log)
            elif kind == "text":
                yield from _text(source, eos, log)
            else:
                yield from _table(rows_of_file(source, kind, {}, log), log)
    elif isinstance(data, Mapping):
        yield from _by_query(data.items(), "", log)
    elif isinstance(data, list | tuple) and not (data and isinstance(data[0], Mapping) and "references" in data[0]):
        for number, given in enumerate(data, start=1):
            yield grouped(given, _refusal(Place(number)), log)
    else:
        yield from _table(rows_in_memory(data, {}, log), log)


def _refusal(place: Place) -> Refusal:
    def refuse(expected: str, got: Any, reason: Reason) -> InputError:
        return place.error(field="references", expected=expected, got=shown(got, 80), reason=reason)

    return refuse


def _document(source: Source, log: ReadingLog) -> Iterator[References]:
    """LSDSCC's JSON. A query given twice is refused: a reader that keeps the last would shift all that follow."""
    content, text = document(source, log, _OBJECT)
    if isinstance(content, list):
        if content and all(isinstance(row, Mapping) for row in content):
            yield from _table(rows_in_memory(content, {}, log, source.name), log)
        else:
            yield from _by_query([("", given) for given in content], source.name, log)
        return
    if not isinstance(content, dict):
        raise InputError(path=source.name, expected=_OBJECT, got=shown(content, 60), reason=Reason.BAD_JSON)
    repeated = _repeated_key(text, len(content), source.name)
    if repeated is not None:
        raise InputError(
            f"query {shown(repeated, 80)} is given more than once",
            path=source.name, hint="A JSON object keeps one of them, and all later queries would shift.",
            reason=Reason.REPEATED_QUERY,
        )  # fmt: skip
    yield from _by_query(content.items(), source.name, log)


def _repeated_key(text: bytes, kept: int, path: str) -> str | None:
    """A key of the outermost object that occurs more than once; `kept` keys are left of them."""
    keys: list[str] = []

    def remember(pairs: list[tuple[str, Any]]) -> None:
        keys[:] = [key for key, _ in pairs]  # the outermost object is closed last

    # NaN and long numbers have been read before; here only the keys matter.
    try:
        json.loads(text, object_pairs_hook=remember, parse_int=str)
    except RecursionError:
        raise InputError(path=path, expected=_OBJECT, got=f"something that cannot be read ({DEEP})") from None
    return None if len(keys) == kept else next(key for key, times in Counter(keys).items() if times > 1)


def _by_query(pairs: Iterable[tuple[str, Any]], path: str, log: ReadingLog) -> Iterator[References]:
    for number, (query, given) in enumerate(pairs, start=1):
        refuse = _refusal_of_query(Place(number, path), query)
        if isinstance(given, Mapping) and not given:
            raise refuse("at least one group", given, Reason.NO_REFERENCES)
        references = grouped(given, refuse, log)
        yield References(references.groups, references.names, query)


def _refusal_of_query(place: Place, query: str) -> Refusal:
    def refuse(expected: str, got: Any, reason: Reason) -> InputError:
        return place.error(
            field=f"query {shown(query, 60)}" if query else "references", expected=expected, got=shown(got, 60),
            hint="Remove the group or give it a reference." if reason == "empty_group" else None, reason=reason,
        )  # fmt: skip

    return refuse


def _text(source: Source, eos: str, log: ReadingLog) -> Iterator[References]:
    blank = 0
    for number, line in lines(source):
        texts = [piece for piece in map(str.strip, line.split(eos)) if piece]
        if not texts:
            blank = blank or number
            continue
        if blank:
            raise InputError(
                path=source.name, line=blank, expected="at least one reference", got="a blank line",
                hint="Every query needs a reference.", reason=Reason.NO_REFERENCES,
            )  # fmt: skip
        yield References(tuple((text,) for text in texts), tuple(map(str, range(len(texts)))))
    log.file(source, "text")


def _table(rows: Iterable[Row], log: ReadingLog) -> Iterator[References]:
    for place, row in rows:
        if isinstance(row, InputError):
            raise row
        given, refuse = references_in(row), _refusal(place)
        if given is None:
            raise refuse("a field 'references'", list(row)[:10], Reason.NO_REFERENCES_FIELD)
        references = grouped(given, refuse, log)
        query, name = row.get("query"), row.get("id")
        yield References(
            references.groups,
            references.names,
            query if isinstance(query, str) else "",
            "" if name is None else str(name),
        )
