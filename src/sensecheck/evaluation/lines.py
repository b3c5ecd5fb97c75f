"""TOML and YAML with the line of every key and item, so that a mistake can be shown where it is."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import Any, TypeAlias

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason

Place: TypeAlias = tuple[str | int, ...]
Lines: TypeAlias = dict[Place, int]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_VOID = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SCALAR = re.compile(r"[^,\]}\n#]*")


def parsed(text: str, path: str) -> tuple[dict[str, Any], Lines]:
    """The content of a TOML or YAML file (the name's ending says which) and the line of everything in it."""
    _refuse_deep(text, path)
    if path.lower().endswith((".yaml", ".yml")):
        return _yaml(text, path)
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(path) from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        words = re.sub(r" \(at .*\)$", "", str(error))
        raise InputError(f"this is not TOML: {words}", path=path, line=line, reason=Reason.SYNTAX) from None
    except ValueError:  # Python's own bound on the digits of an integer, or a date that does not exist
        raise InputError(
            "this is not TOML: a number or a date in it cannot be", path=path, reason=Reason.SYNTAX
        ) from None
    return content, _Scan(text).lines


_DEEPEST = 200
_MOST_NODES = 100_000
_BRACKET = re.compile(r"[\[\]{}]")


def _refuse_deep(text: str, path: str) -> None:
    """Brackets in brackets in brackets cost the readers of both formats time that grows with their square."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > _DEEPEST:
            raise _too_deep(path, text.count("\n", 0, bracket.start()) + 1)


def _too_deep(path: str, line: int | None = None) -> InputError:
    return InputError(
        f"brackets are nested more than {_DEEPEST} deep", path=path, line=line, hint="Is this an evaluation file?",
        reason=Reason.SYNTAX,
    )  # fmt: skip


class _Scan:
    """Keys of a TOML text that is known to be valid, with their lines."""

    def __init__(self, text: str) -> None:
        # A line may end in \r\n: the scan looks for \n alone.
        self.text = text
        self.at = 0
        self.lines: Lines = {}
        self.arrays: Counter[Place] = Counter()
        self.table: Place = ()
        self._counted = (0, 1)  # how far line ends have been counted, and the line there
        while True:
            self._skip(_VOID)
            if self.at >= len(text):
                return
            if text[self.at] == "[":
                self._header()
            else:
                self._pair(self.table)

    def _line(self) -> int:
        at, line = self._counted
        self._counted = (self.at, line + self.text.count("\n", at, self.at))
        return self._counted[1]

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return match[0]

    def _header(self) -> None:
        line = self._line()
        several = self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        keys = self._keys()
        self.at += 2 if several else 1
        place: Place = ()
        for i, key in enumerate(keys):
            place = (*place, key)
            last = i == len(keys) - 1
            if last and several:
                self.lines.setdefault(place, line)
                self.arrays[place] += 1
            if place in self.arrays:
                # A header inside an array of tables belongs to the last of them.
                place = (*place, self.arrays[place] - 1)
        self.lines[place] = line
        self.table = place

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            keys.append(self._string() if self.text[self.at] in "\"'" else self._skip(_BARE))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return keys
            self.at += 1

    def _pair(self, place: Place) -> None:
        line = self._line()
        for key in self._keys():
            place = (*place, key)
            self.lines.setdefault(place, line)
        self.at += 1  # the sign =
        self._skip(_SPACE)
        self._value(place)

    def _value(self, place: Place) -> None:
        self.lines.setdefault(place, self._line())
        first = self.text[self.at]
        if first == "[":
            self.at += 1
            index = 0
            while True:
                self._skip(_VOID)
                if self.text[self.at] == "]":
                    break
                self.lines[(*place, index)] = self._line()
                self._value((*place, index))
                index += 1
                self._skip(_VOID)
                if self.text[self.at] == ",":
                    self.at += 1
            self.at += 1
        elif first == "{":
            self.at += 1
            while True:
                self._skip(_VOID)
                if self.text[self.at] == "}":
                    break
                self._pair(place)
                self._skip(_VOID)
                if self.text[self.at] == ",":
                    self.at += 1
            self.at += 1
        elif first in "\"'":
            self._string()
        else:
            self._skip(_SCALAR)

    def _string(self) -> str:
        quote = self.text[self.at]
        long = self.text.startswith(quote * 3, self.at)
        end = quote * 3 if long else quote
        start = self.at = self.at + len(end)
        while not self.text.startswith(end, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        inside = self.text[start : self.at]
        self.at += len(end)
        # Up to two quotes may stand right before the closing three.
        while long and self.at < len(self.text) and self.text[self.at] == quote:
            self.at += 1
        return inside


def _yaml(text: str, path: str) -> tuple[dict[str, Any], Lines]:
    try:
        import yaml
    except ImportError:
        raise ImportError(
            f"reading {path} needs the extra `yaml`: pip install 'sensecheck[yaml]' (TOML needs nothing)"
        ) from None
    lines: Lines = {}

    left = _MOST_NODES

    def walk(node: Any, place: Place) -> None:
        nonlocal left
        left -= 1
        if left < 0 or len(place) > _DEEPEST:  # an alias may stand for more aliases, and for what it is in
            raise InputError(
                f"it stands for more than {_MOST_NODES:,} values, or for values nested more than {_DEEPEST} deep",
                path=path, line=node.start_mark.line + 1, hint="Write the values out without aliases (*name).",
                reason=Reason.SYNTAX,
            )  # fmt: skip
        lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for key, value in node.value:
                name = str(key.value)
                if name in seen:
                    raise InputError(
                        f"the key {shown(name)} is given twice here", path=path, line=key.start_mark.line + 1,
                        reason=Reason.SYNTAX,
                    )  # fmt: skip
                seen.add(name)
                lines[(*place, name)] = key.start_mark.line + 1
                walk(value, (*place, name))
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                walk(value, (*place, index))

    try:
        reader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)  # libyaml takes a tenth of the time
        node = reader.get_single_node()
        if node is not None:
            walk(node, ())
        content = reader.construct_document(node) if node is not None else None
    except RecursionError:
        raise _too_deep(path) from None
    except yaml.reader.ReaderError as error:
        at = error.position if isinstance(error.position, int) else 0
        raise InputError(
            path=path, line=text.count("\n", 0, at) + 1, expected="text without control characters",
            got=shown(text[at : at + 1]), reason=Reason.SYNTAX,
        ) from None  # fmt: skip
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        # Python's own bound on the digits of an integer, or a date that does not exist
        raise InputError(
            "this is not YAML: a number or a date in it cannot be", path=path, reason=Reason.SYNTAX
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        words = getattr(error, "problem", None) or "it cannot be read"
        words = "a key that is a list or an object" if "unhashable" in words else words
        words = words if len(words) <= 200 else f"{words[:200]}…"
        line = mark.line + 1 if mark else None
        raise InputError(f"this is not YAML: {words}", path=path, line=line, reason=Reason.SYNTAX) from None
    if not isinstance(content, dict):
        raise InputError(path=path, line=1, expected="keys and values", got=shown(content), reason=Reason.SYNTAX)
    return content, lines
