"""Word lists as data: JSON files that anyone can edit, with additions of one's own laid over them.

A lexicon is a JSON object. Laid over another, dictionaries are merged key by key, lists are joined, anything else is
replaced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.json_arrays import read_document

_OBJECT = "a JSON object of word lists"


class LexiconError(InputError):
    """A lexicon file that cannot be used: which file, which key, what was expected, what came."""


def read_package_lexicon(package: str, *parts: str) -> dict[str, Any]:
    """A lexicon that ships with a package."""
    loaded: dict[str, Any] = json.loads(resources.files(package).joinpath(*parts).read_text("utf-8"))
    return loaded


def lexicon_bytes(path: str | Path) -> bytes:
    """What the file of a lexicon holds."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no such path can be"
        raise LexiconError(f"the lexicon cannot be read ({why})", path=str(path), hint="Check the path.") from None


def lexicon_in(content: bytes, path: str) -> dict[str, Any]:
    """The lexicon that a file holds; the values are checked by `check_kinds`."""
    try:
        loaded = read_document(content, path, _OBJECT)
    except InputError as error:
        raise LexiconError(**error.parts()) from None
    if not isinstance(loaded, dict):
        raise LexiconError(path=path, expected=_OBJECT, got=shown(loaded, 60))
    return loaded


Kind = Any
"""What a value of a lexicon may be: WORD, TEXT, ANYTHING, [kind] a list of such, {"": kind} an object whose values are
such, or {name: kind} an object in which these names have their kinds."""
WORD = "a word"
TEXT = "a text"
ANYTHING = "anything"


def check_kinds(lexicon: Mapping[str, Any], kinds: Mapping[str, Kind], path: str) -> None:
    """Refuse a lexicon with a value of another kind than its key has. Keys that are not in `kinds` are left alone.

    >>> check_kinds({"units": ["kg", 5]}, {"units": [WORD]}, "own.json")
    Traceback (most recent call last):
    sensecheck.language.lexicon.LexiconError: own.json: units[2]: expected a word (a text that is not blank), got 5.
    """
    for key, kind in kinds.items():
        if key in lexicon:
            _check(lexicon[key], kind, key, path)


def _check(value: Any, kind: Kind, place: str, path: str) -> None:
    if kind is ANYTHING:
        return
    if kind is WORD:
        right = isinstance(value, str) and bool(value.strip())
    elif kind is TEXT:
        right = isinstance(value, str)
    elif isinstance(kind, list):
        right = isinstance(value, list)
    else:
        right = isinstance(value, dict)
    if not right:
        raise LexiconError(path=path, field=place, expected=_described(kind), got=shown(value, 60))
    if isinstance(kind, list):
        # The last kind is that of all that follow: [WORD, ANYTHING] is a word, and perhaps more.
        if len(kind) > 1 and len(value) < len(kind) - 1:
            raise LexiconError(path=path, field=place, expected=_described(kind), got=shown(value, 60))
        for number, item in enumerate(value):
            _check(item, kind[min(number, len(kind) - 1)], f"{place}[{number + 1}]", path)
    elif isinstance(kind, dict):
        for name, inner in value.items():
            if "" in kind and not name.strip():
                raise LexiconError(path=path, field=place, expected="words as keys", got=shown(name))
            expected = kind.get("", kind.get(name, ANYTHING))
            _check(inner, expected, f"{place}.{shown(name, 40)[1:-1]}", path)
        for name in kind:
            if name and name not in value:
                raise LexiconError(path=path, field=place, expected=f"the key {shown(name)}", got=shown(value, 60))


def _described(kind: Kind) -> str:
    if isinstance(kind, str):
        return "a word (a text that is not blank)" if kind is WORD else kind
    if isinstance(kind, list):
        if len(kind) > 1:
            return f"a list that begins with {_described(kind[0])}"
        return "a list of words" if isinstance(kind[0], str) else "a list of lists of words"
    inner = kind.get("")
    if inner is None:
        return f"an object with the key {', '.join(map(shown, kind))}"
    return "an object of words" if isinstance(inner, str) else "an object of lists of words"


def overlay(base: Mapping[str, Any], addition: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `addition` laid over it."""
    merged = dict(base)
    for key, value in addition.items():
        present = merged.get(key)
        if isinstance(present, Mapping) and isinstance(value, Mapping):
            merged[key] = overlay(present, value)
        elif isinstance(present, list) and isinstance(value, list):
            merged[key] = present + [item for item in value if item not in present]
        else:
            merged[key] = value
    return merged
