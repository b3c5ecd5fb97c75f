"""Labels in any spelling, answers in any words, lists in any form, the cache, the probe, the small model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensecheck.models import generators
from sensecheck.models.calls import CallCache, Identity
from sensecheck.models.classifiers import (
    Answer,
    Asked,
    Batch,
    CallableClassifier,
    LabelError,
    Pair,
    SmallClassifier,
    TableClassifier,
    label_of,
)
from sensecheck.models.generators import Request, RuleGenerator, StoredStatements
from sensecheck.models.listing import statements_in
from sensecheck.models.nli_words import reader
from sensecheck.models.probe import PROBE, judge, probe
from sensecheck.models.prompts import FLAN_PROMPT, NLI_PROMPT, fill
from sensecheck.models.said import Said
from sensecheck.robust import original


@pytest.mark.parametrize(
    ("spelling", "label"),
    [
        (0, 0),
        ("1", 1),
        (2.0, 2),
        ("ENTAILMENT", 0),
        ("neutral ", 1),
        ("Contradiction", 2),
        ("e", 0),
        ("-", None),
        (-1, None),
        (None, None),
        ("", None),
        ("not_entailment", 1),
    ],
)
def test_labels(spelling: object, label: int | None) -> None:
    assert label_of(spelling) == label


@pytest.mark.parametrize("spelling", [3, "maybe not", True, "entailed by"])
def test_what_is_no_label(spelling: object) -> None:
    with pytest.raises(LabelError):
        label_of(spelling)


@given(st.text(max_size=300))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_answer_is_survived(text: str) -> None:
    assert reader(NLI_PROMPT)(Said(text)).label in (None, 0, 1, 2)
    assert all(item.strip() for item in statements_in(text))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("1. Dr. Smith left early.\n2. Mrs. Jones stayed.", ["Dr. Smith left early.", "Mrs. Jones stayed."]),
        ("Sure:\n\n1. He left. She stayed.\n\n2. He came.\n\nLet me know!", ["He left. She stayed.", "He came."]),
        ("1) One.\n2) Two.", ["One.", "Two."]),
        ("- One.\n* Two.\n• Three.", ["One.", "Two.", "Three."]),
        ('["One.", "Two."]', ["One.", "Two."]),
        ('```json\n[{"statement": "One."}]\n```', ["One."]),
        ("One.\nTwo.", ["One.", "Two."]),
        ('1. "Quoted."\n2. **Bold.**', ["Quoted.", "Bold."]),
        ("1. The 3.5 metre\n   long dog.\n2. It cost 1.5 euros.", ["The 3.5 metre long dog.", "It cost 1.5 euros."]),
        ("1. Same.\n2. Same.", ["Same."]),
        ("", []),
    ],
)
def test_lists(text: str, items: list[str]) -> None:
    assert statements_in(text) == items


def test_a_premise_that_holds_a_placeholder_stays_as_it_is() -> None:
    assert fill("<premise>|<hypothesis>", "a <hypothesis> b", "H") == "a <hypothesis> b|H"
    assert FLAN_PROMPT == original.NLI_PROMPT


class Counting:
    identity = Identity("counting", "1", "")

    def __init__(self) -> None:
        self.asked: list[Pair] = []

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        for i, pair in enumerate(pairs):
            self.asked.append(pair)
            yield [(i, Answer(len(pair[0]) % 3, (0.0, 1.0, 2.0)))]


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    model = Counting()
    pairs = [("a", "b"), ("aa", "b"), ("a", "b")]
    with CallCache(tmp_path / "calls.sqlite") as cache:
        first = Asked(model, cache).answers(pairs)
    with CallCache(tmp_path / "calls.sqlite") as cache:
        again = Asked(model, cache)
        assert again.answers(pairs) == first
        assert again.asked == 0
        other = Counting()
        other.identity = Identity("counting", "2", "")
        Asked(other, cache).answers(pairs)
        assert len(other.asked) == 2  # another revision is another model
    assert model.asked == [("a", "b"), ("aa", "b")]


def test_an_interrupted_stream_keeps_what_came(tmp_path: Path) -> None:
    class Breaking(Counting):
        def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
            for number, batch in enumerate(super().stream(pairs)):
                if number == 2:
                    raise RuntimeError("gone")
                yield batch

    pairs = [("a" * i, "b") for i in range(1, 5)]
    with CallCache(tmp_path / "c") as cache:
        with pytest.raises(RuntimeError):
            Asked(Breaking(), cache).answers(pairs)
        assert cache.count() == 2


def test_callables_and_tables() -> None:
    two = Asked(CallableClassifier(lambda p, h: [[0.1, 0.2, 0.7]] * len(p)))
    assert two.labels([("a", "b")]) == [2]
    one = Asked(CallableClassifier(lambda pairs: ["neutral" for _ in pairs], name="one"))
    assert one.labels([("a", "b"), ("c", "d")]) == [1, 1]
    table = Asked(TableClassifier([("a", "b", "entailment"), ("c", "d", (0.0, 3.0, 1.0))]))
    answers = table.answers([("a", "b"), ("c", "d"), ("x", "y")])
    assert [a.label for a in answers] == [0, 1, None]
    assert table.failures == {"not in the table of predictions": 1}
    with pytest.raises(ValueError, match="gave 1 answers for 2 pairs"):
        Asked(CallableClassifier(lambda pairs: [0])).labels([("a", "b"), ("c", "d")])


def test_generators() -> None:
    asked = generators.Asked(RuleGenerator())
    found = asked.statements([Request("A man is eating food.", True, 5), Request("A man is eating food.", False, 5)])
    assert all(texts is not None and len(texts) == 5 for texts in found)
    stored = generators.Asked(StoredStatements([("H.", True, "G."), ("H.", True, "G2.")]))
    assert stored.statements([Request("H.", True, 1), Request("H.", False, 3)]) == [["G."], []]


def test_probe_notices_permuted_labels() -> None:
    gold = [y for _, _, y in PROBE]
    assert judge(gold).warning is None
    turned = judge([{0: 2, 1: 1, 2: 0}[y] for y in gold])
    assert turned.better == (2, 1, 0)
    assert "look permuted" in (turned.warning or "")
    assert judge([1] * 6).warning is None
    assert judge([None] * 6).warning is None


def test_the_small_model(shared: Path) -> None:
    """At least what its card promises, in under 5 MB."""
    import json

    import sensecheck.models

    model = SmallClassifier()
    weights = Path(next(iter(sensecheck.models.__path__))) / "small_nli.npz"
    assert weights.stat().st_size < 5_000_000
    for name, least in (("snli_dev_2000", 0.71), ("cad_nli_test_2000", 0.53)):
        lines = (shared / "data" / "nli" / f"{name}.jsonl").read_text().splitlines()
        rows = [r for r in map(json.loads, lines) if r["label"] in ("entailment", "neutral", "contradiction")]
        labels = Asked(model).labels([(r["premise"], r["hypothesis"]) for r in rows])
        accuracy = sum(label == label_of(r["label"]) for label, r in zip(labels, rows, strict=True)) / len(rows)
        assert accuracy >= least
        assert abs(accuracy - model.card["accuracy"][name]) < 0.005
    assert probe(Asked(model)).warning is None


@pytest.mark.parametrize("word", ["maybe", "yes", "no", "true", "3"])
def test_gold_labels_are_not_guessed(word: str) -> None:
    with pytest.raises(ValueError, match="not an NLI label"):
        label_of(word)
