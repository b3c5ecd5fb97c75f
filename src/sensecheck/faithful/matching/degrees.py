"""More and less, most and least, up and down: comparisons, differences, superlatives, orders."""

from __future__ import annotations

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.denials import Denials
from sensecheck.faithful.matching.literals import INCLUSIVE, SIGNAL_DIRECTION
from sensecheck.faithful.matching.sentence import Signal
from sensecheck.faithful.matching.spelling import near
from sensecheck.faithful.matching.values import find_value


class Degrees(Denials):
    """Rules for comparatives, superlatives and orders."""

    def way(self, signal: Signal, name: Name) -> int:
        """1 towards more, -1 towards less, 0 either."""
        if signal.kind in SIGNAL_DIRECTION:
            if not self.sql and signal.kind not in ("after", "before") and "rank" in self.vocabulary.kinds_of(name):
                return 0  # at least third: third or a smaller number
            return SIGNAL_DIRECTION[signal.kind]
        if not self.sql and not self.guards["ranks"].isdisjoint(self.sentence.lows[signal.last : signal.last + 2]):
            return 0  # a higher position on the chart
        return self.vocabulary.points(signal.word, name) * signal.sign

    def comparators(self) -> list[Signal]:
        kinds = self.kinds
        signals = [
            s
            for k in ("greater", "less", "at_least", "at_most", "after", "before", "multiple", "comparative")
            for s in kinds.get(k, ())
        ]
        return self.best_known([s for s in signals if self.free(s)])

    def best_known(self, signals: list[Signal]) -> list[Signal]:
        """Words that no list knows count only where they stand alone: steeper than, not more silver than."""
        classes = self.vocabulary.classes
        known = [s for s in signals if not s.word or s.word in classes]
        return known or signals

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
            difference = next(
                (f for f in self.reading.facts if f.kind == "comparison" and f.aggregate == "diff" and f.number), None
            )
            if difference is None or not difference.number or "-" in (difference.value or "")[1:]:
                continue
            direction = (1 if difference.number > 0 else -1) * (-1 if self.told_the_other_way(fact) else 1)
            ways = {self.way(s, fact.name) for s in self.comparators()}
            if ways == {-direction}:
                signal = self.comparators()[0]
                self.note("contradicted", fact, "difference_opposite", range(signal.first, signal.last))

    def comparisons(self) -> None:
        facts = [f for f in self.reading.facts if f.kind == "comparison" and f.direction]
        signals = self.comparators()
        between = self.has("between")
        turned_round = {id(f): self.told_the_other_way(f) for f in facts if f.pair is not None}
        for fact in facts:
            number = self.number_of.get(id(fact))
            governing = self.comparator_near(number) if number is not None else None
            if governing is not None and self.way(governing, fact.name):
                way = self.way(governing, fact.name)
                if way == fact.direction:
                    assert number is not None
                    inclusive = governing.kind in INCLUSIVE
                    if (
                        self.sql
                        and number.value == fact.number
                        and inclusive != (fact.op in (">=", "<="))
                        and governing.kind not in ("multiple", "after", "before")
                    ):
                        self.note("contradicted", fact, "comparison_inclusive", range(governing.first, governing.last))
                        continue
                    self.note("said", fact, "comparison", range(governing.first, governing.last))
                    continue
                others = [f for f in facts if f is not fact and f.number == fact.number and f.direction == way]
                if way == -fact.direction and not others and not self.negated_comparison(governing):
                    self.note("contradicted", fact, "comparison_opposite", range(governing.first, governing.last))
                    continue
            if between is not None:
                self.note("said", fact, "comparison", range(between.first, between.last))
                continue
            direction = -fact.direction if turned_round.get(id(fact)) else fact.direction
            agreeing = [s for s in signals if self.way(s, fact.name) in (direction, 0)]
            if agreeing:
                nearest = agreeing[0]
                self.note("said", fact, "comparison", range(nearest.first, nearest.last))
                continue
            opposing = [s for s in signals if self.way(s, fact.name) == -direction]
            if opposing and not any(f.direction == -direction for f in facts if f is not fact):
                if self.negated_comparison(opposing[0]):
                    continue
                self.note("contradicted", fact, "comparison_opposite", range(opposing[0].first, opposing[0].last))
            elif self.unsaid_comparison(fact):
                self.note("unsaid", fact, "comparison")
            else:
                self.note("missing", fact, "comparison_missing" if self.sql else "comparison_missing_logic")
        self.added_comparisons(facts, signals)

    def negated_comparison(self, signal: Signal) -> bool:
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
        by_low = self.sentence.by_low
        if "from" in by_low and "to" in by_low and fact.role != "values":
            return True
        return any(w in by_low for w in ("positive", "negative", "older", "than"))

    def added_comparisons(self, facts: list[Fact], signals: list[Signal]) -> None:
        """Comparison words that govern a number or an average while the query compares nothing."""
        if facts:
            return
        if any(f.op == "between" or f.aggregate == "diff" for f in self.reading.facts):
            return
        ordered = any(f.kind == "order" for f in self.reading.facts)
        for signal in signals:
            next_words = self.sentence.lows[signal.last : signal.last + 6]
            if next_words[:1] == ["-"]:
                continue  # under-21
            if (
                "than" in next_words
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
            next_words = self.sentence.lows[signal.last : signal.last + 3]
            if signal.kind in ("greater", "less", "at_least", "at_most") and (governed or "average" in next_words):
                self.added("comparison", "comparison_added", signal.first, signal.last)
                return
            if signal.kind in ("after", "before") and governed:
                self.added("comparison", "comparison_added_time", signal.first, signal.last)
                return
            if signal.kind == "comparative" and "than" in next_words:
                self.added("comparison", "comparison_added", signal.first, signal.last)
                return

    def extremes(self) -> None:
        """Superlatives against MAX, MIN and cut orders."""
        facts = [
            f
            for f in self.reading.facts
            if (f.kind == "aggregate" and f.aggregate in ("max", "min")) or (f.kind == "order" and f.limited)
        ]
        signals = self.best_known(list(self.kinds.get("superlative", ())))
        used_signals: set[Signal] = set()
        for fact in facts:
            name = fact.name
            agreeing = [s for s in signals if self.way(s, name) == fact.direction]
            if agreeing:
                used_signals.update(agreeing)
                self.note("said", fact, "extreme", range(agreeing[0].first, agreeing[0].last))
                continue
            undecided = [s for s in signals if self.way(s, name) == 0]
            if undecided:
                used_signals.update(undecided)
                self.note("said", fact, "extreme", range(undecided[0].first, undecided[0].last))
                continue
            opposing = [s for s in signals if self.way(s, name) == -fact.direction]
            if opposing and not any(f.direction == -fact.direction for f in facts if f is not fact):
                used_signals.update(opposing)
                self.note("contradicted", fact, "extreme_opposite", range(opposing[0].first, opposing[0].last))
                continue
            if opposing and not self.misspelt_extreme(fact):
                self.note("missing", fact, "extreme_missing")
                continue
            if self.unsaid_extreme(fact):
                self.note("unsaid", fact, "extreme")
            else:
                self.note("missing", fact, "extreme_missing")
        self.added_extremes(facts, signals, used_signals)

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
        if self.misspelt_extreme(fact):
            return True
        comparatives = self.best_known(kinds.get("comparative", []))
        if any(self.way(s, fact.name) in (fact.direction, 0) for s in comparatives):
            return True
        if "other" in self.sentence.by_low or "all" in self.sentence.by_low:  # noqa: SIM102 (one question after the other)
            if any(self.way(s, fact.name) in (fact.direction, 0) for s in self.comparators()):
                return True  # before all other units
        if fact.direction > 0 and ("most_quantifier" in kinds and "most" in self.sentence.by_low):
            return True
        return "limit" in self.sentence.by_low

    def misspelt_extreme(self, fact: Fact) -> bool:
        for low in self.sentence.lows:
            if len(low) >= 6 and low not in self.vocabulary.superlatives:
                for word, base in self.vocabulary.long_superlatives.get(low[0], ()):
                    if (
                        -3 < len(low) - len(word) < 3
                        and near(low, word)
                        and self.vocabulary.points(base, fact.name) == fact.direction
                    ):
                        return True
        return False

    def added_extremes(self, facts: list[Fact], signals: list[Signal], used_signals: set[Signal]) -> None:
        orders = [f for f in self.reading.facts if f.kind == "order"]
        names = [f.name for f in facts]
        for signal in signals:
            if signal in used_signals or not self.free(signal):
                continue
            if signal.word and signal.word not in self.vocabulary.classes:
                continue  # looks like a superlative, and no list knows it
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

    def ordering(self) -> None:
        orders = [f for f in self.reading.facts if f.kind == "order" and not f.limited]
        ascending, descending = self.has("ascending"), self.has("descending")
        if ascending is None and descending is None:
            ascending = self.has("alphabetical")
        if len(orders) > 1 and ascending is not None and descending is not None:
            ups, downs = len(self.kinds["ascending"]) if "ascending" in self.kinds else 1, len(self.kinds["descending"])
            descending_orders = sum(f.direction > 0 for f in orders)
            if ups + downs == len(orders) and downs != descending_orders:
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
            direction_signal = self.from_to(orders[0].name) or self.first_comes(orders[0].name)
            if direction_signal is not None:
                ascending, descending = (
                    (direction_signal, None) if direction_signal.sign < 0 else (None, direction_signal)
                )
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

    def first_comes(self, name: Name) -> Signal | None:
        """`highest first`, `the most popular plan first`: which way a list runs."""
        lows = self.sentence.lows
        for signal in self.kinds.get("superlative", ()):
            way = self.way(signal, name)
            if way and signal.word != "first" and "first" in lows[signal.last : signal.last + 3]:
                return Signal("order", signal.first, signal.last, signal.word, way)
        return None

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
