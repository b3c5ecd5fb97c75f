"""Recorded predictions are found as a plain dictionary would find them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from sensecheck.models import digest_tables, generators, recorded, revisions
from sensecheck.models.calls import CallCache, Identity
from sensecheck.models.classifiers import TableClassifier, pair_text
from sensecheck.models.generators import Request, StoredStatements
from sensecheck.robust.statements import standardise
from sensecheck.runs import databases

TEXTS = ["A b", "A b.", "A  b", " A b.", "c", "c.", "d\x1fe", "", "é"]
PREDICTIONS: list[Any] = ["entailment", "neutral", 0, None, (0.5, 0.25, 0.125), (1.0, 2.0, 4.0), [1.0, 2.0, 3.0]]


def _by_dictionary(table: dict[str, Any], pair: tuple[str, str]) -> Any:
    """By the letter; else the first that is the same once both are written as the model is asked."""
    found = table.get(pair_text(pair))
    if found is not None:
        return found
    forms: dict[str, Any] = {}
    for key, prediction in table.items():
        premise, _, hypothesis = key.partition("\x1f")
        forms.setdefault(pair_text((standardise(premise), standardise(hypothesis))), prediction)
    return forms.get(pair_text((standardise(pair[0]), standardise(pair[1]))))


@pytest.mark.parametrize("held", [1, 4, 1 << 21])
@pytest.mark.parametrize("seed", range(60))
def test_as_a_dictionary_would(seed: int, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether all are held, or more than one or four are kept in files."""
    monkeypatch.setattr(digest_tables, "HELD_ROWS", held)
    monkeypatch.setattr(digest_tables, "BLOCK", 2)
    monkeypatch.setattr(recorded, "_AT_ONCE", 3)
    draw = random.Random(seed)
    rows = [(draw.choice(TEXTS), draw.choice(TEXTS), draw.choice(PREDICTIONS)) for _ in range(draw.randrange(14))]
    asked = [(first, second) for first in TEXTS for second in TEXTS]
    table = {pair_text((first, second)): prediction for first, second, prediction in rows}
    model = TableClassifier(iter(rows) if seed % 2 else rows, written=standardise)
    assert model.identity.revision == revisions.of_rows(table.items())
    (answers,) = model.stream(asked)
    for (_, answer), pair in zip(answers, asked, strict=True):
        wanted = _by_dictionary(table, pair)
        if isinstance(wanted, (tuple, list)):
            assert answer.logits == tuple(wanted)
        else:
            assert (answer.label, answer.logits) == ({"entailment": 0, "neutral": 1, 0: 0, None: None}[wanted], None)


@pytest.mark.parametrize("block", [1, 2, 64])
def test_digests_that_begin_alike(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they stand on both sides of a block's beginning, and in pieces that were sorted apart."""
    monkeypatch.setattr(digest_tables, "HELD_ROWS", 3)
    monkeypatch.setattr(digest_tables, "BLOCK", block)
    digests = np.array(
        [[high, low] for high in (1, 1 << 60, (1 << 64) - 1) for low in (5, 3, 9, 7, 3)], dtype=np.uint64
    )
    table = digest_tables.DigestTable([("code", "i8")], keep="last")
    for code, own in enumerate(digests):
        table.extend(own.tobytes(), [code])
    table.close()
    there, found = table.find(digests)
    assert there.all()
    assert table.repeats == 3
    assert found["row"].tolist() == [0, 1, 2, 3, 1, 5, 6, 7, 8, 6, 10, 11, 12, 13, 11]
    assert found["code"].tolist() == [0, 4, 2, 3, 4, 5, 9, 7, 8, 9, 10, 14, 12, 13, 14]
    absent = np.array([[0, 0], [1, 4], [2, 5], [(1 << 64) - 1, 10]], dtype=np.uint64)
    assert not table.find(absent)[0].any()


def test_texts_that_came_before() -> None:
    draw = random.Random(3)
    names, plain = digest_tables.DigestSet(), set[str]()
    for _ in range(40):
        some = list({f"name {draw.randrange(300)}" for _ in range(draw.randrange(20))})
        assert names.known(some) == plain & set(some)
        names.add([name for name in some if name not in plain])
        plain.update(some)
        assert len(names) == len(plain)


@pytest.mark.parametrize("held", [0, 400, 20_000_000])
def test_stored_statements_as_a_dictionary_would(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "HELD_CHARACTERS", held)
    monkeypatch.setattr(generators, "_AT_ONCE", 7)
    draw = random.Random(4)
    rows = [(draw.choice(TEXTS), draw.random() < 0.5, f"\ud800 statement {i}") for i in range(60)]
    table: dict[tuple[str, bool], list[str]] = {}
    for hypothesis, positive, statement in rows:
        table.setdefault((hypothesis, positive), []).append(statement)
    plain = [(hypothesis, positive, statement.removeprefix("\ud800 ")) for hypothesis, positive, statement in rows]
    of_plain = {key: [text.removeprefix("\ud800 ") for text in texts] for key, texts in table.items()}
    assert StoredStatements(plain).identity.revision == revisions.of_rows(of_plain.items())
    requests = [Request(text, positive, n) for text in [*TEXTS, "none"] for positive in (True, False) for n in (1, 14)]
    (answers,) = StoredStatements(rows, revision="1").stream(requests)
    assert [texts for _, texts in answers] == [table.get((r.text, r.positive), [])[: r.n] for r in requests]


def test_kept_calls_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "TEMPORARY_KIB", 16)
    who = Identity("m")
    with CallCache() as calls:
        for start in range(0, 2_000, 100):
            calls.put(who, {f"text {i}": {"l": i % 3, "t": "x" * 100} for i in range(start, start + 100)})
        assert calls.get(who, ["text 7", "text 1999", "text 2000"]) == {
            "text 7": {"l": 1, "t": "x" * 100},
            "text 1999": {"l": 1, "t": "x" * 100},
        }
        assert calls.count() == 2_000
