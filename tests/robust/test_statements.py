"""The default handling of statements: what a user expects where the original surprises."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sensecheck.robust.statements import Filling, distinct, standardise


def fill_up(filling: Filling, sample: Callable[[], str], accepts: Callable[[str], bool]) -> Filling:
    """Ask for new statements one at a time until the pair has enough or the tries are used up."""
    while filling.wants_more:
        text = sample()
        if filling.offer(text) and accepts(text):
            filling.accept(text)
    return filling


@pytest.mark.golden
def test_regeneration_as_it_was_meant(golden: Path) -> None:
    for case in json.loads((golden / "robust" / "regeneration.json").read_text()):
        kept = []
        for i, slots in enumerate(case["passing_slots"]):
            texts = [f"statement {i}-{j}." for j in range(10)]
            queue = iter(case["generator_script"][str(i)])
            filling = Filling(f"hypothesis {i}.", list(texts), [texts[j] for j in slots])
            fill_up(filling, lambda q=queue: next(q), case["accepts"].__getitem__)
            if filling.chosen:
                kept.append({"pair": i, "statements": filling.chosen})
        assert kept == case["expected_fixed"], case["id"]


def test_every_call_counts_and_there_is_an_end() -> None:
    calls = 0

    def sample() -> str:
        nonlocal calls
        calls += 1
        return "Known." if calls % 2 else "the hypothesis"

    filling = fill_up(Filling("The hypothesis.", ["Known."], []), sample, lambda text: True)
    assert calls == 15
    assert filling.chosen == []


def test_full_texts_are_kept() -> None:
    filling = Filling("H.", ["a.", "b."], ["a."], keep=2)
    long = "A statement that is much longer than any that was there before."
    assert filling.offer(long)
    filling.accept(long)
    assert filling.chosen == ["a.", long]
    assert not filling.wants_more


def test_distinct() -> None:
    assert distinct(["A dog.", "a  dog", "A cat!", "", "A bird", "the end."], "The end") == [
        "A dog.",
        "A cat!",
        "A bird",
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hello", "Hello."),
        ("Wow!", "Wow!"),
        ('He said "no."', 'He said "no."'),
        ("  a   b ", "a b."),
        ("", ""),
        ("ok?", "ok?"),
    ],
)
def test_standardise(text: str, wanted: str) -> None:
    assert standardise(text) == wanted
