"""SPARQL results in JSON, XML, CSV and TSV are the same answer, and what is none of them has a message."""

from __future__ import annotations

import json
import time

import pytest

from sensecheck.correct.answer_sets import row_set
from sensecheck.inputs.errors import InputError
from sensecheck.language.answers import Answer, Term
from sensecheck.language.sparql.results import (
    ResultsError,
    as_json,
    form_of,
    is_json_results,
    of_json,
    read_results,
    read_results_file,
)

XSD = "http://www.w3.org/2001/XMLSchema#"
ROWS = [
    (Term("iri", "http://e/a"), Term("literal", 'say "hi", twice\n', XSD + "string"), Term("literal", "31", XSD + "integer")),
    (Term("iri", "http://e/b"), Term("literal", "Häh\t?", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "de"), None),
    (Term("blank", "n1"), None, Term("literal", "2.50", XSD + "decimal")),
]  # fmt: skip
JSON = json.dumps(as_json(Answer(["x", "label", "n"], ROWS)))
XML = f"""<?xml version="1.0"?>
<sparql xmlns="http://www.w3.org/2005/sparql-results#">
  <head><variable name="x"/><variable name="label"/><variable name="n"/><link href="about"/></head>
  <results>
    <result>
      <binding name="x"><uri>http://e/a</uri></binding>
      <binding name="label"><literal>say "hi", twice&#10;</literal></binding>
      <binding name="n"><literal datatype="{XSD}integer">31</literal></binding>
    </result>
    <result>
      <binding name="x"><uri>http://e/b</uri></binding>
      <binding name="label"><literal xml:lang="de">Häh&#9;?</literal></binding>
    </result>
    <result><binding name="x"><bnode>n1</bnode></binding>
      <binding name="n"><literal datatype="{XSD}decimal">2.50</literal></binding></result>
  </results>
</sparql>"""
TSV = '?x\t?label\t?n\n<http://e/a>\t"say \\"hi\\", twice\\n"\t31\n<http://e/b>\t"H\\u00e4h\\t?"@de\t\n_:n1\t\t2.50\n'
CSV = 'x,label,n\r\nhttp://e/a,"say ""hi"", twice\n",31\r\nhttp://e/b,Häh\t?,\r\n_:n1,,2.50\r\n'


@pytest.mark.parametrize(("text", "form"), [(JSON, "json"), (XML, "xml"), (TSV, "tsv"), (CSV, "csv")])
def test_four_forms_of_one_answer(text, form):
    data = text.encode()
    assert form_of(data) == form
    answer = read_results(data)
    assert answer.columns == ["x", "label", "n"]
    if form == "csv":
        # CSV has no types: its values are told by their text alone.
        assert answer.detail == "plain"
        assert [[cell and cell.value for cell in row] for row in answer.rows] == [
            [cell and cell.value for cell in row] for row in ROWS
        ]
        assert row_set(answer, detail="plain") == row_set(Answer(["x", "label", "n"], ROWS), detail="plain")
    else:
        assert answer == Answer(["x", "label", "n"], ROWS)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"head":{},"boolean":true}', True),
        ('{"head": {}, "results": {}, "boolean": false}', False),  # as QALD writes it
        ("<sparql xmlns='http://www.w3.org/2005/sparql-results#'><head/><boolean> false </boolean></sparql>", False),
        ("true", True),
        ("false\n", False),
    ],
)
def test_verdicts(text, verdict):
    assert read_results(text.encode()).boolean is verdict


@pytest.mark.parametrize(
    "text",
    [
        '{"head":{"vars":["x"]},"results":{"bindings":[]}}',
        '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="x"/></head><results/></sparql>',
        "x\r\n",
        "?x\n",
    ],
)
def test_nothing_found(text):
    answer = read_results(text.encode(), name="r.csv")
    assert (answer.columns, answer.rows, answer.boolean) == (["x"], [], None)


def test_unbound_in_one_column_is_a_row():
    for text in ("?x\n\n<http://e/a>\n", "x\r\n\r\nhttp://e/a\r\n"):
        assert read_results(text.encode()).rows == [(None,), (Term("iri", "http://e/a"),)]


TRIPLE = {"type": "triple", "value": {"subject": {}, "predicate": {}, "object": {}}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"head":{"vars":["x"]},"results":{"bindings":[{"x":%s}]}}' % json.dumps(TRIPLE), "RDF-star"),  # noqa: UP031
        ("?x\n<< <http://e/a> <http://e/b> <http://e/c> >>\n", "RDF-star"),
        ("<sparql><head><variable name='x'/></head><results><result><binding name='x'><triple/></binding></result></results></sparql>", "RDF-star"),
        ('<!DOCTYPE sparql [<!ENTITY a "aaaa">]><sparql><head/><boolean>true</boolean></sparql>', "document type"),
        ('<!DOCTYPE sparql SYSTEM "file:///etc/passwd"><sparql><head/><boolean>true</boolean></sparql>', "document type"),
        ("<sparql><head/></sparql>", "neither results nor a boolean"),
        ("<html><body/></html>", "not sparql"),
        ("<sparql><head><variable name='x'/>", "no XML"),
        ("<sparql>" + "<a>" * 40 + "</a>" * 40 + "</sparql>", "nested too deeply"),
        ("<sparql><head/><results><result><binding name='y'><uri>u</uri></binding></result></results></sparql>", "head does not name"),
        ('{"head":{"vars":["x"]},"results":{"bindings":[{"x":', "no JSON"),
        ("[" * 100_000, "no JSON|nested"),
        ('{"head":' * 5000, "nested|no JSON"),
        ('{"head":{"vars":["x","x"]},"results":{"bindings":[]}}', "same twice"),
        ('{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"thing","value":"a"}}]}}', "neither uri"),
        ('{"boolean":"yes"}', "boolean"),
        ("", "nothing"),
        ("x,y\r\n1\r\n", "row 1 has 1 values"),
        ('x\r\n"open\r\n', "never ends"),
        ("?x\n\"a\\q\"\n", "escape"),
        ("?x\nhello world\n", "row 1"),
        ("?x\n\"\\uD800\"\n", "outside Unicode"),
    ],
)  # fmt: skip
def test_what_is_no_result_has_words(text, words):
    with pytest.raises(ResultsError, match=words):
        read_results(text.encode())


def test_a_file_has_its_path_in_the_message(tmp_path):
    file = tmp_path / "people.srx"
    file.write_text("<html/>")
    with pytest.raises(InputError, match=r"people\.srx: expected results of a SPARQL query"):
        read_results_file(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_results_file(tmp_path / "none.srj")


def test_large_and_slow_texts_are_bounded():
    columns = ",".join(f"c{i}" for i in range(20_000))
    with pytest.raises(ResultsError, match="variables"):
        read_results((columns + "\r\n" + "," * 19_999 + "\r\n").encode())
    started = time.perf_counter()
    for text in (
        '?x\n"' + "\\" * 200_001,
        "x\r\n" + '"' * 200_001,
        "?x\n" + "1" * 200_000 + "e",
        "?x\n<" + "a" * 200_000,
    ):
        with pytest.raises(ResultsError):
            read_results(text.encode())
    assert time.perf_counter() - started < 2


def test_golds_that_tell_no_types_are_plain():
    untold = {"head": {"vars": ["c"]}, "results": {"bindings": [{"c": {"type": "literal", "value": "8"}}]}}
    assert of_json(untold).detail == "plain"
    untold["results"]["bindings"][0]["c"]["datatype"] = XSD + "integer"
    assert of_json(untold).detail == "full"


def test_variables_may_be_left_out():
    answer = of_json(
        {"results": {"bindings": [{"a": {"type": "uri", "value": "u"}}, {"b": {"type": "uri", "value": "v"}}]}}
    )
    assert answer.columns == ["a", "b"]
    assert is_json_results({"head": None, "results": {"bindings": []}, "boolean": None})
    assert not is_json_results({"results": [1, 2]})


def test_what_pyoxigraph_writes_is_read_back():
    oxigraph = pytest.importorskip("pyoxigraph")
    hypothesis = pytest.importorskip("hypothesis")
    strategies = hypothesis.strategies
    texts = strategies.text(
        strategies.characters(exclude_categories=("Cs", "Cc"), include_characters="\t\n\"'\\,"), max_size=8
    )
    terms = strategies.one_of(
        strategies.none(),
        strategies.integers(0, 99).map(lambda n: oxigraph.NamedNode(f"http://e/{n}")),
        texts.map(oxigraph.Literal),
        texts.map(lambda text: oxigraph.Literal(text, language="en-gb")),
        strategies.integers(-9, 9).map(oxigraph.Literal),
        strategies.floats(allow_nan=False, allow_infinity=False, width=16).map(oxigraph.Literal),
        strategies.booleans().map(oxigraph.Literal),
    )  # fmt: skip

    @hypothesis.settings(max_examples=60, deadline=None)
    @hypothesis.given(strategies.lists(strategies.tuples(terms, terms), max_size=4))
    def check(rows):
        cells = " ".join(f"({' '.join('UNDEF' if term is None else str(term) for term in row)})" for row in rows)
        query = f"SELECT ?a ?b {{ VALUES (?a ?b) {{ {cells} }} }}"
        read = {}
        for name in ("JSON", "XML", "TSV", "CSV"):
            results = oxigraph.Store().query(query)
            read[name] = read_results(
                results.serialize(format=getattr(oxigraph.QueryResultsFormat, name)), name.lower()
            )
        assert read["JSON"] == read["XML"] == read["TSV"]
        assert len(read["JSON"].rows) == len(rows)
        empty = [tuple([cell or None for cell in row]) for row in read["CSV"].rows]
        assert [[cell and cell.value for cell in row] for row in empty] == [
            [(cell and cell.value) or None for cell in row] for row in read["JSON"].rows
        ]

    check()
