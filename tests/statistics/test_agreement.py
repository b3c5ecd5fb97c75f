"""κ, AC1 and α against published worked examples and brute force, and intervals that hold at the edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sensecheck.statistics.agreement import (
    TableInterval,
    ac1,
    alpha,
    balanced_accuracy,
    interval_of,
    kappa,
    known_shares,
    mean_kappa,
    sensitivity,
    share_draws,
    specificity,
    split_draws,
    table_draws,
)
from sensecheck.statistics.limits import share_limits


def table(*cells: float) -> list[np.ndarray]:
    return [np.asarray(float(cell)) for cell in cells]


@pytest.mark.parametrize(
    ("cells", "of_cohen", "of_gwet"),
    [
        ((20, 5, 10, 15), 0.4, None),  # the example of most textbooks
        ((45, 15, 25, 15), 0.1304, None),  # two tables of equal agreement and unlike marginals
        ((25, 35, 5, 35), 0.2593, None),
        ((118, 5, 2, 0), -0.0234, 0.9408),  # Gwet, Handbook of Inter-Rater Reliability: the paradox of κ
    ],
)
def test_published_examples(cells: tuple[int, ...], of_cohen: float, of_gwet: float | None) -> None:
    assert float(kappa(*table(*cells))) == pytest.approx(of_cohen, abs=5e-5)
    if of_gwet is not None:
        assert float(ac1(*table(*cells))) == pytest.approx(of_gwet, abs=5e-5)


def splits(units: list[list[int]]) -> list[np.ndarray]:
    both, apart, neither = 0.0, 0.0, 0.0
    for votes in units:
        m, r = len(votes), sum(votes)
        if m > 1:
            both, apart = both + r * (r - 1) / (m - 1), apart + r * (m - r) / (m - 1)
            neither += (m - r) * (m - r - 1) / (m - 1)
    return table(both, apart, neither)


def brute_alpha(units: list[list[int]]) -> float:
    """By the definition: the mean disagreement of pairs within units, against that of all pairs of pairable labels."""
    kept = [votes for votes in units if len(votes) > 1]
    every = [vote for votes in kept for vote in votes]
    n = len(every)
    within = sum(sum(a != b for a, b in itertools.permutations(votes, 2)) / (len(votes) - 1) for votes in kept) / n
    over_all = sum(a != b for a, b in itertools.permutations(every, 2)) / (n * (n - 1))
    return 1 - within / over_all


def test_alpha_of_krippendorff() -> None:
    """Computing Krippendorff's Alpha-Reliability (2011), section A: two observers, ten units, binary: 0.095."""
    meg, owen = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    units = [list(pair) for pair in zip(meg, owen, strict=True)]
    assert float(alpha(*splits(units))) == pytest.approx(0.095, abs=5e-4)


def test_alpha_by_brute_force_with_gaps() -> None:
    chance = np.random.default_rng(3)
    for _ in range(40):
        units = [chance.integers(0, 2, chance.integers(0, 5)).tolist() for _ in range(30)]
        assert float(alpha(*splits(units))) == pytest.approx(brute_alpha(units), abs=1e-12)


def test_mean_kappa_passes_over_tables_without_one() -> None:
    cells = [*table(20, 5, 10, 15), *table(0, 0, 0, 0), *table(5, 0, 0, 0), *table(10, 0, 0, 10)]
    assert float(mean_kappa(*cells)) == pytest.approx((0.4 + 1) / 2)


# ---- intervals


def plain_sums(tp: int, fp: int, fn: int, tn: int, run: float = 0.0) -> list[np.ndarray]:
    n = tp + fp + fn + tn
    return table(tp, fp, fn, tn, tp + fp, fn + tn, n, run, 1.0 if run else 0.0)


def test_a_share_alone_has_the_limits_of_mid_p() -> None:
    generator = np.random.default_rng(0)
    for share, number in ((0.9, 20), (1.0, 8), (0.0, 5), (0.5, 2), (0.97, 400)):
        drawn = share_draws(share, number, generator)
        limits = share_limits([share], [float(number)], 0.95)
        assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx([limits.low[0], limits.high[0]], abs=0.02)


@pytest.mark.parametrize("cells", [(2, 0, 0, 0), (1, 0, 0, 1), (0, 0, 0, 2), (1, 1, 0, 0), (40, 0, 0, 2), (0, 5, 5, 0)])
def test_edges_are_never_certain(cells: tuple[int, int, int, int]) -> None:
    for finish in (kappa, ac1, balanced_accuracy, sensitivity, specificity):
        made = TableInterval(finish)(plain_sums(*cells), [], level=0.95, seed=1, units=sum(cells))
        value = float(finish(*table(*cells)))
        if np.isfinite(value) and not made.absent:
            assert made.low <= value <= made.high
            assert made.high - made.low > 0.03, finish.__name__
        else:
            assert made.absent


def test_verdicts_that_are_known_of_the_whole_run_make_it_narrower() -> None:
    def width(run: float) -> float:
        made = TableInterval(sensitivity)(plain_sums(54, 6, 21, 39, run), [], level=0.95, seed=1, units=120)
        return made.high - made.low

    assert width(10_000.0) < width(0.0)


def test_rows_of_clusters_count_by_how_alike_they_are() -> None:
    cells = plain_sums(54, 6, 21, 39)

    def width(units: float, spread: float) -> float:
        """Replicates of the table that move so much more than those of rows would."""
        chance = np.random.default_rng(4)
        drawn = chance.multinomial(int(120 / spread), [0.45, 0.05, 0.175, 0.325], 400).T * spread
        made = TableInterval(kappa)(cells, [*drawn.astype(float)], level=0.95, seed=1, units=units)
        return made.high - made.low

    rows = TableInterval(kappa)(cells, [], level=0.95, seed=1, units=120)
    assert width(40, 3.0) > 1.5 * (rows.high - rows.low)
    assert width(40, 1.0) < 1.15 * (rows.high - rows.low)
    # Where nothing moves, each cluster counts once.
    same = [np.full(100, cell) for cell in (60.0, 0.0, 0.0, 60.0)]
    few = TableInterval(kappa)(plain_sums(60, 0, 0, 60), same, level=0.95, seed=1, units=12)
    many = TableInterval(kappa)(plain_sums(60, 0, 0, 60), same, level=0.95, seed=1, units=120)
    assert few.low < 0.7 < 0.9 < many.low


def test_the_truth_is_covered() -> None:
    """A small run of benchmarks/agreement.py: κ and AC1, at edges too."""
    chance = np.random.default_rng(8)
    for pi, a, b, n in ((0.5, 0.9, 0.1, 40), (0.9, 0.97, 0.4, 40), (0.95, 0.9, 0.5, 120), (0.9, 1.0, 0.0, 10)):
        true = [pi * a, pi * (1 - a), (1 - pi) * b, (1 - pi) * (1 - b)]
        hits = {kappa: 0, ac1: 0}
        tried = {kappa: 0, ac1: 0}
        for draw in range(150):
            cells = chance.multinomial(n, true)
            drawn = table_draws(known_shares(plain_sums(*cells), [], 0.95, n), draw)
            for finish in hits:
                made = interval_of(float(finish(*table(*cells))), finish(*drawn), 0.95)
                tried[finish] += not made.absent
                hits[finish] += (not made.absent) and made.low <= float(finish(*table(*true))) <= made.high
        for finish in hits:
            assert hits[finish] >= 0.9 * tried[finish], (finish.__name__, pi, a, b, n)


def test_alpha_is_covered() -> None:
    chance = np.random.default_rng(9)
    widths: dict[tuple[int, int], list[float]] = {}
    for people, share, noise, n in ((2, 0.5, 0.1, 60), (2, 0.95, 0.03, 60), (2, 0.8, 0.0, 20), (4, 0.8, 0.1, 60)):
        apart = 2 * noise * (1 - noise)
        right = share * (1 - noise) + (1 - share) * noise
        truth = 1 - apart / (2 * right * (1 - right))
        hits = 0
        for draw in range(150):
            real = chance.random(n) < share
            votes = [[int(x != (chance.random() < noise)) for _ in range(people)] for x in real]
            each = np.array([[float(one) for one in splits([of_one])] for of_one in votes])
            again = (chance.poisson(1.0, (200, n)) @ each).T
            drawn = split_draws(each.sum(0).tolist(), [*again], draw, n, 0.95)
            low, high = np.nanquantile(drawn, [0.025, 0.975])
            hits += low <= truth <= high + 1e-12
            widths.setdefault((people, n), []).append(high - low)
        assert hits >= 0.9 * 150, (people, share, noise, n)
    assert np.mean(widths[4, 60]) < np.mean(widths[2, 60]), "more people know more of an example"
