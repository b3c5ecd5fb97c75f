"""Does confidence put the right answers first? AUROC, the risk–coverage curve and what lies under it.

Answers are accepted from the surest down. Equal confidences are accepted together, so that no figure depends on the
order of the rows: a pair of equals counts half in AUROC, and the risk of an answer in AURC is that of all answers at
least as sure as it.

Everything here is a function of two running sums from the top, weight and correct weight, so that a bootstrap
replicate costs two passes over rows sorted once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.side_by_side import added_up, running

CURVE_POINTS = 50
"""The risk–coverage curve is drawn at this many coverages: 1/50, 2/50 … 1."""
_GROUPS = 4096
_FEW = 4
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
        first = np.ones(max(len(self.confidence), 1), dtype=np.bool_)
        np.not_equal(self.confidence[1:], self.confidence[:-1], out=first[1:])
        self.groups = np.flatnonzero(first)
        self.coarse = self.groups
        if len(self.groups) > _GROUPS + 1:
            even = np.linspace(0, len(self.confidence), _GROUPS, endpoint=False).astype(np.intp)
            nearest = np.searchsorted(self.groups, even, side="left").clip(max=len(self.groups) - 1)
            self.coarse = np.unique(self.groups[nearest])
            self.coarse[0] = 0
        # What stands for very many rows: of each number once the wrong and once the right ones.
        self._in_pairs = (
            2 * len(self.groups) == len(self.correct)
            and bool((np.diff(self.groups) == 2).all())
            and not self.correct[::2].any()
            and bool((self.correct[1::2] == 1).all())
        )
        self._weights: Floats | None = None
        self._sums: tuple[Floats, Floats] | None = None
        self._running: tuple[Floats, Floats] | None = None
        self._descending: tuple[Floats, list[tuple[slice, Floats, Floats]]] | None = None
        self.aurc: Floats | None = None
        """AURC of the replicates last looked at: E-AURC needs it again."""

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
        cuts = self.cuts(weights)
        if self._in_pairs:
            total, right = weights[:, ::2] + weights[:, 1::2], weights[:, 1::2]
        else:
            total, right = added_up(weights, cuts), added_up(weights * self.correct, cuts)
        self._weights, self._sums, self._running, self.aurc = weights, (total, right), None, None
        return self._sums

    def running(self, weights: Floats) -> tuple[Floats, Floats]:
        """Weight and correct weight of all rows at least as sure."""
        total, right = self.sums(weights)
        if self._running is None:
            self._running = running(total), running(right)
        return self._running

    def places(self, covered: Floats) -> NDArray[np.intp]:
        """In each replicate, the group in which so much weight is reached; replicates × amounts."""
        assert self._running is not None
        total, _ = self._running
        replicates, groups = total.shape
        if covered.shape[1] <= _FEW:
            columns = [np.count_nonzero(total < amount[:, None], axis=1) for amount in covered.T]
            return np.asarray(np.minimum(np.stack(columns, axis=1), groups - 1), dtype=np.intp)
        # The replicates' running sums one after the other, each lifted above the one before: one search finds all.
        lift = np.arange(replicates)[:, None] * (2 * float(total[:, -1].max(initial=0.0)) + 1)
        place = np.searchsorted((total + lift).reshape(-1), (covered + lift).reshape(-1)).reshape(covered.shape)
        place -= np.arange(replicates)[:, None] * groups
        return np.asarray(np.clip(place, 0, groups - 1), dtype=np.intp)

    def pieces(self, weights: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """Weight and correct weight of single groups, ascending, a block of groups at a time: of one replicate.

        There may be very many rows, and a figure takes a dozen numbers for each while it is made.
        """
        count, rows = len(self.groups), len(self.correct)
        for start in range(0, count, _BLOCK):
            stop = min(start + _BLOCK, count)
            yield self._piece(weights, start, stop, count == rows)

    def _piece(self, weights: Floats, start: int, stop: int, single: bool) -> tuple[slice, Floats, Floats]:
        begin = int(self.groups[start])
        end = int(self.groups[stop]) if stop < len(self.groups) else len(self.correct)
        total = weights[0, begin:end]
        right = total * self.correct[begin:end]
        if not single:
            cuts = self.groups[start:stop] - begin
            total, right = np.add.reduceat(total, cuts), np.add.reduceat(right, cuts)
        return slice(start, stop), total, right

    def descending(self, weights: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """The running sums of one replicate from the surest down, block by block.

        Each block begins with the sums before it; the slice says which of the groups, counted from the top, follow.
        """
        if len(self.groups) > _BLOCK:
            yield from self._blocks_descending(weights)
            return
        # Every figure asks for the same.
        if self._descending is None or self._descending[0] is not weights:
            self._descending = weights, list(self._blocks_descending(weights))
        yield from self._descending[1]

    def _blocks_descending(self, weights: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        count, rows = len(self.groups), len(self.correct)
        before = (0.0, 0.0)
        for stop in range(count, 0, -_BLOCK):
            start = max(0, stop - _BLOCK)
            _, total, right = self._piece(weights, start, stop, count == rows)
            total = np.cumsum(np.concatenate([before[:1], total[::-1]]))
            right = np.cumsum(np.concatenate([before[1:], right[::-1]]))
            before = (float(total[-1]), float(right[-1]))
            yield slice(count - stop, count - start), total, right

    def ends(self, weights: Floats) -> tuple[float, float]:
        """Weight and correct weight of all rows, as the running sums end."""
        total = right = 0.0
        for _, mass, correct in self.descending(weights):
            total, right = float(mass[-1]), float(correct[-1])
        return total, right


def right_and_wrong(state: Ranked, weights: Floats) -> tuple[float, float]:
    """How many right and wrong answers there are; weighted ones count as many as would tell as much."""
    right = weights * state.correct
    numbers = []
    for kind in (right, weights - right):
        squares = float((kind**2).sum())
        numbers.append(float(kind.sum()) ** 2 / squares if squares > 0 else 0.0)
    return numbers[0], numbers[1]


def _steps(running: Floats) -> Floats:
    return np.diff(running, axis=1, prepend=0.0)


def auroc_of(state: Ranked, weights: Floats) -> Floats:
    if len(weights) == 1:
        return _auroc_of_all(state, weights)
    total, right = state.running(weights)
    wrong = total - right
    rights, wrongs = _steps(right), _steps(wrong)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = wrong[:, -1:] - wrong + wrongs / 2
        return np.asarray((rights * below).sum(axis=1) / (right[:, -1] * wrong[:, -1]))


def _auroc_of_all(state: Ranked, weights: Floats) -> Floats:
    all_total, all_right = state.ends(weights)
    all_wrong = all_total - all_right
    terms = np.empty((1, len(state.groups)))
    for where, total, right in state.descending(weights):
        wrong = total - right
        terms[0, where] = np.diff(right) * (all_wrong - wrong[1:] + np.diff(wrong) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(terms.sum(axis=1) / np.float64(all_right * all_wrong))


def aurc_of(state: Ranked, weights: Floats) -> Floats:
    if len(weights) == 1:
        return _aurc_of_all(state, weights)
    total, right = state.running(weights)
    if state.aurc is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            risk = np.where(total > 0, 1 - right / total, 0.0)
            state.aurc = np.asarray((_steps(total) * risk).sum(axis=1) / total[:, -1])
    return state.aurc


def _aurc_of_all(state: Ranked, weights: Floats) -> Floats:
    terms = np.empty((1, len(state.groups)))
    end = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for where, total, right in state.descending(weights):
            risk = np.where(total[1:] > 0, 1 - right[1:] / total[1:], 0.0)
            terms[0, where] = np.diff(total) * risk
            end = float(total[-1])
        return np.asarray(terms.sum(axis=1) / np.float64(end))


def excess_aurc_of(state: Ranked, weights: Floats) -> Floats:
    if len(weights) == 1:
        ends = state.ends(weights)
        all_total, all_right = np.array(ends[:1]), np.array(ends[1:])
    else:
        total, right = state.running(weights)
        all_total, all_right = total[:, -1], right[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = all_right / all_total
    return aurc_of(state, weights) - least_aurc(1 - accuracy)


def least_aurc(error_rate: ArrayLike) -> Floats:
    """AURC of a ranking that puts every right answer before every wrong one: r + (1 − r)·ln(1 − r)."""
    r = np.asarray(error_rate, dtype=np.float64)
    accuracy = np.where(r < 1, 1 - r, 1.0)
    return np.asarray(np.where(r < 1, r + accuracy * np.log(accuracy), 1.0))


def accuracy_at(state: Ranked, weights: Floats, coverages: Sequence[float]) -> Floats:
    """Accuracy of the surest share of the rows, replicates × coverages; within equals it runs straight."""
    at = np.asarray(coverages, dtype=np.float64)
    if len(weights) == 1:
        return _accuracy_of_all(state, weights, at)
    total, right = state.running(weights)
    covered = at * total[:, -1:]
    after = state.places(covered)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Below the first group's end the line starts at nothing.
        start, right_start = (
            np.where(after > 0, np.take_along_axis(running, np.maximum(after - 1, 0), axis=1), 0.0)
            for running in (total, right)
        )
        end, right_end = (np.take_along_axis(running, after, axis=1) for running in (total, right))
        part = np.where(end > start, (covered - start) / (end - start), 1.0)
        return np.asarray((right_start + part * (right_end - right_start)) / covered)


def _accuracy_of_all(state: Ranked, weights: Floats, at: Floats) -> Floats:
    all_total, all_right = state.ends(weights)
    if not all_total > 0:
        return np.full((1, len(at)), np.nan)
    covered = at * all_total
    right_covered = np.full(len(at), all_right)
    for where, total, right in state.descending(weights):
        if where.start == 0:
            below = covered < total[1]
            right_covered[below] = right[1] * covered[below] / total[1]
            total, right = total[1:], right[1:]
        in_block = (covered >= total[0]) & (covered < total[-1])
        right_covered[in_block] = np.interp(covered[in_block], total, right)
    return np.asarray(right_covered / covered)[None, :]


def curve_coverages() -> list[float]:
    return [(i + 1) / CURVE_POINTS for i in range(CURVE_POINTS)]


# -- whole arrays, quickly -----------------------------------------------------------------------------------


def _sorted(confidence: ArrayLike, correct: ArrayLike) -> NDArray[np.uint64] | Ranked:
    """Sorted keys that hold confidence and correctness together, where correctness is 0 or 1."""
    p, y = np.ascontiguousarray(confidence, dtype=np.float64), np.asarray(correct)
    if p.ndim != 1 or p.shape != y.shape:
        raise ValueError(
            f"confidence and correct must be two lists of the same length, got shapes {p.shape} and {y.shape}"
        )
    if not len(p):
        raise ValueError("there are no rows to rank")
    keys = np.empty(len(p), dtype=np.uint64)
    for start in range(0, len(p), _BLOCK):
        part, marks = p[start : start + _BLOCK], y[start : start + _BLOCK]
        if not (part.min() >= 0 and part.max() <= 1):
            raise ValueError("confidences must lie in [0, 1]")
        if marks.dtype != np.bool_:
            as_bools = marks.astype(np.bool_)
            if not np.array_equal(as_bools, marks):
                order = np.argsort(p, kind="stable")
                return Ranked(p[order], y[order])
            marks = as_bools
        # A float64 in [0, 1] leaves its two highest bits unused and sorts like its bits: room for one more, below.
        part_keys = keys[start : start + _BLOCK]
        np.left_shift(part.view(np.uint64), _ONE, out=part_keys)
        np.bitwise_or(part_keys, marks.view(np.uint8), out=part_keys)
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
        right_places = np.flatnonzero(part[:_BLOCK] & _ONE)
        right += len(right_places)
        places += int(right_places.sum()) + start * len(right_places)
        borders = np.flatnonzero((part[1:] ^ part[:-1]) == _ONE)
        if len(borders):
            border_keys = part[borders]
            borders = borders + start
            wrongs = borders + 1 - np.searchsorted(keys, border_keys, side="left")
            rights = np.searchsorted(keys, border_keys + _ONE, side="right") - borders - 1
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
