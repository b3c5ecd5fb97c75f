"""Recorded predictions are found as a plain dictionary would find them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sensecheck.models import revisions
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


@pytest.mark.parametrize("seed", range(60))
def test_as_a_dictionary_would(seed: int) -> None:
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
