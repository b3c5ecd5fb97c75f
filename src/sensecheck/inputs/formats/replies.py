"""Replies of servers and engines: OpenAI's three APIs and its batches, vLLM, llama.cpp, TGI, SGLang, Gemini, Anthropic,
and what Hugging Face's `generate` gives.

Every reply becomes a record for each of its answers: the text as `prediction`, the log-probabilities of the text's own
tokens as `token_logprobs`, those of what ended it as `stop_logprobs`. What stands around the reply (an id, a gold text,
columns to slice by) stays as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError, Unanswered, escaped, shown
from sensecheck.inputs.formats.host_marks import is_of_a_host
from sensecheck.inputs.formats.registry import Format, Row, Selection
from sensecheck.inputs.formats.start import UNFINISHED, Start
from sensecheck.inputs.reasons import Reason

PREDICTION = "prediction"
TOKEN_LOGPROBS = "token_logprobs"
STOP_LOGPROBS = "stop_logprobs"
MEAN_LOGPROB = "mean_logprob"
TOKENS = "tokens_counted"
"""Beside a mean log-probability: of how many tokens, where that is known."""
SAMPLE = "sample"
MODEL = "model"
GIVES_NONE = "gives_no_logprobs"
"""Of a reply whose server has no log-probabilities to give: the server's name."""
UNALIGNED = "tokens_not_its_text"
"""Marks an answer whose tokens do not spell its text: all of them count."""
_OURS = frozenset((TOKEN_LOGPROBS, STOP_LOGPROBS, MEAN_LOGPROB, TOKENS, GIVES_NONE, UNALIGNED))
_ALREADY_MEASURED = ("confidence", "conf", "prob", "probability")
_ALREADY_READ = ("prediction", "predicted", "pred")

Fields = Mapping[str, Any]


@dataclass
class Answer:
    """One answer of a reply."""

    text: str | None
    pieces: list[bytes | None] = field(default_factory=list)
    """What each token adds to the text, where that is known."""
    logprobs: list[Any] = field(default_factory=list)
    ended_by: int = 0
    """How many of the last tokens the server itself says are none of the text."""
    reasoned: bool = False
    """Whether the tokens of a reasoning stand before those of the text."""
    mean: float | None = None
    tokens: int | None = None
    silent: str = ""
    """The server's name, where it gives no log-probabilities at all."""


class _FailedError(Exception):
    """A call that gave no answer, in the words of its server."""


# ---- the reply within a record


def _body(item: Fields) -> Fields:
    """The reply: the record itself, or what it holds of one."""
    for name in ("response", "completion", "reply", "output", "result", "raw_response"):
        inner = item.get(name)
        if not isinstance(inner, Mapping):
            continue
        if name == "response" and ("body" in inner or "status_code" in inner):  # a line of OpenAI's batches
            return _of_batch(item, inner)
        if name == "result" and inner.get("type") in _ANTHROPIC_BATCH and ("message" in inner or "custom_id" in item):
            return _of_anthropic_batch(inner)
        if _shape(inner) is not None:
            return inner
    if _is_error(item.get("error")) and _shape(item) is None:
        raise _FailedError(f"call failed: {_words(item['error'])}")
    return item


def _is_error(error: Any) -> bool:
    """An error as servers tell it, and not a column of that name."""
    return isinstance(error, Mapping) and any(name in error for name in ("message", "code", "type", "status", "error"))


_MOST_ERRORS = 5
"""Errors that hold errors."""
_ANTHROPIC_BATCH = ("succeeded", "errored", "canceled", "expired")


def _of_batch(item: Fields, response: Fields) -> Fields:
    body, status = response.get("body"), response.get("status_code")
    good = isinstance(status, int) and 200 <= status < 300
    failed = isinstance(body, Mapping) and _is_error(body.get("error")) and _shape(body) is None
    if isinstance(body, Mapping) and (good or status is None) and not failed:
        return body
    error = item.get("error") or (body.get("error") if isinstance(body, Mapping) else None)
    told = f"status {status}" if isinstance(status, int) and not good else _words(error)
    raise _FailedError(f"call failed: {told}")


def _of_anthropic_batch(result: Fields) -> Fields:
    message = result.get("message")
    if result["type"] == "succeeded" and isinstance(message, Mapping):
        return message
    told = _words(result.get("error"))
    raise _FailedError(f"call failed: {result['type']}" + (f" ({told})" if told else ""))


def _words(error: Any) -> str:
    """What kind of error it is: few words, so that items that failed alike are counted together."""
    for _ in range(_MOST_ERRORS):
        if not isinstance(error, Mapping):
            break
        inner = error.get("error")
        told = (error[name] for name in ("code", "type", "status", "message") if error.get(name))
        error = inner if isinstance(inner, Mapping) else next(told, "")
    return escaped(str(error or "")[:60]) if isinstance(error, str | int | float | None) else ""


# ---- shapes


def _shape(body: Fields) -> str | None:
    """Whose reply it is, by the names of its parts."""
    if _objects(body.get("choices"), "message", "logprobs", "delta", "finish_reason"):
        return "choices"
    if body.get("choices") == [] and body.get("object") in ("chat.completion", "text_completion"):
        return "choices"
    if _objects(body.get("output"), "content", "type") and (body.get("object") == "response" or "status" in body):
        return "responses"
    if _objects(body.get("outputs"), "token_ids", "cumulative_logprob"):
        return "vllm"
    if isinstance(body.get("completion_probabilities"), list) or (
        isinstance(body.get("content"), str) and {"tokens_predicted", "stop"} <= body.keys()
    ):
        return "llama.cpp"
    if isinstance(body.get("generated_text"), str) and ("details" in body or len(body) == 1):
        return "tgi"
    if isinstance(body.get("meta_info"), Mapping) and ("text" in body or "output_ids" in body):
        return "sglang"
    candidates = body.get("candidates")
    if _objects(candidates, "finishReason", "avgLogprobs", "logprobsResult", "avg_logprobs", "logprobs_result") or (
        _objects(candidates, "content") and isinstance(body["candidates"][0]["content"], Mapping)
    ) or isinstance(_either(body, "promptFeedback"), Mapping):  # fmt: skip
        return "gemini"
    if body.get("type") == "message" and isinstance(body.get("content"), list):
        return "anthropic"
    if isinstance(body.get("transition_scores"), list):
        return "transformers"
    return None


def _objects(value: Any, *names: str) -> bool:
    """Whether it is a list of objects of which the first has one of these parts."""
    if value is UNFINISHED:
        return False
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, Mapping) and any(name in first for name in names)


def _answers(body: Fields) -> list[Answer]:
    shape = _shape(body)
    if shape is not None:
        return _READERS[shape](body)
    if "logprobs" not in body and not isinstance(body.get("text"), str):
        if "choices" in body:
            raise _bad("choices that are objects", body["choices"], field="choices")
        there = ", ".join(shown(name, 30) for name in list(body)[:8])
        raise _bad("a reply of a server, as in other records", f"an object with {there or 'nothing'}", field="reply")
    return [_bare(body)]


def _choices(body: Fields) -> list[Answer]:
    """OpenAI's chat and completions, and all servers that speak like it."""
    answers = []
    if not body["choices"]:
        raise _FailedError("call failed: no choices")
    for choice in body["choices"]:
        if not isinstance(choice, Mapping):
            raise _bad("choices that are objects", choice)
        if "delta" in choice:
            raise _bad("whole replies", "a piece of a stream", "Save the reply that the pieces add up to.")
        message = choice.get("message")
        text = choice.get("text")
        answer = _bare(choice)
        if isinstance(message, Mapping):
            text = _said(message, choice)
            answer.reasoned = any(message.get(name) for name in ("reasoning_content", "reasoning"))
        answer.text = text if isinstance(text, str) else answer.text
        answers.append(answer)
    return answers


def _said(message: Fields, choice: Fields) -> str | None:
    """The text of a message, or why there is none: a refusal is one, and a call of a tool is no answer."""
    content = message.get("content")
    if content or content == "":
        return _content(content)
    if isinstance(message.get("refusal"), str):
        return str(message["refusal"])
    if message.get("tool_calls") or message.get("function_call"):
        raise _FailedError("no text: a tool was called")
    if choice.get("finish_reason") == "content_filter":
        raise _FailedError("no text: filtered")
    return ""


def _content(content: Any) -> str | None:
    if isinstance(content, list):  # parts, some of them texts
        return "".join(str(part["text"]) for part in content if isinstance(part, Mapping) and _is_text(part))
    return content if isinstance(content, str) else ""


def _is_text(part: Fields) -> bool:
    return isinstance(part.get("text"), str) and part.get("type", "text") in ("text", "output_text")


def _responses(body: Fields) -> list[Answer]:
    """OpenAI's Responses API: the texts of its messages, one after the other."""
    if body.get("error"):
        raise _FailedError(f"call failed: {_words(body['error'])}")
    if body.get("status") in ("failed", "cancelled"):
        raise _FailedError(f"call failed: {body['status']}")
    answer = Answer("")
    for item in body["output"]:
        content = item.get("content") if isinstance(item, Mapping) and item.get("type") == "message" else None
        for part in content if isinstance(content, list) else []:
            if isinstance(part, Mapping) and _is_text(part):
                one = _bare(part)
                answer.text = f"{answer.text}{part['text']}"
                answer.pieces += one.pieces
                answer.logprobs += one.logprobs
    return [answer]


def _vllm(body: Fields) -> list[Answer]:
    """vLLM's RequestOutput: for each step, the candidates by their numbers."""
    answers = []
    for output in body["outputs"]:
        if not isinstance(output, Mapping):
            raise _bad("outputs that are objects", output)
        ids, steps = output.get("token_ids"), output.get("logprobs")
        ids = ids if isinstance(ids, list) else []
        answer = Answer(_text(output.get("text")))
        if isinstance(steps, list) and len(steps) == len(ids):
            for number, step in zip(ids, steps, strict=True):
                chosen = step.get(str(number), step.get(number)) if isinstance(step, Mapping) else None
                if isinstance(chosen, Mapping):
                    answer.logprobs.append(chosen.get("logprob"))
                    answer.pieces.append(_piece(chosen.get("decoded_token")))
                else:
                    answer.logprobs.append(chosen)
                    answer.pieces.append(None)
            if output.get("finish_reason") == "stop" and ids and output.get("stop_reason") == ids[-1]:
                answer.ended_by = 1
        elif ids and (whole := _number(output.get("cumulative_logprob"))) is not None:
            answer.mean, answer.tokens = whole / len(ids), len(ids)
        answers.append(answer)
    return answers


_STEPS = "completion_probabilities"


def _llama(body: Fields) -> list[Answer]:
    """llama.cpp's own form: `logprob`, after sampling `prob`, in older versions `probs` with the chosen token's."""
    answer = Answer(_text(body.get("content")))
    for step in body.get("completion_probabilities") or []:
        if not isinstance(step, Mapping):
            raise _bad("an object for every token", step, field=_STEPS)
        token = step.get("token", step.get("content"))
        answer.pieces.append(_piece(token, step.get("bytes")))
        if "logprob" in step:
            answer.logprobs.append(step["logprob"])
        elif "prob" in step:
            answer.logprobs.append(_log(step["prob"], shown(token, 30)))
        else:
            candidates = step.get("probs")
            if not isinstance(candidates, list) or not all(isinstance(one, Mapping) for one in candidates):
                raise _bad("`logprob`, `prob`, or `probs` with objects, for every token", step, field=_STEPS)
            chosen = (one.get("prob") for one in candidates if one.get("tok_str", one.get("token")) == token)
            answer.logprobs.append(_log(next(chosen, None), f"{shown(token, 30)} among its `probs`"))
    return [answer]


def _log(probability: Any, token: str) -> float:
    if isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 <= probability <= 1 + 1e-6:
        raise _bad(f"the probability of the token {token}", probability, field=_STEPS)
    return math.log(min(probability, 1.0)) if probability > 0 else -math.inf


def _tgi(body: Fields) -> list[Answer]:
    """Text generation inference; the prompt (`prefill`) is no part of the answer."""
    details = body.get("details")
    if not isinstance(details, Mapping):
        return [Answer(body["generated_text"])]
    answers = []
    for text, held in [(body["generated_text"], details), *_best_of(details)]:
        answer = Answer(text)
        tokens = held.get("tokens")
        for token in tokens if isinstance(tokens, list) else []:
            if not isinstance(token, Mapping):
                raise _bad("tokens that are objects", token)
            answer.logprobs.append(token.get("logprob"))
            answer.pieces.append(_piece(token.get("text")))
            answer.ended_by = answer.ended_by + 1 if token.get("special") is True else 0
        answers.append(answer)
    return answers


def _best_of(details: Fields) -> Iterator[tuple[str, Fields]]:
    others = details.get("best_of_sequences")
    for one in others if isinstance(others, list) else []:
        if isinstance(one, Mapping) and isinstance(one.get("generated_text"), str):
            yield one["generated_text"], one


def _sglang(body: Fields) -> list[Answer]:
    """SGLang: [log-probability, number, text or nothing] for each token."""
    told = body["meta_info"]
    answer = Answer(_text(body.get("text")))
    steps = told.get("output_token_logprobs")
    for step in steps if isinstance(steps, list) else []:
        if not isinstance(step, list) or not step:
            raise _bad("[logprob, id, text] for every token", step)
        answer.logprobs.append(step[0])
        answer.pieces.append(_piece(step[2] if len(step) > 2 else None))
    reason = told.get("finish_reason")
    matched = reason.get("matched") if isinstance(reason, Mapping) else None
    if answer.logprobs and isinstance(matched, int) and isinstance(steps, list) and steps[-1][1:2] == [matched]:
        answer.ended_by = 1
    elif answer.logprobs and isinstance(matched, str) and answer.pieces[-1] is None:
        answer.ended_by = 1  # a stop text that is one token; where its text is known, that decides
    return [answer]


def _either(fields: Fields, name: str) -> Any:
    """A part by its name in JSON, or by that of Python's client: avgLogprobs, avg_logprobs."""
    return fields.get(name, fields.get(re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)))


def _gemini(body: Fields) -> list[Answer]:
    candidates = body.get("candidates")
    if not isinstance(candidates, list) or not candidates:
        feedback = _either(body, "promptFeedback")
        why = _either(feedback, "blockReason") if isinstance(feedback, Mapping) else None
        raise _FailedError(f"call failed: no candidate ({_words(why) or 'no reason given'})")
    answers = []
    for candidate in candidates:
        if not isinstance(candidate, Mapping):
            raise _bad("candidates that are objects", candidate)
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, Mapping) else None
        parts = parts if isinstance(parts, list) else []
        texts = [p["text"] for p in parts if isinstance(p, Mapping) and _is_text(p) and not p.get("thought")]
        answer = Answer("".join(texts))
        result = _either(candidate, "logprobsResult")
        chosen = _either(result, "chosenCandidates") if isinstance(result, Mapping) else None
        for step in chosen if isinstance(chosen, list) else []:
            if not isinstance(step, Mapping):
                raise _bad("chosenCandidates that are objects", step)
            answer.logprobs.append(_either(step, "logProbability"))
            answer.pieces.append(_piece(step.get("token")))
        if not answer.logprobs:
            answer.mean = _number(_either(candidate, "avgLogprobs"))
            counts = [_either(candidate, "tokenCount")]
            usage = _either(body, "usageMetadata")
            if len(candidates) == 1 and isinstance(usage, Mapping):
                counts.append(_either(usage, "candidatesTokenCount"))
            answer.tokens = next((n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)
        answers.append(answer)
    return answers


def _anthropic(body: Fields) -> list[Answer]:
    return [Answer(_content(body["content"]), silent="Anthropic")]


def _transformers(body: Fields) -> list[Answer]:
    """What `compute_transition_scores` gives for a generated sequence."""
    answer = Answer(_text(body.get("text", body.get("generated_text", body.get("prediction")))))
    answer.logprobs = list(body["transition_scores"])
    tokens = body.get("tokens")
    if isinstance(tokens, list) and len(tokens) == len(answer.logprobs):
        kept = len(tokens)
        while kept > 1 and _is_padding(tokens[kept - 1], tokens[kept - 2]):
            kept -= 1
        tokens, answer.logprobs = tokens[:kept], answer.logprobs[:kept]
        answer.pieces = [_piece(token) for token in tokens]
    else:
        answer.pieces = [None] * len(answer.logprobs)
    return [answer]


_PADDING = re.compile(r"[<\[|]{1,2}pad(?:ding)?(?:_token)?[>\]|]{1,2}\Z", re.IGNORECASE)
_MARK = re.compile(r"<[^<>\s]+>\Z|\[[A-Z]+\]\Z")


def _is_padding(token: Any, before: Any) -> bool:
    """Whether a last token fills up a row: it is called so, or repeats the mark that ends a text."""
    if not isinstance(token, str):
        return False
    return _PADDING.match(token) is not None or (token == before and _MARK.match(token) is not None)


_READERS = {
    "choices": _choices,
    "responses": _responses,
    "vllm": _vllm,
    "llama.cpp": _llama,
    "tgi": _tgi,
    "sglang": _sglang,
    "gemini": _gemini,
    "anthropic": _anthropic,
    "transformers": _transformers,
}


def _bare(part: Fields) -> Answer:
    """An answer with OpenAI's `logprobs` in one of their three forms, or llama.cpp's."""
    logprobs = part.get("logprobs")
    answer = Answer(next((part[name] for name in ("text", "content") if isinstance(part.get(name), str)), None))
    steps: Any = None
    if isinstance(logprobs, Mapping) and isinstance(logprobs.get("content"), list):
        steps = logprobs["content"]
    elif isinstance(logprobs, Mapping) and isinstance(logprobs.get("token_logprobs"), list):
        answer.logprobs = list(logprobs["token_logprobs"])
        tokens = logprobs.get("tokens")
        named = isinstance(tokens, list) and len(tokens) == len(answer.logprobs)
        answer.pieces = [_piece(one) for one in tokens or []] if named else [None] * len(answer.logprobs)
        if answer.logprobs and answer.logprobs[0] is None:  # with `echo`, the first token of the prompt has none
            answer.logprobs, answer.pieces = answer.logprobs[1:], answer.pieces[1:]
    elif isinstance(logprobs, list):
        steps = logprobs
    elif isinstance(part.get("completion_probabilities"), list):
        return _llama(part)[0]
    for step in steps or []:
        known = isinstance(step, Mapping)
        answer.logprobs.append(step.get("logprob") if known else step)
        answer.pieces.append(_piece(step.get("token"), step.get("bytes")) if known else None)
    return answer


# ---- tokens and the text that they spell

_BYTE_TOKEN = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)$|<0x([0-9A-Fa-f]{2})>$")


def _piece(token: Any, given: Any = None) -> bytes | None:
    """The bytes that a token adds to the text."""
    if type(given) is list:
        try:
            return bytes(given)
        except (TypeError, ValueError):
            pass
    if not isinstance(token, str):
        return None
    if (found := _BYTE_TOKEN.match(token)) is not None:
        return bytes.fromhex((found[1] or found[2]).replace("\\x", ""))
    return token.encode("utf-8", "replace")


def _byte_letters() -> dict[str, int]:
    """The letters in which byte-level vocabularies (GPT-2's and its heirs) write bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + at): byte for at, byte in enumerate(others)}


_LETTERS = _byte_letters()


def own_tokens(text: str, pieces: Sequence[bytes | None], *, reasoned: bool = False) -> tuple[int, int] | None:
    """The tokens that the text is made of, the first and the one behind the last; nothing where they do not spell it.

    >>> own_tokens(" Paris", [b" P", b"ar", b"is", b"\\n"])
    (0, 3)
    """
    if not text:
        return (0, 0) if pieces and None not in pieces else None
    for spelled in (_as_given, _as_letters, _as_words):
        parts = spelled(pieces)
        if parts is None:
            continue
        whole = text.encode("utf-8", "replace")
        joined = b"".join(parts)
        first = 0
        if reasoned:
            begin = joined.rfind(whole.strip())
            while begin > 0 and first < len(parts) and len(parts[first]) <= begin:
                begin -= len(parts[first])
                first += 1
            parts, joined = parts[first:], b"".join(parts[first:])
        if not joined.startswith(whole):
            # Servers strip white space at the beginning of texts, or at both ends.
            skipped = len(joined) - len(joined.lstrip())
            if not whole.strip() or not joined[skipped:].startswith(whole.strip()):
                continue
            whole = joined[:skipped] + whole.strip()
        at = reached = 0
        while reached < len(whole):
            reached += len(parts[at])
            at += 1
        return first, first + at
    return None


def _as_given(pieces: Sequence[bytes | None]) -> list[bytes] | None:
    return None if None in pieces else [piece for piece in pieces if piece is not None]


def _as_letters(pieces: Sequence[bytes | None]) -> list[bytes] | None:
    """Tokens as a byte-level vocabulary writes them: Ġ is a space."""
    parts = _as_given(pieces)
    if parts is None:
        return None
    texts = [part.decode("utf-8", "replace") for part in parts]
    return [bytes(_LETTERS.get(letter, 63) for letter in text) for text in texts]


def _as_words(pieces: Sequence[bytes | None]) -> list[bytes] | None:
    """Tokens as SentencePiece writes them: ▁ is a space."""
    parts = _as_given(pieces)
    return None if parts is None else [part.replace("▁".encode(), b" ") for part in parts]


# ---- records


_THOUGHTS = ("</think>", "</thinking>")


def _behind_reasoning(text: str) -> str | None:
    """What follows a reasoning that stands in the text itself, whether or not its beginning does."""
    ends = [text.find(mark) + len(mark) for mark in _THOUGHTS if mark in text]
    return text[min(ends) :].lstrip() if ends else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e308 <= value <= 1e308:
        return None
    return float(value)


def _values(given: Sequence[Any]) -> list[float]:
    if all(type(value) is float and -1e308 <= value <= 0 for value in given):
        return list(given)
    values = []
    for value in given:
        right = isinstance(value, int | float) and not isinstance(value, bool) and -1e308 <= value <= 1e-6
        if not right and value != -math.inf:
            raise _bad("a log-probability of at most 0 for every token", value)
        values.append(min(float(value), 0.0))
    return values


def _fields_of(answer: Answer) -> dict[str, Any]:
    """What an answer adds to its record."""
    if answer.mean is not None and not answer.mean <= 1e-6:
        raise _bad("a mean log-probability of at most 0", answer.mean)
    values = _values(answer.logprobs)
    if answer.text is not None and (said := _behind_reasoning(answer.text)) is not None:
        answer.text, answer.reasoned = said, True
    text, first, kept = answer.text, 0, len(values) - answer.ended_by
    fields: dict[str, Any] = {}
    if text is not None and values:
        spelled = own_tokens(text, answer.pieces, reasoned=answer.reasoned)
        if spelled is not None:
            first, kept = spelled[0], min(kept, spelled[1]) if spelled[1] else kept
        elif not answer.ended_by:
            fields[UNALIGNED] = True
    elif text is None:
        text = b"".join(piece or b"" for piece in answer.pieces).decode("utf-8", "replace")
    fields[PREDICTION] = text
    if values:
        fields |= {TOKEN_LOGPROBS: values[first:kept], STOP_LOGPROBS: values[kept:]}
    if answer.mean is not None:
        fields |= {MEAN_LOGPROB: min(float(answer.mean), 0.0), TOKENS: answer.tokens}
    if answer.silent:
        fields[GIVES_NONE] = answer.silent
    return fields


def fields_of_choices(choices: Sequence[Fields]) -> list[dict[str, Any]]:
    """What each of a reply's answers adds to its record, for logs that hold replies in OpenAI's form."""
    return [_fields_of(answer) for answer in _choices({"choices": choices})] if choices else []


def _around(item: Fields) -> dict[str, Any]:
    """What stands around a reply: single values and gold texts, and what the example is called."""
    kept = {
        name: value
        for name, value in item.items()
        if (isinstance(value, str | int | float) and name not in _OURS)
        or (
            isinstance(value, list)
            and value
            and all(isinstance(one, str) for one in value)
            and name not in ("tokens", *_OURS)
        )
    }
    kept = {n: _written(v) if isinstance(v, int) and v.bit_length() > 63 else v for n, v in kept.items()}
    named = next((item[n] for n in ("custom_id", "key", "id", "i", "request_id") if _names_example(item.get(n))), None)
    if (given := kept.pop("id", None)) is not None and given != named:
        kept["reply_id"] = given  # the server's own, another one for every call: it does not say which example it is
    return {**kept, **({} if named is None else {"id": _written(named)})}


_LONGEST_NUMBER = 10_000
"""Bits of a number that Python writes in digits."""
_OF_A_SERVER = re.compile(r"(?:chatcmpl|cmpl|resp|msg|gen|completion)[-_]")


def _written(value: str | int) -> str:
    return hex(value) if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER else str(value)


def _names_example(value: Any) -> bool:
    return isinstance(value, str | int) and not (isinstance(value, str) and _OF_A_SERVER.match(value))


def _records(objects: Iterable[Row], path: str, selection: Selection) -> Iterator[Row]:
    models: dict[str, None] = {}
    for number, item in objects:
        if isinstance(item, InputError):
            yield number, item
            continue
        unnamed = f"{Path(path).name}:{number}" if path else str(number)
        try:
            for row in _of(item, selection, unnamed):
                if isinstance(row.get(MODEL), str):
                    models[row[MODEL]] = None
                yield number, row
        except InputError as error:
            yield number, _placed(error, path, number)
    if len(models) > 1:
        told = ", ".join(shown(name, 40) for name in list(models)[:5])
        selection.notes.append(f"replies of {len(models):,} models are read together: {told} (--slice model)")


def _of(item: Fields, selection: Selection, unnamed: str) -> list[Mapping[str, Any]]:
    """The records of one reply: one for each answer; for `diverse` one with all of them."""
    try:
        body = _body(item)
        around = _around(item)
        if isinstance(body.get(MODEL), str):
            around.setdefault(MODEL, body[MODEL])
        answers = _answers(body)
    except _FailedError as failed:
        return [Unanswered(_around(item), str(failed))]
    if selection.question == "diverse":
        texts = [answer.text for answer in answers if answer.text is not None]
        return [{**around, "responses": texts}]
    rows = [{**around, **_fields_of(answer)} for answer in answers]
    if selection.question == "correct":  # white space around a query is the server's, and no part of it
        rows = [{**row, PREDICTION: str(row[PREDICTION]).strip()} for row in rows]
    if len(rows) == 1:
        return [*rows]
    return [{"id": unnamed, **row, SAMPLE: at} for at, row in enumerate(rows)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _bad(expected: str, got: Any, hint: str = SKIP_HINT, field: str = "logprobs") -> InputError:
    told = got if isinstance(got, str) and got.startswith(("a ", "an object with ")) else shown(got, 80)
    return InputError(field=field, expected=expected, got=told, hint=hint, reason=Reason.BAD_LOGPROBS)


def _placed(error: InputError, path: str, number: int) -> InputError:
    return InputError(**{**error.parts(), "path": path or None, "record": number})


# ---- requests of a batch

CUSTOM_ID = "custom_id"


def _request(objects: Iterable[Row], path: str, selection: Selection) -> Iterator[Row]:
    """What a batch asked: the last thing that a user said, and what the user noted about it."""
    for number, item in objects:
        if isinstance(item, InputError):
            yield number, item
            continue
        body = item.get("body", item.get("params"))
        if not isinstance(item.get(CUSTOM_ID), str) or not isinstance(body, Mapping):
            yield number, _placed(_bad("custom_id and body, as in all requests", item, field=CUSTOM_ID), path, number)
            continue
        noted = body.get("metadata")
        kept = (
            {k: v for k, v in noted.items() if isinstance(v, str | int | float)} if isinstance(noted, Mapping) else {}
        )
        yield number, {**kept, CUSTOM_ID: item[CUSTOM_ID], "prompt": _asked(body)}


def _asked(body: Fields) -> str | None:
    messages = body.get("messages", body.get("input"))
    if isinstance(messages, list):
        said = [one for one in messages if isinstance(one, Mapping) and one.get("role") == "user"]
        return _content(said[-1].get("content")) if said else None
    return _text(messages if isinstance(messages, str) else body.get("prompt"))


def _is_request(start: Start) -> str:
    first = start.first
    asks = isinstance(first.get("body", first.get("params")), Mapping) and "response" not in first
    asks = asks and (first.get("method") == "POST" or "params" in first)
    return "its records are requests of a batch" if asks and CUSTOM_ID in first else ""


# ---- recognition

_MARKS = (b'"logprobs"', b'"token_logprobs"', b'"completion_probabilities"')
_LOGITS = b'"top_logits"'


def holds_logprobs(first: bytes) -> bool:
    """Whether a file's beginning is JSON with log-probabilities."""
    return first.lstrip()[:1] in (b"{", b"[") and any(mark in first for mark in _MARKS) and _LOGITS not in first


def _has(first: Fields, names: Iterable[str]) -> bool:
    return any(isinstance(first.get(name), str | int | float) for name in names)


def _is_reply(start: Start) -> str:
    """Not where somebody has read the reply already, and says what was predicted: it stands there for the record."""
    if _has(start.first, _ALREADY_READ):
        return ""
    return _known_shape(start)


def _known_shape(start: Start) -> str:
    if start.kind == "text" or is_of_a_host(start.first) or _has(start.first, _ALREADY_MEASURED):
        return ""
    try:
        shape = _shape(_body(start.first))
    except _FailedError:
        return "its first record is a call that failed"
    return f"its records are replies ({shape})" if shape is not None else ""


def _is_logprobs(start: Start) -> str:
    """For `calibrated` alone: records of the user's own, with log-probabilities."""
    if start.kind == "text" or _is_reply(start) or is_of_a_host(start.first) or _has(start.first, _ALREADY_MEASURED):
        return ""
    own = start.first.get("logprobs")
    own_form = (isinstance(own, list | dict) or own is UNFINISHED) and holds_logprobs(start.data)
    return "it holds log-probabilities" if own_form else _known_shape(start)


FORMATS = (
    Format(
        "replies",
        "replies of servers and engines: OpenAI (chat, completions, Responses, batches), vLLM, llama.cpp, TGI, SGLang, "
        "Gemini, Anthropic, Hugging Face's generate",
        known=_is_reply,
        records=_records,
        holds="predictions",
        example="sensecheck calibrated replies.jsonl",
    ),
    Format(
        "batch-requests",
        "the requests of an OpenAI or Anthropic batch, beside its replies: prompts, and which have no reply",
        known=_is_request,
        records=_request,
        holds="requests",
        example="sensecheck calibrated batch_output.jsonl batch_input.jsonl --gold golds.csv",
    ),
    Format(
        "logprobs",
        "records of your own with log-probabilities as OpenAI writes them",
        ("calibrated",),
        _is_logprobs,
        records=_records,
        holds="predictions",
        example="sensecheck calibrated answers.jsonl",
    ),
)
