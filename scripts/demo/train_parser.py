"""Trains the demo's two text-to-SQL parsers on Larkhaven's questions and writes what they say of the test
questions.

Both are the same small encoder-decoder transformer over words; what differs is how they were brought up:

- A learned from few questions, for long, with nothing to hold it back: the kind of model that is sure of
  everything;
- B learned from more questions, with dropout and weight decay, and kept the weights that did best on the
  dev set.

For each test question two things are written: the probabilities of every gold token given the gold tokens
before it (teacher forcing; `parser_a.logits.gz`, `parser_b.logits.gz`), and the query that greedy
decoding really gives (`sql_a.jsonl.gz`, `sql_b.jsonl.gz`). Needs torch; a few minutes on two CPU cores:
`python scripts/demo/train_parser.py [OUT_DIR]`.

The seed is fixed and torch runs deterministically, but another torch build or CPU may round differently,
so the files in the repository are those of one run, named in the data card.
"""

from __future__ import annotations

import math
import random
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import questions
import torch
import world
from questions import Pair
from torch import nn

TOP_K = 5
MAX_STEPS = 64
PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]


@dataclass(frozen=True)
class Recipe:
    name: str
    pairs: int
    steps: int
    batch: int
    width: int
    dropout: float
    weight_decay: float
    keep_best: bool  # the weights with the lowest dev loss instead of the last ones
    seed: int


RECIPES = [
    Recipe(
        "a",
        pairs=900,
        steps=1600,
        batch=48,
        width=64,
        dropout=0.0,
        weight_decay=0.0,
        keep_best=False,
        seed=11,
    ),
    Recipe(
        "b",
        pairs=1500,
        steps=1600,
        batch=48,
        width=64,
        dropout=0.2,
        weight_decay=0.05,
        keep_best=True,
        seed=12,
    ),
]


class Vocabulary:
    """One list of words for both sides, so that a name keeps its embedding on its way into the SQL."""

    def __init__(self, pairs: list[Pair]) -> None:
        words = {w for p in pairs for w in questions.question_tokens(p.question) + questions.sql_tokens(p.sql)}
        for table in world.build().values():  # names that no training question happens to use are words too
            for row in table.rows:
                words.update(w for value in row if isinstance(value, str) for w in value.split())
        self.words = SPECIAL + sorted(words)
        self.index = {w: i for i, w in enumerate(self.words)}

    def encode(self, tokens: list[str]) -> list[int]:
        return [self.index.get(t, UNK) for t in tokens]


class Parser(nn.Module):
    def __init__(self, words: int, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(words, width, padding_idx=PAD)
        self.place = nn.Embedding(MAX_STEPS + 8, width)
        self.body = nn.Transformer(
            d_model=width,
            nhead=4,
            num_encoder_layers=2,
            num_decoder_layers=2,
            dim_feedforward=2 * width,
            dropout=dropout,
            batch_first=True,
            norm_first=True,
        )
        self.drop = nn.Dropout(dropout)
        nn.init.normal_(self.embed.weight, std=width**-0.5)

    def _read(self, ids: torch.Tensor) -> torch.Tensor:
        at = torch.arange(ids.shape[1])
        return self.drop(self.embed(ids) * math.sqrt(self.width) + self.place(at))

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Logits of the next word at every place of `target`; the output layer is the embedding itself."""
        padded = source == PAD
        ahead = torch.triu(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool), diagonal=1)
        hidden = self.body(
            self._read(source),
            self._read(target),
            tgt_mask=ahead,
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
            tgt_key_padding_mask=target == PAD,
        )
        logits: torch.Tensor = hidden @ self.embed.weight.T
        return logits


def tensor(rows: list[list[int]]) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def batch(pairs: list[Pair], words: Vocabulary) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    source = tensor([[*words.encode(questions.question_tokens(p.question)), EOS] for p in pairs])
    query = [words.encode(questions.sql_tokens(p.sql)) for p in pairs]
    return source, tensor([[BOS, *q] for q in query]), tensor([[*q, EOS] for q in query])


def loss_of(model: Parser, data: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> torch.Tensor:
    source, given, wanted = data
    logits = model(source, given)
    return nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD)


def shuffled(pairs: list[Pair], size: int, rng: random.Random) -> Iterator[list[Pair]]:
    """Endless batches in random order, each of queries of about one length: less padding, half the time."""
    while True:
        order = sorted(rng.sample(pairs, len(pairs)), key=lambda p: len(questions.sql_tokens(p.sql)))
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        yield from rng.sample(batches, len(batches))


def train(recipe: Recipe, splits: questions.Splits, words: Vocabulary) -> Parser:
    torch.manual_seed(recipe.seed)
    model = Parser(len(words.words), recipe.width, recipe.dropout)
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=2e-3, total_steps=recipe.steps, pct_start=0.1)
    dev = batch(splits.dev, words)
    best, kept = math.inf, model.state_dict()
    batches = shuffled(splits.train[: recipe.pairs], recipe.batch, random.Random(recipe.seed))
    for step in range(1, recipe.steps + 1):
        model.train()
        loss = loss_of(model, batch(next(batches), words))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 200 == 0:
            model.eval()
            with torch.no_grad():
                on_dev = float(loss_of(model, dev))
            print(f"{recipe.name} step {step}: train {float(loss.detach()):.4f} dev {on_dev:.4f}", flush=True)
            if on_dev < best:
                best, kept = on_dev, {k: v.clone() for k, v in model.state_dict().items()}
    if recipe.keep_best:
        model.load_state_dict(kept)
    return model.eval()


def six_digits(values: list[float]) -> list[float]:
    return [float(f"{v:.6g}") for v in values]


@torch.no_grad()
def forced(model: Parser, pair: Pair, identity: str, words: Vocabulary) -> dict[str, object]:
    """What the model gave to every gold token, given the gold tokens before it."""
    source, given, wanted = batch([pair], words)
    logits = model(source, given)[0].float()
    labels = wanted[0]
    top = torch.softmax(logits, dim=-1).topk(TOP_K, dim=-1)
    predicted = logits.argmax(dim=-1)
    return {
        "id": identity,
        "db": pair.db,
        "question_type": pair.question_type,
        "novelty": questions.novelty(pair),
        "input_str": pair.question,
        "tokens": [words.words[int(i)] for i in labels],
        "predicted": [words.words[int(i)] for i in predicted],
        "labels": labels.tolist(),
        # ascending, as torch.argsort gives them and as files of this format are usually written
        "top_logits": [six_digits(row) for row in top.values.flip(-1).tolist()],
        "top_logit_idxs": top.indices.flip(-1).tolist(),
        "logit_at_label": six_digits(logits.gather(1, labels[:, None])[:, 0].tolist()),
    }


@torch.no_grad()
def greedy(model: Parser, pairs: list[Pair], words: Vocabulary) -> list[str]:
    source, _, _ = batch(pairs, words)
    given = torch.full((len(pairs), 1), BOS)
    done = torch.zeros(len(pairs), dtype=torch.bool)
    while given.shape[1] <= MAX_STEPS and not bool(done.all()):
        logits = model(source, given)[:, -1]
        logits[:, [PAD, BOS, UNK]] = -math.inf
        following = logits.argmax(dim=-1)
        following[done] = EOS
        done |= following == EOS
        given = torch.cat([given, following[:, None]], dim=1)
    texts = []
    for row in given[:, 1:].tolist():
        ids = row[: row.index(EOS)] if EOS in row else row
        texts.append(questions.sql_text([words.words[i] for i in ids]))
    return texts


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else world.OUT
    warnings.filterwarnings("ignore", message="enable_nested_tensor")  # torch's own advice to itself
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)  # one thread sums in one order, and batches this small gain nothing from two
    splits = questions.splits()
    words = Vocabulary(splits.train + splits.dev + splits.test)
    ids = [f"q{n:03d}" for n in range(1, len(splits.test) + 1)]
    print(f"{len(words.words)} words, {len(splits.train)} training pairs, {len(splits.test)} test questions")
    for recipe in RECIPES:
        start = time.process_time()
        model = train(recipe, splits, words)
        records = [forced(model, p, i, words) for p, i in zip(splits.test, ids, strict=True)]
        world.save(out, f"parser_{recipe.name}.logits.gz", world.jsonl(records))
        predicted = greedy(model, splits.test, words)
        rows = [
            {
                "id": i,
                "question": p.question,
                "question_type": p.question_type,
                "novelty": questions.novelty(p),
                "db_id": p.db,
                "gold": p.sql,
                "predicted": said,
            }
            for i, p, said in zip(ids, splits.test, predicted, strict=True)
        ]
        world.save(out, f"sql_{recipe.name}.jsonl.gz", world.jsonl(rows))
        exact = sum(r["gold"] == r["predicted"] for r in rows) / len(rows)
        print(f"{recipe.name}: {exact:.3f} exact, {time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
