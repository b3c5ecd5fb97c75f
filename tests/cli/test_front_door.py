"""The one front door: registration, options from one definition, and the walk that every question takes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sensecheck
from sensecheck import demo, instruments
from sensecheck.cli import commands, main
from sensecheck.evaluation.options import options
from sensecheck.options import parameters
from sensecheck.report.result import load
from sensecheck.runs.directory import RunDirectory

ROWS = [{"id": str(i), "confidence": 0.5 + i / 50, "correct": i % 3 > 0, "kind": "ab"[i % 2]} for i in range(24)]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def write(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", instruments.OWN)
def test_command_python_and_evaluation_files_know_the_same_options(name: str) -> None:
    from sensecheck.cli import parser_of

    evaluate = instruments.room(name).evaluate
    flags = {flag for action in parser_of(name)._actions for flag in action.option_strings}
    for parameter in parameters(evaluate).values():
        if parameter.option is not None and not parameter.option.hidden and parameter.settings is None:
            assert parameter.name == "data" or parameter.flag in flags
            assert f"{parameter.name}" in (evaluate.__doc__ or "")
    assert set(options(name)) <= set(parameters(evaluate))
    assert name in commands()


@pytest.mark.parametrize("name", instruments.OWN)
def test_an_unknown_keyword_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(TypeError, match=r"'slice'\. Did you mean 'slices'\?"):
        instruments.room(name).evaluate([], slice="kind")


def test_what_a_declaration_rules_out_is_refused_from_python() -> None:
    calls: list[tuple[dict[str, Any], str]] = [
        ({"level": "word"}, "level: expected one of token, sequence"),
        ({"bins": 0}, "bins: expected at least 1"),
        ({"bins": True}, "bins: expected a whole number"),
        ({"slices": ""}, "slices"),
        ({"weight": ""}, "weight: expected a column"),
        ({"binning": "adaptive"}, "--binning is a choice within the original: it needs --as calibration_metric"),
        ({"parity": "calibration_metric", "slices": ["kind"]}, "--slice has no meaning with --as calibration_metric"),
    ]
    for given, words in calls:
        with pytest.raises(sensecheck.InputError, match=words):
            sensecheck.calibrated.evaluate(ROWS, **given)


def test_a_switch_is_true_or_false_in_the_signature() -> None:
    given: Any = 0
    result = sensecheck.correct.evaluate([{"prediction": "SELECT 1", "gold": "SELECT 1"}], coerce=given)
    assert result.signature.method["coerce"] is False


def test_no_ci_holds_wherever_it_stands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = write(tmp_path / "t.jsonl", [json.dumps(row) for row in ROWS])
    for flags in (["--no-ci", "--ci", "bca"], ["--ci", "bca", "--no-ci"]):
        code, out, _ = run(capsys, "calibrated", table, *flags, "--format", "json")
        assert code == 0 and json.loads(out)["intervals"]["method"] == "none"


def test_slices_that_are_looked_at_are_no_part_of_the_result(tmp_path: Path) -> None:
    references = demo.path("dialogue_refs.json")
    result = sensecheck.diverse.evaluate(demo.path("dialogue_a.txt"), references, out=tmp_path / "run", donors=0)
    before = result.to_dict()
    assert len(result.slices("n_groups")) > 1 and result.to_dict() == before
    assert load(tmp_path / "run").to_dict() == before and before["slices"] == []
    assert [s["by"] for s in result.sliced(["n_groups"]).to_dict()["slices"]] == [["n_groups"]]


def test_a_result_travels(tmp_path: Path) -> None:
    result = sensecheck.calibrated.evaluate(ROWS, options=sensecheck.IntervalOptions(seed=1 << 70), out=tmp_path / "r")
    assert result.statistics and pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()
    assert load(tmp_path / "r").options.seed == 1 << 70


def test_texts_of_two_files_may_have_other_columns(tmp_path: Path) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    write(files[0], [json.dumps({**row, "note": "x"}) for row in ROWS])
    write(files[1], [json.dumps({**row, "remark": "y"}) for row in ROWS])
    for order in (files, files[::-1]):
        result = sensecheck.calibrated.evaluate(order, out=tmp_path / "run", overwrite=True)
        assert {"note", "remark"} <= set(result.examples(5).columns) and (tmp_path / "run" / "report.html").is_file()


def test_lines_that_are_lost_are_counted_by_a_resumed_run_too(tmp_path: Path) -> None:
    lines = demo.path("sentences_a.jsonl").read_text(encoding="utf-8").splitlines()[:10]
    pairs = write(tmp_path / "pairs.jsonl", [*lines, "{", "[1]"])
    straight = sensecheck.faithful.evaluate(pairs, skip_bad=True, out=tmp_path / "run")
    assert sum(straight["consistent"].unscored.values()) == 2
    manifest = tmp_path / "run" / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"complete"', '"running"'), encoding="utf-8")
    *_, last = RunDirectory(tmp_path / "run").shards("measurements")
    assert pl.read_parquet(last)["scored"].to_list() == [False, False]
    last.unlink()
    resumed = sensecheck.faithful.evaluate(pairs, skip_bad=True, out=tmp_path / "run", resume=True)
    assert resumed.to_dict() == straight.to_dict()


def test_a_parity_run_is_not_resumed_on_another_schema(tmp_path: Path) -> None:
    schema = json.loads(demo.path("tables.json").read_text(encoding="utf-8"))
    other = write(tmp_path / "other.json", [json.dumps(schema[:1])])
    given: dict[str, Any] = {"parity": "blec", "out": tmp_path / "run"}
    sensecheck.faithful.evaluate(demo.path("sentences_a.jsonl"), schema=demo.path("tables.json"), **given)
    with pytest.raises(ValueError, match="cannot be resumed: schema was"):
        sensecheck.faithful.evaluate(demo.path("sentences_a.jsonl"), schema=other, resume=True, **given)


def test_a_stored_run_that_cannot_be_read_is_measured_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "t.jsonl", [json.dumps(row) for row in ROWS])
    write(tmp_path / "e.toml", ["[[evaluate]]", 'question = "calibrated"', 'data = "t.jsonl"'])
    monkeypatch.chdir(tmp_path.parent)
    file = f"{tmp_path.name}/e.toml"
    code, out, _ = run(capsys, "run", file)
    assert code == 0 and f"overview: {tmp_path / 'runs' / 'index.html'}" in out
    assert "unchanged" in run(capsys, "run", file)[1]
    (summary,) = tmp_path.glob("runs/**/summary.json")
    stored = json.loads(summary.read_text(encoding="utf-8"))
    del stored["intervals"]
    summary.write_text(json.dumps(stored), encoding="utf-8")
    assert "measured in" in run(capsys, "run", file)[1]
