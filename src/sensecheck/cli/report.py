"""`sensecheck report RUN`."""

from __future__ import annotations

import argparse
import sys

from sensecheck.cli.options import FORMATS, Parser
from sensecheck.report.question import slicings
from sensecheck.report.result import load


def parser() -> argparse.ArgumentParser:
    made = Parser(prog="sensecheck report", description="Print a run's figures again, or write its HTML report.")
    made.add_argument("run", metavar="RUN", help="run directory")
    made.add_argument("--html", metavar="FILE", help="write the report to this file (default: RUN/report.html)")
    made.add_argument("--format", choices=FORMATS, default="table", help="how figures are printed (default: table)")
    made.add_argument(
        "--slice",
        metavar="COLUMN",
        action="append",
        default=[],
        help="figures for every value of a column; 'a×b' (or 'a*b') crosses two (repeatable)",
    )
    return made


def run(args: argparse.Namespace) -> int:
    result = load(args.run)
    for by in slicings(args.slice):
        result.slices(by)
    target = result.to_html(args.html or f"{args.run}/report.html")
    result.show(args.format)
    (sys.stdout if args.format == "table" else sys.stderr).write(f"  report: {target}\n")
    return 0
