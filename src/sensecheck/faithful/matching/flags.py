"""Which side of a yes or no a sentence tells: settled up or still owing, of what is paid."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.names import runs
from sensecheck.faithful.matching.vocabulary import Tellings

_REACH = 4
"""How many words may stand between a denial and what it denies."""


def is_flag(a: Alignment, fact: Fact) -> bool:
    """Whether a fact holds a column of a query against yes or no."""
    if a.form or a.weighed or fact.op not in ("=", "!=") or not fact.name.words:
        return False
    return fact.plain_value in a.vocabulary.yes or fact.plain_value in a.vocabulary.no


def wanted(a: Alignment, fact: Fact) -> int:
    """Which side a query asks for: 1 yes, -1 no."""
    return 1 if (fact.plain_value in a.vocabulary.yes) == (fact.op == "=") else -1


def denied_besides(a: Alignment, fact: Fact) -> bool:
    """Whether a query leaves out rows that others give: in what it denies, no single value stands."""
    return any(f.value is None for f in a.reading.of("negation"))


def side_told(a: Alignment, fact: Fact) -> tuple[int, frozenset[int]]:
    """Which side words tell of, and which words: 1 yes, -1 no, 0 neither or both. A denial before them turns them
    round: not free is taken."""
    flag = a.vocabulary.flag_of(fact.name)
    yes, no = list(_told(a, flag.yes)), list(_told(a, flag.no))
    # No cigarettes: not cigarettes.
    yes_alone = [run for run in yes if not any(_inside(run, other) for other in no)]
    no_alone = [run for run in no if not any(_inside(run, other) for other in yes)]
    if not yes_alone and not no_alone:
        named = _by_name(a, fact)
        before = a.sentence.lows[max(0, named[0].start - 3) : named[0].start] if named else []
        yes_alone, no_alone = (named, []) if a.guards["wanting"].isdisjoint(before) else ([], named)
    if bool(yes_alone) == bool(no_alone):
        return 0, frozenset()
    words = frozenset(i for run in yes_alone or no_alone for i in run)
    cues = [cue for cue in a.of("negation") if cue.first not in words and 0 <= min(words) - cue.last < _REACH]
    if denied_besides(a, fact):
        cues = []  # the denial may tell of that
    return (1 if yes_alone else -1) * (-1 if cues else 1), words | {cue.first for cue in cues}


def _by_name(a: Alignment, fact: Fact) -> list[range]:
    """The words of the column itself, where the sentence has all of them."""
    mention = a.mention(fact.name)
    return [range(i, i + 1) for i in mention.positions] if mention.literal == 1 else []


def _told(a: Alignment, tellings: Tellings) -> Iterator[range]:
    """Where phrases stand that no value of the query has claimed."""
    return (run for run in runs(a.sentence, tellings) if not any(a.owner[i] in ("value", "quote") for i in run))


def _inside(run: range, other: range) -> bool:
    return len(run) < len(other) and run.start >= other.start and run.stop <= other.stop
