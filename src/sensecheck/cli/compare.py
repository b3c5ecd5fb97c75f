"""`sensecheck compare A B [C …]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson

from sensecheck.cli.options import FORMATS, Parser, positive
from sensecheck.report.comparison import Comparison, compare
from sensecheck.report.escaping import visible
from sensecheck.report.examples import outcome_words
from sensecheck.report.result import Result, load
from sensecheck.report.tables import decimal
from sensecheck.runs.directory import damage_told

_EXAMPLES = """
examples:
  sensecheck compare runs/A runs/B
  sensecheck compare runs/A runs/B runs/C --report comparison.html
  sensecheck compare runs/A runs/B --format latex > table.tex
"""


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck compare",
        description="Runs of the same question on the same input: the first against each of the others, with paired\n"
        "intervals and p-values over the rows scored in both, and the examples that changed.",
        epilog=_EXAMPLES,
    )
    command.add_argument(
        "runs", metavar="RUN", nargs="+", help="run directories; the others are compared with the first"
    )
    command.add_argument(
        "--format", choices=FORMATS, default="table", help="how the differences are printed (default: table)"
    )
    command.add_argument("--report", metavar="FILE", help="write the comparison page to this file")
    command.add_argument(
        "--flips", type=positive, default=10, metavar="N", help="how many changed examples to show (default: 10)"
    )
    command.add_argument("--seed", type=int, metavar="N", help="seed of the resampling (default: the first run's)")
    command.add_argument(
        "--resamples",
        type=positive,
        metavar="N",
        help="replicates, of figures that are resampled (default: the first run's)",
    )
    return command


def run(args: argparse.Namespace) -> int:
    if len(args.runs) < 2:
        raise ValueError(f"compare takes at least two run directories, got {len(args.runs)}")
    results = [load(path) for path in args.runs]
    with damage_told(*map(Path, args.runs)):
        return _compared(results, args)


def _compared(results: Sequence[Result], args: argparse.Namespace) -> int:
    options = None
    if args.seed is not None or args.resamples is not None:
        first = results[0].options
        options = replace(
            first,
            seed=first.seed if args.seed is None else args.seed,
            replicates=first.replicates if args.resamples is None else args.resamples,
        )
    comparisons = compare(results, options=options)
    if args.format == "json":
        packed = orjson.dumps(comparisons.to_dict(), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY)
        sys.stdout.write(packed.decode() + "\n")
    elif args.format in ("markdown", "latex"):
        tables = comparisons.paper_tables(narrow=args.format == "latex")
        printed = [t.markdown() if args.format == "markdown" else t.latex() for t in tables]
        sys.stdout.write("\n".join(printed))
    else:
        for table in comparisons.tables():
            table.print()
        for sentence in comparisons.verdict():
            sys.stdout.write(f"  {visible(sentence)}\n")
        for pair in comparisons.pairs:
            _changed(pair, args.flips)
    if args.report:
        target = comparisons.to_html(args.report)
        (sys.stdout if args.format == "table" else sys.stderr).write(f"  report: {target}\n")
    return 0


def _changed(pair: Comparison, most: int) -> None:
    if pair.flips is None or not len(pair.flips):
        return
    a, b = (visible(name) for name in pair.names)
    sys.stdout.write(f"\n  changed between {a} and {b} ({min(most, len(pair.flips)):,} of {len(pair.flips):,}):\n")
    no, yes = outcome_words(pair.a.question)
    for row in pair.flips.head(most).iter_rows(named=True):
        was, now = ((yes if v else no) if isinstance(v, bool) else decimal(v) for v in (row["a"], row["b"]))
        sys.stdout.write(f"    {visible(str(row['id']), 60)}: {a} {was}, {b} {now}\n")
