"""Labels: drawn with their probabilities, read back whoever wrote them, and refused where they do not fit the run."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck import calibrated
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.labelling.drawing import allocated, draw
from sensecheck.labelling.items import items_of
from sensecheck.labelling.matching import Matched, matched
from sensecheck.labelling.reading import read
from sensecheck.labelling.sheet import write_sheet
from sensecheck.report.result import Result, load
from sensecheck.statistics.figure import IntervalOptions

NO_INTERVALS = IntervalOptions(method="none")


def rows(n: int = 60, answer: str = "answer") -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "confidence": 0.5,
            "correct": i % 4 > 0,
            "kind": "ab"[i % 2],
            "question": f"What is {i}?",
            "answer": f"{answer} {i}",
        }
        for i in range(n)
    ]


def measured(records: Any, **given: Any) -> Result:
    return calibrated.evaluate(records, slices=["kind"], options=NO_INTERVALS, system="A", **given)


@pytest.fixture(scope="module")
def result() -> Result:
    return measured(rows())


def labels_of(result: Result, sample: int = 20, by: tuple[str, ...] = (), **more: Any) -> list[dict[str, Any]]:
    """The export of somebody who says right of everything."""
    items = items_of(result, by)
    return [
        {
            "sensecheck": "labels/1", "question": "calibrated", "id": row["id"], "label": "right", "note": "",
            "who": "anna", "example": row["example"], "run": items.digest, "stratum": json.loads(row["stratum"]),
            "probability": row["probability"], "size": row["size"], "of": row["of"], **more,
        }
        for row in draw(items, sample, by).iter_rows(named=True)
    ]  # fmt: skip


def weighed(fits: Matched) -> tuple[pl.DataFrame, list[str]]:
    return fits.weighed(fits.labels.filter(pl.col("right").is_not_null())["id"])


def written(folder: Path, labels: Any, name: str = "anna.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in labels), encoding="utf-8")
    return path


def refused(result: Result, folder: Path, labels: Any, by: tuple[str, ...] = ()) -> str:
    with pytest.raises(InputError) as raised:
        matched(read(written(folder, labels)), items_of(result, by))
    return str(raised.value)


# ---- drawing


@pytest.mark.parametrize(
    ("sizes", "sample", "expected"),
    [
        ([900, 100], 120, [90, 30]),
        ([900, 3, 1], 40, [36, 3, 1]),
        ([2, 1], 10, [2, 1]),
        ([1], 1, [1]),
        ([10_000_000, 5], 100, [95, 5]),
        ([5, 5, 5], 3, [1, 1, 1]),
        ([1000, 10, 10], 6, [2, 2, 2]),
    ],
)
def test_small_strata_are_taken_whole_and_all_are_heard(sizes: list[int], sample: int, expected: list[int]) -> None:
    assert allocated(sizes, sample) == expected


def test_any_allocation_is_full_and_fits() -> None:
    chance = random.Random(5)
    for _ in range(300):
        sizes = [chance.choice((1, 2, 3, 10, 500, 10**6)) for _ in range(chance.randint(1, 12))]
        sample = chance.randint(len(sizes), 400)
        taken = allocated(sizes, sample)
        assert sum(taken) == min(sample, sum(sizes))
        assert all(1 <= have <= size for have, size in zip(taken, sizes, strict=True))


def test_fewer_than_strata_is_refused(result: Result) -> None:
    with pytest.raises(InputError, match="sample: expected at least 3, one for each stratum, got 2"):
        draw(items_of(result, ["kind"]), 2, ["kind"])


def test_the_draw_is_seeded_random_and_knows_its_probabilities() -> None:
    items = items_of(measured(rows(200)))
    assert draw(items, 30, seed=1)["id"].to_list() == draw(items, 30, seed=1)["id"].to_list()
    drawn = Counter()
    chance = {}
    for seed in range(400):
        for row in draw(items, 30, seed=seed).iter_rows(named=True):
            drawn[row["id"]] += 1
            chance[row["id"]] = row["probability"]
    assert len(drawn) == 200
    # Each is drawn about as often as its probability says: four standard errors of 400 draws, over 200 examples.
    for name, times in drawn.items():
        p = chance[name]
        assert abs(times / 400 - p) < 4.5 * (p * (1 - p) / 400) ** 0.5


def test_the_draw_does_not_depend_on_the_order_of_rows() -> None:
    records = rows(80)
    turned = items_of(measured(list(reversed(records))))
    straight = items_of(measured(records))
    assert straight.digest == turned.digest
    assert set(draw(straight, 20)["id"]) == set(draw(turned, 20)["id"])


def test_another_prediction_is_another_digest() -> None:
    one, other = items_of(measured(rows(5))), items_of(measured([*rows(4), {**rows(5)[4], "answer": "no"}]))
    assert one.digest != other.digest
    assert one.frame["example"].to_list()[:4] == other.frame["example"].to_list()[:4]
    assert one.frame["example"][4] != other.frame["example"][4]
    # The same texts under another verdict are the same example.
    turned = items_of(measured([{**row, "correct": not row["correct"]} for row in rows(5)]))
    assert turned.digest == one.digest


def test_samples_of_one_example_are_examples_of_their_own() -> None:
    records = [{**row, "sample": k, "answer": f"{row['answer']} {k}"} for row in rows(6) for k in range(3)]
    items = items_of(measured(records))
    assert items.frame["id"].to_list()[:4] == ["q0", "q0~2", "q0~3", "q1"]
    assert items.frame["example"].n_unique() == 18


def test_a_run_without_texts_has_nothing_to_label() -> None:
    bare = [{"id": f"{i}", "confidence": 0.5, "correct": True} for i in range(5)]
    with pytest.raises(InputError, match="keeps no texts"):
        items_of(calibrated.evaluate(bare, options=NO_INTERVALS))


# ---- the CSV sheet


def test_the_csv_sheet_goes_round(result: Result, tmp_path: Path) -> None:
    sheet = tmp_path / "ben.csv"
    drawn = write_sheet(result, sheet, 20)
    frame = pl.read_csv(sheet, infer_schema=False)
    assert frame.columns[:4] == ["id", "the question", "answer", "label"]
    assert "verdict" not in sheet.read_text(), "whoever labels does not see it"
    assert len(read_refused(sheet)) > 0
    said = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("")).otherwise(pl.lit("Wrong"))
    frame.with_columns(label=said).write_csv(sheet)
    labels = read(str(sheet))
    assert len(labels) == 17 and set(labels["who"]) == {"ben"} and not labels["right"].any()
    fits = matched(labels, items_of(result))
    assert fits.drawn and fits.strata == ("verdict",)
    weights, notes = weighed(fits)
    assert weights["stands_for"].sum() == pytest.approx(60)
    assert "17 of 20 examples" in notes[0]
    known = dict(drawn.select("id", "size").iter_rows())
    by_size = Counter(known[name] for name in labels["id"])
    assert all(weight == pytest.approx(known[n] / by_size[known[n]]) for n, _, weight in weights.iter_rows())


def read_refused(sheet: Path) -> str:
    with pytest.raises(InputError) as raised:
        read(str(sheet))
    assert "there is no label to read" in str(raised.value) and "20 examples without one" in str(raised.value)
    return str(raised.value)


def test_hostile_texts_are_no_formulas_in_the_sheet(tmp_path: Path) -> None:
    records = [{**row, "answer": "=HYPERLINK(1)"} for row in rows(4)]
    write_sheet(measured(records), tmp_path / "s.csv", 4)
    assert pl.read_csv(tmp_path / "s.csv")["answer"].unique().to_list() == ["'=HYPERLINK(1)"]


# ---- labels that fit, and labels that do not


def test_labels_of_other_tools_are_taken_as_a_random_sample(result: Result, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    pl.DataFrame({"id": ["q1", "q2", "q3"], "anna": ["yes", "no", "yes"], "ben": ["yes", "no", ""]}).write_csv(table)
    labels = read(str(table), annotators=["anna", "ben"])
    fits = matched(labels, items_of(result))
    assert len(fits.labels) == 5 and not fits.drawn
    weights, notes = weighed(fits)
    assert weights["stands_for"].to_list() == [20.0, 20.0, 20.0]
    assert "simple random sample" in notes[0]
    prodigy = [
        {"text": "x", "answer": answer, "_task_hash": 1, "_input_hash": k, "meta": {"id": f"q{k}"}, "_session_id": "c"}
        for k, answer in enumerate(("accept", "reject", "ignore"), 1)
    ]
    fits = matched(read(str(written(tmp_path, prodigy, "prodigy.jsonl"))), items_of(result))
    assert fits.labels.select("id", "right").rows() == [("q1", True), ("q2", False)]


def test_a_run_measured_otherwise_is_the_same_run(result: Result, tmp_path: Path) -> None:
    labels = labels_of(result)
    turned = measured([{**row, "correct": True} for row in rows()])
    fits = matched(read(written(tmp_path, labels)), items_of(turned))
    assert weighed(fits)[0]["stands_for"].sum() == pytest.approx(60)


def test_labels_for_another_run(result: Result, tmp_path: Path) -> None:
    said = refused(measured(rows(answer="other")), tmp_path, labels_of(result))
    assert "anna.jsonl:1 were made for another run" in said and "digest" in said


def test_labels_for_another_version_of_the_predictions(result: Result, tmp_path: Path) -> None:
    labels = labels_of(result)
    changed = labels[3]["id"]
    records = [{**row, "answer": "better"} if row["id"] == changed else row for row in rows()]
    said = refused(measured(records), tmp_path, labels)
    assert f"anna.jsonl:4: '{changed}' was labelled with other texts" in said and "1 of 20 labels" in said


def test_unknown_ids(result: Result, tmp_path: Path) -> None:
    labels = labels_of(result)
    said = refused(result, tmp_path, [*labels[:2], {**labels[2], "id": "q999"}, *labels[3:]])
    assert "anna.jsonl:3: the run has no example with a verdict called 'q999'" in said


def test_two_labels_by_one_person(result: Result, tmp_path: Path) -> None:
    labels = labels_of(result)
    said = refused(result, tmp_path, [*labels, {**labels[4], "label": "wrong"}])
    assert "'anna' labelled" in said and "anna.jsonl:5 and at" in said and "anna.jsonl:21" in said
    matched(read(written(tmp_path, [*labels, {**labels[4], "who": "ben"}])), items_of(result))


def test_a_stratum_that_nobody_labelled(result: Result, tmp_path: Path) -> None:
    labels = labels_of(result, by=("kind",))
    left = [one for one in labels if one["stratum"] != {"kind": "a", "verdict": "wrong"}]
    assert len(left) < len(labels)
    said = refused(result, tmp_path, left, ("kind",))
    assert "nothing is labelled of kind 'a', verdict 'wrong': 15 of the 60 examples" in said


def test_a_stratum_of_which_nobody_knew(result: Result, tmp_path: Path) -> None:
    labels = [
        {**one, "label": "unclear" if one["stratum"]["verdict"] == "wrong" else "right"} for one in labels_of(result)
    ]
    fits = matched(read(written(tmp_path, labels)), items_of(result))
    weights, notes = weighed(fits)
    assert weights["stands_for"].sum() == pytest.approx(45)
    assert "of the stratum verdict wrong no label says" in notes[0] and "15 examples are stood for by none" in notes[0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"label": "perhaps"}, "label: expected right, wrong or unclear, got 'perhaps'"),
        ({"label": 1}, "label: expected a text, got"),
        ({"id": ""}, "id: expected a text that is not empty"),
        ({"probability": 0}, "probability: expected a number over 0"),
        ({"probability": 1.5}, "probability: expected a number over 0"),
        ({"size": 2.5}, "size: expected a whole number"),
        ({"of": 1e308}, "of: expected a whole number from 1 to"),
        ({"size": 61}, "size: expected at most the 60 examples"),
        ({"stratum": {"verdict": 1}}, "stratum: expected column and value"),
        ({"stratum": []}, "stratum: expected column and value"),
        ({"sensecheck": "labels/2"}, "sensecheck: expected 'labels/1'"),
        ({"run": None}, "run: expected a text that is not empty"),
    ],
)
def test_a_damaged_label_is_told_with_its_line(
    result: Result, tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    labels = labels_of(result)
    assert f"anna.jsonl:3: {told}" in refused(result, tmp_path, [*labels[:2], {**labels[2], **changed}, *labels[3:]])


def test_labels_of_several_draws(result: Result, tmp_path: Path) -> None:
    by_verdict, by_kind = labels_of(result), labels_of(result, by=("kind",), who="ben")
    said = refused(result, tmp_path, [*by_verdict, *by_kind])
    assert "drawn in different ways, by (kind, verdict) and (verdict)" in said
    said = refused(result, tmp_path, [{**one, "question": "faithful"} for one in by_verdict])
    assert "is one of 'faithful'; this is a run of calibrated" in said


# ---- the command


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(rows(), out=tmp_path / "run")
    run, sheet = str(tmp_path / "run"), tmp_path / "sheet.html"
    assert main(["label", run, "--sample", "12", "--slice", "kind", "-o", str(sheet)]) == 0
    out = capsys.readouterr().out
    assert "4 of 15: kind a, verdict right" in out and "12 examples to label" in out
    assert "connect-src" not in sheet.read_text() and "default-src" in sheet.read_text()
    for given, told in (
        (["-o", "sheet.txt"], "a file that ends in .html or .csv"),
        (["-o", str(tmp_path / "no" / "s.html")], "Make the folder"),
        (["-o", str(sheet), "--slice", "knd"], "no column 'knd' to draw or slice by. Did you mean 'kind'?"),
        (["-o", str(sheet), "--sample", "1"], "expected at least 2"),
    ):
        assert main(["label", run, *given]) == 2
        assert told in capsys.readouterr().err
    assert main(["label", str(tmp_path), "-o", str(sheet)]) == 2
    assert "is not a run directory" in capsys.readouterr().err
    assert load(run).rows.height == 60
