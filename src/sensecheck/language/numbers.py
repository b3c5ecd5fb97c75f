"""Numbers by value: twelve, 12, 12.0, 1,200, 1.2k, 3.5 million, a dozen, third, 21st, 5 %, 1940s, twice.

The words are data (`data/numbers.json`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

from sensecheck.language.tokens import Token

_WORDS = json.loads(resources.files("sensecheck.language").joinpath("data", "numbers.json").read_text("utf-8"))
_CARDINAL: dict[str, int] = _WORDS["cardinals"]
_ORDINAL: dict[str, int] = _WORDS["ordinals"]
_SCALE: dict[str, int] = _WORDS["scales"]
_TIMES: dict[str, int] = _WORDS["times"]
_FRACTION: dict[str, float] = _WORDS["fractions"]
SPANS: dict[str, list[int]] = _WORDS["spans"]
"""Spans of time → how many of the shorter ones they hold: a stored 60 may be said as an hour."""
_SHORT_SCALE: dict[str, int] = _WORDS["short_scales"]
_ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th"))
NUMBER_WORDS = frozenset(_CARDINAL) | frozenset(_ORDINAL) | frozenset(_SCALE) | frozenset(_TIMES)


class Number(NamedTuple):
    """A number said by tokens[first:last]."""

    value: float
    first: int
    last: int
    form: str  # "digits", "word", "ordinal", "times", "decade"


def _digits(text: str) -> float:
    return float(text.replace(",", "")) if len(text) <= 300 else float("inf")


def _adds_to(current: float, unit: int) -> bool:
    """Whether a number word goes on with the one before: twenty three, two hundred five."""
    return (0 < unit < 10 and current >= 20 and current % 10 == 0) or (
        unit < 100 and current >= 100 and current % 100 == 0
    )


def find_numbers(tokens: Sequence[Token]) -> list[Number]:
    """Every number that the tokens say, left to right, without overlaps."""
    found: list[Number] = []
    i, n = 0, len(tokens)
    while i < n:
        token = tokens[i]
        if token.kind == "number":
            value, j, form = _digits(token.text), i + 1, "digits"
            if j < n and tokens[j].start == token.end:
                glued = tokens[j].low
                if glued in _ORDINAL_ENDINGS:
                    j, form = j + 1, "ordinal"
                elif glued == "s" and value % 10 == 0 and 0 < value < 3000:
                    j, form = j + 1, "decade"
                elif glued in _SHORT_SCALE:
                    value, j = value * _SHORT_SCALE[glued], j + 1
            if j < n and form == "digits" and tokens[j].low in _SCALE:
                value, j = value * _SCALE[tokens[j].low], j + 1
            found.append(Number(value, i, j, form))
            i = j
            continue
        low = token.low
        if low in _CARDINAL:
            total, current, j, form = 0.0, float(_CARDINAL[low]), i + 1, "word"
            while j < n:
                word = tokens[j].low
                if (
                    word == "-"
                    and j + 1 < n
                    and current >= 20
                    and current % 10 == 0
                    and tokens[j + 1].low in NUMBER_WORDS
                ):
                    j += 1
                    continue
                if (word in _CARDINAL and 0 < _CARDINAL[word] < 10 and current >= 20 and current % 10 == 0) or (
                    word in _CARDINAL and current >= 100 and current % 100 == 0 and _CARDINAL[word] < 100
                ):
                    current += _CARDINAL[word]
                elif word in _ORDINAL and 0 < _ORDINAL[word] < 10 and current >= 20 and current % 10 == 0:
                    current, form, j = current + _ORDINAL[word], "ordinal", j + 1
                    break
                elif word == "hundred":
                    current *= 100
                elif word in _SCALE:
                    total, current = total + current * _SCALE[word], 0.0
                elif word == "and" and j + 1 < n and tokens[j + 1].low in _CARDINAL and current >= 100:
                    pass
                else:
                    break
                j += 1
            found.append(Number(total + current, i, j, form))
            i = j
            continue
        if low in _ORDINAL:
            found.append(Number(float(_ORDINAL[low]), i, i + 1, "ordinal"))
        elif low in _TIMES:
            found.append(Number(float(_TIMES[low]), i, i + 1, "times"))
        elif low in _SCALE and i and tokens[i - 1].low in ("a", "an", "one"):
            found.append(Number(float(_SCALE[low]), i, i + 1, "word"))
        elif low in _FRACTION and i + 2 < n and tokens[i + 1].low in ("a", "an") and tokens[i + 2].low in _SCALE:
            found.append(Number(_FRACTION[low] * _SCALE[tokens[i + 2].low], i, i + 3, "word"))  # half a dozen
            i += 2
        elif low in _FRACTION:
            found.append(Number(_FRACTION[low], i, i + 1, "fraction"))
        i += 1
    return found


def as_number(text: str) -> float | None:
    """The value of a number written in digits, with signs, thousands and a trailing per cent or currency; else None."""
    cleaned = text.strip().lstrip("$€£").rstrip("%").strip().replace(",", "")
    if not cleaned or len(cleaned) > 300 or not (cleaned[0].isdigit() or cleaned[0] in "+-."):
        return None
    try:
        return float(cleaned)
    except ValueError:
        return None
