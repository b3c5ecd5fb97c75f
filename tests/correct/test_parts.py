"""Hardness, parts and Spider's exact-set match of SQL queries."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.correct import evaluate
from sensecheck.correct.figures import statistics
from sensecheck.correct.hardness import Makeup, makeup_of
from sensecheck.correct.spider_exact import exact, levelled, partners, parts
from sensecheck.correct.spider_query import NOTHING, UnreadableError, read_query, spider_tokens
from sensecheck.inputs.errors import InputError
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores.schemas import Schema

NO_INTERVALS = IntervalOptions(method="none")
SHOP = Schema(
    {
        "shop": ("id", "name", "town", "staff"),
        "sale": ("id", "shop_id", "item", "price", "day"),
        "visit": ("shop_id", "person"),
    },
    ((("sale", "shop_id"), ("shop", "id")), (("visit", "shop_id"), ("shop", "id"))),
)


def same(gold: str, predicted: str) -> bool:
    stands_for = partners(SHOP)
    read = [levelled(read_query(text, SHOP.tables), stands_for) for text in (predicted, gold)]
    return exact(*read)


# ---- hardness


@pytest.mark.parametrize(
    "sql, hardness",
    [
        ("SELECT name FROM shop", "easy"),
        ("SELECT count(*) FROM shop WHERE town = 'A'", "easy"),
        ("SELECT name, town FROM shop WHERE staff > 3", "medium"),
        ("SELECT count(*), town FROM shop GROUP BY town", "medium"),
        ("SELECT name FROM shop ORDER BY staff DESC LIMIT 1", "medium"),
        ("SELECT T1.name FROM shop AS T1 JOIN sale AS T2 ON T1.id = T2.shop_id WHERE T2.price > 1", "medium"),
        ("SELECT T1.name FROM shop T1, sale T2 WHERE T1.id = T2.shop_id", "medium"),
        ("SELECT town FROM shop GROUP BY town ORDER BY count(*) DESC LIMIT 1", "hard"),
        ("SELECT name FROM shop WHERE id NOT IN (SELECT shop_id FROM sale)", "hard"),
        ("SELECT town FROM shop EXCEPT SELECT town FROM shop WHERE staff > 3", "hard"),
        ("SELECT name, town FROM shop WHERE staff > (SELECT avg(staff) FROM shop)", "extra"),
        ("SELECT town FROM shop WHERE staff > 1 OR name LIKE 'a%' GROUP BY town ORDER BY count(*) LIMIT 1", "extra"),
    ],
)
def test_hardness_by_the_published_rules(sql: str, hardness: str) -> None:
    made = makeup_of(sql)
    assert made is not None and made.hardness == hardness


def test_what_a_query_is_made_of() -> None:
    assert makeup_of("SELECT 1") == Makeup("easy", 0, 0, 0)
    joined = "SELECT count(*), max(a.x) FROM a JOIN b ON a.i = b.i, c WHERE a.x > (SELECT avg(x) FROM a JOIN d ON 1)"
    assert makeup_of(joined) == Makeup("extra", 3, 1, 3)
    deep = "SELECT x FROM (SELECT x FROM (SELECT x FROM a WHERE x IN (SELECT x FROM b)))"
    assert makeup_of(deep).nesting == 3  # type: ignore[union-attr]
    assert makeup_of("SELECT x FROM a UNION SELECT x FROM b UNION SELECT x FROM c").nesting == 0  # type: ignore[union-attr]
    assert makeup_of("(SELECT x FROM a) UNION (SELECT x FROM b WHERE x > (SELECT 1))").nesting == 1  # type: ignore[union-attr]
    assert makeup_of("WITH w AS (SELECT x FROM a) SELECT x FROM w").nesting == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text", ["", "no query", "DROP TABLE a", "SELECT 1; SELECT 2", "SELECT " + "(" * 5_000, "SELECT a" + ",a" * 60_000]
)
def test_what_cannot_be_read_has_no_hardness(text: str) -> None:
    assert makeup_of(text) is None


# ---- reading as Spider's evaluator does


def test_tokens_are_those_of_an_english_tokeniser() -> None:
    assert spider_tokens("SELECT a,b FROM t WHERE x >= 'A b' ;") == [
        "select", "a", ",", "b", "from", "t", "where", "x", ">=", '"A b"', ";",
    ]  # fmt: skip
    assert spider_tokens("a=1 AND b!=2 LIMIT 2,3") == ["a=1", "and", "b", "!", "=2", "limit", "2,3"]
    with pytest.raises(UnreadableError, match="quotation"):
        spider_tokens("SELECT 'a")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM shop",
        "SELECT s.name FROM shop s",
        "SELECT name FROM shop LEFT JOIN sale ON shop.id = sale.shop_id",
        "SELECT name FROM shop, sale",
        "SELECT name FROM shop WHERE town IN ('A', 'B')",
        "SELECT name FROM shop WHERE town IS NULL",
        "SELECT name FROM shop WHERE staff=3",
        "SELECT `name` FROM shop",
        "SELECT max(staff) - min(staff) FROM shop",
        "SELECT T1.* FROM shop AS T1",
        "SELECT name FROM nowhere",
        "SELECT colour FROM shop",
        "SELECT name FROM shop AS sale",
        "SELECT name",
        "SELECT name FROM",
        "FROM shop",
        "",
    ],
)
def test_what_the_evaluator_does_not_read(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_query(text, SHOP.tables)


@pytest.mark.parametrize(
    "gold, predicted",
    [
        ("SELECT name FROM shop WHERE staff > 3", "select  Name from Shop where staff > 99 ;"),
        ("SELECT name FROM shop", "SELECT DISTINCT name FROM shop"),
        ("SELECT name, town FROM shop", "SELECT town, name FROM shop"),
        ("SELECT name FROM shop ORDER BY staff LIMIT 1", "SELECT name FROM shop ORDER BY staff LIMIT 5"),
        (
            "SELECT T1.name FROM shop AS T1 JOIN sale AS T2 ON T1.id = T2.shop_id",
            "SELECT shop.name FROM sale JOIN shop ON sale.shop_id = shop.id",
        ),
        (
            "SELECT T1.id FROM shop AS T1 JOIN sale AS T2 ON T1.id = T2.shop_id GROUP BY T1.id",
            "SELECT T2.shop_id FROM shop AS T1 JOIN sale AS T2 ON T1.id = T2.shop_id GROUP BY T2.shop_id",
        ),
        (
            "SELECT name FROM shop WHERE town = 'A' AND staff > 3",
            "SELECT name FROM shop WHERE staff > 3 AND town = 'B'",
        ),
        (
            "SELECT name FROM shop WHERE id IN (SELECT shop_id FROM sale WHERE price > 3)",
            "SELECT name FROM shop WHERE id IN (SELECT shop_id FROM sale WHERE price > 4)",
        ),
        ("SELECT name FROM shop LIMIT 3 OFFSET 2", "SELECT name FROM shop LIMIT 3"),
    ],
)
def test_what_makes_no_difference(gold: str, predicted: str) -> None:
    assert same(gold, predicted)
    assert same(predicted, gold)


@pytest.mark.parametrize(
    "gold, predicted",
    [
        ("SELECT name FROM shop", "SELECT town FROM shop"),
        ("SELECT name FROM shop", "SELECT name, name FROM shop"),
        ("SELECT max(staff) FROM shop", "SELECT min(staff) FROM shop"),
        ("SELECT name FROM shop WHERE staff > 3", "SELECT name FROM shop WHERE staff >= 3"),
        ("SELECT name FROM shop WHERE town = 'A' AND staff > 3", "SELECT name FROM shop WHERE town = 'A' OR staff > 3"),
        ("SELECT name FROM shop ORDER BY staff", "SELECT name FROM shop ORDER BY staff DESC"),
        ("SELECT name FROM shop ORDER BY staff LIMIT 1", "SELECT name FROM shop ORDER BY staff"),
        ("SELECT id FROM shop", "SELECT shop_id FROM visit"),
        (
            "SELECT name FROM shop WHERE id IN (SELECT shop_id FROM sale)",
            "SELECT name FROM shop WHERE id IN (SELECT DISTINCT shop_id FROM sale)",
        ),
        (
            "SELECT count(*) FROM (SELECT name FROM shop WHERE staff > 3)",
            "SELECT count(*) FROM (SELECT name FROM shop WHERE staff > 4)",
        ),
        ("SELECT name FROM shop EXCEPT SELECT town FROM shop", "SELECT name FROM shop UNION SELECT town FROM shop"),
        (
            "SELECT town FROM shop GROUP BY town HAVING count(*) > 1 AND max(staff) > 1",
            "SELECT town FROM shop GROUP BY town HAVING max(staff) > 1 AND count(*) > 1",
        ),
    ],
)
def test_what_makes_a_difference(gold: str, predicted: str) -> None:
    assert not same(gold, predicted)
    assert not same(predicted, gold)


def test_clauses_are_right_as_a_whole() -> None:
    gold, predicted = (
        levelled(read_query(text, SHOP.tables), {})
        for text in (
            "SELECT town, count(*) FROM shop WHERE staff > 1 GROUP BY town ORDER BY town",
            "SELECT town, max(staff) FROM shop WHERE staff < 1 GROUP BY town HAVING count(*) > 1",
        )
    )
    found = parts(predicted, gold)
    assert {name for name, part in found.items() if part.same} == {
        "where_no_operator", "group_no_having", "and_or", "iuen",
    }  # fmt: skip
    assert found["select"] == (2, 2, 1)
    assert found["order"] == (0, 1, 0)
    assert parts(NOTHING, gold)["select"] == (0, 2, 0)


def test_a_later_key_does_not_join_two_groups_of_columns() -> None:
    keys = ((("b", "x"), ("a", "x")), (("d", "x"), ("c", "x")), (("a", "x"), ("c", "x")))
    schema = Schema(dict.fromkeys("abcd", ("x",)), keys)
    assert partners(schema) == {"a.x": "a.x", "b.x": "a.x", "c.x": "c.x", "d.x": "c.x"}
    missing = Schema({"a": ("x",)}, ((("a", "x"), ("nowhere", "x")),))
    assert partners(missing) == {"a.x": "a.x"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name FROM shop WHERE id IN " + "(SELECT shop_id FROM sale WHERE id IN " * 2_000,
        "SELECT name FROM shop" + " UNION SELECT name FROM shop" * 3_000,
        "SELECT " + "(" * 40_000 + "name FROM shop",
        "SELECT name FROM shop WHERE " + "staff > 1 AND " * 7_000 + "staff > 1",
        "SELECT name FROM shop WHERE staff > " + "staff or " * 7_000,
        "'" * 90_001,
    ],
)
def test_hostile_queries_end_and_are_wrong(text: str, shop: Path) -> None:
    record = {"id": "1", "gold": "SELECT name FROM shop", "pred": text}
    result = evaluate([record], database=shop, conventions=["spider-exact"], parts=True, options=NO_INTERVALS)
    assert result["spider_exact"].value == 0


# ---- the figures


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(file)
    connection.executescript(
        """
        CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, town TEXT, staff INTEGER);
        CREATE TABLE sale (id INTEGER, shop_id INTEGER REFERENCES shop (id), item TEXT, price REAL, day TEXT);
        INSERT INTO shop VALUES (1, 'Ann', 'A', 3), (2, 'Bob', 'B', 5), (3, 'Cy', 'B', 1);
        INSERT INTO sale VALUES (1, 1, 'tea', 2.5, 'Mon'), (2, 3, 'tea', 2.5, 'Tue');
        """
    )
    connection.close()
    return file


RECORDS = [
    {"id": "1", "gold": "SELECT name FROM shop", "pred": "SELECT name FROM shop", "difficulty": "simple"},
    {
        "id": "2",
        "gold": "SELECT name FROM shop WHERE staff > 2 ORDER BY name",
        "pred": "SELECT name FROM shop WHERE town = 'A' ORDER BY name",
        "difficulty": "moderate",
    },
    {"id": "3", "gold": "SELECT town FROM shop", "pred": "SELECT s.town FROM shop s", "difficulty": "simple"},
    {"id": "4", "gold": "SELECT max(staff) FROM shop", "pred": None, "difficulty": "simple"},
    {"id": "5", "gold": "SELECT s.town FROM shop s", "pred": "SELECT town FROM shop", "difficulty": "moderate"},
]


def test_parts_and_exact_match_of_a_run(shop: Path) -> None:
    result = evaluate(RECORDS, database=shop, conventions=["spider-exact"], parts=True)
    rows = result.measurements
    assert rows["spider_exact"].to_list() == [True, False, False, False, None]
    assert rows["spider_not_read"].to_list()[2] == (
        "prediction: a table that the database does not have, or a join that is not read"
    )
    assert rows["spider_not_read"].to_list()[3] is None
    assert rows["spider_not_read"].to_list()[4].startswith("gold: ")
    assert result["spider_exact"].n == 4
    assert result["spider_exact"].unscored_total == 1
    # Of two predictions that are read, both select what their golds do; of four golds, two are met.
    precision, recall = result["part_select_precision"], result["part_select_recall"]
    assert (precision.value, recall.value) == (1.0, 0.5)
    assert precision.low is not None and recall.low is not None and recall.low < 0.5 < recall.high  # type: ignore[operator]
    assert (result["part_where_precision"].value, result["part_where_recall"].value) == (0.0, 0.0)
    assert result["part_order_recall"].value == 1.0
    assert any("1 predictions are not read" in note for note in result.notes)
    assert "parts:yes" in result.signature.short and "conventions:spider-exact" in result.signature.short


def test_parts_are_there_only_where_they_are_asked_for(shop: Path) -> None:
    plain = evaluate(RECORDS, database=shop, options=NO_INTERVALS)
    assert not [figure.name for figure in plain.figures if figure.name.startswith(("part_", "spider"))]
    assert not [name for name in plain.measurements.columns if name.startswith(("part_", "spider"))]
    named = {statistic.name for statistic in statistics({})}
    assert len([name for name in named if name.startswith("part_")]) == 20


def test_of_several_golds_the_one_that_suits_best_counts(shop: Path) -> None:
    golds = ["SELECT town FROM shop", "SELECT name FROM shop"]
    record = {"id": "1", "gold": golds, "pred": "SELECT DISTINCT name FROM shop"}
    result = evaluate([record], database=shop, conventions=["spider-exact"], parts=True, options=NO_INTERVALS)
    assert result["spider_exact"].value == 1
    assert result["part_select_recall"].value == 1


def test_slices_by_what_the_gold_is_made_of(shop: Path) -> None:
    by = ["hardness", "joins", "nesting", "aggregates", "difficulty"]
    result = evaluate(RECORDS, database=shop, slices=by, options=NO_INTERVALS)
    assert {row[0].slice["hardness"]: row[0].n for row in result.slices("hardness")} == {"easy": 4, "medium": 1}
    assert {row[0].slice["aggregates"] for row in result.slices("aggregates")} == {"0", "1"}
    assert {row[0].slice["difficulty"]: row[0].n for row in result.slices("difficulty")} == {"moderate": 2, "simple": 3}
    assert result.measurements["joins"].to_list() == ["0"] * 5


def test_a_column_of_the_input_by_that_name_is_kept(shop: Path) -> None:
    records = [{**record, "hardness": "as I say"} for record in RECORDS]
    result = evaluate(records, database=shop, slices=["hardness"], options=NO_INTERVALS)
    assert set(result.measurements["hardness"]) == {"as I say"}
    assert evaluate(records, database=shop, options=NO_INTERVALS).measurements["hardness"].to_list()[0] == "easy"


def test_sparql_has_no_hardness() -> None:
    record = {"id": "1", "gold": "ASK {}", "prediction": "ASK {}", "joins": "mine"}
    assert evaluate([record], slices=["joins"], options=NO_INTERVALS).measurements["joins"].to_list() == ["mine"]
    with pytest.raises(InputError, match="cannot slice by 'hardness'"):
        evaluate([record], slices=["hardness"], options=NO_INTERVALS)


@pytest.mark.parametrize("asked", [{"parts": True}, {"conventions": ["spider-exact"]}, {"conventions": ["ves"]}])
def test_what_needs_a_database_says_so(asked: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="--database"):
        evaluate(RECORDS, language="sql", **asked)


def test_a_missing_database_leaves_the_row_out(tmp_path: Path, shop: Path) -> None:
    folder = tmp_path / "dbs"
    folder.mkdir()
    shop.rename(folder / "shop.sqlite")
    query = "SELECT name FROM shop"
    records = [{"id": name, "gold": query, "pred": query, "db_id": name} for name in ("shop", "none")]
    result = evaluate(records, database=folder, conventions=["spider-exact"], options=NO_INTERVALS)
    assert result.measurements["spider_exact"].to_list() == [True, None]


def test_duckdb_has_a_schema_too(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs sensecheck[duckdb]")
    file = tmp_path / "d.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT)")
    record = {"id": "1", "gold": "SELECT name FROM shop", "pred": "SELECT DISTINCT name FROM shop"}
    assert evaluate([record], database=file, conventions=["spider-exact"], options=NO_INTERVALS)["spider_exact"].value


# ---- SPICE's figures and slices


def test_spice_figures_and_slices_are_there_where_its_fields_are(shop: Path, tmp_path: Path) -> None:
    spice = {"question_type", "subtype", "ellipsis", "multi_entity", "context", "distance", "type_code"}
    plain = evaluate(RECORDS, database=shop, options=NO_INTERVALS)
    assert not spice & set(plain.measurements.columns)
    assert not [figure.name for figure in plain.figures if figure.name.endswith("unweighted")]
    typed = evaluate([{**record, "question_type": "x"} for record in RECORDS], database=shop, options=NO_INTERVALS)
    assert spice <= set(typed.measurements.columns)
    assert {"em_unweighted", "accuracy_unweighted"} <= {figure.name for figure in typed.figures}
    far = evaluate([{**record, "distance": "1"} for record in RECORDS], database=shop, options=NO_INTERVALS)
    assert {"context", "distance"} == spice & set(far.measurements.columns)
    # What both runs have is compared.
    both = {d.name for d in typed.compare(plain)}
    assert "em" in both and "em_unweighted" not in both
    assert both == {d.name for d in plain.compare(typed)}


def test_slices_that_records_do_not_have_are_refused(shop: Path) -> None:
    with pytest.raises(InputError, match="cannot slice by 'question_type'"):
        evaluate(RECORDS, database=shop, slices=["question_type"], options=NO_INTERVALS)


# ---- real predictions


@pytest.mark.golden
def test_spider_exact_agrees_with_the_recorded_verdicts(shared: Path) -> None:
    data = shared / "data" / "sql"
    with gzip.open(data / "predictions.jsonl.gz") as stream:
        told = {row["id"]: bool(row["spider_exact"]) for row in map(json.loads, stream)}
    result = evaluate(
        data / "predictions.jsonl.gz",
        database=data / "databases",
        conventions=["spider-exact", "projection"],
        ties="right",
        normalise=False,
        slices=["hardness"],
        options=NO_INTERVALS,
    )
    rows = result.measurements
    found = dict(zip(rows["id"], rows["spider_exact"], strict=True))
    assert [name for name, verdict in told.items() if found[name] != verdict] == []
    # The development set without one database: 232 + 416 + 160 + 164 of its questions, six systems each.
    assert Counter(rows["hardness"]) == {"easy": 6 * 232, "medium": 6 * 416, "hard": 6 * 160, "extra": 6 * 164}
    assert rows.filter(pl.col("projection") & ~pl.col("correct")).height == 169
    assert rows.filter(~pl.col("projection") & pl.col("correct")).height == 0
