"""Which figures the question reports: all of them functions of sums over the rows, resampled by pair."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from sensecheck.robust.measure import DISTANCES, LABELS
from sensecheck.statistics.statistic import AnyStatistic, Explanation, Statistic, mean_of, ratio

MINERVINI = (
    "Minervini and Riedel (2018), Adversarially Regularising Neural NLI Models to Integrate "
    "Logical Background Knowledge"
)
LI = "Li, Gupta, Mehta and Srikumar (2019), A Logic-Driven Framework for Consistency of Neural Models"
BREAKNLI = "BreakNLI (2023)"

_DISTANCE_TITLES = {
    "js": "Jensen–Shannon distance",
    "tv": "Total variation (L∞ over three labels)",
    "kl": "KL divergence (bits)",
    "spread": "Spread of the probabilities",
    "cosine": "Cosine distance of embeddings",
}
_DISTANCE_FORMULAS = {
    "js": "√(½ KL(P‖M) + ½ KL(Q‖M)), M = (P+Q)/2, base 2",
    "tv": "½ Σ|P−Q| = max |P−Q| over three labels",
    "kl": "Σ P log₂(P/Q), Q floored at 1e-12",
    "spread": "standard deviation of Q's three probabilities",
    "cosine": "1 − cos(e(h), e(g))",
}


def statistics(method: Mapping[str, str]) -> list[AnyStatistic]:
    """The figures under a method; with none, all there are."""
    polarities = method.get("polarity", "both")
    wanted = ("positive", "negative") if polarities == "both" else (polarities,)
    keep = method.get("keep", "5")
    found: list[AnyStatistic] = [
        mean_of(
            "strict",
            "strictly_inequal",
            title="Strictly inequal pairs",
            direction="lower",
            explanation=Explanation(
                f"judged pairs with at least one of {keep} statements off the label logic asks for / judged pairs",
                "How often the model breaks the logic of its own labels; the unsupported triangle is not in it.",
                "more statements a pair (any one of them counts), a weaker model, statements that are not what "
                "the model "
                "took them for",
                BREAKNLI,
            ),
        ),
        mean_of(
            "inequal",
            "inequal",
            title="Inequal pairs",
            direction="lower",
            explanation=Explanation(
                f"judged pairs with at least one of {keep} statements given the opposite label / judged pairs",
                "The graver part: entailment where contradiction must be, or the other way round; for neutral "
                "pairs any "
                "other label.",
                "as for strictly_inequal",
                BREAKNLI,
            ),
        ),
        Statistic(
            "statement_violation",
            ("statements_strict", "statements"),
            ratio,
            title="Violations, per judged statement",
            direction="lower",
            explanation=Explanation(
                "judged statements off the expected label / judged statements",
                "Conditional violation: of the triangles whose first two sides oblige the model, how many it "
                "breaks. Does "
                "not grow with the number of statements a pair.",
                "a weaker model, odd statements",
                LI,
            ),
        ),
        Statistic(
            "statement_violation_global",
            ("statements_strict", "statements_seen"),
            ratio,
            title="Violations, per statement shown",
            direction="lower",
            explanation=Explanation(
                "judged statements off the expected label / all statements shown to the model on pairs with an answer",
                "Global violation: triangles whose premises fail keep the rule without effort and count as kept.",
                "how many statements the model confirms at all",
                LI,
            ),
        ),
        mean_of(
            "correct",
            "accuracy",
            title="Accuracy on (p, h)",
            direction="higher",
            explanation=Explanation(
                "pairs with M(p, h) = gold / pairs with a gold label",
                "Pairs without gold are left out and counted.",
                "the data set",
            ),
        ),
        Statistic(
            "coverage",
            ("judged", "eligible"),
            ratio,
            title="Coverage: judged of eligible pairs",
            direction="higher",
            explanation=Explanation(
                "pairs judged / pairs with a rule",
                "What share of the pairs the rates speak of; read it with every rate.",
                "accuracy, the generator, the filter",
            ),
        ),
        Statistic(
            "symmetry_violation",
            ("mirror_broken", "mirror_applies"),
            ratio,
            title="Contradiction not symmetric",
            direction="lower",
            explanation=Explanation(
                "{M(h,g), M(g,h)} with exactly one contradiction / with at least one",
                "If a contradicts b, b contradicts a: of the sentence pairs called contradictory one way, how many the "
                "model does not call so the other way.",
                "paraphrases taken for contradictions",
                LI,
            ),
        ),
        Statistic(
            "symmetry_violation_global",
            ("mirror_broken", "mirrored"),
            ratio,
            title="Contradiction not symmetric, of all",
            direction="lower",
            explanation=Explanation(
                "{M(h,g), M(g,h)} with exactly one contradiction / all asked both ways",
                "The same, of all sentence pairs that were asked both ways.",
                "",
                LI,
            ),
        ),
        mean_of(
            "reflexive_broken",
            "reflexivity_violation",
            title="A text does not entail itself",
            direction="lower",
            explanation=Explanation(
                "hypotheses with M(h, h) ≠ entailment / hypotheses", "Every text entails itself.", "", MINERVINI
            ),
        ),
    ]
    for polarity in wanted:
        for label in LABELS if polarity == "positive" else LABELS[:1]:
            for column, name in (("inequal", "inequal"), ("strict", "strictly_inequal")):
                mine = (pl.col("polarity") == polarity) & (pl.col("label") == label)
                both = f"{column}.{polarity}.{label}"
                found.append(
                    Statistic(
                        f"{name}_{polarity}_{label}",
                        (both, "1"),
                        ratio,
                        title=f"{'Inequal' if column == 'inequal' else 'Strictly inequal'}: {label} pairs, {polarity}",
                        direction="lower",
                        derived={both: pl.when(mine).then(pl.col(column))},
                        explanation=Explanation(
                            f"as {name}, of {label} pairs and {_WORDS[polarity]} statements alone",
                            f"One cell of the published table: M(p, h) = {label}, statements that {_WORDS[polarity]} "
                            f"h.",
                            "",
                            BREAKNLI,
                        ),
                    )
                )
    if "negative" in wanted:
        for column, name in (("inequal", "inequal"), ("strict", "strictly_inequal")):
            found.append(
                mean_of(
                    f"unsupported_{column}",
                    f"unsupported_{name}",
                    title=f"Not implied: {name.replace('_', ' ')} (contradiction, negative)",
                    direction="none",
                    explanation=Explanation(
                        f"as {name}, of contradiction pairs and contradicting statements, against entailment",
                        "p contradicts h and h contradicts g says nothing of p and g. Published once as if it did; "
                        "shown "
                        "apart and in no overall figure.",
                        "",
                        BREAKNLI,
                    ),
                )
            )
    if method.get("distances", "yes") == "yes":
        for name in DISTANCES:
            if name == "cosine" and method.get("cosine", "yes") != "yes":
                continue
            for group, words in (("same", "label kept"), ("changed", "label changed")):
                found.append(
                    Statistic(
                        f"{name}_{group}",
                        (f"{name}_{group}", f"n_{group}"),
                        ratio,
                        title=f"{_DISTANCE_TITLES[name]}, {words}",
                        range=(0.0, float("inf") if name == "kl" else 1.0),
                        explanation=Explanation(
                            f"mean of {_DISTANCE_FORMULAS[name]}; P: M(p, h), Q: M(p, g)",
                            f"How far the prediction moves on judged statements whose label was "
                            f"{'kept' if group == 'same' else 'changed'} (sound triangles).",
                            "temperature of the model",
                        ),
                    )
                )
    return found


_WORDS = {"positive": "follow from", "negative": "contradict"}
