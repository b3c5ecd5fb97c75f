"""What a judge is shown of each pair, and of which pairs the rules are in doubt."""

from __future__ import annotations

from collections.abc import Sequence

from sensecheck.faithful.facts import UnreadableQueryError
from sensecheck.faithful.measure import Checker
from sensecheck.faithful.records import Pairs
from sensecheck.faithful.schema import Schema
from sensecheck.judges.judge import Texts, fitting_schema
from sensecheck.judges.template import Asks

QUERY, SENTENCE = "query", "sentence"
ASKS = {
    QUERY: Asks(
        QUERY, __package__, "query.txt", ("schema", "evidence", "question", "query"), (("question",), ("query",))
    ),
    SENTENCE: Asks(
        SENTENCE, __package__, "sentence.txt", ("schema", "query", "evidence", "sentence"), (("query",), ("sentence",))
    ),
}
"""Is this query right for the question; does the sentence say what the query says."""
DOUBT = (0.2, 0.8)
"""Between these the rules are in doubt."""


def cases(
    checker: Checker,
    pairs: Pairs,
    queries: Sequence[str | None],
    scored: Sequence[bool],
    doubts: Sequence[float | None],
    asks: str,
    within: tuple[float, float] | None,
) -> list[Texts | None]:
    """What is asked about each pair; None where nothing is: the rules could not score it, or are sure of it.

    queries: what was judged, taken out of what a model wrote. within: the doubt of the pairs that are asked about;
    None: all.
    """
    schemas: dict[str | None, str] = {}
    found: list[Texts | None] = []
    for row, (query, sentence) in enumerate(zip(queries, pairs.sentences, strict=True)):
        doubt = doubts[row]
        sure = within is not None and doubt is not None and not within[0] <= doubt <= within[1]
        if query is None or sentence is None or not scored[row] or sure:
            found.append(None)
            continue
        name = pairs.db_ids[row] if pairs.db_ids is not None else None
        if name not in schemas:
            schemas[name] = _schema_of(checker, name)
        hint = (pairs.evidence[row] if pairs.evidence is not None else None) or ""
        said = "question" if asks == QUERY else "sentence"
        schema = fitting_schema(schemas[name], query)
        found.append({"query": query, said: sentence, "evidence": hint, "schema": schema})
    return found


def _schema_of(checker: Checker, db_id: str | None) -> str:
    try:
        schema = checker.context(db_id).schema
    except UnreadableQueryError:
        return ""
    return "" if schema is None else schema_text(schema)


def schema_text(schema: Schema) -> str:
    """A table a line, its columns with their types, and what is known of them.

    >>> from sensecheck.faithful.schema import from_create_table
    >>> print(schema_text(from_create_table("CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT -- full name\\n)")))
    a(id number primary key, n text -- full name)
    """
    lines = []
    for table in schema.tables.values():
        columns = []
        for column in table.columns.values():
            words = [column.name, column.type] if column.type else [column.name]
            words += ["primary key"] if table.primary_key == (column.name.lower(),) else []
            told = [name.text for name in column.described]
            told += [f"'{value}' is {meaning}" for value, meaning in column.value_words.items()]
            columns.append(" ".join(words) + (f" -- {'; '.join(told)}" if told else ""))
        lines.append(f"{table.name}({', '.join(columns)})")
    lines += [f"{a}.{b} refers to {c}.{d}" for (a, b), (c, d) in sorted(schema.foreign_keys)]
    return "\n".join(lines)
