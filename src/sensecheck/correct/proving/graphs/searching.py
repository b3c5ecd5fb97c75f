"""The search over small graphs: draws, judges, and makes the first find as small as it goes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from sensecheck.inputs.guarding import OverBudgetError
from sensecheck.language.answers import Answer
from sensecheck.stores.outcomes import Outcome

from .comparing import Comparison, says_nothing
from .drawing import Draft, Drawer
from .lore import Lore, Triple
from .patterns import Asked

_PATIENCE = 60
_POOL = 12


@dataclass(slots=True)
class Found:
    triples: list[Triple]
    gold: Answer
    predicted: Answer
    difference: str
    marks: list[str] = field(default_factory=list)


class Trial(NamedTuple):
    gold: Answer
    predicted: Answer
    difference: str


class Search:
    """Searches for one pair of queries. `ask` runs a query (0 the gold, 1 the prediction) on some triples, `ties` says
    whether a LIMIT of either cuts through rows that tie there."""

    def __init__(
        self,
        lore: Lore,
        gold: Asked,
        prediction: Asked,
        ask: Callable[[Iterable[Triple]], tuple[Outcome, Outcome]],
        ties: Callable[[], bool],
        comparison: Comparison,
        seed: str,
    ) -> None:
        self.lore, self.ask, self.ties, self.comparison = lore, ask, ties, comparison
        self.chance = random.Random(int.from_bytes(blake2b(seed.encode(), digest_size=16).digest(), "big"))
        self.drawer = Drawer(lore, gold, prediction, self.chance)

    def run(self, budget: int) -> tuple[Found | None, int]:
        best: tuple[Draft, Trial, list[str]] | None = None
        pool: list[Draft] = []
        patience, tried = budget, 0
        for number in range(budget):
            if number >= patience:
                break
            tried = number + 1
            # Given triples first: a find among them needs no excuse.
            inventing = number >= budget // 3 and self.chance.random() < 0.7
            draft = self.drawer.witness(inventing=inventing)
            if pool and self.chance.random() < 0.3:
                draft = dict(self.chance.choice(pool))
            if number >= budget // 6 and self.chance.random() < 0.7:
                draft = self.drawer.varied(draft, self.chance.randint(1, 3))
            closed = self.drawer.closed(draft)
            if not closed:
                continue
            trial = self._trial(closed)
            if trial is None:
                if len(pool) < _POOL:
                    pool.append(closed)
                continue
            marks = self._marks(closed)
            if best is None or len(marks) < len(best[2]):
                best = (closed, trial, marks)
                patience = min(patience, number + _PATIENCE)
            if not marks:
                break
        return (None, tried) if best is None else (self._shrunk(*best), tried)

    def _trial(self, draft: Draft) -> Trial | None:
        gold, predicted = self.ask(draft)
        if not isinstance(gold, Answer) or not isinstance(predicted, Answer):
            return None
        try:
            same = self.comparison.same(gold, predicted)
        except OverBudgetError:
            return None  # too many look-alike columns to be compared: nothing is claimed
        if same:
            return None
        if (says_nothing(gold) and says_nothing(predicted)) or self.ties():
            return None
        wide = gold.rows and predicted.rows and len(gold.columns) != len(predicted.columns)
        return Trial(gold, predicted, "other columns" if wide else "different rows")

    def _shrunk(self, draft: Draft, trial: Trial, marks: list[str]) -> Found:
        going = True
        while going:
            going = False
            # What nodes of a kind always have goes with the node or not at all.
            subjects = [{one for one in draft if one.subject == node} for node in {one.subject: None for one in draft}]
            for part in [*subjects, *({triple} for triple in draft)]:
                less = {one: None for one in draft if one not in part}
                if len(less) == len(draft):
                    continue
                again = self._trial(less) if less and self.lore.is_sound(less) else None
                if again is not None and again.difference == trial.difference:
                    draft, trial, going = less, again, True
        return Found(sorted(draft, key=str), *trial, self._marks(draft))

    def _marks(self, draft: Draft) -> list[str]:
        """What a reader should know: the graph holds something that the data do not."""
        marks = []
        for triple in draft:
            name = triple.predicate.value
            if not self.lore.triples.get(name) and next(self.lore.matching(None, triple.predicate, None), None) is None:
                marks.append(f"predicate absent from the data: {name}")
            elif next(self.lore.matching(None, triple.predicate, triple.object), None) is None:
                marks.append(f"value absent from the data: {triple.object} of {name}")
        return sorted(set(marks))
