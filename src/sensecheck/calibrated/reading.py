"""What is calibrated's own in how inputs are read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, cast

from sensecheck.calibrated.measure import AGGREGATES, Aggregate
from sensecheck.calibrated.token_kinds import TokenKinds
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.options import Option
from sensecheck.report.asking import WeighedRows

InputFormat = Literal["auto", "logits", "miso", "csv", "tsv", "text", "jsonl", "json", "parquet"]
INPUT_FORMATS = ("auto", "logits", "miso", "csv", "tsv", "text", "jsonl", "json", "parquet")
Scale = Literal["auto", "probabilities", "logits", "logprobs"]
SCALES = ("auto", "probabilities", "logits", "logprobs")
Level = Literal["token", "sequence"]

_reading = partial(Option, group="reading")


class ReadConfidences(WeighedRows, total=False):
    """Keywords of whatever reads what `calibrated` reads."""

    scale: Annotated[
        Scale,
        _reading(
            "what the stored numbers are (default: recognised by content; shown in the signature)",
            choices=SCALES,
            default="auto",
        ),
    ]
    level: Annotated[Level, _reading(".logits: figures over tokens, or over whole sequences", default="token")]
    aggregate: Annotated[
        Aggregate,
        _reading("how a sequence's confidence is made from its tokens'", choices=AGGREGATES, default="product"),
    ]
    ignore_tokens: Annotated[
        Sequence[int | str],
        _reading("leave out steps with these tokens", metavar="T,T,…", separator=",", spaces=True, default=()),
    ]
    ignore_by: Annotated[
        Literal["gold", "predicted"],
        _reading("match --ignore-tokens against the gold or the predicted token", default="gold"),
    ]
    top_k: Annotated[
        int,
        _reading("a token is correct if the gold one is among the K most likely", metavar="K", at_least=1, default=1),
    ]
    with_stop: Annotated[
        bool,
        _reading("answers with log-probabilities: count the token that ended the text, too", default=False),
    ]
    token_kinds: Annotated[
        str | os.PathLike[str] | Mapping[str, Any] | None,
        _reading('slice tokens by kind: JSON {token: kind} or {"classes": {kind: regex}}, or sql', metavar="FILE"),
    ]


@dataclass(frozen=True)
class Reading:
    """Everything, beside the options of all questions, that changes which rows are read and what they mean."""

    input_format: InputFormat = "auto"
    scale: Scale = "auto"
    level: Level = "token"
    aggregate: Aggregate = "product"
    ignore_tokens: tuple[int | str, ...] = ()
    ignore_by: Literal["gold", "predicted"] = "gold"
    top_k: int = 1
    with_stop: bool = False
    kinds: TokenKinds | None = None
    classes: tuple[str, ...] | None = None
    """Names of the columns of whole distributions, in their order."""

    def __post_init__(self) -> None:
        for name, known in (
            ("input_format", INPUT_FORMATS),
            ("scale", SCALES),
            ("aggregate", AGGREGATES),
            ("level", ("token", "sequence")),
            ("ignore_by", ("gold", "predicted")),
        ):
            value = getattr(self, name)
            if value not in known:
                raise InputError(
                    field=name, expected=f"one of {', '.join(known)}", got=shown(value), reason=Reason.BAD_OPTION
                )


def _own_format(name: str) -> InputFormat:
    """The format as this question knows it; files of others have become records before."""
    return cast("InputFormat", name) if name in INPUT_FORMATS else "auto"


def reading(given: ReadConfidences) -> Reading:
    """How inputs are read, with the defaults filled in."""
    kinds = given.get("token_kinds")
    return Reading(
        _own_format(given.get("input_format") or "auto"),
        given.get("scale", "auto"),
        given.get("level", "token"),
        given.get("aggregate", "product"),
        tuple(given.get("ignore_tokens", ())),
        given.get("ignore_by", "gold"),
        given.get("top_k", 1),
        given.get("with_stop", False),
        TokenKinds.of(kinds) if kinds is not None else None,
    )
