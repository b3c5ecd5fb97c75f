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


def test_every_mended_bin_and_figure(shared: Path) -> None:
    golden = shared / "golden/calibrated"
    expected = json.loads((golden / "fixed_expected.json").read_text())
    bins = figures = errors = 0
    for name, tables in expected.items():
        case = json.loads((golden / "metrics" / f"{name}.json").read_text())
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
