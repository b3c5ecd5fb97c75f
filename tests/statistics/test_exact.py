"""Sums do not depend on order, split or merge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.statistics.exact import CHUNK, ExactSums, exact_sum

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


# -- by cell, with counts and true/false along ------------------------------------------------------------------

HOSTILE = [
    0.0, 1.0, 5e-324, 1e-300, 2.0**-57, 2.0**-57 + 2.0**-80, 3 * 2.0**-57, 2.0**-34, 2.0**-33, 0.0625, 0.5 + 2.0**-34,
    float(np.nextafter(0.0625, 0)), float(np.nextafter(1.0, 0)), float(np.float32(0.1)), *(2.0**-k for k in range(1, 60)),
]  # fmt: skip
wanted_sizes = st.one_of(st.sampled_from(HOSTILE), unit, st.floats(-60, 60), st.floats(-1e5, 1e5))


def by_hand(cell, columns, size):
    """Every term rounded to a multiple of 2^-56 (halves to even), then added as whole numbers."""
    out = np.zeros((size, len(columns)))
    for j, column in enumerate(columns):
        sums = [0] * size
        for i, c in enumerate(cell.tolist()):
            sums[c] += round(Fraction(1 if column is None else column[i].item()) * 2**56)
        out[:, j] = [s / 2**56 for s in sums]
    return out


@given(
    st.lists(st.tuples(st.integers(0, 4), wanted_sizes, unit, st.booleans(), st.booleans()), min_size=1, max_size=80),
    st.integers(0, 80),
)
@settings(max_examples=200, deadline=None)
def test_cells_hold_what_whole_numbers_give(rows, cut):
    cell, any_, small, first, second = (np.array(x) for x in zip(*rows, strict=True))
    columns = [any_, None, first, small, second, first]
    sums = ExactSums.zeros(5, len(columns))
    for part in (slice(0, cut), slice(cut, None)):
        sums.add(cell[part], [None if c is None else c[part] for c in columns], len(cell[part]))
    assert sums.floats().tolist() == by_hand(cell, columns, 5).tolist()


@pytest.mark.parametrize(
    "value", [1.0, 0.5 + 2.0**-34, 0.0625 + 2.0**-34, 1 - 2.0**-34, 2.0**-34, 2.0**-57, 7.9, 900.0]
)
@pytest.mark.parametrize("rows", [CHUNK - 1, CHUNK, 3 * CHUNK + 1])
def test_a_full_chunk_of_the_worst_numbers_in_one_cell_loses_no_bit(value, rows):
    x = np.full(rows, value)
    x[1::2] = np.nextafter(value, 2)
    flag = np.arange(rows) % 3 == 0
    sums = ExactSums.zeros(3, 3)
    sums.add(np.ones(rows, dtype=np.intp), [x, None, flag], rows)
    unit_sum = sum(round(Fraction(v) * 2**56) * int((x == v).sum()) for v in np.unique(x).tolist())
    assert sums.floats()[1].tolist() == [unit_sum / 2**56, rows, flag.sum()]
    assert not sums.floats()[[0, 2]].any()


def test_very_many_cells_flags_and_wide_numbers():
    rng = np.random.default_rng(4)
    n, size = 2 * CHUNK + 77, 3000
    cell = rng.integers(0, size, n)
    columns = [rng.normal(0, 400, n), rng.random(n) < 0.5, rng.integers(-5, 5, n), None, rng.random(n) < 0.1]
    sums = ExactSums.zeros(size, len(columns))
    sums.add(cell, columns, n)
    assert sums.floats().tolist() == by_hand(cell, columns, size).tolist()


def test_cells_do_not_depend_on_order_or_split():
    rng = np.random.default_rng(6)
    n = 3 * CHUNK
    x, flag, cell = rng.beta(5, 1, n), rng.random(n) < 0.5, rng.integers(0, 20, n)
    whole = ExactSums.zeros(20, 3)
    whole.add(cell, [x, flag, None], n)
    order = rng.permutation(n)
    parts = []
    for some in np.array_split(order, 7):
        parts.append(ExactSums.zeros(20, 3))
        parts[-1].add(cell[some], [x[some], flag[some], None], len(some))
    for other in parts[1:]:
        parts[0].merge(other)
    assert parts[0].floats().tolist() == whole.floats().tolist()


def test_what_is_not_finite_is_refused_in_cells_too():
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="not finite"):
            ExactSums.zeros(2, 1).add(np.array([0, 1]), [np.array([0.5, bad])], 2)


@pytest.mark.parametrize("values", [np.full(2_000_000, 1e5), np.full(3, 6e10), np.full(3, -6e10)])
def test_a_sum_that_would_not_fit_is_refused(values):
    with pytest.raises(OverflowError, match="too large"):
        exact_sum(values)


def test_sums_that_do_not_fit_together_are_refused():
    both = [ExactSums.zeros(1, 1) for _ in range(2)]
    for sums in both:
        sums.add(None, [np.full(1, 4e10)], 1)
    with pytest.raises(OverflowError, match="too large"):
        both[0].merge(both[1])
