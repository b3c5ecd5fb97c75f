"""Comparisons of two and more runs: table, verdict, changes, tables for a paper, page."""

from __future__ import annotations

import base64
import functools
import gzip
import re
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

import sensecheck
from sensecheck import calibrated
from sensecheck.cli import main
from sensecheck.report.comparison import Comparisons
from sensecheck.report.page import comparison_page
from sensecheck.report.result import Result
from sensecheck.statistics.compare import ComparisonError

N = 300
pytestmark = pytest.mark.xdist_group("comparison")  # the systems are measured once


def measured(name: str, right: int, out: Path | None = None, lost: int = 0) -> Result:
    frame = pl.DataFrame(
        {
            "id": [f"q{i}" for i in range(N)],
            "confidence": ["?" if i < lost else "0.8" for i in range(N)],
            "correct": [str(int(i * 7 % 10 < right)) for i in range(N)],
            "kind": ["xyz"[i % 3] for i in range(N)],
            "answer": [f"{name} says {i}" for i in range(N)],
            "question": [f"question {i}" for i in range(N)],
        }
    )
    return calibrated.evaluate(frame, slices=["kind"], system=name, out=out, skip_bad=True)


system = functools.cache(measured)


@pytest.fixture(scope="module")
def three() -> Comparisons:
    return sensecheck.compare([system("A", 5), system("B", 7), system("C", 5)])


def test_the_first_is_compared_with_every_other(three: Comparisons) -> None:
    assert [pair.names for pair in three] == [("A", "B"), ("A", "C")]
    assert three["B"]["accuracy"].better == "b" and three["C"]["accuracy"].better == ""
    assert three["B"]["accuracy"].difference == pytest.approx(0.2)
    with pytest.raises(KeyError, match="no system 'D'"):
        three["D"]


def test_p_values_are_corrected_over_all_pairs(three: Comparisons) -> None:
    alone = sensecheck.compare([three.results[0], three.results[1]])
    one, many = alone["B"]["accuracy"], three["B"]["accuracy"]
    assert one.p_corrected is not None and many.p_corrected is not None
    assert one.p_corrected < many.p_corrected < 0.05
    assert one.p == many.p
    direct = three.results[0].compare(three.results[1])["accuracy"]
    assert (direct.p, direct.p_corrected) == (one.p, one.p_corrected), "the same from Python"


def test_the_verdict_is_plain(three: Comparisons) -> None:
    said = three.verdict()
    assert "B is better on accuracy: 0.7000 against A's 0.5000." in said
    assert "C and A: both runs are the same on accuracy, on all 300 independent units." in said


def test_changes_in_both_directions_by_slice(three: Comparisons) -> None:
    found = three["B"].flips_by("kind")
    assert found["rows"].sum() == N and found["better"].sum() == 60 and found["worse"].sum() == 0
    table = three["B"].flip_tables()[0]
    assert list(table.columns) == ["kind", "rows", "B better", "A better", "net", "net share"]
    assert table.rows[0][1:] == ["100", "20", "0", "+20", "+20.0%"]


def test_the_paper_tables(three: Comparisons) -> None:
    table = three.systems_table()
    latex, markdown = table.latex(), table.markdown()
    assert r"\usepackage{booktabs}" in latex and r"\toprule" in latex and r"\bottomrule" in latex
    assert r"B & " in latex and r"\textbf{0.7000$^\dagger$}" in latex
    assert "accuracy $\\uparrow$" in latex and r"\shortstack[r]{confidence \\ $-$ accuracy}" in latex
    assert not [
        line for line in latex.splitlines() if re.search(r"(?<!\\)[&%#](?! )", line) and "usepackage" not in line
    ]
    assert "**0.7000**†" in markdown and markdown.count("|\n") == 5
    tests = sum(d.p_corrected is not None for pair in three for d in pair)
    assert 3 <= tests <= 8 and f"Holm's correction over {tests} tests" in markdown
    assert r"$-$0." in three["B"].table().latex(), "a minus sign, not a hyphen"


def page_data(found: Comparisons) -> tuple[dict[str, Any], list[Any], str]:
    html = comparison_page(found)
    packed = re.search(r'id="examples-data">([^<]*)</script>', html)
    assert packed is not None
    head, *lines = [orjson.loads(x) for x in gzip.decompress(base64.b64decode(packed[1])).split(b"\n")]
    return head, lines, html


def test_the_page_shows_what_changed_first_and_what_both_share_once() -> None:
    found = sensecheck.compare([system("A", 5, lost=4), system("B", 7)])
    head, lines, html = page_data(found)
    states = [head["state"]["values"][c][0] for c in head["state"]["codes"]]
    changed = states.count("only B")
    assert changed > 50 and set(states[:changed]) == {"only B"}
    assert states.count("unscored in one") == 4
    both = sensecheck.compare([system("A", 5, lost=4), system("B", 7, lost=2)])
    other, _, _ = page_data(both)
    words = [other["state"]["values"][c][0] for c in other["state"]["codes"]]
    assert words.count("unscored in one") == 2 and words[-2:] == ["unscored in both"] * 2
    assert head["panels"] == ["", "A", "B"]
    title, shared, a, b = lines[0]
    label = head["labels"]
    assert [label[p[0]] for p in shared] == ["kind", "question"]
    number = title.split()[-1]
    assert [p[2][0][0] for p in a] == [f"A says {number}"] and [p[2][0][0] for p in b] == [f"B says {number}"]
    assert "B against A" in html and "Unscored in A" in html


def test_three_systems_on_one_page(three: Comparisons) -> None:
    head, lines, html = page_data(three)
    assert head["panels"] == ["", "A", "B", "C"] and len(lines[0]) == 5
    names = [c["name"] for c in head["categories"]]
    assert "B against A" in names and "C against A" in names
    assert head["state"]["values"][head["state"]["codes"][0]][0] == "they differ"
    assert "<strong>0.7000</strong>†" in html


def test_runs_that_cannot_be_compared_say_which(three: Comparisons) -> None:
    other = calibrated.evaluate(confidence=[0.5, 0.6], correct=[1, 0], system="D")
    with pytest.raises(ComparisonError, match="A and D: the two runs have no rows in common"):
        sensecheck.compare([three.results[0], other])
    with pytest.raises(ComparisonError, match="at least two runs"):
        sensecheck.compare([other])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, right in (("A", 5), ("B", 7), ("C", 8)):
        measured(name, right, out=tmp_path / name)
    runs = [str(tmp_path / name) for name in "ABC"]
    assert main(["compare", *runs[:2], "--report", str(tmp_path / "ab.html"), "--flips", "2"]) == 0
    out = capsys.readouterr().out
    assert "B is better on accuracy" in out and "changes by kind" in out and "changed between A and B (2 of 60)" in out
    assert (tmp_path / "ab.html").exists()
    assert main(["compare", *runs, "--format", "latex"]) == 0
    assert capsys.readouterr().out.count(r"\begin{table}") == 3
    assert main(["compare", *runs, "--format", "json"]) == 0
    said = orjson.loads(capsys.readouterr().out)
    assert said["schema"] == "sensecheck.comparisons/2" and len(said["pairs"]) == 2
    assert sum(row["better"] for row in said["pairs"][0]["flips_by"]["kind"]) == 60
    assert main(["compare", runs[0]]) == 2
    assert "at least two run directories" in capsys.readouterr().err


def test_a_difference_of_rounding_noise_needs_no_astronomical_number() -> None:
    found = sensecheck.compare([system("A", 5), system("B", 5)])
    orjson.dumps(found.to_dict(), option=orjson.OPT_SERIALIZE_NUMPY)
    assert all(d.units_needed is None or d.units_needed < 1e12 for d in found["B"])


def numbered(name: str, order: range, *, question: bool = True) -> Result:
    columns: dict[str, list[Any]] = {
        "confidence": [0.5 + i / 200 for i in order],
        "correct": [i % 3 > 0 for i in order],
    }
    if question:
        columns["question"] = [f"question {i}" for i in order]
    return calibrated.evaluate(pl.DataFrame(columns), system=name)


def test_a_comparison_says_when_examples_are_paired_by_line(tmp_path: Path) -> None:
    same = sensecheck.compare([numbered("A", range(60)), numbered("B", range(60))])
    assert same["B"].pairing.to_dict() == {
        "by": "number",
        "texts": [{"text": "question", "pairs": 60, "differing": 0}],
    }
    assert any("paired by number" in n and "question the same in all 60 pairs" in n for n in same["B"].table().notes)
    assert not any("Careful" in s for s in same.verdict())
    bare = sensecheck.compare([numbered("A", range(60), question=False), numbered("B", range(60), question=False)])
    said = "there is no text to check this by: the files must list the same examples in the same order"
    assert any(said in n for n in bare["B"].table().notes)
    assert said in bare.to_html(tmp_path / "page.html").read_text()


def test_pairs_that_are_not_the_same_examples_are_told_first() -> None:
    found = sensecheck.compare([numbered("A", range(60)), numbered("B", range(59, -1, -1))])
    first = found.verdict()[0]
    assert first.startswith("Careful: 60 of 60 pairs do not have the same question (the first: 1)")
    assert "are both files in the same order?" in first
    assert found["B"].to_dict()["pairing"]["texts"][0]["differing"] == 60


def test_named_examples_need_no_remark(three: Comparisons) -> None:
    assert three["B"].to_dict()["pairing"]["by"] == "id"
    assert not any("paired by" in n for n in three["B"].table().notes)


def test_what_a_system_did_itself_is_not_called_a_slice_of_the_input() -> None:
    def run(name: str, right: int) -> Result:
        frame = pl.DataFrame(
            {
                "id": [f"q{i}" for i in range(40)],
                "confidence": [0.8] * 40,
                "correct": [i % 10 < right for i in range(40)],
                "kind": ["xy"[i % 2] for i in range(40)],
                "ended": ["well" if i % 10 < right else "badly" for i in range(40)],
            }
        )
        return calibrated.evaluate(frame, slices=["kind", "ended"], system=name)

    found = sensecheck.compare([run("A", 5), run("B", 7)])
    assert [t.title for t in found["B"].flip_tables()] == ["changes by kind", "changes by ended of A"]


def test_an_outcome_with_words_of_its_own_is_told_in_them() -> None:
    from dataclasses import replace

    results = [measured("A", 5), measured("B", 7)]  # to be changed
    for result in results:
        words = ("keeps the logic", "breaks the logic")
        result.question = replace(result.question, outcome_words=words)
    head, _, _ = page_data(found := sensecheck.compare(results))
    assert [v[0] for v in head["state"]["values"][:4]] == [
        "only B breaks the logic",
        "only A breaks the logic",
        "both: breaks the logic",
        "both: keeps the logic",
    ]
    assert "breaks the logic: 60 only in B, 0 only in A" in found["B"].table().notes
