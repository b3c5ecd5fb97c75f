"""Whole distributions and a binary classifier's probability, from whatever holds them in memory."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import sensecheck
from sensecheck import calibrated
from sensecheck.calibrated.classwise import CURVES
from sensecheck.inputs.errors import InputError
from sensecheck.statistics.figure import IntervalOptions

FIGURES = ("accuracy", "mean_confidence", "ece", "classwise_ece", "nll_multiclass", "brier_multiclass")


def measured(*data: Any, **given: Any) -> sensecheck.Result:
    return calibrated.evaluate(*data, options=IntervalOptions(method="none"), **given)


def figures(*data: Any, **given: Any) -> list[Any]:
    result = measured(*data, **given)
    return [result[name].value for name in FIGURES]


@pytest.fixture
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    p = rng.dirichlet([0.6, 1.0, 1.4], 60)
    return p, (p.cumsum(1) < rng.random((60, 1))).sum(1)


def wanted(p: Any, y: Any) -> list[Any]:
    """The same by hand, from a table of lists."""
    return figures([{"probabilities": row, "label": int(k)} for row, k in zip(p.tolist(), y, strict=True)])


def test_every_holder_of_a_matrix_gives_the_same_digits(rows, tmp_path):
    p, y = rows
    right = wanted(p, y)
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    wide = np.zeros((120, 6))
    wide[::2, ::2] = p
    frame = pl.DataFrame({"probabilities": p, "label": y})
    lists = frame.with_columns(pl.col("probabilities").arr.to_list())
    frame.write_parquet(tmp_path / "fixed.parquet")
    fixed = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(p.ravel()), 3)
    by_arrays: list[dict[str, Any]] = [
        {"probabilities": p, "label": y},
        {"probabilities": p.tolist(), "label": y.tolist()},
        {"probabilities": np.asfortranarray(p), "label": y.astype(np.uint8)},
        {"probabilities": p.astype(">f8"), "label": y.astype(">i2")},
        {"probabilities": wide[::2, ::2], "label": y},
        {"probabilities": np.ma.masked_array(p), "label": np.ma.masked_array(y)},
        {"probabilities": p.astype(np.longdouble), "label": y},
        {"probabilities": [p[:50], p[50:]], "label": y},
        {"probabilities": list(p), "label": list(y)},
        {"probabilities": frame["probabilities"], "label": frame["label"]},
        {"probabilities": pandas.Series(list(p)), "label": pandas.Series(y, index=range(60, 120))},
        {"probabilities": p, "label": np.eye(3, dtype=int)[y]},
        {"probabilities": p, "label": y[:, None]},
        {"probabilities": p, "label": y.astype(float)},
        {"probabilities": p, "label": [str(one) for one in y]},
    ]
    assert [given for given in by_arrays if figures(**given) != right] == []
    tables = [
        {"probabilities": p, "label": y}, frame, lists, frame.to_pandas(), tmp_path / "fixed.parquet",
        pandas.DataFrame({"probs": list(p), "label_ids": y}),
        pyarrow.table({"probabilities": fixed, "label": pyarrow.array(y)}),
        {"probabilities": p.astype(">f8"), "label": y},
    ]  # fmt: skip
    assert [type(table) for table in tables if figures(table) != right] == []


@pytest.mark.torch
def test_tensors(rows):
    torch = pytest.importorskip("torch")
    p, y = rows
    exact = wanted(p, y)
    gradient = torch.tensor(p, requires_grad=True)
    assert figures(probabilities=gradient, label=torch.tensor(y)) == exact
    assert figures({"probabilities": gradient, "label": torch.tensor(y)}) == exact
    assert (
        figures([{"probabilities": row, "label": k} for row, k in zip(gradient, torch.tensor(y), strict=True)]) == exact
    )
    for kind in (torch.bfloat16, torch.float16):
        half = torch.tensor(p, dtype=kind)
        for given in (half, list(half), half.T.contiguous().T):
            assert figures(probabilities=given, label=y) == wanted(half.double().numpy(), y)
    assert figures({"logits": torch.tensor(np.log(p) + 2), "labels": torch.tensor(y)}) == pytest.approx(exact)
    confident = measured(confidence=gradient.max(1).values, correct=torch.tensor(p.argmax(1) == y))
    assert confident["accuracy"].value == exact[0] and confident["mean_confidence"].value == exact[1]


class Foreign:
    """An array of a library that is not imported, as JAX's and CuPy's are."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array

    def __len__(self) -> int:
        return len(self.array)


def test_arrays_of_other_libraries(rows):
    p, y = rows
    assert figures(probabilities=Foreign(p), label=Foreign(y)) == wanted(p, y)
    assert figures({"probabilities": Foreign(p), "label": Foreign(y)}) == wanted(p, y)

    class Broken(Foreign):
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise RuntimeError("deleted")

    with pytest.raises(InputError, match=r"probabilities: cannot be read as an array .RuntimeError: 'deleted'"):
        measured(probabilities=Broken(p), label=y)


# -- scales


def test_scales_are_told_apart(rows):
    p, y = rows
    right = pytest.approx(wanted(p, y))
    logits = measured(probabilities=np.log(p) + 3, label=y)
    assert [logits[name].value for name in FIGURES] == right
    assert "scale:logits(softmax)" in logits.signature.short
    assert logits.notes == [
        "the numbers of probabilities are logits: their softmax is measured (--scale says what they are)"
    ]
    logprobs = measured(probabilities=np.log(p), label=y)
    assert [logprobs[name].value for name in FIGURES] == right and "scale:logprobs" in logprobs.signature.short
    assert measured(probabilities=p, label=y).notes == []
    forced = measured(probabilities=p, label=y, scale="logits")
    assert "logits(softmax)" in forced.signature.short and forced.notes == []
    softened = np.exp(p) / np.exp(p).sum(1, keepdims=True)
    assert forced["mean_confidence"].value == pytest.approx(softened.max(1).mean())
    # A class that is ruled out has a logit of −inf, and a probability of 0.
    masked = np.log(p)
    masked[:, 0] = -np.inf
    ruled_out = measured(probabilities=masked + 1, label=np.maximum(y, 1))
    assert ruled_out["mean_confidence"].value == pytest.approx(
        (p[:, 1:] / p[:, 1:].sum(1, keepdims=True)).max(1).mean()
    )


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([[0.5, 0.9], [0.2, 0.1]], "sum to 1, .*several labels at once .* measure each label by itself .*--scale"),
        ([[70.0, 30.0], [10.0, 90.0]], "percentages: divide them by 100"),
        ([[0.5, 0.5], [0.5, float("nan")], [0.4, 0.6]], "record 2: probabilities: .* nan.*skip_bad"),
        ([[0.5, 0.5], [0.5, float("inf")], [0.4, 0.6]], "record 2: probabilities"),
        ([[3.0, 5.0], [float("nan"), 2.0], [4.0, 9.0]], "record 2: probabilities: expected a finite logit"),
        ([[0.5, 0.5], [0.1, 0.1], [0.4, 0.6]], "record 2: probabilities: expected probabilities that sum to 1"),
        ([[0.3], [0.4]], r"one number a row, .*probability= \(--columns probability=NAME\)"),
        ([[3.0], [4.0]], "one number a row"),
        ([0.3, 0.4], "a row of numbers for each example.*one number for each.*probability=… with label=…"),
        ([[[0.3, 0.7]], [[0.3, 0.7]]], "a list of numbers"),
        (np.zeros((2, 2, 2)), "shape 2 × 2 × 2 .*n × classes"),
        (np.zeros((2, 0)), "at least one column"),
        ([["a", "b"], ["c", "d"]], "sum to 1"),
        ([[0.5, 0.5], [0.2]], "2 probabilities, as in other rows"),
        (np.full((2, 201), 1 / 201), "at most 200 classes, got 201"),
        ("pp", "an array, a list or a column"),
    ],
)
def test_what_is_no_distribution_is_told(p, message):
    with pytest.raises(InputError, match=message):
        measured(probabilities=p, label=[0, 0, 0][: len(p)])


def test_bad_rows_can_be_skipped(rows):
    p, y = rows
    kept = wanted(p[2:], y[2:])
    q, labels = p.copy(), y.astype(object)
    q[0, 1] = np.nan
    labels[1] = None
    result = measured(probabilities=q, label=labels.tolist(), skip_bad=True)
    assert [result[name].value for name in FIGURES] == kept
    assert result["accuracy"].unscored == {
        "probabilities missing or unreadable": 1, "label missing or unknown": 1,
    }  # fmt: skip
    labels = y.copy()
    labels[1] = -100
    assert figures(probabilities=q, label=labels, skip_bad=True) == kept
    with pytest.raises(InputError, match="record 2: label: expected one of the classes 0, 1, 2, got -100"):
        measured(probabilities=p, label=labels)


# -- classes and labels


def test_classes_have_names(rows):
    p, y = rows
    names = ["no", "maybe", "yes"]
    by_name = measured(probabilities=p, label=[names[k] for k in y], classes=names)
    assert [by_name[name].value for name in FIGURES] == wanted(p, y)
    assert "classes:no,maybe,yes" in by_name.signature.short
    assert figures(probabilities=p, label=y, classes=names) == wanted(p, y)
    # Names that are numbers are names.
    assert figures(probabilities=p, label=y + 1, classes=[1, 2, 3]) == wanted(p, y)
    assert figures(probabilities=pl.DataFrame(p, schema=names), label=[names[k] for k in y]) == wanted(p, y)
    with pytest.raises(InputError, match=r"classes 0, 1, 2, got '\w+'\. Name the columns .*--classes"):
        measured(probabilities=p, label=[names[k] for k in y])
    with pytest.raises(InputError, match="a name for each of the 3 columns of probabilities, got 2: a, b"):
        measured(probabilities=p, label=y, classes=["a", "b"])
    with pytest.raises(InputError, match="different names"):
        measured(probabilities=p, label=y, classes=["a", "b", "a"])
    with pytest.raises(InputError, match="names the columns of `probabilities`, and this input has none"):
        measured(confidence=[0.5], correct=[1], classes=["a"])


@pytest.mark.parametrize("label", [[[0.2, 0.8], [1.0, 0.0]], [[1, 1], [0, 1]], [[0, 0], [0, 1]], [[1], [0]]])
def test_labels_that_are_no_class(label):
    with pytest.raises(InputError, match=r"one class a row, or 2 numbers of which one is 1|classes 0, 1"):
        measured(probabilities=[[0.5, 0.5], [0.1, 0.9]], label=label)


# -- two classes


def test_a_binary_classifier(rows):
    p, y = rows[0][:, 2], rows[1] == 2
    right = wanted(np.stack([1 - p, p], 1), y.astype(int))
    assert figures(probability=p, label=y) == right
    assert figures(probability=list(p), label=y.astype(int).tolist()) == right
    assert figures(probability=p[:, None], label=np.where(y, "spam", "ham"), classes=["ham", "spam"]) == right
    assert figures(probability=p, label=np.where(y, 1, -1), classes=[-1, 1]) == right
    assert figures({"p": p, "y": y}, columns={"probability": "p", "label": "y"}) == right
    odds = measured(probability=np.log(p / (1 - p)), label=y)
    assert [odds[name].value for name in FIGURES] == pytest.approx(right)
    assert "logits(sigmoid)" in odds.signature.short and "log-odds" in odds.notes[0]
    assert figures(probability=np.log(p), label=y) == pytest.approx(right)
    result = measured(probability=p, label=y)
    assert result["accuracy"].value == ((p > 0.5) == y).mean()
    assert result["mean_confidence"].value == pytest.approx(np.maximum(p, 1 - p).mean())
    with pytest.raises(InputError, match="classes 0, 1, got 2"):
        measured(probability=p, label=rows[1])
    with pytest.raises(InputError, match=r"record 1: .*got 'spam|record 1: .*got 'ham"):
        measured(probability=p, label=np.where(y, "spam", "ham"))
    with pytest.raises(InputError, match="one number a row, the probability of the second class"):
        measured(probability=rows[0], label=y)
    with pytest.raises(InputError, match="record 1: probability"):
        measured(probability=[1.5, 0.5, 0.25], label=[1, 0, 0])


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"probabilities": [[0.5, 0.5]]},
        {"label": [1]},
        {"probability": [0.5]},
        {"probability": [0.5], "correct": [1]},
        {"probability": [0.5], "probabilities": [[0.5, 0.5]], "label": [1]},
        {"confidence": [0.5], "label": [1]},
        {"data": [{"confidence": 0.5, "correct": 1}], "probability": [0.5], "label": [1]},
    ],
)
def test_what_does_not_go_together(given):
    with pytest.raises(InputError, match="either data, or both confidence=… and correct=…, or both probabilities=…"):
        measured(**given)


def test_lengths_that_differ(rows):
    with pytest.raises(InputError, match="as many labels as rows of probabilities, got 60 in probabilities and 59"):
        measured(probabilities=rows[0], label=rows[1][:-1])


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_few_rows_and_few_classes(n, classes):
    p, y = np.full((n, classes), 1 / classes), np.zeros(n, dtype=int)
    result = measured(probabilities=p, label=y)
    assert result["accuracy"].value == 1.0 and result["accuracy"].n == n
    assert result["brier_multiclass"].value == pytest.approx((1 - 1 / classes) ** 2 + (classes - 1) / classes**2)
    wrong = measured(probabilities=p, label=y + classes - 1)
    assert wrong["accuracy"].value == (1.0 if classes == 1 else 0.0)


def test_no_rows():
    with pytest.raises(InputError, match="at least one record"):
        measured(probabilities=np.zeros((0, 3)), label=np.zeros(0, dtype=int))


# -- names of programs in tables


def test_names_of_programs_are_known_where_nothing_else_is_there(rows):
    p, y = rows
    assert figures({"predictions": p, "references": y}) == wanted(p, y)
    with pytest.raises(InputError, match=r"several columns .*predictions \(3 numbers a row\), logits .*probabilities="):
        measured({"predictions": p, "logits": np.log(p), "labels": y})
    both = {"predictions": p, "logits": np.log(p), "labels": y}
    assert figures(both, columns={"probabilities": "predictions"}) == wanted(p, y)
    # A table with a confidence of its own is read as before.
    own = measured({"prob": [0.5, 0.75], "correct": [1, 0], "scores": [[1.0, 2.0], [3.0, 4.0]]})
    assert own["mean_confidence"].value == 0.625


# -- pictures


def test_a_picture_for_each_class(rows, tmp_path):
    p, y = rows
    result = calibrated.evaluate(probabilities=p, label=y, classes=["no", "maybe", "yes"], bins=5, out=tmp_path / "run")
    chart = result.plot("classes")
    assert {one["class"] for one in chart.data} == {"no", "maybe", "yes"}
    for name, k in (("no", 0), ("yes", 2)):
        b = np.minimum((p[:, k] * 5).astype(int), 4)
        for one in (one for one in chart.data if one["class"] == name):
            inside = b == round(5 * one["bin_low"])
            assert one["rows"] == inside.sum()
            assert one["accuracy"] == pytest.approx((y[inside] == k).mean(), abs=1e-8)
            assert one["confidence"] == pytest.approx(p[inside, k].mean(), abs=1e-8)
    assert "not drawn" not in chart.alt
    again = sensecheck.load(tmp_path / "run")
    assert again.plot("classes").svg() == chart.svg()
    assert "Reliability of each class" in (tmp_path / "run" / "report.html").read_text()
    classwise = np.mean(
        [float(part.rsplit(" ", 1)[1]) for part in chart.alt.split("each: ")[1].rstrip(".").split(", ")]
    )
    assert classwise == pytest.approx(result["classwise_ece"].value, abs=6e-4)


def test_of_many_classes_the_worst_are_drawn():
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(12), 300)
    y = (p.cumsum(1) < rng.random((300, 1))).sum(1)
    y[y == 4] = 5  # class 4 never is the right one
    result = measured(probabilities=p, label=y)
    drawn = [one["name"] for one in result.extra[CURVES]["drawn"]]
    assert len(drawn) == 9 and set(drawn[:2]) == {"4", "5"} and result.extra[CURVES]["of"] == 12
    chart = result.plot("classes")
    assert "3 more classes with smaller errors are not drawn" in chart.alt and "the 9 of 12 classes" in chart.svg()
    assert "classes" not in [chart.name for chart in measured(confidence=[0.5, 0.6], correct=[1, 0]).charts()]


def test_weights_count_in_the_pictures(rows):
    p, y = rows
    table = {"probabilities": np.concatenate([p, p[:10]]), "label": np.concatenate([y, y[:10]])}
    weighted = {"probabilities": p, "label": y, "w": [2] * 10 + [1] * 50}
    assert measured(weighted, weight="w").extra[CURVES] == measured(table).extra[CURVES]


def test_the_command_line(rows, tmp_path, capsys):
    from sensecheck.cli import main

    p, y = rows
    path = tmp_path / "d.jsonl"
    names = ["no", "maybe", "yes"]
    lines = [{"probabilities": row, "label": names[k]} for row, k in zip(np.log(p).tolist(), y, strict=True)]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert main(["calibrated", str(path), "--classes", "no,maybe,yes", "--no-ci", "--format", "json"]) == 0
    told = {one["name"]: one["value"] for one in json.loads(capsys.readouterr().out)["figures"]}
    assert [told[name] for name in FIGURES] == pytest.approx(wanted(p, y))


def test_of_several_likeliest_classes_the_first_counts_and_that_is_said():
    ties = [[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]]
    said = "2 rows have several likeliest classes: of these the first counts as the answer"
    for label, accuracy in (([0, 0, 1], 1), ([1, 1, 1], 1 / 3)):
        whole = calibrated.evaluate(probabilities=ties, label=label)
        binary = calibrated.evaluate(probability=[0.5, 0.5, 0.6], label=label)
        for result in (whole, binary):
            assert result["accuracy"].value == pytest.approx(accuracy) and said in result.notes
    assert not any("likeliest" in note for note in calibrated.evaluate(probabilities=ties[2:], label=[1]).notes)


@pytest.mark.filterwarnings("error")
def test_large_logits_do_not_overflow():
    logits = np.array([[1e4, -1e4, 9999.0], [-1e4, 1e4, 0.0], [0.0, 1.0, -1e4]])
    result = calibrated.evaluate(probabilities=logits, label=[2, 1, 1])
    one = 1 / (1 + np.exp(-1.0))
    assert result["nll_multiclass"].value == pytest.approx((1 - np.log(one) - np.log(one)) / 3)
    assert result["mean_confidence"].value == pytest.approx((2 * one + 1) / 3)


def test_an_object_without_any_class() -> None:
    with pytest.raises(InputError, match="expected a probability for every class, got an empty object"):
        calibrated.evaluate([{"probs": {}, "label": 1}])
