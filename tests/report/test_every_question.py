"""Every question's page: its examples in a real browser, and a corpus that tries to do harm."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sensecheck
from sensecheck import demo
from sensecheck.instruments import OWN
from sensecheck.report.page import comparison_page, page
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions

FEW = IntervalOptions(replicates=60)


def _faithful(system: str) -> Result:
    data = demo.path(f"sentences_{system}.jsonl")
    return sensecheck.faithful.evaluate(data, schema=demo.path("tables.json"), system=system, options=FEW)


def _correct(system: str) -> Result:
    pytest.importorskip("pyoxigraph")
    data = demo.path(f"sparql_{system}.jsonl.gz")
    graph = str(demo.path("kg.nt"))
    return sensecheck.correct.evaluate(data, graph=graph, slices=["question_type"], system=system, options=FEW)


def _diverse(system: str) -> Result:
    data, references = demo.path(f"dialogue_{system}.txt"), demo.path("dialogue_refs.json")
    return sensecheck.diverse.evaluate(data, references, system=system, options=FEW)


def _robust(system: str) -> Result:
    # One model serves as both systems: what counts here is that pages and comparisons work.
    return sensecheck.robust.evaluate(
        demo.path("nli.jsonl"), slices=["phenomenon"], system=system, limit=90, options=FEW
    )


def _calibrated(system: str) -> Result:
    data = demo.path(f"parser_{system}.logits.gz")
    return sensecheck.calibrated.evaluate(data, slices=["novelty"], system=system, limit=100, options=FEW)


MISSING = [name for name in OWN if f"_{name}" not in globals()]
assert not MISSING, f"write a function _{MISSING[0]}(system) above that gives a result of {MISSING[0]} to look at"
SAMPLES: dict[str, Callable[[str], Result]] = {name: globals()[f"_{name}"] for name in OWN}
# What must be there when an example is open.
PARTS = {
    "faithful": ["query", "sentence"],
    "correct": ["gold", "prediction", "answers"],
    "diverse": ["meaning 1"],
    "robust": ["hypothesis", "statements"],
    "calibrated": ["tokens"],
}


def test_every_question_says_what_its_examples_show() -> None:
    assert set(PARTS) == set(OWN), "say in PARTS what an example of the new question shows"


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("name", OWN)
def test_the_page_of_a_question(name: str, watched: Any, tmp_path: Path, screenshots: Path) -> None:
    results = [SAMPLES[name](system) for system in "ab"]
    page_file = results[0].to_html(tmp_path / "report.html")
    view = watched().open(page_file)
    view.screenshot(path=screenshots / f"{name}-page.png", full_page=True)
    rows = int(view.inner_text("#x-count").split()[0].replace(",", ""))
    assert rows > 50
    view.focus("#x-grid")
    view.keyboard.press("Enter")
    said = view.inner_text("#e-body")
    assert all(part in said for part in PARTS[name]), said[:500]
    assert view.inner_text("#e-title").strip()
    view.screenshot(path=screenshots / f"{name}-example.png")
    inner = view.locator("#e-body table:has(thead button)")
    if name == "robust":
        inner.first.locator("thead button").first.click()
        texts = inner.first.locator("tbody td:first-child").all_inner_texts()
        assert texts == sorted(texts, key=str.lower) and len(texts) > 1
    compared = sensecheck.compare(results).to_html(tmp_path / "comparison.html")
    other = watched(color_scheme="dark").open(compared)
    other.focus("#x-grid")
    other.keyboard.press("Enter")
    assert other.is_visible("#example")
    other.screenshot(path=screenshots / f"{name}-comparison.png")


def _hostile_texts() -> list[str]:
    spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # A million characters in every field of every question would test patience; test_hostile.py has them.
    return [text[:5_000] for text in module.HOSTILE.values()]


FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f\ud800-\udfff]")


def _bad_faithful(texts: list[str]) -> Result:
    rows = [{"id": str(i), "query": f"SELECT a FROM t WHERE b = {i}", "sentence": t} for i, t in enumerate(texts)]
    return sensecheck.faithful.evaluate(rows, options=FEW, skip_bad=True)


def _bad_correct(texts: list[str]) -> Result:
    rows = [
        {"id": str(i), "gold": "SELECT ?x { ?x ?y ?z }", "prediction": t, "question": t} for i, t in enumerate(texts)
    ]
    return sensecheck.correct.evaluate(rows, options=FEW, skip_bad=True)


def _bad_diverse(texts: list[str]) -> Result:
    rows = [
        {"id": str(i), "query": t, "hypotheses": [t, "fine"], "references": [["fine"], [t]]}
        for i, t in enumerate(texts)
    ]
    return sensecheck.diverse.evaluate(rows, options=FEW, skip_bad=True)


def _bad_robust(texts: list[str]) -> Result:
    rows = [
        {"id": str(i), "premise": t, "hypothesis": f"A man: {t}", "label": "entailment"} for i, t in enumerate(texts)
    ]
    return sensecheck.robust.evaluate(rows, options=FEW, skip_bad=True)


BAD: dict[str, Callable[[list[str]], Result]] = {
    "faithful": _bad_faithful, "correct": _bad_correct, "diverse": _bad_diverse, "robust": _bad_robust,
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in OWN if name in BAD])
def test_hostile_texts_in_every_question(name: str) -> None:
    result = BAD[name](_hostile_texts())
    for html in (page(result), comparison_page(sensecheck.compare([result, result]))):
        assert FORBIDDEN.search(html) is None
        outside = re.sub(r"<script[^>]*>.*?</script>|<style>.*?</style>", "", html, flags=re.S)
        assert (
            "<script>window" not in outside
            and "<img" not in outside
            and "onerror=window" not in outside.replace("&lt;img src=x onerror=window", "")
        )
        assert html.count("</script>") == 3
