"""`--as breaknli` and `--as breaknli-april`: the original's figures as a result, taken from `original` and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import polars as pl

from sensecheck.models import classifiers, generators
from sensecheck.models.cost import Cost, cost_told, costs
from sensecheck.models.generators import Request, StoredStatements
from sensecheck.models.reading_answers import Reading
from sensecheck.models.said import Said, Unreadable
from sensecheck.report.asking import Asked
from sensecheck.report.result import Result
from sensecheck.robust import original
from sensecheck.robust.instrument import ModelInstrument
from sensecheck.robust.label_names import GivenNames
from sensecheck.robust.pipeline import Pair, Pipeline, Plan
from sensecheck.robust.systems import Asking, Systems
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure
from sensecheck.statistics.measurements import concatenated

NO_INTERVAL = "parity with the original: it gives no interval"
NO_PAIR = "the original raises ZeroDivisionError: no pair was selected"


class _OriginalsRule:
    """The original's rule: yes, no, and neutral for all else."""

    name = "flan_answer"

    def __call__(self, said: Said) -> Reading:
        if not said.text and said.finish:  # a server's answer without text, of which the original knows nothing
            return Reading(None, Unreadable.EMPTY)
        return Reading(original.flan_answer(said.text))


ASKING = Asking(original.NLI_PROMPT, _OriginalsRule())
VERSIONS: dict[str, original.Version] = {"breaknli": "2023-06", "breaknli-april": "2023-04"}

_Schema = dict[str, pl.DataType | type[pl.DataType]]
_ROWS: _Schema = {
    "id": pl.String, "cluster": pl.String, "scored": pl.Boolean, "reason": pl.String, "polarity": pl.String,
    "label": pl.String, "inequal": pl.Boolean, "strict": pl.Boolean,
}  # fmt: skip
_TEXTS: _Schema = {
    "id": pl.String, "premise": pl.String, "hypothesis": pl.String, "predicted": pl.Int8,
    "statement": pl.List(pl.String), "said": pl.List(pl.Int8),
}  # fmt: skip


class BreakNLI(ModelInstrument):
    """The original's tables for each polarity. A pair without gold keeps the label -1, which no model predicts."""

    anew = True  # one batch of all pairs, from calls that are kept: a call that had failed is made again

    def __init__(
        self, data: Any, asked: Asked, systems: Systems, choices: Plan, name: str, label_names: GivenNames = None
    ) -> None:
        super().__init__(data, asked, systems, choices, label_names)
        self.original = name
        self.funnel: list[dict[str, Any]] = []
        self._cost: Cost = {}

    def method(self) -> Method:
        return {"polarity": self.choices.polarity, **self.systems.of_generator(), "seed": self.choices.seed}

    def batches(self, done: int) -> Iterator[Batch]:
        """One batch of all pairs: the original draws its statements from one stream of random numbers."""
        pairs = list(self.pairs)
        self.notes += self.pairs.label_notes()
        with self.answers() as (model, generator):
            judged = self._judged(pairs, model, generator)
            self._cost = costs(model=model, generator=generator)
        self.funnel = [
            {
                "polarity": polarity, "pairs": len(pairs), "correct": evaluated["correct"],
                "judged": len(evaluated["pairs"]),
            }
            for polarity, evaluated in judged.items()
        ]  # fmt: skip
        ids = [pair.id for pair in pairs]
        yield Batch(
            pl.concat([_rows(polarity, evaluated, ids) for polarity, evaluated in judged.items()]),
            pl.concat([_texts(polarity, evaluated, ids) for polarity, evaluated in judged.items()]),
        )

    def _judged(
        self, pairs: Sequence[Pair], model: classifiers.Asked, generator: generators.Asked
    ) -> dict[str, dict[str, Any]]:
        """What the original makes of the pairs, by polarity."""
        premises = list(original.standardise([pair.premise for pair in pairs]))
        hypotheses = list(original.standardise([pair.hypothesis for pair in pairs]))
        gold = [-1 if pair.gold is None else pair.gold for pair in pairs]
        statements = _stored(generator, hypotheses) or _drawn(generator, hypotheses, self.choices.seed)
        self.notes.append(statements.note)
        if -1 in gold:
            without = gold.count(-1)
            self.notes.append(f"{without:,} pairs without gold: the original keeps them, and no model ever answers -1")
        predict = _predictor(model)
        sample = _sampler(generator, self.choices.seed) if Pipeline.resamples(generator.model) else None
        return {
            polarity: original.evaluate(
                premises,
                hypotheses,
                gold,
                statements.positive if polarity == "positive" else statements.negative,
                predict,
                polarity == "positive",
                version=VERSIONS[self.original],
                sample=sample,
            )
            for polarity in self.choices.polarities
        }

    def estimates(self, result: Result) -> Estimates:
        everything = concatenated(result.rows)
        return Estimates([
            figure
            for polarity in self.choices.polarities
            for figure in _figures(everything.filter(pl.col("polarity") == polarity), polarity)
        ])  # fmt: skip

    def finish(self, result: Result) -> None:
        result.extra = {"original_funnel": self.funnel, **({"cost": self._cost} if self._cost else {})}
        result.notes += cost_told(self._cost)


# ---- asking --------------------------------------------------------------------------------------


def _predictor(model: classifiers.Asked) -> Callable[[Sequence[str], Sequence[str]], list[int]]:
    """The model's labels of pairs, as the original reads them; -2 where it gives none."""
    order = getattr(model.model, "order", None)

    def predict(premises: Sequence[str], hypotheses: Sequence[str]) -> list[int]:
        answers = model.labels(list(zip(premises, hypotheses, strict=True)))
        labels = [-2 if label is None else label for label in answers]
        if order is not None and len(order) == 3:
            # The original turns its table of labels the wrong way round: the same, but for two of the six orders.
            labels = [order.index(order.index(label)) if label >= 0 else label for label in labels]
        return labels

    return predict


def _sampler(generator: generators.Asked, seed: int) -> Callable[[str, str], str]:
    """One more statement at each call, every call with a seed of its own."""
    seeds = count(seed + 1)

    def sample(prompt: str, hypothesis: str) -> str:
        request = Request(hypothesis, prompt == original.POSITIVE_PROMPT, 1, "sample", next(seeds))
        return (generator.statements([request])[0] or [""])[0]

    return sample


@dataclass(frozen=True)
class Statements:
    """Ten statements of each polarity for every hypothesis."""

    negative: Any
    positive: Any
    note: str
    """Where they come from."""


def _stored(generator: generators.Asked, hypotheses: Sequence[str]) -> Statements | None:
    """The original draws ten statements once, keeps them in a file and evaluates from that. A file that holds ten of
    each polarity for every hypothesis is such a file: nothing is drawn again, and every statement keeps its slot.
    """
    if not isinstance(generator.model, StoredStatements) or not hypotheses:
        return None
    by_polarity = []
    for follows in (False, True):
        answers = generator.statements([Request(h, follows, original.STATEMENTS_DRAWN + 1) for h in hypotheses])
        if any(texts is None or len(texts) != original.STATEMENTS_DRAWN for texts in answers):
            return None
        by_polarity.append(np.array(answers))
    note = "ten statements of each polarity came with every hypothesis and were used as they are, without drawing"
    return Statements(by_polarity[0], by_polarity[1], note)


def _drawn(generator: generators.Asked, hypotheses: Sequence[str], seed: int) -> Statements:
    """Asked for all at once, so that an endpoint gets as many calls at a time as it may; drawn from in the original's
    order.
    """

    def request(hypothesis: str, positive: bool, stricter: bool) -> Request:
        return Request(hypothesis, positive, original.CANDIDATES_PER_CALL, "diverse" if stricter else "beam")

    both = (False, True)
    requests = [request(h, follows, stricter) for h in hypotheses for follows in both for stricter in both]
    answers = dict(zip(requests, generator.statements(requests), strict=True))

    def generate(prompt: str, hypothesis: str, n: int, stricter: bool) -> list[str]:
        return (answers[request(hypothesis, prompt == original.POSITIVE_PROMPT, stricter)] or [])[:n]

    negative, positive, repeated = original.draw_statements(hypotheses, generate, np.random.default_rng(seed))
    return Statements(
        negative,
        positive,
        f"{len(repeated):,} rows of statements were placeholders (fewer than ten differed); the original scores them "
        "too",
    )


# ---- measurements and figures --------------------------------------------------------------------


def _rows(polarity: str, evaluated: dict[str, Any], ids: Sequence[str]) -> pl.DataFrame:
    judged = [ids[i] for i in evaluated["pairs"]]
    marks = [
        original.pair_marks(label, said, polarity == "positive")
        for label, said in zip(evaluated["labels"], evaluated["pred_labels"], strict=True)
    ]
    return pl.DataFrame(
        {
            "id": [f"{id}/{polarity}" for id in judged],
            "cluster": judged,
            "scored": [True] * len(judged),
            "reason": [None] * len(judged),
            "polarity": [polarity] * len(judged),
            "label": [original.PRINTED_NAMES[label].lower() for label in evaluated["labels"]],
            "inequal": [inequal for inequal, _ in marks],
            "strict": [relaxed for _, relaxed in marks],
        },
        schema=_ROWS,
    )


def _texts(polarity: str, evaluated: dict[str, Any], ids: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"{ids[i]}/{polarity}" for i in evaluated["pairs"]],
            "premise": evaluated["premises"],
            "hypothesis": evaluated["hypotheses"],
            "predicted": evaluated["labels"],
            "statement": evaluated["g_hypotheses"],
            "said": evaluated["pred_labels"],
        },
        schema=_TEXTS,
    )


def _figures(rows: pl.DataFrame, polarity: str) -> list[Figure]:
    """The rates of each class that occurs, and of all."""
    classes = [(name, rows.filter(pl.col("label") == name.lower())) for name in original.PRINTED_NAMES]
    groups = [*((name, part) for name, part in classes if len(part)), ("Overall", rows)]
    return [
        _rate(f"{kind}_{polarity}_{name.lower()}", f"{words}: {name}, {polarity} (%)", part[column])
        for name, part in groups
        for kind, words, column in (
            ("inequal", "Inequal", "inequal"),
            ("relaxed_inequal", "Relaxed inequal", "strict"),
        )
    ]


def _rate(name: str, title: str, marks: pl.Series) -> Figure:
    n = len(marks)
    if n == 0:
        return Figure(name, title, float("nan"), 0, unscored={NO_PAIR: 0}, absent=NO_PAIR, direction="lower")
    value = round(100 * int(marks.sum()) / n, 2)
    return Figure(name, title, value, n, absent=NO_INTERVAL, direction="lower", range=(0.0, 100.0))
