"""Workers: replaced when killed, gone when closed, and answering in between."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sensecheck.stores import (
    Answer,
    Databases,
    Failure,
    Graph,
    Limits,
    Reason,
    Request,
    ResultCache,
    StoreError,
    answers,
)
from sensecheck.stores.cache import request_key


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    path = tmp_path / "g.nt"
    path.write_text("".join(f"<http://e/{i}> <http://e/p> <http://e/{i + 1}> .\n" for i in range(300)))
    return path


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_outcomes_come_in_the_order_of_requests(graph_file: Path) -> None:
    with Graph(graph_file, workers=2) as store:
        texts = [f"SELECT ?x WHERE {{ <http://e/{i}> <http://e/p> ?x }}" for i in range(60)]
        outcomes = store.execute_many(map(Request, texts))
    values = [outcome.rows[0][0].value for outcome in outcomes if isinstance(outcome, Answer)]  # type: ignore[union-attr]
    assert values == [f"http://e/{i + 1}" for i in range(60)]


def test_a_worker_that_dies_is_replaced(graph_file: Path) -> None:
    with Graph(graph_file, workers=1) as store:
        assert isinstance(store.execute(Request("ASK { ?s ?p ?o }")), Answer)
        os.kill(store.pool.pids()[1], signal.SIGKILL)
        store.execute(Request("ASK { ?s ?p ?o }"))  # may meet the dead one
        assert isinstance(store.execute(Request("ASK { ?s ?p ?o }")), Answer)


def test_a_query_whose_worker_is_killed_is_run_again(graph_file: Path) -> None:
    """Whoever kills a worker, at work or idle, changes no outcome."""
    texts = [f"SELECT ?x WHERE {{ <http://e/{i}> <http://e/p> ?x }}" for i in range(300)]
    killed = set()
    with Graph(graph_file, workers=2) as store:
        outcomes = []
        for number, outcome in store.run(map(Request, texts)):
            outcomes.append((number, outcome))
            if len(outcomes) % 40 == 1:
                pid = store.pool.pids()[1]
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)  # on a busy machine the same one may be hit twice before it is missed
        assert len(killed) > 1
        assert store.pool.replaced >= len(killed) - 1  # nobody need miss the last one
    values = [outcome.rows[0][0].value for _, outcome in sorted(outcomes) if isinstance(outcome, Answer)]  # type: ignore[union-attr]
    assert values == [f"http://e/{i + 1}" for i in range(300)]


def test_nothing_is_left_running(graph_file: Path) -> None:
    store = Graph(graph_file, workers=2)
    store.execute_many([Request("ASK { ?s ?p ?o }"), Request("ASK { ?o ?p ?s }")])
    pids = store.pool.pids()
    assert len(pids) >= 2
    store.close()
    deadline = time.monotonic() + 3
    while not all(map(gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert all(map(gone, pids))


def test_a_timeout_costs_one_query(graph_file: Path) -> None:
    heavy = Request("SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }")
    with Graph(graph_file, limits=Limits(seconds=0.3), workers=1) as store:
        outcomes = store.execute_many([Request("ASK { ?s ?p ?o }"), heavy, Request("ASK { ?s ?p 1 }")])
        assert store.pool.replaced == 1
    assert [type(outcome) for outcome in outcomes] == [Answer, Failure, Answer]
    assert isinstance(outcomes[1], Failure)
    assert outcomes[1].reason == Reason.TIMEOUT


def test_a_store_on_disk_is_read_only(tmp_path: Path, graph_file: Path) -> None:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    disk = pyoxigraph.Store(str(tmp_path / "disk"))
    disk.bulk_load(path=str(graph_file), format=pyoxigraph.RdfFormat.N_TRIPLES)
    disk.flush()
    del disk
    with Graph(tmp_path / "disk", workers=1) as store:
        answer = store.execute(Request("SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"))
    assert isinstance(answer, Answer), answer
    assert answer.rows[0][0].value == "300"  # type: ignore[union-attr]


def test_spaced_names_and_missing_prefixes(tmp_path: Path) -> None:
    path = tmp_path / "w.ttl"
    path.write_text("@prefix wd: <http://www.wikidata.org/entity/> . wd:Q1 wd:P1 wd:Q5 .")
    with Graph(path, workers=1) as store:
        assert store.triples() == 1
        answer = store.execute(Request("select ?x where { wd: q1 wd: P1 ?x }"))
        unknown = store.execute(Request("select ?x where { foo:a wd:P1 ?x }"))
    assert isinstance(answer, Answer)
    assert len(answer.rows) == 1
    assert isinstance(unknown, Failure)
    assert unknown.reason == Reason.UNKNOWN_PREFIX


def test_bad_stores_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        Graph(tmp_path / "none.nt")
    broken = tmp_path / "broken.nt"
    broken.write_text("this is no triple\n")
    with pytest.raises(StoreError):
        Graph(broken).triples()
    odd = tmp_path / "odd.xyz"
    odd.write_text("")
    with pytest.raises(StoreError, match="unknown format"):
        Graph(odd).triples()


def test_databases_by_name(tmp_path: Path) -> None:
    for name, file in (("a", "a"), ("a", "neighbour"), ("b", "b")):
        (tmp_path / name).mkdir(exist_ok=True)
        with sqlite3.connect(tmp_path / name / f"{file}.sqlite") as connection:
            connection.execute("CREATE TABLE t (x)")
        connection.close()
    with Databases(tmp_path) as store:
        assert isinstance(store, Databases)
        assert [path.stem for path in store.files("a")] == ["a", "neighbour"]
        with pytest.raises(StoreError, match="neither"):
            store.files("c")
        with pytest.raises(StoreError, match="plain name"):
            store.files("../b")


def test_sqlite_values_keep_their_kind(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with Databases(path, workers=1) as store:
        answer = store.execute(
            Request("SELECT 1, 1.5, 'a', x'00ff', NULL, 9e999, json_extract('[3]', '$[0]')", str(path))
        )
        listed = store.execute(Request("SELECT value FROM json_each('[4, 5]')", str(path)))
    assert isinstance(answer, Answer)
    assert answer.rows == [(1, 1.5, "a", b"\x00\xff", None, float("inf"), 3)]
    assert isinstance(listed, Answer)
    assert listed.rows == [(4,), (5,)]


def test_the_cache_answers_and_knows_its_store(tmp_path: Path, graph_file: Path) -> None:
    requests = [Request("ASK { ?s ?p ?o }"), Request("ASK {"), Request("ASK { ?s ?p ?o }")]
    with Graph(graph_file, workers=1) as store, ResultCache(tmp_path / "cache.db") as cache:
        first = dict(answers(store, requests, cache))
        assert len(cache) == 2
        served = sum(worker.served for worker in store.pool._workers)
        assert dict(answers(store, requests, cache)) == first
        assert sum(worker.served for worker in store.pool._workers) == served
        key = store.fingerprint
    graph_file.write_text(graph_file.read_text() + "<http://e/x> <http://e/p> <http://e/y> .\n")
    assert Graph(graph_file).fingerprint != key


def test_a_timeout_is_remembered_only_with_its_limit(tmp_path: Path) -> None:
    key = request_key("store", Request("q"))
    with ResultCache(tmp_path / "c.db") as cache:
        cache.put(key, Failure(Reason.TIMEOUT, "no answer within 1 s"), Limits(seconds=1))
        assert cache.get(key, Limits(seconds=1)) is not None
        assert cache.get(key, Limits(seconds=2)) is None
        cache.put(key, Failure(Reason.ENDPOINT_ERROR, "busy"), Limits(seconds=1))
        assert isinstance(cache.get(key, Limits(seconds=1)), Failure)
        other = request_key("store", Request("r"))
        cache.put(other, Failure(Reason.ENDPOINT_ERROR, "busy"), Limits())
        assert cache.get(other, Limits()) is None


def test_derived_integer_casts(graph_file: Path) -> None:
    """xsd:int is no part of SPARQL 1.1's own casts, but queries use it."""
    query = "SELECT (xsd:int('12') + xsd:long(3.9) AS ?n) (xsd:int('x') AS ?none) WHERE {}"
    with Graph(graph_file, workers=1) as store:
        answer = store.execute(Request(query))
    assert isinstance(answer, Answer), answer
    assert answer.rows[0][0].value == "15"  # type: ignore[union-attr]
    assert answer.rows[0][1] is None


def test_workers_die_with_a_caller_that_is_killed(graph_file: Path) -> None:
    """The caller has no chance to clean up, and a query is running."""
    program = f"""
import sys, threading, time
from sensecheck.stores import Graph, Limits, Request
store = Graph({str(graph_file)!r}, limits=Limits(seconds=60), workers=2)
store.execute_many([Request("ASK {{ ?s ?p ?o }}"), Request("ASK {{ ?s ?p 1 }}")])
print(*store.pool.pids(), flush=True)
store.execute(Request("SELECT (COUNT(*) AS ?n) {{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }}"))
"""
    source = str(Path(__file__).resolve().parents[2] / "src")
    caller = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": source}
    )
    assert caller.stdout is not None
    pids = [int(word) for word in caller.stdout.readline().split()]
    assert len(pids) >= 2
    time.sleep(0.3)
    caller.kill()
    caller.wait()
    caller.stdout.close()
    deadline = time.monotonic() + 5
    while not all(map(gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert all(map(gone, pids))
