"""The same kill test against a server that is not ours: transformers' own `serve`, with a tiny random model."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.slow]

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("fastapi", reason="transformers serve needs fastapi and uvicorn")
pytest.importorskip("uvicorn", reason="transformers serve needs fastapi and uvicorn")

LABELS = ("entailment", "neutral", "contradiction")
WORDS = [
    "read",
    "the",
    "following",
    "and",
    "determine",
    "if",
    "hypothesis",
    "can",
    "be",
    "inferred",
    "from",
    "premise",
    "answer",
    "with",
    "one",
    "word",
    "a",
    "man",
    "is",
    "not",
    "eating",
    "food",
    "woman",
    "dog",
    "runs",
]


def save_tiny_model(folder: Path) -> None:
    """A two-layer Llama over words that can only say label names; which one depends on the prompt."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(["<pad>", "<unk>", "<s>", "</s>", *LABELS, *WORDS]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
    made.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    made.save_pretrained(folder)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            vocab_size=len(vocabulary),
            max_position_embeddings=512,
            tie_word_embeddings=False,
            bos_token_id=2,
            eos_token_id=3,
            pad_token_id=0,
        )
    )
    with torch.no_grad():
        rows = model.lm_head.weight
        rows.mul_(0.0)
        rows[[vocabulary[label] for label in LABELS]] = torch.randn(3, 32)
    model.generation_config.max_new_tokens = 4
    model.save_pretrained(folder)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_model(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = Path(sys.executable).parent / "transformers"
    process = subprocess.Popen(
        [str(command), "serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    base = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 150
    while True:
        try:
            urllib.request.urlopen(f"{base}/health", timeout=2).read()
            break
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline or process.poll() is not None:
                process.kill()
                pytest.skip("transformers serve did not start here")
            time.sleep(0.5)
    yield f"{base}/v1#{folder}"
    process.kill()
    process.wait()


_RUN = """
import sys
from sensecheck.cli import main
sys.exit(main(["robust", sys.argv[1], "--model", sys.argv[2], "--out", sys.argv[3], "--all-pairs", "--keep", "1",
    "--candidates", "1", "--concurrency", "2", "--max-tokens", "2", "--no-label-check", "--resamples", "50",
    "--format", "json", *sys.argv[4:]]))
"""


def _figures(out: Path) -> Any:
    summary = json.loads((out / "summary.json").read_text())
    return summary["figures"], summary["extra"]["funnel"]


def test_a_real_server_and_a_killed_client(served: str, tmp_path: Path) -> None:
    data = tmp_path / "pairs.jsonl"
    texts = ("A man is eating food.", "A dog runs.", "The man runs.")
    with data.open("w") as out:
        for i, premise in enumerate(texts):
            out.write(json.dumps({"premise": premise, "hypothesis": texts[i - 1], "label": i % 3}) + "\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(folder: str, *more: str) -> list[str]:
        return [sys.executable, "-c", _RUN, str(data), served, str(tmp_path / folder), *more]

    def recorded() -> int:
        path = tmp_path / "rough" / "calls.sqlite"
        if not path.exists():
            return 0
        database = sqlite3.connect(path)
        try:
            return int(database.execute("SELECT count(*) FROM calls").fetchone()[0])
        except sqlite3.OperationalError:
            return 0
        finally:
            database.close()

    calm = subprocess.run(run("calm"), env=environment, capture_output=True, text=True)
    assert calm.returncode == 0, calm.stderr
    for step in range(3):
        more = ("--resume",) if (tmp_path / "rough" / "manifest.json").exists() else ()
        before = recorded()
        process = subprocess.Popen(
            run("rough", *more), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 120
        while process.poll() is None and recorded() < before + 3 + step and time.monotonic() < deadline:
            time.sleep(0.02)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
    finished = subprocess.run(run("rough", "--resume"), env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert _figures(tmp_path / "rough") == _figures(tmp_path / "calm")
