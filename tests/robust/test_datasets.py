"""Pairs in every form and spelling they come in: the layouts of the published data sets, labels, files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.tables import TableReader
from sensecheck.models.classifiers import Asked
from sensecheck.report.asking import asked
from sensecheck.robust import evaluate
from sensecheck.robust.fetching import fetch
from sensecheck.robust.pipeline import Pair
from sensecheck.robust.records import Pairs, pairs_of
from sensecheck.robust.systems import classifier

TEXTS = [
    ("A man is playing a guitar on a stage.", "A man is playing a guitar."),
    ("Two dogs are running across a field.", "The dogs are chasing a ball."),
    ('He said "no", and\tleft.', "He said 'yes'."),
]


def plain(pairs: list[Pair]) -> list[tuple[str, str, int | None]]:
    return [(p.premise, p.hypothesis, p.gold) for p in pairs]


@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "tsv", "parquet", "jsonl.gz", "csv.gz"])
@pytest.mark.parametrize("labels", [[0, 1, 2], ["entailment", "Neutral", "CONTRADICTION"]])
def test_every_form_of_file(tmp_path: Path, form: str, labels: list[Any]) -> None:
    import gzip

    rows = [{"premise": p, "hypothesis": h, "label": y} for (p, h), y in zip(TEXTS, labels, strict=True)]
    path = tmp_path / f"pairs.{form}"
    if form == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        kind = form.removesuffix(".gz")
        text = {
            "jsonl": lambda: "".join(json.dumps(row) + "\n" for row in rows),
            "json": lambda: json.dumps(rows),
            "csv": lambda: pl.DataFrame(rows).write_csv(),
            "tsv": lambda: pl.DataFrame(rows).write_csv(separator="\t"),
        }[kind]()
        path.write_bytes(gzip.compress(text.encode()) if form.endswith(".gz") else text.encode())
    assert plain(pairs_of(path)) == [(p, h, y) for (p, h), y in zip(TEXTS, range(3), strict=True)]


@pytest.mark.parametrize(
    ("spelling", "label"),
    [
        (0, 0), (1, 1), (2, 2), ("0", 0), ("1", 1), ("2", 2), (0.0, 0), (2.0, 2), ("entailment", 0), ("Entailment", 0),
        ("ENTAILMENT", 0), ("e", 0), ("n", 1), ("c", 2), ("neutral", 1), ("NEUTRAL", 1), (" contradiction ", 2),
        ("Contradiction", 2), ("not_entailment", 1), ("-", None), (-1, None), ("-1", None), (-1.0, None), (None, None),
        ("", None), ("None", None),
    ],
)  # fmt: skip
def test_every_spelling_of_a_label(tmp_path: Path, spelling: Any, label: int | None) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"premise": "A man.", "hypothesis": "A dog.", "label": spelling}) + "\n")
    assert pairs_of(path)[0].gold == label
    assert pairs_of([{"premise": "A man.", "hypothesis": "A dog.", "label": spelling}])[0].gold == label


def test_spellings_side_by_side(tmp_path: Path) -> None:
    spellings = [0, "-", 2.0, "neutral", None, -1, "c"]
    rows = [{"premise": "A man.", "hypothesis": "A dog.", "label": y} for y in spellings]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    wanted = [0, None, 2, 1, None, None, 2]
    assert [pair.gold for pair in pairs_of(path)] == wanted
    assert [pair.gold for pair in pairs_of(rows)] == wanted
    other = tmp_path / "other.jsonl"
    other.write_text(path.read_text().replace("label", "verdict"))
    assert [pair.gold for pair in pairs_of(other, columns={"label": "verdict"})] == wanted


@pytest.mark.parametrize("spelling", ["perhaps", 3, 0.5, True, [0], "entailment?"])
def test_what_is_no_label_is_refused_with_its_line(tmp_path: Path, spelling: Any) -> None:
    path = tmp_path / "pairs.jsonl"
    good = {"premise": "A man.", "hypothesis": "A dog.", "label": None}
    path.write_text("".join(json.dumps(row) + "\n" for row in (good, {**good, "label": spelling})))
    with pytest.raises(InputError, match=r"pairs.jsonl:2.*label"):
        pairs_of(path)
    assert [pair.bad for pair in pairs_of(path, skip_bad=True)] == [None, "a label that is no NLI label"]


LAYOUTS: dict[str, tuple[str, str]] = {
    # each as it is handed out, one line with gold and one without
    "snli_1.0_dev.jsonl": (
        '{"annotator_labels": ["neutral", "entailment", "neutral"], "captionID": "47.jpg#2", "gold_label": "neutral", '
        '"pairID": "47.jpg#2r1n", "sentence1": "Two women are embracing.", "sentence1_binary_parse": "( Two women )", '
        '"sentence1_parse": "(ROOT x)", "sentence2": "The sisters are hugging.", "sentence2_binary_parse": "( x )", '
        '"sentence2_parse": "(ROOT x)"}\n'
        '{"annotator_labels": ["neutral", "entailment"], "captionID": "48.jpg#0", "gold_label": "-", "pairID": '
        '"48.jpg#0r1e", "sentence1": "A boy jumps.", "sentence1_binary_parse": "", "sentence1_parse": "", "sentence2": '
        '"A boy is happy.", "sentence2_binary_parse": "", "sentence2_parse": ""}\n',
        "47.jpg#2r1n",
    ),
    "snli_1.0_dev.txt.tsv": (
        "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\tsentence1\t"
        "sentence2\tcaptionID\tpairID\tlabel1\tlabel2\n"
        'neutral\t( ( Two "women ) )\t( x )\t(ROOT x)\t(ROOT y)\tTwo women are embracing.\tThe sisters are hugging.\t'
        "47.jpg#2\t47.jpg#2r1n\tneutral\tentailment\n"
        "-\t( x )\t( x )\t(ROOT x)\t(ROOT y)\tA boy jumps.\tA boy is happy.\t48.jpg#0\t48.jpg#0r1e\tneutral\tentailment\n",
        "47.jpg#2r1n",
    ),
    "MNLI_dev_matched.tsv": (
        "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
        "sentence2_parse\tsentence1\tsentence2\tlabel1\tlabel2\tgold_label\n"
        '0\t63735\t63735n\tslate\t( " )\t( x )\t(ROOT (`` "))\t(ROOT x)\tTwo women are embracing.\t'
        "The sisters are hugging.\tneutral\tentailment\tneutral\n"
        "1\t91383\t91383c\tgovernment\t( x )\t( x )\t(ROOT x)\t(ROOT x)\tA boy jumps.\tA boy is happy.\t"
        "contradiction\tneutral\t-\n",
        "63735n",
    ),
    "mnli_hub.jsonl": (
        '{"premise": "Two women are embracing.", "hypothesis": "The sisters are hugging.", "label": 1, "idx": 5}\n'
        '{"premise": "A boy jumps.", "hypothesis": "A boy is happy.", "label": -1, "idx": 6}\n',
        "5",
    ),
    "mnli_setfit.jsonl": (
        '{"text1": "Two women are embracing.", "text2": "The sisters are hugging.", "label": 1, "idx": 5, '
        '"label_text": "neutral"}\n'
        '{"text1": "A boy jumps.", "text2": "A boy is happy.", "label": -1, "idx": 6, "label_text": "-1"}\n',
        "5",
    ),
    "anli_r1_dev.jsonl": (
        '{"uid": "e1-7", "context": "Two women are embracing.", "hypothesis": "The sisters are hugging.", "label": "n", '
        '"model_label": "c", "emturk": true, "genre": "wikipedia", "reason": "not said", "tag": "r1"}\n'
        '{"uid": "e1-8", "context": "A boy jumps.", "hypothesis": "A boy is happy.", "label": null, "model_label": "n", '
        '"emturk": true, "genre": "wikipedia", "reason": "", "tag": "r1"}\n',
        "e1-7",
    ),
    "anli_hub.csv": (
        "uid,premise,hypothesis,label,reason\n"
        "e1-7,Two women are embracing.,The sisters are hugging.,1,not said\n"
        "e1-8,A boy jumps.,A boy is happy.,-1,\n",
        "e1-7",
    ),
    "QNLI_dev.tsv": (
        "index\tquestion\tsentence\tlabel\n"
        "0\tTwo women are embracing.\tThe sisters are hugging.\tnot_entailment\n"
        "1\tA boy jumps.\tA boy is happy.\t-1\n",
        "0",
    ),
    "qnli_hub.jsonl": (
        '{"question": "Two women are embracing.", "sentence": "The sisters are hugging.", "label": 1, "idx": 0}\n'
        '{"question": "A boy jumps.", "sentence": "A boy is happy.", "label": -1, "idx": 1}\n',
        "0",
    ),
    "SICK.tsv": (
        "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\n"
        "1\tTwo women are embracing.\tThe sisters are hugging.\tNEUTRAL\t4.5\n"
        "2\tA boy jumps.\tA boy is happy.\t-\t4.5\n",
        "1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layouts_of_published_data_sets(tmp_path: Path, layout: str) -> None:
    content, first = LAYOUTS[layout]
    path = tmp_path / layout
    path.write_text(content)
    found = pairs_of(path)
    assert plain(found) == [
        ("Two women are embracing.", "The sisters are hugging.", 1),
        ("A boy jumps.", "A boy is happy.", None),
    ]
    assert found[0].id == first
    assert [pair.coarse for pair in found] == ["qnli" in layout.lower(), False]
    parquet = tmp_path / "copy.parquet"
    if path.suffix == ".jsonl":
        pl.read_ndjson(path).write_parquet(parquet)
        assert plain(pairs_of(parquet)) == plain(found)


def test_pairs_without_gold_are_counted_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "snli.jsonl"
    path.write_text(LAYOUTS["snli_1.0_dev.jsonl"][0])
    assert main(["robust", str(path), "--no-ci", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (accuracy,) = (f for f in found["figures"] if f["name"] == "accuracy")
    assert accuracy["n"] == 1
    assert found["extra"]["funnel"][0]["pairs"] == 2 and found["extra"]["funnel"][0]["with gold"] == 1


def test_not_entailment_is_neutral_or_contradiction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """QNLI's gold knows two labels: a model with three is right with either of the others, and is then held to its
    own.
    """
    rows = [{"question": f"P{i}.", "sentence": f"H{i}.", "label": "not_entailment"} for i in range(3)]
    said = {"P0.": 2, "P1.": 1, "P2.": 0}

    def model(premises: list[str], hypotheses: list[str]) -> list[int]:
        return [said.get(p, 0) for p, h in zip(premises, hypotheses, strict=True)]

    def generator(text: str, positive: bool, n: int) -> list[str]:
        return [f"{text[:-1]} again {k}." for k in range(n)]

    result = evaluate(rows, model=model, generator=generator, polarity="positive", check_labels=False)
    assert result["accuracy"].value == pytest.approx(2 / 3)
    assert result["strictly_inequal_positive_contradiction"].n == 1
    assert result["strictly_inequal_positive_neutral"].n == 1
    assert result["equivalence_violation"].value == 0.0
    assert any("only known not to be entailed" in note for note in result.notes)

    path, table = tmp_path / "q.jsonl", tmp_path / "t.csv"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table.write_text("premise,hypothesis,prediction\nP0.,H0.,c\nP1.,H1.,n\nP2.,H2.,e\n")
    assert main(["robust", "accuracy", str(path), "--model", f"table:{table}"]) == 0
    assert "accuracy 0.6667" in capsys.readouterr().out


class _Hub(ModuleType):
    """What `datasets` looks like from here, with or without a hub behind it."""

    def __init__(self, answer: Any) -> None:
        super().__init__("datasets")
        self._answer = answer

    def load_dataset(self, name: str) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer[name]


def test_fetch_without_a_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = ConnectionError("Couldn't reach 'SetFit/mnli' on the Hub\n(LocalEntryNotFoundError)")
    monkeypatch.setitem(sys.modules, "datasets", _Hub(fault))
    target = tmp_path / "mnli.jsonl"
    assert main(["robust", "fetch", "mnli", "-o", str(target)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.strip().splitlines()) == 1
    assert said.err.startswith("sensecheck: error: SetFit/mnli could not be fetched from the hub (ConnectionError: ")
    assert "local copy" in said.err
    assert not target.exists()


def test_fetch_with_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"premise": "Two women are embracing.", "hypothesis": "The sisters are hugging.", "label": 1}
    setfit = {"text1": row["premise"], "text2": row["hypothesis"], "label": 1, "label_text": "not_entailment"}
    hub = {
        "anli": {f"{split}_{r}": [{**row, "uid": r}] for split in ("train", "dev", "test") for r in ("r1", "r2", "r3")},
        "SetFit/qnli": {"train": [setfit], "validation": [setfit, {**setfit, "label": -1, "label_text": "-1"}]},
    }
    monkeypatch.setitem(sys.modules, "datasets", _Hub(hub))
    target = tmp_path / "out.jsonl"
    assert fetch("anli", target) == 3
    assert fetch("anli", target, "validation", "r2") == 1
    assert plain(pairs_of(target)) == [(row["premise"], row["hypothesis"], 1)]
    assert main(["robust", "fetch", "qnli", "-o", str(target)]) == 0
    assert "2 pairs" in capsys.readouterr().out
    assert [(p.gold, p.coarse) for p in pairs_of(target)] == [(1, True), (None, False)]
    assert main(["robust", "fetch", "qnli", "--split", "test", "-o", str(target)]) == 2
    assert "has no split 'test'; there are train, validation" in capsys.readouterr().err


def test_headers_in_capitals(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("Premise,Hypothesis,Gold Label\nA dog runs.,An animal runs.,E\nA dog runs.,A cat sleeps.,-\n")
    assert [(p.premise, p.gold) for p in pairs_of(path)] == [("A dog runs.", 0), ("A dog runs.", None)]


def test_stored_predictions_are_found_by_the_texts_of_the_file(tmp_path: Path) -> None:
    """Texts are asked about with a full stop at their end; the table has them as the user's file has them."""
    path = tmp_path / "predictions.csv"
    path.write_text("premise,hypothesis,prediction\nA dog  runs,An animal runs,0\nA dog runs.,An animal runs.,2\n")
    labels = Asked(classifier(f"table:{path}")).labels
    assert labels([("A dog runs.", "An animal runs."), ("A dog runs", "An animal runs.")]) == [2, 0]
    assert labels([("A dog runs.", "A cat runs.")]) == [None]


def test_ids_that_come_again_in_a_later_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, and how many share them, are those that a set of all names would give, however rows are cut."""
    ids = ["a", "b", "a", "a#5", "a", "c", "b", "a#5", "d", None, "10"]
    lines = [json.dumps({"id": name, "premise": "P.", "hypothesis": "H.", "label": 0}) for name in ids]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(lines))
    seen: set[str] = set()
    names = []
    for number, given in enumerate(ids, 1):
        name = str(number) if given is None else given
        names.append(f"{name}#{number}" if name in seen else name)
        seen.add(names[-1])
    for bytes_at_once in (1, 150, 1 << 20):
        monkeypatch.setitem(TableReader.__init__.__kwdefaults__, "block_bytes", bytes_at_once)
        pairs = Pairs(str(file), asked({}))
        assert [pair.id for pair in pairs] == names
        assert f"{len(seen)} pairs share {len(seen) - 5} ids" in pairs.notes()[-1]
