"""AUROC and AURC against one sort of the array, and smooth ECE against relplot, in one process.

    python -m benchmarks calibration_figures [ROWS]      # default: ten million

Times are CPU seconds, the best of three (relplot: of one). Needs relplot for its line, and leaves it out without.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from sensecheck.calibrated.ranking import aurc, auroc
from sensecheck.calibrated.smooth_ece import smooth_ece


def seconds(work: Callable[[], object], times: int = 3) -> float:
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    rng = np.random.default_rng(0)
    p = rng.beta(5, 1.5, rows)
    y = rng.random(rows) < p
    sort = seconds(lambda: np.sort(p))
    print(f"{rows:,} rows; numpy.sort {sort:.3f} s")
    for name, figure in (("AUROC", auroc), ("AURC", aurc)):
        took = seconds(lambda figure=figure: figure(p, y))  # type: ignore[misc]
        print(f"{name:<10} {took:.3f} s  {took / sort:.2f} × one sort (target 3)")
    ours = seconds(lambda: smooth_ece(p, y))
    print(f"smooth ECE {ours:.3f} s")
    try:
        import relplot
    except ImportError:
        print("relplot is not installed: no comparison")
        return
    truth = y.astype(float)
    theirs = seconds(lambda: relplot.smECE(p, truth), times=1)
    print(f"relplot    {theirs:.3f} s  {theirs / ours:.0f} × ours (target 8)")


if __name__ == "__main__":
    main()
