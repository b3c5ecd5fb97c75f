"""What every test may ask for: the golden data beside the repository, and a skip that says so when it is absent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A test run finds the same every time, so that a red one is about the change at hand; `explore` draws new examples.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("same")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SHARED.is_dir():
        return
    skip = pytest.mark.skip(reason="no ../shared beside the repository: golden data is not here")
    for item in items:
        if item.get_closest_marker("golden"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with golden data and real files; a test that asks for it is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside the repository: golden data is not here")
    return SHARED
