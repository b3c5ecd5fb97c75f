"""Everything that a question of your own is made of, in one place (docs/extending.md builds one)."""

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.tables import TableBatch
from sensecheck.options import Option
from sensecheck.report.asking import FILES, Asked, EveryQuestion, WeighedRows, as_original, asked, evaluator
from sensecheck.report.instrument import Instrument, TableInstrument
from sensecheck.report.question import Question
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method
from sensecheck.statistics.statistic import Explanation, RowStatistic, Statistic, mean_of, ratio

__all__ = [
    "FILES",
    "Asked",
    "Batch",
    "EveryQuestion",
    "Explanation",
    "InputError",
    "Instrument",
    "Method",
    "Option",
    "Question",
    "Result",
    "RowStatistic",
    "Statistic",
    "TableBatch",
    "TableInstrument",
    "WeighedRows",
    "as_original",
    "asked",
    "evaluator",
    "mean_of",
    "ratio",
]
