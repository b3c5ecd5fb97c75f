"""Finding a field by the names it may have: as we spell them, or as headers of tables are (`PREDICTED SQL`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def folded(name: str) -> str:
    """A field's name as we look for it.

    >>> folded("PREDICTED SQL")
    'predicted_sql'
    """
    return name.strip().lower().replace(" ", "_")


def spelled(names: Sequence[str]) -> Mapping[str, str]:
    """What each field may be asked for by → its name; one that is spelled exactly so wins, then the first."""
    return {folded(name): name for name in reversed(names)} | {name: name for name in names}


def found(candidates: Iterable[str], names: Sequence[str]) -> str | None:
    """The field that has one of these names, the first of them that is there.

    >>> found(("gold", "gold_sql", "sql"), ["id", "SQL", "Gold SQL"])
    'Gold SQL'
    """
    there = spelled(names)
    return next((there[name] for name in candidates if name in there), None)
