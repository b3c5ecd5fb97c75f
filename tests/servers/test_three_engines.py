"""Six systems' predictions for Spider on SQLite, PostgreSQL and MariaDB: where verdicts differ, and why.

The table in docs/databases.md is what this prints. Queries run as they were written, for SQLite.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.servers.running import Server
from tests.servers.spider import bring

from sensecheck.correct import evaluate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import concatenated
from sensecheck.stores import Answer, Databases, Failure, Outcome, Request, ServerDatabases

NO_INTERVALS = IntervalOptions(method="none")

QUOTES = "text in double quotes is a name"
NAMES = "a name given in SELECT, asked for in WHERE or HAVING"
GROUPS = "a column that is neither grouped nor aggregated"
KINDS = "text held against a number"
UNNAMED = "a query in FROM without a name"
SEVERAL = "a subquery of several rows where one is wanted"
LIMITS = "LIMIT inside IN (…)"
SYNTAX = "spelled as this engine does not (COUNT (*), a table called SHOW, JOIN without ON)"
CASE = "letter case, or blanks at the end, in a comparison of texts"
TIES = "which of several rows that tie, or of a group, is shown"
DIGITS = "an average of whole numbers has four digits"


def verdicts(records: list[dict[str, Any]], place: str) -> dict[str, str]:
    result = evaluate(records, database=place, workers=2, reasons=False, normalise=False, options=NO_INTERVALS)
    rows = concatenated(result.rows, ["id", "scored", "correct"])
    told = {None: "undecided", True: "right", False: "wrong"}
    return {row["id"]: told[row["correct"]] if row["scored"] else "unscored" for row in rows.iter_rows(named=True)}


def why_it_failed(failure: Failure, text: str) -> str:
    """The class of a query that one engine answers and another does not."""
    said = failure.message
    missing = re.search(r'column "([^"]+)" does not exist', said)
    if missing:
        return QUOTES if f'"{missing[1]}"' in text else NAMES
    signs = {
        "must appear in the GROUP BY": GROUPS, "operator does not exist": KINDS, "function avg(text)": KINDS,
        "function sum(text)": KINDS, "must have an alias": UNNAMED, "own alias": UNNAMED, "more than one row": SEVERAL,
        "more than 1 row": SEVERAL, "LIMIT & IN": LIMITS, "Unknown column": NAMES,
    }  # fmt: skip
    for sign, kind in signs.items():
        if sign in said:
            return kind
    if str(failure.reason) == "syntax":
        return UNNAMED if re.search(r"\)\s*(?:where|order|\)|;|$)", text, re.I) and "FROM (" in text.upper() else SYNTAX
    return f"other: {said}"


def why_it_differs(gold: str, prediction: str, here: list[Outcome], there: list[Outcome]) -> str:
    """The class of a pair whose queries are answered by both engines, on one of them alike."""
    cells = [cell for outcome in here for row in _rows(outcome) for cell in row]
    if any(re.fullmatch(r"\d+\.\d{1,4}", repr(cell)) for cell in cells if isinstance(cell, float)) and " avg(" in (
        f" {gold} {prediction}".lower()
    ):
        values = [[cell for row in _rows(outcome) for cell in row] for outcome in here]
        if len(values[0]) == len(values[1]) == 1 and abs(values[0][0] - values[1][0]) < 0.001:
            return DIGITS
    if "cast(" in prediction.lower():
        return KINDS
    changed = [
        text for text, one, other in zip((gold, prediction), here, there, strict=True) if _rows(one) != _rows(other)
    ]
    if any("limit" in text.lower() for text in changed) and not re.search(r"=\s*['\"]", " ".join(changed)):
        return TIES
    if any(re.search(r"['\"]", text) for text in (gold, prediction)) or any(
        "group by" in text.lower() for text in changed
    ):
        return CASE
    return "other"


def _rows(outcome: Outcome) -> list[tuple[Any, ...]]:
    return sorted(outcome.rows, key=repr) if isinstance(outcome, Answer) else []


@pytest.mark.servers
@pytest.mark.golden
def test_verdicts_by_engine(server: Server, shared: Path) -> None:
    folder = shared / "data" / "sql"
    for file in sorted((folder / "databases").glob("*/*.sqlite")):
        bring(server, file, file.stem)
    with gzip.open(folder / "predictions.jsonl.gz") as lines:
        told = [json.loads(line) for line in lines]
    records = [{"id": r["id"], "db_id": r["db_id"], "gold": r["gold"], "prediction": r["pred"]} for r in told]
    place = server.address(rest="/{db_id}")
    here, there = verdicts(records, str(folder / "databases")), verdicts(records, place)
    assert len(here) == len(there) == 5_832
    differing = [record for record in records if here[record["id"]] != there[record["id"]]]
    table: Counter[tuple[str, str, str]] = Counter()
    with ServerDatabases(place, workers=2) as store, Databases(folder / "databases", workers=2) as files:
        asked = {record["db_id"]: str(files.files(record["db_id"])[0]) for record in differing}
        texts = {(record["db_id"], record[part]) for record in differing for part in ("gold", "prediction")}
        listed = sorted(texts)
        on_server = dict(zip(listed, _all(store, [Request(text, name) for name, text in listed]), strict=True))
        on_files = dict(zip(listed, _all(files, [Request(text, asked[name]) for name, text in listed]), strict=True))
    for record in differing:
        keys = [(record["db_id"], record[part]) for part in ("gold", "prediction")]
        failed = next((key for key in keys if isinstance(on_server[key], Failure)), None)
        if failed is not None:
            failure = on_server[failed]
            assert isinstance(failure, Failure)
            kind = why_it_failed(failure, failed[1])
        else:
            kind = why_it_differs(*(key[1] for key in keys), [on_server[k] for k in keys], [on_files[k] for k in keys])
        table[here[record["id"]], there[record["id"]], kind] += 1
    print(f"\n{server.name}: {len(differing):,} of {len(records):,} verdicts differ from SQLite's")
    for (before, after, kind), count in table.most_common():
        print(f"| {before} → {after} | {kind} | {count:,} |")
    both = [i for i in here if {here[i], there[i]} <= {"right", "wrong"}]
    for name, verdict in (("SQLite", here), (server.name, there)):
        scored = [one for one in verdict.values() if one in ("right", "wrong")]
        on_both = sum(verdict[i] == "right" for i in both) / len(both)
        share = scored.count("right") / len(scored)
        print(f"{name}: {len(scored):,} scored, {share:.4f} right; of the {len(both):,} scored on both {on_both:.4f}")
    assert not [key for key in table if key[2].startswith("other")]
    assert (
        {"postgresql": 2_000, "mariadb": 100}[server.name]
        < len(differing)
        < {"postgresql": 2_800, "mariadb": 400}[server.name]
    )


def _all(store: Any, requests: list[Request]) -> list[Outcome]:
    found = dict(store.run(requests))
    return [found[number] for number in range(len(requests))]
