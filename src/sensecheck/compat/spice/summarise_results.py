"""`summarise_results` of the SPICE evaluation: exact match by phenomenon over a folder of result files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sensecheck.correct import original


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="summarise_results", description=__doc__)
    parser.add_argument("--file_path", default="", help="the folder with one JSON file per question type")
    options = parser.parse_args(arguments)
    summary = original.summarise(options.file_path)
    (Path(options.file_path) / original.SUMMARY_FILE).write_text(json.dumps(summary), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
