"""All binned figures from one pass over 1e7 pairs, beside torchmetrics, netcal and scikit-learn, in one run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from benchmarks.timing import in_turns
from sensecheck.calibrated.figures import statistics
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import Frames

BINNED = ("ece", "rmsce", "mce", "overconfidence", "underconfidence", "pearson")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--turns", type=int, default=5, help="every way takes so many, and its fastest counts")
    args = parser.parse_args(argv)
    n = int(args.rows)
    rng = np.random.default_rng(0)
    confidence = rng.beta(5, 1, n)
    correct = rng.random(n) < confidence
    frame = Frames(pl.DataFrame({"confidence": confidence, "correct": correct}))
    chosen = [s for s in statistics({}) if s.name in BINNED]
    none = IntervalOptions(method="none")
    found = estimate(frame, chosen, options=none)
    ways: dict[str, Callable[[], Any]] = {"sensecheck": lambda: estimate(frame, chosen, options=none)}
    told = {"sensecheck": f"ECE {found.figure('ece').value:.10f}"}
    for name, peer in (("torchmetrics", _torchmetrics), ("scikit-learn", _sklearn), ("netcal", _netcal)):
        try:
            ways[name], told[name] = peer(confidence, correct)
        except ImportError as missing:
            print(f"  {name:<13} not installed ({missing.name})")
    taken = in_turns(ways, args.turns)
    print(f"{n:,} pairs, 20 bins, one thread; CPU seconds (sensecheck: {len(chosen)} figures, the others: one)")
    for name, seconds in taken.items():
        print(f"  {name:<13} {seconds:7.3f}   {told[name]:18} {seconds / taken['sensecheck']:6.1f}x")


def _torchmetrics(confidence, correct):
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    torch.set_num_threads(1)
    a, b = torch.tensor(confidence), torch.tensor(correct.astype(int))
    value = float(binary_calibration_error(a, b, n_bins=20, norm="l1"))
    return (lambda: binary_calibration_error(a, b, n_bins=20, norm="l1")), f"ECE {value:.10f}"


def _sklearn(confidence, correct):
    from sklearn.calibration import calibration_curve

    return (lambda: calibration_curve(correct, confidence, n_bins=20)), "the curve only   "


def _netcal(confidence, correct):
    from netcal.metrics import ECE

    whole = correct.astype(int)
    value = ECE(20).measure(confidence, whole)
    return (lambda: ECE(20).measure(confidence, whole)), f"ECE {value:.10f}"


if __name__ == "__main__":
    main()
