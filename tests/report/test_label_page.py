"""A person labels a sheet in a real browser: by keyboard, with undo, notes, a reload, and an export that is read back."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck import calibrated, demo, diverse, faithful, robust
from sensecheck.labelling.items import items_of
from sensecheck.labelling.matching import matched
from sensecheck.labelling.reading import read
from sensecheck.labelling.sheet import write_sheet
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
NO_INTERVALS = IntervalOptions(method="none")


@pytest.fixture(scope="module")
def pairs() -> Result:
    return faithful.evaluate(demo.path("sentences_a.jsonl"), schema=demo.path("tables.json"), options=NO_INTERVALS)


def exported(page: Any, target: Path) -> list[dict[str, Any]]:
    with page.expect_download() as waiting:
        page.keyboard.press("e")
    waiting.value.save_as(target)
    return [json.loads(line) for line in target.read_text(encoding="utf-8").split("\n") if line]


def test_fifty_labels_by_keyboard(pairs: Result, watched: Any, tmp_path: Path, screenshots: Path) -> None:
    drawn = write_sheet(pairs, tmp_path / "sheet.html", 50)
    one = watched()
    page = one.open(tmp_path / "sheet.html")
    assert page.inner_text("h1") == "Does the sentence say what the query says, and nothing else?"
    page.fill("#l-who", "Anna")
    page.keyboard.press("Escape")
    said = {}
    for at, name in enumerate(drawn["id"].to_list()):
        assert page.inner_text("#l-place") == f"{at + 1} of 50 · {name}"
        key = "rwu"[(at * 7) % 10 % 3]
        said[name] = {"r": "right", "w": "wrong", "u": "unclear"}[key]
        if at == 20:
            # A note: keys in it are letters, and none of them labels.
            page.keyboard.press("n")
            page.keyboard.type("rwu z: <b>no</b> year")
            page.keyboard.press("Escape")
        if at == 30:
            # The page is closed and opened again: nothing is lost.
            page.reload()
            page.wait_for_selector("html[data-ready]")
            assert page.inner_text("#l-count") == "30 of 50 labelled" and page.input_value("#l-who") == "Anna"
        page.keyboard.press(key)
        if at == 10:
            page.keyboard.press("z")
            assert page.inner_text("#l-place").startswith("11 of 50") and page.inner_text("#l-said") == "not labelled"
            page.keyboard.press(key)
        if at == 25:
            page.screenshot(path=screenshots / "label-page.png")
    assert page.inner_text("#l-count") == "50 of 50 labelled"
    # Back to the first, another label, and on: nothing is left without one.
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
    assert page.inner_text("#l-place").startswith("1 of 50") and page.is_disabled("#l-next")
    first = drawn["id"][0]
    page.keyboard.press("w")
    said[first] = "wrong"
    lines = exported(page, tmp_path / "labels.jsonl")
    assert {line["id"]: line["label"] for line in lines} == said
    noted = [line for line in lines if line["note"]]
    assert [line["note"] for line in noted] == ["rwu z: <b>no</b> year"] and {line["who"] for line in lines} == {"Anna"}
    fits = matched(read(str(tmp_path / "labels.jsonl")), items_of(pairs))
    assert dict(fits.labels.select("id", "label").iter_rows()) == said and fits.drawn
    usable = fits.labels.filter(pl.col("right").is_not_null())["id"]
    assert fits.weighed(usable)[0]["stands_for"].sum() == pytest.approx(pairs.rows.height)


def test_the_verdict_is_shown_only_where_asked(pairs: Result, watched: Any, tmp_path: Path, screenshots: Path) -> None:
    write_sheet(pairs, tmp_path / "blind.html", 60)
    write_sheet(pairs, tmp_path / "open.html", 60, show_verdict=True)
    page = watched().open(tmp_path / "blind.html")
    texts = []
    for _ in range(60):
        texts.append(page.inner_text("#l-body"))
        assert page.locator("#l-body .good, #l-body .bad, #l-body .missing, #l-body .added, #l-body table").count() == 0
        page.keyboard.press("ArrowRight")
    assert not any("missing" in text.casefold() for text in texts)
    page = watched(color_scheme="dark").open(tmp_path / "open.html")
    marks = 0
    for _ in range(60):
        marks += page.locator("#l-body .missing, #l-body .bad").count()
        page.keyboard.press("ArrowRight")
    assert marks > 5
    page.screenshot(path=screenshots / "label-verdict.png")


def test_groups_and_relations_have_keys_of_their_own(watched: Any, tmp_path: Path, screenshots: Path) -> None:
    answers = diverse.evaluate(demo.path("dialogue_a.txt"), demo.path("dialogue_refs.json"), options=NO_INTERVALS)
    write_sheet(answers, tmp_path / "groups.html", 20)
    page = watched().open(tmp_path / "groups.html")
    for key in "1203u":
        page.keyboard.press(key)
    lines = exported(page, tmp_path / "groups.jsonl")
    assert [line["label"] for line in lines] == ["1", "2", "none", "3", "unclear"]
    assert "grammatical" not in lines[0]
    page.screenshot(path=screenshots / "label-diverse.png")
    assert len(matched(read(str(tmp_path / "groups.jsonl")), items_of(answers)).labels) == 5
    statements = robust.evaluate(demo.path("nli.jsonl"), limit=40, options=NO_INTERVALS)
    write_sheet(statements, tmp_path / "relations.html", 12)
    page = watched().open(tmp_path / "relations.html")
    assert "tive" not in page.inner_text("#l-place")  # made to be positive or negative: that would tell the relation
    page.keyboard.press("g")  # no sentence: a mark beside the label, which is still to come
    assert page.inner_text("#l-said") == "not grammatical"
    for key in "123" + 9 * "1":  # all of them, so that every stratum has a label
        page.keyboard.press(key)
    lines = exported(page, tmp_path / "relations.jsonl")
    assert [(line["label"], line["grammatical"]) for line in lines[:3]] == [
        ("entailment", "no"), ("neutral", "yes"), ("contradiction", "yes"),
    ]  # fmt: skip
    fits = matched(read(str(tmp_path / "relations.jsonl")), items_of(statements))
    assert fits.labels["fair"].to_list() == [False, *11 * [True]]
    page.screenshot(path=screenshots / "label-robust.png")


def hostile_texts() -> list[str]:
    spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [text[:30_000] for text in module.HOSTILE.values()]


def test_hostile_examples_stay_text(watched: Any, tmp_path: Path) -> None:
    texts = hostile_texts()
    records = [
        {"id": f"{text[:60]} {k}", "confidence": 0.5, "correct": k % 2 == 0, "question": text, "answer": text}
        for k, text in enumerate(texts)
    ]
    result = calibrated.evaluate(records, options=NO_INTERVALS, system=texts[0])
    write_sheet(result, tmp_path / "sheet.html", 100)
    page = watched().open(tmp_path / "sheet.html")
    for _ in texts:
        assert page.evaluate("window.pwned") is None
        assert page.locator("#l-body script, #l-body img, #l-body a, #l-body style").count() == 0
        page.keyboard.press("r")
    lines = exported(page, tmp_path / "x.jsonl")
    assert len(lines) == len(texts)
    # Ids go out as they came in, so that labels find their examples again.
    fits = matched(read(str(tmp_path / "x.jsonl")), items_of(result))
    assert set(fits.labels["id"]) == set(items_of(result).frame["id"])


def test_damaged_memory_is_no_fault(pairs: Result, watched: Any, tmp_path: Path) -> None:
    write_sheet(pairs, tmp_path / "sheet.html", 12)
    page = watched().open(tmp_path / "sheet.html")
    page.keyboard.press("r")
    for kept in ("{", "[]", "null", '{"at": 99, "labels": {"0": {"label": "perhaps"}, "x": 1, "1": 7}, "done": [3]}'):
        page.evaluate(
            "(kept) => { const key = Object.keys(localStorage).find((k) => k.startsWith('sensecheck labels')); "
            "localStorage.setItem(key, kept); }",
            kept,
        )
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert page.inner_text("#l-count") == "0 of 12 labelled"
        page.keyboard.press("z")
        page.keyboard.press("w")
        assert page.inner_text("#l-count") == "1 of 12 labelled"
