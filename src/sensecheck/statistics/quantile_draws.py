"""Draws of many distributions at once: the quantiles of each at even steps, in an order shuffled for itself.

Each distribution is met exactly, and only what several of them add up to is left to chance. Looking a draw up costs
less than drawing it anew.
"""

from __future__ import annotations

import threading
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.hashing import seed_key

_AT_ONCE = 64
_one_at_a_time = threading.Lock()
"""Draws are shared by all that is estimated in a process."""


class QuantileDraws:
    """So many draws of any number of distributions, one array of distributions × draws at a time.

    The n-th distribution of every array is shuffled alike: nothing may be computed of draws of two arrays together.
    """

    def __init__(self, draws: int, seed: int, stream: str) -> None:
        self.draws, self.seed, self.stream = draws, seed, stream
        steps = ((np.arange(draws) + 0.5) / draws).tolist()
        normal = np.array([NormalDist().inv_cdf(step) for step in steps])
        self.normal: Floats = normal / np.sqrt((normal**2).mean()) if draws > 1 else normal
        """The quantiles of a normal distribution; their variance is 1."""
        self._orders: NDArray[Any] = np.empty((0, draws), dtype=np.uint16 if draws < 1 << 16 else np.intp)

    def whole_numbers(self, chances: Floats) -> Floats:
        """Quantiles of distributions over 0, 1, 2 …, from their chances (distributions × numbers)."""
        upto = np.cumsum(chances, axis=1)
        upto[:, -1] = 1.0
        # How many of the steps lie below the chance of at most so many.
        below = np.ceil(upto * self.draws - 0.5).clip(0, self.draws).astype(np.intp)
        times = np.diff(below, axis=1, prepend=0)
        numbers = np.broadcast_to(np.arange(chances.shape[1], dtype=np.float64), times.shape)
        return np.repeat(numbers.reshape(-1), times.reshape(-1)).reshape(len(chances), self.draws)

    def _orders_of(self, number: int) -> NDArray[Any]:
        """So many shuffled orders of the draws: the same, however many are asked for, and by however many threads."""
        with _one_at_a_time:
            self._make_orders(number)
            return self._orders[:number]

    def _make_orders(self, number: int) -> None:
        while len(self._orders) < number:
            key = int(seed_key(self.seed, f"{self.stream}:{len(self._orders)}"))
            generator = np.random.Generator(np.random.Philox(key=key))
            plain = np.tile(np.arange(self.draws, dtype=self._orders.dtype), (_AT_ONCE, 1))
            self._orders = np.concatenate([self._orders, generator.permuted(plain, axis=1)])

    def shuffled(self, quantiles: Floats, first: int = 0) -> Floats:
        """The draws; so many columns come first and stay where they are."""
        number, width = quantiles.shape
        places = np.empty(quantiles.shape, dtype=np.intp)
        places[:, :first] = np.arange(first)
        np.add(self._orders_of(number), first, out=places[:, first:])
        places += (np.arange(number) * width)[:, None]
        return quantiles.reshape(-1).take(places)
