"""Results of promptfoo: small ones of our own making, and those in ../shared."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sensecheck
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.registry import recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.report.looking import look
from sensecheck.statistics.figure import IntervalOptions

PLAIN = IntervalOptions(method="none")


def result(
    test: int, success: Any = True, output: Any = "Lima", provider: Any = "openai:small", **more: Any
) -> dict[str, Any]:
    return {
        "testIdx": test, "promptIdx": 0, "prompt": {"raw": f"Capital {test}?", "label": "Capital {{n}}?"},
        "vars": {"n": test, "region": "south"}, "provider": {"id": provider, "label": ""}, "success": success,
        "score": 1 if success else 0, "response": {"output": output},
        "gradingResult": {"pass": success, "score": 1 if success else 0, "componentResults": []}, "error": None, **more,
    }  # fmt: skip


def document(*results: Any, nested: bool = True) -> dict[str, Any]:
    if not nested:
        return {"version": 1, "results": list(results), "stats": {}}
    return {
        "evalId": "e",
        "results": {"version": 3, "prompts": [], "results": list(results), "stats": {}},
        "config": {},
    }


def accuracy(data: Any, **options: Any) -> tuple[float, int, dict[str, int]]:
    figure = sensecheck.calibrated.evaluate(data, options=PLAIN, **options)["accuracy"]
    return figure.value, figure.n, figure.unscored


@pytest.mark.parametrize("nested", [True, False])
def test_whether_all_assertions_held(nested):
    data = document(result(0), result(1, False), result(2), result(3), nested=nested)
    assert accuracy(data) == (0.75, 4, {})


def test_files_and_lines(tmp_path):
    path = tmp_path / "out.json"
    path.write_text(json.dumps(document(result(0), result(1, False))))
    assert accuracy(path) == (0.5, 2, {})
    path.write_text("".join(json.dumps(one) + "\n" for one in (result(0), result(1, False))))
    assert accuracy(path) == (0.5, 2, {})


def test_what_comes_after_the_first_megabyte(tmp_path):
    path = tmp_path / "out.json"
    for nested in (True, False):
        path.write_text(json.dumps(document(*(result(at, output="x" * 2000) for at in range(700)), nested=nested)))
        assert look(str(path)).format == "promptfoo"
        assert accuracy(path) == (1, 700, {})


def test_calls_that_failed_are_no_wrong_answers():
    data = document(
        result(0),
        result(1, False, error="Expected output to equal 'Rome'", failureReason=1),
        result(2, False, None, error="API error: 429 Too Many Requests", failureReason=2),
        result(3, False, None, error="Timeout"),
        result(4, False, None, response={"error": "refused"}),
        result(5, None),
    )
    reasons = {"call failed: status 429": 1, "call failed: Timeout": 1, "call failed: refused": 1, "no verdict": 1}
    assert accuracy(data) == (0.5, 2, reasons)


def test_one_assertion():
    def graded(*parts: tuple[str, bool]) -> dict[str, Any]:
        components = [{"pass": held, "score": int(held), "assertion": {"type": kind}} for kind, held in parts]
        components.append({"pass": True, "score": 1, "assertion": {"type": "llm-rubric", "metric": "Tone"}})
        return {"pass": all(held for _, held in parts), "score": 0.5, "componentResults": components}

    first = result(0, False, gradingResult=graded(("equals", False), ("contains", True), ("contains", True)))
    second = result(
        1, False, score=0.25, gradingResult=graded(("equals", True), ("contains", True), ("contains", False))
    )
    data = document(first, second)
    assert accuracy(data)[0] == 0
    assert accuracy(data, scorer="equals")[0] == 0.5
    assert accuracy(data, scorer="contains")[0] == 0.5  # both of the two
    assert accuracy(data, scorer="Tone")[0] == 1
    assert accuracy(data, scorer="score")[0] == 0.125
    with pytest.raises(InputError, match=r"one of the scorers of this log: success, score, equals, contains, Tone"):
        accuracy(data, scorer="nope")


def test_a_score_that_is_no_verdict():
    with pytest.raises(InputError, match="record 1: scorer score: a number outside 0 to 1 is no verdict: 7"):
        accuracy(document(result(0, score=7)), scorer="score")


def test_several_providers_are_never_mixed():
    data = document(result(0), result(0, False, provider="b"), result(1), result(1, False, provider="b"))
    with pytest.raises(InputError, match=r"several providers: 'openai:small', 'b'.*--filter openai:small"):
        accuracy(data)
    assert accuracy(data, filter="b") == (0, 2, {})
    found = sensecheck.calibrated.evaluate(data, filter="openai:small", options=PLAIN)
    assert found["accuracy"].value == 1 and found.signature.method["provider"] == "openai:small"


@pytest.mark.parametrize("kind", ["files", "lines", "memory"])
def test_several_evaluations(tmp_path, kind):
    def evaluations(*providers: str) -> list[Any]:
        made: list[Any] = []
        for at, provider in enumerate(providers):
            results = [result(0, provider=provider), result(1, False, provider=provider)]
            one = document(*results) | {"evalId": f"e{at}"}
            path = tmp_path / f"e{at}.json"
            path.write_text("".join(json.dumps(r) + "\n" for r in results) if kind == "lines" else json.dumps(one))
            made.append(one if kind == "memory" else str(path))
        return made

    found = sensecheck.calibrated.evaluate(evaluations("a", "a"), options=PLAIN)
    assert found.measurements["id"].to_list() == ["e0/0", "e0/1", "e1/0", "e1/1"]
    assert found["accuracy"].clusters is None
    two = evaluations("a", "b")
    with pytest.raises(InputError, match="several providers: 'a', 'b'"):
        accuracy(two)
    assert accuracy(two, filter="b") == (0.5, 2, {})
    with pytest.raises(InputError, match="one of the filters of this log: a, b, got 'c'"):
        accuracy(two, filter="c")


def test_one_evaluation_twice(tmp_path):
    files = [tmp_path / name for name in ("x.json", "y.json")]
    for at, path in enumerate(files):
        path.write_text(json.dumps(document(result(at))))
    with pytest.raises(InputError, match=r"y\.json: the evaluation 'e' is there twice"):
        accuracy([str(path) for path in files])


def test_several_prompts():
    other = {"prompt": {"raw": "?", "label": "another"}, "promptIdx": 1}
    found = sensecheck.calibrated.evaluate(document(result(0), result(0, False, **other), result(1)), options=PLAIN)
    assert found.measurements["id"].to_list() == ["0/0", "0/1", "1/0"]
    assert any(note.startswith("2 prompts are read together") for note in found.notes)


def test_a_test_that_was_run_again_is_a_sample():
    figure = sensecheck.calibrated.evaluate(document(result(0), result(0, False), result(1), result(1)))["accuracy"]
    assert (figure.n, figure.clusters) == (4, 2)


def test_variables_are_fields(tmp_path):
    odd = result(0, vars={"region": "south", "id": 5, "prompt": "x", "deep": {"a": 1}})
    path = tmp_path / "out.json"
    path.write_text(json.dumps(document(odd)))
    seen = look(str(path))
    assert {"region", "doc_id", "doc_prompt", "test", "prompt", "provider", "prediction"} <= set(seen.fields)
    assert "deep" not in seen.fields
    assert any(command.startswith("sensecheck calibrated") for command in seen.commands)


def test_other_questions(tmp_path):
    gold = [{"id": "0", "gold": "SELECT 1"}, {"id": "1", "gold": "SELECT 2"}]
    data = document(result(0, output="SELECT 1"), result(1, output={"sql": 3}))
    assert sensecheck.correct.evaluate(data, gold=gold, on="id")["em"].value == 0.5
    again = document(result(0, output="one thing"), result(0, output="another"), result(1, output="x"))
    assert sensecheck.diverse.evaluate(again)["distinct_1"].n == 2


def test_values_that_no_json_holds():
    def told(**more: Any) -> Any:
        data = document(result(0, **more), result(1))
        del data["results"]["results"][0]["testIdx"]
        return accuracy(data, input_format="promptfoo")

    assert told(vars={1: 2, "a": 3}) == (1, 2, {})
    circle: list[Any] = []
    circle.append(circle)
    assert told(response={"output": circle}) == told(vars={"a": circle}) == (1, 2, {})
    assert told(vars={"a": {1: 2, "b": 3}}) == (1, 2, {})
    with pytest.raises(InputError, match="record 1: output: expected a value that JSON can hold"):
        told(response={"output": {"n": 10**5000}})
    with pytest.raises(InputError, match="record 1: vars: expected a value that JSON can hold"):
        told(vars={"a": 10**5000})


def test_log_probabilities():
    data = document(*(result(at, response={"output": "Lima", "logProbs": [-0.5, -0.25]}) for at in range(2)))
    assert sensecheck.calibrated.evaluate(data, options=PLAIN)["mean_confidence"].value == pytest.approx(0.4723665527)


@pytest.mark.parametrize("question", ["", "calibrated", "correct", "diverse", "faithful", "robust"])
@pytest.mark.parametrize(
    "data", [document(result(0)), document(result(0), nested=False), result(0, None, None, error="x")]
)
def test_known_as_nothing_else(question, data):
    found = recognised(Start.of_objects([data]), question)
    assert found is not None and found.format.name == "promptfoo"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (document(result(0), 5), "record 2: expected a JSON object"),
        (document() | {"results": {"results": 7}}, "results: expected a list of results, got 7"),
        (document(nested=False), "expected at least one result, got none"),
    ],
)
def test_odd_documents(data, told):
    with pytest.raises(InputError, match=told):
        sensecheck.calibrated.evaluate(data, input_format="promptfoo")


def test_providers_of_one_file_compared(tmp_path, capsys):
    path = tmp_path / "out.json"
    answers = [result(at, at % 4 == 0, provider="a") for at in range(40)]
    answers += [result(at, at % 4 != 0, provider="b") for at in range(40)]
    path.write_text(json.dumps(document(*answers)))
    assert main(["compare", str(path), str(path), "--filter", "a", "--filter", "b"]) == 0
    assert "b is better on accuracy: 0.7500 against a's 0.2500" in capsys.readouterr().out


NOTHING_ASSERTED = {"gradingResult": {"pass": True, "score": 1, "reason": "No assertions"}}


@pytest.mark.parametrize(
    "more",
    [
        NOTHING_ASSERTED,
        {"testCase": {"assert": []}, "gradingResult": None},
        {"testCase": {"assert": []}, "gradingResult": {"pass": True, "score": 1, "componentResults": []}},
    ],
)
def test_without_assertions_success_is_no_verdict(more, tmp_path):
    assert accuracy(document(result(0), result(1, False), result(2, **more))) == (0.5, 2, {"no assertions": 1})
    data = document(result(0, **more), result(1, **more))
    for scorer in (None, "score"):
        with pytest.raises(InputError, match="was run without assertions: none of its 2 answers has a verdict"):
            accuracy(data, scorer=scorer)
    path = tmp_path / "out.json"
    path.write_text(json.dumps(data))
    notes = look(str(path)).notes
    assert "2 of 2 answers were run without assertions: their success is no verdict" in notes
    assert "provider: 'openai:small'" in notes


def test_what_was_asserted_is_not_known():
    old = result(0)
    del old["gradingResult"]
    told = "nothing in the log says what was asserted: `success` is taken for the verdict as it stands"
    for one, is_told in ((old, True), (result(0), False), ({**old, "testCase": {"assert": [{"type": "is"}]}}, False)):
        found = sensecheck.calibrated.evaluate(document(one), options=PLAIN)
        assert (found["accuracy"].value, told in found.notes) == (1, is_told)


@pytest.fixture
def files(shared):
    folder = shared / "data" / "formats" / "promptfoo"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/formats: needs third-party files that may not be copied into the repository")
    return folder


@pytest.mark.golden
def test_figures_of_an_old_file(files):
    path = files / "v1_simple-test_output.json"
    assert accuracy(path) == (1, 4, {})
    found = sensecheck.calibrated.evaluate(path, cluster="test")
    assert found["accuracy"].clusters == 2
    assert any(note.startswith("nothing in the log says what was asserted") for note in found.notes)


@pytest.mark.golden
def test_a_file_without_assertions(files):
    path = files / "v4evalToShare.json"
    with pytest.raises(InputError, match="was run without assertions: none of its 8 answers has a verdict"):
        accuracy(path)
    found = sensecheck.diverse.evaluate(path)
    assert found["distinct_1"].n == 8
