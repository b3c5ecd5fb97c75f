"""Literals that are looked up in the database: what is found of them, and what a database may do to a run."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sensecheck import faithful
from sensecheck.cli import main
from sensecheck.faithful import stored as stored_module
from sensecheck.faithful.facts import UnreadableQueryError
from sensecheck.faithful.matching.ruling import CONFIDENCE
from sensecheck.faithful.measure import Checker
from sensecheck.faithful.schema import from_create_table, load_schemas
from sensecheck.faithful.stored import Literal, StoredValues, Values, is_one_edit
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.stores import StoreError

TABLES = """
CREATE TABLE port (code TEXT PRIMARY KEY, town TEXT NOT NULL, land TEXT);
CREATE TABLE boat (id INTEGER PRIMARY KEY, name TEXT, kind TEXT COLLATE NOCASE, length REAL, port TEXT REFERENCES port);
CREATE TABLE "odd ""table" ("a ""column" TEXT, "select" INTEGER);
CREATE TABLE bare (word TEXT);
INSERT INTO port VALUES ('HAV', 'Larkhaven', 'Norland'), ('STR', 'Strand ', 'Norland'), ('OBR', 'O''Brien''s Quay', NULL);
INSERT INTO boat VALUES (1, 'Sea Otter', 'Sloop', 12.5, 'HAV'), (2, 'Tern II', 'ketch', 9.0, 'STR');
INSERT INTO "odd ""table" VALUES ('x', 5);
"""


def make(path: Path, script: str = TABLES) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


@pytest.fixture(scope="module")
def boats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("boats") / "boats.sqlite")


@pytest.fixture(scope="module")
def checker(boats: Path) -> Iterator[Checker]:
    with StoredValues(boats) as stored:
        yield Checker("sql", database=stored)


def found(checker: Checker, query: str, question: str = "Which?", db_id: str | None = None) -> list[tuple[str, str]]:
    findings = checker.findings(query, question, db_id)
    return [(f.rule, f.text.partition(": ")[2]) for f in findings if f.rule.startswith("stored_")]


# ---------------------------------------------------------------------------------------------------- findings


@pytest.mark.parametrize(
    ("condition", "rules"),
    [
        ("name = 'Sea Otter'", []),
        ("name = 'sea otter'", [("stored_otherwise", "stored is 'Sea Otter'")]),
        ("name = 'SeaOtter'", [("stored_otherwise", "stored is 'Sea Otter'")]),
        ("name = 'Sea-Otter!'", [("stored_otherwise", "stored is 'Sea Otter'")]),
        ("name = 'Sea Oter'", [("stored_otherwise", "stored is 'Sea Otter'")]),
        ("name != 'sea otter'", [("stored_otherwise", "stored is 'Sea Otter'")]),
        ("name NOT IN ('sea otter')", [("stored_otherwise", "stored is 'Sea Otter'")]),
        ("name = 'Tern III'", [("stored_otherwise", "stored is 'Tern II'")]),
        ("kind = 'SLOOP'", []),  # the column's collation does not see capitals
        ("kind = 'HAV'", [("stored_beside", "boat.port holds it")]),
        ("port = 'Norland'", [("stored_elsewhere", "port.land holds it")]),
        ("port = 'Atlantis'", [("stored_nowhere", "no column holds it")]),
        ("name LIKE '%otter%'", []),
        ("name LIKE 'SEA%'", []),
        ("name LIKE '%OTTER'", []),
        ("name LIKE 'tern ii'", []),
        ("name LIKE 'S__ Otter'", []),
        ("name LIKE '%a%t%'", []),
        ("name LIKE 'otter%'", [("stored_unlike", "no value is like it")]),
        ("name LIKE '%a%z%'", [("stored_unlike", "no value is like it")]),
        ("name LIKE '%whale%'", [("stored_unlike", "no value is like it")]),
        ("name NOT LIKE '%whale%'", []),
        ("id = 2", []),
        ("id = '2'", []),
        ("length = 9", []),
        ("length = 77", [("stored_nowhere_number", "the column does not hold it")]),
        ("length > 1000", []),  # people ask for what is not there
        ("length BETWEEN 900 AND 1000", []),
        ("name = 'Sea Otter' OR name = 'sea otter'", []),  # one of them finds it
        ("name IN ('Sea Otter', 'Sea Oter')", [("stored_otherwise", "stored is 'Sea Otter'")]),
        ("name IN ('Sea Otter', 'Atlantis')", []),
        ("name = 'HAV' OR port = 'HAV'", []),
        ("UPPER(name) = 'SEA OTTER'", []),  # something made of the column
        ("name = ''", []),
        ("'sea otter' = name", [("stored_otherwise", "stored is 'Sea Otter'")]),
    ],
)
def test_what_a_literal_finds(checker: Checker, condition: str, rules: list[tuple[str, str]]) -> None:
    assert found(checker, f"SELECT id FROM boat WHERE {condition}") == rules


def test_blanks_around_a_stored_value_are_no_fault_of_the_query(checker: Checker) -> None:
    assert found(checker, "SELECT code FROM port WHERE town = 'Strand'") == []


def test_short_words_and_digits_are_no_slips() -> None:
    values = Values(["M", "F", "cat", "Model 1", "Model 22"])
    assert [values.respelled(text) for text in ("N", "cut", "Model 2", "Model 12", "modell 1")] == [
        None, None, None, None, "Model 1",
    ]  # fmt: skip


def test_a_column_of_a_sub_query_is_that_of_its_own_table(checker: Checker) -> None:
    """Both tables have the column; the inner one is meant."""
    tables = "CREATE TABLE a (word TEXT); CREATE TABLE b (word TEXT)"
    outline = Checker("sql", schemas=from_create_table(tables)).reading(
        "SELECT word FROM a WHERE word = (SELECT word FROM b WHERE word = 'x')"
    )
    assert not isinstance(outline, UnreadableQueryError)
    assert [use.column.table.name for use in outline.outline.literals] == ["b"]


def test_a_quoted_word_that_is_no_column_is_looked_up(checker: Checker) -> None:
    assert found(checker, 'SELECT id FROM boat WHERE name = "sea otter"') == [
        ("stored_otherwise", "stored is 'Sea Otter'")
    ]


def test_a_finding_makes_the_pair_inconsistent_and_shows_where(checker: Checker) -> None:
    query = "SELECT length FROM boat WHERE name = 'sea otter'"
    question = "What is the length of the boat named sea otter?"
    assert Checker("sql").check(query, question).consistent
    verdict = checker.check(query, question)
    assert verdict.consistent is False
    (fault,) = [f for f in verdict.evidence() if f["rule"] == "stored_otherwise"]
    assert query[slice(*fault["query"])] == "'sea otter'"
    assert fault["text"] == "name = sea otter: stored is 'Sea Otter'"
    assert Checker("sql", database=checker._stored, without=["stored_values"]).check(query, question).consistent


def test_every_finding_has_a_weight() -> None:
    from sensecheck.faithful.matching.rules.stored_values import _FINDINGS

    names = {name for name, _ in _FINDINGS.values()}
    assert names <= CONFIDENCE.keys()
    assert CONFIDENCE["stored_nowhere_number"] < 0.5  # it does not tell right from wrong well enough to decide


def test_without_a_database_nothing_changes(boats: Path) -> None:
    reading = Checker("sql", schemas=from_create_table(TABLES)).reading("SELECT id FROM boat WHERE name = 'x'")
    assert not isinstance(reading, UnreadableQueryError)
    assert "values" not in reading.offers and not reading.lacks


@pytest.mark.parametrize("count", [0, 1, 2, 200])
def test_any_number_of_literals(checker: Checker, count: int) -> None:
    conditions = " OR ".join(f"name = 'nobody {i}'" for i in range(count)) or "id = 1"
    assert len(found(checker, f"SELECT id FROM boat WHERE {conditions}")) == min(count, 40)


def test_an_empty_table_tells_nothing(checker: Checker) -> None:
    assert found(checker, "SELECT word FROM bare WHERE word = 'x'") == []


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "boats.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE boat (name TEXT, built DATE, crew INTEGER, price DECIMAL(8, 2), sails BOOLEAN)"
        )
        connection.execute("INSERT INTO boat VALUES ('Sea Otter', '1999-05-01', 3, 10.50, true)")
    with StoredValues(path) as stored:
        checker = Checker("sql", database=stored)
        query = "SELECT crew FROM boat WHERE {}"
        for held in ("name = 'Sea Otter'", "built = '1999-05-01'", "crew = 3", "price = 10.5", "sails = 'true'"):
            assert found(checker, query.format(held)) == []
        assert found(checker, query.format("name = 'sea otter'")) == [("stored_otherwise", "stored is 'Sea Otter'")]
        assert found(checker, query.format("name LIKE '%whale%'")) == [("stored_unlike", "no value is like it")]
        assert found(checker, query.format("crew = 'many'")) == []  # the engine refuses to compare them


# --------------------------------------------------------------------------------------------------- hostile text


@pytest.mark.parametrize(
    "literal",
    ["O''Brien''s Quay", "'' OR 1=1 --", "x''; DROP TABLE boat; --", "\\", "%_%", "\ud800", "\0", "é" * 300, "🚢"],
)
def test_hostile_literals_are_texts_and_nothing_else(boats: Path, checker: Checker, literal: str) -> None:
    before = boats.read_bytes()
    for op in ("=", "LIKE"):
        found(checker, f"SELECT code FROM port WHERE town {op} '{literal}'")
    assert boats.read_bytes() == before
    assert found(checker, "SELECT id FROM boat WHERE name = 'sea otter'")  # the database is still asked
    if literal.startswith("O"):
        assert found(checker, f"SELECT code FROM port WHERE town = '{literal}'") == []


def test_many_hostile_literals_do_not_silence_the_database(boats: Path) -> None:
    with StoredValues(boats) as stored:
        for i in range(50):
            assert stored.any_row("", "boat", "name", "=", Literal(f"\ud800{i}", False)) is None
        assert stored.any_row("", "boat", "name", "=", Literal("Sea Otter", False)) is True
        assert stored.any_row("", "boat", "length", "=", Literal("9 OR 1=1", True)) is None


def test_names_with_quotes(boats: Path) -> None:
    with StoredValues(boats) as stored:
        values = stored.values("", 'odd "table', 'a "column')
        assert values is not None and values.texts == {"x"}
        assert stored.values("", "boat", "no such column") is None
        assert stored.values("", "no such table", "x") is None
        assert stored.notes() == [] or "were not looked at" not in stored.notes()[-1]


def test_the_model_s_query_never_runs(boats: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with StoredValues(boats) as stored:
        statements: list[str] = []
        execute = stored._store.execute

        def noted(request: Any) -> Any:
            statements.append(request.text)
            return execute(request)

        monkeypatch.setattr(stored._store, "execute", noted)
        Checker("sql", database=stored).check(
            "SELECT randomblob(9), id FROM boat WHERE name = 'sea otter'", "Which boats are called sea otter?"
        )
    assert statements and not any("randomblob" in text for text in statements)


# ------------------------------------------------------------------------------------------------------- bounds


def test_a_column_is_read_once(boats: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with StoredValues(boats) as stored:
        asked: list[str] = []
        execute = stored._store.execute
        monkeypatch.setattr(stored._store, "execute", lambda request: asked.append(request.text) or execute(request))
        checker = Checker("sql", database=stored)
        for i in range(300):
            checker.check(f"SELECT id FROM boat WHERE name = 'Sea Otter' LIMIT {i + 1}", "Which boat is Sea Otter?")
        assert len(asked) == 3  # the tables, the rows of the table, the values of the column
        for _ in range(5):
            assert stored.any_row("", "boat", "name", "=", Literal("x", False)) is False
        assert len(asked) == 4


def test_thousands_of_pairs_stay_fast(boats: Path) -> None:
    with StoredValues(boats) as stored:
        checker = Checker("sql", database=stored)
        begin = time.process_time()
        for i in range(1500):
            checker.check(
                f"SELECT length FROM boat WHERE id = {i % 2 + 1} LIMIT {i + 1}", f"The first {i + 1} lengths?"
            )
        assert time.process_time() - begin < 10


@pytest.mark.parametrize(("bound", "most"), [("MAX_ROWS", 1000), ("MAX_VALUES", 1000), ("MAX_READS", 0)])
def test_what_is_too_large_tells_nothing_and_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    path = make(tmp_path / "large.sqlite", "CREATE TABLE t (word TEXT)")
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO t VALUES (?)", ((f"word {i}",) for i in range(100_000)))
    query = "SELECT word FROM t WHERE word = 'Word 7'"
    monkeypatch.setattr(stored_module, "MAX_VALUES", 200_000)
    with StoredValues(path) as stored:
        assert found(Checker("sql", database=stored), query) == []  # more values than the worker sends at once
    monkeypatch.undo()
    monkeypatch.setattr(stored_module, bound, most)
    with StoredValues(path) as stored:
        assert found(Checker("sql", database=stored), query) == []
        assert "the values of t.word were not looked at" in stored.notes()[-1]


def test_a_column_of_a_hundred_thousand_rows(tmp_path: Path) -> None:
    path = make(tmp_path / "large.sqlite", "CREATE TABLE t (word TEXT, line INTEGER)")
    with sqlite3.connect(path) as connection:
        rows = ((f"word {i % 5000}", i) for i in range(100_000))
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    with StoredValues(path) as stored:
        checker = Checker("sql", database=stored)
        assert found(checker, "SELECT line FROM t WHERE word = 'Word 7'") == [
            ("stored_otherwise", "stored is 'word 7'")
        ]
        assert found(checker, "SELECT line FROM t WHERE word = 'word 4999'") == []


def test_a_view_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e12) SELECT max(i) AS i FROM n"
    )
    views = "".join(f"CREATE VIEW v{i} AS {endless};" for i in range(5))
    path = make(tmp_path / "endless.sqlite", f"{views} CREATE TABLE t (word TEXT); INSERT INTO t VALUES ('one')")
    monkeypatch.setattr(stored_module, "LIMITS", stored_module.Limits(seconds=0.2))
    monkeypatch.setattr(stored_module, "MAX_FAILURES", 2)
    with StoredValues(path) as stored:
        checker = Checker("sql", database=stored)
        begin = time.monotonic()
        for i in range(5):
            assert found(checker, f"SELECT i FROM v{i} WHERE i = 3") == []
        assert time.monotonic() - begin < 20
        assert "were not looked at" in stored.notes()[-1]
        assert found(checker, "SELECT word FROM t WHERE word = 'ONE'") == []  # it is left alone by now


def test_values_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ", ".join(f"c{i} TEXT" for i in range(6))
    path = make(tmp_path / "wide.sqlite", f"CREATE TABLE t ({columns}); INSERT INTO t VALUES ({', '.join('1' * 6)})")
    monkeypatch.setattr(stored_module, "KEPT_BYTES", 600)
    with StoredValues(path) as stored:
        for _ in range(2):
            assert all(stored.values("", "t", f"c{i}") is not None for i in range(6))
        assert stored._kept_bytes <= 600
        assert stored._kept_bytes == sum(values.size for values in stored._kept.values() if values is not None)
        for i in range(6):
            stored.values("", "t", f"c{i}")
        assert stored.values("", "t", "c0") is None  # read three times, and let go three times


@pytest.mark.parametrize(
    ("a", "b", "near"),
    [
        ("pisek", "pisec", True), ("pisek", "piske", True), ("pisek", "pise", True), ("pisek", "xpisek", True),
        ("pisek", "pisek", False), ("pisek", "pasec", False), ("", "", False), ("", "a", True), ("ab", "ba", True),
        ("abcd", "badc", False), ("pisek", "pi", False),
    ],
)  # fmt: skip
def test_one_edit(a: str, b: str, near: bool) -> None:
    assert is_one_edit(a, b) is near
    assert is_one_edit(b, a) is near


# ----------------------------------------------------------------------------------------------- files and folders

PAIR = {"query": "SELECT length FROM boat WHERE name = 'sea otter'", "sentence": "The length of the boat sea otter?"}


def test_a_folder_of_databases(tmp_path: Path) -> None:
    make(tmp_path / "boats" / "boats.sqlite")
    make(tmp_path / "boats" / "boatsv1.sqlite", "CREATE TABLE other (x)")  # a variant of the suite
    make(tmp_path / "flat.db")
    pairs = [{**PAIR, "id": str(i), "db_id": name} for i, name in enumerate(("boats", "flat", "gone", None))]
    result = faithful.evaluate(pairs, database=tmp_path)
    rows = result.measurements.sort("id")
    assert rows["consistent"].to_list() == [False, False, None, None]
    assert rows["reason"].to_list()[2:] == ["unknown_db_id", "unknown_db_id"]
    assert {"boats", "flat"} <= StoredValues(tmp_path).schemas().keys()


def test_one_database_needs_no_name(tmp_path: Path) -> None:
    make(tmp_path / "boats" / "boats.sqlite")
    for place in (tmp_path, tmp_path / "boats" / "boats.sqlite"):
        result = faithful.evaluate([{**PAIR, "id": "1"}], database=place)
        assert result.measurements["consistent"].to_list() == [False]


def test_a_database_beside_a_schema_of_many(tmp_path: Path) -> None:
    """A file holds the database that it is called like, and says nothing of others."""
    boats = from_create_table(TABLES, "boats")
    cars = from_create_table("CREATE TABLE boat (length INTEGER, name TEXT)", "cars")
    checker = Checker("sql", schemas={"boats": boats, "cars": cars}, database=make(tmp_path / "boats.sqlite"))
    assert checker.check(PAIR["query"], PAIR["sentence"], "boats").consistent is False
    verdict = checker.check(PAIR["query"], PAIR["sentence"], "cars")
    assert (verdict.consistent, verdict.reason) == (None, Reason.UNKNOWN_DB_ID)


def test_the_database_is_the_schema(boats: Path) -> None:
    verdict = Checker("sql", database=boats).check("SELECT nonsense FROM boat", "The nonsense of boats?")
    assert [f.rule for f in verdict.faults()] == ["misfit"]


def test_the_signature_names_the_content(tmp_path: Path) -> None:
    first, other = make(tmp_path / "a" / "boats.sqlite"), make(tmp_path / "b" / "boats.sqlite")
    schema = tmp_path / "boats.sql"
    schema.write_text("CREATE TABLE boat (id INTEGER, name TEXT, length REAL)")
    pairs = [{**PAIR, "id": "1"}]

    def signature(**how: Any) -> str:
        return str(faithful.evaluate(pairs, schema=schema, **how).signature)

    assert "database" not in signature()
    before = signature(database=first)
    assert before == signature(database=other)  # a copy elsewhere is the same
    with sqlite3.connect(other) as connection:
        connection.execute("INSERT INTO boat VALUES (9, 'sea otter', 'x', 1, 'HAV')")
    assert "database" in before and before != signature(database=other)
    assert faithful.evaluate(pairs, schema=schema, database=other).measurements["consistent"].to_list() == [True]


def test_a_stopped_run_goes_on_only_over_the_same_database(tmp_path: Path) -> None:
    path = make(tmp_path / "boats.sqlite")
    data = tmp_path / "pairs.jsonl"
    data.write_text(json.dumps({**PAIR, "id": "1"}) + "\n")
    faithful.evaluate(data, database=path, out=tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "database" in json.dumps(manifest)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM boat")
    with pytest.raises(ValueError, match=r"database|another|differ"):
        faithful.evaluate(data, database=path, out=tmp_path / "run", resume=True)


def test_bad_databases_are_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "pairs.jsonl"
    data.write_text(json.dumps({**PAIR, "id": "1"}) + "\n")
    text = tmp_path / "no.sqlite"
    text.write_text("this is no database, however long it may be " * 20)
    (tmp_path / "empty").mkdir()
    places = {
        tmp_path / "missing.sqlite": "no such file or folder",
        text: "neither an SQLite nor a DuckDB file",
        tmp_path / "empty": "no file in it ends in",
    }
    for place, said in places.items():
        assert main(["faithful", str(data), "--database", str(place)]) == 2
        told = capsys.readouterr().err
        assert said in told and "Traceback" not in told
    for how in (["--language", "sparql"], ["--as", "blec"]):
        assert main(["faithful", str(data), "--database", str(make(tmp_path / "boats.sqlite")), *how]) == 2
        assert "database" in capsys.readouterr().err
        (tmp_path / "boats.sqlite").unlink()
    with pytest.raises(InputError, match="a file or folder"):
        faithful.evaluate(data, database="")
    with pytest.raises(ValueError, match="only SQL"):
        Checker("sparql", database=text)


def test_a_damaged_database_leaves_its_pairs_unscored(tmp_path: Path) -> None:
    make(tmp_path / "good.sqlite")
    (tmp_path / "bad.sqlite").write_bytes(b"SQLite format 3\0" + os.urandom(5000))
    schemas = {name: from_create_table(TABLES, name) for name in ("good", "bad")}
    checker = Checker("sql", schemas=schemas, database=tmp_path)
    assert checker.check(PAIR["query"], PAIR["sentence"], "good").consistent is False
    verdict = checker.check(PAIR["query"], PAIR["sentence"], "bad")
    assert (verdict.consistent, verdict.reason) == (None, Reason.BAD_DATABASE)
    with pytest.raises(InputError, match=r"bad\.sqlite"):
        faithful.evaluate([{**PAIR, "id": "1", "db_id": "good"}], database=tmp_path)


def test_a_locked_database_is_told(tmp_path: Path) -> None:
    path = make(tmp_path / "boats.sqlite")
    checker = Checker("sql", schemas=from_create_table(TABLES), database=path)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        connection = sqlite3.connect(path)
        connection.execute("BEGIN EXCLUSIVE")
        held.set()
        release.wait(30)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(30)
        with pytest.raises(StoreError, match="it is locked"):
            checker.check(PAIR["query"], PAIR["sentence"])
    finally:
        release.set()
        thread.join()


def test_nothing_is_written(tmp_path: Path) -> None:
    path = make(tmp_path / "boats.sqlite")
    before = path.read_bytes()
    path.chmod(0o444)
    faithful.evaluate([{**PAIR, "id": "1"}], database=path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["boats.sqlite"]


# ------------------------------------------------------------------------------------------------- real predictions


def test_real_predictions(shared: Path) -> None:
    """Predictions of six systems: where the right answer is not empty, no right prediction shows a finding."""
    import gzip

    folder = shared / "data/sql"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/sql: needs third-party predictions that may not be copied")
    checker = Checker("sql", schemas=load_schemas(folder / "tables.json"), database=folder / "databases")
    with gzip.open(folder / "predictions.jsonl.gz", "rt", encoding="utf-8") as lines:
        predictions = [json.loads(line) for line in lines]
    shown = {True: 0, False: 0}
    for row in predictions[::3]:
        reading = checker.reading(row["pred"], row["db_id"])
        if not isinstance(reading, UnreadableQueryError) and reading.lacks and row["mech"] != "both empty":
            shown[bool(row["test_suite_keep_distinct"])] += 1
    assert shown[False] > 2 * shown[True]
