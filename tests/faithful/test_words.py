"""Tokens with places, numbers by value, words in other forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensecheck.language.morphology import lemma, root, stem
from sensecheck.language.numbers import as_number, find_numbers
from sensecheck.language.tokens import split_identifier, tokenize


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("twelve, 12, 12.0 and a dozen", [12, 12, 12, 12]),
        ("1,200 or 1.2k or 1200", [1200, 1200, 1200]),
        ("3.5 million; two hundred and five; twenty-one", [3.5e6, 205, 21]),
        ("the third, the 21st, the twenty first", [3, 21, 21]),
        ("twice in the 1940s, 5 %", [2, 1940, 5]),
        ("half a dozen, half a million", [6, 5e5]),
        ("attendance often networked", []),
    ],
)
def test_numbers_by_value(text: str, values: list[float]) -> None:
    assert [n.value for n in find_numbers(tokenize(text))] == values


def test_offsets_survive_invisible_characters() -> None:
    text = "a\u200bb \u202ecaf\u00e9\u202c ’tis"
    tokens = tokenize(text)
    assert [t.low for t in tokens][:2] == ["ab", "cafe"]
    assert text[tokens[0].start : tokens[0].end] == "a\u200bb"


@given(st.text(max_size=200))
def test_tokens_are_in_order_and_inside(text: str) -> None:
    previous = 0
    for token in tokenize(text):
        assert previous <= token.start < token.end <= len(text)
        previous = token.end


@given(st.text(max_size=60))
def test_numbers_never_fail(text: str) -> None:
    find_numbers(tokenize(text))
    as_number(text)


@pytest.mark.parametrize(
    ("a", "b"),
    [("price", "pricing"), ("cities", "city"), ("people", "person"), ("taught", "teach"), ("stopped", "stop")],
)
def test_inflections_share_a_stem(a: str, b: str) -> None:
    assert stem(a) == stem(b)


@pytest.mark.parametrize(
    ("a", "b"), [("organizer", "organization"), ("location", "located"), ("population", "populated")]
)
def test_derivations_share_a_root(a: str, b: str) -> None:
    assert root(a) == root(b)


def test_lemmas_keep_words_apart() -> None:
    assert stem("bus") != stem("bu")
    assert lemma("series") == "series"
    assert stem("universe") != stem("university")
    # A short word with a silent e is not the word without it, and still one with its inflections.
    assert stem("note") == stem("notes") == stem("noted") != stem("not")
    assert stem("wine") != stem("win") == stem("winning")
    assert stem("rate") == stem("rating") == stem("rated") != stem("rat")


def test_identifiers() -> None:
    assert split_identifier("birth_place") == split_identifier("birthPlace") == ["birth", "place"]
    assert split_identifier("StuID") == ["stu", "id"]
    assert split_identifier("paid") == ["paid"]
