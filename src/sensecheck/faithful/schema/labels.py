"""Which columns stand for the rows themselves, and names that shorten the name of their table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sensecheck.faithful.facts import Name, name_of
from sensecheck.language.lexicon import read_package_lexicon

if TYPE_CHECKING:
    from sensecheck.faithful.schema.model import Column, Table

_WORDS: dict[str, list[str]] = read_package_lexicon("sensecheck.faithful", "lexicon", "labels.json")
_LABELS, _PARTS, _KEYS = (frozenset(_WORDS[key]) for key in ("labels", "parts", "keys"))


def spell_out(tables: Iterable[Table]) -> None:
    """Columns that nobody gave a natural name, with the short form of their table's name written out: `br_nm` of
    `branch` is its branch name."""
    for table in tables:
        for column in table.columns.values():
            words = column.natural.words
            if len(words) > 1 and words == name_of(column.name).words:
                spelled = [next((t for t in table.natural.words if _shortens(w, t)), w) for w in words]
                if spelled != list(words):
                    column.natural = name_of(" ".join(spelled))


def _shortens(word: str, full: str) -> bool:
    """Whether a word is a short form of another: its beginning, or some of its consonants."""
    if not 2 <= len(word) <= 4 or len(full) < len(word) + 2 or word[0] != full[0]:
        return False
    if full.startswith(word):
        return True
    letters = iter(full)
    return not any(c in "aeiou" for c in word) and all(c in letters for c in word)


def find_labels(tables: Iterable[Table]) -> None:
    """Note of every table by which columns people mean its rows: its names, or else the first text that is no key."""
    listed = list(tables)
    times: dict[str, int] = {}
    for table in listed:
        for name in table.columns:
            times[name] = times.get(name, 0) + 1
    for table in listed:
        own = frozenset(table.natural.words)
        columns = list(table.columns.values())
        labels = [c.natural for c in columns if _names_row(c.natural, own)]
        table.labels = tuple(labels or _first_text(table, columns, times))


def _names_row(name: Name, own: frozenset[str]) -> bool:
    *before, last = name.words or ("",)
    return last in _LABELS and all(word in own or word in _PARTS for word in before)


def _first_text(table: Table, columns: list[Column], times: dict[str, int]) -> Iterable[Name]:
    for column in columns:
        name, words = column.name.lower(), column.natural.words
        if name in table.primary_key or not words or words[-1] in _KEYS:
            continue
        return [column.natural] if column.type == "text" and times[name] == 1 else []
    return []
