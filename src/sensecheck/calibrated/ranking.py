"""Does confidence put the right answers first? AUROC, the risk–coverage curve and what lies under it.

Answers are accepted from the surest down. Equal confidences are accepted together, so that no figure depends on the
order of the rows: a pair of equals counts half in AUROC, and the risk of an answer in AURC is that of all answers at
least as sure as it.

Everything here is a function of two running sums from the top, weight and correct weight, so that a bootstrap
replicate costs two passes over rows sorted once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

CURVE_POINTS = 50
"""The risk–coverage curve is drawn at this many coverages: 1/50, 2/50 … 1."""
_GROUPS = 4096
_BLOCK = 1 << 16
_ONE = np.uint64(1)


class Ranked:
    """Rows sorted by confidence, ascending, in groups of equals; sums are kept from the surest down.

    Many replicates at once are summed over some thousand groups of neighbours instead, as if each were of equals:
    what that changes is far below what a replicate varies by.
    """

    def __init__(self, confidence: Floats, correct: NDArray[Any]) -> None:
        self.confidence = np.asarray(confidence, dtype=np.float64)
        self.correct = np.asarray(correct)
        if self.correct.dtype != np.bool_:
            self.correct = self.correct.astype(np.float64, copy=False)
        changes = np.flatnonzero(self.confidence[1:] != self.confidence[:-1]) + 1
        self.groups = np.concatenate([np.zeros(1, dtype=np.intp), changes])
        self.coarse = self.groups
        if len(changes) > _GROUPS:
            even = np.linspace(0, len(self.confidence), _GROUPS, endpoint=False).astype(np.intp)
            self.coarse = np.unique(self.groups[np.searchsorted(self.groups, even, side="left").clip(max=len(changes))])
            self.coarse[0] = 0
        self._weights: Floats | None = None
        self._sums: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]]) -> Ranked:
        return cls(columns["confidence"], columns["correct"])

    def cuts(self, weights: Floats) -> NDArray[np.intp]:
        """The first row of each group."""
        return self.groups if len(weights) == 1 else self.coarse

    def sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """Weight and correct weight of each group, replicates × groups, ascending."""
        if self._weights is weights and self._sums is not None:
            return self._sums
        total, right = weights, weights * self.correct
        cuts = self.cuts(weights)
        if len(cuts) < len(self.correct):
            total, right = np.add.reduceat(total, cuts, axis=1), np.add.reduceat(right, cuts, axis=1)
        self._weights, self._sums = weights, (total, right)
        return self._sums

    def running(self, weights: Floats) -> tuple[Floats, Floats]:
        """Weight and correct weight of all rows at least as sure."""
        total, right = self.sums(weights)
        return np.cumsum(total[:, ::-1], axis=1), np.cumsum(right[:, ::-1], axis=1)


def _steps(running: Floats) -> Floats:
    return np.diff(running, axis=1, prepend=0.0)


def auroc_of(state: Ranked, weights: Floats) -> Floats:
    total, right = state.running(weights)
    wrong = total - right
    rights, wrongs = _steps(right), _steps(wrong)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = wrong[:, -1:] - wrong + wrongs / 2
        return np.asarray((rights * below).sum(axis=1) / (right[:, -1] * wrong[:, -1]))


def aurc_of(state: Ranked, weights: Floats) -> Floats:
    total, right = state.running(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        risk = np.where(total > 0, 1 - right / total, 0.0)
        return np.asarray((_steps(total) * risk).sum(axis=1) / total[:, -1])


def excess_aurc_of(state: Ranked, weights: Floats) -> Floats:
    total, right = state.running(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = right[:, -1] / total[:, -1]
    return aurc_of(state, weights) - least_aurc(1 - accuracy)


def least_aurc(error_rate: ArrayLike) -> Floats:
    """AURC of a ranking that puts every right answer before every wrong one: r + (1 − r)·ln(1 − r)."""
    r = np.asarray(error_rate, dtype=np.float64)
    kept = np.where(r < 1, 1 - r, 1.0)
    return np.asarray(np.where(r < 1, r + kept * np.log(kept), 1.0))


def accuracy_at(state: Ranked, weights: Floats, coverages: Sequence[float]) -> Floats:
    """Accuracy of the surest share of the rows, replicates × coverages; within equals it runs straight."""
    total, right = state.running(weights)
    at = np.asarray(coverages, dtype=np.float64)
    out = np.full((len(total), len(at)), np.nan)
    first = total[:, :1]
    for i, (mass, correct) in enumerate(zip(total, right, strict=True)):
        if mass[-1] > 0:
            asked = at * mass[-1]
            # Below the first group's end the line starts at nothing.
            inside = np.interp(asked, mass, correct)
            below = asked < first[i]
            if below.any():
                inside[below] = correct[0] * asked[below] / first[i]
            out[i] = inside / asked
    return out


def curve_coverages() -> list[float]:
    return [(i + 1) / CURVE_POINTS for i in range(CURVE_POINTS)]


# -- whole arrays, quickly -----------------------------------------------------------------------------------


def _sorted(confidence: ArrayLike, correct: ArrayLike) -> NDArray[np.uint64] | Ranked:
    """Sorted keys that hold confidence and correctness together, where correctness is 0 or 1."""
    p, y = np.ascontiguousarray(confidence, dtype=np.float64), np.asarray(correct)
    if p.ndim != 1 or p.shape != y.shape:
        raise ValueError(f"confidence and correct must be two lists of one length, came {p.shape} and {y.shape}")
    if not len(p):
        raise ValueError("there are no rows to rank")
    keys = np.empty(len(p), dtype=np.uint64)
    for start in range(0, len(p), _BLOCK):
        part, marks = p[start : start + _BLOCK], y[start : start + _BLOCK]
        if not (part.min() >= 0 and part.max() <= 1):
            raise ValueError("confidences must lie in [0, 1]")
        if marks.dtype != np.bool_:
            whole = marks.astype(np.bool_)
            if not np.array_equal(whole, marks):
                order = np.argsort(p, kind="stable")
                return Ranked(p[order], y[order])
            marks = whole
        # A float64 in [0, 1] leaves its two highest bits unused and sorts like its bits: room for one more, below.
        some = keys[start : start + _BLOCK]
        np.left_shift(part.view(np.uint64), _ONE, out=some)
        np.bitwise_or(some, marks.view(np.uint8), out=some)
    keys.sort()
    return keys


def auroc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """The chance that a right answer is surer than a wrong one, equals counting half; NaN where all are alike."""
    keys = _sorted(confidence, correct)
    if isinstance(keys, Ranked):
        return float(auroc_of(keys, np.ones((1, len(keys.correct))))[0])
    right = places = tied = 0
    for start in range(0, len(keys), _BLOCK):
        # One key more than the block, to see where equals go on.
        part = keys[start : start + _BLOCK + 1]
        found = np.flatnonzero(part[:_BLOCK] & _ONE)
        right += len(found)
        places += int(found.sum()) + start * len(found)
        borders = np.flatnonzero((part[1:] ^ part[:-1]) == _ONE)
        if len(borders):
            there = part[borders]
            borders = borders + start
            wrongs = borders + 1 - np.searchsorted(keys, there, side="left")
            rights = np.searchsorted(keys, there + _ONE, side="right") - borders - 1
            tied += int((wrongs * rights).sum())
    wrong = len(keys) - right
    if not right or not wrong:
        return float("nan")
    # Equals are sorted with the wrong before the right, as if the right were surer: take half of those pairs back.
    pairs = places - right * (right - 1) // 2
    return (pairs - tied / 2) / (right * wrong)


def aurc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """The area under the risk–coverage curve: the mean, over answers, of the error rate of all at least as sure."""
    keys = _sorted(confidence, correct)
    if isinstance(keys, Ranked):
        return float(aurc_of(keys, np.ones((1, len(keys.correct))))[0])
    down = keys[::-1]
    seen = right = 0  # rows up to the last whole group of equals, and the right ones up to this block
    total = 0.0
    for start in range(0, len(down), _BLOCK):
        part = down[start : start + _BLOCK + 1]
        # Within equals the right come first here, and sums are taken at their end alone.
        running = np.cumsum((part[:_BLOCK] & _ONE).view(np.int64))
        running += right
        right = int(running[-1])
        values = part >> _ONE
        last = values[1:] != values[:-1]
        if start + _BLOCK >= len(down):
            last = np.append(last, True)
        if last.all():
            total += float(np.divide(running, np.arange(start + 1, start + len(running) + 1)).sum())
            if seen != start:  # the first row ends a group that began in the block before
                total += (start - seen) * running[0] / (start + 1)
            seen = start + len(running)
            continue
        ends = np.flatnonzero(last)
        if len(ends):
            covered = ends + (start + 1)
            total += float((np.diff(covered, prepend=seen) * (running[ends] / covered)).sum())
            seen = int(covered[-1])
    return 1.0 - total / len(down)


def excess_aurc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """AURC above that of a perfect ranking with the same accuracy."""
    error_rate = 1 - float(np.asarray(correct, dtype=np.float64).mean())
    return aurc(confidence, correct) - float(least_aurc(error_rate))
