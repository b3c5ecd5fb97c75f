"""What `calibrated` brings so that runs, tables, pages and comparisons work for it."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from sensecheck.calibrated import ASKS
from sensecheck.calibrated.classwise import NAMES as DISTRIBUTION_NAMES
from sensecheck.calibrated.examples import example_page
from sensecheck.calibrated.figures import statistics
from sensecheck.calibrated.plots import plots
from sensecheck.calibrated.table_records import CONFIDENCE_NAMES, CORRECT_NAMES
from sensecheck.inputs.formats.replies import MEAN_LOGPROB, TOKEN_LOGPROBS
from sensecheck.report.question import Question
from sensecheck.report.result import Result


def verdict(result: Result) -> list[str]:
    """What to take away, in plain words."""
    return list(_sentences(result))


def _sentences(result: Result) -> Iterator[str]:
    try:
        ece, gap = result["ece"], result["confidence_gap"]
    except KeyError:
        return
    if ece.n == 0:
        yield from _without_calibration(result)
        return
    floor = ece.beside.get("noise floor")
    if not isinstance(ece.value, float) or not isfinite(ece.value) or not isinstance(gap.value, float):
        return
    leaning = 0
    if isinstance(gap.low, float) and isinstance(gap.high, float):
        leaning = (gap.low > 0) - (gap.high < 0)
    if floor is not None and isinstance(ece.low, float) and isinstance(ece.high, float):
        shown = (
            f"ECE {_short(ece.value)}; noise alone shows {_short(floor)}; "
            f"true error between {_short(ece.low)} and {_short(ece.high)}."
        )
        if ece.low > 0:
            yield f"Not calibrated: {shown}"
        elif leaning:
            yield f"Bin by bin, nothing stands out from noise: {shown} But:"
        else:
            yield f"No miscalibration can be told apart from noise: {shown}"
    points = f"{100 * abs(gap.value):.1f} percentage points"
    if leaning > 0:
        yield f"Over-confident on the whole: it claims {points} more than it gets right."
    elif leaning < 0:
        yield f"Under-confident on the whole: it gets {points} more right than it claims."


def _short(value: float) -> str:
    """Three decimals; 0 as such, so that an end of an interval at 0 is told from one near it."""
    return f"{value:.3f}" if value else "0"


def _without_calibration(result: Result) -> Iterator[str]:
    """What can still be said where no row has both a probability and a correctness."""
    mean, area = result["mean_confidence"], result["auroc"]
    if mean.n and isinstance(mean.value, float):
        yield (
            f"The confidence is known, but not whether the answers are right: its mean is {mean.value:.3f} over "
            f"{mean.n:,} rows. Add gold texts or `correct` to see whether that is deserved."
        )
    elif not area.n and isinstance(result["accuracy"].value, float) and result["accuracy"].n:
        yield (
            f"Whether the answers are right is known, but not how sure the system was: accuracy is "
            f"{result['accuracy'].value:.3f} over {result['accuracy'].n:,} rows."
        )
    elif area.n and isinstance(area.value, float) and isinstance(area.low, float):
        told = "tells" if area.low > 0.5 else "does not demonstrably tell"
        yield f"The scores are not probabilities; their order {told} right from wrong: AUROC {area.value:.3f}."


QUESTION = Question(
    name="calibrated",
    asks=ASKS,
    statistics=statistics,
    headline=("ece", "adaptive_ece", "brier", "accuracy", "confidence_gap"),
    outcome="correct",
    given=("input", "question", "prompt"),
    plots=plots,
    example_page=example_page,
    verdict=verdict,
    fields={
        "confidence": (*CONFIDENCE_NAMES, *DISTRIBUTION_NAMES, TOKEN_LOGPROBS, MEAN_LOGPROB),
        "correct": (*CORRECT_NAMES, "gold", "gold_answer", "reference", "expected"),
        "id": ("id",),
    },
    needs=(("confidence",), ("correct",)),
    reads="Reads .logits files of tokens (top_logits, top_logit_idxs, labels), answers with log-probabilities as\n"
    "OpenAI, vLLM and llama.cpp write them, and tables of (confidence, correct) in CSV, TSV, JSONL, JSON,\n"
    "Parquet or white-space text, plain or compressed with gzip or zstd. A confidence may be in words.",
    usage=(
        "dev.logits --slice question_type --out run/",
        "answers.csv --columns confidence=prob --columns correct=is_right",
        "dev.logits --level sequence --aggregate mean-logprob",
        "dev.logits --as calibration_metric",
        "new.csv --fail-over ece=0.05 --gate-on bound",
    ),
)
