"""Negation, both ways: not, never, without, except against !=, NOT IN, EXCEPT."""

from __future__ import annotations

from itertools import pairwise

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.literals import Literals
from sensecheck.faithful.matching.sentence import Signal
from sensecheck.language.morphology import lemma


class Denials(Literals):
    """Rules for negation."""

    def negations(self) -> None:
        facts = self.reading.of("negation")
        cues = [s for s in self.kinds.get("negation", ()) if self.sentence.owner[s.first] not in ("value", "quote")]
        soft_cues = self.kinds.get("negation_soft", [])
        asserted_values = {f.value for f in self.reading.facts if f.kind == "comparison" and f.op == "="}
        required = [f for f in facts if not f.optional and not (f.value is not None and f.value in asserted_values)]
        said_values = {f.value for f in self.reading.facts if self.sql and id(f) in self.literally}
        required = [
            f
            for f in required
            if f.value is None
            or f.value in said_values
            or f.value.strip().lower().replace(" / ", "/") not in self.vocabulary.no
        ]
        for fact in required:
            if cues or soft_cues:
                first_cue = (cues or soft_cues)[0]
                self.note("said", fact, "negation", range(first_cue.first, first_cue.last))
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
        self.negation_counts(required, cues)
        if not self.sql and not cues and not soft_cues and not facts:
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
            if self.idle_negation(cue) or self.failure(cue):
                continue
            self.added("negation", "negation_added", cue.first, cue.last)
            return

    def negation_counts(self, facts: list[Fact], cues: list[Signal]) -> None:
        """Two denials are not one."""
        if not self.sql or not facts or not cues:
            return
        lows = self.sentence.lows
        said_count = sum(1 for cue in cues if lows[cue.first] != "nor" and not self.idle_negation(cue))
        asked_count = len({(f.op, f.value) if f.op != "!=" else ("!=", "") for f in facts})
        value_count = len({f.value for f in facts if f.op == "!="})
        if asked_count >= 2 and said_count == 1 and "nor" not in lows:
            self.note("missing", facts[-1], "negation_count", range(cues[0].first, cues[0].last))
        elif asked_count == 1 and said_count > max(1, value_count) and all(f.kind == "negation" for f in facts):  # noqa: SIM102 (one question after the other)
            if any(b.first - a.last <= 1 for a, b in pairwise(cues)):
                self.added("negation", "negation_doubled", cues[-1].first, cues[-1].last)

    def denied_by_value(self) -> bool:
        for fact in self.reading.facts:
            if fact.kind != "comparison" or fact.value is None:
                continue
            low = fact.value.strip().lower().replace(" / ", "/")
            if low in self.vocabulary.no and not (self.sql and id(fact) in self.literally):
                return True
            if not low or self.denied_opposite(low) or fact.number == 0 or (fact.op == "<" and fact.number == 1):
                return True
            if low.startswith(("no ", "not ", "non", "never", "did not")) or " not " in low or "without" in low:
                return True
        return False

    def failure(self, cue: Signal) -> bool:
        """`did not make`, `never won` for a stored missed cut, loss or retired."""
        ahead = self.sentence.lows[cue.last : cue.last + 3]
        if not any(lemma(low) in self.guards["successes"] for low in ahead):
            return False
        return any(
            not self.guards["failures"].isdisjoint((*fact.value.lower().split(), *fact.name.words))
            for fact in self.reading.facts
            if fact.kind == "comparison" and fact.op == "=" and fact.value is not None
        )

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
        if low == "not" and after in ("all", "every") and any(f.op == "most" for f in self.reading.of("quantifier")):
            return True
        if low == "no" and after in (".", "1", "2", "3"):
            return True
        if low in ("rather", "instead") and not self.sql:
            return True
        return low == "don" or (low in ("zero",))
