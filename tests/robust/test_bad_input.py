"""What goes wrong at a stranger's: one message, and the exit code that says whether going on is possible."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main

ROW = {"premise": "A man is playing a guitar on a stage.", "hypothesis": "A man is playing a guitar.", "label": 0}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({**ROW, "premise": f"Scene {i}: a man plays."}) + "\n" for i in range(6)))
    return path


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must end with this code and one line; the line comes back."""

    def run(*command: str, code: int = 2) -> str:
        found = main(["robust", *command])
        said = capsys.readouterr().err
        assert found == code, said
        assert len(said.strip().splitlines()) == 1, said
        return said

    return run


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.jsonl", "", "empty.jsonl: there is no pair to read"),
        ("head.csv", "premise,hypothesis,label\n", "head.csv: there is no pair to read"),
        ("word.txt", "hello\n", "word.txt: there is no pair to read"),
        ("cut.jsonl", '{"premise": "A man', "cut.jsonl:1: expected a complete JSON"),
        ("label.csv", "premise,hypothesis,label\na,b,perhaps\n", "label.csv:2: label: expected entailment, neutral"),
        ("column.csv", "premise,hypo,label\na,b,0\n", "expected a column 'hypothesis'"),
        (
            "text.jsonl",
            '{"premise": 3, "hypothesis": "b", "label": 0}\n',
            "text.jsonl:1: premise: expected a text, got 3",
        ),
    ],
)
def test_files(tmp_path: Path, refused: Callable[..., str], name: str, content: str, told: str) -> None:
    (tmp_path / name).write_text(content)
    assert told in refused(str(tmp_path / name))


def test_functions(pairs: Path, tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("def model(p, h):\n    return [1 / 0]\n\n\ndef few(p, h):\n    return [0]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "there is no module 'nowhere'" in refused(str(pairs), "--model", "py:nowhere:f")
    assert "has no function 'f'" in refused(str(pairs), "--model", "py:mine:f")
    assert "expected py:module:function" in refused(str(pairs), "--model", "py:mine")
    said = refused(str(pairs), "--model", "py:mine:model")
    assert "--model py:mine:model raised ZeroDivisionError: division by zero" in said
    assert "--generator py:mine:few raised TypeError" in refused(
        str(pairs), "--generator", "py:mine:few", "--all-pairs"
    )
    assert "answers for" in refused(str(pairs), "--model", "py:mine:few")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--timeout", "-1"], "--timeout: expected more than 0, got -1"),
        (["--per-minute", "0"], "--per-minute: expected more than 0, got 0"),
        (["--prompt", "Is it so? <premise>"], "--prompt: expected a text that holds <hypothesis>"),
        (["--dtype", "float99"], "--dtype: expected bfloat16, float16, float32, got 'float99'"),
    ],
)
def test_options(pairs: Path, refused: Callable[..., str], options: list[str], told: str) -> None:
    assert told in refused(str(pairs), *options)


@pytest.mark.torch
def test_a_device_that_is_not_there(pairs: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    for option in ("--model", "--generator"):
        said = refused(str(pairs), option, str(tmp_path), "--device", "abacus")
        assert "--device: expected cpu, cuda, cuda:1 …, got 'abacus'" in said
        if not torch.cuda.is_available():
            assert "no CUDA device here" in refused(str(pairs), option, str(tmp_path), "--device", "cuda")


def test_without_the_extra(pairs: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, library, None)
    for option in ("--model", "--generator"):
        said = refused(str(pairs), option, "roberta-large-mnli")
        assert "is not installed" in said and "pip install 'sensecheck[models]'" in said


class Server(ThreadingHTTPServer):
    """Answers `good` calls, then with `status`."""

    daemon_threads = True
    good: float
    status: int
    calls = 0
    lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.calls += 1
            well = self.server.calls <= self.server.good
        body = {"choices": [{"message": {"content": "entailment"}}]} if well else {"error": "no such thing"}
        data = json.dumps(body).encode()
        self.send_response(200 if well else self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server() -> Iterator[Callable[[float, int], str]]:
    made: list[Server] = []

    def start(good: float, status: int) -> str:
        running = Server(("127.0.0.1", 0), Handler)
        running.good, running.status = good, status
        threading.Thread(target=running.serve_forever, daemon=True).start()
        made.append(running)
        return f"http://127.0.0.1:{running.server_address[1]}/v1#m"

    yield start
    for running in made:
        running.shutdown()


def test_nobody_listens(pairs: Path, refused: Callable[..., str]) -> None:
    for address in ("http://127.0.0.1:9/v1#m", "http://no-such-host.invalid/v1#m"):
        for option in ("--model", "--generator"):
            said = refused(str(pairs), option, address, "--all-pairs", code=3)
            assert "cannot be reached" in said and "with --out DIR, answers are kept" in said
    assert "which model of http://127.0.0.1:9/v1?" in refused(str(pairs), "--model", "http://127.0.0.1:9/v1")


def test_a_run_that_found_nobody_can_be_taken_up(
    pairs: Path, tmp_path: Path, server: Callable[[float, int], str], refused: Callable[..., str]
) -> None:
    """The folder is begun: the message says how to go on, as it does for every other stop."""
    command = [str(pairs), "--no-ci", "--out", str(tmp_path / "run"), "--model-name", "m", "--model"]
    said = refused(*command, "http://127.0.0.1:9/v1", code=3)
    assert "run the same command with --resume" in said
    assert main(["robust", *command, server(float("inf"), 200).partition("#")[0], "--resume"]) == 0
    for step in (
        ["generate", str(pairs), "-o", str(tmp_path / "s.csv"), "--generator"],
        ["accuracy", str(pairs), "--model"],
    ):
        assert "with --cache FILE, answers are kept" in refused(*step, "http://127.0.0.1:9/v1#m", code=3)


@pytest.mark.parametrize(
    ("status", "told"), [(401, "$NO_SUCH_KEY, which is not set"), (404, "the model's name there"), (400, "HTTP 400")]
)
def test_refused_from_the_start(
    pairs: Path, server: Callable[[float, int], str], refused: Callable[..., str], status: int, told: str
) -> None:
    said = refused(str(pairs), "--model", server(0, status), "--key-variable", "NO_SUCH_KEY")
    assert f"HTTP {status}" in said and "no such thing" in said and told in said


@pytest.mark.parametrize(("status", "more"), [(401, ()), (500, ("--tries", "1"))])
def test_an_endpoint_that_dies_can_be_taken_up_again(
    pairs: Path,
    tmp_path: Path,
    server: Callable[[float, int], str],
    refused: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    status: int,
    more: tuple[str, ...],
) -> None:
    """After some answers: exit code 3, and --resume goes on with what was answered."""
    out = tmp_path / "run"
    command = [
        str(pairs),
        "--generator",
        "rules",
        "--no-ci",
        "--no-label-check",
        "--out",
        str(out),
        "--model-name",
        "m",
    ]

    def address(url: str) -> str:
        return url.partition("#")[0]

    url = address(server(20, status))
    said = refused(*command, "--model", url, *more, code=3)
    assert re.search(r"\d+ answers are kept in .*calls.sqlite: fix this and run the same command with --resume", said)
    assert main(["robust", *command, "--model", address(server(float("inf"), 200)), "--resume"]) == 0
    resumed = json.loads((out / "summary.json").read_text())["figures"]
    whole = tmp_path / "whole"
    command[command.index(str(out))] = str(whole)
    assert main(["robust", *command, "--model", address(server(float("inf"), 200))]) == 0
    assert json.loads((whole / "summary.json").read_text())["figures"] == resumed
    capsys.readouterr()
