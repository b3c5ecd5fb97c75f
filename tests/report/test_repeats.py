"""Several samples per example: pass@k, pass^k, flips, and where the variance of a row lies."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sensecheck
from sensecheck import calibrated, correct, diverse, faithful, robust
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.report.repeats import is_mean, numbers_of_samples, repeats, samples_of
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.statistic import mean_of

QUICK = IntervalOptions(replicates=50)
NO_INTERVALS = IntervalOptions(method="none")

Marks = dict[str, list[bool | None]]


def table_of(marks: Marks, **more: Any) -> pl.DataFrame:
    """One row a sample; None is a sample that could not be scored."""
    rows = [
        {"id": name, "sample": str(i), "scored": mark is not None, "em": mark, "cluster": name}
        for name, samples in marks.items()
        for i, mark in enumerate(samples)
    ]
    return pl.DataFrame(rows, schema_overrides={"em": pl.Boolean}).with_columns(**more)


def figures_of(
    frame: pl.DataFrame, direction: Any = "higher", options: IntervalOptions = NO_INTERVALS, **how: Any
) -> Any:
    rows = Frames(frame)
    em = mean_of("em", direction=direction)
    return repeats(rows, [em], ["em"], samples_of(rows, "sample"), options=options, **how)


def by_subsets(samples: list[bool], k: int) -> tuple[float, float]:
    """How many of all k-subsets hold one that is right, and how many are all right."""
    subsets = list(itertools.combinations(samples, k))
    return sum(map(any, subsets)) / len(subsets), sum(map(all, subsets)) / len(subsets)


# -- against other ways to the same numbers ----------------------------------------------------------------------------


def test_pass_at_k_is_the_share_of_all_subsets():
    rng = np.random.default_rng(1)
    marks: Marks = {f"q{i}": [bool(x) for x in rng.random(8) < i / 11] for i in range(12)}
    found = figures_of(table_of(marks))
    assert found.at == [1, 2, 4, 8]
    for k in found.at:
        ones, alls = zip(*(by_subsets(samples, k) for samples in marks.values()), strict=True)  # type: ignore[arg-type]
        assert found.figure(f"em.pass@{k}").value == pytest.approx(np.mean(ones), abs=1e-12)
        assert found.figure(f"em.pass^{k}").value == pytest.approx(np.mean(alls), abs=1e-12)


def test_unequal_numbers_of_samples_and_unscored_ones():
    marks: Marks = {
        "a": [True, False, True, True, False], "b": [False] * 5, "c": [True, None, True, False, None],
        "d": [True], "e": [None, None, None, None, None], "f": [True] * 5,
    }  # fmt: skip
    found = figures_of(table_of(marks))
    assert (found.examples, found.samples, found.at) == (6, (1, 5, 5), [1, 2, 4, 5])
    scored = {name: [m for m in samples if m is not None] for name, samples in marks.items()}
    for k in found.at:
        enough = [samples for samples in scored.values() if len(samples) >= k]
        ones, alls = zip(*(by_subsets(samples, k) for samples in enough), strict=True)
        for sign, values in (("@", ones), ("^", alls)):
            figure = found.figure(f"em.pass{sign}{k}")
            assert figure.value == pytest.approx(np.mean(values), abs=1e-12)
            assert figure.n == len(enough)
            why = "no scored sample" if k == 1 else f"fewer than {k} scored samples"
            assert figure.unscored == ({why: 6 - len(enough)} if len(enough) < 6 else {})
    flips = found.figure("flips")
    # a and c flip, b and f do not; d has one sample, e none that is scored.
    assert (flips.value, flips.n, flips.unscored) == (0.5, 4, {"fewer than 2 scored samples": 2})


def test_pass_at_k_is_unbiased():
    """Over many sets of samples its mean is what k fresh samples would give; the plug-in 1 − (1 − c/n)^k is not."""
    rng = np.random.default_rng(7)
    chances = np.array([0.05, 0.2, 0.5, 0.9])
    n, k, sets = 6, 4, 4000
    right = rng.binomial(n, chances, size=(sets, len(chances)))
    marks: Marks = {f"{s}/{e}": [i < right[s, e] for i in range(n)] for s in range(sets) for e in range(len(chances))}
    found = figures_of(table_of(marks))
    for name, truth in (("pass@4", 1 - (1 - chances) ** k), ("pass^4", chances**k)):
        value = found.figure(name).value
        spread = 0.5 / np.sqrt(sets * len(chances))
        assert abs(value - truth.mean()) < 4 * spread
    plug_in = (1 - (1 - right / n) ** k).mean()
    assert abs(plug_in - (1 - (1 - chances) ** k).mean()) > 4 * spread


def anova(groups: list[list[float]]) -> dict[str, float]:
    """By the book, from deviations: no sums of squares are subtracted."""
    values = np.concatenate([np.asarray(g) for g in groups])
    k, total = len(groups), len(values)
    means = [np.mean(g) for g in groups]
    between = sum(len(g) * (m - values.mean()) ** 2 for g, m in zip(groups, means, strict=True)) / (k - 1)
    within = sum(((np.asarray(g) - m) ** 2).sum() for g, m in zip(groups, means, strict=True)) / (total - k)
    squares = sum(len(g) ** 2 for g in groups)
    of_examples = max(0.0, (between - within) / ((total - squares / total) / (k - 1)))
    return {
        "between": of_examples, "within": within, "icc": of_examples / (of_examples + within),
        "se": np.sqrt(of_examples * squares / total**2 + within / total),
        "se_one_sample": np.sqrt((of_examples + within) / k), "se_many_samples": np.sqrt(of_examples / k),
    }  # fmt: skip


def test_variance_components_by_the_book():
    rng = np.random.default_rng(3)
    groups = [list(rng.normal(rng.normal(3, 2), 1, size=int(rng.integers(1, 9)))) for _ in range(30)]
    rows = [{"id": f"q{i}", "sample": str(j), "score": x} for i, g in enumerate(groups) for j, x in enumerate(g)]
    measured = Frames(pl.DataFrame(rows).with_columns(cluster=pl.col("id")))
    score = mean_of("score", range=(-float("inf"), float("inf")))
    found = repeats(measured, [score], ["score"], samples_of(measured, "sample"), options=QUICK)
    for name, truth in anova(groups).items():
        figure = found.figure(f"score.{name}")
        assert figure.value == pytest.approx(truth, rel=1e-9)
        assert (figure.n, figure.beside["samples"]) == (30, len(rows))
        assert figure.low <= figure.value <= figure.high
    with pytest.raises(KeyError):
        found.figure("score.pass@1")  # no true/false figure


def test_no_variance_between_examples_is_zero_and_not_negative():
    marks: Marks = {name: [True, False] for name in "abcdef"}
    found = figures_of(table_of(marks))
    assert found.figure("between").value == 0.0
    assert found.figure("icc").value == 0.0
    assert found.figure("within").value == pytest.approx(0.5)
    assert found.figure("flips").value == 1.0
    assert found.figure("se_many_samples").value == 0.0
    assert (found.figure("pass@2").value, found.figure("pass^2").value) == (1.0, 0.0)


def test_the_standard_error_is_that_of_the_mean():
    """Of many sets of examples with samples, the means scatter as the standard error says on average."""
    rng = np.random.default_rng(11)
    means, errors = [], []
    for _ in range(300):
        chances = rng.beta(0.7, 0.7, size=40)
        marks = rng.random((40, 5)) < chances[:, None]
        found = figures_of(table_of({f"q{i}": [bool(x) for x in row] for i, row in enumerate(marks)}))
        means.append(marks.mean())
        errors.append(found.figure("se").value)
    assert np.mean(np.square(errors)) == pytest.approx(np.var(means), rel=0.25)


# -- what is given ---------------------------------------------------------------------------------------------------


def test_one_sample_each_has_no_variance_within():
    found = figures_of(table_of({"a": [True], "b": [False], "c": [True]}))
    assert found.at == [1]
    assert found.figure("pass@1").value == pytest.approx(2 / 3)
    assert (found.figure("flips").n, found.figure("flips").unscored) == (0, {"fewer than 2 scored samples": 3})
    assert np.isnan(found.figure("within").value)
    assert any("one sample an example" in note for note in found.notes)


def test_k_goes_to_what_most_examples_have():
    marks: Marks = {**{f"q{i}": [True] * 10 for i in range(5)}, "one": [True], "many": [False] * 40}
    assert figures_of(table_of(marks)).at == [1, 2, 4, 8, 10]
    assert numbers_of_samples(2) == [1, 2]


def test_figures_that_are_better_when_lower_are_not_called_pass():
    found = figures_of(table_of({"a": [True, False], "b": [False, False]}), direction="lower")
    names = [f.name for f in found.figures]
    assert not any("pass" in name for name in names)
    assert found.figure("any@2").value == 0.5 and found.figure("all@2").value == 0.0
    assert found.figure("any@2").direction == "lower"


def test_neither_order_nor_shards_change_a_digit():
    rng = np.random.default_rng(5)
    rows = [{"id": f"q{i}", "sample": str(j), "em": bool(rng.random() < 0.3 + i / 60), "score": float(rng.random())}
            for i in range(40) for j in range(int(rng.integers(1, 7)))]  # fmt: skip
    frame = pl.DataFrame(rows).with_columns(cluster=pl.col("id"))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=2)
    shards = Frames([shuffled[i : i + 7] for i in range(0, len(frame), 7)])
    statistics = [mean_of("em", direction="higher"), mean_of("score")]
    told = [
        repeats(m, statistics, ["em", "score"], samples_of(m, "sample"), options=QUICK).to_dict()
        for m in (Frames(frame), shards)
    ]
    assert told[0] == told[1]


def test_weights_of_examples_count():
    marks: Marks = {"a": [True, True], "b": [False, False], "c": [True, False]}
    weight = pl.col("id").replace_strict({"a": 30.0, "b": 10.0, "c": 10.0})
    heavy = figures_of(table_of(marks, weight=weight))
    thrice = {"a1": marks["a"], "a2": marks["a"], "a3": marks["a"], "b": marks["b"], "c": marks["c"]}
    alike = figures_of(table_of(thrice))
    assert heavy.figure("pass@2").value == pytest.approx(alike.figure("pass@2").value)
    assert heavy.figure("pass^2").value == pytest.approx(3 / 5)


def test_slices_by_what_examples_have_and_not_by_what_samples_have():
    marks: Marks = {"a": [True, True], "b": [False, True], "c": [False, False]}
    frame = table_of(marks, kind=pl.when(pl.col("id") == "c").then(pl.lit("hard")).otherwise(pl.lit("easy")))
    found = figures_of(frame, slices=[("kind",), ("sample",)])
    assert list(found.slices) == [("kind",)]
    by = {f.slice["kind"]: f.value for row in found.slices["kind",] for f in row if f.name == "em.pass@2"}
    assert by == {"easy": 1.0, "hard": 0.0}
    assert any(note.startswith("by sample:") for note in found.notes)


def test_means_are_recognised():
    shares = {name for name in ("ece", "brier", "accuracy") for s in calibrated.QUESTION.statistics({})
              if s.name == name and hasattr(s, "finish") and is_mean(s)}  # fmt: skip
    assert shares == {"brier", "accuracy"}


# -- through the questions -------------------------------------------------------------------------------------------


def answers(samples: int = 4, examples: int = 30, seed: int = 0, **more: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {"id": f"q{i}", "sample": j, "confidence": round(float(rng.random()), 3),
         "correct": bool(rng.random() < 0.2 + i / 50), "talk": f"t{i // 3}", **more}
        for i in range(examples) for j in range(samples)
    ]  # fmt: skip


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_rows_that_share_an_id_and_differ_in_sample_are_taken_as_samples():
    result = calibrated.evaluate(answers(), options=QUICK)
    accuracy = result["accuracy"]
    assert (accuracy.n, accuracy.clusters) == (120, 30)
    assert result.signature.method["repeat"] == "sample" and "repeat:sample" in result.signature.short
    assert result.repeats is not None and result.repeats.at == [1, 2, 4]
    assert result["pass@4"] is result["accuracy.pass@4"]
    assert result["accuracy.pass@1"].value == pytest.approx(accuracy.value)
    assert isinstance(result["accuracy.icc"].low, float)
    with pytest.raises(KeyError, match="pass@4"):
        result["pass@5"]


def test_rows_with_ids_of_their_own_are_no_samples():
    rows = [{**row, "id": str(i)} for i, row in enumerate(answers())]
    result = calibrated.evaluate(rows, options=QUICK)
    assert result.repeats is None and "repeat" not in result.signature.method
    without = [{k: v for k, v in row.items() if k != "sample"} for row in answers()]
    shared = calibrated.evaluate(without, options=QUICK)
    assert shared.repeats is None and any("rows share 30 ids" in note for note in shared.notes)


def test_the_same_sample_twice():
    rows = answers() + answers()[:3]
    by_itself = calibrated.evaluate(rows, options=QUICK)
    assert by_itself.repeats is None
    assert any("3 have the same value there too" in note for note in by_itself.notes)
    named = calibrated.evaluate(rows, repeat="sample", options=QUICK)
    assert named.repeats is not None and named.repeats.samples == (4, 4, 7)
    assert any(note.startswith("3 rows have the id and the 'sample' of another row") for note in named.repeats.notes)


def test_a_coarser_cluster_wins_and_the_example_stays_the_unit():
    result = calibrated.evaluate(answers(), cluster="talk", options=QUICK)
    assert result["accuracy"].clusters == 10
    passed = result["pass@4"]
    assert (passed.n, passed.clusters) == (30, 10)
    alone = calibrated.evaluate(answers(), options=QUICK)
    assert passed.value == alone["pass@4"].value and alone["pass@4"].clusters is None


def test_a_cluster_that_parts_samples():
    rows = [{**row, "seed": str(row["sample"])} for row in answers()]
    by_itself = calibrated.evaluate(rows, cluster="seed", options=QUICK)
    assert by_itself.repeats is None and by_itself["accuracy"].clusters == 4
    assert any("--cluster seed puts some of them apart" in note for note in by_itself.notes)
    with pytest.raises(InputError, match=r"samples of one example in one cluster.*'q0'"):
        calibrated.evaluate(rows, cluster="seed", repeat="sample", options=QUICK)


@pytest.mark.parametrize("question", ["calibrated", "faithful", "correct", "robust"])
def test_a_column_that_is_not_there_is_told_before_anything_is_made(question: str, tmp_path: Path, capsys: Any) -> None:
    row = {"id": "a", "sample": 1, "confidence": 0.5, "correct": True, "query": "SELECT a FROM t", "sentence": "a",
           "prediction": "SELECT a FROM t", "gold": "SELECT a FROM t", "premise": "p", "hypothesis": "h",
           "label": "entailment"}  # fmt: skip
    file = lines(tmp_path / "rows.jsonl", [row])
    out = tmp_path / "run"
    assert main([question, file, "--repeat", "smaple", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "smaple" in said and "Did you mean 'sample'?" in said and said.count("\n") <= 2
    assert not out.exists()
    unnamed = lines(tmp_path / "unnamed.jsonl", [{k: v for k, v in row.items() if k != "id"}])
    assert main([question, unnamed, "--repeat", "sample", "--out", str(out)]) == 2
    assert "a column that names the example" in capsys.readouterr().err
    assert not out.exists()


def test_what_has_no_meaning_is_refused(tmp_path: Path) -> None:
    rows = [{"id": "a", "query": "SELECT a FROM t", "sentence": "a", "sample": 1}]
    with pytest.raises(InputError, match="--repeat has no meaning with --as blec"):
        faithful.evaluate(rows, parity="blec", repeat="sample", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="repeat"):
        faithful.evaluate(rows, repeat="id")
    from sensecheck import demo

    with pytest.raises(InputError, match="--level sequence"):
        calibrated.evaluate(demo.path("parser_a.logits.gz"), repeat="sample", limit=5)


def test_samples_in_several_files(tmp_path: Path) -> None:
    rows = answers()
    for j in range(4):
        lines(tmp_path / f"s{j}.jsonl", [row for row in rows if row["sample"] == j])
    several = calibrated.evaluate(str(tmp_path / "s*.jsonl"), repeat="sample", options=QUICK)
    together = calibrated.evaluate(rows, repeat="sample", options=QUICK)
    assert several.repeats is not None and together.repeats is not None
    assert several.repeats.to_dict() == together.repeats.to_dict()


def test_a_run_is_stored_shown_loaded_and_gated(tmp_path: Path, capsys: Any) -> None:
    file = lines(tmp_path / "rows.jsonl", answers())
    out = tmp_path / "run"
    code = main(["calibrated", file, "--slice", "talk", "--resamples", "50", "--out", str(out),
                 "--fail-under", "pass@4=0.999", "--fail-over", "accuracy.flips=0.01"])  # fmt: skip
    said = capsys.readouterr()
    assert code == 1 and "pass@4 is" in said.err and "accuracy.flips is" in said.err
    assert "120 rows are samples of 30 examples, 4 each" in said.out
    assert "where the variance of a row lies" in said.out and "several samples, by talk" in said.out
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'id="samples"' in page and "at least one of k" in page
    stored = json.loads((out / "summary.json").read_text(encoding="utf-8"))["repeats"]
    assert (stored["column"], stored["examples"], stored["samples"], stored["at"]) == (
        "sample",
        30,
        [4, 4, 4],
        [1, 2, 4],
    )
    loaded = sensecheck.load(out)
    assert loaded.repeats is not None
    assert json.loads(json.dumps(loaded.to_dict()["repeats"])) == stored
    assert loaded["pass@4"].value == next(f["value"] for f in stored["figures"] if f["name"] == "accuracy.pass@4")
    # A gate on the interval's worse end has one to judge.
    assert main(["calibrated", file, "--resamples", "50", "--gate-on", "bound", "--fail-under", "pass@4=0.01"]) == 0


def test_faithful_and_correct_on_the_command_line(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(2)
    pairs, queries = [], []
    for i in range(20):
        for j in range(3):
            right = bool(rng.random() < 0.6)
            said = "What are the names of singers older than 30?" if right else "What are the names of singers?"
            pairs.append(
                {"id": f"q{i}", "sample": j, "query": "SELECT name FROM singer WHERE age > 30", "sentence": said}
            )
            wrote = "SELECT name FROM t" if right else "SELECT age FROM t"
            queries.append({"id": f"q{i}", "epoch": j, "prediction": wrote, "gold": "SELECT name FROM t"})
    for question, rows, head, missing in (("faithful", pairs, "consistent", True), ("correct", queries, "em", False)):
        file = lines(tmp_path / f"{question}.jsonl", rows)
        assert main([question, file, "--resamples", "50", "--format", "json"]) == 0
        told = json.loads(capsys.readouterr().out)
        figures = {f["name"]: f for f in told["repeats"]["figures"]}
        assert {f"{head}.pass@3", f"{head}.pass^3", f"{head}.flips", f"{head}.between"} <= set(figures)
        assert ("missing.any@3" in figures and "missing.all@3" in figures) == missing
        (row,) = (f for f in told["figures"] if f["name"] == head)
        assert (row["n"], row["clusters"]) == (60, 20)
        assert figures[f"{head}.pass@3"]["n"] == 20 and figures[f"{head}.pass@3"]["interval"] is not None


def test_conversations_are_the_clusters_of_correct():
    rows = [
        {"id": f"q{i}", "sample": j, "conversation": f"c{i // 4}", "gold": "SELECT a FROM t",
         "prediction": "SELECT a FROM t" if (i + j) % 3 else "SELECT b FROM t"}
        for i in range(12) for j in range(3)
    ]  # fmt: skip
    result = correct.evaluate(rows, options=QUICK)
    assert (result["em"].n, result["em"].clusters) == (36, 3)
    assert (result["em.pass@3"].n, result["em.pass@3"].clusters) == (12, 3)


def test_robust_and_diverse_take_samples():
    pairs = [
        {"id": f"p{i}", "sample": j, "premise": "A man is playing a guitar on the stage.",
         "hypothesis": f"A man is playing {'an instrument' if j else 'a guitar'}.", "label": "entailment"}
        for i in range(3) for j in range(2)
    ]  # fmt: skip
    judged = robust.evaluate(pairs, repeat="sample", options=QUICK)
    assert judged.repeats is not None
    assert judged.repeats.examples == 6  # a pair in each polarity
    assert judged["accuracy.pass@2"].n == 3 and judged["strictly_inequal.any@2"].direction == "lower"
    sets = [
        {"id": f"s{i}", "sample": j, "hypotheses": ["one answer here", f"another answer {j}"],
         "references": [["one answer here"], ["something else"]]}
        for i in range(4) for j in range(2)
    ]  # fmt: skip
    varied = diverse.evaluate(sets, repeat="sample", options=QUICK)
    assert varied.repeats is not None and varied["mds.icc"].n == 4


def test_an_interrupted_run_with_other_samples_is_not_resumed(tmp_path: Path) -> None:
    rows = [{**row, "run": row["sample"]} for row in answers()]
    file = lines(tmp_path / "rows.jsonl", rows)
    calibrated.evaluate(file, repeat="sample", out=tmp_path / "run", options=QUICK)
    again = calibrated.evaluate(file, repeat="sample", out=tmp_path / "run", resume=True, options=QUICK)
    assert again.repeats is not None
    with pytest.raises(Exception, match="repeat was sample, now run"):
        calibrated.evaluate(file, repeat="run", out=tmp_path / "run", resume=True, options=QUICK)


def test_each_sample_is_shown_with_its_own_text():
    rows = [
        {"id": f"q{i}", "sample": j, "query": "SELECT name FROM singer", "sentence": f"What are the names of singers {i} {j}?"}
        for i in range(3) for j in range(3)
    ]  # fmt: skip
    result = faithful.evaluate(rows, options=QUICK)
    shown = result.examples(worst=9)
    assert {(r["id"], r["sample"]): r["sentence"] for r in shown.to_dicts()} == {
        (row["id"], str(row["sample"])): row["sentence"] for row in rows
    }


def test_two_runs_with_samples_are_compared():
    a = calibrated.evaluate(answers(seed=1), options=QUICK, system="A")
    b = calibrated.evaluate([{**row, "correct": True} for row in answers(seed=2)], options=QUICK, system="B")
    differences = {d.name: d for d in a.compare(b).differences}
    assert differences["accuracy"].units == 30
    assert differences["accuracy"].difference == pytest.approx(1 - a["accuracy"].value)


def test_evaluation_files_take_repeat(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    lines(tmp_path / "rows.jsonl", [{**row, "draw": row["sample"]} for row in answers()])
    (tmp_path / "evaluation.toml").write_text(
        'systems = ["A"]\n[[evaluate]]\nquestion = "calibrated"\ndata = "rows.jsonl"\nrepeat = "draw"\n'
        'fail_under = { "pass@4" = 0.1 }\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert main(["run", "evaluation.toml"]) == 0, capsys.readouterr().err
    (summary,) = tmp_path.glob("runs/**/summary.json")
    assert json.loads(summary.read_text(encoding="utf-8"))["repeats"]["column"] == "draw"


@pytest.mark.parametrize(
    "name", ["pass@k", "accuracy.pass@16", "pass^4", "any@2", "all@k", "flips", "em.icc", "se_many_samples"]
)
def test_each_is_explained(name: str, capsys: Any) -> None:
    assert main(["explain", name]) == 0
    assert "formula" in capsys.readouterr().out
