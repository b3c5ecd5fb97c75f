"""`sensecheck compare` on files: each is measured, then they are compared like runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sensecheck.cli import main


def log(path, right, scorer="match"):
    """A log of inspect_ai with 40 samples, of which every `right`-th is correct."""
    samples = [
        {
            "id": f"q{at}", "epoch": 1, "input": f"Question {at}?", "target": "x", "metadata": {"topic": "ab"[at % 2]},
            "output": {"choices": [{"message": {"content": "x"}}]},
            "scores": {scorer: {"value": "C" if at % right == 0 else "I"}, "other": {"value": "I"}},
        }
        for at in range(40)
    ]  # fmt: skip
    path.write_text(json.dumps({"status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}))
    return str(path)


@pytest.fixture
def logs(tmp_path):
    return log(tmp_path / "a.json", 1), log(tmp_path / "b.json", 4)


def test_two_logs(logs, capsys):
    assert main(["compare", *logs, "--scorer", "match", "--slice", "topic"]) == 0
    out = capsys.readouterr().out
    assert "a.json is better on accuracy: 1.0000 against b.json's 0.2500" in out
    assert "changes by topic" in out
    assert "ECE" not in out  # there are no confidences, and no figure of them


def test_json_and_a_page(logs, tmp_path, capsys):
    page = tmp_path / "c.html"
    assert main(["compare", *logs, "--scorer", "match", "--format", "json", "--report", str(page)]) == 0
    differences = {one["name"]: one for one in json.loads(capsys.readouterr().out)["differences"]}
    assert differences["accuracy"]["difference"] == -0.75
    assert page.stat().st_size > 1000


def test_a_log_against_a_run(logs, tmp_path, capsys):
    run = str(tmp_path / "run")
    assert main(["calibrated", logs[0], "--scorer", "match", "--out", run]) == 0
    assert main(["compare", run, logs[1], "--scorer", "match"]) == 0
    assert "a.json is better on accuracy" in capsys.readouterr().out
    assert main(["compare", run, logs[1], "--scorer", "match", "--question", "correct"]) == 2
    assert "the run directories answer calibrated, and --question asks for correct" in capsys.readouterr().err
    assert main(["compare", run, run, "--scorer", "match"]) == 2
    assert "--scorer says how files are measured: run directories are measured already" in capsys.readouterr().err


def test_tables_and_replies(tmp_path, capsys):
    for name, shift in (("a", 0.0), ("b", 0.25)):
        rows = [f"{at},{0.5 + shift:.2f},{int(at % 2 == 0)},{'xy'[at % 2]}" for at in range(60)]
        (tmp_path / f"{name}.csv").write_text("id,confidence,right,kind\n" + "\n".join(rows) + "\n")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert main(["compare", *files, "--columns", "correct=right", "--slice", "kind"]) == 0
    assert "a.csv is better on ECE" in capsys.readouterr().out
    for name, text in (("a", "Lima"), ("b", "Oslo")):
        lines = [{"id": str(at), "choices": [{"text": text, "logprobs": {"tokens": [text], "token_logprobs": [-0.5]}}]} for at in range(30)]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "gold.csv").write_text("id,gold\n" + "".join(f"{at},Lima\n" for at in range(30)))
    files = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert main(["compare", *files, "--gold", str(tmp_path / "gold.csv"), "--on", "id"]) == 0
    assert "a.jsonl is better on accuracy: 1.0000 against b.jsonl's 0.0000" in capsys.readouterr().out


def test_a_scorer_for_each_file(logs, capsys):
    assert main(["compare", logs[0], logs[0], "--scorer", "match", "--scorer", "other"]) == 0
    out = capsys.readouterr().out
    assert "match is better on accuracy: 1.0000 against other's 0.0000" in out
    assert "verdicts of several scorers, as asked (match: match, other: other)" in out
    assert main(["compare", *logs, "--scorer", "match", "--scorer", "match"]) == 0
    assert "a.json is better on accuracy: 1.0000 against b.json's 0.2500" in capsys.readouterr().out


def test_folders_that_are_one_input(tmp_path, capsys):
    for name, right in (("a", 1), ("b", 0)):
        folder = tmp_path / name
        folder.mkdir()
        states = [
            {"instance": {"id": f"q{at}", "input": {"text": "?"}, "split": "test", "references": []},
             "request": {"prompt": "?"}, "result": {"success": True, "completions": [{"text": "x", "tokens": []}]}}
            for at in range(30)
        ]  # fmt: skip
        stats = [
            {"instance_id": f"q{at}", "stats": [{"name": {"name": "exact_match"}, "count": 1, "mean": right}]}
            for at in range(30)
        ]
        (folder / "scenario_state.json").write_text(json.dumps({"adapter_spec": {}, "request_states": states}))
        (folder / "per_instance_stats.json").write_text(json.dumps(stats))
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "is better on accuracy: 1.0000 against" in capsys.readouterr().out
    (tmp_path / "c").mkdir()
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "c")]) == 2
    assert "is not a run directory" in capsys.readouterr().err


def test_an_id_that_is_there_twice(tmp_path, capsys):
    files = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    rows = [f"q{at},0.5,{at % 2}" for at in range(8)]
    (tmp_path / "a.csv").write_text("\n".join(["id,confidence,correct", *rows]) + "\n")
    (tmp_path / "b.csv").write_text("\n".join(["id,confidence,correct", *rows, "q3,0.5,0"]) + "\n")
    assert main(["compare", *files]) == 0
    told = "Careful: b.csv has 1 id more than once (q3), and no column sample or epoch tells these rows apart"
    assert told in capsys.readouterr().out
    assert main(["compare", *files, "--format", "json"]) == 0
    assert told in json.loads(capsys.readouterr().out)["verdict"][0]
    assert main(["compare", files[0], files[0]]) == 0
    assert "more than once" not in capsys.readouterr().out


def test_samples_that_the_user_named_are_told_apart(tmp_path, capsys):
    runs = []
    for name in ("a", "b"):
        rows = [f"q{at},{seed},0.5,{at % 2}" for at in range(8) for seed in (1, 2)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,seed,confidence,correct", *rows]) + "\n")
        runs.append(str(tmp_path / name))
        assert main(["calibrated", f"{runs[-1]}.csv", "--repeat", "seed", "--out", runs[-1]]) == 0
    assert main(["compare", *runs]) == 0
    assert "more than once" not in capsys.readouterr().out


def test_epochs_are_told_apart(logs, capsys):
    for path in map(Path, logs):
        whole = json.loads(path.read_text())
        whole["samples"] += [one | {"epoch": 2} for one in whole["samples"]]
        path.write_text(json.dumps(whole))
    assert main(["compare", *logs, "--scorer", "match"]) == 0
    assert "more than once" not in capsys.readouterr().out


def test_what_is_wrong_is_one_message(logs, tmp_path, capsys):
    def told(*arguments):
        assert main(["compare", *arguments]) == 2
        [line] = capsys.readouterr().err.splitlines()
        return line

    assert "holds several scorers: 'match', 'other'" in told(*logs)
    assert "compare takes at least two run directories or files, got 1" in told(logs[0])
    assert "no such run" in told(logs[0], str(tmp_path / "none.json"))
    assert "given once, or once for each file: got 3 for 2 files" in told(*logs, *["--filter", "x"] * 3)
    assert "--scorer is given once, or once for each file: got 3" in told(*logs, *["--scorer", "match"] * 3)
    assert "one of the filters of this log: m, got 'x'" in told(*logs, "--scorer", "match", "--filter", "x")
    (tmp_path / "t.csv").write_text("confidence,correct\n0.5,1\n")
    assert "has no meaning for this input" in told(*[str(tmp_path / "t.csv")] * 2, "--filter", "x")
    other = log(tmp_path / "c.json", 2, scorer="exact")
    assert "expected one of the scorers of this log: exact, other" in told(logs[0], other, "--scorer", "match")
    assert "there is no question 'nope'" in told(*logs, "--question", "nope")
    failed = tmp_path / "d.json"
    failed.write_text((tmp_path / "b.json").read_text().replace('"success"', '"cancelled"'))
    assert "did not finish: its status is 'cancelled'" in told(logs[0], str(failed), "--scorer", "match")
