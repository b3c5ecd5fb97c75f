"""What a file is, how many examples it holds, which field is what and which command fits: nothing is measured."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sensecheck import instruments
from sensecheck.inputs.addresses import Fetching, faults_told, is_address, plain, told
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.field_names import found
from sensecheck.inputs.formats.label_sheets import LABELS
from sensecheck.inputs.formats.plain import TABLES
from sensecheck.inputs.formats.printed import refuse_printed
from sensecheck.inputs.formats.reading import object_of
from sensecheck.inputs.formats.registry import Format, Row, Selection, folder_format, formats, named, recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.gathering import laid_out, records_of
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
    commands: list[str]
    needed: list[str] = field(default_factory=list)
    """The file's fields that it cannot do without."""
    is_gold: bool = False
    """Whether all it lacks is what a system predicts."""


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
    notes: list[str] = field(default_factory=list)
    """What its reader says of it."""


def look(path: str, input_format: str = "auto") -> Look:
    """What one file is. A folder is what its files are, where it is one that is read whole."""
    if not is_address(path):
        return _looked(str(plain(path)), input_format)
    with Fetching() as fetch, faults_told():
        here = fetch(path)
        seen = _looked(here if isinstance(here, str) else here[0], input_format)
        return replace(seen, path=path, notes=list(map(told, seen.notes)), commands=list(map(told, seen.commands)))


def _looked(path: str, input_format: str) -> Look:
    beside = _beside(path)
    if beside is not None:
        return beside
    folder = folder_format(Path(path)) if Path(path).is_dir() else None
    if folder is not None:
        return _described(Source(path, path=Path(path)), path, folder.format, folder.reason)
    files = sources(path)
    seen = _seen(files[0], path, None if input_format == "auto" else named(input_format))
    for other in files[1:]:
        more = _seen(other, path, formats().get(seen.format))
        seen.examples = None if seen.examples is None or more.examples is None else seen.examples + more.examples
        seen.bad += more.bad
    return seen


def _seen(source: Source, path: str, chosen: Format | None) -> Look:
    start = Start.of(source)
    refuse_printed(start)
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
    counted = _counted(source, chosen)
    seen.examples, seen.bad, seen.notes = counted.records, counted.bad, counted.notes
    seen.fields = list(dict.fromkeys(name for row in counted.first for name in row))
    if chosen.questions == (LABELS,):
        seen.examples, seen.judgements = len(counted.ids), counted.records
        call = f"read_labels({json.dumps(path)}, format={json.dumps(chosen.name)})"
        reads = f"from sensecheck.inputs.label_sheets import read_labels; print({call})"
        seen.commands = [f"sensecheck agree RUN {shlex.quote(path)}", f"python -c {shlex.quote(reads)}"]
        return seen
    fits = [_fit(question(name), chosen, seen.fields, counted.first, shlex.quote(path)) for name in instruments.names()]
    seen.fits = sorted(_best([fit for fit in fits if fit is not None]), key=lambda fit: -len(fit.fields))
    seen.commands = list(dict.fromkeys(command for fit in seen.fits for command in fit.commands))
    if chosen.holds == "requests":
        seen.commands = [f"sensecheck calibrated REPLIES {shlex.quote(path)} --gold GOLDS"]
    return seen


# ---- how many


@dataclass
class Counted:
    """What was counted in a file."""

    first: list[Mapping[str, Any]] = field(default_factory=list)
    """The first records."""
    records: int = 0
    bad: int = 0
    ids: set[Any] = field(default_factory=set)
    """What the records of a label sheet are about."""
    notes: list[str] = field(default_factory=list)


def _counted(source: Source, chosen: Format) -> Counted:
    if chosen.rows is not None:
        return _taken(chosen.rows(source), with_ids=chosen.questions == (LABELS,))
    if chosen.is_read_here:
        selection = Selection()
        part = laid_out(source, chosen, skip_bad=True, selection=selection)
        counted = Counted(list(part.first(FIRST_RECORDS)), len(part) + len(part.unanswered), len(part.bad))
        counted.notes = selection.notes
        if part.unanswered:
            counted.notes.append(f"{len(part.unanswered):,} have nothing to score: {part.unanswered[0].why}")
        return counted
    if chosen.name in TABLES and chosen.name not in ("json", "jsonl"):
        return _table(source, chosen.name)
    if chosen.name == "json" or Start.of(source).kind in ("array", "object"):
        gathered = records_of(source, "json")
        rows = [row for row in gathered.dictionaries() if row]
        return Counted(rows[:FIRST_RECORDS], len(gathered), len(gathered.bad))
    return _taken(_lines(source))


def _taken(rows: Iterator[Row], *, with_ids: bool = False) -> Counted:
    counted = Counted()
    for _, row in rows:
        if isinstance(row, InputError):
            counted.bad += 1
        elif row:  # an empty one is a blank line
            counted.records += 1
            if len(counted.first) < FIRST_RECORDS:
                counted.first.append(row)
            if with_ids:
                counted.ids.add(row.get("id"))
    return counted


def _lines(source: Source) -> Iterator[Row]:
    """JSON lines: the first are read, the others counted."""
    read = 0
    for block in source.blocks():
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if line.strip():
                read += 1
                yield number, object_of(line, source.name, number) if read <= FIRST_RECORDS else {"": None}


def _table(source: Source, name: str) -> Counted:
    reader = TableReader(source.path, format=name, skip_bad=True)  # type: ignore[arg-type]
    counted = Counted()
    for batch in reader:
        if not counted.first:
            counted.first += batch.frame.drop(batch.place).head(1).to_dicts()
    counted.records = sum(file.rows for file in reader.files)
    counted.bad = sum(file.bad for file in reader.files)
    return counted


# ---- what fits


def _fit(
    asked: Question, chosen: Format, names: Sequence[str], rows: Sequence[Mapping[str, Any]], path: str
) -> Fit | None:
    """What the question finds among these fields; nothing where it is not for it."""
    if not chosen.fits(asked.name):
        return None
    if not chosen.is_read_here and chosen.name not in TABLES:  # the question reads it itself
        return Fit(asked.name, {}, [], [f"sensecheck {asked.name} {path}"])
    fields: dict[str, str] = {}
    for ours, aliases in asked.fields.items():
        theirs = found(aliases, names)
        if theirs is not None and theirs not in fields.values():
            fields[ours] = theirs
    if asked.fields_of is not None:
        fields |= asked.fields_of(rows)
    missing = [group for group in asked.needs if not any(name in fields for name in group)]
    if chosen.records is not None or chosen.log is not None:
        if asked.name == "calibrated":  # a verdict alone is measured, too
            judged = "correct" in fields or chosen.name not in ("replies", "logprobs")
            return Fit(asked.name, fields, [], [f"sensecheck calibrated {path}{'' if judged else ' --gold GOLDS'}"])
        if fields.get("query") == "gold":  # an answer, and no query that a sentence says
            return None
    if len(missing) > 1 or len(missing) == len(asked.needs):
        # Arrays are known by their shapes, too: the question itself says what it makes of them.
        return None if chosen.table is None else Fit(asked.name, {}, [], [f"sensecheck {asked.name} {path}"])
    needed = list(dict.fromkeys(fields[name] for group in asked.needs for name in group if name in fields))
    is_gold = asked.needs[0] in missing
    options = chosen.options if chosen.options and missing else _options(asked, fields, rows)
    as_predictions = f"sensecheck {asked.name} {path} --gold GOLDS{options}"
    as_golds = f"sensecheck {asked.name} PREDICTIONS --gold {path}{options}"
    if not missing:
        commands = [f"sensecheck {asked.name} {path}{options}"]
    elif not chosen.is_read_here:
        commands = [as_golds if is_gold else as_predictions]
    else:
        # Queries by themselves: those that name their database are golds.
        holds = "golds" if chosen.name == "sql" and "database" in fields else chosen.holds
        holds = "predictions" if chosen.name == "sql" and holds == "either" else holds
        one_way = {"predictions": [as_predictions], "golds": [as_golds]}
        commands = one_way.get(holds, [as_predictions, as_golds])
    return Fit(asked.name, fields, [" or ".join(group) for group in missing], commands, needed, is_gold)


def _options(asked: Question, fields: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> str:
    """What a question needs besides, by what the fields are called and hold."""
    if "database" in asked.fields:
        return " --database DATABASES" if "database" in fields else " --graph GRAPH" if _is_sparql(fields) else ""
    queries = "query" in fields and "sentence" in fields and _holds_sparql(rows, fields["query"])
    return " --language sparql" if queries else ""


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
        command = f"sensecheck report {shlex.quote(path)}"
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
            command = f"sensecheck correct PREDICTIONS --database {shlex.quote(path)}"
            return Look(path, "database", what, "it begins with its mark", commands=[command])
    if place.suffix.lower().lstrip(".") in _GRAPHS:
        command = f"sensecheck correct PREDICTIONS --graph {shlex.quote(path)}"
        return Look(path, "graph", "an RDF graph", f"its name ends in {place.suffix}", commands=[command])
    if b'"table_names_original"' in head or b'"column_names_original"' in head:
        command = f"sensecheck faithful PAIRS --schema {shlex.quote(path)}"
        return Look(
            path,
            "schema",
            "Spider's tables.json: schemas of databases",
            "it names tables and columns",
            commands=[command],
        )
    return None
