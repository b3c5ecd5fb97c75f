"""A server that is killed in the middle of a run: the run stops, says how to go on, and goes on where it was."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.servers.attacks import ANSWER, QUESTION
from tests.servers.running import PASSWORD, MariaDb, Postgres, Server

from sensecheck.cli import main
from sensecheck.correct import evaluate
from sensecheck.runs.stopping import Stopped
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer, EndpointDeadError, Failure, Limits, Request, ServerDatabases

NO_INTERVALS = IntervalOptions(method="none")


def slow(server: Server, size: int) -> str:
    """A query that keeps the processor busy for the square of a number of rows."""
    if isinstance(server, Postgres):
        return f"SELECT count(*) FROM generate_series(1, {size}) a, generate_series(1, {size}) b WHERE a * b % 7 = 3"
    return f"SELECT count(*) FROM seq_1_to_{size} a JOIN seq_1_to_{size} b ON a.seq * b.seq % 7 = 3"


def records(number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": str(row), "db_id": "shop", "gold": f"SELECT id + {row} FROM item",
            "prediction": f"SELECT id + {row} AS n FROM item" if row % 4 else "SELECT name FROM item",
        }
        for row in range(number)
    ]  # fmt: skip


def test_killed_and_resumed(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sensecheck.stores.servers import databases

    monkeypatch.setattr(databases, "_PAUSES", (0.05, 0.1))
    monkeypatch.setattr("sensecheck.correct.records.BATCH_RECORDS", 20, raising=False)
    whole = evaluate(records(60), database=server.address(), options=NO_INTERVALS, workers=1, reasons=False)
    out = tmp_path / "run"
    asked = 0
    execute = ServerDatabases._run_in

    def killing(self: Any, pool: Any, requests: Any, seconds: Any) -> Any:
        nonlocal asked
        for outcome in execute(self, pool, requests, seconds):
            asked += 1
            if asked == 70:
                server.kill()
            yield outcome

    monkeypatch.setattr(ServerDatabases, "_run_in", killing)
    with pytest.raises(Stopped, match=r"does not answer any more.*answers so far are kept.*--resume"):
        evaluate(records(60), database=server.address(), out=out, options=NO_INTERVALS, workers=1, reasons=False)
    # It is still away: the run does not begin, and can go on later.
    with pytest.raises(Stopped, match="does not answer; is the address right"):
        evaluate(
            records(60), database=server.address(), out=out, resume=True, options=NO_INTERVALS, workers=1,
            reasons=False,
        )  # fmt: skip
    server.start()
    before, asked = asked, 1000
    again = evaluate(
        records(60), database=server.address(), out=out, resume=True, options=NO_INTERVALS, workers=1, reasons=False
    )
    assert 0 < asked - 1000 < before  # what was answered is not asked again
    assert again.summary["figures"] == whole.summary["figures"]
    assert again["accuracy"].value == 0.75


def test_exit_code(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text('{"id": "1", "db_id": "shop", "gold": "SELECT 1", "prediction": "SELECT 1"}\n')
    server.kill()
    try:
        assert main(["correct", str(file), "--database", server.address(), "--workers", "1"]) == 3
    finally:
        server.start()
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.servers
def test_a_lost_connection_is_tried_again(server: Server) -> None:
    """The server goes down and comes back between two queries, and in the middle of one."""
    with ServerDatabases(server.address(), limits=Limits(seconds=30), workers=1) as store:
        assert store.execute(Request(QUESTION, "shop")).rows == ANSWER  # type: ignore[union-attr]
        server.kill()
        server.start()
        assert store.execute(Request(QUESTION, "shop")).rows == ANSWER  # type: ignore[union-attr]
        store.pauses = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)

        def restart() -> None:
            time.sleep(0.5)
            server.kill()
            server.start()

        thread = threading.Thread(target=restart)
        thread.start()
        questions = [Request(f"{QUESTION} LIMIT {3 + number}", "shop") for number in range(200)]
        questions.insert(0, Request(slow(server, 5000), "shop"))
        outcomes = dict(store.run(questions))
        thread.join()
    assert len(outcomes) == len(questions)
    assert all(isinstance(outcome, Answer) for number, outcome in outcomes.items() if number)


@pytest.mark.servers
def test_a_server_that_stays_away(server: Server) -> None:
    with ServerDatabases(server.address(), limits=Limits(seconds=2), workers=1) as store:
        store.pauses = (0.05,)
        assert isinstance(store.execute(Request(QUESTION, "shop")), Answer)
        server.kill()
        try:
            with pytest.raises(EndpointDeadError, match="does not answer any more"):
                store.execute(Request(QUESTION, "shop"))
        finally:
            server.start()


def test_what_is_given_up_is_ended_on_the_server(server: Server) -> None:
    """Our clock kills the worker; nothing of its query runs on."""
    at_work = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND usename = 'reader'"
        if isinstance(server, Postgres)
        else "SELECT count(*) FROM information_schema.processlist WHERE user = 'reader' AND command = 'Query'"
    )
    with ServerDatabases(server.address(), limits=Limits(seconds=30), workers=1) as store:
        assert isinstance(store.execute(Request(QUESTION, "shop")), Answer)
        assert store.file_print("shop")  # as in every run: what asks whether the server is there has started
        # The server's own limit is 30 s here: only our killing the worker ends it sooner, on a busy machine too.
        started = time.monotonic()
        ((_, outcome),) = store.run([Request(slow(server, 40000), "shop")], 0.5)
        assert isinstance(outcome, Failure)
        assert str(outcome.reason) == "timeout"
        assert time.monotonic() - started < 10
        deadline = time.monotonic() + 10
        while (left := server.execute(at_work)[0][0]) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left == 0
        assert store.execute(Request(QUESTION, "shop")).rows == ANSWER  # type: ignore[union-attr]


@pytest.mark.servers
def test_changed_data(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edited database neither answers from the cache of the old one nor goes on with its run."""
    cache = tmp_path / "answers.db"
    asked = {"database": server.address(), "options": NO_INTERVALS, "workers": 1, "reasons": False}
    one = [{"id": "1", "db_id": "shop", "gold": "SELECT name FROM item WHERE id = 1", "prediction": "SELECT 'apple'"}]
    first = evaluate(one, cache=cache, **asked)
    server.execute("UPDATE item SET name = 'Apfel' WHERE id = 1", database="shop")
    try:
        second = evaluate(one, cache=cache, **asked)
    finally:
        server.execute("UPDATE item SET name = 'apple' WHERE id = 1", database="shop")
    third = evaluate(one, cache=cache, **asked)
    assert [run["accuracy"].value for run in (first, second, third)] == [1.0, 0.0, 1.0]
    assert first.signature == third.signature != second.signature


def test_secrets_are_nowhere(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password in the address: not in any file of the run, nor in what is printed."""
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.delenv("MYSQL_PWD")
    from urllib.parse import quote

    address = server.address().replace("reader@", f"reader:{quote(PASSWORD)}@")
    out = tmp_path / "run"
    result = evaluate(records(3), database=address, out=out, options=NO_INTERVALS, workers=1)
    assert result["accuracy"].n == 3
    told = [str(result), repr(result.summary), result.signature.full if hasattr(result.signature, "full") else ""]
    files = [path for path in out.rglob("*") if path.is_file()]
    assert files
    for text in [*told, *(path.read_bytes().decode("latin-1") for path in files)]:
        assert PASSWORD not in text
        assert quote(PASSWORD) not in text
    wrong = server.address().replace("reader@", "reader:a-wrong-secret@")
    with pytest.raises(ValueError, match="database") as refused:
        evaluate(records(3), database=wrong, workers=1)
    assert "a-wrong-secret" not in str(refused.value)


def test_password_files(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.delenv("MYSQL_PWD")
    if isinstance(server, MariaDb):
        (tmp_path / ".my.cnf").write_text(f'[client]\nuser=reader\npassword="{PASSWORD}"\n')
        monkeypatch.setenv("HOME", str(tmp_path))
        address = server.address().replace("reader@", "")
    else:
        passwords = tmp_path / "pgpass"
        passwords.write_text(f"127.0.0.1:{server.port}:*:reader:{PASSWORD}\n")
        passwords.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(passwords))
        address = server.address()
    with ServerDatabases(address, workers=1) as store:
        assert store.execute(Request(QUESTION, "shop")).rows == ANSWER  # type: ignore[union-attr]
