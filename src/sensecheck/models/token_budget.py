"""Batches by tokens, not by rows: short examples travel many at a time, long ones few, and padding is little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

STEP = 8
"""Lengths are padded to a multiple of this: matrix units like it, and fewer shapes occur."""


def padded(length: int, step: int = STEP) -> int:
    """The length after padding."""
    return -(-length // step) * step


def cost(lengths: Iterable[tuple[int, int]]) -> int:
    """The padded tokens of a batch of (source, target) lengths: rows × (longest source + longest target)."""
    rows = longest_source = longest_target = 0
    for source, target in lengths:
        rows += 1
        longest_source = max(longest_source, source)
        longest_target = max(longest_target, target)
    return rows * (padded(longest_source) + padded(longest_target))


def plan(lengths: Sequence[tuple[int, int]], budget: int) -> list[list[int]]:
    """Cut examples into batches whose padded tokens stay within `budget`; an example above it travels alone.

    Sorted by target, and among targets of one padded length by source, up and down in turn, so that neighbours are
    alike in both. Long targets come first: a device too small for them says so at once and not after an hour.
    """
    if budget < 1:
        raise ValueError(f"the token budget must be at least 1, got {budget}")
    order = sorted(range(len(lengths)), key=lambda i: _along(lengths[i]), reverse=True)
    batches: list[list[int]] = []
    current: list[int] = []
    source_width = target_width = 0
    for i in order:
        longest_source = max(source_width, padded(lengths[i][0]))
        longest_target = max(target_width, padded(lengths[i][1]))
        if current and (len(current) + 1) * (longest_source + longest_target) > budget:
            batches.append(current)
            current, longest_source, longest_target = [], padded(lengths[i][0]), padded(lengths[i][1])
        current.append(i)
        source_width, target_width = longest_source, longest_target
    if current:
        batches.append(current)
    return batches


def _along(lengths: tuple[int, int]) -> tuple[int, int]:
    source, target = lengths
    stratum = padded(target) // STEP
    return stratum, source if stratum % 2 else -source
