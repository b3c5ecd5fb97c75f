"""How servers of language models are spoken to: what a call looks like in each of four ways, and what comes back.

chat         POST …/chat/completions   OpenAI and all that are compatible
completions  POST …/completions        the same for plain text
responses    POST …/responses          OpenAI's later interface
messages     POST …/messages           Anthropic's

Nothing here knows what is asked, sends anything, or tries again.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sensecheck.models.said import CUT_SHORT, FILTERED, TOOL, Said, Token

SCHEMA, GUIDED, GRAMMAR = "json_schema", "guided_choice", "grammar"
FIELD = "label"
"""The field of a structured answer that holds what was chosen."""
EXPLANATION = "reason"
"""The field before it that says why, where that is asked for."""
_FINISHES = {
    "max_tokens": CUT_SHORT, "max_output_tokens": CUT_SHORT, "content_filter": FILTERED, "refusal": FILTERED,
    "safety": FILTERED, "tool_calls": TOOL, "tool_use": TOOL, "function_call": TOOL, "end_turn": "stop",
    "stop_sequence": "stop", "eos": "stop",
}  # fmt: skip


class NotSaidError(ValueError):
    """What came is no answer of this interface."""


@dataclass(frozen=True)
class Question:
    """One call: what is asked, and how the answer shall be made."""

    prompt: str
    max_tokens: int
    temperature: float | None = 0.0
    seed: int | None = None
    choices: tuple[str, ...] = ()
    """what may be answered, where it is one of a few"""
    structure: str = ""
    """how the server is held to them: one of a dialect's `structures`"""
    explained: bool = False
    """whether a structured answer says why before it chooses, where the structure has room for that"""
    likely: int = 0
    """how many likely tokens are told beside each"""
    limit_name: str = ""
    """what the limit of tokens is called there; empty: as usual"""


class Dialect(ABC):
    """One way of asking."""

    name: ClassVar[str]
    path: ClassVar[str]
    limit_name: ClassVar[str] = "max_tokens"
    other_limit_name: ClassVar[str] = ""
    """what the limit of tokens is called where it is not called that"""
    structures: ClassVar[tuple[str, ...]] = (SCHEMA, GUIDED, GRAMMAR)
    tells_likely: ClassVar[bool] = True

    def body(self, model: str, question: Question) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": model, **self.asked(question.prompt),
            question.limit_name or self.limit_name: question.max_tokens,
        }  # fmt: skip
        if question.temperature is not None:
            body["temperature"] = question.temperature
        if question.seed is not None:
            body["seed"] = question.seed
        if question.likely and self.tells_likely:
            body |= self.likely(question.likely)
        if question.choices:
            body |= self.structured(question)
        return body

    @abstractmethod
    def asked(self, prompt: str) -> dict[str, Any]: ...

    @abstractmethod
    def said(self, value: Mapping[str, Any]) -> Said:
        """The answer in what a server sent; NotSaidError where there is none."""

    def likely(self, count: int) -> dict[str, Any]:
        return {"logprobs": True, "top_logprobs": count}

    def structured(self, question: Question) -> dict[str, Any]:
        how, choices = question.structure, question.choices
        if how == SCHEMA:
            return {"response_format": {"type": "json_schema", "json_schema": _schema(question)}}
        if how == GUIDED:
            return {"guided_choice": list(choices)}
        if how == GRAMMAR:
            return {"grammar": "root ::= " + " | ".join(json.dumps(choice) for choice in choices)}
        return {}

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def tokens(self, value: Mapping[str, Any]) -> tuple[int, int] | None:
        """Tokens in and out, where they are told."""
        usage = value.get("usage")
        if not isinstance(usage, dict):
            return None
        counts = [
            next((n for name in names if type(n := usage.get(name)) is int and 0 <= n < 1 << 40), None)
            for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
        ]
        return None if counts[0] is None and counts[1] is None else (counts[0] or 0, counts[1] or 0)


def _schema(question: Question) -> dict[str, Any]:
    # What is written first is thought first: a reason behind the choice would only defend it.
    fields: dict[str, Any] = {EXPLANATION: {"type": "string"}} if question.explained else {}
    fields[FIELD] = {"type": "string", "enum": list(question.choices)}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"name": "answer", "strict": True, "schema": schema}


class Chat(Dialect):
    name, path = "chat", "/chat/completions"
    other_limit_name = "max_completion_tokens"

    def asked(self, prompt: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": prompt}]}

    def said(self, value: Mapping[str, Any]) -> Said:
        choices = value.get("choices")
        if not isinstance(choices, list) or not choices:
            raise NotSaidError("without choices")
        choice = choices[0]
        told = choice.get("message", choice) if isinstance(choice, dict) else None
        if not isinstance(told, dict):
            raise NotSaidError("with a choice that is no object")
        said = Said(
            _text(told.get("content", told.get("text"))),
            next((r for name in ("reasoning_content", "reasoning") if isinstance(r := told.get(name), str) and r), ""),
            _finish(choice.get("finish_reason")),
            bool(told.get("refusal")),
            _likely_tokens(choice.get("logprobs")),
        )
        called = bool(told.get("tool_calls") or told.get("function_call"))
        return replace(said, finish=TOOL) if called and not said.text.strip() else said


class Completions(Chat):
    name, path = "completions", "/completions"
    # The order: a grammar of choices leaves a plain text; a schema is seldom known here.
    structures = (GUIDED, GRAMMAR)

    def asked(self, prompt: str) -> dict[str, Any]:
        return {"prompt": prompt}

    def likely(self, count: int) -> dict[str, Any]:
        return {"logprobs": count}


class Responses(Dialect):
    name, path, limit_name = "responses", "/responses", "max_output_tokens"
    structures = (SCHEMA,)

    def asked(self, prompt: str) -> dict[str, Any]:
        return {"input": prompt, "store": False}

    def structured(self, question: Question) -> dict[str, Any]:
        schema = question.structure == SCHEMA
        return {"text": {"format": {"type": "json_schema", **_schema(question)}}} if schema else {}

    def likely(self, count: int) -> dict[str, Any]:
        return {"include": ["message.output_text.logprobs"], "top_logprobs": count}

    def said(self, value: Mapping[str, Any]) -> Said:
        output = value.get("output")
        if not isinstance(output, list):
            raise NotSaidError("without output")
        texts, thoughts, tokens, refused, called = [], [], list[Token](), False, False
        for item in output:
            if not isinstance(item, dict):
                raise NotSaidError("with an output that is no object")
            inside = item.get("content") or item.get("summary")
            parts = [part for part in inside if isinstance(part, dict)] if isinstance(inside, list) else []
            if item.get("type") == "reasoning":
                thoughts += [_text(part.get("text")) for part in parts]
            elif item.get("type") == "message":
                refused |= any(part.get("type") == "refusal" for part in parts)
                texts += [_text(part.get("text")) for part in parts if part.get("type") == "output_text"]
                tokens += [t for part in parts for t in _likely_tokens({"content": part.get("logprobs")})]
            else:
                called |= str(item.get("type", "")).endswith("_call")
        why = value.get("incomplete_details")
        finish = _finish(why.get("reason") if isinstance(why, dict) else value.get("status"))
        text = "".join(texts)
        finish = TOOL if called and not text.strip() else "stop" if finish == "completed" else finish
        return Said(text, "\n".join(thoughts), finish, refused, tokens)


class Messages(Dialect):
    name, path = "messages", "/messages"
    structures = ()
    tells_likely = False

    def asked(self, prompt: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": prompt}]}

    def body(self, model: str, question: Question) -> dict[str, Any]:
        return super().body(model, replace(question, seed=None))  # there is none

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def said(self, value: Mapping[str, Any]) -> Said:
        content = value.get("content")
        if not isinstance(content, list):
            raise NotSaidError("without content")
        parts = [part for part in content if isinstance(part, dict)]
        if len(parts) < len(content):
            raise NotSaidError("with a content that is no object")
        text = "".join(_text(part.get("text")) for part in parts if part.get("type") == "text")
        thoughts = "\n".join(_text(part.get("thinking")) for part in parts if part.get("type") == "thinking")
        called = any(part.get("type") == "tool_use" for part in parts) and not text.strip()
        return Said(text, thoughts, TOOL if called else _finish(value.get("stop_reason")))


DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (Chat(), Completions(), Responses(), Messages())}


def dialect_of(path: str, name: str = "") -> tuple[Dialect, str]:
    """The dialect, by its name or by how a path ends, and the path with that ending.

    >>> [dialect_of(path)[0].name for path in ("/v1", "/v1/completions", "/v1/messages", "/v1/chat/completions")]
    ['chat', 'completions', 'messages', 'chat']
    """
    path = path.rstrip("/")
    # The longest ending first: a chat's path ends like that of completions.
    ending = next((d for d in sorted(DIALECTS.values(), key=lambda d: -len(d.path)) if path.endswith(d.path)), None)
    if name and ending is not None and ending.name != name:
        path, ending = path.removesuffix(ending.path), None
    chosen = DIALECTS[name] if name else ending or DIALECTS["chat"]
    return chosen, path if ending is not None else path + chosen.path


def _finish(reason: object) -> str:
    word = str(reason or "").lower()[:40]
    return _FINISHES.get(word, word)


def _text(value: object) -> str:
    """A text, or the texts of a list of parts; nothing is an answer too, anything else is none."""
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        texts = [part.get("text") for part in value if part.get("type") in ("text", "output_text")]
        if all(isinstance(text, str) for text in texts):
            return "".join(texts)
    if not isinstance(value, str):
        raise NotSaidError("with a text that is none")
    # Half a character (a lone surrogate) can be said in JSON, and be written nowhere.
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_MOST_TOKENS = 100_000
_LEAST = 1e6
"""No log-probability is as far below 0, but numbers of JSON may be too long for any float."""


def _likely_tokens(told: object) -> Sequence[Token]:
    """Tokens with the likely ones beside each, as chat and completions tell them; whatever is damaged is left out."""
    if not isinstance(told, dict):
        return ()
    content = told.get("content")
    if isinstance(content, list):
        pairs = [
            (item.get("token"), {str(one.get("token")): one.get("logprob") for one in others if isinstance(one, dict)})
            for item in content[:_MOST_TOKENS]
            if isinstance(item, dict) and isinstance(others := item.get("top_logprobs"), list)
        ]
    else:
        tokens, others = told.get("tokens"), told.get("top_logprobs")
        if not isinstance(tokens, list) or not isinstance(others, list):
            return ()
        pairs = [(token, beside) for token, beside in zip(tokens[:_MOST_TOKENS], others, strict=False)]
    return [
        (token, {t: float(p) for t, p in beside.items() if type(p) in (int, float) and -_LEAST < p <= 0})
        for token, beside in pairs
        if isinstance(token, str) and isinstance(beside, dict)
    ]
