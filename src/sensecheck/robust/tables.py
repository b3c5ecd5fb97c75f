"""The table of the published results: data sets and polarities down, models across, "inequal/strictly inequal" in a
cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
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
    table = Table("Inequality/relaxed inequality", ["data set", "statements", "pairs", *heads], left=3)
    table.rows = [[*key, *(cells.get(m, "–") for m in models)] for key, cells in rows.items()]
    return table


def model_table(results: Sequence[Result], data_set: str = "") -> Table:
    """Several models side by side, in the published form: per label and polarity, and overall without what is
    unsupported. Runs in parity with the original keep its classes and its overall figure a polarity.
    """
    parity = {result.signature.method.get("as", "") for result in results}
    if len(parity) > 1:
        ways = ", ".join(sorted(f"--as {name}" if name else "without --as" for name in parity))
        raise InputError(
            f"these runs were not measured the same way ({ways}) and cannot share a table", reason=Reason.MIXED_RUNS
        )
    original = parity != {""}
    strict = "relaxed_inequal_" if original else "strictly_inequal_"
    heads = [result.name + _accuracy(result) for result in results]
    word = "relaxed inequality" if original else "strict inequality"
    table = Table(f"Inequality/{word} of judged pairs", ["data set", "statements", "pairs", *heads], left=3)
    # Classes that one model lacks are classes all the same: the names of every run, in the order they come.
    names = list(
        dict.fromkeys(f.name.removeprefix("inequal_") for r in results for f in r.figures if f.name[:8] == "inequal_")
    )
    names.sort(key=lambda name: (name.split("_", 1)[0], name.endswith("_overall")))
    for name in names:
        polarity, label = name.split("_", 1)
        table.rows.append([data_set, polarity, label, *(_cell(r, f"inequal_{name}", strict + name) for r in results)])
    if not original:
        table.rows.append([data_set, "all", "overall", *(_cell(r, "inequal", "strictly_inequal") for r in results)])
    return table


def _accuracy(result: Result) -> str:
    try:
        accuracy = result["accuracy"].value
    except KeyError:  # the original measures it by another command
        return ""
    return f" ({100 * accuracy:.2f}%)" if isinstance(accuracy, float) and isfinite(accuracy) else ""


def _cell(result: Result, inequal: str, strict: str) -> str:
    scale = 1 if "as" in result.signature.method else 100  # the original's figures are percentages already
    try:
        values = [result[name].value for name in (inequal, strict)]
    except KeyError:
        return "–"
    if any(not isinstance(v, float) or not isfinite(v) for v in values):
        return "–"
    return rate_string(*(round(scale * float(v), 2) for v in values if isinstance(v, float)))
