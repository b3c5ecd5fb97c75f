"""Tables and pictures: how numbers are written, and what they show of themselves."""

from __future__ import annotations

import pytest

from sensecheck import calibrated
from sensecheck.plotting.svg import label, number
from sensecheck.report.tables import decimal


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
