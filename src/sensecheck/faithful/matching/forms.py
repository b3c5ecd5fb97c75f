"""What only logic forms have: quantifiers, repeated parts, columns without a schema."""

from __future__ import annotations

import re

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.attributes import Attributes
from sensecheck.faithful.matching.names import share_told
from sensecheck.faithful.matching.sentence import Signal
from sensecheck.faithful.matching.values import find_value
from sensecheck.language.morphology import lemma
from sensecheck.language.numbers import as_number

_MONTHS = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter)")


class Forms(Attributes):
    """Rules for logic forms."""

    def quantifiers(self) -> None:
        for fact in self.reading.of("quantifier"):
            if fact.op == "only":
                signal = self.has("only")
                before = self.sentence.lows[max(0, signal.first - 2) : signal.first] if signal is not None else []
                if signal is not None and "not" in before:
                    self.note("contradicted", fact, "only_denied", range(signal.first, signal.last))
                elif signal is not None:
                    self.note("said", fact, "only", range(signal.first, signal.last))
                elif (one := self.lone_one()) >= 0:
                    self.note("said", fact, "only", [one])
                else:
                    self.note("missing", fact, "only_missing")
            elif fact.op == "most":
                signal = self.has("most_quantifier")
                if signal is not None:
                    self.note("said", fact, "most", range(signal.first, signal.last))
                else:
                    self.note("missing", fact, "most_missing")
            elif fact.op == "all":
                opposite = self.has_free("few_quantifier") or self.most_word()
                if opposite is not None:
                    self.note("contradicted", fact, "all_opposite", range(opposite.first, opposite.last))
                else:
                    self.note("said", fact, "all")

    def lone_one(self) -> int:
        """`there was one race that`, `one player was`: one thing, counted; -1 when none."""
        lows = self.sentence.lows
        for i in self.sentence.by_low.get("one", ()):
            start = i == 0 or lows[i - 1] == "," or (i > 1 and lows[i - 2] == "there")
            if start and lows[i + 1 : i + 2] != ["of"]:
                return i
        return -1

    def most_word(self) -> Signal | None:
        for signal in self.kinds.get("most_quantifier", ()):
            first = self.sentence.lows[signal.first]
            if first in ("most", "majority", "mostly", "more", "over", "almost", "nearly") and self.free(signal):
                return signal
        return None

    def logic_columns(self) -> None:
        self.form_conflicts()
        for fact in self.reading.facts:
            if not fact.name.words:
                continue
            if fact.kind == "column":
                mention = self.mention(fact.name)
                self.note("said" if mention.score >= 0.5 else "unsaid", fact, "column", mention.positions)
            elif fact.kind == "aggregate" and fact.aggregate in ("avg", "sum"):
                if fact.name.stems[-1] in self.vocabulary.named and fact.name.words[-1] == lemma(fact.name.words[-1]):
                    self.note("contradicted", fact, "aggregate_wrong_sort")
                elif self.untold(fact.name):
                    self.note("missing", fact, "column_untold_logic")
            elif fact.kind == "order":
                kinds = self.vocabulary.kinds_of(fact.name)
                if (
                    not kinds & {"time", "sequence", "rank"}
                    and self.untold(fact.name)
                    and not self.told_by_adjective(fact)
                ):
                    self.note("missing", fact, "column_untold_logic")
            elif fact.kind == "comparison" and fact.value is not None and fact.aggregate in ("", "max", "min"):
                self.value_sort(fact)

    def untold(self, name: Name) -> bool:
        return share_told(self.sentence, name, frozenset()) < 0.4

    def sort_of(self, name: Name) -> str:
        """What sort of values a column holds, as far as its last telling word says."""
        vocabulary = self.vocabulary
        if name.stems[-1] in vocabulary.measured and not self.guards["sites"].isdisjoint(name.words):
            return ""  # location attendance: two columns in one
        for word, key in zip(reversed(name.words), reversed(name.stems), strict=True):
            if key in vocabulary.measured:
                return "measured"
            if key in vocabulary.named:
                return "named" if word == lemma(word) else ""  # titles: how many
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
        match = find_value(self.sentence, value)
        if match.score < 0.45 or not match.positions:
            return -1
        sentence = self.sentence
        first, last = min(match.positions), max(match.positions) + 1
        if last - first > len(set(match.positions)) + 3:
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
            "named",
        ):
            before -= 1
        candidates.append(before)
        named_stems = {s for name in self.reading.names for s in name.stems}
        for i in candidates:
            if 0 <= i < sentence.n and not sentence.owner[i]:
                key = sentence.tokens[i].stem
                low = sentence.lows[i]
                # A singular: kanto ranks first is no rank.
                if key in self.vocabulary.nouns and key not in named_stems and low == lemma(low):
                    if low.endswith(("ed", "ing")):
                        continue
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
