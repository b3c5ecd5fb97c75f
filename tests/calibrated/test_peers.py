"""The same figures from other packages, where they are right; where they are not, the test says why."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sensecheck
from sensecheck.calibrated import ranking, smooth_ece
from sensecheck.calibrated.recalibration import fit
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions

BINS = 15


def rows(n: int = 4000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(5, 1.5, n)
    return p, rng.random(n) < p**1.3


def ours(p: np.ndarray, y: np.ndarray, bins: int = BINS) -> Result:
    return sensecheck.calibrated.evaluate(confidence=p, correct=y, bins=bins, options=IntervalOptions(method="none"))


def test_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    from sklearn.calibration import calibration_curve
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    p, y = rows()
    found = ours(p, y)
    assert found["brier"].value == pytest.approx(metrics.brier_score_loss(y, p))
    assert found["nll"].value == pytest.approx(metrics.log_loss(y, p))
    for values in (p, np.round(p, 1)):
        assert ranking.auroc(values, y) == pytest.approx(metrics.roc_auc_score(y, values))
    accuracy, confidence = calibration_curve(y, p, n_bins=BINS)
    curve = np.asarray(found["reliability"].value).reshape(4, BINS)
    full = curve[2] > 0
    np.testing.assert_allclose(curve[0][full], accuracy)
    np.testing.assert_allclose(curve[1][full], confidence)
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(p, y)
    grid = np.linspace(0, 1, 999)
    np.testing.assert_allclose(fit("isotonic", p, y)(grid), isotonic.predict(grid), atol=1e-12)
    logit = (np.log(p) - np.log1p(-p))[:, None]
    platt = LogisticRegression(C=1e10, tol=1e-10).fit(logit, y)
    np.testing.assert_allclose(fit("platt", p, y)(p), platt.predict_proba(logit)[:, 1], atol=1e-5)


def test_scikit_learn_temperature() -> None:
    calibration = pytest.importorskip("sklearn.calibration", reason="scikit-learn is not installed")
    made = getattr(calibration, "_TemperatureScaling", None)
    if made is None:
        pytest.skip("this scikit-learn has no temperature scaling")
    p, y = rows()
    logit = np.log(p) - np.log1p(-p)
    theirs = made().fit(logit[:, None], y.astype(int))
    # scikit-learn makes one decision value d the pair (−d, d), 2d apart, so its temperature is twice ours.
    assert 2 * fit("temperature", p, y).parameters["T"][0] == pytest.approx(1 / float(theirs.beta_), rel=1e-3)


def test_netcal() -> None:
    metrics = pytest.importorskip("netcal.metrics", reason="netcal is not installed")
    p, y = rows()
    found = ours(p, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert metrics.ECE(BINS).measure(p, y.astype(int)) == pytest.approx(found["ece"].value)
        assert metrics.MCE(BINS).measure(p, y.astype(int)) == pytest.approx(found["mce"].value)
        # Its "ACE" is the plain mean of the gaps over equal-width bins, full or nearly empty: another figure than
        # Nixon's ACE, which is over bins of equal mass and which ours is.
        assert metrics.ACE(BINS).measure(p, y.astype(int)) != pytest.approx(found["ace"].value, rel=0.1)


def test_torchmetrics() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    theirs = pytest.importorskip("torchmetrics.functional.classification", reason="torchmetrics is not installed")
    p, y = rows()
    found = ours(p, y)
    for norm, name in (("l1", "ece"), ("l2", "rmsce"), ("max", "mce")):
        value = theirs.binary_calibration_error(torch.tensor(p), torch.tensor(y.astype(int)), n_bins=BINS, norm=norm)
        assert float(value) == pytest.approx(found[name].value, abs=1e-9)


def test_torchmetrics_puts_certainty_into_a_bin_of_its_own() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    theirs = pytest.importorskip("torchmetrics.functional.classification", reason="torchmetrics is not installed")
    # Two bins. In the upper one, 0.9 is right and 1.0 is wrong: mean confidence 0.95, accuracy 0.5, a gap of 0.45.
    p, y = np.array([0.9, 1.0]), np.array([True, False])
    value = float(theirs.binary_calibration_error(torch.tensor(p), torch.tensor(y.astype(int)), n_bins=2, norm="l1"))
    assert ours(p, y, bins=2)["ece"].value == pytest.approx(0.45)
    # torchmetrics opens a third bin for exactly 1.0 beside the two: gaps of 0.1 and 1, a mean of 0.55.
    assert value == pytest.approx(0.55)


def test_relplot() -> None:
    relplot = pytest.importorskip("relplot", reason="relplot is not installed")
    for seed in range(3):
        p, y = rows(seed=seed)
        truth = y.astype(float)
        for width in (0.02, 0.05):
            assert smooth_ece.at_width(p, y, width) == pytest.approx(relplot.smECE_sigma(p, truth, width), abs=5e-4)
        # relplot searches the bandwidth in ten halvings and reads the curve off 200 points.
        assert smooth_ece.smooth_ece(p, y) == pytest.approx(relplot.smECE(p, truth), abs=1.5e-3)
    p = rows()[0]
    fair = np.random.default_rng(9).random(len(p)) < p
    assert smooth_ece.smooth_ece(p, fair) == pytest.approx(relplot.smECE(p, fair.astype(float)), abs=1.5e-3)


def test_mapie() -> None:
    calibration = pytest.importorskip("mapie.metrics.calibration", reason="MAPIE is not installed")
    p, y = rows()
    # MAPIE's bins span the smallest to the largest confidence: with 0 and 1 among them they are ours.
    p = np.append(p, [0.0, 1.0])
    y = np.append(y, [False, True])
    theirs = calibration.expected_calibration_error(y.astype(int), p, num_bins=BINS)
    assert ours(p, y)["ece"].value == pytest.approx(theirs, abs=1e-9)


def test_debiased_ece_is_ece_less_simulated_noise_in_squares() -> None:
    rng = np.random.default_rng(0)
    p, y = rows(600, 4)
    found = ours(p, y)
    index = np.minimum((p * BINS).astype(int), BINS - 1)
    fold = np.eye(BINS)[index]
    calibrated = (rng.random((10_000, len(p))) < p).astype(float)
    floor = np.abs(calibrated @ fold - p @ fold).sum(1).mean() / len(p)
    ece = found["ece"].value
    assert found["debiased_ece"].value == pytest.approx(np.sqrt(ece**2 - floor**2), abs=3e-4)


def test_brier_parts_add_up() -> None:
    found = ours(*rows())
    parts = found["brier_reliability"].value - found["brier_resolution"].value + found["brier_uncertainty"].value
    assert parts == pytest.approx(found["brier"].value)
    assert found["brier_reliability"].value == pytest.approx(found["rmsce"].value ** 2)


def test_equal_mass_bins_do_not_split_equals() -> None:
    # A thousand rows at 0.9, of which 600 are right: one bin and a gap of 0.3, in whatever order the rows come.
    p = np.full(1000, 0.9)
    for seed in range(3):
        y = np.random.default_rng(seed).permutation(np.arange(1000) < 600)
        assert ours(p, y)["ace"].value == pytest.approx(0.3)
