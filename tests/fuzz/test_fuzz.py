"""A few thousand damaged inputs to everything that reads, the same in every run; `make fuzz` tries many more.

Whatever comes is fine or one message of ours: no fault of the program, no words of Python or of a library, no input
that takes more than a second or 500 MB.
"""

from __future__ import annotations

import re
import time

import pytest
from tests.fuzz.judging import bounded_memory
from tests.fuzz.running import CORPUS, case_of, corpus, first_look, judged, warm, workplace
from tests.fuzz.targets import TARGETS, Target

SEED = 13
MUTATIONS = 60
LATER = ("runs", "servers", "cli")
"""Parts of the package that are tried by `make fuzz` alone."""


def _found(target: Target, mutations: int) -> list[str]:
    with workplace() as folder:
        found = [str(finding) for finding in warm(target, folder)]
        with bounded_memory():
            for number in range(mutations):
                case = case_of(target, SEED, number)
                finding = judged(target, case, folder).finding
                if finding is not None and finding.kind == "slow":
                    finding = first_look(target.name, SEED, number)
                if finding is not None:
                    found.append(f"input {number}: {finding}: {case.name} {case.data[:300]!r}")
    return found


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.owner not in LATER])
def test_damaged_files_get_a_message(name: str) -> None:
    assert _found(TARGETS[name], MUTATIONS) == []


@pytest.mark.parametrize("name", [name for name in TARGETS if corpus(name)])
def test_what_was_found_once_stays_mended(name: str) -> None:
    """The smallest form of every finding is read without a fault, and what is said of it is ours."""
    target = TARGETS[name]
    with workplace() as folder:
        warm(target, folder)
        with bounded_memory():
            for case in corpus(name):
                verdict = judged(target, case, folder)
                assert verdict.finding is None, f"{case.name}: {case.data[:300]!r}"
                if verdict.message:
                    # Where it is and what was expected: not the bare words of whatever failed.
                    assert len(verdict.message) > 20 and re.search(r"[.?!](?: |$)", verdict.message), verdict.message


def test_every_corpus_belongs_to_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= {name.replace(" ", "_") for name in TARGETS}


def test_what_seems_slow_is_looked_at_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_look("tables", SEED, 0) is None
    monkeypatch.setenv("FUZZ_SLOWEST_SECONDS", "-1")  # a clock may stand still for a short while
    found = first_look("tables", SEED, 0)
    assert found is not None and found.kind == "slow"


def test_a_fault_is_found() -> None:
    """The harness itself can fail: a raw message, a fault, a hang and a warning are findings."""
    from tests.fuzz.judging import judge

    from sensecheck.inputs.errors import InputError

    def raw() -> None:
        try:
            int("x")
        except ValueError as error:
            raise InputError(str(error)) from None

    def busy() -> None:
        until = time.process_time() + 1.05
        while time.process_time() < until:
            pass

    def kind(call: object) -> str | None:
        finding = judge(call).finding  # type: ignore[arg-type]
        return None if finding is None else finding.kind

    assert kind(raw) == "raw"
    assert kind(lambda: {}["a"]) == "fault"
    assert kind(lambda: [].pop()) == "fault"
    assert kind(busy) == "slow"
    assert kind(lambda: None) is None
    with bounded_memory(50 << 20):
        assert kind(lambda: bytearray(200 << 20)) == "memory"


@pytest.mark.parametrize("question", ["correct", "faithful", "diverse", "robust", "calibrated"])
def test_one_hostile_line_in_a_hundred_stops_no_run(question, tmp_path):
    from tests.fuzz.hostile_run import run

    found = run(question, 1000, tmp_path)
    assert found["problems"] == []
    assert sum(found["named"].values()) >= 10
