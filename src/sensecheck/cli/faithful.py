"""`sensecheck faithful FILE …`."""

from __future__ import annotations

import argparse

from sensecheck.cli.options import Parser, add_common, every_question, finish
from sensecheck.cli.progress import progress
from sensecheck.faithful import evaluate
from sensecheck.faithful.languages import LANGUAGES

_EXAMPLES = """
examples:
  sensecheck faithful pairs.jsonl --language sql --schema tables.json --out run/
  sensecheck faithful pairs.csv --columns query=gold_sql --columns sentence=generated --schema db.sqlite
  sensecheck faithful forms.jsonl --language logic2text --slice action
  sensecheck faithful questions.jsonl --language sparql --labels graph.nt
  sensecheck faithful pairs.jsonl --schema tables.json --as blec
  sensecheck faithful new.jsonl --schema tables.json --fail-under consistent=0.9 --gate-on bound
"""


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck faithful",
        description="Does the sentence say what the query says, and nothing else?\n\n"
        "Reads pairs of a formal query and a sentence (columns query, sentence, and for SQL db_id) in JSONL, JSON,\n"
        "CSV, TSV or Parquet, plain or compressed with gzip or zstd. Every pair gets a verdict and, for every part of\n"
        "the query, which words of the sentence cover it, what is missing, what is contradicted and what is added.",
        epilog=_EXAMPLES,
    )
    made.add_argument("files", metavar="FILE", nargs="+", help="files or globs; - is standard input")
    reading = made.add_argument_group("reading")
    reading.add_argument(
        "--language", choices=list(LANGUAGES), default="sql", help="the language of the queries (default: sql)"
    )
    reading.add_argument(
        "--schema",
        metavar="FILE",
        action="append",
        default=[],
        help="SQL: Spider's tables.json, a SQLite file or folder of them, or CREATE TABLE in a .sql file (repeatable)",
    )
    reading.add_argument("--dialect", metavar="NAME", help="SQL: a dialect that sqlglot knows (default: by trying)")
    reading.add_argument(
        "--labels", metavar="FILE", help="SPARQL: a graph with rdfs:label, or a JSON map of IRIs to labels"
    )
    judging = made.add_argument_group("judging")
    judging.add_argument(
        "--lexicon", metavar="FILE", action="append", default=[], help="word lists of your own, as JSON (repeatable)"
    )
    judging.add_argument(
        "--threshold", type=float, metavar="P", help="how sure a finding must be to count, from 0 to 1 (default: 0.5)"
    )
    judging.add_argument(
        "--strict",
        action="store_true",
        help="count doubtful findings, and what people usually leave unsaid (threshold 0.25)",
    )
    add_common(made, parity=("blec",))
    original = made.add_argument_group("with --as blec")
    original.add_argument("--template", metavar="FILE", help="the original's template file (slots of every query)")
    original.add_argument("--translate", action="store_true", help="the template's translated queries")
    return made


def run(args: argparse.Namespace) -> int:
    files = args.files[0] if len(args.files) == 1 else args.files
    schema = args.schema[0] if len(args.schema) == 1 else args.schema or None
    with progress("reading and checking", "pairs") as advance:
        result = evaluate(
            files,
            language=args.language,
            schema=schema,
            dialect=args.dialect,
            labels=args.labels,
            lexicon=args.lexicon,
            threshold=args.threshold,
            strict=args.strict,
            parity=args.parity,
            template=args.template,
            translate=args.translate,
            weight=args.weight,
            cluster=args.cluster,
            progress=advance,
            **every_question(args),
        )
    return finish(result, args)
