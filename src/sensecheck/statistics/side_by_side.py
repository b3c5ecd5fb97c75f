"""Sums along the columns of an array of replicates × columns whose replicates lie side by side in memory.

NumPy walks along the axis that it sums, replicate by replicate; adding whole columns to one another does the same
work several times as fast, where there are enough replicates to make up for a call each.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sensecheck.statistics.arrays import Floats, Indexes

_ENOUGH = 256


def _lies_so(values: Floats) -> bool:
    return len(values) >= _ENOUGH and values.strides[0] == values.itemsize


def added_up(values: Floats, starts: Indexes) -> Floats:
    """Columns added up from each start to the next; the first start is 0.

    >>> added_up(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([0, 2])).tolist()
    [[3.0, 3.0], [9.0, 6.0]]
    """
    if len(starts) == values.shape[1]:
        return values
    if not _lies_so(values):
        return np.asarray(np.add.reduceat(values, starts, axis=1))
    columns = values.T
    sums = np.empty((len(starts), len(values)))
    bounds = [*starts.tolist(), len(columns)]
    for at, (first, last) in enumerate(pairwise(bounds)):
        np.add.reduce(columns[first:last], axis=0, out=sums[at])
    return sums.T


def running(values: Floats) -> Floats:
    """What each column and all after it add up to, from the last column on.

    >>> running(np.array([[1.0, 2.0, 3.0]])).tolist()
    [[3.0, 5.0, 6.0]]
    """
    if not _lies_so(values):
        return np.cumsum(values[:, ::-1], axis=1)
    columns = values.T[::-1]
    sums = np.empty(columns.shape)
    sums[:1] = columns[:1]
    for at in range(1, len(columns)):
        np.add(sums[at - 1], columns[at], out=sums[at])
    return sums.T
