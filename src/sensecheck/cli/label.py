"""`sensecheck label RUN`: a sheet on which a person labels some of a run's examples."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sensecheck.cli.options import Parser, positive
from sensecheck.report.escaping import visible

_EXAMPLES = """
examples:
  sensecheck label run/ --output sheet.html
  sensecheck label run/ --sample 200 --slice question_type --output sheet.csv
  sensecheck agree run/ labels-anna.jsonl labels-ben.jsonl
"""


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck label",
        description="Draw examples of a run at random and write a sheet on which a person labels them: one page that\n"
        "opens from disk and works with the keyboard (right, wrong, unclear, a note), or a CSV table. The person does\n"
        "not see the verdict. How likely each example was to be drawn goes with its label, so that `sensecheck agree`\n"
        "can speak of the whole run.",
        epilog=_EXAMPLES,
    )
    command.add_argument("run", metavar="RUN", help="a run directory")
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="write the sheet here: .html or .csv")
    command.add_argument(
        "--sample", type=positive, default=120, metavar="N", help="how many examples to draw (default: 120)"
    )
    command.add_argument(
        "--slice",
        dest="by",
        metavar="COLUMN",
        action="append",
        default=[],
        help="draw from every value of this column, beside the two verdicts (repeatable)",
    )
    command.add_argument("--seed", type=int, default=12345, metavar="N", help="seed of the draw (default: 12345)")
    command.add_argument(
        "--show-verdict",
        action="store_true",
        help="show the run's verdict and its reasons; people who see a verdict agree with it more often",
    )
    return command


def run(args: argparse.Namespace) -> int:
    from sensecheck.labelling.matching import stratum_words
    from sensecheck.labelling.sheet import check_target, write_sheet
    from sensecheck.report.result import load
    from sensecheck.runs.directory import damage_told

    check_target(args.output)
    result = load(args.run)
    with damage_told(Path(args.run)):
        drawn = write_sheet(
            result, args.output, args.sample, args.by, seed=args.seed, show_verdict=args.show_verdict
        )  # fmt: skip
    strata = drawn.group_by("stratum", "size").len().sort("stratum")
    for stratum, size, count in strata.iter_rows():
        sys.stdout.write(f"  {count:,} of {size:,}: {visible(stratum_words(stratum))}\n")
    sys.stdout.write(f"  {len(drawn):,} examples to label: {visible(args.output)}\n")
    return 0
