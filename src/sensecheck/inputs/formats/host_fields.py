"""What readers of evaluation hosts' logs share: fields of an example, numbers that are verdicts, files beside a log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sensecheck.inputs.errors import SKIP_HINT, InputError, escaped, shown
from sensecheck.inputs.formats.reading import document
from sensecheck.inputs.formats.registry import Selection, in_a_line
from sensecheck.inputs.opening import Source
from sensecheck.inputs.places import PLACE, RECORD
from sensecheck.inputs.reasons import Reason

Fields = Mapping[str, Any]

_READ_FROM_LOGS = frozenset(
    (
        "id", "prediction", "gold", "correct", "confidence", "probabilities", "label", "responses", "sample", "epoch",
        "token_logprobs", "stop_logprobs", "mean_logprob", "tokens_counted", "gives_no_logprobs", "tokens_not_its_text",
        "unscored_because", "unit", "cluster", "weight", "scored", "reason", PLACE, RECORD,
    )
)  # fmt: skip
"""Names that mean something in rows made of logs: an example's own field of such a name gets a prefix."""

_LONGEST_INTEGER = 1 << 63
_NEARLY = 1e-6


def with_fields(row: Mapping[str, Any], fields: Any, prefix: str, taken: Iterable[str] = ()) -> dict[str, Any]:
    """The row with the single values of an example's own record, under their own names where these are free."""
    together = dict(row)
    for name, value in fields.items() if isinstance(fields, Mapping) else ():
        held = single(value)
        if held is None or not isinstance(name, str):
            continue
        free = name not in row and name not in _READ_FROM_LOGS and name not in taken
        together.setdefault(name if free else f"{prefix}{name}", held)
    return together


def single(value: Any) -> str | int | float | None:
    """A value that a table's cell can hold; nothing for lists, objects and numbers that are none."""
    value = unwrapped(value)
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < _LONGEST_INTEGER else str(value) if value.bit_length() < 10_000 else None
    return value if isinstance(value, float) and math.isfinite(value) else None


def unwrapped(value: Any) -> Any:
    """NumPy's and torch's single values as Python's."""
    if isinstance(value, str | int | float | list | tuple | Mapping | None):
        return value
    if callable(getattr(value, "item", None)) and getattr(value, "shape", None) == ():
        return value.item()
    return value


def spelled(value: Any, name: str) -> str:
    """A value as text; Python writes out no integer of over 4,300 digits."""
    try:
        return str(unwrapped(value))
    except (ValueError, RecursionError):
        raise InputError(
            field=name, expected="a text or a number that can be written out", got=shown(value, 60), hint=SKIP_HINT,
            reason=Reason.BAD_RECORD,
        ) from None  # fmt: skip


def number(value: Any) -> float | None:
    """A finite number or a mark as a number; nothing for anything else."""
    value = unwrapped(value)
    if isinstance(value, bool | int | float):
        try:
            converted = float(value)
        except OverflowError:
            return None
        return converted if math.isfinite(converted) else None
    return None


def verdict(value: Any) -> float | None:
    """A number from 0 (wrong) to 1 (right); nothing for anything else."""
    found = number(value)
    return found if found is not None and 0 <= found <= 1 else None


def verdict_names(scores: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Of metrics by name, one mapping an example: those that are verdicts, and those whose values are something else.

    A value that is absent or not a number at all (null, NaN) is one that nobody gave.
    """
    good: dict[str, bool] = {}
    for one in scores:
        for name, value in one.items():
            given = value is not None and not _is_nan(value)
            good[name] = good.get(name, True) and (not given or verdict(value) is not None)
    known = {name for one in scores for name, value in one.items() if verdict(value) is not None}
    right = [name for name, well in good.items() if well and name in known]
    return right, [name for name in good if name not in right]


def _is_nan(value: Any) -> bool:
    value = unwrapped(value)
    return isinstance(value, float) and math.isnan(value)


def picked(
    selection: Selection,
    what: Literal["filter", "scorer"],
    names: Sequence[str],
    path: str,
    preferred: Sequence[str] = (),
    *,
    several: bool = False,
) -> str:
    """The filter or scorer that is read; of several logs that are read together, the signature names all.

    several: whether there are such; then one that has only one filter is read by it, whatever filter is meant for the
    others. Another verdict than the named one is never read.
    """
    before = selection.method.get(what)
    given = selection.filter if what == "filter" else selection.scorer
    if what == "filter" and several and len(names) == 1 and given != names[0]:
        found = selection.method[what] = names[0]
    else:
        found = selection.pick(what, names, path, next((name for name in preferred if name in names), ""))
    if before is not None and found not in str(before).split("+"):
        selection.method[what] = f"{before}+{found}"
    return found


def to_choose(selection: Selection, what: Literal["filter", "scorer"], names: Sequence[str]) -> None:
    """Tell who only looks what there is, and what is to be chosen."""
    if len(names) > 1:
        note(selection, f"several {what}s: {in_a_line(names)} (--{what})")
    elif names:
        note(selection, f"{what}: {in_a_line(names)}")


def note(selection: Selection, *sentences: str) -> None:
    """Say it once, however many files it is true of."""
    selection.notes += [one for one in sentences if one and one not in selection.notes]


def beside(path: str, name: str) -> Any:
    """The JSON document of this name in the folder of a file; nothing where there is none that can be read."""
    place = Path(path).parent / name if path else None
    try:
        if place is None or not place.is_file():
            return None
        return document(Source(str(place), path=place), "a JSON document")
    except (InputError, OSError, ValueError):
        return None


def agreement(name: str, metric: str, theirs: Any, their_n: Any, ours: float | None, n: int) -> str:
    """What is said of a host's own figure beside ours."""
    figure = number(theirs)
    if figure is None or ours is None:
        return ""
    counted = number(their_n)
    same_n = counted is None or counted == n
    told = f"{in_a_line([metric])} {figure:.4f}" + ("" if counted is None else f" over {int(counted):,}")
    if same_n and abs(figure - ours) <= _NEARLY:
        return f"agrees with {escaped(name)}: {told}"
    return f"differs from {escaped(name)}, which says {told}: here it is {ours:.4f} over {n:,}"


def even_golds(golds: Sequence[str | list[str] | None], *, several: bool = False) -> list[str | list[str] | None]:
    """Texts, or lists of them where any is a list: a column holds one kind. Of several logs, always lists."""
    if not several and not any(isinstance(gold, list) for gold in golds):
        return list(golds)
    return [[gold] if isinstance(gold, str) else gold for gold in golds]


def mean(values: Iterable[float | None]) -> tuple[float | None, int]:
    known = [value for value in values if value is not None]
    return (math.fsum(known) / len(known) if known else None), len(known)


def placed(error: InputError, path: str, **where: int) -> InputError:
    """The error with its file and line or record."""
    return InputError(**{**error.parts(), "path": path or None, **where})
