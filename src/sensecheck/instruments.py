"""Looking questions up by name: the rooms of this package, and those of other installed packages.

A package brings a question of its own by an entry point in the group `sensecheck.instruments` that names a module with
`QUESTION` and `evaluate`. It then has a command, a report, comparisons and evaluation files, like a room of ours.
"""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from functools import cache
from importlib import metadata
from types import ModuleType

from sensecheck import rooms

GROUP = "sensecheck.instruments"
OWN: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module for module in vars(rooms).values() if isinstance(module, ModuleType)
}
"""Name → room, in the order in which they are shown."""


class InstrumentError(ValueError):
    """A question that is not there, or an installed package whose question cannot be used."""


class InstrumentWarning(UserWarning):
    """An installed package's question was left out."""


@cache
def plugins() -> dict[str, metadata.EntryPoint]:
    """Name → entry point of the questions that other packages bring; a name that is taken is left out."""
    points: dict[str, metadata.EntryPoint] = {}
    for point in metadata.entry_points(group=GROUP):
        if point.name in OWN or not point.name.isidentifier():
            why = "is the name of a question of sensecheck" if point.name in OWN else "is not a Python name"
            warnings.warn(f"{_origin(point)}: {point.name!r} {why}; it is left out", InstrumentWarning, stacklevel=2)
        elif point.name in points and points[point.name].value != point.value:
            first = _origin(points[point.name])
            warnings.warn(
                f"{_origin(point)}: {point.name!r} is provided by {first} too; it is left out", InstrumentWarning,
                stacklevel=2,
            )  # fmt: skip
        else:
            points[point.name] = point
    return points


def names() -> list[str]:
    """The names of all questions, without importing any of them."""
    return [*OWN, *plugins()]


def summary(name: str) -> str:
    """What a question asks, in one line, without importing what answers it."""
    if name in OWN:
        return str(OWN[name].ASKS)
    point = plugins()[name]
    words = point.dist.metadata["Summary"] if point.dist is not None and "Summary" in point.dist.metadata else ""
    return f"{words or 'a question'} ({_origin(point)})"


def room(name: str) -> ModuleType:
    """The module of a question, with `QUESTION` and `evaluate`."""
    if name in OWN:
        return OWN[name]
    if name not in plugins():
        close = get_close_matches(name, names(), n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Choose from: {', '.join(names())}."
        raise InstrumentError(f"there is no question {name!r}. {hint}")
    point = plugins()[name]
    try:
        module = point.load()
    except Exception as error:  # whatever another package does when it is imported
        raise InstrumentError(_broken(point, f"{type(error).__name__}: {error}")) from error
    for part in ("QUESTION", "evaluate"):
        if not hasattr(module, part):
            raise InstrumentError(_broken(point, f"{point.value} has no {part}"))
    if getattr(module.QUESTION, "name", None) != name:
        raise InstrumentError(_broken(point, f"its QUESTION is not called {name!r}"))
    assert isinstance(module, ModuleType)
    return module


def available() -> list[str]:
    """The questions that can be asked; one that is broken is named in a warning and left out."""
    usable = []
    for name in names():
        try:
            room(name)
        except InstrumentError as error:
            warnings.warn(f"{error}; it is left out", InstrumentWarning, stacklevel=2)
        else:
            usable.append(name)
    return usable


def _origin(point: metadata.EntryPoint) -> str:
    return f"the package {point.dist.name}" if point.dist is not None else "an installed package"


def _broken(point: metadata.EntryPoint, why: str) -> str:
    return f"the question {point.name!r} of {_origin(point)} cannot be used: {why}"
