"""A few of the faults of `make test-faults`: one of each kind that needs no engine."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from tests.faults.disturbing import KINDS, Ground, disturbed


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with Ground(tmp_path_factory.mktemp("ground")) as made:
        yield made


@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if not kind.engine])
def test_a_run_outlives_a_fault(kind: str, ground: Ground) -> None:
    if why := KINDS[kind].missing():
        pytest.skip(why)
    fault = disturbed(ground, kind, random.Random(kind))
    assert not fault.wrong
