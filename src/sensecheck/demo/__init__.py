"""Larkhaven, the made-up town that every question can be shown on; its data card is README.md in this folder.

>>> from sensecheck import demo
>>> demo.path("parser_a.logits.gz").name
'parser_a.logits.gz'
"""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path

__all__ = ["names", "path"]

_NOT_DATA = (".py", ".pyc", ".md")


def names() -> list[str]:
    """The demo's data files, in alphabetical order."""
    folder = resources.files(__name__)
    return sorted(f.name for f in folder.iterdir() if f.is_file() and not f.name.endswith(_NOT_DATA))


def path(name: str) -> Path:
    """Where a data file of the demo lies on disk.

    The package is installed unpacked (wheels always are), so the path is the file itself and stays valid.
    """
    known = names()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"
        raise FileNotFoundError(f"the demo has no file {name!r}: {hint}")
    return Path(str(resources.files(__name__).joinpath(name)))
