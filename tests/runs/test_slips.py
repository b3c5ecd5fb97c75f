"""A mistyped column is told before anything is made or asked; a run that scored nothing says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sensecheck import calibrated, correct, demo, diverse, faithful, robust
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.models.calls import Identity
from sensecheck.report.result import NothingScored, load
from sensecheck.stores import Limits

PAIR = {"premise": "A man runs.", "hypothesis": "A man moves.", "label": "entailment", "sort": "x"}
RECORDS: dict[str, list[dict[str, Any]]] = {
    "faithful": [{"query": "SELECT name FROM t", "sentence": "Show the names.", "sort": "x"}],
    "correct": [{"id": "1", "prediction": "SELECT 1", "gold": "SELECT 1", "sort": "x"}],
    "diverse": [{"query": "a", "hypotheses": ["b c"], "references": [["b c"]], "sort": "x"}],
    "robust": [PAIR],
    "calibrated": [{"confidence": 0.5, "correct": 1, "sort": "x"}, {"confidence": 0.7, "correct": 1, "sort": "y"}],
}
ROOMS: dict[str, Any] = {
    "faithful": faithful, "correct": correct, "diverse": diverse, "robust": robust, "calibrated": calibrated
}  # fmt: skip


class NeverAsked:
    """A model and a store that must not be asked."""

    identity = Identity("never")
    limits = Limits()
    fingerprint = "never"
    language = "sparql"

    def stream(self, pairs: Any) -> Any:
        raise AssertionError("asked")

    def run(self, requests: Any) -> Any:
        raise AssertionError("asked")

    def close(self) -> None:
        pass


def _file(folder: Path, question: str) -> Path:
    path = folder / f"{question}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS[question]))
    return path


def _never(question: str) -> dict[str, Any]:
    if question == "robust":
        return {"model": NeverAsked(), "generator": NeverAsked()}
    return {"store": NeverAsked()} if question == "correct" else {}


@pytest.mark.parametrize("slip", [{"slices": ["sorrt"]}, {"columns": {"sorrt": "sort"}}, {"columns": {"id": "sorrt"}}])
@pytest.mark.parametrize("question", ROOMS)
def test_a_mistyped_column_leaves_nothing_behind(question: str, slip: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(InputError, match="sorrt"):
        ROOMS[question].evaluate(str(_file(tmp_path, question)), out=out, **slip, **_never(question))
    assert not out.exists()


@pytest.mark.parametrize("question", ROOMS)
def test_on_the_command_line_the_corrected_command_runs(question: str, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "run"
    more = ["--schema", str(demo.path("tables.json"))] if question == "faithful" else []
    given = [question, str(_file(tmp_path, question)), *more, "--out", str(out), "--no-ci"]
    assert main([*given, "--slice", "sorrt"]) == 2
    assert "sorrt" in capsys.readouterr().err and not out.exists()
    main([*given, "--slice", "sort"])
    assert load(out).rows.height
    assert main(given) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_a_stream_is_looked_at_before_a_model_is_asked(tmp_path: Path) -> None:
    with (tmp_path / "pairs.jsonl").open("w+b") as stream:
        stream.write(json.dumps(PAIR).encode() + b"\n")
        stream.seek(0)
        with pytest.raises(InputError, match="sorrt"):
            robust.evaluate(stream, out=tmp_path / "run", slices=["sorrt"], **_never("robust"))
    assert not (tmp_path / "run").exists()


def test_a_slice_that_only_a_store_would_measure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot slice by 'outcome'"):
        correct.evaluate(str(_file(tmp_path, "correct")), out=tmp_path / "run", slices=["outcome"])
    assert not (tmp_path / "run").exists()


def test_an_unfinished_run_names_both_ways_out(tmp_path: Path, capsys: Any) -> None:
    path, out = _file(tmp_path, "calibrated"), tmp_path / "run"
    calibrated.evaluate(str(path), out=out)
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "state": "running"}))
    assert main(["calibrated", str(path), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "--resume" in said and "--overwrite" in said


NOTHING: dict[str, tuple[list[dict[str, Any]], list[str], str]] = {
    "faithful": ([{"query": "SELECT FROM (((", "sentence": "x"}], [], "query"),
    "correct": ([{"id": 1, "prediction": 5, "gold": "SELECT 1"}], ["--skip-bad"], "bad record"),
    "diverse": ([{"query": "a", "hypotheses": 5, "references": [["b"]]}], ["--skip-bad"], ""),
    "robust": ([PAIR], ["--model", "py:refusing_model:no", "--no-label-check"], "the model gave no label"),
    "calibrated": ([{"confidence": "x", "correct": 1}], ["--skip-bad"], "confidence missing"),
}


@pytest.mark.parametrize("question", ROOMS)
def test_a_run_that_scored_nothing_says_why(question: str, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    (tmp_path / "refusing_model.py").write_text("def no(premises, hypotheses):\n    return [None] * len(premises)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    records, options, why = NOTHING[question]
    path, out = tmp_path / "data.jsonl", tmp_path / "run"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert main([question, str(path), *options, "--out", str(out)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("sensecheck: error: Nothing could be scored") and why in last
    assert "(1)" in last or "(2)" in last  # how many rows; robust has one for each polarity
    result = load(out)  # the run is whole, to be looked at
    assert result.directory is not None and result.directory.manifest()["state"] == "complete"
    assert (out / "report.html").exists() and result.nothing_scored()


def test_in_python_it_is_a_warning() -> None:
    with pytest.warns(NothingScored, match=r"confidence missing or unreadable \(1\)"):
        result = calibrated.evaluate([{"confidence": None, "correct": 1}], skip_bad=True)
    assert result.figures and not any(figure.n for figure in result.figures)


@pytest.mark.parametrize("question", ["faithful", "robust"])
def test_lines_that_are_all_bad_are_counted_with_their_reasons(question: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"a": 1\n[]\n{"b": \n')
    assert main([question, str(path), "--skip-bad", "--out", str(tmp_path / "run")]) == 2
    assert "3 in all" in capsys.readouterr().err
