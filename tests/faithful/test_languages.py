"""Queries read into facts, with their places in the text."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from sensecheck.faithful.facts import Reading, UnreadableQueryError
from sensecheck.faithful.languages import LANGUAGES, Context, read_labels
from sensecheck.faithful.languages.sql_syntax import UnreadableError, read_sql
from sensecheck.faithful.records import load_schemas
from sensecheck.faithful.schema import Schema, from_create_table
from sensecheck.inputs.errors import InputError

SCHEMA = from_create_table(
    "CREATE TABLE boat (boat_id INT, name TEXT, home_port TEXT, length REAL); CREATE TABLE race (id INT, boat INT)"
)


def facts(language: str, query: str, **context: object) -> dict[str, list[str]]:
    reading: Reading = LANGUAGES[language](query, Context(**context))  # type: ignore[arg-type]
    found: dict[str, list[str]] = {}
    for fact in reading.facts:
        found.setdefault(fact.kind, []).append(fact.text)
    return found


def test_sql_facts() -> None:
    found = facts(
        "sql",
        "SELECT name, count(*) FROM boat WHERE length >= 5 AND home_port NOT IN ('Faro') ORDER BY length DESC LIMIT 2",
        schema=SCHEMA,
    )
    assert found["aggregate"] == ["count()"]
    assert found["comparison"] == ["length >= 5", "home port != Faro"] or "Faro" in found["comparison"][1]
    assert found["limit"] == ["LIMIT 2"]
    assert found["order"] == ["DESC length"]
    assert "NOT IN" in found["negation"]


def test_sql_places() -> None:
    query = "SELECT name FROM boat WHERE home_port = 'Faro'"
    reading = LANGUAGES["sql"](query, Context(SCHEMA))
    assert {query[f.span[0] : f.span[1]] for f in reading.facts if f.span} >= {"name", "boat", "home_port", "'Faro'"}


def test_a_double_quoted_word_is_a_string_unless_the_schema_has_it() -> None:
    assert facts("sql", 'SELECT name FROM boat WHERE home_port = "Faro"', schema=SCHEMA)["comparison"] == [
        "home_port = Faro"
    ]
    assert "comparison" not in facts("sql", 'SELECT name FROM boat WHERE home_port = "name"', schema=SCHEMA)


def test_a_query_that_does_not_fit_the_schema() -> None:
    assert facts("sql", "SELECT colour FROM boat", schema=SCHEMA)["misfit"] == ["colour"]
    assert facts("sql", "SELECT name FROM ferry", schema=SCHEMA)["misfit"][0] == "ferry"


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("tsql", "SELECT TOP 3 [name] FROM boat ORDER BY length DESC"),
        ("bigquery", "SELECT name FROM `p.d.boat` WHERE length > 3"),
        ("postgres", "SELECT name FROM boat WHERE length::int > 3"),
        ("mysql", "SELECT name FROM boat WHERE length > 3 LIMIT 2, 5"),
        ("snowflake", "SELECT name, ROW_NUMBER() OVER (PARTITION BY home_port ORDER BY length) FROM boat"),
        (None, "WITH big AS (SELECT * FROM boat WHERE length > 3), b2 AS (SELECT * FROM big) SELECT name FROM b2, big"),
    ],
)
def test_other_dialects_through_sqlglot(dialect: str | None, query: str) -> None:
    found = facts("sql", query, dialect=dialect, schema=SCHEMA)
    assert found["table"] == ["boat"]
    assert "misfit" not in found


@pytest.mark.parametrize(
    ("language", "query", "reason"),
    [
        ("sql", "SELEC name FRM boat", "unreadable_query"),
        ("sql", "", "empty_query"),
        ("sql", "DROP TABLE boat", "unsupported_query"),
        ("logic2text", "eq { count { all_rows } ; 3", "unreadable_query"),
        ("logic2text", "no form at all", "unreadable_query"),
        ("logic2text", "frobnicate { all_rows } = true", "unknown_operator"),
        ("logic2text", "count { " * 90 + "all_rows" + " }" * 90, "too_deep"),
        ("sparql", "SELECT ?x WHERE { ?x ", "unreadable_query"),
        ("sparql", "INSERT DATA { }", "unreadable_query"),
    ],
)
def test_what_cannot_be_read_says_why(language: str, query: str, reason: str) -> None:
    with pytest.raises(UnreadableQueryError) as caught:
        LANGUAGES[language](query, Context())
    assert caught.value.reason == reason


def test_sql_columns_know_their_table_and_clause() -> None:
    query = "SELECT T1.name FROM boat AS T1 JOIN race AS T2 ON T1.boat_id = T2.boat WHERE home_port = 'Lisbon'"
    reading = LANGUAGES["sql"](query, Context(SCHEMA))
    found = {(f.name.words, f.table.text, f.role) for f in reading.of("column")}
    assert found == {(("name",), "boat", "select"), (("home", "port"), "boat", "where")}
    assert [(a.words, b.words) for a, b in reading.joins] == [(("boat", "id"), ("boat",))]
    assert [(f.table.text, f.value) for f in reading.of("comparison")] == [("boat", "Lisbon")]


def test_sql_nesting_is_bounded() -> None:
    with pytest.raises(UnreadableError):
        read_sql("SELECT a FROM t WHERE " + "(" * 500 + "a = 1" + ")" * 500)


def test_logic2text_facts() -> None:
    found = facts("logic2text", "most_greater { filter_eq { all_rows ; team ; crows } ; points ; 1,200 } = true")
    assert found["quantifier"] == ["most_greater"]
    assert found["comparison"] == ["team = crows", "points > 1,200"]


def test_sparql_facts_and_labels(tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({"http://www.wikidata.org/entity/Q42": "Douglas Adams"}))
    query = "SELECT ?b WHERE { ?b wdt:P50 wd:Q42 ; rdfs:label ?l . FILTER NOT EXISTS { ?b wdt:P31 wd:Q7 } }"
    reading = LANGUAGES["sparql"](query, Context(labels=read_labels(labels)))
    assert [f.text for f in reading.of("entity")] == ["Douglas Adams"]
    assert [f.text for f in reading.of("negation")] == ["NOT EXISTS"]
    assert reading.opaque  # P50 and Q7 have no label, so nobody can be asked to say them
    graph = tmp_path / "graph.nt"
    graph.write_text(
        '<http://x/a> <http://www.w3.org/2000/01/rdf-schema#label> "A \\"b\\""@en .\n<http://x/a> <http://x/p> "no" .\n'
    )
    assert read_labels(graph) == {"http://x/a": 'A "b"'}


def test_labels_from_every_form_of_a_graph(tmp_path: Path) -> None:
    pyoxigraph = pytest.importorskip("pyoxigraph")
    turtle = tmp_path / "graph.ttl"
    turtle.write_text(
        "@prefix r: <http://www.w3.org/2000/01/rdf-schema#> . @prefix s: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<http://x/a> r:label "Frankreich"@de , "France"@en ; <http://x/p> "no" .\n<http://x/b> s:prefLabel "Käse"@de .\n',
        encoding="utf-8",
    )
    right = {"http://x/a": "France", "http://x/b": "Käse"}
    assert read_labels(turtle) == right
    store = pyoxigraph.Store()
    store.load(path=str(turtle))
    for ending in ("nt", "nq", "rdf", "jsonld", "trig"):
        form = pyoxigraph.RdfFormat.from_extension(ending)
        graph = None if form.supports_datasets else pyoxigraph.DefaultGraph()
        data = store.dump(format=form, from_graph=graph) if graph else store.dump(format=form)
        (tmp_path / f"graph.{ending}").write_bytes(data)
        (tmp_path / f"graph.{ending}.gz").write_bytes(gzip.compress(data))
        assert read_labels(tmp_path / f"graph.{ending}") == right, ending
        assert read_labels(tmp_path / f"graph.{ending}.gz") == right, ending
    turtle.write_text('<http://x/a> <http://x/p> "unclosed .\n')
    with pytest.raises(InputError, match=r"graph\.ttl"):
        read_labels(turtle)
    (tmp_path / "graph.doc").write_text("x")
    with pytest.raises(InputError, match="jsonld"):
        read_labels(tmp_path / "graph.doc")
    with pytest.raises(InputError, match=r"absent\.nt"):
        read_labels(tmp_path / "absent.nt")


def test_schemas_from_everywhere(tmp_path: Path) -> None:
    database = tmp_path / "port.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute('CREATE TABLE "big boat" (name TEXT, "length m" REAL)')
    connection.close()
    from_file = load_schemas(database)
    assert isinstance(from_file, Schema)
    assert list(from_file.tables["big boat"].columns) == ["name", "length m"]
    assert set(load_schemas(tmp_path)) == {"port"}  # type: ignore[arg-type]
    text = tmp_path / "port.sql"
    text.write_text("CREATE TABLE boat (id INT PRIMARY KEY, homePort VARCHAR(20));")
    from_text = load_schemas(text)
    assert isinstance(from_text, Schema)
    assert from_text.tables["boat"].columns["homeport"].natural.words == ("home", "port")
    spider = tmp_path / "tables.json"
    spider.write_text(
        json.dumps([{"db_id": "a", "table_names_original": ["Boat"], "column_names_original": [[-1, "*"], [0, "x"]]}])
    )
    assert set(load_schemas(spider)) == {"a"}  # type: ignore[arg-type]
    spider.write_text(json.dumps([{"db_id": "a"}]))
    with pytest.raises(InputError, match="record 1"):
        load_schemas(spider)
    with pytest.raises(InputError, match=r"tables\.json"):
        load_schemas(tmp_path / "absent.json")
