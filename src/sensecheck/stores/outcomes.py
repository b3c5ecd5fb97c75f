"""What comes back from a store: an answer, or a failure with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from sensecheck.inputs.reasons import Reason as Reason
from sensecheck.language.answers import Answer as Answer
from sensecheck.language.answers import Cell as Cell
from sensecheck.language.answers import Term as Term

from .limits import Limits

HALF_CHARACTER = "the query contains half a character (a lone surrogate)"

# Running the same query again, with more generous limits or on another day, may end otherwise.
LIMIT_REASONS = frozenset((Reason.TIMEOUT, Reason.MEMORY, Reason.TOO_LARGE))
PASSING_REASONS = frozenset((Reason.ENDPOINT_ERROR, Reason.ENDPOINT_DEAD))


@dataclass(slots=True)
class Failure:
    reason: Reason
    message: str
    seconds: float = 0.0


Outcome: TypeAlias = Answer | Failure


def too_many_bytes(limits: Limits) -> Failure:
    return Failure(Reason.TOO_LARGE, f"an answer of more than {limits.bytes:,} bytes")


class Request(NamedTuple):
    """One query; `database` names the SQL file it runs on."""

    text: str
    database: str = ""
    timed: bool = False
    """SQL: how long it takes is asked for, not what it answers. The outcome has `seconds`, no rows, and is not kept."""


class EndpointDeadError(ConnectionError):
    """The endpoint no longer answers: the run stops here and can be resumed, rather than scoring zeros."""


# ---- the form in which outcomes cross a pipe or lie in a cache: plain JSON


def encode_cell(value: object) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else {"n": str(value)}
    if isinstance(value, float):
        # JSON knows no infinities.
        return value if value - value == 0 else {"f": repr(value)}
    if isinstance(value, Term):
        return list(value) if value.datatype or value.language else [value.kind, value.value]
    if isinstance(value, bytes | bytearray | memoryview):
        return {"b": bytes(value).hex()}
    return {"s": str(value), "t": type(value).__name__}


def decode_cell(value: Any) -> Cell:
    if isinstance(value, list):
        return Term(*value)
    if isinstance(value, dict):
        if "f" in value:
            return float(value["f"])
        if "n" in value:
            return int(value["n"])
        if "b" in value:
            return bytes.fromhex(value["b"])
        if value["t"] == "Decimal":
            return float(value["s"])
        return str(value["s"])
    return value  # type: ignore[no-any-return]


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return {"reason": str(outcome.reason), "message": outcome.message, "seconds": outcome.seconds}
    if outcome.boolean is not None:
        return {"boolean": outcome.boolean, "seconds": outcome.seconds}
    return {
        "columns": outcome.columns,
        "rows": [[encode_cell(cell) for cell in row] for row in outcome.rows],
        "seconds": outcome.seconds,
    }


def decode_outcome(data: dict[str, Any]) -> Outcome:
    seconds = float(data.get("seconds", 0.0))
    if "reason" in data:
        return Failure(Reason(data["reason"]), str(data["message"]), seconds)
    if "boolean" in data:
        return Answer(boolean=bool(data["boolean"]), seconds=seconds)
    rows = [tuple([decode_cell(cell) for cell in row]) for row in data["rows"]]
    return Answer(list(data["columns"]), rows, None, seconds)
