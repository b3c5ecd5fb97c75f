"""A damaged run or cache is one message that names the file, exit code 2: never a fault of ours, never a wrong figure."""

from __future__ import annotations

import io
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from tests.fuzz.seeds import finished_run
from tests.runs.damage import command, copied, document_damage, file_damage, make_runs

from sensecheck import calibrated
from sensecheck.cli import main
from sensecheck.instruments import OWN
from sensecheck.models.calls import CallCache, Identity
from sensecheck.models.classifiers import Answer, Asked
from sensecheck.report.result import load
from sensecheck.runs.databases import CacheError
from sensecheck.runs.writing import RunError
from sensecheck.stores import Limits, ResultCache
from sensecheck.stores.outcomes import Answer as Rows
from sensecheck.stores.outcomes import Term

COUNT = 12  # of each kind of damage to each file; tests/fuzz does many more


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_runs(folder, list(OWN))
    return folder


def _readers(question: str, bad: Path, good: Path, scratch: Path) -> Iterator[list[str]]:
    yield ["report", str(bad), "--html", str(scratch / "report.html")]
    yield ["compare", str(bad), str(good)]
    if question == "robust":
        yield ["robust", "audit", str(bad), "-o", str(scratch / "sheet.csv")]
        yield ["robust", "table", str(bad), str(good)]


def _told(argv: list[str], what: str, capsys: Any) -> int:
    code = main(argv)
    err = capsys.readouterr().err
    assert code in (0, 2), f"{argv[0]} after {what}: exit {code}, {err}"
    assert "Traceback" not in err and (code == 0 or err.startswith("sensecheck: error: ")), f"{what}: {err}"
    return code


@pytest.mark.parametrize("question", OWN)
def test_a_damaged_summary_is_told(question: str, runs: Path, tmp_path: Path, capsys: Any) -> None:
    for what, content in document_damage(runs / question / "summary.json", COUNT, seed=1):
        bad = copied(runs / question, tmp_path / "bad")
        (bad / "summary.json").write_bytes(content)
        for argv in _readers(question, bad, runs / question, tmp_path):
            code = _told(argv, what, capsys)
            assert code == 2 or ": " in what, f"{what}: was read"


@pytest.mark.parametrize("question", OWN)
def test_a_damaged_manifest_is_told(question: str, runs: Path, tmp_path: Path, capsys: Any) -> None:
    for what, content in document_damage(runs / question / "manifest.json", COUNT, seed=2):
        bad = copied(runs / question, tmp_path / "bad")
        (bad / "manifest.json").write_bytes(content)
        for argv in _readers(question, bad, runs / question, tmp_path):
            _told(argv, what, capsys)
        if ": " not in what:
            for option in ("--resume", "--overwrite"):
                assert _told([*command(question, bad, runs), option], what, capsys) == 2
            assert (bad / "summary.json").exists(), "nothing of what is no run is removed"


@pytest.mark.parametrize("question", OWN)
def test_a_damaged_shard_is_told(question: str, runs: Path, tmp_path: Path, capsys: Any) -> None:
    for name in ("measurements-00000.parquet", "examples-00000.parquet"):
        if not (runs / question / name).exists():
            continue
        for what, content in file_damage(runs / question / name, 4, seed=3):
            bad = copied(runs / question, tmp_path / "bad")
            (bad / name).write_bytes(content)
            for argv in _readers(question, bad, runs / question, tmp_path):
                assert _told(argv, what, capsys) == 2 or content == (runs / question / name).read_bytes()
    bad = copied(runs / question, tmp_path / "bad")
    (bad / "measurements-00000.parquet").unlink()
    for argv in _readers(question, bad, runs / question, tmp_path):
        assert _told(argv, "no measurements", capsys) == 2


@pytest.mark.parametrize("plan", [5, [], "x", None, {"inputs": 5}, {"inputs": [{"path": 5}]}, {"method": []}])
def test_resuming_under_a_plan_that_is_none(plan: Any, runs: Path, tmp_path: Path, capsys: Any) -> None:
    bad = copied(runs / "calibrated", tmp_path / "bad")
    manifest = json.loads((bad / "manifest.json").read_text())
    (bad / "manifest.json").write_text(json.dumps({**manifest, "plan": plan}))
    assert _told([*command("calibrated", bad, runs), "--resume"], f"plan: {plan!r}", capsys) == 2


@pytest.mark.parametrize(
    "shard",
    [
        b"",
        b"no Parquet",
        pl.DataFrame({"id": ["1"]}),
        pl.DataFrame({"id": ["1"], "scored": ["x"], "confidence": ["y"]}),
    ],
)
def test_resuming_with_a_shard_that_is_none(shard: Any, runs: Path, tmp_path: Path, capsys: Any) -> None:
    bad = copied(runs / "calibrated", tmp_path / "bad")
    target = bad / "measurements-00000.parquet"
    if isinstance(shard, bytes):
        target.write_bytes(shard)
    else:
        shard.write_parquet(target)
    assert _told([*command("calibrated", bad, runs), "--resume"], "another shard", capsys) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["summary.json", "manifest.json", "measurements-00000.parquet"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(name: str, runs: Path, tmp_path: Path, capsys: Any) -> None:
    bad = copied(runs / "calibrated", tmp_path / "bad")
    (bad / name).unlink()
    os.mkfifo(bad / name)
    assert _told(["report", str(bad), "--html", str(tmp_path / "r.html")], "a pipe", capsys) == 2


# ---- caches


@pytest.mark.parametrize(("question", "name"), [("correct", "answers.db"), ("robust", "calls.sqlite")])
def test_a_cache_that_is_none_is_told(question: str, name: str, runs: Path, tmp_path: Path, capsys: Any) -> None:
    for what, content in [("text", b"no SQLite file, but long enough to look at" * 40), ("cut", None)]:
        bad = copied(runs / question, tmp_path / "bad")
        whole = (bad / name).read_bytes()
        (bad / name).write_bytes(content if content is not None else whole[: len(whole) // 2])
        code = main([*command(question, bad, runs), "--overwrite"])
        said = capsys.readouterr().err
        assert code == 2 and name in said and "--cache" in said, f"{what}: {said}"
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    assert main([*command(question, tmp_path / "new", runs), "--cache", str(other)]) == 2
    assert "customers" in capsys.readouterr().err
    with sqlite3.connect(other) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("customers",)], "nothing was written to somebody's database"


GARBAGE = [
    b"", b"q", b"j{", b"j[]", b"j5", b'j{"rows": 5, "columns": []}', b'j{"rows": [[1]], "columns": []}',
    b'j{"rows": [[["iri", 5]]], "columns": ["a"]}', b'j{"rows": [[{"b": "zz"}]], "columns": ["a"]}',
    b'j{"reason": "no such reason", "message": ""}', b"j" + b"[" * 5000, b"zno zstd",
    b"z" + zstandard.ZstdCompressor(write_content_size=False).compress(b"{}"),
]  # fmt: skip


def test_garbage_in_a_kept_answer_is_asked_again(tmp_path: Path, monkeypatch: Any) -> None:
    answer, key, limits = Rows(["a"], [(Term("iri", "x"),)] * 500), b"k" * 20, Limits()
    with ResultCache(tmp_path / "answers.db") as cache:
        cache.put(key, answer, limits)
        assert cache.get(key, limits) == answer and cache.unreadable == 0
        for number, body in enumerate(GARBAGE, start=1):
            cache._connection.execute("UPDATE outcomes SET body = ?", (body,))
            assert cache.get(key, limits) is None and cache.unreadable == number, body
        monkeypatch.setattr("sensecheck.stores.cache.MAX_ANSWER_BYTES", 1000)
        cache.put(key, answer, limits)
        assert cache.get(key, limits) is None, "it unpacks to more than the bound"


def test_garbage_in_a_kept_call_is_asked_again(tmp_path: Path) -> None:
    class Model:
        identity = Identity("m")

        def stream(self, pairs: Any) -> Any:
            yield [(i, Answer(1)) for i in range(len(pairs))]

    with CallCache(tmp_path / "calls.sqlite") as calls:
        model = Asked(Model(), calls)
        for number, kept in enumerate(
            [b"\xff", "{", "5", "[]", "{}", '{"l": 7}', '{"l": true}', '{"l": 0, "s": ["x"]}']
        ):
            model.answers([("p", "h")])
            calls._db.execute("UPDATE calls SET answer = ?", (kept,))
            assert model.labels([("p", "h")]) == [1] and calls.unreadable == number + 1, kept


def test_a_damaged_page_of_a_cache_is_told(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    with ResultCache(path) as cache:
        cache.put_many(((bytes([i]) * 20, Rows(["a"], [(str(i) * 300,)])) for i in range(200)), Limits())
    whole = bytearray(path.read_bytes())
    whole[4096:] = b"\x5a" * (len(whole) - 4096)
    path.write_bytes(whole)
    with pytest.raises(CacheError, match=r"answers\.db cannot be used"), ResultCache(path) as cache:
        cache.get(b"\x07" * 20, Limits())


@pytest.mark.parametrize(
    "change",
    [
        lambda summary: summary["signature"]["method"].update(bins=[[]]),
        lambda summary: summary["signature"]["method"].update({"nll-clip": ""}),
        lambda summary: [figure.update(value=[[0.5], 1]) for figure in summary["figures"]],
        lambda summary: summary["slices"][0]["values"][0].clear(),
        lambda summary: summary["intervals"].update(label=1),
        lambda summary: summary.update(anchors={"edges": [1, [2]]}),
    ],
    ids=["bins", "clip", "value", "slice", "intervals", "anchors"],
)
def test_a_damaged_summary_is_told_from_python_too(change: Any, tmp_path: Path) -> None:
    for name, data in finished_run().items():
        (tmp_path / name).write_bytes(data)
    load(tmp_path).to_html(tmp_path / "report.html")
    summary = json.loads((tmp_path / "summary.json").read_bytes())
    change(summary)
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(RunError, match="damaged"):
        load(tmp_path).to_html(tmp_path / "report.html")


def test_a_damaged_slice_is_told_where_figures_are_shown(tmp_path: Path) -> None:
    for name, data in finished_run().items():
        (tmp_path / name).write_bytes(data)
    summary = json.loads((tmp_path / "summary.json").read_bytes())
    summary["slices"][0]["values"][0].clear()
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(RunError, match="damaged"):
        load(tmp_path).show("table", io.StringIO())


def test_a_plan_of_many_long_names_is_told_in_few_words(tmp_path: Path) -> None:
    for name, data in finished_run().items():
        (tmp_path / name).write_bytes(data)
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    manifest["plan"] = {f"{i}" + "9" * 5000: i for i in range(50)}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    rows = [{"confidence": 0.5, "correct": True}] * 3
    with pytest.raises(RunError, match="cannot be resumed") as told:
        calibrated.evaluate(rows, out=tmp_path, resume=True)
    assert len(str(told.value)) < 1500 and "more" in str(told.value)
