"""By what two runs are paired, and whether the pairs are the same examples.

Records without an id are numbered as they come. Two runs of differently ordered files would
then be paired wrongly and nobody would notice: so a comparison says when names are numbers, and looks whether the
input's own texts agree.
"""

from __future__ import annotations

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
        if self.doubt:
            return [self.doubt]
        if not self.numbered:
            return []
        same = [t for t in self.texts if t.pairs]
        if same:
            words = " and ".join(t.column for t in same)
            return [f"{_NUMBERED}; {words} the same in all {same[0].pairs:,} pairs"]
        return [
            f"{_NUMBERED}; there is no text to check this by: the files must list the same examples in the same order"
        ]

    def to_dict(self) -> dict[str, Any]:
        return {"by": "number" if self.numbered else "id", "texts": [t.to_dict() for t in self.texts]}


def pairing(a: Result, b: Result) -> Pairing:
    return Pairing(_numbered(a) and _numbered(b), tuple(_agreements(a, b)))


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


def _agreements(a: Result, b: Result) -> list[Agreement]:
    if a.texts is None or b.texts is None:
        return []
    agreements = []
    for column in a.question.given:
        sides = []
        for run in (a, b):
            assert run.texts is not None
            if run.texts.schema.get(column) != pl.String or "id" not in run.texts.schema:
                break
            # Hashes, not texts: what is held does not grow with their length.
            digest = pl.col(column).str.strip_chars().hash()
            parts = [
                batch.filter(pl.col(column).fill_null("").str.strip_chars() != "").select(
                    pl.col("id").cast(pl.String), digest.alias("text")
                )
                for batch in run.texts.batches(["id", column])
            ]
            sides.append(pl.concat(parts).unique("id", keep="first", maintain_order=True))
        if len(sides) < 2:
            continue
        joined = sides[0].join(sides[1], on="id", how="inner", suffix="_b", maintain_order="left")
        wrong = joined.filter(pl.col("text") != pl.col("text_b"))
        if len(joined):
            agreements.append(Agreement(column, len(joined), len(wrong), str(wrong["id"][0]) if len(wrong) else ""))
    return agreements
