"""What reading a `.logits` file depends on once the file is known, and what its lines become."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tokens = NDArray[Any]
Bools = NDArray[np.bool_]

Variant = Literal["hf", "miso"]
Scale = Literal["probabilities", "logits", "logprobs"]

PADDING_LABEL = -100
"""The label that PyTorch's losses ignore: such steps are no predictions, and are counted apart."""

DECIDING_TOKENS = 1024
"""A file's scale is recognised from this many first tokens, however the file is cut into blocks."""

ROUNDING = 1e-6
"""How far float32 rounding may push a probability above 1 or a log-probability above 0."""

SUM_SLACK = 0.01
"""How far a row of probabilities stored in half precision may sum above 1."""


@dataclass(frozen=True, slots=True)
class ScaleDecision:
    """What the numbers of one file are, how that is known, and how they became probabilities."""

    scale: Scale
    how: Literal["given", "recognised"]
    evidence: str
    normaliser: Literal["none", "logsumexp", "top_k_and_label", "top_k"] = "none"
    caveat: str | None = None

    def __str__(self) -> str:
        text = f"{self.scale} ({self.how}: {self.evidence})"
        return f"{text}; {self.caveat}" if self.caveat else text


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that reading a block depends on; the same for all blocks of a file."""

    path: str
    variant: Variant | None = None
    decision: ScaleDecision | None = None
    top_k: int = 1
    ignored_tokens: frozenset[int] | frozenset[str] = frozenset()
    ignore_by: Literal["gold", "predicted"] = "gold"
    padding_label: int | None = PADDING_LABEL
    skip_bad: bool = False
    with_logit_at_label: bool = False
    with_logsumexp: bool = False
    with_input_str: bool = False
    fields: tuple[str, ...] = ()
    hands_out_logit: bool = False
    """Whether logit_at_label was asked for, and is not only read to bound a confidence."""

    @property
    def number_keys(self) -> list[str]:
        """The keys whose numbers are read."""
        keys = ["top_logits", "top_logit_idxs", "labels"]
        keys += ["logit_at_label"] if self.with_logit_at_label else []
        keys += ["logsumexp"] if self.with_logsumexp else []
        return keys


@dataclass(slots=True)
class Run:
    """Neighbouring lines whose rows have the same width, so that they form one matrix."""

    width: int
    values: list[Any] = field(default_factory=list)
    tokens: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    logit_at_label: list[Any] = field(default_factory=list)
    logsumexp: list[Any] = field(default_factory=list)
    input_str: list[str | None] = field(default_factory=list)
    fields: list[list[Any]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def matrix(self) -> Floats:
        return np.frombuffer(b"".join(self.values), np.float64).reshape(-1, self.width)

    def token_matrix(self, variant: Variant) -> Tokens:
        return _joined(self.tokens, variant).reshape(-1, self.width)

    def label_column(self, variant: Variant) -> Tokens:
        return _joined(self.labels, variant)


def _joined(parts: list[Any], variant: Variant) -> Tokens:
    """Integer buffers side by side, or lists of strings as one object column."""
    if variant == "hf":
        return np.frombuffer(b"".join(parts), np.int64)
    column = np.empty(sum(map(len, parts)), object)
    column[:] = list(chain.from_iterable(parts))
    return column


def per_token(buffers: list[Any]) -> Floats | None:
    return np.frombuffer(b"".join(buffers), np.float64) if buffers else None


def row_sums(values: Floats) -> Floats:
    """By columns: rows are short, and a matrix product would wake BLAS's threads for nothing."""
    if values.shape[1] > 32:
        return np.asarray(values.sum(axis=1))
    totals = values[:, 0].copy()
    for column in range(1, values.shape[1]):
        totals += values[:, column]
    return totals
