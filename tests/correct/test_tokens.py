"""Exact match by tokens in a run, and what the page marks as different."""

from __future__ import annotations

import pytest

from sensecheck.correct import evaluate
from sensecheck.correct.examples import example_page
from sensecheck.correct.measure import MOST_CHARACTERS, token_match
from sensecheck.statistics.figure import IntervalOptions

NO_INTERVALS = IntervalOptions(method="none")
GOLD = "SELECT Name FROM shop WHERE town = 'A'"


def test_em_tokens_stands_beside_em() -> None:
    told = ["select name\nfrom shop where town='A';", GOLD.lower(), None, GOLD, "SELECT name FROM shop"]
    records = [{"id": str(n), "gold": GOLD, "prediction": text} for n, text in enumerate(told)]
    rows = evaluate(records, options=NO_INTERVALS).measurements
    assert rows["em"].to_list() == [False, True, False, True, False]
    assert rows["em_tokens"].to_list() == [True, False, False, True, False]


def test_several_golds_and_answers_without_a_query() -> None:
    several = {"id": "1", "gold": ["SELECT 1", "SELECT 2"], "prediction": "select  2"}
    assert evaluate([several], options=NO_INTERVALS)["em_tokens"].value == 1
    answer = {"id": "1", "gold": "SELECT 1", "predicted_answers": [1], "answers": [1]}
    assert evaluate([answer], language="sql", options=NO_INTERVALS)["em_tokens"].n == 0


def test_what_is_too_long_matches_nothing() -> None:
    long = "SELECT " + "a, " * MOST_CHARACTERS
    assert token_match(long, long, "sql") is True
    assert token_match(long, long + " ", "sql") is False


def marked(gold: str, prediction: str) -> list[list[list[str]]]:
    import polars as pl

    frame = pl.DataFrame({"id": ["1"], "gold": [gold], "prediction": [prediction]})
    (example,) = example_page(frame)
    return [part["spans"] for part in example["parts"] if part["label"] in ("gold", "prediction")]


@pytest.mark.parametrize(
    "gold, prediction",
    [
        (GOLD, "select NAME from Shop\n  where town='A' ;"),
        ("ASK { ?x wdt:P31 wd:Q5 }", "ask{ ?x wdt: P31 wd: Q5 }"),
    ],
)
def test_spacing_and_case_are_not_marked(gold: str, prediction: str) -> None:
    assert marked(gold, prediction) == [[[gold, ""]], [[prediction, ""]]]


def test_what_differs_is_marked_in_both() -> None:
    assert marked("SELECT a, b FROM t WHERE c = 'X'", "select b from t where c = 'x'") == [
        [["SELECT ", ""], ["a,", "missing"], [" b FROM t WHERE c = ", ""], ["'X'", "missing"]],
        [["select b from t where c = ", ""], ["'x'", "added"]],
    ]
    assert marked("", "SELECT 1")[1] == [["SELECT 1", "added"]]
    assert "".join([text for text, _ in marked(GOLD, "nothing of it")[1]]) == "nothing of it"
