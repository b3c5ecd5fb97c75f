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


class LexiconError(ValueError):
    """A lexicon file that cannot be used: which file, what was expected, what came."""


def read_package_lexicon(package: str, *parts: str) -> dict[str, Any]:
    """A lexicon that ships with a package."""
    loaded: dict[str, Any] = json.loads(resources.files(package).joinpath(*parts).read_text("utf-8"))
    return loaded


def read_lexicon(path: str | Path) -> dict[str, Any]:
    """A lexicon of the user's own."""
    try:
        loaded = json.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise LexiconError(f"{path}: expected a readable JSON file with word lists: {error}") from error
    if not isinstance(loaded, dict):
        raise LexiconError(f"{path}: expected a JSON object of word lists, found {type(loaded).__name__}")
    return loaded


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
