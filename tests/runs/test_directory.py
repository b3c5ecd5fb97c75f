"""A run directory survives a kill, resumes, and refuses what it must."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import sensecheck
from sensecheck import calibrated
from sensecheck.runs import directory
from sensecheck.runs.directory import RunDirectory, RunError


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "pairs.csv"
    rows = "".join(
        f"{(i * 37 % 101) / 101:.6f},{int(i * 53 % 97 < i * 37 % 101)},{'xy'[i % 2]}\n" for i in range(300_000)
    )
    path.write_text("confidence,correct,kind\n" + rows)
    return path


def test_a_killed_run_leaves_a_readable_directory_that_resume_completes(tmp_path, table):
    """The process is killed after some shards; the resumed run equals an undisturbed one."""
    out, whole = tmp_path / "killed", tmp_path / "whole"
    code = (
        "import sys, time\n"
        "from sensecheck.inputs import tables\n"
        "from sensecheck.runs.directory import RunDirectory\n"
        "from sensecheck import calibrated\n"
        "from sensecheck.statistics.figure import IntervalOptions\n"
        "write = RunDirectory.write_shard\n"
        "def slow(self, *a):\n"
        "    write(self, *a); print('shard', flush=True); time.sleep(float(sys.argv[3]))\n"
        "RunDirectory.write_shard = slow\n"
        "reader = tables.TableReader.__init__\n"
        "def small(self, data, **o):\n"
        "    reader(self, data, **{**o, 'block_bytes': 200_000})\n"
        "tables.TableReader.__init__ = small\n"
        "calibrated.evaluate(sys.argv[1], slices=['kind'], out=sys.argv[2], resume=len(sys.argv) > 4,\n"
        "                    options=IntervalOptions(replicates=50))\n"
    )
    python = [sys.executable, "-c", code, str(table)]
    victim = subprocess.Popen([*python, str(out), "0.15"], stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    for _ in range(4):
        victim.stdout.readline()
    victim.send_signal(signal.SIGKILL)
    victim.wait(timeout=30)
    run = RunDirectory.open(out)
    assert run.manifest()["state"] == "running" and run.completed() >= 3
    assert run.measurements().height > 0
    with pytest.raises(RunError, match="did not finish; complete it with --resume"):
        sensecheck.load(out)
    before = {p.name: p.stat().st_mtime_ns for p in run.shards("measurements")}
    (out / ".measurements-00099.parquet.partial").write_bytes(b"half a file")
    subprocess.run([*python, str(out), "0", "resume"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*python, str(whole), "0"], check=True, stdout=subprocess.DEVNULL)
    after = {p.name: p.stat().st_mtime_ns for p in run.shards("measurements")}
    assert {k: after[k] for k in before} == before, "a finished shard was measured again"
    assert not list(out.glob(".*partial"))
    assert (out / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    assert (out / "report.html").read_bytes() == (whole / "report.html").read_bytes()
    assert RunDirectory.open(out).manifest()["state"] == "complete"


def test_resume_refuses_another_plan(tmp_path, table):
    out = tmp_path / "run"
    calibrated.evaluate(table, out=out, limit=100)
    with pytest.raises(RunError) as told:
        calibrated.evaluate(table, out=out, limit=200, bins=10, slices=["a×b", "c"], resume=True)
    assert str(told.value) == (
        f"{out} was started differently and cannot be resumed: bins was 20, now 10; slices was not set, now a×b, c; "
        "limit was 100, now 200. Resume with the same inputs and options, or choose another directory."
    )
    with pytest.raises(RunError, match="columns was not set, now correct=strict"):
        calibrated.evaluate(table, out=out, limit=100, columns={"correct": "strict"}, resume=True)
    time.sleep(0.01)
    os.utime(table)
    with pytest.raises(RunError, match=rf"{table.name} was [\d,]+ bytes \(last changed .*\), now [\d,]+ bytes \(last"):
        calibrated.evaluate(table, out=out, limit=100, resume=True)


def test_a_directory_in_the_way_is_not_touched(tmp_path, table):
    out = tmp_path / "run"
    calibrated.evaluate(table, out=out, limit=50)
    with pytest.raises(
        RunError, match=r"already holds a complete run; pass --overwrite \(overwrite=True\) to replace it"
    ):
        calibrated.evaluate(table, out=out, limit=50)
    calibrated.evaluate(table, out=out, limit=60, overwrite=True)
    assert sensecheck.load(out).rows.height == 60
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious.txt").write_text("mine")
    with pytest.raises(RunError, match="holds no run"):
        calibrated.evaluate(table, out=other, overwrite=True)
    assert (other / "precious.txt").read_text() == "mine"
    with pytest.raises(RunError, match="is a file"):
        calibrated.evaluate(table, out=table)
    with pytest.raises(RunError, match="no such run"):
        sensecheck.load(tmp_path / "nothing")
    with pytest.raises(RunError, match="not a run directory"):
        sensecheck.load(other)


def test_an_interrupt_at_any_moment_of_overwriting_leaves_a_run(tmp_path, monkeypatch):
    """Whatever was removed by then, the folder is an unfinished run: it can be resumed, from the start, or replaced."""
    remove, rows = directory.remove, pl.DataFrame({"id": ["a", "b"]})
    interrupts = 0

    class Interrupt:
        def __init__(self, moment):
            self.left = moment

        def __call__(self, path):
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            remove(path)

    while True:
        out, other = tmp_path / f"run-{interrupts}", tmp_path / f"other-{interrupts}"
        run = RunDirectory.begin(out, {"limit": 1})
        for number in range(3):
            run.write_shard(number, rows, rows)
        run.write_text("report.html", "a page")
        run.finish({}, inputs=[])
        monkeypatch.setattr(directory, "remove", Interrupt(interrupts))
        with contextlib.suppress(KeyboardInterrupt):
            RunDirectory.begin(out, {"limit": 2}, overwrite=True)
            break
        monkeypatch.setattr(directory, "remove", remove)
        shutil.copytree(out, other)
        with pytest.raises(RunError, match="holds an unfinished run; pass --resume"):
            RunDirectory.begin(out, {"limit": 1})
        with pytest.raises(RunError, match="limit was 1, now 2"):
            RunDirectory.begin(out, {"limit": 2}, resume=True)
        if interrupts:
            with pytest.raises(RunError, match="did not finish"):
                sensecheck.load(out)
        resumed = RunDirectory.begin(out, {"limit": 1}, resume=True)
        # With the first shard, all that was measured counts as gone.
        left = 3 if interrupts < 2 else 0
        assert (resumed.completed(), len(resumed.shards("measurements")), len(resumed.shards("examples"))) == (
            left,
        ) * 3
        RunDirectory.begin(other, {"limit": 2}, overwrite=True)
        assert [path.name for path in other.iterdir()] == ["manifest.json"]
        assert RunDirectory.open(other).manifest()["plan"] == {"limit": 2}
        interrupts += 1
    assert interrupts == 8


def test_what_a_run_directory_holds(tmp_path, table):
    out = tmp_path / "run"
    result = calibrated.evaluate(table, out=out, limit=500, slices=["kind"])
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["state"] == "complete" and manifest["schema"] == "sensecheck.manifest/1"
    assert manifest["inputs"][0]["path"].endswith("pairs.csv")
    assert manifest["signature"]["short"] == result.signature.short
    assert {"started", "finished", "sensecheck", "python", "polars"} <= set(manifest)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["schema"] == "sensecheck.summary/1"
    assert not [k for k in summary if "time" in k or k in ("started", "finished")]
    shard = pl.read_parquet(out / "measurements-00000.parquet")
    assert shard.columns[0] == "id" and len(shard) == 500


def test_many_rows_without_a_directory_go_to_a_temporary_one(monkeypatch, table):
    monkeypatch.setattr("sensecheck.runs.collecting.HELD_BYTES", 1000)
    spilled = calibrated.evaluate(table, limit=200_000)
    kept = spilled.rows.paths[0]
    assert kept.exists()
    monkeypatch.undo()
    held = calibrated.evaluate(table, limit=200_000)
    assert [f.to_dict() for f in held.figures] == [f.to_dict() for f in spilled.figures]
    del spilled
    import gc

    gc.collect()
    assert not kept.exists()


@pytest.mark.parametrize("room", [0, 500, 10**9])
def test_columns_of_a_run_are_held_while_there_is_room(tmp_path, monkeypatch, room):
    frames = [
        pl.DataFrame({"id": [f"{i}{k}" for k in range(20)], "em": [i % 2] * 20, "reason": [None] * 20}).cast(
            {"reason": pl.String}
        )
        for i in range(5)
    ]
    run = RunDirectory.begin(tmp_path / "run", {})
    for i, frame in enumerate(frames):
        run.write_shard(i, frame)
    monkeypatch.setattr("sensecheck.runs.directory.HELD_BYTES", room)
    shards = run.measurements()
    reads = []
    read_parquet = pl.read_parquet
    monkeypatch.setattr(pl, "read_parquet", lambda *a, **k: reads.append(k["columns"]) or read_parquet(*a, **k))
    for columns in (["em"], ["reason", "em"], ["em"], None):
        got = list(shards.batches(columns))
        assert pl.concat(got).equals(pl.concat([f if columns is None else f.select(columns) for f in frames]))
        assert got[0].schema == frames[0].select(columns or pl.all()).schema
    if room != 500:
        # Held, each of the three columns is read once from each of the five files.
        assert len(reads) == (20 if room == 0 else 15)
    held = sum(frame.estimated_size() for frame in shards._held.values())
    assert held <= room and (room == 0) == (held == 0)


def test_a_damaged_summary_is_said_to_be_damaged(tmp_path, table):
    out = tmp_path / "run"
    calibrated.evaluate(table, out=out, limit=50)
    (out / "summary.json").write_text("{")
    with pytest.raises(RunError, match="damaged"):
        sensecheck.load(out)


def test_a_run_that_measured_nothing_is_begun_anew(tmp_path, table):
    out = tmp_path / "run"
    with pytest.raises(ValueError, match="expected a column 'no'"):
        calibrated.evaluate(table, out=out, slices=["no"])
    assert not out.exists()
    RunDirectory.begin(out, {"question": "calibrated"})
    (out / ".manifest.json.partial").write_bytes(b"{")
    assert calibrated.evaluate(table, out=out, limit=50).rows.height == 50
    assert RunDirectory.open(out).manifest()["state"] == "complete"


def test_rows_that_share_an_id_are_resampled_together(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    confidence = rng.random(300)
    rows = {"id": [f"q{i % 60}" for i in range(300)], "confidence": confidence, "correct": rng.random(300) < confidence}
    same = calibrated.evaluate({**rows, "group": rows["id"]}, cluster="group")
    held = calibrated.evaluate(rows)
    kept = calibrated.evaluate(rows, out=tmp_path / "run")
    again = calibrated.evaluate(rows, out=tmp_path / "run", resume=True)
    monkeypatch.setattr("sensecheck.runs.collecting.HELD_BYTES", 100)
    spilt = calibrated.evaluate(rows)
    for result in (held, kept, again, spilt, sensecheck.load(tmp_path / "run")):
        assert [f.to_dict() for f in result.figures] == [f.to_dict() for f in same.figures]
        assert "300 rows share 60 ids: rows with the same id are resampled together" in result.notes
        assert result["accuracy"].clusters == 60
    one = calibrated.evaluate({**rows, "id": ["q"] * 300})
    assert one["brier"].low is None and "one cluster" in one["brier"].absent
    assert not any("share" in note for note in calibrated.evaluate({**rows, "id": [*map(str, range(300))]}).notes)
