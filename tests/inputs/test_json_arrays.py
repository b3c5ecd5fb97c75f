"""An array read in pieces holds what it holds when read at once, and breaks where it breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.inputs.json_arrays import NotAnArrayError, array_pieces, objects_of_lines

# Texts and nested lists that look like the border between two records.
values = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.sampled_from(['}, {"a":', '}, {"a": 1}]', '"', "\\", "], ["]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abé"), inner, max_size=3),
    max_leaves=6,
)
arrays = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c d"]), values, min_size=1, max_size=3), min_size=1)


def texts(text: bytes, size: int) -> list[bytes]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def read(text: bytes, piece: int = 40, size: int = 7) -> list[Any]:
    return [item for items in array_pieces(texts(text, size), piece) for item in items]


@settings(deadline=None, max_examples=300)
@given(arrays, st.sampled_from([None, 1]), st.integers(1, 200), st.integers(1, 90))
def test_pieces_are_the_whole(items: list[Any], indent: int | None, piece: int, size: int) -> None:
    text = json.dumps(items, indent=indent).encode()
    assert read(text, piece, size) == items


def test_it_does_come_in_pieces() -> None:
    text = json.dumps([{"id": i, "nested": [{"id": 1}, {"id": 2}]} for i in range(1000)]).encode()
    sizes = [len(items) for items in array_pieces(texts(text, 1000), 4000)]
    assert sum(sizes) == 1000
    assert max(sizes) < 200


@settings(deadline=None)
@given(arrays, st.data())
def test_what_is_cut_short_is_an_error(items: list[Any], data: st.DataObject) -> None:
    text = json.dumps(items).encode()
    cut = data.draw(st.integers(text.index(b":") + 1, len(text) - 1))
    with pytest.raises(ValueError, match=r"."):
        read(text[:cut])


@pytest.mark.parametrize(
    "bad", [b'[{"a": 1}] {"a": 2}', b'[{"a": 1}], {"a": 2}', b'[{"a": 1} {"a": 2}]', b'[{"a": 1}, {"a": 2}, ]', b"[{"]
)
def test_what_is_no_array_is_an_error(bad: bytes) -> None:
    for piece in (1, 8, 12, 100):
        with pytest.raises(ValueError, match=r"."):
            read(bad, piece)


def test_an_error_names_the_line() -> None:
    lines = ["["] + [f'{{"a": {i}}},' for i in range(100)] + ['{"a": oops}]']
    with pytest.raises(json.JSONDecodeError) as caught:
        read("\n".join(lines).encode())
    assert caught.value.lineno == 102


@pytest.mark.parametrize("text", [b"", b"[]", b"[1, 2]", b'{"a": [{}]}', b"[[1]]", b"[{}]", b"null"])
def test_other_documents_are_handed_back_whole(text: bytes) -> None:
    with pytest.raises(NotAnArrayError) as caught:
        read(text, 2, 1)
    assert caught.value.text == text


def test_the_extras_of_the_standard_parser() -> None:
    (row,) = read(b'[{"a": NaN, "b": "\\ud800"}]')
    assert row["a"] != row["a"]
    assert row["b"] == "\ufffd"


@pytest.mark.parametrize(
    "number", [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 10**18, 10**19, 10**40, -(10**40)]
)
def test_integers_of_any_size_stay_what_they_are(number: int) -> None:
    (row,) = read(b'[{"a": %d}]' % number)
    assert row["a"] == number
    assert isinstance(row["a"], int)


def test_a_number_of_too_many_digits_is_an_error_of_its_own() -> None:
    with pytest.raises(json.JSONDecodeError, match="too many digits"):
        read(b'[{"a": 1' + b"0" * 5000 + b"}]")


def test_lines_that_are_one_object_each_are_read_together() -> None:
    lines = [b'{"a": 1}', b' {"a": [2, {"b": null}], "c": "},{"} \r']
    assert objects_of_lines(lines) == [{"a": 1}, {"a": [2, {"b": None}], "c": "},{"}]
    for odd in (
        [b'{"a": 1},{"b": 2}'],  # two in a line
        [b'{"a": [{"x": 1}', b'{"y": 2}]}', b'{"a": 1},{"b": 2}'],  # one in two lines, and two in one
        [b'{"a": [1', b"2]}"],
        [b'{"a": 1}', b""],
        [b'{"a": 1}', b"0"],
        [b'{"a": 1},0', b'{"a": 1}'],
        [b'{"a": 1},0,{"b": 2}', b'{"a": [1', b"2]}"],
        [b"[1]"],
        [b'{"a": NaN}'],
        [b'{"a": 12345678901234567890}'],
        [b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}"],
        [b'{"x": "' + b"]" * 200 + b'"}', b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}"],
        [b"\xff"],
        [],
    ):
        assert objects_of_lines(odd) is None, odd
    assert objects_of_lines([b'{"a": 0.0012345678901234567890123}']) == [{"a": 0.0012345678901234567}]
