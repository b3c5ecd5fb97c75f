"""The rules that hold a reading of a query against a sentence, both ways.

Every rule gives findings: a fact that is said, missing or contradicted, or something that the sentence adds. A finding
against the sentence carries a confidence from `lexicon/confidence.json`: how sure such a finding is on its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from sensecheck.faithful.facts import NO_NAME, Fact, Name, Reading, Span
from sensecheck.faithful.matching.names import Mention, literal_positions, mention, synonym_positions, told
from sensecheck.faithful.matching.sentence import Sentence, Signal
from sensecheck.faithful.matching.spelling import near
from sensecheck.faithful.matching.values import find_value
from sensecheck.language.lexicon import read_package_lexicon
from sensecheck.language.morphology import lemma
from sensecheck.language.numbers import Number, as_number

CONFIDENCE: dict[str, float] = read_package_lexicon("sensecheck.faithful", "lexicon", "confidence.json")["rules"]


class Finding(NamedTuple):
    """One piece of evidence. status: said, unsaid (allowed), missing, contradicted, added."""

    status: str
    kind: str
    rule: str
    confidence: float
    text: str
    query_span: Span | None
    positions: Sequence[int]  # tokens of the sentence that bear on it


_UP = {"greater": 1, "at_least": 1, "after": 1, "multiple": 1, "less": -1, "at_most": -1, "before": -1}
_INCLUSIVE = frozenset(("at_least", "at_most"))


class Check:
    """One query against one sentence."""

    def __init__(self, reading: Reading, sentence: Sentence) -> None:
        self.reading = reading
        self.sentence = sentence
        self.vocabulary = sentence.vocabulary
        self.guards = sentence.vocabulary.guards
        self.findings: list[Finding] = []
        self.used_numbers: set[int] = set()
        self.comparators_at: dict[int, list[Signal]] | None = None
        self.number_starts: set[int] = set()
        self.number_of: dict[int, Number] = {}  # id of fact → the sentence's number for it
        self.mentions: dict[Name, Mention] = {}
        self.literally: set[int] = set()  # facts whose value the sentence says
        self.sql = reading.language != "logic2text"

    # ------------------------------------------------------------------------------------------ evidence

    def note(self, status: str, fact: Fact, rule: str, positions: Sequence[int] = ()) -> None:
        confidence = CONFIDENCE.get(rule, 0.0) if status in ("missing", "contradicted") else 1.0
        self.findings.append(Finding(status, fact.kind, rule, confidence, fact.text, fact.span, positions))

    def added(self, kind: str, rule: str, first: int, last: int) -> None:
        span = self.sentence.span(first, last)
        text = self.sentence.text[span[0] : span[1]]
        self.findings.append(Finding("added", kind, rule, CONFIDENCE.get(rule, 0.0), text, None, range(first, last)))

    def mention(self, name: Name) -> Mention:
        found = self.mentions.get(name)
        if found is None:
            found = self.mentions[name] = mention(self.sentence, name)
        return found

    # ---------------------------------------------------------------------------------------------- all

    def run(self) -> list[Finding]:
        self.claim_names()
        self.elaborations = [] if self.sql else self.unsaid_elaborations()
        self.values()
        self.claim_quotes()
        self.sentence.read_signals()
        self.kinds: dict[str, list[Signal]] = {}
        for signal in self.sentence.signals:
            self.kinds.setdefault(signal.kind, []).append(signal)
        self.numbers()
        self.negations()
        self.comparisons()
        self.extremes()
        self.aggregates()
        self.connectives()
        if self.sql:
            self.ordering()
            self.columns()
            if not self.reading.opaque:
                self.entities()
            self.tables()
            self.misfits()
            self.question_form()
        else:
            self.differences()
            self.quantifiers()
            self.logic_columns()
        return self.findings

    def free(self, signal: Signal) -> bool:
        """Whether a signal stands on its own, not inside the name of a column or table."""
        owner = self.sentence.owner
        return not all(owner[i] == "name" for i in range(signal.first, signal.last))

    def has(self, *kinds: str) -> Signal | None:
        for kind in kinds:
            for signal in self.kinds.get(kind, ()):
                return signal
        return None

    def has_free(self, *kinds: str) -> Signal | None:
        for kind in kinds:
            for signal in self.kinds.get(kind, ()):
                if self.free(signal):
                    return signal
        return None

    # -------------------------------------------------------------------------------------------- claims

    def claim_names(self) -> None:
        """Words that are there because a name holds them: `number of deaths`, `total credits`, `first name`."""
        sentence = self.sentence
        lows = sentence.lows
        for name in self.reading.names:
            words = name.words
            if len(words) == 1:
                for i in literal_positions(sentence, words[0]):
                    sentence.claim(i, i + 1, "name")
                continue
            hits: list[int] = []
            said = 0
            for word in words:
                found = literal_positions(sentence, word)
                if found:
                    hits.extend(found)
                    said += 1
            if said < 2:
                continue
            hits = sorted(set(hits))
            for a, b in itertools.pairwise(hits):
                if b - a == 1 or (b - a == 2 and lows[a + 1] in self.guards["links"]):
                    sentence.claim(a, b + 1, "name")

    def claim_quotes(self) -> None:
        for first, last in self.sentence.quotes:
            self.sentence.claim(first, last, "quote")

    def unsaid_elaborations(self) -> list[Fact]:
        """Results that a form spells out after a comparison of two rows; a sentence gives all of them or none."""
        facts = self.reading.facts
        if not any(f.role == "values" or f.aggregate == "diff" for f in facts):
            return []
        results = [
            f for f in facts if f.kind == "comparison" and f.role in ("result", "approximate") and f.aggregate != "diff"
        ]
        said = 0
        for fact in results:
            if fact.number is not None and self.looks_numeric(fact.value or ""):
                said += any(n.value == fact.number for n in self.sentence.numbers)
            else:
                said += find_value(self.sentence, fact.value or "").score >= 0.45
        return results if not said else []

    # -------------------------------------------------------------------------------------------- values

    def values(self) -> None:
        """Literal strings must be said."""
        for fact in self.reading.facts:
            if fact.kind not in ("comparison", "entity") or fact.value is None:
                continue
            if fact.number is not None and self.looks_numeric(fact.value):
                continue
            value = fact.value.strip()
            found = find_value(self.sentence, value)
            needed = 0.5 if self.sql else 0.25 if fact.direction else 0.45
            if not self.sql and any(
                self.sentence.tokens[i].kind == "number" and len(self.sentence.tokens[i].text) > 2
                for i in found.positions
            ):
                needed = 0.28  # a date by its year, a place with its attendance
            if found.score >= needed:
                self.literally.add(id(fact))
                for i in found.positions:
                    self.sentence.owner[i] = "value"
                if fact.way and fact.op == "=" and self.wrong_end(fact, found.positions):
                    self.note("contradicted", fact, "journey_reversed", found.positions)
                else:
                    self.note("said", fact, "value", found.positions)
            elif self.unsaid_value(fact, value) or fact in self.elaborations:
                self.note("unsaid", fact, "value")
            else:
                partial = bool(found.positions)
                rule = "value_missing" if not partial else "value_partial" if self.sql else "value_partial_logic"
                if not self.sql and fact.op in ("!=",):
                    rule = "value_negated_missing"
                self.note("missing", fact, rule, found.positions)

    def wrong_end(self, fact: Fact, positions: tuple[int, ...]) -> bool:
        """`from Ashley` for a destination."""
        i = min(positions) - 1
        lows = self.sentence.lows
        while i >= 0 and (
            lows[i] in ("the", "airport", "airports", "city", "in", "of", "station")
            or self.sentence.tokens[i].kind == "sign"
        ):
            i -= 1
        wrong = {"to": ("from", "leaving", "departing"), "from": ("to", "into", "arriving")}[fact.way]
        return i >= 0 and lows[i] in wrong

    def looks_numeric(self, value: str) -> bool:
        return any(c.isdigit() for c in value)

    def unsaid_value(self, fact: Fact, value: str) -> bool:
        """Values that a sentence says by stating or denying the column."""
        low = value.lower().replace(" / ", "/")
        if not value:
            return True
        if low in self.vocabulary.yes or low in self.vocabulary.no:
            return (
                not self.sql
                or not fact.name.words
                or max(
                    told(self.sentence, fact.name, self.reading.entities),
                    told(self.sentence, fact.also, self.reading.entities),
                )
                >= 0.4
            )
        if len(value) == 1 and not value.isdigit():
            return self.mention(fact.name).score > 0.5
        return False

    # ------------------------------------------------------------------------------------------- numbers

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
            hit = self.matching_number(fact, number)
            if hit is not None:
                self.number_of[id(fact)] = hit
                self.note("said", fact, "number", range_of(hit))
                continue
            if self.unsaid_number(fact, number) or fact in self.elaborations:
                self.note("unsaid", fact, "number")
                continue
            if fact.kind == "comparison" and fact.value is not None and fact.value.strip():
                found = find_value(sentence, fact.value)
                if found.score >= 0.5:
                    for i in found.positions:
                        self.sentence.owner[i] = "value"
                    self.note("said", fact, "value", found.positions)
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
        for i, said in enumerate(self.sentence.numbers):
            if self.same_number(fact, number, said):
                self.used_numbers.add(i)
                equal = said.value == number
                if (
                    best is None
                    or (equal and not exact)
                    or (best.form == "ordinal" and said.form != "ordinal" and equal >= exact)
                ):
                    best, exact = said, equal
        return best

    def unexplained_number(self, years: bool) -> bool:
        """Whether the sentence gives a number that no fact has asked for; years count only where one is wanted."""
        asked = {f.number for f in self.reading.facts if f.number is not None}
        owner = self.sentence.owner
        return any(
            n.value not in asked
            and (years or not 1700 <= n.value <= 2100)
            and not owner[n.first]
            and n.form in ("digits", "word", "ordinal")
            for n in self.sentence.numbers
        )

    def same_number(self, fact: Fact, number: float, said: Number) -> bool:
        value = said.value
        if value == number or value == abs(number):
            return True
        if fact.integral and fact.op:
            comparative = self.comparator_near(said)
            if comparative is not None:
                inclusive = comparative.kind in _INCLUSIVE
                if fact.op == ">=" and value == number - 1 and not inclusive:
                    return True
                if fact.op == ">" and value == number + 1 and inclusive:
                    return True
                if fact.op == "<=" and value == number + 1 and not inclusive:
                    return True
                if fact.op == "<" and value == number - 1 and inclusive:
                    return True
        if said.form == "decade" and (
            said.value <= number < said.value + 10 or (fact.direction and abs(said.value - number) <= 10)
        ):
            return True
        if value and number:
            ratio = value / number if abs(value) > abs(number) else number / value
            if ratio in (100.0, 1000.0, 1e6, 1e9):
                return True
        if not self.sql:
            text = fact.value or ""
            if said.form == "decade" and text.isdigit() and str(int(value)).startswith(text):
                return True
            if len(text) == 2 and text.isdigit() and 1800 < value < 2100 and value % 100 == number:
                return True
            if fact.role in ("approximate", "result") and said.form in ("digits", "word") and rounds_to(number, value):
                return True
            if (
                said.form == "digits"
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
                and said.first
                and self.sentence.lows[said.first - 1] == "'"
            ):
                return True
        return False

    def approximate(self) -> bool:
        lows = self.sentence.by_low
        return any(
            w in lows
            for w in ("about", "around", "approximately", "nearly", "almost", "roughly", "over", "some", "approx")
        )

    def comparator_near(self, said: Number) -> Signal | None:
        """The comparison word that governs a number."""
        best: Signal | None = None
        for signal in self.comparators_around(said):
            before = said.first - signal.last
            if 0 <= before <= 4 or (0 <= signal.first - said.last <= 3 and signal.kind in _INCLUSIVE):
                if before > 0 and any(i in self.number_starts for i in range(signal.last, said.first)):
                    continue
                if best is None or signal.kind in _INCLUSIVE or (before >= 0 and before < said.first - best.last):
                    best = signal
        return best

    def comparators_around(self, said: Number) -> list[Signal]:
        """Comparison words within a few tokens of a number, in order."""
        if self.comparators_at is None:
            self.comparators_at = {}
            for signal in self.sentence.signals:
                if signal.kind in _UP or signal.kind == "comparative":
                    self.comparators_at.setdefault(signal.first, []).append(signal)
            self.number_starts = {n.first for n in self.sentence.numbers}
        if not self.comparators_at:
            return []
        around = range(said.first - 12, said.last + 4)  # no phrase is longer than eight words
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
        lows = self.sentence.by_low
        if fact.aggregate == "diff" and abs(number) == 1 and ("a" in lows or "one" in lows or "an" in lows):
            return True
        if op == "!=" and number == 0:
            return True
        if op in (">", ">=") and number <= 1 and (number == 0 or op == ">="):
            return True
        if (op == ">=" and number == 2) or (op == ">" and number == 1):  # noqa: SIM102 (one question after the other)
            if self.has("multiple") or any(w in lows for w in ("multiple", "both", "several", "many", "multi")):
                return True
        if number == 0 and self.has("negation"):
            return True
        if number == 1 and (op == "=" or not self.sql):
            if (
                any(w in lows for w in ("a", "an", "only", "single", "once", "one", "sole", "unique", "first"))
                and fact.aggregate == "count"
            ):
                return True
            if (
                self.sql
                and self.mention(fact.name).score >= 0.8
                and not any(n.form != "ordinal" for n in self.sentence.numbers)
            ):
                return True
        if number == 2 and any(w in lows for w in ("both", "pair", "couple", "two", "twice", "double")):
            return True
        return bool(number in (0, 1) and self.sql and op in ("=", "!=") and not self.sentence.numbers)

    def added_numbers(self, facts: list[Fact]) -> None:
        sentence = self.sentence
        for i, said in enumerate(sentence.numbers):
            if i in self.used_numbers or said.form in ("ordinal", "times", "fraction"):
                continue
            if any(sentence.owner[k] for k in range(said.first, said.last)):
                continue
            if said.value <= 1:
                comparator = self.comparator_near(said)
                if comparator is not None and (said.value == 0 or comparator.kind == "at_least"):
                    continue  # at least one, more than 0: that there is some
                exact = said.first and sentence.lows[said.first - 1] in ("exactly", "only", "just")
                if said.form == "word" and not (exact and self.sql):
                    if comparator is None or not self.sql:
                        continue
                    if any(f.kind == "comparison" and f.direction for f in self.reading.facts):
                        continue
            if self.sql and not (self.reading.opaque and said.form == "digits"):
                self.added("number", "number_added", said.first, said.last)
            elif facts and not (1700 <= said.value <= 2100) and said.form in ("digits", "word"):
                self.added("number", "number_added_logic", said.first, said.last)

    # ----------------------------------------------------------------------------------------- negations

    def negations(self) -> None:
        facts = self.reading.of("negation")
        cues = [s for s in self.kinds.get("negation", ()) if self.sentence.owner[s.first] not in ("value", "quote")]
        soft = self.kinds.get("negation_soft", [])
        positive = {f.value for f in self.reading.facts if f.kind == "comparison" and f.op == "="}
        strict = [f for f in facts if not f.optional and not (f.value is not None and f.value in positive)]
        said = {f.value for f in self.reading.facts if self.sql and id(f) in self.literally}
        strict = [
            f
            for f in strict
            if f.value is None
            or f.value in said
            or f.value.strip().lower().replace(" / ", "/") not in self.vocabulary.no
        ]
        for fact in strict:
            if cues or soft:
                first = (cues or soft)[0]
                self.note("said", fact, "negation", range(first.first, first.last))
            else:
                if any(
                    low.startswith(("un", "in", "dis", "non", "im"))
                    and len(low) > 5
                    and low not in self.guards["not_negative"]
                    for low in self.sentence.lows
                ):
                    self.note("unsaid", fact, "negation")
                else:
                    self.note("missing", fact, "negation_missing")
        self.negation_counts(strict, cues)
        if not self.sql and not cues and not soft and not facts:
            for fact in self.reading.facts:
                if (
                    (
                        fact.kind == "comparison"
                        and fact.op == "="
                        and (fact.value or "").strip().lower().replace(" / ", "/") in self.guards["denials"]
                    )
                    and id(fact) not in self.literally
                    and not any(
                        low.startswith(("un", "non", "in", "dis")) and low not in self.guards["not_negative"]
                        for low in self.sentence.lows
                    )
                ):
                    self.note("missing", fact, "denial_missing")
                    break
        if facts or not cues:
            return
        if self.denied_by_value():
            return
        for cue in cues:
            if self.idle_negation(cue):
                continue
            self.added("negation", "negation_added", cue.first, cue.last)
            return

    def negation_counts(self, facts: list[Fact], cues: list[Signal]) -> None:
        """Two denials are not one."""
        if not self.sql or not facts or not cues:
            return
        lows = self.sentence.lows
        said = sum(1 for cue in cues if lows[cue.first] != "nor" and not self.idle_negation(cue))
        asked = len({(f.op, f.value) if f.op != "!=" else ("!=", "") for f in facts})
        values = len({f.value for f in facts if f.op == "!="})
        if asked >= 2 and said == 1 and "nor" not in lows:
            self.note("missing", facts[-1], "negation_count", range(cues[0].first, cues[0].last))
        elif said > max(asked, values) and asked == 1 and all(f.kind == "negation" for f in facts):  # noqa: SIM102 (one question after the other)
            if any(b.first - a.last <= 1 for a, b in itertools.pairwise(cues)):
                self.added("negation", "negation_doubled", cues[-1].first, cues[-1].last)

    def denied_by_value(self) -> bool:
        for fact in self.reading.facts:
            if fact.kind != "comparison" or fact.value is None:
                continue
            low = fact.value.strip().lower().replace(" / ", "/")
            if low in self.vocabulary.no and not (self.sql and id(fact) in self.literally):
                return True
            if not low or fact.number == 0 or (fact.op == "<" and fact.number == 1):
                return True
            if low.startswith(("no ", "not ", "non", "never", "did not")) or " not " in low or "without" in low:
                return True
        return False

    def idle_negation(self, cue: Signal) -> bool:
        """Words of negation that deny nothing."""
        lows = self.sentence.lows
        before = lows[cue.first - 1] if cue.first else ""
        after = lows[cue.last] if cue.last < self.sentence.n else ""
        low = lows[cue.first]
        if before in ("ai", "ain") or low == "ain't":
            return True
        if not self.sql and any(f.direction for f in self.reading.facts if f.kind == "comparison"):
            # not in the top 15, neither scored more than 3: the denial turns the comparison round
            ahead = range(cue.last, min(cue.last + 6, self.sentence.n))
            if any(lows[i] in ("top", "more", "less", "fewer", "over", "under", "higher", "lower") for i in ahead):
                return True
        if self.sentence.owner[cue.first] == "name":
            return True
        if low == "outside" and "top" in lows[cue.last : cue.last + 3]:
            return True
        if before == "or" and low == "not":
            return True  # whether or not
        if low == "not" and after in ("only", "just"):
            return True
        if low == "no" and after in (".", "1", "2", "3"):
            return True
        if low in ("rather", "instead") and not self.sql:
            return True
        return low == "don" or (low in ("zero",))

    # --------------------------------------------------------------------------------------- comparisons

    def told_the_other_way(self, fact: Fact) -> bool:
        """Whether the sentence names the second row first: B had fewer than A."""
        assert fact.pair is not None
        places = [find_value(self.sentence, value).positions for value in fact.pair]
        return bool(places[0] and places[1] and min(places[1]) < min(places[0]) and fact.pair[0] != fact.pair[1])

    def differences(self) -> None:
        """6 more points in 1976 than in 1975: the sign of a difference."""
        for fact in self.reading.facts:
            if fact.aggregate != "diff" or fact.pair is None:
                continue
            result = next(
                (f for f in self.reading.facts if f.kind == "comparison" and f.aggregate == "diff" and f.number), None
            )
            if result is None or not result.number or "-" in (result.value or "")[1:]:
                continue
            wanted = (1 if result.number > 0 else -1) * (-1 if self.told_the_other_way(fact) else 1)
            ways = {self.way(s, fact.name) for s in self.comparators()}
            if ways == {-wanted}:
                signal = self.comparators()[0]
                self.note("contradicted", fact, "difference_opposite", range(signal.first, signal.last))

    def way(self, signal: Signal, name: Name) -> int:
        """1 towards more, -1 towards less, 0 either."""
        if signal.kind in _UP:
            if not self.sql and signal.kind not in ("after", "before") and "rank" in self.vocabulary.kinds_of(name):
                return 0  # at least third: third or a smaller number
            return _UP[signal.kind]
        return self.vocabulary.points(signal.word, name) * signal.sign

    def comparators(self) -> list[Signal]:
        kinds = self.kinds
        found = [
            s
            for k in ("greater", "less", "at_least", "at_most", "after", "before", "multiple", "comparative")
            for s in kinds.get(k, ())
        ]
        return [s for s in found if self.free(s)]

    def comparisons(self) -> None:
        facts = [f for f in self.reading.facts if f.kind == "comparison" and f.direction]
        signals = self.comparators()
        between = self.has("between")
        self.turned = {id(f): self.told_the_other_way(f) for f in facts if f.pair is not None}
        for fact in facts:
            number = self.number_of.get(id(fact))
            govern = self.comparator_near(number) if number is not None else None
            if govern is not None and self.way(govern, fact.name):
                way = self.way(govern, fact.name)
                if way == fact.direction:
                    assert number is not None
                    inclusive = govern.kind in _INCLUSIVE
                    if (
                        self.sql
                        and number.value == fact.number
                        and inclusive != (fact.op in (">=", "<="))
                        and govern.kind not in ("multiple", "after", "before")
                    ):
                        self.note("contradicted", fact, "comparison_inclusive", range(govern.first, govern.last))
                        continue
                    self.note("said", fact, "comparison", range(govern.first, govern.last))
                    continue
                others = [f for f in facts if f is not fact and f.number == fact.number and f.direction == way]
                if way == -fact.direction and not others and not self.negated_comparison(fact, govern):
                    self.note("contradicted", fact, "comparison_opposite", range(govern.first, govern.last))
                    continue
            if between is not None:
                self.note("said", fact, "comparison", range(between.first, between.last))
                continue
            direction = -fact.direction if self.turned.get(id(fact)) else fact.direction
            agreeing = [s for s in signals if self.way(s, fact.name) in (direction, 0)]
            if agreeing:
                nearest = agreeing[0]
                self.note("said", fact, "comparison", range(nearest.first, nearest.last))
                continue
            opposing = [s for s in signals if self.way(s, fact.name) == -direction]
            if opposing and not any(f.direction == -direction for f in facts if f is not fact):
                if self.negated_comparison(fact, opposing[0]):
                    continue
                self.note("contradicted", fact, "comparison_opposite", range(opposing[0].first, opposing[0].last))
            elif self.unsaid_comparison(fact):
                self.note("unsaid", fact, "comparison")
            else:
                self.note("missing", fact, "comparison_missing" if self.sql else "comparison_missing_logic")
        self.added_comparisons(facts, signals)

    def negated_comparison(self, fact: Fact, signal: Signal) -> bool:
        """`not more than` for at most, or a denial elsewhere that turns the comparison round."""
        if any(not f.optional for f in self.reading.of("negation")):
            return False
        return any(0 <= signal.first - cue.last <= 4 for cue in self.kinds.get("negation", ()))

    def unsaid_comparison(self, fact: Fact) -> bool:
        number = fact.number
        if "top" in self.sentence.by_low and not self.sql:
            return True
        if fact.role == "values" and any(f.role == "result" for f in self.reading.facts) and not self.elaborations:
            return True  # both results are given instead
        if number is not None and number <= 1 and fact.direction > 0:
            return True
        if number is not None and number == 2 and fact.op == ">=":
            return bool(self.has("multiple") or "both" in self.sentence.by_low or "many" in self.sentence.by_low)
        if number is not None and number <= 1 and fact.direction < 0:
            return bool(self.kinds.get("negation"))
        # A superlative or a from … to says it too.
        if self.has("superlative") and fact.role in ("subquery", "values", "columns"):
            return True
        lows = self.sentence.by_low
        if "from" in lows and "to" in lows and fact.role != "values":
            return True
        return any(w in lows for w in ("positive", "negative", "older", "than"))

    def added_comparisons(self, facts: list[Fact], signals: list[Signal]) -> None:
        """Comparison words that govern a number or an average while the query compares nothing."""
        if facts:
            return
        if any(f.op == "between" or f.aggregate == "diff" for f in self.reading.facts):
            return
        ordered = any(f.kind == "order" for f in self.reading.facts)
        for signal in signals:
            follower = self.sentence.lows[signal.last : signal.last + 6]
            if follower[:1] == ["-"]:
                continue  # under-21
            if (
                "than" in follower
                and not {"any", "all", "other", "every", "rest", "anyone"}.isdisjoint(
                    self.sentence.lows[signal.last : signal.last + 9]
                )
                and (ordered or not self.sql)
            ):
                continue  # more than any other: a superlative
            if signal.first and self.sentence.lows[signal.first - 1] == "just":
                continue
            if signal.kind == "multiple":
                if signal.last - signal.first == 3 and self.sql and not self.reading.of("negation"):
                    self.added("comparison", "comparison_added", signal.first, signal.last)
                    return
                continue
            if signal.kind == "at_least" and self.sentence.lows[signal.last : signal.last + 1] in (
                ["one"],
                ["once"],
                ["a"],
                ["1"],
            ):
                continue
            if signal.kind == "comparative" and self.sentence.lows[signal.last : signal.last + 2] == ["than", "0"]:
                continue
            governed = any(0 <= n.first - signal.last <= 2 and n.form != "ordinal" for n in self.sentence.numbers)
            follower = self.sentence.lows[signal.last : signal.last + 3]
            if signal.kind in ("greater", "less", "at_least", "at_most") and (governed or "average" in follower):
                self.added("comparison", "comparison_added", signal.first, signal.last)
                return
            if signal.kind in ("after", "before") and governed:
                self.added("comparison", "comparison_added_time", signal.first, signal.last)
                return
            if signal.kind == "comparative" and "than" in follower:
                self.added("comparison", "comparison_added", signal.first, signal.last)
                return

    # ------------------------------------------------------------------------------------------- extremes

    def extremes(self) -> None:
        """Superlatives against MAX, MIN and cut orders."""
        facts = [
            f
            for f in self.reading.facts
            if (f.kind == "aggregate" and f.aggregate in ("max", "min")) or (f.kind == "order" and f.limited)
        ]
        signals = [s for k in ("superlative",) for s in self.kinds.get(k, ())]
        used: set[Signal] = set()
        for fact in facts:
            name = fact.name
            agreeing = [s for s in signals if self.way(s, name) == fact.direction]
            if agreeing:
                used.update(agreeing)
                self.note("said", fact, "extreme", range(agreeing[0].first, agreeing[0].last))
                continue
            undecided = [s for s in signals if self.way(s, name) == 0]
            if undecided:
                used.update(undecided)
                self.note("said", fact, "extreme", range(undecided[0].first, undecided[0].last))
                continue
            opposing = [s for s in signals if self.way(s, name) == -fact.direction]
            if opposing and not any(f.direction == -fact.direction for f in facts if f is not fact):
                used.update(opposing)
                self.note("contradicted", fact, "extreme_opposite", range(opposing[0].first, opposing[0].last))
                continue
            if opposing:
                self.note("missing", fact, "extreme_missing")
                continue
            if self.unsaid_extreme(fact):
                self.note("unsaid", fact, "extreme")
            else:
                self.note("missing", fact, "extreme_missing")
        self.added_extremes(facts, signals, used)

    def unsaid_extreme(self, fact: Fact) -> bool:
        kinds = self.kinds
        if fact.kind == "aggregate" and fact.role == "having" and self.comparators():
            return True
        if fact.kind == "aggregate" and fact.role == "inner":  # noqa: SIM102 (one question after the other)
            # more than any, after all, earlier than some
            if any(w in self.sentence.by_low for w in ("any", "some", "all", "every", "other", "each", "one", "least")):
                return True
        if fact.kind == "order":
            if fact.direction > 0 and "descending" in kinds:
                return True
            if fact.direction < 0 and "ascending" in kinds:
                return True
            if fact.role == "nth":
                if any(n.form == "ordinal" for n in self.sentence.numbers):
                    return True
                return fact.number == 1 and any(w in self.sentence.by_low for w in ("ranked", "rank", "number"))
            if fact.optional and self.has("sorting"):
                return True
        for low in self.sentence.lows:
            if len(low) >= 6 and low not in self.vocabulary.superlatives:
                for word, base in self.vocabulary.long_superlatives.get(low[0], ()):
                    if near(low, word) and self.vocabulary.points(base, fact.name) == fact.direction:
                        return True  # misspelt
        comparatives = [s for s in kinds.get("comparative", ()) if self.way(s, fact.name) in (fact.direction, 0)]
        if comparatives:
            return True
        if "other" in self.sentence.by_low or "all" in self.sentence.by_low:  # noqa: SIM102 (one question after the other)
            if any(self.way(s, fact.name) in (fact.direction, 0) for s in self.comparators()):
                return True  # before all other units
        if fact.direction > 0 and ("most_quantifier" in kinds and "most" in self.sentence.by_low):
            return True
        return "limit" in self.sentence.by_low

    def added_extremes(self, facts: list[Fact], signals: list[Signal], used: set[Signal]) -> None:
        orders = [f for f in self.reading.facts if f.kind == "order"]
        names = [f.name for f in facts]
        for signal in signals:
            if signal in used or not self.free(signal):
                continue
            if signal.word in ("first", "initial", "top", "leading", "last", "final", "bottom", "new", "original"):
                continue
            before = self.sentence.lows[signal.first - 1] if signal.first else ""
            if before == "at" or any(self.sentence.lows[signal.first] in name.words for name in self.reading.names):
                continue
            if orders and not facts:
                continue
            if any(f.kind == "quantifier" for f in self.reading.facts):
                continue
            if not self.sql and not facts:
                self.added("superlative", "extreme_added_logic", signal.first, signal.last)
                return
            if facts and all(self.way(signal, n) != -f.direction for f, n in zip(facts, names, strict=True)):
                continue
            self.added(
                "superlative", "extreme_added" if not facts else "extreme_added_opposite", signal.first, signal.last
            )
            return

    # ----------------------------------------------------------------------------------------- aggregates

    def aggregates(self) -> None:
        facts = self.reading.of("aggregate")
        kinds = {f.aggregate for f in facts} | {f.aggregate for f in self.reading.facts if f.aggregate}
        for fact in facts:
            aggregate = fact.aggregate
            if aggregate == "avg":
                signal = self.has("average")
                if signal is not None:
                    self.note("said", fact, "average", range(signal.first, signal.last))
                else:
                    self.note("missing", fact, "average_missing")
            elif aggregate == "sum":
                signal = self.has("sum", "count")
                if signal is not None:
                    self.note("said", fact, "sum", range(signal.first, signal.last))
                elif self.has("superlative") or fact.role == "having" or fact.optional or not self.sql:
                    self.note("unsaid", fact, "sum")
                else:
                    self.note("missing", fact, "sum_missing")
            elif aggregate == "count" and fact.role in ("select",):
                signal = self.count_word()
                if signal is not None:
                    self.note("said", fact, "count", range(signal.first, signal.last))
                elif self.counted_elsewhere():
                    self.note("unsaid", fact, "count")
                else:
                    self.note("missing", fact, "count_missing")
        average = self.has_free("average")
        if average is not None and "avg" not in kinds:
            self.added("aggregate", "average_added", average.first, average.last)
        if not self.sql:
            total = self.has_free("sum")
            if total is not None and "sum" not in kinds and "avg" in kinds and average is None:
                self.added("aggregate", "sum_added", total.first, total.last)
            return
        if kinds & {"count", "sum"}:
            return
        total = self.has_free("sum")
        if total is not None and self.sentence.lows[total.first] in ("total", "sum", "combined", "in"):
            self.added("aggregate", "sum_added", total.first, total.last)
            return
        for signal in self.kinds.get("count", ()):
            if not self.free(signal):
                continue
            phrase = " ".join(self.sentence.lows[signal.first : signal.last])
            if self.names_column_after(signal.last):
                continue
            if phrase in ("how many", "count", "total number"):
                if phrase == "how many" and self.numeric_select():
                    continue
                self.added("aggregate", "count_added", signal.first, signal.last)
                return
            following = self.sentence.lows[signal.last : signal.last + 1]
            if phrase in ("number",) and following == ["of"] and not self.numeric_select():
                self.added("aggregate", "number_of_added", signal.first, signal.last)
                return

    def counted_elsewhere(self) -> bool:
        """A count that only shows what the query sorts or filters by."""
        facts = self.reading.facts
        return any(f.kind == "column" and f.role == "select" for f in facts) and any(
            f.aggregate == "count" and f.kind in ("order", "comparison") for f in facts
        )

    def count_word(self) -> Signal | None:
        """A word that asks for a count, not the `number` of a phone number or of a lowest number of days."""
        ordered = any(f.kind == "order" and f.aggregate == "count" for f in self.reading.facts)
        for kind in ("count", "sum"):
            for signal in self.kinds.get(kind, ()):
                before = self.sentence.lows[signal.first - 1] if signal.first else ""
                if self.free(signal) and (ordered or before not in self.vocabulary.superlatives):
                    return signal
        return None

    def names_column_after(self, position: int) -> bool:
        """Whether the next words are those of a column in the query: the number of days held."""
        sentence = self.sentence
        window = range(position, min(position + 4, sentence.n))
        for fact in self.reading.facts:
            if (
                fact.kind in ("column", "order")
                and fact.name.words
                and not set(window).isdisjoint(self.mention(fact.name).positions)
            ):
                return True
        return False

    def numeric_select(self) -> bool:
        """Whether the query gives a column that holds a number of things."""
        for fact in self.reading.facts:
            if fact.kind in ("column", "order", "comparison", "aggregate") and fact.name.words:
                if not {
                    "number",
                    "num",
                    "count",
                    "quantity",
                    "total",
                    "amount",
                    "population",
                    "capacity",
                    "attendance",
                }.isdisjoint(fact.name.words):
                    return True
                if fact.role in ("select",) and fact.name.words[0] not in ("name", "id"):
                    return True
        return False

    # ---------------------------------------------------------------------------------------- connectives

    def connectives(self) -> None:
        facts = self.reading.facts
        ors = [f for f in facts if f.kind == "connective" and f.op == "or"]
        setops = {f.op for f in facts if f.kind == "setop"}
        said_or = self.has("or")
        for fact in ors:
            if fact.optional or said_or is not None:
                self.note("said" if said_or else "unsaid", fact, "or")
            elif self.has("both"):
                self.note("contradicted", fact, "or_unsaid")
            else:
                self.note("missing", fact, "or_unsaid")
        if said_or is not None and not ors and "union" not in setops and self.sql:  # noqa: SIM102 (one question after the other)
            if not self.harmless_or(said_or):
                self.added("connective", "or_added", said_or.first, said_or.last)
        if "union" in setops and self.has("both") is not None and said_or is None:
            both = self.has("both")
            if both is not None and self.sentence.lows[both.first] == "both":
                fact = next(f for f in facts if f.kind == "setop")
                self.note("contradicted", fact, "union_both", range(both.first, both.last))

        if "union" in setops and said_or is None and self.has("both") is None:
            lows = self.sentence.lows
            relative = next((i for i, w in enumerate(lows) if w in ("who", "that", "which", "whose")), -1)
            if relative >= 0 and "and" in lows[relative:]:
                fact = next(f for f in facts if f.kind == "setop" and f.op == "union")
                self.note("contradicted", fact, "union_and")

    def harmless_or(self, signal: Signal) -> bool:
        lows = self.sentence.lows
        around = set(lows[max(0, signal.first - 1) : signal.last + 1])
        neighbours = {
            self.sentence.tokens[i].stem for i in range(max(0, signal.first - 2), min(self.sentence.n, signal.last + 2))
        }
        if any(len(neighbours.intersection(name.stems)) >= 2 for name in self.reading.names):
            return True
        if around & {"he", "she", "his", "her", "him", "hers", "they", "not", "if"}:
            return True
        if any(f.kind == "negation" for f in self.reading.facts):
            return True
        return any(f.op in (">=", "<=") for f in self.reading.facts)

    # ------------------------------------------------------------------------------------------- ordering

    def ordering(self) -> None:
        orders = [f for f in self.reading.facts if f.kind == "order" and not f.limited]
        ascending, descending = self.has("ascending"), self.has("descending")
        if ascending is None and descending is None:
            ascending = self.has("alphabetical")
        if len(orders) > 1 and ascending is not None and descending is not None:
            ups, downs = len(self.kinds["ascending"]) if "ascending" in self.kinds else 1, len(self.kinds["descending"])
            asked = sum(f.direction > 0 for f in orders)
            if ups + downs == len(orders) and downs != asked:
                self.note("contradicted", orders[0], "order_opposite", range(descending.first, descending.last))
                return
        if (
            len(orders) > 1
            and descending is not None
            and ascending is None
            and len(self.kinds["descending"]) > sum(f.direction > 0 for f in orders) > 0
        ):
            self.note("contradicted", orders[-1], "order_opposite", range(descending.first, descending.last))
            return
        if ascending is None and descending is None and orders:
            pair = self.from_to(orders[0].name)
            if pair is not None:
                ascending, descending = (pair, None) if pair.sign < 0 else (None, pair)
        superlatives = self.kinds.get("superlative", [])
        for fact in orders:
            ways = [w for w in (self.way(s, fact.name) for s in superlatives) if w]
            if fact.direction > 0:
                if descending is not None:
                    self.note("said", fact, "order", range(descending.first, descending.last))
                elif ascending is not None:
                    self.note("contradicted", fact, "order_opposite", range(ascending.first, ascending.last))
                elif superlatives:
                    self.note("unsaid", fact, "order")
                else:
                    self.note("missing", fact, "descending_missing")
            else:
                if ascending is not None:
                    self.note("said", fact, "order", range(ascending.first, ascending.last))
                elif descending is not None and not any(f.direction > 0 for f in orders):
                    self.note("contradicted", fact, "order_opposite", range(descending.first, descending.last))
                elif self.has("sorting", "each") or ways:
                    self.note("unsaid", fact, "order")
                else:
                    self.note("missing", fact, "order_missing")
        if not self.reading.of("order"):
            for signal in (ascending, descending):
                if signal is not None and self.free(signal):
                    self.added("order", "order_added", signal.first, signal.last)
                    return

    def from_to(self, name: Name) -> Signal | None:
        """`from old to young`, `from the most recent to the oldest`, `oldest to youngest`: which way it runs."""
        lows, vocabulary = self.sentence.lows, self.vocabulary
        for i, low in enumerate(lows):
            if low != "to" or not 0 < i < self.sentence.n - 1:
                continue
            first = lows[i - 1]
            if vocabulary.superlatives.get(first, first) not in vocabulary.classes:
                continue
            after = [w for w in lows[i + 1 : i + 4] if w not in ("the", "most", "least")][:1]
            if not after or vocabulary.superlatives.get(after[0], after[0]) not in vocabulary.classes:
                continue
            sign = -1 if i > 1 and lows[i - 2] == "least" else 1
            way = vocabulary.points(vocabulary.superlatives.get(first, first), name) * sign
            if way:
                return Signal("order", i - 1, i + 2, first, way)
        return None

    # -------------------------------------------------------------------------------------------- columns

    def columns(self) -> None:
        """Columns of the query should be spoken of; columns spoken of should be in the query."""
        unsaid: list[Fact] = []
        for fact in self.reading.facts:
            if fact.kind not in ("column", "group") or not fact.name.words:
                continue
            said = self.mention(fact.name)
            if said.score < 0.5 and fact.also.words:
                said = self.mention(fact.also)
            if said.score >= 0.5:
                self.note("said", fact, "column", said.positions)
            else:
                unsaid.append(fact)
        others = self.other_columns()
        telling = [f for f in unsaid if not (f.role == "where" and f.name.words[-1] in self.guards["keys"])]
        if telling and others:
            self.note("contradicted", telling[0], "column_swapped", others[0][1])
            return
        untold = self.untold_column()
        if untold is not None:
            self.note(
                "missing",
                untold,
                f"{untold.kind}_untold_{untold.role}" if untold.kind == "column" else f"{untold.kind}_untold",
            )
        for fact in unsaid:
            if fact is not untold:
                self.note("unsaid", fact, "column")
        for name, positions in others:
            if self.attribute_like(name, positions):
                first, last = min(positions), max(positions) + 1
                self.added("column", "column_added", first, last if last - first < 5 else first + 1)
                return

    def untold_column(self) -> Fact | None:
        """A column that the sentence gives no hint of, where people would."""
        reading, sentence = self.reading, self.sentence
        selected = {f.name for f in reading.facts if f.kind == "column" and f.role == "select"}
        grouped = {f.name for f in reading.facts if f.kind == "group"}
        tables = [f.name for f in reading.facts if f.kind == "table"]
        for fact in reading.facts:
            name = fact.name
            if not name.words:
                continue
            if fact.kind == "column" and fact.role in ("select", "aggregate"):
                if (
                    name.words[-1] in self.guards["identity"]
                    and all(k in reading.entities or k in self.vocabulary.generic for k in name.stems)
                    and any(self.mention(t).score >= 0.5 for t in tables)
                ):
                    continue  # which song: its title
                if name in grouped and self.mention(name).literal > 0:
                    continue  # for each investor: its id
            elif fact.kind == "comparison":
                if fact.number is None or fact.role != "where" or fact.value is None:
                    continue
                if 1500 <= fact.number <= 2100 or fact.number in (0, 1) or "id" in name.words:
                    continue  # a year, a yes or no, store 1
            elif fact.kind == "order":
                if fact.aggregate == "count" or ("id" in name.words and fact.aggregate):
                    continue
            elif fact.kind == "group":
                if name in selected or not self.guards["keys"].isdisjoint(name.words):
                    continue
            else:
                continue
            if (
                max(
                    told(sentence, name, reading.entities),
                    told(sentence, fact.also, reading.entities) if fact.also.words else 0,
                )
                < 0.4
            ):
                return fact
        return None

    def other_columns(self) -> list[tuple[Name, list[int]]]:
        """Columns that the sentence names in full while the query does not use them."""
        reading, sentence = self.reading, self.sentence
        if not reading.other_names:
            return []
        if reading.other_index.keys().isdisjoint(sentence.by_stem):
            return []
        covered = {i for i, owner in enumerate(sentence.owner) if owner in ("value", "quote")}
        for name in reading.names:
            for word in name.words:
                covered.update(literal_positions(sentence, word))
        named: list[tuple[Name, list[int]]] = []
        candidates = reading.other_index
        for name in dict.fromkeys(n for key in sentence.by_stem if key in candidates for n in candidates[key]):
            positions: list[int] = []
            content = 0
            for key in name.stems:
                found = sentence.by_stem.get(key, ())
                if not found:
                    break
                fresh = [i for i in found if i not in covered]
                if key not in self.vocabulary.generic:
                    content += 1
                    if not fresh:
                        break
                positions.extend(fresh)
            else:
                if positions and (content or len(name.words) == 1):
                    named.append((name, positions))
        return named

    def attribute_like(self, name: Name, positions: list[int]) -> bool:
        """Whether the words speak of an attribute of things, not of the things themselves."""
        if all(key in self.vocabulary.generic for key in name.stems):
            return False
        sentence = self.sentence
        lows = sentence.lows
        head = max(positions)
        word = lows[head]
        if any(lows[i] in self.vocabulary.superlatives or lows[i] in self.vocabulary.operator_words for i in positions):
            return False
        if lemma(word) not in (lemma(w) for w in name.words):
            return False  # a verb made of the same stem
        before = lows[min(positions) - 1] if min(positions) else ""
        earlier = lows[min(positions) - 2] if min(positions) > 1 else ""
        if before in self.guards["counted"] or (before == "of" and earlier in ("number", "amount", "count")):
            return False
        after = lows[head + 1] if head + 1 < sentence.n else ""
        if word != lemma(word):  # plural
            return after in ("of", ",", "and") and before not in ("which", "what")
        return after not in ("that", "who", "which", "whose", "with")

    def entities(self) -> None:
        """Quotations and capitalised words must come from the query."""
        sentence = self.sentence
        literals = {f.value.strip().lower() for f in self.reading.facts if f.value is not None}
        for first, last in sentence.quotes:
            if any(sentence.owner[i] == "value" for i in range(first, last)):
                continue
            if all(sentence.tokens[i].stem in self.reading.vocabulary for i in range(first, last)):
                continue
            if " ".join(sentence.lows[first:last]) in literals:
                continue
            if any(
                i in self.used_numbers for i, n in enumerate(sentence.numbers) if n.first >= first and n.last <= last
            ):
                continue
            self.added("entity", "quotation_added", first, last)
        starts = True
        for i, token in enumerate(sentence.tokens):
            if token.kind == "sign":
                if token.text in ".?!:":
                    starts = True
                continue
            initial, starts = starts, False
            if token.kind != "word" or not token.text[0].isupper() or initial or sentence.owner[i]:
                continue
            if token.stem in self.reading.vocabulary or token.low in self.vocabulary.operator_words:
                continue
            if token.low in self.guards["capitalised"] or token.low in self.vocabulary.superlatives:
                continue
            self.added("entity", "capitalised_added", i, i + 1)

    def tables(self) -> None:
        """No table of the query is spoken of, another one is."""
        used = self.reading.of("table")
        if not used or not self.reading.other_tables:
            return
        sentence = self.sentence
        if any(f.kind == "column" and self.mention(f.name).score >= 0.5 for f in self.reading.facts):
            return
        for fact in used:
            if any(
                literal_positions(sentence, w) or synonym_positions(sentence, w)
                for w in fact.name.words + fact.also.words
            ):
                return
        covered = {i for name in self.reading.names for w in name.words for i in literal_positions(sentence, w)}
        for name in self.reading.other_tables:
            where = [
                [i for i in sentence.by_stem.get(k, ()) if i not in covered and not sentence.owner[i]]
                for k in name.stems
            ]
            if where and all(where):
                self.note("contradicted", used[0], "table_swapped", [w[0] for w in where])
                return

    def question_form(self) -> None:
        """A question that wants yes or no for a query that gives values."""
        lows = self.sentence.lows
        if self.reading.language == "sql" and lows and lows[0] in self.guards["auxiliaries"] and "or" not in lows:
            self.added("question", "yes_no_question", 0, 1)

    def misfits(self) -> None:
        for fact in self.reading.of("misfit"):
            self.note("contradicted", fact, "misfit")

    # ---------------------------------------------------------------------------------------- logic forms

    def quantifiers(self) -> None:
        facts = self.reading.of("quantifier")
        ops = {f.op for f in facts}
        for fact in facts:
            if fact.op == "only":
                signal = self.has("only")
                before = self.sentence.lows[max(0, signal.first - 2) : signal.first] if signal is not None else []
                if signal is not None and "not" in before:
                    self.note("contradicted", fact, "only_denied", range(signal.first, signal.last))
                elif signal is not None:
                    self.note("said", fact, "only", range(signal.first, signal.last))
                else:
                    self.note("missing", fact, "only_missing")
            elif fact.op == "most":
                signal = self.has("most_quantifier")
                if signal is not None:
                    self.note("said", fact, "most", range(signal.first, signal.last))
                else:
                    self.note("missing", fact, "most_missing")
            elif fact.op == "all":
                wrong = self.has("few_quantifier") or self.most_word()
                if wrong is not None:
                    self.note("contradicted", fact, "all_opposite", range(wrong.first, wrong.last))
                else:
                    self.note("said", fact, "all")
        if "only" not in ops and not facts:
            pass

    def most_word(self) -> Signal | None:
        for signal in self.kinds.get("most_quantifier", ()):
            if self.sentence.lows[signal.first] in ("most", "majority", "mostly"):
                return signal
        return None

    def logic_columns(self) -> None:
        self.form_conflicts()
        for fact in self.reading.facts:
            if not fact.name.words:
                continue
            if fact.kind == "column":
                said = self.mention(fact.name)
                self.note("said" if said.score >= 0.5 else "unsaid", fact, "column", said.positions)
            elif fact.kind == "aggregate" and fact.aggregate in ("avg", "sum"):
                if fact.name.stems[-1] in self.vocabulary.named:
                    self.note("contradicted", fact, "aggregate_wrong_sort")
                elif self.untold(fact.name):
                    self.note("missing", fact, "column_untold_logic")
            elif fact.kind == "order":
                kinds = self.vocabulary.kinds_of(fact.name)
                if not kinds & {"time", "sequence", "rank"} and self.untold(fact.name):
                    self.note("missing", fact, "column_untold_logic")
            elif fact.kind == "comparison" and fact.value is not None and fact.aggregate in ("", "max", "min"):
                self.value_sort(fact)

    def untold(self, name: Name) -> bool:
        return told(self.sentence, name, frozenset()) < 0.4

    def sort_of(self, name: Name) -> str:
        """What sort of values a column holds, as far as its last telling word says."""
        vocabulary = self.vocabulary
        for key in reversed(name.stems):
            if key in vocabulary.measured:
                return "measured"
            if key in vocabulary.named:
                return "named"
            if key in vocabulary.dated:
                return "dated"
        return ""

    def value_sort(self, fact: Fact) -> None:
        """A value of the wrong sort for its column, or standing beside the name of another one."""
        value = (fact.value or "").strip()
        low = value.lower().replace(" / ", "/")
        if not value or low in self.vocabulary.no or low in self.vocabulary.yes or not self.untold(fact.name):
            return
        digits = any(c.isdigit() for c in value)
        letters = sum(c.isalpha() for c in value)
        sort = self.sort_of(fact.name)
        words = len(value.split())
        if (
            (sort == "measured" and not digits and letters > 3 and words > 1)
            or (sort == "named" and as_number(value) is not None)
            or (sort == "dated" and not digits and letters > 3 and not _MONTHS.search(low))
        ):
            self.note("contradicted", fact, "value_wrong_sort")
        elif (
            as_number(value) is not None
            and not 1500 <= (fact.number or 0) <= 2100
            and not fact.direction
            and not fact.aggregate
        ):
            if not self.vocabulary.kinds_of(fact.name) & {"time", "rank", "sequence"}:
                self.note("missing", fact, "column_untold_logic")
        elif not fact.direction:
            noun = self.noun_beside(value)
            if noun >= 0:
                self.note("contradicted", fact, "value_of_other_column", [noun])

    def noun_beside(self, value: str) -> int:
        """A noun for another attribute right beside a value: mcg venue, decision was theodore; -1 when none."""
        found = find_value(self.sentence, value)
        if found.score < 0.45 or not found.positions:
            return -1
        sentence = self.sentence
        first, last = min(found.positions), max(found.positions) + 1
        if last - first > len(set(found.positions)) + 3:
            return -1
        candidates = [last]
        before = first - 1
        while before >= 0 and sentence.lows[before] in (
            "the",
            "of",
            "is",
            "was",
            "a",
            "an",
            "as",
            ":",
            "were",
            "are",
            "named",
            "by",
        ):
            before -= 1
        candidates.append(before)
        named = {s for name in self.reading.names for s in name.stems}
        for i in candidates:
            if 0 <= i < sentence.n and not sentence.owner[i]:
                key = sentence.tokens[i].stem
                if key in self.vocabulary.nouns and key not in named and not sentence.lows[i].endswith(("ed", "ing")):
                    return i
        return -1

    def form_conflicts(self) -> None:
        """A form that repeats a filter must repeat it alike."""
        for fact in self.reading.of("misfit"):
            self.note("contradicted", fact, "form_conflict")
        ops: dict[tuple[str, str], str] = {}
        for fact in self.reading.facts:
            if fact.kind == "comparison" and fact.role == "filter" and fact.value is not None:
                key = (fact.name.text, fact.value)
                if ops.setdefault(key, fact.op) != fact.op:
                    self.note("contradicted", fact, "form_conflict")
                    return


_MONTHS = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter)")


def rounds_to(number: float, said: float) -> bool:
    """Whether `said` is `number` in fewer digits: 24.6 as 25 or 24, 18,729 as 18,700."""
    if said == 0 or number == 0 or not abs(said) < 1e15:
        return False
    if said.is_integer():
        unit = 1.0
        while said % (unit * 10) == 0:
            unit *= 10
    else:
        unit = 10.0 ** -len(repr(said).partition(".")[2])
    if float(number).is_integer() and unit < 10:
        return False
    if not float(number).is_integer() and unit <= 10.0 ** -len(repr(float(number)).partition(".")[2]):
        return False
    if float(number).is_integer() and unit * 10 > abs(number):
        return False
    return abs(said - number) <= 0.5 * unit or 0 <= number - said < unit


def spans_of(sentence: Sentence, positions: Sequence[int]) -> list[Span]:
    """Characters of token positions, neighbours joined."""
    spans: list[Span] = []
    previous = -2
    for i in sorted(set(positions)):
        token = sentence.tokens[i]
        if i == previous + 1 and spans:
            spans[-1] = (spans[-1][0], token.end)
        else:
            spans.append((token.start, token.end))
        previous = i
    return spans


def range_of(number: Number) -> list[int]:
    return list(range(number.first, number.last))


def check(reading: Reading, sentence: Sentence) -> list[Finding]:
    """All findings of a query against a sentence."""
    return Check(reading, sentence).run()


__all__ = ["CONFIDENCE", "NO_NAME", "Check", "Finding", "check"]
