"""`sensecheck compare A B [C …]`: run directories, or files that are measured on the spot."""

from __future__ import annotations

import argparse
import glob
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from sensecheck import instruments
from sensecheck.cli.options import FORMATS, Parser, pair, positive
from sensecheck.cli.progress import Progress, add_progress, progress
from sensecheck.inputs.addresses import Fetching, faults_told, is_address
from sensecheck.inputs.formats.registry import folder_format
from sensecheck.inputs.hugging_face import saved_files
from sensecheck.report.comparison import Comparison, Comparisons, compare
from sensecheck.report.escaping import visible
from sensecheck.report.examples import outcome_words
from sensecheck.report.result import Result, load
from sensecheck.report.tables import decimal
from sensecheck.runs.directory import RunDirectory, damage_told
from sensecheck.stages import REPORT, stage

_EXAMPLES = """
examples:
  sensecheck compare runs/A runs/B
  sensecheck compare runs/A runs/B runs/C --report comparison.html
  sensecheck compare runs/A runs/B --human labels_a.jsonl --human labels_b.jsonl
  sensecheck compare runs/A runs/B --format latex > table.tex
  sensecheck compare a.eval b.eval --scorer match --slice topic
  sensecheck compare results.json results.json --filter gpt-4o --filter llama-3
"""
_DEFAULT_QUESTION = "calibrated"
# Of files alone: what each of them is read with.
_OF_FILES = ("question", "scorer", "filter", "slices", "columns", "gold", "on", "input_format", "skip_bad")
_OF_EACH = ("filter", "scorer")


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck compare",
        description="Runs of the same question on the same input: the first against each of the others, with paired\n"
        "intervals and p-values over the rows scored in both, and the examples that changed. A file in the place of a\n"
        "run (a log of an evaluation host, replies of a server, a table of confidence and correct) is measured first.",
        epilog=_EXAMPLES,
    )
    command.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="run directories, files or folders that are one input; the others are compared with the first",
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
    command.add_argument(
        "--human",
        metavar="FILE",
        action="append",
        help="labels of people (`sensecheck label`) by which the share of right rows is corrected in every run; each "
        "label says of which run it is (repeatable)",
    )
    _add_reading(command.heading("where files are measured"))
    add_progress(command.heading("output"))
    return command


def _add_reading(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--question",
        metavar="NAME",
        help=f"which question they answer (default: that of the run directories, else {_DEFAULT_QUESTION})",
    )
    group.add_argument(
        "--scorer",
        metavar="NAME",
        action="append",
        help="of logs with several verdicts on each answer: this one; given several times, one for each file",
    )
    group.add_argument(
        "--filter",
        metavar="NAME",
        action="append",
        help="of logs whose answers are of several kinds (filters, providers): this one; given several times, one "
        "for each file",
    )
    group.add_argument(
        "--slice", dest="slices", metavar="COLUMN", action="append", help="tell changes apart by a column (repeatable)"
    )
    group.add_argument(
        "--columns", metavar="NAME=COLUMN", action="append", help="read NAME from the column COLUMN (repeatable)"
    )
    group.add_argument("--gold", metavar="FILE", help="golds of all of them that stand in another file")
    group.add_argument("--on", metavar="KEY", help="the field by which --gold is joined")
    group.add_argument("--input-format", metavar="NAME", help="the files' format (default: recognised by content)")
    group.add_argument(
        "--skip-bad", action="store_true", default=None, help="count bad records as unscored instead of stopping"
    )


def run(args: argparse.Namespace) -> int:
    if len(args.runs) < 2:
        raise ValueError(f"compare takes at least two run directories or files, got {len(args.runs)}")
    with Fetching() as fetch, faults_told():
        args.runs = [_one(fetch(path), path) for path in args.runs]
        args.human = fetch(args.human)
        return _run(args)


def _one(fetched: Any, named: str) -> str:
    """A run or file as it lies here; of several files no one is known to be the input."""
    if isinstance(fetched, list) or (is_address(named) and glob.has_magic(fetched)):
        raise ValueError(f"{named} stands for several files; compare takes runs and single files")
    return str(fetched)


def _run(args: argparse.Namespace) -> int:
    files = [path for path in args.runs if _is_measured_here(Path(path))]
    runs = {path: load(path) for path in args.runs if path not in files}
    if not files:
        idle = next((name for name in _OF_FILES if getattr(args, name) is not None), None)
        if idle is not None:
            flag = {"slices": "slice"}.get(idle, idle).replace("_", "-")
            raise ValueError(f"--{flag} says how files are measured: run directories are measured already")
    with progress(args) as told_progress, damage_told(*map(Path, runs)):
        measured = _measured(files, runs, args, told_progress)
        results = [runs[path] if path in runs else measured.pop(0) for path in args.runs]
        results = _with_values(results) if files else results
        if len(set(args.scorer or ())) > 1:
            results = _under_named_scorers(results)
            told = ", ".join(f"{result.name}: {result.signature.method.get('scorer')}" for result in results)
            out = sys.stdout if args.format == "table" else sys.stderr
            with told_progress.aside():
                out.write(f"  verdicts of several scorers, as asked ({visible(told)})\n")
                out.flush()
        return _compared(results, args, told_progress)


# ---- files in the place of runs


def _is_measured_here(place: Path) -> bool:
    """Whether this is a file, or a folder that is one input, and no run."""
    if not place.is_dir():
        return place.is_file()
    return not RunDirectory(place).is_run() and (folder_format(place) is not None or saved_files(place) is not None)


def _measured(
    files: Sequence[str], runs: Mapping[str, Result], args: argparse.Namespace, progress: Progress
) -> list[Result]:
    """Each file, measured as the others are."""
    if not files:
        return []
    answered = next((result.question.name for result in runs.values()), None)
    asked = args.question or answered or _DEFAULT_QUESTION
    if answered not in (None, asked):
        raise ValueError(f"the run directories answer {answered}, and --question asks for {asked}")
    room: Any = instruments.room(asked)
    shared: dict[str, Any] = {name: getattr(args, name) for name in _OF_FILES if name not in ("question", *_OF_EACH)}
    if args.columns:
        shared["columns"] = dict(pair(text, "--columns", "NAME=COLUMN") for text in args.columns)
    shared = {name: value for name, value in shared.items() if value is not None}
    each = {name: _for_each(name, getattr(args, name), len(files)) for name in _OF_EACH}
    results = []
    for at, path in enumerate(files):
        own = {name: given[at] for name, given in each.items() if given}
        # One file under several names: what it is read by tells its results apart.
        told = [given[at] for given in each.values() if len(set(given)) > 1]
        if told and files.count(path) > 1:
            own["system"] = " ".join(told)
        progress.label = Path(path).name if len(files) > 1 else ""
        result: Result = room.evaluate(path, **shared, **own)
        if nothing := result.nothing_scored():
            raise ValueError(f"{path}: {nothing}")
        results.append(result)
    progress.label = ""
    return results


def _for_each(name: str, given: list[str] | None, files: int) -> list[str]:
    """What is said once for all files, or once for each; empty where nothing is said."""
    if given is None:
        return []
    if len(given) not in (1, files):
        counted = f"{files} file{'s' if files > 1 else ''}"
        raise ValueError(f"--{name} is given once, or once for each file: got {len(given)} for {counted}")
    return given * files if len(given) == 1 else given


def _under_named_scorers(results: Sequence[Result]) -> list[Result]:
    """Comparable although their verdicts are those of several scorers: each was named for its file."""
    first = results[0].question
    if any(result.question.name != first.name for result in results):
        return list(results)
    asked = replace(first, ignored_in_comparison=first.ignored_in_comparison | {"scorer"})
    return [replace(result, question=asked) for result in results]


def _with_values(results: Sequence[Result]) -> list[Result]:
    """Without figures that have a value in none of them: most logs of hosts hold verdicts and no confidences."""
    first = results[0].question
    known = {figure.name for result in results for figure in result.figures if figure.n}
    if any(result.question.name != first.name for result in results) or not known.intersection(first.headline):
        return list(results)
    asked = replace(
        first,
        headline=tuple(name for name in first.headline if name in known),
        statistics=lambda method: [one for one in first.statistics(method) if one.name in known],
    )
    return [replace(result, question=asked) for result in results]


def _compared(results: Sequence[Result], args: argparse.Namespace, progress: Progress) -> int:
    options = None
    if args.seed is not None or args.resamples is not None:
        first = results[0].options
        options = replace(
            first,
            seed=first.seed if args.seed is None else args.seed,
            replicates=first.replicates if args.resamples is None else args.resamples,
        )
    comparisons = compare(results, options=options, human=args.human)
    with progress.aside():
        _print(comparisons, args)
        sys.stdout.flush()
    if args.report:
        with stage(REPORT, unit=""):
            target = comparisons.to_html(args.report)
        progress.stop()
        (sys.stdout if args.format == "table" else sys.stderr).write(f"  report: {target}\n")
    return 0


def _print(comparisons: Comparisons, args: argparse.Namespace) -> None:
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
        for two in comparisons.pairs:
            _changed(two, args.flips)


def _changed(two: Comparison, most: int) -> None:
    if two.flips is None or not len(two.flips):
        return
    a, b = (visible(name) for name in two.names)
    sys.stdout.write(f"\n  changed between {a} and {b} ({min(most, len(two.flips)):,} of {len(two.flips):,}):\n")
    no, yes = outcome_words(two.a.question)
    for row in two.flips.head(most).iter_rows(named=True):
        was, now = ((yes if v else no) if isinstance(v, bool) else decimal(v) for v in (row["a"], row["b"]))
        sys.stdout.write(f"    {visible(str(row['id']), 60)}: {a} {was}, {b} {now}\n")
