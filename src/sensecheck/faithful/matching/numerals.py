"""Which numbers of a sentence say a number of the query: by value, by unit, rounded, as a decade or a century."""

from __future__ import annotations

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.faithful.matching.signals import Signal
from sensecheck.language.morphology import lemma
from sensecheck.language.numbers import SPANS, Number

_SHIFT = {(">=", False): -1, (">", True): 1, ("<=", False): 1, ("<", True): -1}
"""Operator, and whether the sentence compares inclusively → what a number of things is said as: at least 3, over 2."""


def says_number(sentence: Sentence, fact: Fact, said: Number, governing: Signal | None, form: bool) -> bool:
    """Whether a number of the sentence, which a comparison word may govern, says the number of a fact."""
    number, value = fact.number, said.value
    assert number is not None
    if value in (number, abs(number)) and (said.form != "decade" or value >= 100):
        return True
    if fact.integral and governing is not None:
        shift = _SHIFT.get((fact.op, governing.inclusive))
        if shift is not None and value == number + shift:
            return True
    return (
        (said.form in ("digits", "word") and any(value * k == number for k in span_at(sentence, said.last)))
        or _as_period(sentence, fact, number, said, governing)
        or _scaled(number, value)
        or (form and _loosely(sentence, fact, number, said))
    )


def span_at(sentence: Sentence, position: int) -> list[int]:
    """What a word for a span of time counts for: an hour, 60 minutes; two decades, 20 years."""
    return SPANS.get(lemma(sentence.lows[position]), []) if position < sentence.n else []


def _as_period(sentence: Sentence, fact: Fact, number: float, said: Number, governing: Signal | None) -> bool:
    """In the 20th century, in the 1940s, in their fifties."""
    value = said.value
    if said.form == "ordinal" and sentence.low(said.last) == "century":
        if fact.direction:
            return abs(number - 100 * (value - (fact.direction > 0))) <= 1
        return 100 * (value - 1) < number <= 100 * value
    if said.form != "decade":
        return False
    if value < 100 and number > 1000:
        value += 1900  # the nineties
    if value < 100 and fact.op != "between":
        above, below = number in (value - 1, value), number in (value + 9, value + 10)
        return (
            above
            if fact.direction > 0
            else fact.direction < 0 and (below or (governing is not None and number == value))
        )
    return value <= number < value + 10 or bool(fact.direction and abs(value - number) <= 10)


def _scaled(number: float, value: float) -> bool:
    """In hundreds, thousands, millions, billions."""
    if not value or not number:
        return False
    return (value / number if abs(value) > abs(number) else number / value) in (100.0, 1000.0, 1e6, 1e9)


def _loosely(sentence: Sentence, fact: Fact, number: float, said: Number) -> bool:
    """As descriptions of tables give numbers: a year by two digits, a result rounded, about 500."""
    value, form, text = said.value, said.form, fact.value or ""
    if form == "decade" and value >= 100 and text.isdigit() and str(int(value)).startswith(text):
        return True
    if len(text) == 2 and text.isdigit() and 1800 < value < 2100 and value % 100 == number:
        return True
    if fact.role in ("approximate", "result") and form in ("digits", "word") and rounds_to(number, value):
        return True
    if value < 100:
        return 1800 < number < 2100 and number % 100 == value and sentence.low(said.first - 1) == "'"
    near = value % 100 == 0 and abs(value - number) <= 0.05 * abs(number)
    return form == "digits" and not fact.direction and near and sentence.says("approximate")


def rounds_to(number: float, rounded: float) -> bool:
    """Whether `rounded` is `number` in fewer digits: 24.6 as 25 or 24, 18,729 as 18,700."""
    if rounded == 0 or number == 0 or not abs(rounded) < 1e15:
        return False
    if rounded.is_integer():
        unit = 1.0
        while rounded % (unit * 10) == 0:
            unit *= 10
    else:
        unit = 10.0 ** -len(repr(rounded).partition(".")[2])
    if float(number).is_integer():
        if unit < 10 or unit * 10 > abs(number):
            return False
    elif unit <= 10.0 ** -len(repr(float(number)).partition(".")[2]):
        return False
    return abs(rounded - number) <= 0.5 * unit or 0 <= number - rounded < unit
