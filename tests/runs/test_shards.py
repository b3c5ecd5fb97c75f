"""Runs measured in shards and merged: the digits of one run, and one message for what cannot be merged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.runs.five_questions import FEW, calls, digits, evaluate

import sensecheck
from sensecheck import demo
from sensecheck.cli import main
from sensecheck.instruments import OWN
from sensecheck.runs.directory import RunDirectory
from sensecheck.runs.shards import Shard, shard
from sensecheck.runs.writing import RunError


def _sharded(name: str, count: int, folder: Path, **call: Any) -> list[Path]:
    places = [folder / f"shard-{number}" for number in range(1, count + 1)]
    for number, place in enumerate(places, 1):
        evaluate(name, **call, shard=(number, count), out=place)
    return places


@pytest.mark.parametrize("name", OWN)
def test_shards_give_the_digits_of_one_run(name: str, tmp_path: Path) -> None:
    call = calls(tmp_path)[name]
    whole = evaluate(name, **call, out=tmp_path / "whole")
    places = _sharded(name, 3, tmp_path, **call)
    merged = sensecheck.merge(places[::-1], tmp_path / "merged")
    assert digits(merged) == digits(whole)
    assert merged.measurements.equals(whole.measurements)
    texts = [result.texts for result in (whole, merged) if result.texts is not None]
    assert all(a.equals(b) for a, b in zip(*(t.batches() for t in texts), strict=True))
    rows = [RunDirectory(place).measurements().height for place in places]
    assert sum(rows) == whole.rows.height and min(rows) > 0


def test_samples_of_one_example_are_in_one_shard(tmp_path: Path) -> None:
    places = _sharded("correct", 4, tmp_path, **calls(tmp_path)["correct"])
    ids = [set(RunDirectory(place).measurements().batches(["id"]).__next__()["id"]) for place in places]
    assert sum(map(len, ids)) == len(set.union(*ids)) == 45


def test_more_shards_than_records_and_records_without_ids(tmp_path: Path) -> None:
    data = tmp_path / "few.csv"
    data.write_text("confidence,correct\n0.9,1\n0.4,0\n0.7,1\n", encoding="utf-8")
    whole = evaluate("calibrated", data=data)
    merged = sensecheck.merge(_sharded("calibrated", 7, tmp_path, data=data), tmp_path / "run")
    assert digits(merged) == digits(whole)


@pytest.mark.parametrize("name", ["faithful", "calibrated", "correct"])
def test_bad_lines_are_counted_once(name: str, tmp_path: Path) -> None:
    call = calls(tmp_path)[name]
    lines = {
        "faithful": demo.path("sentences_a.jsonl").read_text(encoding="utf-8").splitlines()[:60],
        "correct": (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()[:60],
        "calibrated": [json.dumps({"confidence": (i * 37 % 100) / 100, "correct": i % 3 > 0}) for i in range(60)],
    }[name]
    data = tmp_path / "some.jsonl"
    data.write_text("\n".join([*lines[:20], "{no JSON", *lines[20:], '"nor a record"']) + "\n", encoding="utf-8")
    call = {k: v for k, v in call.items() if k not in ("slices", "limit")} | {"data": data, "skip_bad": True}
    whole = evaluate(name, **call)
    merged = sensecheck.merge(_sharded(name, 3, tmp_path, **call), tmp_path / "run")
    assert digits(merged) == digits(whole)
    assert [n for n in merged.notes if "bad" in n] == [n for n in whole.notes if "bad" in n]


def test_an_audit_is_made_when_all_golds_are_there(tmp_path: Path) -> None:
    call = {**calls(tmp_path)["correct"], "audit": True}
    whole = evaluate("correct", **call)
    merged = sensecheck.merge(_sharded("correct", 3, tmp_path, **call), tmp_path / "run")
    assert digits(merged) == digits(whole) and "audit" in digits(whole)


def test_an_original_that_goes_pair_by_pair_can_be_sharded(tmp_path: Path) -> None:
    call = {"data": demo.path("sentences_a.jsonl"), "schema": demo.path("tables.json"), "parity": "blec"}
    whole = sensecheck.faithful.evaluate(**call)
    for number in (1, 2):
        sensecheck.faithful.evaluate(**call, shard=(number, 2), out=tmp_path / f"s{number}")
    merged = sensecheck.merge([tmp_path / "s1", tmp_path / "s2"], tmp_path / "run")
    assert digits(merged) == digits(whole)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("diverse", {"parity": "lsdscc"}),
        ("robust", {"parity": "breaknli", "slices": ()}),
        ("calibrated", {"parity": "calibration_metric", "slices": (), "limit": None}),
        ("correct", {"parity": "spice", "database": None, "workers": None, "data": [{"question_type": "a"}]}),
        ("correct", {"prove": "all"}),
        ("robust", {"batch_out": "calls.jsonl", "model": "http://127.0.0.1:9/v1#m"}),
    ],
)
def test_what_needs_all_records_at_once_is_refused(name: str, call: dict[str, Any], tmp_path: Path) -> None:
    given = {**calls(tmp_path)[name], **call}
    with pytest.raises(ValueError, match=r"leave --shard \(shard=\) and --engine"):
        getattr(sensecheck, name).evaluate(**given, shard="1/2", out=tmp_path / "s")
    assert not (tmp_path / "s" / "measurements-00000.parquet").exists()


def test_a_shard_that_was_stopped_goes_on(tmp_path: Path) -> None:
    call = calls(tmp_path)["robust"]
    places = _sharded("robust", 2, tmp_path, **call)
    shutil.copytree(places[0], tmp_path / "stopped")
    (tmp_path / "stopped" / "measurements-00000.parquet").unlink()
    with pytest.raises(RunError, match="already holds"):
        evaluate("robust", **call, shard=(1, 2), out=tmp_path / "stopped")
    evaluate("robust", **call, shard=(1, 2), out=tmp_path / "stopped", resume=True)
    merged = sensecheck.merge([tmp_path / "stopped", places[1]], tmp_path / "run")
    assert digits(merged) == digits(evaluate("robust", **call))
    with pytest.raises(RunError, match="shard was 1 of 2, now 2 of 2"):
        evaluate("robust", **call, shard=(2, 2), out=tmp_path / "stopped", resume=True)


# ---- what cannot be merged


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of a small run, and some directories that do not belong to them."""
    folder = tmp_path_factory.mktemp("measured")
    data = folder / "rows.csv"
    rows = "".join(f"{i},{(i * 37 % 100) / 100},{i % 3 > 0}\n" for i in range(40))
    data.write_text("id,confidence,correct\n" + rows, encoding="utf-8")
    _sharded("calibrated", 3, folder, data=data)
    evaluate("calibrated", data=data, shard=(1, 4), out=folder / "of-four")
    evaluate("calibrated", data=data, shard=(2, 3), out=folder / "other", bins=7)
    evaluate("calibrated", data=data, out=folder / "whole")
    return folder


def _manifest(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    (place / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["shard-1", "shard-3"], "of 3 shards, 2 were given; the missing shard is 2"),
        (["shard-1"], "the missing shards are 2, 3"),
        (["shard-1", "shard-2", "shard-2", "shard-3"], "shard 2 of 3 is there twice"),
        (["shard-1", "of-four", "shard-3"], "of-four is shard 1 of 4"),
        (["shard-1", "other", "shard-3"], r"other \(shard 2 of 3\) is of another run than .*: bins was 20, now 7"),
        (["shard-1", "whole"], "whole is a run of its own and no shard"),
        (["shard-1", "nothing"], "no such run: .*nothing"),
        ([], "no shard is named"),
    ],
)
def test_shards_that_do_not_belong_together_are_named(given: list[str], message: str, measured: Path) -> None:
    out = measured / "never"
    with pytest.raises(RunError, match=message):
        sensecheck.merge([measured / name for name in given], out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda place: _manifest(place, lambda m: m.update(state="running")), r"\(shard 2 of 3\) is unfinished"),
        (lambda place: _manifest(place, lambda m: m.update(sensecheck="0.0.1")), "was measured by sensecheck 0.0.1"),
        (lambda place: _manifest(place, lambda m: m.update(shard=7)), "manifest.json is damaged"),
        (lambda place: _manifest(place, lambda m: m.update(plan=[])), "manifest.json is damaged"),
        (lambda place: (place / "measurements-00000.parquet").write_bytes(b"PAR1"), "is damaged: it is not the file"),
        (lambda place: (place / "measurements-00000.parquet").unlink(), "damaged: it has 0 batches"),
    ],
)
def test_a_shard_that_was_changed_is_named(
    change: Callable[[Path], object], message: str, measured: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "shard-2"
    shutil.copytree(measured / "shard-2", changed)
    change(changed)
    with pytest.raises(RunError, match=message) as told:
        sensecheck.merge([measured / "shard-1", changed, measured / "shard-3"], tmp_path / "out")
    assert str(changed) in str(told.value)
    assert not (tmp_path / "out").exists()


def test_inputs_that_changed_since_are_named(tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("confidence,correct\n0.9,1\n0.4,0\n", encoding="utf-8")
    places = _sharded("calibrated", 2, tmp_path, data=data)
    data.write_text("confidence,correct\n0.9,1\n0.4,0\n0.5,0\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"shard-1, .*shard-2 cannot be merged.*rows.csv was 31 bytes"):
        sensecheck.merge(places, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_merging_that_was_stopped_goes_on(measured: Path, tmp_path: Path) -> None:
    out, places = tmp_path / "out", [measured / f"shard-{n}" for n in (1, 2, 3)]
    whole = sensecheck.merge(places, out)
    for name in ("summary.json", "report.html", "measurements-00000.parquet"):
        (out / name).unlink()
    _manifest(out, lambda m: m.update(state="running"))
    (out / ".measurements-00000.parquet.partial").write_bytes(b"PAR1")
    assert digits(sensecheck.merge(places, out, resume=True)) == digits(whole)
    assert not list(out.glob(".*"))


def test_figures_are_not_read_from_a_shard(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["report", "shard-1"], ["compare", "shard-1", "shard-2"]):
        assert main([command[0], *(str(measured / name) for name in command[1:])]) == 2
        told = capsys.readouterr().err
        assert "is shard 1 of 3 of a run and has no figures of its own" in told and "sensecheck merge" in told


# ---- naming a shard


@pytest.mark.parametrize("wrong", ["0/3", "4/3", "3", "a/b", "1/2/3", "", (0, 1), "-1/3"])
def test_a_shard_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="expected I/N"):
        shard(wrong)


@pytest.mark.parametrize(
    ("task", "count", "first", "step", "number"),
    [(0, 5, 0, 1, 1), (1, 5, 1, 1, 1), (5, 5, 1, 1, 5), (7, 3, 3, 2, 3), (4, 5, 0, "", 5)],
)
def test_a_task_of_a_job_array_is_a_shard(
    task: int, count: int, first: int, step: object, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("ID", task), ("COUNT", count), ("MIN", first), ("STEP", step)):
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", str(value))
    found = shard("slurm")
    assert found == Shard(number, count) and found.told == f"task {task} of the Slurm array"


def test_outside_of_a_job_array_there_is_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    with pytest.raises(ValueError, match="sbatch --array"):
        shard("slurm")


def test_owners_are_spread_evenly_and_stay_the_same() -> None:
    ids = pl.Series([f"example-{i}" for i in range(7000)])
    sizes = [len(Shard(number, 7).own(ids)) for number in range(1, 8)]
    assert sum(sizes) == 7000 and min(sizes) > 900 and max(sizes) < 1100
    assert Shard(3, 7).own(ids[:12]) == [2, 4]
    assert Shard(2, 3).own(pl.Series([1, 2, 3])) == Shard(2, 3).own(pl.Series(["1", "2", "3"]))


# ---- what is written down


def test_secrets_are_not_written_down(tmp_path: Path) -> None:
    pairs = [{"id": str(i), "premise": "a b", "hypothesis": "b", "label": "entailment"} for i in range(4)]
    data = tmp_path / "pairs.jsonl"
    data.write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    with pytest.raises(Exception, match=r".+"):
        sensecheck.robust.evaluate(
            data, model="http://me:hunter2hunter2@127.0.0.1:9/v1#m", shard="1/2", out=tmp_path / "s", options=FEW
        )
    written = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert written and b"hunter2" not in written


def test_what_is_only_in_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"confidence: expected something that can be written down.*engine="):
        sensecheck.calibrated.evaluate(
            confidence=pl.Series([0.5]), correct=pl.Series([True]), shard="1/2", out=tmp_path / "s"
        )


def test_standard_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="standard input can be read once"):
        sensecheck.calibrated.evaluate("-", shard="1/2", out=tmp_path / "s")


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(demo.path("sentences_a.jsonl"), "sentences.jsonl")
    shutil.copy(demo.path("tables.json"), "tables.json")
    command = [
        "faithful",
        "sentences.jsonl",
        "--schema",
        "tables.json",
        "--slice",
        "question_type",
        "--resamples",
        "60",
    ]
    for number in (1, 2):
        assert main([*command, "--quiet", "--shard", f"{number}/2", "--out", f"shard-{number}"]) == 0
        assert f"shard {number} of 2: " in capsys.readouterr().out
    assert main([*command, "--quiet", "--format", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    monkeypatch.chdir("/")
    merging = ["merge", str(tmp_path / "shard-1"), str(tmp_path / "shard-2"), "--out", str(tmp_path / "run")]
    assert main([*merging, "--quiet", "--format", "json"]) == 0
    merged = json.loads(capsys.readouterr().out)
    assert merged == whole


def test_batches_of_any_size_may_have_no_text_or_no_record_of_a_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sensecheck.calibrated.logits import LogitsReader

    call = calls(tmp_path)["calibrated"]
    whole = evaluate("calibrated", **call)
    monkeypatch.setitem(LogitsReader.__init__.__kwdefaults__, "block_bytes", 1 << 11)
    merged = sensecheck.merge(_sharded("calibrated", 5, tmp_path, **call), tmp_path / "run")
    assert digits(merged) == digits(whole)
