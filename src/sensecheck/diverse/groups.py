"""LSDSCC's file conventions, which this room keeps: the separator of hypotheses, and the order of groups."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

EOS = "</s>"


def ordered_keys(groups: Iterable[str]) -> list[str]:
    """Group keys by integer value; one that is no integer takes the next number from len(groups) on."""
    keys = list(groups)
    numbers = count(len(keys))

    def value(key: str) -> int:
        try:
            return int(key)
        except ValueError:
            return next(numbers)

    values = {key: value(key) for key in keys}
    return sorted(keys, key=values.__getitem__)
