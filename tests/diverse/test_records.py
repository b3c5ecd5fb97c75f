"""Formats, and what each kind of bad input gets."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.diverse.records import DONORS, SetReader, SetRecord
from sensecheck.inputs.errors import InputError, shown
from sensecheck.report.asking import asked
from sensecheck.statistics.figure import IntervalOptions

REFERENCES = {"who?": {"1": ["b c", "d"], "0": ["a"]}, "where?": {"null": ["e f"], "0": ["g"]}}


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def reader(
    data: Any, references: Any = None, eos: str | None = None, queries: Any = None, donors: int = DONORS, **shared: Any
) -> SetReader:
    return SetReader(data, asked(shared), references, eos=eos, queries=queries, donors=donors)  # type: ignore[arg-type]


def read(data: Any, references: Any = None, **options: Any) -> list[SetRecord]:
    return list(reader(data, references, **options))


def refused(data: Any, references: Any = None, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        read(data, references, **options)
    return str(raised.value)


@pytest.fixture
def references(tmp_path: Path) -> str:
    return write(tmp_path, "refs.json", json.dumps(REFERENCES))


def test_seed_files(tmp_path: Path, references: str) -> None:
    first, second = read(write(tmp_path, "h.txt", "a b </s> c\r\ng</s>h\n"), references)
    assert first.hypotheses == ("a b", "c")
    assert first.groups == (("a",), ("b c", "d"))  # by the keys' numbers
    assert first.group_names == ("0", "1")
    assert (first.id, first.query) == ("1", "who?")
    assert second.hypotheses == ("g", "h")
    assert second.group_names == ("0", "null")
    # The only other query lends its hypotheses.
    assert first.chance == (("g", "h"),)
    assert second.chance == (("a b", "c"),)


def test_rules_are_counted(tmp_path: Path, references: str) -> None:
    ruled = reader(write(tmp_path, "h.txt", "a </s>  </s> b </s>\n\n\n\n"), references)
    first, second = list(ruled)
    assert first.hypotheses == ("a", "", "b")
    assert second.hypotheses == ()
    assert ruled.log.counts == {
        "lines with a separator at the end (the empty text after it is not a hypothesis)": 1,
        "empty hypotheses (score 0)": 1,
        "queries without hypotheses (blank lines)": 1,
        "files with blank lines after the last query (dropped)": 1,
    }
    assert [len(one.hypotheses) for one in read(write(tmp_path, "h2.txt", "\na\n\n"))] == [0, 1]


def test_wrong_separator(tmp_path: Path, references: str) -> None:
    path = write(tmp_path, "h.txt", "a <EOS> b\nc <EOS> d\n")
    said = refused(path, references)
    assert said == (
        f"{path}: the separator '</s>' occurs in no line, but '<EOS>' does in 2. "
        "Pass --eos '<EOS>' (eos=), or a text that is in no line if each line is one hypothesis."
    )
    assert [one.hypotheses for one in read(path, references, eos="<EOS>")] == [("a", "b"), ("c", "d")]
    # One hypothesis a line is fine where no other separator is in sight.
    assert [one.hypotheses for one in read(write(tmp_path, "one.txt", "a b\nc d\n"), references)] == [
        ("a b",),
        ("c d",),
    ]
    assert "a separator" in refused(path, references, eos="")


def test_unequal_corpora(tmp_path: Path, references: str) -> None:
    path = write(tmp_path, "h.txt", "a\nb\nc\n")
    assert refused(path, references) == (
        f"{path} has 3 queries, {references} has 2. They are matched line by line: is a line missing or repeated? "
        "--queries FILE (queries=) matches by text."
    )
    short = write(tmp_path, "short.txt", "a\n")
    assert f"{short} has 1 queries, {references} has 2" in refused(short, references)


def test_bad_references(tmp_path: Path) -> None:
    hypotheses = write(tmp_path, "h.txt", "a\n")

    def said(text: str, name: str = "r.json") -> str:
        return refused(hypotheses, write(tmp_path, name, text))

    assert "r.json: record 1: query 'q': expected group '2' to have at least one reference, got []" in said(
        '{"q": {"0": ["a"], "2": []}}'
    )
    assert "at least one group" in said('{"q": {}}')
    assert "query 'q' is given more than once" in said('{"q": {"0": ["a"]}, "q": {"0": ["b"]}}')
    assert "r.json:1: expected a JSON object" in said('{"q": ')
    assert "to be a list of texts, got [1]" in said('{"q": {"0": [1]}}')
    assert "r.txt:1: expected at least one reference, got a blank line" in said("\na\n", "r.txt")


def test_empty_references_are_dropped_and_counted(tmp_path: Path) -> None:
    dropping = reader(["a"], {"q": {"0": ["a", " "], "1": ["b"]}})
    assert next(iter(dropping)).groups == (("a",), ("b",))
    assert dropping.log.counts["empty references (dropped)"] == 1


def test_queries_match_by_text(tmp_path: Path, references: str) -> None:
    hypotheses = write(tmp_path, "h.txt", "g\na\ng\n")
    queries = write(tmp_path, "q.txt", "where?\nwho?\nwhere?\n")
    found = read(hypotheses, references, queries=queries)
    assert [one.query for one in found] == ["where?", "who?", "where?"]
    assert found[0].groups == found[2].groups == (("g",), ("e f",))
    # A query's own hypotheses are no baseline for it, even from another line.
    assert found[0].chance == (("a",),)
    wrong = write(tmp_path, "w.txt", "where?\nwhom?\nwho?\n")
    assert "w.txt:2: expected a query that the references have, got 'whom?'. Did you mean 'who?'?" in refused(
        hypotheses, references, queries=wrong
    )
    short = write(tmp_path, "s.txt", "where?\n")
    assert "s.txt has 1" in refused(hypotheses, references, queries=short)


def test_tables(tmp_path: Path) -> None:
    rows = [
        {"id": "x", "query": "q1", "hypotheses": ["a", "b"], "references": {"g1": ["a"], "g0": ["b"]}, "kind": "k"},
        {"id": "y", "query": "q2", "hypotheses": ["c"], "references": [["c"], ["d", "e"]], "kind": "l"},
        {"id": "z", "query": "q3", "hypotheses": "one", "references": ["flat", "list"]},
        {"id": "w", "query": "q4", "hypotheses": [], "references": "single"},
    ]
    path = write(tmp_path, "r.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(path).read_bytes()))
    for data in (rows, path, str(packed)):
        table = reader(data, slices=["kind"])
        x, y, z, w = list(table)
        assert x.group_names == ("g1", "g0")  # no integers: in the order given
        assert y.groups == (("c",), ("d", "e"))
        assert z.groups == (("flat",), ("list",))
        assert z.hypotheses == ("one",)
        assert w.groups == (("single",),)
        assert w.hypotheses == ()
        assert [one.id for one in (x, y, z, w)] == ["x", "y", "z", "w"]
        assert x.columns == {"kind": "k"}
        assert table.flat
    frame = pl.DataFrame({"id": [1, 2], "hypotheses": [["a", "b"], ["c"]], "references": [[["a"]], [["c"], ["d"]]]})
    frame.write_parquet(tmp_path / "r.parquet")
    for data in (frame, str(tmp_path / "r.parquet")):
        assert [one.groups for one in read(data)] == [(("a",),), (("c",), ("d",))]
    cells = write(tmp_path, "r.csv", 'id,hypotheses,references\n1,"[""a"", ""b""]","[[""a""]]"\n')
    assert read(cells)[0].hypotheses == ("a", "b")


def test_bad_rows(tmp_path: Path) -> None:
    text = '{"id": "a", "hypotheses": ["x"]}\n{"id": "b", "hypotheses": 3}\n{"id": \n\n{"id": "d"}\n'
    path = write(tmp_path, "r.jsonl", text)
    assert refused(path) == (
        f"{path}:2: hypotheses: expected a list of texts, got 3. "
        "Fix the line or pass --skip-bad (skip_bad=True) to count it as unscored."
    )
    kept = read(path, skip_bad=True)
    assert [(one.id, one.reason) for one in kept] == [
        ("a", ""), ("b", "bad_hypotheses"), ("3", "bad_json"), ("d", "no_hypotheses_field"),
    ]  # fmt: skip
    assert "Name it with --columns hypotheses=YOURS" in refused([{"answers": ["a"]}])
    # What has no lines counts records, in a document too.
    assert refused([{"hypotheses": 3}]).startswith("record 1: hypotheses: expected a list of texts")
    document = write(tmp_path, "r.json", '[{"hypotheses": ["a"]}, {"hypotheses": 3}]')
    assert refused(document).startswith(f"{document}: record 2: hypotheses: expected a list of texts, got 3.")
    assert read([{"answers": ["a"]}], columns={"hypotheses": "answers"})[0].hypotheses == ("a",)


def test_references_join_by_query_or_id(tmp_path: Path, references: str) -> None:
    rows = [{"query": "where?", "hypotheses": ["g"]}, {"query": "who?", "hypotheses": ["a"]}]
    assert [one.group_names for one in read(rows, references)] == [("0", "null"), ("0", "1")]
    by_id = [{"id": 7, "hypotheses": ["a"]}, {"id": 5, "hypotheses": ["b"]}]
    refs = [{"id": 5, "references": ["five"]}, {"id": 7, "references": ["seven"]}]
    assert [one.groups for one in read(by_id, refs)] == [(("seven",),), (("five",),)]
    assert "has no references" in refused([{"query": "when?", "hypotheses": ["x"]}], references)


def test_plain_lists_and_mappings() -> None:
    found = read([["a b", "c"], "d"], [[["a b"], ["c"]], ["flat", "refs"]])
    assert [one.hypotheses for one in found] == [("a b", "c"), ("d",)]
    assert found[1].groups == (("flat",), ("refs",))
    tokens = read([[["a", "b"], ["c"]]])
    assert tokens[0].hypotheses == ("a b", "c")
    assert read({"q": ["a"]}, {"q": ["a"]})[0].query == "q"


def test_several_files_keep_their_places_apart(tmp_path: Path) -> None:
    one, two = write(tmp_path, "1.txt", "a\n"), write(tmp_path, "2.txt", "b\n")
    records = list(read(str(tmp_path / "*.txt")))
    assert [record.id for record in records] == ["1", "2"]  # numbered over all files
    assert [(record.place.path, record.place.number) for record in records] == [(str(one), 1), (str(two), 1)]


def test_a_list_of_paths_is_files_a_list_of_texts_is_responses(tmp_path: Path) -> None:
    one, two = Path(write(tmp_path, "1.txt", "a\n")), Path(write(tmp_path, "2.txt", "b\n"))
    assert [record.hypotheses for record in read([one, two])] == [("a",), ("b",)]
    assert [record.hypotheses for record in read([str(one)])] == [(str(one),)]


def test_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b'{"id": "x", "hypotheses": ["a", "b"], "references": ["a"]}\n'
    assert read(io.BytesIO(rows))[0].hypotheses == ("a", "b")
    assert read(io.BytesIO(b"a </s> b\nc\n"))[0].hypotheses == ("a", "b")
    assert read(io.BytesIO(b"id,hypotheses\n1,a\n"))[0].hypotheses == ("id,hypotheses",)  # text: it has no name
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(rows)))
    assert read("-")[0].id == "x"


def test_chance_is_drawn_by_id_not_by_order() -> None:
    rows = [{"id": i, "hypotheses": [f"h{i}"], "references": [f"r{i}"]} for i in range(50)]
    third, fourth = IntervalOptions(seed=3), IntervalOptions(seed=4)
    forward = {one.id: one.chance for one in read(rows, options=third)}
    assert all(len(chance) == 5 and (f"h{name}",) not in chance for name, chance in forward.items())
    assert forward == {one.id: one.chance for one in read(rows, options=third)}
    assert forward != {one.id: one.chance for one in read(rows, options=fourth)}
    assert all(len(set(chance)) == 5 for chance in forward.values())
    assert all(one.chance == () for one in read(rows, donors=0))


@pytest.mark.golden
def test_real_flat_references(shared: Path) -> None:
    """DailyDialog with several references a turn: each turn's text answered by the next turn."""
    rows = []
    with gzip.open(shared / "data/dialogue/dailydialog_multireference.json.gz", "rt") as lines:
        for number, line in zip(range(20), lines, strict=False):
            turns = json.loads(line)["dialogue"]
            rows += [
                {"id": f"{number}.{i}", "query": a["text"], "hypotheses": [b["text"]], "references": a["responses"]}
                for i, (a, b) in enumerate(itertools.pairwise(turns))
                if a.get("responses")
            ]
    found = read(rows)
    assert len(found) == len(rows) > 100
    assert {len(one.groups) for one in found} <= {1, 2, 3, 4, 5}


def test_a_document_that_is_a_text_is_no_path(tmp_path: Path) -> None:
    """It used to be opened: a file of responses could have another file read in its place."""
    other = write(tmp_path, "other.txt", "secret</s>words\n")
    path = write(tmp_path, "replies.json", json.dumps(str(other)))
    assert refused(path) == (
        f"{path}: expected {{query: [hypothesis]}}, lists of hypotheses, or records, got {shown(str(other), 60)}."
    )


def test_a_bad_record_is_skipped_whatever_its_references(tmp_path):
    from sensecheck.diverse import evaluate

    records = tmp_path / "d.jsonl"
    records.write_text(
        '{"id":"a","query":"is it good ?","hypotheses":["yes ."]}\n'
        '{"id":"b","query":"is it good ?","hypotheses":["no .", null]}\n'
        '{"id":"c","query":"is it\n'
        '{"id":"d","query":"is it god ?","hypotheses":["yes ."]}\n'
    )
    references = tmp_path / "refs.json"
    references.write_text('{"is it good ?": [["yes ."], ["no ."]]}')
    with pytest.raises(InputError):
        evaluate(records, references=references)
    result = evaluate(records, references=references, skip_bad=True)
    assert (result["mds"].n, sum(result["mds"].unscored.values())) == (1, 3)
    assert result["mds"].unscored["unknown_query"] == 1
