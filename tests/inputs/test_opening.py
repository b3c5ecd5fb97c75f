"""Paths, globs, stdin, compression, blocks of whole lines, and one clear error for all that cannot be read."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.opening import Source, sources


def text_of(source: Source, **options: int) -> bytes:
    return b"".join(block.data for block in source.blocks(**options))


def fails(inputs: object, **options: int) -> str:
    with pytest.raises(InputError) as caught:
        for source in sources(inputs):  # type: ignore[arg-type]
            text_of(source, **options)
    return str(caught.value)


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"").replace(b"\0", b"")), max_size=30),
    ends=st.booleans(),
    block_bytes=st.integers(1, 64),
)
@settings(max_examples=200, deadline=None)
def test_blocks_are_whole_lines_that_join_to_the_text(lines: list[bytes], ends: bool, block_bytes: int) -> None:
    text = b"x\n" + b"\n".join(lines) + (b"\n" if ends else b"")  # x: never a magic number or a byte order mark
    source = sources(io.BytesIO(text))[0]
    line = 1
    joined = b""
    blocks = list(source.blocks(block_bytes=block_bytes))
    for at, block in enumerate(blocks):
        assert block.first_line == line
        assert block.data.endswith(b"\n") or at == len(blocks) - 1
        line += block.data.count(b"\n")
        joined += block.data
    assert joined == text
    assert source.sha256 == hashlib.sha256(text).hexdigest()
    assert source.raw_bytes == len(text)


@pytest.mark.parametrize("kind", ["plain", "gzip", "gzip members", "zstd", "zstd frames", "zstd stream"])
@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_compression_is_known_by_magic_bytes(tmp_path: Path, kind: str, size: int) -> None:
    text = b"".join(b"line %d\n" % at for at in range(size))
    half = len(text) // 2
    compressor = zstandard.ZstdCompressor()
    raw = {
        "plain": lambda: text,
        "gzip": lambda: gzip.compress(text),
        "gzip members": lambda: gzip.compress(text[:half]) + gzip.compress(text[half:]) + b"\0" * 700,
        "zstd": lambda: compressor.compress(text),
        "zstd frames": lambda: compressor.compress(text[:half]) + compressor.compress(text[half:]),
        "zstd stream": lambda: _streamed(text),
    }[kind]()
    path = tmp_path / "no-telling-name"
    path.write_bytes(raw)
    source = sources(path)[0]
    assert text_of(source, block_bytes=10_000) == text
    assert source.compression == (kind.split()[0] if raw else "plain")
    assert source.sha256 == hashlib.sha256(raw).hexdigest()


def _streamed(text: bytes) -> bytes:
    made = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(made, closefd=False) as writer:
        for start in range(0, len(text), 999):
            writer.write(text[start : start + 999])
            writer.flush()
    return made.getvalue()


def test_a_small_bomb_is_read_in_bounded_pieces(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b" " * 50_000_000))
    message = fails(path, max_line_bytes=1_000_000)
    assert message == (
        f"{path}:1: expected lines of at most 1,000,000 bytes, got a longer one, which begins "
        f"'{' ' * 37}...'. One record belongs on each line: is this a JSON array or a file without line ends?"
    )


def test_a_long_line_is_one_block() -> None:
    text = b"a\n" + b"x" * 100_000 + b"\nb\n"
    blocks = list(sources(io.BytesIO(text))[0].blocks(block_bytes=100, max_line_bytes=200_000))
    assert b"".join(block.data for block in blocks) == text
    assert [block.first_line for block in blocks] == [1]  # "a" and "b" come in the pieces of the long line


def test_paths_globs_and_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.log"):
        (tmp_path / name).write_text(name)
    (tmp_path / "d.txt").mkdir()
    found = sources([tmp_path / "c.log", str(tmp_path / "*.txt")])
    assert [Path(source.name).name for source in found] == ["c.log", "a.txt", "b.txt"]
    (tmp_path / "[1].txt").write_text("brackets in a real name")
    assert [source.name for source in sources(str(tmp_path / "[1].txt"))] == [str(tmp_path / "[1].txt")]


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"one\ntwo\n"))))
    source = sources("-")[0]
    assert source.name == "<stdin>"
    assert text_of(source) == b"one\ntwo\n"


def test_byte_order_mark_is_skipped_but_hashed() -> None:
    raw = b"\xef\xbb\xbfa\n"
    source = sources(io.BytesIO(raw))[0]
    assert text_of(source) == b"a\n"
    assert source.sha256 == hashlib.sha256(raw).hexdigest()


def test_errors_about_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("preds.logits").write_text("")
    Path("folder").mkdir()
    assert fails("pred.logits") == "pred.logits: no such file. Did you mean 'preds.logits'?"
    assert fails("zzz") == "zzz: no such file. Check the path (its folder exists)."
    assert fails("no/where") == "no/where: no such file. Check the path."
    assert fails("folder") == (
        "folder: expected a file, got a directory. Name the files in it or give a glob such as 'folder/*'."
    )
    assert fails("*.csv") == (
        "*.csv: no file matches this pattern. "
        "Quote the pattern only if the shell should not expand it, and check the folder."
    )
    assert fails(["preds.logits", "*.logits"]) == (
        "preds.logits: is given twice, and its records would count twice. Name each input once (globs may overlap)."
    )
    assert fails([]) == "expected at least one input, got none."
    assert fails([7]) == "expected a path, a glob, '-' or an open binary file, got int 7."
    assert fails(7) == "expected a path, a glob, '-' or an open binary file, got int 7."
    assert (
        fails(io.StringIO("x")) == '<stream>: expected a stream of bytes, got a stream of str. Open it with mode "rb".'
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("x")
    path.chmod(0)
    assert fails(path) == f"{path}: permission denied. Check who may read the file (ls -l)."


def test_permission_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.write_text("x")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    found = sources(path)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError) as caught:
        text_of(found[0])
    assert str(caught.value) == f"{path}: permission denied. Check who may read the file (ls -l)."


BROKEN = [
    (
        gzip.compress(b"line\n" * 9999, mtime=0)[:-9],
        "the gzip data ends too early: the file is cut off. Test it with gzip -t and make or fetch the file again.",
    ),
    (
        zstandard.ZstdCompressor().compress(os.urandom(200_000))[:-9],
        "the zstd data ends too early: the file is cut off. Test it with zstd -t and make or fetch the file again.",
    ),
    (
        gzip.compress(b"line\n", mtime=0) + b"garbage after the end",
        "the gzip data is corrupt (Error -3 while decompressing data: incorrect header check). "
        "Test it with gzip -t and make or fetch the file again.",
    ),
    (
        "a,b\n1,2\n".encode("utf-16"),
        "expected text in UTF-8, got UTF-16. Convert it with: iconv -f UTF-16 -t UTF-8.",
    ),
    (
        "a,b\n1,2\n".encode("utf-16-le"),
        "expected text in UTF-8, got UTF-16. Convert it with: iconv -f UTF-16 -t UTF-8.",
    ),
    (
        b"PAR1xxxxxxxxxxxxx",
        "expected text, got a Parquet file. Parquet is read as a table, not as lines of text.",
    ),
    (
        b"BZh91AY&SY" + b"x" * 9,
        "expected text, got a bzip2 file. Decompress it with bunzip2 first, or use gzip or zstd.",
    ),
    (
        b"\xfd7zXZ\x00" + b"x" * 9,
        "expected text, got an xz file. Decompress it with unxz first, or use gzip or zstd.",
    ),
    (
        b"PK\x03\x04" + b"x" * 19,
        "expected text, got a zip archive. Unpack it first and name the files in it.",
    ),
    (
        b"\x80\x04\x95" + b"x" * 19,
        "expected text, got a Python pickle. Pickles are never loaded: save it as JSONL, CSV or Parquet.",
    ),
    (
        b"\x93NUMPY\x01\x00v\x00",
        "expected text, got a numpy array. Save it as JSONL, CSV or Parquet with named columns.",
    ),
]


@pytest.mark.parametrize(("raw", "message"), BROKEN)
def test_errors_about_content(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(raw)
    assert fails(path) == f"{path}: {message}"


def test_corrupt_zstd(tmp_path: Path) -> None:
    raw = bytearray(zstandard.ZstdCompressor().compress(random.Random(1).randbytes(50_000)))
    raw[4:12] = b"\xff" * 8
    path = tmp_path / "x"
    path.write_bytes(raw)
    assert fails(path).startswith(f"{path}: the zstd data is corrupt (")


def test_binary_names_its_line() -> None:
    assert fails(io.BytesIO(b"first line is fine\nso is the second\nthird\x00\n")) == (
        "<stream>:3: expected text, got a NUL byte (binary data). Is this the right file?"
    )


def test_a_source_is_read_once() -> None:
    source = sources(io.BytesIO(b"a\n"))[0]
    text_of(source)
    with pytest.raises(InputError, match=r"<stream>: was read before and can be read only once."):
        text_of(source)


def test_whole_documents_have_a_limit() -> None:
    assert sources(io.BytesIO(b"[1]"))[0].read() == b"[1]"
    with pytest.raises(InputError) as caught:
        sources(io.BytesIO(b"[1]"))[0].read(max_bytes=2)
    assert str(caught.value) == (
        "<stream>: expected a document of at most 2 bytes, got a longer one. "
        "Store one record per line (JSONL) or Parquet: both are read in bounded memory."
    )
