"""Bins found without searching are those that a search finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.statistics.binning import bin_index


def searched(values, edges):
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def around(edges):
    """Values at, one step beside and between edges and the borders of powers of two; some outside."""
    rng = np.random.default_rng(0)
    cells = np.arange(0, 1 << 14, 97) / (1 << 14)
    points = np.concatenate([edges, cells, [0.0, 1.0, 5e-324, 1e-300]])
    return np.concatenate([points, np.nextafter(points, -1), np.nextafter(points, 2), rng.random(20_000)])


@given(st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), max_size=60))
@settings(max_examples=60, deadline=None)
def test_uneven_edges(inner):
    edges = np.unique(np.array([0.0, *inner, 1.0]))
    values = around(edges)
    assert np.array_equal(bin_index(values, edges), searched(values, edges))
    inside = values[(values >= 0) & (values <= 1)]
    assert np.array_equal(bin_index(inside, edges), searched(inside, edges))


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 20, 64, 100, 777])
def test_even_edges(bins):
    edges = np.linspace(0, 1, bins + 1)
    values = np.concatenate([around(edges), [-0.01, -3.0, 1.01, 40.0]])
    assert np.array_equal(bin_index(values, edges), searched(values, edges))
    into = np.empty(len(values), dtype=np.intp)
    assert bin_index(values, edges, out=into) is into
    assert np.array_equal(into, searched(values, edges))


def test_edges_that_do_not_span_the_unit_interval():
    edges = np.array([-2.0, 0.3, 0.7, 5.0])
    values = np.linspace(-3, 6, 5000)
    assert np.array_equal(bin_index(values, edges), searched(values, edges))


def test_many_edges_in_one_cell_of_the_table():
    edges = np.concatenate([[0.0], 0.9 + np.arange(50) * 1e-9, [1.0]])
    values = np.concatenate([around(edges), 0.9 + np.random.default_rng(1).random(5000) * 6e-8])
    assert np.array_equal(bin_index(values, edges), searched(values, edges))


def test_nothing_has_no_bins():
    assert len(bin_index(np.empty(0), np.linspace(0, 1, 11))) == 0
