"""Train the small NLI model that ships with the package, and write its weights and card.

    python scripts/train_small_nli.py --data ../shared/data/nli

Reads train_snli.jsonl and train_cad.jsonl; snli_dev_2000.jsonl and cad_nli_test_2000.jsonl are only measured at the
end. Besides the pairs themselves, a share of sentences is paired with what the sentence rules make of them, so that the
model knows what a negation and a synonym do. Needs torch; takes a few minutes of one core.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from pathlib import Path

import numpy as np
import torch

from sensecheck.language.rewriting.engine import rewrite
from sensecheck.models.small_nli import LABELS, hashed

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "sensecheck" / "models"
BUCKETS = 1 << 17
HIDDEN = 16

Pair = tuple[str, str, int]


def read(path: Path) -> list[Pair]:
    pairs = []
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        if record["label"] in LABELS:
            pairs.append((record["premise"], record["hypothesis"], LABELS.index(record["label"])))
    return pairs


def by_rule(pairs: list[Pair], count: int, seed: int) -> list[Pair]:
    """Sentences with what follows from them and what contradicts them, in both directions where both hold."""
    rng = random.Random(seed)
    made: list[Pair] = []
    for _, sentence, _ in rng.sample(pairs, count):
        for positive in (True, False):
            statements = rewrite(sentence, positive, 10)
            for found in rng.sample(statements, min(1, len(statements))):
                made.append((sentence, found.text, 0 if positive else 2))
                if found.relation in ("equivalent", "contradicts"):
                    made.append((found.text, sentence, 0 if positive else 2))
    return made


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.direct = torch.nn.EmbeddingBag(BUCKETS, 3, mode="sum", sparse=True)
        self.hidden = torch.nn.EmbeddingBag(BUCKETS, HIDDEN, mode="sum", sparse=True)
        self.output = torch.nn.Linear(HIDDEN, 3)
        self.hidden_bias = torch.nn.Parameter(torch.zeros(HIDDEN))
        torch.nn.init.zeros_(self.direct.weight)
        torch.nn.init.normal_(self.hidden.weight, std=0.05)

    def forward(self, index: torch.Tensor, offsets: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        root = lengths.float().clamp(min=1).rsqrt()[:, None]
        hidden = torch.tanh(self.hidden(index, offsets) * root + self.hidden_bias)
        return self.direct(index, offsets) + self.output(torch.nn.functional.dropout(hidden, 0.2, self.training))


def batch_of(rows: list[list[int]], drop: float, rng: np.random.Generator) -> tuple[torch.Tensor, ...]:
    if drop:
        rows = [[f for f, keep in zip(row, rng.random(len(row)) >= drop, strict=True) if keep] for row in rows]
    lengths = torch.tensor([len(row) for row in rows])
    index = torch.tensor([f for row in rows for f in row], dtype=torch.long)
    return index, torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)[:-1]]), lengths


def accuracy(model: Model, rows: list[list[int]], labels: list[int]) -> float:
    model.eval()
    with torch.no_grad():
        predicted = model(*batch_of(rows, 0.0, np.random.default_rng(0))).argmax(1)
    return float((predicted == torch.tensor(labels)).float().mean())


def train(rows: list[list[int]], labels: list[int], args: argparse.Namespace) -> Model:
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    model = Model()
    # Only the rows of a batch's features change: a dense optimiser would spend its time on the others.
    tables = torch.optim.SparseAdam(
        [
            {"params": list(model.direct.parameters()), "lr": args.rate},
            {"params": list(model.hidden.parameters()), "lr": args.rate / 2},
        ]
    )
    dense = torch.optim.Adam([*model.output.parameters(), model.hidden_bias], lr=args.rate / 2)
    steps = args.epochs * (len(rows) // args.batch)
    schedules = [torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.05, steps) for o in (tables, dense)]
    targets = torch.tensor(labels)
    for epoch in range(args.epochs):
        model.train()
        order, total = rng.permutation(len(rows)), 0.0
        for start in range(0, len(rows) - args.batch + 1, args.batch):
            chosen = order[start : start + args.batch]
            logits = model(*batch_of([rows[i] for i in chosen], args.drop, rng))
            loss = torch.nn.functional.cross_entropy(logits, targets[chosen], label_smoothing=0.05)
            for optimiser in (tables, dense):
                optimiser.zero_grad(set_to_none=True)
            loss.backward()
            for optimiser, schedule in zip((tables, dense), schedules, strict=True):
                optimiser.step()
                schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}: loss {total / (len(rows) // args.batch):.3f}", flush=True)
    return model


def quantise(weights: torch.Tensor) -> tuple[np.ndarray, float]:
    values = weights.detach().numpy()
    scale = float(np.abs(values).max() / 127)
    return np.round(values / scale).astype(np.int8), scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=0.004)
    parser.add_argument("--drop", type=float, default=0.3)
    parser.add_argument("--by-rule", type=int, default=4000, help="sentences to pair with their rewrites")
    parser.add_argument("--dry", action="store_true", help="measure only, write nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)

    started = time.process_time()
    train_snli, train_cad = read(args.data / "train_snli.jsonl"), read(args.data / "train_cad.jsonl")
    real = train_snli + train_cad
    made = by_rule(real, args.by_rule, args.seed)
    pairs = real + made
    rows = [hashed(p, h, BUCKETS) for p, h, _ in pairs]
    print(f"{len(real)} pairs, {len(made)} by rule, features in {time.process_time() - started:.0f} s")
    model = train(rows, [y for _, _, y in pairs], args)

    scores = {}
    for name in ("snli_dev_2000", "cad_nli_test_2000"):
        held = read(args.data / f"{name}.jsonl")
        scores[name] = accuracy(model, [hashed(p, h, BUCKETS) for p, h, _ in held], [y for _, _, y in held])
    print(scores, f"{time.process_time() - started:.0f} s CPU")
    if args.dry:
        return

    direct, direct_scale = quantise(model.direct.weight)
    hidden, hidden_scale = quantise(model.hidden.weight)
    revision = hashlib.sha256(direct.tobytes() + hidden.tobytes()).hexdigest()[:12]
    card = {"revision": revision, "accuracy": scores, "pairs": len(real), "pairs_by_rule": len(made), "labels": LABELS}
    np.savez_compressed(
        TARGET / "small_nli.npz", direct=direct, hidden=hidden,
        scales=np.array([direct_scale, hidden_scale], np.float32),
        output=model.output.weight.detach().numpy().T.astype(np.float32),
        bias=model.output.bias.detach().numpy().astype(np.float32),
        hidden_bias=model.hidden_bias.detach().numpy().astype(np.float32), card=np.array(json.dumps(card)),
    )  # fmt: skip
    print("written", TARGET / "small_nli.npz", (TARGET / "small_nli.npz").stat().st_size, "bytes, revision", revision)


if __name__ == "__main__":
    main()
