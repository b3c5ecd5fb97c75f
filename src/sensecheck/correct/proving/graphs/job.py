"""The search over small graphs as the job of a worker process, which is bounded, killable and may write no file."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import orjson

from sensecheck.inputs.guarding import Fault, caught
from sensecheck.language.answers import Answer
from sensecheck.language.sparql import parse
from sensecheck.language.sparql.total_order import text_in_total_order
from sensecheck.language.sparql.tree import Iri, Triple
from sensecheck.stores.engines import OxigraphEngine
from sensecheck.stores.limits import Limits
from sensecheck.stores.outcomes import Failure, Outcome, decode_outcome, encode_outcome
from sensecheck.stores.sparql_gate import Admitted, admit

from . import lore as lores
from .comparing import Comparison
from .patterns import Asked, parts, read
from .searching import Found, Search


def make(config: dict[str, Any], limits: Limits) -> GraphSearchEngine:
    return GraphSearchEngine(config, limits)


class GraphSearchEngine:
    """What a worker process calls (`stores.engines.Engine`)."""

    def __init__(self, config: dict[str, Any], limits: Limits) -> None:
        self.given = OxigraphEngine(config, limits)
        self.small = OxigraphEngine(config, limits)

    def load(self) -> dict[str, Any]:
        return self.given.load()

    def start(self) -> None:
        import pyoxigraph

        self.given.start()
        self.small.store, self.small.casts = pyoxigraph.Store(), self.given.casts

    def places(self, database: str) -> list[str]:
        return self.given.places(database)

    def timed(self, text: str, database: str) -> dict[str, Any]:
        return self.given.timed(text, database)

    def answer(self, text: str, database: str) -> dict[str, Any]:
        request = orjson.loads(text)
        started = time.process_time()
        # Queries nested without end, or with more look-alike columns than can be compared: left out, with the reason.
        reply = caught("searching", self._reply, request)
        if isinstance(reply, Fault):
            reply = {"left_out": reply.message}
        reply["seconds"] = time.process_time() - started
        return {"columns": ["report"], "rows": [[orjson.dumps(reply).decode()]]}

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["broken"]:
            return {"left_out": request["broken"]}
        comparison = Comparison(*request["comparison"])
        admitted: list[Admitted] = []
        asked: list[Asked] = []
        for owner in ("gold", "prediction"):
            one = admit(
                request[owner], self.given.prefixes, self.given.limits, tolerant=self.given.tolerant, own_labels=True
            )
            if isinstance(one, Failure):
                return {"left_out": f"{owner}: it does not run: {one.message}"}
            admitted.append(one)
            asked.append(read(one.query))
            if asked[-1].objection:
                return {"left_out": f"{owner}: {asked[-1].objection}"}
        if not request["agreed"]:
            gold, prediction = (decode_outcome(self.given.run(one)) for one in admitted)
            if isinstance(gold, Failure) or isinstance(prediction, Failure):
                owner, failed = ("gold", gold) if isinstance(gold, Failure) else ("prediction", prediction)
                return {"left_out": f"{owner}: it does not run on the graph: {failed.message}"}  # type: ignore[union-attr]
            if not comparison.same(gold, prediction):
                return {"differ": True}
        if not any(side.predicates for side in asked) and not any(side.compared for side in asked):
            return {"left_out": "neither query names a predicate or a value"}
        if request["gold"].strip() == request["prediction"].strip():
            return {"tried": 0}
        lore = lores.Lore(self.given.store, asked[0].predicates | asked[1].predicates, _classes(asked))
        cuts = [cut for one in admitted for cut in self._cuts(one)]
        search = Search(
            lore, asked[0], asked[1], lambda triples: self._ask(triples, admitted), lambda: self._ties(cuts),
            comparison, "\0".join((request["seed"], request["gold"], request["prediction"])),
        )  # fmt: skip
        found, tried = search.run(request["budget"])
        reply: dict[str, Any] = {"tried": tried}
        if found is not None:
            triples = [f"{triple} ." for triple in found.triples]
            if not self._replayed(triples, found, admitted):
                return {"left_out": "what was found does not show the same once it is written and read"}
            reply["found"] = {
                "triples": triples, "gold": encode_outcome(found.gold),
                "predicted": encode_outcome(found.predicted), "difference": found.difference, "marks": found.marks,
            }  # fmt: skip
        return reply

    def _replayed(self, triples: list[str], found: Found, admitted: list[Admitted]) -> bool:
        """Whether the text that is written down shows both answers again, in a store that saw nothing else."""
        import pyoxigraph

        text = "\n".join(triples)
        read_back = pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.TURTLE)
        self.small.store = pyoxigraph.Store()
        self.small.store.extend(read_back)
        again = [decode_outcome(self.small.run(one)) for one in admitted]
        exact = Comparison()
        return all(
            isinstance(outcome, Answer) and exact.same(wanted, outcome)
            for wanted, outcome in zip((found.gold, found.predicted), again, strict=True)
        )

    def _ask(self, triples: Iterable[Any], admitted: list[Admitted]) -> tuple[Outcome, Outcome]:
        import pyoxigraph

        # Made anew each time, so that every find has been replayed in a store that saw nothing else.
        self.small.store = pyoxigraph.Store()
        self.small.store.extend(pyoxigraph.Quad(*triple) for triple in triples)
        gold, prediction = (decode_outcome(self.small.run(one)) for one in admitted)
        return gold, prediction

    def _cuts(self, admitted: Admitted) -> list[tuple[Admitted, Admitted]]:
        """A query with LIMIT in two forms that show the same unless rows tie at the cut."""
        query = admitted.query
        if query.form != "SELECT" or (query.limit is None and not query.offset):
            return []
        parsed = parse(admitted.text, self.given.prefixes, tolerant=self.given.tolerant)
        first, last = text_in_total_order(parsed), text_in_total_order(parsed, backwards=True)
        if first is None or last is None:  # SELECT *: anything that is cut counts
            first, last = admitted.text, parsed.text_without_limit()
        return [(Admitted(first, query, admitted.hidden), Admitted(last, query, admitted.hidden))]

    def _ties(self, cuts: list[tuple[Admitted, Admitted]]) -> bool:
        for first, last in cuts:
            one, other = decode_outcome(self.small.run(first)), decode_outcome(self.small.run(last))
            if isinstance(one, Failure) or isinstance(other, Failure) or not Comparison().same(one, other):
                return True
        return False


def _classes(asked: list[Asked]) -> set[str]:
    triples = [part for side in asked for part in parts(side.query) if isinstance(part, Triple)]
    return {
        triple.object.value for triple in triples if triple.verb == Iri(lores.TYPE) and isinstance(triple.object, Iri)
    }
