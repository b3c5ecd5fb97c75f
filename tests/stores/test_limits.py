"""Every bound on a query, the name of what goes beyond it, and what is said where a bound cannot be had."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from sensecheck import correct
from sensecheck.stores import Answer, Databases, Graph, Limits, Outcome, Request, StoreError, pool

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
# What the process that starts workers runs before it begins. Tests patch the worker there; the product has no such door.
PROLOGUE = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from sensecheck.stores import engines, worker
{prologue}
worker.main(int(sys.argv[1]))
"""


@pytest.fixture
def begin_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def begin(prologue: str) -> None:
        monkeypatch.setattr(pool, "_NURSERY_PROGRAM", PROLOGUE.format(prologue=prologue))

    return begin


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def graph_in(folder: Path) -> Path:
    path = folder / "g.nt"
    path.write_text("".join(f"<http://e/{i}> <http://e/p> <http://e/{i + 1}> .\n" for i in range(300)))
    return path


def sqlite_in(folder: Path) -> Path:
    path = folder / "d.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(300)])
    connection.close()
    return path


def duckdb_in(folder: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    path = folder / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT range::INT AS x FROM range(300)")
    return path


def reason_of(outcome: Outcome) -> str:
    return "answer" if isinstance(outcome, Answer) else str(outcome.reason)


# ---- what a death is called

# An engine that dies as the query says: "11 200" takes 200 MB and then gets signal 11.
DYING = """
import os, time
def answer(self, text, database):
    if text == "SELECT 1":
        return {"columns": ["1"], "rows": [[1]]}
    number, megabytes, seconds = map(float, text.split())
    held = b"x" * (int(megabytes) << 20)
    time.sleep(seconds)
    os.kill(os.getpid(), int(number))
    time.sleep(9)
engines.SqliteEngine.answer = answer
"""


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        # The cap on memory: an engine aborts, or uses what it could not get.
        (f"{signal.SIGABRT} 0 0", "memory"),
        (f"{signal.SIGSEGV} 60 0", "memory"),
        (f"{signal.SIGBUS} 60 0", "memory"),
        # The kernel, short of memory.
        (f"{signal.SIGKILL} 0 0", "memory"),
        # A crash that took nothing is the engine's own fault.
        (f"{signal.SIGSEGV} 0 0", "engine error"),
        (f"{signal.SIGILL} 0 0", "engine error"),
        (f"{signal.SIGXCPU} 0 0", "timeout"),
        # Somebody who watches for overlong work.
        (f"{signal.SIGKILL} 0 0.55", "timeout"),
    ],
)
def test_a_death_has_its_name(begin_with: Callable[[str], None], tmp_path: Path, how: str, reason: str) -> None:
    begin_with(DYING)
    path = sqlite_in(tmp_path)
    with Databases(path, limits=Limits(seconds=0.5, memory=128 << 20), workers=1) as store:
        outcomes = [store.execute(Request(text, str(path))) for text in ("SELECT 1", how, "SELECT 1")]
    assert [reason_of(outcome) for outcome in outcomes] == ["answer", reason, "answer"]


def test_a_worker_without_memory_to_say_so(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    begin_with("def answer(*_): raise MemoryError\nengines.SqliteEngine.answer = worker.encode_outcome = answer")
    path = sqlite_in(tmp_path)
    with Databases(path, workers=1) as store:
        assert reason_of(store.execute(Request("SELECT 1", str(path)))) == "memory"


@pytest.mark.parametrize("memory", [48, 96, 160, 384])
def test_duckdb_out_of_memory_is_never_an_engine_error(tmp_path: Path, memory: int) -> None:
    """Deep nesting crashed it (status -11), whatever was left of the memory allowed."""
    path = duckdb_in(tmp_path)
    queries = ["SELECT " + "[" * depth + "1" + "]" * depth for depth in (400, 3000, 20000)]
    queries += ["SELECT list(range) FROM range(1000000000)", "SELECT string_agg(range::VARCHAR) FROM range(1000000000)"]
    with Databases(path, limits=Limits(seconds=2, memory=memory << 20), workers=1) as store:
        outcomes = store.execute_many([Request(query, str(path)) for query in queries])
        assert isinstance(store.execute(Request("SELECT 1", str(path))), Answer)
    assert {reason_of(outcome) for outcome in outcomes} <= {"memory", "timeout", "refused", "too large"}, outcomes


def test_a_failed_allocation_of_the_system_is_memory(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    begin_with(
        "def answer(*_): raise OSError(12, 'Cannot allocate memory')\nengines.SqliteEngine.answer = answer",
    )
    path = sqlite_in(tmp_path)
    with Databases(path, workers=1) as store:
        assert reason_of(store.execute(Request("SELECT 1", str(path)))) == "memory"


def test_an_engine_that_broke_is_replaced(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    """DuckDB answers nothing more on a database after an error that it did not foresee."""
    path = duckdb_in(tmp_path)
    begin_with(
        """
import duckdb
rows = engines._rows
def breaking(cursor, columns, limits):
    if columns == ["break"]: raise duckdb.InternalException("broken")
    return rows(cursor, columns, limits)
engines._rows = breaking
"""
    )
    with Databases(path, workers=1) as store:
        texts = ["SELECT 1", 'SELECT 1 AS "break"', "SELECT 1", "SELECT x FROM nowhere"]
        outcomes = [store.execute(Request(text, str(path))) for text in texts]
        assert [reason_of(o) for o in outcomes] == ["answer", "engine error", "answer", "engine error"]
        assert store.pool.replaced == 1


# ---- the size of answers


def test_datatypes_and_language_tags_count(tmp_path: Path) -> None:
    iri, tag = "http://e/" + "d" * 20_000, "en-" + "-".join(["abcdefgh"] * 2_000)
    limits = Limits(bytes=1 << 20)
    with Graph(graph_in(tmp_path), limits=limits, workers=1) as store:
        for made in (f"STRDT(STR(?s), <{iri}>)", f'STRLANG(STR(?s), "{tag}")', f"STRDT(STR(?s), xsd:{'x' * 20_000})"):
            outcome = store.execute(Request(f"SELECT ({made} AS ?x) WHERE {{ ?s ?p ?o }}"))
            assert reason_of(outcome) == "too large", outcome
            few = store.execute(Request(f"SELECT ({made} AS ?x) WHERE {{ ?s ?p ?o }} LIMIT 3"))
            assert reason_of(few) == "answer", few


@pytest.mark.parametrize(
    "cell",
    ["zeroblob(9000)", "printf('%09000d', x)", "replace(printf('%03000d', x), '0', '語')"],
)
def test_blobs_and_long_texts_count_in_sqlite(tmp_path: Path, cell: str) -> None:
    path = sqlite_in(tmp_path)
    with Databases(path, limits=Limits(bytes=1 << 20), workers=1) as store:
        assert reason_of(store.execute(Request(f"SELECT {cell} FROM t", str(path)))) == "too large"
        assert reason_of(store.execute(Request(f"SELECT {cell} FROM t LIMIT 9", str(path)))) == "answer"


@pytest.mark.parametrize(
    "cell",
    [
        "list_value(" + ", ".join(["x"] * 3000) + ")",
        "repeat('語', 3000)",
        "repeat('ab', 4500)::BLOB",
        "{'a': repeat('a', 9000)}",
        "map(['k'], [repeat('a', 9000)])",
    ],
)
def test_nested_values_count_in_duckdb(tmp_path: Path, cell: str) -> None:
    path = duckdb_in(tmp_path)
    with Databases(path, limits=Limits(bytes=1 << 20), workers=1) as store:
        assert reason_of(store.execute(Request(f"SELECT {cell} FROM t", str(path)))) == "too large"
        assert reason_of(store.execute(Request(f"SELECT {cell} FROM t LIMIT 9", str(path)))) == "answer"


def test_names_of_columns_count(tmp_path: Path) -> None:
    path = sqlite_in(tmp_path)
    names = ", ".join(f'1 AS "{str(i) * 20_000}"' for i in range(8))
    with Databases(path, limits=Limits(bytes=100_000), workers=1) as store:
        assert reason_of(store.execute(Request(f"SELECT {names}", str(path)))) == "too large"
    with Databases(path, workers=1) as store:
        assert reason_of(store.execute(Request(f"SELECT {names}", str(path)))) == "answer"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        # More than the limit as the worker sends it, though the engine counted less: control characters take six.
        ('reply = {"columns": ["x"], "rows": [["\\\\0" * 1_000_000]]}', "too large"),
        ('reply = {"columns": 5, "rows": 5}', "engine error"),
        ('reply = {"columns": ["x"], "rows": [[{"q": 1}]]}', "engine error"),
        ('reply = {"reason": "no such reason", "message": "x"}', "engine error"),
    ],
)
def test_what_a_worker_sends_is_bounded_and_checked(
    begin_with: Callable[[str], None], tmp_path: Path, sent: str, reason: str
) -> None:
    begin_with(
        f"""
def answer(self, text, database):
    {sent}
    return {{"columns": ["1"], "rows": [[1]]}} if text == "SELECT 1" else reply
engines.SqliteEngine.answer = answer
"""
    )
    path = sqlite_in(tmp_path)
    with Databases(path, limits=Limits(bytes=100_000), workers=1) as store:
        outcomes = [store.execute(Request(text, str(path))) for text in ("SELECT 1", "SELECT 2", "SELECT 1")]
    assert [reason_of(outcome) for outcome in outcomes] == ["answer", reason, "answer"]


@pytest.mark.parametrize(
    ("bytes_sent", "reason"),
    [
        ('b"\\xff\\xff\\xff\\xff" + b"[" * 5_000_000', "too large"),  # it says that four gigabytes follow
        ('b"\\x05\\x00\\x00\\x00[[[[["', "engine error"),
        ('b"\\x02\\x00\\x00\\x00[]"', "engine error"),
    ],
)
def test_bytes_that_are_no_answer(
    begin_with: Callable[[str], None], tmp_path: Path, bytes_sent: str, reason: str
) -> None:
    """As a worker might send whose memory an engine has overwritten: never decoded, and named at once."""
    begin_with(
        f"""
import socket
def answer(self, text, database):
    if text == "SELECT 2":
        for descriptor in range(3, 64):
            try: socket.socket(fileno=descriptor).sendall({bytes_sent})
            except OSError: pass
    return {{"columns": ["1"], "rows": [[1]]}}
engines.SqliteEngine.answer = answer
"""
    )
    path = sqlite_in(tmp_path)
    with Databases(path, limits=Limits(seconds=5, bytes=100_000), workers=1) as store:
        first, second = (store.execute(Request(text, str(path))) for text in ("SELECT 1", "SELECT 2"))
    assert [reason_of(first), reason_of(second)] == ["answer", reason]
    assert second.seconds < 2


# ---- where a bound cannot be had

NO_NAMESPACE = """
import ctypes, errno
class Library:
    def __init__(self, *_, **__): pass
    def unshare(self, flags):
        ctypes.set_errno(errno.EPERM)
        return -1
    def prctl(self, *_): return 0
worker.ctypes.CDLL = Library
"""
NO_LIMITS = """
def setrlimit(*_): raise ValueError("not allowed to set a limit")
worker.resource.setrlimit = setrlimit
"""


def each_store(folder: Path) -> list[tuple[Graph | Databases, Request, Request]]:
    """Stores with a query that is answered and one that is refused."""
    sqlite_file, duckdb_file = sqlite_in(folder), duckdb_in(folder)
    count = "SELECT count(*) FROM t"
    return [
        (
            Graph(graph_in(folder), workers=1),
            Request("ASK { ?s ?p ?o }"),
            Request("ASK { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"),
        ),
        (
            Databases(sqlite_file, workers=1),
            Request(count, str(sqlite_file)),
            Request("SELECT load_extension('x')", str(sqlite_file)),
        ),
        (
            Databases(duckdb_file, workers=1),
            Request(count, str(duckdb_file)),
            Request("SELECT * FROM read_text('/etc/passwd')", str(duckdb_file)),
        ),
    ]


@linux
def test_nothing_is_said_where_every_limit_is_set(tmp_path: Path) -> None:
    with Databases(sqlite_in(tmp_path), workers=1) as store:
        assert store.limits_not_set() == []  # nothing ran
        store.execute(Request("SELECT 1", str(tmp_path / "d.sqlite")))
        pid = store.pool.pids()[1]
        alone = Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        said = store.limits_not_set()
    # An ordinary user may not be allowed a namespace: then, and only then, it is said.
    assert [("network" in words) for words in said] == ([] if alone else [True])


def test_without_a_network_namespace(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    begin_with(NO_NAMESPACE)
    for store, good, bad in each_store(tmp_path):
        with store:
            assert isinstance(store.execute(good), Answer)
            assert reason_of(store.execute(bad)) == "refused"
            (said,) = store.limits_not_set()
        assert said == "no network namespace (Operation not permitted): whatever would connect is still refused"


def test_without_resource_limits(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    begin_with(NO_LIMITS)
    for store, good, bad in each_store(tmp_path):
        with store:
            assert isinstance(store.execute(good), Answer)
            assert reason_of(store.execute(bad)) == "refused"
            said = [words for words in store.limits_not_set() if "network" not in words]
        assert [words.split(" (")[0] for words in said] == ["no bar on writing files", "no cap on memory"]
        assert all("not allowed to set a limit" in words and "still" in words for words in said)


def test_time_and_size_hold_without_resource_limits(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    begin_with(NO_LIMITS)
    path = sqlite_in(tmp_path)
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r"
    with Databases(path, limits=Limits(seconds=0.3, bytes=100_000), workers=1) as store:
        assert reason_of(store.execute(Request(endless, str(path)))) == "timeout"
        assert reason_of(store.execute(Request("SELECT zeroblob(9000) FROM t", str(path)))) == "too large"


@linux
def test_a_lower_limit_of_the_system_holds(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    """One that was set before us cannot be raised, and need not be: memory is bounded."""
    begin_with("import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))")
    path = sqlite_in(tmp_path)
    with Databases(path, limits=Limits(memory=8 << 30), workers=1) as store:
        assert isinstance(store.execute(Request("SELECT 1", str(path))), Answer)
        assert [words for words in store.limits_not_set() if "memory" in words] == []
        pid = store.pool.pids()[1]
        (line,) = [s for s in Path(f"/proc/{pid}/limits").read_text().splitlines() if s.startswith("Max address space")]
    assert line.split()[3] == str(2 << 30)


def test_a_limit_on_cpu_time_set_before_us(begin_with: Callable[[str], None], open_folder: Path) -> None:
    """It cannot be raised either; workers answer all the same."""
    begin_with("import resource; resource.setrlimit(resource.RLIMIT_CPU, (900, 900))" + AS_NOBODY * (os.geteuid() == 0))
    path = sqlite_in(open_folder)
    with Databases(path, limits=Limits(seconds=1), workers=1) as store:
        outcomes = [store.execute(Request("SELECT 1", str(path))) for _ in range(3)]
        assert all(isinstance(outcome, Answer) for outcome in outcomes), outcomes


def test_macos_is_told_that_memory_is_not_capped(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    begin_with("worker.sys.platform = 'darwin'")
    path = sqlite_in(tmp_path)
    with Databases(path, workers=1) as store:
        assert isinstance(store.execute(Request("SELECT 1", str(path))), Answer)
        assert any("no cap on memory (macOS" in words for words in store.limits_not_set())


def test_windows_is_told_what_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "fork")
    with pytest.raises(StoreError, match="need Linux or macOS"):
        Databases(sqlite_in(tmp_path)).execute(Request("SELECT 1"))


AS_NOBODY = """
import os
import duckdb, pyoxigraph, sqlite3, zoneinfo
from sensecheck.language import sparql
import sensecheck.stores.sparql_gate
os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="everything already runs as an ordinary user")
@pytest.mark.parametrize("allowed", [True, False], ids=["namespaces", "no namespaces"])
def test_as_an_ordinary_user(begin_with: Callable[[str], None], open_folder: Path, allowed: bool) -> None:
    pytest.importorskip("pyoxigraph")
    begin_with(AS_NOBODY + ("" if allowed else NO_NAMESPACE))
    for store, good, bad in each_store(open_folder):
        with store:
            assert isinstance(store.execute(good), Answer)
            assert reason_of(store.execute(bad)) == "refused"
            pid = store.pool.pids()[1]
            status = Path(f"/proc/{pid}/status").read_text()
            assert re.search(r"^Uid:\s+65534\s+65534", status, re.M)
            alone = Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
            said = store.limits_not_set()
            limits = Path(f"/proc/{pid}/limits").read_text()
        assert [words.split(" (")[0] for words in said] == ([] if alone else ["no network namespace"])
        assert not (alone and not allowed)
        assert re.search(r"^Max file size\s+0\s+0", limits, re.M)
        assert not re.search(r"^Max address space\s+unlimited", limits, re.M)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_loses_nothing_of_the_bounds(begin_with: Callable[[str], None], open_folder: Path) -> None:
    begin_with(AS_NOBODY)
    path = sqlite_in(open_folder)
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r"
    hungry = "SELECT count(*) FROM (SELECT DISTINCT x || hex(zeroblob(500000)) FROM t)"
    with Databases(path, limits=Limits(seconds=3, memory=64 << 20), workers=1) as store:
        assert reason_of(store.execute(Request(endless, str(path)))) == "timeout"
        assert reason_of(store.execute(Request(hungry, str(path)))) == "memory"
        assert isinstance(store.execute(Request("SELECT count(*) FROM t", str(path))), Answer)


# ---- the note of a run

ROWS = [
    {"id": str(i), "prediction": query, "gold": "SELECT count(*) FROM t"}
    for i, query in enumerate(["SELECT count(*) FROM t", "SELECT 2", "SELECT count(x) FROM t"] * 3)
]


def notes_of(result: Any) -> list[str]:
    return [note for note in result.notes if "this system lets queries run" in note]


def test_a_run_says_once_what_could_not_be_set(begin_with: Callable[[str], None], tmp_path: Path) -> None:
    begin_with(NO_NAMESPACE + NO_LIMITS)
    out = tmp_path / "run"
    result = correct.evaluate(ROWS, database=sqlite_in(tmp_path), out=out, workers=2)
    (note,) = notes_of(result)
    assert note == (
        "this system lets queries run only with no network namespace (Operation not permitted): whatever would connect "
        "is still refused; and with no bar on writing files (not allowed to set a limit): stores are still opened "
        "read-only, and only reading queries run; and with no cap on memory (not allowed to set a limit): time and the "
        "size of answers are still bounded (docs/safety.md)"
    )
    assert note in orjson.loads((out / "summary.json").read_bytes())["notes"]
    terminal = io.StringIO()
    result.show(stream=terminal)
    assert "no network namespace" in terminal.getvalue()
    assert (out / "report.html").read_text(encoding="utf-8").count(
        "no network namespace (Operation not permitted)"
    ) == 1


def test_a_run_with_every_limit_says_nothing(tmp_path: Path) -> None:
    result = correct.evaluate(ROWS, database=sqlite_in(tmp_path), workers=2)
    if os.geteuid() == 0:
        assert notes_of(result) == []
    assert result["accuracy"].n == len(ROWS)


@linux
def test_workers_see_no_variable_of_the_caller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What tests patch, nobody else can: the program is fixed, and so are the variables that it may read."""
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    path = sqlite_in(tmp_path)
    with Databases(path, workers=1) as store:
        store.execute(Request("SELECT 1", str(path)))
        for pid in store.pool.pids():
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            names = {variable.split(b"=")[0].decode() for variable in variables if variable}
            assert names == {"PATH", "LANG", "PYTHONDONTWRITEBYTECODE", "MALLOC_ARENA_MAX"}
