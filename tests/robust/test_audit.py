"""The sheet for people: written, corrected, read back, by hand-counted rates."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.models.generators import StoredStatements
from sensecheck.report.result import Result, load
from sensecheck.robust import evaluate
from sensecheck.robust.audit import read_back, write_sheet

BROKEN = {("P0.", f"H0 {k}.") for k in range(4)} | {("P1.", "H1 0.")}


def model(premises: list[str], hypotheses: list[str]) -> list[int]:
    """Says entailment of everything, but for five statements."""
    return [2 if pair in BROKEN else 0 for pair in zip(premises, hypotheses, strict=True)]


@pytest.fixture
def run(tmp_path: Path) -> Result:
    """Ten pairs of five statements: 50 judged, 5 broken."""
    rows = [{"premise": f"P{i}.", "hypothesis": f"H{i}.", "label": 0} for i in range(10)]
    made = StoredStatements([(f"H{i}.", True, f"H{i} {k}.") for i in range(10) for k in range(5)])
    result = evaluate(rows, model=model, generator=made, polarity="positive", check_labels=False, out=tmp_path / "run")
    assert result["statement_violation"].value == pytest.approx(5 / 50)
    return result


def filled(sheet: Path, **columns: pl.Expr) -> None:
    pl.read_csv(sheet, infer_schema=False).with_columns(**columns).write_csv(sheet)


def test_the_round_trip_by_command(run: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "sheet.csv"
    assert main(["robust", "audit", str(tmp_path / "run"), "-o", str(sheet), "-n", "20"]) == 0
    assert "20 statements to check" in capsys.readouterr().out
    frame = pl.read_csv(sheet, infer_schema=False)
    assert len(frame) == 20 and frame.filter(pl.col("broken") != "no").height == 5
    assert frame.filter(pl.col("broken") != "no").select("premise", "statement").rows() == [
        row for row in frame.select("premise", "statement").iter_rows() if row in BROKEN
    ]

    # Nothing filled in: nothing checked, and no rate after.
    assert main(["robust", "audit", str(tmp_path / "run"), "--read", str(sheet)]) == 0
    assert "checked 0 statements, – of them valid" in capsys.readouterr().out

    # All fair: the same rate.
    filled(sheet, grammatical=pl.lit("yes"), polarity_right=pl.lit("Yes"))
    found = read_back(run, sheet)
    assert found["checked"] == 20 and found["valid"] == 1.0
    assert found["violation_after"] == pytest.approx(0.1)

    # Two of the five broken ones were no fair test: 3 of (50 - 2).
    unfair = (pl.col("premise") == "P0.") & pl.col("statement").is_in(["H0 0.", "H0 1."])
    filled(sheet, polarity_right=pl.when(unfair).then(pl.lit("no")).otherwise(pl.lit("yes")))
    found = read_back(run, sheet)
    assert found["valid"] == pytest.approx(18 / 20)
    assert found["violation_after"] == pytest.approx(3 / 48)

    # In one more the model was right and the rule's label wrong, and one that it kept is wrong after all: of the 45
    # that were kept 15 are on the sheet, so that one stands for three.
    right = pl.col("statement") == "H0 2."
    kept = frame.filter(pl.col("broken") == "no")["statement"][0]
    filled(
        sheet,
        true_label=pl.when(right)
        .then(pl.lit("contradiction"))
        .when(pl.col("statement") == kept)
        .then(pl.lit("Neutral"))
        .otherwise(pl.lit("")),
    )
    found = read_back(load(tmp_path / "run"), sheet)
    assert found["violation_after"] == pytest.approx((2 + 3) / 48)
    assert main(["robust", "audit", str(tmp_path / "run"), "--read", str(sheet)]) == 0
    said = capsys.readouterr().out
    assert "checked 20 statements, 90.0% of them valid" in said
    assert "10.0% before, 10.4% after the corrections" in said


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("grammatical", "hardly", "expected yes or no, got 'hardly'"),
        ("polarity_right", "?", "expected yes or no, got '\\?'"),
        ("true_label", "perhaps", "expected entailment, neutral, contradiction, got 'perhaps'"),
        ("row", "99/positive", "expected a judged statement of this run, got '99/positive'"),
    ],
)
def test_a_wrong_cell_is_told_with_its_line(run: Result, tmp_path: Path, column: str, value: str, told: str) -> None:
    sheet = tmp_path / "sheet.csv"
    write_sheet(run, sheet, n=6)
    filled(sheet, grammatical=pl.lit("yes"))
    rows = pl.read_csv(sheet, infer_schema=False).with_row_index()
    rows.with_columns(pl.when(pl.col("index") == 2).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)).drop(
        "index"
    ).write_csv(sheet)
    with pytest.raises(InputError, match=rf"sheet.csv:4: {column}: {told}"):
        read_back(run, sheet)


def test_the_sample_is_seeded(run: Result, tmp_path: Path) -> None:
    a, b, c = (tmp_path / f"{name}.csv" for name in "abc")
    write_sheet(run, a, n=8, seed=1)
    write_sheet(run, b, n=8, seed=1)
    write_sheet(run, c, n=8, seed=2)
    assert a.read_text() == b.read_text() != c.read_text()


def test_either_write_or_read(run: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["robust", "audit", str(tmp_path / "run")]) == 2
    assert "either -o FILE" in capsys.readouterr().err
