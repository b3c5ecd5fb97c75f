"""The defaults give the textbook figures."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sensecheck import calibrated
from sensecheck.statistics.figure import IntervalOptions

pytestmark = pytest.mark.golden
NAMES = {"ece": "ece", "mce": "mce", "rmsce": "rmsce", "signed": "confidence_gap"}


def test_every_case_within_1e_12(golden):
    folder = golden / "calibrated"
    expected = json.loads((folder / "standard_expected.json").read_text())
    compared = 0
    for case, by_bins in expected.items():
        stored = json.loads((folder / "metrics" / f"{case}.json").read_text())
        confidence = np.array([float(x) for x in stored["conf"]], dtype=stored["conf_dtype"])
        correct = np.array([float(x) for x in stored["correct"]])
        for bins, figures in by_bins.items():
            result = calibrated.evaluate(
                confidence=confidence, correct=correct, bins=int(bins), options=IntervalOptions(method="none")
            )
            for name, value in figures.items():
                assert result[NAMES[name]].value == pytest.approx(value, abs=1e-12), (case, bins, name)
                compared += 1
            over, under = result["overconfidence"].value, result["underconfidence"].value
            assert over + under == pytest.approx(result["ece"].value, abs=1e-12)
    assert compared >= 500
