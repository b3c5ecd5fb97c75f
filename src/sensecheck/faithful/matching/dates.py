"""Dates as people say them beside dates as they are stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from sensecheck.language.lexicon import read_package_lexicon

_STORED = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?")
_WRITTEN = re.compile(r"\b(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?\b|\b(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})\b")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = re.compile(
    r"(?:\b(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?\s+)?\b("
    + "|".join(f"{month}|{month[:3]}" for month in _MONTHS)
    + r")\b\.?(?:\s+(\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?(?:,?\s+(?:of\s+)?(\d{4}))?",
    re.IGNORECASE,
)

_NAMED_DAYS: dict[str, tuple[int, int]] = {
    form: (month, day)
    for form, (month, day) in read_package_lexicon("sensecheck.faithful", "lexicon", "days.json")["days"].items()
}
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTH_OF = {name[:size]: number for number, name in enumerate(_MONTHS, 1) for size in (3, 4, len(name))}

Date = tuple[int, int, int]
"""Year, month, day; 0 for what is not said."""


def read_dates(text: str) -> frozenset[Date]:
    """Dates in a text: 2013/7/12, 7/12/2013, July 12, 2013, the 12th of July, July 2013."""
    dates: set[Date] = set()
    for year, month, day, first, second, last in _WRITTEN.findall(text):
        if year:
            dates.add((int(year), int(month), int(day or 0)))
        else:
            dates.update(((int(last), int(first), int(second)), (int(last), int(second), int(first))))
    for before, month, behind, year in _MONTH.findall(text):
        number = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(month.lower()[:3]))
        dates.add((int(year or 0), number, int(before or behind or 0)))
    return frozenset(dates)


def written_dates(text: str) -> list[tuple[tuple[int, int], int]]:
    """Where dates in digits stand, with their years."""
    return [(match.span(), int(match[1] or match[6])) for match in _WRITTEN.finditer(text)]


def says_date(value: str, dates: Set[Date], years: Set[int]) -> bool:
    """Whether a stored date, or the part of one that a query takes, is among the dates of a sentence: the first and the
    last day of a year stand for the year."""
    stored = _STORED.match(value.strip("% "))
    if stored is not None:
        year, month, day = int(stored[1]), int(stored[2]), int(stored[3] or 0)
        if any(
            y in (0, year) and m == month and (not d or not day or d == day or day in (1, 28, 29, 30, 31))
            for y, m, d in dates
        ):
            return True
        return bool({year - 1, year, year + 1} & years) and (month, day) in ((1, 1), (12, 31), (1, 0), (12, 0))
    plain = value.strip("% ")
    if len(plain) == 4 and plain.isdecimal():
        return int(plain) in years or any(y == int(plain) for y, _, _ in dates)
    if len(plain) <= 2 and plain.isdecimal():
        return any(int(plain) in (m, d) for _, m, d in dates)
    return False


def period_words(value: str, lows: Sequence[str], years: Sequence[tuple[int, int]]) -> range | None:
    """The words that give a stored date by the year, the month or the feast that it begins, ends or is: March 2015, the
    last day of 2021, Christmas Day 2019. `years`: the years that are said, each with its place."""
    stored = _STORED.fullmatch(value.strip())
    if stored is None or not stored[3]:
        return None
    date = (int(stored[1]), int(stored[2]), int(stored[3]))
    for year, place in years:
        if abs(year - date[0]) > 1:
            continue
        for first, last, start in _periods(year, place, lows):
            if date in (first, last, _day_before(first), _day_after(last)):
                return range(start, place + 1)
    for words in _without_year(date, lows):
        if any(place >= words.stop + 1 or place < words.start for year, place in years if year == date[0]):
            return words  # from New Year's Day to the end of March 2024
    return None


def decade_begun(date: str, decade: float) -> bool:
    """Whether a stored date begins or ends a decade: the nineties, the 1990s."""
    stored = _STORED.fullmatch(date.strip())
    if stored is None or not stored[3]:
        return False
    first = int(decade) if decade >= 1000 else int(decade) + (2000 if decade < 30 else 1900)
    day = (int(stored[1]), int(stored[2]), int(stored[3]))
    return day in ((first, 1, 1), (first + 9, 12, 31), (first - 1, 12, 31), (first + 10, 1, 1))


def _without_year(date: Date, lows: Sequence[str]) -> Iterator[range]:
    """Where a feast or a month stands that begins, ends or is a date, with no day before it."""
    for i, low in enumerate(lows):
        for size in (3, 2, 1):
            named = _NAMED_DAYS.get(" ".join(lows[i : i + size]))
            if named is not None and named == date[1:]:
                yield range(i, i + size)
        month = _MONTH_OF.get(low, 0)
        dated = any(word.isdecimal() or word in ("st", "nd", "rd", "th") for word in lows[max(0, i - 3) : i])
        if month and not dated and date[1:] in ((month, 1), (month, _length(date[0], month))):
            yield range(i, i + 1)


def _periods(year: int, place: int, lows: Sequence[str]) -> Iterator[tuple[Date, Date, int]]:
    """The first and the last day of what a year and the words before it name, and where those words begin."""
    start = place
    while start and lows[start - 1] in (",", "of", "in", "the", "'"):
        start -= 1
    for size in (3, 2, 1):
        named = _NAMED_DAYS.get(" ".join(lows[max(0, start - size) : start]))
        if named is not None:
            yield (year, *named), (year, *named), start - size
            return
    month = _MONTH_OF.get(lows[start - 1]) if start else None
    if month is None:
        yield (year, 1, 1), (year, 12, 31), place
    elif not any(word.isdecimal() or word in ("st", "nd", "rd", "th") for word in lows[max(0, start - 3) : start - 1]):
        yield (year, month, 1), (year, month, _length(year, month)), start - 1


def _length(year: int, month: int) -> int:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if leap else _LENGTHS[month - 1]


def _day_before(date: Date) -> Date:
    year, month, day = date
    if day > 1:
        return year, month, day - 1
    return (year, month - 1, _length(year, month - 1)) if month > 1 else (year - 1, 12, 31)


def _day_after(date: Date) -> Date:
    year, month, day = date
    if day < _length(year, month):
        return year, month, day + 1
    return (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)
