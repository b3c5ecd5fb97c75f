"""From files to figures, through Python and through the command."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sensecheck
from sensecheck import demo, faithful
from sensecheck.cli import main
from sensecheck.faithful.examples import example_page, painted
from sensecheck.inputs.errors import InputError
from sensecheck.report.result import load
from sensecheck.statistics.compare import ComparisonError
from sensecheck.statistics.figure import IntervalOptions

PAIRS = [
    {
        "id": "1",
        "query": "SELECT name FROM boat WHERE length > 20",
        "sentence": "Names of boats longer than 20.",
        "kind": "a",
    },
    {
        "id": "2",
        "query": "SELECT name FROM boat WHERE length > 20",
        "sentence": "Names of boats shorter than 20.",
        "kind": "a",
    },
    {"id": "3", "query": "SELEC nothing ((", "sentence": "Names of boats.", "kind": "b"},
    {"id": "4", "query": "SELECT count(*) FROM boat", "sentence": "How many boats are there?", "kind": "b"},
]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(p) + "\n" for p in PAIRS))
    return path


def test_figures_slices_and_reasons(pairs: Path) -> None:
    result = faithful.evaluate(pairs, slices=["kind"])
    rate = result["consistent"]
    assert rate.value == pytest.approx(2 / 3)
    assert rate.n == 3
    assert rate.low is not None
    assert dict(rate.unscored) == {"unreadable_query": 1}
    assert result["contradicted"].value == pytest.approx(1 / 3)
    by_kind = {dict(f[0].slice)["kind"]: f[0].value for f in result.slices("kind")}
    assert by_kind == {"a": 0.5, "b": 1.0}
    # n counts pairs, so what a share of facts is out of stands beside it.
    values = result["values_kept"]
    facts = result.measurements["values_facts"].sum()
    assert (values.n, values.beside) == (3, {"facts": facts})
    assert values.to_dict()["beside"] == {"facts": facts}
    frame = result.measurements
    assert frame["consistent"].to_list() == [True, False, None, True]
    assert frame["contradicted"].to_list() == [0, 1, None, 0]
    assert "say what their query says" in result.verdict()[0]
    assert {c.name for c in result.charts()} == {"facts", "faults"}


@pytest.mark.parametrize("form", ["json", "csv", "parquet", "memory", "lists", "polars"])
def test_all_kinds_of_input_give_the_same(tmp_path: Path, pairs: Path, form: str) -> None:
    want = faithful.evaluate(pairs, options=IntervalOptions(method="none")).measurements.drop("id")
    data: Any = tmp_path / f"pairs.{form}"
    if form == "json":
        data.write_text(json.dumps(PAIRS))
    elif form == "csv":
        with data.open("w", newline="") as file:
            writer = csv.DictWriter(file, PAIRS[0])
            writer.writeheader()
            writer.writerows(PAIRS)
    elif form == "parquet":
        pl.DataFrame(PAIRS).write_parquet(data)
    elif form == "memory":
        data = PAIRS
    elif form == "polars":
        data = pl.DataFrame(PAIRS)
    if form == "lists":
        got = faithful.evaluate(queries=[p["query"] for p in PAIRS], sentences=[p["sentence"] for p in PAIRS])
    else:
        got = faithful.evaluate(data)
    assert got.measurements.drop("id").equals(want)


def test_the_originals_files(tmp_path: Path) -> None:
    spider = tmp_path / "dev.json"
    spider.write_text(
        json.dumps(
            [{"question_toks": ["How", "many", "boats", "?"], "query": "SELECT count(*) FROM boat", "db_id": "port"}]
        )
    )
    assert faithful.evaluate(spider)["consistent"].value == 1.0
    logic = tmp_path / "test.json"
    logic.write_text(
        json.dumps(
            [
                {
                    "sent": "most games were on clay .",
                    "logic_str": "most_eq { all_rows ; surface ; clay } = true",
                    "topic": "x",
                }
            ]
        )
    )
    assert faithful.evaluate(logic, language="logic2text")["consistent"].value == 1.0


def test_renamed_columns_and_schema(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("right_form,generated\nSELECT name FROM boat,Names of boats.\n")
    with pytest.raises(InputError, match="--columns query=COLUMN"):
        faithful.evaluate(path)
    schema = tmp_path / "s.sql"
    schema.write_text("CREATE TABLE boat (name TEXT)")
    result = faithful.evaluate(path, columns={"query": "right_form", "sentence": "generated"}, schema=schema)
    assert result["consistent"].value == 1.0
    assert "schema:" in result.signature.short


def test_bad_records_are_named_or_skipped(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"query": "SELECT name FROM boat", "sentence": "Names of boats."}\n{"query": "SELECT 1", "sentence": null}\n'
    )
    with pytest.raises(InputError, match=r"p\.jsonl:2: sentence: expected a text"):
        faithful.evaluate(path)
    result = faithful.evaluate(path, skip_bad=True)
    assert dict(result["consistent"].unscored) == {"missing_sentence": 1}
    with pytest.raises(InputError, match="language"):
        faithful.evaluate(path, language="prolog")
    with pytest.raises(InputError, match="at least one"):
        faithful.evaluate(pl.DataFrame(schema={"query": pl.String, "sentence": pl.String}))


def test_an_unknown_database_is_unscored(tmp_path: Path) -> None:
    rows = [{"query": "SELECT name FROM boat", "sentence": "Names of boats.", "db_id": "nowhere"}]
    schema = [
        {"db_id": d, "table_names_original": ["boat"], "column_names_original": [[-1, "*"], [0, "name"]]}
        for d in ("a", "b")
    ]
    assert dict(faithful.evaluate(rows, schema=schema)["consistent"].unscored) == {"unknown_db_id": 1}


def test_runs_resume_load_and_compare(tmp_path: Path, pairs: Path) -> None:
    a = faithful.evaluate(pairs, out=tmp_path / "a", system="a")
    better = [dict(p, sentence=PAIRS[0]["sentence"] if p["id"] == "2" else p["sentence"]) for p in PAIRS]
    b = faithful.evaluate(better, out=tmp_path / "b", system="b")
    again = load(tmp_path / "a")
    assert again["consistent"].value == a["consistent"].value
    assert again["values_kept"].to_dict() == a["values_kept"].to_dict()
    comparison = a.compare(b)
    assert comparison["consistent"].difference == pytest.approx(1 / 3)
    assert comparison.flips is not None
    assert len(comparison.flips) == 1


def test_examples_are_marked_on_both_sides(pairs: Path) -> None:
    result = faithful.evaluate(pairs)
    frame = result.examples()
    shown = dict(zip(frame["id"], example_page(frame), strict=True))
    query, sentence, findings = shown["2"]["parts"]
    assert ["20", "bad"] in query["spans"]
    assert ["shorter", "bad"] in sentence["spans"]
    assert findings["rows"][0][0] == "contradicted"
    assert "".join(t for t, _ in query["spans"]) == PAIRS[1]["query"]
    assert shown["2"]["title"] == PAIRS[1]["sentence"]
    assert shown["3"]["title"] == "unscored: unreadable_query"
    assert painted("abc" * 1000, [((0, 9999), "good")])[-1][1] == "muted"


def test_parity_as_a_result(tmp_path: Path, pairs: Path) -> None:
    rows = [
        {"query": "eq { count { all_rows } ; 8 } = true", "sentence": "nine boats", "reference": None},
        {"query": "eq { count { all_rows } ; 8 } = true", "sentence": "eight boats", "reference": None},
        {"query": "eq { count { all_rows } ; ² } = true", "sentence": "two boats", "reference": None},
    ]
    result = faithful.evaluate(rows, language="logic2text", parity="blec")
    assert result["consistent"].value == 0.5
    assert result["consistent"].absent
    assert dict(result["consistent"].unscored) == {"the original raises ValueError": 1}
    with pytest.raises(InputError, match="schema"):
        faithful.evaluate(pairs, parity="blec")
    tables = tmp_path / "tables.json"
    tables.write_text(json.dumps([{"db_id": "port", "table_names": ["boat"], "table_names_original": ["boat"],
        "column_names_original": [[-1, "*"], [0, "name"], [0, "length"]]}]))  # fmt: skip
    kept = faithful.evaluate(pairs, parity="blec", schema=tables, out=tmp_path / "run", slices=["kind"])
    assert kept.measurements["consistent"].to_list() == [
        False,
        False,
        None,
        True,
    ]  # it knows neither longer nor shorter
    assert kept.signature.method["as"] == "blec"
    assert (tmp_path / "run" / "report.html").exists()


def test_the_demos_sentences() -> None:
    found = {}
    for system in "ab":
        result = faithful.evaluate(demo.path(f"sentences_{system}.jsonl"), schema=demo.path("tables.json"))
        truth = pl.read_ndjson(demo.path(f"sentences_{system}.jsonl"))["faithful"]
        said = result.measurements["consistent"]
        assert not (truth & ~said).any()  # no false alarm
        found[system] = result["consistent"].value
        assert ((~truth) & (~said)).sum() >= 0.8 * (~truth).sum()
    assert found["a"] < found["b"]


def test_the_command(tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faithful", str(pairs), "--slice", "kind", "--out", str(tmp_path / "run"), "--format", "json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["figures"][0]["name"] == "consistent"
    assert (tmp_path / "run" / "report.html").exists()
    assert main(["faithful", str(pairs), "--fail-under", "consistent=0.9", "--no-ci"]) == 1
    told = capsys.readouterr()
    assert "gate failed" in told.err
    row = next(line.split() for line in told.out.splitlines() if line.strip().startswith("values kept"))
    assert row[-3:] == ["4", "3", "1"]  # facts, pairs, unscored
    one = tmp_path / "one.jsonl"
    one.write_text(
        '{"query": "SELECT name FROM singer WHERE country = \'France\'", "sentence": "Names of singers from France?"}\n'
    )
    assert main(["faithful", str(one), "--no-ci", "--fail-under", "consistent=1"]) == 0
    assert main(["faithful", str(one), "--no-ci", "--fail-under", "consistent=1", "--strict"]) == 1
    assert main(["faithful", str(tmp_path / "absent.jsonl")]) == 2
    assert main(["faithful", str(pairs), "--threshold", "7"]) == 2
    assert main(["explain", "consistent"]) == 0
    assert "query says and nothing else" in capsys.readouterr().out


def test_the_command_as_blec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text('{"logic": "max { all_rows ; age } = true", "sentence": "The LARGEST boat"}\n')
    assert main(["faithful", str(path), "--language", "logic2text", "--as", "blec"]) == 0
    assert "consistent (BLEC)" in capsys.readouterr().out


def test_hostile_text_is_escaped_in_the_report(tmp_path: Path) -> None:
    rows = [
        {
            "query": "SELECT name FROM boat WHERE name = '<script>alert(1)</script>'",
            "sentence": "<img src=x onerror=alert(1)> \u202e",
        }
    ]
    faithful.evaluate(rows, out=tmp_path / "run", system="<b>evil</b>")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<b>evil" not in page


def test_the_room_is_reached_from_the_package() -> None:
    assert "faithful" in dir(sensecheck) or sensecheck.faithful is faithful


def test_an_unknown_dialect_is_refused_and_one_slice_may_be_a_word() -> None:
    pairs = [{"query": "SELECT a FROM b", "sentence": "The a of every b.", "kind": k} for k in "xxyy"]
    with pytest.raises(InputError, match="Did you mean"):
        faithful.evaluate(pairs, dialect="postgre")
    assert len(faithful.evaluate(pairs, dialect="postgres", slices="kind").slices("kind")) == 2


def test_the_signature_tells_schemas_and_lexicons_apart(tmp_path: Path) -> None:
    rows = [{"query": "SELECT name FROM singer", "sentence": "Names of singers", "db_id": "d"}]

    def method(**options: Any) -> Any:
        return faithful.evaluate(rows, **options).signature.method

    first, second = tmp_path / "first.sql", tmp_path / "second.sql"
    first.write_text("CREATE TABLE singer (name TEXT)")
    second.write_text("CREATE TABLE singer (name TEXT, age INT)")
    # The command line gives lists, and folders hold several: what counts is what is in them.
    shown = {
        str(given): method(schema=given)["schema"] for given in (first, [first], second, [second], [first, second])
    }
    assert len(set(shown.values())) == 3 and shown[str(first)] == shown[str([first])]
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "renamed.sql").write_text("CREATE  TABLE singer (\n  name TEXT\n);")
    assert method(schema=copy / "renamed.sql")["schema"] == shown[str(first)]
    words, others = tmp_path / "words.json", tmp_path / "others.json"
    words.write_text('{"synonyms": {}}')
    others.write_text('{"units": ["furlong"]}')
    lexicons = [method(lexicon=given)["lexicon"] for given in ([], [words], [others])]
    assert lexicons[0] is None and len(set(map(str, lexicons))) == 3
    with pytest.raises(ComparisonError, match="schema: queries were read with another schema"):
        faithful.evaluate(rows, schema=first).compare(faithful.evaluate(rows, schema=second))
    with pytest.raises(ComparisonError, match="lexicon: sentences were read with other word lists"):
        faithful.evaluate(rows, lexicon=[words]).compare(faithful.evaluate(rows, lexicon=[others]))


def test_a_rule_can_be_switched_off_and_the_signature_says_so():
    pairs = {"query": ["SELECT name FROM boat WHERE length > 20"], "sentence": ["Names of boats shorter than 20."]}
    judged = faithful.evaluate(pairs)
    assert judged["consistent"].value == 0.0 and "without" not in str(judged.signature)
    fault = faithful.Checker("sql").check(pairs["query"][0], pairs["sentence"][0]).faults()[0].rule
    spared = faithful.evaluate(pairs, without=[fault, fault])
    assert spared["consistent"].value == 1.0 and f"without:{fault}" in str(spared.signature)
    with pytest.raises(InputError, match=f"without: expected a rule.*'{fault}s'.*Did you mean '{fault}'"):
        faithful.evaluate(pairs, without=f"{fault}s")


def test_a_run_with_evidence_is_no_match_for_one_without():
    pairs = {"query": ["SELECT name FROM boat"] * 3, "sentence": ["Names of boats."] * 3}
    plain = faithful.evaluate(pairs)
    hinted = faithful.evaluate({**pairs, "evidence": ["craft refers to boat", None, ""]})
    assert "evidence:read" in str(hinted.signature) and "evidence" not in str(plain.signature)
    with pytest.raises(ComparisonError, match="evidence"):
        plain.compare(hinted)


def test_a_column_of_blanks_is_no_evidence():
    pairs = {"query": ["SELECT name FROM boat"] * 3, "sentence": ["Names of boats."] * 3}
    plain = faithful.evaluate(pairs)
    blank = faithful.evaluate({**pairs, "evidence": ["", None, " \n"]})
    assert "evidence" not in str(blank.signature)
    assert plain.compare(blank)["consistent"].difference == 0


def test_evidence_that_only_later_rows_have_is_told(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    pair = {"query": "SELECT name FROM boat", "sentence": "Names of craft."}
    first.write_text(json.dumps({**pair, "id": "1"}) + "\n")
    second.write_text(json.dumps({**pair, "id": "2", "evidence": "craft refers to boat"}) + "\n")
    runs = [faithful.evaluate(files, out=tmp_path / name) for name, files in
            (("late", [first, second]), ("early", [second, first]))]  # fmt: skip
    assert all("evidence:read" in str(run.signature) for run in runs)
    assert not runs[0].compare(runs[1]).pairing.unlike


def test_evidence_in_lists_is_read_and_evidence_that_is_no_text_is_not(tmp_path: Path) -> None:
    pair = {"query": "SELECT name FROM boat WHERE kind = 'K'", "sentence": "Names of ketches."}
    listed = faithful.evaluate([{**pair, "evidence": ["boats float", "ketches refers to kind = 'K'"]}])
    told = faithful.evaluate([{**pair, "evidence": "boats float; ketches refers to kind = 'K'"}])
    assert listed["consistent"].value == told["consistent"].value == 1.0
    assert listed.signature == told.signature and "evidence:read" in str(told.signature)
    assert faithful.evaluate([pair])["consistent"].value == 0.0
    for odd in (5, True, {"ketches": "kind = 'K'"}, [1, 2]):
        result = faithful.evaluate([{**pair, "evidence": odd}])
        assert "evidence" not in str(result.signature)
        assert "no evidence was read: 'evidence' holds neither texts nor lists of texts" in result.notes
        with pytest.raises(
            InputError, match="evidence: expected texts, or lists of texts, got neither in the column 'why'"
        ):
            faithful.evaluate([{**pair, "why": odd}], columns={"evidence": "why"})
    assert not faithful.evaluate([{**pair, "evidence": None}, {**pair, "evidence": None}]).notes


def test_systems_that_write_sql_for_the_same_questions_are_compared():
    questions = ["Names of boats.", "How many boats are there?", "Names of boats longer than 20."]
    right = ["SELECT name FROM boat", "SELECT count(*) FROM boat", "SELECT name FROM boat WHERE length > 20"]
    wrong = ["SELECT kind FROM boat", "SELECT max(length) FROM boat", "SELECT name FROM boat WHERE length < 20"]
    ids = ["a", "b", "c"]
    runs = [faithful.evaluate({"id": ids, "question": questions, "predicted_sql": sql}) for sql in (right, wrong)]
    found = runs[0].compare(runs[1])
    assert found.pairing.to_dict()["texts"] == [{"text": "sentence", "pairs": 3, "differing": 0}]
    assert not any("Careful" in said for said in (*found.verdict(), *found.table().notes))
    other = faithful.evaluate({"id": ids, "question": questions[::-1], "predicted_sql": wrong[::-1]})
    assert runs[0].compare(other).verdict()[0].startswith("Careful: 2 of 3 pairs do not have the same")


def test_a_comparison_says_where_evidence_differs():
    pairs = {"id": ["a", "b", "c"], "query": ["SELECT name FROM boat"] * 3, "sentence": ["Names of boats."] * 3}
    hints = ["craft refers to boat", "vessels means boat", None]
    full = faithful.evaluate({**pairs, "evidence": hints})
    half = faithful.evaluate({**pairs, "evidence": [None, "vessels means boat ", ""]})
    found = full.compare(half)
    said = "Careful: 1 of 3 pairs do not have the same evidence (the first: a), and figures depend on it"
    assert found.verdict()[0].startswith(said)
    assert any(note.startswith(said) for note in found.table().notes)
    assert {"text": "evidence", "pairs": 3, "differing": 1} in found.pairing.to_dict()["texts"]
    assert not full.compare(faithful.evaluate({**pairs, "evidence": hints})).pairing.unlike
