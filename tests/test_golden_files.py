"""The copies in `tests/golden` are what was recorded, and hold nothing of others."""

from __future__ import annotations

from pathlib import Path

from tests.golden_files import GOLDEN, THIRD_PARTY, sources


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_every_copy_equals_its_source(golden: Path, shared: Path) -> None:
    recorded = sources(shared / "golden")
    copies = {name for name in names(golden) if not name.startswith("faithful/") and not name.endswith("README.md")}
    assert copies == set(recorded)
    assert [name for name, path in recorded.items() if (golden / name).read_bytes() != path.read_bytes()] == []


def test_the_copies_are_ours_and_small(golden: Path) -> None:
    found = names(golden)
    assert len(found) > 350
    assert [name for name in found if name.startswith(THIRD_PARTY)] == []
    assert {path.parent.name for path in GOLDEN.glob("*/README.md")} == {p.name for p in GOLDEN.iterdir() if p.is_dir()}
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*")) < 5_000_000
