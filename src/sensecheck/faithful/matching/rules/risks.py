"""What says nothing against a pair by itself, but goes with queries that are wrong more often than others."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.names import share_told
from sensecheck.faithful.matching.ruling import Finding, risk, rule


@rule("weighed")
def size(a: Alignment) -> Iterator[Finding]:
    """Every table beyond the first and every column given beyond the first is one more thing to get wrong."""
    outline = a.outline
    for use in outline.tables[1:5]:
        yield risk("table_joined", use.table.name)
    for item in outline.query.items[1:4]:
        yield risk("column_given", item.text)
    for query in outline.queries():
        if query.group:
            yield risk("rows_grouped", "GROUP BY", query.group[0].span)
        if query.having is not None:
            yield risk("groups_filtered", "HAVING", query.having.span)
        if query.op:
            yield risk("sets_combined", query.op, query.op_span)
    if outline.query.distinct:
        yield risk("rows_made_distinct", "DISTINCT", outline.query.distinct_span)
    for use in outline.tables:
        roles = {c.role for c in outline.columns if c.alias == use.alias and c.table is use.table}
        names = (use.table.natural, *use.table.described)
        ties = sum((side.alias, side.table) == (use.alias, use.table) for pair in outline.joins for side in pair[:2])
        if roles <= {"join"} and ties < 2 and not any(a.mention(name).score >= 0.5 for name in names):
            yield risk("table_unspoken", use.table.name)
    for _ in range(min(3, a.sentence.n // 14)):
        yield risk("question_long", f"{a.sentence.n} words")
    yield from _rows_multiplied(a)
    yield from _half_told(a)
    if any(part.kind == "case" or (part.kind == "call" and part.text == "IIF") for part, _ in outline.parts):
        yield risk("case_taken", "CASE")


def _rows_multiplied(a: Alignment) -> Iterator[Finding]:
    """Things counted or added up once for each row of a table that refers to them."""
    outline = a.outline
    for use in outline.selected:
        if use.aggregate not in ("COUNT", "SUM", "AVG") or outline.query.distinct:
            continue
        for (source, _), (target, _) in outline.schema.foreign_keys:
            if target == use.key[0] and source != target and source in outline.table_names:
                yield risk("rows_multiplied", f"{use.aggregate}({use.column.name})", use.span)
                return


def _half_told(a: Alignment) -> Iterator[Finding]:
    """Columns that are given and told in part only."""
    for fact in a.reading.of("column"):
        if fact.role in ("select", "aggregate") and fact.name.words and not a.is_hinted(fact):
            told = max(share_told(a.sentence, name, a.reading.entities) for name in fact.names)
            thing = name_of(" ".join(fact.name.words[:-1])) if fact.name.words[-1] in ("id", "name") else fact.name
            if told < 0.95 and not (thing.words and a.mention(thing).score >= 0.95):
                yield risk("column_half_told" if told >= 0.6 else "column_hardly_told", fact.text, fact.span)
