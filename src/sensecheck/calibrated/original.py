"""What calibration_metric computes, to the digit and to the error: bins, metrics, readers, report.

The default figures of this room are other ones. Here a bin's confidence is the midpoint of its edges, the
edges span the data and not [0, 1], an empty uniform bin makes every metric fail, and a metric with nothing
to average is −1.0. Where the original raises, this raises the same kind of error for the same reason;
`parity_figures` turns that into a reason why a figure is unscored.

`mended_bins` and `mended_figures` keep all of the original's choices and mend only its failures: empty bins
are left out, and the adaptive rule's last bin borrows only what the others can lend.

Numbers need numpy alone. pandas is imported where the original hands out a data frame, scipy for Pearson if
it is there (and its warnings with it).
"""

from __future__ import annotations

import json
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensecheck.calibrated.adaptive import adaptive_bins_in_input_order, greedy_sizes

__all__ = [
    "METRICS",
    "READERS",
    "BinTable",
    "ECEMetric",
    "MCEMetric",
    "MeanErrorAbove",
    "MeanErrorBelow",
    "Metric",
    "MisoTopLogitFormatSequenceReader",
    "PearsonMetric",
    "Report",
    "TopKTopLogitFormatSequenceReader",
    "TopLogitFormatSequenceReader",
    "adaptive_preds",
    "mended_bins",
    "mended_figures",
    "parity_figures",
    "uniform_preds",
]

logger = logging.getLogger(__name__)

Floats = NDArray[np.floating[Any]]
Counts = NDArray[np.int64]
Binned = tuple[Floats, Floats, Counts]
"""Accuracy per bin; edges (uniform) or mean confidence (adaptive); bin of each sample."""


# --------------------------------------------------------------------------------------------------
# Bins


def uniform_preds(top_preds: NDArray[Any], is_correct: NDArray[Any], n_bins: int) -> Binned:
    """Equal widths from the smallest confidence to the largest.

    Bins without an accuracy (empty, or with a NaN label) are dropped, and the last edge with them: the
    edges that come back are then one too few, and `BinTable.of` fails on them as the original does.
    """
    edges, index, accuracy, _ = _uniform(top_preds, is_correct, n_bins)
    has_accuracy = ~np.isnan(accuracy)
    if has_accuracy.all():
        return accuracy, edges, index
    logger.warning("%d of %d bins have no accuracy and are dropped", n_bins - int(has_accuracy.sum()), n_bins)
    return accuracy[has_accuracy], edges[:-1][has_accuracy], index


def _uniform(
    top_preds: NDArray[Any], is_correct: NDArray[Any], n_bins: int
) -> tuple[Floats, Counts, NDArray[np.float64], Counts]:
    """Edges, bin of each sample, accuracy (NaN where a bin is empty) and count."""
    if top_preds.ndim != 1:
        raise ValueError("too many values to unpack (expected 2)")
    if not np.isfinite(top_preds).all():
        raise ValueError(f"{[top_preds]!r} contains non-finite values.")
    low, high = float(top_preds.min()), float(top_preds.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    dtype = top_preds.dtype if np.issubdtype(top_preds.dtype, np.floating) else np.dtype(np.float64)
    edges = np.linspace(low, high, n_bins + 1).astype(dtype)
    if np.diff(edges).min() == 0:
        raise ValueError("The smallest edge difference is numerically 0.")
    index = np.searchsorted(edges, top_preds, side="right") - 1
    index[index == n_bins] -= 1  # the largest confidence lies on the last edge and belongs to the last bin
    count = np.bincount(index, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        accuracy = np.bincount(index, weights=is_correct, minlength=n_bins) / count
    return edges, index, accuracy, count


def adaptive_preds(top_preds: NDArray[Any], is_correct: NDArray[Any]) -> Binned:
    """Bins from the highest confidence down, each closed when it holds enough samples for its width.

    The last bin borrows the same number of samples from every other one, even if that is more than a bin
    holds: such a bin then takes all that is left, its confidence is a sum and its accuracy 0, and later
    bins are empty.
    """
    n = len(top_preds)
    for p in (top_preds.min(), top_preds.max()) if n else ():
        # NaN fails here too; the original's check has no text.
        if not 0 <= p <= 1:
            raise AssertionError
    if n == 0:
        raise IndexError("list index out of range")
    order = n - 1 - np.argsort(top_preds[::-1], kind="stable")[::-1]  # descending, ties in input order
    ranked = top_preds[order]
    hits = is_correct[order].astype(bool)
    with np.errstate(over="ignore"):
        sizes, target = greedy_sizes(n, ranked.__getitem__)
    last = sizes[-1]
    if target > last and len(sizes) > 1:
        each = int((target - last) * last / n)  # OverflowError where the last bin is all one value
        sizes = [size - each for size in sizes[:-1]] + [last + each * (len(sizes) - 1)]

    confidence, accuracy = np.zeros(len(sizes)), np.zeros(len(sizes))
    number = np.empty(n, dtype=np.int64)
    start = 0
    for b, size in enumerate(sizes):
        stuck = size <= 0
        end = n if stuck else start + size
        total = np.cumsum(ranked[start:end])[-1]  # one after the other, in the confidences' own precision
        confidence[b] = total if stuck else total / size
        accuracy[b] = 0.0 if stuck else np.count_nonzero(hits[start:end]) / size
        number[start:end] = b
        start = end
        if start == n:
            break
    return accuracy, confidence, number


@dataclass(frozen=True, slots=True, eq=False)
class BinTable:
    """The original's data frame as plain columns, one entry per bin."""

    prob_model: NDArray[np.float64]
    prob_correct: NDArray[np.float64]
    count: Counts
    normalized_count: NDArray[np.float64]
    log_count: NDArray[np.float64]
    normalized_log_count: NDArray[np.float64]

    @classmethod
    def of(cls, values: Floats, bins: Floats, bin_number: Counts, *, adaptive: bool) -> BinTable:
        """From what a binning gives; fails as the original does where bins were dropped."""
        places = np.arange(len(values))
        if len(values) == 0:
            raise KeyError("count")
        if adaptive:
            model = bins
        else:
            model = (bins[places] + bins[places + 1]) / 2  # IndexError where an edge is missing
        return cls.from_columns(model, values, np.bincount(bin_number, minlength=len(values))[places])

    @classmethod
    def from_columns(cls, prob_model: Floats, prob_correct: Floats, count: Counts) -> BinTable:
        log_count = np.log(count)  # a count of 0 warns, here and in the original
        with np.errstate(invalid="ignore", divide="ignore"):
            return cls(
                prob_model=prob_model.astype(np.float64),
                prob_correct=prob_correct.astype(np.float64),
                count=count,
                normalized_count=count / np.sum(count),
                log_count=log_count,
                normalized_log_count=log_count / np.sum(log_count),
            )

    def __len__(self) -> int:
        return len(self.count)

    def column(self, name: str) -> NDArray[Any]:
        if name not in self.__slots__:
            raise KeyError(name)
        column: NDArray[Any] = getattr(self, name)
        return column

    def to_pandas(self) -> Any:
        """The same as a pandas data frame."""
        try:
            import pandas as pd
        except ImportError as missing:
            raise ImportError("the data frame needs pandas: pip install pandas") from missing
        return pd.DataFrame({name: self.column(name) for name in self.__slots__})


# --------------------------------------------------------------------------------------------------
# Metrics


class Metric:
    """Binning, and what every metric shares. A metric of your own inherits from it and defines `__call__`."""

    def __init__(
        self,
        name: str = "Metric",
        n_bins: int = 20,
        weighted: bool = False,
        weight_key: str = "normalized_count",
        binning_strategy: str = "uniform",
    ) -> None:
        self.name = f"Weighted {name}" if weighted else name
        self.n_bins = n_bins
        self.weighted = weighted
        self.weight_key = weight_key
        self.binning_strategy = binning_strategy

    def __call__(self, top_preds: NDArray[Any], is_correct: NDArray[Any]) -> Any:
        """First the confidences, then the correctness."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    def bin_preds(self, top_preds: NDArray[Any], is_correct: NDArray[Any]) -> Binned:
        """Accuracy per bin; edges (uniform) or mean confidences (adaptive); the bin of each sample.

        Uniform bins number the samples in input order, adaptive ones from the highest confidence down.
        """
        if top_preds.shape[0] != is_correct.shape[0]:
            raise AssertionError(
                "top_probs and is_correct must have the same length, "
                f"got {top_preds.shape} and {is_correct.shape} respectively."
            )
        if self.binning_strategy == "adaptive":
            return adaptive_preds(top_preds, is_correct)
        if self.binning_strategy != "uniform":
            raise ValueError(f"Invalid binning strategy: {self.binning_strategy}")
        binned = uniform_preds(top_preds, is_correct, self.n_bins)
        if len(binned[0]) < self.n_bins:
            self._check_active(len(top_preds))  # the original counts samples here, not bins
        return binned

    def table(self, top_preds: NDArray[Any], is_correct: NDArray[Any]) -> BinTable:
        """The bins as columns."""
        return BinTable.of(*self.bin_preds(top_preds, is_correct), adaptive=self.binning_strategy == "adaptive")

    def bins_to_df(self, top_preds: NDArray[Any], is_correct: NDArray[Any]) -> Any:
        """The bins as a pandas data frame."""
        return self.table(top_preds, is_correct).to_pandas()

    def _check_active(self, n: int) -> None:
        if n == 0:
            warnings.warn(f"Metric {self.name} has no active bins, returning -1", RuntimeWarning, stacklevel=3)
        if n < 3:
            warnings.warn(f"Metric {self.name} has less than 3 active bins", RuntimeWarning, stacklevel=3)


class _TableMetric(Metric):
    """A metric that is a function of the bins."""

    base_name = ""

    def __init__(
        self,
        n_bins: int = 20,
        weighted: bool = False,
        weight_key: str = "normalized_count",
        binning_strategy: str = "uniform",
    ) -> None:
        super().__init__(self.base_name, n_bins, weighted, weight_key, binning_strategy)

    def __call__(self, top_preds: NDArray[Any], is_correct: NDArray[Any]) -> Any:
        return self.of_table(self.table(top_preds, is_correct))

    def of_table(self, table: BinTable) -> float:
        raise NotImplementedError


class ECEMetric(_TableMetric):
    """Expected calibration error. Unlike the other metrics it is weighted unless told otherwise."""

    base_name = "ECE"

    def __init__(
        self,
        n_bins: int = 20,
        weighted: bool = True,
        return_df: bool = False,
        weight_key: str = "normalized_count",
        binning_strategy: str = "uniform",
    ) -> None:
        super().__init__(n_bins, weighted, weight_key, binning_strategy)
        self.return_df = return_df

    def __call__(self, top_preds: NDArray[Any], is_correct: NDArray[Any]) -> Any:
        table = self.table(top_preds, is_correct)
        value = self.of_table(table)
        return (value, table.to_pandas()) if self.return_df else value

    def of_table(self, table: BinTable) -> float:
        self._check_active(len(table))
        gap = np.abs(table.prob_correct - table.prob_model)
        if self.weighted:
            return float(np.sum(gap * table.column(self.weight_key)))
        return float(np.mean(gap))


class MCEMetric(_TableMetric):
    """Maximum calibration error; `weighted` changes its name only."""

    base_name = "MCE"

    def of_table(self, table: BinTable) -> float:
        self._check_active(len(table))
        return float(np.max(np.abs(table.prob_model - table.prob_correct)))


class _OneSided(_TableMetric):
    def gap(self, table: BinTable) -> NDArray[np.float64]:
        raise NotImplementedError

    def of_table(self, table: BinTable) -> float:
        gap = self.gap(table)
        chosen = gap > 0
        self._check_active(int(chosen.sum()))
        if not chosen.any():
            return -1.0
        if self.weighted:  # the weights are normalised over all bins, not over the chosen ones
            return float(np.sum(gap[chosen] * table.column(self.weight_key)[chosen]))
        return float(np.mean(gap[chosen]))


class MeanErrorAbove(_OneSided):
    """Mean error of the overconfident bins; −1.0 if there is none."""

    base_name = "Mean Error (overconfident)"

    def gap(self, table: BinTable) -> NDArray[np.float64]:
        return table.prob_model - table.prob_correct


class MeanErrorBelow(_OneSided):
    """Mean error of the underconfident bins; −1.0 if there is none."""

    base_name = "Mean Error (underconfident)"

    def gap(self, table: BinTable) -> NDArray[np.float64]:
        return table.prob_correct - table.prob_model


class PearsonMetric(_TableMetric):
    """Correlation of confidence and accuracy over bins; `weighted` changes its name only."""

    base_name = "Pearson"

    def of_table(self, table: BinTable) -> float:
        self._check_active(len(table))
        return pearson(table.prob_model, table.prob_correct)


def pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """scipy's `pearsonr` where scipy is installed, else the same figure within 1e-12."""
    try:
        from scipy.stats import pearsonr
    except ImportError:
        return _pearson(x, y)
    return float(pearsonr(x, y)[0])


def _pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    if len(x) < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    if (x == x[0]).all() or (y == y[0]).all():
        message = "An input array is constant; the correlation coefficient is not defined."
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return math.nan
    units = []
    for side in (x, y):
        mean = np.mean(side)
        off = side - mean
        largest = np.max(np.abs(off))
        norm = largest * np.sqrt(np.sum((off / largest) ** 2))
        if norm < np.finfo(np.float64).eps ** 0.75 * abs(mean):
            message = "An input array is nearly constant; the computed correlation coefficient may be inaccurate."
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        units.append(off / norm)
    if len(x) == 2:
        return float(np.sign(x[1] - x[0]) * np.sign(y[1] - y[0]))
    return max(-1.0, min(1.0, float(np.sum(units[0] * units[1]))))


METRICS: Mapping[str, type[_TableMetric]] = {
    "ece": ECEMetric,
    "me_above": MeanErrorAbove,
    "me_below": MeanErrorBelow,
    "pearson": PearsonMetric,
    "max": MCEMetric,
}
"""The metrics by the keys of the original's command line."""


class Report:
    """Several metrics of one set of predictions, as text: one line per metric."""

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self.metrics = metrics

    def create_report(self, top_preds: NDArray[Any], is_correct: NDArray[Any]) -> str:
        """Every metric bins from scratch; the first that fails fails the report."""
        return "\n".join(
            f"{metric.binning_strategy} {name}: {metric(top_preds, is_correct):.4f}"
            for name, metric in self.metrics.items()
        )


# --------------------------------------------------------------------------------------------------
# Readers


class TopLogitFormatSequenceReader:
    """One sequence per line of JSON: `top_logits` and `top_logit_idxs` (N × k) and `labels` (N).

    Confidence is the row's maximum as stored: no softmax is applied, whatever the name says. Correct is the
    token at the first maximum if it equals the label. Steps whose label is in `ignore_tokens` are left out.
    """

    def __init__(self, file: str | PathLike[str], ignore_tokens: Sequence[Any] | None = None) -> None:
        self.file = file
        self.ignore_tokens = ignore_tokens

    def read(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Confidence and correctness of every step of every sequence; two empty float arrays if none."""
        confidences: list[NDArray[Any]] = []
        corrects: list[NDArray[Any]] = []
        for record in self._records():
            logits = np.array(record["top_logits"])
            tokens = np.array(record["top_logit_idxs"])
            labels = np.array(record["labels"])
            confidence, correct = self.score(logits, tokens, labels)
            if self.ignore_tokens:
                not_ignored = np.array([labels[i] not in self.ignore_tokens for i in range(len(correct))], dtype=bool)
                confidence, correct = confidence[not_ignored], correct[not_ignored]
            confidences.append(confidence)
            corrects.append(correct)
        if not sum(map(len, confidences)):
            return np.array([]), np.array([])
        return np.concatenate(confidences), np.concatenate(corrects)

    def score(
        self, logits: NDArray[Any], tokens: NDArray[Any], labels: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Confidence and correctness of each step of one sequence."""
        confidence, predicted = self._best(logits, tokens)
        return confidence, predicted == labels

    def _best(self, logits: NDArray[Any], tokens: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        best = np.argmax(logits, axis=-1)
        if logits.ndim > 2:
            raise NotImplementedError(
                "Currently batched outputs are not supported. "
                "                        Try generating outputs a single example at a time."
            )
        steps = np.arange(best.shape[0])
        return logits[steps, best], tokens[steps, best]

    def _records(self) -> Iterator[Any]:
        # The standard library's parser: NaN and Infinity are accepted and a bad line is a JSONDecodeError.
        with open(self.file, encoding="utf-8") as lines:  # noqa: PTH123 — the original's error for a missing file
            for line in lines:
                yield json.loads(line)


class TopKTopLogitFormatSequenceReader(TopLogitFormatSequenceReader):
    """Correct if the label is among the k tokens with the largest values; of equal values the later column
    counts.

    The confidence is still that of the single best token.
    """

    def __init__(self, file: str | PathLike[str], ignore_tokens: Sequence[Any] | None = None, k: int = 2) -> None:
        super().__init__(file, ignore_tokens)
        self.k = k

    def score(
        self, logits: NDArray[Any], tokens: NDArray[Any], labels: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        columns = np.argsort(logits, axis=-1, kind="stable")[:, -self.k :]
        if logits.ndim > 2:
            raise ValueError("`indices` and `arr` must have the same number of dimensions")
        among = np.take_along_axis(tokens, columns, axis=-1)
        correct = np.array([bool((among[i] == labels[i]).any()) for i in range(len(among))], dtype=bool)
        return np.max(logits, axis=-1), correct


class MisoTopLogitFormatSequenceReader(TopLogitFormatSequenceReader):
    """String tokens, some of which copy: `SourceCopy_word` is that word, `TargetCopy_3` the third label."""

    def score(
        self, logits: NDArray[Any], tokens: NDArray[Any], labels: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        confidence, predicted = self._best(logits, tokens)
        correct = [self._resolved(predicted[i], labels[:i]) == labels[i] for i in range(len(predicted))]
        return confidence, np.array(correct, dtype=bool)

    @staticmethod
    def _resolved(token: Any, context: NDArray[Any]) -> Any:
        if "SourceCopy" in token:
            return token.split("_")[1]
        if "TargetCopy" in token:
            place = int(token.split("_")[1]) - 1  # TargetCopy_0 wraps round to the last label
            if place >= len(context):
                raise AssertionError
            return context[place]
        return token


READERS: Mapping[str, type[TopLogitFormatSequenceReader]] = {
    "top_logit_format_sequence": TopLogitFormatSequenceReader,
    "miso_logit_format_sequence": MisoTopLogitFormatSequenceReader,
}
"""The readers by the names of the original's command line."""


# --------------------------------------------------------------------------------------------------
# Figures


def parity_figures(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    n_bins: int = 20,
    binning: str = "uniform",
    weighted: bool = False,
    weight_key: str = "normalized_count",
) -> dict[str, float | Exception]:
    """Every metric by its key (`METRICS`): the original's value, or the exception that it raises instead.

    Warnings are the original's: at most two bins, nothing to average. The samples are binned once.
    """
    metrics = _metrics(n_bins, binning, weighted, weight_key)
    try:
        table = metrics["ece"].table(np.asarray(confidence), np.asarray(correct))
    except Exception as failure:
        return dict.fromkeys(metrics, failure)
    return {key: _value_or_failure(metric.of_table, table) for key, metric in metrics.items()}


def mended_bins(
    confidence: ArrayLike, correct: ArrayLike, *, n_bins: int = 20, binning: str = "uniform"
) -> tuple[NDArray[np.float64], NDArray[np.float64], Counts]:
    """`prob_model`, `prob_correct` and count of the original's bins with only its failures mended.

    Uniform: empty bins are left out, every other keeps its own midpoint and count; from low to high
    confidence. Adaptive: the last bin borrows only if no other is emptied; from high to low confidence.
    """
    if binning == "adaptive":
        bins = adaptive_bins_in_input_order(confidence, correct)
        return bins.mean_confidence[::-1], bins.accuracy[::-1], bins.count[::-1]
    if binning != "uniform":
        raise ValueError(f"binning must be 'uniform' or 'adaptive', got {binning!r}")
    edges, _, accuracy, count = _uniform(np.asarray(confidence), np.asarray(correct), n_bins)
    filled = count > 0
    middle = ((edges[:-1] + edges[1:]) / 2).astype(np.float64)
    return middle[filled], accuracy[filled], count[filled]


def mended_figures(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    n_bins: int = 20,
    binning: str = "uniform",
    weighted: bool = False,
    weight_key: str = "normalized_count",
) -> dict[str, float | Exception]:
    """Every metric by its key over `mended_bins`, or the exception where there is still no value."""
    metrics = _metrics(n_bins, binning, weighted, weight_key)
    table = BinTable.from_columns(*mended_bins(confidence, correct, n_bins=n_bins, binning=binning))
    return {key: _value_or_failure(metric.of_table, table) for key, metric in metrics.items()}


def _metrics(n_bins: int, binning: str, weighted: bool, weight_key: str) -> dict[str, _TableMetric]:
    return {
        key: metric(n_bins=n_bins, weighted=weighted, weight_key=weight_key, binning_strategy=binning)
        for key, metric in METRICS.items()
    }


def _value_or_failure(of_table: Callable[[BinTable], float], table: BinTable) -> float | Exception:
    try:
        return of_table(table)
    except Exception as failure:
        return failure
