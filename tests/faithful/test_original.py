"""Parity with the original metric: every recorded output, in order, and every exception."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sensecheck.compat import blec
from sensecheck.faithful import original

EXCEPTIONS = {"ValueError": ValueError, "error": re.error, "UnboundLocalError": UnboundLocalError}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def schemas(shared: Path) -> dict[str, Any]:
    return {e["db_id"]: e for e in json.loads((shared / "golden/faithful/spider_tables.json").read_text())}


@pytest.mark.golden
@pytest.mark.parametrize("name", ["dev", "generated", "interpretations"])
def test_logic2text(shared: Path, name: str) -> None:
    checker = blec.BLECLogic2text()
    golden = rows(shared / f"golden/faithful/logic2text_{name}.jsonl")
    wrong = [r["id"] for r in golden if checker.evaluate(r["logic"], r["sentence"], r["reference"]) != r["errors"]]
    assert len(golden) > 1000
    assert wrong == []


@pytest.mark.golden
def test_name_dicts(shared: Path, schemas: dict[str, Any]) -> None:
    golden = rows(shared / "golden/faithful/spider_name_dicts.jsonl")
    wrong = [
        r["id"]
        for r in golden
        if list(blec.name_dict(r["sql"], schemas[r["db_id"]]).items()) != list(r["name_dict"].items())
    ]
    assert len(golden) == 1814
    assert wrong == []


@pytest.mark.golden
@pytest.mark.parametrize("name", ["dev_gold", "dev_cross", "dev_mutated", "generated"])
def test_spider(shared: Path, schemas: dict[str, Any], name: str) -> None:
    golden = rows(shared / f"golden/faithful/spider_{name}.jsonl")
    wrong = []
    for r in golden:
        slots = blec.name_dict(r["sql"], schemas[r["db_id"]])
        if r.get("exception"):
            with pytest.raises(EXCEPTIONS[r["exception"].split(":")[0].split(".")[-1]]):
                blec.question_test(r["sql"], slots, r["question"].lower())
            continue
        label, errors = blec.question_test(r["sql"], slots, r["question"].lower())
        if errors != r["errors"] or label != r.get("label", label):
            wrong.append(r["id"])
    assert len(golden) > 1000
    assert wrong == []


@pytest.mark.golden
def test_spider_translated(shared: Path, tmp_path: Path) -> None:
    golden = rows(shared / "golden/faithful/spider_translated.jsonl")
    wrong = [
        r["id"]
        for r in golden
        if blec.question_test(r["logic"], r["name_dict"], r["question"].lower()) != (r["label"], r["errors"])
    ]
    assert wrong == []
    # A template holds one dictionary a text: keep the rows whose text has only one.
    written = {r["logic"]: r["name_dict"] for r in golden}
    blec.write_template(tmp_path / "template.json", {}, written)
    checker = blec.BLECSpider(template_path=tmp_path / "template.json", translate=True)
    for r in golden:
        if written[r["logic"]] == r["name_dict"]:
            assert checker.evaluate(r["question"], r["logic"]) == r["errors"]


@pytest.mark.golden
def test_edge_cases(shared: Path) -> None:
    schema = json.loads((shared / "golden/faithful/edge_tables.json").read_text())[0]
    golden = rows(shared / "golden/faithful/edge_cases.jsonl")
    assert len(golden) == 90
    for r in golden:
        if r["language"] == "logic2text":
            if "exception" in r:
                with pytest.raises(EXCEPTIONS[r["exception"]]):
                    original.logic2text_errors(r["logic"], r["sentence"], r["reference"])
            else:
                found = original.logic2text_errors(r["logic"], r["sentence"], r["reference"])
                assert found == r["errors"], r["id"]
            continue
        if "name_dict_exception" in r:
            with pytest.raises(EXCEPTIONS[r["name_dict_exception"]]):
                original.name_dict(r["sql"], schema)
            continue
        if not r["id"].startswith("spider-custom"):
            assert list(original.name_dict(r["sql"], schema).items()) == list(r["name_dict"].items()), r["id"]
        if "exception" in r:
            with pytest.raises(EXCEPTIONS[r["exception"]]) as caught:
                original.question_test(r["sql"], r["name_dict"], r["question"].lower())
            assert str(caught.value) == r["message"]
        else:
            found_pair = original.question_test(r["sql"], r["name_dict"], r["question"].lower())
            assert found_pair == (r["label"], r["errors"]), r["id"]


# ---- pairs of our own, for every rule and quirk


@pytest.fixture(scope="module")
def own(golden: Path) -> Path:
    return golden / "faithful"


RULES = {
    "logic2text": [f"A{rule}" for rule in ("1", "2", "3a", "3b", "3c", "4", "5")] + [f"L{k}" for k in range(1, 20)],
    "sql": ["B1", "B2", "B2.1", "B2.2", "B2-translated"]
    + [f"B2.3-{slot}" for slot in ("AGG", "SC", "OP", "VALUE", "COLUMN")]
    + [f"B3.{step}" for step in range(1, 10)]
    + [f"S{k}" for k in range(2, 23)],
}


@pytest.mark.golden
@pytest.mark.parametrize(("language", "least"), [("logic2text", 200), ("sql", 250)])
def test_own_pairs_show_every_rule(own: Path, language: str, least: int) -> None:
    pairs = rows(own / f"{language}.jsonl")
    assert len(pairs) >= least
    assert {rule for pair in pairs for rule in pair["shows"]} == set(RULES[language])


@pytest.mark.golden
def test_own_logic2text(own: Path) -> None:
    checker = blec.BLECLogic2text()
    for r in rows(own / "logic2text.jsonl"):
        if "exception" in r:
            with pytest.raises(EXCEPTIONS[r["exception"]]):
                checker.evaluate(r["logic"], r["sentence"], r["reference"])
        elif "by_keyword" in r:
            assert checker.evaluate(pred=r["sentence"], logic=r["logic"]) == r["errors"], r["id"]
        else:
            assert checker.evaluate(r["logic"], r["sentence"], r["reference"]) == r["errors"], r["id"]


@pytest.mark.golden
def test_own_sql(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slots, labels and errors; then the errors again through the class, with the slots in a template file."""
    schemas = {entry["db_id"]: entry for entry in json.loads((own / "tables.json").read_text())}
    for r in rows(own / "sql.jsonl"):
        key = r.get("translated", r["sql"])
        if "slots_exception" in r:
            with pytest.raises(EXCEPTIONS[r["slots_exception"]]):
                blec.name_dict(r["sql"], schemas[r["db_id"]])
            continue
        if "slots" in r and not r.get("slots_given"):
            assert list(blec.name_dict(r["sql"], schemas[r["db_id"]]).items()) == list(r["slots"].items()), r["id"]
        templates: list[dict[str, Any]] = [{"SELECT Name FROM Tree": {}}, {}]
        if r.get("in_template", True):
            templates["translated" in r][key] = r["slots"]
        blec.write_template(tmp_path / "template.json", *templates)
        checker = blec.BLECSpider(template_path=tmp_path / "template.json", translate="translated" in r)
        if "exception" in r:
            with pytest.raises(EXCEPTIONS[r["exception"]]):
                checker.evaluate(r["question"], key)
            continue
        assert checker.evaluate(r["question"], key) == r["errors"], r["id"]
        printed = capsys.readouterr().out
        if not r.get("in_template", True):
            assert printed == f"Error: the template not found, the logic is  {key}\n"
            continue
        assert printed == ""
        assert blec.question_test(key, r["slots"], r["question"].lower()) == (r["label"], r["errors"]), r["id"]


@pytest.mark.golden
def test_own_queries_in_a_template_just_built(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S1: every look-up fails; the file that was written finds every query, in this or in another process."""
    pairs = [r for r in rows(own / "sql.jsonl") if "slots" in r and not r.get("slots_given")]
    (tmp_path / "test.json").write_text(
        json.dumps([{"query": r["sql"], "db_id": r["db_id"], "question_toks": []} for r in pairs])
    )
    (tmp_path / "tables.json").write_text((own / "tables.json").read_text())
    (tmp_path / "mapped").mkdir()
    (tmp_path / "mapped" / "test.json").write_text(
        json.dumps({r["sql"]: r["translated"] for r in pairs if "translated" in r})
    )
    monkeypatch.chdir(tmp_path)
    built = blec.BLECSpider(original_data_path=tmp_path, mapping_path=tmp_path / "mapped")
    capsys.readouterr()
    read = blec.BLECSpider(template_path="template_to_names.json")
    compared = 0
    for r in pairs:
        if "exception" in r or "translated" in r:
            continue
        assert read.evaluate(r["question"], r["sql"]) == r["errors"], r["id"]
        assert capsys.readouterr().out == ""
        assert built.evaluate(r["question"], r["sql"]) == []
        assert capsys.readouterr().out == f"Error: the template not found, the logic is  {r['sql']}\n"
        compared += 1
    assert compared > 200


def test_unknown_query_is_printed_and_looks_consistent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blec.write_template(tmp_path / "t.json", {"SELECT 1 FROM x": {}}, {})
    checker = blec.BLECSpider(template_path=tmp_path / "t.json")
    assert checker.evaluate("How many singers are there?", "SELECT count(*) FROM singers") == []
    expected = "Error: the template not found, the logic is  SELECT count(*) FROM singers\n"
    assert capsys.readouterr().out == expected


def test_built_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    schema = {
        "db_id": "port",
        "table_names": ["boat"],
        "table_names_original": ["Boat"],
        "column_names_original": [[-1, "*"], [0, "Name"]],
    }
    for name, content in {
        "dev.json": [
            {"query": q, "db_id": "port", "question_toks": []} for q in ("SELECT Name FROM Boat", "SELECT 1 FROM Boat")
        ],
        "tables.json": [schema],
        "map.json": {"SELECT Name FROM Boat": "( name ) of ( boat )"},
    }.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "pre").mkdir()
    (tmp_path / "map.json").rename(tmp_path / "pre/dev.json")
    monkeypatch.chdir(tmp_path)
    built = blec.BLECSpider(original_data_path=tmp_path, mapping_path=tmp_path / "pre", eval_type="dev")
    assert "SELECT 1 FROM Boat not found" in capsys.readouterr().out
    assert built.evaluate("not a boat", "SELECT Name FROM Boat") == []  # the original keeps the pair of mappings
    assert "template not found" in capsys.readouterr().out
    reread = blec.BLECSpider(template_path="template_to_names.json", translate=True)
    assert reread.evaluate("not a boat", "( name ) of ( boat )") == ["not"]


def test_demo_of_the_original() -> None:
    checker = blec.BLECLogic2text()
    logic = "most_eq { filter_eq { all_rows ; start ; 194 } ; day power ( w ) ; 1000 } = true"
    pred = "for jim clark, when his start was in the 190s, most of the day power was 1000w."
    truth = (
        "for media in the quad cities, when the start was in the 1940s, the day power is 1000 the majority of the time."
    )
    assert checker.evaluate(logic, pred, truth) == ["194"]


def test_values_of_nothing_but_quotes_do_not_take_all_memory() -> None:
    slots = {f"{{VALUE{k}}}": "''" for k in range(40)}
    assert original.question_test("SELECT", dict(list(slots.items())[:3]), "how many")[1] == []
    with pytest.raises(ValueError, match="grows without end"):
        original.question_test("SELECT", slots, "how many")
