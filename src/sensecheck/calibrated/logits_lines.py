"""The lines of a `.logits` file as numbers.

How it is fast: hundreds of lines that are written alike are read at once (`logits_layout`), other lines one by one
by simdjson, which copies numbers straight into flat buffers, so that no Python object is made per number. How it
is safe: whatever these do not recognise at once is read again with the standard library's parser by
`read_carefully`, which alone decides what is an error and words it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import simdjson

from sensecheck.calibrated.logits_layout import AlikeLines, Lines, plain_value
from sensecheck.calibrated.logits_plan import Floats, Plan, Run, Tokens, Variant
from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.half_characters import whole_value
from sensecheck.inputs.json_arrays import DIGITS, in_words
from sensecheck.inputs.reasons import Reason

_PIECE_BYTES = 192 * 1024

_LIBRARY_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError)


@dataclass(slots=True)
class Parsed:
    """One line, read."""

    variant: Variant
    keys: list[str]
    values: Floats
    tokens: Tokens
    labels: Tokens
    logit_at_label: Floats | None
    logsumexp: Floats | None
    input_str: str | None
    fields: list[Any]


@dataclass(slots=True)
class _Buffers:
    """One line as a run takes it: numbers as buffers, strings as lists."""

    keys: list[str]
    count: int
    width: int
    values: Any
    tokens: Any
    labels: Any
    logit_at_label: Any
    logsumexp: Any
    input_str: str | None
    fields: list[Any]

    @classmethod
    def of(cls, line: Parsed) -> _Buffers:
        count, width = line.values.shape
        return cls(
            line.keys,
            count,
            width,
            line.values,
            line.tokens.ravel(),
            line.labels,
            line.logit_at_label,
            line.logsumexp,
            line.input_str,
            line.fields,
        )


def parse_lines(
    plan: Plan,
    data: bytes,
    first_line: int,
    max_sequences: int | None = None,
    max_tokens: int | None = None,
) -> tuple[list[Run], list[InputError]]:
    """The lines of a block as runs of equal width, and the lines that cannot be read.

    Stops at the first such line unless bad lines are skipped, and after the line that reaches one of the limits.
    """
    runs: list[Run] = []
    errors: list[InputError] = []
    reader = _LineReader(plan, runs)
    room = _Room(math.inf if max_sequences is None else max_sequences, math.inf if max_tokens is None else max_tokens)
    number = first_line
    for piece in [data] if room.endless else _pieces(data):
        block = AlikeLines(piece, plan.number_keys, [*(["input_str"] if plan.with_input_str else []), *plan.fields])
        at = 0
        for lines in chain(block.read() if plan.variant == "hf" else (), [None]):
            # the lines up to these one by one
            for index in range(at, lines.first if lines is not None else len(block)):
                try:
                    count = reader.read(block.line(index), number + index)
                except InputError as error:
                    errors.append(error)
                    if not plan.skip_bad:
                        return runs, errors
                    continue
                if not room.left_after([count]):
                    return runs, errors
            if lines is not None:
                at = lines.first + len(lines.lengths)
                left = room.left_after(lines.lengths)
                if not left:
                    lines.cut(room.taken)
                _add_lines(plan, runs, lines, number + lines.first)
                if not left:
                    return runs, errors
        number += len(block)
    return runs, errors


def _pieces(data: bytes) -> Iterator[bytes]:
    """A block in smaller parts, for whoever may want only its first lines."""
    start = 0
    while start < len(data):
        stop = data.find(b"\n", start + _PIECE_BYTES) + 1 or len(data)
        yield data[start:stop]
        start = stop


@dataclass(slots=True)
class _Room:
    """How much may still be read."""

    sequences: float
    tokens: float
    taken: int = 0
    """How many of the lines last asked about fit, the one that reaches a limit among them."""

    @property
    def endless(self) -> bool:
        return self.sequences == math.inf and self.tokens == math.inf

    def left_after(self, lengths: Sequence[int]) -> bool:
        """Whether anything may be read after lines of these lengths."""
        if self.endless:
            return True
        for taken, length in enumerate(lengths, 1):
            self.sequences -= 1
            self.tokens -= length
            if self.sequences <= 0 or self.tokens <= 0:
                self.taken = taken
                return False
        return True


def _run_of(runs: list[Run], width: int) -> Run:
    """The run under way if its rows are as wide, otherwise a new one."""
    if not runs or runs[-1].width != width:
        runs.append(Run(width))
    return runs[-1]


def _add_lines(plan: Plan, runs: list[Run], lines: Lines, number: int) -> None:
    run = _run_of(runs, lines.width)
    run.values.append(lines.numbers["top_logits"])
    run.tokens.append(lines.numbers["top_logit_idxs"])
    run.labels.append(lines.numbers["labels"])
    run.lines.extend(range(number, number + len(lines.lengths)))
    run.lengths.extend(lines.lengths)
    if plan.with_logit_at_label:
        run.logit_at_label.append(lines.numbers["logit_at_label"])
    if plan.with_logsumexp:
        run.logsumexp.append(lines.numbers["logsumexp"])
    if plan.with_input_str:
        run.input_str.extend(other.get("input_str") for other in lines.others)
    if plan.fields:
        run.fields.extend([other.get(name) for name in plan.fields] for other in lines.others)


def keys_and_variant(line: bytes, number: int, plan: Plan) -> tuple[list[str], Variant]:
    """What the first good line tells of a file; an InputError if the line is not good."""
    if plan.variant != "miso":
        # integer tokens show quickly, and care costs ten times as much on a long line
        quick = _LineReader(replace(plan, variant="hf"), []).read_quickly(line)
        if quick is not None:
            return quick.keys, "hf"
    careful = read_carefully(line, number, plan)
    return careful.keys, careful.variant


class _LineReader:
    """Reads lines one by one, quickly where they can be, and adds them to runs."""

    def __init__(self, plan: Plan, runs: list[Run]) -> None:
        self._plan = plan
        self._runs = runs
        self._parser = simdjson.Parser()

    def read(self, line: bytes, number: int) -> int:
        """Add a line and say how many tokens it has; an InputError if it cannot be read."""
        plan = self._plan
        buffers = self.read_quickly(line) if plan.variant is not None else None
        if buffers is None:
            # Not an error yet: the quick way may only be too narrow (NaN, huge integers, a lone surrogate).
            buffers = _Buffers.of(read_carefully(line, number, plan))
        run = _run_of(self._runs, buffers.width)
        run.values.append(buffers.values)
        run.tokens.append(buffers.tokens)
        run.labels.append(buffers.labels)
        run.lines.append(number)
        run.lengths.append(buffers.count)
        if plan.with_logit_at_label:
            run.logit_at_label.append(buffers.logit_at_label)
        if plan.with_logsumexp:
            run.logsumexp.append(buffers.logsumexp)
        if plan.with_input_str:
            run.input_str.append(buffers.input_str)
        if plan.fields:
            run.fields.append(buffers.fields)
        return buffers.count

    def read_quickly(self, line: bytes) -> _Buffers | None:
        """A line by simdjson; None unless it is certain that `read_carefully` would find the same."""
        plan = self._plan
        if line.startswith(_MARK):  # simdjson skips it
            return None
        document: Any = None
        rows: Any = None
        token_rows: Any = None
        label_row: Any = None
        column: Any = None
        tokens: Any
        try:
            document = self._parser.parse(line)
            keys = list(document)
            if len(set(keys)) != len(keys):
                return None
            rows = document["top_logits"]
            token_rows = document["top_logit_idxs"]
            label_row = document["labels"]
            count = len(rows)
            values = rows.as_buffer(of_type="d")
            width = values.size // (8 * count)
            widths = [*map(len, rows), *map(len, token_rows)]
            if not width or len(widths) != 2 * count or widths.count(width) != 2 * count or len(label_row) != count:
                return None
            if values.size != 8 * count * width:
                return None
            if plan.variant == "hf":
                tokens = token_rows.as_buffer(of_type="i")
                labels = label_row.as_buffer(of_type="i")
                if tokens.size != 8 * count * width or labels.size != 8 * count:
                    return None
            else:
                tokens = list(chain.from_iterable(token_rows.as_list()))
                labels = label_row.as_list()
                if not all(type(token) is str for token in chain(tokens, labels)):
                    return None
            per_token: dict[str, Any] = {}
            for key in plan.number_keys[3:]:
                column = document[key]
                per_token[key] = column.as_buffer(of_type="d")
                if per_token[key].size != 8 * count or len(column) != count:
                    return None
            caption = document.get("input_str") if plan.with_input_str else None
            if caption is not None and type(caption) is not str:
                return None
            # Flattening hides arrays inside the rows, but not their brackets: each row and each list has one.
            least = 2 * count + sum(isinstance(document[key], simdjson.Array) for key in keys)
            if line.count(b"[") != least and _has_deeper_arrays(document):
                return None
            others = [plain_value(document.get(name)) for name in plan.fields]
        except _LIBRARY_ERRORS:
            return None
        finally:
            # a parser may be used again only when nothing points into its last document
            document = rows = token_rows = label_row = column = None
        at_label, sums = per_token.get("logit_at_label"), per_token.get("logsumexp")
        return _Buffers(keys, count, width, values, tokens, labels, at_label, sums, caption, others)


_MARK = b"\xef\xbb\xbf"


def _has_deeper_arrays(document: Any) -> bool:
    """Whether there are arrays inside the rows of a line or inside its vectors."""
    for key in ("top_logits", "top_logit_idxs"):
        if any(type(value) is list for row in document[key].as_list() for value in row):
            return True
    vectors = [document.get(key) for key in ("labels", "logit_at_label", "logsumexp")]
    return any(type(value) is list for vector in vectors if vector is not None for value in vector.as_list())


def split_lines(data: bytes) -> Iterator[bytes]:
    """The lines one by one, for whoever wants only the first."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start:end]
        start = end + 1
    if start < len(data):
        yield data[start:]


# --- one line, carefully ---


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a line is, so that whatever is wrong with it is said with file and line."""

    path: str
    line: int

    def refuse(self, reason: Reason, *, expected: str, got: str, field: str | None = None) -> NoReturn:
        raise InputError(
            path=self.path, line=self.line, field=field, expected=expected, got=got, hint=SKIP_HINT, reason=reason
        )


def read_carefully(line: bytes, number: int, plan: Plan) -> Parsed:
    """One line with the standard library's parser: the arbiter of what is an error, and its words."""
    place = _Place(plan.path, number)
    record, keys = _json_object(line, place)
    for key in plan.number_keys:
        if key not in record:
            first_keys = ", ".join(shown(name, 40) for name in keys[:8])
            place.refuse(
                Reason.MISSING_KEY, expected=f"the key {key!r}", got=f"the keys {first_keys}" if keys else "no keys"
            )
    values = _numbers(_matrix(record, "top_logits", place), "top_logits", place)
    token_rows = _token_rows(record, values.shape, place)
    label_list = _label_list(record, len(values), place)
    variant: Variant = plan.variant or ("miso" if isinstance(token_rows[0][0], str) else "hf")
    tokens = _tokens(list(chain.from_iterable(token_rows)), "top_logit_idxs", variant, place)
    labels = _tokens(label_list, "labels", variant, place)
    caption = record.get("input_str") if plan.with_input_str else None
    if caption is not None and not isinstance(caption, str):
        place.refuse(Reason.WRONG_TYPE, field="input_str", expected="text", got=_kind(caption))
    per_token = {key: _number_column(record, key, len(values), place) for key in plan.number_keys[3:]}
    return Parsed(
        variant,
        keys,
        values,
        tokens,
        labels,
        per_token.get("logit_at_label"),
        per_token.get("logsumexp"),
        caption,
        [record.get(name) for name in plan.fields],
    )


def _json_object(line: bytes, place: _Place) -> tuple[dict[str, Any], list[str]]:
    """The object that a line holds, and its keys in their order."""
    if not line.strip():
        place.refuse(Reason.BLANK_LINE, expected="a JSON object", got="a blank line between records")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        place.refuse(
            Reason.ENCODING,
            expected="text in UTF-8",
            got=f"the byte 0x{line[error.start]:02x} at byte {error.start + 1}",
        )
    members: list[tuple[str, Any]] = []

    def noting_members(of_object: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal members
        members = of_object  # the outermost object is finished last
        return dict(of_object)

    try:
        record = json.loads(text, object_pairs_hook=noting_members)
        if "\\u" in text:
            record = whole_value(record)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        if not rest or error.msg.startswith("Unterminated string"):
            ending = shown(text.rstrip()[-30:])
            place.refuse(
                Reason.TRUNCATED, expected="a complete JSON object", got=f"a line that ends too early, at {ending}"
            )
        place.refuse(
            Reason.BAD_JSON,
            expected="a JSON object",
            got=f"{shown(rest, 40)} at column {error.colno} ({in_words(error)})",
        )
    except RecursionError:
        place.refuse(Reason.BAD_JSON, expected="a JSON object", got="brackets nested too deeply to be read")
    except ValueError:  # Python's own bound on the digits of an integer
        place.refuse(Reason.BAD_JSON, expected="a JSON object", got=f"text that cannot be read ({DIGITS})")
    if not isinstance(record, dict):
        place.refuse(Reason.NOT_AN_OBJECT, expected="a JSON object", got=_kind(record))
    keys = [key for key, _ in members]
    if len(record) != len(keys):
        twice = next(key for key, times in Counter(keys).items() if times > 1)
        place.refuse(Reason.KEY_TWICE, expected="each key once", got=f"{shown(twice)} {keys.count(twice)} times")
    return record, keys


def _token_rows(record: dict[str, Any], expected: tuple[int, ...], place: _Place) -> list[list[Any]]:
    """The stored tokens, as many as there are scores."""
    rows = _matrix(record, "top_logit_idxs", place)
    shape = (len(rows), len(rows[0]))
    if shape != expected:
        place.refuse(
            Reason.SHAPE,
            field="top_logit_idxs",
            expected=f"{expected[0]} x {expected[1]} tokens (one for each value of top_logits)",
            got=f"{shape[0]} x {shape[1]}",
        )
    return rows


def _label_list(record: dict[str, Any], count: int, place: _Place) -> list[Any]:
    """The gold tokens, one for each row of scores."""
    labels = record["labels"]
    if not isinstance(labels, list):
        place.refuse(Reason.WRONG_TYPE, field="labels", expected="a list of tokens", got=_kind(labels))
    if any(isinstance(label, list) for label in labels):
        place.refuse(Reason.WRONG_DEPTH, field="labels", expected="a list of tokens", got="lists inside the list")
    if len(labels) != count:
        place.refuse(
            Reason.LABEL_COUNT,
            field="labels",
            expected=f"{plural(count, 'label')} (one for each row of top_logits)",
            got=str(len(labels)),
        )
    return labels


def _number_column(record: dict[str, Any], key: str, count: int, place: _Place) -> Floats:
    """One number for each row of scores."""
    column = record[key]
    if not isinstance(column, list) or len(column) != count:
        place.refuse(
            Reason.VALUE_COUNT,
            field=key,
            expected=f"{plural(count, 'number')} (one for each row of top_logits)",
            got=f"{len(column)}" if isinstance(column, list) else _kind(column),
        )
    return _numbers([[value] for value in column], key, place).ravel()


def _matrix(record: dict[str, Any], key: str, place: _Place) -> list[list[Any]]:
    """A list of equally long, non-empty rows of scalars."""
    rows: list[list[Any]] = record[key]
    entries = "numbers" if key == "top_logits" else "tokens"
    if not isinstance(rows, list):
        place.refuse(Reason.WRONG_TYPE, field=key, expected=f"a list of rows of {entries}", got=_kind(rows))
    if not rows:
        place.refuse(Reason.EMPTY_SEQUENCE, field=key, expected="at least one row", got="an empty list")
    for row_number, row in enumerate(rows, 1):
        if not isinstance(row, list):
            if any(isinstance(other, list) for other in rows):
                place.refuse(
                    Reason.WRONG_DEPTH,
                    field=key,
                    expected=f"a list of rows of {entries}",
                    got=f"{_kind(row)} as row {row_number}",
                )
            place.refuse(
                Reason.WRONG_DEPTH, field=key, expected=f"a list of rows of {entries}", got="a flat list (1-D)"
            )
        if any(isinstance(value, list) for value in row):
            place.refuse(
                Reason.WRONG_DEPTH,
                field=key,
                expected=f"a list of rows of {entries}",
                got=f"lists inside row {row_number} (3-D: a whole batch on one line?)",
            )
        if len(row) != len(rows[0]):
            place.refuse(
                Reason.RAGGED,
                field=key,
                expected=f"rows of the same length ({len(rows[0])}, as in row 1)",
                got=f"{plural(len(row), 'value')} in row {row_number}",
            )
    if not rows[0]:
        place.refuse(Reason.EMPTY_ROW, field=key, expected="at least one value in each row", got="empty rows")
    return rows


def _numbers(rows: list[list[Any]], key: str, place: _Place) -> Floats:
    for row_number, row in enumerate(rows, 1):
        for value in row:
            if type(value) is not float and type(value) is not int:
                place.refuse(
                    Reason.NOT_A_NUMBER, field=key, expected="numbers", got=f"{_shown_kind(value)} in row {row_number}"
                )
    try:
        array = np.array(rows, np.float64)
    except OverflowError:
        array = np.array([[value if _is_finite(value) else math.inf for value in row] for row in rows], np.float64)
    if not np.isfinite(array).all():
        row_number = 1 + int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        value = next(value for value in rows[row_number - 1] if not _is_finite(value))
        name = "a number beyond the range of float64" if isinstance(value, int) else json.dumps(value)
        place.refuse(Reason.NOT_FINITE, field=key, expected="finite numbers", got=f"{name} in row {row_number}")
    return array


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _tokens(tokens: list[Any], key: str, variant: Variant, place: _Place) -> Tokens:
    token_type, kind = (str, "string tokens") if variant == "miso" else (int, "integer tokens")
    for token in tokens:
        if type(token) is not token_type:
            place.refuse(Reason.TOKEN_TYPE, field=key, expected=kind, got=_shown_kind(token))
    if variant == "hf":
        try:
            return np.array(tokens, np.int64)
        except OverflowError:
            place.refuse(Reason.TOKEN_TYPE, field=key, expected="64-bit integer tokens", got="a larger integer")
    column = np.empty(len(tokens), object)
    column[:] = tokens
    return column


def _kind(value: object) -> str:
    """A JSON value's kind in words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _shown_kind(value: object) -> str:
    if value is None or isinstance(value, (dict, list)):
        return _kind(value)
    return json.dumps(value) if isinstance(value, bool) else f"{_kind(value)} {shown(value, 40)}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
