"""TEXT2SPARQL'25: nine real systems, their official scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.correct import evaluate
from sensecheck.correct.answer_sets import flat_relevant
from sensecheck.correct.measure import Choices, cut_of
from sensecheck.language.sparql import parse
from sensecheck.language.sparql.total_order import text_in_total_order
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer

# What the official server answered cannot be had from the published graph: why, query by query. docs/correct.md
# lists the same.
EXPLAINED = {
    "INFAI ck25:30-en": "the official run scored 0; the published graph holds the departments it asks for",
    "INFAI ck25:31-en": "the official run retrieved 12 values fewer than the published graph gives",
    "INFAI ck25:42-en": "the official server found another bill of material with the highest average",
    "INFAI ck25:43-en": "`<` between IRIs is an error in SPARQL 1.1; the official server orders them",
    "INFAI ck25:48-en": "the official run retrieved one of the three bills of material",
    "INFAI ck25:50-en": "two departments tie for LIMIT 1; the official run shows the one whose name comes last",
}
TIED = {"INFAI ck25:50-en"}
pytestmark = pytest.mark.xdist_group("text2sparql")  # the queries run once


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "sparql" / "ck25"


@pytest.fixture(scope="module")
def records(folder: Path) -> list[dict[str, Any]]:
    pairs = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    published = json.loads((folder / "ck25_true_result_set.json").read_text())
    return [
        {
            "id": f"{pair['system']} {pair['qname']}",
            "prediction": pair["pred"],
            "gold": pair["gold"],
            "results": [value for value, relevance in published[pair["qname"]].items() if relevance > 0],
            "model": pair["system"],
            "question_id": pair["qname"],
            "official": pair["official_set_F"],
        }
        for pair in pairs
    ]


@pytest.fixture(scope="module")
def result(records: list[dict[str, Any]], folder: Path) -> Result:
    return evaluate(
        records,
        graph=[folder / "prod-inst.ttl", folder / "prod-vocab.ttl"],
        conventions=["text2sparql"],
        slices=["model"],
        normalise=False,
        options=IntervalOptions(replicates=200),
    )


@pytest.fixture(scope="module")
def scores(result: Result, records: list[dict[str, Any]]) -> pl.DataFrame:
    frame = result.measurements.with_columns(pl.Series("official", [record["official"] for record in records]))
    low, high = (pl.col(f"text2sparql_{end}").fill_null(pl.col("text2sparql")) for end in ("low", "high"))
    return frame.with_columns(
        equal=(pl.col("text2sparql") - pl.col("official")).abs() < 1e-9,
        within=(low - 1e-9 <= pl.col("official")) & (pl.col("official") <= high + 1e-9),
    )


@pytest.mark.golden
def test_official_scores(scores: pl.DataFrame) -> None:
    assert len(scores) == 440
    print(f"\n{scores['equal'].sum()} of 440 scores equal; {scores['within'].sum()} equal or among the tied")
    assert scores["equal"].sum() >= 430
    assert set(scores.filter(~pl.col("equal"))["id"]) == set(EXPLAINED)
    assert set(scores.filter(~pl.col("within"))["id"]) == set(EXPLAINED) - TIED


@pytest.mark.golden
def test_ranges_are_honest(scores: pl.DataFrame, result: Result) -> None:
    """A range is given only where LIMIT leaves a choice, and holds the score itself."""
    known = scores.filter(pl.col("text2sparql_low").is_not_null())
    assert known.select(
        (
            (pl.col("text2sparql_low") <= pl.col("text2sparql")) & (pl.col("text2sparql") <= pl.col("text2sparql_high"))
        ).all()
    ).item()
    wide = known.filter(pl.col("text2sparql_high") > pl.col("text2sparql_low"))
    assert 0 < len(wide) < 60
    assert all("LIMIT" in text.upper() for text in wide.join(result.examples(), on="id")["prediction"])
    assert result.extra["text2sparql"]["tied"] == len(wide)
    assert any(note.startswith(f"{len(wide)} of 440 examples have no single set-F") for note in result.notes)


@pytest.mark.golden
def test_nine_systems_in_one_table(scores: pl.DataFrame, result: Result) -> None:
    rows = [figure for row in result.slices("model") for figure in row if figure.name == "text2sparql"]
    assert len(rows) == 9
    official = dict(scores.group_by("model").agg(pl.col("official").mean()).iter_rows())
    for figure in rows:
        name = str(figure.slice["model"])
        print(f"{name:12} {figure.n:3} {figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}] {official[name]:.3f}")
        assert figure.value == pytest.approx(official[name], abs=0.03)
        assert figure.low <= figure.value <= figure.high


@pytest.mark.golden
def test_nine_runs_compared_by_command(
    records: list[dict[str, Any]], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = sorted({record["model"] for record in records})
    graph = [part for name in ("prod-inst.ttl", "prod-vocab.ttl") for part in ("--graph", str(folder / name))]
    asked = {record["question_id"]: {**record, "id": record["question_id"], "prediction": None} for record in records}
    for system in systems:
        # Two systems left five questions out: no prediction, so that all nine are measured on the same fifty.
        own = {record["question_id"]: record["prediction"] for record in records if record["model"] == system}
        rows = [{**record, "prediction": own.get(name)} for name, record in asked.items()]
        (tmp_path / f"{system}.json").write_text(json.dumps(rows))
        command = ["correct", str(tmp_path / f"{system}.json"), *graph, "--convention", "text2sparql"]
        options = ["--no-normalise", "--resamples", "200", "--cache", str(tmp_path / "answers.db")]
        assert main([*command, *options, "--system", system, "--out", str(tmp_path / system)]) == 0
    capsys.readouterr()
    assert main(["compare", *(str(tmp_path / system) for system in systems)]) == 0
    shown = capsys.readouterr().out
    assert all(system in shown for system in systems)
    summary = json.loads((tmp_path / "LACODAM" / "summary.json").read_text())
    assert any("have no single set-F" in note for note in summary["notes"])


def test_false_ask_has_nothing_relevant() -> None:
    assert flat_relevant(Answer(boolean=False)) == set()
    assert flat_relevant(Answer(boolean=True)) == {"true"}


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT ?a (1 AS ?b) { ?a ?p ?o } LIMIT 3", "SELECT ?a (1 AS ?b) { ?a ?p ?o } ORDER BY ?a ?b LIMIT 3"),
        ("SELECT ?a { ?a ?p ?o } ORDER BY DESC(?o) OFFSET 2 LIMIT 3",
         "SELECT ?a { ?a ?p ?o } ORDER BY DESC(?o) ?a OFFSET 2 LIMIT 3"),
        ("SELECT ?a { { SELECT ?a { ?a ?p ?o } LIMIT 9 } } LIMIT 1 VALUES ?a { 1 }",
         "SELECT ?a { { SELECT ?a { ?a ?p ?o } LIMIT 9 } } ORDER BY ?a LIMIT 1 VALUES ?a { 1 }"),
    ],
)  # fmt: skip
def test_ties_in_the_order_of_their_values(query: str, ordered: str) -> None:
    made = text_in_total_order(parse(query))
    assert made is not None
    assert parse(made).query == parse(ordered).query


@pytest.mark.parametrize("query", ["ASK { ?s ?p ?o }", "SELECT ?s { ?s ?p ?o }", "no query", "SELECT ?s { ?s ?p ?o"])
def test_what_cuts_nothing_is_left_alone(query: str) -> None:
    assert cut_of(query, Choices()) is None


def test_ties_and_ranges_on_a_small_graph(tmp_path: Path) -> None:
    graph = tmp_path / "g.nt"
    graph.write_text(
        "".join(f'<http://e/{name}> <http://e/size> "{size}" .\n' for name, size in zip("abcd", "2111", strict=True))
    )
    one = "SELECT ?x { ?x <http://e/size> ?n } ORDER BY ?n LIMIT 1"
    shown = "SELECT ?x ?n { ?x <http://e/size> ?n } ORDER BY ?n LIMIT 1"
    rows = [
        {"prediction": one, "results": ["http://e/b"]},
        {"prediction": shown, "results": ["http://e/d", "1"]},
        {"prediction": shown.replace("LIMIT 1", "LIMIT 4"), "results": ["http://e/d", "1"]},
        {"prediction": "SELECT ?x {", "results": ["http://e/d"]},
        {"prediction": shown, "gold": shown},
    ]
    result = evaluate(rows, graph=graph, conventions=["text2sparql"], workers=1)
    found = result.measurements.select("text2sparql", "text2sparql_low", "text2sparql_high").rows()
    assert found[0] == (1.0, None, None)  # sorted by what is not shown
    assert found[1] == (0.5, 0.5, 1.0)  # b is shown, d might be
    assert found[2][0] == found[2][1] == found[2][2]
    assert found[3] == (0.0, 0.0, 0.0)
    assert found[4] == (1.0, 0.5, 1.0)
    assert [note for note in result.notes if "have no single set-F" in note]
