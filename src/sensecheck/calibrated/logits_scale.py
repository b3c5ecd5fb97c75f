"""Which scale the numbers of a `.logits` file are on: probabilities, their logarithms, or raw logits.

It is decided once per file from its first tokens, never per row, and a later line that contradicts the decision is
an error of that line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sensecheck.calibrated.logits_lines import parse_lines, plural
from sensecheck.calibrated.logits_plan import (
    DECIDING_TOKENS,
    ROUNDING,
    SUM_SLACK,
    Floats,
    Plan,
    Run,
    Scale,
    ScaleDecision,
    per_token,
    row_sums,
)
from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.opening import Block
from sensecheck.inputs.reasons import Reason


def decide_scale(plan: Plan, runs: list[Run], requested: Literal["auto"] | Scale, extras: Extras) -> ScaleDecision:
    """The scale of a file, by request or by its first tokens."""
    matrices = [run.matrix() for run in runs]
    count = sum(len(matrix) for matrix in matrices)
    low = min(float(matrix.min()) for matrix in matrices)
    high = max(float(matrix.max()) for matrix in matrices)
    span = f"the first {plural(count, 'token')} run from {low:.6g} to {high:.6g}"
    if requested != "auto":
        return _with_normaliser(requested, "given", f"by the caller; {span}", runs, extras, plan)
    total = max(float(row_sums(matrix).max()) for matrix in matrices)
    mass = max(float(np.exp(np.minimum(matrix, 50)).sum(axis=1).max()) for matrix in matrices)
    in_unit = low >= -ROUNDING and high <= 1 + SUM_SLACK
    if in_unit and total <= 1 + SUM_SLACK and high > 0:
        evidence = f"{span} and no row sums above 1 (highest {total:.6g})"
        return ScaleDecision("probabilities", "recognised", evidence)
    if low < 0 and high <= ROUNDING and mass <= 1 + SUM_SLACK:
        evidence = f"{span}, none is above 0 and no row's exponentials sum above 1 (highest {mass:.6g})"
        return ScaleDecision("logprobs", "recognised", evidence)
    if in_unit:
        raise InputError(
            path=plan.path,
            field="top_logits",
            expected="a scale that can be recognised",
            got=f"values in [0, 1] in rows that sum to {total:.6g}" if high > 0 else "values that are all 0",
            hint="Say what they are with --scale (scale=) probabilities, logits or logprobs.",
            reason=Reason.SCALE,
        )
    _refuse_mixture(plan, runs, matrices)
    if high <= ROUNDING:
        evidence = f"{span}; the exponentials of a row sum to {mass:.6g}, too much for log-probabilities"
        return _with_normaliser("logits", "recognised", evidence, runs, extras, plan)
    side = "above 1" if high > 1 else "below 0"
    if low < 0 and high > 1:
        side = "below 0 and above 1"
    evidence = f"{span}, {side}, so they are neither probabilities nor log-probabilities"
    return _with_normaliser("logits", "recognised", evidence, runs, extras, plan)


def _refuse_mixture(plan: Plan, runs: list[Run], matrices: list[Floats]) -> None:
    """A file of probabilities with a few broken rows must not pass for raw logits."""
    for scale in ("probabilities", "logprobs"):
        fits = []
        for matrix in matrices:
            top = matrix.max(axis=1)
            if scale == "probabilities":
                fits.append((matrix.min(axis=1) >= -ROUNDING) & (row_sums(matrix) <= 1 + SUM_SLACK))
            else:
                sums = np.exp(np.minimum(matrix, 50)).sum(axis=1)
                fits.append((top <= ROUNDING) & (sums <= 1 + SUM_SLACK))
        fitting = np.concatenate(fits)
        if np.count_nonzero(fitting) <= len(fitting) / 2:
            continue
        lines = np.repeat(
            [line for run in runs for line in run.lines], [count for run in runs for count in run.lengths]
        )
        odd, like = int(np.argmin(fitting)), np.count_nonzero(fitting)
        values = next(row for matrix, fit in zip(matrices, fits, strict=True) for row in matrix[~fit])
        raise InputError(
            path=plan.path,
            line=int(lines[odd]),
            field="top_logits",
            expected=f"{scale}, as {like:,} of the first {len(fitting):,} tokens are",
            got=shown(values.tolist(), 60),
            hint=f"Name the scale of the file with --scale (scale=). {SKIP_HINT}",
            reason=Reason.SCALE,
        )


@dataclass(frozen=True, slots=True)
class Extras:
    """What else a file holds by its first good line, looked at only where raw logits need it."""

    keys: list[str]
    blocks: list[Block]

    def has_label_logits(self, plan: Plan) -> bool:
        """Whether logit_at_label is there and on the scale of the stored scores."""
        if "logit_at_label" not in self.keys or plan.variant != "hf":
            return False
        data = self.blocks[0].data if len(self.blocks) == 1 else b"".join(block.data for block in self.blocks)
        probe = replace(plan, with_logit_at_label=True, skip_bad=True)
        runs, errors = parse_lines(probe, data, self.blocks[0].first_line, max_tokens=DECIDING_TOKENS)
        if not runs or any("logit_at_label" in str(error) for error in errors):
            return False
        return _same_scale(runs)


def _with_normaliser(
    scale: Scale,
    how: Literal["given", "recognised"],
    evidence: str,
    runs: list[Run],
    extras: Extras,
    plan: Plan,
) -> ScaleDecision:
    """Raw logits need a sum over the vocabulary: the best one that the file allows."""
    if scale != "logits":
        return ScaleDecision(scale, how, evidence)
    if "logsumexp" in extras.keys:
        return ScaleDecision(scale, how, f"{evidence}; logsumexp is stored", "logsumexp")
    widths = sorted({run.width for run in runs})
    width = f"{widths[0]}" if len(widths) == 1 else f"{widths[0]} to {widths[-1]}" if widths else "0"
    if extras.has_label_logits(plan):
        caveat = (
            f"softmax over the {width} stored scores and the label's own, not over the vocabulary: "
            "each confidence is an upper bound"
        )
        return ScaleDecision(scale, how, evidence, "top_k_and_label", caveat)
    if widths == [1]:
        raise InputError(
            path=plan.path,
            field="top_logits",
            expected="probabilities, log-probabilities, or a 'logsumexp' for each row of raw logits",
            got="one raw logit per token, whose softmax is always 1",
            hint="Store more scores per token, or logsumexp over the vocabulary.",
            reason=Reason.SCALE,
        )
    caveat = f"softmax over the {width} stored scores, not over the vocabulary: each confidence is an upper bound"
    return ScaleDecision(scale, how, evidence, "top_k", caveat)


def _same_scale(runs: list[Run]) -> bool:
    """Whether logit_at_label agrees with the stored score wherever the label is among the stored tokens."""
    agreeing = 0
    for run in runs:
        values, tokens, labels = run.matrix(), run.token_matrix("hf"), run.label_column("hf")
        at_label = per_token(run.logit_at_label)
        assert at_label is not None
        where = tokens == labels[:, None]
        hit = where.any(axis=1)
        stored = values[hit, where.argmax(axis=1)[hit]]
        gap = np.abs(stored - at_label[hit])
        if (gap > 1e-3 * np.maximum(1, np.abs(stored))).any():
            return False
        agreeing += int(np.count_nonzero(hit))
    return agreeing > 0
