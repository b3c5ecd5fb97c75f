"""Text written by machines, or by people who mean harm: no exception, no blow-up, never a silent verdict."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.faithful import Checker
from sensecheck.faithful.measure import MAX_SENTENCE, measure
from sensecheck.faithful.records import Pairs

CHECKERS = {language: Checker(language) for language in ("sql", "logic2text", "sparql")}
QUERIES = {
    "sql": "SELECT name, count(*) FROM singer WHERE age > 30 AND country != 'a.b*(c' GROUP BY name "
    "HAVING count(*) >= 2 ORDER BY age DESC LIMIT 3",
    "logic2text": "eq { hop { nth_argmax { filter_greater { all_rows ; age ; 30 } ; age ; 2 } ; name } ; "
    "bob ( [x ) } = true",
    "sparql": "SELECT ?x WHERE { ?x a <http://x/Singer> ; <http://x/age> ?a . FILTER(?a > 30) } "
    "ORDER BY DESC(?a) LIMIT 1",
}
DEEP = {
    "sql": [
        "SELECT a FROM t WHERE a IN (" * 3000 + "1" + ")" * 3000,
        "SELECT a FROM t WHERE " + "NOT " * 9000 + "a",
        "SELECT " + "-" * 9000 + "1 FROM t",
    ],
    "logic2text": ["count { " * 5000 + "all_rows" + " }" * 5000],
    "sparql": ["SELECT * WHERE " + "{" * 5000 + "}" * 5000],
}
LONG = (
    "x" * (MAX_SENTENCE - 1), "not more than 5 " * 3000, "\"'" * 20_000, "1," * 20_000, "two " * 12_000,
    "from old to young " * 2500, "“" * 40_000, "or " * 15_000,
)  # fmt: skip


@pytest.mark.parametrize("language", list(QUERIES))
@pytest.mark.parametrize("sentence", LONG, ids=lambda s: s[:12])
def test_long_sentences_take_linear_time(language: str, sentence: str) -> None:
    begin = time.process_time()
    CHECKERS[language].check(QUERIES[language], sentence).evidence()
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("language", list(QUERIES))
def test_what_is_no_sentence_keeps_nothing_of_the_query(language: str) -> None:
    checker = CHECKERS[language]
    assert checker.check(QUERIES[language], " \n").reason == "empty_sentence"
    too_long = checker.check(QUERIES[language], "a" * 1_000_000)
    assert (too_long.consistent, too_long.reason) == (False, "over budget")
    assert too_long.detail == "matching words: a sentence of 1,000,000 characters, where 50,000 are allowed"
    assert {f.status for f in too_long.findings} == {"missing", "added"}
    assert [f["text"] for f in too_long.evidence()][-1] == too_long.detail


@pytest.mark.parametrize("language", list(DEEP))
def test_deep_nesting_is_unscored(language: str) -> None:
    for query in DEEP[language]:
        verdict = CHECKERS[language].check(query, "a sentence")
        assert verdict.consistent is None
        assert verdict.reason in ("too_deep", "unreadable_query", "unsupported_query")


@pytest.mark.parametrize("language", list(QUERIES))
@pytest.mark.parametrize(
    "sentence",
    [
        "(((([[[[***+++???\\",
        "\x00\x01",
        "\u202eevil\u202c \u200bzero",
        "\ud800 lone",
        "<script>alert(1)</script>",
        "%s {0} ${x}",
    ],
)
def test_strange_characters(language: str, sentence: str) -> None:
    assert CHECKERS[language].check(QUERIES[language], sentence).consistent is False


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(QUERIES)), st.text(max_size=120), st.text(max_size=120))
def test_any_text_gets_a_verdict_or_a_reason(language: str, query: str, sentence: str) -> None:
    for asked in (query, QUERIES[language]):
        verdict = CHECKERS[language].check(asked, sentence)
        assert (verdict.consistent is None) == (verdict.reason is not None)
        verdict.evidence()


def test_nothing_is_lost_from_a_batch() -> None:
    batch = measure(CHECKERS["sql"], Pairs(["SELECT x", None, QUERIES["sql"]], ["x?", "y", None]))
    assert batch.measurements["scored"].to_list() == [True, False, False]
    assert batch.measurements["reason"].to_list() == [None, "missing_query", "missing_sentence"]
    assert batch.examples is not None and len(batch.examples) == 3
