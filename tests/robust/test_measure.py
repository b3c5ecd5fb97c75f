"""Triangles → columns: the rules of logic, marks, funnel, distances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensecheck.robust import original
from sensecheck.robust.figures import statistics
from sensecheck.robust.measure import Statement, Trial, distances, expected, funnel, marks, measurements, row, wilson
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.measurements import Frames


def trial(
    gold: int | None, polarity: str, said: list[int], *, predicted: int | None = None, reason: str | None = None
) -> Trial:
    target = 0 if polarity == "positive" else 2
    made = [Statement(f"g{i}", target, target, label, (0.1, 0.2, 0.3), True, True) for i, label in enumerate(said)]
    return Trial(
        "7",
        "p",
        "h",
        gold,
        polarity,
        {},
        gold if predicted is None else predicted,
        (0.3, 0.2, 0.1),
        0,
        made,
        reason=reason,
    )


@pytest.mark.golden
def test_marks_are_the_published_ones(golden: Path) -> None:
    for case in json.loads((golden / "robust" / "scoring_truth_table.json").read_text()):
        polarity = "positive" if case["positive"] else "negative"
        each = [marks(case["label"], polarity, said) for said in case["labels_present"]]
        if case["label"] == 1 and not case["positive"]:
            continue  # no rule speaks of neutral pairs and contradicting statements: never judged by default
        assert (any(m[0] for m in each), any(m[1] for m in each)) == (case["inequal"], case["relaxed_inequal"]), case


def test_expected_labels_follow_from_logic() -> None:
    assert [expected(y, "positive") for y in range(3)] == [0, 1, 2]
    assert [expected(y, "negative") for y in range(3)] == [2, None, None]


@given(
    st.lists(st.integers(0, 2), min_size=5, max_size=5),
    st.sampled_from([(0, "positive"), (1, "positive"), (2, "positive"), (0, "negative")]),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_pair_marks_equal_the_original_on_sound_triangles(said: list[int], kind: tuple[int, str]) -> None:
    gold, polarity = kind
    made = row(trial(gold, polarity, said))
    assert (made["inequal"], made["strict"]) == original.pair_marks(gold, said, polarity == "positive")
    assert made["statements"] == 5
    assert made["statements_strict"] >= made["statements_inequal"]


def test_unsupported_triangle_stands_apart() -> None:
    made = row(trial(2, "negative", [2, 2, 2, 2, 2]))
    assert made["strict"] is None and made["inequal"] is None and made["statements"] is None
    assert made["unsupported_strict"] is True and made["unsupported_inequal"] is True
    assert made["rule"] == "unsupported"


def test_rows_are_kept_for_every_pair() -> None:
    trials = [
        trial(0, "positive", [0] * 5),
        Trial("8", "p", "h", None, "positive", {}, reason="no gold label"),
        Trial("9", "p", "h", 1, "positive", {}, predicted=0, reason="the model is wrong on the pair itself"),
    ]
    frame = measurements(trials)
    assert frame["scored"].to_list() == [True, False, True]
    assert frame["reason"].to_list() == [None, "no gold label", None]
    assert frame["correct"].to_list() == [True, None, False]
    assert frame["strict"].to_list() == [False, None, None]
    (line,) = funnel(frame, 5)
    assert (line["pairs"], line["with gold"], line["correct"], line["judged"]) == (3, 2, 1, 1)


def test_the_funnel_keeps_a_pair_whose_statement_got_no_label() -> None:
    """Such a pair is lost at the last step; it was right on (p, h) all the same."""
    from sensecheck.models import classifiers, generators
    from sensecheck.robust.pipeline import Pair, Pipeline, Plan

    def model(premises: list[str], hypotheses: list[str]) -> list[int | None]:
        return [None if p == "p." and h == "g0." else 0 for p, h in zip(premises, hypotheses, strict=True)]

    asked = classifiers.Asked(classifiers.CallableClassifier(model))
    makes = generators.Asked(generators.CallableGenerator(lambda text, positive, n: [f"g{i}." for i in range(5)]))
    found = Pipeline(asked, makes, Plan(("positive",))).trials([Pair("1", "p", "h", 0, {}), Pair("2", "q", "h", 0, {})])
    frame = measurements(found)
    (line,) = funnel(frame, 5)
    assert (line["correct"], line["accepted one way"], line["judged"]) == (2, 2, 1)
    assert frame["left"].to_list() == ["the model gave no label to a statement and the premise", "judged"]


def test_rates_of_statements_by_label_and_polarity() -> None:
    frame = measurements([trial(0, "positive", [0, 1, 2, 0, 0]), trial(2, "positive", [2, 2, 2, 2, 0])])
    found = estimate(Frames(frame), statistics({}))
    rate = {name: (found.figure(name).value, found.figure(name).n) for name in (
        "statement_inequal", "statement_violation", "statement_inequal_positive_entailment",
        "statement_violation_positive_entailment", "statement_inequal_positive_contradiction",
    )}  # fmt: skip
    assert [value for value, _ in rate.values()] == pytest.approx([2 / 10, 3 / 10, 1 / 5, 2 / 5, 1 / 5])
    assert [n for _, n in rate.values()] == [2, 2, 1, 1, 1]


def test_what_a_figure_could_not_score_is_told_in_words() -> None:
    wrong = Trial("9", "p", "h", 1, "positive", {}, predicted=0, reason="the model is wrong on the pair itself")
    frame = measurements([trial(0, "positive", [0] * 5), trial(2, "negative", [2] * 5), wrong])
    found = estimate(Frames(frame), statistics({}))
    assert found.figure("strictly_inequal").unscored == {
        "logic asks nothing of contradiction pairs and contradicting statements": 1,
        "the model is wrong on the pair itself": 1,
    }
    assert found.figure("contradiction_chain_violation").unscored == {
        "no judged statement under the contradiction chain": 3
    }
    words = {why for figure in found.overall for why in figure.unscored}
    assert not [why for why in words if "_" in why or "." in why]


def test_n_of_a_distance_counts_the_pairs_that_have_such_statements() -> None:
    pairs = [trial(0, "positive", [0] * 5), trial(0, "positive", [0, 0, 0, 0, 1])]
    found = estimate(Frames(measurements(pairs)), statistics({}))
    assert [found.figure(f"js_{group}").n for group in ("same", "changed")] == [2, 1]


def test_symmetry_and_reflexivity() -> None:
    made = trial(0, "negative", [2, 2])
    made.statements += [Statement("x", 2, 1), Statement("y", 0, 1), Statement("z", 1, 2)]
    found = row(made)
    assert (found["mirrored"], found["mirror_applies"], found["mirror_broken"]) == (5, 4, 2)
    assert found["reflexive_broken"] is False
    made.itself = 1
    assert row(made)["reflexive_broken"] is True
    made.counts_pair = False
    assert row(made)["reflexive_broken"] is None and row(made)["correct"] is None


def test_distances_are_what_they_are_called() -> None:
    from scipy.spatial.distance import jensenshannon
    from scipy.stats import entropy

    rng = np.random.default_rng(0)
    h, g = rng.normal(size=3) * 3, rng.normal(size=(20, 3)) * 3
    p = np.exp(h) / np.exp(h).sum()
    q = np.exp(g) / np.exp(g).sum(1, keepdims=True)
    found = distances(h.tolist(), g.tolist())
    np.testing.assert_allclose(found["js"], [jensenshannon(p, x, 2) for x in q], atol=1e-12)
    np.testing.assert_allclose(found["kl"], [entropy(p, x, 2) for x in q], atol=1e-9)
    np.testing.assert_allclose(found["tv"], np.abs(q - p).sum(1) / 2, atol=1e-12)
    np.testing.assert_allclose(found["tv"], np.abs(q - p).max(1), atol=1e-12)  # three labels: the same number
    np.testing.assert_allclose(found["spread"], q.std(1), atol=1e-12)


def test_wilson_interval() -> None:
    low, high = wilson(0, 10)
    assert low == 0.0 and 0.27 < high < 0.29
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_choices_of_a_run_choose_its_figures() -> None:
    def names(**method: Any) -> list[str]:
        return [figure.name for figure in statistics(method)]

    every = names()
    assert len(every) == len(set(every)) == 44
    assert names(polarity="both", keep=5, distances=True, cosine=True) == every
    one_sided = [
        name for polarity in ("positive", "negative") for name in every if name not in names(polarity=polarity)
    ]
    assert one_sided[:2] == ["contradiction_chain_violation", "contradiction_chain_violation_global"]
    assert {"unsupported_inequal", "inequal_negative_entailment", "equivalence_violation"} <= set(one_sided)
    assert [name for name in every if name not in names(cosine=False)] == ["cosine_same", "cosine_changed"]
    assert [name for name in every if name not in names(distances=False)] == every[-10:]
    formulas = [figure.explanation.formula for figure in statistics({"keep": 3}) if figure.explanation is not None]
    assert sum("one of 3 statements" in formula for formula in formulas) == 2
    assert not [formula for formula in formulas if "{keep}" in formula]
