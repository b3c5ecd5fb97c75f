"""What is sent to a server to say who asks is nowhere afterwards: not on disk, not on a terminal, whatever it repeats."""

from __future__ import annotations

import base64
import html
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote, quote_plus

import polars as pl
import pytest
import zstandard
from tests.network.raw_server import Caller, RawServer, Script, reply

from sensecheck.cli import main
from sensecheck.models.by_prompt import EndpointClassifier
from sensecheck.models.endpoint import Endpoint as ModelEndpoint
from sensecheck.network.address import Address, is_key, is_secret, is_secret_header, public_address, public_text
from sensecheck.network.exchange import Exchanges
from sensecheck.network.scrubbing import MASK, REPEATED, Secrets
from sensecheck.runs.directory import RunDirectory
from sensecheck.stores import Answer, Endpoint, Failure, Reason, Request

USER, PASSWORD, KEY = "someone-here", "hunter2/x+y pass", "K3y/of=the+door"
ADDRESS_KEY = quote(KEY, safe="")
USER_INFO = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def _spellings(secret: str) -> set[str]:
    raw = secret.encode()
    plain = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), html.escape(secret)}
    plain |= {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")}
    plain |= {re.sub("%..", lambda code: code[0].lower(), form) for form in plain}
    return plain | {form.replace("/", "\\/") for form in plain}


SPELLINGS = sorted(form for secret in (USER, PASSWORD, KEY, BASIC) for form in _spellings(secret))
ECHO = " ".join(SPELLINGS)
"""Every secret in every form in which a server could repeat it."""


def address(server: RawServer, path: str = "/sparql") -> str:
    return f"http://{USER_INFO}@127.0.0.1:{server.port}{path}?graph=g&apikey={ADDRESS_KEY}"


def everything_in(folder: Path) -> str:
    """All that can be read in a folder: files as they are, and the content of tables and databases."""
    found = []
    for path in sorted(folder.rglob("*")):
        found.append(str(path))
        if not path.is_file():
            continue
        found.append(path.read_bytes().decode("utf-8", "replace"))
        if path.suffix == ".parquet":
            found.append(pl.read_parquet(path).write_ndjson())
        elif path.suffix == ".sqlite":
            with sqlite3.connect(path) as database:
                for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    for row in database.execute(f"SELECT * FROM {table}"):
                        found += [_readable(cell) for cell in row]
    # As it is read: a JSON file spells some signs otherwise.
    text = "\n".join(found)
    return text + text.replace("\\/", "/").replace("\\\\", "\\")


def _readable(cell: object) -> str:
    if isinstance(cell, bytes):
        cell = zstandard.decompress(cell[1:]) if cell[:1] == b"z" else cell
        return bytes(cell).decode("utf-8", "replace")
    return str(cell)


def secrets_in(text: str) -> list[str]:
    return [form for form in [*SPELLINGS, "hunter2", "K3y", "someone"] if form in text]


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    assert secrets_in(f"x{quote(KEY, safe='')}y")
    pl.DataFrame({"a": [PASSWORD] * 1000}).write_parquet(tmp_path / "a.parquet", compression="zstd")
    assert secrets_in(everything_in(tmp_path))


# ---- SPARQL

QUERY = "SELECT ?x WHERE { ?x <http://e/%d> ?y }"


def _rows(value: str) -> bytes:
    term = {"type": "literal", "value": value, "datatype": f"urn:{value}"}
    return json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": term}]}}).encode()


def _sparql(answer: Callable[[str], bytes]) -> Script:
    def script(caller: Caller) -> None:
        while request := caller.request():
            query = parse_qs(request.partition(b"\r\n\r\n")[2].decode())["query"][0]
            caller.send(answer(query))

    return script


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "records.jsonl"
    lines = [{"id": str(i), "prediction": QUERY % i, "gold": QUERY % (i + i % 2)} for i in range(6)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _told(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    return said.out + said.err


ECHOING = {
    "rows": _sparql(lambda query: reply(_rows(ECHO if "e/1>" in query else "a value"))),
    "a syntax error": _sparql(lambda query: reply(f"syntax error near {ECHO}".encode(), b"400 Bad")),
    "an error page": _sparql(lambda query: reply(f"<p>{ECHO}".encode(), b"418 Teapot") if "/1>" in query else reply(_rows("a"))),
    "broken results": _sparql(lambda query: reply(f'{{"head": {{"vars": "{ECHO[:200]}"'.encode())),
    "a partial result": _sparql(
        lambda query: reply(b"{}", b"200 OK", b"X-SQL-State: S1TAT", f"X-SQL-Message: {ECHO}".encode())
    ),
    "a redirect of one": _sparql(
        lambda query: reply(b"", b"302 Found", f"Location: http://e/?{ECHO}".encode()) if "/1>" in query else reply(_rows("a"))
    ),
    "a broken status": _sparql(lambda query: f"{ECHO}\r\n\r\n".encode() if "/1>" in query else reply(_rows("a"))),
}  # fmt: skip


@pytest.mark.parametrize("case", ECHOING)
def test_a_run_on_an_endpoint_holds_no_secret(
    case: str, records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensecheck.stores.endpoint.time.sleep", lambda seconds: None)
    with RawServer(ECHOING[case]) as server:
        out = tmp_path / "run"
        code = main(["correct", str(records), "--endpoint", address(server), "--out", str(out), "--resamples", "50"])
        assert code in (0, 2, 3)
        told = _told(capsys)
        for request in server.requests:
            assert f"Authorization: Basic {BASIC}".encode() in request
            assert f"apikey={ADDRESS_KEY}".encode() in request.partition(b"\r\n")[0]
        assert server.requests
    assert not secrets_in(told)
    assert not secrets_in(everything_in(out))
    manifest = RunDirectory(out).manifest()
    assert f"http://127.0.0.1:{server.port}/sparql?graph=g" in manifest["plan"]["store"]
    if case == "rows":
        assert code == 0
        found = everything_in(out)
        assert REPEATED in found and "endpoint error" in found
        assert MASK not in found, "no answer is changed"


@pytest.mark.parametrize("status", [b"401 No", b"403 No", b"302 Found", b"429 Slow down", b"500 Oops"])
def test_a_refusal_that_repeats_what_was_sent(
    status: bytes, records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensecheck.stores.endpoint.time.sleep", lambda seconds: None)

    def refuse(caller: Caller) -> None:
        while request := caller.request():
            # All that came, and all of it once more in other words; long enough to be cut.
            body = request + b" " * 150 + f"{ECHO} {ECHO}".encode()
            caller.send(reply(body, status, f"Location: {ECHO}".encode()))

    with RawServer(refuse) as server:
        out = tmp_path / "run"
        command = ["correct", str(records), "--endpoint", address(server), "--out", str(out)]
        assert main([*command, "--resamples", "50"]) in (0, 2, 3)
        told = _told(capsys)
        assert not secrets_in(told)
        assert not secrets_in(everything_in(out))
        if status.startswith(b"4") and status != b"429 Slow down":
            assert (
                f"http://127.0.0.1:{server.port}/sparql?graph=g refuses every query (HTTP {status[:3].decode()}" in told
            )


def test_a_new_password_resumes_the_same_run(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = False

    def answer(query: str) -> bytes:
        nonlocal locked
        locked = locked or "/3>" in query
        return reply(b"", b"401 No") if locked else reply(_rows("a"))

    with RawServer(_sparql(answer)) as server:
        out = tmp_path / "run"
        command = ["correct", str(records), "--out", str(out), "--resamples", "50", "--workers", "1", "--endpoint"]
        assert main([*command, address(server)]) == 3
        asked = len(server.requests)
        locked = False
        monkeypatch.setattr(server, "requests", [])
        renewed = address(server).replace("hunter2", "hunter3").replace("K3y", "L4z")
        answered = _sparql(lambda query: reply(_rows("a")))
        monkeypatch.setattr(server, "_script", answered)
        assert main([*command, renewed, "--resume"]) == 0, _told(capsys)
        assert len(server.requests) < asked + 3
        again = [request for request in server.requests if b"%2F0%3E" in request]
        assert not again, "what was answered is not asked again"
        assert b"hunter3" in base64.b64decode(server.requests[0].partition(b"Basic ")[2].split()[0])
        other = address(server).replace("graph=g", "graph=h")
        capsys.readouterr()
        assert main([*command, other, "--resume"]) == 2
        told = _told(capsys)
        assert "graph=g" in told and "graph=h" in told and not secrets_in(told)


def test_a_run_begun_by_a_version_that_kept_the_password(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RawServer(_sparql(lambda query: reply(_rows("a")))) as server:
        out = tmp_path / "run"
        command = ["correct", str(records), "--out", str(out), "--resamples", "50", "--resume", "--endpoint"]
        assert main([*command, address(server)]) == 0
        manifest = RunDirectory(out).manifest()
        manifest["plan"]["store"] = f"endpoint {address(server)}"
        (out / "manifest.json").write_text(json.dumps(manifest))
        capsys.readouterr()
        assert main([*command, address(server).replace("graph=g", "graph=h")]) == 2
        assert not secrets_in(_told(capsys))
        assert main([*command, address(server)]) == 0
        assert not secrets_in(everything_in(out))


def test_parity_holds_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "spice.json"
    row = {"question_type": "Simple Question (Direct)", "actions": QUERY % 1, "results": [], "turnID": "1"}
    records.write_text(json.dumps([{**row, "sparql_delex": QUERY % 1, "is_correct": 1, "is_spurious": 0}]))
    with RawServer(_sparql(lambda query: reply(_rows("a")))) as server:
        out = tmp_path / "run"
        main(["correct", str(records), "--as", "spice", "--endpoint", address(server), "--out", str(out)])
    assert not secrets_in(_told(capsys))
    found = everything_in(out)
    assert not secrets_in(found)
    assert f"http://127.0.0.1:{server.port}/sparql?graph=g" in found


# ---- models


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    row = {"hypothesis": "A man is playing a guitar.", "label": 0}
    path.write_text("".join(json.dumps({**row, "premise": f"Scene {i}: a man plays."}) + "\n" for i in range(4)))
    return path


def _robust(server: RawServer, pairs: Path, out: Path, *, by_address: bool) -> int:
    where = address(server, "/v1") if by_address else f"http://127.0.0.1:{server.port}/v1"
    return main(
        ["robust", str(pairs), "--model", f"{where}#m", "--generator", f"{where}#m", "--out", str(out), "--tries", "1",
         "--resamples", "50", "--no-label-check", "--candidates", "2", "--keep", "1"]
    )  # fmt: skip


@pytest.mark.parametrize("by_address", [True, False])
@pytest.mark.parametrize("case", ["an answer", "no text", "401", "404", "a broken status"])
def test_a_run_on_a_model_holds_no_secret(
    case: str,
    by_address: bool,
    pairs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    calls: list[int] = []
    # Where the address names somebody, that is sent, and not the key.
    echo = ECHO if by_address else " ".join(sorted(_spellings(KEY)))

    def script(caller: Caller) -> None:
        while request := caller.request():
            calls.append(1)
            repeated = echo if case == "an answer" and len(calls) % 2 else ""
            body = json.dumps({"choices": [{"message": {"content": f"entailment {repeated}"}}]}).encode()
            if case == "no text":
                choice = {"message": {"content": None}, "finish_reason": echo}
                body = json.dumps({"choices": [choice if len(calls) % 2 else {"text": "entailment"}]}).encode()
            if case in ("401", "404"):
                caller.send(reply(request + echo.encode(), f"{case} {echo}".encode()))
            elif case == "a broken status" and len(calls) % 2:
                caller.send(f"{echo}\r\n\r\n".encode())
            else:
                caller.send(reply(body))

    with RawServer(script) as server:
        out = tmp_path / "run"
        code = _robust(server, pairs, out, by_address=by_address)
        assert code == (2 if case in ("401", "404") else 0)
        authorization = f"Basic {BASIC}" if by_address else f"Bearer {KEY}"
        assert all(f"Authorization: {authorization}\r\n".encode() in request for request in server.requests)
        assert server.requests
    told = _told(capsys)
    if case in ("401", "404"):
        assert f"HTTP {case}" in told and f"http://127.0.0.1:{server.port}/v1" in told
    assert not secrets_in(told)
    assert not secrets_in(everything_in(out))
    if case == "an answer":
        found = everything_in(out)
        assert REPEATED in found
        assert MASK not in found, "no answer is changed"


def test_which_model_is_asked_without_the_secret(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["robust", str(pairs), "--model", f"http://{USER_INFO}@h/v1?api_key={ADDRESS_KEY}"]) == 2
    told = _told(capsys)
    assert "which model of http://h/v1?" in told and not secrets_in(told)


# ---- evaluation files


@pytest.mark.parametrize("options", ["endpoint = [{url}]", "endpoint = {url}\ngraph = {url}", "endpiont = {url}"])
def test_an_evaluation_file_is_told_without_secrets(
    options: str, records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = json.dumps(f"http://{USER_INFO}@127.0.0.1:9/sparql?api_key={ADDRESS_KEY}")
    file = tmp_path / "evaluation.toml"
    entry = f'[[evaluate]]\nquestion = "correct"\ndata = "{records.name}"\n'
    file.write_text(entry + options.replace("{url}", url) + "\n")
    assert main(["run", str(file)]) == 2
    assert not secrets_in(_told(capsys))
    file.unlink()
    assert not secrets_in(everything_in(tmp_path))


def test_an_evaluation_with_a_new_password_measures_nothing_again(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = f'[[evaluate]]\nquestion = "correct"\ndata = "{records.name}"\nendpoint = '
    file = tmp_path / "evaluation.toml"
    with RawServer(_sparql(lambda query: reply(_rows("a")))) as server:
        file.write_text(entry + json.dumps(address(server)) + "\n")
        assert main(["run", str(file)]) == 0
        asked = len(server.requests)
        file.write_text(entry + json.dumps(address(server).replace("hunter2", "hunter3")) + "\n")
        assert main(["run", str(file)]) == 0
        assert len(server.requests) == asked
        told = _told(capsys)
        assert "unchanged" in told and not secrets_in(told)
    file.unlink()
    assert not secrets_in(everything_in(tmp_path))


def test_a_mistyped_option_is_told_without_the_secret(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://{USER_INFO}@h/sparql?api_key={ADDRESS_KEY}"
    with pytest.raises(SystemExit):
        main(["correct", str(records), "--endpiont", url])
    assert main(["correct", url]) == 2
    told = _told(capsys)
    assert "--endpiont" in told and not secrets_in(told)


# ---- the parts


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("http://h/sparql", "http://h/sparql"),
        ("HTTP://H:80/a%20b?default-graph-uri=http://g&x=1;y=%41#f", None),
        ("http://u:pw@h:8890/sparql?apikey=1&graph=g", "http://h:8890/sparql?graph=g"),
        ("http://u@h/?access_token=1", "http://h/"),
        ("http://u:p@w@h/", "http://h/"),
        ("http://h/?a=1;api%5Fkey=2&b", "http://h/?a=1&b"),
        ("http://h/?g=http%3A%2F%2Fu:pw%40h%2F", "http://h/"),
        ("http://h/v1#name", None),
        ("http://h/v1#token=1", "http://h/v1"),
        ("http://[::1]:8890/sparql?key=1", "http://[::1]:8890/sparql"),
        ("http://u:pw/w?x#y@h/sparql", "http://h/sparql"),
        ("http://u:pw", "http://u:…"),
    ],
)  # fmt: skip
def test_public_addresses(url: str, public: str | None) -> None:
    assert public_address(url) == (url if public is None else public)
    assert public_text(f"see '{url}', please") == f"see '{public_address(url)}', please"


def test_an_address_taken_apart() -> None:
    address = Address("https://me:p%40w@Example.org/sp arql?x=é&key=a%2Fb")
    assert address.target == "/sp%20arql?x=%C3%A9&key=a%2Fb"
    assert (address.host, address.port, address.host_header) == ("example.org", 443, "example.org")
    assert address.authorization == "Basic " + base64.b64encode(b"me:p@w").decode()
    assert {"p@w", "a/b", "a%2Fb", "me:p@w"} <= set(address.secrets)
    assert "me" in address.names and "me" not in address.secrets
    assert "p%40w" not in repr(address) and "a%2Fb" not in repr(address)


def test_short_secrets_change_no_answer_and_no_word() -> None:
    secrets = Secrets(["1", "no"])
    assert not secrets.are_repeated_in("1 no answer")
    assert secrets.out_of("error 1: nobody said no") == f"error {MASK}: nobody said {MASK}"


def test_a_secret_is_not_cut_in_half() -> None:
    body = b" " * 5_990 + b"x" + KEY.encode() * 30
    with RawServer(_sparql(lambda query: reply(body, b"400 Bad"))) as server:
        outcome = Endpoint(address(server)).execute(Request(QUERY % 1))
    assert isinstance(outcome, Failure)
    assert "K3y" not in outcome.message


# ---- what is a secret, and where it is looked for


def _outcome(url: str, text: bytes, headers: dict[str, str] | None = None) -> object:
    with RawServer(_sparql(lambda query: reply(text))) as server:
        store = Endpoint(url.replace("HOST", f"127.0.0.1:{server.port}"), headers=headers)
        try:
            return store.execute(Request(QUERY % 1))
        finally:
            store.close()


def test_the_name_of_the_client_may_stand_in_an_answer() -> None:
    outcome = _outcome("http://wikidata:pw@HOST/sparql", _rows("wikidata by sensecheck, a longer word: wikidata:pw"))
    assert isinstance(outcome, Answer)
    assert outcome.rows[0][0].value == "wikidata by sensecheck, a longer word: wikidata:pw"
    outcome = _outcome("http://HOST/sparql", _rows("a client of my own"), {"User-Agent": "a client of my own"})
    assert isinstance(outcome, Answer)


@pytest.mark.parametrize("echo", [PASSWORD, PASSWORD.upper(), BASIC, quote(quote(PASSWORD)), PASSWORD.encode().hex()])
def test_an_answer_that_repeats_a_password_is_an_error_of_the_endpoint(echo: str) -> None:
    for text in (
        _rows(f"so {echo} it is"),
        json.dumps({"head": {"vars": [echo]}, "results": {"bindings": []}}).encode(),
    ):
        outcome = _outcome(f"http://{USER_INFO}@HOST/sparql", text)
        assert isinstance(outcome, Failure)
        assert (outcome.reason, outcome.message) == (Reason.ENDPOINT_ERROR, REPEATED)


def test_a_model_that_repeats_the_key_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    texts = iter([KEY.lower(), "entailment"])

    def script(caller: Caller) -> None:
        while caller.request():
            caller.send(reply(json.dumps({"choices": [{"text": next(texts)}]}).encode()))

    with RawServer(script) as server:
        endpoint = ModelEndpoint(f"http://127.0.0.1:{server.port}/v1", "m", concurrency=1, extra={"user": "entailment"})
        model = EndpointClassifier(endpoint)
        answers = dict(item for batch in model.stream([("a", "b"), ("c", "d")]) for item in batch)
    assert answers[0].failure == f"endpoint: {REPEATED}" and answers[0].label is None
    assert answers[1].text == "entailment" and not answers[1].failure


@pytest.mark.parametrize(
    "name",
    ["Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "api-key", "X-Auth-Token", "Ocp-Subscription-Key"],
)
def test_headers_that_are_secret(name: str) -> None:
    assert is_secret_header(name)


@pytest.mark.parametrize("name", ["User-Agent", "user-agent", "Accept", "Content-Type", "Host", "Accept-Encoding"])
def test_headers_that_are_not(name: str) -> None:
    assert not is_secret_header(name) and not is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["pass", "pwd", "bearer", "jwt", "access", "code", "otp", "pin", "sig", "sas", "apikey", "key", "access_token",
     "apiKey", "APIKey", "API_KEY", "sas-token", "key1", "X-Amz-Signature", "userPassword", "accesstoken", "sessionid",
     "clientSecret", "OAuth2Token", "dbpassword", "auth", "tokens"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_key(name) and is_secret(name)
    assert public_address(f"http://h/sparql?a=b&{name}=1") == "http://h/sparql?a=b"
    assert public_address(f"h/sparql?a=b&{name}=1") == "h/sparql?a=b"


@pytest.mark.parametrize(
    "name",
    ["default-graph-uri", "format", "timeout", "named-graph-uri", "encoding", "passage", "keyword", "monkey", "codec",
     "author", "tokenizer", "unicode", "spin", "design", "usage", "query", "accession", "compass"],
)  # fmt: skip
def test_names_of_what_is_no_secret(name: str) -> None:
    assert not is_secret(name)
    assert public_address(f"http://h/sparql?{name}=1") == f"http://h/sparql?{name}=1"


def test_a_long_name_takes_no_time() -> None:
    assert not is_secret("username" * 5000 + "z") and not is_secret("keysid" * 9 + "z")
    assert public_text("a:" * 100_000 + "@") and public_text("a" * 200_000 + "@")


@pytest.mark.parametrize(
    ("written", "public"),
    [
        ("bob:SECRET@host:80/sparql", "host:80/sparql"),
        ("bob:SEC/RET@host/sparql?graph=g&key=SECRET", "host/sparql?graph=g"),
        ("http:/bob:SECRET@host/sparql", "http:/host/sparql"),
        ("http://bob:SECRET@host:port/sparql?key=SECRET", "http://host:…/sparql"),
        ("ftp://bob:SECRET@host/sparql", "ftp://host/sparql"),
        ("//bob:SECRET@host/sparql", "//host/sparql"),
    ],
)
def test_addresses_that_cannot_be_asked(
    written: str, public: str, records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert public_address(written) == public
    with pytest.raises(ValueError, match="expected an address") as raised:
        Endpoint(written)
    assert repr(public) in str(raised.value)
    with pytest.raises(ValueError, match="not an http") as raised:
        ModelEndpoint(written, "m")
    assert "SEC" not in str(raised.value) and "RET" not in str(raised.value)
    if not written.startswith(("/", "http:/b")):
        assert public_text(f"see '{written}'") == f"see '{public}'"


def test_a_text_with_an_at_sign_is_no_address() -> None:
    for text in ("mail: me@example.org/x", "git@github.com:a/b", "at 10:30 @ home", "a:b@c", "http://h/@me:x/y"):
        assert public_text(text) == text


# ---- spellings in messages

SIGNS = 'pä ss/&+"word'
MIXED = {
    "as it is": SIGNS,
    "upper case": SIGNS.upper(),
    "percent": quote(SIGNS, safe=""),
    "percent twice": quote(quote(SIGNS, safe=""), safe=""),
    "percent in Latin-1": quote(SIGNS.encode("latin-1"), safe=""),
    "form": quote_plus(SIGNS),
    "decimal": "".join(f"&#{ord(sign)};" for sign in SIGNS),
    "hexadecimal": "".join(f"&#x{ord(sign):X};" for sign in SIGNS),
    "some of them": "&#112;" + SIGNS[1:].replace("w", "%77").replace("&", "&amp;"),
    "by name": html.escape(SIGNS),
    "JSON": "".join(f"\\u{ord(sign):04x}" for sign in SIGNS),
    "escaped": json.dumps(SIGNS)[1:-1].replace("/", "\\/"),
    "hex": SIGNS.encode().hex().upper(),
    "base64": base64.b64encode(SIGNS.encode()).decode(),
    "base64 of both": base64.b64encode(f"me:{SIGNS}".encode()).decode().rstrip("="),
    "URL-safe base64 of both": base64.urlsafe_b64encode(f"me:{SIGNS}".encode()).decode(),
    "base64 in Latin-1": base64.b64encode(SIGNS.encode("latin-1")).decode(),
    "UTF-8 read as Latin-1": SIGNS.encode().decode("latin-1"),
}


@pytest.mark.parametrize("case", MIXED)
def test_spellings_in_messages(case: str) -> None:
    where = Address(f"http://me:{quote(SIGNS, safe='')}@h/")
    assert Secrets(where.secrets, where.names).out_of(f"<{MIXED[case]}>").replace("=", "") == f"<{MASK}>"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_bytes_that_are_no_utf_8(encoding: str) -> None:
    with RawServer(_sparql(lambda query: reply(f"no <{SIGNS}>".encode(encoding), b"418 Teapot"))) as server:
        store = Exchanges(
            Address(f"http://me:{quote(SIGNS, safe='')}@127.0.0.1:{server.port}/"), connect_seconds=5, most_bytes=1000
        )
        got = store.post(b"query=x", {}, 5)
        store.close()
    assert got.start() == f"no <{MASK}>"


def test_secrets_of_half_characters_and_of_settings() -> None:
    secrets = Secrets(["\ud800 half of it", "\udcff"])
    assert secrets.out_of("\ud800 half of it") == MASK
    secrets.add_settings({"user": "a name of somebody", "provider": {"api_key": ["a key of somebody"]}})
    assert secrets.out_of("a name of somebody, a key of somebody") == f"{MASK}, {MASK}"
    assert secrets.are_repeated_in("A KEY of somebody") and not secrets.are_repeated_in("a name of somebody")
    secrets.add_headers({"Cookie": "a=the first one; b=the second one", "User-Agent": "somebody's agent"})
    assert secrets.out_of("the second one") == MASK and secrets.out_of("somebody's agent") == "somebody's agent"
