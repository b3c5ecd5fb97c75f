"""`sensecheck recalibrate FILE …`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import orjson

from sensecheck.calibrated.recalibrated import Recalibrated, recalibrate
from sensecheck.cli.options import Parser, add_output, add_parameters, check_targets, read_gates, values
from sensecheck.cli.progress import progress
from sensecheck.inputs.formulas import marked_csv
from sensecheck.report.escaping import visible
from sensecheck.runs.writing import named_file, write_named

_EXAMPLES = """
examples:
  sensecheck recalibrate test.logits --fit-on dev.logits --save map.json
  sensecheck recalibrate answers.csv --split 0.5 --method platt --plot before-after.svg
  sensecheck recalibrate new.csv --map map.json --write new-confidences.csv
"""


_TABLES = (".csv", ".jsonl", ".ndjson", ".parquet")


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck recalibrate",
        description="Learn, from answers known to be right or wrong, how much each confidence is worth, and show the\n"
        "figures before and after on answers that were not used for this. Reads what `sensecheck calibrated` reads.",
        epilog=_EXAMPLES,
    )
    add_parameters(command, recalibrate)
    how = command.heading("the map")
    how.add_argument("--save", metavar="FILE", help="save the map as JSON")
    how.add_argument(
        "--write", metavar="FILE", help="write each row's old and new confidence: .csv, .jsonl or .parquet"
    )
    add_output(command)
    return command


def run(args: argparse.Namespace) -> int:
    check_targets(args)
    if args.write and Path(args.write).suffix.lower() not in _TABLES:
        raise ValueError(f"--write takes a .csv, .jsonl or .parquet file, got {Path(args.write).name!r}")
    with progress(args) as told:
        recalibrated = recalibrate(**values(args, recalibrate))
        told.stop()
        return _finish(recalibrated, args)


def _finish(recalibrated: Recalibrated, args: argparse.Namespace) -> int:
    gates = read_gates(recalibrated.after, args)
    said = sys.stderr if args.format != "table" else sys.stdout
    if args.format == "json":
        plain = {
            "map": recalibrated.fitted.to_dict(), "before": recalibrated.before.to_dict(),
            "after": recalibrated.after.to_dict(), "verdict": recalibrated.verdict(),
        }  # fmt: skip
        sys.stdout.write(orjson.dumps(plain, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        table = recalibrated.compare().table()
        table.title = f"recalibrated: {recalibrated.fitted}"
        if args.format == "markdown":
            sys.stdout.write(table.markdown() + "\n")
        elif args.format == "latex":
            sys.stdout.write(table.latex() + "\n")
        else:
            table.print()
    for sentence in recalibrated.verdict():
        said.write(f"  {visible(sentence)}\n")
    if args.save:
        said.write(f"  map: {recalibrated.fitted.save(args.save)}\n")
    if args.write:
        said.write(f"  confidences: {_written(recalibrated.table(), Path(args.write))}\n")
    if args.report:
        said.write(f"  report: {recalibrated.after.to_html(args.report)}\n")
    for wanted in args.plot:
        name, sign, target = wanted.partition("=")
        chart = recalibrated.after.plot(name) if sign else recalibrated.plot()
        said.write(f"  picture: {chart.save(target if sign else wanted)}\n")
    failed = [words for words in (gate(recalibrated.after) for gate in gates) if words]
    for words in failed:
        sys.stderr.write(f"sensecheck: gate failed: {words}\n")
    if nothing := recalibrated.after.nothing_scored():
        sys.stderr.write(f"sensecheck: error: {visible(nothing)}\n")
        return 2
    return 1 if failed else 0


def _written(table: object, target: Path) -> Path:
    import polars as pl

    assert isinstance(table, pl.DataFrame)
    kind = target.suffix.lower()
    if kind == ".csv":
        return write_named(target, marked_csv(table))
    with named_file(target) as stream:
        if kind in (".jsonl", ".ndjson"):
            table.write_ndjson(stream)
        else:
            table.write_parquet(stream)
    return target
