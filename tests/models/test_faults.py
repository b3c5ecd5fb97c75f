"""What a server of a language model may do, and what comes of it: the table in docs/robust.md, row by row."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest

from sensecheck.cli.options import Parser, add_parameters, values
from sensecheck.inputs.errors import InputError
from sensecheck.models.adapting import Adapting
from sensecheck.models.by_prompt import EndpointClassifier
from sensecheck.models.calls import CallCache
from sensecheck.models.classifiers import Answer, Asked
from sensecheck.models.dialects import DIALECTS
from sensecheck.models.endpoint import Endpoint, EndpointError
from sensecheck.models.said import Unreadable
from sensecheck.models.server_options import ServerOptions
from sensecheck.models.spending import SpentError
from sensecheck.options import Option

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "robust.md"
PAIRS = [(f"Premise {i}.", f"Hypothesis {i}.") for i in range(6)]


def _load() -> Any:
    name = "scripted_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


scripted = _load()
Reply, chat, refused, serving = scripted.Reply, scripted.chat, scripted.refused, scripted.serving
GOOD = Answer(1, text="neutral", finish="stop")
_LARGE = (
    "This model's maximum context length is 2048 tokens and your request has 90 input tokens. 'max_tokens' or "
    "'max_completion_tokens' is too large: 4096."
)


@dataclass(frozen=True)
class JudgeOptions(ServerOptions):
    prefix = "judge-"


@dataclass
class Fault:
    """`script`: what the server does; then what is made of each pair, what was tried again, and what was changed."""

    script: Callable[[dict[str, Any], int], Any]
    label: int | None = 1
    unread: Unreadable | None = None
    failure: str = ""
    retries: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    sent: Callable[[dict[str, Any]], bool] = field(default=lambda body: True)
    """what holds of the last call"""
    stops: str = ""


def once(fault: Any) -> Callable[[dict[str, Any], int], Any]:
    return lambda body, number: fault if number == 1 else chat("neutral")


def always(reply: Any) -> Callable[[dict[str, Any], int], Any]:
    return lambda body, number: reply


def lacking(words: str, *names: str) -> Callable[[dict[str, Any], int], Any]:
    """Refuses calls that have one of some fields."""
    return lambda body, number: refused(words) if any(name in body for name in names) else chat("neutral")


def _structures(body: dict[str, Any], number: int) -> Any:
    for name in ("response_format", "guided_choice", "grammar"):
        if name in body:
            return refused(f"Unrecognized request argument supplied: {name}")
    return chat("neutral")


FAULTS: dict[str, Fault] = {
    "429 with Retry-After": Fault(once(Reply(429, b"slow", {"Retry-After": "0.2"})), retries=("HTTP 429",)),
    "500": Fault(once(Reply(500, b"oops")), retries=("HTTP 500",)),
    "401": Fault(always(Reply(401, b"no key")), stops=r"HTTP 401: no key \(the key is read from"),
    "a redirect": Fault(
        always(Reply(302, b"", {"Location": "https://login.example.org/"})),
        stops=r"HTTP 302: it sends calls elsewhere to https://login.example.org/, and redirects are not followed",
    ),
    "`max_tokens` refused": Fault(
        lacking("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
                "max_tokens"),
        changes=("max_tokens was refused: max_completion_tokens is sent",),
        sent=lambda body: body["max_completion_tokens"] == 4096,
    ),
    "`max_tokens` over the context": Fault(
        lambda body, number: refused(_LARGE) if body["max_tokens"] > 1958 else chat("neutral"),
        changes=("answers may have 1,024 tokens at most: no more fit there",),
        sent=lambda body: body["max_tokens"] == 1024,
    ),
    "`temperature` refused": Fault(
        lacking("Unsupported value: 'temperature' does not support 0.0 with this model.", "temperature"),
        changes=("temperature was refused and is not sent: answers may differ when they are asked for again",),
    ),
    "`response_format` refused": Fault(
        _structures,
        changes=(
            "json_schema was refused: guided_choice is asked for", "guided_choice was refused: grammar is asked for",
            "grammar was refused: answers are free text",
        ),
    ),
    "log-probabilities refused": Fault(
        lacking("This model does not support 'logprobs'.", "logprobs"),
        changes=("20 log-probabilities were refused: 5 are asked for",
                 "5 log-probabilities were refused: answers come without probabilities"),
    ),
    "think block cut off": Fault(
        always(chat("<think>It is entailment or contradiction", "length")), None, Unreadable.CUT_OFF
    ),
    "reasoning cut off, in its own field": Fault(
        always(chat(None, "length", reasoning_content="It is entailment")), None, Unreadable.CUT_OFF
    ),
    "empty content": Fault(always(chat("")), None, Unreadable.EMPTY),
    "content null": Fault(always(chat(None)), None, Unreadable.EMPTY),
    "a tool call in place of text": Fault(
        always(chat(None, "tool_calls", tool_calls=[{"function": {"name": "f"}}])), None, Unreadable.TOOL
    ),
    "a refusal": Fault(always(chat("I'm sorry, I can't help with that.")), None, Unreadable.REFUSED),
    "several labels": Fault(always(chat("entailment or neutral")), None, Unreadable.SEVERAL),
    "no label": Fault(always(chat("No entailment.")), None, Unreadable.NONE),
    "broken JSON in the answer": Fault(always(chat('{"label": "neut')), None, Unreadable.NONE),
    "no JSON at all": Fault(
        always(Reply(body=b"<html>Bad gateway</html>")), None, failure="answered with something that is not JSON",
        retries=("answered with something that is not JSON",),
    ),
    "an answer that drips": Fault(
        always(Reply(body=b" " * 3000, drip=0.05)), None, failure="timed out", retries=("timed out",)
    ),
    "connection reset": Fault(once(Reply(resets=True)), retries=("connection failed (RemoteDisconnected)",)),
    "200 with an error for a body": Fault(
        once(Reply(body={"error": {"message": "upstream", "code": 502}})), retries=("HTTP 502",)
    ),
    "200 with an error without a code": Fault(
        once(Reply(body={"error": "overloaded"})), retries=("answered with an error in place of an answer",)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_comes_of_a_fault(name: str) -> None:
    fault = FAULTS[name]
    with serving(fault.script) as server, CallCache() as cache:
        endpoint = Endpoint(
            server.url, "m", concurrency=1, tries=2, timeout=0.5 if "drips" in name else 30.0, longest_pause=0.3,
            max_tokens=4096, likely="log-prob" in name,
        )  # fmt: skip
        asked = Asked(EndpointClassifier(endpoint), cache)
        pairs = PAIRS[:2]
        if fault.stops:
            with pytest.raises(EndpointError, match=fault.stops):
                asked.answers(pairs)
            return
        began = time.monotonic()
        answers = asked.answers(pairs)
        assert "drips" not in name or time.monotonic() - began < 20, "a whole answer would take minutes"
        assert [answer.label for answer in answers] == [fault.label] * 2
        assert {answer.unread for answer in answers} == {fault.unread}
        assert {answer.failure for answer in answers} == {f"endpoint: {fault.failure}" if fault.failure else None}
        retries = dict(endpoint.spending.retries)
        assert retries.pop("a field was refused", 0) == len(fault.changes)
        assert tuple(retries) == fault.retries
        assert tuple(endpoint.adapting.changes) == fault.changes
        assert fault.sent(server.bodies[-1])
        calls = len(server.bodies)
        assert endpoint.spending.requests == calls
        # What was answered is kept, readable or not; what failed is asked again.
        Asked(EndpointClassifier(endpoint), cache).answers(pairs)
        assert (len(server.bodies) > calls) == bool(fault.failure)


@pytest.mark.parametrize(
    ("api", "words", "most", "name"),
    [
        ("chat", "HTTP 400: Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead.", None,
         "max_completion_tokens"),
        ("chat", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens", 16384, ""),
        ("chat", "This model's maximum context length is 2048 tokens. However, you requested 4130 tokens (34 in the "
         "messages, 4096 in the completion).", 1024, ""),
        ("messages", "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens", 8192, ""),
        # One prompt alone is too long: what others may have stays.
        ("chat", "This model's maximum context length is 2048 tokens. However, your messages resulted in 3000 tokens.",
         None, ""),
        ("messages", "max_tokens: Extra inputs are not permitted", None, ""),
    ],
)  # fmt: skip
def test_what_servers_say_of_the_limit_of_tokens(api: str, words: str, most: int | None, name: str) -> None:
    adapting = Adapting(DIALECTS[api], "off")
    assert adapting.refused(words, adapting.manner) == bool(most or name)
    assert (adapting.manner.most_tokens, adapting.manner.limit_name) == (most, name)
    assert not adapting.refused(words, adapting.manner), "the same again cannot be met"


def test_an_endpoint_serves_any_question() -> None:
    """A judge, say: its options under names of its own, and nothing of NLI behind them."""
    loaded = "import sys, sensecheck.models.endpoint, sensecheck.models.server_options; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert "sensecheck.models.dialects" in modules
    assert not {f"sensecheck.models.{name}" for name in ("nli_words", "classifiers", "by_prompt")} & set(modules)

    def judge(
        data: Annotated[Any, Option("files")],
        *,
        judge: Annotated[JudgeOptions | None, Option("the judge", group="judge")] = None,
    ) -> Any:
        return judge

    command = Parser(prog="judge")
    add_parameters(command, judge)
    flags = [
        "--judge-timeout",
        "7",
        "--judge-max-calls",
        "1",
        "--judge-request",
        '{"a": 1}',
        "--judge-key-variable",
        "J",
    ]
    options = values(command.parse_args(["x.jsonl", *flags]), judge)["judge"]
    assert options == JudgeOptions(timeout=7.0, max_calls=1, request='{"a": 1}', key_variable="J")
    for wrong, told in (
        ({"request": "{"}, "--judge-request: expected"),
        ({"timeout": 0.0}, "--judge-timeout: expected"),
    ):
        with pytest.raises(InputError, match=told):
            JudgeOptions(**wrong)
    with serving(always(chat("7 of 10"))) as server:
        endpoint = options.endpoint(f"{server.url}#j", options.budget())
        assert endpoint.ask("How good is this?").text == "7 of 10"
        assert server.bodies[0]["a"] == 1 and "response_format" not in server.bodies[0]
        with pytest.raises(SpentError, match="as many as --judge-max-calls allows"):
            endpoint.ask("And this?")


def test_every_row_of_the_table_is_tested() -> None:
    text = DOCS.read_text("utf-8")
    table = text[text.index("| what the server does |") :].partition("\n\n")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1].strip() for line in table.splitlines()[2:]]
    assert rows == list(FAULTS)
