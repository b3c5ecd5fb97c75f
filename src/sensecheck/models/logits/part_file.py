"""What an interrupted run leaves, and the file that appears when all answers are there."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.runs.writing import append_to, new_file, refuse_link

_PART_SCHEMA = "sensecheck.logits-part/1"
_PART_FIELDS_IN_WORDS = {
    "schema": "the format of this file",
    "weights": "the number of weights",
    "examples": "the number of examples",
    "sha256": "the tokens of the examples (sha256)",
}
_MOST_HEADER_BYTES = 1 << 20


@dataclass
class Collected:
    """What was written."""

    path: Path
    sequences: int
    tokens: int
    resumed: int = 0
    """Sequences that an interrupted run had already done."""


class PartFile:
    """Finished lines in the order in which they came: `NUMBER<tab>LINE`, after a first line that says of what."""

    def __init__(self, target: Path, fingerprint: dict[str, Any], *, resume: bool) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        expected = {"schema": _PART_SCHEMA, **fingerprint}
        self.header = json.dumps(expected, sort_keys=True).encode() + b"\n"
        self.line_positions: dict[int, tuple[int, int]] = {}
        self.size = 0
        if resume and self.path.exists():
            self._read_finished_lines(expected)
        else:
            with new_file(self.path) as stream:
                stream.write(self.header)
            self.size = len(self.header)
        self.resumed = len(self.line_positions)
        self.stream: BinaryIO | None = None

    def _read_finished_lines(self, expected: dict[str, Any]) -> None:
        refuse_link(self.path)
        with self.path.open("rb") as stream:
            first_line = stream.readline(_MOST_HEADER_BYTES)
            try:
                stored = json.loads(first_line)
            except (ValueError, RecursionError):
                stored = {}
            stored = stored if isinstance(stored, dict) else {}
            differing = [name for name, value in expected.items() if stored.get(name) != value]
            if differing:
                in_words = ", ".join(_PART_FIELDS_IN_WORDS.get(name, name) for name in differing)
                difference = f"what differs: {in_words}" if stored else "its first line cannot be read"
                raise self._other_run(f"the interrupted run was a different one; {difference}")
            self.size = len(first_line)
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # the interruption came in the middle of this one
                number, _, body = line.partition(b"\t")
                if not number.isdigit() or len(number) > 18 or not body.startswith(b"{"):
                    at, wanted = len(self.line_positions) + 2, "a finished answer of the interrupted run"
                    raise self._other_run(line=at, expected=wanted, got=shown(line, 40))
                self.line_positions[int(number)] = (self.size + len(number) + 1, len(body))
                self.size += len(line)
        with append_to(self.path) as stream:
            stream.truncate(self.size)

    def _other_run(self, *message: str, **places: Any) -> InputError:
        hint = "Delete this file to start again."
        return InputError(*message, path=str(self.path), **places, hint=hint, reason=Reason.OTHER_RUN)

    def __enter__(self) -> PartFile:
        self.stream = append_to(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.close()

    def add(self, numbers: Sequence[int], lines: Sequence[bytes]) -> None:
        assert self.stream is not None
        block = []
        for number, line in zip(numbers, lines, strict=True):
            number_text = b"%d\t" % number
            self.line_positions[number] = (self.size + len(number_text), len(line) + 1)
            self.size += len(number_text) + len(line) + 1
            block += [number_text, line, b"\n"]
        self.stream.write(b"".join(block))
        self.stream.flush()

    def finish(self, count: int) -> None:
        """Put the lines in the order of the input, and let the file appear whole."""
        sorted_path = self.target.with_name(self.target.name + ".sorting")
        compressed = self.target.suffix == ".gz"
        with self.path.open("rb") as source, new_file(sorted_path) as raw:
            out: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if compressed else raw
            for number in range(count):
                start, size = self.line_positions[number]
                source.seek(start)
                out.write(source.read(size))
            if compressed:
                out.close()
        sorted_path.replace(self.target)
        self.path.unlink()


def already_collected(path: Path) -> Collected:
    sequences = tokens = 0
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        for line in stream:
            sequences += 1
            try:
                tokens += len(json.loads(line)["labels"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise InputError(
                    path=str(path), line=sequences, expected="a line of .logits", got=shown(line, 40),
                    hint="Pass overwrite (--overwrite) to collect it again.", reason=Reason.EXISTS,
                ) from None  # fmt: skip
    return Collected(path, sequences, tokens, sequences)
