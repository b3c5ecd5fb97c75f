"""Tables from every format and from memory, with the place of each row and errors that name it."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.tables import TableBatch, TableReader, _first_misfit, detect_table_format, read_table

SKIP = "Fix the line or pass --skip-bad (skip_bad=True) to count it as unscored."
ROWS = [{"conf": 0.5, "correct": 1}, {"conf": 0.25, "correct": 0}, {"conf": 1.0, "correct": 1}]


def table(text: str | bytes, **options: Any) -> pl.DataFrame:
    return read_table(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def batches(text: str, **options: Any) -> list[TableBatch]:
    return list(TableReader(io.BytesIO(text.encode()), **options))


def error_of(data: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        if isinstance(data, (str, bytes)):
            table(data, **options)
        else:
            read_table(data, **options)
    return str(caught.value)


TEXTS = {
    "csv": "conf,correct\n0.5,1\n0.25,0\n1.0,1\n",
    "csv without an end": "conf,correct\n0.5,1\n0.25,0\n1.0,1",
    "csv with CRLF": "conf,correct\r\n0.5,1\r\n0.25,0\r\n1.0,1\r\n",
    "csv with a mark": "\ufeffconf,correct\n0.5,1\n0.25,0\n1.0,1\n",
    "csv with quotes": '"conf","correct"\n"0.5",1\n0.25,"0"\n1.0,1\n\n',
    "csv with spaces": "conf, correct\n0.5, 1\n0.25, 0\n1.0, 1\n",
    "tsv": "conf\tcorrect\n0.5\t1\n0.25\t0\n1.0\t1\n",
    "text": "conf correct\n0.5   1\n 0.25\t0\n1.0 1\n",
    "jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "json": json.dumps(ROWS),
    "json over lines": json.dumps(ROWS, indent=1),
    "json columns": json.dumps({"conf": [0.5, 0.25, 1], "correct": [1, 0, 1]}, indent=1),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("block_bytes", [1, 9, 1 << 20])
@pytest.mark.parametrize("compressed", [False, True])
def test_the_same_table_from_every_text(name: str, block_bytes: int, compressed: bool) -> None:
    text = TEXTS[name].encode()
    raw = gzip.compress(text) if compressed else text
    reader = TableReader(io.BytesIO(raw), block_bytes=block_bytes, columns={"confidence": "conf"})
    found = list(reader)
    confidence = [value for batch in found for value in batch.numbers("confidence")]
    correct = [value for batch in found for value in batch.marks("correct")]
    places = [place for batch in found for place in batch.frame[batch.place]]
    assert confidence == [0.5, 0.25, 1.0]
    assert correct == [True, False, True]
    assert places == ([1, 2, 3] if "json" in name else [2, 3, 4])
    assert {batch.place for batch in found} == {"_record" if name.startswith("json ") or name == "json" else "_line"}
    assert reader.files[0].rows == 3
    assert reader.files[0].sha256 == hashlib.sha256(raw).hexdigest()


cells = st.text(
    st.characters(exclude_characters="\0\r", exclude_categories=("Cs", "Zs", "Cc")) | st.sampled_from(',"\n'),
    max_size=6,
)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_csv_with_quoted_cells_reads_as_the_csv_module_does(rows: list[tuple[str, str]], block_bytes: int) -> None:
    made = io.StringIO()
    writer = csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["a", "b"])
    writer.writerows(rows)
    expected = [tuple(cell.strip() or None for cell in row) for row in rows]
    found = table(made.getvalue(), block_bytes=block_bytes, format="csv")
    assert list(found.select("a", "b").iter_rows()) == expected
    line = 2
    for row, place in zip(rows, found["_line"], strict=True):
        assert place == line
        line += 1 + sum(cell.count("\n") for cell in row)


def test_a_quote_that_quotes_nothing_is_text() -> None:
    """TSV as SNLI and GLUE hand it out has no quoting; CSV has none in the middle of a cell."""
    text = 'a\tb\tc\nthe 5" pipe\t"Yes," he said\t1\n"open\tx\t2\n"in quotes"\t"a ""b"" c"\t3\n"two\nlines\tx"\ty\t4\n'
    rows = list(table(text, format="tsv").iter_rows())
    assert rows == [
        (2, 'the 5" pipe', '"Yes," he said', "1"),
        (3, '"open', "x", "2"),
        (4, "in quotes", 'a "b" c', "3"),
        (5, "two\nlines\tx", "y", "4"),
    ]
    assert list(table('a,b\n5" pipe,1\nx,2\n', format="csv").iter_rows()) == [(2, '5" pipe', "1"), (3, "x", "2")]


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_tsv_with_quoted_cells_reads_as_the_csv_module_does(rows: list[tuple[str, str]], block_bytes: int) -> None:
    made = io.StringIO()
    writer = csv.writer(made, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["a", "b"])
    writer.writerows(rows)
    found = table(made.getvalue(), block_bytes=block_bytes, format="tsv")
    assert list(found.select("a", "b").iter_rows()) == [tuple(cell.strip() or None for cell in row) for row in rows]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    pl.DataFrame(ROWS).write_parquet(path)
    reader = TableReader(path, batch_rows=2, columns={"confidence": "conf"})
    found = list(reader)
    assert [batch.frame["_record"].to_list() for batch in found] == [[1, 2], [3]]
    assert pl.concat([batch.numbers("confidence") for batch in found]).to_list() == [0.5, 0.25, 1.0]
    assert reader.files[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(path.read_bytes()[:-20])
    assert error_of(path).startswith(f"{path}: cannot be read as Parquet (")


def test_several_files_and_limit(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXTS["csv"])
    (tmp_path / "b.jsonl").write_text(TEXTS["jsonl"])
    reader = TableReader([tmp_path / "a.csv", tmp_path / "b.jsonl"], limit=4)
    assert [(Path(batch.path).name, len(batch.frame)) for batch in reader] == [("a.csv", 3), ("b.jsonl", 1)]
    assert [report.format for report in reader.files] == ["csv", "jsonl"]
    assert len(read_table(str(tmp_path / "*"), limit=2)) == 2


def test_in_memory() -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pl.DataFrame(ROWS)

    class Dataset:
        """What a Hugging Face dataset can do, as far as it matters here."""

        def to_polars(self) -> pl.DataFrame:
            return frame

    class OnlyPandas:
        def to_pandas(self) -> Any:
            return pandas.DataFrame(ROWS)

    for data in (
        ROWS,
        iter(ROWS),
        {"conf": [0.5, 0.25, 1.0], "correct": [1, 0, 1]},
        {"conf": frame["conf"].to_numpy(), "correct": frame["correct"]},
        frame,
        frame.lazy(),
        pandas.DataFrame(ROWS, index=[7, 8, 9]),
        pyarrow.table({"conf": [0.5, 0.25, 1.0], "correct": [1, 0, 1]}),
        Dataset(),
        OnlyPandas(),
    ):
        found = list(TableReader(data, columns={"confidence": "conf"}, batch_rows=2))
        assert [value for batch in found for value in batch.numbers("confidence")] == [0.5, 0.25, 1.0]
        assert [place for batch in found for place in batch.frame["_record"]] == [1, 2, 3]
    # pandas gives its columns as attributes too: one called `read` makes no stream of the table
    assert read_table(pandas.DataFrame({"read": [1, 2]}))["read"].to_list() == [1, 2]
    assert frame.columns == ["conf", "correct"]  # the caller's own frame is left as it was
    assert error_of({"train": frame, "test": frame}) == (
        "expected one table, got a dict of tables ('train', 'test'). Pass one of them, e.g. data['test']."
    )
    assert error_of({"conf": 0.5}) == (
        "expected a dict of columns (lists or arrays of the same length), got a dict with the keys 'conf'. "
        "Put a single record in a list."
    )
    assert error_of({"a": [1], "b": [1, 2]}) == "expected columns of the same length, got 1 in 'a' and 2 in 'b'."
    assert error_of([{"a": 1}, 5]) == "record 2: expected an object with named values, got int 5."
    assert error_of([{"a": 1}, {"a": "x"}]) == (
        "record 2: a: expected a number, as before, got text 'x'. Give all values of the column the same kind, or pass --skip-bad (skip_bad=True)."
    )
    assert error_of(5) == (
        "expected a path, a list of dicts, a dict of columns, or a Polars, pandas, Arrow or HF table, got int."
    )


def test_renaming() -> None:
    assert error_of("conf,correct\n1,1\n", columns={"confidence": "conff"}) == (
        "<stream>: confidence: expected a column 'conff', got the columns 'conf', 'correct'. Did you mean 'conf'?"
    )
    swapped = table("a,b\n1,2\n", columns={"a": "b", "b": "a"})
    assert swapped.select("a", "b").row(0) == ("2", "1")
    wins = table("conf,confidence\n1,2\n", columns={"confidence": "conf"})
    assert wins.columns == ["_line", "confidence"]
    assert wins["confidence"].to_list() == ["1"]
    assert error_of("_line,b\n1,2\n") == (
        "<stream>: expected no column called _line (it holds each row's place), got one. Rename that column."
    )
    with pytest.raises(InputError) as caught:
        batches("conf,correct\n1,1\n")[0].numbers("confidence")
    assert str(caught.value) == (
        "<stream>: expected a column 'confidence', got the columns 'conf', 'correct'. Did you mean 'conf'?"
    )


def test_only_what_is_asked_for_is_renamed() -> None:
    asked = ["id", "confidence", "correct"]
    assert error_of("conf,correct\n1,1\n", columns={"confidnce": "conf"}, asked=asked) == (
        "columns (--columns NAME=COLUMN): expected one of the names that are asked for here (id, confidence, correct), "
        "got 'confidnce'. Did you mean 'confidence'?"
    )
    assert error_of("conf,correct\n1,1\n", columns={"conf": "confidence"}, asked=asked).endswith(
        "The name that is asked for comes first: confidence=conf."
    )
    assert table("conf,correct\n1,1\n", columns={"confidence": "conf"}, asked=asked).columns[1:] == [
        "confidence", "correct",
    ]  # fmt: skip


def test_headers() -> None:
    assert error_of("0.5 1\n0.25 0\n") == (
        "<stream>:1: expected a header with the names of the columns, got '0.5 1'. "
        "Put a line with the 2 names before it, e.g. confidence correct"
    )
    names = ["grade", "conf"]
    assert table("Correct 0.5\nWrong 0.25\n", names=names)["grade"].to_list() == ["Correct", "Wrong"]
    assert table("grade confidence_level\nCorrect 0.5\n", names=names)["grade"].to_list() == ["Correct"]
    assert table("grade conf\nCorrect x\n", names=names)["grade"].to_list() == ["Correct"]
    assert table("a b\nc d\n", names=names)["grade"].to_list() == ["a", "c"]
    assert table("a b\nc d\n", names=names, header=True)["grade"].to_list() == ["c"]
    assert table("1 2\n", names=names, header=False)["conf"].to_list() == ["2"]
    assert table(",conf\n0,0.5\n").columns == ["_line", "column_1", "conf"]  # pandas writes its index so
    assert error_of("a,a\n1,2\n") == "<stream>:1: expected different column names, got 'a' 2 times."


def test_cells() -> None:
    assert table("a,b\n1,\n,2\n").select("a", "b").rows() == [("1", None), (None, "2")]
    assert error_of("a,b\n1,2\n1,2,3\n") == f"<stream>:3: expected 2 cells ('a', 'b'), got 3 in '1,2,3'. {SKIP}"
    assert error_of('a,b\n"x",2\n1\n') == f"<stream>:3: expected 2 cells ('a', 'b'), got 1 in '1'. {SKIP}"
    assert error_of("a b\n1 2\n\n1 2\n") == f"<stream>:3: expected a record, got a blank line between records. {SKIP}"
    assert error_of('a,b\n1,2\n"x,2\n') == (
        f"<stream>:3: expected a closing quote for every opening one, got the end of the file inside '\"x,2'. {SKIP}"
    )
    assert error_of(b"a,b\n1,\xe9\n") == (
        "<stream>:2: expected text in UTF-8, got the byte 0xe9. Convert it with iconv, e.g. iconv -f LATIN1 -t UTF-8."
    )
    reader = TableReader(io.BytesIO(b"a,b\n1,2\n\n9\n3,4\n\n"), skip_bad=True)
    assert [row for batch in reader for row in batch.frame.rows()] == [(2, "1", "2"), (5, "3", "4")]
    assert [(bad.line, bad.reason) for bad in reader.files[0].bad_records] == [
        (3, "blank_line"),
        (4, "cell_count"),
    ]
    assert len(table("")) == 0
    assert table("a,b\n").columns == ["_line"]


def test_json_errors() -> None:
    assert error_of('{"a": 1}\n{"a": \n') == (
        f"<stream>:2: expected a complete JSON object, got a line that ends too early, at '{{\"a\":'. {SKIP}"
    )
    assert error_of('{"a": 1}\n{"a" 1}\n') == (
        f"<stream>:2: expected a JSON object, got '1}}' at column 6 (a ':' should stand here). {SKIP}"
    )
    assert error_of(b'{"a": 1}\n{"a": "\xff"}\n') == (
        f"<stream>:2: expected text in UTF-8, got the byte 0xff at byte 8. {SKIP}"
    )
    assert error_of('{"a": 1}\n[1]\n') == f"<stream>:2: expected a JSON object, got [1]. {SKIP}"
    assert error_of('{"a": 1}\n\n{"a": 1}\n') == (
        f"<stream>:2: expected a record, got a blank line between records. {SKIP}"
    )
    assert error_of('{"a": 1}\n{"a": "x"}\n') == (
        "<stream>:2: a: expected a number, as before, got text 'x'. Give all values of the column the same kind, or pass --skip-bad (skip_bad=True)."
    )
    assert error_of('[{"a": 1},\n{"a"}]') == (
        "<stream>:2: expected a JSON array of objects, got '}]' at column 5 (a ':' should stand here). "
        "Is the file complete? One object per line (JSONL) is read too."
    )
    assert error_of('[{"a": 1},') == (
        "<stream>:1: expected a JSON array of objects, got a document that ends too early. "
        "Is the file complete? One object per line (JSONL) is read too."
    )
    assert error_of("[1]") == "<stream>: record 1: expected an object with named values, got int 1."
    assert error_of('{\n"data": [1], "n": 3}') == (
        "<stream>: expected a JSON array of objects, or an object of equally long lists, got an object with the keys "
        "'data', 'n'. Its records may be under 'data': save that list by itself."
    )
    reader = TableReader(io.BytesIO(b'{"a": NaN}\n{\n{"a": 2}\n'), skip_bad=True)
    assert [row for batch in reader for row in batch.frame["_line"]] == [1, 3]
    assert reader.files[0].bad == 1
    assert error_of("x", format="xml") == (
        "format: expected one of auto, csv, tsv, text, jsonl, json, parquet, arrow, got 'xml'."
    )


def test_numbers_and_marks_name_the_line() -> None:
    found = batches("conf,correct\n0.5,Correct\nhigh,wrong\nnan,maybe\n")[0]
    for name, column, message in (
        ("numbers", "conf", "<stream>:3: conf: expected a finite number, got 'high'."),
        (
            "marks",
            "correct",
            "<stream>:4: correct: expected right or wrong (true/false, 1/0, Correct/Wrong, yes/no), got 'maybe'.",
        ),
    ):
        with pytest.raises(InputError) as caught:
            getattr(found, name)(column)
        assert str(caught.value) == message
    for bad in ("nan", "inf", "-Infinity", "1e999"):
        with pytest.raises(InputError) as caught:
            batches(f"conf,x\n1,1\n{bad},1\n")[0].numbers("conf")
        assert str(caught.value) == f"<stream>:3: conf: expected a finite number, got '{bad}'."
    with pytest.raises(InputError) as caught:
        next(iter(TableReader([{"a": [1]}]))).numbers("a")
    assert str(caught.value).startswith("record 1: a: expected a number, got ")
    nulls = batches("conf,correct\n,\n 1e-3 ,TRUE\n")[0]
    assert nulls.numbers("conf").to_list() == [None, 0.001]
    assert nulls.marks("correct").to_list() == [None, True]


@pytest.mark.parametrize("bad", ["heavy", "-1", "nan", ""])
def test_what_is_no_weight_says_what_a_weight_is(bad: str) -> None:
    with pytest.raises(InputError, match=r"^<stream>:3: w: expected a weight of at least 0, got ") as caught:
        batches(f"w,x\n1,1\n{bad},1\n")[0].weights("w")
    assert caught.value.reason == "bad_weight"


def test_formats_are_recognised_by_content_then_name() -> None:
    assert detect_table_format(b"a\n1\n", "x.csv.gz").name == "csv"
    assert detect_table_format(b"a\n1\n", "x.tsv").name == "tsv"
    assert detect_table_format(b"a, b\tc\n", "x.csv").name == "csv"
    assert detect_table_format(b"a\n1\n").name == "text"


@pytest.mark.golden
def test_real_grades_and_confidences(shared: Path) -> None:
    reader = TableReader(
        str(shared / "data/calibration/llama13b_arc/*.txt"),
        columns={"confidence": "confidence_level", "correct": "grade"},
    )
    count = right = 0
    for batch in reader:
        count += len(batch.numbers("confidence"))
        right += int(batch.marks("correct").sum())
    assert (len(reader.files), count, right) == (24, 10_360, 6_016)
    assert {report.format for report in reader.files} == {"text"}


@pytest.mark.parametrize("mark", [";", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.txt"])
def test_another_separator_is_told_as_such(tmp_path: Path, mark: str, name: str) -> None:
    path = tmp_path / name
    path.write_text(f"confidence{mark}correct{mark}note\n0,5{mark}1{mark}a, b\n")
    with pytest.raises(InputError) as caught:
        read_table(path, skip_bad=True)
    said = str(caught.value)
    assert f"{name}:1: expected cells separated by commas or tabs" in said and f"separated by '{mark}'" in said
    assert f"polars.read_csv(FILE, separator='{mark}')" in said


def test_a_time_that_no_calendar_has_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"confidence": pl.Series([2**62], dtype=pl.Int64).cast(pl.Datetime("ms")), "correct": [True]})
    with pytest.raises(InputError, match="expected a finite number, got '4611686018427387904 ms since 1970'"):
        next(iter(TableReader(frame))).numbers("confidence")
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "kind", [pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("us", "Asia/Tokyo"), pl.Date(), pl.Duration("ms")]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_moment_that_no_calendar_has(kind: pl.DataType, sign: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Polars writes such a moment down by ending the process's thread with a trace on the terminal."""
    late = sign * (2**31 - 1 if kind == pl.Date else 2**62)
    moments = pl.Series([late, None]).cast(kind)
    rows = pl.DataFrame({"when": moments, "whens": [moments, None], "at": [{"x": [moments]}, None]}, strict=False)
    (batch,) = TableReader(rows)
    written = batch.spelled("when").to_list()
    assert written == batch.frame["when"].to_list() and written[0].startswith(f"{late} ") and written[1] is None
    assert batch.frame["whens"].to_list() == [[late, None], None]
    assert late in batch.frame["at"].to_list()[0]["x"][0]
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 9])
def test_the_first_value_that_does_not_fit(rows: int) -> None:
    assert _first_misfit([{"a": 1.0}] * rows) is None
    for at in range(1, rows):
        assert _first_misfit([{"a": [1]} if row == at else {"a": 1.0} for row in range(rows)]) == at


@pytest.mark.parametrize("kind", [pl.Datetime("ms"), pl.Datetime("ns", "Asia/Tokyo"), pl.Date(), pl.Duration("ms")])
def test_a_moment_that_a_calendar_has(kind: pl.DataType) -> None:
    moments = pl.Series("when", [0, None, 5]).cast(kind)
    (batch,) = TableReader(moments.to_frame())
    assert batch.frame["when"].equals(moments)
    if kind != pl.Duration:
        assert batch.spelled("when")[0].startswith("1970-01-01")


def test_columns_of_objects_that_polars_panics_over_are_one_message(capfd):
    """One object holds a list of nothing, the next a list of texts under the same key."""
    columns = {"r": [{"1": [None]}, {"": [""], "1": [""]}]}
    with pytest.raises(InputError, match=r"record 2: r: expected values built alike in all records") as told:
        list(TableReader(columns))
    assert "panic" not in capfd.readouterr().err + str(told.value)


def test_columns_in_memory_are_nested_32_deep_at_most():
    value: Any = "x"
    for _ in range(60):
        value = {"x": [value]}
    with pytest.raises(InputError, match="r: expected lists and objects at most 32 deep"):
        list(TableReader({"r": [value, {"x": ["y"]}, value]}))
