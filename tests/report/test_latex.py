"""LaTeX tables hold nothing that a plain LaTeX with booktabs cannot set."""

from __future__ import annotations

import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from sensecheck.report.tables import Table

QUESTIONS = ("calibrated", "correct", "diverse", "faithful", "robust")


def titles() -> list[str]:
    return [
        statistic.title
        for name in QUESTIONS
        for statistic in import_module(f"sensecheck.{name}.figures").statistics({})
    ]  # fmt: skip


def test_every_figure_has_a_title_in_plain_latex() -> None:
    names = titles()
    assert len(names) > 60
    made = Table("Which of them?", ["figure", "p < 0.05"], [[name, "1.0"] for name in names], notes=["a|b > c"]).latex()
    assert made.isascii(), sorted({c for c in made if not c.isascii()})
    assert r"\caption{Which of them? a$|$b $>$ c.}" in made
    assert "p $<$ 0.05" in made


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_tables_compile(tmp_path: Path) -> None:
    hostile = [r"\input{/etc/passwd}", "$x_1$ % & # ~ ^ { }", "a|b <c> \"d\" 'e'", "50 %", "x\\"]
    table = Table("All figures", ["figure", "value"], [[name, "-0.5"] for name in [*titles()[:40], *hostile]])
    (tmp_path / "all.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n" + table.latex() + "\\end{document}\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 1000
