"""Slips of the pen."""

from __future__ import annotations

from functools import lru_cache


def near(a: str, b: str) -> bool:
    """Whether two words differ by a slip of the pen: one edit from five letters, two from nine."""
    la, lb = len(a), len(b)
    if la < 5 or lb < 5 or not -3 < la - lb < 3 or (a[0] != b[0] and a[1:3] != b[1:3]):
        return a == b
    return _few_edits(a, b)


@lru_cache(maxsize=65_536)
def _few_edits(a: str, b: str) -> bool:
    allowed = 1 if min(len(a), len(b)) < 8 else 2
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y)))
        if min(current) > allowed:
            return False
        previous = current
    return previous[-1] <= allowed
