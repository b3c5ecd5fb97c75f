"""Lines that are read at once must be what they are when each is read by itself, with care."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import numpy as np
import pytest

from sensecheck.calibrated import logits_layout
from sensecheck.calibrated.logits import read_logits
from sensecheck.calibrated.logits_layout import AlikeLines, learn_layout
from sensecheck.calibrated.logits_lines import parse_lines, read_carefully
from sensecheck.calibrated.logits_plan import Plan
from sensecheck.inputs.errors import InputError

WANTED = ["top_logits", "top_logit_idxs", "labels"]


def record(rng: random.Random, rows: int, width: int) -> dict[str, Any]:
    return {
        "top_logits": [[rng.choice([rng.random(), 0.5, 1e-7, 0, -3.25]) for _ in range(width)] for _ in range(rows)],
        "top_logit_idxs": [[rng.randrange(50_000) for _ in range(width)] for _ in range(rows)],
        "logit_at_label": [rng.gauss(0, 9) for _ in range(rows)],
        "labels": [rng.choice([-100, rng.randrange(50_000)]) for _ in range(rows)],
        "input_str": rng.choice(["move it", 'say "hi", [SEP] ]], "labels": [1]', "{1}, é \\ ", "", None]),
    }


def dumped(found: dict[str, Any], order: str = "", compact: bool = False) -> bytes:
    """A line as some program writes it; order: initials of the keys, those of matrices in capitals."""
    keys = {"L": "top_logits", "I": "top_logit_idxs", "a": "logit_at_label", "l": "labels", "s": "input_str", "x": "id"}
    found = {"id": {"n": [1, [2]]}, **found}
    chosen = {keys[key]: found[keys[key]] for key in order or "LIals"}
    return json.dumps(chosen, separators=(",", ":") if compact else None).encode()


def as_our_program_writes(found: dict[str, Any]) -> bytes:
    """Two styles on one line."""
    before = json.dumps({"id": 3, "input_str": found["input_str"], "tokens": ["]]", '"'] * len(found["labels"])})
    after = dumped(found, "laLI", compact=True)
    return before[:-1].encode() + b"," + after[1:]


LAYOUTS = {
    "usual": dumped,
    "compact": lambda found: dumped(found, compact=True),
    "nothing else": lambda found: dumped(found, "LIl"),
    "sorted keys": lambda found: dumped(found, "xslaIL"),
    "text first": lambda found: dumped(found, "sxILl", compact=True),
    "in the middle": lambda found: dumped(found, "xlLaIs"),
    "ours": as_our_program_writes,
}


def by_care(plan: Plan, data: bytes) -> tuple[list[Any], list[str]]:
    """Each line by itself: what was read of it, and the errors."""
    read, errors = [], []
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1] if lines[-1] == b"" else lines, 1):
        try:
            found = read_carefully(line, number, plan)
        except InputError as error:
            errors.append(str(error))
            continue
        columns = [found.values, found.tokens, found.labels, found.logit_at_label]
        bits = [column.tobytes() for column in columns if column is not None]
        read.append((number, found.values.shape, bits, found.input_str, found.fields))
    return read, errors


def at_once(plan: Plan, data: bytes, **limits: int) -> tuple[list[Any], list[str]]:
    """The same by `parse_lines`."""
    runs, errors = parse_lines(plan, data, 1, **limits)
    read = []
    for run in runs:
        columns = [run.matrix(), run.token_matrix("hf"), run.label_column("hf")]
        if plan.with_logit_at_label:
            columns.append(np.frombuffer(b"".join(run.logit_at_label), np.float64))
        assert {len(column) for column in columns} == {sum(run.lengths)}
        start = 0
        for index, (number, length) in enumerate(zip(run.lines, run.lengths, strict=True)):
            bits = [column[start : start + length].tobytes() for column in columns]
            text = run.input_str[index] if plan.with_input_str else None
            read.append((number, (length, run.width), bits, text, run.fields[index] if plan.fields else []))
            start += length
    return read, [str(error) for error in errors]


def plans() -> list[Plan]:
    plan = Plan(path="a", variant="hf", skip_bad=True)
    return [
        plan,
        Plan(path="a", variant="hf", skip_bad=True, with_input_str=True, fields=("id", "nowhere")),
        Plan(path="a", variant="hf", skip_bad=True, with_logit_at_label=True, fields=("labels",)),
    ]


def lines_at_once(data: bytes, wanted: list[str] = WANTED) -> list[int]:
    """The indices of the lines that are not read one by one."""
    return [
        index
        for lines in AlikeLines(data, wanted, []).read()
        for index in range(lines.first, lines.first + len(lines.lengths))
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("width", [1, 2, 5, 20, 126])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_that_are_written_alike_are_read_at_once(layout: str, width: int, end: bytes) -> None:
    rng = random.Random(width)
    write = LAYOUTS[layout]
    lines = [write(record(rng, rng.randint(1, 6), width)) for _ in range(40)]
    data = end.join(lines) + end
    assert lines_at_once(data) == list(range(40))
    for cut in (data, data[: -len(end)]):
        for plan in plans():
            assert at_once(plan, cut) == by_care(plan, cut)


def test_what_is_joined_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    lines = [dumped(record(rng, rng.randint(1, 9), 3)) for _ in range(200)]
    data = b"\n".join(lines)
    for size in (1, 1000, 5000, 1 << 20):
        monkeypatch.setattr(logits_layout, "_JOINED_BYTES", size)
        stretches = [lines.lengths for lines in AlikeLines(data, WANTED, []).read()]
        assert sum(map(len, stretches)) == 200
        assert max(map(len, stretches)) <= size // 100 + 1
        assert at_once(plans()[0], data) == by_care(plans()[0], data)


BAD = [
    b"",
    b"nonsense",
    b'{"top_logits": [[0.5, NaN]], "top_logit_idxs": [[1, 2]], "logit_at_label": [1], "labels": [1], "input_str": ""}',
    b'{"top_logits": [[0.5, 0.1]], "top_logit_idxs": [[1, 2]], "logit_at_label": [1], "labels": [1, 2], "input_str": ""}',
    b'{"top_logits": [[0.5, 0.1]], "top_logit_idxs": [[1, 2]], "logit_at_label": [1], "labels": [1], "labels": [1]}',
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("place", [0, 1, 50, 99])
def test_a_bad_line_leaves_the_others_as_they_are(bad: bytes, place: int) -> None:
    rng = random.Random(2)
    lines = [dumped(record(rng, rng.randint(1, 9), 2)) for _ in range(100)]
    lines[place] = bad
    data = b"\n".join(lines) + b"\n"
    found = lines_at_once(data)
    assert place not in found
    assert len(found) >= 80  # the rest of its neighbours are read one by one
    for plan in plans():
        assert at_once(plan, data) == by_care(plan, data)
    runs, errors = parse_lines(Plan(path="a", variant="hf"), data, 1)
    assert [error.line for error in errors] == [place + 1]
    assert [line for run in runs for line in run.lines] == list(range(1, place + 1))


# --- what could deceive the joined document ---


def line(scores: str, tokens: str = "", labels: str = "", **more: str) -> bytes:
    tokens = tokens or scores.replace("0.", "")
    labels = labels or ", ".join(["1"] * (1 + scores.count("], [")))
    rest = "".join(f', "{key}": {value}' for key, value in more.items())
    return f'{{"top_logits": [[{scores}]], "top_logit_idxs": [[{tokens}]], "labels": [{labels}]{rest}}}'.encode()


GOOD = line("0.1, 0.2], [0.3, 0.4")
WIDE = ", ".join(["0.1"] * 258)
DECEPTIONS = {
    "rows that make up for each other": [line("0.1, 0.2, 0.3], [0.4"), line("0.1], [0.2, 0.3, 0.4")],
    "rows in one matrix only": [
        line("0.1, 0.2], [0.3, 0.4", "1, 2, 3], [4"),
        line("0.1, 0.2], [0.3, 0.4", "1], [2, 3, 4"),
    ],
    "a bare number and a list in a list": [line("0.1, 0.2], 0.5, [[0.3], 0.4, 0.6", "1, 2], [1, 2], [1, 2", "1, 1, 1")],
    "lists in the rows": [line("0.1, [0.2]], [[0.3], 0.4", "1, 2], [3, 4", "1, 1"), line("0.1, [0.2, 0.3]], [0.4, []")],
    "a matrix left open, another closed twice": [
        line("[0.1, 0.2], [0.3, 0.4", "1, 2], [3, 4"),
        line("0.1, 0.2], [0.3, 0.4]", "1, 2], [3, 4"),
    ],
    "a line that holds two matrices, another none": [
        line("0.1, 0.2]], [[0.3, 0.4", "1, 2]], [[3, 4", "1, 1"),
        line("0.1, 0.2], [0.3, 0.4"),
    ],
    "256 values too many": [line(f"{WIDE}], [0.1, 0.2", labels="1, 1"), line("0.1, 0.2], [0.3, 0.4")],
    "empty rows": [line("0.1, 0.2], [", "1, 2], [", "1, 1"), line("], [0.1, 0.2", "], [1, 2", "1, 1")],
    "matrices that make up for each other": [
        line("0.1, 0.2], [0.3, 0.4", "1, 2", "1"),
        line("0.1, 0.2", "1, 2], [3, 4", "1, 1"),
    ],
    "labels that make up for each other": [line("0.1, 0.2", labels="1, 2"), line("0.1, 0.2], [0.1, 0.2", labels="1")],
    "labels in lists": [line("0.1, 0.2", labels="[1]"), line("0.1, 0.2], [0.1, 0.2", labels="[], [1, 2]")],
    "labels left open, then closed twice": [line("0.1, 0.2", labels="[1"), line("0.1, 0.2", labels="1]")],
    "no labels": [line("0.1, 0.2", labels=" ")],
    "a string over the end of a line": [line("0.1, 0.2", labels='1, "a'), line("0.1, 0.2", labels='b", 1')],
    "text over the end of a line": [line("0.1, 0.2", s='"a'), line("0.1, 0.2", s='b"')],
    "an object over the end of a line": [line("0.1, 0.2", s='{"a": 1'), line("0.1, 0.2", s="1}")],
    "objects that make up for each other": [line("0.1, 0.2", s='[{"b": 1'), line("0.1, 0.2", s='1}, {"s": 2}]')],
    "a comma before the end": [GOOD[:-1] + b", }", GOOD[:-1] + b",}"],
    "something after the end": [GOOD + b"}", GOOD + b" {}", GOOD + b"]", GOOD + b","],
    "no end": [GOOD[:-1], GOOD[:-2], GOOD[: len(GOOD) // 2]],
    "tokens that are no integers": [
        line("0.1, 0.2", "1.0, 2"),
        line("0.1, 0.2", "1, true"),
        line("0.1, 0.2", "1e3, 2"),
    ],
    "scores that are no numbers": [line("0.1, true", "1, 2"), line("0.1, null", "1, 2"), line('0.1, "0.2"', "1, 2")],
    "scores without end": [line("1e999, 0.1", "1, 2"), line("NaN, 0.1", "1, 2"), line("-Infinity, 0.1", "1, 2")],
    "large integers": [
        line("0.1, 0.2", f"{2**63}, 1"),
        line(f"0.1, {2**64}", "1, 2"),
        line(f"0.1, {2**63}", "1, 2"),
        line(f"0.1, {10**30}", "1, 2"),
        line("0.1, 0.2", labels=f"{2**70}"),
    ],
    "bad numbers": [line("0.1, 01", "1, 2"), line("0.1, .5", "1, 2"), line("0.1, 5.", "1, 2"), line("0.1, +1", "1, 2")],
    "a byte order mark": [b"\xef\xbb\xbf" + GOOD, GOOD.replace(b"0.1", b"\xef\xbb\xbf0.1")],
    "no UTF-8": [GOOD.replace(b"0.1", b"0.1\xff"), line("0.1, 0.2", s='"x"').replace(b"x", b"\xc3")],
    "a key twice": [line("0.1, 0.2", s='1, "s": 2'), line("0.1, 0.2", labels='1], "labels": [1')],
    "a key in other letters": [GOOD.replace(b"labels", b"l\\u0061bels"), line("0.1, 0.2", labels="1", labels_="[1]")],
    "control characters": [GOOD.replace(b"0.1", b"0.1\x0b"), line("0.1, 0.2", s='"\t"'), GOOD.replace(b", ", b",\t")],
}


@pytest.mark.parametrize("name", DECEPTIONS)
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("more", [{}, {"s": '"x"'}])
def test_no_line_makes_up_for_another(name: str, compact: bool, more: dict[str, str]) -> None:
    good = line("0.1, 0.2], [0.3, 0.4", **more)
    doubtful = DECEPTIONS[name]
    for lines in (
        [good, *doubtful, good],
        [*doubtful, good, good, good],
        [good, doubtful[0], good, *doubtful[1:], good],
    ):
        data = b"\n".join(lines)
        if compact:
            data = data.replace(b", ", b",").replace(b": ", b":")
        for plan in plans()[:2]:
            assert at_once(plan, data) == by_care(plan, data)
        single = data.replace(b"0.1, 0.2], [0.3, 0.4", b"0.1").replace(b"1, 2], [3, 4", b"1")
        assert at_once(plans()[0], single) == by_care(plans()[0], single)


def test_a_byte_order_mark_before_a_later_line() -> None:
    for write in LAYOUTS.values():
        lines = [write(record(random.Random(seed), 2, 2)) for seed in range(4)]
        data = b"\n\xef\xbb\xbf".join(lines)
        assert at_once(plans()[0], data) == by_care(plans()[0], data)
        assert len(by_care(plans()[0], data)[1]) == 3


PIECES = [
    b"[",
    b"]",
    b"],[",
    b"], [",
    b"]]",
    b"[[",
    b"{",
    b"}",
    b",",
    b", ",
    b":",
    b'"',
    b"\\",
    b"\\u005b",
    b" ",
    b"\t",
    b"\r",
]
PIECES += [
    b"1",
    b"0",
    b"-",
    b".",
    b"e5",
    b"E",
    b"1e999",
    b"NaN",
    b"null",
    b"true",
    b'"a"',
    b"18446744073709551616",
    b"\xc3",
    b"\xef\xbb\xbf",
]
PIECES += [b'"labels": [1]', b'], "labels": [', b']],"top_logit_idxs":[[', b'"x": ', b"\n"]


def mutated(rng: random.Random, data: bytes) -> bytes:
    """One to three small changes: something put in, taken out, moved elsewhere or changed."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        other = rng.randrange(len(data) + 1)
        size = rng.choice([1, 1, 2, 3, 8, 30])
        match rng.randrange(4):
            case 0:
                data = data[:at] + rng.choice(PIECES) + data[at:]
            case 1:
                data = data[:at] + data[at + size :]
            case 2:
                data = data[:at] + data[other : other + size] + data[at:]
            case _:
                data = data[:at] + rng.choice(PIECES) + data[at + size :]
    return data


@pytest.mark.parametrize("seed", range(6))
def test_changed_files_are_read_as_with_care(seed: int) -> None:
    rng = random.Random(seed)
    outcomes = {"read": 0, "refused": 0, "at once": 0}
    for _ in range(150):
        write = LAYOUTS[rng.choice(list(LAYOUTS))]
        width = rng.choice([1, 2, 2, 3])
        lines = [write(record(rng, rng.randint(1, 3), width)) for _ in range(rng.randint(1, 12))]
        data = mutated(rng, rng.choice([b"\n", b"\n", b"\r\n"]).join(lines))
        for plan in plans():
            read, errors = by_care(plan, data)
            assert at_once(plan, data) == (read, errors), data
        outcomes["read"] += len(read)
        outcomes["refused"] += len(errors)
        outcomes["at once"] += len(lines_at_once(data))
    assert min(outcomes.values()) > 50  # the changes are neither too wild nor too tame


def test_limits_end_where_lines_do() -> None:
    rng = random.Random(5)
    data = b"\n".join(dumped(record(rng, rng.randint(1, 9), 3)) for _ in range(60))
    plan = Plan(path="a", variant="hf", with_input_str=True, with_logit_at_label=True, fields=("labels",))
    everything, _ = by_care(plan, data)
    for most in (1, 2, 17, 59, 60, 61):
        assert at_once(plan, data, max_sequences=most)[0] == everything[:most]
    plan = Plan(path="a", variant="hf", with_input_str=True)
    everything, _ = by_care(plan, data)
    totals = np.cumsum([shape[0] for _, shape, *_ in everything])
    for most in (1, 5, 100, int(totals[30]), int(totals[-1]), 10_000):
        assert at_once(plan, data, max_tokens=most)[0] == everything[: np.searchsorted(totals, most) + 1]
    first = read_logits(io.BytesIO(data), limit=7, scale="logits", with_input_str=True)
    whole = read_logits(io.BytesIO(data), scale="logits", with_input_str=True)
    assert first.columns.input_str == whole.columns.input_str[:7]
    assert first.columns.confidence.tolist() == whole.columns.confidence[: len(first.columns)].tolist()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[1]",
        b'{"top_logits": [[1]]}',
        b'{"top_logits": 1, "top_logit_idxs": [[1]], "labels": [1]}',
        b'{"top_logits": [[1]], "s": "", "top_logit_idxs": [[1]], "labels": [1]}',
        b'{"top_logits": [1], "top_logit_idxs": [[1]], "labels": [1]}',
        b'{"top_logits": [[1]], "top_logit_idxs": [[1]], "labels": [1], "labels": [1]}',
        b'{"top_logits": [[1]], "top_logit_idxs": [[1]], "labels": [1], "a": NaN}',
    ],
)
def test_a_line_that_shows_no_layout(text: bytes) -> None:
    assert learn_layout(text, WANTED) is None
