"""The command: forms, gates, exit codes, one message for every mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sensecheck.cli import commands, main
from sensecheck.cli.options import Parser


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    confidence = rng.beta(5, 2, 300)
    right = rng.random(300) < confidence
    path = tmp_path / "pairs.csv"
    kinds = rng.choice(["x", "y"], 300)
    turns = rng.choice(["1", "2"], 300)
    lines = [f"{c:.6f},{int(r)},{k},{t}" for c, r, k, t in zip(confidence, right, kinds, turns, strict=True)]
    path.write_text("confidence,correct,kind,turn\n" + "\n".join(lines) + "\n")
    return str(path)


def run(capsys, *argv: str) -> tuple[int, str, str]:
    try:
        code = main(list(argv))
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_table_has_values_intervals_and_slices(capsys, table):
    code, out, _ = run(capsys, "calibrated", table, "--slice", "kind", "--slice", "kind×turn")
    assert code == 0
    assert "ECE" in out and "95% interval" in out and "by kind × turn" in out and "signature: calibrated|" in out
    assert "\x1b[" not in out


def test_json_is_the_summary(capsys, table):
    code, out, _ = run(capsys, "calibrated", table, "--format", "json", "--no-ci")
    assert code == 0
    assert json.loads(out)["schema"] == "sensecheck.summary/1"


def test_markdown_and_latex(capsys, table):
    _, out, _ = run(capsys, "calibrated", table, "--format", "markdown", "--slice", "kind")
    assert "| ECE |" in out and "| :-- |" in out
    _, out, _ = run(capsys, "calibrated", table, "--format", "latex")
    assert r"\toprule" in out and r"95\% interval" in out and r"\end{table}" in out


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        (["--fail-over", "ece=0.5"], 0),
        (["--fail-over", "ece=0.0001"], 1),
        (["--fail-under", "accuracy=0.99"], 1),
        (["--fail-under", "accuracy=0.5"], 0),
        (["--fail-under", "accuracy=0.70", "--gate-on", "bound"], 1),
        (["--fail-over", "ece=0.2", "--gate-on", "bound", "--no-ci"], 1),
    ],
)
def test_gates(capsys, table, gate, code):
    found, _, err = run(capsys, "calibrated", table, *gate)
    assert found == code
    assert ("gate failed" in err) == (code == 1)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["nope"], "there is no command 'nope'"),
        (["calibrate"], "Did you mean 'calibrated'?"),
        (["calibrated", "missing.csv"], "missing.csv"),
        (["calibrated", "TABLE", "--slices", "kind"], "Did you mean --slice?"),
        (["calibrated", "TABLE", "--slice", "kin"], "kin"),
        (["calibrated", "TABLE", "--fail-over", "eec=0.1"], "Did you mean 'ece'?"),
        (["calibrated", "TABLE", "--fail-over", "ece=low"], "expected a number, got 'low'"),
        (["calibrated", "TABLE", "--fail-over", "ece"], "takes FIGURE=VALUE"),
        (["calibrated", "TABLE", "--columns", "confidence=conf"], "conf"),
        (["calibrated", "TABLE", "--ci-level", "2"], "interval level"),
        (["calibrated", "TABLE", "--bins", "0"], "at least 1"),
        (["calibrated", "TABLE", "--plot", "x.gif"], "cannot save a picture"),
        (["calibrated", "TABLE", "--level", "sequence"], "no tokens"),
        (["compare", "one", "two"], "no such run: one"),
        (["report", "one"], "no such run"),
        (["explain", "eces"], "Did you mean 'ece'?"),
    ],
)
def test_every_mistake_gets_one_message_and_code_2(capsys, table, tmp_path, monkeypatch, argv, told):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *(table if a == "TABLE" else a for a in argv))
    assert code == 2
    assert told in err and "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_hostile_file_names_and_cells_cannot_drive_the_terminal(capsys, tmp_path):
    path = tmp_path / "evil\x1b[2J.csv"
    path.write_text("confidence,correct\n0.5,\x1b]0;owned\x07\n")
    code, out, err = run(capsys, "calibrated", str(path))
    assert code == 2
    assert "\x1b" not in out + err and "\x07" not in out + err


def test_out_report_plot_compare_and_report(capsys, table, tmp_path):
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    page, picture = tmp_path / "page.html", tmp_path / "picture.svg"
    code, out, _ = run(
        capsys, "calibrated", table, "--out", a, "--report", str(page), "--plot", str(picture), "--system", "A"
    )
    assert code == 0 and page.exists() and picture.exists() and "report.html" in out
    assert run(capsys, "calibrated", table, "--out", b, "--system", "B")[0] == 0
    code, out, _ = run(capsys, "compare", a, b)
    assert code == 0 and "B minus A" in out and "No difference can be shown on ECE" in out
    code, out, _ = run(capsys, "compare", a, b, "--format", "json")
    assert json.loads(out)["schema"] == "sensecheck.comparison/2"
    code, out, _ = run(capsys, "report", a, "--slice", "correct")
    assert code == 0 and "by correct" in out
    code, out, err = run(capsys, "calibrated", table, "--out", a)
    assert code == 2 and "--overwrite" in err


def test_parity_mode_says_so(capsys, tmp_path):
    path = tmp_path / "x.logits"
    path.write_text('{"top_logits": [[0.1, 0.6]], "top_logit_idxs": [[1, 2]], "labels": [2]}\n' * 30)
    code, out, _ = run(capsys, "calibrated", str(path), "--as", "calibration_metric", "--bins", "1")
    assert code == 0 and "as:calibration_metric" in out
    code, out, _ = run(capsys, "calibrated", str(path), "--as", "calibration_metric")
    assert code == 0 and "–" in out
    code, out, _ = run(capsys, "calibrated", str(path), "--as", "calibration_metric", "--format", "json")
    assert any("the original raises IndexError" in r for f in json.loads(out)["figures"] for r in f["unscored"])
    assert run(capsys, "calibrated", str(path), "--as", "calibration_metric", "--mended")[0] == 0


def test_explain_names_formula_range_direction_and_citation(capsys):
    code, out, _ = run(capsys, "explain", "ece")
    assert code == 0
    assert all(word in out for word in ("formula", "range", "lower is better", "moved by", "Guo"))
    code, out, _ = run(capsys, "explain")
    assert code == 0 and "adaptive_ece" in out


def test_every_command_and_option_has_help(capsys):
    from sensecheck.cli import parser_of

    for name, what in commands().items():
        assert what
        parser = parser_of(name)
        assert isinstance(parser, Parser) and parser.description
        for action in parser._actions:
            assert action.help, f"{name}: {action.option_strings or action.dest} has no help"
        code, out, _ = run(capsys, name, "--help")
        assert code == 0 and "usage: sensecheck" in out


def test_help_and_version(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0 and all(c in out for c in commands())
    code, out, _ = run(capsys, "--version")
    assert code == 0 and out.startswith("sensecheck ")
    assert run(capsys)[0] == 2


def test_demo_files(capsys, tmp_path):
    code, _, _ = run(capsys, "demo", "--files", str(tmp_path / "d"))
    assert code == 0 and (tmp_path / "d" / "parser_a.logits.gz").exists()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_tables_fit_the_terminal(width):
    from sensecheck.report.tables import Table

    table = Table(
        "title", ["name", *(f"column {i}" for i in range(9))], [["日本語の名前 " * 3, *["0.1234 [0.1, 0.2]"] * 9]]
    )
    from sensecheck.report.tables import _width

    assert max(_width(line) for line in table.lines(width)) <= width


def test_what_cannot_work_is_told_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("confidence,correct,strict\n" + "0.9,1,0\n0.2,0,0\n" * 20)
    for options, words in (
        (["--columns", "corect=strict"], "Did you mean 'correct'?"),
        (["--columns", "strict=correct"], "The name that is asked for comes first: correct=strict."),
        (["--columns", "topic=strict"], "(id, confidence, correct, probabilities, probability, label), got 'topic'"),
        (["--plot", str(tmp_path / "x.jpg")], "pictures are .svg"),
        (["--plot", str(tmp_path / "no" / "x.svg")], "there is no folder"),
        (["--report", str(tmp_path / "no" / "x.html")], "there is no folder"),
    ):
        assert main(["calibrated", str(table), *options]) == 2
        assert words in capsys.readouterr().err
    assert main(["calibrated", str(table), "--columns", "correct=strict", "--no-ci", "--format", "json"]) == 0
    assert '"accuracy"' in capsys.readouterr().out
    empty = tmp_path / "empty.csv"
    empty.write_text("confidence,correct\n")
    assert main(["calibrated", str(empty)]) == 2
    told = capsys.readouterr().err
    assert "empty.csv: expected at least one record" in told and "Source(" not in told


def test_nothing_scored_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = tmp_path / "p.jsonl"
    pairs.write_text('{"query": "SELECT a FROM b", "sentence": "the a of b"}\n')
    assert main(["faithful", str(pairs), "--language", "sparql"]) == 2
    said = capsys.readouterr()
    assert "Nothing could be scored: unreadable_query (1)" in said.out
    assert said.err.startswith("sensecheck: error: Nothing could be scored: unreadable_query (1)")
    assert main(["faithful", str(pairs), "--schema", str(pairs)]) == 2
    assert "expected CREATE TABLE statements" in capsys.readouterr().err


def test_a_terminal_without_the_signs_gets_the_figures(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("confidence,correct\n" + "0.9,1\n0.2,0\n" * 20)
    done = subprocess.run(
        [sys.executable, "-m", "sensecheck", "calibrated", str(table), "--no-ci"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ECE" in done.stdout


@pytest.mark.parametrize(
    ("asked", "figure"),
    [("ECE", "ece"), ("Brier Score", "brier"), ("brier: resolution", "brier_resolution"), ("E-AURC", "e_aurc")],
)
def test_a_figure_is_explained_by_the_name_in_the_table(
    asked: str, figure: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", asked]) == 0
    assert capsys.readouterr().out.startswith(f"{figure} — ")


@pytest.mark.parametrize(("asked", "near"), [("eec", "'ece'"), ("Brie", "'brier'"), ("accuracy at 75%", "_at_50'")])
def test_near_misses_of_figures_are_suggested(asked: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", asked]) == 2
    assert near in capsys.readouterr().err


def test_slices_are_crossed_alike_everywhere(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    from sensecheck import calibrated
    from sensecheck.report.question import slicings

    assert slicings(["a×b", "c * d", ("a×b",), "e", "e"]) == [("a", "b"), ("c", "d"), ("a×b",), ("e",)]
    result = calibrated.evaluate(table, slices=["kind×turn"])
    assert list(result.estimates.slices) == [("kind", "turn")]
    assert len(result.slices("turn*kind")) == 4
    assert main(["calibrated", table, "--slice", "kind×"]) == 2
    assert "columns crossed as in a×b, got 'kind×'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("question", "record", "renamed"),
    [
        ("faithful", {"query": "SELECT a FROM b", "sentence": "the a of b"}, "sentense"),
        ("correct", {"prediction": "SELECT 1", "gold": "SELECT 1", "mine": "x"}, "predicton"),
        ("diverse", {"hypotheses": ["a b"], "references": ["a"]}, "hypothesis"),
        ("robust", {"premise": "a", "hypothesis": "b", "label": "neutral"}, "premis"),
        ("calibrated", {"confidence": 0.5, "correct": True}, "confidenc"),
    ],
)
def test_every_question_says_which_names_it_asks_for(question: str, record: dict[str, object], renamed: str) -> None:
    from importlib import import_module

    with pytest.raises(ValueError, match=rf"names that are asked for here .*got '{renamed}'\. Did you mean"):
        import_module(f"sensecheck.{question}").evaluate([record], columns={renamed: "mine"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["calibrated", "--mended"], "--mended is a choice within the original: it needs --as calibration_metric"),
        (["calibrated", "--as", "calibration_metric", "--slice", "kind"], "--slice has no meaning with --as"),
        (["calibrated", "--as", "calibration_metric", "--plot", "no/x.svg"], "there is no folder 'no'"),
        (["recalibrate", "--split", "0.5", "--resume"], "--resume has no meaning here"),
        (["recalibrate", "--split", "0.5", "--write", "x.txt"], "--write takes a .csv, .jsonl or .parquet file"),
        (["recalibrate", "--split", "0.5", "--save", "no/map.json"], "there is no folder 'no'"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    options: list[str], words: str, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([options[0], table, *options[1:]]) == 2
    assert words in capsys.readouterr().err


def test_robust_has_clusters_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["robust", "pairs.jsonl", "--weight", "w"])
    assert stop.value.code == 2
    assert "unrecognized arguments: --weight" in capsys.readouterr().err
