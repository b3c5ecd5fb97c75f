"""How a language model behind a URL is asked, as options for any question, under names of its own if it likes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.models.dialects import DIALECTS, GRAMMAR, GUIDED, SCHEMA
from sensecheck.models.spending import Budget
from sensecheck.network.address import public_address
from sensecheck.options import Option

if TYPE_CHECKING:
    from sensecheck.models.endpoint import Endpoint

MAX_CONCURRENCY = 256
MAX_TOKENS = 4096
"""Of an answer, unless the user says otherwise: what a model reasons before it answers counts too."""
_STRUCTURES = ("auto", "off", SCHEMA, GUIDED, GRAMMAR)
_OURS = ("model", "messages", "prompt", "input", "stream", "n")
"""Fields of a call that no user may set: another one asks, or we could not read the answer."""


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a server is reached and asked, and what it may cost. Nothing here knows what is asked.

    A question that has two of them gives one a `prefix`: `class JudgeOptions(ServerOptions): prefix = "judge-"`.
    """

    prefix: ClassVar[str] = ""
    """what the flags begin with, on the command line and in messages"""

    model_name: Annotated[str | None, Option("the model's name at a URL", metavar="NAME")] = None
    key_variable: Annotated[str, Option("environment variable with the endpoint's key", metavar="NAME")] = (
        "OPENAI_API_KEY"
    )
    api: Annotated[
        str,
        Option(
            "how a URL is spoken to: chat, completions, responses or messages (default: by the URL's ending, or chat)",
            choices=tuple(DIALECTS),
        ),
    ] = ""
    concurrency: Annotated[int, Option("calls at once to a URL, up to 256", metavar="N", at_least=1)] = 8
    timeout: Annotated[float, Option("seconds for one call", metavar="S")] = 60.0
    tries: Annotated[int, Option("attempts per call", metavar="N", at_least=1)] = 8
    per_minute: Annotated[float | None, Option("at most N calls a minute to a URL", metavar="N")] = None
    max_tokens: Annotated[
        int | None,
        Option(
            f"longest answer of a language model, its reasoning included (default: {MAX_TOKENS} at a URL; 40 from a "
            "folder)",
            metavar="N",
            at_least=1,
        ),
    ] = None
    request: Annotated[
        str | Mapping[str, Any] | None,
        Option('further fields of each call to a URL, as in \'{"reasoning_effort": "low"}\'', metavar="JSON"),
    ] = None
    structured: Annotated[
        str,
        Option(
            "how a URL's answers are held to the labels; auto: the first way that the server takes",
            choices=_STRUCTURES,
        ),
    ] = "auto"
    logprobs: Annotated[
        bool, Option("ask a URL for the log-probabilities of its answers' tokens, and take the labels' from them")
    ] = False
    max_calls: Annotated[int | None, Option("stop, to go on later, after N calls to URLs", metavar="N", at_least=1)] = (
        None
    )
    max_tokens_total: Annotated[
        int | None, Option("stop, to go on later, after N tokens in and out", metavar="N", at_least=1)
    ] = None

    def __post_init__(self) -> None:
        for option, value in (("timeout", self.timeout), ("per-minute", self.per_minute)):
            if value is not None and not value > 0:
                raise InputError(
                    field=f"--{self.prefix}{option}", expected="more than 0", got=f"{value:g}", reason=Reason.BAD_OPTION
                )
        if self.concurrency > MAX_CONCURRENCY:
            raise InputError(
                field=f"--{self.prefix}concurrency", expected=f"at most {MAX_CONCURRENCY}", got=str(self.concurrency),
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        for option, word, known in (("api", self.api, ("", *DIALECTS)), ("structured", self.structured, _STRUCTURES)):
            if word not in known:
                raise InputError(
                    field=f"--{self.prefix}{option}", expected=f"one of {', '.join(filter(None, known))}",
                    got=shown(word), reason=Reason.BAD_OPTION,
                )  # fmt: skip
        assert self.fields is not None  # what is wrong with it is told now

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """`request`, read."""
        value: Any = self.request
        if value is None:
            return {}
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                value = None
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            # Not what it holds: that may be a key.
            raise InputError(
                field=f"--{self.prefix}request", expected="an object of JSON", got="something else",
                hint=f"Quote it for the shell: --{self.prefix}request '{{\"reasoning_effort\": \"low\"}}'.",
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        ours = [name for name in _OURS if name in value]
        if ours:
            raise InputError(
                f"--{self.prefix}request: {ours[0]!r} is set by other options, or makes answers that are not read here",
                reason=Reason.BAD_OPTION,
            )
        return value

    def budget(self) -> Budget:
        names = (f"--{self.prefix}max-calls", f"--{self.prefix}max-tokens-total")
        return Budget(self.max_calls, self.max_tokens_total, names)

    def endpoint(self, spec: str, budget: Budget) -> Endpoint:
        """The endpoint behind URL#name."""
        from sensecheck.models.endpoint import Endpoint

        url, _, fragment = spec.partition("#")
        name = fragment or self.model_name
        if not name:
            raise InputError(
                f"which model of {public_address(url)}?",
                hint=f"Name it after a #: https://host/v1#model-name, or with --{self.prefix}model-name.",
                reason=Reason.BAD_OPTION,
            )
        return Endpoint(
            url, name, key_variable=self.key_variable, key_option=f"--{self.prefix}key-variable",
            concurrency=self.concurrency, timeout=self.timeout,
            tries=self.tries, per_minute=self.per_minute, max_tokens=self.max_tokens or MAX_TOKENS, extra=self.fields,
            api=self.api, structured=self.structured, likely=self.logprobs, budget=budget,
        )  # fmt: skip
