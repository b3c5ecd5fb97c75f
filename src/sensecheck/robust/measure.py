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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from sensecheck.models.said import Unreadable
from sensecheck.runs.collecting import Batch
from sensecheck.runs.list_columns import list_column
from sensecheck.statistics.measurements import Measurements

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
LABELS = ("entailment", "neutral", "contradiction")

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

UNREAD = {why: f"unread_{why.name.lower()}" for why in Unreadable}
"""Why no label could be read from an answer → the column that counts such answers."""

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
    made_by: str = ""
    """the rule or the prompt that made it; empty where nobody knows"""


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
    cluster: str = ""
    """the id that several pairs may share (default: the pair's own)"""
    """gold knows only entailment and not"""
    answers: int = 0
    """how often M was asked about it"""
    unread: Counter[Unreadable] = field(default_factory=Counter)
    """how many of those answers held no label, by why"""
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

    @property
    def rule(self) -> str:
        return rule_of(self.label, self.polarity)

    @property
    def is_sound(self) -> bool:
        """Whether logic says what M(p, g) must be."""
        return self.rule not in ("none", "unsupported")

    @property
    def is_judged(self) -> bool:
        """Whether M(p, g) counts: there are statements, and a label that M stands by."""
        return self.rule != "none" and bool(self.chosen) and (self.correct is True or self.held is not None)


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


Moves = Mapping[str, Floats]
"""By name of the distance: how far M(p, g) of each chosen statement is from M(p, h)."""


def moves_of(trial: Trial) -> Moves:
    """The distances of a judged trial, as far as M gives what they are made of."""
    if not (trial.is_judged and trial.is_sound):
        return {}
    moves: dict[str, Floats] = {}
    logits = [statement.logits for statement in trial.chosen if statement.logits is not None]
    if trial.logits is not None and len(logits) == len(trial.chosen):
        moves = distances(trial.logits, logits)
    if trial.cosine is not None:
        moves["cosine"] = np.asarray(trial.cosine)
    return moves


def row(trial: Trial, moves: Moves | None = None) -> dict[str, Any]:
    """The measurements of one trial."""
    return {
        **_course(trial),
        **_broken(trial),
        **_without_premise(trial),
        **_moved(trial, moves_of(trial) if moves is None else moves),
    }


def _course(trial: Trial) -> dict[str, Any]:
    """Who the trial is, and how far it came."""
    label, polarity, rule = trial.label, trial.polarity, trial.rule
    scored = label is not None and trial.predicted is not None
    return {
        "id": f"{trial.id}/{polarity}", "cluster": trial.cluster or trial.id, "scored": scored,
        "reason": None if scored else trial.reason, **trial.slices,
        "polarity": polarity, "label": "none" if label is None else LABELS[label], "rule": rule,
        "left": trial.reason or ("judged" if trial.is_sound else UNBOUND),
        "correct": trial.correct if trial.counts_pair else None,
        "eligible": rule != "none" if label is not None else None, "judged": trial.is_judged,
        "candidates": trial.candidates, "distinct": len(trial.statements), "regenerated": trial.regenerated,
        "one_way": sum(s.forth == target(polarity) for s in trial.statements),
        "accepted": sum(s.accepted for s in trial.statements),
        "answers": trial.answers, **{column: trial.unread[why] for why, column in UNREAD.items()},
    }  # fmt: skip


def _broken(trial: Trial) -> dict[str, Any]:
    """What M said of (p, g) against what it must say, by pair and by statement."""
    sound, chosen = trial.is_sound, trial.chosen
    statement_marks = []
    if trial.is_judged:
        assert trial.label is not None
        for statement in chosen:
            assert statement.label is not None
            statement_marks.append(marks(trial.label, trial.polarity, statement.label))
    measured: dict[str, Any] = {"statements": len(chosen) if statement_marks and sound else None}
    for place, name in enumerate(("inequal", "strict")):
        marked = [mark[place] for mark in statement_marks]
        measured[name] = any(marked) if marked and sound else None
        measured[f"statements_{name}"] = sum(marked) if marked and sound else None
        measured[f"unsupported_{name}"] = any(marked) if marked and not sound else None
    # Of the statements M was shown: those whose premises failed keep the rule without effort, those beyond the chosen
    # ones were not asked about (p, g) and count on neither side.
    seen = len(trial.statements) - sum(s.accepted and not s.chosen for s in trial.statements)
    measured["statements_seen"] = seen if sound and trial.statements and trial.correct is not None else None
    return measured


def _without_premise(trial: Trial) -> dict[str, Any]:
    """Rules that need no premise: contradiction is symmetric, and every text entails itself."""
    both = [(s.forth, s.back) for s in trial.statements if s.forth is not None and s.back is not None]
    return {
        "mirrored": len(both) if both else None,
        "mirror_applies": sum(CONTRADICTION in pair for pair in both) if both else None,
        "mirror_broken": sum((a == CONTRADICTION) != (b == CONTRADICTION) for a, b in both) if both else None,
        "reflexive_broken": None if trial.itself is None or not trial.counts_pair else trial.itself != ENTAILMENT,
    }


def _moved(trial: Trial, moves: Moves) -> dict[str, Any]:
    """Sums of the distances, of statements whose label was kept and of those whose label changed."""
    if not moves:
        return {}
    changed = np.array([statement.label != trial.label for statement in trial.chosen], dtype=bool)
    measured: dict[str, Any] = {}
    for group, mask in (("same", ~changed), ("changed", changed)):
        # A pair without such a statement has nothing to say of them, and does not count in n.
        if mask.any():
            measured[f"n_{group}"] = int(mask.sum())
            measured |= {f"{name}_{group}": float(values[mask].sum()) for name, values in moves.items()}
    return measured


def target(polarity: str) -> int:
    """What M must say of (h, g) for g to be a statement of its polarity."""
    return ENTAILMENT if polarity == "positive" else CONTRADICTION


_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String, "cluster": pl.String, "scored": pl.Boolean, "reason": pl.String, "polarity": pl.String,
    "label": pl.String, "rule": pl.String, "left": pl.String, "correct": pl.Boolean, "eligible": pl.Boolean,
    "judged": pl.Boolean, "candidates": pl.Int64, "distinct": pl.Int64, "regenerated": pl.Int64, "one_way": pl.Int64,
    "accepted": pl.Int64, "answers": pl.Int64, **dict.fromkeys(UNREAD.values(), pl.Int64),
    "inequal": pl.Boolean, "statements_inequal": pl.Int64, "unsupported_inequal": pl.Boolean,
    "strict": pl.Boolean, "statements_strict": pl.Int64, "unsupported_strict": pl.Boolean, "statements": pl.Int64,
    "statements_seen": pl.Int64, "mirrored": pl.Int64, "mirror_applies": pl.Int64, "mirror_broken": pl.Int64,
    "reflexive_broken": pl.Boolean, "n_same": pl.Int64, "n_changed": pl.Int64,
    **{f"{name}_{group}": pl.Float64 for name in DISTANCES for group in ("same", "changed")},
}  # fmt: skip


def measure(trials: Sequence[Trial], slices: Sequence[str] = ()) -> Batch:
    """One row a trial, and the texts behind it; every input pair is there in every polarity that was asked for,
    judged or not.
    """
    moves = [moves_of(trial) for trial in trials]
    return Batch(measurements(trials, slices, moves), examples(trials, moves))


def measurements(
    trials: Sequence[Trial], slices: Sequence[str] = (), moves: Sequence[Moves] | None = None
) -> pl.DataFrame:
    moves = [moves_of(trial) for trial in trials] if moves is None else moves
    rows = [row(trial, moved) for trial, moved in zip(trials, moves, strict=True)]
    first = ("id", "cluster", "scored", "reason")
    columns = [*first, *slices, *(name for name in _SCHEMA if name not in first)]
    return pl.DataFrame(
        {
            name: pl.Series(name, [r.get(name) for r in rows], dtype=_SCHEMA.get(name, pl.String), strict=False)
            for name in columns
        }
    )


def examples(trials: Sequence[Trial], moves: Sequence[Moves]) -> pl.DataFrame:
    """The texts behind the rows: premise, hypothesis, and the statements with what M said of them."""

    counts = np.fromiter((len(trial.statements) for trial in trials), dtype=np.int64, count=len(trials))

    def of_statements(values: Iterable[Any], dtype: type[pl.DataType]) -> pl.Series:
        return list_column(pl.Series(list(values), dtype=dtype), counts)

    statements = [statement for trial in trials for statement in trial.statements]
    moved = {
        name: of_statements(
            (
                value
                for trial, by_name in zip(trials, moves, strict=True)
                for value in _by_statement(trial, by_name.get(name))
            ),
            pl.Float64,
        )
        for name in DISTANCES
    }
    return pl.DataFrame(
        {
            "id": [f"{t.id}/{t.polarity}" for t in trials],
            "premise": [t.premise for t in trials],
            "hypothesis": [t.hypothesis for t in trials],
            "predicted": pl.Series([t.predicted for t in trials], dtype=pl.Int8),
            "gold": pl.Series(["not entailment" if t.coarse else _name(t.gold) for t in trials], dtype=pl.String),
            "statement": of_statements((s.text for s in statements), pl.String),
            "forth": of_statements((s.forth for s in statements), pl.Int8),
            "back": of_statements((s.back for s in statements), pl.Int8),
            "said": of_statements((s.label for s in statements), pl.Int8),
            "stage": of_statements((stage_of(s, t.polarity) for t in trials for s in t.statements), pl.String),
            "made_by": of_statements((s.made_by for s in statements), pl.String),
            **moved,
        }
    )


def _by_statement(trial: Trial, moved: Floats | None) -> list[float | None]:
    """A distance for each chosen statement, in its place among all."""
    values = iter(() if moved is None else moved.tolist())
    return [next(values, None) if statement.chosen else None for statement in trial.statements]


HISTOGRAM_BINS = 20
HISTOGRAM_ENDS = {"js": 1.0, "tv": 1.0, "kl": 5.0, "spread": 0.4715, "cosine": 1.0}
"""where the last bin ends; what is farther (a KL divergence has no end) is counted in it"""


def histograms(rows: Measurements, texts: Measurements) -> dict[str, dict[str, list[int]]]:
    """Judged statements by how far the prediction moved, the label kept and changed apart, for every distance known.

    `texts` are the `examples` of the same trials, batch for batch.
    """
    counts: dict[str, dict[str, npt.NDArray[np.int64]]] = {}
    for labels, examples_of_rows in zip(rows.batches(["label"]), texts.batches(["said", *DISTANCES]), strict=True):
        frame = examples_of_rows.with_columns(labels["label"])
        for name in DISTANCES:
            statements = frame.select("label", "said", name).explode("said", name).drop_nulls()
            if statements.is_empty():
                continue
            kept = np.asarray(LABELS)[statements["said"].to_numpy()] == statements["label"].to_numpy()
            place = statements[name].to_numpy() / HISTOGRAM_ENDS[name] * HISTOGRAM_BINS
            index = np.clip(place.astype(int), 0, HISTOGRAM_BINS - 1)
            groups = counts.setdefault(name, {g: np.zeros(HISTOGRAM_BINS, dtype=np.int64) for g in ("same", "changed")})
            for group, mask in (("same", kept), ("changed", ~kept)):
                groups[group] += np.bincount(index[mask], minlength=HISTOGRAM_BINS)
    return {name: {group: c.tolist() for group, c in groups.items()} for name, groups in counts.items()}


def _name(label: int | None) -> str | None:
    return None if label is None else LABELS[label]


def stage_of(statement: Statement, polarity: str) -> str:
    """How far a statement came."""
    if statement.chosen:
        return "judged"
    if statement.accepted:
        return "accepted"
    return "confirmed one way" if statement.forth == target(polarity) else "distinct"


def wilson(successes: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval of a share: it stays inside 0 to 1 and does not collapse at the ends."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


FUNNEL = ("pairs", "with gold", "correct", "with a rule", "enough distinct", "accepted one way", "judged")
FUNNEL_COLUMNS = ("polarity", "label", "left", "eligible", "distinct", "one_way", "judged")
"""The measurements that it is counted from."""


def whole_funnel(rows: Measurements, keep: int, only_correct: bool = True) -> list[dict[str, Any]]:
    """The funnel of all rows, whose batches add up."""
    whole: dict[str, dict[str, Any]] = {}
    for batch in rows.batches(FUNNEL_COLUMNS):
        for line in funnel(batch, keep, only_correct):
            known = whole.setdefault(line["polarity"], {})
            whole[line["polarity"]] = {
                step: count if step == "polarity" else known.get(step, 0) + count for step, count in line.items()
            }
    return list(whole.values())


def funnel(frame: pl.DataFrame, keep: int, only_correct: bool = True) -> list[dict[str, Any]]:
    """How many pairs survived each step, by polarity. Where wrong answers are judged too, the third step says so."""
    steps = FUNNEL if only_correct else tuple("answered" if step == "correct" else step for step in FUNNEL)
    lines = []
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
        lines.append({"polarity": polarity, **dict(zip(steps, counts, strict=True))})
    return lines
