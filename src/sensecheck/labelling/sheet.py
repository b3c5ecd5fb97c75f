"""The sheet that people label: one page that opens from disk, or a CSV table of the same examples."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.fingerprints import of_value
from sensecheck.inputs.formats.label_records import FIELDS, SCHEMA, packed_draw
from sensecheck.inputs.formulas import marked_csv
from sensecheck.inputs.reasons import Reason
from sensecheck.labelling.drawing import draw
from sensecheck.labelling.items import Items, items_of, judged_columns
from sensecheck.labelling.judging import NONE, UNCLEAR, Choice
from sensecheck.report.escaping import visible
from sensecheck.report.examples import KINDS, choose, packed_part, shown_pages
from sensecheck.report.page import rendered
from sensecheck.report.result import Result
from sensecheck.runs.writing import write_named

ENDINGS = (".html", ".csv")
_LONGEST = 20_000
"""Characters of a text that a page shows: who judges must be able to read it all, within reason."""
_KEYS = "123456789abcdfhijklmopqtvy"
"""For labels that are each example's own; those of the page itself (e, g, n, u, x, z) are left out."""
Page = Mapping[str, Any]


def write_sheet(
    result: Result,
    path: str | os.PathLike[str],
    sample: int = 120,
    by: Sequence[str] = (),
    *,
    seed: int = 12345,
    show_verdict: bool = False,
) -> pl.DataFrame:
    """Draw examples of a run and write the sheet on which a person labels them; gives what was drawn.

    path: .html for the page, .csv for a table. by: columns of the measurements to stratify by, beside the verdict.
    show_verdict: show the run's own view of each example, verdict and all. A person who sees it agrees more often.
    """
    check_target(path)
    items = items_of(result, by)
    drawn = draw(items, sample, by, seed)
    pages = _pages(result, items, drawn, show_verdict)
    if Path(path).suffix.lower() == ".csv":
        write_named(path, marked_csv(_table(items, drawn, pages)))
    else:
        write_named(path, _page(items, drawn, pages, show_verdict).encode("utf-8"))
    return drawn


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written after all the work."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(
            field="output", expected=f"a file that ends in {' or '.join(ENDINGS)}", got=shown(str(path), 60),
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    if not target.parent.is_dir():
        raise InputError(
            field="output", expected="a file in a folder that is there", got=shown(str(path), 60),
            hint=f"Make the folder {shown(str(target.parent), 60)} first.", reason=Reason.BAD_OPTION,
        )  # fmt: skip


# ---- what is shown of each


def _pages(result: Result, items: Items, drawn: pl.DataFrame, show_verdict: bool) -> list[Page]:
    """The view of each drawn example: without its verdict, unless that is asked for."""
    judging = items.judging
    if not show_verdict:
        frame = drawn if judging.items is not None else _with_texts(result, drawn)
        return list(judging.page(frame)) if judging.page is not None else _texts(result, items, frame)
    pages = own_pages(result, items, drawn)
    return [_with_verdict(page, told) for page, told in zip(pages, drawn["verdict"].to_list(), strict=True)]


def own_pages(result: Result, items: Items, drawn: pl.DataFrame) -> list[Page]:
    """The view that the run itself has of each example, with all that its verdict was made of."""
    judging = items.judging
    if judging.items is not None:
        assert judging.page is not None
        return list(judging.page(drawn))
    return shown_pages(result.question, _with_texts(result, drawn))


def _with_texts(result: Result, drawn: pl.DataFrame) -> pl.DataFrame:
    """The drawn examples with all that the run has of them."""
    chosen = choose(result, wanted=drawn["example_id"].unique(maintain_order=True).to_list()).frame
    # Samples of one example share its id: the second row of an id is its second sample.
    chosen = chosen.with_columns(_nth=pl.int_range(pl.len()).over("id"))
    frame = drawn.select("example_id", "_nth").join(
        chosen, left_on=["example_id", "_nth"], right_on=["id", "_nth"], how="left", maintain_order="left"
    )
    return frame.rename({"example_id": "id"}).drop("_nth")


def _texts(result: Result, items: Items, frame: pl.DataFrame) -> list[Page]:
    """The texts that are judged, each under its name."""
    assert result.texts is not None
    names = judged_columns(items.judging, result.texts.schema)
    pages: list[Page] = []
    for row in frame.select(names).iter_rows(named=True):
        texts = {name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in row.items()}
        pages.append({"parts": [{"label": name, "spans": [[text, ""]]} for name, text in texts.items() if text]})
    return pages


def _with_verdict(page: Page, verdict: str) -> Page:
    told = {"label": "verdict", "spans": [[verdict, "good" if verdict == "right" else "bad"]]}
    return {**page, "parts": [*page["parts"], told]}


# ---- the page


def _page(items: Items, drawn: pl.DataFrame, pages: Sequence[Page], show_verdict: bool) -> str:
    judging, question = items.judging, items.question
    labels: dict[str, int] = {}
    own = [_own_choices(given) for given in drawn["choices"].to_list()] if "choices" in drawn.columns else None
    entries = []
    for at, row in enumerate(drawn.iter_rows(named=True)):
        entry = {
            "id": row["id"], "shown": visible(row.get("shown", row["id"]), 120), "example": row["example"],
            "stratum": json.loads(row["stratum"]), "probability": row["probability"], "size": row["size"],
            "parts": [packed_part(part, labels, _LONGEST) for part in pages[at]["parts"]],
        }  # fmt: skip
        entries.append(entry if own is None else {**entry, "choices": own[at]})
    sheet = {
        "schema": SCHEMA, "question": question, "run": items.digest, "of": len(items.frame), "flag": judging.flag,
        "choices": _as_data(judging.choices), "labels": [visible(label, 80) for label in labels], "kinds": KINDS,
        "items": entries,
    }  # fmt: skip
    digest = of_value([show_verdict, sheet])
    told = [f"{choice.key} for {choice.words or choice.label}" for choice in judging.choices] if own is None else []
    told += [f"g for {judging.flag}"] if judging.flag else []
    keys = f"Keys: {', '.join(told)}." if told else "The key of each label stands beside it."
    return rendered(
        "label.html.j2",
        None,
        script="label.js",
        style_sheet="label.css",
        sheet_data=base64.b64encode(orjson.dumps({**sheet, "digest": digest})).decode(),
        title=f"label {question}: {visible(items.name)}",
        question=question,
        asks=judging.asks,
        about=f"{visible(items.name)} · {len(drawn):,} of {len(items.frame):,} examples, drawn at random"
        + (" · with the verdict of the run" if show_verdict else ""),
        skip="Skip to the examples",
        total=len(drawn),
        sheet=digest,
        keys=keys,
    )


def _own_choices(labels: Sequence[str]) -> list[dict[str, str]]:
    fixed = {NONE: "0", UNCLEAR: "u"}
    keys = iter([*_KEYS, *[""] * len(labels)])
    return _as_data([Choice(label, fixed.get(label) or next(keys)) for label in labels])


def _as_data(choices: Sequence[Choice]) -> list[dict[str, str]]:
    return [{"label": c.label, "key": c.key, "words": visible(c.words or c.label, 60)} for c in choices]


# ---- the table


def _table(items: Items, drawn: pl.DataFrame, pages: Sequence[Page]) -> pl.DataFrame:
    """A row each: what is judged, the label to fill in, and what the reader of the sheet needs."""
    texts = [{_named(part): _plain(part) for part in page["parts"]} for page in pages]
    names = list(dict.fromkeys(name for one in texts for name in one))
    rows = []
    for row, told in zip(drawn.iter_rows(named=True), texts, strict=True):
        ours = {"sensecheck": SCHEMA, "question": items.question, "run": items.digest}
        ours |= {"example": row["example"], "draw": packed_draw({**row, "stratum": json.loads(row["stratum"])})}
        empty = ["label", *(["grammatical"] if items.judging.flag else []), "note", "who"]
        shown_texts = {name: told.get(name, "") for name in names}
        rows.append({"id": row["id"], **shown_texts, **dict.fromkeys(empty, ""), **ours})
    return pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.String))


def _named(part: Mapping[str, Any]) -> str:
    """What a column of texts is called; names of our own columns are taken."""
    name = str(part.get("label", ""))
    return f"the {name}" if name in (*FIELDS, "draw") else name


def _plain(part: Mapping[str, Any]) -> str:
    if "rows" in part:
        lines = [part.get("head", ()), *part["rows"]]
        return "\n".join("\t".join(map(str, line)) for line in lines)
    return "".join(str(span[0]) for span in part.get("spans", ()))
