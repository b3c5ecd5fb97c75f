"""`sensecheck run evaluation.toml`."""

from __future__ import annotations

import argparse
import sys

from sensecheck.cli.options import Parser
from sensecheck.cli.progress import add_progress, progress
from sensecheck.evaluation import EvaluationError, read
from sensecheck.evaluation import run as carry_out
from sensecheck.evaluation.file import Evaluation
from sensecheck.evaluation.running import Done
from sensecheck.inputs.errors import did_you_mean
from sensecheck.report.escaping import visible
from sensecheck.report.overview import glance

_EXAMPLES = """
examples:
  sensecheck init                      write a commented evaluation.toml
  sensecheck run evaluation.toml       measure what changed, compare, write runs/index.html
  sensecheck run evaluation.toml --dry-run
"""


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck run",
        description="Run an evaluation file (TOML, or YAML with the extra `yaml`): systems × questions × data.\n"
        "Measures only what changed since the last time; writes runs, reports, comparisons and an overview page.",
        epilog=_EXAMPLES,
    )
    command.add_argument("file", metavar="FILE", help="the evaluation file; paths in it are relative to its folder")
    command.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="measure only this entry (repeatable)"
    )
    command.add_argument("--force", action="store_true", help="measure everything again")
    command.add_argument(
        "--dry-run", action="store_true", help="check the file, and that its data exist; say what would be measured"
    )
    add_progress(command.heading("output"))
    return command


def run(args: argparse.Namespace) -> int:
    try:
        evaluation = read(args.file)
    except EvaluationError as error:
        for problem in error.problems:
            sys.stderr.write(f"sensecheck: error: {visible(str(problem))}\n")
        return 2
    names = [e.name for e in evaluation.entries]
    for name in args.only:
        if name not in names:
            hint = did_you_mean(name, names) or f"Choose from: {', '.join(names)}."
            raise ValueError(f"--only: {args.file} has no entry {name!r}. {hint}")
    with progress(args) as told:

        def say(words: str) -> None:
            with told.aside():
                print(f"  {visible(words)}", flush=True)

        def begin(label: str) -> None:
            told.label = label

        done = carry_out(evaluation, only=tuple(args.only), force=args.force, dry=args.dry_run, say=say, begin=begin)
        told.stop()
        return _finish(evaluation, done, args)


def _finish(evaluation: Evaluation, done: Done, args: argparse.Namespace) -> int:
    if not args.dry_run:
        sys.stdout.write("\n")
        glance(evaluation.systems, done.rows).print()
        for row in done.rows:
            if row.comparison is not None and row.comparison.verdict():
                sys.stdout.write(f"  {visible(row.name)}: {visible(row.comparison.verdict()[0])}\n")
            if row.note:
                sys.stdout.write(f"  {visible(row.name)}: {visible(row.note)}\n")
        sys.stdout.write(f"  overview: {done.index}\n")
    sys.stdout.flush()
    for words in done.failed.values():
        sys.stderr.write(f"sensecheck: error: {visible(words)}\n")
    for label, words in done.stopped.items():
        sys.stderr.write(f"sensecheck: stopped: {visible(label)}: {visible(words)} (run again to continue)\n")
    for words in [] if args.dry_run else done.gates:
        sys.stderr.write(f"sensecheck: gate failed: {visible(words)}\n")
    if done.failed:
        return 2
    if done.stopped:
        return 3
    return 1 if done.gates and not args.dry_run else 0
