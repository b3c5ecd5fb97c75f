"""The one door for text of models: whatever an item does behind it, the next one is served."""

from __future__ import annotations

import threading
import time

import pytest

from sensecheck.inputs import guarding
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.inputs.half_characters import Tally, count_in, whole_value


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(guarding, "SECONDS", 0.15)
    monkeypatch.setattr(guarding, "BYTES", 40 << 20)
    monkeypatch.setattr(guarding._DOG, "look_seconds", 0.01)


def spin() -> None:
    while True:
        pass


def test_a_fault_is_a_reason_of_its_item():
    fault = guarded("reading", lambda: {}["\x1b[31mred"])
    assert isinstance(fault, Fault)
    assert fault.message == "reading: KeyError: '\\x1b[31mred'"
    assert (str(fault.reason), fault.over_budget) == ("could not be handled", False)


def test_what_asks_for_too_much_is_over_budget():
    def deeper() -> None:
        deeper()

    def steps() -> None:
        raise OverBudgetError("9 steps")

    assert [guarded("x", work).message for work in (deeper, steps)] == ["x: nested too deeply", "x: 9 steps"]
    assert guarded("x", steps).over_budget


def test_messages_for_the_user_and_the_end_of_the_run_pass_through():
    for error in (InputError("no"), KeyboardInterrupt(), SystemExit(3)):

        def work(error: BaseException = error) -> None:
            raise error

        with pytest.raises(type(error)):
            guarded("x", work)


def test_a_loop_is_called_off(impatient):
    begin = time.monotonic()
    assert guarded("x", spin).message == "x: takes more than 0.15 s"
    assert time.monotonic() - begin < 5
    assert guarded("x", lambda: 5) == 5


def test_a_loop_that_takes_every_exception_for_its_own_is_called_off(impatient):
    def stubborn() -> None:
        while True:
            try:
                spin()
            except Exception:
                continue

    assert guarded("x", stubborn).over_budget


def test_memory_is_called_off(impatient):
    def greedy() -> None:
        held = []
        while True:
            held.append(bytearray(1 << 20))

    assert guarded("x", greedy).message == "x: takes more than 40 MB of memory"


def test_a_part_of_something_watched_is_called_off_with_it(impatient):
    assert guarded("outer", lambda: guarded("inner", spin)).message == "outer: takes more than 0.15 s"


def test_every_thread_is_watched_and_a_late_call_never_meets_the_next_item(impatient):
    messages: list[str] = []

    def serve() -> None:
        for number in range(12):
            end = time.process_time() + 0.05 * (number % 6)

            def work(end: float = end) -> int:
                while time.process_time() < end:
                    pass
                return 1

            done = guarded("x", work)
            messages.append("" if done == 1 else done.message)
            assert guarded("x", lambda: 7) == 7

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(messages) == 36
    assert set(messages) <= {"", "x: takes more than 0.15 s"}


def test_the_watchdog_wakes_again_after_it_slept(impatient, monkeypatch):
    monkeypatch.setattr(guarding._DOG, "idle_looks", 1)
    assert guarded("x", spin).over_budget
    end = time.monotonic() + 10
    while not guarding._DOG.asleep and time.monotonic() < end:
        time.sleep(0.01)
    assert guarding._DOG.asleep
    assert guarded("x", spin).over_budget


def test_half_characters_are_replaced_and_counted():
    tally = Tally()
    count_in(tally)
    assert whole_value({"a\ud800": ["\udfff", "ok", 5, None, {"b": "é😀"}]}) == {
        "a\ufffd": ["\ufffd", "ok", 5, None, {"b": "é😀"}]
    }
    assert tally.notes() == ["2 texts held half a character (a lone surrogate): it was replaced by U+FFFD"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_item_that_swallows_the_call_is_called_again_and_never_waited_for(impatient):
    class Swallowing:
        def __del__(self) -> None:
            end = time.process_time() + 0.4
            while time.process_time() < end:
                pass

    def work() -> int:
        Swallowing()  # what is raised in a finaliser is lost
        return 1

    begin = time.monotonic()
    done = guarded("x", work)
    assert done == 1 or done.over_budget
    assert guarded("x", lambda: 7) == 7
    assert time.monotonic() - begin < 5


def test_an_item_is_not_blamed_for_other_threads(impatient):
    held: list[bytearray] = []

    def fill() -> None:
        for _ in range(120):
            held.append(bytearray(b"x" * (1 << 20)))
            time.sleep(0.002)

    thread = threading.Thread(target=fill)
    thread.start()
    assert guarded("x", time.sleep, 0.5) is None
    thread.join()


def test_a_value_of_another_kind_is_a_bad_record_where_those_are_skipped(tmp_path):
    import json

    from sensecheck.calibrated import evaluate

    rows = [{"id": f"r{i}", "confidence": 0.5, "correct": i % 2} for i in range(20)]
    rows[0]["id"], rows[7]["confidence"] = 5, "x"
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="same kind, or pass --skip-bad"):
        evaluate(path)
    result = evaluate(path, skip_bad=True)
    assert (result["accuracy"].n, result["accuracy"].unscored) == (18, {"mixed_kinds": 2})
