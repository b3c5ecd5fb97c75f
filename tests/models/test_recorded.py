"""Recorded predictions are found as a plain dictionary would find them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from sensecheck.models import digest_tables, recorded, revisions
from sensecheck.models.classifiers import TableClassifier, pair_text
from sensecheck.robust.statements import standardise

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
