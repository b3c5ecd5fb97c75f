"""calibration_metric's recorded bins, data frames, metrics, warnings and errors: every one, to the bit."""

from __future__ import annotations

import itertools
import json
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
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
CASES = 53


def numbers(values: list[Any]) -> list[float]:
    return [ODD[v] if isinstance(v, str) else v for v in values]


def same(got: Any, expected: Any) -> bool:
    return bool(np.array_equal(np.asarray(got), np.asarray(expected), equal_nan=True))


def observed(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """The value or the exception, and the warnings as they are recorded: sorted, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as failure:
            result = failure
    return result, sorted({f"{w.category.__name__}: {w.message}" for w in caught})


def check_error(result: Any, expected: dict[str, Any], where: str) -> None:
    assert isinstance(result, Exception), f"{where}: expected {expected['error']}, got {result!r}"
    assert type(result).__name__ == expected["error"], f"{where}: {result!r}"
    assert str(result)[:200] == expected["message"], where


def samples(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.array(numbers(case["conf"]), dtype=case["conf_dtype"]),
        np.array(numbers(case["correct"]), dtype=case["correct_dtype"]),
    )


def compare_case(case: dict[str, Any], tally: Counter[str]) -> None:
    conf, correct = samples(case)
    for expected in case["expected"]:
        common = {"n_bins": expected["n_bins"], "binning_strategy": expected["binning"]}
        where = f"{case['name']} {expected['binning']} {expected['n_bins']}"
        ece = original.ECEMetric(**common)

        want = expected["bin_preds"]
        got, warned = observed(lambda ece=ece: ece.bin_preds(conf, correct))
        assert warned == want.get("warnings", []), where
        if "error" in want:
            check_error(got, want, where)
            tally["bin_preds errors"] += 1
        else:
            values, bins, bin_number = got
            assert same(values, numbers(want["value"]["values"])), where
            assert same(bins, numbers(want["value"]["bins"])), where
            histogram = {str(k): v for k, v in sorted(Counter(bin_number.tolist()).items())}
            assert histogram == want["value"]["bin_number_hist"], where
            if "bin_number" in want["value"]:
                assert bin_number.tolist() == want["value"]["bin_number"], where
            tally["bin_preds values"] += 1

        want = expected["df"]
        got, warned = observed(lambda ece=ece: ece.bins_to_df(conf, correct))
        assert warned == want.get("warnings", []), where
        if "error" in want:
            check_error(got, want, where)
            tally["df errors"] += 1
        else:
            assert list(got.columns) == list(want["value"]), where
            for column, cells in want["value"].items():
                assert same(got[column].to_numpy(), numbers(cells)), f"{where} {column}"
                tally["df cells"] += len(cells)

        for name, want in expected["metrics"].items():
            key, setting = name.split("|")
            metric = original.METRICS[key](**common, **SETTINGS[setting])
            got, warned = observed(lambda metric=metric: metric(conf, correct))
            assert warned == want.get("warnings", []), f"{where} {name}"
            tally["warnings"] += len(warned)
            if "error" in want:
                check_error(got, want, f"{where} {name}")
                tally["metric errors"] += 1
                continue
            value = numbers([want["value"]])[0]
            if key == "pearson":
                assert got == pytest.approx(value, rel=0, abs=1e-12, nan_ok=True), f"{where} {name}"
            else:
                assert same(got, value), f"{where} {name}: {got!r}, expected {value!r}"
            tally["metric values"] += 1


def golden_cases(golden: Path) -> list[dict[str, Any]]:
    files = sorted((golden / "calibrated/metrics").glob("*.json"))
    assert len(files) == CASES
    return [json.loads(path.read_text()) for path in files]


def test_every_recorded_value_error_and_warning(golden: Path) -> None:
    tally: Counter[str] = Counter()
    for case in golden_cases(golden):
        compare_case(case, tally)
    assert tally == {
        "bin_preds values": 386,
        "bin_preds errors": 32,
        "df cells": 13770,
        "df errors": 148,
        "metric values": 3861,
        "metric errors": 2409,
        "warnings": 2508,
    }


def test_the_numbers_need_neither_scipy_nor_pandas(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("scipy", "scipy.stats", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    compared = 0
    for case in golden_cases(golden):
        conf, correct = samples(case)
        for expected, setting in itertools.product(case["expected"], SETTINGS):
            options = {"n_bins": expected["n_bins"], "binning": expected["binning"], **SETTINGS[setting]}
            figures, warned = observed(partial(original.parity_figures, conf, correct, **options))
            assert list(figures) == ["ece", "me_above", "me_below", "pearson", "max"]
            recorded: set[str] = set()
            for key, got in figures.items():
                want = expected["metrics"][f"{key}|{setting}"]
                where = f"{case['name']} {expected['binning']} {expected['n_bins']} {key}|{setting}"
                recorded.update(want.get("warnings", []))
                if "error" in want:
                    check_error(got, want, where)
                elif key == "pearson":
                    value = numbers([want["value"]])[0]
                    assert got == pytest.approx(value, rel=0, abs=1e-12, nan_ok=True), where
                else:
                    assert same(got, numbers([want["value"]])[0]), where
                compared += 1
            if "error" not in expected["df"]:  # else one binning warns once, under the name of the first metric
                texts = [{w.split(": ", 1)[1] for w in ws} for ws in (warned, recorded)]
                assert texts[0] == texts[1], case["name"]
    assert compared == 6270
    with pytest.raises(ImportError, match="pip install pandas"):
        original.ECEMetric(n_bins=1).bins_to_df(np.array([0.5, 0.6]), np.array([1, 0]))
