"""A JSON array of objects, piece by piece: the text of a large file is never a tree of objects all at once.

An array is cut where an object ends and the next begins with the key that the first object begins with. Such a
place may also lie inside a string or a nested list, so a cut counts only if everything before it is whole: read from
a true start, a text that parses to its end ends outside all strings and brackets.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import orjson

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.half_characters import whole_value
from sensecheck.inputs.reasons import Reason

PIECE_BYTES = 128 * 1024
_HEAD_BYTES = 4096  # enough for the first key
_TRIES = 4  # cuts tried from the end of a piece before more text is awaited

_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_MARK_BETWEEN = 1 << 52 | int.from_bytes(os.urandom(6), "little")
_LONG_INTEGER = re.compile(rb"(?<![0-9.])[0-9]{19}")
_LONG_NUMBER = b"0" * 19  # the least number of digits that may not fit 64 bits

_MARK = b"\xef\xbb\xbf"
_WIDEST = 1024  # white space and all

_PARTING = re.compile(rb"\}\s*,\s*\{(?=\s*\Z)")
_FIRST_KEY = re.compile(rb'\s*\[\s*\{\s*("(?:[^"\\]|\\.){0,200}")\s*:', re.DOTALL)


class NotAnArrayError(ValueError):
    """The text does not begin as an array of objects; `text` is all of it."""

    def __init__(self, text: bytes) -> None:
        super().__init__("no array of objects")
        self.text = text


def loads(text: bytes) -> Any:
    """Strict and fast first; then the standard parser, which also takes NaN, Infinity and lone surrogates (replaced).

    orjson makes a rounded float of an integer beyond 64 bits, so text with so many digits in a row is not its.

    >>> loads(b'{"score": NaN, "id": 12345678901234567890123}')
    {'score': nan, 'id': 12345678901234567890123}
    """
    if _LONG_NUMBER not in text.translate(_DIGITS_ALIKE):
        with contextlib.suppress(orjson.JSONDecodeError):
            return orjson.loads(text)
    document = text.removeprefix(_MARK).decode("utf-8")
    try:
        value = json.loads(document)
        return whole_value(value) if "\\u" in document else value
    except RecursionError:
        raise json.JSONDecodeError(DEEP, "", 0) from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # Python's own bound on the digits of an integer
        raise json.JSONDecodeError(DIGITS, document, 0) from None


@contextlib.contextmanager
def many_objects() -> Iterator[None]:
    """While very many objects are made of a text, none of them is garbage: Python need not look for any."""
    looks = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looks:
            gc.enable()


def objects_of_lines(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """The objects of many lines, one each, read as one text; None where a line must be looked at by itself.

    A mark between any two lines, which no file can know, shows whether each of them is one whole value: what goes on in
    the next line, or is two values, would put the marks elsewhere.
    """
    text = b"[" + (b",%d," % _MARK_BETWEEN).join(lines) + b"]"
    if not lines or (_LONG_NUMBER in text.translate(_DIGITS_ALIKE) and _LONG_INTEGER.search(text)):
        return None
    # What may be nested too deeply is looked at by itself: an object for every line, and few lists beside them, is not.
    if text.count(b"[") + text.count(b"{") - len(lines) > DEEPEST and any(
        line.count(b"[") + line.count(b"{") > DEEPEST for line in lines
    ):
        return None
    try:
        values = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    rows, marks = values[::2], values[1::2]
    if len(rows) != len(lines) or set(map(type, rows)) != {dict} or marks.count(_MARK_BETWEEN) != len(marks):
        return None
    return list(rows)


DEEPEST = 32
"""Lists and objects inside one another that a table holds; building deeper ones takes time that grows much faster."""

_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1


def is_deep(text: bytes, value: Any) -> bool:
    """Whether a value, read from this text, is nested more than DEEPEST deep."""
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    # Brackets inside texts count too here, so that only the value itself can say for sure.
    depth = deepest = 0
    for start in range(0, len(text), PIECE_BYTES):
        depths = np.cumsum(_STEPS[np.frombuffer(text[start : start + PIECE_BYTES], np.uint8)], dtype=np.int64)
        deepest = max(deepest, depth + int(depths.max()))
        depth += int(depths[-1])
    return deepest > DEEPEST and is_nested(value)


def is_nested(value: Any) -> bool:
    """Whether a value, whatever it was read from, is nested more than DEEPEST deep: Python fails from 1,000 on."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return any(isinstance(item, dict | list) for item in level)


# What the standard parser says → what we say. Its own words are for programmers.
_WORDS = {
    "Expecting value": "no value begins like this",
    "Expecting property name enclosed in double quotes": "a key in double quotes should stand here",
    "Expecting ':' delimiter": "a ':' should stand here",
    "Expecting ',' delimiter": "a ',' should stand here",
    "Extra data": "the document is complete before this",
    "Unterminated string starting at": "a text that is never closed",
    "Invalid control character at": "a control character inside a text",
    "Invalid \\escape": "a backslash that escapes nothing",
    "Invalid \\uXXXX escape": "a \\u without four hexadecimal digits",
    "Illegal trailing comma before end of object": "a comma with nothing after it",
    "Illegal trailing comma before end of array": "a comma with nothing after it",
}


def in_words(error: json.JSONDecodeError) -> str:
    """What is wrong with a JSON text, in a few words."""
    said = error.msg.removesuffix(": ")
    return _WORDS.get(said, said if said in OURS else "it cannot be read")


DEEP = "nested too deeply"
DIGITS = "a number with too many digits"
OURS = frozenset({DEEP, DIGITS})


def read_document(text: bytes, path: str, expected: str, *, hint: str | None = None) -> Any:
    """A JSON document, or an InputError that says where and why it is none.

    >>> read_document(b"[1, 2", "list.json", "a JSON list")
    Traceback (most recent call last):
    sensecheck.inputs.errors.InputError: list.json:1: expected a JSON list, got a document that ends too early.
    """
    try:
        return loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise no_document(error, path, expected, hint=hint) from None


def no_document(error: ValueError, path: str, expected: str, *, hint: str | None = None) -> InputError:
    """What `loads` said of a document, in our words."""
    if isinstance(error, UnicodeDecodeError):
        return not_utf8(error, path)
    assert isinstance(error, json.JSONDecodeError)
    line = error.lineno if error.doc else None
    return InputError(path=path, line=line, expected=expected, got=_found(error), hint=hint, reason=Reason.BAD_JSON)


def _found(error: json.JSONDecodeError) -> str:
    if error.msg in OURS:
        return f"something that cannot be read ({error.msg})"
    rest = error.doc[error.pos : error.pos + 40]
    if not rest.strip():
        return "a document that ends too early" if error.doc.strip() else "an empty file"
    return f"{shown(rest)} at column {error.colno} ({in_words(error)})"


@contextlib.contextmanager
def read_as_original(path: str, expected: str) -> Iterator[None]:
    """Around an original's own reader, which leaves everything to Python: its failures, in our words."""
    try:
        yield
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise no_document(error, path, expected) from None
    except RecursionError:
        raise InputError(path=path, expected=expected, got=f"something that cannot be read ({DEEP})") from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        failure = f"something on which the original's reader fails ({type(error).__name__})"
        raise InputError(
            path=path, expected=expected, got=failure,
            hint="Without --as, the file is read with a message for the place at fault.", reason=Reason.ORIGINAL_FAILS,
        ) from None  # fmt: skip


def not_utf8(error: UnicodeDecodeError, path: str, first_line: int = 1) -> InputError:
    """The error of a text that is in another encoding."""
    return InputError(
        path=path,
        line=first_line + error.object.count(b"\n", 0, error.start),
        expected="text in UTF-8",
        got=f"the byte 0x{error.object[error.start]:02x}",
        hint="Convert it with iconv, e.g. iconv -f LATIN1 -t UTF-8.",
        reason=Reason.ENCODING,
    )


def array_pieces(texts: Iterable[bytes], piece_bytes: int = PIECE_BYTES) -> Iterator[list[Any]]:
    """The items of an array in lists. Raises NotAnArrayError before the first, and ValueError where it is broken.

    >>> list(array_pieces([b'[{"a": 1}, {"a"', b': 2}]']))
    [[{'a': 1}, {'a': 2}]]
    """
    source = iter(texts)
    text, ended = _more(source, b"", max(piece_bytes, _HEAD_BYTES))
    first_key = _FIRST_KEY.match(text)
    if first_key is None:
        while not ended:
            text, ended = _more(source, text, 2 * len(text) + 1)
        raise NotAnArrayError(text)
    key = first_key[1]
    start, size = text.index(b"[") + 1, piece_bytes
    lines = text.count(b"\n", 0, start)
    while True:
        if start + size > len(text) and not ended:
            text, ended = _more(source, text[start:], 2 * size)
            start = 0
        if start + size >= len(text) and ended:
            break
        cut = _cut(text, start, start + size, key)
        if cut is None:
            size *= 2  # so that the cost stays linear where no cut is to be found
            continue
        items, end = cut
        yield items
        lines += text.count(b"\n", start, end)
        start, size = end, piece_bytes
    try:
        items = loads(b"[" + text[start:])
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(error.msg, "\n" * lines + error.doc, lines + error.pos) from None
    if items:
        yield items


def _more(source: Iterator[bytes], text: bytes, least: int) -> tuple[bytes, bool]:
    """At least so many bytes of text, or all there are; and whether these are all."""
    parts, size = [text], len(text)
    while size < least:
        part = next(source, None)
        if part is None:
            return b"".join(parts), True
        parts.append(part)
        size += len(part)
    return b"".join(parts) if len(parts) > 1 else text, False


def _cut(text: bytes, start: int, stop: int, key: bytes) -> tuple[list[Any], int] | None:
    """The items from `start` to the last sure boundary before `stop`, and where the next one begins."""
    place = stop
    for _ in range(_TRIES):
        place = text.rfind(key, start, place)
        if place < 0:
            return None
        parting = _PARTING.search(text, max(start, place - _WIDEST), place)
        if parting is None:
            continue
        try:
            return loads(b"[" + text[start : parting.start() + 1] + b"]"), parting.end() - 1
        except ValueError:
            continue
    return None
