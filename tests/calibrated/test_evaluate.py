"""`sensecheck.calibrated.evaluate`, from files and arrays to a result."""

from __future__ import annotations

import gzip
import io
import json
import math

import numpy as np
import polars as pl
import pytest
import zstandard

import sensecheck
from sensecheck import InputError, calibrated
from sensecheck.cli import main
from sensecheck.report.page import page
from sensecheck.report.question import question as the_question
from sensecheck.statistics.figure import IntervalOptions

NO_CI = IntervalOptions(method="none")


def pairs(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = rng.beta(5, 2, n)
    return confidence, rng.random(n) < confidence


def plain(result) -> list[dict]:
    """Figures in a form in which what does not exist equals itself."""
    return [f.to_dict() for f in result.figures]


def logits_lines(sequences: int = 40, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(sequences):
        n = int(rng.integers(2, 9))
        top = np.sort(rng.dirichlet(np.ones(6), n), axis=1)[:, -3:]
        ids = rng.integers(0, 9, (n, 3))
        labels = [int(row[2] if rng.random() < p[2] else row[0]) for row, p in zip(ids, top, strict=True)]
        lines.append(
            json.dumps(
                {
                    "id": f"s{i}",
                    "top_logits": top.tolist(),
                    "top_logit_idxs": ids.tolist(),
                    "labels": labels,
                    "input_str": f"question {i}",
                    "kind": ["a", "b"][i % 2],
                }
            )
        )
    return lines


@pytest.fixture
def logits(tmp_path):
    path = tmp_path / "dev.logits"
    path.write_text("\n".join(logits_lines()) + "\n")
    return path


def test_arrays_lists_and_tables_in_memory_give_the_same_figures():
    confidence, correct = pairs()
    table = pl.DataFrame({"confidence": confidence, "correct": correct})
    first = calibrated.evaluate(confidence=confidence, correct=correct)
    for data in (table, table.to_pandas(), table.to_arrow(), table.to_dicts(), table.to_dict(as_series=False)):
        assert plain(calibrated.evaluate(data)) == plain(first)


def test_every_way_of_writing_a_table_gives_the_same_figures(tmp_path):
    confidence, correct = pairs(50)
    table = pl.DataFrame({"confidence": confidence, "correct": correct})
    first = calibrated.evaluate(table, options=NO_CI)
    table.write_csv(tmp_path / "t.csv")
    table.write_csv(tmp_path / "t.tsv", separator="\t")
    table.write_parquet(tmp_path / "t.parquet")
    table.write_ndjson(tmp_path / "t.jsonl")
    table.write_json(tmp_path / "t.json")
    words = ["Correct" if c else "Wrong" for c in correct]
    (tmp_path / "t.txt").write_text(
        "grade confidence_level\n" + "".join(f"{w} {c!r}\n" for w, c in zip(words, confidence.tolist(), strict=True))
    )
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    (tmp_path / "t.csv.zst").write_bytes(zstandard.compress((tmp_path / "t.csv").read_bytes()))
    for path in sorted(tmp_path.iterdir()):
        assert plain(calibrated.evaluate(path, options=NO_CI)) == plain(first), path.name


def test_tokens_carry_their_sequence_as_cluster_and_its_fields_as_slices(logits):
    result = calibrated.evaluate(logits, slices=["kind"])
    frame = result.measurements
    assert frame.columns[0] == "id" and frame["id"][0] == "s0:0"
    assert frame["cluster"].n_unique() == 40 == result["ece"].clusters
    assert [f[0].slice for f in result.slices("kind")] == [{"kind": "a"}, {"kind": "b"}]
    assert result.texts is not None
    assert "level:token" in result.signature.short and "scale:probabilities" in result.signature.short


@pytest.mark.parametrize("how", ["product", "mean-logprob", "min", "length-normalised"])
def test_sequences(logits, how):
    result = calibrated.evaluate(logits, level="sequence", aggregate=how, options=NO_CI)
    tokens = calibrated.evaluate(logits, options=NO_CI).measurements
    frame = result.measurements
    assert len(frame) == 40 and f"aggregate:{how}" in result.signature.short
    p = tokens.filter(pl.col("cluster") == "s3")["confidence"].to_numpy()
    n = len(p)
    expected = {
        "product": p.prod(),
        "mean-logprob": math.exp(np.log(p).mean()),
        "min": p.min(),
        "length-normalised": math.exp(np.log(p).sum() / ((5 + n) / 6) ** 0.6),
    }[how]
    row = frame.filter(pl.col("id") == "s3")
    assert row["confidence"][0] == pytest.approx(expected)
    assert row["correct"][0] == tokens.filter(pl.col("cluster") == "s3")["correct"].all()


def test_ignored_tokens_by_gold_and_by_prediction(logits):
    everything = calibrated.evaluate(logits, options=NO_CI)
    by_gold = calibrated.evaluate(logits, ignore_tokens=[3], options=NO_CI)
    by_prediction = calibrated.evaluate(logits, ignore_tokens=["3"], ignore_by="predicted", options=NO_CI)
    assert by_gold.rows.height < everything.rows.height > by_prediction.rows.height
    assert set(by_gold.measurements["id"]) != set(by_prediction.measurements["id"])
    assert any("ignored tokens" in note for note in by_gold.notes)
    assert "ignore:gold:3" in by_gold.signature.short


def test_globs_several_files_and_standard_input(tmp_path, monkeypatch):
    lines = logits_lines()
    (tmp_path / "a.logits").write_text("\n".join(lines[:20]) + "\n")
    (tmp_path / "b.logits").write_text("\n".join(lines[20:]) + "\n")
    both = calibrated.evaluate(str(tmp_path / "*.logits"), options=NO_CI)
    assert (
        both.rows.height
        == calibrated.evaluate([tmp_path / "a.logits", tmp_path / "b.logits"], options=NO_CI).rows.height
    )
    assert len(both.inputs) == 2 and all(len(i["sha256"]) == 64 for i in both.inputs)
    data = gzip.compress(("\n".join(lines) + "\n").encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    piped = calibrated.evaluate("-", options=NO_CI)
    assert piped["ece"].value == pytest.approx(both["ece"].value)


def test_raw_logits_are_recognised_and_never_binned(tmp_path):
    path = tmp_path / "raw.txt"
    rng = np.random.default_rng(1)
    path.write_text("grade confidence_level\n" + "".join(f"Correct {x:.3f}\n" for x in rng.normal(20, 3, 50)))
    result = calibrated.evaluate(path)
    assert math.isnan(result["ece"].value) and result["ece"].unscored_total == 50
    assert result["accuracy"].value == 1.0
    assert "scale:raw-logits" in result.signature.short
    assert any("raw logits" in n for n in result.notes)
    told = calibrated.evaluate(path, scale="logits")
    assert told["ece"].n == 50 and "logits(sigmoid)" in told.signature.short


@pytest.mark.golden
def test_the_real_files_are_read_and_reported(shared):
    folder = shared / "data" / "calibration" / "llama13b_arc"
    norm = calibrated.evaluate(str(folder / "*norm_logits*"))
    assert norm.rows.height == 5180 and 0.24 < norm["ece"].value < 0.28
    assert norm["ece"].low > 10 * norm["ece"].beside["noise floor"]
    raw = calibrated.evaluate(str(folder / "*raw_logits*"))
    assert raw["ece"].n == 0 and raw["accuracy"].n == 5180


def test_log_probabilities(tmp_path):
    confidence, correct = pairs(60)
    table = pl.DataFrame({"confidence": np.log(confidence), "correct": correct})
    result = calibrated.evaluate(table, options=NO_CI)
    assert "scale:logprobs" in result.signature.short
    assert result["ece"].value == pytest.approx(
        calibrated.evaluate(confidence=confidence, correct=correct, options=NO_CI)["ece"].value
    )


def test_weights_clusters_and_columns():
    confidence, correct = pairs(90)
    table = pl.DataFrame(
        {
            "p": confidence,
            "ok": correct,
            "w": np.arange(90) % 3 + 1,
            "doc": np.arange(90) // 9,
            "lang": ["x", "y", "z"] * 30,
        }
    )
    names = {"confidence": "p", "correct": "ok"}
    result = calibrated.evaluate(table, columns=names, weight="w", cluster="doc", slices=["lang"])
    assert result["ece"].clusters == 10
    mean = float((table["p"] * table["w"]).sum() / table["w"].sum())
    assert result["mean_confidence"].value == pytest.approx(mean)
    assert "weight:w" in result.signature.short and "cluster:doc" in result.signature.short


def test_a_perfect_model_is_not_called_miscalibrated_and_an_overconfident_one_is():
    rng = np.random.default_rng(3)
    confidence = rng.beta(6, 2, 3000)
    perfect = calibrated.evaluate(confidence=confidence, correct=rng.random(3000) < confidence)
    assert perfect["ece"].low == 0.0 and "No miscalibration" in perfect.verdict()[0]
    assert perfect["ece"].value == pytest.approx(perfect["ece"].beside["noise floor"], rel=0.8)
    wrong = calibrated.evaluate(confidence=confidence, correct=rng.random(3000) < confidence**2)
    assert wrong["ece"].low > 0 and "Over-confident" in wrong.verdict()[1]


def test_a_certain_error_makes_nll_infinite_and_is_counted(tmp_path):
    result = calibrated.evaluate(
        confidence=[1.0, 1.0, 0.5, 0.0], correct=[True, False, True, False], out=tmp_path / "r"
    )
    nll, clipped = result["nll"], result["nll_clipped"]
    assert nll.value == math.inf and nll.n == 4 and nll.unscored_total == 0
    assert nll.beside == {"certain and wrong": 1}
    assert nll.low is None and nll.absent == "infinite: rows that are certain and wrong cost infinitely much"
    each = [-math.log1p(-1e-6), -math.log(1e-6), math.log(2), -math.log1p(-1e-6)]
    assert clipped.value == pytest.approx(sum(each) / 4)
    assert clipped.low is not None
    stored = next(f for f in json.loads((tmp_path / "r/summary.json").read_text())["figures"] if f["name"] == "nll")
    assert stored["value"] is None and stored["interval"] is None and stored["beside"] == {"certain and wrong": 1}
    for shown in (result, sensecheck.load(tmp_path / "r")):
        assert shown["nll"].value == math.inf
        row = next(r for r in shown.tables()[0].rows if r[0] == "NLL")
        assert row[1] == "∞" and row[shown.tables()[0].columns.index("certain and wrong")] == "1"
        assert '<td>NLL</td><td class="n">∞</td>' in page(shown)
    assert "NLL                                 ∞" in repr(result)


def test_without_a_certain_error_both_log_losses_agree():
    result = calibrated.evaluate(confidence=[0.9, 0.2, 0.5, 0.4], correct=[True, False, True, False])
    assert result["nll"].value == pytest.approx(result["nll_clipped"].value, abs=1e-15)
    assert result["nll"].low is not None and result["nll"].beside == {"certain and wrong": 0}
    assert "certain and wrong" not in result.tables()[0].columns  # nothing to say of it


def test_the_clip_is_in_the_signature_and_certain_errors_are_not_rewarded():
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.5, 0.95, 400)
    correct = rng.random(400) < confidence
    reckless = np.where(correct, confidence, 1.0)
    honest, certain = (
        calibrated.evaluate(confidence=c, correct=correct, system=name)
        for c, name in ((confidence, "honest"), (reckless, "reckless"))
    )
    compared = honest.compare(certain)
    assert compared["nll_clipped"].p < 0.001 and compared["nll_clipped"].low > 0
    assert compared["brier"].better == "a" and not any("reckless is better" in said for said in compared.verdict())
    assert "nll" not in [d.name for d in compared.differences]
    assert "nll-clip:1e-06" in honest.signature.long and "nll-clip" not in honest.signature.short
    other = calibrated.evaluate(confidence=confidence, correct=correct, nll_clip=0.01, options=NO_CI)
    assert "nll-clip:0.01" in other.signature.short
    assert other["nll_clipped"].title == "NLL, clipped at 0.01"
    for clip in (0, 0.5, -1, float("nan")):
        with pytest.raises(InputError, match="nll_clip: expected a number above 0 and below"):
            calibrated.evaluate(confidence=[0.5], correct=[True], nll_clip=clip)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("calibrated", ("brier_resolution", "brier_uncertainty", "mean_confidence", "confidence_gap")),
        ("diverse", ("ties", "margin", "words", "chance_mds")),
        ("robust", ("coverage",)),
    ],
)
def test_what_describes_the_task_or_the_instrument_has_no_better_direction(question, names):
    directions = {s.name: s.direction for s in the_question(question).statistics({})}
    assert {name: directions[name] for name in names} == dict.fromkeys(names, "none")


# -- weights --------------------------------------------------------------------------------------------------


def weighed(confidence, correct, weight, **options):
    return calibrated.evaluate({"confidence": confidence, "correct": correct, "w": weight}, weight="w", **options)


def test_whole_weights_equal_repeated_rows():
    rng = np.random.default_rng(5)
    confidence, correct = pairs(300)
    confidence = np.round(confidence, 2)
    weight = rng.integers(0, 5, 300)
    once = weighed(confidence, correct, weight, options=NO_CI)
    repeated = calibrated.evaluate(
        confidence=np.repeat(confidence, weight), correct=np.repeat(correct, weight), options=NO_CI
    )
    for figure in once.figures:
        if isinstance(figure.value, float):
            assert figure.value == pytest.approx(repeated[figure.name].value, abs=1e-12), figure.name


@pytest.mark.parametrize("weight", [1.0, 1.4, 1.5, 1e-5, 700.5])
def test_a_constant_weight_changes_nothing(weight):
    confidence, correct = pairs(300)
    plain_figures = calibrated.evaluate(confidence=confidence, correct=correct)
    for figure in weighed(confidence, correct, np.full(300, weight)).figures:
        if "noise floor" in figure.beside:
            other = plain_figures[figure.name]
            assert figure.beside == pytest.approx(other.beside, rel=1e-9), figure.name
            assert (figure.value, figure.low, figure.high) == pytest.approx(
                (other.value, other.low, other.high), rel=1e-6
            )


def test_the_noise_floor_of_weighted_rows_is_what_calibrated_rows_show():
    rng = np.random.default_rng(6)
    confidence, weight = rng.uniform(0, 1, 400), rng.exponential(1, 400)
    figures = weighed(confidence, rng.random(400) < confidence, weight)
    fold = np.eye(20)[np.minimum((confidence * 20).astype(int), 19)] * weight[:, None]
    off = (rng.random((5000, 400)) < confidence) @ fold - confidence @ fold
    assert figures["ece"].beside["noise floor"] == pytest.approx(np.abs(off).sum(1).mean() / weight.sum(), rel=0.03)
    square = (off**2 / fold.sum(0)).sum(1) / weight.sum()
    assert figures["rmsce"].beside["noise floor"] == pytest.approx(np.sqrt(square).mean(), rel=0.03)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([1.0, -1.0], "record 2: w: expected a weight of at least 0, got -1"),
        ([1.0, float("nan")], "record 2: w: expected a weight of at least 0, got nan"),
        ([float("inf"), 1.0], "record 1: w: expected a weight of at least 0, got inf"),
        ([0.0, 0.0], "w: expected at least one scored row with a weight above 0, got 0 in all 2"),
    ],
)
def test_weights_that_are_none_are_told(weights, told, tmp_path, capsys):
    with pytest.raises(InputError) as caught:
        weighed([0.5, 0.9], [True, False], weights)
    assert told in str(caught.value) and "leave out --weight (weight=)" in str(caught.value)
    path = tmp_path / "w.csv"
    lines = (f"{c},1,{w}" for c, w in zip((0.5, 0.9), weights, strict=True))
    path.write_text("\n".join(["confidence,correct,w", *lines]))
    assert main(["calibrated", str(path), "--weight", "w"]) == 2
    assert "w: expected" in capsys.readouterr().err


# -- certainty ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", [1, 1.0])
def test_fifty_right_answers_at_certainty_leave_room_for_error(one):
    """Whole numbers are resampled by counts, where all replicates are alike."""
    figures = calibrated.evaluate(confidence=[one] * 50, correct=[True] * 50)
    for name in ("ece", "rmsce", "mce", "ace", "adaptive_ece", "debiased_ece", "overconfidence"):
        assert figures[name].low == 0 and 0.065 < figures[name].high < 0.08, name
    assert figures.verdict()[0] == (
        "No miscalibration can be told apart from noise: ECE 0; noise alone shows 0; true error between 0 and "
        f"{figures['ece'].high:.3f}."
    )
    # It can be no surer than certain.
    assert (figures["underconfidence"].low, figures["underconfidence"].high) == (0, 0)


def test_the_interval_is_said_to_be_of_the_true_error():
    figures = calibrated.evaluate(confidence=pairs()[0], correct=pairs()[1])
    assert figures["ece"].beside["debiased"] == figures["debiased_ece"].value
    assert figures["ece"].method.startswith("of the true error")
    assert any("its interval is of the true error" in note for note in figures.tables()[0].notes)
    assert "true error, 95% [" in page(figures)


# -- bad input ------------------------------------------------------------------------------------------------

GOOD = '{"top_logits": [[0.1, 0.6]], "top_logit_idxs": [[1, 2]], "labels": [2]}\n'
BAD_LINES = {
    "truncated": ('{"top_logits": [[0.1, 0.6]', "bad.logits:2:"),
    "ragged": (
        '{"top_logits": [[0.1, 0.6], [0.3]], "top_logit_idxs": [[1, 2], [1]], "labels": [2, 1]}',
        "bad.logits:2:",
    ),
    "label count": ('{"top_logits": [[0.1, 0.6]], "top_logit_idxs": [[1, 2]], "labels": [2, 3]}', "1 label"),
    "missing key": ('{"top_logits": [[0.1, 0.6]], "labels": [2]}', "top_logit_idxs"),
    "nan": ('{"top_logits": [[0.1, NaN]], "top_logit_idxs": [[1, 2]], "labels": [2]}', "bad.logits:2:"),
    "empty sequence": ('{"top_logits": [], "top_logit_idxs": [], "labels": []}', "bad.logits:2:"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_named_or_counted(tmp_path, kind):
    line, told = BAD_LINES[kind]
    path = tmp_path / "bad.logits"
    path.write_text(GOOD + line + "\n" + GOOD)
    with pytest.raises(InputError) as caught:
        calibrated.evaluate(path)
    assert told in str(caught.value) and "\n" not in str(caught.value) and caught.value.line == 2
    result = calibrated.evaluate(path, skip_bad=True)
    assert result["ece"].n == 2 and result["ece"].unscored_total == 1


BAD_TABLES = {
    "outside": ("confidence,correct\n0.5,1\n1.7,0\n0.2,1\n", "t.csv:3: confidence: expected a confidence from 0 to 1"),
    "nan": ("confidence,correct\n0.5,1\nnan,0\n", "t.csv:3: confidence"),
    "word": ("confidence,correct\n0.5,1\nhuge,0\n", "t.csv:3: confidence: expected a confidence such as 0.85, 85%"),
    "mark": ("confidence,correct\n0.5,1\n0.4,maybe\n", "t.csv:3: correct"),
    "missing": ("confidence,correct\n0.5,1\n,0\n", "t.csv:3: confidence"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_a_bad_row_is_named_or_counted(tmp_path, kind):
    text, told = BAD_TABLES[kind]
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        calibrated.evaluate(path)
    assert told in str(caught.value)
    result = calibrated.evaluate(path, skip_bad=True)
    assert result["ece"].unscored_total == 1 and result["ece"].n == text.count("\n") - 2


def test_swapped_arguments_are_said_to_be_swapped():
    confidence, correct = pairs(50)
    with pytest.raises(InputError, match="look swapped"):
        calibrated.evaluate(confidence=correct.astype(float), correct=confidence)


def test_equal_and_zero_one_confidences_are_remarked_on():
    equal = calibrated.evaluate(confidence=[0.9] * 20, correct=[True] * 12 + [False] * 8)
    assert any("all confidences are equal (0.9)" in n for n in equal.notes)
    assert equal["ece"].value == pytest.approx(0.3)
    marks = calibrated.evaluate(confidence=[0.0, 1.0] * 10, correct=[True, False] * 10)
    assert any("right way round" in n for n in marks.notes)


def test_empty_files_and_unknown_columns(tmp_path):
    empty = tmp_path / "e.csv"
    empty.write_text("")
    with pytest.raises(InputError, match=r"e\.csv: expected at least one record"):
        calibrated.evaluate(empty)
    only_header = tmp_path / "h.csv"
    only_header.write_text("confidence,correct\n")
    with pytest.raises(InputError, match="at least one record"):
        calibrated.evaluate(only_header)
    other = tmp_path / "o.csv"
    other.write_text("a,b\n0.5,1\n")
    with pytest.raises(InputError, match="--columns confidence=NAME"):
        calibrated.evaluate(other)
    with pytest.raises(InputError, match=r"no such file|not found|does not exist"):
        calibrated.evaluate(tmp_path / "none.csv")
    with pytest.raises(InputError, match="either data, or both"):
        calibrated.evaluate(confidence=[0.5])


# -- results --------------------------------------------------------------------------------------------------


def test_a_result_saves_loads_compares_and_shows_itself(tmp_path, logits):
    result = calibrated.evaluate(logits, slices=["kind"], out=tmp_path / "run", system="one")
    again = sensecheck.load(tmp_path / "run")
    assert again.to_dict() == result.to_dict()
    assert plain(again) == plain(result)
    assert again.compare(result)["ece"].difference == 0.0
    assert "ECE" in repr(result) and "<table>" in result._repr_html_()
    assert len(result.to_pandas()) == result.rows.height
    assert result.plot().name == "reliability"
    for ending in ("svg", "html", "png", "pdf"):
        target = result.plot("confidences").save(tmp_path / f"plot.{ending}")
        assert target.stat().st_size > 500
    with pytest.raises(ValueError, match=r"cannot save a picture as \.gif"):
        result.plot().save(tmp_path / "plot.gif")


def test_other_methods_are_refused_with_what_differs(logits):
    a = calibrated.evaluate(logits, bins=10, system="one")
    b = calibrated.evaluate(logits, bins=20, system="two")
    with pytest.raises(ValueError, match="bins: 10 against 20"):
        a.compare(b)
    c = calibrated.evaluate(logits, bins=10, options=IntervalOptions(seed=7))
    assert a.compare(c)["ece"].difference == 0.0


def test_equal_runs_give_equal_files(tmp_path, logits):
    for name in ("one", "two"):
        calibrated.evaluate(logits, slices=["kind"], out=tmp_path / name)
    for name in ("summary.json", "measurements-00000.parquet", "report.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_fields_of_token_files_and_answers_are_renamed(tmp_path):
    line = {"top_logits": [[2.0, 1.0]], "top_logit_idxs": [[1, 2]], "labels": [1], "qid": "a", "hard": "yes"}
    tokens = tmp_path / "m.logits"
    tokens.write_text("".join(json.dumps({**line, "qid": f"q{i}"}) + "\n" for i in range(3)))
    result = calibrated.evaluate(tokens, columns={"id": "qid", "level": "hard"}, slices=["level"])
    assert result.measurements["id"].to_list() == ["q0:0", "q1:0", "q2:0"]
    assert result.slices("level")[0][0].slice == {"level": "yes"}
    answer = {"qid": "a", "truth": "yes", "logprobs": {"content": [{"token": "yes", "logprob": -0.1}]}, "k": "x"}
    answers = tmp_path / "a.jsonl"
    answers.write_text(json.dumps(answer) + "\n")
    result = calibrated.evaluate(answers, columns={"id": "qid", "gold": "truth", "kind": "k"}, slices=["kind"])
    assert result.measurements.select("id", "correct", "kind").rows() == [("a", True, "x")]
    for path in (tokens, answers):
        with pytest.raises(InputError, match="id: expected a column 'nope'"):
            calibrated.evaluate(path, columns={"id": "nope"})
        with pytest.raises(InputError, match="got 'confidence'"):
            calibrated.evaluate(path, columns={"confidence": "top_logits"})


def test_bca_of_curves_with_empty_bins_warns_of_nothing(recwarn):
    confidence = [0.62, 0.71, 0.88, 0.93] * 10
    options = IntervalOptions(method="bca", replicates=100)
    result = calibrated.evaluate(confidence=confidence, correct=[i % 4 != 1 for i in range(40)], options=options)
    assert result["accuracy"].low is not None
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_lines_that_are_no_rows_are_counted_as_unscored(tmp_path):
    path, clean = tmp_path / "t.csv", tmp_path / "clean.csv"
    clean.write_text("confidence,correct,w,doc\n" + "0.9,1,2,a\n0.2,0,1,b\n" * 20)
    path.write_text(clean.read_text() + "0.5,1,3\n")
    for given in ({}, {"weight": "w"}, {"cluster": "doc"}, {"out": tmp_path / "run"}):
        result = calibrated.evaluate(path, skip_bad=True, **given)
        assert result["ece"].n == 40 and result["ece"].unscored == {"cell_count": 1}
        assert result.measurements["id"][-1] == "t.csv:42 (bad)"
        whole = calibrated.evaluate(clean, **{k: v for k, v in given.items() if k != "out"})
        assert result["ece"].value == whole["ece"].value and result["auroc"].value == whole["auroc"].value
