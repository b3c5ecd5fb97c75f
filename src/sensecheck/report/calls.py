"""A call of an `evaluate`, as another process can repeat it: places in full, and in JSON where it is written down."""

from __future__ import annotations

import dataclasses
import glob
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sensecheck.inputs.addresses import are_addresses, plain
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.network.address import public_text
from sensecheck.options import Option, Parameter, alternatives, parameters

_PLACES = frozenset(("FILE", "PATH", "DIR", "RUN", "M", "G"))
"""Metavars of options that may name a file or folder."""
_BEHIND = ("table:", "file:")
"""What may stand before a file in the name of a model."""
OF_ONE_RUN = ("out", "resume", "overwrite", "progress", "shard", "engine")
"""Where and how a call is carried out, which another one that repeats it decides for itself."""


def named(function: Callable[..., Any], args: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """All that a function is called with, by name, each place in full: another process may work in another folder."""
    known, call = parameters(function), by_name(function, args, given)
    return {
        name: _in_full(value) if name in known and _is_place(known[name]) else value for name, value in call.items()
    }


def by_name(function: Callable[..., Any], args: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    places = [
        p.name for p in inspect.signature(inspect.unwrap(function)).parameters.values() if p.kind is not p.VAR_KEYWORD
    ]
    return {**dict(zip(places, args, strict=False)), **given}


def _is_place(parameter: Parameter) -> bool:
    return parameter.option is not None and parameter.option.metavar in _PLACES


def at_addresses(function: Callable[..., Any], args: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The call by name, where something that it reads lies at an address; else nothing. What is written on this
    machine may not.
    """
    known, call = parameters(function), by_name(function, args, given)
    found = False
    for name, value in call.items():
        option = known[name].option if name in known else None
        if option is None or option.metavar not in _PLACES or not are_addresses(_behind(option, value)[1]):
            continue
        if option.written:
            raise InputError(
                field=name, expected="a place on this machine", got=shown(value),
                hint="Only the run (--out, out=) can be kept at an address.", reason=Reason.BAD_OPTION,
            )  # fmt: skip
        found = found or name != "out"
    return call if found else None


def here(function: Callable[..., Any], call: Mapping[str, Any], fetch: Callable[[Any], Any]) -> dict[str, Any]:
    """The call with files of this machine in the place of addresses."""
    known, local = parameters(function), dict(call)
    for name, value in call.items():
        option = known[name].option if name in known else None
        if option is not None and option.metavar in _PLACES and name != "out":
            before, place = _behind(option, value)
            if are_addresses(place):
                local[name] = before + fetch(place) if before else fetch(place)
    return local


def _behind(option: Option, value: Any) -> tuple[str, Any]:
    """What stands before a place, and the place: models are named in several ways, of which one is a file."""
    if option.metavar not in ("M", "G"):
        return "", value
    before = next((start for start in _BEHIND if isinstance(value, str) and value.startswith(start)), "")
    return (before, value.removeprefix(before)) if before else ("", None)


def _in_full(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_in_full(one) for one in value]
    value = plain(value)
    if isinstance(value, os.PathLike):
        return os.path.abspath(value)  # noqa: PTH100 - links stay links: they are what the user named
    if not isinstance(value, str) or "://" in value:
        return value
    if value == "-":
        raise InputError(
            "standard input can be read once: shards (--shard, --engine) read their input each for itself",
            hint="Save it to a file first.", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    before = next((start for start in _BEHIND if value.startswith(start)), "")
    place = value.removeprefix(before)
    is_there = bool(place) and (Path(place).exists() or (glob.has_magic(place) and not before))
    return before + os.path.abspath(place) if is_there else value  # noqa: PTH100


def written(call: Mapping[str, Any]) -> dict[str, Any]:
    """The call in the forms of JSON, without secrets. What cannot be written is refused by name."""
    return {name: _plain(name, value) for name, value in call.items() if name not in OF_ONE_RUN and value is not None}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return public_text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(name, getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(name, one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(name, one) for one in value]
    raise InputError(
        field=name, expected="something that can be written down, for `sensecheck merge` to repeat",
        got=f"{type(value).__name__} ({shown(value, 40)})",
        hint="Give a file or a name, or let one call do it all: engine=.", reason=Reason.BAD_OPTION,
    )  # fmt: skip


def read_back(function: Callable[..., Any], call: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that `written` wrote; groups of settings become what holds them."""
    known = parameters(function)
    for name in call:
        if name not in known:
            raise InputError(
                field=name, expected="an option of this version", got="one that it does not know",
                hint="Merge with the version that measured the shards.", reason=Reason.BAD_OPTION,
            )  # fmt: skip
    return {name: _built(known[name], value) for name, value in call.items()}


def _built(parameter: Parameter, value: Any) -> Any:
    kind = parameter.settings
    if kind is None:
        kinds = [k for k in alternatives(parameter.hint) if isinstance(k, type) and dataclasses.is_dataclass(k)]
        kind = kinds[0] if kinds else None
    return kind(**value) if kind is not None and isinstance(value, Mapping) else value
