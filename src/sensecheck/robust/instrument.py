"""What a run by our rules and one by the original's share: the pairs, a model, a generator, and calls that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import astuple, replace
from typing import Any

from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.opening import file_sources
from sensecheck.inputs.tables import TableReader
from sensecheck.models import classifiers, generators
from sensecheck.report.asking import Asked
from sensecheck.report.instrument import Instrument
from sensecheck.report.repeats import check_columns
from sensecheck.robust.label_names import BY_NAME, GivenNames
from sensecheck.robust.pipeline import Plan
from sensecheck.robust.question import QUESTION
from sensecheck.robust.records import ALIASES, Pairs
from sensecheck.robust.systems import Systems
from sensecheck.runs.signature import Method
from sensecheck.stages import MEASURING, at_work, watched, watching


class ModelInstrument(Instrument):
    """One run that asks a model and a generator. Nothing that was answered is asked again."""

    question = QUESTION
    asks = True

    def __init__(
        self, data: Any, asked: Asked, systems: Systems, choices: Plan, label_names: GivenNames = None
    ) -> None:
        # Rows come in large batches, each after many calls: progress is told by call instead.
        super().__init__(data, replace(asked, progress=None))
        self._progress = asked.progress
        self.pairs = Pairs(data, asked, label_names)
        self.systems = systems
        self.choices = choices

    def advanced(self, pairs: int) -> None:
        """So many pairs more are done: said to the caller, and to whoever watches."""
        at_work(MEASURING)(pairs)
        if self._progress is not None:
            self._progress(pairs)

    def count(self) -> int | None:
        """How many pairs there are, for the time that is left; asked only where somebody watches."""
        if not watched():
            return None
        if isinstance(self.data, Gathered):
            return min(len(self.data), self.asked.limit or len(self.data))
        if not file_sources(self.data) or any(source.path is None for source in file_sources(self.data)):
            return None
        try:
            with watching(None):  # what is only counted is not the run's reading
                pairs = TableReader(self.data, limit=self.asked.limit, skip_bad=True)
                return sum(len(batch.frame) for batch in pairs) + sum(file.bad for file in pairs.files)
        except ValueError:
            return None  # the run itself says what is wrong

    def check(self) -> None:
        check_columns(self.data, self.asked.repeat, self.asked.columns, ids=ALIASES["id"])
        self.pairs.begin()

    def answers(self) -> AbstractContextManager[tuple[classifiers.Asked, generators.Asked]]:
        """The model and the generator, to be asked. Only for `batches`: by then the run's folder is begun, and, with
        overwrite, cleared.
        """
        return self.systems.asked("--resume" if self.asked.out is not None else "")

    def system(self) -> Mapping[str, str]:
        of_model = self.systems.of_model()
        return {"name": self.asked.system or of_model["model"], **of_model}

    def plan(self) -> Mapping[str, Any]:
        return {
            "model": astuple(self.systems.model.identity), "seed": self.choices.seed, **self.pairs.labels.plan(),
            **self.systems.reading(),
        }  # fmt: skip

    def learnt(self) -> Method:
        return {"labels": self.pairs.label_choice()}

    def defaults(self) -> Method:
        return {"labels": BY_NAME}

    def inputs(self) -> list[dict[str, Any]]:
        return self.pairs.inputs()
