"""The `.logits` reader: equal to a plain json reader, equal to the original where its rules are kept, and
exact about everything that is wrong with a line."""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.golden_files import read_packed

from sensecheck.calibrated import logits
from sensecheck.calibrated.logits import LogitsReader, LogitsTable, detect_format, read_logits
from sensecheck.calibrated.logits_lines import parse_lines, read_carefully
from sensecheck.calibrated.logits_plan import Plan
from sensecheck.inputs.errors import InputError

SKIP = "Fix the line or pass --skip-bad (skip_bad=True) to count it as unscored."


def stream(*lines: object, end: bytes = b"\n") -> io.BytesIO:
    """An input of the lines, each an object to be dumped or bytes as they are."""
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return io.BytesIO(b"\n".join(texts) + end)


def record(scores: list[list[float]], tokens: list[list[Any]], labels: list[Any], **more: Any) -> dict[str, Any]:
    return {"top_logits": scores, "top_logit_idxs": tokens, "labels": labels, **more}


GOOD = record([[0.1, 0.9], [0.3, 0.7]], [[3, 4], [5, 6]], [4, 5])


def error_of(inputs: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_logits(inputs, **options)
    return str(caught.value)


# --- equal to a plain reader ---


def plain(text: bytes, padding: int | None = -100, k: int = 1) -> dict[str, list[Any]]:
    """The slow and obvious way."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), 1):
        found = json.loads(line)
        for position, (row, tokens, label) in enumerate(
            zip(found["top_logits"], found["top_logit_idxs"], found["labels"], strict=True)
        ):
            if label == padding:
                continue
            order = sorted(range(len(row)), key=lambda at, row=row: -row[at])  # stable: first of equals first
            columns["confidence"].append(row[order[0]])
            columns["predicted"].append(tokens[order[0]])
            columns["label"].append(label)
            columns["correct"].append(label in [tokens[at] for at in order[:k]])
            columns["sequence"].append(number)
            columns["position"].append(position)
            columns["logit_at_label"].append(found["logit_at_label"][position])
    return columns


COLUMNS = ("confidence", "predicted", "label", "correct", "sequence", "position", "logit_at_label")


def lists(table: LogitsTable, names: tuple[str, ...] = COLUMNS) -> dict[str, list[Any]]:
    return {name: getattr(table.columns, name).tolist() for name in names}


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Valid files of several widths with odd spacing, integers as scores, extra keys and any key order."""
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        n, k = draw(st.integers(1, 4)), draw(st.integers(2, 4))
        # few distinct scores, so that ties are common; no row sums above 1
        score = st.sampled_from([0, 0.0, 0.125, 0.25, 0.1, 1e-7, 3.4028234663852886e-38])
        token = st.integers(-3, 9)
        made = {
            "top_logits": [[draw(score) for _ in range(k)] for _ in range(n)],
            "top_logit_idxs": [draw(st.lists(token, min_size=k, max_size=k, unique=True)) for _ in range(n)],
            "labels": [draw(st.one_of(token, st.just(-100))) for _ in range(n)],
            "logit_at_label": [draw(st.floats(-50, 50)) for _ in range(n)],
            "input_str": draw(st.text(max_size=8)),
        }
        made["top_logits"][0][0] = 0.25  # some score is above 0, so that the scale is clear
        if draw(st.booleans()):
            made["extra"] = draw(st.sampled_from([[1, [2, "]"]], {"labels": [1]}, None, "[,]", 2**70, math.nan]))
        keys = draw(st.permutations(list(made)))
        separators = draw(st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : ")]))
        line = json.dumps({key: made[key] for key in keys}, separators=separators, ensure_ascii=draw(st.booleans()))
        lines.append(line.encode("utf-8", "strict") + draw(st.sampled_from([b"", b"\r", b" "])))
    return b"\n".join(lines) + draw(st.sampled_from([b"", b"\n", b"\n\n", b"\r\n \n"]))


@given(text=files(), block_bytes=st.integers(1, 400), k=st.integers(1, 2))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_split_into_blocks_reads_as_json_does(text: bytes, block_bytes: int, k: int) -> None:
    lines = b"\n".join(line for line in text.split(b"\n") if line.strip())
    expected = plain(lines, k=k)
    for size in (block_bytes, 1 << 20):
        table = read_logits(io.BytesIO(text), block_bytes=size, top_k=k, with_logit_at_label=True, with_input_str=True)
        assert lists(table) == expected
        assert table.columns.input_str == [json.loads(line)["input_str"] for line in lines.split(b"\n")]
        assert table.columns.lengths.sum() == len(expected["label"])
        assert table.files[0].padding == sum(json.loads(line)["labels"].count(-100) for line in lines.split(b"\n"))


JUNK = st.sampled_from(
    [
        b"",
        b"{",
        b"[1]",
        b"nonsense",
        b'{"top_logits": [[0.5]], "top_logit_idxs": [[1]], "labels": [1, 2]}',
        b'{"top_logits": [[0.5, 0.1], [0.3]], "top_logit_idxs": [[1, 2], [3]], "labels": [1, 2]}',
        b'{"top_logits": [[0.5, 0.1, 0.1], [0.3]], "top_logit_idxs": [[1, 2, 3], [3]], "labels": [1, 2]}',
        b'{"top_logits": [[0.5, 0.1], [0.3, 0.1]], "top_logit_idxs": [[1, 2, 3], [3]], "labels": [1, 2]}',
        b'{"top_logits": [[0.5, [0.1]]], "top_logit_idxs": [[1, 2]], "labels": [1]}',
        b'{"top_logits": [[0.5], [0.1]], "top_logit_idxs": [[1], [2]], "labels": [[1], [2]]}',
        b'{"top_logits": [[0.5], [0.1]], "top_logit_idxs": [[1], [2]], "labels": [1, [2]], "z": [3]}',
        b'{"top_logits": [[0.5], []], "top_logit_idxs": [[1], []], "labels": [1, 2]}',
        b'{"top_logits": [[NaN]], "top_logit_idxs": [[1]], "labels": [1]}',
        b'{"top_logits": [[1e999]], "top_logit_idxs": [[1]], "labels": [1]}',
        b'{"top_logits": [[0.5]], "top_logit_idxs": [[1.0]], "labels": [1]}',
        b'{"top_logits": [[0.5]], "top_logit_idxs": [[1]], "labels": [1], "labels": [2]}',
        b'{"top_logits": [[true]], "top_logit_idxs": [[1]], "labels": [1]}',
        b'{"top_logits": [[0.5]], "top_logit_idxs": [["a"]], "labels": ["a"]}',
        b'{"top_logits": [[7.5]], "top_logit_idxs": [[1]], "labels": [1]}',
        b"\xff\xfe{}",
    ]
)


@given(st.lists(st.one_of(JUNK, st.just(json.dumps(GOOD).encode())), min_size=1, max_size=8), st.integers(1, 300))
@settings(max_examples=200, deadline=None)
def test_the_fast_path_accepts_nothing_that_the_careful_one_refuses(lines: list[bytes], block_bytes: int) -> None:
    """Bad lines among good ones are counted, each once, by any split; the good ones are read."""
    lines = [json.dumps(GOOD).encode(), *lines, json.dumps(GOOD).encode()]
    plan = Plan(path="<stream>", variant="hf")
    bad = {}
    for number, line in enumerate(lines, 1):
        try:
            parsed = read_carefully(line, number, plan)
            if parsed.values.max() > 1:
                bad[number] = "scale"
        except InputError as error:
            bad[number] = error.reason
    table = read_logits(stream(*lines), scale="probabilities", skip_bad=True, block_bytes=block_bytes)
    assert {found.line: found.reason for found in table.files[0].bad_records} == bad
    assert sum(table.files[0].bad.values()) == len(bad)
    assert table.columns.lines.tolist() == [at for at in range(1, len(lines) + 1) if at not in bad]
    assert len(table.columns) == 2 * len(table.columns.lines)
    if bad:
        first = min(bad)
        with pytest.raises(InputError) as caught:
            read_logits(stream(*lines), scale="probabilities", block_bytes=block_bytes)
        assert (caught.value.line, caught.value.reason) == (first, bad[first])


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Lists that are nearly matrices two wide: rows too long or short, bare values, arrays inside rows."""
    row = st.one_of(
        st.lists(leaf, min_size=2, max_size=2),
        st.lists(st.one_of(leaf, st.lists(leaf, max_size=2)), max_size=3),
        leaf,
        st.lists(st.lists(leaf, min_size=1, max_size=2), max_size=2),
    )
    return st.lists(row, min_size=1, max_size=4)


@given(
    st.lists(
        st.builds(
            record,
            nested(st.sampled_from([0.25, 0.125])),
            nested(st.integers(1, 9)),
            st.lists(st.integers(1, 9), max_size=4),
        ),
        max_size=4,
    ),
    st.sampled_from([(", ", ": "), (",", ":")]),
)
@settings(max_examples=400, deadline=None)
def test_irregular_matrices_never_pass_for_regular_ones(
    records: list[dict[str, Any]], separators: tuple[str, str]
) -> None:
    for found in records:
        # labels that fit and totals that may: only the shape can be wrong
        found["labels"] = [1] * len(found["top_logits"])
    lines = [json.dumps(found, separators=separators).encode() for found in (GOOD, *records, GOOD)]
    plan = Plan(path="", variant="hf", skip_bad=True)
    runs, errors = parse_lines(plan, b"\n".join(lines), 1)
    read = {line for run in runs for line in run.lines}
    for number, line in enumerate(lines, 1):
        try:
            read_carefully(line, number, plan)
        except InputError as error:
            assert number not in read
            assert str(error) in map(str, errors)
        else:
            assert number in read


@pytest.mark.parametrize(
    "line",
    [
        b'{"top_logits": [[0.1, 0.2], 0.3, [[0.1], 0.1, 0.1]], "top_logit_idxs": [[1, 2], [3, 4], [5, 6]], "labels": [1, 1, 1]}',
        b'{"top_logits": [[0.1, 0.2], [[0.3, 0.1]]], "top_logit_idxs": [[1, 2], [3, 4]], "labels": [1, 1]}',
        b'{"top_logits": [[0.1, 0.2, 0.1], [0.3]], "top_logit_idxs": [[1, 2], [3, 4]], "labels": [1, 1]}',
        b'{"top_logits": [[0.1, 0.2], [0.3, 0.1]], "top_logit_idxs": [[1, 2, 3], [4]], "labels": [1, 1]}',
        b'{"top_logits": [[0.1, [0.2]], [0.3, 0.1]], "top_logit_idxs": [[1, 2], [3, 4]], "labels": [1, 1]}',
        b'{"top_logits": [[0.1, [0.2, 0.1]], [0.3, []]], "top_logit_idxs": [[1, 2], [3, 4]], "labels": [1, 1]}',
        b'{"top_logits": [[0.1, 0.2], []], "top_logit_idxs": [[1, 2], []], "labels": [1, 1]}',
        b'{"top_logits": [[0.1, 0.2], [0.3, 0.1]], "top_logit_idxs": [[1, 2], [3, 4]], "labels": [1, [1]], "z": [[3]]}',
    ],
)
def test_shapes_that_flatten_well_are_still_refused(line: bytes) -> None:
    for compact in (False, True):
        text = line.replace(b", ", b",").replace(b": ", b":") if compact else line
        assert error_of(stream(text), scale="probabilities").startswith("<stream>:1: ")


def test_large_file_equals_plain_reader_and_streams(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = []
    for _ in range(400):
        n = int(rng.integers(1, 50))
        scores = rng.dirichlet(np.ones(9), n).astype(np.float32)[:, :5]
        labels = np.where(rng.random(n) < 0.1, -100, rng.integers(0, 12, n))
        tokens = rng.permuted(np.tile(np.arange(12), (n, 1)), axis=1)[:, :5]
        lines.append(
            json.dumps(
                record(
                    scores.tolist(),
                    tokens.tolist(),
                    labels.tolist(),
                    logit_at_label=rng.normal(size=n).tolist(),
                )
            )
        )
    text = ("\n".join(lines) + "\n").encode()
    path = tmp_path / "big.logits"
    path.write_bytes(text)
    for k in (1, 2, 5):
        table = read_logits(path, with_logit_at_label=True, top_k=k, block_bytes=20_000)
        assert lists(table) == plain(text, k=k)
    everything = read_logits(path, padding_label=None, with_logit_at_label=True)
    assert lists(everything) == plain(text, padding=None)
    reader = LogitsReader(path, block_bytes=20_000)
    sizes = [len(part) for part in reader]
    assert len(sizes) > 10
    assert sum(sizes) == reader.files[0].tokens == len(table.columns)
    frame = table.to_polars()
    assert frame.columns == [
        "source",
        "sequence",
        "position",
        "confidence",
        "correct",
        "predicted",
        "label",
        "logit_at_label",
    ]
    assert frame["confidence"].to_list() == table.columns.confidence.tolist()


def test_blocks_of_any_size_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.logits"
    bad = record([[0.5]], [[1]], [1, 2])
    path.write_bytes(stream(*([GOOD] * 50), bad, *([GOOD] * 50)).getvalue())
    whole, small = read_logits(path, skip_bad=True), read_logits(path, skip_bad=True, block_bytes=700)
    names = COLUMNS[:-1]
    assert lists(whole, names) == lists(small, names)
    assert whole.files == small.files
    assert error_of(path, block_bytes=700) == error_of(path)


# --- the original's files ---

CASES: list[dict[str, Any]] = json.loads(read_packed("calibrated", "readers/expected.json"))


def why_different(file: str, reader: str, kwargs: dict[str, Any]) -> str | None:
    """Where our mended rules give something else than the original, and why."""
    ignored = kwargs.get("ignore_tokens") or []
    if reader == "miso" and not file.startswith("miso"):
        return None
    if file.startswith("miso") and reader != "miso":
        return "refused: string tokens read as the integer variant (the original compares them as they are)"
    if '"' in ignored and reader != "miso" and file != "empty_file.logits":
        return "refused: a text can never match an integer token (the original ignores nothing, silently)"
    if file == "hf_nan_inf.logits":
        return "refused: NaN and Infinity are no scores (the original lets NaN win)"
    if file == "hf_label_len1_broadcast.logits":
        return "refused: one label for three rows (the original broadcasts it)"
    if file == "hf_labels_longer.logits":
        return "refused: more labels than rows (the top-k reader drops the rest, silently)"
    widths = {"hf_k1.logits": 1, "hf_ints_exps.logits": 2, "hf_label_minus100.logits": 2}
    if reader == "top_k" and kwargs["k"] > widths.get(file, 5):
        return "refused: top_k above the stored columns (the original takes all of them)"
    if file == "miso_target0_wraps.logits":
        return "refused: TargetCopy_0 names no token (the original wraps to the last one)"
    if file == "hf_label_minus100.logits":
        return "read: -100 is padding, counted apart (the original counts it as wrong)"
    if file == "hf_raw_logits.logits":
        return "read: raw logits become probabilities (the original takes them as they are)"
    if reader != "miso" and "1" in ignored and file != "empty_file.logits":
        return "read: '1' matches the token 1 (in the original it never does)"
    if reader == "miso" and 3 in ignored and file == "miso_basic.logits":
        return "read: 3 matches the token '3' (in the original it never does)"
    if file == "miso_substring.logits":
        return "read: a name that merely contains SourceCopy is a plain token (the original fails)"
    if file in ("miso_underscore.logits", "miso_basic.logits"):
        return "read: SourceCopy_a_b copies a_b (the original cuts at the second underscore)"
    if file == "hf_ties.logits" and reader == "top_k":
        return "read: of equal scores the earlier column ranks first, as in the plain reader"
    return None


@pytest.mark.golden
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['file']}-{case['reader']}-{case['kwargs']}")
def test_golden(case: dict[str, Any], readers_of: Callable[[str], Path]) -> None:
    file, kwargs, result = case["file"], case["kwargs"], case["result"]
    options: dict[str, Any] = {
        "variant": "miso" if case["reader"] == "miso" else "hf",
        "top_k": kwargs.get("k", 1),
        "ignore_tokens": kwargs.get("ignore_tokens") or (),
    }
    if file == "hf_ties.logits":
        options["scale"] = "probabilities"  # its rows sum above 1: not recognised without being told
    path = readers_of(file) / file
    why = why_different(file, case["reader"], kwargs)
    if why is not None and why.startswith("refused"):
        error_of(path, **options)
        return
    if "error" in result and file != "miso_substring.logits":
        error_of(path, **options)
        return
    table = read_logits(path, **options)
    confidence, correct = table.columns.confidence.tolist(), table.columns.correct.tolist()
    if why is None:
        assert confidence == result["value"]["conf"]
        assert correct == [bool(mark) for mark in result["value"]["correct"]]
        return
    if "merely contains" in why:
        assert correct == [True]
    elif "padding" in why:
        assert table.files[0].padding == 1
        kept = [at for at, mark in enumerate(result["value"]["conf"]) if mark != 0.7]
        assert confidence == ([] if 4 in options["ignore_tokens"] else [result["value"]["conf"][at] for at in kept])
    elif "raw logits" in why:
        assert table.files[0].scale is not None and table.files[0].scale.scale == "logits"
        assert all(0 < value <= 1 for value in confidence)
        if "1" not in options["ignore_tokens"]:
            assert correct == [bool(mark) for mark in result["value"]["correct"]]
    elif "matches the token" in why:
        number = 1 if case["reader"] != "miso" else 3
        same = next(
            other["result"]["value"]
            for other in CASES
            if other["file"] == file
            and other["reader"] == case["reader"]
            and other["kwargs"]["ignore_tokens"] == ([number] if case["reader"] != "miso" else [str(number)])
        )
        assert confidence == same["conf"]
    elif "second underscore" in why:
        assert confidence == result["value"]["conf"]
        predicted = table.columns.predicted.tolist()
        changed = [at for at, mark in enumerate(result["value"]["correct"]) if bool(mark) != correct[at]]
        assert changed
        assert all(predicted[at].startswith("SourceCopy_") and predicted[at].count("_") > 1 for at in changed)
        assert all(correct[at] for at in changed)
    else:
        assert "earlier column" in why
        assert confidence == result["value"]["conf"]
        if options["top_k"] == 1:
            assert correct == read_logits(path, scale="probabilities").columns.correct.tolist()


@pytest.mark.golden
@pytest.mark.parametrize("file", sorted({case["file"] for case in CASES}))
def test_golden_formats(file: str, readers_of: Callable[[str], Path]) -> None:
    expected = "empty" if file.startswith("empty") else f"logits-{'miso' if 'miso' in file else 'hf'}"
    found = detect_format((readers_of(file) / file).read_bytes())
    assert found == expected
    assert found.reason


# --- every error, verbatim ---

LINE_ERRORS: list[tuple[object, str]] = [
    (b"", "expected a JSON object, got a blank line between records. "),
    (b"   ", "expected a JSON object, got a blank line between records. "),
    (
        b'{"top_logits": [[0.1, 0.9], [0.3',
        "expected a complete JSON object, got a line that ends too early, at 'top_logits\": [[0.1, 0.9], [0.3'. ",
    ),
    (b'{"a": "x', 'expected a complete JSON object, got a line that ends too early, at \'{"a": "x\'. '),
    (
        b'{"top_logits" [[0.1]]}',
        "expected a JSON object, got '[[0.1]]}' at column 15 (a ':' should stand here). ",
    ),
    (b"\x1b[31mred", "expected a JSON object, got '\\x1b[31mred' at column 1 (no value begins like this). "),
    (b'{"a": "\xff"}', "expected text in UTF-8, got the byte 0xff at byte 8. "),
    (b"[" * 100_000, "expected a JSON object, got brackets nested too deeply to be read. "),
    (b"[1, 2]", "expected a JSON object, got a list. "),
    (b"null", "expected a JSON object, got null. "),
    (b"{}", "expected the key 'top_logits', got no keys. "),
    (
        {"top_logits": [[0.5]], "labels": [1]},
        "expected the key 'top_logit_idxs', got the keys 'top_logits', 'labels'. ",
    ),
    (b'{"labels": [1], "labels": [2]}', "expected each key once, got 'labels' 2 times. "),
    (record([], [], []), "top_logits: expected at least one row, got an empty list. "),
    (record([[]], [[]], [1]), "top_logits: expected at least one value in each row, got empty rows. "),
    (record({}, [[1]], [1]), "top_logits: expected a list of rows of numbers, got an object. "),  # type: ignore[arg-type]
    (
        record([0.1, 0.9], [3, 4], [4]),  # type: ignore[list-item]
        "top_logits: expected a list of rows of numbers, got a flat list (1-D). ",
    ),
    (
        record([[0.1], 0.9], [[3], [4]], [4, 4]),  # type: ignore[list-item]
        "top_logits: expected a list of rows of numbers, got a number as row 2. ",
    ),
    (
        record([[[0.1], [0.9]]], [[[3], [4]]], [[4]]),  # type: ignore[list-item]
        "top_logits: expected a list of rows of numbers, got lists inside row 1 (3-D: a whole batch on one line?). ",
    ),
    (
        record([[0.1, 0.9], [0.3]], [[3, 4], [5]], [4, 5]),
        "top_logits: expected rows of the same length (2, as in row 1), got 1 value in row 2. ",
    ),
    (
        record([[0.1, 0.2, 0.3], [0.3]], [[3, 4], [5, 6]], [4, 5]),
        "top_logits: expected rows of the same length (3, as in row 1), got 1 value in row 2. ",
    ),
    (
        record([[0.1, 0.9], [0.3, 0.1]], [[3, 4, 5], [5]], [4, 5]),
        "top_logit_idxs: expected rows of the same length (3, as in row 1), got 1 value in row 2. ",
    ),
    (
        record([[0.1, 0.9]], [[3]], [4]),
        "top_logit_idxs: expected 1 x 2 tokens (one for each value of top_logits), got 1 x 1. ",
    ),
    (
        record([[0.1, 0.9], [0.3, 0.7]], [[3, 4], [5, 6]], [4]),
        "labels: expected 2 labels (one for each row of top_logits), got 1. ",
    ),
    (
        record([[0.1, 0.9]], [[3, 4]], [4, 5]),
        "labels: expected 1 label (one for each row of top_logits), got 2. ",
    ),
    (record([[0.1, 0.9]], [[3, 4]], [[4]]), "labels: expected a list of tokens, got lists inside the list. "),
    (
        {**record([[0.1, 0.9]], [[3, 4]], []), "labels": 4},
        "labels: expected a list of tokens, got a number. ",
    ),
    (record([[math.nan, 0.4]], [[3, 4]], [4]), "top_logits: expected finite numbers, got NaN in row 1. "),
    (
        record([[0.2, 0.4], [0.1, -math.inf]], [[3, 4], [3, 4]], [4, 3]),
        "top_logits: expected finite numbers, got -Infinity in row 2. ",
    ),
    (
        b'{"top_logits": [[1%s]], "top_logit_idxs": [[1]], "labels": [1]}' % (b"0" * 400),
        "top_logits: expected finite numbers, got a number beyond the range of float64 in row 1. ",
    ),
    (
        record([[0.1, "0.9"]], [[3, 4]], [4]),  # type: ignore[list-item]
        "top_logits: expected numbers, got text '0.9' in row 1. ",
    ),
    (record([[0.1, None]], [[3, 4]], [4]), "top_logits: expected numbers, got null in row 1. "),  # type: ignore[list-item]
    (record([[0.1, True]], [[3, 4]], [4]), "top_logits: expected numbers, got true in row 1. "),
    (record([[0.1, 0.9]], [[3, 4]], ["4"]), "labels: expected integer tokens, got text '4'. "),
    (record([[0.1, 0.9]], [[3, 4]], [4.0]), "labels: expected integer tokens, got a number 4.0. "),
    (record([[0.1, 0.9]], [["a", "b"]], ["a"]), "top_logit_idxs: expected integer tokens, got text 'a'. "),
    (
        record([[0.1, 0.9]], [[3, 2**70]], [4]),
        "top_logit_idxs: expected 64-bit integer tokens, got a larger integer. ",
    ),
    (
        record([[0.1, 17.5]], [[3, 4]], [4]),
        "top_logits: expected probabilities (as recognised in the first 1,024 tokens), got 17.5 in row 1, above 1. "
        "If the file holds something else, say so with --scale (scale=). ",
    ),
]


@pytest.mark.parametrize(("line", "message"), LINE_ERRORS)
def test_a_bad_line_is_named_and_can_be_skipped(line: object, message: str) -> None:
    # enough good tokens before it for the scale to be decided
    before = [GOOD] * 600
    assert error_of(stream(*before, line, GOOD)) == f"<stream>:601: {message}{SKIP}"
    table = read_logits(stream(*before, line, GOOD), skip_bad=True)
    assert len(table.columns) == 1202
    assert [(bad.line, bad.message) for bad in table.files[0].bad_records] == [(601, f"<stream>:601: {message}{SKIP}")]


def test_optional_columns_are_checked_when_asked_for() -> None:
    assert error_of(stream(GOOD), with_logit_at_label=True) == (
        f"<stream>:1: expected the key 'logit_at_label', got the keys 'top_logits', 'top_logit_idxs', 'labels'. {SKIP}"
    )
    assert error_of(stream({**GOOD, "logit_at_label": [1]}), with_logit_at_label=True) == (
        f"<stream>:1: logit_at_label: expected 2 numbers (one for each row of top_logits), got 1. {SKIP}"
    )
    assert error_of(stream({**GOOD, "logit_at_label": [[1], [2]]}), with_logit_at_label=True) == (
        f"<stream>:1: logit_at_label: expected numbers, got a list in row 1. {SKIP}"
    )
    assert error_of(stream({**GOOD, "input_str": 7}), with_input_str=True) == (
        f"<stream>:1: input_str: expected text, got a number. {SKIP}"
    )
    table = read_logits(stream(GOOD, {**GOOD, "input_str": "\ud800"}), with_input_str=True)
    assert table.columns.input_str == [None, "\ufffd"]


def test_blank_lines() -> None:
    for end in (b"", b"\n", b"\n\n\n", b"\r\n\r\n", b"\n  \n\t\n"):
        for block_bytes in (1, 100, 1 << 20):
            assert len(read_logits(stream(GOOD, GOOD, end=end), block_bytes=block_bytes).columns) == 4
    for block_bytes in (1, 100, 1 << 20):
        text = stream(GOOD, b"", b"", GOOD, b"", b"")
        table = read_logits(text, skip_bad=True, block_bytes=block_bytes)
        assert [bad.line for bad in table.files[0].bad_records] == [2, 3]
        assert table.files[0].bad == {"blank_line": 2}
    assert error_of(stream(b"", GOOD)) == (
        f"<stream>:1: expected a JSON object, got a blank line between records. {SKIP}"
    )


def test_options_are_checked() -> None:
    assert error_of(stream(GOOD), scale="logit") == (
        "scale: expected one of auto, probabilities, logits, logprobs, got 'logit'."
    )
    assert error_of(stream(GOOD), variant="x") == "variant: expected one of auto, hf, miso, got 'x'."
    assert error_of(stream(GOOD), ignore_by="x") == "ignore_by: expected one of gold, predicted, got 'x'."
    assert error_of(stream(GOOD), top_k=0) == "top_k: expected at least 1, got 0."
    assert error_of(stream(GOOD), top_k=3) == (
        "<stream>:1: top_logits: expected at least 3 values in each row, since top_k is 3, got 2. "
        "Ask for a top_k of at most 2."
    )


# --- inputs ---


def test_compressed_crlf_bom_stdin_and_several_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = stream(GOOD, GOOD).getvalue()
    expected = read_logits(io.BytesIO(text)).columns.confidence.tolist()
    for raw in (
        gzip.compress(text),
        zstandard.ZstdCompressor().compress(text),
        b"\xef\xbb\xbf" + text,
        text.replace(b"\n", b"\r\n"),
        text.rstrip(b"\n"),
    ):
        assert read_logits(io.BytesIO(raw)).columns.confidence.tolist() == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert read_logits("-").files[0].path == "<stdin>"
    (tmp_path / "b.logits").write_bytes(text)
    (tmp_path / "a.logits").write_bytes(text + text)
    table = read_logits(str(tmp_path / "*.logits"))
    assert table.source.tolist() == [0] * 8 + [1] * 4
    assert [Path(report.path).name for report in table.files] == ["a.logits", "b.logits"]
    assert all(report.sha256 for report in table.files)
    limited = read_logits(str(tmp_path / "*.logits"), limit=5)
    assert [report.sequences for report in limited.files] == [4, 1]
    (tmp_path / "c.logits").write_bytes(stream(record([[0.5]], [["a"]], ["a"])).getvalue())
    assert error_of(str(tmp_path / "*.logits")) == (
        f"{tmp_path / 'c.logits'}: top_logit_idxs: expected the hf variant, as in '{tmp_path / 'a.logits'}', "
        "got the miso variant. Read the two kinds of file in separate runs."
    )


def test_empty_input() -> None:
    table = read_logits(io.BytesIO(b""))
    assert len(table.columns) == 0
    assert table.to_polars().shape == (0, 7)
    assert read_logits(io.BytesIO(b"\n\n")).files[0].bad == {}
    only_bad = read_logits(stream(b"{", b"["), skip_bad=True)
    assert only_bad.files[0].bad == {"truncated": 2}
    assert only_bad.files[0].variant is None


def test_ignored_tokens() -> None:
    text = stream(record([[0.1, 0.9]] * 3, [[3, 4], [5, 6], [1, 7]], [4, 1, -100]))
    for given_tokens in ([1], ["1"], "1"):
        text.seek(0)
        table = read_logits(text, ignore_tokens=given_tokens)
        assert table.columns.label.tolist() == [4]
        assert (table.files[0].ignored, table.files[0].padding) == (1, 1)
    text.seek(0)
    assert read_logits(text, ignore_tokens=[4], ignore_by="predicted").columns.predicted.tolist() == [6]
    text.seek(0)
    assert error_of(text, ignore_tokens=["</s>"]) == (
        "<stream>: ignore_tokens: expected integer tokens, as in the file, got '</s>'. "
        "It could never match: give the token's number in the vocabulary."
    )
    miso = record([[0.5, 0.1]] * 2, [["3", "x"], ["y", "x"]], ["3", "x"])
    assert read_logits(stream(miso), ignore_tokens=[3]).columns.label.tolist() == ["x"]
    assert read_logits(stream(miso), ignore_tokens=["y"], ignore_by="predicted").columns.label.tolist() == ["3"]


def test_positions_and_lengths_after_filtering() -> None:
    table = read_logits(
        stream(record([[0.9]] * 3, [[1], [2], [3]], [-100, 2, 9]), record([[0.9]], [[1]], [-100]), GOOD),
        ignore_tokens=[9],
    )
    assert table.columns.position.tolist() == [1, 0, 1]
    assert table.columns.sequence.tolist() == [1, 3, 3]
    assert table.columns.lines.tolist() == [1, 2, 3]
    assert table.columns.lengths.tolist() == [1, 0, 2]


# --- copies ---


def copies(tokens: list[str], labels: list[str], **options: Any) -> list[bool]:
    rows = [[token, "other"] for token in tokens]
    table = read_logits(stream(record([[0.9, 0.1]] * len(rows), rows, labels)), **options)
    return table.columns.correct.tolist()


def test_copy_rules() -> None:
    assert copies(["SourceCopy_a_b", "SourceCopy_", "SourceCopy_x"], ["a_b", "", "y"]) == [True, True, False]
    assert copies(["a", "b", "TargetCopy_1", "TargetCopy_2"], ["p", "q", "p", "p"]) == [
        False,
        False,
        True,
        False,
    ]
    assert copies(["MySourceCopyFn", "TargetCopy", "SourceCopy"], ["MySourceCopyFn", "TargetCopy", "x"]) == [
        True,
        True,
        False,
    ]
    # the context is the whole gold prefix, ignored tokens included
    assert copies(["a", "TargetCopy_1"], ["p", "p"], ignore_tokens=["zzz"]) == [False, True]
    assert copies(["x", "y"], ["other", "z"], top_k=2) == [True, False]
    assert copies(["x", "TargetCopy_1"], ["other", "other"], top_k=2) == [True, True]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["TargetCopy_1"], "no TargetCopy in row 1 (no gold token comes before it), got 'TargetCopy_1'"),
        (
            ["a", "TargetCopy_0"],
            "TargetCopy_1 in row 2 (the gold tokens before it, counted from 1), got 'TargetCopy_0'",
        ),
        (
            ["a", "b", "TargetCopy_3"],
            "TargetCopy_1 to TargetCopy_2 in row 3 (the gold tokens before it, counted from 1), got 'TargetCopy_3'",
        ),
        (
            ["a", "TargetCopy_x\x1b"],
            "TargetCopy_1 in row 2 (the gold tokens before it, counted from 1), got 'TargetCopy_x\\x1b'",
        ),
        (
            ["a", "TargetCopy_-1"],
            "TargetCopy_1 in row 2 (the gold tokens before it, counted from 1), got 'TargetCopy_-1'",
        ),
    ],
)
def test_copies_of_nothing_are_errors(tokens: list[str], message: str) -> None:
    bad = record([[0.9]] * len(tokens), [[token] for token in tokens], ["g"] * len(tokens))
    good = record([[0.9]], [["a"]], ["a"])
    assert error_of(stream(good, bad)) == f"<stream>:2: top_logit_idxs: expected {message}. {SKIP}"
    table = read_logits(stream(good, bad, good), skip_bad=True, ignore_tokens=["zzz"])
    assert table.columns.sequence.tolist() == [1, 3]
    assert table.files[0].bad == {"copy_target": 1}


# --- scales ---


def decided(*lines: object, **options: Any) -> logits.ScaleDecision:
    found = read_logits(stream(*lines), **options).files[0].scale
    assert found is not None
    return found


def scored(*rows: list[float], **more: Any) -> dict[str, Any]:
    return record(list(rows), [list(range(len(row))) for row in rows], [0] * len(rows), **more)


def test_probabilities_are_recognised_and_kept_as_stored() -> None:
    decision = decided(scored([0.25, 0.5], [0.1, 0.2]))
    assert str(decision) == (
        "probabilities (recognised: the first 2 tokens run from 0.1 to 0.5 and no row sums above 1 (highest 0.75))"
    )
    table = read_logits(stream(scored([0.0, 1.0000001])))
    assert table.columns.confidence.tolist() == [1.0]  # float32 rounding above 1 is cut


def test_log_probabilities_are_recognised() -> None:
    decision = decided(scored([-0.5, -1.5]))
    assert str(decision) == (
        "logprobs (recognised: the first 1 token run from -1.5 to -0.5, none is above 0 and no row's exponentials "
        "sum above 1 (highest 0.829661))"
    )
    assert read_logits(stream(scored([-0.5, -1.5]))).columns.confidence.tolist() == [math.exp(-0.5)]


def test_raw_logits_are_recognised_with_a_caveat() -> None:
    decision = decided(scored([-1.0, 3.0, 12.5]))
    assert str(decision) == (
        "logits (recognised: the first 1 token run from -1 to 12.5, below 0 and above 1, so they are neither "
        "probabilities nor log-probabilities); softmax over the 3 stored scores, not over the vocabulary: each "
        "confidence is an upper bound"
    )
    assert decision.normaliser == "top_k"
    confidence = read_logits(stream(scored([1.0, 3.0]))).columns.confidence[0]
    assert confidence == pytest.approx(math.exp(3) / (math.exp(1) + math.exp(3)), rel=1e-15)


def test_negative_logits_are_no_log_probabilities() -> None:
    decision = decided(scored([-0.1, -0.2]))
    assert decision.scale == "logits"
    assert decision.evidence == (
        "the first 1 token run from -0.2 to -0.1; the exponentials of a row sum to 1.72357, "
        "too much for log-probabilities"
    )


def test_a_stored_normaliser_gives_the_true_probability() -> None:
    vocabulary = np.array([1.0, 3.0, 2.5, -1.0])
    total = float(np.log(np.exp(vocabulary).sum()))
    line = scored([1.0, 3.0], logsumexp=[total])
    decision = decided(line)
    assert (decision.normaliser, decision.caveat) == ("logsumexp", None)
    confidence = read_logits(stream(line)).columns.confidence[0]
    assert confidence == pytest.approx(np.exp(3.0 - total), rel=1e-15)
    low = scored([1.0, 3.0], logsumexp=[2.0])
    assert error_of(stream(line, low)) == (
        "<stream>:2: top_logits: expected logits (as recognised in the first 1,024 tokens), got 3 in row 1, "
        f"above what logsumexp allows. If the file holds something else, say so with --scale (scale=). {SKIP}"
    )


def test_the_labels_logit_tightens_the_bound() -> None:
    stored = record([[1.0, 3.0]], [[5, 6]], [6], logit_at_label=[3.0])
    missing = record([[1.0, 3.0]], [[5, 6]], [7], logit_at_label=[0.5])
    decision = decided(stored, missing)
    assert decision.normaliser == "top_k_and_label"
    assert decision.caveat is not None and decision.caveat.endswith("each confidence is an upper bound")
    table = read_logits(stream(stored, missing))
    sums = [math.exp(1) + math.exp(3), math.exp(1) + math.exp(3) + math.exp(0.5)]
    assert table.columns.confidence.tolist() == pytest.approx([math.exp(3) / total for total in sums], rel=1e-14)
    assert table.columns.logit_at_label is None  # it was not asked for
    other_scale = record([[1.0, 3.0]], [[5, 6]], [6], logit_at_label=[-0.1])
    assert decided(other_scale).normaliser == "top_k"


def test_what_cannot_be_recognised_is_asked_for() -> None:
    assert error_of(stream(scored([0.9, 0.8]))) == (
        "<stream>: top_logits: expected a scale that can be recognised, got values in [0, 1] in rows that sum to 1.7. "
        "Say what they are with --scale (scale=) probabilities, logits or logprobs."
    )
    assert error_of(stream(scored([0.0, 0.0]))) == (
        "<stream>: top_logits: expected a scale that can be recognised, got values that are all 0. "
        "Say what they are with --scale (scale=) probabilities, logits or logprobs."
    )
    assert error_of(stream(scored([12.5], [3.0]))) == (
        "<stream>: top_logits: expected probabilities, log-probabilities, or a 'logsumexp' for each row of raw "
        "logits, got one raw logit per token, whose softmax is always 1. "
        "Store more scores per token, or logsumexp over the vocabulary."
    )


def test_a_given_scale_is_taken_and_checked() -> None:
    decision = decided(scored([0.9, 0.8]), scale="probabilities")
    assert str(decision) == "probabilities (given: by the caller; the first 1 token run from 0.8 to 0.9)"
    assert error_of(stream(scored([0.5, 3.0])), scale="probabilities") == (
        "<stream>:1: top_logits: expected probabilities (as given), got 3 in row 1, above 1. "
        f"If the file holds something else, say so with --scale (scale=). {SKIP}"
    )
    assert error_of(stream(scored([0.5, -3.0])), scale="probabilities") == (
        "<stream>:1: top_logits: expected probabilities (as given), got -3 in row 1, below 0. "
        f"If the file holds something else, say so with --scale (scale=). {SKIP}"
    )
    assert error_of(stream(scored([-0.5], [0.5])), scale="logprobs") == (
        "<stream>:1: top_logits: expected logprobs (as given), got 0.5 in row 2, above 0. "
        f"If the file holds something else, say so with --scale (scale=). {SKIP}"
    )
    assert decided(scored([0.5, 0.2]), scale="logits").normaliser == "top_k"


def test_the_scale_does_not_depend_on_blocks() -> None:
    """The first tokens decide, not the first block: here only the later ones show raw logits."""
    lines = [scored([0.1, 0.5])] * 400 + [scored([0.1, 9.0])] * 500
    late = [scored([0.1, 0.5])] * 1024 + [scored([0.1, 9.0])]
    for block_bytes in (1, 500, 1 << 20):
        assert decided(*lines, block_bytes=block_bytes).scale == "logits"
        assert error_of(stream(*late), block_bytes=block_bytes) == (
            "<stream>:1025: top_logits: expected probabilities (as recognised in the first 1,024 tokens), "
            f"got 9 in row 1, above 1. If the file holds something else, say so with --scale (scale=). {SKIP}"
        )


@pytest.mark.parametrize(
    ("row", "odd", "scale"),
    [([0.1, 0.5], [0.1, 9.0], "probabilities"), ([-1.5, -0.5], [-1.5, 2.0], "logprobs")],
)
def test_a_few_broken_rows_do_not_turn_a_file_into_raw_logits(row: list[float], odd: list[float], scale: str) -> None:
    lines = [*[scored(row)] * 30, scored(row, odd), scored(row)]
    assert error_of(stream(*lines)) == (
        f"<stream>:31: top_logits: expected {scale}, as 32 of the first 33 tokens are, got {odd}. "
        "Name the scale of the file with --scale (scale=). Fix the line or pass --skip-bad (skip_bad=True) to count it as unscored."
    )
    table = read_logits(stream(*lines), scale=scale, skip_bad=True)
    assert len(table.columns) == 31
    assert table.files[0].bad == {"scale": 1}


# --- formats ---


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        (b"", "empty", "the input holds no text"),
        (stream(GOOD).getvalue(), "logits-hf", 'line 1 holds "top_logits" with integer tokens'),
        (
            stream(record([[0.5]], [["a"]], ["a"])).getvalue(),
            "logits-miso",
            'line 1 holds "top_logits" with string tokens',
        ),
        (
            b'\n{"top_logits": [[0.1',
            "logits-hf",
            'line 2 holds the key "top_logits", though it cannot be read in full',
        ),
        (b'{"confidence": 0.5, "correct": true}\n', "jsonl", "its first line is a JSON object"),
        (b'{\n "a": [1]}\n', "json", "it begins with '{' and the object continues over several lines"),
        (b'[{"a": 1}]', "json", "it begins with '['"),
        (b"confidence,correct\n0.5,1\n", "csv", "its first line holds commas"),
        (b"confidence\tcorrect\n0.5\t1\n", "tsv", "its first line holds tabs"),
        (
            b"grade confidence_level\nCorrect 0.5\n",
            "text",
            "its first line holds neither tabs nor commas: cells are separated by white space",
        ),
        (b"PAR1...", "parquet", "it begins with Parquet's magic bytes"),
    ],
)
def test_detect_format(text: bytes, name: str, reason: str) -> None:
    found = detect_format(text)
    assert found == name
    assert found.reason == reason
