"""From what a user names to what a question reads: files of any layout become records, golds are joined to them.

Files that a question reads itself (tables, and its own formats) are left to it, unless golds stand in another file.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.inputs import fingerprints
from sensecheck.inputs.arrays import is_array, with_plain_columns
from sensecheck.inputs.errors import BadRecord, InputError, Unanswered, shown
from sensecheck.inputs.formats.plain import TABLES
from sensecheck.inputs.formats.printed import refuse_printed
from sensecheck.inputs.formats.reading import document, json_records, not_an_object, objects
from sensecheck.inputs.formats.registry import (
    AUTO,
    Format,
    Row,
    Selection,
    folder_format,
    named,
    recognised,
)
from sensecheck.inputs.formats.replies import CUSTOM_ID
from sensecheck.inputs.formats.start import FIRST_OBJECTS, MOST_BYTES, Start
from sensecheck.inputs.gathered import GOLD_FILE, Gathered
from sensecheck.inputs.half_characters import whole_value
from sensecheck.inputs.joining import ASIDE, ID_NAMES, LINE, SAMPLE_NAMES, Key, Pairs, merged, paired
from sensecheck.inputs.kept_rows import kept
from sensecheck.inputs.model_outputs import GENERATED, TOKEN_LOGPROBS, held, table_of
from sensecheck.inputs.needs import Judged, Needs
from sensecheck.inputs.objects import are_objects, plain_objects
from sensecheck.inputs.opening import Source, is_path, names_files, sources
from sensecheck.inputs.places import PLACE, RECORD
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableReader, detect_table_format, kind_and_value

_ENDING = re.compile(r"\.(?:csv|tsv|txt|jsonl?|parquet|arrow|npy|npz|sql|gz|zst)\Z", re.IGNORECASE)


def gathered(
    data: Any,
    needs: Needs,
    *,
    input_format: str = AUTO,
    gold: Any = None,
    on: Key | None = None,
    skip_bad: bool = False,
    samples: bool = False,
    selection: Selection | None = None,
) -> Any:
    """The data as the question reads them: as they are, or gathered here.

    samples: several predictions of one key are samples of one example.
    selection: what is read of a log that holds several things under one name.
    """
    selection = Selection(needs.question) if selection is None else selection
    if on is not None and gold is None:
        raise InputError(
            "--on (on=) says by which field golds are joined: it needs --gold FILE (gold=)", reason=Reason.BAD_OPTION
        )
    chosen = None if input_format == AUTO else named(input_format)
    if chosen is not None and not chosen.fits(needs.question):
        raise InputError(
            field="input_format", expected=f"a format that {needs.question} reads",
            got=f"{chosen.name}, which is for {' and '.join(chosen.questions)}",
            hint="`sensecheck formats` lists them.", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    if all(is_path(one) and os.fspath(one) == "-" for one in (data, gold)):
        raise InputError("standard input can be predictions or golds, not both", reason=Reason.GIVEN_TWICE)
    data = _lookable(data)
    if _are_gold_texts(gold) and not needs.texts_are_data:
        gold = [{"gold": text} for text in gold]
    if isinstance(data, Iterator) and not names_files(data):
        data = _listed_if_known(data, needs)
    forced = chosen is not None and chosen.name in TABLES and chosen.name not in needs.told
    predictions = _records(data, needs, chosen, skip_bad, selection, always=gold is not None or forced)
    _refuse_idle(selection)
    if predictions is None:
        is_list = isinstance(data, list | tuple) and any(not isinstance(item, Mapping) for item in data)
        return plain_objects(data) if is_list and are_objects(data) else with_plain_columns(data)
    if gold is not None:
        gold = {"label": gold} if is_array(gold) else gold
        of_golds = _also_of(gold, data, chosen, needs)
        golds = _records(_lookable(gold), needs, of_golds, False, Selection(needs.question), always=True)
        assert golds is not None
        together = _joined(predictions, golds, needs, on, samples)
    else:
        together = predictions.without_blanks()
    _counted(together)
    together.notes[:0] = selection.notes
    together.method = {**selection.method, **together.method}
    return together


def _are_gold_texts(gold: Any) -> bool:
    """A list of texts is golds, one for each prediction, unless one of them is a file or looks like the name of one."""
    if not isinstance(gold, list | tuple) or not gold or not all(isinstance(one, str) for one in gold):
        return False
    return not any(_ENDING.search(one) or Path(one).exists() for one in map(str.strip, gold) if len(one) < 256)


def _listed_if_known(data: Iterator[Any], needs: Needs) -> Any:
    """Records that come one after the other: as a list where they are what some program writes."""
    first = list(islice(data, FIRST_OBJECTS))
    known = are_objects(first) and recognised(Start.of_objects(plain_objects(first)), needs.question)
    return [*first, *data] if known else chain(first, data)


def _refuse_idle(selection: Selection) -> None:
    """A figure must not look as if a choice had been heeded that the input does not know."""
    for what, given in (("filter", selection.filter), ("scorer", selection.scorer)):
        if given is not None and what not in selection.used:
            raise InputError(
                f"--{what} {given} ({what}=) has no meaning for this input: it is no log with {what}s",
                hint="`sensecheck look FILE` says what a file holds.", reason=Reason.BAD_OPTION,
            )  # fmt: skip


def _also_of(gold: Any, data: Any, chosen: Format | None, needs: Needs) -> Format | None:
    """The format that was named for predictions, where golds end like them and nothing else is known of them."""
    if chosen is None or not chosen.is_read_here or not names_files(gold) or not names_files(data):
        return None
    ours, theirs = ({Path(source.name).suffix.lstrip(".") for source in sources(one)} for one in (gold, data))
    known = any(_layout(source, needs) is not None for source in sources(gold))
    return chosen if (ours == theirs or ours <= set(chosen.endings)) and not known else None


# ---- one side


def _lookable(data: Any) -> Any:
    """Standard input as a stream whose beginning can be looked at without being used up."""
    if isinstance(data, list | tuple) and not hasattr(data, "_fields"):
        return [_lookable(one) if is_path(one) else one for one in data]
    if not is_path(data):
        return data
    if os.fspath(data) == "-":
        return _Looked("<stdin>", sys.stdin.buffer)
    try:
        special = stat.S_ISFIFO(Path(data).stat().st_mode)
    except (OSError, ValueError):
        return data
    # What a shell puts in the place of `<(command)`: it can be read only once.
    return _Looked(os.fspath(data), Path(data).open("rb")) if special else data


class _Looked(io.BufferedReader):
    """A stream whose first megabyte can be looked at, however small the pieces are in which it comes."""

    def __init__(self, name: str, stream: Any) -> None:
        super().__init__(_Begun(stream), MOST_BYTES)
        self._called = name

    @property
    def name(self) -> str:
        return self._called


class _Begun(io.RawIOBase):
    """A stream of which the beginning was read already."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._first: bytes | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._first is None:
            self._first = self._stream.read(MOST_BYTES) or b""
        piece = self._first[: len(buffer)] if self._first else self._stream.read(len(buffer)) or b""
        self._first = self._first[len(piece) :] if self._first else b""
        buffer[: len(piece)] = piece
        return len(piece)


def _records(
    data: Any, needs: Needs, chosen: Format | None, skip_bad: bool, selection: Selection, *, always: bool
) -> Gathered | None:
    """The records of the data; nothing where the question reads them itself, unless that must be `always`."""
    if not names_files(data) or (needs.texts_are_data and _is_texts(data)):
        if (held := _held_records(data, needs, chosen, skip_bad, selection)) is not None:
            return held
        return _in_memory(with_plain_columns(data), needs, skip_bad) if always else None
    if (folder := _folder(data, needs.question)) is not None:
        return _read(*folder, needs, skip_bad, selection)
    files = sources(data)
    layouts = [chosen or layout for layout in _layouts(files, needs)]
    if not always and not any(layout is not None and layout.is_read_here for layout in layouts):
        return None
    selection.together = len(files)
    parts = [_read(source, layout, needs, skip_bad, selection) for source, layout in zip(files, layouts, strict=True)]
    _refuse_other_kinds(parts, layouts)
    asked = [part for part, layout in zip(parts, layouts, strict=True) if layout and layout.holds == "requests"]
    replies = [part for part in parts if not any(part is one for one in asked)]
    if asked and not replies and needs.question:
        raise InputError(
            "holds what a batch asked, and no replies", path=asked[0].path, reason=Reason.NO_INPUT,
            hint="Give the file of replies as well: sensecheck calibrated REPLIES REQUESTS --gold GOLDS.",
        )  # fmt: skip
    if not asked or not replies:
        return parts[0] if len(parts) == 1 else _concatenated(parts)
    return _with_requests(replies[0] if len(replies) == 1 else _concatenated(replies), asked)


def _refuse_other_kinds(parts: Sequence[Gathered], layouts: Sequence[Format | None]) -> None:
    """What a host or a server writes is not put together with something else."""
    kinds = {
        "replies" if part.format == "logprobs" else part.format: part.path
        for part, layout in zip(parts, layouts, strict=True)
        if layout is None or layout.holds != "requests"
    }
    if len(kinds) > 1 and any(part.may_lack for part in parts):
        told = ", ".join(f"{path} is read as {kind}" for kind, path in kinds.items())
        raise InputError(
            expected="files of one kind", got=told, hint="Read them in separate runs.", reason=Reason.MIXED
        )


def _with_requests(replies: Gathered, asked: Sequence[Gathered]) -> Gathered:
    """Replies with what was asked; a request without a reply has nothing to score."""
    requests = {str(row[CUSTOM_ID]): row for part in asked for row in part.dictionaries()}
    rows = replies.dictionaries()
    replies.rows = [{**requests.get(str(row.get(CUSTOM_ID)), {}), **row} for row in rows]
    there = {str(row.get(CUSTOM_ID)) for row in [*rows, *replies.unanswered]}
    missing = [row for name, row in requests.items() if name not in there]
    replies.unanswered += [Unanswered(row, "no reply") for row in missing]
    replies.inputs += [{**one, "role": "requests"} for part in asked for one in part.inputs]
    replies.files += [path for part in asked for path in part.files]
    return replies


def is_folder_input(data: Any, question: str) -> bool:
    """Whether the data are a folder that is read whole."""
    return _folder(data, question) is not None


def _folder(data: Any, question: str) -> tuple[Source, Format] | None:
    """A folder that is one input."""
    if not is_path(data) or not Path(data).is_dir():
        return None
    found = folder_format(Path(data), question)
    return None if found is None else (Source(os.fspath(data), path=Path(data)), found.format)


def _is_texts(data: Any) -> bool:
    return isinstance(data, list | tuple) and any(isinstance(one, str) for one in data)


def _layouts(files: Sequence[Source], needs: Needs) -> list[Format | None]:
    """Of each file. Files of one input are of one kind: where some say which, others that end alike are of it too."""
    layouts = [_layout(source, needs) for source in files]
    known = {layout.name: layout for layout in layouts if layout is not None and layout.is_read_here}
    if len(known) == 1 and len({Path(source.name).suffix for source in files}) == 1:
        (only,) = known.values()
        layouts = [layout or only for layout in layouts]
    return layouts


def _layout(source: Source, needs: Needs) -> Format | None:
    start = _start(source)
    if start is not None:
        refuse_printed(start)
    found = None if start is None else recognised(start, needs.question)
    return None if found is None else found.format


def _start(source: Source) -> Start | None:
    if source.path is not None:
        return Start.of(source)
    stream = source.stream
    return Start.of_bytes(source.name, stream.peek(MOST_BYTES)) if isinstance(stream, io.BufferedReader) else None


def _read(source: Source, layout: Format | None, needs: Needs, skip_bad: bool, selection: Selection) -> Gathered:
    name = None if layout is None else layout.name
    if layout is not None and layout.is_read_here:
        part = laid_out(source, layout, skip_bad, selection)
    elif layout is not None and name not in TABLES:
        raise InputError(
            f"is read as {name}, to which no golds can be joined", path=source.name,
            hint="Leave out --gold (gold=): what is right stands in the file itself.", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    elif needs.nested:
        part = _plain(source, name, skip_bad)
    else:
        part = _table(source, name or AUTO, skip_bad)
    if source.path is not None:
        part.files = sorted(source.path.iterdir()) if source.path.is_dir() else [source.path]
    return part


def laid_out(source: Source, layout: Format, skip_bad: bool, selection: Selection) -> Gathered:
    """The records of a file of a format that is read here."""
    if layout.table is not None:
        frame = layout.table(source, selection)
        inputs = [_input(source, layout.name, len(frame), 0)]
        # What a model wrote without anyone saying whether it was right is measured as far as it goes.
        return Gathered(frame, source.name, format=layout.name, inputs=inputs, may_lack=TOKEN_LOGPROBS in frame.columns)
    place = PLACE if layout.counts_lines else RECORD
    if layout.records is not None:
        place, objects = json_records(source, _start(source))
        rows = layout.records(objects, source.name, selection)
    elif layout.log is not None:
        rows = layout.log(source, selection)
    else:
        assert layout.rows is not None
        rows = layout.rows(source)
    part = _listed(rows, source, layout.name, place, skip_bad)
    return part if layout.rows is not None else _evened(part)


def _listed(rows: Iterator[Row], source: Source, format: str, place: str, skip_bad: bool) -> Gathered:
    part = _kept(rows, source.name, format, place, skip_bad)
    part.inputs = [_input(source, format, len(part), len(part.bad))]
    return part


def _kept(rows: Iterator[Row], path: str, format: str, place: str, skip_bad: bool) -> Gathered:
    part = Gathered([], path, place, [], format)
    places = array("q")

    def good() -> Iterator[Mapping[str, Any]]:
        for number, row in rows:
            if isinstance(row, InputError):
                if not skip_bad:
                    raise row
                part.bad.append(row.as_bad_record())
            elif isinstance(row, Unanswered):
                part.unanswered.append(Unanswered(whole_value(dict(row)), row.why, number, len(places)))
            else:
                places.append(number)
                yield whole_value(row)

    part.rows, part.places = kept(good()), places
    return part


def _evened(part: Gathered) -> Gathered:
    """Fields of logs may be numbers in one record and texts in another: such a field is one of texts."""
    part.may_lack = True
    kinds: dict[str, set[type]] = {}
    for row in part.dictionaries():
        for name, value in row.items():
            if isinstance(value, str | int | float):
                kinds.setdefault(name, set()).add(type(value))
    mixed = {name for name, held in kinds.items() if len(held) > 1 and held != {int, float}}
    if mixed:
        part.rows = kept(
            {n: str(v) if n in mixed and isinstance(v, int | float) else v for n, v in row.items()}
            for row in part.dictionaries()
        )
    return part


def _held_records(
    data: Any, needs: Needs, chosen: Format | None, skip_bad: bool, selection: Selection
) -> Gathered | None:
    """Records in memory that are what some program writes: replies of servers, logs of hosts, outputs of models."""
    outputs = held(data) if needs.question == "calibrated" else None
    if outputs is not None:
        notes: list[str] = []
        frame, kind = table_of(outputs, "", notes)
        selection.notes += notes
        there = {"path": "(memory)", "sha256": None, "bytes": 0, "format": kind, "rows": len(frame), "bad": 0}
        return Gathered(frame, format=kind, inputs=[there], may_lack=kind == GENERATED)
    if not are_objects(data):
        return None
    layout = chosen
    if layout is None:
        found = recognised(Start.of_objects(plain_objects(data, FIRST_OBJECTS)), needs.question)
        layout = None if found is None else found.format
    if layout is None or layout.records is None:
        return None
    rows = layout.records(enumerate(plain_objects(data), 1), "", selection)
    return _evened(_kept(rows, "", layout.name, RECORD, skip_bad))


def records_of(source: Source, format: str) -> Gathered:
    """The records of one file that is a table, as they are; bad ones are left out."""
    return _plain(source, format, skip_bad=True)


def _plain(source: Source, name: str | None, skip_bad: bool) -> Gathered:
    """A table whose records stay as they are, however their values are nested."""
    start = _start(source)
    kind = name if name in ("json", "jsonl") else None
    if kind is None and (name is None or name not in TABLES):
        detected = "jsonl" if start is None else detect_table_format(start.data, source.name).name
        kind = "json" if start is not None and start.is_one_object and detected == "jsonl" else detected
    if kind == "json":
        value = document(source, "a JSON document of records")
        values = enumerate(_rows_of(value, source.name), 1)
        rows = (
            (at, row if isinstance(row, dict) else not_an_object(row, source.name, record=at)) for at, row in values
        )
        return _listed(rows, source, "json", RECORD, skip_bad)
    if kind == "jsonl":
        return _listed(objects(source), source, "jsonl", PLACE, skip_bad)
    return _table(source, name or AUTO, skip_bad)


def _rows_of(value: Any, path: str) -> list[Any]:
    """The records in a JSON document: a list of them, one list among other members, or records by id."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and value:
        lists = [member for member in value.values() if isinstance(member, list)]
        if len(lists) == 1 and all(isinstance(row, dict) for row in lists[0]):
            return lists[0]
        if all(isinstance(member, dict) for member in value.values()):
            return [{"id": key, **member} for key, member in value.items()]
        return [value]
    raise InputError(
        path=path, expected="a JSON list of records, or records by id", got=kind_and_value(value),
        hint="`sensecheck look FILE` says what a file holds.", reason=Reason.NOT_A_LIST,
    )  # fmt: skip


def _table(data: Any, format: str, skip_bad: bool) -> Gathered:
    given = data.path or data.stream if isinstance(data, Source) else data
    reader = TableReader(given, format=format if format in TABLES else AUTO, skip_bad=skip_bad)  # type: ignore[arg-type]
    frames: list[pl.DataFrame] = []
    place = RECORD
    for batch in reader:
        place = batch.place
        frames.append(batch.frame)
    bad = [record for file in reader.files for record in file.bad_records]
    path = data.name if isinstance(data, Source) else ""
    if not frames:
        return Gathered([], path, bad=bad, inputs=reader.inputs() if path else [])
    frame = pl.concat(frames, how="diagonal_relaxed")
    labels = [one for file in reader.files for one in file.class_labels]
    return Gathered(
        frame.drop(place),
        path,
        place,
        frame[place].to_list(),
        reader.files[0].format,
        reader.inputs() if path else [],
        bad,
        class_labels=labels,
    )


def _in_memory(data: Any, needs: Needs, skip_bad: bool) -> Gathered:
    records = isinstance(data, Sequence) and not isinstance(data, str | bytes)
    if needs.nested and records and all(isinstance(row, Mapping) for row in data):
        return Gathered([whole_value(row) for row in data])
    return _table(data, AUTO, skip_bad)


def _concatenated(parts: Sequence[Gathered]) -> Gathered:
    """Several files one after the other; their records are numbered over all of them."""
    frames = [part.rows for part in parts if isinstance(part.rows, pl.DataFrame)]
    if len(frames) == len(parts):
        rows: Any = pl.concat(frames, how="diagonal_relaxed")
    else:
        rows = kept(row for part in parts for row in part.dictionaries())
    together = Gathered(
        rows,
        format=parts[0].format,
        inputs=[one for part in parts for one in part.inputs],
        bad=[one for part in parts for one in part.bad],
        unanswered=_one_after_another(parts),
        files=[one for part in parts for one in part.files],
        class_labels=parts[0].class_labels,
        may_lack=all(part.may_lack for part in parts),
    )
    return _evened(together) if together.may_lack and not isinstance(rows, pl.DataFrame) else together


def _one_after_another(parts: Sequence[Gathered]) -> list[Unanswered]:
    """What has nothing to score, in its place among the records of all parts."""
    everything: list[Unanswered] = []
    before = 0
    for part in parts:
        everything += [Unanswered(one, one.why, one.place, before + (one.before or 0)) for one in part.unanswered]
        before += len(part)
    return everything


def _input(source: Source, format: str, rows: int, bad: int) -> dict[str, Any]:
    return {
        "path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes, "format": format, "rows": rows,
        "bad": bad,
    }  # fmt: skip


# ---- predictions and golds


def _joined(predictions: Gathered, golds: Gathered, needs: Needs, on: Key | None, samples: bool) -> Gathered:
    # Several answers to one request, or several epochs, say so themselves.
    samples = samples or (predictions.may_lack and any(name in predictions.names for name in SAMPLE_NAMES))
    pairs = paired(predictions.with_unanswered(), golds, on, samples=samples)
    unplaced = sum(1 for one in predictions.unanswered if one.before is None)
    if pairs.on == LINE and unplaced:
        raise InputError(
            f"{unplaced:,} requests have no reply, and without a key nobody knows which golds are theirs",
            path=predictions.path or None, hint="Give the golds a key: --on custom_id.", reason=Reason.KEYS_DIFFER,
        )  # fmt: skip
    if pairs.on == LINE and predictions.bad:
        first = predictions.bad[0]
        raise InputError(
            f"{len(predictions.bad):,} records of the predictions cannot be read, and without a key nobody knows which "
            f"golds are theirs: {first.message}", path=predictions.path or None,
            hint="Mend them, or give both files a key: where golds are joined by place, none can be left out.",
            reason=Reason.UNEQUAL_CORPORA,
        )  # fmt: skip
    together = _answered(merged(pairs, renamed=needs.predicted, decided=needs.decided), pairs)
    together.unanswered = predictions.unanswered
    together.inputs = [*predictions.inputs, *({**one, "role": "gold"} for one in golds.inputs)]
    together.files = [*predictions.files, *golds.files]
    together.method = {GOLD_FILE: _content(golds), "on": pairs.on}
    by = "line by line" if pairs.on == "line" else f"by {pairs.on}"
    notes = [f"golds from {_named(golds)}, joined {by}"]
    for reason in (Reason.NO_GOLD_FOR_KEY, Reason.NO_PREDICTION_FOR_KEY):
        left = [one.id for one in pairs.lost if one.reason == str(reason)]
        if left:
            what = "predictions without a gold" if reason == Reason.NO_GOLD_FOR_KEY else "golds without a prediction"
            names = ", ".join(shown(name, 40) for name in left[:5])
            notes.append(f"{len(left):,} {what}, unscored: {names}{', …' if len(left) > 5 else ''}")
    together.notes = notes
    if needs.judged is not None and predictions.format not in needs.own:
        _judge(together, predictions.names, needs.judged)
    return together


def _answered(together: Gathered, pairs: Pairs) -> Gathered:
    """Without the rows of examples that have nothing to score."""
    answered = [at for at, row in enumerate(pairs.prediction_rows) if not pairs.predictions.is_unanswered(row)]
    if len(answered) == len(together):
        return together
    rows, places = together.dictionaries(), [together.place_of(at) for at in answered]
    return replace(together, rows=kept(rows[at] for at in answered), places=places)


def _counted(part: Gathered) -> Gathered:
    """With what was asked and has nothing to score among what is unscored."""
    for one in part.unanswered:
        name = next((str(one[key]) for key in ID_NAMES if one.get(key) is not None), "")
        part.bad.append(BadRecord(part.path, one.place, one.why, "", name))
    part.unanswered = []
    return part


def _named(golds: Gathered) -> str:
    if golds.path or not golds.files:
        return golds.path or "memory"
    more = len(golds.files) - 1
    return f"{golds.files[0]}" + (f" and {more} more" if more else "")


def _content(golds: Gathered) -> str:
    """What a signature says of the golds: another file is another yardstick."""
    digests = [one.get("sha256") for one in golds.inputs]
    if digests and None not in digests:
        return ",".join(str(digest)[:12] for digest in digests)
    return fingerprints.of_value(golds.rows.to_dicts() if isinstance(golds.rows, pl.DataFrame) else list(golds.rows))


def _as_text(frame: pl.DataFrame, name: str) -> pl.Expr:
    dtype = frame[name].dtype
    if isinstance(dtype, pl.List) and not dtype.inner.is_nested():
        return pl.col(name).list.eval(pl.element().cast(pl.String).str.strip_chars())
    if dtype.is_nested() or dtype == pl.Binary:
        raise InputError(
            field=name, expected="a text, a number or a list of them", got=kind_and_value(frame[name][0]),
            hint="An answer is right where it is the gold's text, or one of several. Else bring `correct`.",
            reason=Reason.NOT_A_TEXT,
        )  # fmt: skip
    return pl.col(name).cast(pl.String).str.strip_chars()


def _judge(together: Gathered, theirs: Sequence[str], judged: Judged) -> None:
    """Add the mark that says whether a predicted text is its gold's, where neither file brings one."""
    names = together.names
    mark = judged.marks[0]
    text = next((name for name in judged.texts if name in theirs and name in names), None)
    gold = next((name for name in judged.golds if name in names and name not in theirs), None)
    given = [name for name in judged.marks if name in names and name not in theirs and name != gold]
    if text is None or gold is None or given:  # golds may bring the mark itself
        return
    frame = together.rows if isinstance(together.rows, pl.DataFrame) else pl.DataFrame(together.dictionaries())
    said, right = pl.col(text), pl.col(gold)
    if not (frame[text].dtype.is_numeric() and frame[gold].dtype.is_numeric()):
        said, right = (_as_text(frame, name) for name in (text, gold))
    is_right = right.list.contains(said) if isinstance(frame[gold].dtype, pl.List) else said == right
    aside = {name: f"{ASIDE}{name}" for name in judged.marks if name in theirs and name in frame.columns}
    judgement = frame.select(is_right.alias(mark)).to_series()
    together.rows = frame.rename(aside).with_columns(judgement)
    together.method["correct"] = f"{text}={gold}"
    together.notes.append(f"an answer is right where {text} equals {gold}, but for white space at the ends")
