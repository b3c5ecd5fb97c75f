"""Cells that a spreadsheet would run: marked in the CSV that we write, as they were when we read it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensecheck import robust
from sensecheck.cli import main
from sensecheck.inputs.formulas import marked, marked_csv, unmarked, unmarked_cells
from sensecheck.inputs.tables import read_table
from sensecheck.robust.audit import write_sheet
from sensecheck.robust.records import statements_in_file

CELLS = [
    "=1+1",
    "+1 234",
    "-x",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "'=1",
    "''=1",
    "'tis",
    "-0.5",
    "+3e7",
    "plain",
    "",
    "-",
    "'-0.5",
]


@given(st.text(alphabet=st.sampled_from("'=+-@\t\r01.ex \n\""), max_size=8) | st.text(max_size=20))
def test_taking_the_mark_off_gives_back_what_was_written(cell: str) -> None:
    assert unmarked(marked(cell)) == cell
    frame = unmarked_cells(pl.DataFrame({"a": [marked(cell)]}))
    assert frame["a"].to_list() == [cell]
    assert not marked(cell).startswith(("=", "@", "\t", "\r"))


@pytest.mark.parametrize("cell", ["-0.5", "+1", "-3e-7", "-.5"])
def test_numbers_stay_numbers(cell: str) -> None:
    assert marked(cell) == cell


def test_a_table_for_people(tmp_path: Path) -> None:
    written = marked_csv(pl.DataFrame({"=name": CELLS, "number": [-0.5] * len(CELLS)}))
    path = tmp_path / "t.csv"
    path.write_bytes(written)
    cells = pl.read_csv(path)["'=name"].fill_null("").to_list()
    assert cells == [marked(cell) for cell in CELLS]
    assert pl.read_csv(path)["number"].to_list() == [-0.5] * len(CELLS)


def test_statements_of_a_generator(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "formula_generator.py").write_text(
        "def g(text, positive, n):\n    return ['=1+1 is so.', \"'@home is so.\"]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"premise": "p", "hypothesis": "=a moves.", "label": "neutral"}) + "\n")
    out = tmp_path / "s.csv"
    assert main(["robust", "generate", str(pairs), "-o", str(out), "--generator", "py:formula_generator:g"]) == 0
    assert all(not line.startswith(("=", "@")) and ",=" not in line for line in out.read_text().splitlines())
    rows = list(statements_in_file(str(out)))
    assert {text for _, _, text, *_ in rows} == {"=1+1 is so.", "'@home is so."}
    assert {hypothesis for hypothesis, *_ in rows} == {"=a moves."}


def test_a_sheet_to_check_by_hand(tmp_path: Path, capsys: Any) -> None:
    run = tmp_path / "run"
    pairs = [
        {"id": f"={i}", "premise": "=A man runs in a park.", "hypothesis": "A man runs.", "label": "entailment"}
        for i in range(3)
    ]
    result = robust.evaluate(pairs, out=run, only_correct=False)
    sheet = tmp_path / "sheet.csv"
    assert write_sheet(result, sheet)
    assert ",=" not in sheet.read_text() and "\n=" not in sheet.read_text()
    filled = pl.read_csv(sheet, infer_schema=False).with_columns(grammatical=pl.lit("yes"))
    filled.write_csv(sheet)
    assert main(["robust", "audit", str(run), "--read", str(sheet)]) == 0
    assert f"checked {len(filled)} statements" in capsys.readouterr().out


def test_recalibrated_confidences(tmp_path: Path) -> None:
    rows = [{"id": f"={i}", "confidence": 0.3 + i / 100, "correct": i % 2} for i in range(40)]
    data, out = tmp_path / "a.jsonl", tmp_path / "new.csv"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["recalibrate", str(data), "--same-rows", "--write", str(out)]) == 0
    assert out.read_text().splitlines()[1].startswith("'=0,")
    read = read_table(str(out), columns={"confidence": "recalibrated"})
    assert read["id"].to_list() == [row["id"] for row in rows]


def test_what_others_wrote_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("id,sentence\n1,'@home' is a sentence\n")
    assert read_table(str(path))["sentence"].to_list() == ["'@home' is a sentence"]
