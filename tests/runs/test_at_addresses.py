"""Inputs and runs at addresses of an S3-compatible server on loopback: as files, and never half a run for a whole one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.runs.five_questions import calls, digits, evaluate

import sensecheck
from sensecheck import demo
from sensecheck.cli import main
from sensecheck.faithful.evaluation import Faithful
from sensecheck.inputs import addresses
from sensecheck.instruments import OWN
from sensecheck.runs.at_address import kept_at
from sensecheck.runs.directory import RunDirectory
from sensecheck.runs.stopping import Stopped
from sensecheck.runs.writing import RunError

pytest.importorskip("s3fs", reason="needs s3fs (make test installs it)")
pytest.importorskip("moto.server", reason="needs moto's server (make test installs it)")

pytestmark = pytest.mark.xdist_group("s3")
SECRET = "hunter2hunter2hunter2"
ROWS = "id,confidence,correct\n" + "".join(f"{i},{(i * 37 % 100) / 100},{i % 3 > 0}\n" for i in range(120))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    made = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    made.start()
    host, port = made.get_host_and_port()
    yield f"http://{host}:{port}"
    made.stop()


@pytest.fixture
def store(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket with one file of rows; passing files and those of runs under way lie in folders of their own."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "FSSPEC_"))]:
        monkeypatch.delenv(name)
    given = {
        "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server, "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "passing"),
        "AWS_CONFIG_FILE": str(tmp_path / "none"), "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "passing").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    urllib.request.urlopen(urllib.request.Request(f"{server}/moto-api/reset", method="POST")).read()
    _anew()
    import s3fs

    system = s3fs.S3FileSystem()
    system.mkdir("bucket")
    system.pipe("bucket/in/rows.csv", ROWS.encode())
    yield system
    _anew()
    assert not list((tmp_path / "passing").iterdir()), "fetched files are left"


def _anew() -> None:
    """File systems are made once in a process, with the credentials of that moment."""
    import s3fs

    addresses._system.cache_clear()
    s3fs.S3FileSystem.clear_instance_cache()


def _names(store: Any, place: str) -> set[str]:
    store.invalidate_cache()
    return {name.rpartition("/")[2] for name in store.find(place)}


def _kept(tmp_path: Path) -> list[str]:
    """What is left of runs under way on this machine."""
    return [str(path) for path in (tmp_path / "cache").rglob("*") if path.name != "sensecheck"]


# ---- inputs


@pytest.mark.parametrize("name", OWN)
def test_inputs_at_addresses_are_as_files(name: str, store: Any, tmp_path: Path) -> None:
    call = calls(tmp_path)[name]
    afar = dict(call)
    for option in ("data", "schema", "references", "database"):
        if option in call:
            place = f"bucket/{name}/{Path(call[option]).name}"
            store.put_file(str(call[option]), place)
            afar[option] = f"s3://{place}"
    whole, found = evaluate(name, **call), evaluate(name, **afar, out=tmp_path / "run")
    assert digits(found) == digits(whole) and found.signature == whole.signature
    read = [one["sha256"] for one in found.inputs]
    assert read == [one["sha256"] for one in whole.inputs] and all(
        one["path"].startswith("s3://") for one in found.inputs
    )
    kept = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir())
    assert b"sensecheck-fetched" not in kept and SECRET.encode() not in kept and b"AKIATEST" not in kept


def test_patterns_and_several(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    head, *lines = ROWS.splitlines(keepends=True)
    for number in range(3):
        part = head + "".join(lines[number::3])
        store.pipe(f"bucket/parts/{number}.csv", part.encode())
        Path(f"{number}.csv").write_text(part)
    whole = digits(evaluate("calibrated", data="*.csv"))
    assert digits(evaluate("calibrated", data="s3://bucket/parts/*.csv")) == whole
    several = evaluate("calibrated", data=[f"s3://bucket/parts/{n}.csv" for n in range(3)], system="*.csv")
    assert digits(several) == whole
    odd = "s3://bucket/odd/a//[x] ü.csv"
    store.pipe(odd, ROWS.encode())
    assert evaluate("calibrated", data=odd).rows.height == 120
    data = {"table": f"table:{tmp_path / 'none'}"}
    with pytest.raises(ValueError, match="no such file"):
        evaluate("robust", data=demo.path("nli.jsonl"), model=data["table"])
    store.pipe("bucket/said.jsonl", json.dumps({"premise": "a", "hypothesis": "b", "prediction": 0}).encode())
    with pytest.warns(UserWarning, match="Nothing could be scored"):
        evaluate("robust", data=demo.path("nli.jsonl"), model="table:s3://bucket/said.jsonl", limit=2)


def test_no_name_in_a_store_leads_out_of_the_folder() -> None:
    with addresses.Fetching() as fetch:
        for name in ("b/../../x", "/../x", "b/./x", "b//x", "b/\0", "b/" + 300 * "x"):
            target = fetch._target("s3", name).resolve()
            assert fetch._folder is not None and fetch._folder.resolve() in target.parents


def test_bad_input_names_its_address(store: Any) -> None:
    store.pipe("bucket/bad.csv", b"confidence,correct\n0.9,1\n0.4,perhaps\n")
    with pytest.raises(sensecheck.InputError) as told:
        evaluate("calibrated", data="s3://bucket/bad.csv")
    assert told.value.path == "s3://bucket/bad.csv" and str(told.value).startswith("s3://bucket/bad.csv:3: correct: ")


def test_files_of_this_machine_need_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    (tmp_path / "rows.csv").write_text(ROWS)
    found = evaluate("calibrated", data=f"file://{tmp_path}/rows.csv", out=f"file://{tmp_path}/run")
    assert digits(found) == digits(evaluate("calibrated", data=tmp_path / "rows.csv"))
    assert sensecheck.load(f"file://{tmp_path}/run").rows.height == 120
    with pytest.raises(ValueError, match="expected a full path after file://"):
        evaluate("calibrated", data="file://rows.csv")


@pytest.mark.parametrize(
    ("kind", "missing", "needs"), [("s3", "fsspec", "s3fs"), ("gs", "gcsfs", "gcsfs"), ("memory", "fsspec", "fsspec")]
)
def test_a_missing_package_says_which_extra(
    kind: str, missing: str, needs: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    addresses._system.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["calibrated", f"{kind}://bucket/rows.csv", "--quiet"]) == 2
    told = f"{kind}:// addresses need {needs}: pip install 'sensecheck[remote]'"
    assert told in capsys.readouterr().err


def _asked_freely(server: str, times: str) -> None:
    """After so many calls, the server asks who may do what; nobody may do anything."""
    head = {"Content-Type": "text/plain"}
    asked = urllib.request.Request(f"{server}/moto-api/reset-auth", times.encode(), head, method="POST")
    urllib.request.urlopen(asked).read()


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("s3://bucket/none.csv", "s3://bucket/none.csv: no such file."),
        ("s3://bucket/none*.csv", "s3://bucket/none*.csv: no file matches this pattern."),
        ("s3://nobody/rows.csv", "s3://nobody/rows.csv: there is no s3://nobody."),
        ("s3://nobody/*.csv", "s3://nobody/*.csv: there is no s3://nobody."),
        ("s3://bucket/in", "s3://bucket/in: expected a file, got a directory."),
        ("s3://no_Bucket!/rows.csv", "could not be read (ParamValidationError"),
        (f"s3://me:{SECRET}@bucket/in/rows.csv", "holds a password or key"),
        ("hf://datasets/nobody/nothing/rows.csv", "hf://datasets/nobody/nothing/rows.csv: "),
    ],
)
def test_what_is_not_there_is_one_message(
    place: str, told: str, store: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    if place.startswith("hf:"):
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9", raising=False)
    assert main(["calibrated", place, "--quiet"]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1 and SECRET not in said


def test_credentials_and_connections_are_told(
    store: Any, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["calibrated", "s3://bucket/in/rows.csv", "--quiet"]
    out = [*command, "--out", "s3://bucket/run"]

    def told(*command: str) -> str:
        _anew()
        assert main(list(command)) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and SECRET not in said and "AKIATEST" not in said
        return said

    with monkeypatch.context() as without:
        without.delenv("AWS_ACCESS_KEY_ID")
        without.delenv("AWS_SECRET_ACCESS_KEY")
        assert "no credentials were found, or they were refused. Set those" in told(*command)
        assert "s3://bucket/run: no credentials" in told(*out)
    with monkeypatch.context() as nowhere:
        nowhere.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        assert "its store cannot be reached" in told(*command)
    _asked_freely(server, "0")
    try:
        assert "access denied" in told(*command)
        assert "s3://bucket/run: access denied" in told("calibrated", str(demo.path("parser_a.logits.gz")), *out[2:])
    finally:
        _asked_freely(server, "inf")


def test_what_one_process_holds_is_refused_for_several(tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").pipe("/here/rows.csv", ROWS.encode())
    assert evaluate("calibrated", data="memory://here/rows.csv").rows.height == 120
    for how in ({"engine": "processes:2"}, {"shard": "1/2", "out": tmp_path / "s"}):
        with pytest.raises(ValueError, match="lies in the memory of one process"):
            evaluate("calibrated", data="memory://here/rows.csv", **how)


def test_what_a_killed_process_fetched_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, held, young = (tmp_path / f"sensecheck-fetched-{name}" for name in ("old", "held", "young"))
    for folder in (old, held, young):
        folder.mkdir()
        (folder / "rows.csv").write_text(ROWS)
    for folder in (old, held):
        os.utime(folder, (time.time() - 600,) * 2)
    lock = addresses.locked(held)
    assert lock is not None and addresses.locked(held) is None
    import fsspec

    fsspec.filesystem("memory").pipe("/here/rows.csv", ROWS.encode())
    evaluate("calibrated", data="memory://here/rows.csv")
    os.close(lock)
    assert {path.name for path in tmp_path.iterdir()} == {held.name, young.name}


# ---- runs


def test_a_run_at_an_address(store: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = calls(tmp_path)["faithful"]
    whole = evaluate("faithful", **call, out=tmp_path / "run")
    found = evaluate("faithful", **call, out="s3://bucket/runs/a/")
    assert digits(found) == digits(whole) and found.examples(3).equals(whole.examples(3))
    assert _names(store, "bucket/runs/a") == {path.name for path in (tmp_path / "run").iterdir()}
    del found
    assert not _kept(tmp_path), "nothing is left on this machine"
    back = sensecheck.load("s3://bucket/runs/a")
    assert digits(back) == digits(whole) and back.measurements.equals(whole.measurements)
    rows = back.rows
    del back
    assert sum(len(batch) for batch in rows.batches()) == whole.rows.height, (
        "files are there for as long as they are read"
    )
    del rows
    for again, told in (({}, "already holds a complete run"), ({"overwrite": True, "limit": 50}, "")):
        if told:
            with pytest.raises(RunError, match=rf"s3://bucket/runs/a {told}; pass --overwrite"):
                evaluate("faithful", **call, **again, out="s3://bucket/runs/a")
        else:
            assert evaluate("faithful", **call, **again, out="s3://bucket/runs/a").rows.height == 50
    store.rm_file("bucket/runs/a/report.html")
    assert main(["report", "s3://bucket/runs/a"]) == 0
    assert "report: s3://bucket/runs/a/report.html" in capsys.readouterr().out
    assert "report.html" in _names(store, "bucket/runs/a")
    evaluate("faithful", **call, out="s3://bucket/runs/b", limit=50)
    assert main(["compare", "s3://bucket/runs/a", "s3://bucket/runs/b", "--quiet"]) == 0
    assert "the same" in capsys.readouterr().out


def test_what_is_there_is_left_alone(store: Any, tmp_path: Path) -> None:
    call = calls(tmp_path)["calibrated"]
    store.pipe("bucket/mine/notes.txt", b"mine")
    with pytest.raises(RunError, match="s3://bucket/mine is not empty and holds no run"):
        evaluate("calibrated", **call, out="s3://bucket/mine", overwrite=True)
    with pytest.raises(ValueError, match="nope"):
        evaluate("calibrated", **{**call, "slices": ["nope"]}, out="s3://bucket/slip")
    assert _names(store, "bucket/mine") == {"notes.txt"} and not _names(store, "bucket/slip")
    for wrong in ({"cache": "s3://bucket/calls"}, {"batch_out": "s3://bucket/calls"}):
        with pytest.raises(ValueError, match="expected a place on this machine"):
            evaluate("robust", **{**calls(tmp_path)["robust"], **wrong})
    for run in ("s3://bucket/mine", "s3://bucket/none"):
        with pytest.raises(RunError, match=f"no such run: {run}"):
            sensecheck.load(run)
    assert not _kept(tmp_path)


@pytest.mark.parametrize("name", ["correct", "robust"])
def test_shards_and_merged_runs_at_addresses(name: str, store: Any, tmp_path: Path) -> None:
    call = calls(tmp_path)[name]
    whole = evaluate(name, **call, out=tmp_path / "whole")
    places = [f"s3://bucket/shard-{number}" for number in (1, 2, 3)]
    for number, place in enumerate(places, 1):
        evaluate(name, **call, shard=(number, 3), out=place)
    assert "manifest.json" in _names(store, "bucket/shard-1") and "summary.json" not in _names(store, "bucket/shard-1")
    with pytest.raises(RunError, match="the missing shard is 2"):
        sensecheck.merge([places[0], places[2]], "s3://bucket/never")
    with pytest.raises(RunError, match="s3://bucket/shard-2 is shard 2 of 3 of a run and has no figures"):
        sensecheck.load(places[1])
    assert not _names(store, "bucket/never")
    assert digits(sensecheck.merge(places, "s3://bucket/run")) == digits(whole)
    assert digits(sensecheck.merge(places, tmp_path / "here")) == digits(whole)
    assert sensecheck.load("s3://bucket/run").measurements.equals(whole.measurements)


def test_an_engine_reads_and_writes_at_addresses(store: Any, tmp_path: Path) -> None:
    import multiprocessing

    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        found = evaluate(
            "calibrated", data="s3://bucket/in/rows.csv", engine=pool, out="s3://bucket/run", system="rows"
        )
    (tmp_path / "rows.csv").write_text(ROWS)
    assert digits(found) == digits(evaluate("calibrated", data=tmp_path / "rows.csv", system="rows"))
    del found
    assert not _kept(tmp_path)


def test_inputs_that_changed_are_known_by_their_content(store: Any, tmp_path: Path) -> None:
    places = [tmp_path / f"shard-{number}" for number in (1, 2)]
    for number, place in enumerate(places, 1):
        evaluate("calibrated", data="s3://bucket/in/rows.csv", shard=(number, 2), out=place)
    store.pipe("bucket/in/rows.csv", ROWS.encode())
    assert sensecheck.merge(places, tmp_path / "same").rows.height == 120
    store.pipe("bucket/in/rows.csv", ROWS.replace("True", "False", 1).encode())
    with pytest.raises(
        RunError, match=r"cannot be merged, as what they measured has changed since: .*s3://bucket/in/rows.csv"
    ):
        sensecheck.merge(places, tmp_path / "other")


# ---- half a run


class _Breaking:
    """A store that is gone after so many writes."""

    def __init__(self, system: Any, writes: int) -> None:
        self._system, self._left = system, writes

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._system, name)
        if name not in ("put_file", "pipe_file", "rm_file"):
            return method

        def writing(*args: Any, **more: Any) -> Any:
            if self._left == 0:
                raise ConnectionError("gone")
            self._left -= 1
            return method(*args, **more)

        return writing


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Runs of several batches each, on this machine, by how many records they have."""
    folder, runs = tmp_path_factory.mktemp("measured"), {}
    with pytest.MonkeyPatch.context() as small:
        small.setattr(Faithful, "batch_rows", 30)
        small.setattr(Faithful, "block_bytes", 4096)
        for limit in (60, 100):
            runs[limit] = folder / str(limit)
            call = {"data": demo.path("sentences_a.jsonl"), "schema": demo.path("tables.json"), "limit": limit}
            evaluate("faithful", **call, out=runs[limit])
    return runs


@pytest.mark.parametrize("there", [False, True])
def test_a_store_that_is_gone_in_the_middle_never_leaves_a_wrong_run(
    there: bool, store: Any, measured: dict[int, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = (digits(sensecheck.load(measured[limit])) for limit in (60, 100))

    def put(limit: int, address: str, **how: bool) -> None:
        """Like a run: what lies in the folder stays, and what is missing is measured."""

        def make(folder: Path, resume: bool, overwrite: bool) -> None:
            plan = RunDirectory(measured[limit]).manifest()["plan"]
            begun = RunDirectory.begin(folder, plan, resume=resume, overwrite=overwrite)
            for path in sorted(measured[limit].iterdir())[RunDirectory(begun.path).completed() and 1 :]:
                shutil.copyfile(path, folder / path.name)

        kept_at(address, make, **{"resume": False, "overwrite": False, **how})[1]()

    system = addresses._system("s3")
    for writes in range(1, 60):
        address = f"s3://bucket/run-{writes}"
        if there:
            put(60, address)
        with monkeypatch.context() as breaking:
            breaking.setattr(addresses, "_system", lambda kind, w=writes, s=system: _Breaking(s, w))
            try:
                put(100, address, overwrite=there)
            except Stopped as stopped:
                assert "its store cannot be reached" in str(stopped) and "with --resume" in str(stopped)
            else:
                assert digits(sensecheck.load(address)) == new and writes > 8
                break
        try:
            assert digits(sensecheck.load(address)) in ({new, old} if there else {new})
        except RunError as told:
            assert "did not finish" in str(told) and address in str(told)
        if writes % 2:  # another machine has only what is at the address
            shutil.rmtree(tmp_path / "cache")
        try:
            put(100, address, resume=True)
        except RunError as told:  # it is the former run that is there
            assert f"{address} was started differently" in str(told) and "limit was 60" in str(told)
            assert there and writes % 2
            put(100, address, overwrite=True)
        assert digits(sensecheck.load(address)) == new and not _kept(tmp_path)
    else:
        raise AssertionError("it never went through")


def test_a_run_that_could_not_be_put_there_is_put_there_later(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, address = calls(tmp_path)["faithful"], "s3://bucket/later"
    system = addresses._system("s3")
    with monkeypatch.context() as breaking:
        breaking.setattr(addresses, "_system", lambda kind: _Breaking(system, 3))
        with pytest.raises(Stopped, match=r"s3://bucket/later: its store cannot be reached .* kept in .*cache"):
            evaluate("faithful", **call, out=address)
    with pytest.raises(
        RunError, match="run for s3://bucket/later is measured and could not be put there; pass --resume"
    ):
        evaluate("faithful", **call, out=address)
    resumed = evaluate("faithful", **call, resume=True, out=address)
    assert digits(resumed) == digits(evaluate("faithful", **call)) == digits(sensecheck.load(address))


def test_a_killed_run_goes_on_where_it_was(store: Any, tmp_path: Path) -> None:
    """The answers of a model are on this machine until the run is at its address."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
    import faulty_server

    log = tmp_path / "answered.jsonl"
    server = faulty_server.serve(log)
    data = tmp_path / "nli.jsonl"
    data.write_text("\n".join(demo.path("nli.jsonl").read_text().splitlines()[:12]) + "\n", encoding="utf-8")
    url = f"http://127.0.0.1:{server.server_port}/v1#m"
    command = [sys.executable, "-m", "sensecheck", "robust", str(data), "--model", url, "--concurrency", "2"]
    command += ["--resamples", "50", "--quiet", "--out", "s3://bucket/killed"]
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OPENAI_API_KEY": "k" * 12}
        )
        until = time.monotonic() + 60
        while time.monotonic() < until and (not log.exists() or len(log.read_text().splitlines()) < 30):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert _names(store, "bucket/killed") == {"manifest.json"}
        with pytest.raises(RunError, match="did not finish"):
            sensecheck.load("s3://bucket/killed")
        done = log.read_text().splitlines()
        resumed = subprocess.run(
            [*command, "--resume"], capture_output=True, text=True, env={**os.environ, "OPENAI_API_KEY": "k" * 12}
        )
        assert resumed.returncode == 0, resumed.stderr
        again = set(done) & set(log.read_text().splitlines()[len(done) :])
        assert len(again) <= 2, "no more than what was under way"
    finally:
        server.shutdown()
    assert {"calls.sqlite", "summary.json"} <= _names(store, "bucket/killed") and not _kept(tmp_path)


def test_two_processes_do_not_measure_one_run_at_once(store: Any, tmp_path: Path) -> None:
    def inside(folder: Path, resume: bool, overwrite: bool) -> None:
        with pytest.raises(RunError, match="s3://bucket/one is being measured by another process"):
            evaluate("calibrated", data="s3://bucket/in/rows.csv", out="s3://bucket/one/")
        RunDirectory.begin(folder, {}).finish({}, inputs=[])

    _, remove = kept_at("s3://bucket/one", inside, resume=False, overwrite=False)
    remove()


def test_other_commands(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["look", "s3://bucket/in/rows.csv"]) == 0
    told = capsys.readouterr().out
    assert "s3://bucket/in/rows.csv: csv" in told and "sensecheck calibrated s3://bucket/in/rows.csv" in told
    assert "sensecheck-fetched" not in told
    evaluate("faithful", **calls(tmp_path)["faithful"], limit=30, out="s3://bucket/run")
    assert main(["label", "s3://bucket/run", "--sample", "5", "--output", "sheet.csv"]) == 0
    assert len(Path("sheet.csv").read_text().splitlines()) == 6
    capsys.readouterr()
    Path("evaluation.toml").write_text(
        'systems = ["a"]\n[[evaluate]]\nquestion = "calibrated"\ndata = "s3://bucket/in/rows.csv"\n'
    )
    for expected in ("measured in", "unchanged"):
        assert main(["run", "evaluation.toml"]) == 0
        said = capsys.readouterr()
        assert expected in said.out + said.err, said
    store.pipe("bucket/in/rows.csv", ROWS.replace("True", "False", 1).encode())
    assert main(["run", "evaluation.toml"]) == 0
    said = capsys.readouterr()
    assert "measured in" in said.out + said.err
    for option in ("--report", "--plot"):
        assert main(["calibrated", "s3://bucket/in/rows.csv", option, "s3://bucket/x.svg", "--quiet"]) == 2
        assert "is written on this machine" in capsys.readouterr().err


def test_many_threads_fetch_at_once(store: Any) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: digits(evaluate("calibrated", data="s3://bucket/in/rows.csv")), range(8)))
    told = [json.loads(one) for one in found]
    assert not [name for one in told for name in one if one[name] != told[0][name]]
    assert len(set(found)) == 1
