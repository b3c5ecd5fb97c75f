"""Runs measured by several processes: the digits of one, and what happens when a part of the engine dies."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.runs.five_questions import calls, digits, evaluate

import sensecheck
from sensecheck.cli import main
from sensecheck.engine import executors
from sensecheck.engine.executors import Engine, opened
from sensecheck.instruments import OWN
from sensecheck.network.address import Address, with_variables
from sensecheck.report import spreading
from sensecheck.runs.stopping import Stopped
from sensecheck.runs.writing import RunError


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as made:
        yield made


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("rows") / "rows.csv"
    lines = "".join(f"{i},{(i * 37 % 100) / 100},{i % 3 > 0}\n" for i in range(400))
    data.write_text("id,confidence,correct\n" + lines, encoding="utf-8")
    return data


@pytest.mark.parametrize("name", OWN)
def test_two_processes_give_the_digits_of_one(name: str, pool: Executor, tmp_path: Path) -> None:
    call = calls(tmp_path)[name]
    spread = evaluate(name, **call, engine=pool, out=tmp_path / "run")
    assert digits(spread) == digits(evaluate(name, **call))
    assert (
        not (tmp_path / "run.shards").exists() and sensecheck.load(tmp_path / "run").rows.height == spread.rows.height
    )


def test_a_pool_of_copies_begins_new_programs(rows: Path) -> None:
    """Threads of Polars are not there in a copied process: without a new program it would wait for ever."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as copies:
        assert digits(evaluate("calibrated", data=rows, engine=copies)) == digits(evaluate("calibrated", data=rows))


def test_data_in_memory_are_sent(pool: Executor) -> None:
    data = {"confidence": [0.9, 0.4, 0.8, 0.1], "correct": [True, False, False, True]}
    result = evaluate("calibrated", data=data, engine=pool)
    assert digits(result) == digits(evaluate("calibrated", data=data)) and result.directory is None


def test_a_worker_that_does_not_see_the_folder_sends_its_files(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreading, "_sees", lambda task: False)
    with ThreadPoolExecutor(3) as threads:
        result = evaluate("calibrated", data=rows, engine=threads, out=tmp_path / "run")
    assert digits(result) == digits(evaluate("calibrated", data=rows))


def test_bad_input_is_told_as_by_one_process(pool: Executor, tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("confidence,correct\n0.9,1\n0.4,perhaps\n", encoding="utf-8")
    told = []
    for how in ({}, {"engine": pool, "out": tmp_path / "run"}):
        with pytest.raises(sensecheck.InputError) as error:
            evaluate("calibrated", data=data, **how)
        told.append((str(error.value), error.value.line, error.value.reason))
    assert told[0] == told[1]
    assert not any(path.name.startswith("run") for path in tmp_path.iterdir())


def test_a_run_that_is_there_is_left_alone(pool: Executor, rows: Path, tmp_path: Path) -> None:
    evaluate("calibrated", data=rows, out=tmp_path / "run")
    with pytest.raises(RunError, match="already holds a complete run"):
        evaluate("calibrated", data=rows, engine=pool, out=tmp_path / "run")
    evaluate("calibrated", data=rows, engine=pool, out=tmp_path / "run", bins=7, overwrite=True)
    assert sensecheck.load(tmp_path / "run").signature.method["bins"] == 7


def test_what_is_no_engine_is_refused(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("threads", "processes:0", "processes:x", "dask:", "http://x"):
        assert main(["calibrated", str(rows), "--engine", wrong, "--quiet"]) == 2
        assert "expected processes[:N], dask[:N], tcp://HOST:8786 of a scheduler" in capsys.readouterr().err
    with pytest.raises(ValueError, match="both cut a run into parts"):
        evaluate("calibrated", data=rows, engine="processes:2", shard="1/2", out=tmp_path / "s")


def test_a_killed_worker_stops_the_run_and_resuming_completes_it(rows: Path, tmp_path: Path) -> None:
    call = {"data": rows, "out": tmp_path / "run"}
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as doomed:
        pid = doomed.submit(os.getpid).result()
        doomed.submit(time.sleep, 0)
        threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
        doomed.submit(time.sleep, 60), doomed.submit(time.sleep, 60)
        with pytest.raises(Stopped, match="a worker process ended"):
            evaluate("calibrated", **call, engine=doomed)
    with pytest.raises(RunError, match=r"holds shards of an unfinished run; pass --resume"):
        evaluate("calibrated", **call, engine="processes:1")
    with ThreadPoolExecutor(1) as one:
        resumed = evaluate("calibrated", **call, engine=one, resume=True)
    assert digits(resumed) == digits(evaluate("calibrated", data=rows))
    assert not (tmp_path / "run.shards").exists()


class _InTurn(Executor):
    """Does at once what it is given, on this thread: what kills it kills all."""

    _max_workers = 2

    def submit(self, function: Any, /, *args: Any, **given: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(function(*args, **given))
        return done


class _Killed(BaseException):
    """As if the process ended here."""


def test_a_run_that_is_killed_at_any_file_goes_on(rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every renaming and every removal of a file: whatever is there then, the figures are those of one run."""
    whole = digits(evaluate("calibrated", data=rows))
    at_most = 200
    for step in range(1, at_most):
        out, left = tmp_path / f"run-{step}", [step]

        def killing(method: Any, left: list[int] = left) -> Any:
            def maybe(*args: Any, **given: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    raise _Killed
                return method(*args, **given)

            return maybe

        with monkeypatch.context() as dying:
            dying.setattr(Path, "replace", killing(Path.replace))
            dying.setattr(Path, "unlink", killing(Path.unlink))
            try:
                evaluate("calibrated", data=rows, engine=_InTurn(), out=out)
            except _Killed:
                pass
            else:
                assert step > 20
                break
        begun = out.exists() or out.with_name(f"{out.name}.shards").exists()
        assert digits(evaluate("calibrated", data=rows, engine=_InTurn(), out=out, resume=begun)) == whole, step
        assert digits(sensecheck.load(out)) == whole and not list(out.glob(".*"))
        assert [path.name for path in tmp_path.glob(f"{out.name}*")] == [out.name]
        shutil.rmtree(out)
    else:
        raise AssertionError("it never went through")


# ---- secrets


@pytest.mark.filterwarnings("ignore:Nothing could be scored")
def test_secrets_stay_where_they_are(rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARQL_WORD", "hunter2/&hunter2")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2hunter2")
    sent: list[bytes] = []

    class Cluster(ThreadPoolExecutor):
        """Not one of Python's own: as if behind a scheduler."""

        def submit(self, function: Any, /, *args: Any, **given: Any) -> Any:
            sent.append(pickle.dumps((function, args, given)))
            return super().submit(function, *args, **given)

    address = "http://me:${SPARQL_WORD}@127.0.0.1:9/sparql"
    pairs = calls(tmp_path)["correct"]["data"]
    with Cluster(1) as cluster, opened(cluster) as engine:
        assert isinstance(engine, Engine) and engine.afar
        with contextlib.suppress(Stopped, ValueError):
            evaluate("correct", data=pairs, endpoint=address, language="sparql", engine=cluster, out=tmp_path / "run")
        with contextlib.suppress(Stopped, ValueError):
            evaluate("robust", data=calls(tmp_path)["robust"]["data"], model="http://127.0.0.1:9/v1#m", engine=cluster)
        assert sent and not any(b"hunter2" in graph for graph in sent)
        count = len(sent)
        with pytest.raises(ValueError, match=r"endpoint: holds a password .* Write \$\{NAME\} in its place"):
            evaluate("correct", data=pairs, endpoint="http://me:hunter2@127.0.0.1:9/sparql", engine=cluster)
        assert len(sent) == count
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"hunter2" not in kept


def test_variables_stand_for_secrets_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "a@b:c/d")
    assert "a@b:c/d" in Address(with_variables("http://me:${WORD}@h/x?g=1")).secrets
    assert Address(with_variables("http://h/x?api_key=${WORD}")).secrets[1] == "a@b:c/d"
    for wrong in ("http://${WORD}/x", "http://h/${WORD}", "http://h/x?graph=${WORD}"):
        with pytest.raises(ValueError, match="may stand for a user, a password or a key"):
            with_variables(wrong)
    with pytest.raises(ValueError, match="no variable NOT_THERE"):
        with_variables("http://me:${NOT_THERE}@h")


# ---- Dask: a scheduler and workers as processes of their own


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    with Cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


class Cluster:
    """A scheduler and two workers on loopback, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        self.start("scheduler", "--port", self.address.rpartition(":")[2], "--host", "127.0.0.1", "--no-dashboard")
        self.workers = [self.worker(), self.worker()]
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.wait(20)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        place = self.folder / f"at-{len(self.processes)}"
        place.mkdir()
        log = (place / "log").open("wb")
        process = subprocess.Popen([sys.executable, "-m", "dask", *command], cwd=place, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start(
            "worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "30"
        )


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("name", OWN)
def test_a_cluster_gives_the_digits_of_one_process(name: str, cluster: Cluster, tmp_path: Path) -> None:
    call = calls(tmp_path)[name]
    spread = evaluate(name, **call, engine=cluster.address, out=tmp_path / "run")
    assert digits(spread) == digits(evaluate(name, **call))
    assert sorted(path.name for path in tmp_path.iterdir() if "run" in path.name) == ["run"]


@pytest.mark.xdist_group("dask")
def test_a_scheduler_whose_workers_do_not_come_is_told(
    tmp_path: Path, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "_SECONDS_FOR_WORKERS", 0.3)
    (tmp_path / "alone").mkdir()
    alone = Cluster(tmp_path / "alone")
    try:
        alone.start("scheduler", "--port", alone.address.rpartition(":")[2], "--host", "127.0.0.1", "--no-dashboard")
        with pytest.raises(Stopped, match="has no workers"):
            evaluate("calibrated", data=rows, engine=alone.address, out=tmp_path / "run")
    finally:
        alone.__exit__()


@pytest.mark.xdist_group("dask")
def test_one_worker_dies_and_another_joins(cluster: Cluster, rows: Path, tmp_path: Path) -> None:
    """The last test of the cluster: a worker is killed at work, a new one takes its place."""
    call = {"data": tmp_path / "many.csv", "out": tmp_path / "run"}
    head, *lines = rows.read_text(encoding="utf-8").splitlines(keepends=True)
    call["data"].write_text(head + "".join(lines * 50), encoding="utf-8")
    changes = [threading.Timer(0.4, cluster.workers[0].kill), threading.Timer(0.5, cluster.worker)]
    for change in changes:
        change.start()
    spread = evaluate("calibrated", **call, engine=cluster.address)
    for change in changes:
        change.join()
    assert cluster.workers[0].wait(20) == -signal.SIGKILL
    assert digits(spread) == digits(evaluate("calibrated", data=call["data"]))


def test_where_nobody_listens_there_is_no_scheduler(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("sensecheck.engine.executors._SECONDS_TO_CONNECT", 0.3)
    with pytest.raises(ValueError, match=r"expected a Dask scheduler at tcp://127\.0\.0\.1:9"):
        evaluate("calibrated", data=rows, engine="tcp://127.0.0.1:9")


def test_what_an_event_loop_logs_of_a_lost_cluster_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    """A scheduler that is killed leaves tasks that nobody waits for: asyncio prints each with its traceback."""
    own = logging.getLogger("distributed.tests"), logging.getLogger("asyncio")
    own[0].setLevel(logging.INFO)
    levels = [logger.level for logger in own]
    with executors._quiet():
        for logger in own:
            logger.error("Task exception was never retrieved")
    assert not caplog.records and [logger.level for logger in own] == levels
    own[1].error("somebody else's")
    assert len(caplog.records) == 1
