"""Do rates corrected by labels hold the truth, and what do the verdicts add? Simulated for docs/statistics.md.

    python benchmarks/corrected_rates.py --sets 200               # a quick look
    python benchmarks/corrected_rates.py --sets 1000 --jobs 2     # the tables of docs/statistics.md

Verdicts of true and false and their labels are counts of four kinds of rows, so that a cell's data sets are drawn at
once, whatever N; numbers, clusters and pairs of systems are drawn row by row. Intervals are those of
`sensecheck.statistics.corrected`. The peers: the labels by themselves under the rule that any weighted share has, and
the normal interval of PPI++.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensecheck.statistics.corrected import (
    Correction,
    LabelledUnits,
    OtherUnits,
    RowSums,
    corrected,
    corrected_difference,
    labels_tell,
    normal_interval,
)
from sensecheck.statistics.limits import Limits, share_limits

Floats = NDArray[np.float64]
Rng = np.random.Generator
LEVEL = 0.95
RATES = (0.5, 0.8, 0.95, 0.99, 1.0, 0.0)
LABELS = (40, 100, 400)
ROWS = (500, 1_000_000)
DRAWS = {
    "at random": None,
    "by verdict, in proportion": "proportion",
    "by verdict, half and half": 0.5,
    "by verdict, 9 in 10 of those called right": 0.9,
    "by verdict, 9 in 10 of those called wrong": 0.1,
}
# How often a verdict says right of what is right, and wrong of what is wrong.
VERDICTS = {
    "good (.95, .90)": (0.95, 0.9),
    "fair (.85, .75)": (0.85, 0.75),
    "tells nothing (.60, .40)": (0.6, 0.4),
    "too kind (1, .30)": (1.0, 0.3),
    "too hard (.70, 1)": (0.7, 1.0),
    "agrees with all (1, 1)": (1.0, 1.0),
    "nearly always right (.98, .02)": (0.98, 0.02),
    "worse than none (.30, .70)": (0.3, 0.7),
}


class Drawn(NamedTuple):
    """Data sets on the first axis."""

    units: LabelledUnits
    others: OtherUnits
    labelled: RowSums
    unlabelled: RowSums
    clustered: bool = False


@dataclass
class Cell:
    design: str
    verdict: str
    rate: float
    labels: int
    rows: int
    held: float = 0.0
    ratio: float = 0.0
    """Mean width over that of the labels by themselves."""
    weighted: float = 0.0
    """How often the labels by themselves hold the truth, by the rule of weighted shares."""
    wider: float = 0.0
    """Mean width over that rule's."""
    normal: float = 0.0
    worth: float = 0.0


# -- verdicts of true and false ----------------------------------------------------------------------------------------


def counted(cell: Cell, sets: int, rng: Rng) -> Drawn:
    """Four kinds of labelled rows: right or wrong, called right or wrong."""
    found, refused = VERDICTS[cell.verdict]
    rate, wanted = cell.rate, min(cell.labels, cell.rows)
    chances = [rate * found, (1 - rate) * (1 - refused), rate * (1 - found), (1 - rate) * refused]
    kinds = rng.multinomial(cell.rows, chances, size=sets)
    called = kinds[:, 0] + kinds[:, 1]
    uncalled = cell.rows - called
    share = DRAWS[cell.design]
    if share is None:
        of_called = rng.hypergeometric(called, uncalled, wanted)
    else:
        part = called / cell.rows if share == "proportion" else np.full(sets, float(share))
        of_called = np.round(wanted * part).astype(np.int64)
        # At least one of each stratum, and what one cannot give goes to the other.
        of_called = np.where((called > 0) & (of_called == 0), 1, of_called)
        of_called = np.where((uncalled > 0) & (of_called == wanted), wanted - 1, of_called)
        of_called = np.clip(of_called, wanted - np.minimum(uncalled, wanted), np.minimum(called, wanted))
    of_uncalled = wanted - of_called
    right = rng.hypergeometric(kinds[:, 0], kinds[:, 1], of_called)
    missed = rng.hypergeometric(kinds[:, 2], kinds[:, 3], of_uncalled)
    alike = np.stack([right, of_called - right, missed, of_uncalled - missed], axis=1).astype(float)
    y, f = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0])
    weight = np.ones((sets, 4))
    if share is not None:
        weight[:, :2] = (called / np.maximum(of_called, 1))[:, None]
        weight[:, 2:] = (uncalled / np.maximum(of_uncalled, 1))[:, None]
    ones = np.ones((sets, 4))
    units = LabelledUnits(
        alike, ones, f * ones, weight, weight * y, weight * f, weight * f, weight**2, weight**2 * f, ones
    )
    rest_called = (called - of_called).astype(float)
    rest = (cell.rows - wanted) * np.ones(sets)
    return Drawn(
        units, OtherUnits(rest, rest_called, rest, rest_called, rest_called),
        _row_sums(alike, f, y, weight), _verdict_sums(rest, rest_called) if share is None else _verdict_sums(
            cell.rows * np.ones(sets), called.astype(float)),
    )  # fmt: skip


def _row_sums(alike: Floats, f: Floats, y: Floats, w: Floats) -> RowSums:
    columns = (np.ones_like(w), w, w * f, w**2, w**2 * f, w**2 * f**2, w * y, w**2 * y, w**2 * y**2, w**2 * y * f)
    return RowSums(*((alike * column).sum(-1) for column in columns))


def _verdict_sums(number: Floats, called: Floats) -> RowSums:
    nothing = np.zeros_like(number)
    return RowSums(number, number, called, number, called, called, nothing, nothing, nothing, nothing)


# -- rows one by one ---------------------------------------------------------------------------------------------------


def of_rows(y: Floats, f: Floats, weight: Floats, owner: NDArray[np.int64] | None = None) -> Drawn:
    """Data sets × rows; `weight` is 0 of rows without a label; rows of one owner (the same in all sets) are a unit."""
    there = (weight > 0).astype(float)
    called = (f >= 0.5) * 1.0
    columns = [
        np.ones_like(f), f, weight, weight * y, weight * f, weight * called, weight**2, weight**2 * called, there
    ]  # fmt: skip
    if owner is not None:
        groups = int(owner.max()) + 1
        member = (owner[:, None] == np.arange(groups)).astype(float)
        columns = [column @ member for column in columns]
    holds = (columns[2] > 0).astype(float)
    units = LabelledUnits(holds, *columns)
    d, v = columns[0], columns[1]
    rest = 1 - holds
    others = OtherUnits(*((rest * x).sum(-1) for x in (d, v, d * d, d * v, v * v)))
    free = 1 - there
    return Drawn(
        units, others, _row_sums(there, f, y, weight), _row_sums(free, f, 0 * y, np.ones_like(f)), owner is not None
    )


def scored(cell: Cell, sets: int, rng: Rng) -> Drawn:
    """Verdicts that are numbers: of right rows nearer to 1."""
    y = (rng.random((sets, cell.rows)) < cell.rate) * 1.0
    if cell.verdict == "numbers that tell much":
        f = np.where(y > 0, rng.beta(8, 2, y.shape), rng.beta(2, 5, y.shape))
    else:
        f = rng.beta(4, 2, y.shape)
    return of_rows(y, f, _drawn_at_random(y.shape, cell.labels, rng))


def _drawn_at_random(shape: tuple[int, ...], labels: int, rng: Rng) -> Floats:
    order = rng.random(shape).argsort(axis=1)
    return np.asarray((order < labels) * 1.0)


def clustered(cell: Cell, sets: int, rng: Rng) -> Drawn:
    """Clusters of 5 rows that are alike, of which every labelled one is labelled whole; or rows of clusters at random.

    Verdicts err together within a cluster.
    """
    size, icc = 5, 0.3
    groups = cell.rows // size
    owner = np.repeat(np.arange(groups), size)

    def alike(p: float) -> Floats:
        if p in (0.0, 1.0):
            return np.full((sets, len(owner)), p)
        chance = rng.beta(p * (1 - icc) / icc, (1 - p) * (1 - icc) / icc, (sets, groups))
        return np.asarray((rng.random((sets, len(owner))) < np.repeat(chance, size, axis=1)) * 1.0)

    y = alike(cell.rate)
    f = np.where(y > 0, alike(0.95), 1 - alike(0.9))
    if cell.verdict.endswith("whole clusters"):
        weight = np.repeat(_drawn_at_random((sets, groups), cell.labels // size, rng), size, axis=1)
    else:
        weight = _drawn_at_random(y.shape, cell.labels, rng)
    return of_rows(y, f, weight, owner)


# -- intervals ---------------------------------------------------------------------------------------------------------


def cells() -> list[Cell]:
    found = [Cell(*one) for one in product(DRAWS, VERDICTS, RATES[:-1], LABELS, ROWS)]
    found += [Cell("at random", *one) for one in product(VERDICTS, RATES[-1:], LABELS, ROWS)]
    for verdict in ("numbers that tell much", "numbers that tell nothing"):
        found += [Cell("at random", verdict, rate, n, 1_000) for rate in RATES for n in LABELS]
    for verdict in ("good, clusters of 5, single rows", "good, clusters of 5, whole clusters"):
        found += [Cell("at random", verdict, rate, n, 2_000) for rate in RATES for n in (100, 400)]
    return found


def draw(cell: Cell, sets: int, rng: Rng) -> Drawn:
    if cell.verdict in VERDICTS:
        return counted(cell, sets, rng)
    return (clustered if "clusters" in cell.verdict else scored)(cell, sets, rng)


def measured(task: tuple[int, int, int]) -> Cell:
    which, sets, seed = task
    cell = cells()[which]
    rng = np.random.default_rng([seed, which])
    step = sets if cell.verdict in VERDICTS else 100
    parts = [_figures(draw(cell, min(step, sets - start), rng), cell.rate) for start in range(0, sets, step)]
    held, width, alone, weighted, of_weighted, normal, worth = (
        np.concatenate([part[i] for part in parts]) for i in range(7)
    )
    cell.held, cell.weighted, cell.normal = float(held.mean()), float(weighted.mean()), float(normal.mean())
    cell.ratio, cell.wider = float(width.mean() / alone.mean()), float(width.mean() / of_weighted.mean())
    cell.worth = float(np.median(worth)) / min(cell.labels, cell.rows)
    return cell


def _figures(drawn: Drawn, truth: float) -> tuple[Floats, ...]:
    found = corrected(drawn.units, drawn.others, LEVEL, clustered=drawn.clustered)
    normal = normal_interval(drawn.labelled, drawn.unlabelled, LEVEL)
    plain = _weighted(drawn, found)
    return (
        _holds(found.limits, truth), _width(found.limits), _width(found.of_alone), _holds(plain, truth), _width(plain),
        (normal.low - 1e-12 <= truth) & (truth <= normal.high + 1e-12), np.asarray(found.worth),
    )  # fmt: skip


def _weighted(drawn: Drawn, found: Correction) -> Limits:
    """The labels by themselves as any weighted share."""
    units = drawn.units
    weight = (units.alike * units.labelled).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_labels = (units.right - found.alone[:, None] * units.labelled) / weight[:, None]
        number, _ = labels_tell(units, of_labels, found.alone, weight, LEVEL, drawn.clustered)
    return share_limits(found.alone, number, LEVEL)


def _holds(limits: Limits, truth: float) -> Floats:
    return np.asarray((limits.low - 1e-12 <= truth) & (truth <= limits.high + 1e-12), dtype=np.float64)


def _width(limits: Limits) -> Floats:
    return np.asarray(limits.high - limits.low)


# -- differences -------------------------------------------------------------------------------------------------------


class Duel(NamedTuple):
    name: str
    rates: tuple[float, float]
    verdicts: tuple[tuple[float, float], tuple[float, float]]
    rows: int
    labels: int
    where: str
    """Labels of both systems on the same examples, or of each on its own."""


def duels() -> Iterator[Duel]:
    kind, good, nothing, all_agree = (1.0, 0.3), (0.95, 0.9), (0.6, 0.4), (1.0, 1.0)
    for rate, n, where in product((0.5, 0.8, 0.95), (40, 100, 400), ("the same", "others")):
        for words, verdicts in (
            ("both good", (good, good)), ("kinder to B", (good, kind)), ("telling nothing", (nothing, nothing)),
            ("agreeing with all", (all_agree, all_agree)),
        ):  # fmt: skip
            yield Duel(f"verdicts {words}", (rate, rate), verdicts, 2_000, n, where)
    for n, where in product((100, 400), ("the same", "others")):
        yield Duel("+.10, verdicts both good: power", (0.75, 0.85), (good, good), 2_000, n, where)


def tested(task: tuple[int, int, int]) -> tuple[Duel, float, float, float]:
    """How often a difference is told, how often the interval holds the true one, and how often the two disagree."""
    which, sets, seed = task
    duel = list(duels())[which]
    rng = np.random.default_rng([seed, 10_000 + which])
    told = held = odd = 0
    for start in range(0, sets, 100):
        number = min(100, sets - start)
        easy = rng.random((number, duel.rows)) < 0.5
        luck = rng.random((number, duel.rows))
        weight = _drawn_at_random(luck.shape, duel.labels, rng)
        sides = []
        for rate, (found, refused) in zip(duel.rates, duel.verdicts, strict=True):
            # Half of the examples are as hard for one system as for the other.
            y = (np.where(easy, luck, rng.random(luck.shape)) < rate) * 1.0
            f = (rng.random(luck.shape) < np.where(y > 0, found, 1 - refused)) * 1.0
            own = weight if duel.where == "the same" else _drawn_at_random(luck.shape, duel.labels, rng)
            drawn = of_rows(y, f, own)
            sides.append((corrected(drawn.units, drawn.others, LEVEL), f, own))
        errors = [
            np.where(own > 0, one.influence, one.per_verdict[:, None] * (f - one.raw[:, None]))
            for one, f, own in sides
        ]  # fmt: skip
        together = (errors[0] * errors[1]).sum(-1)
        for k in range(number):
            a, b = (_one(side[0], k) for side in sides)
            judged = corrected_difference(a, b, float(together[k]), LEVEL)
            low, high, p = float(judged.low), float(judged.high), float(judged.p)
            told += p < 0.05
            held += low - 1e-12 <= duel.rates[1] - duel.rates[0] <= high + 1e-12
            odd += (p < 0.05) == (low <= 0 <= high)
    return duel, told / sets, held / sets, odd / sets


def _one(found: Correction, at: int) -> Correction:
    def pick(value: object) -> object:
        return Limits(*(end[at] for end in value)) if isinstance(value, Limits) else value[at]  # type: ignore[index]

    return Correction(*(pick(value) for value in found))  # type: ignore[arg-type]


# -- tables ------------------------------------------------------------------------------------------------------------


def show(done: list[Cell]) -> None:
    print("| labels drawn | verdicts | covers %, least (at) | width against labels alone, mean (most) | labels alone, "
          "least % | PPI++ normal, least % | a label is worth, at most |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in done:
        groups.setdefault((cell.design, cell.verdict), []).append(cell)
    for (design, verdict), own in groups.items():
        worst = min(own, key=lambda cell: cell.held)
        at = f"{worst.rate}, {worst.labels} of {worst.rows:,}"
        ratios = [cell.ratio for cell in own]
        print(
            f"| {design} | {verdict} | {100 * worst.held:.1f} ({at}) | {np.mean(ratios):.2f} ({max(ratios):.2f}) | "
            f"{100 * min(cell.weighted for cell in own):.1f} | {100 * min(cell.normal for cell in own):.1f} | "
            f"{max(cell.worth for cell in own):.1f} |"
        )
    below = [cell for cell in done if cell.held < 0.93]
    print(f"\n{len(done)} cells; below 93 %: {len(below)}; wider than labels alone by more than 5 %: "
          f"{sum(cell.ratio > 1.05 for cell in done)}; below 93 %, labels by the weighted rule: "
          f"{sum(cell.weighted < 0.93 for cell in done)}")  # fmt: skip
    for cell in sorted(below, key=lambda cell: cell.held):
        print(f"  {100 * cell.held:.1f} % {cell.design}, {cell.verdict}, rate {cell.rate}, {cell.labels} of "
              f"{cell.rows:,} (labels alone {100 * cell.weighted:.1f} %)")  # fmt: skip
    for cell in sorted((c for c in done if c.wider > 1.05), key=lambda c: -c.wider)[:10]:
        print(f"  {cell.wider:.2f} times the weighted rule: {cell.design}, {cell.verdict}, rate {cell.rate}, "
              f"{cell.labels} of {cell.rows:,}")  # fmt: skip
    print(f"  wider than the weighted rule by more than 5 %: {sum(c.wider > 1.05 for c in done)}")


def show_duels(done: list[tuple[Duel, float, float, float]]) -> None:
    print("\n| differences | rates | labels each, on | told % | covers % | interval and p disagree % |")
    print("|---|---|---|---|---|---|")
    for duel, told, held, odd in done:
        rates = f"{duel.rates[0]}, {duel.rates[1]}"
        print(f"| {duel.name} | {rates} | {duel.labels}, {duel.where} | {100 * told:.1f} | {100 * held:.1f} | "
              f"{100 * odd:.1f} |")  # fmt: skip


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--sets", type=int, default=200, help="data sets a cell")
    reader.add_argument("--jobs", type=int, default=1, help="processes")
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--only", choices=("rates", "differences"), help="one of the two tables")
    args = reader.parse_args()
    with ProcessPoolExecutor(args.jobs) as pool:
        if args.only != "differences":
            show(list(pool.map(measured, [(k, args.sets, args.seed) for k in range(len(cells()))], chunksize=8)))
        if args.only != "rates":
            tasks = [(k, args.sets, args.seed) for k in range(len(list(duels())))]
            show_duels(list(pool.map(tested, tasks)))


if __name__ == "__main__":
    main()
