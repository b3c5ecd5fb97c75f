"""What every test may ask for: the originals' recorded outputs, and the third-party data beside the repository."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from tests.golden_files import unpack

# A test run finds the same every time, so that a red one is about the change at hand; `explore` draws new examples.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("same")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pages of the documentation take longest: they come first, so that no process is alone with one at the end."""
    items.sort(key=lambda item: item.path.name != "test_docs.py")


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tests/golden`, unpacked once for all processes of a run: the originals' outputs on inputs of our own."""
    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent
    place = run / "golden"
    if not place.is_dir():
        draft = Path(tempfile.mkdtemp(dir=run))
        unpack(draft)
        try:
            draft.rename(place)
        except OSError:
            assert place.is_dir()  # another process was faster
    return place


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with third-party data, which may not lie in this repository; a test that asks for it is skipped without."""
    if not (SHARED / "golden").is_dir():  # a folder of that name may be anyone's
        pytest.skip("no ../shared beside the repository: needs third-party data that may not be copied into it")
    return SHARED
