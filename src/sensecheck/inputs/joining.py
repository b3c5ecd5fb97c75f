"""Predictions and golds that lie in two files: which belong together, and what is said of those that do not.

By a key that both have, or, where neither has one, line by line. Nothing is guessed: names that repeat, that only look
alike or that the other side does not have are told, and more than one in a hundred without a partner are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from sensecheck.inputs.errors import BadRecord, InputError, did_you_mean, shown
from sensecheck.inputs.field_names import folded, found
from sensecheck.inputs.formats.text_to_sql import CONVERSATION, POSITION
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.hugging_face import ClassLabels
from sensecheck.inputs.kept_rows import kept
from sensecheck.inputs.places import RECORD
from sensecheck.inputs.reasons import Reason

LINE = "line"
"""What --on calls pairs by their place."""
MOST_UNMATCHED = 0.01
"""The share of either side that may be without a partner."""
ASIDE = "predictions_"
"""Before the name of a predictions' field that golds decide."""
GOLD_PREFIX = "gold_"
"""Before the name of a gold's field that predictions have too."""

ID_NAMES = (
    "id", "question_id", "qname", "custom_id", "instance_id", "example_id", "query_id", "sample_id", "turnID", "pairID",
    "pair_id", "uid", "qid", "_id", "doc_id", "guid", "idx", "index",
)  # fmt: skip
SAMPLE_NAMES = ("sample", "epoch")
"""Fields that tell the samples of one example apart."""
_ASKED = ("question", "utterance", "prompt", "premise", "hypothesis", "sentence1", "sentence2")
_DATABASES = ("db_id", "db", "database", "db_name", "database_id")
_SEPARATOR = "\x1f"


Key = str | Mapping[str, str] | Sequence[str]
"""What --on says: KEY, THEIRS=GOLDS, several of them parted by commas, `line`; in Python also a mapping or a list."""


@dataclass(frozen=True)
class Pairs:
    """Which gold belongs to which prediction, and what is left over on either side."""

    on: str
    """`line`, or the names of the key in predictions and golds."""
    key: str
    """The gold's field that is the key, if one is."""
    predictions: Gathered
    golds: Gathered
    prediction_rows: pl.Series
    gold_rows: pl.Series
    """One after the other, the rows that belong together."""
    lost: list[BadRecord]
    """Predictions without a gold and golds without a prediction."""


def paired(predictions: Gathered, golds: Gathered, on: Key | None, *, samples: bool = False) -> Pairs:
    """Which records belong together.

    on: KEY, or THEIRS=GOLDS where the two call it differently; several parted by commas; `line` for none.
    samples: several predictions of one key are samples of one example.
    """
    if isinstance(on, Mapping):
        on = ",".join(f"{theirs}={ours}" for theirs, ours in on.items())
    elif on is not None and not isinstance(on, str):
        on = ",".join(on)
    for side, what in ((predictions, "predictions"), (golds, "golds")):
        if not len(side.without_blanks()):
            raise InputError(
                path=side.path or None, expected=f"at least one record of the {what}", got="none",
                hint="Is this the right file? `sensecheck look FILE` says what a file holds.", reason=Reason.EMPTY,
            )  # fmt: skip
    if on == LINE and not (LINE in predictions.names and LINE in golds.names):
        return _by_line(predictions, golds)
    keys = _named_keys(predictions, golds, on) if on is not None else _shared_keys(predictions, golds)
    if keys is not None:
        return _by_key(predictions, golds, keys, samples)
    _refuse_doubtful(predictions, golds)
    return _by_line(predictions, golds)


# ---- by key


def _named_keys(predictions: Gathered, golds: Gathered, on: str) -> list[tuple[str, str]]:
    keys = []
    for part in on.split(","):
        theirs, _, ours = (piece.strip() for piece in part.partition("="))
        for side, name, what in ((predictions, theirs, "predictions"), (golds, ours or theirs, "golds")):
            if name not in side.names:
                there = ", ".join(shown(one, 30) for one in side.names[:12])
                raise InputError(
                    path=side.path or None, field="on", expected=f"a field {shown(name, 60)} in the {what}",
                    got=f"the fields {there}" if there else "no fields",
                    hint=did_you_mean(name, side.names)
                    or "Where the two call it differently: --on PREDICTIONS=GOLDS; by place: --on line.",
                    reason=Reason.UNKNOWN_COLUMN,
                )  # fmt: skip
        keys.append((theirs, ours or theirs))
    return keys


def _shared_keys(predictions: Gathered, golds: Gathered) -> list[tuple[str, str]] | None:
    """The key that both sides have, by its name or by its values; nothing where one has none."""
    ours = [name for name in ID_NAMES if name in golds.names]
    theirs = [name for name in ID_NAMES if name in predictions.names]
    same = [name for name in theirs if name in ours]
    if same:
        return [(same[0], same[0])]
    if POSITION in predictions.names:
        # Their places in the data set: a gold's own number is the same one only where all of them are.
        return [(POSITION, name) for name in ours if _alike(predictions, golds, POSITION, name)][:1] or None
    for one in theirs:
        for other in ours:
            if _alike(predictions, golds, one, other):
                return [(one, other)]
    if theirs and ours:
        raise InputError(
            f"predictions are named by {shown(theirs[0], 40)} and golds by {shown(ours[0], 40)}, and these differ",
            path=predictions.path or None,
            hint=f"Say which fields belong together: --on {theirs[0]}={ours[0]} (on=), or --on line if the two files "
            "have the same order.",
            reason=Reason.KEYS_DIFFER,
        )
    return None


def _alike(predictions: Gathered, golds: Gathered, one: str, other: str) -> bool:
    """Whether the names in these two fields are the same ones, but for few."""
    left, right = set(_key_series(predictions, one)), set(_key_series(golds, other))
    # All of them: numbers that are off by one would nearly all have a partner, and a wrong one.
    return None not in left | right and left == right


def _key_series(side: Gathered, name: str) -> pl.Series:
    """A field as texts: 1, "1" and 1.0 (what programs make of whole numbers with a gap among them) are one key."""
    if isinstance(side.rows, pl.DataFrame):
        column = side.rows[name]
        whole = column.cast(pl.Int64, strict=False) if column.dtype.is_float() else column
        if whole.null_count() == column.null_count() and bool((whole == column).all()):
            column = whole
        if not column.dtype.is_nested() and column.dtype != pl.Binary:
            return column.cast(pl.String)
    return pl.Series(name, [None if value is None else _written(value) for value in side.column(name)], dtype=pl.String)


def _written(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _keys_of(side: Gathered, names: Sequence[str], what: str) -> pl.Series:
    columns = [_key_series(side, name) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.null_count():
            raise side.error(
                int(column.is_null().arg_max() or 0), field=name, expected=f"a key in every record of the {what}",
                got="none", hint="Fill it in, or join by other fields with --on (on=).", reason=Reason.MISSING_KEY,
            )  # fmt: skip
    escaped = [column.str.replace_all(_SEPARATOR, f"\\{_SEPARATOR}", literal=True) for column in columns]
    together = columns[0] if len(columns) == 1 else pl.select(pl.concat_str(escaped, separator=_SEPARATOR)).to_series()
    return together.alias("key")


def _by_key(predictions: Gathered, golds: Gathered, keys: Sequence[tuple[str, str]], samples: bool) -> Pairs:
    predictions, golds = predictions.without_blanks(), golds.without_blanks()
    theirs = _keys_of(predictions, [one for one, _ in keys], "predictions")
    ours = _keys_of(golds, [other for _, other in keys], "golds")
    _refuse_repeated(golds, ours, [other for _, other in keys])
    if not samples:
        _refuse_repeated(predictions, theirs, [one for one, _ in keys])
    left, right = (pl.DataFrame([side]).with_row_index("row") for side in (theirs, ours))
    both = left.join(right.rename({"row": "gold"}), on="key", how="left", maintain_order="left")
    alone = right.join(left, on="key", how="anti", maintain_order="left")["row"]
    without = both.filter(pl.col("gold").is_null())["row"]
    without = without.filter(pl.Series([not predictions.is_unanswered(row) for row in without], dtype=pl.Boolean))
    _refuse_many(predictions, golds, theirs, ours, without, alone)
    lost = [_unmatched(predictions, row, theirs[row], Reason.NO_GOLD_FOR_KEY) for row in without]
    lost += [_unmatched(golds, row, ours[row], Reason.NO_PREDICTION_FOR_KEY) for row in alone]
    both = both.drop_nulls()
    return Pairs(
        ",".join(one if one == other else f"{one}={other}" for one, other in keys),
        keys[0][1] if len(keys) == 1 else "",
        predictions,
        golds,
        both["row"],
        both["gold"],
        lost,
    )


def _refuse_repeated(side: Gathered, keys: pl.Series, names: Sequence[str]) -> None:
    repeated = keys.is_duplicated()
    if not repeated.any():
        return
    key = keys[int(repeated.arg_max() or 0)]
    first, second = (keys == key).arg_true()[:2]
    place = f"{'record' if side.place == RECORD else 'line'} {side.place_of(first)}"
    raise side.error(
        second, f"the key {_told(key)} is there twice: first in {place}", field=", ".join(names),
        hint="A key names one record. Leave one out, or join by more fields: --on KEY,KEY (on=). Several predictions "
        "of one example need --repeat COLUMN.",
        reason=Reason.KEY_TWICE,
    )  # fmt: skip


def _told(key: str) -> str:
    return " + ".join(shown(part, 60) for part in key.split(_SEPARATOR))


def _unmatched(side: Gathered, row: int, key: str, reason: Reason) -> BadRecord:
    return BadRecord(side.path, side.place_of(row), str(reason), "", key.replace(_SEPARATOR, " + "))


def _refuse_many(
    predictions: Gathered,
    golds: Gathered,
    theirs: pl.Series,
    ours: pl.Series,
    without_gold: pl.Series,
    without_prediction: pl.Series,
) -> None:
    many = len(without_gold) > MOST_UNMATCHED * len(theirs) or len(without_prediction) > MOST_UNMATCHED * len(ours)
    if not many:
        return
    left, right = theirs[without_gold].to_list(), ours[without_prediction].to_list()
    parts = []
    for keys, total, what in (
        (left, len(theirs), "predictions have no gold"),
        (right, len(ours), "golds have no prediction"),
    ):
        if keys:
            named = ", ".join(map(_told, keys[:3]))
            parts.append(f"{len(keys):,} of {total:,} {what} ({named}{', …' if len(keys) > 3 else ''})")
    raise InputError(
        " and ".join(parts), path=predictions.path or None,
        hint=_look_alike(left, right) or "Up to 1 in 100 may lack a partner, and are then unscored. Are these the "
        f"golds of these predictions{' (' + golds.path + ')' if golds.path else ''}? Leave out what should not count.",
        reason=Reason.KEYS_DIFFER,
    )  # fmt: skip


def _look_alike(left: Collection[str], right: Collection[str]) -> str:
    """What keys without a partner differ in, where they look the same to a person."""
    for what, plain in _PLAINER:
        others = {plain(key): key for key in right}
        found = next(((key, others[plain(key)]) for key in left if plain(key) in others), None)
        if found is not None:
            return f"{_told(found[0])} and {_told(found[1])} differ in {what}: write the keys alike in both files."
    return ""


def _without_zeros(key: str) -> str:
    return key.lstrip("0") or "0"


_PLAINER = (
    ("white space", lambda key: "".join(key.split())),
    ("case", str.casefold),
    ("leading zeros", _without_zeros),
    ("decimals", lambda key: key.removesuffix(".0")),
)


# ---- by line


def _refuse_doubtful(predictions: Gathered, golds: Gathered) -> None:
    """Without a key in both, places decide: refuse where something in the files says that places mean nothing."""
    _refuse_many_files(predictions, "predictions", "golds")
    _refuse_many_files(golds, "golds", "predictions")
    _refuse_other_order(predictions, golds)
    _refuse_gaps(predictions)
    if predictions.format == golds.format == "sql" and "db_id" in predictions.names and "db_id" not in golds.names:
        raise InputError(
            "names databases, and the golds do not: are the two files swapped?", path=predictions.path,
            hint="`sensecheck correct PREDICTIONS --gold GOLDS`; if it is right so, say --on line.",
            reason=Reason.KEYS_DIFFER,
        )  # fmt: skip


def _refuse_many_files(side: Gathered, what: str, others: str) -> None:
    """The order of files is that of their names, and not that of a data set; shards are numbered."""
    if len(side.files) > 1 and side.format not in ("arrow", "parquet"):
        raise InputError(
            f"the {what} come from {len(side.files):,} files, and no key says which {others} they belong to",
            path=str(side.files[0]), hint=_LINE_HINT, reason=Reason.KEYS_DIFFER,
        )  # fmt: skip


def _refuse_other_order(predictions: Gathered, golds: Gathered) -> None:
    """Fields that hold the same names in another order: those that share their own name, and the key of one side."""
    theirs, ours = ([name for name in side.names if _may_be_key(side, name)] for side in (predictions, golds))
    keys = [(one, other) for one in theirs for other in ours if one == other or one in ID_NAMES or other in ID_NAMES]
    for one, other in keys:
        left, right = _key_series(predictions, one), _key_series(golds, other)
        if len(left) == len(right) > 1 and left.to_list() != right.to_list() and _same_names(left, right):
            on = one if one == other else f"{one}={other}"
            raise InputError(
                f"{shown(one, 40)} of the predictions and {shown(other, 40)} of the golds hold the same values in "
                "another order", path=predictions.path or None, hint=f"Join by them: --on {on} (on=). {_LINE_HINT}",
                reason=Reason.KEYS_DIFFER,
            )  # fmt: skip


def _same_names(left: pl.Series, right: pl.Series) -> bool:
    return left.n_unique() == len(left) and set(left) == set(right)


def _refuse_gaps(predictions: Gathered) -> None:
    """Golds of a part of a data set keep their numbers; predictions with a gap have lost some."""
    key = next((name for name in ID_NAMES if name in predictions.names), None)
    numbers = None if key is None else _key_series(predictions, key).cast(pl.Int64, strict=False)
    if key is None or numbers is None or numbers.null_count():
        return
    if not bool((numbers.diff().drop_nulls() == 1).all()):
        raise InputError(
            f"{shown(key, 40)} numbers the predictions, and they stand in another order or with gaps",
            path=predictions.path or None,
            hint=f"The golds have no key: sort the predictions, or give the golds one. {_LINE_HINT}",
            reason=Reason.KEYS_DIFFER,
        )  # fmt: skip


def _may_be_key(side: Gathered, name: str) -> bool:
    if isinstance(side.rows, pl.DataFrame):
        return not side.rows[name].dtype.is_nested()
    first = next((row[name] for row in side.rows if row.get(name) is not None), None)
    return isinstance(first, str | int | float)


_LINE_HINT = "If both have the same order, say --on line."


def _by_line(predictions: Gathered, golds: Gathered) -> Pairs:
    """By place, where both have as many. Blank lines part conversations of golds, or are predictions of nothing."""
    blank = golds.blanks()
    while len(golds) - 1 in blank:  # at the end they are nothing
        blank.discard(len(golds) - 1)
        golds = golds.taken(range(len(golds) - 1))
    count = len(predictions)
    empty = predictions.blanks()
    while count > len(golds) and count - 1 in empty:
        count -= 1
    if count == len(golds):
        for row in sorted(blank - empty):
            raise predictions.error(
                row, expected="a blank line, as the golds have there", got="a prediction",
                hint="Blank lines part conversations, and must stand in the same places in both files.",
                reason=Reason.UNEQUAL_CORPORA,
            )  # fmt: skip
        rows = [row for row in range(count) if row not in blank]
        pairs = list(zip(rows, rows, strict=True))
    else:
        filled = [row for row in range(len(predictions)) if row not in empty]
        asked = [row for row in range(len(golds)) if row not in blank]
        if len(filled) != len(asked):
            raise _unequal(predictions, golds, len(filled), len(asked))
        pairs = list(zip(filled, asked, strict=True))
    _refuse_other_databases(predictions, golds, pairs)
    _refuse_other_questions(predictions, golds, pairs)
    theirs, ours = (pl.Series([pair[side] for pair in pairs], dtype=pl.UInt32) for side in (0, 1))
    return Pairs(LINE, "", predictions, golds, theirs, ours, [])


def _unequal(predictions: Gathered, golds: Gathered, many: int, others: int) -> InputError:
    names = predictions.path or "the predictions", golds.path or "the golds"
    return InputError(
        f"{names[0]} has {many:,} predictions and {names[1]} has {others:,} golds, and no key joins them",
        hint="Give both files a field that names the example and say --on FIELD (on=), or make the files equally long.",
        reason=Reason.UNEQUAL_CORPORA,
    )


def _refuse_other_databases(predictions: Gathered, golds: Gathered, pairs: Sequence[tuple[int, int]]) -> None:
    """Both sides may say which database a query is for: where they differ, the lines are not the same questions."""
    one = next((name for name in _DATABASES if name in predictions.names), None)
    other = next((name for name in _DATABASES if name in golds.names), None)
    if one is None or other is None:
        return
    theirs, ours = predictions.column(one), golds.column(other)
    for row, gold in pairs:
        if theirs[row] and ours[gold] and str(theirs[row]) != str(ours[gold]):
            raise predictions.error(
                row, field=one, expected=f"the database {shown(ours[gold], 60)}, as the gold in the same place",
                got=shown(theirs[row], 60), hint="Are the two files in the same order?", reason=Reason.UNEQUAL_CORPORA,
            )  # fmt: skip


def _refuse_other_questions(predictions: Gathered, golds: Gathered, pairs: Sequence[tuple[int, int]]) -> None:
    """Both sides may repeat what was asked: where most of it differs, the lines are not the same questions."""
    for name in _ASKED:
        if name not in predictions.names or name not in golds.names:
            continue
        theirs, ours = predictions.column(name), golds.column(name)
        other = [pair for pair in pairs if _letters(theirs[pair[0]]) != _letters(ours[pair[1]])]
        if 2 * len(other) > len(pairs):
            row, gold = other[0]
            raise predictions.error(
                row, field=name, expected=f"{shown(ours[gold], 60)}, as the gold in the same place",
                got=shown(theirs[row], 60), hint=f"Are the two files in the same order? Join by it: --on {name} (on=).",
                reason=Reason.UNEQUAL_CORPORA,
            )  # fmt: skip


def _letters(value: Any) -> str:
    return "".join(filter(str.isalnum, str(value).lower()))


# ---- the records together


def _only(labels: ClassLabels, names: Collection[str]) -> ClassLabels:
    return replace(labels, names={name: given for name, given in labels.names.items() if name in names})


def _distinct(called: dict[str, str]) -> dict[str, str]:
    """New names that no other field has."""
    taken = set(called)
    for name, new in called.items():
        while new != name and new.startswith(ASIDE) and new in taken:
            new += "_"
        called[name] = new
        taken.add(new)
    return called


def merged(pairs: Pairs, *, renamed: Mapping[str, Sequence[str]], decided: Collection[Collection[str]]) -> Gathered:
    """Predictions with the fields of their golds; of a name that both have, the gold's is `gold_NAME`.

    renamed: our name of what only predictions bring → the names it may have there.
    decided: groups of names for one thing that golds bring: where they do, the predictions' own is set aside.
    """
    predictions, golds = pairs.predictions, pairs.golds
    # A blank line among predictions may be a prediction of nothing: only golds say where conversations end.
    names = [name for name in predictions.names if name != CONVERSATION or predictions.format != "sql"]
    others = golds.names
    left = {name: name for name in names}
    for ours, candidates in renamed.items():
        theirs = found(candidates, names)
        if theirs is not None and (ours not in names or len(candidates) == 1):
            left |= {ours: f"{ASIDE}{ours}"} if ours in names and theirs != ours else {}
            left[theirs] = ours
    for group in decided:
        if found(group, others) is not None:
            aside = [name for name in names if left[name] == name and folded(name) in group and name not in renamed]
            left |= {name: f"{ASIDE}{name}" for name in aside}
    left = _distinct(left)
    there = set(left.values())
    right = {name: f"{GOLD_PREFIX}{name}" if name in there else name for name in others}
    right.pop(pairs.key if pairs.key in there else "", None)
    right = {name: new for name, new in right.items() if new not in there}
    left_labels = {new: name for name, new in left.items() if new != name}
    right_labels = {new: name for name, new in right.items() if new != name}
    taken = pairs.prediction_rows.to_list()
    tables = isinstance(predictions.rows, pl.DataFrame) and isinstance(golds.rows, pl.DataFrame)
    together = predictions.taken(taken) if tables else predictions.in_place_of(taken, [])
    of_golds = [_only(one.renamed(right_labels), right.values()) for one in golds.class_labels]
    together.class_labels = [*of_golds, *(one.renamed(left_labels) for one in predictions.class_labels)]
    together.renamed = {name: new for name, new in right.items() if name != new}
    together.bad = [*predictions.bad, *golds.bad, *pairs.lost]
    if isinstance(together.rows, pl.DataFrame) and isinstance(golds.rows, pl.DataFrame):
        beside = golds.rows[pairs.gold_rows].select(pl.col(name).alias(new) for name, new in right.items())
        together.rows = together.rows.rename(left).hstack(beside)
        return together
    their_rows, gold_rows = predictions.dictionaries(), golds.dictionaries()

    def both() -> Iterator[Mapping[str, Any]]:
        for at, gold in zip(pairs.prediction_rows, pairs.gold_rows, strict=True):
            fields = their_rows[at]
            # An empty record is a blank line where a prediction should be: nothing was predicted.
            row = {left[name]: value for name, value in fields.items() if name in left}
            row = row or dict.fromkeys(list(renamed)[:1])
            row.update((right[name], value) for name, value in gold_rows[gold].items() if name in right)
            yield row

    together.rows = kept(both())
    return together
