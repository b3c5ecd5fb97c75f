"""What a run's calls cost: counted by its endpoints, told with its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sensecheck.models import classifiers, generators

Cost = dict[str, dict[str, Any]]
"""model or generator → `this run` and `in all` (with earlier runs whose answers lie in the same file) → counts"""
NOW, EVER = "this run", "in all"
OF_PARTS = "parts"
"""Of a run that was merged: how many parts asked, whose counts are summed."""


def costs(**systems: classifiers.Asked | generators.Asked) -> Cost:
    """What was spent on those that are asked at a URL, by their names."""
    found: Cost = {}
    for name, asked in systems.items():
        ever = asked.spending.counts()
        if asked.spending.now is not None and ever is not None:
            now = {"asked": asked.asked, "kept": asked.kept, **asked.spending.now.counts()}
            found[name] = {NOW: now, EVER: ever}
    return found


def with_parts(cost: Cost, parts: Sequence[Mapping[str, Any]]) -> Cost:
    """The cost of a merged run: what merging asked, which is mostly nothing, with what its parts asked. What it found
    kept was theirs, and is not counted; what was spent in all stands with the answers, which were put together.
    """
    summed: Cost = {}
    for name, own in cost.items():
        counts = [found[name][NOW] for found in parts if _is_counted(found.get(name))]
        now = {what: sum(one.get(what, 0) for one in [own[NOW], *counts]) for what in own[NOW]}
        now["kept"] -= own[NOW]["kept"]
        summed[name] = {**own, NOW: now, OF_PARTS: len(parts)} if counts else own
    return summed


def _is_counted(spent: Any) -> bool:
    """Whether this is what `costs` gives of a system: anybody may have written the file that it comes from."""
    now = spent.get(NOW) if isinstance(spent, Mapping) else None
    return isinstance(now, Mapping) and all(type(count) is int and count >= 0 for count in now.values())


def cost_told(cost: Cost) -> Iterator[str]:
    """One line for each that was asked."""
    for name, spent in cost.items():
        now, ever = spent[NOW], spent[EVER]
        of_parts = f", over {spent[OF_PARTS]:,} parts" if OF_PARTS in spent else ""
        line = f"cost of the {name}{of_parts}: {now['asked']:,} asked, {now['kept']:,} kept from before; {_counts(now)}"
        yield line if now["requests"] == ever["requests"] else f"{line}; in all {_counts(ever)}"


def _counts(counts: Mapping[str, int]) -> str:
    tokens = f"{counts['tokens_in']:,} tokens in, {counts['tokens_out']:,} out"
    if counts["answers_without_token_counts"]:
        tokens += f" ({counts['answers_without_token_counts']:,} answers told no count)"
    tries = f" ({counts['failed_tries']:,} failed)" if counts["failed_tries"] else ""
    return f"{counts['requests']:,} calls{tries}, {tokens}"
