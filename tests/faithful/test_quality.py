"""The quality benchmark: what the rules must reach on both halves, and on human labels."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.faithful_bench import Outcome

pytestmark = [pytest.mark.golden, pytest.mark.slow]


@pytest.mark.parametrize(
    ("language", "alarms", "detection", "balanced"), [("spider", 0.025, 0.91, 0.83), ("logic2text", 0.05, 0.86, 0.77)]
)
def test_quality(shared: Path, language: str, alarms: float, detection: float, balanced: float) -> None:
    found = Outcome(language, shared)
    for half in (None, 0, 1):
        assert found.alarms(half)[1] <= alarms, half
        assert found.detection(half)[1] >= detection, half
    assert found.balanced()[1] >= balanced
    weak = {c: ours for c, (n, _, ours) in found.classes().items() if n >= 30 and ours < 0.5}
    assert weak == {}
