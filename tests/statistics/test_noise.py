"""Figures that noise pushes up: their intervals reach 0 where there is nothing but noise, and the truth elsewhere."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sensecheck.calibrated.figures import statistics
from sensecheck.calibrated.smooth_ece import smooth_ece
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import Frames


@pytest.mark.parametrize(("power", "least"), [(1.0, 0.9), (2.0, 0.85)])
def test_smooth_ece_covers(power: float, least: float) -> None:
    """100 data sets of 1,000 rows: calibrated (truth 0), and far too confident."""
    figure = [s for s in statistics({}) if s.name == "smooth_ece"]

    def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        confidence = rng.beta(5, 1.5, n)
        return confidence, rng.random(n) < confidence**power

    truth = 0.0 if power == 1.0 else smooth_ece(*drawn(10**6, 1_000_000))
    covered = 0
    for seed in range(100):
        confidence, correct = drawn(seed, 1000)
        frame = Frames(pl.DataFrame({"id": np.arange(1000), "confidence": confidence, "correct": correct}))
        found = estimate(frame, figure, options=IntervalOptions(replicates=200, seed=seed)).figure("smooth_ece")
        assert isinstance(found.low, float) and isinstance(found.high, float)
        covered += found.low <= truth <= found.high
    assert covered >= 100 * least
