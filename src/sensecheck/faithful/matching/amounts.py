"""Counts, totals and averages."""

from __future__ import annotations

from sensecheck.faithful.matching.degrees import Degrees
from sensecheck.faithful.matching.sentence import Signal


class Amounts(Degrees):
    """Rules for aggregates."""

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
            if signal.first in self.sentence.by_low.get("count", ()) and self.names_column_before(signal.first):
                continue  # page count, follower count: a column of numbers
            if phrase in ("how many", "count", "total number"):
                if phrase == "how many" and self.numeric_select():
                    continue
                self.added("aggregate", "count_added", signal.first, signal.last)
                return
            next_word = self.sentence.lows[signal.last : signal.last + 1]
            if phrase in ("number",) and next_word == ["of"] and not self.numeric_select():
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
        if self.sentence.lows[1:2] == ["many"] and len(self.sentence.lows[0]) == 3:
            return Signal("count", 0, 2)  # hom many
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

    def names_column_before(self, position: int) -> bool:
        """Whether the word before is of a column that the query gives."""
        return any(
            fact.kind == "column" and fact.role == "select" and position - 1 in self.mention(fact.name).positions
            for fact in self.reading.facts
        )

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
