"""Smooth ECE: calibration error without bins.

Błasiok and Nakkiran smooth the residual (confidence − correct) along the confidence axis with a Gaussian kernel that
is reflected at 0 and 1, take the mean of its absolute value, and choose the bandwidth σ at which that mean is σ itself.

On a fine grid the reflected Gaussian is a multiplication of cosine coefficients: rows are put on the grid once, and
every bandwidth, and every bootstrap replicate, then costs one short Fourier transform.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensecheck.calibrated.ranking import Ranked

Floats = NDArray[np.float64]

CELLS = 2048
NARROWEST = 1e-3
"""No bandwidth below this is tried: narrower ones follow single rows."""
_HALVINGS = 16
_FEWEST_CELLS = 64
_MOST_TURNS, _CLOSE = 4, 0.01
_FADED = 9.0  # a Gaussian so many deviations from its middle
_BLOCK = 1 << 16


def on_grid(confidence: ArrayLike, correct: ArrayLike, cells: int = CELLS) -> Floats:
    """Residuals by cell of confidence, divided by the number of rows."""
    p = np.asarray(confidence, dtype=np.float64)
    y = np.asarray(correct)
    sums = np.zeros(cells)
    for start in range(0, len(p), _BLOCK):
        part = p[start : start + _BLOCK]
        cell = np.minimum((part * cells).astype(np.int64), cells - 1)
        sums += np.bincount(cell, weights=part - y[start : start + _BLOCK], minlength=cells)
    return sums / max(len(p), 1)


def _smoothed(spectrum: Floats, width: Floats, cells: int) -> Floats:
    """Mean absolute smoothed residual of each row of spectra at its own bandwidth."""
    # What the narrowest kernel makes smaller than the last digit of a sum need not be transformed.
    k = np.arange(min(spectrum.shape[1], int(_FADED / (np.pi * width.min())) + 2))
    kernel = np.exp(-0.5 * (np.pi * k[None, :] * width[:, None]) ** 2)
    return np.asarray(np.abs(np.fft.irfft(spectrum[:, : len(k)] * kernel, n=2 * cells, axis=1)[:, :cells]).sum(axis=1))


def _spectrum(grid: Floats) -> Floats:
    return np.asarray(np.fft.rfft(np.concatenate([grid, grid[:, ::-1]], axis=1), axis=1))


def at_width(confidence: ArrayLike, correct: ArrayLike, width: float, cells: int = CELLS) -> float:
    """Smooth ECE at a bandwidth of your own choice."""
    grid = on_grid(confidence, correct, cells)[None, :]
    return float(_smoothed(_spectrum(grid), np.array([width]), cells)[0])


def from_grid(grid: Floats) -> tuple[Floats, Floats]:
    """Smooth ECE and its bandwidth for each row of residuals on a grid."""
    cells = grid.shape[1]
    spectrum = _spectrum(grid)
    low, high = np.zeros(len(grid)), np.ones(len(grid))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # Widening the kernel can only lower the mean, so there is one crossing.
        above = (middle < NARROWEST) | (middle < _smoothed(spectrum, middle, cells))
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return _smoothed(spectrum, high, cells), high


def of_replicates(grid: Floats) -> Floats:
    """Smooth ECE of each row of residuals on a grid, where all are much alike: replicates of one another.

    The bandwidth is where a falling curve meets the rising σ. From where it is for their mean, two steps towards it
    tell how fast they close in (Aitken), and so where they end.
    """
    start = max(float(from_grid(grid.mean(axis=0)[None, :])[1][0]), NARROWEST)
    while grid.shape[1] > _FEWEST_CELLS and 2 / grid.shape[1] <= start / 4:
        grid = grid[:, ::2] + grid[:, 1::2]  # the kernel is so wide that it does not show
    cells = grid.shape[1]
    spectrum = _spectrum(grid)

    def onward(width: Floats) -> tuple[Floats, Floats]:
        """The mean absolute residual at a bandwidth, and the bandwidth that it would be itself."""
        values = _smoothed(spectrum, width, cells)
        return values, np.clip(values, NARROWEST, 1.0)

    width = np.full(len(grid), start)
    values, once = onward(width)
    for _ in range(_MOST_TURNS):
        if np.abs(once - width).max(initial=0.0) <= _CLOSE * float(width.mean()):
            break
        _, twice = onward(once)
        turn = twice - 2 * once + width
        # The curve falls, so its steps go to and fro and shrink; where they do not, they have arrived.
        guess = np.where(np.abs(turn) > 1e-12, width - (once - width) ** 2 / np.where(turn == 0, 1.0, turn), twice)
        width = np.clip(guess, np.minimum(once, twice), np.maximum(once, twice))
        values, once = onward(width)
    return values


def smooth_ece(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Smooth ECE of two arrays."""
    if not np.size(confidence):
        return float("nan")
    return float(from_grid(on_grid(confidence, correct)[None, :])[0][0])


def smooth_ece_of(state: Ranked, weights: Floats) -> Floats:
    """The same from rows sorted by confidence, for each replicate of weights."""
    # Replicates need no more digits than they vary by.
    single = len(weights) == 1
    cells = CELLS if single else CELLS // 4
    residuals = _of_all if single else _of_many
    total_weight, cell_starts, filled, residual = residuals(state, weights, cells)
    grid = np.zeros((len(weights), cells))
    grid[:, filled] = np.add.reduceat(residual, cell_starts, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        grid /= total_weight[:, None]
    defined = np.isfinite(grid).all(axis=1)
    values = np.full(len(weights), np.nan)
    if defined.any():
        values[defined] = from_grid(grid[defined])[0] if single else of_replicates(grid[defined])
    return values


_Residuals = tuple[Floats, NDArray[np.intp], NDArray[np.int64], Floats]
"""All weight of each replicate; where each filled cell begins among the groups; which it is; groups' residuals."""


def _of_many(state: Ranked, weights: Floats, cells: int) -> _Residuals:
    total, right = state.sums(weights)
    cuts = state.cuts(weights)
    sizes = np.diff(np.append(cuts, len(state.confidence)))
    middle = np.add.reduceat(state.confidence, cuts) / sizes
    cell = np.minimum((middle * cells).astype(np.int64), cells - 1)
    starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    return total.sum(axis=1), starts, cell[starts], total * middle - right


def _of_all(state: Ranked, weights: Floats, cells: int) -> _Residuals:
    """The same block by block: there may be very many rows."""
    count = len(state.groups)
    totals, residual = np.empty((1, count)), np.empty((1, count))
    starts: list[NDArray[np.intp]] = []
    filled: list[NDArray[np.int64]] = []
    before = -1
    for where, total, right in state.pieces(weights):
        begin = state.groups[where]
        end = int(state.groups[where.stop]) if where.stop < count else len(state.confidence)
        sizes = np.diff(np.append(begin, end))
        middle = np.add.reduceat(state.confidence[begin[0] : end], begin - begin[0]) / sizes
        cell = np.minimum((middle * cells).astype(np.int64), cells - 1)
        new = np.flatnonzero(np.diff(cell, prepend=before))
        starts.append(new + where.start)
        filled.append(cell[new])
        before = int(cell[-1])
        totals[0, where] = total
        residual[0, where] = total * middle - right
    return totals.sum(axis=1), np.concatenate(starts), np.concatenate(filled), residual
