"""A corpus that tries to do harm, through `evaluate` to the page, the terminal, Markdown, LaTeX and JSON."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from sensecheck import calibrated
from sensecheck.report.page import page
from sensecheck.report.result import Result

pytestmark = pytest.mark.xdist_group("hostile page")  # the page is made once


def _hostile() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, str] = module.HOSTILE
    return found


HOSTILE = _hostile()
# What no terminal and no page may receive from a text: controls, bidirectional marks, lone surrogates.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f\ud800-\udfff]")


def hostile_result() -> Result:
    texts = [*HOSTILE.values()] * 3
    n = len(texts)
    frame = pl.DataFrame(
        {
            "id": [f"{i}:{t[:5_000]}" for i, t in enumerate(texts)],
            "confidence": [0.5 + 0.4 * (i % 2) for i in range(n)],
            "correct": [i % 3 > 0 for i in range(n)],
            "kind": [t[:3_000] for t in texts],
            "answer": texts,
        }
    )
    result = calibrated.evaluate(frame, slices=["kind"], system=HOSTILE["json breakout"] + HOSTILE["ansi"])
    result.notes.append(HOSTILE["handler"] + HOSTILE["bidi"])
    return result


@pytest.fixture(scope="module")
def result() -> Result:
    return hostile_result()


@pytest.fixture(scope="module")
def html(result: Result) -> str:
    return page(result)


class _Elements(HTMLParser):
    """Every tag of the page with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_holds_no_element_that_a_text_asked_for(html: str) -> None:
    parser = _Elements()
    parser.feed(html)
    names = [tag for tag, _ in parser.tags]
    assert names.count("script") == 3, "the data block and the page's two scripts"
    assert names.count("style") == 1
    assert not {"img", "base", "iframe", "object", "embed", "form"} & set(names)
    for tag, attributes in parser.tags:
        assert not [a for a in attributes if a.startswith("on")], f"<{tag}> has an event handler: {attributes}"
        assert "style" not in attributes, f"<{tag}> has a style attribute"
        assert (attributes.get("href") or "#").startswith("#"), f"<{tag}> leads out of the page: {attributes}"
        assert "src" not in attributes
    assert sum(1 for tag, a in parser.tags if tag == "meta" and a.get("http-equiv")) == 1, "the policy alone"


def test_the_policy_admits_nothing_but_the_pages_own_code(html: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    said = policy[1].replace("&#39;", "'")
    assert "default-src 'none'" in said
    assert "unsafe" not in said and "http" not in said and "*" not in said
    assert len(re.findall(r"script-src [^;]*'sha256-[^']+' 'sha256-[^']+';", said)) == 1


def test_no_control_or_bidirectional_mark_reaches_the_page(html: str) -> None:
    assert FORBIDDEN.search(html) is None
    assert "\\u202e" in html, "it is shown as what it is instead"


def _data(html: str) -> list[Any]:
    packed = re.search(r'id="examples-data">([^<]*)</script>', html)
    assert packed is not None
    return [orjson.loads(line) for line in gzip.decompress(base64.b64decode(packed[1])).split(b"\n")]


def test_the_examples_travel_as_data_and_are_cut_with_a_word(html: str, result: Result) -> None:
    head, *lines = _data(html)
    assert len(lines) == len(head["ids"]) == result.rows.height
    texts = orjson.dumps(lines).decode()
    assert FORBIDDEN.search(orjson.loads(orjson.dumps(texts))) is None
    assert "996,000 characters more" in texts, "the million characters were cut, and it says by how much"
    assert len(html) < 400_000


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_printed_forms_carry_no_controls(result: Result, form: str) -> None:
    out = io.StringIO()
    result.show(form, out)
    assert FORBIDDEN.search(out.getvalue()) is None
    if form == "latex":
        assert r"\input" not in out.getvalue()
    if form == "markdown":
        assert "<script" not in out.getvalue() and "<img" not in out.getvalue()


def test_the_json_form_is_json_and_gives_the_text_back(result: Result) -> None:
    out = io.StringIO()
    result.show("json", out)
    assert "\x1b" not in out.getvalue()
    assert orjson.loads(out.getvalue())["signature"]["system"]["name"].startswith("</script>")


def test_the_notebook_fragment_is_escaped_too(result: Result) -> None:
    parser = _Elements()
    parser.feed(result._repr_html_())
    assert not {"script", "img", "iframe", "meta"} & {tag for tag, _ in parser.tags}
    assert not [a for _, attributes in parser.tags for a in attributes if a.startswith("on")]


def test_a_stored_run_of_it_can_be_read_and_reported_again(
    result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sensecheck.cli import main

    result.save(tmp_path / "run")
    assert main(["report", str(tmp_path / "run")]) == 0
    assert FORBIDDEN.search(capsys.readouterr().out) is None
    assert FORBIDDEN.search((tmp_path / "run" / "report.html").read_text()) is None
