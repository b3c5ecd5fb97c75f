"""Labels: columns of them that make no difference where asked for, and Wikidata's label service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sensecheck import correct
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.language.sparql import normal_form, parse, same_query
from sensecheck.language.sparql.label_service import LabelServiceError, labels_from_graph, uses_label_service
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import STANDARD_PREFIXES, Answer, Endpoint, Failure, Graph, Limits, Request
from sensecheck.stores.sparql_gate import admit

NO_INTERVAL = IntervalOptions(method="none")
TURTLE = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
wd:Q1 wdt:P31 wd:Q5 ; wdt:P1 7 ; rdfs:label "Anna"@en, "Änna"@de ; schema:description "a woman"@en .
wd:Q2 wdt:P31 wd:Q5 ; rdfs:label "Ben"@de .
wd:Q3 wdt:P31 wd:Q5 .
wd:Q4 wdt:P31 wd:Q5 ; rdfs:label "Dora" .
wd:Q5 rdfs:label "human"@en .
"""
SERVICE = 'SERVICE wikibase:label { bd:serviceParam wikibase:language "en,de" . }'


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyoxigraph")
    path = tmp_path_factory.mktemp("graph") / "g.ttl"
    path.write_text(TURTLE)
    return path


@pytest.fixture(scope="module")
def store(graph: Path):
    with Graph(graph, workers=1) as opened:
        yield opened


def labels(store: Graph, text: str) -> list[list[str | None]]:
    answer = store.execute(Request(text))
    assert isinstance(answer, Answer), answer
    return [[None if cell is None else cell.value.rsplit("/", 1)[-1] for cell in row] for row in answer.rows]


# ---- the label service on a graph


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (f"SELECT ?x ?xLabel {{ ?x wdt:P31 wd:Q5 . {SERVICE} }} ORDER BY ?x",
         [["Q1", "Anna"], ["Q2", "Ben"], ["Q3", "Q3"], ["Q4", "Dora"]]),
        # Wherever the block stands, it comes last.
        (f"SELECT ?xLabel {{ {SERVICE} ?x wdt:P31 wd:Q5 }} ORDER BY ?x", [["Anna"], ["Ben"], ["Q3"], ["Dora"]]),
        (f"SELECT ?xLabel {{ ?x wdt:P31 wd:Q5 {SERVICE} ?x wdt:P1 7 }}", [["Anna"]]),
        (f"SELECT ?xLabel {{ ?x wdt:P31 wd:Q5 . {SERVICE}. ?x wdt:P1 ?n . FILTER(?n > 1) }}", [["Anna"]]),
        # The order of languages is one of preference.
        ('SELECT ?xLabel { ?x wdt:P1 7 SERVICE wikibase:label { bd:serviceParam wikibase:language "fr,de,en" } }', [["Änna"]]),
        ('SELECT ?xLabel { ?x wdt:P1 7 SERVICE wikibase:label { bd:serviceParam wikibase:language "[AUTO_LANGUAGE],de" } }', [["Anna"]]),
        ("SELECT ?xLabel { ?x wdt:P1 7 SERVICE wikibase:label { } }", [["Anna"]]),
        ('SELECT ?xLabel { ?x wdt:P1 7 SERVICE SILENT wikibase:label { bd:serviceParam wikibase:language "de", "en" } }', [["Änna"]]),
        ('PREFIX w: <http://wikiba.se/ontology#> SELECT ?xLabel { ?x wdt:P1 7 service w:label { <http://www.bigdata.com/rdf#serviceParam> w:language "en" } }', [["Anna"]]),
        # By hand, and of something that is no variable.
        ('SELECT ?n { ?x wdt:P31 wd:Q5 SERVICE wikibase:label { bd:serviceParam wikibase:language "en" . ?x rdfs:label ?n } } ORDER BY ?x',
         [["Anna"], ["Q2"], ["Q3"], ["Dora"]]),
        ('SELECT ?n { SERVICE wikibase:label { bd:serviceParam wikibase:language "en" . wd:Q5 rdfs:label ?n } }', [["human"]]),
        # Descriptions have no stand-in; numbers are their own label.
        (f"SELECT ?xDescription ?nLabel {{ ?x wdt:P1 ?n . {SERVICE} }}", [["a woman", "7"]]),
        (f"SELECT ?xDescription {{ VALUES ?x {{ wd:Q2 }} {SERVICE} }}", [[None]]),
        # Counted, sorted, grouped, filtered.
        (f"SELECT ?kLabel (COUNT(?x) AS ?n) {{ ?x wdt:P31 ?k . {SERVICE} }} GROUP BY ?k ?kLabel", [["human", "4"]]),
        (f"SELECT ?x {{ ?x wdt:P31 wd:Q5 . {SERVICE} }} ORDER BY DESC(?xLabel) LIMIT 1", [["Q3"]]),
        (f'SELECT ?x {{ ?x wdt:P31 wd:Q5 . FILTER(STRSTARTS(?xLabel, "A")) {SERVICE} }}', [["Q1"]]),
        # What the query binds itself is left alone.
        (f"SELECT ?xLabel {{ ?x wdt:P1 ?n . BIND(3 AS ?xLabel) {SERVICE} }}", [["3"]]),
        (f"SELECT (STR(?n) AS ?xLabel) {{ ?x wdt:P1 ?n . {SERVICE} }} ORDER BY ?xLabel", [["7"]]),
        # In a subquery, and outside one.
        (f"SELECT ?xLabel {{ {{ SELECT ?x {{ ?x wdt:P1 7 }} }} {SERVICE} }}", [["Anna"]]),
        (f"SELECT ?xLabel {{ {{ SELECT ?x ?xLabel {{ ?x wdt:P1 7 . {SERVICE} }} }} }}", [["Anna"]]),
        (f"SELECT ?label_1Label {{ ?label_1 wdt:P1 7 . {SERVICE} }}", [["Anna"]]),
    ],
)  # fmt: skip
def test_the_label_service_on_a_graph(store, text, rows):
    assert labels(store, text) == rows


def test_variables_of_ours_are_not_shown(store):
    answer = store.execute(Request("SELECT * { ?x wdt:P1 7 SERVICE wikibase:label { ?x rdfs:label ?name } }"))
    assert sorted(answer.columns) == ["name", "x"] and len(answer.rows[0]) == 2


def test_text_that_looks_like_a_service_is_left_alone(store):
    text = 'SELECT ("SERVICE wikibase:label { }" AS ?y) { wd:Q1 wdt:P1 ?n } # SERVICE wikibase:label { }'
    assert labels(store, text) == [["SERVICE wikibase:label { }"]]
    assert labels_from_graph(parse(text, STANDARD_PREFIXES)) is None


@pytest.mark.parametrize(
    "block",
    [
        "?x ?y ?z",
        "?x wdt:P31 ?y",
        "{ ?x rdfs:label ?y }",
        "SERVICE <http://evil.example/> { ?a ?b ?c }",
        "FILTER(1 = 1)",
        "?x rdfs:label 'text'",
        "[] rdfs:label ?y",
        "?x rdfs:label/rdfs:label ?y",
    ],
)
def test_a_label_service_that_asks_for_more_is_refused(block):
    outcome = admit(
        f"SELECT ?x {{ ?x ?p ?o SERVICE wikibase:label {{ {block} }} }}", STANDARD_PREFIXES, Limits(), own_labels=True
    )
    assert isinstance(outcome, Failure) and str(outcome.reason) == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?x { ?x ?p ?o SERVICE <http://evil.example/> { ?a ?b ?c } }",
        "SELECT ?x { ?x ?p ?o SERVICE ?x { ?a ?b ?c } }",
        f"SELECT ?x {{ ?x ?p ?o FILTER EXISTS {{ ?x ?y ?z {SERVICE} }} }}",
        f"SELECT ?x {{ ?x ?p ?o {SERVICE} SERVICE <http://evil.example/> {{ ?a ?b ?c }} }}",
        f"SELECT ?x {{ ?x ?p ?o SERVICE <http://evil.example/> {{ ?a ?b ?c {SERVICE} }} }}",
    ],
)
def test_other_services_are_refused_on_a_graph(text):
    outcome = admit(text, STANDARD_PREFIXES, Limits(), own_labels=True)
    assert isinstance(outcome, Failure) and str(outcome.reason) == "refused"


def test_languages_that_are_none_add_nothing():
    hostile = 'en") } OPTIONAL { ?s ?p ?o . FILTER("" = "'
    text = "SELECT ?xLabel { ?x wdt:P1 7 SERVICE wikibase:label { bd:serviceParam wikibase:language '''%s''' } }"
    rewritten = labels_from_graph(parse(text % hostile, STANDARD_PREFIXES))
    assert rewritten is not None and "?s ?p ?o" not in rewritten.text


def test_too_many_labels_are_refused():
    many = " ".join(f"?v{n}Label" for n in range(300))
    bound = " . ".join(f"?v{n} ?p{n} ?o{n}" for n in range(300))
    with pytest.raises(LabelServiceError, match="more than 256"):
        labels_from_graph(parse(f"SELECT {many} {{ {bound} . {SERVICE} }}", STANDARD_PREFIXES))


def test_normal_forms_keep_the_block():
    plain, served = (
        normal_form(parse(text, STANDARD_PREFIXES).query)
        for text in ("SELECT ?x { ?x wdt:P1 7 }", f"SELECT ?x {{ ?x wdt:P1 7 {SERVICE} }}")
    )
    assert not same_query(plain, served)
    assert uses_label_service(parse(f"ASK {{ {SERVICE} }}", STANDARD_PREFIXES).query)


def test_a_run_says_so(graph, tmp_path):
    gold = "SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 . ?x rdfs:label ?xLabel FILTER(LANG(?xLabel) = 'en') }"
    predicted = 'SELECT ?x ?xLabel { ?x wdt:P1 7 . SERVICE wikibase:label { bd:serviceParam wikibase:language "en" } }'
    records = [{"id": "1", "prediction": predicted, "gold": gold}, {"id": "2", "prediction": gold, "gold": gold}]
    for _ in range(2):  # the second takes all answers from the cache
        result = correct.evaluate(records, graph=graph, cache=tmp_path / "kept.db", options=NO_INTERVAL)
        assert result.measurements["correct"].to_list() == [True, True]
        assert "1 record with SERVICE wikibase:label: labels were looked up in the graph (rdfs:label)" in result.notes
        assert "wikibase:label:rdfs:label" in str(result.signature)
    quiet = correct.evaluate(records[1:], graph=graph, options=NO_INTERVAL)
    assert "wikibase" not in str(quiet.signature) and not any("SERVICE" in note for note in quiet.notes)


# ---- on an endpoint


def test_services_of_an_endpoint():
    label = frozenset(["http://wikiba.se/ontology#label"])
    query = f"SELECT ?x ?xLabel {{ ?x wdt:P1 7 {SERVICE} }}"
    allowed = admit(query, STANDARD_PREFIXES, Limits(), services=label)
    assert not isinstance(allowed, Failure) and "SERVICE wikibase:label" in allowed.text
    assert "PREFIX bd: <http://www.bigdata.com/rdf#>" in allowed.text
    for services in (frozenset[str](), frozenset(["http://wikiba.se/ontology"])):
        assert isinstance(admit(query, STANDARD_PREFIXES, Limits(), services=services), Failure)
    other = "SELECT ?x { SERVICE <http://evil.example/> { ?x ?y ?z } }"
    assert isinstance(admit(other, STANDARD_PREFIXES, Limits(), services=label), Failure)
    with_it, without = (Endpoint("http://localhost:9/q", services=services) for services in (label, ()))
    assert with_it.fingerprint != without.fingerprint == "endpoint http://localhost:9/q"


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("wikibase:label", "http://wikiba.se/ontology#label"),
        ("http://wikiba.se/ontology#label", "http://wikiba.se/ontology#label"),
        ("<https://e.org/sparql>", "https://e.org/sparql"),
        ("urn:x:y", "urn:x:y"),
    ],
)
def test_names_of_services(name, address):
    from sensecheck.correct.evaluation import _services

    assert _services([name], STANDARD_PREFIXES, "http://localhost/q") == [address]


@pytest.mark.parametrize(("name", "graph_given"), [("label", False), ("", False), ("https://e.org/sparql", True)])
def test_services_that_cannot_be(name, graph_given, tmp_path):
    (tmp_path / "g.nt").write_text("")
    where: dict[str, Any] = {"graph": tmp_path / "g.nt"} if graph_given else {"endpoint": "http://localhost:9/q"}
    with pytest.raises(InputError, match="allow_services"):
        correct.evaluate([{"prediction": "ASK {}", "gold": "ASK {}"}], allow_services=[name], **where)


def test_the_command_line_knows_both(capsys):
    with pytest.raises(SystemExit):
        main(["correct", "--help"])
    shown = capsys.readouterr().out
    assert "--allow-service NAME" in shown and "--ignore-labels" in shown and "spider2" in shown


# ---- label columns


def term(value: str) -> dict[str, str]:
    if value.startswith("Q"):
        return {"type": "uri", "value": f"http://www.wikidata.org/entity/{value}"}
    return {"type": "literal", "value": value.removeprefix("#"), **({"datatype": "http://www.w3.org/2001/XMLSchema#integer"} if value[0] == "#" else {"xml:lang": "en"})}  # fmt: skip


def table(columns: str, *rows: str) -> dict[str, Any]:
    names = columns.split()
    bindings = [{name: term(cell) for name, cell in zip(names, row.split(), strict=True)} for row in rows]
    return {"head": {"vars": names}, "results": {"bindings": bindings}}


@pytest.mark.parametrize(
    ("predicted", "gold", "right"),
    [
        (table("x xLabel", "Q1 Anna", "Q2 Ben"), table("uri", "Q2", "Q1"), True),
        (table("x xLabel y yLabel", "Q1 a Q2 b"), table("x y", "Q1 Q2"), True),
        (table("xLabel x xAltLabel xDescription", "a Q1 b c"), table("x", "Q1"), True),
        (table("x x_label", "Q1 a"), table("x", "Q1"), True),
        (table("x name", "Q1 Anna"), table("x", "Q1"), True),  # a column of text, without which they are equal
        (table("x n", "Q1 #7"), table("x", "Q1"), False),  # a number is no label
        (table("x y", "Q1 Q2"), table("x", "Q1"), False),  # nor is another thing
        (table("x name", "Q1 Anna"), table("x", "Q2"), False),
        (table("xLabel", "Anna"), table("x", "Q1"), False),  # never the only column
        (table("x xLabel", "Q1 Anna"), table("x xLabel", "Q1 Ben"), False),  # the gold has it too
        (table("x xLabel", "Q1 Anna"), table("xLabel", "Anna"), False),
        (table("x a b", "Q1 Anna Ben"), table("x a", "Q1 Anna"), True),  # the column that the gold names stays
        (table("x a b", "Q1 Anna Ben"), table("x c", "Q1 Anna"), False),  # no choice among columns of text
        (table("yLabel x", "Anna Q1"), table("x", "Q1"), True),
        (table("x xLabel n", "Q1 Anna #7"), table("x n", "Q1 #7"), True),
        (table("x xLabel"), table("x"), True),
        (table("x xLabel", "Q1 Q2"), table("x", "Q1"), False),  # whatever it is called, an IRI is no label
        (table("x xLabel", "Q1 #7"), table("x", "Q1"), False),  # nor is a number
        (table("x xLabel", "Q1 Anna", "Q2 #7"), table("x", "Q1", "Q2"), False),
        (table("x xLabel", "Q1 Anna", "Q2 Ben"), ["Q1", "Q2"], True),
        (table("x xLabel", "Q1 Anna", "Q2 Ben"), ["Q1", "Q3"], False),
    ],
)
def test_label_columns_make_no_difference_where_asked(predicted, gold, right):
    record = {"id": 1, "predicted_answers": predicted, "answers": gold}
    ignoring = correct.evaluate([record], ignore_labels=True, options=NO_INTERVAL)
    assert ignoring.measurements["correct"].to_list() == [right]
    assert "ignore-labels" in str(ignoring.signature)
    strictly = correct.evaluate([record], options=NO_INTERVAL)
    # Two empty answers are equal, however many columns they have.
    assert strictly.measurements["correct"].to_list() == [predicted == table("x xLabel")]
    assert "ignore-labels" not in str(strictly.signature)


def test_labels_left_out_leave_the_rest_of_the_score():
    record = {"predicted_answers": table("x xLabel", "Q1 a", "Q2 b"), "answers": table("x", "Q1", "Q3")}
    (row,) = correct.evaluate([record], ignore_labels=True, options=NO_INTERVAL).measurements.to_dicts()
    assert (row["tp"], row["fp"], row["fn"], row["correct"]) == (1, 1, 1, False)
