"""Tables and pictures: how numbers are written, and what they show of themselves."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from sensecheck import calibrated, correct
from sensecheck.plotting.svg import label, number
from sensecheck.report.page import page
from sensecheck.report.tables import decimal
from sensecheck.statistics.figure import Figure, IntervalOptions


@pytest.mark.parametrize("value", [0.0, -0.0, -5.6e-11, -0.00004])
def test_what_rounds_to_zero_has_no_sign(value: float) -> None:
    assert decimal(value) == "0.0000"
    assert decimal((value, 1.0)) == "0.0000 1.0000"
    assert number(value) == "0"
    assert label(-0.0, 0.1) == "0.0"


def test_no_table_shows_a_negative_zero(capsys: pytest.CaptureFixture[str]) -> None:
    # One confidence, met exactly: the ends of resolution are rounding errors around 0.
    result = calibrated.evaluate(confidence=[0.7] * 40, correct=[i % 10 < 7 for i in range(40)])
    for form in ("table", "markdown", "latex"):
        result.show(form)
    shown = capsys.readouterr().out + result._repr_html_() + repr(result)
    assert "-0.0000" not in shown
    assert "$-$0.0000" not in shown


def test_a_picture_is_told_in_a_line() -> None:
    result = calibrated.evaluate(confidence=[0.7, 0.2] * 20, correct=[True, False] * 20, system="a\x1b[31m" + "b" * 300)
    for chart in result.charts():
        told = repr(chart)
        assert told.startswith(f"<Chart {chart.name!r}: ")
        assert len(told) < 260 and told.isprintable() and "<path" not in told


def test_rows_that_only_some_figures_leave_out_are_told_with_their_reason(tmp_path: Path) -> None:
    gold = {"a": "SELECT ?x { ?x <urn:p> ?y }", "b": "ASK { <urn:a> <urn:p> <urn:b> }"}
    rows = [{"id": str(i), "gold": gold["ab"[i % 2]], "prediction": gold["ab"[i % 2]]} for i in range(10)]
    pytest.importorskip("pyoxigraph")
    (tmp_path / "g.nt").write_text("<urn:a> <urn:p> <urn:b> .\n")
    result = correct.evaluate(rows, graph=tmp_path / "g.nt", options=IntervalOptions(replicates=60))
    common, own = result.unscored_by_figures()
    assert common == {}
    [(figures, reasons)] = own
    assert figures[0].title == "F1 (macro)" and "accuracy" not in {f.name for f in figures}
    assert reasons == {"whose answer is no set (yes or no, or a count)": 5}
    html = page(result)
    assert "Every row was scored." not in html
    assert "Every row counts in some figure." in html and "F1 (macro) · precision (macro)" in html
    terminal = io.StringIO()
    result.show(stream=terminal)
    assert "not counted in F1 (macro) · precision (macro)" in terminal.getvalue()
    assert "5 whose answer is no set" in terminal.getvalue()


def test_rows_that_no_figure_counts_stand_apart_from_those_that_some_leave_out() -> None:
    def figure(name: str, **unscored: int) -> Figure:
        return Figure(name, name, 0.5, 10, None, unscored)

    figures = [figure("ece", bad=2), figure("brier", bad=2, few=3), figure("nll", bad=2, few=3), figure("auroc", bad=5)]
    base = calibrated.evaluate(confidence=[0.5, 0.6], correct=[True, False])
    base.estimates.overall[:] = figures
    common, own = base.unscored_by_figures()
    assert common == {"bad": 2}
    assert [([f.name for f in group], reasons) for group, reasons in own] == [
        (["brier", "nll"], {"few": 3}), (["auroc"], {"bad": 3}),
    ]  # fmt: skip
    notes = base.tables()[0].notes
    assert "unscored: 2 bad" in notes and "not counted in brier · nll: 3 few" in notes
    assert "1 other figure lacks rows of its own: the report says which and why" in notes
    html = page(base)
    assert "Rows that no figure counts:" in html and "Every other row counts in some figure." in html
    assert html.index("brier · nll: 3 few") < html.index("Other figures leave out") < html.index("auroc: 3 bad")
