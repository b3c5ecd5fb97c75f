"""What a figure depends on is named, and what was measured differently is not mixed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main
from sensecheck.cli import robust as cli
from sensecheck.cli.options import values
from sensecheck.inputs.errors import InputError
from sensecheck.models.calls import Identity
from sensecheck.models.classifiers import Answer, Batch, Pair
from sensecheck.models.generators import Request, StatementBatch
from sensecheck.models.said import Said
from sensecheck.report.result import load
from sensecheck.robust import evaluate
from sensecheck.robust.systems import Access, classifier, generator
from sensecheck.statistics.figure import IntervalOptions

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
    def method(**options: Any) -> dict[str, Any]:
        found = evaluate(PAIRS, **{"model": agrees, "generator": Sampling(), "check_labels": False, **options})
        return dict(found.signature.method)

    usual = method()
    assert usual["generator-revision"] == "7" and usual["seed"] == 12345
    assert method(seed=7)["seed"] == 7
    assert method(options=IntervalOptions(seed=8))["seed"] == 8, "one seed for all that is random, unless it is given"
    assert method(options=IntervalOptions(seed=8), seed=7)["seed"] == 7
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


def test_flags_of_models_are_the_settings_of_access() -> None:
    flags = [
        "--device", "cpu", "--dtype", "float32", "--revision", "one", "--generator-revision", "two", "--label-order",
        "neutral, entailment,contradiction", "--prompt", "<premise> <hypothesis>", "--model-name", "m",
        "--key-variable", "KEY", "--concurrency", "2", "--timeout", "1.5", "--tries", "3", "--per-minute", "30",
        "--max-tokens", "9", "--offline", "--api", "messages", "--request", '{"top_k": 1}', "--structured", "off",
        "--logprobs", "--max-calls", "5", "--max-tokens-total", "6", "--answer-words", "ja=entailment",
    ]  # fmt: skip
    command = cli.parser()
    given = values(command.parse_args(["pairs.jsonl", *flags, "--seed", "7"]), evaluate)
    assert given == {
        "data": "pairs.jsonl",
        "access": Access(
            "cpu", "float32", "one", "two", ("neutral", "entailment", "contradiction"), "<premise> <hypothesis>",
            {"ja": "entailment"}, True, model_name="m", key_variable="KEY", concurrency=2, timeout=1.5, tries=3,
            per_minute=30.0, max_tokens=9, api="messages", request='{"top_k": 1}', structured="off", logprobs=True,
            max_calls=5, max_tokens_total=6,
        ),
        "options": IntervalOptions(seed=7),
    }  # fmt: skip
    assert values(command.parse_args(["pairs.jsonl"]), evaluate) == {"data": "pairs.jsonl"}
    steps = {step: command.parse_args([step, "pairs.jsonl", *rest]) for step, rest in (
        ("generate", ["-o", "s.csv", "--generator", "http://localhost:1/v1#m", "--revision", "two"]),
        ("accuracy", ["--model", "http://localhost:1/v1#m", "--revision", "one"]),
    )}  # fmt: skip
    made_by = cli._generator(values(steps["generate"], evaluate))
    assert made_by.identity.revision == "two", "where there is no other model, --revision is the generator's"
    assert values(steps["accuracy"], evaluate)["access"] == Access(revision="one")
    for step, flag in (("generate", "--label-order"), ("generate", "--model"), ("accuracy", "--generator-revision")):
        with pytest.raises(SystemExit):
            command.parse_args([step, "pairs.jsonl", "-o", "s.csv", flag, "x"])


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
    told = "100.0% of 8 answers hold no label that could be read: names no label (8)"
    assert found.notes[0] == f"warning: {told}" and found.verdict()[1] == f"{told}."
    assert "an answer from which no label could be read: 'hm'" in found.notes
    assert found.to_dict()["extra"]["answers"] == {"answers": 8, "unreadable": {"names no label": 8}}


# ---- parity ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "options"),
    [
        ("--keep", {"keep": 3}), ("--directions", {"directions": 1}), ("--candidates", {"candidates": 3}),
        ("--all-pairs", {"only_correct": False}), ("--slice", {"slices": ["label"]}), ("--slice", {"slices": "label"}),
        ("--no-regenerate", {"regenerate": False}), ("--cosine", {"cosine": True}),
    ],
)  # fmt: skip
def test_parity_takes_no_other_choices(flag: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{flag} has no meaning with --as breaknli"):
        evaluate(PAIRS, model=agrees, parity="breaknli", **options)


def test_parity_is_with_an_original_that_is_known() -> None:
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


def test_a_whole_parity_run_is_taken_up_without_a_question(tmp_path: Path) -> None:
    calls: list[int] = []

    def ask(premises: list[str], hypotheses: list[str]) -> list[int]:
        calls.append(len(premises))
        return agrees(premises, hypotheses)

    makes, out = Sampling(), tmp_path / "run"
    first = evaluate(PAIRS, model=ask, generator=makes, parity="breaknli", out=out)
    asked, drawn = sum(calls), makes.asked
    again = evaluate(PAIRS, model=ask, generator=makes, parity="breaknli", out=out, resume=True)
    assert (sum(calls), makes.asked) == (asked, drawn)
    assert again.to_dict() == first.to_dict() == load(out).to_dict()
    assert again.extra["original_funnel"][0] == {"polarity": "positive", "pairs": 4, "correct": 4, "judged": 4}
    with pytest.raises(ValueError, match="polarity was both, now positive"):
        evaluate(PAIRS, model=ask, generator=makes, parity="breaknli", out=out, resume=True, polarity="positive")


def test_a_parity_run_that_is_taken_up_makes_its_failed_calls_again(tmp_path: Path) -> None:
    class Failing:
        """No answer to the first pair, as long as it is down; a failed call is not kept."""

        identity = Identity("failing")
        down = True

        def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
            first = (PAIRS[0]["premise"], PAIRS[0]["hypothesis"])
            yield [
                (i, Answer(None, failure="down") if self.down and pair == first else Answer(0))
                for i, pair in enumerate(pairs)
            ]

    model, out = Failing(), tmp_path / "run"
    asked: dict[str, Any] = {"model": model, "generator": Sampling(), "parity": "breaknli", "out": out}
    assert evaluate(PAIRS, **asked)["inequal_positive_overall"].n == 3
    model.down = False
    again = evaluate(PAIRS, **asked, resume=True)
    assert again["inequal_positive_overall"].n == again.extra["original_funnel"][0]["judged"] == 4
    assert load(out).rows.height == 4, "the shard of the first time is replaced"


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
    from sensecheck.models.by_prompt import EndpointGenerator
    from sensecheck.models.endpoint import Endpoint

    lock, inside, most = threading.Lock(), [0], [0]
    together = threading.Barrier(3)

    class Slow(Endpoint):
        def ask(self, prompt: str, **settings: Any) -> Said:
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            together.wait(timeout=30)  # nobody leaves before three are there
            with lock:
                inside[0] -= 1
            return Said(f"1. {prompt.splitlines()[-1]}")

    from sensecheck.models.generators import Asked

    asked = Asked(EndpointGenerator(Slow("http://localhost:1/v1", "m", concurrency=3)))
    assert asked.statements([Request(f"h{i}", True, 1) for i in range(9)]) == [[f"h{i}"] for i in range(9)]
    assert most == [3]
