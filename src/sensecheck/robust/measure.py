"""From triangles to measurements: pure functions, no model in sight.

A triangle is a premise p, a hypothesis h and a statement g made from h. What M says of (p, h) and of (h, g), (g, h)
settles what it must say of (p, g):

  rule                 M(p,h)          M(h,g)          so M(p,g) is
  entailment chain     entailment      entailment      entailment
  contradiction chain  entailment      contradiction   contradiction
  equivalence          any             both entail     the same as M(p,h)
  unsupported          contradiction   contradiction   anything (logic does not say); reported apart, never overall
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
LABELS = ("entailment", "neutral", "contradiction")
POLARITIES = ("positive", "negative")

NO_GOLD = "no gold label"
NO_ANSWER = "the model gave no label"
WRONG = "the model is wrong on the pair itself"
NO_RULE = "no rule for neutral pairs and contradicting statements"
TOO_FEW = "too few distinct statements"
REFUSED = "too few statements the model confirms"
NO_JUDGEMENT = "the model gave no label to a statement and the premise"
UNBOUND = "logic asks nothing of contradiction pairs and contradicting statements"
NO_GENERATION = "the generator gave no answer"

DISTANCES = ("js", "tv", "kl", "spread", "cosine")
_KL_FLOOR = 1e-12

Floats = npt.NDArray[np.float64]


@dataclass
class Statement:
    """One statement of a pair and what M said with it; None where it was not asked."""

    text: str
    forth: int | None = None
    """M(h, g)"""
    back: int | None = None
    """M(g, h)"""
    label: int | None = None
    """M(p, g), asked of the chosen ones"""
    logits: tuple[float, ...] | None = None
    accepted: bool = False
    chosen: bool = False
    moves: dict[str, float] = field(default_factory=dict)
    """how far M(p, g) is from M(p, h), by name of the distance; of the statements that count in them alone"""


@dataclass
class Trial:
    """One pair in one polarity, with all that happened to it."""

    id: str
    premise: str
    hypothesis: str
    gold: int | None
    polarity: str
    slices: Mapping[str, str] = field(default_factory=dict)
    predicted: int | None = None
    """M(p, h)"""
    logits: tuple[float, ...] | None = None
    itself: int | None = None
    """M(h, h)"""
    statements: list[Statement] = field(default_factory=list)
    candidates: int = 0
    """statements as they came, repeats included"""
    regenerated: int = 0
    reason: str | None = None
    """why it could not be judged"""
    counts_pair: bool = True
    """a pair is tried once a polarity; what concerns the pair itself is counted on one of its trials"""
    cosine: tuple[float, ...] | None = None
    """cosine distances of the chosen statements' embeddings from the hypothesis's"""
    coarse: bool = False
    """gold knows only entailment and not"""
    held: int | None = None
    """M's own label of (p, h), where the triangle is held against that: gold leaves it open, or does not matter"""

    @property
    def correct(self) -> bool | None:
        if self.gold is None or self.predicted is None:
            return None
        return self.predicted != ENTAILMENT if self.coarse else self.predicted == self.gold

    @property
    def label(self) -> int | None:
        """The label of (p, h) that M(p, g) must agree with."""
        return self.gold if self.held is None else self.held

    @property
    def chosen(self) -> list[Statement]:
        return [s for s in self.statements if s.chosen]


def expected(label: int, polarity: str) -> int | None:
    """What M(p, g) must be; None where logic does not say."""
    if polarity == "positive":
        return label
    return CONTRADICTION if label == ENTAILMENT else None


def rule_of(label: int | None, polarity: str) -> str:
    if label is None:
        return "none"
    if polarity == "positive":
        return "entailment chain" if label == ENTAILMENT else "equivalence"
    return {ENTAILMENT: "contradiction chain", NEUTRAL: "none", CONTRADICTION: "unsupported"}[label]


def marks(label: int, polarity: str, said: int) -> tuple[bool, bool]:
    """(inequal, strictly inequal) of one statement.

    Inequal: the label opposite to the expected one. Strictly: any label but the expected one. For neutral pairs the
    two are the same. The unsupported triangle is marked against entailment, as the published table does.
    """
    wanted = expected(label, polarity)
    if wanted is None:
        wanted = ENTAILMENT
    strict = said != wanted
    return (strict if wanted == NEUTRAL else said == CONTRADICTION - wanted), strict


def probabilities(logits: Sequence[Sequence[float]]) -> Floats:
    values = np.asarray(logits, dtype=np.float64)
    shifted = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def distances(hypothesis: Sequence[float], statements: Sequence[Sequence[float]]) -> dict[str, Floats]:
    """How far M's prediction of each (p, g) is from that of (p, h), by name.

    js: Jensen–Shannon distance (base 2, so 0 to 1); tv: total variation, which over three labels is also the
    largest difference of one label's probability (L∞); kl: Kullback–Leibler divergence of (p, g) from (p, h) in
    bits, probabilities floored at 1e-12; spread: the standard deviation of the statement's own three probabilities.
    """
    h, g = probabilities([hypothesis]), probabilities(statements)
    middle = (h + g) / 2

    def bits(p: Floats, q: Floats) -> Floats:
        floored = np.maximum(q, _KL_FLOOR)
        return np.asarray(np.where(p > 0, p * np.log2(np.maximum(p, _KL_FLOOR) / floored), 0.0).sum(axis=-1))

    return {
        "js": np.sqrt(np.maximum((bits(h, middle) + bits(g, middle)) / 2, 0.0)),
        "tv": np.abs(h - g).sum(axis=-1) / 2,
        "kl": bits(h, g),
        "spread": g.std(axis=-1),
    }


def row(trial: Trial) -> dict[str, Any]:
    """The measurements of one trial."""
    gold, polarity = trial.label, trial.polarity
    rule = rule_of(gold, polarity)
    correct = trial.correct
    chosen = trial.chosen
    judged = bool(chosen) and gold is not None and (correct is True or trial.held is not None)
    sound = rule not in ("none", "unsupported")
    made: dict[str, Any] = {
        "id": f"{trial.id}/{polarity}", "cluster": trial.id, "scored": gold is not None and trial.predicted is not None,
        "reason": trial.reason if gold is None or trial.predicted is None else None, **trial.slices,
        "polarity": polarity, "label": "none" if gold is None else LABELS[gold], "rule": rule,
        "left": trial.reason or ("judged" if sound else UNBOUND), "correct": correct if trial.counts_pair else None,
        "eligible": rule != "none" if gold is not None else None, "judged": judged and rule != "none",
        "candidates": trial.candidates, "distinct": len(trial.statements), "regenerated": trial.regenerated,
        "one_way": sum(s.forth == target(polarity) for s in trial.statements),
        "accepted": sum(s.accepted for s in trial.statements),
    }  # fmt: skip

    strict_marks: list[bool] = []
    inequal_marks: list[bool] = []
    if judged and rule != "none":
        assert gold is not None
        for statement in chosen:
            assert statement.label is not None
            inequal, strict = marks(gold, polarity, statement.label)
            inequal_marks.append(inequal)
            strict_marks.append(strict)
    for name, found in (("inequal", inequal_marks), ("strict", strict_marks)):
        made[name] = any(found) if found and sound else None
        made[f"statements_{name}"] = sum(found) if found and sound else None
        made[f"unsupported_{name}"] = any(found) if found and not sound else None
    made["statements"] = len(chosen) if inequal_marks and sound else None
    # Of the statements M was shown: those whose premises failed keep the rule without effort, those beyond the chosen
    # ones were not asked about (p, g) and count on neither side.
    looked = len(trial.statements) - sum(s.accepted and not s.chosen for s in trial.statements)
    made["statements_seen"] = looked if sound and trial.statements and correct is not None else None

    both = [(s.forth, s.back) for s in trial.statements if s.forth is not None and s.back is not None]
    made["mirrored"] = len(both) if both else None
    made["mirror_applies"] = sum(CONTRADICTION in pair for pair in both) if both else None
    made["mirror_broken"] = sum((a == CONTRADICTION) != (b == CONTRADICTION) for a, b in both) if both else None
    made["reflexive_broken"] = None if trial.itself is None or not trial.counts_pair else trial.itself != ENTAILMENT

    found_distances: dict[str, Floats] = {}
    if strict_marks and sound and trial.logits is not None and all(s.logits is not None for s in chosen):
        found_distances = distances(trial.logits, [s.logits for s in chosen if s.logits is not None])
    if strict_marks and sound and trial.cosine is not None:
        found_distances["cosine"] = np.asarray(trial.cosine)
    for name, moved in found_distances.items():
        for statement, value in zip(chosen, moved, strict=True):
            statement.moves[name] = float(value)
    changed = np.array([s.label != gold for s in chosen], dtype=bool)
    for group, mask in (("same", ~changed), ("changed", changed)):
        # A pair without such a statement has nothing to say of them, and does not count in n.
        some = bool(found_distances) and bool(mask.any())
        made[f"n_{group}"] = int(mask.sum()) if some else None
        for name in DISTANCES:
            values = found_distances.get(name)
            made[f"{name}_{group}"] = float(values[mask].sum()) if some and values is not None else None
    return made


def target(polarity: str) -> int:
    """What M must say of (h, g) for g to be a statement of its polarity."""
    return ENTAILMENT if polarity == "positive" else CONTRADICTION


_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String, "cluster": pl.String, "scored": pl.Boolean, "reason": pl.String, "polarity": pl.String,
    "label": pl.String, "rule": pl.String, "left": pl.String, "correct": pl.Boolean, "eligible": pl.Boolean,
    "judged": pl.Boolean, "candidates": pl.Int64, "distinct": pl.Int64, "regenerated": pl.Int64, "one_way": pl.Int64,
    "accepted": pl.Int64, "inequal": pl.Boolean, "statements_inequal": pl.Int64, "unsupported_inequal": pl.Boolean,
    "strict": pl.Boolean, "statements_strict": pl.Int64, "unsupported_strict": pl.Boolean, "statements": pl.Int64,
    "statements_seen": pl.Int64, "mirrored": pl.Int64, "mirror_applies": pl.Int64, "mirror_broken": pl.Int64,
    "reflexive_broken": pl.Boolean, "n_same": pl.Int64, "n_changed": pl.Int64,
    **{f"{name}_{group}": pl.Float64 for name in DISTANCES for group in ("same", "changed")},
}  # fmt: skip


def measurements(trials: Sequence[Trial], slices: Sequence[str] = ()) -> pl.DataFrame:
    """One row a trial; every input pair is there in every polarity that was asked for, judged or not."""
    rows = [row(trial) for trial in trials]
    schema = dict(_SCHEMA)
    columns = [
        "id",
        "cluster",
        "scored",
        "reason",
        *slices,
        *[c for c in schema if c not in ("id", "cluster", "scored", "reason")],
    ]
    data = {
        name: pl.Series(name, [r.get(name) for r in rows], dtype=schema.get(name, pl.String), strict=False)
        for name in columns
    }
    return pl.DataFrame(data)


def examples(trials: Sequence[Trial]) -> pl.DataFrame:
    """The texts behind the rows: premise, hypothesis, and the statements with what M said of them."""
    lists = {
        "statement": pl.List(pl.String), "forth": pl.List(pl.Int8), "back": pl.List(pl.Int8), "said": pl.List(pl.Int8),
        "stage": pl.List(pl.String),
    }  # fmt: skip
    moved = {
        name: pl.Series([[s.moves.get(name) for s in t.statements] for t in trials], dtype=pl.List(pl.Float64))
        for name in DISTANCES
    }
    return pl.DataFrame(
        {
            "id": [f"{t.id}/{t.polarity}" for t in trials],
            "premise": [t.premise for t in trials],
            "hypothesis": [t.hypothesis for t in trials],
            "predicted": pl.Series([t.predicted for t in trials], dtype=pl.Int8),
            "gold": pl.Series(["not entailment" if t.coarse else _name(t.gold) for t in trials], dtype=pl.String),
            "statement": pl.Series([[s.text for s in t.statements] for t in trials], dtype=lists["statement"]),
            "forth": pl.Series([[s.forth for s in t.statements] for t in trials], dtype=lists["forth"]),
            "back": pl.Series([[s.back for s in t.statements] for t in trials], dtype=lists["back"]),
            "said": pl.Series([[s.label for s in t.statements] for t in trials], dtype=lists["said"]),
            "stage": pl.Series([[stage_of(s, t.polarity) for s in t.statements] for t in trials], dtype=lists["stage"]),
            **moved,
        }
    )


HISTOGRAM_BINS = 20
HISTOGRAM_ENDS = {"js": 1.0, "tv": 1.0, "kl": 5.0, "spread": 0.4715, "cosine": 1.0}
"""where the last bin ends; what is farther (a KL divergence has no end) is counted in it"""


def histograms(texts: Iterable[pl.DataFrame]) -> dict[str, dict[str, list[int]]]:
    """Judged statements by how far the prediction moved, the label kept and changed apart, for every distance known.

    From `examples` frames joined with the rows' `label`, one at a time.
    """
    counts: dict[str, dict[str, npt.NDArray[np.int64]]] = {}
    for frame in texts:
        for name in DISTANCES:
            long = frame.select("label", "said", name).explode("said", name).drop_nulls()
            if long.is_empty():
                continue
            value = long[name].to_numpy()
            kept = np.array([LABELS[said] for said in long["said"].to_list()], dtype=str) == long["label"].to_numpy()
            index = np.clip((value / HISTOGRAM_ENDS[name] * HISTOGRAM_BINS).astype(int), 0, HISTOGRAM_BINS - 1)
            found = counts.setdefault(name, {g: np.zeros(HISTOGRAM_BINS, dtype=np.int64) for g in ("same", "changed")})
            for group, mask in (("same", kept), ("changed", ~kept)):
                found[group] += np.bincount(index[mask], minlength=HISTOGRAM_BINS)
    return {name: {group: c.tolist() for group, c in found.items()} for name, found in counts.items()}


def _name(label: int | None) -> str | None:
    return None if label is None else LABELS[label]


def stage_of(statement: Statement, polarity: str) -> str:
    """How far a statement came."""
    if statement.chosen:
        return "judged"
    if statement.accepted:
        return "accepted"
    return "confirmed one way" if statement.forth == target(polarity) else "distinct"


def wilson(successes: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval of a share: it stays inside 0 to 1 and does not collapse at the ends."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


FUNNEL = ("pairs", "with gold", "correct", "with a rule", "enough distinct", "accepted one way", "judged")


def funnel(frame: pl.DataFrame, keep: int, only_correct: bool = True) -> list[dict[str, Any]]:
    """How many pairs survived each step, by polarity. Where wrong answers are judged too, the third step says so."""
    steps = FUNNEL if only_correct else tuple("answered" if step == "correct" else step for step in FUNNEL)
    out = []
    for polarity in frame["polarity"].unique(maintain_order=True).to_list():
        part = frame.filter(pl.col("polarity") == polarity)
        gold = part.filter(pl.col("label") != "none")
        # `correct` is kept on one row a pair: the reason says the same on both
        right = gold.filter(~pl.col("left").is_in([WRONG, NO_ANSWER]))
        ruled = right.filter(pl.col("eligible").fill_null(False))
        enough = ruled.filter(pl.col("distinct") >= keep)
        one_way = enough.filter(pl.col("one_way") >= keep)
        judged = ruled.filter(pl.col("judged"))
        counts = (len(part), len(gold), len(right), len(ruled), len(enough), len(one_way), len(judged))
        out.append({"polarity": polarity, **dict(zip(steps, counts, strict=True))})
    return out
