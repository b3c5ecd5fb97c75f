"""sensecheck: is it faithful, correct, diverse, robust, calibrated?

    import sensecheck
    result = sensecheck.calibrated.evaluate("dev.logits")
    print(result)

Rooms are imported when they are first used, so that `import sensecheck` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sensecheck._version import __version__

if TYPE_CHECKING:
    from sensecheck import calibrated, correct, diverse, faithful, robust
    from sensecheck.inputs.errors import InputError
    from sensecheck.report.comparison import Comparison, Comparisons, compare
    from sensecheck.report.result import Result, load
    from sensecheck.statistics.figure import Figure, IntervalOptions

_HOMES = {
    "Result": "sensecheck.report.result",
    "Comparison": "sensecheck.report.comparison",
    "Comparisons": "sensecheck.report.comparison",
    "compare": "sensecheck.report.comparison",
    "load": "sensecheck.report.result",
    "Figure": "sensecheck.statistics.figure",
    "IntervalOptions": "sensecheck.statistics.figure",
    "InputError": "sensecheck.inputs.errors",
}
_ROOMS = ("calibrated", "correct", "diverse", "faithful", "robust")

__all__ = [
    "Comparison",
    "Comparisons",
    "Figure",
    "InputError",
    "IntervalOptions",
    "Result",
    "__version__",
    "calibrated",
    "compare",
    "correct",
    "diverse",
    "faithful",
    "load",
    "robust",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"sensecheck.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sensecheck' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
