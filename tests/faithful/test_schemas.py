"""What a schema knows beside tables and columns: keys, nullability, descriptions, what values stand for."""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from sensecheck import faithful
from sensecheck.faithful.records import schema_print
from sensecheck.faithful.schema import Column, Schema, from_create_table, from_spider, load_schemas
from sensecheck.faithful.schema.describing import short, value_words
from sensecheck.inputs.errors import InputError


def one(given: Any) -> Schema:
    schema = load_schemas(given)
    assert isinstance(schema, Schema)
    return schema


def column(schema: Schema, place: str) -> Column:
    table, _, name = place.partition(".")
    return schema.tables[table].columns[name]


def names(thing: Any) -> list[str]:
    return [name.text for name in thing.described]


def message(given: Any) -> str:
    with pytest.raises(InputError) as caught:
        load_schemas(given)
    return str(caught.value)


BOATS = """
CREATE TABLE port (code TEXT PRIMARY KEY, town TEXT NOT NULL);
CREATE TABLE boat (id INTEGER PRIMARY KEY, portCode TEXT REFERENCES port, rival INTEGER REFERENCES boat (id));
CREATE TABLE visit (boat_id INTEGER, portCode TEXT, fee REAL, FOREIGN KEY (boat_id) REFERENCES boat (id));
CREATE TABLE crew (id INTEGER PRIMARY KEY, boat_id INTEGER, name TEXT);
"""


# ------------------------------------------------------------------------------------------------- keys


def test_a_key_connects_columns() -> None:
    schema = from_create_table(BOATS)
    assert schema.has_keys
    assert schema.foreign_keys == {
        (("boat", "portcode"), ("port", "code")),  # no column was named: the primary key
        (("boat", "rival"), ("boat", "id")),
        (("visit", "boat_id"), ("boat", "id")),
    }
    joinable = schema.joinable
    assert joinable(("boat", "portCode"), ("port", "code"))
    assert joinable(("port", "CODE"), ("Boat", "PORTCODE"))  # either way, in any case of letters
    assert joinable(("visit", "boat_id"), ("boat", "rival"))  # both refer to the same key
    assert joinable(("boat", "id"), ("boat", "id"))
    assert joinable(("visit", "portCode"), ("port", "code"))  # called like a key of another table
    assert joinable(("visit", "portCode"), ("boat", "portCode"))
    assert joinable(("crew", "boat_id"), ("visit", "boat_id"))
    assert joinable(("crew", "boat_id"), ("boat", "id"))
    assert joinable(("crew", "id"), ("boat", "id")) is False
    assert joinable(("crew", "name"), ("port", "town")) is False
    assert joinable(("boat", "id"), ("port", "code")) is False
    assert joinable(("boat", "id"), ("ship", "id")) is None  # not of this schema
    assert from_create_table("CREATE TABLE a (x INT PRIMARY KEY); CREATE TABLE b (x INT)").joinable(
        ("a", "x"), ("b", "x")
    ) is None  # fmt: skip


def test_keys_go_on_and_go_round() -> None:
    chain = from_create_table(
        "CREATE TABLE a (x INT REFERENCES b (x)); CREATE TABLE b (x INT REFERENCES c (x)); CREATE TABLE c (x INT)"
    )
    assert chain.joinable(("a", "x"), ("c", "x"))
    circle = from_create_table(
        "CREATE TABLE a (p INT REFERENCES b (q)); CREATE TABLE b (q INT REFERENCES a (p)); CREATE TABLE c (z INT)"
    )
    assert circle.joinable(("a", "p"), ("b", "q")) and circle.joinable(("a", "p"), ("c", "z")) is False


def test_every_id_is_not_the_same_id() -> None:
    schema = from_create_table(
        "CREATE TABLE person (id INT PRIMARY KEY); CREATE TABLE pilot (id INT PRIMARY KEY REFERENCES person (id));"
        "CREATE TABLE plane (id INT PRIMARY KEY)"
    )
    assert schema.joinable(("pilot", "id"), ("person", "id"))
    assert schema.joinable(("plane", "id"), ("person", "id")) is False


def test_composite_and_broken_references() -> None:
    schema = from_create_table(
        "CREATE TABLE a (x INT, y INT, PRIMARY KEY (x, y));"
        "CREATE TABLE b (u INT, v INT, w INT REFERENCES nowhere, FOREIGN KEY (u, v) REFERENCES a,"
        " FOREIGN KEY (u) REFERENCES a);"
    )
    assert schema.tables["a"].primary_key == ("x", "y") and not column(schema, "a.x").nullable
    assert schema.foreign_keys == {(("b", "u"), ("a", "x")), (("b", "v"), ("a", "y"))}


# ------------------------------------------------------------------------------------------------- tables.json

SPIDER: dict[str, Any] = {
    "db_id": "boats",
    "table_names_original": ["Port", "Boat"],
    "table_names": ["port", "boat"],
    "column_names_original": [[-1, "*"], [0, "Code"], [1, "id"], [1, "year"], [1, "PortCode"]],
    "column_names": [[-1, "*"], [0, "code"], [1, "boat id"], [1, "year"], [1, "home port"]],
    "column_types": ["text", "text", "number", "number", "text"],
    "primary_keys": [1, [2, 3]],
    "foreign_keys": [[4, 1]],
}


def test_spider_keys() -> None:
    schema = from_spider(SPIDER)
    assert schema.tables["port"].primary_key == ("code",) and schema.tables["boat"].primary_key == ("id", "year")
    assert schema.foreign_keys == {(("boat", "portcode"), ("port", "code"))}
    assert column(schema, "boat.portcode").natural.text == "home port"
    assert not column(schema, "boat.id").nullable and column(schema, "boat.portcode").nullable
    without = from_spider({k: v for k, v in SPIDER.items() if not k.endswith("keys")})
    assert not without.has_keys and not without.has_descriptions
    assert from_spider({**SPIDER, "primary_keys": None, "foreign_keys": None}).foreign_keys == frozenset()


@pytest.mark.parametrize(
    ("field", "value", "got"),
    [
        ("primary_keys", [5], "5"),
        ("primary_keys", [-1], "-1"),
        ("primary_keys", [0], "0"),
        ("primary_keys", [True], "True"),
        ("primary_keys", [[2, "3"]], "[2, '3']"),
        ("primary_keys", {"a": 1}, "{'a': 1}"),
        ("foreign_keys", [[4, 9**99]], "[4, 29512665430652752148753480226197736314359272517043832..."),
        ("foreign_keys", [[4]], "[4]"),
        ("foreign_keys", [[4, 0]], "[4, 0]"),
        ("foreign_keys", [4], "4"),
        ("foreign_keys", "4,1", "'4,1'"),
    ],
)
def test_bad_spider_keys(tmp_path: Path, field: str, value: Any, got: str) -> None:
    path = tmp_path / "tables.json"
    path.write_text(json.dumps([SPIDER, {**SPIDER, field: value}]))
    said = message(path)
    assert said.startswith(f"{path}: record 2: {field}: expected ") and f", got {got}" in said
    if isinstance(value, list):
        assert "columns 1 to 4" in said


# ------------------------------------------------------------------------------------------------- CREATE TABLE


def test_comments_behind_columns() -> None:
    schema = from_create_table("""
        CREATE TABLE district ( -- a part of the country
            A2  TEXT not null, -- name of the district
            A11 INTEGER not null -- average salary,
            A12 REAL null -- unemployment rate, in percent,
            A13 REAL /* the same a year later */,
            A14 REAL -- entrepreneurs
            , A15 INT, -- crimes that
                       -- were committed
            foreign key (A2) references x (y) -- not about a column
        )
    """)
    table = schema.tables["district"]
    assert names(table) == ["a part of the country"]
    assert {c.name: names(c) for c in table.columns.values()} == {
        "A2": ["name of the district"],
        "A11": ["average salary"],
        "A12": ["unemployment rate, in percent"],
        "A13": ["the same a year later"],
        "A14": ["entrepreneurs"],
        "A15": ["crimes that were committed"],
    }
    assert [c.nullable for c in table.columns.values()] == [False, False, True, True, True, True]
    assert schema.foreign_keys == {(("district", "a2"), ("x", "y"))}


def test_comments_above_columns_are_theirs_where_most_have_one() -> None:
    above = from_create_table(
        "CREATE TABLE a (\n -- age in years\n age INT,\n -- where it lies\n place TEXT,\n x INT\n)"
    ).tables["a"]
    assert [names(c) for c in above.columns.values()] == [["age in years"], ["where it lies"], []]
    heading = from_create_table("CREATE TABLE a (\n -- the address\n street TEXT,\n town TEXT,\n zip TEXT\n)").tables[
        "a"
    ]
    assert [names(c) for c in heading.columns.values()] == [[], [], []]


def test_comments_of_mysql_postgres_and_bigquery() -> None:
    mysql = from_create_table(
        "# the boats\nCREATE TABLE IF NOT EXISTS `shop`.`boat` (`id` int(11) NOT NULL AUTO_INCREMENT COMMENT 'the boat\\'s number',"
        " `state` tinyint DEFAULT '0' COMMENT '0: at sea, 1: in port', `key` varchar(20) /*!40101 x */,"
        " kind ENUM('date', 'int'), PRIMARY KEY (`id`), KEY `by_state` (`state`),"
        " CONSTRAINT `c` FOREIGN KEY `f` (`state`) REFERENCES `states` (`no`) ON DELETE SET NULL)"
        " ENGINE=InnoDB COMMENT='everything that floats';"
    )
    boat = mysql.tables["boat"]
    assert list(boat.columns) == ["id", "state", "key", "kind"] and boat.primary_key == ("id",)
    assert [c.type for c in boat.columns.values()] == ["number", "number", "text", "text"]
    assert names(boat) == ["everything that floats"] and names(column(mysql, "boat.id")) == ["the boat's number"]
    assert column(mysql, "boat.state").value_words == {"0": "at sea", "1": "in port"}
    assert names(column(mysql, "boat.state")) == [] and names(column(mysql, "boat.key")) == []
    assert mysql.foreign_keys == {(("boat", "state"), ("states", "no"))}
    postgres = from_create_table(
        "CREATE TABLE public.boat (id integer NOT NULL, tags text[], note text DEFAULT 'a;b');\n"
        "CREATE FUNCTION f() RETURNS void AS $$ BEGIN; it's; END $$ LANGUAGE sql;\n"
        "COPY public.boat (id, tags) FROM stdin;\n1\tit's {\n\\.\n"
        "COMMENT ON TABLE public.boat IS 'all ships';\nCOMMENT ON COLUMN public.boat.tags IS 'labels; some''s own';\n"
        "COMMENT ON COLUMN boat.absent IS 'x'; COMMENT ON COLUMN boat.id IS NULL;\n"
        "ALTER TABLE ONLY public.boat ADD CONSTRAINT boat_pkey PRIMARY KEY (id);\n"
        "ALTER TABLE ONLY public.boat ADD CONSTRAINT f FOREIGN KEY (note) REFERENCES public.notes(id);\n"
    )
    assert names(postgres.tables["boat"]) == ["all ships"]
    assert names(column(postgres, "boat.tags")) == ["labels; some's own"]
    assert postgres.tables["boat"].primary_key == ("id",)
    assert postgres.foreign_keys == {(("boat", "note"), ("notes", "id"))}
    bigquery = from_create_table(
        "CREATE TABLE d.boat (m MAP<STRING, INT64>, s STRUCT<a INT64, b ARRAY<STRING>> OPTIONS (description = 'its story'))"
    )
    assert list(bigquery.tables["boat"].columns) == ["m", "s"] and names(column(bigquery, "boat.s")) == ["its story"]


def test_tables_of_sql_server_and_without_semicolons() -> None:
    schema = from_create_table(
        "CREATE TABLE [dbo].[big boat] ([boat id] [int] NOT NULL, [name] [nvarchar](50) NULL,\n"
        " CONSTRAINT [pk] PRIMARY KEY CLUSTERED ([boat id] ASC))\nGO\n"
        "ALTER TABLE [dbo].[big boat] WITH CHECK ADD FOREIGN KEY([name])\nREFERENCES [dbo].[names] ([name])\nGO\n"
        "create table b (x int)\ncreate table c (y int)"
    )
    assert list(schema.tables) == ["big boat", "b", "c"] and schema.tables["big boat"].primary_key == ("boat id",)
    assert list(schema.tables["big boat"].columns) == ["boat id", "name"]
    assert [c.type for c in schema.tables["big boat"].columns.values()] == ["number", "text"]
    assert schema.foreign_keys == {(("big boat", "name"), ("names", "name"))}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1",
        "-- CREATE TABLE a (x INT)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE t USING fts5(a, b)",
        "CREATE TABLE",
        "CREATE INDEX i ON TABLE t (x)",
        "'CREATE TABLE a (x INT)",
        "\x00\xff)))((",
    ],
)
def test_text_without_tables(tmp_path: Path, text: str) -> None:
    path = tmp_path / "schema.sql"
    path.write_text(text, "utf-8")
    assert message(path).startswith(f"{path}: schema: expected CREATE TABLE statements, got text that holds none.")


def test_half_a_statement_is_read_as_far_as_it_goes() -> None:
    schema = from_create_table("CREATE TABLE a (x INT, y TEXT -- words,\n z DATE, PRIMARY KEY (x")
    assert list(schema.tables["a"].columns) == ["x", "y", "z"] and schema.tables["a"].primary_key == ("x",)
    assert list(from_create_table("CREATE TABLE a AS SELECT 1; CREATE TABLE b LIKE a").tables) == ["a", "b"]


# ------------------------------------------------------------------------------------------------- database files


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "boats.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(BOATS)
        connection.execute('CREATE TABLE "odd ""one" (x INT, y INT, z INT -- depth,\n, PRIMARY KEY (y, x))')
        connection.execute("CREATE VIEW old AS SELECT id AS number FROM boat")
    connection.close()
    schema = one(path)
    assert schema.foreign_keys == from_create_table(BOATS).foreign_keys
    assert schema.tables['odd "one'].primary_key == ("y", "x") and names(column(schema, 'odd "one.z')) == ["depth"]
    assert not column(schema, "port.town").nullable and column(schema, "visit.fee").nullable
    assert list(schema.tables["old"].columns) == ["number"]


def test_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    for name in ("boats.duckdb", "other.db"):
        with duckdb.connect(str(tmp_path / name)) as connection:
            connection.execute(
                'CREATE TABLE "big port" ("the code" TEXT PRIMARY KEY, n INT NOT NULL);'
                "CREATE TABLE boat (id INT, code TEXT REFERENCES \"big port\", kind ENUM('date'), PRIMARY KEY (id, code));"
                "COMMENT ON TABLE boat IS 'all ships'; COMMENT ON COLUMN boat.id IS 'painted on its bow';"
                "COMMENT ON COLUMN boat.kind IS '''F'' means ferry'; CREATE VIEW v AS SELECT n FROM \"big port\""
            )
    schema = one(tmp_path / "boats.duckdb")
    assert schema.db_id == "boats" and set(schema.tables) == {"big port", "boat", "v"}
    assert schema.foreign_keys == {(("boat", "code"), ("big port", "the code"))}
    assert schema.tables["boat"].primary_key == ("id", "code") and names(schema.tables["boat"]) == ["all ships"]
    assert names(column(schema, "boat.id")) == ["painted on its bow"]
    assert column(schema, "boat.kind").value_words == {"f": "ferry"} and column(schema, "boat.kind").type == "text"
    assert not column(schema, "big port.n").nullable
    assert set(load_schemas(tmp_path)) == {"boats", "other"}  # type: ignore[arg-type]
    damaged = tmp_path / "damaged.duckdb"
    damaged.write_bytes((tmp_path / "other.db").read_bytes()[:3000])
    assert message(damaged).startswith(f"{damaged}: expected a DuckDB database, got a damaged one")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert "needs the extra `duckdb`: pip install 'sensecheck[duckdb]'" in message(tmp_path / "boats.duckdb")


# ------------------------------------------------------------------------------------------------- BIRD


HEADER = "original_column_name,column_name,column_description,data_format,value_description"


def bird(folder: Path, content: bytes | str, table: str = "boat") -> Path:
    home = folder / "database_description"
    home.mkdir(parents=True, exist_ok=True)
    (home / f"{table}.csv").write_bytes(content if isinstance(content, bytes) else content.encode("utf-8-sig"))
    return home


def test_bird_descriptions_alone(tmp_path: Path) -> None:
    home = bird(
        tmp_path / "boats",
        f"{HEADER},\nid,,the boat's number,integer,,\n A2 ,name,name,text,,\nkind,kind,Kind,text,,"
        '"""F"" stands for ferry\n""T"": tug boat;"\nbuilt,,,date,in the form YYMMDD\n,,,,\nshort\n',
    )
    schema = one(home)
    assert schema.db_id == "boats" and list(schema.tables) == ["boat"]
    assert [(c.name, c.type, names(c)) for c in schema.tables["boat"].columns.values()] == [
        ("id", "number", ["the boat's number"]),
        ("A2", "text", ["name"]),
        ("kind", "text", []),  # only its own name
        ("built", "time", []),
        ("short", "text", []),
    ]
    assert column(schema, "boat.kind").value_words == {"f": "ferry", "t": "tug boat"}
    assert schema.has_descriptions and not schema.has_keys


def test_bird_files_are_not_all_utf8(tmp_path: Path) -> None:
    home = bird(tmp_path / "boats", f"{HEADER}\na,,the café’s\x00 name,text,\n".encode("cp1252"))
    assert names(column(one(home), "boat.a")) == ["the café’s name"]


def test_bird_databases(tmp_path: Path) -> None:
    """A folder of databases, one of them, its file; beside tables.json; and descriptions called after something else."""
    folder = tmp_path / "dev_databases"
    bird(folder / "boats", f"{HEADER}\nPORTCODE,,where it lies,text,\nabsent,,not in the database,text,\n")
    bird(folder / "__MACOSX", b"\x00\x05")
    (folder / "boats/database_description/._boat.csv").write_bytes(b"\x00\x05")
    (folder / "boats/._boats.sqlite").write_bytes(b"\x00\x05")
    with sqlite3.connect(folder / "boats/boats.sqlite") as connection:
        connection.executescript(BOATS)
    connection.close()
    bird(folder / "described", f"{HEADER}\nx,,the only one,text,\n", "t")
    both = load_schemas(folder)
    assert isinstance(both, dict) and set(both) == {"boats", "described"}
    for schema in (both["boats"], one(folder / "boats/boats.sqlite"), load_schemas(folder / "boats")["boats"]):  # type: ignore[index,call-overload]
        assert (
            names(column(schema, "boat.portcode")) == ["where it lies"]
            and "absent" not in schema.tables["boat"].columns
        )
        assert schema.has_keys
    tables = tmp_path / "dev_tables.json"
    entry = {key: value for key, value in SPIDER.items() if key != "foreign_keys"}
    tables.write_text(json.dumps([entry, {**entry, "db_id": "other", "table_names_original": ["a", "b"]}]))
    merged = load_schemas([tables, folder])
    assert isinstance(merged, dict) and set(merged) == {"boats", "other", "described"}
    boats = merged["boats"]
    assert set(boats.tables) == {"port", "boat"} and column(boats, "boat.portcode").natural.text == "home port"
    assert names(column(boats, "boat.portcode")) == ["where it lies"] and boats.joinable(
        ("boat", "portcode"), ("port", "code")
    )
    # Descriptions alone are put into the one schema that has their tables, in whatever order they are given.
    home = bird(tmp_path / "anything", f"{HEADER}\nportcode,,berth,text,\n")
    for given in ([tables, home], [home, tables]):
        merged = load_schemas(given)
        assert isinstance(merged, dict) and set(merged) == {"boats", "other"}
        assert names(column(merged["boats"], "boat.portcode")) == ["berth"]


def test_what_is_put_together_leaves_the_parts_alone() -> None:
    first, second = from_create_table("CREATE TABLE a (x INT, y INT)", "d"), from_create_table(
        "CREATE TABLE a (x INT PRIMARY KEY REFERENCES b (z), q INT -- words\n)", "d"
    )  # fmt: skip
    merged = load_schemas([first, second])
    assert isinstance(merged, dict) and list(merged["d"].tables["a"].columns) == ["x", "y"]
    assert merged["d"].tables["a"].primary_key == ("x",) and not column(merged["d"], "a.x").nullable
    assert column(first, "a.x").nullable and not first.has_keys


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "boat.csv:1: expected the columns of BIRD's descriptions (original_column_name, "),
        (b"a,b\n1,2\n", "got the columns 'a', 'b'."),
        (f"{HEADER}\na,,x,text,\n".encode("utf-16"), "boat.csv:1: expected the columns of BIRD's descriptions"),
        (f'{HEADER}\na,,"{"x" * 200_000}'.encode(), "expected a row of CSV, got a cell of over 131,072 characters"),
    ],
)
@pytest.mark.parametrize("limit", [131_072, 1 << 30])
def test_bad_bird_files(tmp_path: Path, content: bytes, said: str, limit: int, request: pytest.FixtureRequest) -> None:
    home = bird(tmp_path, content)
    before = csv.field_size_limit(limit)  # other code of a process may raise it
    request.addfinalizer(lambda: csv.field_size_limit(before))
    assert said in message(home) and message(home).startswith(str(home))


def test_folders_that_hold_nothing(tmp_path: Path) -> None:
    assert "expected SQLite or DuckDB files, or BIRD's descriptions, in this folder, got none" in message(tmp_path)
    (tmp_path / "database_description").mkdir()
    assert "expected BIRD's descriptions of tables (TABLE.csv), got no .csv file" in message(tmp_path)


# ------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("'A' stands for contract finished, no problems;\n'B' stands for loan not paid", {"a": "contract finished, no problems", "b": "loan not paid"}),
        ('"POJISTNE": stands for insurance payment', {"pojistne": "insurance payment"}),
        ('"PREVOD Z UCTU" :collection from another bank', {"prevod z uctu": "collection from another bank"}),
        ("F：female \nM：male ", {"f": "female", "m": "male"}),
        ("0: N/A, 1: Active", {"0": "N/A", "1": "Active"}),
        ("Y = yes; N = no", {"y": "yes", "n": "no"}),
        ("'X' means a cross.", {"x": "a cross"}),
        ("• DOC: district office code\n• SOC -> school office code", {"doc": "district office code", "soc": "school office code"}),
        ("“1” represents charter", {"1": "charter"}),
        ("commonsense evidence:\n1 means it is a magnet school", {"1": "it is a magnet school"}),
        # nothing that is certain
        ("unit：US dollar", {}),
        ("Unit: USD", {}),
        ('"OWNER" : "USER" : "DISPONENT"\ncommonsense evidence:\nthe account can have rights', {}),
        ("in the form YYMMDD", {}),
        ("Normal range: N < 60", {}),
        ("rate = FRPM Count / Enrollment", {}),
        ("A = B * C", {}),
        ("12:30", {}),
        ("see https://example.org/a", {}),
        ("this means that nobody knows", {}),
        ("note: mind the gap", {}),
        ("", {}),
        ("1: one. " + "word " * 30, {"1": "one"}),
        ("1: " + "word " * 30, {}),
    ],
)  # fmt: skip
def test_what_values_stand_for(text: str, found: dict[str, str]) -> None:
    assert value_words(text) == found


def test_descriptions_are_short() -> None:
    assert short("no. of entrepreneurs per 1000 inhabitants") == "no. of entrepreneurs per 1000 inhabitants"
    assert short("gender of the client; 'F' = female, 'M' = male") == "gender of the client"
    long = "The no. of cards (see below) that were printed. Use it wherever there is need for a number of that kind."
    assert short(long) == "The no. of cards that were printed"
    schema = from_create_table("CREATE TABLE a (x INT -- " + "word " * 5000 + "\n)")
    (name,) = column(schema, "a.x").described
    assert len(name.words) == 12 and len(name.text) <= 4000
    repeated = from_create_table("CREATE TABLE a (birthDate INT -- the birth date,\n, x INT -- ----- \n)")
    assert not repeated.has_descriptions


# ------------------------------------------------------------------------------------------------- nested JSON

NESTED: dict[str, Any] = {
    "boats": {
        "tables": {
            "Port": {"columns": [{"name": "Code", "type": "TEXT", "notnull": True}], "primary_keys": ["Code"]},
            "boat": {
                "columns": [{"name": "id", "type": "INTEGER"}, {"name": "A2", "type": "DATE", "notnull": False}],
                "primary_keys": ["id"],
                "foreign_keys": [{"from": "A2", "to_table": "port", "to_column": None}],
                "enhanced_ddl": "CREATE TABLE boat -- a ship\n(id INTEGER -- its number,\n A2 DATE -- day of launch\n)",
            },
        }
    }
}


def test_nested_json(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(NESTED))
    for given in (path, NESTED, {"db_id": "boats", **NESTED["boats"]}):
        schemas = load_schemas(given)
        assert isinstance(schemas, dict) and list(schemas) == ["boats"]
        schema = schemas["boats"]
        assert schema.foreign_keys == {(("boat", "a2"), ("port", "code"))}
        assert names(schema.tables["boat"]) == ["a ship"] and names(column(schema, "boat.a2")) == ["day of launch"]
        assert column(schema, "boat.a2").type == "time" and not column(schema, "port.code").nullable


@pytest.mark.parametrize(
    ("boats", "said"),
    [
        ({"tables": []}, "record 1: boats: expected a schema: an object with `tables`"),
        ({"tables": {"a": 1}}, "record 1: boats.a: expected a table (an object with `columns`), got 1"),
        ({"tables": {"a": {}}}, "boats.a.columns: expected a list, got None"),
        ({"tables": {"a": {"columns": [{"name": 3}]}}}, "boats.a.columns: expected an object with `name`"),
        ({"tables": {"a": {"columns": [{"name": "x", "type": []}]}}}, "boats.a.columns: expected `type` as a text"),
        ({"tables": {"a": {"columns": [], "primary_keys": "x"}}}, "boats.a.primary_keys: expected a list, got 'x'"),
        ({"tables": {"a": {"columns": [], "primary_keys": [1]}}}, "boats.a.primary_keys: expected the name of a column"),
        ({"tables": {"a": {"columns": [], "foreign_keys": [["x"]]}}}, "boats.a.foreign_keys: expected an object with `from`"),
        ({"tables": {"a": {"columns": [], "foreign_keys": [{"from": "x"}]}}}, "boats.a.foreign_keys: expected an object"),
    ],
)  # fmt: skip
def test_bad_nested_json(tmp_path: Path, boats: Any, said: str) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"boats": boats}))
    assert said in message(path) and message(path).startswith(str(path))


def test_nested_json_with_something_else_in_it(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({**NESTED, "version": 2}))
    assert "record 2: version: expected a schema: an object with `tables`" in message(path)


# ------------------------------------------------------------------------------------------------- users


def test_the_signature_sees_keys_and_descriptions() -> None:
    texts = (
        "CREATE TABLE a (x INT, y INT)",
        "CREATE TABLE a (x INT, y INT -- words\n)",
        "CREATE TABLE a (x INT, y INT -- '1' means one\n)",
        "CREATE TABLE a (x INT, y INT NOT NULL)",
        "CREATE TABLE a (x INT PRIMARY KEY, y INT)",
        "CREATE TABLE a (x INT, y INT REFERENCES b (c))",
    )
    prints = [schema_print(from_create_table(text)) for text in texts]
    assert len(set(prints)) == len(texts)
    plain = [["a", "a", [["x", "x", "number"], ["y", "y", "number"]]]]
    from sensecheck.inputs import fingerprints

    assert prints[0] == fingerprints.of_value([plain])  # as before there were keys


def test_verdicts_need_no_keys() -> None:
    plain = faithful.Checker("sql", schemas=from_create_table("CREATE TABLE boat (name TEXT, length REAL)"))
    whole = faithful.Checker(
        "sql", schemas=from_create_table("CREATE TABLE boat (name TEXT PRIMARY KEY, length REAL NOT NULL)")
    )
    query = "SELECT name FROM boat WHERE length > 20"
    for sentence in ("Names of boats longer than 20.", "Names of boats shorter than 20."):
        assert plain.check(query, sentence).consistent == whole.check(query, sentence).consistent


def test_blec_takes_several(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in "ab"]
    for file in files:
        file.write_text(json.dumps([{**SPIDER, "db_id": file.stem}]))
    pairs = {"query": ["SELECT Code FROM Port"] * 2, "sentence": ["the codes of ports"] * 2, "db_id": ["a", "b"]}
    result = faithful.evaluate(pairs, parity="blec", schema=files)
    assert result.measurements.height == 2


def test_the_command_line_takes_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sensecheck.cli import main

    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        json.dumps({"query": "SELECT Code FROM Port", "sentence": "The codes of all ports.", "db_id": "boats"}) + "\n"
    )
    tables = tmp_path / "dev_tables.json"
    tables.write_text(json.dumps([SPIDER]))
    bird(tmp_path / "dev_databases/boats", f"{HEADER}\nCode,,sign of the port,text,\n", "Port")
    command = ["faithful", str(pairs), "--schema", str(tables), "--no-ci"]
    assert main([*command, "--schema", str(tmp_path / "dev_databases")]) == 0
    assert "consistent" in capsys.readouterr().out
    (tmp_path / "dev_databases/boats/database_description/Port.csv").write_text("a,b\n")
    assert main([*command, "--schema", str(tmp_path / "dev_databases")]) == 2
    said = capsys.readouterr().err
    assert "Port.csv:1: expected the columns of BIRD's descriptions" in said and "Traceback" not in said


# ------------------------------------------------------------------------------------------------- other people's


@pytest.mark.golden
def test_the_benchmark_of_bird(shared: Path) -> None:
    schemas = load_schemas(shared / "bench/faithful_bird/schema.json")
    assert isinstance(schemas, dict) and len(schemas) == 6
    assert names(column(schemas["financial"], "district.a11")) == ["average salary"]
    cards = schemas["card_games"]
    assert names(column(cards, "cards.artist")) == ["The name of the artist that illustrated the card art."]
    assert cards.joinable(("cards", "setCode"), ("sets", "code"))
    assert cards.joinable(("rulings", "uuid"), ("legalities", "uuid"))
    assert cards.joinable(("cards", "id"), ("sets", "id")) is False
    assert all(schema.has_keys and schema.has_descriptions for schema in schemas.values())
    for name, entry in json.loads((shared / "bench/faithful_bird/schema.json").read_text()).items():
        declared = from_create_table(entry["enhanced_ddl"])  # with the commas in the comments, and no semicolons
        assert {t: list(table.columns) for t, table in declared.tables.items()} == {
            t: list(table.columns) for t, table in schemas[name].tables.items()
        }
        assert declared.foreign_keys == schemas[name].foreign_keys


@pytest.mark.golden
def test_descriptions_of_bird(shared: Path) -> None:
    schema = one(shared / "data/formats/bird/database_description")
    assert set(schema.tables) == {"account", "card", "client", "disp", "district", "loan", "order", "trans"}
    assert column(schema, "account.frequency").value_words == {
        "poplatek mesicne": "monthly issuance",
        "poplatek tydne": "weekly issuance",
        "poplatek po obratu": "issuance after transaction",
    }
    assert column(schema, "client.gender").value_words == {"f": "female", "m": "male"}
    assert column(schema, "loan.status").value_words["a"] == "contract finished, no problems"
    assert names(column(schema, "district.a11")) == ["average salary"]
    for place in ("disp.type", "loan.amount", "trans.balance", "card.issued", "order.account_to"):
        assert not column(schema, place).value_words
    merged = load_schemas(
        [shared / "bench/faithful_bird/schema.json", shared / "data/formats/bird/database_description"]
    )
    assert isinstance(merged, dict) and len(merged) == 6
    assert column(merged["financial"], "loan.status").value_words["d"] == "running contract, client in debt"


def test_what_sqlite_cannot_describe_is_left_out(tmp_path: Path) -> None:
    """A view of a table that is gone is no damage, and neither is a table of a module that is not there."""
    file = tmp_path / "harbour.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript("""
            CREATE TABLE boat (name TEXT);
            CREATE VIEW orphan AS SELECT * FROM nowhere;
            CREATE VIEW fleet AS SELECT name FROM boat;
            PRAGMA writable_schema = ON;
            INSERT INTO sqlite_master VALUES ('table', 'far', 'far', 0, 'CREATE VIRTUAL TABLE far USING no_such_module(a)');
        """)
    assert list(one_of(file).tables) == ["boat", "fleet"]
    result = faithful.evaluate({"query": ["SELECT name FROM boat"], "sentence": ["Names of boats."]}, database=file)
    assert result["consistent"].value == 1.0


def one_of(given: Any) -> Schema:
    schemas = load_schemas(given)
    return schemas if isinstance(schemas, Schema) else next(iter(schemas.values()))


def test_a_locked_file_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "harbour.sqlite"
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("CREATE TABLE boat (name TEXT)")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **{**named, "timeout": 0}))
    connection.execute("BEGIN EXCLUSIVE")
    try:
        assert message(file).startswith(
            f"{file}: expected a SQLite database that can be read, got one that another program locks"
        )
    finally:
        connection.close()


def test_no_schema_at_all_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "tables.json"
    empty.write_text("[]")
    assert (
        message(empty)
        == f"{empty}: expected a schema as in Spider's tables.json, or a list of them, got an empty list."
    )
    assert message("").startswith("schema: expected a file or folder, got ''.")
    assert message([""]).startswith("schema: expected a file or folder, got ''.")
    assert message({"harbour": {"boat": ["name"]}}).startswith("schema: expected a Schema for every name")


def test_what_a_mac_leaves_beside_databases_is_no_database(tmp_path: Path) -> None:
    home = tmp_path / "dbs" / "harbour"
    home.mkdir(parents=True)
    with sqlite3.connect(home / "harbour.sqlite") as connection:
        connection.executescript("CREATE TABLE boat (kind TEXT); INSERT INTO boat VALUES ('ketch');")
    pairs = {
        "query": ["SELECT count(*) FROM boat WHERE kind = 'ketch'"],
        "sentence": ["How many boats are of the kind ketch?"],
    }
    pairs["db_id"] = ["harbour"]
    before = faithful.evaluate(pairs, database=tmp_path / "dbs")
    for place in (home, tmp_path / "dbs"):
        (place / "._harbour.sqlite").write_bytes(b"\0\5\x16\7")
    after = faithful.evaluate(pairs, database=tmp_path / "dbs")
    assert before["consistent"].value == after["consistent"].value == 1.0
    assert before.signature == after.signature
