"""Calls as files: the JSONL that batch endpoints take (OpenAI's, vLLM's), and their results read back.

A call that is not kept yet is written in place of being made; its results go into the file of kept calls, and the run
goes on from there. What is written is what would be sent, without keys: those are the uploader's affair.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.models.by_prompt import EndpointClassifier, EndpointGenerator
from sensecheck.models.calls import CallCache, Identity
from sensecheck.models.classifiers import Answer, Batch, Pair, pair_text
from sensecheck.models.dialects import NotSaidError
from sensecheck.models.endpoint import Endpoint
from sensecheck.models.generators import Request, StatementBatch
from sensecheck.models.said import Said
from sensecheck.network.scrubbing import without_secrets

WAITING = "written to the batch file"
NOT_AMONG = "not among the batch's results"
_LONGEST_LINE = 16 * 1024 * 1024


def custom_id(identity: Identity, text: str) -> str:
    """What a call is known by in the files: the same in every run."""
    return hashlib.sha256(repr((identity, text)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass
class Calls:
    """The calls of a run that are written in place of being made."""

    cache: CallCache
    out: IO[bytes] | None = None
    written: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    """calls whose results say why there is no answer, by their id"""

    def lacking(self, endpoint: Endpoint, identity: Identity, text: str, body: Mapping[str, Any]) -> str:
        """Writes the call, where calls are written; the reason why it has no answer yet."""
        name = custom_id(identity, text)
        if self.out is None:
            return f"batch: {self.failed.get(name, NOT_AMONG)}"
        if name not in self.written:
            self.written.add(name)
            self.cache.wait_for(name, identity, text)
            line = {"custom_id": name, "method": "POST", "url": endpoint.path, "body": body}
            self.out.write(json.dumps(line).encode() + b"\n")
        return WAITING


def refuse_secrets(endpoint: Endpoint) -> None:
    if without_secrets(endpoint.extra) != dict(endpoint.extra):
        raise InputError(
            "--batch-out: --request holds a key or a name, which would be written into the file",
            hint="Leave it out: whoever uploads the file sends their own.", reason=Reason.BAD_OPTION,
        )  # fmt: skip


class BatchClassifier:
    """M whose calls go through files."""

    def __init__(self, model: EndpointClassifier, calls: Calls) -> None:
        self._model, self._calls, self.endpoint = model, calls, model.endpoint
        self.identity, self.read, self.read_again = model.identity, model.read, model.read_again

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        model = self._model
        for i, pair in enumerate(pairs):
            body = model.endpoint.body_of(model.prompt_of(pair), choices=model.choices)
            why = self._calls.lacking(model.endpoint, self.identity, pair_text(pair), body)
            yield [(i, Answer(None, failure=why))]

    def kept(self, text: str, said: Said) -> Any:
        return Answer.of(said, self.read).stored()


class BatchGenerator:
    """G whose calls go through files."""

    samples = True

    def __init__(self, model: EndpointGenerator, calls: Calls) -> None:
        self._model, self._calls, self.endpoint = model, calls, model.endpoint
        self.identity, self.why_none = model.identity, model.why_none

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
        model = self._model
        for i, request in enumerate(requests):
            temperature = model.temperature_of(request)
            body = model.endpoint.body_of(model.prompt_of(request), temperature=temperature, seed=request.seed)
            why = self._calls.lacking(model.endpoint, self.identity, request.key(), body)
            self.why_none[why] = self.why_none.get(why, 0) + 1
            yield [(i, None)]

    def kept(self, text: str, said: Said) -> Any:
        return self._model.statements(said, Request.of(text))


class Through(Protocol):
    """A model whose calls go through files."""

    identity: Identity

    def kept(self, text: str, said: Said) -> Any:
        """What is kept of an answer; None where there is nothing to keep."""


def read_results(path: Path, calls: Calls, models: Sequence[tuple[Through, Endpoint]]) -> tuple[int, int]:
    """The results of a batch into the file of kept calls; how many are answers, and how many have none."""
    by_identity = {model.identity: (model, endpoint) for model, endpoint in models}
    seen: dict[str, int] = {}
    answers: dict[Identity, dict[str, Any]] = {}
    kept = 0
    for number, line in _lines(path):
        name = line.get("custom_id")
        if not isinstance(name, str):
            raise _bad(path, number, "custom_id", "the id of a call", shown(name))
        if name in seen:
            raise InputError(
                f"custom_id {shown(name, 60)} is there twice", path=str(path), line=number, reason=Reason.GIVEN_TWICE,
                hint=f"It was in line {seen[name]:,} first: leave one of them out.",
            )  # fmt: skip
        seen[name] = number
        waiting = calls.cache.waiting(name)
        if waiting is None or waiting[0] not in by_identity:
            raise _bad(
                path, number, "custom_id", "the id of a call that --batch-out wrote with these models, this prompt and "
                "this file of calls", shown(name, 60),
            )  # fmt: skip
        identity, text = waiting
        model, endpoint = by_identity[identity]
        said = _said(line, endpoint)
        if isinstance(said, str):
            calls.failed[name] = said
            continue
        value = model.kept(text, said)
        if value is None:
            calls.failed[name] = "an answer without statements"
            continue
        answers.setdefault(identity, {})[text] = value
        kept += 1
        if kept % 1000 == 0:
            _keep(calls.cache, answers)
    _keep(calls.cache, answers)
    return kept, len(calls.failed)


def _keep(cache: CallCache, answers: dict[Identity, dict[str, Any]]) -> None:
    for identity, by_text in answers.items():
        cache.put(identity, by_text)
    answers.clear()


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        source = path.open("rb")
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", path=str(path), hint="--batch-in takes the results of a batch.",
            reason=Reason.NOT_FOUND,
        ) from None  # fmt: skip
    with source:
        number = 0
        while line := source.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                raise _bad(path, number, None, f"a line of at most {_LONGEST_LINE:,} bytes", "a longer one")
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            if not isinstance(value, dict):
                raise _bad(path, number, None, "an object of JSON, the result of a call", shown(line, 60))
            yield number, value


def _bad(path: Path, number: int, name: str | None, expected: str, got: str) -> InputError:
    return InputError(
        path=str(path), line=number, field=name, expected=expected, got=got,
        hint="--batch-in takes the file of results as the batch endpoint gave it.", reason=Reason.BAD_RECORD,
    )  # fmt: skip


def _said(line: Mapping[str, Any], endpoint: Endpoint) -> Said | str:
    """The answer in a result, or why there is none."""
    response, error = line.get("response"), line.get("error")
    if not isinstance(response, dict):
        code = error.get("code") or error.get("message") if isinstance(error, dict) else error
        return f"failed ({shown(str(code or 'no reason given'), 60)[1:-1]})"
    status, body = response.get("status_code", 200), response.get("body")
    if type(status) is not int or status != 200:
        return f"HTTP {status}" if type(status) is int else "without a status"
    if not isinstance(body, dict):
        return "without a body"
    try:
        said = endpoint.dialect.said(body)
    except NotSaidError as fault:
        return f"answered {fault}"
    endpoint.spending.answered(endpoint.dialect.tokens(body))
    return said
