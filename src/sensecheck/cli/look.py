"""`sensecheck look FILE …`: what a file is, and which command fits."""

from __future__ import annotations

import argparse
import dataclasses
import sys

import orjson

from sensecheck.cli.options import Parser
from sensecheck.inputs.errors import InputError
from sensecheck.report.escaping import visible
from sensecheck.report.looking import Look, look


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck look",
        description="Say what a file is, how many examples it holds, which field is what, and which command fits.\n"
        "Nothing is run, asked or written.",
    )
    command.add_argument("files", metavar="FILE", nargs="+", help="files, or folders that are read whole")
    command.add_argument(
        "--input-format", metavar="NAME", default="auto", help="read them as this format (see sensecheck formats)"
    )
    command.add_argument("--json", action="store_true", help="print JSON, a line for each file")
    return command


def run(args: argparse.Namespace) -> int:
    failed = 0
    for path in args.files:
        try:
            seen = look(path, args.input_format)
        except InputError as error:
            # What is wrong with one file is no reason to say nothing of the others.
            sys.stderr.write(f"sensecheck: error: {visible(str(error))}\n")
            failed += 1
            continue
        if args.json:
            sys.stdout.write(orjson.dumps(dataclasses.asdict(seen)).decode() + "\n")
        else:
            sys.stdout.write("\n".join(map(visible, _lines(seen))) + "\n")
    return 2 if failed else 0


def _lines(seen: Look) -> list[str]:
    lines = [f"{seen.path}: {seen.format}, {seen.what}", f"  known by   {seen.known_by}"]
    if seen.examples is not None:
        bad = f", and {seen.bad:,} that cannot be read" if seen.bad else ""
        said = f" ({seen.judgements:,} judgements)" if seen.judgements is not None else ""
        lines.append(f"  examples   {seen.examples:,}{said}{bad}")
    if seen.fields:
        more = f", … ({len(seen.fields)} in all)" if len(seen.fields) > 20 else ""
        lines.append(f"  fields     {', '.join(seen.fields[:20])}{more}")
    lines += [f"  note       {note}" for note in seen.notes]
    for fit in seen.fits:
        roles = ", ".join(name if name == theirs else f"{name} = {theirs}" for name, theirs in fit.fields.items())
        lacks = f"; without {' and '.join(fit.missing)}" if fit.missing else ""
        lines.append(f"  {fit.question:<10} {roles or 'reads it as it is'}{lacks}")
    lines += [f"  try        {command}" for command in seen.commands] or [
        "  try        no question reads these fields; name them with --columns NAME=COLUMN"
    ]
    return lines
