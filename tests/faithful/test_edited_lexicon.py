"""A word list that is edited between two calls of one process is read again."""

from __future__ import annotations

import json
import os
from pathlib import Path

from sensecheck.faithful.matching.vocabulary import load_vocabulary


def test_an_edited_lexicon_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"names": {"abc": ["wvu"]}}))
    first = load_vocabulary(str(path))
    assert load_vocabulary(str(path)) is first
    was = path.stat()
    path.write_text(json.dumps({"names": {"abc": ["xyz"]}}))  # of the same length, and at the same time
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert load_vocabulary(str(path)) is not first
