"""By what two runs are paired, and whether the pairs are the same examples.

Records without an id are numbered as they come. Two runs of differently ordered files would
then be paired wrongly and nobody would notice: so a comparison says when names are numbers, and looks whether the
input's own texts agree. Texts that are no system's and still move figures (hints) must agree too, or the difference
is partly theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

from sensecheck.report.escaping import visible

if TYPE_CHECKING:
    from sensecheck.report.result import Result

# Records are counted from 1; runs of earlier versions counted lines, from 2 below a header.
_FIRST_NUMBERS = (1, 2)
# True of files that number their records themselves, too.
_NUMBERED = "paired by number (records without an id are numbered as they come)"


@dataclass(frozen=True)
class Agreement:
    """One text of the input in both runs."""

    column: str
    pairs: int
    """Pairs that have this text on both sides."""
    differing: int
    example: str
    """The first pair that differs."""

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.column, "pairs": self.pairs, "differing": self.differing}


@dataclass(frozen=True)
class Pairing:
    numbered: bool
    """Whether both runs call their examples by number."""
    texts: tuple[Agreement, ...]
    beside: tuple[Agreement, ...] = ()
    """Of texts that come with examples and move figures."""

    @property
    def unlike(self) -> str:
        """What came with the examples of one run and not with those of the other, or nothing."""
        wrong = next((t for t in self.beside if t.differing), None)
        if wrong is None:
            return ""
        return (
            f"Careful: {wrong.differing:,} of {wrong.pairs:,} pairs do not have the same {wrong.column} (the first: "
            f"{visible(wrong.example, 60)}), and figures depend on it: what differs may come from that."
        )

    @property
    def doubt(self) -> str:
        """Why the pairs are not the same examples, or nothing."""
        wrong = next((t for t in self.texts if t.differing), None)
        if wrong is None:
            return ""
        said = (
            f"Careful: {wrong.differing:,} of {wrong.pairs:,} pairs do not have the same {wrong.column} "
            f"(the first: {visible(wrong.example, 60)}), so these are not the same examples."
        )
        if self.numbered:
            said += f" {_NUMBERED.capitalize()}: are both files in the same order? Ids would pair them in any order."
        return said

    def notes(self) -> list[str]:
        unlike = [self.unlike] if self.unlike else []
        if self.doubt:
            return [self.doubt, *unlike]
        if not self.numbered:
            return unlike
        same = [t for t in self.texts if t.pairs]
        if same:
            words = " and ".join(t.column for t in same)
            return [f"{_NUMBERED}; {words} the same in all {same[0].pairs:,} pairs", *unlike]
        return [
            f"{_NUMBERED}; there is no text to check this by: the files must list the same examples in the same order",
            *unlike,
        ]

    def to_dict(self) -> dict[str, Any]:
        return {"by": "number" if self.numbered else "id", "texts": [t.to_dict() for t in (*self.texts, *self.beside)]}


def pairing(a: Result, b: Result) -> Pairing:
    return Pairing(_numbered(a) and _numbered(b), tuple(_agreements(a, b)), tuple(_beside(a, b)))


def _numbered(result: Result) -> bool:
    """Whether examples are called 1, 2, 3 …, as they come."""
    columns = [c for c in ("id", "cluster") if c in result.rows.schema]
    files = [f"{PurePath(str(i['path'])).name}:" for i in result.inputs if i.get("path")]
    last = 0
    for batch in result.rows.batches([*columns, *(["scored"] if "scored" in result.rows.schema else [])]):
        frame = batch.filter(pl.col("scored")) if "scored" in batch.columns else batch
        name = pl.col("id").cast(pl.String)
        if "cluster" in columns:
            # A token is called by its sequence and position (7:0), a statement's polarity by its pair (7/negative).
            whole = pl.col("cluster").cast(pl.String)
            part = name.str.strip_prefix(whole).str.contains(r"^(?:[:/]\w+)?$")
            name = pl.when(name.str.starts_with(whole) & part).then(whole).otherwise(name)
        for file in files:
            name = name.str.strip_prefix(file)
        numbers = frame.select(name.cast(pl.Int64, strict=False)).to_series()
        if numbers.null_count() or not numbers.is_sorted():
            return False
        if not len(numbers):
            continue
        first = int(numbers[0])
        if first < last and len(files) < 2:
            return False
        if not last and first not in _FIRST_NUMBERS:
            return False
        last = int(numbers[-1])
    return last > 0


def _agreements(a: Result, b: Result) -> Iterator[Agreement]:
    """Of the input's own texts. Where either of two may be the input's, it is the one that agrees better."""
    for given in a.question.given:
        names = (given,) if isinstance(given, str) else given
        found = [agreement for name in names if (agreement := _agreement(a, b, name)) is not None]
        if found:
            yield min(found, key=lambda one: one.differing / one.pairs)


def _agreement(a: Result, b: Result, column: str) -> Agreement | None:
    """Whether a text is the same in both runs, where both have one."""
    one, other = _digests(a, column), _digests(b, column)
    if one is None or other is None:
        return None
    joined = one.join(other, on="id", how="inner", suffix="_b", maintain_order="left")
    wrong = joined.filter(pl.col("text") != pl.col("text_b"))
    return Agreement(column, len(joined), len(wrong), _first(wrong)) if len(joined) else None


def _beside(a: Result, b: Result) -> Iterator[Agreement]:
    """Of texts that come with examples and move figures: one that only one run has differs, too."""
    for column, called in a.question.beside.items():
        one, other = _digests(a, column), _digests(b, column)
        if one is None or other is None:
            continue  # signatures say which run had none
        ids = _ids(a).join(_ids(b), on="id", how="semi", maintain_order="left").unique("id", maintain_order=True)
        joined = ids.join(one, on="id", how="left", maintain_order="left")
        joined = joined.join(other, on="id", how="left", suffix="_b", maintain_order="left")
        wrong = joined.filter(pl.col("text").ne_missing(pl.col("text_b")))
        if len(joined):
            yield Agreement(called, len(joined), len(wrong), _first(wrong))


def _first(frame: pl.DataFrame) -> str:
    return str(frame["id"][0]) if len(frame) else ""


def _ids(run: Result) -> pl.DataFrame:
    assert run.texts is not None
    return pl.concat([batch.select(pl.col("id").cast(pl.String)) for batch in run.texts.batches(["id"])])


def _digests(run: Result, column: str) -> pl.DataFrame | None:
    """A text of each example that has it, as hashes: what is held does not grow with their length."""
    stripped = pl.col(column).str.strip_chars()
    parts = [
        batch.filter(stripped.fill_null("") != "").select(pl.col("id").cast(pl.String), stripped.hash().alias("text"))
        # Texts of two inputs may differ in their columns: without names, each batch has its own.
        for batch in (run.texts.batches() if run.texts is not None else ())
        if "id" in batch.columns and batch.schema.get(column) == pl.String
    ]
    return pl.concat(parts).unique("id", keep="first", maintain_order=True) if parts else None
