"""The longest common subsequence against the textbook's table."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.language.alignment import aligned

texts = st.text(alphabet="abc ", max_size=90)


def length(a: str, b: str) -> int:
    above = [0] * (len(a) + 1)
    for token in b:
        row = [0]
        for i, other in enumerate(a, 1):
            row.append(above[i - 1] + 1 if other == token else max(above[i], row[-1]))
        above = row
    return above[-1]


@settings(deadline=None)
@given(texts, texts)
def test_it_is_common_in_order_and_longest(a: str, b: str) -> None:
    pairs = aligned(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))
    assert len(pairs) == length(a, b)


def test_thousands_of_repeated_tokens_are_no_trouble() -> None:
    started = time.process_time()
    assert len(aligned(["a", " "] * 2000, [" ", "b"] * 2000)) == 2000
    assert time.process_time() - started < 2
