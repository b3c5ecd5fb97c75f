"""How far a verdict agrees with people: figures of a table of two by two, of labels among people, and their intervals.

Rows are labelled examples with weights (how many examples each stands for). What is known of them is three shares: how
often the verdict says right (π), how often people say right where it does (a), and where it does not (b). They come
from different rows, so each has a distribution of its own, on as many observations as its rows are worth; a figure's
interval are the quantiles of the figure over draws of the three. Nothing is linearised, so that it holds where all
agree, where one class is rare, and for two labels; docs/people.md has how often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.hashing import seed_key
from sensecheck.statistics.limits import DISTRUST, student_factor
from sensecheck.statistics.statistic import OwnInterval, ratio

DRAWS = 16_000
TABLE = ("_tp", "_fp", "_fn", "_tn")
"""Verdict right and people right, right and wrong, wrong and right, wrong and wrong; a column each."""
FOR_INTERVALS = ("_own_weight_right", "_own_weight_wrong", "_each", "_of_run", "_share_of_run")
"""A row's own weight where the verdict is right, and where it is wrong; 1 / weight; the examples of the run a weight of
one stands for, and what part of it that is (0 where the run's verdicts do not say)."""
METHOD = "mid-P, three shares"

Finish = Callable[..., Floats]


# ---- figures of the table


def sensitivity(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    return ratio(tp, tp + fn)


def specificity(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    return ratio(tn, tn + fp)


def balanced_accuracy(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    return (sensitivity(tp, fp, fn, tn) + specificity(tp, fp, fn, tn)) / 2


def kappa(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    """Cohen's: agreement beyond that of two who say right as often and know nothing.

    >>> float(kappa(np.array(20.0), np.array(5.0), np.array(10.0), np.array(15.0)).round(6))
    0.4
    """
    n = tp + fp + fn + tn
    by_chance = ratio((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn), n * n)
    return ratio(ratio(tp + tn, n) - by_chance, 1 - by_chance)


def ac1(tp: Floats, fp: Floats, fn: Floats, tn: Floats) -> Floats:
    """Gwet's: agreement beyond chance, where chance is met only in examples that are hard to tell.

    >>> float(ac1(np.array(118.0), np.array(5.0), np.array(2.0), np.array(0.0)).round(4))
    0.9408
    """
    n = tp + fp + fn + tn
    right = ratio(tp + fp + tp + fn, 2 * n)
    by_chance = 2 * right * (1 - right)
    return ratio(ratio(tp + tn, n) - by_chance, 1 - by_chance)


# ---- their intervals


@dataclass(frozen=True)
class TableInterval:
    """The interval of a figure of the table, from its sums and what the weights say of them."""

    finish: Finish

    def __call__(
        self, sums: Sequence[Floats], replicates: Sequence[Floats], *, level: float, seed: int, units: float
    ) -> OwnInterval:
        value = float(self.finish(*sums[: len(TABLE)]))
        drawn = self.finish(*table_draws(known_shares(sums, replicates, level, units), seed))
        return interval_of(value, drawn, level)


def interval_of(value: float, drawn: Floats, level: float) -> OwnInterval:
    """The quantiles of a figure over draws of what is known; the figure itself lies in them."""
    there = drawn[np.isfinite(drawn)]
    if not np.isfinite(value):
        return OwnInterval(np.nan, np.nan, "", absent="the labels or the verdicts are all of one class")
    if len(there) < len(drawn) / 2:
        return OwnInterval(np.nan, np.nan, "", absent="too few labels to say anything of it")
    low, high = np.quantile(there, [(1 - level) / 2, (1 + level) / 2])
    return OwnInterval(min(float(low), value), max(float(high), value), METHOD)


class Known(NamedTuple):
    """A share, and the number of observations that it is known by."""

    share: float
    number: float


def known_shares(
    sums: Sequence[Floats], replicates: Sequence[Floats], level: float, units: float
) -> tuple[Known, Known, Known]:
    """Of a table's sums: how often the verdict says right, and people where it does and where it does not."""
    tp, fp, fn, tn, own_right, own_wrong, rows, run, part = (float(one) for one in sums)
    right, wrong = tp + fp, fn + tn
    whole = right + wrong
    numbers = [
        weight**2 / squares if squares > 0 else 0.0  # Kish's
        for weight, squares in ((whole, own_right + own_wrong), (right, own_right), (wrong, own_wrong))
    ]
    shares = [right / whole if whole else 0.5, tp / right if right else 0.5, fn / wrong if wrong else 0.5]
    if units < rows - 0.5:
        # Rows of a cluster may all say the same: what they are worth is seen where clusters are drawn again.
        cells = [np.asarray(one) for one in replicates[: len(TABLE)]]
        said_right, said_wrong = cells[0] + cells[1], cells[2] + cells[3]
        totals = (said_right + said_wrong, said_right, said_wrong)
        again = [ratio(part_of, total) for part_of, total in zip((said_right, cells[0], cells[2]), totals, strict=True)]
        numbers = [
            min(number, worth(share, spread, min(units, number_of_units(total)), level))
            for number, share, spread, total in zip(numbers, shares, again, totals, strict=True)
        ]
    if part >= 1 - 1e-6:
        # The verdicts of the whole run are known, not those of labelled examples alone.
        numbers[0] = run * min(1.0, units / rows)
    first, second, third = (Known(share, number) for share, number in zip(shares, numbers, strict=True))
    return first, second, third


def number_of_units(totals: Floats) -> float:
    """Of how many units a total is made, by how it moves where they are drawn again: each is drawn once on average."""
    spread = float(totals.var()) if len(totals) else 0.0
    return float(totals.mean()) ** 2 / spread if spread > 0 else np.inf


def worth(share: float, spread: Floats, units: float, level: float) -> float:
    """Of how many observations a share tells as much as it does, by how it moves where units are drawn again; each unit
    counts once where nothing moves."""
    there = spread[np.isfinite(spread)]
    if units <= 0 or not len(there):
        return 0.0
    even, distrust = share * (1 - share), DISTRUST / units
    number = units * (even + distrust) / (units * float(there.var()) + distrust)
    return float(number * student_factor(np.asarray(units), level))


@lru_cache(maxsize=8)
def table_draws(shares: tuple[Known, Known, Known], seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Draws of the table as shares of one. All figures of one table ask for the same."""
    generator = np.random.Generator(np.random.Philox(key=int(seed_key(seed, "agreement"))))
    said, a, b = (share_draws(*one, generator) for one in shares)
    return said * a, said * (1 - a), (1 - said) * b, (1 - said) * (1 - b)


def share_draws(share: float, number: float, generator: np.random.Generator) -> Floats:
    """Draws of a share seen in so many observations, whose quantiles are mid-P limits: half of them as if the next
    observation had been one, half as if it had been none."""
    x, y = share * number, (1 - share) * number
    half = DRAWS // 2
    low = generator.beta(x, y + 1, half) if x > 1e-9 else np.zeros(half)
    high = generator.beta(x + 1, y, DRAWS - half) if y > 1e-9 else np.ones(DRAWS - half)
    drawn = np.concatenate([low, high])
    return generator.permutation(drawn)


# ---- labels of several people

SPLITS = ("_both_right", "_apart", "_both_wrong")
"""Of an example with m labels, r of them right: r(r − 1), r(m − r) and (m − r)(m − r − 1), each / (m − 1): the
coincidences of Krippendorff's table, of which `_apart` is one of two equal cells."""


def alpha(both_right: Floats, apart: Floats, both_wrong: Floats) -> Floats:
    """Krippendorff's, of nominal labels right and wrong: 1 − observed / expected disagreement.

    >>> float(alpha(np.array(6.0), np.array(4.0), np.array(6.0)).round(4))
    0.25
    """
    right, wrong = both_right + apart, both_wrong + apart
    n = right + wrong
    return np.asarray(1 - ratio((n - 1) * apart, right * wrong))


def _alpha_of_shares(apart: Floats, right: Floats) -> Floats:
    """The same of very many labels: the share of labels that meet another one, and that of right among those that
    meet their like."""
    share = (1 - apart) * right + apart / 2
    return np.asarray(1 - ratio(apart, 2 * share * (1 - share)))


def split_draws(sums: Sequence[float], replicates: Sequence[Floats], seed: int, units: float, level: float) -> Floats:
    """Draws of alpha, by how its two shares move where examples are drawn again."""
    both_right, apart, both_wrong = sums
    n, alike = both_right + 2 * apart + both_wrong, both_right + both_wrong
    if not n:
        return np.full(DRAWS, np.nan)
    again = [np.asarray(one) for one in replicates]
    differ = 2 * apart / n
    right = both_right / alike if alike else 0.5
    generator = np.random.Generator(np.random.Philox(key=int(seed_key(seed, "people"))))
    total, like = again[0] + 2 * again[1] + again[2], again[0] + again[2]
    of_alike = min(units * alike / n, number_of_units(like))
    numbers = (
        worth(differ, ratio(2 * again[1], total), units, level),
        worth(right, ratio(again[0], like), of_alike, level),
    )
    drawn = (share_draws(share, number, generator) for share, number in zip((differ, right), numbers, strict=True))
    return _alpha_of_shares(*drawn)


@dataclass(frozen=True)
class SplitInterval:
    """The interval of a figure of people among themselves: that of Krippendorff's alpha, moved to the figure.

    After the figure's own sums come those of `SPLITS`.
    """

    finish: Finish

    def __call__(
        self, sums: Sequence[Floats], replicates: Sequence[Floats], *, level: float, seed: int, units: float
    ) -> OwnInterval:
        own, splits = _parted(sums, len(SPLITS))
        value = float(self.finish(*map(np.asarray, own)))
        drawn = split_draws(splits, replicates[-len(SPLITS) :], seed, units, level)
        return interval_of(value, _moved(value, drawn, splits), level)


def _parted(sums: Sequence[Floats], last: int) -> tuple[list[float], list[float]]:
    plain = [float(one) for one in sums]
    return plain[:-last], plain[-last:]


def _moved(value: float, drawn: Floats, splits: Sequence[float]) -> Floats:
    """Draws of alpha about a figure near it."""
    n = splits[0] + 2 * splits[1] + splits[2]
    alike = splits[0] + splits[2]
    middle = float(_alpha_of_shares(np.asarray(2 * splits[1] / n), np.asarray(splits[0] / alike if alike else 0.5)))
    return np.clip(drawn + (value - middle), -1.0, 1.0) if np.isfinite(middle) else drawn


def mean_kappa(*cells: Floats) -> Floats:
    """The mean of Cohen's κ over several tables, four sums each; of those that have one."""
    each = np.stack([kappa(*cells[at : at + 4]) for at in range(0, len(cells), 4)])
    there = np.isfinite(each)
    return ratio(np.where(there, each, 0.0).sum(0), there.sum(0).astype(np.float64))


@dataclass(frozen=True)
class EachPersonInterval:
    """The interval of the mean κ of the verdict with each person: that of the table of all of their labels, moved.

    After the figure's own sums come those of the table (of shares of labels) and `FOR_INTERVALS`.
    """

    def __call__(
        self, sums: Sequence[Floats], replicates: Sequence[Floats], *, level: float, seed: int, units: float
    ) -> OwnInterval:
        value, drawn = self.draws(sums, replicates, seed, units, level)
        return interval_of(value, drawn, level)

    def draws(
        self, sums: Sequence[Floats], replicates: Sequence[Floats], seed: int, units: float, level: float
    ) -> tuple[float, Floats]:
        last = len(TABLE) + len(FOR_INTERVALS)
        own, table = _parted(sums, last)
        value = float(mean_kappa(*map(np.asarray, own)))
        middle = float(kappa(*map(np.asarray, table[:4])))
        shares = known_shares([np.asarray(one) for one in table], replicates[-last:], level, units)
        drawn = kappa(*table_draws(shares, seed))
        return value, np.clip(drawn + (value - middle), -1.0, 1.0) if np.isfinite(middle) else drawn


@dataclass(frozen=True)
class CeilingInterval:
    """The interval of (the verdict with each person) − (people with one another), each with draws of its own.

    After the figure's own sums come those of both parts: `pairs` tables are the people's.
    """

    people: int

    def value(self, *cells: Floats) -> Floats:
        own = 4 * self.people
        return np.asarray(mean_kappa(*cells[:own]) - mean_kappa(*cells[own:]))

    def __call__(
        self, sums: Sequence[Floats], replicates: Sequence[Floats], *, level: float, seed: int, units: float
    ) -> OwnInterval:
        last = len(SPLITS) + len(TABLE) + len(FOR_INTERVALS)
        cells, rest = _parted(sums, last)
        of_people, of_verdict = replicates[-last:][: len(SPLITS)], replicates[-last:][len(SPLITS) :]
        splits, table = rest[: len(SPLITS)], rest[len(SPLITS) :]
        own = 4 * self.people
        arrays = [np.asarray(one) for one in cells]
        each = [*arrays[:own], *map(np.asarray, table)]
        _, drawn = EachPersonInterval().draws(each, [*replicates[:own], *of_verdict], seed, units, level)
        again = split_draws(splits, of_people, seed, units, level)
        people = _moved(float(mean_kappa(*arrays[own:])), again, splits)
        return interval_of(float(self.value(*arrays)), drawn - people, level)
