"""`sensecheck.robust.evaluate`: from pairs and a model to a result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.needs import Needs
from sensecheck.inputs.reasons import Reason
from sensecheck.models import classifiers, generators
from sensecheck.models.calls import settings_line
from sensecheck.models.cost import Cost, cost_told, costs, with_parts
from sensecheck.models.probe import probe
from sensecheck.options import Option
from sensecheck.report.asking import FILES, Asked, EveryQuestion, as_original, asked, evaluator
from sensecheck.report.result import Result
from sensecheck.robust.ahead import DryRun, calls_ahead
from sensecheck.robust.answers import read_share, unreadable_told
from sensecheck.robust.batches import BatchFiles
from sensecheck.robust.by_rule import by_rule
from sensecheck.robust.instrument import ModelInstrument
from sensecheck.robust.label_names import GivenNames
from sensecheck.robust.measure import histograms, measure, whole_funnel
from sensecheck.robust.pipeline import Pipeline, Plan, in_batches
from sensecheck.robust.records import ALIASES, Pairs
from sensecheck.robust.statements import CANDIDATES, KEEP, TRIES
from sensecheck.robust.systems import RULES, SMALL, Access, Systems, classifier
from sensecheck.robust.systems import generator as generator_of
from sensecheck.runs.collecting import Batch
from sensecheck.runs.shards import NONE_OWN
from sensecheck.runs.signature import Method
from sensecheck.stages import MEASURING, at_work
from sensecheck.statistics.figure import DEFAULT_SEED

ASKED_PAIRS = 256
"""Pairs whose statements go through the models together."""
BATCH_ASKS = 8
"""So many times that are one batch of measurements: what is answered is kept before, and small batches cost time."""
CALLS = "calls.sqlite"
DEFAULTS: Method = {
    "polarity": "both",
    "directions": 2,
    "keep": KEEP,
    "candidates": CANDIDATES,
    "regenerate": TRIES,
    "distances": True,
    "cosine": False,
    "only-correct": True,
    "seed": DEFAULT_SEED,
}

_models = partial(Option, group="models")
_judging = partial(Option, group="how statements are judged")


@evaluator(
    never_as_original=(
        "directions",
        "keep",
        "candidates",
        "regenerate",
        "only_correct",
        "cosine",
        "slices",
        "batch_out",
        "batch_in",
        "dry_run",
    ),
    needs=Needs("robust", decided=[ALIASES["label"]]),
)
def evaluate(
    data: Annotated[Any, replace(FILES, help="files or globs of pairs; - is standard input")],
    *,
    model: Annotated[
        Any,
        _models(
            "the model under test: small (ships with sensecheck), a Hugging Face name or folder, "
            "URL#name of an OpenAI-compatible endpoint, table:FILE, py:module:function", metavar="M",
        ),
    ] = SMALL,
    generator: Annotated[
        Any,
        _models(
            "what makes statements: rules, a Hugging Face name or folder, URL#name, file:FILE, py:module:function",
            metavar="G",
        ),
    ] = RULES,
    check_labels: Annotated[
        bool, _models("skip the check of the label order with six sanity pairs", flag="--no-label-check")
    ] = True,
    wordnet: Annotated[bool, _models("extend the rules with the WordNet on this machine")] = False,
    cache: Annotated[
        str | os.PathLike[str] | None,
        _models("keep every model call here (default: calls.sqlite in --out)", metavar="FILE", written=True),
    ] = None,
    batch_out: Annotated[
        str | os.PathLike[str] | None,
        _models("write the calls to URLs into this file, for a batch endpoint, and stop", metavar="FILE", written=True),
    ] = None,
    batch_in: Annotated[
        str | os.PathLike[str] | None,
        _models("read the results of such a batch, and make no call to a URL", metavar="FILE"),
    ] = None,
    dry_run: Annotated[
        bool, _models("say how many calls to URLs the run would make at most, and make none")
    ] = False,
    access: Annotated[Access | None, _models("how models are reached and run")] = None,
    label_names: Annotated[
        Sequence[str] | Mapping[str, str] | str | None,
        Option(
            "what the data's labels mean: names of the integers 0,1,2 in order, or LABEL=NAME,… "
            "(default: by the names that the data give)", group="what is measured", metavar="A,B,C", separator=",",
        ),
    ] = None,
    polarity: Annotated[
        Literal["both", "positive", "negative"],
        _judging("statements that follow (positive), contradict (negative), or both"),
    ] = "both",
    directions: Annotated[Literal[1, 2], _judging("confirm only (h, g), or (g, h) too")] = 2,
    keep: Annotated[int, _judging("statements judged per pair", metavar="K", at_least=1)] = KEEP,
    candidates: Annotated[int, _judging("statements per generator call", metavar="N", at_least=1)] = CANDIDATES,
    regenerate: Annotated[bool, _judging("do not ask the generator again for pairs with too few statements")] = True,
    only_correct: Annotated[
        bool, _judging("also judge pairs that the model gets wrong", flag="--all-pairs")
    ] = True,
    cosine: Annotated[bool, _judging("also compare embeddings of hypothesis and statement")] = False,
    seed: Annotated[
        int | None, Option("seed for sampling statements (default: the seed of resampling)", hidden=True)
    ] = None,
    parity: Annotated[
        Literal["breaknli", "breaknli-april"] | None, as_original("breaknli", "breaknli-april")
    ] = None,
    **shared: Unpack[EveryQuestion],
) -> Result:  # fmt: skip
    """Inequality rates of an NLI model.

    `data` is a table of pairs (premise, hypothesis, label): path, glob, list of paths or a table in memory. `model` is
    the model under test and `generator` makes the statements; both may be names, URLs, files, functions or objects.
    Labels that are integers are read by the names that come with the data (Hugging Face data sets have them) or by
    `label_names`, `["contradiction", "entailment", "neutral"]` where 0 is contradiction; `{"yes": "entailment", …}`
    says what other labels mean.
    With `dry_run`, nothing is asked and nothing written: `DryRun` is raised, whose `calls` bound what a run would ask.
    Every call to either is kept in `cache` (default: calls.sqlite inside `out`), so that nothing is asked twice.
    """
    if keep < 1 or candidates < 1:
        raise InputError(
            field="keep, candidates", expected="at least 1", got=f"{keep}, {candidates}", reason=Reason.BAD_OPTION
        )
    if parity is not None:
        from sensecheck.robust.parity import ASKING, VERSIONS, BreakNLI

        if parity not in VERSIONS:
            raise InputError(field="parity", expected=", ".join(VERSIONS), got=shown(parity), reason=Reason.BAD_OPTION)
    asked_for = asked(shared)
    budget = (access or Access()).budget()
    systems = Systems(
        classifier(model, access, ASKING if parity is not None else None, budget),
        generator_of(generator, access, wordnet, budget),
        Path(cache) if cache is not None else asked_for.out / CALLS if asked_for.out is not None else None,
        BatchFiles.of(batch_out, batch_in),
    )
    if systems.batch is not None:
        if asked_for.shard is not None:
            raise InputError(
                "--batch-out and --batch-in (batch_out=, batch_in=) write and read the calls of all pairs: leave "
                "--shard (shard=) and --engine (engine=) out",
                reason=Reason.BAD_OPTION,
            )
        systems.batch.check(systems.model, systems.generator, systems.kept_in)
    choices = Plan(
        ("positive", "negative") if polarity == "both" else (polarity,),
        directions,
        candidates,
        keep,
        regenerate=regenerate,
        only_correct=only_correct,
        cosine=cosine,
        seed=asked_for.intervals.seed if seed is None else seed,
    )
    if dry_run:
        raise DryRun(calls_ahead(Pairs(data, asked_for, label_names), systems, choices, check_labels))
    if parity is not None:
        return BreakNLI(data, asked_for, systems, choices, parity, label_names).run()
    return Robust(data, asked_for, systems, choices, check_labels, label_names).run()


class Robust(ModelInstrument):
    """Pairs in each polarity, with what the model makes of the statements about them."""

    tells = True

    def __init__(
        self,
        data: Any,
        asked: Asked,
        systems: Systems,
        choices: Plan,
        check_labels: bool = True,
        label_names: GivenNames = None,
    ) -> None:
        super().__init__(data, asked, systems, choices, label_names)
        self.check_labels = check_labels
        self._cost: Cost = {}
        self.failed: list[str] = []
        """why calls have no answer, and how many"""
        if choices.cosine and not callable(getattr(systems.model, "embeddings", None)):
            raise InputError(
                f"--cosine: {systems.model.identity.model} gives no embeddings",
                hint="Leave it out, or take a Hugging Face sequence classifier as the model.",
                reason=Reason.BAD_OPTION,
            )

    def method(self) -> Method:
        choices = self.choices
        again = choices.regenerate and Pipeline.resamples(self.systems.generator)
        return {
            "polarity": choices.polarity,
            "directions": choices.directions,
            "keep": choices.keep,
            "candidates": choices.candidates,
            "regenerate": choices.tries if choices.regenerate else False,
            "only-correct": choices.only_correct,
            **self.systems.of_generator(),
            "distances": True,
            "cosine": choices.cosine,
            **({"seed": choices.seed} if again else {}),
        }

    def cost(self) -> Cost:
        return self._cost

    def plan(self) -> Mapping[str, Any]:
        return {**super().plan(), "pairs a batch": ASKED_PAIRS * BATCH_ASKS}

    def defaults(self) -> Method:
        return {**DEFAULTS, **super().defaults()}

    def batches(self, done: int) -> Iterator[Batch]:
        with self.answers() as (model, generator):
            if self.check_labels:
                self.notes += _label_order(model)
            advance = at_work(MEASURING, self.count(), "pairs")
            if self.systems.batch is not None:
                self._gone_ahead(model, generator)
            pipeline = Pipeline(model, generator, self.choices, self.advanced)
            for number, pairs in enumerate(in_batches(iter(self.pairs), ASKED_PAIRS * BATCH_ASKS)):
                if number < done:
                    advance.already(len(pairs))
                    continue
                own = self.own([pair.cluster or pair.id for pair in pairs])
                if own is not None:
                    advance.already(len(pairs) - len(own))
                    pairs = [pairs[place] for place in own]
                if own == []:
                    yield NONE_OWN
                    continue
                trials = [trial for some in in_batches(iter(pairs), ASKED_PAIRS) for trial in pipeline.trials(some)]
                each = len(self.choices.polarities)
                of_pairs = (trials[at : at + each] for at in range(0, len(trials), each))
                advance(0, unscored=sum(all(trial.reason for trial in of_pair) for of_pair in of_pairs))
                places = None if own is None else [place for place in own for _ in range(each)]
                yield replace(measure(trials, self.pairs.sliced), places=places)
            self._cost = costs(model=model, generator=generator)
        self.notes += _notes(self.pairs, model, generator)
        self.failed = [f"{reason} ({count:,})" for reason, count in model.failures.items()]

    def _gone_ahead(self, model: classifiers.Asked, generator: generators.Asked) -> None:
        """With calls that are written: as far as what is known reaches, over all pairs. A run is measured when nothing
        is left to be written.
        """
        assert self.systems.batch is not None
        if self.systems.batch.out is None:
            return
        pipeline = Pipeline(model, generator, self.choices)
        for pairs in in_batches(iter(self.pairs), ASKED_PAIRS):
            pipeline.trials(pairs)
        self.systems.batch.stop_where_written("--resume" if self.asked.out is not None else "")

    def finish(self, result: Result) -> None:
        steps = whole_funnel(result.rows, self.choices.keep, self.choices.only_correct)
        lines = [
            f"funnel, {line['polarity']}: "
            + " → ".join(f"{count:,} {step}" for step, count in line.items() if step != "polarity")
            for line in steps
        ]
        result.notes = list(dict.fromkeys([*lines, *result.notes]))
        distances = {} if result.texts is None else histograms(result.rows, result.texts)
        rules = {} if result.texts is None else by_rule(result.rows, result.texts)
        result.extra = {"funnel": steps, "distances": distances, **({"by_rule": rules} if rules else {})}
        read = read_share(result.rows)
        if read["unreadable"] or getattr(self.systems.model, "read", None) is not None:
            result.extra["answers"] = read
        told = unreadable_told(read)
        if told:
            result.notes.insert(0, f"warning: {told}")
        result.cause = ", ".join([*self.failed[:3], *([told] if told else [])])
        if cost := with_parts(self._cost, self.of_parts):
            result.extra["cost"] = cost
            result.notes += cost_told(cost)


def _label_order(model: classifiers.Asked) -> Iterator[str]:
    """A warning where the model answers as if its labels stood in another order."""
    result = probe(model)
    if result.warning:
        classes = getattr(model.model, "order", ())
        advice = f"--label-order {result.label_order(classes)}" if len(classes) == 3 else "other label names"
        yield f"warning: {result.warning}; give it {advice} if that is so"


def _notes(pairs: Pairs, model: classifiers.Asked, generator: generators.Asked) -> Iterator[str]:
    """What was read and asked, and what of it failed."""
    yield from pairs.notes()
    who = model.model.identity
    yield f"model: {who.model}, revision {who.revision or 'unknown'}, {settings_line(who)}"
    card = getattr(model.model, "card", None)
    if card:
        scores = ", ".join(f"{value:.1%} on {name}" for name, value in card["accuracy"].items())
        yield f"the model is the small one that ships with sensecheck ({scores}): good for a first look, not for claims"
    cut = getattr(getattr(model.model, "truncated", None), "pairs", 0)
    if cut:
        yield f"{cut:,} pairs were as long as the model can read, or were longer and had to be cut"
    halved = getattr(model.model, "halved", 0)
    if halved:
        yield f"{halved:,} batches did not fit in memory and were halved"
    for reason, count in model.failures.items():
        yield f"{count:,} calls got no answer: {reason}"
    if model.example:
        yield f"an answer from which no label could be read: {shown(model.example)}"
    if generator.failed:
        why = getattr(generator.model, "why_none", {})
        told = f": {', '.join(f'{reason} ({count:,})' for reason, count in why.items())}" if why else ""
        yield f"{generator.failed:,} calls to the generator got no answer{told}"
    for part, system in (("model", model.model), ("generator", generator.model)):
        adapting = getattr(getattr(system, "endpoint", None), "adapting", None)
        yield from (f"{part}: {change}" for change in getattr(adapting, "changes", ()))
    if model.cache.unreadable:
        yield f"{model.cache.unreadable:,} kept answers in {model.cache.path} could not be read and were asked again"
