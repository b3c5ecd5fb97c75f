"""Smooth ECE: calibration error without bins.

Błasiok and Nakkiran smooth the residual (confidence − correct) along the confidence axis with a Gaussian kernel that
is reflected at 0 and 1, take the mean of its absolute value, and choose the bandwidth σ at which that mean is σ itself.

On a fine grid the reflected Gaussian is a multiplication of cosine coefficients: rows are put on the grid once, and
every bandwidth, and every bootstrap replicate, then costs one short Fourier transform.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensecheck.calibrated.ranking import Ranked
from sensecheck.statistics.side_by_side import added_up

Floats = NDArray[np.float64]
Spectrum = NDArray[np.complexfloating[Any, Any]]

CELLS = 2048
NARROWEST = 1e-3
"""No bandwidth below this is tried: narrower ones follow single rows."""
_FINENESS = 2.0**16
_FIRST_WIDTH, _STEPS_TOWARDS = 0.05, 3
_FEWEST_CELLS = 64
_CELLS_OF_REPLICATES = CELLS // 4
"""Replicates need no more digits than they vary by."""
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


def _smoothed(spectrum: Spectrum, width: Floats, cells: int) -> Floats:
    """Mean absolute smoothed residual of each row of spectra at its own bandwidth."""
    # What the narrowest kernel makes smaller than the last digit of a sum need not be transformed.
    k = np.arange(min(spectrum.shape[1], int(_FADED / (np.pi * width.min())) + 2))
    exponent = (np.pi * k[None, :] * width[:, None]).astype(spectrum.real.dtype)
    kernel = np.exp(-0.5 * exponent**2)
    smoothed = np.fft.irfft(spectrum[:, : len(k)] * kernel, n=2 * cells, axis=1)[:, :cells]
    return np.asarray(np.abs(smoothed).sum(axis=1), dtype=np.float64)


def _spectrum(grid: NDArray[Any]) -> Spectrum:
    return np.asarray(np.fft.rfft(np.concatenate([grid, grid[:, ::-1]], axis=1), axis=1))


def at_width(confidence: ArrayLike, correct: ArrayLike, width: float, cells: int = CELLS) -> float:
    """Smooth ECE at a bandwidth of your own choice."""
    grid = on_grid(confidence, correct, cells)[None, :]
    return float(_smoothed(_spectrum(grid), np.array([width]), cells)[0])


def from_grid(grid: Floats) -> tuple[Floats, Floats]:
    """Smooth ECE and its bandwidth for each row of residuals on a grid."""
    cells = grid.shape[1]
    spectrum = _spectrum(grid)
    # Widening the kernel can only lower the mean, so there is one crossing, and going on from any bandwidth to the
    # mean at it mostly comes near to that at once.
    width = np.full(len(grid), _FIRST_WIDTH)
    for _ in range(_STEPS_TOWARDS):
        width = np.clip(_smoothed(spectrum, width, cells), NARROWEST, 1.0)
    place = np.clip(np.ceil(width * _FINENESS), 1, _FINENESS)
    found = np.empty(len(grid))
    for _ in range(_MOST_TURNS):
        high, before = place / _FINENESS, (place - 1) / _FINENESS
        found = _smoothed(spectrum, high, cells)
        too_low = ((high < NARROWEST) | (high < found)) & (place < _FINENESS)
        too_high = ~too_low & (before >= NARROWEST)
        if too_high.any():
            too_high &= before >= _smoothed(spectrum, np.maximum(before, NARROWEST), cells)
        if not (too_low | too_high).any():
            return found, high
        place += too_low.astype(np.float64) - too_high
    low, high = np.zeros(len(grid)), np.ones(len(grid))
    while (high - low).max() > 1 / _FINENESS:
        middle = (low + high) / 2
        above = (middle < NARROWEST) | (middle < _smoothed(spectrum, middle, cells))
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return _smoothed(spectrum, high, cells), high


def smooth_ece(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Smooth ECE of two arrays."""
    if not np.size(confidence):
        return float("nan")
    return float(from_grid(on_grid(confidence, correct)[None, :])[0][0])


def smooth_ece_of(state: Ranked, weights: Floats) -> Floats:
    """The same from rows sorted by confidence, for each replicate of weights."""
    return _of_all(state, weights) if len(weights) == 1 else _of_replicates(state, weights)


def _of_replicates(state: Ranked, weights: Floats) -> Floats:
    """Smooth ECE of replicates, which are all much alike.

    The bandwidth is where a falling curve meets the rising σ. From where it is for their mean, two steps towards it
    tell how fast they close in (Aitken), and so where they end.
    """
    total, right = state.sums(weights)
    cuts = state.cuts(weights)
    middle = np.add.reduceat(state.confidence, cuts) / np.diff(np.append(cuts, len(state.confidence)))
    residual = total * middle - right
    all_weight = np.add.reduce(total.T, axis=0)
    values = np.full(len(weights), np.nan)
    if not (all_weight > 0).any():
        return values
    of_mean = np.bincount(_cell(middle, _CELLS_OF_REPLICATES), residual.mean(axis=0), _CELLS_OF_REPLICATES)
    start = max(float(from_grid(of_mean[None, :] / all_weight.mean())[1][0]), NARROWEST)
    cells = _CELLS_OF_REPLICATES
    while cells > _FEWEST_CELLS and 2 / cells <= start / 4:
        cells //= 2  # the kernel is so wide that it does not show
    cell = _cell(middle, cells)
    starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    # Single precision has more digits than replicates need, and is transformed in half the time.
    by_cell = np.zeros((cells, len(weights)), dtype=np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_cell[cell[starts]] = added_up(residual, starts).T / all_weight
    defined = all_weight > 0
    spectrum = _spectrum(by_cell.T if defined.all() else by_cell[:, defined].T)

    def onward(width: Floats) -> tuple[Floats, Floats]:
        """The mean absolute residual at a bandwidth, and the bandwidth that it would be itself."""
        found = _smoothed(spectrum, width, cells)
        return found, np.clip(found, NARROWEST, 1.0)

    width = np.full(len(spectrum), start)
    found, once = onward(width)
    for _ in range(_MOST_TURNS):
        if np.abs(once - width).max(initial=0.0) <= _CLOSE * float(width.mean()):
            break
        found, twice = onward(once)
        turn = twice - 2 * once + width
        # The curve falls, so its steps go to and fro and shrink; where they do not, they have arrived.
        guess = np.where(np.abs(turn) > 1e-12, width - (once - width) ** 2 / np.where(turn == 0, 1.0, turn), twice)
        width = np.clip(guess, np.minimum(once, twice), np.maximum(once, twice))
        if np.abs(twice - once).max(initial=0.0) <= _CLOSE * float(width.mean()):
            found = np.where(once > NARROWEST, width, found)  # the mean is the bandwidth, where the search ends
            break
        found, once = onward(width)
    values[defined] = found
    return values


def _cell(middle: Floats, cells: int) -> NDArray[np.int64]:
    return np.minimum((middle * cells).astype(np.int64), cells - 1)


def _of_all(state: Ranked, weights: Floats) -> Floats:
    """Of one replicate, block by block: there may be very many rows."""
    count = len(state.groups)
    cell, residual, totals = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count)
    for where, total, right in state.pieces(weights):
        begin = state.groups[where]
        end = int(state.groups[where.stop]) if where.stop < count else len(state.confidence)
        sizes = np.diff(np.append(begin, end))
        middle = np.add.reduceat(state.confidence[begin[0] : end], begin - begin[0]) / sizes
        cell[where], residual[where], totals[where] = _cell(middle, CELLS), total * middle - right, total
    all_weight = float(totals.sum())
    if not all_weight > 0:
        return np.full(1, np.nan)
    return from_grid(np.bincount(cell, weights=residual, minlength=CELLS)[None, :] / all_weight)[0]
