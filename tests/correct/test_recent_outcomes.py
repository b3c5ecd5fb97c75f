"""What was answered in one batch is not asked again in the next, as far as it fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensecheck.correct.measure import Choices
from sensecheck.correct.records import Record, Records
from sensecheck.correct.scoring import RecentOutcomes, Scorer
from sensecheck.stores import Answer, Failure, Limits, Outcome, Reason, Request


class Store:
    """Answers each query with its own text, and counts."""

    limits = Limits()
    fingerprint = "test"
    language = "sparql"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Outcome]]:
        for number, request in enumerate(requests):
            self.asked.append(request.text)
            yield number, Answer(["x"], [(request.text,)])

    def close(self) -> None:
        pass


def _batch(*queries: str) -> Records:
    records = Records()
    for query in queries:
        for name in Record.__slots__:
            getattr(records, name).append(getattr(Record(query, query, gold="gold"), name))
    return records


def test_one_query_of_two_batches_is_asked_once() -> None:
    store = Store()
    with Scorer(store, Choices()) as scorer:
        first, second = scorer.scores(_batch("a", "b")), scorer.scores(_batch("b", "c"))
    assert store.asked == ["a", "gold", "b", "c"]
    assert [score.answer_text for score in [*first, *second]] == ["a", "b", "b", "c"]


def test_the_oldest_make_room_and_passing_failures_are_not_kept() -> None:
    kept = RecentOutcomes(cells=30)
    one, two, three = Request("1"), Request("2"), Request("3")
    kept.put({one: Answer(["x"], [(1,), (2,)])})
    kept.put({two: Answer(["x"], [(1,), (2,)])})
    assert list(kept.get([one])) == [one]  # used last
    kept.put({three: Answer(["x"], [(1,), (2,), (3,)])})
    assert list(kept.get([one, two, three])) == [one, three]
    kept.put({two: Failure(Reason.ENDPOINT_ERROR, "")})
    assert not kept.get([two])
