"""Values of servers compared as people mean them, through the comparison that all engines share."""

from __future__ import annotations

import pytest
from tests.servers.running import Postgres, Server

from sensecheck.correct.sql_compare import compare, plan_gold
from sensecheck.stores import Answer, Failure, Request, ServerDatabases

ALIKE = {
    "postgresql": [
        ("SELECT 3::numeric(10, 2)", "SELECT 3"),
        ("SELECT 0.1::numeric + 0.2", "SELECT 0.3::float8"),
        ("SELECT 12345678901234567890123456789::numeric", "SELECT 12345678901234567890123456789.00"),
        ("SELECT 'NaN'::float8", "SELECT 'NaN'::numeric"),
        ("SELECT true", "SELECT 1"),
        ("SELECT DATE '2026-01-02'", "SELECT TIMESTAMP '2026-01-02 00:00:00'"),
        ("SELECT DATE '2026-01-02'", "SELECT '2026-01-02'"),
        ("SELECT TIMESTAMPTZ '2026-01-02 10:00+02'", "SELECT TIMESTAMPTZ '2026-01-02 08:00+00'"),
        ("SELECT TIMESTAMP '2026-01-02 10:00:00.50'", "SELECT '2026-01-02 10:00:00.5'"),
        ("SELECT 'infinity'::date, DATE '0044-03-15 BC'", "SELECT 'infinity', '0044-03-15 BC'"),
        ("SELECT INTERVAL '24 hours'", "SELECT INTERVAL '1 day'"),
        ("SELECT INTERVAL '1 year'", "SELECT INTERVAL '360 days'"),
        ("SELECT INTERVAL '-1 day 2 hours'", "SELECT INTERVAL '-22 hours'"),
        ("SELECT 'Infinity'::numeric, '-Infinity'::float8", "SELECT 'Infinity'::float8, '-Infinity'::numeric"),
        ("SELECT numrange(1.0, 2.50), '[1,3)'::int4range", "SELECT '[1,2.5)'::numrange, '[1,3)'::text"),
        ("SELECT daterange('2026-01-01', NULL)", "SELECT '[2026-01-01,)'"),
        ("SELECT ARRAY[int4range(1, 5)], int4range(3, 3)", "SELECT ARRAY['[1,4]'::int4range], 'empty'"),
        ("SELECT '{[1.0,2],[4,5)}'::nummultirange", "SELECT '{[1,2],[4,5)}'::nummultirange"),
        ("SELECT ARRAY[ARRAY[1, 2], ARRAY[3, 4]]", "SELECT '[[1,2],[3,4]]'::jsonb"),
        ("SELECT ('1' || repeat('0', 400))::json", "SELECT 10::numeric ^ 400"),
        ("SELECT '[1e2, 10.50]'::json", "SELECT '[100, 10.5]'::jsonb"),
        ("SELECT '1e99999999999999999999'::json", "SELECT '1e99999999999999999999'"),
        ("SELECT '\"\\ud83d\"'::json", "SELECT '\"\\ud83d\"'"),
        ("SELECT point(1, 2), '10.0.0.1'::inet", "SELECT '(1,2)', '10.0.0.1'"),
        ("SELECT ARRAY[1, 2, NULL]", "SELECT ARRAY[1.0, 2.00, NULL]"),
        ("SELECT ARRAY[1, 2]", "SELECT '[1,2]'::json"),
        ('SELECT \'{"b": 1, "a": [1.0]}\'::json', 'SELECT \'{"a":[1],"b":1.00}\'::jsonb'),
        ("SELECT '{\"a\": \"x\"}'::jsonb -> 'a'", "SELECT '{\"a\": \"x\"}'::jsonb ->> 'a'"),
        ("SELECT '\\x00ff'::bytea", "SELECT decode('00FF', 'hex')"),
        ("SELECT 'ab'::char(5)", "SELECT 'ab'"),
        ("SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
        ("SELECT name FROM item ORDER BY name", "SELECT name FROM item ORDER BY name NULLS LAST"),
    ],
    "mariadb": [
        ("SELECT CAST(3 AS DECIMAL(10, 2))", "SELECT 3"),
        ("SELECT CAST(0.1 AS DECIMAL(10, 5)) + 0.2", "SELECT 3e-1"),
        ("SELECT CAST('12345678901234567890123456789' AS DECIMAL(40, 0))", "SELECT 12345678901234567890123456789.00"),
        ("SELECT TRUE", "SELECT 1"),
        ("SELECT DATE '2026-01-02'", "SELECT TIMESTAMP '2026-01-02 00:00:00'"),
        ("SELECT DATE '2026-01-02'", "SELECT '2026-01-02'"),
        ("SELECT TIMESTAMP '2026-01-02 10:00:00.50'", "SELECT '2026-01-02 10:00:00.5'"),
        ("SELECT CAST('10:00' AS TIME)", "SELECT '10:00:00'"),
        ("SELECT b'101'", "SELECT X'05'"),
        ("SELECT CAST(18446744073709551615 AS UNSIGNED)", "SELECT 18446744073709551615.0"),
        (
            "SELECT CAST('0000-00-00' AS DATETIME), TIMESTAMP '2026-01-02 00:00:00.000000'",
            "SELECT '0000-00-00', '2026-01-02'",
        ),
        ("SELECT UNHEX('00FF')", "SELECT X'00ff'"),
        ("SELECT name FROM item ORDER BY name", "SELECT name FROM item ORDER BY name IS NOT NULL, name"),
    ],
}
APART = {
    "postgresql": [
        ("SELECT 12345678901234567890123456789", "SELECT 12345678901234567890123456788"),
        ("SELECT NULL::int", "SELECT 0"),
        ("SELECT NULL::text", "SELECT ''"),
        ("SELECT TIMESTAMPTZ '2026-01-02 10:00+02'", "SELECT TIMESTAMPTZ '2026-01-02 10:00+00'"),
        ("SELECT ARRAY[1, 2]", "SELECT ARRAY[2, 1]"),
        ("SELECT INTERVAL '178000000 years'", "SELECT INTERVAL '545490560 days'"),
        ("SELECT INTERVAL '1 year'", "SELECT INTERVAL '365 days'"),
        ("SELECT int4range(1, 5)", "SELECT int4range(1, 6)"),
        ("SELECT numrange(1, 2, '[]')", "SELECT numrange(1, 2, '[)')"),
        ("SELECT numrange(NULL, 2)", "SELECT numrange(2, NULL)"),
        ("SELECT ARRAY[1]", "SELECT 1"),
        ("SELECT '\\x61'::bytea", "SELECT 'a'"),
        ("SELECT name FROM item ORDER BY name", "SELECT name FROM item ORDER BY name NULLS FIRST"),
        ("SELECT name FROM item ORDER BY name DESC", "SELECT name FROM item ORDER BY name DESC NULLS LAST"),
    ],
    "mariadb": [
        ("SELECT CAST('12345678901234567890123456789' AS DECIMAL(40, 0))", "SELECT 12345678901234567890123456788"),
        ("SELECT NULL", "SELECT 0"),
        ("SELECT NULL", "SELECT ''"),
        ("SELECT X'61'", "SELECT 'a'"),
        ("SELECT 18446744073709551615", "SELECT 18446744073709551614"),
        ("SELECT name FROM item ORDER BY name", "SELECT name FROM item ORDER BY name IS NULL, name"),
    ],
}


def test_alike_and_apart(server: Server) -> None:
    dialect = "postgres" if isinstance(server, Postgres) else "mysql"
    with ServerDatabases(server.address(), workers=1) as store:

        def told(text: str) -> Answer:
            outcome = store.execute(Request(text, "shop"))
            assert isinstance(outcome, Answer), (text, outcome)
            return outcome

        def equal(gold: str, predicted: str) -> bool:
            plan = plan_gold(gold, dialect)
            keyed = told(plan.keyed) if plan.keyed else None
            return compare(told(gold), told(predicted), plan, keyed).equal

        wrong = [pair for pair in ALIKE[server.name] if not equal(*pair)]
        wrong += [pair for pair in APART[server.name] if equal(*pair)]
    assert not wrong


def test_json_of_mysql() -> None:
    """MariaDB keeps JSON as text; what MySQL sends as JSON is read as such."""
    pytest.importorskip("pymysql")
    from sensecheck.stores.servers.mysql import _JSON, _cell

    assert _cell('{"b": 1.0, "a": null}', _JSON) == '{"a":null,"b":1}'
    assert _cell('"x"', _JSON) == "x"


def test_texts_in_no_encoding(postgres: Server) -> None:
    """A database that keeps whatever bytes it is given: what is no text costs its query alone."""
    postgres.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with ServerDatabases(postgres.address(rest="/bytes"), workers=1) as store:
        told = [store.execute(Request(text, "bytes")) for text in ("SELECT chr(233)", "SELECT 'é', chr(65)")]
    assert isinstance(told[0], Failure)
    assert str(told[0].reason) == "engine error"
    assert "invalid byte sequence" in told[0].message
    assert isinstance(told[1], Answer)
    assert told[1].rows == [("é", "A")]
