"""`sensecheck calibrated FILE …`."""

from __future__ import annotations

import argparse

from sensecheck.calibrated import evaluate
from sensecheck.calibrated.figures import DEFAULT_BINS, DEFAULT_COVERAGES
from sensecheck.calibrated.measure import AGGREGATES
from sensecheck.calibrated.records import INPUT_FORMATS, SCALES
from sensecheck.cli.options import (
    Parser,
    Shared,
    add_common,
    check_targets,
    every_question,
    finish,
    positive,
    refuse_idle,
)
from sensecheck.cli.progress import progress

_EXAMPLES = """
examples:
  sensecheck calibrated dev.logits --slice question_type --out run/
  sensecheck calibrated answers.csv --columns confidence=prob --columns correct=is_right
  sensecheck calibrated dev.logits --level sequence --aggregate mean-logprob
  sensecheck calibrated dev.logits --as calibration_metric
  sensecheck calibrated new.csv --fail-over ece=0.05 --gate-on bound
"""


# What the original does not know, and what only the original knows.
_NOT_THE_ORIGINALS = (
    "scale", "level", "aggregate", "ignore_by", "token_kinds", "coverages", "slice", "skip_bad", "weight", "cluster",
    "ci", "ci_level", "resamples", "resume",
)  # fmt: skip
_ORIGINALS = ("binning", "weighted", "weight_key", "mended")


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck calibrated",
        description="Is the model's confidence the rate at which it is right?\n\n"
        "Reads .logits files of tokens (top_logits, top_logit_idxs, labels), answers with log-probabilities as\n"
        "OpenAI, vLLM and llama.cpp write them, and tables of (confidence, correct) in CSV, TSV, JSONL, JSON,\n"
        "Parquet or white-space text, plain or compressed with gzip or zstd. A confidence may be in words.",
        epilog=_EXAMPLES,
    )
    made.add_argument("files", metavar="FILE", nargs="+", help="files or globs; - is standard input")
    reading = made.add_argument_group("reading")
    reading.add_argument(
        "--input-format", choices=INPUT_FORMATS, default="auto", help="the files' format (default: by content)"
    )
    reading.add_argument(
        "--scale",
        choices=SCALES,
        default="auto",
        help="what the stored numbers are (default: by content; said in the signature)",
    )
    reading.add_argument(
        "--level",
        choices=("token", "sequence"),
        default="token",
        help=".logits: figures over tokens, or over whole sequences (default: token)",
    )
    reading.add_argument(
        "--aggregate",
        choices=AGGREGATES,
        default="product",
        help="a sequence's confidence from its tokens' (default: product)",
    )
    reading.add_argument("--ignore-tokens", metavar="T,T,…", default="", help="leave out steps with these tokens")
    reading.add_argument(
        "--ignore-by",
        choices=("gold", "predicted"),
        default="gold",
        help="match --ignore-tokens against the gold or the predicted token (default: gold)",
    )
    reading.add_argument(
        "--top-k",
        type=positive,
        default=1,
        metavar="K",
        help="a token is correct if the gold one is among the K most likely (default: 1)",
    )
    reading.add_argument(
        "--bins",
        type=positive,
        default=DEFAULT_BINS,
        metavar="N",
        help=f"equal-width bins on [0, 1] (default: {DEFAULT_BINS})",
    )
    reading.add_argument(
        "--token-kinds",
        metavar="FILE",
        help='slice tokens by kind: JSON {token: kind} or {"classes": {kind: regex}}, or sql',
    )
    reading.add_argument(
        "--coverages",
        metavar="C,C,…",
        default=",".join(map(str, DEFAULT_COVERAGES)),
        help="shares of the surest answers whose accuracy is reported (default: %(default)s)",
    )
    add_common(made, parity=("calibration_metric",))
    original = made.add_argument_group("with --as calibration_metric")
    original.add_argument(
        "--binning",
        choices=("uniform", "adaptive"),
        default="uniform",
        help="the original's binning (default: uniform)",
    )
    original.add_argument("--weighted", action="store_true", help="the original's weighted metrics")
    original.add_argument(
        "--weight-key",
        choices=("normalized_count", "normalized_log_count"),
        default="normalized_count",
        help="the original's weights (default: normalized_count)",
    )
    original.add_argument("--mended", action="store_true", help="the original's choices with only its failures mended")
    return made


def run(args: argparse.Namespace) -> int:
    shared = Shared.of(args)
    ignore = [t for t in args.ignore_tokens.split(",") if t]
    files = args.files[0] if len(args.files) == 1 else args.files
    if args.parity:
        from sensecheck.calibrated.parity import evaluate_as_original

        refuse_idle(args, parser(), _NOT_THE_ORIGINALS, f"has no meaning with --as {args.parity}: leave one out")
        check_targets(args)

        result = evaluate_as_original(
            files,
            n_bins=args.bins,
            binning=args.binning,
            weighted=args.weighted,
            weight_key=args.weight_key,
            mended=args.mended,
            ignore_tokens=ignore,
            columns=shared.columns,
            input_format=args.input_format,
            top_k=args.top_k,
            limit=args.limit,
            out=args.out,
            overwrite=args.overwrite,
            system=args.system,
        )
        return finish(result, args)
    refuse_idle(args, parser(), _ORIGINALS, "says how the original does it: it needs --as calibration_metric")
    with progress("reading and measuring", "rows") as advance:
        result = evaluate(
            files,
            input_format=args.input_format,
            scale=args.scale,
            level=args.level,
            aggregate=args.aggregate,
            ignore_tokens=ignore,
            ignore_by=args.ignore_by,
            top_k=args.top_k,
            bins=args.bins,
            coverages=_shares(args.coverages),
            token_kinds=args.token_kinds,
            weight=args.weight,
            cluster=args.cluster,
            progress=advance,
            **every_question(args),
        )
    return finish(result, args)


def _shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"--coverages takes numbers such as 0.5,0.9, got {text!r}") from None
