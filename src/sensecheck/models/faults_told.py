"""What stops a run that asks models: an endpoint that is gone or refuses, and a budget that is spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.models.calls import CallCache
from sensecheck.runs.stopping import Stopped


@contextmanager
def faults_told(calls: CallCache, again: str = "--resume", keeping: str = "--cache FILE") -> Iterator[None]:
    """An endpoint that is gone, or refuses after it has answered, and a budget that is spent, stop a run that can go on
    later; an endpoint that refuses the first call is asked in the wrong way.
    """
    from sensecheck.models.endpoint import BudgetError, EndpointError, EndpointGoneError

    try:
        yield
    except EndpointError as error:
        kept = calls.count() if calls.path is not None else 0
        if not kept and not isinstance(error, EndpointGoneError):
            raise InputError(str(error), reason=Reason.ENDPOINT) from None
        where = f"{kept:,} answers are kept in {calls.path}: " if kept else ""
        fix = "" if isinstance(error, BudgetError) else "fix this and "
        message = f"{where}{fix}run the same command{' with ' + again if again else ' again'}"
        message = f"{error}. {message[0].upper()}{message[1:]}"
        if isinstance(error, BudgetError):
            message += " to go on: what was answered is not asked again"
        raise Stopped(
            f"{message}." if calls.path is not None else f"{message}; with {keeping}, answers are kept."
        ) from None
