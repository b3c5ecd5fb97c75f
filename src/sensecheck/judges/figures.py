"""The verdicts of rules and judge together: columns of measurements, and the figure made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from sensecheck.judges.opinion import Opinion
from sensecheck.runs.signature import Method
from sensecheck.statistics.figure import Figure
from sensecheck.statistics.statistic import Explanation, Statistic, mean_of

if TYPE_CHECKING:
    from sensecheck.report.question import Question
    from sensecheck.report.result import Result
    from sensecheck.statistics.compare import Difference

JUDGED, BY, WHY_NOT, SURE, SAID = "judged", "judged_by", "not_judged", "judge_right", "judge_said"
"""The verdict of rules and judge together; whose it is; why there is none; how likely the judge thinks it right; and,
among the texts, what it said."""
RULES, JUDGE = "rules", "judge"
SUFFIX = "_judged"
UNCHECKED = ", unchecked"
"""What the title of a judge's figure ends in until labels of people were held against it."""

JUDGE_UNCHECKED = "the judge is unchecked"
"""How the note begins that says so."""

AnyQuestion = TypeVar("AnyQuestion", bound="Question")
Titled = TypeVar("Titled", "Figure", "Difference")


def columns(rules: Sequence[bool | None], opinions: Sequence[Opinion | str | None]) -> tuple[pl.DataFrame, pl.Series]:
    """What measurements keep of a batch, and what texts keep.

    opinions: of each row what the judge made of it; None where it was not asked; a text where it could not be asked.
    """
    rows = [_row(verdict, opinion) for verdict, opinion in zip(rules, opinions, strict=True)]
    schema = {JUDGED: pl.Boolean, BY: pl.String, WHY_NOT: pl.String, SURE: pl.Float64}
    said = [one.reason or None if isinstance(one, Opinion) else None for one in opinions]
    return pl.DataFrame(rows, schema=schema, orient="row"), pl.Series(SAID, said, dtype=pl.String)


def _row(rules: bool | None, opinion: Opinion | str | None) -> tuple[bool | None, str | None, str | None, float | None]:
    if opinion is None:
        return rules, None if rules is None else RULES, None if rules is not None else "the rules gave no verdict", None
    if isinstance(opinion, str):
        return None, None, opinion, None
    return opinion.right, None if opinion.right is None else JUDGE, opinion.why_not or None, opinion.share


def figure(method: Method, of: Statistic) -> Statistic:
    """The share of right rows by rules and judge; `of`: that by rules alone."""
    alone = str(method.get("judge-when", "")) == "always"
    who = "by the judge" if alone else "by rules and judge"
    unchecked = "" if "human" in method else UNCHECKED
    return mean_of(
        JUDGED, f"{of.name}{SUFFIX}", title=f"{of.label}, {who}{unchecked}", direction="higher", absent_column=WHY_NOT,
        explanation=Explanation(
            "rows that the judge calls right, or where it is not asked the rules / rows with such a verdict",
            "The share of right rows as a language model sees them. Until labels of people are held against it "
            "(--human, sensecheck agree) nobody knows how far it can be believed: its title says unchecked.",
            "The model, its prompt and settings, when it is asked; answers that cannot be read are unscored.",
        ),
    )  # fmt: skip


def under(question: AnyQuestion, method: Method) -> AnyQuestion:
    """A question under a signature's choices: where a judge was asked, its verdict is what becomes of a row."""
    if not method.get("judge"):
        return question
    return replace(
        question, outcome=JUDGED, outcome_words=("judged wrong", "judged right"),
        headline=(f"{question.headline[0]}{SUFFIX}", *question.headline),
    )  # fmt: skip


def checked(titled: Sequence[Titled]) -> list[Titled]:
    """Figures, or differences of figures, with those of a judge no longer marked as unchecked."""
    return [replace(f, title=f.title.removesuffix(UNCHECKED)) if f.title.endswith(UNCHECKED) else f for f in titled]


def counts(result: Result, outcome: str) -> dict[str, int]:
    """Whose verdicts there are, and where the judge says otherwise than the rules. `outcome`: the rules' verdict."""
    found = dict.fromkeys(
        ("rules", "judge", "said right, rules wrong", "said wrong, rules right", "said, rules none", "none"), 0
    )
    for batch in result.rows.batches([c for c in ("scored", outcome, JUDGED, BY) if c in result.rows.schema]):
        rows = batch.filter(pl.col("scored"))
        if outcome not in rows.columns:
            rows = rows.with_columns(pl.lit(None, dtype=pl.Boolean).alias(outcome))
        asked = rows.filter(pl.col(BY) == JUDGE)
        found["rules"] += int((rows[BY] == RULES).sum())
        found["judge"] += len(asked)
        found["said right, rules wrong"] += int((asked[JUDGED] & ~asked[outcome]).sum())
        found["said wrong, rules right"] += int((~asked[JUDGED] & asked[outcome]).sum())
        found["said, rules none"] += asked[outcome].null_count()
        found["none"] += rows[JUDGED].null_count()
    return found


def told(found: Mapping[str, int], model: str) -> Iterator[str]:
    """The same in words."""
    overruled = f"it calls {found['said right, rules wrong']:,} right that the rules call wrong, and "
    overruled += f"{found['said wrong, rules right']:,} wrong that they call right"
    if found["said, rules none"]:
        overruled += f"; the rules have no verdict on {found['said, rules none']:,} of them"
    of_rules = f", {found['rules']:,} are the rules'" if found["rules"] else ""
    yield f"judge {model}: {found['judge']:,} verdicts are its own{of_rules}; {overruled}"
    if found["none"]:
        yield f"judge: {found['none']:,} rows have no verdict; the reasons are in the column {WHY_NOT}"


def sentences(result: Result) -> Iterator[str]:
    """What a reader should take away."""
    for one in result.figures:
        if one.name.endswith(SUFFIX) and isinstance(one.value, float) and one.value == one.value:
            checked_by = "no labels of people say how far that can be believed" if one.title.endswith(UNCHECKED) else ""
            yield f"With the judge it is {one.value:.1%} of {one.n:,}{'; ' if checked_by else ''}{checked_by}."


def part(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a page shows of the judge beside an example."""
    if row.get(BY) is None and row.get(WHY_NOT) is None:
        return []
    if row.get(BY) == RULES:
        return [{"label": "judge", "spans": [["not asked: the rules are sure", "muted"]]}]
    said = str(row.get(SAID) or "")
    verdict = row.get(JUDGED)
    if verdict is None:
        word, kind = f"no verdict ({row.get(WHY_NOT)})", "muted"
    else:
        word, kind = ("right", "good") if verdict else ("wrong", "bad")
    return [{"label": "judge", "spans": [[word, kind], [f": {said}" if said else "", ""]]}]
