"""Questions with evidence over described schemas: each rule fires where it should, and findings add up to doubt."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path

import pytest

from sensecheck import faithful
from sensecheck.faithful.doubt import BIAS, WEIGHTS, doubt_of, names_of, weighed
from sensecheck.faithful.examples import example_page
from sensecheck.faithful.matching.dates import read_dates, says_date
from sensecheck.faithful.matching.ruling import CONFIDENCE, Finding
from sensecheck.faithful.measure import Checker
from sensecheck.faithful.schema import from_create_table

DDL = """
CREATE TABLE client (
    client_id INTEGER PRIMARY KEY NOT NULL, -- the client's number
    full_name TEXT NOT NULL, -- name of the client
    gender TEXT, -- F for women, M for men
    born DATE, -- birth date
    district_id INTEGER, -- where the client lives
    FOREIGN KEY (district_id) REFERENCES district (district_id)
);
CREATE TABLE district (
    district_id INTEGER PRIMARY KEY NOT NULL,
    A2 TEXT, -- district name
    A11 INTEGER, -- average salary
    A15 INTEGER -- crimes committed in 1995
);
CREATE TABLE account (
    account_id INTEGER PRIMARY KEY NOT NULL,
    district_id INTEGER, -- where the branch is
    opened DATE, -- when the account was opened
    FOREIGN KEY (district_id) REFERENCES district (district_id)
);
CREATE TABLE disp (
    disp_id INTEGER PRIMARY KEY NOT NULL,
    client_id INTEGER, -- whose it is
    account_id INTEGER,
    type TEXT, -- kind of disposition
    FOREIGN KEY (client_id) REFERENCES client (client_id),
    FOREIGN KEY (account_id) REFERENCES account (account_id)
);
"""
CHECKER = Checker("sql", schemas=from_create_table(DDL, "bank", "sqlite"))


def found(sql: str, question: str, evidence: str | None = None) -> set[str]:
    findings = CHECKER.findings(sql, question, None, evidence)
    assert findings
    return {f.rule for f in findings if f.status not in ("said", "unsaid")}


FIRST = "SELECT full_name FROM client"


@pytest.mark.parametrize(
    ("rule", "wrong", "right", "question", "evidence"),
    [
        ("join_without_key", "SELECT c.full_name FROM client c JOIN disp d ON c.client_id = d.disp_id WHERE d.type = 'OWNER'",
         "SELECT c.full_name FROM client c JOIN disp d ON c.client_id = d.client_id WHERE d.type = 'OWNER'",
         "Names of clients with dispositions of type OWNER", None),
        ("siblings_joined", "SELECT c.full_name FROM client c JOIN account a ON c.district_id = a.district_id WHERE a.account_id = 5",
         "SELECT c.full_name FROM client c JOIN disp d ON c.client_id = d.client_id JOIN account a ON d.account_id = a.account_id WHERE a.account_id = 5",
         "Names of the clients of account 5", None),
        ("tables_unjoined", "SELECT full_name FROM client, district WHERE A2 = 'Pisek'",
         "SELECT full_name FROM client JOIN district ON client.district_id = district.district_id WHERE A2 = 'Pisek'",
         "Names of clients in the district Pisek", None),
        ("table_unused", "SELECT full_name FROM client JOIN disp ON client.client_id = disp.client_id", FIRST,
         "Names of all clients", None),
        ("date_against_year", "SELECT full_name FROM client WHERE born > 1980",
         "SELECT full_name FROM client WHERE strftime('%Y', born) > '1980'", "Names of clients born after 1980", None),
        ("wildcard_compared", "SELECT full_name FROM client WHERE full_name = 'Ann%'",
         "SELECT full_name FROM client WHERE full_name LIKE 'Ann%'", "Names of clients that begin with Ann", None),
        ("wildcard_missing", "SELECT full_name FROM client WHERE full_name LIKE 'Anna'",
         "SELECT full_name FROM client WHERE full_name LIKE '%Anna%'", "Names of clients with Anna in them", None),
        ("or_beside_and", "SELECT full_name FROM client WHERE gender = 'F' AND born < '1980-01-01' OR district_id = 5",
         "SELECT full_name FROM client WHERE gender = 'F' AND (born < '1980-01-01' OR district_id = 5)",
         "Names of women born before 1980 or in district 5", "women refers to gender = 'F'"),
        ("impossible", "SELECT full_name FROM client WHERE gender = 'F' AND gender = 'M'",
         "SELECT full_name FROM client WHERE gender = 'F' OR gender = 'M'", "Names of clients who are F or M", None),
        ("limit_without_order", "SELECT full_name FROM client LIMIT 1",
         "SELECT full_name FROM client ORDER BY born LIMIT 1", "Name of the oldest client", None),
        ("key_added_up", "SELECT SUM(client_id) FROM client", "SELECT COUNT(client_id) FROM client",
         "What is the number of clients?", None),
        ("nothing_counted", "SELECT COUNT(born) FROM client WHERE born IS NULL",
         "SELECT COUNT(client_id) FROM client WHERE born IS NULL", "How many clients have no birth date?", None),
        ("number_of_name", "SELECT A2 FROM district WHERE A15 = 1995", "SELECT A2 FROM district WHERE A15 = 300",
         "Districts with 300 crimes committed in 1995", None),
        ("bare_condition", "SELECT full_name FROM client WHERE born",
         "SELECT full_name FROM client WHERE born IS NOT NULL", "Names of clients with a birth date", None),
        ("ascending_nulls", "SELECT full_name FROM client ORDER BY born ASC LIMIT 1",
         "SELECT full_name FROM client WHERE born IS NOT NULL ORDER BY born ASC LIMIT 1", "Who is the oldest client?", None),
        ("hint_column_unused", "SELECT A2 FROM district WHERE A15 > 9000", "SELECT A2 FROM district WHERE A11 > 9000",
         "Districts with an average salary over 9000", "average salary refers to A11"),
        ("hint_value_other", "SELECT full_name FROM client WHERE gender = 'W'",
         "SELECT full_name FROM client WHERE gender = 'F'", "Names of female clients", "female refers to gender = 'F'"),
        ("hint_condition_missing", FIRST, "SELECT full_name FROM client WHERE gender = 'F'", "Names of female clients",
         "female refers to gender = 'F'"),
        ("hint_operator_other", "SELECT A2 FROM district WHERE A11 < 9000", "SELECT A2 FROM district WHERE A11 > 9000",
         "Rich districts", "rich refers to A11 > 9000"),
        ("hint_null_unasked", FIRST, "SELECT full_name FROM client WHERE born IS NULL", "Names of ageless clients",
         "ageless refers to born is null"),
        ("hint_operation_missing", "SELECT A11 FROM district", "SELECT MAX(A11) FROM district", "The best salary",
         "best salary refers to MAX(A11)"),
        ("hint_literal_missing", FIRST, "SELECT full_name FROM client JOIN disp USING (client_id) WHERE type = 'OWNER'",
         "Names of clients who own something", "own stands for 'OWNER'"),
        ("value_respelled", "SELECT A2 FROM district WHERE A2 = 'Ceske , Budejovice'",
         "SELECT A2 FROM district WHERE A2 = 'Ceske, Budejovice'", "The district Ceske, Budejovice", None),
        ("value_part", "SELECT client_id FROM client WHERE full_name = 'Gabriel'",
         "SELECT client_id FROM client WHERE full_name = 'Gabriel Tamas'", "The id of the client Gabriel Tamas", None),
        ("second_question", "SELECT COUNT(client_id) FROM client", "SELECT COUNT(client_id), full_name FROM client",
         "How many clients are there? List their names.", None),
        ("key_unasked", "SELECT client_id FROM client WHERE gender = 'F'", "SELECT full_name FROM client WHERE gender = 'F'",
         "Who are the clients of gender F?", None),
        ("distinct_missing", "SELECT type FROM disp", "SELECT DISTINCT type FROM disp", "The different types of dispositions", None),
        ("ratio_missing", "SELECT CAST(SUM(A15) AS REAL) / SUM(A11) FROM district", "SELECT SUM(A15) FROM district",
         "The total of crimes committed in 1995", None),
    ],
)  # fmt: skip
def test_a_rule(rule: str, wrong: str, right: str, question: str, evidence: str | None) -> None:
    assert rule in found(wrong, question, evidence)
    assert rule not in found(right, question, evidence)
    assert rule in WEIGHTS


def test_evidence_says_what_the_question_does_not() -> None:
    sql = "SELECT COUNT(client_id) FROM client WHERE gender = 'F' AND district_id = 7"
    question, evidence = (
        "How many women live up north?",
        "women refers to gender = 'F'; up north refers to district_id = 7",
    )
    without, with_it = (CHECKER.check(sql, question, None, hint) for hint in (None, evidence))
    assert with_it.doubt is not None and without.doubt is not None and with_it.doubt < 0.5 < without.doubt
    assert with_it.consistent is True and not with_it.faults()
    assert without.consistent is False and without.faults()


def test_columns_are_heard_by_their_description() -> None:
    assert "column_untold_select" not in found("SELECT A11 FROM district", "What is the average salary?")
    assert "column_untold_select" in found("SELECT A15 FROM district", "What is the average salary?")


def test_conditions_of_case_are_facts() -> None:
    sql = "SELECT CAST(SUM(CASE WHEN gender = 'F' THEN 1 ELSE 0 END) AS REAL) * 100 / COUNT(*) FROM client"
    facts = CHECKER.reading(sql).facts  # type: ignore[union-attr]
    assert any(fact.kind == "comparison" and fact.value == "F" for fact in facts)
    assert any(fact.aggregate == "ratio" for fact in facts)
    assert found(sql, "What percentage of clients have gender F?").isdisjoint(
        {"count_missing", "value_missing", "sum_missing"}
    )
    assert "value_missing" in found(sql.replace("'F'", "'Xaver'"), "What percentage of clients have gender F?")


def test_doubt_adds_up() -> None:
    assert doubt_of([]) == pytest.approx(1 / (1 + 2.718281828459045**-BIAS))
    one = Finding("contradicted", "join", "join_without_key", 0.9, "", None, ())
    other = Finding("added", "number", "number_added", 0.9, "", None, ())
    assert doubt_of([]) < doubt_of([other]) < doubt_of([one, other]) < 1
    assert doubt_of([one, one]) == doubt_of([one]), "a finding that is made twice counts once"
    assert names_of([one, other._replace(status="said")]) == {"join_without_key"}
    assert weighed(one).confidence == doubt_of([one])
    assert weighed(one._replace(rule="nothing of the kind")).status == "unsaid"


def test_weights_are_of_findings_that_exist() -> None:
    risks = {"table_joined", "column_given", "rows_grouped", "groups_filtered", "sets_combined", "case_taken",
             "rows_made_distinct", "table_unspoken", "question_long", "rows_multiplied", "column_half_told",
             "column_hardly_told"}  # fmt: skip
    assert WEIGHTS.keys() <= CONFIDENCE.keys() | risks
    assert all(0 < weight < 6 for weight in WEIGHTS.values()) and -4 < BIAS < 0


def test_names_alone_are_judged_as_before() -> None:
    bare = Checker("sql", schemas=from_create_table("CREATE TABLE client (id INTEGER, name TEXT)", "bank"))
    verdict = bare.check("SELECT name FROM client", "Names of clients", None, "names refers to name")
    assert verdict.doubt is None and verdict.consistent is True


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("on 2013/7/12", "2013-07-12 00:00:00", True),
        ("on 2013/7/12", "2013-07-13", False),
        ("on July 12, 2013", "2013-07-12", True),
        ("on the 12th of July 2013", "2013-07-12", True),
        ("in July 2013", "2013-07-31", True),
        ("on 7/12/2013", "2013-07-12", True),
        ("in 1997", "1997-01-01", True),
        ("before 1997", "1996-12-31", True),
        ("in 1997", "1995-01-01", False),
        ("in 1997", "1997%", True),
        ("in October 1970", "10", True),
        ("nothing", "2013-07-12", False),
    ],
)
def test_dates(text: str, value: str, said: bool) -> None:
    years = {int(word) for word in text.split() if word.isdecimal() and len(word) == 4}
    assert says_date(value, read_dates(text), years) is said


@pytest.mark.parametrize(
    "evidence",
    [
        "=" * 30_000,
        "a refers to " * 5_000,
        "A11 > 1; " * 4_000,
        "'" * 9_999,
        "(" * 20_000,
        "\ud800 = \x00",
        " ",
        "A11 = '" * 3_000,
    ],
)
def test_hostile_evidence_ends_nothing(evidence: str) -> None:
    verdict = CHECKER.check("SELECT A11 FROM district WHERE A11 > 1 AND A15 = 2", "Average salary?", None, evidence)
    assert verdict.reason is None and verdict.consistent is not None


def test_files_with_evidence(tmp_path: Path) -> None:
    schema = tmp_path / "bank.sql"
    schema.write_text(DDL)
    rows = [
        {
            "id": "a",
            "sql": "SELECT A2 FROM district WHERE A11 > 9000",
            "question": "Rich districts",
            "hint": "rich refers to A11 > 9000",
        },
        {
            "id": "b",
            "sql": "SELECT A2 FROM district WHERE A11 < 9000",
            "question": "Rich districts",
            "hint": "rich refers to A11 > 9000",
        },
        {"id": "c", "sql": "SELECT A2 FROM district", "question": "All district names", "hint": None},
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = faithful.evaluate(path, schema=schema, columns={"evidence": "hint"})
    assert result.measurements["consistent"].to_list() == [True, False, True]
    doubts = result.measurements["doubt"].to_list()
    assert doubts[1] > 0.5 > doubts[0]
    assert "rich refers to A11 > 9000" in str(example_page(result.examples()))


@pytest.mark.parametrize(
    ("query", "sentence", "consistent"),
    [
        ("SELECT name, COUNT(*) AS total FROM singer GROUP BY name ORDER BY total DESC LIMIT 1",
         "Which name do most singers have? Give the number too.", True),
        ("SELECT name, COUNT(*) AS total FROM singer GROUP BY name ORDER BY total LIMIT 1",
         "Which name do most singers have? Give the number too.", False),
        ("SELECT name, COUNT(*) total FROM singer GROUP BY name HAVING total > 3",
         "Names that more than 3 singers have, with their number", True),
        ("SELECT name FROM singer WHERE town NOT IN ('Bath', 'York')", "Names of the singers except those in Bath or York", True),
        ("SELECT name FROM singer WHERE town IN ('Bath', 'York')", "Names of the singers except those in Bath or York", False),
        ("SELECT name FROM singer", "Do we have singers? Give me their names.", True),
        ("SELECT name FROM singer", "Can you list the names of the singers?", True),
        ("SELECT name FROM singer", "Do we have singers called anything?", False),
        ("SELECT DISTINCT town FROM singer", "Towns of the singers, no repeats", True),
        ("SELECT name FROM company WHERE ceo = 'Tim Cook'", "Names of the companies that Tim Cook runs", True),
    ],
)  # fmt: skip
def test_as_people_write(query: str, sentence: str, consistent: bool) -> None:
    verdict = Checker("sql").check(query, sentence)
    assert verdict.consistent is consistent, [finding.rule for finding in verdict.faults()]


def test_columns_of_one_row_that_are_compared_are_no_join() -> None:
    assert "join_without_key" not in found(
        "SELECT account_id FROM account WHERE account_id = district_id", "Accounts whose id is that of their district"
    )


def test_two_kinds_of_doubt_in_one_run_are_told() -> None:
    keys = "CREATE TABLE port (id INTEGER PRIMARY KEY); CREATE TABLE boat (id INTEGER, port_id INTEGER REFERENCES port)"
    pairs = {
        "query": ["SELECT id FROM boat"] * 3,
        "sentence": ["Ids of boats."] * 3,
        "evidence": ["craft refers to boat", None, ""],
    }
    told = "2 of 3 pairs came without evidence: over a schema with keys and no descriptions their doubt is that of the surest"
    result = faithful.evaluate(pairs, schema=from_create_table(keys))
    assert [note.startswith(told) for note in result.notes] == [True]
    assert result.measurements["doubt"].to_list()[0] > 0 == result.measurements["doubt"].to_list()[1]
    described = from_create_table(keys.replace("INTEGER,", "INTEGER, -- the number of its licence\n"))
    alike = faithful.evaluate(pairs, schema=described)
    assert not alike.notes and min(alike.measurements["doubt"].to_list()) > 0
    assert not faithful.evaluate(pairs).notes
    assert not faithful.evaluate({**pairs, "evidence": ["x means y"] * 3}, schema=from_create_table(keys)).notes


def test_a_pair_that_is_doubted_for_risks_alone_shows_them() -> None:
    sql = (
        "SELECT c.full_name, c.born, a.opened FROM client c JOIN disp d ON c.client_id = d.client_id "
        "JOIN account a ON d.account_id = a.account_id"
    )
    question = "Please give me, for every one of our clients, the full name, the day of birth and when each account was opened."
    verdict = CHECKER.check(sql, question)
    assert verdict.doubt is not None and not [
        f for f in verdict.findings if f.status in ("missing", "contradicted", "added")
    ]
    threshold = verdict.doubt - 0.01
    assert threshold > 1 / (1 + exp(-BIAS))
    pairs = {"query": [sql, "SELECT full_name FROM client"], "sentence": [question, "The full names of clients"]}
    result = faithful.evaluate(pairs, schema=from_create_table(DDL, "bank", "sqlite"), threshold=threshold)
    first, second = example_page(result.examples(2, by="doubt").sort("id"))
    listed = next(part["rows"] for part in first["parts"] if part["label"] == "findings")
    assert {row[0] for row in listed} == {"risk"} and len(listed) == len({row[4] for row in listed})
    assert "table joined" in {row[4] for row in listed} and all(0 < float(row[3]) < 1 for row in listed)
    assert not [part for part in second["parts"] if part["label"] == "findings"]
