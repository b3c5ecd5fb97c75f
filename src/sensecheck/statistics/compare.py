"""Two runs on the same units: is the difference real?

The same bootstrap weights on both sides make the interval paired; swapping the two systems' results unit by unit
(cluster by cluster) makes the randomisation test. Both use the sums of the single run, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lgamma, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.census import Census
from sensecheck.statistics.estimate import compute_anchors, shaped
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.hashing import U64, scramble, seed_key
from sensecheck.statistics.intervals import percentile
from sensecheck.statistics.measurements import Measurements, concatenated
from sensecheck.statistics.resample import coin_flips, poisson_weights
from sensecheck.statistics.row_figures import (
    MOST_ROWS,
    RowStates,
    base_weights,
    keyed,
    most_resampled,
    recentred,
    replicate_steps,
    row_groups,
    sorted_for,
)
from sensecheck.statistics.squeezing import Groups, Squeezed, squeezable
from sensecheck.statistics.statistic import ONE, Anchors, AnyStatistic, RowStatistic, Statistic
from sensecheck.statistics.summing import Layout, sum_rows
from sensecheck.statistics.table import Table, scored_rows

Floats = NDArray[np.float64]

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
    """B minus A for every statistic, with interval, p-values and the smallest detectable difference."""
    options = options or IntervalOptions()
    units = check_units(a, b, names)
    scalar = [s for s in statistics if not s.vector]
    sides = (Table(a, scalar, ()), Table(b, scalar, ()))
    known_a = {**(anchors_a or {}), **compute_anchors(a, scalar, known=anchors_a)}
    known_b = {**(anchors_b or {}), **compute_anchors(b, scalar, known=anchors_b)}
    sums = [s for s in scalar if isinstance(s, Statistic)]
    drawn = _Drawn.of(sides, sums, (known_a, known_b), options) if sums else None
    of_rows: dict[str, Difference] = {}
    for group in row_groups(scalar):
        of_rows.update(_of_rows(group, sides, units, options))
    found = []
    for statistic in scalar:
        if isinstance(statistic, Statistic):
            assert drawn is not None
            found.append(_of_sums(statistic, drawn, units, (a, b)))
        else:
            found.append(of_rows[statistic.name])
    return holm(found)


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
            said = []
            for name, only in ((names[0], only_a), (names[1], only_b)):
                if len(only):
                    shown = ", ".join(repr(x) for x in only.head(_SHOWN).to_list())
                    more = f" and {len(only) - _SHOWN:,} more" if len(only) > _SHOWN else ""
                    said.append(f"{len(only):,} only in {name} ({shown}{more})")
            raise ComparisonError(
                f"the two runs do not measure the same {role}s: {'; '.join(said)}; "
                f"{len(sets[0]) - len(only_a):,} in both. Compare runs over the same input."
            )
        counts.append(len(sets[0]))
    for role in ("cluster", "weight"):
        _check_alike(a, b, role, names)
    return counts[1]


def _check_alike(a: Measurements, b: Measurements, role: str, names: tuple[str, str]) -> None:
    """Refuse runs that put the same unit into another cluster, or give it another weight."""
    held = [role in m.schema for m in (a, b)]
    if not any(held):
        return
    if not all(held):
        if role == "weight":
            raise ComparisonError(f"only {names[held.index(True)]} has weights. Compare runs weighted alike.")
        return
    told = []
    for m in (a, b):
        unit = "unit" if "unit" in m.schema else "id"
        rows = concatenated(m, [unit, role]).select(pl.col(unit).cast(pl.String).alias("_of"), pl.col(role))
        told.append(rows.group_by("_of").agg(least=pl.col(role).min(), most=pl.col(role).max()))
    both = told[0].join(told[1], on="_of")
    other = both.filter((pl.col("least") != pl.col("least_right")) | (pl.col("most") != pl.col("most_right"))).sort(
        "_of"
    )
    if len(other):
        of, mine, theirs = other.row(0, named=True)["_of"], other["least"][0], other["least_right"][0]
        raise ComparisonError(
            f"the two runs have other {role}s for {len(other):,} of the same units: {of!r} has {mine!r} in {names[0]} "
            f"and {theirs!r} in {names[1]}. Compare runs over the same input."
        )


@dataclass
class _Drawn:
    """Point, bootstrap and swapped sums of both sides."""

    layouts: tuple[Layout, Layout]
    points: tuple[list[Floats], list[Floats]]
    boot: tuple[list[Floats], list[Floats]]
    swap: tuple[list[Floats], list[Floats]]
    censuses: tuple[Census, Census]
    anchors: tuple[Anchors, Anchors]

    @classmethod
    def of(
        cls,
        sides: tuple[Table, Table],
        statistics: Sequence[Statistic],
        anchors: tuple[Anchors, Anchors],
        options: IntervalOptions,
    ) -> _Drawn:
        layouts, points, boot, swap, censuses = [], [], [], [], []
        for side, known in zip(sides, anchors, strict=True):
            census = Census(side, ())
            layout = Layout.of(statistics, known, resampled=False)
            first = sum_rows(side, census, range(1), layout, options, poisson_weights, "bootstrap")
            second = sum_rows(side, census, range(1), layout, options, coin_flips, "randomisation")
            assert first.replicates is not None and second.replicates is not None
            layouts.append(layout)
            points.append([p[0] for p in first.points])
            boot.append([r[0] for r in first.replicates])
            swap.append([r[0] for r in second.replicates])
            censuses.append(census)
        return cls(
            (layouts[0], layouts[1]), (points[0], points[1]), (boot[0], boot[1]), (swap[0], swap[1]),
            (censuses[0], censuses[1]), anchors,
        )  # fmt: skip


def _finish(statistic: Statistic, sums: Floats, columns: Sequence[int], anchors: Anchors) -> Floats:
    extra = {"anchors": anchors} if statistic.anchors else {}
    return np.asarray(statistic.finish(*(shaped(sums[..., c], statistic) for c in columns), **extra), dtype=np.float64)


def _of_sums(statistic: Statistic, drawn: _Drawn, units: int, runs: tuple[Measurements, Measurements]) -> Difference:
    values, spreads, swapped_sums = [], [], []
    for side in (0, 1):
        which, columns = drawn.layouts[side].pick(statistic)
        values.append(float(_finish(statistic, drawn.points[side][which], columns, drawn.anchors[side])))
        spreads.append(_finish(statistic, drawn.boot[side][which], columns, drawn.anchors[side]))
        swapped_sums.append((drawn.points[side][which], drawn.swap[side][which], columns))
    p_swap: float | None = None
    note = ""
    difference = values[1] - values[0]
    if statistic.anchors:
        note = "each run has its own anchors, so results cannot be swapped: the p-value is the bootstrap's"
    else:
        (point_a, flips_a, columns), (point_b, flips_b, _) = swapped_sums
        # Where the coin says 1, A gets B's results and B gets A's.
        new_a = _finish(statistic, point_a - flips_a + flips_b, columns, drawn.anchors[0])
        new_b = _finish(statistic, point_b - flips_b + flips_a, columns, drawn.anchors[1])
        p_swap = _exceeding(new_b - new_a, difference)
    spread = spreads[1] - spreads[0]
    if statistic.interval is not None:
        # The figure is shifted by noise, and the bootstrap shows by how much: take that shift out twice, once
        # for the replicates' own noise and once for the noise already in the values.
        known = spread[np.isfinite(spread)]
        if len(known):
            spread = spread - 2 * (float(known.mean()) - difference)
    n_a, n_b = (drawn.censuses[i].n(statistic, ()) for i in (0, 1))
    mcnemar = _mcnemar_of(statistic, runs)
    return _difference(statistic, values, spread, p_swap, mcnemar, n_a, n_b, units, note)


def _of_rows(
    statistics: Sequence[RowStatistic], sides: tuple[Table, Table], units: int, options: IntervalOptions
) -> dict[str, Difference]:
    rows = []
    for side in sides:
        assert side.cluster is not None
        found = scored_rows(side.measurements, statistics[0].columns, side.derived, [side.cluster])
        rows.append(sorted_for(statistics, keyed(found, [side.cluster])))
    n_a, n_b = len(rows[0]), len(rows[1])
    if not n_a or not n_b or n_a + n_b > MOST_ROWS:
        why = "no scored rows" if not n_a or not n_b else f"figures of single rows are made up to {MOST_ROWS:,} rows"
        nothing = np.full(1, np.nan)
        return {s.name: _difference(s, [np.nan] * 2, nothing, None, None, n_a, n_b, units, why) for s in statistics}
    hashes = [r["_key"].to_numpy() for r in rows]
    base = [base_weights(r) for r in rows]
    states = [RowStates(statistics, r) for r in rows]
    values = [[float(v[0]) for v in st.values(w[None, :])] for st, w in zip(states, base, strict=True)]
    note = ""
    spread: list[list[Floats]] = []
    swapped: list[list[Floats]] = []
    most = most_resampled(statistics)
    if n_a + n_b > 2 * most:
        note = f"figures of single rows are resampled up to {most:,} rows: no interval"
    elif squeezable(statistics, (n_a + n_b) // 2):
        spread, swapped = _squeezed_differences(statistics, rows, hashes, base, values, options)
    else:
        side_of = pl.Series("_side", np.repeat([False, True], [n_a, n_b]))
        pooled = pl.concat([r.select(statistics[0].columns) for r in rows], how="vertical_relaxed").with_columns(
            side_of, pl.Series("_key", np.concatenate(hashes)), pl.Series("_base", np.concatenate(base))
        )
        pooled = sorted_for(statistics, pooled)
        together = RowStates(statistics, pooled)
        from_b, both = pooled["_side"].to_numpy(), pooled["_base"].to_numpy()
        swap_keys = scramble(pooled["_key"].to_numpy() ^ seed_key(options.seed, "randomisation"))
        boot_keys = [scramble(k ^ seed_key(options.seed, "bootstrap")) for k in hashes]
        for first, last in replicate_steps(len(both), options.replicates):
            drawn = [poisson_weights(k, last - first, first).T * w for k, w in zip(boot_keys, base, strict=True)]
            of_a, of_b = states[0].values(drawn[0]), states[1].values(drawn[1])
            spread.append([y - x for x, y in zip(of_a, of_b, strict=True)])
            # Where the coin says 1, A gets B's results and B gets A's.
            coins = coin_flips(swap_keys, last - first, first).T.astype(np.bool_)
            new_a = together.values((coins == from_b) * both)
            new_b = together.values((coins != from_b) * both)
            swapped.append([y - x for x, y in zip(new_a, new_b, strict=True)])
    out = {}
    for i, statistic in enumerate(statistics):
        pair = [values[0][i], values[1][i]]
        change = pair[1] - pair[0]
        drawn_changes = np.concatenate([part[i] for part in spread]) if spread else np.full(1, np.nan)
        p_swap = _exceeding(np.concatenate([part[i] for part in swapped]), change) if swapped else None
        if statistic.noise_power:
            drawn_changes = recentred(drawn_changes, change, (-np.inf, np.inf))
        out[statistic.name] = _difference(statistic, pair, drawn_changes, p_swap, None, n_a, n_b, units, note)
    return out


def _squeezed_differences(
    statistics: Sequence[RowStatistic],
    rows: Sequence[pl.DataFrame],
    hashes: Sequence[U64],
    base: Sequence[Floats],
    values: Sequence[Sequence[float]],
    options: IntervalOptions,
) -> tuple[list[list[Floats]], list[list[Floats]]]:
    """Differences under the paired bootstrap and with results swapped, neighbours taken together: see `squeezing`."""
    groups = Groups(np.concatenate(hashes))
    drawn = groups.drawn(options.replicates, options.seed, "bootstrap")
    names = statistics[0].columns
    sides: list[list[Floats]] = []
    for r, keys, weight, exact in zip(rows, hashes, base, values, strict=True):
        squeezed = Squeezed(statistics, {c: r[c].to_numpy() for c in names})
        cells = squeezed.weights(groups, keys, weight)
        plain = squeezed.values(cells.sum(axis=0)[None, :])
        found = squeezed.values(drawn @ cells)
        sides.append([f + (e - p[0]) for f, e, p in zip(found, exact, plain, strict=True)])
    pooled = sorted_for(
        statistics,
        pl.concat([r.select(names) for r in rows], how="vertical_relaxed").with_columns(
            pl.Series("_side", np.repeat([False, True], [len(r) for r in rows])),
            pl.Series("_key", np.concatenate(hashes)),
            pl.Series("_base", np.concatenate(base)),
        ),
    )
    together = Squeezed(statistics, {c: pooled[c].to_numpy() for c in names})
    from_b = pooled["_side"].to_numpy()
    keys, weight = pooled["_key"].to_numpy(), pooled["_base"].to_numpy()
    of_a, of_b = (together.weights(groups, keys, weight, chosen) for chosen in (~from_b, from_b))
    # Where the coin says 1, A gets B's results and B gets A's.
    coins = groups.drawn(options.replicates, options.seed, "randomisation", coin_flips)
    new_a = together.values((1 - coins) @ of_a + coins @ of_b)
    new_b = together.values(coins @ of_a + (1 - coins) @ of_b)
    spread = [y - x for x, y in zip(*sides, strict=True)]
    return [spread], [[y - x for x, y in zip(new_a, new_b, strict=True)]]


def _difference(
    statistic: AnyStatistic,
    values: Sequence[float],
    spread: Floats,
    p_swap: float | None,
    p_mcnemar: float | None,
    n_a: int,
    n_b: int,
    units: int,
    note: str,
) -> Difference:
    difference = values[1] - values[0]
    known = spread[np.isfinite(spread)]
    p_boot = error = None
    low: Any = None
    high: Any = None
    if units >= 2 and len(known) > len(spread) / 2:
        low, high = percentile(spread, 0.95)
        p_boot = _exceeding(known - known.mean(), difference)
        error = float(known.std(ddof=1))
    made = Difference(
        statistic.name, statistic.label, values[0], values[1], difference, low, high, p_boot, p_swap, p_mcnemar, None,
        None if error is None else _found_with_power(error, ALPHA), None, n_a, n_b, units, statistic.direction, note,
        error,
    )  # fmt: skip
    return replace(made, units_needed=_units_needed(made, ALPHA))


def _found_with_power(error: float, level: float) -> float:
    return (_NORMAL.inv_cdf(1 - level / 2) + _NORMAL.inv_cdf(POWER)) * error


def _units_needed(d: Difference, level: float) -> int | None:
    """How many units would show the difference that these data have, in a test at this level."""
    if d.standard_error is None or d.difference == 0 or not np.isfinite(d.difference):
        return None
    shown = _found_with_power(d.standard_error, level)
    wanted = d.units * (shown / d.difference) ** 2 if shown > 0 else float(d.units)
    # Where the difference is rounding noise, no number of units that anyone could collect would do.
    return int(np.ceil(wanted)) if wanted < _MOST_UNITS else None


def _exceeding(spread: Floats, difference: float) -> float | None:
    """The share of replicates at least as far from 0 as the difference, the observed one counted among them."""
    known = spread[np.isfinite(spread)]
    if not len(known) or not np.isfinite(difference):
        return None
    # Sums of the same numbers in another grouping may differ in the last digit: a tie is a tie.
    slack = 1e-9 * max(1e-300, abs(difference))
    return float((np.sum(np.abs(known) >= abs(difference) - slack) + 1) / (len(known) + 1))


def mcnemar(only_a: int, only_b: int) -> float:
    """The exact two-sided McNemar test: how likely so uneven a split of the units on which the systems differ is."""
    total = only_a + only_b
    if total == 0:
        return 1.0
    fewer = min(only_a, only_b)
    if total > 100_000:
        z = (abs(only_a - only_b) - 1) / sqrt(total)
        return min(1.0, 2 * (1 - _NORMAL.cdf(max(z, 0.0))))
    k = np.arange(fewer + 1)
    whole = lgamma(total + 1)
    terms = np.array([whole - lgamma(i + 1) - lgamma(total - i + 1) - total * log(2) for i in k.tolist()])
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
    """Rows on which the two runs differ in `column`: id, a, b; the largest changes first."""
    joined = _joined((a, b), column).rename({"_a": "a", "_b": "b"})
    changed = joined.filter(pl.col("a") != pl.col("b"))
    size = (pl.col("b").cast(pl.Float64) - pl.col("a").cast(pl.Float64)).abs()
    return changed.sort([size, pl.col("id")], descending=[True, False], maintain_order=True)


def holm(found: list[Difference]) -> list[Difference]:
    """Holm's step-down correction over all figures that have a p-value.

    The units needed are told at the level that a figure meets here: among many figures, as many as α alone asks for
    would often end without a verdict.
    """
    chosen = [d.p_randomisation if d.p_randomisation is not None else d.p_bootstrap for d in found]
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
        for i, d in enumerate(found)
    ]
