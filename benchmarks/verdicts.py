"""Do intervals hold the truth, and do tests keep their level? Simulated for docs/statistics.md.

    python benchmarks/verdicts.py --sets 400                # a quick look
    python benchmarks/verdicts.py --sets 4000 --jobs 2      # the tables of docs/statistics.md

Each cell draws data sets whose true figure is known. Intervals are those of `sensecheck.statistics.estimate`: every
data set is a slice of one table, so that what is measured is what users get. Tests are those of
`sensecheck.statistics.compare` over two simulated runs. Peers: Wilson's interval, BCa and percentile bootstraps of
1,000 replicates, the cluster-robust t, McNemar's exact test and sacrebleu's approximate randomisation (its rule, on the
same rows).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.calibrated.figures import statistics as calibrated_statistics
from sensecheck.statistics.compare import compare, mcnemar
from sensecheck.statistics.distributions import student_quantile
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.statistic import ONE, AnyStatistic, Bins, Share, Statistic, mean_of, ratio

Floats = NDArray[np.float64]
Columns = dict[str, Any]
Rng = np.random.Generator
SLICES = 500  # data sets in one table
COLUMNS = 40  # of one pair of runs
BOOTSTRAPPED = 400  # data sets where every one of them is resampled
Z = NormalDist().inv_cdf(0.975)


# -- intervals ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """Data sets of one kind."""

    name: str
    draw: Callable[[Rng], Columns]
    figure: AnyStatistic
    truth: float
    peers: tuple[str, ...] = ("percentile",)
    resampled: bool = False
    """Our own interval needs a bootstrap: fewer data sets do."""


def proportion(p: float, n: int, rng: Rng) -> Columns:
    return {"x": rng.random(n) < p}


def clustered(p: float, icc: float, groups: int, size: int, rng: Rng) -> Columns:
    chance = rng.beta(p * (1 - icc) / icc, (1 - p) * (1 - icc) / icc, groups)
    return {"x": (rng.random((groups, size)) < chance[:, None]).ravel(), "cluster": np.repeat(np.arange(groups), size)}


def unequal_clusters(p: float, icc: float, groups: int, rng: Rng) -> Columns:
    sizes = rng.integers(1, 30, groups)
    owner = np.repeat(np.arange(groups), sizes)
    chance = rng.beta(p * (1 - icc) / icc, (1 - p) * (1 - icc) / icc, groups)
    return {"x": rng.random(len(owner)) < chance[owner], "cluster": owner}


def weighted(p: float, n: int, rng: Rng) -> Columns:
    return {"x": rng.random(n) < p, "weight": rng.choice([1.0, 2.0, 5.0], n)}


def piled(ones: float, n: int, rng: Rng) -> Columns:
    return {"x": np.where(rng.random(n) < ones, 1.0, rng.random(n))}


def facts(kept: float, n: int, rng: Rng) -> Columns:
    number = rng.integers(1, 9, n)
    return {"kept": rng.binomial(number, rng.beta(kept * 20, (1 - kept) * 20, n)).astype(float), "facts": number}


def answers(n: int, rng: Rng) -> Columns:
    gold = rng.integers(1, 20, n)
    tp = np.where(rng.random(n) < 0.97, gold, rng.integers(0, 20, n).clip(max=gold))
    return {"tp": tp, "fp": rng.binomial(2, 0.005, n), "fn": gold - tp}


def subtypes(rng: Rng) -> Columns:
    sizes = (1, 2, 3, 5, 10, 30, 80, 200)
    kind = np.repeat(np.arange(len(sizes)), sizes)
    return {"x": rng.random(len(kind)) < SUBTYPE_ACCURACY[kind], "kind": kind.astype(float)}


SUBTYPE_ACCURACY = np.array([0.9, 0.8, 0.95, 0.7, 0.9, 0.85, 0.92, 0.97])


def ranked(accuracy: float, n: int, rng: Rng) -> Columns:
    """Confidences that put right above wrong four times in five, whatever the accuracy."""
    right = rng.random(n) < accuracy
    shift = NormalDist().inv_cdf(0.8) * sqrt(2)
    score = rng.normal(0, 1, n) + shift * right
    return {"confidence": 1 / (1 + np.exp(-score)), "correct": right}


def certain(accuracy: float, n: int, rng: Rng) -> Columns:
    return {"confidence": np.ones(n), "correct": rng.random(n) < accuracy}


def honest(n: int, rng: Rng) -> Columns:
    confidence = rng.beta(8, 1.2, n)
    return {"confidence": confidence, "correct": rng.random(n) < confidence}


def _macro(total: Floats, n: Floats) -> Floats:
    filled = n > 0
    means = np.where(filled, total / np.where(filled, n, 1), 0.0)
    return np.asarray(means.sum(-1) / filled.sum(-1))


def _f1_parts(tp: Floats, fp: Floats, fn: Floats) -> tuple[Floats, Floats]:
    return 2 * tp, 2 * tp + fp + fn


X = mean_of("x")
KEPT = Statistic("kept", ("kept", "facts"), ratio)
F1 = Statistic("f1", ("tp", "fp", "fn"), lambda *s: ratio(*_f1_parts(*s)), share=Share(_f1_parts))
MACRO = Statistic("macro", ("x", ONE), _macro, bins=Bins("kind", tuple(range(9))), means_of_bins=True)
OPEN = mean_of("x", range=(0.0, float("inf")))
CALIBRATED = {s.name: s for s in calibrated_statistics({"bins": 20})}
BOTH = ("Wilson", "percentile", "bca")


def f1_truth() -> float:
    drawn = answers(4_000_000, np.random.default_rng(0))
    tp, wrong = float(drawn["tp"].sum()), float(drawn["fp"].sum() + drawn["fn"].sum())
    return 2 * tp / (2 * tp + wrong)


def cells() -> list[Cell]:
    found = []
    for p in (0.5, 0.9, 0.95, 0.99, 1.0):
        found += [Cell(f"share {p}, n = {n}", partial(proportion, p, n), X, p, BOTH) for n in (2, 5, 15, 20, 50, 200)]
    for p in (0.7, 0.95):
        for icc in (0.1, 0.3):
            found += [
                Cell(f"clusters of 5, share {p}, ICC {icc}, {g} clusters", partial(clustered, p, icc, g, 5), X, p,
                     ("cluster t", "percentile"))
                for g in (20, 50, 200)
            ]  # fmt: skip
    found += [
        Cell(f"clusters of 1 to 29, share .95, ICC .2, {g} clusters", partial(unequal_clusters, 0.95, 0.2, g), X, 0.95,
             ("cluster t", "percentile"))
        for g in (20, 50)
    ]  # fmt: skip
    found += [Cell(f"weights 1, 2, 5, share .95, n = {n}", partial(weighted, 0.95, n), X, 0.95) for n in (30, 100)]
    found += [Cell(f"scores, 97 % ones, n = {n}", partial(piled, 0.97, n), X, 0.985) for n in (8, 30, 100)]
    found += [Cell(f"facts kept .95, {n} pairs", partial(facts, 0.95, n), KEPT, 0.95) for n in (10, 50, 200)]
    truth = f1_truth()
    found += [Cell(f"micro F1 {truth:.3f}, n = {n}", partial(answers, n), F1, truth) for n in (10, 50, 200)]
    found.append(Cell("macro mean, sub-types of 1 to 200", subtypes, MACRO, float(SUBTYPE_ACCURACY.mean())))
    for n in (15, 30, 100):
        found.append(Cell(f"lognormal mean, n = {n}", lambda r, n=n: {"x": r.lognormal(0, 1, n)}, OPEN, np.exp(0.5)))
    found += [
        Cell(f"AUROC .80 at accuracy {a}, n = {n}", partial(ranked, a, n), CALIBRATED["auroc"], 0.8, resampled=True)
        for a, n in ((0.5, 50), (0.8, 50), (0.95, 50), (0.95, 200))
    ]
    found += [
        Cell(f"ECE, all confidences 1, accuracy .98, n = {n}", partial(certain, 0.98, n), CALIBRATED["ece"], 0.02,
             resampled=True)
        for n in (15, 50, 200)
    ]  # fmt: skip
    found += [
        Cell(f"confidence − accuracy, calibrated, n = {n}", partial(honest, n), CALIBRATED["confidence_gap"], 0.0)
        for n in (10, 20, 50, 200)
    ]
    return found


def table_of(cell: Cell, sets: int, rng: Rng) -> pl.DataFrame:
    """Data sets one below the other, each a slice."""
    parts = []
    for k in range(sets):
        part = pl.DataFrame(cell.draw(rng)).with_columns(pl.lit(str(k)).alias("set"))
        if "cluster" in part.columns:
            part = part.with_columns(pl.format("{}/{}", "set", "cluster").alias("cluster"))
        parts.append(part)
    return pl.concat(parts).with_row_index("id").with_columns(pl.col("id").cast(pl.String))


@dataclass
class Tally:
    held: int = 0
    made: int = 0
    width: float = 0.0

    def add(self, low: float | None, high: float | None, truth: float) -> None:
        if low is None or high is None:
            return
        self.made += 1
        self.held += low - 1e-12 <= truth <= high + 1e-12
        self.width += high - low

    def words(self) -> str:
        return f"{100 * self.held / self.made:.1f} ({self.width / self.made:.3f})" if self.made else "–"


def coverage(task: tuple[int, int, int]) -> tuple[str, int, dict[str, Tally]]:
    which, sets, seed = task
    cell = cells()[which]
    rng = np.random.default_rng([seed, which])
    wanted = min(sets, BOOTSTRAPPED) if cell.resampled else sets
    tallies = {name: Tally() for name in ("ours", *cell.peers)}
    for start in range(0, wanted, SLICES):
        data = table_of(cell, min(SLICES, wanted - start), rng)
        _ours(tallies["ours"], data, cell, "auto")
        for peer in cell.peers:
            if peer in ("percentile", "bca"):
                if tallies[peer].made < BOOTSTRAPPED:
                    _ours(tallies[peer], data.filter(pl.col("set").cast(pl.Int64) < BOOTSTRAPPED), cell, peer)
            else:
                for _, one in data.group_by("set", maintain_order=True):
                    tallies[peer].add(*_peer(peer, one), cell.truth)
    return cell.name, wanted, tallies


def _ours(tally: Tally, data: pl.DataFrame, cell: Cell, method: Any) -> None:
    options = IntervalOptions(method=method)
    found = estimate(Frames(data), [cell.figure], slices=[("set",)], options=options)
    for (figure,) in found.slices[("set",)]:
        tally.add(figure.low, figure.high, cell.truth)  # type: ignore[arg-type]


def _peer(name: str, data: pl.DataFrame) -> tuple[float, float]:
    x = data["x"].to_numpy().astype(float)
    if name == "Wilson":
        n, p = len(x), x.mean()
        middle, half = p + Z * Z / (2 * n), Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return (middle - half) / (1 + Z * Z / n), (middle + half) / (1 + Z * Z / n)
    by_cluster = data.group_by("cluster").agg(total=pl.col("x").sum(), n=pl.len())
    total, n = (by_cluster[c].to_numpy().astype(float) for c in ("total", "n"))
    mean, groups = total.sum() / n.sum(), len(n)
    error = sqrt(groups / (groups - 1) * ((total - mean * n) ** 2).sum()) / n.sum()
    t = float(student_quantile(0.975, groups - 1))
    return mean - t * error, mean + t * error


# -- tests -------------------------------------------------------------------------------------------------------------

Pair = tuple[Columns, Columns]


@dataclass(frozen=True)
class Duel:
    """Two runs over the same examples; `null`: they have the same true figure."""

    name: str
    draw: Callable[[Rng], Pair]
    figure: AnyStatistic
    null: bool
    peers: tuple[str, ...] = ()
    resampled: bool = False


def right_alike(p: float, both: float, n: int, rng: Rng, more: float = 0.0) -> Pair:
    """True/false of two systems; a share `both` of the examples is decided by the example alone."""
    easy = rng.random(n) < both
    shared = rng.random(n) < p
    a = np.where(easy, shared, rng.random(n) < p)
    b = np.where(easy, shared, rng.random(n) < p + more)
    return {"x": a}, {"x": b}


def skewed(n: int, rng: Rng) -> Pair:
    """The same mean: one system is off a little everywhere, the other much and rarely."""
    return {"x": 0.5 + rng.normal(0, 0.02, n)}, {"x": 0.5 + np.clip(rng.exponential(0.1, n), 0, 0.5) - 0.0993262}


def in_clusters(p: float, icc: float, groups: int, size: int, rng: Rng, more: float = 0.0) -> Pair:
    sides = []
    for share in (p, p + more):
        chance = rng.beta(share * (1 - icc) / icc, (1 - share) * (1 - icc) / icc, groups)
        sides.append({
            "x": (rng.random((groups, size)) < chance[:, None]).ravel(),
            "cluster": np.repeat(np.arange(groups), size),
        })  # fmt: skip
    return sides[0], sides[1]


def hardest_left_out(n: int, rng: Rng) -> Pair:
    """Two systems that are one; the second scores nothing on the hardest tenth."""
    chance = rng.beta(2, 1, n)
    keep = chance > np.quantile(chance, 0.1)
    return {"x": rng.random(n) < chance}, {"x": rng.random(n) < chance, "scored": keep}


def sharp_and_blunt(n: int, rng: Rng) -> Pair:
    """Both calibrated; one is sure, the other hovers around its accuracy."""
    sides = []
    for a, b in ((0.6, 0.3), (20.0, 10.0)):
        confidence = rng.beta(a, b, n)
        sides.append({"confidence": confidence, "correct": rng.random(n) < confidence})
    return sides[0], sides[1]


def opposite_gaps(n: int, rng: Rng, more: float = 0.0) -> Pair:
    """Equally wrong, one over-confident and one under-confident (the second more so, by `more`)."""
    sides = []
    for gap in (0.1, -0.1 - more):
        confidence = rng.uniform(0.4, 0.7, n)
        sides.append({"confidence": confidence, "correct": rng.random(n) < confidence - gap})
    return sides[0], sides[1]


def areas(n: int, rng: Rng) -> Pair:
    return ranked(0.8, n, rng), ranked(0.8, n, rng)


def duels() -> list[Duel]:
    xs = mean_of("x", direction="higher")
    found = []
    for n in (15, 30, 100, 300):
        for p in (0.5, 0.9, 0.98):
            found.append(
                Duel(f"true/false {p}, n = {n}", partial(right_alike, p, 0.5, n), xs, True, ("McNemar", "swap"))
            )
        found.append(Duel(f"unequal skew, n = {n}", partial(skewed, n), xs, True, ("swap",)))
        found.append(Duel(f"hardest 10 % unscored, n = {n}", partial(hardest_left_out, n), xs, True))
    for g in (20, 50):
        found.append(Duel(f"{g} clusters of 5, ICC .3", partial(in_clusters, 0.8, 0.3, g, 5), xs, True))
    found.append(
        Duel(
            "+.10 at .6, n = 300: power", partial(right_alike, 0.6, 0.5, 300, more=0.1), xs, False, ("McNemar", "swap")
        )
    )
    found.append(
        Duel("+.10 at .7, 100 clusters of 5: power", partial(in_clusters, 0.7, 0.2, 100, 5, more=0.1), xs, False)
    )
    ece = CALIBRATED["ece"]
    for n in (300, 1000):
        found.append(
            Duel(
                f"ECE, sharp and blunt, both calibrated, n = {n}",
                partial(sharp_and_blunt, n),
                ece,
                True,
                resampled=True,
            )
        )
        found.append(
            Duel(f"ECE, gaps of .1 up and down, n = {n}", partial(opposite_gaps, n), ece, True, resampled=True)
        )
        found.append(
            Duel(
                f"ECE, .1 against .25, n = {n}: power", partial(opposite_gaps, n, more=0.15), ece, False, resampled=True
            )
        )
        found.append(Duel(f"AUROC .80 and .80, n = {n}", partial(areas, n), CALIBRATED["auroc"], True, resampled=True))
    return found


def _together(sides: list[Columns], as_it_is: bool) -> Frames:
    """One run: of several data sets, each is a column."""
    columns = dict(sides[0])
    if not as_it_is:
        columns = {"cluster": sides[0]["cluster"]} if "cluster" in columns else {}
        for k, side in enumerate(sides):
            x = pl.Series(side["x"])
            columns[f"x{k}"] = (
                x if "scored" not in side else pl.select(pl.when(pl.Series(side["scored"])).then(x)).to_series()
            )
    frame = pl.DataFrame(columns)
    return Frames(frame.with_row_index("id").with_columns(pl.col("id").cast(pl.String)))


def level(task: tuple[int, int, int]) -> tuple[str, int, bool, dict[str, float]]:
    which, sets, seed = task
    duel = duels()[which]
    rng = np.random.default_rng([seed, 1000 + which])
    wanted = min(sets, BOOTSTRAPPED) if duel.resampled else sets
    rejected = dict.fromkeys(("ours", *duel.peers), 0)
    disagreeing = 0
    done = 0
    while done < wanted:
        # Data sets that are one column each are columns of one pair of runs: a call costs most.
        drawn = [duel.draw(rng) for _ in range(1 if duel.resampled else min(COLUMNS, wanted - done))]
        figures = [duel.figure] if duel.resampled else [mean_of(f"x{k}") for k in range(len(drawn))]
        sides = [_together([pair[side] for pair in drawn], duel.resampled) for side in (0, 1)]
        for found in compare(*sides, figures, options=IntervalOptions(seed=done)):
            says = found.p is not None and found.p < 0.05
            rejected["ours"] += says
            disagreeing += found.low is not None and says == (found.low <= 0 <= found.high)  # type: ignore[operator]
        done += len(drawn)
        for (a, b), peer in product(drawn, duel.peers):
            x, y = (np.asarray(side["x"], dtype=float) for side in (a, b))
            p = (
                mcnemar(int(((x > 0) & (y < 1)).sum()), int(((x < 1) & (y > 0)).sum()))
                if peer == "McNemar"
                else swaps(y - x, rng)
            )
            rejected[peer] += p < 0.05
    shares = {name: 100 * count / wanted for name, count in rejected.items()}
    return duel.name, wanted, duel.null, {**shares, "disagree": 100 * disagreeing / wanted}


def swaps(difference: Floats, rng: Rng, times: int = 1000) -> float:
    """Approximate randomisation as sacrebleu has it: the two systems' rows swapped by coins."""
    seen = abs(difference.sum())
    drawn = np.abs(rng.choice([-1.0, 1.0], (times, len(difference))) @ difference)
    return float((np.sum(drawn >= seen - 1e-12) + 1) / (times + 1))


def _printed(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    columns = list(columns)
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=400, help="data sets a cell (400 where each is resampled)")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="cells whose name holds this")
    parser.add_argument("--part", choices=("intervals", "tests", "both"), default="both")
    args = parser.parse_args()
    chosen = [(i, args.sets, args.seed) for i, c in enumerate(cells()) if args.only in c.name and args.part != "tests"]
    dueling = [
        (i, args.sets, args.seed) for i, d in enumerate(duels()) if args.only in d.name and args.part != "intervals"
    ]
    with ProcessPoolExecutor(args.jobs) as pool:
        if chosen:
            heads = ("intervals of 95 %: cell", "ours covers % (width)", "others", "data sets")
            _printed(heads, map(_interval_row, pool.map(coverage, chosen)))
        if dueling:
            heads = ("tests at 5 %: cell", "", "ours rejects %", "others", "interval disagrees %", "data sets")
            _printed(heads, map(_test_row, pool.map(level, dueling)))


def _interval_row(found: tuple[str, int, dict[str, Tally]]) -> tuple[str, ...]:
    name, sets, tallies = found
    peers = ", ".join(f"{peer} {tally.words()}" for peer, tally in tallies.items() if peer != "ours")
    return name, tallies["ours"].words(), peers, f"{sets:,}"


def _test_row(found: tuple[str, int, bool, dict[str, float]]) -> tuple[str, ...]:
    name, sets, null, shares = found
    peers = ", ".join(f"{peer} {share:.1f}" for peer, share in shares.items() if peer not in ("ours", "disagree"))
    kind = "type I" if null else "power"
    return name, kind, f"{shares['ours']:.1f}", peers or "–", f"{shares['disagree']:.1f}", f"{sets:,}"


if __name__ == "__main__":
    main()
