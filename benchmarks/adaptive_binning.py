"""Adaptive binning: CPU time per (confidence, correct) pair, ours against the same rule as a plain Python
loop.

    python benchmarks/adaptive_binning.py [--largest 10000000]

The plain loop's cost per pair hardly grows with the number of pairs, so it is measured up to a million
pairs, and the ratio at ten million is to its cost at a million. Both sides get what suits them: the loop
lists of Python numbers, ours arrays. Results are compared before they are timed.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sensecheck.calibrated.adaptive import adaptive_bins, adaptive_bins_in_input_order


def plain_loop(confidence: Sequence[float], correct: Sequence[bool]) -> list[tuple[float, float, int]]:
    """The mended rule sample by sample: (mean confidence, accuracy, count) per bin, high to low."""
    pairs = sorted(zip(confidence, correct, strict=True), key=lambda pair: pair[0], reverse=True)
    n, lowest = len(pairs), pairs[-1][0]
    sizes: list[int] = []
    count, top, bottom, need = 0, 0.0, 0.0, math.inf
    for i, (p, _) in enumerate(pairs):
        if count > need and n - i > 40 and bottom - lowest > 0.05:
            sizes.append(count)
            count = 0
        if count == 0:
            top = p
        bottom = p
        count += 1
        span = top - bottom
        need = 0.25 * (1.645 / span) ** 2 if span else math.inf
    sizes.append(count)
    if count < need < math.inf and len(sizes) > 1:
        each = int((need - count) * count / n)
        if each < min(sizes[:-1]):
            sizes = [size - each for size in sizes[:-1]] + [count + each * (len(sizes) - 1)]
    bins: list[tuple[float, float, int]] = []
    total, hits, held = 0.0, 0, 0
    for p, right in pairs:
        total += p
        hits += bool(right)
        held += 1
        if held == sizes[len(bins)]:
            bins.append((total / held, hits / held, held))
            total, hits, held = 0.0, 0, 0
    return bins


def nanoseconds(call: Callable[[], Any], pairs: int, repeats: int) -> float:
    """The best CPU time of several calls, per pair."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best / pairs * 1e9


def main(argv: list[str] | None = None) -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--largest", type=int, default=10_000_000)
    largest = arguments.parse_args(argv).largest
    rng = np.random.default_rng(2020)
    print(f"{'pairs':>12} {'bins':>6} {'plain loop':>12} {'input order':>12} {'ties whole':>12} {'ratio':>14}")
    plain = math.nan
    for n in (100_000, 1_000_000, 10_000_000):
        if n > largest:
            break
        confidence = rng.beta(5, 1, n)
        correct = rng.random(n) < confidence
        bins = adaptive_bins_in_input_order(confidence, correct)
        carried = n > 1_000_000
        if not carried:
            lists = confidence.tolist(), correct.tolist()
            model, accuracy, count = (np.array(column[::-1]) for column in zip(*plain_loop(*lists), strict=True))
            assert np.array_equal(count, bins.count)
            assert np.array_equal(accuracy, bins.accuracy)
            assert np.allclose(model, bins.mean_confidence, rtol=1e-12, atol=0)
            plain = nanoseconds(lambda lists=lists: plain_loop(*lists), n, 2)
        ours = [
            nanoseconds(lambda f=f, x=confidence, y=correct: f(x, y), n, 5)
            for f in (adaptive_bins_in_input_order, adaptive_bins)
        ]
        loop = f"({plain:.0f} ns)" if carried else f"{plain:.0f} ns"
        ratio = " / ".join(f"{plain / each:.0f}x" for each in ours)
        print(
            f"{n:>12,} {len(bins):>6} {loop:>12} {ours[0]:>9.1f} ns {ours[1]:>9.1f} ns {ratio:>14}",
            flush=True,
        )


if __name__ == "__main__":
    main()
