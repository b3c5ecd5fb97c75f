"""What may run on a server: one statement that reads, and nothing that reaches beyond the data.

The server's own compiler judges as far as it can be asked: PostgreSQL takes a query only as the query of a cursor,
MySQL in a read-only transaction, and both one statement at a time. What reads files, waits, connects, runs a text or
tells of the machine is known by its name alone. PostgreSQL says of each function whether it may do more than compute
(VOLATILE), so its own list is asked; MySQL has none, so there what only computes is listed here, and all else is
refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from sensecheck.stores.outcomes import Failure, Reason

from .lexing import LexicalError, Token, mysql_tokens, postgres_tokens


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READING = frozenset(("select", "with", "values", "table", "("))
_KNOWN_STATEMENTS = _words("""
    alter analyze begin call checkpoint close cluster comment commit copy create deallocate declare delete
    discard do drop end execute explain export fetch grant import insert listen load lock merge move notify
    prepare reassign refresh reindex release replace reset revoke rollback savepoint security set show start
    truncate unlisten update vacuum desc describe use handler flush kill install uninstall rename optimize
    repair check signal resignal get xa backup change purge shutdown help binlog cache
""")


def _refused(objection: str) -> Failure:
    return Failure(Reason.REFUSED, f"not allowed: {objection}")


def _admitted(tokens: Callable[[], list[Token]], objection: Callable[[Sequence[Token]], str]) -> Failure | None:
    """Why a text may not run, or None."""
    try:
        found = tokens()
    except LexicalError as error:
        return Failure(Reason.SYNTAX, str(error))
    while found and found[-1] == Token("mark", ";"):
        found.pop()
    if not found:
        return Failure(Reason.SYNTAX, "no statement")
    if Token("mark", ";") in found:
        return Failure(Reason.REFUSED, "more than one statement")
    first = found[0].text
    if found[0].kind == "hidden":
        return _refused(f"{first} …")
    if first not in READING:
        reason = Reason.REFUSED if first in _KNOWN_STATEMENTS else Reason.SYNTAX
        return Failure(reason, f"only SELECT, WITH, VALUES and TABLE statements are run, not {first.upper()[:30]}")
    words = objection(found)
    return _refused(words) if words else None


# ---- PostgreSQL

# Of what begins with pg_: what tells of the data, and what only computes.
_PG_OPEN = _words("""
    pg_attrdef pg_attribute pg_catalog pg_class pg_collation_for pg_column_size pg_constraint pg_description
    pg_enum pg_get_constraintdef pg_get_expr pg_get_indexdef pg_get_serial_sequence pg_get_viewdef pg_index
    pg_indexes pg_inherits pg_matviews pg_namespace pg_size_bytes pg_size_pretty pg_table_is_visible pg_tables
    pg_timezone_abbrevs pg_timezone_names pg_type pg_typeof pg_views pg_type_is_visible pg_range pg_sequences
""")
_PG_VOLATILE_AND_OPEN = _words("""
    random gen_random_uuid clock_timestamp timeofday bernoulli system amvalidate random_normal uuidv4 uuidv7
""")
# Not volatile, and yet: what runs a text or reads a table by its name, and what tells of the machine or of others.
_PG_CLOSED = _words("""
    current_setting database_to_xml database_to_xml_and_xmlschema database_to_xmlschema inet_client_addr
    inet_client_port inet_server_addr inet_server_port schema_to_xml schema_to_xml_and_xmlschema
    schema_to_xmlschema table_to_xml table_to_xml_and_xmlschema table_to_xmlschema version xpath_table ts_debug
    getpgusername aclexplode mxid_age txid_current
""")
_PG_RUNS_TEXT = re.compile(r"crosstab\w*|dblink\w*|connectby|lo_\w+|\w*query_to_xml\w*|postgres_fdw\w*")
# Of `information_schema`: what tells of other servers, with the passwords for them.
_PG_FOREIGN = re.compile(r"_pg_\w+|user_mapping\w*|foreign_(?:server|table|data_wrapper)\w*")
_PG_LETTERS = 63
"""Bytes of a name; the server cuts off what is longer, and finds what the rest names."""
PG_NAMES = """
SELECT proname, bool_or(does_more), bool_or(does_more AND NOT built_in), bool_or(does_more AND of_row) FROM (
  SELECT p.proname, p.pronamespace = 'pg_catalog'::regnamespace AS built_in,
    p.provolatile = 'v' OR EXISTS (
      SELECT FROM pg_catalog.pg_aggregate a JOIN pg_catalog.pg_proc f ON f.oid IN (a.aggtransfn, a.aggfinalfn)
      WHERE a.aggfnoid = p.oid AND f.provolatile = 'v') AS does_more,
    p.pronargs > 0 AND p.pronargs - p.pronargdefaults <= 1 AND coalesce(
      (SELECT t.typtype IN ('c', 'd', 'p') FROM pg_catalog.pg_type t WHERE t.oid = p.proargtypes[0]), p.provariadic <> 0
    ) AND p.pronamespace <> 'pg_catalog'::regnamespace AS of_row
  FROM pg_catalog.pg_proc p) AS functions GROUP BY proname
UNION ALL SELECT relname, true, false, false FROM pg_catalog.pg_class WHERE relnamespace = 'pg_catalog'::regnamespace
"""
"""What a database has: its functions, each with what `PgName` says, and tables of the machinery."""


class PgName(NamedTuple):
    name: str
    does_more: bool = False
    """Whether a function of this name may do more than compute: it is VOLATILE, or an aggregate of such functions;"""
    is_own: bool = False
    """one that is not the server's own;"""
    of_row: bool = False
    """one that takes a row, so that `row.name` calls it."""


class PostgresGate:
    """Judges texts for one database, by what that has."""

    def __init__(self, names: Collection[PgName]) -> None:
        # In small letters: what the server makes of capitals without quotes depends on its encoding.
        own = frozenset(one.name.lower() for one in names if one.is_own)
        everything = frozenset(one.name.lower() for one in names)
        self._machinery = frozenset(name for name in everything if name.startswith("pg_")) - _PG_OPEN
        volatile = frozenset(one.name.lower() for one in names if one.does_more) - self._machinery
        self._volatile = (volatile - _PG_VOLATILE_AND_OPEN - _PG_OPEN) | own
        self._of_rows = frozenset(one.name.lower() for one in names if one.of_row)

    def objection(self, text: str) -> Failure | None:
        return _admitted(lambda: postgres_tokens(text), self._of_tokens)

    def _of_tokens(self, tokens: Sequence[Token]) -> str:
        nothing = Token("mark", "")
        before = last_name = nothing
        for token, following in pairwise((*tokens, nothing)):
            behind_dot, before = before == Token("mark", "."), token
            if token.kind == "hidden":
                return "names or texts in code points (U&)"
            if token.kind == "escaped" and following.kind == "text":
                return "a text in several pieces"  # the second piece has backslashes too
            if token.kind not in ("word", "name"):
                continue
            name = _cut_off(token.text).lower()
            if name in self._machinery:
                return name
            if behind_dot and last_name.text.lower() == "information_schema" and _PG_FOREIGN.fullmatch(name):
                return f"information_schema.{name}"
            last_name = token
            if following == Token("mark", "("):
                if name in _PG_CLOSED or _PG_RUNS_TEXT.fullmatch(name):
                    return f"function {name}"
                if name in self._volatile:
                    return f"function {name}, which may do more than compute (it is VOLATILE)"
            elif behind_dot and name in self._of_rows:
                return f"function {name} of a row, which may do more than compute (it is VOLATILE)"
        return ""


def _cut_off(name: str) -> str:
    """As much of a name as the server reads."""
    return name if len(name) <= _PG_LETTERS // 4 else name.encode()[:_PG_LETTERS].decode("utf-8", "ignore")


# ---- MySQL and MariaDB

# Functions that compute from their arguments alone, or tell the date, the database or who asks.
_MYSQL_FUNCTIONS = _words("""
    abs acos adddate addtime aes_decrypt aes_encrypt any_value ascii asin atan atan2 avg bin bin_to_uuid bit_and
    bit_count bit_length bit_or bit_xor cast ceil ceiling char char_length character_length charset chr coalesce
    coercibility collation column_check column_exists column_get column_json column_list compress concat
    concat_ws conv convert convert_tz cos cot count crc32 crc32c cume_dist curdate current_date current_time
    current_timestamp current_user curtime database date date_add date_format date_sub datediff day dayname
    dayofmonth dayofweek dayofyear decode default degrees dense_rank elt encode exp export_set extract
    extractvalue field find_in_set first_value floor format format_bytes format_pico_time found_rows from_base64
    from_days from_unixtime geomcollection geometrycollection get_format greatest group_concat grouping hex hour
    if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr interval is_ipv4 is_ipv4_compat
    is_ipv4_mapped is_ipv6 is_uuid isnull json_array json_array_append json_array_insert json_array_intersect
    json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed json_equals json_exists
    json_extract json_insert json_keys json_length json_loose json_merge json_merge_patch json_merge_preserve
    json_normalize json_object json_object_filter_keys json_object_to_array json_objectagg json_overlaps
    json_pretty json_query json_quote json_remove json_replace json_schema_valid json_search json_set
    json_storage_size json_table json_type json_unquote json_valid json_value lag last_day last_value lcase lead
    least left length linestring ln localtime localtimestamp locate log log10 log2 lower lpad ltrim make_set
    makedate maketime max mbrcontains mbrequal mbrintersects mbrwithin md5 median microsecond mid min minute mod
    month monthname multilinestring multipoint multipolygon natural_sort_key now nth_value ntile nullif nvl nvl2
    oct octet_length ord percent_rank percentile_cont percentile_disc period_add period_diff pi point polygon
    position pow power quarter quote radians rand random_bytes rank regexp_instr regexp_like regexp_replace
    regexp_substr repeat replace reverse right round row_count row_number rpad rtrim schema sec_to_time second
    session_user sformat sha sha1 sha2 sign sin soundex space sqrt st_area st_asgeojson st_astext st_buffer
    st_centroid st_contains st_crosses st_difference st_dimension st_disjoint st_distance st_distance_sphere
    st_envelope st_equals st_geomfromgeojson st_geomfromtext st_intersection st_intersects st_isvalid st_length
    st_longitude st_latitude st_overlaps st_point st_pointfromtext st_polyfromtext st_srid st_touches st_union
    st_within st_x st_y std stddev stddev_pop stddev_samp str_to_date strcmp subdate substr substring
    substring_index subtime sum sysdate tan time time_format time_to_sec timediff timestamp timestampadd
    timestampdiff to_base64 to_char to_days to_seconds trim truncate ucase uncompress uncompressed_length unhex
    unix_timestamp updatexml upper user utc_date utc_time utc_timestamp uuid uuid_short uuid_to_bin value values
    var_pop var_samp variance week weekday weekofyear weight_string year yearweek
""")
# Words that may stand before a bracket and call nothing: clauses, operators and types.
_MYSQL_WORDS = _words("""
    after against all and any array as asc before between binary both by case char character collate columns
    cross date datetime decimal desc distinct distinctrow div double else escape except exists false fields
    float for force from full group having ignore in index inner intersect is join json key lateral leading left
    like limit match minus mod nchar natural not null nvarchar of offset on or order outer over overlaps
    partition path range recursive regexp return right rlike row rows select separator set signed some sounds
    straight_join table then time trailing true union unsigned use using values varchar varbinary when where
    window with within xor year
""")
# Words that no statement has that only reads; as names they would stand in quotes.
_MYSQL_CLOSED_WORDS = {
    "into": "INTO", "outfile": "INTO OUTFILE", "procedure": "PROCEDURE", "delete": "DELETE", "update": "FOR UPDATE",
}  # fmt: skip
_MYSQL_CLOSED_PAIRS = {
    ("lock", "in"): "LOCK IN SHARE MODE", ("for", "share"): "FOR SHARE", ("next", "value"): "NEXT VALUE",
    ("previous", "value"): "PREVIOUS VALUE",
}  # fmt: skip
_MYSQL_SCHEMAS = frozenset(("mysql", "performance_schema", "sys"))
_MYSQL_INFORMATION = _words("""
    tables columns schemata key_column_usage table_constraints referential_constraints statistics views
    character_sets collations check_constraints keywords
""")


class MysqlGate:
    """Judges texts as a server with these settings reads them. `own`: functions that somebody made in the database,
    which may be called as one that another server has."""

    def __init__(self, sql_mode: str = "", own: Collection[str] = ()) -> None:
        self._quoted_names = "ANSI_QUOTES" in sql_mode
        self._backslashes = "NO_BACKSLASH_ESCAPES" not in sql_mode
        self._own = frozenset(name.lower() for name in own)

    def objection(self, text: str) -> Failure | None:
        def tokens() -> list[Token]:
            return mysql_tokens(text, quoted_names=self._quoted_names, backslashes=self._backslashes)

        return _admitted(tokens, self._of_tokens)

    def _of_tokens(self, tokens: Sequence[Token]) -> str:
        for token, following in pairwise(tokens):
            if token.kind in ("word", "name") and following == Token("mark", "(") and token.text.lower() in self._own:
                return f"function {token.text.lower()[:60]}, which somebody made in this database"
        return _mysql_objection(tokens)


def _mysql_objection(tokens: Sequence[Token]) -> str:
    nothing = Token("mark", "")
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else nothing
        following = tokens[place + 1] if place + 1 < len(tokens) else nothing
        if token.kind == "hidden":
            return f"a comment that the server obeys ({token.text[:3]} …)"
        if token == Token("mark", "@") or (token == Token("mark", ":") and following == Token("mark", "=")):
            return "variables"
        if token.kind not in ("word", "name"):
            continue
        name = token.text.lower()
        if token.kind == "word" and before != Token("mark", "."):
            closed = _MYSQL_CLOSED_WORDS.get(name) or _MYSQL_CLOSED_PAIRS.get((name, following.text))
            if closed:
                return closed
        if following == Token("mark", "."):
            schema = _bare(name)
            if schema in _MYSQL_SCHEMAS:
                return f"the schema {schema}"
            table = tokens[place + 2].text.lower() if place + 2 < len(tokens) else ""
            if schema == "information_schema" and table not in _MYSQL_INFORMATION:
                return f"information_schema.{table[:60]}"
        if following == Token("mark", "(") and not _calls_nothing(tokens, place, name, before):
            return f"function {name[:60]} (not among those that are known to compute only)"
    return ""


def _bare(name: str) -> str:
    """A name by its letters alone: the server takes `İnformation_schema` for `information_schema`."""
    if name.isascii():
        return name
    parts = unicodedata.normalize("NFKD", name.replace("ı", "i"))
    return "".join(part for part in parts if not unicodedata.combining(part)).lower()


def _calls_nothing(tokens: Sequence[Token], place: int, name: str, before: Token) -> bool:
    """Whether what stands before a bracket is a known function, a word of the language, or a new name."""
    known = name in _MYSQL_FUNCTIONS or (tokens[place].kind == "word" and name in _MYSQL_WORDS)
    if known and before != Token("mark", "."):
        return True  # behind a dot it is a function of somebody's own
    if before in (Token("word", "as"), Token("mark", ")"), Token("word", "with"), Token("word", "recursive")):
        return True
    return before == Token("mark", ",") and _is_cte(tokens, place + 1)


def _is_cte(tokens: Sequence[Token], opening: int) -> bool:
    """Whether the bracket holds plain names and AS ( follows it: `, name (a, b) AS (`."""
    at = opening + 1
    while at < len(tokens) and (tokens[at].kind in ("word", "name") or tokens[at] == Token("mark", ",")):
        at += 1
    return [token.text for token in tokens[at : at + 3]] == [")", "as", "("]


# ---- other engines, of which nothing more is known than what sqlglot reads

DOING = _words("""
    alter backup call create dbcc delete deny drop exec execute grant insert kill merge outfile reconfigure restore
    revoke shutdown truncate update waitfor
""")
"""Words of statements that do something. Where statements need nothing between them, sqlglot takes the first word of
the next for a name: `SELECT 1 DELETE FROM t` is two statements to SQL Server."""
DOING_IN_TSQL = DOING | _words("""
    begin break bulk checkpoint close commit deallocate declare disk dump exit goto if lineno load open print raiserror
    readtext return revert rollback save set setuser updatetext use while writetext
""")
"""Words that are no names to SQL Server unless they are quoted."""
_CLOSED_ANYWHERE = re.compile(
    r"(?:xp|sp)_\w+|(?:utl|dbms|owa|httpuri)\w*_\w+|pg_(?!typeof|size_pretty|catalog|class|namespace|tables|views)\w+|lo_\w+"
    r"|dblink\w*|openrowset|opendatasource|openquery|external_query|query_to_xml\w*|load_file|sys_(?:exec|eval)|set_config"
    r"|master_pos_wait|sleep|benchmark|get_lock|waitfor|httpuritype|system\$\w+",
    re.I,
)
_CLOSED_AS_FUNCTIONS = re.compile(
    r"load_extension|readfile|writefile|edit|fts3_tokenizer|fsdir|read_\w+|(?:parquet|csv|json|iceberg|delta)_scan\w*|sniff_csv"
    r"|glob_?files?|getenv|query|query_table|json_execute_serialized_sql|nextval|setval|url|s3\w*|hdfs\w*|file|mysql|postgresql"
    r"|remote\w*|jdbc|odbc|executable|eval|exec|current_setting|parse_external_\w+|http_\w+|infer_schema|crosstab\w*|table_to_xml\w*"
    r"|randomblob|zipfile|sqlite_\w+(?<!sqlite_version)|copy_\w+|delay|pause",
    re.I,
)


def closed_function(name: str, *, is_call: bool) -> str:
    """What of a name is not let through on an engine that is only known by its dialect, in words; "" for nothing."""
    if _CLOSED_ANYWHERE.fullmatch(name) or (is_call and _CLOSED_AS_FUNCTIONS.fullmatch(name)):
        return f"{'function ' if is_call else ''}{name.lower()[:60]}"
    return ""
