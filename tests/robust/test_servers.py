"""`robust` against scripted servers of language models: what is read, what it costs, where it stops, and batch files."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main
from sensecheck.models.by_prompt import EndpointClassifier
from sensecheck.models.calls import CallCache, Identity
from sensecheck.models.classifiers import Asked
from sensecheck.models.endpoint import Endpoint
from sensecheck.models.prompts import NLI_PROMPT
from sensecheck.report.result import load
from sensecheck.robust import evaluate
from sensecheck.robust.ahead import DryRun
from sensecheck.robust.systems import Access, classifier

LABELS = ("entailment", "neutral", "contradiction")
KEY = "sk-hidden-1234567890"


def _scripted() -> Any:
    name = "scripted_server"
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "models" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


scripted = _scripted()
Reply, chat, prompt_of, serving = scripted.Reply, scripted.chat, scripted.prompt_of, scripted.serving


def said_of(prompt: str) -> str:
    """A label by the prompt alone: what is about a rewritten hypothesis is mostly as meant."""
    digest = hashlib.sha256(prompt.encode()).digest()
    return LABELS[digest[0] % 3] if digest[1] < 100 else LABELS[2 if " not " in prompt else 0]


def plain(body: dict[str, Any], number: int) -> Any:
    return chat(said_of(prompt_of(body)))


def reasoning(body: dict[str, Any], number: int) -> Any:
    """The same labels, by a model that weighs the others first, each time in another style."""
    label = said_of(prompt_of(body))
    others = " or ".join(other for other in LABELS if other != label)
    styles = (
        f"<think>Is it {others}? Surely {others}.</think>\n{label}",
        f"It is not {others.replace(' or ', ', and it is not ')}: {label}",
        f"At first I thought of {others}.\n\n**Answer:** {label}",
        f'```json\n{{"reasoning": "no {others}", "label": "{label}"}}\n```',
        f"\\boxed{{\\text{{{label}}}}}",
    )
    return chat(styles[hashlib.sha256(prompt_of(body).encode()).digest()[2] % len(styles)])


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"premise": f"Two dogs and {i} cats run in the park.", "hypothesis": f"Two dogs and {i} cats move.", "label": 0}
        for i in range(12)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def texts_kept(out: Path) -> list[str]:
    with sqlite3.connect(out / "calls.sqlite") as kept:
        return [str(row[0]) for row in kept.execute("SELECT text FROM calls")]


def run(pairs: Path, url: str, *more: str) -> int:
    return main(["robust", str(pairs), "--model", f"{url}#m", "--resamples", "50", "--keep", "2", *more])


def test_a_model_that_reasons_gets_the_figures_of_one_that_does_not(pairs: Path, tmp_path: Path) -> None:
    found = {}
    for name, script in (("plain", plain), ("reasoning", reasoning)):
        with serving(script) as server:
            assert run(pairs, server.url, "--out", str(tmp_path / name)) == 0
        result = load(tmp_path / name)
        found[name] = (repr(result.figures), result.extra["funnel"])
        assert result.extra["answers"]["unreadable"] == {} and result.extra["answers"]["answers"] > 50
        assert result.signature.system["answers"] == "read by nli-1"
    assert found["plain"] == found["reasoning"]


def test_unreadable_answers_are_told_beside_the_headline(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(body: dict[str, Any], number: int) -> Any:
        kind = hashlib.sha256(prompt_of(body).encode()).digest()[3] % 16
        if kind == 0:
            return chat("<think>Let me see: entailment", "length")
        return chat("I'm sorry, I can't help with that.") if kind == 1 else plain(body, number)

    with serving(script) as server:
        assert run(pairs, server.url, "--out", str(tmp_path / "run")) == 0
    told = re.compile(
        r"[0-9.]+% of [0-9,]+ answers hold no label that could be read: "
        r".*cut off before the answer \([0-9]+\).*; more of them may fit with a larger --max-tokens"
    )
    printed = " ".join(capsys.readouterr().out.split())
    assert len(told.findall(printed)) == 1 and "refused (" in printed
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    counts = summary["extra"]["answers"]
    assert set(counts["unreadable"]) == {"cut off before the answer", "refused"}
    assert told.search(summary["notes"][0])
    assert told.search(" ".join((tmp_path / "run" / "report.html").read_text().split()))
    # The counts are sums over the rows: any part of a run can be asked for its own.
    rows = load(tmp_path / "run").measurements
    assert rows["answers"].sum() == counts["answers"]
    assert rows["unread_refused"].sum() == counts["unreadable"]["refused"]


def test_cost_is_counted_and_told(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def script(body: dict[str, Any], number: int) -> Any:
        return Reply(500, b"oops") if number == 2 else plain(body, number)

    out, cache = tmp_path / "run", str(tmp_path / "calls.sqlite")
    with serving(script) as server:
        assert run(pairs, server.url, "--out", str(out), "--cache", cache) == 0
        calls = len(server.bodies)
        first = load(out).extra["cost"]["model"]
        assert run(pairs, server.url, "--out", str(tmp_path / "again"), "--cache", cache) == 0
        assert len(server.bodies) == calls, "nothing is asked twice"
    now = first["this run"]
    assert now["requests"] == calls and now["failed_tries"] == 1 and now["asked"] == calls - 1
    assert (now["tokens_in"], now["tokens_out"]) == (50 * (calls - 1), 3 * (calls - 1))
    again = load(tmp_path / "again").extra["cost"]["model"]
    assert again["this run"]["requests"] == 0 and again["this run"]["kept"] >= calls - 1
    assert again["in all"] == first["in all"], "what was spent before is remembered"
    line = f"{calls:,} calls (1 failed), {50 * (calls - 1):,} tokens in, {3 * (calls - 1):,} out"
    assert line in " ".join(capsys.readouterr().out.split())
    assert f"({calls - 1:,} asked" not in line and line in (out / "report.html").read_text()


def test_the_cost_of_a_merged_run_is_that_of_its_parts(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(body: dict[str, Any], number: int) -> Any:
        return Reply(500, b"oops") if number == 2 else plain(body, number)

    with serving(script) as server:
        shards = [str(tmp_path / f"shard-{number}") for number in (1, 2, 3)]
        for number, shard in enumerate(shards, 1):
            assert run(pairs, server.url, "--shard", f"{number}/3", "--out", shard) == 0
        calls = len(server.bodies)
        capsys.readouterr()
        out = tmp_path / "run"
        assert main(["merge", *shards, "--out", str(out)]) == 0
        assert len(server.bodies) == calls, "merging asks nothing"
        line = f"cost of the model, over 3 parts: {calls - 1:,} asked, 0 kept from before; {calls:,} calls (1 failed), "
        line += f"{50 * (calls - 1):,} tokens in, {3 * (calls - 1):,} out"
        assert line in " ".join(capsys.readouterr().out.split()) and line in (out / "report.html").read_text()
        cost = load(out).extra["cost"]["model"]
        assert cost["parts"] == 3 and cost["this run"]["requests"] == cost["in all"]["requests"] == calls
        # Merging again adds nothing, however far it came.
        manifest = json.loads((out / "manifest.json").read_text())
        (out / "manifest.json").write_text(json.dumps({**manifest, "state": "running"}))
        (out / "summary.json").unlink()
        assert main(["merge", *shards, "--out", str(out), "--resume", "--quiet"]) == 0
        assert load(out).extra["cost"]["model"] == cost
        assert main(["merge", *shards, "--out", str(out), "--overwrite", "--quiet"]) == 0
        assert load(out).extra["cost"]["model"] == cost
        # What the answers that lie in the folder had cost before is in all.
        assert run(pairs, server.url, "--out", str(tmp_path / "before"), "--limit", "2", "--quiet") == 0
        earlier, calls = len(server.bodies) - calls, len(server.bodies)
        assert main(["merge", *shards, "--out", str(tmp_path / "before"), "--overwrite", "--quiet"]) == 0
        added = load(tmp_path / "before").extra["cost"]["model"]
        assert added["this run"] == cost["this run"] and added["in all"]["requests"] == calls and earlier > 0
        # One run, and parts that share a file of answers: each call once.
        shared = str(tmp_path / "shared.sqlite")
        shards = [str(tmp_path / f"sharing-{number}") for number in (1, 2, 3)]
        for number, shard in enumerate(shards, 1):
            assert run(pairs, server.url, "--shard", f"{number}/3", "--out", shard, "--cache", shared) == 0
        calls = len(server.bodies) - calls
        assert main(["merge", *shards, "--out", str(tmp_path / "sharing"), "--quiet"]) == 0
        cost = load(tmp_path / "sharing").extra["cost"]["model"]
        assert cost["this run"]["requests"] == cost["in all"]["requests"] == calls
        before = len(server.bodies)
        assert run(pairs, server.url, "--out", str(tmp_path / "whole"), "--quiet") == 0
        whole = load(tmp_path / "whole").extra["cost"]["model"]
        assert len(server.bodies) - before == calls and "parts" not in whole
        same = ("asked", "requests", "failed_tries", "tokens_in", "tokens_out")
        assert {name: cost["this run"][name] for name in same} == {name: whole["this run"][name] for name in same}


def test_two_processes_that_share_a_file_of_answers_both_count(tmp_path: Path) -> None:
    who = Identity("m", "1", "p")
    with CallCache(tmp_path / "calls.sqlite") as one, CallCache(tmp_path / "calls.sqlite") as other:
        one.put(who, {"a": 1}, {"requests": 2, "tokens_in": 10})
        other.put(who, {"b": 1}, {"requests": 3})
        one.put(who, {"c": 1}, {"requests": 1})
        assert one.spent(who) == other.spent(who) == {"requests": 6, "tokens_in": 10}


@pytest.mark.parametrize("limit", [("--max-calls", "30"), ("--max-tokens-total", "1500")])
def test_a_limit_stops_a_run_that_goes_on(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: tuple[str, str]
) -> None:
    with serving(plain) as server:
        assert run(pairs, server.url, "--out", str(tmp_path / "whole")) == 0
        whole = len(server.bodies)
    with serving(plain) as server:
        out = ["--out", str(tmp_path / "run"), "--concurrency", "4"]
        assert run(pairs, server.url, *out, *limit) == 3
        told = capsys.readouterr().err
        assert limit[0] in told and "with --resume to go on" in told and "fix this" not in told
        made = len(server.bodies)
        # A token count is known when an answer is there, so calls under way may go over it.
        assert made == 30 if limit[0] == "--max-calls" else 28 <= made <= 32
        kept = int(re.search(r"([0-9,]+) answers are kept", told)[1])  # type: ignore[index]
        rules = sum("\x1f" not in text for text in texts_kept(tmp_path / "run"))
        assert kept - rules == made, "what was under way is waited for and kept"
        codes = []
        while not codes or codes[-1] == 3:
            codes.append(run(pairs, server.url, *out, *limit, "--resume"))
        assert codes[-1] == 0 and len(codes) > 1
        assert len(server.bodies) == whole, "no answer that was kept is asked for again"
        prompts = [prompt_of(body) for body in server.bodies]
        assert len(set(prompts)) == len(prompts)
    one, other = load(tmp_path / "whole"), load(tmp_path / "run")
    assert repr(one.figures) == repr(other.figures) and one.extra["answers"] == other.extra["answers"]


def test_the_steps_and_an_originals_run_tell_their_cost(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(plain) as server:
        assert main(["robust", "accuracy", str(pairs), "--model", f"{server.url}#m"]) == 0
        assert (
            "cost of the model: 12 asked, 0 kept from before; 12 calls, 600 tokens in, 36 out"
            in capsys.readouterr().out
        )
        assert run(pairs, server.url, "--as", "breaknli") == 2  # its own flags are refused
        capsys.readouterr()
        assert main(["robust", str(pairs), "--model", f"{server.url}#m", "--as", "breaknli", "--limit", "2"]) == 0
        assert "cost of the model: " in capsys.readouterr().out


def test_accuracy_tells_what_it_could_not_read(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lambda body, number: chat("neutral" if number % 2 else "entailment or neutral")) as server:
        assert main(["robust", "accuracy", str(pairs), "--model", f"{server.url}#m"]) == 0
    told = capsys.readouterr().out
    assert "warning: 50.0% of 12 answers hold no label that could be read: names several labels (6)" in told


def test_a_limit_without_a_place_for_answers_says_so(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(plain) as server:
        assert run(pairs, server.url, "--max-calls", "3") == 3
    assert "with --out DIR, answers are kept" in capsys.readouterr().err


def test_a_dry_run_asks_nothing_and_bounds_what_a_run_asks(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(plain) as server:
        out = tmp_path / "run"
        assert run(pairs, server.url, "--out", str(out), "--dry-run") == 0
        assert server.bodies == [] and not out.exists()
        told = capsys.readouterr().out
        most = int(re.search(r"at most ([0-9,]+) calls to the model", told)[1].replace(",", ""))  # type: ignore[index]
        assert run(pairs, server.url, "--out", str(out)) == 0
        assert 0 < len(server.bodies) <= most
    with pytest.raises(DryRun) as counted:
        evaluate(str(pairs), dry_run=True)
    assert counted.value.calls.model is None and "no call is made" in str(counted.value)


def test_a_dry_run_counts_a_generator_that_is_asked_again(pairs: Path) -> None:
    """By hand: 12 entailed pairs in two polarities, 14 statements a list and 15 tries of one."""
    with pytest.raises(DryRun) as counted:
        evaluate(str(pairs), model="http://localhost:9/v1#m", generator="http://localhost:9/v1#g", dry_run=True,
                 candidates=7, keep=5, access=Access(max_tokens=10))  # fmt: skip
    calls = counted.value.calls
    assert calls.generator == 12 * 2 * (1 + 15)
    assert calls.model == 6 + 12 * (2 + 2 * (2 * (14 + 15) + 5))
    assert calls.tokens_out == 10 * (calls.generator + calls.model)


# ---- ways of asking ---------------------------------------------------------------------------------------------


def responses(body: dict[str, Any], number: int) -> Any:
    end = {"token": "ral", "top_logprobs": []}
    told = [{"token": t, "logprob": p} for t, p in (("neut", -0.1), ("ent", -3.0), ("contr", -4.0))]
    text = {"type": "output_text", "text": "neutral", "logprobs": [{"token": "neut", "top_logprobs": told}, end]}
    output = [{"type": "reasoning", "summary": [{"text": "contradiction?"}]}, {"type": "message", "content": [text]}]
    return Reply(body={"status": "completed", "output": output, "usage": {"input_tokens": 7, "output_tokens": 2}})


def messages(body: dict[str, Any], number: int) -> Any:
    content = [{"type": "thinking", "thinking": "contradiction?"}, {"type": "text", "text": "neutral"}]
    usage = {"input_tokens": 7, "output_tokens": 2}
    return Reply(body={"content": content, "stop_reason": "end_turn", "usage": usage})


@pytest.mark.parametrize(
    ("path", "api", "script", "wanted"),
    [
        ("/v1", "responses", responses, "/v1/responses"),
        ("/v1/responses", "", responses, "/v1/responses"),
        ("/v1/messages", "", messages, "/v1/messages"),
        ("/v1/chat/completions", "messages", messages, "/v1/messages"),
        ("/v1", "completions", lambda body, number: Reply(body={"choices": [{"text": "neutral"}]}), "/v1/completions"),
    ],
)
def test_each_interface_is_spoken(
    monkeypatch: pytest.MonkeyPatch, path: str, api: str, script: Any, wanted: str
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    with serving(script) as server:
        url = server.url.removesuffix("/v1") + path
        endpoint = Endpoint(url, "m", api=api, key_variable="SOME_KEY", likely=True, seed=3)
        (answer,) = Asked(EndpointClassifier(endpoint)).answers([("A man sleeps.", "A man dreams.")])
        assert (answer.label, answer.unread, answer.failure) == (1, None, None)
        assert server.paths == [wanted]
        (body,), (head,) = server.bodies, server.heads
    name = endpoint.dialect.name
    assert ("x-api-key" in head) == (name == "messages") and ("Authorization" in head) != (name == "messages")
    assert ("max_output_tokens" in body) == (name == "responses") and ("seed" in body) == (name != "messages")
    if name == "completions":
        assert body["guided_choice"] == list(LABELS) and body["logprobs"] == 20
        return
    assert (endpoint.spending.tokens_in, endpoint.spending.tokens_out) == (7, 2)
    assert answer.reasoned
    if name == "responses":
        assert body["text"]["format"]["schema"]["properties"]["label"]["enum"] == list(LABELS)
        assert answer.logits == (-3.0, -0.1, -4.0)


def test_log_probabilities_are_probabilities_of_the_labels(pairs: Path) -> None:
    """A run with them has the distances between predictions, which need probabilities."""

    def script(body: dict[str, Any], number: int) -> Any:
        assert body["logprobs"] is True
        label = said_of(prompt_of(body))
        told = [{"token": t, "logprob": math.log(0.8 if t == label else 0.1)} for t in LABELS]
        reply = chat(label)
        reply.body["choices"][0]["logprobs"] = {"content": [{"token": label, "top_logprobs": told}]}
        return reply

    with serving(script) as server:
        access, options = Access(logprobs=True), {"check_labels": False, "keep": 1}
        found = evaluate(str(pairs), model=f"{server.url}#m", access=access, **options)  # type: ignore[arg-type]
    same = found["tv_same"]
    assert same.n > 0 and same.value == pytest.approx(0.0, abs=1e-6)
    changed = found["tv_changed"]
    assert changed.n == 0 or changed.value == pytest.approx(0.7, abs=1e-5)


def test_further_fields_go_along_and_into_the_signature() -> None:
    request = '{"reasoning_effort": "low", "max_completion_tokens": 99, "user": "me-and-nobody-else"}'
    with serving(plain) as server:
        model = classifier(f"{server.url}#m", Access(request=request))
        Asked(model).answers([("A", "B")])
        (body,) = server.bodies
    assert body["reasoning_effort"] == "low" and body["max_completion_tokens"] == 99 and "max_tokens" not in body
    assert '"reasoning_effort": "low"' in model.identity.prompt, "they change figures: part of the key, and signed"
    assert "me-and-nobody" not in model.identity.prompt
    other = classifier("http://localhost:9/v1#m", Access(request='{"reasoning_effort": "high"}'))
    assert other.identity != model.identity


@pytest.mark.parametrize("request_", ["{", "[1]", '"x"', '{"messages": []}', '{"stream": true}', f'{{"a": "{KEY}"'])
def test_fields_that_cannot_be_sent_are_refused(pairs: Path, capsys: pytest.CaptureFixture[str], request_: str) -> None:
    assert run(pairs, "http://localhost:9/v1", "--request", request_) == 2
    told = capsys.readouterr().err
    assert "--request" in told and KEY not in told


def test_structured_answers_are_asked_for_where_the_prompt_names_the_labels() -> None:
    with serving(plain) as server:
        for access in (Access(), Access(structured="off"), Access(prompt="<premise> So, <hypothesis>: yes or no?")):
            Asked(classifier(f"{server.url}#m", access)).answers([("A", "B")])
        with_labels, off, without = server.bodies
    assert with_labels["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"] == list(LABELS)
    assert "response_format" not in off and "response_format" not in without


def test_kept_answers_are_read_by_the_rules_of_today(tmp_path: Path) -> None:
    """An answer that an earlier rule took for a label, or could not read, costs no second call."""
    from sensecheck.models.calls import CallCache

    with serving(lambda body, number: chat("Widerspruch")) as server, CallCache(tmp_path / "c.sqlite") as cache:
        pair = [("A", "B")]
        first = Asked(classifier(f"{server.url}#m", Access()), cache)
        assert first.labels(pair) == [None]
        words = Access(answer_words={"Widerspruch": "contradiction"})
        assert Asked(classifier(f"{server.url}#m", words), cache).labels(pair) == [2]
        assert len(server.bodies) == 1


# ---- batch files ------------------------------------------------------------------------------------------------


def answered(calls: Path, results: Path, script: Any = plain, fails: int = 0) -> int:
    """What a batch endpoint makes of a file of calls: results in another order, some of them failed."""
    lines = [json.loads(line) for line in calls.read_text().splitlines()]
    out = []
    for number, line in enumerate(lines):
        assert set(line) == {"custom_id", "method", "url", "body"} and line["method"] == "POST"
        assert line["url"] == "/v1/chat/completions"
        response = {"status_code": 200, "request_id": "r", "body": script(line["body"], 0).body}
        if number < fails:
            response = {"status_code": 429, "body": {"error": {"message": "slow down"}}}
        out.append({"id": f"b{number}", "custom_id": line["custom_id"], "response": response, "error": None})
    results.write_text("".join(json.dumps(line) + "\n" for line in reversed(out)))
    return len(lines)


def test_a_run_by_batch_files_has_the_figures_of_one_by_calls(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(plain) as server:
        assert run(pairs, server.url, "--out", str(tmp_path / "called")) == 0
        made = len(server.bodies)
    capsys.readouterr()
    url, out, written, rounds = "http://127.0.0.1:9/v1", tmp_path / "run", 0, 0
    more: list[str] = []
    while True:
        calls, results = tmp_path / f"calls-{rounds}.jsonl", tmp_path / f"results-{rounds}.jsonl"
        code = run(pairs, url, "--out", str(out), "--batch-out", str(calls), *more)
        if code == 0:
            break
        assert code == 3, capsys.readouterr().err
        count = answered(calls, results)
        assert f"{count:,} calls are written to" in capsys.readouterr().err
        assert KEY not in calls.read_text()
        written, rounds, more = written + count, rounds + 1, ["--batch-in", str(results), "--resume"]
    assert written == made and rounds == 3, "labels of pairs, then statements, then judgements"
    one, other = load(tmp_path / "called"), load(out)
    assert repr(one.figures) == repr(other.figures)
    assert one.signature.short == other.signature.short


def test_failed_results_are_unscored_with_their_status(pairs: Path, tmp_path: Path) -> None:
    url, out, calls = (
        "http://127.0.0.1:9/v1",
        ["--out", str(tmp_path / "run"), "--no-label-check"],
        tmp_path / "c.jsonl",
    )
    assert run(pairs, url, *out, "--batch-out", str(calls)) == 3
    answered(calls, tmp_path / "r.jsonl", fails=3)
    assert run(pairs, url, *out, "--batch-in", str(tmp_path / "r.jsonl"), "--resume") == 0
    notes = json.loads((tmp_path / "run" / "summary.json").read_text())["notes"]
    assert "3 calls got no answer: batch: HTTP 429" in notes
    assert any("calls got no answer: batch: not among the batch's results" in note for note in notes)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda lines: [*lines, lines[0]], "is there twice"),
        (lambda lines: [lines[0].replace('"custom_id": "', '"custom_id": "x'), *lines[1:]], "--batch-out wrote"),
        (lambda lines: ['{"id": 1}', *lines], "expected the id of a call"),
        (lambda lines: ["{", *lines], "expected an object of JSON"),
    ],
)
def test_results_of_other_calls_are_refused(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Any, told: str
) -> None:
    url, out, calls = "http://127.0.0.1:9/v1", ["--out", str(tmp_path / "run")], tmp_path / "calls.jsonl"
    results = tmp_path / "results.jsonl"
    assert run(pairs, url, *out, "--batch-out", str(calls)) == 3
    answered(calls, results)
    results.write_text("\n".join(damage(results.read_text().splitlines())) + "\n")
    capsys.readouterr()
    assert run(pairs, url, *out, "--batch-in", str(results), "--resume") == 2
    said = capsys.readouterr().err
    assert told in said and "results.jsonl:" in said and len(said.splitlines()) == 1


def test_batch_files_that_make_no_sense_are_refused(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls, url = str(tmp_path / "calls.jsonl"), "http://127.0.0.1:9/v1"
    out = ["--out", str(tmp_path / "run")]
    secret = ["--request", json.dumps({"api_key": KEY})]
    for more, told in (
        (["--batch-out", calls], "needs --out DIR"),
        ([*out, "--batch-out", calls, *secret], "--request holds a key"),
        ([*out, "--batch-out", calls, "--batch-in", calls], "the same file"),
        ([*out, "--batch-in", calls], "cannot be read"),
        ([*out, "--batch-out", calls, "--as", "breaknli"], "has no meaning with --as"),
    ):
        assert run(pairs, url, *more) == 2, more
        said = capsys.readouterr().err
        assert told in said and KEY not in said, (more, said)
    assert main(["robust", str(pairs), *out, "--batch-out", calls]) == 2
    assert "neither --model nor --generator" in capsys.readouterr().err


def test_a_generator_goes_through_batch_files_too(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, out = "http://127.0.0.1:9/v1", tmp_path / "run"
    listed = "1. Animals move about.\n2. Two dogs and cats are moving.\n3. Some dogs move."

    def script(body: dict[str, Any], number: int) -> Any:
        return chat(listed if "numbered list" in prompt_of(body) else "entailment")

    more: list[str] = ["--no-regenerate", "--polarity", "positive"]
    command = ["--generator", f"{url}#g", "--out", str(out), "--no-label-check", *more]
    for number in range(6):
        calls, results = tmp_path / f"c{number}.jsonl", tmp_path / f"r{number}.jsonl"
        back = ["--batch-in", str(tmp_path / f"r{number - 1}.jsonl"), "--resume"] if number else []
        code = run(pairs, url, *command, "--batch-out", str(calls), *back)
        if code == 0:
            break
        assert code == 3, capsys.readouterr().err
        answered(calls, results, script)
    assert code == 0
    assert load(out)["strictly_inequal"].value == 0.0 and load(out)["strictly_inequal"].n == 12
    assert NLI_PROMPT.split("<")[0] in (tmp_path / "c0.jsonl").read_text().encode().decode("unicode_escape")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (lambda body, number: Reply(body=b"<html>Log in first</html>"), "answered with something that is not JSON (8)"),
        (lambda body, number: chat("I think so."), "hold no label that could be read: names no label"),
    ],
)
def test_where_nothing_is_scored_it_is_said_what_the_server_did(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], script: Any, told: str
) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join(pairs.read_text().splitlines(keepends=True)[:4]))
    with serving(script) as server:
        code = run(few, server.url, "--out", str(tmp_path / "run"), "--no-label-check", "--tries", "1")
    said = capsys.readouterr().err
    assert code == 2 and "Nothing could be scored: the model gave no label" in said and told in said


def test_results_of_another_model_are_refused(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two models share a file of calls: the results of one are none of the other's."""
    kept, url = ["--cache", str(tmp_path / "calls.sqlite"), "--no-label-check"], "http://127.0.0.1:9/v1"
    one, other = ["--out", str(tmp_path / "one"), *kept], ["--out", str(tmp_path / "other"), *kept]
    calls, results = tmp_path / "c.jsonl", tmp_path / "r.jsonl"
    assert run(pairs, url, *one, "--batch-out", str(calls)) == 3
    assert answered(calls, results)
    command = ["robust", str(pairs), "--model", f"{url}#another", "--generator", "rules", "--no-ci", *other]
    assert main([*command, "--batch-out", str(tmp_path / "d.jsonl")]) == 3
    capsys.readouterr()
    assert main([*command, "--batch-in", str(results), "--resume"]) == 2
    said = capsys.readouterr().err
    assert "with these models" in said and "r.jsonl:1" in said and len(said.splitlines()) == 1


def test_half_of_the_results_now_and_half_later(pairs: Path, tmp_path: Path) -> None:
    """What is missing is written again, and answered in the next round: the figures are those of a whole batch."""
    url, out = "http://127.0.0.1:9/v1", tmp_path / "run"
    more: list[str] = []
    for number in range(12):
        calls, results = tmp_path / f"c{number}.jsonl", tmp_path / f"r{number}.jsonl"
        code = run(pairs, url, "--out", str(out), "--no-label-check", "--batch-out", str(calls), *more)
        if code == 0:
            break
        answered(calls, results)
        lines = results.read_text().splitlines(keepends=True)
        results.write_text("".join(lines[: len(lines) // 2 or 1]) if number < 5 else "".join(lines))
        more = ["--batch-in", str(results), "--resume"]
    assert code == 0
    with serving(plain) as server:
        assert run(pairs, server.url, "--out", str(tmp_path / "called"), "--no-label-check") == 0
    assert repr(load(out).figures) == repr(load(tmp_path / "called").figures)
