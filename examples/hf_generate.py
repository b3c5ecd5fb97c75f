"""From a Hugging Face model to a calibration report, in one call.

    python examples/hf_generate.py MODEL dev.jsonl dev.logits --report dev.html

MODEL is a name or a folder; each line of dev.jsonl has `input` and `target` (and, if you like, an `id` and columns to
slice by). Interrupted, the same command with --resume goes on. Needs `pip install 'sensecheck[models]'`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import sensecheck
from sensecheck.cli.progress import progress
from sensecheck.models.logits import MODES, PRECISIONS, collect


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name or folder of a seq2seq or causal model")
    parser.add_argument("examples", type=Path, help="JSONL with input and target")
    parser.add_argument("out", type=Path, help="the .logits file to write")
    parser.add_argument("--mode", choices=MODES, default="forced")
    parser.add_argument("--precision", choices=PRECISIONS, default="model")
    parser.add_argument("--top-k", type=int, default=5)
    parser.add_argument("--device")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--report", type=Path, help="also write the HTML report here")
    args = parser.parse_args()
    examples = [json.loads(line) for line in args.examples.read_text(encoding="utf-8").splitlines() if line.strip()]
    with progress("collecting", "sequences", len(examples)) as advance:
        done = collect(
            args.model, examples, args.out, mode=args.mode, precision=args.precision, top_k=args.top_k,
            device=args.device, resume=args.resume, progress=advance,
        )  # fmt: skip
    print(f"{done.path}: {done.sequences:,} sequences, {done.tokens:,} gold tokens")
    level = "sequence" if args.mode == "generated" else "token"
    result = sensecheck.calibrated.evaluate(done.path, level=level)
    result.show()
    if args.report:
        print(result.to_html(args.report))


if __name__ == "__main__":
    main()
