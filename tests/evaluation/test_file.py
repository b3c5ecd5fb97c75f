"""Evaluation files: what is read, and the line of every mistake."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.evaluation import EvaluationError, read
from sensecheck.evaluation.file import with_secrets
from sensecheck.evaluation.lines import parsed
from sensecheck.inputs.errors import InputError

GOOD = """\
title = "two"
systems = ["A", "B"]
out = "runs"

[intervals]
level = 0.9
replicates = 200

[[evaluate]]
question = "calibrated"
name = "tokens"
data = { A = "a.csv", B = "b.csv" }
slices = ["kind", ["kind", "novelty"]]
bins = 10

[[evaluate]]
question = "calibrated"
data = "{system}/dev.csv"
fail_under = { accuracy = 0.5 }
"""


def write(tmp_path: Path, text: str, name: str = "evaluation.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def problems(tmp_path: Path, text: str, name: str = "evaluation.toml") -> list[tuple[int | None, str]]:
    with pytest.raises(EvaluationError) as caught:
        read(write(tmp_path, text, name))
    return [(p.line, str(p)) for p in caught.value.problems]


def test_a_good_file_is_read(tmp_path: Path) -> None:
    found = read(write(tmp_path, GOOD))
    assert found.systems == ("A", "B") and found.intervals.level == 0.9 and found.intervals.replicates == 200
    first, second = found.entries
    assert (first.name, second.name) == ("tokens", "calibrated")
    assert first.options_for("B", found.systems)["data"] == "b.csv"
    assert first.options_for("B", found.systems)["bins"] == 10
    assert second.options_for("A", found.systems)["data"] == "A/dev.csv"
    assert second.gates == {"fail_under": {"accuracy": 0.5}}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('title = "two"', 'titel = "two"', 1, "Did you mean 'title'?"),
        ('title = "two"', "title = 3", 1, "expected text, got 3"),
        ('["A", "B"]', '["A", "A"]', 2, "'A' is named twice"),
        ('["A", "B"]', "[]", 2, "expected names"),
        ('out = "runs"', 'out = "${HOME}"', 3, "secrets only"),
        ("level = 0.9", "level = 2", 6, "must lie in [0.5, 1)"),
        ("level = 0.9", 'level = "high"', 6, "expected a number, got 'high'"),
        ("replicates = 200", "replicate = 200", 7, "Did you mean 'replicates'?"),
        ('question = "calibrated"\nname', 'question = "calibrate"\nname', 10, "Did you mean 'calibrated'?"),
        ('question = "calibrated"\nname', "name", 9, "the entry has no question"),
        ('A = "a.csv", B = "b.csv"', 'A = "a.csv"', 12, "no value for the system 'B'"),
        ("bins = 10", "bin = 10", 14, "Did you mean 'bins'?"),
        ("bins = 10", 'bins = "ten"', 14, "expected a whole number, got 'ten'"),
        ("bins = 10", "bins = true", 14, "expected a whole number, got True"),
        ("bins = 10", 'level = "word"', 14, "expected one of token, sequence, got 'word'"),
        ("bins = 10", 'out = "x"', 14, "Set out at the top"),
        ("bins = 10", 'weight = "${HOME}"', 14, "secrets only"),
        ("bins = 10", "limit = 1.5", 14, "expected a whole number"),
        ('"{system}/dev.csv"', '"{sytem}/dev.csv"', 18, "got {sytem} in '{sytem}/dev.csv'. Did you mean '{system}'?"),
        ('"{system}/dev.csv"', '"{lang}/{system}.csv"', 18, "expected no placeholder but {system}, got {lang}"),
        ('A = "a.csv"', 'A = "{}.csv"', 12, "expected no placeholder but {system}, got {}"),
        ('name = "tokens"', 'name = "calibrated"', 17, "two entries are called 'calibrated'"),
        ("accuracy = 0.5", "acuracy = 0.5", 19, "Did you mean 'accuracy'?"),
        ("accuracy = 0.5", 'accuracy = "half"', 19, "expected a number"),
    ],
)  # fmt: skip
def test_every_mistake_is_shown_with_its_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    assert old in GOOD
    found = problems(tmp_path, GOOD.replace(old, new, 1))
    assert any(at == line and words in said for at, said in found), found
    assert len(found) == 1


@pytest.mark.parametrize(
    ("question", "setting", "words"),
    [
        ("correct", "limits = { second = 3 }", "there is no setting of limits 'second'. Did you mean 'seconds'?"),
        ("correct", 'limits = { rows = "x" }', "limits.rows: expected a whole number, got 'x'"),
        ("correct", "limits = { seconds = -1 }", "limit seconds must be above 0, not -1"),
        ("correct", "limits = 3", "expected a table (seconds, memory, rows, bytes, query_bytes), got 3"),
        ("correct", 'store = "x"', "there is no option of correct 'store'"),
        ("robust", "access = { timeout = 0 }", "expected more than 0, got 0"),
    ],
)
def test_tables_of_settings_are_checked(tmp_path: Path, question: str, setting: str, words: str) -> None:
    text = f'[[evaluate]]\nquestion = "{question}"\ndata = "a.csv"\n{setting}\n'
    ((line, said),) = problems(tmp_path, text)
    assert line == 4 and words in said


def test_a_file_may_be_called_by_a_brace(tmp_path: Path) -> None:
    (tmp_path / "{x}.csv").touch()
    assert read(write(tmp_path, GOOD.replace("{system}/dev.csv", "{x}.csv"))).entries


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("bins = 10", "binz = 10").replace("level = 0.9", "level = 9").replace("title", "titel")
    assert [line for line, _ in problems(tmp_path, text)] == [1, 6, 14]


def test_broken_toml_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"evaluation\.toml:14: this is not TOML"):
        read(write(tmp_path, GOOD.replace("bins = 10", "bins = ")))


def test_no_entry_and_no_file(tmp_path: Path) -> None:
    assert "at least one [[evaluate]]" in problems(tmp_path, 'title = "x"\n')[0][1]
    with pytest.raises(InputError, match="sensecheck init"):
        read(tmp_path / "absent.toml")


def test_yaml_says_the_same_with_its_own_lines(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    text = "systems: [A, B]\nevaluate:\n  - question: calibrated\n    data: '{system}.csv'\n    bins: ten\n"
    assert problems(tmp_path, text, "e.yaml") == [
        (5, f"{tmp_path / 'e.yaml'}:5: evaluate[1].bins: expected a whole number, got 'ten'.")
    ]
    good = read(write(tmp_path, text.replace("ten", "10"), "e.yaml"))
    assert good.entries[0].options_for("A", good.systems) == {"data": "A.csv", "bins": 10}
    with pytest.raises(InputError, match=r"e\.yaml:2: this is not YAML"):
        read(write(tmp_path, "a: [1,\nb: }\n", "e.yaml"))
    with pytest.raises(InputError, match="'a' is given twice here"):
        read(write(tmp_path, "a: 1\na: 2\n", "e.yaml"))


def test_secrets_come_from_the_environment_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENSECHECK_TEST_KEY", "s3cret")
    assert with_secrets({"headers": ["Bearer ${SENSECHECK_TEST_KEY}"]}) == {"headers": ["Bearer s3cret"]}
    monkeypatch.delenv("SENSECHECK_TEST_KEY")
    with pytest.raises(InputError, match="SENSECHECK_TEST_KEY is not set"):
        with_secrets("${SENSECHECK_TEST_KEY}")


TRICKY = '''\
# [[evaluate]] in a comment
a = "x # no comment = [ {" # [b]
"quoted key" = 1
b.c.d = 2
long = """
[not.a.table]
e = 1
"""
lit = \'\'\'
f = 2 """
\'\'\'
list = [ # one
  1, [2, 3],
  "]", { g = 4, h = { i = 5 } },
]

[t]
k = 1
[[t.rows]]
x = 1
[t.rows.deep]
y = 2
[[t.rows]]
x = 3
'''


def test_lines_of_tricky_toml() -> None:
    content, lines = parsed(TRICKY, "t.toml")
    assert content["t"]["rows"][1]["x"] == 3
    expected = {
        ("a",): 2, ("quoted key",): 3, ("b", "c", "d"): 4, ("long",): 5, ("lit",): 9, ("list",): 12, ("list", 0): 13,
        ("list", 1, 1): 13, ("list", 2): 14, ("list", 3, "h", "i"): 14, ("t",): 17, ("t", "k"): 18,
        ("t", "rows", 0, "x"): 20, ("t", "rows", 0, "deep", "y"): 22, ("t", "rows", 1, "x"): 24,
    }  # fmt: skip
    assert {k: lines[k] for k in expected} == expected
    assert ("not",) not in lines and ("e",) not in lines


_VALUES = st.recursive(
    st.one_of(
        st.integers(-99, 99), st.booleans(), st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=8)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=8,
)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[\n" + "".join(f"{_toml(v)}, # c\n" for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + "}"
    return str(value)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z]{1,4}", fullmatch=True), _VALUES, min_size=1, max_size=4))
def test_every_key_of_any_toml_has_a_line_that_holds_it(content: dict[str, object]) -> None:
    text = "".join(f"\n{key} = {_toml(value)}\n" for key, value in content.items())
    assert tomllib.loads(text) == content
    _, lines = parsed(text, "t.toml")
    rows = text.split("\n")

    def check(value: object, place: tuple[str | int, ...]) -> None:
        assert place in lines
        if isinstance(place[-1], str):
            assert place[-1] in rows[lines[place] - 1]
        if isinstance(value, dict):
            for k, v in value.items():
                check(v, (*place, k))
        if isinstance(value, list):
            for i, v in enumerate(value):
                check(v, (*place, i))

    for key, value in content.items():
        check(value, (key,))
