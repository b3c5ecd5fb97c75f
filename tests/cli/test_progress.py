"""What a run says of itself: in a terminal, elsewhere, as JSON, and at its end."""

from __future__ import annotations

import argparse
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import polars as pl
import pytest

import sensecheck
from sensecheck import calibrated, cli, robust
from sensecheck.cli import main
from sensecheck.cli import progress as told
from sensecheck.cli.progress import Progress
from sensecheck.diverse.rows import BATCH_SETS
from sensecheck.inputs.tables import TableReader
from sensecheck.runs.directory import RunDirectory
from sensecheck.stages import MEASURING, READING, Watch, at_work, handed, have_read, stage, staged, to_read, watching
from sensecheck.statistics import counted

HOSTILE = "a\x1b[31mb\nc"


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("confidence,correct\n" + "".join(f"0.{i % 10},{i % 2}\n" for i in range(200)))
    return path


def slow(monkeypatch, seconds: float) -> None:
    """A run that takes longer."""
    from sensecheck.calibrated.evaluation import Calibrated

    batches = Calibrated.batches

    def slowly(self, done):
        for batch in batches(self, done):
            time.sleep(seconds)
            yield batch

    monkeypatch.setattr(Calibrated, "batches", slowly)


# ---- stages


def test_the_time_of_an_inner_stage_is_not_the_outer_ones():
    def read():
        for number in range(3):
            time.sleep(0.05)
            yield number

    watch = Watch()
    with watching(watch), stage(MEASURING) as advance:
        for _ in staged(READING, read(), count=lambda _: 2):
            time.sleep(0.02)
            advance(2, unscored=1)
    reading, measuring = watch.tallies[READING], watch.tallies[MEASURING]
    assert 0.15 <= reading.wall < 0.15 + 0.06 <= reading.wall + measuring.wall
    assert (reading.count, measuring.count, measuring.unscored) == (6, 6, 3)
    assert not watch.open


def test_without_a_watch_nothing_is_counted():
    with stage(MEASURING, total=3) as advance:
        advance(1, unscored=1)
        assert at_work(MEASURING) is advance
    items = iter([1])
    assert staged(READING, items) is items


def test_threads_count_and_take_no_time_of_their_own():
    watch = Watch()

    def work(advance):
        for _ in range(1000):
            advance(1)
        with stage("resampling", 1) as own:
            own(1)

    with watching(watch), stage("summing", 4000) as advance:
        threads = [threading.Thread(target=work, args=(advance,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert advance.done == 4000 and watch.share(advance) == 1.0
        assert [one.name for one in watch.open] == ["summing"]
    assert watch.tallies["resampling"].count == 4 and watch.tallies["resampling"].wall == 0


def test_an_error_in_a_stage_closes_it():
    watch = Watch()

    def fails():
        yield 1
        raise ValueError("no")

    with watching(watch), pytest.raises(ValueError, match="no"), stage(MEASURING):
        for _ in staged(READING, fails()):
            pass
    assert not watch.open
    with stage(MEASURING) as advance:
        assert not hasattr(advance, "done"), "nobody watches any more"


def test_what_is_read_last_is_still_at_work():
    watch = Watch()
    with watching(watch), stage(MEASURING) as measuring, stage(READING) as reading:
        assert watch.share(measuring) is None
        to_read("a", 100)
        to_read("b", 300)
        have_read("a", 100)
        assert (watch.share(measuring), watch.share(reading)) == (0.0, 0.25)
        have_read("b", 100)
        assert (watch.share(measuring), watch.share(reading)) == (0.25, 0.5)
        have_read("b", 300)
        have_read("b", 300)
        assert watch.share(measuring) == 1.0
        handed(1, 4)
        assert watch.share(measuring) == 0.25
        to_read("stdin", None)
    endless = Watch()
    with watching(endless), stage(MEASURING) as measuring:
        to_read("a", 100)
        to_read("stdin", None)
        have_read("a", 50)
        assert endless.share(measuring) is None


# ---- words


def told_by(style, work, stream=None, **given):
    out = stream or io.StringIO()
    watch = Progress(style, out, **given)
    with watching(watch):
        work(watch)
    watch.stop()
    return out.getvalue() if stream is None else ""


def test_the_sentence(monkeypatch):
    said = []

    def work(watch):
        with stage(MEASURING, total=200) as advance:
            advance.already(100)
            advance.fresh -= 10
            advance(50, unscored=7)
            said.append(watch.sentence())
            said.append(watch.sentence(20))
            watch.label = HOSTILE
            said.append(watch.sentence())

    told_by("none", work, words="asking", unit="pairs")
    assert said[0] == "asking: 75%, 150 of 200 pairs, 5.0 a second, 10 s left, 7 unscored, resumed at 50%"
    assert said[1] == "measuring: 75%"
    assert said[2].startswith(r"a\x1b[31mb⏎c: asking: 75%") and "\x1b" not in said[2] and "\n" not in said[2]


def test_time_left_by_bytes_leaves_out_what_an_earlier_run_did():
    states = []

    def work(watch):
        with stage(MEASURING) as advance:
            to_read("a", 100)
            have_read("a", 50)
            have_read("a", 75)
            advance.already(50, batches=1)
            watch.handed_out()
            watch.handed_out()
            advance(25)
            advance.fresh -= 10
            have_read("a", 100)
            states.append(watch._state(advance))

    told_by("none", work)
    [state] = states
    assert (state["fraction"], state["done"]) == (0.75, 75)
    assert (state["resumed_fraction"], state["resumed_done"]) == (0.5, 50)
    assert state["rate"] == pytest.approx(2.5, rel=0.05)
    assert state["seconds_left"] == pytest.approx(10, rel=0.05), "a quarter took 10 s, and a quarter is left"


def test_a_narrow_terminal_loses_whole_parts_and_keeps_the_percentage():
    lines = []

    def work(watch):
        watch.label = "Prüfung 評価"
        with stage(MEASURING, total=2_000_000) as advance:
            advance.already(1_000_000)
            advance.fresh -= 1000
            advance(500_000, unscored=7_654)
            lines.extend((watch.sentence(width), width) for width in range(140))
            with stage(READING):  # of which nothing is known
                lines.extend((watch.sentence(width), width) for width in range(3))

    told_by("none", work, words="reading and measuring", unit="pairs")
    words = "Prüfung 評価: reading and measuring: 75%, 1,500,000 of 2,000,000 pairs, 500 a second"
    words += ", 16 min 40 s left, 7,654 unscored, resumed at 50%"
    whole = re.split("(?<=[a-z価]): |, ", words)
    assert lines[-4] == (words, 139)
    for line, width in lines:
        assert len(line) + line.count("評") + line.count("価") <= width
        assert not line or all(part in [*whole, "measuring"] for part in re.split("(?<=[a-z価]): |, ", line)), line
    assert {"": 0, "75%": 3, "measuring: 75%": 14}.items() <= dict(reversed(lines)).items()
    shown = [line for line, _ in lines[:140]]
    assert [len(line) for line in shown] == sorted(len(line) for line in shown), "more room, more words"


def test_no_time_is_foretold_of_one_long_step_among_short_ones():
    lines = []

    def work(watch):
        with stage("report", 100, unit="") as advance:
            advance.fresh -= 10
            advance(50)
            lines.append(watch.sentence())
            advance.moved -= 9
            lines.append(watch.sentence())

    told_by("none", work)
    assert lines == ["writing the report: 50%, 10 s left", "writing the report: 50%"]


def test_keeping_the_first_shard_is_not_writing_the_report():
    lines = []

    def work(watch):
        with stage(MEASURING, 3, unit="rows") as measured:
            with stage(READING, unit="rows", pulled=True):
                lines.append(watch.sentence())
            with stage("report", unit="", pulled=True):
                lines.append(watch.sentence())
            measured(1)

    told_by("none", work)
    assert [line.split(":")[0] for line in lines] == ["reading", "reading and measuring"]


def test_one_thing_is_one_thing():
    assert [told.counted(1, unit) for unit in ("slices", "queries", "rows")] == ["1 slice", "1 query", "1 row"]
    assert told.counted(12, "slices") == "12 slices"


def test_durations_and_rates_have_units_that_fit():
    assert [told.duration(s) for s in (0, 99.4, 100, 3599, 86400)] == [
        "0 s", "99 s", "1 min 40 s", "59 min 59 s", "24 h 0 min",
    ]  # fmt: skip
    assert [told.per_time(r) for r in (0.01, 0.6, 10, 123456)] == [
        "0.6 a minute", "0.6 a second", "10 a second", "123,456 a second",
    ]  # fmt: skip


def test_a_warning_makes_room_in_the_line(monkeypatch):
    monkeypatch.setitem(told._RHYTHM, "line", (0.01, 0.01))

    def work(watch):
        with stage(MEASURING, total=3) as advance:
            advance(1)
            time.sleep(0.1)
            with watch.aside():
                out.write("NOTE\n")
            time.sleep(0.05)

    out = io.StringIO()
    told_by("line", work, stream=out)
    text = out.getvalue()
    assert re.search(r"\r +\rNOTE\n\r", text), "wiped before, drawn again after"
    assert re.search(r"\r +\r$", text), "wiped at the end"


@pytest.mark.parametrize("style", ["line", "plain", "json"])
def test_a_broken_pipe_stops_the_words_and_not_the_work(monkeypatch, style):
    monkeypatch.setitem(told._RHYTHM, style, (0.01, 0.01))
    reader, writer = os.pipe()
    os.close(reader)
    done = []

    def work(watch):
        with stage(MEASURING, total=3) as advance:
            advance(1)
            time.sleep(0.1)
            done.append(1)

    with os.fdopen(writer, "w") as stream:
        told_by(style, work, stream=stream)
    assert done == [1]


def test_a_terminal_without_our_letters_gets_others(monkeypatch):
    monkeypatch.setitem(told._RHYTHM, "plain", (0.01, 1.0))
    raw = io.BytesIO()

    def work(watch):
        watch.label = "Prüfung ⏎"
        with stage(MEASURING):
            time.sleep(0.1)

    stream = io.TextIOWrapper(raw, encoding="cp1252", errors="strict")
    told_by("plain", work, stream=stream)
    assert raw.getvalue().startswith("Prüfung ?: reading and measuring: for".encode("cp1252"))


# ---- commands


def test_nothing_is_said_of_a_short_run(answers, capfd):
    assert main(["calibrated", str(answers)]) == 0
    assert capfd.readouterr().err == ""


def test_plain_lines_hold_no_control_characters(answers, capfd, monkeypatch):
    monkeypatch.setitem(told._RHYTHM, "plain", (0.05, 0.1))
    slow(monkeypatch, 0.5)
    assert main(["calibrated", str(answers)]) == 0
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert len(lines) >= 2
    assert all(re.fullmatch(r"[ -~]+", line) for line in lines), err
    assert any(line.startswith("reading and measuring: 0%") for line in lines), "what is read is not yet measured"
    assert "ECE" in out


def test_json_lines(answers, capfd, monkeypatch):
    monkeypatch.setitem(told._RHYTHM, "json", (0.05, 0.1))
    slow(monkeypatch, 0.4)
    assert main(["calibrated", str(answers), "--progress", "json"]) == 0
    states = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    names = {"stage", "done", "total", "unit", "fraction", "rate", "seconds_left", "unscored", "elapsed"}
    assert all(set(state) - {"ended"} == names for state in states)
    [end] = [state for state in states if state["stage"] == "measuring" and state.get("ended")]
    assert (end["done"], end["fraction"], end["unit"]) == (200, 1.0, "rows")
    assert sum(state["stage"] == "measuring" for state in states) >= 3
    # One last word on each stage, however often it was at work.
    ended = [state["stage"] for state in states if state.get("ended")]
    assert len(ended) == len(set(ended))


@pytest.mark.parametrize("given", [["--quiet"], ["--progress", "none"]])
def test_quiet(answers, capfd, monkeypatch, given):
    monkeypatch.setitem(told._RHYTHM, "plain", (0.01, 0.01))
    slow(monkeypatch, 0.2)
    assert main(["calibrated", str(answers), *given]) == 0
    out, err = capfd.readouterr()
    assert err == "" and "ECE" in out
    assert main(["calibrated", str(answers.parent / "none.csv"), *given]) == 2
    assert "no such file" in capfd.readouterr().err


def test_quiet_and_a_form_of_progress_exclude_each_other(answers, capfd):
    with pytest.raises(SystemExit) as stopped:
        main(["calibrated", str(answers), "--quiet", "--progress", "json"])
    assert stopped.value.code == 2 and "not allowed with" in capfd.readouterr().err


def test_verbose_says_where_the_time_went(answers, capfd, tmp_path):
    subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True)
    command = ["calibrated", str(answers), "--out", str(tmp_path / "run"), "--verbose"]
    assert main(command) == 0
    out, err = capfd.readouterr()
    rows = {line[:14].strip(): line[14:].split() for line in err.splitlines()}
    assert "other processes" not in err, "none was started, whatever ran before"
    assert rows["reading"][2:] == ["200", "rows"] and rows["measuring"][2:] == ["200", "rows"]
    assert {"summing", "report", "the rest", "total", "peak memory"} <= set(rows)
    parts = [float(rows[name][1]) for name in rows if name not in ("stage", "total", "peak memory")]
    assert sum(parts) == pytest.approx(float(rows["total"][1]), abs=0.02 * len(parts))
    assert "peak memory" not in out
    # Figures are the same, with or without.
    assert main(["calibrated", str(answers), "--format", "json"]) == 0
    plain = capfd.readouterr().out
    assert main(["calibrated", str(answers), "--format", "json", "--verbose", "--progress", "json"]) == 0
    assert capfd.readouterr().out == plain


def test_every_command_that_measures_takes_the_options(answers, capfd, tmp_path):
    assert main(["recalibrate", str(answers), "--split", "0.5", "--verbose", "--quiet"]) == 0
    assert "peak memory" in capfd.readouterr().err
    assert main(["compare", str(answers), str(answers), "--verbose", "--quiet"]) == 0
    assert "peak memory" in capfd.readouterr().err
    evaluation = tmp_path / "evaluation.toml"
    evaluation.write_text(
        'title = "t"\nsystems = ["a"]\nout = "runs"\n[[evaluate]]\nquestion = "calibrated"\nname = "c"\n'
        f'data = "{answers.name}"\n'
    )
    assert main(["run", str(evaluation), "--verbose", "--quiet"]) == 0, capfd.readouterr().err
    assert "peak memory" in capfd.readouterr().err


def test_callers_in_python_are_told_as_before(answers):
    counts = []
    calibrated.evaluate(answers, progress=counts.append)
    assert sum(counts) == 200


def test_a_stage_that_is_opened_again_goes_on_and_ends_before_the_one_around_it():
    def work(watch):
        with stage("summing"):
            for to_come, slices in ((4, 1), (3, 2), (1, 1)):
                with stage("resampling", to_come, "slices") as advance:
                    for _ in range(slices):
                        shares.append(watch.share(advance))
                        advance(1)
                time.sleep(0.02)

    shares: list[float | None] = []
    states = [json.loads(line) for line in told_by("json", work).splitlines()]
    assert shares == [0, 0.25, 0.5, 0.75]
    [resampling] = [state for state in states if state["stage"] == "resampling"]
    assert (resampling["done"], resampling["total"], resampling["ended"]) == (4, 4, True)
    assert resampling["elapsed"] < 0.06, "up to its own end"


def states_of(capfd, *command: object) -> list[dict]:
    assert main([*map(str, command), "--progress", "json"]) == 0
    return [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]


def test_resampling_is_one_stage_over_all_slicings(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(counted, "COUNTED_ABOVE", 100)
    monkeypatch.setitem(told._RHYTHM, "json", (0.01, 0.001))
    rows = 6_000
    data = pl.DataFrame({
        "confidence": [i % 997 / 997 for i in range(rows)],
        "correct": [None if i % 100 == 0 else i * 7919 % 997 < i % 997 for i in range(rows)],
        "kind": [f"k{i % 12}" for i in range(rows)],
        "language": [("de", "en", None)[i % 3] for i in range(rows)],
    })  # fmt: skip
    data.write_parquet(tmp_path / "a.parquet")
    slices = ["--slice", "kind", "--slice", "language"]
    states = states_of(
        capfd, "calibrated", tmp_path / "a.parquet", "--skip-bad", *slices, "--out", tmp_path / "run",
        "--report", tmp_path / "report.html",
    )  # fmt: skip
    resampling = [state for state in states if state["stage"] == "resampling"]
    assert {state["total"] for state in resampling} == {12 + 3 + 1}
    fractions = [state["fraction"] for state in resampling]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and len(set(fractions)) > 3
    ended = [state["stage"] for state in states if state.get("ended")]
    assert ended == ["reading", "measuring", "resampling", "summing", "report", "report"]
    for name in set(ended) - {"report"}:
        *before, last = [state.get("ended", False) for state in states if state["stage"] == name]
        assert last and not any(before), "nothing is said of a stage after its end"
    measured = [state.get("ended") and state["stage"] for state in states].index("measuring")
    assert {state["unscored"] for state in states[measured:]} == {rows // 100}, "it is carried on"
    reports = [state["fraction"] for state in states[measured:] if state["stage"] == "report"]
    assert reports.count(1.0) >= 2 and len(set(reports) - {None}) > 3


def test_a_comparison_tells_how_far_it_is(tmp_path, capfd, monkeypatch):
    monkeypatch.setitem(told._RHYTHM, "json", (0.01, 0.001))
    for name, every in (("a", 3), ("b", 4)):
        rows = "".join(f"{i},0.{i % 10},{int(i % every > 0)}\n" for i in range(500))
        (tmp_path / f"{name}.csv").write_text("id,confidence,correct\n" + rows)
        assert main(["calibrated", str(tmp_path / f"{name}.csv"), "--out", str(tmp_path / name)]) == 0
    capfd.readouterr()
    states = states_of(capfd, "compare", tmp_path / "a", tmp_path / "b", "--report", tmp_path / "report.html")
    for name in ("comparing", "report"):
        fractions = [state["fraction"] for state in states if state["stage"] == name]
        assert fractions[-1] == 1.0 and len(set(fractions) - {None}) > 3, fractions
        assert fractions == sorted(fractions)
    assert [state["stage"] for state in states if state.get("ended")] == ["comparing", "report"]


def test_figures_are_printed_before_the_report_is_written(answers, capfd, monkeypatch):
    monkeypatch.setattr("sensecheck.report.page.page", lambda *_: 1 / 0)
    assert main(["calibrated", str(answers), "--report", str(answers.parent / "report.html")]) != 0
    assert "ECE" in capfd.readouterr().out


# ---- stopped and resumed


def test_what_an_earlier_run_did_is_said_at_once_and_takes_no_time_now():
    """Six batches of which four were done: however slowly those are passed over."""
    states, sentences = [], []

    def read():
        to_read("a", 600)
        for number in range(6):
            time.sleep(0.05)
            have_read("a", 100 * (number + 1))
            yield range(10)
        have_read("a", 600)

    def work(watch):
        with stage(MEASURING) as advance:
            advance.already(40, unscored=3, batches=4)
            for number, batch in enumerate(staged(READING, read(), count=len)):
                sentences.append(watch.sentence())
                states.append(watch._state(advance))
                if number >= 4:
                    time.sleep(0.2)
                    advance(len(batch))
                    states.append(watch._state(advance))

    told_by("none", work)
    # The first batch that is passed over tells how large they are: from the second on, all of the earlier run is known.
    assert [state["fraction"] for state in states] == [None, 0.6667, 0.6667, 0.6667, 0.6667, 0.6667, 0.8333, 0.8333]
    assert {state["resumed_fraction"] for state in states[1:]} == {0.6667}
    assert {state["done"] for state in states[:5]} == {40} and {state["unscored"] for state in states} == {3}
    assert sentences[0] == "reading and measuring: 40 rows, 3 unscored, resumed after 40 rows"
    assert sentences[1] == "reading and measuring: 66%, 40 rows, 3 unscored, resumed at 66%"
    assert all(state["rate"] == 0 and state["seconds_left"] is None for state in states[:5])
    assert states[5]["rate"] == pytest.approx(50, rel=0.3), "ten rows in a fifth of a second"
    assert states[6]["seconds_left"] == pytest.approx(0.15, abs=0.06), "one batch took a fifth, and one is left"


@pytest.mark.parametrize("question", ["calibrated", "correct", "diverse"])
def test_every_reader_tells_at_once_how_much_was_done(tmp_path, monkeypatch, question):
    monkeypatch.setitem(TableReader.__init__.__kwdefaults__, "batch_rows", 64)
    monkeypatch.setattr("sensecheck.correct.evaluation.UNASKED_RECORDS", 64)
    rows = 20 * (BATCH_SETS if question == "diverse" else 64)
    evaluate, data = getattr(sensecheck, question).evaluate, tmp_path / "data.jsonl"
    record = {"confidence": 0.5, "correct": True, "gold": "SELECT a FROM b", "predicted": "SELECT a FROM c"}
    record |= {"responses": ["one thing", "another thing"]}
    keep = {"calibrated": ("confidence", "correct"), "correct": ("gold", "predicted"), "diverse": ("responses",)}
    row = {name: record[name] for name in keep[question]}
    data.write_text("".join(json.dumps({"id": f"{i:05d}", **row}) + "\n" for i in range(rows)))
    if question == "calibrated":
        pl.read_ndjson(data).write_parquet(data := tmp_path / "data.parquet")
    whole = evaluate(data, out=tmp_path / "run")
    shards = sorted((tmp_path / "run").glob("measurements-*"))
    assert len(shards) > 10
    kept = len(shards) * 6 // 10
    # As if it had been killed.
    for kind in ("measurements", "examples"):
        for shard in sorted((tmp_path / "run").glob(f"{kind}-*"))[kept:]:
            shard.unlink()
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    (tmp_path / "run/manifest.json").write_text(json.dumps({**manifest, "state": "running"}))

    class Noting(Watch):
        def handed_out(self):
            super().handed_out()
            measuring = self.open[0]
            shares.append((self.reading.items, self.share(measuring), measuring.first))

    shares: list[tuple[int, float | None, float]] = []
    with watching(Noting()):
        again = evaluate(data, out=tmp_path / "run", resume=True)
    assert again.summary == whole.summary
    # The first ones, of which a reader may have looked ahead, show nothing of how large the others are.
    passed_over = [share for at, share, _ in shares if 2 < at <= kept + 1]
    assert passed_over == [pytest.approx(kept / len(shards), abs=0.05)] * (kept - 1)
    assert shares[-1][2] == pytest.approx(kept / len(shards), abs=0.02)


def test_a_resumed_run_counts_what_was_recorded(tmp_path, monkeypatch, capfd):
    from sensecheck.report import instrument

    data, out = tmp_path / "a.parquet", tmp_path / "run"
    pl.DataFrame({"confidence": [0.1, 0.9] * 200_000, "correct": [True, None] * 200_000}).write_parquet(data)

    def stops(self, done):
        for number, batch in enumerate(batches(self, done)):
            if number == 3:
                raise KeyboardInterrupt
            yield batch

    batches = instrument.Instrument._clustered
    command = ["calibrated", str(data), "--out", str(out), "--skip-bad"]
    with monkeypatch.context() as patch:
        patch.setattr(instrument.Instrument, "_clustered", stops)
        assert main(command) == 3
    kept = RunDirectory(out).measurements().height
    assert kept == 3 * 65_536
    seen = []
    advance = Watch.advance

    def note(self, at, count, unscored):
        advance(self, at, count, unscored)
        if at.name == MEASURING:
            seen.append((at.before, at.done, at.unscored, at.first))

    monkeypatch.setattr(Watch, "advance", note)
    capfd.readouterr()
    assert main([*command, "--resume", "--verbose"]) == 0
    before, done, unscored, first = seen[0]
    assert (before, done, unscored) == (kept, kept + 65_536, (kept + 65_536) // 2)
    assert first == pytest.approx(kept / 400_000, abs=0.01), "the percentage begins where the run was stopped"
    assert seen[-1][1] == 400_000
    # What took time now is what was measured now.
    assert re.search(rf"measuring .* {400_000 - kept:,} rows", capfd.readouterr().err)


def test_pairs_of_robust_have_a_total_also_when_resumed(tmp_path, monkeypatch):
    from sensecheck.robust import evaluation

    monkeypatch.setattr(evaluation, "ASKED_PAIRS", 1)
    monkeypatch.setattr(evaluation, "BATCH_ASKS", 2)
    data = tmp_path / "pairs.jsonl"
    row = {"premise": "A man sleeps.", "hypothesis": "A man is asleep.", "label": "entailment"}
    data.write_text("".join(json.dumps({**row, "id": i}) + "\n" for i in range(6)))
    seen = []
    advance = Watch.advance

    def note(self, at, count, unscored):
        advance(self, at, count, unscored)
        if at.name == MEASURING:
            seen.append((at.before, at.done, at.total))

    monkeypatch.setattr(Watch, "advance", note)
    whole = Watch()
    counts = []
    with watching(whole):
        robust.evaluate(data, out=tmp_path / "run", progress=counts.append)
    assert seen[-1] == (0, 6, 6) and sum(counts) == 6
    assert whole.tallies[READING].count == 6, "what is counted for the total is not the run's reading"
    # As if it had been killed after the first batch.
    for shard in sorted((tmp_path / "run").glob("*-0000[12].parquet")):
        shard.unlink()
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    (tmp_path / "run/manifest.json").write_text(json.dumps({**manifest, "state": "running"}))
    seen.clear()
    with watching(Watch()):
        robust.evaluate(data, out=tmp_path / "run", resume=True)
    assert seen[0][0] == 2 and seen[0][2] == 6 and seen[-1] == (2, 6, 6)


# ---- a terminal


PROGRAM = """
import sys, time
from sensecheck import calibrated
from sensecheck.calibrated.evaluation import Calibrated
from sensecheck.cli import main
from sensecheck.cli import progress
progress._RHYTHM["line"] = progress._RHYTHM["plain"] = (0.05, 0.05)
batches = Calibrated.batches
def slowly(self, done):
    for batch in batches(self, done):
        time.sleep({seconds})
        yield batch
Calibrated.batches = slowly
sys.exit(main(sys.argv[1:]))
"""


def in_terminal(columns: int, *argv: str, seconds: float = 0.6, interrupt: bool = False) -> tuple[int, str, str]:
    """A command whose standard error is a terminal: its exit code, what it printed, and what the terminal was sent."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(seconds=seconds), *argv], stdout=subprocess.PIPE, stderr=slave, text=True
    )
    os.close(slave)
    sent, interrupted = b"", False

    def listen():
        nonlocal sent, interrupted
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # the other end is closed
                return
            if not piece:
                return
            sent += piece
            if interrupt and not interrupted and b"measuring" in sent:
                interrupted = True
                process.send_signal(signal.SIGINT)

    listening = threading.Thread(target=listen)
    listening.start()
    out, _ = process.communicate(timeout=120)
    listening.join(10)
    os.close(master)
    return process.returncode, out, sent.decode()


def on_screen(sent: str) -> list[str]:
    """The lines that a terminal shows of what it was sent."""
    lines, line, at = [], [], 0
    for character in sent:
        if character == "\r":
            at = 0
        elif character == "\b":
            at -= 1
        elif character == "\n":
            lines.append("".join(line).rstrip())
            line, at = [], 0
        else:
            line[at : at + 1] = character
            at += 1
    return [*lines, "".join(line).rstrip()]


@pytest.mark.parametrize("columns", [20, 100])
def test_in_a_terminal_one_line_is_drawn_and_wiped(answers, columns):
    code, out, sent = in_terminal(columns, "calibrated", str(answers))
    assert code == 0 and "ECE" in out
    drawn = [piece.rstrip("\b").rstrip() for piece in sent.split("\r") if piece.strip()]
    assert any(re.match("(reading and )?measuring: ", piece) for piece in drawn), drawn
    assert max(map(len, drawn)) < columns and "\n" not in sent
    assert on_screen(sent) == [""]


def test_a_dumb_terminal_gets_plain_lines(answers, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    code, out, sent = in_terminal(100, "calibrated", str(answers))
    assert code == 0 and "ECE" in out
    lines = sent.replace("\r\n", "\n").splitlines()
    assert len(lines) >= 2 and all(re.fullmatch("[ -~]+", line) for line in lines), sent


def test_an_error_stands_on_a_clean_line(answers):
    with answers.open("a") as file:
        file.write("".join("0.5,1\n" for _ in range(2_000_000)) + "0.5,perhaps\n")
    code, out, sent = in_terminal(100, "calibrated", str(answers))
    assert (code, out) == (2, "")
    assert "reading and measuring: " in sent
    shown = on_screen(sent)
    assert len(shown) == 2 and shown[0].startswith("sensecheck: error: ") and not shown[1]


def test_an_interrupt_leaves_a_clean_line(answers):
    code, _, sent = in_terminal(100, "calibrated", str(answers), seconds=60, interrupt=True)
    assert code == 3
    shown = on_screen(sent)
    assert [line for line in shown if line] == [
        "sensecheck: stopped. With --out, the same command with --resume continues from here."
    ]


INTERRUPTED = """
import os, signal, sys
from sensecheck.calibrated.evaluation import Calibrated
from sensecheck.cli import main
def batches(self, done):
    def file():
        try:
            yield
        finally:
            os.kill(os.getpid(), signal.SIGINT)  # while it is closed because of the first
    opened = file()
    next(opened)
    exec("os.kill(os.getpid(), signal.SIGINT)")
    yield
Calibrated.batches = batches
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


def test_an_interrupt_that_comes_twice_is_one(answers):
    """`timeout -s INT` sends it to the process and to its group."""
    command = [sys.executable, "-c", INTERRUPTED, "calibrated", str(answers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3, "and not that of a killed process"
    assert done.stderr.split("\n") == [
        "", "sensecheck: stopped. With --out, the same command with --resume continues from here.", "",
    ]  # fmt: skip


def test_a_second_interrupt_is_heard_later(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        cli._interrupt()
    cli._interrupt()
    monkeypatch.setattr(cli, "_interrupted", time.monotonic() - 2)
    with pytest.raises(KeyboardInterrupt):
        cli._interrupt()


def test_without_a_standard_error_the_figures_are_printed(answers):
    command = f'"{sys.executable}" -m sensecheck calibrated "{answers}" --verbose --progress json 2>&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "ECE" in done.stdout


def test_the_options_are_explained():
    parser = argparse.ArgumentParser()
    told.add_progress(parser.add_argument_group("output"))
    shown = parser.format_help()
    assert all(option in shown for option in ("--progress", "--quiet", "--verbose", *told.STYLES))


def test_interrupts_again_and_again_are_heard_every_second(monkeypatch):
    from sensecheck import cli

    heard = []
    monkeypatch.setattr(cli, "_interrupted", -1.0)
    for tenths in range(0, 31, 5):
        monkeypatch.setattr(cli.time, "monotonic", lambda tenths=tenths: 100 + tenths / 10)
        try:
            cli._interrupt()
        except KeyboardInterrupt:
            heard.append(tenths)
    assert heard == [0, 15, 30]
