"""The audit as a part of a run: what was asked for, what is gathered, and what becomes of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sensecheck.correct.audit.auditing import Auditor
from sensecheck.correct.audit.checks import Doubt
from sensecheck.correct.audit.faithful_run import doubts_of
from sensecheck.correct.audit.golds import Golds
from sensecheck.correct.audit.sheet import EXTRA, check_target, frame_of, kept, ranked, write_sheet
from sensecheck.correct.scoring import Scorer
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.report.result import Result
from sensecheck.stores import SqlStore, Store


class Auditing:
    """One audit, beside the measuring of a run."""

    def __init__(self, out: str | os.PathLike[str] | None = None, doubts: Mapping[str, Doubt] | None = None) -> None:
        self.golds = Golds()
        self.out = out
        self.doubts = doubts
        self.rows: list[dict[str, Any]] = []

    @classmethod
    def asked_for(
        cls,
        audit: bool,
        out: str | os.PathLike[str] | None,
        systems: str | None,
        faithful: Result | str | os.PathLike[str] | None,
        store: Store | None,
    ) -> Auditing | None:
        """The audit that the options ask for, or none; refused is what would have no effect."""
        if not audit and out is None:
            for flag, given in (("--systems (systems=)", systems), ("--faithful (faithful=)", faithful)):
                if given is not None:
                    raise InputError(f"{flag} is for the audit of golds: it needs --audit", reason=Reason.BAD_OPTION)
            return None
        if not isinstance(store, SqlStore):
            raise InputError("--audit looks at golds in their databases: it needs --database", reason=Reason.BAD_OPTION)
        if out is not None:
            check_target(out)
        return cls(out, None if faithful is None else doubts_of(faithful))

    def look(self, scorer: Scorer) -> None:
        """Audit the golds that were gathered."""
        assert isinstance(scorer.store, SqlStore)
        auditor = Auditor(scorer.store, scorer.ask, self.doubts)
        self.rows = ranked(auditor.audited(self.golds))

    def finish(self, result: Result) -> None:
        result.extra[EXTRA] = kept(self.rows, len(self.golds), self.golds.systems)
        if self.doubts is not None and not any(name in self.doubts for gold in self.golds for name in gold.ids):
            result.notes.append("audit: the faithful run doubts no id of this file (golds are known by their ids)")
        if self.out is not None:
            write_sheet(frame_of(self.rows), self.out)
            result.notes.append(f"audit: {len(self.rows):,} golds with findings are in {self.out}")
