"""What a figure depends on is named, and what was measured differently is not mixed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.models.calls import Identity
from sensecheck.models.classifiers import Answer, Batch, Pair
from sensecheck.models.generators import Request, StatementBatch
from sensecheck.robust import evaluate
from sensecheck.robust.systems import Access, classifier, generator

PAIRS: list[dict[str, Any]] = [
    {"premise": f"Two dogs and {i} cats run.", "hypothesis": f"Two dogs and {i} cats move.", "label": 0}
    for i in range(4)
]


class Sampling:
    """A generator that can be asked again, one request at a time."""

    samples = True
    asked = 0

    def __init__(self, prompt: str = "prompt") -> None:
        self.identity = Identity("sampling", "7", prompt)

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
        for i, request in enumerate(requests):
            self.asked += 1
            yield [(i, [f"{request.text} {request.mode} {request.seed} {k}." for k in range(request.n)])]


def agrees(premises: list[str], hypotheses: list[str]) -> list[int]:
    return [0] * len(premises)


def test_the_signature_names_what_can_change_a_figure() -> None:
    def method(**options: Any) -> dict[str, str]:
        found = evaluate(PAIRS, **{"model": agrees, "generator": Sampling(), "check_labels": False, **options})
        return dict(found.signature.method)

    usual = method()
    assert usual["generator-revision"] == "7" and usual["seed"] == "12345"
    assert method(seed=7)["seed"] == "7"
    assert "seed" not in method(generator="rules", seed=7)
    long = "word " * 100
    assert len({method(generator=Sampling(long + end))["generator-settings"] for end in ("", "a", "b")}) == 3, (
        "prompts that differ only at their end"
    )
    told = evaluate(PAIRS, model=agrees, check_labels=False)
    assert told.signature.system["revision"] not in ("", "unknown") and told.signature.system["settings"] == "callable"
    assert any(note.startswith("model: agrees, revision ") for note in told.notes)


def test_revisions_of_model_and_generator_are_apart() -> None:
    access = Access(revision="one", generator_revision="two")
    assert classifier("http://localhost:1/v1#m", access).identity.revision == "one"
    assert generator("http://localhost:1/v1#m", access).identity.revision == "two"


def test_a_module_that_was_edited_is_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for name, label in (("nli_one", 0), ("nli_two", 1)):
        (tmp_path / f"{name}.py").write_text(f"LABEL = {label}\ndef ask(p, h):\n    return [LABEL] * len(p)\n")
        found.append(classifier(f"py:{name}:ask").identity.revision)
    assert found[0] != found[1] and all(found)


def test_edited_statements_are_not_taken_from_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "statements.csv"
    said = []
    for word in ("first", "second"):
        lines = [f"{p['hypothesis']},positive,{word} {k}." for p in PAIRS for k in range(5)]
        path.write_text("hypothesis,polarity,statement\n" + "\n".join(lines) + "\n")
        found = evaluate(
            PAIRS, model=agrees, generator=f"file:{path}", polarity="positive", check_labels=False,
            cache=tmp_path / "calls.sqlite",
        )  # fmt: skip
        assert found.texts is not None
        said.append(next(iter(found.texts.batches()))["statement"].to_list()[0][0])
    assert said == ["first 0.", "second 0."]


def test_an_input_that_changed_is_not_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "pairs.jsonl", tmp_path / "run"
    path.write_text("".join(json.dumps(p) + "\n" for p in PAIRS))
    command = ["robust", str(path), "--no-ci", "--out", str(out)]
    assert main([*command, "--model", "http://127.0.0.1:9/v1#m"]) == 3
    size = path.stat().st_size
    path.write_text("".join(json.dumps(p) + "\n" for p in PAIRS[1:]))
    assert main([*command, "--model", "http://127.0.0.1:9/v1#m", "--resume"]) == 2
    told = capsys.readouterr().err
    assert "cannot be resumed: " in told
    assert f"pairs.jsonl was {size} bytes" in told


def test_answers_that_cannot_be_read_are_told() -> None:
    class Mumbling:
        identity = Identity("mumbling")

        def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
            yield [(i, Answer(None, text="hm")) for i, _ in enumerate(pairs)]

    found = evaluate(PAIRS, model=Mumbling(), check_labels=False)
    assert [n for n in found.notes if "held no label" in n] == [
        "8 answers held no label that could be read, such as 'hm'"
    ]


# ---- parity ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"keep": 3}, {"directions": 1}, {"only_correct": False}, {"slices": ["label"]}, {"regenerate": False}]
)
def test_parity_takes_no_other_choices(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="cannot be given with it"):
        evaluate(PAIRS, model=agrees, parity="breaknli", **options)
    with pytest.raises(InputError, match="breaknli-april"):
        evaluate(PAIRS, model=agrees, parity="breaknli-may")  # type: ignore[arg-type]


def test_parity_keeps_its_calls_and_can_be_taken_up(tmp_path: Path) -> None:
    def failing(after: int) -> Callable[[list[str], list[str]], list[int]]:
        calls: list[int] = []

        def ask(premises: list[str], hypotheses: list[str]) -> list[int]:
            calls.append(1)
            if len(calls) > calls_allowed[0]:
                raise KeyboardInterrupt
            return [0] * len(premises)

        calls_allowed = [after]  # in a list, so that both are the same function to the cache
        return ask

    makes, out = Sampling(), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        evaluate(PAIRS, model=failing(1), generator=makes, parity="breaknli", out=out, polarity="positive")
    drawn = makes.asked
    assert drawn == 4 * len(PAIRS) and (out / "calls.sqlite").exists()
    found = evaluate(
        PAIRS, model=failing(99), generator=makes, parity="breaknli", out=out, polarity="positive", resume=True
    )
    assert makes.asked == drawn
    assert found.signature.method["generator-revision"] == "7"
    plain = evaluate(PAIRS, model=agrees, generator=Sampling(), parity="breaknli", polarity="positive")
    assert [f.value for f in found.figures] == [f.value for f in plain.figures]


def test_parity_asks_a_generator_for_many_at_once() -> None:
    class Counting(Sampling):
        most = 0

        def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
            self.most = max(self.most, len(requests))
            yield from super().stream(requests)

    makes = Counting()
    evaluate(PAIRS, model=agrees, generator=makes, parity="breaknli-april")
    assert makes.most == 4 * len(PAIRS)


def test_a_generator_at_a_url_is_asked_many_times_at_once() -> None:
    """As many calls at once as --concurrency says, and no more; statements come in the order of the requests."""
    from sensecheck.models.endpoint import Endpoint, EndpointGenerator

    lock, inside, most = threading.Lock(), [0], [0]
    together = threading.Barrier(3)

    class Slow(Endpoint):
        def complete(self, prompt: str, **settings: Any) -> list[str]:
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            together.wait(timeout=30)  # nobody leaves before three are there
            with lock:
                inside[0] -= 1
            return [f"1. {prompt.splitlines()[-1]}"]

    from sensecheck.models.generators import Asked

    asked = Asked(EndpointGenerator(Slow("http://localhost:1/v1", "m", concurrency=3)))
    assert asked.statements([Request(f"h{i}", True, 1) for i in range(9)]) == [[f"h{i}"] for i in range(9)]
    assert most == [3]
