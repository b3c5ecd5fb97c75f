"""`faithful --database` on a server: the same looks as into a file, and the same verdicts but for what the engine decides."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.servers.running import PASSWORD, MariaDb, Server

from sensecheck.cli import main
from sensecheck.faithful import Checker, evaluate
from sensecheck.faithful.stored import Literal
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import concatenated

NO_INTERVALS = IntervalOptions(method="none")
COLUMNS = """"Id" int PRIMARY KEY, "Kind" varchar(20) NOT NULL, note varchar(20), built date, crew int"""
ROWS = [(1, "Sloop", "it's", "2020-01-02", 3), (2, "Yawl", "a\\b", "2021-05-06", 4), (3, "Ketch", None, None, None)]
PAIRS = [
    ("SELECT count(*) FROM \"Boat\" WHERE \"Kind\" = 'Sloop'", "How many boats are of the kind Sloop?"),
    ("SELECT count(*) FROM \"Boat\" WHERE \"Kind\" = 'Slooop'", "How many boats are of the kind Sloop?"),
    ("SELECT count(*) FROM \"Boat\" WHERE \"Kind\" = 'it''s'", "How many boats are of the kind it's?"),
    ("SELECT count(*) FROM \"Boat\" WHERE note = 'Yawl'", "How many boats have the note Yawl?"),
    ("SELECT \"Kind\" FROM \"Boat\" WHERE crew = 7", "The kinds of boats with a crew of 7"),
    ("SELECT \"Kind\" FROM \"Boat\" WHERE crew = 3", "The kinds of boats with a crew of 3"),
    ("SELECT \"Kind\" FROM \"Boat\" WHERE note LIKE '%zz%'", "The kinds of boats whose note has zz in it"),
    ("SELECT \"Kind\" FROM \"Boat\" WHERE built = '2020-01-02'", "The kinds of boats built on 2020-01-02"),
    ("SELECT sum(miles) FROM trip JOIN \"Boat\" ON boat = \"Boat\".\"Id\" WHERE note = 'it''s'",
     "The miles of trips by boats whose note is it's"),
]  # fmt: skip


@pytest.fixture
def club(server: Server) -> Server:
    quote = "`" if isinstance(server, MariaDb) else '"'
    there = (
        "SELECT 1 FROM information_schema.schemata WHERE schema_name = 'club'"
        if isinstance(server, MariaDb)
        else "SELECT 1 FROM pg_database WHERE datname = 'club'"
    )
    if server.execute(there):
        return server
    server.create("club")
    told = [
        f'CREATE TABLE "Boat" ({COLUMNS})',
        'CREATE TABLE trip (boat int, miles int, FOREIGN KEY (boat) REFERENCES "Boat" ("Id"))',
    ]
    with_comment = (
        "ALTER TABLE trip MODIFY miles int COMMENT 'distance sailed'"
        if isinstance(server, MariaDb)
        else "COMMENT ON COLUMN trip.miles IS 'distance sailed'"
    )
    server.execute(*(text.replace('"', quote) for text in told), with_comment, database="club")
    for row in ROWS:
        cells = ", ".join("NULL" if cell is None else "'" + str(cell).replace("'", "''") + "'" for cell in row)
        cells = cells.replace("\\", "\\\\") if isinstance(server, MariaDb) else cells
        server.execute(f"INSERT INTO {quote}Boat{quote} VALUES ({cells})", database="club")
    return server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "club.sqlite") as connection:
        connection.execute(f'CREATE TABLE "Boat" ({COLUMNS})')
        connection.execute('CREATE TABLE trip (boat int REFERENCES "Boat" ("Id"),\nmiles int -- distance sailed\n)')
        connection.executemany('INSERT INTO "Boat" VALUES (?, ?, ?, ?, ?)', ROWS)
    return tmp_path / "club.sqlite"


def verdicts(database: str, quote: str = '"', **more: Any) -> Any:
    records = [
        {"id": str(number), "query": query.replace('"', quote), "sentence": sentence, "db_id": "club"}
        for number, (query, sentence) in enumerate(PAIRS)
    ]
    result = evaluate(records, database=database, options=NO_INTERVALS, **more)
    rows = concatenated(result.rows, ["id", "scored", "consistent", "missing", "contradicted", "added"]).sort("id")
    return rows.rows(), result


def test_as_of_a_file(club: Server, file: Path) -> None:
    quote = "`" if isinstance(club, MariaDb) else '"'
    of_file, _ = verdicts(str(file))
    assert {row[2] for row in of_file} == {True, False}
    for rest in ("/club", "/{db_id}"):
        of_server, result = verdicts(club.address(rest=rest), quote)
        assert of_server == of_file
        signature = str(result.signature)
        assert f"dialect:{'mysql' if isinstance(club, MariaDb) else 'postgres'}|databases:" in signature
        assert f"127.0.0.1:{club.port}{rest}" in signature
        assert "reader" not in signature


def test_looks(club: Server) -> None:
    """Names in capitals, quotes and backslashes reach the server; letters' case and types are its own."""
    checker = Checker("sql", database=club.address(rest="/club"))
    stored = checker._stored
    assert stored is not None
    with stored:
        for column, text, found in (
            ("kind", "Sloop", True), ("Kind", "Slooop", False), ("note", "it's", True), ("note", "a\\b", True),
            ("note", "a\\\\b", False), ("built", "2020-01-02", True), ("kind", "' OR 1=1 -- ", False),
        ):  # fmt: skip
            assert stored.holds("club", "boat", column, Literal(text, False), None) is found, text
            assert stored.any_row("club", "BOAT", column, "=", Literal(text, False)) is (
                None if column == "built" and not found else found
            ), text
        assert stored.holds("club", "Boat", "Kind", Literal("sloop", False), None) is isinstance(club, MariaDb)
        assert stored.any_row("club", "Boat", "absent", "=", Literal("x", False)) is None
        schema = checker.context("club").schema
    assert schema is not None
    assert schema.tables["boat"].primary_key == ("id",)
    assert not schema.tables["boat"].columns["kind"].nullable
    assert [name.text for name in schema.tables["trip"].columns["miles"].described] == ["distance sailed"]
    assert (("trip", "boat"), ("boat", "id")) in schema.foreign_keys


def test_unknown_and_gone(club: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"query": "SELECT 1", "sentence": "one", "db_id": "nowhere"}\n')
    assert main(["faithful", str(file), "--database", club.address(rest="/nowhere")]) == 2
    club.kill()
    try:
        assert main(["faithful", str(file), "--database", club.address(rest="/club")]) == 3
    finally:
        club.start()
    told = capsys.readouterr().err
    assert "does not answer" in told
    assert "Traceback" not in told
    assert PASSWORD not in told


def test_gone_in_the_middle(club: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from sensecheck.faithful import served
    from sensecheck.runs.stopping import Stopped
    from sensecheck.stores.servers import databases

    monkeypatch.setattr(databases, "_PAUSES", (0.05,))
    found = served.ServedValues._found

    def killing(self: Any, name: str) -> Any:
        told = found(self, name)
        club.kill()
        return told

    monkeypatch.setattr(served.ServedValues, "_found", killing)
    try:
        with pytest.raises(Stopped, match="does not answer any more"):
            verdicts(club.address(rest="/club"), "`" if isinstance(club, MariaDb) else '"')
    finally:
        club.start()
