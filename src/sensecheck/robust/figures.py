"""Which figures `robust` reports: all of them functions of sums over the rows, resampled by pair.

`FIGURES` declares them, in the order in which they are shown; `{keep}` stands for the number of statements that are
judged a pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from sensecheck.robust.statements import KEEP
from sensecheck.runs.signature import Method, spelled
from sensecheck.statistics.statistic import AnyStatistic, Explanation, Statistic, mean_of, ratio

_MINERVINI = (
    "Minervini and Riedel (2018), Adversarially Regularising Neural NLI Models to Integrate "
    "Logical Background Knowledge"
)
_LI = "Li, Gupta, Mehta and Srikumar (2019), A Logic-Driven Framework for Consistency of Neural Models"
_BREAKNLI = "BreakNLI (2023)"
_ONCE = "counted once a pair, not once a polarity"
_NOTHING_ASKED = "no gold label, or no rule of logic for such statements"

_BINDS = ~pl.col("rule").is_in(["none", "unsupported"])
"""Whether logic asks anything of the pair in that polarity."""
# A pair that was shown statements and confirmed too few of them broke nothing: it counts in the global rates.
_BROKEN = pl.when(pl.col("statements_seen").is_not_null()).then(pl.col("statements_strict").fill_null(0))


@dataclass(frozen=True)
class Declared:
    """A figure, and the choices of a run under which it is reported."""

    figure: Statistic
    polarity: str = ""
    """The polarity of the statements that it is about, where it is about one alone."""
    needs: tuple[str, ...] = ()
    """Choices of the method that must be on."""

    def is_reported(self, method: Method) -> bool:
        polarity = method.get("polarity", "both")
        return (not self.polarity or polarity in ("both", self.polarity)) and all(
            method.get(choice, True) for choice in self.needs
        )


def _rule(rule: str, polarity: str, formula: str, meaning: str, source: str) -> tuple[Declared, Declared]:
    """How often a rule of logic is broken: of the triangles that oblige the model, and of all that it was shown."""
    mine = pl.col("rule") == rule
    off, judged, broken, seen = (
        f"{column}.{rule}" for column in ("statements_strict", "statements", "statements_broken", "statements_seen")
    )
    name = rule.replace(" ", "_")
    conditional = Statistic(
        f"{name}_violation", (off, judged), ratio, f"{rule.capitalize()} broken", "lower",
        derived={
            off: pl.when(mine).then(pl.col("statements_strict")),
            judged: pl.when(mine).then(pl.col("statements")),
        },
        absent=f"no judged statement under the {rule}",
        explanation=Explanation(
            f"{formula}: judged statements off that label / judged statements",
            f"{meaning} Conditional: only triangles whose first two sides commit the model to that label. "
            "Intervals resample whole pairs.",
            "a weaker model, statements that are not what the model took them for",
            source,
        ),
    )  # fmt: skip
    over_all = Statistic(
        f"{name}_violation_global", (broken, seen), ratio, f"{rule.capitalize()} broken, of all", "lower",
        derived={
            broken: pl.when(mine).then(_BROKEN),
            seen: pl.when(mine).then(pl.col("statements_seen")),
        },
        absent=f"no statement shown under the {rule}",
        explanation=Explanation(
            f"{formula}: judged statements off that label / statements shown to the model",
            f"{meaning} Global: a triangle whose first two sides do not commit the model counts as kept.",
            "how many statements the model confirms at all",
            source,
        ),
    )  # fmt: skip
    return Declared(conditional, polarity), Declared(over_all, polarity)


def _cell(polarity: str, label: str) -> tuple[Declared, ...]:
    """One cell of the published table: pairs of one label with statements of one polarity."""
    stand = {"positive": "follow from", "negative": "contradict"}[polarity]
    mine = (pl.col("polarity") == polarity) & (pl.col("label") == label)
    of_pairs = Explanation(
        f"as {{name}}, of {label} pairs with {polarity} statements only",
        f"One cell of the published table: M(p, h) = {label}, statements that {stand} h.",
        "",
        _BREAKNLI,
    )
    of_statements = replace(
        of_pairs,
        meaning="Of statements rather than of pairs: does not grow with the number of statements per pair.",
    )

    def share(name: str, title: str, column: str, of: str, explanation: Explanation) -> Declared:
        """Σ column / Σ of, of the rows of this cell."""
        derived = {f"{c}.{polarity}.{label}": pl.when(mine).then(pl.col(c)) for c in (column, of) if c != "1"}
        numerator, denominator = (*derived, of)[:2]
        figure = Statistic(
            f"{name}_{polarity}_{label}", (numerator, denominator), ratio, f"{title}: {label} pairs, {polarity}",
            "lower", derived=derived, absent=f"no judged {label} pair with {polarity} statements",
            explanation=replace(explanation, formula=explanation.formula.replace("{name}", name)),
        )  # fmt: skip
        return Declared(figure, polarity)

    return (
        share("inequal", "Inequal", "inequal", "1", of_pairs),
        share("strictly_inequal", "Strictly inequal", "strict", "1", of_pairs),
        share(
            "statement_inequal", "Opposite label, per statement", "statements_inequal", "statements", of_statements
        ),
        share(
            "statement_violation", "Off the expected label, per statement", "statements_strict", "statements",
            of_statements,
        ),
    )  # fmt: skip


def _not_implied(name: str, column: str) -> Declared:
    """What the published table counts and logic does not ask for."""
    figure = mean_of(
        column, f"unsupported_{name}", title=f"Not implied: {name.replace('_', ' ')} (contradiction, negative)",
        absent="no judged contradiction pair with negative statements",
        explanation=Explanation(
            f"as {name}, of contradiction pairs and contradicting statements, against entailment",
            "That p contradicts h and h contradicts g says nothing about p and g. It was once published as if it "
            "did; it is shown separately and is in no overall figure.",
            "",
            _BREAKNLI,
        ),
    )  # fmt: skip
    return Declared(figure, "negative")


def _distance(name: str, title: str, largest: float, explanation: Explanation, of: str = "scores") -> list[Declared]:
    """A mean over judged statements: those whose label was kept, and those whose label changed."""
    return [
        Declared(
            Statistic(
                f"{name}_{group}", (f"{name}_{group}", f"n_{group}"), ratio, f"{title}, label {word}",
                range=(0.0, largest), absent=f"no judged statement with {of} and its label {word}",
                explanation=replace(explanation, meaning=(
                    f"{explanation.meaning} judged statements whose label was {word} (sound triangles)."
                )),
            ),
            needs=("distances", "cosine") if name == "cosine" else ("distances",),
        )
        for group, word in (("same", "kept"), ("changed", "changed"))
    ]  # fmt: skip


_HOW_FAR = "How far the prediction moves on"
_TEMPERATURE = "temperature of the model"

FIGURES: tuple[Declared, ...] = (
    Declared(mean_of("strict", "strictly_inequal", title="Strictly inequal pairs", direction="lower",
        absent_column="left", explanation=Explanation(
            "judged pairs with at least one of {keep} statements off the label logic asks for / judged pairs",
            "How often the model breaks the logic of its own labels; the unsupported triangle is not in it.",
            "more statements per pair (any one of them counts), a weaker model, statements that are not what the model "
            "took them for",
            _BREAKNLI))),
    Declared(mean_of("inequal", title="Inequal pairs", direction="lower", absent_column="left",
        explanation=Explanation(
            "judged pairs with at least one of {keep} statements given the opposite label / judged pairs",
            "The more serious part: entailment where it must be contradiction, or the reverse; for neutral pairs any "
            "other label.",
            "as for strictly_inequal",
            _BREAKNLI))),
    Declared(Statistic("statement_violation", ("statements_strict", "statements"), ratio,
        "Violations, per judged statement", "lower", absent_column="left", explanation=Explanation(
            "judged statements off the expected label / judged statements",
            "Conditional violation: of the triangles whose first two sides commit the model to a label, how many it "
            "breaks. Does not grow with the number of statements per pair.",
            "a weaker model, odd statements",
            _LI))),
    Declared(Statistic("statement_inequal", ("statements_inequal", "statements"), ratio,
        "Opposite labels, per judged statement", "lower", absent_column="left", explanation=Explanation(
            "judged statements given the opposite label / judged statements",
            "The more serious part of statement_violation; for neutral pairs any other label.",
            "as for statement_violation",
            _BREAKNLI))),
    Declared(Statistic("statement_violation_global", ("statements_broken", "statements_seen"), ratio,
        "Violations, per statement shown", "lower", derived={"statements_broken": _BROKEN}, absent_column="left",
        explanation=Explanation(
            "judged statements off the expected label / all statements shown to the model on pairs with an answer",
            "Global violation: triangles whose premises do not hold cannot break the rule and count as kept.",
            "how many statements the model confirms at all",
            _LI))),
    Declared(mean_of("correct", "accuracy", title="Accuracy on (p, h)", direction="higher", absent=_ONCE,
        explanation=Explanation(
            "pairs with M(p, h) = gold / pairs with a gold label",
            "Pairs without gold are left out and counted.",
            "the data set"))),
    Declared(Statistic("coverage", ("covered", "eligible_to_cover"), ratio,
        "Coverage: judged of eligible pairs", "none", absent=_NOTHING_ASKED,
        derived={"covered": pl.when(_BINDS).then("judged"), "eligible_to_cover": pl.when(_BINDS).then("eligible")},
        explanation=Explanation(
            "pairs judged / pairs of which logic asks something",
            "The share of the eligible pairs that the rates are about; read it with every rate. Eligible is a pair "
            "with a gold label, once for statements that follow and, if it is entailment, once for those that "
            "contradict: of other pairs logic says nothing of (p, g) where h and g contradict each other.",
            "accuracy, the generator, the filter"))),
    Declared(Statistic("symmetry_violation", ("mirror_broken", "mirror_applies"), ratio,
        "Contradiction not symmetric", "lower", absent_column="left", explanation=Explanation(
            "{M(h,g), M(g,h)} with exactly one contradiction / with at least one",
            "If a contradicts b, b contradicts a: of the sentence pairs that the model calls contradictory one way "
            "round, how many it does not the other way round.",
            "paraphrases taken for contradictions",
            _LI))),
    Declared(Statistic("symmetry_violation_global", ("mirror_broken", "mirrored"), ratio,
        "Contradiction not symmetric, of all", "lower", absent_column="left", explanation=Explanation(
            "{M(h,g), M(g,h)} with exactly one contradiction / all asked both ways",
            "The same, of all sentence pairs that were asked both ways.",
            "",
            _LI))),
    Declared(mean_of("reflexive_broken", "reflexivity_violation", title="A text does not entail itself",
        direction="lower", absent=_ONCE, explanation=Explanation(
            "hypotheses with M(h, h) ≠ entailment / hypotheses",
            "Every text entails itself. The rule has no premise that could fail: conditional and global are the same.",
            "",
            _MINERVINI))),
    *_rule("entailment chain", "positive",
        "M(p,h) = entailment and M(h,g) = entailment, so M(p,g) = entailment",
        "Entailment is transitive.",
        _MINERVINI),
    *_rule("contradiction chain", "negative",
        "M(p,h) = entailment and M(h,g) = contradiction, so M(p,g) = contradiction",
        "What contradicts a consequence of p contradicts p.",
        _LI),
    *_rule("equivalence", "positive",
        "M(h,g) = M(g,h) = entailment, so M(p,g) = M(p,h); neutral and contradiction pairs",
        "Statements that entail each other stand in the same relation to every premise.",
        _BREAKNLI),
    *_cell("positive", "entailment"),
    *_cell("positive", "neutral"),
    *_cell("positive", "contradiction"),
    *_cell("negative", "entailment"),
    _not_implied("inequal", "unsupported_inequal"),
    _not_implied("strictly_inequal", "unsupported_strict"),
    *_distance("js", "Jensen–Shannon distance", 1.0, Explanation(
        "mean of √(½ KL(P‖M) + ½ KL(Q‖M)), M = (P+Q)/2, base 2; P: M(p, h), Q: M(p, g)", _HOW_FAR, _TEMPERATURE)),
    *_distance("tv", "Total variation (L∞ over three labels)", 1.0, Explanation(
        "mean of ½ Σ|P−Q| = max |P−Q| over three labels; P: M(p, h), Q: M(p, g)", _HOW_FAR, _TEMPERATURE)),
    *_distance("kl", "KL divergence (bits)", float("inf"), Explanation(
        "mean of Σ P log₂(P/Q), Q floored at 1e-12; P: M(p, h), Q: M(p, g)", _HOW_FAR, _TEMPERATURE)),
    *_distance("spread", "Spread of the probabilities", 2**0.5 / 3, Explanation(
        "mean of standard deviation of Q's three probabilities; P: M(p, h), Q: M(p, g)",
        "How sure the model is of its label for (p, g), from 0 (all three as likely) to 0.47 (no doubt), on",
        _TEMPERATURE)),
    *_distance("cosine", "Cosine distance of embeddings", 2.0, Explanation(
        "mean of 1 − cos(e(h), e(g))",
        "How far the model's own embeddings (first position, each text alone) of h and g are apart, on",
        "the encoder"), of="embeddings"),
)  # fmt: skip


def statistics(method: Method) -> list[AnyStatistic]:
    """The figures under a method; with none, all there are."""
    keep = spelled(method.get("keep", KEEP))
    return [_with_keep(declared.figure, keep) for declared in FIGURES if declared.is_reported(method)]


def _with_keep(figure: Statistic, keep: str) -> Statistic:
    explanation = figure.explanation
    if explanation is None or "{keep}" not in explanation.formula:
        return figure
    return replace(figure, explanation=replace(explanation, formula=explanation.formula.replace("{keep}", keep)))
