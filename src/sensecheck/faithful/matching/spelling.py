"""Slips of the pen."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=65_536)
def near(a: str, b: str) -> bool:
    """Whether two words differ by a slip of the pen: one edit from five letters, two from nine."""
    if a == b:
        return True
    la, lb = len(a), len(b)
    allowed = 0 if min(la, lb) < 5 else 1 if min(la, lb) < 8 else 2
    if not allowed or abs(la - lb) > allowed or (a[0] != b[0] and a[1:3] != b[1:3]):
        return False
    previous = list(range(lb + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y)))
        if min(current) > allowed:
            return False
        previous = current
    return previous[-1] <= allowed
