"""The figures of Spider's partial matching: for each clause, precision and recall."""

from __future__ import annotations

from sensecheck.correct.spider_exact import PARTS
from sensecheck.correct.spider_parts import NOT_READ, part_columns
from sensecheck.statistics.statistic import AnyStatistic, Explanation, Statistic, ratio

SPIDER = "Yu et al. 2018, Spider: A Large-Scale Human-Labeled Dataset for Text-to-SQL, EMNLP"
_SAID = {
    "select": ("SELECT", "the same columns with the same aggregates"),
    "select_no_aggregate": ("SELECT, no aggregates", "the same columns, whatever aggregates they stand under"),
    "where": ("WHERE", "the same conditions but for values"),
    "where_no_operator": ("WHERE, no operators", "conditions on the same columns"),
    "group_no_having": ("GROUP BY, no HAVING", "columns of the same names"),
    "group": ("GROUP BY", "the same columns in the same order, and the same HAVING but for values"),
    "order": ("ORDER BY", "the same sort keys and direction, and a LIMIT in both or in neither"),
    "and_or": ("AND, OR", "the same connectives in WHERE; queries that have none agree, and count"),
    "iuen": ("INTERSECT, UNION, EXCEPT", "the same set operation with a query that matches exactly"),
    "keywords": ("keywords", "the same set of keywords"),
}
assert tuple(_SAID) == PARTS


def part_figures() -> list[AnyStatistic]:
    figures: list[AnyStatistic] = []
    for part, (title, same) in _SAID.items():
        predicted, gold, both = part_columns(part)
        for name, whole, of in (("precision", predicted, "predictions"), ("recall", gold, "gold queries")):
            figures.append(
                Statistic(
                    f"part_{part}_{name}", (both, whole), ratio, f"{title}: {name}", "higher",
                    absent_column=NOT_READ, out_of=of,
                    explanation=Explanation(
                        f"of the {of} that have this clause, the share where it is right as a whole",
                        f"As Spider's partial matching: {same}. A prediction that it cannot read has no clause.",
                        "Aliases without AS, names after AS in SELECT, LEFT JOIN and lists after IN, which are not "
                        "read.", SPIDER))
            )  # fmt: skip
    return figures
