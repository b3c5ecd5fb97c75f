"""What an address of a server says, what it may not say, and what is told of it. No server is needed."""

from __future__ import annotations

import pytest
from tests.servers.attacks import CASES

from sensecheck.stores import Failure, StoreError
from sensecheck.stores.servers.address import ServerAddress
from sensecheck.stores.servers.gates import MysqlGate, PostgresGate
from sensecheck.stores.servers.lexing import mysql_tokens, postgres_tokens


@pytest.mark.parametrize(
    ("url", "several", "content"),
    [
        ("postgresql://me:s3cret@db.example:5433/shop", False, "postgresql://db.example:5433/shop"),
        ("postgres://db.example/{db_id}", True, "postgresql://db.example:5432/{db_id}"),
        ("postgresql://db.example", True, "postgresql://db.example:5432/{db_id}"),
        ("postgresql://db.example/all?schema={db_id}", True, "postgresql://db.example:5432/all?schema={db_id}"),
        ("postgresql:///shop?host=/run/postgresql", False, "postgresql:///run/postgresql:5432/shop"),
        ("mysql://me@[::1]:3307/bench_{db_id}", True, "mysql://::1:3307/bench_{db_id}"),
        ("mariadb:///shop?unix_socket=/run/mysqld/mysqld.sock", False, "mysql://localhost:3306/shop"),
    ],
)
def test_addresses(url: str, several: bool, content: str) -> None:
    address = ServerAddress.read(url)
    assert address.several is several
    assert address.content() == content
    assert "s3cret" not in repr(address) + address.public + address.content()


@pytest.mark.parametrize(
    "url",
    [
        "oracle://host/x", "postgresql://host:port/x", "postgresql://host/a/b", "postgresql://host/{db_id}?schema={db_id}",
        "postgresql://host/x?options=-c%20statement_timeout=0", "mysql://host/x?local_infile=1", "mysql://host/x#y",
        "mysql://host/x?init_command=SET%20GLOBAL%20a=1",
    ],
)  # fmt: skip
def test_refused_addresses(url: str) -> None:
    with pytest.raises(StoreError, match=r"database .*expected|database .*--connect"):
        ServerAddress.read(url)


def test_names() -> None:
    address = ServerAddress.read("mysql://h/bench_{db_id}_test")
    assert address.named("shop") == "bench_shop_test"
    assert address.name_of("bench_shop_test") == "shop"
    assert address.name_of("bench__test") is None
    assert address.name_of("other") is None


def gates() -> dict[str, PostgresGate | MysqlGate]:
    volatile = [
        "nextval",
        "setval",
        "set_config",
        "query_to_xml",
        "ts_stat",
        "wipe",
        "lo_create",
        "loread",
        "pg_sleep",
        "pg_read_file",
    ]
    names = [(name, True) for name in [*volatile, "pg_settings", "pg_authid", "pg_class", "pg_stat_activity"]]
    return {"postgresql": PostgresGate([*names, ("lower", False)]), "mysql": MysqlGate()}


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_no_gate_falls_over(kind: str) -> None:
    """Whatever is cut out of a hostile query, the gate says yes or no."""
    gate = gates()[kind]
    for case in CASES[kind]:
        if "query" in case:
            for end in range(len(case["query"])):
                gate.objection(case["query"][:end])
                gate.objection(case["query"][end:])


def test_quotes_are_the_servers() -> None:
    """What one server takes for text is code to the other."""
    text = r"SELECT 'a\', sleep(1), '"
    assert [token.kind for token in mysql_tokens(text)] == ["word", "text"] or MysqlGate().objection(text)
    assert isinstance(MysqlGate("NO_BACKSLASH_ESCAPES").objection(text), Failure)
    assert MysqlGate().objection("SELECT \"`load_file`('x')\"") is None
    assert isinstance(MysqlGate("ANSI_QUOTES").objection("SELECT \"load_file\"('x')"), Failure)
    assert [token.text for token in postgres_tokens("a/* /* */ */b--c\rd")] == ["a", "b", "d"]
    assert [token.text for token in mysql_tokens("a/* /* */ b # c\rd\ne -- f\n--1")] == ["a", "b", "e", "-", "-", "1"]


def test_faithful_says_what_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    from sensecheck.faithful import evaluate
    from sensecheck.inputs.errors import InputError

    with pytest.raises(InputError, match="no values of servers are looked up") as refused:
        evaluate([{"query": "SELECT 1", "sentence": "one"}], database="postgresql://me:s3cret@h/x", language="sql")
    assert "s3cret" not in str(refused.value)
