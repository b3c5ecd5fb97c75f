"""Folders, Arrow files and class names as Hugging Face `datasets` leaves them; nothing of them is trusted."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.inputs import hugging_face
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.opening import identity, sources
from sensecheck.inputs.tables import TableReader, read_table

STREAM = Path(__file__).with_name("labelled_stream.arrow")
"""Four pairs in two record batches; the schema calls 0, 1, 2 contradiction, entailment, neutral."""
ORDER = ("contradiction", "entailment", "neutral")


def features(names: Sequence[str] = ORDER, column: str = "label") -> dict[str, Any]:
    return {column: {"names": list(names), "_type": "ClassLabel"}, "premise": {"dtype": "string", "_type": "Value"}}


def saved(folder: Path, frames: Sequence[pl.DataFrame], info: Any = None) -> Path:
    """A folder as `save_to_disk` leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"data-{i:05}-of-{len(frames):05}.arrow" for i in range(len(frames))]
    for name, frame in zip(names, frames, strict=True):
        frame.write_ipc_stream(folder / name)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "0", "_split": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": features()} if info is None else info))
    return folder


def told(data: Any, column: str = "label", **how: Any) -> list[tuple[str, ...]]:
    first = next(iter(TableReader(data, **how)))
    return [found.names for found in first.class_names(column)]


# -- folders -------------------------------------------------------------------------------------------------------


def test_a_saved_folder_is_its_shards_in_the_order_of_its_state(tmp_path: Path) -> None:
    frames = [pl.DataFrame({"label": [i, i]}) for i in range(12)]
    folder = saved(tmp_path / "set", frames)
    reader = TableReader(folder)
    assert [label for batch in reader for label in batch.frame["label"]] == [i for i in range(12) for _ in (0, 1)]
    files = reader.inputs()
    assert [Path(file["path"]).name for file in files] == [f"data-{i:05}-of-00012.arrow" for i in range(12)]
    assert all(len(file["sha256"]) == 64 and file["format"] == "arrow" and file["rows"] == 2 for file in files)
    assert [Path(file["path"]).name for file in identity(folder)] == [Path(file["path"]).name for file in files]
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**state, "_data_files": state["_data_files"][::-1]}))
    assert [label for batch in TableReader(folder) for label in batch.frame["label"]][:2] == [11, 11]
    assert [number for batch in TableReader(folder) for number in list(batch.record_numbers)] == list(range(1, 25))  # type: ignore[arg-type]


def test_of_several_splits_one_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    for split, label in (("train", 0), ("test", 1)):
        saved(folder / split, [pl.DataFrame({"label": [label]})])
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(InputError) as caught:
        sources(folder)
    assert str(caught.value) == (
        f"{folder}: expected one split, got a saved data set with the splits 'train', 'test'. "
        f"Name the folder of one, e.g. '{folder / 'test'}'."
    )
    assert read_table(folder / "test")["label"].to_list() == [1]
    (folder / "dataset_dict.json").write_text('{"splits": ["train"]}')
    assert read_table(folder)["label"].to_list() == [0]


def test_other_folders_are_refused_as_before(tmp_path: Path) -> None:
    (tmp_path / "data-00000-of-00001.arrow").write_bytes(STREAM.read_bytes())
    with pytest.raises(InputError, match="expected a file, got a directory"):
        sources(tmp_path)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", ".", "", "a/b.arrow", "a\\b.arrow", "x\0", "C:x", None, 5, {}, "x" * 5000]
)  # fmt: skip
def test_a_state_that_leads_elsewhere_is_refused(tmp_path: Path, name: Any) -> None:
    folder = saved(tmp_path / "set", [pl.DataFrame({"label": [0]})])
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    with pytest.raises(InputError, match=r"names of files in the same folder|none of that name"):
        sources(folder)
    for splits in ([name], ["../set"]):
        other = tmp_path / "dict"
        other.mkdir(exist_ok=True)
        (other / "dataset_dict.json").write_text(json.dumps({"splits": splits}))
        with pytest.raises(InputError, match=r"the folder of the split|the splits of a saved data set"):
            sources(other)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("{", "something that is no JSON"), ("[]", "the files of a saved data set"), ("{}", "the files of a saved data set"),
        ('{"_data_files": []}', "the files of a saved data set"), ('{"_data_files": {"a": 1}}', "the files of a saved data set"),
        ('{"_data_files": [{"filename": "data-00007.arrow"}]}', "none of that name"),
        ('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}, {"filename": "data-00000-of-00001.arrow"}]}', "given twice"),
        ('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_indices_data_files": [{"filename": "i"}]}', "a separate index"),
        ("\xff\xfe", "no JSON"),
    ],
)  # fmt: skip
def test_a_damaged_state_has_one_message(tmp_path: Path, state: str, words: str) -> None:
    folder = saved(tmp_path / "set", [pl.DataFrame({"label": [0]})])
    (folder / "state.json").write_bytes(state.encode("latin-1"))
    with pytest.raises(InputError, match=words):
        sources(folder)


# -- class names ---------------------------------------------------------------------------------------------------


def test_names_from_every_place(tmp_path: Path) -> None:
    frame = pl.DataFrame({"label": [0, 1, 2], "premise": ["a", "b", "c"]})
    text = json.dumps({"info": {"features": features()}})
    frame.write_parquet(tmp_path / "own.parquet", metadata={"huggingface": text})
    assert told(tmp_path / "own.parquet") == [ORDER]
    assert told(tmp_path / "own.parquet", "gold", columns={"gold": "label"}) == [ORDER]
    assert told(tmp_path / "own.parquet", "label", columns={"label": "premise"}) == []
    assert told(STREAM) == [ORDER]
    beside = tmp_path / "beside"
    beside.mkdir()
    frame.write_parquet(beside / "plain.parquet")
    frame.write_csv(beside / "plain.csv")
    assert told(beside / "plain.parquet") == told(beside / "plain.csv") == []
    (beside / "dataset_infos.json").write_text(
        json.dumps({"default": {"features": features()}, "b": {"features": features()}})
    )
    assert told(beside / "plain.parquet") == told(beside / "plain.csv") == [ORDER]
    (beside / "dataset_info.json").write_text(json.dumps({"features": features(["a", "b", "c"])}))
    assert told(beside / "plain.csv") == [("a", "b", "c"), ORDER]
    assert told(saved(tmp_path / "set", [frame])) == [ORDER]


def test_names_of_objects_in_memory() -> None:
    class ClassLabel:
        def __init__(self) -> None:
            self.names = list(ORDER)

    class Dataset:
        """What `datasets.Dataset` can do, as far as it is asked."""

        def __init__(self) -> None:
            self.features = {"label": ClassLabel(), "text": object()}

        def to_polars(self) -> pl.DataFrame:
            return pl.DataFrame({"label": [0, 1]})

    assert told(Dataset()) == [ORDER]
    assert told(pl.DataFrame({"label": [0]})) == told([{"label": 0}]) == told({"label": [0]}) == []
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"label": [0]}).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features()}})}
    )
    assert told(table) == [ORDER]
    assert told(arrow.table({"label": [0]})) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "no JSON"), ("[" * 100_000, "no JSON"), (json.dumps({"info": {"features": features(["a"]) | {"label": {"_type": "ClassLabel", "names": [1]}}}}), r"\[1\]"),
        (json.dumps({"info": {"features": {"label": {"_type": "ClassLabel", "names": "abc"}}}}), "'abc'"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_read_matter_only_to_who_asks(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"label": [0, 1]}).write_parquet(path, metadata={"huggingface": text})
    [batch] = TableReader(path)
    assert batch.frame["label"].to_list() == [0, 1]
    with pytest.raises(InputError, match=fault):
        batch.class_names("label")


@pytest.mark.parametrize(
    "document",
    [None, [], "x", {"info": None}, {"info": {"features": []}}, {"info": {"features": {"label": None}}},
     {"info": {"features": {"label": {"_type": "ClassLabel", "names": None}}}},
     {"info": {"features": {"label": {"_type": "Value", "names": ["a"]}}}}],
)  # fmt: skip
def test_features_without_names_say_nothing(document: Any) -> None:
    assert hugging_face.class_labels_in(json.dumps(document), "here").of("label") is None


def test_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hugging_face, "_MOST_JSON_BYTES", 100)
    with pytest.raises(InputError, match="more than 100 bytes"):
        hugging_face.class_labels_in(" " * 101, "here").of("label")


def test_configurations_that_contradict_each_other_are_not_guessed_from(tmp_path: Path) -> None:
    pl.DataFrame({"label": [0]}).write_csv(tmp_path / "rows.csv")
    infos = {"a": {"features": features()}, "b": {"features": features(["x", "y", "z"])}}
    (tmp_path / "dataset_infos.json").write_text(json.dumps(infos))
    with pytest.raises(InputError, match="two different lists for the column 'label'"):
        told(tmp_path / "rows.csv")


def test_marks_are_read_by_the_names_of_their_classes(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"

    def marks(names: list[str]) -> list[bool | None]:
        text = json.dumps({"info": {"features": features(names, "correct")}})
        pl.DataFrame({"correct": [0, 1, 1, -1]}).write_parquet(path, metadata={"huggingface": text})
        [batch] = TableReader(path)
        return batch.marks("correct").to_list()

    assert marks(["wrong", "right"]) == [False, True, True, None]
    assert marks(["right", "wrong"]) == [True, False, False, None]
    with pytest.raises(InputError, match=r"record 1: correct: expected right or wrong .*, got 'cats'"):
        marks(["cats", "dogs"])


def test_gold_classes_meet_probabilities_in_their_names(tmp_path: Path) -> None:
    from sensecheck import calibrated

    rows = [{"probabilities": {"yes": 0.9, "no": 0.1}, "label": i % 2} for i in range(40)]
    path = tmp_path / "rows.parquet"
    for names, right in ((["yes", "no"], [True, False]), (["no", "yes"], [False, True])):
        text = json.dumps({"info": {"features": features(names)}})
        pl.DataFrame(rows).write_parquet(path, metadata={"huggingface": text})
        found = calibrated.evaluate(path)
        assert next(iter(found.rows.batches()))["correct"].to_list()[:2] == right


# -- Arrow ---------------------------------------------------------------------------------------------------------

FRAME = pl.DataFrame(
    {
        "number": range(1000), "text": [f"row {i}" for i in range(1000)], "list": [[i, i + 1] for i in range(1000)],
        "empty": [None] * 1000, "word": pl.Series(["a", "b", None, "c"] * 250).cast(pl.Categorical),
    }
)  # fmt: skip


@pytest.mark.parametrize("packing", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("write", [pl.DataFrame.write_ipc, pl.DataFrame.write_ipc_stream])
def test_arrow_files_and_streams(tmp_path: Path, write: Callable[..., None], packing: str) -> None:
    path = tmp_path / "rows [1].arrow"
    write(FRAME, path, compression=packing)
    batches = list(TableReader(path, batch_rows=300))
    assert [len(batch.frame) for batch in batches] == [300, 300, 300, 100]
    assert pl.concat([batch.frame for batch in batches]).drop("_record").equals(FRAME)
    assert [batch.frame["_record"][0] for batch in batches] == [1, 301, 601, 901]
    assert read_table(path, limit=7).height == 7


def test_a_stream_is_read_a_few_record_batches_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hugging_face, "_PART_BYTES", 1)
    [two, other] = TableReader(STREAM)
    assert (len(two.frame), len(other.frame)) == (2, 2)
    assert pl.concat([two.frame, other.frame]).drop("_record").equals(pl.read_ipc_stream(STREAM))


def test_dictionaries_that_change_within_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "rows.arrow"
    words = [["a", "b"], ["c", "d"], ["b", "a"]]
    columns = [arrow.array(part).dictionary_encode() for part in words]
    schema = arrow.schema([("word", columns[0].type)])
    with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_stream(file, schema) as writer:
        for column in columns:
            writer.write_batch(arrow.record_batch([column], schema=schema))
    for size in (1, 1 << 20):
        monkeypatch.setattr(hugging_face, "_PART_BYTES", size)
        assert [word for batch in TableReader(path) for word in batch.frame["word"].to_list()] == [
            *words[0],
            *words[1],
            *words[2],
        ]


def test_arrow_files_of_pyarrow(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "rows.feather"
    text = json.dumps({"info": {"features": features()}})
    table = arrow.table({"label": [2, 1, 0], "text": ["x", "y", "z"]}).replace_schema_metadata({"huggingface": text})
    with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    assert read_table(path)["label"].to_list() == [2, 1, 0]
    assert told(path) == [ORDER]


def test_an_empty_stream_has_no_rows(tmp_path: Path) -> None:
    FRAME.clear().write_ipc_stream(tmp_path / "none.arrow")
    assert read_table(tmp_path / "none.arrow").height == 0


@pytest.mark.parametrize("size", [4, 7, 8, 100, 500, 600, 1000, 1300])
def test_a_stream_that_is_cut_short_is_told(tmp_path: Path, size: int, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.arrow"
    path.write_bytes(STREAM.read_bytes()[:size])
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(caught.value) == (
        f"{path}: cannot be read as Arrow (it is damaged or cut short). Is the file complete? Make or fetch it again."
    )
    assert capfd.readouterr().err == ""


def test_sizes_that_nobody_wrote_are_refused(tmp_path: Path) -> None:
    whole = STREAM.read_bytes()
    size = struct.unpack_from("<i", whole, 4)[0]
    for damaged in (
        whole[:4] + struct.pack("<i", 2**31 - 1) + whole[8:],
        whole[:4] + struct.pack("<i", -8) + whole[8:],
        whole[: 8 + size] + b"\xff\xff\xff\xff" + struct.pack("<i", 1 << 30) + whole[16 + size :],
        b"\xff" * 64, b"ARROW1\0\0" + b"\0" * 30, b"ARROW1\0\0ARROW1", b"ARROW1\0\0" + whole + struct.pack("<i", 1 << 30) + b"ARROW1",
    ):  # fmt: skip
        path = tmp_path / "damaged.arrow"
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="cannot be read as Arrow"):
            read_table(path)


def test_lines_are_not_read_from_arrow() -> None:
    [source] = sources(STREAM)
    with pytest.raises(InputError, match="expected text, got an Arrow stream"):
        list(source.blocks())


@pytest.mark.parametrize("form", ["arrow", "folder"])
def test_every_question_that_reads_tables_reads_arrow(tmp_path: Path, form: str) -> None:
    from sensecheck import calibrated, correct, diverse, faithful

    def written(columns: dict[str, Any]) -> Path:
        frame = pl.DataFrame(columns)
        if form == "folder":
            return saved(tmp_path / "set", [frame.head(20), frame.slice(20)], {})
        frame.write_ipc_stream(tmp_path / "rows.arrow")
        return tmp_path / "rows.arrow"

    assert calibrated.evaluate(written({"confidence": [0.9, 0.4] * 20, "correct": [1, 0] * 20}))["ece"].n == 40
    query = "SELECT name FROM singer WHERE age > 20"
    rows = written({"query": [query] * 40, "sentence": ["Names of singers older than 20?"] * 40})
    assert faithful.evaluate(rows).rows.height == 40
    rows = written({"prediction": [query] * 40, "gold": [query] * 40})
    assert correct.evaluate(rows).rows.height == 40
    rows = written({"query": [f"q{i}" for i in range(40)], "hypotheses": [["a b", "c d"]] * 40})
    assert diverse.evaluate(rows).rows.height >= 40


CARD = """---
language: en
dataset_info:
- config_name: first
  features:
  - name: premise
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          '0': contradiction
          '1': entailment
          "2": neutral
  - name: genre
    dtype:
      class_label:
        names:
          '0': news
  splits:
  - name: train
    num_bytes: 1
---
# Names
'0': nothing
"""


def test_names_from_the_card_of_a_data_set(tmp_path: Path) -> None:
    path = tmp_path / "data" / "rows.csv"
    path.parent.mkdir()
    path.write_text("label,genre\n0,0\n")
    for folder in (tmp_path, path.parent):
        (folder / "README.md").write_text(CARD)
        assert told(path)[0] == ORDER and told(path, "genre")[0] == ("news",)
        (folder / "README.md").write_text(CARD.replace("\n", "\r\n"))
        assert told(path)[0] == ORDER
        (folder / "README.md").write_text(CARD.removeprefix("---\n"))
        assert told(path) == [], "a text without a head is no card"
    (path.parent / "README.md").write_text(CARD.replace("'1': ent", "'7': ent"))
    with pytest.raises(
        InputError, match=r"README.md: expected the names of class labels, got .* for the column 'label'"
    ):
        told(path)


def test_fields_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    nested = pl.Series("a", [1])
    for _ in range(40):
        nested = pl.Series("a", [nested])
    pl.DataFrame([nested]).write_ipc_stream(tmp_path / "deep.arrow")
    with pytest.raises(InputError, match="cannot be read as Arrow"):
        read_table(tmp_path / "deep.arrow")
