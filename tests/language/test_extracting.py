"""The statement in what a model wrote around it, and statements that must be left alone."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
import sqlite3
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.language.extracting import _is_sparql, _is_sql, statement_in, statements_of, without_thinking

SQL = "SELECT a FROM t WHERE b > 3"
CTE = "WITH x AS (\n  SELECT 1 AS a\n),\n\ny AS (SELECT 2 AS b)\n\nSELECT a, b\nFROM x, y"
UNION = "SELECT a FROM t\nUNION\nSELECT b FROM s\nORDER BY 1"
HARD = "SELECT `a b`, \"c\" FROM t WHERE d = 'it''s; ``` here' -- ok; really\nLIMIT 1"
SPARQL = "SELECT ?x WHERE { ?x wdt:P31 wd:Q5 . FILTER(?x != wd:Q1) }\nORDER BY ?x LIMIT 3"
LONG = (
    "PREFIX wd: <http://www.wikidata.org/entity/>\nPREFIX wdt: <http://e/#>\n\nSELECT ?x (COUNT(?y) AS ?n) WHERE {\n"
    "  ?x wdt:P1 wd:Q1 .\n\n  # those; all\n  FILTER(STR(?x) != 'a}```')\n}\nGROUP BY ?x\n\nHAVING (?n > 1)"
)

WRAPPINGS = {
    "fence": "```sql\n{}\n```",
    "fence in prose": "Here is the query:\n\n```sql\n{};\n```\n\nThis query returns what was asked. It's fine.",
    "never closed": "```SQLite\n{}",
    "never opened": "{};\n```\n```",
    "never opened, explained": "{};\n```\n\n**Note**: it reads `t` (SELECT a FROM t).\n```",
    "one line": "```sql {} ```",
    "bare fence": "```\n{}\n```",
    "tag on its own line": "```\nsql\n{}\n```",
    "tildes": "~~~sql\n{}\n~~~",
    "dialect": "```postgresql\n{}\n```",
    "in an answer": "<answer>\n```sql\n{}\n```\n</answer>",
    "corrected": "First:\n```sql\nSELECT wrong FROM t\n```\nThat's wrong. Corrected:\n```sql\n{}\n```",
    "with its output": "1. Find\n2. Count\n\n```sql\n{}\n```\n\nOutput:\n```\nname | n\nJoe | 3\n```",
    "thinking": "<think>\nMaybe SELECT 1 FROM t? It's odd.\n</think>\n{}",
    "thinking, fenced": "<thinking>```sql\nSELECT 1\n```</thinking>\n```sql\n{}\n```",
    "stray end of thinking": "so SELECT 1 FROM t\n</think>\n\n{}",
    "label": "SQL: {}",
    "another label": "SQLQuery: {}\nSQLResult: [(1,)]\nAnswer: one",
    "answer": "Answer: {}",
    "bold label": "**SQL Query:**\n\n{}\n\n**Explanation:** fine",
    "brackets": "[SQL]{}[/SQL]",
    "tag": "<sql>{}</sql>",
    "prose before": "To answer this we need the following.\n\n{}",
    "prose after": "{};\n\nExplanation: it's the one.",
    "prose around": "I'll use this query:\n\n{}\n\nIt's what you asked for.",
    "a line after": "{}\nThis query returns the names.",
    "second attempt": "SELECT wrong FROM t;\n\nWait, that is not right. Corrected:\n\n{};",
    "further questions": "{}\n\nQuestion: And how many?\nSQL: SELECT wrong FROM t",
    "token": "{}<|im_end|>",
    "quotes": '"{}"',
    "header": "### Answer\n{}\n### End",
}
INLINE = {
    "back-ticks": "`{}`",
    "final": "The final SQL is: `{}`",
    "in a sentence": "The query `{}` uses `SELECT` and `t`.",
    "after a fence without a line": "Here is the SQL: ```{}```",
    "list": "- SELECT picks columns\n- FROM names tables\n\nFinal: {}",
    "said": "The query that gives it is {}",
    "after a sentence": "Sure, I can do that! {};",
    "boxed": "$\\boxed{{{}}}$",
}


@pytest.mark.parametrize("statement", [SQL, CTE, UNION, HARD])
@pytest.mark.parametrize("name", WRAPPINGS)
def test_sql_comes_out_of_its_wrapping(name: str, statement: str) -> None:
    text = WRAPPINGS[name].format(statement)
    assert statement_in(text, "sql") == statement
    assert statement_in(statement, "sql") == statement


@pytest.mark.parametrize("name", INLINE)
def test_sql_within_a_line(name: str) -> None:
    assert statement_in(INLINE[name].format(SQL), "sql") == SQL


@pytest.mark.parametrize("statement", [SPARQL, LONG, "ASK { wd:Q1 wdt:P47 wd:Q9 }"])
@pytest.mark.parametrize(
    "name", [name for name in WRAPPINGS if name not in ("corrected", "second attempt", "further questions", "header")]
)
def test_sparql_comes_out_of_its_wrapping(name: str, statement: str) -> None:
    text = WRAPPINGS[name].format(statement).replace("sql", "sparql").replace("SQL", "SPARQL")
    assert statement_in(text, "sparql").rstrip("; ") == statement


def test_fields_of_json() -> None:
    for text in (
        json.dumps({"reasoning": "first SELECT 1", "SQL": CTE}),
        json.dumps({"Query": CTE}, indent=2),
        f"```json\n{json.dumps({'sql': CTE})}\n```",
        f"Sure.\n<tool_call>{json.dumps({'name': 'run', 'arguments': {'query': CTE}})}</tool_call>",
        json.dumps([{"sql": CTE}]),
        json.dumps({"sql": f"```sql\n{CTE}\n```"}),
        '{"sql": "' + CTE + '"}',  # lines as they are, which JSON forbids
    ):
        assert statement_in(text, "sql") == CTE
    assert statement_in("{'sql': 'SELECT a FROM t'}", "sql") == "SELECT a FROM t"
    assert statement_in(json.dumps({"SPARQL": LONG}), "sparql") == LONG
    nothing = '{"answer": "42", "note": "SELECT"}'
    assert statement_in(nothing, "sql") == nothing


@pytest.mark.parametrize(
    "text",
    [
        SQL + ";", f"\n  {SQL}\n;\n\n", CTE, UNION, HARD, f"-- how many\n{SQL}", f"/* all */ {SQL} -- it's all",
        "(SELECT a FROM t) UNION (SELECT b FROM s)", "VALUES (1, 'a')", "SELECT a FROM t WHERE b = '<think>'",
        "SELECT a FROM t WHERE b = '```sql'", "select a from t -- it's fine\nwhere b = 1",
        # what a reader of SQL finds wrong with it stays wrong
        "SELECT a FROM t; SELECT b FROM s", "SELECT 1; DROP TABLE t", "SELECT 1; Drop table t", "DROP TABLE t; SELECT 1",
        "SELECT a FROM t; 107;", "SELECT a FROM t) x", "SELECT a FROM", "SELECT", "SELECT a\nFROM t\nWHERE b = '",
        "SELECT a FROM t\nMyAlias WHERE", "SELECT a FORM t\n\nWHERE b = 1", "PRAGMA table_info(t)", "WITH x AS (\n\nSELECT",
        # and nothing is made up
        "", " ", "no query", "I cannot answer that. You would need to SELECT something.", "<think>SELECT a FROM t",
        "Select the name of every singer, please.", "With this schema it cannot be done.", "42",
    ],
)  # fmt: skip
def test_sql_that_is_left_alone(text: str) -> None:
    assert statement_in(text, "sql") == text


@pytest.mark.parametrize(
    "text",
    [
        SPARQL, LONG, SPARQL + ";", f"# SPARQL\n{SPARQL}\n", "DESCRIBE <http://x/y>", "INSERT DATA { <a> <b> <c> }",
        "SELECT ?x { ?x nope:a ?y }", "SELECT ?x WHERE { ?x wdt:P47 }", "Ask me anything { }", "DROP ALL", "",
        "SELECT ?x WHERE { ?x ?y ?z }\n\nFILTER(?x != 1)",
    ],
)  # fmt: skip
def test_sparql_that_is_left_alone(text: str) -> None:
    assert statement_in(text, "sparql") == text


def test_a_capital_begins_a_sentence_more_often_than_a_query() -> None:
    assert statement_in(f"With the given schema, we count.\n\n```sql\n{SQL}\n```", "sql") == SQL
    assert statement_in(f"Select the singers over 20:\n\n{SQL}", "sql") == SQL
    assert statement_in(f"SELECT statement:\n```sql\n{SQL}\n```", "sql") == SQL


def test_thinking_changes_nothing_in_what_follows() -> None:
    for text in (f"SELECT wrong FROM t;\n\nCorrected:\n\n{SQL};", f"use this one: {SQL}", "SELECT a FORM t"):
        assert statement_in(f"<think>SELECT 1</think>{text}", "sql") == statement_in(text, "sql")


def test_a_literal_may_hold_a_fence() -> None:
    held = "SELECT a FROM t WHERE b = 'x\n```\ny'"
    assert statement_in(f"```sql\n{held}\n```\nDone.", "sql") == held
    held = "SELECT ?x WHERE { ?x rdfs:label '```'@en }"
    assert statement_in(f"```sparql\n{held}\n```", "sparql") == held


def test_what_no_parser_of_ours_reads_is_taken_where_it_clearly_ends() -> None:
    odd = "SELECT a FROM t WHERE b !! 3"
    assert not _is_sql(odd, "sqlite")
    assert statement_in(f"Here:\n```sql\n{odd}\n```", "sql") == odd
    assert statement_in(f"{odd}\n\nThis query returns the names.", "sql") == odd
    assert statement_in(f"The answer:\n\n{odd};\n\nIt is so.", "sql") == odd
    assert statement_in(f"{odd}\nThis query returns the names.", "sql") != odd


def test_duckdb_begins_with_from() -> None:
    assert statement_in("```duckdb\nFROM t SELECT a\n```", "sql", "duckdb") == "FROM t SELECT a"
    assert statement_in("FROM t SELECT a", "sql", "duckdb") == "FROM t SELECT a"


def test_thinking() -> None:
    assert without_thinking("a<think>b<think>c</think>d</think>e") == "a\ne"
    assert without_thinking("a</think>b") == "b"
    assert without_thinking("a<think>b") == "a"
    assert without_thinking("no tag") == "no tag"


def test_statements_divided_by_semicolons() -> None:
    assert statements_of("SELECT a FROM t;SELECT b FROM t;") == ["SELECT a FROM t", "SELECT b FROM t"]
    assert statements_of("WITH x AS (SELECT 1 AS a) SELECT a FROM x; -- or\nSELECT b FROM t -- all") == [
        "WITH x AS (SELECT 1 AS a) SELECT a FROM x", "-- or\nSELECT b FROM t -- all",
    ]  # fmt: skip
    for one in ("SELECT a FROM t;", "SELECT ';' FROM t", "SELECT a -- x; SELECT b\nFROM t", "SELECT 'a; SELECT b",
                "SELECT a FROM t; DROP TABLE t", "SELECT a FROM t; SELECT", "", ";;"):  # fmt: skip
        assert statements_of(one) == []


def test_a_literal_in_dollars_is_one() -> None:
    for dialect in ("duckdb", "postgres"):
        assert statements_of("SELECT $$a FROM t; SELECT b$$ FROM t", dialect) == []
        tagged = "SELECT $q$a FROM t; SELECT b$$ FROM t;$q$ FROM t"
        assert statements_of(f"{tagged}; SELECT 2 FROM t", dialect) == [tagged, "SELECT 2 FROM t"]
        assert statement_in(f"{tagged}\nLIMIT 1", "sql", dialect) == f"{tagged}\nLIMIT 1"


# ---- what begins as a statement, well or badly


@pytest.mark.parametrize(
    "text",
    [
        # SQLite runs these
        "Select a From t\nWhere a In (\n  SELECT a FROM u WHERE c = 'k'\n) /* both */",
        "Select a, b From t, u Using (a)\nWhere a In (\n  SELECT a FROM u\n)",
        "Select a\n-- SELECT b FROM t;\nFROM t /* x */",
        "SELECT The\n\nNote FROM t, u USING (a)",
        "SELECT a FROM t WHERE b LIKE 'i%'\n\nESCAPE '!' /* x */",
        # and none of these: what it would run in them is not what was written
        "Selct a From t Where a = (\nSELECT max(a) FROM t\n)",
        "Seleect a, b From t Union\nSELECT max(a) FROM t",
        "Seleect a From t Union All\n\nSELECT max(a) FROM t",
        "Wth x As (\nSELECT a FROM t\n)\n\nSELECT a FROM x",
        "Selct a From t\n/*\nSELECT b FROM t\n*/",
        "Selct a From t Where b = '\nSELECT a FROM t\n'",
        "Selct a From t Where b = '```sql\nSELECT a FROM t\n```'",
        "SELECT a FORM t WHERE b = '```sql\nSELECT a FROM t\n```'\nAND c = 2",
        "SELECT a FORM t WHERE b IN (\n\nSELECT a FROM u\n\n)\nLIMIT 1",
        "EXPLIAN\nSELECT a FROM t",
        "Creat View v As\n\nSELECT a FROM t",
        "MATCH (n) RETURN n -- SELECT a FROM t",
        "MATCH (n) WHERE n.x = 'SELECT a FROM t' RETURN n",
        "INSERT INTO t VALUES ('```sql\nSELECT a FROM t\n```')",
        "Insert Into t Values ('```sql\nSELECT a FROM t\n```')",
    ],
)
def test_a_part_of_a_statement_is_not_taken_out_of_it(text: str) -> None:
    assert statement_in(text, "sql") == text


def test_a_part_of_a_sparql_query_is_not_taken_out_of_it() -> None:
    text = "Selct ?x where {\n SELECT ?x WHERE {?x ?y ?z}\n}"
    assert statement_in(text, "sparql") == text


@pytest.mark.parametrize("declared", ["null", '""'])
def test_json_that_declares_no_query_holds_none(declared: str) -> None:
    text = f'{{"sql": {declared}, "explanation": "SELECT c FROM t"}}'
    assert statement_in(text, "sql") == text
    assert statement_in(f"```json\n{text}\n```", "sql") == f"```json\n{text}\n```"


_TABLES = 'CREATE TABLE t (a, b, c, The, Note); CREATE TABLE u (a, c, d); CREATE TABLE "Order Details" (a, b)'
_LITERALS = [
    "'k'", "'it''s'", "'a;b'", "'SELECT b FROM t'", "'\nSELECT b FROM t;\n'", "'```sql\nSELECT a FROM t\n```'", "'</sql>'",
    "'<think>'", "'-- x'", "'/*'", "'{\"sql\": \"SELECT 1\"}'", "'Answer: SELECT a FROM t'", "'('", "''",
    "'x\n\nThis query returns the names.\n'",
]  # fmt: skip
_COMMENTS = [
    "/* x */", "/* SELECT b FROM t; */", "/*\nSELECT b FROM t\n*/", "-- it's all\n", "-- SELECT b FROM t;\n", "-- ```sql\n",
    "/* ```sql\nSELECT a FROM t\n``` */", "/* Note: this is fine.\n\nThis query is so. */", "-- (\n", "/* ' */", "-- :\n",
    "/* Answer:\nSELECT a FROM t */",
]  # fmt: skip


def _expression(random_: random.Random, depth: int) -> str:
    choices = [
        lambda: random_.choice(["a", "b", "t.a", '"a"', "`b`", "[a]", "The", "Note", "1", "- 1", "NULL"]),
        lambda: random_.choice(_LITERALS),
        lambda: f"count(*) OVER (\nPARTITION BY {random_.choice('ab')}\n)",
        lambda: f"CASE WHEN a\n= {random_.choice(_LITERALS)} THEN 1\n\nELSE 2 END",
        lambda: f"CAST(a AS TEXT) || {random_.choice(_LITERALS)}",
    ]
    if depth:
        choices.append(lambda: f"(\n{_select(random_, depth - 1, 1)}\n)")
    return random_.choice(choices)()


def _condition(random_: random.Random, depth: int) -> str:
    left = random_.choice(["a", "b", "c"])
    choices = [
        lambda: f"{left} = {_expression(random_, depth)}",
        lambda: f"{left} LIKE {random_.choice(_LITERALS)}\n\nESCAPE '!'",
        lambda: f"{left} IS NOT DISTINCT FROM {random_.choice(_LITERALS)}",
        lambda: f"{left} NOTNULL",
        lambda: f"{left} BETWEEN 1\nAND 2",
        lambda: f"{left} == :name",
    ]
    if depth:
        choices += [
            lambda: f"{left} IN (\n\n{_select(random_, depth - 1, 1)}\n)",
            lambda: f"EXISTS\n(\n{_select(random_, depth - 1, 1)}\n)",
        ]
    return random_.choice(choices)()


def _select(random_: random.Random, depth: int, columns: int) -> str:
    picked = ", ".join(_expression(random_, depth) for _ in range(columns))
    sources = ["t", "t, u USING (a)", "t NATURAL JOIN u", "t\nLEFT JOIN u ON t.a = u.a", '"Order Details"']
    source = random_.choice(sources)
    if depth and random_.random() < 0.3:
        source = f"(\n{_select(random_, depth - 1, 1)}\n) AS t"
    text = f"SELECT {random_.choice(['', 'DISTINCT '])}{picked}\nFROM {source}"
    if random_.random() < 0.7:
        text += f"\nWHERE {_condition(random_, depth)}"
    if random_.random() < 0.2:
        text += "\nGROUP BY 1\n\nHAVING count(*) > 0"
    if random_.random() < 0.2:
        text += f"\n{random_.choice(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT'])}\n\nSELECT {', '.join('a' * columns)} FROM t"
    return text


def _statement(random_: random.Random) -> str:
    columns = random_.choice([1, 1, 2])
    text = _select(random_, 2, columns)
    if random_.random() < 0.3:
        text = f"WITH x AS (\n{_select(random_, 1, 1)}\n),\n\ny AS NOT MATERIALIZED (SELECT 1)\n\n{text}"
    if random_.random() < 0.2:
        text += "\nORDER BY 1\n\nLIMIT 3 OFFSET 1"
    pieces = re.split(r"('(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\s+)", text)
    case = random_.choice([str, str, str.lower, str.title, str.swapcase])
    space = random_.choice([0.0, 0.1, 0.3])
    said = random_.choice([0.0, 0.05, 0.15])
    written = []
    for piece in pieces:
        if piece.isspace():
            if random_.random() < space:
                piece = random_.choice([" ", "\n", "\n\n", "\n  ", "\t", "\r\n"])
            if random_.random() < said:
                piece = f"{piece}{random_.choice(_COMMENTS)} "
        elif piece[:1] not in ("'", '"', "`"):
            piece = case(piece)
        written.append(piece)
    text = "".join(written)
    lead = random_.choice(["", "", "\n", "-- how many\n", "/* SELECT b FROM t; */ ", "/*\nSELECT b FROM t\n*/\n"])
    tail = random_.choice(["", "", ";", "\n;\n", " /* both */", " -- all; of it", "; -- SELECT b FROM t", ";\n/* x */"])
    return lead + text + tail


def _runs(connection: sqlite3.Connection, text: str) -> bool:
    try:
        connection.execute(f"EXPLAIN {text}", {"name": 1})
    except sqlite3.Error:
        return False
    return True


@pytest.fixture(scope="module")
def tables() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(_TABLES)
    yield connection
    connection.close()


def _that_run(tables: sqlite3.Connection, seed: int) -> list[str]:
    random_ = random.Random(seed)
    made = (_statement(random_) for _ in range(10_000))
    return list(islice((text for text in made if _runs(tables, text)), 300))


def test_what_sqlite_runs_is_left_exactly_alone(tables: sqlite3.Connection) -> None:
    statements = _that_run(tables, 20)
    assert len(statements) == 300
    assert len(set(statements)) > 280
    assert sum(not _is_sql(text, "sqlite") for text in statements) > 20  # what sqlglot does not read is among them
    assert [text for text in statements if statement_in(text, "sql") != text] == []


def test_what_a_slip_keeps_from_running_is_not_made_to_run(tables: sqlite3.Connection) -> None:
    slips = [(r"\bselect\b", "Seleect"), (r"\bselect\b", "SELCT"), (r"\bfrom\b", "FORM"), (r"\bwith\b", "Wiht")]
    wrong = [re.sub(word, slip, text, count=1, flags=re.I) for text in _that_run(tables, 21) for word, slip in slips]
    wrong = [text for text in wrong if not _runs(tables, text)]
    assert len(wrong) > 600
    taken = [(text, statement_in(text, "sql")) for text in wrong]
    assert [pair for pair in taken if pair[0] != pair[1] and _runs(tables, pair[1])] == []


# ---- any text whatever

_PIECES = st.sampled_from(
    ["```", "```sql\n", "\n", "\n\n", "SELECT ", "a ", "FROM t", ";", "'", '"', "`", "<think>", "</think>", "(", ")", "{", "}",
     "WITH ", "PREFIX a: <b>\n", "ASK {", "Here is: ", "This is it.", "--", "/*", "*/", '{"sql": "', "WHERE b = 1", "?x ", "# ",
     "Question: ", "- ", "</sql>", "UNION ", ". ", "~~~", "DROP TABLE t"]
)  # fmt: skip


@given(st.lists(_PIECES | st.text(max_size=5), max_size=30).map("".join), st.sampled_from(["sql", "sparql"]))
@settings(max_examples=600, deadline=None)
def test_any_text_gives_a_part_of_itself_once_and_for_all(text: str, language: str) -> None:
    taken = statement_in(text, language)
    assert statement_in(taken, language) == taken
    if taken != text and '{"sql": "' not in text:
        assert set(taken.split()) <= set(re.split(r"\s|(?<=.)(?=.)", text)) | set(taken.split())
        assert all(char in text for char in taken)


@pytest.mark.parametrize("language", ["sql", "sparql"])
@pytest.mark.parametrize(
    "text",
    [
        "`" * 200_000, "```\n" * 50_000, "SELECT " * 14_000, "SELECT\n" * 14_000, "x " + "SELECT " * 14_000,
        ": SELECT a FROM t " * 6_000, "<think>" * 20_000 + "SELECT 1" + "</think>" * 20_000, "</think>" * 30_000,
        "x SELECT " + "'" * 100_001, "SELECT '\n\n" * 10_000, '{"sql":' * 20_000, '{"sql": "SELECT 1" ' * 10_000,
        "[" * 100_000 + "SELECT", "Here: SELECT " + "(" * 50_000, "PREFIX " + "{" * 100_000 + "SELECT",
        "PREFIX a: <b>\n" * 8_000 + "SELECT", "x ASK { " * 12_000, "/*" * 50_000 + "SELECT", "-- \n" * 50_000 + "x SELECT 1",
        '"sql": "' + "\\" * 99_999 + "SELECT", "SELECT 1;" * 12_000, "SELECT 1;X " * 12_000, "SELECT a FROM t. A " * 6_000,
        "```sql\nSELECT a FROM t\n```\n" * 4_000, "```sql\nSELECT 'a\n```\n" * 4_000,
        "\n" * 100_000 + "SELECT 1\n" + "\n" * 100_000, " " * 200_000 + "SELECT",
        "Here:\nSELECT * FROM a JOIN " + " JOIN ".join("abcdefgh" * 500),
    ],
    ids=range(28),
)  # fmt: skip
def test_hostile_texts_take_no_time(text: str, language: str) -> None:
    began = time.process_time()
    statement_in(text, language)
    assert time.process_time() - began < 2  # a tenth of that on a quiet machine; quadratic would be minutes


# ---- real files


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _bird(path: Path) -> list[str]:
    return [str(text).split("\t----- bird -----\t")[0] for text in json.loads(path.read_text()).values()]


def _real_sql(data: Path) -> Iterator[str]:
    formats = data / "formats"
    with gzip.open(data / "sql" / "predictions.jsonl.gz", "rt") as stream:
        for line in stream:
            record = json.loads(line)
            yield from (record["gold"], record["pred"])
    for line in (data / "sql" / "cases.jsonl").read_text().splitlines():
        record = json.loads(line)
        yield from (record["gold"], record["pred"])
    for path in [*sorted((formats / "spider").glob("*.sql")), *sorted((formats / "spider").glob("*.txt")),
                 *sorted((formats / "bird").glob("*.sql"))]:  # fmt: skip
        yield from (line.split("\t")[0] for line in path.read_text().splitlines() if line.strip())
    for path in sorted((formats / "sql_csv").glob("*.csv")):
        for row in csv.DictReader(path.open()):
            yield from (
                text for name, text in row.items() if name.lower() in ("predicted sql", "gold sql", "generated_query")
            )
    for name in ("nl2sql_bugs_first60", "chess_gpt4omini_first120", "predict_dev_turbo_first200", "financial_dev"):
        texts = _texts(json.loads((formats / "bird" / f"{name}.json").read_text()))
        yield from (t.split("\t----- bird -----\t")[0] for t in texts if re.match(r"\s*(select|with)\b", t, re.I))


def test_real_statements_are_left_alone(shared: Path) -> None:
    statements = list(_real_sql(shared / "data"))
    assert len(statements) > 14_000
    assert [text for text in statements if statement_in(text, "sql") != text] == []


def test_the_answers_of_two_models_to_bird(shared: Path) -> None:
    folder = shared / "data" / "formats" / "bird"
    fenced = {"gpt-4-turbo": (57, 57, 7, 4), "mistralai-mixtral-8x7b-instru-4": (33, 54, 128, None)}
    for model, (in_fences, taken_out, unread, cut_short) in fenced.items():
        texts = _bird(folder / f"predict_mini_dev_{model}_sqlite.json")
        taken = [statement_in(text, "sql") for text in texts]
        assert sum("```" in text for text in texts) == in_fences
        assert not any("```" in text for text in taken)
        assert sum(a != b for a, b in zip(texts, taken, strict=True)) == taken_out
        # What is not read then: cut short inside a literal, `Women's` in single quotes, `\_` for `_`, two statements.
        bad = [(text, found) for text, found in zip(texts, taken, strict=True) if not _is_sql(found, "sqlite")]
        assert len(bad) == unread
        if cut_short is not None:
            assert sum("```" in text and found.endswith("= '") for text, found in bad) == cut_short
            assert not any("```" in text and not found.endswith("= '") for text, found in bad)


def test_real_sparql_is_left_alone_and_comes_out_of_ten_wrappings(shared: Path) -> None:
    queries = []
    for path in sorted((shared / "data" / "formats" / "kgqa").glob("*.json*")):
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        texts = [text for line in lines for text in _texts(json.loads(line))]
        queries += [t for t in texts if re.search(r"\b(select|ask|construct|describe)\b", t, re.I) and "{" in t]
    assert len(queries) == 175
    assert [text for text in queries if statement_in(text, "sparql") != text] == []
    names = ["fence", "fence in prose", "never closed", "never opened", "label", "thinking", "tag on its own line", "tag",
             "prose before", "prose after"]  # fmt: skip
    for query in dict.fromkeys(filter(_is_sparql, queries)):
        for name in names:
            # not by `format`: braces are the queries' own
            text = WRAPPINGS[name].replace("sql", "sparql").replace("SQL", "SPARQL").replace("{}", query)
            assert statement_in(text, "sparql").rstrip("; ") == query.strip().rstrip("; ")
        assert statement_in(json.dumps({"query": query}), "sparql") == query.strip().rstrip("; \n")
