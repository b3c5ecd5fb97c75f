"""What answers are kept by: a model that changed under its name is another model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sensecheck.models import revisions
from sensecheck.models.by_prompt import EndpointClassifier, EndpointGenerator
from sensecheck.models.calls import CallCache
from sensecheck.models.classifiers import Asked, CallableClassifier, TableClassifier
from sensecheck.models.endpoint import Endpoint
from sensecheck.models.generators import Asked as AskedGenerator
from sensecheck.models.generators import CallableGenerator, Request, StoredStatements

PAIRS = [("a man sleeps", "a man eats")]


def test_functions_of_one_name_do_not_answer_for_each_other(tmp_path: Path) -> None:
    def always(label: int) -> CallableClassifier:
        return CallableClassifier(lambda premises, hypotheses: [label] * len(premises))

    with CallCache(tmp_path / "calls.sqlite") as calls:
        assert Asked(CallableClassifier(lambda p, h: [0] * len(p)), calls).labels(PAIRS) == [0]
        assert Asked(CallableClassifier(lambda p, h: [2] * len(p)), calls).labels(PAIRS) == [2]
        assert [Asked(always(k), calls).labels(PAIRS)[0] for k in (0, 1)] == [0, 1]
    assert always(1).identity == always(1).identity


def test_a_function_stays_itself_while_it_counts() -> None:
    seen: list[int] = []

    def counting(premises: list[str], hypotheses: list[str]) -> list[int]:
        seen.append(len(premises))
        return [0] * len(premises)

    before = CallableClassifier(counting).identity
    counting(["a"], ["b"])
    assert CallableClassifier(counting).identity == before


def test_callable_objects_differ_by_what_they_were_made_with() -> None:
    class Model:
        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, text: str, positive: bool, n: int) -> list[str]:
            return [f"{self.name} {text}"]

    assert CallableGenerator(Model("a")).identity == CallableGenerator(Model("a")).identity
    assert CallableGenerator(Model("a")).identity != CallableGenerator(Model("b")).identity
    assert revisions.of_function(len) == ""


def test_a_function_is_the_same_in_every_process() -> None:
    code = (
        "from sensecheck.models import revisions\n"
        "def judge(p, h): return 0 if h in {'yes', 'no', 'perhaps', 'never', 'often'} else 2\n"
        "print(revisions.of_function(judge))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_stored_statements_and_predictions_that_were_edited(tmp_path: Path) -> None:
    with CallCache(tmp_path / "calls.sqlite") as calls:
        for text in ("One.", "Two."):
            made = AskedGenerator(StoredStatements([("h", True, text)], "s.csv"), calls)
            assert made.statements([Request("h", True)]) == [[text]]
        for label in (0, 2):
            assert Asked(TableClassifier([(*PAIRS[0], label)], "p.csv"), calls).labels(PAIRS) == [label]


def test_chat_and_completions_are_asked_apart() -> None:
    chat, plain = (Endpoint(f"http://localhost:1/v1/{kind}", "m") for kind in ("chat/completions", "completions"))
    for wrapped in (EndpointClassifier, EndpointGenerator):
        assert wrapped(chat).identity != wrapped(plain).identity
        # the same model moved to another machine
        assert wrapped(chat).identity == wrapped(Endpoint("http://elsewhere/v1", "m")).identity
        assert wrapped(chat, revision="2").identity.revision == "2"


@pytest.mark.parametrize("size", [10, 3 << 20])
def test_folders_by_their_files(tmp_path: Path, size: int) -> None:
    weights = tmp_path / "model.safetensors"
    (tmp_path / "config.json").write_text("{}")
    weights.write_bytes(bytes(size))
    first = revisions.of_folder(tmp_path)
    assert revisions.of_folder(str(tmp_path)) == first
    weights.write_bytes(bytes(size - 1) + b"\x01")
    assert revisions.of_folder(tmp_path) != first
    weights.write_bytes(bytes(size))
    (tmp_path / "config.json").write_text('{"a": 1}')
    assert revisions.of_folder(tmp_path) != first
