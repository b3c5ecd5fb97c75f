"""Formats are known from the beginning of a file, and read into records."""

from __future__ import annotations

import gzip
import json
import os
import threading

import pytest

import sensecheck
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats import registry
from sensecheck.inputs.formats.registry import Format, formats, named, recognised
from sensecheck.inputs.formats.start import MOST_BYTES, Start
from sensecheck.inputs.gathering import gathered
from sensecheck.inputs.needs import Needs
from sensecheck.inputs.opening import Source
from sensecheck.statistics.figure import IntervalOptions

CORRECT = Needs("correct", nested=True)


def known(text: str | bytes, name: str = "file", question: str = "") -> str:
    data = text if isinstance(text, bytes) else text.encode()
    found = recognised(Start.of_bytes(name, data), question)
    return "" if found is None else found.format.name


@pytest.mark.parametrize(
    ("text", "name", "format"),
    [
        ("SELECT 1\tworld\n", "gold.sql", "sql"),
        ("select name\nfrom city\n", "one.sql", ""),  # one statement over two lines: half the lines begin one
        ("\ufeffSELECT 1\nSELECT 2\n", "predicted.txt", "sql"),
        ("I cannot help.\nSELECT 1\nSELECT 2\nSELECT 3\n", "predicted.txt", "sql"),
        ("PREFIX a: <b> SELECT * {}\n", "x.txt", "sql"),
        ("query,gold\nSELECT 1,SELECT 2\n", "table.csv", ""),
        ("select,from\n1,2\n", "table.csv", ""),
        ("selection of words </s> more\n", "replies.txt", ""),
        ('{"0": "SELECT 1\\t----- bird -----\\tx", "1": 0}', "predict_dev.json", "queries"),
        ('{\n "0": "SELECT 1",\n "1": "SELECT 2"\n}', "p.json", "queries"),
        ('{"q1": "SELECT 1"}', "p.json", "queries"),
        ('{"prediction": "SELECT 1", "gold": "SELECT 1"}\n', "p.jsonl", ""),
        ('{"0": "yes", "1": "no"}', "p.json", ""),
        ('{"id": 1, "prediction": "SELECT 1"}\n{"id": 2, "prediction": "SELECT 1"}\n', "p.jsonl", ""),
        ('{"questions": [{"id": 1, "question": [{"language": "en", "string": "?"}], "query": {"sparql": "ASK {}"}}]}', "q.json", "qald"),
        ('{"questions": [{"id": 1, "question": "?"}]}', "q.json", ""),
        ('{"a": {"x": 1}, "b": {"y": 1, "z": 1}}', "true.json", "answer-sets"),
        ('{"a": {"set_P": 0.5}, "b": {"set_P": 1.0}}', "eval.json", ""),
        ('{"head": {"vars": []}, "results": {"bindings": []}}', "x.srj", "sparql-results"),
        ('{"head": {}, "boolean": true}', "x.json", "sparql-results"),
        ('<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#"/>', "x.srx", "sparql-results"),
        ("?a\t?b\n<x>\t1\n", "x.tsv", "sparql-results"),
        ('{"instance_id": "bq1", "condition_cols": [], "ignore_order": true}\n', "spider2lite_eval.jsonl", "spider2-gold"),
        ('{"top_logits": [[1]], "labels": [1]}\n', "x.logits", "logits"),
        ('{"choices": [{"logprobs": {"content": []}}]}\n', "x.jsonl", "replies"),
        ("", "empty", ""),
        ("{", "cut.json", ""),
        ("[", "cut.json", ""),
        ('{"a": ', "cut.json", ""),
        ("[" * 100_000, "deep.json", ""),
        ('{"a":' * 100_000, "deep.json", ""),
    ],
)  # fmt: skip
def test_known_by_its_beginning(text, name, format):
    assert known(text, name) == format


def test_a_packed_file_is_looked_into():
    assert known(gzip.compress(b"SELECT 1\nSELECT 2\n"), "gold.sql.gz") == "sql"


def test_no_more_than_a_megabyte_is_looked_at(tmp_path, monkeypatch):
    asked = []
    path = tmp_path / "large.sql"
    path.write_bytes(b"SELECT 1\n" * 1_000_000)
    original = Source.head
    monkeypatch.setattr(Source, "head", lambda self, size=16: asked.append(size) or original(self, size))
    start = Start.of(Source(str(path), path=path))
    assert recognised(start) is not None and asked == [MOST_BYTES] and len(start.data) == MOST_BYTES


def test_a_document_that_goes_on_behind_the_first_megabyte(tmp_path):
    path = tmp_path / "predict.json"
    path.write_text(
        json.dumps({str(n): f"SELECT {'x' * 100}{n}\t----- bird -----\tdb" for n in range(20_000)}, indent=1)
    )
    assert path.stat().st_size > 2 * MOST_BYTES
    assert known(path.read_bytes(), "predict.json") == "queries"
    assert len(gathered(path, CORRECT)) == 20_000


def test_what_has_the_marks_of_two_asks(monkeypatch):
    twin = Format("twin", "another one", ("correct",), known=lambda start: "its lines look so")
    monkeypatch.setattr(registry, "formats", lambda: {**formats(), "twin": twin})
    with pytest.raises(
        InputError,
        match=r"gold\.sql: may be sql \(its lines begin with SELECT and the like\) or twin \(its lines look so\)\. Say which: --input-format sql",
    ):
        registry.recognised(Start.of_bytes("gold.sql", b"SELECT 1\n"))


def test_a_format_of_another_package(monkeypatch):
    class Point:
        name, value, dist = "mine", "package:FORMAT", None

        def load(self):
            return Format(
                "mine",
                "my own",
                known=lambda start: "it says so" if start.data.startswith(b"MINE") else "",
                rows=lambda source: iter([(1, {"prediction": 1 / 0})]),
            )

    class Broken(Point):
        name = "broken"

        def load(self):
            raise ImportError("no such module")

    monkeypatch.setattr(
        registry.metadata, "entry_points", lambda group: [Point(), Broken()] if group == registry.GROUP else []
    )
    formats.cache_clear()
    try:
        with pytest.warns(registry.FormatWarning, match=r"broken.*left out: ImportError"):
            assert "mine" in formats()
        assert known("MINE\n") == "mine"
        with pytest.raises(InputError, match="the format 'mine' of an installed package failed: ZeroDivisionError"):
            list(formats()["mine"].rows(Source("x")))
    finally:
        monkeypatch.undo()
        formats.cache_clear()


def test_a_name_that_is_no_format():
    with pytest.raises(InputError, match=r"expected the name of a format, got 'sqll'\. Did you mean 'sql'\?"):
        named("sqll")


def test_a_format_that_a_question_does_not_read(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("SELECT 1\n")
    with pytest.raises(InputError, match="expected a format that robust reads, got sql, which is for correct"):
        gathered(path, Needs("robust"), input_format="sql")


def test_a_format_can_be_forced(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no statement\nnor this\n")
    assert gathered(path, CORRECT) == path
    assert [row["query"] for row in gathered(path, CORRECT, input_format="sql").dictionaries()] == [
        "no statement",
        "nor this",
    ]


def test_every_format_says_what_it_is():
    for one in formats().values():
        assert one.what and one.example.startswith("sensecheck "), one.name


# ---- broken instances get one clear message


@pytest.mark.parametrize(
    ("format", "text", "words"),
    [
        ("queries", "1", "expected a JSON object of queries by position or id, got a number 1"),
        ("queries", '{"0": "SELECT 1', "expected a JSON object of queries, got"),
        ("queries", '{"0": ["SELECT 1"]}', r"record 1: 0: expected a query, or 0 where there is none, got a list"),
        ("qald", '{"questions": 5}', "questions: expected QALD's list of questions, got a number 5"),
        ("qald", '{"questions": [5]}', "record 1: expected a JSON object, got a number 5"),
        ("qald", '{"questions": [{"query": {"sparql": 5}}]}', "record 1: query: expected a query in SPARQL, as text, got a number 5"),
        ("answer-sets", "[]", "expected a JSON object of answers by question, got a list"),
        ("answer-sets", '{"a": 5}', "record 1: expected a JSON object, got a number 5"),
        ("sparql-results", '{"head": {}, "results": 5}', "expected the result of a SPARQL query in JSON, XML, CSV or TSV, got"),
        ("sparql-results", "<a><b></a>", "expected the result of a SPARQL query"),
    ],
)  # fmt: skip
def test_a_broken_instance(tmp_path, format, text, words, capsys):
    path = tmp_path / "broken"
    path.write_text(text)
    assert main(["correct", str(path), "--input-format", format]) == 2
    told = capsys.readouterr().err
    assert words in told and "Traceback" not in told and told.count("\n") == 1


def test_bad_records_are_counted_where_they_are_skipped(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"a": "SELECT 1", "b": ["SELECT 2"], "c": "SELECT 3"}')
    golds = [{"id": name, "gold": "SELECT 1"} for name in "ac"]
    together = gathered(path, CORRECT, input_format="queries", skip_bad=True, gold=golds)
    assert len(together) == 2 and [one.reason for one in together.bad] == ["not_a_text"]


def test_queries_may_be_a_plain_list(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('["SELECT 1", null, "SELECT 3"]')
    assert [row["query"] for row in gathered(path, CORRECT).dictionaries()] == ["SELECT 1", None, "SELECT 3"]


def test_a_key_that_is_there_twice(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"0": "SELECT 1", "1": "SELECT 2", "1": "SELECT 3"}')
    with pytest.raises(InputError, match="the key '1' is there twice"):
        gathered(path, CORRECT)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a\nFROM t;\n\nSELECT b\nFROM t\nWHERE c = 1;\n",
        "-- mine\nSELECT a\n  FROM t;\nSELECT b\nFROM t\nWHERE c = 1;",
    ],
)
def test_statements_over_several_lines(tmp_path, text):
    path = tmp_path / "p.sql"
    path.write_text(text)
    assert [row["query"].split() for row in gathered(path, CORRECT).dictionaries()] == [
        ["SELECT", "a", "FROM", "t;"], ["SELECT", "b", "FROM", "t", "WHERE", "c", "=", "1;"],
    ]  # fmt: skip


def test_fenced_and_numbered_lines_are_statements():
    assert known("```sql SELECT 1 ```\n```sql SELECT 2 ```\n", "p.txt") == "sql"
    assert known("1. SELECT 1\n2. SELECT 2\n", "p.txt") == "sql"


def test_files_of_one_input_are_of_one_kind(tmp_path):
    (tmp_path / "a.tsv").write_text("?x\n1\n")
    (tmp_path / "b.tsv").write_text("true\n")
    assert [row["id"] for row in gathered(str(tmp_path / "*.tsv"), CORRECT).dictionaries()] == ["a", "b"]


def test_a_pipe_is_read_from_its_beginning(tmp_path):
    records = b"".join(
        b'{"id": %d, "prediction": "SELECT 1", "gold": "SELECT 1", "x": "%s"}\n' % (n, b"y" * 200) for n in range(8000)
    )
    assert len(records) > MOST_BYTES
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write():
        with pipe.open("wb") as file:
            file.write(records[:10])
            file.flush()
            file.write(records[10:])

    writer = threading.Thread(target=write)
    writer.start()
    result = sensecheck.correct.evaluate(str(pipe), options=IntervalOptions(method="none"), normalise=False)
    writer.join()
    assert result["em"].n == 8000


# ---- commands


def test_look(tmp_path, capsys):
    path = tmp_path / "gold.sql"
    path.write_text("SELECT 1\tworld\n\nSELECT 2\tworld\n")
    assert main(["look", str(path)]) == 0
    told = capsys.readouterr().out
    assert "sql, a statement a line" in told and "examples   2" in told
    assert f"sensecheck correct PREDICTIONS --gold {path} --database DATABASES" in told
    assert main(["look", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 2


def test_look_shows_no_control_characters(tmp_path, capsys):
    path = tmp_path / "p.jsonl"
    path.write_text('{"predict\\u001b[31mion": 1, "gold": "x"}\n')
    main(["look", str(path)])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("world.sqlite", b"SQLite format 3\0" + b"\0" * 100, "--database"),
        ("facts.ttl", b"<a> <b> <c> .\n", "--graph"),
        ("tables.json", b'[{"column_names_original": [], "table_names_original": []}]', "--schema"),
        ("empty.jsonl", b"", "expected a file that holds something"),
        ("model.pkl", b"\x80\x04abc", "Pickles are never loaded"),
        ("table.csv", b"a,b\n1,2\n", "no question reads these fields"),
    ],
)
def test_look_at_other_files(tmp_path, capsys, name, content, word):
    path = tmp_path / name
    path.write_bytes(content)
    assert main(["look", str(path)]) in (0, 2)
    told = capsys.readouterr()
    assert word in told.out + told.err and "Traceback" not in told.err


def test_formats_are_listed(capsys):
    assert main(["formats"]) == 0
    told = capsys.readouterr().out
    assert all(f"{name} " in told for name in formats())
    assert main(["formats", "bird"]) == 2
