"""A language model behind a URL that says of examples whether they are right, many at once and each only once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import polars as pl

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.judges.figures import JUDGE_UNCHECKED, counts, told
from sensecheck.judges.figures import columns as verdict_columns
from sensecheck.judges.opinion import Opinion
from sensecheck.judges.options import ALWAYS, JudgedRows, JudgeOptions
from sensecheck.judges.template import Asks, Template
from sensecheck.judges.verdicts import CHOICES, VerdictReader, counted
from sensecheck.models import classifiers
from sensecheck.models.calls import CallCache, Identity, settings_line
from sensecheck.models.classifiers import Answer, Pair
from sensecheck.models.cost import Cost, cost_told, costs, with_parts
from sensecheck.models.faults_told import faults_told
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method

if TYPE_CHECKING:
    from sensecheck.report.result import Result

KEPT_IN, KEPT_BY = "judge.sqlite", "--judge-cache"
LONGEST_TEXT = 20_000
"""Characters of each text that a judge is shown. What is longer is not judged: cut, it would be another one."""
TOO_LONG = f"a text is longer than the {LONGEST_TEXT:,} characters that a judge is shown"

Texts = Mapping[str, str]
"""What a judge is shown of one example, by the names of a prompt's sections."""


class _Model:
    """The endpoint as a classifier of prompts: a pair is the digest of an example's texts, and which vote it is."""

    labels = len(CHOICES)

    def __init__(self, spec: str, template: Template, options: JudgeOptions) -> None:
        self.endpoint = options.endpoint(spec, options.budget())
        self.endpoint.temperature = options.heat
        self.read = VerdictReader()
        settings = f"{self.endpoint.settings} structured={self.endpoint.structured}"
        self.identity = Identity(
            self.endpoint.model, options.revision or "", f"judge: {template.name} #{template.digest}\n[{settings}]"
        )
        self._template, self._seeded = template, options.votes > 1
        self.texts: dict[str, Texts] = {}
        """By digest; those that are asked about now."""

    def stream(self, pairs: Sequence[Pair]) -> Iterator[classifiers.Batch]:
        for batch in self.endpoint.each(pairs, self._asked):
            yield [(i, one if isinstance(one, Answer) else Answer(None, failure=f"judge: {one}")) for i, one in batch]

    def _asked(self, pair: Pair) -> Answer:
        digest, (order, vote) = pair[0], pair[1].split()
        prompt = self._template.filled(self.texts[digest], swapped=order == "swapped")
        seed = int(vote) if self._seeded else None
        return Answer.of(self.endpoint.ask(prompt, choices=CHOICES, seed=seed, explained=True), self.read)

    def read_again(self, kept: Answer) -> Answer:
        return kept.read_again(self.read)


class Judge:
    """What a run asks. A context: the file of kept answers is open inside it."""

    def __init__(
        self,
        spec: str,
        asks: Mapping[str, Asks],
        options: JudgeOptions | None = None,
        *,
        asked_for: str | None = None,
        prompt: Any = None,
        cache: Any = None,
        out: Path | None = None,
    ) -> None:
        """asks: what it may be asked, by name; asked_for: which, where that is said and not left to prompt or data."""
        if not isinstance(spec, str) or not spec.startswith(("http://", "https://")):
            raise InputError(
                field="--judge", expected="URL#name of a language model, as in http://localhost:8000/v1#qwen3",
                got=shown(spec, 60), reason=Reason.BAD_OPTION,
            )  # fmt: skip
        self.options = options or JudgeOptions()
        self._spec, self._prompt = spec, prompt
        self._path = Path(cache) if cache is not None else None if out is None else out / KEPT_IN
        self._again = "--resume" if out is not None else ""
        self._calls: CallCache | None = None
        self._asked: classifiers.Asked | None = None
        self._notes: list[str] = []
        self.cost: Cost = {}
        self._all = asks
        named = asked_for or (None if prompt is None else _meant(asks, prompt))
        self._settled = named is not None or len(asks) == 1
        self._ask_for(asks[named or next(iter(asks))])

    def ask_for_one_of(self, name: str) -> None:
        """What it is asked by what the data are, unless the user said so, or the prompt."""
        if not self._settled:
            self._ask_for(self._all[name])

    def _ask_for(self, asks: Asks) -> None:
        self.asks, self.template = asks, asks.template(self._prompt)
        try:
            self._model = _Model(self._spec, self.template, self.options)
        except InputError:
            raise
        except ValueError as error:
            raise InputError(f"--judge: {error}", reason=Reason.BAD_OPTION) from None

    @property
    def name(self) -> str:
        return self._model.identity.model

    @property
    def always(self) -> bool:
        return self.options.when == ALWAYS

    @property
    def rows_at_once(self) -> int:
        """What was asked together is measured together: few at a time, so that somebody who waits sees it go on."""
        return max(512, 8 * self.options.concurrency)

    def method(self) -> Method:
        """All that its verdicts depend on, but for the prompt, which the data may decide."""
        options, endpoint = self.options, self._model.endpoint
        settings = Identity("", "", f"{endpoint.settings} structured={endpoint.structured}")
        return {
            "judge": self.name,
            "judge-revision": options.revision or "unknown",
            "judge-settings": f"{settings_line(settings)} read by {self._model.read.name}",
            "judge-when": options.when,
            "judge-votes": options.votes,
            "judge-swap": options.swap,
        }

    @staticmethod
    def defaults() -> Method:
        return {"judge-revision": "unknown", "judge-when": ALWAYS, "judge-votes": 1, "judge-swap": False}

    def learnt(self) -> Method:
        return {"judge-prompt": f"{self.template.name} #{self.template.digest}"}

    # -- asking

    def __enter__(self) -> Judge:
        self._calls = CallCache(self._path, KEPT_BY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._calls is None:
            return
        if self._asked is None and any(self._calls.spent(self._model.identity).values()):
            # All was measured before: what that cost is told all the same.
            self._asked = classifiers.Asked(self._model, self._calls)
        if self._asked is not None:
            self.cost = costs(judge=self._asked)
            self._notes = list(self._told(self._asked, self._calls))
        self._calls.close()
        self._calls = self._asked = None

    def opinions(self, cases: Sequence[Texts | str | None]) -> list[Opinion | str | None]:
        """What it makes of each example; a text is the reason why it cannot be asked, None that it shall not be."""
        assert self._calls is not None
        if self._asked is None:
            self._asked = classifiers.Asked(self._model, self._calls)
        fitting = [_fitting(case) for case in cases]
        digests = [_digest(case) if isinstance(case, Mapping) else "" for case in fitting]
        self._model.texts = {
            digest: case for digest, case in zip(digests, fitting, strict=True) if isinstance(case, Mapping)
        }
        orders = ("given", "swapped") if self.options.swap else ("given",)
        ballots = [f"{order} {vote}" for vote in range(1, self.options.votes + 1) for order in orders]
        pairs = [(digest, ballot) for digest in self._model.texts for ballot in ballots]
        with faults_told(self._calls, self._again, f"--out DIR or {KEPT_BY} FILE"):
            answers = dict(zip(pairs, self._asked.answers(pairs), strict=True))
        votes = {digest: counted([answers[digest, ballot] for ballot in ballots]) for digest in self._model.texts}
        return [
            votes[digest] if isinstance(case, Mapping) else case for digest, case in zip(digests, fitting, strict=True)
        ]

    def added(self, batch: Batch, rules: Sequence[bool | None], cases: Sequence[Texts | str | None]) -> Batch:
        """A batch of measurements with the verdicts of rules and judge together. A row that is not scored has none."""
        columns, said = verdict_columns(rules, self.opinions(cases))
        rows = batch.measurements.with_columns(columns)
        gone = ~rows["scored"]
        rows = rows.with_columns(
            pl.when(gone).then(pl.lit(None)).otherwise(pl.col(name)).alias(name) for name in columns.columns
        )
        texts = None if batch.examples is None else batch.examples.with_columns(said)
        return replace(batch, measurements=rows, examples=texts)

    def finish(self, result: Result, outcome: str, of_parts: Sequence[Mapping[str, Any]] = ()) -> None:
        """What a result says of it. `outcome`: the column of the rules' verdicts; of_parts: what the parts of a merged
        run spent.
        """
        found, cost = counts(result, outcome), with_parts(self.cost, of_parts)
        result.extra["judge"] = {"model": self.name, "verdicts": found, **({"cost": cost} if cost else {})}
        result.notes += told(found, self.name)
        result.notes += [*self._notes, *cost_told(cost)]
        if "human" not in result.signature.method:
            result.notes.append(
                f"{JUDGE_UNCHECKED}: label some examples (sensecheck label) and give the labels with --human, or to "
                "sensecheck agree"
            )

    def _told(self, asked: classifiers.Asked, calls: CallCache) -> Iterator[str]:
        for reason, count in asked.failures.items():
            yield f"{count:,} calls got no answer: {reason}"
        if asked.example:
            yield f"an answer from which no verdict could be read: {shown(asked.example)}"
        yield from (f"judge: {change}" for change in self._model.endpoint.adapting.changes)
        if calls.unreadable:
            yield f"{calls.unreadable:,} kept answers in {calls.path} could not be read and were asked again"


def judge_of(shared: JudgedRows, asks: Mapping[str, Asks], asked_for: str | None, out: Path | None) -> Judge | None:
    """The judge that was asked for; options of one that was not are refused."""
    given: dict[str, Any] = dict(shared)
    spec = given.get("judge")
    if spec is None:
        idle = [
            f"--{name.replace('_', '-')}" for name in ("judge_prompt", "judge_cache") if given.get(name) is not None
        ]
        idle += _set_in(given.get("judging"))
        idle += ["--judge-asks"] if asked_for is not None else []
        if idle:
            raise InputError(
                f"{idle[0]} is of a judge, and none is named", hint="Name one: --judge URL#name.",
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        return None
    return Judge(
        spec, asks, given.get("judging"), asked_for=asked_for, prompt=given.get("judge_prompt"),
        cache=given.get("judge_cache"), out=out,
    )  # fmt: skip


def _set_in(options: JudgeOptions | None) -> list[str]:
    """The options that were given."""
    if options is None:
        return []
    usual = JudgeOptions()
    given = [field.name for field in fields(options) if getattr(options, field.name) != getattr(usual, field.name)]
    return [f"--judge-{name.replace('_', '-')}" for name in given] or ["judging="]


def _meant(asks: Mapping[str, Asks], prompt: Any) -> str | None:
    """What a prompt of the user's is for, by the texts that it shows and others do not."""
    faults = []
    for name, one in asks.items():
        try:
            one.template(prompt)
        except InputError as error:
            faults.append(error)
        else:
            return name
    # The one that got furthest is what was meant.
    raise max(faults, key=lambda fault: fault.line or 1 << 30)


def fitting_schema(schema: str, queries: str) -> str:
    """A schema, a table a line, as a judge is shown it: of a long one the tables that the queries name alone."""
    if len(schema) <= LONGEST_TEXT:
        return schema
    asked = queries.lower()
    lines = [line for line in schema.split("\n") if line.partition("(")[0].partition(".")[0].lower() in asked]
    text = "\n".join([*lines, "(and further tables)"])
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 30] + "\n(and further columns)"


def _fitting(case: Texts | str | None) -> Texts | str | None:
    if isinstance(case, Mapping) and any(len(text) > LONGEST_TEXT for text in case.values()):
        return TOO_LONG
    return case


def _digest(case: Texts) -> str:
    """Of the texts alone: the prompt is part of the model's identity."""
    plain = json.dumps({name: text for name, text in case.items() if text}, sort_keys=True)
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:32]
