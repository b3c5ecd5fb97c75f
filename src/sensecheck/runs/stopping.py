"""A run that had to stop but can go on later."""

from __future__ import annotations


class Stopped(Exception):  # noqa: N818 - it is no error: the run can go on
    """Raised where going on would record wrong results (a dead endpoint, a spent quota): exit code 3, resumable."""
