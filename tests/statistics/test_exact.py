"""Sums do not depend on order, split or merge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.statistics.exact import ExactSums, exact_sum

unit = st.floats(0, 1, allow_nan=False)
any_size = st.one_of(unit, st.floats(-1e6, 1e6, allow_nan=False), st.floats(-1e-9, 1e-9))


@given(st.lists(any_size, min_size=1, max_size=60), st.randoms(use_true_random=False), st.integers(0, 59))
@settings(max_examples=200, deadline=None)
def test_any_split_and_order_merges_to_the_same_integers(values, random, cut):
    x = np.array(values)
    whole = ExactSums.zeros(1, 1)
    whole.add(None, [x], len(x))
    shuffled = list(values)
    random.shuffle(shuffled)
    cut = min(cut, len(values))
    first, second = ExactSums.zeros(1, 1), ExactSums.zeros(1, 1)
    first.add(None, [np.array(shuffled[:cut])], cut)
    second.add(None, [np.array(shuffled[cut:])], len(values) - cut)
    first.merge(second)
    assert first.floats()[0, 0] == whole.floats()[0, 0]


@given(st.lists(st.floats(0.0625, 1), min_size=1, max_size=200))
@settings(deadline=None)
def test_numbers_from_a_sixteenth_to_one_are_summed_without_any_error(values):
    truth = float(sum(map(Fraction, values)))
    assert exact_sum(np.array(values)) == truth


def test_close_to_the_true_sum_for_any_size():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(0, 1e5, 1000), rng.random(1000), rng.random(1000) * 1e-7])
    truth = sum(map(Fraction, x.tolist()))
    rounding = Fraction(np.spacing(abs(float(truth))))
    assert abs(Fraction(exact_sum(x)) - truth) <= len(x) * Fraction(1, 2**57) + rounding


def test_cells_and_true_false_columns():
    sums = ExactSums.zeros(3, 3)
    cell = np.array([0, 2, 2, 0, 2])
    sums.add(cell, [np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.array([True, True, False, False, True]), None], 5)
    assert sums.floats()[:, 0].tolist() == pytest.approx([0.5, 0.0, 1.0], abs=1e-15)
    assert sums.floats()[:, 1].tolist() == [1.0, 0.0, 2.0]
    assert sums.floats()[:, 2].tolist() == [2.0, 0.0, 3.0]


def test_what_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        exact_sum(np.array([0.5, np.inf]))
