"""One message that says where, what was expected, what came and what to do, safe for any terminal."""

from __future__ import annotations

import pickle

import pytest

from sensecheck.inputs.errors import BadRecord, InputError, did_you_mean, escaped, shown


def test_message_with_every_part() -> None:
    error = InputError(
        path="preds.logits",
        line=17,
        field="labels",
        expected="5 labels (one for each row of top_logits)",
        got="4",
        hint="Fix the line or pass --skip-bad to count it as unscored.",
        reason="label_count",
    )
    assert str(error) == (
        "preds.logits:17: labels: expected 5 labels (one for each row of top_logits), got 4. "
        "Fix the line or pass --skip-bad to count it as unscored."
    )
    assert isinstance(error, ValueError)
    assert error.as_bad_record() == BadRecord("preds.logits", 17, "label_count", str(error))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"record": 3, "expected": "a dict", "got": "an int"}, "record 3: expected a dict, got an int."),
        ({"path": "a.json", "record": 3, "expected": "x"}, "a.json: record 3: expected x."),
        ({"line": 2, "expected": "x"}, "line 2: expected x."),
        ({"problem": "no such file", "path": "a"}, "a: no such file."),
        ({"problem": "why?", "path": "a"}, "a: why?"),
        ({"path": "a\x1b[31m\n", "expected": "x"}, "a\\x1b[31m\\n: expected x."),
        ({"field": "\u202eevil", "expected": "x"}, "\\u202eevil: expected x."),
    ],
)
def test_messages_of_some_parts(parts: dict[str, object], message: str) -> None:
    assert str(InputError(**parts)) == message  # type: ignore[arg-type]


def test_an_error_survives_pickling_with_its_parts() -> None:
    error = InputError(path="p", line=4, field="f", expected="e", got="g", hint="h", reason="r")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is InputError
    assert copy.parts() == error.parts()
    assert str(copy) == str(error)


def test_file_content_is_terminal_safe_and_short() -> None:
    assert shown("\x1b]0;owned\x07") == "'\\x1b]0;owned\\x07'"
    assert shown(b"caf\xc3\xa9 \xff") == "'café \\xff'"
    assert shown("x" * 500) == f"'{'x' * 117}...'"
    assert len(shown("\x00" * 500)) <= 122
    assert len(shown(b"\xff" * 10_000)) <= 122
    assert shown({"a": "\x1b"}) == "{'a': '\\x1b'}"
    assert shown([1] * 100, 20) == "[1, 1, 1, 1, 1, 1..."
    assert escaped("\ud800 ok \u200b") == "\\ud800 ok \\u200b"


def test_did_you_mean() -> None:
    assert did_you_mean("confidense", ["conf", "confidence"]) == "Did you mean 'confidence'?"
    assert did_you_mean("confidence", ["correct", "conf"]) == "Did you mean 'conf'?"
    assert did_you_mean("conf", ["correct", "model_confidence"]) == "Did you mean 'model_confidence'?"
    assert did_you_mean("CONFIDENCE", ["Confidence"]) == "Did you mean 'Confidence'?"
    assert did_you_mean("zzz", ["conf"]) == ""
