"""One run made of its shards: `sensecheck.merge`, and what engines end with.

The batches of all shards are put together in a new run, the answers that they were given in one file; then the question
is asked once more as of a run that was stopped after its last batch. So all that follows from measurements is made by
the code that makes it of one run, from the same rows in the same order.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any

from sensecheck import instruments
from sensecheck._version import __version__
from sensecheck.inputs.addresses import faults_told, is_address, plain
from sensecheck.models.calls import CallCache, Identity
from sensecheck.report.calls import read_back
from sensecheck.report.result import Result
from sensecheck.runs.directory import MEASURED, DifferentPlanError, RunDirectory, changes_told, damaged
from sensecheck.runs.shards import join
from sensecheck.runs.writing import MANIFEST, RunError
from sensecheck.stores.cache import ResultCache

_CALLS = ("calls.sqlite", "judge.sqlite")
"""Files of the calls to models; a run has one of them."""
_ANSWERS = {**dict.fromkeys(_CALLS, CallCache), "answers.db": ResultCache}
"""Files of kept answers in a run, and what reads them."""


def merge(
    shards: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], *, resume: bool = False,
    overwrite: bool = False, call: Mapping[str, Any] | None = None,
) -> Result:  # fmt: skip
    """One result of the shards of a run, whatever their order; nothing is measured or asked again.

    out: where the run is kept. resume: go on with a merging that was stopped. call: the keywords of `evaluate`, where
    they are not those that the shards name (data in memory).
    """
    if is_address(out):
        return _merged_at(str(out), shards, resume=resume, overwrite=overwrite, call=call)
    with faults_told():
        return _merged([RunDirectory.open(path) for path in shards], plain(out), resume, overwrite, call)


def _merged_at(
    address: str, shards: Sequence[str | os.PathLike[str]], *, resume: bool, overwrite: bool, call: Any
) -> Result:
    from sensecheck.report.keeping import kept

    if address.rstrip("/") in (str(path).rstrip("/") for path in shards):
        raise RunError(f"{address} is one of the shards; choose another address for --out (out=)")

    def make(folder: Path, resume: bool, overwrite: bool) -> Result:
        return merge(shards, folder, resume=resume, overwrite=overwrite, call=call)

    return kept(address, make, resume=resume, overwrite=overwrite)


def _merged(
    runs: Sequence[RunDirectory], out: str | os.PathLike[str], resume: bool, overwrite: bool,
    call: Mapping[str, Any] | None,
) -> Result:  # fmt: skip
    if Path(out).resolve() in (run.path.resolve() for run in runs):
        raise RunError(f"{out} is one of the shards; choose another directory for --out (out=)")
    _check(runs)
    manifest = runs[0].manifest()
    plan = {name: value for name, value in manifest["plan"].items() if name != "shard"}
    evaluate = instruments.room(str(plan["question"])).evaluate
    given = read_back(evaluate, manifest.get("call", {})) if call is None else dict(call)
    was_there = Path(out).exists()
    parts = _parts(runs, out)
    into = RunDirectory.begin(out, plan, resume=resume, overwrite=overwrite, marks={"parts": parts})
    for run in runs:
        take_answers(run.path, into.path)
    _add_spent([run.path for run in runs], into.path, parts["spent before"])
    join(runs, into)
    try:
        result: Result = evaluate(**{**given, "out": into.path, "resume": True})
    except DifferentPlanError as error:
        if not was_there:
            into.discard()
        raise RunError(
            f"{', '.join(str(run.path) for run in runs[:3])}{' …' if runs[3:] else ''} cannot be merged, as what they "
            f"measured has changed since: {error.changes}. Bring it back as it was, or measure all shards again"
        ) from None
    return result


def take_answers(source: Path, target: Path) -> None:
    for name, kind in _ANSWERS.items():
        if (source / name).is_file():
            with closing(kind(source / name)) as answers, closing(kind(target / name)) as kept:
                kept.take(answers)


# ---- what was spent on answers


def _parts(runs: Sequence[RunDirectory], out: str | os.PathLike[str]) -> dict[str, Any]:
    """What the manifest of a merged run says of its parts: what each spent, and what the answers that lay in the run
    had cost, model by model, before those of the parts came to them.
    """
    of = sorted([_numbered(run)[0], str(run.manifest().get("started"))] for run in runs)
    parts: dict[str, Any] = {"of": of, "cost": [run.manifest().get("cost") for run in runs]}
    return {**parts, "spent before": _spent_before(RunDirectory(out), of)}


def _spent_before(run: RunDirectory, of: Sequence[Sequence[Any]]) -> list[list[Any]]:
    known = run.manifest().get("parts") if run.is_run() else None
    if isinstance(known, dict) and known.get("of") == of:
        before = known.get("spent before")
        if isinstance(before, list) and all(map(_is_spent, before)):
            return before  # the same parts were merged before, and may have been added
    kept = _calls_in(run.path)
    if kept is None:
        return []
    with closing(CallCache(kept)) as calls:
        return [[*astuple(identity), counts] for identity, counts in calls.spent_on_all().items()]


def _calls_in(folder: Path) -> Path | None:
    return next((folder / name for name in _CALLS if (folder / name).is_file()), None)


def _is_spent(line: Any) -> bool:
    return (
        isinstance(line, list) and len(line) == 4 and all(isinstance(part, str) for part in line[:3])
        and isinstance(line[3], dict) and all(type(count) is int for count in line[3].values())
    )  # fmt: skip


def _add_spent(shards: Sequence[Path], into: Path, before: Sequence[Sequence[Any]]) -> None:
    """What was spent on all that is kept: the same sums however often a merging was stopped."""
    total: dict[Identity, Counter[str]] = defaultdict(Counter)
    for *who, counts in before:
        total[Identity(*who)].update(counts)
    for shard in shards:
        if (own := _calls_in(shard)) is not None:
            with closing(CallCache(own)) as calls:
                for identity, counts in calls.spent_on_all().items():
                    total[identity].update(counts)
    together = _calls_in(into)
    if total and together is not None:
        with closing(CallCache(together)) as kept:
            for identity, summed in total.items():
                kept.set_spent(identity, summed)


# ---- do they belong together?


def _check(runs: Sequence[RunDirectory]) -> None:
    """Refuse what is no shard, not finished, of another run, there twice or missing: one message that names it."""
    if not runs:
        raise RunError("no shard is named; give the directories of all: sensecheck merge shard-*/ --out RUN")
    numbers: dict[int, list[RunDirectory]] = defaultdict(list)
    count = _numbered(runs[0])[1]
    first = runs[0].manifest()
    for run in runs:
        number, its_count = _numbered(run)
        manifest = run.manifest()
        if manifest.get("state") != MEASURED:
            raise RunError(
                f"{run.path} (shard {number} of {its_count}) is unfinished; complete it first: the command that began "
                "it with --resume (resume=True)"
            )
        if its_count != count:
            raise RunError(
                f"{run.path} is shard {number} of {its_count}, and {runs[0].path} is one of {count}: they are shards "
                "of different runs"
            )
        if manifest.get("sensecheck") != __version__:
            raise RunError(
                f"{run.path} (shard {number} of {count}) was measured by sensecheck {manifest.get('sensecheck')}, and "
                f"this is {__version__}; merge with that version, or measure it again"
            )
        differences = changes_told(_whole(first), _whole(manifest))
        if differences:
            raise RunError(
                f"{run.path} (shard {number} of {count}) is of another run than {runs[0].path}: {differences}"
            )
        if run.completed() != runs[0].completed():
            raise damaged(run.path, f"it has {run.completed():,} batches, and {runs[0].path} {runs[0].completed():,}")
        run.measurements()  # compares every file with what the manifest says of it
        run.examples()
        numbers[number].append(run)
    for number, same in sorted(numbers.items()):
        if len(same) > 1:
            named = " and ".join(str(run.path) for run in same[:2])
            raise RunError(f"shard {number} of {count} is there twice: {named}; name it once")
    missing = [number for number in range(1, count + 1) if number not in numbers]
    if missing:
        some = ", ".join(map(str, missing[:8])) + (f" and {len(missing) - 8:,} more" if len(missing) > 8 else "")
        are = "shard is" if len(missing) == 1 else "shards are"
        raise RunError(f"of {count} shards, {len(numbers)} were given; the missing {are} {some}")


def _whole(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in manifest["plan"].items() if name != "shard"}


def _numbered(run: RunDirectory) -> tuple[int, int]:
    """The number of a shard, and of how many it is one."""
    manifest = run.manifest()
    marks = manifest.get("shard")
    if marks is None:
        raise RunError(f"{run.path} is a run of its own and no shard: there is nothing to merge it with")
    number, count = (marks.get(part) if isinstance(marks, dict) else None for part in ("number", "count"))
    if not (type(number) is int and type(count) is int and 1 <= number <= count):
        raise damaged(run.path / MANIFEST, "it does not say which shard this is")
    if not isinstance(manifest.get("plan"), dict) or "question" not in manifest["plan"]:
        raise damaged(run.path / MANIFEST, "it does not say what was measured")
    if not isinstance(manifest.get("call", {}), dict):
        raise damaged(run.path / MANIFEST, "it does not say how it was measured")
    return number, count
