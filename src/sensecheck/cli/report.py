"""`sensecheck report RUN`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sensecheck.cli.options import FORMATS, Parser
from sensecheck.inputs.addresses import faults_told, is_address
from sensecheck.report.result import load
from sensecheck.runs.at_address import put_report
from sensecheck.runs.directory import REPORT, damage_told


def parser() -> argparse.ArgumentParser:
    command = Parser(prog="sensecheck report", description="Print a run's figures again, or write its HTML report.")
    command.add_argument("run", metavar="RUN", help="run directory")
    command.add_argument("--html", metavar="FILE", help="write the report to this file (default: RUN/report.html)")
    command.add_argument("--format", choices=FORMATS, default="table", help="how figures are printed (default: table)")
    command.add_argument(
        "--slice",
        metavar="COLUMN",
        action="append",
        default=[],
        help="figures for every value of a column; 'a×b' (or 'a*b') crosses two (repeatable)",
    )
    command.add_argument(
        "--human",
        metavar="FILE",
        action="append",
        help="labels of people (`sensecheck label`), by which the share of right rows is corrected (repeatable)",
    )
    return command


def run(args: argparse.Namespace) -> int:
    if args.html and is_address(args.html):
        raise ValueError(f"--html {args.html}: is written on this machine; name a file here")
    result = load(args.run)
    run = result.directory
    assert run is not None
    with faults_told(), damage_told(run.path):
        result = result.sliced(args.slice)
        result = result.corrected_by(args.human) if args.human else result
        target: str | Path = result.to_html(args.html or run.path / REPORT)
        if run.address and not args.html:
            target = put_report(run)
        result.show(args.format)
    (sys.stdout if args.format == "table" else sys.stderr).write(f"  report: {target}\n")
    return 0
