"""Short names for what a figure depends on beside its data: a store, a schema, word lists.

They are made of content alone, so that a copy elsewhere has the same one, and go into a run's signature. What they cost
is bounded: of files that are large together, parts are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

DIGITS = 12
READ_BYTES = 128 << 20
"""Bytes read in all, as long as files are not thousands. Larger ones are looked at in places that lie evenly over them:
their size and their first page, where SQLite counts its changes, are always among what is seen."""
_LEAST_BYTES = 256 << 10
_PART_BYTES = 64 << 10


def of_value(value: Any) -> str:
    """Of anything that JSON can say; the order of keys makes no difference.

    >>> of_value({"a": 1, "b": [2]}) == of_value({"b": [2], "a": 1}) != of_value({"a": 1, "b": [3]})
    True
    """
    options = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    return hashlib.sha256(orjson.dumps(value, default=str, option=options)).hexdigest()[:DIGITS]


def of_files(files: Iterable[tuple[str, Path]]) -> str:
    """Of files, each with the name that it goes by (none where that makes no difference)."""
    named = list(files)
    each = max(_LEAST_BYTES, READ_BYTES // max(len(named), 1))
    contents = sorted((name.encode("utf-8", "surrogateescape").hex(), _digest(path, each)) for name, path in named)
    return of_value(contents)


def _digest(path: Path, most: int) -> str:
    """Of a file's size and content, or of parts of it where it holds more than so many bytes."""
    size = path.stat().st_size
    digest = hashlib.sha256(f"{size} ".encode())
    with path.open("rb") as stream:
        if size <= most:
            while block := stream.read(1 << 20):
                digest.update(block)
            return digest.hexdigest()
        parts = most // _PART_BYTES
        for part in range(parts):
            stream.seek(part * (size - _PART_BYTES) // (parts - 1))
            digest.update(stream.read(_PART_BYTES))
    return digest.hexdigest()
