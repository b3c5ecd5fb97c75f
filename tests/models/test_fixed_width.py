"""Numbers written by look-up are the numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensecheck.models.logits.fixed_width import integer_rows, probability_rows, stretch


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40))
def test_probabilities_come_back(values: list[float]) -> None:
    rows = np.asarray(values, dtype=np.float32)[:, None].repeat(3, axis=1)
    read = np.asarray(json.loads(b"[" + stretch(probability_rows(rows), 0, len(rows)) + b"]"))
    np.testing.assert_allclose(read, rows, atol=5.1e-11, rtol=0)
    large = rows > 1e-2
    assert (read.astype(np.float32)[large] == rows[large]).all()


@given(st.lists(st.integers(0, 99_999_999), min_size=1, max_size=40))
def test_whole_numbers_come_back(values: list[int]) -> None:
    rows = np.asarray(values)[:, None].repeat(2, axis=1)
    assert json.loads(b"[" + stretch(integer_rows(rows), 0, len(rows)) + b"]") == rows.tolist()


def test_a_stretch_of_rows() -> None:
    assert stretch(integer_rows(np.array([[0, 10_000], [7, 12], [1, 2]])), 1, 3) == b"[    7,   12],[    1,    2]"


def test_numbers_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match="whole numbers from 0"):
        integer_rows(np.array([[100_000_000]]))
