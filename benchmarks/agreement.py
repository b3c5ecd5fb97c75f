"""Does a 95 % interval of a verdict's agreement with people hold the truth 95 times in 100?

Draws runs of 1,000 verdicts whose rates are known, labels some of them as `sensecheck label` draws them or at random,
and puts the product's own statistics on the labels. Prints how often the interval holds the truth, and its mean width.

    python benchmarks/agreement.py                       # a quick look
    python benchmarks/agreement.py --datasets 250        # the table of docs/people.md
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sensecheck.labelling.drawing import allocated
from sensecheck.statistics.agreement import (
    Finish,
    ac1,
    balanced_accuracy,
    interval_of,
    kappa,
    sensitivity,
    specificity,
    table_draws,
)
from sensecheck.statistics.arrays import Floats

RUN = 1_000
FIGURES: dict[str, Finish] = {
    "sensitivity": sensitivity, "specificity": specificity, "balanced": balanced_accuracy, "κ": kappa, "AC1": ac1,
}  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """How often the verdict says right, and people do where it says right and where it says wrong."""

    verdict: float
    right: float
    wrong: float

    @property
    def table(self) -> list[Floats]:
        v, a, b = self.verdict, self.right, self.wrong
        return [np.asarray(cell) for cell in (v * a, v * (1 - a), (1 - v) * b, (1 - v) * (1 - b))]


SCENARIOS = (
    Scenario(0.5, 0.9, 0.1),
    Scenario(0.5, 0.6, 0.5),
    Scenario(0.9, 0.97, 0.4),
    Scenario(0.9, 1.0, 0.0),
    Scenario(0.98, 0.99, 0.2),
)
LABELS = (2, 10, 40, 120, 400)


def sums_of(scenario: Scenario, labels: int, drawn: bool, chance: np.random.Generator) -> list[float]:
    """The sums of one data set of labels; drawn: by verdict, as `sensecheck label` does, else at random."""
    if not drawn:
        cells = chance.multinomial(labels, [float(cell) for cell in scenario.table])
        right, wrong = float(cells[0] + cells[1]), float(cells[2] + cells[3])
        return [*map(float, cells), right, wrong, float(labels), 0.0, 0.0]
    in_run = chance.binomial(RUN, scenario.verdict)
    sizes = [size for size in (in_run, RUN - in_run) if size]
    taken = iter(allocated(sizes, labels))
    right, wrong = (next(taken) if size else 0 for size in (in_run, RUN - in_run))
    weights = [
        size / number * labels / RUN if number else 0.0 for size, number in ((in_run, right), (RUN - in_run, wrong))
    ]
    tp, fn = chance.binomial(right, scenario.right), chance.binomial(wrong, scenario.wrong)
    cells = [weights[0] * tp, weights[0] * (right - tp), weights[1] * fn, weights[1] * (wrong - fn)]
    return [*cells, weights[0] ** 2 * right, weights[1] ** 2 * wrong, float(labels), float(RUN), 1.0]


SLICES = ((0.7, Scenario(0.9, 0.97, 0.4)), (0.2, Scenario(0.6, 0.9, 0.3)), (0.1, Scenario(0.4, 0.7, 0.1)))
"""Three slices of a run, by their share: weights then differ among examples of one verdict."""


def sums_by_slice(labels: int, chance: np.random.Generator) -> list[float]:
    """Of labels drawn from every verdict of every slice."""
    in_slices = chance.multinomial(RUN, [share for share, _ in SLICES])
    strata = []
    for (_, scenario), number in zip(SLICES, in_slices, strict=True):
        right = chance.binomial(number, scenario.verdict)
        strata += [(True, right, scenario.right), (False, number - right, scenario.wrong)]
    strata = [stratum for stratum in strata if stratum[1]]
    taken = allocated([size for _, size, _ in strata], labels)
    cells, squares = [0.0] * 4, [0.0, 0.0]
    for (verdict, size, rate), number in zip(strata, taken, strict=True):
        weight = size / number * labels / RUN
        people = chance.binomial(number, rate)
        first = 0 if verdict else 2
        cells[first] += weight * people
        cells[first + 1] += weight * (number - people)
        squares[0 if verdict else 1] += weight**2 * number
    return [*cells, *squares, float(sum(taken)), float(RUN), 1.0]


def tables_of_slices() -> list[Floats]:
    return [np.asarray(sum(share * scenario.table[place] for share, scenario in SLICES)) for place in range(4)]


def cell(
    scenario: Scenario | None, labels: int, drawn: bool, datasets: int, chance: np.random.Generator
) -> Iterator[str]:
    """One row of the table; no scenario: the slices."""
    table = scenario.table if scenario is not None else tables_of_slices()
    truth = {name: float(finish(*table)) for name, finish in FIGURES.items()}
    widths: dict[str, list[float]] = {name: [] for name in FIGURES}
    hits = dict.fromkeys(FIGURES, 0)
    for number in range(datasets):
        sums = sums_by_slice(labels, chance) if scenario is None else sums_of(scenario, labels, drawn, chance)
        draws = table_draws(tuple(sums), number, labels)
        for name, finish in FIGURES.items():
            value = float(finish(*(np.asarray(one) for one in sums[:4])))
            made = interval_of(value, finish(*draws), 0.95)
            if not made.absent:
                hits[name] += made.low - 1e-12 <= truth[name] <= made.high + 1e-12
                widths[name].append(made.high - made.low)
    for name, found in widths.items():
        # Of fewer, most labels are of one class, and there is no figure.
        yield f"{100 * hits[name] / len(found):.1f} ({np.mean(found):.2f})" if len(found) >= datasets / 4 else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=200, help="data sets a cell (default: 200)")
    given = parser.parse_args()
    chance = np.random.default_rng(20261118)
    print("| verdict says right, right where it does, right where not | labels | " + " | ".join(FIGURES) + " |")
    print("|---|---|" + "---|" * len(FIGURES))
    for labels in LABELS[1:]:
        found = " | ".join(cell(None, labels, True, given.datasets, chance))
        print(f"| three unlike slices | {labels} by verdict and slice | {found} |", flush=True)
    for drawn in (True, False):
        for scenario in SCENARIOS:
            for labels in LABELS:
                found = " | ".join(cell(scenario, labels, drawn, given.datasets, chance))
                how = "by verdict" if drawn else "at random"
                rates = f"{scenario.verdict:g}, {scenario.right:g}, {scenario.wrong:g}"
                print(f"| {rates} | {labels} {how} | {found} |", flush=True)


if __name__ == "__main__":
    main()
