"""Which examples a page shows, what is shown of them, and what a notebook gets."""

from __future__ import annotations

import base64
import gzip
import re
import resource
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from sensecheck import calibrated, demo
from sensecheck.report.examples import KINDS, Listing, _alone, choose, key_column, listing
from sensecheck.report.page import page
from sensecheck.report.result import Result


def unpacked(html: str) -> tuple[dict[str, Any], list[Any]]:
    packed = re.search(r'id="examples-data">([^<]*)</script>', html)
    assert packed is not None
    head, *lines = [orjson.loads(x) for x in gzip.decompress(base64.b64decode(packed[1])).split(b"\n")]
    return head, lines


@pytest.fixture(scope="module")
def tokens() -> Result:
    return calibrated.evaluate(demo.path("parser_a.logits.gz"), slices=["question_type"], limit=40)


def table(n: int = 1000, wrong: int = 100, unscored: int = 10) -> Result:
    frame = pl.DataFrame(
        {
            "id": [f"e{i}" for i in range(n)],
            "confidence": ["?" if i < unscored else "0.75" for i in range(n)],
            "correct": [str(int(i >= unscored + wrong)) for i in range(n)],
            "answer": [f"answer {i}" for i in range(n)],
        }
    )
    return calibrated.evaluate(frame, skip_bad=True)


def test_tokens_are_shown_by_sequence_with_words_and_confidence(tokens: Result) -> None:
    assert key_column(tokens.rows, tokens.texts) == "cluster"
    head, lines = unpacked(page(tokens))
    assert len(lines) == len(head["ids"]) == 40 < tokens.rows.height
    for raw in raw_lines()[:40]:
        title, (part,) = lines[head["ids"].index(raw["id"])]
        assert title == raw["input_str"]
        wrong = sum(g != p for g, p in zip(raw["tokens"], raw["predicted"], strict=True))
        size = len(raw["tokens"])
        assert head["labels"][part[0]] == (f"tokens: {wrong} of {size} wrong" if wrong else f"tokens: all {size} right")
        for (text, kind, note), gold, said, tops in zip(
            part[2], raw["tokens"], raw["predicted"], raw["top_logits"], strict=True
        ):
            sure = max(tops)
            level = sum(sure >= step for step in (0.5, 0.7, 0.9, 0.99))
            assert text == said
            assert KINDS[kind] == f"{'right' if gold == said else 'wrong'}{level}"
            assert note == f"{sure:.2f}" + ("" if gold == said else f" · gold {gold}")


def raw_lines() -> list[Any]:
    return [orjson.loads(x) for x in gzip.decompress(demo.path("parser_a.logits.gz").read_bytes()).splitlines()]


def test_tokens_without_words_are_shown_as_numbers(tmp_path: Path) -> None:
    dropped = ("tokens", "predicted", "input_str")
    raw = raw_lines()[:5]
    bare = [{k: v for k, v in line.items() if k not in dropped} for line in raw]
    (tmp_path / "bare.logits").write_bytes(b"\n".join(orjson.dumps(x) for x in bare) + b"\n")
    head, shown = unpacked(page(calibrated.evaluate(tmp_path / "bare.logits")))
    for line in raw:
        part = shown[head["ids"].index(line["id"])][1][0]
        best = [
            ids[tops.index(max(tops))] for tops, ids in zip(line["top_logits"], line["top_logit_idxs"], strict=True)
        ]
        assert [s[0] for s in part[2]] == [str(i) for i in best]
        wrong = [s[2].rpartition(" ")[2] for s in part[2] if KINDS[s[1]].startswith("wrong")]
        assert wrong == [str(g) for g, b in zip(line["labels"], best, strict=True) if g != b]


def test_sequences_show_their_tokens_too(tokens: Result) -> None:
    by_sequence = calibrated.evaluate(demo.path("parser_a.logits.gz"), level="sequence", limit=40)
    head, lines = unpacked(page(by_sequence))
    token_head, token_lines = unpacked(page(tokens))
    at, other = head["ids"].index("q001"), token_head["ids"].index("q001")
    assert lines[at] == token_lines[other]


def test_unscored_and_wrong_come_first_and_a_sample_of_the_rest() -> None:
    result = table()
    chosen = choose(result, limit=200)
    ids = set(chosen.frame["id"])
    assert len(ids) == 200 and {f"e{i}" for i in range(110)} <= ids
    assert chosen.sampled == "all 110 unscored or wrong ones and a random 90 of the other 890"
    assert choose(result, limit=200).frame.equals(chosen.frame)
    other = choose(result, limit=200, seed=99)
    assert set(other.frame["id"]) != ids
    few = choose(result, limit=50)
    assert few.sampled == "a random 50 of the 110 unscored or wrong ones, out of 1,000"
    assert all(int(i[1:]) < 110 for i in few.frame["id"])
    assert choose(result).sampled == "" and len(choose(result).frame) == 1000


def test_the_page_says_when_examples_are_a_sample() -> None:
    html = page(table(), examples=200)
    assert "Shown: all 110 unscored or wrong ones and a random 90 of the other 890 (seed 12345)." in html
    head, lines = unpacked(html)
    assert len(lines) == 200
    assert [head["state"]["values"][c][0] for c in head["state"]["codes"][:11]] == ["unscored"] * 10 + ["not correct"]
    assert "reason" in [c["name"] for c in head["categories"]]
    assert "examples-data" not in page(table(20, 2, 0), examples=0)


def test_texts_are_cut_until_the_page_is_small_enough() -> None:
    import random

    draw = random.Random(3)
    ids = [str(i) for i in range(300)]
    noise = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=3_500)) for _ in ids]
    shown = Listing(ids, [["t", [{"label": "x", "spans": [[text, ""]]}]] for text in noise])
    whole, said = shown.payload()
    assert said == "" and len(whole) > 500_000
    packed, said = shown.payload(budget=300_000)
    assert len(packed) <= 300_000 and said == "Texts are cut at 1,000 characters to keep this page small."


def test_equal_results_give_equal_pages(tokens: Result) -> None:
    again = calibrated.evaluate(demo.path("parser_a.logits.gz"), slices=["question_type"], limit=40)
    assert page(again) == page(tokens)


def test_a_question_without_a_view_of_its_own_shows_its_texts() -> None:
    shown = listing(table(20, 2, 0), choose(table(20, 2, 0)))
    assert shown.pages[0] == ["answer 0", [{"label": "answer", "spans": [["answer 0", ""]]}]]


def test_the_worst_examples_for_a_notebook() -> None:
    result = table()
    worst = result.examples(worst=20)
    assert worst["id"].to_list() == [f"e{i}" for i in range(20)]
    assert worst["answer"][3] == "answer 3" and worst["scored"].sum() == 10
    lowest = result.examples(worst=3, by="confidence")
    assert len(lowest) == 3
    with pytest.raises(KeyError, match="did you mean 'confidence'"):
        result.examples(by="confidance")


def test_a_result_shows_itself_in_a_notebook(tokens: Result) -> None:
    html = tokens._repr_html_()
    assert "<table>" in html and "ECE" in html and "<svg" in html and "script" not in html
    assert tokens.plot()._repr_svg_().startswith("<svg")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells what a process holds")
def test_rows_that_were_taken_do_not_hold_the_others() -> None:
    def held() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    def table_of(number: int) -> pl.DataFrame:
        texts = [[f"{number} {row} " * 200, None] for row in range(2_000)]
        return pl.DataFrame({"id": [f"e{row}" for row in range(2_000)], "texts": texts, "mark": [True] * 2_000})

    table_of(0)
    before = held()
    parts = [_alone(table_of(number).filter(pl.col("id").is_in(["e7", "e9"]))) for number in range(60)]
    # The tables have 4 MB each.
    assert held() - before < 120_000_000
    assert parts[3].equals(table_of(3)[[7, 9]])
    assert parts[3].schema == table_of(3).schema
    assert _alone(table_of(3).head(0)).equals(table_of(3).head(0))
