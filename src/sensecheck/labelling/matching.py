"""Labels held against the run that they are said to be of: whatever does not fit is refused, and nothing is dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.formats.label_records import AS_EXPECTED, GOLDS
from sensecheck.inputs.reasons import Reason
from sensecheck.labelling.items import VERDICT, Items
from sensecheck.labelling.judging import RIGHT, UNCLEAR, WRONG
from sensecheck.labelling.reading import place_of

_AGAIN = "Label a sheet of this run, or give the run that they were made for."


@dataclass(frozen=True)
class Matched:
    """Labels that fit a run, each with what the run says of its example."""

    labels: pl.DataFrame
    """id, who, label, note, right (none: unclear), fair (false: the person took the example out), path, line."""
    examples: pl.DataFrame
    """A row for each labelled example: id, stratum, size (of the stratum), probability (of being drawn)."""
    drawn: bool
    """Whether the labels say how their examples were drawn; if not, the run is one stratum."""
    strata: tuple[str, ...] = ()
    """The columns that strata are made of."""

    def weighed(self, usable: pl.Series) -> tuple[pl.DataFrame, list[str]]:
        """How many examples of the run each labelled one stands for, if these ids have a label that says something; and
        what a reader must know of that.

        Those of a stratum are shared among its usable labels. Columns: id, stratum, stands_for.
        """
        return _weighed(self, usable)


def matched(labels: pl.DataFrame, items: Items) -> Matched:
    """Labels of this run's examples: refused where they are another's, of other texts, unknown, twice or incomplete."""
    _check_question(labels, items)
    _check_once(labels)
    _check_known(labels, items)
    judged = _judged(labels, items)
    drawn = labels["stratum"].is_not_null()
    examples = labels.unique("id", maintain_order=True).select("id", "stratum", "size", "probability")
    if not drawn.any():
        whole = [pl.lit(value).alias(name) for name, value in (("stratum", "{}"), ("size", len(items.frame)))]
        return Matched(judged, examples.with_columns(*whole), drawn=False)
    if not drawn.all():
        first, other = (_first(labels.filter(one)) for one in (drawn, ~drawn))
        raise InputError(
            f"the label at {place_of(first)} says how its example was drawn, and that at {place_of(other)} does not",
            hint="They cannot be weighed together: give those of one sheet.", reason=Reason.MIXED,
        )  # fmt: skip
    return Matched(judged, examples, drawn=True, strata=_strata(labels, items))


def _first(labels: pl.DataFrame) -> dict[str, Any]:
    return labels.row(0, named=True)


# ---- whose they are


def _check_question(labels: pl.DataFrame, items: Items) -> None:
    asked = items.question
    if not asked:
        return  # a file of verdicts
    other = labels.filter(pl.col("question").is_not_null() & ~pl.col("question").is_in([asked, ""]))
    if not len(other) or (labels["run"].is_null().all() and not (labels["question"] == GOLDS).any()):
        return  # the exports of other tools call their questions as they like
    row = _first(other)
    what = "golds, and not of predictions" if row["question"] == GOLDS else f"{shown(row['question'], 40)}"
    raise InputError(
        f"the label at {place_of(row)} is one of {what}; this is a run of {asked}", hint=_AGAIN,
        reason=Reason.OTHER_RUN,
    )  # fmt: skip


def _check_once(labels: pl.DataFrame) -> None:
    twice = labels.filter(pl.struct("id", "who").is_duplicated())
    if len(twice):
        row = _first(twice)
        places = twice.filter((pl.col("id") == row["id"]) & (pl.col("who") == row["who"])).rows(named=True)
        more = twice.select("id", "who").unique().height - 1
        raise InputError(
            f"{shown(row['who'], 60)} labelled {shown(row['id'], 60)} twice, at {place_of(places[0])} and at "
            f"{place_of(places[1])}" + (f" (and {more:,} more examples)" if more else ""),
            hint="Leave one of the two out; another person's label needs another name in `who`.",
            reason=Reason.GIVEN_TWICE,
        )  # fmt: skip


def _check_known(labels: pl.DataFrame, items: Items) -> None:
    """Ids of this run, and shown as they are now."""
    known = items.frame.select("id", _now="example", _known=True)
    joined = labels.join(known, on="id", how="left", maintain_order="left")
    of_ours = pl.col("example").is_not_null()
    same = joined.filter(of_ours & (pl.col("example") == pl.col("_now")))
    if (
        items.digest
        and bool(labels["run"].is_not_null().all())
        and not (labels["run"] == items.digest).any()
        and not len(same)
    ):
        row = _first(labels)
        raise InputError(
            f"the labels at {place_of(row)} were made for another run (its examples have the digest {row['run']}, "
            f"those of {items.name} {items.digest})", hint=_AGAIN, reason=Reason.OTHER_RUN,
        )  # fmt: skip
    unknown = joined.filter(pl.col("_known").is_null())
    if len(unknown):
        row = _first(unknown)
        more = f" (nor {len(unknown) - 1:,} others)" if len(unknown) > 1 else ""
        hint = did_you_mean(row["id"], items.frame["id"].head(10_000).to_list())
        raise InputError(
            f"the run has no example with a verdict called {shown(row['id'], 60)}{more}", path=row["path"] or None,
            line=row["line"], hint=hint or _AGAIN, reason=Reason.UNKNOWN_QUERY,
        )  # fmt: skip
    other = joined.filter(of_ours & (pl.col("example") != pl.col("_now")))
    if len(other):
        row = _first(other)
        raise InputError(
            f"{shown(row['id'], 60)} was labelled with other texts than the run has now ({len(other):,} of "
            f"{len(joined):,} labels were): the labels are of another version of the predictions",
            path=row["path"] or None, line=row["line"],
            hint="Label a new sheet of this run, or compare them with the run that was shown.", reason=Reason.OTHER_RUN,
        )  # fmt: skip


# ---- what they say


def _judged(labels: pl.DataFrame, items: Items) -> pl.DataFrame:
    """Each label as right, wrong or neither."""
    wanted = [name for name in ("positive", "expected", "choices") if name in items.frame.columns]
    told = labels.join(items.frame.select("id", *wanted), on="id", how="left", maintain_order="left")
    fixed = [choice.label for choice in items.judging.choices]
    rows = [_reading(row, fixed) for row in told.iter_rows(named=True)]
    columns = {"label": pl.String, "right": pl.Boolean, "fair": pl.Boolean}
    return labels.select("id", "who", "note", "path", "line").hstack(pl.DataFrame(rows, schema=columns, orient="row"))


def _reading(row: Mapping[str, Any], fixed: Sequence[str]) -> tuple[str, bool | None, bool]:
    """The label as it is known, whether it says right, and whether the person left the example in."""
    label, fair = str(row["label"] or ""), row["grammatical"] != "no"
    if not label or label.casefold() == UNCLEAR:
        return UNCLEAR, None, fair
    if "positive" not in row:
        if row["right"] is None:
            raise _unknown_label(row, "right, wrong or unclear")
        return (RIGHT if row["right"] else WRONG), row["right"], fair
    choices = row.get("choices") or fixed
    known = {choice.casefold(): choice for choice in choices}
    label = str(row["expected"]) if label == AS_EXPECTED else label
    if label.casefold() not in known:
        raise _unknown_label(row, ", ".join(shown(choice, 40) for choice in choices))
    label = known[label.casefold()]
    return label, label in row["positive"], fair


def _unknown_label(row: Mapping[str, Any], expected: str) -> InputError:
    return InputError(
        path=row["path"] or None, line=row["line"], field="label", expected=expected, got=shown(row["label"], 60),
        reason=Reason.NOT_A_LABEL,
    )  # fmt: skip


# ---- what they stand for


def _strata(labels: pl.DataFrame, items: Items) -> tuple[str, ...]:
    """The columns by which all of them were drawn; a stratum of the draw without any label is refused."""
    told = {text: json.loads(text) for text in labels["stratum"].unique().to_list()}
    ways = sorted({tuple(sorted(stratum)) for stratum in told.values()})
    if len(ways) > 1:
        words = " and ".join(f"({', '.join(way) or 'nothing'})" for way in ways[:3])
        raise InputError(
            f"the labels were drawn in different ways, by {words}", reason=Reason.MIXED,
            hint="They cannot be weighed together: give those of one sheet.",
        )  # fmt: skip
    sizes = labels.select("stratum", "size", "of").unique()
    changed = sizes.filter(pl.col("stratum").is_duplicated())
    if len(changed) or sizes["of"].n_unique() > 1:
        raise InputError(
            "the labels were drawn from runs whose strata are not as large: they are of several measurements",
            hint="They cannot be weighed together: give those of one sheet.", reason=Reason.MIXED,
        )  # fmt: skip
    missing = int(sizes["of"][0]) - int(sizes["size"].sum())
    if missing:
        named = _missing_strata(ways[0], set(told), items)
        raise InputError(
            f"nothing is labelled of {named or 'some strata'}: {missing:,} of the {sizes['of'][0]:,} examples that the "
            "labels were drawn from are stood for by none", reason=Reason.EMPTY,
            hint="Label at least one example of each stratum of the sheet; without, no figure speaks of the whole run.",
        )  # fmt: skip
    return ways[0]


def _missing_strata(columns: tuple[str, ...], there: set[str], items: Items) -> str:
    """By what the run has now; its verdicts may have changed since the draw."""
    if any(name != VERDICT and name not in items.frame.columns for name in columns):
        return ""
    missing = [text for text in items.strata(columns).unique(maintain_order=True).to_list() if text not in there]
    words = [
        ", ".join(f"{column} {shown(value, 40)}" for column, value in json.loads(text).items()) for text in missing
    ]
    return "; ".join(words[:3]) + (f"; and {len(words) - 3:,} more" if len(words) > 3 else "")


def _weighed(fits: Matched, usable: pl.Series) -> tuple[pl.DataFrame, list[str]]:
    there = pl.col("id").is_in(usable.unique().implode())
    counted = fits.examples.with_columns(_usable=there).with_columns(
        _labels=pl.col("_usable").sum().over("stratum"), _given=pl.len().over("stratum")
    )
    share = pl.when(pl.col("_usable")).then(pl.col("size") / pl.col("_labels")).otherwise(0.0)
    weights = counted.select("id", "stratum", stands_for=share)
    if not fits.drawn:
        return weights, [
            "the labels do not say how their examples were drawn: they are taken as a simple random sample of the run"
        ]
    notes = []
    idle = counted.filter(pl.col("_labels") == 0).unique("stratum", maintain_order=True)
    for row in idle.iter_rows(named=True):
        notes.append(
            f"of the stratum {stratum_words(row['stratum'])} no label says right or wrong ({row['_given']:,} "
            f"examples): its {row['size']:,} examples are stood for by none"
        )
    drawn = counted.with_columns(_drawn=(pl.col("size") * pl.col("probability")).round())
    short = drawn.filter(pl.col("_given") < pl.col("_drawn")).unique("stratum", maintain_order=True)
    if len(short):
        asked, given = int(short["_drawn"].sum()), int(short["_given"].sum())
        strata = f"{len(short):,} strata" if len(short) > 1 else "one stratum"
        notes.append(
            f"{given:,} of {asked:,} examples of {strata} are labelled: those that are stand for the rest of their "
            "stratum, as if they were drawn at random"
        )
    return weights, notes


def stratum_words(stratum: str) -> str:
    """A stratum as people read it."""
    return ", ".join(f"{column} {value}" for column, value in json.loads(stratum).items()) or "all"
