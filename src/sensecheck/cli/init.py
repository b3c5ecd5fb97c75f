"""`sensecheck init`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import orjson

from sensecheck.cli.options import Parser

SCHEMA = "evaluation.schema.json"


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck init",
        description="Write a commented evaluation file to start from, and its JSON schema for editors.",
    )
    command.add_argument(
        "file", metavar="FILE", nargs="?", default="evaluation.toml", help="what to write (default: evaluation.toml)"
    )
    command.add_argument(
        "--demo", action="store_true", help="also copy the demo's data to demo/, so that it runs as it is"
    )
    command.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    command.add_argument("--schema", action="store_true", help="print the JSON schema and write nothing")
    return command


def run(args: argparse.Namespace) -> int:
    from sensecheck.evaluation.example import example
    from sensecheck.evaluation.schema import schema
    from sensecheck.runs.writing import replace_file

    packed = orjson.dumps(schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if args.schema:
        sys.stdout.write(packed.decode())
        return 0
    target = Path(args.file)
    if target.suffix.lower() != ".toml":
        raise ValueError(f"init writes TOML: {target} should end in .toml (run reads YAML too)")
    if target.exists() and not args.overwrite:
        raise ValueError(f"{target} already exists; pass --overwrite to replace it")
    target.write_text(example(demo=args.demo), encoding="utf-8")
    replace_file(target.parent / SCHEMA, packed)
    written = [str(target), str(target.parent / SCHEMA)]
    if args.demo:
        from sensecheck import demo

        folder = target.parent / "demo"
        folder.mkdir(exist_ok=True)
        for name in demo.names():
            replace_file(folder / name, demo.path(name).read_bytes())
        written.append(f"{folder}/ ({len(demo.names())} files)")
    sys.stdout.write("".join(f"  {w}\n" for w in written) + f"  next: sensecheck run {target}\n")
    return 0
