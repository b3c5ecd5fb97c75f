"""The same records give the same figures and intervals in whatever form they are stored, also without ids."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sensecheck
from sensecheck.calibrated.logits import LogitsReader
from sensecheck.inputs.tables import TableReader
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions

FEW = IntervalOptions(replicates=100)
Rows = list[dict[str, Any]]


def write_csv(path: Path, rows: Rows) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()})
    return path


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def stored(folder: Path, rows: Rows) -> dict[str, Any]:
    """The same rows in every form."""
    document = folder / "rows.json"
    document.write_text(json.dumps(rows))
    parquet = folder / "rows.parquet"
    pl.DataFrame(rows).write_parquet(parquet)
    packed = folder / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(write_lines(folder / "rows.jsonl", rows).read_bytes()))
    half = len(rows) // 3
    return {
        "jsonl": folder / "rows.jsonl",
        "csv": write_csv(folder / "rows.csv", rows),
        "json": document,
        "parquet": parquet,
        "gz": packed,
        "shards": [write_lines(folder / "a.jsonl", rows[:half]), write_lines(folder / "b.jsonl", rows[half:])],
        "mixed shards": [write_csv(folder / "c.csv", rows[:half]), write_lines(folder / "d.jsonl", rows[half:])],
        "frame": pl.DataFrame(rows),
        "list": rows,
    }


WORDS = ["a", "man", "woman", "the", "dog", "runs", "sleeps", "outside", "inside", "today", "slowly", "with", "music"]


def calibrated_rows() -> Rows:
    draw = random.Random(3)
    return [{"confidence": round(draw.random(), 3), "correct": draw.random() < 0.6, "note": "two\nlines"}
            for _ in range(200)]  # fmt: skip


def correct_rows() -> Rows:
    draw = random.Random(4)
    golds = [f"SELECT a{i % 7} FROM t WHERE b = {i}" for i in range(200)]
    return [
        {"question": f"which\n{g}?", "gold": g, "prediction": g if draw.random() < 0.7 else "SELECT 1"} for g in golds
    ]


def faithful_rows() -> Rows:
    draw = random.Random(5)
    return [{"query": f"SELECT name FROM singer WHERE age > {i}",
             "sentence": f"Names of singers\nolder than {i if draw.random() < 0.8 else i + 1}"}
            for i in range(200)]  # fmt: skip


def diverse_rows() -> Rows:
    draw = random.Random(6)

    def text() -> str:
        return " ".join(draw.choices(WORDS, k=5))

    return [{"query": f"query {i}", "hypotheses": [text() for _ in range(3)], "references": [text() for _ in range(2)]}
            for i in range(200)]  # fmt: skip


def robust_rows() -> Rows:
    draw = random.Random(7)
    who = ("man", "woman", "boy", "girl")
    return [{"premise": f"A {draw.choice(who)} is running outside\nwith {i} dogs.",
             "hypothesis": f"A {draw.choice(who)} is running.", "label": draw.choice(["entailment", "contradiction"])}
            for i in range(40)]  # fmt: skip


def figures(result: Result) -> list[dict[str, Any]]:
    return [f.to_dict() for f in result.figures]


EVALUATE: dict[str, tuple[Callable[[], Rows], Callable[..., Result], Mapping[str, Any]]] = {
    "calibrated": (calibrated_rows, sensecheck.calibrated.evaluate, {}),
    "correct": (correct_rows, sensecheck.correct.evaluate, {}),
    "faithful": (faithful_rows, sensecheck.faithful.evaluate, {}),
    "diverse": (diverse_rows, sensecheck.diverse.evaluate, {}),
    "robust": (robust_rows, sensecheck.robust.evaluate, {}),
}


@pytest.mark.parametrize("name", EVALUATE)
def test_the_same_digits_in_every_form(name: str, tmp_path: Path) -> None:
    rows, evaluate, options = EVALUATE[name]
    found = {form: evaluate(data, options=FEW, **options) for form, data in stored(tmp_path, rows()).items()}
    first = found["jsonl"]
    assert any(f.low is not None and f.low != f.high for f in first.figures), "nothing to tell the forms apart by"
    for form, result in found.items():
        assert figures(result) == figures(first), form
        assert result.measurements["id"].to_list() == first.measurements["id"].to_list(), form


def test_the_same_digits_of_tokens(tmp_path: Path) -> None:
    draw = random.Random(8)
    lines = []
    for _ in range(60):
        size = draw.randint(1, 6)
        scores = [sorted([draw.random(), draw.random()], reverse=True) for _ in range(size)]
        total = [sum(row) + 0.1 for row in scores]
        lines.append({"top_logits": [[x / t for x in row] for row, t in zip(scores, total, strict=True)],
                      "top_logit_idxs": [[1, 2]] * size, "labels": [draw.choice([1, 1, 2]) for _ in range(size)]})  # fmt: skip
    whole = write_lines(tmp_path / "all.logits", lines)
    shards = [write_lines(tmp_path / "1.logits", lines[:20]), write_lines(tmp_path / "2.logits", lines[20:])]
    found = [sensecheck.calibrated.evaluate(data, options=FEW) for data in (whole, shards)]
    assert figures(found[0]) == figures(found[1])
    # A blank line is no record, a line that cannot be read is one.
    text = whole.read_text().splitlines(keepends=True)
    gapped = tmp_path / "gapped.logits"
    gapped.write_text("".join([*text[:5], "\n", *text[5:9], "{\n", *text[9:]]))
    reader = LogitsReader([gapped, shards[0]], skip_bad=True)
    numbers = [n for columns in reader for n in columns.numbers.tolist()]
    assert numbers == [*range(1, 10), *range(11, 62), *range(62, 82)]
    assert reader.files[0].bad_records[0].line == 6


def test_the_same_digits_of_answers(tmp_path: Path) -> None:
    draw = random.Random(9)
    rows = [{"text": "yes", "logprobs": [-draw.random()], "gold": draw.choice(["yes", "no"])} for _ in range(80)]
    document = tmp_path / "all.json"
    document.write_text(json.dumps(rows))
    lines = write_lines(tmp_path / "all.jsonl", rows)
    gapped = tmp_path / "gapped.jsonl"
    gapped.write_text(lines.read_text().replace("\n", "\n\n", 7))
    shards = [write_lines(tmp_path / "1.jsonl", rows[:30]), write_lines(tmp_path / "2.jsonl", rows[30:])]
    found = [figures(sensecheck.calibrated.evaluate(data, options=FEW)) for data in (document, lines, gapped, shards)]
    assert found[0] == found[1] == found[2] == found[3]


@pytest.mark.parametrize("name", EVALUATE)
def test_a_bad_record_takes_its_number_and_moves_no_other(name: str, tmp_path: Path) -> None:
    rows, evaluate, options = EVALUATE[name]
    plain = rows()[:30]
    lines = [json.dumps(row) for row in plain]
    # Blank lines take no number, the broken line 6 does, and a second file goes on.
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_text("\n".join([*lines[:2], "", *lines[2:4], '{"broken', *lines[5:12]]) + "\n")
    two.write_text("\n".join(lines[12:]) + "\n")
    result = evaluate([one, two], options=FEW, skip_bad=True, **options)
    rest = result.measurements.filter("scored")
    named = set((rest["cluster"] if name == "robust" else rest["id"]).to_list())
    expected = evaluate(plain, options=FEW, **options).measurements.filter("scored")
    assert named == set((expected["cluster"] if name == "robust" else expected["id"]).to_list()) - {"5"}


def test_messages_still_name_the_line(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv", calibrated_rows())
    text = path.read_text().splitlines()
    text[5] = text[5].replace("0.", "O.", 1)
    path.write_text("\n".join(text) + "\n")
    with pytest.raises(sensecheck.InputError, match=r"rows\.csv:6"):
        sensecheck.calibrated.evaluate(path)
    reader = TableReader(path)
    batch = next(iter(reader))
    assert batch.frame["_line"].to_list()[:3] == [2, 4, 6]
    assert batch.ids().to_list()[:3] == ["1", "2", "3"]
