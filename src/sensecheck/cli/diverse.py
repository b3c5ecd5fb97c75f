"""`sensecheck diverse`: do the responses cover the different good answers?"""

from __future__ import annotations

import argparse
from pathlib import Path

from sensecheck.cli.options import Parser, add_common, every_question, finish, positive
from sensecheck.cli.progress import progress
from sensecheck.diverse.figures import DEFAULT_AT, DEFAULT_ORDERS
from sensecheck.diverse.records import DONORS
from sensecheck.diverse.tokens import TOKENIZERS
from sensecheck.diverse.variety import EAD_VOCABULARY


def parser() -> Parser:
    made = Parser(
        prog="sensecheck diverse",
        description="How many of the different good answers do the responses reach, how near do they come, and is "
        "that better than chance?",
        epilog="examples:\n"
        "  sensecheck diverse hyps.txt --references refs.json --out run/\n"
        "  sensecheck diverse responses.jsonl --tokenize 13a --slice topic\n"
        "  sensecheck diverse hyps.txt --references refs.json --as lsdscc",
    )
    made.add_argument(
        "hypotheses", nargs="+",
        help="one set of responses a line, separated by --eos; or JSONL, JSON, Parquet or CSV with a field "
        "'hypotheses' and, if you like, 'id', 'query' and 'references'; - for stdin",
    )  # fmt: skip
    read = made.add_argument_group("references and queries")
    read.add_argument(
        "--references", "-r", metavar="FILE",
        help="{query: {group: [reference]}} as JSON, or one line of references a query, or a table",
    )  # fmt: skip
    read.add_argument("--eos", "-e", metavar="TEXT", help="what separates the responses of a line (default: </s>)")
    read.add_argument(
        "--queries", metavar="FILE",
        help="the query of each line of responses: references are found by its text, not by position",
    )  # fmt: skip
    how = made.add_argument_group("how responses are aligned with groups of references")
    how.add_argument("--aligner", metavar="NAME",
                     help="bleu[:ORDER[:SMOOTHING]] (default), nltk-bleu[:METHOD], nist[:ORDER], embedding:MODEL, "
                     "vectors:FILE")  # fmt: skip
    how.add_argument(
        "--tokenize", choices=TOKENIZERS, default="whitespace",
        help="how text is cut into words; all but whitespace as in sacrebleu (default: whitespace)",
    )  # fmt: skip
    how.add_argument("--lowercase", action="store_true", help="compare words without regard to case")
    how.add_argument(
        "--relevance", type=float, metavar="SCORE",
        help="a response counts from this score on; 0: any above 0 (default: 0.1 for bleu, else 0)",
    )  # fmt: skip
    how.add_argument(
        "--donors", type=_whole, default=DONORS, metavar="N",
        help=f"other queries whose responses make a query's chance baseline; 0: none (default: {DONORS})",
    )  # fmt: skip
    more = made.add_argument_group("figures")
    more.add_argument("--at", type=_list, default=DEFAULT_AT, metavar="K,K",
                      help=f"numbers of responses for MDS@k (default: {','.join(map(str, DEFAULT_AT))})")  # fmt: skip
    more.add_argument("--orders", type=_list, default=DEFAULT_ORDERS, metavar="N,N",
                      help="n of distinct-n, EAD, Ent-n and n-gram recall "
                      f"(default: {','.join(map(str, DEFAULT_ORDERS))})")  # fmt: skip
    more.add_argument("--vocabulary", type=positive, default=EAD_VOCABULARY, metavar="V",
                      help=f"words that could have been chosen, for EAD (default: {EAD_VOCABULARY})")  # fmt: skip
    more.add_argument("--no-variety", action="store_true", help="only the figures about references")
    add_common(made, parity=("lsdscc",))
    return made


def _list(text: str) -> tuple[int, ...]:
    return tuple(positive(part.strip()) for part in text.split(","))


def _whole(text: str) -> int:
    return 0 if text.strip() == "0" else positive(text)


def run(args: argparse.Namespace) -> int:
    from sensecheck.diverse import evaluate

    data = args.hypotheses[0] if len(args.hypotheses) == 1 else [Path(name) for name in args.hypotheses]
    with progress("reading and measuring", "queries") as advance:
        result = evaluate(
            data, args.references, eos=args.eos, queries=args.queries, aligner=args.aligner, tokenize=args.tokenize,
            lowercase=args.lowercase, relevance=args.relevance, at=args.at, orders=args.orders,
            vocabulary=args.vocabulary, donors=args.donors, variety=not args.no_variety, parity=args.parity,
            weight=args.weight, cluster=args.cluster, progress=advance, **every_question(args),
        )  # fmt: skip
    return finish(result, args)
