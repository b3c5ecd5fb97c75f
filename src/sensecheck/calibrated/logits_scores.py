"""From the scores of a `.logits` file to measurements: confidence and correctness of each token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensecheck.calibrated.logits_lines import parse_lines
from sensecheck.calibrated.logits_plan import (
    DECIDING_TOKENS,
    ROUNDING,
    SUM_SLACK,
    Bools,
    Floats,
    Ints,
    Plan,
    Run,
    ScaleDecision,
    Tokens,
    Variant,
    per_token,
    row_sums,
)
from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.opening import Block
from sensecheck.inputs.reasons import Reason


@dataclass(frozen=True, slots=True)
class TokenColumns:
    """The scored tokens of a stretch of one file: one entry per token unless said otherwise."""

    path: str
    confidence: Floats
    """The probability of the predicted token."""
    predicted: Tokens
    """The token with the highest score, the first of equals: int64, or objects that are str."""
    label: Tokens
    correct: Bools
    sequence: Ints
    """The line of the token's sequence, from 1."""
    position: NDArray[np.int32]
    """The token's place in its sequence, from 0, counted before anything was left out."""
    logit_at_label: Floats | None
    lines: Ints
    """One entry per sequence: its line."""
    numbers: Ints
    """One entry per sequence: the number of its record, from 1 over all files; blank lines are no records."""
    lengths: Ints
    """One entry per sequence: its scored tokens."""
    input_str: list[str | None] | None
    """One entry per sequence: the text it answers."""
    fields: dict[str, list[Any]] = field(default_factory=dict)
    """Other fields of the lines that were asked for, one entry per sequence; None where a line lacks it."""

    def __len__(self) -> int:
        return len(self.confidence)


@dataclass(slots=True)
class Result:
    """A block, read: its columns, what was left out, and the lines that could not be scored."""

    columns: TokenColumns
    padding: int
    ignored: int
    errors: list[InputError]


def read_block(plan: Plan, block: Block, max_sequences: int | None = None) -> Result:
    """One block by itself, with the first bad line raised unless skipped."""
    runs, errors = parse_lines(plan, block.data, block.first_line, max_sequences)
    parts = [_score(plan, run, errors) for run in runs]
    if errors and not plan.skip_bad:
        raise min(errors, key=lambda error: error.line or 0)
    errors.sort(key=lambda error: error.line or 0)
    columns = concatenated(plan.path, [part.columns for part in parts], plan.variant or "hf")
    return Result(columns, sum(part.padding for part in parts), sum(part.ignored for part in parts), errors)


@dataclass(frozen=True, slots=True)
class _Steps:
    """A run as arrays: one entry (of matrices, one row) for each step of its sequences unless said otherwise."""

    run: Run
    values: Floats
    tokens: Tokens
    labels: Tokens
    logit_at_label: Floats | None
    logsumexp: Floats | None
    highest: Floats
    """The highest of the values."""
    predicted: Tokens
    position: NDArray[np.int32]
    lengths: Ints
    """One entry per sequence: its steps."""
    starts: Ints
    """One entry per sequence: its first step."""

    @classmethod
    def of(cls, run: Run, variant: Variant) -> _Steps:
        values = run.matrix()
        tokens = run.token_matrix(variant)
        labels = run.label_column(variant)
        lengths = np.array(run.lengths, np.int64)
        starts = np.cumsum(lengths) - lengths
        position = np.arange(len(labels), dtype=np.int32)
        position -= np.repeat(starts.astype(np.int32), lengths)
        best = _highest_column(values) + np.arange(0, values.size, run.width)
        return cls(
            run=run,
            values=values,
            tokens=tokens,
            labels=labels,
            logit_at_label=per_token(run.logit_at_label),
            logsumexp=per_token(run.logsumexp),
            highest=values.ravel().take(best),
            predicted=tokens.ravel().take(best),
            position=position,
            lengths=lengths,
            starts=starts,
        )

    def leave_out(self, sequences: Iterable[int], keep: Bools) -> None:
        """Take all steps of these sequences out of those that are kept."""
        for sequence in sequences:
            keep[self.starts[sequence] : self.starts[sequence] + self.lengths[sequence]] = False


def _score(plan: Plan, run: Run, errors: list[InputError]) -> Result:
    assert plan.variant is not None and plan.decision is not None
    if plan.top_k > run.width:
        raise InputError(
            path=plan.path,
            line=run.lines[0],
            field="top_logits",
            expected=f"at least {plan.top_k} values in each row, since top_k is {plan.top_k}",
            got=str(run.width),
            hint=f"Ask for a top_k of at most {run.width}.",
            reason=Reason.TOP_K,
        )
    steps = _Steps.of(run, plan.variant)
    refused = _contradictions(plan, plan.decision, steps)
    keep = np.ones(len(steps.labels), bool)
    steps.leave_out(refused, keep)
    padding = 0
    if plan.variant == "hf" and plan.padding_label is not None:
        padded = keep & (steps.labels == plan.padding_label)
        padding = int(np.count_nonzero(padded))
        keep &= ~padded
    if plan.ignored_tokens:
        keep &= ~_is_among(steps.labels if plan.ignore_by == "gold" else steps.predicted, plan.ignored_tokens)
    if plan.variant == "miso":
        correct, unresolved = _copy_correct(plan, steps, keep)
        steps.leave_out(unresolved, keep)
        refused |= unresolved
    elif plan.top_k == 1:
        correct = steps.predicted == steps.labels
    else:
        correct = _among_top_k(steps, plan.top_k)
    errors += refused.values()
    good = np.ones(len(steps.lengths), bool)
    good[list(refused)] = False
    # what good sequences lack besides padding was to be ignored
    ignored = int(steps.lengths[good].sum()) - int(np.count_nonzero(keep)) - padding
    columns = _columns(plan, steps, _probability(plan.decision, steps), correct, keep, good)
    return Result(columns, padding, ignored, [])


def _columns(plan: Plan, steps: _Steps, confidence: Floats, correct: Bools, keep: Bools, good: Bools) -> TokenColumns:
    """The steps that are kept, and the sequences that are good."""
    predicted, labels, position, at_label = steps.predicted, steps.labels, steps.position, steps.logit_at_label
    lines = np.array(steps.run.lines, np.int64)
    lengths = steps.lengths
    of_sequence = np.repeat(np.arange(len(lines)), lengths)
    if not keep.all():
        confidence, predicted, labels, correct = confidence[keep], predicted[keep], labels[keep], correct[keep]
        of_sequence, position = of_sequence[keep], position[keep]
        at_label = at_label[keep] if at_label is not None else None
        lengths = np.bincount(of_sequence, minlength=len(lines)).astype(np.int64)
    sequence = lines[of_sequence]
    captions, fields = steps.run.input_str, steps.run.fields
    if not good.all():
        lines, lengths = lines[good], lengths[good]
        captions, fields = list(compress(captions, good)), list(compress(fields, good))
    return TokenColumns(
        path=plan.path,
        confidence=confidence,
        predicted=predicted,
        label=labels,
        correct=correct,
        sequence=sequence,
        position=position,
        logit_at_label=at_label if plan.hands_out_logit else None,
        lines=lines,
        numbers=lines,  # until the reader counts
        lengths=lengths,
        input_str=captions if plan.with_input_str else None,
        fields={name: [values[i] for values in fields] for i, name in enumerate(plan.fields)},
    )


def _highest_column(values: Floats) -> Ints | int:
    """As `values.argmax(axis=1)`, several times faster where all rows ascend or descend, as they mostly do."""
    width: int = values.shape[1]
    if width <= 8:  # of wider rows, each column would fetch the whole matrix again
        first, last = values[:, 0], values[:, -1]
        if all(bool((last > values[:, column]).all()) for column in range(width - 1)):
            return width - 1
        if all(bool((first >= values[:, column]).all()) for column in range(1, width)):
            return 0
    columns: Ints = values.argmax(axis=1)
    return columns


def _is_among(tokens: Tokens, members: frozenset[int] | frozenset[str]) -> Bools:
    if tokens.dtype == object:
        return np.fromiter((token in members for token in tokens), bool, len(tokens))
    return np.isin(tokens, np.array(sorted(members), np.int64))


def _contradictions(plan: Plan, decision: ScaleDecision, steps: _Steps) -> dict[int, InputError]:
    """Sequences whose numbers cannot be what the file was decided to hold, by their place in the run."""
    run, values, highest = steps.run, steps.values, steps.highest
    tests: list[tuple[Bools, str]] = []
    if decision.scale == "probabilities":
        if float(highest.max()) > 1 + SUM_SLACK:
            tests.append((highest > 1 + SUM_SLACK, "above 1"))
        if float(values.min()) < -ROUNDING:
            negative: Bools = values.min(axis=1) < -ROUNDING
            tests.append((negative, "below 0"))
        if decision.how == "recognised":
            totals = row_sums(values)
            if float(totals.max()) > 1 + SUM_SLACK:
                tests.append((totals > 1 + SUM_SLACK, "in a row that sums above 1"))
    elif decision.scale == "logprobs":
        if float(highest.max()) > ROUNDING:
            tests.append((highest > ROUNDING, "above 0"))
    elif decision.normaliser == "logsumexp":
        assert steps.logsumexp is not None
        least = highest + np.log(np.exp(values - highest[:, None]).sum(axis=1))
        low = steps.logsumexp < least - 1e-3 * np.maximum(1, np.abs(least))
        if low.any():
            tests.append((low, "above what logsumexp allows"))
    refused: dict[int, InputError] = {}
    if not tests:
        return refused
    ends = np.cumsum(run.lengths)
    how_known = "as given" if decision.how == "given" else f"as recognised in the first {DECIDING_TOKENS:,} tokens"
    for mask, why in tests:
        for token in np.flatnonzero(mask):
            row = int(np.searchsorted(ends, token, side="right"))
            if row in refused:
                continue
            step = int(token - (ends[row] - run.lengths[row])) + 1
            extreme = values[token].min() if why == "below 0" else highest[token]
            refused[row] = InputError(
                path=plan.path,
                line=run.lines[row],
                field="top_logits",
                expected=f"{decision.scale} ({how_known})",
                got=f"{extreme:.6g} in row {step}, {why}",
                hint=f"If the file holds something else, say so with --scale (scale=). {SKIP_HINT}",
                reason=Reason.SCALE,
            )
    return refused


def _probability(decision: ScaleDecision, steps: _Steps) -> Floats:
    """The predicted token's probability under the file's scale."""
    highest = steps.highest
    if decision.scale == "probabilities":
        return np.minimum(highest, 1.0) if len(highest) and float(highest.max()) > 1 else highest
    if decision.scale == "logprobs":
        return np.exp(np.minimum(highest, 0.0))
    if decision.normaliser == "logsumexp":
        assert steps.logsumexp is not None
        return np.exp(np.minimum(highest - steps.logsumexp, 0.0))
    total = np.exp(steps.values - highest[:, None]).sum(axis=1)
    if decision.normaliser == "top_k_and_label":
        assert steps.logit_at_label is not None
        stored = (steps.tokens == steps.labels[:, None]).any(axis=1)
        # the label cannot score above the highest, unless its row was not the model's top k
        total += np.where(stored, 0.0, np.exp(np.minimum(steps.logit_at_label - highest, 0.0)))
    confidence: Floats = 1.0 / total
    return confidence


def _among_top_k(steps: _Steps, k: int) -> Bools:
    """Whether the label is one of the k highest; of equal scores the earlier column ranks first."""
    values = steps.values
    is_label = steps.tokens == steps.labels[:, None]
    column = is_label.argmax(axis=1)
    score = values[np.arange(len(values)), column][:, None]
    earlier = np.arange(values.shape[1]) < column[:, None]
    rank = np.count_nonzero((values > score) | ((values == score) & earlier), axis=1)
    among: Bools = is_label.any(axis=1) & (rank < k)
    return among


_SOURCE, _TARGET = "SourceCopy_", "TargetCopy_"


def _copy_correct(plan: Plan, steps: _Steps, keep: Bools) -> tuple[Bools, dict[int, InputError]]:
    """Correctness where a token may be copied from the source text or from the gold tokens before it.

    Also the sequences, by their place in the run, that hold a copy of nothing.
    """
    run, labels, position = steps.run, steps.labels, steps.position
    correct = np.zeros(len(labels), bool)
    unresolved: dict[int, InputError] = {}
    ends = np.cumsum(run.lengths)
    if plan.top_k == 1:
        candidates = steps.predicted[:, None]
    else:
        order = np.argsort(-steps.values, axis=1, kind="stable")[:, : plan.top_k]
        candidates = np.take_along_axis(steps.tokens, order, axis=1)
    for token in np.flatnonzero(keep):
        step = int(position[token])
        for candidate in candidates[token]:
            if candidate.startswith(_TARGET):
                problem = _target_problem(candidate, step)
                if problem is not None:
                    row = int(np.searchsorted(ends, token, side="right"))
                    if row not in unresolved:
                        unresolved[row] = InputError(
                            path=plan.path,
                            line=run.lines[row],
                            field="top_logit_idxs",
                            expected=problem,
                            got=shown(candidate, 60),
                            hint=SKIP_HINT,
                            reason=Reason.COPY_TARGET,
                        )
                    break
                word = labels[token - step + int(candidate[len(_TARGET) :]) - 1]
            elif candidate.startswith(_SOURCE):
                word = candidate[len(_SOURCE) :]
            else:
                word = candidate
            if word == labels[token]:
                correct[token] = True
    return correct, unresolved


def _target_problem(token: str, step: int) -> str | None:
    """Why a TargetCopy names none of the `step` gold tokens before it; None when it does."""
    digits = token[len(_TARGET) :]
    if digits.isascii() and digits.isdigit() and len(digits) < 10 and 1 <= int(digits) <= step:
        return None
    if step == 0:
        return "no TargetCopy in row 1 (no gold token comes before it)"
    span = "TargetCopy_1" if step == 1 else f"TargetCopy_1 to TargetCopy_{step}"
    return f"{span} in row {step + 1} (the gold tokens before it, counted from 1)"


def concatenated(path: str, parts: Sequence[TokenColumns], variant: Variant) -> TokenColumns:
    if len(parts) == 1:
        return replace(parts[0], path=path)
    token_type = np.dtype(np.int64) if variant == "hf" else np.dtype(object)

    def joined(name: str, dtype: Any) -> Any:
        return np.concatenate([np.empty(0, dtype), *(getattr(part, name) for part in parts)])

    with_logit = bool(parts) and all(part.logit_at_label is not None for part in parts)
    with_text = bool(parts) and all(part.input_str is not None for part in parts)
    return TokenColumns(
        path=path,
        confidence=joined("confidence", np.float64),
        predicted=joined("predicted", token_type),
        label=joined("label", token_type),
        correct=joined("correct", bool),
        sequence=joined("sequence", np.int64),
        position=joined("position", np.int32),
        logit_at_label=joined("logit_at_label", np.float64) if with_logit else None,
        lines=joined("lines", np.int64),
        numbers=joined("numbers", np.int64),
        lengths=joined("lengths", np.int64),
        input_str=list(chain.from_iterable(part.input_str or [] for part in parts)) if with_text else None,
        fields={
            name: list(chain.from_iterable(part.fields[name] for part in parts))
            for name in (parts[0].fields if parts else ())
        },
    )
