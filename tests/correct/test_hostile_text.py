"""What a model writes never ends a run: each item gets its reason, and the others their figures."""

from __future__ import annotations

import itertools
import json
import sqlite3
import time

import pytest

from sensecheck.cli import main
from sensecheck.correct import column_orders, evaluate
from sensecheck.correct.measure import Choices, NormalForms
from sensecheck.correct.sql_compare import same_bag, same_list
from sensecheck.inputs.guarding import OverBudgetError
from sensecheck.language.sparql import SparqlError, parse

GOLD = "SELECT name, age FROM person"
CHAIN = "SELECT 1 AS a0" + "".join(f", a{i}+a{i} AS a{i + 1}" for i in range(30)) + " FROM person GROUP BY a30"
HOSTILE = {
    "huge exponent": ("SELECT * FROM person WHERE age = 1e999999999", "wrong", ""),
    "half a character": ("SELECT '\ud800'", "wrong", ""),
    "long hex": ("SELECT 0x" + "f" * 5000, "wrong", ""),
    "long integer": ("SELECT " + "9" * 6000, "wrong", ""),
    "doubling names": (CHAIN, "wrong", "normal form: over budget"),
    "deep": ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "wrong", "normal form: over budget"),
    "long": ("SELECT " + ",".join(["age"] * 40_000) + " FROM person", "wrong", "normal form: over budget"),
    "joins": ("SELECT name FROM person" + " JOIN person" * 60, "wrong", "normal form: over budget"),
    "right": ("select name, age from PERSON", "right", ""),
}


@pytest.fixture
def database(tmp_path):
    with sqlite3.connect(tmp_path / "people.sqlite") as connection:
        connection.execute("CREATE TABLE person(name TEXT, age INT)")
        connection.executemany("INSERT INTO person VALUES (?, ?)", [("a", 1), ("b", 2)])
    connection.close()
    return tmp_path / "people.sqlite"


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_hostile_file_is_measured_row_by_row(dialect, database, tmp_path):
    if dialect == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="needs sensecheck[duckdb]")
        with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
            connection.execute("CREATE TABLE person(name TEXT, age INT)")
            connection.execute("INSERT INTO person VALUES ('a', 1), ('b', 2)")
        database = tmp_path / "people.duckdb"
    lines = [{"id": name, "gold": GOLD, "prediction": text} for name, (text, _, _) in HOSTILE.items()]
    lines.append({"id": "gold", "gold": "SELECT 0x" + "f" * 5000, "prediction": GOLD})
    (tmp_path / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    begin = time.process_time()
    result = evaluate(tmp_path / "predictions.jsonl", database=database)
    assert time.process_time() - begin < 20
    rows = {row["id"]: row for batch in result.rows.batches() for row in batch.iter_rows(named=True)}
    for name, (_, verdict, why) in HOSTILE.items():
        row = rows[name]
        assert (row["scored"], row["correct"]) == (True, verdict == "right"), name
        # SQLite's names of columns cannot be used by other columns: nothing doubles there.
        if dialect == "duckdb" or name != "doubling names":
            assert (row["not_normalised"] or "") == why, name
        assert row["em_normalised"] is (verdict == "right"), name
    if dialect == "sqlite":  # DuckDB reads it as 0 AS xff…
        assert rows["gold"]["scored"] is False and rows["gold"]["reason"].startswith("gold query: ")
    assert "1 text held half a character (a lone surrogate): it was replaced by U+FFFD" in result.notes
    over = sum(row["not_normalised"] == "normal form: over budget" for row in rows.values())
    assert f"normalised exact match counts {over} as another query (normal form: over budget)" in result.notes


def test_the_command_line_ends_well_and_names_it(database, tmp_path, capsys):
    lines = [{"id": name, "gold": GOLD, "prediction": text} for name, (text, _, _) in HOSTILE.items()]
    (tmp_path / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["correct", str(tmp_path / "predictions.jsonl"), "--database", str(database)]) == 0
    out = capsys.readouterr().out
    assert "normalised exact match counts 3 as another query (normal form: over budget)" in out
    assert "half a character" in out


def test_a_fault_of_the_gold_leaves_only_the_normal_form_unscored(database):
    # The gold runs, and its normal form is too long: the verdict on the answer stands.
    gold = "SELECT " + ",".join(["age"] * 1500) + " FROM person -- " + "x" * 100_000
    result = evaluate([{"gold": gold, "prediction": "SELECT 1"}], database=database)
    row = next(result.rows.batches()).row(0, named=True)
    assert (row["scored"], row["correct"], row["em_normalised"]) == (True, False, None)
    figures = {figure.name: figure for figure in result.figures}
    assert figures["accuracy"].n == 1
    assert figures["em_normalised"].unscored == {"gold's normal form: over budget": 1}


def test_a_fault_in_our_own_hands_is_not_held_against_the_prediction(database, monkeypatch):
    import sensecheck.correct.measure as measuring

    def broken(text, *_, **__):
        raise KeyError("surprise")

    monkeypatch.setattr(measuring, "sql_normal_form", broken)
    monkeypatch.setattr(measuring, "compare", broken)
    result = evaluate([{"gold": GOLD, "prediction": "SELECT * FROM person"}], database=database)
    row = next(result.rows.batches()).row(0, named=True)
    assert (row["scored"], row["reason"]) == (False, "comparing answers: could not be handled")


# ---- answers that look alike


def cube(parity) -> list[tuple[int, ...]]:
    return [(*row, parity(row)) for row in itertools.product((0, 1), repeat=11)]


def test_answers_of_look_alike_columns_are_compared_within_a_budget():
    gold, other = cube(lambda row: row[0] ^ row[1]), cube(lambda row: row[0] ^ row[1] ^ row[2])
    begin = time.process_time()
    assert same_bag(gold, other) is False
    assert same_list(gold, other) is False
    assert same_bag(gold, [row[::-1] for row in gold]) is True
    assert time.process_time() - begin < 5


def test_what_is_still_undecided_after_its_steps_is_given_up(monkeypatch):
    monkeypatch.setattr(column_orders, "MOST_STEPS", 0)
    gold, other = cube(lambda row: row[0] ^ row[1]), cube(lambda row: row[0] ^ row[1] ^ row[2])
    with pytest.raises(OverBudgetError, match=r"columns that look alike could be in too many orders \(12 columns\)"):
        same_bag(gold, other)


def test_an_answer_over_budget_is_wrong_with_that_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(column_orders, "MOST_STEPS", 0)
    with sqlite3.connect(tmp_path / "cube.sqlite") as connection:
        for name, rows in (("g", cube(lambda row: row[0] ^ row[1])), ("p", cube(lambda row: row[0] ^ row[1] ^ row[2]))):
            connection.execute(f"CREATE TABLE {name}({', '.join(f'c{i}' for i in range(12))})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * 12)})", rows)
    connection.close()
    rows = [{"gold": "SELECT * FROM g", "prediction": "SELECT * FROM p"}]
    result = evaluate(rows, database=tmp_path / "cube.sqlite", conventions=["test-suite", "bird"])
    row = next(result.rows.batches()).row(0, named=True)
    assert (row["scored"], row["correct"], row["outcome"]) == (True, False, "over budget")
    assert (row["test_suite"], row["bird"]) == (False, False)


# ---- SPARQL


@pytest.mark.parametrize("piece", ["a.", "a-", "_.", "_a.b.", "a:.", "1a."])
@pytest.mark.parametrize("end", ["", ":", ".:"])
def test_tokens_take_linear_time(piece, end):
    text = "SELECT * WHERE { ?s ?p " + piece * (240_000 // len(piece)) + end
    begin = time.process_time()
    with pytest.raises(SparqlError):
        parse(text, {})
    assert time.process_time() - begin < 5


def test_symmetric_queries_are_given_up_in_steps():
    forms = NormalForms(Choices(language="sparql"))
    n = 40
    edges = [(i, j) for i in range(n) for j in range(n) if i != j]
    one = " . ".join(f"?a{i} wdt:P1 ?a{j}" for i, j in edges)
    two = " . ".join(f"?a{j} wdt:P1 ?a{(i * 7) % n}" for i, j in edges[:-1]) + " . ?a0 wdt:P1 ?a1"
    begin = time.process_time()
    match = forms.match(f"SELECT * WHERE {{ {one} }}", f"SELECT * WHERE {{ {two} }}")
    assert match.same is False
    assert time.process_time() - begin < 10


# ---- what an attacker found


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
def test_a_record_nested_a_thousand_deep_is_a_bad_record(suffix, tmp_path, capsys):
    deep = '{"id": ' + "[" * 990 + "]" * 990 + f', "gold": "{GOLD}", "prediction": "{GOLD}"}}'
    good = json.dumps({"id": "good", "gold": GOLD, "prediction": GOLD})
    path = tmp_path / f"p.{suffix}"
    path.write_text(f"{good}\n{deep}\n" if suffix == "jsonl" else f"[{good},\n{deep}]")
    assert main(["correct", str(path)]) == 2
    assert "lists and objects at most 32 deep inside one another" in capsys.readouterr().err
    assert main(["correct", str(path), "--skip-bad"]) == 0
    assert "1 bad record" in capsys.readouterr().out


def test_equal_answers_of_many_columns_are_equal_in_any_order():
    from sensecheck.correct.answer_sets import best_column_order, row_set
    from sensecheck.stores import Answer, Term

    def table(turned: bool) -> Answer:
        rows = [tuple([Term("literal", str(i if i == j else 0)) for j in range(9)]) for i in range(1, 10)]
        return Answer([f"c{j}" for j in range(9)], [row[::-1] for row in rows] if turned else rows)

    wanted = row_set(table(turned=False))
    assert best_column_order(wanted, table(turned=True)) == wanted


def test_part_of_an_answer_counts_under_its_best_order():
    from sensecheck.correct.answer_sets import best_column_order, row_set
    from sensecheck.stores import Answer, Term

    def answer(rows) -> Answer:
        return Answer(["a", "b", "c"], [tuple([Term("literal", cell) for cell in row]) for row in rows])

    gold = row_set(answer([("x", "1", "p"), ("y", "2", "q"), ("z", "3", "r")]))
    shown = best_column_order(gold, answer([("p", "x", "1"), ("q", "y", "2"), ("s", "w", "9")]))
    assert len(gold & shown) == 2
    assert best_column_order(gold, Answer(["a", "b", "c"], [])) == set()


def test_predictions_without_an_answer_are_counted_by_reason(database):
    rows = [{"gold": GOLD, "prediction": text} for text in ("SELEC", "SELECT x FROM person", "DROP TABLE person", GOLD)]
    notes = evaluate(rows, database=database).notes
    assert [note for note in notes if note.startswith("without an answer: ")], notes
