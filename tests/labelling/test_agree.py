"""A verdict against people: figures by hand, the published κ of FLEX, weights, ties, and what cannot be weighed."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck import calibrated, correct, demo, diverse, robust
from sensecheck.cli import main
from sensecheck.correct.audit.sheet import sheet_of
from sensecheck.correct.audit.sheet import write_sheet as write_golds
from sensecheck.inputs.errors import InputError
from sensecheck.labelling.agreement import evaluate
from sensecheck.labelling.drawing import draw
from sensecheck.labelling.items import items_of
from sensecheck.labelling.matching import matched
from sensecheck.labelling.reading import read
from sensecheck.labelling.sheet import write_sheet
from sensecheck.models.generators import StoredStatements
from sensecheck.report.result import Result, load
from sensecheck.robust.audit import write_sheet as write_audit
from sensecheck.statistics.agreement import kappa
from sensecheck.statistics.figure import IntervalOptions

FLEX = Path(__file__).parents[3] / "shared" / "data" / "flex" / "agreement.jsonl"
NO_INTERVALS = IntervalOptions(method="none")


def measured(n: int = 400, **given: Any) -> Result:
    records = [
        {"id": f"q{i}", "confidence": 0.5, "correct": i % 5 > 0, "kind": "ab"[i % 2], "question": f"What is {i}?"}
        for i in range(n)
    ]
    return calibrated.evaluate(records, slices=["kind"], options=NO_INTERVALS, system="A", **given)


def labels_of(
    result: Result, folder: Path, said: Any, sample: int = 100, who: str = "anna", by: tuple[str, ...] = ()
) -> Path:
    """Labels of one person: said(id, verdict) gives each."""
    items = items_of(result, by)
    path = folder / f"{who}.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for row in draw(items, sample, by).iter_rows(named=True):
            label = said(row["id"], row["verdict"])
            told = {
                "sensecheck": "labels/1", "question": items.question, "id": row["id"], "label": label, "note": "<b>",
                "who": who, "example": row["example"], "run": items.digest, "stratum": json.loads(row["stratum"]),
                "probability": row["probability"], "size": row["size"], "of": row["of"],
            }  # fmt: skip
            stream.write(json.dumps(told) + "\n")
    return path


def value(result: Result, name: str) -> float:
    found = result[name].value
    assert isinstance(found, float)
    return found


# ---- FLEX


@pytest.mark.golden
@pytest.mark.skipif(not FLEX.exists(), reason="needs ../shared/data/flex")
def test_the_published_kappas_of_flex() -> None:
    """0.62 for execution accuracy, 0.87 for the FLEX judge, both against the consensus of three experts."""
    match = evaluate(FLEX, verdict="execution_match", people=["consensus"])
    judge = evaluate(FLEX, verdict="judge", people=["consensus"])
    assert value(match, "kappa") == pytest.approx(0.62, abs=5e-3)
    assert value(judge, "kappa") == pytest.approx(0.8704, abs=5e-5)
    for result in (match, judge):
        figure = result["kappa"]
        assert figure.n == 200 and figure.low < figure.value < figure.high
    # Experts A and B among themselves.
    two = evaluate(FLEX, verdict="judge", people=["expert_a", "expert_b"])
    assert value(two, "people_kappa") == pytest.approx(0.8198, abs=5e-5)
    # By the majority of all three, and by brute force over pairs.
    three = evaluate(FLEX, verdict="judge", people=["expert_a", "expert_b", "expert_c"], slices=["hardness"])
    rows = [json.loads(line) for line in FLEX.read_text().splitlines()]
    named = ("expert_a", "expert_b", "expert_c")
    pairs = [brute(rows, a, b, kappa) for a, b in (named[:2], named[1:], (named[0], named[2]))]
    each = [brute(rows, "judge", one, kappa) for one in named]
    assert value(three, "people_kappa") == pytest.approx(sum(pairs) / 3, abs=1e-9)
    assert value(three, "verdict_kappa") == pytest.approx(sum(each) / 3, abs=1e-9)
    assert value(three, "to_ceiling") == pytest.approx(sum(each) / 3 - sum(pairs) / 3, abs=1e-9)
    assert {f.slice["hardness"] for (f, *_) in three.slices("hardness")} == {"simple", "moderate", "challenging"}


def brute(rows: list[dict[str, Any]], one: str, other: str, of: Any) -> float:
    import numpy as np

    cells = [sum((row[one], row[other]) == cell for row in rows) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    return float(of(*(np.asarray(float(cell)) for cell in cells)))


# ---- by hand


def test_figures_by_hand(tmp_path: Path) -> None:
    table = tmp_path / "v.csv"
    cells = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    pl.DataFrame([{"id": f"e{i}", "judge": v, "anna": h} for i, (v, h) in enumerate(cells)]).write_csv(table)
    found = evaluate(table, verdict="judge", people="anna")
    expected = {
        "agreement": 0.7, "sensitivity": 20 / 30, "specificity": 15 / 20, "balanced_accuracy": (20 / 30 + 0.75) / 2,
        "ppv": 0.8, "npv": 0.6, "kappa": 0.4, "people_right": 0.6, "verdict_right": 0.5,
    }  # fmt: skip
    for name, wanted in expected.items():
        figure = found[name]
        assert figure.value == pytest.approx(wanted), name
        assert figure.low < wanted < figure.high, name
    assert found["ppv"].n == 25 and found["npv"].n == 25
    assert "simple random sample" in found.notes[0]
    assert "people_alpha" not in found.names


def test_weights_give_the_whole_run_back(tmp_path: Path) -> None:
    """Verdicts err in known examples: over many draws the mean of the figures is that of the run."""
    run = measured()
    verdicts = dict(run.measurements.select("id", "correct").iter_rows())
    truth = {name: (right if int(name[1:]) % 7 else not right) for name, right in verdicts.items()}
    cells = {
        cell: sum((verdicts[name], truth[name]) == cell for name in verdicts)
        for cell in ((True, True), (True, False), (False, True), (False, False))
    }
    exact = cells[True, True] / (cells[True, True] + cells[False, True])
    items = items_of(run)
    values = []
    for seed in range(60):
        rows = [
            {"id": row["id"], "label": "right" if truth[row["id"]] else "wrong", "who": "x", **drawn_as(items, row)}
            for row in draw(items, 80, seed=seed).iter_rows(named=True)
        ]
        path = tmp_path / "x.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        found = evaluate([run, path], options=NO_INTERVALS)
        assert value(found, "verdict_right") == pytest.approx(0.8), "strata are of verdicts: that share is exact"
        values.append(value(found, "sensitivity"))
    assert sum(values) / 60 == pytest.approx(exact, abs=0.012)
    plain = [(verdicts[n], truth[n]) for n in draw(items, 80)["id"]]
    unweighted = sum(v and h for v, h in plain) / sum(h for _, h in plain)
    assert abs(unweighted - exact) > 0.03, "without weights the draw would be off"


def drawn_as(items: Any, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "sensecheck": "labels/1", "question": items.question, "example": row["example"], "run": items.digest,
        "stratum": json.loads(row["stratum"]), "probability": row["probability"], "size": row["size"], "of": row["of"],
    }  # fmt: skip


def test_people_who_disagree_and_people_who_pass(tmp_path: Path) -> None:
    run = measured(40)
    one = labels_of(run, tmp_path, lambda name, verdict: verdict, 20)
    items = items_of(run)
    ids = draw(items, 20)["id"].to_list()
    turned = set(ids[:4])
    passed = set(ids[4:6])
    two = labels_of(
        run,
        tmp_path,
        lambda name, verdict: (
            "unclear"
            if name in passed
            else {"right": "wrong", "wrong": "right"}[verdict]
            if name in turned
            else verdict
        ),
        20,
        "ben",
    )
    found = evaluate([run, one, two])
    figure = found["agreement"]
    assert figure.n == 16 and figure.value == 1.0 and figure.unscored == {"people disagree": 4}
    assert figure.low < 1
    assert any("on 4 examples as many people say right as wrong" in note for note in found.notes)
    assert found["people_agreement"].n == 18, "ties are in the figures of people"
    assert value(found, "people_agreement") == pytest.approx(14 / 18, abs=0.05)
    named = evaluate([run, one, two], truth="ben")
    assert named["agreement"].n == 18 and named["agreement"].unscored == {"people say unclear": 2}
    assert value(named, "agreement") < 1
    with pytest.raises(
        InputError, match=r"truth: expected majority, or one of 'anna', 'ben', got 'bne'\. Did you mean"
    ):
        evaluate([run, one, two], truth="bne")


@pytest.mark.parametrize("n", [1, 2])
def test_one_label_and_two(tmp_path: Path, n: int) -> None:
    table = tmp_path / "v.csv"
    pl.DataFrame([{"id": f"e{i}", "judge": 1, "anna": 1} for i in range(n)]).write_csv(table)
    found = evaluate(table, verdict="judge", people=["anna"])
    assert found["agreement"].n == n
    assert found["kappa"].low is None and found["kappa"].absent
    if n == 2:
        assert found["agreement"].low < 0.5


def test_a_run_that_is_kept_is_read_back_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = measured(out=tmp_path / "run")
    chance = random.Random(2)
    labels = labels_of(
        run, tmp_path, lambda name, verdict: verdict if chance.random() < 0.85 else "wrong", by=("kind",)
    )
    here = str(tmp_path)
    given = ["agree", f"{here}/run", str(labels), "--slice", "kind", "--out"]
    assert main([*given, f"{here}/a"]) == 0
    out = capsys.readouterr().out
    assert "Cohen's κ" in out and "by kind" in out and "drawn:by kind×verdict" in out
    assert main([*given[:-1], "--verdict", "correct", "--system", "again", "--out", f"{here}/b"]) == 0
    kept = load(tmp_path / "a")
    again = evaluate([f"{here}/run", str(labels)], slices=["kind"])
    assert kept.summary["figures"] == again.summary["figures"]
    html = (tmp_path / "a" / "report.html").read_text()
    assert "How far can the verdict be believed?" in html and "<b>" not in html.split("<script", 1)[0]
    capsys.readouterr()
    assert main(["compare", f"{here}/a", f"{here}/b"]) == 0
    said = capsys.readouterr().out
    assert "Cohen's κ" in said and "debiased" not in said and "Krippendorff" not in said
    for form in ("json", "markdown", "latex"):
        assert main([*given[:-1], "--format", form]) == 0
    assert main(["explain", "ac1"]) == 0
    assert "Gwet 2008" in capsys.readouterr().out


def test_a_damaged_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = measured(40, out=tmp_path / "run")
    labels = labels_of(run, tmp_path, lambda name, verdict: verdict, 20)
    shard = next((tmp_path / "run").glob("examples-*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-100])
    for command in (["agree", str(tmp_path / "run"), str(labels)], ["label", str(tmp_path / "run"), "-o", "x.html"]):
        assert main(command) == 2
        assert "is damaged" in capsys.readouterr().err


def test_gates(tmp_path: Path) -> None:
    run = measured(out=tmp_path / "run")
    labels = labels_of(run, tmp_path, lambda name, verdict: verdict)
    given = ["agree", str(tmp_path / "run"), str(labels)]
    assert main([*given, "--fail-under", "kappa=0.9"]) == 0
    assert main([*given, "--fail-under", "kappa=0.999", "--gate-on", "bound"]) == 1


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = measured(40, out=tmp_path / "run")
    labels = labels_of(run, tmp_path, lambda name, verdict: verdict, 20)
    table = tmp_path / "v.csv"
    pl.DataFrame({"id": ["a", "a"], "judge": [1, 0], "anna": [1, 1], "odd": ["x", "y"]}).write_csv(table)
    alone = tmp_path / "w.csv"
    pl.DataFrame({"id": ["a", "b"], "judge": [1, 0], "anna": [1, 1], "odd": ["x", "y"]}).write_csv(alone)
    cases = [
        ([str(tmp_path / "run")], "there are no labels"),
        ([str(table), str(labels)], "nobody says which column of it holds verdicts"),
        ([str(table), "--verdict", "judge", "--people", "anna"], "the id 'a' is there twice"),
        ([str(alone), "--verdict", "odd", "--people", "anna"], "odd: expected right or wrong"),
        ([str(alone), "--verdict", "jugde", "--people", "anna"], "Did you mean 'judge'"),
        ([str(alone), "--verdict", "judge", "--people", "odd"], "label: expected right, wrong or unclear, got 'x'"),
        ([str(alone), "--verdict", "judge", "--people", "ana"], "Did you mean 'anna'"),
        ([str(alone), str(labels), "--verdict", "judge"], "the run has no example with a verdict called"),
        ([str(tmp_path / "run"), str(labels), "--verdict", "confidence"], "a column of verdicts, each true or false"),
        ([str(tmp_path / "run"), str(labels), "--slice", "knd"], "no column 'knd' to draw or slice by"),
        ([str(tmp_path / "run"), str(tmp_path / "none.jsonl")], "none.jsonl"),
        ([str(tmp_path / "nowhere"), str(labels)], "no such run"),
        ([str(tmp_path), str(labels)], "is not a run directory"),
    ]
    for given, told in cases:
        assert main(["agree", *given]) == 2, given
        said = capsys.readouterr().err
        assert told in said and "Traceback" not in said, (given, said)


def test_clusters_of_the_run_are_clusters_here(tmp_path: Path) -> None:
    records = [
        {"id": f"q{i}", "confidence": 0.5, "correct": i % 5 > 0, "talk": f"t{i // 20}", "question": f"What is {i}?"}
        for i in range(400)
    ]
    run = calibrated.evaluate(records, cluster="talk", options=NO_INTERVALS)
    plain = calibrated.evaluate(records, options=NO_INTERVALS)

    def widths(said: set[int]) -> list[float]:
        path = labels_of(run, tmp_path, lambda name, verdict: "wrong" if int(name[1:]) in said else verdict)
        found = [evaluate([one, path])["kappa"] for one in (run, plain)]
        assert found[0].clusters == 20 and found[0].value == found[1].value
        return [figure.high - figure.low for figure in found]

    scattered, together = widths(set(range(0, 400, 9))), widths(set(range(100, 180)))
    assert scattered[0] < 1.4 * scattered[1]
    assert together[0] > 1.5 * together[1], "people and verdict part in four talks of twenty"


def test_verdicts_in_memory() -> None:
    rows = [{"id": f"e{i}", "judge": i % 2, "anna": i % 2 if i else 1} for i in range(20)]
    for table in (rows, pl.DataFrame(rows)):
        found = evaluate(table, verdict="judge", people=["anna"])
        assert value(found, "agreement") == pytest.approx(0.95)


def test_many_people(tmp_path: Path) -> None:
    chance = random.Random(4)
    rows = [
        {"id": f"e{i}", "judge": i % 3 > 0, **{f"p{k}": int((i % 3 > 0) ^ (chance.random() < 0.1)) for k in range(12)}}
        for i in range(60)
    ]
    table = tmp_path / "v.csv"
    pl.DataFrame(rows).write_csv(table)
    found = evaluate(table, verdict="judge", people=[f"p{k}" for k in range(12)])
    assert 0.5 < value(found, "people_alpha") < 0.8 and "people_kappa" not in found.names
    assert any("12 people" in note for note in found.notes)


# ---- questions whose labels are not right or wrong


def statements(folder: Path) -> Result:
    """Ten pairs of five statements; the model says contradiction of two that follow."""
    broken = {("P0.", "H0 0."), ("P0.", "H0 1.")}
    rows = [{"premise": f"P{i}.", "hypothesis": f"H{i}.", "label": 0} for i in range(10)]
    made = StoredStatements([(f"H{i}.", True, f"H{i} {k}.") for i in range(10) for k in range(5)])

    def model(premises: list[str], hypotheses: list[str]) -> list[int]:
        return [2 if pair in broken else 0 for pair in zip(premises, hypotheses, strict=True)]

    return robust.evaluate(
        rows, model=model, generator=made, polarity="positive", check_labels=False, out=folder / "run"
    )


def test_statements_have_a_relation(tmp_path: Path) -> None:
    run = statements(tmp_path)
    items = items_of(run)
    assert len(items.frame) == 50 and (items.frame["verdict"] == "wrong").sum() == 2
    write_sheet(run, tmp_path / "s.csv", 50)
    frame = pl.read_csv(tmp_path / "s.csv", infer_schema=False)
    assert {"premise", "statement", "label", "grammatical"} <= set(frame.columns)
    # Of the two that look broken, one does contradict: the model was right. One other is no sentence.
    relation = pl.when(pl.col("statement") == "H0 0.").then(pl.lit("contradiction")).otherwise(pl.lit("Entailment"))
    good = pl.when(pl.col("statement") == "H3 3.").then(pl.lit("no")).otherwise(pl.lit("yes"))
    frame.with_columns(label=relation, grammatical=good).write_csv(tmp_path / "s.csv")
    found = evaluate([run, tmp_path / "s.csv"])
    assert found["agreement"].n == 49 and found["agreement"].unscored == {"people took it out": 1}
    assert value(found, "npv") == 0.5 and value(found, "ppv") == 1.0
    frame.with_columns(label=pl.lit("perhaps")).write_csv(tmp_path / "s.csv")
    with pytest.raises(InputError, match=r"s.csv:2: label: expected 'entailment', 'neutral', 'contradiction'"):
        evaluate([run, tmp_path / "s.csv"])


def test_the_sheet_of_robust_audit_is_taken(tmp_path: Path) -> None:
    run = statements(tmp_path)
    sheet = tmp_path / "audit.csv"
    write_audit(run, sheet, n=20)
    frame = pl.read_csv(sheet, infer_schema=False)
    said = pl.when(pl.col("statement") == "H0 0.").then(pl.lit("contradiction")).otherwise(pl.lit(""))
    frame.with_columns(grammatical=pl.lit("yes"), polarity_right=pl.lit("yes"), true_label=said).write_csv(sheet)
    found = evaluate([run, sheet])
    assert found["agreement"].n == 20 and value(found, "npv") == 0.5 and value(found, "ppv") == 1.0
    frame.with_columns(grammatical=pl.lit("hardly")).write_csv(sheet)
    with pytest.raises(InputError, match=r"audit.csv:2: grammatical: expected yes or no, got 'hardly'"):
        evaluate([run, sheet])


def test_responses_have_a_group(tmp_path: Path) -> None:
    run = diverse.evaluate(demo.path("dialogue_a.txt"), demo.path("dialogue_refs.json"), options=NO_INTERVALS)
    items = items_of(run)
    write_sheet(run, tmp_path / "s.html", 60)
    write_sheet(run, tmp_path / "s.csv", 60)
    frame = pl.read_csv(tmp_path / "s.csv", infer_schema=False)
    known = {row["id"]: row for row in items.frame.iter_rows(named=True)}
    labels = []
    for place, name in enumerate(frame["id"].to_list()):
        row = known[name]
        named = row["positive"][0] if row["verdict"] == "right" else "none"
        others = [choice for choice in row["choices"] if choice not in (named, "none", "unclear")]
        labels.append(others[0] if place % 6 == 0 else named)
    frame.with_columns(label=pl.Series(labels)).write_csv(tmp_path / "s.csv")
    fits = matched(read(str(tmp_path / "s.csv")), items)
    found = evaluate([run, tmp_path / "s.csv"])
    assert len(fits.labels) == 60 and found["agreement"].n == 60
    disagreeing = found.measurements.filter(~pl.col("agrees"))
    assert len(disagreeing) == 10, "another group than the one it fell in, or any where it fell in none"


def test_the_sheet_of_an_audit_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "zoo.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE animal (name TEXT, weight TEXT)")
        connection.executemany("INSERT INTO animal VALUES (?, ?)", [("Rex", "95"), ("Leo", "120"), ("Zed", "310")])
    golds = [
        "SELECT name FROM animal ORDER BY weight DESC LIMIT 1",
        "SELECT weight FROM animal WHERE name = 'rex'",
        "SELECT name FROM animal",
    ]
    records = [{"id": f"q{i}", "question": "?", "gold": gold, "prediction": gold} for i, gold in enumerate(golds)]
    run = correct.evaluate(records, database=path, audit=True, options=NO_INTERVALS)
    sheet = tmp_path / "golds.csv"
    write_golds(sheet_of(run), sheet)
    frame = pl.read_csv(sheet, infer_schema=False)
    assert len(frame) == 2
    with pytest.raises(InputError, match="there is no label to read"):
        evaluate([run, sheet])
    said = pl.when(pl.col("gold").str.contains("rex")).then(pl.lit("wrong")).otherwise(pl.lit("right"))
    frame.with_columns(label=said).write_csv(sheet)
    found = evaluate([run, sheet], slices=["kinds"])
    assert found["npv"].n == 2 and value(found, "npv") == 0.5, "one of the two that it doubts is wrong"
    other = correct.evaluate([records[0]], database=path, audit=True, options=NO_INTERVALS)
    with pytest.raises(InputError, match="has no example with a verdict called"):
        evaluate([other, sheet])
    with pytest.raises(InputError, match="is one of golds, and not of predictions; this is a run of calibrated"):
        evaluate([measured(10), sheet])
