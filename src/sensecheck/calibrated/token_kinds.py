"""Kinds of tokens and ranges of positions, to see where in an answer a model is over-confident.

A file of kinds is JSON: a map from token to kind, `{"SELECT": "keyword", "name": "identifier"}`, or classes tried in
order, `{"classes": {"number": "[0-9.]+", "word": "\\\\w+"}}`, each a regular expression that must match all of a token.
`sql` names a set that comes with the package. Marks by which tokenizers show spaces (▁, Ġ, ##) are taken off first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.json_arrays import read_document
from sensecheck.inputs.reasons import Reason

KIND = "token_kind"
RANGE = "position_range"
OTHER = "other"
_LONGEST = 100
_MARKS = re.compile(r"^(?:##|[▁Ġ])+")

_SQL_WORDS = (
    "select from where group by having order limit offset distinct join inner left right full outer cross on using as "
    "and or not in exists between like is null union intersect except all any asc desc case when then else end with "
    "count sum avg min max cast interval values insert update delete into set"
)
SQL: dict[str, str] = {
    "end": r"</s>|<eos>|<\|endoftext\|>|<s>|<pad>",
    "keyword": "(?i:" + "|".join(_SQL_WORDS.split()) + ")",
    "literal": r"[0-9]+(?:\.[0-9]+)?|'[^']*'?|\"[^\"]*\"?|true|false",
    "symbol": r"[^\w\s]+",
    "identifier": r"\w[\w.]*",
}


class TokenKinds:
    """Says of a token's text which kind it is."""

    def __init__(self, by_token: Mapping[str, str], classes: Mapping[str, str], name: str) -> None:
        self.by_token = dict(by_token)
        self.name = name
        self.classes = []
        for kind, pattern in classes.items():
            try:
                self.classes.append((kind, re.compile(pattern)))
            except (re.error, RecursionError, OverflowError) as error:
                why = error.msg if isinstance(error, re.error) else "nested too deeply, or with too large a number"
                raise InputError(
                    field=shown(kind, 60)[1:-1],
                    expected="a regular expression",
                    got=f"{shown(pattern)} ({why})",
                    reason=Reason.BAD_OPTION,
                ) from None
        self._known: dict[str, str] = {}

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Mapping[str, Any]) -> TokenKinds:
        """From a file, a map, or the name of a set (`sql`)."""
        if isinstance(given, Mapping):
            return cls._from(given, "given", "token kinds")
        if str(given) == "sql":
            return cls({}, SQL, "sql")
        path = Path(given)
        expected = "a JSON file of token kinds, or 'sql'"
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(
                path=str(path),
                expected=expected,
                got=f"a file that cannot be read ({error.strerror})",
                reason=Reason.BAD_OPTION,
            ) from None
        document = read_document(content, str(path), expected)
        return cls._from(document, path.name, str(path))

    @classmethod
    def _from(cls, document: Any, name: str, place: str) -> TokenKinds:
        classes = document.get("classes") if isinstance(document, Mapping) else None
        kinds = classes if isinstance(classes, Mapping) else document
        if not isinstance(kinds, Mapping) or not kinds or not all(isinstance(v, str) for v in kinds.values()):
            raise InputError(
                path=place, expected='a map from token to kind, or {"classes": {kind: regular expression}}',
                got=shown(document), reason=Reason.BAD_OPTION,
            )  # fmt: skip
        return cls({}, kinds, name) if isinstance(classes, Mapping) else cls(kinds, {}, name)

    def __call__(self, token: str | None) -> str | None:
        if token is None:
            return None
        if token not in self._known:
            self._known[token] = self._kind(token)
        return self._known[token]

    def _kind(self, token: str) -> str:
        bare = _MARKS.sub("", token)[:_LONGEST] or token[:_LONGEST]
        for text in (token, bare):
            if text in self.by_token:
                return self.by_token[text]
        return next((kind for kind, pattern in self.classes if pattern.fullmatch(bare)), OTHER)


def position_range(column: str = "position") -> pl.Expr:
    """Positions in ranges that double: 0, 1, 2–3, 4–7 …; padded, so that they sort as they follow."""
    p = pl.col(column)
    ranges = pl.when(p == 0).then(pl.lit("000")).when(p == 1).then(pl.lit("001"))
    low = 2
    while low < 512:
        ranges = ranges.when(p < 2 * low).then(pl.lit(f"{low:03d}–{2 * low - 1:03d}"))
        low *= 2
    return ranges.when(p.is_not_null()).then(pl.lit("512+")).otherwise(None).alias(RANGE)
