"""`run_subtype_lf` of the SPICE evaluation: one question type per run, the original's flags and output.

`--server_link` takes an endpoint's address, as it did, or a graph file (.nt, .ttl …), which needs no server.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence

from sensecheck.correct import original
from sensecheck.correct.parity import strict_results


def _bool(text: str) -> bool:
    if text.lower() in ("yes", "true", "t", "y", "1"):
        return True
    if text.lower() in ("no", "false", "f", "n", "0"):
        return False
    raise argparse.ArgumentTypeError("Boolean value expected.")


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(prog="run_subtype_lf", description=__doc__)
    command.add_argument("--file_path", default="", help="JSON file of predictions, or a pattern with --read_all")
    command.add_argument("--read_all", type=_bool, nargs="?", const=True, default=False, help="read all matching files")
    command.add_argument("--question_type", default="Clarification", help="the question type to evaluate")
    command.add_argument(
        "--max_results", default=1000, help="cut answers that are longer (the number stays text, as in the original)"
    )
    command.add_argument("--context_dist_file", default="", help="context distances: turnID, TAB, distance")
    command.add_argument("--em_only", type=_bool, nargs="?", const=True, default=False, help="compute exact match only")
    command.add_argument("--server_link", default="", help="SPARQL endpoint, or a graph file")
    command.add_argument("--out_eval_file", default="", help="where the figures are written as JSON")
    return command


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    options = parser().parse_args(arguments)
    if not options.server_link:
        say("To execute a Sparql server link is needed. E.g., http://localhost:9999/blazegraph/namespace/wd/sparq")
        return 0
    records = original.read_records(options.file_path, options.read_all)
    distances = original.read_distances(options.context_dist_file) if options.context_dist_file else None
    of_this_type = [record for record in records if original.belongs(record, options.question_type)]
    execute = strict_results(options.server_link, [] if options.em_only else of_this_type)
    run = original.evaluate(
        records,
        options.question_type,
        execute,
        distances=distances,
        em_only=options.em_only,
        max_results=options.max_results,
        say=say,
    )
    run.say(say)
    # Path("") is the current folder; the original opens the empty name, and fails after all the work.
    with open(options.out_eval_file, "w") as stream:  # noqa: PTH123
        json.dump(run.figures(), stream)
    return 0


if __name__ == "__main__":
    sys.exit(main())
