"""`sensecheck formats`: every format that is read."""

from __future__ import annotations

import argparse
import sys

from sensecheck.cli.options import Parser
from sensecheck.inputs.formats.registry import formats


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck formats",
        description="List the formats that are read. A file is known by what it holds; --input-format NAME forces one.",
    )
    command.add_argument("name", metavar="NAME", nargs="?", help="only this one")
    return command


def run(args: argparse.Namespace) -> int:
    from sensecheck.inputs.formats.registry import named

    chosen = [named(args.name)] if args.name else list(formats().values())
    width = max(len(one.name) for one in chosen)
    for one in chosen:
        asked = ", ".join(one.questions) or "all questions"
        known = "" if one.known is not None or not one.is_read_here else "  (only where it is named)"
        sys.stdout.write(f"{one.name:<{width}}  {one.what}{known}\n{'':<{width}}  {asked}: {one.example}\n")
    return 0
