"""Responses as programs for dialogue and generation keep them: several to a query, for `diverse`."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.formats.reading import document, lines, objects
from sensecheck.inputs.formats.registry import Format, Row
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import kind_and_value

CONVERSATION = "conversation"
"""The field that says which replies belong to one conversation."""

_RESPONSES = ("hypotheses", "hypothesis", "responses", "predictions", "generations", "outputs")
"""Names of the column of responses in a table, as `diverse` knows them."""

Fields = Mapping[str, Any]
Where = Mapping[str, Any]
"""The file and the line or record, as an `InputError` takes them."""


# ---- ParlAI

_LABELS = ("eval_labels", "labels")
_OF_A_MODEL = ("beam_texts", "text_candidates")
"""What only a model's act has."""
_NOT_KEPT = "<not serializable>"
_EPISODES = re.compile(r"\s*\[\s*\[\s*\[\s*\{")
_FIRST_LINES = 5


def _is_parlai(start: Start) -> str:
    if start.kind == "array":
        held = _EPISODES.match(start.text) and '"text"' in start.text and '"episode_done"' in start.text
        return "it is a list of episodes of acts" if held else ""
    if start.kind not in ("lines", "object") or '"dialog"' not in start.text:
        return ""
    rows = [start.first, *(_object(line) for line in start.lines[1:_FIRST_LINES])]
    return "its lines hold a dialog of acts" if any(_is_dialog(row.get("dialog")) for row in rows) else ""


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_dialog(value: Any) -> bool:
    """Turns of acts, each with an id or a text; the acts may stand for the turns."""
    if not isinstance(value, list) or not value:
        return False
    acts = value[0] if isinstance(value[0], list) else value[:1]
    return bool(acts) and all(isinstance(act, dict) and ("text" in act or "episode_done" in act) for act in acts)


def _parlai(source: Source) -> Iterator[Row]:
    """A record for each reply of a model: the other speaker's text before it, and what the model could have said."""
    listed = _begins_a_list(source)
    for number, row in _episodes(source) if listed else objects(source):
        where = {"path": source.name, "record" if listed else "line": number}
        if isinstance(row, InputError):
            yield number, row
        elif row.get("dialog") is None and ("metadata" in row or "opt" in row):
            continue  # how the log was made
        else:
            try:
                replies = list(_replies(row, number, where))
            except InputError as error:
                yield number, error
            else:
                yield from ((number, reply) for reply in replies)


def _begins_a_list(source: Source) -> bool:
    """Whether the conversations stand in one list, as ParlAI wrote them before 2020, and not on lines."""
    if source.path is not None:
        return Start.of(source).kind == "array"
    stream = source.stream
    return isinstance(stream, io.BufferedReader) and Start.of_bytes("", stream.peek(1 << 16)).kind == "array"


def _episodes(source: Source) -> Iterator[Row]:
    value = document(source, "a JSON list of episodes")
    for number, episode in enumerate(value if isinstance(value, list) else [value], 1):
        yield number, episode if isinstance(episode, dict) else {"dialog": episode}


def _replies(row: Fields, number: int, where: Where) -> Iterator[Fields]:
    acts = _acts(row, where)
    heard: Fields = {}
    context = row.get("context")
    if isinstance(context, list) and context and isinstance(context[-1], dict):
        # The last of them is what the first speaker was given.
        heard = context[-1]
    about = {
        name: value
        for name, value in row.items()
        if isinstance(value, str | int | float) and name not in ("references", "reference", "groups")
    }
    is_reply = _marks_of_replies(acts, of_two=all(isinstance(turn, list) and len(turn) == 2 for turn in row["dialog"]))
    for place, (act, reply) in enumerate(zip(acts, is_reply, strict=True), 1):
        if reply:
            references = _references(heard, where)
            yield {
                **about,
                "id": f"{number}:{place}",
                "query": _text(heard.get("text")),
                "hypotheses": _hypotheses(act, where),
                **({"references": references} if references else {}),
                CONVERSATION: number,
                "agent": _text(act.get("id")),
            }
        heard = act


def _acts(row: Fields, where: Where) -> list[Fields]:
    turns = row.get("dialog")
    if not isinstance(turns, list):
        raise _wrong(where, "dialog", "a list of turns, each a list of acts", turns)
    acts = [act for turn in turns for act in (turn if isinstance(turn, list) else [turn])]
    for act in acts:
        if not isinstance(act, dict):
            raise _wrong(where, "dialog", "acts with an id and a text", act)
    return acts


def _marks_of_replies(acts: Sequence[Fields], *, of_two: bool) -> list[bool]:
    """Which acts are a model's.

    Those with beams, where any have them: others were said by people, or given to begin with. Else what follows the
    acts of a teacher, which bring labels. Else everything that a model says to itself (speakers of one name), and of
    turns of two the second, which answers the first. Else whatever was said to someone.
    """
    own = [any(isinstance(act.get(name), list) and act[name] for name in _OF_A_MODEL) for act in acts]
    if any(own):
        return own
    taught = [any(isinstance(act.get(name), list) and act[name] for name in _LABELS) for act in acts]
    if any(taught):
        return [False, *(before and not mark for before, mark in pairwise(taught))]
    speakers = {re.sub(r"[_\W]*\d+$", "", _text(act.get("id"))) for act in acts}
    if of_two and len(speakers) > 1:
        return [place % 2 == 1 for place in range(len(acts))]
    return [place > 0 for place in range(len(acts))]


def _hypotheses(act: Fields, where: Where) -> list[str]:
    beams = act.get("beam_texts")
    if isinstance(beams, list) and beams:
        texts = [beam[0] if isinstance(beam, list) and beam else beam for beam in beams]
        for text, beam in zip(texts, beams, strict=True):
            if not isinstance(text, str):
                raise _wrong(where, "beam_texts", "texts with their scores", beam)
        return texts
    text = act.get("text")
    if not isinstance(text, str):
        raise _wrong(where, "text", "what the model said", text)
    return [text]


def _references(act: Fields, where: Where) -> list[str]:
    """The labels of a teacher's act, empty ones left out: nobody would say them."""
    for name in _LABELS:
        labels = act.get(name)
        if isinstance(labels, str):
            labels = [] if labels == _NOT_KEPT else [labels]
        if labels is None:
            continue
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise _wrong(where, name, "a list of texts", labels)
        if any(label.strip() for label in labels):
            return [label for label in labels if label.strip()]
    return []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _wrong(where: Where, field: str, expected: str, got: Any) -> InputError:
    return InputError(
        **where, field=field, expected=expected, got=kind_and_value(got), hint=SKIP_HINT, reason=Reason.WRONG_TYPE
    )


# ---- NoveltyBench


def _is_noveltybench(start: Start) -> str:
    row = start.first if start.kind == "lines" else {}
    generations = row.get("generations")
    held = isinstance(generations, list) and isinstance(row.get("prompt"), str)
    named_otherwise = any(name in row for name in ("query", *_RESPONSES) if name != "generations")
    if not held or named_otherwise or not all(isinstance(text, str) for text in generations or ()):
        return ""
    with_classes = " and the partition of them" if isinstance(row.get("partition"), list) else ""
    return f"its lines hold a prompt, its generations{with_classes}"


def _noveltybench(source: Source) -> Iterator[Row]:
    for number, row in objects(source):
        yield number, row if isinstance(row, InputError) else _generated(row, {"path": source.name, "line": number})


def _generated(row: Fields, where: Where) -> Fields | InputError:
    texts = row.get("generations")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return _wrong(where, "generations", "a list of texts", texts)
    if not isinstance(row.get("prompt"), str):
        return _wrong(where, "prompt", "a text", row.get("prompt"))
    return {**row, "query": row["prompt"], "hypotheses": texts}


# ---- a query and its responses on a line


_NAME = re.compile(r"[\w?$@#][\w .()/#-]{0,39}")
_NUMBER = re.compile(r"\s*[-+]?[\d.,]+%?\s*")
_EOS = ("</s>", "<EOS>", "<eos>", "</S>", "<|endoftext|>", "[SEP]", "<sep>", "|||")
_MOST_CELLS = 200
"""Of a line that is looked at to know the format."""
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")
"""What no text holds: the file is something else."""
_STATEMENT = re.compile(r"\s*(select|with|prefix|base|ask|construct|describe)\b", re.IGNORECASE)


def _is_tabbed(start: Start) -> str:
    """Lines of texts parted by tabs under no header; what may as well be a table is none, unless it is named."""
    if start.kind != "text" or not start.lines or start.ending in ("csv", "json", "jsonl"):
        return ""
    if "\t" not in start.lines[0] or _CONTROLS.search(start.text):
        return ""
    rows = [line.split("\t", _MOST_CELLS)[:_MOST_CELLS] for line in start.lines]
    widths = {line.count("\t") + 1 for line in start.lines}
    many = sum(len(row) > 2 for row in rows)
    if 1 in widths or 2 * many <= len(rows) or any(mark in start.text for mark in _EOS):
        return ""
    first = [cell.strip() for cell in rows[0]]
    if any(cell.lower() in _RESPONSES for cell in first) or _is_header(first, rows, even=len(widths) == 1):
        return ""
    statements = sum(bool(_STATEMENT.match(row[0])) for row in rows)
    if 2 * statements > len(rows) or any(_are_numbers(rows, column) for column in range(min(max(widths), _MOST_CELLS))):
        return ""
    return "its lines hold texts parted by tabs, without a header"


def _are_numbers(rows: Sequence[Sequence[str]], column: int) -> bool:
    cells = [row[column] for row in rows if len(row) > column and row[column].strip()]
    return bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)


def _is_header(first: Sequence[str], rows: Sequence[Sequence[str]], *, even: bool) -> bool:
    """Whether the first line may name columns: different short names, over lines of as many cells."""
    names = all(_NAME.fullmatch(cell) and len(cell.split()) <= 3 for cell in first)
    return names and len(set(first)) == len(first) and (even or len(rows) == 1)


def _tabbed(source: Source) -> Iterator[Row]:
    for number, line in lines(source):
        if not line.strip():
            continue
        query, tab, rest = line.partition("\t")
        if not tab:
            yield (
                number,
                InputError(
                    path=source.name, line=number, expected="a query, a tab and its responses, parted by tabs",
                    got=shown(line, 60), hint=f"Is the line cut off? {SKIP_HINT}", reason=Reason.NO_TAB,
                ),
            )  # fmt: skip
            continue
        # Tabs at the end part nothing: queries with fewer responses are filled up with them.
        responses = rest.rstrip("\t \r").split("\t")
        yield number, {"query": query.strip(), "hypotheses": [] if responses == [""] else responses}


FORMATS = (
    Format(
        "parlai",
        "ParlAI's world logs: a conversation a line, its replies with their beams; labels of a teacher are references",
        ("diverse",),
        _is_parlai,
        _parlai,
        counts_lines=True,
        example="sensecheck diverse world_log.jsonl --slice agent",
    ),
    Format(
        "noveltybench",
        "NoveltyBench's generations, partitions and scores: a prompt a line with its generations and their classes",
        ("diverse",),
        _is_noveltybench,
        _noveltybench,
        counts_lines=True,
        example="sensecheck diverse scores.jsonl",
    ),
    Format(
        "tabbed",
        "a line a query, without a header: the query, a tab, its responses parted by tabs",
        ("diverse",),
        _is_tabbed,
        _tabbed,
        counts_lines=True,
        example="sensecheck diverse responses.tsv --input-format tabbed",
    ),
)
