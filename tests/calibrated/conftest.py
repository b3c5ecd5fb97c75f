"""Where the recorded .logits files lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.golden_files import THEIR_FILE


@pytest.fixture
def readers_of(golden: Path, request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The folder of a recorded file: our copies, but ../shared for the original's own test file, which has no licence."""

    def folder(file: str) -> Path:
        if file == THEIR_FILE:
            return Path(request.getfixturevalue("shared")) / "golden/calibrated/readers"
        return golden / "calibrated/readers"

    return folder
