"""LSDSCC's command: `python -m sensecheck.compat.lsdscc HYPOTHESES -r REFERENCES.json` prints its three lines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sensecheck.compat.lsdscc import HypothesisSet, ReferenceSet, compute_score_on_corpus


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="lsdscc_metrics", description="MaxBLEU, MDS and PDS as LSDSCC prints them")
    parser.add_argument("hypothesis_file", help="one set of hypotheses a line, separated by eos")
    parser.add_argument("--eos", "-e", help="what separates the hypotheses of a line (default: </s>)")
    parser.add_argument("--reference_file", "-r", help="JSON file {query: {group: [reference, ...]}}")
    options = parser.parse_args(arguments)
    hypotheses = HypothesisSet.load_corpus(options.hypothesis_file, options.eos)
    references = ReferenceSet.load_json_corpus(options.reference_file)
    score = compute_score_on_corpus(hypotheses, references)
    print(f"MaxBLEU: {score.max_bleu:f}")
    print(f"MDS: {score.mds:f}")
    print(f"PDS: {score.pds:f}")


if __name__ == "__main__":
    main()
