"""The words that stand for NLI labels in a model's answer: what any prompt may expect, and what one asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sensecheck.models.reading_answers import AnswerReader, Vocabulary

_TOLD = (
    r"(?:tell|told|say|said|known?|infer(?:red)?|concluded?|determined?|decided?|judged?|established|verif(?:y|ied))"
)
# "I cannot help with that" is no label, "it cannot be told" is.
_NAMES = (
    (r"neutral(?:ity)?|undetermined", 1),
    (rf"(?:cannot|can['’]t|can not|impossible to|not possible to|unable to)(?: \w+)? {_TOLD}", 1),
    (r"(?:not enough|insufficient) (?:information|evidence|context|details?)", 1),
    (r"contradict(?:s|ed|ions?|ory|ing)?", 2),
    (r"entail(?:s|ed|ments?|ing)?|can be inferred", 0),
)
_YES_NO = {"yes": 0, "true": 0, "no": 2, "false": 2, "maybe": 1}
_LABELS = ("entailment", "neutral", "contradiction")
_TWO_CLASSES = re.compile(r"\bnot[ _-]entail(?:ment|ed)\b")
_LISTED = re.compile(
    r"(?<![a-z0-9])\(?([a-z]|[0-9])\s?[).:=]\s{0,3}[\"'*]{0,2}(not[ _-]entailment|entailment|neutral|contradiction)"
)


def reader(prompt: str, more: Mapping[str, int] | None = None) -> AnswerReader:
    """How answers to a prompt are read.

    Letters and numbers stand for labels where the prompt lists them, yes and no where it names no labels, and "not
    entailment" is neutral where it is one of two choices. `more`: further words of the user's, with their labels.

    >>> from sensecheck.models.said import Said
    >>> reader("Choose: (A) entailment (B) neutral (C) contradiction")(Said("(B)")).label
    1
    """
    asked = prompt.lower()
    names = list(_NAMES)
    parts = ["nli"]
    bare = {option: 1 if label.startswith("not") else _LABELS.index(label) for option, label in _LISTED.findall(asked)}
    if bare:
        parts.append("".join(sorted(bare)))
    if sum(label in asked for label in _LABELS) < 2 and not _TWO_CLASSES.search(asked):
        bare |= _YES_NO
        parts.append("yes-no")
    if _TWO_CLASSES.search(asked):
        names.insert(0, (r"not[ _-]entail(?:ment|ed)", 1))
        parts.append("two")
    for word, label in (more or {}).items():
        names.insert(0, (re.escape(word.lower()), label))
    if more:
        parts.append(",".join(f"{word}={_LABELS[label]}" for word, label in sorted(more.items())))
    return AnswerReader(Vocabulary("-".join(parts), tuple(names), 3, bare, _LABELS, _choices(asked)))


def _choices(asked: str) -> tuple[str, ...]:
    if _TWO_CLASSES.search(asked):
        return ("entailment", "not_entailment")
    return _LABELS if all(label in asked for label in _LABELS) else ()
