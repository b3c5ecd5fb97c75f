"""The kill test against a server that is not ours: transformers' own `serve`, with a tiny random model."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sensecheck.models.prompts import NLI_PROMPT, fill

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


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


kills = _load("kill_moments")
CONCURRENCY = 2


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """Port and model of the running server."""
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny_model(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = Path(sys.executable).parent / "transformers"
    process = subprocess.Popen(
        [str(command), "serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=(said := (folder / "server.log").open("w")),
    )
    deadline = time.monotonic() + 150
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).read()
            break
        except (urllib.error.URLError, OSError):
            told = (folder / "server.log").read_text()
            if process.poll() is not None and ("ImportError" in told or "pip install" in told):
                pytest.skip(f"transformers serve lacks a library here: {told.strip().splitlines()[-1]}")
            if time.monotonic() > deadline or process.poll() is not None:
                process.kill()
                pytest.fail(f"transformers serve did not start: {told[-2000:]}")
            time.sleep(0.5)
    yield port, str(folder)
    process.kill()
    process.wait()
    said.close()


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


def test_a_real_server_and_a_client_killed_ten_times(served: tuple[int, str], tmp_path: Path) -> None:
    """kill -9 at ten seeded moments: the figures of an undisturbed run, and nothing recorded is asked for again."""
    data = tmp_path / "pairs.jsonl"
    texts = [
        f"{who} {does}."
        for who in ("A man", "The dog", "A woman")
        for does in ("is eating food", "runs", "is not eating")
    ]
    with data.open("w") as out:
        for i, premise in enumerate(texts):
            out.write(json.dumps({"premise": premise, "hypothesis": texts[i - 1], "label": i % 3}) + "\n")
    port, model = served

    def command(proxy: Any, folder: Path, more: list[str]) -> list[str]:
        url = f"http://127.0.0.1:{proxy.server_address[1]}/v1#{model}"
        return [sys.executable, "-c", _RUN, str(data), url, str(folder), *more]

    calm = kills.before("127.0.0.1", port)
    kills.killed_run(calm.books, [], lambda resume: command(calm, tmp_path / "calm", []), set, tmp_path / "calm")
    calm.shutdown()
    asked = calm.books.asked["process-0"]
    assert len(asked) == len(set(asked)), "an undisturbed run asks everything once"

    rough, out_dir = kills.before("127.0.0.1", port), tmp_path / "rough"

    def recorded() -> set[str]:
        return {fill(NLI_PROMPT, *text.split("\x1f")) for text in kills.recorded_texts(out_dir) if "\x1f" in text}

    faults = kills.killed_run(
        rough.books,
        kills.moments(11, len(asked), keep_back=3 * CONCURRENCY),
        lambda resume: command(rough, out_dir, ["--resume"] if resume else []),
        recorded,
        out_dir,
    )
    rough.shutdown()
    print("\ntransformers serve, a tiny Llama:\n" + kills.fault_table(faults))
    assert len(faults) == 10
    assert _figures(out_dir) == _figures(tmp_path / "calm")
    assert all(len(fault.in_flight) <= CONCURRENCY for fault in faults)
    assert all(fault.again <= set().union(*(f.in_flight for f in faults)) for fault in faults)
    assert recorded() == set(asked)
