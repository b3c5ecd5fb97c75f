"""Rules about numbers, years and dates: what is true of a nearby one, and what another one contradicts."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.language.rewriting.clause import Clause
from sensecheck.language.rewriting.leaving_out import may_be_weakened
from sensecheck.language.rewriting.lexicon import NUMBERS, listed, table_of
from sensecheck.language.rewriting.plain import is_year
from sensecheck.language.rewriting.rules import ANY_KIND, CONTRADICTS, EQUIVALENT, FOLLOWS, rule

_WORDS = {value: word for word, value in NUMBERS.items()}
_OTHER_MONTHS = table_of("another month")
_BOUNDS = table_of("bounds")
_OPENS_BOUND = frozenset(bound.split()[0] for bound in _BOUNDS)
_OTHER_DAYS = table_of("another day")


def _value(word: str) -> int | None:
    if word in NUMBERS:
        return NUMBERS[word]
    plain = word.replace(",", "")
    return int(plain) if plain.isdigit() and plain.isascii() and len(plain) < 10 else None


def _counts(clause: Clause) -> Iterator[tuple[int, int]]:
    """(place, value) of each number that counts things: "12 members", not "about 12", "page 12", "12 May"."""
    for i, word in enumerate(clause.lower):
        value = _value(word)
        after, before = clause.at(i + 1), clause.at(i - 1)
        if value is None or value < 2 or is_year(word) or not _is_counted(clause, after):
            continue
        if before in listed("no count behind") or before.isdigit() or clause.words[i - 1][:1].isupper() * i:
            continue
        yield i, value


def _is_counted(clause: Clause, after: str) -> bool:
    if after in listed("no count before", "be", "have", "prepositions", "pronouns", "modals") or not after.isalpha():
        return False
    return clause.lexicon.is_plural(after)


def _written(value: int, like: str) -> str:
    if not like[0].isdigit() and value in _WORDS:
        return _WORDS[value]
    return f"{value:,}" if value >= 10_000 or "," in like else str(value)


@rule(FOLLOWS, "number")
def at_least(clause: Clause) -> Iterator[str]:
    """Three buses stop: at least three buses stop."""
    if not may_be_weakened(clause):
        return
    for i, value in _counts(clause):
        if clause.at(i - 2) == "one" and clause.at(i - 1) == "of":
            continue
        yield clause.with_words(i, i, "at least")
        if value > 2:
            step = 10 ** (len(str(value)) - 1) if value > 20 else 1
            yield clause.with_words(i, i + 1, f"more than {_written((value - 1) // step * step, clause.lower[i])}")


@rule(CONTRADICTS, "number", ANY_KIND)
def other_count(clause: Clause) -> Iterator[str]:
    """has 12 members: has 25 members."""
    for i, value in _counts(clause):
        if clause.lower[i][0].isdigit():
            yield clause.with_words(i, i + 1, _written(2 * value + 1, clause.lower[i]))


def _bounds(clause: Clause) -> Iterator[tuple[int, str, int]]:
    """(place of its first word, the words, the number) of "more than 400"."""
    for i, word in enumerate(clause.lower[:-2]):
        if word not in _OPENS_BOUND:
            continue
        opening = f"{clause.at(i)} {clause.at(i + 1)}"
        value = _value(clause.at(i + 2))
        if value is not None and value > 2 and opening in listed("bounds") and clause.at(i - 1) not in ("no", "not"):
            yield i, opening, value


@rule(EQUIVALENT, "number", ANY_KIND)
def bound_otherwise(clause: Clause) -> Iterator[str]:
    """more than 400: over 400."""
    for i, opening, _ in _bounds(clause):
        yield clause.with_words(i, i + 2, _BOUNDS[opening])


@rule(FOLLOWS, "number")
def wider_bound(clause: Clause) -> Iterator[str]:
    """more than 400: more than 200; fewer than 20: fewer than 40."""
    if clause.verb in listed("says something"):
        return  # who said "at least 500" did not say "at least 250"
    for i, opening, value in _bounds(clause):
        other = value // 2 if opening in ("more than", "at least") else value * 2
        yield clause.with_words(i + 2, i + 3, _written(other, "1"))


@rule(CONTRADICTS, "number", ANY_KIND)
def outside_the_bound(clause: Clause) -> Iterator[str]:
    """more than 400: exactly 200; at most three: exactly six."""
    for i, opening, value in _bounds(clause):
        if clause.at(i - 1) in clause.lexicon.nouns:
            continue  # "a population less than 400"
        other = value // 2 if opening in ("more than", "at least") else value * 2
        if other < 2:
            continue
        yield clause.with_words(i, i + 3, f"exactly {_written(other, clause.lower[i + 2])}")


def _shares(clause: Clause) -> Iterator[tuple[int, int]]:
    for i, word in enumerate(clause.lower):
        value = _value(word)
        whole = value is not None and word.isdigit() and clause.at(i - 1) not in listed("no count behind")
        share = clause.at(i + 1) in ("%", "percent") and not clause.lexicon.is_noun(clause.at(i + 2))  # "a 60% rise"
        if value is not None and whole and 0 < value < 100 and share:
            yield i, value


@rule(FOLLOWS, "number")
def more_than_share(clause: Clause) -> Iterator[str]:
    """32 percent: more than 30 percent."""
    for i, value in _shares(clause) if may_be_weakened(clause) else ():
        less = value - (value % 10 or 5)
        if less > 0:
            yield clause.with_words(i, i + 1, f"more than {less}")
        yield clause.with_words(i, i + 1, f"less than {value + 10 - value % 10}" if value < 90 else "most of 100")


@rule(CONTRADICTS, "number", ANY_KIND)
def other_share(clause: Clause) -> Iterator[str]:
    """32 percent: 77 percent."""
    for i, value in _shares(clause):
        yield clause.with_words(i, i + 1, str(value + 45 if value < 50 else value - 45))


# -- years and dates ------------------------------------------------------------------------------------------------


def _years(clause: Clause, *prepositions: str) -> Iterator[tuple[int, int]]:
    """(place, year) of "in 1998" where nothing hangs on the year."""
    for i, word in enumerate(clause.lower):
        if i and is_year(word) and int(word) < 2100 and clause.at(i - 1) in prepositions:
            after = clause.at(i + 1)
            if after in ("", ",") or (after in listed("prepositions", "conjunctions") - {"and", "or", "to"}):
                yield i, int(word)


@rule(FOLLOWS, "date")
def in_that_decade(clause: Clause) -> Iterator[str]:
    """in 1998: in the 1990s; in the 20th century."""
    for i, year in _years(clause, "in") if may_be_weakened(clause) else ():
        yield clause.with_words(i, i + 1, f"the {year // 10}0s")
        if year % 100:
            yield clause.with_words(i, i + 1, f"the {_ordinal(year // 100 + 1)} century")


def _ordinal(value: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th") if value not in (11, 12, 13) else "th"
    return f"{value}{ending}"


@rule(FOLLOWS, "date")
def before_or_after(clause: Clause) -> Iterator[str]:
    """after 1999: after 1990; before 1999: before 2000."""
    for i, year in _years(clause, "after") if may_be_weakened(clause) else ():
        yield clause.with_words(i, i + 1, str((year - 1) // 10 * 10))
    for i, year in _years(clause, "before") if may_be_weakened(clause) else ():
        yield clause.with_words(i, i + 1, str(year // 10 * 10 + 10))


@rule(FOLLOWS, "date")
def date_in_part(clause: Clause) -> Iterator[str]:
    """on May 8, 1945: in May 1945; in 1945."""
    if not may_be_weakened(clause):
        return
    for start, end, month, year in _dates(clause):
        if year:
            yield clause.with_words(start, end, f"in {year}")
            if clause.at(start) == "on":
                yield clause.with_words(start, end, f"in {month} {year}")
        elif clause.at(start) == "on":
            yield clause.with_words(start, end, f"in {month}")


def _dates(clause: Clause) -> Iterator[tuple[int, int, str, str]]:
    """(start, end, month, year or nothing) of "on May 8, 1945", "on 8 May 1945", "on the 8th of May", "in May 1945"."""
    words, lower = clause.words, clause.lower
    for i, word in enumerate(lower):
        if word not in _OTHER_MONTHS or not words[i][:1].isupper():
            continue
        start, end = i, i + 1
        while start and (lower[start - 1] in ("the", "of") or lower[start - 1][0].isdigit()):
            start -= 1
        if clause.at(start - 1) not in ("on", "in"):
            continue
        if clause.at(end).isdigit() and not is_year(clause.at(end)):
            end += 1
        if clause.at(end) in (",", "of") and is_year(clause.at(end + 1)):
            end += 1
        year = clause.at(end) if is_year(clause.at(end)) else ""
        end += bool(year)
        following = clause.at(end)
        if (not following or following in listed("prepositions", "conjunctions")) and end - start > 1:
            yield start - 1, end, words[i], year


def _happens_once(clause: Clause) -> bool:
    """It was built in 1998: in no other year."""
    if not clause.past or clause.plural:
        return False
    if clause.kind == "copular":
        return clause.lexicon.verb_of["participle"].get(clause.first, "") in listed("happens once")
    return clause.kind == "simple" and clause.verb in listed("happens once")


@rule(CONTRADICTS, "date", "copular simple")
def other_year(clause: Clause) -> Iterator[str]:
    """was built in 1998: was built in 1987."""
    if _happens_once(clause):
        for i, year in _years(clause, "in"):
            yield clause.with_words(i, i + 1, str(year - 11))
            yield clause.with_words(i, i + 1, str(year - 26))


@rule(CONTRADICTS, "date", "copular simple")
def before_not_after(clause: Clause) -> Iterator[str]:
    """was built after 1998: was built before 1998."""
    if _happens_once(clause):
        for preposition, other in (("after", "before"), ("before", "after")):
            for i, _ in _years(clause, preposition):
                yield clause.with_words(i - 1, i, other)


@rule(CONTRADICTS, "date", "copular simple modal")
def other_month(clause: Clause) -> Iterator[str]:
    """was born on May 8: was born on October 8."""
    if not _happens_once(clause):
        return
    for start, end, month, _ in _dates(clause):
        i = next(k for k in range(start, end) if clause.words[k] == month)
        for other in _OTHER_MONTHS[month.lower()].split():
            yield clause.with_words(i, i + 1, other.capitalize())


@rule(CONTRADICTS, "date", "copular simple modal")
def other_day(clause: Clause) -> Iterator[str]:
    """The shop opened on Monday: the shop opened on Thursday."""
    if _happens_once(clause):
        for i, word in enumerate(clause.lower):
            if word in _OTHER_DAYS and clause.at(i - 1) == "on":
                yield clause.with_words(i, i + 1, _OTHER_DAYS[word].capitalize())
