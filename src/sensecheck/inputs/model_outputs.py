"""What models give as arrays, as a table: `Trainer.predict`'s predictions and labels, and the outputs of `generate`.

The same from files (`formats/arrays.py`) and in memory. Of `generate` a row is a sequence with the log-probabilities of
its tokens; padding behind its end is none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.inputs.arrays import Array, as_array, is_array, is_plain, of_array, shape_of
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason

GENERATED = "generate"
PREDICTED = "predictions"
"""What is read, as a format calls it."""

TOKEN_LOGPROBS, STOP_LOGPROBS = "token_logprobs", "stop_logprobs"
"""The log-probabilities of an answer's own tokens, and of what ended it."""
_TRANSITIONS = "transition_scores"
_LABELS = ("label", "labels", "label_ids", "y", "y_true", "targets", "target", "references", "gold")
_ROWS = ("probabilities", "probs", "predictions", "logits", "scores", "softmax", "y_prob", "y_pred", "y_score")
_OUTPUTS = ("sequences", _TRANSITIONS, "scores", "logits", "beam_indices", "eos_token_id", "pad_token_id")
_SHOWN = f"as {_TRANSITIONS} show"
_BY_ROW = ("id", "ids", "correct", "is_correct", "prediction", "gold")
"""Names of what has a value for each row, or is a mistake."""
_UNNAMED = re.compile(r"arr_\d+")
_ROUNDING = 1e-3
_AGREE = 0.05  # half precision of scores against transition scores of full

Arrays = Mapping[str, Any]
"""Arrays by their names; a tuple or list of arrays is what `generate` gives a step."""


# ---- which of the two


def is_generated(parts: Arrays) -> bool:
    """Whether these are the outputs of `generate`: sequences, with what their tokens scored."""
    scored = any(_is_steps(parts.get(name)) for name in (_TRANSITIONS, "scores", "logits"))
    return is_array(parts.get("sequences")) and scored


def _is_steps(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(is_array(step) for step in value)
    return is_array(value) and len(value.shape) in (2, 3)


def held(data: Any) -> list[Arrays] | None:
    """The outputs of a model in memory: of one call or of several; nothing where the data are something else."""
    parts = list(data) if isinstance(data, list) and data else [data]
    found = [_parts(one) for one in parts]
    return None if any(one is None for one in found) else [one for one in found if one is not None]


def _parts(value: Any) -> Arrays | None:
    if isinstance(value, Mapping):
        return value if is_generated(value) else None
    fields = getattr(value, "_fields", None)
    if isinstance(value, tuple) and fields is not None and {"predictions", "label_ids"} <= set(fields):
        return dict(zip(fields, value, strict=True))
    return None


def table_of(batches: Sequence[Arrays], path: str, notes: list[str]) -> tuple[pl.DataFrame, str]:
    """The table of a model's outputs, of one call or of several one after the other, and which of the two it is."""
    if all(map(is_generated, batches)):
        frames, kind = [_generated(parts, path, notes) for parts in batches], GENERATED
        notes[:] = list(dict.fromkeys(notes))
    else:
        frames, kind = [_predicted(parts, path, notes) for parts in batches], PREDICTED
    try:
        return pl.concat(frames), kind
    except pl.exceptions.PolarsError:
        listed = " and ".join(listed_arrays(parts) for parts in batches[:2])
        raise InputError(
            path=path or None, expected="the same arrays in all parts", got=listed, reason=Reason.SHAPE
        ) from None


def listed_arrays(parts: Arrays) -> str:
    """The arrays with their shapes, for messages."""
    told = [f"{shown(name, 40)[1:-1]} ({_shape(value)})" for name, value in list(parts.items())[:12]]
    return ", ".join(told) + (", …" if len(parts) > 12 else "") or "none"


def _shape(value: Any) -> str:
    if isinstance(value, list | tuple) and value and all(is_array(one) for one in value):
        return f"{len(value)} of {' × '.join(map(str, value[0].shape))}"
    if is_array(value):
        return " × ".join(f"{size:,}" for size in value.shape) or "one value"
    return type(value).__name__


# ---- predictions and labels


def _predicted(parts: Arrays, path: str, notes: list[str]) -> pl.DataFrame:
    arrays: dict[str, Array] = {}
    for name, value in parts.items():
        if isinstance(value, list | tuple) and value and all(is_array(one) for one in value):
            notes.append(f"{name} holds {len(value)} arrays, of which the first is read")
            value = value[0]
        array = _values(name, value)
        if array is not None:
            arrays[name] = array
    rows = next((array for name, array in arrays.items() if name in _ROWS and array.ndim > 1), None)
    if rows is None:
        rows = next((array for array in arrays.values() if array.ndim > 1), next(iter(arrays.values()), None))
    if rows is None:
        raise InputError(
            path=path or None, expected="arrays of predictions and labels", got=listed_arrays(parts),
            reason=Reason.NOT_A_TABLE,
        )  # fmt: skip
    columns = {}
    for name, array in arrays.items():
        if array.shape[0] == rows.shape[0] and is_plain(array):
            columns[name] = of_array(name, array)
        elif name in _LABELS or name in _ROWS or name in _BY_ROW:
            raise _no_column(name, array, rows, parts, path)
    if not columns:
        raise _no_column("", rows, rows, parts, path)
    return pl.DataFrame(_by_shape(columns, notes))


def _values(name: str, value: Any) -> Array | None:
    """An array, or a list of numbers, marks or texts as one; nothing where it is something else."""
    if is_array(value):
        return as_array(value, name) if len(value.shape) > 0 else None
    if isinstance(value, list | tuple) and value and type(value[0]) in (bool, int, float, str):
        return np.asarray(value) if len({type(one) for one in value}) == 1 else None
    return None


def _no_column(name: str, array: Array, rows: Array, parts: Arrays, path: str) -> InputError:
    if array.shape[0] != rows.shape[0] and array.ndim <= 2:
        expected, got = f"{rows.shape[0]:,} rows, as in the others", f"{array.shape[0]:,} ({listed_arrays(parts)})"
        return InputError(path=path or None, field=name, expected=expected, got=got, reason=Reason.RAGGED_COLUMNS)
    return InputError(
        path=path or None, field=name or None,
        expected="rows of one number for each class (n × classes), or a label for each",
        got=f"{shape_of(array)} of the type {array.dtype} ({listed_arrays(parts)})",
        hint="Predictions of tokens: bring them to rows, e.g. P.reshape(-1, P.shape[-1]), and leave out padding "
        "(labels of −100).", reason=Reason.SHAPE,
    )  # fmt: skip


def _by_shape(columns: Mapping[str, pl.Series], notes: list[str]) -> dict[str, pl.Series]:
    """Arrays that were saved without names (arr_0, arr_1): one matrix of numbers and one array of classes say it."""
    if not columns or not all(_UNNAMED.fullmatch(name) for name in columns):
        return dict(columns)
    matrices = [name for name, one in columns.items() if isinstance(one.dtype, pl.Array)]
    labels = [name for name, one in columns.items() if one.dtype.is_integer() or one.dtype in (pl.String, pl.Boolean)]
    if len(matrices) != 1 or len(labels) > 1 or len(matrices) + len(labels) != len(columns):
        return dict(columns)
    called = {matrices[0]: "probabilities", **dict.fromkeys(labels, "label")}
    notes.append("by their shapes: " + ", ".join(f"{name} is {new}" for name, new in called.items()))
    return {new: columns[name].alias(new) for name, new in called.items()}


# ---- what `generate` gives


def _generated(parts: Arrays, path: str, notes: list[str]) -> pl.DataFrame:
    """A row a sequence: the log-probabilities of its own tokens, of what ended it, and their numbers."""
    sequences = as_array(parts["sequences"], "sequences")
    if sequences.ndim != 2 or sequences.dtype.kind not in "iu":
        raise _bad_shape(path, "sequences", "whole numbers of tokens, a row a sequence", sequences)
    orders = _orders(parts, sequences, path)
    beams = parts.get("beam_indices")
    given = _transitions(parts, path)
    steps = given.shape[1] if given is not None else len(orders[0]) if orders else 0
    if orders and len(orders[0]) != steps:
        raise InputError(
            path=path or None, field="scores", expected=f"{steps} steps, as {_TRANSITIONS} has",
            got=str(len(orders[0])), reason=Reason.SHAPE,
        )  # fmt: skip
    if not 0 < steps <= sequences.shape[1]:
        raise InputError(
            path=path or None, field="sequences", expected=f"at least the {steps} tokens that have scores",
            got=f"{sequences.shape[1]} in a row", reason=Reason.SHAPE,
        )  # fmt: skip
    written = sequences[:, sequences.shape[1] - steps :].astype(np.int64)
    beam_rows = None if beams is None or not is_array(beams) else as_array(beams, "beam_indices")
    if beam_rows is not None and (beam_rows.ndim != 2 or len(beam_rows) != len(written)):
        raise _bad_shape(path, "beam_indices", f"a row of scores for each token ({shape_of(written)})", beam_rows)
    read = [_of_scores(order, written, beam_rows, path) for order in orders]
    ends = _ends(written, _told_id(parts, "eos_token_id"), _told_id(parts, "pad_token_id"), beam_rows)
    counted = np.arange(steps) < np.asarray(ends.lengths)[:, None]
    computed = _in_order(read, given, counted, beam_rows is not None, path, notes).logprobs if read else None
    logprobs = _chosen(given, computed, path, notes)
    if len(logprobs) != len(written):
        raise InputError(
            path=path or None, field=_TRANSITIONS, expected=f"{len(written):,} rows, as sequences has",
            got=f"{len(logprobs):,}", reason=Reason.RAGGED_COLUMNS,
        )  # fmt: skip
    notes.append(ends.said)
    own: list[list[float]] = []
    ended: list[list[float]] = []
    for row, length, stops in zip(logprobs, ends.lengths, ends.stopped, strict=True):
        own.append([float(x) for x in row[: length - stops]])
        ended.append([float(x) for x in row[length - stops : length]])
    bad = [at for at, (a, b) in enumerate(zip(own, ended, strict=True)) if any(not x <= _ROUNDING for x in [*a, *b])]
    if bad:
        at = bad[0]
        worst = next(x for x in [*own[at], *ended[at]] if not x <= _ROUNDING)
        raise InputError(
            path=path or None, record=at + 1, field=_TRANSITIONS if computed is None else "scores",
            expected="a log-probability of at most 0 for every token", got=f"{worst:g}",
            hint="compute_transition_scores(…, normalize_logits=True) gives log-probabilities.",
            reason=Reason.BAD_LOGPROBS,
        )  # fmt: skip
    return pl.DataFrame(
        {
            **_beside(parts, len(written), path),
            TOKEN_LOGPROBS: pl.Series([[min(x, 0.0) for x in row] for row in own], dtype=pl.List(pl.Float64)),
            STOP_LOGPROBS: pl.Series([[min(x, 0.0) for x in row] for row in ended], dtype=pl.List(pl.Float64)),
            "token_ids": [" ".join(map(str, row[:n])) for row, n in zip(written.tolist(), ends.lengths, strict=True)],
        }
    )


def _beside(parts: Arrays, rows: int, path: str) -> dict[str, pl.Series]:
    """What was saved beside the outputs with a value for each sequence: ids, verdicts, whatever golds are joined by."""
    columns: dict[str, pl.Series] = {}
    for name, value in parts.items():
        array = None if name in _OUTPUTS else _values(name, value)
        if array is None:
            continue
        if array.ndim == 1 and len(array) == rows and is_plain(array):
            columns[name] = of_array(name, array)
        elif name in _BY_ROW:
            raise InputError(
                path=path or None, field=name, expected=f"{rows:,} values, one for each row of sequences",
                got=f"{shape_of(array)} of the type {array.dtype}",
                hint="Where each prompt has several sequences, repeat its value: np.repeat(ids, sequences_each).",
                reason=Reason.RAGGED_COLUMNS,
            )  # fmt: skip
    return columns


def _bad_shape(path: str, name: str, expected: str, array: Array) -> InputError:
    got = f"{shape_of(array)} of the type {array.dtype}"
    return InputError(path=path or None, field=name, expected=expected, got=got, reason=Reason.SHAPE)


def _orders(parts: Arrays, sequences: Array, path: str) -> list[list[Array]]:
    """For each step the scores of all tokens, in every order in which they may lie; none where there are none.

    `generate` gives a tuple of steps. A stack of that has the steps first, what is saved by row has the rows first:
    where there are as many rows as steps, it may be either.
    """
    name = next((name for name in ("scores", "logits") if _is_steps(parts.get(name))), None)
    if name is None:
        return []
    value = parts[name]
    if isinstance(value, list | tuple):
        orders = [[as_array(step, name) for step in value]]
    else:
        array = as_array(value, name)
        if array.ndim != 3:
            return []
        by_row, by_step = [array[:, at] for at in range(array.shape[1])], list(array)
        if array.shape[0] == array.shape[1]:
            orders = [by_row, by_step]
        else:
            orders = [by_row] if array.shape[0] == len(sequences) else [by_step]
    for step in (step for order in orders for step in order):
        if step.ndim != 2 or step.shape != orders[0][0].shape or step.dtype.kind != "f":
            raise _bad_shape(path, name, "the scores of all tokens (rows × vocabulary) for each step", step)
    return orders


def _transitions(parts: Arrays, path: str) -> NDArray[np.float64] | None:
    if not is_array(parts.get(_TRANSITIONS)):
        return None
    array = as_array(parts[_TRANSITIONS], _TRANSITIONS)
    if array.ndim != 2 or array.dtype.kind != "f":
        raise _bad_shape(path, _TRANSITIONS, "a number for each token, a row a sequence", array)
    return array.astype(np.float64)


@dataclass(frozen=True)
class _Scored:
    """Of each written token:"""

    logprobs: NDArray[np.float64]
    raw: NDArray[np.float64]
    """Its score as it was given."""
    likeliest: NDArray[np.bool_]
    """Whether none scored higher."""


def _of_scores(steps: Sequence[Array], written: NDArray[np.int64], beams: Array | None, path: str) -> _Scored:
    """The log-probability of each written token: its score after log-softmax over the vocabulary."""
    rows, vocabulary = steps[0].shape
    if beams is None and rows != len(written):
        raise InputError(
            path=path or None, field="scores", expected=f"{len(written):,} rows a step, as sequences has",
            got=f"{rows:,}", hint="Outputs of beam search need beam_indices, or transition_scores.",
            reason=Reason.SHAPE,
        )  # fmt: skip
    if beams is not None and (beams.shape != written.shape or beams.dtype.kind not in "iu"):
        raise _bad_shape(path, "beam_indices", f"a row of scores for each token ({shape_of(written)})", beams)
    if int(written.min(initial=0)) < 0 or int(written.max(initial=0)) >= vocabulary:
        raise InputError(
            path=path or None, field="sequences", expected=f"tokens from 0 to {vocabulary - 1:,}, which have scores",
            got=str(int(written.max() if written.max() >= vocabulary else written.min())), reason=Reason.SHAPE,
        )  # fmt: skip
    logprobs, raw, likeliest = np.empty(written.shape), np.empty(written.shape), np.empty(written.shape, dtype=bool)
    for at, step in enumerate(steps):
        of = np.arange(len(written)) if beams is None else np.maximum(beams[:, at].astype(np.int64), 0)
        if int(of.max(initial=0)) >= rows:
            raise _bad_shape(
                path, "beam_indices", f"numbers from 0 to {rows - 1:,}", beams if beams is not None else of
            )
        scores = step.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            top = scores.max(axis=1, keepdims=True)
            total = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1))
            raw[:, at] = scores[of, written[:, at]]
            logprobs[:, at] = raw[:, at] - total[of]
            likeliest[:, at] = raw[:, at] == top[of, 0]
    return _Scored(logprobs, raw, likeliest)


def _in_order(
    read: Sequence[_Scored], given: NDArray[np.float64] | None, counted: NDArray[np.bool_], beams: bool, path: str,
    notes: list[str],
) -> _Scored:  # fmt: skip
    """Of the two orders in which as many rows as steps may lie, the one that the numbers show."""
    if len(read) == 1 or np.array_equal(read[0].logprobs[counted], read[1].logprobs[counted], equal_nan=True):
        return read[0]
    names = ("rows", "steps")
    shown_by = {
        _SHOWN: [given is not None and _agree(given, one.logprobs, counted) for one in read],
        f"as {_TRANSITIONS} that are not normalised show": [
            given is not None and _agree(given, one.raw, counted) for one in read
        ],
        "as written tokens would else have had no probability": [
            bool(np.isfinite(one.logprobs[counted]).all()) for one in read
        ],
        "as every written token is then the likeliest": [
            not beams and bool(one.likeliest[counted].all()) for one in read
        ],
    }
    for how, holds in shown_by.items():
        if holds[0] and holds[1] and how == _SHOWN:
            return read[0]  # either way they are what is measured
        if holds[0] != holds[1]:
            at = holds.index(True)
            notes.append(f"scores hold as many rows as steps: the {names[at]} come first, {how}")
            return read[at]
    raise InputError(
        "scores hold as many rows as steps, and nothing shows which of the two come first", path=path or None,
        hint=f"Save {_TRANSITIONS}=model.compute_transition_scores(…, normalize_logits=True) beside them or in their "
        "place; in memory, give the tuple that generate gave.", reason=Reason.SHAPE,
    )  # fmt: skip


def _agree(given: NDArray[np.float64], found: NDArray[np.float64], counted: NDArray[np.bool_]) -> bool:
    """Whether two readings of the tokens that count are the same, but for half precision."""
    if given.shape != found.shape:
        return False
    one, other = given[counted], found[counted]
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return False
    there = np.isfinite(one)
    return bool((np.abs(one - other)[there] <= _AGREE * np.maximum(1.0, np.abs(other[there]))).all())


def _chosen(
    given: NDArray[np.float64] | None, computed: NDArray[np.float64] | None, path: str, notes: list[str]
) -> NDArray[np.float64]:
    """The transition scores that are given, unless the scores beside them say that they are not normalised."""
    if given is None:
        assert computed is not None
        return computed
    if computed is None or given.shape != computed.shape:
        return given
    both = np.isfinite(given) & np.isfinite(computed)
    apart = np.abs(given - computed)[both]
    if bool((apart <= _AGREE * np.maximum(1.0, np.abs(computed[both]))).all()):
        return given
    notes.append(f"{_TRANSITIONS} are not normalised: log-probabilities are computed from the scores")
    return computed


def _told_id(parts: Arrays, name: str) -> set[int]:
    """The numbers of tokens that end or pad, where the output says them."""
    value = parts.get(name)
    if isinstance(value, int):
        return {value}
    if is_array(value) and as_array(value).dtype.kind in "iu":
        return {int(one) for one in np.ravel(as_array(value))}
    return {one for one in value if isinstance(one, int)} if isinstance(value, list | tuple) else set()


@dataclass(frozen=True)
class _Ends:
    lengths: list[int]
    """How many tokens of each row count, with the one that ended it."""
    stopped: list[int]
    """1 where the last of them is what ended the row."""
    said: str


def _ends(written: NDArray[np.int64], eos: set[int], pad: set[int], beams: Array | None) -> _Ends:
    """Where each row ends: as the output says, or as the tails of its rows show."""
    steps = written.shape[1]
    if eos:
        told = _up_to(written, eos, pad)
        listed = " or ".join(map(str, sorted(eos)))
        return _Ends(*told, f"token {listed} ends an answer, as the output says; what follows it does not count")
    if beams is not None and bool((beams[:, -1] < 0).any()):
        lengths = [int(n) for n in (beams >= 0).sum(axis=1)]
        # The beam of a row that ended before the last step names its own end.
        last = {int(row[n - 1]) for row, n in zip(written, lengths, strict=True) if 0 < n < steps}
        stopped = [int(n > 0 and int(row[n - 1]) in last) for row, n in zip(written, lengths, strict=True)]
        return _Ends(
            lengths, stopped, f"token {_listed(last)} ends an answer, as beam_indices show; the rest is padding"
        )
    found = _other_padding(written) or _own_padding(written)
    if found is not None:
        end, padding = found
        how = f"token {padding} pads it" if padding != end else "its repeats pad it"
        lengths, stopped = _up_to(written, {end}, {padding})
        said = f"by the tails of the rows, token {end} ends an answer and {how}: padding does not count"
        return _Ends(lengths, stopped, said)
    said = f"nothing in the rows tells what ends an answer or pads it: all {steps} tokens of each count"
    return _Ends([steps] * len(written), [0] * len(written), said)


def _listed(numbers: set[int]) -> str:
    return " or ".join(map(str, sorted(numbers)))


def _up_to(written: NDArray[np.int64], ends: set[int], pads: set[int]) -> tuple[list[int], list[int]]:
    """Each row up to its first end; without one, up to its padding."""
    steps = written.shape[1]
    is_end = np.isin(written, sorted(ends))
    has_end = is_end.any(axis=1)
    lengths = np.where(has_end, is_end.argmax(axis=1) + 1, steps)
    if pads - ends:
        others = ~np.isin(written, sorted(pads - ends))
        last = np.where(others.any(axis=1), steps - others[:, ::-1].argmax(axis=1), 0)
        lengths = np.where(has_end, lengths, last)
    return [int(n) for n in lengths], [int(one) for one in np.atleast_1d(has_end)]


def _tails(written: NDArray[np.int64], number: int) -> NDArray[np.int64] | None:
    """How often the number ends each row, where it stands nowhere else."""
    marks: NDArray[np.bool_] = np.equal(written, number)
    tails = np.where(marks.all(axis=1), written.shape[1], (~marks)[:, ::-1].argmax(axis=1))
    return tails if bool((marks.sum(axis=1) == tails).all()) else None


def _other_padding(written: NDArray[np.int64]) -> tuple[int, int] | None:
    """(end, padding): a tail of one repeated number behind a number that ends other rows, and stands nowhere else."""
    steps = written.shape[1]
    for padding in np.unique(written[:, -1]):
        tails = _tails(written, int(padding))
        if tails is None or not 0 < int(tails.max()) < steps:
            continue
        padded = tails > 0
        before = np.unique(written[padded, steps - 1 - tails[padded]])
        if len(before) != 1:
            continue
        end = int(before[0])
        places = steps - 1 - tails
        is_end = written == end
        alone = (is_end.sum(axis=1) == is_end[np.arange(len(written)), places]).all()
        if bool(alone) and bool((written[~padded, -1] == end).any()):
            return end, int(padding)
    return None


def _own_padding(written: NDArray[np.int64]) -> tuple[int, int] | None:
    """(end, end): rows that are padded with what ends them, so that it stands once or often at their ends alone."""
    for number in np.unique(written[:, -1]):
        tails = _tails(written, int(number))
        if tails is None or not 2 <= int(tails.max()) < written.shape[1] or int(tails.min()) > 1:
            continue
        # Rows that were cut off say nothing, and one that only repeats itself at its end is no padded one.
        if 2 * int((tails > 0).sum()) >= len(tails):
            return int(number), int(number)
    return None
