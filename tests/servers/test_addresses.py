"""What an address of a server says, what it may not say, and what is told of it. No server is needed."""

from __future__ import annotations

import pytest
from tests.servers.attacks import CASES

from sensecheck.stores import Failure, StoreError
from sensecheck.stores.servers.address import ServerAddress
from sensecheck.stores.servers.gates import MysqlGate, PgName, PostgresGate
from sensecheck.stores.servers.lexing import mysql_tokens, postgres_tokens


@pytest.mark.parametrize(
    ("url", "several", "content"),
    [
        ("postgresql://me:s3cret@db.example:5433/shop", False, "postgresql://db.example:5433/shop"),
        ("postgres://db.example/{db_id}", True, "postgresql://db.example:5432/{db_id}"),
        ("postgresql://db.example", True, "postgresql://db.example:5432/{db_id}"),
        ("postgresql://db.example/all?schema={db_id}", True, "postgresql://db.example:5432/all?schema={db_id}"),
        ("postgresql:///shop?host=/run/postgresql", False, "postgresql:///run/postgresql:5432/shop"),
        ("mysql://me@[::1]:3307/bench_{db_id}", True, "mysql://[::1]:3307/bench_{db_id}"),
        ("mariadb:///shop?unix_socket=/run/mysqld/mysqld.sock", False, "mysql:///run/mysqld/mysqld.sock/shop"),
        ("postgresql://%2Fvar%2FRun%2Fpg/Shop", False, "postgresql:///var/Run/pg:5432/Shop"),
        ("postgresql://me:s3cret%40%2F@DB.example/%7Bdb_id%7D", True, "postgresql://db.example:5432/{db_id}"),
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
        "mysql://host/x?init_command=SET%20GLOBAL%20a=1", "postgresql://host:0/x", "postgresql://host/{db_id}_{db_id}",
        "postgresql://host/x?sslmode=require&sslmode=disable", "postgresql://host/x?host=/tmp",
    ],
)  # fmt: skip
def test_refused_addresses(url: str) -> None:
    with pytest.raises(StoreError, match=r"database .*expected|database .*--connect"):
        ServerAddress.read(url)


@pytest.mark.parametrize("mark", "#?/")
def test_a_password_that_ends_the_host(mark: str) -> None:
    """`12` looks like a port, and what follows like a name: nothing of it is told, and nobody is asked."""
    with pytest.raises(StoreError, match=r"host/shop: expected an address like .*%23") as refused:
        ServerAddress.read(f"postgresql://me:12{mark}s3cret@host/shop")
    assert "s3cret" not in str(refused.value)
    assert "12" not in str(refused.value)


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
    names = [PgName(name, True) for name in [*volatile, "pg_settings", "pg_authid", "pg_class", "pg_stat_activity"]]
    return {"postgresql": PostgresGate([*names, PgName("lower")]), "mysql": MysqlGate()}


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


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("SELECT shop.1left(1)", True), ("SELECT shop.1e5()", True), ("SELECT t1.5left FROM t1", False),
        ("SELECT 1.5, t.a, .5e1, 1.e2", False), ("SELECT \"a\".1left(1)", True), ("SELECT a .5", False),
        ("SELECT * FROM \u0130nformation_schema.processlist", True), ("SELECT * FROM `m\u00ffsql`.user", True),
        ("SELECT regexp_like('a', 'b')", True), ("SELECT regexp_instr('a', 'b')", False),
    ],
)  # fmt: skip
def test_names_that_mysql_reads_otherwise(text: str, refused: bool) -> None:
    """A number behind a dot is a name; `İ` is an `i`; a known function may be somebody's own."""
    for mode in ("", "ANSI_QUOTES"):
        if '"' not in text or mode:
            assert (MysqlGate(mode, ["Regexp_Like"]).objection(text) is not None) is refused


def test_names_that_postgresql_reads_otherwise() -> None:
    """Letters beyond the 63rd are cut off; capitals of other alphabets stay; a row's function needs no brackets."""
    long = "n" * 62 + "é"
    gate = PostgresGate([
        PgName("Écrire", True, True), PgName(long[:62], True, True), PgName("random", True, True), PgName("lower"),
        PgName("nap", True, True, True), PgName("clock_timestamp", True), PgName("pg_typeof"),
    ])  # fmt: skip
    refused = [
        "SELECT Écrire()", 'SELECT "Écrire"()', f"SELECT {long}zzz()", "SELECT random(1)", "SELECT i.nap FROM i",
        "SELECT (i . /* */ nap) FROM i", "SELECT i.nap() FROM i", "SELECT * FROM information_schema.user_mappings",
        "SELECT * FROM information_schema . \"_pg_user_mappings\"",
    ]  # fmt: skip
    assert not [text for text in refused if gate.objection(text) is None]
    read = [
        "SELECT nap FROM i", "SELECT clock_timestamp(), pg_typeof(1)", "SELECT user_mappings FROM user_mappings",
        f"SELECT {long}", "SELECT * FROM information_schema.tables",
    ]  # fmt: skip
    assert not [text for text in read if gate.objection(text) is not None]


def test_faithful_tells_no_password() -> None:
    from sensecheck.faithful import evaluate
    from sensecheck.inputs.errors import InputError

    for options in ({"language": "sparql"}, {"parity": "blec"}):
        with pytest.raises(InputError, match=r"none: .*postgresql://h/x") as refused:
            evaluate([{"query": "SELECT 1", "sentence": "one"}], database="postgresql://me:s3cret@h/x", **options)
        assert "s3cret" not in str(refused.value)
