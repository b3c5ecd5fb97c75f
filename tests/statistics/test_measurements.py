"""Lean tables are the full ones to whoever asks."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from sensecheck import calibrated
from sensecheck.statistics.measurements import Frames, full, lean

ROWS = [{"confidence": i % 10 / 10, "correct": i % 3 == 0, "kind": "ab"[i % 2]} for i in range(60)]


def test_numbers_of_records_and_empty_texts_are_texts_to_whoever_asks():
    stored = lean(pl.DataFrame({"id": [1, 2], "reason": pl.Series([None, None], dtype=pl.String), "n": [3, 4]}))
    assert stored.schema == {"id": pl.Int64, "reason": pl.Null, "n": pl.Int64}
    told = full(stored)
    assert told.schema == Frames(stored).schema == {"id": pl.String, "reason": pl.String, "n": pl.Int64}
    assert told["id"].to_list() == ["1", "2"]
    assert next(Frames(stored).batches(["id"]))["id"].to_list() == ["1", "2"]


def test_rows_without_a_name_give_the_same_digits_in_memory_in_a_folder_and_with_their_numbers_as_names(tmp_path: Path):
    unnamed, named = tmp_path / "unnamed.jsonl", tmp_path / "named.jsonl"
    lines = [json.dumps(row) for row in ROWS]
    unnamed.write_text("\n".join([*lines[:20], "{bad", *lines[20:]]))
    numbers = [n for n in range(1, 62) if n != 21]
    named.write_text("\n".join(json.dumps({"id": n, **row}) for n, row in zip(numbers, ROWS, strict=True)))
    held = calibrated.evaluate(unnamed, skip_bad=True, slices=["kind"])
    kept = calibrated.evaluate(unnamed, skip_bad=True, slices=["kind"], out=tmp_path / "run")
    assert held.measurements.equals(kept.measurements)
    assert held.measurements["id"].to_list() == [*map(str, numbers), "unnamed.jsonl:21 (bad)"]
    assert pl.read_parquet(tmp_path / "run" / "measurements-00000.parquet").schema["id"] == pl.String
    assert json.dumps(held.summary["slices"]) == json.dumps(kept.summary["slices"])
    with_names = calibrated.evaluate(named, slices=["kind"])
    ends = [[(f["name"], f["value"], f["interval"]) for f in r.summary["figures"]] for r in (held, with_names)]
    assert ends[0] == ends[1]
