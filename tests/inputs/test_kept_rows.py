"""Records in a file are the same as in a list, and so is all that is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sensecheck.correct import evaluate
from sensecheck.inputs import kept_rows
from sensecheck.inputs.errors import Unanswered
from sensecheck.inputs.kept_rows import kept


def test_as_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Any] = [{"id": i, "values": [i, None, {"x": float(i)}], "text": "é" * i} for i in range(600)]
    rows[7] = Unanswered({"id": 7}, "a failed call", 8, 7)
    assert type(kept(iter(rows))) is list
    monkeypatch.setattr(kept_rows, "HELD_BYTES", 20_000)
    filed = kept(iter(rows))
    assert type(filed) is not list
    assert len(filed) == 600
    assert list(filed) == rows
    assert filed[0] == rows[0]
    assert filed[-1] == rows[-1]
    assert filed[5:300] == rows[5:300]
    assert filed[9:3] == []
    assert filed[500:2:-7] == rows[500:2:-7]
    again = filed[7]
    assert isinstance(again, Unanswered)
    assert (again.why, again.place, again.before) == ("a failed call", 8, 7)
    with pytest.raises(IndexError):
        filed[600]


def test_golds_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By key and by place, with records that cannot be read, blank lines and partners that are missing."""
    golds = [
        json.dumps({"id": f"q{i}", "gold": f"SELECT a FROM t WHERE b = {i % 7}", "topic": str(i % 3)})
        for i in range(200)
    ]
    said = [json.dumps({"id": f"q{i}", "prediction": f"SELECT a FROM t WHERE b = {i % 5}"}) for i in range(199, 0, -1)]
    (tmp_path / "gold.jsonl").write_text("\n".join(golds))
    (tmp_path / "said.jsonl").write_text("\n".join([*said, "{no json"]))
    (tmp_path / "gold.sql").write_text("\n".join(f"SELECT {i % 7}\tdb" for i in range(200)))
    (tmp_path / "said.sql").write_text("\n".join(f"SELECT {i % 5}" for i in range(200)))

    def summaries() -> list[Any]:
        by_key = evaluate(
            tmp_path / "said.jsonl", gold=tmp_path / "gold.jsonl", slices=("topic",), skip_bad=True, language="sql"
        )
        by_line = evaluate(tmp_path / "said.sql", gold=tmp_path / "gold.sql", language="sql")
        return [part for result in (by_key, by_line) for part in (result.summary, result.measurements.to_dicts())]

    held = summaries()
    monkeypatch.setattr(kept_rows, "HELD_BYTES", 0)
    assert summaries() == held
