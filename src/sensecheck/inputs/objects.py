"""Objects in memory as the JSON that their programs would write: replies of clients, outputs of engines, logs of hosts.

Nothing is imported for it: pydantic models, dataclasses and plain objects are known by what they offer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from sensecheck.inputs.errors import InputError, escaped
from sensecheck.inputs.reasons import Reason

_MOST_DEPTH = 100
_SCALARS = (str, int, float, bool, bytes, type(None))


def are_objects(data: Any) -> bool:
    """Whether it is a list of records with named parts, or one alone, and not a table, an array or an iterator."""
    if isinstance(data, Mapping):
        return all(isinstance(name, str) for name in data)
    if not isinstance(data, list | tuple) or hasattr(data, "_fields"):
        return _is_object(data)
    known = [item is not None for item in data]
    return any(known) and all(item is None or isinstance(item, Mapping) or _is_object(item) for item in data)


def plain_objects(data: Any, most: int | None = None) -> list[Mapping[str, Any]]:
    """The first records of what `are_objects`, or all of them, as dicts of plain values."""
    items = data if isinstance(data, list | tuple) else [data]
    plain = []
    for number, item in enumerate(items[:most], 1):
        try:
            value = _Plain().of(item)
        except Exception as error:  # whatever a program's own object does when it is asked what it holds
            raise InputError(
                f"the object cannot be read: {type(error).__name__}: {escaped(str(error))[:120]}", record=number,
                hint="Give the parts of it as a dict.", reason=Reason.BAD_RECORD,
            ) from None  # fmt: skip
        # Nothing among objects is a call that gave none.
        plain.append(value if isinstance(value, Mapping) else {"error": {"type": "no reply"}})
    return plain


def _is_object(value: Any) -> bool:
    """Whether it is one record with named parts, and not a table, an array or something to be called."""
    if isinstance(value, (*_SCALARS, type, Enum)) or callable(value):
        return False
    kind = type(value)
    if callable(getattr(kind, "model_dump", None)) or dataclasses.is_dataclass(value):
        return True
    if any(hasattr(kind, name) for name in ("__array__", "__dataframe__", "__len__", "__next__", "read")):
        return False
    return hasattr(value, "__dict__")


class _Plain:
    """One record with its objects as dicts. What is met again is not gone through again: it may hold itself."""

    def __init__(self) -> None:
        self._met: dict[int, Any] = {}
        self._kept: list[Any] = []
        """What was met, so that no number of an object is given to another meanwhile."""

    def of(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, _SCALARS) or depth > _MOST_DEPTH:
            return value
        if id(value) in self._met:
            return self._met[id(value)]
        self._met[id(value)] = None
        self._kept.append(value)
        plain = self._parts(value, depth + 1)
        self._met[id(value)] = plain
        return plain

    def _parts(self, value: Any, depth: int) -> Any:
        if isinstance(value, Mapping):
            return {str(name): self.of(member, depth) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(member, depth) for member in value]
        if callable(getattr(type(value), "model_dump", None)):
            return self.of(value.model_dump(), depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {one.name: self.of(getattr(value, one.name), depth) for one in dataclasses.fields(value)}
        if _is_object(value):
            return {name: self.of(member, depth) for name, member in vars(value).items() if not name.startswith("_")}
        return value


def sketch(value: Any, depth: int = 0) -> Any:
    """As much of a record as it is known by: long lists and texts cut, what is no JSON named by its kind."""
    if isinstance(value, str):
        return value[:200]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
        return float("inf")
    if isinstance(value, int | float | type(None)):
        return value
    if isinstance(value, Mapping) and depth < 8:
        return {str(name): sketch(member, depth + 1) for name, member in list(value.items())[:200]}
    if isinstance(value, Sequence) and not isinstance(value, bytes) and depth < 8:
        return [sketch(member, depth + 1) for member in value[:3]]
    return f"<{type(value).__name__}>"
