"""A real browser for the pages, and a word in its place where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# As root and without a network: no sandbox, and nothing that would look for one.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("browser tests need playwright: pip install -r requirements/test.txt")
    if found is None:
        pytest.skip("browser tests need Chromium: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots(request: pytest.FixtureRequest) -> Path:
    """Where pictures of the pages go: screenshots/ of the repository, which git ignores."""
    folder = Path(str(request.config.rootpath)) / "screenshots"
    folder.mkdir(exist_ok=True)
    return folder


class Watched:
    """A page that keeps what it must not have: console errors, exceptions, requests to anywhere."""

    def __init__(self, browser: Any, **given: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True, **given)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.faults.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.faults.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))

    def open(self, path: Path, fragment: str = "") -> Any:
        self.page.goto(path.resolve().as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready]")
        return self.page


@pytest.fixture
def watched(chromium: Any) -> Iterator[Any]:
    made: list[Watched] = []

    def start(**given: Any) -> Watched:
        made.append(Watched(chromium, **given))
        return made[-1]

    yield start
    for one in made:
        one.context.close()
        assert one.faults == [], "the console stays empty"
        assert [u for u in one.requests if not u.startswith(("file:", "blob:"))] == [], "nothing leaves the machine"
