"""What a run's calls cost: counted by its endpoints, told with its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sensecheck.models import classifiers, generators

Cost = dict[str, dict[str, dict[str, int]]]
"""model or generator → `this run` and `in all` (with earlier runs whose answers lie in the same file) → counts"""
NOW, EVER = "this run", "in all"


def costs(**systems: classifiers.Asked | generators.Asked) -> Cost:
    """What was spent on those that are asked at a URL, by their names."""
    found: Cost = {}
    for name, asked in systems.items():
        ever = asked.spending.counts()
        if asked.spending.now is not None and ever is not None:
            now = {"asked": asked.asked, "kept": asked.kept, **asked.spending.now.counts()}
            found[name] = {NOW: now, EVER: ever}
    return found


def cost_told(cost: Cost) -> Iterator[str]:
    """One line for each that was asked."""
    for name, spent in cost.items():
        now, ever = spent[NOW], spent[EVER]
        line = f"cost of the {name}: {now['asked']:,} asked, {now['kept']:,} kept from before; {_counts(now)}"
        yield line if now["requests"] == ever["requests"] else f"{line}; in all {_counts(ever)}"


def _counts(counts: Mapping[str, int]) -> str:
    tokens = f"{counts['tokens_in']:,} tokens in, {counts['tokens_out']:,} out"
    if counts["answers_without_token_counts"]:
        tokens += f" ({counts['answers_without_token_counts']:,} answers told no count)"
    tries = f" ({counts['failed_tries']:,} failed)" if counts["failed_tries"] else ""
    return f"{counts['requests']:,} calls{tries}, {tokens}"
