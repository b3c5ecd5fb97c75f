"""The examples in the docstrings of the lower rooms do what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import sensecheck.inputs
import sensecheck.statistics

MODULES = [
    name
    for room in (sensecheck.statistics, sensecheck.inputs)
    for _, name, _ in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")
]
# What a newcomer calls first has an example; a module that loses all of its examples would pass unseen otherwise.
SHOWN = {
    "sensecheck.inputs.addresses": ["kind_of"],
    "sensecheck.inputs.delimited": ["comma_separated"],
    "sensecheck.inputs.errors": ["InputError", "did_you_mean", "escaped", "shown"],
    "sensecheck.inputs.formulas": ["marked", "unmarked"],
    "sensecheck.inputs.fingerprints": ["of_value"],
    "sensecheck.inputs.guarding": ["guarded"],
    "sensecheck.inputs.half_characters": ["whole"],
    "sensecheck.inputs.json_arrays": ["array_pieces", "loads", "read_document"],
    "sensecheck.inputs.label_sheets": ["read_labels"],
    "sensecheck.inputs.opening": ["sources"],
    "sensecheck.inputs.field_names": ["folded", "found"],
    "sensecheck.inputs.formats.replies": ["own_tokens"],
    "sensecheck.inputs.tables": ["TableReader", "detect_table_format", "kind_and_value", "read_table"],
    "sensecheck.statistics.agreement": ["ac1", "alpha", "kappa"],
    "sensecheck.statistics.binning": ["bin_index"],
    "sensecheck.statistics.grid": ["Grid"],
    "sensecheck.statistics.compare": ["compare", "flips", "mcnemar"],
    "sensecheck.statistics.corrected": ["corrected"],
    "sensecheck.statistics.distributions": [
        "beta_cdf",
        "beta_quantile",
        "log_gamma",
        "student_quantile",
        "student_tail",
    ],
    "sensecheck.statistics.estimate": ["estimate"],
    "sensecheck.statistics.exact": ["exact_sum"],
    "sensecheck.statistics.figure": ["IntervalOptions"],
    "sensecheck.statistics.intervals": ["percentile"],
    "sensecheck.statistics.measurements": ["Frames"],
    "sensecheck.statistics.limits": ["area_limits", "share_limits"],
    "sensecheck.statistics.side_by_side": ["added_up", "running"],
    "sensecheck.statistics.statistic": ["Bins", "RowStatistic", "Statistic", "mean_of", "ratio", "why_infinite"],
}


@pytest.mark.parametrize("name", MODULES)
def test_examples_do_what_they_show(name: str) -> None:
    module = importlib.import_module(name)
    examples = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert [test.name.removeprefix(f"{name}.") for test in examples] == SHOWN.get(name, [])
    report: list[str] = []
    runner = doctest.DocTestRunner()
    for test in examples:
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)
