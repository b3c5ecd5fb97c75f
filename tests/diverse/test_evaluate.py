"""End to end: evaluate, its results, comparison, parity, pictures, and the command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck._version import __version__
from sensecheck.cli import main
from sensecheck.diverse import QUESTION, alignments, evaluate
from sensecheck.diverse.figures import statistics
from sensecheck.diverse.plots import coverage_by_k, systems
from sensecheck.inputs.errors import InputError
from sensecheck.report.result import load
from sensecheck.runs.directory import RunError
from sensecheck.runs.signature import Method
from sensecheck.statistics.compare import ComparisonError
from sensecheck.statistics.figure import IntervalOptions

VERSION = f"version:{__version__}"
QUICK = IntervalOptions(replicates=50)

RECORDS = [
    {
        "id": "a",
        "query": "where is mike ?",
        "topic": "place",
        "hypotheses": ["in the kitchen", "he went to the cinema", "no idea"],
        "references": {"0": ["the kitchen .", "he went to the cinema ."], "1": ["somewhere ."], "2": ["no idea ."]},
    },
    {
        "id": "b",
        "query": "is it good ?",
        "topic": "opinion",
        "hypotheses": ["yes it is very good", ""],
        "references": {"0": ["yes very good"], "1": ["no it is terrible"]},
    },
    {
        "id": "c",
        "query": "who is she ?",
        "topic": "person",
        "hypotheses": ["my sister", "my sister"],
        "references": [["my sister"], ["a friend of mine", "just a friend"]],
    },
]


def test_result() -> None:
    result = evaluate(RECORDS, options=QUICK, slices=["topic", "n_groups"])
    assert result["mds"].value == pytest.approx((2 / 3 + 1 / 2 + 1 / 2) / 3)
    assert result["pds"].value == pytest.approx((3 / 4 + 1 / 2 + 1 / 3) / 3)
    assert result["max_bleu"].n == 3
    assert result["empty"].value == pytest.approx(1 / 7)
    assert isinstance(result["mds"].low, float)
    assert result["mds_at_3"].n == 1
    assert result["corpus_distinct_1"].absent.startswith("counted over all queries")
    assert [figures[0].slice["topic"] for figures in result.slices("topic")] == ["opinion", "person", "place"]
    assert result.signature.short.startswith("diverse|ci:")  # nothing else is off its default
    assert result.notes == ["1 empty hypotheses (score 0)"]
    assert "reach" in result.verdict()[0]
    # Chance: each query has the other two as donors.
    rows = result.measurements
    assert rows["chance_donors"].to_list() == [2, 2, 2]
    assert rows.columns[:4] == ["id", "scored", "reason", "n_groups"]


def test_alignments_and_examples() -> None:
    result = evaluate(RECORDS, options=QUICK)
    table = alignments(result)
    assert table.columns == ["id", "query", "hypothesis", "group", "group_name", "score", "margin", "counts"]
    assert table.height == 7
    first = table.row(0, named=True)
    assert (first["group"], first["group_name"], first["counts"]) == (0, "0", True)
    empty = table.filter(pl.col("hypothesis") == "").row(0, named=True)
    assert (empty["score"], empty["counts"]) == (0.0, False)
    assert table.filter(pl.col("id") == "c")["margin"].to_list() == [1.0, 1.0]
    pages = {page["title"]: page["parts"] for page in QUESTION.example_page(result.examples(3))}  # type: ignore[misc]
    parts = pages["where is mike ?"]
    assert [part["label"] for part in parts] == ["meaning 0: hit by 2", "meaning 1: missed", "meaning 2: hit by 1"]
    assert ["→ no response\n", "bad"] in parts[1]["spans"]
    assert any(kind == "good" and "in the kitchen" in text for text, kind in parts[0]["spans"])
    assert pages["is it good ?"][-1]["label"] == "reached no meaning"


def test_unscored_records_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([*map(json.dumps, RECORDS), '{"id": "d", "hypotheses": 7}', "{"]))
    with pytest.raises(InputError, match="expected a list of texts, got 7"):
        evaluate(str(path), options=QUICK)
    result = evaluate(str(path), options=QUICK, skip_bad=True)
    assert result["mds"].n == 3
    assert result["mds"].unscored == {"bad_hypotheses": 1, "bad_json": 1}
    rows = result.measurements
    assert rows.height == 5
    assert rows.filter(~pl.col("scored"))["mds"].to_list() == [None, None]


def test_without_references() -> None:
    result = evaluate([["a b", "a c"], ["d", "e"]], options=QUICK)
    names = [figure.name for figure in result.figures]
    assert "mds" not in names
    assert "distinct_1" in names
    assert result.signature.method["references"] == "none"
    assert result.verdict() == []
    with pytest.raises(InputError, match="there is no query"):
        evaluate([], options=QUICK)


def test_flat_references_are_groups_of_their_own() -> None:
    result = evaluate([["a b", "c d"]], [["a b", "c d", "e f"]], options=QUICK)
    assert result["mds"].value == pytest.approx(2 / 3)
    result = evaluate([{"hypotheses": ["a b"], "references": ["a b", "c"]}], options=QUICK)
    assert any("flat lists" in note for note in result.notes)


def test_runs_resume_and_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sensecheck.diverse.evaluation.BATCH_SETS", 2)
    whole = evaluate(RECORDS, options=QUICK, out=tmp_path / "run", system="mine")
    again = load(tmp_path / "run")
    assert [f.to_dict() for f in again.figures] == [f.to_dict() for f in whole.figures]
    assert again.question is QUESTION
    assert (tmp_path / "run" / "report.html").exists()
    # Take away the second shard, as an interruption would: the rest is measured again, to the same figures.
    for shard in (tmp_path / "run").glob("*-00001.parquet"):
        shard.unlink()
    resumed = evaluate(RECORDS, options=QUICK, out=tmp_path / "run", resume=True, system="mine")
    assert [f.to_dict() for f in resumed.figures] == [f.to_dict() for f in whole.figures]
    assert resumed.notes == whole.notes


def test_figures_of_all_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [["a b c d e", "x"], ["a b c d z", "a b"], ["q r s t"]]
    result = evaluate(sets, options=QUICK)
    assert result["corpus_distinct_1"].value == pytest.approx(11 / 17)
    # abcd is in two queries; bcde, bcdz and qrst in one.
    assert result["corpus_self_repetition"].value == pytest.approx(2 / 5)
    plain = "".join(text + "\n" for texts in sets for text in texts).encode()
    assert result["corpus_compression_ratio"].value == pytest.approx(
        len(plain) / len(gzip.compress(plain, 9)), rel=0.02
    )
    monkeypatch.setattr("sensecheck.diverse.corpus.MAX_WORDS", 5)
    many = evaluate(sets, options=QUICK)
    assert "corpus_distinct_1" not in {figure.name for figure in many.figures}
    assert any("left out above" in note for note in many.notes)


def test_weights_clusters_and_unknown_columns() -> None:
    rows = [{**record, "times": n, "chat": "x" if n > 1 else "y"} for n, record in zip((3, 1, 2), RECORDS, strict=True)]
    weighted = evaluate(rows, options=QUICK, weight="times", cluster="chat")
    assert weighted["mds"].value == pytest.approx((3 * 2 / 3 + 1 / 2 + 2 / 2) / 6)
    assert weighted["mds"].clusters == 2
    with pytest.raises(InputError, match=r"expected a column 'topik', got .* Did you mean 'topic'"):
        evaluate(RECORDS, options=QUICK, slices=["topik"])
    # A slice may be the cluster as well, or the id.
    both = evaluate(rows, options=QUICK, cluster="chat", slices=["chat", "id"])
    assert [figures[0].slice["chat"] for figures in both.slices("chat")] == ["x", "y"]
    assert len(both.slices("id")) == 3
    with pytest.raises(InputError, match=r"expected a column whose name the measurements do not have, got 'words'"):
        evaluate([{**record, "words": "few"} for record in RECORDS], options=QUICK, slices=["words"])


def test_weights_are_checked_as_in_every_table(tmp_path: Path) -> None:
    for weight, told in (("x", "expected a weight of at least 0, got 'x'"), (-1, "expected a weight of at least 0, got -1"),
                         (None, "expected a weight of at least 0, got None"), (float("inf"), "expected a weight of at least 0")):  # fmt: skip
        with pytest.raises(InputError) as raised:
            evaluate([RECORDS[0] | {"times": 2}, RECORDS[1] | {"times": weight}], options=QUICK, weight="times")
        assert str(raised.value).startswith("record 2: times: ")
        assert told in str(raised.value)
    lines = [json.dumps(record | {"times": 2, "chat": "x"}) for record in RECORDS]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([*lines[:2], "", json.dumps(RECORDS[2] | {"times": "?"})]))
    with pytest.raises(InputError, match=r"r\.jsonl:4: times: expected a weight of at least 0, got '\?'"):
        evaluate(path, options=QUICK, weight="times")
    # A line that is no record has neither weight nor cluster: it is counted as unscored all the same.
    path.write_text("\n".join([*lines, "{"]))
    skipped = evaluate(path, options=QUICK, weight="times", cluster="chat", skip_bad=True)
    assert skipped["mds"].unscored == {"bad_json": 1}
    assert skipped["mds"].value == pytest.approx(evaluate(RECORDS, options=QUICK)["mds"].value)
    assert skipped.measurements["weight"].to_list() == [2.0, 2.0, 2.0, 1.0]
    assert skipped.measurements["cluster"].to_list() == ["x", "x", "x", "4"]


def test_order_of_records_changes_nothing() -> None:
    one, other = evaluate(RECORDS, options=QUICK), evaluate(RECORDS[::-1], options=QUICK)
    for figure in one.figures:
        if "chance" not in figure.name and not figure.name.startswith("corpus_compression"):
            assert other[figure.name].value == pytest.approx(figure.value, nan_ok=True), figure.name


def test_comparison() -> None:
    worse = [{**record, "hypotheses": ["zzz"]} for record in RECORDS]
    a, b = evaluate(worse, options=QUICK, system="worse"), evaluate(RECORDS, options=QUICK, system="better")
    told = a.compare(b)
    assert told["mds"].difference == pytest.approx(b["mds"].value)  # type: ignore[arg-type]
    other = evaluate(RECORDS, options=QUICK, tokenize="13a")
    with pytest.raises(ComparisonError, match="tok: whitespace against 13a"):
        b.compare(other)
    both = systems([a, b])
    assert both is not None
    assert [row["system"] for row in both.data] == ["worse", "better"]
    curve = coverage_by_k([a, b])
    assert curve is not None
    assert {row["k"] for row in curve.data if row["system"] == "better"} == {1, 2, 3}


def test_pictures(tmp_path: Path) -> None:
    result = evaluate(RECORDS, options=QUICK)
    assert [chart.name for chart in result.charts()] == ["coverage_by_k", "systems", "by_query"]
    for chart in result.charts():
        assert chart.alt
        assert "style=" not in chart.body
        chart.save(tmp_path / f"{chart.name}.svg")


def test_every_figure_explains_itself() -> None:
    methods: list[Method] = [
        {}, {"references": "none"}, {"aligner": "embedding:x"}, {"chance": None}, {"variety": False},
    ]  # fmt: skip
    for method in methods:
        for statistic in statistics(method):
            assert statistic.explanation is not None, statistic.name
            assert statistic.explanation.formula
            assert statistic.explanation.meaning
            assert statistic.title
    names = [statistic.name for statistic in statistics({"aligner": "embedding:x"})]
    assert "max_score" in names
    assert "max_bleu" not in names
    every = {statistic.name for statistic in statistics({})}
    assert every - {statistic.name for statistic in statistics({"chance": None})} == {
        "mds_over_chance", "chance_mds", "pds_over_chance", "chance_pds",
    }  # fmt: skip
    assert {"distinct_1", "ead_3", "vendi"} <= every - {statistic.name for statistic in statistics({"variety": False})}
    assert {"mds_at_4", "distinct_2"} <= {statistic.name for statistic in statistics({"at": [4], "n": [2]})}


def test_options_reach_the_figures() -> None:
    low = evaluate(RECORDS, options=QUICK, relevance=0.9)
    assert low["relevant"].value < evaluate(RECORDS, options=QUICK)["relevant"].value  # type: ignore[operator]
    assert low.signature.method["relevance"] == ">=0.9"
    assert evaluate(RECORDS, options=QUICK, relevance=0).signature.method["relevance"] == ">0"
    chosen = evaluate(RECORDS, options=QUICK, at=[2], orders=[4], donors=0, aligner="nltk-bleu:method1")
    names = {figure.name for figure in chosen.figures}
    assert {"mds_at_2", "distinct_4"} <= names
    assert not {"mds_at_1", "distinct_1", "chance_mds"} & names
    assert evaluate(RECORDS, options=QUICK, lowercase=True).signature.method["case"] == "lower"
    assert chosen.signature.method["at"] == [2]
    assert chosen.signature.method["chance"] is None
    assert chosen.signature.long.startswith(
        "diverse|aligner:nltk-bleu:4,smooth:method1,bp:yes|tok:whitespace|case:mixed|relevance:>0|at:2|n:4|"
        "vocabulary:30522|chance:none|variety:yes|references:grouped|ci:"
    )
    for wrong in (
        {"at": [0]}, {"orders": []}, {"tokenize": "14a"}, {"parity": "blec"}, {"vocabulary": 0}, {"donors": -1},
        {"at": [True]},
    ):  # fmt: skip
        with pytest.raises(InputError):
            evaluate(RECORDS, options=QUICK, **wrong)  # type: ignore[arg-type]


# -- golden --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lsdscc(shared: Path) -> Path:
    return shared / "golden" / "diverse" / "lsdscc"


@pytest.mark.golden
@pytest.mark.parametrize("name", ["fake_hypo", "generic6", "truncated", "short", "ties", "keys", "odd"])
@pytest.mark.parametrize(
    ("aligner", "stored"),
    [(None, "bleu"), ("bleu:2", "bleu_n2"), ("nltk-bleu:method1", "nltk_bleu_m1"), ("nist:3", "nltk_nist_n3")],
)
def test_parity(request: pytest.FixtureRequest, name: str, aligner: str | None, stored: str) -> None:
    if name in ("fake_hypo", "generic6", "truncated"):
        folder = request.getfixturevalue("lsdscc")
        references = folder / "references.json"
    else:
        folder = request.getfixturevalue("golden") / "diverse" / "synthetic"
        references = folder / f"{name}.ref.json"
    expected = json.loads((folder / "expected" / f"{name}.{stored}.json").read_text())
    result = evaluate(folder / f"{name}.hyp.txt", references, parity="lsdscc", aligner=aligner)
    if "error" in expected["corpus"]:
        assert result["mds"].n == 0
        assert list(result["mds"].unscored) == [f"{expected['corpus']['error']} in the original"]
    else:
        for figure in ("mds", "pds", "max_bleu"):
            assert result[figure].value == expected["corpus"][figure]
            assert result[figure].absent == "parity with the original: no interval"
    good = [one for one in expected["sets"] if "error" not in one]
    rows = result.measurements.filter("scored")
    assert rows["mds"].to_list() == [one["mds"] for one in good]
    assert rows["max_bleu"].to_list() == [one["max_bleu"] for one in good]


def test_parity_runs_are_kept_resumed_and_named(tmp_path: Path) -> None:
    hypotheses, references = tmp_path / "replies.v2.txt", tmp_path / "refs.json"
    hypotheses.write_text("the kitchen </s> no idea\nyes </s> no\n")
    references.write_text(json.dumps({"where?": {"0": ["the kitchen"], "1": ["no idea"]}, "ok?": {"0": ["yes"]}}))
    whole = evaluate(hypotheses, references, parity="lsdscc", out=tmp_path / "run")
    assert whole.name == "replies"
    assert [one["path"] for one in whole.inputs] == [str(hypotheses), str(references)]
    again = evaluate(hypotheses, references, parity="lsdscc", out=tmp_path / "run", resume=True)
    for result in (again, load(tmp_path / "run")):
        assert [figure.to_dict() for figure in result.figures] == [figure.to_dict() for figure in whole.figures]
        assert result.signature.long == whole.signature.long == f"diverse|as:lsdscc|aligner:BleuAligner-4|{VERSION}"
    with pytest.raises(RunError):
        evaluate(hypotheses, references, parity="lsdscc", aligner="bleu:2", out=tmp_path / "run", resume=True)


@pytest.mark.golden
def test_what_the_original_rewards_scores_nothing(lsdscc: Path) -> None:
    """Empty output, canned replies, other queries' replies: 1.0, 0.72 and 0.65 there."""
    references = lsdscc / "references.json"
    queries = list(json.loads(references.read_text()))
    empty = evaluate([[""]] * len(queries), references, options=QUICK, variety=False)
    assert (empty["max_bleu"].value, empty["mds"].value) == (0, 0)
    canned = evaluate(lsdscc / "generic6.hyp.txt", references, options=QUICK, variety=False)
    assert canned["mds_over_chance"].value == pytest.approx(0.0, abs=1e-12)
    assert canned["mds"].value < 0.31  # type: ignore[operator]
    cross = evaluate(lsdscc / "cross5.hyp.txt", references, options=IntervalOptions(), variety=False)
    assert cross["mds"].value < 0.12  # type: ignore[operator]
    assert cross["mds_over_chance"].low < 0 < cross["mds_over_chance"].high  # type: ignore[operator]
    real = evaluate(lsdscc / "corrupt20.hyp.txt", references, options=QUICK, variety=False)
    assert real["mds_over_chance"].low > 0.4  # type: ignore[operator]


@pytest.mark.golden
def test_trailing_separators_change_nothing(lsdscc: Path, tmp_path: Path) -> None:
    path = lsdscc / "fake_hypo.hyp.txt"
    trailing = tmp_path / "fake_hypo.hyp.txt"
    trailing.write_text(
        "".join(line + " </s>\n" if line.strip() else line + "\n" for line in path.read_text().splitlines())
    )
    one = evaluate(path, lsdscc / "references.json", options=QUICK)
    other = evaluate(trailing, lsdscc / "references.json", options=QUICK)
    assert [f.to_dict() for f in one.figures] == [f.to_dict() for f in other.figures]


# -- command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    hypotheses, references = tmp_path / "hyps.txt", tmp_path / "refs.json"
    hypotheses.write_text("the kitchen </s> no idea\nyes </s> no\n")
    references.write_text(
        json.dumps({"where?": {"0": ["the kitchen"], "1": ["no idea"]}, "ok?": {"0": ["yes"], "1": ["no"]}})
    )
    return str(hypotheses), str(references)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        code = main(["diverse", *words])
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_command(capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path) -> None:
    hypotheses, references = files
    code, out, _ = run(capsys, hypotheses, "--references", references, "--out", str(tmp_path / "run"))
    assert code == 0
    assert "MDS" in out
    assert "1.0000" in out
    code, out, _ = run(capsys, hypotheses, "-r", references, "--format", "json", "--no-ci", "--aligner", "bleu:2")
    plain: dict[str, Any] = json.loads(out)
    figures = {figure["name"]: figure["value"] for figure in plain["figures"]}
    assert figures["mds"] == 1.0
    assert plain["signature"]["method"]["aligner"].startswith("bleu:2")
    code, out, err = run(capsys, hypotheses, "-r", references, "--fail-under", "mds_over_chance=2")
    assert code == 1
    assert "gate failed" in err
    code, out, _ = run(capsys, hypotheses, "-r", references, "--as", "lsdscc", "--format", "json")
    assert json.loads(out)["signature"]["method"] == {"as": "lsdscc", "aligner": "BleuAligner-4"}


def test_the_command_gives_the_result_of_evaluate(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    hypotheses, references = files
    words = ["--tokenize", "13a", "--lowercase", "--relevance", "0.2", "--donors", "0", "--at", "1,2", "--orders", "2",
             "--vocabulary", "500", "--aligner", "bleu:2", "-e", "</s>", "--resamples", "20", "--seed", "3"]  # fmt: skip
    _, out, _ = run(capsys, hypotheses, "-r", references, *words, "--no-variety", "--format", "json")
    result = evaluate(
        hypotheses, references, tokenize="13a", lowercase=True, relevance=0.2, donors=0, at=[1, 2], orders=[2],
        vocabulary=500, aligner="bleu:2", eos="</s>", variety=False, options=IntervalOptions(replicates=20, seed=3),
    )  # fmt: skip
    assert json.loads(out) == result.to_dict()
    method = result.signature.method
    assert (method["at"], method["n"], method["vocabulary"], method["variety"]) == ([1, 2], [2], 500, False)
    assert "chance_mds" not in {figure.name for figure in result.figures}


def test_command_refuses(capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path) -> None:
    hypotheses, references = files
    for words, told in [
        ((hypotheses, "-r", str(tmp_path / "ref.json")), "no such file"),
        ((hypotheses, "-r", references, "--aligner", "blue"), "aligner 'blue' is not known"),
        ((hypotheses, "-r", references, "--tokenize", "14a"), "invalid choice"),
        ((hypotheses, "-r", references, "--at", "0"), "at least 1"),
        ((references, "-r", references), "expected a list of texts"),
    ]:
        code, _, err = run(capsys, *words)
        assert code == 2, words
        assert told in err
    short = tmp_path / "short.txt"
    short.write_text("a\n")
    code, _, err = run(capsys, str(short), "-r", references)
    assert code == 2
    assert "has 1 queries" in err


def test_other_files_of_references_are_another_method(tmp_path: Path) -> None:
    data = [{"query": "q", "hypotheses": ["a b c d", "e f g h"]}]
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file, reference in zip(files, ("a b c d", "e f g h"), strict=True):
        file.write_text(json.dumps({"q": [[reference], ["i j k l"]]}))
    copy = tmp_path / "copy.json"
    copy.write_bytes(files[0].read_bytes())
    one, two, same = (evaluate(data, file, options=QUICK) for file in (*files, copy))
    assert one.signature.method["reference-files"] == same.signature.method["reference-files"]
    with pytest.raises(ComparisonError, match="reference-files: responses were measured by other references"):
        one.compare(two)


@pytest.mark.parametrize("options", [["--orders", "1100"], ["--aligner", "bleu:9223372036854775808"], ["--aligner", "bleu:" + "9" * 5000], ["--aligner", "nist:101"]])  # fmt: skip
def test_ngrams_without_end_are_refused(options, tmp_path, capsys):
    path = tmp_path / "sets.jsonl"
    path.write_text('{"query": "q", "hypotheses": ["a b", "c"], "references": [["a"], ["c d"]]}\n')
    assert main(["diverse", str(path), *options]) == 2
    assert "at most 100 words" in capsys.readouterr().err
