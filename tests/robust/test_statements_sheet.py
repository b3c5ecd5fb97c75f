"""What two readers said of 300 statements of the sentence rules, blind to the rule: docs/robust-audit.csv.

The sheet names data set, index and rule; the sentences are other people's, and stay where they are.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.statements import SOUND, agreement, hypotheses, kappa_told, readings, sheet, sound_or_not, two_readers

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
    assert agreement(sound_or_not([("ok", "slip"), ("wrong", "ungrammatical"), ("slip", "wrong")])) == pytest.approx(
        (2 / 3, 0.4)
    )


def test_the_sheet_holds_readings_and_no_sentences() -> None:
    rows = sheet()
    names = {rule.name for rule in RULES}
    assert Counter((row["data set"], row["claimed"]) for row in rows) == {
        (name, claimed): 50 for name in ("SNLI", "MNLI", "ANLI") for claimed in ("follows", "contradicts")
    }
    assert len({(row["data set"], row["index"]) for row in rows}) == 300
    for row in rows:
        assert list(row) == ["data set", "index", "rule", "claimed", "reading 1", "reading 2", "reader 2"]
        assert row["index"].isdigit() and int(row["index"]) % 2 == 1
        assert row["rule"].removesuffix(", denied") in names
        assert {row["reading 1"], row["reading 2"], row["reader 2"]} <= {"ok", "slip", "wrong", "ungrammatical"}


@pytest.mark.parametrize("name", ["SNLI", "MNLI", "ANLI"])
def test_the_page_says_what_the_sheet_says(name: str) -> None:
    rows = [row for row in sheet() if row["data set"] == name]
    pairs = readings(rows)
    sound = [sum(pair[k] in SOUND for pair in pairs) for k in (0, 1)]
    same, kappa = agreement(pairs)
    line = next(line for line in DOCS.read_text("utf-8").splitlines() if line.startswith(f"| {name} | 100 |"))
    between = sound_or_not(two_readers(rows))
    second = sum(row["reader 2"] in SOUND for row in rows)
    assert line == (
        f"| {name} | 100 | {sound[0]} | {sound[1]} | {same:.2f} | {kappa:.2f} "
        f"| {second} | {agreement(between)[0]:.2f} | {kappa_told(between)} |"
    )


def test_the_page_says_how_far_two_readers_agree_word_for_word() -> None:
    by_name = [[row for row in sheet() if row["data set"] == name] for name in ("SNLI", "MNLI", "ANLI")]
    word_for_word = [agreement(two_readers(rows)) for rows in by_name]
    shares, kappas = (listed([f"{each:.2f}" for each in kind]) for kind in zip(*word_for_word, strict=True))
    first, second = (
        [str(sum(row[column] == "slip" for row in rows)) for rows in by_name] for column in ("reading 1", "reader 2")
    )
    text = " ".join(DOCS.read_text("utf-8").split())
    assert f"{shares} of statements, kappa {kappas}." in text
    assert f"the first reader marked {first[0]} of them on SNLI, {first[1]} on MNLI and {first[2]} on ANLI." in text
    assert f"passed {listed(second)} for that reason alone" in text


def listed(several: list[str]) -> str:
    return ", ".join(several[:-1]) + " and " + several[-1]


def test_the_page_says_what_the_sheet_says_of_families() -> None:
    rows = sheet()
    family_of = {rule.name: rule.family for rule in RULES}
    lines = set(DOCS.read_text("utf-8").splitlines())
    for family, n in Counter(family_of[row["rule"].removesuffix(", denied")] for row in rows).items():
        its = [row for row in rows if family_of[row["rule"].removesuffix(", denied")] == family]
        both = sum(SOUND.issuperset(pair) for pair in readings(its))
        low, high = wilson(both, n)
        second = sum(row["reader 2"] in SOUND for row in its)
        assert (f"| {family} | {n} | {both} | [{low:.3f}, {high:.3f}] | {second} |" in lines) == (n >= 10)


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
