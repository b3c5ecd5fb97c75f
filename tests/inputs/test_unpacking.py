"""Few packed bytes that unpack to many stop early, in every form that is read."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from sensecheck.cli import main
from sensecheck.inputs import opening
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.opening import Source, unpacked_start


def _zstd(pieces: int, piece: bytes) -> bytes:
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join([packer.compress(piece) for _ in range(pieces)] + [packer.flush()])


@pytest.mark.parametrize("byte", [b"a", b"\n", b"a\n" * 7])
def test_zstd_comes_in_pieces_that_are_bounded(byte: bytes) -> None:
    packed = _zstd(64, byte * ((1 << 20) // len(byte)))
    source = Source("x", stream=io.BytesIO(packed))
    pieces = list(source._text(1 << 20, digest=False))
    assert max(map(len, pieces)) <= 1 << 20 and b"".join(pieces) == byte * ((1 << 20) // len(byte)) * 64


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("size", [0, 1, 1000, 300_000, 3_000_000])
def test_frames_of_every_make_are_read_whole(size: int, checksum: bool) -> None:
    text = bytes(33 + (i * 7 + i // 90) % 90 for i in range(size))
    frame = zstandard.ZstdCompressor(write_checksum=checksum).compress(text)
    skipped = b"\x52\x2a\x4d\x18\x05\x00\x00\x00abcde"
    for packed, expected in ((frame, text), (frame + frame, text + text), (frame + skipped, text)):
        assert b"".join(Source("x", stream=io.BytesIO(packed))._text(1 << 20, digest=False)) == expected
    for cut in {len(frame) - 1, len(frame) // 2} - {0}:
        with pytest.raises(InputError, match=r"cut off|corrupt"):
            list(Source("x", stream=io.BytesIO(frame[:cut]))._unzstd(frame[:cut], iter(()), 1 << 20))


def test_a_frame_that_announces_a_huge_window_is_refused() -> None:
    frame = bytes([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xF8]) + b"\x03\x00\x00a"
    with pytest.raises(InputError, match="corrupt"):
        Source("x", stream=io.BytesIO(frame)).read()


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zstandard.compress(data, 1)], ids=["gzip", "zstd"])
def test_a_document_that_unpacks_to_far_more_is_refused(pack: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED_BYTES", 1 << 20)
    source = Source("doc.json", stream=io.BytesIO(pack(b"[" + b" " * (8 << 20) + b"]")))
    with pytest.raises(InputError, match="unpacks to at most 100 times its size") as told:
        source.read()
    assert told.value.reason == "document_too_large"
    plain = b"[" + b" " * (8 << 20) + b"]"
    assert Source("doc.json", stream=io.BytesIO(plain)).read() == plain


def test_the_start_of_a_stream_is_bounded() -> None:
    assert len(unpacked_start(_zstd(64, b"a" * (1 << 20)), 1 << 20)) <= 2 << 20


@pytest.mark.parametrize("question", ["faithful", "correct", "robust", "calibrated"])
def test_megabytes_of_blank_lines_are_told(question: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "data.jsonl.zst"
    path.write_bytes(zstandard.compress(b"\n" * (20 << 20)))
    assert main([question, str(path)]) == 2
    assert "data.jsonl.zst" in capsys.readouterr().err


QUESTIONS = ("faithful", "correct", "diverse", "robust", "calibrated")
# The kernel's own mark of this program: getrusage would tell the size of the process that started it, if that is larger.
_PEAK = "import sys; from sensecheck.cli import main; code = main(sys.argv[1:]); print('PEAK', code, open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"


@pytest.mark.parametrize("name", ["data.jsonl.zst", "data.json.zst", "data.csv.gz"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_zeros_are_told_with_a_small_form(
    question: str, name: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / name
    zeros = b"\0" * (4 << 20)
    path.write_bytes(gzip.compress(zeros) if name.endswith("gz") else zstandard.compress(zeros))
    assert main([question, str(path), *(["--references", str(path)] if question == "diverse" else [])]) == 2
    assert name in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_a_bomb_takes_no_more_memory_than_a_block(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.zst"
    path.write_bytes(_zstd(1024, b"\0" * (1 << 20)))
    assert path.stat().st_size < 1 << 20
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, "calibrated", str(path)], capture_output=True, text=True, check=True
    )
    _, code, peak = done.stdout.split()[-3:]
    assert code == "2" and int(peak) < 500_000, done.stdout
