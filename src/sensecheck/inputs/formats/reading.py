"""What readers of formats share: lines of text and whole documents, with errors that name their place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.formats.registry import Row
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.json_arrays import is_deep, loads, not_utf8, read_document
from sensecheck.inputs.opening import Source
from sensecheck.inputs.places import PLACE, RECORD
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import bad_json_line, kind_and_value, too_deep

NO_SUCH_DOCUMENT = "Is the file complete? `sensecheck look FILE` says what a file holds."


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, without the ends of lines."""
    for block in source.blocks():
        try:
            text = block.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(error, source.name, block.first_line) from None
        parts = text.split("\n")
        if parts[-1] == "":
            parts.pop()
        for number, part in enumerate(parts, block.first_line):
            yield number, part.removesuffix("\r")


def objects(source: Source) -> Iterator[Row]:
    """The objects of JSON lines; a line that is none comes as its error."""
    for block in source.blocks():
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if line.strip():
                yield number, object_of(line, source.name, number)


def json_records(source: Source, start: Start | None) -> tuple[str, Iterator[Row]]:
    """JSON objects however they lie, and what their numbers are of: lines, the items of one list, or one alone."""
    if start is None or (start.kind == "lines" and not start.is_one_object) or start.kind == "text":
        return PLACE, objects(source)
    text = source.read()
    first = text.split(b"\n", 1)[0] if start.kind == "object" else b""
    if len(first) < len(text) and _is_object(first):  # lines, the first of them longer than what is looked at
        return PLACE, (
            (at, object_of(line, source.name, at)) for at, line in enumerate(text.split(b"\n"), 1) if line.strip()
        )
    value = _parsed(text, source, "a JSON document")
    items = value if isinstance(value, list) else [value]
    rows = (
        (at, item if isinstance(item, dict) else not_an_object(item, source.name, record=at))
        for at, item in enumerate(items, 1)
    )
    return RECORD, rows


def object_of(line: bytes, path: str, number: int) -> Mapping[str, Any] | InputError:
    try:
        value = loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        return bad_json_line(path, number, error)
    if not isinstance(value, dict):
        return not_an_object(value, path, line=number)
    return too_deep(path=path, line=number, hint=SKIP_HINT) if is_deep(line, value) else value


def not_an_object(value: Any, path: str, **place: int) -> InputError:
    return InputError(
        path=path, **place, expected="a JSON object", got=kind_and_value(value), hint=SKIP_HINT,  # type: ignore[arg-type]
        reason=Reason.NOT_AN_OBJECT,
    )  # fmt: skip


def members_of(source: Source, expected: str) -> Any:
    """The whole of a file as one JSON document whose keys are names of examples: none may be there twice."""
    text = source.read()
    value = read_document(text, source.name, expected, hint=NO_SUCH_DOCUMENT)
    if is_deep(text, value):
        raise too_deep(path=source.name)
    if isinstance(value, dict):
        pairs = json.loads(text, object_pairs_hook=lambda given: given)
        twice = next((key for key, times in Counter(key for key, _ in pairs).items() if times > 1), None)
        if twice is not None:
            raise InputError(
                f"the key {shown(twice, 60)} is there twice", path=source.name,
                hint="A key names one example: leave one out.", reason=Reason.KEY_TWICE,
            )  # fmt: skip
    return value


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(loads(line), dict)
    except ValueError:
        return False


def document(source: Source, expected: str) -> Any:
    """The whole of a file as one JSON document."""
    return _parsed(source.read(), source, expected)


def _parsed(text: bytes, source: Source, expected: str) -> Any:
    value = read_document(text, source.name, expected, hint=NO_SUCH_DOCUMENT)
    if is_deep(text, value):
        raise too_deep(path=source.name)
    return value
