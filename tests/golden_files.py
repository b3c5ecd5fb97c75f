"""The originals' recorded outputs on inputs of our own, in `tests/golden`: how they are unpacked, and how they are packed.

Large folders are one archive each, `tests/golden/QUESTION/files.zip`; `tests/golden/faithful` was written by hand.

    python -m tests.golden_files ../shared/golden    # packs anew, without what belongs to others
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

GOLDEN = Path(__file__).with_name("golden")
PACKED = ("correct", "calibrated", "diverse")
PLAIN = ("robust",)
THEIR_FILE = "orig_dev_two.logits"
THIRD_PARTY = ("diverse/lsdscc", f"calibrated/readers/{THEIR_FILE}")


def sources(folder: Path) -> dict[str, Path]:
    """The recorded files that may lie in this repository, by their names; READMEs have words of their own here."""
    found = {
        path.relative_to(folder).as_posix(): path
        for question in (*PACKED, *PLAIN)
        for path in sorted((folder / question).rglob("*"))
        if path.is_file() and path.name != "README.md"
    }
    return {name: path for name, path in found.items() if not name.startswith(THIRD_PARTY)}


def read_packed(question: str, name: str) -> bytes:
    """One packed file, for a test that has to know its cases before it runs."""
    with ZipFile(GOLDEN / question / "files.zip") as archive:
        return archive.read(name)


def unpack(place: Path) -> None:
    """All of `tests/golden` under `place`, as plain files."""
    shutil.copytree(GOLDEN, place, ignore=shutil.ignore_patterns("*.zip"), dirs_exist_ok=True)
    for archive in GOLDEN.glob("*/files.zip"):
        with ZipFile(archive) as packed:
            packed.extractall(place / archive.parent.name)


def pack(folder: Path) -> None:
    """The same bytes from the same files, whenever and wherever it runs."""
    by_name = sources(folder)
    for question in PLAIN:
        for name, path in by_name.items():
            if name.startswith(f"{question}/"):
                (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
                (GOLDEN / name).write_bytes(path.read_bytes())
    for question in PACKED:
        (GOLDEN / question).mkdir(parents=True, exist_ok=True)
        with ZipFile(GOLDEN / question / "files.zip", "w") as archive:
            for name, path in by_name.items():
                if name.startswith(f"{question}/"):
                    entry = ZipInfo(name.removeprefix(f"{question}/"))  # dated 1980, so that no clock gets in
                    entry.external_attr = 0o644 << 16
                    archive.writestr(entry, path.read_bytes(), ZIP_DEFLATED, 9)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
