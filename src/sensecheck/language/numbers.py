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
_DECADE: dict[str, int] = _WORDS["decades"]
_FRACTION: dict[str, float] = _WORDS["fractions"]
SPANS: dict[str, list[int]] = _WORDS["spans"]
"""Spans of time → how many of the shorter ones they hold: a stored 60 may be said as an hour."""
_SHORT_SCALE: dict[str, int] = _WORDS["short_scales"]
_ORDINAL_ENDINGS = frozenset(("st", "nd", "rd", "th"))
NUMBER_WORDS = frozenset(_CARDINAL) | frozenset(_ORDINAL) | frozenset(_SCALE) | frozenset(_TIMES)
_NUMERIC_WORDS = NUMBER_WORDS | frozenset(_FRACTION) | frozenset(_DECADE)


class Number(NamedTuple):
    """A number said by tokens[first:last]."""

    value: float
    first: int
    last: int
    form: str  # "digits", "word", "ordinal", "times", "decade", "fraction"


def _digits(text: str) -> float:
    return float(text.replace(",", "")) if len(text) <= 300 else float("inf")


def _takes_digit(value: float) -> bool:
    """Whether a number word may be followed by a single digit: twenty, a hundred."""
    return value >= 20 and value % 10 == 0


def _goes_on(value: float, unit: int) -> bool:
    """Whether a number word goes on with the one before: twenty three, two hundred five."""
    return (0 < unit < 10 and _takes_digit(value)) or (unit < 100 and value >= 100 and value % 100 == 0)


def _in_digits(tokens: Sequence[Token], first: int) -> Number:
    """The number that begins with digits: 12, 21st, 1940s, 1.2k, 3.5 million."""
    token, n = tokens[first], len(tokens)
    value, last, form = _digits(token.text), first + 1, "digits"
    if last < n and tokens[last].start == token.end:
        glued = tokens[last].low
        if glued in _ORDINAL_ENDINGS:
            last, form = last + 1, "ordinal"
        elif glued == "s" and value % 10 == 0 and 0 < value < 3000:
            last, form = last + 1, "decade"
        elif glued in _SHORT_SCALE:
            value, last = value * _SHORT_SCALE[glued], last + 1
    if last < n and form == "digits" and tokens[last].low in _SCALE:
        value, last = value * _SCALE[tokens[last].low], last + 1
    return Number(value, first, last, form)


def _scaled_at(tokens: Sequence[Token], place: int) -> bool:
    """Whether a hundred or more stands there, so that a number of its own ends: a hundred and two hundred."""
    return place < len(tokens) and (tokens[place].low == "hundred" or tokens[place].low in _SCALE)


def _from_cardinal(tokens: Sequence[Token], first: int) -> Number:
    """The number that begins with a cardinal: twelve, twenty-first, two hundred and five, three million."""
    n = len(tokens)
    scaled, current, last, form = 0.0, float(_CARDINAL[tokens[first].low]), first + 1, "word"
    while last < n:
        word = tokens[last].low
        following = tokens[last + 1].low if last + 1 < n else ""
        if word in _CARDINAL and _goes_on(current, _CARDINAL[word]):
            current += _CARDINAL[word]
        elif word in _ORDINAL and 0 < _ORDINAL[word] < 10 and _takes_digit(current):
            current, form, last = current + _ORDINAL[word], "ordinal", last + 1
            break
        elif word == "hundred":
            current *= 100
        elif word in _SCALE:
            scaled, current = scaled + current * _SCALE[word], 0.0
        elif not (word == "-" and _takes_digit(current) and following in NUMBER_WORDS) and not (
            word == "and" and current >= 100 and following in _CARDINAL and not _scaled_at(tokens, last + 2)
        ):
            break
        last += 1
    return Number(scaled + current, first, last, form)


def _in_words(tokens: Sequence[Token], first: int) -> Number | None:
    """The number that begins with a number word; None where it stands for none: `dozens of` alone."""
    word = tokens[first].low
    if word in _CARDINAL:
        return _from_cardinal(tokens, first)
    if word in _ORDINAL:
        return Number(float(_ORDINAL[word]), first, first + 1, "ordinal")
    if word in _DECADE:
        return Number(float(_DECADE[word]), first, first + 1, "decade")
    if word in _TIMES:
        return Number(float(_TIMES[word]), first, first + 1, "times")
    if word in _SCALE and first and tokens[first - 1].low in ("a", "an", "one"):
        return Number(float(_SCALE[word]), first, first + 1, "word")
    if word in _FRACTION:
        follower = [token.low for token in tokens[first + 1 : first + 3]]
        if len(follower) == 2 and follower[0] in ("a", "an") and follower[1] in _SCALE:
            return Number(_FRACTION[word] * _SCALE[follower[1]], first, first + 3, "word")  # half a dozen
        return Number(_FRACTION[word], first, first + 1, "fraction")
    return None


def find_numbers(tokens: Sequence[Token]) -> list[Number]:
    """Every number that the tokens say, left to right, without overlaps."""
    numbers: list[Number] = []
    for i in [i for i, token in enumerate(tokens) if token.kind == "number" or token.low in _NUMERIC_WORDS]:
        if not numbers or i >= numbers[-1].last:
            number = _in_digits(tokens, i) if tokens[i].kind == "number" else _in_words(tokens, i)
            if number is not None:
                numbers.append(number)
    return numbers


def as_number(text: str) -> float | None:
    """The value of a number written in digits, with signs, thousands and a trailing per cent or currency; else None."""
    cleaned = text.strip().lstrip("$€£").rstrip("%").strip().replace(",", "")
    if not cleaned or len(cleaned) > 300 or not (cleaned[0].isdigit() or cleaned[0] in "+-."):
        return None
    try:
        return float(cleaned)
    except ValueError:
        return None
