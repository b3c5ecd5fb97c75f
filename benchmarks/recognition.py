"""How long it takes to know what a large file is, beside reading it: recognition looks at the first megabyte."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import polars as pl

from benchmarks.timing import cpu_seconds, wall_seconds
from sensecheck.inputs.formats.registry import formats, recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source

_RECORD = b'{"id": "q1", "prediction": "SELECT name FROM city", "gold": "SELECT name FROM city"}'
_BIRD = b',\n"1": "SELECT name FROM city WHERE id = 1\\t----- bird -----\\tworld"'
RECORDS = {
    "statements.sql": (b"", b"SELECT name FROM city WHERE country = 'PE'\tworld\n", b""),
    "predict_dev.json": (b'{"0": "SELECT 1"', _BIRD, b"}"),
    "records.jsonl": (b"", _RECORD + b"\n", b""),
    "one_line.json": (b"[", _RECORD + b",", b"{}]"),
    "table.csv": (b"confidence,correct\n", b"0.9,1\n", b""),
}
"""Name → how a file begins, the record that it repeats, and how it ends."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024)
    size = parser.parse_args().megabytes << 20
    formats()  # what is loaded once is loaded
    print(f"{'file':18} {'size':>8} {'known in':>10} {'as':>10} {'first line by polars':>22}")
    for name, (begin, record, end) in RECORDS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            block = record * ((8 << 20) // len(record))
            with path.open("wb") as file:
                file.write(begin)
                while file.tell() < size:
                    file.write(block)
                file.write(end)
            source = Source(str(path), path=path)
            found = recognised(Start.of(source))
            seconds = wall_seconds(lambda source=source: recognised(Start.of(source)), 5)
            beside = ""
            if name == "table.csv":
                beside = f"{1000 * cpu_seconds(lambda path=path: pl.scan_csv(path).head(1).collect()):.1f} ms"
            kind = found.format.name if found is not None else "a table"
            print(f"{name:18} {path.stat().st_size >> 20:>5} MB {1000 * seconds:>7.1f} ms {kind:>10} {beside:>22}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
