"""Objects in memory as the JSON that their programs would write: replies of clients, outputs of engines, logs of hosts.

Nothing is imported for it: pydantic models, dataclasses and plain objects are known by what they offer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

_MOST_DEPTH = 64
_SCALARS = (str, int, float, bool, bytes, type(None))


def plain_objects(data: Any) -> list[Mapping[str, Any]]:
    """The records of a list of objects, or of one alone, as dicts; nothing where the data are something else."""
    if isinstance(data, Mapping) or _is_object(data):
        one = _plain(data) if not isinstance(data, Mapping) else data
        return [one] if isinstance(one, Mapping) and all(isinstance(name, str) for name in one) else []
    if not isinstance(data, list | tuple) or not data or hasattr(data, "_fields"):
        return []
    if all(isinstance(item, dict) for item in data):
        return list(data)
    if not all(isinstance(item, Mapping) or _is_object(item) for item in data):
        return []
    items = [_plain(item) for item in data]
    return items if all(isinstance(item, Mapping) for item in items) else []


def _is_object(value: Any) -> bool:
    """Whether it is one record with named parts, and not a table, an array or something to be called."""
    if isinstance(value, (*_SCALARS, type, Enum)) or callable(value):
        return False
    if callable(getattr(value, "model_dump", None)) or dataclasses.is_dataclass(value):
        return True
    if hasattr(value, "__array__") or hasattr(value, "__dataframe__") or hasattr(value, "__len__"):
        return False
    return hasattr(value, "__dict__") and not hasattr(value, "__next__") and not hasattr(value, "read")


def _plain(value: Any, depth: int = 0) -> Any:
    """The value with objects as dicts; what is too deep stays as it is, and is told where it is read."""
    if isinstance(value, _SCALARS) or depth > _MOST_DEPTH:
        return value
    if isinstance(value, Enum):
        return value.value
    if callable(getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _plain(value.model_dump(), depth + 1)
    if isinstance(value, Mapping):
        return {str(name): _plain(member, depth + 1) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member, depth + 1) for member in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name), depth + 1) for one in dataclasses.fields(value)}
    if _is_object(value):
        return {name: _plain(member, depth + 1) for name, member in vars(value).items() if not name.startswith("_")}
    return value


def sketch(value: Any, depth: int = 0) -> Any:
    """As much of a record as it is known by: long lists and texts cut, what is no JSON named by its kind."""
    if isinstance(value, str):
        return value[:200]
    if isinstance(value, int | float | type(None)):
        return value
    if isinstance(value, Mapping) and depth < 8:
        return {str(name): sketch(member, depth + 1) for name, member in list(value.items())[:200]}
    if isinstance(value, Sequence) and not isinstance(value, bytes) and depth < 8:
        return [sketch(member, depth + 1) for member in value[:3]]
    return f"<{type(value).__name__}>"
