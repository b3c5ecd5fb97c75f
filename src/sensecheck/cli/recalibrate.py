"""`sensecheck recalibrate FILE …`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import orjson

from sensecheck.calibrated.measure import AGGREGATES
from sensecheck.calibrated.recalibrated import recalibrate
from sensecheck.calibrated.recalibration import METHODS
from sensecheck.calibrated.records import INPUT_FORMATS, SCALES
from sensecheck.cli.options import Parser, Shared, add_common, check_targets, read_gates, refuse_idle
from sensecheck.report.escaping import visible

_EXAMPLES = """
examples:
  sensecheck recalibrate test.logits --fit-on dev.logits --save map.json
  sensecheck recalibrate answers.csv --split 0.5 --method platt --plot before-after.svg
  sensecheck recalibrate new.csv --map map.json --write new-confidences.csv
"""


_TABLES = (".csv", ".jsonl", ".ndjson", ".parquet")


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck recalibrate",
        description="Learn from answers whose correctness is known how much each confidence is worth, and show the\n"
        "figures before and after on answers that were not used for it. Reads what `sensecheck calibrated` reads.",
        epilog=_EXAMPLES,
    )
    made.add_argument("files", metavar="FILE", nargs="+", help="answers to report on; globs, - is standard input")
    how = made.add_argument_group("the map")
    how.add_argument("--method", choices=METHODS, default="temperature", help="its form (default: temperature)")
    how.add_argument("--fit-on", metavar="FILE", help="fit on these answers")
    how.add_argument(
        "--split", type=float, metavar="SHARE", help="fit on this share of the answers, report on the others"
    )
    how.add_argument("--map", metavar="FILE", help="use a map that was saved")
    how.add_argument("--same-rows", action="store_true", help="fit and report on the same rows: flatters the map")
    how.add_argument("--save", metavar="FILE", help="save the map as JSON")
    how.add_argument(
        "--write", metavar="FILE", help="write each row's old and new confidence: .csv, .jsonl or .parquet"
    )
    reading = made.add_argument_group("reading")
    reading.add_argument("--input-format", choices=INPUT_FORMATS, default="auto", help="default: by content")
    reading.add_argument("--scale", choices=SCALES, default="auto", help="what the numbers are (default: by content)")
    reading.add_argument(
        "--level", choices=("token", "sequence"), default="token", help=".logits: tokens or sequences (default: token)"
    )
    reading.add_argument(
        "--aggregate", choices=AGGREGATES, default="product", help="a sequence's confidence (default: product)"
    )
    add_common(made)
    return made


def run(args: argparse.Namespace) -> int:
    shared = Shared.of(args)
    refuse_idle(args, parser(), ["resume"], "has no meaning here: a recalibration is not resumed, run it again")
    check_targets(args)
    if args.write and Path(args.write).suffix.lower() not in _TABLES:
        raise ValueError(f"--write takes a .csv, .jsonl or .parquet file, got {Path(args.write).name!r}")
    files = args.files[0] if len(args.files) == 1 else args.files
    found = recalibrate(
        files, method=args.method, fit_on=args.fit_on, split=args.split, fitted=args.map, same_rows=args.same_rows,
        seed=args.seed, options=shared.options, slices=shared.slices, out=args.out, overwrite=args.overwrite,
        input_format=args.input_format, scale=args.scale, level=args.level, aggregate=args.aggregate,
        columns=shared.columns, weight=args.weight, cluster=args.cluster, limit=args.limit, skip_bad=args.skip_bad,
        system=args.system,
    )  # fmt: skip
    gates = read_gates(found.after, args)
    said = sys.stderr if args.format != "table" else sys.stdout
    if args.format == "json":
        plain = {
            "map": found.fitted.to_dict(), "before": found.before.to_dict(), "after": found.after.to_dict(),
            "verdict": found.verdict(),
        }  # fmt: skip
        sys.stdout.write(orjson.dumps(plain, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        table = found.compare().table()
        table.title = f"recalibrated: {found.fitted}"
        if args.format == "markdown":
            sys.stdout.write(table.markdown() + "\n")
        elif args.format == "latex":
            sys.stdout.write(table.latex() + "\n")
        else:
            table.print()
    for sentence in found.verdict():
        said.write(f"  {visible(sentence)}\n")
    if args.save:
        said.write(f"  map: {found.fitted.save(args.save)}\n")
    if args.write:
        said.write(f"  confidences: {_written(found.table(), Path(args.write))}\n")
    if args.report:
        said.write(f"  report: {found.after.to_html(args.report)}\n")
    for wanted in args.plot:
        name, sign, target = wanted.partition("=")
        chart = found.after.plot(name) if sign else found.plot()
        said.write(f"  picture: {chart.save(target if sign else wanted)}\n")
    failed = [words for words in (gate(found.after) for gate in gates) if words]
    for words in failed:
        sys.stderr.write(f"sensecheck: gate failed: {words}\n")
    return 1 if failed else 0


def _written(table: object, target: Path) -> Path:
    import polars as pl

    assert isinstance(table, pl.DataFrame)
    kind = target.suffix.lower()
    if kind == ".csv":
        table.write_csv(target)
    elif kind in (".jsonl", ".ndjson"):
        table.write_ndjson(target)
    else:
        table.write_parquet(target)
    return target
