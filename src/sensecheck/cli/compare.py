"""`sensecheck compare A B`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import orjson

from sensecheck.cli.options import FORMATS, Parser, positive
from sensecheck.report.result import load


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck compare",
        description="Two runs of the same question on the same input: differences with paired intervals and p-values.",
    )
    made.add_argument("a", metavar="A", help="run directory of the first system")
    made.add_argument("b", metavar="B", help="run directory of the second system")
    made.add_argument(
        "--format", choices=FORMATS, default="table", help="how the differences are printed (default: table)"
    )
    made.add_argument(
        "--flips", type=positive, default=10, metavar="N", help="examples to show that changed (default: 10)"
    )
    made.add_argument("--seed", type=int, metavar="N", help="of resampling (default: the first run's)")
    made.add_argument("--resamples", type=positive, metavar="N", help="replicates (default: the first run's)")
    return made


def run(args: argparse.Namespace) -> int:
    a, b = load(args.a), load(args.b)
    options = a.options if a.options.method != "none" else replace(a.options, method="percentile")
    if args.seed is not None:
        options = replace(options, seed=args.seed)
    if args.resamples is not None:
        options = replace(options, replicates=args.resamples)
    found = a.compare(b, options=options)
    if args.format == "json":
        sys.stdout.write(
            orjson.dumps(found.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode() + "\n"
        )
        return 0
    table = found.table()
    if args.format == "markdown":
        sys.stdout.write(table.markdown())
    elif args.format == "latex":
        sys.stdout.write(table.latex())
    else:
        table.print()
        from sensecheck.report.escaping import visible

        for sentence in found.verdict():
            sys.stdout.write(f"  {sentence}\n")
        if found.flips is not None and len(found.flips):
            names = found.names
            sys.stdout.write(f"\n  changed examples ({min(args.flips, len(found.flips)):,} of {len(found.flips):,}):\n")
            for row in found.flips.head(args.flips).iter_rows(named=True):
                sys.stdout.write(f"    {visible(str(row['id']), 60)}: {names[0]} {row['a']}, {names[1]} {row['b']}\n")
    return 0
