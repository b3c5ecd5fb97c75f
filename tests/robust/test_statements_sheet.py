"""What three readers said of 300 statements of the sentence rules, blind to the rule: docs/robust-audit.csv.

The sheet names data set, index, place and rule; the sentences are other people's, and stay where they are.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.statements import (
    READERS,
    agreement,
    hypotheses,
    kappa_told,
    sheet,
    sound_to,
    sound_to_all,
    two_by_two,
)

from sensecheck.language.rewriting.engine import rewrite
from sensecheck.language.rewriting.rules import RULES
from sensecheck.robust.measure import wilson

DOCS = Path(__file__).resolve().parents[2] / "docs" / "robust.md"


def test_agreement_by_hand() -> None:
    """Of ten, eight alike; by chance 0.7·0.7 + 0.3·0.3."""
    pairs = [("ok", "ok")] * 6 + [("wrong", "wrong")] * 2 + [("ok", "wrong"), ("wrong", "ok")]
    assert agreement(pairs) == pytest.approx((0.8, (0.8 - 0.58) / (1 - 0.58)))
    assert agreement([("ok", "ok")] * 3) == (1.0, 1.0)
    assert kappa_told(pairs) == "0.52"
    assert kappa_told([("ok", "ok")] * 3) == "–"


def test_sound_is_what_is_no_more_than_a_slip() -> None:
    rows = [dict(zip(READERS, said, strict=True)) for said in (("ok", "slip", "wrong"), ("ok", "ok", "slip"))]
    assert sound_to(rows, "reader 3") == ["False", "True"] and sound_to_all(rows) == 1
    assert two_by_two(rows) == [[("True", "True")] * 2, *[[("True", "False"), ("True", "True")]] * 2]


def test_the_sheet_holds_readings_and_no_sentences() -> None:
    rows = sheet()
    names = {rule.name for rule in RULES}
    assert Counter((row["data set"], row["claimed"]) for row in rows) == {
        (name, claimed): 50 for name in ("SNLI", "MNLI", "ANLI") for claimed in ("follows", "contradicts")
    }
    assert len({(row["data set"], row["index"]) for row in rows}) == 300
    for row in rows:
        assert list(row) == ["data set", "index", "place", "rule", "claimed", *READERS]
        assert row["index"].isdigit() and int(row["index"]) % 2 == 1 and row["place"] in "12345"
        assert row["rule"].removesuffix(", denied") in names
        assert {row[reader] for reader in READERS} <= {"ok", "slip", "wrong", "ungrammatical"}


@pytest.mark.golden
def test_the_statements_that_were_read_are_those_that_the_rules_make(shared: Path) -> None:
    for row in sheet():
        text = hypotheses(row["data set"])[int(row["index"])]
        made = rewrite(text, row["claimed"] == "follows", 5)
        assert made[int(row["place"]) - 1].rule == row["rule"], row


@pytest.mark.parametrize("name", ["SNLI", "MNLI", "ANLI"])
def test_the_page_says_what_the_sheet_says(name: str) -> None:
    rows = [row for row in sheet() if row["data set"] == name]
    sound = [sound_to(rows, reader).count("True") for reader in READERS]
    agreed = [f"{agreement(pairs)[0]:.2f}" for pairs in two_by_two(rows)]
    kappas = [kappa_told(pairs) for pairs in two_by_two(rows)]
    cells = [name, 100, *sound, sound_to_all(rows), *agreed, *kappas]
    assert f"| {' | '.join(map(str, cells))} |" in DOCS.read_text("utf-8").splitlines()


def test_the_page_says_what_the_sheet_says_of_slips() -> None:
    rows = sheet()
    slips = [str(sum(row[reader] == "slip" for row in rows)) for reader in READERS]
    assert f"marked {slips[0]}, {slips[1]} and {slips[2]} of the 300" in " ".join(DOCS.read_text("utf-8").split())


def test_the_page_says_what_the_sheet_says_of_families() -> None:
    rows = sheet()
    family_of = {rule.name: rule.family for rule in RULES}
    lines = set(DOCS.read_text("utf-8").splitlines())
    for family, n in Counter(family_of[row["rule"].removesuffix(", denied")] for row in rows).items():
        its = [row for row in rows if family_of[row["rule"].removesuffix(", denied")] == family]
        low, high = wilson(sound_to_all(its), n)
        assert (f"| {family} | {n} | {sound_to_all(its)} | [{low:.3f}, {high:.3f}] |" in lines) == (n >= 10)


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
