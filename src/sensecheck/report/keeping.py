"""A run that is measured on this machine and kept at an address (`--out s3://…`)."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sensecheck.report.result import Result
from sensecheck.runs.at_address import kept_at


def measured_at(evaluate: Callable[..., Any], call: Mapping[str, Any]) -> Result:
    """What `evaluate` gives for a call whose `out` is an address, once it is there."""

    def make(folder: Path, resume: bool, overwrite: bool) -> Result:
        result: Result = evaluate(**{**call, "out": folder, "resume": resume, "overwrite": overwrite})
        return result

    return kept(str(call["out"]), make, resume=bool(call.get("resume")), overwrite=bool(call.get("overwrite")))


def kept(address: str, make: Callable[[Path, bool, bool], Result], *, resume: bool, overwrite: bool) -> Result:
    """What is made in a folder of this machine, kept at an address; the folder goes with the result."""
    result, remove = kept_at(address, make, resume=resume, overwrite=overwrite)
    assert result.directory is not None
    result.directory.address = address.rstrip("/")
    weakref.finalize(result.rows, remove)
    return result
