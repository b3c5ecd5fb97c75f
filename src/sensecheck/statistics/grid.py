"""A fixed grid on [0, 1] on which very many confidences are counted: finer, the nearer to 0 or to 1.

Counts of any split of the rows simply add. What a figure of the order of confidences loses on the grid is the order
within a cell. Sure models crowd their confidences within a hair of 1, where even cells would not tell them apart: so a
cell's width follows its distance from the nearer end, 1/4,096 of a power of two, down to 2^-25. Exactly 0 and exactly 1
have cells of their own: a certain answer that is wrong costs infinitely much, and one that is nearly certain does not.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sensecheck.statistics.arrays import Floats, Indexes
from sensecheck.statistics.binning import bin_index

_BITS = 12
_OCTAVES = 24
_SHIFT = np.int64(52 - _BITS)
_FIRST = np.float64(2.0 ** -(_OCTAVES + 1)).view(np.int64) >> _SHIFT
# Below one half: 0 itself, what lies below the first octave, the octaves; above it the same, and one half.
_BELOW_HALF = (_OCTAVES << _BITS) + 2
CELLS = 2 * _BELOW_HALF + 1
WIDEST = 2.0 ** -(_BITS + 2)
"""No cell is wider: those next to one half."""
GRID = f"2^-{_BITS + 2}"
"""What signatures call it."""
_BLOCK = 1 << 14


class Grid:
    """The cells, cut once more at the edges of bins that are known beforehand, so that no cell lies in two of them.

    >>> grid = Grid([0.0, 0.3, 1.0])
    >>> cells = grid.cell_of(np.array([0.0, 1e-9, 0.5, 1 - 1e-9, 1.0]))
    >>> cells.tolist() == [0, 1, CELLS // 2 + 1, grid.size - 2, grid.size - 1]
    True
    """

    def __init__(self, edges: Iterable[float] = ()) -> None:
        fixed = _lower_ends()
        cuts = np.unique([edge for edge in edges if 0 < edge < 1])
        cuts = cuts[~np.isin(cuts, fixed)]
        self.cuts = np.concatenate([[0.0], cuts, [1.0]])
        self.lower_ends: Floats = np.sort(np.concatenate([fixed, cuts]))
        """The smallest number of each cell: what is smaller is in a lower one."""
        self.size = len(self.lower_ends)
        upper = np.append(self.lower_ends[1:], 1.0)
        self.middles: Floats = (self.lower_ends + upper) / 2
        # The ends and one half are single numbers.
        self.middles[[0, -1]] = 0.0, 1.0
        self.middles[self.cell_of(np.array([0.5]))] = 0.5

    def cell_of(self, values: Floats) -> Indexes:
        """The cell of each number in [0, 1]; a larger number is never in a lower cell."""
        cells = np.empty(len(values), dtype=np.intp)
        for start in range(0, len(values), _BLOCK):
            part, out = values[start : start + _BLOCK], cells[start : start + _BLOCK]
            # Adding 0 turns −0.0, whose bits are others, into 0.0.
            nearer = np.minimum(part, 1.0 - part) + 0.0
            np.right_shift(nearer.view(np.int64), _SHIFT, out=out)
            out -= _FIRST - 2
            np.maximum(out, 1, out=out)
            out[nearer <= 0] = 0
            np.subtract(CELLS - 1, out, out=out, where=part >= 0.5)
            if len(self.cuts) > 2:
                out += bin_index(part, self.cuts)
        return cells


def _lower_ends() -> Floats:
    steps = np.arange((_OCTAVES << _BITS) + 1, dtype=np.int64) + _FIRST
    edges = (steps << _SHIFT).view(np.float64)
    below_half = np.concatenate([[0.0, np.nextafter(0.0, 1.0)], edges[:-1]])
    # Above one half, where the distance from 1 is measured, a cell holds what is above its lower edge.
    above_half = np.nextafter(1.0 - edges[::-1], 2.0)
    return np.concatenate([below_half, [0.5], above_half, [1.0]])
