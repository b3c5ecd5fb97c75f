"""Cost per row and peak memory of the whole command on `.logits` files of growing size."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--no-ci", action="store_true", help="without intervals")
    args = parser.parse_args(argv)
    print(f"{'tokens':>12} {'file MB':>9} {'CPU s':>8} {'ns/token':>9} {'peak MB':>8}")
    with tempfile.TemporaryDirectory(prefix="sensecheck-bench-") as folder:
        for tokens in args.tokens:
            path = Path(folder) / "big.logits"
            count = write(path, int(tokens))
            cpu, peak = measure(path, ["--no-ci"] if args.no_ci else [])
            size = path.stat().st_size / 1e6
            print(f"{count:>12,} {size:>9,.0f} {cpu:>8.1f} {cpu / count * 1e9:>9,.0f} {peak:>8,.0f}", flush=True)
            path.unlink()


def write(path: Path, tokens: int) -> int:
    """A file of about so many tokens: blocks of random lines, repeated with new probabilities' order."""
    rng = np.random.default_rng(0)
    lines, made = [], 0
    for i in range(2000):
        n = int(rng.integers(10, 31))
        top = np.sort(rng.dirichlet(np.full(5, 0.15), n), axis=1).astype(np.float32)
        ids = rng.integers(0, 32_000, (n, 5))
        hit = rng.random(n) < top[:, 4]
        labels = np.where(hit, ids[:, 4], ids[:, 0])
        record = {"top_logits": top.astype(float).tolist(), "top_logit_idxs": ids.tolist(), "labels": labels.tolist()}
        lines.append(json.dumps({**record, "input_str": f"question {i}"}))
        made += n
    block = ("\n".join(lines) + "\n").encode()
    repeats = max(1, round(tokens / made))
    with path.open("wb") as file:
        for _ in range(repeats):
            file.write(block)
    return made * repeats


def measure(path: Path, options: list[str]) -> tuple[float, float]:
    """CPU seconds and peak megabytes of one command."""
    code = (
        "import resource, sys\nfrom sensecheck.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\nsys.exit(code)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, "calibrated", str(path), "--jobs", "1", "--format", "json", *options],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, int(done.stderr.strip().splitlines()[-1]) / 1024


if __name__ == "__main__":
    main()
