"""The steps from pairs to judged triangles. Every model call goes through the cache, so a step is never done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sensecheck.models import classifiers, generators
from sensecheck.models.generators import Request
from sensecheck.models.said import Unreadable
from sensecheck.robust.by_rule import maker_of_all, makers
from sensecheck.robust.measure import (
    ENTAILMENT,
    NEUTRAL,
    NO_ANSWER,
    NO_GENERATION,
    NO_GOLD,
    NO_JUDGEMENT,
    NO_RULE,
    REFUSED,
    TOO_FEW,
    WRONG,
    Statement,
    Trial,
    target,
)
from sensecheck.robust.statements import CANDIDATES, KEEP, TRIES, Filling, distinct, standardise
from sensecheck.statistics.figure import DEFAULT_SEED

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis with the label people gave them; None where they did not agree on one."""

    id: str
    premise: str
    hypothesis: str
    gold: int | None
    slices: Mapping[str, str]
    bad: str | None = None
    """why the record could not be read, where bad records are counted instead of refused"""
    coarse: bool = False
    """gold is "not entailment": neutral and contradiction are both right"""
    cluster: str = ""
    """the id that several pairs may share (default: the pair's own)"""

    def is_right(self, label: int | None) -> bool:
        return label is not None and (label != ENTAILMENT if self.coarse else label == self.gold)


@dataclass(frozen=True)
class Plan:
    """The choices of a run that change its figures."""

    polarities: tuple[str, ...] = ("positive", "negative")
    directions: int = 2
    """1: M(h, g) must be as meant; 2: M(g, h) too"""
    candidates: int = CANDIDATES
    """statements a generator call; decoders are called twice (beam, then diverse beam)"""
    keep: int = KEEP
    tries: int = TRIES
    regenerate: bool = True
    reflexive: bool = True
    only_correct: bool = True
    seed: int = DEFAULT_SEED
    cosine: bool = False

    @property
    def polarity(self) -> str:
        return "both" if len(self.polarities) == 2 else self.polarities[0]


class _Share:
    """Turns answered calls into finished pairs: a bar that moves with the calls and ends with the pairs.

    How many calls a pair takes is known only when its statements are there, so each step gets a share of the pairs and
    each call a share of its step.
    """

    STEPS: ClassVar = {"classify": 0.1, "generate": 0.2, "confirm": 0.6, "judge": 0.1}

    def __init__(self, advance: Progress | None, pairs: int) -> None:
        self._advance, self._pairs = advance, pairs
        self._done = 0.0
        self._told = 0

    def during(self, step: str, calls: int) -> Progress:
        each = self.STEPS[step] * self._pairs / max(calls, 1)

        def count(answered: int) -> None:
            self._done = min(self._done + answered * each, float(self._pairs))
            self._tell()

        return count

    def finish(self) -> None:
        self._done = float(self._pairs)
        self._tell()

    def _tell(self) -> None:
        whole = int(self._done)
        if self._advance is not None and whole > self._told:
            self._advance(whole - self._told)
            self._told = whole


class Pipeline:
    """M and G behind the cache, and the steps."""

    def __init__(
        self, model: classifiers.Asked, generator: generators.Asked, plan: Plan, progress: Progress | None = None
    ) -> None:
        self.model, self.generator, self.plan = model, generator, plan
        self._progress = progress
        self._share = _Share(progress, 0)
        self.decodes = bool(getattr(generator.model, "decodes", False))
        self.samples = self.resamples(generator.model)

    @staticmethod
    def resamples(generator: object) -> bool:
        """Whether a generator has something new to say when it is asked again."""
        return bool(getattr(generator, "decodes", False) or getattr(generator, "samples", False))

    def trials(self, pairs: Sequence[Pair]) -> list[Trial]:
        """All trials of some pairs, pair by pair, polarity by polarity."""
        plan = self.plan
        trials = [
            Trial(
                pair.id, standardise(pair.premise), standardise(pair.hypothesis), pair.gold, polarity,
                pair.slices,
                reason=pair.bad or (NO_GOLD if pair.gold is None else None), counts_pair=polarity == plan.polarities[0],
                coarse=pair.coarse, cluster=pair.cluster or pair.id,
            )
            for pair in pairs
            for polarity in plan.polarities
        ]  # fmt: skip
        self._share = _Share(self._progress, len(pairs))
        self._classify([t for t in trials if t.reason is None])
        self._generate([t for t in trials if t.reason is None])
        self._confirm([t for t in trials if t.reason is None])
        if plan.regenerate and self.samples:
            self._fill([t for t in trials if t.reason is None])
        for trial in trials:
            if trial.reason is None:
                self._choose(trial)
        self._judge([t for t in trials if t.reason is None])
        self._share.finish()
        return trials

    def _ask(self, pairs: Sequence[tuple[str, str]], step: str, of: int = 1) -> list[classifiers.Answer]:
        """Ask M; `of`: this is one of so many rounds of the step."""
        return self.model.answers(pairs, self._share.during(step, of * len(pairs)))

    def _classify(self, trials: list[Trial]) -> None:
        """M(p, h), and M(h, h): what the model makes of a text and itself."""
        for trial, answer in zip(
            trials, self._ask([(t.premise, t.hypothesis) for t in trials], "classify", 2), strict=True
        ):
            trial.predicted, trial.logits = answer.label, answer.logits
            if trial.counts_pair:
                _count(trial, answer)
            if answer.label is None:
                trial.reason = NO_ANSWER
                continue
            if not self.plan.only_correct or (trial.coarse and trial.correct):
                trial.held = answer.label
            if self.plan.only_correct and not trial.correct:
                trial.reason = WRONG
            elif trial.polarity == "negative" and trial.label == NEUTRAL:
                trial.reason = NO_RULE
        if self.plan.reflexive:
            for trial, answer in zip(
                trials, self._ask([(t.hypothesis, t.hypothesis) for t in trials], "classify", 2), strict=True
            ):
                trial.itself = answer.label
                if trial.counts_pair:
                    _count(trial, answer)

    def _generate(self, trials: list[Trial]) -> None:
        modes = ("beam", "diverse") if self.decodes else ("beam",)
        n = self.plan.candidates if self.decodes else 2 * self.plan.candidates
        requests = [Request(t.hypothesis, t.polarity == "positive", n, mode) for t in trials for mode in modes]
        answers = self.generator.statements(requests, self._share.during("generate", len(requests)))
        for i, trial in enumerate(trials):
            parts = answers[i * len(modes) : (i + 1) * len(modes)]
            texts = [text for part in parts for text in part or []]
            trial.candidates = len(texts)
            made_by = self._made_by(requests[i * len(modes) : (i + 1) * len(modes)], parts)
            trial.statements = [
                Statement(text, made_by=made_by.get(text, "")) for text in distinct(texts, trial.hypothesis)
            ]
            why_none = getattr(self.generator.model, "why_none", None)
            if all(part is None for part in parts):
                trial.reason = NO_GENERATION
            elif not trial.statements and callable(why_none):
                trial.reason = why_none(trial.hypothesis)

    def _made_by(self, requests: Sequence[Request], answers: Sequence[list[str] | None]) -> dict[str, str]:
        """statement → the rule or the prompt that made it, the first where several did."""
        found: dict[str, str] = {}
        for request, texts in zip(requests, answers, strict=True):
            known, otherwise = makers(self.generator.model, request), maker_of_all(self.generator.model, request)
            for text in texts or ():
                found.setdefault(text.strip(), known.get(text.strip(), otherwise))
        return found

    def _confirm(self, trials: list[Trial]) -> None:
        """M(h, g) and M(g, h) of every distinct statement."""
        self._label([(t, s) for t in trials for s in t.statements])

    def _label(self, items: list[tuple[Trial, Statement]], rounds: int = 2) -> None:
        forth = self._ask([(t.hypothesis, s.text) for t, s in items], "confirm", rounds)
        back = self._ask([(s.text, t.hypothesis) for t, s in items], "confirm", rounds)
        for (trial, statement), a, b in zip(items, forth, back, strict=True):
            statement.forth, statement.back = a.label, b.label
            _count(trial, a, b)
            wanted = target(trial.polarity)
            statement.accepted = a.label == wanted and (self.plan.directions == 1 or b.label == wanted)

    def _fill(self, trials: list[Trial]) -> None:
        """New statements for the pairs that are short of them, one try of all such pairs at a time."""
        open_ones: list[tuple[Trial, Filling]] = []
        for trial in trials:
            accepted = [s.text for s in trial.statements if s.accepted]
            filling = Filling(
                trial.hypothesis, [s.text for s in trial.statements], accepted, self.plan.keep, self.plan.tries
            )
            if filling.wants_more:
                open_ones.append((trial, filling))
        while open_ones:
            requests = [
                Request(t.hypothesis, t.polarity == "positive", 1, "sample", self.plan.seed + f.calls)
                for t, f in open_ones
            ]
            fresh: list[tuple[Trial, Statement]] = []
            for (trial, filling), texts in zip(open_ones, self.generator.statements(requests), strict=True):
                text = texts[0] if texts else ""
                if filling.offer(text):
                    statement = Statement(text.strip(), made_by=maker_of_all(self.generator.model, requests[0]))
                    trial.statements.append(statement)
                    fresh.append((trial, statement))
                trial.candidates += bool(texts)
                trial.regenerated += 1
            self._label(fresh, rounds=1_000)  # a small part of the step, whatever it takes
            by_trial = {id(trial): filling for trial, filling in open_ones}
            for trial, statement in fresh:
                if statement.accepted:
                    by_trial[id(trial)].accept(statement.text)
            open_ones = [(t, f) for t, f in open_ones if f.wants_more]

    def _choose(self, trial: Trial) -> None:
        accepted = [s for s in trial.statements if s.accepted]
        if len(accepted) >= self.plan.keep:
            for statement in accepted[: self.plan.keep]:
                statement.chosen = True
        else:
            trial.reason = TOO_FEW if len(trial.statements) < self.plan.keep else REFUSED

    def _judge(self, trials: list[Trial]) -> None:
        """M(p, g) of the chosen statements."""
        items = [(t, s) for t in trials for s in t.chosen]
        for (trial, statement), answer in zip(
            items, self._ask([(t.premise, s.text) for t, s in items], "judge"), strict=True
        ):
            statement.label, statement.logits = answer.label, answer.logits
            _count(trial, answer)
            if answer.label is None:
                trial.reason = NO_JUDGEMENT
        for trial in trials:
            if trial.reason is not None:
                for statement in trial.statements:
                    statement.chosen = False
        embed = getattr(self.model.model, "embeddings", None)
        if self.plan.cosine and callable(embed):
            judged = [t for t in trials if t.chosen]
            texts = list(dict.fromkeys(x for t in judged for x in (t.hypothesis, *(s.text for s in t.chosen))))
            vectors = dict(zip(texts, np.asarray(embed(texts), dtype=np.float64), strict=True)) if texts else {}
            for trial in judged:
                h = vectors[trial.hypothesis]
                trial.cosine = tuple(_cosine_distance(h, vectors[s.text]) for s in trial.chosen)


def _count(trial: Trial, *answers: classifiers.Answer) -> None:
    """Answers of M, and those from which no label could be read; a call that failed is no answer."""
    for answer in answers:
        trial.answers += answer.failure is None
        if answer.label is None and answer.failure is None:
            trial.unread[answer.unread or Unreadable.NONE] += 1


def _cosine_distance(a: np.ndarray, b: np.ndarray) -> float:
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return 1.0 - float(a @ b) / scale if scale else float("nan")


def in_batches(pairs: Iterator[Pair], size: int) -> Iterator[list[Pair]]:
    batch: list[Pair] = []
    for pair in pairs:
        batch.append(pair)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
