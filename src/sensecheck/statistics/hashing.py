"""A stable 64-bit hash of ids, and the random numbers that follow from it.

A resampling weight is a function of (seed, replicate, hash of the cluster's id). No generator is advanced, so
rows may come in any order, batch or shard and still get the same weight. The hash is our own because the ones
in Python and Polars change between processes and versions, and a figure must not.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.arrays import U64

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def scramble(values: U64) -> U64:
    """The splitmix64 finaliser: a bijection on 64-bit integers whose output bits look independent."""
    with np.errstate(over="ignore"):
        z = values ^ (values >> np.uint64(30))
        z *= _MIX_1
        z ^= z >> np.uint64(27)
        z *= _MIX_2
        z ^= z >> np.uint64(31)
    return z


def _letter_table() -> U64:
    return scramble(np.arange(1, 257, dtype=np.uint64) * _GOLDEN)


_LETTERS = _letter_table()
_BASE = np.uint64(0xD6E8FEB86659FD93)


def _powers(count: int) -> U64:
    powers = np.full(max(count, 1), _BASE, dtype=np.uint64)
    powers[0] = 1
    with np.errstate(over="ignore"):
        return np.multiply.accumulate(powers)


def hash_ids(ids: pl.Series) -> U64:
    """64-bit hashes of a column of ids; integers and text are hashed by value, null like the empty text."""
    if ids.dtype.is_integer():
        filled = ids.fill_null(-1).cast(pl.Int64).to_numpy().view(np.uint64)
        with np.errstate(over="ignore"):
            return scramble(filled * _GOLDEN + _GOLDEN)
    text = ids.cast(pl.String).fill_null("")
    if len(text) > 1:
        # Tokens of one sequence follow each other and share its id: hash each run once.
        starts = np.flatnonzero((text != text.shift(1)).fill_null(True).to_numpy())
        if len(starts) < len(text) // 2:
            return np.repeat(hash_ids(text.gather(starts)), np.diff(starts, append=len(text)))
    if text.n_unique() < len(text) // 2:
        unique = text.unique(maintain_order=True)
        codes = text.replace_strict(unique, pl.arange(0, len(unique), eager=True), return_dtype=pl.UInt32)
        return np.asarray(_hash_text(unique)[codes.to_numpy()])
    return _hash_text(text)


def _hash_text(text: pl.Series) -> U64:
    if len(text) == 0:
        return np.empty(0, dtype=np.uint64)
    lengths = text.str.len_bytes().to_numpy().astype(np.int64)
    data = np.frombuffer(text.str.join("").item().encode(), dtype=np.uint8)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    position = np.arange(len(data), dtype=np.int64) - np.repeat(starts, lengths)
    with np.errstate(over="ignore"):
        terms = _LETTERS[data] * _powers(int(lengths.max(initial=0)))[position]
        total = np.zeros(len(text), dtype=np.uint64)
        filled = lengths > 0
        if filled.any():
            # reduceat gives a whole segment only between starts of non-empty texts.
            total[filled] = np.add.reduceat(terms, starts[filled])
        return scramble(total + lengths.astype(np.uint64) * _GOLDEN)


def seed_key(seed: int, stream: str) -> np.uint64:
    """A 64-bit key for one named stream of random numbers under a user's seed."""
    label = _hash_text(pl.Series([stream]))
    with np.errstate(over="ignore"):
        mixed: U64 = scramble(label ^ (np.uint64(seed & 0xFFFFFFFFFFFFFFFF) * _GOLDEN))
    return np.uint64(int(mixed[0]))


def random_halfwords(keys: U64, count: int, first: int = 0) -> NDArray[np.uint16]:
    """Uniform 16-bit numbers for each key, from the `first` on (a multiple of 4): a matrix of len(keys) rows."""
    words = (count + 3) // 4
    steps = np.arange(first // 4 + 1, first // 4 + words + 1, dtype=np.uint64) * _GOLDEN
    z = keys[:, None] + steps[None, :]
    with np.errstate(over="ignore"):
        # The same finaliser as `scramble`, in place: this is the hot loop of every interval.
        t = z >> np.uint64(30)
        np.bitwise_xor(z, t, out=z)
        np.multiply(z, _MIX_1, out=z)
        np.right_shift(z, np.uint64(27), out=t)
        np.bitwise_xor(z, t, out=z)
        np.multiply(z, _MIX_2, out=z)
        np.right_shift(z, np.uint64(31), out=t)
        np.bitwise_xor(z, t, out=z)
    return z.astype("<u8", copy=False).view("<u2")[:, :count]
