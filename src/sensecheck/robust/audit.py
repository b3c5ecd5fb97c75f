"""A sheet for people: a sample of judged statements to check by hand, and the rates after their corrections."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from sensecheck.inputs.errors import shown
from sensecheck.inputs.formulas import marked_csv
from sensecheck.inputs.tables import TableReader
from sensecheck.models.classifiers import LabelError, label_of
from sensecheck.report.result import Result
from sensecheck.robust.measure import LABELS, marks, wilson
from sensecheck.runs.writing import write_named
from sensecheck.statistics.measurements import concatenated

COLUMNS = (
    "row",
    "slot",
    "polarity",
    "label",
    "premise",
    "hypothesis",
    "statement",
    "made_by",
    "model_says",
    "broken",
    "grammatical",
    "polarity_right",
    "true_label",
    "remark",
)


_YES, _NO = ("yes", "y", "1", "true"), ("no", "n", "0", "false")


def judged_statements(result: Result) -> Iterator[dict[str, Any]]:
    """Every judged statement of a run with its texts; those that logic does not bind are left out."""
    if result.texts is None:
        return
    rows = result.measurements.select("id", "polarity", "label", "rule")
    for entry in rows.join(concatenated(result.texts), on="id", how="inner", maintain_order="left").iter_rows(
        named=True
    ):
        for slot, stage in enumerate(entry["stage"]):
            if stage == "judged" and entry["rule"] not in ("none", "unsupported"):
                said = entry["said"][slot]
                inequal, strict = marks(LABELS.index(entry["label"]), entry["polarity"], said)
                yield {
                    "row": entry["id"],
                    "slot": slot,
                    "polarity": entry["polarity"],
                    "label": entry["label"],
                    "premise": entry["premise"],
                    "hypothesis": entry["hypothesis"],
                    "statement": entry["statement"][slot],
                    "made_by": (entry.get("made_by") or {})[slot] if entry.get("made_by") else "",
                    "model_says": LABELS[said],
                    "broken": "inequal" if inequal else "strictly" if strict else "no",
                    "rule": entry["rule"],
                }


def write_sheet(result: Result, path: str | os.PathLike[str], n: int = 100, seed: int = 12345) -> int:
    """Write a CSV of up to n judged statements, half of them broken where there are enough; returns how many.

    The empty columns are for the reader: grammatical (yes/no), polarity_right (yes/no), true_label of (premise,
    statement), remark.
    """
    judged = list(judged_statements(result))
    rng = np.random.default_rng(seed)
    broken = [r for r in judged if r["broken"] != "no"]
    kept = [r for r in judged if r["broken"] == "no"]
    take = min(len(broken), max(n // 2, n - len(kept)))
    chosen = [broken[int(i)] for i in rng.choice(len(broken), take, replace=False)] if take else []
    rest = min(len(kept), n - len(chosen))
    chosen += [kept[int(i)] for i in rng.choice(len(kept), rest, replace=False)] if rest else []
    order = rng.permutation(len(chosen))
    frame = pl.DataFrame(
        [{c: chosen[int(i)].get(c, "") for c in COLUMNS} for i in order],
        schema=dict.fromkeys(COLUMNS, pl.String),
        strict=False,
    )
    write_named(path, marked_csv(frame))
    return len(chosen)


def read_back(result: Result, path: str | os.PathLike[str]) -> dict[str, Any]:
    """The rates after the reader's corrections.

    A statement marked as not of its polarity (or not grammatical) is no fair test and is taken out; where true_label
    is filled in, the model is judged against it instead of the rule's label. Rates are of the checked statements only,
    by stratum (broken or not), weighted back to the run.
    """
    all_rows = list(judged_statements(result))
    strata = {True: sum(r["broken"] != "no" for r in all_rows), False: sum(r["broken"] == "no" for r in all_rows)}
    known = {(r["row"], str(r["slot"])): r for r in all_rows}
    seen: set[tuple[str, int]] = set()
    counts = {True: [0, 0, 0], False: [0, 0, 0]}  # checked, fair, broken after correction
    of_rules: dict[str, list[int]] = {}  # checked, fair
    for batch in TableReader(path, marked=True):
        batch.require(["row", "slot"])
        for i, sheet in enumerate(batch.frame.iter_rows(named=True)):
            row = known.get((str(sheet["row"]), str(sheet["slot"])))
            if row is None:
                raise batch.error(i, field="row", expected="a judged statement of this run", got=shown(sheet["row"]))
            answers = {
                name: str(sheet.get(name) or "").strip().lower()
                for name in ("grammatical", "polarity_right", "true_label")
            }
            if not any(answers.values()):
                continue
            for name in ("grammatical", "polarity_right"):
                if answers[name] and answers[name] not in (*_YES, *_NO):
                    raise batch.error(i, field=name, expected="yes or no", got=shown(sheet[name]))
            if (row["row"], row["slot"]) in seen:
                raise batch.error(i, field="row", expected="each statement once", got=shown(sheet["row"]))
            seen.add((row["row"], row["slot"]))
            was_broken = row["broken"] != "no"
            counts[was_broken][0] += 1
            of_rule = of_rules.setdefault(row["made_by"] or "unknown", [0, 0])
            of_rule[0] += 1
            if answers["grammatical"] in _NO or answers["polarity_right"] in _NO:
                continue
            counts[was_broken][1] += 1
            of_rule[1] += 1
            broken = was_broken
            if answers["true_label"]:
                try:
                    true = label_of(answers["true_label"])
                except LabelError:
                    true = None
                if true is None:
                    raise batch.error(i, field="true_label", expected=", ".join(LABELS), got=shown(sheet["true_label"]))
                broken = LABELS[true] != row["model_says"]
            counts[was_broken][2] += broken
    fair = broken_weight = 0.0
    for stratum, (checked, good, bad) in counts.items():
        if checked:
            scale = strata[stratum] / checked
            fair += good * scale
            broken_weight += bad * scale
    checked = counts[True][0] + counts[False][0]
    return {
        "checked": checked,
        "valid": (counts[True][1] + counts[False][1]) / checked if checked else None,
        "sound_by_rule": {
            rule: {"checked": n, "sound": fair, "interval": wilson(fair, n)} for rule, (n, fair) in of_rules.items()
        },
        "violation_before": strata[True] / len(all_rows) if all_rows else None,
        "violation_after": broken_weight / fair if fair else None,
    }
