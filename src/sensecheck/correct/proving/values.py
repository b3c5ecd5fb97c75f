"""Values near to constants: what a column could hold instead of what it holds."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable

from .hints import Operator
from .knowledge import Domain
from .schema import Column, Value, converted

_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


def fitted(value: Value, column: Column, domain: Domain) -> Value:
    """The value as the column would hold it, or None where it holds nothing of the kind."""
    if value is None:
        return None
    value = converted(value, column.affinity)
    if not domain.values:
        numeric = column.affinity in ("integer", "real", "numeric")
        return value if not numeric or domain.kind == "date" or isinstance(value, int | float) else None
    if domain.kind == "number":
        if not isinstance(value, int | float):
            return None
        if domain.whole and not float(value).is_integer():
            return None
        known = domain.values[0]
        return int(value) if isinstance(known, int) and float(value).is_integer() else value
    if domain.kind == "digits":
        text = str(value)
        return text if re.fullmatch(r"-?\d{1,12}(?:\.\d{1,6})?", text) else None
    if domain.kind == "date":
        first = str(domain.values[0])
        text = str(value)
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text) and len(first) > 10:
            text += first[10] + "00:00:00"[: len(first) - 11]
        return text if len(text) == len(first) and _DAY.match(text) else None
    return value if isinstance(value, str) or domain.kind == "blob" else None


def as_number(value: Value) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return None


def moved(value: Value, step: float, column: Column, domain: Domain) -> Value:
    """The value a step further: a number, or a day for a date. None where there is no such thing."""
    if domain.kind in ("number", "digits"):
        number = as_number(value)
        if number is None:
            return None
        further = number + step
        if domain.whole:
            further = math.floor(further) if step < 0 else math.ceil(further)
        if domain.kind == "digits":
            return fitted(str(int(further)) if float(further).is_integer() else repr(further), column, domain)
        return fitted(int(further) if float(further).is_integer() else further, column, domain)
    if domain.kind == "date" and isinstance(value, str):
        match = _DAY.match(value)
        if match is None:
            return None
        try:
            day = datetime.date(int(match[1]), int(match[2]), int(match[3])) + datetime.timedelta(days=round(step))
        except (ValueError, OverflowError):
            return None
        return fitted(day.isoformat() + value[10:], column, domain)
    return None


def holds(value: Value, operator: Operator, constant: Value) -> bool:
    """Whether a value stands so to a constant, more or less as SQL has it."""
    if operator == "null":
        return value is None
    if value is None or constant is None:
        return False
    if operator == "like":
        return _like(str(constant)).fullmatch(str(value)) is not None
    left, right = as_number(value), as_number(constant)
    if left is None or right is None:
        a, b = str(value), str(constant)
        return _ordered((a > b) - (a < b), operator)
    return _ordered((left > right) - (left < right), operator)


def _ordered(sign: int, operator: Operator) -> bool:
    return {"=": sign == 0, "!=": sign != 0, "<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0}[operator]


def sign_of(value: Value, operator: Operator, constant: Value) -> int:
    """The class of a value beside a test: below, at or above a constant; like a pattern or not; NULL."""
    if value is None:
        return 3
    if operator in ("like", "null"):
        return int(holds(value, operator, constant))
    left, right = as_number(value), as_number(constant)
    if left is None or right is None:
        a, b = str(value), str(constant)
        if operator in ("=", "!="):
            return int(a == b) if a == b or a.lower() != b.lower() else 2
        return (a > b) - (a < b)
    return (left > right) - (left < right)


def _like(pattern: str) -> re.Pattern[str]:
    """A LIKE pattern with at most a few wildcards; others match nothing."""
    if pattern.count("%") + pattern.count("*") > 8:
        return re.compile(r"(?!)")
    pieces = [".*" if c in "%*" else "." if c in "_?" else re.escape(c) for c in pattern]
    return re.compile("".join(pieces), re.I | re.S)


def like_text(pattern: str) -> str:
    """A text of which a pattern holds."""
    return re.sub(r"[%*]+", "", pattern).replace("_", "a").replace("?", "a")


def near(constants: Iterable[Value], column: Column, domain: Domain) -> list[Value]:
    """Each constant as the column holds it, and what lies right beside it."""
    found: dict[Value, None] = {}
    for constant in constants:
        number = as_number(constant)
        if domain.kind in ("number", "digits") and domain.whole and number is not None and not number.is_integer():
            for whole in (math.floor(number), math.ceil(number)):
                found[fitted(whole, column, domain)] = None
            continue
        value = fitted(constant, column, domain)
        if value is not None:
            found[value] = None
            for step in (-1, 1):
                found[moved(value, step, column, domain)] = None
    found.pop(None, None)
    return list(found)
