"""Pairs that a linguist can edit (`pairs.jsonl`): the rule that must speak up, or null where none may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sensecheck.faithful import Checker
from sensecheck.faithful.matching.ruling import CONFIDENCE
from sensecheck.faithful.matching.vocabulary import load_vocabulary
from sensecheck.language.lexicon import LexiconError

PAIRS = [json.loads(line) for line in (Path(__file__).parent / "pairs.jsonl").read_text("utf-8").splitlines()]
CHECKERS = {language: Checker(language) for language in ("sql", "logic2text", "sparql")}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p['rule'] or 'sound'}: {p['sentence'][:40]}")
def test_pair(pair: dict[str, Any]) -> None:
    verdict = CHECKERS[pair["language"]].check(pair["query"], pair["sentence"])
    rules = [f.rule for f in verdict.faults()]
    assert verdict.consistent is (pair["rule"] is None), rules
    if pair["rule"] is not None:
        assert pair["rule"] in rules


def test_every_rule_has_a_confidence_in_range() -> None:
    assert all(0 < c <= 1 for c in CONFIDENCE.values())
    used = {f.rule for p in PAIRS for f in CHECKERS[p["language"]].check(p["query"], p["sentence"]).findings
            if f.status in ("missing", "contradicted", "added")}  # fmt: skip
    assert used <= set(CONFIDENCE)


def test_evidence_points_into_both_texts() -> None:
    query = "SELECT name FROM boat WHERE length > 20 AND home != 'Lisbon'"
    sentence = 'Names of boats over twenty, not from Lisbon, with "oars"'
    found = CHECKERS["sql"].check(query, sentence).evidence()
    by_rule = {(e["rule"], e["status"]): e for e in found}
    start, end = by_rule["number", "said"]["query"]
    assert query[start:end] == "20"
    (start, end), *_ = by_rule["number", "said"]["sentence"]
    assert sentence[start:end] == "twenty"
    (start, end), *_ = by_rule["quotation_added", "added"]["sentence"]
    assert sentence[start:end] == "oars"
    start, end = by_rule["value", "said"]["query"]
    assert query[start:end] == "'Lisbon'"
    (start, end), *_ = by_rule["negation", "said"]["sentence"]
    assert sentence[start:end] == "not"


def test_strict_counts_doubtful_findings() -> None:
    form = "eq { max { all_rows ; points } ; 51 } = true"
    sentence = "kaunas won the most points ."
    assert Checker("logic2text").check(form, sentence).consistent is True
    assert Checker("logic2text", threshold=0.25).check(form, sentence).consistent is False


def test_strict_wants_everything_said_that_is_not_implied() -> None:
    query, sentence = "SELECT name FROM singer WHERE country = 'France'", "What are the names of singers from France?"
    assert Checker("sql").check(query, sentence).consistent is True
    strict = Checker("sql", threshold=0.25).check(query, sentence)
    assert strict.consistent is False
    assert [(f.kind, f.text) for f in strict.faults(0.25)] == [("column", "country")]
    full = "What are the names of singers whose country is France?"
    assert Checker("sql", threshold=0.25).check(query, full).consistent is True
    youngest = ("SELECT name FROM singer ORDER BY age LIMIT 1", "What is the name of the youngest singer?")
    assert Checker("sql", threshold=0.25).check(*youngest).consistent is True


def test_a_lexicon_of_ones_own(tmp_path: Path) -> None:
    query, sentence = "SELECT name FROM boat WHERE length > 20", "Names of boats that outstretch 20."
    assert Checker("sql").check(query, sentence).consistent is False
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"signals": {"greater": ["outstretch"]}, "groups": [["length", "outstretch"]]}))
    assert Checker("sql", lexicon=[str(own)]).check(query, sentence).consistent is True
    assert "outstretch" not in load_vocabulary().phrases  # the shipped lexicon is as it was
    own.write_text("[1]")
    with pytest.raises(ValueError, match="JSON object"):
        load_vocabulary(str(own), "")


@pytest.mark.parametrize(
    ("lexicon", "message"),
    [
        ({"units": 5}, "units: expected a list of words, got 5."),
        ({"units": ["kg", [1]]}, "units[2]: expected a word (a text that is not blank), got [1]."),
        ({"signals": ["not"]}, "signals: expected an object of lists of words, got ['not']."),
        ({"signals": {"negation": [""]}}, "signals.negation[1]: expected a word (a text that is not blank), got ''."),
        (
            {"comparative": {"comfier": []}},
            "comparative.comfier: expected a list that begins with a word (a text that is not blank), got [].",
        ),
        ({"rank": {}}, "rank: expected the key 'words', got {}."),
        ({"groups": [["two words"]]}, "groups[1]: expected a list with at least one single word, got ['two words']."),
        ({"abbreviations": {"a": None}}, "abbreviations.a: expected a word (a text that is not blank), got None."),
    ],
)
def test_a_lexicon_with_wrong_values_is_told(tmp_path: Path, lexicon: object, message: str) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps(lexicon))
    with pytest.raises(LexiconError) as caught:
        load_vocabulary(own)
    assert str(caught.value) == f"{own}: {message}"


def test_a_lexicon_that_is_no_json_is_told(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text("{'units': 1}")
    with pytest.raises(LexiconError) as caught:
        load_vocabulary(own)
    assert str(caught.value) == (
        f"{own}:1: expected a JSON object of word lists, got ''units': 1}}' at column 2 (a key in double quotes should stand here)."
    )


def test_a_lexicon_that_was_edited_is_read_again(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"units": ["furlong"]}))
    assert "furlong" in load_vocabulary(own).units
    own.write_text(json.dumps({"units": ["fathom"]}))
    assert "furlong" not in load_vocabulary(own).units and "fathom" in load_vocabulary(own).units


def test_a_query_with_many_sentences_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checker = Checker("sql")
    reads = []
    real = checker._read
    monkeypatch.setattr(checker, "_read", lambda q, c: reads.append(q) or real(q, c))
    for i in range(10):
        checker.check("SELECT name FROM boat", f"name of boat {i}")
    assert len(reads) == 1
