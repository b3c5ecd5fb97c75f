"""Looking questions up by name: the rooms of this package, and those of other installed packages.

A package brings a question of its own by an entry point in the group `sensecheck.instruments` that names a module with
`QUESTION` and `evaluate`. It then has a command, a report, comparisons and evaluation files, like a room of ours.
"""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from types import ModuleType

import sensecheck
from sensecheck import rooms
from sensecheck._version import __version__

GROUP = "sensecheck.instruments"
OWN: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module for module in vars(rooms).values() if isinstance(module, ModuleType)
}
"""Name → room, in the order in which they are shown."""
BESIDE = {"agree": "sensecheck.labelling.agreement"}
"""What is asked of the runs of questions, and has figures, runs and pages as they have."""


class InstrumentError(ValueError):
    """A question that is not there, or an installed package whose question cannot be used."""


class InstrumentWarning(UserWarning):
    """An installed package's question was left out."""


@cache
def plugins() -> dict[str, metadata.EntryPoint]:
    """Name → entry point of the questions that other packages bring; a name that is taken is left out."""
    points: dict[str, metadata.EntryPoint] = {}
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: (point.name, _origin(point))):
        if why := _unusable(point.name):
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


def _unusable(name: str) -> str:
    """Why no question can have this name, or nothing."""
    if not name.isidentifier():
        return "is not a Python name"
    if name in OWN or name in BESIDE:
        return "is the name of a question of sensecheck"
    modules = (f"sensecheck.{name}", f"sensecheck.cli.{name}")
    if name in (*sensecheck.__all__, "help") or any(find_spec(module) is not None for module in modules):
        return "is a name that sensecheck uses itself"
    return ""


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
    if name in BESIDE:
        return import_module(BESIDE[name])
    if name not in plugins():
        close = get_close_matches(name, names(), n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Choose from: {', '.join(names())}."
        raise InstrumentError(
            f"there is no question {name!r}. {hint} A question of another package is there once that is installed."
        )
    point = plugins()[name]
    try:
        module = point.load()
    except (Exception, SystemExit) as error:  # whatever another package does when it is imported
        raise InstrumentError(_broken(point, f"{type(error).__name__}: {error}")) from error
    for part in ("QUESTION", "evaluate"):
        if not hasattr(module, part):
            raise InstrumentError(_broken(point, f"{point.value} has no {part}"))
    if getattr(module.QUESTION, "name", None) != name:
        called = getattr(module.QUESTION, "name", None)
        raise InstrumentError(_broken(point, f"its QUESTION is called {called!r}, not {name!r}"))
    assert isinstance(module, ModuleType)
    return module


def available() -> list[str]:
    """The questions that can be asked; one that is broken is named in a warning and left out."""
    usable = []
    for name in names():
        try:
            module = room(name)
            if name not in OWN:
                _try_statistics(name, module)
        except InstrumentError as error:
            warnings.warn(f"{error}; it is left out", InstrumentWarning, stacklevel=2)
        else:
            usable.append(name)
    return usable


def _try_statistics(name: str, module: ModuleType) -> None:
    """Figures are listed and explained without a run: with an empty method, all of them must be there."""
    try:
        module.QUESTION.statistics({})
    except Exception as error:  # whatever another package does
        why = f"its statistics cannot be listed without a run (method is then empty): {type(error).__name__}: {error}"
        raise InstrumentError(_broken(plugins()[name], why)) from error


def version(name: str) -> str:
    """The version that a question's figures are made by: sensecheck's, and that of the package that brings it."""
    if name in OWN or name not in plugins():
        return __version__
    dist = plugins()[name].dist
    return __version__ if dist is None else f"{__version__}+{dist.name}-{dist.version}"


def origin(name: str) -> str:
    """Who answers for a question: nobody but us for our own."""
    return _origin(plugins()[name]) if name not in OWN and name in plugins() else ""


def _origin(point: metadata.EntryPoint) -> str:
    name = point.dist.name if point.dist is not None else None
    return f"the package {name}" if name else "an installed package"


def _broken(point: metadata.EntryPoint, why: str) -> str:
    return f"the question {point.name!r} of {_origin(point)} cannot be used: {why}"
