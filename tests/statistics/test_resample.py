"""Resampled sums are what a plain loop over rows and replicates gives, however they are arranged."""

from __future__ import annotations

import numpy as np
import pytest

from sensecheck.statistics.hashing import scramble, seed_key
from sensecheck.statistics.resample import Drawing, on_grid, poisson_weights, replicate_sums


def plain(ids, segment, columns, segments, replicates, draw):
    keys = scramble(ids ^ seed_key(5, "bootstrap"))
    weights = draw(keys, replicates).astype(np.int64)
    units = np.rint(on_grid(columns) * 2.0**32).astype(np.int64)
    out = np.zeros((segments, replicates, columns.shape[1]), dtype=np.int64)
    for row, s in enumerate(segment.tolist()):
        out[s] += weights[row][:, None] * units[row][None, :]
    return out


@pytest.mark.parametrize("keys", [3, 40, 700, 5000])
@pytest.mark.parametrize("jobs", [1, 3])
def test_shared_weights_are_those_of_each_row(keys, jobs):
    rng = np.random.default_rng(keys)
    rows, segments = 2500, 7
    ids = rng.integers(0, keys, rows).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    segment = rng.integers(0, segments, rows)
    columns = np.stack([rng.random(rows), rng.random(rows) < 0.5, np.full(rows, 40_000.25), rng.normal(0, 9, rows)], 1)
    drawing = Drawing(poisson_weights, "bootstrap", replicates=30, seed=5, jobs=jobs)
    sums = replicate_sums(ids, segment, columns, drawing, segments)
    assert np.array_equal(sums.units, plain(ids, segment, columns, segments, 30, poisson_weights))
