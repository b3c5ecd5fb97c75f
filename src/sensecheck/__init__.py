"""sensecheck: is it faithful, correct, diverse, robust, calibrated?

    import sensecheck
    result = sensecheck.calibrated.evaluate("dev.logits")
    print(result)

What a room needs is imported when it is first used, so that `import sensecheck` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sensecheck import lazily, rooms
from sensecheck._version import __version__ as __version__
from sensecheck.rooms import *  # noqa: F403 - the one list of questions

if TYPE_CHECKING:
    from sensecheck.inputs.errors import InputError as InputError
    from sensecheck.report.comparison import Comparison as Comparison
    from sensecheck.report.comparison import Comparisons as Comparisons
    from sensecheck.report.comparison import compare as compare
    from sensecheck.report.merging import merge as merge
    from sensecheck.report.result import Result as Result
    from sensecheck.report.result import load as load
    from sensecheck.statistics.figure import Figure as Figure
    from sensecheck.statistics.figure import IntervalOptions as IntervalOptions

_HOMES = {
    "Result": ".report.result",
    "Comparison": ".report.comparison",
    "Comparisons": ".report.comparison",
    "compare": ".report.comparison",
    "load": ".report.result",
    "merge": ".report.merging",
    "Figure": ".statistics.figure",
    "IntervalOptions": ".statistics.figure",
    "InputError": ".inputs.errors",
}
_look_up = lazily.names(__name__, _HOMES)

__all__ = sorted([*_HOMES, "__version__", *(name for name in vars(rooms) if not name.startswith("_"))])


def __getattr__(name: str) -> Any:
    # `from sensecheck import x` asks here first, also for modules of ours: packages are not searched for those.
    if name in _HOMES or name.startswith("_") or find_spec(f"{__name__}.{name}") is not None:
        return _look_up(name)
    # A question of another installed package is met here like one of ours.
    instruments = import_module("sensecheck.instruments")
    if name not in instruments.plugins():
        return _look_up(name)
    try:
        return instruments.room(name)
    except instruments.InstrumentError as error:
        raise AttributeError(str(error)) from error


def __dir__() -> list[str]:
    return sorted({*__all__, *import_module("sensecheck.instruments").plugins()})
