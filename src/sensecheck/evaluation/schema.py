"""The evaluation file as a JSON schema, for editors that complete and check as one types."""

from __future__ import annotations

from typing import Any

from sensecheck.evaluation.file import GATES, TOP
from sensecheck.evaluation.options import Setting, intervals, options, plain_default, schema_of, takes_anything
from sensecheck.instruments import available
from sensecheck.report import corrected
from sensecheck.report.question import question
from sensecheck.report.repeats import NAME


def schema() -> dict[str, Any]:
    asked = available()
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "sensecheck evaluation",
        "type": "object",
        "required": ["evaluate"],
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "description": TOP["title"]},
            "systems": {
                "type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "uniqueItems": True,
                "description": TOP["systems"],
            },
            "out": {"type": "string", "default": "runs", "description": TOP["out"]},
            "compare": {"type": "boolean", "default": True, "description": TOP["compare"]},
            "intervals": {
                "type": "object",
                "additionalProperties": False,
                "description": TOP["intervals"],
                "properties": _intervals(),
            },
            "evaluate": {
                "type": "array",
                "minItems": 1,
                "description": TOP["evaluate"],
                "items": {"oneOf": [_entry(name) for name in asked]},
            },
        },
    }  # fmt: skip


def _intervals() -> dict[str, Any]:
    described = {name: {**schema_of(s.hint), **_words(s)} for name, s in intervals().items()}
    described["level"] |= {"minimum": 0.5, "exclusiveMaximum": 1}
    described["replicates"]["minimum"] = 20
    described["jobs"].pop("default")  # it is the machine's
    return described


def _words(setting: Setting) -> dict[str, Any]:
    """What an editor shows of a setting: its help and its default."""
    usual = plain_default(setting.default)
    help_ = {"description": setting.help} if setting.help else {}
    return {**help_, **({"default": usual} if usual is not None else {})}


def _entry(name: str) -> dict[str, Any]:
    known = options(name)
    figures = [s.name for s in question(name).statistics({}) if not s.vector]
    properties: dict[str, Any] = {
        "question": {"const": name, "description": question(name).asks},
        "name": {"type": "string", "description": "what to call this entry (default: the question)"},
    }
    for kind in GATES:
        properties[kind] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {f: {"type": "number"} for f in figures},
            "patternProperties": {f"^(?:{NAME}|{corrected.NAME})$": {"type": "number"}},
            "description": f"exit code 1 when a figure is {'below' if kind == 'fail_under' else 'above'} the number",
        }
    for key, option in known.items():
        own = schema_of(option.hint)
        # Any option may be a table of systems, each with a value of its own.
        allowed: dict[str, Any] = {"anyOf": [own, {"type": "object"}]} if own else {}
        properties[key] = {**allowed, **_words(option)}
    return {
        "type": "object",
        "title": name,
        "required": ["question", *(k for k, o in known.items() if o.required)],
        "properties": properties,
        "additionalProperties": takes_anything(name),
    }
