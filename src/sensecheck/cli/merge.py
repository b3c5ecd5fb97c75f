"""`sensecheck merge SHARD … --out RUN`."""

from __future__ import annotations

import argparse

from sensecheck.cli.options import Parser, add_output, check_targets, finish
from sensecheck.cli.progress import progress


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck merge",
        description="One run made of shards (--shard I/N), each of which measured a part of the records. The figures, "
        "their intervals and every p are those of one run, to the last digit. Inputs and stores are read once more; "
        "nothing is measured or asked again.",
        epilog="\nexamples:\n  sensecheck merge shard-*/ --out run\n",
    )
    command.add_argument("shards", metavar="SHARD", nargs="+", help="directories of all shards, in any order")
    command.heading("output").add_argument(
        "--out", metavar="DIR", required=True, help="keep the run here: measurements, summary.json, report.html"
    )
    command.heading("output").add_argument(
        "--resume", action="store_true", help="continue the interrupted run in --out"
    )
    command.heading("output").add_argument("--overwrite", action="store_true", help="replace the run in --out")
    add_output(command)
    return command


def run(args: argparse.Namespace) -> int:
    from sensecheck.report.merging import merge

    check_targets(args)
    with progress(args) as told:
        return finish(merge(args.shards, args.out, resume=args.resume, overwrite=args.overwrite), args, told)
