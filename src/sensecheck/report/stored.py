"""What a summary.json must look like to be read back: anybody may have changed the file since it was written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_MOST = 1 << 62

Check = Callable[[Any, str], None]


class ShapeError(ValueError):
    """Something in a stored summary that is not as it is written; says where and what."""


def check_summary(stored: Mapping[str, Any]) -> None:
    """Raise a `ShapeError` for the first thing that no version wrote."""
    _SUMMARY(dict(stored), "")


def check_inputs(inputs: Any) -> None:
    """The same for the list of inputs in a manifest."""
    _each(_record({"path": _optional(_text), "sha256": _optional(_text)}, open_ended=True))(inputs, "inputs")


def _wrong(place: str, expected: str) -> ShapeError:
    return ShapeError(f"{place or 'it'} is not {expected}")


def _text(value: Any, place: str) -> None:
    if not isinstance(value, str):
        raise _wrong(place, "a text")


def _count(value: Any, place: str) -> None:
    if type(value) is not int or not 0 <= value < _MOST:
        raise _wrong(place, "a whole number of at least 0")


def _number(value: Any, place: str) -> None:
    if type(value) not in (int, float) or abs(value) > _MOST:
        raise _wrong(place, "a number")


def _numbers(value: Any, place: str) -> None:
    """A number, none, or a list of them, as deep as figures go: curves are lists of points."""
    if isinstance(value, list):
        for at, part in enumerate(value):
            _numbers(part, f"{place}[{at}]")
    elif value is not None:
        _number_of_any_size(value, place)


def _number_of_any_size(value: Any, place: str) -> None:
    if type(value) not in (int, float):
        raise _wrong(place, "a number")


def _anything(value: Any, place: str) -> None:
    pass


def _seed(value: Any, place: str) -> None:
    if type(value) is not int and not (isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 1000):
        raise _wrong(place, "a whole number")


def _optional(check: Check) -> Check:
    def checked(value: Any, place: str) -> None:
        if value is not None:
            check(value, place)

    return checked


def _one_of(*known: str) -> Check:
    def checked(value: Any, place: str) -> None:
        if value not in known:
            raise _wrong(place, f"one of {', '.join(known)}")

    return checked


def _each(check: Check, length: int | None = None) -> Check:
    def checked(value: Any, place: str) -> None:
        if not isinstance(value, list) or (length is not None and len(value) != length):
            raise _wrong(place, "a list" if length is None else f"a list of {length}")
        for at, part in enumerate(value):
            check(part, f"{place}[{at}]")

    return checked


def _named(check: Check) -> Check:
    def checked(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(place, "an object")
        for name, part in value.items():
            check(part, f"{place}.{name}" if place else name)

    return checked


def _record(
    fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None, *, open_ended: bool = False
) -> Check:
    """An object with these fields, and perhaps those; others are passed over."""

    def checked(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(place, "an object")
        for name, check in fields.items():
            where = f"{place}.{name}" if place else name
            if name not in value and not open_ended:
                raise ShapeError(f"{where} is missing")
            if name in value:
                check(value[name], where)
        for name, check in (optional or {}).items():
            if name in value:
                check(value[name], f"{place}.{name}" if place else name)

    return checked


_FIGURE = _record(
    {
        "name": _text, "title": _text, "value": _numbers, "interval": _optional(_each(_numbers, 2)),
        "interval_method": _optional(_text), "interval_absent": _optional(_text), "n": _count,
        "clusters": _optional(_count), "unscored": _named(_count), "beside": _named(_optional(_number_of_any_size)),
        "direction": _one_of("higher", "lower", "none"), "range": _each(_optional(_number_of_any_size), 2),
        "slice": _named(_text),
    },
    {"bounds": _optional(_each(_optional(_number_of_any_size), 2))},
)  # fmt: skip
_SLICES = _each(_record({"by": _each(_text), "values": _each(_each(_FIGURE))}))
_REPEATS = _record(
    {
        "column": _text, "examples": _count, "samples": _each(_count, 3), "at": _each(_count),
        "figures": _each(_FIGURE), "slices": _SLICES, "notes": _each(_text),
    }
)  # fmt: skip
_CORRECTED = _record(
    {"labels": _text, "method": _text, "figures": _each(_FIGURE), "slices": _SLICES, "notes": _each(_text)}
)
_SUMMARY = _record(
    {
        "question": _text,
        "signature": _record(
            {
                "question": _text, "method": _named(_anything), "defaults": _each(_text), "system": _named(_text),
                "version": _text,
            }
        ),
        "rows": _count,
        "intervals": _record(
            {
                "method": _one_of("auto", "percentile", "bca", "normal", "none"), "level": _number,
                "replicates": _count, "seed": _seed,
            }
        ),
        "figures": _each(_FIGURE),
        "slices": _SLICES,
        "notes": _each(_text),
    },
    {"anchors": _named(_numbers), "extra": _named(_anything), "repeats": _REPEATS, "corrected": _CORRECTED},
)  # fmt: skip
