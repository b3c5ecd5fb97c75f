"""The figures of runs whose agreements were searched for databases that prove them different."""

from __future__ import annotations

from sensecheck.statistics.statistic import AnyStatistic, Explanation, mean_of

CLASSES: dict[str, tuple[str, str]] = {
    "different rows": ("proven_rows", "other rows"),
    "other columns": ("proven_columns", "another number of columns"),
    "repeated rows": ("proven_repeats", "the same rows, but not as often"),
    "order": ("proven_order", "the same rows in another order"),
}
"""Classes of differences → the column and figure of each, and what it is in words."""

MARKS: dict[str, tuple[tuple[str, ...], str]] = {
    "proven_absent": (("constant absent", "predicate absent", "value absent"), "a value that the data lack"),
    "proven_childless": (("a row of ",), "a parent without children"),
    "proven_shared": (("two rows with one ",), "rows that share a value"),
}
"""Columns and figures of finds that hold something which the data do not → how their marks begin, and what it is."""


def proven_figures(undecided: str = "") -> list[AnyStatistic]:
    """Of runs whose agreements were searched. `undecided`: the column that says why a pair has no verdict."""
    not_searched = {"absent_column": "not_searched"}
    made: list[AnyStatistic] = [
        mean_of("correct_proven", "accuracy_proven", title="accuracy, proven differences out", direction="higher",
            absent_column=undecided, explanation=Explanation(
                "share of questions that are right and that no small database was found to prove different",
                "accuracy, where an answer that is the same by chance counts as wrong: a small database that could "
                "well occur shows that prediction and gold are different queries.",
                "How long is searched (--prove-databases); golds that are wrong: a separation does not say which of "
                "the two queries is at fault.", "")),
        mean_of("proven_different", title="agreements proven different", explanation=Explanation(
            "share of agreements for which a database was found on which prediction and gold differ",
            "Each has a database with a few rows that shows it. The others are not proven equal.",
            "How long is searched (--prove-databases).", ""), **not_searched),
        mean_of("proven_hard", title="agreements proven different, not by repeats alone", explanation=Explanation(
            "share of agreements for which a database was found on which more than the number of equal rows differs",
            "As proven_different, without those whose rows are the same but for how often they come.",
            "How long is searched (--prove-databases).", ""), **not_searched),
    ]  # fmt: skip
    for name, (_, words) in MARKS.items():
        made.append(mean_of(name, title=f"agreements proven different, by {words}", explanation=Explanation(
            f"share of agreements that a database proves different which holds {words}, as the data never do",
            "A part of proven_different, whichever its class: what the data never show is where a reader may want to "
            "look. A database may hold several such things.",
            "How much the data show; golds whose constants they lack.", ""), **not_searched))  # fmt: skip
    for difference, (name, words) in CLASSES.items():
        made.append(mean_of(name, title=f"agreements proven different: {words}", explanation=Explanation(
            f"share of agreements that a database proves different by {words}",
            f"The class {difference!r} of proven_different; the classes add up to it.",
            "How long is searched (--prove-databases).", ""), **not_searched))  # fmt: skip
    return made
