"""Label sheets of every tool as one table, and what a broken one gets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.diverse import evaluate
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.label_sheets import label_text
from sensecheck.inputs.formats.registry import recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.label_sheets import read_labels
from sensecheck.inputs.opening import sources


def write(folder: Path, name: str, content: Any) -> str:
    """A text as it is; anything else as JSON, on lines where the name says so."""
    path = folder / name
    if isinstance(content, str):
        text = content
    elif name.endswith(".jsonl"):
        text = "".join(json.dumps(row) + "\n" for row in content)
    else:
        text = json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return str(path)


def known(path: str) -> str | None:
    found = recognised(Start.of(sources(path)[0]))
    return None if found is None else found.format.name


def table(path: Any, *args: Any, **options: Any) -> list[tuple[Any, ...]]:
    return read_labels(path, *args, **options).select("id", "annotator", "question", "label", "right").rows()


def refused(path: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        read_labels(path, *args, **options)
    return str(raised.value)


# ---- Label Studio


def choice(name: str, *chosen: str) -> dict[str, Any]:
    return {"type": "choices", "from_name": name, "to_name": "answer", "value": {"choices": list(chosen)}}


def annotation(who: Any, *results: Any, **more: Any) -> dict[str, Any]:
    return {"id": 1, "completed_by": who, "result": list(results), "was_cancelled": False, **more}


def test_label_studio(tmp_path: Path) -> None:
    tasks = [
        {"id": 1, "data": {"example_id": "q1"}, "predictions": [annotation(9, choice("verdict", "Wrong"))], "annotations": [
            annotation(1, choice("verdict", "Correct")),
            annotation({"id": 2, "email": "ben@x.org"}, was_cancelled=True),
        ]},
        {"id": 2, "data": {"id": "q2"}, "annotations": [annotation("carl", choice("verdict", "b", "a"))]},
        {"id": 3, "data": {"text": "t"}, "meta": {"id": "q3"}, "annotations": []},
        {"id": 4, "data": {"text": "t"}, "annotations": [annotation(None, choice("verdict"))]},
    ]  # fmt: skip
    path = write(tmp_path, "export.json", tasks)
    assert known(path) == "label-studio"
    assert table(path) == [
        ("q1", "1", "verdict", "Correct", True),
        ("q1", "ben@x.org", "verdict", None, None),
        ("q2", "carl", "verdict", "a; b", None),
        ("4", "export", "verdict", None, None),
    ]
    assert read_labels(path)["skipped"].to_list() == [False, True, False, True]


def test_label_studio_with_several_questions(tmp_path: Path) -> None:
    tasks = [
        {"id": 1, "data": {}, "annotations": [annotation(1, choice("right", "yes"), choice("fluent", "no"))]},
        {"id": 2, "data": {}, "annotations": [annotation(1, was_cancelled=True), annotation(2, choice("right", "no"))]},
        {"id": 3, "data": {}, "annotations": [
            annotation(1, {"from_name": "stars", "type": "rating", "value": {"rating": 4}},
                       {"from_name": "span", "type": "labels", "value": {"labels": ["X"], "start": 0, "end": 2}})]},
    ]  # fmt: skip
    rows = table(write(tmp_path, "e.json", tasks))
    assert rows[:3] == [
        ("1", "1", "right", "yes", True),
        ("1", "1", "fluent", "no", False),
        ("1", "1", "stars", None, None),
    ]
    assert rows[3:6] == [("2", "1", question, None, None) for question in ("right", "fluent", "stars")]
    assert ("3", "1", "stars", "4", None) in rows and "span" not in {row[2] for row in rows}


def test_label_studio_small(tmp_path: Path) -> None:
    """JSON-MIN, whose labels stand between the data with the id and the annotator."""
    rows = [
        {"id": i, "question": f"What is {i}?", "verdict": verdict, "tags": tags, "annotator": who, "annotation_id": 10 + i,
         "created_at": "2025", "lead_time": 1.5}
        for i, verdict, tags, who in [
            (1, "Correct", {"choices": ["b", "a"]}, 1), (2, "Wrong", "a", "ben@x.org, 2"), (3, "Correct", "a", 1),
            (4, "Correct", [], 1), (5, "Wrong", "a", 1), (6, "Wrong", "a", 1),
        ]
    ]  # fmt: skip
    path = write(tmp_path, "min.json", rows)
    assert known(path) == "label-studio"
    read = table(path)
    assert {row[2] for row in read} == {"verdict", "tags"}
    assert read[:4] == [
        ("1", "1", "verdict", "Correct", True), ("1", "1", "tags", "a; b", None),
        ("2", "ben@x.org, 2", "verdict", "Wrong", False), ("2", "ben@x.org, 2", "tags", "a", None),
    ]  # fmt: skip
    assert ("4", "1", "tags", None, None) in read


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"id": 2, "data": {}, "annotations": 5}, "record 2: annotations: expected a list, got a number 5"),
        ({"id": 2, "data": {}, "annotations": [5]}, "record 2: annotations: expected an object, got a number 5"),
        (
            {"id": 2, "data": {}, "annotations": [annotation(1, 7)]},
            "record 2: result: expected an object, got a number 7",
        ),
        (7, "record 2: expected a JSON object, got a number 7"),
    ],
)
def test_a_broken_task(tmp_path: Path, task: Any, said: str) -> None:
    good = {"id": 1, "data": {}, "annotations": [annotation(1, choice("v", "yes"))]}
    assert said in refused(write(tmp_path, "e.json", [good, task]))


# ---- Prodigy


def task(answer: str, **more: Any) -> dict[str, Any]:
    return {"text": "t", "_input_hash": 5, "_task_hash": 6, "answer": answer, "_session_id": "set-anna", **more}


def test_prodigy(tmp_path: Path) -> None:
    path = write(tmp_path, "p.jsonl", [
        task("accept", label="CORRECT", meta={"id": "q1"}, _annotator_id="anna"),
        task("reject", label="CORRECT", meta={"id": "q2"}),
        task("ignore", label="CORRECT", meta={"id": "q3"}),
        task("accept", label="WRONG", meta={"example_id": "q4"}),
        task("reject", label="SPORTS", id="q5"),
        task("accept", options=[{"id": "a"}, {"id": "b"}], accept=["b", "a"]),
        task("accept", options=[{"id": "a"}], accept=[]),
        {**task("accept", options=[{"id": "yes"}], accept=["yes"]), "_session_id": None},
    ])  # fmt: skip
    assert known(path) == "prodigy"
    assert table(path) == [
        ("q1", "anna", "CORRECT", "accept", True),
        ("q2", "set-anna", "CORRECT", "reject", False),
        ("q3", "set-anna", "CORRECT", None, None),
        ("q4", "set-anna", "WRONG", "accept", False),
        ("q5", "set-anna", "SPORTS", "reject", False),
        ("5", "set-anna", "", "a; b", None),
        ("5", "set-anna", "", None, None),
        ("5", "p", "", "yes", True),
    ]


def test_broken_tasks_of_prodigy(tmp_path: Path) -> None:
    lines = json.dumps(task("accept")) + "\n"
    assert "answer: expected accept, reject or ignore, got 'maybe'" in refused(
        write(tmp_path, "p.jsonl", lines + json.dumps(task("maybe")))
    )
    assert "p.jsonl:2: expected a complete JSON object" in refused(write(tmp_path, "p.jsonl", lines + lines[:30]))
    assert "p.jsonl:2: expected a JSON object, got a list [1]" in refused(write(tmp_path, "p.jsonl", lines + "[1]\n"))
    assert "accept: expected a list, got a number 5" in refused(write(tmp_path, "p.jsonl", [task("accept", accept=5)]))


# ---- Argilla

EXPECTED = [("q1", "u1", "verdict", "correct", True), ("q1", "u2", "verdict", "wrong", False), ("q2", "u1", "verdict", None, None)]  # fmt: skip


def test_argilla(tmp_path: Path) -> None:
    def record(id: str, *given: Any) -> dict[str, Any]:
        return {"id": id, "fields": {"question": "?"}, "suggestions": {"verdict": {"value": "correct"}}, "status": "pending",
                "_server_id": "s1", "responses": {"verdict": list(given)}}  # fmt: skip

    records = [
        record("q1", {"value": "correct", "user_id": "u1"}, {"value": "wrong", "user_id": "u2", "status": "submitted"}),
        record("q2", {"value": "correct", "user_id": "u1", "status": "discarded"}),
        record("q3"),
    ]
    for name in ("a.json", "a.jsonl"):
        path = write(tmp_path, name, records)
        assert known(path) == "argilla" and table(path) == EXPECTED


def test_argilla_flat(tmp_path: Path) -> None:
    path = write(tmp_path, "flat.jsonl", [
        {"id": "q1", "question": "?", "verdict.responses": ["correct", "wrong"], "verdict.responses.users": ["u1", "u2"],
         "verdict.responses.status": ["submitted", "submitted"], "verdict.suggestion": "correct"},
        {"id": "q2", "verdict.responses": ["correct"], "verdict.responses.users": ["u1"], "verdict.responses.status": ["draft"]},
        {"id": "q3", "verdict.responses": None, "verdict.responses.users": None},
    ])  # fmt: skip
    assert known(path) == "argilla" and table(path) == EXPECTED
    bad = write(tmp_path, "bad.jsonl", [{"verdict.responses": ["a", "b"], "verdict.responses.users": ["u1"]}])
    assert "record 1: verdict.responses.users: expected 2 users, one for each response" in refused(bad)


def test_older_argilla(tmp_path: Path) -> None:
    def response(user: str, value: str, status: str = "submitted") -> dict[str, Any]:
        return {"user_id": user, "values": {"verdict": {"value": value}}, "status": status}

    path = write(tmp_path, "one.json", [
        {"id": "uuid", "external_id": "q1", "fields": {"t": "x"}, "responses": [response("u1", "correct"), response("u2", "wrong")]},
        {"external_id": "q2", "fields": {"t": "x"}, "responses": [response("u1", "correct", "discarded")]},
        {"external_id": "q3", "fields": {"t": "x"}, "responses": None},
    ])  # fmt: skip
    assert known(path) == "argilla" and table(path) == EXPECTED
    old = write(tmp_path, "zero.jsonl", [
        {"id": "q1", "text": "t", "prediction": [["a", 1.0]], "prediction_agent": "m", "annotation": "yes", "annotation_agent": "u1", "status": "Validated"},
        {"id": "q2", "text": "t", "annotation": ["b", "a"], "annotation_agent": "u1", "status": "Validated"},
        {"id": "q3", "text": "t", "annotation": None, "annotation_agent": None, "status": "Default"},
        {"id": "q4", "text": "t", "annotation": "no", "annotation_agent": "u1", "status": "Discarded"},
    ])  # fmt: skip
    assert known(old) == "argilla"
    assert table(old) == [
        ("q1", "u1", "", "yes", True), ("q2", "u1", "", "a; b", None), ("q3", "zero", "", None, None), ("q4", "u1", "", None, None),
    ]  # fmt: skip
    assert "responses: expected responses by question" in refused(
        write(tmp_path, "b.json", [{"fields": {}, "responses": {}}, {"responses": 5}])
    )


# ---- doccano


def test_doccano(tmp_path: Path) -> None:
    path = write(tmp_path, "anna.jsonl", [
        {"id": 1, "text": "t", "example_id": "q1", "label": ["correct"], "Comments": []},
        {"id": 2, "text": "t", "meta": {"id": "q2"}, "label": [], "Comments": []},
        {"id": 3, "text": "t", "label": ["b", "a"], "Comments": [], "username": "ben"},
    ])  # fmt: skip
    assert known(path) == "doccano"
    assert table(path) == [
        ("q1", "anna", "", "correct", True),
        ("q2", "anna", "", None, None),
        ("3", "ben", "", "a; b", None),
    ]
    (tmp_path / "carl.jsonl.gz").write_bytes(gzip.compress(Path(path).read_bytes()))
    both = read_labels([path, str(tmp_path / "carl.jsonl.gz")])
    assert both["annotator"].to_list() == ["anna", "anna", "ben", "carl", "carl", "ben"]


def test_doccano_of_other_years(tmp_path: Path) -> None:
    cats = write(tmp_path, "c.jsonl", [{"text": "t", "entities": [[0, 3, "City"]], "cats": ["flight"]}])
    assert known(cats) == "doccano" and table(cats) == [("1", "c", "", "flight", None)]
    spans = write(
        tmp_path,
        "s.jsonl",
        [{"id": 7, "text": "t", "meta": {}, "annotation_approver": None, "labels": [[0, 3, "City"]]}],
    )
    assert known(spans) == "doccano" and table(spans) == [("7", "s", "", "City 0-3", None)]
    users = write(tmp_path, "u.jsonl", [
        {"id": 7, "text": "t", "annotations": [{"label": 2, "user": 1}, {"label": 3, "user": 2}, {"label": 1, "user": 1}], "meta": {}},
    ])  # fmt: skip
    assert known(users) == "doccano" and table(users) == [("7", "1", "", "1; 2", None), ("7", "2", "", "3", None)]


def test_broken_lines_of_doccano(tmp_path: Path) -> None:
    good = json.dumps({"text": "t", "label": ["a"]}) + "\n"
    assert "label: expected names, or stretches of the text" in refused(
        write(tmp_path, "d.jsonl", good + '{"text": "t", "label": [5]}')
    )
    assert "label: expected a list, got a number 5" in refused(
        write(tmp_path, "d.jsonl", good + '{"text": "t", "label": 5}')
    )
    assert "expected a list of labels: label, labels or cats" in refused(
        write(tmp_path, "d.jsonl", good + '{"text": "t"}')
    )


# ---- a column an annotator


def test_a_column_an_annotator(tmp_path: Path) -> None:
    lines = ["id,question,anna,ben,majority"] + [
        f"q{i},What is {i}?,{'yes' if i % 3 else 'no'},{'' if i == 2 else 'no'},yes" for i in range(9)
    ]
    path = write(tmp_path, "t.csv", "\n".join(lines) + "\n")
    assert known(path) is None
    assert "format='annotators', or annotators=[...]" in refused(path)
    read = read_labels(path, "annotators")
    assert read["annotator"].unique(maintain_order=True).to_list() == ["anna", "ben"]
    assert read.filter("skipped")["id"].to_list() == ["q2"]
    assert read.equals(read_labels(path, annotators=["anna", "ben"]))
    assert read_labels(path, annotators="majority")["label"].to_list() == ["yes"] * 9
    assert "annotators: expected a column 'bne'" in refused(
        path, annotators=["bne"]
    ) and "Did you mean 'ben'?" in refused(path, annotators=["bne"])
    assert read.equals(read_labels(pl.read_csv(path), annotators=["anna", "ben"]))


def test_columns_of_several_kinds(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "t.tsv",
        "Index\tFN_avg\tFN_A\tFN_B\tFP_A\tFP_B\n" + "".join(f"{i}\t0.5\t1\t0\t0\t1\n" for i in range(6)),
    )
    assert table(path, "annotators")[:4] == [
        ("0", "A", "FN", "1", True), ("0", "B", "FN", "0", False), ("0", "A", "FP", "0", False), ("0", "B", "FP", "1", True),
    ]  # fmt: skip
    # Not every kind for every name: these are names.
    assert {row[1] for row in table(path, annotators=["FN_A", "FN_B", "FP_A"])} == {"FN_A", "FN_B", "FP_A"}


def test_a_table_without_labels(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "id,text\n" + "".join(f"{i},text number {i}\n" for i in range(9)))
    assert "expected a column for each annotator, with a few different labels" in refused(path, "annotators")
    assert "there is no row of labels" in refused(write(tmp_path, "e.csv", "id,anna\n"), "annotators")


# ---- all of them


def test_what_is_asked_for_wrongly(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "id,anna\n1,yes\n")
    assert "format: expected a format of labels: label-studio, prodigy" in refused(path, "csv")
    assert "has no meaning with prodigy" in refused(path, "prodigy", annotators=["anna"])
    assert "Did you mean 'prodigy'" in refused(path, "prodgy")


def test_no_question_takes_labels_for_predictions(tmp_path: Path) -> None:
    path = write(tmp_path, "p.jsonl", [task("accept", label="CORRECT", hypotheses=["a", "b"])])
    with pytest.raises(InputError, match="input_format: expected a format that diverse reads, got prodigy"):
        evaluate(path, input_format="prodigy")
    assert evaluate(path)["words"].n == 1


def test_labels_as_text() -> None:
    assert label_text(["b", "a", " "]) == "a; b"
    assert [label_text(value) for value in (None, "", [], 3.0, True, {"value": "x"})] == [
        None,
        None,
        None,
        "3",
        "True",
        "x",
    ]


def _figures(read: pl.DataFrame) -> dict[str, Any]:
    """As the README counts them: by hand, from the table alone."""
    people = read["annotator"].unique(maintain_order=True).to_list()
    judged = [
        dict(read.filter((pl.col("annotator") == who) & ~pl.col("skipped")).select("id", "right").iter_rows())
        for who in people
    ]
    figures = {"examples": read["id"].n_unique(), "right": sum(judged[0].values())}
    if len(people) == 2:
        one, two = judged
        both = [(one[id], two[id]) for id in one if id in two]
        agreement = sum(a == b for a, b in both) / len(both)
        p, q = (sum(pair[i] for pair in both) / len(both) for i in (0, 1))
        expected = p * q + (1 - p) * (1 - q)
        figures |= {
            "both": len(both),
            "agreement": agreement,
            "kappa": round((agreement - expected) / (1 - expected), 4),
        }
    return figures


@pytest.mark.parametrize(
    ("name", "how"),
    [("label_studio.json", {}), ("label_studio_min.json", {}), ("prodigy.jsonl", {}), ("argilla_records.json", {}),
     ("two_annotators.csv", {"format": "annotators"}), ("two_annotators.csv", {"annotators": ["anna", "ben"]})],
)  # fmt: skip
def test_the_same_judgements_by_every_tool(shared: Path, name: str, how: dict[str, Any]) -> None:
    read = read_labels(str(shared / "data/formats/labels" / name), **how)
    assert _figures(read) == {"examples": 30, "right": 24, "both": 28, "agreement": 0.75, "kappa": 0.3875}
    assert set(read["id"]) == {f"q{i}" for i in range(1, 31)}
    # Who skips is a row in some tools and none in others; the labels are the same everywhere.
    labels = read.filter(~pl.col("skipped"))
    assert len(labels) == 58 and labels["right"].null_count() == 0


def test_other_sheets(shared: Path) -> None:
    folder = shared / "data/formats/labels"
    assert _figures(read_labels(str(folder / "doccano.jsonl"))) == {"examples": 30, "right": 24}
    assert read_labels(str(folder / "doccano_repo_intent_detection.jsonl"))["label"].to_list() == ["flight", "airport"]
    assert len(read_labels(str(folder / "doccano_repo_text_classification.jsonl"))) == 3
    experts = read_labels(str(folder / "flex_experts_agreement_200.csv"), "annotators")
    counted = experts.group_by("question", "annotator").len().sort("question", "annotator").rows()
    assert counted == [(kind, who, 100) for kind in ("FN", "FP") for who in "ABC"]
    sheet = pl.read_csv(folder / "flex_experts_agreement_200.csv")
    for kind, who, _ in counted:
        right = experts.filter((pl.col("question") == kind) & (pl.col("annotator") == who))["right"].sum()
        assert right == sheet[f"{kind}_{who}"].sum()
