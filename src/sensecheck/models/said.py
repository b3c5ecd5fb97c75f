"""What a language model said, and what of it is its answer: the rest is reasoning, escapes and leaked marks.

Nothing here knows what was asked. Answers are hostile: everything is linear in their length, and none is too long.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

Token = tuple[str, Mapping[str, float]]
"""A token of an answer, with the log-probability of each token that could have stood in its place, as far as told."""


@dataclass(frozen=True)
class Said:
    """One answer as a server gave it."""

    text: str = ""
    reasoning: str = ""
    """what came beside the text: `reasoning_content`, `reasoning`, a block of thinking"""
    finish: str = ""
    """why it ended, in our words: `stop`, `length`, `filtered`, `tool`, or whatever else the server says"""
    refusal: bool = False
    tokens: Sequence[Token] = ()


class Unreadable(StrEnum):
    """Why no answer can be read from what a model said."""

    CUT_OFF = "cut off before the answer"
    REFUSED = "refused"
    SEVERAL = "names several labels"
    NONE = "names no label"
    EMPTY = "empty"
    TOOL = "called a tool instead"


STOPPED, CUT_SHORT, FILTERED, TOOL = FINISHES = "stop", "length", "filtered", "tool"

_LONGEST_PART = 20_000
"""Characters at either end of an answer that are kept."""
_NAMES = (
    "think|thinking|thought|thoughts|reasoning|reason|analysis|reflection|scratchpad|deliberation|inner_monologue"
    "|seed:think"
)
# Models disagree on how they mark their reasoning, and many know several ways. A mark either begins or ends it.
_MARK = re.compile(
    rf"(?P<tag>(?:[<＜]|&lt;)\|?\s{{0,8}}(?P<ends>/?)\s{{0,8}}(?:{_NAMES})\s{{0,8}}\|?(?:[>＞]|&gt;))"
    r"|(?P<kimi>◁(?P<kimi_ends>/?)think▷)"
    r"|(?P<mistral>\[(?P<mistral_ends>/?)(?:think|thinking|thought|reasoning)\])"
    r"|(?P<begins><\|begin_of_thought\|>|<\|start_thinking\|>|<\|channel>thought"
    r"|<\|channel\|>\s{0,8}(?:analysis|commentary)[^<]{0,200}<\|message\|>)"
    r"|(?P<over><\|end_of_thought\|>|<\|end_thinking\|>|<channel\|>"
    r"|<\|channel\|>\s{0,8}final[^<]{0,200}<\|message\|>)",
    re.IGNORECASE,
)
# gpt-oss where a server drops its marks: "analysisWe need …assistantfinalneutral".
_BARE_CHANNELS = re.compile(r"\s{0,20}analysis(?=[A-Z])")
_BARE_FINAL = "assistantfinal"

_CLOSED_BRACKET = re.compile(r"\[/(?:thinking|thought|reasoning)\]", re.IGNORECASE)
_LEAKED = re.compile(r"<\|[^|<>\s]{1,40}\|>|</?s>|</?unk>|<(?:start|end)_of_turn>|\[/?INST\]|<\|end▁of▁sentence\|>")
_ROLE = re.compile(r"\s{0,20}assistant\s{0,4}\n")
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,1000}(?:\x07|\x1b\\)?|[@-_])")


def without_reasoning(text: str) -> tuple[str, bool]:
    """The text without its reasoning, and whether it ended within that.

    >>> without_reasoning("<think>Is it so? Yes.</think> No.")
    (' No.', False)
    >>> without_reasoning("<think>Is it so? Yes")
    ('', True)
    """
    kept: list[str] = []
    at, within = 0, False
    end = len(text.rstrip())
    if _BARE_CHANNELS.match(text):
        final = text.rfind(_BARE_FINAL)
        if final < 0:
            return "", True
        at = final + len(_BARE_FINAL)
    closed = _CLOSED_BRACKET.search(text) is not None
    for mark in _MARK.finditer(text, at):
        if mark["mistral"] and not closed and mark["mistral"].lower() not in ("[think]", "[/think]"):
            continue  # "[Reasoning] … [Answer] …": a heading, which nothing ends
        if _ends(mark):
            if not within and mark.end() == end:
                end = mark.start()  # nothing comes after it: it ends nothing
                break
            if not within:
                # Its beginning stood in the prompt, or something else ended it before: all of it was reasoning.
                kept, at = [], mark.end()
            within, at = False, mark.end()
        elif not within:
            kept.append(text[at : mark.start()])
            within = True
    if within:
        return "", True
    return "".join([*kept, text[at:end]]), False


def _ends(mark: re.Match[str]) -> bool:
    return bool(mark["ends"] or mark["kimi_ends"] or mark["mistral_ends"] or mark["over"])


def cleaned(text: str) -> str:
    """The text as people see it: without escapes, invisible signs and leaked marks of the model, in plain letters."""
    text = _LEAKED.sub("\n", _ESCAPE.sub("", text))
    role = _ROLE.match(text)
    text = text[role.end() :] if role else text
    if text.isascii() and text.isprintable():
        return text
    text = unicodedata.normalize("NFKC", text)
    return "".join(sign for sign in text if sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cf"))


def shortened(said: Said) -> Said:
    """What is kept of an answer: one that is very long without its reasoning, and without the middle of what is left.

    It is read after this, so that a kept answer and a new one are read alike.
    """
    if len(said.text) <= 2 * _LONGEST_PART:
        return said
    text, cut_off = without_reasoning(said.text)
    if cut_off:
        return replace(said, text="", reasoning=said.reasoning or "…", finish=CUT_SHORT)
    if len(text) > 2 * _LONGEST_PART:
        text = f"{text[:_LONGEST_PART]}\n{text[-_LONGEST_PART:]}"
    return replace(said, text=text, reasoning=said.reasoning or "…")


def answer_of(said: Said) -> str | Unreadable:
    """What was answered, without reasoning; or why nothing was.

    >>> answer_of(Said("", reasoning="Hmm, let me see", finish="length")).value
    'cut off before the answer'
    """
    if said.refusal or said.finish == FILTERED:
        return Unreadable.REFUSED
    text, cut_off = without_reasoning(said.text)
    if cut_off:
        return Unreadable.CUT_OFF
    if not text.strip():
        return {CUT_SHORT: Unreadable.CUT_OFF, TOOL: Unreadable.TOOL}.get(said.finish, Unreadable.EMPTY)
    return text
