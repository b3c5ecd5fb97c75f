"""The table of the published results: data sets and polarities down, models across, "inequal/strictly inequal" in a
cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from sensecheck.report.result import Result
from sensecheck.report.tables import Table

_GENERATION = {"contradicting": "Contradictive generation", "entailed": "Entailed generation"}


def rate_string(inequal: float, strict: float) -> str:
    """Both rates as the published table prints them."""
    return f"{inequal}%/{strict}%"


def published(stored: Mapping[str, Any]) -> Table:
    """The published table from its data (`cells`, `models`)."""
    models = [m["model"] for m in stored["models"]]
    accuracies = {m["model"]: m.get("accuracy_mnli_percent") for m in stored["models"]}
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for cell in stored["cells"]:
        key = (cell["dataset"], _GENERATION.get(cell["generation"], cell["generation"]), cell["pair_class"])
        rows.setdefault(key, {})[cell["model"]] = rate_string(cell["inequal_percent"], cell["relaxed_inequal_percent"])
    heads = [f"{m} ({accuracies[m]}%)" if accuracies[m] is not None else m for m in models]
    table = Table("Inequality/relaxed inequality", ["data set", "statements", "pairs", *heads])
    table.rows = [[*key, *(found.get(m, "–") for m in models)] for key, found in rows.items()]
    return table


def model_table(results: Sequence[Result], data_set: str = "") -> Table:
    """Several models side by side, in the published form: per label and polarity, and overall without what is
    unsupported.
    """
    heads = []
    for result in results:
        accuracy = result["accuracy"].value
        told = f" ({100 * accuracy:.2f}%)" if isinstance(accuracy, float) and isfinite(accuracy) else ""
        heads.append(result.name + told)
    table = Table("Inequality/strict inequality of judged pairs", ["data set", "statements", "pairs", *heads])
    names = [f.name.removeprefix("inequal_") for f in results[0].figures if f.name.startswith("inequal_")]
    for name in names:
        polarity, label = name.split("_", 1)
        table.rows.append(
            [data_set, polarity, label, *(_cell(r, f"inequal_{name}", f"strictly_inequal_{name}") for r in results)]
        )
    table.rows.append([data_set, "all", "overall", *(_cell(r, "inequal", "strictly_inequal") for r in results)])
    return table


def _cell(result: Result, inequal: str, strict: str) -> str:
    values = [result[name].value for name in (inequal, strict)]
    if any(not isinstance(v, float) or not isfinite(v) for v in values):
        return "–"
    return rate_string(*(round(100 * float(v), 2) for v in values if isinstance(v, float)))
