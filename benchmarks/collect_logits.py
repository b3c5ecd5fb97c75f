"""Tokens a second when a model's answers are collected: `sensecheck.models.logits` against a plain loop.

The plain loop is what people write and what the format's first tool did: batches of 8 in the order of the file,
softmax and `argsort` over the whole vocabulary, the last k kept, one JSON object a line. Both run the same model (of
t5-large's shape, random weights) in the same precision on the same examples, and both write their file.

    PYTHONPATH=src python benchmarks/collect_logits.py --device cuda      # t5-large's shape
    PYTHONPATH=src python benchmarks/collect_logits.py --device cpu       # a tiny model, to see that it runs

Needs torch, transformers and numpy alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sensecheck.models.token_budget import padded, plan
from transformers import T5Config, T5ForConditionalGeneration

from sensecheck.models.logits import collect

TOP_K = 5
SHAPES: dict[str, dict[str, int]] = {
    "t5-large": {"d_model": 1024, "d_kv": 64, "d_ff": 4096, "num_layers": 24, "num_heads": 16, "vocab_size": 32128},
    "tiny": {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 2048},
}
TARGET = 10.0
SLACK = 2e-2
"""How far two precisions' roundings may put the same probability apart when the two loops are checked."""


def examples(count: int, vocabulary: int, seed: int = 7) -> list[dict[str, Any]]:
    """Questions and queries of the lengths that text-to-SQL has: 12 to 120 tokens in, 10 to 80 out."""
    rng = np.random.default_rng(seed)
    made = []
    for n in range(count):
        source = int(np.clip(rng.lognormal(3.6, 0.5), 12, 120))
        target = int(np.clip(rng.lognormal(3.4, 0.5), 10, 80))
        made.append(
            {
                "id": n,
                "input_ids": [*rng.integers(3, vocabulary, source - 1).tolist(), 1],
                "labels": [*rng.integers(3, vocabulary, target - 1).tolist(), 1],
            }
        )
    return made


def model_of(shape: str, device: str, dtype: torch.dtype) -> Any:
    torch.manual_seed(0)
    config = T5Config(**SHAPES[shape], decoder_start_token_id=0, dropout_rate=0.0)
    torch.set_default_device(device)
    try:
        model = T5ForConditionalGeneration(config)
    finally:
        torch.set_default_device("cpu")
    return model.to(device=device, dtype=dtype).eval()


def plain(model: Any, rows: list[dict[str, Any]], out: Path, device: str) -> int:
    """The loop that everyone writes."""
    tokens = 0
    with torch.no_grad(), out.open("w") as stream:
        for start in range(0, len(rows), 8):
            batch = rows[start : start + 8]
            wide = max(len(r["input_ids"]) for r in batch)
            long = max(len(r["labels"]) for r in batch)
            ids = torch.tensor([r["input_ids"] + [0] * (wide - len(r["input_ids"])) for r in batch], device=device)
            mask = torch.tensor(
                [[1] * len(r["input_ids"]) + [0] * (wide - len(r["input_ids"])) for r in batch], device=device
            )
            labels = torch.tensor([r["labels"] + [-100] * (long - len(r["labels"])) for r in batch], device=device)
            logits = model(input_ids=ids, attention_mask=mask, labels=labels).logits
            probabilities = torch.softmax(logits, dim=-1)
            order = torch.argsort(probabilities, dim=-1)[..., -TOP_K:]
            best = torch.gather(probabilities, -1, order)
            at_label = torch.gather(logits, -1, labels.clamp(min=0)[..., None])[..., 0]
            for i, row in enumerate(batch):
                n = len(row["labels"])
                record = {
                    "id": row["id"],
                    "top_logits": best[i, :n].float().cpu().tolist(),
                    "top_logit_idxs": order[i, :n].cpu().tolist(),
                    "labels": labels[i, :n].cpu().tolist(),
                    "logit_at_label": at_label[i, :n].float().cpu().tolist(),
                }
                stream.write(json.dumps(record) + "\n")
                tokens += n
    return tokens


def timed(work: Any, device: str) -> tuple[int, float]:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    tokens = work()
    if device == "cuda":
        torch.cuda.synchronize()
    return tokens, time.perf_counter() - start


def agreement(a: Path, b: Path) -> float:
    """The largest difference of the best token's probability between the two files, over their common lines."""
    worst = 0.0
    with a.open() as first, b.open() as second:
        for x, y in zip(first, second, strict=False):
            p, q = json.loads(x), json.loads(y)
            assert p["id"] == q["id"] and p["labels"] == q["labels"]
            best = np.asarray(p["top_logits"]).max(axis=1) - np.asarray(q["top_logits"]).max(axis=1)
            worst = max(worst, float(np.abs(best).max()))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--shape", choices=sorted(SHAPES))
    parser.add_argument("--examples", type=int)
    parser.add_argument("--token-budget", type=int)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    args = parser.parse_args()
    device = args.device
    shape = args.shape or ("t5-large" if device == "cuda" else "tiny")
    count = args.examples or (16384 if device == "cuda" else 128)
    few = min(count, 400 if device == "cuda" else 64)
    budget = args.token_budget or (16384 if device == "cuda" else 2048)
    print(
        f"torch {torch.__version__}, {torch.cuda.get_device_name() if device == 'cuda' else device}, {shape}",
        flush=True,
    )
    rows = examples(count, SHAPES[shape]["vocab_size"])
    batches = plan([(len(r["input_ids"]), len(r["labels"])) for r in rows], budget)
    real = sum(len(r["input_ids"]) + len(r["labels"]) for r in rows)
    spent = sum(
        len(b) * (padded(max(len(rows[i]["input_ids"]) for i in b)) + padded(max(len(rows[i]["labels"]) for i in b)))
        for b in batches
    )
    print(f"{count:,} examples, {len(batches)} batches within {budget:,} tokens, {1 - real / spent:.1%} padding")
    kinds = [("bfloat16", torch.bfloat16, "model"), ("float32", torch.float32, "model")]
    if device == "cuda":
        kinds.append(("float32 with tf32", torch.float32, "tf32"))
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, dtype, precision in kinds:
            model = model_of(shape, device, dtype)
            ours, theirs = Path(folder) / f"{name}.logits", Path(folder) / f"{name}.plain"

            def quick(model: Any = model, ours: Path = ours, precision: Any = precision, part: Any = rows) -> int:
                done = collect(
                    model, part, ours, top_k=TOP_K, token_budget=budget, device=device, precision=precision,
                    overwrite=True,
                )  # fmt: skip
                return done.tokens

            # tf32 only changes how float32 is multiplied: the plain loop may use it too.
            before = torch.get_float32_matmul_precision()
            torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
            plain(model, rows[:32], theirs, device)
            slow_tokens, slow_time = timed(lambda m=model, t=theirs: plain(m, rows[:few], t, device), device)
            torch.set_float32_matmul_precision(before)
            quick(part=rows[: min(count, 1024)])
            fast_tokens, fast_time = timed(quick, device)
            apart = agreement(ours, theirs)
            fast, slow = fast_tokens / fast_time, slow_tokens / slow_time
            found.append({"precision": name, "ours": fast, "plain": slow, "ratio": fast / slow, "apart": apart})
            print(
                f"{name:<18} sensecheck {fast:>10,.0f} tokens/s   plain loop of 8 {slow:>9,.0f} tokens/s   "
                f"{fast / slow:5.1f}x   (probabilities at most {apart:.1e} apart)",
                flush=True,
            )
            del model
            if device == "cuda":
                torch.cuda.empty_cache()
    if args.json:
        args.json.write_text(json.dumps({"device": device, "shape": shape, "rows": found}, indent=2))
    best = max(f["ratio"] for f in found)
    print(f"best ratio in one and the same precision: {best:.1f}x (target {TARGET:g}x)")
    wrong = [f["precision"] for f in found if f["apart"] > SLACK]
    if wrong:
        print(f"the two files disagree in {', '.join(wrong)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
