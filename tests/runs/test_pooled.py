"""Systems pooled in one run: rows that share an id are one unit, in one file or in several."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import sensecheck
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions

FEW = IntervalOptions(replicates=1000)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def queries(system: str, *, share: float = 0.6, own_ids: bool = False) -> list[dict[str, Any]]:
    """The systems agree on what is hard, as systems do."""
    rows = []
    for i in range(80):
        gold = f"SELECT a FROM t WHERE b = {i}"
        right = random.Random(i).random() < share
        rows.append({"id": f"{system}{i}" if own_ids else f"q{i}", "gold": gold, "prediction": gold if right else "SELECT 1",
                     "system": system})  # fmt: skip
    return rows


def sentences(system: str) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "query": f"SELECT name FROM singer WHERE age > {i}",
             "sentence": f"Names of singers older than {i if random.Random(i).random() < 0.6 else 1000}"}
            for i in range(80)]  # fmt: skip


def confidences(system: str) -> list[dict[str, Any]]:
    drawn = [random.Random(i) for i in range(80)]
    return [{"id": f"q{i}", "confidence": r.random(), "correct": r.random() < 0.5} for i, r in enumerate(drawn)]


def width(result: Result, figure: str) -> float:
    low, high = result[figure].low, result[figure].high
    assert isinstance(low, float) and isinstance(high, float)
    return high - low


ROOMS = {
    "correct": (sensecheck.correct.evaluate, queries, "em"),
    "faithful": (sensecheck.faithful.evaluate, sentences, "facts_kept"),
    "calibrated": (sensecheck.calibrated.evaluate, confidences, "accuracy"),
}


@pytest.mark.parametrize("room", ROOMS)
def test_two_files_over_the_same_questions_are_clustered_by_question(room: str, tmp_path: Path) -> None:
    evaluate, rows, figure = ROOMS[room]
    files = [write(tmp_path / f"{name}.jsonl", rows(name)) for name in "ab"]
    one = write(tmp_path / "one.jsonl", [*rows("a"), *rows("b")])
    pooled, joined, single = (evaluate(data, options=FEW) for data in (files, one, files[0]))
    for result in (pooled, joined):
        assert result.measurements["cluster"].n_unique() == 80
        assert result[figure].clusters == 80 and result[figure].n == 160
        assert "160 rows share 80 ids: rows with the same id are resampled together" in result.notes
        # Both systems do alike on every question: pooling them tells nothing new, and the interval stays as wide. As
        # 160 rows by themselves it would be 0.71 as wide.
        assert width(result, figure) > 0.85 * width(single, figure)
    assert [f.to_dict() for f in pooled.figures] == [f.to_dict() for f in joined.figures]
    assert not any("share" in note for note in single.notes)


def test_ids_of_their_own_stay_apart_and_a_named_column_wins(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.jsonl", queries(name, own_ids=True)) for name in "ab"]
    apart = sensecheck.correct.evaluate(files, options=FEW)
    assert apart["em"].clusters in (None, 160)
    assert not any("share" in note for note in apart.notes)
    same = [write(tmp_path / f"{name}.jsonl", queries(name)) for name in "ab"]
    named = sensecheck.correct.evaluate(same, options=FEW, cluster="system")
    assert named["em"].clusters == 2
    assert not any("share" in note for note in named.notes)


def test_pooled_runs_are_paired_row_by_row(tmp_path: Path) -> None:
    def run(name: str, share: float) -> Result:
        rows = [{"id": f"q{i}", "confidence": 0.6, "correct": random.Random(i).random() < share} for i in range(80)]
        files = [write(tmp_path / f"{name}-{system}.jsonl", rows) for system in "ab"]
        return sensecheck.calibrated.evaluate(files, options=FEW, system=name)

    compared = run("before", 0.5).compare(run("after", 0.7))
    assert compared["accuracy"].units == 80
    assert compared["accuracy"].better == "b"
    changed = sum(0.5 <= random.Random(i).random() < 0.7 for i in range(80))
    assert compared.flips is not None and len(compared.flips) == 2 * changed > 0


def test_sequences_that_share_an_id(tmp_path: Path) -> None:
    line = {"top_logits": [[0.8, 0.1], [0.7, 0.2]], "top_logit_idxs": [[1, 2], [1, 2]], "labels": [1, 2]}
    rows = [{**line, "id": f"q{i}"} for i in range(30)]
    files = [write(tmp_path / f"{name}.logits", rows) for name in "ab"]
    result = sensecheck.calibrated.evaluate(files, options=FEW)
    assert "60 sequences share 30 ids: sequences with the same id are resampled together" in result.notes
    assert result["accuracy"].clusters == 30


def test_a_bad_record_called_like_another_shares_nothing() -> None:
    rows = queries("a")
    for i, row in enumerate(rows):
        row["id"] = i  # the fourth record is called 3
    del rows[3]["prediction"]  # bad, and called by its number: 4
    result = sensecheck.correct.evaluate(rows, options=FEW, skip_bad=True)
    assert not any("share" in note for note in result.notes)


def test_pairs_that_share_an_id() -> None:
    rows = [{"id": f"p{i % 10}", "premise": f"A man is running with {i} dogs.", "hypothesis": "A man is running.",
             "label": "entailment"} for i in range(20)]  # fmt: skip
    result = sensecheck.robust.evaluate(rows, options=FEW)
    assert result.measurements["cluster"].n_unique() == 10
    assert result.measurements["id"].n_unique() == result.rows.height
    assert "20 pairs share 10 ids: pairs with the same id are resampled together" in result.notes
