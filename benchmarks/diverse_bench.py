"""How fast `diverse` scores pairs, beside nltk and sacrebleu in the same run; how its time grows; what it holds.

    python -m benchmarks diverse_bench [GOLDEN] [--files all] [--beam-sets N] [--stream N]

GOLDEN (default: ../shared/golden/diverse beside the repository) is the folder with `lsdscc/references.json` and
`lsdscc/*.hyp.txt`. Times are CPU seconds from tokenised lists to scores, the best of several rounds for sensecheck and
of one for the peers (they take long enough). Every peer's score is checked against ours while it is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.golden import SHARED
from sensecheck.diverse.batches import measured
from sensecheck.diverse.bleu import NltkBleu, SentenceBleu, pair_counts
from sensecheck.diverse.measure import MeasureOptions
from sensecheck.diverse.ngrams import index_sets
from sensecheck.diverse.original import HypothesisSet, ReferenceSet, score_table
from sensecheck.diverse.records import SetRecord

FILES = ["fake_hypo", "corrupt20", "corrupt60", "cross5", "generic6", "truncated", "concat", "nistsafe8", "sampled5"]
Sets = list[Any]


def cpu(work: Callable[[], Any], rounds: int = 1) -> tuple[float, Any]:
    best, value = math.inf, None
    for _ in range(rounds):
        start = time.process_time()
        value = work()
        best = min(best, time.process_time() - start)
    return best, value


def nltk_scores(hypotheses: Sets, references: Sets) -> list[float]:
    from nltk.translate.bleu_score import sentence_bleu

    pairs = zip(hypotheses, references, strict=True)
    return [sentence_bleu(group, one) for sets, groups in pairs for one in sets for group in groups]


def sacrebleu_scores(peer: Any, hypotheses: Sets, references: Sets) -> list[float]:
    pairs = zip(hypotheses, references, strict=True)
    return [peer.sentence_score(one, group).score for sets, groups in pairs for one in sets for group in groups]


def side_by_side(folder: Path, name: str, limit: int | None) -> dict[str, Any]:
    import nltk.translate.bleu_score  # noqa: F401 (imported before anything is timed)
    import sacrebleu

    hypotheses: Sets = [list(one) for one in HypothesisSet.load_corpus(folder / f"{name}.hyp.txt")][:limit]
    references: Sets = [list(one) for one in ReferenceSet.load_json_corpus(folder / "references.json")][:limit]
    ours_nltk, our_nltk_scores = cpu(lambda: NltkBleu()(pair_counts(index_sets(hypotheses, references), 4)), 7)
    ours_sacre, our_sacre_scores = cpu(lambda: SentenceBleu()(pair_counts(index_sets(hypotheses, references), 4)), 7)
    ours_lsdscc, _ = cpu(lambda: score_table(hypotheses, references), 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nltk_time, nltk_values = cpu(lambda: nltk_scores(hypotheses, references))
    assert our_nltk_scores.tolist() == nltk_values, "scores differ from nltk's"
    joined = [[" ".join(one) for one in sets] for sets in hypotheses]
    joined_references = [[[" ".join(one) for one in group] for group in groups] for groups in references]
    peer = sacrebleu.BLEU(tokenize="none", effective_order=True, force=True)
    sacre_time, sacre_values = cpu(lambda: sacrebleu_scores(peer, joined, joined_references))
    assert np.allclose(our_sacre_scores, np.array(sacre_values) / 100, rtol=1e-12, atol=1e-15), "differ from sacrebleu"
    return {
        "file": name, "pairs": len(nltk_values), "nltk": nltk_time, "sacrebleu": sacre_time, "as nltk": ours_nltk,
        "as sacrebleu": ours_sacre, "as lsdscc": ours_lsdscc,
    }  # fmt: skip


def print_pairs(rows: list[dict[str, Any]]) -> None:
    print("\nCPU seconds for all pairs (hypothesis, group), tokenised lists to scores; scores equal the peers'")
    print(f"{'file':<12}{'pairs':>8}{'nltk':>9}{'sacrebleu':>11}{'as nltk':>10}{'as sacre':>10}{'as lsdscc':>11}"
          f"{'× nltk':>9}{'× sacrebleu':>13}{'lsdscc × nltk':>15}")  # fmt: skip
    for r in rows:
        print(f"{r['file']:<12}{r['pairs']:>8}{r['nltk']:>9.2f}{r['sacrebleu']:>11.2f}{r['as nltk']:>10.4f}"
              f"{r['as sacrebleu']:>10.4f}{r['as lsdscc']:>11.4f}{r['nltk'] / r['as nltk']:>9.0f}"
              f"{r['sacrebleu'] / r['as sacrebleu']:>13.0f}{r['nltk'] / r['as lsdscc']:>15.0f}")  # fmt: skip


def synthetic(rng: random.Random, sets: int, hypotheses: int, references: int, length: int) -> tuple[Sets, Sets]:
    def sentence() -> list[str]:
        return [f"w{int(rng.paretovariate(1.1))}" for _ in range(length)]

    return (
        [[sentence() for _ in range(hypotheses)] for _ in range(sets)],
        [[[sentence() for _ in range(references)] for _ in range(3)] for _ in range(sets)],
    )


def scaling() -> None:
    """Double one thing at a time; the slope of log time over log size is 1 where time is linear."""
    print("\ntime against size (slope 1 = linear; below 1: the other side of the pairs, and fixed costs)")
    base = {"sets": 200, "hypotheses": 8, "references": 3, "length": 16}
    for what in base:
        times = []
        sizes = [1, 2, 4, 8]
        for factor in sizes:
            data = synthetic(random.Random(factor), **{**base, what: base[what] * factor})
            times.append(cpu(lambda data=data: score_table(*data), 5)[0])  # type: ignore[misc]
        slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
        print(f"  {what:<11} ×1 ×2 ×4 ×8: " + " ".join(f"{t * 1000:7.1f} ms" for t in times) + f"   slope {slope:.2f}")


def streaming(sets: int) -> None:
    """All figures of many sets, batch after batch: the peak of memory must not grow with their number."""
    rng = random.Random(0)
    words = [f"w{i}" for i in range(2000)]
    pool = [tuple(" ".join(rng.choices(words, k=8)) for _ in range(3)) for _ in range(5000)]
    options = MeasureOptions()
    print(f"\nstreaming {sets:,} sets of 3 responses and 4 references, all figures, in batches of 512")
    start = time.process_time()
    done, total, mark = 0, 0.0, max(1, sets // 4)
    following = mark
    while done < sets:
        size = min(512, sets - done)
        records = []
        for i in range(done, done + size):
            own, other = rng.choice(pool), rng.choice(pool)
            groups = ((own[0], other[0]), (other[1], other[2]))
            records.append(SetRecord(str(i), own, groups, ("0", "1"), chance=tuple(rng.choices(pool, k=2))))
        total += float(measured(records, options).measurements["mds"].sum())
        done += size
        if done >= following:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            spent = time.process_time() - start
            print(f"  {done:>10,} sets  {spent:8.1f} s CPU  {done / spent:8.0f} sets/s  peak memory {peak:7.0f} MiB")
            following += mark
    print(f"  mean MDS {total / sets:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", type=Path, nargs="?", default=SHARED / "golden/diverse")
    parser.add_argument("--files", default="fake_hypo,corrupt20,generic6", help="comma-separated, or 'all'")
    parser.add_argument("--beam-sets", type=int, default=60, help="sets of beam50 to time (0: all 299)")
    parser.add_argument("--stream", type=int, default=20_000, help="sets to stream")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args()
    folder = options.golden / "lsdscc"
    names = FILES if options.files == "all" else options.files.split(",")
    rows = [side_by_side(folder, name, None) for name in names]
    rows.append(side_by_side(folder, "beam50", options.beam_sets or None))
    print_pairs(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    scaling()
    streaming(options.stream)


if __name__ == "__main__":
    main()
