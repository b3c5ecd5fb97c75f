"""Figures: a value with everything a reader needs to trust it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sensecheck.options import Option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IntervalMethod = Literal["auto", "percentile", "bca", "normal", "none"]
DEFAULT_SEED = 12345


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are made; every field but `jobs` is part of the signature.

    >>> IntervalOptions(level=0.9).replicates
    1000
    >>> IntervalOptions(replicates=5)
    Traceback (most recent call last):
    ValueError: at least 20 replicates are needed for an interval, not 5
    """

    method: Annotated[
        IntervalMethod,
        Option(
            "how intervals are made: in closed form where there is one (auto), or all by the bootstrap; normal: as "
            "auto, and PPI++'s own interval for what labels correct",
            flag="--ci",
            choices=("auto", "percentile", "bca", "normal"),
            others={"--no-ci": ("none", "no intervals")},
        ),
    ] = "auto"
    level: Annotated[float, Option("coverage of the intervals", flag="--ci-level", metavar="P")] = 0.95
    replicates: Annotated[int, Option("bootstrap replicates", flag="--resamples", metavar="N", at_least=20)] = 1000
    seed: Annotated[int, Option("seed of the resampling", metavar="N")] = DEFAULT_SEED
    jobs: Annotated[
        int,
        Option(
            "threads for computing figures; the digits do not depend on it (default: all cores)",
            metavar="N",
            at_least=1,
        ),
    ] = field(default_factory=lambda: os.cpu_count() or 1)

    def __post_init__(self) -> None:
        if self.method not in ("auto", "percentile", "bca", "normal", "none"):
            raise ValueError(f"interval method must be auto, percentile, bca, normal or none, not {self.method!r}")
        if not 0.5 <= self.level < 1:
            raise ValueError(f"interval level must lie in [0.5, 1), not {self.level}")
        if self.replicates < 20:
            raise ValueError(f"at least 20 replicates are needed for an interval, not {self.replicates}")

    @property
    def of_rows(self) -> IntervalOptions:
        """For figures of rows alone: the normal interval is one of rates that labels correct."""
        return replace(self, method="auto") if self.method == "normal" else self

    def to_dict(self) -> dict[str, Any]:
        """What can change an interval, for JSON."""
        seed = self.seed if abs(self.seed) < 1 << 63 else str(self.seed)  # JSON writers stop at 64 bits
        return {"method": self.method, "level": self.level, "replicates": self.replicates, "seed": seed}


@dataclass(frozen=True)
class Figure:
    """One figure of one slice."""

    name: str
    title: str
    value: float | tuple[float, ...]
    n: int
    clusters: int | None = None
    unscored: Mapping[str, int] = field(default_factory=dict)
    low: float | tuple[float, ...] | None = None
    high: float | tuple[float, ...] | None = None
    method: str = ""
    """How the interval was made."""
    absent: str = ""
    """Why there is no interval, when there is none."""
    beside: Mapping[str, float] = field(default_factory=dict)
    """Numbers that must be read with the value: a noise floor, a debiased value."""
    direction: str = "none"
    range: tuple[float, float] = (0.0, 1.0)
    slice: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    """Wider ends that a gate judges by, each wrong in at most 2.5 % (at level 0.95), where the interval has others."""

    @property
    def unscored_total(self) -> int:
        return sum(self.unscored.values())

    def to_dict(self) -> dict[str, Any]:
        """A plain form for JSON: a number that does not exist is null."""
        return {
            "name": self.name,
            "title": self.title,
            "value": _plain(self.value),
            "interval": None if self.low is None else [_plain(self.low), _plain(self.high)],
            "interval_method": self.method or None,
            "interval_absent": self.absent or None,
            "n": self.n,
            "clusters": self.clusters,
            "unscored": dict(sorted(self.unscored.items())),
            "beside": {k: _plain(v) for k, v in sorted(self.beside.items())},
            "direction": self.direction,
            "range": [_plain(self.range[0]), _plain(self.range[1])],
            "slice": dict(self.slice),
            "bounds": None if self.bounds is None else [_plain(end) for end in self.bounds],
        }


def as_number(value: NDArray[np.float64]) -> float | tuple[float, ...]:
    """What a figure holds: one number, or as many as its vector has."""
    return float(value) if value.ndim == 0 else tuple(float(v) for v in value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return value
