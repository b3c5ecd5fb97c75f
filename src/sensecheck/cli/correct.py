"""`sensecheck correct FILE …`."""

from __future__ import annotations

import argparse

from sensecheck.cli.options import Parser, add_common, every_question, finish, pair, positive
from sensecheck.cli.progress import progress
from sensecheck.correct import SPICE_SLICES, evaluate
from sensecheck.correct.measure import CONVENTIONS
from sensecheck.stores import Limits

_EXAMPLES = """
examples:
  sensecheck correct preds/*.json --graph kg.nt --distances context_distance.log --out run/
  sensecheck correct preds.jsonl --endpoint http://localhost:8890/sparql --out run/ --resume
  sensecheck correct predictions.jsonl --database databases/ --convention test-suite --slice model
  sensecheck correct preds/*.json                       exact match alone; nothing is run
  sensecheck correct preds/*.json --graph kg.nt --as spice
"""


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck correct",
        description="Does the predicted query give the right answer?\n\n"
        "Reads predicted SPARQL or SQL with gold queries or gold answers: the SPICE evaluation's JSON, or JSONL, CSV,\n"
        "Parquet with named columns (prediction, gold, results, question_type, database, …). Queries run in killable,\n"
        "read-only worker processes; each that fails has a named reason.",
        epilog=_EXAMPLES,
    )
    made.add_argument("files", metavar="FILE", nargs="+", help="files or globs; - is standard input")
    where = made.add_argument_group("where queries run")
    where.add_argument(
        "--graph", metavar="FILE", action="append", default=[],
        help="RDF files to load (.nt, .ttl, …; repeatable), or the folder of an Oxigraph store",
    )  # fmt: skip
    where.add_argument("--endpoint", metavar="URL", help="a SPARQL 1.1 endpoint")
    where.add_argument(
        "--database", metavar="PATH",
        help="an SQLite or DuckDB file, or a folder of them by database name (several per name: a test suite)",
    )  # fmt: skip
    where.add_argument("--cache", metavar="FILE", help="keep answers here (default: in --out)")
    where.add_argument(
        "--prefix", metavar="NAME=IRI", action="append", default=[],
        help="a prefix that queries may use without declaring it (repeatable; the usual ones are known)",
    )  # fmt: skip
    where.add_argument("--workers", type=positive, metavar="N", help="queries at a time (default: one a core)")
    bounds = made.add_argument_group("limits on each query")
    usual = Limits()
    bounds.add_argument(
        "--timeout", type=float, default=usual.seconds, metavar="SECONDS", help=f"(default: {usual.seconds:g})"
    )
    bounds.add_argument(
        "--memory", type=positive, default=usual.memory >> 20, metavar="MB", help=f"(default: {usual.memory >> 20})"
    )
    bounds.add_argument(
        "--max-rows", type=positive, default=usual.rows, metavar="N", help=f"of an answer (default: {usual.rows})"
    )
    how = made.add_argument_group("comparing")
    how.add_argument(
        "--convention", choices=CONVENTIONS, action="append", default=[],
        help="also judge as this evaluator does (repeatable)",
    )  # fmt: skip
    how.add_argument(
        "--gold", choices=("auto", "query", "answers"), default="auto",
        help="the gold answer: run the gold query, or take the answers in the file (default: answers where given)",
    )  # fmt: skip
    how.add_argument("--no-normalise", action="store_true", help="leave normalised exact match out")
    how.add_argument(
        "--ignore-distinct", action="store_true", help="an outermost DISTINCT makes no difference to exact match"
    )
    how.add_argument("--coerce", action="store_true", help="SQL: text that is a number equals that number")
    how.add_argument(
        "--distances",
        metavar="FILE",
        help="context distances: turnID, TAB, distance (for the slices context, distance)",
    )
    add_common(made, parity=("spice",))
    return made


def run(args: argparse.Namespace) -> int:
    given = every_question(args)
    prefixes = dict(pair(p, "--prefix", "NAME=IRI") for p in args.prefix) or None
    files = args.files[0] if len(args.files) == 1 else args.files
    given["slices"] = given["slices"] or list(SPICE_SLICES if _is_spice(files) else ())
    with progress("reading and measuring", "records") as advance:
        result = evaluate(
            files,
            graph=args.graph or None,
            endpoint=args.endpoint,
            database=args.database,
            conventions=args.convention,
            gold=args.gold,
            normalise=not args.no_normalise,
            ignore_distinct=args.ignore_distinct,
            coerce=args.coerce,
            prefixes=prefixes,
            distances=args.distances,
            limits=Limits(seconds=args.timeout, memory=args.memory << 20, rows=args.max_rows),
            workers=args.workers,
            cache=args.cache,
            weight=args.weight,
            cluster=args.cluster,
            parity=args.parity,
            progress=advance,
            **given,
        )
    return finish(result, args)


def _is_spice(files: str | list[str]) -> bool:
    """Whether the first file looks like the SPICE evaluation's: then its own slices are shown."""
    from sensecheck.inputs.opening import sources

    if files == "-":
        return False
    head = sources(files)[0].head(1 << 16)
    return b'"question_type"' in head and b'"turnID"' in head
