"""`sensecheck QUESTION FILE …`: one command for every question, made from what its `evaluate` takes."""

from __future__ import annotations

import argparse
from typing import Any

from sensecheck import instruments
from sensecheck.cli.options import Parser, add_output, add_parameters, check_targets, finish, values
from sensecheck.cli.progress import progress
from sensecheck.report.question import question


def parser(name: str, kind: type[Parser] = Parser) -> Parser:
    asked = question(name)
    commands = "\n".join(f"  sensecheck {name} {command}" for command in asked.usage)
    command = kind(
        prog=f"sensecheck {name}",
        description="\n\n".join(filter(None, [asked.asks, asked.reads])),
        epilog=f"\nexamples:\n{commands}\n" if commands else None,
    )
    add_parameters(command, instruments.room(name).evaluate)
    add_output(command)
    command.set_defaults(question=name)
    return command


def run(args: argparse.Namespace) -> int:
    room: Any = instruments.room(args.question)
    check_targets(args)
    with progress(args, *question(args.question).working) as told:
        result = room.evaluate(**values(args, room.evaluate))
        return finish(result, args, told)
