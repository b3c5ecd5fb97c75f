"""What a server's values are as people mean them, so that the comparison of answers need not know where they come from.

A number is the number, whatever it is kept as; a day is the same day with or without a midnight behind it; an instant
is told in UTC; an array or a JSON document is its content, whatever its spacing and the order of its keys.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

_MOST_DIGITS = 4_000
"""Of a whole number; Python takes long to write longer ones, and they stay text."""
_MIDNIGHT = re.compile(r"(.*\d) 00:00:00(?:\.0+)?")
_FRACTION = re.compile(r"(.*:\d\d(?:\.\d*[1-9])?)\.?0+$")
_SPAN = re.compile(
    r"(?:(-?\d+) years? ?)?(?:(-?\d+) mons? ?)?(?:(-?\d+) days? ?)?(?:([-+]?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?"
)
_DAY = 86_400_000_000
"""Microseconds."""
_DEPTH = 100
"""Of a document; a deeper one is compared as it is written."""


class TooDeepError(ValueError):
    """A value inside a value, and so on."""


def plain(value: Any) -> Any:
    """A value that can be compared with one of another type that means the same.

    >>> [plain(value) for value in (Decimal("3.00"), Decimal("0.5"), [1, None], {"b": 1, "a": Decimal("2.0")})]
    [3, 0.5, '[1,null]', '{"a":2,"b":1}']
    """
    if value is None or isinstance(value, str | bool | int | bytes):
        return value
    if isinstance(value, float):
        return value
    if isinstance(value, Decimal):
        return number(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, datetime):
        return moment(str(value))
    if isinstance(value, date | time):
        return moment(str(value))
    if isinstance(value, timedelta):
        return interval(value)
    if isinstance(value, list | tuple | Mapping):
        return document(value)
    if hasattr(value, "lower_inc"):
        return stretch(value)
    if isinstance(value, Sequence):  # of stretches
        return "{" + ",".join(str(plain(each)) for each in value) + "}"
    return str(value)


def stretch(value: Any) -> str:
    """A range as its server writes it, its ends as what they mean."""
    if value.isempty:
        return "empty"
    ends = ["" if end is None else str(plain(end)) for end in (value.lower, value.upper)]
    return f"{'[' if value.lower_inc else '('}{','.join(ends)}{']' if value.upper_inc else ')'}"


def number(value: Decimal) -> int | float | str:
    """A whole number exactly; any other as near as a float is."""
    if not value.is_finite():
        return float(value)
    if value.adjusted() < _MOST_DIGITS and value == value.to_integral_value():
        return int(value)
    as_float = float(value)
    return str(value) if math.isinf(as_float) else as_float


def moment(text: str) -> str:
    """
    >>> [moment(text) for text in ("2020-01-01 00:00:00", "2020-01-01 10:00:00.500000", "10:00:00.000")]
    ['2020-01-01', '2020-01-01 10:00:00.5', '10:00:00']
    """
    midnight = _MIDNIGHT.fullmatch(text)
    if midnight is not None:
        return midnight[1]
    shorter = _FRACTION.match(text) if "." in text else None
    return text if shorter is None else shorter[1]


def interval(value: timedelta) -> str:
    """Days, then hours, minutes and seconds, so that 24 hours are a day."""
    return _days_and_time(value // timedelta(microseconds=1))


def span(text: str) -> str:
    """An interval as PostgreSQL writes it, in days and time; as it compares them, a month is 30 days.

    >>> [span(text) for text in ("1 year 5 days 24:00:00", "-1 days +02:00:00", "178000000 years", "infinity")]
    ['366 days 00:00:00', '-22:00:00', '64080000000 days 00:00:00', 'infinity']
    """
    match = _SPAN.fullmatch(text)
    if match is None or not text:
        return text
    years, months, days, hours, minutes, seconds = (int(match[part] or 0) for part in (1, 2, 3, 5, 6, 7))
    clock = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int((match[8] or "").ljust(6, "0"))
    whole = (years * 360 + months * 30 + days) * _DAY + (-clock if match[4] == "-" else clock)
    return _days_and_time(whole)


def _days_and_time(microseconds: int) -> str:
    days, rest = divmod(abs(microseconds), _DAY)
    minutes, rest = divmod(rest, 60_000_000)
    fraction = f".{rest % 1_000_000:06d}".rstrip("0") if rest % 1_000_000 else ""
    sign = "-" if microseconds < 0 else ""
    told = f"{days} days " if days else ""
    return f"{sign}{told}{minutes // 60:02}:{minutes % 60:02}:{rest // 1_000_000:02}{fraction}"


def document(value: Any) -> str:
    """JSON in one spelling: keys in order, no spaces, numbers by value."""
    try:
        return orjson.dumps(_inner(value, 0), option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, TooDeepError, RecursionError, UnicodeError):
        return str(value)


def _inner(value: Any, depth: int) -> Any:
    if depth > _DEPTH:
        raise TooDeepError
    if isinstance(value, Mapping):
        return {str(key): _inner(each, depth + 1) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return [_inner(each, depth + 1) for each in value]
    value = plain(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        if value != value or math.isinf(value):
            return repr(value)
        return int(value) if value.is_integer() and abs(value) < 1 << 53 else value
    return value if not isinstance(value, int) or -(1 << 63) <= value < 1 << 64 else str(value)


def json_value(text: str) -> Any:
    """What a JSON document says; a number, text or mark that stands alone is that, and `null` is nothing.

    >>> json_value('{"b": [1.0, 2],  "a": null}'), json_value('"abc"'), json_value("3.0")
    ('{"a":null,"b":[1,2]}', 'abc', 3)
    """
    try:
        value = plain(json.loads(text, parse_float=Decimal))
        if isinstance(value, str):
            value.encode()  # half a character can be written, and is none
    except (ValueError, RecursionError, InvalidOperation):  # an exponent of twenty digits
        return text
    return value
