"""The examples of a page: which are shown, what is shown of each, and how they travel inside the file.

An example is what has texts of its own: a row of the measurements, or (tokens of a sequence) all rows of a unit or
cluster. What a question shows of it comes from `Question.example_page`:

    {"title": str, "parts": [{"label": str, "spans": [[text, kind], [text, kind, note], …]}
                             | {"label": str, "head": [str, …], "rows": [[cell, …], …]}]}

with kind one of `KINDS`; a part with `"code": True` is set in a fixed-width face. Nothing here trusts a text: all go
through `readable` and reach the page as data.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import polars as pl

from sensecheck.inputs.guarding import Fault, caught
from sensecheck.report.escaping import readable, visible
from sensecheck.stages import REPORT, at_work
from sensecheck.statistics.hashing import hash_ids, scramble, seed_key
from sensecheck.statistics.measurements import RESERVED, Measurements

if TYPE_CHECKING:
    from sensecheck.report.question import Question
    from sensecheck.report.result import Result

KINDS = (
    "", "good", "bad", "missing", "added", "muted", "mark",
    "right0", "right1", "right2", "right3", "right4", "wrong0", "wrong1", "wrong2", "wrong3", "wrong4",
)  # fmt: skip
"""How a span is drawn; `right0` … `wrong4` are tokens by correctness and confidence."""

MAX_EXAMPLES = 20_000
# Bytes of examples inside a page of up to 10,000 of them: with figures and pictures it stays under 3 MB.
BUDGET = 2_600_000
_BUDGET_FOR = 10_000
# Longest text of a span, tried in turn until the examples fit the budget.
_LENGTHS = (4_000, 1_000, 300, 100)
_SPANS, _ROWS = 600, 200
_ID, _NAME, _TITLE = 200, 80, 300
# What is filtered by a list of its values: more of them than this help nobody, and the search finds them too.
_FILTERED_VALUES = 300
_CATEGORIES, _NUMBERS = 24, 40
_SHOWN_CATEGORIES, _SHOWN_NUMBERS = 3, 4

_KIND = {name: i for i, name in enumerate(KINDS)}


# -- choosing ------------------------------------------------------------------------------------------------------


@dataclass
class Examples:
    """Some of a result's examples, one row each, with texts."""

    frame: pl.DataFrame
    total: int
    key: str
    """The measurement column that names an example."""
    sampled: str = ""
    """How they were chosen, where they are not all."""


def choose(
    result: Result, *, limit: int = MAX_EXAMPLES, wanted: Sequence[str] | None = None, seed: int | None = None
) -> Examples:
    """At most `limit` examples: unscored and wrong ones first, of the rest a sample by seed; or those `wanted`."""
    key = key_column(result.rows, result.texts)
    ids: pl.Series | None = None
    sampled = ""
    if wanted is not None:
        ids, total = pl.Series(key, list(wanted), dtype=pl.String), len(wanted)
    else:
        kept, total, failed = _ranked(result, key, limit, result.options.seed if seed is None else seed)
        if total > limit:
            ids = kept
            if failed > limit:
                sampled = f"a random {limit:,} of the {failed:,} unscored or wrong ones, out of {total:,}"
            else:
                sampled = f"all {failed:,} unscored or wrong ones and a random {limit - failed:,} of the other "
                sampled += f"{total - failed:,}"
    return Examples(_joined(result, key, ids), total, key, sampled)


def key_column(rows: Measurements, texts: Measurements | None) -> str:
    """The column of the measurements by which texts belong to rows."""
    candidates = [c for c in ("id", "unit", "cluster") if c in rows.schema]
    if texts is None or "id" not in texts.schema:
        return "id"
    first = next(iter(rows.batches(candidates)), None)
    names = next(iter(texts.batches(["id"])), None)
    if first is None or names is None or not len(first):
        return "id"
    known = set(names["id"].cast(pl.String).to_list())
    for column in candidates:
        if any(v in known for v in first[column].head(200).cast(pl.String).to_list()):
            return column
    return "id"


def falls_short(result: Result, schema: pl.Schema) -> pl.Expr | None:
    """True where the outcome is the bad one: false, unless the figure made of it is better when lower."""
    column = result.question.outcome
    if not column or schema.get(column) != pl.Boolean:
        return None
    return pl.col(column) if result.outcome_direction == "lower" else ~pl.col(column)


def _ranked(result: Result, key: str, limit: int, seed: int) -> tuple[pl.Series, int, int]:
    """The chosen ids, how many examples there are, and how many are unscored or wrong."""
    schema = result.rows.schema
    bad = falls_short(result, schema)
    columns = [c for c in (key, "scored", result.question.outcome if bad is not None else "") if c and c in schema]
    lost = ~pl.col("scored") if "scored" in schema else pl.lit(False)
    rank = pl.when(lost).then(0).when(bad if bad is not None else pl.lit(False)).then(1).otherwise(2)
    salt = np.uint64(seed_key(seed, "examples"))
    kept: pl.DataFrame | None = None
    total = failed = 0
    for batch in result.rows.batches(list(dict.fromkeys(columns))):
        at_work(REPORT)(len(batch))
        ranked = batch.select(pl.col(key).cast(pl.String), rank.cast(pl.Int8).alias("_rank"))
        if key != "id":
            ranked = ranked.group_by(key, maintain_order=True).agg(pl.col("_rank").min())
        total += len(ranked)
        failed += int((ranked["_rank"] < 2).sum())
        ranked = ranked.with_columns(pl.Series("_draw", scramble(hash_ids(ranked[key]) ^ salt)))
        kept = ranked if kept is None else pl.concat([kept, ranked])
        if len(kept) > limit:
            kept = kept.sort("_rank", "_draw").head(limit)
    assert kept is not None
    return kept[key], total, failed


def _joined(result: Result, key: str, ids: pl.Series | None) -> pl.DataFrame:
    frames = []
    for batch in result.rows.batches():
        at_work(REPORT)(len(batch))
        part = batch.with_columns(pl.col(key).cast(pl.String))
        if ids is not None:
            part = _alone(part.filter(pl.col(key).is_in(ids.implode())))
        if key != "id":
            part = _together(part, key)
        frames.append(part)
    rows = pl.concat(frames, how="vertical_relaxed")
    if result.texts is None:
        return rows
    texts = []
    for batch in result.texts.batches():
        part = batch.with_columns(pl.col("id").cast(pl.String))
        if ids is not None:
            part = _alone(part.filter(pl.col("id").is_in(ids.implode())))
        texts.append(part)
    joined = pl.concat(texts, how="diagonal_relaxed")
    double = [c for c in joined.columns if c in rows.columns and c != "id"]
    on = ["id"]
    if key == "id" and joined["id"].n_unique() < len(joined):
        # Samples of one example share its id: the second row of an id has the second text.
        nth = pl.int_range(pl.len()).over("id").alias("_nth")
        rows, joined, on = rows.with_columns(nth), joined.with_columns(nth), ["id", "_nth"]
    joined = joined.unique(on, keep="first", maintain_order=True)
    found = rows.join(joined.drop(double), on=on, how="left", maintain_order="left")
    return found.drop("_nth", strict=False)


def _alone(part: pl.DataFrame) -> pl.DataFrame:
    """Rows that were taken out of a table, without the rest of it: a list of texts holds on to all of them."""
    if not len(part):
        return part.clear()
    copy = BytesIO()
    part.write_ipc(copy)
    copy.seek(0)
    return pl.read_ipc(copy)


def _together(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """One row for all rows of a unit: truths hold when all do, numbers are means, and `each_…` keeps them apart."""
    columns: list[pl.Expr] = []
    for name, kind in rows.schema.items():
        column = pl.col(name)
        if name in (key, "id"):
            continue
        if name == "reason":
            columns.append(column.drop_nulls().first())
        elif kind == pl.Boolean:
            columns += [column.all().alias(name), column.alias(f"each_{name}")]
        elif kind.is_float():
            columns += [column.mean(), column.alias(f"each_{name}")]
        elif kind.is_integer():
            columns.append(column.alias(f"each_{name}"))
        else:
            columns.append(column.first())
    columns.append(pl.len().alias("rows"))
    grouped = rows.group_by(key, maintain_order=True).agg(columns)
    return grouped.rename({key: "id"}) if "id" not in grouped.columns else grouped


# -- what is shown of an example -----------------------------------------------------------------------------------


def shown_pages(question: Question, frame: pl.DataFrame) -> list[Mapping[str, Any]]:
    """The question's own view of each example; for a question without one, its texts."""
    if question.example_page is not None:
        pages = _pages(question.example_page, frame)
        if len(pages) != len(frame):
            raise ValueError(f"{question.name}: example_page gave {len(pages)} examples for {len(frame)} rows")
        for page in pages[:1]:
            _check_page(question.name, page)
        return pages
    return plain_pages(frame)


def _pages(
    example_page: Callable[[pl.DataFrame], Sequence[Mapping[str, Any]]], frame: pl.DataFrame
) -> list[Mapping[str, Any]]:
    """The views of all examples; where making them fails, one after the other, so that one of them fails alone."""
    made = caught("showing the example", example_page, frame)
    if not isinstance(made, Fault):
        return list(made)
    if len(frame) > 1:
        return [page for place in range(len(frame)) for page in _pages(example_page, frame.slice(place, 1))]
    parts = [{"label": "not shown", "spans": [[made.message, "bad"]]}]
    return [{"title": str(frame["id"][0]), "parts": parts}]


def _check_page(question: str, page: Mapping[str, Any]) -> None:
    """A page of another shape would show an empty example."""
    parts = page.get("parts")
    whole = isinstance(parts, Sequence) and all(
        isinstance(part, Mapping) and "label" in part and ("spans" in part or "rows" in part) for part in parts
    )
    if not whole or set(page) - {"title", "parts"}:
        raise ValueError(
            f"{question}: example_page gives {{'title': …, 'parts': [{{'label': …, 'spans': [[text, kind], …]}}, …]}} "
            f"for each row; here the first has the keys {', '.join(map(str, page)) or 'none'}"
        )


def plain_pages(frame: pl.DataFrame) -> list[Mapping[str, Any]]:
    """Every text of an example under its name."""
    names = [c for c, t in frame.schema.items() if t == pl.String and c not in RESERVED]
    pages: list[Mapping[str, Any]] = []
    for row in frame.iter_rows(named=True):
        texts = [(n, row[n]) for n in names if row[n]]
        title = max(texts, key=lambda pair: len(pair[1]), default=("", str(row["id"])))[1]
        pages.append({"title": title, "parts": [{"label": n, "spans": [[text, ""]]} for n, text in texts]})
    return pages


# What tells a reader best which example this is, where a title only repeats the id.
_TELLING = ("question", "sentence", "premise", "input", "query")
# Parts that hold a formal language, where a question does not say so itself.
_CODE = frozenset({"query", "gold", "gold query", "prediction", "predicted", "predicted query", "sql", "sparql"})


def titled(page: Mapping[str, Any], name: Any) -> str:
    """The page's title, or the text that tells most where the title is no more than the example's name."""
    title = _text(page.get("title"))
    if title and not title.startswith(_text(name)):
        return title
    texts = {
        str(part.get("label")): "".join(_text(span[0]) for span in part["spans"])
        for part in page.get("parts", [])
        if isinstance(part, Mapping) and part.get("spans")
    }
    chosen = next((texts[label] for label in _TELLING if texts.get(label)), next(iter(texts.values()), ""))
    return chosen or title


# -- inside the page -----------------------------------------------------------------------------------------------


@dataclass
class Listing:
    """Columns of the examples' table and the lines behind it, ready to be put into a page."""

    ids: list[str]
    pages: list[list[Any]]
    """One entry an example: [title, parts of panel 0, parts of panel 1, …]; parts as `Question.example_page` gives."""
    state: tuple[str, list[tuple[str, str]], list[int]] | None = None
    """Name, (value, kind) pairs and codes of the outcome."""
    categories: list[tuple[str, list[str], list[int]]] = field(default_factory=list)
    """Name, values, codes (-1: none)."""
    numbers: list[tuple[str, list[float | None]]] = field(default_factory=list)
    shown_numbers: int = _SHOWN_NUMBERS
    """How many of them, from the first, the table shows; all are shown with an example."""
    panels: list[str] = field(default_factory=lambda: [""])
    name: str = "examples"
    """The name of the CSV file."""

    def payload(self, budget: int = BUDGET) -> tuple[str, str]:
        """The data as base64 of gzip, and a note where texts had to be cut to keep the page small."""
        allowed = int(budget * max(1.0, len(self.ids) / _BUDGET_FOR))
        packed, cut = "", ""
        for number, length in enumerate(_LENGTHS):
            packed = base64.b64encode(gzip.compress(self._lines(length), 6, mtime=0)).decode()
            cut = f"Texts are cut at {length:,} characters to keep this page small." if number else ""
            if len(packed) <= allowed:
                break
        return packed, cut

    def _lines(self, length: int) -> bytes:
        labels: dict[str, int] = {}
        lines = []
        for title, *panels in self.pages:
            packed = [
                [packed_part(part, labels, length) for part in parts[:_ROWS] if isinstance(part, Mapping)]
                for parts in panels
            ]
            lines.append(orjson.dumps([visible(str(title), _TITLE), *packed]))
        numbers = self.numbers[:_NUMBERS]
        categories = self.categories[:_CATEGORIES]
        head = {
            "v": 1,
            "name": self.name,
            "ids": [visible(i, _ID) for i in self.ids],
            "labels": [visible(label, _NAME) for label in labels],
            "kinds": KINDS,
            "panels": [visible(p, _NAME) for p in self.panels],
            "state": None
            if self.state is None
            else {
                "name": visible(self.state[0], _NAME),
                "values": [[visible(v, _NAME), kind] for v, kind in self.state[1]],
                "codes": self.state[2],
            },
            "categories": [
                {
                    "name": visible(name, _NAME),
                    "values": [visible(v, _NAME) for v in values],
                    "codes": codes,
                    "listed": len(values) <= _FILTERED_VALUES,
                    "shown": i < _SHOWN_CATEGORIES and len(values) > 1,
                }
                for i, (name, values, codes) in enumerate(categories)
            ],
            "numbers": [
                {"name": visible(name, _NAME), "values": values, "shown": i < self.shown_numbers}
                for i, (name, values) in enumerate(numbers)
            ],
        }
        return b"\n".join([orjson.dumps(head), *lines])


def packed_part(part: Mapping[str, Any], labels: dict[str, int], length: int) -> list[Any]:
    """A part as it travels inside a page: [number of its label, 0, spans, is code] or [its label, 1, heads, rows]."""
    label = labels.setdefault(str(part.get("label", "")), len(labels))
    if "rows" in part:
        head = [readable(str(c), length) for c in part.get("head", ())]
        rows = [[readable(_text(c), length) for c in row] for row in part["rows"][:_ROWS]]
        if len(part["rows"]) > _ROWS:
            rows.append([f"… [{len(part['rows']) - _ROWS:,} rows more]"])
        return [label, 1, head, rows]
    spans: list[list[Any]] = []
    room = 4 * length
    given = part.get("spans", ())
    for i, span in enumerate(given):
        if i >= _SPANS or room <= 0:
            spans.append([f"… [{len(given) - i:,} pieces more]", _KIND["muted"]])
            break
        text = readable(_text(span[0]), min(length, room))
        room -= len(text)
        kind = _KIND.get(span[1], 0) if len(span) > 1 else 0
        spans.append([text, kind, readable(_text(span[2]), length)] if len(span) > 2 and span[2] else [text, kind])
    code = part.get("code", str(part.get("label", "")).lower() in _CODE)
    return [label, 0, spans, 1] if code else [label, 0, spans]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def listing(result: Result, examples: Examples) -> Listing:
    """The table of one result's examples: failures first, otherwise in the order of the input."""
    frame = in_reading_order(result, examples.frame)
    question = result.question
    pages = shown_pages(question, frame)
    state, used = _states(result, frame)
    categories = _categories(frame, result, skipped=used)
    numbers, behind = numeric_columns(frame, result)
    return Listing(
        ids=[_text(i) for i in frame["id"].to_list()],
        pages=[[titled(page, i), page.get("parts", [])] for page, i in zip(pages, frame["id"].to_list(), strict=True)],
        state=state,
        categories=categories,
        numbers=numbers,
        shown_numbers=min(behind or len(numbers), _SHOWN_NUMBERS),
        name=f"{question.name}-examples",
    )


def in_reading_order(result: Result, frame: pl.DataFrame) -> pl.DataFrame:
    bad = falls_short(result, frame.schema)
    lost = ~pl.col("scored") if "scored" in frame.columns else pl.lit(False)
    rank = pl.when(lost).then(0).when(bad if bad is not None else pl.lit(False)).then(1).otherwise(2)
    return frame.sort(rank, maintain_order=True)


def _states(
    result: Result, frame: pl.DataFrame
) -> tuple[tuple[str, list[tuple[str, str]], list[int]] | None, set[str]]:
    """What became of each example, in words: unscored, or the outcome."""
    column = result.question.outcome
    scored = frame["scored"].to_list() if "scored" in frame.columns else [True] * len(frame)
    bad = falls_short(result, frame.schema)
    if bad is None:
        if all(scored):
            return None, set()
        values = [("unscored", "lost"), ("scored", "")]
        return ("outcome", values, [1 if s else 0 for s in scored]), set()
    no, yes = outcome_words(result.question)
    lower = result.outcome_direction == "lower"
    values = [("unscored", "lost"), (no, "good" if lower else "bad"), (yes, "bad" if lower else "good")]
    codes = [
        0 if not s or right is None else 2 if right else 1
        for s, right in zip(scored, frame[column].to_list(), strict=True)
    ]
    return (column.replace("_", " "), values, codes), {column}


def outcome_words(question: Question) -> tuple[str, str]:
    """What an outcome of 0 and one of 1 are called."""
    words = question.outcome.replace("_", " ")
    return question.outcome_words or (f"not {words}", words)


def _categories(frame: pl.DataFrame, result: Result, skipped: set[str]) -> list[tuple[str, list[str], list[int]]]:
    """Columns to filter by: the reason, the slices asked for, other text columns of the measurements, truths."""
    measured = set(result.rows.schema)
    asked = [c for by in result.estimates.slices for c in by]
    texts = [c for c, t in frame.schema.items() if c in measured and t == pl.String and c not in RESERVED]
    truths = [c for c, t in frame.schema.items() if c in measured and t == pl.Boolean and c not in ("scored", *skipped)]
    named = [c for c in dict.fromkeys([*asked, *texts, *truths]) if c in frame.columns and not c.startswith("_")]
    reason = ["reason"] if "reason" in frame.columns and frame["reason"].null_count() < len(frame) else []
    return [category(frame[c]) for c in [*named, *reason]]


def category(column: pl.Series) -> tuple[str, list[str], list[int]]:
    if column.dtype == pl.Boolean:
        codes = [-1 if v is None else int(v) for v in column.to_list()]
        return column.name, ["no", "yes"], codes
    text = column.cast(pl.String)
    values = sorted(v for v in text.unique().to_list() if v is not None)
    place = {v: i for i, v in enumerate(values)}
    return column.name, values, [-1 if v is None else place[v] for v in text.to_list()]


def numeric_columns(frame: pl.DataFrame, result: Result) -> tuple[list[tuple[str, list[float | None]]], int]:
    """Plain numbers, those behind the headline figures first, and how many those are."""
    question = result.question
    names = [
        c
        for c, t in frame.schema.items()
        # A code is a number only for the computer, and so is a part of a sum.
        if t.is_numeric() and c not in (*RESERVED, "position") and not c.endswith("_code") and not c.startswith("_")
    ]
    summed = [c for s in result.statistics if s.name in question.headline for c in s.columns]
    first = [c for c in dict.fromkeys([question.outcome, *question.headline, *summed]) if c in names]
    ordered = [*first, *(c for c in names if c not in first)]
    return [(c, [short(v) for v in frame[c].to_list()]) for c in ordered], len(first)


def short(value: Any) -> float | None:
    """Four significant digits, as few bytes as that takes; a count stays a count."""
    if value is None or not isfinite(value):
        return None
    if isinstance(value, int) or float(value).is_integer():
        return int(value)
    return float(f"{value:.4g}")


# -- several results side by side ----------------------------------------------------------------------------------


def listing_of_several(
    results: Sequence[Result], names: Sequence[str], *, limit: int = MAX_EXAMPLES // 2
) -> tuple[Listing, str]:
    """The examples of several runs, those whose outcome changed first, and a note where they are not all."""
    first = results[0]
    question = first.question
    changes, note = _sampled(_changes(results, key_column(first.rows, first.texts)), first.options.seed, limit)
    at_work(REPORT)(sum(result.rows.height for result in results))
    ids = changes["id"].to_list()
    frames = [
        pl.DataFrame({"id": ids}).join(
            choose(result, wanted=ids).frame.unique("id", keep="first"), on="id", how="left", maintain_order="left"
        )
        for result in results
    ]
    numbers, shown_numbers = _numbers_of_several(frames, results, names)
    listing = Listing(
        ids,
        pages=_pages_side_by_side(ids, [shown_pages(question, frame) for frame in frames]),
        state=_change_states(changes, first, names) if question.outcome in first.rows.schema else None,
        categories=_categories_of_several(frames, changes, first, names),
        numbers=numbers,
        shown_numbers=shown_numbers,
        panels=["", *names],
        name=f"{question.name}-comparison",
    )
    return listing, note


def _sampled(changes: pl.DataFrame, seed: int, limit: int) -> tuple[pl.DataFrame, str]:
    """At most `limit` examples, of those that did not change a random sample, and a note that says so."""
    total = len(changes)
    note = ""
    if total > limit:
        salt = np.uint64(seed_key(seed, "examples"))
        drawn = scramble(hash_ids(changes["id"]) ^ salt)
        changed = int((changes["_rank"] == 0).sum())
        changes = changes.with_columns(pl.Series("_draw", drawn)).sort("_rank", "_draw").head(limit)
        note = f"Shown: {min(changed, limit):,} of the {changed:,} that changed"
        note += f" and a random {limit - changed:,} of the other {total - changed:,}." if changed < limit else "."
    return changes.sort("_rank", "_at"), note


def _pages_side_by_side(ids: Sequence[str], views: Sequence[Sequence[Mapping[str, Any]]]) -> list[list[Any]]:
    """Each example's title, what all runs share of it, and what each has alone."""
    pages = []
    for own, *several in zip(ids, *views, strict=True):
        parts = [list(view.get("parts", [])) for view in several]
        shared = [part for part in parts[0] if all(part in other for other in parts[1:])]
        title = next((t for t in (titled(view, own) for view in several) if t), "")
        pages.append([title, shared, *([part for part in one if part not in shared] for one in parts)])
    return pages


def _categories_of_several(
    frames: Sequence[pl.DataFrame], changes: pl.DataFrame, first: Result, names: Sequence[str]
) -> list[tuple[str, list[str], list[int]]]:
    """Columns to filter by: with more than two runs the change of each, the first run's columns, why each lost some."""
    against = []
    if len(names) > 2:
        against = [_change_category(changes, i, f"{name} against {names[0]}") for i, name in enumerate(names) if i]
    shared = _categories(frames[0], first, skipped={first.question.outcome})
    shared = [c for c in shared if c[0] != "reason" and frames[0].schema[c[0]] != pl.Boolean]
    lost = [
        (f"{name}: unscored", *category(frame["reason"])[1:])
        for name, frame in zip(names, frames, strict=True)
        if "reason" in frame.columns and frame["reason"].null_count() < len(frame)
    ]
    return [*against, *shared, *lost]


def _numbers_of_several(
    frames: Sequence[pl.DataFrame], results: Sequence[Result], names: Sequence[str]
) -> tuple[list[tuple[str, list[float | None]]], int]:
    """Each number of the first run beside the others', and how many of them the table shows."""
    measured = [numeric_columns(frame, results[0]) for frame in frames]
    columns = [dict(numbers) for numbers, _ in measured]
    behind = measured[0][1] or len(columns[0])
    numbers = [
        (f"{column} {name}", own[column])
        for column in columns[0]
        for name, own in zip(names, columns, strict=True)
        if column in own
    ]
    return numbers, min(behind * len(names), 6)


def _changes(results: Sequence[Result], key: str) -> pl.DataFrame:
    """One row an example of the first run: each run's outcome (null: unscored), and a rank: what changed is 0."""
    question = results[0].question
    outcome = question.outcome
    joined: pl.DataFrame | None = None
    for i, result in enumerate(results):
        schema = result.rows.schema
        columns = [c for c in dict.fromkeys([key, "scored", outcome]) if c and c in schema]
        value = pl.col(outcome) if outcome in schema else pl.lit(None, dtype=pl.Boolean)
        if "scored" in schema:
            value = pl.when(pl.col("scored")).then(value)
        parts = []
        for batch in result.rows.batches(columns):
            part = batch.select(pl.col(key).cast(pl.String).alias("id"), value.alias(f"_{i}"))
            if key != "id":
                whole = pl.col(f"_{i}")
                together = whole.all(ignore_nulls=True) if part.schema[f"_{i}"] == pl.Boolean else whole.mean()
                part = part.group_by("id", maintain_order=True).agg(
                    pl.when(whole.is_null().all()).then(None).otherwise(together).alias(f"_{i}")
                )
            parts.append(part)
        side = pl.concat(parts, how="vertical_relaxed").unique("id", keep="first", maintain_order=True)
        joined = side if joined is None else joined.join(side, on="id", how="left", maintain_order="left")
    assert joined is not None
    values = [pl.col(f"_{i}").cast(pl.Float64) for i in range(len(results))]
    changed = pl.any_horizontal([(v != values[0]).fill_null(False) for v in values[1:]])
    lost = pl.any_horizontal([v.is_null() for v in values])
    gone = pl.all_horizontal([v.is_null() for v in values])
    # What no run could score says nothing about a difference between them.
    rank = pl.when(changed).then(0).when(gone).then(3).when(lost).then(1).otherwise(2)
    # What moved furthest comes first among the changed.
    size = pl.max_horizontal([(v - values[0]).abs() for v in values[1:]]).fill_null(0.0)
    ranked = joined.with_columns(_rank=rank, _size=size).with_row_index("_at")
    return ranked.sort(["_rank", "_size", "_at"], descending=[False, True, False]).drop("_at").with_row_index("_at")


def _change_states(
    changes: pl.DataFrame, first: Result, names: Sequence[str]
) -> tuple[str, list[tuple[str, str]], list[int]]:
    question, lower = first.question, first.outcome_direction == "lower"
    words = question.outcome.replace("_", " ")
    sides = [changes[f"_{i}"].to_list() for i in range(len(names))]
    truths = changes.schema["_0"] == pl.Boolean
    two = len(names) == 2
    if two and truths:
        a, b = names
        values = [
            (f"only {b}", "bad" if lower else "good"),
            (f"only {a}", "good" if lower else "bad"),
            (f"both {words}", ""),
            ("neither", ""),
        ]
        if question.outcome_words:
            # "only A" would leave open whether A alone is right or wrong.
            no, yes = question.outcome_words
            values = [
                (f"only {b} {yes}", "worse" if lower else "better"),
                (f"only {a} {yes}", "better" if lower else "worse"),
                (f"both: {yes}", ""),
                (f"both: {no}", ""),
            ]
    elif two:
        a, b = names
        up, down = ("worse", "better") if lower else ("better", "worse")
        values = [(f"{b} higher", f"up {up}"), (f"{a} higher", f"down {down}"), ("the same", ""), ("the same", "")]
    else:
        values = [("they differ", "mark"), ("they differ", "mark"), ("all the same", ""), ("all the same", "")]
        if truths:
            values = [
                ("they differ", "mark"),
                ("they differ", "mark"),
                (f"all {outcome_words(question)[1]}", ""),
                (f"all {outcome_words(question)[0]}", ""),
            ]
    values += [
        ("unscored in one" if two else "unscored in some", "lost"),
        (f"unscored in {'both' if two else 'all'}", "lost"),
    ]
    codes = []
    for several in zip(*sides, strict=True):
        if any(v is None for v in several):
            codes.append(5 if all(v is None for v in several) else 4)
        elif any(v != several[0] for v in several[1:]):
            codes.append(0 if not two or several[1] > several[0] else 1)
        else:
            codes.append(2 if several[0] or not truths else 3)
    return _merged(words, values, codes)


def _merged(name: str, values: list[tuple[str, str]], codes: list[int]) -> tuple[str, list[tuple[str, str]], list[int]]:
    """Values that read the same become one."""
    distinct = list(dict.fromkeys(values))
    return name, distinct, [distinct.index(values[c]) for c in codes]


def _change_category(changes: pl.DataFrame, i: int, name: str) -> tuple[str, list[str], list[int]]:
    values = ["gained", "lost", "same"] if changes.schema["_0"] == pl.Boolean else ["higher", "lower", "same"]
    codes = []
    for a, b in zip(changes["_0"].to_list(), changes[f"_{i}"].to_list(), strict=True):
        codes.append(-1 if a is None or b is None else 0 if b > a else 1 if b < a else 2)
    return name, values, codes
