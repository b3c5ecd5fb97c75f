"""`python -m calibration_metric.main`: metrics of a file of logits, one line each.

Same arguments, same lines, same return codes: 0, 2 for a bad argument, 1 with a traceback for anything
else. Nothing is printed unless every metric succeeds.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence

from sensecheck.calibrated.original import METRICS, READERS, Report

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(description="Calibration metrics of a file of logits")
    command.add_argument("--logit_file", required=True, help="one sequence per line of JSON")
    command.add_argument("--reader", choices=[*READERS], default="top_logit_format_sequence")
    command.add_argument(
        "--metrics",
        default="ece,me_above,me_below",
        help=f"a comma-separated list of {', '.join(METRICS)}, without spaces",
    )
    command.add_argument("--n_bins", type=int, default=20, help="number of uniform bins")
    command.add_argument("--binning_strategy", choices=["uniform", "adaptive"], default="uniform")
    command.add_argument("--weighted", action="store_true", help="weight the bins; off unless given")
    command.add_argument(
        "--weight_key", choices=["normalized_count", "normalized_log_count"], default="normalized_count"
    )
    command.add_argument(
        "--ignore_tokens",
        default=None,
        help="a comma-separated list of gold tokens to leave out; whole numbers are read as numbers",
    )
    return command


def main(argv: Sequence[str] | None = None) -> None:
    options = parser().parse_args(argv)
    logging.basicConfig(level=logging.DEBUG)
    ignored = [_token(text) for text in options.ignore_tokens.split(",")] if options.ignore_tokens else None
    logger.info("reading %s", options.logit_file)
    confidence, correct = READERS[options.reader](options.logit_file, ignored).read()
    metrics = {
        key: METRICS[key](
            n_bins=options.n_bins,
            weighted=options.weighted,
            weight_key=options.weight_key,
            binning_strategy=options.binning_strategy,
        )
        for key in options.metrics.split(",")
    }
    print(Report(metrics).create_report(confidence, correct))


def _token(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


if __name__ == "__main__":
    main()
