"""And, or, both: conditions and set operations."""

from __future__ import annotations

from sensecheck.faithful.matching.amounts import Amounts
from sensecheck.faithful.matching.sentence import Signal


class Connectives(Amounts):
    """Rules for what joins conditions."""

    def connectives(self) -> None:
        facts = self.reading.facts
        or_facts = [f for f in facts if f.kind == "connective" and f.op == "or"]
        setops = {f.op for f in facts if f.kind == "setop"}
        or_signal = self.has("or")
        for fact in or_facts:
            if or_signal is None and not fact.optional and self.listed_values():
                self.note("unsaid", fact, "or")
            elif fact.optional or or_signal is not None:
                positions = range(or_signal.first, or_signal.last) if or_signal is not None else ()
                self.note("said" if or_signal is not None else "unsaid", fact, "or", positions)
            elif self.has("both"):
                self.note("contradicted", fact, "or_unsaid")
            else:
                self.note("missing", fact, "or_unsaid")
        if or_signal is not None and not or_facts and "union" not in setops and self.sql:  # noqa: SIM102 (one question after the other)
            if not self.harmless_or(or_signal):
                self.added("connective", "or_added", or_signal.first, or_signal.last)
        if "union" in setops and self.has("both") is not None and or_signal is None:
            both_signal = self.has("both")
            if both_signal is not None and self.sentence.lows[both_signal.first] == "both":
                fact = next(f for f in facts if f.kind == "setop")
                self.note("contradicted", fact, "union_both", range(both_signal.first, both_signal.last))

        if "union" in setops and or_signal is None and self.has("both") is None:
            lows = self.sentence.lows
            relative_pronoun = next((i for i, w in enumerate(lows) if w in ("who", "that", "which", "whose")), -1)
            if relative_pronoun >= 0 and "and" in lows[relative_pronoun:]:
                fact = next(f for f in facts if f.kind == "setop" and f.op == "union")
                self.note("contradicted", fact, "union_and")

    def listed_values(self) -> bool:
        """`cashiers and gardeners`: two values of one column, which no row has at once; `both` asks for that."""
        facts = [f for f in self.reading.facts if f.kind == "comparison" and f.role == "where"]
        return (
            len(facts) > 1
            and len({f.name for f in facts}) == 1
            and all(f.op == "=" and id(f) in self.literally for f in facts)
            and "and" in self.sentence.by_low
            and self.has("both") is None
        )

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
