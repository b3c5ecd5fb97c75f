"""`sensecheck robust FILE …` and the steps on their own: fetch, generate, accuracy, break, audit, table."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sensecheck import robust
from sensecheck.cli import question
from sensecheck.cli.options import Parser, add_parameters, positive, values
from sensecheck.cli.progress import add_progress, progress
from sensecheck.options import parameters
from sensecheck.report.escaping import visible
from sensecheck.stages import MEASURING, stage

if TYPE_CHECKING:
    from sensecheck.report.asking import EveryQuestion

_STEPS = """
steps on their own (the original's commands beside them):
  sensecheck robust fetch mnli                       get_dataset.py -n mnli
  sensecheck robust generate pairs.jsonl -o s.csv    gen_statements_flant5.py -n mnli -s 10
  sensecheck robust accuracy pairs.jsonl             evaluate_nli.py -n mnli -nm ...
  sensecheck robust break pairs.jsonl                evaluation.py -nm ... -p True
  sensecheck robust audit run/ -o sheet.csv          (the original has no such step)
  sensecheck robust table run-a/ run-b/              its table of results, one column per model
"""


class _Steps(Parser):
    """A first word that names a step chooses that step's own options."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        given = list(sys.argv[1:] if args is None else args)
        step = given[0] if given else ""
        if step in STEPS:
            parsed = STEPS[step][0]().parse_args(given[1:])
        else:
            parsed = super().parse_args(given[1:] if step == "break" else given, namespace)
        parsed.step = step
        return parsed


def parser() -> argparse.ArgumentParser:
    command = question.parser("robust", kind=_Steps)
    command.epilog = f"{command.epilog}{_STEPS}"
    return command


def run(args: argparse.Namespace) -> int:
    if args.step in STEPS:
        return STEPS[args.step][1](args)
    if not getattr(args, "dry_run", False):
        return question.run(args)
    from sensecheck.robust.ahead import DryRun

    try:
        return question.run(args)
    except DryRun as counted:
        sys.stdout.write(f"  {counted}\n")
        return 0


# ---- the steps on their own -------------------------------------------------------------------------------------


def _add(command: Parser, *names: str, without: Sequence[str] = ()) -> None:
    """Options of the whole, under their names in Python, that a step has as well."""
    others = set(parameters(robust.evaluate)) - set(names)
    add_parameters(command, robust.evaluate, without=[*others, *without])


def _fetch() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck robust fetch", description="Fetch a data set through Hugging Face datasets, as JSONL."
    )
    command.add_argument("name", choices=("mnli", "snli", "anli", "qnli"), help="the data set")
    command.add_argument("-o", "--output", metavar="FILE", help="where to write (default: NAME_SPLIT.jsonl)")
    command.add_argument("--split", default="validation", help="train, validation or test (default: validation)")
    command.add_argument("--round", choices=("r1", "r2", "r3"), help="anli: only this round")
    return command


def _run_fetch(args: argparse.Namespace) -> int:
    from sensecheck.robust.fetching import fetch

    target = args.output or f"{args.name}{'_' + args.round if args.round else ''}_{args.split}.jsonl"
    count = fetch(args.name, target, args.split, args.round)
    sys.stdout.write(f"  {count:,} pairs: {target}\n")
    return 0


def _generate() -> argparse.ArgumentParser:
    command = Parser(prog="sensecheck robust generate", description="Make statements for every hypothesis, as CSV.")
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="CSV: hypothesis, polarity, statement, rule"
    )
    command.add_argument(
        "-s", "--size", type=positive, default=10, metavar="N", help="statements per hypothesis (default: 10)"
    )
    unused = ["access.label_names", "access.generator_revision"]
    _add(command, "data", *_OF_PAIRS, "generator", "wordnet", "cache", "access", without=unused)
    add_progress(command.heading("output"))
    return command


_OF_PAIRS = ("limit", "columns", "skip_bad")
"""What says how pairs are read."""


def _pairs_read(given: Mapping[str, Any]) -> EveryQuestion:
    return cast("EveryQuestion", {name: given[name] for name in _OF_PAIRS if name in given})


def _generator(given: Mapping[str, Any]) -> Any:
    from sensecheck.robust.systems import RULES, Access, generator

    access = given.get("access", Access())
    # There is no other model here: a revision is the generator's.
    access = replace(access, generator_revision=access.revision)
    return generator(given.get("generator", RULES), access, given.get("wordnet", False))


def _run_generate(args: argparse.Namespace) -> int:
    from sensecheck.inputs.formulas import marked_csv
    from sensecheck.robust.records import pairs_of
    from sensecheck.robust.statements import standardise
    from sensecheck.robust.steps import generate
    from sensecheck.runs.writing import write_named

    given = values(args, robust.evaluate)
    with progress(args, "generating", "calls"):
        pairs = pairs_of(given["data"], **_pairs_read(given))
        hypotheses = list(dict.fromkeys(standardise(pair.hypothesis) for pair in pairs))
        generator = _generator(given)
        with stage(MEASURING, 2 * len(hypotheses), "calls") as advance:
            statements = generate(hypotheses, args.size, generator, given.get("cache"), advance)
    write_named(args.output, marked_csv(statements))
    sys.stdout.write(f"  {len(statements):,} statements for {len(hypotheses):,} hypotheses: {args.output}\n")
    made = set(statements["hypothesis"])
    if none := [hypothesis for hypothesis in hypotheses if hypothesis not in made]:
        sys.stdout.write(f"  none for {len(none):,} of them{_why_none(generator, none)}\n")
    return 0


def _why_none(generator: Any, hypotheses: Sequence[str]) -> str:
    """Why there are no statements, as far as the generator tells."""
    tells = getattr(generator, "why_none", None)
    reasons: Counter[str | None] = Counter(map(tells, hypotheses) if callable(tells) else ())
    told = [f"{reason} ({count:,})" for reason, count in reasons.most_common() if reason is not None]
    return f": {'; '.join(told)}" if told else ""


def _accuracy() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck robust accuracy", description="How often the model gives a pair the label that people gave it."
    )
    taken = ("data", *_OF_PAIRS, "model", "check_labels", "label_names", "cache", "access")
    _add(command, *taken, without=["access.generator_revision"])
    add_progress(command.heading("output"))
    return command


def _run_accuracy(args: argparse.Namespace) -> int:
    from sensecheck.report.asking import asked
    from sensecheck.robust.answers import unreadable_told
    from sensecheck.robust.records import Pairs
    from sensecheck.robust.steps import accuracy
    from sensecheck.robust.systems import SMALL, classifier

    given = values(args, robust.evaluate)
    with progress(args, "asking", "pairs"):
        source = Pairs(given["data"], asked(_pairs_read(given)), given.get("label_names"))
        pairs = list(source)
        gold = [pair for pair in pairs if pair.gold is not None]
        model = classifier(given.get("model", SMALL), given.get("access"))
        with stage(MEASURING, len(gold), "pairs") as advance:
            rate = accuracy(gold, model, given.get("cache"), advance)
    low, high = rate.interval
    sys.stdout.write(
        f"accuracy {rate.value:.4f}  95% [{low:.4f}, {high:.4f}]  ({rate.right:,} of {rate.answered:,} pairs; "
        f"{len(pairs) - len(gold):,} without gold, {rate.unanswered:,} without an answer)\n"
    )
    if told := unreadable_told({"answers": len(gold), "unreadable": rate.unread}):
        sys.stdout.write(f"  warning: {told}\n")
    for note in (*rate.cost, *source.label_notes()):
        sys.stdout.write(f"  {visible(note)}\n")
    if not rate.answered:
        why = f"{len(pairs) - len(gold):,} pairs have no gold label, {rate.unanswered:,} got no answer"
        raise ValueError(f"Nothing could be scored: {why}. Are the file and the options the right ones?")
    return 0


def _audit() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck robust audit",
        description="Write a sheet of judged statements to check by hand, or read one back and print the rates.",
    )
    command.add_argument("run", metavar="RUN", help="a run directory")
    command.add_argument("-o", "--output", metavar="FILE", help="write the sheet here (CSV)")
    command.add_argument("-n", type=positive, default=100, metavar="N", help="statements on the sheet (default: 100)")
    command.add_argument("--seed", type=int, default=12345, metavar="N", help="seed of the sample (default: 12345)")
    command.add_argument("--read", metavar="FILE", help="read a filled sheet back")
    return command


def _run_audit(args: argparse.Namespace) -> int:
    from sensecheck.report.result import load
    from sensecheck.robust.audit import read_back, write_sheet
    from sensecheck.runs.directory import damage_told

    if bool(args.output) == bool(args.read):
        raise ValueError("give either -o FILE (write a sheet) or --read FILE (read a filled one)")
    result = load(args.run)
    with damage_told(Path(args.run)):
        if args.output:
            count = write_sheet(result, args.output, args.n, args.seed)
            sys.stdout.write(f"  {count:,} statements to check: {args.output}\n")
            return 0
        rates = read_back(result, args.read)

    def percent(value: float | None) -> str:
        return "–" if value is None else f"{value:.1%}"

    sys.stdout.write(
        f"checked {rates['checked']:,} statements, {percent(rates['valid'])} of them valid\n"
        f"violations per statement: {percent(rates['violation_before'])} before, "
        f"{percent(rates['violation_after'])} after the corrections\n"
    )
    by_rule = rates["sound_by_rule"]
    for rule in (
        sorted(by_rule, key=lambda name: (-by_rule[name]["checked"], name)) if set(by_rule) - {"unknown"} else ()
    ):
        found = by_rule[rule]
        low, high = found["interval"]
        sys.stdout.write(
            f"  {visible(rule)}: {found['sound']:,} of {found['checked']:,} valid, 95% [{low:.3f}, {high:.3f}]\n"
        )
    return 0


def _table() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck robust table", description="Several runs side by side, in the form of the published table."
    )
    command.add_argument("runs", metavar="RUN", nargs="+", help="run directories, one per model")
    command.add_argument("--data-set", default="", metavar="NAME", help="what to call the pairs in the first column")
    command.add_argument("--format", choices=("table", "markdown", "latex"), default="table", help="(default: table)")
    return command


def _run_table(args: argparse.Namespace) -> int:
    from sensecheck.report.result import load
    from sensecheck.robust.tables import model_table
    from sensecheck.runs.directory import damage_told

    results = [load(run) for run in args.runs]
    with damage_told(*map(Path, args.runs)):
        table = model_table(results, args.data_set)
    if args.format == "table":
        table.print(sys.stdout)
    else:
        sys.stdout.write((table.markdown() if args.format == "markdown" else table.latex()) + "\n")
    return 0


STEPS = {
    "fetch": (_fetch, _run_fetch),
    "generate": (_generate, _run_generate),
    "accuracy": (_accuracy, _run_accuracy),
    "audit": (_audit, _run_audit),
    "table": (_table, _run_table),
}
"""Step → its options, and what does it. `break` is the whole command."""
