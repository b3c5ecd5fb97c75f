"""The audit of golds: what is found, how it is ranked, and the sheet."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import sensecheck
from sensecheck.cli import main
from sensecheck.correct import evaluate
from sensecheck.correct.audit.checks import CHECKS
from sensecheck.correct.audit.outline import outline_of
from sensecheck.correct.audit.schema import Schema, schema_of
from sensecheck.correct.audit.sheet import COLUMNS, sheet_of, write_sheet
from sensecheck.correct.audit.weights import WEIGHTS, score_of
from sensecheck.inputs.errors import InputError
from sensecheck.report.result import Result, load
from sensecheck.runs.writing import RunError
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer

NO_INTERVALS = IntervalOptions(method="none")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A small zoo; weights are text, one animal has no age."""
    path = tmp_path / "zoo.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE keeper (id INTEGER PRIMARY KEY, name TEXT, born INTEGER);
            INSERT INTO keeper VALUES (1, 'Ann', 1980), (2, 'Ben', 1990), (3, 'Ann', 1990);
            CREATE TABLE animal (
                id INTEGER PRIMARY KEY, name TEXT, kind TEXT, weight TEXT, age INTEGER, keeper INTEGER,
                FOREIGN KEY (keeper) REFERENCES keeper (id)
            );
            INSERT INTO animal VALUES
                (1, 'Rex', 'Lion', '95', NULL, 1), (2, 'Leo', 'Lion', '120', 7, 1), (3, 'Kit', 'Fox ', '9.5', 3, 2),
                (4, 'Zoe', 'Zebra', '300', 7, 3), (5, 'Zed', 'Zebra', '310', 4, 3);
            """
        )
    connection.close()
    return path


def audited(database: Path, *golds: str, **options: Any) -> Result:
    records = [{"id": f"q{n}", "gold": gold, "prediction": gold} for n, gold in enumerate(golds)]
    return evaluate(records, database=database, options=NO_INTERVALS, normalise=False, audit=True, **options)


def kinds(database: Path, gold: str) -> set[str]:
    sheet = sheet_of(audited(database, gold))
    return {kind for row in sheet["kinds"].to_list() for kind in row.split("; ")}


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("SELECT name FROM animal", set()),
        ("SELECT count(*) FROM animal WHERE kind = 'Lion'", set()),
        ("SELECT name FROM animal ORDER BY id LIMIT 1", set()),
        ("SELECT nonsense FROM animal", {"does not run"}),
        ("SELECT", {"does not run"}),
        ("SELECT name FROM animal WHERE age > 90", {"empty"}),
        ("SELECT count(*) FROM animal WHERE age > 90", {"nothing counted"}),
        ("SELECT max(age) FROM animal WHERE age > 90", {"NULL answer"}),
        ("SELECT age FROM animal WHERE id = 1", {"NULL answer"}),
        ("SELECT kind FROM animal WHERE kind <> 'Fox ' GROUP BY kind ORDER BY count(*) LIMIT 1", {"every row ties"}),
        ("SELECT name FROM animal ORDER BY age DESC LIMIT 1", {"tie"}),
        ("SELECT age FROM animal ORDER BY age DESC LIMIT 1", set()),  # whichever is shown, it is 7
        ("SELECT name FROM animal ORDER BY age LIMIT 1", {"NULL decides"}),
        ("SELECT name FROM animal ORDER BY age", {"NULL sorted"}),
        ("SELECT name FROM animal LIMIT 2", {"LIMIT without ORDER BY"}),
        ("SELECT max(weight) FROM animal", {"number as text"}),
        ("SELECT name FROM animal ORDER BY weight DESC LIMIT 1", {"number as text"}),
        ("SELECT name FROM animal WHERE weight > 100", {"number as text"}),
        ("SELECT name FROM animal WHERE weight < '2'", {"number as text"}),
        ("SELECT max(weight) FROM animal WHERE kind = 'Zebra'", {"number as text, same answer"}),
        ("SELECT name FROM animal WHERE kind = 'Fox'", {"literal nearly there", "empty"}),
        ('SELECT name FROM animal WHERE kind = "lion"', {"literal nearly there", "empty"}),
        ("SELECT name FROM animal WHERE kind IN ('Lion', 'Zebrra')", {"literal nearly there"}),
        ("SELECT name FROM animal WHERE kind <> 'Whale'", {"literal not there"}),
        ("SELECT a.name FROM animal AS a JOIN keeper AS k ON a.keeper = k.id", set()),
        ("SELECT a.name FROM animal AS a JOIN keeper AS k ON a.id = k.id", {"undeclared join"}),
        ("SELECT name FROM keeper", {"duplicates"}),
        ("SELECT born FROM keeper", set()),  # numbers are no names
        ("SELECT DISTINCT name FROM keeper", {"DISTINCT changes the answer"}),
        ("SELECT DISTINCT id FROM keeper", set()),
        ("SELECT name, count(*) FROM animal GROUP BY kind", {"arbitrary value"}),
        ("SELECT kind, count(*) FROM animal GROUP BY kind", set()),
        ("SELECT name, max(age) FROM animal GROUP BY kind", set()),  # SQLite shows the row of the greatest
        ("SELECT k.name FROM keeper AS k JOIN animal AS a ON a.keeper = k.id GROUP BY a.keeper", set()),
        ("SELECT name FROM animal UNION SELECT name FROM keeper", set()),
        (
            "SELECT name FROM animal WHERE id IN (SELECT id FROM keeper WHERE name = 'ann')",
            {"literal nearly there", "empty"},
        ),
    ],
)
def test_what_is_found(database: Path, gold: str, expected: set[str]) -> None:
    assert kinds(database, gold) == expected


def test_evidence_in_words(database: Path) -> None:
    golds = ["SELECT name FROM animal WHERE kind = 'Fox'", "SELECT max(weight) FROM animal",
             "SELECT name FROM animal ORDER BY age DESC LIMIT 1"]  # fmt: skip
    sheet = {row["gold"]: row for row in sheet_of(audited(database, *golds)).to_dicts()}
    assert "animal.kind holds no 'Fox', but 'Fox '" in sheet[golds[0]]["evidence"]
    assert "animal.weight: text that holds numbers; read as numbers, the answer is 310.0" in sheet[golds[1]]["evidence"]
    assert "2 rows have the sort key 7 where LIMIT 1 cuts" in sheet[golds[2]]["evidence"]


SYSTEMS = ("s1", "s2", "s3", "s4")


def answered(told: dict[str, list[str]], column: str = "model") -> list[dict[str, Any]]:
    return [
        {
            "id": f"{system}:{n}",
            column: system,
            "db_id": "zoo",
            "gold": gold,
            "prediction": text,
            "question": f"which {n}?",
        }
        for n, (gold, texts) in enumerate(told.items())
        for system, text in zip(SYSTEMS, texts, strict=True)
    ]


WRONG = "SELECT count(*) FROM animal"
RIGHT = "SELECT count(DISTINCT kind) FROM animal"


def test_systems_that_agree_against_the_gold(database: Path) -> None:
    records = answered(
        {
            WRONG: [RIGHT, "SELECT 3", RIGHT, "SELECT 3.0"],  # all agree
            "SELECT 10": ["SELECT 11", "SELECT 11", "SELECT 11", "SELECT 10"],
            "SELECT 20": ["SELECT 21", "SELECT 22", "SELECT 23", "SELECT 24"],  # each errs in its own way
            "SELECT 30": ["SELECT 31", "SELECT 31", "SELECT 30", "SELECT 30"],  # as many say the gold's
            "SELECT 40": ["nonsense", "nonsense", "nonsense", "nonsense"],
            "SELECT 50": ["SELECT 50, 1", "SELECT 50, 1", "SELECT 50, 1", "SELECT 50, 1"],  # more columns
            "SELECT 60": ["SELECT '60'", "SELECT '60'", "SELECT '60'", "SELECT '60'"],  # only the type differs
        }
    )
    result = evaluate(records, database=database, options=NO_INTERVALS, normalise=False, audit=True)
    sheet = sheet_of(result)
    assert sheet["gold"].to_list() == [WRONG, "SELECT 10", "SELECT 50", "SELECT 60"]
    assert sheet["score"].to_list() == sorted(sheet["score"].to_list(), reverse=True)
    first = sheet.row(0, named=True)
    assert first["evidence"] == (
        "contradicted: 4 of 4 predictions, of 4 systems, agree on another answer (3); 0 give the gold's (5)"
    )
    assert first["ids"] == "s1:0 s2:0 s3:0 s4:0" and first["question"] == "which 0?" and first["label"] == ""
    assert result.extra["audit"]["systems"] == "model"


def test_another_choice_among_tied_rows_is_no_contradiction(database: Path) -> None:
    gold = "SELECT kind FROM animal WHERE kind <> 'Fox ' GROUP BY kind ORDER BY count(*) LIMIT 1"
    for told in (["SELECT 'Zebra'"] * 4, ["SELECT 'Lion'"] * 4, [gold] * 4):
        sheet = sheet_of(evaluate(answered({gold: told}), database=database, options=NO_INTERVALS, audit=True))
        assert sheet["kinds"].to_list() == ["every row ties"]
    told = ["SELECT 'Wolf'", "SELECT 'Wolf'", "SELECT 'Wolf'", "SELECT 'Lion'"]
    (row,) = sheet_of(evaluate(answered({gold: told}), database=database, options=NO_INTERVALS, audit=True)).to_dicts()
    assert "3 of 4 predictions, of 3 systems, agree on another answer (Wolf)" in row["evidence"]


def test_one_system_is_no_agreement(database: Path) -> None:
    """The same system twice, or nobody knows who said it."""
    records = [{"id": str(n), "gold": WRONG, "prediction": RIGHT, "model": "one"} for n in range(4)]
    assert len(sheet_of(evaluate(records, database=database, options=NO_INTERVALS, audit=True))) == 0
    nameless = [{"id": str(n), "gold": WRONG, "prediction": RIGHT} for n in range(4)]
    result = evaluate(nameless, database=database, options=NO_INTERVALS, audit=True)
    assert len(sheet_of(result)) == 0
    assert "no column tells systems apart" in result.tables()[-1].notes[-1]


def test_the_column_of_systems(database: Path) -> None:
    records = answered({WRONG: [RIGHT] * 4}, column="who")
    assert len(sheet_of(evaluate(records, database=database, options=NO_INTERVALS, audit=True))) == 0
    told = evaluate(records, database=database, options=NO_INTERVALS, audit=True, systems="who")
    assert sheet_of(told)["kinds"].to_list() == ["contradicted"]
    with pytest.raises(InputError, match="systems"):
        evaluate(records, database=database, options=NO_INTERVALS, audit=True, systems="whom")
    samples = [{**record, "id": "q", "sample": record["who"]} for record in records]
    assert len(sheet_of(evaluate(samples, database=database, options=NO_INTERVALS, audit=True))) == 1


def test_a_faithful_run_that_doubts(database: Path, tmp_path: Path) -> None:
    pairs = [{"id": "q0", "query": "SELECT name FROM animal WHERE age > 5", "sentence": "Which animals are younger than 5?"},
             {"id": "q1", "query": "SELECT name FROM animal", "sentence": "What are the names of all animals?"}]  # fmt: skip
    run = sensecheck.faithful.evaluate(pairs, out=tmp_path / "faithful", options=NO_INTERVALS)
    assert run.measurements["consistent"].to_list() == [False, True]
    golds = [str(pair["query"]) for pair in pairs]
    for given in (tmp_path / "faithful", run):
        sheet = sheet_of(audited(database, *golds, faithful=given))
        assert sheet["gold"].to_list() == golds[:1] and sheet["kinds"].to_list() == ["unfaithful"]
        assert "the faithful run doubts it (" in sheet["evidence"][0]
    with pytest.raises(InputError, match="a run of sensecheck faithful"):
        audited(database, *golds, faithful=audited(database, *golds))
    strange = [{"id": "elsewhere", "gold": golds[1], "prediction": golds[1]}]
    result = evaluate(strange, database=database, options=NO_INTERVALS, audit=True, faithful=run)
    assert any("doubts no id of this file" in note for note in result.notes)
    with pytest.raises(
        InputError, match=r"a run over the same queries.*under the id 'q0'.*got 'SELECT name FROM animal WHERE"
    ):
        audited(database, golds[1], faithful=run)  # the same id, another query


def test_a_limit_that_cuts_nothing_is_no_finding(database: Path) -> None:
    golds = [
        "SELECT name FROM animal LIMIT -1",
        "SELECT name FROM animal LIMIT 1000",
        "SELECT name FROM animal LIMIT 1",
    ]
    sheet = sheet_of(audited(database, *golds))
    assert [
        gold for gold, kinds in zip(sheet["gold"], sheet["kinds"], strict=True) if "LIMIT without" in kinds
    ] == golds[2:]


def test_figures_are_the_same_with_and_without(database: Path) -> None:
    records = answered({WRONG: [RIGHT, WRONG, RIGHT, "nonsense"], "SELECT 1": ["SELECT 1"] * 4})
    plain = evaluate(records, database=database, options=NO_INTERVALS)
    looked_at = evaluate(records, database=database, options=NO_INTERVALS, audit=True)
    assert [f.to_dict() for f in plain.figures] == [f.to_dict() for f in looked_at.figures]
    assert plain.signature == looked_at.signature


def test_the_sheet_as_a_file(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cells that a spreadsheet would run are marked; a question may be hostile."""
    records = answered({WRONG: [RIGHT] * 4})
    records[0]["question"] = "=HYPERLINK(1)\x1b[31m<script>alert(1)</script>"
    source = tmp_path / "records.jsonl"
    source.write_text("\n".join(map(json.dumps, records)))
    command = ["correct", str(source), "--database", str(database), "--resamples", "50", "--audit"]
    assert main([*command, "--audit-out", str(tmp_path / "sheet.csv"), "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    assert "golds that may be wrong: 1 of 1 golds have findings" in shown
    assert "1. SELECT count(*) FROM animal" in shown and "– contradicted: 4 of 4" in shown and "\x1b" not in shown
    with (tmp_path / "sheet.csv").open(newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert list(row) == list(COLUMNS) and row["label"] == ""
    assert row["question"].startswith("'=HYPERLINK")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "golds that may be wrong" in page and "<script>alert(1)" not in page
    saved = load(tmp_path / "run")
    assert saved.tables()[-1].title.startswith("golds that may be wrong")
    write_sheet(sheet_of(saved), tmp_path / "sheet.jsonl")
    (line,) = (tmp_path / "sheet.jsonl").read_text().splitlines()
    assert json.loads(line)["question"].startswith("=HYPERLINK") and json.loads(line)["rank"] == 1
    assert main(["report", str(tmp_path / "run")]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"audit": True, "database": None}, "it needs --database"),
        ({"systems": "model"}, "it needs --audit"),
        ({"audit": True, "parity": "spice"}, "has no meaning with --as spice"),
        ({"ties": "strict", "parity": "spice"}, "has no meaning with --as spice"),
        ({"faithful": "nowhere"}, "it needs --audit"),
        ({"audit_out": "sheet.xlsx"}, "ends in .csv or .jsonl"),
        ({"audit_out": "no/such/folder/sheet.csv"}, "Make the folder"),
    ],
)
def test_what_is_refused(database: Path, options: dict[str, Any], message: str) -> None:
    records = [{"id": "1", "gold": "SELECT 1", "prediction": "SELECT 1"}]
    with pytest.raises(InputError, match=message):
        evaluate(records, **{"database": database, "options": NO_INTERVALS, **options})


def test_a_run_without_an_audit_has_no_sheet(database: Path) -> None:
    result = evaluate(
        [{"id": "1", "gold": "SELECT 1", "prediction": "SELECT 1"}], database=database, options=NO_INTERVALS
    )
    with pytest.raises(InputError, match="no audit"):
        sheet_of(result)


def test_several_golds_missing_databases_and_bad_records(tmp_path: Path, database: Path) -> None:
    folder = tmp_path / "databases"
    folder.mkdir()
    database.rename(folder / "zoo.sqlite")
    records: list[dict[str, Any]] = [
        {"id": "1", "db_id": "zoo", "gold": ["SELECT name FROM keeper", "SELECT max(weight) FROM animal"],
         "prediction": "SELECT 1"},
        {"id": "2", "db_id": "nowhere", "gold": "SELECT 1", "prediction": "SELECT 1"},
        {"id": "3", "db_id": "zoo", "gold": 7, "prediction": "SELECT 1"},
    ]  # fmt: skip
    result = evaluate(records, database=folder, options=NO_INTERVALS, audit=True, skip_bad=True)
    assert sheet_of(result)["kinds"].to_list() == ["number as text", "duplicates"]


def test_a_resumed_run_sees_all_golds(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sensecheck.correct.records.BATCH_RECORDS", 2)
    records = answered({WRONG: [RIGHT] * 4, "SELECT name FROM keeper": ["SELECT 1"] * 4})

    def stop(rows: int) -> None:
        stop.left -= rows  # type: ignore[attr-defined]
        if stop.left < 0:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    stop.left = 4  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        evaluate(records, database=database, options=NO_INTERVALS, audit=True, out=tmp_path / "run", progress=stop)
    with pytest.raises(RunError, match="audit"):
        evaluate(records, database=database, options=NO_INTERVALS, out=tmp_path / "run", resume=True)
    again = evaluate(records, database=database, options=NO_INTERVALS, audit=True, out=tmp_path / "run", resume=True)
    whole = evaluate(records, database=database, options=NO_INTERVALS, audit=True)
    assert sheet_of(again).equals(sheet_of(whole)) and len(sheet_of(again)) == 2


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "zoo.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE animal (name VARCHAR, weight VARCHAR)")
    connection.execute("INSERT INTO animal VALUES ('Rex', '95'), ('Leo', '120'), ('Zed', '310')")
    connection.close()
    assert kinds(path, "SELECT name FROM animal ORDER BY weight DESC LIMIT 1") == {"number as text"}
    assert kinds(path, "SELECT weight FROM animal WHERE name = 'rex'") == {"literal nearly there", "empty"}


@pytest.mark.parametrize(
    "text", ["", "(" * 4000, "SELECT " + "a+" * 3000 + "a", "\x00\ud800", "SELECT 1; SELECT 2", "'"]
)
def test_hostile_golds(database: Path, text: str) -> None:
    outline_of(text, Schema(), "sqlite")
    schema_of(Answer(["name", "sql"], [("t", text), (None, None), ("t", "CREATE TABLE t (a")]), "sqlite")
    result = audited(database, text or " ", "SELECT name FROM keeper")
    assert "SELECT name FROM keeper" in sheet_of(result)["gold"].to_list()


def test_every_kind_has_a_weight_with_a_reason() -> None:
    assert all(0 < weight.weight < 1 and weight.why for weight in WEIGHTS.values())
    assert score_of([]) == 0 and score_of([0.95] * 9) < 1
    assert len(CHECKS) == len(set(CHECKS))


@pytest.mark.golden
def test_real_golds(shared: Path) -> None:
    """Both golds that were judged wrong by hand are among the first thirty."""
    folder = shared / "data" / "sql"
    result = evaluate(
        folder / "predictions.jsonl.gz",
        database=folder / "databases",
        options=NO_INTERVALS,
        normalise=False,
        audit=True,
    )
    assert result.extra["audit"]["golds"] == 533 and result.extra["audit"]["systems"] == "model"
    first = " ".join(sheet_of(result)["ids"].to_list()[:30]).split()
    assert {"codex:687", "chatgpt:943"} <= set(first)
