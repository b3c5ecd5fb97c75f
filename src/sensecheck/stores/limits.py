"""How much one query may take."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True, frozen=True)
class Limits:
    """Bounds on one query; beyond any of them it ends with a named reason, and the next query is answered."""

    seconds: float = 10.0
    """seconds that a query may take"""
    memory: int = 1 << 30
    """bytes of memory that a query may use beyond what the loaded store takes"""
    rows: int = 100_000
    """rows that an answer may have"""
    bytes: int = 64 << 20
    """bytes that an answer may have"""
    query_bytes: int = 1 << 18
    """bytes that the text of a query may have"""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value <= 0:
                raise ValueError(f"limit {name} must be above 0, not {value}")

    def key(self) -> str:
        return f"{self.seconds:g}s {self.memory}B {self.rows}r {self.bytes}b"
