"""What two readings said of 300 statements of the sentence rules, blind to the rule: docs/robust-audit.csv.

The sheet names data set, index and rule; the sentences are other people's, and stay where they are.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.statements import SOUND, agreement, hypotheses, readings, sheet

from sensecheck.language.rewriting.engine import rewrite
from sensecheck.language.rewriting.rules import RULES

DOCS = Path(__file__).resolve().parents[2] / "docs" / "robust.md"


def test_agreement_by_hand() -> None:
    """Of ten, eight alike; by chance 0.7·0.7 + 0.3·0.3."""
    pairs = [("ok", "ok")] * 6 + [("wrong", "wrong")] * 2 + [("ok", "wrong"), ("wrong", "ok")]
    assert agreement(pairs) == pytest.approx((0.8, (0.8 - 0.58) / (1 - 0.58)))
    assert agreement([("ok", "ok")] * 3) == (1.0, 1.0)


def test_the_sheet_holds_readings_and_no_sentences() -> None:
    rows = sheet()
    names = {rule.name for rule in RULES}
    assert Counter((row["data set"], row["claimed"]) for row in rows) == {
        (name, claimed): 50 for name in ("SNLI", "MNLI", "ANLI") for claimed in ("follows", "contradicts")
    }
    assert len({(row["data set"], row["index"]) for row in rows}) == 300
    for row in rows:
        assert list(row) == ["data set", "index", "rule", "claimed", "reading 1", "reading 2"]
        assert row["index"].isdigit() and int(row["index"]) % 2 == 1
        assert row["rule"].removesuffix(", denied") in names
        assert {row["reading 1"], row["reading 2"]} <= {"ok", "slip", "wrong", "ungrammatical"}


@pytest.mark.parametrize("name", ["SNLI", "MNLI", "ANLI"])
def test_the_page_says_what_the_sheet_says(name: str) -> None:
    rows = [row for row in sheet() if row["data set"] == name]
    pairs = readings(rows)
    sound = [sum(pair[k] in SOUND for pair in pairs) for k in (0, 1)]
    same, kappa = agreement(pairs)
    line = next(line for line in DOCS.read_text("utf-8").splitlines() if line.startswith(f"| {name} | 100 |"))
    assert line == f"| {name} | 100 | {sound[0]} | {sound[1]} | {same:.2f} | {kappa:.2f} |"


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "least"), [("SNLI", (0.92, 0.92)), ("MNLI", (0.75, 0.70)), ("ANLI", (0.80, 0.80)), ("QNLI", (0.60, 0.60))]
)
def test_enough_statements_for_real_text(shared: Path, name: str, least: tuple[float, float]) -> None:
    texts = hypotheses(name)[::4]
    for positive, share in zip((True, False), least, strict=True):
        made = [rewrite(text, positive, 5) for text in texts]
        assert sum(len(m) == 5 for m in made) / len(made) >= share
        assert all(sum(s.frame for s in m) <= 1 for m in made)
