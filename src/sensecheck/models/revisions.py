"""What stands for the revision of a model that names none: a digest of what its answers depend on.

Answers are kept by (model, revision, prompt, text). A folder, a file or a function may change and keep its name;
without a revision the answers of the old one would be taken for the new one's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import CodeType
from typing import Any

_WHOLE = 1 << 20
_BLOCK = 1 << 16
_BLOCKS = 64
_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def of_rows(rows: Iterable[tuple[object, ...]]) -> str:
    """Of stored statements or predictions, in their order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode())
    return digest.hexdigest()[:12]


def of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def of_folder(path: str | Path) -> str:
    """Of a model folder: small files whole, of weights their size and 64 pieces spread over them, which differ as
    soon as a model was trained a step further.
    """
    digest = hashlib.sha256()
    for file in sorted(p for p in Path(path).iterdir() if p.is_file() and not p.name.startswith((".", "README"))):
        size = file.stat().st_size
        digest.update(f"{file.name}\x00{size}\x00".encode())
        with file.open("rb") as stream:
            if size <= _WHOLE:
                digest.update(stream.read())
                continue
            for i in range(_BLOCKS):
                stream.seek((size - _BLOCK) * i // (_BLOCKS - 1))
                digest.update(stream.read(_BLOCK))
    return digest.hexdigest()[:12]


def of_function(function: Any) -> str:
    """Of a Python function or callable object: its code, its defaults and the fixed values it closes over.

    Lists, dicts and other things that may change while it runs are no part of it.
    """
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    parts: list[str] = []
    if not hasattr(function, "__code__"):
        attributes = getattr(function, "__dict__", {})
        parts += [f"{name}={value!r}" for name, value in attributes.items() if isinstance(value, str)]
        function = getattr(type(function), "__call__", None)  # noqa: B004 - its code is wanted
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return ""
    closed_over = [_content(cell) for cell in getattr(function, "__closure__", None) or ()]
    fixed_values = [*(getattr(function, "__defaults__", None) or ()), *closed_over]
    return of_text("\x00".join([*parts, *_code(code), *map(_fixed, fixed_values)]))


def _code(code: CodeType) -> list[str]:
    parts = [code.co_code.hex(), repr(code.co_names), repr(code.co_varnames)]
    for constant in code.co_consts:
        parts += _code(constant) if isinstance(constant, CodeType) else [_fixed(constant)]
    return parts


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not filled yet


def _fixed(value: object) -> str:
    """A value that prints the same in every process; of others the kind alone."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_fixed, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_fixed, value)))}}}"
    return type(value).__qualname__
