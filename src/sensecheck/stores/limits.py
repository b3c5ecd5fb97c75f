"""How much one query may take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from sensecheck.options import Option


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds on one query; beyond any of them it ends with a named reason, and the next query is answered."""

    seconds: Annotated[float, Option("how long it may take", flag="--timeout", metavar="SECONDS")] = 10.0
    memory: Annotated[
        int, Option("memory it may take beyond the loaded store", metavar="MB", at_least=1, scale=1 << 20)
    ] = 1 << 30  # bytes of address space above what the loaded store takes
    rows: Annotated[int, Option("rows its answer may have", flag="--max-rows", metavar="N", at_least=1)] = 100_000
    bytes: int = 64 << 20  # of the answer
    query_bytes: int = 1 << 18

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value <= 0:
                raise ValueError(f"limit {name} must be above 0, not {value}")

    def key(self) -> str:
        return f"{self.seconds:g}s {self.memory}B {self.rows}r {self.bytes}b"
