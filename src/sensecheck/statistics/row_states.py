"""What row statistics prepare from the rows once, and their values under any weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.statistic import RowStatistic


class RowStates:
    """What each statistic of a group prepared; those that prepare alike share it."""

    def __init__(self, statistics: Sequence[RowStatistic], columns: Mapping[str, NDArray[Any]]) -> None:
        self.statistics = list(statistics)
        self.columns = columns
        prepared: dict[Any, Any] = {}
        for s in statistics:
            if s.prepare not in prepared:
                prepared[s.prepare] = s.prepare(columns)
        self.states = [prepared[s.prepare] for s in statistics]

    def values(self, weights: Floats) -> list[Floats]:
        """One array of values a statistic, replicates first. `weights`: replicates × rows."""
        return [np.asarray(s.value(state, weights)) for s, state in zip(self.statistics, self.states, strict=True)]


@dataclass(frozen=True)
class WeightedRows:
    """Rows as a group of statistics sees them: what each prepared, and how much every row counts."""

    states: RowStates
    weights: Floats

    @cached_property
    def values(self) -> list[Floats]:
        """The value of each statistic, not resampled."""
        return [replicates[0] for replicates in self.states.values(self.weights[None, :])]
