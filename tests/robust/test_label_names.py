"""Labels mean what their names say: of integers, those that come with the data or that the user gives."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.models.classifiers import label_of
from sensecheck.report.asking import Asked
from sensecheck.report.result import Result
from sensecheck.robust import evaluate
from sensecheck.robust.records import Pairs, pairs_of

LABELS = ("entailment", "neutral", "contradiction")
PAIRS = [
    ("A man plays the drums.", "A man makes music.", "entailment"),
    ("A dog sleeps.", "A dog runs.", "contradiction"),
    ("A woman cooks.", "A woman cooks for her sister.", "neutral"),
    ("Two boys read a book.", "Two boys are reading.", "entailment"),
    ("The street is empty.", "The street is full of people.", "contradiction"),
    ("A man stands.", "A man waits for a bus.", None),
]
GOLD = [None if name is None else LABELS.index(name) for _, _, name in PAIRS]
ASSUMED = "0=entailment,1=neutral,2=contradiction (assumed)"
"""The signature's words for integers that nobody named."""


def table(names: tuple[str, ...] | list[str], label: str = "label") -> pl.DataFrame:
    """The pairs with integers as labels that stand for these names."""
    numbers = [-1 if name is None else list(names).index(name) for _, _, name in PAIRS]
    return pl.DataFrame({"premise": [p for p, _, _ in PAIRS], "hypothesis": [h for _, h, _ in PAIRS], label: numbers})


def features(names: Any) -> dict[str, Any]:
    return {"label": {"names": list(names), "_type": "ClassLabel"}}


def parquet(path: Path, frame: pl.DataFrame, names: Any) -> Path:
    frame.write_parquet(path, metadata={"huggingface": json.dumps({"info": {"features": features(names)}})})
    return path


def folder(path: Path, frame: pl.DataFrame, names: Any) -> Path:
    path.mkdir()
    frame.write_ipc_stream(path / "data-00000-of-00001.arrow")
    (path / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')
    (path / "dataset_info.json").write_text(json.dumps({"features": features(names)}))
    return path


def golds(data: Any, **how: Any) -> list[int | None]:
    return [pair.gold for pair in pairs_of(data, **how)]


def oracle(premises: list[str], hypotheses: list[str]) -> list[str]:
    """Right on every pair."""
    known = {(p, h): name for p, h, name in PAIRS}
    return [known.get((p, h)) or "neutral" for p, h in zip(premises, hypotheses, strict=True)]


def asked(data: Any, **how: Any) -> Result:
    return evaluate(data, model=oracle, check_labels=False, **how)


# -- names that come with the data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(LABELS)), ids=",".join)
def test_accuracy_is_the_same_in_every_order_of_the_names(tmp_path: Path, order: tuple[str, ...]) -> None:
    frame = table(order)
    for data in (parquet(tmp_path / "rows.parquet", frame, order), folder(tmp_path / "set", frame, order)):
        assert golds(data) == GOLD
        result = asked(data)
        assert (result["accuracy"].value, result["accuracy"].n) == (1.0, 5)
        assert result.signature.method["labels"] == "by name" and "labels" not in result.signature.short
        said = ", ".join(f"{i}={name}" for i, name in enumerate(order))
        assert [note for note in result.notes if said in note and "read by the names in" in note]
    frame.write_parquet(tmp_path / "plain.parquet")
    result = asked(tmp_path / "plain.parquet")
    assert (result["accuracy"].value == 1.0) == (order == LABELS)
    assert f"|labels:{ASSUMED}|" in result.signature.short
    assert [note for note in result.notes if "integers without names" in note and "--label-names" in note]
    result = asked(tmp_path / "plain.parquet", label_names=list(order))
    assert result["accuracy"].value == 1.0
    given = ",".join(f"{i}={name}" for i, name in enumerate(order))
    assert result.signature.method["labels"] == f"{given} (given)"


def test_the_small_model_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = ("contradiction", "entailment", "neutral")
    named = str(parquet(tmp_path / "named.parquet", table(order), order))
    table(order).write_csv(tmp_path / "plain.csv")
    assert main(["robust", "accuracy", named]) == 0
    assert "(5 of 5 pairs; 1 without gold" in capsys.readouterr().out
    plain = str(tmp_path / "plain.csv")
    assert main(["robust", "accuracy", plain, "--label-names", ",".join(order)]) == 0
    assert "(5 of 5 pairs; 1 without gold" in capsys.readouterr().out
    assert main(["robust", "accuracy", plain]) == 0
    told = capsys.readouterr().out
    assert "(0 of 5 pairs" in told and "taken as 0=entailment, 1=neutral, 2=contradiction" in told
    for mapping in ("0=contradiction,1=entailment,2=neutral", "1=e, 0=CONTRADICTS ,2=n"):
        assert main(["robust", plain, "--label-names", mapping, "--no-ci", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["figures"][0]["n"] is not None


def test_two_names(tmp_path: Path) -> None:
    """`not_entailment` says less than neutral, whichever integer stands for it."""
    for order in (("entailment", "not_entailment"), ("not_entailment", "entailment"), ("Non-Entailment", "ENTAILED")):
        rows = {"premise": ["a b.", "c d.", "e f."], "hypothesis": ["g.", "h.", "i."], "label": [0, 1, -1]}
        path = parquet(tmp_path / "rows.parquet", pl.DataFrame(rows), order)
        found = [(pair.gold, pair.coarse) for pair in pairs_of(path)]
        wanted = [(0, False) if order[i].lower().startswith("entail") else (1, True) for i in (0, 1)]
        assert found == [*wanted, (None, False)]
    rows = {"question": ["a?", "c?"], "sentence": ["g.", "h."], "label": [0, 1]}
    assert [(p.gold, p.coarse) for p in pairs_of(rows)] == [(0, False), (1, True)]
    pairs = Pairs(rows, Asked())
    assert len(list(pairs)) == 2 and pairs.label_choice() == "0=entailment,1=not_entailment (assumed)"
    path = parquet(tmp_path / "qnli.parquet", pl.DataFrame(rows), ("not_entailment", "entailment"))
    assert [(p.gold, p.coarse) for p in pairs_of(path)] == [(1, True), (0, False)]


def test_names_in_memory() -> None:
    class ClassLabel:
        def __init__(self, names: list[str]) -> None:
            self.names = names

    class Dataset:
        """What `datasets.Dataset` can do, as far as it is asked."""

        def __init__(self, order: tuple[str, ...]) -> None:
            self.features = {"label": ClassLabel(list(order))}
            self._frame = table(order)

        def to_polars(self) -> pl.DataFrame:
            return self._frame

    for order in permutations(LABELS):
        assert golds(Dataset(order)) == GOLD
        words = table(order).with_columns(pl.col("label").replace_strict(dict(enumerate(order)), default=None))
        assert golds(words) == golds(words.with_columns(pl.col("label").cast(pl.Categorical))) == GOLD


def test_integers_that_have_no_name_are_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet", table(LABELS), LABELS[:2])
    with pytest.raises(InputError, match=r"record 2: label: expected entailment, .*, got 2\."):
        pairs_of(path)
    assert [pair.bad is None for pair in pairs_of(path, skip_bad=True)] == [True, False, True, True, False, True]


def test_names_that_are_no_labels_name_the_way_out(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet", table(LABELS), ("yes", "maybe", "no"))
    with pytest.raises(InputError) as caught:
        pairs_of(path)
    assert str(caught.value) == (
        f"{path}: record 1: label: expected a name that means entailment, neutral or contradiction, got 0, which the "
        f"schema of {path} calls 'yes'. Say what the names mean, e.g. "
        "--label-names yes=entailment,maybe=neutral,no=contradiction (label_names=), or pass --skip-bad "
        "(skip_bad=True) to count it."
    )
    way_out = "yes=entailment,maybe=neutral,no=contradiction"
    assert golds(path, label_names=way_out) == GOLD
    assert golds(path, label_names={"Yes": "supports", "MAYBE": "not enough info", "no": "refutes"}) == GOLD
    assert golds(path, label_names=["contradiction", "neutral", "entailment"])[:3] == [2, 0, 1], (
        "the order is the user's"
    )


def test_numbers_as_names_say_nothing(tmp_path: Path) -> None:
    pairs = Pairs(parquet(tmp_path / "rows.parquet", table(LABELS), ("0", "1", "2")), Asked())
    assert [pair.gold for pair in pairs] == GOLD and pairs.label_choice() == ASSUMED


def test_damaged_names_stop_who_needs_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table(LABELS).write_parquet(path, metadata={"huggingface": "{"})
    with pytest.raises(InputError, match="expected the names of class labels, got something that is no JSON"):
        pairs_of(path)
    assert golds(path, label_names=LABELS) == GOLD
    words = table(LABELS).with_columns(pl.col("label").replace_strict(dict(enumerate(LABELS)), default="-"))
    words.write_parquet(path, metadata={"huggingface": "{"})
    assert golds(path) == GOLD


# -- what the user says ----------------------------------------------------------------------------------------------


def test_what_the_user_says_wins_and_the_contradiction_is_told(tmp_path: Path) -> None:
    order = ("contradiction", "entailment", "neutral")
    path = parquet(tmp_path / "rows.parquet", table(order), LABELS)
    for given in (order, {str(i): name for i, name in enumerate(order)}):
        result = asked(path, label_names=given)
        assert result["accuracy"].value == 1.0
        [warning] = [note for note in result.notes if note.startswith("warning: label names differ")]
        assert (
            "0=contradiction,1=entailment,2=neutral" in warning and "0=entailment,1=neutral,2=contradiction" in warning
        )
        assert warning.endswith("--label-names was heeded")
    agreeing = asked(parquet(path, table(order), ("C", "E", "N")), label_names=order)
    assert not [note for note in agreeing.notes if "differ" in note]


def test_a_saved_folder_holds_by_its_info_and_tells_of_a_schema_that_differs(tmp_path: Path) -> None:
    stream = Path(__file__).parents[1] / "inputs" / "labelled_stream.arrow"
    (tmp_path / "data.arrow").write_bytes(stream.read_bytes())
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": features(LABELS)}))
    (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    pairs = Pairs(tmp_path, Asked())
    assert [pair.gold for pair in pairs] == [1, 0, 2, None]
    assert [note for note in pairs.notes() if "label names differ" in note and "dataset_info.json was heeded" in note]
    assert golds(stream) == [0, 2, 1, None]


@pytest.mark.parametrize(
    "given",
    ["entailment", "entailment,neutral,neutral", "a,b,c", "0,1,2", "yes=entailment,neutral", "yes=perhaps", "yes=0",
     "=entailment", "yes=entailment,Yes=neutral", {}, [], ["x"], {"": "neutral"}],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match=r"--label-names \(label_names=\): expected .* E\.g\. --label-names"):
        evaluate([{"premise": "a", "hypothesis": "b", "label": 0}], label_names=given)


def test_texts_keep_their_meaning_beside_what_is_said() -> None:
    labels = ["yes", "neutral", "-", "C", 0, 1, "1.0", None, -1]
    rows = [{"premise": "a", "hypothesis": "b", "label": label} for label in labels]
    wanted = [0, 1, None, 2, 2, 0, 0, None, None]
    assert golds(rows, label_names="yes=entailment,0=contradiction,1=entailment") == wanted
    assert golds(rows[:4], label_names="yes=entailment") == [0, 1, None, 2]
    assert golds([rows[0], rows[1]], label_names={"yes": "-"}) == [None, 1]
    result = asked([{"premise": p, "hypothesis": h, "label": name} for p, h, name in PAIRS], label_names=LABELS)
    assert result.signature.method["labels"] == "by name"
    assert [note for note in result.notes if "changed nothing" in note]


def test_a_run_is_not_resumed_with_other_names(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.parquet", tmp_path / "run"
    table(LABELS).write_parquet(path)
    asked(path, out=out)
    with pytest.raises(ValueError, match="cannot be resumed"):
        asked(path, out=out, resume=True, label_names=LABELS)
    named = folder(tmp_path / "set", table(LABELS), LABELS)
    asked(named, out=tmp_path / "other")
    asked(named, out=tmp_path / "other", resume=True)
    (named / "dataset_info.json").write_text(json.dumps({"features": features(LABELS[::-1])}))
    with pytest.raises(ValueError, match="cannot be resumed"):
        asked(named, out=tmp_path / "other", resume=True)


def test_parity_reads_labels_by_name_too(tmp_path: Path) -> None:
    order = ("contradiction", "entailment", "neutral")
    path = parquet(tmp_path / "rows.parquet", table(order), order)
    result = evaluate(path, model=oracle, parity="breaknli")
    assert result.extra["original_funnel"][0]["correct"] == 5
    assert result.signature.method["labels"] == "by name" and "labels" not in result.signature.short


# -- other columns, other models -------------------------------------------------------------------------------------


def test_labels_in_words_beside_integers() -> None:
    """SetFit's copies say both; the words are what cannot be misread."""
    order = ("contradiction", "entailment", "neutral")
    frame = table(order).with_columns(label_text=pl.Series([name or "" for _, _, name in PAIRS]))
    assert golds(frame) == GOLD
    assert golds(frame, columns={"label": "label"}) != GOLD, "a column that the user names is that column"
    assert golds(frame, label_names=order) == GOLD


def test_stored_predictions_are_read_by_name(tmp_path: Path) -> None:
    order = ("contradiction", "entailment", "neutral")
    frame = table(order, "prediction").with_columns(pl.col("prediction").replace(-1, 0))
    text = json.dumps({"info": {"features": {"prediction": {"names": order, "_type": "ClassLabel"}}}})
    frame.write_parquet(tmp_path / "predictions.parquet", metadata={"huggingface": text})
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({"premise": p, "hypothesis": h, "label": y}) + "\n" for p, h, y in PAIRS))
    assert (
        evaluate(path, model=f"table:{tmp_path / 'predictions.parquet'}", check_labels=False)["accuracy"].value == 1.0
    )


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("SUPPORTS", 0), ("REFUTES", 2), ("NOT ENOUGH INFO", 1), ("not_enough_info", 1), ("Not-Enough-Information", 1),
        ("NEI", 1), ("SUPPORT", 0), ("CONTRADICT", 2), ("entailed", 0), ("contradictory", 2), ("unknown", 1),
        ("not_entailment", 1), ("non-entailment", 1), ("not entailed", 1), ("NOINFO", 1), ("e", 0), ("N", 1), ("c", 2),
    ],
)  # fmt: skip
def test_names_of_labels(name: str, label: int) -> None:
    assert label_of(name) == label


# -- layouts ---------------------------------------------------------------------------------------------------------


def test_fever_has_the_evidence_for_a_premise(tmp_path: Path) -> None:
    rows = [
        {
            "cid": 7,
            "fid": "9",
            "verifiable": "VERIFIABLE",
            "label": label,
            "query": f"claim {i}.",
            "context": f"evidence {i}.",
        }
        for i, label in enumerate(("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"))
    ]
    path = tmp_path / "fever.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = pairs_of(path)
    assert [(p.premise, p.hypothesis, p.gold) for p in found] == [
        ("evidence 0.", "claim 0.", 0), ("evidence 1.", "claim 1.", 2), ("evidence 2.", "claim 2.", 1),
    ]  # fmt: skip
    assert {p.cluster for p in found} == {"7"}
    vitamin = [{"claim": "c.", "evidence": "e.", "label": "SUPPORTS"}]
    assert [(p.premise, p.hypothesis) for p in pairs_of(vitamin)] == [("e.", "c.")]


@pytest.mark.parametrize("evidence", [[[[1, 2, "Page", 0]], [[1, None, None, None]]], [], {"page": ["x"]}])
def test_fever_without_text_has_one_message(tmp_path: Path, evidence: Any) -> None:
    path = tmp_path / "fever.jsonl"
    row = {"id": 1, "verifiable": "VERIFIABLE", "label": "SUPPORTS", "claim": "A claim.", "evidence": evidence}
    path.write_text(json.dumps(row) + "\n")
    for skip_bad in (False, True):
        with pytest.raises(InputError, match=r"evidence: expected the text of the premise, got .*FEVER's own files"):
            pairs_of(path, skip_bad=skip_bad)


def test_languages_share_ids_and_can_be_sliced_by(tmp_path: Path) -> None:
    lines = ["language\tgold_label\tsentence1\tsentence2\tpairID"]
    for language in ("en", "de"):
        lines += [f"{language}\t{name or '-'}\t{p}\t{h}\tpair{i}" for i, (p, h, name) in enumerate(PAIRS)]
    path = tmp_path / "xnli.tsv"
    path.write_text("\n".join(lines) + "\n")
    result = asked(path, slices="language")
    assert result["accuracy"].n == 10
    by_language = {
        f.slice["language"]: f.n for figures in result.slices("language") for f in figures if f.name == "accuracy"
    }
    assert by_language == {"en": 5, "de": 5}
    assert [note for note in result.notes if note.startswith("12 pairs share 6 ids")]
