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
ONCE = "counted once a pair, not once a polarity"

_DISTANCE_TITLES = {
    "js": "Jensen–Shannon distance",
    "tv": "Total variation (L∞ over three labels)",
    "kl": "KL divergence (bits)",
    "spread": "Spread of the probabilities",
    "cosine": "Cosine distance of embeddings",
}
_DISTANCE_ENDS = {"kl": float("inf"), "spread": 2**0.5 / 3, "cosine": 2.0}
_DISTANCE_NEEDS = {"cosine": "embeddings"}
_DISTANCE_FORMULAS = {
    "js": "√(½ KL(P‖M) + ½ KL(Q‖M)), M = (P+Q)/2, base 2",
    "tv": "½ Σ|P−Q| = max |P−Q| over three labels",
    "kl": "Σ P log₂(P/Q), Q floored at 1e-12",
    "spread": "standard deviation of Q's three probabilities",
    "cosine": "1 − cos(e(h), e(g))",
}
_DISTANCE_WORDS = {
    "spread": "How sure the model is of its label for (p, g), from 0 (all three as likely) to 0.47 (no doubt), on",
    "cosine": "How far the model's own embeddings (first position, each text alone) of h and g are apart, on",
}


_RULES = {
    "entailment chain": (
        "positive",
        "entailment_chain",
        "M(p,h) = entailment and M(h,g) = entailment, so M(p,g) = entailment",
        "Entailment is transitive.",
        MINERVINI,
    ),
    "contradiction chain": (
        "negative",
        "contradiction_chain",
        "M(p,h) = entailment and M(h,g) = contradiction, so M(p,g) = contradiction",
        "What contradicts a consequence of p contradicts p.",
        LI,
    ),
    "equivalence": (
        "positive",
        "equivalence",
        "M(h,g) = M(g,h) = entailment, so M(p,g) = M(p,h); neutral and contradiction pairs",
        "Statements that entail each other stand in the same relation to every premise.",
        BREAKNLI,
    ),
}
"""rule → polarity of its statements, name, formula, meaning, source"""

# A pair that was shown statements and confirmed too few of them broke nothing: it counts in the global rates.
_BROKEN = pl.when(pl.col("statements_seen").is_not_null()).then(pl.col("statements_strict").fill_null(0))


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
            absent_column="left",
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
            absent_column="left",
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
            absent_column="left",
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
            "statement_inequal",
            ("statements_inequal", "statements"),
            ratio,
            title="Opposite labels, per judged statement",
            direction="lower",
            absent_column="left",
            explanation=Explanation(
                "judged statements given the opposite label / judged statements",
                "The graver part of statement_violation; for neutral pairs any other label.",
                "as for statement_violation",
                BREAKNLI,
            ),
        ),
        Statistic(
            "statement_violation_global",
            ("statements_broken", "statements_seen"),
            ratio,
            derived={"statements_broken": _BROKEN},
            title="Violations, per statement shown",
            direction="lower",
            absent_column="left",
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
            absent=ONCE,
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
            absent_column="left",
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
            absent_column="left",
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
            absent=ONCE,
            explanation=Explanation(
                "hypotheses with M(h, h) ≠ entailment / hypotheses",
                "Every text entails itself. The rule has no premise that could fail: conditional and global are one.",
                "",
                MINERVINI,
            ),
        ),
    ]
    for rule, (side, short, formula, meaning, source) in _RULES.items():
        if side not in wanted:
            continue
        mine = pl.col("rule") == rule
        columns = {
            "statements_strict": pl.col("statements_strict"),
            "statements": pl.col("statements"),
            "statements_broken": _BROKEN,
            "statements_seen": pl.col("statements_seen"),
        }
        derived = {f"{name}.{rule}": pl.when(mine).then(column) for name, column in columns.items()}
        off, judged, broken, seen = derived
        found.append(
            Statistic(
                f"{short}_violation",
                (off, judged),
                ratio,
                title=f"{rule.capitalize()} broken",
                direction="lower",
                absent=f"no judged statement under the {rule}",
                derived={name: derived[name] for name in (off, judged)},
                explanation=Explanation(
                    f"{formula}: judged statements off that label / judged statements",
                    f"{meaning} Conditional: of the triangles whose first two sides oblige the model. Intervals "
                    "resample whole pairs.",
                    "a weaker model, statements that are not what the model took them for",
                    source,
                ),
            )
        )
        found.append(
            Statistic(
                f"{short}_violation_global",
                (broken, seen),
                ratio,
                title=f"{rule.capitalize()} broken, of all",
                direction="lower",
                absent=f"no statement shown under the {rule}",
                derived={name: derived[name] for name in (broken, seen)},
                explanation=Explanation(
                    f"{formula}: judged statements off that label / statements shown to the model",
                    f"{meaning} Global: a triangle whose first two sides do not oblige the model counts as kept.",
                    "how many statements the model confirms at all",
                    source,
                ),
            )
        )
    for polarity in wanted:
        for label in LABELS if polarity == "positive" else LABELS[:1]:
            mine = (pl.col("polarity") == polarity) & (pl.col("label") == label)
            for column, name in (("inequal", "inequal"), ("strict", "strictly_inequal")):
                both = f"{column}.{polarity}.{label}"
                found.append(
                    Statistic(
                        f"{name}_{polarity}_{label}",
                        (both, "1"),
                        ratio,
                        title=f"{'Inequal' if column == 'inequal' else 'Strictly inequal'}: {label} pairs, {polarity}",
                        direction="lower",
                        absent=f"no judged {label} pair with {polarity} statements",
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
            for column, name in (("inequal", "statement_inequal"), ("strict", "statement_violation")):
                off, judged = f"statements_{column}.{polarity}.{label}", f"statements.{polarity}.{label}"
                told = "opposite" if column == "inequal" else "off the expected"
                found.append(
                    Statistic(
                        f"{name}_{polarity}_{label}",
                        (off, judged),
                        ratio,
                        title=f"{told.capitalize()} label, per statement: {label} pairs, {polarity}",
                        direction="lower",
                        absent=f"no judged {label} pair with {polarity} statements",
                        derived={
                            off: pl.when(mine).then(pl.col(f"statements_{column}")),
                            judged: pl.when(mine).then(pl.col("statements")),
                        },
                        explanation=Explanation(
                            f"as {name}, of {label} pairs and {_WORDS[polarity]} statements alone",
                            "Of statements rather than of pairs: does not grow with the number of statements a pair.",
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
                    absent="no judged contradiction pair with negative statements",
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
                        range=(0.0, _DISTANCE_ENDS.get(name, 1.0)),
                        absent=f"no judged statement with {_DISTANCE_NEEDS.get(name, 'scores')} and its {words}",
                        explanation=Explanation(
                            f"mean of {_DISTANCE_FORMULAS[name]}"
                            + ("" if name == "cosine" else "; P: M(p, h), Q: M(p, g)"),
                            f"{_DISTANCE_WORDS.get(name, 'How far the prediction moves on')} judged statements whose "
                            f"label was {'kept' if group == 'same' else 'changed'} (sound triangles).",
                            "the encoder" if name == "cosine" else "temperature of the model",
                        ),
                    )
                )
    return found


_WORDS = {"positive": "follow from", "negative": "contradict"}
