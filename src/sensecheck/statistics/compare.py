"""Two runs on the same units: is the difference real?

The same bootstrap weights on both sides make the interval paired; swapping the two systems' results unit by unit
(cluster by cluster) makes the randomisation test. Both use the sums of the single run, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lgamma, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from sensecheck.statistics.arrays import U64, Floats
from sensecheck.statistics.census import Census
from sensecheck.statistics.estimate import columns_of, compute_anchors, finished
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.intervals import percentile
from sensecheck.statistics.measurements import Measurements, concatenated
from sensecheck.statistics.resample import Drawing
from sensecheck.statistics.row_figures import (
    MOST_ROWS,
    columns_for,
    joined_steps,
    keyed,
    most_resampled,
    recentred,
    replicate_steps,
    row_groups,
    sorted_for,
    weighted_rows,
)
from sensecheck.statistics.row_states import RowStates, WeightedRows
from sensecheck.statistics.squeezing import Groups, Squeezed, squeezable, squeezed_replicates
from sensecheck.statistics.statistic import ONE, Anchors, AnyStatistic, RowStatistic, Statistic
from sensecheck.statistics.summing import Layout, sum_rows
from sensecheck.statistics.table import Table, scored_rows

ALPHA = 0.05
POWER = 0.8
_NORMAL = NormalDist()
_SHOWN = 3
_MOST_UNITS = 1e12


class ComparisonError(ValueError):
    """Two runs that cannot be compared, with what differs."""


@dataclass(frozen=True)
class Difference:
    """B minus A for one figure."""

    name: str
    title: str
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    p_bootstrap: float | None
    p_randomisation: float | None
    p_mcnemar: float | None
    p_corrected: float | None
    """Holm's correction over the figures compared, of the randomisation p (the bootstrap's where there is none)."""
    detectable: float | None
    """The smallest difference found with power 0.8 at α 0.05, given these data."""
    units_needed: int | None
    """About how many units it would take to tell the observed difference from none after Holm's correction."""
    n_a: int
    n_b: int
    units: int
    """Independent units: clusters where there are clusters."""
    direction: str = "none"
    note: str = ""
    standard_error: float | None = None
    """Of the difference, by the bootstrap."""

    def to_dict(self) -> dict[str, Any]:
        plain = {k: (None if isinstance(v, float) and not np.isfinite(v) else v) for k, v in vars(self).items()}
        return dict(plain)

    @property
    def better(self) -> str:
        """'a', 'b', or '' where no difference can be told."""
        p = self.p_corrected
        if p is None or p >= ALPHA or self.direction == "none" or self.difference == 0:
            return ""
        # Swapping tests whether the systems are alike in all respects; the interval is about this figure alone.
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return ""
        return "b" if (self.difference > 0) == (self.direction == "higher") else "a"


def compare(
    a: Measurements,
    b: Measurements,
    statistics: Sequence[AnyStatistic],
    *,
    options: IntervalOptions | None = None,
    anchors_a: Anchors | None = None,
    anchors_b: Anchors | None = None,
    names: tuple[str, str] = ("A", "B"),
) -> list[Difference]:
    """B minus A for every statistic, with interval, p-values and the smallest detectable difference.

    >>> from sensecheck.statistics.measurements import Frames
    >>> from sensecheck.statistics.statistic import mean_of
    >>> ids = [f"q{i}" for i in range(40)]
    >>> a = Frames(pl.DataFrame({"id": ids, "em": [i % 4 == 0 for i in range(40)]}))
    >>> b = Frames(pl.DataFrame({"id": ids, "em": [i % 4 != 1 for i in range(40)]}))
    >>> (em,) = compare(a, b, [mean_of("em", direction="higher")])
    >>> em.a, em.b, em.difference, em.units, em.better
    (0.25, 0.75, 0.5, 40, 'b')
    """
    options = options or IntervalOptions()
    units = check_units(a, b, names)
    scalar = [s for s in statistics if not s.vector]
    sides = (Table(a, scalar, ()), Table(b, scalar, ()))
    all_anchors_a = {**(anchors_a or {}), **compute_anchors(a, scalar, known=anchors_a)}
    all_anchors_b = {**(anchors_b or {}), **compute_anchors(b, scalar, known=anchors_b)}
    differences: dict[str, Difference] = {}
    of_sums = [s for s in scalar if isinstance(s, Statistic)]
    if of_sums:
        sums_a = _RunSums.of(sides[0], of_sums, all_anchors_a, options)
        sums_b = _RunSums.of(sides[1], of_sums, all_anchors_b, options)
        differences.update((s.name, _of_sums(s, (sums_a, sums_b), units, (a, b))) for s in of_sums)
    for group in row_groups(scalar):
        differences.update(_of_rows(group, sides, units, options))
    return holm([differences[s.name] for s in scalar])


def check_units(a: Measurements, b: Measurements, names: tuple[str, str] = ("A", "B")) -> int:
    """Refuse runs over different units; the number of independent units otherwise."""
    counts = []
    for role in ("unit", "cluster"):
        sets = []
        for m in (a, b):
            column = role if role in m.schema else "unit" if "unit" in m.schema else "id"
            sets.append(concatenated(m, [column])[column].cast(pl.String).unique())
        only_a = sets[0].filter(~sets[0].is_in(sets[1].implode())).sort()
        only_b = sets[1].filter(~sets[1].is_in(sets[0].implode())).sort()
        if len(only_a) or len(only_b):
            unmatched = []
            for name, only in ((names[0], only_a), (names[1], only_b)):
                if len(only):
                    shown = ", ".join(repr(x) for x in only.head(_SHOWN).to_list())
                    more = f" and {len(only) - _SHOWN:,} more" if len(only) > _SHOWN else ""
                    unmatched.append(f"{len(only):,} only in {name} ({shown}{more})")
            raise ComparisonError(
                f"the two runs do not measure the same {role}s: {'; '.join(unmatched)}; "
                f"{len(sets[0]) - len(only_a):,} in both. Compare runs over the same input."
            )
        counts.append(len(sets[0]))
    for role in ("cluster", "weight"):
        _check_alike(a, b, role, names)
    return counts[1]


def _check_alike(a: Measurements, b: Measurements, role: str, names: tuple[str, str]) -> None:
    """Refuse runs that put the same unit into another cluster, or give it another weight."""
    has_role = [role in m.schema for m in (a, b)]
    if not any(has_role):
        return
    if not all(has_role):
        if role == "weight":
            raise ComparisonError(f"only {names[has_role.index(True)]} has weights. Compare runs weighted alike.")
        return
    by_unit = []
    for m in (a, b):
        unit = "unit" if "unit" in m.schema else "id"
        rows = concatenated(m, [unit, role]).select(pl.col(unit).cast(pl.String).alias("_of"), pl.col(role))
        by_unit.append(rows.group_by("_of").agg(least=pl.col(role).min(), most=pl.col(role).max()))
    joined = by_unit[0].join(by_unit[1], on="_of")
    differs = (pl.col("least") != pl.col("least_right")) | (pl.col("most") != pl.col("most_right"))
    unlike = joined.filter(differs).sort("_of")
    if len(unlike):
        unit, in_a, in_b = unlike["_of"][0], unlike["least"][0], unlike["least_right"][0]
        raise ComparisonError(
            f"the two runs have different {role}s for {len(unlike):,} of the same units: {unit!r} has {in_a!r} in "
            f"{names[0]} and {in_b!r} in {names[1]}. Compare runs over the same input."
        )


@dataclass
class _RunSums:
    """The sums of one run, and their replicates: units drawn anew, and the units that a coin chose."""

    layout: Layout
    anchors: Anchors
    census: Census
    points: list[Floats]
    bootstrap: list[Floats]
    swapped: list[Floats]

    @classmethod
    def of(cls, run: Table, statistics: Sequence[Statistic], anchors: Anchors, options: IntervalOptions) -> _RunSums:
        census = Census(run, ())
        layout = Layout.of(statistics, anchors, resampled=False)
        drawn = sum_rows(run, census, range(1), layout, Drawing.bootstrap(options))
        flipped = sum_rows(run, census, range(1), layout, Drawing.randomisation(options))
        assert drawn.replicates is not None and flipped.replicates is not None
        return cls(
            layout,
            anchors,
            census,
            [points[0] for points in drawn.points],
            [replicates[0] for replicates in drawn.replicates],
            [replicates[0] for replicates in flipped.replicates],
        )

    def finished(self, statistic: Statistic, sums: Floats, columns: Sequence[int]) -> Floats:
        """The statistic of these columns of the sums of its binning."""
        return finished(statistic, columns_of(sums, columns, statistic), self.anchors)


@dataclass(frozen=True)
class _Observed:
    """What the two runs show of one figure."""

    values: tuple[float, float]
    n: tuple[int, int]
    units: int

    @property
    def difference(self) -> float:
        return self.values[1] - self.values[0]


@dataclass(frozen=True)
class _Tests:
    """What resampling and tests say of the difference."""

    spread: Floats
    """Differences under the paired bootstrap."""
    p_randomisation: float | None = None
    p_mcnemar: float | None = None
    note: str = ""


def _of_sums(
    statistic: Statistic, sums: tuple[_RunSums, _RunSums], units: int, runs: tuple[Measurements, Measurements]
) -> Difference:
    a, b = sums
    # The same statistics are laid out in the same way for both runs.
    which, columns = a.layout.pick(statistic)
    values = tuple(float(run.finished(statistic, run.points[which], columns)) for run in sums)
    observed = _Observed((values[0], values[1]), (a.census.n(statistic, ()), b.census.n(statistic, ())), units)
    p_swap: float | None = None
    note = ""
    if statistic.anchors:
        note = "each run has its own anchors, so results cannot be swapped: the p-value is the bootstrap's"
    else:
        # Where the coin says 1, A gets B's results and B gets A's.
        new_a = a.finished(statistic, a.points[which] - a.swapped[which] + b.swapped[which], columns)
        new_b = b.finished(statistic, b.points[which] - b.swapped[which] + a.swapped[which], columns)
        p_swap = _exceeding(new_b - new_a, observed.difference)
    drawn_a, drawn_b = (run.finished(statistic, run.bootstrap[which], columns) for run in sums)
    spread = drawn_b - drawn_a
    if statistic.interval is not None:
        spread = recentred(spread, observed.difference)
    return _difference(statistic, observed, _Tests(spread, p_swap, _mcnemar_of(statistic, runs), note))


class _RunRows:
    """The scored rows of one run in the order that a group of row statistics wants."""

    def __init__(self, statistics: Sequence[RowStatistic], run: Table) -> None:
        assert run.cluster is not None
        self.statistics = statistics
        scored = scored_rows(run.measurements, statistics[0].columns, run.derived, [run.cluster])
        self.rows = sorted_for(statistics, keyed(scored, [run.cluster]))
        self.ids: U64 = self.rows["_key"].to_numpy()
        """Of each row's unit."""

    @cached_property
    def weighted(self) -> WeightedRows:
        return weighted_rows(self.statistics, self.rows)


@dataclass(frozen=True)
class _Spreads:
    """Differences of each statistic under the paired bootstrap, and with results swapped."""

    bootstrap: list[Floats]
    swapped: list[Floats]


def _of_rows(
    statistics: Sequence[RowStatistic], sides: tuple[Table, Table], units: int, options: IntervalOptions
) -> dict[str, Difference]:
    runs = (_RunRows(statistics, sides[0]), _RunRows(statistics, sides[1]))
    n = (len(runs[0].rows), len(runs[1].rows))
    undrawn = np.full(1, np.nan)
    if not all(n) or sum(n) > MOST_ROWS:
        why = f"figures that need all rows at once take at most {MOST_ROWS:,} rows" if all(n) else "no scored rows"
        nothing = _Observed((np.nan, np.nan), n, units)
        return {s.name: _difference(s, nothing, _Tests(undrawn, note=why)) for s in statistics}
    most = most_resampled(statistics)
    spreads: _Spreads | None = None
    if sum(n) <= 2 * most:
        resampled = _squeezed_spreads if squeezable(statistics, sum(n) // 2) else _row_spreads
        spreads = resampled(runs, options)
    differences = {}
    for i, statistic in enumerate(statistics):
        a, b = (float(run.weighted.values[i]) for run in runs)
        observed = _Observed((a, b), n, units)
        if spreads is None:
            why = f"figures that need all rows at once resample at most {most:,} rows: no interval"
            tests = _Tests(undrawn, note=why)
        else:
            spread = spreads.bootstrap[i]
            if statistic.noise_power:
                spread = recentred(spread, observed.difference)
            tests = _Tests(spread, _exceeding(spreads.swapped[i], observed.difference))
        differences[statistic.name] = _difference(statistic, observed, tests)
    return differences


def _pooled(runs: tuple[_RunRows, _RunRows]) -> pl.DataFrame:
    """The rows of both runs in one order: which run (`_from_b`) and unit (`_key`) each is of, and how it counts."""
    statistics = runs[0].statistics
    rows = pl.concat([run.rows.select(statistics[0].columns) for run in runs], how="vertical_relaxed")
    return sorted_for(
        statistics,
        rows.with_columns(
            pl.Series("_from_b", np.repeat([False, True], [len(run.rows) for run in runs])),
            pl.Series("_key", np.concatenate([run.ids for run in runs])),
            pl.Series("_base", np.concatenate([run.weighted.weights for run in runs])),
        ),
    )


def _row_spreads(runs: tuple[_RunRows, _RunRows], options: IntervalOptions) -> _Spreads:
    pooled = _pooled(runs)
    statistics = runs[0].statistics
    together = RowStates(statistics, columns_for(statistics, pooled))
    from_b, base = pooled["_from_b"].to_numpy(), pooled["_base"].to_numpy()
    bootstrap, randomisation = Drawing.bootstrap(options), Drawing.randomisation(options)
    unit_keys = [bootstrap.keys(run.ids) for run in runs]
    swap_keys = randomisation.keys(pooled["_key"].to_numpy())
    bootstrap_steps: list[list[Floats]] = []
    swap_steps: list[list[Floats]] = []
    for first, last in replicate_steps(len(base), options.replicates):
        # Both are drawn before either is used: measured, it is a little faster than one after the other.
        weights = [
            bootstrap.weights(keys, last - first, first).T * run.weighted.weights
            for run, keys in zip(runs, unit_keys, strict=True)
        ]
        of_a, of_b = (run.weighted.states.values(drawn) for run, drawn in zip(runs, weights, strict=True))
        bootstrap_steps.append(_b_less_a(of_a, of_b))
        # Where the coin says 1, A gets B's results and B gets A's.
        coins = randomisation.weights(swap_keys, last - first, first).T.astype(np.bool_)
        new_a, new_b = together.values((coins == from_b) * base), together.values((coins != from_b) * base)
        swap_steps.append(_b_less_a(new_a, new_b))
    return _Spreads(joined_steps(bootstrap_steps), joined_steps(swap_steps))


def _squeezed_spreads(runs: tuple[_RunRows, _RunRows], options: IntervalOptions) -> _Spreads:
    """The same with neighbours taken together: see `squeezing`."""
    groups = Groups(np.concatenate([run.ids for run in runs]))
    weights = groups.weights(Drawing.bootstrap(options))
    of_a, of_b = (squeezed_replicates(run.weighted, run.ids, groups, weights) for run in runs)
    pooled = _pooled(runs)
    statistics = runs[0].statistics
    together = Squeezed(statistics, columns_for(statistics, pooled))
    from_b = pooled["_from_b"].to_numpy()
    ids, base = pooled["_key"].to_numpy(), pooled["_base"].to_numpy()
    cells_a, cells_b = (together.weights(groups, ids, base, chosen) for chosen in (~from_b, from_b))
    # Where the coin says 1, A gets B's results and B gets A's.
    coins = groups.weights(Drawing.randomisation(options))
    new_a = together.values((1 - coins) @ cells_a + coins @ cells_b)
    new_b = together.values(coins @ cells_a + (1 - coins) @ cells_b)
    return _Spreads(_b_less_a(of_a, of_b), _b_less_a(new_a, new_b))


def _b_less_a(of_a: Sequence[Floats], of_b: Sequence[Floats]) -> list[Floats]:
    return [b - a for a, b in zip(of_a, of_b, strict=True)]


def _difference(statistic: AnyStatistic, observed: _Observed, tests: _Tests) -> Difference:
    defined = tests.spread[np.isfinite(tests.spread)]
    p_bootstrap = error = None
    low: Any = None
    high: Any = None
    if observed.units >= 2 and len(defined) > len(tests.spread) / 2:
        low, high = percentile(tests.spread, 0.95)
        p_bootstrap = _exceeding(defined - defined.mean(), observed.difference)
        error = float(defined.std(ddof=1))
    difference = Difference(
        name=statistic.name,
        title=statistic.label,
        a=observed.values[0],
        b=observed.values[1],
        difference=observed.difference,
        low=low,
        high=high,
        p_bootstrap=p_bootstrap,
        p_randomisation=tests.p_randomisation,
        p_mcnemar=tests.p_mcnemar,
        p_corrected=None,
        detectable=None if error is None else _detectable(error, ALPHA),
        units_needed=None,
        n_a=observed.n[0],
        n_b=observed.n[1],
        units=observed.units,
        direction=statistic.direction,
        note=tests.note,
        standard_error=error,
    )
    return replace(difference, units_needed=_units_needed(difference, ALPHA))


def _detectable(error: float, level: float) -> float:
    """The smallest difference that a test at this level shows as often as its power says."""
    return (_NORMAL.inv_cdf(1 - level / 2) + _NORMAL.inv_cdf(POWER)) * error


def _units_needed(d: Difference, level: float) -> int | None:
    """How many units would show the difference that these data have, in a test at this level."""
    if d.standard_error is None or d.difference == 0 or not np.isfinite(d.difference):
        return None
    detectable = _detectable(d.standard_error, level)
    units = d.units * (detectable / d.difference) ** 2 if detectable > 0 else float(d.units)
    # Where the difference is rounding noise, no number of units that anyone could collect would do.
    return int(np.ceil(units)) if units < _MOST_UNITS else None


def _exceeding(spread: Floats, difference: float) -> float | None:
    """The share of replicates at least as far from 0 as the difference, the observed one counted among them."""
    defined = spread[np.isfinite(spread)]
    if not len(defined) or not np.isfinite(difference):
        return None
    # Sums of the same numbers in another grouping may differ in the last digit: a tie is a tie.
    slack = 1e-9 * max(1e-300, abs(difference))
    return float((np.sum(np.abs(defined) >= abs(difference) - slack) + 1) / (len(defined) + 1))


def mcnemar(only_a: int, only_b: int) -> float:
    """The exact two-sided McNemar test: how likely so uneven a split of the units on which the systems differ is.

    >>> round(mcnemar(1, 8), 4), mcnemar(5, 5)
    (0.0391, 1.0)
    """
    total = only_a + only_b
    if total == 0:
        return 1.0
    fewer = min(only_a, only_b)
    if total > 100_000:
        z = (abs(only_a - only_b) - 1) / sqrt(total)
        return min(1.0, 2 * (1 - _NORMAL.cdf(max(z, 0.0))))
    k = np.arange(fewer + 1)
    of_total = lgamma(total + 1)
    terms = np.array([of_total - lgamma(i + 1) - lgamma(total - i + 1) - total * log(2) for i in k.tolist()])
    top = terms.max()
    return float(min(1.0, 2 * np.exp(top) * np.exp(terms - top).sum()))


def _mcnemar_of(statistic: Statistic, runs: tuple[Measurements, Measurements]) -> float | None:
    """McNemar's p where it applies: the mean of a true/false column, one unclustered row a unit."""
    if len(statistic.sums) != 2 or statistic.sums[1] != ONE or statistic.bins is not None:
        return None
    column = statistic.sums[0]
    for run in runs:
        if run.schema.get(column) != pl.Boolean or {"cluster", "unit", "weight"} & set(run.schema):
            return None
    joined = _joined(runs, column)
    only_a = int((joined["_a"] & ~joined["_b"]).sum())
    only_b = int((~joined["_a"] & joined["_b"]).sum())
    return mcnemar(only_a, only_b)


def _joined(runs: tuple[Measurements, Measurements], column: str) -> pl.DataFrame:
    sides = []
    for run, name in zip(runs, ("_a", "_b"), strict=True):
        rows = concatenated(run, ["id", column, *(["scored"] if "scored" in run.schema else [])])
        # Where ids repeat, the first of one run goes with the first of the other, and so on.
        rows = rows.with_columns(pl.int_range(pl.len()).over("id").alias("_nth"))
        if "scored" in rows.columns:
            rows = rows.filter(pl.col("scored"))
        sides.append(rows.select("id", "_nth", pl.col(column).alias(name)).drop_nulls())
    return sides[0].join(sides[1], on=["id", "_nth"], how="inner", maintain_order="left").drop("_nth")


def flips(a: Measurements, b: Measurements, column: str) -> pl.DataFrame:
    """Rows on which the two runs differ in `column`: id, a, b; the largest changes first.

    >>> from sensecheck.statistics.measurements import Frames
    >>> a = Frames(pl.DataFrame({"id": ["x", "y", "z"], "score": [0.5, 0.5, 0.5]}))
    >>> b = Frames(pl.DataFrame({"id": ["x", "y", "z"], "score": [0.5, 0.25, 1.0]}))
    >>> flips(a, b, "score").rows()
    [('z', 0.5, 1.0), ('y', 0.5, 0.25)]
    """
    joined = _joined((a, b), column).rename({"_a": "a", "_b": "b"})
    changed = joined.filter(pl.col("a") != pl.col("b"))
    size = (pl.col("b").cast(pl.Float64) - pl.col("a").cast(pl.Float64)).abs()
    return changed.sort([size, pl.col("id")], descending=[True, False], maintain_order=True)


def holm(differences: list[Difference]) -> list[Difference]:
    """Holm's step-down correction over all figures that have a p-value.

    The units needed are told at the level that a figure meets here: among many figures, as many as α alone asks for
    would often end without a verdict.
    """
    chosen = [d.p_randomisation if d.p_randomisation is not None else d.p_bootstrap for d in differences]
    ranked = sorted((p, i) for i, p in enumerate(chosen) if p is not None)
    corrected: dict[int, float] = {}
    levels: dict[int, float] = {}
    largest = 0.0
    passed = 0
    for rank, (p, i) in enumerate(ranked):
        largest = max(largest, min(1.0, p * (len(ranked) - rank)))
        corrected[i] = largest
        # What has not passed would, if it did, pass next.
        levels[i] = ALPHA / (len(ranked) - passed)
        passed += largest < ALPHA
    return [
        replace(d, p_corrected=corrected.get(i), units_needed=_units_needed(d, levels.get(i, ALPHA)))
        for i, d in enumerate(differences)
    ]
