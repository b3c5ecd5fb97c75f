"""Are these the databases that the gold queries ask? Told before anything is scored, in one message.

A few golds that fail leave their records unscored, as ever. Where most of them ask for tables that are not there, or
every record names another database, the wrong file was given, and hours of zeros would say so less clearly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from sensecheck.correct.records import Record
from sensecheck.inputs.errors import escaped
from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.language.sql_parsing import parse_sql
from sensecheck.stores import ServerDatabases, SqlStore, StoreError

LOOKED_AT = 100
"""Gold queries whose tables are looked for."""
_NAMED = 5  # names that a message repeats


def check_names(store: SqlStore, records: Sequence[Record], missing: Mapping[str, str]) -> None:
    """Refuse records of which every one names a database that is not the one given, or not in the folder given."""
    names = list(dict.fromkeys(record.database for record in records if not record.fault and record.gold is not None))
    if not names:
        return
    on_server = isinstance(store, ServerDatabases)
    if store.single is not None:
        # `shop-2.sqlite` is one of a suite of databases for `shop`.
        if all(name and not store.single.lower().startswith(name.lower()) for name in names):
            other = "an address with {db_id} in the place of the name" if on_server else "the folder that holds them"
            raise StoreError(
                f"database {store.place}: the records name another one ({_listed(names)}). Give the "
                f"{'database' if on_server else 'file'} of that name, or {other}"
            )
    elif names == [""] and (on_server or len(store.names()) != 1):
        several, one = ("one per db_id", "name") if on_server else ("a folder", "file")
        raise StoreError(
            f"database {store.place}: {several}, but the records do not say which database in it they ask. Give its "
            f"{one}, or name the column that says it with --columns database=COLUMN (columns=)"
        )
    elif names != [""] and all(name in missing for name in names):
        form = (
            "an address in which {db_id} makes their names"
            if on_server
            else ("the folder that holds them as NAME/NAME.sqlite or NAME.sqlite")
        )
        raise StoreError(
            f"database {store.place}: none of the databases that the records name is there ({_listed(names)}); it "
            f"holds {_listed(store.names()) or 'none'}. Give {form}"
        )


def check_tables(store: SqlStore, records: Iterable[Record], files: Mapping[str, Sequence[str]]) -> None:
    """Refuse databases that lack the tables of most gold queries."""
    golds = {
        (files[record.database][0], record.gold): None
        for record in records
        if record.gold is not None and not record.fault and record.database in files
    }
    step = max(1, len(golds) // LOOKED_AT)
    tables: dict[str, set[str] | None] = {}
    absent: dict[str, None] = {}
    lacking: dict[str, None] = {}  # files
    looked_at = failing = 0
    for file, gold in list(golds)[::step][:LOOKED_AT]:
        if file not in tables:
            tables[file] = store.tables(file)
        there = tables[file]
        asked = guarded("reading the gold query", _tables_of, gold, store.dialect)
        if there is None or isinstance(asked, Fault) or not asked:
            continue
        looked_at += 1
        unknown = [name for name in asked if name.lower() not in there]
        if unknown:
            failing += 1
            absent |= dict.fromkeys(unknown)
            lacking[file] = None
    if 2 * failing <= looked_at:
        return
    first = next(iter(lacking))
    others = f" and {len(lacking) - 1:,} others" if len(lacking) > 1 else ""
    held = sorted(tables[first] or ())
    raise StoreError(
        f"database {first}{others}: {failing:,} of {looked_at:,} gold queries looked at ask for tables that are not "
        f"there ({_listed(list(absent))}); it has {_listed(held) if held else 'none'}. Give the database that they "
        "were written for"
    )


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names):,} in all)" if len(names) > _NAMED else ""
    return ", ".join(escaped(name[:60]) for name in names[:_NAMED]) + more


def _tables_of(gold: str, dialect: str) -> list[str]:
    """The tables that a query names, without those that it makes itself."""
    names: dict[str, None] = {}
    for statement in parse_sql(gold, dialect):
        if statement is None:
            continue
        made = {cte.alias.lower() for cte in statement.find_all(exp.CTE)}
        for table in statement.find_all(exp.Table):
            # A function in the place of a table, or a table of another schema, says nothing of this database.
            plain = isinstance(table.this, exp.Identifier) and not table.args.get("catalog")
            if plain and table.db.lower() in ("", "main", "public") and table.name.lower() not in made:
                names[table.name] = None
    return [
        name for name in names if not name.lower().startswith(("sqlite_", "pragma_", "json_", "information_schema"))
    ]


def check_locks(store: SqlStore, files: Iterable[str]) -> None:
    """Refuse a database that another program keeps for itself: every query on it would fail alike."""
    for file in files:
        store.refuse_locked(file)
