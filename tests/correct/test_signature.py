"""What a figure depends on is in the signature: the store, prefixes, distances."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import sensecheck
from sensecheck.inputs import fingerprints
from sensecheck.report.result import Result
from sensecheck.statistics.compare import ComparisonError
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Databases, Endpoint

FEW = IntervalOptions(replicates=60)


def database(path: Path, values: list[int]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(v,) for v in values])
    connection.close()
    return path


def rows() -> list[dict[str, Any]]:
    return [{"id": str(i), "db_id": "shop", "gold": f"SELECT a FROM t WHERE a > {i}",
             "prediction": f"SELECT a FROM t WHERE a >= {i}"} for i in range(12)]  # fmt: skip


def evaluated(where: Path) -> Result:
    return sensecheck.correct.evaluate(rows(), database=where, options=FEW, normalise=False)


def test_one_database_and_a_suite_are_two_methods(tmp_path: Path) -> None:
    one = database(tmp_path / "shop.sqlite", [0, 2, 4, 6])
    suite = tmp_path / "suite"
    for name, values in (("shop", [0, 2, 4, 6]), ("shop-2", [1, 3, 5, 7])):
        database(suite / "shop" / f"{name}.sqlite", values)
    single, many = evaluated(one), evaluated(suite)
    assert single["accuracy"].value != many["accuracy"].value
    stores = [result.signature.method["store"] for result in (single, many)]
    assert all(isinstance(s, str) and len(s) == 12 for s in stores)
    assert f"store:{stores[0]}" in single.signature.short
    with pytest.raises(ComparisonError) as refused:
        single.compare(many)
    assert f"store: queries ran on other data ({stores[0]} against {stores[1]})" in str(refused.value)


def test_a_copy_elsewhere_is_the_same_store_and_a_changed_one_is_not(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    database(suite / "shop" / "shop.sqlite", [1, 2])
    database(suite / "bank.sqlite", [3])
    (suite / "README").write_text("not a database")
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(suite, copy)
    (copy / "README").write_text("still not")
    with Databases(suite) as a, Databases(copy) as b:
        assert a.content() == b.content()
        database(copy / "more.sqlite", [4])
        assert a.content() != b.content()
    one, other = tmp_path / "one.sqlite", tmp_path / "other" / "renamed.sqlite"
    shutil.copy(suite / "bank.sqlite", one)
    other.parent.mkdir()
    shutil.copy(one, other)
    assert Databases(one).content() == Databases(other).content()
    with sqlite3.connect(other) as connection:
        connection.execute("UPDATE t SET a = 9")
    connection.close()
    assert Databases(one).content() != Databases(other).content()


def test_a_large_file_is_looked_at_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = tmp_path / "large.sqlite"
    large.write_bytes(bytes(range(256)) * (1 << 14))  # 4 MiB
    before = fingerprints.of_files([("", large)])
    monkeypatch.setattr(fingerprints, "READ_BYTES", 1 << 20)
    read = 0
    whole = Path.open

    def counted(self: Path, *args: Any, **kwargs: Any) -> Any:
        nonlocal read
        stream = whole(self, *args, **kwargs)
        inner = stream.read

        class Counting:
            def __enter__(self) -> Counting:
                return self

            def __exit__(self, *_: object) -> None:
                stream.close()

            def seek(self, place: int) -> None:
                stream.seek(place)

            def read(self, size: int) -> bytes:
                nonlocal read
                part = inner(size)
                read += len(part)
                return bytes(part)

        return Counting()

    monkeypatch.setattr(Path, "open", counted)
    sampled = fingerprints.of_files([("", large)])
    assert read == 1 << 20 and sampled != before
    monkeypatch.undo()
    monkeypatch.setattr(fingerprints, "READ_BYTES", 1 << 20)
    for place in (0, (4 << 20) - 1):
        changed = bytearray(large.read_bytes())
        changed[place] ^= 1
        other = tmp_path / "changed.sqlite"
        other.write_bytes(changed)
        assert fingerprints.of_files([("", other)]) != sampled


def test_graphs_by_content_in_any_order(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    from sensecheck.stores import Graph

    a, b = tmp_path / "a.nt", tmp_path / "b.nt"
    a.write_text("<urn:a> <urn:p> <urn:b> .\n")
    b.write_text("<urn:c> <urn:p> <urn:d> .\n")
    other = tmp_path / "z.nt"
    shutil.copy(a, other)
    assert Graph([a, b]).content() == Graph([b, other]).content() != Graph(a).content()


def test_an_address_keeps_no_secret() -> None:
    address = "https://me:pw@Example.org:8890/sparql?default-graph-uri=urn%3Ag&api_key=hidden&access_token=hidden"
    assert Endpoint(address).content() == "https://example.org:8890/sparql?default-graph-uri=urn%3Ag"
    assert Endpoint("http://[::1]:7001/").content() == "http://[::1]:7001/"


def test_prefixes_and_distances_by_content() -> None:
    def method(**options: Any) -> Any:
        return sensecheck.correct.evaluate(rows(), options=FEW, language="sparql", **options).signature.method

    assert method()["prefixes"] == "standard" and method()["store"] is None
    assert method(prefixes={"ex": "urn:a"})["prefixes"] != method(prefixes={"ex": "urn:b"})["prefixes"]
    assert method(distances={"1": "0"})["distances"] != method(distances={"1": "2"})["distances"]
