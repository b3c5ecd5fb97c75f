"""BLEC to the letter: the verdicts, their order, the slot dictionaries and the exceptions of the original metric.

Everything odd in here is the original's doing and is kept on purpose; the default mode lives in `measure.py`.
The word lists are data, in `lexicon/blec/`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

Template = dict[str, dict[str, str]]


def _word_list(name: str) -> dict[str, Any]:
    text = resources.files("sensecheck.faithful").joinpath("lexicon", "blec", f"{name}.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


# ----------------------------------------------------------------------------------------------- Logic2text

_LOGIC = _word_list("logic2text")
_OPERATORS: dict[str, tuple[str, ...] | None] = {
    name: None if forms is None else tuple(forms) for name, forms in _LOGIC["operators"].items()
}
_DIGIT_FORMS = {
    int(n): (_LOGIC["ordinals_by_int"][n], word) for n, word in _LOGIC["number_words"].items()
}  # 8 is "eighth" or "nine": the original's list
_PIECE = re.compile(r"[^{};|]+")

Piece = tuple[str, tuple[str, ...] | None]


@lru_cache(maxsize=65_536)
def _logic_pieces(logic: str) -> tuple[bool, tuple[Piece, ...]]:
    """Whether a piece is exactly `not`, and the pieces that can be in error: operators with their forms, digits."""
    pieces = [piece.strip() for piece in _PIECE.findall(logic)]
    checked: list[Piece] = []
    for piece in pieces:
        if piece in _OPERATORS:
            forms = _OPERATORS[piece]
            if forms is not None:
                checked.append((piece, forms))
        elif piece.isdigit():
            checked.append((piece, None))
    return "not" in pieces, tuple(checked)


def _says_digits(digits: str, sentence: str) -> bool:
    if digits in sentence or digits == "1":
        return True
    n = int(digits)  # superscripts pass isdigit() and fail here: the original's ValueError
    if n <= 10:
        ordinal, word = _DIGIT_FORMS[n]
        return ordinal in sentence or word in sentence
    return f"{n:,}" in sentence


def logic2text_errors(logic: str, sentence: str, reference: str | None = None) -> list[str]:
    """The tokens that BLEC finds wrong in a sentence for a Logic2text form; empty means consistent."""
    has_not, checked = _logic_pieces(logic)
    errors = ["not"] if not has_not and "not" in sentence else []
    for piece, forms in checked:
        if forms is None:
            if _says_digits(piece, sentence):
                continue
            if reference is not None and not _says_digits(piece, reference):
                continue
            errors.append(piece)
        else:
            for form in forms:
                if form in sentence:
                    break
            else:
                errors.append(piece)
    return errors


# --------------------------------------------------------------------------------------------------- Spider

_SPIDER = _word_list("spider")
_AGGREGATES = tuple((name, tuple(_SPIDER["agg"][name])) for name in _SPIDER["agg_order"])
_DIRECTIONS = tuple((name, tuple(_SPIDER["sc"][name])) for name in ("asc", "desc"))
_COMPARISONS: dict[str, tuple[str, ...]] = {op: tuple(forms) for op, forms in _SPIDER["op"].items()}
_NUMBER_WORDS: dict[str, str] = _SPIDER["number_words"]
_NEGATIONS = tuple(_SPIDER["negation_triggers"])

_TEMPLATE = _word_list("spider_template")
_KEYWORDS = frozenset(_TEMPLATE["sql_keywords"])
_OPERATOR_KINDS = {token: kind for kind in ("OP", "AGG", "SC") for token in _TEMPLATE["slot_tokens"][kind]}
_MAX_FROM_REMOVALS: int = _TEMPLATE["max_from_removals"]

_FOUND = "__FOUND__"
_METACHARACTERS = frozenset(r"\.^$*+?{}[]|()")
_DOUBLE_QUOTED = re.compile(r'"[^"]*"')
_SINGLE_QUOTED = re.compile(r"'[^']*'")
_NUMBER = re.compile(r"[-+]?\d*\.\d+|[-+]?\d+")
_ALIAS_DOT = re.compile(r"T\d+\.")
_ALIAS = re.compile(r"T\d+")
_WORD = re.compile(r"\w+")


def _holds(text: str, forms: tuple[str, ...]) -> bool:
    for form in forms:  # noqa: SIM110 (a generator costs more than the look itself)
        if form in text:
            return True
    return False


_LONGEST_QUESTION = 2_000_000
"""The original ends when no memory is left: each value of nothing but quotes makes its question much longer."""


def question_test(sql: str, name_dict: Mapping[str, str], question: str) -> tuple[int, list[str]]:
    """BLEC's label (1 minus the number of errors) and errors for an already lower-cased question."""
    errors: list[str] = []
    if _holds(question, _NEGATIONS) and "!=" not in name_dict.values():
        lowered = sql.lower()
        if "except" not in lowered and "not" not in lowered:
            errors.append("not")
    for digit, word in _NUMBER_WORDS.items():
        if word in question and digit not in sql:
            errors.append("number")
            break
    for slot, value in name_dict.items():
        if "AGG" in slot:
            for aggregate, forms in _AGGREGATES:
                if aggregate in value and not _holds(question, forms):
                    errors.append(aggregate)
        if "SC" in slot:
            lowered = value.lower()
            for direction, forms in _DIRECTIONS:
                if direction in lowered and not _holds(question, forms):
                    errors.append(direction)
        if "OP" in slot:
            forms_or_none = _COMPARISONS.get(value)
            if forms_or_none is not None and not _holds(question, forms_or_none):
                errors.append(value)
        if "VALUE" in slot:
            if value == "1" or value == "t":
                continue
            word_or_none = _NUMBER_WORDS.get(value)
            if word_or_none is not None and word_or_none in question:
                question = question.replace(word_or_none, _FOUND)
                continue
            stripped = value.strip("'").strip('"')
            if stripped and _METACHARACTERS.isdisjoint(stripped):  # no metacharacter: a plain substring is the same
                if stripped in question:
                    question = question.replace(stripped, _FOUND)
                else:
                    errors.append(stripped)
            elif re.search(stripped, question):
                question = re.sub(stripped, _FOUND, question)
            else:
                errors.append(stripped)
            if len(question) > _LONGEST_QUESTION:
                raise ValueError(
                    "the question grows without end: a value of nothing but quotes is found at every place"
                )
    return 1 - len(errors), errors


def _collapse_from(tokens: list[str]) -> list[str]:
    """Replace every FROM … range by one marker; what it held opens no slot."""
    for _ in range(_MAX_FROM_REMOVALS):
        if "FROM" not in tokens:
            break
        start = tokens.index("FROM")
        depth = 0
        end = start + 1
        while end < len(tokens):
            token = tokens[end]
            if token in ("WHERE", "GROUP", "ORDER"):
                break
            if token == "(":
                depth += 1
            elif token == ")":
                depth -= 1
                if depth < 0:
                    break
            end += 1
        tokens[start:end] = ["{FROM}"]
    return tokens


def _literal_slots(text: str) -> tuple[dict[str, str], str]:
    """Slots of the quoted literals, the double-quoted first, and the text with the slots in their places."""
    slots: dict[str, str] = {}
    for k, literal in enumerate(_DOUBLE_QUOTED.findall(text) + _SINGLE_QUOTED.findall(text)):
        slots[f"{{VALUE{k}}}"] = literal
        text = text.replace(literal, f"{{VALUE{k}}}")
    return slots, text


def _bare_name(token: str) -> str:
    """What is left of a token without aliases, quotes and the name of its table."""
    name = _ALIAS_DOT.sub("", token).replace("'", "").replace('"', "")
    name = _ALIAS.sub("", name).lower()
    return name.rpartition(".")[2].strip() if "." in name else name


def _operator_slots(tokens: list[str]) -> dict[str, str]:
    """Slots of comparisons, then of aggregates, then of directions of an order, outside FROM."""
    tokens_of_kind: dict[str, list[str]] = {"OP": [], "AGG": [], "SC": []}
    for token in _collapse_from(tokens):
        kind = _OPERATOR_KINDS.get(token)
        if kind is not None:
            tokens_of_kind[kind].append(token)
    return {f"{{{kind}{k}}}": token for kind, listed in tokens_of_kind.items() for k, token in enumerate(listed)}


def _without_repeated_numbers(slots: dict[str, str], sql: str) -> dict[str, str]:
    """The slots in lower case; a number stays once, and only where the query holds it as a word of its own."""
    words = set(_WORD.findall(sql))
    cleaned: dict[str, str] = {}
    for slot, value in slots.items():
        if value.isdigit():
            if value not in words:
                continue
            words.discard(value)
        cleaned[slot] = value.replace("'", "").replace('"', "").lower().replace("%", "")
    return cleaned


def name_dict(sql: str, schema: Mapping[str, Any]) -> dict[str, str]:
    """The slots of a query over a schema (an entry of Spider's tables.json), as the original numbers them.

    Raises UnboundLocalError where the original does: a query without a SELECT or a FROM token of its own.
    """
    columns = {name.lower() for _, name in schema["column_names_original"]}
    tables = {
        original.lower(): natural.lower()
        for original, natural in zip(schema["table_names_original"], schema["table_names"], strict=False)
    }
    slots, text = _literal_slots(sql.replace(";", "").replace("\t", "").replace("(", " ( ").replace(")", " ) "))
    first_slot: dict[str, str] = {}
    for k, number in enumerate(_NUMBER.findall(text), len(slots)):
        slots[f"{{VALUE{k}}}"] = number
        first_slot.setdefault(number, f"{{VALUE{k}}}")

    column_slots: dict[str, str] = {}
    table_slots: dict[str, str] = {}
    tokens: list[str] = []
    for token in text.split(" "):
        if not token or token.isspace():
            continue
        upper = first_slot.get(token) or token.upper()
        if upper in _KEYWORDS or upper[0] == "{":
            tokens.append(upper)
            continue
        name = _bare_name(upper)
        if not name:
            continue
        if name in columns:
            if name not in column_slots:
                column_slots[name] = f"{{COLUMN{len(column_slots)}}}"
            tokens.append(column_slots[name])
        elif name in tables:
            natural = tables[name]
            if natural not in table_slots:
                table_slots[natural] = f"{{TABLE{len(table_slots)}}}"
            tokens.append(table_slots[natural])
    if "FROM" not in tokens or "SELECT" not in tokens:
        raise UnboundLocalError("the query has no SELECT or no FROM token of its own (the original fails here)")
    slots.update((slot, value) for value, slot in column_slots.items())
    slots.update((slot, value) for value, slot in table_slots.items())
    slots.update(_operator_slots(tokens))
    return _without_repeated_numbers(slots, sql)


def spider_errors(sql: str, slots: Mapping[str, str], question: str) -> list[str]:
    """The errors for a question as written; the original lower-cases it first."""
    return question_test(sql, slots, question.lower())[1]


def spider_errors_many(pairs: Iterable[tuple[str, str]], template: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """Errors of many (sql, question) pairs, each query looked up in a template."""
    return [question_test(sql, template[sql], question.lower())[1] for sql, question in pairs]


def logic2text_errors_many(
    logics: Sequence[str], sentences: Sequence[str], references: Sequence[str | None] | None = None
) -> list[list[str]]:
    """Errors of many pairs."""
    if references is None:
        return [logic2text_errors(logic, sentence) for logic, sentence in zip(logics, sentences, strict=True)]
    return [logic2text_errors(*row) for row in zip(logics, sentences, references, strict=True)]


def read_template(path: str | os.PathLike[str]) -> tuple[Template, Template]:
    """A template file: the slots of every original query, and of every translated one."""
    original, translated = json.loads(Path(path).read_text("utf-8"))
    return original, translated


def write_template(path: str | os.PathLike[str], original: Template, translated: Template) -> None:
    """Write a template file that `read_template` and the original read."""
    Path(path).write_text(json.dumps([original, translated]), "utf-8")


def build_templates(
    examples: Iterable[Mapping[str, Any]],
    tables: Iterable[Mapping[str, Any]],
    translations: Mapping[str, str],
) -> tuple[Template, Template]:
    """Slots for every query of a Spider file; one query that fails stops all, as in the original."""
    schemas = {entry["db_id"]: entry for entry in tables}
    original: Template = {}
    translated: Template = {}
    for example in examples:
        sql = example["query"]
        slots = name_dict(sql, schemas[example["db_id"]])
        original[sql] = slots
        if sql in translations:
            translated[translations[sql]] = slots
        else:
            print(f"{sql} not found")
    return original, translated
