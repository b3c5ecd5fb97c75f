"""From files to figures, through Python and through the command."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck._version import __version__
from sensecheck.cli import main
from sensecheck.correct import evaluate, question_types
from sensecheck.correct.answer_sets import Overlap, count_of, overlap, verdict_of
from sensecheck.correct.examples import example_page
from sensecheck.correct.figures import statistics
from sensecheck.correct.ties import EVERY_ROW_TIES
from sensecheck.inputs.errors import InputError
from sensecheck.report.result import load
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer, Limits, StoreError, Term

NO_INTERVALS = IntervalOptions(method="none")
QUICK = Limits(seconds=1.0)
WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A small world: Q1…Q4 border Q9; Q1 is a city of 5 people."""
    path = tmp_path / "kg.nt"
    lines = [f"<{WD}Q{i}> <{WDT}P47> <{WD}Q9> ." for i in range(1, 5)]
    lines += [f'<{WD}Q1> <{WDT}P1082> "5"^^<{XSD}integer> .', f'<{WD}Q1> <{WDT}P1> "AC/DC" .']
    path.write_text("\n".join(lines) + "\n")
    return path


def spice(**changes: Any) -> dict[str, Any]:
    record = {
        "question_type": "Simple Question (Direct)",
        "description": "Simple Question|Single Entity",
        "question": "Which countries border Q9?",
        "answer": "four of them",
        "actions": "SELECT ?x WHERE { ?x wdt: P47 wd: Q9 . }",
        "results": ["Q1", "Q2", "Q3", "Q4"],
        "sparql_delex": "SELECT ?x WHERE { ?x wdt: P47 wd: Q9 . }",
        "turnID": "test#QA_1#QA_1#0",
    }
    return {**record, **changes}


def figures(result: Any) -> dict[str, float]:
    return {figure.name: figure.value for figure in result.figures}


def one(record: dict[str, Any], graph: Path, **options: Any) -> dict[str, Any]:
    result = evaluate([record], graph=graph, options=NO_INTERVALS, limits=QUICK, workers=1, **options)
    return result.measurements.to_dicts()[0]


# ---- what a user expects where the original does otherwise


def test_over_generation_is_punished(graph: Path) -> None:
    row = one(spice(results=["Q1"]), graph)
    assert row["precision"] == 0.25
    assert row["recall"] == 1
    assert row["correct"] is False


def test_a_null_prediction_matches_nothing(graph: Path) -> None:
    records = [spice(), spice(actions=None, turnID="test#QA_1#QA_1#1")]
    result = evaluate(records, graph=graph, options=NO_INTERVALS, workers=1)
    rows = result.measurements
    assert rows["em"].to_list() == [True, False]
    assert rows["outcome"].to_list() == ["answered", "no prediction"]
    assert result["accuracy"].value == 0.5


def test_an_ask_for_a_count_is_wrong_and_nothing_breaks(graph: Path) -> None:
    kind = question_types.COUNT_TYPES[0]
    row = one(spice(question_type=kind, answer="4", actions="ASK { ?x wdt:P47 wd:Q9 }"), graph)
    assert row["correct"] is False
    assert row["outcome"] == "answered"


def test_rows_for_a_count_are_counted_once_and_flagged(graph: Path) -> None:
    kind = question_types.COUNT_TYPES[0]
    query = "SELECT ?y WHERE { ?x wdt:P47 ?y }"
    row = one(spice(question_type=kind, answer="1", actions=query), graph)
    assert row["correct"] is True
    assert row["counted_rows"] is True
    number = one(spice(question_type=kind, answer=4, actions="SELECT (COUNT(*) AS ?n) { ?x wdt:P47 ?y }"), graph)
    assert number["correct"] is True
    assert number["counted_rows"] is False


def test_nothing_against_nothing_is_right_and_marked(graph: Path) -> None:
    nothing = "SELECT ?x WHERE { ?x wdt: P47 wd: Q1 . }"
    row = one(spice(results=[], actions=nothing), graph)
    assert (row["f1"], row["f1_spice"], row["vacuous"], row["correct"]) == (1.0, 0.0, True, True)
    failed = one(spice(results=[], actions="SELECT"), graph)
    assert (failed["f1"], failed["correct"], failed["outcome"]) == (0.0, False, "syntax")


@pytest.mark.parametrize(
    ("answer", "correct"), [("YES", True), ("yes", True), ("NO", False), ("YES and NO respectively", False)]
)
def test_yes_and_no(graph: Path, answer: str, correct: bool) -> None:
    row = one(
        spice(question_type=question_types.BOOLEAN_TYPE, answer=answer, actions="ASK { wd:Q1 wdt:P47 wd:Q9 }"), graph
    )
    assert row["correct"] is correct


def test_failures_are_named(graph: Path) -> None:
    cases = {
        "SELECT ?x WHERE { ?x wdt:P47 }": "syntax",
        "SELECT ?x WHERE { ?x nope:P47 ?y }": "unknown prefix",
        "DROP ALL": "refused",
        "SELECT ?x WHERE { SERVICE <http://e/> { ?x ?p ?o } }": "refused",
        "": "syntax",
    }
    for query, outcome in cases.items():
        assert one(spice(actions=query), graph)["outcome"] == outcome, query


def test_multi_column_answers_are_compared_as_rows(graph: Path) -> None:
    gold = "SELECT ?x ?y WHERE { ?x wdt:P47 ?y }"
    turned = "SELECT ?b ?a WHERE { ?a wdt:P47 ?b }"
    row = one({"id": "1", "gold": gold, "prediction": turned}, graph)
    assert row["correct"] is True
    other = one(
        {"id": "1", "gold": gold, "prediction": "SELECT ?x ?x2 WHERE { ?x wdt:P47 ?y . ?x2 wdt:P47 ?y }"}, graph
    )
    assert other["correct"] is False


def test_a_gold_that_fails_is_unscored(graph: Path) -> None:
    result = evaluate(
        [
            {"id": "1", "gold": "SELECT broken", "prediction": "ASK { ?s ?p ?o }"},
            {"id": "2", "gold": "ASK {?s ?p ?o}", "prediction": "ASK { ?s ?p ?o }"},
        ],
        graph=graph, options=NO_INTERVALS, workers=1,
    )  # fmt: skip
    assert result.measurements["reason"].to_list() == ["gold query: syntax", None]
    assert result["accuracy"].n == 1
    assert result["accuracy"].unscored_total == 1


def test_over_a_limit(graph: Path) -> None:
    product = "SELECT (COUNT(*) AS ?n) WHERE { " + " . ".join(f"?a{i} ?b{i} ?c{i}" for i in range(14)) + " }"
    assert one(spice(actions=product), graph)["outcome"] == "timeout"


# ---- slices


def test_slices_and_means(graph: Path, tmp_path: Path) -> None:
    kind = "Logical Reasoning (All)"
    wrong = "SELECT ?x WHERE { ?x wdt: P47 wd: Q8 . }"
    records = [
        spice(question_type=kind, description="Logical|Union|Multiple_Relation", turnID="t#a#0"),
        *(
            spice(
                question_type=kind, description="Logical|Difference|Multiple_Relation", actions=wrong, turnID=f"t#a#{i}"
            )
            for i in (1, 2, 3)
        ),
    ]
    distances = tmp_path / "d.log"
    distances.write_text("t#a#0\t1\twhat\nt#a#1\t3\twhat\n\nt#a#2\t0\n")
    result = evaluate(
        records, graph=graph, distances=distances, options=NO_INTERVALS, slices=["multi_entity", "context", "triples"]
    )
    assert result["em"].value == 0.25
    assert result["em_unweighted"].value == 0.5
    contexts = {row[0].slice["context"]: row[0].n for row in result.slices("context")}
    assert contexts == {"Ctx=-1": 1, "Ctx<-1": 1, "Ctx=0": 1, "none": 1}
    multi = {row[0].slice["multi_entity"]: row for row in result.slices("multi_entity")}
    assert list(multi) == ["yes"]
    assert {row[0].slice["triples"] for row in result.slices("triples")} == {"1"}
    assert set(result.measurements["cluster"]) == {"t#a"}


SPICE_SLICES = [("question_type",), ("subtype",), ("context",), ("ellipsis",), ("multi_entity",)]


def test_spice_records_have_spice_slices_however_they_come(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [spice(turnID=f"test#QA_{i}#0", question_type=f"type {i % 3}") for i in range(9)]
    file, packed, table = tmp_path / "p.json", tmp_path / "p.json.gz", tmp_path / "p.parquet"
    file.write_text(json.dumps(records))
    packed.write_bytes(gzip.compress(file.read_bytes()))
    pl.DataFrame(records).write_parquet(table)
    whole = evaluate(file, options=NO_INTERVALS)
    assert list(whole.estimates.slices) == SPICE_SLICES
    for data in (str(file), packed, table, records, pl.DataFrame(records)):
        assert evaluate(data, options=NO_INTERVALS).to_dict()["slices"] == whole.to_dict()["slices"]
    assert main(["correct", str(file), "--no-ci", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["slices"] == whole.to_dict()["slices"]
    # Who says what to slice by gets that, and nothing else.
    assert list(evaluate(file, slices=["context"], options=NO_INTERVALS).estimates.slices) == [("context",)]
    assert not evaluate(file, slices=(), options=NO_INTERVALS).estimates.slices
    others = [{"prediction": "ASK {}", "gold": "ASK {}", "question_type": "a"}]
    assert not evaluate(others, options=NO_INTERVALS).estimates.slices


def test_a_stored_run_shows_the_slices_that_were_asked_for(tmp_path: Path) -> None:
    records = [{"id": i, "prediction": "a", "gold": "a", "question_type": f"t{i % 2}", "level": "x"} for i in range(8)]
    result = evaluate(records, slices=["level"], out=tmp_path / "run", options=NO_INTERVALS)
    assert list(result.estimates.slices) == list(load(tmp_path / "run").estimates.slices) == [("level",)]
    assert "By question type" in (tmp_path / "run" / "report.html").read_text()


# ---- input


@pytest.mark.parametrize("way", ["file", "stream"])
def test_a_stream_is_measured_as_a_file_is(tmp_path: Path, way: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": 1, "prediction": "select t.a from x as t", "gold": "SELECT a FROM x"}\n')
    with path.open("rb") as stream:
        result = evaluate(path if way == "file" else stream, options=NO_INTERVALS)
    assert result.signature.method["language"] == "sql"
    assert (result["em"].value, result["em_normalised"].value) == (0, 1)


def test_columns_by_other_names(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text('mine,theirs,level\n"SELECT ?x { ?x ?p 1 }","SELECT ?y { ?y ?q 1 }",easy\n')
    result = evaluate(path, columns={"prediction": "mine", "gold": "theirs"}, slices=["level"], options=NO_INTERVALS)
    assert result["em_normalised"].value == 1
    assert result["em"].value == 0
    table = pl.DataFrame({"prediction": ["a"], "gold": ["A"]})
    assert evaluate(table, options=NO_INTERVALS, language="sparql")["em"].value == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '[{"question_type": "x", "results": []}]',
            r"p\.json: record 1: prediction: expected a field for the prediction",
        ),
        ('[{"actions": 5, "results": []}]', r"p\.json: record 1: actions: expected text, got 5"),
        ('[{"actions": "a"}]', r"p\.json: record 1: expected a gold query or a gold answer, got neither"),
        ('[{"actions": "a", "results": 7}]', r"results: expected a list of answers, got 7"),
        ('["text"]', r"record 1: expected an object, got 'text'"),
        ("[1, 2", r"p\.json:1: expected a JSON list of records, got a document that ends too early"),
        ("[]", r"there are no records"),
        ('"x"', r"expected a JSON list of records"),
    ],
)
def test_bad_records_get_one_message(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        evaluate(path, options=NO_INTERVALS)


def test_bad_records_can_be_counted(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"actions": "a", "sparql_delex": "A"}\n{"actions": 3, "sparql_delex": "b"}\nnot json\n')
    with pytest.raises(InputError, match=r"p\.jsonl"):
        evaluate(path, options=NO_INTERVALS)
    result = evaluate(path, options=NO_INTERVALS, skip_bad=True, language="sparql")
    assert result["em"].n == 1
    assert result["em"].unscored_total == 2


def test_distances_need_a_tab(tmp_path: Path) -> None:
    path = tmp_path / "d.log"
    path.write_text("test#QA_81#QA_16#2      2       Which\n")
    with pytest.raises(InputError, match=r"d\.log:1: expected turnID, TAB, distance"):
        evaluate([spice()], distances=path)


def test_one_store_at_a_time(graph: Path) -> None:
    with pytest.raises(InputError, match="one place"):
        evaluate([spice()], graph=graph, endpoint="http://localhost/")
    with pytest.raises(InputError, match="conventions"):
        evaluate([spice()], conventions=["brid"])
    with pytest.raises(InputError, match="SPARQL"):
        evaluate([spice()], conventions=["bird"])


# ---- SQL


@pytest.fixture
def databases(tmp_path: Path) -> Path:
    folder = tmp_path / "dbs"
    for name, rows in (("shop", [(1, "a"), (2, "b")]), ("neighbour", [(1, "a"), (2, "b"), (3, "b")])):
        (folder / "shop").mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(folder / "shop" / f"{name}.sqlite") as connection:
            connection.execute("CREATE TABLE item (id INTEGER, name TEXT)")
            connection.executemany("INSERT INTO item VALUES (?, ?)", rows)
        connection.close()
    return folder


def test_sql_is_right_on_every_database_or_not_at_all(databases: Path) -> None:
    records = [
        {"id": "1", "gold": "SELECT name FROM item", "pred": "select t.name from item as t", "db_id": "shop"},
        {"id": "2", "gold": "SELECT DISTINCT name FROM item", "pred": "SELECT name FROM item", "db_id": "shop"},
        {"id": "3", "gold": "SELECT id, name FROM item", "pred": "SELECT name, id FROM item", "db_id": "shop"},
        {"id": "4", "gold": "SELECT id FROM item", "pred": "DROP TABLE item", "db_id": "shop"},
        {"id": "5", "gold": "SELECT id FROM item", "pred": "SELECT id FROM item", "db_id": "nowhere"},
    ]
    conventions = ["test-suite", "test-suite-keep-distinct", "bird"]
    result = evaluate(records, database=databases, conventions=conventions, options=NO_INTERVALS)
    rows = result.measurements
    assert rows["correct"].to_list() == [True, False, True, False, None]
    assert rows["test_suite"].to_list() == [True, True, True, False, None]
    assert rows["bird"].to_list() == [True, True, False, False, None]
    assert rows["em_normalised"].to_list()[:3] == [True, False, False]
    assert rows["outcome"].to_list()[3] == "refused"
    assert rows["reason"].to_list()[4] == "no such database"
    assert sqlite3.connect(databases / "shop" / "shop.sqlite").execute("SELECT count(*) FROM item").fetchone() == (2,)


@pytest.mark.golden
def test_six_systems_in_one_table(shared: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = shared / "data" / "sql"
    few = tmp_path / "few.jsonl"
    with gzip.open(data / "predictions.jsonl.gz", "rt") as stream:
        lines = [line for line in stream if json.loads(line)["db_id"] in ("concert_singer", "pets_1")]
    few.write_text("".join(lines))
    code = main(
        ["correct", str(few), "--database", str(data / "databases"), "--slice", "model", "--convention", "bird",
         "--resamples", "100", "--no-normalise"]
    )  # fmt: skip
    shown = capsys.readouterr().out
    assert code == 0
    for model in ("chatgpt", "codex", "c3_chatgpt", "din_gpt4", "gpt4_few", "gpt4_zero"):
        assert model in shown
    assert "BIRD execution accuracy" in shown
    result = evaluate(few, database=data / "databases", conventions=["bird"], options=NO_INTERVALS, normalise=False)
    assert result["bird"].value == pytest.approx(sum(json.loads(line)["bird"] for line in lines) / len(lines))


# ---- the golden set, end to end


@pytest.mark.golden
def test_golden_end_to_end(golden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = golden / "correct"
    out = tmp_path / "run"
    arguments = [
        "correct", str(folder / "preds" / "*.json"), "--graph", str(folder / "kg.nt"),
        "--distances", str(folder / "context_distance.log"), "--timeout", "2", "--resamples", "50", "--out", str(out),
    ]  # fmt: skip
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    for words in ("by question_type", "by subtype", "by context", "by ellipsis", "by multi_entity", "Ctx<-1"):
        assert words in shown
    result = load(out)
    assert result["em"].value == pytest.approx(338 / 705)
    assert result["em_normalised"].value == pytest.approx(451 / 705)
    assert 0.70 < result["accuracy"].value < 0.75  # type: ignore[operator]
    kinds = {row[0].slice["question_type"]: row for row in result.slices("question_type")}
    assert len(kinds) == 10
    page = (out / "report.html").read_text()
    assert "Comparative Reasoning" in page
    # The same again from the cache, and resuming a finished run changes nothing.
    assert (out / "answers.db").exists()
    again = evaluate(
        str(folder / "preds" / "*.json"), graph=folder / "kg.nt", distances=folder / "context_distance.log",
        limits=Limits(seconds=2), cache=out / "answers.db", options=NO_INTERVALS,
    )  # fmt: skip
    ours = {f.name: f.value for f in result.figures}
    assert figures(again) == pytest.approx(ours, nan_ok=True, abs=0)


@pytest.mark.golden
def test_as_spice_for_all_types_at_once(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = golden / "correct"
    result = evaluate(
        str(folder / "preds" / "*.json"), parity="spice", graph=folder / "kg.nt",
        distances=folder / "context_distance.log",
    )  # fmt: skip
    for kind in question_types.QUESTION_TYPES:
        want = json.loads((folder / "expected" / "endpoint" / "json" / f"{kind}.json").read_text())
        for bucket, values in want.items():
            label = bucket if bucket.startswith(kind) else f"{kind}/{bucket}"
            for name, value in values.items():
                if name != "instances":
                    assert result[f"{label}/{name}"].value == pytest.approx(value, abs=1e-12), (label, name)
                    assert result[f"{label}/{name}"].absent
    summary = json.loads((folder / "expected" / "endpoint" / "eval_summary.json").read_text())
    for name, value in summary.items():
        assert result[f"summary/{name}"].value == pytest.approx(value["em"], abs=1e-12)
    code = main(["correct", str(folder / "preds" / "*Clarification.json"), "--as", "spice"])
    assert code == 0
    assert "Clarification: exact match" in capsys.readouterr().out


def test_as_spice_says_where_the_original_fails(graph: Path) -> None:
    records = [spice(actions=None)]
    result = evaluate(records, parity="spice", graph=graph)
    figure = result["Simple Question (Direct)/em"]
    assert "pred_sparql" in figure.absent
    assert figure.unscored_total == 1


def test_as_spice_is_stored_and_resumed_as_any_run(graph: Path, tmp_path: Path) -> None:
    data, out = tmp_path / "p.json", tmp_path / "run"
    data.write_text(json.dumps([spice(), spice(actions="ASK {}")]))
    first = evaluate(data, parity="spice", graph=graph, out=out)
    again = evaluate(data, parity="spice", graph=graph, out=out, resume=True)
    assert load(out).to_dict() == again.to_dict() == first.to_dict()
    assert first.signature.short == f"correct|as:spice|execute:oxigraph|distances:none|version:{__version__}"
    assert first.name == "p.json"
    # Two records share an id; nothing is resampled, so that there is nothing to say of it.
    assert not first.notes


# ---- what a stranger may give


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.json", "", r"p\.json: there are no records"),
        ("p.jsonl", "\n\n", r"p\.jsonl: there are no records"),
        ("p.json", "{}", r"no field at all"),
        ("p.jsonl", '{"prediction": "a", "gold": "b"}\n\n{"prediction": "a", "gold": "b"}\n', r"p\.jsonl:2: is blank"),
    ],
)
def test_empty_things_get_one_message(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        evaluate(path)


@pytest.mark.parametrize(
    "text",
    [
        '{"prediction": "a", "gold": "a"}\n{"prediction": "a", "gold": "b"}\n\n\n',
        '{"records": [{"prediction": "a", "gold": "a"}, {"prediction": "a", "gold": "b"}], "by": "me"}',
        '{"x": {"prediction": "a", "gold": "a"}, "y": {"prediction": "a", "gold": "b"}}',
        '{\n"x": {"prediction": "a", "gold": "a"},\n"y": {"prediction": "a", "gold": "b"}}',
    ],
)
def test_records_wrapped_in_some_way(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    figure = evaluate(path, language="sparql", options=NO_INTERVALS)["em"]
    assert (figure.value, figure.n) == (0.5, 2)


def test_a_single_record_over_lines_is_a_record(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"prediction": "a", "gold": "a", "results": ["Q1"]}, indent=1))
    assert evaluate(path, options=NO_INTERVALS)["em"].n == 1


def test_when_no_gold_query_runs_nothing_is_scored(graph: Path) -> None:
    data = [{"prediction": "ASK {}", "gold": "SELEKT", "subtype": name} for name in "ab"]
    result = evaluate(data, graph=graph, options=NO_INTERVALS, workers=1)
    assert result["accuracy"].n == 0
    assert result["em_unweighted"].unscored == {"gold query: syntax": 2}


def test_a_folder_or_file_that_is_no_store(tmp_path: Path) -> None:
    data = [{"prediction": "ASK {}", "gold": "ASK {}"}]
    with pytest.raises(StoreError, match="holds no Oxigraph store"):
        evaluate(data, graph=tmp_path)
    (tmp_path / "shop.sqlite").write_text("this is no database, whatever its name may be")
    with pytest.raises(StoreError, match="neither an SQLite nor a DuckDB file"):
        evaluate(data, database=tmp_path)


# ---- resume, examples, explanations


def test_a_run_is_resumed_in_the_same_batches(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sensecheck.correct import records as module

    monkeypatch.setattr(module, "BATCH_RECORDS", 3)
    data = [spice(turnID=f"test#c{i}#0", actions=None if i % 3 else spice()["actions"]) for i in range(10)]
    whole = evaluate(data, graph=graph, options=NO_INTERVALS, out=tmp_path / "whole")
    assert whole.directory is not None
    assert len(list((tmp_path / "whole").glob("measurements-*.parquet"))) == 4
    reader = module.Reader(data)
    assert [r.id for batch in reader.batches(2) for r in batch] == [
        r.id for batch in list(reader.batches())[2:] for r in batch
    ]


def test_example_page_shows_both_queries_and_both_answers(graph: Path) -> None:
    wrong = "SELECT ?x WHERE { ?x wdt: P47 wd: Q8 . }"
    result = evaluate([spice(actions=wrong)], graph=graph, options=NO_INTERVALS, workers=1)
    (page,) = example_page(result.examples())
    parts = {part["label"]: part for part in page["parts"]}
    assert "wrong" in page["title"]
    assert ["Q9", "missing"] in parts["gold"]["spans"]
    assert ["Q8", "added"] in parts["prediction"]["spans"]
    assert parts["answers"]["rows"][0][0] == "Q1"
    assert "".join(text for text, _ in parts["prediction"]["spans"]) == wrong


def test_every_figure_explains_itself() -> None:
    for statistic in statistics({}):
        assert statistic.explanation is not None, statistic.name
        assert statistic.explanation.formula
        assert statistic.explanation.meaning
    assert main(["explain", "em_normalised"]) == 0


def test_comparison_of_two_systems(graph: Path, tmp_path: Path) -> None:
    good = [spice(turnID=f"t#c{i}#0") for i in range(30)]
    bad = [spice(turnID=f"t#c{i}#0", actions="ASK {}" if i % 2 else spice()["actions"]) for i in range(30)]
    a = evaluate(bad, graph=graph, system="bad")
    b = evaluate(good, graph=graph, system="good")
    difference = a.compare(b)["accuracy"]
    assert difference.better == "b"
    assert difference.difference == pytest.approx(0.5)


# ---- small parts


def test_conventions_for_nothing() -> None:
    nothing, declined, missed = Overlap(0, 0, 0), Overlap(0, 0, 3), Overlap(0, 2, 0)
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.f1_spice) == (1, 1, 1, 0)
    assert (declined.precision, declined.precision_qald, declined.recall, declined.f1) == (0, 1, 0, 0)
    assert (missed.precision, missed.recall, missed.f1) == (0, 0, 0)
    assert overlap({1, 2, 3}, {3, 4}) == Overlap(1, 1, 2)
    assert overlap({1, 2, 3}, {3, 4}).jaccard == 0.25


def test_numbers_and_verdicts() -> None:
    seven = Term("literal", "7.0", XSD + "decimal")
    assert count_of(Answer(["n"], [(seven,)])).value == 7
    assert count_of(Answer(["x"], [(Term("iri", "http://e/a"),)] * 3)).value == 1
    assert count_of(Answer(boolean=True)).value is None
    assert verdict_of(Answer(["b"], [(Term("literal", "true", XSD + "boolean"),)])) is True
    assert verdict_of(Answer(["b"], [(seven,)])) is None


def test_weight_and_cluster_by_column() -> None:
    rows = [
        {"id": i, "pred": "ASK {}" if i else "x", "gold": "ASK {}", "w": 3 if i else 1, "talk": "t"} for i in range(2)
    ]
    result = evaluate(rows, weight="w", cluster="talk", options=NO_INTERVALS)
    assert result["em"].value == 0.75
    assert set(result.measurements["cluster"]) == {"t"}
    with pytest.raises(InputError, match="at least 0"):
        evaluate([{**rows[0], "w": "heavy"}], weight="w", options=NO_INTERVALS)


def test_a_bad_weight_is_told_with_its_file_and_record(tmp_path: Path) -> None:
    for name, weight in (("a", 1), ("b", -2)):
        rows = [{"prediction": "x", "gold": "x", "w": 1}, {"prediction": "x", "gold": "y", "w": weight}]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"b\.jsonl: record 2: w: expected a weight of at least 0, got '-2'"):
        evaluate(str(tmp_path / "*.jsonl"), weight="w", options=NO_INTERVALS)


def test_a_bad_record_needs_no_weight() -> None:
    rows: list[dict[str, Any]] = [{"prediction": "x", "gold": "x", "w": 3}, {"prediction": 5, "gold": "x"}]
    result = evaluate(rows, weight="w", skip_bad=True, options=NO_INTERVALS)
    assert result["em"].value == 1
    assert result["em"].unscored == {"bad record: prediction of another kind": 1}


def test_the_demo_files(tmp_path: Path) -> None:
    """Larkhaven: SPARQL and SQL of two systems."""
    demo = pytest.importorskip("sensecheck.demo")
    for name in ("larkhaven_transit", "larkhaven_museums"):
        (tmp_path / name).mkdir()
        with sqlite3.connect(tmp_path / name / f"{name}.sqlite") as connection:
            connection.executescript(demo.path(f"{name}.sql").read_text(encoding="utf-8"))
        connection.close()
    sql = evaluate(demo.path("sql_b.jsonl.gz"), database=tmp_path, options=NO_INTERVALS, slices=["novelty"])
    assert sql["accuracy"].value >= sql["em"].value > 0.3  # type: ignore[operator]
    # Where every row ties at the LIMIT of a gold, nothing is decided.
    assert set(sql["accuracy"].unscored) == {EVERY_ROW_TIES}
    settled = evaluate(demo.path("sql_b.jsonl.gz"), database=tmp_path, options=NO_INTERVALS, ties="right")
    assert settled["accuracy"].unscored_total == 0
    a = evaluate(demo.path("sparql_a.jsonl.gz"), graph=demo.path("kg.nt"), slices=["phenomenon"], options=NO_INTERVALS)
    assert a["accuracy"].n == 294
    assert a["accuracy"].value >= a["em_normalised"].value >= a["em"].value > 0  # type: ignore[operator]
    assert a.measurements["cluster"].n_unique() == 49
    gold = evaluate(
        demo.path("sparql_a.jsonl.gz"), graph=demo.path("kg.nt"), columns={"prediction": "gold"}, options=NO_INTERVALS
    )
    assert gold["accuracy"].value == 1


@pytest.mark.golden
def test_gold_sparql_against_gold_is_always_right(golden: Path) -> None:
    folder = golden / "correct"
    records = json.loads((folder / "all_types.json").read_text())
    columns = {"prediction": "sparql_delex", "gold": "sparql_delex"}
    kg = folder / "kg.nt"
    result = evaluate(records, graph=kg, columns=columns, gold="query", options=NO_INTERVALS)
    for name in ("accuracy", "em", "em_normalised", "macro_f1", "micro_f1", "jaccard", "answered"):
        assert result[name].value == 1, name
    # A few of the listed answers are short of one entity, as real data are.
    listed = evaluate(records, graph=kg, columns=columns, gold="answers", options=NO_INTERVALS)
    assert listed["macro_recall"].value == 1
    assert listed["accuracy"].value > 0.98  # type: ignore[operator]


@pytest.mark.golden
def test_gold_sql_against_gold_is_always_right(shared: Path, tmp_path: Path) -> None:
    with gzip.open(shared / "data" / "sql" / "predictions.jsonl.gz", "rt") as stream:
        lines = [line for line in stream if line.startswith('{"id": "codex')]
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(lines))
    conventions = ["test-suite", "test-suite-keep-distinct", "bird"]
    databases = shared / "data" / "sql" / "databases"
    sql = evaluate(
        path, database=databases, columns={"prediction": "gold", "gold": "gold"}, conventions=conventions,
        options=NO_INTERVALS, normalise=False,
    )  # fmt: skip
    assert sql["accuracy"].n == 958 and sql["accuracy"].unscored == {EVERY_ROW_TIES: 14}
    assert sql["bird"].n == sql["test_suite"].n == 972
    for name in ("accuracy", "test_suite", "test_suite_keep_distinct", "bird", "em"):
        assert sql[name].value == 1, name


@pytest.mark.golden
def test_nine_systems_in_one_table(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared / "data" / "sparql" / "ck25"
    graphs = ["--graph", str(folder / "prod-inst.ttl"), "--graph", str(folder / "prod-vocab.ttl")]
    code = main(
        ["correct", str(folder / "predictions.jsonl"), *graphs, "--convention", "text2sparql", "--slice", "system",
         "--resamples", "50"]
    )  # fmt: skip
    shown = capsys.readouterr().out
    assert code == 0
    assert "TEXT2SPARQL set-F" in shown
    table = shown[shown.index("by system") :]
    for system in ("AIFB", "FRANZ", "IIS-L", "IIS-Q", "INFAI", "LABIC", "LACODAM", "MIPT", "WSE"):
        assert system in table
    assert "unscored: " not in shown, "every gold runs"


@pytest.mark.golden
def test_a_neighbour_database_unmasks_luck(shared: Path) -> None:
    """Test-suite style: a query that is right on one database by luck is wrong on its neighbour."""
    folder = shared / "data" / "sql"
    record = {
        "id": "1",
        "db_id": "concert_singer",
        "gold": "SELECT count(*) FROM singer",
        "pred": "SELECT 6",
    }
    lucky = evaluate([record], database=folder / "databases", options=NO_INTERVALS)
    tested = evaluate([record], database=folder / "suite", options=NO_INTERVALS)
    assert lucky["accuracy"].value == 1
    assert tested["accuracy"].value == 0
