"""Answers with log-probabilities, as OpenAI, vLLM and llama.cpp write them: JSON or JSONL, one answer or many.

Read are whole responses (`choices` with chat's `logprobs.content` or completions' `logprobs.token_logprobs`), lines of
a batch (`response.body`), bare `logprobs`, and llama.cpp's own `completion_probabilities`; wrapped, if you like, in a
record of yours that adds `id`, columns to slice by, and what makes an answer right: `correct`, or the gold text
(`gold`, `target`, `reference` or `answer`), which the answer must equal but for white space at its ends.

One row an answer: its confidence is put together from its tokens' probabilities. Without gold or `correct` an answer
has a confidence and no correctness, and only figures of confidence alone are made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.json_arrays import loads
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import MARKS

GOLD_NAMES = ("gold", "gold_answer", "target", "reference", "answer", "expected")


@dataclass
class Answer:
    """One answer: its tokens' log-probabilities, its text, and what is known of its being right."""

    id: str
    group: str
    """The response it came in: answers to one request vary together."""
    text: str
    logprobs: list[float]
    correct: bool | None
    gold: str | None
    fields: dict[str, Any]
    reason: str = ""
    """Why it has no confidence, where it has none."""


def parsed(text: bytes, path: str, skip_bad: bool = False) -> Iterator[tuple[int, Any, InputError | None]]:
    """The objects of a document or of lines, with their places; a line that is no JSON comes as its error."""
    try:
        document = loads(text)
    except ValueError:
        document = None
    if document is not None:
        items = document if isinstance(document, list) else [document]
        for number, item in enumerate(items, 1):
            yield number, item, None
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, loads(line), None
        except ValueError:
            error = InputError(
                path=path,
                line=number,
                expected="a JSON object",
                got=shown(line),
                hint=SKIP_HINT,
                reason=Reason.BAD_JSON,
            )
            if not skip_bad:
                raise error from None
            yield number, None, error


def answers_of(item: Any, number: int, path: str, columns: Mapping[str, str], unnamed: str = "") -> list[Answer]:
    """The answers of one object, which stands at `number`; `unnamed` is what it is called where it has no id."""
    if not isinstance(item, Mapping):
        raise _bad(path, number, "a JSON object", shown(item))
    body, outer = _body(item)
    fields = {k: v for k, v in outer.items() if not isinstance(v, (dict, list))}
    given_id = _first(outer, (columns["id"],) if "id" in columns else ("id", "custom_id", "i"))
    response_id = str(next(v for v in (given_id, body.get("id"), unnamed or number) if v is not None))
    correct = _correct(outer, columns.get("correct", "correct"), path, number)
    gold_names = (columns["gold"],) if "gold" in columns else GOLD_NAMES
    gold = next((str(outer[g]) for g in gold_names if isinstance(outer.get(g), (str, int, float))), None)
    answers = []
    choices = body.get("choices")
    parts = choices if isinstance(choices, list) and choices else [body]
    for index, choice in enumerate(parts):
        if not isinstance(choice, Mapping):
            raise _bad(path, number, "choices that are objects", shown(choice))
        tokens, logprobs = _tokens(choice, path, number)
        text = _text(choice, tokens)
        is_right = correct
        if is_right is None and gold is not None:
            is_right = text.strip() == gold.strip()
        reason = "" if logprobs else "no log-probabilities"
        answer_id = response_id if len(parts) == 1 else f"{response_id}#{index}"
        answers.append(Answer(answer_id, response_id, text, logprobs, is_right, gold, fields, reason))
    return answers


def _body(item: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The response, and the record around it (the same where there is none)."""
    response = item.get("response")
    if isinstance(response, Mapping):
        body = response.get("body")
        return (body if isinstance(body, Mapping) else response), item
    return item, item


def _tokens(choice: Mapping[str, Any], path: str, number: int) -> tuple[list[str], list[float]]:
    logprobs = choice.get("logprobs")
    raw: Sequence[Any] | None = None
    texts: list[str] = []
    if isinstance(logprobs, Mapping) and isinstance(logprobs.get("content"), list):
        raw = [t.get("logprob") if isinstance(t, Mapping) else t for t in logprobs["content"]]
        texts = [str(t.get("token", "")) for t in logprobs["content"] if isinstance(t, Mapping)]
    elif isinstance(logprobs, Mapping) and isinstance(logprobs.get("token_logprobs"), list):
        # With `echo`, the first token of the prompt has none.
        raw = logprobs["token_logprobs"]
        tokens = logprobs.get("tokens")
        texts = [str(t) for t in tokens] if isinstance(tokens, list) else []
        if raw and raw[0] is None:
            raw, texts = raw[1:], texts[1:]
    elif isinstance(logprobs, list):
        raw = [t.get("logprob") if isinstance(t, Mapping) else t for t in logprobs]
    elif isinstance(choice.get("completion_probabilities"), list):
        raw, texts = _llama(choice["completion_probabilities"], path, number)
    if raw is None:
        return [], []
    values = []
    for value in raw:
        right = isinstance(value, (int, float)) and not isinstance(value, bool) and -1e308 <= value <= 1e-6
        if not right and value != -math.inf:
            raise _bad(path, number, "a log-probability of at most 0 for every token", shown(value))
        values.append(min(float(value), 0.0))
    return texts, values


def _llama(steps: Sequence[Any], path: str, number: int) -> tuple[list[Any], list[str]]:
    """llama.cpp's own form: `logprob`, or in older versions `probs` with the chosen token's `prob`."""

    def bad(expected: str, got: Any) -> InputError:
        return _bad(path, number, expected, shown(got, 60), field="completion_probabilities")

    values: list[Any] = []
    texts = []
    for step in steps:
        if not isinstance(step, Mapping):
            raise bad("an object for every token", step)
        token = str(step.get("token", step.get("content", "")))
        texts.append(token)
        if "logprob" in step:
            values.append(step["logprob"])
            continue
        candidates = step.get("probs")
        if not isinstance(candidates, list) or not all(isinstance(p, Mapping) for p in candidates):
            raise bad("`logprob`, or `probs` with objects, for every token", step)
        prob = next((p.get("prob") for p in candidates if p.get("tok_str", p.get("token")) == token), None)
        if isinstance(prob, bool) or not isinstance(prob, (int, float)) or not 0 <= prob <= 1 + 1e-6:
            raise bad(
                f"the probability of the token {shown(token, 30)} among its `probs`",
                candidates if prob is None else prob,
            )
        values.append(math.log(prob) if prob > 0 else -math.inf)
    return values, texts


def _text(choice: Mapping[str, Any], tokens: Sequence[str]) -> str:
    message = choice.get("message")
    if isinstance(message, Mapping) and isinstance(message.get("content"), str):
        return str(message["content"])
    for name in ("text", "content"):
        if isinstance(choice.get(name), str):
            return str(choice[name])
    return "".join(tokens)


def _correct(item: Mapping[str, Any], name: str, path: str, number: int) -> bool | None:
    value = item.get(name)
    if value is None:
        return None
    if isinstance(value, (str, bool, int, float)) and (mark := str(value).strip().lower()) in MARKS:
        return MARKS[mark]
    raise _bad(path, number, "right or wrong (true/false, 1/0, Correct/Wrong, yes/no)", shown(value), field=name)


def _first(item: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((item[n] for n in names if item.get(n) is not None), None)


def _bad(path: str, number: int, expected: str, got: str, field: str = "logprobs") -> InputError:
    return InputError(
        path=path, record=number, field=field, expected=expected, got=got, hint=SKIP_HINT, reason=Reason.BAD_LOGPROBS
    )
