"""The steps that can be taken on their own: making statements, and asking the model about the pairs alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from sensecheck.models import classifiers, generators
from sensecheck.models.calls import CallCache
from sensecheck.models.classifiers import Classifier
from sensecheck.models.cost import cost_told, costs
from sensecheck.models.faults_told import faults_told
from sensecheck.models.generators import Generator, Request
from sensecheck.robust.by_rule import maker_of_all, makers
from sensecheck.robust.measure import wilson
from sensecheck.robust.pipeline import Pair
from sensecheck.robust.statements import distinct, standardise

Progress = Callable[[int], None]


def generate(
    hypotheses: Sequence[str], size: int, generator: Generator, cache: str | Path | None, progress: Progress
) -> pl.DataFrame:
    """Up to `size` distinct statements of each polarity for every hypothesis; `progress` is told calls."""
    requests = [Request(h, follows, 2 * size) for h in hypotheses for follows in (True, False)]
    with CallCache(cache) as calls, faults_told(calls, ""):
        answers = generators.Asked(generator, calls).statements(requests, progress)
    rows = [
        {
            "hypothesis": r.text,
            "polarity": "positive" if r.positive else "negative",
            "statement": text,
            "rule": made_by.get(text, otherwise),
        }
        for r, texts in zip(requests, answers, strict=True)
        for made_by, otherwise in [(makers(generator, r), maker_of_all(generator, r))]
        for text in distinct(texts or [], r.text)[:size]
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("hypothesis", "polarity", "statement", "rule"), pl.String))


@dataclass(frozen=True)
class Accuracy:
    """How often the model gives a pair the label that people gave it."""

    right: int
    answered: int
    unanswered: int
    unread: Mapping[str, int] = field(default_factory=dict)
    """answers that held no label, by why; they are among the unanswered"""
    cost: tuple[str, ...] = ()
    """what the calls cost, in words"""

    @property
    def value(self) -> float:
        return self.right / self.answered if self.answered else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.right, self.answered)


def accuracy(pairs: Sequence[Pair], model: Classifier, cache: str | Path | None, progress: Progress) -> Accuracy:
    """Of pairs with a gold label; `progress` is told pairs."""
    with CallCache(cache) as calls, faults_told(calls, ""):
        texts = [(standardise(pair.premise), standardise(pair.hypothesis)) for pair in pairs]
        asked = classifiers.Asked(model, calls)
        answers = asked.answers(texts, progress)
        cost = tuple(cost_told(costs(model=asked)))
    answered = [(pair, answer) for pair, answer in zip(pairs, answers, strict=True) if answer.label is not None]
    right = sum(pair.is_right(answer.label) for pair, answer in answered)
    unread = Counter(answer.unread.value for answer in answers if answer.unread is not None)
    return Accuracy(right, len(answered), len(pairs) - len(answered), dict(unread), cost)
