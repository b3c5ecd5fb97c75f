"""Figures of a verdict against people, and of people among themselves."""

from __future__ import annotations

from itertools import combinations

from sensecheck.runs.signature import Method
from sensecheck.statistics.agreement import (
    FOR_INTERVALS,
    SPLITS,
    TABLE,
    CeilingInterval,
    EachPersonInterval,
    Finish,
    SplitInterval,
    TableInterval,
    ac1,
    alpha,
    balanced_accuracy,
    kappa,
    mean_kappa,
    sensitivity,
    specificity,
)
from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.statistic import AnyStatistic, Direction, Explanation, Statistic, mean_of, ratio

MOST_PEOPLE = 10
"""Of more people, pairs are not told apart: α takes all of them together."""
SAYS_RIGHT, SAYS_WRONG = "the verdict says right", "the verdict says wrong"
FEWER = "fewer than two people said right or wrong"
_COHEN = "Cohen 1960, Educational and Psychological Measurement 20(1)"
_GWET = "Gwet 2008, British Journal of Mathematical and Statistical Psychology 61(1)"
_KRIPPENDORFF = "Krippendorff 2011, Computing Krippendorff's Alpha-Reliability"
_WEIGHTED = "each labelled example counts for as many as it stands for"


def statistics(method: Method) -> list[AnyStatistic]:
    """Those of a run of `agree`; of an empty method, all that there are."""
    given = method.get("people", 2)
    people = given if isinstance(given, int) else 2
    return [*_against_people(), *(_among(people) if people > 1 else [])]


def _against_people() -> list[AnyStatistic]:
    return [
        _of_table("agreement", _agreement, "agreement", "(TP + TN) / all", "How often verdict and people say the same.",
                  "How many examples are right at all: where nearly all are, any two agree."),
        _of_table("balanced_accuracy", balanced_accuracy, "balanced accuracy", "(sensitivity + specificity) / 2",
                  "How often the verdict says what people say, if right and wrong examples were as many."),
        _of_table("sensitivity", sensitivity, "sensitivity", "TP / (TP + FN)",
                  "Of the examples that people call right, the share that the verdict calls right."),
        _of_table("specificity", specificity, "specificity", "TN / (TN + FP)",
                  "Of the examples that people call wrong, the share that the verdict calls wrong."),
        mean_of("right_if_right", "ppv", title="right when called right", direction="higher",
                absent_column="_no_ppv", explanation=Explanation(
                    "TP / (TP + FP)", "Of the examples that the verdict calls right, the share that people call right "
                    f"(positive predictive value); {_WEIGHTED}.", "How many examples are right at all.")),
        mean_of("wrong_if_wrong", "npv", title="wrong when called wrong", direction="higher",
                absent_column="_no_npv", explanation=Explanation(
                    "TN / (TN + FN)", "Of the examples that the verdict calls wrong, the share that people call wrong "
                    f"(negative predictive value); {_WEIGHTED}.", "How many examples are wrong at all.")),
        _of_table("kappa", kappa, "Cohen's κ", "(agreement − chance) / (1 − chance), chance = Σ over right and wrong "
                  "of (share by the verdict × share by people)",
                  "Agreement beyond that of two who say right as often and know nothing of the example.",
                  "How many examples are right: near 0 or 1, κ is low whatever the verdict; then read AC1 beside it.",
                  _COHEN, (-1.0, 1.0)),
        _of_table("ac1", ac1, "Gwet's AC1", "(agreement − chance) / (1 − chance), chance = 2q(1 − q), q the mean "
                  "share of right of verdict and people",
                  "Agreement beyond chance, which holds still where nearly all examples are right.", "", _GWET,
                  (-1.0, 1.0)),
        _of_table("people_right", _right_by_people, "right by people", "(TP + FN) / all",
                  "How many examples of the run are right by their labels alone.", direction="none", compared=False),
        _of_table("verdict_right", _right_by_verdict, "right by the verdict", "(TP + FP) / all",
                  "How many of them the verdict calls right, as far as the labelled ones tell.", direction="none"),
    ]  # fmt: skip


def _of_table(
    name: str,
    finish: Finish,
    title: str,
    formula: str,
    meaning: str,
    moved_by: str = "",
    citation: str = "",
    range: tuple[float, float] = (0.0, 1.0),
    direction: Direction = "higher",
    compared: bool = True,
) -> Statistic:
    told = Explanation(formula, f"{meaning} {_WEIGHTED[:1].upper()}{_WEIGHTED[1:]}.", moved_by, citation)
    return Statistic(
        name, TABLE, finish, title, direction, range, interval=TableInterval(finish), interval_sums=FOR_INTERVALS,
        compared=compared, explanation=told, absent_column="_no_truth",
    )  # fmt: skip


def _agreement(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    return ratio(tp + tn, tp + fp + fn + tn)


def _right_by_people(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    return ratio(tp + fn, tp + fp + fn + tn)


def _right_by_verdict(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    return ratio(tp + fp, tp + fp + fn + tn)


# ---- people among themselves


def pair_columns(first: int, second: int) -> list[str]:
    """The table of two people."""
    return [f"_people_{first}_{second}{cell}" for cell in TABLE]


def person_columns(person: int) -> list[str]:
    """The table of the verdict and one person."""
    return [f"_person_{person}{cell}" for cell in TABLE]


LABELS_TABLE = tuple(f"_labels{cell}" for cell in TABLE)
"""The table of the verdict and all labels, each person's a share of its example."""
LABELS_FOR_INTERVALS = tuple(f"_labels{column}" for column in FOR_INTERVALS)


def _among(people: int) -> list[AnyStatistic]:
    """`people` of them; pairs are told apart where they are few."""
    found: list[AnyStatistic] = [
        mean_of(
            "people_same", "people_agreement", title="people agree", direction="higher", absent=FEWER,
            compared=False, explanation=Explanation(
                "mean over examples of the share of pairs of people who say the same",
                "How often two people agree: a verdict cannot be expected to agree with them more often.",
                "How hard the examples are, and how well people were told what to look for."),
        ),
        Statistic(
            "people_alpha", SPLITS, alpha, "people: Krippendorff's α", "higher", (-1.0, 1.0), absent=FEWER,
            interval=SplitInterval(alpha), interval_sums=SPLITS, compared=False,
            explanation=Explanation(
                "1 − observed / expected disagreement, over the pairs of labels of each example",
                "Agreement of people beyond chance, however many labelled each example.",
                "How many examples are right, as for κ.", _KRIPPENDORFF),
        ),
    ]  # fmt: skip
    if people > MOST_PEOPLE:
        return found
    pairs = [column for two in combinations(range(people), 2) for column in pair_columns(*two)]
    each = [column for person in range(people) for column in person_columns(person)]
    ceiling = CeilingInterval(people)
    labels = (*LABELS_TABLE, *LABELS_FOR_INTERVALS)
    found += [
        Statistic(
            "people_kappa", tuple(pairs), mean_kappa, "people: κ of pairs", "higher", (-1.0, 1.0), absent=FEWER,
            interval=SplitInterval(mean_kappa), interval_sums=SPLITS, compared=False,
            explanation=Explanation(
                "mean of Cohen's κ over the pairs of people", "How well one person agrees with another, beyond chance: "
                "the ceiling for a verdict.", "How many examples are right, as for κ.", _COHEN),
        ),
        Statistic(
            "verdict_kappa", tuple(each), mean_kappa, "verdict: κ with each", "higher", (-1.0, 1.0), absent=FEWER,
            interval=EachPersonInterval(), interval_sums=labels,
            explanation=Explanation(
                "mean over people of Cohen's κ of verdict and person, over examples with two labels and more",
                "The same for the verdict: as if it were one more person.", "How many examples are right.", _COHEN),
        ),
        Statistic(
            "to_ceiling", (*each, *pairs), ceiling.value, "verdict less people", "higher", (-2.0, 2.0), absent=FEWER,
            interval=ceiling, interval_sums=(*SPLITS, *labels),
            explanation=Explanation(
                "verdict_kappa − people_kappa", "Below 0: the verdict agrees with people less well than they do "
                "with one another. Around 0: it does for one more person.", "", ""),
        ),
    ]  # fmt: skip
    return found
