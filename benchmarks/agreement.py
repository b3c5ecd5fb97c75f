"""Does a 95 % interval of a verdict's agreement with people hold the truth 95 times in 100?

Draws runs of 1,000 verdicts whose rates are known, labels some of them as `sensecheck label` draws them, at random, or
in whole clusters, and puts the product's own rule on the labels. Prints how often the interval holds the truth, and its
mean width in brackets.

    python benchmarks/agreement.py                       # a quick look
    python benchmarks/agreement.py --datasets 250        # the table of docs/people.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sensecheck.labelling.drawing import allocated
from sensecheck.statistics.agreement import (
    Finish,
    ac1,
    balanced_accuracy,
    interval_of,
    kappa,
    known_shares,
    sensitivity,
    specificity,
    table_draws,
)
from sensecheck.statistics.arrays import Floats

RUN = 1_000
REPLICATES = 300
FIGURES: dict[str, Finish] = {
    "sensitivity": sensitivity, "specificity": specificity, "balanced": balanced_accuracy, "κ": kappa, "AC1": ac1,
}  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """How often the verdict says right, and people do where it says right and where it says wrong."""

    verdict: float
    right: float
    wrong: float

    @property
    def table(self) -> list[Floats]:
        v, a, b = self.verdict, self.right, self.wrong
        return [np.asarray(cell) for cell in (v * a, v * (1 - a), (1 - v) * b, (1 - v) * (1 - b))]

    def __str__(self) -> str:
        return f"{self.verdict:g}, {self.right:g}, {self.wrong:g}"


@dataclass(frozen=True)
class Labels:
    """One data set, as the rule is given it."""

    sums: list[float]
    replicates: Sequence[Floats] = ()
    units: float = 0.0


RATES = (
    Rates(0.5, 0.9, 0.1), Rates(0.5, 0.6, 0.5), Rates(0.9, 0.97, 0.4), Rates(0.9, 1.0, 0.0), Rates(0.98, 0.99, 0.2),
)  # fmt: skip
NUMBERS = (2, 10, 40, 120, 400)
SLICES = ((0.7, Rates(0.9, 0.97, 0.4)), (0.2, Rates(0.6, 0.9, 0.3)), (0.1, Rates(0.4, 0.7, 0.1)))
"""Three slices of a run, by their share: weights then differ among examples of one verdict."""
CLUSTERS = ((20, 5, 0.3, Rates(0.7, 0.9, 0.2)), (50, 4, 0.3, Rates(0.7, 0.9, 0.2)), (50, 8, 0.2, Rates(0.8, 0.95, 0.1)))
"""Clusters, labels in each, and how alike those of one are (intraclass correlation, of verdicts and labels)."""
Draw = Callable[[np.random.Generator], Labels]


def at_random(rates: Rates, labels: int, chance: np.random.Generator) -> Labels:
    cells = chance.multinomial(labels, [float(cell) for cell in rates.table]).tolist()
    return Labels([*map(float, cells), cells[0] + cells[1], cells[2] + cells[3], labels, 0.0, 0.0], units=labels)


def drawn(parts: Sequence[tuple[float, Rates]], labels: int, chance: np.random.Generator) -> Labels:
    """From every verdict of every slice, as `sensecheck label` does."""
    sizes = chance.multinomial(RUN, [share for share, _ in parts])
    strata = []
    for (_, rates), number in zip(parts, sizes, strict=True):
        right = int(chance.binomial(number, rates.verdict))
        strata += [(0, right, rates.right), (2, int(number) - right, rates.wrong)]
    strata = [stratum for stratum in strata if stratum[1]]
    taken = allocated([size for _, size, _ in strata], labels)
    cells, squares = [0.0] * 4, [0.0, 0.0]
    for (first, size, rate), number in zip(strata, taken, strict=True):
        weight = size / number * labels / RUN
        people = int(chance.binomial(number, rate))
        cells[first] += weight * people
        cells[first + 1] += weight * (number - people)
        squares[first // 2] += weight**2 * number
    return Labels([*cells, *squares, float(sum(taken)), float(RUN), 1.0], units=sum(taken))


def in_clusters(clusters: int, each: int, alike: float, rates: Rates, chance: np.random.Generator) -> Labels:
    """Every cluster has rates of its own, about those of all."""
    spread = (1 - alike) / alike
    means = (rates.verdict, rates.right, rates.wrong)
    of_cluster = [chance.beta(p * spread, (1 - p) * spread, (clusters, 1)) for p in means]
    verdict, right, wrong = (chance.random((clusters, each)) < p for p in of_cluster)
    people = np.where(verdict, right, wrong)
    pairs = ((verdict, people), (verdict, ~people), (~verdict, people), (~verdict, ~people))
    counts = np.stack([(one & other).sum(1) for one, other in pairs], axis=1).astype(float)
    cells = counts.sum(0).tolist()
    again = (chance.poisson(1.0, (REPLICATES, clusters)) @ counts).T
    sums = [*cells, cells[0] + cells[1], cells[2] + cells[3], clusters * each, 0.0, 0.0]
    return Labels(sums, list(again), clusters)


def cell(table: Sequence[Floats], draw: Draw, datasets: int, chance: np.random.Generator) -> Iterator[str]:
    """Coverage and mean width of each figure."""
    truth = {name: float(finish(*table)) for name, finish in FIGURES.items()}
    widths: dict[str, list[float]] = {name: [] for name in FIGURES}
    hits = dict.fromkeys(FIGURES, 0)
    for number in range(datasets):
        labels = draw(chance)
        sums = [np.asarray(one, dtype=np.float64) for one in labels.sums]
        draws = table_draws(known_shares(sums, labels.replicates, 0.95, labels.units), number)
        for name, finish in FIGURES.items():
            made = interval_of(float(finish(*sums[:4])), finish(*draws), 0.95)
            if not made.absent:
                hits[name] += made.low - 1e-12 <= truth[name] <= made.high + 1e-12
                widths[name].append(made.high - made.low)
    for name, found in widths.items():
        # Of fewer, most labels are of one class, and there is no figure.
        yield f"{100 * hits[name] / len(found):.1f} ({np.mean(found):.2f})" if len(found) >= datasets / 4 else "–"


def cells() -> Iterator[tuple[str, str, list[Floats], Draw]]:
    """Rates in words, labels in words, the true table, and how labels are drawn."""
    of_all = [np.asarray(sum(share * rates.table[place] for share, rates in SLICES)) for place in range(4)]
    for labels in NUMBERS[1:]:
        yield "three unlike slices", f"{labels} by verdict and slice", of_all, partial(drawn, SLICES, labels)
    for clusters, each, alike, rates in CLUSTERS:
        words = f"{clusters} clusters of {each}, ICC {alike:g}"
        yield str(rates), words, rates.table, partial(in_clusters, clusters, each, alike, rates)
    for rates in RATES:
        for labels in NUMBERS:
            parts = ((1.0, rates),)
            yield str(rates), f"{labels} by verdict", rates.table, partial(drawn, parts, labels)
            yield str(rates), f"{labels} at random", rates.table, partial(at_random, rates, labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=50, help="data sets a cell (default: 50)")
    given = parser.parse_args()
    chance = np.random.default_rng(20261118)
    print("| verdict says right, right where it does, right where not | labels | " + " | ".join(FIGURES) + " |")
    print("|---|---|" + "---|" * len(FIGURES))
    for rates, how, table, draw in cells():
        print(f"| {rates} | {how} | {' | '.join(cell(table, draw, given.datasets, chance))} |", flush=True)


if __name__ == "__main__":
    main()
