"""The commented example that `sensecheck init` writes; options are read off the questions, so they are right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from sensecheck.evaluation.options import options, plain_default
from sensecheck.instruments import available
from sensecheck.report.question import question

# What the demo's data need, for those questions that have some: (option, value as TOML).
DEMO: dict[str, list[tuple[str, str]]] = {
    "faithful": [
        ("data", '{ A = "demo/sentences_a.jsonl", B = "demo/sentences_b.jsonl" }'),
        ("schema", '"demo/tables.json"'),
    ],
    "correct": [
        ("data", '{ A = "demo/sparql_a.jsonl.gz", B = "demo/sparql_b.jsonl.gz" }'),
        ("graph", '"demo/kg.nt"'),
        ("slices", '["question_type"]'),
    ],
    "diverse": [
        ("data", '{ A = "demo/dialogue_a.txt", B = "demo/dialogue_b.txt" }'),
        ("references", '"demo/dialogue_refs.json"'),
    ],
    "calibrated": [
        ("data", '{ A = "demo/parser_a.logits.gz", B = "demo/parser_b.logits.gz" }'),
        ("slices", '["question_type", "novelty"]'),
    ],
}
_PLACES = {"data": '"predictions/{system}.jsonl"'}
_FIRST = 'systems = ["A", "B"]'


def example(*, demo: bool) -> str:
    """The text of an evaluation.toml: every entry that can run on the demo's data is on, the others are comments."""
    return "\n".join(_lines(demo)) + "\n"


def _lacking(name: str) -> str:
    """The extra that the demo's entry of a question needs and that is not installed."""
    return "sparql" if name == "correct" and find_spec("pyoxigraph") is None else ""


def _lines(demo: bool) -> Iterator[str]:
    yield "#:schema ./evaluation.schema.json"
    yield "# What to evaluate: systems × questions × data. Run it with:  sensecheck run evaluation.toml"
    yield "# Paths are relative to this file. Running again measures only what changed."
    yield ""
    yield 'title = "Two systems"'
    yield "# The others are compared with the first."
    yield _FIRST
    yield "# Runs, reports, comparisons and the overview (index.html) go here."
    yield 'out = "runs"'
    yield "# compare = true"
    yield ""
    yield "[intervals]"
    yield '# method = "auto"   # or "percentile", "bca", "none"'
    yield "# level = 0.95"
    yield "# replicates = 1000"
    yield "# seed = 12345"
    asked = available()
    live = [name for name in asked if name in DEMO and not _lacking(name)] if demo else asked[:1]
    for name in asked:
        off = "" if name in live else "# "
        yield ""
        yield f"# {name}: {question(name).asks}"
        if demo and (extra := _lacking(name)):
            yield f"# Needs an extra: pip install 'sensecheck[{extra}]'"
        yield f"{off}[[evaluate]]"
        yield f'{off}question = "{name}"'
        chosen = dict(DEMO.get(name, [])) if demo else {}
        known = options(name)
        for key in dict.fromkeys([*chosen, *(k for k, o in known.items() if o.required or k == "data")]):
            yield f"{off}{key} = {chosen.get(key) or _PLACES.get(key, json.dumps('…'))}"
        if name == live[0]:
            yield "# In any value, {system} stands for the system's name; or give each its own: { A = …, B = … }."
            yield "# A model behind a URL takes its key from an environment variable, so no secret is written here:"
            yield '# access = { key_variable = "MY_API_KEY" } (robust; default: OPENAI_API_KEY).'
            yield "# fail_under = { FIGURE = 0.9 }   # exit code 1 when a figure is below (fail_over: above)"
        others = [k for k in known if k not in chosen and k != "data" and not known[k].required]
        yield f"# other options of {name}, with their defaults:"
        for key in others:
            yield f"#   {key} = {_toml(known[key].default)}{_expected(known[key].expected())}"


def _toml(value: Any) -> str:
    usual = plain_default(value)
    return "…" if usual is None else json.dumps(usual, ensure_ascii=False)


def _expected(words: str) -> str:
    return f"   # {words}" if words else ""
