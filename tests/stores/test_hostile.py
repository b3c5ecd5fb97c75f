"""Queries meant to do harm end with a reason, in time, within memory, leaving nothing behind."""

from __future__ import annotations

import hashlib
import socket
import sqlite3
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from sensecheck.stores import Answer, Databases, Failure, Graph, Limits, Outcome, Request

LIMITS = Limits(seconds=0.6, memory=384 << 20, rows=10_000, bytes=8 << 20)
CASES = tomllib.loads((Path(__file__).parent / "hostile.toml").read_text(encoding="utf-8"))


@dataclass
class Watch:
    """A listener that counts knocks, a folder that must stay as it is, and the memory of some processes."""

    folder: Path
    port: int
    knocks: list[Any] = field(default_factory=list)
    peak: int = 0

    def snapshot(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "out").mkdir()
    listener = socket.create_server(("127.0.0.1", 0))
    watch = Watch(folder, listener.getsockname()[1])

    def listen() -> None:
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                return
            watch.knocks.append(address)
            connection.close()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield watch
    listener.close()


def test_the_listener_does_listen(watch: Watch) -> None:
    """The watch is worth something only if it sees a real knock."""
    socket.create_connection(("127.0.0.1", watch.port)).close()
    deadline = time.monotonic() + 5
    while not watch.knocks and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(watch.knocks) == 1
    watch.knocks.clear()


def text_of(case: dict[str, Any], watch: Watch) -> str:
    if "query" in case:
        text = str(case["query"])
    else:
        text = case["head"] + case["unit"] * case["times"] + case["tail"]
    return text.replace("@OUT@", str(watch.folder / "out")).replace("@PORT@", str(watch.port))


def address_space(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmPeak"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def end_of(outcome: Outcome) -> str:
    return "answer" if isinstance(outcome, Answer) else str(outcome.reason)


Opens = Callable[[Limits], Graph | Databases]


def run_suite(
    title: str,
    opens: Opens,
    cases: list[dict[str, Any]],
    watch: Watch,
    canary: Request,
    right: Answer,
) -> None:
    before = watch.snapshot()
    table: list[str] = []
    wrong: list[str] = []
    with ExitStack() as closing:
        stores: dict[float, tuple[Graph | Databases, int]] = {}
        for case in cases:
            request = Request(text_of(case, watch), canary.database)
            for seconds in (LIMITS.seconds, 4 * LIMITS.seconds, 16 * LIMITS.seconds):
                if seconds not in stores:
                    store = opens(replace(LIMITS, seconds=seconds))
                    closing.callback(store.close)
                    first = store.execute(canary)
                    assert isinstance(first, Answer)
                    assert first.rows == right.rows
                    stores[seconds] = store, max(address_space(pid) for pid in store.pool.pids())
                end, faults, only_slow, said = try_case(*stores[seconds], case, request, canary, right)
                # A busy machine may need longer even to refuse: then it is asked again with more time, not forgiven.
                if not only_slow:
                    break
            note = "; ".join(faults) or "ok"
            wrong += [f"{case['name']}: {note}"] if faults else []
            table.append(f"{case['name'][:52]:52} {end:15} {said}  {note}")
    print(f"\n{title}: {len(cases)} queries, limit {LIMITS.seconds:g} s and {LIMITS.memory >> 20} MB each")
    print("\n".join(table))
    assert not wrong, wrong
    assert watch.snapshot() == before, "something was written"
    assert not watch.knocks, "somebody connected"


def try_case(
    store: Graph | Databases, base: int, case: dict[str, Any], request: Request, canary: Request, right: Answer
) -> tuple[str, list[str], bool, str]:
    """How a query ended, what is wrong with that, whether all of it may be for want of time, and what it took."""
    peak = [0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], *(address_space(pid) for pid in store.pool.pids()), 0)

    observer = threading.Thread(target=look, daemon=True)
    observer.start()
    started = time.monotonic()
    outcome = store.execute(request)
    spent = time.monotonic() - started
    done.set()
    observer.join()
    again = store.execute(canary)
    end = end_of(outcome)
    faults, slow = [], []
    right_ends = set(case["ends"])
    if right_ends & {"answer", "memory", "too large"}:
        right_ends.add("timeout")  # whatever takes work may, on a busy machine, take too long
    if end not in right_ends:
        (slow if end == "timeout" else faults).append(f"ended as {end}: {getattr(outcome, 'message', '')[:120]}")
    if spent > store.limits.seconds + 1:
        slow.append(f"took {spent:.2f} s")
    if peak[0] > base + LIMITS.memory + (64 << 20):
        faults.append(f"took {peak[0] - base:,} bytes")
    if not isinstance(again, Answer) or again.rows != right.rows:
        (slow if end_of(again) == "timeout" else faults).append(f"the next query got {again}")
    place = str(Path(request.database).parent)
    if request.database and isinstance(outcome, Failure) and place in outcome.message.replace(f"{place}/out", ""):
        faults.append(f"told where the store is: {outcome.message}")
    only_slow = bool(slow) and not faults
    return end, faults + slow, only_slow, f"{spent:6.2f} s {max(0, peak[0] - base) >> 20:5} MB"


def test_sparql(watch: Watch) -> None:
    graph = watch.folder / "graph.nt"
    lines = [
        f"<http://e/s{i % 400}> <http://e/{'pqr'[i % 3]}> <http://e/s{(i * 31 + i // 7) % 400}> ." for i in range(4000)
    ]
    graph.write_text("\n".join(dict.fromkeys(lines)) + "\n")
    canary = Request("SELECT (COUNT(*) AS ?n) WHERE { ?s <http://e/p> <http://e/s0> }")
    assert len(CASES["sparql"]) >= 30
    with Graph(graph, workers=1) as store:
        found = store.execute(canary)
    assert isinstance(found, Answer)

    def opens(limits: Limits) -> Graph:
        return Graph(graph, limits=limits, workers=1)

    run_suite("SPARQL on Oxigraph", opens, CASES["sparql"], watch, canary, found)


def test_sqlite(watch: Watch) -> None:
    path = watch.folder / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE item (id INTEGER, name TEXT, price REAL)")
        connection.executemany("INSERT INTO item VALUES (?, ?, ?)", [(i, f"name{i:05}", i / 7) for i in range(400)])
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        connection.execute("INSERT INTO words SELECT name || ' and more' FROM item")
        connection.execute("CREATE VIRTUAL TABLE old_words USING fts4(text)")
        connection.execute("INSERT INTO old_words SELECT name || ' and more' FROM item")
        connection.execute("CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)")
        connection.execute("INSERT INTO boxes SELECT id, price, price + 1 FROM item")
    connection.close()
    cases = [case for case in CASES["sql"] if case.get("only", "sqlite") == "sqlite"]
    assert len(cases) >= 30
    canary = Request("SELECT count(*), sum(id) FROM item WHERE name LIKE 'NAME%'", str(path))

    def opens(limits: Limits) -> Databases:
        return Databases(path, limits=limits, workers=1)

    run_suite("SQL on SQLite", opens, cases, watch, canary, Answer(rows=[(400, 79800)]))


def test_duckdb(watch: Watch) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = watch.folder / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE item (id INTEGER, name TEXT, price DOUBLE)")
        connection.execute("INSERT INTO item SELECT i, 'name' || i, i / 7 FROM range(400) t(i)")
    cases = [case for case in CASES["sql"] if case.get("only", "duckdb") == "duckdb"]
    canary = Request("SELECT count(*), sum(id)::INT FROM item WHERE name LIKE 'name%'", str(path))

    def opens(limits: Limits) -> Databases:
        store = Databases(path, limits=limits, workers=1)
        assert store.dialect == "duckdb"
        return store

    run_suite("SQL on DuckDB", opens, cases, watch, canary, Answer(rows=[(400, 79800)]))


def test_half_a_character_is_one_unscored_query(watch: Watch) -> None:
    graph = watch.folder / "tiny.nt"
    graph.write_text("<http://e/a> <http://e/b> <http://e/c> .\n")
    with Graph(graph, limits=LIMITS, workers=1) as store:
        bad, good = store.execute_many([Request("ASK { ?s ?p '\ud800' }"), Request("ASK { ?s ?p ?o }")])
    assert end_of(bad) == "syntax"
    assert isinstance(good, Answer)
    assert good.boolean


def test_the_safety_page_counts_the_attacks() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "safety.md").read_text(encoding="utf-8")
    on = {engine: sum(case.get("only", engine) == engine for case in CASES["sql"]) for engine in ("sqlite", "duckdb")}
    told = f"{len(CASES['sparql'])} in SPARQL, {on['sqlite']} in SQL on SQLite and {on['duckdb']} on DuckDB"
    assert told in page
