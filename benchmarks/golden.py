"""Where the golden data lie: beside the repository."""

from __future__ import annotations

from pathlib import Path

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
