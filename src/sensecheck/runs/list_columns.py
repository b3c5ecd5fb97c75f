"""Columns whose cells are lists, made of all their values at once: one by one, each costs as much as a small column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


def list_column(values: pl.Series, lengths: NDArray[np.int64]) -> pl.Series:
    """Values that stand one after the other, cut into lists of these lengths.

    >>> list_column(pl.Series([1, 2, 3]), np.array([2, 0, 1])).to_list()
    [[1, 2], [], [3]]
    """
    if len(lengths) == 0:
        return pl.Series([], dtype=pl.List(values.dtype))
    starts = np.cumsum(lengths) - lengths
    cut = pl.lit(pl.Series([values])).list.slice(pl.col("start"), pl.col("length"))
    return pl.DataFrame({"start": starts, "length": lengths}).select(cut.alias("")).to_series()


def column_of_lists(lists: Sequence[Sequence[Any]], dtype: Any) -> pl.Series:
    """Lists as a column; `dtype` is that of their values.

    >>> column_of_lists([["a"], [], ["b", None]], pl.String).to_list()
    [['a'], [], ['b', None]]
    """
    values = pl.Series(list(chain.from_iterable(lists)), dtype=dtype)
    return list_column(values, np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)))
