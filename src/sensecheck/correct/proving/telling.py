"""Tell two queries apart: the call, and what comes back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.stores import Answer, Failure, Graph, Limits, Request
from sensecheck.stores.embedded import file_fingerprint
from sensecheck.stores.outcomes import decode_outcome
from sensecheck.stores.pool import WorkerPool

from .judging import Difference
from .writing import script, turtle

BUDGET = 300
"""Databases that are tried for one pair."""
SECONDS = 60.0
"""After so long a search is ended, wherever it is: the net below the budget, which counts databases."""

Status = Literal["told apart", "not told apart", "differ already", "left out"]


class SmallTable(NamedTuple):
    columns: list[str]
    rows: list[tuple[Any, ...]]


@dataclass(slots=True)
class Counterexample:
    """A small database on which two queries differ."""

    ddl: list[str]
    """The statements that make its tables, as the schema has them,"""
    further: list[str]
    """and its views and unique indexes."""
    tables: dict[str, SmallTable]
    gold: Answer
    prediction: Answer
    difference: Difference
    circular: bool = False
    """Its tables name each other in a circle: foreign keys hold once all rows are in."""
    marks: list[str] = field(default_factory=list)
    """What it holds that the data do not: a constant of the gold, a parent without a child."""

    @property
    def hard(self) -> bool:
        """Whether more than the number of equal rows differs."""
        return self.difference != "repeated rows"

    def script(self, gold: str = "", prediction: str = "", heading: Sequence[str] = ()) -> str:
        """SQL that makes the database. With the queries given, these and their answers are comments above it."""
        queries = [("gold", gold, self.gold), ("prediction", prediction, self.prediction)]
        return script(
            ddl=self.ddl,
            further=self.further,
            tables=dict(self.tables),
            queries=queries if gold or prediction else (),
            heading=heading,
            circular=self.circular,
        )


@dataclass(slots=True)
class GraphCounterexample:
    """A small graph on which two queries differ."""

    triples: list[str]
    """As N-Triples, which are Turtle too."""
    gold: Answer
    prediction: Answer
    difference: Difference
    marks: list[str] = field(default_factory=list)
    """What it holds that the data do not."""

    @property
    def hard(self) -> bool:
        return True  # answers of SPARQL are compared as sets

    def script(self, gold: str = "", prediction: str = "", heading: Sequence[str] = ()) -> str:
        """The graph as Turtle. With the queries given, these and their answers are comments above it."""
        queries = [("gold", gold, self.gold), ("prediction", prediction, self.prediction)]
        return turtle(self.triples, queries if gold or prediction else (), heading)


@dataclass(slots=True)
class Telling:
    """What came of a search."""

    status: Status
    databases: int = 0
    """How many were tried."""
    counterexample: Counterexample | GraphCounterexample | None = None
    reason: str = ""
    """Why the pair was left out."""
    unit: str = "database"
    """What was tried: databases, or graphs."""
    notes: list[str] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)
    """Of the processor; no part of what is found depends on it."""

    def __str__(self) -> str:
        if self.counterexample is not None:
            marks = "".join(f"; {mark}" for mark in self.counterexample.marks)
            return f"told apart by {self.unit} {self.databases:,}: {self.counterexample.difference}{marks}"
        if self.status == "differ already":
            return f"they differ on the given {self.unit}"
        if self.status == "left out":
            return f"left out: {self.reason}"
        if not self.databases:
            return "not told apart: they are the same text"
        return f"not told apart by {self.databases:,} {self.unit}{'' if self.databases == 1 else 's'}"


class Pair(NamedTuple):
    """Two queries and where they run: a database file, or statements that make one."""

    gold: str
    prediction: str
    database: str = ""
    schema: str = ""
    agreed: bool = False
    """They are known to agree on the database."""
    comparison: tuple[str, bool] = ("", False)
    """How answers of SPARQL are compared (`graphs.comparing.Comparison`)."""


class Prover:
    """Searches for many pairs, in worker processes. `close` or leaving `with` ends them."""

    def __init__(
        self, *, dialect: str = "sqlite", budget: int = BUDGET, seed: int = 0, limits: Limits | None = None,
        workers: int | None = None, graph: Graph | None = None,
    ) -> None:  # fmt: skip
        if dialect not in ("sqlite", "duckdb"):
            raise InputError(field="dialect", expected="sqlite or duckdb", got=repr(dialect), reason=Reason.BAD_OPTION)
        if budget < 1:
            raise InputError(f"budget {budget}: expected a number of databases above 0")
        self.budget, self.seed = budget, seed
        self.limits = limits or Limits(seconds=SECONDS, query_bytes=4 << 20)
        config = {"kind": "job", "module": "sensecheck.correct.proving.job", "dialect": dialect}
        self.graph = graph
        if graph is not None:
            config = {**graph.config, "kind": "job", "module": "sensecheck.correct.proving.graphs.job"}
        self.pool = WorkerPool(config, self.limits, workers)
        self._contents: dict[str, str] = {}

    def close(self) -> None:
        self.pool.close()

    def __enter__(self) -> Prover:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tell_apart(self, pair: Pair) -> Telling:
        return next(iter(self.run([pair])))[1]

    def run(self, pairs: Iterable[Pair]) -> Iterator[tuple[int, Telling]]:
        """What comes of each pair, with its number, as they come."""
        for number, outcome in self.pool.run(self._request(pair) for pair in pairs):
            yield number, self._telling(outcome)

    def _request(self, pair: Pair) -> Request:
        content = self._content(pair)
        message = {
            "gold": _whole(pair.gold), "prediction": _whole(pair.prediction), "schema": pair.schema,
            "broken": _broken(pair), "agreed": pair.agreed, "comparison": pair.comparison, "content": content,
            "seed": f"{self.seed}\0{content}", "budget": self.budget,
        }  # fmt: skip
        return Request(orjson.dumps(message).decode(), pair.database)

    def _content(self, pair: Pair) -> str:
        if self.graph is not None:
            self._contents.setdefault("", self.graph.content())
        place = pair.database or pair.schema
        if place not in self._contents:
            self._contents[place] = (
                file_fingerprint(Path(place)) if pair.database else hashlib.blake2b(place.encode()).hexdigest()[:32]
            )
        return self._contents[place]

    def _telling(self, outcome: Answer | Failure) -> Telling:
        if isinstance(outcome, Failure):
            unit = "database" if self.graph is None else "graph"
            reason = f"the search ended: {outcome.message}"
            return Telling("left out", reason=reason, unit=unit, seconds=outcome.seconds)
        reply = orjson.loads(str(outcome.rows[0][0]))
        telling = Telling(
            "not told apart", reply.get("tried", 0), reason=reply.get("left_out", ""), notes=reply.get("notes", []),
            seconds=reply["seconds"],
        )  # fmt: skip
        if reply.get("differ"):
            telling.status = "differ already"
        elif telling.reason:
            telling.status = "left out"
        elif "found" in reply:
            telling.status = "told apart"
            telling.counterexample = _decoded(reply["found"])
        if self.graph is not None:
            telling.unit = "graph"
        return telling


def _whole(text: str) -> str:
    """The text without halves of characters, which no message can carry."""
    return text.encode("utf-8", "replace").decode()


def _broken(pair: Pair) -> str:
    """Why there is nothing to search for: a text with half a character is no query."""
    for owner, text in (("gold", pair.gold), ("prediction", pair.prediction)):
        if text != _whole(text):
            return f"{owner}: the query contains half a character (a lone surrogate)"
    return ""


def _answer(data: dict[str, Any]) -> Answer:
    outcome = decode_outcome(data)
    assert isinstance(outcome, Answer)
    return outcome


def _decoded(found: dict[str, Any]) -> Counterexample | GraphCounterexample:
    if "triples" in found:
        return GraphCounterexample(
            found["triples"], _answer(found["gold"]), _answer(found["predicted"]), found["difference"], found["marks"]
        )
    tables = {}
    for name, data in found["tables"].items():
        answer = _answer(data)
        tables[name] = SmallTable(answer.columns, list(answer.rows))
    return Counterexample(
        found["ddl"], found["further"], tables, _answer(found["gold"]), _answer(found["predicted"]),
        found["difference"], found["circular"], found["marks"],
    )  # fmt: skip


def tell_apart(
    gold: str,
    prediction: str,
    *,
    database: str | Path | None = None,
    schema: str | Path | None = None,
    graph: str | Path | Sequence[str | Path] | None = None,
    dialect: str = "sqlite",
    budget: int = BUDGET,
    seed: int = 0,
    limits: Limits | None = None,
) -> Telling:
    """Search a small database, or a small graph, on which two queries differ.

    `database` is a file whose rows are drawn from; `schema` is statements that make the tables, or a file of them.
    Two SPARQL queries are told apart by a small graph: `graph` is RDF files, or the folder of an Oxigraph store.
    The same arguments give the same result on any machine.
    """
    for owner, text in (("gold", gold), ("prediction", prediction)):
        if not isinstance(text, str):
            raise InputError(field=owner, expected="a query as text", got=shown(text), reason=Reason.BAD_OPTION)
    if sum(place is not None for place in (database, schema, graph)) != 1:
        raise InputError("tell_apart: expected a database, a schema or a graph, one of the three")
    if graph is not None:
        store = Graph(graph)
        with store, Prover(budget=budget, seed=seed, limits=limits, workers=1, graph=store) as prover:
            return prover.tell_apart(Pair(gold, prediction))
    file, script = "", ""
    if database is not None:
        file = str(_checked(Path(database).resolve(), dialect))
    else:
        script = _script(schema)  # type: ignore[arg-type]
    with Prover(dialect=dialect, budget=budget, seed=seed, limits=limits, workers=1) as prover:
        return prover.tell_apart(Pair(gold, prediction, file, script))


def _checked(path: Path, dialect: str) -> Path:
    """The file, if it is one of a database that the dialect reads."""
    if not path.is_file():
        raise InputError(f"database {path}: no such file")
    with path.open("rb") as stream:
        head = stream.read(16)
    kind = "duckdb" if head[8:12] == b"DUCK" else "sqlite" if head in (b"", b"SQLite format 3\0") else ""
    if not kind:
        raise InputError(f"database {path}: neither an SQLite nor a DuckDB file")
    if dialect in ("sqlite", "duckdb") and kind != dialect:
        raise InputError(f"database {path}: its dialect is {kind}, and {dialect} was given; give dialect={kind!r}")
    return path


def _script(schema: str | Path) -> str:
    wanted = "CREATE TABLE statements or a file of them"
    if not isinstance(schema, str | Path):
        raise InputError(field="schema", expected=wanted, got=shown(schema), reason=Reason.BAD_OPTION)
    text = str(schema)
    if isinstance(schema, Path) or ("\n" not in text and "(" not in text):
        path = Path(schema)
        if not text or not path.is_file():
            raise InputError(f"schema {text!r}: no such file; expected {wanted}")
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"schema {text}: it is no text in UTF-8; expected {wanted}") from None
    return text
