"""Records read column by column are the records read one by one."""

from __future__ import annotations

import gc
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.correct.fields import Piece
from sensecheck.correct.records import Reader, Record, Records
from sensecheck.inputs.errors import InputError
from sensecheck.report.asking import Asked

texts = st.sampled_from(["", "a", "test#QA_1#2", "ASK {}", "é#"])
odd = st.none() | st.integers(0, 3) | st.lists(texts, max_size=2) | texts
fields = {
    "question_type": texts | st.lists(texts, max_size=1) | st.none(),
    "description": texts | st.none(),
    "question": texts | st.none(),
    "answer": odd | st.booleans(),
    "results": st.lists(texts, max_size=2) | st.none() | texts,
    "actions": texts | st.none() | odd,
    "sparql_delex": texts | st.none(),
    "turnID": texts | st.none() | st.integers(),
    "distance": st.none() | st.integers(0, 2) | texts,
    "id": st.none() | st.integers() | texts,
    "conversation": texts | st.none(),
    "db_id": texts | st.none(),
}


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = draw(st.lists(st.sampled_from(sorted(fields)), unique=True, min_size=1))
    rows = draw(st.lists(st.fixed_dictionaries({name: fields[name] for name in names}), min_size=1, max_size=4))
    if draw(st.booleans()):
        rows.append(draw(st.dictionaries(st.sampled_from(sorted(fields)), odd, max_size=3)))
    return rows


def outcome(reader: Reader, rows: list[Any], one_by_one: bool) -> tuple[list[Record], dict[str, list[str]]] | str:
    pieces = [Piece(rows, "p.json", 5, range(7, 7 + len(rows)))]
    if one_by_one:
        pieces = [Piece([row], "p.json", number, [number + 2]) for number, row in enumerate(rows, 5)]
    records = Records()
    try:
        for piece in pieces:
            records.extend(reader._records(piece))
    except InputError as error:
        return str(error)
    return list(records), records.extra


@settings(deadline=None, max_examples=400)
@given(tables(), st.booleans(), st.booleans(), st.none() | st.just({"a": "1", "": "2"}))
def test_columns_are_rows(rows: list[Any], skip_bad: bool, keep: bool, distances: dict[str, str] | None) -> None:
    def fresh() -> Reader:
        asked = Asked(skip_bad=skip_bad, slices=(("question",),) if keep else ())
        return Reader(rows, asked, distances=distances)

    columns, single = fresh(), fresh()
    assert outcome(columns, rows, False) == outcome(single, rows, True)
    assert columns.bad == single.bad


def plain(number: int) -> dict[str, Any]:
    return {"id": f"q{number}", "prediction": "ASK { ?s ?p ?o }", "gold": "ASK {}", "results": [f"Q{number}"]}


@pytest.mark.parametrize("name", ["p.json", "p.jsonl", "lines.json"])
def test_batches_are_cut_the_same_way_whatever_the_file(tmp_path: Path, name: str) -> None:
    rows = [plain(i) for i in range(5000)]
    path = tmp_path / name
    path.write_text(json.dumps(rows) if name == "p.json" else "\n".join(map(json.dumps, rows)) + "\n")
    batches = list(Reader(path, batch_records=700).batches())
    assert [len(batch) for batch in batches] == [700] * 7 + [100]
    assert [record for batch in batches for record in batch] == list(
        next(iter(Reader(rows, batch_records=9000).batches()))
    )
    rest = list(Reader(path, batch_records=700).batches(6))
    assert [batch.id for batch in rest] == [batch.id for batch in batches[6:]]
    assert sum(len(batch) for batch in Reader(path, Asked(limit=701), batch_records=700).batches()) == 701


@pytest.mark.parametrize("name", ["id", "turnID", "context_distance", "conversation"])
@pytest.mark.parametrize("value", [["x"], {"a": 1}])
def test_names_are_text_or_numbers(name: str, value: object) -> None:
    good = {"id": "1", "turnID": "t#1", "context_distance": 1, "conversation": "c", "prediction": "a", "gold": "b"}
    with pytest.raises(InputError, match=f"record 2: {name}: expected text or a number"):
        list(Reader([good, {**good, name: value}]).batches())


def test_records_without_a_conversation_are_not_one_conversation() -> None:
    rows = [{"id": str(i), "conversation": None, "prediction": "a", "gold": "b"} for i in range(3)]
    for made in (rows, [*rows, {"prediction": "a", "gold": "b", "conversation": None}]):  # column by column, one by one
        assert {record.conversation for batch in Reader(made).batches() for record in batch} == {""}


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "one"])
def test_streams_are_read_as_files_are(tmp_path: Path, kind: str) -> None:
    rows = [{"id": str(i), "prediction": f"SELECT {i}", "gold": "SELECT 1"} for i in range(1 if kind == "one" else 3)]
    text = {
        "json": json.dumps(rows),
        "csv": "id,prediction,gold\n" + "".join(",".join(row.values()) + "\n" for row in rows),
    }.get(kind, "".join(json.dumps(row) + "\n" for row in rows))
    file = tmp_path / f"records.{'jsonl' if kind == 'one' else kind}"
    file.write_text(text)
    with file.open("rb") as stream:
        read = [record.prediction for batch in Reader(stream).batches() for record in batch]
    assert read == [row["prediction"] for row in rows]


def test_what_is_written_in_other_ways_is_the_same_record() -> None:
    """Next to each other, so that rows with different fields are read at once."""
    rows: list[Any] = [
        {"pred": "P", "sparql_delex": "G", "type": ["T"], "description": None, "answer": ["Q1"], "turnID": "t#c#1"},
        {"actions": "P", "query": "G", "question_type": "T", "results": "Q1", "turn": 3, "dialogue": 7, "qname": 1},
        {"prediction": None, "answer": "yes", "context_distance": 0, "db": "d"},
    ]
    assert list(next(iter(Reader(rows).batches()))) == [
        Record("t#c#1", "P", "G", "T", results=["Q1"], turn="t#c#1", distance="none", conversation="t#c"),
        Record("1", "P", "G", "T", results=["Q1"], turn="3", distance="none", conversation="7"),
        Record("3", None, answer="yes", distance="0", database="d"),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"gold": "b"}, "no_prediction_field"),
        ({"prediction": "a"}, "no_gold"),
        ({"prediction": 1, "gold": 2}, "prediction of another kind"),
        ({"prediction": "a", "results": 7}, "results of another kind"),
        ("text", "record of another kind"),
    ],
)
def test_a_bad_record_is_counted_once_with_the_first_reason(row: Any, reason: str) -> None:
    reader = Reader([], Asked(skip_bad=True, slices=(("level",),), weight="w"))
    good = {"prediction": "a", "gold": "b", "level": "x", "w": 2}
    records = reader._records(Piece([good, row if isinstance(row, str) else {"id": "mine", **row}], "", 1, [1, 2]))
    assert reader.bad == {reason: 1}
    assert list(records)[1] == Record("2", None, fault=f"bad record: {reason}")
    assert records.extra == {"level": ["x", ""], "w": ["2", "1"]}


def test_a_line_that_is_no_row_is_counted() -> None:
    text = b"id,prediction,gold\na,x,x\nb,x\nc,x,x\n\nd,x,x\n"
    reader = Reader(io.BytesIO(text), Asked(skip_bad=True))
    (records,) = reader.batches()
    assert records.id[:3] == ["a", "c", "d"]
    assert records.fault[3:] == ["bad record: blank_line", "bad record: cell_count"]
    assert len(set(records.id)) == 5
    with pytest.raises(InputError, match=r"<stream>:3: expected 3 cells"):
        list(Reader(io.BytesIO(text.replace(b"\n\n", b"\n"))).batches())


def test_tables_are_read_as_dictionaries_are(tmp_path: Path) -> None:
    rows = [{**plain(i), "turnID": f"t#{i}#1", "level": str(i)} for i in range(20)]
    file = tmp_path / "t.parquet"
    pl.DataFrame(rows).write_parquet(file)
    asked = Asked(slices=(("level",),))
    reader = Reader(file)
    assert len(list(reader.batches())) == 1
    assert [read["sha256"] for read in reader.files] == [hashlib.sha256(file.read_bytes()).hexdigest()]
    for data in (file, pl.DataFrame(rows), {name: [row[name] for row in rows] for name in rows[0]}, iter(rows)):
        (records,) = Reader(data, asked).batches()
        (listed,) = Reader(rows, asked).batches()
        assert (list(records), records.extra) == (list(listed), listed.extra)


@pytest.mark.parametrize("name", ["p.jsonl", "p.json"])
def test_the_first_rows_are_not_read_twice(tmp_path: Path, name: str) -> None:
    rows = [plain(i) for i in range(3000)]
    path = tmp_path / name
    path.write_text(json.dumps(rows) if name == "p.json" else "\n".join(map(json.dumps, rows)) + "\n")
    with path.open("rb") as stream:
        for data in (path, stream):
            reader = Reader(data)
            assert reader.first_rows() == rows[:50]
            assert [i for batch in reader.batches() for i in batch.id] == [row["id"] for row in rows]
            assert [file["sha256"] for file in reader.files] == [hashlib.sha256(path.read_bytes()).hexdigest()]
            assert reader.language_of(rows) == "sparql"


def test_reading_leaves_the_garbage_collector_on(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([plain(1)])[:-5])
    assert gc.isenabled()
    with pytest.raises(InputError, match="expected a JSON list of records, got"):
        list(Reader(path).batches())
    assert gc.isenabled()
    for _ in Reader([plain(i) for i in range(5)], batch_records=2).batches():
        assert gc.isenabled()
