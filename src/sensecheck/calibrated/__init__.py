"""Is the model's confidence the rate at which it is right?

`evaluate` and `QUESTION` are imported when they are first used: the shell over the original needs neither of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sensecheck.calibrated.asking import QUESTION, evaluate

__all__ = ["QUESTION", "evaluate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from sensecheck.calibrated import asking

        return getattr(asking, name)
    raise AttributeError(f"module 'sensecheck.calibrated' has no attribute {name!r}")
