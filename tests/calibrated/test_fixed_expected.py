"""The original's choices with only its failures mended, against recorded values: to 1e-12."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensecheck.calibrated import original

pytestmark = pytest.mark.golden

SETTINGS: dict[str, dict[str, Any]] = {
    "unweighted": {"weighted": False},
    "weighted": {"weighted": True},
    "log": {"weighted": True, "weight_key": "normalized_log_count"},
}
ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def numbers(values: list[Any]) -> list[float]:
    return [ODD.get(v, v) if isinstance(v, str) else v for v in values]


def test_every_mended_bin_and_figure(golden: Path) -> None:
    folder = golden / "calibrated"
    expected = json.loads((folder / "fixed_expected.json").read_text())
    bins = figures = errors = 0
    for name, tables in expected.items():
        case = json.loads((folder / "metrics" / f"{name}.json").read_text())
        conf = np.array(numbers(case["conf"]), dtype=case["conf_dtype"])
        correct = np.array(numbers(case["correct"]), dtype=case["correct_dtype"])
        for want in tables:
            where = f"{name} {want['binning']} {want['n_bins']}"
            common = {"n_bins": want["n_bins"], "binning": want["binning"]}
            model, accuracy, count = original.mended_bins(conf, correct, **common)
            assert count.tolist() == want["count"], where
            np.testing.assert_allclose(model, numbers(want["prob_model"]), rtol=0, atol=1e-12, err_msg=where)
            np.testing.assert_allclose(accuracy, numbers(want["prob_correct"]), rtol=0, atol=1e-12)
            bins += len(count)
            for setting, options in SETTINGS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    got = original.mended_figures(conf, correct, **common, **options)
                for key, value in got.items():
                    recorded = want["metrics"][f"{key}|{setting}"]
                    if isinstance(recorded, str) and recorded.startswith("error:"):
                        assert f"error:{type(value).__name__}" == recorded, where
                        errors += 1
                        continue
                    figure = numbers([recorded])[0]
                    assert value == pytest.approx(figure, rel=0, abs=1e-12, nan_ok=True), f"{where} {key}"
                    figures += 1
    assert (len(expected), bins, figures, errors) == (31, 1062, 1641, 54)


def test_what_did_not_fail_is_left_as_it_was(golden: Path) -> None:
    """Wherever the original gives sound figures, mending changes none of them."""
    compared = 0
    for path in sorted((golden / "calibrated/metrics").glob("*.json")):
        case = json.loads(path.read_text())
        conf = np.array(numbers(case["conf"]), dtype=case["conf_dtype"])
        correct = np.array(numbers(case["correct"]), dtype=case["correct_dtype"])
        # To the bit; but the original adds float32 confidences up in float32, and mended sums are float64.
        within = 0.0 if case["conf_dtype"] == "float64" else 1e-6
        for expected in case["expected"]:
            stuck = "value" in expected["df"] and 0 in expected["df"]["value"]["count"]
            if "error" in expected["df"] or stuck:
                continue
            for setting, options in SETTINGS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    got = original.mended_figures(
                        conf, correct, n_bins=expected["n_bins"], binning=expected["binning"], **options
                    )
                for key, value in got.items():
                    recorded = expected["metrics"][f"{key}|{setting}"]
                    if "error" in recorded:
                        assert type(value).__name__ == recorded["error"]
                        continue
                    figure = numbers([recorded["value"]])[0]
                    room = max(within, 1e-12) if key == "pearson" else within
                    assert value == pytest.approx(figure, rel=0, abs=room, nan_ok=True), (case["name"], key)
                    compared += 1
    assert compared == 3816
