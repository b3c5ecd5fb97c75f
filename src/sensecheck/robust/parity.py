"""`--as breaknli` and `--as breaknli-april`: the original's figures as a result, taken from `original` and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from sensecheck.models import classifiers, generators
from sensecheck.models.generators import Request, StoredStatements
from sensecheck.report.result import Result
from sensecheck.robust import original
from sensecheck.robust.pipeline import Pair
from sensecheck.robust.systems import Asking
from sensecheck.runs.signature import Signature
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.measurements import Frames

NO_INTERVAL = "parity with the original: it gives no interval"
ASKING = Asking(original.NLI_PROMPT, original.flan_answer)
VERSIONS: dict[str, original.Version] = {"breaknli": "2023-06", "breaknli-april": "2023-04"}


def evaluate_as_original(
    question: Any,
    pairs: Sequence[Pair],
    model: classifiers.Asked,
    generator: generators.Asked,
    *,
    name: str,
    polarities: Sequence[str],
    seed: int,
    system: dict[str, str],
    generator_method: dict[str, str],
    inputs: list[dict[str, Any]],
) -> Result:
    """The original's tables for each polarity. A pair without gold keeps the label -1, which no model predicts."""
    version = VERSIONS[name]
    premises = list(original.standardise([pair.premise for pair in pairs]))
    hypotheses = list(original.standardise([pair.hypothesis for pair in pairs]))
    gold = [-1 if pair.gold is None else pair.gold for pair in pairs]
    order = getattr(model.model, "order", None)

    def predict(a: Sequence[str], b: Sequence[str]) -> list[int]:
        labels = [-2 if label is None else label for label in model.labels(list(zip(a, b, strict=True)))]
        if order is not None and len(order) == 3:
            # The original turns its table of labels the wrong way round: the same, but for two of the six orders.
            labels = [order.index(order.index(label)) if label >= 0 else label for label in labels]
        return labels

    def request(hypothesis: str, positive: bool, stricter: bool) -> Request:
        return Request(hypothesis, positive, original.CANDIDATES_PER_CALL, "diverse" if stricter else "beam")

    def generate(prompt: str, hypothesis: str, n: int, stricter: bool) -> list[str]:
        return (made[request(hypothesis, prompt == original.POSITIVE_PROMPT, stricter)] or [])[:n]

    stored = _stored(generator, hypotheses)
    if stored is not None:
        negative, positive = stored
        repeated: list[int] = []
    else:
        # All at once, so that an endpoint gets as many calls at a time as it may; drawn from in the original's order.
        both = (False, True)
        wanted_ones = [request(h, follows, stricter) for h in hypotheses for follows in both for stricter in both]
        made = dict(zip(wanted_ones, generator.statements(wanted_ones), strict=True))
        negative, positive, repeated = original.draw_statements(hypotheses, generate, np.random.default_rng(seed))
    calls = 0

    def sample(prompt: str, hypothesis: str) -> str:
        nonlocal calls
        calls += 1
        request = Request(hypothesis, prompt == original.POSITIVE_PROMPT, 1, "sample", seed + calls)
        return (generator.statements([request])[0] or [""])[0]

    figures: list[Figure] = []
    frames: list[pl.DataFrame] = []
    texts: list[pl.DataFrame] = []
    funnel = []
    samples = bool(getattr(generator.model, "decodes", False) or getattr(generator.model, "samples", False))
    for polarity in polarities:
        wanted = polarity == "positive"
        found = original.evaluate(
            premises,
            hypotheses,
            gold,
            positive if wanted else negative,
            predict,
            wanted,
            version=version,
            sample=sample if samples else None,
        )
        figures += _figures(found, wanted, polarity)
        funnel.append(
            {"polarity": polarity, "pairs": len(pairs), "correct": found["correct"], "judged": len(found["pairs"])}
        )
        names = [f"{pairs[i].id}/{polarity}" for i in found["pairs"]]
        marked = [
            original.pair_marks(y, row, wanted) for y, row in zip(found["labels"], found["pred_labels"], strict=True)
        ]
        frames.append(
            pl.DataFrame(
                {
                    "id": names,
                    "cluster": [pairs[i].id for i in found["pairs"]],
                    "scored": [True] * len(names),
                    "reason": [None] * len(names),
                    "polarity": [polarity] * len(names),
                    "label": [original.PRINTED_NAMES[y].lower() for y in found["labels"]],
                    "inequal": [m[0] for m in marked],
                    "strict": [m[1] for m in marked],
                },
                schema={
                    "id": pl.String,
                    "cluster": pl.String,
                    "scored": pl.Boolean,
                    "reason": pl.String,
                    "polarity": pl.String,
                    "label": pl.String,
                    "inequal": pl.Boolean,
                    "strict": pl.Boolean,
                },
            )
        )
        texts.append(
            pl.DataFrame(
                {
                    "id": names,
                    "premise": found["premises"],
                    "hypothesis": found["hypotheses"],
                    "predicted": found["labels"],
                    "statement": found["g_hypotheses"],
                    "said": found["pred_labels"],
                },
                schema={
                    "id": pl.String,
                    "premise": pl.String,
                    "hypothesis": pl.String,
                    "predicted": pl.Int8,
                    "statement": pl.List(pl.String),
                    "said": pl.List(pl.Int8),
                },
            )
        )
    notes = [
        "ten statements of each polarity came with every hypothesis and were taken as they are, undrawn"
        if stored is not None
        else f"{len(repeated):,} rows of statements were placeholders (fewer than ten differed); the original "
        f"scores them too"
    ]
    if any(label == -1 for label in gold):
        notes.append(f"{gold.count(-1):,} pairs without gold: the original keeps them, and no model ever answers -1")
    method = {
        "as": name,
        "polarity": "both" if len(polarities) == 2 else polarities[0],
        **generator_method,
        "seed": str(seed),
    }
    return Result(
        question,
        Signature("robust", method, system),
        Estimates(figures),
        Frames(pl.concat(frames)),
        Frames(pl.concat(texts)),
        options=IntervalOptions(method="none"),
        notes=notes,
        inputs=inputs,
        extra={"original_funnel": funnel},
    )


def _stored(generator: generators.Asked, hypotheses: Sequence[str]) -> tuple[Any, Any] | None:
    """The original draws ten statements once, keeps them in a file and evaluates from that. A file that holds ten of
    each polarity for every hypothesis is such a file: nothing is drawn again, and every statement keeps its slot.
    """
    if not isinstance(generator.model, StoredStatements) or not hypotheses:
        return None
    rows = []
    for follows in (False, True):
        found = generator.statements([Request(h, follows, original.STATEMENTS_DRAWN + 1) for h in hypotheses])
        if any(texts is None or len(texts) != original.STATEMENTS_DRAWN for texts in found):
            return None
        rows.append(np.array(found))
    return rows[0], rows[1]


def _figures(found: dict[str, Any], positive: bool, polarity: str) -> list[Figure]:
    counts = original.count_inequalities(found["labels"], found["pred_labels"], positive)
    n = len(found["labels"])
    made = []
    for name, c in counts.items():
        made += _two(f"{polarity}_{name.lower()}", f"{name}, {polarity}", c["inequal"], c["relaxed_inequal"], c["n"])
    total = [sum(c[k] for c in counts.values()) for k in ("inequal", "relaxed_inequal")]
    made += _two(f"{polarity}_overall", f"Overall, {polarity}", total[0], total[1], n)
    return made


def _two(name: str, title: str, inequal: int, relaxed: int, n: int) -> list[Figure]:
    if n == 0:
        reason = "the original raises ZeroDivisionError: no pair was selected"
        return [
            Figure(
                f"{kind}_{name}",
                f"{words}: {title} (%)",
                float("nan"),
                0,
                unscored={reason: 0},
                absent=reason,
                direction="lower",
            )
            for kind, words in (("inequal", "Inequal"), ("relaxed_inequal", "Relaxed inequal"))
        ]
    return [
        Figure(
            f"{kind}_{name}",
            f"{words}: {title} (%)",
            round(100 * count / n, 2),
            n,
            absent=NO_INTERVAL,
            direction="lower",
            range=(0.0, 100.0),
        )
        for kind, words, count in (("inequal", "Inequal", inequal), ("relaxed_inequal", "Relaxed inequal", relaxed))
    ]
