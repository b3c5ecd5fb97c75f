"""Batches of token sequences without padding: one flat array, and where each sequence begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class Packed:
    """Sequences end to end. `rows` says where each of them stands in the caller's list."""

    rows: Ints
    ids: Ints
    types: Ints
    starts: Ints  # one entry more than there are sequences

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    def one_length(self) -> list[tuple[int]]:
        """The lengths as the planner takes them."""
        return [(length,) for length in self.lengths.tolist()]

    def take(self, which: Sequence[int] | Ints) -> Packed:
        """The sequences with these numbers, in this order."""
        chosen = np.asarray(which, dtype=np.int64)
        lengths = self.lengths[chosen]
        starts = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        source = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        return Packed(self.rows[chosen], self.ids[source], self.types[source], starts)

    def places(self) -> Ints:
        """The place of every token in its own sequence."""
        return np.arange(len(self.ids)) - np.repeat(self.starts[:-1], self.lengths)

    def grid(self, pad: int) -> tuple[Ints, Ints, Ints]:
        """Padded on the right: ids, types and the mask of real tokens."""
        inside = np.arange(int(self.lengths.max())) < self.lengths[:, None]
        ids = np.full(inside.shape, pad, dtype=np.int64)
        types = np.zeros(inside.shape, dtype=np.int64)
        ids[inside], types[inside] = self.ids, self.types
        return ids, types, inside.astype(np.int64)


def pack(ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None, first_row: int = 0) -> Packed:
    starts = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, ids), dtype=np.int64, count=len(ids)), out=starts[1:])
    total = int(starts[-1])
    flat_ids = np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=total)
    flat_types: Any = np.zeros(total, dtype=np.int64)
    if types is not None:
        flat_types = np.fromiter(chain.from_iterable(types), dtype=np.int64, count=total)
    return Packed(np.arange(first_row, first_row + len(ids)), flat_ids, flat_types, starts)


def join(batches: Sequence[Packed]) -> Packed:
    """Several batches as one, the longest sequences first."""
    starts = np.zeros(sum(map(len, batches)) + 1, dtype=np.int64)
    np.cumsum(np.concatenate([batch.lengths for batch in batches]), out=starts[1:])
    joined = Packed(
        np.concatenate([batch.rows for batch in batches]),
        np.concatenate([batch.ids for batch in batches]),
        np.concatenate([batch.types for batch in batches]),
        starts,
    )
    return joined.take(np.argsort(-joined.lengths, kind="stable"))
