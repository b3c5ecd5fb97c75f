"""The `.logits` format: JSON lines of top-k scores for each step of a sequence, read into flat columns.

One object per line: `top_logits` (n rows of k scores), `top_logit_idxs` (the k tokens of each row) and
`labels` (the n gold tokens), with `logit_at_label`, `logsumexp` and `input_str` optional. Tokens are integers
(files written from Hugging Face models, "hf") or strings ("miso", with copy operations).

The way of a file: blocks of lines become numbers in `logits_lines`, the first of them tell variant and scale
(`logits_scale`), and `logits_scores` turns every block into columns of confidences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from sensecheck.calibrated.logits_lines import keys_and_variant, parse_lines, split_lines
from sensecheck.calibrated.logits_plan import (
    DECIDING_TOKENS,
    PADDING_LABEL,
    Plan,
    Run,
    ScaleDecision,
    Variant,
)
from sensecheck.calibrated.logits_scale import Extras, decide_scale
from sensecheck.calibrated.logits_scores import Result, TokenColumns, concatenated, read_block
from sensecheck.inputs.errors import BadRecord, InputError, shown
from sensecheck.inputs.opening import Block, PathInput, Source, sources
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import detect_table_format

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "DECIDING_TOKENS",
    "PADDING_LABEL",
    "SCALES",
    "VARIANTS",
    "DetectedFormat",
    "FileReport",
    "LogitsReader",
    "LogitsTable",
    "ScaleDecision",
    "TokenColumns",
    "detect_format",
    "read_logits",
]

SCALES = ("auto", "probabilities", "logits", "logprobs")
VARIANTS = ("auto", "hf", "miso")

_BLOCK_BYTES = 2 * 1024 * 1024  # what stays in the cache from the read to the last column is read fastest
_DECIDING_BYTES = 64 * 1024 * 1024  # a file without one good line in this much text is given up
_KEPT_BAD_RECORDS = 1000  # all bad records are counted; this many are kept with their messages


@dataclass(slots=True)
class FileReport:
    """What was read of one file, filled while reading."""

    path: str
    variant: Variant | None = None
    scale: ScaleDecision | None = None
    sequences: int = 0
    records: int = 0
    """Lines that hold a record, bad ones too; their numbers go on in the next file."""
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
        detected = super().__new__(cls, name)
        detected.reason = reason
        return detected


def detect_format(first_block: bytes) -> DetectedFormat:
    """Name what a file holds by its first block.

    `logits-hf`, `logits-miso`, `empty`, or a table: `jsonl`, `json`, `csv`, `tsv`, `text`, `parquet`. The
    result is a string that carries `.reason`.
    """
    if not first_block.strip():
        return DetectedFormat("empty", "the input holds no text")
    for number, line in enumerate(split_lines(first_block), 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith(b"{") or b'"top_logits"' not in line:
            break
        try:
            _, variant = keys_and_variant(line, number, Plan(path=""))
        except InputError:
            string_tokens = b'"labels": ["' in line or b'"labels":["' in line
            return DetectedFormat(
                "logits-miso" if string_tokens else "logits-hf",
                f'line {number} holds the key "top_logits", though it cannot be read in full',
            )
        if variant == "miso":
            return DetectedFormat("logits-miso", f'line {number} holds "top_logits" with string tokens')
        return DetectedFormat("logits-hf", f'line {number} holds "top_logits" with integer tokens')
    table = detect_table_format(first_block)
    return DetectedFormat(table.name, table.reason)


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
        block_bytes: int = _BLOCK_BYTES,
        digest: bool = True,
    ) -> None:
        _one_of("variant", variant, VARIANTS)
        _one_of("scale", scale, SCALES)
        _one_of("ignore_by", ignore_by, ("gold", "predicted"))
        for name, number in (("top_k", top_k), ("block_bytes", block_bytes)):
            if number < 1:
                raise InputError(field=name, expected="at least 1", got=str(number), reason=Reason.BAD_OPTION)
        self._sources = sources(inputs)
        self._variant: Variant | None = None if variant == "auto" else variant
        self._scale = scale
        self._ignore_tokens = [ignore_tokens] if isinstance(ignore_tokens, str) else list(ignore_tokens)
        self._limit = limit
        self._block_bytes = block_bytes
        self._digest = digest
        self._base = Plan(
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
        before = sum(earlier.records for earlier in self.files[:-1])
        blank = 0
        for result in self._results(plan, chain(first, blocks), limit):
            columns = result.columns
            blank_lines = [error.line or 0 for error in result.errors if error.reason == Reason.BLANK_LINE]
            numbers = columns.lines + (before - blank) - np.searchsorted(blank_lines, columns.lines)
            columns = replace(columns, numbers=numbers)
            blank += len(blank_lines)
            report.records += len(numbers) + len(result.errors) - len(blank_lines)
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

    def _planned(self, source: Source, blocks: Iterator[Block]) -> tuple[Plan, list[Block]]:
        """Decide what the file holds from as many first blocks as that takes, and hand those back."""
        plan = replace(self._base, path=source.name, variant=self._variant)
        first: list[Block] = []
        runs: list[Run] = []
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
            more, errors = parse_lines(
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
        decision = decide_scale(plan, runs, self._scale, Extras(keys or [], first))
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
                    reason=Reason.MIXED_VARIANTS,
                )

    @staticmethod
    def _results(plan: Plan, blocks: Iterator[Block], limit: int | None) -> Iterator[Result]:
        for block in blocks:
            result = read_block(plan, block, limit)
            yield result
            if limit is not None:
                limit -= len(result.columns.lines)
                if limit <= 0:
                    return


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
    return LogitsTable(concatenated(path, parts, variants[0] if variants else "hf"), source, reader.files)


def _first_good(plan: Plan, block: Block) -> tuple[list[str] | None, Plan]:
    """The keys of the first line that can be read, and the plan with that line's variant."""
    for number, line in enumerate(split_lines(block.data), block.first_line):
        try:
            keys, variant = keys_and_variant(line, number, plan)
        except InputError:
            if plan.skip_bad:
                continue
            return None, plan
        return keys, replace(plan, variant=variant)
    return None, plan


def _hopeless(plan: Plan, block: Block) -> InputError:
    return InputError(
        path=plan.path,
        expected="a .logits file",
        got=f"no line that can be read as one in the first {_DECIDING_BYTES:,} bytes",
        hint=f"The file begins {shown(block.data[:200], 60)}.",
        reason=Reason.NOT_LOGITS,
    )


def _without_blank_tail(blocks: Iterator[Block]) -> Iterator[Block]:
    """Blank lines at the very end of a file are fine: hold them back until something follows them."""
    blanks, blanks_from = b"", 0
    for block in blocks:
        data, first_line = block.data, block.first_line
        if blanks:
            data, first_line = blanks + data, blanks_from
            blanks = b""
        end = len(data) - (2 if data.endswith(b"\r\n") else 1 if data.endswith(b"\n") else 0)
        if end == 0 or data[end - 1 : end].isspace():
            body = data.rstrip()
            end = (data.find(b"\n", len(body)) + 1 or len(data)) if body else 0
            blanks, blanks_from = data[end:], first_line + data.count(b"\n", 0, end)
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
                expected="integer tokens, as in the file",
                got=shown(token, 60),
                hint="It could never match: give the token's number in the vocabulary.",
                reason=Reason.IGNORE_TOKENS,
            ) from None
    return frozenset(numbers)


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(field=name, expected=f"one of {', '.join(known)}", got=shown(value), reason=Reason.BAD_OPTION)
