"""How many pairs a second, from texts to labels: our classifier beside the usual ways of doing it.

    python benchmarks/nli_throughput.py                      # a small model on a CPU, RoBERTa-large on a GPU
    python benchmarks/nli_throughput.py --pairs 40000 --size large --ways ours,unchecked,sorted,pipeline,loop
    python benchmarks/nli_throughput.py --kind deberta --ways ours,loop

`ours` is what a user gets: 16 bits on a GPU, close calls again in float32; `unchecked` leaves that out, `sorted` runs
the same model padded, sorted by length.

The model has random weights, saved and loaded through transformers, with its last layer scaled so that every label
gets a fair share of the pairs; the texts are random words whose lengths are log-normal (about 35 tokens a pair, the
99th percentile at 83). Needs torch, transformers and numpy only. Agreement is measured against float32.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from sensecheck.models.huggingface import SequenceClassifier

SIZES = {
    "large": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    "base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
    "small": {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024},
}
SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "qui",
    "ro",
    "su",
    "ta",
    "ve",
    "wi",
    "xo",
    "yu",
    "za",
]


def random_words(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(SYLLABLES, rng.integers(1, 4))) for _ in range(n)]


def random_pairs(n: int, seed: int = 1) -> list[tuple[str, str]]:
    """Log-normal lengths: median 31 words in all, 99th percentile about 80."""
    rng = np.random.default_rng(seed)
    words = np.array(random_words(5000))
    lengths = np.clip(np.exp(rng.normal(np.log(30), 0.42, n)), 6, 200).astype(int)
    pairs = []
    for length in lengths:
        chosen = rng.choice(words, length)
        cut = max(2, int(length * 0.66))
        pairs.append((" ".join(chosen[:cut]), " ".join(chosen[cut:])))
    return pairs


def save_model(folder: Path, kind: str, size: str, pairs: list[tuple[str, str]], device: str) -> None:
    """A random classifier and a word-level tokenizer; the head is scaled until each label gets at least a fifth."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *random_words(5000)]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=512,
    ).save_pretrained(folder)

    torch.manual_seed(0)
    names = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
    if kind == "deberta":
        config = transformers.DebertaV2Config(
            **SIZES[size],
            vocab_size=len(vocabulary),
            id2label=names,
            pad_token_id=1,
            relative_attention=True,
            position_biased_input=False,
            pos_att_type=["p2c", "c2p"],
            max_relative_positions=256,
        )
    elif kind == "bart":
        s = SIZES[size]
        config = transformers.BartConfig(
            d_model=s["hidden_size"],
            encoder_layers=s["num_hidden_layers"] // 2,
            decoder_layers=s["num_hidden_layers"] // 2,
            encoder_attention_heads=s["num_attention_heads"],
            decoder_attention_heads=s["num_attention_heads"],
            encoder_ffn_dim=s["intermediate_size"],
            decoder_ffn_dim=s["intermediate_size"],
            vocab_size=len(vocabulary),
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=2,
            id2label=names,
        )
    else:
        config = transformers.RobertaConfig(
            **SIZES[size],
            vocab_size=len(vocabulary),
            max_position_embeddings=514,
            type_vocab_size=1,
            id2label=names,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
        )
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    model.save_pretrained(folder)
    head = model.classification_head if kind == "bart" else model.classifier
    head = getattr(head, "out_proj", head)
    sample = SequenceClassifier(str(folder), device=device, dtype="float32", packed=False)
    logits = np.array([answer.logits for batch in sample.stream(pairs[:512]) for _, answer in batch])
    logits = logits[:, [2, 1, 0]]  # back to the model's own order
    spread, centre = logits.std(axis=0), logits.mean(axis=0)
    with torch.no_grad():
        scale = torch.tensor(1.0 / np.maximum(spread, 1e-6), dtype=torch.float32)
        head.weight.mul_(scale[:, None])
        head.bias.copy_((head.bias - torch.tensor(centre, dtype=torch.float32)) * scale)
    model.save_pretrained(folder)


def as_labels(model: SequenceClassifier, pairs: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Duplicates folded, answers in order: (labels, logits)."""
    unique = list(dict.fromkeys(pairs))
    place = {pair: i for i, pair in enumerate(unique)}
    logits = np.empty((len(unique), 3), np.float32)
    for batch in model.stream(unique):
        for i, answer in batch:
            logits[i] = answer.logits
    rows = logits[[place[pair] for pair in pairs]]
    return rows.argmax(1), rows


def ours(folder: Path, device: str, args: argparse.Namespace, **options: Any) -> Callable[..., Any]:
    options.setdefault("dtype", args.dtype)
    model = SequenceClassifier(str(folder), device=device, tokens=args.tokens, **options)

    def run(pairs: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
        return as_labels(model, pairs)

    run.model = model  # type: ignore[attr-defined]
    return run


def plain_loop(folder: Path, device: str, batch: int = 32) -> Callable[..., Any]:
    """Batches in file order, float32, padded: the tutorial."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).to(device).eval()

    def run(pairs: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
        rows = []
        with torch.inference_mode():
            for i in range(0, len(pairs), batch):
                part = pairs[i : i + batch]
                inputs = tokenizer(
                    [p for p, _ in part], [h for _, h in part], padding=True, truncation=True, return_tensors="pt"
                ).to(device)
                rows.append(model(**inputs).logits.float().cpu().numpy())
        logits = np.concatenate(rows)[:, [2, 1, 0]]
        return logits.argmax(1), logits

    return run


def pipeline(folder: Path, device: str, batch: int) -> Callable[..., Any]:
    pipe = transformers.pipeline("text-classification", model=str(folder), device=device)
    index = {"ENTAILMENT": 0, "NEUTRAL": 1, "CONTRADICTION": 2}

    def run(pairs: list[tuple[str, str]]) -> tuple[np.ndarray, None]:
        out = pipe([{"text": p, "text_pair": h} for p, h in pairs], batch_size=batch, truncation=True)
        return np.array([index[o["label"]] for o in out]), None

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    gpu = torch.cuda.is_available()
    parser.add_argument("--device", default="cuda" if gpu else "cpu")
    parser.add_argument("--kind", default="roberta", choices=("roberta", "deberta", "bart"))
    parser.add_argument("--size", default="large" if gpu else "small", choices=tuple(SIZES))
    parser.add_argument("--pairs", type=int, default=40_000 if gpu else 1_000)
    parser.add_argument(
        "--ways", default="ours,unchecked,bfloat16,sorted,pipeline,loop" if gpu else "ours,pipeline,pipeline-1,loop"
    )
    parser.add_argument("--tokens", type=int, default=None, help="tokens a batch")
    parser.add_argument("--dtype", default=None)
    parser.add_argument(
        "--slow-pairs", type=int, default=4_000, help="pairs for the slow ways; their rate is what counts"
    )
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()

    pairs = random_pairs(args.pairs)
    results: dict[str, Any] = {
        "device": args.device,
        "kind": args.kind,
        "size": args.size,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "pairs": len(pairs),
    }
    if args.device == "cuda":
        results["gpu"] = torch.cuda.get_device_name()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_model(folder, args.kind, args.size, pairs, args.device)
        reference_pairs = pairs if args.device == "cuda" else pairs[: args.slow_pairs]
        exact = ours(folder, args.device, args, dtype="float32", packed=False)
        reference, reference_logits = exact(reference_pairs)
        results["shares"] = (np.bincount(reference, minlength=3) / len(reference)).round(3).tolist()
        print(json.dumps(results), flush=True)
        del exact
        ways: dict[str, tuple[Callable[[], Callable[..., Any]], int]] = {
            "ours": (lambda: ours(folder, args.device, args), len(pairs)),
            "ours-packed": (lambda: ours(folder, args.device, args, packed=True), len(pairs)),
            "unchecked": (lambda: ours(folder, args.device, args, recheck=0.0), len(pairs)),
            "bfloat16": (lambda: ours(folder, args.device, args, dtype="bfloat16"), len(pairs)),
            "sorted": (lambda: ours(folder, args.device, args, packed=False), len(pairs)),
            "pipeline": (lambda: pipeline(folder, args.device, 8 if args.device == "cpu" else 64), args.slow_pairs),
            "pipeline-1": (lambda: pipeline(folder, args.device, 1), args.slow_pairs),
            "loop": (lambda: plain_loop(folder, args.device), args.slow_pairs),
        }
        for way in args.ways.split(","):
            make, count = ways[way]
            run = make()
            part = pairs[: min(count, len(pairs))]
            # Warm up on a sample of all lengths: kernels are chosen, memory is there, compiled code is ready.
            run(part[: min(len(part), 4096 if args.device == "cuda" else 64)])
            if args.device == "cuda":
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
            model = getattr(run, "model", None)
            if model is not None:
                model.rechecked = 0
            wall, cpu = time.perf_counter(), time.process_time()
            labels, logits = run(part)
            if args.device == "cuda":
                torch.cuda.synchronize()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            row: dict[str, Any] = {
                "way": way,
                "pairs": len(part),
                "pairs_per_second": round(len(part) / wall, 1),
                "pairs_per_cpu_second": round(len(part) / cpu, 1),
            }
            n = min(len(labels), len(reference))
            row["same_labels_as_fp32"] = round(float((labels[:n] == reference[:n]).mean()), 5)
            if logits is not None:
                row["largest_logit_difference"] = round(float(np.abs(logits[:n] - reference_logits[:n]).max()), 4)
            if model is not None:
                row |= {"rechecked": model.rechecked, "noise": round(model.noise, 6), "halved": model.halved}
            if args.device == "cuda":
                row["gpu_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
            row["rss_gib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
            print(json.dumps(row), flush=True)
            results.setdefault("ways", []).append(row)
            del run, model
            if args.device == "cuda":
                torch.cuda.empty_cache()
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
