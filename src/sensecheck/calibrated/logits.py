"""The `.logits` format: JSON lines of top-k scores for each step of a sequence, read into flat columns.

One object per line: `top_logits` (n rows of k scores), `top_logit_idxs` (the k tokens of each row) and
`labels` (the n gold tokens), with `logit_at_label`, `logsumexp` and `input_str` optional. Tokens are integers
(files written from Hugging Face models, "hf") or strings ("miso", with copy operations).

How it is fast: every line is parsed by simdjson and its numbers are copied straight into flat buffers, so no
Python object is made per number. How it is safe: whatever the fast path does not recognise at once is read
again with the standard library's parser by `_read_carefully`, which alone decides what is an error and words
it. What a file holds (variant, scale) is decided once per file from its first tokens, never per row, and a
later line that contradicts the decision is an error of that line.
"""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn

import numpy as np
import simdjson
from numpy.typing import NDArray

from sensecheck.inputs.errors import SKIP_HINT, BadRecord, InputError, escaped, shown
from sensecheck.inputs.opening import Block, PathInput, Source, sources
from sensecheck.inputs.tables import detect_table_format

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tokens = NDArray[Any]
Bools = NDArray[np.bool_]

Variant = Literal["hf", "miso"]
Scale = Literal["probabilities", "logits", "logprobs"]

SCALES = ("auto", "probabilities", "logits", "logprobs")
VARIANTS = ("auto", "hf", "miso")

PADDING_LABEL = -100
"""The label that PyTorch's losses ignore: such steps are no predictions, and are counted apart."""

DECIDING_TOKENS = 1024
"""A file's scale is recognised from this many first tokens, however the file is cut into blocks."""

_BLOCK_BYTES = 2 * 1024 * 1024  # what stays in the cache from the read to the last column is read fastest
_DECIDING_BYTES = 64 * 1024 * 1024  # a file without one good line in this much text is given up
_KEPT_BAD_RECORDS = 1000  # all bad records are counted; this many are kept with their messages
_STRETCH_BYTES = 256 * 1024
_ROUNDING = 1e-6  # how far float32 rounding may push a probability above 1 or a log-probability above 0
_SUM_SLACK = 0.01  # how far a row of probabilities stored in half precision may sum above 1

_LIBRARY_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError)


@dataclass(frozen=True, slots=True)
class ScaleDecision:
    """What the numbers of one file are, how that is known, and how they became probabilities."""

    scale: Scale
    how: Literal["given", "recognised"]
    evidence: str
    normaliser: Literal["none", "logsumexp", "top_k_and_label", "top_k"] = "none"
    caveat: str | None = None

    def __str__(self) -> str:
        text = f"{self.scale} ({self.how}: {self.evidence})"
        return f"{text}; {self.caveat}" if self.caveat else text


@dataclass(frozen=True, slots=True)
class TokenColumns:
    """The scored tokens of a stretch of one file: one entry per token unless said otherwise."""

    path: str
    confidence: Floats
    """The probability of the predicted token."""
    predicted: Tokens
    """The token with the highest score, the first of equals: int64, or objects that are str."""
    label: Tokens
    correct: Bools
    sequence: Ints
    """The line of the token's sequence, from 1."""
    position: NDArray[np.int32]
    """The token's place in its sequence, from 0, counted before anything was left out."""
    logit_at_label: Floats | None
    lines: Ints
    """One entry per sequence: its line."""
    lengths: Ints
    """One entry per sequence: its scored tokens."""
    input_str: list[str | None] | None
    """One entry per sequence: the text it answers."""
    fields: dict[str, list[Any]] = field(default_factory=dict)
    """Other fields of the lines that were asked for, one entry per sequence; None where a line lacks it."""

    def __len__(self) -> int:
        return len(self.confidence)


@dataclass(slots=True)
class FileReport:
    """What was read of one file, filled while reading."""

    path: str
    variant: Variant | None = None
    scale: ScaleDecision | None = None
    sequences: int = 0
    tokens: int = 0
    padding: int = 0
    ignored: int = 0
    bad: Counter[str] = field(default_factory=Counter)
    """Lines that could not be scored, by reason."""
    bad_records: list[BadRecord] = field(default_factory=list)
    sha256: str | None = None
    raw_bytes: int = 0


class DetectedFormat(str):
    """The name of a format, with the reason it was recognised by."""

    __slots__ = ("reason",)
    reason: str

    def __new__(cls, name: str, reason: str) -> DetectedFormat:
        made = super().__new__(cls, name)
        made.reason = reason
        return made


def detect_format(first_block: bytes) -> DetectedFormat:
    """Name what a file holds by its first block.

    `logits-hf`, `logits-miso`, `empty`, or a table: `jsonl`, `json`, `csv`, `tsv`, `text`, `parquet`. The
    result is a string that carries `.reason`.
    """
    if not first_block.strip():
        return DetectedFormat("empty", "the input holds no text")
    for number, line in enumerate(_split(first_block), 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith(b"{") or b'"top_logits"' not in line:
            break
        try:
            parsed = _read_carefully(line, number, _Plan(path=""))
        except InputError:
            string_tokens = b'"labels": ["' in line or b'"labels":["' in line
            return DetectedFormat(
                "logits-miso" if string_tokens else "logits-hf",
                f'line {number} holds the key "top_logits", though it cannot be read in full',
            )
        if parsed.variant == "miso":
            return DetectedFormat("logits-miso", f'line {number} holds "top_logits" with string tokens')
        return DetectedFormat("logits-hf", f'line {number} holds "top_logits" with integer tokens')
    table = detect_table_format(first_block)
    return DetectedFormat(table.name, table.reason)


# --- one file, decided once ---


@dataclass(frozen=True, slots=True)
class _Plan:
    """Everything that reading a block depends on; the same for all blocks of a file, and picklable."""

    path: str
    variant: Variant | None = None
    decision: ScaleDecision | None = None
    top_k: int = 1
    ignored_tokens: frozenset[int] | frozenset[str] = frozenset()
    ignore_by: Literal["gold", "predicted"] = "gold"
    padding_label: int | None = PADDING_LABEL
    skip_bad: bool = False
    with_logit_at_label: bool = False
    with_logsumexp: bool = False
    with_input_str: bool = False
    fields: tuple[str, ...] = ()
    hands_out_logit: bool = False
    """Whether logit_at_label was asked for, and is not only read to bound a confidence."""


@dataclass(slots=True)
class _Parsed:
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
class _Run:
    """Neighbouring lines whose rows have the same width, so that they form one matrix."""

    width: int
    values: list[Any] = field(default_factory=list)
    tokens: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    logit_at_label: list[Any] = field(default_factory=list)
    logsumexp: list[Any] = field(default_factory=list)
    input_str: list[str | None] = field(default_factory=list)
    fields: list[list[Any]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def matrix(self) -> Floats:
        return np.frombuffer(b"".join(self.values), np.float64).reshape(-1, self.width)

    def token_matrix(self, variant: Variant) -> Tokens:
        return _joined(self.tokens, variant).reshape(-1, self.width)

    def label_column(self, variant: Variant) -> Tokens:
        return _joined(self.labels, variant)


def _joined(parts: list[Any], variant: Variant) -> Tokens:
    """Integer buffers side by side, or lists of strings as one object column."""
    if variant == "hf":
        return np.frombuffer(b"".join(parts), np.int64)
    column = np.empty(sum(map(len, parts)), object)
    column[:] = list(chain.from_iterable(parts))
    return column


def _parse(
    plan: _Plan,
    data: bytes,
    first_line: int,
    max_sequences: int | None = None,
    max_tokens: int | None = None,
) -> tuple[list[_Run], list[InputError]]:
    """The lines of a block as runs of equal width, and the lines that cannot be read.

    Stops at the first such line unless bad lines are skipped.
    """
    runs: list[_Run] = []
    errors: list[InputError] = []
    run = _Run(0)
    sequences = tokens_seen = 0
    fast = plan.variant is not None
    integers = plan.variant == "hf"
    text, extra, normaliser = plan.with_input_str, plan.with_logit_at_label, plan.with_logsumexp
    keys: list[str] = []
    parse: Any = simdjson.Parser().parse
    document: Any = None
    rows: Any = None
    token_rows: Any = None
    label_row: Any = None
    column: Any = None
    tokens: Any
    values: Any
    others: list[Any] = []
    usual_brackets = -1
    for number, (line, marks, offset, first_mark) in enumerate(_lines_with_marks(data), first_line):
        try:
            if not fast:
                raise ValueError
            # a parser may be used again only when nothing points into its last document
            document = rows = token_rows = label_row = column = None
            document = parse(line)
            if (found := list(document)) != keys:
                if len(set(found)) != len(found):
                    raise ValueError
                keys, usual_brackets = found, -1
            rows = document["top_logits"]
            token_rows = document["top_logit_idxs"]
            label_row = document["labels"]
            count = len(rows)
            values = rows.as_buffer(of_type="d")
            width = values.size // (8 * count)
            if len(token_rows) != count or len(label_row) != count or values.size != 8 * count * width:
                raise ValueError
            regular = integers and marks.show_matrices(line, offset, first_mark, count, width)
            if not regular:
                widths = [*map(len, rows), *map(len, token_rows)]
                if widths.count(width) != 2 * count or not width:
                    raise ValueError
            if integers:
                tokens = token_rows.as_buffer(of_type="i")
                labels = label_row.as_buffer(of_type="i")
                if tokens.size != 8 * count * width or labels.size != 8 * count:
                    raise ValueError
            else:
                tokens = list(chain.from_iterable(token_rows.as_list()))
                labels = label_row.as_list()
                if not all(type(token) is str for token in chain(tokens, labels)):
                    raise ValueError
            at_label = sums = caption = None
            if extra:
                column = document["logit_at_label"]
                at_label = column.as_buffer(of_type="d")
                if at_label.size != 8 * count or len(column) != count:
                    raise ValueError
            if normaliser:
                column = document["logsumexp"]
                sums = column.as_buffer(of_type="d")
                if sums.size != 8 * count or len(column) != count:
                    raise ValueError
            if text:
                caption = document.get("input_str")
                if caption is not None and type(caption) is not str:
                    raise ValueError
            if plan.fields:
                others = [_plain(document.get(name)) for name in plan.fields]
            if regular:
                flat = _is_flat(label_row, b"labels", line)
                flat = flat and not (extra and not _is_flat(document["logit_at_label"], b"logit_at_label", line))
                if not flat or (normaliser and not _is_flat(document["logsumexp"], b"logsumexp", line)):
                    raise ValueError
            else:
                # Flattening hides arrays inside the rows, but not their brackets: beside two for each row, a
                # line has as many as others with its keys, unless its text holds some.
                brackets = line.count(b"[") - 2 * count
                if brackets != usual_brackets:
                    brackets -= str(document.get("input_str")).count("[")
                    if brackets != usual_brackets:
                        if _has_deeper_arrays(document):
                            raise ValueError
                        usual_brackets = brackets
        except _LIBRARY_ERRORS:
            # Not an error yet: the fast path may only be too narrow (NaN, huge integers, a lone surrogate).
            try:
                careful = _read_carefully(line, number, plan)
            except InputError as error:
                errors.append(error)
                if not plan.skip_bad:
                    break
                continue
            values, labels, caption = careful.values, careful.labels, careful.input_str
            tokens = careful.tokens.ravel()
            at_label, sums = careful.logit_at_label, careful.logsumexp
            others = careful.fields
            count, width = careful.values.shape
        if width != run.width:
            run = _Run(width)
            runs.append(run)
        run.values.append(values)
        run.tokens.append(tokens)
        run.labels.append(labels)
        run.lines.append(number)
        run.lengths.append(count)
        if extra:
            run.logit_at_label.append(at_label)
        if normaliser:
            run.logsumexp.append(sums)
        if text:
            run.input_str.append(caption)
        if plan.fields:
            run.fields.append(others)
        sequences += 1
        tokens_seen += count
        if (max_sequences is not None and sequences >= max_sequences) or (
            max_tokens is not None and tokens_seen >= max_tokens
        ):
            break
    document = rows = token_rows = label_row = column = None
    return runs, errors


def _plain(value: Any) -> Any:
    """A value that outlives its document: arrays and objects of the parser point into it."""
    if isinstance(value, simdjson.Array):
        return value.as_list()
    return value.as_dict() if isinstance(value, simdjson.Object) else value


def _has_deeper_arrays(document: Any) -> bool:
    """Whether there are arrays inside the rows of a line or inside its vectors."""
    for key in ("top_logits", "top_logit_idxs"):
        if any(type(value) is list for row in document[key].as_list() for value in row):
            return True
    vectors = [document.get(key) for key in ("labels", "logit_at_label", "logsumexp")]
    return any(type(value) is list for vector in vectors if vector is not None for value in vector.as_list())


def _is_flat(array: Any, key: bytes, line: bytes) -> bool:
    """Whether an array of numbers holds no arrays, which `as_buffer` would flatten away.

    It does not if the line's last opening bracket is its own; otherwise its elements are looked at.
    """
    at = line.rfind(b"[")
    for quoted in (b'"%b": ' % key, b'"%b":' % key):
        if line.startswith(quoted, max(0, at - len(quoted))):
            return True
    return not any(type(value) is list for value in array.as_list())


class _Marks:
    """The closing brackets of a stretch of text, to tell from the text alone that matrices are regular.

    Flattening a nested array loses where its rows end, and asking simdjson for the length of every row costs
    half as much as parsing. The text shows it for many lines at once: each `]` has a sign, the number of
    commas up to the next `]`, plus 128 where `, [` follows at once. Two n x k matrices as the first values of
    a line show as n-1 times 128+k, 0, k, n-1 times 128+k, 0.
    """

    __slots__ = ("head", "middle", "places", "signs", "tails")

    def __init__(self, data: bytes, start: int, stop: int, scratch: Bools) -> None:
        text = np.frombuffer(data, np.uint8, stop - start, start)
        found = scratch[: len(text)]
        self.places = np.flatnonzero(np.equal(text, ord("]"), out=found))
        self.signs = b""
        if not len(self.places):
            return
        compact = data.startswith(b"],[", start + int(self.places[0]))
        self.head = b'{"top_logits":[[' if compact else b'{"top_logits": [['
        self.middle = b'],"top_logit_idxs":[[' if compact else b'], "top_logit_idxs": [['
        self.tails = (b'],"', b"]}") if compact else (b'], "', b"]}")
        # counts wrap at 256, which the number of all values exposes, since k is below 127
        np.equal(text, ord(","), out=found)
        commas = np.add.reduceat(found.view(np.uint8), self.places, dtype=np.uint8)
        follows = text.take(self.places + (2 if compact else 3), mode="clip") == ord("[")
        self.signs = (np.minimum(commas, 127) + (follows.view(np.uint8) << 7)).tobytes()

    def show_matrices(self, line: bytes, offset: int, first: int, count: int, width: int) -> bool:
        """Whether a line begins with two count x width matrices of numbers.

        Known from the parser must be that its top_logits and top_logit_idxs are arrays of `count` elements
        with `count * width` numbers, and nothing else, in all; `offset` is where the line starts in the
        stretch and `first` its first closing bracket. Then this is a proof: between head and middle lie
        count+1 closing brackets, so there are as many opening ones, and the head and the row ends account for
        them all. So the rows hold no arrays, those after the first have `width` values by their commas, and
        the first has what is left. The same goes for the second matrix. (A width of 1 would leave room for
        empty rows.)
        """
        if not 1 < width < 127 or not self.signs.startswith(_regular_signs(count, width), first):
            return False
        outer = int(self.places[first + count]) - offset
        if not line.startswith(self.head) or not line.startswith(self.middle, outer):
            return False
        if line[len(self.head)] == _OPENING or line[outer + len(self.middle)] == _OPENING:
            return False
        return line.startswith(self.tails, int(self.places[first + 2 * count + 1]) - offset)


_OPENING = ord("[")


@lru_cache(maxsize=4096)
def _regular_signs(count: int, width: int) -> bytes:
    rows = bytes([128 + width]) * (count - 1)
    return rows + bytes([0, width]) + rows + b"\0"


def _lines_with_marks(data: bytes) -> Iterator[tuple[bytes, _Marks, int, int]]:
    """Each line with the marks of its stretch, where it starts in that and its first closing bracket."""
    start = 0
    scratch = np.empty(0, bool)  # one for all: fresh pages for each comparison would cost more than it
    while start < len(data):
        # by stretches that stay in the cache until their lines are parsed
        stop = data.find(b"\n", start + _STRETCH_BYTES) + 1 or len(data)
        if len(scratch) < stop - start:
            scratch = np.empty(max(stop - start, 2 * _STRETCH_BYTES), bool)
        marks = _Marks(data, start, stop, scratch)
        lines: list[bytes] = []
        offsets: list[int] = []
        begin = start
        while begin < stop:
            end = data.find(b"\n", begin, stop)
            end = stop if end < 0 else end
            lines.append(data[begin:end])
            offsets.append(begin - start)
            begin = end + 1
        firsts = np.searchsorted(marks.places, offsets).tolist()
        for line, offset, first in zip(lines, offsets, firsts, strict=True):
            yield line, marks, offset, first
        start = stop


def _split(data: bytes) -> Iterator[bytes]:
    """The lines one by one, for whoever wants only the first."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield data[start:end]
        start = end + 1
    if start < len(data):
        yield data[start:]


# --- one line, carefully ---


def _read_carefully(line: bytes, number: int, plan: _Plan) -> _Parsed:
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
    wanted = ["top_logits", "top_logit_idxs", "labels"]
    wanted += ["logit_at_label"] if plan.with_logit_at_label else []
    wanted += ["logsumexp"] if plan.with_logsumexp else []
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
            expected=f"{_plural(count, 'label')} (one for each row of top_logits)",
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
                expected=f"{_plural(count, 'number')} (one for each row of top_logits)",
                got=came,
            )
        per_token[key] = _numbers([[value] for value in column], key, bad).ravel()
    return _Parsed(
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
                got=f"{_plural(len(row), 'value')} in row {at}",
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


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


# --- from scores to measurements ---


@dataclass(slots=True)
class _Result:
    """A block, read: its columns, what was left out, and the lines that could not be scored."""

    columns: TokenColumns
    padding: int
    ignored: int
    errors: list[InputError]


def _read_block(plan: _Plan, block: Block, max_sequences: int | None = None) -> _Result:
    """One block by itself, the unit of parallel work, with the first bad line raised unless skipped."""
    runs, errors = _parse(plan, block.data, block.first_line, max_sequences)
    parts = [_score(plan, run, errors) for run in runs]
    if errors and not plan.skip_bad:
        raise min(errors, key=lambda error: error.line or 0)
    errors.sort(key=lambda error: error.line or 0)
    columns = _concatenated(plan.path, [part.columns for part in parts], plan.variant or "hf")
    return _Result(columns, sum(part.padding for part in parts), sum(part.ignored for part in parts), errors)


def _score(plan: _Plan, run: _Run, errors: list[InputError]) -> _Result:
    assert plan.variant is not None and plan.decision is not None
    values = run.matrix()
    tokens = run.token_matrix(plan.variant)
    labels = run.label_column(plan.variant)
    lines = np.array(run.lines, np.int64)
    lengths = np.array(run.lengths, np.int64)
    at_label = _per_token(run.logit_at_label)
    sums = _per_token(run.logsumexp)
    if plan.top_k > run.width:
        raise InputError(
            path=plan.path,
            line=run.lines[0],
            field="top_logits",
            expected=f"at least {plan.top_k} values in each row, since top_k is {plan.top_k}",
            got=str(run.width),
            hint=f"Ask for a top_k of at most {run.width}.",
            reason="top_k",
        )
    starts = np.cumsum(lengths) - lengths
    of_sequence = np.repeat(np.arange(len(lines)), lengths)
    position = (np.arange(len(labels)) - starts[of_sequence]).astype(np.int32)

    best = values.argmax(axis=1)
    best += np.arange(0, values.size, run.width)
    highest = values.ravel()[best]
    predicted = tokens.ravel()[best]
    refused = _contradictions(plan, run, values, highest, sums)

    keep = np.ones(len(labels), bool)
    for row, error in refused.items():
        keep[starts[row] : starts[row] + lengths[row]] = False
        errors.append(error)
    padding = ignored = 0
    hit = np.zeros(0, bool)
    if plan.variant == "hf" and plan.padding_label is not None:
        padded = keep & (labels == plan.padding_label)
        padding = int(np.count_nonzero(padded))
        keep &= ~padded
    if plan.ignored_tokens:
        matched = labels if plan.ignore_by == "gold" else predicted
        hit = keep & _is_among(matched, plan.ignored_tokens)
        ignored = int(np.count_nonzero(hit))
        keep &= ~hit

    if plan.variant == "miso":
        correct, unresolved = _copy_correct(plan, run, values, tokens, labels, predicted, keep, position)
        for row, error in unresolved.items():
            dropped = slice(starts[row], starts[row] + lengths[row])
            ignored -= int(np.count_nonzero(hit[dropped]))
            keep[dropped] = False
            errors.append(error)
        refused |= unresolved
    elif plan.top_k == 1:
        correct = predicted == labels
    else:
        correct = _among_top_k(values, tokens, labels, plan.top_k)
    confidence = _probability(plan.decision, values, highest, tokens, labels, at_label, sums)

    kept_lengths = lengths
    if not keep.all():
        confidence, predicted, labels, correct = (
            confidence[keep],
            predicted[keep],
            labels[keep],
            correct[keep],
        )
        of_sequence, position = of_sequence[keep], position[keep]
        at_label = at_label[keep] if at_label is not None else None
        kept_lengths = np.bincount(of_sequence, minlength=len(lines)).astype(np.int64)
    captions: list[str | None] | None = run.input_str if plan.with_input_str else None
    others = run.fields
    sequence = lines[of_sequence]
    if refused:
        good = np.ones(len(lines), bool)
        good[list(refused)] = False
        lines, kept_lengths = lines[good], kept_lengths[good]
        if captions is not None:
            captions = [caption for caption, is_good in zip(captions, good, strict=True) if is_good]
        others = [values for values, is_good in zip(others, good, strict=True) if is_good] if plan.fields else others
    columns = TokenColumns(
        path=plan.path,
        confidence=confidence,
        predicted=predicted,
        label=labels,
        correct=correct,
        sequence=sequence,
        position=position,
        logit_at_label=at_label if plan.hands_out_logit else None,
        lines=lines,
        lengths=kept_lengths,
        input_str=captions,
        fields={name: [values[i] for values in others] for i, name in enumerate(plan.fields)},
    )
    return _Result(columns, padding, ignored, [])


def _per_token(buffers: list[Any]) -> Floats | None:
    return np.frombuffer(b"".join(buffers), np.float64) if buffers else None


def _is_among(tokens: Tokens, wanted: frozenset[int] | frozenset[str]) -> Bools:
    if tokens.dtype == object:
        return np.fromiter((token in wanted for token in tokens), bool, len(tokens))
    return np.isin(tokens, np.array(sorted(wanted), np.int64))


def _contradictions(
    plan: _Plan, run: _Run, values: Floats, highest: Floats, sums: Floats | None
) -> dict[int, InputError]:
    """Sequences whose numbers cannot be what the file was decided to hold, by their place in the run."""
    decision = plan.decision
    assert decision is not None
    tests: list[tuple[Bools, str]] = []
    if decision.scale == "probabilities":
        if float(highest.max()) > 1 + _SUM_SLACK:
            tests.append((highest > 1 + _SUM_SLACK, "above 1"))
        if float(values.min()) < -_ROUNDING:
            negative: Bools = values.min(axis=1) < -_ROUNDING
            tests.append((negative, "below 0"))
        if decision.how == "recognised":
            totals = _row_sums(values)
            if float(totals.max()) > 1 + _SUM_SLACK:
                tests.append((totals > 1 + _SUM_SLACK, "in a row that sums above 1"))
    elif decision.scale == "logprobs":
        if float(highest.max()) > _ROUNDING:
            tests.append((highest > _ROUNDING, "above 0"))
    elif decision.normaliser == "logsumexp":
        assert sums is not None
        least = highest + np.log(np.exp(values - highest[:, None]).sum(axis=1))
        low = sums < least - 1e-3 * np.maximum(1, np.abs(least))
        if low.any():
            tests.append((low, "above what logsumexp allows"))
    found: dict[int, InputError] = {}
    if not tests:
        return found
    ends = np.cumsum(run.lengths)
    known = "as given" if decision.how == "given" else f"as recognised in the first {DECIDING_TOKENS:,} tokens"
    for mask, why in tests:
        for token in np.flatnonzero(mask):
            row = int(np.searchsorted(ends, token, side="right"))
            if row in found:
                continue
            step = int(token - (ends[row] - run.lengths[row])) + 1
            extreme = values[token].min() if why == "below 0" else highest[token]
            found[row] = InputError(
                path=plan.path,
                line=run.lines[row],
                field="top_logits",
                expected=f"{decision.scale} ({known})",
                got=f"{extreme:.6g} in row {step}, {why}",
                hint=f"If the file holds something else, say so with --scale. {SKIP_HINT}",
                reason="scale",
            )
    return found


def _row_sums(values: Floats) -> Floats:
    """By columns: rows are short, and a matrix product would wake BLAS's threads for nothing."""
    if values.shape[1] > 32:
        return np.asarray(values.sum(axis=1))
    totals = values[:, 0].copy()
    for column in range(1, values.shape[1]):
        totals += values[:, column]
    return totals


def _probability(
    decision: ScaleDecision,
    values: Floats,
    highest: Floats,
    tokens: Tokens,
    labels: Tokens,
    at_label: Floats | None,
    sums: Floats | None,
) -> Floats:
    """The predicted token's probability under the file's scale."""
    if decision.scale == "probabilities":
        return np.minimum(highest, 1.0) if len(highest) and float(highest.max()) > 1 else highest
    if decision.scale == "logprobs":
        return np.exp(np.minimum(highest, 0.0))
    if decision.normaliser == "logsumexp":
        assert sums is not None
        return np.exp(np.minimum(highest - sums, 0.0))
    total = np.exp(values - highest[:, None]).sum(axis=1)
    if decision.normaliser == "top_k_and_label":
        assert at_label is not None
        stored = (tokens == labels[:, None]).any(axis=1)
        # the label cannot score above the highest, unless its row was not the model's top k
        total += np.where(stored, 0.0, np.exp(np.minimum(at_label - highest, 0.0)))
    confidence: Floats = 1.0 / total
    return confidence


def _among_top_k(values: Floats, tokens: Tokens, labels: Tokens, k: int) -> Bools:
    """Whether the label is one of the k highest; of equal scores the earlier column ranks first."""
    is_label = tokens == labels[:, None]
    column = is_label.argmax(axis=1)
    score = values[np.arange(len(values)), column][:, None]
    earlier = np.arange(values.shape[1]) < column[:, None]
    rank = np.count_nonzero((values > score) | ((values == score) & earlier), axis=1)
    found: Bools = is_label.any(axis=1) & (rank < k)
    return found


_SOURCE, _TARGET = "SourceCopy_", "TargetCopy_"


def _copy_correct(
    plan: _Plan,
    run: _Run,
    values: Floats,
    tokens: Tokens,
    labels: Tokens,
    predicted: Tokens,
    keep: Bools,
    position: NDArray[np.int32],
) -> tuple[Bools, dict[int, InputError]]:
    """Correctness where a token may be copied from the source text or from the gold tokens before it."""
    correct = np.zeros(len(labels), bool)
    unresolved: dict[int, InputError] = {}
    ends = np.cumsum(run.lengths)
    if plan.top_k == 1:
        candidates = predicted[:, None]
    else:
        order = np.argsort(-values, axis=1, kind="stable")[:, : plan.top_k]
        candidates = np.take_along_axis(tokens, order, axis=1)
    for token in np.flatnonzero(keep):
        step = int(position[token])
        for candidate in candidates[token]:
            if candidate.startswith(_TARGET):
                problem = _target_problem(candidate, step)
                if problem is not None:
                    row = int(np.searchsorted(ends, token, side="right"))
                    if row not in unresolved:
                        unresolved[row] = InputError(
                            path=plan.path,
                            line=run.lines[row],
                            field="top_logit_idxs",
                            expected=problem,
                            got=shown(candidate, 60),
                            hint=SKIP_HINT,
                            reason="copy_target",
                        )
                    break
                said = labels[token - step + int(candidate[len(_TARGET) :]) - 1]
            elif candidate.startswith(_SOURCE):
                said = candidate[len(_SOURCE) :]
            else:
                said = candidate
            if said == labels[token]:
                correct[token] = True
    return correct, unresolved


def _target_problem(token: str, step: int) -> str | None:
    """Why a TargetCopy names none of the `step` gold tokens before it; None when it does."""
    digits = token[len(_TARGET) :]
    if digits.isascii() and digits.isdigit() and len(digits) < 10 and 1 <= int(digits) <= step:
        return None
    if step == 0:
        return "no TargetCopy in row 1 (no gold token comes before it)"
    span = "TargetCopy_1" if step == 1 else f"TargetCopy_1 to TargetCopy_{step}"
    return f"{span} in row {step + 1} (the gold tokens before it, counted from 1)"


def _concatenated(path: str, parts: Sequence[TokenColumns], variant: Variant) -> TokenColumns:
    if len(parts) == 1:
        return replace(parts[0], path=path)
    token_type = np.dtype(np.int64) if variant == "hf" else np.dtype(object)

    def joined(name: str, dtype: Any) -> Any:
        return np.concatenate([np.empty(0, dtype), *(getattr(part, name) for part in parts)])

    with_logit = bool(parts) and all(part.logit_at_label is not None for part in parts)
    with_text = bool(parts) and all(part.input_str is not None for part in parts)
    return TokenColumns(
        path=path,
        confidence=joined("confidence", np.float64),
        predicted=joined("predicted", token_type),
        label=joined("label", token_type),
        correct=joined("correct", bool),
        sequence=joined("sequence", np.int64),
        position=joined("position", np.int32),
        logit_at_label=joined("logit_at_label", np.float64) if with_logit else None,
        lines=joined("lines", np.int64),
        lengths=joined("lengths", np.int64),
        input_str=list(chain.from_iterable(part.input_str or [] for part in parts)) if with_text else None,
        fields={
            name: list(chain.from_iterable(part.fields[name] for part in parts))
            for name in (parts[0].fields if parts else ())
        },
    )


# --- which scale ---


def _decide(plan: _Plan, runs: list[_Run], requested: Literal["auto"] | Scale, extras: _Extras) -> ScaleDecision:
    """The scale of a file, by request or by its first tokens."""
    matrices = [run.matrix() for run in runs]
    count = sum(len(matrix) for matrix in matrices)
    low = min(float(matrix.min()) for matrix in matrices)
    high = max(float(matrix.max()) for matrix in matrices)
    span = f"the first {_plural(count, 'token')} run from {low:.6g} to {high:.6g}"
    if requested != "auto":
        return _with_normaliser(requested, "given", f"by the caller; {span}", runs, extras, plan)
    total = max(float(_row_sums(matrix).max()) for matrix in matrices)
    mass = max(float(np.exp(np.minimum(matrix, 50)).sum(axis=1).max()) for matrix in matrices)
    in_unit = low >= -_ROUNDING and high <= 1 + _SUM_SLACK
    if in_unit and total <= 1 + _SUM_SLACK and high > 0:
        evidence = f"{span} and no row sums above 1 (highest {total:.6g})"
        return ScaleDecision("probabilities", "recognised", evidence)
    if low < 0 and high <= _ROUNDING and mass <= 1 + _SUM_SLACK:
        evidence = f"{span}, none is above 0 and no row's exponentials sum above 1 (highest {mass:.6g})"
        return ScaleDecision("logprobs", "recognised", evidence)
    if in_unit:
        raise InputError(
            path=plan.path,
            field="top_logits",
            expected="a scale that can be recognised",
            got=f"values in [0, 1] in rows that sum to {total:.6g}" if high > 0 else "values that are all 0",
            hint="Say what they are with --scale probabilities, logits or logprobs.",
            reason="scale",
        )
    _refuse_mixture(plan, runs, matrices)
    if high <= _ROUNDING:
        evidence = f"{span}; the exponentials of a row sum to {mass:.6g}, too much for log-probabilities"
        return _with_normaliser("logits", "recognised", evidence, runs, extras, plan)
    side = "above 1" if high > 1 else "below 0"
    if low < 0 and high > 1:
        side = "below 0 and above 1"
    evidence = f"{span}, {side}, so they are neither probabilities nor log-probabilities"
    return _with_normaliser("logits", "recognised", evidence, runs, extras, plan)


def _refuse_mixture(plan: _Plan, runs: list[_Run], matrices: list[Floats]) -> None:
    """A file of probabilities with a few broken rows must not pass for raw logits."""
    for scale in ("probabilities", "logprobs"):
        fits = []
        for matrix in matrices:
            top = matrix.max(axis=1)
            if scale == "probabilities":
                fits.append((matrix.min(axis=1) >= -_ROUNDING) & (_row_sums(matrix) <= 1 + _SUM_SLACK))
            else:
                sums = np.exp(np.minimum(matrix, 50)).sum(axis=1)
                fits.append((top <= _ROUNDING) & (sums <= 1 + _SUM_SLACK))
        fitting = np.concatenate(fits)
        if np.count_nonzero(fitting) <= len(fitting) / 2:
            continue
        lines = np.repeat(
            [line for run in runs for line in run.lines], [count for run in runs for count in run.lengths]
        )
        odd, like = int(np.argmin(fitting)), np.count_nonzero(fitting)
        values = next(row for matrix, fit in zip(matrices, fits, strict=True) for row in matrix[~fit])
        raise InputError(
            path=plan.path,
            line=int(lines[odd]),
            field="top_logits",
            expected=f"{scale}, as {like:,} of the first {len(fitting):,} tokens are",
            got=shown(values.tolist(), 60),
            hint="Name the scale of the file with --scale; then fix the line or pass --skip-bad.",
            reason="scale",
        )


@dataclass(frozen=True, slots=True)
class _Extras:
    """What else a file holds by its first good line, looked at only where raw logits need it."""

    keys: list[str]
    blocks: list[Block]

    def has_label_logits(self, plan: _Plan) -> bool:
        """Whether logit_at_label is there and on the scale of the stored scores."""
        if "logit_at_label" not in self.keys or plan.variant != "hf":
            return False
        data = self.blocks[0].data if len(self.blocks) == 1 else b"".join(block.data for block in self.blocks)
        probe = replace(plan, with_logit_at_label=True, skip_bad=True)
        runs, errors = _parse(probe, data, self.blocks[0].first_line, max_tokens=DECIDING_TOKENS)
        if not runs or any("logit_at_label" in str(error) for error in errors):
            return False
        return _same_scale(runs)


def _with_normaliser(
    scale: Scale,
    how: Literal["given", "recognised"],
    evidence: str,
    runs: list[_Run],
    extras: _Extras,
    plan: _Plan,
) -> ScaleDecision:
    """Raw logits need a sum over the vocabulary: the best one that the file allows."""
    if scale != "logits":
        return ScaleDecision(scale, how, evidence)
    if "logsumexp" in extras.keys:
        return ScaleDecision(scale, how, f"{evidence}; logsumexp is stored", "logsumexp")
    widths = sorted({run.width for run in runs})
    width = f"{widths[0]}" if len(widths) == 1 else f"{widths[0]} to {widths[-1]}" if widths else "0"
    if extras.has_label_logits(plan):
        caveat = (
            f"softmax over the {width} stored scores and the label's own, not over the vocabulary: "
            "each confidence is an upper bound"
        )
        return ScaleDecision(scale, how, evidence, "top_k_and_label", caveat)
    if widths == [1]:
        raise InputError(
            path=plan.path,
            field="top_logits",
            expected="probabilities, log-probabilities, or a 'logsumexp' for each row of raw logits",
            got="one raw logit per token, whose softmax is always 1",
            hint="Store more scores per token, or logsumexp over the vocabulary.",
            reason="scale",
        )
    caveat = f"softmax over the {width} stored scores, not over the vocabulary: each confidence is an upper bound"
    return ScaleDecision(scale, how, evidence, "top_k", caveat)


def _same_scale(runs: list[_Run]) -> bool:
    """Whether logit_at_label agrees with the stored score wherever the label is among the stored tokens."""
    agreeing = 0
    for run in runs:
        values, tokens, labels = run.matrix(), run.token_matrix("hf"), run.label_column("hf")
        at_label = _per_token(run.logit_at_label)
        assert at_label is not None
        where = tokens == labels[:, None]
        hit = where.any(axis=1)
        stored = values[hit, where.argmax(axis=1)[hit]]
        gap = np.abs(stored - at_label[hit])
        if (gap > 1e-3 * np.maximum(1, np.abs(stored))).any():
            return False
        agreeing += int(np.count_nonzero(hit))
    return agreeing > 0


# --- the reader ---


class LogitsReader:
    """Reads `.logits` inputs block by block: iterate over it for `TokenColumns`, then look at `files`.

    variant: "hf" (integer tokens), "miso" (string tokens with copies) or "auto", by the first good line.
    scale: "probabilities", "logits", "logprobs" or "auto", by the file's first tokens; see `ScaleDecision`.
    top_k: a token is correct if the label is among the k highest scores.
    fields: other fields of the lines to hand out with their sequences (an id, a slice).
    ignore_tokens: tokens to leave out, matched against the gold (`ignore_by="gold"`) or the predicted token.
    padding_label: the label of steps that are no predictions (-100); None scores them like others.
    skip_bad: count lines that cannot be scored instead of raising an `InputError`.
    limit: read at most this many sequences in all.
    jobs: processes that parse blocks; the result is the same for any number.
    """

    def __init__(
        self,
        inputs: PathInput | BinaryIO | Iterable[PathInput | BinaryIO],
        *,
        variant: Literal["auto", "hf", "miso"] = "auto",
        scale: Literal["auto", "probabilities", "logits", "logprobs"] = "auto",
        top_k: int = 1,
        ignore_tokens: Iterable[int | str] = (),
        ignore_by: Literal["gold", "predicted"] = "gold",
        padding_label: int | None = PADDING_LABEL,
        skip_bad: bool = False,
        with_logit_at_label: bool = False,
        with_input_str: bool = False,
        fields: Iterable[str] = (),
        limit: int | None = None,
        jobs: int = 1,
        block_bytes: int = _BLOCK_BYTES,
        digest: bool = True,
    ) -> None:
        _one_of("variant", variant, VARIANTS)
        _one_of("scale", scale, SCALES)
        _one_of("ignore_by", ignore_by, ("gold", "predicted"))
        for name, number in (("top_k", top_k), ("jobs", jobs), ("block_bytes", block_bytes)):
            if number < 1:
                raise InputError(field=name, expected="at least 1", got=str(number), reason="bad_option")
        self._sources = sources(inputs)
        self._variant: Variant | None = None if variant == "auto" else variant
        self._scale = scale
        self._ignore_tokens = [ignore_tokens] if isinstance(ignore_tokens, str) else list(ignore_tokens)
        self._limit = limit
        self._jobs = jobs
        self._block_bytes = block_bytes
        self._digest = digest
        self._base = _Plan(
            path="",
            top_k=top_k,
            ignore_by=ignore_by,
            padding_label=padding_label,
            skip_bad=skip_bad,
            with_logit_at_label=with_logit_at_label,
            hands_out_logit=with_logit_at_label,
            with_input_str=with_input_str,
            fields=tuple(fields),
        )
        self.files: list[FileReport] = []
        """One report per input, in order, complete once the reader is exhausted."""

    def __iter__(self) -> Iterator[TokenColumns]:
        left = self._limit
        for source in self._sources:
            if left is not None and left <= 0:
                return
            report = FileReport(source.name)
            self.files.append(report)
            yield from self._read_file(source, report, left)
            if left is not None:
                left -= report.sequences

    def _read_file(self, source: Source, report: FileReport, limit: int | None) -> Iterator[TokenColumns]:
        blocks = _without_blank_tail(source.blocks(self._block_bytes, digest=self._digest))
        plan, first = self._planned(source, blocks)
        report.variant, report.scale = plan.variant, plan.decision
        if report.variant is not None:
            self._same_variant(report)
        for result in self._results(plan, chain(first, blocks), limit):
            columns = result.columns
            report.sequences += len(columns.lines)
            report.tokens += len(columns)
            report.padding += result.padding
            report.ignored += result.ignored
            for error in result.errors:
                report.bad[error.reason] += 1
                if len(report.bad_records) < _KEPT_BAD_RECORDS:
                    report.bad_records.append(error.as_bad_record())
            if len(columns.lines):
                yield columns
        report.sha256, report.raw_bytes = source.sha256, source.raw_bytes

    def _planned(self, source: Source, blocks: Iterator[Block]) -> tuple[_Plan, list[Block]]:
        """Decide what the file holds from as many first blocks as that takes, and hand those back."""
        plan = replace(self._base, path=source.name, variant=self._variant)
        first: list[Block] = []
        runs: list[_Run] = []
        keys: list[str] | None = None
        tokens = size = 0
        for block in blocks:
            first.append(block)
            size += len(block.data)
            if keys is None:
                keys, plan = _first_good(plan, block)
                if keys is None:
                    if not plan.skip_bad:
                        break  # reading will say what is wrong
                    if size > _DECIDING_BYTES:
                        raise _hopeless(plan, first[0])
                    continue
            more, errors = _parse(
                replace(plan, with_logit_at_label=False, with_input_str=False, fields=()),
                block.data,
                block.first_line,
                max_tokens=DECIDING_TOKENS - tokens,
            )
            runs += more
            tokens += sum(sum(run.lengths) for run in more)
            if tokens >= DECIDING_TOKENS or (errors and not plan.skip_bad):
                break
        if plan.variant is None or not runs:
            return replace(plan, decision=ScaleDecision("probabilities", "given", "nothing to scale")), first
        plan = replace(plan, ignored_tokens=_matchable(self._ignore_tokens, plan.variant, source.name))
        decision = _decide(plan, runs, self._scale, _Extras(keys or [], first))
        return (
            replace(
                plan,
                decision=decision,
                with_logsumexp=decision.normaliser == "logsumexp",
                with_logit_at_label=plan.with_logit_at_label or decision.normaliser == "top_k_and_label",
            ),
            first,
        )

    def _same_variant(self, report: FileReport) -> None:
        for earlier in self.files[:-1]:
            if earlier.variant is not None and earlier.variant != report.variant:
                raise InputError(
                    path=report.path,
                    field="top_logit_idxs",
                    expected=f"the {earlier.variant} variant, as in {shown(earlier.path)}",
                    got=f"the {report.variant} variant",
                    hint="Read the two kinds of file in separate runs.",
                    reason="mixed_variants",
                )

    def _results(self, plan: _Plan, blocks: Iterator[Block], limit: int | None) -> Iterator[_Result]:
        if self._jobs == 1 or limit is not None:
            for block in blocks:
                result = _read_block(plan, block, limit)
                yield result
                if limit is not None:
                    limit -= len(result.columns.lines)
                    if limit <= 0:
                        return
            return
        # spawned, not forked: a fork of a process with threads (Polars has them) may hang
        with ProcessPoolExecutor(self._jobs, mp_context=get_context("spawn")) as pool:
            waiting: deque[Future[_Result]] = deque()
            try:
                for block in blocks:
                    waiting.append(pool.submit(_read_block, plan, block))
                    if len(waiting) > 2 * self._jobs:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


@dataclass(frozen=True, slots=True)
class LogitsTable:
    """All tokens of all inputs at once, for what fits in memory (about 40 bytes per token)."""

    columns: TokenColumns
    source: NDArray[np.int32]
    """One entry per token: the index of its file in `files`."""
    files: list[FileReport]

    def to_polars(self) -> pl.DataFrame:
        """One row per token."""
        import polars as pl

        columns = self.columns
        strings = columns.predicted.dtype == object
        data: dict[str, Any] = {
            "source": self.source,
            "sequence": columns.sequence,
            "position": columns.position,
            "confidence": columns.confidence,
            "correct": columns.correct,
            "predicted": columns.predicted.tolist() if strings else columns.predicted,
            "label": columns.label.tolist() if strings else columns.label,
        }
        if columns.logit_at_label is not None:
            data["logit_at_label"] = columns.logit_at_label
        schema = {"predicted": pl.String, "label": pl.String} if strings else None
        return pl.DataFrame(data, schema_overrides=schema)


def read_logits(inputs: PathInput | BinaryIO | Iterable[PathInput | BinaryIO], **options: Any) -> LogitsTable:
    """Everything at once; the options are those of `LogitsReader`, which reads in bounded memory."""
    reader = LogitsReader(inputs, **options)
    parts = list(reader)
    variants = [report.variant for report in reader.files if report.variant is not None]
    path = reader.files[0].path if len(reader.files) == 1 else ""
    places = {report.path: index for index, report in enumerate(reader.files)}
    source = np.repeat(np.array([places[part.path] for part in parts], np.int32), [len(part) for part in parts])
    return LogitsTable(_concatenated(path, parts, variants[0] if variants else "hf"), source, reader.files)


def _first_good(plan: _Plan, block: Block) -> tuple[list[str] | None, _Plan]:
    """The keys of the first line that can be read, and the plan with that line's variant."""
    for number, line in enumerate(_split(block.data), block.first_line):
        try:
            parsed = _read_carefully(line, number, plan)
        except InputError:
            if plan.skip_bad:
                continue
            return None, plan
        return parsed.keys, replace(plan, variant=parsed.variant)
    return None, plan


def _hopeless(plan: _Plan, block: Block) -> InputError:
    return InputError(
        path=plan.path,
        expected="a .logits file",
        got=f"no line that can be read as one in the first {_DECIDING_BYTES:,} bytes",
        hint=f"The file begins {shown(block.data[:200], 60)}.",
        reason="not_logits",
    )


def _without_blank_tail(blocks: Iterator[Block]) -> Iterator[Block]:
    """Blank lines at the very end of a file are fine: hold them back until something follows them."""
    held, held_from = b"", 0
    for block in blocks:
        data, first_line = block.data, block.first_line
        if held:
            data, first_line = held + data, held_from
            held = b""
        end = len(data) - (2 if data.endswith(b"\r\n") else 1 if data.endswith(b"\n") else 0)
        if end == 0 or data[end - 1 : end].isspace():
            body = data.rstrip()
            end = (data.find(b"\n", len(body)) + 1 or len(data)) if body else 0
            held, held_from = data[end:], first_line + data.count(b"\n", 0, end)
            data = data[:end]
        if data:
            yield Block(data, first_line)


def _matchable(tokens: Iterable[int | str], variant: Variant, path: str) -> frozenset[int] | frozenset[str]:
    """Tokens to ignore in the type that the file's tokens have, so that 1 and "1" both mean what they say."""
    if variant == "miso":
        return frozenset(str(token) for token in tokens)
    numbers = set()
    for token in tokens:
        try:
            numbers.add(int(token))
        except ValueError:
            raise InputError(
                path=path,
                field="ignore_tokens",
                expected="integer tokens, as the file holds",
                got=shown(token, 60),
                hint="It could never match: give the token's number in the vocabulary.",
                reason="ignore_tokens",
            ) from None
    return frozenset(numbers)


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(field=name, expected=f"one of {', '.join(known)}", got=shown(value), reason="bad_option")
