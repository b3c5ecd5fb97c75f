"""Pairs of a server's queries told apart in SQLite or DuckDB, and replayed on the server where that is allowed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.servers.running import MariaDb, Postgres, Server

from sensecheck.correct import evaluate
from sensecheck.inputs.errors import InputError
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import concatenated

NO_INTERVALS = IntervalOptions(method="none")

PAIRS = [
    ("SELECT name FROM item WHERE price IS NOT NULL", "SELECT name FROM item WHERE id < 3"),
    ("SELECT count(*) FROM sale", "SELECT count(DISTINCT item) + 1 FROM sale"),
    ("SELECT name FROM item WHERE id = 1", "SELECT name FROM item WHERE id = 1 AND 1 = 1"),
    ("SELECT max(id) FROM item", "SELECT count(*) FROM item"),
]


def proven(server: Server, user: str, *, replay: bool, pairs: list[tuple[str, str]] = PAIRS) -> tuple[list[Any], Any]:
    records = [
        {"id": str(number), "db_id": "shop", "gold": gold, "prediction": prediction}
        for number, (gold, prediction) in enumerate(pairs)
    ]
    result = evaluate(
        records, database=server.address(user), prove="all", prove_databases=60, prove_on_server=replay, workers=1,
        reasons=False, options=NO_INTERVALS,
    )  # fmt: skip
    rows = concatenated(result.rows, ["id", "correct", "proven_different", "not_searched"]).sort("id")
    assert rows["correct"].to_list() == [True] * len(pairs), rows
    return rows["proven_different"].to_list(), result


@pytest.mark.servers
def test_found_and_replayed(server: Server) -> None:
    before = server.all_rows("SELECT * FROM item ORDER BY 1", "SELECT * FROM sale ORDER BY 1, 2", database="shop")
    found, result = proven(server, "owner", replay=False)
    assert found == [True, True, False, True]
    assert any("by rewritten queries and not on the server" in note for note in result.notes)
    assert f"in {'duckdb' if isinstance(server, Postgres) else 'sqlite'}" in str(result.signature)
    again, result = proven(server, "owner", replay=True)
    assert again == found
    assert any("each replayed on the server" in note for note in result.notes)
    assert before == server.all_rows(
        "SELECT * FROM item ORDER BY 1", "SELECT * FROM sale ORDER BY 1, 2", database="shop"
    )


ODD = {
    "postgresql": [
        ("mood", "'sad'"), ("inet", "'10.0.0.1'"), ("int4range", "'[1,5)'"), ("int[]", "'{{1},{2}}'"), ("int[]", "'{1,2}'"),
        ("numeric", "'NaN'"), ("numeric(10, 2)", "'NaN'"), ("money", "1"), ("xml", "'<a/>'"), ("date", "'0044-03-15 BC'"),
        ("point", "'(1,2)'"), ("regclass", "'item'"), ("name", "'x'"), ("timetz", "'10:00+02'"), ("uuid", "NULL"),
    ],
    "mariadb": [
        ("enum('x', 'y')", "'x'"), ("set('p', 'q')", "'p'"), ("bit(10)", "b'101'"), ("point", "NULL"), ("json", "'[1]'"),
        ("bigint unsigned zerofill", "1"), ("inet6", "'::1'"), ("varchar(5) charset latin1", "'x'"), ("year", "2020"),
    ],
}  # fmt: skip


@pytest.mark.servers
def test_types_of_the_server_alone(server: Server) -> None:
    """A column of a type that no other engine has does not keep pairs from being searched."""
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _) in enumerate(ODD[server.name]))
    values = ", ".join(value for _, value in ODD[server.name])
    if isinstance(server, Postgres):
        server.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')", database="shop")
    server.execute(f"CREATE TABLE odd (id int, {columns})", f"INSERT INTO odd VALUES (1, {values})", database="shop")
    try:
        found, _ = proven(server, "reader", replay=False, pairs=PAIRS[-1:])
    finally:
        server.execute("DROP TABLE odd", database="shop")
    assert found == [True]


@pytest.mark.servers
def test_what_does_not_hold_on_the_server(server: Server) -> None:
    """The engines disagree: what tells the pair apart elsewhere does not on the server, and is not counted."""
    if isinstance(server, MariaDb):
        # SQLite's text is above any number; the server's is the number it begins with.
        pair = ("SELECT count(*) FROM item WHERE name > 5", "SELECT count(*) FROM item WHERE name + 0 > 5")
    else:
        # A quotient of whole numbers is whole on the server alone.
        pair = ("SELECT id FROM item WHERE id / 4 > 0", "SELECT id FROM item WHERE id > 3")
    found, _ = proven(server, "owner", replay=False, pairs=[pair])
    again, _ = proven(server, "owner", replay=True, pairs=[pair])
    assert (found, again) == ([True], [False])


@pytest.mark.servers
def test_a_reader_cannot_replay(server: Server) -> None:
    """Without the right to temporary tables nothing is counted, and nothing is written."""
    found, _ = proven(server, "reader", replay=True)
    assert found == [False] * 4


@pytest.mark.parametrize("options", [{"prove_on_server": True}, {"prove_on_server": True, "prove": "all"}])
def test_what_needs_a_server(options: dict[str, Any], tmp_path: Any) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "shop.sqlite") as connection:
        connection.execute("CREATE TABLE item (id)")
    with pytest.raises(InputError, match="--prove-on-server"):
        evaluate(
            [{"id": "1", "db_id": "shop", "gold": "SELECT 1", "prediction": "SELECT 1"}],
            database=tmp_path / "shop.sqlite", **options,
        )  # fmt: skip
