"""What evaluation hosts write as a verdict on an answer, as a number from 0 (wrong) to 1 (right)."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, TypeGuard

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason

_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partly, no answer."""
_WORDS = {
    "yes": 1.0, "true": 1.0, "correct": 1.0, "pass": 1.0,
    "no": 0.0, "false": 0.0, "incorrect": 0.0, "fail": 0.0,
}  # fmt: skip
_MEASURED = {
    "scored", "reason", "unit", "cluster", "sample", "epoch", "responses", "unscored_because", "token_logprobs",
    "stop_logprobs", "mean_logprob", "tokens_counted", "gives_no_logprobs", "tokens_not_its_text",
}  # fmt: skip
"""Names that mean something where records are measured."""
_ROUNDING = 1e-9
_ALIKE = 5e-5


def own_name(name: str, taken: Collection[str]) -> str:
    """What a field of an example's own record is called among ours."""
    return f"doc_{name}" if name in taken or name in _MEASURED or name.startswith("_") else name


def number_of(value: Any) -> float | None:
    """A number as one; nothing for what is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return None


def verdict(value: Any) -> float | None:
    """A verdict as a number from 0 to 1; nothing where there is none. What is no verdict is a ValueError that says why.

    >>> [verdict(value) for value in ("C", "I", "P", True, 0.25, "yes", "0.5", None)]
    [1.0, 0.0, 0.5, 1.0, 0.25, 1.0, 0.5, None]
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        word = value.strip()
        known = _LETTERS.get(word, _WORDS.get(word.lower()))
        if known is not None:
            return known
        try:
            value = float(word) if len(word) < 40 and word.isascii() else None
        except ValueError:
            value = None
        if value is None:
            raise ValueError("this text is no verdict")
    number = number_of(value)
    if number is None:
        raise ValueError("a verdict is one value")
    if math.isnan(number):
        return None
    if not -_ROUNDING <= number <= 1 + _ROUNDING:
        raise ValueError("a number outside 0 to 1 is no verdict")
    return min(max(number, 0.0), 1.0)


def refused_verdict(scorer: str, value: Any, why: str, hint: str, path: str, record: int) -> InputError:
    return InputError(
        f"{why}: {shown(value, 60)}", path=path or None, record=record, field=f"scorer {scorer}", hint=hint,
        reason=Reason.NOT_A_MARK,
    )  # fmt: skip


def is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def agreement(ours: float, by_sample: float, theirs: float, metric: str) -> str:
    """Whether the host's own figure is the one that is read here; `by_sample` is ours over means of samples."""
    if abs(ours - theirs) <= _ALIKE:
        return f"agrees with the log's own {metric}: {theirs:.4g}"
    if abs(by_sample - theirs) <= _ALIKE:
        return (
            f"the log's own {metric} is {theirs:.4g}, the mean over samples of their epochs; over all answers it is "
            f"{ours:.4g}"
        )
    return f"differs from the log's own {metric} by {ours - theirs:+.4g}: {ours:.4g} here, {theirs:.4g} there"
