"""Damage, the same for the same seed: to the bytes of a file, or to what it holds.

A file is first damaged as what it is (values of wrong kinds, keys dropped, doubled and renamed, rows swapped), where
it can be read as that; then, or instead, its bytes are (flips, cuts, copies, hostile pieces of text, parts of other
files).
"""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import math
import random
import tomllib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import zstandard


class Case(NamedTuple):
    """One input: what its file is called, which tells some readers its kind, and what it holds."""

    name: str
    data: bytes


LARGEST = 250_000
"""Bytes of an input: what is asked is that small ones take little time and memory."""

TOKENS: tuple[bytes, ...] = (
    b"NaN", b"-Infinity", b"1e999", b"-1e999", b"-0", b"0.0", b"1e-400", b"9" * 5000, b"-" + b"9" * 400,
    b"9223372036854775808", b"18446744073709551616", b"0x" + b"f" * 5000, b"1_000", "²".encode(), "٣".encode(), b"\\ud800",
    b'"\\ud800"', b"\\u0000", b"\xed\xa0\x80", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff",
    "id,query".encode("utf-16"), b"\r", b"\r\n", b"\n\n\n", b"\x0b\x0c\x1c\x85", "\u2028".encode(), "\u202e".encode(), b'"', b'""', b"'",
    b'"""', b"`", b"[" * 2000, b"{" * 2000, b"(" * 2000, b'{"a":' * 800, b"[[[]]]", b"}" * 30, b"=cmd|' /C calc'!A0",
    b"+1", b"@SUM(1)", b"\x1b[31m", b"a" * 100_000, b"a b " * 3000, b"--", b"/*", b"#", b"\\", b"%s%n", b"${HOME}", b"{system}", b"../../etc/passwd",
    b"null", b"true", b"None", b"nan", b"inf", b"\xf0\x9f\x98\x80", "ß".encode(), "İ".encode(), "ǆ".encode(),
    b"\x1f\x8b", b"PAR1", b"\x28\xb5\x2f\xfd", b"\x93NUMPY", b"SQLite format 3\x00", b",,,,", b"\t\t", b";", b"|||",
    b"SELECT", b" WHERE ", b" UNION ", b"OPTIONAL {", b"?x", b"eq {", b"<http://e/", b"@prefix", b"not", b"n't",
)  # fmt: skip
"""Pieces of text that readers stumble over."""

WRONG: tuple[Any, ...] = (
    None, True, False, 0, 5, -1, 2**63, 10**400, 1e308, -1e-320, math.nan, math.inf, "", " ", "5", "nan", "x" * 20_000, "\ud800",
    "\x00", "=1+1", [], {}, [[]], [None], [1, "a"], [{}], {"a": {"b": [1]}}, {"": ""}, {"id": 1}, ["a", ["b"]],
    [["a"], []],
)  # fmt: skip
"""Values of kinds that nobody asked for."""

_NAMES = (
    "",
    "id",
    "x",
    "query",
    "label",
    "_line",
    "_record",
    "confidence",
    "\ud800",
    "a.b",
    "k" * 3000,
    "İd",
    "schema",
    "value",
    "type",
)

Shape = Callable[[random.Random, bytes], bytes | None]


def mutated(rng: random.Random, cases: Sequence[Case]) -> Case:
    """A damaged form of one of some cases."""
    name, data = rng.choice(cases)
    packed = _packing(data)
    if packed is not None and rng.random() < 0.7:
        data = packed[0]
    else:
        packed = None
    if rng.random() < 0.6:
        data = _restructured(rng, name, data)
    if rng.random() < 0.55:
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            data = _rewritten(rng, data, cases)
    data = data[:LARGEST]
    return Case(name, data if packed is None else packed[1](data))


def _packing(data: bytes) -> tuple[bytes, Callable[[bytes], bytes]] | None:
    """What a compressed seed holds, and how to compress it again."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data), lambda text: gzip.compress(text, 1, mtime=0)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return zstandard.decompress(data), zstandard.compress
    return None


# -- bytes -----------------------------------------------------------------------------------------------------


def _rewritten(rng: random.Random, data: bytes, cases: Sequence[Case]) -> bytes:
    at = rng.randrange(len(data) + 1)
    size = min(len(data), int(rng.expovariate(1 / 12)) + 1)
    chosen = rng.randrange(13)
    if chosen == 0 and data:  # a bit
        at = min(at, len(data) - 1)
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if chosen == 1 and data:  # a byte
        at = min(at, len(data) - 1)
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if chosen == 2:  # a hole
        return data[:at] + data[at + size :]
    if chosen == 3:  # a copy
        return data[:at] + data[at : at + size] * rng.choice((2, 2, 3, 50)) + data[at + size :]
    if chosen == 4:  # the end is missing
        return data[:at]
    if chosen == 5:  # the start is missing
        return data[at:]
    if chosen == 6:  # a part of another file
        other = rng.choice(cases).data
        start = rng.randrange(len(other) + 1)
        return data[:at] + other[start : start + rng.choice((size, len(other)))] + data[at:]
    if chosen == 7:  # lines
        lines = data.split(b"\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        if rng.random() < 0.5:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines.insert(i, rng.choice((b"", b" ", lines[j])))
        return b"\n".join(lines)
    if chosen == 8:
        return rng.choice((_other_line_ends, _other_encoding, _other_quotes))(rng, data)
    if chosen == 9:  # a number in place of another
        digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
        if digits:
            at = rng.choice(digits)
            return data[:at] + rng.choice(TOKENS[:15]) + data[at + 1 :]
    token = rng.choice(TOKENS)
    return data[:at] + token + data[at + (size if chosen == 10 else 0) :]


def _other_line_ends(rng: random.Random, data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\r", b"", b"\x00\n")))


def _other_encoding(rng: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-8-sig", "utf-32", "latin-1", "cp1252")), "replace")


def _other_quotes(rng: random.Random, data: bytes) -> bytes:
    return data.replace(b'"', rng.choice((b"'", b"", b'""', b'\\"')), rng.choice((-1, 1, 2)))


# -- what a file holds -----------------------------------------------------------------------------------------


def _restructured(rng: random.Random, name: str, data: bytes) -> bytes:
    ending = name.removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
    how = _SHAPES.get(ending)
    if how is None:
        return _rewritten(rng, data, [Case(name, data)])
    changed = how(rng, data)
    return data if changed is None else changed


def _json(rng: random.Random, data: bytes) -> bytes | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError, MemoryError):  # the limit holds for the making of inputs too
        return None
    for _ in range(rng.choice((1, 1, 2, 4))):
        document = _changed(rng, document)
    try:
        return _dumped(document)
    except MemoryError:  # parts that hold one another many times over
        return None


def _json_lines(rng: random.Random, data: bytes) -> bytes | None:
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        changed = _json(rng, lines[at])
        if changed is not None:
            lines[at] = changed
    return b"\n".join(lines)


def _toml(rng: random.Random, data: bytes) -> bytes | None:
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    for _ in range(rng.choice((1, 1, 2, 4))):
        document = _changed(rng, document)
    if not isinstance(document, dict):
        return _dumped(document)
    return "".join(f"{_quoted(key)} = {_as_toml(value)}\n" for key, value in document.items()).encode(
        "utf-8", "replace"
    )


def _csv(rng: random.Random, data: bytes, mark: str = ",") -> bytes | None:
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), delimiter=mark))
    except (ValueError, csv.Error):
        return None
    for _ in range(rng.choice((1, 1, 2, 4))):
        i = rng.randrange(len(rows)) if rows else 0
        if not rows or not rows[i]:
            rows.append(["a", "b"])
            continue
        chosen, j = rng.randrange(6), rng.randrange(len(rows[i]))
        if chosen == 0:
            rows[i][j] = str(rng.choice(WRONG))
        elif chosen == 1:
            rows[i][j] = rng.choice(TOKENS).decode("utf-8", "replace")
        elif chosen == 2:
            del rows[i][j]
        elif chosen == 3:
            rows[i].insert(j, rng.choice(rows[i]))
        elif chosen == 4:
            rows.insert(i, list(rng.choice(rows)))
        else:
            del rows[i]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark, quoting=rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)), escapechar="\\").writerows(
        rows
    )
    return text.getvalue().encode("utf-8", "replace")


def _tsv(rng: random.Random, data: bytes) -> bytes | None:
    return _csv(rng, data, "\t")


def _parquet(rng: random.Random, data: bytes) -> bytes | None:
    """A whole file again, with columns of other kinds."""
    import polars as pl

    frame = pl.read_parquet(data)
    name = rng.choice(frame.columns)
    values: list[Any] = frame[name].to_list()
    kind = rng.randrange(8)
    try:
        if kind == 0:
            column = pl.Series(
                name, [rng.choice((None, math.nan, math.inf, -1.0, 1e308)) for _ in values], dtype=pl.Float64
            )
        elif kind == 1:
            column = pl.Series(name, [str(value) for value in values]).cast(pl.Categorical)
        elif kind == 2:
            column = pl.Series(
                name,
                [None] * len(values),
                dtype=rng.choice((pl.Null, pl.Int8, pl.Binary, pl.Date, pl.Duration("us"), pl.List(pl.Int64))),
            )
        elif kind == 3:
            column = pl.Series(name, [[value] for value in values], strict=False)
        elif kind == 4:
            column = pl.Series(name, [{"a": value, "b": None} for value in values])
        elif kind == 5:
            column = pl.Series(name, [rng.choice((True, False, None)) for _ in values], dtype=pl.Boolean)
        elif kind == 6:
            column = pl.Series(name, [b"\xff\x00"] * len(values), dtype=pl.Binary)
        else:
            column = pl.Series(name, [rng.choice(("", "x", "\x00", "5", "y" * 5000)) for _ in values])
        frame = frame.with_columns(column)
        if rng.random() < 0.2:
            frame = frame.drop(rng.choice(frame.columns))
        if rng.random() < 0.2:
            frame = frame.head(0)
        if rng.random() < 0.2:
            frame = frame.rename({name: rng.choice(("id", "_record", "x", ""))}, strict=False)
        target = io.BytesIO()
        frame.write_parquet(target)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        return None
    return target.getvalue()


_SHAPES: dict[str, Shape] = {
    "json": _json,
    "jsonl": _json_lines,
    "logits": _json_lines,
    "toml": _toml,
    "yaml": _json,  # JSON is YAML, and the seeds are written so
    "csv": _csv,
    "tsv": _tsv,
    "parquet": _parquet,
}


def _dumped(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode(
        "utf-8", "surrogatepass" if _bare_surrogates(document) else "strict"
    )


def _bare_surrogates(document: Any) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _quoted(text: object) -> str:
    return json.dumps(str(text))


def _as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)} = {_as_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_toml, value)) + "]"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf") if math.isinf(value) else repr(value)
    if value is None:
        return '""'
    return str(value) if isinstance(value, int) else _quoted(value)


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every place in a document, as what holds it and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found


def _changed(rng: random.Random, document: Any) -> Any:
    """The document with one thing in it that is wrong."""
    places = _places(document)
    if not places or rng.random() < 0.02:
        return copy.deepcopy(rng.choice(WRONG))
    holder, key = rng.choice(places)
    chosen = rng.randrange(9)
    if chosen <= 3:
        holder[key] = copy.deepcopy(rng.choice(WRONG))
    elif chosen == 4:
        del holder[key]
    elif chosen == 5 and isinstance(holder, dict):
        holder[rng.choice((*_NAMES, f"{key}x", str(key).upper()))] = holder.pop(key)
    elif chosen == 5 or chosen == 6:
        if isinstance(holder, list):
            times = rng.choice((1, 2, 300))
            holder[key:key] = copy.deepcopy(holder[key : key + 1]) * (times if len(repr(holder[key])) < 400 else 1)
        else:
            holder[rng.choice(_NAMES)] = copy.deepcopy(holder[key])
    elif chosen == 7:
        other, there = rng.choice(places)
        with_other = copy.deepcopy(other[there])  # the place may lie inside what it is swapped with
        other[there] = copy.deepcopy(holder[key])
        holder[key] = with_other
    else:
        value: Any = copy.deepcopy(holder[key])
        for _ in range(rng.choice((1, 2, 60))):
            value = [value] if rng.random() < 0.5 else {"x": value}
        holder[key] = value
    return document
