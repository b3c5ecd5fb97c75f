"""Values and numbers: what the query states must be said, what the sentence states must be asked for."""

from __future__ import annotations

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.evidence import Evidence, range_of
from sensecheck.faithful.matching.names import share_told
from sensecheck.faithful.matching.sentence import Signal
from sensecheck.faithful.matching.values import find_value
from sensecheck.language.morphology import lemma
from sensecheck.language.numbers import SPANS, Number

SIGNAL_DIRECTION = {"greater": 1, "at_least": 1, "after": 1, "multiple": 1, "less": -1, "at_most": -1, "before": -1}


_MONTHS = (
    "", "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip

_DIGITS = {"single": (10, -1), "double": (10, 1), "triple": (100, 1)}
"""In so many digits → where such numbers end or begin."""

INCLUSIVE = frozenset(("at_least", "at_most"))


class Literals(Evidence):
    """Rules for strings and numbers."""

    def unsaid_elaborations(self) -> list[Fact]:
        """Results that a form spells out after a comparison of two rows; a sentence gives all of them or none."""
        facts = self.reading.facts
        if not any(f.role == "values" or f.aggregate == "diff" for f in facts):
            return []
        results = [
            f for f in facts if f.kind == "comparison" and f.role in ("result", "approximate") and f.aggregate != "diff"
        ]
        said_count = 0
        for fact in results:
            if fact.number is not None and self.looks_numeric(fact.value or ""):
                said_count += any(n.value == fact.number for n in self.sentence.numbers)
            else:
                said_count += find_value(self.sentence, fact.value or "").score >= 0.45
        return results if not said_count and not self.other_result(results) else []

    def other_result(self, results: list[Fact]) -> bool:
        """Whether a number stands where the results were left out: they tied with 72 points."""
        result_numbers = {f.number for f in results if f.number is not None and self.looks_numeric(f.value or "")}
        if len(result_numbers) != 1:
            return False
        query_numbers = {f.number for f in self.reading.facts if f.number is not None}
        accounted_for = {abs(n) for n in query_numbers} | {0, 1, 2}
        literals = " ".join(f.value for f in self.reading.facts if f.value is not None)
        return any(
            n.value not in accounted_for
            and not 1700 <= n.value <= 2100
            and n.form in ("digits", "word")
            and self.sentence.lows[n.first] not in literals
            for n in self.sentence.numbers
        )

    def values(self) -> None:
        """Literal strings must be said."""
        for fact in self.reading.facts:
            if fact.kind not in ("comparison", "entity") or fact.value is None:
                continue
            if fact.number is not None and self.looks_numeric(fact.value):
                continue
            value = fact.value.strip()
            match = find_value(self.sentence, value)
            least_score = 0.5 if self.sql else 0.25 if fact.direction else 0.45
            if not self.sql and any(
                self.sentence.tokens[i].kind == "number" and len(self.sentence.tokens[i].text) > 2
                for i in match.positions
            ):
                least_score = 0.28  # a date by its year, a place with its attendance
            if match.score >= least_score:
                self.literally.add(id(fact))
                for i in match.positions:
                    self.sentence.owner[i] = "value"
                if fact.way and fact.op == "=" and self.wrong_end(fact, match.positions):
                    self.note("contradicted", fact, "journey_reversed", match.positions)
                else:
                    self.note("said", fact, "value", match.positions)
            elif self.unsaid_value(fact, value) or fact in self.elaborations:
                self.note("unsaid", fact, "value")
            else:
                partial = bool(match.positions)
                rule = "value_missing" if not partial else "value_partial" if self.sql else "value_partial_logic"
                if not self.sql and fact.op in ("!=",):
                    rule = "value_negated_missing"
                self.note("missing", fact, rule, match.positions)

    def wrong_end(self, fact: Fact, positions: tuple[int, ...]) -> bool:
        """`from Ashley` for a destination."""
        i = min(positions) - 1
        lows = self.sentence.lows
        while i >= 0 and (
            lows[i] in ("the", "airport", "airports", "city", "in", "of", "station")
            or self.sentence.tokens[i].kind == "sign"
        ):
            i -= 1
        wrong_words = {"to": ("from", "leaving", "departing"), "from": ("to", "into", "arriving")}[fact.way]
        return i >= 0 and lows[i] in wrong_words

    def looks_numeric(self, value: str) -> bool:
        return any(c.isdigit() for c in value)

    def unsaid_value(self, fact: Fact, value: str) -> bool:
        """Values that a sentence says by stating or denying the column."""
        low = value.lower().replace(" / ", "/")
        if not value or self.denied_opposite(low) or self.month_of(fact):
            return True
        if low in self.vocabulary.no and any(
            prefix + word in self.sentence.by_low for word in fact.name.words for prefix in ("un", "in", "dis", "non")
        ):
            return True  # unpaid
        if low in self.vocabulary.yes or low in self.vocabulary.no:
            return (
                not self.sql
                or not fact.name.words
                or max(
                    share_told(self.sentence, fact.name, self.reading.entities),
                    share_told(self.sentence, fact.also, self.reading.entities),
                )
                >= 0.4
            )
        if len(value) == 1 and not value.isdigit():
            return self.mention(fact.name).score > 0.5
        return False

    def month_of(self, fact: Fact) -> bool:
        """`in august` for a date that begins with 8/ or is 08."""
        digits = (fact.value or "").strip(" /-.")
        if not digits.isascii() or not digits.isdigit() or len(digits) > 2 or not 1 <= int(digits) <= 12:
            return False
        return _MONTHS[int(digits)] in self.sentence.by_low and "time" in self.vocabulary.kinds_of(fact.name)

    def denied_opposite(self, low: str) -> bool:
        """`not paved` for unpaved."""
        by_low = self.sentence.by_low
        for prefix in ("un", "non", "in", "dis"):
            rest = low.removeprefix(prefix).lstrip(" -")
            if rest != low and len(rest) > 3 and rest in by_low:
                return any(
                    word.negative or any(len(keys) == 1 and "negation" in kinds for keys, kinds in word.phrases)
                    for word in self.sentence.words
                )
        return False

    def numbers(self) -> None:
        sentence = self.sentence
        facts = [
            f
            for f in self.reading.facts
            if f.number is not None
            and (f.kind in ("limit", "ordinal") or (f.kind == "comparison" and self.looks_numeric(f.value or "")))
        ]
        for fact in facts:
            number = fact.number
            assert number is not None
            said_number = self.matching_number(fact, number)
            if said_number is not None:
                self.number_of[id(fact)] = said_number
                self.note("said", fact, "number", range_of(said_number))
                continue
            if self.unsaid_number(fact, number) or fact in self.elaborations:
                self.note("unsaid", fact, "number")
                continue
            if fact.kind == "comparison" and fact.value is not None and fact.value.strip():
                match = find_value(sentence, fact.value)
                if match.score >= 0.5:
                    for i in match.positions:
                        self.sentence.owner[i] = "value"
                    self.note("said", fact, "value", match.positions)
                    continue
            if (
                not self.sql
                and fact.kind == "comparison"
                and fact.role in ("result", "approximate")
                and fact.aggregate not in ("count", "avg", "sum")
            ) and not self.unexplained_number(1700 <= number <= 2100):
                self.note("missing", fact, "number_left_out")
                continue
            rule = (
                "limit_missing"
                if fact.kind == "limit"
                else "ordinal_missing"
                if fact.kind == "ordinal"
                else "number_missing"
            )
            self.note("missing", fact, rule)
        self.added_numbers(facts)

    def matching_number(self, fact: Fact, number: float) -> Number | None:
        best: Number | None = None
        exact = False
        for i, said_number in enumerate(self.sentence.numbers):
            if self.same_number(fact, number, said_number):
                self.used_numbers.add(i)
                equal = said_number.value == number
                if (
                    best is None
                    or (equal and not exact)
                    or (best.form == "ordinal" and said_number.form != "ordinal" and equal >= exact)
                ):
                    best, exact = said_number, equal
        return best

    def unexplained_number(self, years: bool) -> bool:
        """Whether the sentence gives a number that no fact has asked for; years count only where one is wanted."""
        query_numbers = {f.number for f in self.reading.facts if f.number is not None}
        owner = self.sentence.owner
        return any(
            n.value not in query_numbers
            and (years or not 1700 <= n.value <= 2100)
            and not owner[n.first]
            and n.form in ("digits", "word", "ordinal")
            for n in self.sentence.numbers
        )

    def same_number(self, fact: Fact, number: float, said_number: Number) -> bool:
        value = said_number.value
        if value == number or value == abs(number):
            return True
        if fact.integral and fact.op:
            comparative = self.comparator_near(said_number)
            if comparative is not None:
                inclusive = comparative.kind in INCLUSIVE
                if fact.op == ">=" and value == number - 1 and not inclusive:
                    return True
                if fact.op == ">" and value == number + 1 and inclusive:
                    return True
                if fact.op == "<=" and value == number + 1 and not inclusive:
                    return True
                if fact.op == "<" and value == number - 1 and inclusive:
                    return True
        if said_number.form in ("digits", "word") and any(value * k == number for k in self.span_at(said_number.last)):
            return True  # two decades for 20 years
        if (
            said_number.form == "ordinal"
            and self.sentence.lows[said_number.last : said_number.last + 1] == ["century"]
            and (
                100 * (value - 1) < number <= 100 * value
                if not fact.direction
                else abs(number - 100 * (value - (fact.direction > 0))) <= 1
            )
        ):
            return True  # in the 20th century
        if said_number.form == "decade" and (
            said_number.value <= number < said_number.value + 10
            or (fact.direction and abs(said_number.value - number) <= 10)
        ):
            return True
        if value and number:
            ratio = value / number if abs(value) > abs(number) else number / value
            if ratio in (100.0, 1000.0, 1e6, 1e9):
                return True
        if not self.sql:
            text = fact.value or ""
            if said_number.form == "decade" and text.isdigit() and str(int(value)).startswith(text):
                return True
            if len(text) == 2 and text.isdigit() and 1800 < value < 2100 and value % 100 == number:
                return True
            if (
                fact.role in ("approximate", "result")
                and said_number.form in ("digits", "word")
                and rounds_to(number, value)
            ):
                return True
            if (
                said_number.form == "digits"
                and not fact.direction
                and value >= 100
                and value % 100 == 0
                and abs(value - number) <= 0.05 * abs(number)
                and self.approximate()
            ):
                return True
            if (
                value < 100
                and 1800 < number < 2100
                and number % 100 == value
                and said_number.first
                and self.sentence.lows[said_number.first - 1] == "'"
            ):
                return True
        return False

    def span_at(self, position: int) -> list[int]:
        """What a word for a span of time counts for: an hour, 60 minutes."""
        return SPANS.get(lemma(self.sentence.lows[position]), []) if position < self.sentence.n else []

    def approximate(self) -> bool:
        by_low = self.sentence.by_low
        return any(
            w in by_low
            for w in ("about", "around", "approximately", "nearly", "almost", "roughly", "over", "some", "approx")
        )

    def comparator_near(self, number: Number) -> Signal | None:
        """The comparison word that governs a number."""
        best: Signal | None = None
        for signal in self.comparators_around(number):
            before = number.first - signal.last
            if 0 <= before <= 4 or self.closes(signal, number):
                if before > 0 and any(i in self.number_starts for i in range(signal.last, number.first)):
                    continue
                if best is None or signal.kind in INCLUSIVE or (before >= 0 and before < number.first - best.last):
                    best = signal
        return best

    def closes(self, signal: Signal, number: Number) -> bool:
        """Whether a comparison stands behind its number: 5 or more, 5 points at least; not 5 and at least 2."""
        if signal.kind not in INCLUSIVE or not 0 <= signal.first - number.last <= 3:
            return False
        if any(i in self.number_starts for i in range(number.last, signal.first)):
            return False
        return self.sentence.lows[signal.first] in ("or", "and") or signal.last not in self.number_starts

    def comparators_here(self) -> list[Signal]:
        return [s for s in self.sentence.signals if s.kind in SIGNAL_DIRECTION or s.kind == "comparative"]

    def comparators_around(self, number: Number) -> list[Signal]:
        """Comparison words within a few tokens of a number, in order."""
        if self.comparators_at is None:
            self.comparators_at = {}
            for signal in self.sentence.signals:
                if signal.kind in SIGNAL_DIRECTION or signal.kind == "comparative":
                    self.comparators_at.setdefault(signal.first, []).append(signal)
            self.number_starts = {n.first for n in self.sentence.numbers}
        if not self.comparators_at:
            return []
        around = range(number.first - 12, number.last + 4)  # no phrase is longer than eight words
        return [signal for i in around for signal in self.comparators_at.get(i, ())]

    def unsaid_number(self, fact: Fact, number: float) -> bool:
        """Numbers that people leave out or say otherwise."""
        if fact.kind == "limit":
            return number == 1
        if fact.kind == "ordinal":
            if number == 1:
                return True
            return number == 2 and any(w in self.sentence.by_low for w in ("runner", "next"))
        op = fact.op
        by_low = self.sentence.by_low
        if fact.aggregate == "diff" and abs(number) == 1 and ("a" in by_low or "one" in by_low or "an" in by_low):
            return True
        if op == "!=" and number == 0:
            return True
        if op in (">", ">=") and number <= 1 and (number == 0 or op == ">="):
            return True
        if (op == ">=" and number == 2) or (op == ">" and number == 1):  # noqa: SIM102 (one question after the other)
            if self.has("multiple") or any(w in by_low for w in ("multiple", "both", "several", "many", "multi")):
                return True
        if number == 0 and self.has("negation"):
            return True
        if any(number in self.span_at(i + 1) for word in ("a", "an", "one") for i in by_low.get(word, ())):
            return True  # longer than an hour
        if self.month_of(fact):
            return True
        if ("digit" in by_low or "digits" in by_low) and any(
            word in by_low and number in (limit, limit - 1) and fact.direction == way
            for word, (limit, way) in _DIGITS.items()
        ):
            return True  # in double digits
        if number == 0 and fact.direction:
            words = self.guards["rising" if fact.direction > 0 else "falling"]
            if not words.isdisjoint(by_low):
                return True  # the population decreased
        if number == 0 and fact.direction:  # noqa: SIM102 (one question after the other)
            # below par, above sea level: the measure counts from there
            if any(s.last in self.mention(fact.name).positions for s in self.comparators_here()):
                return True
        if number == 1 and (op == "=" or not self.sql):
            if (
                any(w in by_low for w in ("a", "an", "only", "single", "once", "one", "sole", "unique", "first"))
                and fact.aggregate == "count"
            ):
                return True
            if (
                self.sql
                and self.mention(fact.name).score >= 0.8
                and not any(n.form != "ordinal" for n in self.sentence.numbers)
            ):
                return True
        if number == 2 and any(w in by_low for w in ("both", "pair", "couple", "two", "twice", "double")):
            return True
        return bool(number in (0, 1) and self.sql and op in ("=", "!=") and not self.sentence.numbers)

    def added_numbers(self, facts: list[Fact]) -> None:
        sentence = self.sentence
        for i, number in enumerate(sentence.numbers):
            if i in self.used_numbers or number.form in ("ordinal", "times", "fraction"):
                continue
            if any(sentence.owner[k] for k in range(number.first, number.last)):
                continue
            if number.value <= 1:
                comparator = self.comparator_near(number)
                if comparator is not None and (number.value == 0 or comparator.kind == "at_least"):
                    continue  # at least one, more than 0: that there is some
                exact = number.first and sentence.lows[number.first - 1] in ("exactly", "only", "just")
                if number.form == "word" and not (exact and self.sql):
                    if comparator is None or not self.sql:
                        continue
                    if any(f.kind == "comparison" and f.direction for f in self.reading.facts):
                        continue
            if self.sql and not (self.reading.opaque and number.form == "digits"):
                self.added("number", "number_added", number.first, number.last)
            elif facts and not (1700 <= number.value <= 2100) and number.form in ("digits", "word"):
                self.added("number", "number_added_logic", number.first, number.last)


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
    if float(number).is_integer() and unit < 10:
        return False
    if not float(number).is_integer() and unit <= 10.0 ** -len(repr(float(number)).partition(".")[2]):
        return False
    if float(number).is_integer() and unit * 10 > abs(number):
        return False
    return abs(rounded - number) <= 0.5 * unit or 0 <= number - rounded < unit
