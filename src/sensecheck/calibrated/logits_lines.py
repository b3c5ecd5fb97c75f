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
from sensecheck.inputs.errors import SKIP_HINT, InputError, escaped, shown

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
class _Found:
    """One line, read quickly: numbers as buffers, strings as lists."""

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
        block = AlikeLines(piece, plan.wanted, [*(["input_str"] if plan.with_input_str else []), *plan.fields])
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
        run.input_str.extend(found.get("input_str") for found in lines.others)
    if plan.fields:
        run.fields.extend([found.get(name) for name in plan.fields] for found in lines.others)


def keys_and_variant(line: bytes, number: int, plan: Plan) -> tuple[list[str], Variant]:
    """What the first good line tells of a file; an InputError if the line is not good."""
    if plan.variant != "miso":
        # integer tokens show quickly, and care costs ten times as much on a long line
        found = _LineReader(replace(plan, variant="hf"), []).read_quickly(line)
        if found is not None:
            return found.keys, "hf"
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
        found = self.read_quickly(line) if plan.variant is not None else None
        if found is None:
            # Not an error yet: the quick way may only be too narrow (NaN, huge integers, a lone surrogate).
            careful = read_carefully(line, number, plan)
            count, width = careful.values.shape
            found = _Found(
                careful.keys,
                count,
                width,
                careful.values,
                careful.tokens.ravel(),
                careful.labels,
                careful.logit_at_label,
                careful.logsumexp,
                careful.input_str,
                careful.fields,
            )
        run = _run_of(self._runs, found.width)
        run.values.append(found.values)
        run.tokens.append(found.tokens)
        run.labels.append(found.labels)
        run.lines.append(number)
        run.lengths.append(found.count)
        if plan.with_logit_at_label:
            run.logit_at_label.append(found.logit_at_label)
        if plan.with_logsumexp:
            run.logsumexp.append(found.logsumexp)
        if plan.with_input_str:
            run.input_str.append(found.input_str)
        if plan.fields:
            run.fields.append(found.fields)
        return found.count

    def read_quickly(self, line: bytes) -> _Found | None:
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
            for key in plan.wanted[3:]:
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
        sums = per_token.get("logsumexp")
        return _Found(
            keys, count, width, values, tokens, labels, per_token.get("logit_at_label"), sums, caption, others
        )


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


def read_carefully(line: bytes, number: int, plan: Plan) -> Parsed:
    """One line with the standard library's parser: the arbiter of what is an error, and its words."""

    def bad(reason: str, *, expected: str, got: str, field: str | None = None) -> NoReturn:
        raise InputError(
            path=plan.path,
            line=number,
            field=field,
            expected=expected,
            got=got,
            hint=SKIP_HINT,
            reason=reason,
        )

    if not line.strip():
        bad("blank_line", expected="a JSON object", got="a blank line between records")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        bad(
            "encoding",
            expected="text in UTF-8",
            got=f"the byte 0x{line[error.start]:02x} at byte {error.start + 1}",
        )
    pairs: list[tuple[str, Any]] = []

    def keep(found: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal pairs
        pairs = found  # the outermost object is finished last
        return dict(found)

    try:
        record = json.loads(text, object_pairs_hook=keep)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        if not rest or error.msg.startswith("Unterminated string"):
            ending = shown(text.rstrip()[-30:])
            bad("truncated", expected="a whole JSON object", got=f"a line that ends too early, at {ending}")
        bad(
            "bad_json",
            expected="a JSON object",
            got=f"{shown(rest, 40)} at column {error.colno} ({error.msg})",
        )
    except RecursionError:
        bad("bad_json", expected="a JSON object", got="brackets nested too deeply to be read")
    except ValueError as error:
        bad("bad_json", expected="a JSON object", got=f"what cannot be read ({escaped(str(error))})")
    if not isinstance(record, dict):
        bad("not_an_object", expected="a JSON object", got=_kind(record))
    keys = [key for key, _ in pairs]
    if len(record) != len(keys):
        twice = next(key for key, times in Counter(keys).items() if times > 1)
        bad("key_twice", expected="each key once", got=f"{shown(twice)} {keys.count(twice)} times")
    wanted = plan.wanted
    for key in wanted:
        if key not in record:
            held = ", ".join(shown(name, 40) for name in keys[:8]) or "none"
            bad("missing_key", expected=f"the key {key!r}", got=f"the keys {held}" if keys else "no keys")

    values = _numbers(_matrix(record, "top_logits", bad), "top_logits", bad)
    count, width = values.shape
    token_rows = _matrix(record, "top_logit_idxs", bad)
    shape = (len(token_rows), len(token_rows[0]))
    if shape != (count, width):
        bad(
            "shape",
            field="top_logit_idxs",
            expected=f"{count} x {width} tokens (one for each value of top_logits)",
            got=f"{shape[0]} x {shape[1]}",
        )
    label_list = record["labels"]
    if not isinstance(label_list, list):
        bad("wrong_type", field="labels", expected="a list of tokens", got=_kind(label_list))
    if any(isinstance(label, list) for label in label_list):
        bad("wrong_depth", field="labels", expected="a list of tokens", got="lists inside the list")
    if len(label_list) != count:
        bad(
            "label_count",
            field="labels",
            expected=f"{plural(count, 'label')} (one for each row of top_logits)",
            got=str(len(label_list)),
        )
    variant: Variant = plan.variant or ("miso" if isinstance(token_rows[0][0], str) else "hf")
    tokens = _tokens(list(chain.from_iterable(token_rows)), "top_logit_idxs", variant, bad)
    labels = _tokens(label_list, "labels", variant, bad)
    caption = record.get("input_str") if plan.with_input_str else None
    if caption is not None and not isinstance(caption, str):
        bad("wrong_type", field="input_str", expected="text", got=_kind(caption))
    per_token = {}
    for key in wanted[3:]:
        column = record[key]
        if not isinstance(column, list) or len(column) != count:
            came = f"{len(column)}" if isinstance(column, list) else _kind(column)
            bad(
                "value_count",
                field=key,
                expected=f"{plural(count, 'number')} (one for each row of top_logits)",
                got=came,
            )
        per_token[key] = _numbers([[value] for value in column], key, bad).ravel()
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


def _matrix(record: dict[str, Any], key: str, bad: Any) -> list[list[Any]]:
    """A list of equally long, non-empty rows of scalars."""
    rows: list[list[Any]] = record[key]
    what = "numbers" if key == "top_logits" else "tokens"
    if not isinstance(rows, list):
        bad("wrong_type", field=key, expected=f"a list of rows of {what}", got=_kind(rows))
    if not rows:
        bad("empty_sequence", field=key, expected="at least one row", got="an empty list")
    for at, row in enumerate(rows, 1):
        if not isinstance(row, list):
            if any(isinstance(other, list) for other in rows):
                bad(
                    "wrong_depth",
                    field=key,
                    expected=f"a list of rows of {what}",
                    got=f"{_kind(row)} as row {at}",
                )
            bad("wrong_depth", field=key, expected=f"a list of rows of {what}", got="a flat list (1-D)")
        if any(isinstance(value, list) for value in row):
            bad(
                "wrong_depth",
                field=key,
                expected=f"a list of rows of {what}",
                got=f"lists inside row {at} (3-D: a whole batch on one line?)",
            )
        if len(row) != len(rows[0]):
            bad(
                "ragged",
                field=key,
                expected=f"rows of one length ({len(rows[0])}, as in row 1)",
                got=f"{plural(len(row), 'value')} in row {at}",
            )
    if not rows[0]:
        bad("empty_row", field=key, expected="at least one value in each row", got="empty rows")
    return rows


def _numbers(rows: list[list[Any]], key: str, bad: Any) -> Floats:
    for at, row in enumerate(rows, 1):
        for value in row:
            if type(value) is not float and type(value) is not int:
                bad("not_a_number", field=key, expected="numbers", got=f"{_shown_kind(value)} in row {at}")
    try:
        array = np.array(rows, np.float64)
    except OverflowError:
        array = np.array([[math.inf]])
    if not np.isfinite(array).all():
        at = 1 + int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        value = next(value for value in rows[at - 1] if not _is_finite(value))
        name = "a number beyond the range of float64" if isinstance(value, int) else json.dumps(value)
        bad("not_finite", field=key, expected="finite numbers", got=f"{name} in row {at}")
    return array


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _tokens(found: list[Any], key: str, variant: Variant, bad: Any) -> Tokens:
    wanted, name = (str, "string tokens") if variant == "miso" else (int, "integer tokens")
    for token in found:
        if type(token) is not wanted:
            bad("token_type", field=key, expected=name, got=_shown_kind(token))
    if variant == "hf":
        try:
            return np.array(found, np.int64)
        except OverflowError:
            bad("token_type", field=key, expected="64-bit integer tokens", got="a larger integer")
    column = np.empty(len(found), object)
    column[:] = found
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
