"""Draws that are shuffled quantiles have the distributions they are of, and know nothing of one another."""

from __future__ import annotations

import numpy as np
import pytest

from sensecheck.calibrated.debiased import _binomial
from sensecheck.statistics.counted import PoissonDraws
from sensecheck.statistics.quantile_draws import QuantileDraws
from sensecheck.statistics.resample import Drawing, poisson_weights
from sensecheck.statistics.side_by_side import added_up, running

MEANS = np.array([0.0, 0.3, 1.0, 5.0, 15.9, 16.1, 40.0, 3_000.0])


def _poisson(replicates: int, seed: int = 1) -> PoissonDraws:
    return PoissonDraws(Drawing(poisson_weights, "bootstrap", replicates, seed))


def test_poisson_draws_have_their_mean_and_variance() -> None:
    draws = _poisson(1000).of(MEANS)
    assert draws.shape == (1001, len(MEANS)) and draws[0].tolist() == MEANS.tolist()
    assert draws[1:].mean(axis=0) == pytest.approx(MEANS, rel=0.005, abs=1e-9)
    assert draws[1:].var(axis=0) == pytest.approx(MEANS, rel=0.03, abs=1e-9)
    some = draws[1:, 3:7]
    skew = ((some - some.mean(0)) ** 3).mean(0) / some.std(0) ** 3
    assert skew == pytest.approx(1 / np.sqrt(MEANS[3:7]), rel=0.12)
    few = draws[1:, :5]
    assert (few == np.round(few)).all() and (few >= 0).all()


def test_draws_are_as_good_as_independent() -> None:
    draws = _poisson(1000).of(np.full(400, 7.0))[1:]
    together = np.corrcoef(draws.T)[np.triu_indices(400, 1)]
    assert abs(together.mean()) < 0.002 and together.std() == pytest.approx(1 / np.sqrt(1000), rel=0.05)
    assert draws.sum(axis=1).var() == pytest.approx(400 * 7.0, rel=0.15)


def test_draws_do_not_depend_on_what_else_is_drawn() -> None:
    once = _poisson(200)
    long = once.of(np.full(300, 3.0))
    assert (once.of(np.full(20, 3.0)) == long[:, :20]).all()
    assert (_poisson(200).of(np.full(20, 3.0)) == long[:, :20]).all()
    assert (_poisson(200, seed=2).of(np.full(20, 3.0)) != long[:, :20]).any()


@pytest.mark.parametrize(("count", "chance"), [(1, 0.5), (10, 0.5), (40, 0.01), (399, 0.5), (1_000, 0.1), (9_000, 0.4)])
def test_binomial_draws(count: int, chance: float) -> None:
    (draws,) = _binomial(QuantileDraws(4000, 0, "floor"), np.array([count]), np.array([chance]))
    assert draws.mean() == pytest.approx(count * chance, rel=0.01)
    assert draws.var() == pytest.approx(count * chance * (1 - chance), rel=0.02)
    assert draws.max() <= count


def test_binomial_draws_of_nothing_and_of_none() -> None:
    draws = _binomial(QuantileDraws(100, 0, "floor"), np.array([0, 7]), np.array([0.0, 0.0]))
    assert (draws == 0).all()


@pytest.mark.parametrize("replicates", [3, 300])
def test_columns_are_added_up_however_they_lie(replicates: int) -> None:
    values = np.random.default_rng(0).random((replicates, 7))
    starts = np.array([0, 1, 4])
    for lying in (values, np.asfortranarray(values)):
        assert added_up(lying, starts) == pytest.approx(np.add.reduceat(values, starts, axis=1), rel=1e-14)
        assert running(lying) == pytest.approx(np.cumsum(values[:, ::-1], axis=1), rel=1e-14)
    assert running(np.asfortranarray(values)[:, :0]).shape == (replicates, 0)
