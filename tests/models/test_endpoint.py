"""Endpoints that misbehave, and runs that are killed: nothing is lost, nothing is asked twice."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sensecheck.models import classifiers, generators
from sensecheck.models.by_prompt import EndpointClassifier, EndpointGenerator
from sensecheck.models.calls import CallCache
from sensecheck.models.endpoint import Endpoint, EndpointError
from sensecheck.models.generators import Request
from sensecheck.models.prompts import LIST_PROMPTS, NLI_PROMPT, fill
from sensecheck.models.said import Unreadable

HERE = Path(__file__).parent
PAIRS = [(f"Premise number {i}.", f"Hypothesis number {i % 7}.") for i in range(60)]


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


faulty, kills = _load("faulty_server"), _load("kill_moments")
CONCURRENCY = 4


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    running = faulty.serve(tmp_path / "log", seed=1, faults=0.0)
    yield running
    running.shutdown()


def url(server: Any, path: str = "/v1") -> str:
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


def prompts(log: Path) -> list[str]:
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.parametrize("path", ["/v1", "/v1/chat/completions", "/v1/completions"])
def test_chat_and_completions(server: Any, path: str) -> None:
    model = EndpointClassifier(Endpoint(url(server, path), "m"))
    answers = classifiers.Asked(model).answers(PAIRS)
    assert all(answer.label in (0, 1, 2) for answer in answers)
    assert len(prompts(server.log)) == len(set(PAIRS))


def test_faults_cost_no_answer(server: Any, tmp_path: Path) -> None:
    calm = classifiers.Asked(EndpointClassifier(Endpoint(url(server), "m"))).answers(PAIRS)
    rough = faulty.serve(tmp_path / "rough", seed=5, faults=0.5)
    endpoint = Endpoint(url(rough), "m", timeout=0.8, concurrency=6, longest_pause=0.1, tries=30)
    asked = classifiers.Asked(EndpointClassifier(endpoint))
    assert asked.answers(PAIRS) == calm
    assert asked.failures == {}
    kinds = " ".join(endpoint.spending.retries)
    assert "429" in kinds and "500" in kinds and "connection failed" in kinds
    rough.shutdown()


def test_a_fault_that_does_not_pass_is_counted_and_not_kept(tmp_path: Path) -> None:
    dead = faulty.serve(tmp_path / "dead", seed=2, faults=1.7)  # every request fails
    endpoint = Endpoint(url(dead), "m", tries=2, longest_pause=0.01, timeout=0.5)
    cache = CallCache()
    asked = classifiers.Asked(EndpointClassifier(endpoint), cache)
    answers = asked.answers(PAIRS[:5])
    assert [answer.label for answer in answers] == [None] * 5
    assert sum(asked.failures.values()) == 5
    assert cache.count() == 0
    dead.shutdown()


def test_a_refusal_says_what_the_endpoint_said(monkeypatch: pytest.MonkeyPatch, server: Any) -> None:
    def refuse(self: Any) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(401, b'{"error": "wrong key"}')

    monkeypatch.setattr(faulty.Handler, "do_POST", refuse)
    with pytest.raises(EndpointError, match=r"HTTP 401.*wrong key"):
        classifiers.Asked(EndpointClassifier(Endpoint(url(server), "m"))).answers(PAIRS[:3])


def test_rate_limit_is_kept(server: Any) -> None:
    endpoint = Endpoint(url(server), "m", per_minute=60 * 40, concurrency=8)
    started = time.monotonic()
    classifiers.Asked(EndpointClassifier(endpoint)).answers(PAIRS[:20])
    assert time.monotonic() - started >= 19 / 40


def test_generator_reads_lists(server: Any) -> None:
    model = generators.Asked(EndpointGenerator(Endpoint(url(server), "m")))
    found = model.statements([Request("Dr. Smith left early.", False, 12), Request("A dog runs.", True, 5)])
    assert found[0] is not None and len(found[0]) == 12
    assert found[0][0] == "Dr. Smith left early, not so 1."
    assert found[1] is not None and len(found[1]) == 5


def test_a_url_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="not an http"):
        Endpoint("localhost:8000/v1", "m")


_RUN = """
import functools, sys
from sensecheck.cli import main
from sensecheck.models import endpoint
endpoint.Endpoint = functools.partial(endpoint.Endpoint, longest_pause=0.1)  # what is waited between tries proves nothing
sys.exit(main(["robust", sys.argv[1], "--model", sys.argv[2], "--generator", sys.argv[2], "--out", sys.argv[3],
    "--concurrency", "4", "--timeout", "1", "--tries", "40", "--no-label-check", "--candidates", "4", "--keep", "3",
    "--resamples", "50",
    "--format", "json", *sys.argv[4:]]))
"""


def _run(data: Path, address: str, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-c", _RUN, str(data), address, str(out), *more]


def _figures(out: Path) -> Any:
    summary = json.loads((out / "summary.json").read_text())
    return summary["figures"], summary["extra"]["funnel"]


@pytest.mark.slow
def test_killed_ten_times_and_resumed(tmp_path: Path) -> None:
    """kill -9 at ten seeded moments of a run against a server that answers 15 % of the requests with a fault."""
    data = tmp_path / "pairs.jsonl"
    with data.open("w") as out:
        for i in range(12):
            gold = faulty.answer  # the server's own label, so that most pairs count as correct
            pair = (f"Premise number {i}.", f"Hypothesis number {i}.")
            out.write(
                json.dumps({"premise": pair[0], "hypothesis": pair[1], "label": gold(fill(NLI_PROMPT, *pair))}) + "\n"
            )

    calm = faulty.serve(tmp_path / "calm.log", seed=3, faults=0.0)
    calm.books = kills.Books()
    kills.killed_run(
        calm.books, [], lambda resume: _run(data, url(calm) + "#m", tmp_path / "calm"), set, tmp_path / "calm"
    )
    calm.shutdown()
    asked = calm.books.asked["process-0"]
    assert len(asked) == len(set(asked)) > 200, "an undisturbed run asks everything once"

    rough, out_dir = faulty.serve(tmp_path / "rough.log", seed=4, faults=0.15), tmp_path / "rough"
    rough.books = kills.Books()
    faults = kills.killed_run(
        rough.books,
        kills.moments(7, len(asked)),
        lambda resume: _run(data, url(rough) + "#m", out_dir, *(["--resume"] if resume else [])),
        lambda: _recorded(out_dir),
        out_dir,
    )
    rough.shutdown()
    print("\nthe tests' own server, 429, 500, broken answers, silence and stalls:\n" + kills.fault_table(faults))
    assert len(faults) == 10
    assert _figures(out_dir) == _figures(tmp_path / "calm")
    assert all(len(fault.in_flight) <= CONCURRENCY for fault in faults)
    assert all(fault.again <= set().union(*(f.in_flight for f in faults)) for fault in faults)
    assert _recorded(out_dir) == set(asked)


def _recorded(out: Path) -> set[str]:
    """The calls whose answers are on disk, as the server knows them."""
    found = set()
    for text in kills.recorded_texts(out):
        if "\x1f" in text:
            found.add(fill(NLI_PROMPT, *text.split("\x1f")))
        else:
            hypothesis, positive, n, _, seed = json.loads(text)
            prompt = LIST_PROMPTS[positive].replace("<n>", str(n)).replace("<hypothesis>", hypothesis)
            found.add(prompt if seed is None else f"{prompt}\n[seed {seed}]")
    return found


def test_an_address_that_swallows_connections_is_told_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    waited: list[float] = []

    def swallow(address: Any, timeout: float, *rest: Any) -> Any:
        waited.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", swallow)
    endpoint = Endpoint("http://192.0.2.1/v1", "m", timeout=600, longest_pause=0.01)
    with pytest.raises(EndpointError, match="cannot be reached: no connection in time"):
        endpoint.ask("hello")
    assert waited == [10.0] * 3


def test_a_run_that_ends_waits_for_no_second_try(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call is refused for good while the others are told to come back in a minute: the refusal is what is heard."""

    def refuse(self: Any) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        first = "number 0." in body["messages"][0]["content"]
        if first:
            time.sleep(0.3)  # the others are waiting by now
        self._send(401 if first else 503, b"no", {} if first else {"Retry-After": "60"})

    monkeypatch.setattr(faulty.Handler, "do_POST", refuse)
    started = time.monotonic()
    with pytest.raises(EndpointError, match="HTTP 401"):
        classifiers.Asked(EndpointClassifier(Endpoint(url(server), "m", concurrency=4))).answers(PAIRS[:4])
    assert time.monotonic() - started < 30


def _answering(monkeypatch: pytest.MonkeyPatch, body: bytes, status: int = 200, **headers: str) -> None:
    def answer(self: Any) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    monkeypatch.setattr(faulty.Handler, "do_POST", answer)


ODD = [
    b'{"choices":[1]}',
    b'{"choices":[null]}',
    b'{"choices":["text"]}',
    b'{"choices":[[]]}',
    b'{"choices":{}}',
    b'{"choices":[]}',
    b"{}",
    b"[]",
    b"5",
    b"null",
    b"",
    b'{"choices":[{"message":5}]}',
    b'{"choices":[{"message":null}]}',
    b'{"choices":[{"message":{"content":5}}]}',
    b'{"choices":[{"message":{"content":[{"type":"text","text":5}]}}]}',
    b'{"choices":[{"message":{"content":false}}]}',
    b'{"choices":[{"text":5}]}',
    b"[" * 100_000,
    b'{"choices":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"choices":[{"index":' + b"9" * 100_000 + b',"message":{"content":"yes"}}]}',
    b'{"choices":[{"message":{"content":"\xff"}}]}',
    b" " * (8 * 1024 * 1024 + 1),
]


@pytest.mark.parametrize("body", ODD, ids=lambda body: body[:60].decode("latin-1"))
def test_odd_answers_are_faults_of_their_call(server: Any, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    _answering(monkeypatch, body)
    endpoint = Endpoint(url(server), "m", tries=2, longest_pause=0.01)
    asked = classifiers.Asked(EndpointClassifier(endpoint))
    answers = asked.answers(PAIRS[:2])
    assert [answer.label for answer in answers] == [None, None]
    assert all((answer.failure or "").startswith("endpoint: answered") for answer in answers), answers
    assert endpoint.spending.requests == 4, "each is tried again"
    assert generators.Asked(EndpointGenerator(endpoint)).statements([Request("A dog runs.", True, 5)]) == [None]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"choices":[{"message":{"content":null,"refusal":"I will not."}}]}', Unreadable.REFUSED),
        (b'{"choices":[{"message":{"content":null},"finish_reason":"content_filter"}]}', Unreadable.REFUSED),
        (b'{"choices":[{"message":{"content":null,"tool_calls":[{}]},"finish_reason":"tool_calls"}]}', Unreadable.TOOL),
        (b'{"choices":[{"message":{"content":null},"finish_reason":"length"}]}', Unreadable.CUT_OFF),
        (b'{"choices":[{"message":{"content":"","reasoning":"Hm"},"finish_reason":"length"}]}', Unreadable.CUT_OFF),
        (b'{"choices":[{"message":{"content":""}}]}', Unreadable.EMPTY),
        (b'{"choices":[{"message":{}}]}', Unreadable.EMPTY),
        (b'{"choices":[{"text":null}]}', Unreadable.EMPTY),
        (b'{"choices":[{}]}', Unreadable.EMPTY),
    ],
)
def test_an_answer_without_text_is_named(
    server: Any, monkeypatch: pytest.MonkeyPatch, body: bytes, why: Unreadable
) -> None:
    """It is an answer: kept, not asked for again, and however many there are, the endpoint is not dead."""
    _answering(monkeypatch, body)
    endpoint = Endpoint(url(server), "m", patience=3)
    cache = CallCache()
    for _ in range(2):
        asked = classifiers.Asked(EndpointClassifier(endpoint), cache)
        answers = asked.answers(PAIRS)
        assert {(answer.label, answer.unread) for answer in answers} == {(None, why)}
        assert asked.failures == {}
    assert endpoint.spending.requests == len(PAIRS)


def test_half_a_character_in_an_answer_is_replaced(
    server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _answering(monkeypatch, b'{"choices":[{"message":{"content":"entailment \\ud83d \\ud83d\\ude00"}}]}')
    with CallCache(tmp_path / "calls.sqlite") as cache:
        answers = classifiers.Asked(EndpointClassifier(Endpoint(url(server), "m")), cache).answers(PAIRS[:1])
    assert answers[0].label == 0
    assert answers[0].text == "entailment \ufffd \U0001f600"


@pytest.mark.parametrize("value", ["²", "inf", "nan", "1e308", "-1"])
def test_a_pause_that_is_no_number(server: Any, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    _answering(monkeypatch, b"", 429, Retry_After=value)
    endpoint = Endpoint(url(server), "m", tries=2, longest_pause=0.05)
    started = time.monotonic()
    assert classifiers.Asked(EndpointClassifier(endpoint)).answers(PAIRS[:1])[0].failure == "endpoint: HTTP 429"
    assert time.monotonic() - started < 5


def test_settings_and_repr_hold_no_secret() -> None:
    extra = {"top_k": 4, "provider": {"api_key": "sk-hidden-1"}, "headers": {"Authorization": ["Bearer sk-hidden-2"]}}
    endpoint = Endpoint("https://me:hunter2x@example.org/v1?api-version=3&api-key=sk-hidden-3", "m", extra=extra)
    told = repr(endpoint) + endpoint.settings + endpoint.url + repr(EndpointClassifier(endpoint).identity)
    assert "hidden" not in told and "hunter2x" not in told and "me:" not in told
    assert '"top_k": 4' in endpoint.settings
    assert endpoint.url == "https://example.org/v1?api-version=3"


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_prompt_that_is_refused_fails_alone(server: Any, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    usual = faulty.Handler.do_POST

    def answer(self: Any) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if PAIRS[1][1].encode() in body:
            self._send(status, b'{"error":"content filter"}')
        else:
            self.rfile = io.BytesIO(body)
            usual(self)

    monkeypatch.setattr(faulty.Handler, "do_POST", answer)
    asked = classifiers.Asked(EndpointClassifier(Endpoint(url(server), "m", concurrency=1)))
    answers = asked.answers(PAIRS[:6])
    refused = [answer.failure for answer in answers if answer.failure]
    assert refused and set(refused) == {f'endpoint: HTTP {status}: {{"error":"content filter"}}'}
    assert sum(answer.label is not None for answer in answers) == 6 - len(refused) > 0
