"""How much one query may take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from sensecheck.options import Option


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds on one query; beyond any of them it ends with a named reason, and the next query is answered."""

    seconds: Annotated[float, Option("seconds that a query may take", flag="--timeout", metavar="SECONDS")] = 10.0
    memory: Annotated[
        int,
        Option(
            "megabytes that a query may use beyond what the loaded store takes",
            metavar="MB",
            at_least=1,
            scale=1 << 20,
        ),
    ] = 1 << 30
    """In bytes of address space."""
    rows: Annotated[int, Option("rows that an answer may have", flag="--max-rows", metavar="N", at_least=1)] = 100_000
    bytes: int = 64 << 20
    """Bytes that an answer may have."""
    query_bytes: int = 1 << 18
    """Bytes that the text of a query may have."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value <= 0:
                raise ValueError(f"limit {name} must be above 0, not {value}")

    @property
    def message_bytes(self) -> int:
        """Bytes that a whole answer may take on its way from a worker: numbers are longer as text than in memory."""
        return 4 * self.bytes + (1 << 20)

    def key(self) -> str:
        return f"{self.seconds:g}s {self.memory}B {self.rows}r {self.bytes}b"
