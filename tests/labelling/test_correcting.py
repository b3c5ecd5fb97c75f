"""`--human`: figures corrected by labels, shown beside the verdicts' own, in runs, reports and comparisons."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sensecheck import calibrated, load
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.labelling.drawing import draw
from sensecheck.labelling.items import items_of
from sensecheck.report.comparison import compare
from sensecheck.report.result import Result
from sensecheck.statistics.compare import ComparisonError
from sensecheck.statistics.corrected import RowSums, normal_interval
from sensecheck.statistics.figure import IntervalOptions

QUICK = IntervalOptions(replicates=20)
NAME = "accuracy_corrected"


class World:
    """Answers of a system, what is true of them, and what a verdict that is too kind says."""

    def __init__(self, name: str = "a", n: int = 600, rate: float = 0.7, kind: float = 0.3, seed: int = 1) -> None:
        chance = random.Random(seed)
        self.truth = {f"q{i}": chance.random() < rate for i in range(n)}
        self.rows = [
            {
                "id": key,
                "confidence": 0.5,
                "correct": right or chance.random() < kind,
                "kind": "<b>a" if i % 2 else "b",
                "question": f"What is {i}?",
                "answer": f"{name} {i}",
            }
            for i, (key, right) in enumerate(self.truth.items())
        ]

    def run(self, **given: Any) -> Result:
        given = {"options": QUICK, "system": "A", "slices": ["kind"], **given}
        return calibrated.evaluate(given.pop("rows", self.rows), **given)

    def labels(self, result: Result, n: int = 80, by: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        items = items_of(result, by)
        return [
            {
                "sensecheck": "labels/1", "question": "calibrated", "id": row["id"], "note": "", "who": "anna",
                "label": "right" if self.truth[row["id"].partition("~")[0]] else "wrong", "example": row["example"],
                "run": items.digest, "stratum": json.loads(row["stratum"]), "probability": row["probability"],
                "size": row["size"], "of": row["of"],
            }
            for row in draw(items, n, by).iter_rows(named=True)
        ]  # fmt: skip


def written(path: Path, labels: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(one) + "\n" for one in labels), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def run(world: World) -> Result:
    return world.run()


@pytest.fixture(scope="module")
def labels(world: World, run: Result, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("labels") / "anna.jsonl", world.labels(run))


# ---- one run


def test_labels_take_out_what_a_kind_verdict_adds(world: World, run: Result, labels: str) -> None:
    found = run.corrected_by(labels)[NAME]
    truth = np.mean(list(world.truth.values()))
    raw = run["accuracy"]
    assert isinstance(raw.low, float) and isinstance(found.low, float) and isinstance(found.high, float)
    assert raw.low > truth, "the verdict is too kind, and sure of itself"
    assert found.low <= truth <= found.high and found.bounds is not None
    assert found.beside["by verdicts"] == raw.value
    assert found.beside["labels"] == 80 and found.n == 600
    assert found.beside["worth"] > 80


def test_the_estimate_is_that_of_its_formula(world: World, run: Result, labels: str) -> None:
    """Worked out row by row from the labels of a stratified draw."""
    said = [json.loads(line) for line in Path(labels).read_text().splitlines()]
    verdict = {row["id"]: float(row["correct"]) for row in world.rows}
    w = np.array([1 / one["probability"] for one in said])
    y = np.array([float(one["label"] == "right") for one in said])
    f = np.array([verdict[one["id"]] for one in said])
    found = run.corrected_by(labels)[NAME]
    believed = found.beside["verdicts believed"]
    expected = (w * (y - believed * f)).sum() / w.sum() + believed * np.mean(list(verdict.values()))
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert 0 < believed < 1


def test_every_slice_has_its_own(run: Result, labels: str) -> None:
    corrected = run.corrected_by(labels).corrected
    assert corrected is not None
    rows = corrected.slices["kind",]
    assert [row[0].slice["kind"] for row in rows] == [row[0].slice["kind"] for row in run.slices("kind")]
    assert sum(row[0].n for row in rows) == 600 and sum(row[0].beside["labels"] for row in rows) == 80


def test_a_slice_without_labels_says_so(world: World) -> None:
    rows = [{**row, "kind": "rare" if i < 3 else "often"} for i, row in enumerate(world.rows)]
    result = world.run(rows=rows)
    labels = [one for one in world.labels(result) if one["id"] not in ("q0", "q1", "q2")]
    corrected = result.corrected_by(labels_table(labels)).corrected
    assert corrected is not None
    (rare,) = (row[0] for row in corrected.slices["kind",] if row[0].slice["kind"] == "rare")
    assert np.isnan(rare.value) and rare.absent == "no label here says right or wrong"


def labels_table(labels: list[dict[str, Any]]) -> Any:
    from tempfile import TemporaryDirectory

    from sensecheck.labelling.reading import read

    with TemporaryDirectory() as folder:
        return read(written(Path(folder) / "labels.jsonl", labels))


def undrawn(labels: list[dict[str, Any]]) -> Any:
    """As other tools export them: nothing says how the examples were drawn."""
    return labels_table(labels).with_columns(
        pl.lit(None).alias(name) for name in ("stratum", "probability", "size", "of")
    )


def test_it_is_shown_everywhere_and_kept(
    world: World, run: Result, labels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in world.rows))
    given = [str(rows), "--system", "A", "--slice", "kind", "--out", str(tmp_path / "run"), "--resamples", "20"]
    assert main(["calibrated", *given, "--human", labels, "--fail-under", f"{NAME}=0.99"]) == 1
    told = capsys.readouterr()
    assert "corrected by labels" in told.out and "accuracy, corrected" in told.out and "human:" in told.out
    assert NAME in told.err
    kept = load(tmp_path / "run")
    again = run.corrected_by(labels)
    assert kept[NAME] == again[NAME] and kept.to_dict()["corrected"] == again.to_dict()["corrected"]
    assert any("With 80 labels, accuracy is" in sentence for sentence in kept.verdict())
    page = (tmp_path / "run" / "report.html").read_text()
    assert 'id="corrected"' in page and "&lt;b&gt;a" in page and "<b>a" not in page
    assert main(["calibrated", *given[:-4], *given[-2:], "--out", str(tmp_path / "plain")]) == 0
    assert main(["report", str(tmp_path / "plain"), "--slice", "kind", "--human", labels, "--format", "markdown"]) == 0
    assert "accuracy, corrected" in capsys.readouterr().out


def test_the_normal_interval_is_that_of_the_formula_of_ppi(world: World) -> None:
    result = world.run(options=IntervalOptions(method="normal", replicates=20))
    plain = world.run()
    assert (result["accuracy"].low, result["ece"].low) == (plain["accuracy"].low, plain["ece"].low)
    labels = world.labels(result)
    found = result.corrected_by(labels_table(labels))[NAME]
    verdict = {row["id"]: float(row["correct"]) for row in world.rows}
    y = np.array([float(one["label"] == "right") for one in labels])
    f = np.array([verdict[one["id"]] for one in labels])
    w = np.array([1 / one["probability"] for one in labels])
    everybody = np.array(list(verdict.values()))
    ones = np.ones_like(everybody)
    expected = normal_interval(RowSums.of(f, y, w), RowSums.of(everybody, 0 * everybody, ones), 0.95)
    assert [found.value, found.low, found.high] == pytest.approx([float(x) for x in expected[:3]], abs=1e-9)
    assert "ppi++-normal" in result.corrected_by(labels_table(labels)).signature.short
    # Without a draw that is told, every row was as likely, and the others are those without a label.
    others = everybody[[key not in {one["id"] for one in labels} for key in verdict]]
    expected = normal_interval(RowSums.of(f, y, w**0), RowSums.of(others, 0 * others, np.ones_like(others)), 0.95)
    found = result.corrected_by(undrawn(labels))[NAME]
    assert [found.value, found.low, found.high] == pytest.approx([float(x) for x in expected[:3]], abs=1e-9)


def test_without_intervals_there_is_a_value(world: World) -> None:
    result = world.run(options=IntervalOptions(method="none"))
    corrected = result.corrected_by(labels_table(world.labels(result)))
    found = corrected[NAME]
    assert found.low is None and 0 < found.value < 1
    assert corrected.corrected is not None
    (told,) = corrected.corrected.sentences()
    assert f" is {found.value:.1%}; the verdicts by themselves say " in told


# ---- labels that say little


def test_unclear_labels_are_told_and_count_for_nothing(world: World, run: Result) -> None:
    labels = world.labels(run)
    for one in labels[:10]:
        one["label"] = "unclear"
    result = run.corrected_by(labels_table(labels))
    assert result.corrected is not None
    assert any("10 of 80 labelled examples are unclear" in note for note in result.corrected.notes)
    assert result[NAME].beside["labels"] == 70


def test_all_unclear_is_no_figure(world: World, run: Result) -> None:
    labels = [{**one, "label": "unclear"} for one in world.labels(run)]
    result = run.corrected_by(labels_table(labels))
    assert np.isnan(result[NAME].value) and result[NAME].absent == "no label here says right or wrong"
    assert any(sentence.startswith("The labels correct no figure") for sentence in result.verdict())


def test_a_stratum_that_is_unclear_throughout_is_no_figure(world: World, run: Result) -> None:
    labels = [
        {**one, "label": "unclear"} if one["stratum"]["verdict"] == "wrong" else one for one in world.labels(run)
    ]  # fmt: skip
    found = run.corrected_by(labels_table(labels))[NAME]
    assert np.isnan(found.value) and "of the stratum verdict 'wrong'" in found.absent


def test_people_who_disagree_evenly_decide_nothing(world: World, run: Result) -> None:
    labels = world.labels(run)
    other = [{**one, "who": "ben"} for one in labels]
    other[0]["label"] = "wrong" if labels[0]["label"] == "right" else "right"
    result = run.corrected_by(labels_table([*labels, *other]))
    assert result.corrected is not None and result[NAME].beside["labels"] == 79
    assert any("on 1 examples as many people" in note for note in result.corrected.notes)


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_labels(world: World, run: Result, count: int) -> None:
    found = run.corrected_by(undrawn(world.labels(run)[:count]))[NAME]
    assert isinstance(found.low, float) and isinstance(found.high, float)
    assert found.high - found.low > 0.5 and found.beside["verdicts believed"] == 0


def test_where_everything_is_labelled_the_interval_is_that_of_the_labels(world: World) -> None:
    small = World(n=60)
    result = small.run()
    found = result.corrected_by(labels_table(small.labels(result, 60)))[NAME]
    truth = calibrated.evaluate(
        [{**row, "correct": small.truth[row["id"]]} for row in small.rows], options=QUICK, system="A"
    )["accuracy"]
    assert found.value == pytest.approx(truth.value) and found.beside["verdicts believed"] == 0
    assert [found.low, found.high] == pytest.approx([truth.low, truth.high], abs=1e-9)


def test_a_verdict_that_never_varies_is_not_asked(world: World) -> None:
    rows = [{**row, "correct": True} for row in world.rows]
    result = world.run(rows=rows)
    found = result.corrected_by(labels_table(world.labels(result)))[NAME]
    assert found.beside["verdicts believed"] == 0 and found.value == pytest.approx(found.beside["by labels alone"])


# ---- rows that belong together, weights, ids that repeat


def test_rows_of_a_cluster_count_together(world: World) -> None:
    rows = [{**row, "talk": f"t{i // 6}"} for i, row in enumerate(world.rows)]
    result = world.run(rows=rows, cluster="talk")
    found = result.corrected_by(labels_table(world.labels(result)))[NAME]
    assert found.clusters == 100 and "clusters" in found.method


def test_the_scale_of_weights_makes_no_difference(world: World) -> None:
    ends = []
    for scale in (1.0, 1e-5):
        rows = [{**row, "w": scale * (1 + i % 3)} for i, row in enumerate(world.rows)]
        result = world.run(rows=rows, weight="w")
        found = result.corrected_by(labels_table(world.labels(result)))[NAME]
        assert found.beside["by verdicts"] == pytest.approx(result["accuracy"].value)
        ends.append([found.value, found.low, found.high])
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


def test_rows_that_share_an_id_are_one_unit(world: World) -> None:
    rows = [*world.rows, *({**row, "answer": "again"} for row in world.rows[:200])]
    result = world.run(rows=rows)
    found = result.corrected_by(labels_table(world.labels(result)))[NAME]
    assert found.n == 800 and found.clusters == 600


# ---- what is refused


def test_labels_of_a_row_that_has_no_verdict_are_refused(world: World, run: Result) -> None:
    labels = world.labels(run)
    rows = [{**row, "correct": None} if row["id"] == labels[0]["id"] else row for row in world.rows]
    result = world.run(rows=rows, skip_bad=True)
    with pytest.raises(InputError, match="no example with a verdict called"):
        result.corrected_by(labels_table(labels))


def test_a_refused_label_leaves_the_run(world: World, tmp_path: Path, labels: str) -> None:
    other = World("other")
    with pytest.raises(InputError, match="made for another run"):
        other.run(human=labels, out=tmp_path / "run")
    assert load(tmp_path / "run")["accuracy"].n == 600


def test_labels_that_cannot_be_read_are_told_before_anything_is_measured(world: World, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{no label\n")
    with pytest.raises(InputError):
        world.run(human=str(tmp_path / "bad.jsonl"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_figure_of_tokens_is_not_corrected() -> None:
    from sensecheck.labelling.correcting import corrected_statistic

    line = '{"id": "s%d", "top_logits": [[0.9, 0.1], [0.8, 0.2]], "top_logit_idxs": [[1, 2], [3, 4]], "labels": [1, 3]}'
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.logits"
        path.write_text("".join(line % i + "\n" for i in range(5)))
        with pytest.raises(InputError, match="share of tokens"):
            corrected_statistic(calibrated.evaluate(str(path), options=QUICK))


# ---- two runs


@pytest.fixture(scope="module")
def duel(world: World, run: Result, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result, list[str]]:
    """B is better; its verdict is as good as A's."""
    other = World("b", rate=0.9, seed=1)
    result = other.run(system="B")
    folder = tmp_path_factory.mktemp("duel")
    own = [written(folder / "a.jsonl", world.labels(run)), written(folder / "b.jsonl", other.labels(result))]
    return run, result, own


def test_two_runs_are_compared_by_labels_of_both(duel: tuple[Result, Result, list[str]], tmp_path: Path) -> None:
    a, b, labels = duel
    found = compare([a, b], human=labels)
    (pair,) = found.pairs
    assert pair.corrected is not None and pair.corrected.difference is not None
    d = pair.corrected.difference
    assert d.a == pytest.approx(a.corrected_by(labels[0])[NAME].value)
    assert d.b == pytest.approx(b.corrected_by(labels[1])[NAME].value)
    assert d.low is not None and d.low > 0 and d.p is not None and d.p < 0.05 and d.better == "b"
    assert found.verdict()[-1].startswith("Corrected by labels, B is better on accuracy")
    assert found.to_dict()["corrected"]["labels"] == [80, 80]
    page = found.to_html(tmp_path / "page.html").read_text()
    assert "B minus A, corrected by labels" in page
    # Which file is first makes no difference, nor does one file for both.
    both = tmp_path / "both.jsonl"
    both.write_text("".join(Path(path).read_text() for path in reversed(labels)))
    again = compare([a, b], human=str(both)).pairs[0].corrected
    assert again is not None and again.to_dict() == pair.corrected.to_dict()


def test_runs_corrected_by_labels_of_their_own_can_be_compared(duel: tuple[Result, Result, list[str]]) -> None:
    a, b, labels = duel
    found = compare([a.corrected_by(labels[0]), b.corrected_by(labels[1])])
    assert found.pairs[0].corrected is None and found.pairs[0]["accuracy"].better == "b"


def test_labels_of_one_run_alone_correct_no_difference(duel: tuple[Result, Result, list[str]]) -> None:
    a, b, labels = duel
    with pytest.raises(ComparisonError, match="there are no labels of B"):
        compare([a, b], human=labels[:1])


def test_labels_of_a_third_run_are_refused(duel: tuple[Result, Result, list[str]], tmp_path: Path) -> None:
    a, b, labels = duel
    third = World("c", seed=9)
    path = written(tmp_path / "c.jsonl", third.labels(third.run()))
    with pytest.raises(InputError, match="made for a run that is not compared here"):
        compare([a, b], human=[*labels, path])


def test_three_runs_are_one_family(duel: tuple[Result, Result, list[str]], tmp_path: Path) -> None:
    a, b, labels = duel
    third = World("c", rate=0.7, seed=9)
    third.truth = dict(zip(third.truth, third.truth.values(), strict=True))
    result = third.run(system="C")
    found = compare([a, b, result], human=[*labels, written(tmp_path / "c.jsonl", third.labels(result))])
    ps = [pair.corrected.difference for pair in found.pairs if pair.corrected is not None]
    assert len(ps) == 2 and all(d is not None and d.p_corrected is not None and d.p is not None for d in ps)
    assert ps[0] is not None and ps[0].p_corrected == pytest.approx(min(1, 2 * ps[0].p))
    partly = compare([a, b, result], human=labels)
    assert partly.pairs[1].corrected is not None and partly.pairs[1].corrected.difference is None
    assert "there are no labels of C" in partly.verdict()[-1]


# ---- how sure a run was, held against labels


def test_a_run_is_asked_how_calibrated_its_confidence_is(world: World, tmp_path: Path) -> None:
    rows = [{**row, "confidence": 0.9 if row["correct"] else 0.2} for row in world.rows]
    result = world.run(rows=rows, out=tmp_path / "run")
    said = world.labels(result, 100)
    labels = written(tmp_path / "anna.jsonl", said)
    found = calibrated.evaluate(str(tmp_path / "run"), human=labels, slices=["kind"], options=QUICK)
    sure = {row["id"]: row["confidence"] for row in rows}
    weights = np.array([1 / one["probability"] for one in said])
    right = np.array([float(one["label"] == "right") for one in said])
    confidence = np.array([sure[one["id"]] for one in said])
    gap = (weights * (confidence - right)).sum() / weights.sum()
    assert found["confidence_gap"].value == pytest.approx(gap)
    # Two confidences are two bins: the ECE is by hand.
    by_bin = [abs((weights * (confidence - right))[confidence == one].sum()) for one in (0.2, 0.9)]
    assert found["ece"].value == pytest.approx(sum(by_bin) / weights.sum())
    assert found["ece"].n == 100 and len(found.slices("kind")) == 2
    assert "human" in found.signature.method and found.signature.method["confidence"] == "confidence"
    with pytest.raises(InputError, match="no meaning for the labels of a run"):
        calibrated.evaluate(str(tmp_path / "run"), human=labels, weight="kind", options=QUICK)
    with pytest.raises(InputError, match="none of its numbers"):
        calibrated.evaluate(str(tmp_path / "run"), human=labels, columns={"confidence": "kind"}, options=QUICK)


def test_doubt_of_faithful_is_a_confidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sensecheck import faithful

    pairs = [
        {"id": f"p{i}", "query": f"SELECT name FROM people WHERE age > {i}", "db_id": "x",
         "sentence": f"names of people older than {i + (i % 3 == 0)}"}
        for i in range(30)
    ]  # fmt: skip
    result = faithful.evaluate(pairs, options=QUICK, out=tmp_path / "run")
    items = items_of(result, ())
    said = [
        {
            "sensecheck": "labels/1", "question": "faithful", "id": row["id"], "note": "", "who": "anna",
            "label": "wrong" if int(row["id"][1:]) % 3 == 0 else "right", "example": row["example"],
            "run": items.digest, "stratum": json.loads(row["stratum"]), "probability": row["probability"],
            "size": row["size"], "of": row["of"],
        }
        for row in draw(items, 20, ()).iter_rows(named=True)
    ]  # fmt: skip
    labels = written(tmp_path / "anna.jsonl", said)
    assert main(["calibrated", str(tmp_path / "run"), "--human", labels, "--resamples", "20"]) == 0
    told = capsys.readouterr().out
    assert "1 − doubt" in told and "20 labelled examples of a run of faithful" in told
