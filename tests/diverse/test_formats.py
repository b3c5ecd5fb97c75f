"""ParlAI's logs, NoveltyBench's files, lines with tabs: what is read of them, and what a broken one gets."""

from __future__ import annotations

import gzip
import io
import json
import time
from collections import Counter
from math import log
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main
from sensecheck.diverse import evaluate
from sensecheck.diverse.examples import example_page
from sensecheck.diverse.measure import MeasureOptions, Sets, measure
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.registry import named, recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import sources
from sensecheck.report.result import Result, load
from sensecheck.statistics.figure import IntervalOptions

NONE = IntervalOptions(method="none")


def write(folder: Path, name: str, content: Any) -> str:
    """A text as it is, a list of anything as JSON lines."""
    path = folder / name
    lines = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
    path.write_text(lines, encoding="utf-8")
    return str(path)


def known(path: str, question: str = "diverse") -> str | None:
    found = recognised(Start.of(sources(path)[0]), question)
    return None if found is None else found.format.name


def rows(path: str, format: str) -> list[dict[str, Any]]:
    reading = named(format).rows
    assert reading is not None
    held = []
    for _, row in reading(sources(path)[0]):
        if isinstance(row, InputError):
            raise row
        held.append(dict(row))
    return held


def asked(data: Any, **options: Any) -> Result:
    return evaluate(data, options=NONE, **options)


def refused(data: Any, **options: Any) -> str:
    with pytest.raises(InputError) as raised:
        asked(data, **options)
    return str(raised.value)


def texts(result: Result) -> list[list[str]]:
    assert result.texts is not None
    return [one for frame in result.texts.batches(["hypothesis"]) for one in frame["hypothesis"].to_list()]


# ---- ParlAI


def act(speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": speaker, "episode_done": False, "text": text, **more}


SELF_CHAT = [
    {
        "dialog": [
            [
                act("Bot_1", "hello", beam_texts=[["hello", -1.5], ["hi", -2.0]]),
                act("Bot_2", "how are you", beam_texts=[["how are you", -1.0]]),
            ],
            [act("Bot_1", "fine", beam_texts=[["fine", -1.0], ["well", -3.0], ["so so", -4.5]]), act("Bot_2", "seed")],
        ],
        "context": [act("context", "for the second"), act("context", "for the first")],
        "metadata_path": "log.metadata",
    },
    {"dialog": [[act("Bot_1", "hey", beam_texts=[["hey", -1.0]]), act("Bot_2", "oh", beam_texts=[["oh", -2.0]])]]},
]


def test_self_chat(tmp_path: Path) -> None:
    path = write(tmp_path, "log.jsonl", SELF_CHAT)
    assert known(path) == "parlai"
    read = rows(path, "parlai")
    assert [row["hypotheses"] for row in read] == [
        ["hello", "hi"],
        ["how are you"],
        ["fine", "well", "so so"],
        ["hey"],
        ["oh"],
    ]
    assert [row["query"] for row in read] == ["for the first", "hello", "how are you", "", "hey"]
    assert [row["id"] for row in read] == ["1:1", "1:2", "1:3", "2:1", "2:2"]
    assert [row["conversation"] for row in read] == [1, 1, 1, 2, 2]
    assert [row["agent"] for row in read] == ["Bot_1", "Bot_2", "Bot_1", "Bot_1", "Bot_2"]


def test_replies_of_a_conversation_are_resampled_together(tmp_path: Path) -> None:
    path = write(tmp_path, "log.jsonl", SELF_CHAT)
    result = evaluate(path, options=IntervalOptions(replicates=20), slices=["agent"])
    figure = result["words"]
    assert (figure.n, figure.clusters) == (5, 2)
    alone = evaluate(path, options=IntervalOptions(replicates=20), cluster="id")
    assert alone["words"].clusters == 5


def test_conversations_of_several_logs_are_told_apart(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path, f"{name}.jsonl", SELF_CHAT)
    together = str(tmp_path / "?.jsonl")
    result = evaluate(together, options=IntervalOptions(replicates=20))
    assert (result["words"].n, result["words"].clusters) == (10, 4)
    assert result.notes == ["no references: only figures of the responses themselves"]
    assert evaluate(together, options=IntervalOptions(replicates=20), cluster="id")["words"].clusters == 10


def test_labels_of_a_teacher_are_references(tmp_path: Path) -> None:
    """As eval_model logs them; what keep-fields fills in where an act has no such field is nothing."""
    path = write(tmp_path, "log.jsonl", [
        {"dialog": [
            [act("task", "who is it ?", eval_labels=["my sister", "a friend"], beam_texts=""),
             act("Model", "my sister", eval_labels="", beam_texts=[["my sister", -1.0], ["nobody", -2.0]])],
            [act("task", "and where ?", eval_labels=["here"], beam_texts=""), act("Model", "here", beam_texts="")],
        ]},
        {"dialog": [[act("task", "a", labels=["b"]), act("Model", "c")]]},
    ])  # fmt: skip
    read = rows(path, "parlai")
    # Of a conversation in which some acts have beams, those are the model's.
    assert [(row["query"], row["hypotheses"], row.get("references")) for row in read] == [
        ("who is it ?", ["my sister", "nobody"], ["my sister", "a friend"]),
        ("a", ["c"], ["b"]),
    ]
    assert asked(path)["mds"].value == pytest.approx((0.5 + 0) / 2)


@pytest.mark.parametrize(
    ("dialog", "replies"),
    [
        # The second of two speakers answers the first; one that talks to itself says all of it.
        ([[act("human", "a"), act("Model", "b")], [act("human", "c"), act("Model", "d")]], [("a", "b"), ("c", "d")]),
        ([[act("M_1", "a"), act("M_2", "b")], [act("M_1", "c"), act("M_2", "d")]], [("a", "b"), ("b", "c"), ("c", "d")]),
        # Turns of one act, and acts in place of turns.
        ([[act("x", "a")], [act("y", "b")]], [("a", "b")]),
        ([act("x", "a"), act("y", "b")], [("a", "b")]),
        # A model that ranks: its candidates are not what it would have said.
        ([[act("x", "a"), act("y", "b", text_candidates=["b", "c"])]], [("a", "b")]),
    ],
)  # fmt: skip
def test_whose_acts_are_replies(tmp_path: Path, dialog: list[Any], replies: list[tuple[str, str]]) -> None:
    read = rows(write(tmp_path, "log.jsonl", [{"dialog": dialog}]), "parlai")
    assert [(row["query"], *row["hypotheses"]) for row in read] == replies


def test_older_logs_are_one_list(tmp_path: Path) -> None:
    path = write(tmp_path, "log.json", json.dumps([one["dialog"] for one in SELF_CHAT]))
    assert known(path) == "parlai"
    assert texts(asked(path)) == texts(asked(write(tmp_path, "log.jsonl", SELF_CHAT)))


def test_lines_about_the_log_are_no_conversations(tmp_path: Path) -> None:
    path = write(tmp_path, "log.jsonl", [{"metadata": {"opt": {}}}, *SELF_CHAT])
    assert known(path) == "parlai"
    assert len(rows(path, "parlai")) == 5


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"dialog": 5}, "log.jsonl:2: dialog: expected a list of turns, each a list of acts, got a number 5"),
        ({"dialog": [["a", "b"]]}, "log.jsonl:2: dialog: expected acts with an id and a text, got 'a'"),
        ({"dialog": [[act("M_1", "a"), act("M_2", "b", beam_texts=[[3, -1.0]])]]}, "log.jsonl:2: beam_texts: expected texts"),
        ({"dialog": [[act("M_1", "a"), {"id": "M_2", "text": None}]]}, "log.jsonl:2: text: expected what the model said"),
        ({"dialog": [[act("t", "a", labels=[1]), act("M", "b")]]}, "log.jsonl:2: labels: expected a list of texts"),
        ({"other": 1}, "log.jsonl:2: dialog: expected a list of turns"),
    ],
)  # fmt: skip
def test_a_broken_conversation_has_a_message_and_can_be_skipped(tmp_path: Path, row: Any, said: str) -> None:
    path = write(tmp_path, "log.jsonl", [SELF_CHAT[0], row, SELF_CHAT[1]])
    message = refused(path)
    assert said in message and "--skip-bad" in message
    result = asked(path, skip_bad=True)
    assert (result["words"].n, sum(result["words"].unscored.values())) == (5, 1)


def test_a_log_that_is_cut_off(tmp_path: Path) -> None:
    whole = "".join(json.dumps(row) + "\n" for row in SELF_CHAT)
    path = write(tmp_path, "log.jsonl", whole[:-40])
    assert known(path) == "parlai"
    assert "log.jsonl:2: expected a complete JSON object" in refused(path)
    assert len(asked(path, skip_bad=True)["words"].unscored) == 1
    (tmp_path / "one.jsonl").write_text(whole[:200])
    assert "one.jsonl:1: expected a complete JSON object" in refused(str(tmp_path / "one.jsonl"), input_format="parlai")


def test_packed_and_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(json.dumps(row) + "\n" for row in SELF_CHAT).encode()
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(text))
    assert asked(str(tmp_path / "log.jsonl.gz"))["words"].n == 5
    for content in (text, json.dumps([one["dialog"] for one in SELF_CHAT]).encode()):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))  # type: ignore[arg-type]
        assert asked("-")["words"].n == 5


def test_the_log_of_a_self_chat(shared: Path) -> None:
    path = str(shared / "data/formats/dialogue/parlai_selfchat_worldlog_model1.jsonl")
    assert known(path) == "parlai"
    read = rows(path, "parlai")
    logs = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert len(read) == 40 == sum(len(turn) for log_ in logs for turn in log_["dialog"])
    assert sum(len(row["hypotheses"]) for row in read) == sum(
        len(one["beam_texts"]) for log_ in logs for turn in log_["dialog"] for one in turn
    )
    result = evaluate(path, slices=["agent"], options=IntervalOptions(replicates=20))
    assert (result["vendi"].n, result["vendi"].clusters) == (40, 4)
    assert all(row["query"] for row in read)


# ---- NoveltyBench and given classes

NOVELTY = [
    {"id": "a", "prompt": "A colour?", "model": "m", "generations": ["red", "Red.", "blue", "red!"], "partition": [0, 0, 1, 0],
     "distinct": 1, "generation_scores": [10, 0, 10, 0], "partition_scores": [10, 10], "utility": 4.5},
    {"id": "b", "prompt": "A number?", "model": "m", "generations": ["7", "7", "7", "7"], "partition": [0, 0, 0, 0],
     "distinct": 0, "generation_scores": [10, 0, 0, 0], "partition_scores": [10], "utility": 2.5},
]  # fmt: skip


def test_noveltybench(tmp_path: Path) -> None:
    path = write(tmp_path, "scores.jsonl", NOVELTY)
    assert known(path) == "noveltybench"
    result = asked(path, slices=["model"])
    assert result["distinct_classes"].value == 1.5
    assert result["class_share"].value == (2 / 4 + 1 / 4) / 2
    assert result["class_entropy"].value == pytest.approx((-3 / 4 * log(3 / 4) - 1 / 4 * log(1 / 4)) / 2)
    # Two of four: the same class unless the one blue response is among them, which it is in 3 of 6 pairs.
    assert result["classes_at_2"].value == pytest.approx((1 + 3 / 6 + 1) / 2)
    assert result.signature.method["classes"] == "given"
    assert "The responses to a query fall in 1.5 classes on average." in result.verdict()


def test_classes_by_any_name_and_in_any_table(tmp_path: Path) -> None:
    sets = [["a", "b", "c"], ["d"], []]
    named_ = [["x", "y", "x"], ["z"], []]
    records = [{"hypotheses": one, "classes": two} for one, two in zip(sets, named_, strict=True)]
    expected = asked(records)["distinct_classes"].value
    assert expected == 1.0  # (2 + 1 + 0) / 3
    path = write(tmp_path, "r.jsonl", records)
    assert asked(path)["distinct_classes"].value == expected
    csv = "hypotheses,groups_of\n" + "".join(
        '"{}","{}"\n'.format(*(json.dumps(x).replace('"', '""') for x in pair))
        for pair in zip(sets[:2], named_, strict=False)
    )
    mapped = asked(write(tmp_path, "r.csv", csv.replace("groups_of", "classes")))
    assert mapped["distinct_classes"].value == 1.5
    other = [{"hypotheses": row["hypotheses"], "kind": row["classes"]} for row in records]
    assert asked(other, columns={"classes": "kind"})["distinct_classes"].value == expected
    assert asked(other, columns={"classes": "kind"})["class_share"].n == 2  # no response, no share


def test_references_beside_generations_are_heeded(tmp_path: Path) -> None:
    row = {
        "prompt": "A colour?",
        "generations": ["red", "blue"],
        "references": [["red"], ["green"]],
        "partition": [0, 1],
    }
    result = asked(write(tmp_path, "g.jsonl", [row, row]))
    assert result["mds"].value == 0.5 and result["distinct_classes"].value == 2.0
    assert known(write(tmp_path, "q.jsonl", [{**row, "query": "?"}])) is None
    mapped = asked(write(tmp_path, "g.jsonl", [row]), columns={"query": "prompt", "hypotheses": "generations"})
    assert mapped["mds"].value == 0.5


def test_queries_without_classes_beside_others_have_no_value() -> None:
    result = asked([{"hypotheses": ["a", "b"], "classes": [0, 1]}, {"hypotheses": ["a"]}])
    assert (result["distinct_classes"].value, result["distinct_classes"].n) == (2.0, 1)


def test_without_classes_nothing_changes() -> None:
    plain = [{"id": "a", "hypotheses": ["a", "b"]}, {"id": "b", "hypotheses": ["c"]}]
    beside = [{**row, "partition": "test"} for row in plain]
    one, two = asked(plain), asked(beside, slices=["partition"])
    assert [figure.name for figure in one.figures] == [figure.name for figure in two.figures]
    assert "classes" not in one.signature.method and "distinct_classes" not in {figure.name for figure in one.figures}
    assert not [name for name in one.measurements.schema if "class" in name]


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([0, 1], "got 2 classes"),
        ([0, 1, 2, 3, 4], "got 5 classes"),
        ([0, 1, None], "got nothing"),
        ([0, 1, 1.5], "got a number 1.5"),
        ([0, [1], 2], "got a list"),
        ([0, 1.0, True], "True"),
        ([False, True, True], "False"),
    ],
)
def test_a_wrong_partition_has_a_message(tmp_path: Path, given: list[Any], got: str) -> None:
    bad = {"id": "c", "prompt": "?", "generations": ["a", "b", "c"], "partition": given}
    path = write(tmp_path, "p.jsonl", [*NOVELTY, bad])
    message = refused(path)
    assert "p.jsonl:3: partition: expected the class of each of the 3 responses" in message
    assert got in message, message
    result = asked(path, skip_bad=True)
    assert (result["distinct_classes"].n, sum(result["distinct_classes"].unscored.values())) == (2, 1)


def test_whole_numbers_of_a_partition_are_the_same_however_written(tmp_path: Path) -> None:
    lines = [{"id": "a", "prompt": "?", "generations": ["a", "b", "c"], "partition": part}
             for part in ([0, 1, 1], [0, 1.0, 1])]  # fmt: skip
    one, two = (asked(write(tmp_path, f"{n}.jsonl", [line])) for n, line in enumerate(lines))
    assert one["distinct_classes"].value == two["distinct_classes"].value == 2


def test_classes_that_are_named_must_be_a_list() -> None:
    rows_ = [{"hypotheses": ["a"], "kind": "x"}]
    assert "record 1: classes: expected the class of each of the 1 responses" in refused(
        rows_, columns={"classes": "kind"}
    )


def test_classes_that_come_late_are_refused() -> None:
    rows_: list[dict[str, Any]] = [{"hypotheses": ["a"]} for _ in range(600)]
    rows_[599]["classes"] = [0]
    assert "record 600: classes: expected classes among the first 512 queries" in refused(rows_, variety=False)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"prompt": "?", "generations": "a"}, "generations: expected a list of texts, got 'a'"),
        ({"prompt": "?", "generations": ["a", 5]}, "generations: expected a list of texts"),
        ({"generations": ["a"]}, "prompt: expected a text, got nothing"),
    ],
)
def test_a_broken_line_of_noveltybench(tmp_path: Path, row: Any, said: str) -> None:
    path = write(tmp_path, "g.jsonl", [*NOVELTY, row])
    assert f"g.jsonl:3: {said}" in refused(path)
    assert len(asked(path, skip_bad=True)["words"].unscored) == 1
    cut = write(tmp_path, "cut.jsonl", (tmp_path / "g.jsonl").read_text()[:-10])
    assert "cut.jsonl:3: expected a complete JSON object" in refused(cut)


def test_classes_are_those_of_counting() -> None:
    """Against a count written down for itself, on sets of all sizes."""
    classes = [["a"] * i + ["b"] * (j % 3) + [str(k) for k in range(j)] for i in range(4) for j in range(4)]
    sets = Sets([str(i) for i in range(16)], [[""] * len(one) for one in classes], [()] * 16, None, classes)
    frame, _ = measure(sets, MeasureOptions(variety=False, at=(2, 3)))
    for row, given in zip(frame.iter_rows(named=True), classes, strict=True):
        sizes = Counter(given).values()
        n = len(given)
        assert row["classes"] == len(sizes)
        assert row["class_share"] == (len(sizes) / n if n else None)
        entropy = -sum(size / n * log(size / n) for size in sizes) if n else None
        assert row["class_entropy"] == (None if entropy is None else pytest.approx(entropy, abs=1e-12))
        pairs = [len({given[i], given[j]}) for i in range(n) for j in range(i)]
        assert row["classes_at_2"] == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def test_a_run_with_classes_is_stored_and_shown(tmp_path: Path) -> None:
    path = write(tmp_path, "scores.jsonl", NOVELTY)
    result = evaluate(path, out=tmp_path / "run", options=IntervalOptions(replicates=20))
    again = load(tmp_path / "run")
    assert again["distinct_classes"].value == result["distinct_classes"].value == 1.5
    assert again.texts is not None
    shown = [part["label"] for frame in again.texts.batches() for one in example_page(frame) for part in one["parts"]]
    assert shown == ["class 0: 3 of 4", "class 1: 1 of 4", "class 0: 4 of 4"]


def test_noveltybench_files(shared: Path) -> None:
    folder = shared / "data/formats/dialogue"
    lines = [json.loads(line) for line in (folder / "noveltybench_scores_first20.jsonl").read_text().splitlines()]
    result = asked(str(folder / "noveltybench_scores_first20.jsonl"), slices=["model"])
    figure = result["distinct_classes"]
    # Their field `distinct` holds the highest number of a class, from 0; their summary counts the classes.
    assert figure.n == 20 and figure.value == sum(row["distinct"] + 1 for row in lines) / 20 == 1.6
    assert figure.value == sum(len(row["partition_scores"]) for row in lines) / 20
    plain = asked(str(folder / "noveltybench_generations_first20.jsonl"))
    assert plain["words"].n == 20 and "distinct_classes" not in {figure.name for figure in plain.figures}
    assert plain["self_bleu"].value == result["self_bleu"].value


# ---- lines with tabs

TABBED = "Who is it?\tMy sister.\tA friend.\nWhere?\tHere.\t\tThere.\nAnd when?\tNow.\t\t\n"


def test_tabbed_lines(tmp_path: Path) -> None:
    for name in ("r.tsv", "r.txt", "responses"):
        path = write(tmp_path, name, TABBED)
        assert known(path) == "tabbed"
        # Empty in between is an empty response; tabs at the end fill up.
        assert texts(asked(path)) == [["My sister.", "A friend."], ["Here.", "", "There."], ["Now."]]
    assert [row["query"] for row in rows(path, "tabbed")] == ["Who is it?", "Where?", "And when?"]
    crlf = write(tmp_path, "crlf.tsv", TABBED.replace("\n", "\r\n").removesuffix("\r\n"))
    assert texts(asked(crlf)) == texts(asked(path))


def test_references_of_tabbed_lines_are_found_by_their_query(tmp_path: Path) -> None:
    references = {
        "Where?": {"0": ["There."]},
        "Who is it?": {"0": ["My sister."], "1": ["Nobody."]},
        "And when?": {"0": ["Later."]},
    }
    result = asked(write(tmp_path, "r.tsv", TABBED), references=references)
    assert result["mds"].value == pytest.approx((1 / 2 + 1 + 0) / 3)


@pytest.mark.parametrize(
    "text",
    [
        "query\thypotheses\treferences\nhi\t[\"a\"]\t[\"b\"]\n",
        "prompt\treply one\treply two\nWho?\tMe.\tYou.\n",
        "id\tscore\ttext\na\t1\tx y\nb\t2\ty z\n",
        "One.\t1\tsome text\nTwo.\t2\tsome other text\n",
        "hello\thi there\they\ngood day\thello\thi\n",
        "a\t b </s> c\td </s> e\nf\tg </s> h\ti\n",
        "One question?\tone response\nAnother?\tanother response\n",
        "a,b\tc,d\nno tab here\n",
    ],
)  # fmt: skip
def test_what_may_be_something_else_is_not_taken_for_tabbed_lines(tmp_path: Path, text: str) -> None:
    assert known(write(tmp_path, "r.tsv", text)) is None
    assert known(write(tmp_path, "r.txt", text)) is None


def test_what_cannot_be_told_apart_asks(tmp_path: Path) -> None:
    doubtful = "hello\thi there\they\ngood day\thello\thi\n"
    path = write(tmp_path, "r.tsv", doubtful)
    assert "--columns hypotheses=YOURS" in refused(path) and "--input-format tabbed" in refused(path)
    assert "--input-format tabbed" in refused(write(tmp_path, "r.txt", doubtful))
    assert texts(asked(path, input_format="tabbed")) == [["hi there", "hey"], ["hello", "hi"]]
    assert texts(asked(path, columns={"hypotheses": "hey"})) == [["hi"]]
    table = write(tmp_path, "t.tsv", TABBED.replace("And when?\tNow.\t\t\n", ""))
    assert known(table) == "tabbed"  # a table has as many cells in every row


def test_a_line_of_very_many_cells_is_known_in_time() -> None:
    start = Start.of_bytes("r.tsv", "\t".join(["a"] * 450_000).encode() + b"\n")
    began = time.perf_counter()
    found = recognised(start, "diverse")
    assert time.perf_counter() - began < 1  # 0.02 s on an idle core; 4 s where every column is looked at
    assert found is not None and found.format.name == "tabbed"


def test_a_long_query_before_the_first_tab(tmp_path: Path) -> None:
    assert known(write(tmp_path, "r.tsv", f"{'Who is it? ' * 2000}\tMy sister.\tA friend.\n")) == "tabbed"


def test_text_with_eos_is_read_as_before_whatever_tabs_it_holds(tmp_path: Path) -> None:
    held = "a\tb\tc </s> d\te\nf\tg </s> h\ti\tj\n"
    assert texts(asked(write(tmp_path, "r.txt", held))) == [["a\tb\tc", "d\te"], ["f\tg", "h\ti\tj"]]
    # Whoever names the separator has lines of responses, without queries.
    path = write(tmp_path, "t.txt", TABBED)
    assert texts(asked(path, eos="\t"))[0] == ["Who is it?", "My sister.", "A friend."]
    assert texts(asked(path, eos="\t", input_format="tabbed"))[0] == ["My sister.", "A friend."]


def test_a_line_without_a_tab_has_a_message(tmp_path: Path) -> None:
    path = write(tmp_path, "r.tsv", TABBED + "\nAnd wh")
    message = refused(path, input_format="tabbed")
    assert "r.tsv:5: expected a query, a tab and its responses, parted by tabs, got 'And wh'" in message
    result = asked(path, input_format="tabbed", skip_bad=True)
    assert (result["words"].n, sum(result["words"].unscored.values())) == (3, 1)


def test_tabbed_responses(shared: Path) -> None:
    path = str(shared / "data/formats/dialogue/responses_tabs.tsv")
    assert known(path) == "tabbed"
    held = texts(asked(path))
    assert len(held) == 12 and {len(one) for one in held} == {5}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diverse", write(tmp_path, "r.tsv", TABBED), "--no-ci"]) == 0
    assert main(["diverse", write(tmp_path, "n.jsonl", NOVELTY), "--no-ci"]) == 0
    assert "distinct classes" in capsys.readouterr().out
    assert main(["explain", "classes_at_2"]) == 0
