"""What a figure is: a function of sums over measurement columns.

    value = finish(Σ w·x₁, Σ w·x₂, …)

A `Statistic` names the columns to sum and the function that finishes them. With weights 1 it gives the score; over
a group-by, the slices; with bootstrap weights, the interval; with the same weights on two runs, a paired test; and
partial sums of shards simply add. `finish` is vectorised: it gets arrays whose leading axes are slices or
replicates, and for a binned statistic a last axis of bins.

What is no function of sums (AUROC, a risk–coverage curve) is a `RowStatistic`: it sees the rows, and weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

# Offered here as well, for whoever writes a `finish`.
from sensecheck.statistics.arrays import Floats as Floats

if TYPE_CHECKING:
    from sensecheck.statistics.counted import Counted

Anchors: TypeAlias = Mapping[str, Floats]

ONE = "1"
"""In `sums`, stands for the number of scored rows (or their weight)."""

Direction = Literal["higher", "lower", "none"]


@dataclass(frozen=True)
class Bins:
    """Keep a statistic's sums apart by the bin that `column` falls in.

    Bins are [edge, next edge); the last one is closed. `edges` are numbers, or the name of an anchor that a first
    pass over the data computes.

    >>> Bins("confidence", (0.0, 0.5, 1.0)).resolve({}).tolist()
    [0.0, 0.5, 1.0]
    >>> Bins("confidence", "halves").resolve({"halves": np.array([0.0, 0.8, 1.0])}).tolist()
    [0.0, 0.8, 1.0]
    """

    column: str
    edges: tuple[float, ...] | str

    def resolve(self, anchors: Anchors) -> Floats:
        if isinstance(self.edges, str):
            return np.asarray(anchors[self.edges], dtype=np.float64)
        return np.asarray(self.edges, dtype=np.float64)


@dataclass(frozen=True)
class Anchor:
    """A quantity from one earlier pass (adaptive edges, a baseline) that stays fixed when rows are resampled."""

    name: str
    columns: tuple[str, ...]
    compute: Callable[[Mapping[str, NDArray[Any]]], Floats]
    counted: Callable[[Counted], Floats] | None = None
    """The same from rows counted on a grid, for more rows than should be held at once; of one column alone."""


@dataclass(frozen=True)
class OwnInterval:
    """What an `IntervalRule` returns: the interval, how it was made, and figures to show beside it."""

    low: float
    high: float
    method: str
    beside: Mapping[str, float] = field(default_factory=dict)
    absent: str = ""
    """Why there is no interval, when there is none."""


class IntervalRule(Protocol):
    """Makes an interval from a statistic's sums and their bootstrap replicates.

    `units` is the number of independent units behind the sums: clusters, or rows where there are none.
    """

    def __call__(
        self, sums: Sequence[Floats], replicates: Sequence[Floats], *, level: float, seed: int, units: float
    ) -> OwnInterval: ...


@dataclass(frozen=True)
class Explanation:
    """What `sensecheck explain` says of a figure."""

    formula: str
    meaning: str
    moved_by: str = ""
    citation: str = ""


def _first_two(numerator: Floats, denominator: Floats) -> tuple[Floats, Floats]:
    return numerator, denominator


@dataclass(frozen=True)
class Share:
    """How a figure's interval follows from that of a share ΣX/ΣD in which every unit has 0 ≤ X ≤ D."""

    parts: Callable[..., tuple[Floats, Floats]] = _first_two
    """X and D from the sums; linear, so that it does for the sums of any unit as well."""
    residual: Callable[..., Floats] | None = None
    """What takes the place of X where it is asked how much units vary."""
    image: Callable[..., tuple[Floats, Floats]] | None = None
    """From the share's ends, then the sums, to the figure's ends, where the figure is not the share itself."""


@dataclass(frozen=True)
class Statistic:
    """`value = finish(sums of columns)`.

    >>> precision = Statistic("precision", sums=("tp", "fp"), finish=lambda tp, fp: ratio(tp, tp + fp))
    >>> float(precision.finish(np.array(3.0), np.array(1.0)))
    0.75
    >>> precision.columns
    ('tp', 'fp')
    """

    name: str
    sums: tuple[str, ...]
    finish: Callable[..., Any]
    title: str = ""
    direction: Direction = "none"
    range: tuple[float, float] = (0.0, 1.0)
    bins: Bins | None = None
    anchors: tuple[Anchor, ...] = ()
    derived: Mapping[str, pl.Expr] = field(default_factory=dict)
    """Columns computed from the measurements when they are summed, rather than stored."""
    derived_of_marks: Mapping[str, Mapping[str, pl.Expr]] = field(default_factory=dict)
    """By a column that may hold shares: derived columns that take less to compute where it holds true and false alone.
    They are the same to the last digit."""
    derived_whole: bool = False
    """A derived column has a value wherever the columns that it is computed from have one: counting rows need not
    compute it."""
    vector: bool = False
    """True for curves: `finish` keeps a last axis."""
    interval: IntervalRule | None = None
    """A rule of its own where the plain bootstrap does not cover (absolute gaps grow with noise)."""
    share: Share | None = None
    """The share that the figure is, or that its interval follows from; a plain quotient of two sums needs none."""
    means_of_bins: bool = False
    """The mean over the bins that hold rows of each one's mean: every bin counts the same."""
    interval_sums: tuple[str, ...] = ()
    """Sums that only the interval's rule needs, after those of `sums`. Their replicates may be NaN."""
    explanation: Explanation | None = None
    absent: str = ""
    """Why a scored row may lack the columns of this figure, in words; without any, the columns are named."""
    absent_column: str = ""
    """A measurement column that says it row by row instead."""
    out_of: str = ""
    """What the last sum counts, where that is not rows: it is shown beside the figure under this name."""
    infinite: str = ""
    """What makes the value infinite, in words, where something can: it then has no interval."""
    compared: bool = True
    """False where another figure stands for this one in comparisons."""

    @property
    def label(self) -> str:
        return self.title or self.name

    @property
    def as_share(self) -> Share | None:
        """The share that the interval follows from, if there is one."""
        plain = self.finish is ratio and len(self.sums) == 2 and self.bins is None and self.range == (0.0, 1.0)
        return self.share or (Share() if plain else None)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The measurement columns whose absence makes a row unscored for this figure."""
        named = [c for c in self.sums if c != ONE]
        if self.bins is not None:
            named.append(self.bins.column)
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True)
class RowStatistic:
    """A figure that needs the rows themselves.

    `prepare` sees the columns once (to sort, say) and returns whatever `value` wants; `value` gets that and an
    array of weights (replicates × rows) and returns one value a replicate.

    >>> largest = RowStatistic(
    ...     "largest", ("x",), lambda columns: columns["x"], lambda x, weights: (x * (weights > 0)).max(axis=1)
    ... )
    >>> largest.value(largest.prepare({"x": np.array([2.0, 7.0])}), np.array([[1.0, 1.0], [2.0, 0.0]])).tolist()
    [7.0, 2.0]
    """

    name: str
    needs: tuple[str, ...]
    prepare: Callable[[Mapping[str, NDArray[Any]]], Any]
    value: Callable[[Any, Floats], Floats]
    title: str = ""
    direction: Direction = "none"
    range: tuple[float, float] = (0.0, 1.0)
    derived: Mapping[str, pl.Expr] = field(default_factory=dict)
    vector: bool = False
    explanation: Explanation | None = None
    sorted_by: str = ""
    """Rows (and so weights) come sorted by this column, ascending. Statistics with the same needs, order and
    `prepare` share one state and one drawing of weights."""
    on_grid: bool = False
    """`sorted_by` lies in [0, 1] and `of_neighbours` holds: very many rows may be counted on a grid instead."""
    of_neighbours: bool = False
    """A true/false column beside `sorted_by` is all it needs, and rows that are neighbours in that order may be taken
    together where it is resampled."""
    noise_power: int = 0
    """A figure from 0 on that noise pushes up: in which power the noise adds to it. Squares add up where it is a sum
    of absolute deviations; the power is 3 where a bandwidth is chosen by the noise as well. The interval takes out the
    noise of the replicates and that of the value. 0: noise does not push it up."""
    kinds: Callable[[Any, Floats], tuple[float, float]] | None = None
    """Of an area under a ROC curve: how many rows of either kind there are, from the state and the weights. It has
    limits of its own."""
    part: float = 1.0
    """The part of the rows that it looks at."""
    compared: bool = True
    """False where another figure stands for this one in comparisons."""

    @property
    def label(self) -> str:
        return self.title or self.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.needs


AnyStatistic: TypeAlias = Statistic | RowStatistic


INFINITE = "infinite"
"""How the reason begins why an infinite figure has no interval."""


def why_infinite(statistic: Statistic, value: Floats) -> str:
    """Why the figure has no interval, where its value is infinite; empty otherwise.

    >>> why_infinite(Statistic("loss", ("loss", ONE), ratio, infinite="a row cost infinitely much"), np.array(np.inf))
    'infinite: a row cost infinitely much'
    """
    return f"{INFINITE}: {statistic.infinite}" if statistic.infinite and np.isposinf(value).any() else ""


def mean_of(column: str, name: str | None = None, **described: Any) -> Statistic:
    """The mean of one column over the scored rows.

    >>> mean = mean_of("em", title="exact match", direction="higher")
    >>> mean.name, mean.label, mean.sums
    ('em', 'exact match', ('em', '1'))
    """
    return Statistic(name or column, sums=(column, ONE), finish=ratio, **described)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Element-wise quotient; 0/0 is NaN and makes no noise.

    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0])).tolist()
    [0.25, nan]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(numerator / denominator)
