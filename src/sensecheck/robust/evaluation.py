"""Does the NLI model obey the logic of its own labels?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import polars as pl

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.opening import identity
from sensecheck.models import classifiers, generators
from sensecheck.models.calls import CallCache
from sensecheck.models.probe import probe
from sensecheck.models.revisions import of_text
from sensecheck.report.question import Question, slicings
from sensecheck.report.result import Result, conduct
from sensecheck.robust import figures
from sensecheck.robust.measure import LABELS, examples, funnel, histograms, marks, measurements
from sensecheck.robust.pipeline import Pair, Pipeline, Plan, in_batches
from sensecheck.robust.plots import plots
from sensecheck.robust.records import Pairs
from sensecheck.robust.statements import KEEP
from sensecheck.robust.systems import Access, Asking, classifier, faults_told
from sensecheck.robust.systems import generator as generator_of
from sensecheck.runs.collecting import Batch
from sensecheck.runs.directory import RunDirectory
from sensecheck.statistics.figure import IntervalOptions

__all__ = ["QUESTION", "evaluate"]

BATCH_PAIRS = 256
CALLS = "calls.sqlite"
CANDIDATES = 14
_LONGEST_SETTINGS = 100


def _verdict(result: Result) -> list[str]:
    said = []
    try:
        strict, inequal, covered = result["strictly_inequal"], result["inequal"], result["coverage"]
    except KeyError:
        return []
    if not isinstance(strict.value, float) or not isfinite(strict.value):
        return ["No triangle could be judged: see where the pairs were lost in the funnel."]
    said.append(
        f"{strict.value:.1%} of {strict.n:,} judged pair trials break the logic of the model's own labels, "
        f"{inequal.value:.1%} with the opposite label."
    )
    if isinstance(covered.value, float) and covered.value < 0.5:
        said.append(f"Only {covered.value:.0%} of the eligible pairs could be judged: the rates speak of those.")
    if isinstance(strict.low, float) and strict.n < 50:
        said.append("Fewer than 50 judged pairs: read the intervals, not the values.")
    return said


def _example_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """A triangle to read: the three texts, and what the model said along each side."""
    pages = []
    for row in frame.iter_rows(named=True):
        held = row.get("label", "")
        gold = row.get("gold") or held
        predicted = row.get("predicted")
        told = LABELS[predicted] if predicted is not None else "no label"
        parts: list[dict[str, Any]] = [
            {"label": "premise", "spans": [[row.get("premise") or "", ""]]},
            {
                "label": "hypothesis",
                "spans": [[row.get("hypothesis") or "", ""], [f"  M(p, h): {told}, gold: {gold}", "muted"]],
            },
        ]
        lines = []
        texts, said = row.get("statement") or [], row.get("said") or []
        stages = row.get("stage") or ["judged"] * len(texts)
        forth, back = row.get("forth") or [None] * len(texts), row.get("back") or [None] * len(texts)
        for text, label, stage, a, b in zip(texts, said, stages, forth, back, strict=False):
            if stage != "judged" or label is None:
                continue
            inequal, strict = marks(LABELS.index(held), row["polarity"], label) if held in LABELS else (False, False)
            verdict = "opposite label" if inequal else "off the expected label" if strict else "kept"
            lines.append([text, _name(a), _name(b), LABELS[label], verdict])
        if lines:
            parts.append(
                {
                    "label": "statements",
                    "head": ["statement", "M(h, g)", "M(g, h)", "M(p, g)", "triangle"],
                    "rows": lines,
                }
            )
        else:
            parts.append({"label": "not judged", "spans": [[str(row.get("left") or row.get("reason") or ""), "muted"]]})
        pages.append({"title": f"{row['id']} · {row.get('rule', row['polarity'])}", "parts": parts})
    return pages


def _name(label: int | None) -> str:
    return "–" if label is None else LABELS[label]


QUESTION = Question(
    name="robust",
    asks="Does the NLI model obey the logic of its own labels?",
    statistics=figures.statistics,
    headline=("strictly_inequal", "inequal", "statement_violation", "accuracy", "coverage"),
    outcome="strict",
    outcome_words=("keeps the logic", "breaks the logic"),
    given=("premise", "hypothesis"),
    plots=plots,
    example_page=_example_page,
    verdict=_verdict,
    ignored_in_comparison=frozenset({"ci"}),
)

DEFAULTS = {
    "polarity": "both",
    "directions": "2",
    "keep": str(KEEP),
    "candidates": str(CANDIDATES),
    "regenerate": "15",
    "distances": "yes",
    "cosine": "no",
    "only-correct": "yes",
    "seed": "12345",
}


def evaluate(
    data: Any,
    *,
    model: Any = "small",
    generator: Any = "rules",
    polarity: Literal["both", "positive", "negative"] = "both",
    directions: Literal[1, 2] = 2,
    keep: int = KEEP,
    candidates: int = CANDIDATES,
    regenerate: bool = True,
    only_correct: bool = True,
    cosine: bool = False,
    wordnet: bool = False,
    seed: int = 12345,
    access: Access | None = None,
    cache: str | os.PathLike[str] | None = None,
    parity: Literal["breaknli", "breaknli-april"] | None = None,
    check_labels: bool = True,
    columns: Mapping[str, str] | None = None,
    slices: Sequence[str | Sequence[str]] = (),
    limit: int | None = None,
    skip_bad: bool = False,
    options: IntervalOptions | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    system: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Inequality rates of an NLI model.

    `data` is a table of pairs (premise, hypothesis, label): path, glob, list of paths or a table in memory. `model` is
    the model under test and `generator` makes the statements; both may be names, URLs, files, functions or objects.
    Every call to either is kept in `cache` (default: calls.sqlite inside `out`), so that nothing is asked twice.
    """
    if keep < 1 or candidates < 1:
        raise InputError(
            field="keep, candidates", expected="at least 1", got=f"{keep}, {candidates}", reason="bad_option"
        )
    by = slicings(slices)
    own = {"polarity", "label", "rule", "left"}
    extra_columns = [c for c in dict.fromkeys(c for s in by for c in s) if c not in own]
    pairs = Pairs(data, columns=columns, slices=extra_columns, limit=limit, skip_bad=skip_bad)
    chosen_access = access or Access()
    asking: Asking | None = None
    if parity is not None:
        from sensecheck.robust.parity import ASKING, VERSIONS

        if parity not in VERSIONS:
            raise InputError(field="parity", expected=", ".join(VERSIONS), got=shown(parity), reason="bad_option")
        settled = {
            "--directions": directions != 2, "--keep": keep != KEEP, "--candidates": candidates != CANDIDATES,
            "--no-regenerate": not regenerate, "--all-pairs": not only_correct, "--cosine": cosine, "--slice": bool(by),
        }  # fmt: skip
        if any(settled.values()):
            given = ", ".join(option for option, set_ in settled.items() if set_)
            raise InputError(f"--as {parity} does what the original does: {given} cannot be given with it",
                             hint="Leave it out, or leave out --as.", reason="bad_option")  # fmt: skip
        asking = ASKING
    m = classifier(model, chosen_access, asking)
    g = generator_of(generator, chosen_access, wordnet)
    if cosine and not callable(getattr(m, "embeddings", None)):
        raise InputError(
            f"--cosine: {m.identity.model} gives no embeddings",
            hint="Leave it out, or take a Hugging Face sequence classifier as the model.",
            reason="bad_option",
        )
    plan = Plan(
        ("positive", "negative") if polarity == "both" else (polarity,),
        directions,
        candidates,
        keep,
        regenerate=regenerate,
        only_correct=only_correct,
        cosine=cosine,
        seed=seed,
    )
    name = {"name": system or m.identity.model}
    described = {
        **name,
        "model": m.identity.model,
        "revision": m.identity.revision or "unknown",
        "settings": _one_line(m.identity.prompt),
    }
    made_by = {
        "generator": g.identity.model,
        "generator-revision": g.identity.revision or "unknown",
        "generator-settings": _one_line(g.identity.prompt),
    }
    place = Path(cache) if cache is not None else Path(out) / CALLS if out is not None else None
    if parity is not None:
        from sensecheck.robust.parity import evaluate_as_original

        read = list(pairs)
        begun: RunDirectory | None = None
        if out is not None:
            # Begun before the first call: what is answered is kept there, and a stopped run can be taken up.
            asked_for = {
                "question": "robust", "as": parity, "polarity": polarity, "model": list(astuple(m.identity)), **made_by,
                "seed": seed, "limit": limit, "skip_bad": skip_bad, "columns": dict(columns or {}),
                "inputs": identity(data),
            }  # fmt: skip
            begun = RunDirectory.begin(out, asked_for, resume=resume, overwrite=overwrite)
        with (
            CallCache(place) as calls,
            faults_told(calls, "--resume" if out is not None else "", "--out DIR"),
        ):
            result = evaluate_as_original(
                QUESTION,
                read,
                classifiers.Asked(m, calls),
                generators.Asked(g, calls),
                name=parity,
                polarities=plan.polarities,
                seed=seed,
                system=described,
                generator_method=made_by,
                inputs=pairs.inputs(),
            )
        if begun is not None:
            result.save_to(begun)
        return result

    notes: list[str] = []

    def batches(done: int) -> Iterator[Batch]:
        # Opened only now: the run directory is begun (and, with overwrite, cleared) before the first batch is asked
        # for.
        with CallCache(place) as calls, faults_told(calls, "--resume" if out is not None else "", "--out DIR"):
            asked, makes = classifiers.Asked(m, calls), generators.Asked(g, calls)
            if check_labels:
                found = probe(asked)
                if found.warning:
                    classes = getattr(m, "order", ())
                    advice = f"--label-order {found.label_order(classes)}" if len(classes) == 3 else "other label names"
                    notes.append(f"warning: {found.warning}; give it {advice} if that is so")
            work = Pipeline(asked, makes, plan, progress)
            for batch in islice(in_batches(iter(pairs), BATCH_PAIRS), done, None):
                trials = work.trials(batch)
                yield Batch(measurements(trials, extra_columns), examples(trials))
        notes.extend(_notes(m, pairs, asked, makes))

    def extra(result: Result) -> dict[str, Any]:
        frame = result.measurements
        steps_of = funnel(frame, keep, only_correct)
        for line in steps_of:
            steps = " → ".join(f"{line[step]:,} {step}" for step in line if step != "polarity")
            result.notes.append(f"funnel, {line['polarity']}: {steps}")
        result.notes.extend(note for note in notes if note not in result.notes)
        return {"funnel": steps_of, "distances": _histograms(result)}

    method = {
        "polarity": polarity,
        "directions": str(directions),
        "keep": str(keep),
        "candidates": str(candidates),
        "regenerate": str(plan.tries) if regenerate else "no",
        "only-correct": "yes" if only_correct else "no",
        **made_by,
        "distances": "yes",
        "cosine": "yes" if cosine else "no",
    }
    if regenerate and Pipeline.resamples(g):
        method["seed"] = str(seed)
    return conduct(
        QUESTION,
        batches,
        method=method,
        defaults=DEFAULTS,
        system=described,
        slices=by,
        options=options,
        out=out,
        resume=resume,
        overwrite=overwrite,
        inputs=pairs.inputs,
        notes=[],
        extra=extra,
        plan={
            "model": [m.identity.model, m.identity.revision, m.identity.prompt],
            "slices": by,
            "limit": limit,
            "skip_bad": skip_bad,
            "seed": seed,
            "inputs": identity(data),
            "columns": dict(columns or {}),
        },
    )


def _one_line(settings: str) -> str:
    """Settings for the signature: in full where they are short, otherwise their beginning and a digest of all."""
    line = " ".join(settings.split())
    return line if len(line) <= _LONGEST_SETTINGS else f"{line[:60]}… #{of_text(settings)}"


def _notes(m: Any, pairs: Pairs, asked: classifiers.Asked, makes: generators.Asked) -> Iterator[str]:
    yield from pairs.notes()
    who = m.identity
    yield f"model: {who.model}, revision {who.revision or 'unknown'}, {_one_line(who.prompt)}"
    card = getattr(m, "card", None)
    if card:
        scores = ", ".join(f"{value:.1%} on {name}" for name, value in card["accuracy"].items())
        yield f"the model is the small one that ships with sensecheck ({scores}): good for a first look, not for claims"
    cut = getattr(getattr(m, "truncated", None), "pairs", 0)
    if cut:
        yield f"{cut:,} pairs were as long as the model can read, or longer and were cut"
    halved = getattr(m, "halved", 0)
    if halved:
        yield f"{halved:,} batches did not fit in memory and were halved"
    for reason, count in asked.failures.items():
        yield f"{count:,} calls without an answer: {reason}"
    if asked.unread:
        yield f"{len(asked.unread):,} answers held no label that could be read, such as {shown(asked.example)}"
    if makes.failed:
        yield f"{makes.failed:,} calls to the generator without an answer"


def _histograms(result: Result) -> dict[str, dict[str, list[int]]]:
    if result.texts is None:
        return {}
    labels = zip(result.rows.batches(["id", "label"]), result.texts.batches(), strict=True)
    return histograms(texts.join(rows.select("id", "label"), on="id", how="inner") for rows, texts in labels)


def pairs_of(data: Any, **options: Any) -> list[Pair]:
    """The pairs of a file, in memory."""
    return list(Pairs(data, **options))
