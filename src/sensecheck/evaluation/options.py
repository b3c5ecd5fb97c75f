"""What a question's `evaluate` takes, read off its signature: the one place where options are declared."""

from __future__ import annotations

import collections.abc
import dataclasses
import os
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union

import sensecheck.options
from sensecheck.instruments import room
from sensecheck.options import Parameter, parameters, settings_of
from sensecheck.statistics.figure import IntervalOptions

# What `run` decides itself: where runs go, how intervals are made, what a system is called.
OWN = frozenset({"options", "out", "resume", "overwrite", "progress", "system", "shard", "engine"})
# Files whose options take tables and lists as well, so that their hints do not tell.
_READ = frozenset({"data", "references", "gold", "queries", "schema", "labels", "human"})
# Files that are made where there are none.
_MADE = frozenset({"cache", "judge_cache"})


@dataclass(frozen=True)
class Setting:
    name: str
    hint: Any
    default: Any
    required: bool
    help: str = ""

    def accepts(self, value: Any) -> bool:
        return _accepts(self.hint, value)

    def expected(self) -> str:
        return _described(self.hint)

    @property
    def parts(self) -> dict[str, Setting]:
        """The settings of an option that is a table of them (`limits`, `access`)."""
        return next((_settings(kind) for kind in _members(self.hint) if dataclasses.is_dataclass(kind)), {})

    def built(self, value: Any) -> Any:
        """The value as `evaluate` takes it: a table of settings becomes what holds them."""
        kind = next((kind for kind in _members(self.hint) if dataclasses.is_dataclass(kind)), None)
        return kind(**value) if isinstance(kind, type) and isinstance(value, Mapping) else value

    @property
    def reads_files(self) -> bool:
        """Whether its texts name files that must be there (a cache need not be)."""
        parts = [self.hint, *typing.get_args(self.hint)]
        paths = any(
            (typing.get_origin(p) or p) is os.PathLike for part in parts for p in (part, *typing.get_args(part))
        )
        return self.name in _READ or (paths and self.name not in _MADE)


@cache
def options(question: str) -> dict[str, Setting]:
    """Every option of a question that a file may set."""
    return {
        name: _setting(parameter)
        for name, parameter in parameters(evaluator(question)).items()
        if name not in OWN and (_is_any(parameter.hint) or _members(parameter.hint))
    }


def intervals() -> dict[str, Setting]:
    """The settings of `[intervals]`."""
    return _settings(IntervalOptions)


def _settings(kind: Any) -> dict[str, Setting]:
    return {name: _setting(parameter) for name, parameter in settings_of(kind).items()}


def _setting(parameter: Parameter) -> Setting:
    words = parameter.option.help if parameter.option is not None else ""
    usual = None if parameter.required else parameter.default
    return Setting(parameter.name, parameter.hint, usual, parameter.required, words)


def takes_anything(question: str) -> bool:
    return sensecheck.options.takes_anything(evaluator(question))


def evaluator(question: str) -> Callable[..., Any]:
    function: Callable[..., Any] = room(question).evaluate
    return function


def _accepts(hint: Any, value: Any) -> bool:
    kinds = _members(hint)
    return not kinds or any(_one(kind, value) for kind in kinds)


def _is_any(hint: Any) -> bool:
    return hint is Any or hint is None or Any in typing.get_args(hint)


def _members(hint: Any) -> list[Any]:
    """The alternatives of a hint that a file can hold; none of them means: leave it to the question."""
    if hint is Any or hint is None:
        return []
    if isinstance(typing.get_origin(hint) or hint, type) and issubclass(typing.get_origin(hint) or hint, os.PathLike):
        return [str]  # a file names a path by its text
    if typing.get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        return [] if Any in parts else [kind for part in parts for kind in _members(part)]
    return [hint] if _expressible(hint) else []


def _expressible(hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    plain = hint in (bool, int, float, str) or origin is Literal or dataclasses.is_dataclass(hint)
    return plain or _is(origin, (list, tuple)) or _is(origin, (dict,))


def _is(origin: Any, kinds: tuple[type, ...]) -> bool:
    if not isinstance(origin, type) or origin is str:
        return False
    shapes = (collections.abc.Sequence, collections.abc.Iterable) if list in kinds else (collections.abc.Mapping,)
    return origin in kinds or origin in shapes


def _one(hint: Any, value: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    if hint is bool:
        return isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is str:
        return isinstance(value, str)
    if origin is Literal:
        return value in typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        known = _settings(hint)
        return isinstance(value, Mapping) and all(k in known and known[k].accepts(v) for k, v in value.items())
    arguments = [a for a in typing.get_args(hint) if a is not Ellipsis]
    if _is(origin, (list, tuple)):
        return isinstance(value, list) and (not arguments or all(_accepts(arguments[0], v) for v in value))
    if _is(origin, (dict,)):
        return isinstance(value, Mapping) and (
            len(arguments) < 2 or all(_accepts(arguments[1], v) for v in value.values())
        )
    return True


def _described(hint: Any) -> str:
    words = []
    for kind in _members(hint):
        origin = typing.get_origin(kind) or kind
        arguments = [a for a in typing.get_args(kind) if a is not Ellipsis]
        if origin is Literal:
            words.append("one of " + ", ".join(str(a) for a in arguments))
        elif _is(origin, (list, tuple)):
            inner = _described(arguments[0]) if arguments else ""
            words.append(f"a list ({inner})" if inner else "a list")
        elif dataclasses.is_dataclass(kind):
            words.append(f"a table ({', '.join(_settings(kind))})")
        elif _is(origin, (dict,)):
            words.append("a table")
        else:
            words.append({bool: "true or false", int: "a whole number", float: "a number", str: "text"}[kind])
    return " or ".join(dict.fromkeys(words))


def schema_of(hint: Any) -> dict[str, Any]:
    """The same as a JSON schema."""
    kinds: list[dict[str, Any]] = []
    for kind in _members(hint):
        origin = typing.get_origin(kind) or kind
        arguments = [a for a in typing.get_args(kind) if a is not Ellipsis]
        if origin is Literal:
            kinds.append({"enum": list(arguments)})
        elif _is(origin, (list, tuple)):
            kinds.append({"type": "array", **({"items": schema_of(arguments[0])} if arguments else {})})
        elif dataclasses.is_dataclass(kind):
            inner = {name: schema_of(option.hint) for name, option in _settings(kind).items()}
            kinds.append({"type": "object", "additionalProperties": False, "properties": inner})
        elif _is(origin, (dict,)):
            kinds.append({"type": "object"})
        else:
            kinds.append({"type": {bool: "boolean", int: "integer", float: "number", str: "string"}[kind]})
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}


def plain_default(value: Any) -> Any:
    """A default as a file could say it, or None where it could not."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (tuple, list)) and all(isinstance(v, (bool, int, float, str)) for v in value):
        return list(value)
    return None
