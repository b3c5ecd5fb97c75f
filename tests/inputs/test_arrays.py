"""Files of arrays, and what models give in memory: predictions with labels, and outputs of `generate`."""

from __future__ import annotations

import io
import json
import pickle
import struct
import subprocess
import sys
import zipfile
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sensecheck
from sensecheck import calibrated
from sensecheck.inputs.errors import InputError
from sensecheck.report.looking import look
from sensecheck.statistics.figure import IntervalOptions


def measured(*data: Any, **given: Any) -> sensecheck.Result:
    return calibrated.evaluate(*data, options=IntervalOptions(method="none"), **given)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(6)
    logits = rng.normal(size=(40, 3))
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(1)


def safetensors(path: str, header: Any, data: bytes = b"") -> str:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


# -- predictions and labels


def test_every_file_of_predictions_gives_the_same(rows):
    logits, y = rows
    right = measured(probabilities=logits, label=y)
    wanted = [right[name].value for name in ("accuracy", "ece", "classwise_ece")]
    np.savez("a.npz", predictions=logits, label_ids=y)
    np.savez_compressed("b.npz", logits=np.asfortranarray(logits), labels=y.astype(np.int8), loss=np.float32(0.5))
    np.savez("c.npz", logits, y)
    np.savez("d.npz", scores=logits.astype(">f8"), y_true=y.astype(">i4"), other=np.arange(3))
    np.save("predictions.npy", logits)
    np.save("labels.npy", y)
    header = {
        "__metadata__": {"format": "pt"},
        "logits": {"dtype": "F64", "shape": [40, 3], "data_offsets": [0, 960]},
        "labels": {"dtype": "I64", "shape": [40], "data_offsets": [960, 1280]},
    }
    safetensors("e.safetensors", header, logits.tobytes() + y.astype("<i8").tobytes())
    for path in ("a.npz", "b.npz", "c.npz", "d.npz", "e.safetensors"):
        result = measured(path)
        assert [result[name].value for name in ("accuracy", "ece", "classwise_ece")] == wanted, path
        assert "scale:logits(softmax)" in result.signature.short and result.inputs[0]["format"] == path.split(".")[1]
        assert look(path).examples == 40 and look(path).commands == [f"sensecheck calibrated {path}"]
    for golds in ("labels.npy", y, {"label": y.tolist()}):
        result = measured("predictions.npy", gold=golds)
        assert [result[name].value for name in ("accuracy", "ece", "classwise_ece")] == wanted
    assert any("arr_0 is probabilities, arr_1 is label" in note for note in measured("c.npz").notes)
    names = np.array(["no", "maybe", "yes"])
    np.savez("n.npz", predictions=logits, label_ids=names[y])
    assert measured("n.npz", classes=list(names))["ece"].value == wanted[1]


def test_half_precision_in_safetensors(rows):
    logits, y = rows
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    upper = (p.astype("<f4").view("<u4") >> 16).astype("<u2")
    header = {
        "probs": {"dtype": "BF16", "shape": [40, 3], "data_offsets": [0, 240]},
        "labels": {"dtype": "U8", "shape": [40], "data_offsets": [240, 280]},
    }
    safetensors("b.safetensors", header, upper.tobytes() + y.astype("u1").tobytes())
    cut = (upper.astype("<u4") << 16).view("<f4")
    assert measured("b.safetensors")["ece"].value == measured(probabilities=cut, label=y)["ece"].value


@pytest.mark.torch
def test_what_torch_saves(rows):
    torch = pytest.importorskip("torch")
    logits, y = (torch.tensor(one) for one in rows)
    wanted = measured(probabilities=logits, label=y)["classwise_ece"].value
    torch.save({"logits": logits, "labels": y}, "a.pt")
    torch.save((logits, y), "b.pt")
    torch.save([{"logits": logits[:30], "labels": y[:30]}, {"logits": logits[30:], "labels": y[30:]}], "c.pt")
    torch.save({"logits": logits, "labels": y}, "d.pt", _use_new_zipfile_serialization=False)
    torch.save({"logits": (logits.requires_grad_(), logits), "labels": y}, "e.pt")
    for path in ("a.pt", "b.pt", "c.pt", "d.pt", "e.pt"):
        assert measured(path)["classwise_ece"].value == wanted, path
    torch.save({"logits": logits, "labels": y.tolist()}, "f.pt")
    assert measured("f.pt")["classwise_ece"].value == wanted
    torch.save({0: logits, 1: y}, "g.pt")
    with pytest.raises(InputError, match=r"do not say what they are: 0 \(3 numbers a row\), 1"):
        measured("g.pt")
    half = {"logits": logits.bfloat16(), "labels": y}
    torch.save(half, "h.pt")
    assert measured("h.pt")["ece"].value == measured(half)["ece"].value
    torch.save(torch.nn.Linear(2, 2), "model.pt")
    with pytest.raises(InputError, match=r"model\.pt: cannot be loaded as tensors alone.*weights_only=True and never"):
        measured("model.pt")
    Path("cut.pt").write_bytes(Path("a.pt").read_bytes()[:700])
    with pytest.raises(InputError, match="cannot be read as a zip"):
        measured("cut.pt")


def test_nothing_is_unpickled(rows):
    """A pickle that would leave a mark leaves none, whatever it is called."""

    class Mark:
        def __reduce__(self) -> Any:
            return Path.touch, (Path("marked"),)

    np.savez("o.npz", predictions=np.array([Mark(), Mark()], dtype=object), labels=np.arange(2))
    np.save("o.npy", np.array([Mark(), Mark()], dtype=object))
    for path in ("o.npz", "o.npy"):
        with pytest.raises(InputError, match="Python objects, which are pickles and never loaded"):
            measured(path)
    Path("p.pt").write_bytes(pickle.dumps(Mark()))
    with zipfile.ZipFile("q.pt", "w") as packed:
        packed.writestr("q/data.pkl", pickle.dumps(Mark()))
        packed.writestr("q/version", "3\n")
    for options in ({}, {"input_format": "pt"}):
        for path in ("p.pt", "q.pt"):
            with pytest.raises(InputError, match="never"):
                measured(path, **options)
    assert not Path("marked").exists()


def test_without_torch(rows):
    with zipfile.ZipFile("q.pt", "w") as packed:
        packed.writestr("q/data.pkl", b"")
    code = """
import sys
sys.modules["torch"] = None
from sensecheck import calibrated
try:
    calibrated.evaluate("q.pt")
except ValueError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "needs torch" in told and "sensecheck[models]" in told


def test_reading_arrays_imports_no_torch(rows):
    np.savez("a.npz", predictions=rows[0], label_ids=rows[1])
    code = """
import sys
from sensecheck import calibrated
from sensecheck.statistics.figure import IntervalOptions
calibrated.evaluate("a.npz", options=IntervalOptions(method="none"))
print([name for name in ("torch", "jax", "transformers", "pandas") if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"p": np.full(4, 0.5), "y": np.ones(4, bool)}, r"do not say what they are: p \(Float64\), y \(Boolean\)\. .*proba"),
        ({"logits": np.eye(4), "scores": np.eye(4), "y": np.arange(4)}, r"logits \(4 numbers a row\), scores \(4 num"),
        ({"predictions": np.eye(4), "label_ids": np.arange(3)}, r"label_ids: expected 4 rows.*got 3 \(predictions \(4 × 4"),
        ({"predictions": np.zeros((2, 3, 4)), "label_ids": np.zeros((2, 3), int)}, "2 × 3 × 4.*n × classes|n × classes"),
        ({"predictions": np.eye(3)}, "label: expected a column with the gold class .*--gold FILE"),
        ({"loss": np.float64(3)}, "arrays of predictions and labels, got loss"),
        ({"x": np.eye(2, dtype=complex)}, "of the type"),
        ({"x": np.zeros(2, dtype=[("a", "f4")])}, "of the type"),
        ({}, "arrays of predictions and labels, got none|cannot be read|expected text"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_say_it(arrays, message):
    np.savez("a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        measured("a.npz")


def test_the_user_says_which(rows):
    logits, y = rows
    p = 1 / (1 + np.exp(-logits[:, 0]))
    np.savez("a.npz", p=p, y=y == 0, before=logits, after=logits * 2)
    binary = measured("a.npz", columns={"probability": "p", "label": "y"})
    assert binary["ece"].value == measured(probability=p, label=y == 0)["ece"].value
    plain = measured("a.npz", columns={"confidence": "p", "correct": "y"})
    assert plain["ece"].value == measured(confidence=p, correct=y == 0)["ece"].value
    np.savez("b.npz", before=logits, after=logits * 2, gold=y)
    later = measured("b.npz", columns={"probabilities": "after"})
    assert later["ece"].value == measured(probabilities=logits * 2, label=y)["ece"].value


def test_two_labels_that_differ(rows):
    logits, y = rows
    wanted = measured(probabilities=logits, label=y)["accuracy"].value
    np.savez("a.npz", logits=logits, label=y, labels=y.astype(np.int8))
    assert measured("a.npz")["accuracy"].value == wanted
    other = y.copy()
    other[4] = 2 - y[4] if y[4] != 1 else 0
    np.savez("b.npz", logits=logits, label=other, labels=y)
    told = rf"b\.npz: record 5: expected .* in label and labels, got {other[4]} and {y[4]}\. .*--columns label=labels?"
    with pytest.raises(InputError, match=told):
        measured("b.npz")
    assert measured("b.npz", columns={"label": "labels"})["accuracy"].value == wanted
    assert measured("b.npz", columns={"label": "label"})["accuracy"].value != wanted


# -- hostile files


def _npy(header: bytes, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize(
    "data",
    [
        _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000000), }\n"),
        _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }\n", b"\0" * 16),
        _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n", b"\0" * 31),
        _npy(b"{'descr': '|V0', 'fortran_order': False, 'shape': (2, 2), }\n"),
        _npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", pickle.dumps([1])),
        _npy(b"{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,), }\n", b"\0" * 8),
        _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999999999999), }\n"),
        _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"99999999999," * 31 + b" 0), }\n"),
        _npy(b"{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }\n", b"\xff" * 4),
        _npy(b"{'descr': '>U1', 'fortran_order': False, 'shape': (1,), }\n", b"\0\0\xd8\0"),
        _npy(b"[" * 5000),
        _npy(b"__import__('os').getcwd()\n"),
        _npy(b"{}\n"),
        _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", b"\0" * 16, b"\x03\x00"),
        b"\x93NUMPY",
    ],
)
def test_hostile_npy(data):
    Path("a.npy").write_bytes(data)
    with zipfile.ZipFile("a.npz", "w") as packed:
        packed.writestr("predictions.npy", data)
    for path in ("a.npy", "a.npz"):
        told = "claims|has the shape|is of the type|is no NumPy array|are pickles|has a version|do not exist"
        with pytest.raises(InputError, match=rf"^{path}: .*({told})"):
            measured(path)


def test_halves_of_characters_in_memory():
    with pytest.raises(InputError, match="label: expected texts that can be written"):
        measured(probabilities=np.eye(2), label=np.array(["\ud800", "a"]))


def test_a_zip_that_unpacks_to_far_more_than_it_has():
    with zipfile.ZipFile("a.npz", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("predictions.npy", bytes(200 * 1024 * 1024))
    with pytest.raises(InputError, match="unpacks to at most 100 times its size"):
        measured("a.npz")
    data = Path("a.npz").read_bytes()
    # The directory says that it is small.
    Path("b.npz").write_bytes(data.replace(struct.pack("<I", 200 * 1024 * 1024), struct.pack("<I", 1000)))
    with pytest.raises(InputError, match=r"b\.npz"):
        measured("b.npz")


TENSOR = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}


@pytest.mark.parametrize(
    "header",
    [
        {"a": {**TENSOR, "data_offsets": [0, 1 << 60]}},
        {"a": {**TENSOR, "data_offsets": [-16, 0]}},
        {"a": {**TENSOR, "data_offsets": [16, 0]}},
        {"a": {**TENSOR, "data_offsets": [0, 8]}},
        {"a": {**TENSOR, "data_offsets": [0]}},
        {"a": {**TENSOR, "data_offsets": None}},
        {"a": {**TENSOR, "shape": [1 << 40, 1 << 40]}},
        {"a": {**TENSOR, "shape": [2.0, 2]}},
        {"a": {**TENSOR, "shape": [-2, -2]}},
        {"a": {**TENSOR, "shape": [True, 4]}},
        {"a": {**TENSOR, "shape": [2, 2] + [1] * 100}},
        {"a": {**TENSOR, "shape": [1 << 61, 0], "data_offsets": [0, 0]}},
        {"a": {**TENSOR, "shape": [1 << 61, 1 << 61, 0], "data_offsets": [0, 0]}},
        {"a": {**TENSOR, "dtype": "object"}},
        {"a": {**TENSOR, "dtype": ["F32"]}},
        {"a": TENSOR, "b": {**TENSOR, "data_offsets": [8, 24]}},
        {"a": TENSOR, "b": TENSOR},
        {"a": 1},
        {"a": None},
        b'{"a": {"dtype": "F32", "data_offsets": ',
        b'{"data_offsets": ' + b"[" * 100_000,
        b'{"data_offsets": NaN}',
        b'{"data_offsets\xff": 1}',
    ],
)
def test_hostile_safetensors(header):
    path = safetensors("a.safetensors", header, b"\0" * 32)
    told = "claims|has the shape|is of the type|has a header that is no|overlap"
    with pytest.raises(InputError, match=rf"^a\.safetensors: .*({told})"):
        measured(path)


@pytest.mark.parametrize("data", [struct.pack("<Q", 1 << 62) + b"{}", struct.pack("<Q", 50) + b'{"a": 1}', b"\0" * 9])
def test_absurd_lengths_of_a_header(data):
    Path("a.safetensors").write_bytes(data)
    with pytest.raises(InputError, match=r"a\.safetensors"):
        measured("a.safetensors", input_format="safetensors")


# -- what `generate` gives

END, PAD = 1, 2


def generated(written: list[list[int]], *, prompt: int = 0, seed: int = 0) -> tuple[dict[str, Any], Any]:
    """Outputs with these tokens, and the log-probabilities of all of them."""
    rng = np.random.default_rng(seed)
    tokens = np.array(written)
    scores = rng.normal(size=(tokens.shape[1], len(tokens), 10)).astype(np.float32)
    logs = scores - np.log(np.exp(scores.astype(float)).sum(-1, keepdims=True))
    chosen = np.array([[logs[t, r, tokens[r, t]] for t in range(tokens.shape[1])] for r in range(len(tokens))])
    start = np.full((len(tokens), prompt), 7)
    return {"sequences": np.concatenate([start, tokens], 1), "scores": tuple(scores)}, chosen


def confidences(result: sensecheck.Result) -> list[float]:
    return [row["confidence"] for frame in result.rows.batches() for row in frame.iter_rows(named=True)]


@pytest.mark.parametrize(
    ("written", "lengths", "stopped", "said"),
    [
        # padding of its own, behind what ends other rows
        ([[3, 4, END], [5, END, PAD], [END, PAD, PAD]], [2, 1, 0], 1, "token 1 ends an answer and token 2 pads it"),
        # the same with a row that was cut off
        (
            [[3, 4, 5, 6], [5, END, PAD, PAD], [8, 4, 3, END]],
            [4, 1, 3],
            1,
            "token 1 ends an answer and token 2 pads it",
        ),
        # padded with what ends them
        ([[3, 4, END], [5, END, END], [END, END, END]], [3, 3, 3], 0, "nothing in the rows tells"),
        ([[3, 4, END], [5, END, END], [6, END, END]], [2, 1, 1], 1, "token 1 ends an answer and its repeats pad it"),
        ([[3, 4, 5], [5, END, END], [6, END, END]], [3, 1, 1], 1, "token 1 ends an answer and its repeats pad it"),
        # nothing is padded: what ends an answer cannot be told from its last word
        (
            [[3, 4, END], [5, 6, END]],
            [3, 3],
            0,
            "nothing in the rows tells what ends an answer or pads it: all 3 tokens",
        ),
        # a full stop before the end of equally long answers is no end
        ([[3, 9, END], [5, 9, END]], [3, 3], 0, "nothing in the rows tells"),
        # one that only repeats itself
        ([[3, 4, 5], [6, 6, 6], [8, 3, 4], [5, 8, 8]], [3, 3, 3, 3], 0, "nothing in the rows tells"),
        ([[3, 4]], [2], 0, "nothing in the rows tells"),
    ],
)
def test_where_answers_end(written, lengths, stopped, said):
    for prompt in (0, 4):
        parts, logs = generated(written, prompt=prompt)
        result = measured(parts)
        assert said in result.notes[0]
        expected = [np.exp(row[:n].sum()) if n else np.exp(row[0]) for row, n in zip(logs, lengths, strict=True)]
        assert confidences(result) == pytest.approx(expected)
        assert "scale:logprobs" in result.signature.short and result["accuracy"].n == 0
        with_stop = confidences(measured(parts, with_stop=True))
        ends = [n + (stopped if n < len(row) and n < row.size else 0) for row, n in zip(logs, lengths, strict=True)]
        assert with_stop == pytest.approx([np.exp(row[:n].sum()) for row, n in zip(logs, ends, strict=True)])


def test_what_the_output_itself_says():
    parts, logs = generated([[3, 4, END], [5, 6, END]])
    result = measured({**parts, "eos_token_id": END, "pad_token_id": PAD})
    assert "as the output says" in result.notes[0]
    assert confidences(result) == pytest.approx(np.exp(logs[:, :2].sum(1)))
    both = np.array([END, 9])
    cut = confidences(measured({**parts, "sequences": np.array([[3, 9, 9], [5, 6, END]]), "eos_token_id": both}))
    assert cut[1] == pytest.approx(np.exp(logs[1, :2].sum()))


def test_every_form_of_the_scores():
    written = [[3, 4, END], [5, END, PAD], [6, END, PAD]]
    parts, logs = generated(written, prompt=2)
    wanted = confidences(measured(parts))
    stacked = np.stack(parts["scores"])
    for given in (
        {"sequences": parts["sequences"], "scores": stacked, "transition_scores": logs},
        {"sequences": parts["sequences"], "scores": stacked.transpose(1, 0, 2), "transition_scores": logs},
        {"sequences": parts["sequences"], "logits": parts["scores"]},
        {"sequences": parts["sequences"], "transition_scores": logs},
        {**parts, "transition_scores": logs},
        OrderedDict(parts),
    ):
        assert confidences(measured(given)) == pytest.approx(wanted)
    raw = np.stack([parts["scores"][t][np.arange(3), np.array(written)[:, t]] for t in range(3)], 1)
    told = measured({**parts, "transition_scores": raw})
    assert confidences(told) == pytest.approx(wanted)
    assert any("not normalised" in note for note in told.notes)
    two = confidences(measured([parts, parts]))
    assert two == pytest.approx(wanted * 2)


def test_rows_and_steps_are_told_apart_by_their_number():
    parts, _ = generated([[3, 4, END], [5, END, PAD], [6, END, PAD], [8, 3, END]])
    stacked = np.stack(parts["scores"])
    wanted = confidences(measured(parts))
    for scores in (stacked, stacked.transpose(1, 0, 2)):
        assert confidences(measured({"sequences": parts["sequences"], "scores": scores})) == pytest.approx(wanted)


def test_as_many_rows_as_steps():
    """A square stack is read in the order that its numbers show, and in none where they show none."""
    written = np.array([[3, 4, 8], [5, 6, 9], [6, 8, 3]])
    parts, logs = generated(written.tolist())
    stacked = np.stack(parts["scores"])
    wanted = confidences(measured(parts))
    raw = np.stack([stacked[t][np.arange(3), written[:, t]] for t in range(3)], 1)
    cut = stacked.copy()
    cut[0, 1, 4] = -np.inf  # which row 0 writes at step 1, and row 1 does not at step 0
    top = stacked.copy()
    for row, tokens in enumerate(written):
        top[np.arange(3), row, tokens] = 9
    for scores, more, said in (
        (stacked, {}, ""),
        (stacked, {"transition_scores": logs}, "as transition_scores show"),
        (stacked, {"transition_scores": raw}, "not normalised show"),
        (cut, {}, "would else have had no probability"),
        (top, {}, "is then the likeliest"),
    ):
        expected = wanted if scores is stacked else confidences(measured({**parts, "scores": tuple(scores)}))
        for first, given in (("steps", scores), ("rows", scores.transpose(1, 0, 2))):
            np.savez("g.npz", sequences=written, scores=given, **more)
            if not said:
                with pytest.raises(InputError, match=r"g\.npz: .*nothing shows which .*compute_transition_scores"):
                    measured("g.npz")
                continue
            result = measured("g.npz")
            assert confidences(result) == pytest.approx(expected)
            assert any(f"the {first} come first" in note and said in note for note in result.notes)
    # One row of one step is the same either way.
    assert confidences(measured({"sequences": written[:1, :1], "scores": stacked[:1, :1]})) == pytest.approx(
        np.exp(logs[0, :1])
    )


def test_beams():
    parts, logs = generated([[3, 4, END], [5, END, PAD]])
    rows = np.array([[1, 0, 1], [0, 1, -1]])
    step = [s - np.log(np.exp(s.astype(float)).sum(-1, keepdims=True)) for s in parts["scores"]]
    result = measured({**parts, "beam_indices": rows})
    assert confidences(result) == pytest.approx(
        [np.exp(step[0][1, 3] + step[1][0, 4] + 0 * logs[0, 0]), np.exp(step[0][0, 5])]
    )
    assert "beam_indices" in result.notes[0]
    wide = {"sequences": parts["sequences"], "scores": tuple(np.concatenate([s, s]) for s in parts["scores"])}
    with pytest.raises(InputError, match="beam_indices, or transition_scores"):
        measured(wide)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sequences": np.array([[3.0, 4.0, 1.0], [5.0, 1.0, 2.0]])}, "sequences: expected whole numbers of tokens"),
        ({"sequences": np.array([[3, 4, 99], [5, 1, 2]])}, "tokens from 0 to 9, which have scores, got 99"),
        ({"sequences": np.array([[3, 4, -1], [5, 1, 2]])}, "tokens from 0 to 9, which have scores, got -1"),
        ({"sequences": np.array([[3, 4], [5, 1]])}, "at least the 3 tokens that have scores"),
        ({"sequences": np.zeros((0, 3), int)}, "rows a step"),
        (
            {"scores": None, "transition_scores": np.array([[0.5, 1.0, 2.0], [0.1, 0.2, 0.3]])},
            "record 1: .*normalize_log",
        ),
        ({"scores": None, "transition_scores": np.array([[-1.0, float("nan"), -1], [-1, -1, -1]])}, "record 1: .*nan"),
        ({"scores": None, "transition_scores": np.array([[-1.0, -1, -1]])}, "2 rows, as sequences has, got 1"),
        ({"transition_scores": np.array([[-1.0, -1], [-1, -1]])}, "2 steps, as transition_scores has, got 3"),
    ],
)
def test_outputs_that_do_not_fit(change, message):
    parts, _ = generated([[3, 4, END], [5, END, PAD]])
    with pytest.raises(InputError, match=message):
        measured({name: value for name, value in {**parts, **change}.items() if value is not None})


def test_what_is_saved_beside_the_outputs():
    parts, logs = generated([[3, 4, END], [5, END, PAD]])
    given = {"sequences": parts["sequences"], "transition_scores": logs}
    np.savez("g.npz", **given, id=np.array([7, 8]), region=np.array(["n", "s"]))
    Path("right.csv").write_text("id,correct\n8,1\n7,0\n")
    result = measured("g.npz", gold="right.csv", slices=["region"])
    frame = next(iter(result.rows.batches()))
    assert frame["id"].to_list() == ["7", "8"] and frame["correct"].to_list() == [0.0, 1.0]
    assert frame["region"].to_list() == ["n", "s"] and any("joined by id" in note for note in result.notes)
    np.savez("h.npz", **given, correct=np.array([True, False]), prediction=np.array(["a", "b"]))
    assert measured("h.npz")["accuracy"].value == 0.5
    assert measured({**given, "correct": [1, 1]})["accuracy"].value == 1
    assert measured([{**given, "id": [1, 2], "correct": [1, 1]}, {**given, "id": [3, 4], "correct": [0, 1]}])[
        "accuracy"
    ].value == pytest.approx(3 / 4)
    with pytest.raises(InputError, match="the same arrays in all parts"):
        measured([given, {**given, "correct": [1, 1]}])
    np.savez("i.npz", **given, id=np.array([7]))
    with pytest.raises(InputError, match=r"i\.npz: id: expected 2 values, .*np\.repeat"):
        measured("i.npz")


def test_golds_are_joined_by_the_ids_beside_distributions():
    p = np.array([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]])
    np.savez("a.npz", probabilities=p, id=np.array([7, 8, 9]))
    Path("labels.csv").write_text("id,label\n9,1\n8,0\n7,0\n")
    result = measured("a.npz", gold="labels.csv")
    assert result["accuracy"].value == pytest.approx(1 / 3) and "joined by id" in result.notes[0]
    np.savez("b.npz", probabilities=p, label=np.array([0, 0, 1]), id=np.array([7, 8]))
    with pytest.raises(InputError, match=r"b\.npz: id: expected 3 rows"):
        measured("b.npz")


def test_golds_beside_what_was_generated():
    parts, _ = generated([[3, 4, END], [5, END, PAD], [6, 3, END]])
    np.savez(
        "g.npz", sequences=parts["sequences"], transition_scores=generated([[3, 4, END], [5, END, PAD], [6, 3, END]])[1]
    )
    Path("right.jsonl").write_text('{"correct": true}\n{"correct": false}\n{"correct": true}\n')
    result = measured("g.npz", gold="right.jsonl")
    assert result["accuracy"].value == pytest.approx(2 / 3) and result["ece"].n == 3
    assert measured(parts, gold=[{"correct": 1}, {"correct": 0}, {"correct": 1}])["accuracy"].value == pytest.approx(
        2 / 3
    )
    # A gold text says nothing where the answer's own is not known.
    Path("texts.jsonl").write_text('{"gold": "a"}\n{"gold": "b"}\n{"gold": "c"}\n')
    unknown = measured("g.npz", gold="texts.jsonl")
    assert unknown["accuracy"].n == 0 and any("must come as `correct`" in note for note in unknown.notes)
    Path("both.jsonl").write_text('{"prediction": "a", "gold": "a"}\n' * 2 + '{"prediction": "x", "gold": "c"}\n')
    assert measured("g.npz", gold="both.jsonl")["accuracy"].value == pytest.approx(2 / 3)


def test_predictions_in_memory(rows):
    Output = namedtuple("PredictionOutput", ["predictions", "label_ids", "metrics"])
    logits, y = rows
    wanted = measured(probabilities=logits, label=y)["classwise_ece"].value
    assert measured(Output(logits, y, {"test_loss": 0.5}))["classwise_ece"].value == wanted
    pair = measured(Output((logits, np.zeros((40, 2, 2))), y, None))
    assert pair["classwise_ece"].value == wanted and "of which the first is read" in pair.notes[0]
    with pytest.raises(InputError, match="gold class"):
        measured(Output(logits, None, {}))


@pytest.mark.torch
def test_a_real_model_generates():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=20, n_positions=32, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=1, pad_token_id=2
    )
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(config).eval()
    prompt = torch.randint(3, 20, (8, 4))
    for given in ({"do_sample": False}, {"do_sample": True}, {"num_beams": 3}):
        output = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=5, return_dict_in_generate=True,
            output_scores=True, **given,
        )  # fmt: skip
        beams = getattr(output, "beam_indices", None)
        scores = model.compute_transition_scores(output.sequences, output.scores, beams, normalize_logits=beams is None)
        result = measured(output)
        assert result["mean_confidence"].n == 8
        steps = len(output.scores)
        written = output.sequences[:, -steps:]
        for row, (found, tokens) in enumerate(zip(confidences(result), written.tolist(), strict=True)):
            kept = tokens.index(1) if 1 in tokens and "nothing" not in result.notes[0] else steps
            assert found == pytest.approx(float(scores[row, :kept].double().sum().exp()), rel=1e-4)


def test_objects_of_clients_and_engines():
    """What OpenAI's client and vLLM give in memory: models of pydantic, and plain classes."""

    class Model:
        def __init__(self, **fields: Any) -> None:
            self.fields = fields

        def model_dump(self) -> dict[str, Any]:
            return self.fields

    @dataclass
    class Logprob:
        logprob: float
        rank: int
        decoded_token: str

    @dataclass
    class Completion:
        index: int
        text: str
        token_ids: list[int]
        cumulative_logprob: float
        logprobs: list[dict[int, Logprob]]
        finish_reason: str = "stop"
        stop_reason: Any = None

    content = [
        {"token": "Li", "logprob": -0.25, "bytes": [76, 105]},
        {"token": "ma", "logprob": -0.25, "bytes": [109, 97]},
    ]
    choice = {"index": 0, "message": {"role": "assistant", "content": "Lima"}, "logprobs": {"content": content}}
    replies = [Model(id=f"r{at}", object="chat.completion", choices=[choice]) for at in range(2)]
    assert confidences(measured(replies)) == pytest.approx([np.exp(-0.5)] * 2)
    request = SimpleNamespace(
        request_id="0", prompt="?", outputs=[
            Completion(0, "Lima", [5, 6, 1], -0.6, [
                {5: Logprob(-0.25, 1, "Li"), 9: Logprob(-3.0, 2, "x")}, {6: Logprob(-0.25, 1, "ma")},
                {1: Logprob(-0.1, 1, "\n")},
            ]),
        ],
    )  # fmt: skip
    assert confidences(measured([request])) == pytest.approx([np.exp(-0.5)])
    assert confidences(measured([request], with_stop=True)) == pytest.approx([np.exp(-0.6)])


# -- files of others


@pytest.mark.golden
def test_files_of_hugging_face(shared):
    folder = shared / "data" / "formats" / "hf_generate"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/formats: needs third-party files that may not be copied into the repository")
    predicted = measured(folder / "trainer_predict.npz")
    assert predicted["accuracy"].value == 0.695 and predicted["accuracy"].n == 200
    assert "scale:logits(softmax)" in predicted.signature.short
    names = ["geo_a.npz"]
    if __import__("importlib.util").util.find_spec("torch"):
        names.append("geo_a.pt")
    for name in names:
        result = measured(folder / name)
        assert result["mean_confidence"].n == 12 and result["mean_confidence"].value == pytest.approx(
            0.597587, abs=2e-6
        )
        assert "token 1 ends an answer and token 2 pads it" in result.notes[0]
        judged = measured(folder / name, gold=folder / "geo_a.jsonl")
        assert judged["accuracy"].value == pytest.approx(8 / 12)


def test_streams_are_read(rows):
    np.savez("a.npz", predictions=rows[0], label_ids=rows[1])
    data = io.BytesIO(Path("a.npz").read_bytes())
    wanted = measured("a.npz")["ece"].value
    assert measured(io.BufferedReader(data), input_format="npz")["ece"].value == wanted
