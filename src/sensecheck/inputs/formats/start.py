"""The beginning of a file, by which its format is known: never more than its first megabyte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from sensecheck.inputs.objects import sketch
from sensecheck.inputs.opening import Source, unpacked_start

MOST_BYTES = 1 << 20
"""Text that recognition looks at."""

_MOST_MEMBERS = 200
_MOST_LINES = 200
FIRST_OBJECTS = 3
"""Records in memory that are looked at."""
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[\s]*")
UNFINISHED: Any = object()
"""Stands for a value that goes on behind the part that is looked at."""


@dataclass(frozen=True)
class Start:
    """A file's name and the text it begins with."""

    name: str
    data: bytes

    @classmethod
    def of(cls, source: Source) -> Start:
        """Of a file, unpacked where it is packed. A stream has none: it would be used up."""
        return cls.of_bytes(source.name, source.head(MOST_BYTES))

    @classmethod
    def of_bytes(cls, name: str, head: bytes) -> Start:
        return cls(name, unpacked_start(head, MOST_BYTES)[:MOST_BYTES].removeprefix(b"\xef\xbb\xbf"))

    @classmethod
    def of_objects(cls, objects: Sequence[Mapping[str, Any]]) -> Start:
        """Of what is in memory: as if its first records were lines."""
        lines = [json.dumps(sketch(one)) for one in objects[:FIRST_OBJECTS]]
        return cls("", ("\n".join(lines) + "\n").encode("utf-8", "replace")[:MOST_BYTES])

    @cached_property
    def ending(self) -> str:
        """The ending of the file's name, in small letters, without that of packing."""
        return re.sub(r"\.(gz|zst|zstd)$", "", self.name.lower()).rpartition(".")[2]

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @cached_property
    def kind(self) -> Literal["array", "object", "lines", "text"]:
        """One JSON array, one JSON object, a JSON object a line, or anything else."""
        first = self.text[_after_space(self.text, 0) :][:1]
        if first == "[":
            return "array"
        if first != "{":
            return "text"
        end = self._first_object[1]
        if end is None:
            return "object"
        # An object that ends with its line, and another one after it.
        rest = self.text[end:]
        line, _, more = rest.partition("\n")
        if not line.strip() and (more.lstrip()[:1] == "{" or "\n" not in self.text[:end].strip()):
            return "lines"
        return "object"

    @cached_property
    def is_one_object(self) -> bool:
        """Whether the text is one JSON object and nothing more, or goes on behind the part that is looked at."""
        end = self._first_object[1]
        return self.kind == "object" or (self.kind == "lines" and end is not None and not self.text[end:].strip())

    @cached_property
    def _first_object(self) -> tuple[Any, int | None]:
        return _decoded(self.text, _after_space(self.text, 0))

    @cached_property
    def first(self) -> dict[str, Any]:
        """The first record of JSON lines or of an array of objects; of an object, itself as far as it goes."""
        if self.kind == "lines":
            return self._first_object[0] if isinstance(self._first_object[0], dict) else {}
        if self.kind == "array":
            begin = _after_space(self.text, _after_space(self.text, 0) + 1)
            value, end = _decoded(self.text, begin)
            if end is None and self.text[begin : begin + 1] == "{":
                return dict(_members(self.text, begin))
            return value if isinstance(value, dict) else {}
        return self.members if self.kind == "object" else {}

    @cached_property
    def members(self) -> dict[str, Any]:
        """The first members of a JSON object; of a value that is not complete, `UNFINISHED`."""
        if self.kind not in ("object", "lines"):
            return {}
        return dict(_members(self.text, _after_space(self.text, 0)))

    @cached_property
    def items(self) -> list[Any]:
        """The first items of a JSON array that are complete."""
        items: list[Any] = []
        at = _after_space(self.text, 0) + 1
        while self.kind == "array" and len(items) < _MOST_MEMBERS:
            value, end = _decoded(self.text, _after_space(self.text, at))
            if end is None:
                break
            items.append(value)
            at = _after_space(self.text, end)
            if self.text[at : at + 1] != ",":
                break
            at += 1
        return items

    @cached_property
    def lines(self) -> list[str]:
        """The first lines that are not blank, the one that may be cut left out."""
        parts = self.text.split("\n")
        if len(self.data) >= MOST_BYTES:
            parts.pop()
        return [line.rstrip("\r") for line in parts if line.strip()][:_MOST_LINES]


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _decoded(text: str, at: int) -> tuple[Any, int | None]:
    """The JSON value that begins here and where it ends; without an end it is not complete, or none."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return UNFINISHED, None
    return value, end


def _members(text: str, at: int) -> list[tuple[str, Any]]:
    members: list[tuple[str, Any]] = []
    at = _after_space(text, at + 1)
    while len(members) < _MOST_MEMBERS and text[at : at + 1] == '"':
        name, end = _decoded(text, at)
        if end is None or not isinstance(name, str):
            break
        at = _after_space(text, end)
        if text[at : at + 1] != ":":
            break
        begin = _after_space(text, at + 1)
        value, end = _decoded(text, begin)
        members.append((name, value))
        if end is None:
            break
        at = _after_space(text, end)
        if text[at : at + 1] != ",":
            break
        at = _after_space(text, at + 1)
    return members
