"""Is the model's confidence the rate at which it is right?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Literal

import orjson

from sensecheck.calibrated import figures
from sensecheck.calibrated.examples import example_page
from sensecheck.calibrated.measure import Aggregate
from sensecheck.calibrated.plots import plots
from sensecheck.calibrated.records import InputFormat, Level, Options, Records, Scale
from sensecheck.calibrated.token_kinds import KIND, TokenKinds
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.opening import identity
from sensecheck.report.question import Question, slicings
from sensecheck.report.result import Result, conduct
from sensecheck.runs.collecting import Batch
from sensecheck.statistics.figure import IntervalOptions

__all__ = ["QUESTION", "evaluate"]


def _verdict(result: Result) -> list[str]:
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
    if floor is not None and isinstance(ece.low, float):
        if ece.low > 0 and ece.value > floor:
            yield f"Not calibrated: ECE {ece.value:.3f} where a calibrated model would show about {floor:.3f}."
        elif leaning:
            yield f"Bin by bin, nothing stands out of noise: ECE {ece.value:.3f}, noise floor {floor:.3f}. But:"
        else:
            yield f"No miscalibration can be told from noise: ECE {ece.value:.3f}, noise floor {floor:.3f}."
    points = f"{100 * abs(gap.value):.1f} percentage points"
    if leaning > 0:
        yield f"Over-confident on the whole: it claims {points} more than it gets right."
    elif leaning < 0:
        yield f"Under-confident on the whole: it gets {points} more right than it claims."


def _without_calibration(result: Result) -> Iterator[str]:
    """What can still be said where no row has both a probability and a correctness."""
    mean, area = result["mean_confidence"], result["auroc"]
    if mean.n and isinstance(mean.value, float):
        yield (
            f"How sure is known, how right is not: the mean confidence is {mean.value:.3f} over {mean.n:,} rows. "
            "Add gold texts or `correct` to see whether that is deserved."
        )
    elif area.n and isinstance(area.value, float) and isinstance(area.low, float):
        told = "tells" if area.low > 0.5 else "does not demonstrably tell"
        yield f"The scores are no probabilities; their order {told} right from wrong: AUROC {area.value:.3f}."


QUESTION = Question(
    name="calibrated",
    asks="Is the model's confidence the rate at which it is right?",
    statistics=figures.statistics,
    headline=("ece", "adaptive_ece", "brier", "accuracy", "confidence_gap"),
    outcome="correct",
    given=("input", "question", "prompt"),
    plots=plots,
    example_page=example_page,
    verdict=_verdict,
)

# Left out of the short signature where nobody changed them; level, bins and scale are always said.
DEFAULTS = {"ignore": "none", "top-k": "1", "cluster": "sequence", "weight": "none"}


def evaluate(
    data: Any = None,
    *,
    confidence: Any = None,
    correct: Any = None,
    input_format: InputFormat = "auto",
    scale: Scale = "auto",
    level: Level = "token",
    aggregate: Aggregate = "product",
    ignore_tokens: Sequence[int | str] = (),
    ignore_by: Literal["gold", "predicted"] = "gold",
    top_k: int = 1,
    bins: int = figures.DEFAULT_BINS,
    coverages: Sequence[float] = figures.DEFAULT_COVERAGES,
    token_kinds: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
    slices: Sequence[str | Sequence[str]] = (),
    weight: str | None = None,
    cluster: str | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    options: IntervalOptions | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    system: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Calibration figures of predictions.

    `data` is a `.logits` file, a table with the columns `confidence` and `correct` (path, glob, list of paths, or a
    table in memory), or a file of answers with log-probabilities; or give the two as arrays:
    `evaluate(confidence=…, correct=…)`. `token_kinds` (a JSON file, a map, or "sql") slices tokens by their kind;
    the slice `position_range` is always there for tokens.
    """
    if bins < 1:
        raise InputError(field="bins", expected="at least 1", got=str(bins), reason="bad_option")
    for share in coverages:
        if not 0 < share <= 1:
            raise InputError(
                field="coverages", expected="shares above 0 and up to 1", got=str(share), reason="bad_option"
            )
    if (confidence is None) != (correct is None) or (data is None) == (confidence is None):
        raise InputError(
            "give either data, or both confidence=… and correct=…", hint="See help(sensecheck.calibrated.evaluate)."
        )
    if data is None:
        data = {"confidence": confidence, "correct": correct}
    by = slicings(slices)
    kinds = TokenKinds.of(token_kinds) if token_kinds is not None else None
    if kinds is not None and (KIND,) not in by:
        by.append((KIND,))
    interval = options or IntervalOptions()
    records = Records(
        data,
        Options(
            input_format, scale, level, aggregate, list(ignore_tokens), ignore_by, top_k, dict(columns or {}),
            list(dict.fromkeys(c for s in by for c in s)), weight, cluster, limit, skip_bad, 1, kinds,
        ),
    )  # fmt: skip
    method = _method(records, bins, interval)
    if tuple(coverages) != figures.DEFAULT_COVERAGES:
        method["coverages"] = ",".join(f"{c:g}" for c in coverages)

    def batches(done: int) -> Iterator[Batch]:
        return records.batches(done)

    return conduct(
        QUESTION,
        batches,
        method=method,
        defaults=DEFAULTS if method["level"] == "token" else {**DEFAULTS, "cluster": "none"},
        system={"name": system or _name(data)},
        slices=by,
        options=interval,
        out=out,
        resume=resume,
        overwrite=overwrite,
        plan={
            "inputs": identity(data),
            "input_format": input_format,
            "columns": dict(columns or {}),
            "slices": by,
            "token_kinds": token_kinds,
            "limit": limit,
            "skip_bad": skip_bad,
        },
        inputs=records.inputs,
        progress=progress,
        late_method=lambda: {"scale": records.scale(), **_classes(records)},
        notes=records.notes,
    )


def _method(records: Records, bins: int, interval: IntervalOptions) -> dict[str, str]:
    o = records.options
    level = o.level if records.tokens else "answer" if records.answers else "row"
    ignored = ",".join(str(t) for t in o.ignore_tokens)
    method: dict[str, str] = {"level": level}
    if level in ("sequence", "answer"):
        method["aggregate"] = o.aggregate
    return {
        **method,
        "bins": str(bins),
        "scale": o.scale,
        "ignore": f"{o.ignore_by}:{ignored}" if ignored else "none",
        "top-k": str(o.top_k),
        "cluster": o.cluster or ("sequence" if level == "token" else "none"),
        "weight": o.weight or "none",
    }


def _classes(records: Records) -> dict[str, str]:
    """The classes of whole distributions, where those were given."""
    return {} if records.classes is None else {"classes": orjson.dumps(records.classes).decode()}


def _name(data: Any) -> str:
    if isinstance(data, (str, os.PathLike)):
        text = os.path.basename(os.fspath(data)) or os.fspath(data)  # noqa: PTH119
        return "stdin" if text == "-" else text
    if isinstance(data, (list, tuple)) and data and all(isinstance(d, (str, os.PathLike)) for d in data):
        first = _name(data[0])
        return first if len(data) == 1 else f"{first} and {len(data) - 1} more"
    return "system"
