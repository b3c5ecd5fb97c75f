"""`sensecheck robust FILE …` and the steps on their own: fetch, generate, accuracy, break, audit, table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from sensecheck.cli.options import Parser, add_common, every_question, finish, positive
from sensecheck.cli.progress import progress

_EXAMPLES = """
examples:
  sensecheck robust pairs.jsonl --out run/
  sensecheck robust pairs.jsonl --model roberta-large-mnli --generator google/flan-t5-xl --out run/
  sensecheck robust pairs.csv --model http://localhost:8000/v1#qwen3 --generator rules --slice label
  sensecheck robust pairs.jsonl --model table:predictions.csv --generator file:statements.csv
  sensecheck robust pairs.jsonl --as breaknli

steps on their own (the original's commands beside them):
  sensecheck robust fetch mnli                       get_dataset.py -n mnli
  sensecheck robust generate pairs.jsonl -o s.csv    gen_statements_flant5.py -n mnli -s 10
  sensecheck robust accuracy pairs.jsonl             evaluate_nli.py -n mnli -nm ...
  sensecheck robust break pairs.jsonl                evaluation.py -nm ... -p True
  sensecheck robust audit run/ -o sheet.csv          (the original has no such step)
  sensecheck robust table run-a/ run-b/              its table of results, one column a model
"""
STEPS = ("fetch", "generate", "accuracy", "break", "audit", "table")


class _Steps(Parser):
    """A first word that names a step chooses that step's own options."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        given = list(sys.argv[1:] if args is None else args)
        step = given[0] if given and given[0] in STEPS else ""
        chosen = {"fetch": _fetch, "generate": _generate, "accuracy": _accuracy, "audit": _audit, "table": _table}.get(
            step
        )
        if chosen is not None:
            found = chosen().parse_args(given[1:])
        else:
            found = super().parse_args(given[1:] if step == "break" else given, namespace)
        found.step = step
        return found


def parser() -> argparse.ArgumentParser:
    made = _Steps(
        prog="sensecheck robust",
        description="Does the NLI model obey the logic of its own labels?\n\n"
        "Reads pairs (premise, hypothesis, label) from JSONL, CSV, TSV or Parquet, makes statements that follow\n"
        "from or contradict each hypothesis, keeps those the model itself confirms, and checks its labels for\n"
        "(premise, statement).",
        epilog=_EXAMPLES,
    )
    made.add_argument("files", metavar="FILE", nargs="+", help="files or globs of pairs; - is standard input")
    _systems(made)
    how = made.add_argument_group("how statements are judged")
    how.add_argument(
        "--polarity",
        choices=("both", "positive", "negative"),
        default="both",
        help="statements that follow (positive), contradict (negative), or both (default: both)",
    )
    how.add_argument(
        "--directions", type=int, choices=(1, 2), default=2, help="confirm (h, g) alone, or (g, h) too (default: 2)"
    )
    how.add_argument("--keep", type=positive, default=5, metavar="K", help="statements judged a pair (default: 5)")
    how.add_argument(
        "--candidates", type=positive, default=14, metavar="N", help="statements a generator call (default: 14)"
    )
    how.add_argument(
        "--no-regenerate", action="store_true", help="do not ask again for pairs that are short of statements"
    )
    how.add_argument("--all-pairs", action="store_true", help="judge also pairs that the model gets wrong")
    how.add_argument("--cosine", action="store_true", help="also compare embeddings of hypothesis and statement")
    add_common(made, parity=("breaknli", "breaknli-april"), weighted=False)
    return made


def _systems(made: argparse.ArgumentParser, model: bool = True, generator: bool = True) -> None:
    who = made.add_argument_group("models")
    if model:
        who.add_argument(
            "--model",
            default="small",
            metavar="M",
            help="the model under test: small (ships with sensecheck), a Hugging Face name or folder, "
            "URL#name of an OpenAI-compatible endpoint, table:FILE, py:module:function (default: small)",
        )
        who.add_argument(
            "--label-order", metavar="A,B,C", help="the model's classes in order, when their names do not say"
        )
        who.add_argument("--no-label-check", action="store_true", help="skip the six sanity pairs for the label order")
    if generator:
        who.add_argument(
            "--generator",
            default="rules",
            metavar="G",
            help="what makes statements: rules, a Hugging Face name or folder, URL#name, file:FILE, "
            "py:module:function (default: rules)",
        )
        who.add_argument("--wordnet", action="store_true", help="widen the rules by the WordNet of this machine")
    who.add_argument("--cache", metavar="FILE", help="keep every model call here (default: calls.sqlite in --out)")
    who.add_argument("--device", help="cpu, cuda, cuda:1 … (default: a GPU if there is one)")
    who.add_argument("--dtype", help="bfloat16, float16 or float32 (default: bfloat16 on a GPU)")
    who.add_argument(
        "--revision",
        metavar="REV",
        help=f"of the {'model' if model else 'generator'}: a commit or branch at the hub; for a URL, what tells apart "
        "models of one name",
    )
    if model and generator:
        who.add_argument("--generator-revision", metavar="REV", help="the same of the generator")
    who.add_argument("--offline", action="store_true", help="use only what is on this machine")
    who.add_argument("--prompt", metavar="TEXT", help="for language models: holds <premise> and <hypothesis>")
    who.add_argument("--model-name", metavar="NAME", help="the model's name at a URL")
    who.add_argument(
        "--key-variable",
        default="OPENAI_API_KEY",
        metavar="NAME",
        help="environment variable with the endpoint's key (default: OPENAI_API_KEY)",
    )
    who.add_argument("--concurrency", type=positive, default=8, metavar="N", help="calls at once to a URL (default: 8)")
    who.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for one call (default: 60)")
    who.add_argument("--tries", type=positive, default=8, metavar="N", help="tries of one call (default: 8)")
    who.add_argument(
        "--max-tokens",
        type=positive,
        metavar="N",
        help="longest answer of a language model (default: of a URL 64, lists 1024; of a folder 40)",
    )
    who.add_argument("--per-minute", type=float, metavar="N", help="at most N calls a minute to a URL")


def _access(args: argparse.Namespace) -> Any:
    from sensecheck.robust.systems import Access

    order = getattr(args, "label_order", None)
    return Access(
        device=args.device,
        dtype=args.dtype,
        revision=args.revision,
        # A step that has no model of its own means the generator.
        generator_revision=getattr(args, "generator_revision", args.revision),
        offline=args.offline,
        prompt=args.prompt,
        label_names=order.split(",") if order else None,
        model_name=args.model_name,
        key_variable=args.key_variable,
        concurrency=args.concurrency,
        timeout=args.timeout,
        tries=args.tries,
        per_minute=args.per_minute,
        max_tokens=args.max_tokens,
    )


def _files(args: argparse.Namespace) -> Any:
    return args.files[0] if len(args.files) == 1 else args.files


def _count(args: argparse.Namespace) -> int | None:
    """How many pairs there are, for the time that is left; asked only where somebody watches."""
    if not sys.stderr.isatty() or "-" in args.files or args.parity:
        return None
    from sensecheck.inputs.tables import TableReader

    try:
        return sum(len(batch.frame) for batch in TableReader(_files(args), limit=args.limit, skip_bad=True))
    except ValueError:
        return None  # the run itself says what is wrong


def run(args: argparse.Namespace) -> int:
    steps = {
        "fetch": _run_fetch,
        "generate": _run_generate,
        "accuracy": _run_accuracy,
        "audit": _run_audit,
        "table": _run_table,
    }
    if args.step in steps:
        return steps[args.step](args)
    from sensecheck.robust import evaluate

    with progress("asking and judging", "pairs", _count(args)) as advance:
        result = evaluate(
            _files(args),
            model=args.model,
            generator=args.generator,
            polarity=args.polarity,
            directions=args.directions,
            keep=args.keep,
            candidates=args.candidates,
            regenerate=not args.no_regenerate,
            only_correct=not args.all_pairs,
            cosine=args.cosine,
            wordnet=args.wordnet,
            seed=args.seed,
            access=_access(args),
            cache=args.cache,
            parity=args.parity,
            check_labels=not args.no_label_check,
            progress=advance,
            **every_question(args),
        )
    return finish(result, args)


# ---- the steps on their own -------------------------------------------------------------------------------------


def _fetch() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck robust fetch", description="Fetch a data set through Hugging Face datasets, as JSONL."
    )
    made.add_argument("name", choices=("mnli", "snli", "anli", "qnli"), help="the data set")
    made.add_argument("-o", "--output", metavar="FILE", help="where to write (default: NAME_SPLIT.jsonl)")
    made.add_argument("--split", default="validation", help="train, validation or test (default: validation)")
    made.add_argument("--round", choices=("r1", "r2", "r3"), help="anli: one round alone")
    return made


def _run_fetch(args: argparse.Namespace) -> int:
    from sensecheck.robust.fetching import fetch

    target = args.output or f"{args.name}{'_' + args.round if args.round else ''}_{args.split}.jsonl"
    count = fetch(args.name, target, args.split, args.round)
    sys.stdout.write(f"  {count:,} pairs: {target}\n")
    return 0


def _generate() -> argparse.ArgumentParser:
    made = Parser(prog="sensecheck robust generate", description="Make statements for every hypothesis, as CSV.")
    made.add_argument("files", metavar="FILE", nargs="+", help="files of pairs")
    made.add_argument("-o", "--output", required=True, metavar="FILE", help="CSV: hypothesis, polarity, statement")
    made.add_argument(
        "-s", "--size", type=positive, default=10, metavar="N", help="statements a hypothesis (default: 10)"
    )
    made.add_argument("--limit", type=positive, metavar="N", help="only the first N pairs")
    _systems(made, model=False)
    return made


def _run_generate(args: argparse.Namespace) -> int:
    import polars as pl

    from sensecheck.models import generators
    from sensecheck.models.calls import CallCache
    from sensecheck.models.generators import Request
    from sensecheck.robust import pairs_of
    from sensecheck.robust.statements import distinct, standardise
    from sensecheck.robust.systems import faults_told, generator

    hypotheses = list(dict.fromkeys(standardise(pair.hypothesis) for pair in pairs_of(_files(args), limit=args.limit)))
    with (
        CallCache(args.cache) as cache,
        faults_told(cache, ""),
        progress("generating", "calls", 2 * len(hypotheses)) as advance,
    ):
        asked = generators.Asked(generator(args.generator, _access(args), args.wordnet), cache)
        requests = [Request(h, follows, 2 * args.size) for h in hypotheses for follows in (True, False)]
        answers = asked.statements(requests, advance)
    rows = [
        {"hypothesis": r.text, "polarity": "positive" if r.positive else "negative", "statement": text}
        for r, texts in zip(requests, answers, strict=True)
        for text in distinct(texts or [], r.text)[: args.size]
    ]
    pl.DataFrame(rows, schema=dict.fromkeys(("hypothesis", "polarity", "statement"), pl.String)).write_csv(args.output)
    sys.stdout.write(f"  {len(rows):,} statements for {len(hypotheses):,} hypotheses: {args.output}\n")
    return 0


def _accuracy() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck robust accuracy", description="How often the model gives the pair the label people gave it."
    )
    made.add_argument("files", metavar="FILE", nargs="+", help="files of pairs")
    made.add_argument("--limit", type=positive, metavar="N", help="only the first N pairs")
    _systems(made, generator=False)
    return made


def _run_accuracy(args: argparse.Namespace) -> int:
    from sensecheck.models import classifiers
    from sensecheck.models.calls import CallCache
    from sensecheck.robust import pairs_of
    from sensecheck.robust.measure import wilson
    from sensecheck.robust.statements import standardise
    from sensecheck.robust.systems import classifier, faults_told

    pairs = pairs_of(_files(args), limit=args.limit)
    gold = [pair for pair in pairs if pair.gold is not None]
    with (
        CallCache(args.cache) as cache,
        faults_told(cache, ""),
        progress("asking", "pairs", len(gold)) as advance,
    ):
        asked = classifiers.Asked(classifier(args.model, _access(args)), cache)
        answers = asked.answers([(standardise(p.premise), standardise(p.hypothesis)) for p in gold], advance)
    answered = [(p, a) for p, a in zip(gold, answers, strict=True) if a.label is not None]
    right = sum(p.is_right(a.label) for p, a in answered)
    low, high = wilson(right, len(answered))
    sys.stdout.write(
        f"accuracy {right / len(answered) if answered else float('nan'):.4f}  95% [{low:.4f}, {high:.4f}]  "
        f"({right:,} of {len(answered):,} pairs; {len(pairs) - len(gold):,} without gold, "
        f"{len(gold) - len(answered):,} without an answer)\n"
    )
    return 0


def _audit() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck robust audit",
        description="Write a sheet of judged statements to check by hand, or read one back and print the rates.",
    )
    made.add_argument("run", metavar="RUN", help="a run directory")
    made.add_argument("-o", "--output", metavar="FILE", help="write the sheet here (CSV)")
    made.add_argument("-n", type=positive, default=100, metavar="N", help="statements on the sheet (default: 100)")
    made.add_argument("--seed", type=int, default=12345, metavar="N", help="of the sample (default: 12345)")
    made.add_argument("--read", metavar="FILE", help="read a filled sheet back")
    return made


def _run_audit(args: argparse.Namespace) -> int:
    from sensecheck.report.result import load
    from sensecheck.robust.audit import read_back, write_sheet

    if bool(args.output) == bool(args.read):
        raise ValueError("give either -o FILE (write a sheet) or --read FILE (read a filled one)")
    result = load(args.run)
    if args.output:
        count = write_sheet(result, args.output, args.n, args.seed)
        sys.stdout.write(f"  {count:,} statements to check: {args.output}\n")
        return 0
    found = read_back(result, args.read)

    def percent(value: float | None) -> str:
        return "–" if value is None else f"{value:.1%}"

    sys.stdout.write(
        f"checked {found['checked']:,} statements, {percent(found['valid'])} of them fair\n"
        f"violations per statement: {percent(found['violation_before'])} before, "
        f"{percent(found['violation_after'])} after the corrections\n"
    )
    return 0


def _table() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck robust table", description="Several runs side by side, in the form of the published table."
    )
    made.add_argument("runs", metavar="RUN", nargs="+", help="run directories, one a model")
    made.add_argument("--data-set", default="", metavar="NAME", help="what to call the pairs in the first column")
    made.add_argument("--format", choices=("table", "markdown", "latex"), default="table", help="(default: table)")
    return made


def _run_table(args: argparse.Namespace) -> int:
    from sensecheck.report.result import load
    from sensecheck.robust.tables import model_table

    table = model_table([load(run) for run in args.runs], args.data_set)
    if args.format == "table":
        table.print(sys.stdout)
    else:
        sys.stdout.write((table.markdown() if args.format == "markdown" else table.latex()) + "\n")
    return 0
