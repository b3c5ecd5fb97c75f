"""Small comma-separated texts, cell by cell: answers of queries that were written to files.

Tables of predictions are read by `inputs.tables`. Here every cell matters as it is written, a blank line may be a row,
and no cell may be taken for a number before its column is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Possessive quantifiers: no text, however hostile, makes it backtrack.
_QUOTED = re.compile(r'"((?:[^"]|"")*+)"')
_BARE = re.compile(r"[^,\r\n]*+")


def comma_separated(text: str) -> Iterator[list[str]]:
    """The rows of a text as RFC 4180 has it; a blank line is a row of one empty cell. ValueError says which line
    opens a quotation and never closes it.

    >>> list(comma_separated('a,b\\r\\n"1, ""2"" 3",\\n'))
    [['a', 'b'], ['1, "2" 3', '']]
    """
    position, line = 0, 1
    while position < len(text):
        row: list[str] = []
        started = line
        while True:
            quoted = _QUOTED.match(text, position)
            if quoted is not None:
                row.append(quoted[1].replace('""', '"'))
                line += quoted[1].count("\n")
                position = quoted.end()
                rest = _BARE.match(text, position)  # what some write after the closing quote
                if rest is not None and rest[0]:
                    row[-1] += rest[0]
                    position = rest.end()
            else:
                if text[position : position + 1] == '"':
                    raise ValueError(f"line {started} opens a quotation that never ends")
                bare = _BARE.match(text, position)
                assert bare is not None
                row.append(bare[0])
                position = bare.end()
            if text[position : position + 1] != ",":
                break
            position += 1
        position += 2 if text.startswith("\r\n", position) else 1
        line += 1
        yield row
