"""Does a 95 % interval of a binned calibration figure hold the truth 95 times in 100?

Draws data sets whose population figure is known exactly, puts the plain percentile bootstrap and
`sensecheck.calibrated.debiased` on each; prints how often the interval holds the truth, and how long it is.

    python benchmarks/interval_coverage.py                       # a quick look
    python benchmarks/interval_coverage.py --datasets 1000 --jobs 2   # the table of docs/ece-interval.md
    python benchmarks/interval_coverage.py --edges --datasets 1000    # models that are certain

Confidences lie on a fine grid, so the population figure is a finite sum and unclustered bootstrap sums are
Poisson counts over (grid point, correct or not), exactly.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sensecheck.calibrated.debiased import KINDS, Kind, binned_figure, debiased_intervals

Array = NDArray[np.float64]
Sums = tuple[Array, Array, Array]
GRID = 100  # points in [0, 1], at cell middles: none on a bin edge of 10 or 20 bins
POINTS = (np.arange(GRID) + 0.5) / GRID
REPLICATES = 500
DRAWS = 400  # less than the default, for time: costs the table a few tenths of a point of coverage
SEQUENCE = (10, 30)  # tokens in a sequence: uniform between
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


@dataclass(frozen=True)
class Scenario:
    name: str
    mass: Array  # probability of each grid point
    accuracy: Array  # true accuracy at each grid point
    logits: Array | None = None  # of a sequence without effect; None: rows are independent
    effect: float = 0.0  # deviation of a sequence's shared effect, in logits

    def truth(self, kind: Kind, bins: int) -> float:
        place = (POINTS * bins).astype(int)
        sums = [np.bincount(place, w, bins) for w in (self.mass, self.mass * POINTS, self.mass * self.accuracy)]
        return float(binned_figure(kind, *sums))


def _beta(a: float, b: float) -> Array:
    density = POINTS ** (a - 1) * (1 - POINTS) ** (b - 1)
    return np.asarray(density / density.sum())


def _shifted(logits: Array, effect: float) -> Array:
    """Mean accuracy when a normal effect is added to the logits."""
    return np.asarray((1 / (1 + np.exp(-(logits[:, None] + effect * NODES)))) @ (WEIGHTS / WEIGHTS.sum()))


def scenarios(n: int) -> list[Scenario]:
    flat, top, bell = _beta(1, 1), _beta(30, 0.6), _beta(5, 2)
    logit = np.log(POINTS / (1 - POINTS))
    # Half the noise of a bin of n/20 rows, up and down in turn: the truth is then near the noise floor.
    mild = np.clip(POINTS + np.sqrt(20 / n) * 0.4 * np.where((POINTS * 20).astype(int) % 2 == 0, 1, -1), 0.01, 0.99)
    smooth = np.clip(POINTS - 0.25 / np.sqrt(n / 20), 0.005, 0.995)
    return [
        Scenario("calibrated, uniform", flat, POINTS),
        Scenario("calibrated, top-heavy", top, POINTS),
        Scenario("mild, alternating", flat, mild),
        Scenario("mild, one-sided", bell, smooth),
        Scenario("strong", flat, 1 / (1 + np.exp(-0.35 * logit + 0.3))),
        Scenario("over-confident at the top", bell, np.where(POINTS > 0.85, POINTS - 0.2, POINTS)),
        Scenario("top-heavy, over-confident", top, POINTS - 0.06 * POINTS**8),
        Scenario("clustered, over-confident", bell, _shifted(logit - 0.5, 1.0), logit - 0.5, 1.0),
        Scenario("clustered, near calibrated", flat, _shifted(logit * 1.1, 0.7), logit * 1.1, 0.7),
    ]


def draw(scenario: Scenario, n: int, bins: int, rng: np.random.Generator) -> tuple[Sums, Sums]:
    """Per-bin sums (n, confidence, correct) of one data set and their Poisson bootstrap replicates."""
    place = (POINTS * bins).astype(int)
    if scenario.logits is None:
        counts = rng.multinomial(n, scenario.mass)
        right = rng.binomial(counts, scenario.accuracy)
        live = np.flatnonzero(counts)
        right, wrong = right[live].astype(float), (counts - right)[live].astype(float)
        fold = np.zeros((len(live), bins))
        fold[np.arange(len(live)), place[live]] = 1
        value = POINTS[live][:, None] * fold
        drawn_right = rng.poisson(right, (REPLICATES, len(live))).astype(float)
        drawn = drawn_right + rng.poisson(wrong, (REPLICATES, len(live)))
        return (
            ((right + wrong) @ fold, (right + wrong) @ value, right @ fold),
            (drawn @ fold, drawn @ value, drawn_right @ fold),
        )
    lengths: list[int] = []
    while sum(lengths) < n:
        lengths.append(int(rng.integers(SEQUENCE[0], SEQUENCE[1] + 1)))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    rows = rng.choice(GRID, len(owner), p=scenario.mass)
    shared = scenario.effect * rng.standard_normal(len(lengths))
    hits = rng.random(len(owner)) < 1 / (1 + np.exp(-(scenario.logits[rows] + shared[owner])))
    cell = owner * bins + place[rows]
    count, confidence, correct = (
        np.bincount(cell, w, len(lengths) * bins).reshape(len(lengths), bins)
        for w in (np.ones(len(owner)), POINTS[rows], hits.astype(float))
    )
    weights = rng.poisson(1.0, (REPLICATES, len(lengths))).astype(float)
    return (
        (count.sum(0), confidence.sum(0), correct.sum(0)),
        (weights @ count, weights @ confidence, weights @ correct),
    )


@dataclass(frozen=True)
class Row:
    scenario: str
    n: int
    bins: int
    kind: Kind
    truth: float
    raw: float
    value: float
    plain: float
    plain_width: float
    ours: float
    width: float
    below: float
    above: float
    cost: float


def cell(task: tuple[int, int, int, int, int]) -> list[Row]:
    which, n, bins, datasets, seed = task
    scenario = scenarios(n)[which]
    rng = np.random.default_rng([seed, which, n, bins])
    truth = {kind: scenario.truth(kind, bins) for kind in KINDS}
    seen: dict[Kind, list[tuple[float, ...]]] = {kind: [] for kind in KINDS}
    for _ in range(datasets):
        sums, replicates = draw(scenario, n, bins, rng)
        start = time.process_time()
        found = debiased_intervals(KINDS, *sums, replicates, draws=DRAWS)
        cost = (time.process_time() - start) / len(KINDS)
        for kind in KINDS:
            ours = found[kind]
            target = truth[kind] if kind != "mce" else _observed_maximum(scenario, bins, sums[0])
            plain = np.nanquantile(binned_figure(kind, *replicates), [0.025, 0.975])
            raw = float(binned_figure(kind, *sums))
            assert ours.value is not None and ours.low is not None and ours.high is not None
            slack = 1e-9
            seen[kind].append(
                (
                    target,
                    raw,
                    ours.value,
                    plain[0] - slack <= target <= plain[1] + slack,
                    plain[1] - plain[0],
                    ours.low - slack <= target <= ours.high + slack,
                    ours.high - ours.low,
                    target < ours.low - slack,
                    target > ours.high + slack,
                    cost,
                )
            )
    return [
        Row(
            scenario.name,
            n,
            bins,
            kind,
            *(float(x) for x in np.mean(np.array(seen[kind], dtype=float), axis=0)),
        )
        for kind in KINDS
    ]


def _observed_maximum(scenario: Scenario, bins: int, n: Array) -> float:
    """The largest population gap over the bins that hold data: nothing is claimed of a bin never seen."""
    place = (POINTS * bins).astype(int)
    sums = [
        np.bincount(place, w, bins) for w in (scenario.mass, scenario.mass * POINTS, scenario.mass * scenario.accuracy)
    ]
    return float(np.abs((sums[1] - sums[2]) / sums[0])[n > 0].max())


EDGES: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    # What a model says, each as often as the others, and how often it is then right.
    "all 1.0, right .98": ((1.0,), (0.98,)),
    "all 1.0, right .90": ((1.0,), (0.90,)),
    "all .999, right .98": ((0.999,), (0.98,)),
    "all .999, calibrated": ((0.999,), (0.999,)),
    "all 0.0, right .02": ((0.0,), (0.02,)),
    "half 1.0, right .98; half .6": ((1.0, 0.6), (0.98, 0.6)),
    "half 1.0, right .95; half .9": ((1.0, 0.9), (0.95, 0.9)),
    "half 1.0, right .98; half 0.0, right .02": ((1.0, 0.0), (0.98, 0.02)),
}
EDGE_SIZES = (15, 20, 50, 200)
EDGE_KINDS: tuple[Kind, ...] = ("ece", "rmsce", "over", "mce")


def edge(task: tuple[str, int, int, int]) -> tuple[str, int, dict[Kind, tuple[float, float]]]:
    """How often the interval holds the truth of a model that is certain, and its mean width."""
    name, n, datasets, seed = task
    said, accuracy = (np.array(part) for part in EDGES[name])
    fold = np.eye(20)[np.minimum((said * 20).astype(int), 19)]
    rng = np.random.default_rng([seed, n, len(name)])
    gap = said - accuracy
    truth: dict[Kind, float] = {
        "ece": float(np.abs(gap).mean()),
        "rmsce": float(np.sqrt((gap**2).mean())),
        "over": float(np.maximum(gap, 0).mean()),
        "mce": float(np.abs(gap).max()),
    }
    seen: dict[Kind, list[tuple[float, float]]] = {kind: [] for kind in EDGE_KINDS}
    for _ in range(datasets):
        count = rng.multinomial(n, np.full(len(said), 1 / len(said)))
        right = rng.binomial(count, accuracy)
        shape = (REPLICATES, len(said))
        drawn_right = rng.poisson(right, shape)
        drawn = drawn_right + rng.poisson(count - right, shape)
        sums = (count @ fold, count * said @ fold, right @ fold)
        replicates = (drawn @ fold, drawn * said @ fold, drawn_right @ fold)
        for kind, found in debiased_intervals(EDGE_KINDS, *sums, replicates, draws=DRAWS, units=n).items():
            assert found.low is not None and found.high is not None
            held = found.low - 1e-9 <= truth[kind] <= found.high + 1e-9
            seen[kind].append((held, found.high - found.low))
    return name, n, {kind: tuple(np.mean(each, axis=0)) for kind, each in seen.items()}  # type: ignore[misc]


def edges(datasets: int, jobs: int, seed: int) -> None:
    print(f"{datasets} data sets per cell, {REPLICATES} replicates, seed {seed}\n")
    print("| scenario | n | " + " | ".join(f"{kind} covers | width" for kind in EDGE_KINDS) + " |")
    print("|---|--:|" + "--:|" * (2 * len(EDGE_KINDS)))
    with ProcessPoolExecutor(jobs) as pool:
        for name, n, found in pool.map(edge, [(name, n, datasets, seed) for name in EDGES for n in EDGE_SIZES]):
            cells = " | ".join(f"{held:.1%} | {width:.3f}" for held, width in found.values())
            print(f"| {name} | {n} | {cells} |", flush=True)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", type=int, default=40, help="data sets per cell (default: 40)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 500, 2000, 10000], help="rows per data set")
    parser.add_argument("--bins", type=int, nargs="+", default=[10, 20], help="numbers of bins")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS, help="figures to print")
    parser.add_argument("--only", default="", help="scenarios whose name holds this text")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--edges", action="store_true", help="models that say 1, 0.999 or 0, with few rows")
    options = parser.parse_args(argv)
    if options.edges:
        edges(options.datasets, options.jobs, options.seed)
        return
    tasks = [
        (which, n, bins, options.datasets, options.seed)
        for which, scenario in enumerate(scenarios(1000))
        if options.only in scenario.name
        for n in options.sizes
        for bins in options.bins
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = [row for rows in pool.map(cell, tasks) for row in rows]
    print(f"{options.datasets} data sets per cell, {REPLICATES} replicates, seed {options.seed}\n")
    for kind in options.kinds:
        print(f"### {kind}\n")
        print("| scenario | n | bins | truth | plain mean | debiased mean | percentile covers | width ", end="")
        print("| ours covers | width | truth below | truth above |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
        for r in rows:
            if r.kind == kind:
                flag = " **" if r.ours < 0.93 else ""
                print(
                    f"| {r.scenario} | {r.n} | {r.bins} | {r.truth:.4f} | {r.raw:.4f} | {r.value:.4f} "
                    f"| {r.plain:.1%} | {r.plain_width:.4f} | {r.ours:.1%}{flag} | {r.width:.4f} "
                    f"| {r.below:.1%} | {r.above:.1%} |"
                )
        print()
    print(f"CPU per interval: {1000 * np.mean([r.cost for r in rows]):.1f} ms on average")


if __name__ == "__main__":
    main()
