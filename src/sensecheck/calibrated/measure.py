"""From read rows to measurements: pure functions, no files."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.calibrated.logits import TokenColumns

Aggregate = Literal["product", "mean-logprob", "min", "length-normalised"]
AGGREGATES = ("product", "mean-logprob", "min", "length-normalised")

# Wu et al. 2016 divide a sequence's log-probability by ((5 + length)/6)^0.6.
_LENGTH_POWER = 0.6

Floats = NDArray[np.float64]


def tokens(columns: TokenColumns, names: pl.Series) -> pl.DataFrame:
    """One row a token; tokens of one sequence vary together and form its cluster. `names` are the sequences'."""
    cluster = names.gather(np.repeat(np.arange(len(columns.lines)), columns.lengths))
    position = pl.Series(columns.position)
    return pl.DataFrame(
        {
            "id": cluster + ":" + position.cast(pl.String),
            "cluster": cluster,
            "scored": np.ones(len(columns), dtype=bool),
            "reason": pl.Series([None], dtype=pl.String).new_from_index(0, len(columns)),
            "position": position,
            "confidence": columns.confidence,
            "correct": columns.correct,
        }
    )


def sequences(columns: TokenColumns, how: Aggregate, names: pl.Series) -> pl.DataFrame:
    """One row a sequence: its confidence from its tokens', correct when every token is; those without tokens last."""
    lengths = columns.lengths
    kept = lengths > 0
    lengths = lengths[kept]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
    confidence = combined(columns.confidence, starts, lengths, how)
    right = np.logical_and.reduceat(columns.correct, starts) if len(starts) else np.zeros(0, dtype=bool)
    used = pl.Series(kept)
    scored = pl.DataFrame(
        {
            "id": names.filter(used),
            "scored": True,
            "reason": pl.Series([None] * len(starts), dtype=pl.String),
            "length": lengths,
            "confidence": confidence,
            "correct": right,
        }
    )
    if kept.all():
        return scored
    # A sequence whose every token is ignored says nothing, and is not silently dropped.
    empty = pl.DataFrame(
        {
            "id": names.filter(~used),
            "scored": False,
            "reason": "no token left",
            "length": np.zeros(int((~kept).sum()), dtype=lengths.dtype),
            "confidence": pl.Series([None] * int((~kept).sum()), dtype=pl.Float64),
            "correct": pl.Series([None] * int((~kept).sum()), dtype=pl.Boolean),
        }
    )
    return pl.concat([scored, empty])


def combined(confidence: Floats, starts: NDArray[np.intp], lengths: NDArray[np.int64], how: Aggregate) -> Floats:
    """The confidence in a sequence from those in its tokens."""
    if not len(starts):
        return np.zeros(0)
    if how == "min":
        return np.asarray(np.minimum.reduceat(confidence, starts))
    with np.errstate(divide="ignore"):
        total = np.add.reduceat(np.log(confidence), starts)
    if how == "product":
        return np.asarray(np.exp(total))
    if how == "mean-logprob":
        return np.asarray(np.exp(total / lengths))
    if how == "length-normalised":
        return np.asarray(np.exp(total / ((5 + lengths) / 6) ** _LENGTH_POWER))
    raise ValueError(f"unknown aggregate {how!r}: {', '.join(AGGREGATES)}")
