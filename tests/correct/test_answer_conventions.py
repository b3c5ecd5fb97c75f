"""Soft F1, projection and efficiency."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from sensecheck.correct import evaluate
from sensecheck.correct.answer_conventions import equal_after_projection, soft_f1
from sensecheck.correct.sql_compare import GoldPlan, plan_gold
from sensecheck.correct.timing import Timer
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer, Databases, Failure, Request
from sensecheck.stores.cache import request_key

NO_INTERVALS = IntervalOptions(method="none")


def table(*rows: tuple[Any, ...]) -> Answer:
    return Answer([f"c{i}" for i in range(len(rows[0]))] if rows else ["c0"], list(rows))


# ---- soft F1


def test_soft_f1_counts_cells_row_by_row() -> None:
    gold = table(("Apple", 325), ("Orange", 5), ("Banana", 119))
    assert soft_f1(gold, gold) == 1
    assert soft_f1(gold, table((325, "Apple"), (5, "Orange"), (119, "Banana"))) == 1
    # 1 + 1/2 + 1/2 shared, 1/2 + 1/2 of either alone.
    assert soft_f1(gold, table((325, "Apple"), (191, "Orange"), (0, "Banana"))) == pytest.approx(2 * 2 / (2 * 2 + 2))
    # A row too many, and a row too few.
    assert soft_f1(table(("a",)), table(("a",), ("b",))) == pytest.approx(2 / 3)
    assert soft_f1(table(("a",), ("b",)), table(("a",))) == pytest.approx(2 / 3)
    # A column too many is half a row of nothing.
    assert soft_f1(table(("a", 1)), table(("a", 1, "x"))) == pytest.approx(2 / 2.5)


def test_soft_f1_at_the_edges() -> None:
    assert soft_f1(table(), table()) == 1
    assert soft_f1(table(), table((1,))) == 0
    assert soft_f1(table((1,)), table()) == 0
    assert soft_f1(table((1,), (1,)), table((1,))) == 1  # repeated rows count once
    assert soft_f1(table((None,)), table((None,))) == 1
    assert soft_f1(table((1,), (2,)), table((2,), (1,))) == 0  # rows are taken in their order
    many = table(*[(i, i) for i in range(100_000)])
    assert soft_f1(many, many) == 1


# ---- projection


def test_extra_columns_may_be_dropped_and_no_others() -> None:
    gold = table(("a", 1), ("b", 2))
    assert equal_after_projection(gold, table((1, "x", "a"), (2, "y", "b")), GoldPlan()) is True
    assert equal_after_projection(gold, gold, GoldPlan()) is True
    assert equal_after_projection(gold, table((1, "x", "b"), (2, "y", "a")), GoldPlan()) is False
    assert equal_after_projection(gold, table(("a",), ("b",)), GoldPlan()) is False
    assert equal_after_projection(table(), table((1, 2)), GoldPlan()) is False
    assert equal_after_projection(table(), Answer(["a", "b"]), GoldPlan()) is True
    assert equal_after_projection(table((0.3,)), table((0.1 + 0.2, 7)), GoldPlan()) is True
    assert equal_after_projection(table((3,)), table(("3", "x")), GoldPlan()) is False
    assert equal_after_projection(table((3,)), table(("3", "x")), GoldPlan(), coerce=True) is True


def test_order_and_ties_count_as_ever() -> None:
    plan = plan_gold("SELECT name FROM t ORDER BY score DESC LIMIT 1")
    keyed = Answer(["name", "k"], [("a", 9), ("b", 9), ("c", 1)])
    assert equal_after_projection(table(("a",)), table(("b", 9)), plan, keyed) is True
    assert equal_after_projection(table(("a",)), table(("c", 1)), plan, keyed) is False
    sorted_plan = GoldPlan(sorts=True)
    assert equal_after_projection(table((1,), (2,)), table((2, "x"), (1, "y")), sorted_plan) is False


def test_very_many_columns_end_and_are_wrong() -> None:
    gold = table(*[(i, i + 1, i + 2, i + 3) for i in range(100)])
    wide = table(*[tuple(range(i * 7, i * 7 + 90)) for i in range(100)])
    started = time.process_time()
    assert equal_after_projection(gold, wide, GoldPlan()) is False
    assert time.process_time() - started < 10


# ---- in a run


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE item (id INTEGER, name TEXT)")
    connection.executemany("INSERT INTO item VALUES (?, ?)", [(i, f"n{i}") for i in range(300)])
    connection.commit()
    connection.close()
    return file


GOLD = "SELECT name FROM item WHERE id < 2"
SLOW = (
    "SELECT a.name FROM item AS a WHERE a.id < 2 AND (SELECT count(*) FROM item AS b, item AS c WHERE b.id <> c.id) > 0"
)
RECORDS = [
    {"id": "same", "gold": GOLD, "pred": GOLD},
    {"id": "more", "gold": GOLD, "pred": "SELECT id, name FROM item WHERE id < 2"},
    {"id": "half", "gold": GOLD, "pred": "SELECT name FROM item WHERE id < 1"},
    {"id": "fails", "gold": GOLD, "pred": "SELECT colour FROM item"},
    {"id": "none", "gold": GOLD, "pred": None},
    {"id": "gold fails", "gold": "SELECT colour FROM item", "pred": GOLD},
]


def test_named_figures_of_a_run(shop: Path) -> None:
    result = evaluate(RECORDS, database=shop, conventions=["projection", "soft-f1"], options=NO_INTERVALS)
    rows = result.measurements
    assert rows["correct"].to_list() == [True, False, False, False, False, None]
    assert rows["projection"].to_list() == [True, True, False, False, False, None]
    assert rows["soft_f1"].to_list() == [1.0, pytest.approx(2 * 2 / (2 * 2 + 2)), pytest.approx(2 / 3), 0.0, 0.0, None]
    assert result["soft_f1"].n == 5


def test_answers_in_the_file_are_compared_alike() -> None:
    record = {
        "id": "1",
        "predicted_answers": {"columns": ["x", "y"], "rows": [["a", 1]]},
        "gold_answers": [{"columns": ["x"], "rows": [["b"]]}, {"columns": ["x"], "rows": [["a"]]}],
    }
    (row,) = evaluate([record], conventions=["projection", "soft-f1"]).measurements.to_dicts()
    assert row["correct"] is False and row["projection"] is True and row["soft_f1"] == pytest.approx(2 / 3)


def test_several_databases_are_judged_by_the_worst(tmp_path: Path) -> None:
    folder = tmp_path / "dbs" / "shop"
    folder.mkdir(parents=True)
    for name, rows in (("shop", 1), ("other", 2)):
        connection = sqlite3.connect(folder / f"{name}.sqlite")
        connection.execute("CREATE TABLE item (id INTEGER)")
        connection.executemany("INSERT INTO item VALUES (?)", [(i,) for i in range(rows)])
        connection.commit()
        connection.close()
    record = {"id": "1", "gold": "SELECT id FROM item", "pred": "SELECT id FROM item LIMIT 1", "db_id": "shop"}
    result = evaluate([record], database=tmp_path / "dbs", conventions=["soft-f1", "projection"], options=NO_INTERVALS)
    (row,) = result.measurements.to_dicts()
    assert row["soft_f1"] == pytest.approx(2 / 3) and row["projection"] is False


# ---- efficiency


def test_efficiency_is_asked_for_and_says_that_it_is_timed(shop: Path, tmp_path: Path) -> None:
    records = [*RECORDS, {"id": "slow", "gold": GOLD, "pred": SLOW}]
    out = tmp_path / "run"
    result = evaluate(records, database=shop, conventions=["ves"], ves_runs=3, out=out, options=NO_INTERVALS)
    found = dict(zip(result.measurements["id"], result.measurements["ves"], strict=True))
    assert found["same"] == 1.0
    assert [found[name] for name in ("more", "half", "fails", "none")] == [0.0] * 4
    assert found["gold fails"] is None
    assert 0 < found["slow"] < 0.8  # it looks at 90,000 pairs of rows
    assert result["ves"].n == 6
    assert "ves-runs:3" in result.signature.short
    assert any("differs from run to run" in note for note in result.notes)
    assert "ves-runs" not in evaluate(RECORDS, database=shop, options=NO_INTERVALS).signature.short


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_timing_is_of_the_query_alone_and_is_never_kept(dialect: str, tmp_path: Path, shop: Path) -> None:
    if dialect == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="needs sensecheck[duckdb]")
        shop = tmp_path / "shop.duckdb"
        with duckdb.connect(str(shop)) as connection:
            connection.execute("CREATE TABLE item AS SELECT range AS id, 'n' || range AS name FROM range(300)")
    with Databases(shop) as store:
        assert isinstance(store, Databases)
        timed = store.execute(Request(GOLD, str(shop), timed=True))
        assert isinstance(timed, Answer) and timed.rows == [] and 0 < timed.seconds < 5
        assert isinstance(store.execute(Request(GOLD, str(shop))), Answer)
        for text in ("SELECT colour FROM item", "DROP TABLE item", "PRAGMA user_version"):
            assert isinstance(store.execute(Request(text, str(shop), timed=True)), Failure)
        timer = Timer(store, runs=1)
        assert timer.efficiency(GOLD, "SELECT colour FROM item", str(shop)) is None
        assert timer.efficiency("nothing", "nothing", str(shop)) == 1.0
    with pytest.raises(ValueError, match="not kept"):
        request_key("", Request(GOLD, timed=True))
