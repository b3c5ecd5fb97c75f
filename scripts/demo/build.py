"""Makes the demo's rule-made files again: `python scripts/demo/build.py [OUT_DIR]`, seconds.

The files of the two trained parsers take minutes and need torch; they have a script of their own,
train_parser.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import conversations
import dialogue
import graph
import nli
import verbalise
import world


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else world.OUT
    for part in (world, graph, conversations, verbalise, dialogue, nli):
        for name, text in part.files().items():
            world.save(out, name, text)


if __name__ == "__main__":
    main()
