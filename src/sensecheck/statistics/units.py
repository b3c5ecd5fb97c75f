"""The independent units of the rows (clusters, or rows where there are none), and what each adds to the sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensecheck.statistics.arrays import U64, Floats, Ints
from sensecheck.statistics.resample import on_grid

# Sums of groups × cells have a place each, up to so many.
_MOST_PLACES = 1 << 20
# So many rows wait before those of the same unit are added up.
_WAITING_ROWS = 600_000


class UnitRows(NamedTuple):
    """Values by unit: whose each row is, by a hash; which slice and bins it is in, as one number; its columns."""

    ids: U64
    code: Ints
    values: Floats


class RandomGroups:
    """Rows of many clusters, added up in random groups before they are resampled.

    A group is chosen by the hash of the cluster's id, so it is a random union of clusters, and resampling groups is
    as good as resampling clusters: with G groups the standard error is off by 1/√(2G), which for 2,048 and more is
    below what 1,000 replicates leave open. Time and memory then depend on the groups, not on the rows.

    Values lie on a grid on which float64 adds without rounding, so neither order nor kind of keeping shows. While
    groups × cells are few, each has a place of its own; of many, those that occur are kept sorted. With no groups (0)
    every unit stands for itself.
    """

    def __init__(self, groups: int, codes: int) -> None:
        self.groups = groups
        self.parts: list[UnitRows] = []
        self.rows = 0
        # Where the sums of each code are, by the code: −1 for those not seen yet.
        self.places = np.full(codes, -1, dtype=np.intp) if groups and codes <= _MOST_PLACES else None
        self.codes: list[int] = []
        self.sums: list[Floats] = []
        """By place × group, for each column."""
        self.occurs = np.empty(0, dtype=np.bool_)

    def add(self, ids: U64, code: Ints, columns: Sequence[NDArray[Any] | None]) -> None:
        group = ids & np.uint64(self.groups - 1) if self.groups else ids
        if self.places is None:
            self._add_sorted(UnitRows(group, code, on_grid(as_matrix(columns, len(ids)))))
            return
        place = self.places[code]
        if place.min() < 0:
            fresh = np.unique(code[place < 0])
            if (len(self.codes) + len(fresh)) * self.groups > _MOST_PLACES:
                self._give_up_places()
                self.add(ids, code, columns)
                return
            self.places[fresh] = np.arange(len(self.codes), len(self.codes) + len(fresh))
            self.codes.extend(fresh.tolist())
            place = self.places[code]
        cells = len(self.codes) * self.groups
        if cells > len(self.occurs):
            more = np.zeros(max(cells, 2 * len(self.occurs)) - len(self.occurs), dtype=np.bool_)
            self.occurs = np.concatenate([self.occurs, more])
            empty = np.zeros(len(more))
            self.sums = [np.concatenate([s, empty]) for s in self.sums] or [empty.copy() for _ in columns]
        place *= self.groups
        place += group.view(np.int64)
        self.occurs[place] = True
        for total, column in zip(self.sums, columns, strict=True):
            np.add.at(total, place, 1.0 if column is None else on_grid(column.astype(np.float64, copy=False)))
        self.rows = len(self.codes)

    def _add_sorted(self, units: UnitRows) -> None:
        self.parts.append(within_units(units))
        self.rows += len(self.parts[-1].ids)
        if self.rows > _WAITING_ROWS:
            merged = self.all()
            self.parts, self.rows = [merged], len(merged.ids)

    def _give_up_places(self) -> None:
        """More codes than there is room for: go on with those that occur."""
        if self.codes:
            self.parts = [self._placed()]
            self.rows = len(self.parts[0].ids)
        self.places, self.codes, self.sums = None, [], []
        self.occurs = np.empty(0, dtype=np.bool_)

    def _placed(self) -> UnitRows:
        filled = np.flatnonzero(self.occurs)
        codes = np.asarray(self.codes, dtype=np.int64)
        values = np.stack([total[filled] for total in self.sums], axis=1)
        return UnitRows((filled % self.groups).astype(np.uint64), codes[filled // self.groups], values)

    def all(self) -> UnitRows:
        """One row for every group and cell."""
        if self.places is not None:
            return self._placed()
        ids, code, values = (np.concatenate([part[i] for part in self.parts]) for i in range(3))
        return within_units(UnitRows(ids, code, values))


def as_matrix(columns: Sequence[NDArray[Any] | None], rows: int) -> Floats:
    """The columns side by side as float64; a column that is None is all ones."""
    matrix = np.empty((rows, len(columns)))
    for j, column in enumerate(columns):
        matrix[:, j] = 1.0 if column is None else column
    return matrix


def within_units(units: UnitRows) -> UnitRows:
    """One row for every unit and cell, sorted by unit: rows of one unit in one cell are added up."""
    order = np.lexsort((units.code, units.ids))
    ids, code, values = units.ids[order], units.code[order], units.values[order]
    starts = np.flatnonzero(np.r_[True, (ids[1:] != ids[:-1]) | (code[1:] != code[:-1])])
    return UnitRows(ids[starts], code[starts], np.add.reduceat(values, starts, axis=0))


@dataclass(frozen=True)
class Units:
    """What every unit adds to the sums of its slice."""

    code: Ints
    """The slice; with bins, slice × bins + bin."""
    ids: U64
    values: Floats
    """Units × columns of the layout."""
    count: Floats
    """How many units are like this one."""
    groups: int
    """Units are added up in so many random groups; 0: each stands for itself."""
