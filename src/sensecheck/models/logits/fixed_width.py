"""Rows of numbers as JSON text of a fixed width, written by table look-up instead of number by number.

A row of k numbers is always the same number of bytes, so that a block of rows is one matrix of bytes and any stretch
of it one slice. Probabilities get ten decimals, which gives every float32 above a thousandth back as it was.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
_GROUP = 10_000
_LARGEST = 99_999_999


@lru_cache(maxsize=1)
def _tables() -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Four characters for every number of a group: with zeros in front, with blanks in front, and as d.dd."""

    def words(texts: list[str]) -> NDArray[np.uint32]:
        return np.frombuffer("".join(texts).encode(), dtype=np.uint32)

    zeros = words([f"{i:04d}" for i in range(_GROUP)])
    blanks = words([f"{i:4d}" if i else "    " for i in range(_GROUP)])
    ones = words([f"{i // 100}.{i % 100:02d}" for i in range(101)])
    return zeros, blanks, ones


def probability_rows(values: NDArray[np.floating]) -> Bytes:
    """Rows of numbers in [0, 1] as the bytes of `[0.1234567890,…],`."""
    zeros, _, ones = _tables()
    scaled = np.rint(np.clip(values, 0.0, 1.0).astype(np.float64) * 1e10).astype(np.int64)
    text = np.empty((*values.shape, 3), dtype=np.uint32)
    upper, lower = np.divmod(scaled, _GROUP)
    text[..., 2] = zeros[lower]
    first, middle = np.divmod(upper, _GROUP)
    text[..., 1] = zeros[middle]
    text[..., 0] = ones[first]
    return _bracketed(text.view(np.uint8))


def integer_rows(values: NDArray[np.integer]) -> Bytes:
    """Rows of whole numbers from 0 as the bytes of `[  12,31999],`; blanks in front are fine in JSON."""
    zeros, blanks, _ = _tables()
    largest = int(values.max(initial=0))
    if largest > _LARGEST or int(values.min(initial=0)) < 0:
        raise ValueError(f"expected whole numbers from 0 to {_LARGEST:,}")
    upper, lower = np.divmod(values, _GROUP)
    text = np.empty((*values.shape, 2), dtype=np.uint32)
    text[..., 0] = blanks[upper]
    text[..., 1] = np.where(upper > 0, zeros[lower], blanks[lower])
    characters = text.view(np.uint8)
    # A lone zero is no blank.
    characters[..., 7] = np.where(values == 0, ord("0"), characters[..., 7])
    return _bracketed(characters[..., 8 - len(str(largest)) :])


def _bracketed(cells: Bytes) -> Bytes:
    rows, k, width = cells.shape
    lines = np.empty((rows, k * (width + 1) + 2), dtype=np.uint8)
    for j in range(k):
        column = 1 + j * (width + 1)
        lines[:, column : column + width] = cells[:, j]
        lines[:, column + width] = ord(",")
    lines[:, 0] = ord("[")
    lines[:, -2] = ord("]")
    lines[:, -1] = ord(",")
    return lines


def stretch(rows: Bytes, start: int, stop: int) -> bytes:
    """Rows start to stop as the inside of a JSON list."""
    return rows[start:stop].tobytes()[:-1]
