"""Kills and full disks at random moments: `python -m tests.faults [--times N] [--only KIND …] [--seed S]`.

Every fault hits a run of its own against a scripted server of a model, or against a database. Afterwards the run is
taken up again, and then all of this must hold: it fails with one message at most, the figures are those of an
undisturbed run, nothing is left of it but its directory, no process of it is left, and no answer that was on disk when
the fault came is asked for again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.faults.disturbing import KINDS, Ground, disturbed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--times", type=int, default=20, help="faults of each kind that hit a run (default: 20)")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed = 0
    print(
        f"{'fault':<16}{'times':>6}{'hit':>5}{'ended by itself':>17}{'one message':>13}{'amid answers':>14}"
        f"{'asked again':>13}{'wrong':>7}"
    )
    with tempfile.TemporaryDirectory() as folder, Ground(Path(folder)) as ground:
        for kind in given.only:
            why = KINDS[kind].missing()
            if why:
                print(f"{kind:<16}{why}")
                continue
            rng = random.Random(f"{given.seed} {kind}")
            seen = []
            # A moment that comes when the run has ended disturbs nothing, and does not count.
            while sum(fault.hit for fault in seen) < given.times and len(seen) < 4 * given.times:
                seen.append(disturbed(ground, kind, rng))
            wrong = [fault for fault in seen if fault.wrong]
            failed += len(wrong)
            print(
                f"{kind:<16}{len(seen):>6}{sum(f.hit for f in seen):>5}{sum(f.code == 0 for f in seen):>17}"
                f"{sum(f.code in (2, 3) for f in seen):>13}{sum(f.answered > 0 for f in seen if f.hit):>14}"
                f"{sum(f.again for f in seen):>13}{len(wrong):>7}",
                flush=True,
            )
            for fault in wrong:
                print(f"    {fault.wrong}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
