"""Predicted and gold queries as text-to-SQL benchmarks keep them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError
from sensecheck.inputs.formats.reading import lines, members_of
from sensecheck.inputs.formats.registry import Format, Row
from sensecheck.inputs.formats.start import UNFINISHED, Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.spider2 import read_gold, read_submission
from sensecheck.inputs.tables import kind_and_value

POSITION = "position"
"""The field of records that are numbered by their place in the data set, from 0, and have no other name."""
CONVERSATION = "conversation"
"""The field of statements that blank lines part into conversations."""
BIRD_MARK = "\t----- bird -----\t"

# Models number their answers, and put them in fences.
_STATEMENT = re.compile(
    r"\s*(?:\d+[.)]\s*)?(?:`{1,3}\w*\s+)?(select|with|values|insert|update|delete|prefix|base|ask|construct|describe)\b",
    re.I,
)
# One record by itself is an object of texts too.
_FIELDS = frozenset(
    {
        "prediction",
        "predicted",
        "gold",
        "query",
        "sql",
        "sparql",
        "question",
        "id",
        "db_id",
        "output",
        "response",
        "text",
    }
)
_NAME = re.compile(r"[\w.-]+")


# ---- a statement a line


def _is_statements(start: Start) -> str:
    """Most of the first lines begin a statement."""
    if start.kind != "text" or start.ending in ("csv", "tsv", "jsonl", "json") or not start.lines:
        return ""
    begun = sum(bool(_STATEMENT.match(line)) for line in start.lines)
    if 2 * begun > len(start.lines):
        return "its lines begin with SELECT and the like"
    over_lines = start.ending == "sql" and begun and any(line.rstrip().endswith(";") for line in start.lines)
    return "its statements end with semicolons" if over_lines else ""


def _statements(source: Source) -> Iterator[Row]:
    """A record for each line; of a blank one, an empty record: a conversation ends there, or nothing was predicted."""
    held = _whole_statements(list(lines(source)))
    named = [line.rpartition("\t")[2] for _, line in held if line.strip()]
    # What stands behind the last tab is a database in all lines or in none: queries may hold tabs themselves.
    has_databases = bool(named) and 2 * sum(map(_is_name, named)) > len(named)
    blank = [number for number, line in held if not line.strip()]
    parted = bool(blank) and blank[0] <= max((number for number, line in held if line.strip()), default=0)
    conversation = 1
    for number, line in held:
        if not line.strip():
            conversation += 1
            yield number, {}
            continue
        query, tab, database = line.rpartition("\t")
        if has_databases and tab and _is_name(database):
            row = {"query": query.removesuffix(BIRD_MARK.rstrip("\t")).strip(), "db_id": database.strip()}
        else:
            row = {"query": line.strip()}
        yield number, row | {CONVERSATION: str(conversation)} if parted else row


def _whole_statements(held: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Lines that are statements as they are; or, where most begin none, put together up to each semicolon."""
    filled = [line for _, line in held if line.strip()]
    if 2 * sum(bool(_STATEMENT.match(line)) for line in filled) > len(filled) or not any(
        line.rstrip().endswith(";") for line in filled
    ):
        return held
    whole: list[tuple[int, str]] = []
    part: list[str] = []
    first = 0
    for number, line in held:
        if not part:
            first = number
        if line.strip() and (part or not line.lstrip().startswith("--")):
            part.append(line.strip())
        if part and line.rstrip().endswith(";"):
            whole.append((first, "\n".join(part)))
            part = []
    return [*whole, (first, "\n".join(part))] if part else whole


def _is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text.strip())) and not _STATEMENT.match(text)


# ---- queries by position or id


def _is_queries(start: Start) -> str:
    """An object or a list of texts, of which most are queries."""
    if start.kind == "array":
        texts = [value for value in start.items if isinstance(value, str)]
        begun = sum(bool(_STATEMENT.match(text.strip("` \n"))) for text in texts)
        return "it is a list of queries" if texts and 2 * begun > len(texts) else ""
    if not start.is_one_object or _FIELDS & {name.lower() for name in start.members}:
        return ""
    values = [value for value in start.members.values() if value is not UNFINISHED]
    texts = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, str) and not _is_nothing(value)]
    if not texts or others:
        return ""
    if any(BIRD_MARK in text for text in texts):
        return "its members are queries with BIRD's mark"
    begun = sum(bool(_STATEMENT.match(text.strip("` \n"))) for text in texts)
    return "its members are queries" if 2 * begun > len(texts) else ""


def _is_nothing(value: Any) -> bool:
    """What programs write where they got no query: nothing, or the number 0."""
    return value is None or (value == 0 and not isinstance(value, str))


def _queries(source: Source) -> Iterator[Row]:
    members = members_of(source, "a JSON object of queries")
    if isinstance(members, list):
        members = {str(place): value for place, value in enumerate(members)}
    if not isinstance(members, dict):
        raise InputError(
            path=source.name, expected="a JSON object of queries by position or id", got=kind_and_value(members),
            reason=Reason.NOT_AN_OBJECT,
        )  # fmt: skip
    numbers = [int(key) for key in members if key.isascii() and key.isdigit()]
    by_position = sorted(numbers) in (list(range(len(members))), list(range(1, len(members) + 1)))
    items = sorted(members.items(), key=lambda item: int(item[0])) if by_position else list(members.items())
    for number, (key, value) in enumerate(items, 1):
        yield number, _query(key, value, POSITION if by_position else "id", source.name, number)


def _query(key: str, value: Any, called: str, path: str, number: int) -> Mapping[str, Any] | InputError:
    if _is_nothing(value):
        return {called: key, "query": None}
    if not isinstance(value, str):
        return InputError(
            path=path, record=number, field=key, expected="a query, or 0 where there is none",
            got=kind_and_value(value), hint=SKIP_HINT, reason=Reason.NOT_A_TEXT,
        )  # fmt: skip
    query, mark, database = value.partition(BIRD_MARK)
    return {called: key, "query": query, **({"db_id": database.strip()} if mark else {})}


# ---- Spider 2.0-lite: a table for every question


def _is_submission(folder: Path) -> str:
    files = [file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")]
    tables = sum(file.suffix.lower() in (".csv", ".sql") for file in files)
    return "it holds a CSV or SQL file for every question" if tables and 2 * tables > len(files) else ""


def _submission(source: Source) -> Iterator[Row]:
    assert source.path is not None
    yield from enumerate(read_submission(source.path), 1)


def _is_table_golds(start: Start) -> str:
    asked = start.kind == "lines" and {"instance_id", "condition_cols"} <= start.first.keys()
    return "its lines name the columns that are asked for" if asked else ""


def _table_golds(source: Source) -> Iterator[Row]:
    if source.path is None:
        raise InputError(
            "lies beside the tables it is about, and is read from a file", path=source.name, reason=Reason.BAD_OPTION
        )
    yield from enumerate(read_gold(source.path), 1)


FORMATS = (
    Format(
        "spider2",
        "Spider 2.0-lite's submission: a folder with ID.csv or ID.sql for every question",
        ("correct",),
        rows=_submission,
        in_folder=_is_submission,
        holds="predictions",
        options=" --convention spider2",
        example="sensecheck correct submission/ --gold gold/spider2lite_eval.jsonl --convention spider2",
    ),
    Format(
        "spider2-gold",
        "Spider 2.0-lite's spider2lite_eval.jsonl, beside the folder of the tables that are right",
        ("correct",),
        _is_table_golds,
        _table_golds,
        holds="golds",
        options=" --convention spider2",
        example="sensecheck correct submission/ --gold gold/spider2lite_eval.jsonl --convention spider2",
    ),
    Format(
        "sql",
        "a statement a line, with or without a tab and its database: Spider, SParC, CoSQL (blank lines part "
        "conversations), BIRD's gold",
        ("correct", "faithful"),
        _is_statements,
        _statements,
        counts_lines=True,
        options=" --database DATABASES",
        example="sensecheck correct predicted.sql --gold gold.sql --database database/",
    ),
    Format(
        "queries",
        "a JSON object of queries by position or id: BIRD's predict_dev.json (0: nothing was predicted)",
        ("correct", "faithful"),
        _is_queries,
        _queries,
        holds="predictions",
        options=" --database DATABASES",
        example="sensecheck correct predict_dev.json --gold dev.json --database dev_databases/",
    ),
)
