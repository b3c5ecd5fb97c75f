"""Tokens of queries: what is spacing and case, and what is not."""

from __future__ import annotations

import time

import pytest

from sensecheck.language.query_tokens import pieces, same_tokens


@pytest.mark.parametrize(
    "a, b",
    [
        ("SELECT a FROM t", "select a from t"),
        ("SELECT a FROM t", "SELECT\n\ta\nFROM   t ;"),
        ("SELECT a FROM t", "SELECT a -- the column\nFROM t /* the table */"),
        ("SELECT T1.Name FROM t AS T1", "select t1 . name from T as t1"),
        ("SELECT count(*) FROM t WHERE a>=1", "SELECT COUNT ( * ) FROM t WHERE a >= 1"),
        ("SELECT a FROM [My Table]", "SELECT a FROM [my table]"),
        ("", " ;"),
    ],
)
def test_sql_that_differs_in_spacing_and_case_alone(a: str, b: str) -> None:
    assert same_tokens(a, b, "sql")


@pytest.mark.parametrize(
    "a, b",
    [
        ("SELECT a FROM t WHERE b = 'X'", "SELECT a FROM t WHERE b = 'x'"),
        ("SELECT a FROM t WHERE b = 'x y'", "SELECT a FROM t WHERE b = 'x  y'"),
        ("SELECT a FROM t WHERE b = '--'", "SELECT a FROM t WHERE b = '"),
        ('SELECT a FROM t WHERE b = "X"', "SELECT a FROM t WHERE b = 'X'"),
        ('SELECT "A" FROM t', 'SELECT "a" FROM t'),
        ("SELECT a b FROM t", "SELECT ab FROM t"),
        ("SELECT a FROM t", "SELECT a FROM t; SELECT a FROM t"),
        ("SELECT a > = b FROM t", "SELECT a >= b FROM t"),
        ("SELECT a FROM t", ""),
    ],
)
def test_sql_that_differs_in_more(a: str, b: str) -> None:
    assert not same_tokens(a, b, "sql")
    assert not same_tokens(b, a, "sql")


def test_sparql_compares_keywords_alone_without_case() -> None:
    gold = 'SELECT ?x WHERE { ?x wdt:P31 wd:Q5 . FILTER(?n = "Ann") }'
    assert same_tokens(gold, 'select ?x where{?x wdt: P31 wd: Q5.filter( ?n="Ann" )} # all', "sparql")
    for other in (gold.replace("?x", "?X"), gold.replace("Q5", "q5"), gold.replace("Ann", "ann")):
        assert not same_tokens(gold, other, "sparql")


@pytest.mark.parametrize("language", ["sql", "sparql"])
@pytest.mark.parametrize("text", ["", "'", '"', "`[<{/*--#", "a\x00b", "\ud800", "é" * 9, "<" * 50, '"""x', "::::"])
def test_any_text_has_tokens_and_none_is_lost(text: str, language: str) -> None:
    found = pieces(text, language)  # type: ignore[arg-type]
    assert "".join([piece.text for piece in found]) == text
    assert same_tokens(text, text + " ", language)  # type: ignore[arg-type]


@pytest.mark.parametrize("language", ["sql", "sparql"])
@pytest.mark.parametrize(
    "part", ["'", "'a", '"', "/*", "/* ", "[", "`", "<", "a.", "a-", "1e", "_:", '"""', "@a-", "\\", ";"]
)
def test_tokens_of_hostile_text_take_linear_time(part: str, language: str) -> None:
    started = time.process_time()
    pieces(part * 50_000, language)  # type: ignore[arg-type]
    assert time.process_time() - started < 3
