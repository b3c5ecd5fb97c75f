"""By what records of evaluation hosts are known: some of them hold replies of servers, and are none themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sensecheck.inputs.formats.start import UNFINISHED

Fields = Mapping[str, Any]

_STATES = ("started", "success", "cancelled", "error")


def is_inspect_log(first: Fields) -> bool:
    """One whole log of inspect_ai: its state and what was evaluated."""
    told = first.get("eval")
    if first.get("status") not in _STATES:
        return False
    return told is UNFINISHED or (
        isinstance(told, Mapping) and "task" in told and ("model" in told or "dataset" in told)
    )


def is_inspect_sample(first: Fields) -> bool:
    """A sample of such a log by itself."""
    return (
        {"id", "epoch", "input", "target", "output"} <= first.keys()
        and isinstance(first["epoch"], int)
        and (isinstance(first["output"], Mapping) or first["output"] is UNFINISHED)
        and ("scores" in first or "messages" in first or "metadata" in first)
    )


def is_promptfoo_result(first: Fields) -> bool:
    """One result of promptfoo: the answer of a provider to a test, and what assertions made of it."""
    return "success" in first and "prompt" in first and any(
        name in first for name in ("vars", "testCase", "gradingResult", "testIdx")
    ) and any(name in first for name in ("response", "providerResponse", "error"))  # fmt: skip


def is_promptfoo_document(first: Fields) -> bool:
    """A whole evaluation of promptfoo."""
    results = first.get("results")
    if isinstance(results, Mapping):
        results = results.get("results", results.get("outputs"))
    if isinstance(results, list):
        return bool(results) and isinstance(results[0], Mapping) and is_promptfoo_result(results[0])
    # Longer than the part that is looked at: what stands before the results.
    return results is UNFINISHED and ("evalId" in first or ("config" in first and "createdAt" in first))


def is_of_a_host(first: Fields) -> bool:
    return any(mark(first) for mark in (is_inspect_log, is_inspect_sample, is_promptfoo_result, is_promptfoo_document))
