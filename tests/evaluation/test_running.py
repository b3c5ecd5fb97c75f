"""`sensecheck run` and `sensecheck init`: systems × questions × data, and only what changed."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.evaluation import read, run
from sensecheck.evaluation.schema import schema
from sensecheck.instruments import available

FILE = """\
title = "two systems <b>"
systems = ["A", "B"]
[intervals]
replicates = 100
[[evaluate]]
question = "calibrated"
name = "answers"
data = "data/{system}.csv"
slices = ["kind"]
[[evaluate]]
question = "calibrated"
name = "easy half"
data = { A = "data/A.csv", B = "data/B.csv" }
limit = 100
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for system, right in (("A", 3), ("B", 5)):
        rows = [
            {"id": f"q{i}", "confidence": 0.6 + (i % 4) / 10, "correct": i % 6 < right, "kind": "xyz"[i % 3]}
            for i in range(200)
        ]
        pl.DataFrame(rows).write_csv(tmp_path / "data" / f"{system}.csv")
    (tmp_path / "evaluation.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


def test_measures_compares_and_writes_the_overview(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder / "evaluation.toml")]) == 0
    said = capsys.readouterr().out
    assert "answers · A: measured" in said and "easy half · B: measured" in said
    assert "ECE ↓" in said and str(folder / "runs" / "index.html") in said
    for place in ("answers/A", "answers/B", "easy-half/A", "easy-half/B"):
        assert (folder / "runs" / place / "report.html").exists()
        assert orjson.loads((folder / "runs" / place / "manifest.json").read_bytes())["state"] == "complete"
    page = (folder / "runs" / "index.html").read_text(encoding="utf-8")
    assert "two systems &lt;b&gt;" in page
    for link in ("answers/A/report.html", "answers/comparison.html", "easy-half/B/report.html"):
        assert f'href="{link}"' in page and (folder / "runs" / link).exists()
    assert "†" in page and "<strong>" in page


def test_only_what_changed_is_measured_again(folder: Path) -> None:
    def labels() -> tuple[list[str], list[str]]:
        done = run(read(folder / "evaluation.toml"))
        assert not done.failed
        return done.measured, done.unchanged

    every = ["answers · A", "answers · B", "easy half · A", "easy half · B"]
    assert labels() == (every, [])
    stamps = {p: p.stat().st_mtime_ns for p in (folder / "runs").rglob("*.parquet")}
    pages = {p: p.read_bytes() for p in (folder / "runs").rglob("*.html")}
    assert labels() == ([], every)
    assert {p: p.stat().st_mtime_ns for p in (folder / "runs").rglob("*.parquet")} == stamps
    assert {p: p.read_bytes() for p in (folder / "runs").rglob("*.html")} == pages
    # A file that is only touched is not changed; one whose content is, is.
    os.utime(folder / "data" / "B.csv")
    assert labels() == ([], every)
    text = (folder / "data" / "B.csv").read_text()
    (folder / "data" / "B.csv").write_text(text.replace("q1,0.7,", "q1,0.75,", 1))
    assert labels() == (["answers · B", "easy half · B"], ["answers · A", "easy half · A"])
    toml = (folder / "evaluation.toml").read_text()
    (folder / "evaluation.toml").write_text(toml.replace('slices = ["kind"]', 'slices = ["kind"]\nbins = 7'))
    assert labels() == (every[:2], every[2:])
    (folder / "evaluation.toml").write_text(toml.replace('title = "two', 'title = "The two'))
    assert labels()[0] == every[:2], "bins are 20 again; a title changes nothing"
    assert run(read(folder / "evaluation.toml"), force=True).measured == every


def test_an_interrupted_cell_is_resumed(folder: Path) -> None:
    run(read(folder / "evaluation.toml"))
    manifest = folder / "runs" / "answers" / "A" / "manifest.json"
    begun = orjson.loads(manifest.read_bytes())
    manifest.write_bytes(orjson.dumps({**begun, "state": "running"}))
    shard = folder / "runs" / "answers" / "A" / "measurements-00000.parquet"
    before = shard.stat().st_mtime_ns
    assert run(read(folder / "evaluation.toml")).measured == ["answers · A"]
    assert orjson.loads(manifest.read_bytes())["state"] == "complete"
    assert shard.stat().st_mtime_ns == before, "the measured shard was kept"


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """kill -9 while each system is measured: the same files as undisturbed, and no measured shard is made again."""
    chance = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(400)])
    folders = [tmp_path / "killed", tmp_path / "undisturbed"]
    for system in "AB":
        sets = [
            {"id": i, "query": f"q{i}", "hypotheses": [" ".join(chance.choice(words, 6)) for _ in range(2)],
             "references": [[" ".join(chance.choice(words, 6))] for _ in range(2)]}
            for i in range(2100)
        ]  # fmt: skip
        for folder in folders:
            (folder / "data").mkdir(parents=True, exist_ok=True)
            (folder / "data" / f"{system}.jsonl").write_bytes(b"".join(orjson.dumps(s) + b"\n" for s in sets))
            (folder / "evaluation.toml").write_text(
                'systems = ["A", "B"]\n[intervals]\nreplicates = 50\n'
                '[[evaluate]]\nquestion = "diverse"\nname = "answers"\ndata = "data/{system}.jsonl"\n'
            )
    command = [sys.executable, "-m", "sensecheck", "run", str(folders[0] / "evaluation.toml")]
    shards: dict[Path, int] = {}
    for system in "AB":
        place = folders[0] / "runs" / "answers" / system
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not (place / "measurements-00001.parquet").exists():
                assert process.poll() is None, "it ended before it could be killed"
                time.sleep(0.005)
        finally:
            process.kill()
            process.wait()
        assert orjson.loads((place / "manifest.json").read_bytes())["state"] == "running"
        shards |= {p: p.stat().st_mtime_ns for p in (folders[0] / "runs").rglob("measurements-*.parquet")}
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
    assert main(["run", str(folders[1] / "evaluation.toml")]) == 0
    assert len(shards) >= 4
    assert {p: p.stat().st_mtime_ns for p in shards} == shards, "a measured shard was made again"
    for name in ("answers/A/summary.json", "answers/B/summary.json", "answers/B/report.html"):
        assert (folders[0] / "runs" / name).read_bytes() == (folders[1] / "runs" / name).read_bytes(), name


def test_one_bad_input_does_not_stop_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data" / "A.csv").write_text("confidence,correct\n0.5,maybe\n")
    assert main(["run", str(folder / "evaluation.toml")]) == 2
    told = capsys.readouterr()
    assert "evaluation.toml:5: answers · A: " in told.err and "maybe" in told.err
    assert "answers · B: measured" in told.out
    page = (folder / "runs" / "index.html").read_text(encoding="utf-8")
    assert "maybe" in page and 'href="answers/B/report.html"' in page


def test_gates_decide_the_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "evaluation.toml"
    path.write_text(FILE.replace("limit = 100", "limit = 100\nfail_under = { accuracy = 0.6 }"))
    assert main(["run", str(path)]) == 1
    err = capsys.readouterr().err
    assert "gate failed: easy half · A: accuracy is 0.5" in err and "gate failed: easy half · B" not in err


def test_dry_run_and_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(folder / "evaluation.toml")
    assert main(["run", path, "--dry-run"]) == 0
    assert "answers · A: would be measured" in capsys.readouterr().out
    assert not (folder / "runs").exists()
    assert main(["run", path, "--only", "answer"]) == 2
    assert "Did you mean 'answers'?" in capsys.readouterr().err
    assert main(["run", path, "--only", "answers"]) == 0
    assert not (folder / "runs" / "easy-half").exists()


def test_a_dry_run_looks_whether_the_data_are_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "evaluation.toml"
    (folder / "data" / "A.csv").rename(folder / "data" / "A1.csv")
    path.write_text(FILE + '[[evaluate]]\nquestion = "diverse"\ndata = "data/B.csv"\nreferences = "data/refs.json"\n')
    assert main(["run", str(path), "--dry-run"]) == 2
    told = capsys.readouterr()
    assert "answers · B: would be measured" in told.out and "answers · A" not in told.out
    lines = [line.split("evaluation.toml:")[1] for line in told.err.splitlines()]
    assert lines[0] == "8: answers · A: data: data/A.csv: no such file. Did you mean 'A1.csv'?"
    assert lines[1].startswith("13: easy half · A: data: data/A.csv: no such file")
    assert lines[2].startswith("18: diverse · A: references: there is no such file: 'data/refs.json'.")
    assert not (folder / "runs").exists()


def test_a_table_of_settings_reaches_the_question(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sensecheck import correct
    from sensecheck.stores.limits import Limits

    given: list[Any] = []

    # With the signature of the real one, from which the settings are known.
    @functools.wraps(correct.evaluate)
    def evaluate(*_: Any, **call: Any) -> Any:
        given.append(call["limits"])
        raise ValueError("far enough")

    monkeypatch.setattr(correct, "evaluate", evaluate)
    head = 'systems = ["A"]\n[[evaluate]]\nquestion = "correct"\n'
    (folder / "evaluation.toml").write_text(f'{head}data = "data/A.csv"\nlimits = {{ seconds = 2.5 }}\n')
    run(read(folder / "evaluation.toml"))
    assert given == [Limits(seconds=2.5)]


def test_every_mistake_is_one_line_on_stderr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "evaluation.toml"
    path.write_text(FILE.replace("limit", "limt").replace("slices", "slice"))
    assert main(["run", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("evaluation.toml:")[1].split(":")[0] for line in lines] == ["9", "14"]


def test_a_secret_is_passed_on_and_never_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sensecheck import calibrated
    from sensecheck.evaluation import options

    given: list[Any] = []
    original = calibrated.evaluate

    def evaluate(data: Any, *, api_key: str = "", slices: Any = (), out: Any = None, overwrite: bool = False) -> Any:
        given.append(api_key)
        return original(data, slices=slices, out=out, overwrite=overwrite)

    monkeypatch.setattr(calibrated, "evaluate", evaluate)
    monkeypatch.setenv("MY_TEST_KEY", "s3cret-value")
    options.options.cache_clear()
    try:
        text = FILE[: FILE.rindex("[[evaluate]]")] + 'api_key = "${MY_TEST_KEY}"\n'
        (folder / "evaluation.toml").write_text(text)
        assert not run(read(folder / "evaluation.toml")).failed
    finally:
        options.options.cache_clear()
    assert given == ["s3cret-value"] * 2
    written = [p for p in folder.rglob("*") if p.is_file() and b"s3cret-value" in p.read_bytes()]
    assert written == []


def test_init_writes_a_file_that_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "evaluation.toml"
    assert main(["init", str(target)]) == 0
    read(target)
    assert main(["init", str(target)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    written = json.loads((tmp_path / "evaluation.schema.json").read_text())
    assert written == schema()
    # Every commented entry is right as well, once the comment signs are gone.
    text = target.read_text(encoding="utf-8")
    for name in available():
        assert f'question = "{name}"' in text


@pytest.mark.slow
def test_init_with_the_demo_measures_every_entry(tmp_path: Path) -> None:
    """With few replicates; docs/report.md, whose commands are run by test_docs, runs the file as it is."""
    path = tmp_path / "evaluation.toml"
    assert main(["init", str(path), "--demo"]) == 0
    text = path.read_text(encoding="utf-8")
    assert "# replicates = 1000\n" in text
    path.write_text(text.replace("# replicates = 1000\n", "replicates = 50\n"), encoding="utf-8")
    found = read(path)
    done = run(found)
    assert not done.failed and len(done.measured) == 2 * len(found.entries)


def test_the_schema_accepts_and_refuses_what_the_reader_does(folder: Path) -> None:
    import tomllib

    jsonschema = pytest.importorskip("jsonschema")
    content = tomllib.loads(FILE)
    jsonschema.validate(content, schema())
    for wrong in ({"bins": "ten"}, {"binz": 3}, {"level": "word"}, {"fail_under": {"acuracy": 1}}):
        entry = {**content["evaluate"][0], **wrong}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**content, "evaluate": [entry]}, schema())
