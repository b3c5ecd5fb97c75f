"""LaTeX tables hold nothing that a plain LaTeX with booktabs cannot set."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sensecheck.instruments import OWN
from sensecheck.report.tables import Table


def titles() -> list[str]:
    return [
        statistic.title
        for room in OWN.values()
        for statistic in room.QUESTION.statistics({})
    ]  # fmt: skip


def test_every_figure_has_a_title_in_plain_latex() -> None:
    names = titles()
    assert len(names) > 60
    made = Table("Which of them?", ["figure", "p<0.05"], [[name, "1.0"] for name in names], notes=["a|b > c"]).latex()
    assert made.isascii(), sorted({c for c in made if not c.isascii()})
    assert r"\caption{Which of them? a$|$b $>$ c.}" in made
    assert "p$<$0.05" in made


def wide() -> Table:
    heads = ["figure", "Parser A", "Parser B", "something contradicted ↓", "95% interval", "p (Holm)"]
    cells = ["accuracy at 90% coverage", "0.6118", "0.9145", "-0.3026", "[-0.4065, -0.2427]", "0.0110"]
    return Table("Differences", heads, [cells] * 3)


def test_wide_tables_are_set_smaller_and_their_heads_stacked() -> None:
    made = wide().latex()
    assert "\\footnotesize\n\\setlength{\\tabcolsep}{4pt}" in made
    assert r"\shortstack[r]{something \\ contradicted $\downarrow$}" in made
    narrow = wide().without("95% interval", "something contradicted ↓").latex()
    assert "size" not in narrow and "tabcolsep" not in narrow
    assert "interval" not in narrow and "0.4065" not in narrow and "0.0110" in narrow


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_tables_compile(tmp_path: Path) -> None:
    hostile = [r"\input{/etc/passwd}", "$x_1$ % & # ~ ^ { }", "a|b <c> \"d\" 'e'", "50 %", "x\\"]
    table = Table("All figures", ["figure", "value"], [[name, "-0.5"] for name in [*titles()[:40], *hostile]])
    (tmp_path / "all.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
        + table.latex() + wide().latex() + "\\end{document}\n",
        encoding="utf-8",
    )  # fmt: skip
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 1000
