"""No file of a run is written through a link that somebody put there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.runs.damage import command, copied, make_runs

from sensecheck import calibrated
from sensecheck.cli import main
from sensecheck.models.calls import CallCache
from sensecheck.report.result import load
from sensecheck.runs.writing import RunError, append_to, new_file, replace_file, write_named
from sensecheck.stores import ResultCache

pytestmark = pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
ROWS = [{"id": str(i), "confidence": 0.5 + i / 100, "correct": i % 2} for i in range(20)]
FILES = ("manifest.json", "summary.json", "report.html", "measurements-00000.parquet", "examples-00000.parquet")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", [*FILES, *(f".{name}.partial" for name in FILES)])
def test_a_planted_link_is_replaced_and_not_followed(name: str, link: Any, tmp_path: Path, victim: Path) -> None:
    out = tmp_path / "run"
    calibrated.evaluate(ROWS, out=out)
    first = load(out).summary
    place = out / name
    if name != "manifest.json":  # what says that this is a run stays
        place.unlink(missing_ok=True)
        link(victim, place)
    calibrated.evaluate(ROWS, out=out, overwrite=True)
    assert victim.read_text() == "precious"
    assert not place.is_symlink() and load(out).summary == first


def test_the_report_command_follows_no_link(tmp_path: Path, victim: Path) -> None:
    out = tmp_path / "run"
    calibrated.evaluate(ROWS, out=out)
    for name in ("report.html", ".report.html.partial"):
        (out / name).unlink(missing_ok=True)
        (out / name).symlink_to(victim)
        assert main(["report", str(out)]) == 0
        assert victim.read_text() == "precious" and (out / "report.html").read_text().startswith("<!doctype html>")
        (out / "report.html").unlink()
        (out / "report.html").symlink_to(victim)
        assert main(["report", str(out), "--html", str(out / "report.html")]) == 0
        assert victim.read_text() == "precious"


def test_resuming_and_removing_leftovers_touch_no_link(tmp_path: Path, victim: Path) -> None:
    out = tmp_path / "run"
    calibrated.evaluate(ROWS, out=out)
    (out / ".left.partial").symlink_to(victim)
    calibrated.evaluate(ROWS, out=out, resume=True)
    assert victim.read_text() == "precious" and not (out / ".left.partial").is_symlink()


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize(("question", "name"), [("correct", "answers.db"), ("robust", "calls.sqlite")])
def test_a_cache_that_is_a_link_is_refused(
    question: str, name: str, ending: str, tmp_path: Path, victim: Path, made: Path, capsys: Any
) -> None:
    bad = copied(made / question, tmp_path / "bad")
    place = bad / f"{name}{ending}"
    place.unlink(missing_ok=True)
    place.symlink_to(victim)
    assert main([*command(question, bad, made), "--overwrite"]) == 2
    assert "is a link" in capsys.readouterr().err and victim.read_text() == "precious"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make_runs(folder, ["correct", "robust"])
    return folder


@pytest.mark.parametrize("cache", [ResultCache, CallCache])
def test_what_the_user_names_may_be_a_link(cache: Any, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine.db").symlink_to(tmp_path / "elsewhere" / "kept.db")
    cache(tmp_path / "mine.db").close()
    assert (tmp_path / "elsewhere" / "kept.db").exists()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    calibrated.evaluate(ROWS, out=tmp_path / "out")
    assert (tmp_path / "elsewhere" / "summary.json").exists()


def test_a_folder_in_the_way_and_a_folder_that_is_a_link_are_told(tmp_path: Path) -> None:
    (tmp_path / "run" / "manifest.json").mkdir(parents=True)
    with pytest.raises(RunError, match=r"manifest\.json is a folder, where a file of the run belongs"):
        replace_file(tmp_path / "run" / "manifest.json", b"{}")
    with pytest.raises(RunError, match="cannot be read as that of a run"):
        calibrated.evaluate(ROWS, out=tmp_path / "run", overwrite=True)
    run = tmp_path / "other"
    run.mkdir()
    (run / "manifest.json").write_text("{}")
    (tmp_path / "away").mkdir()
    (run / "inner").symlink_to(tmp_path / "away")
    with pytest.raises(RunError, match="inner is a link"):
        write_named(run / "inner" / "picture.svg", b"")
    assert not list((tmp_path / "away").iterdir())


def test_what_is_added_to_is_a_file_of_its_own(tmp_path: Path, victim: Path) -> None:
    for link in (os.symlink, os.link):
        link(victim, tmp_path / "part")
        with pytest.raises(RunError, match=r"is a link|second name"):
            append_to(tmp_path / "part")
        with new_file(tmp_path / "part") as stream:
            stream.write(b"mine")
        with append_to(tmp_path / "part") as stream:
            stream.write(b" and more")
        assert (tmp_path / "part").read_bytes() == b"mine and more" and victim.read_text() == "precious"
        (tmp_path / "part").unlink()


def test_an_evaluation_writes_through_no_link(tmp_path: Path, victim: Path, capsys: Any) -> None:
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "e.toml").write_text(
        'systems = ["A", "B"]\n[[evaluate]]\nname = "c"\nquestion = "calibrated"\ndata = "data.jsonl"\n'
    )
    code = main(["run", str(tmp_path / "e.toml")])
    assert code == 0, capsys.readouterr().err
    runs = tmp_path / "runs"
    for name in ("index.html", "evaluation.json", "c/comparison.html"):
        place = runs / name
        for planted in (place, place.with_name(f".{place.name}.partial")):
            planted.unlink(missing_ok=True)
            planted.symlink_to(victim)
    assert main(["run", str(tmp_path / "e.toml"), "--force"]) == 0
    assert victim.read_text() == "precious"
    (tmp_path / "away").mkdir()
    shutil.rmtree(runs / "c" / "A")
    (runs / "c" / "A").symlink_to(tmp_path / "away")
    assert main(["run", str(tmp_path / "e.toml"), "--force"]) == 2
    assert "is a link" in capsys.readouterr().err and not list((tmp_path / "away").iterdir())
