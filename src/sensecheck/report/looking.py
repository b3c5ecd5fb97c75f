"""What a file is, how many examples it holds, which field is what and which command fits: nothing is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck import instruments
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.label_sheets import LABELS
from sensecheck.inputs.formats.plain import TABLES
from sensecheck.inputs.formats.reading import object_of
from sensecheck.inputs.formats.registry import Format, Row, folder_format, formats, named, recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.gathering import records_of
from sensecheck.inputs.hugging_face import is_arrow
from sensecheck.inputs.opening import Source, sources
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableReader, detect_table_format
from sensecheck.report.question import Question, question

FIRST_RECORDS = 1000
"""Records whose fields are listed."""

_DATABASES = ((0, b"SQLite format 3\0", "an SQLite database"), (8, b"DUCK", "a DuckDB database"))
_GRAPHS = ("nt", "ttl", "nq", "trig", "rdf", "n3", "owl")


@dataclass
class Fit:
    """What a question makes of a file's fields."""

    question: str
    fields: dict[str, str]
    """Our name → the file's."""
    missing: list[str]
    """What it would need besides, in words."""
    command: str = ""
    needed: list[str] = field(default_factory=list)
    """The file's fields that it cannot do without."""
    is_gold: bool = False
    """Whether all it lacks is what a system predicts."""
    store: str = ""
    """Where queries would run, as the command needs it."""


@dataclass
class Look:
    """What was seen of one file."""

    path: str
    format: str
    what: str
    known_by: str
    examples: int | None = None
    judgements: int | None = None
    """What people said of the examples, in label sheets."""
    bad: int = 0
    """Records that cannot be read."""
    fields: list[str] = field(default_factory=list)
    fits: list[Fit] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


def look(path: str, input_format: str = "auto") -> Look:
    """What one file is. A folder is what its files are, where it is one that is read whole."""
    beside = _beside(path)
    if beside is not None:
        return beside
    folder = folder_format(Path(path)) if Path(path).is_dir() else None
    if folder is not None:
        return _described(Source(path, path=Path(path)), path, folder.format, folder.reason)
    found = sources(path)
    source = found[0]
    seen = _seen(source, path, None if input_format == "auto" else named(input_format))
    for other in found[1:]:
        more = _seen(other, path, formats().get(seen.format))
        seen.examples = None if seen.examples is None or more.examples is None else seen.examples + more.examples
        seen.bad += more.bad
    return seen


def _seen(source: Source, path: str, chosen: Format | None) -> Look:
    start = Start.of(source)
    reason = "as given"
    if chosen is None:
        if not start.data.strip():
            raise InputError(path=path, expected="a file that holds something", got="an empty one", reason=Reason.EMPTY)
        known = recognised(start)
        if known is not None:
            chosen, reason = known.format, known.reason
        elif is_arrow(start.data[:8]):
            chosen, reason = named("arrow"), "it begins as Arrow files and streams do"
        else:
            name, reason = detect_table_format(start.data, source.name)
            chosen = named(name)
    return _described(source, path, chosen, reason)


def _described(source: Source, path: str, chosen: Format, reason: str) -> Look:
    seen = Look(path, chosen.name, chosen.what, reason)
    rows, seen.examples, seen.bad = _counted(source, chosen)
    if chosen.questions == (LABELS,):
        seen.judgements = seen.examples
        seen.examples = (
            len({row.get("id") for _, row in chosen.rows(source.again()) if isinstance(row, Mapping)})
            if chosen.rows
            else 0
        )
    seen.fields = list(dict.fromkeys(name for row in rows for name in row))
    found = [_fit(question(name), chosen, seen.fields, rows, path) for name in instruments.names()]
    seen.fits = sorted(_best([fit for fit in found if fit is not None]), key=lambda fit: -len(fit.fields))
    seen.commands = [fit.command for fit in seen.fits]
    if chosen.questions == (LABELS,):
        call = f"read_labels({path!r}, format={chosen.name!r})"
        seen.commands = [f'python -c "from sensecheck.inputs.label_sheets import read_labels; print({call})"']
    elif chosen.rows is not None and all(fit.missing for fit in seen.fits):
        seen.commands = [command for fit in seen.fits for command in _both_ways(fit, chosen, seen.fields, path)]
    return seen


def _both_ways(fit: Fit, chosen: Format, names: Sequence[str], path: str) -> list[str]:
    """Queries or answers by themselves: golds, where they say which database they are for; predictions, or either."""
    as_golds = fit.command
    where = fit.store or (" --database DATABASES" if chosen.name in ("sql", "queries") else "")
    as_predictions = f"sensecheck {fit.question} {path} --gold GOLDS{where}"
    if chosen.name == "sql":
        return [as_golds if "db_id" in names else as_predictions]
    if chosen.name == "queries":
        return [as_predictions]
    if chosen.name == "spider2":
        return [f"sensecheck {fit.question} {path} --gold spider2lite_eval.jsonl --convention spider2"]
    if chosen.name in ("qald", "answer-sets", "spider2-gold"):
        return [as_golds]
    return list(dict.fromkeys([as_predictions, as_golds]))


# ---- how many


def _counted(source: Source, chosen: Format) -> tuple[list[Mapping[str, Any]], int, int]:
    """The first records, how many there are, and how many cannot be read."""
    if chosen.rows is not None:
        return _taken(chosen.rows(source))
    if chosen.name in TABLES and chosen.name not in ("json", "jsonl"):
        return _table(source, chosen.name)
    if chosen.name == "json" or Start.of(source).kind in ("array", "object"):
        gathered = records_of(source, "json")
        rows = [row for row in gathered.dictionaries() if row]
        return rows[:FIRST_RECORDS], len(gathered), len(gathered.bad)
    return _taken(_lines(source))


def _taken(rows: Iterator[Row]) -> tuple[list[Mapping[str, Any]], int, int]:
    first: list[Mapping[str, Any]] = []
    examples = bad = 0
    for _, row in rows:
        if isinstance(row, InputError):
            bad += 1
        elif row:  # an empty one is a blank line
            examples += 1
            if len(first) < FIRST_RECORDS:
                first.append(row)
    return first, examples, bad


def _lines(source: Source) -> Iterator[Row]:
    """JSON lines: the first are read, the others counted."""
    read = 0
    for block in source.blocks():
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if line.strip():
                read += 1
                yield number, object_of(line, source.name, number) if read <= FIRST_RECORDS else {"": None}


def _table(source: Source, name: str) -> tuple[list[Mapping[str, Any]], int, int]:
    reader = TableReader(source.path, format=name, skip_bad=True)  # type: ignore[arg-type]
    first: list[Mapping[str, Any]] = []
    for batch in reader:
        if not first:
            first += batch.frame.drop(batch.place).head(1).to_dicts()
    return first, sum(file.rows for file in reader.files), sum(file.bad for file in reader.files)


# ---- what fits


def _fit(
    asked: Question, chosen: Format, names: Sequence[str], rows: Sequence[Mapping[str, Any]], path: str
) -> Fit | None:
    """What the question finds among these fields; nothing where it is not for it."""
    if not chosen.fits(asked.name):
        return None
    if chosen.rows is None and chosen.name not in TABLES:  # the question reads it itself
        return Fit(asked.name, {}, [], f"sensecheck {asked.name} {path}")
    spelled = {name.strip().lower().replace(" ", "_"): name for name in reversed(names)} | {
        name: name for name in names
    }
    found: dict[str, str] = {}
    for ours, aliases in asked.fields.items():
        theirs = next((spelled[name] for name in aliases if name in spelled), None)
        if theirs is not None and theirs not in found.values():
            found[ours] = theirs
    missing = [group for group in asked.needs if not any(name in found for name in group)]
    if len(missing) > 1 or len(missing) == len(asked.needs):
        return None
    store = ""
    if "database" in asked.fields:
        store = " --database DATABASES" if "database" in found else " --graph GRAPH" if _is_sparql(found) else ""
    if "query" in found and "sentence" in found and _holds_sparql(rows, found["query"]):
        store = " --language sparql"
    command = f"sensecheck {asked.name} {path}{store}"
    if asked.needs[0] in missing:
        command = f"sensecheck {asked.name} PREDICTIONS --gold {path}{store}"
    elif missing:
        command = f"sensecheck {asked.name} {path} --gold GOLDS{store}"
    needed = list(dict.fromkeys(found[name] for group in asked.needs for name in group if name in found))
    return Fit(
        asked.name, found, [" or ".join(group) for group in missing], command, needed, asked.needs[0] in missing, store
    )


def _holds_sparql(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    texts = [row[name] for row in rows if isinstance(row.get(name), str)]
    return bool(texts) and "{" in texts[0]


def _is_sparql(found: Mapping[str, str]) -> bool:
    return any("sparql" in name.lower() for name in found.values())


def _best(fits: Sequence[Fit]) -> list[Fit]:
    """Those that lack nothing, or else the others; one whose fields are a part of another's is left out."""
    whole = [fit for fit in fits if not fit.missing]
    # Of a file that a question could measure, another may still take the golds.
    kept = [*whole, *(fit for fit in fits if fit.missing and (not whole or fit.is_gold))]
    return [
        fit
        for fit in kept
        if not any(set(fit.needed) < set(other.needed) and len(fit.fields) < len(other.fields) for other in kept)
    ]


# ---- files that are no predictions


def _beside(path: str) -> Look | None:
    """What other options take: databases, graphs, schemas, runs."""
    place = Path(path)
    if place.is_dir() and (place / "summary.json").is_file():
        command = f"sensecheck report {path}"
        return Look(
            path,
            "run",
            "a run of sensecheck: its measurements and figures",
            "it holds summary.json",
            commands=[command],
        )
    if not place.is_file():
        return None
    with place.open("rb") as file:
        head = file.read(4096)
    for at, magic, what in _DATABASES:
        if head[at:].startswith(magic):
            command = f"sensecheck correct PREDICTIONS --database {path}"
            return Look(path, "database", what, "it begins with its mark", commands=[command])
    if place.suffix.lower().lstrip(".") in _GRAPHS:
        command = f"sensecheck correct PREDICTIONS --graph {path}"
        return Look(path, "graph", "an RDF graph", f"its name ends in {place.suffix}", commands=[command])
    if b'"table_names_original"' in head or b'"column_names_original"' in head:
        command = f"sensecheck faithful PAIRS --schema {path}"
        return Look(
            path,
            "schema",
            "Spider's tables.json: schemas of databases",
            "it names tables and columns",
            commands=[command],
        )
    return None


def listed() -> pl.DataFrame:
    """Every format: its name, the questions it is for, what it is, and a command that reads it."""
    return pl.DataFrame(
        [
            {
                "format": one.name,
                "questions": ", ".join(one.questions) or "all",
                "what": one.what,
                "example": one.example,
            }
            for one in formats().values()
        ]
    )
