"""Replicates from stretches of neighbours say what replicates of the rows say."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sensecheck.calibrated.figures import statistics
from sensecheck.statistics import squeezing
from sensecheck.statistics.compare import compare
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import Frames

NAMES = ("auroc", "aurc", "e_aurc", "accuracy_at_80", "smooth_ece")
FIGURES: list[Any] = [s for s in statistics({}) if s.name in NAMES]
OPTIONS = IntervalOptions(replicates=400)


def rows(n: int, per_cluster: int = 1, seed: int = 0, weighted: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    confidence = rng.beta(5, 1.5, n).round(3 if seed else 6)
    cluster = np.arange(n) // per_cluster
    shift = rng.normal(size=n)[cluster] * (0.1 if per_cluster > 1 else 0.0)
    made = {
        "id": [f"r{i}" for i in range(n)],
        "unit": [f"r{i}" for i in range(n)],
        "confidence": confidence,
        "correct": rng.random(n) < np.clip(confidence**1.2 + shift, 0, 1),
    }
    if per_cluster > 1:
        made["cluster"] = [f"c{c}" for c in cluster]
    if weighted:
        made["weight"] = rng.gamma(2.0, 0.7, n)
    return pl.DataFrame(made)


@pytest.mark.parametrize(("n", "per_cluster", "weighted"), [(12_000, 1, False), (12_000, 6, False), (12_000, 1, True)])
def test_same_intervals_as_from_rows(n: int, per_cluster: int, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = Frames(rows(n, per_cluster, weighted=weighted))
    plain = estimate(frame, FIGURES, options=OPTIONS)
    monkeypatch.setattr(squeezing, "SQUEEZED_ABOVE", 1000)
    squeezed = estimate(frame, FIGURES, options=OPTIONS)
    for name in NAMES:
        a, b = plain.figure(name), squeezed.figure(name)
        assert a.value == b.value
        assert isinstance(a.low, float) and isinstance(a.high, float)
        assert isinstance(b.low, float) and isinstance(b.high, float)
        width = a.high - a.low
        # 2,000 clusters are groups of their own, with the very same weights; 12,000 rows are put into 2,048 groups.
        near = 0.02 if per_cluster > 1 else 0.2
        assert b.low == pytest.approx(a.low, abs=near * width), name
        assert b.high == pytest.approx(a.high, abs=near * width), name


def test_neither_order_nor_shards_move_a_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squeezing, "SQUEEZED_ABOVE", 1000)
    frame = rows(9000, 2, weighted=True)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    one = estimate(Frames(frame), FIGURES, options=OPTIONS)
    other = estimate(Frames([shuffled.slice(0, 100), shuffled.slice(100)]), FIGURES, options=OPTIONS)
    for name in ("auroc", "smooth_ece"):
        assert (one.figure(name).low, one.figure(name).high) == (other.figure(name).low, other.figure(name).high)


def test_the_interval_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    """AUROC of data whose AUROC is known, 120 times: 95 % intervals hold it about 95 % of the time."""
    monkeypatch.setattr(squeezing, "SQUEEZED_ABOVE", 1000)
    figure = [s for s in FIGURES if s.name == "auroc"]
    rng = np.random.default_rng(5)
    truth, covered = 0.75, 0
    for i in range(120):
        correct = rng.random(3000) < 0.6
        # P(right above wrong) = Φ(d/√2) for normals d apart.
        score = 1 / (1 + np.exp(-(rng.normal(size=3000) + correct * 0.6744897501960817 * 2**0.5)))
        frame = Frames(pl.DataFrame({"id": np.arange(3000) + 3000 * i, "confidence": score, "correct": correct}))
        found = estimate(frame, figure, options=IntervalOptions(replicates=200, seed=i)).figure("auroc")
        assert isinstance(found.low, float) and isinstance(found.high, float)
        covered += found.low <= truth <= found.high
    assert 0.9 <= covered / 120 <= 0.99


def test_comparison_agrees_with_that_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = rows(8000, seed=1), rows(8000, seed=2)
    b = b.with_columns(pl.when(pl.int_range(pl.len()) % 20 == 0).then(True).otherwise("correct").alias("correct"))
    plain = {d.name: d for d in compare(Frames(a), Frames(b), FIGURES, options=OPTIONS)}
    monkeypatch.setattr(squeezing, "SQUEEZED_ABOVE", 1000)
    squeezed = {d.name: d for d in compare(Frames(a), Frames(b), FIGURES, options=OPTIONS)}
    for name in NAMES:
        one, other = plain[name], squeezed[name]
        width = one.high - one.low
        # A figure that noise pushes up is compared less that noise, which the replicates tell.
        assert other.difference == pytest.approx(one.difference, abs=0.05 * width if name == "smooth_ece" else 1e-12)
        close = (0.4 if name == "smooth_ece" else 0.2) * width
        assert other.low == pytest.approx(one.low, abs=close), name
        assert other.high == pytest.approx(one.high, abs=close), name
        assert other.p == pytest.approx(one.p, abs=0.1), name
