"""The rule, or the prompt, that made each statement, and what the model did with the statements of each.

A pooled rate is carried by the rules that make most statements. The mean over rules (macro) gives each the same weight.
Both have intervals over whole pairs: Wilson's, with as many statements as would vary as much were they independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import polars as pl

from sensecheck.models.generators import Generator, Request
from sensecheck.report.result import Result
from sensecheck.report.tables import Table
from sensecheck.robust.measure import wilson
from sensecheck.statistics.measurements import Measurements

SHOWN_RULES = 25
"""Rules that a table shows, those with the most judged statements first; all are in summary.json."""
_ROWS = ["cluster", "label", "polarity", "rule"]
_TEXTS = ["statement", "said", "stage", "made_by"]
_SUMS = ("shown", "confirmed", "judged", "off")


def makers(generator: Generator, request: Request) -> Mapping[str, str]:
    """statement → what made it, as far as the generator tells."""
    tells = getattr(generator, "rules", None)
    return tells(request) if callable(tells) else {}


def maker_of_all(generator: Generator, request: Request) -> str:
    """What made a statement whose generator names no rules: a prompt and a way of decoding, or somebody's function."""
    if getattr(generator, "decodes", False):
        return f"prompt, {request.mode}"
    if getattr(generator, "at_hand", False):
        return ""
    return "prompt" if getattr(generator, "samples", False) else generator.identity.model


# -- counting ------------------------------------------------------------------------------------------------------


@dataclass
class Share:
    """A share of statements with its interval."""

    n: int
    value: float | None
    low: float | None
    high: float | None


def share(successes: float, n: float, variance: float, pairs: int) -> Share:
    """n = 0: none. With all or none of them the data tell nothing of how they hang together within a pair: each pair
    then counts as one.
    """
    if not n:
        return Share(0, None, None, None)
    rate = successes / n
    effective = float(pairs)
    if 0 < rate < 1:
        effective = min(max(rate * (1 - rate) / variance, 1.0), float(n)) if isfinite(variance) and variance else 1.0
    low, high = wilson(rate * effective, effective)
    return Share(int(n), rate, low, high)


def _statements(rows: Measurements, texts: Measurements) -> Iterator[pl.DataFrame]:
    """A row for each statement shown: its rule and pair, and 0 or 1 for confirmed, judged and off its label."""
    for of_rows, of_texts in zip(rows.batches(_ROWS), texts.batches(_TEXTS), strict=True):
        frame = pl.concat([of_rows, of_texts], how="horizontal").explode("statement", "said", "stage", "made_by")
        expected = pl.when(pl.col("polarity") == "positive").then(pl.col("label")).otherwise(pl.lit("contradiction"))
        said = pl.col("said").replace_strict({0: "entailment", 1: "neutral", 2: "contradiction"}, default=None)
        judged = (pl.col("stage") == "judged") & ~pl.col("rule").is_in(["none", "unsupported"])
        yield frame.filter(pl.col("statement").is_not_null()).select(
            pl.col("made_by").fill_null(""),
            "polarity",
            "cluster",
            pl.lit(1).alias("shown"),
            pl.col("stage").is_in(["judged", "accepted"]).cast(pl.Int64).alias("confirmed"),
            judged.cast(pl.Int64).alias("judged"),
            (judged & (said != expected)).cast(pl.Int64).alias("off"),
        )


def _of_pairs(rows: Measurements, texts: Measurements) -> Iterator[pl.DataFrame]:
    for frame in _statements(rows, texts):
        yield frame.group_by("made_by", "cluster", maintain_order=True).agg(
            pl.col("polarity").first(), *(pl.col(name).sum() for name in _SUMS)
        )


def _square(a: str, b: str) -> pl.Expr:
    return (pl.col(a) * pl.col(b)).sum().alias(f"{a}·{b}")


_MOMENTS = (
    *(pl.col(name).sum() for name in _SUMS),
    *(_square(a, b) for a, b in (("confirmed", "confirmed"), ("confirmed", "shown"), ("shown", "shown"))),
    *(_square(a, b) for a, b in (("off", "off"), ("off", "judged"), ("judged", "judged"))),
    pl.len().alias("pairs"),
    (pl.col("judged") > 0).sum().alias("pairs judged"),
)


def _variance(row: Mapping[str, Any], part: str, whole: str, pairs: int) -> float:
    """Of the ratio Σ part / Σ whole over pairs, to the first order."""
    n = row[whole]
    if pairs < 2 or not n:
        return float("nan")
    rate = row[part] / n
    squares = row[f"{part}·{part}"] - 2 * rate * row[f"{part}·{whole}"] + rate**2 * row[f"{whole}·{whole}"]
    return float(max(squares, 0.0) / n**2 * pairs / (pairs - 1))


def by_rule(rows: Measurements, texts: Measurements) -> dict[str, Any]:
    """The rates of every rule, and their mean; nothing where a run does not know its rules. `texts` are the `examples`
    of the same trials, batch for batch.
    """
    if "made_by" not in texts.schema:
        return {}  # a run from before statements carried their rule
    parts = [frame.group_by("made_by", maintain_order=True).agg(pl.col("polarity").first(), *_MOMENTS)
             for frame in _of_pairs(rows, texts)]  # fmt: skip
    if not parts:
        return {}
    sums = (
        pl.concat(parts)
        .group_by("made_by", maintain_order=True)
        .agg(pl.col("polarity").first(), pl.exclude("made_by", "polarity").sum())
        .sort("judged", "shown", "made_by", descending=[True, True, False])
    )
    if sums.is_empty() or sums["made_by"].to_list() == [""]:
        return {}
    lines = []
    for row in sums.iter_rows(named=True):
        confirmed = share(
            row["confirmed"], row["shown"], _variance(row, "confirmed", "shown", row["pairs"]), row["pairs"]
        )
        broken = share(
            row["off"], row["judged"], _variance(row, "off", "judged", row["pairs judged"]), row["pairs judged"]
        )
        lines.append(
            {"rule": row["made_by"] or "unknown", "polarity": row["polarity"],
             "confirmed": vars(confirmed), "violation": vars(broken)}
        )  # fmt: skip
    return {
        "rules": lines,
        "macro": vars(_macro(sums, rows, texts)),
        "macro_of": int((sums["judged"] > 0).sum()),
        "pooled": vars(_pooled(rows, texts)),
    }


def _macro(sums: pl.DataFrame, rows: Measurements, texts: Measurements) -> Share:
    """The mean of the rules' violation rates, each with the same weight; of rules with a judged statement."""
    known = sums.filter(pl.col("judged") > 0).select(
        "made_by", (pl.col("off") / pl.col("judged")).alias("rate"), pl.col("judged").alias("of")
    )
    if known.is_empty():
        return Share(0, None, None, None)
    rules, mean = len(known), float(known["rate"].mean() or 0.0)  # type: ignore[arg-type]
    squares, pairs = 0.0, 0
    for frame in _of_pairs(rows, texts):
        pull = (pl.col("off") - pl.col("rate") * pl.col("judged")) / pl.col("of") / rules
        of_judged = frame.filter(pl.col("judged") > 0).join(known, on="made_by", maintain_order="left")
        of_pairs = of_judged.group_by("cluster", maintain_order=True).agg(pull.sum())
        column = of_pairs[of_pairs.columns[1]]
        squares += float((column * column).sum())
        pairs += len(of_pairs)
    variance = squares * pairs / (pairs - 1) if pairs > 1 else float("nan")
    judged = int(known["of"].sum())
    found = share(mean * judged, judged, variance, pairs)
    return Share(found.n, mean, found.low, found.high)


def _pooled(rows: Measurements, texts: Measurements) -> Share:
    """All judged statements, with an interval made as those of the rules are."""
    by_pair = [
        frame.group_by("cluster", maintain_order=True).agg(pl.col(name).sum() for name in _SUMS)
        for frame in _of_pairs(rows, texts)
    ]
    row = pl.concat(by_pair).select(_MOMENTS).row(0, named=True)
    pairs = row["pairs judged"]
    return share(row["off"], row["judged"], _variance(row, "off", "judged", pairs), pairs)


# -- showing -------------------------------------------------------------------------------------------------------


def rule_tables(result: Result) -> list[Table]:
    """What the model did with the statements of each rule, and the mean over rules beside the pooled rate."""
    found = result.extra.get("by_rule") or {}
    lines = found.get("rules", [])
    if not lines:
        return []
    columns = ["made by", "statements", "confirmed", "interval", "judged", "violations", "interval"]
    table = Table("By the rule that made the statement", columns, left=2)
    for line in lines[:SHOWN_RULES]:
        confirmed, broken = line["confirmed"], line["violation"]
        table.rows.append([line["rule"], line["polarity"], *_cells(confirmed), f"{broken['n']:,}", *_cells(broken)])
    macro = found["macro"]
    if macro["value"] is not None:
        table.rows.append([f"mean over {found['macro_of']:,} rules", "", "", "", f"{macro['n']:,}", *_cells(macro)])
    table.rows += [["all statements", "", "", "", f"{pooled['n']:,}", *_cells(pooled)] for pooled in [found["pooled"]]]
    table.notes.append(
        "confirmed: the model says of h and the statement what the rule means; violations: of judged statements."
    )
    if len(lines) > SHOWN_RULES:
        table.notes.append(f"{len(lines) - SHOWN_RULES:,} more rules with fewer judged statements are in summary.json.")
    return [table]


def _cells(of: Mapping[str, Any]) -> list[str]:
    if of["value"] is None:
        return ["–", "–"]
    return [f"{of['value']:.4f}", f"[{of['low']:.4f}, {of['high']:.4f}]"]
