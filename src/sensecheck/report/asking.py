"""What every question can be told: how to read, what to measure, what to keep. Written once, here.

A question's `evaluate` takes these as keywords (`**shared: Unpack[EveryQuestion]`) beside its own; editors complete
them, the command line and evaluation files offer them, `asked(shared)` checks them and fills in the defaults.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypedDict, TypeVar, cast

from sensecheck.inputs import half_characters
from sensecheck.inputs.addresses import Fetching, faults_told, is_address, plain, refuse_of_this_process
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.needs import NEEDS_NOTHING, Needs
from sensecheck.inputs.opening import identity, is_path
from sensecheck.inputs.reasons import Reason
from sensecheck.options import Option, Parameter, alternatives, described, flat_signature, parameters, takes_anything
from sensecheck.report.calls import at_addresses, by_name, here, named, written
from sensecheck.report.question import slicings
from sensecheck.report.repeats import check_repeat
from sensecheck.runs.shards import Shard, shard
from sensecheck.stages import READING, stage
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.table import Slice

_output = partial(Option, group="output")
_measured = partial(Option, group="what is measured")
_spread = partial(Option, group="several processes or machines")
FILES = Option("files or globs; - is standard input", metavar="FILE")
"""The first parameter of an `evaluate`, on the command line."""


def as_original(*names: str) -> Option:
    """The parameter `parity` of an `evaluate`, on the command line."""
    words = f"reproduce an original's figures, quirks included: {', '.join(names)}"
    return _measured(words, flag="--as", metavar="ORIGINAL")


class EveryQuestion(TypedDict, total=False):
    """Keywords of every question."""

    out: Annotated[
        str | os.PathLike[str] | None,
        _output("keep the run here: measurements, summary.json, report.html", metavar="DIR"),
    ]
    resume: Annotated[bool, _output("continue the interrupted run in --out", default=False)]
    overwrite: Annotated[bool, _output("replace the run in --out", default=False)]
    system: Annotated[str | None, _output("what to call the system in tables and reports", metavar="NAME")]
    slices: Annotated[
        str | Sequence[str | Sequence[str]],
        _measured(
            "figures for every value of a column; 'a×b' (or 'a*b') crosses two (repeatable)", flag="--slice",
            metavar="COLUMN", repeat=True, default=(),
        ),
    ]  # fmt: skip
    columns: Annotated[
        Mapping[str, str] | None,
        _measured("read NAME from the input's column COLUMN (repeatable)", metavar="NAME=COLUMN"),
    ]
    repeat: Annotated[
        str | None,
        _measured(
            "rows with the same id are samples of one example, told apart by this column: pass@k, flips, variance "
            "(by itself where they differ in sample or epoch)", metavar="COLUMN",
        ),
    ]  # fmt: skip
    gold: Annotated[
        Any,
        _measured("golds that stand in another file, of any format that is read; see --on", metavar="FILE"),
    ]
    on: Annotated[
        str | Mapping[str, str] | Sequence[str] | None,
        _measured(
            "the field by which --gold is joined; THEIRS=GOLDS where names differ; line: by place (default: a field "
            "that names the example in both, else by place)", metavar="KEY",
        ),
    ]  # fmt: skip
    input_format: Annotated[
        str,
        _measured("the files' format (default: recognised by content; `sensecheck formats` lists them)", metavar="NAME",
                  default="auto"),
    ]  # fmt: skip
    filter: Annotated[
        str | None,
        _measured(
            "of a log whose answers were filtered in several ways (lm-evaluation-harness): this one", metavar="NAME"
        ),
    ]
    scorer: Annotated[
        str | None,
        _measured("of a log with several verdicts on each answer (a scorer or metric of its host): this one",
                  metavar="NAME"),
    ]  # fmt: skip
    human: Annotated[
        Any,
        _measured("labels of people (`sensecheck label`), by which the share of right rows is corrected (repeatable)",
                  metavar="FILE", repeat=True),
    ]  # fmt: skip
    limit: Annotated[int | None, _measured("only the first N records", metavar="N", at_least=1)]
    skip_bad: Annotated[bool, _measured("count bad records as unscored instead of stopping", default=False)]
    options: Annotated[IntervalOptions | None, Option("how intervals are made", group="intervals")]
    shard: Annotated[
        str | tuple[int, int] | Shard | None,
        _spread(
            "measure only the I-th of N parts, into --out; `sensecheck merge` makes one run of all (slurm: the task of "
            "a job array)", metavar="I/N",
        ),
    ]  # fmt: skip
    engine: Annotated[
        Any,
        _spread(
            "measure parts at once: processes[:N], dask[:N] (on this machine), or tcp://HOST:8786 (a Dask scheduler)",
            metavar="ENGINE",
        ),
    ]  # fmt: skip
    progress: Callable[[int], None] | None
    """Called with the number of rows that were measured since the last call."""


class WeighedRows(EveryQuestion, total=False):
    """Keywords of questions whose rows may have weights and clusters of the user's."""

    weight: Annotated[str | None, _measured("how much each row counts", metavar="COLUMN")]
    cluster: Annotated[
        str | None, _measured("rows with the same value belong together and are resampled together", metavar="COLUMN")
    ]


@dataclass(frozen=True)
class Asked:
    """The shared keywords, checked."""

    columns: dict[str, str] = field(default_factory=dict)
    """Our name of a column → the input's."""
    slices: tuple[Slice, ...] = ()
    weight: str | None = None
    cluster: str | None = None
    repeat: str | None = None
    """The column that tells the samples of one example apart."""
    input_format: str = "auto"
    limit: int | None = None
    skip_bad: bool = False
    intervals: IntervalOptions = field(default_factory=IntervalOptions)
    out: Path | None = None
    resume: bool = False
    overwrite: bool = False
    system: str | None = None
    human: Any = None
    """Labels, or the files that hold them."""
    progress: Callable[[int], None] | None = None
    shard: Shard | None = None
    """The part that is measured, where it is not all."""
    mended: half_characters.Tally = field(default_factory=half_characters.Tally)
    """What reading had to replace."""

    def __post_init__(self) -> None:
        half_characters.count_in(self.mended)

    @property
    def sliced(self) -> list[str]:
        """The columns that slices are made of."""
        return list(dict.fromkeys(column for crossing in self.slices for column in crossing))

    @property
    def carried(self) -> list[str]:
        """The columns of the input that the measurements hold by their names: those of slices, and of samples."""
        return list(dict.fromkeys([*self.sliced, *filter(None, [self.repeat])]))

    @property
    def wanted(self) -> list[str]:
        """The columns of the input that slices, samples, weights and clusters need."""
        return list(dict.fromkeys([*self.carried, *filter(None, [self.weight, self.cluster])]))

    def also_by(self, *columns: str) -> Asked:
        """The same with one more slice, unless it is there."""
        return self if columns in self.slices else replace(self, slices=(*self.slices, columns))

    def plan(self, data: Any) -> dict[str, Any]:
        """What must be the same for an interrupted run to be resumed."""
        return {
            "inputs": identity(data),
            "columns": self.columns,
            "slices": self.slices,
            "weight": self.weight,
            "cluster": self.cluster,
            "repeat": self.repeat,
            "input_format": self.input_format,
            "limit": self.limit,
            "skip_bad": self.skip_bad,
        }

    def name_of(self, data: Any) -> str:
        """What the system is called: as the user says, or by its file."""
        return self.system or file_name(data)


def asked(shared: EveryQuestion) -> Asked:
    """The shared keywords with their defaults, in the forms that the rooms work with.

    >>> asked({"slices": "model×hardness", "columns": {"gold": "sql"}}).wanted
    ['model', 'hardness']
    """
    given: dict[str, Any] = dict(shared)
    check_repeat(given.get("repeat"))
    out = given.get("out")
    return Asked(
        columns=dict(given.get("columns") or {}),
        slices=tuple(slicings(given.get("slices", ()) if given.get("slices") is not None else ())),
        weight=_column(given, "weight"),
        cluster=_column(given, "cluster"),
        repeat=_column(given, "repeat"),
        input_format=given.get("input_format") or "auto",
        limit=given.get("limit"),
        skip_bad=bool(given.get("skip_bad")),
        intervals=given.get("options") or IntervalOptions(),
        out=None if out is None else Path(out),
        resume=bool(given.get("resume")),
        overwrite=bool(given.get("overwrite")),
        system=given.get("system"),
        human=given.get("human"),
        progress=given.get("progress"),
        shard=given.get("shard"),
    )


def _column(given: Mapping[str, Any], name: str) -> str | None:
    column: str | None = given.get(name)
    if column == "":
        raise InputError(field=name, expected="a column", got=shown(column), reason=Reason.BAD_OPTION)
    return column


def file_name(data: Any) -> str:
    """A short name for the data: its file's, or `system` for what is in memory.

    >>> file_name(["runs/a.jsonl", "runs/b.jsonl"])
    'a.jsonl and 1 more'
    """
    if isinstance(data, Gathered):
        data = data.path or [str(path) for path in data.files] or data
    if is_path(data):
        text = os.fspath(data)
        return "stdin" if text == "-" else Path(text).name or text
    if isinstance(data, list | tuple) and data and all(is_path(item) for item in data):
        first = file_name(data[0])
        return first if len(data) == 1 else f"{first} and {len(data) - 1} more"
    return "system"


_P = ParamSpec("_P")
_R = TypeVar("_R")


def evaluator(
    *,
    only_as_original: Iterable[str] = (),
    never_as_original: Iterable[str] = (),
    needs: Needs | None = NEEDS_NOTHING,
    once_called: Mapping[str, tuple[str, Sequence[str]]] | None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Makes an `evaluate`: its help lists every keyword, and one that it does not know is refused.

    only_as_original: parameters that have a meaning only with `parity`. never_as_original: those that have none then.
    Either is refused where it would do nothing: a figure must not look as if it had been heeded.
    needs: how its records are gathered from files and golds. Without it the data come as they were given, unless the
    user names golds or a format; with None always: it hands the options on to another `evaluate`.
    once_called: a parameter's former name → its present one, and the values that are meant.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def evaluate(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            known = parameters(function)
            for former, (present, values) in (once_called or {}).items():
                if isinstance(kwargs.get(former), str) and kwargs[former] in values:
                    kwargs[present] = kwargs.pop(former)
            _refuse_unknown(function, kwargs, known)
            kwargs.update(_truths(kwargs, known))
            _refuse_values(kwargs, known)
            again: Callable[..., _R] = evaluate
            read_afar = at_addresses(function, args, kwargs)
            if is_address(kwargs.get("out")):
                from sensecheck.report.keeping import measured_at

                return cast("_R", measured_at(evaluate, by_name(function, args, kwargs)))
            if kwargs.get("engine") is not None:
                from sensecheck.report.spreading import spread

                call = named(function, args, kwargs)
                refuse_of_this_process(call)
                return cast("_R", spread(evaluate, call))
            kwargs.pop("engine", None)
            if not isinstance(kwargs.get("shard"), Shard | None):
                call = named(function, args, kwargs)
                refuse_of_this_process(call)
                return again(**{**call, "shard": _shard(call)})
            if read_afar is not None:
                with Fetching() as fetch, faults_told():
                    return again(**here(function, read_afar, fetch))
            kwargs["out"] = plain(kwargs.get("out"))
            parity = kwargs.get("parity")
            if parity is None:
                names = " or ".join(originals(known["parity"])) if "parity" in known else ""
                _refuse_idle(kwargs, known, only_as_original, f"is a choice within the original: it needs --as {names}")
            else:
                why = f"has no meaning with --as {parity}: leave one out"
                # No original knows of samples or of golds elsewhere; only calibrated's reads two kinds of files.
                others = (
                    "repeat",
                    "human",
                    "gold",
                    "on",
                    "filter",
                    "scorer",
                    *(() if needs is not None and needs.own else ("input_format",)),
                )
                _refuse_idle(kwargs, known, [*never_as_original, *(name for name in others if name in known)], why)
            if parity is None and needs is not None and (needs is not NEEDS_NOTHING or _asks_to_gather(kwargs)):
                return _with_gathered(function, needs, args, kwargs)
            return function(*args, **kwargs)

        evaluate.__signature__ = flat_signature(function)  # type: ignore[attr-defined]
        evaluate.__doc__ = f"{function.__doc__ or ''}\n\n    Options:\n\n{described(function)}\n    "
        return evaluate

    return decorate


def _shard(call: Mapping[str, Any]) -> Shard:
    """The shard that is asked for, with the call that its manifest keeps."""
    asked_for = shard(call["shard"])
    if call.get("out") is None:
        raise InputError(
            "a shard (--shard, shard=) is kept in a directory of its own: name one with --out (out=)",
            reason=Reason.BAD_OPTION,
        )
    return replace(asked_for, call=written(call))


def _asks_to_gather(given: Mapping[str, Any]) -> bool:
    named = given.get("input_format") not in (None, "auto")
    return named or any(given.get(name) is not None for name in ("gold", "on", "filter", "scorer"))


def _with_gathered(function: Callable[..., _R], needs: Needs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _R:
    """Call with the data as the question reads them."""
    data, rest = (args[0], args[1:]) if args else (kwargs.pop("data", None), ())
    gold, on = kwargs.pop("gold", None), kwargs.pop("on", None)
    picked = {name: kwargs.pop(name, None) for name in ("filter", "scorer")}
    mended = half_characters.Tally()
    half_characters.count_in(mended)
    if data is None:
        for name in ("gold", "filter", "scorer"):
            if {"gold": gold, **picked}[name] is not None:
                raise InputError(f"--{name} ({name}=) needs a file of predictions", reason=Reason.BAD_OPTION)
        return function(**kwargs)
    if needs.of_runs and kwargs.get("human") is not None:
        data = _of_a_run(data, {**kwargs, "gold": gold, "on": on}, kwargs)
    if gold is None and on is None and not _asks_to_gather(kwargs) and kwargs.get(needs.parted_by) is not None:
        return function(data, *rest, **kwargs)
    from sensecheck.inputs.formats.registry import Selection
    from sensecheck.inputs.gathering import gathered

    columns = dict(kwargs.get("columns") or {})
    own: dict[str, tuple[str]] = {}
    if gold is not None:
        # What only predictions bring is named as it is called in their file, and not in that of the golds.
        own = {ours: (columns.pop(ours),) for ours in needs.predicted if ours in columns}
        needs = replace(needs, predicted={**needs.predicted, **own})
    with stage(READING):
        data = gathered(
            data, needs, gold=gold, on=on, input_format=kwargs.get("input_format") or "auto",
            skip_bad=bool(kwargs.get("skip_bad")), samples=bool(kwargs.get("repeat")),
            selection=Selection(needs.question, **picked),
        )  # fmt: skip
    if isinstance(data, Gathered):
        if kwargs.get("limit") is not None:  # the host's own figure is of all records
            data.notes = [note for note in data.notes if not note.startswith(("agrees with ", "differs from "))]
        data.notes += mended.notes()
        if columns or kwargs.get("columns"):
            kwargs["columns"] = {ours: data.renamed.get(theirs, theirs) for ours, theirs in columns.items()}
            if gold is not None:
                data.method["columns"] = dict(sorted((kwargs["columns"] | {k: v[0] for k, v in own.items()}).items()))
    return function(data, *rest, **kwargs)


def _of_a_run(data: Any, given: Mapping[str, Any], kwargs: dict[str, Any]) -> Any:
    """The labelled rows of a run, where the data are one: its own confidences, and right as people say."""
    from sensecheck.labelling.confidence import STANDS_FOR, is_run, labelled_confidences

    if not is_run(data):
        return data
    for name in ("weight", "cluster", "gold", "on"):
        if given.get(name) is not None:
            raise InputError(
                f"--{name} ({name}=) has no meaning for the labels of a run: how its examples were drawn says how much "
                "each counts", reason=Reason.BAD_OPTION,
            )  # fmt: skip
    columns = dict(kwargs.pop("columns", None) or {})
    rows = labelled_confidences(data, kwargs.pop("human"), columns)
    kwargs["weight"] = STANDS_FOR
    if "cluster" in rows.names:
        kwargs["cluster"] = "cluster"
    return rows


def originals(parity: Parameter) -> tuple[str, ...]:
    """The originals that a question can reproduce, by the type of its parameter `parity`."""
    return typing.get_args(alternatives(parity.hint)[0])


def _refuse_unknown(function: Callable[..., Any], given: Iterable[str], known: Mapping[str, Parameter]) -> None:
    for name in given:
        if name not in known and not takes_anything(function):
            hint = did_you_mean(name, known)
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}. {hint}".rstrip())


def _truths(given: Mapping[str, Any], known: Mapping[str, Parameter]) -> dict[str, bool]:
    """Switches as true or false, whatever stood for them: a signature must not tell 0 from False."""
    return {n: bool(v) for n, v in given.items() if n in known and known[n].hint is bool and not isinstance(v, bool)}


def _refuse_values(given: Mapping[str, Any], known: Mapping[str, Parameter]) -> None:
    """What the declaration of an option rules out is refused from Python as it is on the command line."""
    for name, value in given.items():
        option = known[name].option if name in known else None
        if option is None or value is None or name == "parity":
            continue
        kind = alternatives(known[name].hint)[0]
        choices = typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else option.choices
        wrong = bool(choices) and not isinstance(value, list | tuple) and value not in choices
        too_small = option.at_least is not None and isinstance(value, int | float) and value < option.at_least
        no_number = kind is int and isinstance(value, bool)
        if wrong or too_small or no_number:
            expected = "a whole number" if no_number else f"at least {option.at_least}"
            expected = f"one of {', '.join(map(str, choices))}" if wrong else expected
            raise InputError(field=name, expected=expected, got=shown(value), reason=Reason.BAD_OPTION)


def _refuse_idle(given: Mapping[str, Any], known: Mapping[str, Parameter], idle: Iterable[str], why: str) -> None:
    for name in idle:
        if name in given and not _is_default(given[name], known[name]):
            raise InputError(f"{known[name].flag} {why}", reason=Reason.BAD_OPTION)


def _is_default(value: Any, parameter: Parameter) -> bool:
    if isinstance(value, list | tuple):
        return list(value) == list(parameter.default or ())
    return bool(value == parameter.default) or (value in ({}, "") and parameter.default is None)
