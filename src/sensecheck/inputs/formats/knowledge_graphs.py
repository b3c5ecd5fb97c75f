"""Questions, queries and answers as benchmarks over knowledge graphs keep them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError
from sensecheck.inputs.formats.reading import document, members_of, not_an_object
from sensecheck.inputs.formats.registry import Format, Row
from sensecheck.inputs.formats.start import UNFINISHED, Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import kind_and_value

_RESULTS_XML = "http://www.w3.org/2005/sparql-results#"


# ---- QALD


def _is_qald(start: Start) -> str:
    """An object with `questions`, each with texts by language."""
    if start.kind not in ("object", "lines"):
        return ""
    questions = start.members.get("questions")
    if questions is UNFINISHED:
        return "it has questions by language" if '"language"' in start.text and '"string"' in start.text else ""
    first = questions[0] if isinstance(questions, list) and questions else None
    if not isinstance(first, dict) or not isinstance(first.get("question"), list):
        return ""
    return "it has questions by language" if "query" in first or "answers" in first else ""


def _qald(source: Source) -> Iterator[Row]:
    questions = document(source, "QALD's JSON (an object with questions)")
    questions = questions.get("questions") if isinstance(questions, dict) else questions
    if not isinstance(questions, list):
        raise InputError(
            path=source.name, field="questions", expected="QALD's list of questions", got=kind_and_value(questions),
            reason=Reason.NOT_A_LIST,
        )  # fmt: skip
    for number, asked in enumerate(questions, 1):
        yield number, _question(asked, source.name, number)


def _question(asked: Any, path: str, number: int) -> Mapping[str, Any] | InputError:
    if not isinstance(asked, dict):
        return not_an_object(asked, path, record=number)
    texts = asked.get("question")
    spoken = {
        str(one.get("language") or ""): one.get("string")
        for one in (texts if isinstance(texts, list) else [])
        if isinstance(one, dict)
    }
    query = asked.get("query")
    sparql = query.get("sparql") if isinstance(query, dict) else query
    if not isinstance(sparql, str | None):
        return InputError(
            path=path, record=number, field="query", expected="a query in SPARQL, as text", got=kind_and_value(sparql),
            hint=SKIP_HINT, reason=Reason.NOT_A_TEXT,
        )  # fmt: skip
    kept = {name: value for name, value in asked.items() if not isinstance(value, dict | list)}
    return {
        **kept,
        "question": spoken.get("en") or next(iter(spoken.values()), None) if spoken else None,
        **{f"question_{language}": text for language, text in spoken.items() if language and language != "en"},
        # Questions outside the graph have an object without a query, or an empty text.
        "query": sparql.strip() or None if sparql is not None else None,
        "answers": asked.get("answers"),
    }


# ---- TEXT2SPARQL's sets of right answers


def _is_answer_sets(start: Start) -> str:
    """An object of sets: every member is an object whose values are all 1."""
    if start.kind not in ("object", "lines"):
        return ""
    members = [value for value in start.members.values() if value is not UNFINISHED]
    if not members or not all(isinstance(value, dict) for value in members):
        return ""
    marks = [mark for value in members for mark in value.values()]
    return "its members are sets of answers, each marked 1" if marks and all(mark == 1 for mark in marks) else ""


def _answer_sets(source: Source) -> Iterator[Row]:
    members = members_of(source, "a JSON object of answers by question")
    if not isinstance(members, dict):
        raise InputError(
            path=source.name, expected="a JSON object of answers by question", got=kind_and_value(members),
            reason=Reason.NOT_AN_OBJECT,
        )  # fmt: skip
    for number, (name, answers) in enumerate(members.items(), 1):
        if isinstance(answers, dict):
            yield number, {"id": name, "answers": list(answers)}
        else:
            yield number, not_an_object(answers, source.name, record=number)


# ---- results of one query


def _is_results(start: Start) -> str:
    if start.kind in ("object", "lines") and "head" in start.members and {"results", "boolean"} & start.members.keys():
        return "it has the head and the results of a query"
    if start.ending in ("srx", "srj") or (start.kind == "text" and _RESULTS_XML in start.text[:2000]):
        return "it is a result of a query in XML" if start.kind == "text" else "its name ends in .srj"
    if start.kind == "text" and start.lines and all(cell.startswith("?") for cell in start.lines[0].split("\t")):
        return "its header holds variables"
    return ""


def _results(source: Source) -> Iterator[Row]:
    from sensecheck.language.sparql.results import ResultsError, as_json, read_results

    name = Path(source.name).name
    try:
        answer = read_results(source.read(), name=name)
    except ResultsError as error:
        raise InputError(
            path=source.name, expected="the result of a SPARQL query in JSON, XML, CSV or TSV", got=str(error),
            hint="Is the file complete?", reason=Reason.SYNTAX,
        ) from None  # fmt: skip
    yield 1, {"id": name.partition(".")[0], "answers": as_json(answer)}


FORMATS = (
    Format(
        "qald",
        "QALD's JSON, which GERBIL takes too: questions by language, queries, answers",
        ("correct", "faithful"),
        _is_qald,
        _qald,
        holds="golds",
        options=" --graph GRAPH",
        example="sensecheck correct predictions.jsonl --gold qald-9-test.json --on id --graph dbpedia.ttl",
    ),
    Format(
        "answer-sets",
        "TEXT2SPARQL's right answers: an object of sets by question",
        ("correct",),
        _is_answer_sets,
        _answer_sets,
        holds="golds",
        example="sensecheck correct answers.json --gold true_result_set.json --on qname=id --graph corporate.ttl",
    ),
    Format(
        "sparql-results",
        "the result of one query a file, in SPARQL's JSON, XML, CSV or TSV; its name is the id (CSV: name the format)",
        ("correct",),
        _is_results,
        _results,
        endings=("srj", "srx", "csv", "tsv", "json", "xml"),
        example="sensecheck correct 'predicted/*.srj' --gold 'gold/*.srj' --on id",
    ),
)
