"""Which tokens two texts share, in order: a longest common subsequence, a machine word of positions at a time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def aligned(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of positions of a longest common subsequence, in order.

    With L(i, j) the length for a[:i] and b[:j], bit i-1 of row j is 0 where L(i, j) = L(i-1, j) + 1. A row comes of
    the one before by a few operations on whole integers, so the cost is |b| times |a| / 64.
    """
    places: dict[Hashable, int] = {}
    for i, token in enumerate(a):
        places[token] = places.get(token, 0) | 1 << i
    full = (1 << len(a)) - 1
    rows = [full]
    for token in b:
        last = rows[-1]
        shared = last & places.get(token, 0)
        rows.append((last + shared | last - shared) & full)
    pairs: list[tuple[int, int]] = []
    i, j = len(a), len(b)
    while i and j:
        bit = 1 << i - 1
        if rows[j] & bit:
            i -= 1  # L(i, j) = L(i-1, j): a's token is not needed
        elif not rows[j - 1] & bit:
            j -= 1  # L(i, j) = L(i, j-1), as L(i, j) is at most L(i-1, j-1) + 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    pairs.reverse()
    return pairs
