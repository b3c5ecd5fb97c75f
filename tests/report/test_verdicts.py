"""Verdicts one can bet on: what few rows, certain models, unequal rows and odd options must not make of a figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sensecheck
from sensecheck import calibrated
from sensecheck.cli import main
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions


def measured(name: str, confidence: np.ndarray, correct: np.ndarray, **others: object) -> Result:
    return calibrated.evaluate(confidence=confidence, correct=correct, system=name, **others)


@pytest.mark.parametrize(("confidence", "right"), [(1.0, True), (1.0, False), (0.9, False), (0.1, False), (0.9, True)])
def test_no_figure_of_few_equal_rows_is_certain(confidence: float, right: bool) -> None:
    found = measured("A", np.full(20, confidence), np.full(20, right))
    for name in ("accuracy", "ece", "rmsce", "ace", "adaptive_ece", "mce", "accuracy_at_80", "confidence_gap", "aurc"):
        figure = found[name]
        assert figure.low is None or figure.high - figure.low > 0.01, name
        if figure.low is not None:
            assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9, name
    gap = found["confidence_gap"]
    assert found["ece"].high >= max(abs(gap.low), abs(gap.high)) - 0.03, "no calibration error is below the whole gap"


def test_fifty_right_at_full_confidence() -> None:
    ece = measured("A", np.ones(50), np.ones(50, dtype=bool))["ece"]
    assert ece.low == 0 and 0.05 < ece.high < 0.1


def test_a_gate_on_the_bound_wants_more_than_five_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "five.csv"
    file.write_text("confidence,correct\n" + "0.9,1\n" * 5)
    assert main(["calibrated", str(file), "--fail-under", "accuracy=0.9"]) == 0
    assert main(["calibrated", str(file), "--fail-under", "accuracy=0.9", "--gate-on", "bound"]) == 1
    assert "the lower bound of accuracy is 0.478176" in capsys.readouterr().err
    assert main(["calibrated", str(file), "--fail-over", "ece=nan"]) == 2


def test_the_level_of_a_comparison_is_not_that_of_the_runs_intervals() -> None:
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.5, 1, 300)
    sides = {name: rng.random(300) < confidence - off for name, off in (("A", 0.0), ("B", 0.1))}
    usual, other = (
        [measured(n, confidence, y, options=IntervalOptions(level=level)) for n, y in sides.items()]
        for level in (0.95, 0.8)
    )
    for a, b in zip(usual[0].compare(usual[1]), other[0].compare(other[1]), strict=True):
        assert (a.p, a.low, a.high) == (b.p, b.low, b.high), a.name


def test_runs_of_different_length_are_compared_on_what_they_share() -> None:
    rng = np.random.default_rng(2)
    ids = [f"q{i}" for i in range(300)]
    frame = pl.DataFrame({"id": ids, "confidence": rng.uniform(0.5, 1, 300), "correct": rng.random(300) < 0.8})
    whole = calibrated.evaluate(frame, system="A")
    part = calibrated.evaluate(frame.sample(fraction=1, shuffle=True, seed=1).filter(pl.col("id") < "q2"), system="B")
    found = whole.compare(part)
    shared = found["accuracy"].n_a
    assert shared == found["accuracy"].n_b == part.rows.height and found["accuracy"].difference == 0
    assert found.verdict()[0].startswith(f"Careful: only {shared:,} of A's 300 units are in both runs")
    assert f"{shared:,} units are in both runs, of 300 in A and {shared:,} in B" in " ".join(found.table().notes)
    numbered = [
        calibrated.evaluate(frame.drop("id")[:n], system=name) for name, n in (("A", 300), ("B", 200))
    ]  # fmt: skip
    said = numbered[0].compare(numbered[1]).verdict()
    assert any("all called by number" in sentence for sentence in said)


def test_unscored_rows_have_a_line_and_a_test_of_their_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    chance = rng.random(400)
    ids = [f"q{i}" for i in range(400)]
    hard = chance < 0.25
    sides = []
    for name in ("A", "B"):
        rows = pl.DataFrame({"id": ids, "confidence": chance, "correct": rng.random(400) < chance})
        if name == "B":
            rows = rows.with_columns(confidence=pl.when(pl.Series(~hard)).then("confidence"))
        file = tmp_path / f"{name}.csv"
        rows.write_csv(file)
        sides.append(calibrated.evaluate(str(file), system=name, skip_bad=True))
    own = sides[0]["accuracy"].value, sides[1]["accuracy"].value
    assert own[1] - own[0] > 0.02, "B looks better on the rows that it kept"
    found = sides[0].compare(sides[1])
    accuracy = found["accuracy"]
    assert accuracy.n_a == accuracy.n_b == int((~hard).sum()) and accuracy.better == ""
    (scored,) = found.scored
    assert scored.a == 1 and scored.b == pytest.approx((~hard).mean()) and scored.p < 0.001
    assert any(s.startswith("More scored") and "in A than in B" in s for s in found.verdict())
    stored = sensecheck.compare(sides).to_dict()
    assert stored["scored"][0]["name"].startswith("scored:") and stored["overlap"]["in_both"] == 400


def test_weights_far_from_one_get_one_clear_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for weight in ("1e-300", "1e300"):
        file = tmp_path / "weights.csv"
        file.write_text("confidence,correct,w\n" + f"0.9,1,{weight}\n" * 5)
        assert main(["calibrated", str(file), "--weight", "w"]) == 2
        assert "Only ratios of weights matter" in capsys.readouterr().err
