"""`--judge` and what belongs to it, for every question that can ask one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, Literal

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.models.server_options import ServerOptions
from sensecheck.options import Option
from sensecheck.report.asking import WeighedRows

ALWAYS, DOUBTFUL = "always", "doubtful"
MOST_VOTES = 100
SAMPLING = 0.7
"""The temperature at which several votes are asked for: at 0 they would all be the same."""

_judge = partial(Option, group="a language model as judge")


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(ServerOptions):
    """When a judge is asked, how often, and how its server is reached."""

    prefix: ClassVar[str] = "judge-"

    when: Annotated[
        Literal["always", "doubtful"],
        Option("ask about every example, or only where the rules are in doubt (the rules' verdict stands elsewhere)"),
    ] = "always"
    votes: Annotated[
        int, Option("ask N times; what more than half of the answers say counts", metavar="N", at_least=1)
    ] = 1
    swap: Annotated[bool, Option("ask each time in both orders of what is held against each other")] = False
    temperature: Annotated[
        float | None, Option(f"of its answers (default: 0; {SAMPLING} with several votes)", metavar="T")
    ] = None
    revision: Annotated[
        str | None,
        Option("any text that tells models of the same name apart: their answers are kept apart", metavar="REV"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.votes <= MOST_VOTES:
            raise InputError(
                field="--judge-votes", expected=f"1 to {MOST_VOTES}", got=str(self.votes), reason=Reason.BAD_OPTION
            )
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise InputError(
                field="--judge-temperature", expected="0 to 2", got=f"{self.temperature:g}", reason=Reason.BAD_OPTION
            )
        if self.when not in (ALWAYS, DOUBTFUL):
            raise InputError(
                field="--judge-when", expected=f"{ALWAYS} or {DOUBTFUL}", got=repr(self.when), reason=Reason.BAD_OPTION
            )

    @property
    def heat(self) -> float:
        usual = SAMPLING if self.votes > 1 else 0.0
        return usual if self.temperature is None else self.temperature

    @property
    def calls(self) -> int:
        """For each example."""
        return self.votes * (2 if self.swap else 1)


class JudgedRows(WeighedRows, total=False):
    """Keywords of questions whose examples a judge may look at."""

    judge: Annotated[
        str | None,
        _judge(
            "a language model that judges each example: URL#name, spoken to as with robust --model", metavar="URL#NAME"
        ),
    ]
    judge_prompt: Annotated[
        str | os.PathLike[str] | None,
        _judge("what it is asked, in place of the prompt that ships with the question", metavar="FILE"),
    ]
    judge_cache: Annotated[
        str | os.PathLike[str] | None,
        _judge("keep its answers here (default: judge.sqlite in --out)", metavar="FILE"),
    ]
    judging: Annotated[JudgeOptions | None, _judge("when it is asked, and how its server is reached")]


NEVER_AS_ORIGINAL = ("judge", "judge_prompt", "judge_cache", "judging")
"""No original asks a judge."""
