"""Names in a SQL query stand for expressions: a query with names says what the same query says without them."""

from __future__ import annotations

import time

import pytest

from sensecheck.faithful.facts import Reading, UnreadableQueryError
from sensecheck.faithful.languages import Context
from sensecheck.faithful.languages.sql import read
from sensecheck.faithful.measure import Checker
from sensecheck.faithful.schema import from_create_table

SCHEMA = from_create_table(
    """
    CREATE TABLE film (id INTEGER PRIMARY KEY, title TEXT, land TEXT, minutes INTEGER, shown DATE,
                       maker INTEGER REFERENCES maker (id));
    CREATE TABLE maker (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
    """,
    "films",
)
CHECKER = Checker("sql", schemas=SCHEMA)


def reading(query: str, schema: object = SCHEMA) -> Reading:
    return read(query, Context(schema))  # type: ignore[arg-type]


def said(query: str, *kinds: str) -> list[tuple[str, str, str, str, str]]:
    """Facts of some kinds, without their places."""
    facts = reading(query).facts
    return [(f.kind, f.text, f.aggregate, f.name.text, f.op) for f in facts if not kinds or f.kind in kinds]


@pytest.mark.parametrize(
    ("named", "written_out"),
    [
        (
            "SELECT land, COUNT(*) AS total FROM film GROUP BY land ORDER BY total DESC LIMIT 1",
            "SELECT land, COUNT(*) FROM film GROUP BY land ORDER BY COUNT(*) DESC LIMIT 1",
        ),
        (
            "SELECT land, COUNT(*) total FROM film GROUP BY land HAVING total > 3",
            "SELECT land, COUNT(*) FROM film GROUP BY land HAVING COUNT(*) > 3",
        ),
        (
            'SELECT land, AVG(minutes) AS "Mean Length" FROM film GROUP BY land ORDER BY "Mean Length"',
            "SELECT land, AVG(minutes) FROM film GROUP BY land ORDER BY AVG(minutes)",
        ),
        (
            "SELECT land AS l, MAX(minutes) AS m FROM film GROUP BY l ORDER BY l, m",
            "SELECT land, MAX(minutes) FROM film GROUP BY land ORDER BY land, MAX(minutes)",
        ),
        (
            "SELECT land, COUNT(*) FROM film GROUP BY 1 ORDER BY 2 DESC",
            "SELECT land, COUNT(*) FROM film GROUP BY land ORDER BY COUNT(*) DESC",
        ),
        (
            "SELECT minutes AS m FROM film ORDER BY m + 1",
            "SELECT minutes FROM film ORDER BY minutes + 1",
        ),
        (
            "SELECT T1.name AS n, COUNT(*) AS c FROM maker AS T1 JOIN film AS T2 ON T1.id = T2.maker GROUP BY T1.id "
            "HAVING c >= 2 ORDER BY c DESC, n",
            "SELECT T1.name, COUNT(*) FROM maker AS T1 JOIN film AS T2 ON T1.id = T2.maker GROUP BY T1.id "
            "HAVING COUNT(*) >= 2 ORDER BY COUNT(*) DESC, T1.name",
        ),
    ],
)
def test_a_name_is_read_as_what_it_stands_for(named: str, written_out: str) -> None:
    assert said(named) == said(written_out)
    outlines = [reading(query).outline for query in (named, written_out)]
    keys = [[(use.key, use.role, use.aggregate) for use in outline.columns] for outline in outlines]
    assert keys[0] == keys[1]
    assert not outlines[0].unknown


@pytest.mark.parametrize(
    "query",
    [
        "SELECT land FROM (SELECT land, COUNT(*) AS total FROM film GROUP BY land) ORDER BY total DESC LIMIT 1",
        "SELECT t.land FROM (SELECT land, COUNT(*) AS total FROM film GROUP BY land) AS t ORDER BY t.total DESC LIMIT 1",
        "WITH t AS (SELECT land, COUNT(*) AS total FROM film GROUP BY land) SELECT land FROM t ORDER BY total DESC LIMIT 1",
        "WITH t (l, n) AS (SELECT land, COUNT(*) FROM film GROUP BY land) SELECT l FROM t ORDER BY n DESC LIMIT 1",
        "SELECT land FROM (SELECT * FROM (SELECT land, COUNT(*) AS total FROM film GROUP BY land)) ORDER BY total DESC "
        "LIMIT 1",
    ],
)
def test_columns_of_queries_in_from(query: str) -> None:
    plain = "SELECT land FROM film GROUP BY land ORDER BY COUNT(*) DESC LIMIT 1"
    kinds = ("aggregate", "order", "limit", "group")
    assert sorted(said(query, *kinds)) == sorted(said(plain, *kinds))
    assert [f.role for f in reading(query).of("column") if f.name.text == "land"] == ["select"]
    question = "Which land has the most films?"
    assert CHECKER.check(query, question).consistent
    opposite = CHECKER.check(query.replace("DESC", "ASC"), question)
    assert [f.rule for f in opposite.faults()] == ["extreme_opposite"]


def test_a_condition_on_a_count_behind_a_query_in_from() -> None:
    query = "SELECT land FROM (SELECT land, COUNT(*) AS n FROM film GROUP BY land) WHERE n > 3"
    assert said(query, "comparison") == [("comparison", "> 3", "count", "", ">")]
    assert CHECKER.check(query, "Lands with more than 3 films?").consistent
    assert not CHECKER.check(query, "Lands with fewer than 3 films?").consistent
    assert not CHECKER.check(query, "Lands with more than 5 films?").consistent


def test_an_extreme_that_rows_are_joined_by_is_kept() -> None:
    query = (
        "SELECT f.title FROM film AS f JOIN (SELECT land, MAX(minutes) AS most FROM film GROUP BY land) AS t "
        "ON f.land = t.land AND f.minutes = t.most"
    )
    assert ("aggregate", "max") in [(f.kind, f.aggregate) for f in reading(query).facts]
    assert CHECKER.check(query, "The title of the film with the most minutes in each land?").consistent


def test_a_with_query_that_is_named_twice() -> None:
    query = (
        "WITH t AS (SELECT land, COUNT(*) AS n FROM film GROUP BY land) "
        "SELECT land FROM t WHERE n = (SELECT MAX(n) FROM t)"
    )
    found = reading(query)
    assert len(found.of("table")) == 1  # its facts are told once
    assert not found.of("misfit")
    assert not found.outline.unknown


def test_what_only_looks_like_a_name() -> None:
    # In GROUP BY a column comes before a select item that is called like it; in ORDER BY the select item.
    query = "SELECT UPPER(land) AS land, COUNT(*) AS minutes FROM film GROUP BY land ORDER BY minutes"
    (group,), (order,) = reading(query).of("group"), reading(query).of("order")
    assert group.name.text == "land" and order.aggregate == "count"
    # WHERE sees columns alone.
    assert said("SELECT UPPER(land) AS land FROM film WHERE land = 'Norland'", "comparison")[0][1] == "land = Norland"
    # A column of a table is no select item of that name; a number is one only where it stands alone.
    (order,) = reading("SELECT COUNT(*) AS minutes FROM film ORDER BY film.minutes").of("order")
    assert (order.aggregate, order.name.text) == ("", "minutes")
    for key in ("7", "0", "1.5", "99999999999999999999"):
        (order,) = reading(f"SELECT land FROM film ORDER BY {key}").of("order")
        assert order.name.text == ""


def test_without_a_schema() -> None:
    query = "SELECT land FROM (SELECT land, COUNT(*) AS n FROM film GROUP BY land) ORDER BY n DESC LIMIT 1"
    (order,) = reading(query, None).of("order")
    assert order.aggregate == "count"


@pytest.mark.parametrize("named", ["SELECT {} AS x FROM film ORDER BY x", "SELECT x FROM (SELECT {} AS x FROM film)"])
def test_a_long_expression_keeps_its_name(named: str) -> None:
    """What would be written out in many places must not be long."""
    for count in (1, 500):
        reading(named.format(" + ".join(["minutes"] * count)))


def test_names_of_names_of_names_do_not_grow_without_end() -> None:
    parts = ["t0 AS (SELECT minutes AS c FROM film)"]
    parts += [f"t{i} AS (SELECT c + c AS c FROM t{i - 1})" for i in range(1, 50)]
    query = f"WITH {', '.join(parts)} SELECT c FROM t49 ORDER BY c"
    begin = time.process_time()
    assert len(reading(query).facts) < 2000
    stars = "SELECT * FROM (SELECT minutes AS c FROM film)"
    for _ in range(25):
        stars = f"SELECT a.*, b.* FROM ({stars}) AS a, (SELECT c FROM (SELECT minutes AS c FROM film)) AS b"
    assert len(reading(stars).facts) < 2000
    assert time.process_time() - begin < 5


def test_a_recursive_query() -> None:
    query = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n ORDER BY i"
    assert not isinstance(CHECKER.reading(query), UnreadableQueryError)


def test_a_count_that_only_ranks_is_doubted() -> None:
    query = "SELECT land, COUNT(*) AS n FROM film GROUP BY land ORDER BY n DESC LIMIT 1"
    doubted = [f for f in CHECKER.check(query, "Which land has the most films?").findings if f.rule == "count_unasked"]
    assert len(doubted) == 1 and doubted[0].confidence < 0.5
    for question in ("Which land has the most films, and how many?", "Lands and their number of films, the largest?"):
        assert "count_unasked" not in [f.rule for f in CHECKER.check(query, question).findings]


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT COUNT(title) FROM film ORDER BY title", True),
        ("SELECT MIN(minutes) FROM film ORDER BY shown LIMIT 1", True),
        ("SELECT land, COUNT(*) FROM film GROUP BY land ORDER BY land", False),
        ("SELECT title FROM film ORDER BY title", False),
        ("SELECT COUNT(*) FROM film ORDER BY COUNT(*)", False),
    ],
)
def test_an_order_of_one_row(query: str, ordered: bool) -> None:
    findings = CHECKER.findings(query, "What?", evidence="minutes refers to length")
    assert ("one_row_ordered" in [f.rule for f in findings]) is ordered
