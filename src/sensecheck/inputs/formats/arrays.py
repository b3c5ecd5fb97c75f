"""Files of arrays: NumPy's .npz and .npy, safetensors, and torch's .pt.

What the arrays are is told in `inputs/model_outputs.py`. Nothing in these files is ever unpickled: arrays of Python
objects are refused, and .pt is loaded by torch with `weights_only` alone. Sizes are checked against what is there
before anything is allocated.
"""

from __future__ import annotations

import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import polars as pl

from sensecheck.inputs.arrays import Array, as_array, is_array, native
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.formats.registry import Format, Selection
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.json_arrays import loads
from sensecheck.inputs.model_outputs import Arrays, table_of
from sensecheck.inputs.opening import (
    MAX_DOCUMENT_BYTES,
    MAX_EXPANSION,
    MAX_UNPACKED_BYTES,
    Source,
    document_too_large,
)
from sensecheck.inputs.reasons import Reason

NPY, ZIP = b"\x93NUMPY", b"PK\x03\x04"
_OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""The number that torch's files before 1.6 begin with."""
_MOST_HEADER = 100_000_000
_MOST_DIMENSIONS = 32
_MOST_MEMBERS = 10_000
_SAFE_KINDS: Mapping[str, str] = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|u1",
}  # fmt: skip
_AGAIN = "Is the file complete? Make or fetch it again."


# ---- recognition


def _first_member(data: bytes) -> str:
    """The name of the first file in a zip."""
    if not data.startswith(ZIP) or len(data) < 30:
        return ""
    length = int.from_bytes(data[26:28], "little")
    return data[30 : 30 + length].decode("utf-8", "replace")


def _is_npz(start: Start) -> str:
    return "it is a zip of NumPy arrays" if _first_member(start.data).endswith(".npy") else ""


def _is_npy(start: Start) -> str:
    return "it begins as NumPy's arrays do" if start.data.startswith(NPY) else ""


def _is_pt(start: Start) -> str:
    if start.data.startswith(_OLD_TORCH):
        return "it begins as torch's older files do"
    # What torch writes has one folder, and the description of its arrays first.
    return "it is a zip as torch writes it" if _first_member(start.data).endswith("/data.pkl") else ""


def _is_safetensors(start: Start) -> str:
    length = int.from_bytes(start.data[:8], "little")
    begins = 2 <= length <= _MOST_HEADER and start.data[8:9] == b"{"
    marked = b'"data_offsets"' in start.data[8 : 8 + length] or start.ending == "safetensors"
    return "it begins with a header of safetensors" if begins and marked else ""


# ---- reading


def _content(source: Source) -> bytes:
    """The whole file; these formats are never packed, as most have a packing of their own."""
    if source.path is None:
        stream = source.stream
        data = stream.read(MAX_DOCUMENT_BYTES + 1) if stream is not None else b""
    else:
        source.digest_file()
        if source.raw_bytes > MAX_DOCUMENT_BYTES:
            raise document_too_large(source.name, "a file of arrays", MAX_DOCUMENT_BYTES)
        data = source.head(source.raw_bytes)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise document_too_large(source.name, "a file of arrays", MAX_DOCUMENT_BYTES)
    if data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        raise _damaged(source.name, "is packed with gzip or zstd", "Unpack it first.")
    return data


def _damaged(path: str, problem: str, hint: str = _AGAIN) -> InputError:
    return InputError(problem, path=path, hint=hint, reason=Reason.UNREADABLE)


def _npy(data: bytes, path: str, name: str = "") -> Array:
    """One array: its header is read first, and what it claims must be what follows."""
    called = f"{shown(name, 60)} " if name else ""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, fortran, kind = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran, kind = np.lib.format.read_array_header_2_0(stream)
        else:
            raise _damaged(path, f"{called}has a version of NumPy's format that is not read ({version})", "")
    except InputError:
        raise
    except Exception:  # NumPy evaluates the header as a literal, which fails in many ways
        raise _damaged(path, f"{called}is no NumPy array, or its header is damaged") from None
    if kind.hasobject:
        raise _pickled(path, called)
    if kind.names is not None or kind.kind not in "biufUS" or kind.itemsize == 0:
        raise _damaged(
            path, f"{called}is of the type {shown(str(kind), 40)}", "Arrays of numbers, marks or texts are read."
        )
    if any(size < 0 for size in shape) or len(shape) > _MOST_DIMENSIONS:
        raise _damaged(path, f"{called}has the shape {shown(shape, 40)}")
    rest = memoryview(data)[stream.tell() :]
    if math.prod(shape) * kind.itemsize != len(rest):
        raise _damaged(
            path, f"{called}claims {math.prod(shape) * kind.itemsize:,} bytes of numbers and has {len(rest):,}"
        )
    if not _is_possible(shape, kind.itemsize):
        raise _damaged(path, f"{called}has the shape {shown(shape, 40)}")
    array = np.frombuffer(rest, dtype=kind)
    if kind.kind == "U" and not _is_text(array.view(f"{kind.str[0]}u4")):
        raise _damaged(path, f"{called}holds texts with characters that do not exist")
    return native(array.reshape(shape[::-1]).transpose() if fortran else array.reshape(shape))


def _is_text(codes: Array) -> bool:
    return not bool(((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any())


def _is_possible(shape: Sequence[int], bytes_each: int) -> bool:
    """Whether NumPy has such arrays: where one size is 0 the others take no room, and are bounded all the same."""
    return math.prod(max(size, 1) for size in shape) * bytes_each <= MAX_DOCUMENT_BYTES


def _pickled(path: str, called: str) -> InputError:
    return InputError(
        f"{called}is an array of Python objects, which are pickles and never loaded", path=path,
        hint="Save it as numbers or texts, e.g. np.savez(FILE, predictions=np.stack(P), labels=np.array(y)).",
        reason=Reason.NOT_TEXT,
    )  # fmt: skip


def _members(data: bytes, path: str) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    """A zip whose files unpack to no more than a machine may hold."""
    try:
        packed = zipfile.ZipFile(io.BytesIO(data))
        members = [one for one in packed.infolist() if not one.is_dir()]
    except Exception:  # zipfile raises much more than its own errors on damaged files
        raise _damaged(path, "cannot be read as a zip: it is damaged or cut short") from None
    total = sum(one.file_size for one in members)
    if len(members) > _MOST_MEMBERS:
        raise _damaged(path, f"holds {len(members):,} files", f"At most {_MOST_MEMBERS:,} are read.")
    if total > max(MAX_UNPACKED_BYTES, MAX_EXPANSION * len(data)) or total > MAX_DOCUMENT_BYTES:
        raise document_too_large(
            path, f"a file that unpacks to at most {MAX_EXPANSION} times its size, or", MAX_UNPACKED_BYTES
        )
    return packed, members


def _npz(data: bytes, path: str) -> Any:
    packed, members = _members(data, path)
    arrays: dict[str, Array] = {}
    with packed:
        for one in members:
            name = one.filename.removesuffix(".npy")
            try:
                with packed.open(one) as file:
                    content = file.read(one.file_size + 1)
            except Exception:
                raise _damaged(path, f"{shown(name, 60)} cannot be unpacked") from None
            if len(content) > one.file_size:
                raise _damaged(path, f"{shown(name, 60)} is longer than the zip says")
            if one.filename.endswith(".npy"):
                arrays[name] = _npy(content, path, name)
    return {name: array.item() if array.ndim == 0 else array for name, array in arrays.items()}


def _safetensors(data: bytes, path: str) -> Any:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 10 or length > min(_MOST_HEADER, len(data) - 8):
        raise _damaged(path, f"claims a header of {length:,} bytes and has {max(len(data) - 8, 0):,} in all")
    try:
        header = loads(data[8 : 8 + length])
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise _damaged(path, "has a header that is no JSON") from None
    if not isinstance(header, dict):
        raise _damaged(path, "has a header that is no object")
    rest = memoryview(data)[8 + length :]
    arrays: dict[str, Array] = {}
    taken: list[tuple[int, int, str]] = []
    for name, told in header.items():
        if name == "__metadata__":
            continue
        kind, shape, begin, end = _tensor(name, told, len(rest), path)
        taken.append((begin, end, name))
        array = np.frombuffer(rest[begin:end], dtype=_SAFE_KINDS[kind]).reshape(shape)
        if kind == "BF16":  # the upper half of a float32
            array = (array.astype(np.uint32) << 16).view(np.float32)
        arrays[name] = native(array.astype(bool) if kind == "BOOL" else array)
    taken.sort()
    for (_, end, one), (begin, stop, other) in pairwise(taken):
        if begin < end and stop > begin:
            raise _damaged(path, f"{shown(one, 60)} and {shown(other, 60)} overlap")
    return {name: array.item() if array.ndim == 0 else array for name, array in arrays.items()}


def _tensor(name: str, told: Any, most: int, path: str) -> tuple[str, list[int], int, int]:
    """What the header says of one tensor, once it is known to be possible."""
    parts: dict[str, Any] = told if isinstance(told, dict) else {}
    kind, shape, places = parts.get("dtype"), parts.get("shape"), parts.get("data_offsets")
    if not isinstance(kind, str) or kind not in _SAFE_KINDS:
        raise _damaged(
            path, f"{shown(name, 60)} is of the type {shown(kind, 30)}", f"Read are {', '.join(_SAFE_KINDS)}."
        )
    bytes_each = np.dtype(_SAFE_KINDS[kind]).itemsize
    if not _are_sizes(shape) or not _are_sizes(places) or len(places) != 2 or len(shape) > _MOST_DIMENSIONS:
        raise _damaged(path, f"{shown(name, 60)} has the shape {shown(shape, 40)} at {shown(places, 40)}")
    begin, end = places
    size = math.prod(shape) * bytes_each
    if not 0 <= begin <= end <= most or end - begin != size:
        raise _damaged(path, f"{shown(name, 60)} claims {size:,} bytes at {begin:,} to {end:,} of {most:,}")
    if not _is_possible(shape, bytes_each):
        raise _damaged(path, f"{shown(name, 60)} has the shape {shown(shape, 40)}")
    return kind, shape, begin, end


def _are_sizes(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(one) is int and 0 <= one < 1 << 62 for one in value)


def _pt(data: bytes, path: str) -> Any:
    """What torch saved, loaded as weights alone: tensors, numbers and texts in lists and dicts, nothing else."""
    if data.startswith(ZIP):
        packed, _ = _members(data, path)
        packed.close()
    try:
        import torch
    except ImportError:
        raise InputError(
            "reading .pt needs torch, which is not installed", path=path,
            hint="pip install 'sensecheck[models]', or save it as .safetensors or .npz, which need nothing.",
            reason=Reason.NO_MODEL,
        ) from None  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it thinks of a file that it refuses
            return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception:  # torch raises whatever it meets in a damaged file
        raise InputError(
            "cannot be loaded as tensors alone: it holds other objects, or is damaged", path=path,
            hint="Files are loaded with weights_only=True and never otherwise, as they could run code. Save a dict of "
            "tensors: torch.save(dict(output), FILE).", reason=Reason.UNREADABLE,
        ) from None  # fmt: skip


# ---- what they hold


_READ = {"npz": _npz, "safetensors": _safetensors, "pt": _pt}


def _table(kind: str, source: Source, selection: Selection) -> pl.DataFrame:
    data = _content(source)
    if kind == "npy":
        value: Any = _npy(data, source.name)
    else:
        value = _READ[kind](data, source.name)
    notes: list[str] = []
    frame = table_of(_batches(value, source.name), source.name, notes)[0]
    selection.notes += [note for note in notes if note not in selection.notes]
    return frame


def _batches(value: Any, path: str) -> list[Arrays]:
    """The named arrays in what was saved: of one call, or of several in a list."""
    if isinstance(value, Mapping):
        return [{str(name): one for name, one in value.items()}]
    if is_array(value):
        return [{_called(value, path): value}]
    if isinstance(value, list | tuple) and value:
        if all(isinstance(one, Mapping) for one in value):
            return [{str(name): array for name, array in one.items()} for one in value]
        if len(value) >= 2 and all(is_array(one) for one in value[:2]) and len(value[0].shape) == 2:
            return [{"predictions": value[0], "label_ids": value[1]}]
    raise InputError(
        path=path, expected="arrays by their names", got=shown(type(value).__name__, 40),
        hint="Save a dict of them: predictions and labels, or what generate gave.", reason=Reason.NOT_A_TABLE,
    )  # fmt: skip


def _called(array: Any, path: str) -> str:
    """What an array is that stands alone: rows of numbers, a class for each, or what its file is called."""
    array, stem = as_array(array), Path(os.fspath(path)).stem
    if array.ndim == 2 and array.shape[1] > 1 and array.dtype.kind == "f":
        return "probabilities"
    if array.ndim == 1 and array.dtype.kind in "iuUb":
        return stem if stem in ("correct", "is_correct", "id", "ids", "weight", "cluster") else "label"
    return stem or "array"


def _format(name: str, what: str, known: Any, example: str) -> Format:
    return Format(name, what, ("calibrated",), known, table=partial(_table, name), endings=(name,), example=example)


FORMATS = (
    _format(
        "npz",
        "NumPy arrays by name: predictions with labels (Trainer.predict), or what Hugging Face's generate gave",
        _is_npz,
        "sensecheck calibrated predictions.npz",
    ),
    _format(
        "npy",
        "one NumPy array: rows of probabilities or logits, or their labels",
        _is_npy,
        "sensecheck calibrated predictions.npy --gold labels.npy",
    ),
    _format("safetensors", "the same as npz, of safetensors", _is_safetensors, "sensecheck calibrated out.safetensors"),
    _format(
        "pt",
        "the same as npz, of torch (loaded as weights alone; needs the extra models)",
        _is_pt,
        "sensecheck calibrated outputs.pt",
    ),
)
