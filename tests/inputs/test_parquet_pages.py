"""Counts and sizes in Parquet files that cannot be true are told before anything is allocated by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.hugging_face import DamagedError
from sensecheck.inputs.parquet_pages import _Compact, check_pages
from sensecheck.inputs.tables import TableReader

ROWS = pl.DataFrame(
    {
        "id": ["a", "b", None] * 50,
        "confidence": [0.1, 0.5, 0.9] * 50,
        "correct": [True, False, None] * 50,
        "many": [[1, 2], [], None] * 50,
    }
)
PACKED = ("zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed")

READ_ALL = """
import sys
from pathlib import Path
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.tables import TableReader

path = Path(sys.argv[1])
whole = path.read_bytes()
refused = 0
for at in range(4, len(whole)):
    changed = bytearray(whole)
    changed[at] = 7
    path.write_bytes(changed)
    try:
        for _ in TableReader(path):
            pass
    except InputError:
        refused += 1
print(refused)
"""


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("rows", [0, 1, 150])
def test_whole_files_pass(tmp_path: Path, packed: str, rows: int) -> None:
    path = tmp_path / "a.parquet"
    ROWS.head(rows).write_parquet(path, compression=packed)  # type: ignore[arg-type]
    check_pages(path)


def test_files_of_another_writer_pass(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    for version in ("1.0", "2.0"):
        for packed in ("snappy", "zstd", "none"):
            parquet.write_table(
                ROWS.to_arrow(), path, data_page_version=version, compression=packed, row_group_size=40,
                data_page_size=100,
            )  # fmt: skip
            check_pages(path)


def test_a_negative_count_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    ROWS.select("confidence").write_parquet(path, compression="uncompressed", statistics=False, row_group_size=50)
    whole = path.read_bytes()
    told = 0
    for at in range(4, 60):  # the header of the first page is among these
        changed = bytearray(whole)
        changed[at] = 7  # -4
        path.write_bytes(changed)
        try:
            check_pages(path)
        except DamagedError:
            told += 1
            with pytest.raises(InputError, match="cannot be read as Parquet"):
                list(TableReader(path))
    assert told >= 3


def test_no_change_of_a_byte_ends_the_process(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    ROWS.select("id", "confidence").head(6).write_parquet(path, statistics=False)
    done = subprocess.run([sys.executable, "-c", READ_ALL, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 100


@pytest.mark.parametrize(
    "text", [b"", b"PAR1", b"PAR1PAR1PAR1", b"PAR1" + b"\x00" * 40, b"PAR1" + b"\xff" * 8 + b"PAR1"]
)
def test_what_is_no_parquet_is_told(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(text)
    with pytest.raises(DamagedError):
        check_pages(path)


def test_lists_within_lists_within_lists() -> None:
    with pytest.raises(DamagedError, match="nested too deeply"):
        _Compact(b"\x15\x04" + b"9" * 4000).struct()
