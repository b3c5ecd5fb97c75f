"""What Hugging Face `datasets` writes, read without it: saved folders, Arrow files, and the names behind class labels.

A column of class labels holds integers. What they are called stands beside the data: in the schema of a Parquet or
Arrow file (under the key `huggingface`), in `dataset_info.json`, or in the object itself. Nothing here is trusted:
sizes and places in a file are checked before they are used, and `state.json` may name no files but the folder's own.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.json_arrays import loads
from sensecheck.inputs.reasons import Reason

FILE_MAGIC = b"ARROW1"
STREAM_MAGIC = b"\xff\xff\xff\xff"
KEY = "huggingface"

STATE, SPLITS, INFO, INFOS = "state.json", "dataset_dict.json", "dataset_info.json", "dataset_infos.json"
CARD = "README.md"
_MOST_JSON_BYTES = 64 * 1024 * 1024
_MOST_CARD_BYTES = 1024 * 1024
_MOST_METADATA_BYTES = 64 * 1024 * 1024
_PART_BYTES = 16 * 1024 * 1024
"""Record batches are read together up to so many bytes."""
_MOST_FIELDS = 100_000
_DEEPEST_FIELD = 32
_MOST_UNPACKED_BYTES = 128 * 1024 * 1024
_MOST_EXPANSION = 100
_MOST_EMPTY_ROWS = 1 << 20


def is_arrow(head: bytes) -> bool:
    """Whether a file's first bytes are those of Arrow, as a file (Feather) or as a stream."""
    return head.startswith((FILE_MAGIC, STREAM_MAGIC))


# -- class labels --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClassNames:
    """What the integers 0, 1, 2 … of a column are called, and where that is said."""

    names: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class ClassLabels:
    """The class names that one place gives, by column; `fault` says why what it gives cannot be read."""

    source: str
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fault: str = ""

    def renamed(self, columns: Mapping[str, str]) -> ClassLabels:
        """The same under our names of the columns."""
        theirs = set(columns.values())
        kept = {name: names for name, names in self.names.items() if name not in theirs and name not in columns}
        moved = {ours: self.names[name] for ours, name in columns.items() if name in self.names}
        return ClassLabels(self.source, {**kept, **moved}, self.fault)

    def of(self, column: str) -> ClassNames | None:
        """The names of a column's classes; an error where something is said of them that cannot be understood."""
        if self.fault:
            raise InputError(
                path=self.source, expected="the names of class labels", got=self.fault,
                hint="Make or fetch the file again, or say yourself what the integers mean: "
                "--label-names A,B,C (label_names=).", reason=Reason.BAD_JSON,
            )  # fmt: skip
        names = self.names.get(column)
        return None if names is None else ClassNames(names, self.source)


def class_labels_in(text: bytes | str, source: str) -> ClassLabels:
    """The class labels of the JSON under the key `huggingface` of a schema: {"info": {"features": {…}}}."""
    document, fault = _document(text)
    if fault:
        return ClassLabels(source, fault=fault)
    info = document.get("info") if isinstance(document, dict) else None
    return _of_features([info.get("features") if isinstance(info, dict) else None], source)


def class_labels_beside(path: Path | None) -> list[ClassLabels]:
    """The class labels in the files that `datasets` and its hub put beside the data, the nearest first."""
    if path is None:
        return []
    folder = path.parent
    places = [folder / INFO, folder / INFOS, folder / CARD, folder / ".." / INFOS, folder / ".." / CARD]
    found = [labels for place in places if (labels := _class_labels_at(place)) is not None]
    return [labels for labels in found if labels.names or labels.fault]


def _class_labels_at(place: Path) -> ClassLabels | None:
    try:
        if not place.is_file():
            return None
        with place.open("rb") as file:
            text = file.read((_MOST_CARD_BYTES if place.name == CARD else _MOST_JSON_BYTES) + 1)
    except OSError as error:
        return ClassLabels(str(place), fault=f"a file that cannot be opened ({error.strerror or error})")
    if place.name == CARD:
        return _of_features(_features_of_card(text.decode("utf-8", "replace")), str(place))
    document, fault = _document(text)
    if fault:
        return ClassLabels(str(place), fault=fault)
    # dataset_infos.json has one for every configuration
    infos = [document] if place.name == INFO else list(document.values()) if isinstance(document, dict) else []
    return _of_features([info.get("features") if isinstance(info, dict) else None for info in infos], str(place))


_CARD_LINE = re.compile(r"(?P<indent> *)(?P<item>- )?(?P<key>[^\s:][^:]*):(?: (?P<value>.*))?")


def _features_of_card(text: str) -> Iterator[dict[str, Any]]:
    """The class labels in the head of a data set's card (README.md), one at a time: that much YAML and no more.

    - name: label
      dtype:
        class_label:
          names:
            '0': entailment
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return
    column, inside = "", -1
    names: dict[str, str] = {}
    for line in lines[1:]:
        found = _CARD_LINE.fullmatch(line.rstrip())
        key, value = (_unquoted(found[part] or "") for part in ("key", "value")) if found else ("", "")
        indent = len(found["indent"]) if found else 0
        if names and not (found and indent > inside and _is_index(key)):
            yield {column: {"_type": "ClassLabel", "names": names}}
            column, names, inside = "", {}, -1
        if line.rstrip() == "---":
            return
        if found is None:
            continue
        if found["item"] and key == "name":
            column, inside = value, -1
        elif key == "names" and not value and column:
            inside = indent
        elif inside >= 0 and indent > inside and _is_index(key):
            names[str(int(key))] = value
        elif indent <= inside:
            inside = -1


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) <= 6


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def class_labels_of(data: Any) -> list[ClassLabels]:
    """The class labels that a table in memory brings with it: a `datasets.Dataset`, or an Arrow table made from one."""
    if isinstance(data, (list, tuple, dict)) or type(data).__module__.startswith("polars"):
        return []  # a lazy frame would have to be worked out to be asked
    features = getattr(data, "features", None)
    if isinstance(features, Mapping):
        plain = {
            str(name): {"_type": "ClassLabel", "names": list(kind.names)}
            for name, kind in features.items()
            if type(kind).__name__ == "ClassLabel" and isinstance(getattr(kind, "names", None), (list, tuple))
        }
        labels = _of_features([plain], "the data set's features")
        return [labels] if labels.names or labels.fault else []
    metadata = getattr(getattr(data, "schema", None), "metadata", None)
    text = metadata.get(KEY.encode()) if isinstance(metadata, Mapping) else None
    if isinstance(text, (bytes, str)):
        labels = class_labels_in(text, "the table's schema")
        return [labels] if labels.names or labels.fault else []
    return []


def _document(text: bytes | str) -> tuple[Any, str]:
    """JSON, or nothing and what is wrong with it."""
    if len(text) > _MOST_JSON_BYTES:
        return None, f"more than {_MOST_JSON_BYTES:,} bytes"
    try:
        return loads(text if isinstance(text, bytes) else text.encode("utf-8", "replace")), ""
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None, "something that is no JSON"


def _of_features(all_features: Iterable[Any], source: str) -> ClassLabels:
    """The names of every ClassLabel column; of several sets of features, they must not contradict each other."""
    found: dict[str, tuple[str, ...]] = {}
    for features in all_features:
        for column, kind in features.items() if isinstance(features, dict) else ():
            if not isinstance(kind, dict) or kind.get("_type") != "ClassLabel" or kind.get("names") is None:
                continue
            names = kind["names"]
            if isinstance(names, dict):  # as dataset cards have them: {"0": "entailment", …}
                names = [names.get(str(i)) for i in range(len(names))]
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                return ClassLabels(source, fault=f"{shown(kind['names'], 60)} for the column {shown(column, 40)}")
            if found.setdefault(column, tuple(names)) != tuple(names):
                return ClassLabels(source, fault=f"two different lists for the column {shown(column, 40)}")
    return ClassLabels(source, found)


# -- saved folders -------------------------------------------------------------------------------------------------


def saved_files(folder: Path) -> list[Path] | None:
    """The Arrow files of a folder that `save_to_disk` wrote, in their order; None for any other folder."""
    if (folder / SPLITS).is_file() and not (folder / STATE).is_file():
        return _files_of_split(folder)
    if not (folder / STATE).is_file():
        return None
    place = folder / STATE
    state = _read(place)
    listed = state.get("_data_files") if isinstance(state, dict) else None
    files = [entry.get("filename") if isinstance(entry, dict) else None for entry in listed or []] if isinstance(
        listed, list
    ) else []  # fmt: skip
    if not files or not isinstance(state, dict):
        raise InputError(
            path=str(place), expected='the files of a saved data set ({"_data_files": [{"filename": …}, …]})',
            got=shown(listed if isinstance(state, dict) else state, 60),
            hint="Save the data set again, or name its Arrow files.", reason=Reason.BAD_JSON,
        )  # fmt: skip
    if state.get("_indices_data_files"):
        raise InputError(
            path=str(place), expected="a data set saved as it is", got="one whose rows are chosen by a separate index",
            hint="Load it with datasets, then dataset.flatten_indices().save_to_disk(NEW).", reason=Reason.NOT_A_TABLE,
        )  # fmt: skip
    return [_own_file(folder, place, name) for name in files]


def _own_file(folder: Path, place: Path, name: Any) -> Path:
    """A file of the folder itself: what a data set says must not lead anywhere else."""
    if not _is_plain(name):
        raise InputError(
            path=str(place), expected="names of files in the same folder", got=shown(name, 60),
            hint="Was the folder made by save_to_disk? Look at it before you go on.", reason=Reason.BAD_JSON,
        )  # fmt: skip
    path = folder / str(name)
    if not _is_file(path):
        raise InputError(
            path=str(folder), expected=f"the file {shown(name, 60)}, which {STATE} names", got="none of that name",
            hint="Is the folder complete? Copy it again.", reason=Reason.NOT_FOUND,
        )  # fmt: skip
    return path


def _is_plain(name: Any) -> bool:
    """Whether a name is that of something in the same folder, on any system."""
    return isinstance(name, str) and name not in ("", ".", "..") and not any(mark in name for mark in "/\\\0:")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # longer than a name can be
        return False


def _files_of_split(folder: Path) -> list[Path]:
    document = _read(folder / SPLITS)
    splits = document.get("splits") if isinstance(document, dict) else None
    if not isinstance(splits, list) or not splits or not all(isinstance(name, str) for name in splits):
        raise InputError(
            path=str(folder / SPLITS), expected='the splits of a saved data set ({"splits": ["train", …]})',
            got=shown(document, 60), hint="Save the data set again, or name the folder of one split.",
            reason=Reason.BAD_JSON,
        )  # fmt: skip
    if len(splits) > 1:
        listed = ", ".join(shown(name, 40) for name in splits[:10]) + (", …" if len(splits) > 10 else "")
        raise InputError(
            path=str(folder), expected="one split", got=f"a saved data set with the splits {listed}",
            hint=f"Name the folder of one, e.g. {shown(str(folder / splits[-1]), 200)}.", reason=Reason.DIRECTORY,
        )  # fmt: skip
    [name] = splits
    if not _is_plain(name) or not _is_file(folder / name / STATE):
        raise InputError(
            path=str(folder), expected="the folder of the split that dataset_dict.json names", got=shown(name, 60),
            hint="Is the folder complete? Copy it again.", reason=Reason.NOT_FOUND,
        )  # fmt: skip
    return saved_files(folder / name) or []


def _read(place: Path) -> Any:
    try:
        with place.open("rb") as file:
            text = file.read(_MOST_JSON_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"cannot be opened ({error.strerror or error})", path=str(place), reason=Reason.UNREADABLE
        ) from None
    document, fault = _document(text)
    if fault:
        raise InputError(
            path=str(place), expected="JSON, as save_to_disk writes it", got=fault,
            hint="Is the folder complete? Copy it again.", reason=Reason.BAD_JSON,
        )  # fmt: skip
    return document


# -- Arrow ---------------------------------------------------------------------------------------------------------


class DamagedError(Exception):
    """Bytes that are no Arrow, or no Parquet."""


class CutShortError(DamagedError):
    """The file ends before what it promises."""


class _Buffer:
    """A flatbuffer (the format of Arrow's metadata), read with every place checked."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def number(self, kind: str, at: int) -> int:
        size = struct.calcsize(kind)
        if at < 0 or at + size > len(self.data):
            raise DamagedError
        return int(struct.unpack_from(kind, self.data, at)[0])

    def root(self) -> _Table:
        return _Table(self, self.number("<I", 0))


@dataclass(frozen=True, slots=True)
class _Table:
    buffer: _Buffer
    at: int

    def _place(self, number: int) -> int:
        """Where a field is; 0 where it is left out."""
        layout = self.at - self.buffer.number("<i", self.at)
        size = self.buffer.number("<H", layout)
        entry = 4 + 2 * number
        offset = self.buffer.number("<H", layout + entry) if entry + 2 <= size else 0
        return self.at + offset if offset else 0

    def value(self, number: int, kind: str) -> int:
        at = self._place(number)
        return self.buffer.number(kind, at) if at else 0

    def table(self, number: int) -> _Table | None:
        at = self._place(number)
        return _Table(self.buffer, at + self.buffer.number("<I", at)) if at else None

    def vector(self, number: int, size: int) -> tuple[int, int]:
        """Where the elements of a list begin, and how many there are, each of so many bytes."""
        at = self._place(number)
        if not at:
            return 0, 0
        start = at + self.buffer.number("<I", at)
        count = self.buffer.number("<I", start)
        if start + 4 + count * size > len(self.buffer.data):
            raise DamagedError
        return start + 4, count

    def tables(self, number: int) -> list[_Table]:
        start, count = self.vector(number, 4)
        if count > _MOST_FIELDS:
            raise DamagedError
        places = [start + 4 * i for i in range(count)]
        return [_Table(self.buffer, at + self.buffer.number("<I", at)) for at in places]

    def text(self, number: int) -> bytes:
        start, count = self.vector(number, 1)
        return self.buffer.data[start : start + count]


_SCHEMA, _DICTIONARY, _RECORDS = 1, 2, 3


def _checked_schema(schema: _Table) -> bytes | None:
    """What a schema says under `huggingface`; fields nested without end are refused, as they would never be read."""
    left = _MOST_FIELDS
    level = schema.tables(1)
    for _ in range(_DEEPEST_FIELD):
        children: list[_Table] = []
        for one in level:
            children += one.tables(5)
            if len(children) > left:
                raise DamagedError
        if not children:
            break
        level, left = children, left - len(children)
    else:
        raise DamagedError
    return next((pair.text(1) for pair in schema.tables(2) if pair.text(0) == KEY.encode()), None)


def _check_records(records: _Table, size: int, eight_bytes: Callable[[int], bytes]) -> None:
    """Refuse a batch that promises more than its bytes hold, or that unpacks to more than anybody wrote.

    size: how long its body is; eight_bytes: those at some place in it, where packed parts say what they unpack to.
    """
    rows = records.value(0, "<q")
    start, count = records.vector(2, 16)
    packed = records.table(3) is not None
    unpacked = 0
    for at in range(start, start + 16 * count, 16):
        offset, length = records.buffer.number("<q", at), records.buffer.number("<q", at + 8)
        if offset < 0 or length < 0 or offset + length > size:
            raise DamagedError
        if packed and length >= 8:
            unpacked += max(int.from_bytes(eight_bytes(offset), "little", signed=True), 0)
    most = max(_MOST_UNPACKED_BYTES, _MOST_EXPANSION * size)
    if rows < 0 or rows > max(_MOST_EMPTY_ROWS, 8 * max(size, unpacked)) or unpacked > most:
        raise DamagedError


def _records_in(message: _Table) -> _Table | None:
    """The record batch that a message brings, by itself or as the values of a dictionary."""
    kind, header = message.value(1, "<B"), message.table(2)
    if header is None or kind not in (_DICTIONARY, _RECORDS):
        return None
    return header.table(1) if kind == _DICTIONARY else header


class ArrowStream:
    """The messages of an Arrow stream, a few record batches at a time, each part a whole stream of its own."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        message = self._message()
        if message is None:
            raise DamagedError
        kind, header, raw = message
        if kind != _SCHEMA:
            raise DamagedError
        self._schema = raw
        self.features = _checked_schema(header)
        """The text under the schema's key `huggingface`."""

    def parts(self) -> Iterator[bytes]:
        """Streams of about `_PART_BYTES`, or of one record batch; one without rows where there are none at all."""
        dictionaries: list[bytes] = []
        batches: list[bytes] = []
        size = given = 0
        while (message := self._message()) is not None:
            kind, _, raw = message
            if kind == _DICTIONARY:
                if batches:  # it holds for what follows
                    yield b"".join([self._schema, *dictionaries, *batches, _END])
                    batches, size, given = [], 0, given + 1
                dictionaries.append(raw)
            elif kind == _RECORDS:
                batches.append(raw)
                size += len(raw)
                if size >= _PART_BYTES:
                    yield b"".join([self._schema, *dictionaries, *batches, _END])
                    batches, size, given = [], 0, given + 1
            else:
                raise DamagedError
        if batches or not given:
            yield b"".join([self._schema, *dictionaries, *batches, _END])

    def _message(self) -> tuple[int, _Table, bytes] | None:
        """The next message: its kind, its header, and all its bytes."""
        prefix = self._file.read(8)
        if not prefix or prefix == _END:
            return None
        if len(prefix) < 8:
            raise CutShortError
        if prefix[:4] != STREAM_MAGIC:
            raise DamagedError
        size = int.from_bytes(prefix[4:], "little", signed=True)
        if not 0 < size <= _MOST_METADATA_BYTES:
            raise DamagedError
        metadata = self._file.read(size)
        if len(metadata) < size:
            raise CutShortError
        message = _Buffer(metadata).root()
        kind, length, header = message.value(1, "<B"), message.value(3, "<q"), message.table(2)
        if header is None or length < 0:
            raise DamagedError
        body = self._body(length)
        if kind in (_DICTIONARY, _RECORDS):
            records = _records_in(message)
            if records is None:
                raise DamagedError
            _check_records(records, length, lambda at: body[at : at + 8])
        return kind, header, b"".join([prefix, metadata, body])

    def _body(self, length: int) -> bytes:
        """As many bytes; a length that the file does not have is found out before memory is asked for."""
        at = self._file.tell()
        end = self._file.seek(0, 2)
        self._file.seek(at)
        if length > end - at:
            raise CutShortError
        return self._file.read(length)


_END = STREAM_MAGIC + b"\0\0\0\0"


def features_of_file(file: BinaryIO) -> bytes | None:
    """What the schema in the footer of an Arrow file (Feather) says under `huggingface`."""
    end = file.seek(0, 2)
    if end < 22:
        raise CutShortError
    file.seek(end - 10)
    tail = file.read(10)
    if tail[4:] != FILE_MAGIC:
        raise CutShortError
    size = int.from_bytes(tail[:4], "little", signed=True)
    if not 0 < size <= min(end - 18, _MOST_METADATA_BYTES):
        raise DamagedError
    file.seek(end - 10 - size)
    footer = _Buffer(file.read(size)).root()
    schema = footer.table(1)
    if schema is None:
        raise DamagedError
    for number in (2, 3):  # dictionaries, record batches
        start, count = footer.vector(number, 24)
        for at in range(start, start + 24 * count, 24):
            offset, header = footer.buffer.number("<q", at), footer.buffer.number("<i", at + 8)
            _check_block(file, end, offset, header, footer.buffer.number("<q", at + 16))
    return _checked_schema(schema)


def _check_block(file: BinaryIO, end: int, offset: int, header: int, body: int) -> None:
    """A message of an Arrow file, where its footer says that it is."""
    if min(offset, body) < 0 or header < 8 or offset + header + body > end:
        raise DamagedError
    file.seek(offset)
    metadata = file.read(header)
    records = _records_in(_Buffer(metadata[8:] if metadata.startswith(STREAM_MAGIC) else metadata[4:]).root())
    if records is None:
        raise DamagedError

    def eight_bytes(at: int) -> bytes:
        file.seek(offset + header + at)
        return file.read(8)

    _check_records(records, body, eight_bytes)
