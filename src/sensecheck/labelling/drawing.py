"""Which examples people look at: a seeded random draw from every stratum, with the probability of each."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import polars as pl

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.labelling.items import VERDICT, Items
from sensecheck.statistics.hashing import hash_ids, scramble, seed_key

LEAST, AT_LEAST_TWO = 10, 2
"""Examples of a stratum at least, where it has them and half of the sample does for that; two, where all of it does."""


def draw(items: Items, sample: int, by: Sequence[str] = (), seed: int = 12345) -> pl.DataFrame:
    """A random sample of the items, stratified by verdict and by some columns, in random order.

    Further columns: stratum (column → value, as JSON), probability, size (of the stratum), of (all items).
    """
    columns = list(dict.fromkeys([VERDICT, *by]))
    total = len(items.frame)
    if not total:
        raise InputError(
            "no example of this run has a verdict: there is nothing to label", reason=Reason.EMPTY,
            hint="Its report says why each was left unscored.",
        )  # fmt: skip
    frame = items.frame.with_columns(items.strata(columns))
    sizes = dict(frame.group_by("stratum", maintain_order=True).len().sort("stratum").iter_rows())
    taken = allocated(list(sizes.values()), sample)
    drawn = [
        frame.filter(pl.col("stratum") == name)
        .with_columns(_at=_order(pl.col("id"), seed, "labels drawn"))
        .sort("_at", "id")
        .head(count)
        .with_columns(probability=pl.lit(count / size), size=pl.lit(size))
        for (name, size), count in zip(sizes.items(), taken, strict=True)
        if count
    ]
    shuffled = pl.concat(drawn).with_columns(_order(pl.col("id"), seed, "labels shown").alias("_at"))
    return shuffled.sort("_at", "id").drop("_at").with_columns(of=pl.lit(total))


def allocated(sizes: Sequence[int], sample: int) -> list[int]:
    """How many of each stratum: by the square roots of their sizes, some of each, and never more than it has.

    Half-way between as many of each, which serves figures within strata, and shares of the run, which serve its totals.

    >>> allocated([900, 100], 120), allocated([900, 3, 1], 40), allocated([2, 1], 10)
    ([90, 30], [36, 3, 1], [2, 1])
    >>> allocated([900, 20, 20], 6), allocated([5, 5, 5], 4)
    ([2, 2, 2], [2, 1, 1])
    """
    if sample < len(sizes):
        raise InputError(
            field="sample", expected=f"at least {len(sizes)}, one for each stratum", got=str(sample),
            hint="A stratum without a label stands for nothing: ask for more, or stratify by less.",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    number = len(sizes)
    least = max(min(LEAST, sample // (2 * number)), min(AT_LEAST_TWO, sample // number))
    taken = [min(size, least) for size in sizes]
    wanted = min(sample, sum(sizes))
    while (left := wanted - sum(taken)) > 0:
        # What a small stratum cannot give goes to the others, largest claim first.
        total = sum(sqrt(size) for size, have in zip(sizes, taken, strict=True) if have < size)
        target = sum(taken[i] for i in range(len(sizes)) if taken[i] < sizes[i]) + left
        claims = [
            (target * sqrt(size) / total - have, i)
            for i, (size, have) in enumerate(zip(sizes, taken, strict=True))
            if have < size
        ]
        most, place = max(claims, key=lambda claim: (claim[0], -claim[1]))
        taken[place] += max(1, min(int(most), sizes[place] - taken[place], left))
    return taken


def _order(ids: pl.Expr, seed: int, stream: str) -> pl.Expr:
    """A number for each id that is random by seed: the same, in whatever order or shard the ids come."""
    salt = np.uint64(seed_key(seed, stream))
    return ids.map_batches(lambda column: pl.Series(scramble(hash_ids(column) ^ salt)), return_dtype=pl.UInt64)
