"""Logs of inspect_ai: small ones of our own making, and those in ../shared."""

from __future__ import annotations

import io
import json
import math
import zipfile
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.zip_archives import DEFLATED, STORED, ZSTANDARD, archive

import sensecheck
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.registry import recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.zips import Archive
from sensecheck.report.looking import look
from sensecheck.statistics.figure import IntervalOptions

PLAIN = IntervalOptions(method="none")
QUESTIONS = ("", "calibrated", "correct", "diverse", "faithful", "robust")


def sample(name: Any, value: Any = "C", text: Any = "Lima", **more: Any) -> dict[str, Any]:
    scores = {} if value is None else {"match": {"value": value, "answer": "Lima"}}
    choice = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
    return {
        "id": name, "epoch": 1, "input": f"Question {name}?", "target": "Lima", "messages": [],
        "output": {"model": "mockllm/model", "choices": [choice]}, "scores": scores, "metadata": {"region": "south"},
        "attachments": {}, **more,
    }  # fmt: skip


def log(*samples: Any, **more: Any) -> dict[str, Any]:
    told = {
        "task": "cities",
        "model": "mockllm/model",
        "dataset": {"samples": len({str(one["id"]) for one in samples})},
    }
    return {
        "version": 2,
        "status": "success",
        "eval": told,
        "results": {"scores": []},
        "samples": list(samples),
        **more,
    }


def entries(document: dict[str, Any]) -> list[tuple[str, Any]]:
    header = {name: part for name, part in document.items() if name != "samples"}
    samples = [(f"samples/{one['id']}_epoch_{one['epoch']}.json", one) for one in document["samples"]]
    return [("_journal/start.json", {"version": 2}), *samples, ("summaries.json", []), ("header.json", header)]


@pytest.fixture
def written(tmp_path):
    """A log as a file of either kind."""

    def write(document: Any, kind: str = "eval", **how: Any) -> str:
        path = tmp_path / f"log.{kind}"
        data = json.dumps(document).encode() if kind == "json" else archive(entries(document), **how)
        path.write_bytes(data)
        return str(path)

    return write


def accuracy(data: Any, **options: Any) -> tuple[float, int, dict[str, int]]:
    figure = sensecheck.calibrated.evaluate(data, options=PLAIN, **options)["accuracy"]
    return figure.value, figure.n, figure.unscored


# ---- both kinds, and objects in memory


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_verdicts(written, kind):
    values = ["C", "I", "P", "N", True, False, 1, 0, 0.5, "yes", "no", "0.25"]
    path = written(log(*(sample(at, value) for at, value in enumerate(values))), kind)
    assert accuracy(path) == (pytest.approx((1 + 0.5 + 1 + 1 + 0.5 + 1 + 0.25) / 12), 12, {})


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTANDARD])
def test_archives_however_they_are_packed(written, method):
    assert accuracy(written(log(sample("a"), sample("b", "I")), method=method)) == (0.5, 2, {})


def test_an_archive_that_python_wrote(tmp_path):
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in entries(log(sample("ä/b"), sample(7, "I"))):
            target.writestr(name, json.dumps(content))
    assert accuracy(str(path)) == (0.5, 2, {})
    assert sensecheck.calibrated.evaluate(path, options=PLAIN).measurements["id"].to_list() == ["7", "ä/b"]


def test_an_archive_as_a_stream(written):
    with open(written(log(sample("a"), sample("b", "I"))), "rb") as stream:  # noqa: PTH123
        assert accuracy(stream) == (0.5, 2, {})


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_errors_and_what_was_never_scored(written, kind):
    samples = [
        sample("a"), sample("b", "I"), sample("c", None, error={"message": "ValueError('odd')", "traceback": "…"}),
        sample("d", None), sample("e", math.nan), sample("f", None, limit={"type": "token", "limit": 5}),
        sample("g", "C", limit={"type": "message", "limit": 5}), sample("h", "C", invalidation={"reason": "x"}),
    ]  # fmt: skip
    reasons = {"error: ValueError": 1, "no score": 2, "no score (token limit)": 1, "invalidated": 1}
    assert accuracy(written(log(*samples), kind)) == (pytest.approx(2 / 3), 3, reasons)


def test_a_score_despite_an_error_counts_as_it_does_for_inspect():
    result = sensecheck.calibrated.evaluate(log(sample("a", "I", error={"message": "RuntimeError()"}), sample("b")))
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
    assert "1 sample ended in an error and has a score all the same, which counts" in result.notes


@pytest.mark.parametrize("status", ["error", "cancelled", "started"])
@pytest.mark.parametrize("question", [q for q in QUESTIONS if q])
def test_a_run_that_did_not_finish(written, status, question):
    path = written(log(sample("a"), status=status))
    with pytest.raises(InputError, match=rf"did not finish: its status is '{status}'.*eval-retry"):
        getattr(sensecheck, question).evaluate(path)


def test_an_archive_of_a_run_under_way(tmp_path):
    path = tmp_path / "x.eval"
    path.write_bytes(archive([("_journal/start.json", {"version": 2}), ("samples/a_epoch_1.json", sample("a"))]))
    with pytest.raises(InputError, match="its status is 'started'"):
        sensecheck.calibrated.evaluate(path)


def test_never_scored(written):
    path = written(log(sample("a", None), sample("b", None, text="Oslo")))
    with pytest.raises(InputError, match=r"was never scored: none of its 2 samples has a score\. Score it with"):
        sensecheck.calibrated.evaluate(path)
    assert sensecheck.correct.evaluate(path)["em"].value == 0.5


@pytest.mark.parametrize("samples", [None, []])
def test_a_header_alone(written, samples):
    scores = [{"name": "match", "scorer": "match", "metrics": {"accuracy": {"name": "accuracy", "value": 0.431}}}]
    with pytest.raises(
        InputError, match=r"header of a log, without samples \(its results say match: accuracy 0\.431\)"
    ):
        sensecheck.calibrated.evaluate(log(results={"scores": scores}) | {"samples": samples})


def test_epochs_are_samples_of_one_example(written):
    samples = [sample(name, value, epoch=epoch) for epoch, values in ((1, "CI"), (2, "CC")) for name, value in zip("ab", values, strict=True)]  # fmt: skip
    path = written(log(*samples))
    figure = sensecheck.calibrated.evaluate(path)["accuracy"]
    assert (figure.value, figure.n, figure.clusters) == (0.75, 4, 2)


def test_several_scorers(written):
    scores = {"match": {"value": "C"}, "exact": {"value": "I"}}
    path = written(log(sample("a", scores=scores), sample("b", scores=scores)))
    with pytest.raises(InputError, match=r"several scorers: 'match', 'exact'.*--scorer match"):
        sensecheck.calibrated.evaluate(path)
    assert accuracy(path, scorer="match")[0] == 1 and accuracy(path, scorer="exact")[0] == 0
    assert sensecheck.calibrated.evaluate(path, scorer="exact").signature.method["scorer"] == "exact"
    with pytest.raises(InputError, match=r"one of the scorers of this log.*Did you mean 'exact'"):
        sensecheck.calibrated.evaluate(path, scorer="exakt")


def test_scores_that_are_objects(written):
    path = written(
        log(sample("a", {"correct": 1, "confidence": 0.75}), sample("b", {"correct": 0, "confidence": 0.25}))
    )
    result = sensecheck.calibrated.evaluate(path, options=PLAIN)
    assert (result["accuracy"].value, result["mean_confidence"].value) == (0.5, 0.5)
    assert result.signature.method["scorer"] == "match/correct"
    path = written(log(sample("a", {"fluent": 1, "true": 0}), sample("b", {"fluent": 1, "true": 1})))
    with pytest.raises(InputError, match=r"gives several values: 'match/fluent', 'match/true'.*--scorer match/fluent"):
        sensecheck.calibrated.evaluate(path)
    assert accuracy(path, scorer="match/true")[0] == 0.5 and accuracy(path, scorer="match/fluent")[0] == 1


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (7, "a number outside 0 to 1 is no verdict: 7"),
        ("B", "this text is no verdict: 'B'"),
        ([1], "one value: \\[1\\]"),
    ],
)
def test_what_is_no_verdict(written, value, told):
    path = written(log(sample("a"), sample("b", value)))
    for skip_bad in (False, True):  # numbers from 1 to 10 of which only the ones count would be a figure of nothing
        with pytest.raises(InputError, match=f"record 2: scorer match: .*{told}"):
            sensecheck.calibrated.evaluate(path, skip_bad=skip_bad)


def test_log_probabilities(written):
    def steps(*values: float) -> dict[str, Any]:
        return {"content": [{"token": token, "logprob": value} for token, value in zip(("Li", "ma", "\n"), values, strict=False)]}  # fmt: skip

    first, second = sample("a"), sample("b", "I")
    first["output"]["choices"][0]["logprobs"] = steps(-0.5, -0.25, -1.0)
    second["output"]["choices"][0]["logprobs"] = steps(-1.0, -1.0)
    path = written(log(first, second))
    rows = sensecheck.calibrated.evaluate(path, options=PLAIN).measurements
    assert rows["confidence"].to_list() == pytest.approx([math.exp(-0.75), math.exp(-2)])
    assert rows["correct"].to_list() == [True, False]


def test_agreement_with_the_logs_own_figures(written):
    def results(value: float, **more: Any) -> dict[str, Any]:
        return {"scores": [{"name": "match", "scorer": "match", "metrics": {"accuracy": {"value": value}}, **more}]}

    def notes(**more: Any) -> list[str]:
        return sensecheck.calibrated.evaluate(log(sample("a"), sample("b", "I"), **more), options=PLAIN).notes

    assert notes(results=results(0.5))[0] == "agrees with the log's own accuracy: 0.5"
    assert notes(results=results(0.75))[0] == "differs from the log's own accuracy by -0.25: 0.5 here, 0.75 there"
    assert notes(results=results(1.0, reducer="max"))[0] == "the log's own accuracy 1 is of epochs reduced by max"


def own_accuracy(value: float) -> dict[str, Any]:
    return {"scores": [{"name": "match", "scorer": "match", "metrics": {"accuracy": {"value": value}}}]}


def test_unequal_epochs_do_not_agree_with_a_mean_of_means():
    data = log(*(sample("a", epoch=at) for at in (1, 2, 3)), sample("b", "I"), results=own_accuracy(0.5))
    result = sensecheck.calibrated.evaluate(data, options=PLAIN)
    assert result["accuracy"].value == 0.75
    assert result.notes[0] == (
        "the log's own accuracy is 0.5, the mean over samples of their epochs; over all answers it is 0.75"
    )


@pytest.mark.parametrize("again", ["a", "b"])
def test_a_sample_that_is_there_twice(again, tmp_path, capsys):
    first, second = sample(1), sample("1" if again == "a" else 1, "I")
    with pytest.raises(InputError, match=r"record 2: the sample '1' of epoch 1 is there twice, first in record 1\."):
        accuracy(log(first, second))
    path = tmp_path / "x.eval"
    header = ("header.json", {"status": "success"})
    path.write_bytes(archive([("samples/1_epoch_1.json", first), ("samples/1_epoch_2.json", second), header]))
    with pytest.raises(InputError, match=r"is there twice, first in .*x\.eval, record 1\."):
        accuracy(path)
    assert main(["look", str(path)]) == 0
    assert "is there twice" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("results", "dataset", "told"),
    [
        ({"total_samples": 100}, {}, "the log counts 100 samples and holds 1: what is said is of those alone"),
        ({"completed_samples": 2}, {}, "the log counts 2 samples and holds 1: what is said is of those alone"),
        (
            {},
            {"samples": 9},
            "the log is of a dataset of 9 samples and holds 1 of them: what is said is of those alone",
        ),
        ({"total_samples": 1}, {"samples": 1}, ""),
        ({"total_samples": "x"}, {"samples": 10**5000}, ""),
    ],
)
@pytest.mark.parametrize("chosen", [{}, {"limit": 1}, {"sample_id": "a"}])
def test_samples_that_the_log_counts_and_does_not_hold(results, dataset, told, chosen):
    data = log(sample("a"), results=results)
    data["eval"] |= {"dataset": dataset, "config": chosen}
    notes = sensecheck.calibrated.evaluate(data, input_format="inspect", options=PLAIN).notes[:-1]
    assert notes == ([told] if told and not (chosen and dataset) else [])


def test_a_header_that_says_nothing(tmp_path):
    path = tmp_path / "x.eval"
    path.write_bytes(archive([("samples/a_epoch_1.json", sample("a")), ("header.json", {})]))
    with pytest.raises(InputError, match=r"does not say how the run ended: header\.json has no status"):
        accuracy(path)


@pytest.fixture
def several(tmp_path):
    """Logs of tasks and models, as files of either kind or in memory."""

    def write(*told: tuple[str, str], kind: str) -> list[Any]:
        made: list[Any] = []
        for at, (task, model) in enumerate(told):
            one = log(sample("a"), sample("b", "I"), results=own_accuracy(0.5))
            one["eval"] |= {"task": task, "model": model}
            path = tmp_path / f"{at}.{kind}"
            path.write_bytes(json.dumps(one).encode() if kind == "json" else archive(entries(one)))
            made.append(one if kind == "memory" else str(path))
        return made

    return write


@pytest.mark.parametrize("kind", ["json", "eval", "memory"])
def test_several_logs(several, kind):
    result = sensecheck.calibrated.evaluate(several(("t1", "m"), ("t2", "m"), kind=kind))
    assert (result["accuracy"].n, result["accuracy"].clusters) == (4, None)
    assert result.measurements["id"].to_list() == ["t1/a", "t1/b", "t2/a", "t2/b"]
    assert result.notes[:2] == [f"{task}: agrees with the log's own accuracy: 0.5" for task in ("t1", "t2")]
    first, second = log(sample("a")), log(sample("b", scores={"other": {"value": "I"}}))
    assert sensecheck.calibrated.evaluate([first, second]).signature.method["scorer"] == "match+other"
    with pytest.raises(InputError, match="one of the scorers of this log: other, got 'match'"):
        accuracy([first, second], scorer="match")
    with pytest.raises(InputError, match="the sample 'a' of epoch 1 is there twice, first in"):
        accuracy(several(("t1", "m"), ("t1", "m"), kind=kind))


@pytest.mark.parametrize("kind", ["json", "eval", "memory"])
def test_several_models_are_never_mixed(several, kind):
    logs = several(("t", "m1"), ("t", "m2"), kind=kind)
    with pytest.raises(InputError, match=r"several models: 'm1', 'm2'.*--filter m1"):
        accuracy(logs)
    result = sensecheck.calibrated.evaluate(logs, filter="m2", options=PLAIN)
    assert (result["accuracy"].n, result.signature.method["provider"]) == (2, "m2")
    assert accuracy(logs[0], filter="m1") == (0.5, 2, {})
    for given, names in ((logs, "m1, m2"), (logs[0], "m1")):
        with pytest.raises(InputError, match=f"one of the filters of this log: {names}, got 'm9'"):
            accuracy(given, filter="m9")


HASH = "0123456789abcdef0123456789abcdef"


def test_attachments(written):
    long = sample("a", None, text=f"attachment://{HASH}", attachments={HASH: "Lima"}, target=f"attachment://{HASH}")
    assert sensecheck.correct.evaluate(written(log(long)))["em"].value == 1
    whole = sample(
        "a", None, text=[{"type": "reasoning", "reasoning": "…"}, {"type": "text", "text": f"attachment://{HASH}"}]
    )
    assert sensecheck.correct.evaluate(log(whole, attachments={HASH: "Lima"}))["em"].value == 1
    lost = written(log(sample("a", text=f"attachment://{HASH}")))
    with pytest.raises(InputError, match="record 1: refers to an attachment that the log does not hold"):
        sensecheck.correct.evaluate(lost)
    assert "1 sample refers to attachments that the log does not hold" in sensecheck.calibrated.evaluate(lost).notes


def test_samples_that_are_kept_in_pieces(tmp_path):
    shell = {**sample("a", None, text="attachment://1"), "message_refs": []}
    del shell["metadata"], shell["attachments"]
    path = tmp_path / "x.eval"
    path.write_bytes(
        archive([
            ("samples/a_epoch_1/sample.json", shell), ("samples/a_epoch_1/metadata.json", {"region": "south"}),
            ("samples/a_epoch_1/events/0.json", []), ("samples/a_epoch_1/attachments/0.json", ["Oslo", "Lima"]),
            ("header.json", {"status": "success", "eval": {"task": "t"}}),
        ])
    )  # fmt: skip
    result = sensecheck.correct.evaluate(path, slices=["region"])
    assert result["em"].value == 1 and ("region",) in result.estimates.slices


def test_the_entries_of_an_archive_are_gone_over_once(tmp_path, monkeypatch):
    shell = {name: part for name, part in sample("a").items() if name not in ("metadata", "attachments")}
    names = [f"samples/{at}_epoch_1/sample.json" for at in range(20)]
    path = tmp_path / "x.eval"
    shells = [(name, shell | {"id": at}) for at, name in enumerate(names)]
    path.write_bytes(archive([*shells, ("header.json", {"status": "success"})]))
    seen = []

    class Counted(dict[str, Any]):
        def __iter__(self) -> Any:
            seen.append(1)
            return super().__iter__()

    opened = Archive.__init__

    def init(self: Archive, source: Source) -> None:
        opened(self, source)
        self.entries = Counted(self.entries)

    monkeypatch.setattr(Archive, "__init__", init)
    assert accuracy(path) == (1, 20, {})
    assert 0 < len(seen) < 5


def test_fields_of_a_row(written):
    odd = sample(
        "a", metadata={"region": "south", "db_id": "world", "id": 9, "nested": {"a": 1}, "_record": 3, "sample": 2}
    )
    path = written(log(odd | {"choices": ["Lima", "Oslo"], "target": ["Lima", "lima"]}))
    seen = look(path)
    assert {"region", "db_id", "doc_id", "doc__record", "doc_sample", "task", "model", "input"} <= set(seen.fields)
    assert {"nested", "epoch"}.isdisjoint(seen.fields)
    result = sensecheck.calibrated.evaluate(path, slices=["region", "task"], options=PLAIN)
    [row] = result.estimates.slices["region",]
    assert [(f.slice, f.value) for f in row if f.name == "accuracy"] == [({"region": "south"}, 1)]


def test_what_the_scorer_took_for_the_answer(written):
    path = written(log(sample("a", text="It is Lima, I think."), sample("b", text="Lima")))
    assert sensecheck.correct.evaluate(path)["em"].value == 0.5
    assert sensecheck.correct.evaluate(path, columns={"prediction": "answer_scored"})["em"].value == 1


def test_a_completion_without_choices():
    assert (
        sensecheck.correct.evaluate(log(sample("a", None, output={"completion": "Lima", "choices": []})))["em"].value
        == 1
    )


def test_all_answers_to_a_question_for_diverse(written):
    first, again = sample("a", text="one thing"), sample("a", text="another thing", epoch=2)
    first["output"]["choices"].append({"message": {"content": "a third"}})
    result = sensecheck.diverse.evaluate(written(log(first, again, sample("b", None, error={"message": "X"}))))
    assert (result["distinct_1"].n, result["distinct_1"].unscored) == (1, {"error: X": 1})


@dataclass
class Plain:
    """As pydantic's models give their parts."""

    parts: dict[str, Any] = field(default_factory=dict)

    def model_dump(self) -> dict[str, Any]:
        return self.parts


@pytest.mark.parametrize(
    "data",
    [
        Plain(log(sample("a"), sample("b", "I"))),
        [Plain(log(sample("a"), sample("b", "I")))],
        [Plain(sample("a")), Plain(sample("b", "I"))],
        [sample("a"), sample("b", "I")],
    ],
    ids=["a log", "what eval() returns", "samples", "dicts"],
)
def test_in_memory(data):
    assert accuracy(data) == (0.5, 2, {})


def test_old_logs_with_one_score():
    one = sample("a", None, score={"value": "C"})
    del one["scores"]
    assert accuracy(log(one)) == (1, 1, {})


# ---- what it is


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("more", [{}, {"error": {"message": "X"}, "status": "error"}])
def test_known_as_nothing_else(written, question, more):
    marked = sample("a")
    marked["output"]["choices"][0]["logprobs"] = {"content": []}
    for kind, name in (("json", "inspect"), ("eval", "inspect-eval")):
        path = written(log(marked, **more), kind)
        found = recognised(Start.of(Source(path, path=path_of(path))), question)
        assert found is not None and found.format.name == name
    found = recognised(Start.of_objects([marked]), question)
    assert found is not None and found.format.name == "inspect"


def path_of(name: str) -> Any:
    from pathlib import Path

    return Path(name)


def test_look(written, capsys):
    assert main(["look", written(log(sample("a"), sample("b", None)))]) == 0
    out = capsys.readouterr().out
    assert "examples   2" in out and "sensecheck calibrated" in out and "note       scorer: 'match'" in out
    two = sample("a", scores={"match": {"value": 7}, "exact": {"value": "I"}})
    assert main(["look", written(log(two, status="cancelled"))]) == 0
    out = capsys.readouterr().out
    assert "several scorers: 'match', 'exact' (--scorer NAME)" in out
    assert "a run that did not finish: its status is 'cancelled'" in out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"id": None}, "record 1: id: expected a text or a whole number, got None"),
        ({"id": 10**5000}, "record 1: id: expected a text or a whole number, got something of type int"),
        ({"epoch": "x"}, "record 1: epoch: expected a whole number"),
        ({"epoch": 10**5000}, "record 1: epoch: expected a whole number, got something of type int"),
        ({"scores": [1]}, "record 1: scores: expected scores by the names of scorers"),
        ({"scores": {"match": "C"}}, "record 1: scores: expected scores by the names of scorers"),
    ],
)
def test_odd_samples(change, told):
    document = log(sample("a"), sample("b"))
    document["samples"][0] |= change
    with pytest.raises(InputError, match=told):
        sensecheck.calibrated.evaluate(document, input_format="inspect")
    assert accuracy(document, input_format="inspect", skip_bad=True)[:2] == (1, 1)


def test_metadata_that_no_cell_holds():
    odd = log(sample("a", metadata={"large": 10**5000, "none": math.nan, "region": "south"}))
    result = sensecheck.calibrated.evaluate(odd, input_format="inspect", slices=["region"], options=PLAIN)
    assert ("region",) in result.estimates.slices


def test_odd_samples_of_the_log():
    with pytest.raises(InputError, match="samples: expected a list, got 5"):
        sensecheck.calibrated.evaluate(log() | {"samples": 5})
    with pytest.raises(InputError, match="record 1: logprobs: expected a log-probability"):
        one = sample("a")
        one["output"]["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": 7}]}
        sensecheck.calibrated.evaluate(log(one))


# ---- damaged and hostile archives


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"flags": 1}, "is encrypted"),
        ({"method": 12}, "packed by method 12, which is not known here"),
        ({"checksum": 5}, "does not have its checksum"),
        ({"unpacked": 3}, "says 3 bytes and unpacks to more"),
        ({"unpacked": 99_999}, "says 99,999 bytes and unpacks to"),
        ({"unpacked": 0xFFFFFFF0}, "unpacks to at most 100 times its size"),
        ({"unpacked": 0xFFFFFFFF}, "has no size"),
        ({"packed": 50_000_000}, "reaches into what follows it"),
        ({"at": 0}, "reaches into what follows it"),
        ({"count": 7}, "its directory has 5 entries and says 7"),
    ],
)
@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTANDARD])
def test_archives_that_lie(written, method, how, told):
    with pytest.raises(InputError, match=told):
        sensecheck.calibrated.evaluate(written(log(sample("a"), sample("b")), **{"method": method, **how}))


def test_a_name_twice(tmp_path):
    path = tmp_path / "x.eval"
    path.write_bytes(archive([*entries(log(sample("a"))), ("header.json", {"status": "success"})]))
    with pytest.raises(InputError, match=r"two entries have the name 'header\.json'"):
        sensecheck.calibrated.evaluate(path)


@pytest.mark.parametrize("method", [DEFLATED, ZSTANDARD])
def test_little_that_unpacks_to_much_stops_early(tmp_path, method, monkeypatch):
    monkeypatch.setattr("sensecheck.inputs.zips.MAX_UNPACKED_BYTES", 100_000)
    path = tmp_path / "x.eval"
    bomb = [(f"samples/{at}_epoch_1.json", b" " * 90_000) for at in range(3)]
    path.write_bytes(archive([*bomb, ("header.json", {"status": "success"})], method))
    with pytest.raises(
        InputError, match=r"samples/0_epoch_1\.json.*JSON document|unpacks to at most 100 times its size"
    ):
        sensecheck.calibrated.evaluate(path)
    opened = Archive(Source(str(path), path=path))
    opened.read("samples/0_epoch_1.json")
    with pytest.raises(InputError, match="unpacks to at most 100 times its size"):
        opened.read("samples/1_epoch_1.json")
    opened.close()


@pytest.mark.parametrize("size", [200, -1, -30])
def test_an_archive_that_is_cut_off(written, tmp_path, size):
    path = tmp_path / "cut.eval"
    path.write_bytes(path_of(written(log(sample("a"), sample("b")))).read_bytes()[:size])
    with pytest.raises(InputError, match=r"ends too early: the file is cut off|is damaged"):
        sensecheck.calibrated.evaluate(path)


def test_archives_of_others(tmp_path):
    path = tmp_path / "other.zip"
    path.write_bytes(archive([("readme.txt", b"hello")], STORED))
    with pytest.raises(InputError, match="expected text, got a zip archive"):
        sensecheck.calibrated.evaluate(path)
    path.write_bytes(archive([("summaries.json", [])], STORED))
    with pytest.raises(InputError, match=r"without header\.json, and so no log"):
        sensecheck.calibrated.evaluate(path)
    path.write_bytes(archive([("header.json", [1])], STORED))
    with pytest.raises(InputError, match=r"header\.json: expected a JSON object"):
        sensecheck.calibrated.evaluate(path)
    path.write_bytes(archive([("header.json", b"{")], STORED))
    with pytest.raises(InputError, match=r"header\.json:1: expected a JSON document"):
        sensecheck.calibrated.evaluate(path)


def test_a_log_that_was_packed_once_more(written, tmp_path):
    import gzip

    path = tmp_path / "log.eval.gz"
    path.write_bytes(gzip.compress(path_of(written(log(sample("a")))).read_bytes()))
    with pytest.raises(InputError, match="packed once more"):
        sensecheck.calibrated.evaluate(path)


def test_a_large_archive_has_its_sizes_in_the_extra_field():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as writer, writer.open("header.json", "w", force_zip64=True) as entry:
        entry.write(b"{}")
    opened = Archive(Source("x", stream=io.BytesIO(target.getvalue())))
    assert opened.read("header.json") == b"{}"


# ---- files as programs of the field wrote them


@pytest.fixture
def files(shared):
    folder = shared / "data" / "formats" / "inspect_ai"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/formats: needs third-party files that may not be copied into the repository")
    return folder


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "options", "right", "n", "unscored"),
    [
        ("choice.eval", {}, 0.6, 5, {}),
        ("choice.json", {}, 0.6, 5, {}),
        ("match_logprobs.eval", {"scorer": "match"}, 0.6, 5, {}),
        ("match_logprobs.json", {"scorer": "match"}, 0.6, 5, {}),
        ("match_logprobs.eval", {"scorer": "exact"}, 0.4, 5, {}),
        ("match_logprobs.json", {"scorer": "exact"}, 0.4, 5, {}),
        ("graded_epochs3.eval", {}, 0.5, 15, {}),
        ("error_unscored.eval", {}, 1 / 3, 3, {"error: RuntimeError": 1, "no score": 1}),
        ("error_unscored.json", {}, 1 / 3, 3, {"error: RuntimeError": 1, "no score": 1}),
        ("dict_confidence.eval", {}, 0.4, 5, {}),
        ("repo_mmlu-summary-choices.eval", {}, 0.0, 1, {}),
        ("repo_eee_arc_qwen.json", {}, 1 / 3, 3, {}),
    ],
)
def test_figures_of_files(files, name, options, right, n, unscored):
    result = sensecheck.calibrated.evaluate(files / name, options=PLAIN, **options)
    assert (result["accuracy"].value, result["accuracy"].n) == (pytest.approx(right), n)
    assert result["accuracy"].unscored == unscored
    assert any(note.startswith("agrees with the log's own ") for note in result.notes)


@pytest.mark.golden
def test_confidences_of_files(files):
    for kind in ("eval", "json"):
        rows = sensecheck.calibrated.evaluate(
            files / f"match_logprobs.{kind}", scorer="match", options=PLAIN
        ).measurements
        assert rows["confidence"].round(3).to_list() == [0.98, 0.905, 0.407, 0.522, 0.287]
    result = sensecheck.calibrated.evaluate(files / "dict_confidence.eval", options=PLAIN)
    assert result["mean_confidence"].value == pytest.approx(0.62)
    assert sensecheck.calibrated.evaluate(files / "graded_epochs3.eval")["accuracy"].clusters == 5


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("aborted_status_error.json", "did not finish: its status is 'error'"),
        ("repo_2025-02_popularity.eval", "was never scored: none of its 10 samples"),
        (
            "repo_eee_llm_scoring.json",
            r"header of a log, without samples \(its results say simpleqa_scorer: accuracy 0\.431",
        ),
        ("match_logprobs.eval", "several scorers: 'match', 'exact'"),
    ],
)
def test_files_without_a_figure(files, name, told):
    with pytest.raises(InputError, match=told):
        sensecheck.calibrated.evaluate(files / name)


@pytest.mark.golden
def test_answers_of_a_log_that_was_never_scored(files):
    assert sensecheck.diverse.evaluate(files / "repo_2025-02_popularity.eval")["distinct_1"].n == 10
    assert sensecheck.diverse.evaluate(files / "graded_epochs3.eval")["distinct_1"].n == 5
