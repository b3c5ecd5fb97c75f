"""Real SPARQL servers that nobody here wrote: rdflib-endpoint over Oxigraph, and Virtuoso."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from sensecheck.correct import evaluate, original, question_types
from sensecheck.correct.parity import as_original_result, run_queries
from sensecheck.runs.stopping import Stopped
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer, Endpoint, Failure, Graph, Limits, Reason, Request

KIND = "Simple Question (Direct)"
LIMITS = Limits(seconds=20)
NO_INTERVALS = IntervalOptions(method="none")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(url: str, process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"{url}?query=ASK%7B%7D", timeout=2):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(url)


class RdflibServer:
    """rdflib-endpoint as its own command starts it."""

    def __init__(self, graph: Path) -> None:
        self.graph = graph
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        command = [sys.executable, "-m", "rdflib_endpoint", "serve", "--host", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, "--store", "Oxigraph", str(self.graph)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for(self.url, self.process)

    def kill(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def folder(golden: Path) -> Path:
    return golden / "correct"


@pytest.fixture(scope="module")
def rdflib_server(folder: Path) -> Iterator[RdflibServer]:
    pytest.importorskip("rdflib_endpoint")
    pytest.importorskip("uvicorn")
    server = RdflibServer(folder / "kg.nt")
    server.start()
    yield server
    server.kill()


def few(
    folder: Path, kinds: tuple[str, ...] = (KIND, question_types.BOOLEAN_TYPE, question_types.COUNT_TYPES[0])
) -> list[dict[str, Any]]:
    """Some records of each kind, without those that would hold rdflib's evaluator for minutes."""
    records = json.loads((folder / "all_types.json").read_text())
    easy = [r for r in records if r["_fault"] != "slow" and "{ SELECT" not in r["actions"] + r["sparql_delex"]]
    return [r for kind in kinds for r in [r for r in easy if r["question_type"] == kind][:16]]


def figures(result: Any) -> dict[str, float]:
    return {figure.name: figure.value for figure in result.figures}


@pytest.mark.golden
def test_the_same_figures_as_embedded(folder: Path, rdflib_server: RdflibServer) -> None:
    records = few(folder)
    remote = evaluate(records, endpoint=rdflib_server.url, limits=LIMITS, options=NO_INTERVALS)
    local = evaluate(records, graph=folder / "kg.nt", limits=LIMITS, options=NO_INTERVALS)
    assert figures(remote) == pytest.approx(figures(local), nan_ok=True, abs=1e-12)
    assert remote["accuracy"].n == len(records)


@pytest.mark.golden
def test_parity_over_http(folder: Path, rdflib_server: RdflibServer) -> None:
    """The original's own figures, through a server."""
    records = few(folder, (KIND,))
    endpoint = Endpoint(
        rdflib_server.url, limits=LIMITS, prefixes=original.SERVER_PREFIXES, tolerant=False, retries=1, concurrency=2
    )
    graph = Graph(folder / "kg.nt", limits=LIMITS, prefixes=original.SERVER_PREFIXES, tolerant=False)
    runs = []
    for store in (endpoint, graph):
        found = run_queries(store, records)
        run = original.evaluate(records, KIND, lambda text, found=found: as_original_result(found[text]))  # type: ignore[misc]
        runs.append(run.figures())
        store.close()
    assert runs[0] == runs[1]


class Proxy(ThreadingHTTPServer):
    """Stands between client and server, writes down every query, and does something at a given moment."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.target = target
        self.log: list[str] = []
        self.at: dict[int, Callable[[], None]] = {}
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        pass

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.log.append(parse_qs(body.decode())["query"][0])
            act = self.server.at.pop(len(self.server.log), None)
        if act is not None:
            act()
        headers = {name: self.headers[name] for name in ("Accept", "Content-Type")}
        request = urllib.request.Request(self.server.target, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                status, raw = response.status, response.read()
        except urllib.error.HTTPError as error:
            status, raw = error.code, error.read()
        except OSError:
            self.close_connection = True  # as a server that is gone does
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


@pytest.mark.golden
def test_kill_the_server_and_resume(folder: Path, tmp_path: Path) -> None:
    """Killed in the middle, started again, resumed: the same figures, and nothing answered is asked again."""
    pytest.importorskip("rdflib_endpoint")
    pytest.importorskip("uvicorn")
    records = few(folder)
    path = tmp_path / "records.json"
    path.write_text(json.dumps(records))
    server = RdflibServer(folder / "kg.nt")
    server.start()
    proxy = Proxy(server.url)
    try:

        def store() -> Endpoint:
            return Endpoint(proxy.url, limits=LIMITS, retries=1, pause=0.05, concurrency=2)

        undisturbed = evaluate(str(path), store=store(), options=NO_INTERVALS)
        total = len(proxy.log)
        proxy.log.clear()
        proxy.at[total // 2] = server.kill
        out = tmp_path / "run"
        with pytest.raises(Stopped, match="--resume"):
            evaluate(str(path), store=store(), options=NO_INTERVALS, out=out)
        before = list(proxy.log)
        assert total // 3 < len(set(before)) < total
        server.start()
        proxy.target = server.url
        proxy.log.clear()
        resumed = evaluate(str(path), store=store(), options=NO_INTERVALS, out=out, resume=True)
        after = list(proxy.log)
    finally:
        proxy.shutdown()
        proxy.server_close()
        server.kill()
    assert figures(resumed) == pytest.approx(figures(undisturbed), nan_ok=True, abs=0)
    # Asked again is only what had been under way when the server died.
    again = set(before) & set(after)
    assert len(again) <= 2 + 1, again
    assert len(after) == len(set(after))
    assert len(set(before) | set(after)) >= total - 2


# ---- Virtuoso


@pytest.fixture(scope="module")
def virtuoso(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = shutil.which("virtuoso-t")
    if program is None:
        pytest.skip("virtuoso-t is not installed (Debian: virtuoso-opensource-7-bin)")
    folder = tmp_path_factory.mktemp("virtuoso")
    graphs = golden / "correct"
    sql, web = free_port(), free_port()
    (folder / "virtuoso.ini").write_text(
        f"""[Database]
DatabaseFile = {folder}/v.db
ErrorLogFile = {folder}/v.log
LockFile = {folder}/v.lck
TransactionFile = {folder}/v.trx
xa_persistent_file = {folder}/v.pxa
FileExtend = 200
[TempDatabase]
DatabaseFile = {folder}/t.db
TransactionFile = {folder}/t.trx
[Parameters]
ServerPort = {sql}
ServerThreads = 10
NumberOfBuffers = 10000
DirsAllowed = {graphs}, {folder}
[HTTPServer]
ServerPort = {web}
ServerThreads = 5
[SPARQL]
ResultSetMaxRows = 10000
MaxQueryExecutionTime = 3
"""
    )
    process = subprocess.Popen(
        [program, "+configfile", str(folder / "virtuoso.ini"), "+foreground"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    try:
        wait_for(f"http://127.0.0.1:{web}/sparql", process)
        load = f"DB.DBA.TTLP_MT(file_to_string_output('{graphs}/kg.nt'), '', 'http://g', 0);"
        isql = shutil.which("isql-vt") or "isql"
        subprocess.run([isql, str(sql), "dba", "dba", f"exec={load}"], check=True, capture_output=True, timeout=60)
        yield f"http://127.0.0.1:{web}/sparql?default-graph-uri=http%3A%2F%2Fg"
    finally:
        process.kill()
        process.wait()


@pytest.mark.golden
@pytest.mark.virtuoso
def test_virtuoso_gives_the_same_answers(folder: Path, virtuoso: str) -> None:
    records = few(folder)
    remote = evaluate(records, endpoint=virtuoso, limits=LIMITS, options=NO_INTERVALS)
    local = evaluate(records, graph=folder / "kg.nt", limits=LIMITS, options=NO_INTERVALS)
    assert remote["em_normalised"].value == local["em_normalised"].value
    a, b = remote.measurements, local.measurements
    differ = a.filter(a["correct"] != b["correct"])["id"].to_list()
    assert not differ, differ
    assert a.filter(a["kind"] == "boolean")["correct"].sum() > 5


@pytest.mark.golden
@pytest.mark.virtuoso
def test_virtuoso_limits_are_recognised(virtuoso: str) -> None:
    endpoint = Endpoint(virtuoso, limits=LIMITS, retries=1, pause=0.05)
    ask = endpoint.execute(Request("ASK { ?s ?p ?o }"))
    assert isinstance(ask, Answer)
    assert ask.boolean is True
    cut = endpoint.execute(Request("SELECT ?s WHERE { ?s ?p ?o }"))
    assert isinstance(cut, Failure)
    assert cut.reason == Reason.TOO_LARGE
    heavy = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o . ?a ?b ?c . ?d ?e ?f FILTER(?o != ?c && ?f != ?a) }"
    slow = endpoint.execute(Request(heavy))
    assert isinstance(slow, Failure)
    assert slow.reason == Reason.TIMEOUT
