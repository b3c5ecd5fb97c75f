"""Batches by tokens, not by rows: short examples travel many at a time, long ones few, and padding is little.

One planner for all: classifiers have one length an example, with padding or (packed) without; models that answer have
two, of the input and of the answer, which are padded each for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

STEP = 8
"""Lengths of inputs and answers are padded to a multiple of this: matrix units like it, and fewer shapes occur."""

Lengths = tuple[int, ...]
"""The lengths of an example: one, or those of its input and its answer."""


def padded(length: int, step: int = STEP) -> int:
    """The length after padding."""
    return -(-length // step) * step


def cost(lengths: Iterable[Lengths], step: int = STEP) -> int:
    """The padded tokens of a batch: as many rows as examples, as wide as the longest input and the longest answer."""
    rows = list(lengths)
    return len(rows) * sum(padded(max(part), step) for part in zip(*rows, strict=True))


def plan(lengths: Sequence[Lengths], budget: int, *, step: int = STEP, packed: bool = False) -> list[list[int]]:
    """Cut examples into batches of at most `budget` tokens; an example above it travels alone.

    Where rows are padded, all of them count as wide as the widest; `packed` ones count what they hold. Long ones come
    first: a device too small for them says so at once and not after an hour.
    """
    if budget < 1:
        raise ValueError(f"the token budget must be at least 1, got {budget}")
    order = sorted(range(len(lengths)), key=lambda i: _along(lengths[i]), reverse=True)
    batches: list[list[int]] = []
    current: list[int] = []
    widths: Lengths = ()
    tokens = 0
    for i in order:
        alone = tuple(padded(length, step) for length in lengths[i])
        together = tuple(map(max, widths, alone)) if current else alone
        more = tokens + sum(lengths[i]) if packed else (len(current) + 1) * sum(together)
        if current and more > budget:
            batches.append(current)
            current, together, more = [], alone, sum(lengths[i])
        current.append(i)
        widths, tokens = together, more
    if current:
        batches.append(current)
    return batches


def _along(lengths: Lengths) -> Lengths:
    """Along this neighbours are alike: by the padded answer, and among answers of one width by input, up and down in
    turn.
    """
    if len(lengths) == 1:
        return lengths
    source, target = lengths
    stratum = padded(target) // STEP
    return stratum, source if stratum % 2 else -source
