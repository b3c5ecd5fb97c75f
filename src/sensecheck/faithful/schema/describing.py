"""What people write about a table or column: further names of it, and what its stored values stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sensecheck.faithful.facts import Name, name_of
from sensecheck.faithful.schema.model import Column, Table, further_names

LONGEST_NAME = 12
"""Words that `name_of` keeps of a name."""
_MOST_READ = 4_000  # characters of a description; nothing behind them is a name
_MOST_VALUES = 200

_PARENTHESIS = re.compile(r"\([^()]*\)")
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\s--\s")
_ABBREVIATED = re.compile(r"(?:^|\s)(?:no|nr|num|approx|avg|max|min|e\.g|i\.e|etc|vs|st|dr|mr|ms|mrs|[a-z])$", re.I)
_BLANKS = re.compile(r"\s+")

_QUOTES = "\"'“”‘’`"
_KEY = rf"[{_QUOTES}](?P<quoted>[^{_QUOTES}\n]{{1,60}})[{_QUOTES}]|(?P<bare>[\w+./-]{{1,12}})"
_VERB = r"(?:stands?\s{1,9}for|means?|refers?\s{1,9}to|represents?|denotes?|indicates?)(?!\w)"
_ITEM = re.compile(
    rf"(?:^|(?<=[\n;,.•(]))[ \t•*-]{{0,9}}(?:{_KEY})[ \t]{{0,9}}"
    rf"(?:(?:[:：]|=(?![=<>])|->|→)[ \t]{{0,9}}(?:{_VERB})?|{_VERB})",
    re.I,
)
_VALUE_END = re.compile(r"[\n;•]")
_CHAIN = re.compile(rf"[{_QUOTES}]\s*[:：=]")
_FORMULA = re.compile(r"[=<>*|{}]|\s[/+×-]\s|https?:|\bbetween\b|\d\s*[-~]\s*\d", re.I)
_NOT_A_VALUE = frozenset(
    {
        "unit", "units", "note", "notes", "format", "range", "example", "eg", "e.g", "ie", "i.e", "nb", "n.b", "ps",
        "tip", "hint", "evidence", "source", "url", "http", "https", "ref", "see", "todo", "fixme", "default", "type",
        "key", "value", "values", "pk", "fk", "max", "min", "avg", "sum", "id", "ids", "no", "nr", "rule", "it", "he",
        "she", "the", "and", "or", "if", "is", "for", "in", "on", "of", "as", "by", "to", "at", "from", "not", "all",
        "any", "this", "that",
    }
)  # fmt: skip
"""Words that stand before a colon or a verb and are no stored values."""


def described(texts: Iterable[str], *known: Name) -> tuple[Name, ...]:
    """Further names from descriptions: short ones, and none that only repeats a known name.

    >>> [name.text for name in described(["average salary", "The A 11", "average  salary"], name_of("A11"))]
    ['average salary']
    """
    return further_names((name_of(short(text)) for text in texts), *known)


def short(text: str) -> str:
    """A description, cut to what could be a name: all of a short one, else its first sentence without parentheses.

    >>> short("The mana cost of the card (as printed). Use the property of that name wherever it is possible.")
    'The mana cost of the card'
    """
    text = _plain(text)
    item = _ITEM.search(text)
    if item is not None and value_words(text):  # what values stand for is no name
        text = text[: item.start()]
    text = _BLANKS.sub(" ", text).strip(" ,;:-")
    return text if len(name_of(text).words) < LONGEST_NAME else _first_sentence(text)


def _first_sentence(text: str) -> str:
    text = _BLANKS.sub(" ", _PARENTHESIS.sub(" ", text)).strip()
    for end in _SENTENCE_END.finditer(text):
        if not _ABBREVIATED.search(text, max(0, end.start() - 8), end.start()):
            return text[: end.start()].strip(" ,;:-")
    return text


def value_words(text: str) -> dict[str, str]:
    """What stored values stand for, where a description says so plainly; nothing where that is in doubt.

    >>> value_words('"POPLATEK TYDNE" stands for weekly issuance\\n"POPLATEK MESICNE": monthly issuance')
    {'poplatek tydne': 'weekly issuance', 'poplatek mesicne': 'monthly issuance'}
    >>> value_words("F：female \\nM：male"), value_words("unit：US dollar"), value_words('"A" : "B" : "C"')
    ({'f': 'female', 'm': 'male'}, {}, {})
    """
    text = _plain(text)
    found: dict[str, str] = {}
    items = list(_ITEM.finditer(text))[:_MOST_VALUES]
    for i, item in enumerate(items):
        until = items[i + 1].start() if i + 1 < len(items) else len(text)
        end = _VALUE_END.search(text, item.end(), until)
        raw = text[item.end() : end.start() if end else until]
        value = item["quoted"] or item["bare"]
        words = _words(raw)
        if words and (item["quoted"] or _may_be_a_value(value)) and value.strip():
            found.setdefault(value.strip().lower(), words)
    return found


def _plain(text: str) -> str:
    """Without what doubled quotes of SQL and CSV have left."""
    return text[:_MOST_READ].replace("\r\n", "\n").replace("''", "'").replace('""', '"').replace("\xa0", " ")


def _may_be_a_value(text: str) -> bool:
    """Whether a word without quotes looks like something stored: a number, a code in capitals, a few letters."""
    low = text.lower().strip(".")
    if low in _NOT_A_VALUE or not low:
        return False
    if any(c.isdigit() for c in low):
        return low.isalnum()
    return len(low) <= 3 or text.isupper()


def _words(raw: str) -> str:
    """What a value stands for, as words; empty where it is a formula, a list of values or a whole explanation."""
    if _CHAIN.search(raw) or _FORMULA.search(raw):
        return ""
    text = _BLANKS.sub(" ", raw).strip(f" .,;:{_QUOTES}")
    if len(name_of(text).words) >= LONGEST_NAME:
        text = _first_sentence(text)
    words = len(text.split())
    return text if words <= LONGEST_NAME and any(c.isalpha() for c in text) else ""


def describe(thing: Table | Column, *texts: str | None) -> None:
    """Put into a table or column what descriptions say of it."""
    given = [text for text in texts if text and text.strip()]
    if not given:
        return
    thing.described = described(given, name_of(thing.name), thing.natural, *thing.described) + thing.described
    if isinstance(thing, Column):
        for text in given:
            thing.value_words = {**value_words(text), **thing.value_words}
